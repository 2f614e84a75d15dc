/* SPDX-License-Identifier: Apache-2.0
 * Prediction, draws, conditional densities, leave-one-out; contracts in gp.h.
 *
 * With V = L^-1 K(X, X*), w = L^-1 r:  mean = m(X*) + V'w,  cov = K(X*, X*) - V'V. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

#include <math.h>
#include <string.h>

/* Row-major points to column-major; the caller frees. */
static double *transpose(const double *x, size_t n, int dim) {
    double *t = NEW_ARRAY(double, n *(size_t)dim + 1);
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < dim; c++) t[i + (size_t)c * n] = x[i * (size_t)dim + (size_t)c];
    return t;
}

static struct kern_pts points(const double *t, size_t n, int dim) {
    struct kern_pts x = {.x = t, .n = n, .ld = n, .dim = dim};
    return x;
}

enum gpm_status gp_posterior(struct gp *g, const struct kern *part, struct kern_pts xs,
                             double *mean, double *cov, size_t ld) {
    struct gp_question q = {g,        gp_current(g), GP_POINTS,  .part = part,
                            .xs = xs, .mean = mean,  .cov = cov, .ld = ld};
    return gp_answer(&q);
}

static enum gpm_status predict(struct gp *g, const struct kern *part, const double *x, size_t n,
                               double extra, double *mean, double *var) {
    double *t = transpose(x, n, g->dim);
    struct gp_question q = {g,
                            gp_current(g),
                            GP_POINTS,
                            .part = part,
                            .xs = points(t, n, g->dim),
                            .extra = extra,
                            .mean = mean,
                            .var = var};
    enum gpm_status st = gp_answer(&q);
    mem_free(t);
    return st;
}

enum gpm_status gp_predict(struct gp *g, const double *x, size_t n, enum gp_target target,
                           double *mean, double *var) {
    double noise = target == GP_MEASURED ? gp_noise(g) : 0;
    return predict(g, NULL, x, n, noise * noise, mean, var);
}

enum gpm_status gp_component(struct gp *g, const struct kern *part, const double *x, size_t n,
                             double *mean, double *var) {
    return predict(g, part, x, n, 0, mean, var);
}

enum gpm_status gp_innovations(struct gp *g, double *out) {
    enum gpm_status st = gp_factor_allowed(g);
    if (!st) st = gp_slot_solve(g, gp_current(g));
    if (!st && g->n) memcpy(out, gp_current(g)->w, g->n * sizeof *out);
    return st;
}

/* Both triangles of the covariance at points one after the other. */
static enum gpm_status posterior_cov(struct gp *g, const struct kern *part, const double *x,
                                     size_t n, double *mean, double *cov, size_t ld) {
    double *t = transpose(x, n, g->dim);
    enum gpm_status st = gp_posterior(g, part, points(t, n, g->dim), mean, cov, ld);
    mem_free(t);
    for (size_t j = 0; j < n && !st; j++)
        for (size_t i = j + 1; i < n; i++) cov[j + i * ld] = cov[i + j * ld];
    return st;
}

enum gpm_status gp_component_cov(struct gp *g, const struct kern *part, const double *x, size_t n,
                                 double *mean, double *cov, size_t ld) {
    return posterior_cov(g, part, x, n, mean, cov, ld);
}

enum gpm_status gp_predict_cov(struct gp *g, const double *x, size_t n, enum gp_target target,
                               double *mean, double *cov, size_t ld) {
    double noise = gp_noise(g);
    enum gpm_status st = posterior_cov(g, NULL, x, n, mean, cov, ld);
    for (size_t i = 0; i < n && !st && target == GP_MEASURED; i++)
        cov[i * (ld + 1)] += noise * noise;
    return st;
}

/* ---- draws ---- */

/* Distinct points of unknown value among n: place[i] is that of the first equal point in the
 * reduced list, SIZE_MAX for a known one, whose value goes to known[i]. */
