/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidences of any space: from starts to modes, importance sampling.
 */
#include "apps/discover/space.h"
#include "base/mem.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

void evidence_free(struct evidence *e) {
    if (!e) return;
    mem_free(e->open);
    proposal_release(&e->prop);
    is_draws_release(&e->draws);
    if (e->item_free) e->item_free(e->item);
    mem_free(e->text);
    mem_free(e);
}

struct evidence *evidence_make(double log_prior) {
    struct evidence *e = NEW(struct evidence);
    e->log_prior = log_prior;
    e->laplace = e->logz = e->map = -INFINITY;
    e->se = INFINITY;
    return e;
}

/* ---- in a journal ---- */
/* A new field must be written, or set by the reader. */
PACK_SIZE(struct evidence, 528, "see computed_pack");

/* Only the ranked starts; the others are no longer used. */
static void starts_pack(struct pack *p, int d, struct fit_starts **open) {
    bool there = *open != NULL;
    pack_bool(p, &there);
    if (!there) return;
    if (p->reading) *open = fit_starts_new(d, FIT_MAX_POLISHED);
    struct fit_starts *s = *open;
    s->n = (int)pack_choice(p, (uint32_t)s->n, FIT_MAX_POLISHED + 1);
    for (int k = 0; k < s->n; k++) {
        if (p->reading) s->best[k].at = k;
        pack_double(p, &s->best[k].logp);
        pack_doubles(p, s->z + (size_t)(s->best[k].at * d), (size_t)d);
    }
}

static void computed_pack(struct pack *p, struct evidence *e) {
    uint64_t evals = (uint64_t)e->evals;
    pack_double(p, &e->log_prior);
    pack_double(p, &e->prior);
    pack_double(p, &e->log_copies);
    pack_double(p, &e->map);
    pack_double(p, &e->laplace);
    pack_double(p, &e->logz);
    pack_double(p, &e->se);
    pack_double(p, &e->ess);
    pack_bool(p, &e->rough);
    pack_bool(p, &e->lent);
    pack_u64(p, &evals);
    e->evals = (long)evals;
    proposal_pack(p, &e->prop);
    is_draws_pack(p, &e->draws);
    starts_pack(p, e->prop.d, &e->open);
}

static void computed_release(struct evidence *e) {
    mem_free(e->open);
    proposal_release(&e->prop);
    is_draws_release(&e->draws);
}

/* The owner knows the structure and its position in the search. */
void evidence_pack(struct pack *p, struct evidence *e) {
    if (!p->reading) {
        computed_pack(p, e);
        return;
    }
    struct evidence old = *e;
    memset(&e->prop, 0, sizeof e->prop);
    memset(&e->draws, 0, sizeof e->draws);
    e->open = NULL;
    computed_pack(p, e);
    if (!pack_ok(p)) {
        computed_release(e);
        *e = old;
    } else {
        computed_release(&old);
    }
}

/* ---- from starts to modes ---- */
/* What can be said before the optimum is found. */
static void set_rough(struct evidence *e, const struct density *t, const struct fit_rules *rules) {
    size_t size = sizeof(double) * (size_t)t->d;
    e->rough = true;
    e->map = e->open->best[0].logp;
    e->laplace = e->logz = e->map - rules->typical * t->d + e->log_copies;
    e->se = 2.0;
    e->prop.d = t->d;
    if (!e->prop.n) e->prop.mode[e->prop.n++].z = mem_alloc(size);
    memcpy(e->prop.mode[0].z, fit_best(t, e->open, 0), size);
}

/* What the optimum must reach for an evidence of `floor`. */
static double least_optimum(const struct density *t, double floor, const struct fit_rules *rules) {
    return floor + rules->least * t->d;
}

void evidence_begin(struct evidence *e, struct density t, int n, double floor,
                    const struct fit_rules *rules) {
    t.evals = &e->evals;
    fit_polish(&t, e->open, n, rules, least_optimum(&t, floor, rules));
    if (e->open->n) set_rough(e, &t, rules);
}

