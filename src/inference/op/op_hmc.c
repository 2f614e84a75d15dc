/* SPDX-License-Identifier: Apache-2.0
 *
 * Hamiltonian Monte Carlo on the continuous choices of a block, in their unconstrained space: hmc
 * with a given step size, nuts with trajectories that end when they turn (nuts.c), step size and
 * metric learned in its warm-up (sampler.c).
 *
 * hmc accepts the end point of its trajectory with log alpha = H(start) - H(end); nuts draws a
 * point of the whole by its weight. If the choices decide what else is evaluated (brush), the
 * trajectory follows the gradient at a frozen brush, independent of the current one. Leapfrog steps
 * are reversible and preserve volume for any such field. The end point gets a new brush from the
 * prior and is accepted by its true weight. nuts would have to weigh every point of its trajectory
 * in this way, so it makes such an hmc step instead.
 *
 * Trajectories can neither reach nor leave a state of weight zero, one whose gradient is not finite
 * (continuous_eval gives -inf for both), or one so improbable that rounding hides energy
 * differences. A new start is drawn instead and counted. */
#include "inference/hmc/sampler.h"
#include "inference/hmc/start.h"

#include <math.h>
#include <string.h>

/* A transition from a state that cannot be a start. */
static enum gpm_status begin_anew(struct continuous *c, struct sampler *a, struct step *s) {
    double *z = NEW_ARRAY(double, c->n_z + 1), tries, logp = -INFINITY;
    bool found;
    enum gpm_status st = start_draw(c, &(struct start){START_RANDOM, NIL}, z, &tries, &found);
    if (st == GPM_OK && found) st = continuous_build(c, z, &logp);
    s->accepted = st == GPM_OK && logp > -INFINITY;
    struct sampler_end end = {.warm = sampler_warm(a), .moved = s->accepted};
    if (st == GPM_OK) {
        a->totals.restarts += s->accepted;
        /* A step size found there is useless; a learned one stays. */
        if (sampler_warm(a) || a->eps.k == 0) a->eps.log_eps = NAN;
        sampler_note(c->x, &a->totals, &end);
    }
    mem_free(z);
    return st;
}

/* A trajectory of `steps` leapfrog steps from the current state, then accept or reject with log_q =
 * K(p) - K(p'), K = p' M^-1 p / 2 (energy without logp). logp and w_old are the true weights, each
 * with its own brush; densities along the way only steer. */
static enum gpm_status trajectory(struct continuous *c, struct sampler *a, double eps, double steps,
                                  struct step *s) {
    size_t n = c->n_z;
    double *all = NEW_ARRAY(double, 5 * n + 1), *room = all, logp = -INFINITY, log_q = 0;
    struct phase_point at = point_at(&room, n);
    struct sampler_end end = {.row = {{.stepsize = eps}}};
    enum gpm_status st = point_begin(c, &a->metric, false, &at);
    bool ok = st == GPM_OK && at.logp > CONTINUOUS_HOPELESS;
    bool stuck = c->w_old == -INFINITY || (!ok && !move_has_brush(&c->m));
    if (st == GPM_OK && stuck) {
        mem_free(all);
        return begin_anew(c, a, s);
    }
    at.logp = 0;
    double before = point_energy(&at, n);
    for (; ok && end.row.n_leapfrog < steps; end.row.n_leapfrog++) {
        st = point_leap(c, &a->metric, eps, &at);
        ok = st == GPM_OK && at.logp > -INFINITY;
    }
    if (ok) st = continuous_build(c, at.z, &logp);
    if (ok && st == GPM_OK && move_built(&c->m)) {
        at.logp = 0;
        log_q = before - point_energy(&at, n);
        s->accepted = step_accept(s, c->w_old, logp, log_q);
    }
    end.row.accept_stat = fmin(1, exp(logp - c->w_old + log_q));
    end.row.divergent = !(logp - c->w_old + log_q > -DIVERGED);
    end.row.energy = before - c->w_old;
    end.moved = s->accepted;
    if (st == GPM_OK) sampler_note(c->x, &a->totals, &end);
    if (s->accepted) memcpy(a->z, at.z, n * sizeof *a->z);
    a->has_z |= s->accepted;
    a->of = NULL;
    mem_free(all);
    return st;
}

static const struct sampler_settings hmc_settings = {.metric = METRIC_DIAG};

static enum gpm_status hmc_step(struct step *s) {
    struct continuous c;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    struct sampler *a = sampler_find(s->x, s->g->op, s->g, c.n_z, &hmc_settings);
    if (a->has_z) continuous_refine(&c, a->z);
    /* A random length avoids periods at which a fixed length returns to its start (Neal 2011). */
    double steps = 1 + (double)rng_below(&s->t->rng, (uint64_t)s->g->extra[1].u.num);
    st = trajectory(&c, a, s->g->extra[0].u.num, steps, s);
    a->done++;
    continuous_close(&c, s->accepted);
    return st;
}

