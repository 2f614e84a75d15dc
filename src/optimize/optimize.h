/* SPDX-License-Identifier: Apache-2.0
 *
 * An optimisation over a store: the memo table holds every evaluation, the search space, the
 * settings and the optimiser's state, so a run can be stopped at any time, killed, joined by other
 * workers and gone on with later. Decisions are made under the table's write lock: any number of
 * processes act as one optimiser.
 *
 *   struct optimize *o = optimize_new(&opt); optimize_variable(o, "x=-5:10", err);
 *   optimize_command(o, argv, argc, err); optimize_open(o, err); optimize_run(o, err);
 *   optimize_report_json(o, out); optimize_free(o);
 */
#ifndef OPTIMIZE_OPTIMIZE_H
#define OPTIMIZE_OPTIMIZE_H
#include "base/vec.h"
#include "host/process.h"
#include "store/memo.h"
#include "optimize/bayesopt.h"
#include <signal.h>

struct optimize;

/* One finished evaluation, in the order of finishing. */
struct optimize_eval {
    double *x; /* owned; one number per variable */
    double y;  /* NaN: failed */
    double seconds;
    char *error; /* owned; NULL unless failed */
    int64_t id, seq;
    bool given; /* told or imported, not evaluated by the search */
};

enum optimize_end {
    OPTIMIZE_BUDGET,
    OPTIMIZE_TARGET,
    OPTIMIZE_TIME,
    OPTIMIZE_STOPPED,
    OPTIMIZE_EXHAUSTED
};

struct optimize *optimize_new(const struct gpm_optimize_options *opt); /* texts are borrowed */
void optimize_free(struct optimize *o);
GPM_MUST_USE enum gpm_status optimize_variable(struct optimize *o, const char *text,
                                               struct buf *err);
GPM_MUST_USE enum gpm_status optimize_command(struct optimize *o, char *const *argv, int argc,
                                              struct buf *err);
void optimize_function(struct optimize *o, const char *identity, gpm_objective *fn, void *user);
/* Opens the store (made when it does not exist), imports the warm start, reads everything. */
GPM_MUST_USE enum gpm_status optimize_open(struct optimize *o, struct buf *err);
/* Evaluates until the budget, target, time or stop. GPM_E_INTERRUPT when stopped. */
GPM_MUST_USE enum gpm_status optimize_run(struct optimize *o, struct buf *err);
/* For evaluations elsewhere: a point with its id, then its outcome (failed when y is NaN). */
GPM_MUST_USE enum gpm_status optimize_ask(struct optimize *o, double *x, int64_t *id,
                                          struct buf *err);
GPM_MUST_USE enum gpm_status optimize_tell(struct optimize *o, int64_t id, double y,
                                           struct buf *err);
GPM_MUST_USE enum gpm_status optimize_tell_at(struct optimize *o, const double *x, double y,
                                              struct buf *err);

const struct bo_space *optimize_space(const struct optimize *o);
size_t optimize_n(const struct optimize *o);
bool optimize_best(const struct optimize *o, double *x, double *y);
bool optimize_recommend(struct optimize *o, double *x, double *mean, double *sd);

void optimize_report_text(struct optimize *o, struct buf *out);
void optimize_report_json(struct optimize *o, struct buf *out);
void optimize_report_html(struct optimize *o, struct buf *out);
#endif
