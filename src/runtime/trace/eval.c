/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracing evaluator: walks the resolved syntax tree and makes nodes. Literals and variable
 * references make none; blocks only open frames.
 *
 * Reading a node always goes through regen_ensure. During a proposal the node may have been taken
 * out and not yet put back; then it is regenerated first (regen.c). Evaluation fills the family in
 * order. After an error the nodes already made stay in the family, and the function that created it
 * takes it apart (eval_family here, abandon in apply.c). */
#include "runtime/trace/node.h"

#include "runtime/core/call_form.h"
#include "runtime/core/lookup.h"
#include "runtime/core/nest.h"
#include "runtime/core/pure.h"
#include <string.h>

static enum gpm_status unbound(struct trace *t, const struct ast *a) {
    const char **names;
    size_t n = trace_names(t, &names);
    enum gpm_status st = core_unbound(t->core, a->u.name.sym, a->span, names, n);
    mem_free(names);
    return st;
}

/* A name stands for the node it is bound to. A name of the inference program or of an enclosing
 * model becomes a constant with its present value. */
static enum gpm_status eval_name(struct trace *t, struct family *fam, const struct ast *a,
                                 struct frame *f, struct node **out) {
    struct name_found x;
    enum gpm_status st = core_find(t->core, &t->world, a, f, 0, &x);
    if (st != GPM_OK) return st;
    if (x.slot && x.slot->unset) return core_early(t->core, a);
    if (!x.v) return unbound(t, a);
    struct cell *cell = x.slot ? slot_cell(x.slot) : x.cell;
    *out = cell ? (struct node *)cell : node_constant(t, fam, value_ref(*x.v));
    return regen_ensure(t, *out);
}

/* Is the spliced value code to be evaluated in place? */
static bool is_spliced_code(value v) {
    return v.tag == V_SYM || (v.tag == V_ARRAY && (v.u.obj->flags & OBJ_CODE));
}

/* A spliced value is a constant. Spliced code (a symbol or a quoted expression) is evaluated in
 * place, with names resolved in the frame around the splice. */
static enum gpm_status eval_unquote(struct trace *t, struct family *fam, const struct ast *a,
                                    struct frame *f, struct tagctx *ctx, struct node **out) {
    struct slot *s = &frame_up(f, a->u.unquote.depth)->s[a->u.unquote.slot];
    if (!is_spliced_code(s->v) || a->u.unquote.constant) {
        *out = (struct node *)slot_cell(s);
        return GPM_OK;
    }
    struct ast *built = core_code(t->core, s->v, false, f, a->span);
    family_keep_code(t, fam, built->code);
    code_unref(built->code);
    return eval_expr(t, fam, built, f, ctx, out);
}

/* Puts operands in their places. The procedure now at the operator places keywords of the model's
 * builtins. */
static enum gpm_status eval_operands(struct trace *t, struct family *fam, const struct ast *a,
                                     struct frame *f, struct tagctx *ctx,
                                     const struct call_form *form, struct node **nodes) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 1; st == GPM_OK && i < a->n; i++) {
        struct node *arg;
        st = eval_expr(t, fam, a->kids[i], f, ctx, &arg);
        if (st != GPM_OK) break;
        if (arg->kind == NODE_CONST && arg->val.tag == V_PROC) trace_lend(t, arg->val);
        nodes[call_place(form, i - 1) + 1] = arg;
    }
    for (size_t i = 1; st == GPM_OK && i <= form->n; i++)
        if (!nodes[i]) nodes[i] = node_constant(t, fam, ABSENT);
    return st;
}

/* A deterministic function of constants is itself a constant, since it can never change. So loops
 * over numbers leave no applications behind. */
/* Functions of operand constants (NODE_ARGUMENT) stay nodes, because gradients pass through
 * them. */
