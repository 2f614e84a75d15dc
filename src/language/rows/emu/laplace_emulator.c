/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian processes whose measurements are counts, truth values or values with outliers, as
 * emulators: make_gp and gpmem with likelihood=, by Laplace's approximation (gp/way/gp_laplace.h).
 * Densities follow from it by the chain rule: log p(new | data) = log p(new, data) - log p(data).
 */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"
#include "base/pack.h"
#include "gp/way/gp_laplace.h"
#include "language/rows/protocol/kernel_value.h"
#include <math.h>
#include <string.h>

/* While a proposal is pending its model is in use, and the old one is kept. */
struct laplace_em {
    struct gp_laplace gp;
    struct laplace_model waiting;
    bool pending;
};

/* ---- arguments of the makers ---- */

static enum gpm_status unknown(struct sp_call *c, value v) {
    struct buf names = BUF_INIT;
    const struct gp_likelihood *row;
    for (size_t i = 0; (row = gp_likelihood_at(i)); i++) {
        buf_printf(&names, "%s%s\"%s\"", i ? ", " : "", row->n ? "[" : "", row->name);
        for (size_t p = 0; p < row->n; p++) buf_printf(&names, ", %s", row->parameters[p]);
        if (row->n) buf_puts(&names, "]");
    }
    sp_type_error(c, v, "likelihood is one of %s", names.data);
    buf_release(&names);
    return GPM_E_USER;
}

static enum gpm_status read_parameter(struct sp_call *c, const struct gp_likelihood *row, size_t p,
                                      value v, double *out) {
    *out = v.tag == V_NUM ? v.u.num : NAN;
    bool ok = isfinite(*out) && *out > 0 && (!row->whole[p] || *out == floor(*out));
    if (ok) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: likelihood: %s of %s must be a positive %s, got %s",
                    c->cls->name, row->parameters[p], row->name,
                    row->whole[p] ? "integer" : "number", SHOW(v));
}

/* A name, or a sequence of the name and its parameters. */
static enum gpm_status read_likelihood(struct sp_call *c, struct laplace_model *m) {
    value v = c->args[maker_parameter(c, "likelihood")], *items;
    size_t n;
    seq_or_one(v, &items, &n);
    const char *name = n && items[0].tag == V_STR   ? items[0].u.str->text
                       : n && items[0].tag == V_SYM ? items[0].u.sym->text
                                                    : NULL;
    m->likelihood = name ? gp_likelihood_find(name) : NULL;
    enum gpm_status st = GPM_OK;
    if (!m->likelihood || m->likelihood->n + 1 != n) st = unknown(c, v);
    for (size_t p = 0; st == GPM_OK && p + 1 < n; p++)
        st = read_parameter(c, m->likelihood, p, items[p + 1], &m->par[p]);
    values_free(items, n);
    return st;
}

static enum gpm_status read_model(struct sp_call *c, struct laplace_model *m) {
    *m = (struct laplace_model){0};
    if (maker_parameter(c, "noise") >= 0)
        return sp_error(c, DIAG_TYPE, "%s: noise and likelihood exclude each other", c->cls->name);
    enum gpm_status st = read_likelihood(c, m);
    return st == GPM_OK ? process_read(c, &m->kern, &m->mean) : st;
}

static enum gpm_status em_check(struct sp_call *c) {
    struct laplace_model m;
    enum gpm_status st = read_model(c, &m);
    if (st == GPM_OK) laplace_model_release(&m);
    return st;
}

static enum gpm_status fits(struct sp_call *c, struct laplace_model *m, int dim) {
    char *why = NULL;
    enum gpm_status st = kern_check_dim(m->kern, dim, &why);
    if (st != GPM_OK)
        st = sp_error(c, DIAG_GP_DIMENSION, "%s: %s", c->cls->name,
                      why ? why : "the kernel does not fit the inputs");
    mem_free(why);
    return st;
}

static void *em_make(struct sp_call *c, int dim) {
    struct laplace_em *e = NEW(struct laplace_em);
    enum gpm_status st = read_model(c, &e->gp.model);
    if (st == GPM_OK) st = fits(c, &e->gp.model, dim);
    e->gp.dim = dim;
    if (st == GPM_OK) return e;
    gp_laplace_release(&e->gp);
    mem_free(e);
    return NULL;
}

static void em_free(void *p) {
    struct laplace_em *e = p;
    gp_laplace_release(&e->gp);
    laplace_model_release(&e->waiting);
    mem_free(e);
}

