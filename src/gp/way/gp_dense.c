/* SPDX-License-Identifier: Apache-2.0
 * The engine "cpu": a dense factor by the machine's own linear algebra; contract in gp_engine.h. */
#include "gp/process/gp_engine.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

#define CHUNK 384 /* points solved for at once */

struct fill_job {
    struct gp *g;
    struct gp_slot *s;
};

static enum gpm_status fill_covariance(void *ctx, double *a, size_t n, size_t ld) {
    struct fill_job *job = ctx;
    enum gpm_status st = gp_cache_fill(&job->g->cache, job->s->kern, gp_points(job->g), a, ld);
    double v = job->s->noise * job->s->noise;
    for (size_t i = 0; i < n && v > 0 && !st; i++) a[i * (ld + 1)] += v * gp_share(job->g, i);
    return st;
}

static enum gpm_status factor(struct gp *g, struct gp_slot *s) {
    struct fill_job job = {g, s};
    return chol_build(&s->f, g->n, fill_covariance, &job);
}

static enum gpm_status solve(struct gp *g, struct gp_slot *s, bool trans, double *b) {
    if (trans)
        chol_solve_lt(&s->f, b, 1, g->n);
    else
        chol_solve_l(&s->f, b, 1, g->n);
    return GPM_OK;
}

static enum gpm_status times(struct gp *g, struct gp_slot *s, double *b) {
    la_trmv(false, g->n, s->f.l, s->f.ld, b);
    return GPM_OK;
}

static double logdet(const struct gp_slot *s) {
    return chol_logdet(&s->f);
}

static enum gpm_status inverse(struct gp *g, struct gp_slot *s, double *a, size_t ld) {
    chol_inverse(&s->f, a, ld);
    return GPM_OK;
}

static void release(struct gp_slot *s) {
    chol_release(&s->f);
}

/* ---- gradient ---- */

/* d logml / dnoise: the diagonal carries noise^2 / m_i, and the replicates' part has its own; where
 * the function's value is known there is only that. */
static double noise_slope(const struct gp *g, const double *alpha, const double *inv, size_t ld,
                          double noise, double weight) {
    double sum = 0;
    for (size_t i = 0; i < g->n; i++)
        sum += (alpha[i] * alpha[i] - inv[i * (ld + 1)]) * gp_share(g, i);
    return noise * sum + gp_replicate_slope(g, noise, weight);
}

/* The gradient's weights are alpha alpha' - K^-1, K^-1 less the integrated mean's part. */
static enum gpm_status gradient(struct gp *g, struct gp_slot *s, double *weight, double *dkern,
                                double *dnoise, double **alpha) {
    size_t n = g->n, ld = mat_ld(n);
    double *a = gp_work(g, ld * n + n), *v = a + ld * n, factor_of_scale;
    if (!a) return GPM_E_NOMEM;
    chol_inverse(&s->f, a, ld);
    enum gpm_status st = gp_integrated_weights(g, s, a, ld, v, &factor_of_scale);
    if (st) return st;
    *weight *= factor_of_scale;
    for (size_t i = 0; i < n; i++) v[i] = sqrt(*weight) * s->w[i];
    chol_solve_lt(&s->f, v, 1, n);
    st = kern_grad_add(s->kern, gp_points(g), v, a, ld, dkern);
    for (size_t i = 0; i < kern_nparam(s->kern); i++) dkern[i] *= 0.5;
    if (dnoise) *dnoise = noise_slope(g, v, a, ld, s->noise, *weight);
    *alpha = v;
    return st;
}

/* ---- posterior ---- */

/* V' = K(X*, X) L^-T for the points xs, into v (xs.n x n), K the kernel of a part of the function
 * or (NULL) of all of it. Points are rows, so that all of them are
 * solved for at once in contiguous memory. */
static enum gpm_status half_solve(struct gp *g, struct gp_slot *s, const struct kern *part,
                                  struct kern_pts xs, double *v) {
    const double *known = xs.n == 1 && !part ? gp_solved_find(g, s, xs) : NULL;
    if (known) {
        memcpy(v, known, g->n * sizeof *v);
        return GPM_OK;
    }
    enum gpm_status st = kern_cross(part ? part : s->kern, xs, gp_inputs(g), v, xs.n);
    if (st) return st;
    if (xs.n == 1) {
        la_trsv(false, g->n, s->f.l, s->f.ld, v);
        if (!part) gp_solved_keep(g, s, xs, v);
    } else
        la_solve_rows(g->n, xs.n, s->f.l, s->f.ld, v, xs.n);
    return GPM_OK;
}