void evidence_finish(struct evidence *e, struct density t, double floor,
                     const struct fit_rules *rules) {
    struct fit_starts *s = e->open;
    if (!s) return;
    t.evals = &e->evals;
    floor = least_optimum(&t, floor, rules);
    if (s->n && s->best[0].logp < floor && s->best[0].logp > floor - rules->hope) {
        s->best[0].logp = fit_optimise(&t, fit_best(&t, s, 0), rules->again);
        set_rough(e, &t, rules);
    }
    if (s->n && s->best[0].logp >= floor) {
        struct proposal modes = {0};
        s->best[0].logp = fit_optimise(&t, fit_best(&t, s, 0), 150);
        int most = s->best[0].logp > floor + 5 ? s->n : 1;
        double map, laplace = fit_modes(&t, s, most, rules, &modes, &map);
        if (!modes.n && haste_now(t.haste)) return;
        proposal_release(&e->prop);
        e->prop = modes;
        e->rough = false;
        e->map = map;
        e->logz = e->laplace = laplace + e->log_copies;
        e->se = 0.3;
    }
    mem_free(s);
    e->open = NULL;
}

/* Replaces the modes by a single one at z; false: not a mode. */
static bool set_mode(struct evidence *e, const struct density *t, const double *z, double logp) {
    struct proposal old = e->prop;
    memset(&e->prop, 0, sizeof e->prop);
    double lap = isfinite(logp) ? proposal_add_mode(&e->prop, t, z) : -INFINITY;
    if (!isfinite(lap)) {
        e->prop = old;
        return false;
    }
    e->map = logp;
    e->laplace = e->logz = lap + e->log_copies;
    e->se = 0.3;
    e->rough = e->lent = false;
    e->ess = 0;
    is_draws_release(&e->draws);
    proposal_release(&old);
    return true;
}

void evidence_at(struct evidence *e, struct density t, double *z) {
    t.evals = &e->evals;
    e->se = 0.3;
    (void)set_mode(e, &t, z, fit_optimise(&t, z, 60));
}

void evidence_borrow(struct evidence *e, struct density t, const double *z,
                     const struct evidence *from) {
    const struct mode *like = &from->prop.mode[0];
    t.evals = &e->evals;
    double logp = t.d == from->prop.d && like->scale ? density_eval(&t, z, NULL) : -INFINITY;
    struct proposal lent = {0};
    if (!isfinite(logp) || !proposal_lend_mode(&lent, t.d, like, t.d, NULL, NULL, z, logp)) return;
    proposal_release(&e->prop);
    e->prop = lent;
    e->map = logp;
    e->laplace = e->logz = lent.mode[0].log_weight + e->log_copies;
    e->rough = false;
}

/* Neither of two modes of borrowed shapes is so much less than the other as they say. */
static void even_weights(struct proposal *p, double most) {
    double top = p->mode[0].log_weight;
    for (int k = 1; k < p->n; k++) top = fmax(top, p->mode[k].log_weight);
    for (int k = 0; k < p->n; k++) p->mode[k].log_weight = fmax(p->mode[k].log_weight, top - most);
}

#define FAR 5.0 /* nats: what is so much less where it stands does not count where it is faint */

bool evidence_lend(struct evidence *e, struct density t, const struct evidence *from,
                   const int *source, const double *faint, double floor) {
    const struct mode *like = &from->prop.mode[0];
    const double *z = e->prop.mode[0].z;
    double near[PROPOSAL_MAX_DIM], wide[PROPOSAL_MAX_DIM], logz[2], logp;
    struct proposal lent = {0};
    for (int i = 0; i < t.d; i++) near[i] = wide[i] = 1;
    if (t.units) t.units(t.ctx, z, near);
    t.evals = &e->evals;
    if (!like->scale ||
        !proposal_lend_mode(&lent, t.d, like, from->prop.d, source, near, z, e->map))
        return false;
    bool far = lent.mode[0].log_weight + e->log_copies < floor - FAR;
    if (faint && !far && isfinite(logp = density_eval(&t, faint, NULL)))
        (void)proposal_lend_mode(&lent, t.d, like, from->prop.d, source, wide, faint, logp);
    for (int k = 0; k < lent.n; k++) logz[k] = lent.mode[k].log_weight;
    double laplace = logsumexp(logz, (size_t)lent.n) + e->log_copies;
    if (laplace < floor) {
        proposal_release(&lent);
        return false;
    }
    even_weights(&lent, 1.5);
    proposal_release(&e->prop);
    e->prop = lent;
    e->laplace = e->logz = laplace;
    e->rough = false;
    e->lent = true;
    return true;
}

