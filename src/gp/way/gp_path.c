/* SPDX-License-Identifier: Apache-2.0
 *
 * Pathwise draws; contract in gp_path.h. A term k = a prod_s k_s(x - x') prod_l (x-c_l)(x'-c_l) has
 * the random feature a^1/2 sqrt(2) cos(w.x + b) prod_l g_l (x - c_l): w the sum of frequencies
 * drawn from the spectral densities of the stationary factors, b uniform, g_l standard normal
 * signs; the mean of products of such features over their randomness is k.
 */
#include "gp/way/gp_path.h"

#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"
#include "gp/kernel/kern_tree.h"
#include "gp/kernel/kern_leaf.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

/* The features of one term stand together. Everything that a feature multiplies is an array over
 * all features, so that a value is a few passes over contiguous memory. */
struct linear {           /* a factor of rank one: f(x) f(x'), f = sum_c dir_c g_c(x) */
    const struct kern *k; /* borrowed from path->kern */
    size_t first, n;      /* the features it belongs to */
    double *dir;          /* n per column of the factor */
};

struct path_level { /* signs of one value of a column */
    int column;
    double value, *sign; /* nf */
};

struct gp_path {
    int dim;
    struct kern *kern; /* without white noise */
    struct mean *mean;
    size_t nf;         /* features; 0: support points */
    double *w, *b, *a; /* nf per column frequencies in turns; phases; weights */
    uint64_t *key;     /* nf per column: of the signs; NULL: no key is needed */
    VEC(struct linear) linear;
    VEC(struct path_level) level; /* as they come up */
    double *t, *weight;           /* scratch: phases, weights with signs and linear factors */
    double *x, *alpha;            /* points of the update, column-major, and their weights */
    double *mean_alpha;           /* the weights of the posterior mean */
    size_t n;
    double base, mean_base; /* the integrated mean: drawn, and estimated */
    struct kern_view *view;
    double *row;
};

static const struct kern *factor(const struct kern *t, size_t i) {
    return kern_part(t, KERN_PRODUCT, i);
}

static bool has_wave(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->wave;
}

/* Of how many features the term is made; constants and lines need one. 0: it cannot be. */
static size_t features_of(const struct kern *t, size_t features, bool *wave, bool *line) {
    size_t lines = 0;
    *wave = false;
    for (size_t i = 0; i < kern_nparts(t, KERN_PRODUCT); i++) {
        const struct kern *k = factor(t, i);
        if (!kern_is_constant(k) && !kern_is_line(k) && !has_wave(k)) return 0;
        lines += kern_is_line(k);
        *wave = *wave || has_wave(k);
    }
    *line = !*wave && lines == 1;
    return *wave || lines > 1 ? features : 1;
}

/* ---- drawing ---- */

static void draw_linear(struct gp_path *p, const struct kern *k, size_t first, size_t n,
                        struct kern_wave *f) {
    size_t columns = (size_t)leaf_dim(k, p->dim);
    struct linear l = {k, first, n, NEW_ARRAY(double, columns *n + 1)};
    for (size_t i = 0; i < columns * n; i++) l.dir[i] = rng_normal(f->rng);
    vec_push(&p->linear, l);
}

/* Features from `first` on, of variance scale^2 together; how many. */
static size_t draw_term(struct gp_path *p, const struct kern *t, size_t first, size_t features,
                        double scale, struct kern_wave *f) {
    bool wave, line; /* of a single line the direction is the draw */
    size_t dim = (size_t)p->dim, n = features_of(t, features, &wave, &line);
    double amp = 1;
    for (size_t i = 0; i < kern_nparts(t, KERN_PRODUCT); i++) {
        amp *= kern_amplitude(factor(t, i));
        if (kern_is_line(factor(t, i))) draw_linear(p, factor(t, i), first, n, f);
    }
    double size = scale * sqrt(amp / (double)n) * (wave ? M_SQRT2 : 1);
    for (size_t j = first; j < first + n; j++) {
        memset(f->w, 0, dim * sizeof *f->w);
        memset(f->sign, 0, dim * sizeof *f->sign);
        for (size_t i = 0; i < kern_nparts(t, KERN_PRODUCT); i++) {
            const struct kern *k = factor(t, i);
            if (has_wave(k)) k->cls->wave(k, p->dim, f);
        }
        for (size_t c = 0; c < dim; c++) {
            p->w[c * p->nf + j] = f->w[c] / (2 * M_PI);
            if (!f->sign[c]) continue;
            if (!p->key) p->key = mem_zalloc((dim * p->nf + 1) * sizeof *p->key);
            p->key[c * p->nf + j] = f->sign[c];
        }
        p->b[j] = wave ? rng_uniform(f->rng) : 0;
        p->a[j] = size * (line ? 1 : rng_normal(f->rng));
    }
    return n;
}

