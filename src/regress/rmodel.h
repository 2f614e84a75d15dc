/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a regression and its posterior. In standardised units (columns and outcome with mean
 * 0 and standard deviation 1)
 *
 *   y = f(x) + noise * N(0, 1),    f ~ GP(0, k),    k = 1 + LIN(sf=.5) + SE(sf=1, l=[l1 .. ld])
 *
 * with a length scale for each column, 1.5 sqrt(d) before the data, or another kernel in its place.
 * Every positive parameter of the kernel has a log-normal prior, its median what the kernel's text
 * says, its log with standard deviation 1; so has the noise, with median 0.3, to whose variance
 * FLOOR^2 is added: of an outcome without noise the factors would be rounding errors below it.
 * Plain numbers, origins and other parameters that are not positive are held.
 *
 * The posterior of the parameters' logarithms: modes (infer/fit.h), Laplace's method at each,
 * importance sampling, of which `kept` equally weighted draws are made by systematic resampling.
 * Where fewer than ENOUGH draws hold the weight (many parameters), chains (rchains.h) replace it,
 * and with more rows than chains are affordable for, draws from Laplace's normal distribution.
 */
#ifndef REGRESS_RMODEL_H
#define REGRESS_RMODEL_H
#include "gp/gp.h"
#include "infer/laplace.h"

enum rmodel_method { RMODEL_IMPORTANCE, RMODEL_CHAINS, RMODEL_LAPLACE };

struct rmodel {
    int dim;         /* columns */
    size_t n;        /* rows */
    const double *x; /* n x dim, standardised, borrowed */
    const double *y; /* standardised, borrowed */
    struct kern *k;  /* its values are the medians of the priors */
    size_t npar;     /* of the kernel */
    int d;           /* free parameters, the noise last */
    int *free;       /* d - 1 places among the kernel's parameters */
    double *centre;  /* d: of the logarithms */
    struct proposal q;
    double *z;         /* kept x d: draws of logarithms */
    size_t kept, used; /* used: of these, for what takes a factor each */
    size_t draws;      /* of the importance sampling */
    struct is_result is;
    enum rmodel_method method;
    double rhat;    /* of chains */
    double laplace; /* log evidence, by Laplace's method */
    struct rng rng; /* of starts and draws */
    long evals;     /* of the likelihood */
    const volatile sig_atomic_t *stop;
};

#define RMODEL_PRIOR_SD    1.0
#define RMODEL_NOISE       0.3
#define RMODEL_FLOOR       1e-4
#define RMODEL_LENGTH(dim) (1.5 * sqrt((double)(dim)))

/* The kernel of a regression on `dim` columns, as text. */
void rmodel_kernel_text(int dim, struct buf *out);
/* text NULL: that kernel. GPM_E_FORMAT: err says what is wrong with it. */
GPM_MUST_USE enum gpm_status rmodel_init(struct rmodel *m, int dim, size_t n, const double *x,
                                         const double *y, const char *text, struct buf *err);
void rmodel_release(struct rmodel *m);
/* A name of free parameter i: "SE.l[1]", "noise". */
void rmodel_name(const struct rmodel *m, int i, struct buf *out);

/* A process with the data; the caller frees. NULL: no memory. */
struct gp *rmodel_gp(const struct rmodel *m);
/* The process takes the parameters of logarithms z. */
GPM_MUST_USE enum gpm_status rmodel_use(const struct rmodel *m, struct gp *g, const double *z);

/* The value of free parameter i at its logarithm. */
double rmodel_value(const struct rmodel *m, int i, double z);

/* How much is computed, by the number of rows: draws of the importance sampling, those used. */
struct reffort {
    size_t draws, used;
    int starts, polished;
    size_t chain; /* transitions for each draw of chains; 0: they are not affordable */
};
struct reffort rmodel_effort(size_t n);
/* The modes, with Laplace's method at each, and its log evidence; then draws. GPM_E_INTERRUPT:
 * stopped; GPM_E_NOT_PD: no parameters fit the data. */
GPM_MUST_USE enum gpm_status rmodel_find(struct rmodel *m, uint64_t seed, int threads);
GPM_MUST_USE enum gpm_status rmodel_sample(struct rmodel *m, uint64_t seed, int threads);
#endif
