/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of parts, and what follows for the whole: see mixture.h.
 *
 * Wallace's form of t (1959) is a distribution of its own and within .002 of t's:
 *
 *     F(r) = Phi(w(r)),  w(r) = c sgn(r) sqrt(v log(1 + r^2/v)),  c = (8v + 1)/(8v + 3).
 *
 * Beyond w = 2 it is normal here, with the spread that it has there: on the scale of logarithms t
 * itself would have no mean.
 *
 * Of a count with the rate m and the size s the probabilities are, with q = m / (m + s),
 *
 *   log p(k) = log Gamma(k + s) - log Gamma(s) - log k! + k log q + s log(1 - q),
 *   p(k + 1) = p(k) q (k + s) / (k + 1),
 *
 * so that one logarithm at the most probable count gives all of them.
 */
#include "numeric/posterior/mixture.h"
#include "base/mem.h"
#include "numeric/dist/tails.h"
#include "numeric/posterior/wild.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- kinds: distribution function and log density of the deviate (of a count itself), and the
 * deviate of a normal one of the same probability ---- */

#define TAIL_END 2.0 /* normal deviate beyond which tails are normal again */

static double tail_unit(double dof) {
    return (8 * dof + 1) / (8 * dof + 3);
}

static double wallace(double dof, double r) {
    return copysign(tail_unit(dof) * sqrt(dof * log1p(r / dof * r)), r);
}

static double wallace_inverse(double dof, double w) {
    double u = w / tail_unit(dof);
    return copysign(sqrt(dof * expm1(u / dof * u)), w);
}

/* w(r): the normal deviate of the same probability. */
static double tails_normal(double dof, double r) {
    if (!(dof > 0)) return r;
    double end = wallace_inverse(dof, TAIL_END);
    return fabs(r) <= end ? wallace(dof, r) : r * (TAIL_END / end);
}

double mixture_tails_deviate(double dof, double z) {
    if (!(dof > 0)) return z;
    if (fabs(z) <= TAIL_END) return wallace_inverse(dof, z);
    return z * (wallace_inverse(dof, TAIL_END) / TAIL_END);
}

/* log dw/dr */
static double tails_log_slope(double dof, double r, double w) {
    if (!(dof > 0)) return 0;
    if (fabs(w) > TAIL_END) return log(TAIL_END / wallace_inverse(dof, TAIL_END));
    double c = tail_unit(dof);
    return (fabs(r) < 1e-6 ? log(c) : 2 * log(c) + log(r / w)) - log1p(r / dof * r);
}

static double normal_cdf(const struct mixture_part *p, double r) {
    return norm_cdf(tails_normal(p->par, r));
}

static double normal_log_density(const struct mixture_part *p, double r) {
    double w = tails_normal(p->par, r);
    return -0.5 * w * w - LOG_SQRT_2PI + tails_log_slope(p->par, r, w);
}

static double normal_deviate(const struct mixture_part *p, double z) {
    return mixture_tails_deviate(p->par, z);
}

static double wide_log_density(const struct mixture_part *p, double r) {
    return wild_log_wide(r);
}

static double student_cdf(const struct mixture_part *p, double r) {
    double t[2];
    dist_student_t_tails(r, &p->par, 1, t);
    return exp(t[0]);
}

static double student_log_density(const struct mixture_part *p, double r) {
    return dist_student_t_lp(r, &p->par, 1);
}

#define POISSON 1e8    /* a size from which on the scatter is that of Poisson counts */
#define LEAST   1e-100 /* a rate below which all counts are 0, and logarithms are numbers */

static double count_log_density(const struct mixture_part *p, double k) {
    if (!is_count(k)) return -INFINITY;
    if (p->par > POISSON) return k * log(p->mean) - p->mean - log_gamma(k + 1);
    return log_gamma(k + p->par) - log_gamma(p->par) - log_gamma(k + 1) -
           k * log1p(p->par / p->mean) - p->par * log1p(p->mean / p->par);
}

static double count_cdf(const struct mixture_part *p, double y) {
    double t[2], k = floor(y), all = p->mean + p->par;
    if (y < 0) return 0;
    if (p->par > POISSON)
        gamma_tails(k + 1, p->mean, t);
    else
        beta_tails(p->par, k + 1, p->par / all, p->mean / all, t);
    return exp(t[p->par > POISSON]);
}

static double chance_log_density(const struct mixture_part *p, double y) {
    return log(y > 0.5 ? p->mean : 1 - p->mean);
}

static double chance_cdf(const struct mixture_part *p, double y) {
    return y < 0 ? 0 : y < 1 ? 1 - p->mean : 1;
}