/* `features` per term, of the prior times scale^2. False when a term has none. */
static bool draw_features(struct gp_path *p, size_t features, double scale, struct kern_wave *f) {
    size_t terms = kern_nparts(p->kern, KERN_SUM), first = 0, n = 1;
    bool wave, line;
    for (size_t t = 0; t < terms && n; t++)
        p->nf += n = features_of(kern_part(p->kern, KERN_SUM, t), features, &wave, &line);
    if (n == 0) {
        p->nf = 0;
        return false;
    }
    p->w = NEW_ARRAY(double, p->nf *(size_t)p->dim + 1);
    p->b = NEW_ARRAY(double, 4 * p->nf);
    p->a = p->b + p->nf;
    p->t = p->a + p->nf;
    p->weight = p->t + p->nf;
    f->w = NEW_ARRAY(double, (size_t)p->dim);
    f->sign = NEW_ARRAY(uint64_t, (size_t)p->dim);
    for (size_t t = 0; t < terms; t++)
        first += draw_term(p, kern_part(p->kern, KERN_SUM, t), first, features, scale, f);
    mem_free(f->w);
    mem_free(f->sign);
    return true;
}

/* ---- values of the prior part ---- */

static const double *signs_of(struct gp_path *p, int c, double value) {
    for (size_t i = 0; i < p->level.n; i++)
        if (p->level.at[i].column == c && p->level.at[i].value == value) return p->level.at[i].sign;
    struct path_level l = {c, value, NEW_ARRAY(double, p->nf)};
    const uint64_t *key = p->key + (size_t)c * p->nf;
    for (size_t j = 0; j < p->nf; j++) l.sign[j] = key[j] ? kern_sign(key[j], value) : 1;
    vec_push(&p->level, l);
    return l.sign;
}

static void apply_linear(const struct gp_path *p, const struct linear *l, const double *x) {
    const struct vec_ops *v = vec_ops();
    double *sum = p->t + l->first; /* the phases are not there yet */
    memset(sum, 0, l->n * sizeof *sum);
    for (int c = 0; c < leaf_dim(l->k, p->dim); c++)
        v->axpy(l->n, kern_phi(l->k, c, x[leaf_place(l->k, c)]), l->dir + (size_t)c * l->n, sum);
    v->mul(l->n, sum, p->weight + l->first);
}

/* Weights with signs and linear factors. */
static void weigh_features(struct gp_path *p, const double *x) {
    memcpy(p->weight, p->a, p->nf * sizeof *p->a);
    for (size_t i = 0; i < p->linear.n; i++) apply_linear(p, &p->linear.at[i], x);
    for (int c = 0; p->key && c < p->dim; c++)
        vec_ops()->mul(p->nf, signs_of(p, c, x[c]), p->weight);
}

/* Leaves phases in t and weights in weight. */
static double prior_at(struct gp_path *p, const double *x) {
    const struct vec_ops *v = vec_ops();
    if (p->nf == 0) return 0;
    weigh_features(p, x);
    memcpy(p->t, p->b, p->nf * sizeof *p->b);
    la_gemv(p->nf, (size_t)p->dim, 1, p->w, p->nf, x, 1, p->t);
    return v->dot_cos(p->nf, p->weight, p->t);
}

/* ---- building ---- */

/* Weights of the update at the data, from the prior draw there. White noise counts as noise. Under
 * an integrated mean or scale those are drawn first. */
static enum gpm_status condition(struct gp *g, struct gp_path *p, double white, double scale,
                                 struct kern_wave *f) {
    struct gp_slot *s = gp_current(g);
    double *point = NEW_ARRAY(double, (size_t)p->dim);
    p->n = g->n;
    p->x = NEW_ARRAY(double, g->n *(size_t)p->dim + 1);
    p->alpha = NEW_ARRAY(double, 2 * g->n + 1);
    p->mean_alpha = p->alpha + g->n;
    if (g->integrated & GP_MEAN) {
        p->mean_base = s->mu;
        p->base = s->mu + scale * rng_normal(f->rng) / sqrt(s->q);
    }
    for (size_t i = 0; i < g->n; i++) {
        for (int c = 0; c < p->dim; c++)
            point[c] = p->x[i + (size_t)c * g->n] = g->x[i + (size_t)c * g->cap];
        double v = white + s->noise * s->noise * gp_share(g, i);
        p->alpha[i] = s->r[i] - p->base - prior_at(p, point) - scale * sqrt(v) * rng_normal(f->rng);
    }
    mem_free(point);
    enum gpm_status st = s->engine->solve(g, s, false, p->alpha);
    if (!st) st = s->engine->solve(g, s, true, p->alpha);
    if (g->n) memcpy(p->mean_alpha, s->w, g->n * sizeof *s->w);
    return st ? st : s->engine->solve(g, s, true, p->mean_alpha);
}

