/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence of a structure. Cost, in gradients: about 20 for the starts, 40 to polish the best few,
 * 30 for the best, 2d for the Hessian; structures far below the top stop after the polish.
 */
#include "discover/evidence.h"
#include "base/mem.h"
#include "la/optim.h"
#include "discover/starts.h"
#include <math.h>
#include <string.h>

#define POLISH      4 /* starts that are polished */
#define POLISH_ITER 8 /* steps each */
#define MODE_RANGE                                                                                 \
    5.0 /* log density below the best at which a second mode is still of interest                  \
         */

struct call {
    const struct smodel *m;
    struct smodel_work *w;
};

static double target_eval(void *ctx, const double *z, double *grad) {
    struct call *c = ctx;
    return smodel_eval(c->m, c->w, z, grad);
}

/* The optimiser works on x = z / scale: a period is known to a small fraction of itself (a drift of
 * a third of a radian over the span), the other parameters to some tenths. */
struct scaled {
    struct call *c;
    double scale[SMODEL_MAX_PAR];
};

static void set_scale(struct scaled *s, const double *z) {
    const struct smodel *m = s->c->m;
    for (int i = 0; i < m->d; i++) {
        s->scale[i] = 1;
        if (m->par[i].kind == SPAR_PERIOD)
            s->scale[i] = 0.05 * smodel_value(m, i, z[i]) / smodel_dvalue(m, i, z[i]);
        if (m->par[i].kind == SPAR_TAU) s->scale[i] = 0.1;
    }
}

static double minus_density(void *ctx, size_t n, const double *x, double *grad, int *stop) {
    struct scaled *s = ctx;
    double z[SMODEL_MAX_PAR] = {0};
    for (size_t i = 0; i < n; i++) z[i] = x[i] * s->scale[i];
    double f = target_eval(s->c, z, grad);
    if (!isfinite(f)) return INFINITY;
    for (size_t i = 0; i < n; i++) grad[i] *= -s->scale[i];
    return -f;
}

static double optimise(struct call *c, double *z, int iterations) {
    struct optim_options o = OPTIM_OPTIONS_INIT;
    struct optim_result r = {0};
    struct scaled s = {.c = c};
    o.max_iter = iterations;
    o.max_eval = 2 * iterations + 10;
    o.grad_tol = 1e-2;
    o.f_tol = 1e-8;
    set_scale(&s, z);
    for (int i = 0; i < c->m->d; i++) z[i] /= s.scale[i];
    enum gpm_status st = optim_lbfgs(minus_density, &s, (size_t)c->m->d, z, &o, &r);
    for (int i = 0; i < c->m->d; i++) z[i] *= s.scale[i];
    return st == GPM_E_ARG ? -INFINITY : -r.f;
}

struct ranked {
    double f;
    int i;
};

/* The best `want` of n starts by density alone, best first. */
static int best_starts(struct call *c, const double *z, int n, struct ranked *best, int want) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        double f = smodel_eval(c->m, c->w, z + (size_t)(i * c->m->d), NULL);
        if (!isfinite(f)) continue;
        int at = k < want ? k++ : want - 1;
        if (at == want - 1 && k == want && i >= want && f <= best[at].f) continue;
        best[at] = (struct ranked){f, i};
        for (; at > 0 && best[at].f > best[at - 1].f; at--) {
            struct ranked x = best[at];
            best[at] = best[at - 1];
            best[at - 1] = x;
        }
    }
    return k;
}

/* The same optimum: close in every parameter. */
static bool same_mode(int d, const double *a, const double *b) {
    for (int i = 0; i < d; i++)
        if (fabs(a[i] - b[i]) > 0.15) return false;
    return true;
}

