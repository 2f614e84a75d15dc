/* SPDX-License-Identifier: Apache-2.0
 * Projected L-BFGS; contract in optim.h. Two-loop recursion after Nocedal (1980) on the variables
 * that are not fixed at a bound. */
#include "numeric/optim/optim.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MEMORY = 10 }; /* pairs kept */
#define ENOUGH 1e-4   /* share of the predicted decrease; a step with less gain is too long */

struct work {
    size_t n;
    int used, next, evals; /* ring buffer of the last `used` pairs; calls of the objective */
    double *s, *y, rho[MEMORY];
    double *x, *g, *xn, *gn, *d;
    optim_fn f;
    void *ctx;
    const struct optim_options *opt;
};

static double dot(size_t n, const double *a, const double *b) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static double clip(const struct work *w, size_t i, double v) {
    if (w->opt->lower && v < w->opt->lower[i]) v = w->opt->lower[i];
    if (w->opt->upper && v > w->opt->upper[i]) v = w->opt->upper[i];
    return v;
}

/* At a bound with the gradient pointing outwards: the variable cannot move. */
static bool held(const struct work *w, size_t i) {
    return (w->opt->lower && w->x[i] <= w->opt->lower[i] && w->g[i] > 0) ||
           (w->opt->upper && w->x[i] >= w->opt->upper[i] && w->g[i] < 0);
}

static double projected_norm(const struct work *w) {
    double m = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!held(w, i)) m = fmax(m, fabs(w->x[i] - clip(w, i, w->x[i] - w->g[i])));
    return m;
}

/* Pair k; the newest is number 0. */
static int pair(const struct work *w, int k) {
    return (w->next - 1 - k + MEMORY) % MEMORY;
}

static void direction(struct work *w) {
    size_t n = w->n;
    double alpha[MEMORY];
    for (size_t i = 0; i < n; i++) w->d[i] = held(w, i) ? 0 : -w->g[i];
    for (int k = 0; k < w->used; k++) {
        int j = pair(w, k);
        alpha[j] = w->rho[j] * dot(n, w->s + j * n, w->d);
        for (size_t i = 0; i < n; i++) w->d[i] -= alpha[j] * w->y[j * n + i];
    }
    if (w->used) {
        int j = pair(w, 0);
        double scale = 1 / (w->rho[j] * dot(n, w->y + j * n, w->y + j * n));
        for (size_t i = 0; i < n; i++) w->d[i] *= scale;
    }
    for (int k = w->used - 1; k >= 0; k--) {
        int j = pair(w, k);
        double beta = w->rho[j] * dot(n, w->y + j * n, w->d);
        for (size_t i = 0; i < n; i++) w->d[i] += (alpha[j] - beta) * w->s[j * n + i];
    }
    for (size_t i = 0; i < n; i++)
        if (held(w, i)) w->d[i] = 0;
}

static void remember(struct work *w) {
    size_t n = w->n;
    double *s = w->s + w->next * n, *y = w->y + w->next * n;
    for (size_t i = 0; i < n; i++) {
        s[i] = w->xn[i] - w->x[i];
        y[i] = w->gn[i] - w->g[i];
    }
    double sy = dot(n, s, y);
    if (!(sy > 1e-12 * dot(n, y, y))) return; /* curvature not positive: skip the pair */
    w->rho[w->next] = 1 / sy;
    w->next = (w->next + 1) % MEMORY;
    if (w->used < MEMORY) w->used++;
}

/* The first step length along d. */
static double first_try(const struct work *w) {
    double size = 0, first = w->opt->first_step;
    for (size_t i = 0; i < w->n; i++) size = fmax(size, fabs(w->d[i]));
    if (w->used) return size > w->opt->step_cap ? w->opt->step_cap / size : 1;
    return first > 0 ? first / size : fmin(1, 1 / sqrt(fmax(dot(w->n, w->d, w->d), 1e-300)));
}

/* The objective at x + t d, clipped to the bounds; *moved: the decrease predicted by the slope.
 * With late gradients, the gradient is computed only if the value is below `most`. */
