/* SPDX-License-Identifier: Apache-2.0
 *
 * Computing a node's value from its parents: primitives, compound and memoized procedures,
 * requesting primitives, `if`, `tag`.
 *
 * What requests (Venture's request and output parts): a compound call requests its body, `if` a
 * branch, a memoized call the one family of its arguments, mapv and its like one application per
 * element. The roots of requested families become extra parents (req->xin) of the node, whose
 * output is computed from their values. node_apply does all of this and leaves the node on. The
 * first evaluation, regen and carried values all use it.
 *
 * `requests` false: only the output is recomputed from the existing families. This serves a D node
 * whose requests did not change. */
#include "runtime/trace/node.h"

#include "runtime/core/nest.h"
#include "runtime/core/pure.h"
#include "runtime/core/call_form.h"

/* The operator may have changed from primitive to compound or back. */
void set_linked_args(struct trace *t, struct node *n, bool linked) {
    bool is = n->flags & NODE_LINKED_ARGS;
    if (is == linked) return;
    for (uint32_t i = 1; (n->flags & NODE_ON) && i < n->n_in; i++)
        linked ? link_in(t, n, i) : unlink_in(t, n, i);
    n->flags ^= NODE_LINKED_ARGS;
}

/* Holds the family by the request and makes its root a parent. The caller counts the requester. */
static void add_family(struct trace *t, struct node *n, struct family *f) {
    struct request *r = node_request(t, n);
    if (r->n_fam == r->cap_fam) r->fam = pool_grow(pool_of(t), r->fam, &r->cap_fam, sizeof *r->fam);
    r->fam[r->n_fam++] = f;
    request_add_parent(t, n, f->root);
}

/* A new family: body of the closure with its parameters bound to the given nodes. */
static enum gpm_status call_family(struct trace *t, struct closure *c, struct node *const *args,
                                   size_t n, struct family *fam, struct tagctx *ctx,
                                   struct span at) {
    const struct ast *l = c->lambda;
    if (n != l->u.lambda.n_params) return core_wrong_arity(t->core, l, n, at);
    enum gpm_status st = core_poll(t->core, at);
    if (st != GPM_OK) return st;
    struct frame *f = family_frame(t, fam, c->env, n, l->u.lambda.params, l->code);
    for (size_t i = 0; i < n; i++) f->s[i].node = args[i];
    st = eval_expr(t, fam, l->kids[0], f, ctx, &fam->root);
    if (st != GPM_OK) core_tell_call(t->core, at, l->u.lambda.self);
    return st;
}

/* Ends the evaluation of a family that n requested: n becomes its first requester, or the family is
 * taken apart if st is an error. */
enum gpm_status request_family(struct trace *t, struct node *n, struct family *f,
                               enum gpm_status st) {
    f->refs = 1;
    if (st == GPM_OK) {
        t->structure++;
        add_family(t, n, f);
        return GPM_OK;
    }
    if (f->own_ctx) vec_clear(&f->own_ctx->joined);
    family_drop(t, f, NULL);
    families_free_dead(t, &f, 1);
    return st;
}

/* Parameters are bound to the operand nodes themselves. The body reads them directly, and a change
 * of an operand reaches its readers without going through the call. */
static enum gpm_status apply_closure(struct trace *t, struct node *n, struct closure *c) {
    size_t k = n->n_in - 1;
    struct node *small[8], **args = k <= 8 ? small : NEW_ARRAY(struct node *, k);
    for (size_t i = 0; i < k; i++) args[i] = n->in[i + 1].node;
    struct family *f = family_new(t, n->ctx);
    trace_lend(t, n->in[0].node->val);
    enum gpm_status st = call_family(t, c, args, k, f, n->ctx, node_span(n));
    if (args != small) mem_free(args);
    return request_family(t, n, f, st);
}

