/* SPDX-License-Identifier: Apache-2.0
 *
 * Which choices an operator moves: scope and block, or a subproblem. Picking one of several blocks
 * at random changes the proposal's probability when the number of blocks changes: the correction
 * is handed to the operator as struct mh_extra.
 *
 *     q(x -> x') = P(block | x) q_block(x -> x'),   so log alpha gets
 *     log P(block | x') - log P(block | x) = log n - log n',   n live blocks before, n' after
 *
 * Operators compute it around their move: - log_pick(...) before, + log_pick(...) after it is
 * built. */
#include "infer/infer.h"

#include "flat/flat.h"
#include <math.h>
#include <string.h>

value infer_name(struct infer_state *x, const char *name) {
    return value_sym(sym_cstr(x->core->syms, name));
}

/* Types and number of the arguments were checked by the signature. */
enum gpm_status infer_target(struct infer_state *x, const struct target_form *form,
                             const value *args, size_t n, value *extra, struct target *out) {
    memset(out, 0, sizeof *out);
    out->transitions = 1;
    out->sub = subproblem_of(args[0]);
    size_t k = 1; /* the first argument after scope and block */
    if (!out->sub) {
        out->scope = args[0];
        out->block = n > 1 && !is_absent(args[1]) ? args[1] : infer_name(x, form->block);
        k = 2;
    } else if (n > 1 && is_absent(args[1]))
        k = 2;
    size_t given = n > k ? n - k : 0, extras = form->n_extra;
    if (form->steps_last && given && given <= extras) extras = given - 1;
    for (size_t i = 0; i < extras && i < given; i++)
        if (!is_absent(args[k + i])) extra[i] = args[k + i];
    if (given <= extras || is_absent(args[k + extras])) return GPM_OK;
    value last = args[k + extras];
    out->transitions = last.tag == V_NUM ? last.u.num : -1;
    if (out->transitions == floor(out->transitions) && out->transitions >= 0) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                       "%s: the number of transitions must be a whole number", form->op);
}

enum gpm_status infer_at_least(struct infer_state *x, const char *op, const char *what, double v,
                               double min) {
    if (v >= min && isfinite(v)) return GPM_OK;
    return infer_error(x, DIAG_BAD_OPERATOR_ARG, "%s: the %s must be at least %g, got %g", op, what,
                       min, v);
}

static bool is_default(value scope) {
    return infer_is_name(scope, "default");
}

/* A scope that a tag of the program's text names may just have no choices in this state: no error.
 */
enum gpm_status infer_unknown_scope(struct infer_state *x, struct trace *t, value scope) {
    for (size_t i = 0; i < x->known_scopes.n; i++)
        if (value_name_equal(x->known_scopes.at[i], scope)) return GPM_OK;
    struct buf have = BUF_INIT;
    trace_scope_names(t, &have);
    VEC(const char *) names = {0};
    for (size_t i = 0; i < t->scopes.n; i++) {
        value v = t->scopes.at[i]->name;
        if (v.tag == V_STR) vec_push(&names, v.u.str->text);
        if (v.tag == V_SYM) vec_push(&names, v.u.sym->text);
    }
    char *shown = sp_show(scope);
    const char *word = scope.tag == V_STR                  ? scope.u.str->text
                       : scope.tag == V_SYM && scope.u.sym ? scope.u.sym->text
                                                           : shown;
    const char *near = suggest_nearest(word, names.at, names.n);
    diag_raise(x->core->diags, DIAG_UNKNOWN_SCOPE, x->at, "no tag names the scope %s", shown);
    if (have.len)
        diag_add_note(x->core->diags, "scopes of this model: %s", have.data);
    else
        diag_add_note(x->core->diags, "no tag has been evaluated in this model");
    if (near) diag_set_help(x->core->diags, "did you mean \"%s\"?", near);
    mem_free(shown);
    vec_release(&names);
    buf_release(&have);
    return GPM_E_USER;
}

/* Probability of picking this block again after the move. */
static double pick_default(void *ctx, struct trace *t) {
    return -log((double)t->choices.n);
}

/* Of a named scope: live blocks are equally likely. */
static double pick_block(void *ctx, struct trace *t) {
    struct scope *s = ctx;
    return -log((double)s->live.n);
}

enum { PICKS = 16, PREFETCH_FROM = 2000 };

