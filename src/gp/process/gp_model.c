/* SPDX-License-Identifier: Apache-2.0
 * Life of a GP, its two model slots, likelihood and gradient; contracts in gp.h. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

/* ---- slots ---- */

static void slot_set(struct gp_slot *s, const struct kern *k, const struct mean *m, double noise) {
    struct kern *kern = kern_ref(k);
    struct mean *mean = mean_ref(m);
    kern_unref(s->kern);
    mean_unref(s->mean);
    s->kern = kern;
    s->mean = mean;
    s->noise = noise;
}

void gp_slot_forget(struct gp_slot *s) {
    s->have_factor = s->have_r = s->have_w = s->have_logml = s->singular = false;
    s->used = NULL;
    s->error = 0;
    gp_kept_release(&s->kept);
    s->asked = s->counted = 0;
}

static void slot_release(struct gp_slot *s) {
    kern_unref(s->kern);
    mean_unref(s->mean);
    gp_engines_release(s);
    mem_free(s->r);
    mem_free(s->w);
    mem_free(s->u);
    mem_free(s->slopes);
    inducing_release(&s->low);
    kern_unref(s->smooth);
    gp_kept_release(&s->kept);
}

static bool model_fits(int dim, const struct kern *k, double noise, char **why) {
    const char *bad = NULL;
    if (dim < 1)
        bad = "the dimension must be 1 or more: inputs have at least one column";
    else if (!(noise >= 0) || !isfinite(noise))
        bad = "the noise must be a finite number, zero or positive";
    else if (!kern_in_range(noise))
        bad = "the noise must be " KERN_RANGE_TEXT;
    if (bad && why) *why = mem_strdup(bad);
    return !bad && kern_check_dim(k, dim, why) == GPM_OK;
}

struct gp *gp_new(int dim, const struct kern *k, const struct mean *mean, double noise,
                  char **why) {
    if (!model_fits(dim, k, noise, why)) return NULL;
    struct gp *g = NEW(struct gp);
    g->dim = dim;
    g->device = gp_device();
    g->ways = GP_EXACT_WAYS;
    g->approx_size = 256;
    g->cache.budget = (size_t)128 << 20;
    slot_set(&g->slot[0], k, mean, noise);
    return g;
}

void gp_free(struct gp *g) {
    if (!g) return;
    slot_release(&g->slot[0]);
    slot_release(&g->slot[1]);
    gp_cache_clear(&g->cache);
    map_release(&g->index);
    vec_release(&g->pairs);
    vecchia_release(&g->vecchia);
    gp_timeline_release(g);
    gp_drop_view(g);
    void *owned[] = {g->x, g->at, g->row, g->places.place, g->solved.v, g->solved.x, g->work, g};
    for (size_t i = 0; i < COUNT_OF(owned); i++) mem_free(owned[i]);
}

/* The factor is copied, so the copy costs O(n^2). */
enum gpm_status gp_copy_under(const struct gp *g, const struct gp *model, struct gp **out) {
    const struct gp_slot *s = &g->slot[g->cur], *m = &model->slot[model->cur];
    struct gp *c = gp_new(g->dim, m->kern, m->mean, s->noise, NULL);
    struct gp_slot *t = gp_current(c);
    c->cache.budget = g->cache.budget;
    c->ways = g->ways;
    c->integrated = g->integrated;
    c->apart = g->apart;
    c->roams = g->roams;
    c->approx = g->approx;
    c->approx_size = g->approx_size;
    c->filtered = g->filtered;
    c->device = g->device;
    enum gpm_status st = gp_copy_data(c, g);
    /* what is integrated is solved again, and what lies on a device is built there again */
    bool solved = s->have_factor && s->engine == &gp_engine_cpu && !g->integrated;
    if (!st && solved) st = chol_copy(&t->f, &s->f);
    if (!st && solved) {
        t->have_factor = true;
        t->engine = s->engine;
        if (s->have_r && g->n) memcpy(t->r, s->r, g->n * sizeof *t->r);
        if (s->have_w && g->n) memcpy(t->w, s->w, g->n * sizeof *t->w);
        t->have_r = s->have_r;
        t->have_w = s->have_w;
    }
    t->method = s->method;
    t->error = s->error;
    if (s->method == s->kept.label)
        t->method = memcpy(t->kept.label, s->kept.label, sizeof t->kept.label);
    t->logml = s->logml;
    t->have_logml = s->have_logml && !g->integrated;
    t->singular = t->have_logml && s->singular;
    if (st)
        gp_free(c);
    else
        *out = c;
    return st;
}

