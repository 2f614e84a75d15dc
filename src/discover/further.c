/* SPDX-License-Identifier: Apache-2.0
 * Changes after the data (further.h). */
#include "discover/further.h"
#include "math/special.h"
#include "gp/kern_class.h"
#include <math.h>

/* Of the rate per span: most series change rarely, Gamma(1, 3); some, a tenth before anything is
 * seen, now and again, Gamma(1, 1/4), which has a mean of four. One change leaves it at the former,
 * with three and more the latter have it (docs/structure.md says what was chosen on). */
static const struct {
    double weight, shape, spans;
} kinds[FURTHER_KINDS] = {{0.9, 1, 3}, {0.1, 1, 0.25}};

/* Kinds of rates after k changes in one span: k is negative binomial under each. */
static void rates_after(struct further *f) {
    double sum = 0;
    for (int i = 0; i < FURTHER_KINDS; i++) {
        double a = kinds[i].shape, b = kinds[i].spans;
        f->kind[i].shape = a + f->n;
        f->kind[i].rate = b + 1;
        f->kind[i].weight = kinds[i].weight * exp(log_gamma(a + f->n) - log_gamma(a) + a * log(b) -
                                                  (a + f->n) * log(b + 1));
        sum += f->kind[i].weight;
    }
    for (int i = 0; i < FURTHER_KINDS; i++) f->kind[i].weight /= sum;
}

void further_of(const struct smodel *m, const double *z, struct further *out) {
    out->n = 0;
    for (const struct sterm *e = m->term; e < m->term + m->n_terms; e++) {
        int f = factor_next(e->mask & factors_of(KERN_ROLE_BREAK), -1), sd = e->par[SPAR_SD];
        if (f == FACTOR_MAX) continue;
        const struct kern_motif *row = &factor_class(f)->motif;
        double size = row->unit * smodel_value(m, sd, z[sd]);
        out->at[out->n].bend = row->direction;
        out->at[out->n++].size = size * size;
    }
    rates_after(out);
}

double further_rate(const struct further *f) {
    double sum = 0;
    for (int i = 0; i < FURTHER_KINDS; i++)
        sum += f->kind[i].weight * f->kind[i].shape / f->kind[i].rate;
    return sum;
}

/* How probable no change, one, two and more are, and the mean number where there are more. */
struct numbers {
    double none, one, two, more, mean;
};

/* The number of changes is negative binomial, for each kind of rate. */
static struct numbers numbers_of(const struct further *f, double after) {
    struct numbers s = {0};
    for (int i = 0; i < FURTHER_KINDS; i++) {
        double a = f->kind[i].shape, x = after / (f->kind[i].rate + after);
        double none = f->kind[i].weight * pow(1 - x, a), one = a * x * none;
        s.none += none;
        s.one += one;
        s.two += 0.5 * (a + 1) * x * one;
    }
    s.more = fmax(1 - s.none - s.one - s.two, 0);
    if (s.more > 0) s.mean = fmax(further_rate(f) * after - s.one - 2 * s.two, 0) / s.more;
    return s;
}

/* One change has a date that is uniform since the data: of a bend the first half of the dates, and
 * the second, E u^2 = 7/12 and 1/12, are parts. Of several the variances add up, on average. */
size_t further_parts(const struct further *f, double after, struct further_part *out) {
    struct numbers s = numbers_of(f, after);
    size_t n = 1;
    double mean = 0;
    out[0] = (struct further_part){s.none, 0};
    for (int j = 0; j < f->n; j++)
        for (int half = 0; half < 2; half++) {
            double of_bend = (half ? 1.0 : 7.0) / 12 * after * after;
            double more = f->at[j].size * (f->at[j].bend ? of_bend : 1);
            out[n++] = (struct further_part){s.one / (2 * f->n), more};
            mean += more / (2 * f->n);
        }
    out[n++] = (struct further_part){s.two, 2 * mean};
    out[n++] = (struct further_part){s.more, s.mean * mean};
    return n;
}

/* Polya's process: with a rate from Gamma(a, b) no change comes within t with the probability
 * (b / (b + t))^a; after one at t the rate is from Gamma(a + 1, b + t). */
void further_draw(const struct further *f, struct rng *r, size_t n, const double *t, bool before,
                  double *level) {
    int kind = 0;
    for (double u = rng_uniform(r); kind < FURTHER_KINDS - 1 && u > f->kind[kind].weight; kind++)
        u -= f->kind[kind].weight;
    double shape = f->kind[kind].shape, rate = f->kind[kind].rate, at = 0, end = 0;
    for (size_t i = 0; i < n; i++) end = fmax(end, before ? -t[i] : t[i] - 1);
    while (f->n && end > 0) {
        double wait = rate * expm1(-log(rng_uniform(r)) / shape);
        if (!((at += wait) < end)) break;
        shape++;
        rate += wait;
        int j = (int)(rng_uniform(r) * f->n);
        double change = sqrt(f->at[j].size) * rng_normal(r);
        for (size_t i = 0; i < n; i++) {
            double since = (before ? -t[i] : t[i] - 1) - at;
            if (since > 0) level[i] += change * (f->at[j].bend ? since : 1);
        }
    }
}
