/* SPDX-License-Identifier: Apache-2.0
 *
 * A structure with its parameters as a kernel expression: density, gradient and prediction are
 * those of the Gaussian process (gp/process/gp.h).
 *
 * Terms become products of kernel rows, the first factor carrying the term's standard deviation;
 * terms with a gate stand inside one change operator. Every parameter of the expression that
 * depends on the model's is bound to it: d log p / dz = sum over bindings of slope * d log p /
 * dtheta.
 */
#include "base/mem.h"
#include "apps/discover/smodel.h"
#include "gp/process/gp.h"
#include "gp/kernel/kern_class.h"
#include <math.h>
#include <string.h>

#define GATE_WIDTH   0.01 /* of the sigmoid, in units of the span */
#define NOISE_FLOOR  1e-8 /* variance added to the diagonal, standardised units */
#define MAX_BINDINGS (SMODEL_MAX_PAR + 2)
#define MAX_THETA    96

struct wired {
    size_t theta;
    int par;
    double slope;
};

/* Of a structure with a change: all of it; what outlasts a switch, because it acts on both sides or
 * stays where it is; what acts on one, with the sides exchanged. */
enum regime { REGIME_SEEN, REGIME_BOTH, REGIME_OTHER };

struct expression {
    const struct smodel *m;
    const double *z;
    enum regime regime;
    struct wired bind[MAX_BINDINGS];
    size_t n_bind, n_theta;
};

/* The next parameter of the expression is unit * v(z_par). */
static double bind(struct expression *e, int par, double unit) {
    struct wired b = {e->n_theta, par, unit * smodel_slope(e->m, par, e->z[par])};
    e->bind[e->n_bind++] = b;
    return unit * smodel_value(e->m, par, e->z[par]);
}

/* ---- terms ---- */

/* The value of a parameter that the model leaves alone: of walks, when they began. One of the other
 * regime starts where the data end: before them it was not there. */
static double held(const struct expression *e, const struct kern_class *row, size_t p) {
    if (p == 0) return 1;
    if (row->motif.role == KERN_ROLE_WALK) return e->regime == REGIME_OTHER ? 1 : e->m->since;
    return row->par[p].prior == KERN_P_NORMAL ? row->par[p].prior_a : row->par[p].fallback;
}

static struct kern *factor_kernel(struct expression *e, const struct sterm *t, int f, bool first,
                                  double unit) {
    const struct kern_class *row = factor_class(f);
    double par[8];
    for (size_t p = 0; p < row->npar; p++, e->n_theta++) {
        int i = p || first ? t->par[spar_kind_of(factor_role(f), p)] : -1;
        par[p] = i < 0            ? held(e, row, p)
                 : smodel_free(i) ? bind(e, i, p ? 1 : unit)
                                  : smodel_value(e->m, i, 0);
    }
    static const int time = 0;
    return e->m->data->dim > 1 ? kern_leaf_on(row, par, 1, &time, 1, NULL)
                               : kern_leaf(row, par, NULL);
}

/* The pattern of the shorter period, its mean not taken out: that differs, too. */
static struct kern *inner_kernel(struct expression *e, const struct sterm *t) {
    const struct kern_class *row = kern_class_with(kern_class_find("PER"), 3);
    double par[] = {1, e->m->data->season[t->to - 1], 0};
    static const int time = 0;
    e->n_theta += 2;
    par[2] = bind(e, t->par[SPAR_LWITHIN], 1);
    e->n_theta++;
    return e->m->data->dim > 1 ? kern_leaf_on(row, par, 1, &time, 1, NULL)
                               : kern_leaf(row, par, NULL);
}

static struct kern *term_kernel(struct expression *e, const struct sterm *t) {
    struct kern *out = NULL;
    double unit = 1;
    for (int f = 0; f < FACTOR_MAX; f++)
        if (t->mask & FACTOR_BIT(f)) unit *= factor_class(f)->motif.unit;
    for (int f = 0; f < FACTOR_MAX; f++)
        if (t->mask & FACTOR_BIT(f))
            out = kern_join(KERN_PRODUCT, out, factor_kernel(e, t, f, !out, unit));
    if (t->par[SPAR_LWITHIN] >= 0) out = kern_join(KERN_PRODUCT, out, inner_kernel(e, t));
    return out;
}

/* ---- the whole ---- */

struct smodel smodel_reaching(const struct smodel *m, double first) {
    struct smodel out = *m;
    if (first < 0) out.since = first - 1;
    return out;
}