enum gpm_status gp_copy(const struct gp *g, struct gp **out) {
    return gp_copy_under(g, g, out);
}

const struct kern *gp_kern(const struct gp *g) {
    return g->slot[g->cur].kern;
}
const struct mean *gp_mean(const struct gp *g) {
    return g->slot[g->cur].mean;
}
double gp_noise(const struct gp *g) {
    return g->slot[g->cur].noise;
}
int gp_dim(const struct gp *g) {
    return g->dim;
}

void gp_set_budget(struct gp *g, size_t bytes) {
    g->cache.budget = bytes;
    gp_cache_clear(&g->cache);
}

void gp_set_ways(struct gp *g, unsigned ways) {
    g->ways = ways;
    gp_slot_forget(gp_current(g));
    gp_cache_clear(&g->cache);
}

void gp_set_apart(struct gp *g) {
    g->apart = true;
}

void gp_set_roaming(struct gp *g) {
    g->roams = true;
}

void gp_set_filtered(struct gp *g, size_t above) {
    g->filtered = above;
    gp_slot_forget(gp_current(g));
}

double *gp_work(struct gp *g, size_t n) {
    if (n <= g->nwork) return g->work;
    mem_free(g->work);
    g->work = mem_try_doubles(n);
    g->nwork = g->work ? n : 0;
    return g->work;
}

struct kern_pts gp_inputs(const struct gp *g) {
    return (struct kern_pts){.x = g->x, .n = g->n, .ld = g->cap, .dim = g->dim, .distinct = true};
}

struct kern_pts gp_points(struct gp *g) {
    struct kern_pts x = gp_inputs(g);
    if (!(g->ways & (GP_TOEPLITZ | GP_FILTERS)) || g->dim > 1) return x;
    const struct gp_places *p = gp_places(g);
    if (p->n == 0) return x;
    x.step = p->step;
    x.grid = p->n;
    x.place = p->in_order ? NULL : p->place;
    return x;
}

/* ---- computing ---- */

/* After an answer: what cannot be factored has a likelihood, too. */
static enum gpm_status known(struct gp_slot *s, enum gpm_status st) {
    s->singular = st == GPM_E_NOT_PD;
    if ((s->singular && !s->have_logml) || isnan(s->logml)) s->logml = -INFINITY;
    s->have_logml = !st || s->singular;
    return st;
}

enum gpm_status gp_slot_residual(struct gp *g, struct gp_slot *s) {
    if (s->have_r) return GPM_OK;
    enum gpm_status st = gp_residual_from(g, s, 0);
    s->have_r = !st;
    return st;
}

enum gpm_status gp_slot_logml(struct gp *g, struct gp_slot *s) {
    struct gp_question q = {.g = g, .s = s, .asked = GP_VALUE};
    enum gpm_status st = GPM_OK;
    if (s->have_logml) return s->singular ? GPM_E_NOT_PD : GPM_OK;
    s->have_slopes = false;
    if (gp_contradicts(g, s->noise))
        s->logml = -INFINITY;
    else
        st = gp_answer(&q);
    return known(s, st);
}

enum gpm_status gp_logml(struct gp *g, double *out) {
    struct gp_slot *s = gp_current(g);
    enum gpm_status st = gp_slot_logml(g, s);
    if (!st || st == GPM_E_NOT_PD) *out = s->logml;
    return st;
}

bool gp_factored(const struct gp *g) {
    return g->slot[g->cur].have_factor;
}

