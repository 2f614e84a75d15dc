/* SPDX-License-Identifier: Apache-2.0
 * The mean and the scale integrated out, and the posterior at one point; formulas in gp.h. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

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

double gp_integrated_scale(const struct gp *g, const struct gp_slot *s) {
    return g->integrated & GP_SCALE ? s->S / dof_of(g, s) : 1;
}

enum gpm_status gp_scale2(struct gp *g, double *s2) {
    enum gpm_status st = gp_slot_solve(g, gp_current(g));
    if (!st) *s2 = gp_integrated_scale(g, gp_current(g));
    return st;
}

enum gpm_status gp_integrate(struct gp *g, struct gp_slot *s) {
    size_t n = g->n;
    s->mu = 0;
    if (g->integrated & GP_MEAN && n) {
        for (size_t i = 0; i < n; i++) s->u[i] = 1;
        enum gpm_status st = s->engine->solve(g, s, false, s->u);
        if (st) return st;
        s->q = vec_ops()->dot(n, s->u, s->u);
        s->mu = vec_ops()->dot(n, s->u, s->w) / s->q;
        vec_ops()->axpy(n, -s->mu, s->u, s->w);
    }
    s->S = vec_ops()->dot(n, s->w, s->w);
    for (size_t i = 0; i < n && s->noise > 0; i++) s->S += g->at[i].ss / (s->noise * s->noise);
    s->S = fmax(s->S, 1e-300);
    return GPM_OK;
}

/* The factors of 2 pi: one per distinct input, less the mean; the replicates' part has its own, and
 * its spread is in S already. */
double gp_integrated_logml(const struct gp *g, const struct gp_slot *s) {
    double dof = dof_of(g, s), spread = 0;
    double free = (double)g->n - (g->integrated & GP_MEAN ? 1 : 0);
    double sum =
        gp_replicate_term(g, s->noise) - 0.5 * s->engine->logdet(s) - 0.5 * free * log(2 * M_PI);
    for (size_t i = 0; i < g->n; i++) spread += g->at[i].ss;
    if (spread > 0) sum += 0.5 * spread / (s->noise * s->noise);
    if (g->integrated & GP_MEAN) sum -= 0.5 * log(s->q);
    if (!(g->integrated & GP_SCALE)) return sum - 0.5 * s->S;
    return sum + log_gamma(dof / 2) - 0.5 * dof * log(s->S / 2);
}

enum gpm_status gp_integrated_weights(struct gp *g, struct gp_slot *s, double *inverse, size_t ld,
                                      double *b, double *weight) {
    enum gpm_status st = GPM_OK;
    if (g->integrated & GP_MEAN) { /* K^-1 - b b'/q, b = K^-1 1 */
        memcpy(b, s->u, g->n * sizeof *b);
        st = s->engine->solve(g, s, true, b);
        for (size_t j = 0; j < g->n && !st; j++)
            vec_ops()->axpy(g->n - j, -b[j] / s->q, b + j, inverse + j + j * ld);
    }
    *weight = 1 / gp_integrated_scale(g, s);
    return st;
}

void gp_integrated_posterior(const struct gp *g, const struct gp_slot *s, size_t m,
                             const double *along, double *mean, double *var, double *cov,
                             size_t ld) {
    if (!g->integrated) return;
    double s2 = gp_integrated_scale(g, s);
    double over = g->integrated & GP_MEAN ? 1 / s->q : 0;
    for (size_t i = 0; i < m; i++) {
        if (mean) mean[i] += s->mu;
        if (var) var[i] = s2 * (var[i] + over * along[i] * along[i]);
        for (size_t j = i; cov && j < m; j++)
            cov[j + i * ld] = s2 * (cov[j + i * ld] + over * along[i] * along[j]);
    }
}

/* ---- one point at a time ---- */

void gp_drop_view(struct gp *g) {
    kern_view_free(g->view);
    g->view = NULL;
}

