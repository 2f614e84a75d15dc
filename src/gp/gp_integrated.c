/* SPDX-License-Identifier: Apache-2.0
 * The mean and the scale integrated out, and the posterior at one point; formulas in gp.h. */
#include "gp/gp_int.h"

#include "base/mem.h"
#include "la/blas.h"
#include "la/vec.h"
#include "math/special.h"

#include <math.h>
#include <string.h>

void gp_set_integrated(struct gp *g, unsigned which) {
    g->integrated = which;
    gp_reject(g);
    struct gp_slot *s = gp_current(g);
    s->have_w = s->have_logml = false;
}

static double dof_of(const struct gp *g, const struct gp_slot *s) {
    double dof = (double)gp_ndensity(g, s->noise) - (g->integrated & GP_MEAN ? 1 : 0);
    return dof > 1 ? dof : 1;
}

double gp_dof(const struct gp *g) {
    return dof_of(g, &g->slot[g->cur]);
}

static double scale2(const struct gp *g, const struct gp_slot *s) {
    return g->integrated & GP_SCALE ? s->S / dof_of(g, s) : 1;
}

enum gpm_status gp_scale2(struct gp *g, double *s2) {
    enum gpm_status st = gp_slot_solve(g, gp_current(g));
    if (!st) *s2 = scale2(g, gp_current(g));
    return st;
}

void gp_integrate(const struct gp *g, struct gp_slot *s) {
    size_t n = g->n;
    s->mu = 0;
    if (g->integrated & GP_MEAN && n) {
        for (size_t i = 0; i < n; i++) s->u[i] = 1;
        chol_solve_l(&s->f, s->u, 1, n);
        s->q = la_dot(n, s->u, s->u);
        s->mu = la_dot(n, s->u, s->w) / s->q;
        la_axpy(n, -s->mu, s->u, s->w);
    }
    s->S = la_dot(n, s->w, s->w);
    for (size_t i = 0; i < n && s->noise > 0; i++) s->S += g->ss[i] / (s->noise * s->noise);
    s->S = fmax(s->S, 1e-300);
}

/* The factors of 2 pi: one per distinct input, less the mean; the replicates' part has its own, and
 * its spread is in S already. */
double gp_integrated_logml(const struct gp *g, const struct gp_slot *s) {
    double dof = dof_of(g, s), spread = 0;
    double free = (double)g->n - (g->integrated & GP_MEAN ? 1 : 0);
    double sum =
        gp_replicate_term(g, s->noise) - 0.5 * chol_logdet(&s->f) - 0.5 * free * log(2 * M_PI);
    for (size_t i = 0; i < g->n; i++) spread += g->ss[i];
    if (spread > 0) sum += 0.5 * spread / (s->noise * s->noise);
    if (g->integrated & GP_MEAN) sum -= 0.5 * log(s->q);
    if (!(g->integrated & GP_SCALE)) return sum - 0.5 * s->S;
    return sum + log_gamma(dof / 2) - 0.5 * dof * log(s->S / 2);
}

double gp_integrated_weights(const struct gp *g, const struct gp_slot *s, double *inverse,
                             size_t ld, double *b) {
    if (g->integrated & GP_MEAN) { /* K^-1 - b b'/q, b = K^-1 1 */
        memcpy(b, s->u, g->n * sizeof *b);
        chol_solve_lt(&s->f, b, 1, g->n);
        for (size_t j = 0; j < g->n; j++)
            la_axpy(g->n - j, -b[j] / s->q, b + j, inverse + j + j * ld);
    }
    return 1 / scale2(g, s);
}

void gp_integrated_posterior(const struct gp *g, const struct gp_slot *s, size_t m, const double *v,
                             double *mean, double *var, double *cov, size_t ld) {
    if (!g->integrated) return;
    double s2 = scale2(g, s), *rest = NEW_ARRAY(double, m + 1);
    for (size_t i = 0; i < m; i++) rest[i] = 1;
    if (g->integrated & GP_MEAN && g->n) la_gemv(m, g->n, -1, v, m, s->u, 1, rest);
    double over = g->integrated & GP_MEAN ? 1 / s->q : 0;
    for (size_t i = 0; i < m; i++) {
        if (mean) mean[i] += s->mu;
        if (var) var[i] = s2 * (var[i] + over * rest[i] * rest[i]);
        for (size_t j = i; cov && j < m; j++)
            cov[j + i * ld] = s2 * (cov[j + i * ld] + over * rest[i] * rest[j]);
    }
    mem_free(rest);
}

/* ---- one point at a time ---- */

void gp_drop_view(struct gp *g) {
    kern_view_free(g->view);
    g->view = NULL;
}

static enum gpm_status make_view(struct gp *g, const struct gp_slot *s) {
    if (g->view) return GPM_OK;
    g->view = kern_view_new(s->kern, gp_points(g));
    g->row = mem_realloc(g->row, (3 * g->n + 1) * sizeof *g->row);
    memcpy(g->row + 2 * g->n, s->w, g->n * sizeof *g->row);
    chol_solve_lt(&s->f, g->row + 2 * g->n, 1, g->n); /* K^-1 (r - mu), as long as the view */
    return g->view ? GPM_OK : GPM_E_ARG;
}

static enum gpm_status prior_variance(void *gp, const double *x, double *v) {
    struct gp *g = gp;
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = g->dim};
    return kern_diag(gp_kern(g), at, v);
}

/* With k = K(X, x), v = L^-1 k, h = 1 - u'v:  dvar = s2 (dk0 - 2 dk'(K^-1 k + h/q K^-1 1)). */
enum gpm_status gp_point(struct gp *g, const double *x, double *mean, double *var, double *dmean,
                         double *dvar) {
    struct gp_slot *s = gp_current(g);
    const struct vec_ops *ops = vec_ops();
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = g->dim};
    size_t n = g->n;
    double k0;
    if (gp_approximates(g)) return GPM_E_LIMIT;
    enum gpm_status st = gp_slot_solve(g, s);
    if (!st) st = make_view(g, s);
    if (!st) st = kern_view_row(g->view, x, g->row);
    if (!st) st = mean_eval(s->mean, at, mean);
    if (st) return st;
    double *v = g->row + n, *alpha = v + n, s2 = scale2(g, s);
    *mean += (g->integrated ? s->mu : 0) + ops->dot(n, g->row, alpha);
    if (var) {
        st = prior_variance(g, x, &k0);
        memcpy(v, g->row, n * sizeof *v);
        chol_solve_l(&s->f, v, 1, n);
        double h = g->integrated & GP_MEAN ? 1 - ops->dot(n, s->u, v) : 0;
        double over = g->integrated & GP_MEAN ? h / s->q : 0;
        *var = s2 * fmax(0, k0 - ops->dot(n, v, v) + over * h);
        if (!st && dvar) {
            if (over != 0) ops->axpy(n, over, s->u, v);
            chol_solve_lt(&s->f, v, 1, n);
            st = kern_view_slope(g->view, v, dmean);
            memset(dvar, 0, (size_t)g->dim * sizeof *dvar);
            if (!st && !kern_stationary(s->kern))
                st = kern_differences(prior_variance, g, x, g->dim, 1e-3, dvar);
            for (int c = 0; c < g->dim; c++) dvar[c] = s2 * (dvar[c] - 2 * dmean[c]);
        }
    }
    if (!st && dmean) st = kern_view_slope(g->view, alpha, dmean);
    return st;
}
