/* SPDX-License-Identifier: Apache-2.0
 *
 * Around the machine (machine.h), which runs inference programs, `define`s, and procedures that
 * primitives call back (kernels written in the language): calls of what is no compound procedure,
 * expressions that the frame around them decides about, blocks of actions.
 *
 * It mirrors eval.c and apply.c; what differs is what they leave behind: there nodes that can be
 * taken out and put back, here values and nothing else. Two ways of use, told apart by core->model:
 * NULL, an inference program runs, draws from the session's generator, and operators build actions;
 * else a row of that trace calls a procedure of the model, which sees the model's names, draws from
 * the trace's generator, and reaches operators by run(...) alone, whose argument is an inference
 * program again (nest.h). */
#include "runtime/core/plain.h"
#include "runtime/core/call_form.h"
#include "runtime/core/compile.h"
#include "runtime/core/core_pack.h"
#include "runtime/core/machine.h"
#include "runtime/core/nest.h"

/* A memoized procedure of a trace, called from outside it: what the trace has is read, what it
 * lacks is computed and not kept, for its table holds families only. */
static enum gpm_status apply_memo(struct session_core *core, struct memo_proc *m, const value *args,
                                  size_t n, struct span at, value *out) {
    value key = value_array(args, n);
    struct memo_entry *e = world_memo_find(core->model, m, key);
    struct nest *around = nest_of_memo(core, m);
    enum gpm_status st = GPM_OK;
    if (around && around->memo) {
        st = around->memo(around, m, key, at, out);
    } else if (e && (e->busy || e->family)) {
        if (e->family && *e->root)
            *out = value_ref(((struct cell *)*e->root)->val);
        else
            st = core_memo_loop(core, at);
    } else if (e) {
        *out = value_ref(e->val);
    } else {
        e = memo_insert(m, key);
        e->busy = true;
        st = plain_apply(core, m->proc, args, n, at, out);
        if (st != GPM_OK || m->owner)
            memo_remove(m, key); /* a traced table holds families only */
        else {
            e->busy = false;
            e->val = value_ref(*out);
        }
    }
    value_unref(key);
    return st;
}

/* Results of a requesting procedure's calls, gathered one after another. */
struct gather {
    struct session_core *core;
    struct span at;
    VEC(value) results;
    enum gpm_status st;
};

static void gather_one(void *ctx, value proc, const value *args, size_t n) {
    struct gather *g = ctx;
    value v;
    if (g->st != GPM_OK) return;
    g->st = plain_apply(g->core, proc, args, n, g->at, &v);
    if (g->st == GPM_OK) vec_push(&g->results, v);
}

static enum gpm_status apply_requesting(struct session_core *core, struct sp_call *c,
                                        struct span at, value *out) {
    struct gather g = {.core = core, .at = at, .st = GPM_OK};
    enum gpm_status st = core_place(core, c->cls->request(c, gather_one, &g), at);
    if (st == GPM_OK) st = g.st;
    if (st == GPM_OK) st = core_place(core, c->cls->output(c, g.results.at, g.results.n, out), at);
    for (size_t i = 0; i < g.results.n; i++) value_unref(g.results.at[i]);
    vec_release(&g.results);
    return st;
}

/* A reference to a node has the value the node has now. */
value plain_deref(value v) {
    if (v.tag != V_REF) return value_ref(v);
    struct cell *c = (struct cell *)v.u.ref->node;
    return value_ref(c ? c->val : v.u.ref->v);
}

static enum gpm_status eval_data(struct session_core *core, const value *args, size_t n,
                                 struct span at, value *out) {
    struct frame *env = n > 1 ? env_frame(args[1]) : NULL;
    struct ast *a = core_code(core, args[0], true, env, at);
    enum gpm_status st = plain_eval(core, a, env, out);
    code_unref(a->code);
    return st;
}

value env_value(struct frame *f) {
    struct env_box *e = box_new(&env_class);
    e->frame = frame_ref(f);
    return value_box(V_ENV, &e->box);
}

/* A frame that binds one name; it is its own list of names. */
enum gpm_status env_extend(struct session_core *core, const value *args, struct span at,
                           value *out) {
    struct sym *name = args[1].tag == V_SYM   ? args[1].u.sym
                       : args[1].tag == V_STR ? sym_cstr(core->syms, args[1].u.str->text)
                                              : NULL;
    if (!name)
        return diag_raise(core->diags, DIAG_TYPE, at,
                          "extend_environment: the name must be a symbol");
    struct frame *f = frame_new(core, env_frame(args[0]), 1, NULL, NULL);
    f->name = name;
    f->names = &f->name;
    f->s[0].v = value_ref(args[2]);
    *out = env_value(f);
    frame_unref(f);
    return GPM_OK;
}

