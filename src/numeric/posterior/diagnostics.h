/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of draws: moments, quantiles, effective sample sizes, Monte Carlo standard errors and
 * rank-normalised split R-hat, after Vehtari, Gelman, Simpson, Carpenter, Buerkner (2021),
 * "Rank-normalization, folding, and localization: an improved R-hat", Bayesian Analysis 16(2). The
 * numbers agree with R's package posterior.
 *
 * Draws of one quantity are a plain array of chains one after the other: draw i of chain c stands
 * at x[c * n + i], c < chains, i < n. Where a statistic does not exist (fewer than three draws per
 * half chain, a draw that is not finite, all draws equal) the functions give NaN.
 *
 * Draws may have weights w >= 0, which need not add up to one; a draw that lacks the quantity has
 * weight 0, and x is not looked at there. The statistics are then those of the weighted draws, and
 * the error of the mean m is that of sum w (x - m) / sum w. An effective number is the variance of
 * what is averaged over the squared error of its mean, and at most (sum w)^2 / sum w^2.
 */
#ifndef INFER_DIAGNOSTICS_H
#define INFER_DIAGNOSTICS_H
#include "base/buf.h"
#include <stddef.h>

double draws_mean(const double *x, size_t n);
double draws_sd(const double *x, size_t n);                 /* denominator n - 1 */
double draws_quantile(const double *x, size_t n, double p); /* interpolated, R's type 7 */

/* Effective number of draws for the mean. */
double draws_ess_mean(const double *x, size_t chains, size_t n);

struct draws_summary {
    double mean, sd, mcse_mean, q5, median, q95, rhat, ess_bulk, ess_tail;
    double absent; /* share of the draws that lack the quantity, by weight; set by the caller */
};
/* Tables shared by columns of one length, used for one quantity after another. */
struct draws_tables;
struct draws_tables *draws_tables_new(void);
void draws_tables_free(struct draws_tables *t);
/* w NULL: equal weights. */
void draws_summarise(struct draws_tables *t, const double *x, const double *w, size_t chains,
                     size_t n, struct draws_summary *out);
/* Effective number of weighted draws: (sum w)^2 / sum w^2; 0 if all weights are 0. */
double draws_worth(const double *w, size_t n);

/* Describes problems of a quantity called `name`: R-hat above 1.01, an effective sample size below
 * 100 per chain, draws that are not finite or never move. Appends a line per problem and returns
 * their number. */
size_t draws_complain(const struct draws_summary *s, const double *x, const double *w,
                      size_t chains, size_t n, const char *name, struct buf *out);
#endif
