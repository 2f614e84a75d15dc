/* SPDX-License-Identifier: Apache-2.0
 * Outliers: see wild.h. */
#include "numeric/posterior/wild.h"
#include <math.h>

#define WIDE WILD_WIDTH
/* Share of the outliers that may be of any size. It is so small that skewed predictions (rare
 * counts, logarithms), where a hundred standard deviations can occur, are still accepted. */
#define SLIPS 1e-6

static double log_wide(double far, double sd) {
    double wide = -0.5 * far * far / (WIDE * WIDE) - log(WIDE * sd) - 0.5 * log(2 * M_PI);
    return fmax(wide, wild_log_density(far, sd) + log(SLIPS));
}

double wild_log_odds(double logp, double far, double sd) {
    return log_wide(far, sd) + log(WILD_SHARE) - (logp + log1p(-WILD_SHARE));
}

double wild_log_mixture(double logp, double far, double sd, double share) {
    if (!(share > 0)) return logp;
    double in = logp + log1p(-share), out = log_wide(far, sd) + log(share);
    return fmax(in, out) + log1p(exp(-fabs(in - out)));
}

double wild_log_density(double far, double sd) {
    return -log1p(far * far / (WIDE * WIDE)) - log(M_PI * WIDE * sd);
}

double wild_share(size_t out, size_t n) {
    return out ? ((double)out + 0.5) / ((double)n + 1) : 0;
}