bool smodel_passes(const struct smodel *m, int k, double l) {
    unsigned bent = factors_of(KERN_ROLE_SMOOTH) | factors_of(KERN_ROLE_TREND);
    return m->term[k].par[SPAR_L] >= 0 && !(m->term[k].mask & ~bent) && l < LEVEL_TIME;
}

unsigned smodel_amounts(const struct smodel *m, int k, double l) {
    unsigned mask = m->term[k].mask, walks = factors_of(KERN_ROLE_WALK), plain = 0;
    if (smodel_passes(m, k, l)) return mask & ~factors_of(KERN_ROLE_TREND);
    if (m->term[k].par[SPAR_L] < 0 || !(l < LEVEL_TIME) || mask & ~walks) return mask;
    for (int f = factor_next(walks, -1); f < FACTOR_MAX; f = factor_next(walks, f))
        if (!factor_class(f)->motif.direction) plain |= FACTOR_BIT(f);
    return plain ? plain : mask;
}

/* Walks and lines have no level that they return to: where they end they stay. */
static bool stays(const struct sterm *t) {
    return !(t->mask & ~(factors_of(KERN_ROLE_WALK) | factors_of(KERN_ROLE_TREND)));
}

static bool wanted(const struct expression *e, int part, int k) {
    const struct smodel *m = e->m;
    bool white = m->term[k].mask & factors_of(KERN_ROLE_WHITE);
    bool repeats = m->term[k].mask & factors_of(KERN_ROLE_PERIODIC);
    int l = m->term[k].par[SPAR_L];
    if (e->regime == REGIME_OTHER && m->term[k].gate == GATE_NONE) return false;
    if (e->regime == REGIME_BOTH && m->term[k].gate != GATE_NONE && !stays(&m->term[k]))
        return false;
    if (part == SMODEL_SLOW && l >= 0 &&
        smodel_passes(m, k, smodel_value(m, l, smodel_free(l) ? e->z[l] : 0)))
        return false;
    if (part == SMODEL_SIGNAL || part == SMODEL_LEVEL || part == SMODEL_SLOW)
        return !white && !(repeats && part != SMODEL_SIGNAL);
    return part == SMODEL_ALL || part == k || (part == SMODEL_WHITE && white);
}

/* Sum of the wanted terms whose gate is `gate`; NULL: none. */
static struct kern *gated(struct expression *e, int part, unsigned gate) {
    struct kern *sum = NULL;
    for (int k = 0; k < e->m->n_terms; k++)
        if (e->m->term[k].gate == gate && wanted(e, part, k))
            sum = kern_join(KERN_SUM, sum, term_kernel(e, &e->m->term[k]));
    return sum;
}

/* Noise of size 0 for the side of a change where nothing is: off the diagonal it costs nothing. */
static struct kern *side(struct expression *e, int part, unsigned gate) {
    struct kern *k = gated(e, part, gate);
    if (k) return k;
    static const double nothing = 0;
    e->n_theta++;
    return kern_leaf(factor_class(factor_next(factors_of(KERN_ROLE_WHITE), -1)), &nothing, NULL);
}

static struct kern *change_kernel(struct expression *e, int part) {
    const struct smodel *m = e->m;
    bool window = m->width >= 0;
    double par[3];
    size_t n = 0;
    par[n++] = bind(e, m->tau, 1);
    e->n_theta++;
    if (window) { /* the end: start + width */
        par[n] = bind(e, m->tau, 1);
        par[n++] += bind(e, m->width, 1);
        e->n_theta++;
    }
    par[n++] = GATE_WIDTH;
    e->n_theta++;
    const unsigned gates[] = {window ? GATE_OUTSIDE : GATE_BEFORE,
                              window ? GATE_INSIDE : GATE_AFTER};
    bool other = e->regime == REGIME_OTHER;
    struct kern *a = side(e, part, gates[other]), *b = side(e, part, gates[!other]);
    struct kern *k = kern_change(kern_change_class(window), par, 0, a, b, NULL);
    kern_unref(a);
    kern_unref(b);
    return k;
}

static bool any_gate(const struct expression *e, int part) {
    for (int k = 0; k < e->m->n_terms; k++)
        if (e->m->term[k].gate != GATE_NONE && wanted(e, part, k)) return true;
    return false;
}

