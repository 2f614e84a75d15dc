/* SPDX-License-Identifier: Apache-2.0
 * Life of a GP, its two model slots, likelihood and gradient; contracts in gp.h. */
#include "gp/process/gp_engine.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

#include <math.h>
#include <string.h>

enum { SLOPES_FOLLOW = 2 }; /* gradients that nobody asked for before they are given up */

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
    s->used = GP_EXACT;
    s->error = 0;
    gp_kept_release(&s->kept);
    s->kept.asked = s->counted = 0;
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
    g->structured = GP_SHORTCUTS;
    g->approx_size = 256;
    g->slot[0].used = g->slot[1].used = GP_EXACT;
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
    c->structured = g->structured;
    c->integrated = g->integrated;
    c->apart = g->apart;
    c->roams = g->roams;
    c->approx = g->approx;
    c->approx_size = g->approx_size;
    c->filtered = g->filtered;
    c->device = g->device;
    enum gpm_status st = gp_copy_data(c, g);
    /* what is integrated is solved anew; what lies on a device is built there again */
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

void gp_set_structured(struct gp *g, unsigned shortcuts) {
    g->structured = shortcuts;
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
    if (!g->structured || g->dim > 1) return x;
    const struct gp_places *p = gp_places(g);
    if (p->n == 0) return x;
    x.step = p->step;
    x.grid = p->n;
    x.place = p->in_order ? NULL : p->place;
    return x;
}

/* ---- computing ---- */

enum gpm_status gp_slot_residual(struct gp *g, struct gp_slot *s) {
    if (s->have_r) return GPM_OK;
    enum gpm_status st = gp_residual_from(g, s, 0);
    s->have_r = !st;
    return st;
}

enum gpm_status gp_slot_factor(struct gp *g, struct gp_slot *s) {
    if (s->have_factor) return GPM_OK;
    if (s->singular) return GPM_E_NOT_PD;
    enum gpm_status st = gp_engine_choose(g, s, &s->engine);
    if (!st) st = s->engine->factor(g, s);
    s->singular = st == GPM_E_NOT_PD;
    s->have_factor = !st;
    s->have_w = false;
    if (!s->have_logml && s->engine) s->method = s->engine->method;
    return st;
}

enum gpm_status gp_slot_solve(struct gp *g, struct gp_slot *s) {
    enum gpm_status st = gp_slot_factor(g, s);
    if (st || s->have_w) return st;
    st = gp_slot_residual(g, s);
    if (st) return st;
    if (g->n) memcpy(s->w, s->r, g->n * sizeof *s->w);
    st = s->engine->solve(g, s, false, s->w);
    gp_drop_view(g);
    if (!st && g->integrated) st = gp_integrate(g, s);
    s->have_w = !st;
    return st;
}

static void clear_slopes(const struct gp_slot *s, const struct gp_slopes *want) {
    memset(want->dkern, 0, kern_nparam(s->kern) * sizeof *want->dkern);
    if (want->dnoise) *want->dnoise = 0;
    for (size_t i = 0; want->dmean && i < mean_nparam(s->mean); i++) want->dmean[i] = 0;
}

/* The exact ways that need no n x n matrix, fastest first. *done is false where none serves. What
 * the caller asked for by name goes before them, and so does a factor that is there. Of data that
 * grow a filter's likelihood can be gone on with: there it is as fast from the second one on. */
static enum gpm_status without_matrix(struct gp *g, struct gp_slot *s, const struct gp_slopes *want,
                                      bool *done) {
    *done = s->have_quad = false;
    if (s->have_factor || gp_approx_asked(g)) return GPM_OK;
    bool grown = s->counted && s->counted < g->n, alone = g->filtered && gp_approximates(g);
    s->counted = g->n;
    enum gpm_status st = GPM_OK;
    if (grown || alone || !gp_grid_first(g))
        st = gp_states_logml(g, s, grown ? GP_BESIDE_FACTOR : GP_BESIDE_GRID, want, done);
    if (st || *done) return st;
    if (alone) return GPM_E_LIMIT;
    if (want) clear_slopes(s, want);
    st = gp_grid_logml(g, s, want, done);
    if (st || *done) return st;
    if (want) clear_slopes(s, want);
    return gp_states_logml(g, s, GP_BESIDE_FACTOR, want, done);
}

