/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of draws. Every diagnostic is the basic one (between and within chain variance,
 * Geyer's estimate of the autocorrelation time) applied to transformed draws: split chains, normal
 * scores of ranks, distances from the median, indicators of a quantile.
 *
 *     R-hat       sqrt(var+ / W),      var+ = (n-1)/n W + B/n
 *     ESS         M n / tau,           tau = 1 + 2 sum_t rho_t
 *     rho_t       1 - (W - mean over chains of acov_t) / var+
 *
 * M chains of n draws, W the mean of the variances within chains, B/n the variance of the chains'
 * means. Chains that disagree make var+ larger than W, which raises R-hat and, through rho, lowers
 * the effective sample size (Vehtari et al. 2021).
 */
#include "numeric/posterior/diagnostics.h"
#include "base/number.h"
#include "base/mem.h"
#include "numeric/la/cols.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

double draws_mean(const double *x, size_t n) {
    double m = col_sum(n, x) / (double)n;
    return m + col_sum_less(n, x, m) / (double)n; /* second pass: the rounding of the first */
}

static double variance(const double *x, size_t n) {
    return col_squares_less(n, x, draws_mean(x, n)) / ((double)n - 1);
}

double draws_sd(const double *x, size_t n) {
    return sqrt(variance(x, n));
}

struct ranked {
    double x;
    size_t at;
};

/* Ascends with x, as an unsigned number does; what is no number comes last. */
static uint64_t sort_key(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) return UINT64_MAX;
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* By one byte of the keys after the other, the lowest first; bytes in which all agree are passed
 * over. Equal numbers stay in their order. `room` as long as r. */
static void sort_ranked(struct ranked *r, struct ranked *room, size_t n) {
    enum { BYTES = 8, VALUES = 256 };
    size_t count[BYTES][VALUES] = {0};
    struct ranked *from = r, *to = room;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = sort_key(r[i].x);
        for (size_t b = 0; b < BYTES; b++) count[b][key >> 8 * b & 255]++;
    }
    for (size_t b = 0; b < BYTES && n; b++) {
        if (count[b][sort_key(r[0].x) >> 8 * b & 255] == n) continue;
        for (size_t k = 0, at = 0; k < VALUES; k++) { /* where numbers with this byte begin */
            size_t here = count[b][k];
            count[b][k] = at;
            at += here;
        }
        for (size_t i = 0; i < n; i++) to[count[b][sort_key(from[i].x) >> 8 * b & 255]++] = from[i];
        struct ranked *t = from;
        from = to;
        to = t;
    }
    if (from != r) memcpy(r, from, n * sizeof *r);
}

static struct ranked *ranked_copy(const double *x, size_t n) {
    struct ranked *r = NEW_ARRAY(struct ranked, 2 * n + 1);
    for (size_t i = 0; i < n; i++) r[i] = (struct ranked){x[i], i};
    sort_ranked(r, r + n, n);
    return r;
}

/* R's type 7: linear between the order statistics at p (n - 1). f == 0 is apart so that an infinite
 * neighbour does not make NaN of it. */
static double quantile_of_sorted(const struct ranked *sorted, size_t n, double p) {
    double at = p * ((double)n - 1), low = floor(at);
    size_t i = (size_t)low;
    if (i + 1 >= n) return sorted[n - 1].x;
    double f = at - low;
    return f == 0 ? sorted[i].x : sorted[i].x + f * (sorted[i + 1].x - sorted[i].x);
}

double draws_quantile(const double *x, size_t n, double p) {
    if (n == 0) return NAN;
    struct ranked *s = ranked_copy(x, n);
    double q = quantile_of_sorted(s, n, p);
    mem_free(s);
    return q;
}

/* Equal up to rounding: no variance to speak of, so no R-hat and no autocorrelation. */
static bool constant(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (fabs(x[i] - x[0]) > 1e-15 * fabs(x[0])) return false;
    return true;
}

