/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: what hmc, nuts and sample share. A sampler is what was learned about one target;
 * it belongs to the session and is found again by target, dimension and operator, so that a warm-up
 * goes on over instructions and particles.
 *
 * With z the transformed choices, logp(z) their log weight plus log Jacobian (continuous.h) and
 * p ~ N(0, M) momenta drawn anew at every transition, the energy is
 *
 *     H(z, p) = p' M^-1 p / 2 - logp(z)
 *
 * and leapfrog steps nearly keep it, are reversible and keep volume.
 */
#ifndef INFER_SAMPLER_H
#define INFER_SAMPLER_H
#include "inference/hmc/continuous.h"
#include "inference/hmc/centred.h"
#include "inference/hmc/metric.h"
#include "inference/hmc/pace.h"
#include "inference/hmc/sampler_stats.h"

/* An energy that goes wrong by DIVERGED nats is no rounding of a step size that fits: the
 * trajectory ends. */
enum { DIVERGED = 1000 };
/* The step size of hmc, and of nuts where it makes such steps. */
#define HMC_STEP 0.1

/* A point of phase space. Its 5 n numbers are neighbours: point_copy relies on it. */
struct phase_point {
    double *z, *p, *g; /* position, momentum, gradient of logp at z; borrowed */
    double *v, *u;     /* M^-1 p, the velocity, and M^-1 g */
    double logp;       /* -inf outside the support: the energy is infinite there */
    double h;          /* energy, where it was asked for */
    double log_way;    /* of a trajectory (nuts.c) */
};
struct phase_point point_at(double **room,
                            size_t n); /* its numbers stand at *room, which moves on */
void point_copy(struct phase_point *to, const struct phase_point *from, size_t n);
double point_energy(const struct phase_point *a, size_t n); /* infinite where it is no number */
/* Where the block stands, with the gradient there (on the frozen brush, so logp need not be
 * c->w_old; known: g and logp are there already), and momenta drawn anew. */
enum gpm_status point_begin(struct continuous *c, const struct metric *m, bool known,
                            struct phase_point *a) GPM_MUST_USE;
/* One step; g must be the gradient at z on entry, and is so again on return. */
enum gpm_status point_leap(struct continuous *c, const struct metric *m, double eps,
                           struct phase_point *a) GPM_MUST_USE;

/* One trajectory that doubles until it turns (nuts.c). */
struct nuts_result {
    double accept_stat, n_leapfrog, depth, energy; /* energy: of the start, after the momenta */
    bool began, divergent, deep; /* began: the start can be evaluated, gradient included */
};
/* What a user sets. */
struct sampler_settings {
    double warmup, target_accept, max_depth; /* target_accept 0: 0.8 */
    enum metric_kind metric;
};
extern const struct sampler_settings sampler_defaults;
/* target_accept, max_depth, metric: arguments `first` of the operator and after it. */
enum gpm_status sampler_settings_read(struct infer_state *x, const struct action *a, size_t first,
                                      struct sampler_settings *set) GPM_MUST_USE;

/* Dual averaging (Hoffman and Gelman 2014) of the step size. log_eps NaN: to be found anew, at the
 * start and after a change of the metric. */
struct step_size {
    double log_eps, log_eps_bar, mu, h_bar, k;
};

struct sampler {
    struct sampler_totals totals; /* first: struct sampler_stats lists these */
    const struct infer_op *op;    /* whose it is */
    value scope, block;           /* the target; counted */
    size_t n;
    struct sampler_settings set;
    struct metric metric;
    struct centred centred;
    struct pace pace;  /* of the last window */
    struct tree *tree; /* of trajectories; NULL: none yet with these settings */
    double target;     /* acceptance to reach */
    struct step_size eps;
    double done;           /* transitions made; until set.warmup they adapt */
    VEC(double) ends;      /* transitions at which windows of the warm-up end */
    double *z;             /* where the last transition ended; n numbers */
    bool has_z, warned;    /* warned: of a block that nuts cannot follow (nuts_warn_rebuilt) */
    double *g, logp;       /* gradient (n numbers) and log density there */
    const struct flat *of; /* which the transition was by; NULL: they are not known */
    unsigned still;        /* transitions in a row that were refused as good as surely */
    uint64_t structure;    /* of the trace, when what was learned was forgotten last */
};

/* The sampler of a target; a new one gets these settings. */
struct sampler *sampler_find(struct infer_state *x, const struct infer_op *op,
                             const struct target *g, size_t n, const struct sampler_settings *set);
/* Forgets what was learned, and energies; counts stay. */
void sampler_restart(struct sampler *a, const struct sampler_settings *set);
static inline bool sampler_warm(const struct sampler *a) {
    return a->done < a->set.warmup;
}
/* Before the last window of the warm-up: transitions need not leave the posterior invariant yet. */
static inline bool sampler_seeks(const struct sampler *a) {
    return sampler_warm(a) && a->ends.n > 1 && a->done < a->ends.at[a->ends.n - 2];
}
/* The step size of the next transition, found first where that is due. */
enum gpm_status sampler_step_size(struct continuous *c, struct sampler *a,
                                  double *eps) GPM_MUST_USE;
/* After a transition: step size and metric learn, in the warm-up. */
void sampler_adapt(struct continuous *c, struct sampler *a, const struct phase_point *picked,
                   const struct nuts_result *r);
/* Forgets what was learned when the model has changed since and the chain stands still: data that
 * came later make steps too long for ever. */
void sampler_notice(struct sampler *a, const struct trace *t, const struct nuts_result *r);
/* How many transitions a draw takes: of the slowest sampler of this target. */
double sampler_pace(const struct infer_state *x, const struct target *g);

/* Before the first transition: where it begins; what was learned is forgotten. s->ctx: */
struct start;
struct sampler_begin {
    const struct sampler_settings *set;
    const struct start *start;
    bool only_new; /* a sampler that is at work already stays as it is */
};
step_fn sampler_begin_step;
/* One transition; s->ctx: struct sampler_settings for a new sampler. */
step_fn nuts_step;
/* Of trajectories since the mark that do not follow the posterior. */
void nuts_warn(struct infer_state *x);
/* Of a block that decides what `n` evaluates, so that nuts makes steps of hmc. */
void nuts_warn_rebuilt(struct infer_state *x, const struct node *n);

/* What a trajectory grows in, of points of n numbers; it serves any number of them. */
struct tree *tree_new(size_t n, size_t max_depth);
void tree_free(struct tree *t);
/* g and logp of where it begins (g NULL: to be evaluated); *pick: the point drawn from it, which
 * stands in the tree until the next. */
enum gpm_status nuts_trajectory(struct tree *t, struct continuous *c, const struct metric *m,
                                double eps, bool seeking, const double *g, double logp,
                                struct nuts_result *r, struct phase_point *pick) GPM_MUST_USE;
#endif
