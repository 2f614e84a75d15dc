/* SPDX-License-Identifier: Apache-2.0
 *
 * Samplers: what the warm-up learns. Until `done` reaches the warm-up's length the kernel depends
 * on its own past, and its draws are not from the posterior. After that step size and metric are
 * fixed, and each transition leaves the posterior invariant. */
#include "inference/hmc/sampler.h"

#include "inference/run/infer_pack.h"

#include <math.h>
#include <string.h>

const struct sampler_settings sampler_defaults = {300, 0, 10, METRIC_LOW_RANK};

/* Default target acceptance. */
#define USUAL 0.8

/* ---- windows ---- */

/* Stan's three phases: FAST transitions that find the typical set, slow windows of doubling length
 * from BASE on that train the metric, and LAST ones that tune only the step size; in proportion for
 * a short warm-up. The fast phase has windows, too. A few points with gradients on the way already
 * show the posterior's scales (metric.h); without them its trajectories would be the longest of
 * all. */
enum { FAST = 75, BASE = 25, LAST = 50, SHORTEST = 20 };

static void plan_windows(struct sampler *a) {
    double w = a->set.warmup, fast = FAST, base = BASE, last = LAST;
    vec_release(&a->ends);
    if (w < SHORTEST) return;
    if (fast + base + last > w) {
        fast = floor(0.15 * w);
        last = floor(0.1 * w);
        base = w - fast - last;
    }
    static const double parts[] = {2.0 / 15, 6.0 / 15, 1};
    for (size_t i = 0; i < COUNT_OF(parts); i++) vec_push(&a->ends, floor(fast * parts[i]));
    for (double at = fast, size = base; at < w - last; size *= 2) {
        double end = at + size;
        if (end + 2 * size > w - last) end = w - last; /* the next would not fit */
        vec_push(&a->ends, end);
        at = end;
    }
}

static bool window_ends(const struct sampler *a) {
    for (size_t i = 0; i < a->ends.n; i++)
        if (a->done == a->ends.at[i]) return true;
    return false;
}

/* ---- the list ---- */

void sampler_restart(struct sampler *a, const struct sampler_settings *set) {
    struct sampler_totals *t = &a->totals;
    a->set = *set;
    a->done = 0;
    t->e_last = t->e_mean = t->e_m2 = t->e_steps = t->energies = 0; /* of another run */
    a->eps = (struct step_size){.log_eps = NAN};
    a->target = set->target_accept > 0 ? set->target_accept : USUAL;
    tree_free(a->tree);
    a->tree = NULL;
    a->of = NULL;
    pace_release(&a->pace);
    pace_init(&a->pace, a->n);
    metric_release(&a->metric);
    metric_init(&a->metric, set->metric, a->n);
    centred_release(&a->centred);
    centred_init(&a->centred, a->n);
    plan_windows(a);
}

void sampler_notice(struct sampler *a, const struct trace *t, const struct nuts_result *r) {
    enum { ENOUGH = 10 };
    const double refused = 1e-3; /* mean acceptance of a trajectory */
    a->still = !sampler_warm(a) && r->accept_stat < refused ? a->still + 1 : 0;
    if (sampler_warm(a)) a->structure = t->structure;
    if (a->still < ENOUGH || a->structure == t->structure) return;
    const struct sampler_settings set = a->set;
    sampler_restart(a, &set);
    a->still = 0;
    a->structure = t->structure;
}

/* Matches by target, or by the subproblem value that the program holds. */
static bool is_of(const struct sampler *a, const struct infer_op *op, const struct target *g) {
    value scope = g->sub ? value_box(V_BOX, (struct box *)&g->sub->box) : g->scope;
    return a->op == op && value_equal(a->scope, scope) && value_equal(a->block, g->block);
}

struct sampler *sampler_find(struct infer_state *x, const struct infer_op *op,
                             const struct target *g, size_t n, const struct sampler_settings *set) {
    value scope = g->sub ? value_box(V_BOX, (struct box *)&g->sub->box) : g->scope;
    for (struct sampler_totals *t = sampler_stats_of(x)->first; t; t = t->next) {
        struct sampler *a = (struct sampler *)t;
        if (a->n == n && is_of(a, op, g)) return a;
    }
    struct sampler *a = NEW(struct sampler);
    a->op = op;
    a->scope = value_ref(scope);
    a->block = value_ref(g->block);
    a->n = n;
    a->z = mem_zalloc((2 * n + 1) * sizeof(double));
    a->g = a->z + n;
    sampler_restart(a, set);
    struct sampler_stats *all = sampler_stats_of(x);
    a->totals.next = all->first;
    all->first = &a->totals;
    return a;
}