static bool unusable(const double *x, size_t chains, size_t n) {
    return chains == 0 || n < 3 || !col_finite(chains * n, x) || constant(x, chains * n);
}

/* Each chain as two of its halves; an odd one in the middle is left out. */
static double *split(const double *x, size_t chains, size_t n) {
    size_t half = n / 2;
    double *s = NEW_ARRAY(double, 2 * chains * half + 1);
    for (size_t c = 0; c < chains; c++) {
        memcpy(s + 2 * c * half, x + c * n, half * sizeof *s);
        memcpy(s + (2 * c + 1) * half, x + c * n + (n - half), half * sizeof *s);
    }
    return s;
}

/* What every quantity of a table needs alike: the normal scores of ranks 1 .. n, and cos, sin of k
 * 2 pi / len, k < len / 2. Made when first asked for and kept, one of each for the sizes asked for
 * last. */
struct draws_tables {
    size_t n, len;
    double *scores, *turns;
};

struct draws_tables *draws_tables_new(void) {
    return NEW(struct draws_tables);
}

void draws_tables_free(struct draws_tables *t) {
    mem_free(t->scores);
    mem_free(t->turns);
    mem_free(t);
}

/* qnorm((r - 3/8) / (n + 1/4)) */
static double score(double rank, size_t n) {
    return norm_quantile((rank - 0.375) / ((double)n + 0.25));
}

static const double *scores_of(struct draws_tables *t, size_t n) {
    if (t->n == n) return t->scores;
    mem_free(t->scores);
    t->scores = NEW_ARRAY(double, n + 1);
    t->n = n;
    for (size_t i = 0; i < (n + 1) / 2; i++) {
        t->scores[i] = score((double)i + 1, n);
        t->scores[n - 1 - i] = -t->scores[i];
    }
    return t->scores;
}

static const double *turns_of(struct draws_tables *t, size_t len) {
    if (t->len == len) return t->turns;
    mem_free(t->turns);
    t->turns = NEW_ARRAY(double, len + 2);
    t->len = len;
    for (size_t k = 0; k < len / 2; k++) {
        double angle = 2 * M_PI * (double)k / (double)len;
        t->turns[2 * k] = cos(angle);
        t->turns[2 * k + 1] = sin(angle);
    }
    return t->turns;
}

/* Normal scores of the average ranks of what is sorted in r, into z. */
static void z_scale(struct draws_tables *t, const struct ranked *r, size_t n, double *z) {
    const double *scores = scores_of(t, n);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && r[j].x == r[i].x;) j++;
        double all = j == i + 1 ? scores[i] : score(0.5 * (double)(i + j + 1), n);
        for (size_t k = i; k < j; k++) z[r[k].at] = all;
    }
}

/* Distances from the middle, sorted: in what is sorted they fall, then rise. */
static void fold(const struct ranked *r, size_t n, double middle, struct ranked *out) {
    size_t lo = 0, hi = n, k = n;
    while (lo < hi) {
        double below = fabs(r[lo].x - middle), above = fabs(r[hi - 1].x - middle);
        size_t i = below > above ? lo++ : --hi;
        out[--k] = (struct ranked){fmax(below, above), r[i].at};
    }
}

/* sqrt((B/W + n - 1) / n): B = n times the variance of the chain means, W the mean variance. */
static double rhat_basic(const double *x, size_t chains, size_t n) {
    double *mean = NEW_ARRAY(double, chains + 1), within = 0;
    for (size_t c = 0; c < chains; c++) {
        mean[c] = draws_mean(x + c * n, n);
        within += variance(x + c * n, n) / (double)chains;
    }
    double between = (double)n * variance(mean, chains);
    mem_free(mean);
    return sqrt((between / within + (double)n - 1) / (double)n);
}

