/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions: values that, when run, change the model. Building one evaluates its arguments and the
 * unquotes of its model expressions; nothing else happens until it is run.
 *
 * Running: action_run polls, notes the place in the program (infer_state.at, for messages) and
 * announces the kind of change to the guard (guard.c). Then it calls the operator's row, the
 * untraced evaluator (blocks), or directive_run, which applies a directive to every particle. A
 * directive succeeds for all particles or for none. */
#include "runtime/core/nest.h"
#include "inference/run/infer.h"
#include "inference/run/infer_pack.h"
#include "inference/run/profile.h"

#include "language/rows/protocol/guess.h"
#include "runtime/core/lookup.h"
#include "runtime/core/call_form.h"

static void action_release(struct box *b) {
    struct action *a = (struct action *)b;
    for (size_t i = 0; i < a->n; i++) value_unref(a->args[i]);
    mem_free(a->args);
    for (size_t i = 0; i < a->n_splices; i++) frame_unref(a->splices[i]);
    mem_free(a->splices);
    frame_unref(a->frame);
    value_unref(a->val);
    value_unref(a->label);
    value_unref(a->name);
    if (a->ast) code_unref(a->ast->code);
}

static void action_print(const struct box *b, struct buf *out) {
    const struct action *a = (const struct action *)b;
    buf_printf(out, "<action%s%s>", a->op ? " " : "", a->op ? a->op->name : "");
}

static void action_visit(struct box *b, struct visitor *v) {
    struct action *a = (struct action *)b;
    for (size_t i = 0; i < a->n; i++) v->value(v, a->args[i]);
    for (size_t i = 0; i < a->n_splices; i++) v->frame(v, a->splices[i]);
    v->frame(v, a->frame);
    v->value(v, a->val);
    v->value(v, a->label);
    v->value(v, a->name);
}

const struct box_class action_class = {.name = "action",
                                       .size = sizeof(struct action),
                                       .copies = true,
                                       .release = action_release,
                                       .print = action_print,
                                       .visit = action_visit,
                                       .pack = action_pack};

struct action *action_of(value v) {
    return v.tag == V_BOX && v.u.box->cls == &action_class ? (struct action *)v.u.box : NULL;
}

static struct action *action_new(enum action_kind kind, struct span at) {
    struct action *a = box_new(&action_class);
    a->kind = kind;
    a->at = at;
    return a;
}

/* The value of a call of an operator. Rows with OP_PLAIN give their value at once. Other rows build
 * an action; the signature has checked its arguments, and it may run any number of times. */
enum gpm_status action_make_op(struct session_core *core, const struct sp_class *cls,
                               const value *args, size_t n, struct span at, value *out) {
    const struct infer_op *op = infer_op_of(cls);
    if (!op)
        return diag_raise(core->diags, DIAG_ACTION_IN_MODEL, at, "%s cannot be called here",
                          cls->name);
    if (op->flags & OP_PLAIN) {
        struct infer_state *x = infer_of(core);
        struct action now = {.op = op, .args = (value *)args, .n = n};
        struct span outer = x->at;
        x->at = at;
        *out = NIL;
        enum gpm_status st = core_place(core, op->run(x, &now, out), at);
        x->at = outer;
        return st;
    }
    struct action *a = action_new(ACTION_OP, at);
    a->op = op;
    a->args = NEW_ARRAY(value, n + 1);
    a->n = n;
    for (size_t i = 0; i < n; i++) a->args[i] = value_ref(args[i]);
    *out = value_box(V_BOX, &a->box);
    return GPM_OK;
}

enum gpm_status action_count(struct infer_state *x, const struct action *a, size_t i,
                             const char *name, double most, size_t *out) {
    value v = action_arg(a, i);
    if (is_absent(v)) return GPM_OK;
    if (v.u.num > most)
        return infer_error(x, DIAG_DOMAIN, "%s: %s is at most %.0f, got %g", a->op->name, name,
                           most, v.u.num);
    *out = (size_t)v.u.num;
    return GPM_OK;
}

