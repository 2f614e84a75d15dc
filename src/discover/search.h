/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-first search over structures with cached evidences, and the posterior over what it visited.
 * Neighbours are evaluated by several threads; each evaluation is a pure function of its inputs and
 * rounds end with a barrier, so the result is the same for any number of threads.
 */
#ifndef DISCOVER_SEARCH_H
#define DISCOVER_SEARCH_H
#include "base/buf.h"
#include "base/map.h"
#include "discover/evidence.h"

struct search_options {
    struct grammar grammar;
    uint64_t seed;
    int threads;           /* 0: as many as the machine has, at most 8 */
    double window;         /* expand structures within this many nats of the top */
    double sample_window;  /* importance sampling within this many nats */
    size_t draws;          /* per structure near the top; 0: by size of the data */
    size_t max_structures; /* 0: by size of the data */
    double seconds;        /* wall-clock limit; 0: none. A search cut short says so */
};
void search_options_init(struct search_options *o);

struct search {
    const struct smodel_data *data;
    struct search_options opt;
    struct evidence **at; /* owned */
    size_t n, cap;
    struct map index; /* structure hash -> evidence */
    struct smodel_work **work;
    struct period_hints hints[2];
    struct screen *screen;   /* long regular series: a subset on which dense structures are tried */
    double top;              /* best total log evidence */
    long evals;              /* likelihood evaluations */
    int rounds;              /* expansions */
    bool cut;                /* stopped by a limit */
    unsigned long shortages; /* of memory, when the search began: one more ends it */
    double seconds;
};
GPM_MUST_USE enum gpm_status search_init(struct search *s, const struct smodel_data *data,
                                         const struct search_options *o);
void search_release(struct search *s);
GPM_MUST_USE enum gpm_status search_run(struct search *s);
/* Instead of a search: the structures of `coarse` (a search on a subset of the same data) that lie
 * within its window, started from their optima there. */
GPM_MUST_USE enum gpm_status search_refine(struct search *s, const struct search *coarse,
                                           size_t most);
struct evidence *search_find(const struct search *s, const struct structure *k); /* NULL: unseen */

/* What could not be computed for want of memory since `before` (mem_shortages) counted as
 * impossible: the result is void, GPM_E_NOMEM. Otherwise st. */
enum gpm_status search_no_shortage(unsigned long before, enum gpm_status st, struct buf *err);
#endif