/* A constant that stands for an operand in a family and lasts as long as the family. */
static struct node *argument_constant(struct trace *t, struct family *f, value v) {
    struct node *n = node_constant(t, f, value_ref(v));
    n->flags |= NODE_ARGUMENT;
    return n;
}

/* Where the arguments of request number `i` of a map by index come from. */
struct mapped {
    struct node *by;
    size_t i;
};

/* The node of argument j of a request: a constant, or a lookup in a sequence that is a node. */
static enum gpm_status argument_node(struct trace *t, struct family *f, const struct mapped *from,
                                     size_t j, value v, const struct ast *at, struct node **out) {
    struct sp_origin of = {-1, -1};
    if (from) of = node_class(from->by)->origin(from->i, j);
    struct node *xs = of.arg >= 0 ? from->by->in[of.arg + 1].node : NULL;
    if (!xs || xs->kind == NODE_CONST) {
        *out = argument_constant(t, f, v);
        return GPM_OK;
    }
    struct node *place = node_constant(t, f, value_num((double)of.item));
    return eval_builtin(t, f, at, NULL, "lookup", xs, place, out);
}

/* Applies any procedure value to constants in a new family. The constants come first, in argument
 * order; a procedure that is not compound comes before them. Gradients rely on that order
 * (gradient.c). from: the request of a map by index, or NULL. */
static enum gpm_status value_call_family(struct trace *t, value proc, const value *args, size_t n,
                                         struct family *f, const struct mapped *from,
                                         struct tagctx *ctx, const struct ast *at) {
    struct closure *c = closure_of(proc);
    family_keep_code(t, f, at->code);
    struct node *small[8], **nodes = n < 8 ? small : NEW_ARRAY(struct node *, n + 1);
    enum gpm_status st = GPM_OK;
    if (!c) nodes[0] = node_constant(t, f, value_ref(proc));
    for (size_t i = 0; i < n && st == GPM_OK; i++)
        st = argument_node(t, f, from, i, args[i], at, &nodes[i + !c]);
    if (st == GPM_OK && c)
        st = call_family(t, c, nodes, n, f, ctx, at->span);
    else if (st == GPM_OK)
        st = eval_application(t, f, at, ctx, nodes, n + 1, &f->root);
    if (nodes != small) mem_free(nodes);
    return st;
}

enum gpm_status call_taken_apart(struct trace *t, struct node *n, struct family **out) {
    enum { SMALL = 8 };
    size_t k = n->n_in - 1;
    value small[SMALL], *args = k <= SMALL ? small : NEW_ARRAY(value, k);
    uint64_t structure = t->structure;
    for (size_t i = 0; i < k; i++) args[i] = n->in[i + 1].node->val;
    struct family *f = *out = family_new(t, n->ctx);
    bool outer = inner(t)->opening;
    inner(t)->opening = true;
    enum gpm_status st = value_call_family(t, n->in[0].node->val, args, k, f, NULL, n->ctx, n->ast);
    inner(t)->opening = outer;
    t->structure = structure; /* no remaining node has changed */
    f->refs = 1;
    if (args != small) mem_free(args);
    return st;
}

static value memo_key(const struct node *n) {
    value key = value_array_new(n->n_in - 1);
    for (uint32_t i = 1; i < n->n_in; i++) key.u.array->at[i - 1] = value_ref(n->in[i].node->val);
    return key;
}

/* Calls a memoized procedure of a model around the current run. The enclosing model keeps the
 * values. */
static enum gpm_status memo_of_nest(struct trace *t, struct node *n, struct nest *around,
                                    struct memo_proc *m, value *out) {
    value key = memo_key(n);
    enum gpm_status st = GPM_OK;
    if (around->memo)
        st = around->memo(around, m, key, node_span(n), out);
    else
        st = plain_apply(t->core, n->in[0].node->val, key.u.array->at, key.u.array->n, node_span(n),
                         out);
    value_unref(key);
    return st;
}

/* A memo table lists families by their argument array. Requesters count them; the table only
 * borrows them. `building` detects a family that requests itself. */