/* Autocovariance by the fast Fourier transform, length a power of two, data zero-padded. In place,
 * not normalised: Cooley and Tukey's radix 2, bit reversal and then butterflies of growing length.
 * sign -1: forward, +1: backward. */
static void fft(const double *turns, double *re, double *im, size_t n, double sign) {
    for (size_t i = 1, j = 0; i < n; i++) { /* bit reversal */
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        double t = re[i];
        re[i] = re[j], re[j] = t;
        t = im[i], im[i] = im[j], im[j] = t;
    }
    for (size_t len = 2; len <= n; len <<= 1) {
        for (size_t k = 0; k < len / 2; k++) {
            size_t turn = 2 * k * (n / len);
            double c = turns[turn], s = sign * turns[turn + 1];
            for (size_t i = k; i < n; i += len) {
                size_t j = i + len / 2;
                double a = re[j] * c - im[j] * s, b = re[j] * s + im[j] * c;
                re[j] = re[i] - a, im[j] = im[i] - b;
                re[i] += a, im[i] += b;
            }
        }
    }
}

/* The mean over chains, of mean 0 each, of 1/n sum_i x_i x_{i+t}: the inverse transform of
 * |transform|^2 (Wiener and Khinchin); zeros to twice the length keep the ends from meeting. Two
 * chains make one complex series, the real part of whose autocovariance is the sum of theirs; the
 * squares of all are added before the one way back. */
static void mean_autocovariance(struct draws_tables *t, const double *x, size_t chains, size_t n,
                                double *acov) {
    size_t len = 1;
    while (len < 2 * n) len <<= 1;
    const double *turns = turns_of(t, len);
    double *part[2], *power = mem_zalloc(len * sizeof *power);
    part[0] = NEW_ARRAY(double, 2 * len);
    part[1] = part[0] + len;
    for (size_t c = 0; c < chains; c += 2) {
        memset(part[0], 0, 2 * len * sizeof *part[0]);
        for (size_t k = 0; k < 2 && c + k < chains; k++) {
            const double *chain = x + (c + k) * n;
            memcpy(part[k], chain, n * sizeof *chain);
        }
        fft(turns, part[0], part[1], len, -1);
        for (size_t i = 0; i < len; i++)
            power[i] += part[0][i] * part[0][i] + part[1][i] * part[1][i];
    }
    memset(part[1], 0, len * sizeof *part[1]);
    fft(turns, power, part[1], len, 1);
    for (size_t i = 0; i < n; i++) acov[i] = power[i] / ((double)len * (double)n * (double)chains);
    mem_free(part[0]);
    mem_free(power);
}

/* Autocovariances as they are asked for: chains that move well need few, which their sums give
 * sooner than transforms; from FEW on all are made. */
enum { AT_ONCE = 8, FEW = 32 };
struct lags {
    struct draws_tables *t;
    size_t chains, n, known;
    double *x, *acov; /* chains less their means; n numbers, the first `known` of which are made */
};

static double autocovariance(struct lags *l, size_t lag) {
    size_t n = l->n, to = l->known + AT_ONCE < n ? l->known + AT_ONCE : n;
    if (lag >= l->known && (l->known >= FEW || lag >= to)) {
        mean_autocovariance(l->t, l->x, l->chains, n, l->acov);
        l->known = n;
    }
    for (; lag >= l->known && l->known < to; l->known++) {
        double sum = 0, size = (double)n * (double)l->chains;
        for (size_t c = 0; c < l->chains; c++)
            sum += col_dot(n - l->known, l->x + c * n, l->x + c * n + l->known);
        l->acov[l->known] = sum / size;
    }
    return l->acov[lag];
}

/* Geyer's (1992) initial monotone positive sequence on rho[t] = 1 - (W - mean acov[t]) / var+:
 * sums of neighbours rho[2k] + rho[2k+1] of a reversible chain are positive and fall, so the sum is
 * cut at the first that is not positive and each is held below the one before; what is cut is
 * noise. Returns the autocorrelation time, at least 1 / log10(total): antithetic draws may be worth
 * more than independent ones, but not without bound. */
