/* SPDX-License-Identifier: Apache-2.0
 *
 * The Gaussian process as an emulator. Maker arguments: make_gp([mean,] kernel[, noise=]) and
 * gpmem(f, [mean,] kernel[, noise=]). */
#include "emu/emulator.h"
#include "emu/gp_args.h"

#include "base/mem.h"
#include "gp/gp.h"
#include <math.h>

/* A proposal that the data outlive: accepted early, undone by putting the old model back. */
struct gp_em {
    struct gp *gp;
    struct gp_args old; /* valid while a proposal is pending */
    bool pending, hardened;
};

static enum gpm_status args_error(struct sp_call *c, char *why) {
    enum gpm_status st = sp_error(c, DIAG_GP_DIMENSION, "%s: %s", c->cls->name,
                                  why ? why : "the kernel does not fit the inputs");
    mem_free(why);
    return st;
}

static void *em_make(struct sp_call *c, int dim) {
    struct gp_args a;
    if (gp_args_read(c, &a) != GPM_OK) return NULL;
    char *why = NULL;
    struct gp *g = gp_new(dim, a.k, a.m, a.noise, &why);
    gp_args_release(&a);
    if (!g) {
        args_error(c, why);
        return NULL;
    }
    struct gp_em *e = NEW(struct gp_em);
    e->gp = g;
    return e;
}

static enum gpm_status em_check(struct sp_call *c) {
    struct gp_args a;
    enum gpm_status st = gp_args_read(c, &a);
    if (st == GPM_OK) gp_args_release(&a);
    return st;
}

static void em_free(void *p) {
    struct gp_em *e = p;
    if (e->pending) gp_args_release(&e->old);
    gp_free(e->gp);
    mem_free(e);
}

static void *em_copy(void *p) {
    struct gp_em *e = p, *f = NEW(struct gp_em);
    for (int tries = 0; gp_copy(e->gp, &f->gp) != GPM_OK; tries++) mem_insist(tries);
    return f;
}

/* The data are about to be used under the proposed model. */
static void harden(struct gp_em *e) {
    if (!e->pending || e->hardened) return;
    gp_accept(e->gp);
    e->hardened = true;
}

static enum gpm_status em_sample(void *p, const double *x, size_t n, bool measured, struct rng *rng,
                                 double *out) {
    struct gp_em *e = p;
    harden(e);
    double small[16], *z = n <= COUNT_OF(small) ? small : mem_try_doubles(n);
    if (!z) return GPM_E_NOMEM;
    for (size_t i = 0; i < n; i++) z[i] = rng_normal(rng);
    enum gpm_status st = gp_sample(e->gp, x, n, gp_kind(measured), z, out);
    if (z != small) mem_free(z);
    return st;
}

static enum gpm_status em_conditional(void *p, bool measured, const double *x, const double *y,
                                      size_t n, double *logpdf) {
    struct gp_em *e = p;
    harden(e);
    enum gpm_status st = gp_conditional(e->gp, gp_kind(measured), x, y, n, logpdf);
    if (st != GPM_E_NOT_PD) return st;
    *logpdf = -INFINITY;
    return GPM_OK;
}

static enum gpm_status em_add(void *p, bool measured, const double *x, const double *y, size_t n) {
    struct gp_em *e = p;
    harden(e);
    return gp_add(e->gp, gp_kind(measured), x, y, n);
}

static enum gpm_status em_remove(void *p, bool measured, const double *x, double y) {
    struct gp_em *e = p;
    harden(e);
    return gp_remove(e->gp, gp_kind(measured), x, y);
}

static enum gpm_status em_log_joint(void *p, double *out) {
    enum gpm_status st = gp_logml(((struct gp_em *)p)->gp, out);
    if (st != GPM_E_NOT_PD) return st;
    *out = -INFINITY;
    return GPM_OK;
}

static double em_error(void *p, const char **method) {
    struct gp *g = ((struct gp_em *)p)->gp;
    *method = gp_method(g);
    return gp_approx_error(g);
}

static enum gpm_status em_propose(void *p, struct sp_call *c, double *log_joint) {
    struct gp_em *e = p;
    struct gp_args a;
    enum gpm_status st = gp_args_read(c, &a);
    if (st != GPM_OK) return st;
    st = gp_propose(e->gp, a.k, a.m, a.noise, log_joint);
    gp_args_release(&a);
    if (st != GPM_OK) return st == GPM_E_USER ? st : args_error(c, NULL);
    e->old = (struct gp_args){kern_ref(gp_kern(e->gp)),
                              gp_mean(e->gp) ? mean_ref(gp_mean(e->gp)) : NULL, gp_noise(e->gp)};
    e->pending = true;
    e->hardened = false;
    return GPM_OK;
}

static void em_accept(void *p) {
    struct gp_em *e = p;
    if (!e->hardened) gp_accept(e->gp);
    gp_args_release(&e->old);
    e->pending = e->hardened = false;
}

static void em_reject(void *p) {
    struct gp_em *e = p;
    if (!e->hardened)
        gp_reject(e->gp);
    else if (gp_set_model(e->gp, e->old.k, e->old.m, e->old.noise) != GPM_OK)
        gp_reject(e->gp);
    gp_args_release(&e->old);
    e->pending = e->hardened = false;
}

static enum gpm_status em_gradient(void *p, struct sp_call *c, value *dargs) {
    return gp_args_gradient(c, ((struct gp_em *)p)->gp, 1, dargs);
}

static size_t em_n_pairs(void *p) {
    return gp_npairs(((struct gp_em *)p)->gp);
}

static void em_pair(void *p, size_t i, double *x, double *y) {
    gp_pair(((struct gp_em *)p)->gp, i, x, y);
}

const struct emulator_class gp_emulator = {.name = "Gaussian process",
                                           .sample = em_sample,
                                           .conditional = em_conditional,
                                           .add = em_add,
                                           .remove = em_remove,
                                           .log_joint = em_log_joint,
                                           .error = em_error,
                                           .n_pairs = em_n_pairs,
                                           .pair = em_pair,
                                           .propose = em_propose,
                                           .accept = em_accept,
                                           .reject = em_reject,
                                           .gradient = em_gradient,
                                           .copy = em_copy,
                                           .free = em_free,
                                           .make = em_make,
                                           .check = em_check};