enum gpm_status gp_quadratic(struct gp *g, bool proposed, double *out) {
    struct gp_slot *s = &g->slot[proposed && g->proposed ? !g->cur : g->cur];
    bool known = s->have_logml && s->have_quad && !s->singular;
    enum gpm_status st = known ? GPM_OK : gp_slot_solve(g, s);
    if (st) return st;
    *out = known ? s->quad : vec_ops()->dot(g->n, s->w, s->w);
    for (size_t i = 0; i < g->n && s->noise > 0; i++) *out += g->at[i].ss / (s->noise * s->noise);
    return GPM_OK;
}

enum gpm_status gp_set_model(struct gp *g, const struct kern *k, const struct mean *mean,
                             double noise) {
    if (!model_fits(g->dim, k, noise, NULL)) return GPM_E_ARG;
    gp_reject(g);
    struct gp_slot *s = gp_current(g);
    bool same = kern_equal(s->kern, k) && s->noise == noise;
    bool same_mean = mean_equal(s->mean, mean);
    slot_set(s, k, mean, noise);
    gp_drop_view(g);
    if (!same) gp_slot_forget(s);
    if (!same_mean) {
        s->have_r = s->have_w = s->have_logml = false;
        s->used = NULL;
    }
    return GPM_OK;
}

void gp_forget(struct gp *g) {
    gp_reject(g);
    gp_slot_forget(gp_current(g));
}

enum gpm_status gp_proposed(struct gp *g, const struct kern *k, const struct mean *mean,
                            double noise, struct gp_slot **out) {
    struct gp_slot *s = *out = &g->slot[!g->cur];
    if (!model_fits(g->dim, k, noise, NULL)) return GPM_E_ARG;
    if (s->have_slopes && !s->asked_slopes && g->slopes_follow) g->slopes_follow--;
    bool same_mean = s->have_r && mean_equal(s->mean, mean); /* the residuals stay */
    slot_set(s, k, mean, noise);
    gp_slot_forget(s);
    s->have_r = same_mean;
    g->proposed = true;
    return GPM_OK;
}

enum gpm_status gp_propose(struct gp *g, const struct kern *k, const struct mean *mean,
                           double noise, double *logml) {
    struct gp_slot *s;
    enum gpm_status st = gp_proposed(g, k, mean, noise, &s);
    if (st) return st;
    st = gp_slot_logml(g, s);
    if (st && st != GPM_E_NOT_PD) {
        gp_reject(g);
        return st;
    }
    *logml = s->logml;
    return GPM_OK;
}

void gp_accept(struct gp *g) {
    if (g->proposed) g->cur = !g->cur;
    g->proposed = false;
    gp_drop_view(g);
}

void gp_reject(struct gp *g) {
    g->proposed = false;
}

static enum gpm_status current_grad(struct gp *g, double weight, double *logml, double *dkern,
                                    double *dmean, double *dnoise) {
    struct gp_slot *s = gp_current(g);
    struct gp_slopes want = {weight, dkern, mean_nparam(s->mean) ? dmean : NULL, dnoise};
    struct gp_question q = {.g = g, .s = s, .asked = GP_SLOPES, .want = &want};
    gp_clear_slopes(s, &want);
    bool never = gp_contradicts(g, s->noise);
    enum gpm_status st = never ? gp_slot_logml(g, s) : known(s, gp_answer(&q));
    if (s->have_logml) *logml = s->logml;
    return st;
}

enum gpm_status gp_grad_weighted(struct gp *g, double weight, double *logml, double *dkern,
                                 double *dmean, double *dnoise) {
    bool proposed = g->proposed;
    if (proposed) g->cur = !g->cur;
    enum gpm_status st = current_grad(g, weight, logml, dkern, dmean, dnoise);
    if (proposed) g->cur = !g->cur;
    return st;
}

enum gpm_status gp_logml_grad(struct gp *g, double *logml, double *dkern, double *dnoise) {
    return gp_grad_weighted(g, 1, logml, dkern, NULL, dnoise);
}
