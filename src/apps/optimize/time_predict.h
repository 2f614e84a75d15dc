/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicting run times: log seconds as a straight line in the (logarithms of the) inputs plus a
 * smooth remainder plus noise, so that it extrapolates as a power law with honest uncertainty.
 *
 *   log t = b0 + sum_j b_j v_j + f(v) + e,  v = log x when all x > 0 (else x, scaled),
 *   b ~ N(0, 10^2 s2), f ~ GP(0, s2 a SE(|v-v'|/2)), e ~ N(0, s2 g), 1/s2 prior on s2
 *
 * a and g run over a grid and are averaged by evidence; the answer is a mixture of Student t's.
 */
#ifndef OPTIMIZE_TIME_PREDICT_H
#define OPTIMIZE_TIME_PREDICT_H
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Times t (> 0) at n inputs of dim numbers; quantiles p[0..m-1] of the time at x. GPM_E_ARG below
 * three runs. */
GPM_MUST_USE enum gpm_status runtime_predict(const double *inputs, const double *t, size_t n,
                                             int dim, const double *x, const double *p, int m,
                                             double *out);
#endif