/* Builtins that are no functions of values: they reach the evaluator, the model or its actions.
 * SPECIAL_ENV and SPECIAL_ACTION look at the call itself and are done before it (call_form.h). */
static enum gpm_status apply_special(struct session_core *core, enum sp_special which,
                                     const value *args, size_t n, struct span at, value *out,
                                     bool *handled) {
    *handled = true;
    switch (which) {
    case SPECIAL_REF: *out = value_ref_to(args[0], NULL); return GPM_OK;
    case SPECIAL_DEREF: *out = plain_deref(args[0]); return GPM_OK;
    case SPECIAL_MEM: *out = memo_value(args[0], 0); return GPM_OK;
    case SPECIAL_EVAL: return eval_data(core, args, n, at, out);
    case SPECIAL_EMPTY_ENV: *out = env_value(NULL); return GPM_OK;
    case SPECIAL_EXTEND_ENV: return env_extend(core, args, at, out);
    case SPECIAL_RUN: return core->run_action(core, args[0], at, out);
    case SPECIAL_APPLY_FUNCTION:
        if (n == 1) {
            *out = value_ref(args[0]);
            return GPM_OK;
        }
        return plain_apply(core, args[0], args + 1, n - 1, at, out);
    default: *handled = false; return GPM_OK;
    }
}

/* Every call passes here, and so does the poll for Ctrl-C, limits and the C stack. */
enum gpm_status plain_apply(struct session_core *core, value proc, const value *args, size_t n,
                            struct span at, value *out) {
    enum gpm_status st = core_poll(core, at);
    if (st != GPM_OK) return st;
    struct closure *clo = closure_of(proc);
    if (clo) return machine_call(core, clo, args, n, at, out);
    struct memo_proc *memo = memo_of(proc);
    bool handled = false;
    if (core->compiling) st = compile_apply(core, proc, args, n, at, out, &handled);
    if (st != GPM_OK || handled) return st;
    if (memo) return apply_memo(core, memo, args, n, at, out);
    if (!proc_class(proc, NULL)) {
        if (n || !core->names_action || !core->names_action(proc))
            return core_not_procedure(core, proc, at);
        *out = value_ref(proc); /* pass() is pass */
        return GPM_OK;
    }
    struct sp_call c = {.rng = core_rng(core)};
    st = core_check_call(core, &c, proc, args, n, at);
    if (st != GPM_OK) return st;
    st = apply_special(core, core_special(proc), args, n, at, out, &handled);
    if (handled) return st;
    if (c.cls->request) return apply_requesting(core, &c, at, out);
    if (!c.cls->simulate && core->model)
        return diag_raise(core->diags, DIAG_ACTION_IN_MODEL, at, "%s cannot be called in a model",
                          c.cls->name);
    if (!c.cls->simulate) return core->apply_op(core, c.cls, args, n, at, out);
    return core_place(core, sp_simulate(&c, out), at);
}

/* run(a) in a procedure of a model that a row calls for its value. Such procedures are functions:
 * what the row depends on was found by reading them (node_close_over), and random numbers are those
 * of the model. */
enum gpm_status plain_run_nested(struct session_core *core, const struct ast *a, struct frame *f,
                                 value *out) {
    struct nest n = {.world = core->model,
                     .depth = (uint16_t)(nest_level(core) - 1),
                     .stream = rng_u64(&core->model->rng)};
    return core->run_nested(core, &n, a->kids[1], f, out);
}

/* The machine keeps the names of a let form in the frame that is given. */
enum gpm_status plain_let(struct session_core *core, const struct ast *s, struct frame *f) {
    value v;
    enum gpm_status st = machine_eval(core, s, f, &v);
    if (st == GPM_OK) value_unref(v);
    return st;
}

/* Where a block of actions stands: before statement i, or in the action that it gave. */
struct block_place {
    struct frame *inner;
    uint32_t i;
    value action; /* owned; NIL: not begun */
};

static void pack_block_place(struct pack *p, void *ctx) {
    struct block_place *b = ctx;
    pack_frame(p, &b->inner);
    pack_u32(p, &b->i);
    pack_value(p, &b->action);
}

static enum gpm_status run_statement(struct session_core *core, const struct ast *s,
                                     struct block_place *b) {
    bool drops = s->kind != AST_BIND;
    value v;
    core->dropping = drops;
    place_hand(core);
    enum gpm_status st = core->run_action(core, b->action, drops ? s->span : s->kids[0]->span, &v);
    value_set_take(&b->action, NIL);
    if (st != GPM_OK) return st;
    if (drops)
        value_unref(v);
    else
        value_set_take(&b->inner->s[s->u.bind.slot].v, v);
    return st;
}