bool action_named(value v) {
    struct action *a = action_of(v);
    return a && a->kind == ACTION_OP && (a->op->flags & OP_VALUE);
}

/* Evaluates only the $-parts of model expressions here, each into its own frame (splices). Other
 * operands (the observed value) are evaluated now. */
static enum gpm_status build_directive(struct session_core *core, struct action *d,
                                       const struct ast *a, struct frame *f) {
    enum gpm_status st = GPM_OK;
    d->splices = NEW_ARRAY(struct frame *, a->n + 1);
    for (uint32_t i = 0; i < a->n && st == GPM_OK; i++) {
        if (a->kids[i] && a->kids[i]->kind == AST_MODEL) {
            st = plain_splice(core, a->kids[i], f, &d->splices[d->n_splices]);
            if (st == GPM_OK) d->n_splices++;
        } else if (a->kids[i])
            st = plain_eval(core, a->kids[i], f, &d->val);
    }
    if (st == GPM_OK && a->u.dir.label_expr)
        st = plain_eval(core, a->u.dir.label_expr, f, &d->label);
    if (st == GPM_OK && a->u.dir.name_expr) st = plain_eval(core, a->u.dir.name_expr, f, &d->name);
    return st;
}

enum gpm_status action_make(struct session_core *core, const struct ast *a, struct frame *f,
                            value *out) {
    enum action_kind kind = a->kind == AST_BLOCK  ? ACTION_BLOCK
                            : a->kind == AST_CALL ? ACTION_EVAL
                                                  : ACTION_DIRECTIVE;
    struct action *d = action_new(kind, a->span);
    d->ast = a;
    code_ref(a->code);
    enum gpm_status st = GPM_OK;
    if (kind == ACTION_DIRECTIVE)
        st = build_directive(core, d, a, f);
    else
        d->frame = frame_ref(f);
    if (kind == ACTION_EVAL && a->n != 2)
        st = diag_raise(core->diags, DIAG_ARITY, a->span, "action takes 1 argument, got %u",
                        a->n - 1);
    value v = value_box(V_BOX, &d->box);
    if (st == GPM_OK)
        *out = v;
    else
        value_unref(v);
    return st;
}

/* Directives that do not change the model. */
static bool only_reads(const struct action *a) {
    enum directive k = a->ast->u.dir.kind;
    return k == DIR_INFER || k == DIR_SAMPLE || k == DIR_SAMPLE_ALL || k == DIR_COLLECT ||
           k == DIR_EXTRACT_STATS || k == DIR_EXACT || k == DIR_CALL_BACK;
}

static enum gpm_status guard(struct infer_state *x, const struct action *a) {
    bool op = a->kind == ACTION_OP, steps = op && (a->op->flags & OP_STEPS);
    if (a->kind == ACTION_DIRECTIVE && a->ast->u.dir.kind == DIR_INFER) return GPM_OK;
    if (op && !steps && !(a->op->flags & OP_ATOMIC)) guard_whole(x, false);
    bool changes = op ? !steps && !(a->op->flags & OP_COMBINES)
                      : a->kind == ACTION_DIRECTIVE && !only_reads(a);
    return guard_action(x, changes, !op || (a->op->flags & OP_SHARED));
}

/* Does it leave choices that are no longer draws of the prior? */
static bool op_moves(const struct infer_op *op) {
    return (op->flags & (OP_STEPS | OP_MOVES)) || op->run == infer_steps;
}

static enum gpm_status directive_run(struct infer_state *x, struct action *a, bool dropped,
                                     value *out);

