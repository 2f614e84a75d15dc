/* SPDX-License-Identifier: Apache-2.0
 * When and how a GP uses an approximation; contracts in gp.h and gp_approx.h. */
#include "gp/process/gp_engine.h"
#include "gp/way/gp_low_rank.h"
#include "gp/kernel/kern_tree.h"

#include "base/mem.h"
#include "io/gpu/gpu.h"

#include <math.h>
#include <string.h>

/* Automatic choice: inducing points serve when they lose less than this, in nats, else whichever of
 * the two loses less by its own account. */
#define LOSS_SMALL 0.05

void gp_set_approx(struct gp *g, enum gp_approx kind, size_t size) {
    gp_reject(g);
    g->approx = kind;
    size_t usual = kind == GP_INDUCING ? 512 : kind == GP_LOW_RANK ? LOW_RANK_MOST : 256;
    g->approx_size = size ? size : usual;
    gp_slot_forget(&g->slot[0]);
    gp_slot_forget(&g->slot[1]);
    g->vecchia.n = 0;
}

bool gp_approximates(const struct gp *g) {
    if (g->approx == GP_AUTO) return g->n > gp_exact_max(g);
    return g->approx != GP_EXACT && g->n > 0;
}

double gp_approx_error(const struct gp *g) {
    double worst = 0;
    for (int i = 0; i < 2; i++) {
        const struct gp_slot *s = &g->slot[i];
        if (s->have_logml && (i == g->cur || g->proposed)) worst = fmax(worst, s->error);
    }
    return worst;
}

static bool white_term(const struct kern *t) {
    return kern_is_white(t) && !t->ncol;
}

/* White noise by value on distinct inputs is noise per point: *extra gets its variance, the result
 * is the kernel of the rest. Inducing points cannot carry it. */
struct kern *gp_without_white(const struct kern *k, double *extra) {
    VEC(struct kern *) rest = {0};
    *extra = 0;
    for (size_t i = 0; i < kern_nparts(k, KERN_SUM); i++) {
        struct kern *t = kern_part(k, KERN_SUM, i);
        if (white_term(t))
            *extra += kern_amplitude(t);
        else
            vec_push(&rest, t);
    }
    struct kern *out = rest.n ? kern_nary(KERN_SUM, rest.at, rest.n) : kern_constant(0);
    vec_release(&rest);
    return out;
}

/* The data as an approximation of the kernel sees them, or (smooth) of the kernel without white
 * noise, which is noise then. The caller frees d.noise. */
static struct approx_data data_of(struct gp *g, const struct gp_slot *s, bool smooth) {
    struct approx_data d = {smooth ? s->smooth : s->kern, gp_points(g), s->r,
                            NEW_ARRAY(double, g->n + 1)};
    for (size_t i = 0; i < g->n; i++)
        d.noise[i] = s->noise * s->noise * gp_share(g, i) + (smooth ? s->white : 0);
    d.x.step = 0;
    return d;
}

static enum gpm_status build_inducing(struct gp *g, struct gp_slot *s) {
    kern_unref(s->smooth);
    s->smooth = gp_without_white(s->kern, &s->white);
    struct approx_data d = data_of(g, s, true);
    size_t size = g->approx == GP_AUTO ? 512 : g->approx_size;
    enum gpm_status st = inducing_build(&s->low, &d, NULL, size, &s->logml, NULL);
    mem_free(d.noise);
    return st;
}

static const struct low_rank_ops *low_rank_ops(const struct gp *g) {
    return g->device == GP_ON_CPU ? &low_rank_cpu : &low_rank_gpu;
}

static enum gpm_status build_low_rank(struct gp *g, struct gp_slot *s) {
    kern_unref(s->smooth);
    s->smooth = gp_without_white(s->kern, &s->white);
    struct approx_data d = data_of(g, s, true);
    size_t most =
        g->approx == GP_AUTO || g->approx_size > LOW_RANK_MOST ? LOW_RANK_MOST : g->approx_size;
    enum gpm_status st =
        low_rank_build(g, low_rank_ops(g), &s->low, &d, most, &s->logml, &s->error);
    mem_free(d.noise);
    if (st != GPM_E_DEVICE || g->approx != GP_AUTO) return st;
    char *why = mem_strdup(gp_device_error());
    gpu_fail("%zu inputs are more than the GPU has memory for (about %zu), and %s", g->n,
             gp_device_most(), why);
    mem_free(why);
    return st;
}

static enum gpm_status build_vecchia(struct gp *g, struct gp_slot *s, double *error) {
    struct approx_data d = data_of(g, s, false);
    if (g->vecchia.n != g->n) vecchia_order(&g->vecchia, d.x, g->approx_size);
    enum gpm_status st = vecchia_logml(&g->vecchia, &d, &s->logml);
    if (!st) st = vecchia_error(&g->vecchia, &d, error);
    mem_free(d.noise);
    return st;
}

