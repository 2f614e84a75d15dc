/* SPDX-License-Identifier: Apache-2.0
 *
 * How well a model predicts data that it has not seen, from the log densities of the data that it
 * has: leave-one-out cross-validation by Pareto-smoothed importance sampling (Vehtari, Gelman,
 * Gabry 2017; Vehtari, Simpson, Gelman, Yao, Gabry 2024) and the widely applicable information
 * criterion (Watanabe 2010). The numbers agree with R's package loo.
 */
#ifndef INFER_LOO_H
#define INFER_LOO_H
#include "numeric/posterior/draws.h"

/* Of one observation. */
struct loo_point {
    double elpd;      /* log p(y_i | y without y_i) */
    double p;         /* log p(y_i | y) minus that: how much the observation itself matters */
    double k;         /* shape of the Pareto tail of its weights: above loo.limit, do not trust */
    double elpd_waic; /* the same by WAIC */
    double p_waic;    /* posterior variance of log p(y_i | parameters) */
};
struct loo {
    struct loo_point *at; /* owned, one per observation */
    size_t n, draws;
    double limit;  /* of k: min(1 - 1 / log10(draws), 0.7) */
    bool weighted; /* the draws had weights, and were drawn by them first */
};
struct loo_sum {
    double sum, se;
};

/* From the columns log_lik of a table. False: `why` says why not. */
bool loo_of_table(const struct draw_table *d, struct loo *out, struct buf *why);
void loo_release(struct loo *l);
/* The sum of a field over the observations, offsetof(struct loo_point, ...), and its standard error
 * sqrt(n var). */
struct loo_sum loo_total(const struct loo *l, size_t field);
/* Of the difference in elpd, a minus b, observation by observation: both must have as many. */
struct loo_sum loo_difference(const struct loo *a, const struct loo *b);
/* A line per complaint about the n observations whose k is above the limit; how many there are. */
size_t loo_complain(const struct loo *l, struct buf *out);

/* Several models, best first, in words or as JSON; one: its numbers alone. False: as above. */
struct loo_model {
    const char *name;
    struct loo loo;
};
bool loo_report(struct loo_model *m, size_t n, bool json, struct buf *out, struct buf *why);

/* For tests: smooths n log ratios in place into normalised log weights, and gives k. r_eff: how
 * many independent draws one is worth. */
double psis(double *log_ratio, size_t n, double r_eff);
#endif