/* One particle's turn of one operator. */
struct visit {
    struct infer_state *x;
    struct trace *t;
    transition_fn *fn;
    void *ctx;
    value scope;
    size_t stat; /* 1 + index of the scope's statistics, 0: not looked up yet */
    /* picks of the scope default drawn ahead, so that their nodes are fetched in time */
    struct node *ahead[PICKS];
    uint32_t n_ahead, next;
    uint64_t structure; /* of the trace they were drawn for */
};

/* The next choice, uniformly. Large traces do not fit the caches: picks are drawn some steps ahead
 * and their memory is asked for in stages, the choice, its flat, the nodes of the flat. A change of
 * structure throws the unused ones away. */
static struct node *pick_ahead(struct visit *v) {
    struct trace *t = v->t;
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

/* One transition, counted for the scope. extra is NULL unless the block was picked at random;
 * without a random pick the same block is visited from either state, and nothing is to be
 * corrected. */
static enum gpm_status call(struct visit *v, struct node **at, size_t n,
                            const struct mh_extra *extra) {
    if (!n) return GPM_OK;
    bool accepted = false;
    enum gpm_status st = v->fn(v->x, v->t, at, n, extra, v->ctx, &accepted);
    if (st == GPM_OK) {
        if (!v->stat) v->stat = 1 + infer_stats_of(v->x, v->scope);
        infer_count(v->x, v->stat - 1, accepted);
    }
#ifdef GPMEM_CHECKS
    trace_settle(v->t);
    if (st == GPM_OK && v->t->n_nodes < 5000) {
        struct buf why = BUF_INIT;
        if (!trace_check(v->t, &why)) st = infer_error(v->x, DIAG_NAN, "trace check: %s", why.data);
        buf_release(&why);
    }
#endif
    return st;
}

enum default_block { DEFAULT_ONE, DEFAULT_ALL, DEFAULT_ORDERED, DEFAULT_NONE };

static enum gpm_status default_block(struct infer_state *x, value block, enum default_block *out) {
    static const char *const known[] = {"one", "all", "ordered", "none"};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (!infer_is_name(block, known[i])) continue;
        *out = (enum default_block)i;
        return GPM_OK;
    }
    char *shown = sp_show(block);
    enum gpm_status st =
        infer_error(x, DIAG_DEFAULT_BLOCK, "the scope default has no block %s", shown);
    diag_set_help(x->core->diags, "default takes one, all, none or ordered");
    mem_free(shown);
    return st;
}

static enum gpm_status on_default_one(struct visit *v) {
    struct trace *t = v->t;
    if (!t->choices.n) return GPM_OK;
    struct node *n = t->n_nodes > PREFETCH_FROM ? pick_ahead(v)
                                                : t->choices.at[rng_below(&t->rng, t->choices.n)];
    struct mh_extra extra = {pick_default, NULL};
    return call(v, &n, 1, &extra);
}

/* The list is copied: transitions change t->choices. */
static enum gpm_status on_default(struct visit *v, enum default_block block) {
    struct trace *t = v->t;
    if (block == DEFAULT_ONE) return on_default_one(v);
    if (block == DEFAULT_NONE || !t->choices.n) return GPM_OK;
    size_t n = t->choices.n;
    struct node **at = NEW_ARRAY(struct node *, n);
    memcpy(at, t->choices.at, n * sizeof *at);
    enum gpm_status st = call(v, at, n, NULL);
    mem_free(at);
    return st;
}

static enum gpm_status on_block(struct visit *v, struct scope_block *b,
                                const struct mh_extra *extra) {
    struct node **at;
    size_t n;
    block_choices(b, &at, &n);
    enum gpm_status st = call(v, at, n, extra);
    mem_free(at);
    return st;
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

/* Visits the ids of the live blocks in order; a block may vanish on the way. */
static enum gpm_status on_each(struct visit *v, struct scope *s, bool reverse) {
    struct scope_block **blocks;
    size_t n;
    scopes_sorted(s, &blocks, &n);
    value *ids = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) ids[i] = value_ref(blocks[i]->id);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        struct scope_block *b = scope_find_block(s, ids[reverse ? n - 1 - i : i]);
        if (b && b->n_choices) st = on_block(v, b, NULL);
    }
    for (size_t i = 0; i < n; i++) value_unref(ids[i]);
    mem_free(ids);
    mem_free(blocks);
    return st;
}

/* One transition of everything: nothing was picked, so nothing is to be corrected. */
static enum gpm_status on_all(struct visit *v, struct scope *s) {
    VEC(struct node *) all = {0};
    for (size_t i = 0; i < s->live.n; i++) {
        struct node **at;
        size_t n;
        block_choices(s->live.at[i], &at, &n);
        for (size_t j = 0; j < n; j++) vec_push(&all, at[j]);
        mem_free(at);
    }
    enum gpm_status st = call(v, all.at, all.n, NULL);
    vec_release(&all);
    return st;
}