static void add_modes(struct evidence *e, struct call *c, struct ranked *best, int n, double *z) {
    int d = smodel_of(e)->d;
    struct density t = {d, target_eval, c};
    double sum = 0;
    e->map = best[0].f;
    for (int k = 0; k < n; k++) {
        double *zk = z + (size_t)(best[k].i * d);
        if (best[k].f < best[0].f - MODE_RANGE) break;
        bool known = false;
        if (k > 0) {
            best[k].f = optimise(c, zk, 40);
            smodel_order(smodel_of(e), zk);
            for (int q = 0; q < e->prop.n; q++) known |= same_mode(d, zk, e->prop.mode[q].z);
        }
        if (known || best[k].f < e->map - MODE_RANGE) continue;
        double lap = proposal_add_mode(&e->prop, &t, zk);
        if (!isfinite(lap)) continue;
        e->map = fmax(e->map, best[k].f);
        sum = e->prop.n == 1 ? lap : fmax(sum, lap) + log1p(exp(-fabs(sum - lap)));
    }
    if (e->prop.n) e->laplace = sum + smodel_of(e)->log_copies;
}

/* ---- from starts to optima ---- */
struct starts {
    struct ranked best[POLISH];
    int n;
    double z[]; /* all starts, smodel_of(e)->d each; the ranked ones polished */
};

static double *best_z(const struct evidence *e) {
    return e->open->z + (size_t)(e->open->best[0].i * smodel_of(e)->d);
}

/* What can be said before the optimum is found: typical shrinkage is 1.4 per parameter. */
static void set_rough(struct evidence *e) {
    int d = smodel_of(e)->d;
    e->rough = true;
    e->map = e->open->best[0].f;
    e->laplace = e->logz = e->map - 1.4 * d + smodel_of(e)->log_copies;
    e->se = 2.0;
    e->prop.d = d;
    if (!e->prop.n) e->prop.mode[e->prop.n++].z = NEW_ARRAY(double, (size_t)d);
    memcpy(e->prop.mode[0].z, best_z(e), sizeof(double) * (size_t)d);
}

/* The best polished start first. */
static void polish(struct evidence *e, struct call *c) {
    struct starts *s = e->open;
    int top = 0;
    for (int k = 0; k < s->n; k++) {
        s->best[k].f = optimise(c, s->z + (size_t)(s->best[k].i * smodel_of(e)->d), POLISH_ITER);
        if (s->best[k].f > s->best[top].f) top = k;
    }
    struct ranked x = s->best[0];
    s->best[0] = s->best[top];
    s->best[top] = x;
}

void evidence_set_model(struct evidence *e, const struct smodel_data *data,
                        const struct structure *s) {
    struct smodel *m = NEW(struct smodel);
    struct buf text = BUF_INIT;
    smodel_init(m, data, s);
    structure_print(s, &text);
    e->item = m;
    e->item_free = mem_free;
    e->text = buf_take(&text);
    e->group = s->transform;
    e->hash = structure_hash(s);
}

struct evidence *evidence_new(const struct smodel_data *data, const struct structure *s,
                              double log_prior, const struct evidence *parent,
                              const struct period_hints *hints, struct smodel_work *w) {
    struct evidence *e = NEW(struct evidence);
    evidence_set_model(e, data, s);
    e->log_prior = log_prior;
    e->laplace = e->logz = e->map = -INFINITY;
    e->se = INFINITY;
    long before = smodel_work_evals(w);
    e->open = mem_zalloc(sizeof *e->open + sizeof(double) * (size_t)(STARTS_MAX * smodel_of(e)->d));
    struct call c = {smodel_of(e), w};
    bool slow = !smodel_of(e)->fast && data->n >= 250; /* a dense gradient costs twenty fast ones */
    int n = starts_make(smodel_of(e), parent, hints, slow ? 24 : STARTS_MAX, e->open->z);
    e->open->n = best_starts(&c, e->open->z, n, e->open->best, slow ? 2 : POLISH);
    if (e->open->n) {
        polish(e, &c);
        set_rough(e);
    }
    e->evals = smodel_work_evals(w) - before;
    return e;
}

