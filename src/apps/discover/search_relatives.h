/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of a structure and the best of its fitted relatives, worked on one by one in a journal:
 * what telling (search_tell.c) and lending (search_lend.c) share.
 */
#ifndef DISCOVER_SEARCH_RELATIVES_H
#define DISCOVER_SEARCH_RELATIVES_H
#include "base/map.h"
#include "base/vec.h"
#include "apps/discover/journal.h"
#include "apps/discover/search.h"

struct relative {
    struct evidence *e;
    const struct evidence *from;
    double rank; /* of those that it may be, the one of the largest is kept */
};

struct relatives {
    struct search *s;
    /* What the pair (e, from) of one group is worth; -INFINITY: nothing. */
    double (*rank)(const struct search *s, const struct evidence *e, const struct evidence *from);
    VEC(struct relative) pair;
    struct map at;               /* structure -> number of its pair + 1 */
    const struct evidence *from; /* whose neighbours are collected */
};

/* Adds the neighbours of `from`. */
void relatives_collect(struct relatives *t, const struct evidence *from);
/* Runs job(relatives, number of the pair, thread) for all pairs; it changes the pair's e alone.
 * Then the top is what it is. */
void relatives_run(struct relatives *t, const char *name, void (*job)(void *, size_t, int));
void relatives_release(struct relatives *t);
#endif
