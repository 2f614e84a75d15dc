/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of draws, several chains of named columns: read Stan CSV, summarise, write JSON.
 *
 * A row may lack columns, and columns may join at any time: where a row has no number, the column
 * is absent. In files that is an empty cell; here it is a NaN of its own, whose bits are those of
 * R's NA (gpm_draws_is_absent). Summaries are over the draws that have the quantity, and say what
 * share does not. A column log_weight__ holds log weights, which summaries take in; where it is
 * absent, it is 0.
 */
#ifndef GPMEM_DRAWS_H
#define GPMEM_DRAWS_H
#include "gpmem/gpmem.h"
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_draws gpm_draws;

GPM_API gpm_draws *gpm_draws_new(void);
GPM_API void gpm_draws_free(gpm_draws *d);
/* Adds a chain from the text of a Stan CSV file: comment lines, header, rows. An unfinished last
 * line is left out. GPM_E_FORMAT: err says which line is wrong. */
GPM_API enum gpm_status gpm_draws_add_csv(gpm_draws *d, const char *text, size_t len, char *err,
                                          size_t err_size);

/* Adds a chain of `rows` rows, one after the other, of `n` numbers with these names. */
GPM_API enum gpm_status gpm_draws_add_rows(gpm_draws *d, const char *const *names, size_t n,
                                           const double *x, size_t rows);
/* Adds a row to chain `chain`, from 0, which is made where it is not there yet: for gpm_draw_fn.
 * After the last one gpm_draws_arrange puts elements of arrays that joined late to their places;
 * the other functions that add do so themselves. */
GPM_API void gpm_draws_push(gpm_draws *d, size_t chain, const char *const *names, const double *row,
                            size_t n);
GPM_API void gpm_draws_arrange(gpm_draws *d);
/* Adds the chains of another table behind those there are. */
GPM_API void gpm_draws_join(gpm_draws *d, const gpm_draws *from);
/* A chain that left no draws: the next one has the number after it. */
GPM_API void gpm_draws_skip(gpm_draws *d);

GPM_API size_t gpm_draws_chains(const gpm_draws *d);
GPM_API size_t gpm_draws_columns(const gpm_draws *d);
GPM_API size_t gpm_draws_rows(const gpm_draws *d); /* that every chain has */
GPM_API const char *gpm_draws_name(const gpm_draws *d, size_t column);
GPM_API double gpm_draws_at(const gpm_draws *d, size_t chain, size_t row, size_t column);
/* gpm_draws_rows numbers. */
GPM_API void gpm_draws_column(const gpm_draws *d, size_t chain, size_t column, double *out);
GPM_API bool gpm_draws_is_absent(double x);
/* For what knows no weights: one chain of as many rows, drawn by weight. NULL: all weigh the same.
 */
GPM_API gpm_draws *gpm_draws_drawn(const gpm_draws *d);

/* Mean, Monte Carlo error, sd, quantiles, effective sample sizes and R-hat of every column, then in
 * words what is wrong. Valid until the next call. */
GPM_API const char *gpm_draws_summary(gpm_draws *d, enum gpm_format format);
/* The complaints alone, a line each; "" when all is well. */
GPM_API const char *gpm_draws_complaints(gpm_draws *d);
/* Leave-one-out cross-validation (by Pareto-smoothed importance sampling) and WAIC from the columns
 * log_lik of n tables, each a model of the same data, best first; n > 1: with differences. The text
 * belongs to the first table and is valid until the next call on it. GPM_E_ARG: the text says why
 * not. */
GPM_API enum gpm_status gpm_draws_loo(gpm_draws *const *d, const char *const *names, size_t n,
                                      enum gpm_format format, const char **text);
/* Replicated data beside the data, from the columns y_rep and y_obs: test quantities and p-values;
 * as a picture with `plot`, else as text or JSON. Valid until the next call. GPM_E_ARG: the text
 * says why not. */
struct gpm_plot_options;
GPM_API enum gpm_status gpm_draws_predictive(gpm_draws *d, enum gpm_format format,
                                             const struct gpm_plot_options *plot,
                                             const char **text);
/* What a column is, by its name: Stan's names for what a sampler says of itself, log_lik, y_rep,
 * y_obs, and everything else. */
enum gpm_draws_group {
    GPM_DRAWS_POSTERIOR,
    GPM_DRAWS_SAMPLER,
    GPM_DRAWS_LOG_LIK,
    GPM_DRAWS_REPLICATE,
    GPM_DRAWS_OBSERVED
};
GPM_API enum gpm_draws_group gpm_draws_group_of(const char *name);
GPM_API const char *gpm_draws_json(gpm_draws *d);
#if defined(__cplusplus)
}
#endif
#endif