enum gpm_status gp_project(const struct kern *k, struct kern_pts xs, size_t n, double *v,
                           const double *w, double *mean, double *var, double *cov, size_t ld) {
    size_t m = xs.n;
    enum gpm_status st = var ? kern_diag(k, xs, var) : GPM_OK;
    if (!st && cov) st = kern_fill(k, xs, cov, ld);
    if (st || n == 0 || m == 0) return st;
    if (mean) la_gemv(m, n, 1, v, m, w, 1, mean);
    if (cov) la_syrk(false, m, n, -1, v, m, 1, cov, ld);
    if (!var) return GPM_OK;
    double *known = v + n * m;
    memset(known, 0, m * sizeof *known);
    for (size_t j = 0; j < n; j++) vec_ops()->add_square(m, v + j * m, known);
    for (size_t i = 0; i < m; i++) var[i] = var[i] > known[i] ? var[i] - known[i] : 0;
    return GPM_OK;
}

static enum gpm_status posterior(struct gp *g, struct gp_slot *s, const struct kern *part,
                                 struct kern_pts xs, double *mean, double *var, double *cov,
                                 size_t ld, double *along) {
    size_t n = g->n, room = (n + 1) * xs.n;
    double *v = xs.n > CHUNK ? mem_try_doubles(room) : gp_work(g, room + 1);
    enum gpm_status st = v ? GPM_OK : GPM_E_NOMEM;
    if (n && xs.n && !st) st = half_solve(g, s, part, xs, v);
    if (!st) st = gp_project(part ? part : s->kern, xs, n, v, s->w, mean, var, cov, ld);
    if (!st && along && n) la_gemv(xs.n, n, -1, v, xs.n, s->u, 1, along);
    if (v != g->work) mem_free(v);
    return st;
}

/* ---- new inputs ---- */

/* The factor grows by the rows of the points `fresh`. */
static enum gpm_status append_rows(struct gp *g, struct gp_slot *s, struct kern_pts fresh) {
    size_t m = fresh.n, first = g->n - m;
    double *block = mem_try_doubles((first + m) * m), *corner = block + first * m;
    if (!block) return GPM_E_NOMEM;
    enum gpm_status st = kern_fill(s->kern, fresh, corner, m);
    for (size_t i = 0; i < m && !st; i++)
        corner[i * (m + 1)] += s->noise * s->noise * gp_share(g, first + i);
    const double *known = m == 1 ? gp_solved_find(g, s, fresh) : NULL;
    struct kern_pts old = gp_inputs(g);
    old.n = first;
    if (!st && known)
        st = chol_append_solved(&s->f, known, corner[0]);
    else if (!st) {
        st = kern_cross(s->kern, old, fresh, block, first ? first : 1);
        if (!st) st = chol_append(&s->f, m, block, first ? first : 1, corner, m);
    }
    mem_free(block);
    return st;
}

/* w = L^-1 r grows by solving with the new rows only. */
static enum gpm_status follow_solution(struct gp *g, struct gp_slot *s, size_t first) {
    size_t m = g->n - first;
    enum gpm_status st = gp_residual_from(g, s, first);
    if (st) return st;
    memcpy(s->w + first, s->r + first, m * sizeof *s->w);
    la_gemv(m, first, -1, s->f.l + first, s->f.ld, s->w, 1, s->w + first);
    la_trsv(false, m, s->f.l + first + first * s->f.ld, s->f.ld, s->w + first);
    return GPM_OK;
}

static enum gpm_status append(struct gp *g, struct gp_slot *s, size_t first) {
    struct kern_pts fresh = gp_inputs(g);
    fresh.x += first;
    fresh.n = g->n - first;
    enum gpm_status st = append_rows(g, s, fresh);
    if (st || !s->have_w || !s->have_r) return st;
    if (follow_solution(g, s, first)) s->have_r = s->have_w = false;
    return GPM_OK;
}

const struct gp_engine gp_engine_cpu = {
    .method = "Cholesky",
    .factor = factor,
    .solve = solve,
    .times = times,
    .logdet = logdet,
    .gradient = gradient,
    .inverse = inverse,
    .posterior = posterior,
    .append = append,
    .release = release,
    .chunk = CHUNK,
};

/* ---- which ---- */

static struct {
    const struct gp_engine *engine;
    size_t from;
} spread;

void gp_engine_set_spread(const struct gp_engine *engine, size_t from) {
    spread.engine = engine;
    spread.from = from;
}

const struct gp_engine *gp_engine_host(size_t n) {
    return spread.engine && n >= spread.from ? spread.engine : &gp_engine_cpu;
}

void gp_engines_release(struct gp_slot *s) {
    gp_engine_cpu.release(s);
    gp_engine_gpu.release(s);
    if (spread.engine) spread.engine->release(s);
}
