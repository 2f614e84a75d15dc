/* SPDX-License-Identifier: Apache-2.0
 * Sequential quadratic programming; see sqp.h. */
#include "numeric/optim/sqp.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

struct sqp {
    sqp_fn fn;
    void *ctx;
    size_t n, m;
    const struct sqp_options *opt;
    double *B;                  /* n x n */
    double *factor;             /* the same, factored */
    double *A, *b, *u;          /* rows of the quadratic program: m constraints, then the box */
    double *mu;                 /* weights of the merit function */
    double *p, *x, *c, *gf, *J; /* step; trial point with its values */
    double *cn, *gn, *Jn, *dl;
};

static double violation(size_t m, const double *c, const double *mu) {
    double v = 0;
    for (size_t i = 0; i < m; i++) v += c[i] > 0 ? (mu ? mu[i] : 1) * c[i] : 0;
    return v;
}

static bool evaluate(struct sqp *s, const double *x, double *f, double *c, double *gf, double *J) {
    bool good = s->fn(s->ctx, x, f, c, gf, J) && isfinite(*f);
    for (size_t i = 0; good && i < s->m; i++) good = isfinite(c[i]);
    for (size_t i = 0; good && gf && i < s->n; i++) good = isfinite(gf[i]);
    for (size_t i = 0; good && J && i < s->m * s->n; i++) good = isfinite(J[i]);
    return good;
}

/* Sets the rows of the step's program. Violated constraints ask for the share `part` of the way
 * back. */
static void set_rows(struct sqp *s, const double *x, double part) {
    size_t n = s->n, m = s->m;
    for (size_t i = 0; i < m; i++) {
        s->b[i] = s->c[i] > 0 ? part * s->c[i] : s->c[i];
        for (size_t j = 0; j < n; j++) s->A[i * n + j] = -s->J[i * n + j];
    }
    memset(s->A + m * n, 0, 2 * n * n * sizeof *s->A);
    for (size_t j = 0; j < n; j++) {
        size_t low = m + 2 * j, upp = low + 1;
        s->A[low * n + j] = 1;
        s->b[low] = fmax(s->opt->low[j] - x[j], -s->opt->step_cap);
        s->A[upp * n + j] = -1;
        s->b[upp] = -fmin(s->opt->upp[j] - x[j], s->opt->step_cap);
    }
}

/* A step, with its multipliers in u. If the constraints cannot be met together, part of the way is
 * tried; finally, violated ones must only not get worse. */
static bool step(struct sqp *s, const double *x) {
    static const double parts[] = {1, 0.5, 0.1, 0};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        set_rows(s, x, parts[i]);
        memcpy(s->factor, s->B, s->n * s->n * sizeof *s->B);
        if (!sqp_quadratic(s->n, s->factor, s->gf, s->m + 2 * s->n, s->A, s->b, s->p, s->u))
            return true;
    }
    return false;
}

static void reset_hessian(struct sqp *s) {
    double size = 0;
    for (size_t i = 0; i < s->n; i++) size += s->gf[i] * s->gf[i];
    size = fmax(sqrt(size), 1e-8) / (0.5 * s->opt->step_cap);
    memset(s->B, 0, s->n * s->n * sizeof *s->B);
    for (size_t i = 0; i < s->n; i++) s->B[i * s->n + i] = size;
}

/* Damped BFGS: y, the change of the Lagrangian's gradient, is moved towards Bs if s'y is too small
 * to keep B positive definite. first: scales B to the observed curvature. */
static void update_hessian(struct sqp *s, double t, bool first) {
    size_t n = s->n;
    double sy = 0, sBs = 0, yy = 0, *y = s->dl, *Bs = s->factor;
    for (size_t j = 0; j < n; j++) {
        y[j] = s->gn[j] - s->gf[j];
        for (size_t i = 0; i < s->m; i++) y[j] += s->u[i] * (s->Jn[i * n + j] - s->J[i * n + j]);
        sy += t * s->p[j] * y[j];
        yy += y[j] * y[j];
    }
    if (first && sy > 0) {
        memset(s->B, 0, n * n * sizeof *s->B);
        for (size_t j = 0; j < n; j++) s->B[j * n + j] = yy / sy;
    }
    for (size_t j = 0; j < n; j++) {
        Bs[j] = 0;
        for (size_t i = 0; i < n; i++) Bs[j] += s->B[j * n + i] * t * s->p[i];
        sBs += t * s->p[j] * Bs[j];
    }
    if (!(sBs > 0)) return;
    double theta = sy >= 0.2 * sBs ? 1 : 0.8 * sBs / (sBs - sy);
    sy = theta * sy + (1 - theta) * sBs;
    for (size_t j = 0; j < n; j++) y[j] = theta * y[j] + (1 - theta) * Bs[j];
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) s->B[j * n + i] += y[i] * y[j] / sy - Bs[i] * Bs[j] / sBs;
}

