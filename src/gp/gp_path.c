/* SPDX-License-Identifier: Apache-2.0
 *
 * Pathwise draws; contract in gp_path.h. A term k = a prod_s k_s(x - x') prod_l (x-c_l)(x'-c_l) has
 * the random feature a^1/2 sqrt(2) cos(w.x + b) prod_l g_l (x - c_l): w the sum of frequencies
 * drawn from the spectral densities of the stationary factors, b uniform, g_l standard normal
 * signs; the mean of products of such features over their randomness is k.
 */
#include "gp/gp_path.h"

#include "gp/gp_int.h"
#include "gp/kern_class.h"
#include "gp/kern_leaf.h"

#include "base/mem.h"
#include "la/blas.h"
#include "math/special.h"

#include <math.h>
#include <string.h>

struct feature {
    const struct kern *term; /* borrowed from path->kern */
    double weight, phase;
    double *w;   /* dim frequencies */
    double *dir; /* per linear factor: dim coefficients */
};

struct gp_path {
    int dim;
    struct kern *kern; /* without white noise */
    struct mean *mean;
    struct feature *f;
    size_t nf;
    double *x, *alpha; /* points of the update, column-major, and their weights */
    size_t n;
};

/* ---- random numbers ---- */

struct draw {
    gp_uniform_fn uniform;
    void *user;
};

static double normal(struct draw *d) {
    double u = d->uniform(d->user);
    return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(2 * M_PI * d->uniform(d->user));
}

/* Marsaglia and Tsang (2000); shape below 1 by the power trick. */
static double gamma_draw(struct draw *d, double shape) {
    if (shape < 1)
        return gamma_draw(d, shape + 1) * pow(fmax(d->uniform(d->user), 1e-300), 1 / shape);
    double a = shape - 1.0 / 3, c = 1 / sqrt(9 * a);
    for (;;) {
        double x = normal(d), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = d->uniform(d->user);
        if (log(fmax(u, 1e-300)) < 0.5 * x * x + a - a * v + a * log(v)) return a * v;
    }
}

/* ---- spectral densities ---- */

static const struct kern *resolve(const struct kern *k) {
    return k->op == KERN_ALIAS ? k->kid[0] : k;
}

static bool named(const struct kern *k, const char *name) {
    return k->op == KERN_LEAF && strcmp(k->cls->name, name) == 0;
}

/* PER is a series of cosines with weights exp(-q) I_h(q) (both signs of h): draw h by inversion. */
static double harmonic(struct draw *d, double q) {
    enum { TERMS = 400 };
    double term[TERMS], sum = 0, u = d->uniform(d->user);
    for (int h = 0; h < TERMS; h++) { /* I_h(q) by its power series in logs */
        double s = 0, lt = h * log(q / 2) - log_gamma(h + 1.0);
        for (int m = 0; m < 400; m++) {
            double t = exp(lt - q);
            s += t;
            if (t < 1e-17 * s && m > q) break;
            lt += 2 * log(q / 2) - log(m + 1.0) - log(m + 1.0 + h);
        }
        term[h] = (h ? 2 : 1) * s;
        sum += term[h];
        if (h > q && term[h] < 1e-14) {
            for (int i = h + 1; i < TERMS; i++) term[i] = 0;
            break;
        }
    }
    for (int h = 0; h < TERMS; h++)
        if ((u -= term[h] / sum) < 0) return h;
    return 0;
}

