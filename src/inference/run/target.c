/* SPDX-License-Identifier: Apache-2.0
 *
 * The choices that an operator moves: scope and block, or a subproblem. If one of several blocks is
 * picked at random, the proposal's probability depends on the number of blocks. The operator gets
 * the correction as struct mh_extra.
 *
 *     q(x -> x') = P(block | x) q_block(x -> x'),   so log alpha gets
 *     log P(block | x') - log P(block | x) = log n - log n',   n live blocks before, n' after
 *
 * step_begin and step_accept compute it around the move. */
#include "inference/run/infer.h"

#include "runtime/flat/flat.h"
#include <math.h>
#include <string.h>

value infer_name(struct infer_state *x, const char *name) {
    return value_sym(sym_cstr(x->core->syms, name));
}

struct target infer_aim(struct infer_state *x, value scope, value block) {
    const struct subproblem *s = subproblem_of(scope);
    while (s && s->kind == SUB_EXTENT && subproblem_of(s->a)) s = subproblem_of(s->a);
    if (!s) return (struct target){.scope = scope, .block = block, .transitions = 1};
    if (s->kind == SUB_SCOPE)
        return (struct target){.scope = s->a, .block = s->b, .transitions = 1};
    return (struct target){.scope = infer_name(x, "subproblem"), .sub = s, .transitions = 1};
}

/* The signature has checked types and number of arguments. */
enum gpm_status infer_target(struct infer_state *x, const struct action *a, struct target *out) {
    const struct infer_op *op = a->op;
    const value *args = a->args;
    bool named = !is_absent(action_arg(a, 1));
    /* The first argument after scope and block. */
    size_t n = a->n, k = subproblem_of(args[0]) && named ? 1 : 2;
    *out = infer_aim(x, args[0], named ? args[1] : infer_name(x, op->block));
    out->op = op;
    size_t given = n > k ? n - k : 0, extras = op->n_extra;
    if (op->steps_last && given == 1) extras = 0;
    for (size_t i = 0; i < op->n_extra; i++) {
        bool there = i < extras && !is_absent(action_arg(a, k + i));
        out->extra[i] = there ? args[k + i] : value_num(op->extra[i]);
    }
    value last = action_arg(a, k + extras);
    if (!is_absent(last)) out->transitions = last.tag == V_NUM ? last.u.num : -1;
    if (out->transitions != floor(out->transitions) || out->transitions < 0)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "%s: the number of transitions must be a whole number", op->name);
    double last_extra = op->counted ? out->extra[op->n_extra - 1].u.num : 1;
    if (last_extra >= 1 && last_extra <= 0x1p53) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: the %s must be at least 1%s, got %g",
                       op->name, op->counted, last_extra > 1 ? ", and at most 2^53" : "",
                       last_extra);
}

static bool is_default(value scope) {
    return infer_is_name(scope, "default");
}

enum gpm_status infer_no_scope(struct diags *d, value scope, struct span at, const value *have,
                               size_t n) {
    struct buf list = BUF_INIT;
    VEC(const char *) names = {0};
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(&list, ", ");
        value_print(have[i], &list);
        if (value_text(have[i])) vec_push(&names, value_text(have[i]));
    }
    const char *shown = SHOW(scope);
    const char *word = value_text(scope) ? value_text(scope) : shown;
    const char *near = suggest_nearest(word, names.at, names.n);
    diag_raise(d, DIAG_UNKNOWN_SCOPE, at, "no tag names the scope %s", shown);
    if (n)
        diag_add_note(d, "scopes of this model: %s", list.data);
    else
        diag_add_note(d, "no tag has been evaluated in this model");
    if (near) diag_set_help(d, "did you mean \"%s\"?", near);
    vec_release(&names);
    buf_release(&list);
    return GPM_E_USER;
}

/* A scope named by a tag in the program text may have no choices in this state; that is not an
 * error. */
enum gpm_status infer_unknown_scope(struct infer_state *x, struct trace *t, value scope) {
    for (size_t i = 0; i < x->known_scopes.n; i++)
        if (value_name_equal(x->known_scopes.at[i], scope)) return GPM_OK;
    VEC(value) have = {0};
    for (size_t i = 0; i < t->scopes.n; i++) vec_push(&have, scope_name(t->scopes.at[i]));
    enum gpm_status st = infer_no_scope(x->core->diags, scope, x->at, have.at, have.n);
    vec_release(&have);
    return st;
}