static size_t reduce(const struct gp *g, const double *x, size_t n, size_t *place, double *out,
                     double *known) {
    size_t m = 0, dim = (size_t)g->dim, bytes = dim * sizeof *x;
    struct map seen = {0};
    for (size_t i = 0; i < n; i++) {
        double *p = out + m * dim;
        place[i] = SIZE_MAX;
        if (gp_known(g, x + i * dim, &known[i])) continue;
        for (size_t c = 0; c < dim; c++) p[c] = x[i * dim + c] + 0.0; /* -0 is 0 */
        uint64_t h = hash_key(p, bytes, 5);
        size_t at = (size_t)(uintptr_t)map_get(&seen, h);
        if (at && memcmp(out + (at - 1) * dim, p, bytes) == 0) {
            place[i] = at - 1;
            continue;
        }
        place[i] = m++;
        if (!at) map_put(&seen, h, (void *)(uintptr_t)m);
    }
    map_release(&seen);
    return m;
}

enum gpm_status gp_add_draw(size_t m, double *cov, const double *z, double *out) {
    struct chol c = {0};
    double *u = NEW_ARRAY(double, m + 1);
    enum gpm_status st = chol_build_from(&c, m, cov, m);
    if (!st) {
        memcpy(u, z, m * sizeof *u);
        la_trmv(false, m, c.l, c.ld, u);
        vec_ops()->axpy(m, 1, u, out);
    } else if (st == GPM_E_NOT_PD) {
        double *w = NEW_ARRAY(double, m + 1);
        st = la_syev(m, cov, m, w);
        for (size_t i = 0; i < m; i++) u[i] = sqrt(w[i] > 0 ? w[i] : 0) * z[i];
        if (!st) la_gemv(m, m, 1, cov, m, u, 1, out);
        mem_free(w);
    }
    chol_release(&c);
    mem_free(u);
    return st;
}

/* Joint draw at column-major points; extra variance on the diagonal for measurements. */
static enum gpm_status draw(struct gp *g, struct kern_pts xs, double extra, const double *z,
                            double *out) {
    struct gp_question q = {g,      gp_current(g), GP_JOINT, .xs = xs, .extra = extra,
                            .z = z, .out = out};
    return gp_answer(&q);
}

/* Latent draw: distinct points are drawn jointly, equal inputs get the same value, known ones
 * theirs. */
static enum gpm_status sample_latent(struct gp *g, const double *x, size_t n, const double *z,
                                     double *out) {
    size_t *place = NEW_ARRAY(size_t, n), dim = (size_t)g->dim;
    double *distinct = NEW_ARRAY(double, n *dim), *f = NEW_ARRAY(double, n);
    size_t m = reduce(g, x, n, place, distinct, out);
    double *t = transpose(distinct, m, g->dim);
    enum gpm_status st = m ? draw(g, points(t, m, g->dim), 0, z, f) : GPM_OK;
    for (size_t i = 0; i < n && !st; i++)
        if (place[i] != SIZE_MAX) out[i] = f[place[i]];
    mem_free(t);
    mem_free(f);
    mem_free(distinct);
    mem_free(place);
    return st;
}

enum gpm_status gp_sample(struct gp *g, const double *x, size_t n, enum gp_target target,
                          const double *z, double *out) {
    double noise = target == GP_MEASURED ? gp_noise(g) : 0;
    if (n == 0) return GPM_OK;
    if (n == 1) { /* one point, as optimisers ask: no matrices */
        double var;
        if (noise == 0 && gp_known(g, x, out)) return GPM_OK;
        enum gpm_status st = gp_posterior(g, NULL, points(x, 1, g->dim), out, &var, 1);
        if (!st) *out += sqrt(var + noise * noise) * *z;
        return st;
    }
    if (noise == 0) return sample_latent(g, x, n, z, out);
    double *t = transpose(x, n, g->dim);
    enum gpm_status st = draw(g, points(t, n, g->dim), noise * noise, z, out);
    mem_free(t);
    return st;
}

/* ---- density of new pairs ---- */

/* Values of the function at known or repeated inputs must agree and add nothing. Returns the number
 * of pairs that remain, in xs, ys, or SIZE_MAX for a contradiction. */
static size_t drop_repeats(const struct gp *g, const double *x, const double *y, size_t n,
                           double *xs, double *ys) {
    size_t *place = NEW_ARRAY(size_t, n + 1), next = 0;
    double *known = NEW_ARRAY(double, n + 1);
    size_t m = reduce(g, x, n, place, xs, known);
    for (size_t i = 0; i < n; i++) {
        if (place[i] == next) ys[next++] = y[i];
        if ((place[i] == SIZE_MAX ? known[i] : ys[place[i]]) != y[i]) m = SIZE_MAX;
    }
    mem_free(place);
    mem_free(known);
    return m;
}