/* m support points: a lattice in the box (golden-ratio sequence in several dimensions), then the
 * inputs of the data. */
static void lattice(struct gp *g, size_t m, double *x) {
    size_t dim = (size_t)g->dim;
    for (size_t k = 0; k < dim; k++) {
        double a, b;
        approx_range(gp_inputs(g), (int)k, &a, &b);
        for (size_t i = 0; i < g->n; i++) x[(m + i) * dim + k] = g->x[i + k * g->cap];
        if (!(b > a)) a = isfinite(a) ? a - 0.5 : 0, b = a + 1;
        double step = dim == 1 ? 0 : 1 / pow(1.32471795724474602596, (double)k + 1);
        for (size_t i = 0; i < m; i++) {
            double u = dim == 1 ? ((double)i + 0.5) / (double)m : fmod(0.5 + step * (double)i, 1);
            x[i * dim + k] = a + (b - a) * u;
        }
    }
}

/* The function drawn jointly at the support points and the inputs of the data; given those values
 * the data say nothing more, and the path is the conditional mean through them. */
static enum gpm_status support(struct gp *g, struct gp_path *p, double white, size_t m,
                               struct kern_wave *d) {
    size_t dim = (size_t)p->dim, all = m + g->n;
    double *x = NEW_ARRAY(double, all *dim), *z = NEW_ARRAY(double, all);
    double *y = NEW_ARRAY(double, all);
    struct gp *from = NULL, *c = gp_new(p->dim, p->kern, p->mean, 0, NULL);
    lattice(g, m, x);
    for (size_t i = 0; i < all; i++) z[i] = rng_normal(d->rng);
    enum gpm_status st = c ? gp_copy(g, &from) : GPM_E_ARG;
    if (!st) /* white noise joins the noise of the pairs */
        st = gp_set_model(from, p->kern, p->mean, sqrt(gp_noise(g) * gp_noise(g) + white));
    if (!st) st = gp_sample(from, x, all, GP_LATENT, z, y);
    if (!st) st = gp_add(c, GP_MEASURED, x, y, all);
    if (!st) st = gp_slot_solve(c, gp_current(c));
    if (!st) {
        p->n = c->n;
        p->x = NEW_ARRAY(double, c->n *dim + 1);
        p->alpha = NEW_ARRAY(double, c->n + 1);
        for (size_t k = 0; k < dim; k++)
            memcpy(p->x + k * c->n, c->x + k * c->cap, c->n * sizeof *p->x);
        memcpy(p->alpha, gp_current(c)->w, c->n * sizeof *p->alpha);
        st = gp_current(c)->engine->solve(c, gp_current(c), true, p->alpha);
    }
    gp_free(c);
    gp_free(from);
    mem_free(x);
    mem_free(y);
    mem_free(z);
    return st;
}

enum gpm_status gp_path_new(struct gp *g, size_t features, struct rng *rng, struct gp_path **out) {
    struct gp_path *p = NEW(struct gp_path);
    struct kern_wave f = {.rng = rng};
    struct gp_slot *s = gp_current(g);
    double white, scale = 1;
    p->dim = g->dim;
    p->kern = gp_without_white(gp_kern(g), &white);
    p->mean = mean_ref(gp_mean(g));
    enum gpm_status st = gp_factor_allowed(g);
    if (!st) st = gp_slot_solve(g, s);
    if (!st) st = gp_slot_residual(g, s);
    if (!st && g->integrated & GP_SCALE) {
        double dof = gp_dof(g);
        scale = sqrt(s->S / fmax(2 * draw_gamma(rng, dof / 2), 1e-3 * dof));
    }
    if (!st && draw_features(p, features ? features : 1024, scale, &f))
        st = condition(g, p, white, scale, &f);
    else if (!st)
        st = g->integrated ? GPM_E_LIMIT : support(g, p, white, features ? features : 256, &f);
    if (!st) {
        struct kern_pts own = {.x = p->x, .n = p->n, .ld = p->n, .dim = p->dim};
        p->view = kern_view_new(p->kern, own);
        p->row = NEW_ARRAY(double, p->n + 1);
        if (!p->view) st = GPM_E_ARG;
    }
    if (st)
        gp_path_free(p);
    else
        *out = p;
    return st;
}

void gp_path_free(struct gp_path *p) {
    if (!p) return;
    for (size_t i = 0; i < p->linear.n; i++) mem_free(p->linear.at[i].dir);
    for (size_t i = 0; i < p->level.n; i++) mem_free(p->level.at[i].sign);
    vec_release(&p->linear);
    vec_release(&p->level);
    mem_free(p->w);
    mem_free(p->b);
    mem_free(p->key);
    kern_view_free(p->view);
    kern_unref(p->kern);
    mean_unref(p->mean);
    mem_free(p->row);
    mem_free(p->x);
    mem_free(p->alpha);
    mem_free(p);
}

