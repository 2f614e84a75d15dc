/* SPDX-License-Identifier: Apache-2.0
 * When and how a GP uses an approximation; contracts in gp.h and gp_approx.h. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"
#include "gp/way/gp_low_rank.h"
#include "gp/kernel/kern_tree.h"

#include "base/mem.h"
#include "io/gpu/gpu.h"

#include <math.h>
#include <string.h>

void gp_set_approx(struct gp *g, enum gp_approx kind, size_t size) {
    gp_reject(g);
    g->approx = kind;
    size_t usual = kind == GP_INDUCING ? 512 : kind == GP_LOW_RANK ? LOW_RANK_MOST : 256;
    g->approx_size = size ? size : usual;
    gp_slot_forget(&g->slot[0]);
    gp_slot_forget(&g->slot[1]);
    g->vecchia.n = 0;
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

/* Latent posterior. */
static enum gpm_status points_of(struct gp_question *q) {
    struct gp *g = q->g;
    struct gp_slot *s = q->s;
    if (q->way != &gp_way_vecchia) {
        enum gpm_status st =
            inducing_predict(&s->low, s->smooth, q->xs, q->mean, q->var, q->cov, q->ld);
        for (size_t i = 0; i < q->xs.n && !st; i++) {
            if (q->var) q->var[i] += s->white;
            if (q->cov) q->cov[i * (q->ld + 1)] += s->white;
        }
        return st;
    }
    struct approx_data d = data_of(g, s, false);
    enum gpm_status st = q->cov ? vecchia_joint(&g->vecchia, &d, q->xs, q->mean, q->cov, q->ld)
                                : vecchia_predict(&g->vecchia, &d, q->xs, q->mean, q->var);
    mem_free(d.noise);
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

/* The chain from the points to the parameters: the noise variance of entry i is noise^2 share_i,
 * and the replicates' part has its own slope. */
static enum gpm_status slopes_of(struct gp_question *q) {
    bool neighbours = q->way == &gp_way_vecchia;
    struct gp *g = q->g;
    struct gp_slot *s = q->s;
    const struct gp_slopes *want = q->want;
    double *points = mem_zalloc(2 * g->n * sizeof *points);
    struct approx_slopes out = {want->dkern, points, points + g->n};
    struct approx_data d = data_of(g, s, !neighbours);
    enum gpm_status st =
        neighbours ? vecchia_grad(&g->vecchia, &d, &out) : grad_inducing(g, s, &d, &out);
    if (want->dnoise && s->noise > 0) {
        for (size_t i = 0; i < g->n; i++)
            *want->dnoise += 2 * s->noise * gp_share(g, i) * out.noise[i];
        *want->dnoise += gp_replicate_slope(g, s->noise, 1);
    }
    if (want->dmean) mean_grad(s->mean, gp_inputs(g), out.mean, want->dmean);
    mem_free(d.noise);
    mem_free(points);
    return st;
}

/* ---- the ways ---- */

/* SLOPES and POINTS come after the VALUE that has built it; those of low rank at its pivots. */
static enum gpm_status answer(struct gp_question *q, bool *done) {
    struct gp_slot *s = q->s;
    *done = true;
    if (q->asked == GP_JOINT) return gp_draw_joint(q);
    if (q->asked != GP_VALUE) return q->asked == GP_SLOPES ? slopes_of(q) : points_of(q);
    s->method = q->way == &gp_way_low_rank ? low_rank_ops(q->g)->method : q->way->name;
    enum gpm_status st = gp_slot_residual(q->g, s);
    if (st) return st;
    if (q->way == &gp_way_low_rank) return build_low_rank(q->g, s);
    if (q->way == &gp_way_vecchia) return build_vecchia(q->g, s, &s->error);
    st = build_inducing(q->g, s);
    s->error = st ? INFINITY : s->low.loss;
    return st;
}

/* n m^2, m the size, once and a half more for slopes. By itself a GPU approximates by low rank. */
static double cost(struct gp_question *q) {
    const struct gp *g = q->g;
    bool low = q->way == &gp_way_low_rank, automatic = g->approx == GP_AUTO;
    double m = low ? LOW_RANK_MOST : automatic && q->way == &gp_way_inducing ? 512 : g->approx_size;
    q->why = low ? "no GPU is asked for" : "a GPU is asked for";
    if (automatic && g->device == (low ? GP_ON_CPU : GP_ON_GPU)) return INFINITY;
    return (q->asked == GP_SLOPES ? 0.25 : 0.1) * (double)g->n * m * m;
}

enum {
    APPROXIMATE = GP_DOES_VALUE | GP_DOES_SLOPES | GP_DOES_POINTS | GP_DOES_COVARIANCE |
                  GP_DOES_DRAWS | GP_DOES_EXACT | GP_DOES_COLUMNS
};
const struct gp_way gp_way_inducing = GP_WAY("inducing points (FITC)", GP_INDUCING, APPROXIMATE, 0);
const struct gp_way gp_way_vecchia =
    GP_WAY("Vecchia (block neighbours)", GP_VECCHIA, APPROXIMATE, 0);
const struct gp_way gp_way_low_rank =
    GP_WAY("low rank and conjugate gradients", GP_LOW_RANK, APPROXIMATE, 0);
