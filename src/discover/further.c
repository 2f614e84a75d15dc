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

/* Edges of the change that lie among the data: a window may not have ended yet. */
static int edges(const struct smodel *m, const double *z) {
    if (m->tau < 0) return 0;
    if (m->width < 0) return 1;
    return 1 + (smodel_value(m, m->tau, z[m->tau]) + smodel_value(m, m->width, z[m->width]) < 1);
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
    out->n += out->switches = edges(m, z);
    rates_after(out);
}

double further_rate(const struct further *f) {
    double sum = 0;
    for (int i = 0; i < FURTHER_KINDS; i++)
        sum += f->kind[i].weight * f->kind[i].shape / f->kind[i].rate;
    return sum;
}

/* How probable no change, one, two and more are, the mean number where there are more; and that an
 * odd number of switches is among the latter. */
struct numbers {
    double none, one, two, more, mean, odd;
};

/* The number of changes is negative binomial, for each kind of rate. Each is a switch with
 * probability p, and E (1 - 2p)^number is how much more probable even numbers of them are. */
static struct numbers numbers_of(const struct further *f, double after, double p) {
    struct numbers s = {0};
    double lead = 0;
    for (int i = 0; i < FURTHER_KINDS; i++) {
        double a = f->kind[i].shape, x = after / (f->kind[i].rate + after);
        double none = f->kind[i].weight * pow(1 - x, a), one = a * x * none;
        s.none += none;
        s.one += one;
        s.two += 0.5 * (a + 1) * x * one;
        lead += f->kind[i].weight * pow(1 + 2 * p * after / f->kind[i].rate, -a);
    }
    s.more = fmax(1 - s.none - s.one - s.two, 0);
    if (s.more > 0) s.mean = fmax(further_rate(f) * after - s.one - 2 * s.two, 0) / s.more;
    s.odd = 0.5 * (1 - lead) - p * s.one - 2 * p * (1 - p) * s.two;
    s.odd = fmin(fmax(s.odd, 0), s.more);
    return s;
}

/* Where none, one, two or more of the changes were switches: with an odd number of them the other
 * regime is there. p: the share of switches; mean: variance that a change brings, on average. */
static size_t switched(const struct numbers *s, double p, double mean, struct further_part *out) {
    double q = 1 - p, even = q * q + p * p;
    out[0] = (struct further_part){s->two * even, 2 * mean * q / even, false};
    out[1] = (struct further_part){s->more - s->odd, s->mean * mean, false};
    if (!(p > 0)) return 2;
    out[2] = (struct further_part){s->one * p, 0, true};
    out[3] = (struct further_part){s->two * 2 * p * q, q > 0 ? mean / q : 0, true};
    out[4] = (struct further_part){s->odd, s->mean * mean, true};
    return 5;
}

/* One change has a date that is uniform since the data: of a bend the first half of the dates, and
 * the second, E u^2 = 7/12 and 1/12, are parts. Of several the variances add up, on average. */
size_t further_parts(const struct further *f, double after, struct further_part *out) {
    double p = f->n ? (double)f->switches / f->n : 0, mean = 0;
    struct numbers s = numbers_of(f, after, p);
    size_t n = 1;
    out[0] = (struct further_part){s.none, 0, false};
    for (int j = 0; j < f->n - f->switches; j++)
        for (int half = 0; half < 2; half++) {
            double of_bend = (half ? 1.0 : 7.0) / 12 * after * after;
            double more = f->at[j].size * (f->at[j].bend ? of_bend : 1);
            out[n++] = (struct further_part){s.one / (2 * f->n), more, false};
            mean += more / (2 * f->n);
        }
    return n + switched(&s, p, mean, out + n);
}

/* Polya's process: with a rate from Gamma(a, b) no change comes within t with the probability
 * (b / (b + t))^a; after one at t the rate is from Gamma(a + 1, b + t). */
void further_draw(const struct further *f, struct rng *r, size_t n, const double *t, bool before,
                  double *level, bool *other) {
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
        bool turn = j >= f->n - f->switches;
        double change = turn ? 0 : sqrt(f->at[j].size) * rng_normal(r);
        for (size_t i = 0; i < n; i++) {
            double since = (before ? -t[i] : t[i] - 1) - at;
            if (since > 0 && turn) other[i] = !other[i];
            if (since > 0 && !turn) level[i] += change * (f->at[j].bend ? since : 1);
        }
    }
}