/* Adds a frequency of the stationary leaf to w; false when the row has no sampler. */
static bool add_frequency(struct draw *d, const struct kern *k, int dim, double *w) {
    int n = leaf_dim(k, dim);
    double scale = 1;
    bool radial = true;
    if (named(k, "SE"))
        scale = 1;
    else if (named(k, "RQ"))
        scale = sqrt(gamma_draw(d, k->par[k->npar - 1]) / k->par[k->npar - 1]);
    else if (named(k, "MAT12"))
        scale = sqrt(0.5 / gamma_draw(d, 0.5));
    else if (named(k, "MAT32"))
        scale = sqrt(1.5 / gamma_draw(d, 1.5));
    else if (named(k, "MAT52"))
        scale = sqrt(2.5 / gamma_draw(d, 2.5));
    else
        radial = false;
    for (int c = 0; c < n; c++) {
        double *at = w + (k->ncol ? k->col[c] : c);
        double sign = d->uniform(d->user) < 0.5 ? -1 : 1;
        if (radial)
            *at += scale * normal(d) / kern_par(k, 1, c);
        else if (named(k, "COS"))
            *at += sign * 2 * M_PI / k->par[1];
        else if (named(k, "PER") && kern_par(k, 2, c) > 0.07) {
            double l = kern_par(k, 2, c);
            *at += sign * 2 * M_PI / k->par[1] * harmonic(d, 1 / (l * l));
        } else
            return false;
    }
    return true;
}

static bool is_constant(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_CONST;
}
static bool is_rank_one(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->rank_one;
}

static const struct kern *factor(const struct kern *t, size_t i) {
    return resolve(t->op == KERN_PRODUCT ? t->kid[i] : t);
}
static size_t nfactors(const struct kern *t) {
    return t->op == KERN_PRODUCT ? t->nkids : 1;
}

static bool make_feature(struct draw *d, const struct kern *t, int dim, struct feature *f) {
    double amp = 1;
    size_t lin = 0;
    bool wave = false;
    f->term = t;
    f->w = mem_zalloc(((size_t)dim + 1) * sizeof *f->w);
    f->dir = NEW_ARRAY(double, nfactors(t) * (size_t)dim + 1);
    for (size_t i = 0; i < nfactors(t); i++) {
        const struct kern *k = factor(t, i);
        if (k->op != KERN_LEAF) return false;
        amp *= kern_amplitude(k);
        if (is_constant(k)) continue;
        if (is_rank_one(k)) {
            for (int c = 0; c < dim; c++) f->dir[lin * (size_t)dim + (size_t)c] = normal(d);
            lin++;
        } else if (add_frequency(d, k, dim, f->w))
            wave = true;
        else
            return false;
    }
    f->phase = wave ? 2 * M_PI * d->uniform(d->user) : 0;
    f->weight = sqrt(amp) * (wave ? sqrt(2) : 1) * normal(d);
    return true;
}

static double feature_value(const struct feature *f, int dim, const double *x) {
    double a = f->phase, v = f->weight;
    const double *dir = f->dir;
    bool wave = false;
    for (int c = 0; c < dim; c++) a += f->w[c] * x[c];
    for (size_t i = 0; i < nfactors(f->term); i++) {
        const struct kern *k = factor(f->term, i);
        if (is_constant(k)) continue;
        if (!is_rank_one(k)) {
            wave = true;
            continue;
        }
        double s = 0, one;
        for (int c = 0; c < leaf_dim(k, dim); c++) { /* one column at a time through the row */
            struct kern_pts p = {.x = x + (k->ncol ? k->col[c] : c), .n = 1, .ld = 1, .dim = 1};
            struct kern single = *k;
            single.ncol = 0;
            single.col = NULL;
            double par[2] = {k->par[0], k->cls->npar > 1 ? kern_par(k, 1, c) : 0};
            single.par = par;
            single.ard = 1;
            k->cls->prepare(&single, p, &one, 1);
            s += one * dir[c];
        }
        v *= s;
        dir += dim;
    }
    return wave ? v * cos(a) : v;
}

/* ---- building ---- */

static double prior_at(const struct gp_path *p, const double *x) {
    double s = 0;
    for (size_t i = 0; i < p->nf; i++) s += feature_value(&p->f[i], p->dim, x);
    return s;
}

/* `features` per term; weights are scaled so that the terms' variances come out right. False when a
 * term has no features. */
