/* SPDX-License-Identifier: Apache-2.0
 *
 * Fitting and caching mixtures; see the header. All computations use u, the choices' unconstrained
 * coordinates in units of their prior spread, where curvatures and step sizes are of order one:
 *
 *     z = centre + spread u,    log p_u(u) = log p_z(z) + sum log spread
 *
 *     1. draw from the prior: centre and spread are moments of the draws, which are the starts
 *     2. weigh the starts, try the best one's coordinates at the values of the others, polish the
 *        best few, let the best of those converge (fit.h)
 *     3. each distinct optimum is a mode: Laplace's method (laplace.c)
 *     4. importance sampling improves the mixture and estimates its integral
 *
 * Invariant: a fit evaluates the conditional only at points of its own choice, with its own
 * generator (fixed seeds). It never uses the current values of the choices or the trace's
 * generator. So g_k is a function of the conditional k alone, and a move proposed from it is
 * reversible. */
#include "inference/hmc/laplace_fit.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

/* KEPT: fits in the session's list. PROBES: points that identify a conditional, with two numbers
 * each (FIT_KEYS). */
enum { KEPT = 400, PROBES = 2 };
const struct fit_rules laplace_fit_rules = {.scan = 1,
                                            .polished = 6,
                                            .iterations = 15,
                                            .modes = 150,
                                            .range = 12,
                                            .apart = 0.02,
                                            .typical = 0.5,
                                            .least = -0.92,
                                            .hope = 60,
                                            .again = 60};

/* log p_u(u) and its gradient: d/du = spread d/dz. After an error it is -inf everywhere. */
static double eval_u(void *ctx, const double *u, double *grad) {
    struct conditional *q = ctx;
    double z[PROPOSAL_MAX_DIM] = {0};
    size_t d = q->of.c->n_z;
    for (size_t i = 0; i < d; i++) z[i] = q->at.centre[i] + q->at.spread[i] * u[i];
    double cost = continuous_cost(&q->of, z, grad);
    for (size_t i = 0; grad && i < d; i++) grad[i] *= -q->at.spread[i];
    return q->at.log_spread - cost;
}

struct density conditional_density(struct conditional *q) {
    return (struct density){.d = (int)q->of.c->n_z, .eval = eval_u, .ctx = q};
}

/* ---- starts ---- */
/* A draw from the prior with the fit's own generator, lent to the trace during the draw; the
 * trace's generator is unchanged. */
static enum gpm_status prior_draw(struct continuous *c, struct rng *own, double *z, double *logp,
                                  bool *ok) {
    struct rng now = c->t->rng;
    c->t->rng = *own;
    enum gpm_status st = continuous_prior(c, z, logp, ok);
    *own = c->t->rng;
    c->t->rng = now;
    return st;
}

int conditional_starts(struct conditional *q, struct rng *own, double *u) {
    size_t d = q->of.c->n_z;
    int n = 0, want = LAPLACE_STARTS(d);
    for (int i = 0; i < want && q->of.st == GPM_OK; i++) {
        bool ok = false;
        q->of.st = prior_draw(q->of.c, own, u + (size_t)n * d, NULL, &ok);
        n += ok;
    }
    q->at.log_spread = 0;
    for (size_t k = 0; k < d; k++) {
        double m = 0, v = 0;
        for (int i = 0; i < n; i++) m += u[(size_t)i * d + k] / n;
        for (int i = 0; i < n; i++) v += pow(u[(size_t)i * d + k] - m, 2) / n;
        double spread = v > 0 && isfinite(v) ? sqrt(v) : 1;
        for (int i = 0; i < n; i++) u[(size_t)i * d + k] = (u[(size_t)i * d + k] - m) / spread;
        q->at.centre[k] = m;
        q->at.spread[k] = spread;
        q->at.log_spread += log(spread);
    }
    return q->of.st == GPM_OK ? n : 0;
}

