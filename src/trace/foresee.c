/* SPDX-License-Identifier: Apache-2.0
 *
 * Foresight: what a proposal from the prior would weigh, before anything is taken apart for it.
 *
 * Most proposals that change a structure are rejected, and then everything that detach took out and
 * regen made is undone. Here the new state is computed without being made: nodes that change get
 * their new values for as long as it lasts, branches that would be requested anew are walked over
 * by values alone, densities are asked for and not kept. Random numbers are drawn in the order and
 * weights are added up in the order of regen.c, so the answer is the same to the bit. A proposal
 * that is accepted is then made as ever, from the generator as it was; of one that is rejected
 * nothing is left to undo.
 *
 * What is not foreseen (memoized calls, tags, procedures with statistics, runs inside, procedures
 * made on the way, anything that fails) ends the attempt: `false`, the trace and its generator as
 * they were. After several in vain they become rare, and where most proposals are accepted there
 * are none. */
#include "core/pure.h"
#include "trace/scaffold.h"

#include <math.h>

/* Names bound on the way: of a call or a block. The frame around them is `up`, else `base`. */
struct local {
    struct local *up;
    struct frame *base;
    value *at; /* owned values */
};
/* Where an expression is evaluated. */
struct place {
    struct local *local; /* NULL: in the frame */
    struct frame *frame;
};

struct foresight {
    struct trace *t;
    struct scaffold *s;
    size_t n_drawn;        /* choices that the new state has in place of the brush */
    uint32_t left, deeper; /* evaluations and calls in each other that may come yet */
};
enum { EVALUATIONS = 20000, CALLS_IN_EACH_OTHER = 200, FEW = 8 };

static bool foresee_entry(struct foresight *p, struct entry *e);

/* As regen_ensure. */
static bool ensure(struct foresight *p, const struct node *n) {
    struct entry *e = entry_of(p->s, n);
    return !e || e->brush || e->done || e->role == ROLE_A || foresee_entry(p, e);
}

/* ---- branches, by values -------------------------------------------------------------------- */

static bool walk(struct foresight *p, const struct ast *a, struct place at, value *out);

static bool value_of_node(struct foresight *p, const struct node *n, value *out) {
    if (!ensure(p, n)) return false;
    *out = value_ref(n->val);
    return true;
}

static bool value_of_slot(struct foresight *p, struct place at, int depth, uint32_t slot,
                          value *out) {
    while (depth > 0 && at.local) {
        at = (struct place){at.local->up, at.local->base};
        depth--;
    }
    if (at.local) {
        *out = value_ref(at.local->at[slot]);
        return true;
    }
    struct slot *s = &frame_up(at.frame, depth)->s[slot];
    if (s->unset) return false;
    if (s->node) return value_of_node(p, s->node, out);
    *out = value_ref(s->v);
    return true;
}

static bool walk_name(struct foresight *p, const struct ast *a, struct place at, value *out) {
    struct world *w = &p->t->world;
    struct cell *cell;
    bool global = a->u.name.depth < 0 || a->u.name.builtin ||
                  (a->u.name.global_first && world_find(w, a->u.name.sym));
    if (!global) return value_of_slot(p, at, a->u.name.depth, a->u.name.slot, out);
    const value *v = core_global(p->t->core, w, a, &cell);
    if (!v) return false;
    if (cell) return value_of_node(p, (struct node *)cell, out);
    *out = value_ref(*v);
    return true;
}

static bool walk_unquote(struct foresight *p, const struct ast *a, struct place at, value *out) {
    if (!value_of_slot(p, at, a->u.unquote.depth, a->u.unquote.slot, out)) return false;
    if (a->u.unquote.constant || !is_spliced_code(*out)) return true;
    value_unref(*out);
    return false;
}

/* A row that is a function of its arguments, or a distribution over them, and no more. */
static bool is_plain(value op, const value *args, size_t n) {
    enum { NOT_PLAIN = SP_MAKER | SP_CALLS | SP_NO_MODEL_EFFECT | SP_IMPROPER };
    const struct sp_class *cls = proc_class(op, NULL);
    if (!cls || !cls->simulate || cls->request || cls->special || sp_made_of(op)) return false;
    if ((cls->flags & NOT_PLAIN) || cls->code == SP_CODE_ASSESS) return false;
    return !(cls->flags & SP_CHOOSES) || !n || !holds_makings(args[n - 1]);
}

