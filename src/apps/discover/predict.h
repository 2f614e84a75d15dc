/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions that average over structures and parameters, and the additive decomposition of the
 * most probable structure. Everything in the user's units.
 */
#ifndef DISCOVER_PREDICT_H
#define DISCOVER_PREDICT_H
#include "apps/discover/posterior.h"
#include "apps/discover/series_space.h"

struct prediction {
    size_t n;
    double *x, *mean, *median, *lo, *hi; /* of a new measurement; one block, x its start */
    double *logp, *crps; /* with observed y: log predictive density, CRPS of the mixture */
};
/* level: of the interval, .95; y (may be NULL): observed values to be scored. */
GPM_MUST_USE enum gpm_status predict(const struct posterior *p, size_t n, const double *x,
                                     const double *y, double level, struct prediction *out);
/* The same with this many draws, for questions about tails: at a few standard deviations only a few
 * draws determine the density. */
GPM_MUST_USE enum gpm_status predict_closely(const struct posterior *p, size_t draws, size_t n,
                                             const double *x, const double *y, double level,
                                             struct prediction *out);
void prediction_release(struct prediction *p);
/* Quantiles at n times: out[i * n_levels + k]. */
GPM_MUST_USE enum gpm_status predict_quantiles(const struct posterior *p, size_t n, const double *x,
                                               const double *levels, size_t n_levels, double *out);
/* Draws of the whole course over n times, with noise: out[i * paths + k], k the path. */
GPM_MUST_USE enum gpm_status predict_paths(const struct posterior *p, size_t n, const double *x,
                                           size_t paths, uint64_t seed, double *out);

/* A part (smodel.h) at n times, jointly: mean and Cholesky factor (n x n) of its posterior, on the
 * standardised scale; g as smodel_condition gives. */
GPM_MUST_USE enum gpm_status predict_joint(const struct smodel *m, const double *z, struct gp *g,
                                           int part, const double *t, size_t n, double *mean,
                                           double *factor);

/* One additive part of one structure, on the scale of the transform (log units for logs). */
struct series_part {
    int term;               /* SMODEL_CONSTANT, SMODEL_REGRESS - j */
    double *mean, *sd;      /* n each, in the decomposition's block */
    double share;           /* variance of the mean over the data / variance of the data */
    double slope, slope_sd; /* least-squares slope of the mean per unit of x, and its spread */
    double late, late_sd;   /* of a walk: slope over the last step of the data, and its spread */
};
/* The level, all that is neither noise nor repeats, at a few times of the data: its start, the
 * begin of the last fifth, its end. On the scale of the transform. */
#define LEVEL_POINTS 3
struct series_level {
    double x[LEVEL_POINTS], mean[LEVEL_POINTS], cov[LEVEL_POINTS * LEVEL_POINTS];
};
/* Its change from point i to point j per unit of x, and the standard deviation. */
struct level_rate {
    double slope, sd;
};
struct level_rate level_rate(const struct series_level *l, int i, int j);

/* The step from one standard deviation of a regressor below its mean to one above, on the scale of
 * the transform: mean, standard deviation and 95% interval over the structures (a trend may explain
 * what a regressor explains); p: that there is an effect, at even odds beforehand (Savage and
 * Dickey). */
struct effect {
    double change, sd, lo, hi, p;
};
/* Those of all regressors, of structures on the scale of `e`. */
GPM_MUST_USE enum gpm_status effects_average(const struct posterior *p, const struct evidence *e,
                                             struct effect *out);

struct decomposition {
    const struct evidence *e; /* borrowed */
    size_t n;
    double *x; /* and the numbers of all parts, one block */
    struct series_part part[STRUCTURE_MAX_TERMS + 1 + REGRESSORS_MAX];
    int n_parts;
    struct series_level level;
    struct effect effect[REGRESSORS_MAX];
    double rest; /* variance of what the fitted parts leave / variance of the data */
};
GPM_MUST_USE enum gpm_status decompose(const struct posterior *p, const struct evidence *e,
                                       size_t n, const double *x, struct decomposition *out);
void decomposition_release(struct decomposition *d);

/* Median, which serves as the centre, and 95% interval of a parameter's value on the standardised
 * scale. */
struct par_summary {
    double mean, lo, hi;
};
struct par_summary parameter_summary(const struct evidence *e, int par);
/* The end of the structure's window. */
struct par_summary window_end_summary(const struct evidence *e);
/* The period of a term as one sees it: what 3.5 steps of a grid repeat comes back after 7. */
struct par_summary period_summary(const struct evidence *e, const struct sterm *t);
/* Draws from the posterior over structures and parameters, at least one of every structure that
 * matters, about `budget` in all; the weights sum to 1. The caller frees *out. */
struct posterior_draw {
    const struct evidence *e;
    const double *z;
    double weight;
};
size_t posterior_draws(const struct posterior *p, size_t budget, struct posterior_draw **out);
/* Draws that stand for the posterior where n would: of a long series whose search its limit has
 * ended an eighth of them. */
size_t predict_draws(const struct search *s, size_t n);
/* k-th of n representative draws (systematic resampling); the mode when there are no draws. */
const double *evidence_draw(const struct evidence *e, size_t k, size_t n);
#endif