/* First the guard, then infer_close for a pending detach, then the action. */
static enum gpm_status run_kind(struct infer_state *x, struct action *a, bool dropped, value *out) {
    enum gpm_status guarded = guard(x, a);
    if (guarded != GPM_OK) return guarded;
    switch (a->kind) {
    case ACTION_OP:
        if (!(a->op->flags & OP_OPEN)) {
            enum gpm_status st = infer_close(x, true);
            if (st != GPM_OK) return st;
        }
        *out = NIL;
        if (!(a->op->flags & OP_SHARED)) guarded = model_whole(x);
        if (guarded != GPM_OK) return guarded;
        x->model->begun |= op_moves(a->op) && x->model->p.at[0]->choices.n;
        x->dropped = dropped;
        if ((a->op->flags & OP_RESUMES) || a->op->run == infer_steps) place_hand(x->core);
        return core_place(x->core, a->op->run(x, a, out), a->at);
    case ACTION_BLOCK: break; /* continues in another action */
    case ACTION_EVAL: return plain_eval(x->core, a->ast->kids[1], a->frame, out);
    case ACTION_DIRECTIVE: return directive_run(x, a, dropped, out);
    }
    return GPM_E_ARG;
}

/* Can the value of an action inside a run depend on random numbers? Actions that pass on results of
 * others leave the answer to those. */
static bool tells_draws(const struct action *a, value given) {
    if (given.tag == V_NIL || a->kind == ACTION_BLOCK || a->kind == ACTION_EVAL) return false;
    if (a->kind == ACTION_OP) return !(a->op->flags & OP_EXACT);
    return a->ast->u.dir.kind != DIR_INFER && a->ast->u.dir.kind != DIR_EXACT;
}

enum gpm_status infer_not_action(struct diags *d, value v, struct span at) {
    diag_raise(d, DIAG_NOT_ACTION, at, "%s is a %s, not an inference action",
               guess_of(v) ? "this" : SHOW(v), value_type_name(v));
    return diag_set_help(d, v.tag == V_NIL ? "print and the like run at once and give no action: "
                                             "write action(print(x))"
                                           : "return(v) makes an action that gives the value v");
}

/* A block and infer continue with another action (*goes_on): *out is that action, owned, and *at
 * its place. Other actions give their value. */
static enum gpm_status run_or_go_on(struct infer_state *x, value v, bool dropped, bool *goes_on,
                                    struct span *at, value *out) {
    struct action *a = action_of(v);
    struct session_core *core = x->core;
    *goes_on = false;
    if (subproblem_of(v)) { /* s <- select(scope, one) picks the block */
        if (core->nest) core->nest->drawn = true;
        enum gpm_status st = model_whole(x);
        return st == GPM_OK ? subproblem_settle(x, v, out) : st;
    }
    if (!a) return infer_not_action(core->diags, v, *at);
    enum gpm_status st = core_poll(core, *at);
    x->at = a->at.unit == NO_SPAN_UNIT ? *at : a->at;
    if (st != GPM_OK) return st;
    if (a->kind == ACTION_DIRECTIVE && a->ast->u.dir.kind == DIR_INFER) {
        *out = value_ref(a->val);
        *at = a->at;
        *goes_on = true;
        return GPM_OK;
    }
    if (a->kind == ACTION_BLOCK) {
        st = guard(x, a);
        *goes_on = true;
        place_hand(core);
        return st == GPM_OK ? plain_block(core, a->ast, a->frame, out, at) : st;
    }
    struct profile *watching = x->profile; /* the action may start or stop profiling */
    bool watched = watching && profile_enter(watching, a);
    st = run_kind(x, a, dropped, out);
    if (watched) profile_leave(watching);
    if (st == GPM_OK && core->nest && !dropped) core->nest->drawn |= tells_draws(a, *out);
    return st;
}

/* The place of a running action, before the action it has reached. */
struct action_place {
    value v; /* owned */
    struct span at;
    bool dropped;
};

static void pack_action_place(struct pack *p, void *ctx) {
    struct action_place *a = ctx;
    pack_value(p, &a->v);
    pack_span(p, &a->at);
    pack_bool(p, &a->dropped);
}

