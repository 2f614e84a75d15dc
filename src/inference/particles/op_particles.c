/* SPDX-License-Identifier: Apache-2.0
 *
 * Particles: resampling, weights, actions on one or each of them, merging and splitting.
 *
 * A model is a set of traces p_i with log weights log w_i. The weighted set stands for the
 * posterior, sum_i w_i f(p_i) / sum_i w_i, and its total estimates the evidence of what was
 * observed:
 *
 *     observe      w_i *= p(y | p_i)
 *     resample(n)  n draws with replacement by w_i, each of weight W / n, W = sum w_i;
 *                  nothing is drawn if the weights are even enough (ess=)
 *     equalize     w_i = W / n
 *     collapse     one of the particles that agree, drawn by weight, with the sum of their weights
 *     diversify    particle i becomes one per value v of a block, with weight w_i p(v | rest)
 *
 * resample, collapse and diversify preserve expectations (on average over their draws) and W;
 * equalize preserves only W. Every copy draws from its own stream. */
#include "inference/sums/enumerate.h"
#include "inference/run/infer_pack.h"

#include "numeric/special/special.h"
#include <math.h>

enum { ONLY_COUNT, WITH_METHOD }; /* arguments of resample */

/* Replaces the model's particles, which are already moved elsewhere or freed. */
static void replace_all(struct model *m, particles *by) {
    vec_release(&m->p);
    m->p = *by;
    *by = (particles){0};
}

/* Weights are relative to draws from the prior; an improper prior has no draws. */
static enum gpm_status refuse_improper(void *ctx, struct trace *t, struct node *n) {
    struct infer_state *x = ctx;
    const struct sp_class *cls = node_class(n);
    if (!cls || !(cls->flags & SP_IMPROPER)) return GPM_OK;
    return infer_error(x, DIAG_IMPROPER,
                       "resample: %s has no distribution to draw from, so that the weights of "
                       "particles mean nothing",
                       cls->name);
}

/* Reads the further arguments of resample: the way to draw, and the limit for the effective number
 * of particles as a share of their number (1: always resample). */
static enum gpm_status read_method(struct infer_state *x, const struct action *a, bool *systematic,
                                   double *below) {
    value share = action_arg(a, 2);
    const char *method = is_absent(action_arg(a, 1)) ? "multinomial" : value_text(a->args[1]);
    *systematic = !strcmp(method, "systematic");
    if (!*systematic && strcmp(method, "multinomial") != 0)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "resample: the method is \"multinomial\" or \"systematic\", not \"%s\"",
                           method);
    *below = is_absent(share) ? 1 : share.u.num;
    if (*below > 0 && *below <= 1) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                       "resample: ess, a share of the particles, must be above 0 and at most 1");
}

/* The error of the evidence, from one run. Particles at a common start are independent, and later
 * ones store which of those they descend from. Let W_i be the normalised weights of N particles
 * after g generations, and E_i their ancestors at the start. Then
 *
 *     V = 1 - (N / (N - 1))^g  sum over E_i != E_j of W_i W_j
 *
 * estimates the relative variance of the evidence since the start. It is unbiased under multinomial
 * resampling (Lee and Whiteley 2018; g = 1 is importance sampling). Once all particles descend from
 * one ancestor, V is useless. So when few lines are left a new start is made, and the variances of
 * the stretches are added. That is right if the past is forgotten within a stretch. */

/* *lines: number of particles at the start that have descendants. */
static double stretch_variance(const struct model *m, size_t *lines) {
    size_t n = m->p.n;
    double total = model_log_weight(m), *of = mem_zalloc(n * sizeof *of), same = 0;
    for (size_t i = 0; i < n; i++) {
        const struct trace *t = m->p.at[i];
        of[t->ancestry.from % n] += exp(t->log_weight - total);
    }
    *lines = 0;
    for (size_t i = 0; i < n; i++) {
        *lines += of[i] > 0;
        same += of[i] * of[i];
    }
    mem_free(of);
    double g = m->p.at[0]->ancestry.generations, up = (double)n / ((double)n - 1);
    return n > 1 && g > 0 ? fmax(0, 1 - pow(up, g) * (1 - same)) : 0; /* an estimate may be < 0 */
}

/* The ancestry of the particles drawn next: inherited from the particles they are drawn from, or a
 * new start. */