static double geyer(struct lags *l, double mean_var, double var_plus, double total) {
    size_t n = l->n, t = 0;
    double *rho = mem_zalloc((n + 2) * sizeof *rho);
#define RHO(k) (1 - (mean_var - autocovariance(l, k)) / var_plus)
    double even = 1, odd = RHO(1);
    rho[0] = even;
    rho[1] = odd;
    while (t + 5 < n && even + odd > 0) { /* NaN ends it too */
        t += 2;
        even = RHO(t);
        odd = RHO(t + 1);
        if (even + odd >= 0) {
            rho[t] = even;
            rho[t + 1] = odd;
        }
    }
#undef RHO
    size_t last = t;
    if (even > 0) rho[last] = even; /* reduces the variance in the antithetic case */
    for (t = 2; t + 2 <= last; t += 2) {
        if (rho[t] + rho[t + 1] <= rho[t - 2] + rho[t - 1]) continue;
        rho[t] = rho[t + 1] = 0.5 * (rho[t - 2] + rho[t - 1]);
    }
    double sum = 0;
    for (size_t k = 0; k < (last ? last : 1); k++) sum += rho[k];
    double tau = -1 + 2 * sum + rho[last];
    mem_free(rho);
    return fmax(tau, 1 / log10(total));
}

/* ESS of draws as they are. The autocovariance has the divisor n: W undoes it. */
static double ess_basic(struct draws_tables *t, const double *x, size_t chains, size_t n) {
    if (unusable(x, chains, n)) return NAN;
    double *mean = NEW_ARRAY(double, chains + 1), total = (double)chains * (double)n;
    double *all = NEW_ARRAY(double, chains *n + n + 1);
    struct lags l = {t, chains, n, 0, all, all + chains * n};
    for (size_t c = 0; c < chains; c++) {
        mean[c] = draws_mean(x + c * n, n);
        for (size_t i = 0; i < n; i++) l.x[c * n + i] = x[c * n + i] - mean[c];
    }
    double mean_var = autocovariance(&l, 0) * (double)n / ((double)n - 1);
    double var_plus = mean_var * ((double)n - 1) / (double)n;
    if (chains > 1) var_plus += variance(mean, chains);
    double ess = total / geyer(&l, mean_var, var_plus, total);
    mem_free(all);
    mem_free(mean);
    return ess;
}

/* Halves as chains of their own: a chain that drifts then disagrees with itself. */
static double ess_split(struct draws_tables *t, const double *x, size_t chains, size_t n) {
    if (unusable(x, chains, n)) return NAN;
    double *s = split(x, chains, n), ess = ess_basic(t, s, 2 * chains, n / 2);
    mem_free(s);
    return ess;
}

double draws_ess_mean(const double *x, size_t chains, size_t n) {
    struct draws_tables t = {0};
    double ess = ess_split(&t, x, chains, n);
    mem_free(t.turns);
    return ess;
}

/* ESS of the indicator x <= q, whose mean is what a quantile's error comes from. */
static double ess_below(struct draws_tables *t, const double *x, size_t chains, size_t n,
                        double q) {
    if (unusable(x, chains, n)) return NAN;
    double *below = NEW_ARRAY(double, chains *n);
    for (size_t i = 0; i < chains * n; i++) below[i] = x[i] <= q;
    double ess = ess_split(t, below, chains, n);
    mem_free(below);
    return ess;
}

/* R-hat is the worse of two: on ranks (do the chains agree where they are?) and on ranks of the
 * distance from the median (do they agree how wide they are?). Ranks make it finite where moments
 * are not; the ESS of the bulk rests on them, too. r: the m numbers of the halves, sorted, with
 * room for as many behind. */