/* Where the data leave no more than rounding of the variance there was, the covariance is no
 * factor's. Draws have its spectrum with what is negative put to zero (gp_add_draw): so has the
 * density, with rounding in the place of zero, since what was drawn is possible. What lies further
 * off than rounding contradicts what is known. cov and r are overwritten. */
static enum gpm_status by_spectrum(struct gp *g, struct kern_pts xs, double *cov, double *r,
                                   double *logpdf) {
    enum { FAR = 10 };
    size_t n = xs.n;
    double *w = NEW_ARRAY(double, n + 1), most = 0, least, sum = 0;
    enum gpm_status st = kern_diag(gp_kern(g), xs, w);
    for (size_t i = 0; i < n && !st; i++) most = fmax(most, w[i]);
    least = 1e-12 * most;
    if (!st) st = la_syev(n, cov, n, w);
    for (size_t i = 0; i < n && !st; i++) {
        double u = vec_ops()->dot(n, cov + i * n, r), v = fmax(w[i], least), far = u * u / v;
        bool contradicts = w[i] < -1e4 * least || (w[i] < least && far > FAR * FAR);
        sum += contradicts ? INFINITY : far + log(v) + LOG_2PI;
    }
    *logpdf = st ? -INFINITY : -0.5 * sum;
    mem_free(w);
    return st;
}

static enum gpm_status density(struct gp *g, double noise, const double *xs, const double *ys,
                               size_t n, double *logpdf) {
    double *t = transpose(xs, n, g->dim), *r = NEW_ARRAY(double, n);
    double *cov = mem_try_doubles(n * n);
    struct chol c = {0};
    enum gpm_status st = cov ? gp_posterior(g, NULL, points(t, n, g->dim), r, cov, n) : GPM_E_NOMEM;
    for (size_t i = 0; i < n && !st; i++) {
        cov[i * (n + 1)] += noise * noise;
        r[i] = ys[i] - r[i];
    }
    bool there = !st;
    *logpdf = -INFINITY;
    if (there) st = chol_build_from(&c, n, cov, n);
    if (!st) {
        chol_solve_l(&c, r, 1, n);
        *logpdf = -0.5 * (vec_ops()->dot(n, r, r) + chol_logdet(&c) + (double)n * LOG_2PI);
    } else if (st == GPM_E_NOT_PD)
        st = there ? by_spectrum(g, points(t, n, g->dim), cov, r, logpdf) : GPM_OK;
    chol_release(&c);
    mem_free(cov);
    mem_free(r);
    mem_free(t);
    return st;
}

/* Of many pairs, where the likelihood of all of them has a better way than this processor's factor:
 * by what they add to it. */
static enum gpm_status by_difference(struct gp *g, enum gp_target target, const double *x,
                                     const double *y, size_t n, double *logpdf, bool *done) {
    struct gp *with = NULL;
    double before = 0, after = 0;
    *done = false;
    enum gpm_status st = g->integrated ? GPM_OK : gp_copy(g, &with);
    if (st || !with) return st;
    gp_forget(with); /* a factor would be extended */
    st = gp_add(with, target, x, y, n);
    const struct gp_engine *engine = NULL;
    const struct gp_way *way = st ? NULL : gp_way_for(with, gp_current(with), GP_VALUE);
    if (way == &gp_way_factor) st = gp_engine_choose(with, gp_current(with), &engine);
    *done = !st && engine != &gp_engine_cpu;
    if (*done && g->n) st = gp_logml(g, &before);
    if (*done && !st) st = gp_logml(with, &after);
    gp_free(with);
    *logpdf = st ? -INFINITY : after - before;
    return st == GPM_E_NOT_PD ? GPM_OK : st;
}