static const struct kind {
    double (*cdf)(const struct mixture_part *p, double r);
    double (*log_density)(const struct mixture_part *p, double r);
    double (*deviate)(const struct mixture_part *p, double z); /* NULL: not in closed form */
    bool whole;
} kinds[MIXTURE_KINDS] = {
    [MIXTURE_NORMAL] = {normal_cdf, normal_log_density, normal_deviate, false},
    [MIXTURE_WILD] = {normal_cdf, wide_log_density, normal_deviate, false},
    [MIXTURE_STUDENT] = {student_cdf, student_log_density, NULL, false},
    [MIXTURE_COUNT] = {count_cdf, count_log_density, NULL, true},
    [MIXTURE_CHANCE] = {chance_cdf, chance_log_density, NULL, true},
};

/* ---- parts ---- */

static double deviate(const struct mixture_part *p, double y) {
    if (kinds[p->kind].whole) return y;
    return ((p->link ? link_to(p->link, y) : y) - p->mean) / p->sd;
}

static double part_cdf(const struct mixture_part *p, double y) {
    return kinds[p->kind].cdf(p, deviate(p, y));
}

static double part_log_density(const struct mixture_part *p, double y) {
    double r = deviate(p, y);
    if (isinf(r)) return -INFINITY;
    double l = kinds[p->kind].log_density(p, r);
    if (!kinds[p->kind].whole) l -= log(p->sd);
    return p->link ? l + link_stretch(p->link, y) : l;
}

/* About there where it is not in closed form. */
static double part_quantile(const struct mixture_part *p, double z) {
    double (*of)(const struct mixture_part *, double) = kinds[p->kind].deviate;
    double v = p->mean + p->sd * (of ? of(p, z) : z);
    return p->link ? link_back(p->link, v) : v;
}

/* ---- counts in a table ---- */

#define TABLE 1024 /* counts below have their probability in it */

static bool in_table(const struct mixture_part *p) {
    return p->kind == MIXTURE_COUNT && p->mean < TABLE / 4;
}

/* What p(k) is multiplied by for p(k + 1). */
static double ratio(const struct mixture_part *p, double k) {
    if (p->par > POISSON) return p->mean / (k + 1);
    return p->mean / (p->mean + p->par) * (k + p->par) / (k + 1);
}

static void tabulate(double *table, const struct mixture_part *p) {
    size_t top = (size_t)p->mean; /* close to the most probable one, from there up and down */
    double first = p->weight * exp(count_log_density(p, (double)top)), w = first;
    for (size_t k = top; k < TABLE && w > 1e-15 * p->weight; k++) {
        table[k] += w;
        w *= ratio(p, (double)k);
    }
    w = first;
    for (size_t k = top; k-- > 0 && w > 1e-15 * p->weight;) {
        w /= ratio(p, (double)k);
        table[k] += w;
    }
}

/* ---- the parts of a mixture ---- */

void mixture_clear(struct mixture *m) {
    vec_clear(&m->part);
    if (m->table) memset(m->table, 0, TABLE * sizeof *m->table);
    m->total = 0;
}

void mixture_release(struct mixture *m) {
    vec_release(&m->part);
    mem_free(m->table);
    memset(m, 0, sizeof *m);
}

void mixture_add(struct mixture *m, struct mixture_part p) {
    if (p.kind == MIXTURE_COUNT) p.mean = fmax(p.mean, LEAST);
    m->total += p.weight;
    vec_push(&m->part, p);
    if (!in_table(&p)) return;
    if (!m->table) m->table = mem_zalloc(TABLE * sizeof *m->table);
    tabulate(m->table, &p);
}

double mixture_mean(const struct mixture *m) {
    double sum = 0;
    for (const struct mixture_part *p = m->part.at, *end = p + m->part.n; p < end; p++)
        sum += p->weight * (p->link ? link_mean(p->link, p->mean, p->sd * p->sd) : p->mean);
    return sum / m->total;
}

double mixture_sd(const struct mixture *m) {
    double mean = mixture_mean(m), sum = 0;
    for (const struct mixture_part *p = m->part.at, *end = p + m->part.n; p < end; p++)
        sum += p->weight * ((p->mean - mean) * (p->mean - mean) + p->sd * p->sd);
    return sqrt(sum / m->total);
}

/* ---- distribution function, density ---- */

double mixture_cdf(const struct mixture *m, double y) {
    bool few = m->table && y < TABLE;
    double sum = 0;
    for (size_t k = 0; few && (double)k <= y; k++) sum += m->table[k];
    for (const struct mixture_part *p = m->part.at, *end = p + m->part.n; p < end; p++)
        if (!(few && in_table(p))) sum += p->weight * part_cdf(p, y);
    return sum / m->total;
}

static double log_density(const struct mixture *m, double y) {
    bool few = m->table && y < TABLE;
    size_t n = m->part.n;
    double *logs = NEW_ARRAY(double, n + 1);
    logs[n] = few && is_count(y) ? log(m->table[(size_t)y]) : -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const struct mixture_part *p = &m->part.at[i];
        logs[i] = few && in_table(p) ? -INFINITY : log(p->weight) + part_log_density(p, y);
    }
    double sum = logsumexp(logs, n + 1);
    mem_free(logs);
    return sum - log(m->total);
}