static struct ancestry next_ancestry(const struct model *m, size_t want, bool systematic) {
    enum { SHARE = 8 }; /* lines left, as a share of the particles */
    struct ancestry d = m->p.at[0]->ancestry;
    size_t lines;
    double v = stretch_variance(m, &lines);
    bool begins = !d.generations || m->p.n != want || lines * SHARE < want;
    if (begins) d.variance += v;
    if (systematic && m->p.n > 1) d.variance = NAN; /* dependent draws */
    d.generations = begins ? 1 : d.generations + 1;
    return d;
}

static enum gpm_status op_particle_evidence(struct infer_state *x, const struct action *a,
                                            value *out) {
    static const char *const keys[] = {"log_evidence", "error"};
    const struct model *m = x->model;
    size_t lines;
    double v = m->p.at[0]->ancestry.variance + stretch_variance(m, &lines);
    double total = model_log_weight(m);
    bool told = m->p.n > 1 && m->p.at[0]->ancestry.generations && total > -INFINITY;
    *out = infer_numbers(keys, (double[]){total, told ? sqrt(v) : NAN}, 2);
    return GPM_OK;
}

/* From one state to many. A population begins with draws from the prior, weighted by the
 * observations, so the other states are drawn independently. A state that was moved or constrained
 * has no independent draws like it. Then copies take their place, and the evidence cannot be
 * estimated. */

/* Another draw from the prior. A state that cannot be evaluated gets weight zero and arbitrary
 * values. */
static enum gpm_status draw_other(struct infer_state *x, struct trace **of, particles *to) {
    double w_old, w_new, joint;
    enum gpm_status st = model_add_copy(x, of, to);
    if (st != GPM_OK) return st;
    struct trace *t = vec_last(to);
    trace_whole(t);
    st = trace_redraw(t, t->choices.at, t->choices.n, &w_old, &w_new);
    if (st != GPM_OK || w_new == -INFINITY || t->log_weight > -INFINITY)
        t->log_weight += w_new == -INFINITY ? w_new : w_new - w_old;
    else /* the difference of weights is undefined */
        st = trace_log_joint(t, &joint, &t->log_weight);
    return st;
}

static enum gpm_status draw_others(struct infer_state *x, size_t want) {
    struct model *m = x->model;
    particles next = {0};
    enum gpm_status st = GPM_OK;
    vec_push(&next, NULL);
    while (st == GPM_OK && next.n < want) st = draw_other(x, &m->p.at[0], &next);
    if (st != GPM_OK) {
        particles_free(&next);
        return st;
    }
    next.at[0] = m->p.at[0];
    replace_all(m, &next);
    for (size_t i = 0; i < want; i++) {
        m->p.at[i]->ancestry = (struct ancestry){.from = (uint32_t)i, .generations = 1};
        m->p.at[i]->log_weight -= log((double)want);
    }
    return GPM_OK;
}

/* Keeps only the first particle. */
static void drop_others(struct model *m, double log_weight) {
    while (m->p.n > 1) trace_free(vec_pop(&m->p));
    m->p.at[0]->ancestry = (struct ancestry){0};
    m->p.at[0]->log_weight = log_weight;
}

/* The last draw of a particle takes the trace itself, so a run with one particle copies nothing.
 * Its place stays empty until all copies are made. */
static enum gpm_status draw_by_weight(struct infer_state *x, size_t want, bool systematic) {
    struct model *m = x->model;
    double total = model_log_weight(m);
    struct ancestry next_of = next_ancestry(m, want, systematic);
    size_t *count = mem_zalloc(m->p.n * sizeof *count);
    enum gpm_status st = GPM_OK;
    infer_draw_particles(x, total, systematic, want, count);
    particles next = {0};
    for (size_t i = 0; i < m->p.n; i++) {
        for (size_t k = 1; st == GPM_OK && k < count[i]; k++)
            st = model_add_copy(x, &m->p.at[i], &next);
        if (count[i]) vec_push(&next, NULL);
    }
    for (size_t i = 0, upto = 0; st == GPM_OK && i < m->p.n; i++) {
        upto += count[i];
        if (count[i])
            next.at[upto - 1] = m->p.at[i];
        else
            trace_free(m->p.at[i]);
    }
    mem_free(count);
    if (st != GPM_OK) {
        particles_free(&next);
        return st;
    }
    replace_all(m, &next);
    for (size_t i = 0; i < m->p.n; i++) {
        next_of.from = next_of.generations > 1 ? m->p.at[i]->ancestry.from : (uint32_t)i;
        m->p.at[i]->ancestry = next_of;
        m->p.at[i]->log_weight = total - log((double)want);
    }
    return GPM_OK;
}

