/* SPDX-License-Identifier: Apache-2.0
 * Outliers: see wild.h. */
#include "numeric/posterior/wild.h"
#include "numeric/special/special.h"
#include <math.h>

#define WIDE WILD_WIDTH
/* Share of the outliers that may be of any size. It is so small that skewed predictions (rare
 * counts, logarithms), where a hundred standard deviations can occur, are still accepted. */
#define SLIPS 1e-6

double wild_log_wide(double r) {
    return fmax(-0.5 * r * r - LOG_SQRT_2PI, wild_log_density(WIDE * r, 1 / WIDE) + log(SLIPS));
}

double wild_log_odds(double logp, double far, double sd) {
    double wide = wild_log_wide(far / WIDE) - log(WIDE * sd);
    return wide + log(WILD_SHARE) - (logp + log1p(-WILD_SHARE));
}

double wild_log_density(double far, double sd) {
    return -log1p(far * far / (WIDE * WIDE)) - log(M_PI * WIDE * sd);
}

double wild_share(size_t out, size_t n) {
    return out ? ((double)out + 0.5) / ((double)n + 1) : 0;
}