enum gpm_status apply_memo(struct trace *t, struct node *n, struct memo_proc *m, value key) {
    struct memo_entry *e = world_memo_find(&t->world, m, key);
    struct family *f = e ? e->family : NULL;
    enum gpm_status st = f ? GPM_OK : regen_maker(t, m->proc);
    if (f && f->building)
        st = core_memo_loop(t->core, node_span(n));
    else if (f) {
        st = regen_ensure(t, f->root);
        if (st == GPM_OK) family_take(t, f, n->ctx);
        if (st == GPM_OK) add_family(t, n, f);
    } else if (st == GPM_OK) {
        f = family_new(t, NULL);
        f->own_ctx = tagctx_new(NULL, true);
        f->memo = m;
        f->key = value_ref(key);
        f->building = true;
        f->born = inner(t)->next_seq;
        memo_set_family(world_memo_insert(&t->world, m, key), f);
        if (n->ctx) vec_push(&f->own_ctx->joined, n->ctx);
        f->own_ctx->reach = tagctx_reach(n->ctx);
        st = value_call_family(t, m->proc, key.u.array->at, key.u.array->n, f, NULL, f->own_ctx,
                               n->ast);
        f->building = false;
        st = request_family(t, n, f, st);
    }
    return st;
}

static enum gpm_status call_memo(struct trace *t, struct node *n, struct memo_proc *m) {
    value key = memo_key(n);
    enum gpm_status st = apply_memo(t, n, m, key);
    value_unref(key);
    return st;
}

struct request_ctx {
    struct trace *t;
    struct node *n;
    bool by_index;
    enum gpm_status st;
};

/* A requesting row calls this once for each application it requests. */
static void request_one(void *ctx, value proc, const value *args, size_t n_args) {
    struct request_ctx *r = ctx;
    if (r->st != GPM_OK) return;
    r->st = regen_maker(r->t, proc);
    if (r->st != GPM_OK) return;
    struct family *f = family_new(r->t, r->n->ctx);
    struct mapped from = {r->n, r->n->req ? r->n->req->n_fam : 0};
    r->st = value_call_family(r->t, proc, args, n_args, f, r->by_index ? &from : NULL, r->n->ctx,
                              r->n->ast);
    r->st = request_family(r->t, r->n, f, r->st);
}

/* The output: computed from the values of the families' roots, in the order of the requests. */
static enum gpm_status output_of_requests(struct node *n, struct sp_call *c, value *out) {
    uint32_t k = n->req ? n->req->n_fam : 0;
    value *results = NEW_ARRAY(value, k + 1);
    for (uint32_t i = 0; i < k; i++) results[i] = n->req->fam[i]->root->val;
    enum gpm_status st = c->cls->output(c, results, k, out);
    mem_free(results);
    return st;
}

/* Finds the nodes that a procedure closes over when it is passed to a primitive. They become
 * parents of the application, since the trace does not see what the primitive's calls read. `depth`
 * counts the frames opened inside the body: a name at that depth or deeper belongs to the closure's
 * frame. `budget` limits how many procedures found on the way are followed. */
static void close_over(struct trace *t, struct node *n, const struct ast *a, struct frame *f,
                       int depth, int budget);

struct closing {
    struct trace *t;
    struct node *n;
    int budget;
};

static void depend_on(struct trace *t, struct node *n, struct node *p, int budget);

static bool close_over_part(value v, void *ctx) {
    const struct closing *w = ctx;
    if (v.tag == V_REF && v.u.ref->node) depend_on(w->t, w->n, v.u.ref->node, w->budget - 1);
    struct memo_proc *m = memo_of(v);
    struct closure *c = closure_of(m ? m->proc : v);
    if (c) close_over(w->t, w->n, c->lambda->kids[0], c->env, 1, w->budget - 1);
    return false;
}