enum gpm_status gp_conditional(struct gp *g, enum gp_target target, const double *x,
                               const double *y, size_t n, double *logpdf) {
    double noise = target == GP_MEASURED ? gp_noise(g) : 0;
    size_t dim = (size_t)g->dim;
    if (!kern_all_bounded(x, n * dim)) return GPM_E_ARG;
    for (size_t i = 0; i < n; i++)
        if (isnan(y[i])) return GPM_E_ARG;
    bool done = false;
    enum gpm_status st = GPM_OK;
    if (n > GP_JOINT_MAX || (gp_meeting() && gp_factor_cost(n) > GP_LAUNCH_COST))
        st = by_difference(g, target, x, y, n, logpdf, &done);
    if (st || done) return st;
    if (noise > 0 && n) return density(g, noise, x, y, n, logpdf);
    double *xs = NEW_ARRAY(double, n *dim + 1), *ys = NEW_ARRAY(double, n + 1);
    size_t m = drop_repeats(g, x, y, n, xs, ys);
    *logpdf = m == SIZE_MAX ? -INFINITY : 0;
    if (m && m != SIZE_MAX) st = density(g, noise, xs, ys, m, logpdf);
    mem_free(xs);
    mem_free(ys);
    return st;
}

enum gpm_status gp_conditional_slope(struct gp *g, enum gp_target target, const double *x,
                                     const double *y, size_t n, double *dy, double *quadratic) {
    double noise = target == GP_MEASURED ? gp_noise(g) : 0;
    double *t = transpose(x, n, g->dim), *cov = mem_try_doubles(n * n + 1);
    struct chol c = {0};
    enum gpm_status st =
        cov ? gp_posterior(g, NULL, points(t, n, g->dim), dy, cov, n) : GPM_E_NOMEM;
    for (size_t i = 0; i < n && !st; i++) {
        cov[i * (n + 1)] += noise * noise;
        dy[i] -= y[i];
    }
    if (!st) st = chol_build_from(&c, n, cov, n);
    *quadratic = 0;
    if (!st) {
        chol_solve_l(&c, dy, 1, n);
        *quadratic = vec_ops()->dot(n, dy, dy);
        chol_solve_lt(&c, dy, 1, n);
    }
    chol_release(&c);
    mem_free(cov);
    mem_free(t);
    return st;
}

/* ---- leave one out ---- */

/* With C = covariance of all pairs, pair i of entry e (m replicates, noise variance v), D = m / v:
 *   [C^-1]_ii = 1/v - (D - [K_e^-1]_ee) / m^2,   [C^-1 (y - mean)]_i = (y_i - f_e)/v,
 *   f_e = ybar_e - (v/m) alpha_e  the posterior mean; for v = 0 or m = 1 the entry's own. */
enum gpm_status gp_loo(struct gp *g, double *mean, double *var, double *logpdf) {
    struct gp_slot *s = gp_current(g);
    size_t n = g->n;
    if (gp_factor_allowed(g) || (g->nexact && s->noise > 0)) return GPM_E_LIMIT;
    enum gpm_status st = gp_slot_solve(g, s);
    double v, total = 0;
    if (logpdf) *logpdf = 0;
    if (st || n == 0) return st;
    double *a = gp_work(g, n * n + n), *alpha = a ? a + n * n : NULL;
    if (!a) return GPM_E_NOMEM;
    double weight;
    st = s->engine->inverse(g, s, a, n);
    if (!st) st = gp_integrated_weights(g, s, a, n, alpha, &weight);
    memcpy(alpha, s->w, n * sizeof *alpha);
    if (!st) st = s->engine->solve(g, s, true, alpha);
    if (st) return st;
    double s2 = 1 / weight;
    for (size_t i = 0; i < g->pairs.n; i++) {
        size_t e = g->pairs.at[i].entry;
        double y = g->pairs.at[i].y, m = (double)g->at[e].count, q = a[e * (n + 1)], b = alpha[e];
        v = s->noise * s->noise * (1 + g->at[e].more);
        if (m > 1 && v > 0) {
            q = 1 / v - (m / v - q) / (m * m);
            b = (y - g->at[e].ybar) / v + b / m;
        }
        double pv = s2 / q, pm = y - b / q;
        if (m > 1 && v == 0) pv = 0, pm = g->at[e].ybar;
        if (mean) mean[i] = pm;
        if (var) var[i] = pv > 0 ? pv : 0;
        if (m > 1 && v == 0) continue; /* known from its twin */
        total -= 0.5 * (log(2 * M_PI * pv) + (y - pm) * (y - pm) / pv);
    }
    if (logpdf) *logpdf = gp_contradicts(g, s->noise) ? -INFINITY : total;
    return GPM_OK;
}
