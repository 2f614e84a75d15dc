/* SPDX-License-Identifier: Apache-2.0
 *
 * Enumeration of the joint values of a block: gibbs draws one by weight, emap takes the heaviest,
 * enumerative_diversify makes a particle per value.
 *
 * The current value keeps its brush; choosing it restores the old state. Every other value is
 * weighed with a new brush. Rewinding the generator rebuilds the chosen value with the same brush.
 * This is Gibbs sampling on the state extended by one brush per other value, so it leaves the
 * posterior invariant.
 *
 * The possible values of a choice may depend on other choices of the block. Its candidates are the
 * union over all joint values, found by repeating until none is added. So the set is the same for
 * every joint value in it.
 *
 * Tables of a Chinese restaurant process are labels. Among joint values that differ only in the
 * names of new tables, exactly one counts. Values are set in evaluation order, and each must be one
 * that the process lists at that moment. The current state represents its class. */
#include "inference/sums/enumerate.h"

#include "numeric/special/special.h"
#include <math.h>

enum { MAX_JOINT = 1000000 };

/* Sets are small, so a linear search suffices. */
bool candidates_hold(const candidates *c, value v) {
    for (size_t i = 0; i < c->n; i++)
        if (value_equal(c->at[i], v)) return true;
    return false;
}

bool candidates_add(candidates *c, value v) {
    if (candidates_hold(c, v)) return false;
    vec_push(c, value_ref(v));
    return true;
}

enum gpm_status candidates_add_all(candidates *to, struct trace *t, struct node *n, size_t leave,
                                   bool *grew) {
    value *vals;
    size_t k;
    enum gpm_status st = node_enumerate(t, n, &vals, &k);
    if (st != GPM_OK) return st;
    for (size_t j = 0; j + leave < k; j++) *grew |= candidates_add(to, vals[j]);
    values_free(vals, k);
    return GPM_OK;
}

static enum gpm_status add_all(struct enumeration *e, bool *grew) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; st == GPM_OK && i < e->k; i++)
        st = candidates_add_all(&e->of[i], e->t, move_principal(&e->m, i), 0, grew);
    return st;
}

/* Joint value j in mixed radix: digit i counts the candidates of choice i. */
static void joint_values(const struct enumeration *e, size_t j, value *vals) {
    for (size_t i = 0; i < e->k; i++) {
        vals[i] = e->of[i].at[j % e->of[i].n];
        j /= e->of[i].n;
    }
}

static bool is_current(const struct enumeration *e, const value *vals) {
    for (size_t i = 0; i < e->k; i++)
        if (!value_equal(vals[i], move_old_value(&e->m, i))) return false;
    return true;
}

/* Do choices i and j of the block draw tables of the same process? */
static bool same_process(const struct enumeration *e, size_t i, size_t j) {
    const struct node *a = move_principal(&e->m, i), *b = move_principal(&e->m, j);
    const struct sp_class *cls = node_class(a);
    return cls && (cls->flags & SP_RENAMES) && value_equal(node_procedure(a), node_procedure(b));
}

/* Equal to the current joint value except for names of tables used only in the block? */
static bool is_current_renamed(const struct enumeration *e, const value *vals) {
    for (size_t i = 0; i < e->k; i++) {
        value now = move_old_value(&e->m, i);
        if (!same_process(e, i, i)) {
            if (!value_equal(vals[i], now)) return false;
            continue;
        }
        bool outside =
            candidates_hold(&e->outside[i], now) || candidates_hold(&e->outside[i], vals[i]);
        if (outside && !value_equal(vals[i], now)) return false;
        for (size_t j = 0; j < i; j++)
            if (same_process(e, i, j) &&
                value_equal(vals[i], vals[j]) != value_equal(now, move_old_value(&e->m, j)))
                return false;
    }
    return true;
}