static bool apply_row(struct foresight *p, value op, const value *args, size_t n, struct span at,
                      value *out) {
    struct trace *t = p->t;
    if (!is_plain(op, args, n)) return false;
    struct sp_call c = {.rng = &t->rng};
    struct world *outer = model_enter(t);
    bool ok = core_check_call(t->core, &c, op, args, n, at) == GPM_OK;
    p->n_drawn += (c.cls->flags & SP_RANDOM) != 0;
    ok = ok && sp_simulate(&c, out) == GPM_OK;
    t->core->model = outer;
    return ok;
}

/* A call that may be held as one reads its names before it begins, one that is taken apart when it
 * comes to them: where that makes a difference it is not foreseen. */
static bool reads_stand(struct foresight *p, const struct pure *pure) {
    size_t n;
    struct cell *const *reads = pure_reads(pure, &n);
    for (size_t i = 0; i < n; i++) {
        struct entry *e = entry_of(p->s, (struct node *)reads[i]);
        if (e && !e->done && e->role != ROLE_A) return false;
    }
    return true;
}

static bool apply_closure(struct foresight *p, struct closure *c, value *args, size_t n,
                          struct span at, value *out) {
    struct session_core *core = p->t->core;
    if (n != c->lambda->u.lambda.n_params || !p->deeper) return false;
    struct pure *pure = pure_of(core, &p->t->world, c);
    if (pure)
        return reads_stand(p, pure) &&
               (pure_recall(core, pure, args, out) ||
                pure_call(core, &p->t->world, pure, args, at, out) == GPM_OK);
    struct local l = {.base = c->env, .at = args};
    p->deeper--;
    bool ok = walk(p, c->lambda->kids[0], (struct place){.local = &l}, out);
    p->deeper++;
    return ok;
}

static bool walk_call(struct foresight *p, const struct ast *a, struct place at, value *out) {
    value op, args[FEW];
    size_t n = 0;
    if (a->n > FEW || a->u.call.kw || !walk(p, a->kids[0], at, &op)) return false;
    bool ok = core_call_width(p->t->core, a, op) == a->n - 1;
    while (ok && n + 1 < a->n) {
        ok = walk(p, a->kids[n + 1], at, &args[n]);
        n += ok;
    }
    struct closure *c = closure_of(op);
    if (ok && c)
        ok = apply_closure(p, c, args, n, a->span, out);
    else if (ok)
        ok = apply_row(p, op, args, n, a->span, out);
    while (n > 0) value_unref(args[--n]);
    value_unref(op);
    return ok;
}

static bool walk_if(struct foresight *p, const struct ast *a, struct place at, value *out) {
    value c;
    bool truth = false;
    if (!walk(p, a->kids[0], at, &c)) return false;
    bool ok = core_truth(p->t->core, c, a->kids[0]->span, &truth) == GPM_OK;
    value_unref(c);
    return ok && walk(p, a->kids[truth ? 1 : 2], at, out);
}

/* Lets of one name each, then the last expression. */
static bool walk_block(struct foresight *p, const struct ast *a, struct place at, value *out) {
    value slots[FEW];
    struct local l = {at.local, at.frame, slots};
    size_t n = 0;
    if (a->u.block.action || !a->n || a->u.block.n_slots != a->n - 1 || a->n > FEW) return false;
    if (a->n > 1) at = (struct place){.local = &l};
    bool ok = true;
    while (ok && n + 1 < a->n) {
        const struct ast *let = a->kids[n];
        ok = let->kind == AST_LET && let->u.bind.n_names == 1 && let->u.bind.slot == n &&
             walk(p, let->kids[0], at, &slots[n]);
        n += ok;
    }
    ok = ok && walk(p, a->kids[a->n - 1], at, out);
    while (n > 0) value_unref(slots[--n]);
    return ok;
}

/* As eval_expr, without nodes. */
static bool walk(struct foresight *p, const struct ast *a, struct place at, value *out) {
    if (!p->left) return false;
    p->left--;
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL: *out = value_ref(core_literal(p->t->core, a)->val); return true;
    case AST_NAME: return walk_name(p, a, at, out);
    case AST_UNQUOTE: return walk_unquote(p, a, at, out);
    case AST_CALL: return walk_call(p, a, at, out);
    case AST_IF: return walk_if(p, a, at, out);
    case AST_BLOCK: return walk_block(p, a, at, out);
    default: return false;
    }
}

/* ---- entries of the scaffold ---------------------------------------------------------------- */

static bool ensure_parents(struct foresight *p, const struct node *n) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!ensure(p, n->in[i].node)) return false;
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (!ensure(p, n->req->xin[i].node)) return false;
    return true;
}

