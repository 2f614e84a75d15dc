/* SPDX-License-Identifier: Apache-2.0
 * Changes after the data (further.h). */
#include "apps/discover/further.h"
#include "base/mem.h"
#include "numeric/special/special.h"
#include "gp/kernel/kern_class.h"
#include <math.h>

/* Of the rate per span: most series change rarely, Gamma(1, 3); some, a tenth before anything is
 * seen, now and again, Gamma(1, 1/4), which has a mean of four. One change leaves it at the former,
 * with three and more the latter have it (bench/reports/structure.md says what was chosen on). */
static const struct {
    double weight, shape, spans;
} kinds[FURTHER_KINDS] = {{0.9, 1, 3}, {0.1, 1, 0.25}};

/* Kinds of rates after k changes in one span: k is negative binomial under each. */
static void rates_after(int k, struct further_rate *kind) {
    double sum = 0;
    for (int i = 0; i < FURTHER_KINDS; i++) {
        double a = kinds[i].shape, b = kinds[i].spans;
        kind[i].shape = a + k;
        kind[i].rate = b + 1;
        kind[i].weight = kinds[i].weight *
                         exp(log_gamma(a + k) - log_gamma(a) + a * log(b) - (a + k) * log(b + 1));
        sum += kind[i].weight;
    }
    for (int i = 0; i < FURTHER_KINDS; i++) kind[i].weight /= sum;
}

/* Edges of the change that lie among the data: a window may not have ended yet. */
static int edges(const struct smodel *m, const double *z) {
    if (m->tau < 0) return 0;
    if (m->width < 0) return 1;
    return 1 + (smodel_value(m, m->tau, z[m->tau]) + smodel_value(m, m->width, z[m->width]) < 1);
}

void further_of(const struct smodel *m, const double *z, struct further *out) {
    out->n = out->pulses = 0;
    for (const struct sterm *e = m->term; e < m->term + m->n_terms; e++) {
        int f = factor_next(e->mask & factors_of(KERN_ROLE_BREAK), -1), sd = e->par[SPAR_SD];
        if (f == FACTOR_MAX) continue;
        const struct kern_motif *row = &factor_class(f)->motif;
        double size = row->unit * smodel_value(m, sd, z[sd]);
        if (e->to) {
            double width = term_place(e->to) - term_place(e->at);
            out->pulse[out->pulses].size = size * size;
            out->pulse[out->pulses++].width = width;
            continue;
        }
        out->at[out->n].bend = row->direction;
        out->at[out->n++].size = size * size;
    }
    out->n += out->switches = edges(m, z);
    rates_after(out->n, out->kind);
    rates_after(out->pulses, out->of_pulse);
}

double further_rate(const struct further_rate *kind) {
    double sum = 0;
    for (int i = 0; i < FURTHER_KINDS; i++) sum += kind[i].weight * kind[i].shape / kind[i].rate;
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
    if (s.more > 0) s.mean = fmax(further_rate(f->kind) * after - s.one - 2 * s.two, 0) / s.more;
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

/* That a pulse like number j is there: that one began within its width. */
static double pulsing(const struct further *f, int j, double after) {
    double since = fmin(after, f->pulse[j].width), none = 0;
    for (int i = 0; i < FURTHER_KINDS; i++) {
        const struct further_rate *k = &f->of_pulse[i];
        none += k->weight * pow(k->rate / (k->rate + since), k->shape);
    }
    return (1 - none) / f->pulses;
}

/* Beside the first n parts, where none is there. */
static size_t with_pulses(const struct further *f, double after, struct further_part *out,
                          size_t n) {
    double there = 0;
    for (int j = 0; j < f->pulses; j++) {
        double share = pulsing(f, j, after);
        out[n + (size_t)j] = (struct further_part){share, f->pulse[j].size, false};
        there += share;
    }
    for (size_t i = 0; i < n; i++) out[i].share *= 1 - there;
    return n + (size_t)f->pulses;
}

/* One change has a date that is uniform since the data: of a bend the first half of the dates, and
 * the second, E u^2 = 7/12 and 1/12, are parts. Of several the variances add up, on average. */
size_t further_parts(const struct further *f, double after, struct further_part *out) {
    double p = f->n ? (double)f->switches / f->n : 0, mean = 0;
    struct numbers s = numbers_of(f, after, p);
    size_t n = 1;
    out[0] = (struct further_part){f->n ? s.none : 1, 0, false};
    if (!f->n) return with_pulses(f, after, out, n);
    for (int j = 0; j < f->n - f->switches; j++)
        for (int half = 0; half < 2; half++) {
            double of_bend = (half ? 1.0 : 7.0) / 12 * after * after;
            double more = f->at[j].size * (f->at[j].bend ? of_bend : 1);
            out[n++] = (struct further_part){s.one / (2 * f->n), more, false};
            mean += more / (2 * f->n);
        }
    return with_pulses(f, after, out, n + switched(&s, p, mean, out + n));
}

/* How long it takes until the next one; the rate has seen it then. */
static double next_change(struct further_rate *k, struct rng *r) {
    double wait = k->rate * expm1(-log(rng_uniform(r)) / k->shape);
    k->shape++;
    k->rate += wait;
    return wait;
}

static struct further_rate draw_rate(const struct further_rate *kind, struct rng *r) {
    int k = 0;
    for (double u = rng_uniform(r); k < FURTHER_KINDS - 1 && u > kind[k].weight; k++)
        u -= kind[k].weight;
    return kind[k];
}

static void draw_pulses(const struct further *f, struct rng *r, size_t n, const double *since,
                        double end, double *level) {
    struct further_rate k = draw_rate(f->of_pulse, r);
    for (double at = next_change(&k, r); at < end; at += next_change(&k, r)) {
        int j = (int)(rng_uniform(r) * f->pulses);
        double change = sqrt(f->pulse[j].size) * rng_normal(r);
        for (size_t i = 0; i < n; i++)
            if (since[i] > at && since[i] <= at + f->pulse[j].width) level[i] += change;
    }
}

/* Polya's process: with a rate from Gamma(a, b) no change comes within t with the probability
 * (b / (b + t))^a; after one at t the rate is from Gamma(a + 1, b + t). */
void further_draw(const struct further *f, struct rng *r, size_t n, const double *t, bool before,
                  double *level, bool *other) {
    struct further_rate k = draw_rate(f->kind, r);
    double at = 0, end = 0, *since = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) end = fmax(end, since[i] = before ? -t[i] : t[i] - 1);
    while (f->n && end > 0 && (at += next_change(&k, r)) < end) {
        int j = (int)(rng_uniform(r) * f->n);
        bool turn = j >= f->n - f->switches;
        double change = turn ? 0 : sqrt(f->at[j].size) * rng_normal(r);
        for (size_t i = 0; i < n; i++) {
            double past = since[i] - at;
            if (past > 0 && turn) other[i] = !other[i];
            if (past > 0 && !turn) level[i] += change * (f->at[j].bend ? past : 1);
        }
    }
    if (f->pulses && end > 0) draw_pulses(f, r, n, since, end, level);
    mem_free(since);
}