/* Small processes of fibres that compute many of them go to the card together. A trajectory wants
 * the gradient where it has asked for the likelihood: it then comes with it. */
static enum gpm_status on_meeting(struct gp *g, struct gp_slot *s, bool slopes, bool *done) {
    struct gp_job t = {.g = g, .s = s, .slopes = slopes};
    *done = slopes && s->have_logml && s->have_slopes;
    if (*done || !gp_meeting() || !gp_job_fits(&t)) return GPM_OK;
    enum gpm_status st = gp_meet(&t);
    *done = t.done;
    return st;
}

/* log N(ybar; m, K) + the replicates' part. */
enum gpm_status gp_slot_logml(struct gp *g, struct gp_slot *s) {
    if (s->have_logml) return s->singular ? GPM_E_NOT_PD : GPM_OK;
    s->have_slopes = false;
    if (gp_contradicts(g, s->noise)) {
        s->logml = -INFINITY;
        s->have_logml = true;
        return GPM_OK;
    }
    bool done;
    enum gpm_status st = on_meeting(g, s, g->slopes_follow > 0, &done);
    if (st || done) return st;
    st = without_matrix(g, s, NULL, &done);
    if (!st && !done && gp_approximates(g)) return gp_slot_approx(g, s);
    if (st || done) {
        s->have_logml = !st;
        return st;
    }
    st = gp_slot_solve(g, s);
    if (st && st != GPM_E_NOT_PD) return st;
    if (st)
        s->logml = -INFINITY;
    else if (g->integrated)
        s->logml = gp_integrated_logml(g, s);
    else
        s->logml = -0.5 * (vec_ops()->dot(g->n, s->w, s->w) + s->engine->logdet(s) +
                           (double)g->n * LOG_2PI) +
                   gp_replicate_term(g, s->noise);
    if (isnan(s->logml)) s->logml = -INFINITY;
    s->have_logml = true;
    return st;
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
        s->used = GP_EXACT;
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
    size_t n = g->n, nmean = dmean ? mean_nparam(s->mean) : 0;
    struct gp_slopes want = {weight, dkern, nmean ? dmean : NULL, dnoise};
    bool approx = gp_approximates(g), done = false;
    enum gpm_status st = GPM_OK;
    clear_slopes(s, &want);
    if (weight == 1 && !nmean) st = on_meeting(g, s, true, &done);
    if (done) {
        gp_slot_slopes(g, s, dkern, dnoise);
        g->slopes_follow = SLOPES_FOLLOW;
    }
    if (!st && !done && !gp_contradicts(g, s->noise)) st = without_matrix(g, s, &want, &done);
    if (done) {
        s->have_logml = true;
        *logml = s->logml;
    }
    if (st || done) return st;
    clear_slopes(s, &want);
    if (!approx) st = gp_slot_factor(g, s); /* the likelihood then uses it */
    if (st && st != GPM_E_NOT_PD) return st;
    st = gp_slot_logml(g, s);
    if (!st || st == GPM_E_NOT_PD) *logml = s->logml;
    if (approx && weight != 1) return GPM_E_LIMIT;
    if (st || n == 0 || s->logml == -INFINITY) return st;
    if (approx) return gp_approx_grad(g, dkern, nmean ? dmean : NULL, dnoise);
    if ((st = gp_slot_solve(g, s))) return st;
    double *alpha;
    st = s->engine->gradient(g, s, &weight, dkern, s->noise > 0 ? dnoise : NULL, &alpha);
    if (st) return st;
    if (nmean) mean_grad(s->mean, gp_inputs(g), alpha, dmean);
    for (size_t i = 0; i < nmean; i++) dmean[i] *= sqrt(weight); /* alpha holds one of the two */
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