static void of_ranks(struct draws_tables *t, struct ranked *r, size_t chains, size_t n,
                     struct draws_summary *out) {
    size_t half = n / 2, halves = 2 * chains, m = halves * half;
    double *z = NEW_ARRAY(double, 2 * m + 1), *folded = z + m;
    z_scale(t, r, m, z);
    fold(r, m, out->median, r + m);
    z_scale(t, r + m, m, folded);
    out->rhat = fmax(rhat_basic(z, halves, half), rhat_basic(folded, halves, half));
    out->ess_bulk = ess_basic(t, z, halves, half);
    mem_free(z);
}

/* Of the sorted draws; r: those of the halves, which are all of them unless n is odd. */
static void quantiles(const double *x, size_t total, const struct ranked *r, size_t m,
                      struct draws_summary *out) {
    struct ranked *all = m == total ? NULL : ranked_copy(x, total);
    const struct ranked *s = all ? all : r;
    out->q5 = quantile_of_sorted(s, total, 0.05);
    out->median = quantile_of_sorted(s, total, 0.5);
    out->q95 = quantile_of_sorted(s, total, 0.95);
    mem_free(all);
}

/* The tail's ESS is the smaller of those of the 5% and 95% quantiles. */
static void summarise_equal(struct draws_tables *t, const double *x, size_t chains, size_t n,
                            struct draws_summary *out) {
    size_t total = chains * n;
    double *s = split(x, chains, n);
    size_t m = 2 * chains * (n / 2);
    struct ranked *r = ranked_copy(s, m);
    out->mean = draws_mean(x, total);
    out->sd = total > 1 ? draws_sd(x, total) : NAN;
    quantiles(x, total, r, m, out);
    out->mcse_mean = out->sd / sqrt(ess_split(t, x, chains, n));
    if (!unusable(x, chains, n)) of_ranks(t, r, chains, n, out);
    mem_free(r);
    mem_free(s);
    double low = ess_below(t, x, chains, n, out->q5), high = ess_below(t, x, chains, n, out->q95);
    out->ess_tail = isnan(low) || isnan(high) ? NAN : fmin(low, high);
}

/* ---- with weights ---- */

/* Draws that count: their weights, and what the weights come to. */
struct weighted {
    struct draws_tables *t;
    const double *w;
    size_t chains, n;
    double sum, worth;
    struct ranked *r; /* those that have the quantity, sorted; room for as many behind */
    size_t k;         /* how many */
    bool equal;       /* they weigh the same */
};

double draws_worth(const double *w, size_t n) {
    double s = 0, s2 = 0, top = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, w[i]);
    for (size_t i = 0; i < n && top > 0; i++) s += w[i] / top, s2 += w[i] / top * (w[i] / top);
    return s2 > 0 ? s * s / s2 : 0;
}

static double weighted_mean(const double *x, const double *w, size_t n, double sum) {
    double m = 0, more = 0;
    for (size_t i = 0; i < n; i++)
        if (w[i] > 0) m += w[i] / sum * x[i];
    for (size_t i = 0; i < n; i++)
        if (w[i] > 0) more += w[i] / sum * (x[i] - m);
    return m + more;
}

static double weighted_variance(const double *x, const double *w, size_t n, double sum,
                                double mean) {
    double s = 0;
    for (size_t i = 0; i < n; i++)
        if (w[i] > 0) s += w[i] / sum * (x[i] - mean) * (x[i] - mean);
    return s;
}

/* Draws of the same weight: as without. Else the least x below or at which there is a share p. */
static double weighted_quantile(const struct weighted *d, double p) {
    if (d->equal) return quantile_of_sorted(d->r, d->k, p);
    double upto = 0;
    for (size_t i = 0; i < d->k; i++)
        if ((upto += d->w[d->r[i].at] / d->sum) >= p - 1e-12) return d->r[i].x;
    return d->r[d->k - 1].x;
}

/* Terms of the mean of f, less that mean: they average to 0, and their error is its error. *var:
 * the variance of f. */