/* Are the sampler's g and logp those of the current state? True if the previous transition ended
 * there, with the same flat, and nothing has touched the model since. */
static bool is_known(const struct continuous *c, const struct sampler *a, const struct step *s) {
    return s->again && a->of && a->of == c->m.flat && !memcmp(a->z, c->old, c->n_z * sizeof *a->z);
}

/* One transition on a block without brush. Only numbers change, so the number of blocks is constant
 * and log P(block) cancels: no ratio remains. A pick whose weight is -inf when built in the trace
 * is rejected. */
static enum gpm_status nuts_draw(struct continuous *c, struct sampler *a, struct step *s) {
    struct nuts_result r = {0};
    struct phase_point pick = {0};
    double eps, logp;
    bool warm = sampler_warm(a);
    enum gpm_status st = sampler_step_size(c, a, &eps);
    if (!a->tree) a->tree = tree_new(c->n_z, (size_t)a->set.max_depth);
    if (st == GPM_OK)
        st = nuts_trajectory(a->tree, c, &a->metric, eps, sampler_seeks(a),
                             is_known(c, a, s) ? a->g : NULL, a->logp, &r, &pick);
    if (st == GPM_OK && !r.began) return begin_anew(c, a, s);
    if (st == GPM_OK) st = continuous_build(c, pick.z, &logp);
    if (st == GPM_OK) {
        struct sampler_end end = {
            .row = {{r.accept_stat, eps, r.depth, r.n_leapfrog, r.divergent ? 1 : 0, r.energy}},
            .warm = warm,
            .deep = r.deep};
        s->accepted = logp > -INFINITY;
        end.moved = s->accepted && memcmp(pick.z, c->old, c->n_z * sizeof *pick.z) != 0;
        sampler_note(c->x, &a->totals, &end);
        memcpy(a->z, pick.z, c->n_z * sizeof *a->z);
        memcpy(a->g, pick.g, c->n_z * sizeof *a->g);
        a->logp = pick.logp;
        a->has_z = true;
        a->of = c->m.flat;
        sampler_adapt(c, a, &pick, &r);
        sampler_notice(a, s->t, &r); /* may free the tree that holds `pick` */
    }
    return st;
}

enum gpm_status nuts_step(struct step *s) {
    struct continuous c;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    struct sampler *a = sampler_find(s->x, s->g->op, s->g, c.n_z, s->ctx);
    st = continuous_centre(&c, a->centred.by);
    if (st != GPM_OK) {
        continuous_close(&c, false);
        return st;
    }
    if (a->has_z) continuous_refine(&c, a->z);
    bool rebuilds = move_has_brush(&c.m);
    if (rebuilds) {
        if (!a->warned) nuts_warn_rebuilt(s->x, move_rebuilds(&c.m));
        a->warned = true;
        a->totals.rebuilt++;
    }
    if (c.w_old == -INFINITY || rebuilds)
        st = trajectory(&c, a, HMC_STEP, 1 + (double)rng_below(&s->t->rng, 10), s);
    else
        st = nuts_draw(&c, a, s);
    continuous_close(&c, s->accepted);
    return st;
}

/* ---- starts ---- */

enum gpm_status sampler_begin_step(struct step *s) {
    const struct sampler_begin *b = s->ctx;
    struct continuous c;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    struct sampler *a = sampler_find(s->x, s->g->op, s->g, c.n_z, b->set);
    double *z = NEW_ARRAY(double, c.n_z + 1), tries = 0, logp = -INFINITY;
    bool begin = !(b->only_new && a->done > 0), found = !begin;
    if (begin) sampler_restart(a, b->set);
    if (begin) st = start_draw(&c, b->start, z, &tries, &found);
    a->totals.restarts += st == GPM_OK ? tries : 0;
    if (st == GPM_OK && !found)
        st = infer_error(s->x, DIAG_BAD_OPERATOR_ARG,
                         "%s found no start: the model is impossible, or its gradient is not "
                         "finite, at %d points; give one that is possible (init=)",
                         s->g->op->name, START_TRIES);
    if (st == GPM_OK && begin) st = continuous_build(&c, z, &logp);
    s->accepted = st == GPM_OK && logp > -INFINITY;
    mem_free(z);
    continuous_close(&c, s->accepted);
    return st;
}

/* ---- words ---- */

/* ---- settings ---- */