/* Holds the action, since the program may drop its last reference while it runs. */
enum gpm_status action_run(struct session_core *core, value v, struct span at, value *out) {
    struct infer_state *x = infer_of(core);
    struct span outer = x->at;
    struct action_place a = {NIL, at, core->dropping};
    struct waypoint here = {PLACE_ACTION, pack_action_place, &a, NULL, false};
    enum gpm_status st = GPM_OK;
    core->dropping = false;
    bool resumed = place_enter(core, &here);
    if (!resumed) a.v = value_ref(v);
    for (bool goes_on = true; goes_on; resumed = false) {
        st = resumed ? GPM_OK : place_point(core, &here, a.at);
        if (st == GPM_OK) st = run_or_go_on(x, a.v, a.dropped, &goes_on, &a.at, out);
        core->dropping = false;
        value_unref(a.v);
        if (st != GPM_OK) break;
        a.v = *out;
    }
    place_leave(core, &here);
    x->at = outer;
    return st;
}

/* Directives, per particle. */

enum gpm_status infer_label(struct infer_state *x, value v, struct sym **out) {
    if (v.tag == V_SYM && v.u.sym)
        *out = v.u.sym;
    else if (v.tag == V_STR)
        *out = sym_intern(x->core->syms, v.u.str->text, v.u.str->len);
    else if (v.tag == V_NUM || v.tag == V_ATOM) {
        struct buf b = BUF_INIT;
        buf_puts(&b, "_");
        buf_number(&b, v.u.num);
        *out = sym_cstr(x->core->syms, b.data);
        buf_release(&b);
    } else
        return infer_error(x, DIAG_TYPE, "a label must be a symbol or a string, not a %s",
                           value_type_name(v));
    return GPM_OK;
}

/* A directive with its label and names evaluated. */
struct one_run {
    const struct action *a;
    struct sym *label;
    struct sym *const *names;
    size_t n_names;
};

static enum gpm_status run_one(const struct one_run *r, struct trace *t, value *out) {
    const struct ast *model = r->a->ast->kids[0]->kids[0];
    struct frame *f = r->a->splices[0];
    double w;
    enum gpm_status st;
    switch (r->a->ast->u.dir.kind) {
    case DIR_ASSUME:
        st = trace_assume(t, r->names, r->n_names, r->label, model, f, out);
        if (st == GPM_E_USER && vec_last(&t->core->diags->list)->code == DIAG_DUPLICATE_NAME)
            vec_last(&t->core->diags->list)->at = r->a->at; /* the name, not the expression */
        return st;
    case DIR_PREDICT:
    case DIR_PREDICT_ALL: return trace_predict(t, r->label, model, f, out);
    case DIR_SAMPLE:
    case DIR_SAMPLE_ALL: return trace_sample(t, &model, &f, 1, out);
    case DIR_OBSERVE: st = trace_observe(t, r->label, model, f, r->a->val, &w); break;
    default: st = trace_force(t, model, f, r->a->val, &w); break;
    }
    if (st != GPM_OK) return st;
    t->log_weight += w;
    *out = value_num(w);
    return GPM_OK;
}

/* Does the expression apply a distribution? Then the choice that gets the value exists only with
 * the directive. */
static bool makes_its_choice(const struct one_run *r, struct trace *t) {
    const struct ast *a = r->a->ast->kids[0]->kids[0];
    struct cell *cell;
    if (a->kind != AST_CALL || a->kids[0]->kind != AST_NAME || a->kids[0]->u.name.depth >= 0)
        return false;
    const value *op = core_global(t->core, &t->world, a->kids[0], NULL, &cell);
    const struct sp_class *cls = op ? proc_class(*op, NULL) : NULL;
    return cls && (cls->flags & SP_RANDOM);
}

/* Does it change results of earlier directives: constrain an existing choice, or reuse the name of
 * a frozen directive? Then removing its record does not undo it. */
static bool changes_what_stands(const struct one_run *r, struct trace *t) {
    enum directive kind = r->a->ast->u.dir.kind;
    if (kind == DIR_OBSERVE || kind == DIR_FORCE) return !makes_its_choice(r, t);
    bool again = false;
    for (size_t i = 0; kind == DIR_ASSUME && i < r->n_names; i++)
        again |= world_find(&t->world, r->names[i]) != NULL;
    return again;
}

/* Runs on each particle in turn, with that particle's random stream. If one fails, the records made
 * on the particles before it are removed. The result is an array with one value per particle. */