static bool is_constant(struct node *const *nodes, size_t n) {
    const struct sp_class *cls = proc_class(nodes[0]->val, NULL);
    if (!cls || !cls->simulate || cls->request || cls->special || sp_made_of(nodes[0]->val) ||
        (cls->flags & (SP_RANDOM | SP_MAKER | SP_CALLS | SP_NO_MODEL_EFFECT)) ||
        (cls->code == SP_CODE_ASSESS && n > 2 && !sp_proc_of(nodes[2]->val)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->kind != NODE_CONST || (nodes[i]->flags & NODE_ARGUMENT)) return false;
    return true;
}

static enum gpm_status fold(struct trace *t, struct family *fam, const struct ast *a,
                            struct node *const *nodes, size_t n, struct node **out) {
    enum { SMALL = 8 };
    value small[SMALL], *args = n <= SMALL ? small : NEW_ARRAY(value, n), v;
    struct sp_call c = {.rng = &t->rng};
    struct world *outer = model_enter(t);
    for (size_t i = 1; i < n; i++) args[i - 1] = nodes[i]->val;
    enum gpm_status st = core_check_call(t->core, &c, nodes[0]->val, args, n - 1, a->span);
    if (st == GPM_OK) st = core_place(t->core, sp_simulate(&c, &v), a->span);
    t->core->model = outer;
    if (args != small) mem_free(args);
    if (st == GPM_OK) *out = node_constant(t, fam, v);
    return st;
}

enum gpm_status eval_application(struct trace *t, struct family *fam, const struct ast *a,
                                 struct tagctx *ctx, struct node *const *nodes, size_t n,
                                 struct node **out) {
    if (is_constant(nodes, n)) return fold(t, fam, a, nodes, n, out);
    struct node *app = *out = node_new(t, fam, NODE_APP, a, (uint32_t)n);
    app->ctx = ctx;
    for (size_t i = 0; i < n; i++) app->in[i].node = nodes[i];
    return node_apply(t, app, true);
}

enum gpm_status eval_builtin(struct trace *t, struct family *fam, const struct ast *a,
                             struct tagctx *ctx, const char *name, struct node *x, struct node *y,
                             struct node **out) {
    struct node *op = (struct node *)core_builtin(t->core, name);
    return eval_application(t, fam, a, ctx, (struct node *[]){op, x, y}, y ? 3 : 2, out);
}

/* gpmem evaluates its source function once per input, so the function is wrapped in mem. */
static enum gpm_status memoized(struct trace *t, struct family *fam, const struct ast *a,
                                struct node **nodes, size_t n) {
    size_t store = core_store_position(nodes[0]->val) + 1;
    if (!core_memoizes(nodes[1]->val, store < n ? nodes[store]->val : ABSENT)) return GPM_OK;
    return eval_builtin(t, fam, a, NULL, "mem", nodes[1], NULL, &nodes[1]);
}

/* Choosing among kernels or procedures is rewritten to choosing a position in the list. A kernel
 * has no identity of its own: when one of its parameters changes, the list holds a different value,
 * but the position stays. A permutation likewise orders positions. There are more positions than
 * items, so they also stay when the list grows or shrinks. */
static bool holds_makings(value v) {
    value item = NIL;
    size_t n = 0;
    bool found = false;
    if (!seq_length(v, &n)) return false;
    if (!n) return true; /* its future content is unknown */
    for (size_t i = 0; i < n && !found && seq_get(v, i, &item); i++) {
        found = item.tag == V_BOX || item.tag == V_PROC;
        value_unref(item);
    }
    return found;
}

static enum gpm_status permute_places(struct trace *t, struct family *fam, const struct ast *a,
                                      struct tagctx *ctx, struct node *items, struct node **out) {
    size_t n = 0;
    seq_length(items->val, &n);
    value places = value_vector_new(2 * n + 16);
    for (size_t i = 0; i < 2 * n + 16; i++) places.u.vector->at[i] = (double)i;
    struct node *order;
    enum gpm_status st =
        eval_builtin(t, fam, a, ctx, "permute", node_constant(t, fam, places), NULL, &order);
    return st == GPM_OK ? eval_builtin(t, fam, a, ctx, "_reorder", items, order, out) : st;
}

/* categorical(weights, kernels) and its relatives. `nodes`: the procedure and its n - 1
 * operands. */
static bool chooses_makings(struct node *const *nodes, size_t n) {
    const struct sp_class *cls = proc_class(nodes[0]->val, NULL);
    size_t items = 0, weights = 0;
    if (!cls || !(cls->flags & SP_CHOOSES) || n < 2 || n > 3) return false;
    value last = nodes[n - 1]->val;
    if (!holds_makings(last) || !seq_length(last, &items) || !items) return false;
    return n == 2 || (seq_length(nodes[1]->val, &weights) && weights == items);
}

static enum gpm_status choose_place(struct trace *t, struct family *fam, const struct ast *a,
                                    struct tagctx *ctx, struct node *const *nodes, size_t n,
                                    struct node **out) {
    struct node *items = nodes[n - 1], *place;
    enum gpm_status st;
    if (n == 3) {
        st = eval_application(t, fam, a, ctx, nodes, 2, &place);
    } else {
        struct node *size;
        st = eval_builtin(t, fam, a, ctx, "size", items, NULL, &size);
        if (st == GPM_OK)
            st = eval_builtin(t, fam, a, ctx, "uniform_discrete",
                              node_constant(t, fam, value_num(0)), size, &place);
    }
    return st == GPM_OK ? eval_builtin(t, fam, a, ctx, "lookup", items, place, out) : st;
}

/* The application of nodes[0] to the other n - 1 nodes. Some builtins make no node or a different
 * one: apply_function(f, x) becomes f(x), and choosing among kernels becomes choosing a position
 * (above). */
static enum gpm_status eval_applied(struct trace *t, struct family *fam, const struct ast *a,
                                    struct frame *f, struct tagctx *ctx, struct node **nodes,
                                    size_t n, struct node **out) {
    enum sp_special which = core_special(nodes[0]->val);
    enum gpm_status st = GPM_OK;
    if (which == SPECIAL_ENV || (which == SPECIAL_APPLY_FUNCTION && n == 2)) {
        *out = which == SPECIAL_ENV ? node_constant(t, fam, env_value(f)) : nodes[1];
        return GPM_OK;
    }
    if (which == SPECIAL_PERMUTE && n == 2 && holds_makings(nodes[1]->val))
        return permute_places(t, fam, a, ctx, nodes[1], out);
    if (chooses_makings(nodes, n)) return choose_place(t, fam, a, ctx, nodes, n, out);
    size_t skip = which == SPECIAL_APPLY_FUNCTION && n > 2;
    if (which == SPECIAL_GPMEM && n > 1) st = memoized(t, fam, a, nodes, n);
    return st == GPM_OK ? eval_application(t, fam, a, ctx, nodes + skip, n - skip, out) : st;
}

/* run(a): the trace does not contain the expression a (nested.c). */
static enum gpm_status eval_run(struct trace *t, struct family *fam, const struct ast *a,
                                struct node *op, struct frame *f, struct tagctx *ctx,
                                struct node **out) {
    struct node *n = node_new(t, fam, NODE_APP, a, 1);
    n->ctx = ctx;
    n->special = SPECIAL_RUN;
    n->in[0].node = op;
    node_request(t, n)->frame = f;
    if (f) pvec_push(pool_of(t), &fam->frames, frame_ref(f));
    *out = n;
    return node_apply(t, n, true);
}

/* The frame of a call, owned by the caller's family. */
static enum gpm_status enter_closure(struct trace *t, struct family *fam, const struct closure *c,
                                     struct node *const *args, size_t n, struct span at,
                                     struct frame **out) {
    const struct ast *l = c->lambda;
    if (n != l->u.lambda.n_params) return core_wrong_arity(t->core, l, n, at);
    enum gpm_status st = core_poll(t->core, at);
    if (st != GPM_OK) return st;
    *out = family_frame(t, fam, c->env, n, l->u.lambda.params, l->code);
    for (size_t i = 0; i < n; i++) (*out)->s[i].node = args[i];
    return GPM_OK;
}

/* Should a deterministic call that recurses on changing values be held as one node? Any change
 * would re-evaluate its requests anyway, so one node loses nothing. The exception is a value that
 * the call only passes on: observe reaches through it. */
static bool is_held_as_one(struct trace *t, struct closure *c, struct node *const *args, size_t n) {
    struct pure *p = t->core->nest || inner(t)->opening ? NULL : pure_of(t->core, &t->world, c);
    bool decided = false;
    if (!p || n != c->lambda->u.lambda.n_params) return false;
    for (size_t i = 0; i < n; i++) {
        if (args[i]->kind == NODE_CONST) continue;
        decided |= pure_decides(p, i);
        if (pure_passes(p, i) && (chase(args[i])->flags & NODE_RANDOM)) return false;
    }
    return decided;
}

static enum gpm_status hold_as_one(struct trace *t, struct family *fam, const struct ast *a,
                                   struct tagctx *ctx, struct node *const *nodes, size_t n,
                                   struct node **out) {
    struct node *app = *out = node_new(t, fam, NODE_APP, a, (uint32_t)n);
    app->ctx = ctx;
    app->special = SPECIAL_PURE;
    trace_lend(t, nodes[0]->val);
    for (size_t i = 0; i < n; i++) app->in[i].node = nodes[i];
    return node_apply(t, app, true);
}

/* A constant compound procedure never changes, so its call needs no application that could request
 * another body. The body is evaluated in place: *body in frame *enter. */
static enum gpm_status eval_call(struct trace *t, struct family *fam, const struct ast *a,
                                 struct frame *f, struct tagctx *ctx, const struct ast **body,
                                 struct frame **enter, struct node **out) {
    enum { SMALL = 8 };
    struct node *op, *small[SMALL];
    enum gpm_status st = eval_expr(t, fam, a->kids[0], f, ctx, &op);
    if (st != GPM_OK) return st;
    if (a->n == 2 && op->kind == NODE_CONST && core_special(op->val) == SPECIAL_RUN)
        return eval_run(t, fam, a, op, f, ctx, out);
    struct call_form form;
    st = call_form_of(t->core, a, op->val, &form);
    if (st != GPM_OK) return st;
    size_t n = form.n + 1, width = form.width + 1;
    struct node **nodes = width <= SMALL ? small : NEW_ARRAY(struct node *, width);
    if (form.order) memset(nodes, 0, width * sizeof *nodes); /* places may stay empty */
    nodes[0] = op;
    st = eval_operands(t, fam, a, f, ctx, &form, nodes);
    call_form_release(&form);
    struct closure *c = op->kind == NODE_CONST ? closure_of(op->val) : NULL;
    if (st == GPM_OK && c && is_held_as_one(t, c, nodes + 1, n - 1)) {
        st = hold_as_one(t, fam, a, ctx, nodes, n, out);
    } else if (st == GPM_OK && c) {
        *body = c->lambda;
        st = enter_closure(t, fam, c, nodes + 1, n - 1, a->span, enter);
    } else if (st == GPM_OK)
        st = eval_applied(t, fam, a, f, ctx, nodes, n, out);
    if (nodes != small) mem_free(nodes);
    return st;
}

/* The branches are families requested by the condition's value; only the selected one exists. If
 * the condition is constant, *branch is evaluated in place of the `if`. */
static enum gpm_status eval_if(struct trace *t, struct family *fam, const struct ast *a,
                               struct frame *f, struct tagctx *ctx, const struct ast **branch,
                               struct node **out) {
    struct node *cond;
    enum gpm_status st = eval_expr(t, fam, a->kids[0], f, ctx, &cond);
    if (st != GPM_OK) return st;
    if (cond->kind == NODE_CONST) {
        bool truth = false;
        st = core_truth(t->core, cond->val, a->kids[0]->span, &truth);
        *branch = a->kids[truth ? 1 : 2];
        return st;
    }
    trace_lend_branches(t, a, f);
    struct node *n = node_new(t, fam, NODE_IF, a, 1);
    n->ctx = ctx;
    n->in[0].node = cond;
    node_request(t, n)->frame = f;
    if (f) pvec_push(pool_of(t), &fam->frames, frame_ref(f));
    *out = n;
    return node_apply(t, n, true);
}

static enum gpm_status eval_tag(struct trace *t, struct family *fam, const struct ast *a,
                                struct frame *f, struct tagctx *ctx, struct node **out) {
    bool exclude = a->kind == AST_TAG_OUT;
    struct node *scope, *block = NULL, *body;
    enum gpm_status st = eval_expr(t, fam, a->kids[0], f, ctx, &scope);
    const struct ast *block_ast = exclude ? NULL : a->kids[1];
    if (st == GPM_OK && block_ast) st = eval_expr(t, fam, block_ast, f, ctx, &block);
    if (st != GPM_OK) return st;
    struct tagctx *own = tagctx_new(ctx, false);
    own->exclude = exclude;
    tagctx_set_scope(t, own, scope->val);
    /* The node comes first because it owns the context. It moves behind its body after evaluation,
     * since families are kept in evaluation order. */
    struct node *n = node_new(t, fam, NODE_TAG, a, block ? 3 : 2);
    node_request(t, n)->own = own;
    n->ctx = ctx;
    size_t at = fam->nodes.n - 1;
    st = eval_expr(t, fam, a->kids[a->n - 1], f, own, &body);
    memmove(&fam->nodes.at[at], &fam->nodes.at[at + 1],
            (fam->nodes.n - at - 1) * sizeof(struct node *));
    fam->nodes.at[fam->nodes.n - 1] = n;
    if (st != GPM_OK) return st;
    n->in[0].node = scope;
    if (block) n->in[1].node = block;
    n->in[n->n_in - 1].node = body;
    *out = n;
    return node_apply(t, n, true);
}

enum gpm_status eval_alias(struct trace *t, struct family *fam, const struct ast *a,
                           struct node *of, struct node **out) {
    *out = of;
    if (of->kind == NODE_CONST) {
        *out = node_constant(t, fam, value_ref(of->val));
        return GPM_OK;
    }
    if (of->family == fam || of->val.tag == V_PROC) return GPM_OK;
    *out = node_new(t, fam, NODE_TAG, a, 1);
    (*out)->in[0].node = of;
    return node_apply(t, *out, true);
}

/* deref(lookup(package, i)): each component gets a node of its own, so a reader of one component
 * does not depend on the others. A component that refers to a node is followed. The name then
 * stands for that node, and its readers are not affected by sibling components. */
enum gpm_status eval_components(struct trace *t, struct family *fam, const struct ast *a,
                                struct node *package, size_t n, struct node **out) {
    size_t len;
    if (!seq_length(package->val, &len) || len != n)
        return core_wrong_parts(t->core, package->val, n, a->span);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        struct node *place = node_constant(t, fam, value_num((double)i)), *item;
        st = eval_builtin(t, fam, a, NULL, "lookup", package, place, &item);
        if (st == GPM_OK) st = eval_builtin(t, fam, a, NULL, "deref", item, NULL, &out[i]);
    }
    return st;
}

