/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence of one structure, parameters integrated out: optimisation from several starts, Laplace's
 * method at every good mode, corrected by importance sampling from a mixture of Student-t
 * distributions. The weighted draws are kept: they are the posterior of the parameters.
 *
 * Pure functions of (data, structure, parent, seed): the result does not depend on threads.
 */
#ifndef STUDY_EVIDENCE_H
#define STUDY_EVIDENCE_H
#include "math/rng.h"
#include "study/smodel.h"

#define EVIDENCE_MAX_MODES 4
#define EVIDENCE_NU        5.0 /* degrees of freedom of the proposals */

/* A log density with gradient over z: what the machinery below integrates. */
struct target {
    int d;
    double (*eval)(void *ctx, const double *z, double *grad); /* grad may be NULL */
    void *ctx;
};

struct mode {
    double *z;         /* d */
    double *scale;     /* d x d: z = mode + scale * t, scale scale' = H^-1 */
    double log_scale;  /* log |det scale| */
    double log_weight; /* of this component, not normalised */
    double logp;       /* density at the mode */
};
struct proposal {
    int d, n;
    int n_modes; /* the first ones, from Laplace; the rest from moments of draws */
    struct mode mode[EVIDENCE_MAX_MODES + 2];
};
void proposal_release(struct proposal *p);
/* A draw into z; u and eps are scratch of d. Antithetic: the caller may flip eps. */
void proposal_draw(const struct proposal *p, struct rng *r, double *z);
double proposal_log_density(const struct proposal *p, const double *z); /* normalised */

/* Adds the mode at z (a local optimum of t): Hessian by differences of the gradient, eigenvalues
 * clipped at .3. Returns Laplace's log evidence of this mode. */
double proposal_add_mode(struct proposal *p, const struct target *t, const double *z);

struct draws {
    size_t n, d;
    double *z;    /* n x d, row per draw */
    double *logp; /* log density */
    double *w;    /* weights, summing to 1 */
};
void is_draws_release(struct draws *d);
struct is_result {
    double logz, se, ess; /* se of logz; ess as a share of the draws */
};
/* Importance sampling in stages: `pilot` draws from p improve it (components with the moments of
 * the weighted draws are added), then n draws; once more when their effective share is small. The
 * caller zeroes *out. */
struct is_result importance(const struct target *t, struct proposal *p, size_t pilot, size_t n,
                            struct rng *r, struct draws *out);

struct evidence {
    struct smodel m;
    double log_prior; /* of the structure, and the measure of the transform */
    struct proposal prop;
    double map;      /* log density at the best mode */
    double laplace;  /* log evidence by Laplace, copies counted */
    double logz, se; /* best estimate and its standard error */
    double ess;      /* share; 0 before importance sampling */
    struct draws draws;
    bool rough, expanded; /* rough: far from the top, not polished */
    long evals;
    int index;
};
static inline double evidence_total(const struct evidence *e) {
    return e->logz + e->log_prior;
}

/* What the starts need to know about the data: periods that stand out. */
struct period_hints {
    double p[12];
    int n;
};
void period_hints_data(const struct smodel_data *d, int transform, struct period_hints *h);
/* The residual of the parent at its optimum first, then those of the data. */
void period_hints_residual(const struct evidence *parent, struct smodel_work *w,
                           const struct period_hints *data, struct period_hints *h);

/* New evidence of s by starts around the parent (NULL: none). `floor`: log evidence below which the
 * structure is of no interest: it stays rough (an optimum that is not polished). NULL only when out
 * of memory. */
struct evidence *evidence_new(const struct smodel_data *data, const struct structure *s,
                              double log_prior, const struct evidence *parent,
                              const struct period_hints *hints, double floor,
                              struct smodel_work *w);
/* The same structure on other data, started only from the optimum `from` found. */
struct evidence *evidence_carry(const struct smodel_data *data, const struct evidence *from,
                                double log_prior, struct smodel_work *w);
void evidence_free(struct evidence *e);
/* Another start from a relative's optimum; true when it found a better mode. */
bool evidence_improve(struct evidence *e, const struct evidence *from, struct smodel_work *w);
/* Importance sampling with n draws; replaces logz, se, ess and the draws. */
void evidence_sample(struct evidence *e, size_t n, uint64_t seed, struct smodel_work *w);
#endif