static enum gpm_status run_on_particles(struct infer_state *x, void *ctx, value *out) {
    const struct one_run *r = ctx;
    struct model *m = x->model;
    uint64_t *before = NEW_ARRAY(uint64_t, m->p.n + 1);
    size_t i = 0;
    enum gpm_status st = GPM_OK;
    *out = value_array_new(m->p.n);
    for (; i < m->p.n && st == GPM_OK; i++) {
        before[i] = m->p.at[i]->n_directives;
        st = run_one(r, m->p.at[i], &out->u.array->at[i]);
    }
    for (size_t k = 0; st != GPM_OK && k + 1 < i; k++)
        while (m->p.at[k]->n_directives > before[k]) trace_undo_last(m->p.at[k]);
    if (st != GPM_OK) value_set_take(out, NIL);
    mem_free(before);
    return st;
}

/* sample: on one particle, drawn by weight. */
static enum gpm_status run_on_one(struct infer_state *x, const struct one_run *r, value *out) {
    const struct model *m = x->model;
    size_t i = 0, *count = mem_zalloc(m->p.n * sizeof *count);
    if (m->p.n > 1) infer_draw_particles(x, model_log_weight(m), false, 1, count);
    while (m->p.n > 1 && !count[i]) i++;
    mem_free(count);
    model_tell_impossible(x);
    return run_one(r, m->p.at[i], out);
}

/* collect, extract_stats and call_back only read; other directives change every particle. Observe
 * and force multiply the particle's weight (trace.h). predict and assume return the value in the
 * first particle, the others one value per particle. */
static enum gpm_status directive_run(struct infer_state *x, struct action *a, bool dropped,
                                     value *out) {
    const struct ast *d = a->ast;
    enum directive kind = d->u.dir.kind;
    struct one_run r = {a, d->u.dir.label, d->u.dir.names, d->u.dir.n_names};
    struct sym *name;
    enum gpm_status st = infer_close(x, true);
    if (st != GPM_OK) return st;
    if (x->each_particle && (kind == DIR_ASSUME || kind == DIR_OBSERVE || kind == DIR_PREDICT ||
                             kind == DIR_PREDICT_ALL))
        return infer_error(x, DIAG_PARTICLES,
                           "a modelling directive cannot run inside for_each_particle: all "
                           "particles share their directives");
    if (kind == DIR_EXTRACT_STATS)
        return trace_stats(x->model->p.at[0], d->kids[0]->kids[0], a->splices[0], a->at, out);
    if (kind == DIR_COLLECT) return collect_run(x, a, dropped, out);
    if (kind == DIR_EXACT) return exact_run(x, a, out);
    if (a->label.tag != V_NIL) st = infer_label(x, a->label, &r.label);
    if (st == GPM_OK && kind == DIR_CALL_BACK) return callback_run(x, a, r.label, out);
    if (st == GPM_OK && a->name.tag != V_NIL) {
        st = infer_label(x, a->name, &name);
        r.names = &name;
        r.n_names = 1;
    }
    if (st == GPM_OK && kind == DIR_SAMPLE) return run_on_one(x, &r, out);
    x->model->looked_at &= kind == DIR_SAMPLE_ALL;
    bool may_redraw = kind == DIR_ASSUME || kind == DIR_OBSERVE;
    x->model->begun |= kind == DIR_FORCE;
    if (st == GPM_OK && changes_what_stands(&r, x->model->p.at[0])) st = guard_particles(x);
    if (st == GPM_OK)
        st = may_redraw ? redraw_run(x, run_on_particles, &r, out) : run_on_particles(x, &r, out);
    bool first = kind == DIR_PREDICT || kind == DIR_ASSUME;
    if (st == GPM_OK && first) value_set_take(out, value_ref(out->u.array->at[0]));
    if (st == GPM_OK && kind == DIR_ASSUME && !dropped) /* it may outlive the model */
        value_set_take(out, trace_export(x->model->p.at[0], *out));
    return st;
}