static bool compute_row(struct foresight *p, struct node *n, value *out) {
    struct node_call k;
    enum gpm_status st = call_begin_checked(p->t, n, &k);
    bool ok = st == GPM_OK && is_plain(n->in[0].node->val, k.c.args, k.c.n);
    if (ok) st = sp_simulate(&k.c, out);
    return call_end(p->t, n, &k, st) == GPM_OK && ok;
}

static bool compute_held(struct foresight *p, struct node *n, value *out) {
    struct trace *t = p->t;
    struct pure *pure = pure_of(t->core, &t->world, closure_of(n->in[0].node->val));
    size_t n_reads = 0;
    struct cell *const *reads = pure ? pure_reads(pure, &n_reads) : NULL;
    bool same = pure && n_reads == (n->req ? n->req->n_xin : 0);
    for (size_t i = 0; same && i < n_reads; i++)
        same = n->req->xin[i].node == (struct node *)reads[i];
    return same && call_held(t, n, pure, out) == GPM_OK;
}

/* The new value of a node that changes. */
static bool compute(struct foresight *p, struct entry *e, value *out) {
    struct node *n = e->n;
    bool truth;
    if (e->op_changed || (n->flags & NODE_OBS_ROOT) || n->kind == NODE_TAG) return false;
    if (n->kind == NODE_IF && e->requests) {
        const struct ast *a = n->ast;
        if (!ensure(p, n->in[0].node)) return false;
        enum gpm_status st = core_truth(p->t->core, n->in[0].node->val, a->kids[0]->span, &truth);
        struct place at = {.frame = n->req->frame};
        return st == GPM_OK && walk(p, a->kids[truth ? 1 : 2], at, out);
    }
    if (e->requests || !ensure_parents(p, n)) return false;
    if (n->special == SPECIAL_PURE) return compute_held(p, n, out);
    if (n->kind == NODE_APP && proc_class(n->in[0].node->val, NULL)) return compute_row(p, n, out);
    if (!n->req || n->req->n_fam != 1) return false;
    *out = value_ref(n->req->fam[0]->root->val);
    return true;
}

/* As regen_entry. A value that has changed stands in the node, the old one in the entry. */
static bool foresee_entry(struct foresight *p, struct entry *e) {
    struct node *n = e->n;
    value v;
    if (e->done) return true;
    e->done = true;
    e->drawn = 0;
    if (e->role == ROLE_A)
        return ensure_parents(p, n) && node_density(p->t, n, n->val, &e->drawn) == GPM_OK;
    if (e->role != ROLE_D || !compute(p, e, &v)) return false;
    e->old = n->val;
    n->val = v;
    e->attached = true;
    return true;
}

static void put_values_back(struct scaffold *s) {
    for (size_t i = 0; i < s->torus.n; i++) {
        struct entry *e = &s->e.at[s->torus.at[i]];
        if (e->attached) {
            value_set_take(&e->n->val, e->old);
            e->old = NIL;
        }
        e->attached = e->done = false;
    }
}

/* ---- the proposal as a whole ---------------------------------------------------------------- */

/* How many choices go with the brush; false: something of it is more than choices and values. */
static bool count_brush(struct scaffold *s, size_t *n_choices) {
    *n_choices = 0;
    for (size_t i = 0; i < s->touched.n; i++) {
        const struct family *f = s->touched.at[i];
        if (f->memo || f->own_ctx || !family_is_brush(f)) return false;
        for (size_t j = 0; j < f->nodes.n; j++) {
            const struct node *n = f->nodes.at[j];
            if (n->kind == NODE_TAG) return false;
            *n_choices += n->kind != NODE_CONST && n->choice != NO_INDEX;
        }
    }
    return true;
}

/* In the order of detach (take_old), which is that of age where nothing is computed from what
 * absorbs. */
static bool weigh_old(struct scaffold *s, double *w) {
    bool by_age = true;
    for (size_t i = 0; i < s->torus.n; i++) {
        const struct entry *e = &s->e.at[s->torus.at[i]];
        by_age &= e->role == ROLE_D || (e->role == ROLE_A && !e->n->n_out);
    }
    if (!by_age) scaffold_order(s);
    const uint32_t *at = by_age ? s->torus.at : s->order.at;
    *w = 0;
    for (size_t i = s->torus.n; i-- > 0;) {
        struct entry *e = &s->e.at[at[i]];
        double logp = 0;
        if (e->role == ROLE_M) return false;
        if (e->role == ROLE_A && node_logp(s->t, e->n, &logp) != GPM_OK) return false;
        *w += logp;
    }
    return true;
}