/* Searches the parts of a value, too: a list of kernels holds procedures and references. */
static void close_over_value(struct trace *t, struct node *n, value v, int budget) {
    struct closing w = {t, n, budget};
    if (budget > 0) value_any(v, close_over_part, &w);
}

static void depend_on(struct trace *t, struct node *n, struct node *p, int budget) {
    if (p->kind == NODE_CONST) {
        close_over_value(t, n, p->val, budget);
        return;
    }
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (n->req->xin[i].node == p) return;
    request_add_parent(t, n, p);
    close_over_value(t, n, p->val, budget);
}

static void close_over(struct trace *t, struct node *n, const struct ast *a, struct frame *f,
                       int depth, int budget) {
    if (!a) return;
    if (a->kind == AST_NAME && !a->u.name.builtin) {
        const struct meaning *m = frame_meaning(f, a->u.name.sym);
        bool global = a->u.name.depth < 0 || a->u.name.global_first;
        struct node *p = !global ? NULL
                         : m     ? (struct node *)m->cell
                                 : world_find(&t->world, a->u.name.sym);
        if (!p && a->u.name.depth >= depth) {
            struct frame *from = frame_up(f, a->u.name.depth - depth);
            struct slot *s = &from->s[a->u.name.slot];
            if (s->node && !s->own && from->owner == nest_level(t->core))
                p = s->node;
            else
                close_over_value(t, n, slot_value(s), budget);
        }
        if (p) depend_on(t, n, p, budget);
        return;
    }
    if (a->kind == AST_UNQUOTE) return; /* belongs to the enclosing model expression */
    int inner = depth;
    if (a->kind == AST_LAMBDA) inner++;
    if (a->kind == AST_BLOCK && a->u.block.n_slots) inner++;
    if (a->kind == AST_MODEL || a->kind == AST_QUASI) { /* the model of an inner run */
        inner++;
        for (uint32_t i = 0; i < a->u.model.n_splices; i++)
            close_over(t, n, a->u.model.splices[i]->kids[0], f, depth, budget);
    }
    if (a->kind == AST_DIRECTIVE) {
        close_over(t, n, a->u.dir.label_expr, f, depth, budget);
        close_over(t, n, a->u.dir.name_expr, f, depth, budget);
    }
    for (uint32_t i = 0; i < a->n; i++) close_over(t, n, a->kids[i], f, inner, budget);
}

void node_close_over(struct trace *t, struct node *n) {
    const struct sp_class *cls = node_class(n);
    uint32_t fixed = cls && cls->aaa ? cls->aaa->fixed : 0; /* called through requests instead */
    for (uint32_t i = 1; i < n->n_in; i++)
        if (i > 32 || !(fixed >> (i - 1) & 1)) close_over_value(t, n, n->in[i].node->val, 8);
}

/* A random choice that is n itself or an ancestor of n; NULL if n is deterministic. */
static struct node *choice_under(struct map *seen, struct node *n) {
    if (n->kind == NODE_CONST || map_get(seen, MAP_PTR(n))) return NULL;
    map_put(seen, MAP_PTR(n), n);
    if ((n->flags & NODE_RANDOM) && !(n->flags & NODE_OBSERVED)) return n;
    struct node *found = NULL;
    for (uint32_t i = 0; !found && i < n->n_in; i++) found = choice_under(seen, n->in[i].node);
    for (uint32_t i = 0; !found && n->req && i < n->req->n_xin; i++)
        found = choice_under(seen, n->req->xin[i].node);
    for (uint32_t i = 0; !found && n->req && i < n->req->n_fam; i++)
        found = choice_under(seen, n->req->fam[i]->root);
    return found;
}