enum gpm_status sampler_settings_read(struct infer_state *x, const struct action *a, size_t first,
                                      struct sampler_settings *set) {
    static const char *const metrics[] = {"diag", "dense", "low_rank"};
    value accept = action_arg(a, first), depth = action_arg(a, first + 1);
    value metric = action_arg(a, first + 2);
    if (!is_absent(accept)) set->target_accept = accept.u.num;
    if (!is_absent(depth)) set->max_depth = depth.u.num;
    if (!is_absent(accept) && !(set->target_accept > 0 && set->target_accept < 1))
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "%s: target_accept must lie between 0 and 1, got %g", a->op->name,
                           set->target_accept);
    if (!(set->max_depth >= 1 && set->max_depth <= 20))
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: max_depth must be 1 to 20, got %g",
                           a->op->name, set->max_depth);
    if (is_absent(metric)) return GPM_OK;
    for (int i = 0; i < (int)COUNT_OF(metrics); i++)
        if (strcmp(value_text(metric), metrics[i]) == 0) {
            set->metric = (enum metric_kind)i;
            return GPM_OK;
        }
    return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                       "%s: the metric is diag, dense or low_rank, not '%s'", a->op->name,
                       value_text(metric));
}

/* init= applies only before the first transition: the operator may be in a loop. */
static enum gpm_status hmc_begin(struct infer_state *x, const struct target *g,
                                 const struct sampler_settings *set, value init) {
    struct start start;
    struct target once = *g;
    once.transitions = 1;
    enum gpm_status st = start_read(x, init, &start);
    if (st != GPM_OK || place_resumes(x->core)) return st;
    place_take(x->core);
    return infer_transitions(x, &once, sampler_begin_step,
                             &(struct sampler_begin){set, &start, true});
}

static enum gpm_status op_hmc(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    value init = action_arg(a, 5);
    enum gpm_status st = infer_target(x, a, &g);
    if (st == GPM_OK && !is_absent(init)) st = hmc_begin(x, &g, &hmc_settings, init);
    place_hand(x->core);
    return st == GPM_OK ? infer_transitions(x, &g, hmc_step, NULL) : st;
}

static enum gpm_status op_nuts(struct infer_state *x, const struct action *a, value *out) {
    struct sampler_settings set = sampler_defaults;
    struct target g;
    if (!place_resumes(x->core)) sampler_mark(x);
    enum gpm_status st = infer_target(x, a, &g);
    if (st == GPM_OK) st = sampler_settings_read(x, a, 4, &set);
    set.warmup = g.extra[0].u.num;
    if (st == GPM_OK && !is_absent(action_arg(a, 7))) st = hmc_begin(x, &g, &set, action_arg(a, 7));
    place_hand(x->core);
    if (st == GPM_OK) st = infer_transitions(x, &g, nuts_step, &set);
    if (st == GPM_OK) nuts_warn(x);
    return st;
}

/* ---- statistics ---- */

static enum gpm_status op_stats(struct infer_state *x, const struct action *a, value *out) {
    enum { MOST = 32 };
    const char *keys[MOST];
    double vals[MOST];
    struct sampler_summary s = sampler_summarise(x);
    size_t n = 0;
    while (n < MOST && (keys[n] = sampler_fact(&s, n, &vals[n]))) n++;
    *out = infer_numbers(keys, vals, n);
    return GPM_OK;
}

const struct infer_op infer_hmc_rows[] = {
    {"hmc",
     "(scope: target, block?: block, step_size?: nonneg, leapfrog_steps?: count, "
     "transitions?: count, init?: any) -> action",
     "Hamiltonian Monte Carlo on the continuous choices of the block, 1 to leapfrog_steps steps of "
     "step_size. It begins where the choices stand, or as init says (see sample)",
     .flags = OP_STEPS | OP_RESUMES, .run = op_hmc, .step = hmc_step, .block = "all", .n_extra = 2,
     .extra = {HMC_STEP, 10}, .needs = NEEDS_CONTINUOUS, .counted = "number of leapfrog steps"},
    {"nuts",
     "(scope: target, block?: block, warmup?: count, transitions?: count, "
     "target_accept?: probability, max_depth?: count, metric?: name, init?: any) -> action",
     "No-U-turn sampler; the first `warmup` transitions (300) adapt the step size towards "
     "target_accept (0.8), how far choices around others are centred, and the metric: low_rank (a "
     "diagonal and the directions that it misses), diag or dense. A trajectory has at most "
     "2^max_depth (10) steps; one that does not keep the energy is made of shorter ones, up to "
     "256. "
     "It begins where the choices stand, or as init says (see sample)",
     .flags = OP_STEPS | OP_RESUMES, .run = op_nuts, .block = "all", .n_extra = 1, .extra = {300},
     .needs = NEEDS_CONTINUOUS, .steps_last = true, .step = nuts_step},
    {"sampler_stats", "() -> action",
     "dictionary of what hmc and nuts have done so far: transitions and leapfrog steps of warm-up "
     "and sampling, how many transitions moved, diverged or reached max_depth, starts drawn anew, "
     "mean acceptance statistic and depth, step size, E-BFMI",
     .run = op_stats},
    {0},
};