/* A block of actions, { x <- a; b }, in a frame of its own: each is evaluated to an action and run
 * before the next is looked at, so later ones see what earlier ones bound and did. The last is
 * evaluated and not run: that is left to the caller, so that a loop whose last action is itself
 * needs no stack. */
enum gpm_status plain_block(struct session_core *core, const struct ast *a, struct frame *f,
                            value *last, struct span *at) {
    struct block_place b = {.action = NIL};
    struct waypoint here = {PLACE_BLOCK, pack_block_place, &b, NULL, false};
    enum gpm_status st = GPM_OK;
    if (!place_enter(core, &here))
        b.inner = a->u.block.n_slots
                      ? frame_new(core, f, a->u.block.n_slots, a->u.block.slot_names, a->code)
                      : frame_ref(f);
    for (; st == GPM_OK && b.i < a->n; b.i++) {
        const struct ast *s = a->kids[b.i], *e = s->kind == AST_BIND ? s->kids[0] : s;
        if (s->kind == AST_LET || s->kind == AST_LETREC) {
            st = plain_let(core, s, b.inner);
            continue;
        }
        if (b.action.tag == V_NIL) {
            core_collect(core);
            st = place_point(core, &here, e->span);
            if (st == GPM_OK) st = plain_eval(core, e, b.inner, &b.action);
            if (st != GPM_OK) break;
            if (b.i + 1 == a->n) {
                *last = b.action;
                *at = e->span;
                break;
            }
        }
        st = run_statement(core, s, &b);
    }
    place_leave(core, &here);
    frame_unref(b.inner);
    return st;
}

/* The $-parts of a model expression, evaluated now, into a frame of their own that the expression
 * reads when it is traced. */
enum gpm_status plain_splice(struct session_core *core, const struct ast *model, struct frame *f,
                             struct frame **out) {
    struct frame *s = frame_new(core, f, model->u.model.n_splices, NULL, model->code);
    s->lexical = nest_level(core);
    for (uint32_t i = 0; i < model->u.model.n_splices; i++) {
        enum gpm_status st = plain_eval(core, model->u.model.splices[i]->kids[0], f, &s->s[i].v);
        if (st != GPM_OK) {
            s->s[i].v = NIL;
            frame_unref(s);
            return st;
        }
    }
    *out = s;
    return GPM_OK;
}

/* `(...): the expression as data, with the values of its $-parts in their places. */
static enum gpm_status eval_quasi(struct session_core *core, const struct ast *a, struct frame *f,
                                  value *out) {
    struct frame *s;
    enum gpm_status st = plain_splice(core, a, f, &s);
    if (st != GPM_OK) return st;
    *out = core_quote(core, a->kids[0], s);
    frame_unref(s);
    return GPM_OK;
}

enum gpm_status plain_leaf(struct session_core *core, const struct ast *a, struct frame *f,
                           value *out) {
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL: *out = value_ref(core_literal(core, a)->val); return GPM_OK;
    case AST_QUOTE:
        if (!core_quote_splices(core, a, f, out)) *out = value_ref(core_literal(core, a)->val);
        return GPM_OK;
    case AST_NAME: return machine_read(core, a, f, 0, out);
    case AST_LAMBDA: *out = closure_value(a, f); return GPM_OK;
    case AST_QUASI: return eval_quasi(core, a, f, out);
    case AST_UNQUOTE:
        *out = value_ref(frame_up(f, a->u.unquote.depth)->s[a->u.unquote.slot].v);
        return GPM_OK;
    case AST_BLOCK:
        if (!a->u.block.action) {
            *out = NIL;
            return GPM_OK;
        }
        return core->make_directive(core, a, f, out);
    case AST_DIRECTIVE: return core->make_directive(core, a, f, out);
    case AST_BIND:
        return diag_raise(core->diags, DIAG_BAD_BINDER, a->span,
                          "`<-` binds only inside a block or do(...)");
    default:
        return diag_raise(core->diags, DIAG_BAD_BINDER, a->span, "a statement cannot stand here");
    }
}

enum gpm_status plain_eval(struct session_core *core, const struct ast *a, struct frame *f,
                           value *out) {
    switch (a->kind) {
    case AST_BLOCK:
        if (a->u.block.action || !a->n) return plain_leaf(core, a, f, out);
        break;
    case AST_CALL:
    case AST_IF:
    case AST_TAG:
    case AST_TAG_OUT:
    case AST_MODEL: break;
    default: return plain_leaf(core, a, f, out);
    }
    return machine_eval(core, a, f, out);
}
