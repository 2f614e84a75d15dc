/* SPDX-License-Identifier: Apache-2.0
 * Choosing and fitting the model: kernels under the current warp, then warps under the best kernel,
 * by evidence (MAP density plus the warp's Jacobian). Every combination keeps its own parameters as
 * a warm start. Full fits on a schedule (every evaluation to 24, every third to 60, then every
 * fifth), two iterations of the current combination in between. */
#include "optimize/bo_priv.h"

#include <math.h>
#include <string.h>

static bool full_fit_due(const struct bo *b, size_t n) {
    if (b->n_full == 0 || n <= 24) return true;
    return n >= b->n_full + (n <= 60 ? 3 : 5);
}

/* MIX and ADD need data; ADD is SE-like in one dimension; warps assume exact values. */
static bool allowed(const struct bo *b, enum bo_kern k, enum bo_warp w) {
    if ((k == BO_MIX || k == BO_ADD) && b->active.n < 2 * (size_t)b->D + 4) return false;
    if (k == BO_ADD && b->space->d < 2) return false;
    return w == BO_IDENTITY || !b->opt.noisy;
}

static void use_combo(struct bo *b, enum bo_kern k, enum bo_warp w) {
    struct bo_combo *c = &b->combo[k][w];
    size_t bytes = sizeof(double) * ((size_t)b->D + 3);
    b->model.kind = k;
    if (!c->theta) {
        c->theta = mem_alloc(bytes);
        bo_model_prior(&b->model, NULL, c->theta);
        const struct bo_combo *known = &b->combo[b->kern][b->warp]; /* about the scales */
        if (known != c && known->theta)
            memcpy(c->theta, known->theta, sizeof(double) * ((size_t)b->D + 1));
    }
    memcpy(b->model.theta, c->theta, bytes);
}

/* Fits one combination and returns its log evidence. */
static double fit_combo(struct bo *b, enum bo_kern k, enum bo_warp w, int iterations) {
    struct bo_combo *c = &b->combo[k][w];
    use_combo(b, k, w);
    if (bo_load_outputs(b, w)) return -INFINITY;
    double nlp = bo_model_fit(&b->model, c->fitted ? iterations : 30);
    memcpy(c->theta, b->model.theta, sizeof(double) * ((size_t)b->D + 3));
    c->fitted = true;
    return bo_log_jacobian(b, w) - nlp;
}

/* A second start from the prior; kept when it is better. */
static void restart(struct bo *b, double evidence, struct rng *r) {
    use_combo(b, b->kern, b->warp);
    if (bo_load_outputs(b, b->warp)) return;
    bo_model_prior(&b->model, r, b->model.theta);
    double other = bo_log_jacobian(b, b->warp) - bo_model_fit(&b->model, 12);
    if (other > evidence)
        memcpy(b->combo[b->kern][b->warp].theta, b->model.theta,
               sizeof(double) * ((size_t)b->D + 3));
}

/* Kernels under the current warp, or warps under the current kernel: fits those worth a try, takes
 * the best. One that lost by much five times in a row is tried every sixteenth time. Returns the
 * best evidence so far. */
static double choose(struct bo *b, bool kernels, double best) {
    int count = kernels ? BO_KERN_COUNT : BO_WARP_COUNT;
    int now = kernels ? (int)b->kern : (int)b->warp, taken = now;
    double evidence[BO_KERN_COUNT];
    struct bo_combo *combo[BO_KERN_COUNT] = {NULL};
    for (int i = 0; i < count; i++) {
        enum bo_kern k = kernels ? (enum bo_kern)i : b->kern;
        enum bo_warp w = kernels ? b->warp : (enum bo_warp)i;
        struct bo_combo *c = &b->combo[k][w];
        bool due = c->lost < 5 || b->fit_steps % 16 == 0;
        if (i == now ? !kernels : !due) continue; /* the current one was fitted as a kernel */
        if (!allowed(b, k, w)) continue;
        combo[i] = c;
        evidence[i] = fit_combo(b, k, w, 6);
        if (evidence[i] > best) best = evidence[i], taken = i;
    }
    for (int i = 0; i < count; i++)
        if (combo[i]) combo[i]->lost = evidence[i] < best - 10 ? combo[i]->lost + 1 : 0;
    if (kernels)
        b->kern = (enum bo_kern)taken;
    else
        b->warp = (enum bo_warp)taken;
    return best;
}

/* Ten steps of the Markov chain of this combination; it starts again at the MAP when it is far. */
static void sample_theta(struct bo *b, struct rng *r) {
    struct bo_combo *c = &b->combo[b->kern][b->warp];
    struct bo_model *m = &b->model;
    size_t bytes = sizeof(double) * ((size_t)b->D + 3);
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
static void choose_points(struct bo *b) {
    double *theta = NEW_ARRAY(double, (size_t)b->D + 3);
    const struct bo_combo *c = &b->combo[b->kern][b->warp];
    bo_model_prior(&b->model, NULL, theta);
    bo_load_points(b, c->theta ? c->theta : theta);
    mem_free(theta);
}

/* The current combination, ready for predictions. */
static enum gpm_status settle(struct bo *b, struct rng *r) {
    use_combo(b, b->kern, b->warp);
    enum gpm_status s = bo_load_outputs(b, b->warp);
    if (s) return s;
    if (r && wants_mcmc(b)) sample_theta(b, r);
    return bo_model_factor(&b->model);
}

enum gpm_status bo_refit(struct bo *b, struct rng *r) {
    size_t n = b->told;
    choose_points(b);
    b->fit_steps++;
    if (full_fit_due(b, n)) {
        double best = choose(b, false, choose(b, true, -INFINITY));
        if (n <= 24 && b->fit_steps % 2 == 1) restart(b, best, r);
        b->n_full = n;
    } else {
        fit_combo(b, b->kern, b->warp, 2);
    }
    return settle(b, r);
}

enum gpm_status bo_ensure_model(struct bo *b) {
    choose_points(b);
    if (!b->combo[b->kern][b->warp].fitted) fit_combo(b, b->kern, b->warp, 30);
    return settle(b, NULL);
}