static enum gpm_status count_joint(struct infer_state *x, struct enumeration *e, size_t *n) {
    double total = 1;
    for (size_t i = 0; i < e->k; i++) total *= (double)e->of[i].n;
    *n = (size_t)total;
    if (total <= MAX_JOINT) return GPM_OK;
    return infer_error(x, DIAG_LIMIT, "the block has %g joint values; at most %d can be enumerated",
                       total, MAX_JOINT);
}

/* One pass over all joint values; *grew: some value added candidates. */
static enum gpm_status weigh_all(struct infer_state *x, struct enumeration *e, bool *grew) {
    value *vals = NEW_ARRAY(value, e->k + 1);
    enum gpm_status st = count_joint(x, e, &e->n);
    if (st == GPM_OK) {
        e->weight = mem_realloc(e->weight, e->n * sizeof *e->weight);
        e->rng = mem_realloc(e->rng, e->n * sizeof *e->rng);
    }
    for (size_t j = 0; st == GPM_OK && j < e->n; j++) {
        joint_values(e, j, vals);
        e->rng[j] = e->t->rng;
        if (is_current(e, vals)) {
            e->current = j;
            e->weight[j] = e->m.w_old;
            continue;
        }
        e->weight[j] = -INFINITY;
        if (is_current_renamed(e, vals)) continue;
        st = core_poll(x->core, x->at);
        if (st == GPM_OK) st = move_build(&e->m, vals, &e->weight[j], NULL);
        if (st == GPM_OK && move_built(&e->m) && !e->m.flat && e->k > 1) st = add_all(e, grew);
        if (st == GPM_OK) move_drop(&e->m);
    }
    mem_free(vals);
    return st;
}

/* Tables in use while the block is out: all that the process lists except the last, the new
 * table. */
static enum gpm_status find_outside(struct enumeration *e) {
    bool grew = false;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < e->k && st == GPM_OK; i++)
        if (same_process(e, i, i))
            st = candidates_add_all(&e->outside[i], e->t, move_principal(&e->m, i), 1, &grew);
    return st;
}

/* The current values are always candidates, since a process may not list them while the block is
 * out. Each pass weighs everything again, because added candidates renumber the joint values. */
static enum gpm_status weigh_until_closed(struct infer_state *x, struct enumeration *e) {
    bool grew = true;
    enum gpm_status st = add_all(e, &grew);
    if (st == GPM_OK) st = find_outside(e);
    for (size_t i = 0; st == GPM_OK && i < e->k; i++)
        (void)candidates_add(&e->of[i], move_old_value(&e->m, i));
    for (grew = true; st == GPM_OK && grew;) {
        grew = false;
        st = weigh_all(x, e, &grew);
    }
    return st;
}

/* Opens the move. A flat is used only if no choice affects another's possible values. */
static enum gpm_status open_move(struct enumeration *e) {
    bool depend = false, grew = false;
    for (size_t i = 0; i < e->k; i++) depend |= move_args_change(&e->m, i);
    enum gpm_status st = e->k > 1 ? add_all(e, &grew) : GPM_OK; /* what the current values open */
    if (st != GPM_OK) {
        move_forget(&e->m);
        return st;
    }
    st = move_open(&e->m);
    if (st == GPM_OK && depend) st = move_generally(&e->m);
    if (st == GPM_OK && e->m.s) scaffold_only_listed(e->m.s);
    return st;
}

static void gibbs_release(struct enumeration *e) {
    for (size_t i = 0; i < e->k; i++) {
        values_free(e->of[i].at, e->of[i].n);
        values_free(e->outside[i].at, e->outside[i].n);
    }
    mem_free(e->of);
    mem_free(e->outside);
    mem_free(e->weight);
    mem_free(e->rng);
}