/* Copies data and model; derived results are computed again. */
static void copy_into(struct gp_laplace *to, const struct gp_laplace *from) {
    const struct laplace_model *m = &from->model;
    *to = (struct gp_laplace){.dim = from->dim};
    to->model = (struct laplace_model){.kern = kern_ref(m->kern),
                                       .mean = m->mean ? mean_ref(m->mean) : NULL,
                                       .likelihood = m->likelihood};
    memcpy(to->model.par, m->par, sizeof m->par);
    for (size_t i = 0; i < from->x.n; i++) vec_push(&to->x, from->x.at[i]);
    for (size_t i = 0; i < from->pairs.n; i++) vec_push(&to->pairs, from->pairs.at[i]);
}

/* The mode is searched again from the same start. */
static void em_pack(struct pack *p, void *state) {
    struct laplace_em *e = state;
    struct gp_laplace *g = &e->gp;
    size_t n = g->pairs.n;
    if (e->pending) pack_fail(p, "a proposal is under way");
    pack_vec_doubles(p, &g->x);
    pack_count(p, &n, sizeof(double));
    vec_reserve(&g->pairs, n);
    g->pairs.n = n;
    for (size_t i = 0; i < n; i++) {
        pack_double(p, &g->pairs.at[i].y);
        pack_bool(p, &g->pairs.at[i].exact);
    }
    if (g->x.n != n * (size_t)g->dim) pack_fail(p, "a pair in it has no input");
}

/* ---- data ---- */

static void add_pairs(struct gp_laplace *g, bool measured, const double *x, const double *y,
                      size_t n) {
    for (size_t i = 0; i < n * (size_t)g->dim; i++) vec_push(&g->x, x[i]);
    for (size_t i = 0; i < n; i++) vec_push(&g->pairs, ((struct laplace_pair){y[i], !measured}));
    gp_laplace_changed(g);
}

static enum gpm_status em_add(void *p, bool measured, const double *x, const double *y, size_t n) {
    struct laplace_em *e = p;
    add_pairs(&e->gp, measured, x, y, n);
    e->waiting.solved = false;
    return GPM_OK;
}

static enum gpm_status em_remove(void *p, bool measured, const double *x, const double *y) {
    struct laplace_em *e = p;
    struct gp_laplace *g = &e->gp;
    size_t d = (size_t)g->dim, i = g->pairs.n;
    while (i-- > 0) { /* the latest pairs go first */
        const struct laplace_pair *q = &g->pairs.at[i];
        if (q->exact == !measured && q->y == *y && !memcmp(g->x.at + i * d, x, d * sizeof *x))
            break;
    }
    if (i == SIZE_MAX) return GPM_E_NOT_FOUND;
    memmove(g->x.at + i * d, g->x.at + (i + 1) * d, (g->pairs.n - i - 1) * d * sizeof *x);
    memmove(g->pairs.at + i, g->pairs.at + i + 1, (g->pairs.n - i - 1) * sizeof *g->pairs.at);
    g->pairs.n--;
    g->x.n -= d;
    gp_laplace_changed(g);
    e->waiting.solved = false;
    return GPM_OK;
}

static size_t em_n_pairs(void *p) {
    return ((struct laplace_em *)p)->gp.pairs.n;
}

static void em_pair(void *p, size_t i, double *x, double *y) {
    const struct gp_laplace *g = &((struct laplace_em *)p)->gp;
    memcpy(x, g->x.at + i * (size_t)g->dim, (size_t)g->dim * sizeof *x);
    *y = g->pairs.at[i].y;
}

/* ---- density and draws ---- */

static enum gpm_status em_log_joint(void *p, double *out) {
    return gp_laplace_logml(&((struct laplace_em *)p)->gp, out);
}

static enum gpm_status em_conditional(void *p, bool measured, const double *x, const double *y,
                                      size_t n, double *logpdf) {
    struct laplace_em *e = p;
    struct gp_laplace with;
    double before, after = -INFINITY;
    enum gpm_status st = gp_laplace_logml(&e->gp, &before);
    if (st != GPM_OK) return st;
    copy_into(&with, &e->gp);
    add_pairs(&with, measured, x, y, n);
    st = gp_laplace_logml(&with, &after);
    gp_laplace_release(&with);
    *logpdf = isfinite(before) ? after - before : -INFINITY;
    return st;
}

