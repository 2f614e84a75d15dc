/* SPDX-License-Identifier: Apache-2.0
 *
 * What the prior of a structure's parameters has that version 0.1 did not have.
 */
#ifndef SUPPORT_SINCE_01_H
#define SUPPORT_SINCE_01_H
#include "apps/discover/smodel.h"
#include "gp/kernel/kern_class.h"
#include "numeric/special/special.h"
#include <math.h>

/* The share of the series in which a term acts. */
static inline double acting(const struct smodel *m, int k, const double *z) {
    double tau = m->tau < 0 ? 0 : smodel_value(m, m->tau, z[m->tau]);
    double width = m->width < 0 ? 1 : smodel_value(m, m->width, z[m->width]);
    switch (m->term[k].gate) {
    case GATE_BEFORE: return tau;
    case GATE_AFTER: return 1 - tau;
    case GATE_INSIDE: return fmin(width, 1 - tau);
    case GATE_OUTSIDE: return 1 - fmin(width, 1 - tau);
    default: return 1;
    }
}

/* log E Phi((log l - x) / 0.3) under the prior of PER's log l: the sum over a fine grid. */
static inline double shown_on_average(const struct kern_param *row, double x) {
    double sum = 0, step = 0.002, slope;
    for (double u = -6; u < 6; u += step)
        sum += step * exp(kern_log_scale_prior(row, u, row->prior_a, &slope) +
                          norm_log_cdf((u - x) / 0.3));
    return log(sum);
}

/* Nor that few steps of a grid show few harmonics: Phi((log l - log(4 dt / p)) / 0.3), normalised.
 */
static inline double shown(const struct smodel *m, int k, const double *z) {
    int l = m->term[k].par[SPAR_LPER], at = m->term[k].par[SPAR_PERIOD];
    if (!m->data->grid || !smodel_free(at)) return 0;
    double x = log(4 * m->data->dt / smodel_value(m, at, z[at]));
    return norm_log_cdf((z[l] - x) / 0.3) - shown_on_average(m->par[l].row, x);
}

/* What version 0.1 did not have: that what repeats lasts for a period. N(mu, sd^2) of log l times
 * Phi((log l - log p) / 0.2) over the integral of that, Phi((mu - log p) / sqrt(sd^2 + 0.2^2)).
 * And that it comes back where it acts: Phi(log(share / 2p) / 0.2). */
static inline double lasting(const struct smodel *m, const double *z) {
    double sum = 0;
    for (int k = 0; k < m->n_terms; k++) {
        int l = m->term[k].par[SPAR_L], at = m->term[k].par[SPAR_PERIOD];
        if (at >= 0) sum += shown(m, k, z);
        if (at >= 0 && m->term[k].gate)
            sum += norm_log_cdf(
                log(acting(m, k, z) / (2 * smodel_value(m, at, smodel_free(at) ? z[at] : 0))) /
                0.2);
        if (!smodel_free(l) || at < 0) continue;
        double sd = m->par[l].sd > 0 ? m->par[l].sd : m->par[l].row->prior_b;
        double p = log(smodel_value(m, at, smodel_free(at) ? z[at] : 0));
        sum += norm_log_cdf((z[l] - p) / 0.2) - norm_log_cdf((m->par[l].a - p) / hypot(sd, 0.2));
    }
    return sum;
}
#endif