enum gpm_status enumerate_block(struct step *s, struct enumeration *e) {
    *e = (struct enumeration){.t = s->t};
    enum gpm_status st = move_find(s, &e->m);
    if (st != GPM_OK) return st;
    e->k = move_n(&e->m);
    e->of = mem_zalloc((e->k + 1) * sizeof *e->of);
    e->outside = mem_zalloc((e->k + 1) * sizeof *e->outside);
    st = open_move(e);
    if (st == GPM_OK) {
        st = weigh_until_closed(s->x, e);
        if (st != GPM_OK) move_close(&e->m, false);
    }
    if (st != GPM_OK) gibbs_release(e);
    return st;
}

void enumeration_end(struct enumeration *e, bool keep) {
    move_close(&e->m, keep);
    gibbs_release(e);
}

/* log sum_j exp(weight_j): the weight of the block with its choices summed out. */
double enumeration_log_total(const struct enumeration *e) {
    return logsumexp(e->weight, e->n);
}

/* The same generator state draws the same brush, so the state kept is the one weighed. */
enum gpm_status enumeration_build(struct enumeration *e, size_t j) {
    if (j == e->current) return GPM_OK;
    value *vals = NEW_ARRAY(value, e->k + 1);
    struct rng now = e->t->rng;
    double w;
    joint_values(e, j, vals);
    e->t->rng = e->rng[j];
    enum gpm_status st = move_build(&e->m, vals, &w, NULL);
    e->t->rng = now;
    mem_free(vals);
    return st;
}

/* Draws by weight; -1 if all weights are zero. */
static size_t gibbs_draw(const struct enumeration *e) {
    double total = enumeration_log_total(e), u = rng_uniform(&e->t->rng), sum = 0;
    size_t last = SIZE_MAX;
    for (size_t j = 0; j < e->n && total > -INFINITY; j++) {
        if (e->weight[j] == -INFINITY) continue;
        if (e->weight[j] == INFINITY) return j;
        last = j;
        sum += exp(e->weight[j] - total);
        if (u < sum) return j;
    }
    return last;
}

/* The current value wins ties, so emap reaches a fixed point. */
static size_t heaviest(const struct enumeration *e) {
    size_t best = e->current;
    for (size_t j = 0; j < e->n; j++)
        if (e->weight[j] > e->weight[best]) best = j;
    return best;
}

enum { DRAW, TAKE_HEAVIEST };

/* A draw from the conditional needs no ratio, except for the pick if the number of blocks changes
 * with the value: log alpha = log P(block | new) - log P(block | old). */
static enum gpm_status gibbs_step(struct step *s) {
    struct enumeration e;
    bool max = s->g->op->how == TAKE_HEAVIEST;
    for (size_t i = 0; i < s->n; i++) {
        const struct sp_class *cls = node_class(s->at[i]);
        if (!cls || cls->enumerate) continue;
        trace_not_enumerable(s->x->core->diags, cls, node_span(s->at[i]));
        return infer_why_there(s->x->core->diags, s->g->scope, node_read_in(s->at[i], s->g->scope));
    }
    s->redraws = true;
    enum gpm_status st = enumerate_block(s, &e);
    if (st != GPM_OK) return st;
    size_t j = max ? heaviest(&e) : gibbs_draw(&e);
    bool moved = j != SIZE_MAX && j != e.current;
    if (moved) st = enumeration_build(&e, j);
    moved = moved && st == GPM_OK && move_built(&e.m) && (max || step_accept(s, 0, 0, 0));
    s->accepted = moved || j == e.current;
    enumeration_end(&e, moved);
    return st;
}

#define GIBBS_SIG "(scope: target, block?: block, steps?: count, parallel?: bool) -> action"
const struct infer_op infer_gibbs_rows[] = {
    {"gibbs", GIBBS_SIG, "enumerates the joint values of the block and draws one by its weight",
     .how = DRAW, STEPS(gibbs_step, "one"), .needs = NEEDS_DISCRETE},
    {"emap", GIBBS_SIG, "enumerates the joint values of the block and takes the most probable",
     .how = TAKE_HEAVIEST, STEPS(gibbs_step, "one"), .needs = NEEDS_DISCRETE},
    {0},
};