static bool draw_features(struct gp_path *p, size_t features, struct draw *d) {
    const struct kern *k = p->kern;
    size_t terms = k->op == KERN_SUM ? k->nkids : 1;
    p->f = mem_zalloc((terms * features + 1) * sizeof *p->f);
    for (size_t t = 0; t < terms; t++) {
        const struct kern *term = k->op == KERN_SUM ? k->kid[t] : k;
        bool exact = true; /* constants and LIN need one feature only */
        for (size_t i = 0; i < nfactors(term); i++) exact = exact && is_constant(factor(term, i));
        exact = exact || (nfactors(term) == 1 && is_rank_one(factor(term, 0)));
        size_t n = exact ? 1 : features;
        for (size_t j = 0; j < n; j++) {
            if (!make_feature(d, term, p->dim, &p->f[p->nf++])) return false;
            struct feature *f = &p->f[p->nf - 1];
            f->weight /= sqrt((double)n);
            if (exact && f->weight != 0 && nfactors(term) == 1 && is_rank_one(factor(term, 0)))
                f->weight = sqrt(kern_amplitude(factor(term, 0))); /* the direction is the draw */
        }
    }
    return true;
}

static void drop_features(struct gp_path *p) {
    for (size_t i = 0; i < p->nf; i++) {
        mem_free(p->f[i].w);
        mem_free(p->f[i].dir);
    }
    mem_free(p->f);
    p->f = NULL;
    p->nf = 0;
}

/* Weights of the update at the data, from the prior draw there. White noise counts as noise. */
static enum gpm_status condition(struct gp *g, struct gp_path *p, double white, struct draw *d) {
    struct gp_slot *s = gp_current(g);
    enum gpm_status st = gp_slot_solve(g, s);
    if (!st) st = gp_slot_residual(g, s);
    if (st) return st;
    double *point = NEW_ARRAY(double, (size_t)p->dim);
    p->n = g->n;
    p->x = NEW_ARRAY(double, g->n *(size_t)p->dim + 1);
    p->alpha = NEW_ARRAY(double, g->n + 1);
    for (size_t i = 0; i < g->n; i++) {
        for (int c = 0; c < p->dim; c++)
            point[c] = p->x[i + (size_t)c * g->n] = g->x[i + (size_t)c * g->cap];
        double v = white + s->noise * s->noise * gp_share(g, i);
        p->alpha[i] = s->r[i] - prior_at(p, point) - sqrt(v) * normal(d);
    }
    chol_solve(&s->f, p->alpha, 1, g->n);
    mem_free(point);
    return GPM_OK;
}

/* m support points: a lattice in the box (golden-ratio sequence in several dimensions), then the
 * inputs of the data. */
static void lattice(const struct gp *g, size_t m, const double *lo, const double *hi, double *x) {
    size_t dim = (size_t)g->dim;
    for (size_t k = 0; k < dim; k++) {
        double a = INFINITY, b = -INFINITY;
        for (size_t i = 0; i < g->n; i++) {
            a = fmin(a, g->x[i + k * g->cap]);
            b = fmax(b, g->x[i + k * g->cap]);
            x[(m + i) * dim + k] = g->x[i + k * g->cap];
        }
        if (lo) a = lo[k];
        if (hi) b = hi[k];
        if (!(b > a)) a = isfinite(a) ? a - 0.5 : 0, b = a + 1;
        double step = dim == 1 ? 0 : 1 / pow(1.32471795724474602596, (double)k + 1);
        for (size_t i = 0; i < m; i++) {
            double u = dim == 1 ? ((double)i + 0.5) / (double)m : fmod(0.5 + step * (double)i, 1);
            x[i * dim + k] = a + (b - a) * u;
        }
    }
}

/* The same data under the kernel without white noise, which joins the noise of the pairs. */
static enum gpm_status smooth_gp(const struct gp *g, const struct gp_path *p, double white,
                                 struct gp **out) {
    double noise = sqrt(gp_noise(g) * gp_noise(g) + white), y;
    struct gp *s = gp_new(g->dim, p->kern, p->mean, noise, NULL);
    double *x = NEW_ARRAY(double, (size_t)g->dim);
    enum gpm_status st = s ? GPM_OK : GPM_E_ARG;
    for (size_t i = 0; i < gp_npairs(g) && !st; i++) {
        gp_pair(g, i, x, &y);
        st = gp_add(s, GP_MEASURED, x, &y, 1);
    }
    mem_free(x);
    if (st)
        gp_free(s);
    else
        *out = s;
    return st;
}

