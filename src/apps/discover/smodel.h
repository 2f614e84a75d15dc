/* SPDX-License-Identifier: Apache-2.0
 *
 * The Gaussian-process model of one structure on standardised data: t in [0,1], y with mean 0 and
 * standard deviation 1. The structure with its parameters is a kernel expression; everything that
 * is computed with it is computed by struct gp.
 *
 *   k(t, t') = 1 + sum_k s_k^2 (product of the kernel rows of term k), noise on every value
 *
 * One standard deviation per term. The parameters are unconstrained (z); their priors are those of
 * the kernel rows, as densities in z, so there are no Jacobians.
 *
 * A workspace belongs to one thread; data and model are shared and read-only.
 */
#ifndef DISCOVER_SMODEL_H
#define DISCOVER_SMODEL_H
#include <signal.h>
#include "gpmem/status.h"
#include "apps/discover/hyper.h"
#include "apps/discover/series.h"
#include "apps/discover/structure.h"
#include "gp/process/gp.h"
#include "numeric/posterior/mixture.h"
#include <stdbool.h>
#include <stddef.h>

/* More values than these are a long series: parameters for which no filter serves count as
 * improbable (smodel_gp.c), so that all is computed in O(n). */
#define SMODEL_LONG 2000

/* The other scale that values are modelled on: their logarithm; of counts with zeros among them,
 * which have none, sqrt(y + 3/8), whose noise is of one size whatever the rate is (Anscombe), of
 * amounts with zeros (rain) sqrt(y + half of the least other one); of
 * values between two ends (percentages) the log odds (y - low) / (high - y); of values with one end
 * other than 0 the logarithm of the distance from it, growing with the value. Few counts are
 * modelled as such, on the logarithm of their rate, and few values of 0 and 1 on the log odds of
 * the chance of a 1 (smodel_rate.c).
 *
 * Positive values whose logarithms are modelled have a third scale, their square root: noise that
 * grows with the level, but less than in proportion. Only values that differ by more than this
 * factor tell it from the two others. */
#define POWER_RANGE 1.5
/* A scale on which no standardised value lies further than this from where it lies itself (positive
 * values whose greatest is less than about 1.02 times the least, amounts around 1e9) says nothing
 * that the values do not. */
#define LINEAR_WITHIN 0.01

struct smodel_data {
    size_t n, added;       /* the last so many came after all was learnt, and lie beyond 1 */
    double *t;             /* ascending, [0,1] */
    double *values;        /* as they are */
    double *y[TRANSFORMS]; /* standardised, per transform; NULL if unused */
    struct value_link link[TRANSFORMS]; /* what each transform stands for */
    bool linear; /* that scale is a straight line over the values: it is not searched unasked */
    double low, high; /* ends of what values can be; infinite: none */
    double mean[TRANSFORMS], sd[TRANSFORMS];
    /* log density of the standardised y -> of the user's y: added to log Z */
    double log_measure[TRANSFORMS];
    double x0, span; /* user's x = x0 + span * t */
    bool grid;       /* every t is a multiple of dt */
    size_t ng;       /* grid length, gaps included */
    double dt;       /* grid step, or the median step */
    double step;     /* median step */
    bool regular;    /* at least half of the grid's points are there, each once */
    /* Periods (in t) of the calendar of which the data hold at least two, at least two steps long;
     * n_season of them. */
    double season[SERIES_SEASONS];
    int n_season;
    /* Other columns that act on the values, borrowed; NULL: none. points: time and standardised
     * columns of every value, n x dim, one value after the other; NULL when dim is 1. */
    const struct regressors *reg;
    int dim;
    double *points, reg_mean[REGRESSORS_MAX], reg_sd[REGRESSORS_MAX];
    const struct hyper_priors *shared; /* of a panel, borrowed; NULL: the rows' priors alone */
    /* Values are written in steps of this size (rounding.h), 0: none; what that adds to the noise's
     * variance, standardised, per transform. */
    double step_y, rounding[TRANSFORMS];
    double level_y; /* they have few levels, so far apart, and predictions have them, too; 0: no */
    bool counts;    /* whole numbers from 0 on: predictions are not below 0 */
    bool truths;    /* every value is 0 or 1 */
    double wild,
        wild_sd[TRANSFORMS]; /* values out of line: their share, their spread per transform */
};
/* Copies x (ascending) and y; GPM_E_ARG when n < 3, x spans nothing or y is constant. Values cannot
 * lie below `low` or above `high` (infinite: no such end). Scales on which the ends are infinitely
 * far are modelled, too, where no value has reached them. */
