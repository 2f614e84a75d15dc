/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's own model as an embedded program of the language (its second listing): base kernels
 * LIN, PER, SE, WN, each in or out with probability 1/2 (not all out), a uniform permutation, a
 * right-nested fold with + or x at even odds, Gamma(5,1) on all seven parameters. structure_search
 * finds its 94 kernels and 49 structures.
 *
 * Results depend on how x and y are scaled, because Gamma(5,1) puts 99% of every parameter between
 * 1.1 and 11.6; the paper does not say how. The scaling is therefore an option and printed.
 */
#ifndef DISCOVER_PAPER_H
#define DISCOVER_PAPER_H
#include "apps/discover/posterior.h"
#include "apps/discover/series.h"
#include "front/session/session.h"

struct paper_options {
    double x_scale; /* multiplies centred x */
    double y_sd;    /* sd of scaled y; 0: centred only */
    uint64_t seed;
    double seconds;                      /* of the search; 0: no limit */
    const volatile sig_atomic_t *stop;   /* of the run (base/stop.h); NULL: none */
    const volatile sig_atomic_t *finish; /* of the search; NULL: none */
};
struct paper {
    struct series series;
    struct series_options read; /* how, owned */
    struct paper_options opt;
    struct session session;
    const struct posterior *post; /* of its structure_search */
    double seconds;
};
/* Takes the series over, also on failure. */
GPM_MUST_USE enum gpm_status paper_run(struct paper *p, struct series *s,
                                       const struct series_options *read,
                                       const struct paper_options *o, struct buf *err);
void paper_release(struct paper *p);
void paper_text(const struct paper *p, struct buf *out);
void paper_json(const struct paper *p, struct buf *out);
void paper_program(const struct paper *p, struct buf *out); /* what was run */
#endif
