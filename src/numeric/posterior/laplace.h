/* SPDX-License-Identifier: Apache-2.0
 *
 * Integrals over an unconstrained space: Laplace's method at one or several modes, then importance
 * sampling from the resulting mixture of Student-t distributions. A density is any function with a
 * gradient. */
#ifndef INFER_LAPLACE_H
#define INFER_LAPLACE_H
#include "base/pack.h"
#include "base/stop.h"
#include "numeric/special/rng.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define PROPOSAL_MAX_MODES 6
#define PROPOSAL_MAX_DIM   64
#define PROPOSAL_NU        5.0 /* degrees of freedom of the proposals */
#define HASTY_POINTS       8   /* most points evaluated for a density in haste; one gradient */

/* A log density over z with its gradient, to be integrated. */
struct density {
    int d;
    double (*eval)(void *ctx, const double *z, double *grad); /* grad may be NULL */
    void *ctx;
    /* Both may be NULL: the scale of an optimiser's step in each coordinate around z (default 1),
     * and the map of z into the canonical domain if several are equivalent. */
    void (*units)(void *ctx, const double *z, double *unit);
    void (*settle)(void *ctx, double *z);
    /* Both or neither may be NULL. late: does a gradient requested right after the value at the
     * same z cost no more than the rest, as in the last evaluation? slopes: that gradient; false if
     * unavailable. */
    bool (*late)(void *ctx);
    bool (*slopes)(void *ctx, const double *z, double *grad);
    long *evals; /* NULL, or counts the evaluations inside the domain */
    /* When set, all points become impossible: work on the density then ends early, and its result
     * is void. May be NULL. */
    const volatile sig_atomic_t *stop;
    /* When its time is up, an optimum is the best point so far, and a few draws suffice. May be
     * NULL. */
    const struct haste *haste;
    /* Region number k that may hold as much mass as the optimum z but that no step reaches: a point
     * in it and (unit) its spread in every coordinate, 0: as around z. False: no further region.
     * May be NULL. */
    bool (*elsewhere)(void *ctx, const double *z, int k, double *at, double *unit);
    double step; /* step of the gradient differences for a mode's shape; 0: 1e-4 */
    /* NULL, or evaluates n points at once like eval, for example on several threads. grad: n x d or
     * NULL; logp[i] is -inf for impossible points. */
    void (*many)(void *ctx, size_t n, const double *z, double *logp, double *grad);
};
static inline double density_eval(const struct density *t, const double *z, double *grad) {
    double logp = stop_asked(t->stop) ? -INFINITY : t->eval(t->ctx, z, grad);
    if (t->evals) *t->evals += logp > -INFINITY;
    return logp;
}

/* logp[i], and grad: n x d (may be NULL), of n consecutive points. Returns how many were evaluated:
 * in haste only the first HASTY_POINTS are, and the others get -inf. */
size_t density_many(const struct density *t, size_t n, const double *z, double *logp, double *grad);

struct mode {
    double *z;         /* d; owned, including scale */
    double *scale;     /* d x d: z = mode + scale * t, scale scale' = H^-1 */
    double log_scale;  /* log |det scale| */
    double log_weight; /* unnormalised weight of the component */
    double logp;       /* density at the mode */
};
/* z = mode + scale * t. */
void mode_point(const struct mode *m, int d, const double *t, double *z);

struct proposal {
    int d, n;
    int n_modes; /* the first ones, from Laplace; the rest are from moments of draws */
    struct mode mode[PROPOSAL_MAX_MODES + 2];
};
void proposal_release(struct proposal *p);
void proposal_pack(struct pack *p, struct proposal *x); /* reads into an empty one */
/* The mode whose share of the evidence contains u, 0 <= u < 1. */
const struct mode *proposal_mode_at(const struct proposal *p, double u);
/* A draw into z. */
void proposal_draw(const struct proposal *p, struct rng *r, double *z);
/* A random-walk step from z with the shape of the mixture. */
void proposal_walk(const struct proposal *p, struct rng *r, double *z);
double proposal_log_density(const struct proposal *p, const double *z); /* normalised */

/* Adds the mode at z (a local optimum of t): Hessian by differences of the gradient, eigenvalues
 * clipped at .3. Returns Laplace's log evidence of this mode. */
double proposal_add_mode(struct proposal *p, const struct density *t, const double *z);

/* Adds a mode at z with the shape of another density's mode. source[i] is the coordinate there (of
 * like_d) that corresponds to coordinate i; -1: none, with spread unit[i]. source NULL: all
 * correspond. False: no such shape exists. */
bool proposal_lend_mode(struct proposal *p, int d, const struct mode *like, int like_d,
                        const int *source, const double *unit, const double *z, double logp);

/* If the mixture is full, drops the mode with the least weight, except the first. */
void proposal_make_room(struct proposal *p);
/* Adds relevant regions elsewhere, with the shape of the first mode. */
void proposal_reach(struct proposal *p, const struct density *t);

struct draws {
    size_t n, d;
    double *z;    /* n x d, row per draw */
    double *logp; /* log density */
    double *w;    /* weights, summing to 1 */
};
void is_draws_release(struct draws *d);
void is_draws_pack(struct pack *p, struct draws *d); /* reads into empty ones */
/* Limits every weight to 1/sqrt(n) of the total, if a few draws hold most of the weight. */
void is_draws_even(struct draws *d);
struct is_result {
    double logz, se, ess; /* se of logz; ess as a share of the draws */
};
/* Importance sampling in stages. `pilot` draws from p improve it (components with the moments of
 * the weighted draws are added); then n draws, repeated if their effective share is small. In haste
 * the present stage is the last. The caller zeroes *out. */
struct is_result importance(const struct density *t, struct proposal *p, size_t pilot, size_t n,
                            struct rng *r, struct draws *out);
/* n draws from p without adaptation. */
struct is_result importance_once(const struct density *t, const struct proposal *p, size_t n,
                                 struct rng *r, struct draws *out);
#endif