/* GPM_OK with f->p.n == 0 means no fit: no start could be evaluated, there is no mode, or the
 * weights have no finite mean. Callers then propose nothing. */
static enum gpm_status fit(struct continuous *c, struct laplace_fit *f) {
    struct conditional q = {.of = {c, GPM_OK}};
    struct density t = conditional_density(&q);
    struct fit_starts *s = fit_starts_new(t.d, LAPLACE_STARTS(c->n_z));
    struct rng own;
    struct draws d = {0};
    double map;
    rng_init(&own, 20, 1, 1);
    f->is = (struct is_result){-INFINITY, INFINITY, 0};
    fit_polish(&t, s, conditional_starts(&q, &own, s->z), &laplace_fit_rules, -INFINITY);
    if (q.of.st == GPM_OK && s->n) {
        s->best[0].logp = fit_optimise(&t, fit_best(&t, s, 0), laplace_fit_rules.modes);
        fit_modes(&t, s, s->n, &laplace_fit_rules, &f->p, &map);
    }
    if (q.of.st == GPM_OK && f->p.n)
        f->is = importance(&t, &f->p, 40 + 10 * c->n_z, f->draws, &own, &d);
    if (d.n) is_draws_release(&d);
    if (!isfinite(f->is.logz)) proposal_release(&f->p);
    f->at = q.at;
    mem_free(s);
    return q.of.st;
}

/* ---- the cache ---- */
static void free_one(struct laplace_fit *f) {
    proposal_release(&f->p);
    mem_free(f);
}

/* The session's fits, in order of use. */
static void fits_free(void *own) {
    for (struct laplace_fit *f = *(struct laplace_fit **)own, *next; f; f = next) {
        next = f->next;
        free_one(f);
    }
}

static void fit_pack(struct pack *p, struct laplace_fit *f) {
    pack_size(p, &f->draws);
    pack_doubles(p, f->key, FIT_KEYS);
    proposal_pack(p, &f->p);
    pack_doubles(p, f->at.centre, (size_t)f->p.d);
    pack_doubles(p, f->at.spread, (size_t)f->p.d);
    pack_double(p, &f->at.log_spread);
    pack_double(p, &f->is.logz);
    pack_double(p, &f->is.se);
    pack_double(p, &f->is.ess);
}

/* Writes fits in order, which determines what is dropped first. A cached fit also serves
 * conditionals that differ by rounding, so recomputing it would give another one. */
static void fits_pack(struct pack *p, void *own) {
    struct laplace_fit **at = own;
    size_t n = 0;
    for (const struct laplace_fit *f = *at; f; f = f->next) n++;
    pack_count(p, &n, 8 * FIT_KEYS);
    for (size_t i = 0; i < n && pack_ok(p); i++, at = &(*at)->next) {
        if (p->reading) *at = NEW(struct laplace_fit);
        fit_pack(p, *at);
    }
}

const struct op_state_class laplace_fits_own = {sizeof(struct laplace_fit *), fits_free, fits_pack};

/* The key of a conditional: the likelihood at two points drawn from the prior, and the points, in
 * order. */
static enum gpm_status key_of(struct continuous *c, double *key) {
    struct rng own;
    double z[PROPOSAL_MAX_DIM];
    enum gpm_status st = GPM_OK;
    rng_init(&own, 20, 1, 0);
    for (int k = 0; k < PROBES && st == GPM_OK; k++) {
        bool ok = false;
        key[2 * k] = -INFINITY;
        st = prior_draw(c, &own, z, &key[2 * k], &ok);
        key[2 * k + 1] = 0;
        for (size_t i = 0; ok && i < c->n_z; i++) key[2 * k + 1] += (double)(i + 1) * z[i];
    }
    return st;
}

bool nearly_same(double a, double b) {
    return a == b || (isfinite(a) && fabs(a - b) <= 1e-9 * (1 + fabs(a)));
}