/* Checks that values of a stored procedure are the same in every state of the model. */
static enum gpm_status kept_values_are_fixed(struct trace *t, struct node *n,
                                             const struct sp_call *c) {
    if (!c->cls->aaa || !c->cls->aaa->keeps_values || !c->cls->aaa->keeps_values(c)) return GPM_OK;
    close_over_value(t, n, c->args[0], 8);
    struct map seen = {0};
    struct node *choice = NULL;
    for (uint32_t i = 0; !choice && n->req && i < n->req->n_xin; i++)
        choice = choice_under(&seen, n->req->xin[i].node);
    map_release(&seen);
    if (!choice) return GPM_OK;
    diag_raise(
        t->core->diags, DIAG_DOMAIN, node_span(n),
        "%s: the function reads a random choice, and a store would keep its values for every "
        "value of that choice",
        c->cls->name);
    diag_add_label(t->core->diags, node_span(choice), "the choice");
    return diag_set_help(t->core->diags,
                         "leave store out, or give the function the choice as an input");
}

static enum gpm_status call_held(struct trace *t, struct node *n, value *out) {
    enum { SMALL = 8 };
    size_t k = n->n_in - 1;
    value small[SMALL], *args = k <= SMALL ? small : NEW_ARRAY(value, k);
    small[0] = NIL; /* for a call without arguments */
    for (size_t i = 0; i < k; i++) args[i] = n->in[i + 1].node->val;
    struct world *outer = model_enter(t);
    enum gpm_status st = plain_apply(t->core, n->in[0].node->val, args, k, node_span(n), out);
    t->core->model = outer;
    if (args != small) mem_free(args);
    return st;
}

/* A call held as one node (runtime/core/pure.h). Its parents are its operands and the nodes that
 * the procedure reads. */
static enum gpm_status apply_pure(struct trace *t, struct node *n, struct closure *c, value *out) {
    struct pure *p = pure_of(t->core, &t->world, c);
    if (!p)
        return diag_raise(
            t->core->diags, DIAG_TYPE, node_span(n),
            "names that this procedure uses have changed their meaning since the call "
            "was evaluated");
    size_t n_reads;
    struct cell *const *reads = pure_reads(p, &n_reads);
    bool same = n_reads == (n->req ? n->req->n_xin : 0);
    for (size_t i = 0; same && i < n_reads; i++)
        same = n->req->xin[i].node == (struct node *)reads[i];
    if (!same) request_clear_parents(t, n);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; st == GPM_OK && i < n_reads; i++) {
        st = regen_ensure(t, (struct node *)reads[i]);
        if (!same) request_add_parent(t, n, (struct node *)reads[i]);
    }
    return st == GPM_OK ? call_held(t, n, out) : st;
}

/* Builtins that take nodes instead of values: references, mem, eval, environments. */
static enum gpm_status apply_special(struct trace *t, struct node *n, struct sp_call *c,
                                     bool requests, value *out, bool *handled) {
    enum gpm_status st;
    *handled = true;
    switch ((enum sp_special)n->special) {
    case SPECIAL_REF: {
        struct node *target = n->in[1].node;
        *out = target->kind == NODE_CONST ? value_ref_to(target->val, NULL)
                                          : value_ref_to(NIL, target);
        return GPM_OK;
    }
    case SPECIAL_DEREF: {
        value r = c->args[0];
        struct node *target = r.tag == V_REF ? r.u.ref->node : NULL;
        if (target) {
            st = regen_ensure(t, target);
            if (st != GPM_OK) return st;
            request_clear_parents(t, n);
            request_add_parent(t, n, target);
            *out = value_ref(target->val);
        } else
            *out = value_ref(r.tag == V_REF ? r.u.ref->v : r);
        return GPM_OK;
    }
    case SPECIAL_EMPTY_ENV: *out = env_value(NULL); return GPM_OK;
    case SPECIAL_EXTEND_ENV: return env_extend(t->core, c->args, node_span(n), out);
    case SPECIAL_MEM:
        *out = memo_value(c->args[0], nest_level(t->core));
        memo_of(*out)->born = n->seq;
        return GPM_OK;
    case SPECIAL_RUN:
        return diag_raise(t->core->diags, DIAG_ACTION_IN_MODEL, node_span(n),
                          "in a model, run is called by its name: run(action)");
    case SPECIAL_EVAL: {
        if (!requests) {
            *out = value_ref(n->req->fam[0]->root->val);
            return GPM_OK;
        }
        struct frame *env = c->n > 1 ? env_frame(c->args[1]) : NULL;
        struct ast *a = core_code(t->core, c->args[0], true, env, node_span(n));
        struct family *f = family_new(t, n->ctx);
        family_keep_code(t, f, a->code);
        code_unref(a->code);
        st = eval_expr(t, f, a, env, n->ctx, &f->root);
        st = request_family(t, n, f, st);
        if (st == GPM_OK) *out = value_ref(f->root->val);
        return st;
    }
    default: *handled = false; return GPM_OK;
    }
}

