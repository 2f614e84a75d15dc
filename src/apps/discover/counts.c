/* SPDX-License-Identifier: Apache-2.0
 *
 * See counts.h. Of a rate m and a size r the probabilities are, with q = m / (m + r),
 *
 *   log p(k) = log Gamma(k + r) - log Gamma(r) - log k! + k log q + r log(1 - q),
 *   p(k + 1) = p(k) q (k + r) / (k + 1),
 *
 * so that one logarithm at the most probable count gives all of them.
 */
#include "apps/discover/counts.h"
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

#define POISSON 1e8    /* a size from which on the scatter is that of Poisson counts */
#define LEAST   1e-100 /* a rate below which all counts are 0, and logarithms are numbers */

void counts_clear(struct count_mixture *c) {
    if (!c->p) c->p = NEW_ARRAY(double, 2 * COUNTS_TABLE);
    memset(c->p, 0, COUNTS_TABLE * sizeof *c->p);
    c->below = NULL;
    c->total = c->mean = 0;
    c->rates.n = 0;
}

void counts_release(struct count_mixture *c) {
    mem_free(c->p);
    vec_release(&c->rates);
    memset(c, 0, sizeof *c);
}

static double log_probability(const struct count_rate *r, double k) {
    if (r->size > POISSON) return k * log(r->rate) - r->rate - log_gamma(k + 1);
    return log_gamma(k + r->size) - log_gamma(r->size) - log_gamma(k + 1) -
           k * log1p(r->size / r->rate) - r->size * log1p(r->rate / r->size);
}

/* What p(k) is multiplied by for p(k + 1). */
static double ratio(const struct count_rate *r, double k) {
    if (r->size > POISSON) return r->rate / (k + 1);
    return r->rate / (r->rate + r->size) * (k + r->size) / (k + 1);
}

/* The share of counts up to k. */
static double share_below(const struct count_rate *r, double k) {
    double t[2];
    if (r->size > POISSON) {
        gamma_tails(k + 1, r->rate, t);
        return exp(t[1]);
    }
    double all = r->rate + r->size;
    beta_tails(r->size, k + 1, r->size / all, r->rate / all, t);
    return exp(t[0]);
}

static bool in_table(const struct count_rate *r) {
    return r->rate < COUNTS_TABLE / 4;
}

void counts_add(struct count_mixture *c, struct count_rate r) {
    r.rate = fmax(r.rate, LEAST);
    c->total += r.weight;
    c->mean += r.weight * r.rate;
    vec_push(&c->rates, r);
    if (!in_table(&r)) return;
    size_t top = (size_t)r.rate; /* close to the most probable one, from there up and down */
    double first = r.weight * exp(log_probability(&r, (double)top)), p = first;
    for (size_t k = top; k < COUNTS_TABLE && p > 1e-15 * r.weight; k++) {
        c->p[k] += p;
        p *= ratio(&r, (double)k);
    }
    p = first;
    for (size_t k = top; k-- > 0 && p > 1e-15 * r.weight;) {
        p /= ratio(&r, (double)k);
        c->p[k] += p;
    }
}

double counts_mean(const struct count_mixture *c) {
    return c->mean / c->total;
}

double counts_log_probability(const struct count_mixture *c, double k) {
    double sum = 0;
    if (!is_count(k)) return -INFINITY;
    if (k < COUNTS_TABLE) sum = c->p[(size_t)k];
    for (size_t i = 0; i < c->rates.n; i++)
        if (k >= COUNTS_TABLE || !in_table(&c->rates.at[i]))
            sum += c->rates.at[i].weight * exp(log_probability(&c->rates.at[i], k));
    return log(sum / c->total);
}

/* The share of counts up to k: of the table, and of rates beyond it. */
static double below(const struct count_mixture *c, double k) {
    double sum = k < COUNTS_TABLE ? c->below[(size_t)k] : 0;
    for (size_t i = 0; i < c->rates.n; i++)
        if (k >= COUNTS_TABLE || !in_table(&c->rates.at[i]))
            sum += c->rates.at[i].weight * share_below(&c->rates.at[i], k);
    return sum / c->total;
}

double counts_quantile(struct count_mixture *c, double q) {
    double lo = -1, hi = 1; /* it is above lo and at or below hi */
    if (!c->below) {
        c->below = c->p + COUNTS_TABLE;
        for (size_t k = 0; k < COUNTS_TABLE; k++) c->below[k] = c->p[k] + (k ? c->below[k - 1] : 0);
    }
    while (below(c, hi) < q) {
        lo = hi;
        hi = 2 * hi + 1;
        if (hi > 1e15) return INFINITY;
    }
    while (hi - lo > 1) {
        double mid = floor(0.5 * (lo + hi));
        if (below(c, mid) < q)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}
