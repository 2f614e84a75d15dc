/* SPDX-License-Identifier: Apache-2.0
 * Dense projected BFGS; see bfgs.h. H approximates the inverse Hessian. */
#include "la/bfgs.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct state {
    size_t n;
    const double *lo, *hi;
    double *H, *g, *gn, *p, *xn, *s, *y;
};

static void set_scaled_identity(double *H, size_t n, double a) {
    memset(H, 0, n * n * sizeof *H);
    for (size_t i = 0; i < n; i++) H[i * n + i] = a;
}

/* A coordinate at its bound that the gradient pushes outwards stays where it is. */
static bool held(const struct state *w, const double *x, size_t i) {
    return (x[i] <= w->lo[i] && w->g[i] > 0) || (x[i] >= w->hi[i] && w->g[i] < 0);
}

/* p = -H g over the free coordinates; steepest descent when that is not a descent direction. */
static double direction(const struct state *w, const double *x) {
    size_t n = w->n;
    double slope = 0;
    for (size_t i = 0; i < n; i++) {
        double p = 0;
        if (!held(w, x, i))
            for (size_t j = 0; j < n; j++)
                if (!held(w, x, j)) p -= w->H[i * n + j] * w->g[j];
        w->p[i] = p;
        slope += p * w->g[i];
    }
    if (slope < 0) return slope;
    slope = 0;
    for (size_t i = 0; i < n; i++) {
        w->p[i] = held(w, x, i) ? 0 : -w->g[i];
        slope += w->p[i] * w->g[i];
    }
    return slope;
}

static double max_abs(const double *v, size_t n) {
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(v[i]));
    return m;
}

/* H <- (I - s y'/s'y) H (I - y s'/s'y) + s s'/s'y; needs s'y > 0. work: Hy in p. */
static void update(const struct state *w, bool first) {
    size_t n = w->n;
    double sy = 0, yy = 0, yHy = 0;
    for (size_t i = 0; i < n; i++) {
        sy += w->s[i] * w->y[i];
        yy += w->y[i] * w->y[i];
    }
    if (!(sy > 1e-14 * sqrt(yy) * max_abs(w->s, n))) return;
    if (first) set_scaled_identity(w->H, n, sy / yy);
    for (size_t i = 0; i < n; i++) {
        double v = 0;
        for (size_t j = 0; j < n; j++) v += w->H[i * n + j] * w->y[j];
        w->p[i] = v;
        yHy += v * w->y[i];
    }
    double a = (1 + yHy / sy) / sy;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            w->H[i * n + j] += a * w->s[i] * w->s[j] - (w->p[i] * w->s[j] + w->s[i] * w->p[j]) / sy;
}

static double clip(double v, double lo, double hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* Backtracks along the projected direction; the new point is in xn, its gradient in gn. */
static bool search(bfgs_fn f, void *ctx, const struct state *w, const double *x, double f0,
                   double slope, double t, double *f1) {
    for (int tries = 0; tries < 12; tries++) {
        double decrease = 0, moved = 0;
        for (size_t i = 0; i < w->n; i++) {
            w->xn[i] = clip(x[i] + t * w->p[i], w->lo[i], w->hi[i]);
            w->s[i] = w->xn[i] - x[i];
            decrease += w->s[i] * w->g[i];
            moved = fmax(moved, fabs(w->s[i]));
        }
        if (moved == 0) return false;
        *f1 = f(ctx, w->xn, w->gn);
        if (isfinite(*f1) && *f1 <= f0 + 1e-4 * decrease) return true;
        /* minimum of the parabola through f0, slope, f1, kept within [0.1, 0.5] of the step */
        double q = isfinite(*f1) ? -slope * t / (2 * (*f1 - f0 - slope * t)) : 0.1;
        t *= isfinite(q) ? clip(q, 0.1, 0.5) : 0.1;
    }
    return false;
}

double bfgs_box(bfgs_fn f, void *ctx, size_t n, double *x, const double *lo, const double *hi,
                const struct bfgs_options *opt, double *work) {
    struct state w = {.n = n, .lo = lo, .hi = hi, .H = work};
    double **part[] = {&w.g, &w.gn, &w.p, &w.xn, &w.s, &w.y};
    for (size_t i = 0; i < 6; i++) *part[i] = work + n * n + i * n;
    for (size_t i = 0; i < n; i++) x[i] = clip(x[i], lo[i], hi[i]);
    double f0 = f(ctx, x, w.g), f1;
    if (!isfinite(f0)) return f0;
    set_scaled_identity(w.H, n, 1);
    bool fresh = true;
    for (int it = 0; it < opt->max_iter; it++) {
        double slope = direction(&w, x);
        if (!(slope < 0)) break;
        double size = max_abs(w.p, n);
        double t = fresh ? opt->first_step / size : size > opt->step_cap ? opt->step_cap / size : 1;
        if (!search(f, ctx, &w, x, f0, slope, t, &f1)) break;
        for (size_t i = 0; i < n; i++) w.y[i] = w.gn[i] - w.g[i];
        update(&w, fresh);
        fresh = false;
        memcpy(x, w.xn, n * sizeof *x);
        memcpy(w.g, w.gn, n * sizeof *x);
        double gain = f0 - f1;
        f0 = f1;
        if (gain <= opt->f_tol * (1 + fabs(f0))) break;
    }
    return f0;
}