static enum gpm_status bind_components(struct trace *t, struct family *fam, const struct ast *let,
                                       struct node *package, struct frame *f) {
    size_t n = let->u.bind.n_names;
    struct node **parts = NEW_ARRAY(struct node *, n);
    enum gpm_status st = eval_components(t, fam, let->kids[0], package, n, parts);
    for (size_t i = 0; st == GPM_OK && i < n; i++) f->s[let->u.bind.slot + i].node = parts[i];
    mem_free(parts);
    return st;
}

/* letrec: reading a slot before its turn is an error (`unset`), but closures may mention it. */
static enum gpm_status eval_let(struct trace *t, struct family *fam, const struct ast *s,
                                struct frame *f, struct tagctx *ctx) {
    struct slot *to = &f->s[s->u.bind.slot];
    bool rec = s->kind == AST_LETREC;
    for (uint32_t i = 0; i < s->n; i++) to[i].unset = rec;
    for (uint32_t i = 0; i < s->n; i++) {
        struct node *n;
        enum gpm_status st = eval_expr(t, fam, s->kids[i], f, ctx, &n);
        if (st != GPM_OK) return st;
        if (!rec && s->u.bind.n_names > 1) return bind_components(t, fam, s, n, f);
        to[i].node = n;
        to[i].unset = false;
    }
    return GPM_OK;
}