/* The function drawn jointly at the support points and the inputs of the data; given those values
 * the data say nothing more, and the path is the conditional mean through them. */
static enum gpm_status support(struct gp *g, struct gp_path *p, double white, size_t m,
                               const double *lo, const double *hi, struct draw *d) {
    size_t dim = (size_t)p->dim, all = m + g->n;
    double *x = NEW_ARRAY(double, all *dim), *z = NEW_ARRAY(double, all);
    double *y = NEW_ARRAY(double, all);
    struct gp *from = NULL, *c = gp_new(p->dim, p->kern, p->mean, 0, NULL);
    lattice(g, m, lo, hi, x);
    for (size_t i = 0; i < all; i++) z[i] = normal(d);
    enum gpm_status st = c ? smooth_gp(g, p, white, &from) : GPM_E_ARG;
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
        chol_solve_lt(&gp_current(c)->f, p->alpha, 1, c->n);
    }
    gp_free(c);
    gp_free(from);
    mem_free(x);
    mem_free(y);
    mem_free(z);
    return st;
}

enum gpm_status gp_path_new(struct gp *g, size_t features, const double *lo, const double *hi,
                            gp_uniform_fn uniform, void *user, struct gp_path **out) {
    struct gp_path *p = NEW(struct gp_path);
    struct draw d = {uniform, user};
    double white;
    p->dim = g->dim;
    p->kern = gp_without_white(gp_kern(g), &white);
    p->mean = mean_ref(gp_mean(g));
    enum gpm_status st;
    if (!gp_approximates(g) && draw_features(p, features ? features : 1024, &d))
        st = condition(g, p, white, &d);
    else {
        drop_features(p);
        st = gp_approximates(g) ? GPM_E_LIMIT
                                : support(g, p, white, features ? features : 256, lo, hi, &d);
    }
    if (st)
        gp_path_free(p);
    else
        *out = p;
    return st;
}

void gp_path_free(struct gp_path *p) {
    if (!p) return;
    drop_features(p);
    kern_unref(p->kern);
    mean_unref(p->mean);
    mem_free(p->x);
    mem_free(p->alpha);
    mem_free(p);
}

bool gp_path_by_features(const struct gp_path *p) {
    return p->f != NULL;
}

static enum gpm_status eval_points(const struct gp_path *p, const double *x, size_t n, double *f) {
    double *t = gp_transpose(x, n, p->dim), *k = mem_try_doubles(n * (p->n + 1));
    struct kern_pts xs = {.x = t, .n = n, .ld = n, .dim = p->dim};
    struct kern_pts own = {.x = p->x, .n = p->n, .ld = p->n, .dim = p->dim};
    enum gpm_status st = k ? mean_eval(p->mean, xs, f) : GPM_E_NOMEM;
    if (!st && p->n) st = kern_cross(p->kern, xs, own, k, n);
    if (!st && p->n) la_gemv(n, p->n, 1, k, n, p->alpha, 1, f);
    for (size_t i = 0; i < n && !st; i++) f[i] += prior_at(p, x + i * (size_t)p->dim);
    mem_free(t);
    mem_free(k);
    return st;
}

enum gpm_status gp_path_eval(const struct gp_path *p, const double *x, size_t n, double *f,
                             double *grad) {
    enum gpm_status st = eval_points(p, x, n, f);
    size_t dim = (size_t)p->dim;
    if (st || !grad) return st;
    double *two = NEW_ARRAY(double, 2 * dim), v[2];
    for (size_t i = 0; i < n && !st; i++)
        for (size_t c = 0; c < dim && !st; c++) {
            double h = 6e-6 * fmax(1e-2, fabs(x[i * dim + c]));
            memcpy(two, x + i * dim, dim * sizeof *two);
            memcpy(two + dim, x + i * dim, dim * sizeof *two);
            two[c] += h;
            two[dim + c] -= h;
            st = eval_points(p, two, 2, v);
            grad[i * dim + c] = (v[0] - v[1]) / (two[c] - two[dim + c]);
        }
    mem_free(two);
    return st;
}