GPM_MUST_USE enum gpm_status smodel_data_init(struct smodel_data *d, size_t n, const double *x,
                                              const double *y, double low, double high);
/* A prediction within what values can be; how predictions are written: so, and at one of their few
 * levels. */
double smodel_possible(const struct smodel_data *d, double y);
struct mixture_written smodel_written(const struct smodel_data *d);
/* Times from 0 to 1 over the data, the caller's to free; those near to the grid of the data lie on
 * it, as the data do. */
double *smodel_times(const struct smodel_data *d, size_t n, const double *x);
/* What a small change by one standard deviation of the transformed values means: of the values, at
 * their middle; of logarithms it stays one of logarithms. */
double smodel_unit(const struct smodel_data *d, int transform);
double smodel_middle(const struct smodel_data *d, int transform); /* of that scale */
/* The scale of TRANSFORM_LOG. */
static inline enum link_kind smodel_scale(const struct smodel_data *d) {
    return d->link[TRANSFORM_LOG].kind;
}
/* Are effects on the scale of a transform factors of the values? So it is with logarithms. */
static inline bool smodel_multiplies(const struct smodel_data *d, int transform) {
    return link_multiplies(d->link[transform].kind);
}
/* Are values drawn around a function that is modelled: counts around a rate, truths by a chance? */
static inline bool smodel_scale_hidden(const struct smodel_data *d) {
    return link_hidden(smodel_scale(d));
}
/* Gives the data their regressors, whose rows hold every time; r outlives them. */
void smodel_data_regressors(struct smodel_data *d, const struct regressors *r);
/* The points of n times: contiguous, dim coordinates each; the caller frees. */
double *smodel_points(const struct smodel_data *d, size_t n, const double *t);
/* The same column by column, as kernels take them. */
double *smodel_columns(const struct smodel_data *d, size_t n, const double *t);
/* Values are rounded to multiples of `step`; 0: they are not. */
void smodel_data_rounded(struct smodel_data *d, double step);
/* A period of the calendar, where it is one that can be seen. */
void smodel_data_season(struct smodel_data *d, double p);
/* At most k of the points, first and last among them, chosen by a fixed random stream; keeps the
 * span, the step that bounds periods, the seasons and the scales, so that parameters mean the same.
 */
GPM_MUST_USE enum gpm_status smodel_data_subset(const struct smodel_data *full, size_t k,
                                                struct smodel_data *out);
/* The data with values that follow, on the same scales: what was learnt of parameters keeps its
 * meaning. GPM_E_ARG: a value is beyond the ends of one. */
GPM_MUST_USE enum gpm_status smodel_data_add(const struct smodel_data *d, size_t n, const double *x,
                                             const double *y, struct smodel_data *out);
static inline double smodel_last(const struct smodel_data *d) { /* time of the last value */
    return d->added ? d->t[d->n - 1] : 1;
}
void smodel_data_release(struct smodel_data *d);
/* Counts so few that neither they nor their roots or logarithms are close to normal, or truths. */
bool smodel_few_counts(const struct smodel_data *d);
/* From here on they are counts around a rate, or truths by a chance, on the scale TRANSFORM_LOG. */
void smodel_data_rates(struct smodel_data *d);
/* Is there a filter for what the values hang on beside time? Linear effects alone have one. */
bool smodel_filters(const struct smodel_data *d);
/* A regular grid with few gaps: most structures have a fast likelihood. */
bool smodel_fast_grid(const struct smodel_data *d);

enum spar_kind {
    SPAR_NOISE, /* log sd */
    SPAR_SD,    /* log sd of a term */
    SPAR_L,     /* log length-scale of a smooth factor */
    SPAR_ALPHA,
    SPAR_PERIOD,
    SPAR_LPER, /* log length-scale of PER */
    SPAR_C,
    SPAR_TAU,
    SPAR_WIDTH,
    SPAR_LWITHIN, /* of a pattern within a period that differs in a longer one: as SPAR_LPER */
    SPAR_KINDS
};
#define SMODEL_MAX_PAR 32
/* Parameters that a structure holds fixed (a period of the calendar) have numbers from
 * SMODEL_MAX_PAR on and no coordinate. */