/* Shortens p until the merit decreases by a share of the linear prediction; 0 if it does not. */
static double line_search(struct sqp *s, const double *x, double f, double *fn) {
    double merit = f + violation(s->m, s->c, s->mu), slope = -violation(s->m, s->c, s->mu);
    for (size_t j = 0; j < s->n; j++) slope += s->gf[j] * s->p[j];
    for (double t = 1; t > 1e-6; t /= 2.5) {
        for (size_t j = 0; j < s->n; j++)
            s->x[j] = fmin(s->opt->upp[j], fmax(s->opt->low[j], x[j] + t * s->p[j]));
        if (!evaluate(s, s->x, fn, s->cn, NULL, NULL)) continue;
        double now = *fn + violation(s->m, s->cn, s->mu);
        if (now <= merit + 1e-4 * t * fmin(slope, 0) && now < merit + 1e-15 * fabs(merit)) return t;
    }
    return 0;
}

static bool better(double v, double f, double best_v, double best_f, double tol) {
    bool fine = v <= tol, best_fine = best_v <= tol;
    if (fine != best_fine) return fine;
    return fine ? f < best_f : v < best_v;
}

static void descend(struct sqp *s, double *x, double *lambda, struct sqp_result *out) {
    size_t n = s->n, m = s->m, restarts = 0;
    double f = out->f, *best = NEW_ARRAY(double, n);
    memcpy(best, x, n * sizeof *x);
    reset_hessian(s);
    bool first = true;
    for (int it = 0; it < s->opt->max_iter && step(s, x); it++) {
        double fn, far = 0;
        out->iterations = it + 1;
        for (size_t j = 0; j < n; j++) far = fmax(far, fabs(s->p[j]));
        for (size_t i = 0; i < m; i++) s->mu[i] = fmax(2 * s->u[i], 0.5 * s->mu[i] + s->u[i]);
        for (size_t i = 0; i < m; i++)
            if (s->c[i] > 0 && s->mu[i] == 0) s->mu[i] = 1;
        if (lambda) memcpy(lambda, s->u, m * sizeof *lambda);
        if (far < s->opt->tol) break;
        double t = line_search(s, x, f, &fn);
        if (t == 0) {
            if (restarts++ || first) break;
            reset_hessian(s);
            first = true;
            continue;
        }
        if (!evaluate(s, s->x, &fn, s->cn, s->gn, s->Jn)) break;
        update_hessian(s, t, first);
        first = false;
        memcpy(x, s->x, n * sizeof *x);
        memcpy(s->c, s->cn, m * sizeof *s->c);
        memcpy(s->gf, s->gn, n * sizeof *s->gf);
        memcpy(s->J, s->Jn, m * n * sizeof *s->J);
        double gain = f - fn;
        f = fn;
        double v = violation(m, s->c, NULL);
        bool stalled = fabs(gain) <= 1e-10 * (1 + fabs(f)) && v <= s->opt->tol && far < 1e-4;
        if (better(v, f, out->violation, out->f, s->opt->tol)) {
            memcpy(best, x, n * sizeof *x);
            out->f = f;
            out->violation = v;
        }
        if (stalled) break;
    }
    memcpy(x, best, n * sizeof *x);
    mem_free(best);
}

enum gpm_status sqp_minimise(sqp_fn fn, void *ctx, size_t n, size_t m, double *x,
                             const struct sqp_options *opt, double *lambda,
                             struct sqp_result *out) {
    size_t rows = m + 2 * n;
    struct sqp s = {.fn = fn, .ctx = ctx, .n = n, .m = m, .opt = opt};
    double *block = mem_zalloc(sizeof(double) *
                               (2 * n * n + rows * (n + 2) + 5 * n + 3 * m + 2 * m * n + n + 1));
    s.B = block, s.factor = s.B + n * n, s.A = s.factor + n * n, s.b = s.A + rows * n;
    s.u = s.b + rows, s.mu = s.u + rows, s.p = s.mu + m, s.x = s.p + n, s.gf = s.x + n;
    s.gn = s.gf + n, s.dl = s.gn + n, s.c = s.dl + n, s.cn = s.c + m, s.J = s.cn + m;
    s.Jn = s.J + m * n;
    for (size_t j = 0; j < n; j++) x[j] = fmin(opt->upp[j], fmax(opt->low[j], x[j]));
    *out = (struct sqp_result){.f = INFINITY, .violation = INFINITY};
    if (lambda) memset(lambda, 0, m * sizeof *lambda);
    enum gpm_status st = GPM_E_ARG;
    if (evaluate(&s, x, &out->f, s.c, s.gf, s.J)) {
        out->violation = violation(m, s.c, NULL);
        descend(&s, x, lambda, out);
        st = GPM_OK;
    }
    mem_free(block);
    return st;
}
