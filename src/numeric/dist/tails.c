/* SPDX-License-Identifier: Apache-2.0
 *
 * Results from the two tails of a distribution: masses of intervals, quantiles, draws. */
#include "numeric/dist/tails.h"
#include "numeric/special/special.h"
#include <math.h>

static void tails_at(const struct law *w, double x, double *t) {
    bool below = x < w->lo || x == -INFINITY, above = x >= w->hi || x == INFINITY;
    if (!below && !above) {
        w->tails(w->whole ? floor(x) : x, w->a, w->n, t);
        return;
    }
    t[0] = below ? -INFINITY : 0;
    t[1] = below ? 0 : -INFINITY;
}

/* The tails just below lo and at hi. */
static void ends(const struct law *w, double lo, double hi, double *a, double *b) {
    tails_at(w, w->whole ? ceil(lo) - 1 : lo, a);
    tails_at(w, hi, b);
}

/* Number of whole numbers up to which their probabilities are added. */
enum { FEW = 32 };

static double mass_of_few(const struct law *w, double lo, double hi) {
    double lp[FEW + 1];
    size_t n = 0;
    for (double k = ceil(lo); k <= hi && n <= FEW; k++) lp[n++] = w->lp(k, w->a, w->n);
    return logsumexp(lp, n);
}

/* An interval so narrow that both ends have nearly equal tails: five Gauss-Legendre points. */
static double mass_of_narrow(const struct law *w, double lo, double hi) {
    static const double at[] = {0, 0.5384693101056831, 0.9061798459386640};
    static const double weight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    double lp[5], half = 0.5 * (hi - lo), mid = lo + half;
    for (int i = 0; i < 5; i++) {
        double shift = copysign(at[(i + 1) / 2], i % 2 ? 1 : -1);
        lp[i] = w->lp(mid + half * shift, w->a, w->n) + log(0.5 * weight[(i + 1) / 2]);
    }
    return log(hi - lo) + logsumexp(lp, 5);
}

/* F(hi) - F(lo), from the tails that are small at both ends. For an interval around the middle, 1
 * minus the mass outside. */
double law_log_mass(const struct law *w, double lo, double hi) {
    double a[2], b[2], log_mass, share;
    lo = fmax(lo, w->lo);
    hi = fmin(hi, w->hi);
    if (!(lo <= hi) || (lo == hi && !w->whole)) return -INFINITY;
    if (w->whole && hi - lo < FEW) return mass_of_few(w, lo, hi);
    ends(w, lo, hi, a, b);
    if (a[1] < a[0]) {
        share = a[1] - b[1];
        log_mass = a[1] + log1mexp(share);
    } else if (b[0] < b[1]) {
        share = b[0] - a[0];
        log_mass = b[0] + log1mexp(share);
    } else {
        share = 1 - (exp(a[0]) + exp(b[1]));
        log_mass = log1p(-(exp(a[0]) + exp(b[1])));
    }
    if (!w->whole && share < 1e-5) return mass_of_narrow(w, lo, hi);
    if (isnan(share)) return isnan(a[0] + b[0]) ? NAN : -INFINITY; /* both ends overflow */
    return log_mass;
}