#define SMODEL_MAX_HELD (2 * STRUCTURE_MAX_TERMS)

struct spar {
    int kind, term;               /* term -1: of the whole structure */
    const struct kern_param *row; /* NULL: uniform on an interval */
    bool log;                     /* z (or the place in the interval) is of the logarithm */
    double a, b; /* mean of z, the row has the rest; or the interval's ends; held: the value */
    double sd;   /* of a prior that is shared in a panel, N(a, sd^2); 0: the row's */
};
const char *spar_name(int kind); /* "sd", "period" */
struct sterm {
    uint16_t mask, gate, at, to;
    int par[SPAR_KINDS]; /* index of its parameter of each kind, -1: it has none */
};
/* What parameter p of a row of this role is to a term. */
enum spar_kind spar_kind_of(enum kern_role role, size_t p);
struct smodel {
    struct structure s;
    const struct smodel_data *data; /* borrowed */
    const double *y;
    int d;
    struct spar par[SMODEL_MAX_PAR + SMODEL_MAX_HELD];
    int n_held;
    struct sterm term[STRUCTURE_MAX_TERMS];
    int n_terms, tau, width; /* change point, window */
    bool fast;               /* likelihood and gradient in O(n^2) */
    double log_copies;       /* log of the number of orders of equal terms */
    double since;            /* when walks began: at the first value, 0, or earlier */
};
void smodel_init(struct smodel *m, const struct smodel_data *data, const struct structure *s);
/* Is what the structure describes hidden behind counts that are drawn around it? */
static inline bool smodel_hidden(const struct smodel *m) {
    return smodel_scale_hidden(m->data) && m->s.transform == TRANSFORM_LOG;
}
/* Has parameter i (-1: none) a coordinate? */
static inline bool smodel_free(int i) {
    return i >= 0 && i < SMODEL_MAX_PAR;
}

struct smodel_work {
    struct gp *gp[TRANSFORMS];         /* of the values on each scale */
    const struct smodel *m;            /* whose density is asked for (evidence.h) */
    const volatile sig_atomic_t *stop; /* of its densities; NULL: none */
    const struct haste *haste;         /* likewise */
    struct gp_laplace *rate;           /* of a hidden scale; NULL: not yet used */
};
struct smodel_work *smodel_work_new(const struct smodel_data *data); /* NULL: out of memory */
void smodel_work_free(struct smodel_work *w);

/* log p(y|z) + log p(z); gradient when grad is not NULL. -inf where the matrix is singular. */
double smodel_eval(const struct smodel *m, struct smodel_work *w, const double *z, double *grad);
/* Has the last evaluation left a factor? Then smodel_slopes, right after smodel_eval at the same z,
 * computes only the gradient; false: no factor. */
bool smodel_late(const struct smodel *m, const struct smodel_work *w);
bool smodel_slopes(const struct smodel *m, struct smodel_work *w, const double *z, double *grad);
double smodel_log_prior(const struct smodel *m, const double *z, double *grad);

/* Value on the standardised scale of parameter i (sd, l, period in t, c, tau ...). Noise includes
 * the error of rounding. */
double smodel_value(const struct smodel *m, int i, double z);
double smodel_slope(const struct smodel *m, int i, double z);  /* its derivative in z */
double smodel_dvalue(const struct smodel *m, int i, double z); /* of the value, or of its log */
double smodel_unvalue(const struct smodel *m, int i, double value);
void smodel_prior_draw_hint(const struct smodel *m, double *z); /* z at the prior's centre */
/* Puts equal terms in the order of their length-scale or period. */
void smodel_order(const struct smodel *m, double *z);
bool smodel_ordered(const struct smodel *m, const double *z);