void evidence_improve(struct evidence *e, struct density t, double *z) {
    t.evals = &e->evals;
    double logp = fit_optimise(&t, z, 15);
    if (logp > e->map + 0.3) (void)set_mode(e, &t, z, fit_optimise(&t, z, 150));
}

void space_refit(struct space *s, struct evidence *e, int thread) {
    double z[PROPOSAL_MAX_DIM];
    memcpy(z, e->prop.mode[0].z, sizeof *z * (size_t)e->prop.d);
    evidence_at(e, s->ops->density(s, e, thread, false), z);
}

/* ---- importance sampling ---- */
/* Where few draws hold the weight the proposal has missed something: the mode that the heaviest
 * draw leads to, or, where that is known, the region around the draw. */
#define MEND_BELOW 0.1 /* effective share of the draws */
#define MEND_TIMES 2
#define APART      0.15

static bool mend(struct evidence *e, const struct density *t, const double *heavy) {
    struct proposal *p = &e->prop;
    double z[PROPOSAL_MAX_DIM];
    memcpy(z, heavy, sizeof *z * (size_t)p->d);
    while (p->n > p->n_modes && p->n_modes) mem_free(p->mode[--p->n].z);
    if (!isfinite(fit_optimise(t, z, 40)) || fit_known_mode(p, z, APART))
        memcpy(z, heavy, sizeof *z * (size_t)p->d);
    proposal_make_room(p);
    bool added = isfinite(proposal_add_mode(p, t, z));
    p->n_modes = p->n;
    return added;
}

void evidence_mend(struct evidence *e, size_t n, uint64_t seed, struct density t,
                   const double *heavy) {
    t.evals = &e->evals;
    if (haste_now(t.haste) || !mend(e, &t, heavy)) return;
    is_draws_release(&e->draws);
    evidence_sample(e, n, seed, t);
}

static const double *heaviest(const struct draws *d) {
    size_t best = 0;
    for (size_t i = 1; i < d->n; i++)
        if (d->w[i] > d->w[best]) best = i;
    return d->z + best * d->d;
}

static struct rng stream(const struct evidence *e, size_t n, uint64_t seed) {
    struct rng r;
    rng_init(&r, seed, (uint32_t)e->hash, (uint32_t)(e->hash >> 32) ^ (uint32_t)n);
    return r;
}

/* False: none of them counts. */
static bool take_draws(struct evidence *e, struct draws d, struct is_result res) {
    if (!isfinite(res.logz)) {
        is_draws_release(&d);
        return false;
    }
    is_draws_release(&e->draws);
    e->draws = d;
    is_draws_even(&e->draws);
    e->logz = res.logz;
    e->se = res.se;
    e->ess = res.ess;
    return true;
}

void evidence_sample(struct evidence *e, size_t n, uint64_t seed, struct density t) {
    if (!evidence_fitted(e)) return;
    t.evals = &e->evals;
    struct rng r = stream(e, n, seed);
    size_t pilot = e->draws.n ? 0 : (n < 200 ? n : 200);
    struct draws d = {0};
    if (!e->prop.n_modes) proposal_reach(&e->prop, &t);
    struct is_result res = importance(&t, &e->prop, pilot, n, &r, &d);
    for (int k = 0; k < MEND_TIMES && res.ess < MEND_BELOW && isfinite(res.logz); k++) {
        if (haste_now(t.haste)) break;
        if (!mend(e, &t, heaviest(&d))) break;
        is_draws_release(&d);
        res = importance(&t, &e->prop, n < 200 ? n : 200, n, &r, &d);
    }
    (void)take_draws(e, d, res);
}

void evidence_glance(struct evidence *e, size_t n, uint64_t seed, struct density t) {
    struct rng r = stream(e, n, seed);
    struct draws d = {0};
    t.evals = &e->evals;
    struct is_result res = importance_once(&t, &e->prop, n, &r, &d);
    e->rough = !take_draws(e, d, res);
}
