/* SPDX-License-Identifier: Apache-2.0
 * The formulas of link.h. */
#include "numeric/special/link.h"
#include "numeric/special/special.h"
#include <math.h>

const char *link_name(enum link_kind kind) {
    static const char *const names[LINK_KINDS] = {"none", "root",   "log",   "root", "odds",
                                                  "rate", "chance", "above", "below"};
    return names[kind];
}

double link_to(const struct value_link *l, double y) {
    switch (l->kind) {
    case LINK_NONE: return y;
    case LINK_SQUARE:
    case LINK_ROOT: return y >= 0 ? sqrt(y + l->offset) : -INFINITY;
    case LINK_RATE: return y >= 0 ? log(y + 0.5) : -INFINITY;
    case LINK_CHANCE: return log((y + 0.5) / (1.5 - y));
    case LINK_LOG: return y > 0 ? log(y) : -INFINITY;
    case LINK_ABOVE: return y > l->low ? log(y - l->low) : -INFINITY;
    case LINK_BELOW: return y < l->high ? -log(l->high - y) : INFINITY;
    default: break;
    }
    if (!(y > l->low)) return -INFINITY;
    return y < l->high ? log((y - l->low) / (l->high - y)) : INFINITY;
}

static double back_odds(const struct value_link *l, double v) {
    return l->low + (l->high - l->low) * logistic(v);
}

double link_back(const struct value_link *l, double v) {
    switch (l->kind) {
    case LINK_NONE: return v;
    case LINK_SQUARE:
    case LINK_ROOT: return fmax(v * fabs(v) - l->offset, 0);
    case LINK_LOG:
    case LINK_RATE: return exp(v);
    case LINK_ABOVE: return l->low + exp(v);
    case LINK_BELOW: return l->high - exp(-v);
    default: return back_odds(l, v);
    }
}

/* E max(v, 0)^2 of a normal v. */
static double mean_square_above(double mean, double var) {
    double sd = sqrt(var), r = mean / sd;
    if (!(sd > 0)) return fmax(mean, 0) * fmax(mean, 0);
    return (mean * mean + var) * norm_cdf(r) + mean * sd * exp(-0.5 * r * r) / sqrt(2 * M_PI);
}

double link_mean(const struct value_link *l, double mean, double var) {
    switch (l->kind) {
    case LINK_NONE: return mean;
    case LINK_SQUARE: return mean_square_above(mean, var);
    case LINK_ROOT: return fmax(mean * fabs(mean) + var - l->offset, 0);
    case LINK_LOG:
    case LINK_RATE: return exp(mean + 0.5 * var);
    case LINK_ABOVE: return l->low + exp(mean + 0.5 * var);
    case LINK_BELOW: return l->high - exp(0.5 * var - mean);
    default: return back_odds(l, mean / sqrt(1 + M_PI / 8 * var));
    }
}

double link_stretch(const struct value_link *l, double y) {
    switch (l->kind) {
    case LINK_SQUARE:
    case LINK_ROOT: return y + l->offset > 0 ? -0.5 * log(y + l->offset) - M_LN2 : -INFINITY;
    case LINK_LOG: return -log(y);
    case LINK_ABOVE: return -log(y - l->low);
    case LINK_BELOW: return -log(l->high - y);
    case LINK_ODDS: return log(l->high - l->low) - log(y - l->low) - log(l->high - y);
    default: return 0;
    }
}

double link_slope(const struct value_link *l, double v) {
    switch (l->kind) {
    case LINK_NONE:
    case LINK_LOG:
    case LINK_RATE: return 1;
    case LINK_SQUARE:
    case LINK_ROOT: return 2 * fmax(v, 0);
    case LINK_ABOVE: return exp(v);
    case LINK_BELOW: return exp(-v);
    default: return (l->high - l->low) * logistic(v) * logistic(-v);
    }
}