static enum gpm_status op_resample(struct infer_state *x, const struct action *a, value *out) {
    double most = 1e7, given = a->args[0].u.num, below = 1;
    if (given < 1)
        return infer_error(
            x, DIAG_BAD_OPERATOR_ARG,
            "resample: the number of particles must be a whole number of at least 1");
    if (given > most)
        return infer_error(x, DIAG_LIMIT, "resample: %g particles are too many", given);
    size_t want = (size_t)given;
    struct model *m = x->model;
    bool systematic = false;
    enum gpm_status st = GPM_OK;
    if (trace_had_improper(m->p.at[0])) {
        trace_whole(m->p.at[0]);
        st = trace_each_node(m->p.at[0], refuse_improper, x);
    }
    if (st == GPM_OK && a->op->how == WITH_METHOD) st = read_method(x, a, &systematic, &below);
    if (st != GPM_OK) return st;
    bool many = m->p.n == 1 && want > 1;
    if (many) trace_whole(m->p.at[0]);
    bool anew = many && !m->begun && m->p.at[0]->choices.n;
    bool copies = many && m->begun && m->p.at[0]->records.n;
    double one = m->p.at[0]->log_weight;
    if (anew) st = draw_others(x, want);
    if (st != GPM_OK) return st;
    if (copies)
        diag_warn(
            x->core->diags, DIAG_PARTICLES, x->at,
            "%s: the %zu particles begin as copies of one state, since inference has moved it "
            "or given it values; the evidence that they tell is of that state alone",
            a->op->name, want);
    if (anew) below *= 1 - 1e-12; /* equal weights: nothing to draw */
    m->begun |= want > 1 || m->p.n > 1;
    bool even = below < 1 && m->p.n == want && model_ess(m) >= below * given;
    if (!even) st = draw_by_weight(x, want, systematic);
    if (st != GPM_OK && anew) drop_others(m, one);
    if (st != GPM_OK) return st;
    for (size_t i = 0; copies && i < want; i++) m->p.at[i]->ancestry.variance = NAN;
    return GPM_OK;
}

static enum gpm_status weight_of(struct infer_state *x, const struct action *a, struct trace *t,
                                 value *out) {
    *out = value_num(t->log_weight);
    return GPM_OK;
}

enum { SET, ADD };

static enum gpm_status op_change_weights(struct infer_state *x, const struct action *a,
                                         value *out) {
    struct model *m = x->model;
    double *w;
    size_t n;
    if (!seq_numbers(a->args[0], &w, &n))
        return infer_error(x, DIAG_TYPE, "%s needs a sequence of numbers, got a %s", a->op->name,
                           value_type_name(a->args[0]));
    for (size_t i = 0; n == m->p.n && i < n; i++) {
        double *to = &m->p.at[i]->log_weight;
        *to = a->op->how == ADD ? *to + w[i] : w[i];
    }
    mem_free(w);
    return n == m->p.n ? GPM_OK
                       : infer_error(x, DIAG_SHAPE, "%s: %zu weights for %zu particles",
                                     a->op->name, n, m->p.n);
}

/* Draws nothing. The particles stay, but represent another distribution unless their weights were
 * equal. */
static enum gpm_status op_equalize(struct infer_state *x, const struct action *a, value *out) {
    struct model *m = x->model;
    double each = model_log_weight(m) - log((double)m->p.n);
    for (size_t i = 0; i < m->p.n; i++) m->p.at[i]->log_weight = each;
    return GPM_OK;
}

/* The particle whose index is the first argument; 0 if it is left out. */
static enum gpm_status read_index(struct infer_state *x, const struct action *a, size_t *out) {
    double i = a->n ? a->args[0].u.num : 0;
    *out = (size_t)i;
    return i < (double)x->model->p.n
               ? GPM_OK
               : infer_error(x, DIAG_INDEX, "%s: there is no particle %g; they are 0 to %zu",
                             a->op->name, i, x->model->p.n - 1);
}

/* The place of an action that runs on each particle in turn: now on number `at`, while the others
 * wait. */