/* Refuses to draw a choice from an improper prior, which would give a proposal a wrong weight. */
static enum gpm_status no_prior(struct trace *t, struct node *n, const struct sp_class *cls) {
    diag_raise(t->core->diags, DIAG_IMPROPER, node_span(n),
               "%s has no distribution to draw from, and this operator proposes from the prior",
               cls->name);
    return diag_set_help(t->core->diags, "nuts, hmc, slice and drift move such choices");
}

/* The families of a map by index assume that its sequences keep their length (shape.c). Values from
 * outside may break this. */
static enum gpm_status same_length(struct trace *t, const struct node *n) {
    size_t len;
    for (uint32_t i = 2; (n->flags & NODE_BY_INDEX) && i < n->n_in; i++)
        if (!seq_length(n->in[i].node->val, &len) || len != (n->req ? n->req->n_fam : 0))
            return diag_raise(t->core->diags, DIAG_SHAPE, node_span(n),
                              "a sequence that is mapped over has changed its length, which values "
                              "given to its choices must not do");
    return GPM_OK;
}

/* Tries in turn: builtins of the evaluator, requesting rows, rows that call procedures (their
 * closed-over nodes must be up to date first), plain rows. */
static enum gpm_status apply_primitive(struct trace *t, struct node *n, bool requests, value *out) {
    struct node_call k;
    struct sp_call *c = &k.c;
    bool handled = false;
    enum gpm_status st = call_begin_checked(t, n, &k);
    if (st == GPM_OK) n->special = (uint8_t)core_special(n->in[0].node->val);
    if (st == GPM_OK && n->special) st = apply_special(t, n, c, requests, out, &handled);
    if (st != GPM_OK || handled) return call_end(t, n, &k, st);
    if (c->cls->request) {
        struct request_ctx r = {t, n, requests && node_maps_by_index(n), GPM_OK};
        if (requests)
            n->flags = (uint16_t)((n->flags & ~NODE_BY_INDEX) | (r.by_index ? NODE_BY_INDEX : 0));
        st = requests ? c->cls->request(c, request_one, &r) : same_length(t, n);
        if (st == GPM_OK) st = r.st;
        if (st == GPM_OK) st = output_of_requests(n, c, out);
        return call_end(t, n, &k, st);
    }
    if (!c->cls->simulate)
        st = diag_raise(t->core->diags, DIAG_ACTION_IN_MODEL, node_span(n),
                        "%s cannot be called in a model expression", c->cls->name);
    if ((c->cls->flags & SP_IMPROPER) && inner(t)->active) st = no_prior(t, n, c->cls);
    if (node_calls(n, c->cls)) {
        if (requests) node_close_over(t, n);
        if (st == GPM_OK) st = regen_extra(t, n);
    }
    if (st == GPM_OK && requests) st = kept_values_are_fixed(t, n, c);
    c->in_vain = inner(t)->replaced && n->ast == inner(t)->replaced;
    return call_end(t, n, &k, st == GPM_OK ? sp_simulate(c, out) : st);
}

/* A changed condition evaluates its branch again even if it selects the same one. The old family is
 * the brush of the proposal, and the new one is drawn from the prior. */