/* Log probability of picking this block in the current state; 0 if it was not picked at random. */
static double log_pick(const struct step *s) {
    return s->extra ? s->extra->log_pick(s->extra->ctx, s->t) : 0;
}

void step_begin(struct step *s) {
    s->log_pick = log_pick(s);
}

bool step_accept(const struct step *s, double w_old, double w_new, double log_q) {
    double log_alpha = w_new - w_old + log_q + (log_pick(s) - s->log_pick);
    return mh_accept(log_alpha, w_old, w_new, &s->t->rng);
}

static double pick_default(void *ctx, struct trace *t) {
    return -log((double)t->choices.n);
}

/* For a named scope: live blocks are equally likely. */
static double pick_block(void *ctx, struct trace *t) {
    return -log((double)scope_live(ctx));
}

enum { PICKS = 16, PREFETCH_FROM = 2000 };

/* One particle's turn of one operator. */
struct visit {
    struct step s; /* passed to the operator; `at`, `n` and `extra` change with every transition */
    /* Picks of the scope default drawn ahead, so that their nodes can be prefetched. */
    struct node *ahead[PICKS];
    uint32_t n_ahead, next;
    uint64_t structure; /* of the trace when they were drawn */
    step_fn *fn;
    size_t stat;                   /* 1 + index of the scope's statistics, 0: not looked up yet */
    const struct subproblem *from; /* the selection from which one choice was picked */
};

/* The next choice, uniformly. Large traces do not fit the caches. So picks are drawn some steps
 * ahead, and their memory is prefetched in stages: the choice, its flat, the nodes of the flat. A
 * change of structure discards unused picks. */
static struct node *pick_ahead(struct visit *v) {
    struct trace *t = v->s.t;
    if (v->structure != t->structure || !v->n_ahead) {
        v->structure = t->structure;
        v->n_ahead = PICKS;
        v->next = 0;
        for (uint32_t i = 0; i < PICKS; i++)
            v->ahead[i] = t->choices.at[rng_below(&t->rng, t->choices.n)];
    }
    uint32_t at = v->next;
    struct node *n = v->ahead[at];
    v->ahead[at] = t->choices.at[rng_below(&t->rng, t->choices.n)];
    flat_prefetch(v->ahead[at], v->ahead[(at + PICKS * 5 / 8) % PICKS],
                  v->ahead[(at + PICKS * 2 / 8) % PICKS]);
    v->next = (at + 1) % PICKS;
    return n;
}

/* One transition, counted for the scope. extra is NULL unless the block was picked at random.
 * Without a random pick both states visit the same block, and no correction is needed. */
static enum gpm_status call(struct visit *v, struct node **at, size_t n,
                            const struct mh_extra *extra) {
    struct step *s = &v->s;
    if (!n) return GPM_OK;
    s->at = at;
    s->n = n;
    s->extra = extra;
    s->accepted = false;
    enum gpm_status st = v->fn(s);
    if (st == GPM_OK) {
        if (!v->stat) v->stat = 1 + infer_stats_of(s->x, s->g->scope);
        infer_count(s->x, v->stat - 1, s->accepted);
    }
#ifdef GPMEM_CHECKS
    trace_settle(s->t);
    if (st == GPM_OK && s->t->n_nodes < 5000) {
        struct buf why = BUF_INIT;
        if (!trace_check(s->t, &why)) st = infer_error(s->x, DIAG_NAN, "trace check: %s", why.data);
        buf_release(&why);
    }
#endif
    return st;
}

/* A transition of a set, which is then freed. */
static enum gpm_status call_set(struct visit *v, struct node_set set,
                                const struct mh_extra *extra) {
    enum gpm_status st = call(v, set.at, set.n, extra);
    mem_free(set.at);
    return st;
}

static enum gpm_status on_block(struct visit *v, struct scope_block *b) {
    struct node_set set;
    block_choices(b, &set.at, &set.n);
    return call_set(v, set, NULL);
}

static enum gpm_status on_target(struct visit *v, const struct target *g) {
    struct node_set set;
    enum gpm_status st = infer_target_all(v->s.x, v->s.t, g, &set);
    return st == GPM_OK ? call_set(v, set, NULL) : st;
}