static double *influence(const struct weighted *d, const double *f, double *var) {
    size_t total = d->chains * d->n;
    double *z = mem_zalloc((total + 1) * sizeof *z), mean = weighted_mean(f, d->w, total, d->sum);
    *var = weighted_variance(f, d->w, total, d->sum, mean);
    for (size_t i = 0; i < total; i++)
        if (d->w[i] > 0) z[i] = d->w[i] / d->sum * (double)total * (f[i] - mean);
    return z;
}

/* The squared error of the mean of f. */
static double squared_error(const struct weighted *d, const double *f, double *var) {
    double *z = influence(d, f, var);
    double e = draws_sd(z, d->chains * d->n);
    e = e * e / ess_split(d->t, z, d->chains, d->n);
    mem_free(z);
    return e;
}

static double weighted_ess(const struct weighted *d, const double *f) {
    double var, error = squared_error(d, f, &var);
    return isnan(error) ? NAN : fmin(var / error, d->worth);
}

static double weighted_ess_below(const struct weighted *d, const double *x, double q) {
    size_t total = d->chains * d->n;
    double *below = NEW_ARRAY(double, total + 1);
    for (size_t i = 0; i < total; i++) below[i] = x[i] <= q;
    double ess = weighted_ess(d, below);
    mem_free(below);
    return ess;
}

/* Normal scores of the weighted ranks; for equal weights those of z_scale. */
static void weighted_scores(const struct weighted *d, const struct ranked *r, double *z) {
    double upto = 0;
    for (size_t i = 0, j; i < d->k; i = j) {
        double here = 0;
        for (j = i; j < d->k && r[j].x == r[i].x; j++) here += d->w[r[j].at] / d->sum;
        double s = norm_quantile(((upto + here / 2) * d->worth + 0.125) / (d->worth + 0.25));
        for (size_t l = i; l < j; l++) z[r[l].at] = s;
        upto += here;
    }
}

/* As rhat_basic, each half chain being worth as many draws as its weights say; NaN where one is
 * worth less than two. */
static double weighted_rhat(const struct weighted *d, const double *z) {
    size_t half = d->n / 2, halves = 2 * d->chains;
    double *mean = NEW_ARRAY(double, halves + 1), within = 0, worth = 0;
    for (size_t h = 0; h < halves; h++) {
        size_t at = h / 2 * d->n + (h % 2 ? d->n - half : 0);
        double k = draws_worth(d->w + at, half), sum = 0;
        for (size_t i = 0; i < half; i++) sum += d->w[at + i];
        mean[h] = weighted_mean(z + at, d->w + at, half, sum);
        double var = weighted_variance(z + at, d->w + at, half, sum, mean[h]);
        within += k < 2 ? NAN : var * k / (k - 1) / (double)halves;
        worth += k / (double)halves;
    }
    double between = variance(mean, halves);
    mem_free(mean);
    return sqrt(between / within + (worth - 1) / worth);
}

/* Do the chains agree how often the quantity is there? */
static double presence_rhat(const struct weighted *d) {
    size_t total = d->chains * d->n, half = d->n / 2;
    double *there = NEW_ARRAY(double, total + 1), rhat = NAN;
    for (size_t i = 0; i < total; i++) there[i] = d->w[i] > 0;
    if (!constant(there, total)) {
        double *s = split(there, d->chains, d->n);
        rhat = rhat_basic(s, 2 * d->chains, half);
        mem_free(s);
    }
    mem_free(there);
    return rhat;
}