static void samplers_free(void *own) {
    struct sampler_totals *first = ((struct sampler_stats *)own)->first;
    for (struct sampler_totals *next; first; first = next) {
        struct sampler *a = (struct sampler *)first;
        next = first->next;
        value_unref(a->scope);
        value_unref(a->block);
        metric_release(&a->metric);
        centred_release(&a->centred);
        pace_release(&a->pace);
        tree_free(a->tree);
        vec_release(&a->ends);
        mem_free(a->z);
        mem_free(a);
    }
}

/* ---- in checkpoints ---- */

PACK_SIZE(struct sampler, 600, "struct sampler: see pack_sampler");
PACK_SIZE(struct metric, 136, "struct metric: see metric_pack");
PACK_SIZE(struct sampler_totals, 176, "struct sampler_totals: see pack_sampler");

static void pack_totals(struct pack *p, struct sampler_totals *t) {
    /* All fields except `next`, the list. */
    pack_doubles(p, &t->warmup,
                 (sizeof *t - offsetof(struct sampler_totals, warmup)) / sizeof(double));
}

static void pack_settings(struct pack *p, struct sampler_settings *s) {
    pack_double(p, &s->warmup);
    pack_double(p, &s->target_accept);
    pack_double(p, &s->max_depth);
    s->metric = (enum metric_kind)pack_choice(p, s->metric, METRIC_LOW_RANK + 1);
}

static void pack_ends(struct pack *p, struct sampler *a) {
    size_t n = a->ends.n;
    pack_count(p, &n, sizeof(double));
    vec_reserve(&a->ends, n + 1);
    a->ends.n = n;
    pack_doubles(p, a->ends.at, n);
}

static void pack_sampler(struct pack *p, struct sampler *a) {
    a->op = pack_op(p, a->op);
    pack_value(p, &a->scope);
    pack_value(p, &a->block);
    pack_count(p, &a->n, sizeof(double));
    pack_settings(p, &a->set);
    if (p->reading) {
        a->z = mem_zalloc((2 * a->n + 1) * sizeof(double));
        a->g = a->z + a->n;          /* the state is evaluated again */
        sampler_restart(a, &a->set); /* allocates its parts */
    }
    pack_totals(p, &a->totals);
    metric_pack(p, &a->metric);
    centred_pack(p, &a->centred);
    pace_pack(p, &a->pace);
    pack_double(p, &a->target);
    pack_doubles(p, &a->eps.log_eps, sizeof a->eps / sizeof(double));
    pack_double(p, &a->done);
    pack_ends(p, a);
    pack_doubles(p, a->z, a->n);
    pack_bool(p, &a->has_z);
    pack_bool(p, &a->warned);
    pack_u32(p, &a->still);
    pack_u64(p, &a->structure);
    if (!a->op) pack_fail(p, "a sampler in it has no operator");
}

static void samplers_pack(struct pack *p, void *own) {
    struct sampler_stats *s = own;
    struct sampler_totals **at = &s->first;
    size_t n = 0;
    for (struct sampler_totals *t = s->first; t; t = t->next) n++;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++, at = &(*at)->next) {
        if (p->reading) *at = &NEW(struct sampler)->totals;
        pack_sampler(p, (struct sampler *)*at);
    }
    pack_doubles(p, s->last.at, SAMPLER_COLUMNS);
    pack_double(p, &s->redrawn);
    pack_bool(p, &s->fresh);
    pack_bool(p, &s->warm);
}

const struct op_state_class samplers_own = {sizeof(struct sampler_stats), samplers_free,
                                            samplers_pack};

struct sampler_stats *sampler_stats_of(const struct infer_state *x) {
    return infer_own(x, &samplers_own);
}

bool sampler_in_use(const struct infer_state *x) {
    return sampler_stats_of(x)->first != NULL;
}

/* ---- the step size ---- */

/* The largest step size (to a factor of 2) at which one leapfrog step changes the energy by at most
 * log 2, up or down. A gain may be an accident of an unstable start in the tail. */