/* A block's nodes belong to the enclosing family. Only its names get a frame, *enter (NULL if it
 * has no names). *last is evaluated in place of the block. */
static enum gpm_status eval_block(struct trace *t, struct family *fam, const struct ast *a,
                                  struct frame *f, struct tagctx *ctx, const struct ast **last,
                                  struct frame **enter, struct node **out) {
    if (a->u.block.action)
        return diag_raise(t->core->diags, DIAG_ACTION_IN_MODEL, a->span,
                          "a model expression cannot run inference actions");
    if (!a->n) {
        *out = node_constant(t, fam, NIL);
        return GPM_OK;
    }
    if (a->u.block.n_slots)
        f = *enter = family_frame(t, fam, f, a->u.block.n_slots, a->u.block.slot_names, a->code);
    enum gpm_status st = GPM_OK;
    for (uint32_t i = 0; i + 1 < a->n && st == GPM_OK; i++)
        st = eval_let(t, fam, a->kids[i], f, ctx);
    *last = a->kids[a->n - 1];
    return st;
}

static enum gpm_status eval_leaf(struct trace *t, struct family *fam, const struct ast *a,
                                 struct frame *f, struct tagctx *ctx, struct node **out) {
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL: *out = (struct node *)core_literal(t->core, a); return GPM_OK;
    case AST_QUOTE: {
        value v;
        *out = core_quote_splices(t->core, a, f, &v) ? node_constant(t, fam, v)
                                                     : (struct node *)core_literal(t->core, a);
        return GPM_OK;
    }
    case AST_NAME: return eval_name(t, fam, a, f, out);
    case AST_LAMBDA: *out = node_constant(t, fam, closure_value(a, f)); return GPM_OK;
    case AST_TAG:
    case AST_TAG_OUT: return eval_tag(t, fam, a, f, ctx, out);
    case AST_UNQUOTE: return eval_unquote(t, fam, a, f, ctx, out);
    default: {
        diag_raise(t->core->diags, DIAG_ACTION_IN_MODEL, a->span,
                   "an inference directive cannot stand inside a model expression");
        return diag_set_help(t->core->diags, "write it at the top level, in an action block, or "
                                             "inside run(...)");
    }
    }
}

