/* SPDX-License-Identifier: Apache-2.0
 *
 * What an evaluation gives and what is asked of it: named numbers, each of which may be an
 * objective, bounded, both, or only kept. Without any, an evaluation gives one number without a
 * name, the objective.
 */
#ifndef OPTIMIZE_GOALS_H
#define OPTIMIZE_GOALS_H
#include "base/vec.h"
#include "io/host/process.h"
#include "apps/optimize/bayesopt.h"

struct goals {
    struct proc_outputs names; /* in the order of a line of numbers; none: one without a name */
    VEC(struct bo_goal) goal;  /* of each name */
    VEC(char *) bounds;        /* owned; as they were given, for people */
    bool given;                /* something was said */
};

void goals_release(struct goals *g);
/* name[:min|:max][@reference], several separated by commas: the front is looked for. */
GPM_MUST_USE enum gpm_status goals_objective(struct goals *g, const char *text, bool maximize,
                                             struct buf *err);
/* name<=b, name>=a, a<=name<=b, or name=v+-tolerance. */
GPM_MUST_USE enum gpm_status goals_bound(struct goals *g, const char *text, struct buf *err);
/* Names, separated by commas, that are kept. */
GPM_MUST_USE enum gpm_status goals_collect(struct goals *g, const char *text, struct buf *err);
/* A pattern that takes numbers out of a log (io/host/process.h). */
GPM_MUST_USE enum gpm_status goals_pattern(struct goals *g, const char *text, struct buf *err);
/* After all were given: there is an objective; numbers that patterns name have a role. */
GPM_MUST_USE enum gpm_status goals_settle(struct goals *g, bool maximize, struct buf *err);

int goals_count(const struct goals *g);                  /* numbers of an evaluation, at least 1 */
const char *goals_name(const struct goals *g, int k);    /* "value" when it has none */
int goals_objectives(const struct goals *g, int *first); /* how many; the first of them */
bool goals_bounded(const struct goals *g);
/* The numbers y (goals_count of them) keep their bounds. */
bool goals_met(const struct goals *g, const double *y);
/* The optimiser for them, and an evaluation told to it; y NULL: it failed. */
struct bo *goals_optimiser(const struct goals *g, const struct bo_space *space,
                           const struct gpm_optimize_options *opt);
void goals_tell(const struct goals *g, struct bo *b, const double *x, const double *y);
/* Back from the optimiser's numbers (of modelled ones) to index k of a number; -1: not modelled. */
int goals_place(const struct goals *g, int k);

/* As text, one line each, and back; numbers of a stored evaluation from its JSON. */
void goals_text(const struct goals *g, struct buf *out);
GPM_MUST_USE enum gpm_status goals_parse(struct goals *g, const char *text, struct buf *err);
bool goals_read(const struct goals *g, double y, const char *outputs, double *values);
#endif
