/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes that the most probable structure dates, as data: the words on shifts, bends and parts
 * that act for a time are rendered from them, and JSON has them by name.
 */
#ifndef DISCOVER_DATED_H
#define DISCOVER_DATED_H
#include "apps/discover/discovery.h"

enum dated_kind {
    DATED_LEVEL, /* the level shifts; the second one of a term: it comes back */
    DATED_SLOPE, /* the trend bends */
    DATED_NOISE, /* more noise begins or ends */
    DATED_START, /* another component begins to act, */
    DATED_END    /* or ends */
};
struct dated {
    enum dated_kind kind;
    int term;
    bool begins;          /* what the term adds acts from here on; else up to here */
    size_t at;            /* the first value of the data that it holds for */
    struct par_summary t; /* its date, in t, and its 95% interval */
    /* On the transform's scale: of the level, of the slope per unit of x, of the noise's standard
     * deviation; NaN: the change has no size. */
    struct par_summary size;
    double p; /* that there is a change of this kind within a step of that interval */
};
#define DATED_OF_TERM 2 /* of either sort, at most */
#define DATED_MAX     (2 * DATED_OF_TERM * STRUCTURE_MAX_TERMS)

/* Those of one term, in the order of time, without p; returns how many. acts: where it begins and
 * ends to act; else where its own shift or bend is. */
int dated_of(const struct discovery *d, int term, bool acts, struct dated *out);
/* All of them in the order of time, and the field "changes" of the result. */
int dated_all(const struct discovery *d, struct dated *out);
void dated_json(const struct discovery *d, struct buf *out);
#endif