/* ---- regressors ---- */
/* The effect of a column: sizes and length-scales are those of regressors.h, no parameters. */
static struct kern *column_kernel(const struct smodel_data *d, int j) {
    const double line[] = {1, 0}, smooth[] = {0.5, 1};
    const int col = j + 1;
    struct kern *k = kern_leaf_on(factor_class(factor_find("LIN", 3)), line, 1, &col, 1, NULL);
    if (!d->reg->smooth[j]) return k;
    return kern_join(KERN_SUM, k,
                     kern_leaf_on(factor_class(factor_find("SE", 2)), smooth, 1, &col, 1, NULL));
}

static struct kern *effect(struct expression *e, int j) {
    e->n_theta += e->m->data->reg->smooth[j] ? 4 : 2;
    return column_kernel(e->m->data, j);
}

static struct kern *effects(struct expression *e, int part) {
    struct kern *sum = NULL;
    bool all = part == SMODEL_ALL || part == SMODEL_SIGNAL;
    for (int j = 0; e->m->data->reg && j < e->m->data->reg->n; j++)
        if (all || part == SMODEL_REGRESS - j) sum = kern_join(KERN_SUM, sum, effect(e, j));
    return sum;
}

static struct kern *expression(struct expression *e, int part) {
    bool all = part == SMODEL_ALL || part == SMODEL_SIGNAL || part == SMODEL_CONSTANT ||
               part == SMODEL_LEVEL || part == SMODEL_SLOW;
    bool constant = all && e->regime != REGIME_OTHER;
    struct kern *k = constant ? kern_constant(1) : NULL;
    e->n_theta = constant;
    e->n_bind = 0;
    k = kern_join(KERN_SUM, k, gated(e, part, GATE_NONE));
    if (any_gate(e, part)) k = kern_join(KERN_SUM, k, change_kernel(e, part));
    return e->regime == REGIME_OTHER ? k : kern_join(KERN_SUM, k, effects(e, part));
}

static struct kern *kernel_of(const struct smodel *m, const double *z, int part, enum regime r) {
    struct expression e = {.m = m, .z = z, .regime = r};
    return expression(&e, part);
}

struct kern *smodel_kernel(const struct smodel *m, const double *z, int part) {
    return kernel_of(m, z, part, REGIME_SEEN);
}

static double smodel_noise(const struct smodel *m, const double *z) {
    return hypot(smodel_value(m, 0, z[0]), sqrt(NOISE_FLOOR));
}

/* ---- workspace ---- */
/* A process with these data; the kernel is set later. A structure reports all its parts for every
 * draw. So in a long series, parameters for which that requires a factor of all values, or is
 * impossible, count as improbable. */
static struct gp *process(const struct smodel_data *d, const double *y) {
    struct kern *k = kern_constant(1);
    struct gp *g = gp_new(d->dim, k, NULL, 1, NULL);
    kern_unref(k);
    gp_set_apart(g);
    gp_set_roaming(g);
    gp_set_filtered(g, smodel_filters(d) ? SMODEL_LONG : GP_EXACT_MAX);
    gp_set_budget(g, 0); /* hardly a kernel is asked for twice */
    if (gp_add(g, GP_MEASURED, d->points ? d->points : d->t, y, d->n) == GPM_OK) return g;
    gp_free(g);
    return NULL;
}

struct smodel_work *smodel_work_new(const struct smodel_data *data) {
    struct smodel_work *w = NEW(struct smodel_work);
    for (int tr = 0; tr < TRANSFORMS; tr++) {
        if (!data->y[tr] || (w->gp[tr] = process(data, data->y[tr]))) continue;
        smodel_work_free(w);
        return NULL;
    }
    return w;
}

void smodel_work_free(struct smodel_work *w) {
    if (!w) return;
    for (int tr = 0; tr < TRANSFORMS; tr++) gp_free(w->gp[tr]);
    smodel_rate_release(w);
    mem_free(w);
}

/* ---- density ---- */
static bool in_range(const struct smodel *m, const double *z) {
    for (int i = 0; i < m->d; i++)
        if (!(fabs(z[i]) < 30)) return false;
    return true;
}

/* Results are functions of the parameters alone, so that they do not depend on threads. known: the
 * model is that of the evaluation before, and its factor serves. */
static enum gpm_status set_model(struct expression *e, struct gp *g, bool known) {
    struct kern *k = expression(e, SMODEL_ALL);
    enum gpm_status st = k ? gp_set_model(g, k, NULL, smodel_noise(e->m, e->z)) : GPM_E_ARG;
    kern_unref(k);
    if (!known) gp_forget(g);
    return st;
}