static void weighted_chains(const struct weighted *d, const double *x, struct draws_summary *out) {
    double var, *z = mem_zalloc((d->chains * d->n + 1) * sizeof *z);
    out->mcse_mean = sqrt(squared_error(d, x, &var));
    weighted_scores(d, d->r, z);
    out->rhat = fmax(weighted_rhat(d, z), presence_rhat(d));
    out->ess_bulk = weighted_ess(d, z);
    fold(d->r, d->k, out->median, d->r + d->k);
    weighted_scores(d, d->r + d->k, z);
    out->rhat = fmax(weighted_rhat(d, z), out->rhat);
    mem_free(z);
    double low = weighted_ess_below(d, x, out->q5), high = weighted_ess_below(d, x, out->q95);
    out->ess_tail = isnan(low) || isnan(high) ? NAN : fmin(low, high);
}

static void summarise_weighted(struct weighted *d, const double *x, struct draws_summary *out) {
    size_t total = d->chains * d->n;
    bool finite = true, same = true;
    d->r = NEW_ARRAY(struct ranked, 2 * total + 1);
    d->worth = draws_worth(d->w, total);
    d->equal = true;
    for (size_t i = 0; i < total; i++) {
        if (!(d->w[i] > 0)) continue;
        d->r[d->k++] = (struct ranked){x[i], i};
        d->sum += d->w[i];
        finite &= isfinite(x[i]) != 0;
        same &= x[i] == d->r[0].x;
        d->equal &= d->w[i] == d->w[d->r[0].at];
    }
    if (d->k) {
        sort_ranked(d->r, d->r + d->k, d->k);
        out->mean = weighted_mean(x, d->w, total, d->sum);
        out->sd =
            sqrt(weighted_variance(x, d->w, total, d->sum, out->mean) * d->worth / (d->worth - 1));
        if (!(d->worth > 1)) out->sd = NAN;
        out->q5 = weighted_quantile(d, 0.05);
        out->median = weighted_quantile(d, 0.5);
        out->q95 = weighted_quantile(d, 0.95);
        if (d->k > 2 && d->n > 2 && finite && !same) weighted_chains(d, x, out);
    }
    mem_free(d->r);
}

void draws_summarise(struct draws_tables *t, const double *x, const double *w, size_t chains,
                     size_t n, struct draws_summary *out) {
    *out = (struct draws_summary){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};
    if (chains * n == 0) return;
    if (w)
        summarise_weighted(&(struct weighted){.t = t, .w = w, .chains = chains, .n = n}, x, out);
    else
        summarise_equal(t, x, chains, n, out);
}

size_t draws_complain(const struct draws_summary *s, const double *x, const double *w,
                      size_t chains, size_t n, const char *name, struct buf *out) {
    size_t total = chains * n, complaints = 0, first = total, have = 0;
    bool finite = true, same = true;
    for (size_t i = 0; i < total; i++) {
        if (w && !(w[i] > 0)) continue;
        if (!have++) first = i;
        finite &= isfinite(x[i]) != 0;
        same &= !(fabs(x[i] - x[first]) > 1e-15 * fabs(x[first]));
    }
    if (!finite) {
        buf_printf(out, "%s: some draws are not finite; check the model for overflow\n", name);
        return 1;
    }
    if (have > 1 && same) {
        buf_printf(out,
                   "%s: the same in every draw%s; it is known exactly, or no transition that "
                   "touches it was accepted\n",
                   name, have < total ? " that has it" : "");
        return 1;
    }
    double enough = 100 * (double)chains;
    if (s->rhat > 1.01) {
        buf_printf(out,
                   "%s: chains have not mixed, R-hat %.3f (should be below 1.01); run longer or "
                   "from better starting points\n",
                   name, s->rhat);
        complaints++;
    }
    if (s->ess_bulk < enough) {
        buf_printf(out,
                   "%s: mean and median rest on about %.0f independent draws (want %.0f); run "
                   "longer\n",
                   name, s->ess_bulk, enough);
        complaints++;
    }
    if (s->ess_tail < enough) {
        buf_printf(out,
                   "%s: the 5%% and 95%% quantiles rest on about %.0f independent draws (want "
                   "%.0f); run longer\n",
                   name, s->ess_tail, enough);
        complaints++;
    }
    return complaints;
}