enum gpm_status conditional_random(struct continuous *c, bool *out) {
    struct rng own, kept = c->frozen;
    double z[PROPOSAL_MAX_DIM], w[2] = {0, 0};
    enum gpm_status st = GPM_OK;
    *out = false;
    if (!move_has_brush(&c->m)) return st;
    rng_init(&own, 20, 1, 0);
    for (int k = 0; k < PROBES && st == GPM_OK && !*out; k++) {
        bool ok = false;
        st = prior_draw(c, &own, z, NULL, &ok);
        for (uint32_t g = 0; g < 2 && ok && st == GPM_OK; g++) {
            rng_init(&c->frozen, 21, 1, g);
            st = continuous_eval(c, z, &w[g], NULL);
        }
        *out = ok && !nearly_same(w[0], w[1]);
    }
    c->frozen = kept;
    return st;
}

bool conditional_same(const double *a, const double *b) {
    for (int i = 0; i < FIT_KEYS; i++)
        if (!nearly_same(a[i], b[i])) return false;
    return true;
}

/* The list is in order of use; the least recently used fits are dropped. */
static struct laplace_fit *recall(struct laplace_fit **first, size_t d, size_t draws,
                                  const double *key) {
    struct laplace_fit **at = first;
    for (size_t n = 0; *at; n++) {
        struct laplace_fit *f = *at;
        if (f->p.d == (int)d && f->draws == draws && conditional_same(f->key, key)) {
            *at = f->next;
            f->next = *first;
            *first = f;
            return f;
        }
        if (n >= KEPT && !f->next) {
            *at = NULL;
            free_one(f);
            break;
        }
        at = &f->next;
    }
    return NULL;
}

enum gpm_status laplace_fit_find(struct continuous *c, size_t draws,
                                 const struct laplace_fit **out) {
    double key[FIT_KEYS] = {NAN};
    bool random = false;
    struct laplace_fit **first = infer_own(c->x, &laplace_fits_own), *f = *first;
    *out = NULL;
    if (f && isnan(f->key[0])) {
        *first = f->next;
        free_one(f);
    }
    if (c->n_z > PROPOSAL_MAX_DIM)
        return infer_error(c->x, DIAG_LIMIT,
                           "a fit of %zu numbers at once is too large: at most %d; choose smaller "
                           "blocks, or hmc",
                           c->n_z, PROPOSAL_MAX_DIM);
    enum gpm_status st = conditional_random(c, &random);
    if (st == GPM_OK && !random) st = key_of(c, key);
    if (st != GPM_OK) return st;
    *out = recall(first, c->n_z, draws, key);
    if (*out) return GPM_OK;
    f = NEW(struct laplace_fit);
    f->draws = draws;
    f->p.d = (int)c->n_z;
    memcpy(f->key, key, sizeof key);
    st = fit(c, f);
    f->p.d = (int)c->n_z;
    if (st != GPM_OK) {
        free_one(f);
        return st;
    }
    f->next = *first;
    *out = *first = f;
    return GPM_OK;
}

/* ---- use ---- */
static void to_z(const struct laplace_fit *f, double *u) {
    for (int i = 0; i < f->p.d; i++) u[i] = f->at.centre[i] + f->at.spread[i] * u[i];
}

void laplace_fit_draw(const struct laplace_fit *f, struct rng *r, double *z) {
    proposal_draw(&f->p, r, z);
    to_z(f, z);
}

void laplace_fit_walk(const struct laplace_fit *f, struct rng *r, double *z) {
    double step[PROPOSAL_MAX_DIM] = {0};
    proposal_walk(&f->p, r, step);
    for (int i = 0; i < f->p.d; i++) z[i] += f->at.spread[i] * step[i];
}

double laplace_fit_log_density(const struct laplace_fit *f, const double *z) {
    double u[PROPOSAL_MAX_DIM];
    for (int i = 0; i < f->p.d; i++) u[i] = (z[i] - f->at.centre[i]) / f->at.spread[i];
    return proposal_log_density(&f->p, u) - f->at.log_spread;
}
