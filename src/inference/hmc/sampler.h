/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: shared by hmc, nuts and sample. A sampler holds what was learned about one
 * target. It belongs to the session and is found by target, dimension and operator, so a warm-up
 * continues across instructions and particles.
 *
 * With z the transformed choices, logp(z) their log weight plus log Jacobian (continuous.h) and
 * p ~ N(0, M) new momenta at every transition, the energy is
 *
 *     H(z, p) = p' M^-1 p / 2 - logp(z)
 *
 * which leapfrog steps nearly conserve; they are reversible and preserve volume. */
#ifndef INFER_SAMPLER_H
#define INFER_SAMPLER_H
#include "inference/hmc/continuous.h"
#include "inference/hmc/centred.h"
#include "inference/hmc/metric.h"
#include "inference/hmc/pace.h"
#include "inference/hmc/sampler_stats.h"

/* A trajectory ends when the energy error exceeds DIVERGED nats. A suitable step size never errs
 * that much. */
enum { DIVERGED = 1000 };
/* Default step size of hmc, and of nuts when it uses hmc steps. */
#define HMC_STEP 0.1

/* A point of phase space. Its 5 n numbers are adjacent; point_copy relies on it. */
struct phase_point {
    double *z, *p, *g; /* position, momentum, gradient of logp at z; borrowed */
    double *v, *u;     /* M^-1 p, the velocity, and M^-1 g */
    double logp;       /* -inf outside the support: the energy is infinite there */
    double h;          /* energy, if computed */
    double log_way;    /* weight of the way to it (nuts.c) */
};
struct phase_point point_at(double **room,
                            size_t n); /* takes its numbers from *room, which advances */
void point_copy(struct phase_point *to, const struct phase_point *from, size_t n);
double point_energy(const struct phase_point *a, size_t n); /* infinite instead of NaN */
/* Sets a to the current state, with gradient and newly drawn momenta. The gradient uses the frozen
 * brush, so logp may differ from c->w_old. known: g and logp are set already. */
enum gpm_status point_begin(struct continuous *c, const struct metric *m, bool known,
                            struct phase_point *a) GPM_MUST_USE;
/* One leapfrog step; g must be the gradient at z on entry, and is so on return. */
enum gpm_status point_leap(struct continuous *c, const struct metric *m, double eps,
                           struct phase_point *a) GPM_MUST_USE;

/* One trajectory, doubled until it turns (nuts.c). */
struct nuts_result {
    double accept_stat, n_leapfrog, depth, energy; /* energy: at the start, after drawing momenta */
    bool began, divergent, deep;                   /* began: the start can be evaluated */
};
/* User settings. */
struct sampler_settings {
    double warmup, target_accept, max_depth; /* target_accept 0: 0.8 */
    enum metric_kind metric;
};
extern const struct sampler_settings sampler_defaults;
/* target_accept, max_depth, metric: arguments `first` of the operator and after it. */
enum gpm_status sampler_settings_read(struct infer_state *x, const struct action *a, size_t first,
                                      struct sampler_settings *set) GPM_MUST_USE;

/* Dual averaging (Hoffman and Gelman 2014) of the step size. log_eps NaN: must be searched for, at
 * the start and after a change of the metric. */
struct step_size {
    double log_eps, log_eps_bar, mu, h_bar, k;
};

struct sampler {
    struct sampler_totals totals; /* first member: struct sampler_stats links these */
    const struct infer_op *op;    /* its operator */
    value scope, block;           /* the target; counted */
    size_t n;
    struct sampler_settings set;
    struct metric metric;
    struct centred centred;
    struct pace pace;  /* of the last window */
    struct tree *tree; /* for trajectories; NULL: none for these settings yet */
    double target;     /* acceptance to reach */
    struct step_size eps;
    double done;           /* transitions made; adapts until set.warmup */
    VEC(double) ends;      /* transitions at which warm-up windows end */
    double *z;             /* end of the last transition; n numbers */
    bool has_z, warned;    /* warned: about a block nuts cannot follow (nuts_warn_rebuilt) */
    double *g, logp;       /* gradient (n numbers) and log density there */
    const struct flat *of; /* flat of the last transition; NULL: g and logp are not known */
    unsigned still;        /* consecutive transitions that were almost certainly rejected */
    uint64_t structure;    /* of the trace when this sampler last forgot */
};

/* The sampler of a target; a new one gets these settings. */
struct sampler *sampler_find(struct infer_state *x, const struct infer_op *op,
                             const struct target *g, size_t n, const struct sampler_settings *set);
/* Discards what was learned, and energies; keeps counts. */
void sampler_restart(struct sampler *a, const struct sampler_settings *set);
static inline bool sampler_warm(const struct sampler *a) {
    return a->done < a->set.warmup;
}
/* Is it before the last window of the warm-up? Then transitions need not leave the posterior
 * invariant. */
static inline bool sampler_seeks(const struct sampler *a) {
    return sampler_warm(a) && a->ends.n > 1 && a->done < a->ends.at[a->ends.n - 2];
}
/* The step size of the next transition, searched for first if necessary. */
enum gpm_status sampler_step_size(struct continuous *c, struct sampler *a,
                                  double *eps) GPM_MUST_USE;
/* After a transition in the warm-up: updates step size and metric. */
void sampler_adapt(struct continuous *c, struct sampler *a, const struct phase_point *picked,
                   const struct nuts_result *r);
/* Discards what was learned if the model has changed and the chain no longer moves: new data can
 * make the old step size permanently too long. */
void sampler_notice(struct sampler *a, const struct trace *t, const struct nuts_result *r);
/* Transitions per draw, of the slowest sampler of this target. */
double sampler_pace(const struct infer_state *x, const struct target *g);

/* Before the first transition: sets the start and discards what was learned. s->ctx: */
struct start;
struct sampler_begin {
    const struct sampler_settings *set;
    const struct start *start;
    bool only_new; /* leave a sampler that already runs unchanged */
};
step_fn sampler_begin_step;
/* One transition; s->ctx: struct sampler_settings for a new sampler. */
step_fn nuts_step;
/* Warns about trajectories since the mark that do not follow the posterior. */
void nuts_warn(struct infer_state *x);
/* Warns about a block that decides what `n` evaluates, for which nuts uses hmc steps. */
void nuts_warn_rebuilt(struct infer_state *x, const struct node *n);

/* Storage for growing a trajectory with points of n numbers; reusable. */
struct tree *tree_new(size_t n, size_t max_depth);
void tree_free(struct tree *t);
/* g and logp are those of the start (g NULL: to be computed). *pick: the point drawn, which stays
 * in the tree until the next trajectory. */
enum gpm_status nuts_trajectory(struct tree *t, struct continuous *c, const struct metric *m,
                                double eps, bool seeking, const double *g, double logp,
                                struct nuts_result *r, struct phase_point *pick) GPM_MUST_USE;
#endif
