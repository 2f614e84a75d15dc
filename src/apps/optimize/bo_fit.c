/* SPDX-License-Identifier: Apache-2.0
 * Choosing and fitting the model: kernels under the current warp, then warps under the best kernel,
 * by evidence (MAP density plus the warp's Jacobian). Every combination keeps its own parameters as
 * a warm start. Full fits on a schedule, of a single output with two iterations of the current
 * combination in between. */
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <string.h>

/* Evaluations from one full fit to the next: the rarer the later in the search, and the more
 * outputs there are. */
static size_t fit_every(const struct bo *b, size_t n) {
    if (b->K >= 8) return 4 + n / 4;
    if (b->K >= BO_MANY) return 2 + n / 10;
    if (b->n_obj > 1) return n <= 24 ? 2 : n <= 60 ? 5 : 8 + n / 16;
    return n <= 24 ? 1 : n <= 60 ? 3 : n <= 100 ? 5 : n / 16;
}

/* Of several outputs each has its own turn. */
static bool full_fit_due(const struct bo_output *o, size_t n) {
    size_t every = fit_every(o->b, n);
    if (o->n_full == 0) return true;
    return n >= o->n_full + every + (o->b->K > 1 && o->n_full <= 24 ? (size_t)o->k % every : 0);
}

/* Another combination is fitted when its turn has come: one that lost by much five times in a row
 * every sixteenth time, and of several outputs or many variables one of `count` at each fit. */
static bool challenges(const struct bo_output *o, const struct bo_combo *c, int i, int count) {
    if (c->lost >= 5 && o->fit_steps % 16) return false;
    bool few = o->b->K == 1 && o->b->D <= BO_MANY_DIMS,
         all = few || o->n_full == 0 || (o->b->K < BO_MANY && o->n_full <= 24);
    return all || (o->fits + (size_t)i) % (size_t)count == 0;
}

/* MIX and ADD need data; ADD is SE-like in one dimension; warps assume exact values. */
static bool allowed(const struct bo_output *o, enum bo_kern k, enum bo_warp w) {
    const struct bo *b = o->b;
    if ((k == BO_MIX || k == BO_ADD) && o->active.n < 2 * (size_t)b->D + 4) return false;
    if (k == BO_ADD && b->space->d < 2) return false;
    return w == BO_IDENTITY || (!b->opt.noisy && (w == BO_BILOG) == !o->goal.direction);
}

static void use_combo(struct bo_output *o, enum bo_kern k, enum bo_warp w) {
    struct bo_combo *c = &o->combo[k][w];
    size_t bytes = sizeof(double) * bo_model_size(&o->model);
    o->model.kind = k;
    if (!c->theta) {
        c->theta = mem_alloc(bytes);
        bo_model_prior(&o->model, NULL, c->theta);
        const struct bo_combo *known = &o->combo[o->kern][o->warp]; /* about the scales */
        if (known != c && known->theta) {
            memcpy(c->theta, known->theta, sizeof(double) * ((size_t)o->b->D + 1));
            if (o->model.fidelity >= 0) c->theta[o->b->D + 3] = known->theta[o->b->D + 3];
        }
    }
    memcpy(o->model.theta, c->theta, bytes);
}

/* Fits one combination and returns its log evidence. */
static double fit_combo(struct bo_output *o, enum bo_kern k, enum bo_warp w, int iterations) {
    struct bo_combo *c = &o->combo[k][w];
    use_combo(o, k, w);
    if (bo_load_outputs(o, w)) return -INFINITY;
    double nlp = bo_model_fit(&o->model, c->fitted           ? iterations
                                         : o->b->K < BO_MANY ? 30
                                         : o->n_full         ? 8
                                                             : 12);
    memcpy(c->theta, o->model.theta, sizeof(double) * bo_model_size(&o->model));
    c->fitted = true;
    return bo_log_jacobian(o, w) - nlp;
}

/* A second start from the prior; kept when it is better. */
static void restart(struct bo_output *o, double evidence, struct rng *r) {
    use_combo(o, o->kern, o->warp);
    if (bo_load_outputs(o, o->warp)) return;
    bo_model_prior(&o->model, r, o->model.theta);
    double other = bo_log_jacobian(o, o->warp) - bo_model_fit(&o->model, 12);
    if (other > evidence)
        memcpy(o->combo[o->kern][o->warp].theta, o->model.theta,
               sizeof(double) * bo_model_size(&o->model));
}