/* One choice picked uniformly, with its correction. */
static enum gpm_status on_default_one(struct visit *v) {
    struct trace *t = v->s.t;
    if (!t->choices.n) return GPM_OK;
    struct node *n = t->n_nodes > PREFETCH_FROM ? pick_ahead(v)
                                                : t->choices.at[rng_below(&t->rng, t->choices.n)];
    struct mh_extra extra = {.log_pick = pick_default, .of_all = true};
    return call(v, &n, 1, &extra);
}

/* Copied: transitions change t->choices. */
static struct node_set every_choice(const struct trace *t) {
    struct node_set all = {NEW_ARRAY(struct node *, t->choices.n + 1), t->choices.n};
    if (all.n) memcpy(all.at, t->choices.at, all.n * sizeof *all.at);
    return all;
}

enum gpm_status infer_no_default_block(struct diags *d, value block, struct span at) {
    diag_raise(d, DIAG_DEFAULT_BLOCK, at, "the scope default has no block %s", SHOW(block));
    return diag_set_help(d, "default takes one, all, none or ordered");
}

enum gpm_status infer_why_there(struct diags *d, value scope, struct span read) {
    if (read.unit == NO_SPAN_UNIT) return GPM_E_USER;
    diag_add_label(d, read, "it is in %s since the tag reads it here", SHOW(scope));
    return diag_set_help(d, "a tag holds the memoized values that are read inside it: read them "
                            "before, { t = f(i); tag(...) }, or in tag_exclude(scope, f(i))");
}

/* A warning if the operator leaves other choices alone, otherwise an error. */
enum gpm_status infer_wrong_kind(struct diags *d, const struct infer_op *op, value scope,
                                 const struct sp_class *cls, struct span choice, struct span read,
                                 struct span at) {
    if (op->needs == NEEDS_DISCRETE) {
        trace_not_enumerable(d, cls, at);
        diag_add_label(d, choice, "this choice");
        return infer_why_there(d, scope, read);
    }
    if (op->needs == NEEDS_ONE_CONTINUOUS)
        diag_raise(d, DIAG_NOT_CONTINUOUS, at, "slice needs one continuous choice; %s is not",
                   cls->name);
    else
        diag_warn(d, DIAG_NOT_CONTINUOUS, at,
                  "%s moves continuous choices only, and the scope %s has none", op->name,
                  SHOW(scope));
    diag_add_label(d, choice, "the choice");
    diag_set_help(d, "gibbs enumerates discrete choices; mh moves any");
    return infer_why_there(d, scope, read);
}

/* all, ordered: one joint transition of all choices. */
static enum gpm_status on_default(struct visit *v, value block) {
    if (infer_is_name(block, "one")) return on_default_one(v);
    if (infer_is_name(block, "none")) return GPM_OK;
    if (infer_is_name(block, "all") || infer_is_name(block, "ordered"))
        return call_set(v, every_choice(v->s.t), NULL);
    return infer_no_default_block(v->s.x->core->diags, block, v->s.x->at);
}

/* ordered_range(lo, hi), as op_select.c makes it. */
static bool range_of(value block, double *lo, double *hi) {
    if (block.tag != V_ARRAY || block.u.array->n != 3 ||
        !infer_is_name(block.u.array->at[0], "ordered_range"))
        return false;
    *lo = block.u.array->at[1].u.num;
    *hi = block.u.array->at[2].u.num;
    return true;
}

/* Visits the live blocks in order of their ids; a block may vanish meanwhile. */
static enum gpm_status on_each(struct visit *v, struct scope *s, bool reverse) {
    struct scope_block **blocks;
    size_t n;
    scopes_sorted(s, &blocks, &n);
    value *ids = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) ids[i] = value_ref(block_id(blocks[i]));
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        struct scope_block *b = scope_find_block(s, ids[reverse ? n - 1 - i : i]);
        if (b) st = on_block(v, b);
    }
    values_free(ids, n);
    mem_free(blocks);
    return st;
}

enum gpm_status infer_no_block(struct diags *d, value scope, value block, struct span at,
                               const char *have) {
    diag_raise(d, DIAG_UNKNOWN_BLOCK, at, "the scope %s has no block %s", SHOW(scope), SHOW(block));
    return diag_add_note(d, "its blocks: %s", have);
}

enum gpm_status infer_unknown_block(struct infer_state *x, struct scope *s, value block) {
    struct buf have = BUF_INIT;
    scope_show_blocks(s, &have);
    enum gpm_status st = infer_no_block(x->core->diags, scope_name(s), block, x->at, have.data);
    buf_release(&have);
    return st;
}

