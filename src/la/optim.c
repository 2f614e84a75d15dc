/* SPDX-License-Identifier: Apache-2.0
 * Projected L-BFGS; contract in optim.h. Two-loop recursion after Nocedal (1980) on the variables
 * that are not held at a bound. */
#include "la/optim.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

struct work {
    size_t n;
    int m, used, next; /* ring of the last `used` pairs */
    double *s, *y, *rho, *alpha;
    double *x, *g, *xn, *gn, *d;
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
static int held(const struct work *w, size_t i) {
    return (w->opt->lower && w->x[i] <= w->opt->lower[i] && w->g[i] > 0) ||
           (w->opt->upper && w->x[i] >= w->opt->upper[i] && w->g[i] < 0);
}

static double projected_norm(const struct work *w) {
    double m = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!held(w, i)) m = fmax(m, fabs(w->x[i] - clip(w, i, w->x[i] - w->g[i])));
    return m;
}

static void direction(struct work *w) {
    size_t n = w->n;
    for (size_t i = 0; i < n; i++) w->d[i] = held(w, i) ? 0 : -w->g[i];
    for (int k = 0; k < w->used; k++) {
        int j = (w->next - 1 - k + w->m) % w->m;
        w->alpha[j] = w->rho[j] * dot(n, w->s + j * n, w->d);
        for (size_t i = 0; i < n; i++) w->d[i] -= w->alpha[j] * w->y[j * n + i];
    }
    if (w->used) {
        int j = (w->next - 1 + w->m) % w->m;
        double scale = 1 / (w->rho[j] * dot(n, w->y + j * n, w->y + j * n));
        for (size_t i = 0; i < n; i++) w->d[i] *= scale;
    }
    for (int k = w->used - 1; k >= 0; k--) {
        int j = (w->next - 1 - k + w->m) % w->m;
        double beta = w->rho[j] * dot(n, w->y + j * n, w->d);
        for (size_t i = 0; i < n; i++) w->d[i] += (w->alpha[j] - beta) * w->s[j * n + i];
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
    w->next = (w->next + 1) % w->m;
    if (w->used < w->m) w->used++;
}

/* Bisection for the weak Wolfe conditions (Lewis and Overton 2013) along the projected path. */
static int line_search(struct work *w, optim_fn f, void *ctx, double *fx, int *stop, int *evals) {
    double lo = 0, hi = INFINITY, slope = dot(w->n, w->g, w->d);
    double t = w->used ? 1 : fmin(1, 1 / sqrt(fmax(dot(w->n, w->d, w->d), 1e-300)));
    int best = 0;
    for (int it = 0; it < 40 && *evals < w->opt->max_eval; it++) {
        double moved = 0;
        for (size_t i = 0; i < w->n; i++) {
            w->xn[i] = clip(w, i, w->x[i] + t * w->d[i]);
            moved += w->g[i] * (w->xn[i] - w->x[i]);
        }
        double fn = f(ctx, w->n, w->xn, w->gn, stop);
        ++*evals;
        if (*stop) return 0;
        if (!isfinite(fn) || fn > *fx + 1e-4 * fmin(moved, 0))
            hi = t;
        else if (dot(w->n, w->gn, w->d) < 0.9 * slope && it < 25 && moved <= t * slope * 0.999) {
            lo = t;
            best = 1;
        } else {
            *fx = fn;
            return 1;
        }
        t = isfinite(hi) ? (lo + hi) / 2 : 2 * lo;
        if (isfinite(hi) && hi - lo < 1e-14 * fmax(1, hi)) break;
    }
    if (!best) return 0;
    for (size_t i = 0; i < w->n; i++) w->xn[i] = clip(w, i, w->x[i] + lo * w->d[i]);
    *fx = f(ctx, w->n, w->xn, w->gn, stop);
    ++*evals;
    return isfinite(*fx) && !*stop;
}

static enum gpm_status iterate(struct work *w, optim_fn f, void *ctx, struct optim_result *res) {
    int stop = 0;
    res->f = f(ctx, w->n, w->x, w->g, &stop);
    res->evaluations = 1;
    if (stop) return GPM_E_INTERRUPT;
    if (!isfinite(res->f)) return GPM_E_ARG;
    for (res->iterations = 0; res->iterations < w->opt->max_iter; res->iterations++) {
        res->grad_norm = projected_norm(w);
        if (res->grad_norm <= w->opt->grad_tol) return GPM_OK;
        if (res->evaluations >= w->opt->max_eval) return GPM_E_LIMIT;
        direction(w);
        if (!(dot(w->n, w->g, w->d) < 0)) w->used = 0, direction(w);
        double before = res->f, fx = res->f;
        if (!line_search(w, f, ctx, &fx, &stop, &res->evaluations)) {
            if (stop) return GPM_E_INTERRUPT;
            if (!w->used) return GPM_OK; /* steepest descent cannot improve: numerically flat */
            w->used = 0;
            continue;
        }
        remember(w);
        memcpy(w->x, w->xn, w->n * sizeof *w->x);
        memcpy(w->g, w->gn, w->n * sizeof *w->g);
        res->f = fx;
        if (before - fx <= w->opt->f_tol * fmax(1, fabs(fx))) {
            res->grad_norm = projected_norm(w);
            return GPM_OK;
        }
    }
    return GPM_E_LIMIT;
}

enum gpm_status optim_lbfgs(optim_fn f, void *ctx, size_t n, double *x,
                            const struct optim_options *opt, struct optim_result *res) {
    static const struct optim_options defaults = OPTIM_OPTIONS_INIT;
    struct optim_result dummy;
    if (!opt) opt = &defaults;
    if (!res) res = &dummy;
    memset(res, 0, sizeof *res);
    size_t m = opt->memory > 0 ? (size_t)opt->memory : 1;
    double *block = mem_zalloc((2 * m * n + 2 * m + 5 * n + 1) * sizeof(double)), *p = block;
    struct work w = {.n = n, .m = (int)m, .opt = opt};
    w.s = p, p += m * n, w.y = p, p += m * n, w.rho = p, p += m, w.alpha = p, p += m;
    w.x = p, p += n, w.g = p, p += n, w.xn = p, p += n, w.gn = p, p += n, w.d = p;
    for (size_t i = 0; i < n; i++) w.x[i] = clip(&w, i, x[i]);
    enum gpm_status st = iterate(&w, f, ctx, res);
    memcpy(x, w.x, n * sizeof *x);
    mem_free(block);
    return st;
}