/* Kernels under the current warp, or warps under the current kernel: fits those worth a try, takes
 * the best. Returns the best evidence so far. */
static double choose(struct bo_output *o, bool kernels, double best) {
    int count = kernels ? BO_KERN_COUNT : BO_WARP_COUNT;
    int now = kernels ? (int)o->kern : (int)o->warp, taken = now;
    double evidence[BO_KERN_COUNT];
    struct bo_combo *combo[BO_KERN_COUNT] = {NULL};
    for (int i = 0; i < count; i++) {
        enum bo_kern k = kernels ? (enum bo_kern)i : o->kern;
        enum bo_warp w = kernels ? o->warp : (enum bo_warp)i;
        struct bo_combo *c = &o->combo[k][w];
        if (i == now ? !kernels : !challenges(o, c, i, count))
            continue; /* the current one was fitted as a kernel */
        if (!allowed(o, k, w)) continue;
        combo[i] = c;
        evidence[i] = fit_combo(o, k, w, o->b->K < BO_MANY ? 6 : 4);
        if (evidence[i] > best) best = evidence[i], taken = i;
    }
    for (int i = 0; i < count; i++)
        if (combo[i]) combo[i]->lost = evidence[i] < best - 10 ? combo[i]->lost + 1 : 0;
    if (kernels)
        o->kern = (enum bo_kern)taken;
    else
        o->warp = (enum bo_warp)taken;
    return best;
}

/* Ten steps of the Markov chain of this combination; it starts again at the MAP when it is far. */
static void sample_theta(struct bo_output *o, struct rng *r) {
    struct bo_combo *c = &o->combo[o->kern][o->warp];
    struct bo_model *m = &o->model;
    size_t bytes = sizeof(double) * bo_model_size(&o->model);
    double map = bo_model_nlp(m, c->theta, NULL), nlp = INFINITY;
    if (c->chain)
        nlp = bo_model_nlp(m, c->chain, NULL);
    else
        c->chain = mem_alloc(bytes);
    if (!(nlp <= map + 3 + bo_model_params(m))) {
        memcpy(c->chain, c->theta, bytes);
        nlp = map;
    }
    memcpy(m->theta, c->chain, bytes);
    bo_model_mcmc(m, 10, &nlp, r);
    memcpy(c->chain, m->theta, bytes);
}

static bool wants_mcmc(const struct bo *b) {
    return b->opt.mcmc == 1 || (b->opt.mcmc < 0 && b->opt.noisy && b->D <= 2);
}

/* The points for the model, by the scales known so far; before any, by the prior's. */
static void choose_points(struct bo_output *o) {
    double *theta = NEW_ARRAY(double, bo_model_size(&o->model));
    const struct bo_combo *c = &o->combo[o->kern][o->warp];
    bo_model_prior(&o->model, NULL, theta);
    bo_load_points(o, c->theta ? c->theta : theta);
    mem_free(theta);
}

/* The current combination, ready for predictions. */
static enum gpm_status settle(struct bo_output *o, struct rng *r) {
    use_combo(o, o->kern, o->warp);
    enum gpm_status s = bo_load_outputs(o, o->warp);
    if (s) return s;
    if (r && wants_mcmc(o->b)) sample_theta(o, r);
    s = bo_model_factor(&o->model);
    return s ? s : bo_loud_learn(o);
}

static enum gpm_status refit_one(struct bo_output *o, struct rng *r) {
    size_t n = o->b->told;
    bo_loud_off(o);
    choose_points(o);
    o->fit_steps++;
    if (full_fit_due(o, n)) {
        double best = choose(o, false, choose(o, true, -INFINITY));
        if (n <= 24 && o->fit_steps % 2 == 1) restart(o, best, r);
        o->n_full = n;
        o->fits++;
    } else if (o->b->K == 1 && n % (1 + n / (o->b->D > BO_MANY_DIMS ? 20 : 50)) == 0) {
        fit_combo(o, o->kern, o->warp, 2);
    }
    return settle(o, r);
}

enum gpm_status bo_refit(struct bo *b, struct rng *r) {
    enum gpm_status s = GPM_OK;
    for (int k = 0; k < b->K && !s; k++) s = refit_one(&b->out[k], r);
    return s;
}

enum gpm_status bo_ensure_model(struct bo_output *o) {
    bo_loud_off(o);
    choose_points(o);
    if (!o->combo[o->kern][o->warp].fitted) fit_combo(o, o->kern, o->warp, 30);
    return settle(o, NULL);
}
