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
 * Plain numbers, origins and other parameters that are not positive are held. Of chances and counts
 * (rfamily.h) y is as read, f the logarithm of the odds or the rate, the kernel wider by the
 * family's scale; a parameter of the likelihood stands in the noise's place, or nothing does.
 *
 * The posterior of the parameters' logarithms: modes (rstarts.h), Laplace's method at each,
 * importance sampling, of which `kept` equally weighted draws are made by systematic resampling.
 * Where fewer than ENOUGH draws hold the weight, and of more than FEW parameters, chains
 * (rchains.h) replace it, and with more rows than chains are affordable for, draws from Laplace's
 * normal distribution.
 */
#ifndef REGRESS_RMODEL_H
#define REGRESS_RMODEL_H
#include "gp/process/gp.h"
#include "gp/way/gp_laplace.h"
#include "numeric/posterior/laplace.h"
#include "apps/regress/rchains.h"
#include "apps/regress/rfamily.h"

enum rmodel_method { RMODEL_IMPORTANCE, RMODEL_CHAINS, RMODEL_LAPLACE };

struct rmodel {
    int dim;         /* columns */
    size_t n;        /* rows */
    const double *x; /* n x dim, standardised, borrowed */
    const double *y; /* standardised, or as read; borrowed */
    const struct rfamily *family;
    const struct gp_likelihood *likelihood; /* NULL: normal noise */
    struct kern *k;                         /* its values are the medians of the priors */
    size_t npar;                            /* of the kernel */
    int nk, d;      /* free parameters: of the kernel, and with noise or likelihood behind them */
    int *free;      /* nk places among the kernel's parameters */
    double *centre; /* d: of the logarithms */
    struct proposal q;
    double *z;         /* kept x d: draws of logarithms */
    size_t kept, used; /* used: of these, for what takes a factor each */
    size_t draws;      /* of the importance sampling */
    struct is_result is;
    enum rmodel_method method;
    struct rchains chains;
    bool lent;      /* the mode's shape is that of other rows */
    double laplace; /* log evidence, by Laplace's method */
    struct rng rng; /* of starts and draws */
    long evals;     /* of the likelihood */
    const volatile sig_atomic_t *stop;
};

/* Chains that end so far apart explain the data in different ways, and which is right is open: no
 * answer. */
#define RMODEL_OPEN        1.2 /* R-hat */
#define RMODEL_PRIOR_SD    1.0
#define RMODEL_NOISE       0.3
#define RMODEL_FLOOR       1e-4
#define RMODEL_LENGTH(dim) (1.5 * sqrt((double)(dim)))

static inline bool rmodel_settled(const struct rmodel *m) {
    return m->method != RMODEL_CHAINS || m->chains.rhat < RMODEL_OPEN;
}

struct rmodel_data {
    int dim;
    size_t n;
    const double *x, *y;
    enum rfamily_kind family;
};
/* text NULL: that kernel. GPM_E_FORMAT: err says what is wrong with it. */
GPM_MUST_USE enum gpm_status rmodel_init(struct rmodel *m, const struct rmodel_data *data,
                                         const char *text, struct buf *err);
void rmodel_release(struct rmodel *m);
/* A name of free parameter i: "SE.l[1]", "noise", "size". */
void rmodel_name(const struct rmodel *m, int i, struct buf *out);

/* A process with the data, for one thread: set the parameters first, then evaluate. */
struct rprocess {
    const struct rmodel *m;
    struct gp *g; /* of normal measurements; of chances and counts those that stand for them, and
                     NULL until they are asked for */
    struct gp_laplace rate; /* the data of chances and counts */
    double *columns;        /* the rows' inputs by columns, of normal measurements */
    double *weight, *value; /* of each of those measurements: 1 / its variance, and what it says */
};
GPM_MUST_USE enum gpm_status rprocess_init(struct rprocess *p, const struct rmodel *m);
void rprocess_release(struct rprocess *p);
/* Takes the parameters of logarithms z. */
GPM_MUST_USE enum gpm_status rprocess_use(struct rprocess *p, const double *z);
/* The process as it is given the data: p->g holds it. Of chances and counts the posterior of the
 * parameters goes by Laplace's method, and the function given them by expectation propagation
 * (Minka 2001): Laplace's mode gives a start, and chances of rows that are far from any doubt, of
 * which its normal distribution makes too little, come out right. */
GPM_MUST_USE enum gpm_status rprocess_settle(struct rprocess *p);
/* Predictions of each row from all others, mean and variance: of the measurement under normal
 * noise, else of the function. */
GPM_MUST_USE enum gpm_status rprocess_loo(struct rprocess *p, double *mean, double *var);

/* The log density of the parameters' logarithms, computed by this process; stops when the model is
 * asked to. */
struct density rprocess_density(struct rprocess *p);

/* The value of free parameter i at its logarithm. */
double rmodel_value(const struct rmodel *m, int i, double z);

/* How much is computed, by the number of rows: draws of the importance sampling, those used. */
struct reffort {
    size_t draws, used;
    int modes;    /* at most */
    size_t chain; /* rounds of chains, at most; 0: they are not affordable */
};
/* The modes, with Laplace's method at each, and its log evidence; then draws. GPM_E_INTERRUPT:
 * stopped; GPM_E_NOT_PD: no parameters fit the data. */
GPM_MUST_USE enum gpm_status rmodel_find(struct rmodel *m, uint64_t seed, int threads);
/* The same of rows that are nearly those of a model with this mode: many rows take a few steps from
 * there, in its shape, which the new mode is lent (a shape of its own takes 2d gradients). */
GPM_MUST_USE enum gpm_status rmodel_find_near(struct rmodel *m, const struct mode *like,
                                              uint64_t seed, int threads);
/* Gives a mode that was lent its shape its own. */
GPM_MUST_USE enum gpm_status rmodel_shape(struct rmodel *m, int threads);
GPM_MUST_USE enum gpm_status rmodel_sample(struct rmodel *m, uint64_t seed, int threads);
#endif