void gp_path_temper(struct gp_path *p, double tau) {
    if (p->nf == 0) return;
    for (size_t i = 0; i < p->n; i++)
        p->alpha[i] = tau * p->alpha[i] + (1 - tau) * p->mean_alpha[i];
    for (size_t j = 0; j < p->nf; j++) p->a[j] *= tau;
    p->base = tau * p->base + (1 - tau) * p->mean_base;
}

static enum gpm_status value_at(void *path, const double *x, double *f) {
    struct gp_path *p = path;
    struct kern_pts at = {.x = x, .n = 1, .ld = 1, .dim = p->dim};
    enum gpm_status st = mean_eval(p->mean, at, f);
    if (!st) st = kern_view_row(p->view, x, p->row);
    *f += p->base + vec_ops()->dot(p->n, p->row, p->alpha) + prior_at(p, x);
    return st;
}

/* With derivatives, where every part has them: no mean function, no linear factors. */
static enum gpm_status slopes(struct gp_path *p, const double *x, double *f, double *grad) {
    enum gpm_status st = kern_view_slope(p->view, x, p->alpha, f, grad);
    *f += p->base + prior_at(p, x);
    if (p->nf == 0) return st;
    vec_ops()->sin_scale(p->nf, p->weight, p->t);
    for (int c = 0; c < p->dim; c++)
        grad[c] -= 2 * M_PI * vec_ops()->dot(p->nf, p->w + (size_t)c * p->nf, p->t);
    return st;
}

enum gpm_status gp_path_eval(struct gp_path *p, const double *x, size_t n, double *f,
                             double *grad) {
    size_t dim = (size_t)p->dim;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && !st; i++) {
        const double *at = x + i * dim;
        if (grad && !p->linear.n && !p->mean) {
            st = slopes(p, at, &f[i], grad + i * dim);
            continue;
        }
        st = value_at(p, at, &f[i]);
        if (!st && grad) st = kern_differences(value_at, p, at, p->dim, 1e-2, grad + i * dim);
    }
    return st;
}

/* A few points: phases of all of them are one product, covariances with the data one block. */
static enum gpm_status block(struct gp_path *p, const double *x, size_t n, double *room,
                             double *f) {
    size_t dim = (size_t)p->dim;
    double *phase = room, *k = phase + p->nf * n, *columns = k + p->n * n;
    struct kern_pts own = {.x = p->x, .n = p->n, .ld = p->n, .dim = p->dim},
                    at = {.x = columns, .n = n, .ld = n, .dim = p->dim};
    for (size_t i = 0; i < n * dim; i++) columns[i / dim + (i % dim) * n] = x[i];
    enum gpm_status st = mean_eval(p->mean, at, f);
    if (!st) st = kern_cross(p->kern, own, at, k, p->n);
    for (size_t i = 0; i < n && p->nf; i++) memcpy(phase + i * p->nf, p->b, p->nf * sizeof *p->b);
    if (p->nf) la_gemm(false, false, p->nf, n, dim, 1, p->w, p->nf, x, dim, 1, phase, p->nf);
    for (size_t i = 0; i < n && !st; i++) {
        f[i] += p->base + vec_ops()->dot(p->n, k + i * p->n, p->alpha);
        if (!p->nf) continue;
        weigh_features(p, x + i * dim);
        f[i] += vec_ops()->dot_cos(p->nf, p->weight, phase + i * p->nf);
    }
    return st;
}

enum gpm_status gp_path_eval_block(struct gp_path *p, const double *x, size_t n, double *f) {
    enum { AT_ONCE = 40 };
    size_t dim = (size_t)p->dim;
    double *room = NEW_ARRAY(double, AT_ONCE *(p->nf + p->n + dim) + 1);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && !st; i += AT_ONCE)
        st = block(p, x + i * dim, n - i < AT_ONCE ? n - i : AT_ONCE, room, f + i);
    mem_free(room);
    return st;
}

enum gpm_status gp_path_eval_both(struct gp_path *p, const double *x, size_t n, double *f,
                                  double *mean) {
    enum gpm_status st = p->nf ? GPM_OK : GPM_E_LIMIT;
    for (size_t i = 0; i < n && !st; i++) {
        struct kern_pts at = {.x = x + i * (size_t)p->dim, .n = 1, .ld = 1, .dim = p->dim};
        st = value_at(p, at.x, &f[i]); /* leaves the covariances in row */
        if (!st) st = mean_eval(p->mean, at, &mean[i]);
        if (!st) mean[i] += p->mean_base + vec_ops()->dot(p->n, p->row, p->mean_alpha);
    }
    return st;
}
