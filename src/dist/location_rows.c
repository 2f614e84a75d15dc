/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures by location and scale, half ones, and skewed ones:
 * math/dist_location.c.
 */
#include "dist/dist_row.h"
#include "math/dist.h"
#include <math.h>

static enum gpm_status check_share(struct sp_call *c, const double *a) {
    if (a[2] > 0 && a[2] < 1) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: beta must be above 0 and below 1, got %g", c->cls->name,
                    a[2]);
}

const struct sp_class sp_location_rows[] = {
    {.name = "cauchy",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "Cauchy distribution",
     .example = "floor(1e6 * assess(0, cauchy, 0, 1)) => -1144730",
     .num_args = 2,
     SP_CONTINUOUS(cauchy, SP_REAL, .best = best_loc_scale, .tails = dist_cauchy_tails,
                   .slopes = slopes_loc_scale)},
    {.name = "logistic_distribution",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "logistic distribution; its distribution function is logistic((x - loc) / scale)",
     .example = "assess(0, logistic_distribution, 0, 1) => -1.3862943611198906",
     .num_args = 2,
     SP_CONTINUOUS(logistic, SP_REAL, .tails = dist_logistic_tails, .slopes = slopes_loc_scale)},
    {.name = "gumbel",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "Gumbel distribution of largest values",
     .example = "assess(0, gumbel, 0, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(gumbel, SP_REAL, .tails = dist_gumbel_tails, .slopes = slopes_loc_scale)},
    {.name = "half_normal",
     .sig = "(scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a normal(0, scale) variable",
     .example = "floor(1e6 * assess(0, half_normal, 1)) => -225792",
     .num_args = 1,
     SP_CONTINUOUS(half_normal, SP_POSITIVE, .tails = dist_half_normal_tails,
                   .slopes = slopes_scale)},
    {.name = "half_cauchy",
     .sig = "(scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a cauchy(0, scale) variable",
     .example = "floor(1e6 * assess(0, half_cauchy, 1)) => -451583",
     .num_args = 1,
     SP_CONTINUOUS(half_cauchy, SP_POSITIVE, .tails = dist_half_cauchy_tails,
                   .slopes = slopes_scale)},
    {.name = "half_student_t",
     .sig = "(nu: positive, scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a student_t(nu, 0, scale) variable",
     .example = "floor(1e6 * assess(0, half_student_t, 1, 1)) => -451583",
     .num_args = 2,
     SP_CONTINUOUS(half_student_t, SP_POSITIVE, .tails = dist_half_student_t_tails,
                   .slopes = slopes_scale)},
    {.name = "skew_normal",
     .sig = "(loc: real, scale: positive, shape: real) -> real",
     .doc = "skew normal distribution, with density 2 / scale phi(z) Phi(shape z)",
     .example = "floor(1e6 * assess(0, skew_normal, 0, 1, 5)) => -918939",
     SP_CONTINUOUS(skew_normal, SP_REAL)},
    {.name = "skew_double_exponential",
     .sig = "(loc: real, scale: positive, tau: probability" SP_BOUNDS ") -> real",
     .doc = "Laplace distribution with the share tau of its probability below loc",
     .example = "assess(0, skew_double_exponential, 0, 0.5, 0.5) => 0",
     .num_args = 3,
     SP_CONTINUOUS(skew_double_exponential, SP_REAL, .tails = dist_skew_double_exponential_tails)},
    {.name = "exp_mod_normal",
     .sig = "(mean: real, sd: positive, rate: positive" SP_BOUNDS ") -> real",
     .doc = "sum of a normal(mean, sd) and an expon(rate) variable",
     .example = "floor(1e6 * assess(0, exp_mod_normal, 0, 1, 1)) => -1341022",
     .num_args = 3,
     SP_CONTINUOUS(exp_mod_normal, SP_REAL, .tails = dist_exp_mod_normal_tails)},
    {.name = "wiener",
     .sig = "(alpha: positive, tau: nonneg, beta: probability, delta: real) -> real",
     .doc = "when and where a Wiener process that drifts by delta leaves between two boundaries at "
            "the distance alpha, begun at the share beta of it after a delay tau: the time, with a "
            "minus for the lower boundary",
     .example = "floor(1e6 * assess(1, wiener, 2, 0.2, 0.5, 0.3)) => -965643",
     .num_args = 4,
     SP_CONTINUOUS(wiener, SP_REAL, .check = check_share)},
};
const size_t sp_location_count = COUNT_OF(sp_location_rows);
