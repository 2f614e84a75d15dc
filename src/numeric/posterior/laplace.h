/* SPDX-License-Identifier: Apache-2.0
 *
 * Integrals over an unconstrained space: Laplace's method at one or several modes, importance
 * sampling from the mixture of Student-t distributions it gives. Knows nothing of models: a density
 * is a function with a gradient.
 */
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
#define HASTY_POINTS       8   /* that a density in haste is asked for at most, gradients: one */

/* A log density with gradient over z: what the machinery below integrates. */
struct density {
    int d;
    double (*eval)(void *ctx, const double *z, double *grad); /* grad may be NULL */
    void *ctx;
    /* Both may be NULL: what a step of the optimiser is in each coordinate around z (else 1), and
     * what brings z into the one domain that counts where several are alike. */
    void (*units)(void *ctx, const double *z, double *unit);
    void (*settle)(void *ctx, double *z);
    /* Both or neither may be NULL: whether a gradient that is asked for right after the value at
     * the same z costs no more than the rest, as the last evaluation was done; and that gradient,
     * false where there is none. */
    bool (*late)(void *ctx);
    bool (*slopes)(void *ctx, const double *z, double *grad);
    long *evals; /* NULL, or counts the evaluations inside the domain */
    /* Once this is set everything is impossible: what works on the density ends by itself, and its
     * result is void. May be NULL. */
    const volatile sig_atomic_t *stop;
    /* Once it is time, an optimum is what was reached, and a few draws are enough. May be NULL. */
    const struct haste *haste;
    /* Region number k in which there may be as much as around the optimum z, and that no step leads
     * to: a point of it and (unit) its spread in every coordinate, 0: as around z. False: there
     * are no more. May be NULL. */
    bool (*elsewhere)(void *ctx, const double *z, int k, double *at, double *unit);
    double step; /* of differences of the gradient, which make a mode's shape; 0: 1e-4 */
    /* NULL, or n points at once, each as eval would have it: on several threads, say. grad: n x d
     * or NULL; logp[i] -inf where a point is impossible. */
    void (*many)(void *ctx, size_t n, const double *z, double *logp, double *grad);
};
static inline double density_eval(const struct density *t, const double *z, double *grad) {
    double logp = stop_asked(t->stop) ? -INFINITY : t->eval(t->ctx, z, grad);
    if (t->evals) *t->evals += logp > -INFINITY;
    return logp;
}

/* logp[i], and n x d of grad (may be NULL), of n points one after another; how many: in haste those
 * after the first few (HASTY_POINTS) are not looked at, and -inf. */
size_t density_many(const struct density *t, size_t n, const double *z, double *logp, double *grad);

struct mode {
    double *z;         /* d; owned, with what scale points at */
    double *scale;     /* d x d: z = mode + scale * t, scale scale' = H^-1 */
    double log_scale;  /* log |det scale| */
    double log_weight; /* of this component, not normalised */
    double logp;       /* density at the mode */
};
/* z = mode + scale * t. */
void mode_point(const struct mode *m, int d, const double *t, double *z);

struct proposal {
    int d, n;
    int n_modes; /* the first ones, from Laplace; the rest from moments of draws */
    struct mode mode[PROPOSAL_MAX_MODES + 2];
};
void proposal_release(struct proposal *p);
void proposal_pack(struct pack *p, struct proposal *x); /* read into an empty one */
/* The mode into whose share of the evidence of all the part 0 <= u < 1 falls. */
const struct mode *proposal_mode_at(const struct proposal *p, double u);
/* A draw into z. */
void proposal_draw(const struct proposal *p, struct rng *r, double *z);
/* A step from z in proportion to the shape of the whole. */
void proposal_walk(const struct proposal *p, struct rng *r, double *z);
double proposal_log_density(const struct proposal *p, const double *z); /* normalised */

/* Adds the mode at z (a local optimum of t): Hessian by differences of the gradient, eigenvalues
 * clipped at .3. Returns Laplace's log evidence of this mode. */
double proposal_add_mode(struct proposal *p, const struct density *t, const double *z);

/* Adds a mode at z in the shape of another density's: source[i] is the coordinate there (of like_d)
 * that coordinate i is the same as, -1: of none, with a spread of unit[i]. source NULL: all are the
 * same. False: there is no such shape. */
bool proposal_lend_mode(struct proposal *p, int d, const struct mode *like, int like_d,
                        const int *source, const double *unit, const double *z, double logp);

/* Leaves out the mode that counts least, not the first, where no other has room. */
void proposal_make_room(struct proposal *p);
/* Adds the regions elsewhere than around the first mode, in its shape, that may count. */
void proposal_reach(struct proposal *p, const struct density *t);

struct draws {
    size_t n, d;
    double *z;    /* n x d, row per draw */
    double *logp; /* log density */
    double *w;    /* weights, summing to 1 */
};
void is_draws_release(struct draws *d);
void is_draws_pack(struct pack *p, struct draws *d); /* read into empty ones */
/* Where a few draws hold most of the weight: none weighs more than 1/sqrt(n) of all afterwards. */
void is_draws_even(struct draws *d);
struct is_result {
    double logz, se, ess; /* se of logz; ess as a share of the draws */
};
/* Importance sampling in stages: `pilot` draws from p improve it (components with the moments of
 * the weighted draws are added), then n draws; once more when their effective share is small. In
 * haste the stage at hand is the last, with the draws that it has. The caller zeroes *out. */
struct is_result importance(const struct density *t, struct proposal *p, size_t pilot, size_t n,
                            struct rng *r, struct draws *out);
/* n draws from p as it is. */
struct is_result importance_once(const struct density *t, const struct proposal *p, size_t n,
                                 struct rng *r, struct draws *out);
#endif