/* one: a live block picked uniformly, with its correction. each: every block in order, one
 * transition each. all, ordered, a range: one joint transition of all choices, without a pick or
 * correction. Otherwise: the block of that name. */
static enum gpm_status on_scope(struct visit *v, value scope, value block) {
    struct scope *s = trace_scope(v->s.t, scope);
    if (!s) return infer_unknown_scope(v->s.x, v->s.t, scope);
    double lo, hi;
    if (!scope_live(s) || infer_is_name(block, "none")) return GPM_OK;
    if (infer_is_name(block, "one")) {
        struct mh_extra extra = {.log_pick = pick_block, .ctx = s};
        struct node_set set;
        scope_pick(s, &v->s.t->rng, &set.at, &set.n);
        return call_set(v, set, &extra);
    }
    if (infer_is_name(block, "each")) return on_each(v, s, false);
    if (infer_is_name(block, "each_reverse")) return on_each(v, s, true);
    if (infer_is_name(block, "all") || infer_is_name(block, "ordered") || range_of(block, &lo, &hi))
        return on_target(v, &(struct target){.scope = scope, .block = block});
    struct scope_block *b = scope_find_block(s, block);
    return b ? on_block(v, b) : infer_unknown_block(v->s.x, s, block);
}

/* Probability of picking one choice of a selection in its current state. */
static double pick_single(void *ctx, struct trace *t) {
    const struct visit *v = ctx;
    struct node_set set;
    if (subproblem_choices(v->s.x, t, v->from, &set) != GPM_OK) return -INFINITY;
    mem_free(set.at);
    return -log((double)set.n);
}

/* A selection is one set of principals, except that random_singleton picks a block of a tag, or a
 * choice of any other selection. */
static enum gpm_status on_subproblem(struct visit *v, const struct subproblem *s) {
    struct node_set set;
    bool single = s->kind == SUB_RANDOM_SINGLE && subproblem_of(s->a);
    if (single) s = subproblem_of(s->a);
    if (single && s->kind == SUB_TAG) return on_scope(v, s->a, infer_name(v->s.x, "one"));
    enum gpm_status st = subproblem_choices(v->s.x, v->s.t, s, &set);
    if (st != GPM_OK || !single || !set.n) return st == GPM_OK ? call_set(v, set, NULL) : st;
    struct mh_extra extra = {.log_pick = pick_single, .ctx = v};
    v->from = s;
    set.at[0] = set.at[rng_below(&v->s.t->rng, set.n)];
    set.n = 1;
    return call_set(v, set, &extra);
}

/* Blocks are looked up for every transition, since the previous one may have changed them. */
struct transitions_place {
    size_t particle;
    double k; /* number made on it */
};

static void pack_transitions(struct pack *p, void *ctx) {
    struct transitions_place *at = ctx;
    pack_size(p, &at->particle);
    pack_double(p, &at->k);
}

static enum gpm_status repeat_transition(struct visit *v, const struct target *g,
                                         const struct waypoint *here) {
    struct transitions_place *at = here->ctx;
    bool of_default = !g->sub && is_default(g->scope);
    bool one = of_default && infer_is_name(g->block, "one"); /* the most frequent case */
    bool all = of_default && infer_is_name(g->block, "all"); /* the same step every time */
    enum gpm_status st = GPM_OK;
    for (; at->k < g->transitions && st == GPM_OK; at->k++) {
        st = place_point(v->s.x->core, here, v->s.x->at);
        if (st == GPM_OK) st = core_poll(v->s.x->core, v->s.x->at);
        if (st != GPM_OK) return st;
        v->s.again = all && (at->k > 0 || (g->again && v->s.x->model->p.n == 1));
        st = one          ? on_default_one(v)
             : g->sub     ? on_subproblem(v, g->sub)
             : of_default ? on_default(v, g->block)
                          : on_scope(v, g->scope, g->block);
    }
    return st;
}

/* The loop of all operators of transitions. Before every transition it checks for Ctrl-C and
 * limits; it counts, and settles flats. */