/* The view, and behind it a row, v, alpha = K^-1 (r - mu), and the point. */
static enum gpm_status make_view(struct gp *g, struct gp_slot *s) {
    size_t n = g->n;
    if (g->view) return GPM_OK;
    g->view = kern_view_new(s->kern, gp_points(g));
    g->row = mem_realloc(g->row, (3 * n + (size_t)g->dim + 1) * sizeof *g->row);
    memcpy(g->row + 2 * n, s->w, n * sizeof *g->row);
    enum gpm_status st = g->view ? s->engine->solve(g, s, true, g->row + 2 * n) : GPM_E_ARG;
    if (st) gp_drop_view(g);
    return st;
}

/* The prior's mean at x and what the integrated one adds; everything is ready then. */
static enum gpm_status begin_point(struct gp *g, struct gp_slot *s, const double *x, double *mean) {
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = g->dim};
    enum gpm_status st = gp_factor_allowed(g);
    if (!st) st = gp_slot_solve(g, s);
    if (!st) st = make_view(g, s);
    if (!st) st = mean_eval(s->mean, at, mean);
    if (!st && g->integrated) *mean += s->mu;
    return st;
}

static enum gpm_status prior_variance(void *gp, const double *x, double *v) {
    struct gp *g = gp;
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = g->dim};
    return kern_diag(gp_kern(g), at, v);
}

/* With k = K(X, x), v = L^-1 k, h = 1 - u'v:  var = s2 (k0 - v'v + h^2/q). */
enum gpm_status gp_point(struct gp *g, const double *x, double *mean, double *var) {
    struct gp_slot *s = gp_current(g);
    size_t n = g->n;
    double k0, h, *v;
    enum gpm_status st = begin_point(g, s, x, mean);
    if (!st) st = kern_view_row(g->view, x, g->row);
    if (st) return st;
    *mean += vec_ops()->dot(n, g->row, g->row + 2 * n);
    if (!var) return GPM_OK;
    v = memcpy(g->row + n, g->row, n * sizeof *v);
    memcpy(g->row + 3 * n, x, (size_t)g->dim * sizeof *x);
    st = s->engine->solve(g, s, false, v);
    h = g->integrated & GP_MEAN ? 1 - vec_ops()->dot(n, s->u, v) : 0;
    if (!st) st = prior_variance(g, x, &k0);
    if (st) return st;
    *var = gp_integrated_scale(g, s) *
           fmax(0, k0 - vec_ops()->dot(n, v, v) + (h != 0 ? h * h / s->q : 0));
    return st;
}

enum gpm_status gp_mean_slope(struct gp *g, const double *x, double *mean, double *grad) {
    double f;
    enum gpm_status st = begin_point(g, gp_current(g), x, mean);
    if (!st) st = kern_view_slope(g->view, x, g->row + 2 * g->n, &f, grad);
    if (!st) *mean += f;
    return st;
}

/* dmean = dk'alpha, dvar = s2 (dk0 - 2 dk'(K^-1 k + h/q K^-1 1)): one pass over dk for both. */
enum gpm_status gp_point_slope(struct gp *g, double a, double b, double *grad) {
    struct gp_slot *s = gp_current(g);
    const struct vec_ops *ops = vec_ops();
    size_t n = g->n;
    double *w = g->row, *v = w + n, *alpha = v + n, *x = alpha + n, f,
           c = -2 * b * gp_integrated_scale(g, s);
    memcpy(w, v, n * sizeof *w);
    if (g->integrated & GP_MEAN) ops->axpy(n, (1 - ops->dot(n, s->u, v)) / s->q, s->u, w);
    enum gpm_status st = s->engine->solve(g, s, true, w);
    if (st) return st;
    for (size_t i = 0; i < n; i++) w[i] = c * w[i] + a * alpha[i];
    st = kern_view_slope(g->view, x, w, &f, grad);
    if (st || s->kern->stationary) return st;
    double *d0 = NEW_ARRAY(double, (size_t)g->dim);
    st = kern_differences(prior_variance, g, x, g->dim, 1e-3, d0);
    for (int i = 0; i < g->dim; i++) grad[i] += b * gp_integrated_scale(g, s) * d0[i];
    mem_free(d0);
    return st;
}