struct alone_place {
    particles all; /* the model holds the one at `at` meanwhile */
    size_t at, done;
    value *vals; /* results, `done` of them */
    bool outer;  /* previous x->each_particle */
};

static void pack_alone(struct pack *p, void *ctx) {
    struct alone_place *w = ctx;
    size_t n = w->all.n;
    pack_count(p, &n, 1);
    pack_size(p, &w->at);
    pack_size(p, &w->done);
    pack_bool(p, &w->outer);
    if (w->at >= n || w->done > w->at) pack_fail(p, "there is no such particle");
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct trace *t = p->reading ? NULL : w->all.at[i];
        if (i != w->at) trace_pack(p, &t);
        if (p->reading) vec_push(&w->all, t);
    }
    if (p->reading) w->vals = mem_zalloc((n + 1) * sizeof *w->vals);
    if (pack_ok(p)) pack_values(p, w->vals, w->done);
    if (pack_ok(p) || !p->reading) return;
    for (size_t i = 0; i < w->all.n; i++)
        if (w->all.at[i]) trace_free(w->all.at[i]);
    vec_release(&w->all);
    w->at = w->done = 0;
}

/* Reduces the model to one particle during the action. The action may replace that trace
 * (structure_mh does) but must not make several. */
static enum gpm_status on_particle(struct infer_state *x, struct alone_place *w, value action,
                                   value *out) {
    if (!w->all.n) w->all = infer_lend(x, w->at);
    if (w->all.n > 1) infer_lent(x)->at = w->at;
    place_hand(x->core);
    enum gpm_status st = action_run(x->core, action, x->at, out);
    st = infer_take_back(x, w->at, w->all, st, out);
    w->all = (particles){0};
    return st;
}

const struct op_state_class lent_own = {.size = sizeof(struct lent)};

struct lent *infer_lent(const struct infer_state *x) {
    return infer_own(x, &lent_own);
}

/* Rows collected from one of several particles are weighted among all, by their present weights. */
static void lend_weights(struct infer_state *x, const struct alone_place *w) {
    double total = model_log_weight(x->model);
    size_t n = w->all.n ? w->all.n : x->model->p.n;
    for (size_t i = 0; i < w->all.n; i++)
        if (i != w->at) total = logaddexp(total, w->all.at[i]->log_weight);
    if (n < 2) return;
    *infer_lent(x) = (struct lent){n, infer_lent(x)->at, total};
}

static void lend_no_more(struct infer_state *x) {
    if (x->model->p.n > 1) infer_lent(x)->n = 0;
}

enum { ONE_OF_THEM, EACH_OF_THEM };

/* on_particle(i, a), for_each_particle(a) */
static enum gpm_status op_on_particles(struct infer_state *x, const struct action *a, value *out) {
    bool each = a->op->how == EACH_OF_THEM;
    struct alone_place w = {.outer = x->each_particle};
    struct waypoint here = {PLACE_OPERATOR, pack_alone, &w, NULL, false};
    enum gpm_status st = GPM_OK;
    bool resumed = place_enter(x->core, &here);
    size_t n = !each ? 1 : resumed ? w.all.n : x->model->p.n;
    if (!resumed) w.vals = NEW_ARRAY(value, n);
    if (!resumed && !each) st = read_index(x, a, &w.at);
    x->each_particle |= each;
    lend_weights(x, &w);
    for (; w.done < n && st == GPM_OK; w.done += st == GPM_OK) {
        if (each) w.at = w.done;
        st = on_particle(x, &w, a->args[each ? 0 : 1], &w.vals[w.done]);
    }
    x->each_particle = w.outer;
    lend_no_more(x);
    place_leave(x->core, &here);
    if (st == GPM_OK) *out = each ? value_list(w.vals, n) : value_ref(w.vals[0]);
    values_free(w.vals, w.done);
    return st;
}

static enum gpm_status op_add_particle(struct infer_state *x, const struct action *a, value *out) {
    size_t i;
    struct model *m = x->model;
    enum gpm_status st = read_index(x, a, &i);
    if (st == GPM_OK) st = model_add_copy(x, &m->p.at[i], &m->p);
    if (st == GPM_OK) *out = value_num((double)(m->p.n - 1));
    return st;
}

/* Merging particles that agree on a block. */

