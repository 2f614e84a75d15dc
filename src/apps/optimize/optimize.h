/* SPDX-License-Identifier: Apache-2.0
 *
 * An optimisation over a store: the memo table holds every evaluation, the search space, the
 * settings and the optimiser's state, so a run can be stopped at any time, killed, joined by other
 * workers and gone on with later. Decisions are made under the table's write lock: any number of
 * processes act as one optimiser.
 *
 *   struct optimize *o = optimize_new(&opt); bo_space_add(&o->space, "x=-5:10", err);
 *   optimize_command(o, argv, argc, err); optimize_open(o, err); optimize_run(o, err);
 *   optimize_report_json(o, out); optimize_free(o);
 */
#ifndef OPTIMIZE_OPTIMIZE_H
#define OPTIMIZE_OPTIMIZE_H
#include "base/vec.h"
#include "io/host/process.h"
#include "io/plot/doc.h"
#include "io/store/memo.h"
#include "apps/optimize/goals.h"
#include <signal.h>

struct optimize_step {
    double step, value;
};
/* What an evaluation told on its way: the best so far, by step, where it changed. */
struct optimize_curve {
    VEC(struct optimize_step) best;
    double reach, last; /* the greatest step; that of the last line */
    size_t at;          /* where it was last asked: programs go on step by step */
};
/* One finished evaluation, in the order of finishing. */
struct optimize_eval {
    double *x;      /* owned; one number per variable */
    double y;       /* the first objective; NaN: failed */
    double *values; /* owned; all numbers, NULL: failed */
    double seconds;
    char *error; /* owned; NULL unless failed */
    int64_t id, seq;
    bool given; /* told or imported, not evaluated by the search */
    struct optimize_curve curve;
    bool stopped; /* on the way: y is the last that it told */
};

struct optimize {
    struct gpm_optimize_options opt;
    struct bo_space space;
    struct goals goals;
    struct proc_command command;
    char *command_text; /* owned; NULL: there is no command */
    bool foreign;       /* the store brought it, and this user never gave it */
    gpm_objective *fn;
    void *fn_user;
    char *identity; /* owned */
    struct memo *memo;
    struct bo *bo;
    char *state;                     /* owned; the optimiser's state as last stored */
    VEC(struct optimize_eval) trace; /* finished rows in the order of finishing */
    size_t fed;                      /* of them told to the optimiser */
    VEC(double) starts;              /* guesses to evaluate first, one after the other */
    VEC(double) pending;             /* inputs in flight, here and elsewhere */
    struct runner *runner;           /* of the run in progress; tags are the ids of the rows */
    const char *end;                 /* why: "budget", "target", "time", "stopped" or "exhausted" */
    size_t unread;                   /* programs that ended here whose output is no answer, ... */
    char *unread_one;                /* ... and the last of them; owned */
    bool from_read; /* the store of opt.from was, now: its evaluations, and those of use here */
    size_t from_seen, from_used;
    char *failure; /* what the last evaluation that failed here said; owned, NULL: none did */
};

struct optimize *optimize_new(const struct gpm_optimize_options *opt); /* texts are borrowed */
void optimize_free(struct optimize *o);
GPM_MUST_USE enum gpm_status optimize_command(struct optimize *o, char *const *argv, int argc,
                                              struct buf *err);
/* A guess to evaluate first: name=value of every variable, separated by blanks. */
GPM_MUST_USE enum gpm_status optimize_start(struct optimize *o, const char *text, struct buf *err);
void optimize_function(struct optimize *o, const char *identity, gpm_objective *fn, void *user);
/* Opens the store (made when it does not exist), imports the warm start, reads everything. */
GPM_MUST_USE enum gpm_status optimize_open(struct optimize *o, struct buf *err);
/* Evaluates until the budget, target, time or stop. GPM_E_INTERRUPT when stopped. */
GPM_MUST_USE enum gpm_status optimize_run(struct optimize *o, struct buf *err);
/* For evaluations elsewhere: a point with its id, then its numbers (NULL, or one that is not
 * finite: it failed). */
GPM_MUST_USE enum gpm_status optimize_ask(struct optimize *o, double *x, int64_t *id,
                                          struct buf *err);
GPM_MUST_USE enum gpm_status optimize_tell(struct optimize *o, int64_t id, const double *y,
                                           struct buf *err);
GPM_MUST_USE enum gpm_status optimize_tell_at(struct optimize *o, const double *x, const double *y,
                                              struct buf *err);

/* The best evaluation: point and all numbers (those only kept: NaN); both may be NULL. false: none
 * succeeded. */
bool optimize_best(const struct optimize *o, double *x, double *y);
/* The evaluations that nothing is better than in every objective, within the bounds: indices into
 * the trace, at most trace.n; how many. */
size_t optimize_front(const struct optimize *o, size_t *index);
void optimize_report(struct optimize *o, enum doc_form form, struct buf *out);
void optimize_report_json(struct optimize *o, struct buf *out);

/* ---- for the files of this folder ---- */

/* " x=3 y=4", with so many digits (0: all that there are). */
void optimize_put_point(const struct optimize *o, const double *x, int digits, struct buf *out);
size_t optimize_failed(const struct optimize *o); /* evaluations that did */
/* Objectives of evaluation i, small is good; false: it failed or breaks a bound. */
bool optimize_objectives(const struct optimize *o, size_t i, double *y);
/* optimize_curve.c: the curve of n pairs of a step and a value, freed with vec_release(&c->best);
 * and the best that it had told by a step, NaN: it never came so far. */
void optimize_curve(const struct optimize *o, double *pairs, size_t n, struct optimize_curve *c);
double optimize_by_step(struct optimize_curve *c, double step);
/* What an evaluation cost, see gpm_optimize_options.max_cost; and is it of the function meant, not
 * of a lower fidelity? */
double optimize_cost(const struct optimize *o, const struct optimize_eval *e);
bool optimize_is_full(const struct optimize *o, const double *x);
size_t optimize_within(const struct optimize *o); /* those that keep the bounds */
/* Under noise what the objectives of these evaluations are believed to be, medians and half of the
 * central 68%, one after the other; false: they are as they were told. */
bool optimize_front_belief(struct optimize *o, const size_t *index, size_t n, double *mean,
                           double *sd);
/* NaN: none, as a value of the first objective and as the best so far. */
bool optimize_better(const struct optimize *o, double y, double best);
/* " f=3 c=-1" of the numbers that are known. */
void optimize_put_numbers(const struct optimize *o, const double *y, int digits, struct buf *out);
/* Reads what other workers stored; under the write lock the picture is complete. */
GPM_MUST_USE enum gpm_status optimize_refresh(struct optimize *o, struct buf *err);
GPM_MUST_USE enum gpm_status optimize_save_state(struct optimize *o, struct buf *err);
/* Appends what finished since the last time to the log. */
GPM_MUST_USE enum gpm_status optimize_write_log(struct optimize *o, struct buf *err);
/* *own: this user gave `command` for this store and its variables, which are settled. remember: it
 * was just given, and is noted; without a state folder nothing is. */
GPM_MUST_USE enum gpm_status optimize_own_command(struct optimize *o, const char *command,
                                                  bool remember, bool *own, struct buf *err);
#endif