enum gpm_status infer_unknown_block(struct infer_state *x, struct scope *s, value block) {
    char *shown = sp_show(block), *name = sp_show(s->name);
    enum gpm_status st =
        infer_error(x, DIAG_UNKNOWN_BLOCK, "the scope %s has no block %s", name, shown);
    struct buf have = BUF_INIT;
    for (size_t i = 0; i < s->blocks.n && i < 8; i++) {
        if (i) buf_puts(&have, ", ");
        value_print(s->blocks.at[i]->id, &have);
    }
    diag_add_note(x->core->diags, "its blocks: %s%s", have.data, s->blocks.n > 8 ? ", ..." : "");
    buf_release(&have);
    mem_free(shown);
    mem_free(name);
    return st;
}

static enum gpm_status on_named_block(struct visit *v, struct scope *s, value block) {
    struct scope_block *b = scope_find_block(s, block);
    return b ? on_block(v, b, NULL) : infer_unknown_block(v->x, s, block);
}

/* one: a live block, uniformly, with its correction; each: every block in order, a transition each;
 * all, ordered: one transition of all choices together; otherwise the block of that name. */
static enum gpm_status on_scope(struct visit *v, value scope, value block) {
    struct scope *s = trace_scope(v->t, scope);
    if (!s) return infer_unknown_scope(v->x, v->t, scope);
    double lo, hi;
    if (!s->live.n || infer_is_name(block, "none")) return GPM_OK;
    if (infer_is_name(block, "one")) {
        struct mh_extra extra = {pick_block, s};
        return on_block(v, s->live.at[rng_below(&v->t->rng, s->live.n)], &extra);
    }
    if (infer_is_name(block, "all") || infer_is_name(block, "ordered")) return on_all(v, s);
    if (infer_is_name(block, "each")) return on_each(v, s, false);
    if (infer_is_name(block, "each_reverse")) return on_each(v, s, true);
    if (range_of(block, &lo, &hi)) {
        struct node_set all;
        struct target g = {.scope = scope, .block = block};
        enum gpm_status st = infer_target_all(v->x, v->t, &g, &all);
        if (st == GPM_OK) st = call(v, all.at, all.n, NULL);
        mem_free(all.at);
        return st;
    }
    return on_named_block(v, s, block);
}

struct single {
    struct infer_state *x;
    const struct subproblem *from;
};

/* Probability of picking one choice of a selection, as it is now. */
static double pick_single(void *ctx, struct trace *t) {
    const struct single *p = ctx;
    struct node_set set;
    if (subproblem_choices(p->x, t, p->from, &set) != GPM_OK) return -INFINITY;
    mem_free(set.at);
    return -log((double)set.n);
}

/* random_singleton: a block of a tag, or a choice of any other selection. */
static enum gpm_status on_single(struct visit *v, const struct subproblem *from) {
    if (from->kind == SUB_TAG) return on_scope(v, from->a, infer_name(v->x, "one"));
    struct node_set set;
    struct single p = {v->x, from};
    struct mh_extra extra = {pick_single, &p};
    enum gpm_status st = subproblem_choices(v->x, v->t, from, &set);
    if (st != GPM_OK) return st;
    if (set.n) st = call(v, &set.at[rng_below(&v->t->rng, set.n)], 1, &extra);
    mem_free(set.at);
    return st;
}

/* A selection is one set of principals, unless it says to pick. */
static enum gpm_status on_subproblem(struct visit *v, const struct subproblem *s) {
    struct node_set set;
    while ((s->kind == SUB_MINIMAL || s->kind == SUB_EXTENT) && subproblem_of(s->a))
        s = subproblem_of(s->a);
    if (s->kind == SUB_SCOPE && !is_default(s->a)) return on_scope(v, s->a, s->b);
    if (s->kind == SUB_SCOPE) {
        enum default_block block = (enum default_block)0;
        enum gpm_status st = default_block(v->x, s->b, &block);
        return st == GPM_OK ? on_default(v, block) : st;
    }
    if (s->kind == SUB_RANDOM_SINGLE && subproblem_of(s->a))
        return on_single(v, subproblem_of(s->a));
    enum gpm_status st = subproblem_choices(v->x, v->t, s, &set);
    if (st != GPM_OK) return st;
    st = call(v, set.at, set.n, NULL);
    mem_free(set.at);
    return st;
}