/* d log_mass / d a[i] by differences of fourth order; h^4 and eps / h meet near 1e-12. */
static double mass_slope(const struct law *w, size_t i, double lo, double hi) {
    double a[LAW_PARAMS], f[4], at = w->a[i], h = 1e-3 * fmax(fabs(at), 0.1);
    struct law moved = *w;
    for (size_t k = 0; k < w->n; k++) a[k] = w->a[k];
    moved.a = a;
    if (at > 0 && at <= 2 * h) h = 1e-3 * at; /* it may have to stay positive */
    for (int k = 0; k < 4; k++) {
        a[i] = at + (k < 2 ? k - 2 : k - 1) * h;
        f[k] = law_log_mass(&moved, lo, hi);
    }
    double d = (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
    return isfinite(d) ? d : 0; /* otherwise it is a count, which has no slope */
}

/* With slopes D, dF(x)/da = f(x) D: the derivative of the integral is what its ends gain and
 * lose. */
void law_mass_grad(const struct law *w, double lo, double hi, double log_mass, double *g) {
    double end[2] = {lo, hi};
    bool open[LAW_PARAMS] = {false};
    for (size_t i = 0; i < w->n + 2; i++) g[i] = 0;
    for (int side = 0; side < 2; side++) {
        double x = end[side], d[LAW_PARAMS], share;
        if (w->whole || !(x > w->lo && x < w->hi)) continue;
        share = (side ? 1 : -1) * exp(w->lp(x, w->a, w->n) - log_mass);
        g[w->n + (size_t)side] = share;
        for (size_t i = 0; i < w->n; i++) d[i] = NAN;
        if (w->slopes) w->slopes(x, w->a, w->n, d);
        for (size_t i = 0; i < w->n; i++) {
            open[i] |= isnan(d[i]);
            if (share != 0) g[i] += share * d[i];
        }
    }
    for (size_t i = 0; i < w->n; i++)
        if (w->whole || open[i]) g[i] = mass_slope(w, i, lo, hi);
}

/* ---- quantiles ------------------------------------------------------------------------------ */

/* The target tail. excess: how far the probability up to x is too high; > 0 means x is too
 * large. */
struct aim {
    int side;
    double level;
};

static double excess(const struct law *w, const struct aim *q, double x) {
    double t[2];
    tails_at(w, x, t);
    return q->side ? q->level - t[1] : t[0] - q->level;
}

/* Steps from inside the support, each longer than the last, until x is beyond the target. */
static double beyond(const struct law *w, const struct aim *q, double from, int sign) {
    double limit = sign > 0 ? w->hi : w->lo, left = isfinite(limit) ? fabs(limit - from) : 0;
    for (double step = 1; step < 1e300; step *= 4) {
        double x = left > 0 ? limit - sign * left / (1 + step) : from + sign * step;
        if (w->whole) x = sign > 0 ? ceil(x) : floor(x);
        if (!(sign * excess(w, q, x) < 0)) return x;
        if (left > 0 && x == limit) break;
    }
    return limit;
}

static double middle(const struct law *w) {
    bool low = isfinite(w->lo), high = isfinite(w->hi);
    return low && high ? 0.5 * (w->lo + w->hi) : low ? w->lo + 1 : high ? w->hi - 1 : 0;
}

/* Newton's step on the log tail from x, with the hazard as derivative; NaN if impossible. */
static double newton(const struct law *w, const struct aim *q, double x, double e) {
    double t[2];
    tails_at(w, x, t);
    return x - e * exp(t[q->side] - w->lp(x, w->a, w->n));
}

double law_quantile(const struct law *w, double lower, double upper) {
    struct aim q = {upper < lower, fmin(lower, upper)};
    double from = middle(w), low = beyond(w, &q, from, -1), high = beyond(w, &q, from, 1);
    double x = low + 0.5 * (high - low);
    for (int i = 0; i < 2200; i++) { /* bisection of doubles ends before that */
        if (w->whole) x = floor(x);
        double e = excess(w, &q, x);
        if (isnan(e)) return NAN;
        if (e >= 0)
            high = x;
        else
            low = x;
        double mid = low + 0.5 * (high - low), next = w->whole ? mid : newton(w, &q, x, e);
        if (w->whole ? high - low <= 1 : !(mid > low && mid < high) || e == 0) break;
        if (!w->whole && fabs(next - x) <= 1e-15 * fabs(x)) break;
        x = next > low && next < high && i % 4 < 3 ? next : mid;
    }
    return w->whole ? (excess(w, &q, low) >= 0 ? low : high) : x;
}

/* P(X <= x) is uniform between its values at the two ends; both tails are sums of positive
 * terms. */
double law_draw_between(struct rng *r, const struct law *w, double lo, double hi) {
    double a[2], b[2], u = rng_uniform(r), mass = law_log_mass(w, lo, hi);
    if (!(mass > -INFINITY)) return NAN;
    ends(w, lo, hi, a, b);
    double x = law_quantile(w, logaddexp(a[0], log(u) + mass), logaddexp(b[1], log1p(-u) + mass));
    if (w->whole) return fmin(fmax(x, ceil(lo)), floor(hi));
    return fmin(fmax(x, fmax(lo, w->lo)), fmin(hi, w->hi));
}