/* The list of choices has no order, but picks go by it: a proposal that is made and undone leaves
 * its brush at the end of the list. So does one that was foreseen. */
static void family_leaves(struct trace *t, struct family *f) {
    for (size_t i = f->nodes.n; i-- > 0;) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !(n->flags & NODE_ON)) continue;
        choice_remove(t, n);
        for (uint32_t j = n->req ? n->req->n_fam : 0; j-- > 0;) family_leaves(t, n->req->fam[j]);
    }
}

static void family_returns(struct trace *t, struct family *f) {
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST) continue;
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++) family_returns(t, n->req->fam[j]);
        choice_add(t, n);
    }
}

static void request_leaves(struct trace *t, const struct request *r) {
    for (uint32_t j = r ? r->n_fam : 0; j-- > 0;) family_leaves(t, r->fam[j]);
}

static void request_returns(struct trace *t, const struct request *r) {
    for (uint32_t j = 0; r && j < r->n_fam; j++) family_returns(t, r->fam[j]);
}

static bool holds_choice(const struct request *r) {
    for (uint32_t i = 0; r && i < r->n_fam; i++) {
        const struct family *f = r->fam[i];
        for (size_t j = 0; j < f->nodes.n; j++) {
            const struct node *n = f->nodes.at[j];
            if (n->kind != NODE_CONST && (n->choice != NO_INDEX || holds_choice(n->req)))
                return true;
        }
    }
    return false;
}

/* The families of an entry that are to go, where there are choices among them; else NULL. */
static const struct request *brush_of(const struct entry *e) {
    const struct request *r = e->role == ROLE_D && e->requests ? e->n->req : NULL;
    return holds_choice(r) ? r : NULL;
}

void foreseen_rejected(struct scaffold *s) {
    const struct request *only = NULL;
    size_t n = 0;
    for (size_t i = 0; s->has_brush && i < s->torus.n; i++) {
        const struct request *r = brush_of(&s->e.at[s->torus.at[i]]);
        n += r != NULL;
        if (r) only = r;
    }
    if (n > 1) scaffold_order(s);
    if (n == 1) {
        request_leaves(s->t, only);
        request_returns(s->t, only);
    }
    for (size_t i = n > 1 ? s->order.n : 0; i-- > 0;) {
        const struct entry *e = &s->e.at[s->order.at[i]];
        if (e->role == ROLE_D && e->requests) request_leaves(s->t, e->n->req);
    }
    for (size_t i = 0; n > 1 && i < s->order.n; i++) {
        const struct entry *e = &s->e.at[s->order.at[i]];
        if (e->role == ROLE_D && e->requests) request_returns(s->t, e->n->req);
    }
}

/* Attempts in vain are followed by ever longer pauses. */
static bool is_worth_trying(struct foresights *f) {
    if (f->accepted > 0.5) return false;
    if (!f->pause) return true;
    f->pause--;
    return false;
}

static void learn(struct foresights *f, bool known) {
    enum { LONGEST = 1024 };
    f->in_vain = known ? 0 : f->in_vain ? 2 * f->in_vain : 1;
    if (f->in_vain > LONGEST) f->in_vain = LONGEST;
    f->pause = f->in_vain;
}

void foresight_learn(struct trace *t, bool accepted) {
    struct foresights *f = &inner(t)->foresights;
    f->accepted += ((accepted ? 1 : 0) - f->accepted) / 32;
}

static bool foresee(struct scaffold *s, struct foreseen *out) {
    struct foresight p = {s->t, s, 0, EVALUATIONS, CALLS_IN_EACH_OTHER};
    size_t n_brush;
    if (!count_brush(s, &n_brush) || !weigh_old(s, &out->w_old)) return false;
    out->w_new = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < s->torus.n; i++) {
        struct entry *e = &s->e.at[s->torus.at[i]];
        ok = foresee_entry(&p, e);
        out->w_new += e->drawn;
    }
    out->n_choices = s->t->choices.n - n_brush + p.n_drawn;
    return ok && out->w_new == out->w_new;
}

bool scaffold_foresee(struct scaffold *s, struct foreseen *out) {
    struct trace *t = s->t;
    struct foresights *f = &inner(t)->foresights;
    struct rng before = t->rng;
    size_t n_diags = t->core->diags->list.n;
    if (inner(t)->makers || t->core->nest || !trace_is_whole(t) || !is_worth_trying(f))
        return false;
    bool known = foresee(s, out);
    put_values_back(s);
    if (!known) {
        diags_rewind(t->core->diags, n_diags);
        t->rng = before;
        out->w_new = NAN;
    }
    learn(f, known);
    return known;
}