/* Measurements are counts, or their slope is never requested. */
static enum gpm_status em_slope(void *p, bool measured, const double *x, const double *y, size_t n,
                                double *dy) {
    struct laplace_em *e = p;
    struct gp_laplace with;
    if (measured) return GPM_E_LIMIT;
    copy_into(&with, &e->gp);
    add_pairs(&with, false, x, y, n);
    enum gpm_status st = gp_laplace_value_slope(&with, e->gp.pairs.n, dy);
    gp_laplace_release(&with);
    return st;
}

/* A count beyond the range of numbers gives the status of an unusable matrix. */
static enum gpm_status em_sample(void *p, const double *x, size_t n, bool measured, struct rng *rng,
                                 double *out) {
    struct laplace_em *e = p;
    const struct laplace_model *m = &e->gp.model;
    double *z = mem_try_doubles(n + 1);
    if (!z) return GPM_E_NOMEM;
    for (size_t i = 0; i < n; i++) z[i] = rng_normal(rng);
    enum gpm_status st = gp_laplace_sample(&e->gp, x, n, z, out);
    for (size_t i = 0; st == GPM_OK && measured && i < n; i++) {
        out[i] = m->likelihood->draw(rng, out[i], m->par);
        if (!isfinite(out[i])) st = GPM_E_ARG;
    }
    mem_free(z);
    return st;
}

/* ---- parameters ---- */

static enum gpm_status em_propose(void *p, struct sp_call *c, double *log_joint) {
    struct laplace_em *e = p;
    struct laplace_model new;
    enum gpm_status st = read_model(c, &new);
    if (st == GPM_OK) st = fits(c, &new, e->gp.dim);
    if (st != GPM_OK) return st;
    e->waiting = e->gp.model;
    e->gp.model = new;
    e->pending = true;
    st = gp_laplace_logml(&e->gp, log_joint);
    if (st == GPM_OK) return st;
    laplace_model_release(&e->gp.model);
    e->gp.model = e->waiting;
    e->waiting = (struct laplace_model){0};
    e->pending = false;
    return st;
}

static void em_accept(void *p) {
    struct laplace_em *e = p;
    laplace_model_release(&e->waiting);
    e->pending = false;
}

static void em_reject(void *p) {
    struct laplace_em *e = p;
    if (!e->pending) return;
    laplace_model_release(&e->gp.model);
    e->gp.model = e->waiting;
    e->waiting = (struct laplace_model){0};
    e->pending = false;
}

/* The adjoint of likelihood= has the shape of a sequence of name and parameters. */
static value likelihood_adjoint(const struct gp_likelihood *row, const double *d) {
    if (!row->n) return NIL;
    value v = value_array_new(row->n + 1);
    for (size_t p = 0; p < row->n; p++)
        v.u.array->at[p + 1] = row->whole[p] ? NIL : value_num(d[p]);
    return v;
}

static enum gpm_status em_gradient(void *p, struct sp_call *c, value *dargs) {
    struct laplace_em *e = p;
    const struct laplace_model *m = &e->gp.model;
    double d[LIKELIHOOD_PARAMETERS];
    value dk = value_vector_new(kern_nparam(m->kern)), dm = value_vector_new(mean_nparam(m->mean));
    enum gpm_status st = gp_laplace_gradient(&e->gp, dk.u.vector->at, dm.u.vector->at, d);
    if (st == GPM_OK) {
        process_give(c, dk, dm, 0, dargs);
        dargs[maker_parameter(c, "likelihood")] = likelihood_adjoint(m->likelihood, d);
    } else if (st == GPM_E_NOT_PD)
        st =
            sp_error(c, DIAG_GP_NUMERIC, "%s: there is no normal approximation here", c->cls->name);
    value_unref(dk);
    value_unref(dm);
    return st;
}

const struct emulator_class laplace_emulator = {.name = "Gaussian process by Laplace",
                                                .sample = em_sample,
                                                .conditional = em_conditional,
                                                .slope = em_slope,
                                                .add = em_add,
                                                .remove = em_remove,
                                                .log_joint = em_log_joint,
                                                .n_pairs = em_n_pairs,
                                                .pair = em_pair,
                                                .propose = em_propose,
                                                .accept = em_accept,
                                                .reject = em_reject,
                                                .gradient = em_gradient,
                                                .free = em_free,
                                                .pack = em_pack,
                                                .make = em_make,
                                                .check = em_check};