static enum gpm_status values_of(struct infer_state *x, struct trace *t, const struct target *g,
                                 value *out) {
    struct node_set all;
    enum gpm_status st = infer_target_all(x, t, g, &all);
    if (st != GPM_OK) return st;
    *out = node_set_values(t, &all);
    mem_free(all.at);
    return GPM_OK;
}

/* The representative of the class of particle `first`: drawn by weight, or the heaviest. */
static size_t representative(struct infer_state *x, const value *key, size_t first, bool max,
                             double *weight) {
    struct model *m = x->model;
    size_t chosen = first;
    double total = m->p.at[first]->log_weight;
    for (size_t j = first + 1; j < m->p.n; j++) {
        double w = m->p.at[j]->log_weight;
        if (!value_equal(key[first], key[j])) continue;
        if (max) {
            if (w > m->p.at[chosen]->log_weight) chosen = j;
            continue;
        }
        /* Reservoir sampling: after each step `chosen` is drawn by weight among the particles
         * seen. */
        if (w == -INFINITY) continue;
        double both = logaddexp(total, w);
        if (log(rng_uniform(&x->core->rng)) < w - both) chosen = j;
        total = both;
    }
    *weight = max ? m->p.at[chosen]->log_weight : total;
    return chosen;
}

/* key[i]: values of the block in particle i. Classes are in the order of their first particle;
 * O(n^2) comparisons. */
static void collapse(struct infer_state *x, const value *key, bool max) {
    struct model *m = x->model;
    size_t n = m->p.n;
    bool *keep = mem_zalloc(n), *seen = mem_zalloc(n);
    double *weight = NEW_ARRAY(double, n);
    for (size_t i = 0; i < n; i++) {
        if (seen[i]) continue;
        for (size_t j = i; j < n; j++) seen[j] = seen[j] || value_equal(key[i], key[j]);
        double w;
        size_t r = representative(x, key, i, max, &w);
        keep[r] = true;
        weight[r] = w;
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!keep[i]) {
            trace_free(m->p.at[i]);
            continue;
        }
        m->p.at[i]->log_weight = weight[i];
        m->p.at[k++] = m->p.at[i];
    }
    m->p.n = k;
    mem_free(keep);
    mem_free(seen);
    mem_free(weight);
}

enum { BY_WEIGHT, HEAVIEST };

static enum gpm_status op_collapse(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    size_t np = x->model->p.n, have = 0;
    value *key = NEW_ARRAY(value, np);
    enum gpm_status st = infer_target(x, a, &g);
    for (; st == GPM_OK && have < np; have += st == GPM_OK)
        st = values_of(x, x->model->p.at[have], &g, &key[have]);
    if (st == GPM_OK) collapse(x, key, a->op->how == HEAVIEST);
    values_free(key, have);
    return st;
}

/* One particle per value of the block, weighted by its conditional probability. */

/* Log of the number of blocks to pick from. */
static double log_live(struct trace *t, value scope) {
    struct scope *s = infer_is_name(scope, "default") ? NULL : trace_scope(t, scope);
    return log((double)(s ? scope_live(s) : t->choices.n));
}

/* The choices of t to be set. `one`: a block picked with *pick, the same in copies of one trace. */
static enum gpm_status block_of(struct infer_state *x, struct trace *t, const struct target *g,
                                bool one, const struct rng *pick, struct node_set *out) {
    if (!one) return infer_target_all(x, t, g, out);
    struct rng own = t->rng;
    t->rng = *pick;
    enum gpm_status st = infer_pick_block(x, t, g->scope, out);
    t->rng = own;
    return st;
}

/* Sets t to joint value j of its block; *weight: log conditional probability; *n: number of values.
 * A block picked among n(x) contributes P(pick | new) / P(pick | old). */
static enum gpm_status take_value(struct infer_state *x, struct trace *t, const struct target *g,
                                  const struct rng *pick, size_t j, double *weight, size_t *n) {
    bool one = !g->sub && infer_is_name(g->block, "one");
    struct node_set block;
    struct enumeration e;
    enum gpm_status st = block_of(x, t, g, one, pick, &block);
    double before = one ? log_live(t, g->scope) : 0;
    struct step s = {.x = x, .t = t, .at = block.at, .n = block.n};
    *n = 1;
    *weight = 0;
    bool any = st == GPM_OK && block.n;
    if (any) st = enumerate_block(&s, &e);
    mem_free(block.at);
    if (st != GPM_OK || !any) return st;
    double total = enumeration_log_total(&e);
    *n = e.n;
    *weight = total > -INFINITY ? e.weight[j] - total : -INFINITY;
    if (*weight > -INFINITY && j != e.current) st = enumeration_build(&e, j);
    enumeration_end(&e, st == GPM_OK && *weight > -INFINITY && j != e.current);
    if (one && *weight > -INFINITY) *weight += before - log_live(t, g->scope);
    return st;
}