static enum gpm_status apply_if(struct trace *t, struct node *n, bool requests, value *out) {
    if (requests) {
        bool truth;
        enum gpm_status st = core_truth(t->core, n->in[0].node->val, n->ast->kids[0]->span, &truth);
        if (st != GPM_OK) return st;
        struct family *f = family_new(t, n->ctx);
        st = eval_expr(t, f, n->ast->kids[truth ? 1 : 2], n->req->frame, n->ctx, &f->root);
        st = request_family(t, n, f, st);
        if (st != GPM_OK) return st;
    }
    *out = value_ref(n->req->fam[0]->root->val);
    return GPM_OK;
}

static enum gpm_status compute(struct trace *t, struct node *n, bool requests, value *out) {
    if (n->kind == NODE_IF) return apply_if(t, n, requests, out);
    if (n->kind == NODE_TAG) {
        *out = value_ref(n->in[n->n_in - 1].node->val);
        return GPM_OK;
    }
    value op = n->in[0].node->val;
    struct closure *c = closure_of(op);
    struct memo_proc *m = memo_of(op);
    struct nest *around = m ? nest_of_memo(t->core, m) : NULL;
    enum gpm_status st = GPM_OK;
    if (n->special == SPECIAL_PURE) return apply_pure(t, n, c, out);
    if (around) return memo_of_nest(t, n, around, m, out);
    if (n->special == SPECIAL_RUN && n->n_in == 1) return apply_run(t, n, out);
    if (c || m) {
        if (requests) st = c ? apply_closure(t, n, c) : call_memo(t, n, m);
        if (st == GPM_OK) *out = value_ref(n->req->fam[0]->root->val);
        return st;
    }
    if (!proc_class(op, NULL)) return core_not_procedure(t->core, op, node_span(n));
    return apply_primitive(t, n, requests, out);
}

/* The order matters: value, links, index of tags, statistics, list of choices. A deterministic
 * application that records data takes its density (carry_weight) before it is counted. */
enum gpm_status node_apply(struct trace *t, struct node *n, bool requests) {
    if (t->core->max_nodes && t->n_nodes > t->core->max_nodes)
        return diag_raise(t->core->diags, DIAG_LIMIT, node_span(n),
                          "the trace grew beyond the memory limit (--max-memory)");
    enum gpm_status st = regen_operands(t, n);
    if (st != GPM_OK) return st;
    value v;
    st = compute(t, n, requests, &v);
    if (st != GPM_OK) {
        if (requests) request_release(t, n); /* otherwise they stay, even if the output fails */
        return st;
    }
    value_set_take(&n->val, v);
    n->flags &= (uint16_t)~NODE_HAS_LOGP;
    if (n->kind == NODE_APP) {
        value op = n->in[0].node->val;
        const struct sp_class *cls = proc_class(op, NULL);
        set_linked_args(t, n, !closure_of(op) || n->special == SPECIAL_PURE);
        if (cls && (cls->flags & SP_RANDOM))
            n->flags |= NODE_RANDOM;
        else
            n->flags &= (uint16_t)~NODE_RANDOM;
        if (cls && (cls->flags & SP_MAKER)) set_maker(n->val, n);
        inner(t)->makers |= sp_made_of(op) || (cls && (cls->flags & SP_MAKER));
        inner(t)->improper |= cls && (cls->flags & SP_IMPROPER);
    } else
        n->flags |= NODE_LINKED_ARGS;
    if (!(n->flags & NODE_ON)) node_link_operands(t, n);
    if (n->kind == NODE_TAG) tag_enter_index(t, n);
    n->flags |= NODE_ON;
    st = carry_weight(t, n);
    if (st == GPM_OK) st = node_incorporate(t, n);
    if (st != GPM_OK) return st; /* still on: the caller switches it off */
    choice_add(t, n);
    return GPM_OK;
}