/* Blocks are looked up anew for every transition: the one before may have changed which there are.
 */
static enum gpm_status repeat_transition(struct visit *v, const struct target *g) {
    bool of_default = !g->sub && is_default(g->scope);
    enum default_block block = DEFAULT_NONE;
    enum gpm_status st = of_default ? default_block(v->x, g->block, &block) : GPM_OK;
    for (double k = 0; k < g->transitions && st == GPM_OK; k++) {
        st = core_poll(v->x->core, v->x->at);
        if (st != GPM_OK) return st;
        st = g->sub       ? on_subproblem(v, g->sub)
             : of_default ? on_default(v, block)
                          : on_scope(v, g->scope, g->block);
    }
    return st;
}

/* A single proposal, which leaves nothing behind when it fails. */
static bool is_one_transition(const struct target *g) {
    return g->transitions <= 1 && !g->sub && !infer_is_name(g->block, "each") &&
           !infer_is_name(g->block, "each_reverse");
}

/* The one loop that all operators of transitions run in: it guards the model (guard.c), polls for
 * Ctrl-C and limits before every transition, counts, and settles what flats left. */
enum gpm_status infer_transitions(struct infer_state *x, const struct target *g, transition_fn *fn,
                                  void *ctx) {
    struct model *m = x->model;
    enum gpm_status st = guard_steps(x, is_one_transition(g) && m->p.n == 1);
    for (size_t p = 0; p < m->p.n && st == GPM_OK; p++) {
        struct visit v = {.x = x, .t = m->p.at[p], .fn = fn, .ctx = ctx};
        v.scope = g->sub ? infer_name(x, "subproblem") : g->scope;
        st = repeat_transition(&v, g);
        trace_settle(v.t);
    }
    return st;
}

static void add_set(struct node_set **sets, size_t *n, struct node **at, size_t k) {
    *sets = mem_realloc(*sets, (*n + 1) * sizeof **sets);
    (*sets)[(*n)++] = (struct node_set){at, k};
}

enum gpm_status infer_target_sets(struct infer_state *x, struct trace *t, const struct target *g,
                                  struct node_set **sets, size_t *n) {
    *sets = NULL;
    *n = 0;
    if (g->sub && g->sub->kind != SUB_SCOPE) {
        struct node_set s;
        enum gpm_status st = subproblem_choices(x, t, g->sub, &s);
        if (st == GPM_OK) add_set(sets, n, s.at, s.n);
        return st;
    }
    value scope = g->sub ? g->sub->a : g->scope, block = g->sub ? g->sub->b : g->block;
    if (is_default(scope)) {
        for (size_t i = 0; i < t->choices.n; i++) {
            struct node **at = NEW_ARRAY(struct node *, 1);
            at[0] = t->choices.at[i];
            add_set(sets, n, at, 1);
        }
        return GPM_OK;
    }
    struct scope *s = trace_scope(t, scope);
    if (!s) return infer_unknown_scope(x, t, scope);
    double lo = -INFINITY, hi = INFINITY;
    bool range = range_of(block, &lo, &hi);
    bool every = range || infer_is_name(block, "ordered") || infer_is_name(block, "all") ||
                 infer_is_name(block, "each");
    struct scope_block **blocks;
    size_t n_blocks;
    scopes_sorted(s, &blocks, &n_blocks);
    for (size_t i = 0; i < n_blocks; i++) {
        value id = blocks[i]->id;
        if (range && (id.tag != V_NUM || id.u.num < lo || id.u.num > hi)) continue;
        if (!every && !infer_is_name(block, "one") && !value_name_equal(id, block)) continue;
        struct node **at;
        size_t k;
        block_choices(blocks[i], &at, &k);
        add_set(sets, n, at, k);
    }
    mem_free(blocks);
    return GPM_OK;
}

void target_sets_free(struct node_set *sets, size_t n) {
    for (size_t i = 0; i < n; i++) mem_free(sets[i].at);
    mem_free(sets);
}

enum gpm_status infer_target_all(struct infer_state *x, struct trace *t, const struct target *g,
                                 struct node_set *out) {
    struct node_set *sets;
    size_t n, total = 0;
    *out = (struct node_set){NULL, 0};
    enum gpm_status st = infer_target_sets(x, t, g, &sets, &n);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < n; i++) total += sets[i].n;
    out->at = NEW_ARRAY(struct node *, total + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sets[i].n; k++) out->at[out->n++] = sets[i].at[k];
    target_sets_free(sets, n);
    return GPM_OK;
}