enum gpm_status infer_transitions(struct infer_state *x, const struct target *g, step_fn *fn,
                                  void *ctx) {
    struct model *m = x->model;
    struct transitions_place at = {0};
    struct waypoint here = {PLACE_TRANSITIONS, pack_transitions, &at, NULL, false};
    (void)place_enter(x->core, &here);
    enum gpm_status st = GPM_OK;
    guard_moved(x);
    for (; at.particle < m->p.n && st == GPM_OK; at.particle++, at.k = 0) {
        struct visit v = {.s = {.x = x, .t = m->p.at[at.particle], .g = g, .ctx = ctx}, .fn = fn};
        st = repeat_transition(&v, g, &here);
        trace_settle(v.s.t);
    }
    place_leave(x->core, &here);
    return st;
}

enum gpm_status infer_steps(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    enum gpm_status st = infer_target(x, a, &g);
    return st == GPM_OK ? infer_transitions(x, &g, a->op->step, NULL) : st;
}

enum gpm_status infer_each(struct infer_state *x, const struct action *a, value *out) {
    struct model *m = x->model;
    value all = value_array_new(m->p.n);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < m->p.n && st == GPM_OK; i++)
        st = a->op->each(x, a, m->p.at[i], &all.u.array->at[i]);
    if (st == GPM_OK && all.u.array->at[0].tag != V_NIL)
        *out = all;
    else
        value_unref(all);
    return st;
}

enum gpm_status infer_target_sets(struct infer_state *x, struct trace *t, const struct target *g,
                                  node_sets *out) {
    struct node_set set;
    *out = (node_sets){0};
    if (g->sub) {
        enum gpm_status st = subproblem_choices(x, t, g->sub, &set);
        if (st == GPM_OK) vec_push(out, set);
        return st;
    }
    value scope = g->scope, block = g->block;
    for (size_t i = 0; is_default(scope) && i < t->choices.n; i++) {
        set = (struct node_set){NEW_ARRAY(struct node *, 1), 1};
        set.at[0] = t->choices.at[i];
        vec_push(out, set);
    }
    if (is_default(scope)) return GPM_OK;
    struct scope *s = trace_scope(t, scope);
    if (!s) return infer_unknown_scope(x, t, scope);
    double lo = -INFINITY, hi = INFINITY;
    bool range = range_of(block, &lo, &hi);
    bool every = infer_is_name(block, "ordered") || infer_is_name(block, "all") ||
                 infer_is_name(block, "each") || infer_is_name(block, "one");
    struct scope_block **blocks;
    size_t n;
    scopes_sorted(s, &blocks, &n);
    for (size_t i = 0; i < n; i++) {
        value id = block_id(blocks[i]);
        bool in = range ? id.tag == V_NUM && id.u.num >= lo && id.u.num <= hi
                        : every || value_name_equal(id, block);
        if (!in) continue;
        block_choices(blocks[i], &set.at, &set.n);
        vec_push(out, set);
    }
    mem_free(blocks);
    return GPM_OK;
}

void node_sets_free(node_sets *sets) {
    for (size_t i = 0; i < sets->n; i++) mem_free(sets->at[i].at);
    vec_release(sets);
}

void node_set_join(struct node_set *a, const struct node_set *b) {
    struct map have = {0};
    size_t n = a->n;
    a->at = mem_realloc(a->at, (n + b->n + 1) * sizeof *a->at);
    a->n = 0;
    for (size_t i = 0; i < n + b->n; i++) {
        struct node *next = i < n ? a->at[i] : b->at[i - n];
        if (map_get(&have, MAP_PTR(next))) continue;
        map_put(&have, MAP_PTR(next), next);
        a->at[a->n++] = next;
    }
    map_release(&have);
}

value node_set_values(struct trace *t, const struct node_set *s) {
    value v = value_array_new(s->n);
    for (size_t i = 0; i < s->n; i++) v.u.array->at[i] = trace_export(t, node_value(s->at[i]));
    return v;
}

enum gpm_status infer_target_all(struct infer_state *x, struct trace *t, const struct target *g,
                                 struct node_set *out) {
    node_sets sets;
    VEC(struct node *) all = {0};
    *out = (struct node_set){NULL, 0};
    if (g->sub) return subproblem_choices(x, t, g->sub, out);
    if (is_default(g->scope)) {
        *out = every_choice(t);
        return GPM_OK;
    }
    enum gpm_status st = infer_target_sets(x, t, g, &sets);
    for (size_t i = 0; i < sets.n; i++)
        for (size_t k = 0; k < sets.at[i].n; k++) vec_push(&all, sets.at[i].at[k]);
    node_sets_free(&sets);
    if (st == GPM_OK) *out = (struct node_set){all.at, all.n};
    return st;
}