/* The probability of all that is written as the level y, per unit, as densities are. */
static double level_density(const struct mixture *m, double y) {
    const struct mixture_written *w = m->written;
    double half = 0.5 * w->step, below = y - half < w->low ? 0 : mixture_cdf(m, y - half);
    return ((y + half > w->high ? 1 : mixture_cdf(m, y + half)) - below) / w->step;
}

#define LEVEL_DIGITS 1e-10 /* differences of the distribution function that have some */

double mixture_log_score(const struct mixture *m, double y) {
    double step = m->written ? m->written->step : 0, level = step > 0 ? level_density(m, y) : 0;
    if (level * step > LEVEL_DIGITS) return log(level);
    double l = log_density(m, y);
    if (l > -INFINITY) return l;
    /* forecasts of roots end at 0, which has a probability and no density */
    return log(mixture_cdf(m, y) - mixture_cdf(m, nextafter(y, -INFINITY)));
}

/* ---- quantiles ---- */

/* Doubles in their own order as integers: -inf is the least, neighbours differ by one. */
static int64_t double_rank(double v) {
    int64_t k;
    memcpy(&k, &v, sizeof k);
    return k < 0 ? INT64_MIN - k : k;
}

static double rank_double(int64_t k) {
    double v;
    if (k < 0) k = INT64_MIN - k;
    memcpy(&v, &k, sizeof v);
    return v;
}

double mixture_as_written(const struct mixture_written *w, double y) {
    if (w->whole) y = fmax(ceil(y - 0.5), 0) + 0.0; /* a count k has what lies within half of it */
    double step = w->step, k = step > 0 ? ceil(y / step - 0.5) : 0;
    /* Levels are 1, 2 or 5 times a power of ten apart: parts of one are divided, so that three
     * tenths are the number that 0.3 is. */
    if (step > 0) y = (step < 1 ? k / floor(1 / step + 0.5) : k * step) + 0.0;
    return fmin(fmax(y, w->low), w->high);
}

#define CLOSE 1e-13 /* of the smaller tail: nothing is known better */

/* It lies between the least and the greatest of the parts' own quantiles. Newton's steps find it
 * where it has a density; halving the doubles between (not the distance) finds it where it has
 * none, in at most 64 steps however many orders of magnitude the parts are apart. */
static double number_quantile(const struct mixture *m, double q) {
    double lo = INFINITY, hi = -INFINITY, y = 0, z = norm_quantile(q);
    for (const struct mixture_part *p = m->part.at, *end = p + m->part.n; p < end; p++) {
        bool closed = kinds[p->kind].deviate;
        double own = part_quantile(p, z);
        y += p->weight / m->total * own;
        lo = fmin(lo, closed ? own : -INFINITY);
        hi = fmax(hi, closed ? own : INFINITY);
    }
    int64_t a = double_rank(lo), b = double_rank(hi);
    for (int i = 1; a < b; i++) {
        if (i % 8 == 0 || !(y >= rank_double(a) && y < rank_double(b)))
            y = rank_double((a >> 1) + (b >> 1) + (a & b & 1)); /* no overflow; below b */
        double off = mixture_cdf(m, y) - q;
        if (fabs(off) <= CLOSE * fmin(q, 1 - q)) return y;
        if (off < 0)
            a = double_rank(y) + 1;
        else
            b = double_rank(y);
        y -= off / exp(log_density(m, y));
    }
    return rank_double(b);
}

static double count_quantile(const struct mixture *m, double q) {
    double lo = -1, hi = 1; /* it is above lo and at or below hi */
    while (mixture_cdf(m, hi) < q) {
        lo = hi;
        hi = 2 * hi + 1;
        if (hi > 1e15) return INFINITY;
    }
    while (hi - lo > 1) {
        double mid = floor(0.5 * (lo + hi));
        if (mixture_cdf(m, mid) < q)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

double mixture_quantile(const struct mixture *m, double q) {
    double y = (kinds[m->part.at->kind].whole ? count_quantile : number_quantile)(m, q);
    return m->written ? mixture_as_written(m->written, y) : y;
}

/* As an integral over levels a of the quantiles Q(a),
 *   2 (1[y <= Q(a)] - a) (Q(a) - y) da,
 * by the midpoint rule: levels are spread as the mixture is, however wide it is. */
double mixture_crps(const struct mixture *m, double y) {
    enum { LEVELS = 100 };
    double sum = 0;
    for (int k = 0; k < LEVELS; k++) {
        double a = (k + 0.5) / LEVELS, q = mixture_quantile(m, a);
        sum += 2 * ((y <= q) - a) * (q - y) / LEVELS;
    }
    return sum;
}