static double try_step(struct work *w, double t, double most, double *moved) {
    bool late = w->opt->late && w->opt->late(w->ctx);
    *moved = 0;
    for (size_t i = 0; i < w->n; i++) {
        w->xn[i] = clip(w, i, w->x[i] + t * w->d[i]);
        *moved += w->g[i] * (w->xn[i] - w->x[i]);
    }
    w->evals++;
    double fn = w->f(w->ctx, w->xn, late ? NULL : w->gn);
    bool far = !isfinite(fn) || fn > most + ENOUGH * fmin(*moved, 0);
    if (!late || far) return fn;
    return isfinite(w->f(w->ctx, w->xn, w->gn)) ? fn : INFINITY;
}

/* Bisection for the weak Wolfe conditions (Lewis and Overton 2013) along the projected path. While
 * all steps were too long it goes to the minimum of the interpolating parabola, within [least_cut,
 * 0.5] of the step. Fits of posteriors always halve: a parabola of a rough density leads into the
 * mode next to the start, past narrow modes that a halved step still finds. */
static bool line_search(struct work *w, double *fx) {
    double lo = 0, hi = INFINITY, slope = dot(w->n, w->g, w->d), t = first_try(w), moved;
    double cut = w->opt->least_cut;
    for (int it = 0; it < 40 && w->evals < w->opt->max_eval; it++) {
        double fn = try_step(w, t, *fx, &moved);
        if (!isfinite(fn) || fn > *fx + ENOUGH * fmin(moved, 0))
            hi = t;
        else if (dot(w->n, w->gn, w->d) < 0.9 * slope && it < 25 && moved <= t * slope * 0.999)
            lo = t;
        else {
            *fx = fn;
            return true;
        }
        double q = -slope * t / (2 * (fn - *fx - slope * t));
        if (isinf(hi))
            t = 2 * lo;
        else if (lo > 0)
            t = (lo + hi) / 2;
        else
            t *= isfinite(q) ? fmin(fmax(q, cut), 0.5) : cut;
        if (-t * slope < DBL_EPSILON * fabs(*fx)) break; /* rounding hides such a decrease */
    }
    if (lo == 0) return false;
    *fx = try_step(w, lo, INFINITY, &moved);
    return isfinite(*fx);
}

double optim_minimise(optim_fn f, void *ctx, size_t n, double *x, const struct optim_options *opt) {
    return optim_path(f, NULL, ctx, n, x, opt);
}

double optim_path(optim_fn f, optim_seen_fn seen, void *ctx, size_t n, double *x,
                  const struct optim_options *opt) {
    struct work w = {.n = n, .f = f, .ctx = ctx, .opt = opt, .evals = 1, .x = x};
    double *block = mem_zalloc(((2 * MEMORY + 4) * n + 1) * sizeof(double));
    double **part[] = {&w.g, &w.xn, &w.gn, &w.d};
    for (size_t i = 0; i < 4; i++) *part[i] = block + i * n;
    w.s = block + 4 * n;
    w.y = w.s + MEMORY * n;
    for (size_t i = 0; i < n; i++) x[i] = clip(&w, i, x[i]);
    double best = f(ctx, x, w.g);
    if (seen && isfinite(best)) seen(ctx, x, w.g);
    for (int it = 0; it < opt->max_iter && isfinite(best); it++) {
        if (projected_norm(&w) <= opt->grad_tol || w.evals >= opt->max_eval) break;
        direction(&w);
        if (!(dot(n, w.g, w.d) < 0)) w.used = 0, direction(&w);
        double fx = best;
        if (!line_search(&w, &fx)) {
            if (!w.used) break; /* steepest descent cannot improve: numerically flat */
            w.used = 0;
            continue;
        }
        remember(&w);
        memcpy(x, w.xn, n * sizeof *x);
        memcpy(w.g, w.gn, n * sizeof *w.g);
        if (seen) seen(ctx, x, w.g);
        double gain = best - fx;
        best = fx;
        if (gain <= opt->f_tol * fmax(1, fabs(fx))) break;
    }
    mem_free(block);
    return best;
}