/* The likelihood; its gradient, unless dkern is NULL. */
static enum gpm_status likelihood(struct expression *e, struct smodel_work *w, bool known,
                                  double *ll, double *dkern, double *dnoise) {
    struct gp *g = w->gp[e->m->s.transform];
    enum gpm_status st;
    if (smodel_hidden(e->m)) {
        struct kern *k = expression(e, SMODEL_ALL);
        st = k ? smodel_rate_logml(e->m, w, e->z, k, ll, dkern, dnoise) : GPM_E_ARG;
        kern_unref(k);
        return st;
    }
    st = set_model(e, g, known);
    if (st != GPM_OK) return st;
    return dkern ? gp_logml_grad(g, ll, dkern, dnoise) : gp_logml(g, ll);
}

static double evaluate(const struct smodel *m, struct smodel_work *w, const double *z, bool known,
                       double *grad) {
    struct expression e = {.m = m, .z = z};
    double ll = 0, dkern[MAX_THETA], dnoise = 0;
    if (!in_range(m, z)) return -INFINITY;
    enum gpm_status st = likelihood(&e, w, known, &ll, grad ? dkern : NULL, &dnoise);
    if (st != GPM_OK || !isfinite(ll)) return -INFINITY;
    if (grad) {
        memset(grad, 0, sizeof *grad * (size_t)m->d);
        grad[0] = dnoise * exp(2 * z[0]) / smodel_noise(m, z);
        for (size_t i = 0; i < e.n_bind; i++)
            grad[e.bind[i].par] += e.bind[i].slope * dkern[e.bind[i].theta];
    }
    return ll + smodel_log_prior(m, z, grad);
}

double smodel_eval(const struct smodel *m, struct smodel_work *w, const double *z, double *grad) {
    return evaluate(m, w, z, false, grad);
}

bool smodel_late(const struct smodel *m, const struct smodel_work *w) {
    return !smodel_hidden(m) && gp_factored(w->gp[m->s.transform]);
}

bool smodel_slopes(const struct smodel *m, struct smodel_work *w, const double *z, double *grad) {
    return isfinite(evaluate(m, w, z, true, grad));
}

/* ---- prediction ---- */
enum gpm_status smodel_condition(const struct smodel *m, struct smodel_work *w, const double *z,
                                 struct gp **out) {
    struct expression e = {.m = m, .z = z};
    enum gpm_status st;
    if (smodel_hidden(m)) {
        struct kern *k = expression(&e, SMODEL_ALL);
        st = k ? smodel_rate_condition(m, w, z, k) : GPM_E_ARG;
        kern_unref(k);
    } else {
        st = set_model(&e, w->gp[m->s.transform], false);
    }
    *out = w->gp[m->s.transform];
    return st;
}

/* cov: n x n; else only variances, unless var is NULL. */
static enum gpm_status component(const struct smodel *m, const struct kern *k, struct gp *g,
                                 const double *t, size_t n, double *mean, double *var,
                                 double *cov) {
    if (!k) return GPM_E_ARG;
    double *points = m->data->dim > 1 ? smodel_points(m->data, n, t) : NULL;
    const double *at = points ? points : t;
    enum gpm_status st =
        cov ? gp_component_cov(g, k, at, n, mean, cov, n) : gp_component(g, k, at, n, mean, var);
    mem_free(points);
    return st;
}

enum gpm_status smodel_part(const struct smodel *m, const double *z, struct gp *g, int part,
                            const double *t, size_t n, double *mean, double *var) {
    struct kern *k = smodel_kernel(m, z, part);
    enum gpm_status st = component(m, k, g, t, n, mean, var, NULL);
    kern_unref(k);
    return st;
}

enum gpm_status smodel_part_cov(const struct smodel *m, const double *z, struct gp *g, int part,
                                const double *t, size_t n, double *mean, double *cov) {
    struct kern *k = smodel_kernel(m, z, part);
    enum gpm_status st = component(m, k, g, t, n, mean, NULL, cov);
    kern_unref(k);
    return st;
}

enum gpm_status smodel_other(const struct smodel *m, const double *z, struct gp *g, const double *t,
                             size_t n, double *mean, double *var) {
    struct kern *k = kernel_of(m, z, SMODEL_SIGNAL, REGIME_BOTH);
    struct kern *anew = kernel_of(m, z, SMODEL_SIGNAL, REGIME_OTHER);
    struct kern_pts x = {.x = t, .n = n, .ld = n, .dim = 1};
    double *more = mem_zalloc((n + 1) * sizeof *more);
    enum gpm_status st = component(m, k, g, t, n, mean, var, NULL);
    if (!st && anew) st = kern_diag(anew, x, more);
    for (size_t i = 0; i < n && !st; i++) var[i] += more[i];
    mem_free(more);
    kern_unref(anew);
    kern_unref(k);
    return st;
}

