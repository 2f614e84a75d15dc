/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's predictive accuracy on unseen data, estimated from the log densities of its own data:
 * leave-one-out cross-validation by Pareto-smoothed importance sampling (Vehtari, Gelman, Gabry
 * 2017; Vehtari, Simpson, Gelman, Yao, Gabry 2024) and the widely applicable information criterion
 * (Watanabe 2010). The numbers agree with R's package loo. */
#ifndef INFER_LOO_H
#define INFER_LOO_H
#include "numeric/posterior/draws.h"

/* For one observation. */
struct loo_point {
    double elpd;      /* log p(y_i | y without y_i) */
    double p;         /* log p(y_i | y) minus that: influence of the observation */
    double k;         /* shape of the Pareto tail of its weights; unreliable above loo.limit */
    double elpd_waic; /* the same by WAIC */
    double p_waic;    /* posterior variance of log p(y_i | parameters) */
};
struct loo {
    struct loo_point *at; /* owned, one per observation */
    size_t n, draws;
    double limit;  /* of k: min(1 - 1 / log10(draws), 0.7) */
    bool weighted; /* the draws had weights and were resampled first */
};
struct loo_sum {
    double sum, se;
};

/* From the columns log_lik of a table. False: `why` gives the reason. */
bool loo_of_table(const struct draw_table *d, struct loo *out, struct buf *why);
void loo_release(struct loo *l);
/* The sum of a field over the observations, offsetof(struct loo_point, ...), and its standard error
 * sqrt(n var). */
struct loo_sum loo_total(const struct loo *l, size_t field);
/* The same for the pointwise difference in elpd, a minus b; both must have the same number. */
struct loo_sum loo_difference(const struct loo *a, const struct loo *b);
/* Appends a line per problem about the observations whose k exceeds the limit; returns their
 * number. */
size_t loo_complain(const struct loo *l, struct buf *out);

/* Several models, best first, as text or JSON; for one model its figures. False: as above. */
struct loo_model {
    const char *name;
    struct loo loo;
};
bool loo_report(struct loo_model *m, size_t n, bool json, struct buf *out, struct buf *why);

/* For tests: turns n log ratios in place into smoothed normalised log weights and returns k. r_eff:
 * number of independent draws per draw. */
double psis(double *log_ratio, size_t n, double r_eff);
#endif