/* Releases the frames from number `first` on that the latest call has left, unless something
 * besides the family holds them. */
static void drop_left_frames(struct family *fam, size_t first) {
    struct frame *last = vec_last(&fam->frames);
    while (fam->frames.n > first + 1 && fam->frames.at[fam->frames.n - 2]->refs == 1) {
        frame_unref(fam->frames.at[fam->frames.n - 2]);
        fam->frames.n--;
    }
    vec_last(&fam->frames) = last;
}

/* Evaluates tail positions in a loop, like the untraced evaluator. Recursion that only constants
 * control therefore needs no stack. */
enum gpm_status eval_expr(struct trace *t, struct family *fam, const struct ast *a, struct frame *f,
                          struct tagctx *ctx, struct node **out) {
    struct tail_calls calls;
    enum gpm_status st = GPM_OK;
    size_t first = fam->frames.n;
    calls.n = 0;
    while (a && st == GPM_OK) {
        const struct ast *next = NULL;
        struct frame *enter = NULL;
        switch (a->kind) {
        case AST_CALL:
            st = eval_call(t, fam, a, f, ctx, &next, &enter, out);
            if (st != GPM_OK || !next) break;
            tail_call(&calls, a->span, next->u.lambda.self);
            next = next->kids[0];
            drop_left_frames(fam, first);
            break;
        case AST_IF: st = eval_if(t, fam, a, f, ctx, &next, out); break;
        case AST_BLOCK: st = eval_block(t, fam, a, f, ctx, &next, &enter, out); break;
        case AST_MODEL: next = a->kids[0]; break;
        default: st = eval_leaf(t, fam, a, f, ctx, out);
        }
        if (enter) f = enter;
        a = next;
    }
    if (st != GPM_OK) tail_calls_tell(t->core, &calls);
    return st;
}