enum gpm_status gp_slot_approx(struct gp *g, struct gp_slot *s) {
    if (s->used != GP_EXACT) return GPM_OK;
    enum gp_approx kind = g->approx != GP_AUTO     ? g->approx
                          : g->device == GP_ON_CPU ? GP_INDUCING
                                                   : GP_LOW_RANK;
    double other = 0;
    enum gpm_status st = gp_slot_residual(g, s);
    if (!st && kind == GP_LOW_RANK) st = build_low_rank(g, s);
    if (st == GPM_E_DEVICE && g->approx == GP_AUTO && g->device == GP_ON_ANY) {
        kind = GP_INDUCING;
        st = GPM_OK;
    }
    if (!st && kind == GP_INDUCING) st = build_inducing(g, s);
    if (kind != GP_LOW_RANK) s->error = kind == GP_INDUCING && !st ? s->low.loss : INFINITY;
    if (g->approx == GP_AUTO && kind == GP_INDUCING &&
        (st == GPM_E_NOT_PD || s->error > LOSS_SMALL))
        kind = GP_VECCHIA;
    if (kind == GP_VECCHIA && (!st || st == GPM_E_NOT_PD)) {
        double low = s->logml;
        st = build_vecchia(g, s, &other);
        if (other > s->error) { /* inducing points after all */
            kind = GP_INDUCING;
            s->logml = low;
        } else
            s->error = other;
    }
    s->singular = st == GPM_E_NOT_PD;
    if (s->singular) s->logml = -INFINITY;
    if (st && st != GPM_E_NOT_PD) return st;
    if (!st) s->logml += gp_replicate_term(g, s->noise);
    s->used = kind;
    s->method = kind == GP_INDUCING   ? "inducing points (FITC)"
                : kind == GP_LOW_RANK ? low_rank_ops(g)->method
                                      : "Vecchia (block neighbours)";
    s->have_logml = true;
    return st;
}

/* Latent posterior at column-major points: mean (with the mean function), var or cov may be NULL.
 */
enum gpm_status gp_approx_posterior(struct gp *g, struct kern_pts xs, double *mean, double *var,
                                    double *cov, size_t ld) {
    struct gp_slot *s = gp_current(g);
    enum gpm_status st = gp_slot_approx(g, s);
    if (!st && mean) st = mean_eval(s->mean, xs, mean);
    if (!st && s->used != GP_VECCHIA) {
        st = inducing_predict(&s->low, s->smooth, xs, mean, var, cov, ld);
        for (size_t i = 0; i < xs.n && !st; i++) {
            if (var) var[i] += s->white;
            if (cov) cov[i * (ld + 1)] += s->white;
        }
    } else if (!st) {
        struct approx_data d = data_of(g, s, false);
        st = cov ? vecchia_joint(&g->vecchia, &d, xs, mean, cov, ld)
                 : vecchia_predict(&g->vecchia, &d, xs, mean, var);
        mem_free(d.noise);
    }
    return st;
}

/* From the parameters of the kernel without white noise to those of the whole: the terms are in the
 * same order, and the white ones have the derivative in the noise of all points. */
static void with_white(const struct kern *k, const double *smooth, double white, double *dkern) {
    for (size_t i = 0; i < kern_nparts(k, KERN_SUM); i++) {
        const struct kern *t = kern_part(k, KERN_SUM, i);
        if (white_term(t))
            *dkern = 2 * t->par[0] * white; /* variance sigma^2 */
        else {
            memcpy(dkern, smooth, t->total * sizeof *dkern);
            smooth += t->total;
        }
        dkern += t->total;
    }
}

/* In the parameters of the whole kernel: the smooth part's, and those of white noise. */
static enum gpm_status grad_inducing(struct gp *g, struct gp_slot *s, const struct approx_data *d,
                                     struct approx_slopes *out) {
    double *dkern = out->kern, white = 0;
    out->kern = mem_zalloc((kern_nparam(s->smooth) + 1) * sizeof *dkern);
    enum gpm_status st = inducing_grad(&s->low, d, out);
    for (size_t i = 0; i < g->n; i++) white += out->noise[i];
    if (!st) with_white(s->kern, out->kern, white, dkern);
    mem_free(out->kern);
    out->kern = dkern;
    return st;
}

/* dkern holds zeros; dmean, dnoise may be NULL. The chain from the points to the parameters: the
 * noise variance of entry i is noise^2 share_i, and the replicates' part has its own slope. */
enum gpm_status gp_approx_grad(struct gp *g, double *dkern, double *dmean, double *dnoise) {
    struct gp_slot *s = gp_current(g);
    enum gpm_status st = gp_slot_approx(g, s);
    if (st) return st;
    bool inducing = s->used != GP_VECCHIA; /* low rank: at the pivots */
    double *points = mem_zalloc(2 * g->n * sizeof *points);
    struct approx_slopes out = {dkern, points, points + g->n};
    struct approx_data d = data_of(g, s, inducing);
    st = inducing ? grad_inducing(g, s, &d, &out) : vecchia_grad(&g->vecchia, &d, &out);
    if (dnoise && s->noise > 0) {
        for (size_t i = 0; i < g->n; i++) *dnoise += 2 * s->noise * gp_share(g, i) * out.noise[i];
        *dnoise += gp_replicate_slope(g, s->noise, 1);
    }
    if (dmean) mean_grad(s->mean, gp_inputs(g), out.mean, dmean);
    mem_free(d.noise);
    mem_free(points);
    return st;
}
