/* SPDX-License-Identifier: Apache-2.0
 *
 * First passage of a Wiener process. It starts at share w of the distance a between two boundaries,
 * has drift v and variance 1 per time, and hits one of them after t0 + t. The value is that time,
 * negative for the lower boundary. With u = t / a^2 the density at the lower one is
 *
 *     exp(-v a w - v^2 t / 2) f(u, w) / a^2
 *
 *     f(u, w) = pi sum_{k > 0} k exp(-k^2 pi^2 u / 2) sin(k pi w)                   (late)
 *             = (2 pi u^3)^-1/2 sum_k (w + 2k) exp(-(w + 2k)^2 / 2u)                (early)
 *
 * At the upper one it is the same with 1 - w and -v (Navarro and Fuss 2009). Both sums are equal;
 * TERMS terms of the one that converges faster suffice. */
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"

enum { TERMS = 9 };
#define EARLY 0.4 /* in u */

/* log f and its derivatives in u and w. The largest exponential is factored out of the sums. */
struct passage {
    double f, du, dw;
};

static struct passage early(double u, double w) {
    double s = 0, su = 0, sw = 0;
    for (int k = -TERMS; k <= TERMS; k++) {
        double x = w + 2 * k, e = exp(-2 * k * (k + w) / u);
        s += x * e;
        su += x * x * x / (2 * u * u) * e;
        sw += (1 - x * x / u) * e;
    }
    return (struct passage){log(s) - w * w / (2 * u) - 0.5 * log(2 * M_PI * u * u * u),
                            su / s - 1.5 / u, sw / s};
}

static struct passage late(double u, double w) {
    double s = 0, su = 0, sw = 0;
    for (int k = 1; k <= TERMS; k++) {
        double e = exp(-0.5 * (k * k - 1) * M_PI * M_PI * u);
        s += k * sin(k * M_PI * w) * e;
        su -= 0.5 * M_PI * M_PI * k * k * k * sin(k * M_PI * w) * e;
        sw += M_PI * k * k * cos(k * M_PI * w) * e;
    }
    return (struct passage){log(M_PI * s) - 0.5 * M_PI * M_PI * u, su / s, sw / s};
}

/* Quantities common to both boundaries: share of the way to the one hit, drift away from it, time.
 * False: x is not a possible time. */
struct hit {
    double a, w, v, t, u;
};

static bool hit_of(double x, const double *p, struct hit *h) {
    double t = fabs(x) - p[1];
    bool up = x > 0;
    *h = (struct hit){p[0], up ? 1 - p[2] : p[2], up ? -p[3] : p[3], t, t / (p[0] * p[0])};
    return t > 0;
}

static struct passage passage_of(const struct hit *h) {
    return h->u < EARLY ? early(h->u, h->w) : late(h->u, h->w);
}

double dist_wiener_lp(double x, const double *p, size_t n) {
    struct hit h;
    if (!(p[0] > 0 && p[1] >= 0 && p[2] > 0 && p[2] < 1 && isfinite(p[3]))) return NAN;
    if (!hit_of(x, p, &h) || !(h.u > 0) || isinf(x)) return -INFINITY;
    double lp = passage_of(&h).f - h.v * h.a * h.w - 0.5 * h.v * h.v * h.t - 2 * log(h.a);
    return isnan(lp) ? -INFINITY : lp;
}

void dist_wiener_grad(double x, const double *p, size_t n, double *g) {
    struct hit h;
    bool up = x > 0;
    (void)hit_of(x, p, &h);
    struct passage f = passage_of(&h);
    double dt = f.du / (h.a * h.a) - 0.5 * h.v * h.v, dv = -h.a * h.w - h.v * h.t;
    double dw = f.dw - h.v * h.a;
    g[0] = up ? dt : -dt;
    g[1] = -h.v * h.w - 2 * (1 + h.u * f.du) / h.a;
    g[2] = -dt;
    g[3] = up ? -dw : dw;
    g[4] = up ? -dv : dv;
}

/* P(the lower boundary is hit) = (exp(-2 v a w) - exp(-2 v a)) / (1 - exp(-2 v a)) */
static double lower_share(double a, double w, double v) {
    double b = 2 * v * a;
    if (fabs(b) < 1e-8) return 1 - w;
    return b > 0 ? exp(-b * w) * expm1(-b * (1 - w)) / expm1(-b) : expm1(b * (1 - w)) / expm1(b);
}

/* The first time at which a process with drift v towards a boundary at distance d hits it. This is
 * inverse normal with mean d / v and shape d^2, drawn by the smaller root of its chi-square
 * (Michael, Schucany and Haas 1976). */
static double single_passage(struct rng *r, double d, double v) {
    double z = rng_normal(r), mean = d / v, m = mean * z * z / (2 * d * d);
    if (!(v > 0) || isinf(mean)) return d * d / (z * z);
    double x = mean / (1 + m + sqrt(m * (2 + m)));
    return rng_uniform(r) * (mean + x) <= mean ? x : mean * mean / x;
}

/* Draws the side by its probability. Given the side, the sign of the drift does not matter, so
 * paths drift towards that boundary. Those that did not hit the other boundary first are kept: at
 * time u, with probability sum / first term. */
double dist_wiener_draw(struct rng *r, const double *p, size_t n) {
    if (!(p[0] > 0 && p[1] >= 0 && p[2] > 0 && p[2] < 1 && isfinite(p[3]))) return NAN;
    bool up = rng_uniform(r) >= lower_share(p[0], p[2], p[3]);
    struct hit h;
    double first;
    (void)hit_of(up ? p[1] + 1 : -p[1] - 1, p, &h);
    do {
        h.t = single_passage(r, h.a * h.w, fabs(h.v));
        h.u = h.t / (h.a * h.a);
        first = log(h.w) - h.w * h.w / (2 * h.u) - 0.5 * log(2 * M_PI * h.u * h.u * h.u);
    } while (!(log(rng_uniform(r)) < passage_of(&h).f - first));
    return up ? p[1] + h.t : -p[1] - h.t;
}