struct evidence *evidence_guess(const struct smodel_data *data, const struct evidence *from,
                                double log_prior, double logz) {
    struct evidence *e = NEW(struct evidence);
    evidence_set_model(e, data, &smodel_of(from)->s);
    e->log_prior = log_prior;
    e->laplace = e->logz = e->map = logz;
    e->se = 2.0;
    e->rough = true;
    e->evals = from->evals;
    e->prop.d = smodel_of(e)->d;
    if (from->prop.n) {
        e->prop.mode[e->prop.n++].z = NEW_ARRAY(double, (size_t)smodel_of(e)->d);
        memcpy(e->prop.mode[0].z, from->prop.mode[0].z, sizeof(double) * (size_t)smodel_of(e)->d);
    }
    return e;
}

void evidence_finish(struct evidence *e, double floor, struct smodel_work *w) {
    struct starts *s = e->open;
    if (!s) return;
    struct call c = {smodel_of(e), w};
    long before = smodel_work_evals(w);
    floor += smodel_of(e)->d; /* the evidence lies at least 1 per parameter below the optimum */
    if (s->n && s->best[0].f < floor && s->best[0].f > floor - 15) {
        s->best[0].f = optimise(&c, best_z(e), 2 * POLISH_ITER);
        set_rough(e);
    }
    if (s->n && s->best[0].f >= floor) {
        e->rough = false;
        proposal_release(&e->prop);
        s->best[0].f = optimise(&c, best_z(e), 150);
        smodel_order(smodel_of(e), best_z(e));
        e->laplace = -INFINITY;
        add_modes(e, &c, s->best, s->best[0].f > floor + 5 ? s->n : 1, s->z);
        e->logz = e->laplace;
        e->se = 0.3;
    }
    mem_free(s);
    e->open = NULL;
    e->evals += smodel_work_evals(w) - before;
}

struct evidence *evidence_carry(const struct smodel_data *data, const struct evidence *from,
                                double log_prior, struct smodel_work *w) {
    struct evidence *e = NEW(struct evidence);
    evidence_set_model(e, data, &smodel_of(from)->s);
    e->log_prior = log_prior;
    e->laplace = e->logz = -INFINITY;
    e->se = 0.3;
    long before = smodel_work_evals(w);
    double z[SMODEL_MAX_PAR];
    struct call c = {smodel_of(e), w};
    struct density t = {smodel_of(e)->d, target_eval, &c};
    memcpy(z, from->prop.mode[0].z, sizeof *z * (size_t)smodel_of(e)->d);
    e->map = optimise(&c, z, 60);
    smodel_order(smodel_of(e), z);
    double lap = isfinite(e->map) ? proposal_add_mode(&e->prop, &t, z) : -INFINITY;
    if (isfinite(lap)) e->laplace = e->logz = lap + smodel_of(e)->log_copies;
    e->evals = smodel_work_evals(w) - before;
    return e;
}

bool evidence_improve(struct evidence *e, const struct evidence *from, struct smodel_work *w) {
    double z[SMODEL_MAX_PAR];
    struct call c = {smodel_of(e), w};
    long before = smodel_work_evals(w);
    starts_carry(smodel_of(e), from, z, NULL);
    double f = optimise(&c, z, 15);
    bool better = f > e->map + 0.3;
    if (better) {
        f = optimise(&c, z, 150);
        smodel_order(smodel_of(e), z);
        struct proposal old = e->prop;
        struct density t = {smodel_of(e)->d, target_eval, &c};
        memset(&e->prop, 0, sizeof e->prop);
        double lap = proposal_add_mode(&e->prop, &t, z);
        if (isfinite(lap)) {
            e->map = f;
            e->laplace = e->logz = lap + smodel_of(e)->log_copies;
            e->se = 0.3;
            e->rough = false;
            e->ess = 0;
            is_draws_release(&e->draws);
            proposal_release(&old);
        } else {
            e->prop = old;
            better = false;
        }
    }
    e->evals += smodel_work_evals(w) - before;
    return better;
}