/* ---- prediction ---- */
/* Parts of the structure beside term 0, 1, ... */
enum {
    SMODEL_ALL = -1,
    SMODEL_CONSTANT = -2,
    SMODEL_SIGNAL = -3,
    SMODEL_WHITE = -4,
    SMODEL_LEVEL = -5,  /* the signal without what repeats and without regressors */
    SMODEL_SLOW = -6,   /* the level without what passes (smodel_passes) */
    SMODEL_REGRESS = -7 /* the effect of the first regressor; -8: of the second, ... */
};
/* A stationary term that comes and goes at least twenty times in a series (weather) says nothing of
 * where the values go: from the first day to the last it is a difference of two days. l: its
 * length-scale. */
#define LEVEL_TIME 0.05
bool smodel_passes(const struct smodel *m, int k, double l);
/* The factors that term k amounts to over the whole series: one that passes has no direction,
 * whatever its size does, and a trend that forgets its slope as often is a random walk. */
unsigned smodel_amounts(const struct smodel *m, int k, double l);
/* The kernel of a part; NULL: nothing. All but the constant noise is in SMODEL_ALL, noise whose
 * size varies in SMODEL_WHITE, the rest in SMODEL_SIGNAL. */
struct kern *smodel_kernel(const struct smodel *m, const double *z, int part);
/* The structure for questions about times from `first` on. A walk that is seen from the first value
 * on has come there from somewhere: where times lie before the data it began a span before them, so
 * that the level at its start is hardly known and it goes back as it goes on. */
struct smodel smodel_reaching(const struct smodel *m, double first);
/* The process with the data and the parameters z, in the workspace until its next use. */
GPM_MUST_USE enum gpm_status smodel_condition(const struct smodel *m, struct smodel_work *w,
                                              const double *z, struct gp **out);
/* Posterior mean and variance (may be NULL) of a part at n times, g as smodel_condition gives. */
GPM_MUST_USE enum gpm_status smodel_part(const struct smodel *m, const double *z, struct gp *g,
                                         int part, const double *t, size_t n, double *mean,
                                         double *var);
/* The same at few times with the n x n covariance. */
GPM_MUST_USE enum gpm_status smodel_part_cov(const struct smodel *m, const double *z, struct gp *g,
                                             int part, const double *t, size_t n, double *mean,
                                             double *cov);
/* What the step from one standard deviation below the mean of regressor j to one above changes:
 * posterior mean and variance, and the variance a priori; standardised. */
GPM_MUST_USE enum gpm_status smodel_effect(const struct smodel *m, struct gp *g, int j,
                                           double *change, double *var, double *prior);
/* ---- counts around a rate (LINK_RATE): negative binomial, mean e^f, variance m + m^2 / size ----
 */
const struct gp_likelihood *smodel_likelihood(const struct smodel_data *d);
/* The size; Poisson counts: infinite. */
double smodel_count_size(const struct smodel *m, const double *z);
/* smodel_eval and smodel_condition of such data. k: the kernel of SMODEL_ALL. */
GPM_MUST_USE enum gpm_status smodel_rate_logml(const struct smodel *m, struct smodel_work *w,
                                               const double *z, const struct kern *k, double *out,
                                               double *dkern, double *dnoise);
GPM_MUST_USE enum gpm_status smodel_rate_condition(const struct smodel *m, struct smodel_work *w,
                                                   const double *z, const struct kern *k);
void smodel_rate_release(struct smodel_work *w);

/* Variance of the noise at n times; outside of the data at least that at their end. Of counts
 * around a rate that of the rate's own noise alone. */
GPM_MUST_USE enum gpm_status smodel_noise_vars(const struct smodel *m, const double *z,
                                               const double *t, size_t n, double *var);

/* ---- the other regime ----
 * Signal and noise at n times outside of the data if the regime has switched since. Terms on their
 * side of the change have ended; terms of the other side begin again, without memory. Walks and
 * lines stay where they ended, as uncertain as if they continued. m has a change. */
GPM_MUST_USE enum gpm_status smodel_other(const struct smodel *m, const double *z, struct gp *g,
                                          const double *t, size_t n, double *mean, double *var);
GPM_MUST_USE enum gpm_status smodel_other_cov(const struct smodel *m, const double *z, struct gp *g,
                                              const double *t, size_t n, double *mean, double *cov);
GPM_MUST_USE enum gpm_status smodel_other_noise(const struct smodel *m, const double *z,
                                                const double *t, size_t n, double *var);
#endif