/* Each value is enumerated on its own copy; values of probability zero get none. If every particle
 * is impossible, the old ones stay. */
static enum gpm_status op_diversify(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    enum gpm_status st = infer_target(x, a, &g);
    particles next = {0};
    struct model *m = x->model;
    for (size_t i = 0; st == GPM_OK && i < m->p.n; i++) {
        size_t count = 1;
        struct rng pick = rng_split(&m->p.at[i]->rng);
        for (size_t j = 0; st == GPM_OK && j < count; j++) {
            double w = -INFINITY;
            st = model_add_copy(x, &m->p.at[i], &next);
            if (st != GPM_OK) break;
            trace_whole(vec_last(&next));
            st = take_value(x, vec_last(&next), &g, &pick, j, &w, &count);
            if (st == GPM_OK && w > -INFINITY)
                vec_last(&next)->log_weight += w;
            else
                trace_free(vec_pop(&next));
        }
    }
    if (st == GPM_OK && next.n) {
        particles_free(&m->p);
        replace_all(m, &next);
    }
    particles_free(&next);
    return st;
}

const struct infer_op infer_particles_rows[] = {
    {"resample", "(n: count, method?: name, ess?: number) -> action",
     "n particles drawn by weight; the total weight is kept. method=\"systematic\" draws with less "
     "noise than \"multinomial\"; ess=0.5 resamples only when the effective number of the n "
     "particles is less than half of n. From one particle, states that no operator moved are drawn "
     "anew "
     "and weighted. Copies share what they have in common",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_resample, .how = WITH_METHOD},
    {"resample_multiprocess", "(n: count, max?: any) -> action",
     "the same as resample; max, of processes, changes nothing", .flags = OP_SHARED | OP_ATOMIC,
     .run = op_resample},
    {"particle_log_weights", "() -> action", "array of the particles' log weights",
     .flags = OP_SHARED | OP_ATOMIC, EACH(weight_of)},
    {"particle_evidence", "() -> action",
     "log_evidence, the log of the particles' total weight, and error, its standard error as their "
     "descent since the first resample tells it (nan after systematic resampling)",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_particle_evidence},
    {"set_particle_log_weights", "(w: any) -> action", "sets the particles' log weights",
     .flags = OP_SHARED, .run = op_change_weights, .how = SET},
    {"increment_particle_log_weights", "(w: any) -> action", "adds to the particles' log weights",
     .flags = OP_SHARED, .run = op_change_weights, .how = ADD},
    {"equalize_particle_log_weights", "() -> action",
     "makes the weights equal, keeping their total", .flags = OP_SHARED | OP_ATOMIC,
     .run = op_equalize},
    {"on_particle", "(i: count, a: action) -> action", "runs a on particle i alone",
     .flags = OP_SHARED | OP_RESUMES, .run = op_on_particles, .how = ONE_OF_THEM},
    {"for_each_particle", "(a: action) -> action",
     "runs a on each particle by itself; list of the results", .flags = OP_RESUMES,
     .run = op_on_particles, .how = EACH_OF_THEM},
    {"add_particle", "(i?: count) -> action", "adds a copy of particle i; its number",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_add_particle},
    {"collapse_equal", "(scope: target, block?: block) -> action",
     "merges particles that agree on the block, adding their weights", .flags = OP_MOVES,
     .run = op_collapse, .how = BY_WEIGHT, .block = "all"},
    {"collapse_equal_map", "(scope: target, block?: block) -> action",
     "of particles that agree on the block keeps the heaviest", .flags = OP_MOVES,
     .run = op_collapse, .how = HEAVIEST, .block = "all"},
    {"enumerative_diversify", "(scope: target, block?: block) -> action",
     "splits every particle into one for each value of the block; one: of a block picked at random",
     .flags = OP_MOVES, .run = op_diversify, .block = "all"},
    {0},
};