enum gpm_status smodel_other_cov(const struct smodel *m, const double *z, struct gp *g,
                                 const double *t, size_t n, double *mean, double *cov) {
    struct kern *k = kernel_of(m, z, SMODEL_SIGNAL, REGIME_BOTH);
    struct kern *anew = kernel_of(m, z, SMODEL_SIGNAL, REGIME_OTHER);
    struct kern_pts x = {.x = t, .n = n, .ld = n, .dim = 1};
    double *more = mem_zalloc((n * n + 1) * sizeof *more);
    enum gpm_status st = component(m, k, g, t, n, mean, NULL, cov);
    if (!st && anew) st = kern_cross(anew, x, x, more, n);
    for (size_t i = 0; i < n * n && !st; i++) cov[i] += more[i];
    mem_free(more);
    kern_unref(anew);
    kern_unref(k);
    return st;
}

enum gpm_status smodel_effect(const struct smodel *m, struct gp *g, int j, double *change,
                              double *var, double *prior) {
    size_t dim = (size_t)m->data->dim;
    double *at = mem_zalloc(2 * dim * sizeof *at), mean[2], cov[4], own[4];
    struct kern *k = column_kernel(m->data, j);
    at[1 + j] = -1; /* the first point; then the second */
    at[dim + 1 + (size_t)j] = 1;
    enum gpm_status st = gp_component_cov(g, k, at, 2, mean, cov, 2);
    double t[2] = {-1, 1}; /* the prior is that of the column alone */
    struct kern_pts pts = {.x = NULL, .n = 2, .ld = 2, .dim = (int)dim};
    double *columns = mem_zalloc(2 * dim * sizeof *columns);
    memcpy(columns + 2 * (1 + (size_t)j), t, sizeof t);
    pts.x = columns;
    if (!st) st = kern_fill(k, pts, own, 2);
    *change = mean[1] - mean[0];
    *var = fmax(cov[0] + cov[3] - 2 * cov[1], 0);
    *prior = own[0] + own[3] - 2 * own[1]; /* the lower triangle */
    mem_free(at);
    mem_free(columns);
    kern_unref(k);
    return st;
}

/* Noise that shrinks goes on shrinking only as long as there are data: outside of them it is not
 * smaller than at their end. */
static enum gpm_status white_vars(const struct kern *k, double last, const double *t, size_t n,
                                  double *var) {
    const double ends[] = {0, last};
    struct kern_pts x = {.x = t, .n = n, .ld = n, .dim = 1},
                    end = {.x = ends, .n = 2, .ld = 2, .dim = 1};
    double least[2] = {0};
    memset(var, 0, n * sizeof *var);
    enum gpm_status st = k ? kern_diag(k, x, var) : GPM_OK;
    if (k && !st) st = kern_diag(k, end, least);
    for (size_t i = 0; i < n && !st; i++)
        if (t[i] < 0 || t[i] > last) var[i] = fmax(var[i], least[t[i] > last]);
    return st;
}

static void add_steady(const struct smodel *m, const double *z, size_t n, double *var) {
    double noise = smodel_hidden(m) ? 0 : smodel_noise(m, z);
    for (size_t i = 0; i < n; i++) var[i] += noise * noise;
}

enum gpm_status smodel_noise_vars(const struct smodel *m, const double *z, const double *t,
                                  size_t n, double *var) {
    struct kern *k = smodel_kernel(m, z, SMODEL_WHITE);
    enum gpm_status st = white_vars(k, smodel_last(m->data), t, n, var);
    add_steady(m, z, n, var);
    kern_unref(k);
    return st;
}

enum gpm_status smodel_other_noise(const struct smodel *m, const double *z, const double *t,
                                   size_t n, double *var) {
    struct kern *k = kernel_of(m, z, SMODEL_WHITE, REGIME_BOTH);
    struct kern *anew = kernel_of(m, z, SMODEL_WHITE, REGIME_OTHER);
    struct kern_pts x = {.x = t, .n = n, .ld = n, .dim = 1};
    double *more = mem_zalloc((n + 1) * sizeof *more);
    enum gpm_status st = white_vars(k, smodel_last(m->data), t, n, var);
    if (!st && anew) st = kern_diag(anew, x, more);
    for (size_t i = 0; i < n && !st; i++) var[i] += more[i];
    add_steady(m, z, n, var);
    mem_free(more);
    kern_unref(anew);
    kern_unref(k);
    return st;
}