/* Is the frame chain free of slot constants that a node may read? */
static bool frame_is_bare(const struct frame *f) {
    for (; f; f = f->parent)
        for (uint32_t i = 0; i < f->n; i++)
            if (f->s[i].node) return false;
    return true;
}

/* Releases the frame of a directive, and the program's frames around it, unless something refers to
 * them. Each of a million observations has such a frame. */
static void leave_frame(struct trace *t, struct family *fam, struct frame *f, uint32_t held) {
    if (f->refs != held + 1 || fam->frames.n != 1 || !frame_is_bare(f)) return;
    family_keep_code(t, fam, f->code);
    pvec_release(pool_of(t), &fam->frames);
    frame_unref(f);
}

/* The family of a directive, with one reference that belongs to the caller. */
enum gpm_status eval_family(struct trace *t, const struct ast *a, struct frame *f,
                            struct tagctx *ctx, struct family **out) {
    struct family *fam = family_new(t, ctx);
    uint32_t held = f ? f->refs : 0;
    if (f)
        pvec_push(pool_of(t), &fam->frames, frame_ref(f)); /* holds the code */
    else
        family_keep_code(t, fam, a->code);
    enum gpm_status st = core_poll(t->core, a->span);
    if (st == GPM_OK) st = eval_expr(t, fam, a, f, ctx, &fam->root);
    fam->refs = 1;
    if (st != GPM_OK) {
        family_drop(t, fam, NULL);
        families_free_dead(t, &fam, 1);
        return st;
    }
    if (f) leave_frame(t, fam, f, held);
    t->structure++;
    *out = fam;
    return GPM_OK;
}