static enum gpm_status find_step_size(struct continuous *c, struct sampler *a) {
    size_t n = c->n_z;
    double *all = NEW_ARRAY(double, 10 * n + 1), *room = all;
    struct phase_point s = point_at(&room, n), e = point_at(&room, n);
    double eps = a->eps.k > 0 ? exp(a->eps.log_eps_bar) : 1, dir = 0;
    enum gpm_status st = point_begin(c, &a->metric, false, &s);
    for (int i = 0; i < 60 && st == GPM_OK && s.logp > -INFINITY; i++) {
        point_copy(&e, &s, n);
        st = point_leap(c, &a->metric, eps, &e);
        double gain = point_energy(&s, n) - point_energy(&e, n);
        double now = fabs(gain) < log(2) ? 1 : -1;
        if (dir == 0) dir = now;
        if (now != dir) break;
        eps *= dir > 0 ? 2 : 0.5;
    }
    if (dir > 0) eps /= 2;
    mem_free(all);
    /* Dual averaging restarts. It shrinks towards mu, ten times the first guess, since long steps
     * are cheap to try. */
    a->eps = (struct step_size){.log_eps = log(eps), .log_eps_bar = log(eps), .mu = log(10 * eps)};
    return st;
}

enum gpm_status sampler_step_size(struct continuous *c, struct sampler *a, double *eps) {
    enum gpm_status st = isnan(a->eps.log_eps) ? find_step_size(c, a) : GPM_OK;
    *eps = exp(sampler_warm(a) ? a->eps.log_eps : a->eps.log_eps_bar);
    return st;
}

/* Dual averaging (Hoffman and Gelman 2014, section 3.2) of target - accept towards 0:
 *
 *     h_k = (1 - eta) h_{k-1} + eta (target - accept),  eta = 1 / (k + t0)
 *     log eps_k = mu - sqrt(k) / gamma h_k              the step to try next
 *     log eps_bar = k^-kappa log eps_k + (1 - k^-kappa) log eps_bar
 *
 * Transitions after the warm-up use the average, eps_bar. Acceptance is a concave function of log
 * eps. With varying steps the average therefore accepts more than the target: 0.9 for 0.8. A larger
 * gamma would correct this, but gains nothing on smooth posteriors and misses narrow regions of
 * others. */
static void average(struct step_size *s, double miss) {
    const double gamma = 0.05, t0 = 10, kappa = 0.75;
    s->k++;
    double eta = 1 / (s->k + t0), w = pow(s->k, -kappa);
    s->h_bar = (1 - eta) * s->h_bar + eta * miss;
    s->log_eps = s->mu - sqrt(s->k) / gamma * s->h_bar;
    s->log_eps_bar = w * s->log_eps + (1 - w) * s->log_eps_bar;
}

/* Records the last window, which runs nearly the sampling kernel. */
static void watch(struct sampler *a, const struct phase_point *picked) {
    size_t n = a->ends.n;
    double from = n > 1 ? a->ends.at[n - 2] : 0;
    if (a->done > from) pace_note(&a->pace, picked->z);
}

/* Coordinates settle before the last window, which trains the final metric. */
void sampler_adapt(struct continuous *c, struct sampler *a, const struct phase_point *picked,
                   const struct nuts_result *r) {
    bool warm = sampler_warm(a);
    a->done++;
    if (!warm) return;
    average(&a->eps, a->target - r->accept_stat);
    if (!a->ends.n || a->done > vec_last(&a->ends)) return;
    bool last = a->done == vec_last(&a->ends);
    watch(a, picked);
    metric_note(&a->metric, picked->z, picked->g);
    centred_note(&a->centred, c, picked->z, picked->g);
    if (!window_ends(a)) return;
    bool learned = metric_learn(&a->metric);
    if (!last) learned |= centred_learn(&a->centred, &a->metric);
    if (!learned) return;
    a->eps.log_eps = NAN; /* the metric is new */
    a->of = NULL;         /* the coordinates are new */
}

double sampler_pace(const struct infer_state *x, const struct target *g) {
    double pace = 1;
    for (struct sampler_totals *t = sampler_stats_of(x)->first; t; t = t->next) {
        const struct sampler *a = (struct sampler *)t;
        if (is_of(a, g->op, g)) pace = fmax(pace, pace_advice(&a->pace));
    }
    return pace;
}
