/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions, as runtime/core/plain.c and runtime/trace/eval.c evaluate them, on what is known
 * (check.h). A call of a procedure of the text is followed with what is known of its arguments; a
 * row applied to constants is computed, when that is no more than a few numbers.
 */
#include "front/session/check.h"
#include "runtime/core/plain.h"
#include "runtime/core/lookup.h"
#include "runtime/core/call_form.h"

#include <string.h>

enum { MAX_FOLLOWED = 40 };

static bool check_in_model(const struct checker *k) {
    return k->models > 0 || k->in_world;
}

/* ---- names ---- */

static struct checked_local *find_local(const struct checker *k, const struct sym *name) {
    for (size_t i = k->locals.n; i-- > k->floor;)
        if (k->locals.at[i].name == name) return &k->locals.at[i];
    return NULL;
}

static void push_local(struct checker *k, struct sym *name, value v_taken, bool loop) {
    struct checked_local l = {name, v_taken, k->models, loop};
    vec_push(&k->locals, l);
}

static void pop_locals(struct checker *k, size_t n) {
    while (k->locals.n > n) value_unref(vec_pop(&k->locals).v);
}

/* What the model assumes before this text: its value changes, but for procedures. */
static bool assumed_before(const struct checker *k, const struct sym *name, value *out) {
    struct cell *c = (struct cell *)world_find(&k->s->infer.model->p.at[0]->world, name);
    if (!c) return false;
    *out = c->val.tag == V_PROC ? value_ref(c->val) : guess_any();
    return true;
}

static bool from_model(const struct checker *k, const struct sym *name, value *out) {
    const struct global *g = check_global(&k->assumed, name);
    if (!g) return assumed_before(k, name, out);
    *out = g->twice ? guess_any() : value_ref(g->v); /* a directive keeps what it was made with */
    return true;
}

bool check_is_local(const struct checker *k, const struct sym *name) {
    return find_local(k, name);
}

bool check_is_assumed(const struct checker *k, const struct sym *name) {
    value v;
    bool assumed = k->computed_names || from_model(k, name, &v);
    if (assumed && !k->computed_names) value_unref(v);
    return assumed;
}

/* May it be bound by what is not looked at in order? */
static bool believed(const struct checker *k, const struct sym *name) {
    uint64_t key = MAP_PTR(name);
    bool model = check_in_model(k);
    if (k->unread || map_get(&k->inside, key) || (model && (k->computed_names || k->lent)))
        return true;
    return !k->certain && (!k->whole || map_get(&k->anywhere, key));
}

static value unbound(struct checker *k, const struct ast *a) {
    struct sym *name = a->u.name.sym;
    VEC(const char *) names = {0};
    size_t before = k->diags->list.n, n;
    const char **of_model;
    bool model = check_in_model(k);
    for (size_t i = 0; i < k->globals.n; i++) {
        const struct sym *s = k->globals.at[i]->name;
        if (model || !check_global(&k->assumed, s)) vec_push(&names, s->text);
    }
    n = model ? trace_names(k->s->infer.model->p.at[0], &of_model) : 0;
    for (size_t i = 0; i < n; i++) vec_push(&names, of_model[i]);
    if (model) mem_free(of_model);
    (void)!core_unbound(k->core, name, a->span, names.at, names.n);
    vec_release(&names);
    value v;
    bool assumed = !model && from_model(k, name, &v);
    if (assumed) value_unref(v);
    if (!model) session_help_unbound(k->s, k->instruction, assumed ? name : NULL);
    session_help_data(k->s, k->instruction);
    check_settle(k, before);
    return guess_any();
}

/* The order of core_global: the model's own, the program's, builtins; a procedure of the program
 * means its own definitions, save those of the library. */
static value look_global(struct checker *k, const struct ast *a) {
    struct sym *name = a->u.name.sym;
    const struct global *own = a->u.name.builtin ? NULL : check_global(&k->defined, name);
    struct define_slot *d =
        a->u.name.builtin || own ? NULL : map_get(&k->core->defines, MAP_PTR(name));
    bool kept = core_own_definition(a, own || d, d && d->library);
    value v;
    if (!a->u.name.builtin && check_in_model(k) && !kept && from_model(k, name, &v)) return v;
    bool in_order = k->certain && !check_in_model(k);
    if (own) return own->twice && !in_order ? guess_any() : value_ref(own->v);
    if (d) return value_ref(d->v);
    struct cell *c = map_get(&k->core->builtins, MAP_PTR(name));
    if (c) return value_ref(c->val);
    return believed(k, name) ? guess_any() : unbound(k, a);
}

static value look_name(struct checker *k, const struct ast *a) {
    const struct checked_local *l = a->u.name.builtin ? NULL : find_local(k, a->u.name.sym);
    value v;
    if (!l) return look_global(k, a);
    if (l->models < k->models && !l->loop && from_model(k, a->u.name.sym, &v)) {
        value_unref(v); /* of the two, the one that is bound when it runs */
        return guess_any();
    }
    return value_ref(l->v);
}

/* ---- calls ---- */

static void push_choice(struct checker *k, const struct sp_class *cls, struct span at) {
    struct checked_choice c = {
        .cls = cls, .at = at, .certain = k->certain, .top = k->top, .read = k->read};
    if (k->choices.n < 100000) vec_push(&k->choices, c);
}

static bool all_known(const value *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (guess_of(args[i]) || args[i].tag == V_PROC || is_absent(args[i])) return false;
    return true;
}

/* Rows that compute with numbers, and rearrange those of their arguments: no others are run. */
static bool computes(const struct sp_class *cls) {
    bool plain = cls->num || (cls->flags & (SP_LIFTS | SP_FOLDS | SP_ARRANGES));
    return plain && cls->simulate && !cls->request && !cls->special && !strstr(cls->sig, "count") &&
           !(cls->flags & (SP_RANDOM | SP_MAKER | SP_CALLS | SP_INFERENCE_ONLY));
}

static size_t size_of(value v) {
    size_t n = 0, parts = 0;
    const value *at = value_parts(v, &n);
    for (size_t i = 0; i < n && parts < 1000; i++) parts += 1 + size_of(at[i]);
    return v.tag == V_VECTOR ? v.u.vector->n : v.tag == V_MATRIX ? 1000 : parts;
}

/* A random row may refuse arguments that its signature takes: it is asked for a draw, twice, since
 * a draw can fail by chance. */
static bool refused(struct sp_call *c) {
    struct rng rng;
    size_t errors = 0, before = c->diags->list.n;
    if (!(c->cls->flags & SP_RANDOM) || !c->cls->num_sample || !all_known(c->args, c->n))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        value v = NIL;
        diags_rewind(c->diags, before);
        rng_init(&rng, 1, i, 0);
        c->rng = &rng;
        errors += sp_simulate(c, &v) == GPM_E_USER;
        value_unref(v);
    }
    return errors == 2;
}

/* Does arithmetic fail on an argument that is not a number, whatever the others are? Those are
 * taken to be 1. */
static bool hopeless(struct sp_call *c) {
    value *args = NEW_ARRAY(value, c->n + 1), v = NIL;
    bool found = false, wrong = false;
    for (size_t i = 0; i < c->n; i++) {
        const struct guess *g = guess_of(c->args[i]);
        bool truth = g && g->tags == 1u << V_BOOL;
        bool odd = g && !guess_may_be(c->args[i], V_NUM) && !guess_may_be(c->args[i], V_ARRAY) &&
                   !guess_may_be(c->args[i], V_MATRIX) && !guess_may_be(c->args[i], V_BOOL) &&
                   !(g->kind && !strcmp(g->kind, "kernel")) &&
                   (!guess_may_be(c->args[i], V_BOX) || g->kind);
        bool kept = odd || c->args[i].tag == V_STR;
        found |= kept || truth;
        args[i] = kept ? c->args[i] : truth ? value_bool(true) : value_num(1);
    }
    const value *all = c->args;
    c->args = args;
    if (found) wrong = sp_simulate(c, &v) == GPM_E_USER;
    value_unref(v);
    c->args = all;
    mem_free(args);
    return wrong;
}

static value apply_row(struct checker *k, struct sp_call *c, struct span at) {
    const struct sp_class *cls = c->cls;
    size_t before = k->diags->list.n, size = 0;
    value v = NIL;
    for (size_t i = 0; i < c->n; i++) size += size_of(c->args[i]);
    if (computes(cls) && all_known(c->args, c->n) && size < 1000) {
        if (sp_simulate(c, &v) == GPM_OK) return v;
        diag_place(k->diags, at);
        check_settle(k, before);
        return guess_any();
    }
    if (refused(c) || (computes(cls) && (cls->flags & SP_LIFTS) && hopeless(c))) {
        diag_place(k->diags, at);
        check_settle(k, before);
        return guess_any();
    }
    diags_rewind(k->diags, before);
    if (cls->flags & SP_RANDOM)
        push_choice(k, cls, at);
    else if (cls->request)
        push_choice(k, NULL, at);
    return guess_result(cls, c->args, c->n, at);
}

static value apply(struct checker *k, value op, const value *args, size_t n, struct span at);

/* The body with what is known of the arguments. A call inside itself gives nothing new. */
static value follow(struct checker *k, struct checked_proc *p, const value *args, struct span at) {
    const struct ast *l = p->lambda;
    if (p->busy) return guess_any();
    if (!p->closed || k->depth >= MAX_FOLLOWED || k->budget < l->span.end - l->span.start) {
        push_choice(k, NULL, at);
        return guess_any();
    }
    size_t floor = k->floor, base = k->locals.n;
    unsigned models = k->models;
    bool in_world = k->in_world;
    struct checked_call call = {l, at};
    k->budget -= l->span.end - l->span.start;
    k->in_world = check_in_model(k);
    k->models = p->models;
    k->floor = base;
    for (uint32_t i = 0; i < l->u.lambda.n_params; i++)
        push_local(k, l->u.lambda.params[i], value_ref(args[i]), false);
    vec_push(&k->calls, call);
    p->busy = p->walked = true;
    k->depth++;
    value v = check_expr(k, l->kids[0]);
    k->depth--;
    p->busy = false;
    (void)vec_pop(&k->calls);
    pop_locals(k, base);
    k->floor = floor;
    k->models = models;
    k->in_world = in_world;
    return v;
}

static value apply_closure(struct checker *k, const struct ast *l, const value *args, size_t n,
                           struct span at) {
    size_t before = k->diags->list.n;
    if (n != l->u.lambda.n_params) {
        (void)!core_wrong_arity(k->core, l, n, at);
        check_settle(k, before);
        return guess_any();
    }
    struct checked_proc *p = map_get(&k->procs, MAP_PTR(l));
    if (p) return follow(k, p, args, at);
    push_choice(k, NULL, at);
    return guess_any();
}

static value apply_primitive(struct checker *k, value op, const value *args, size_t n,
                             struct span at) {
    struct sp_call c = {0};
    size_t before = k->diags->list.n;
    if (core_check_call(k->core, &c, op, args, n, at) != GPM_OK) {
        check_settle(k, before);
        return guess_any();
    }
    const struct infer_op *o = infer_op_of(c.cls);
    if (o) {
        check_aim(k, o, args, n, at);
        check_label(k, o, args, n, at);
    }
    switch (core_special(op)) {
    case SPECIAL_MEM: return guess_of(args[0]) ? guess_any() : memo_value(args[0], 0);
    case SPECIAL_APPLY_FUNCTION:
        return n == 1 ? value_ref(args[0]) : apply(k, args[0], args + 1, n - 1, at);
    case SPECIAL_RUN:
    case SPECIAL_DEREF:
    case SPECIAL_EVAL: push_choice(k, NULL, at); return guess_any();
    default: break;
    }
    if (c.state) { /* made, by an earlier text: what it gives depends on statistics that will change
                    */
        push_choice(k, NULL, at);
        return guess_any();
    }
    return o ? guess_result(c.cls, args, n, at) : apply_row(k, &c, at);
}

static value apply(struct checker *k, value op, const value *args, size_t n, struct span at) {
    const struct guess *g = guess_of(op);
    struct closure *c = closure_of(op);
    struct memo_proc *m = memo_of(op);
    size_t before = k->diags->list.n;
    if (m) {
        struct span read = k->read;
        if (read.unit == NO_SPAN_UNIT) k->read = at;
        value v = apply(k, m->proc, args, n, at);
        k->read = read;
        return v;
    }
    if (c) return apply_closure(k, c->lambda, args, n, at);
    if (proc_class(op, NULL)) return apply_primitive(k, op, args, n, at);
    bool named = !n && !check_in_model(k) && k->core->names_action && k->core->names_action(op);
    if (named) return value_ref(op);
    if (g ? !guess_may_be(op, V_PROC) : true) {
        (void)!core_not_procedure(k->core, op, at);
        check_settle(k, before);
    } else
        push_choice(k, NULL, at);
    return guess_any();
}

/* Is the action that this argument is run at once, given the numbers before it? repeat(n, a). */
static bool runs_it(const value *args, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (args[i].tag == V_NUM ? !(args[i].u.num >= 1) : guess_of(args[i]) != NULL) return false;
    return true;
}

static bool is_called(value op, const char *name) {
    const struct sp_class *cls = proc_class(op, NULL);
    return cls && !strcmp(cls->name, name);
}

static void look_args(struct checker *k, const struct ast *a, value op,
                      const struct call_form *form, value *args) {
    bool runs = k->runs, elsewhere = is_called(op, "in_model");
    const struct sp_class *cls = proc_class(op, NULL);
    bool of_actions = cls && (infer_op_of(cls) || cls->special == SPECIAL_RUN);
    k->lent += elsewhere;
    for (size_t i = 0; i + 1 < a->n; i++) {
        size_t at = call_place(form, i);
        k->runs =
            cls && cls->special == SPECIAL_RUN ? true : runs && of_actions && runs_it(args, i);
        args[at] = check_expr(k, a->kids[i + 1]);
    }
    k->runs = runs;
    k->lent -= elsewhere;
}

/* action(e): e is evaluated when it runs. */
static value look_later(struct checker *k, const struct ast *a, value op) {
    bool certain = k->certain;
    k->certain &= k->runs;
    for (uint32_t i = 1; i < a->n; i++) value_unref(check_expr(k, a->kids[i]));
    k->certain = certain;
    return guess_result(proc_class(op, NULL), NULL, 0, a->span);
}

static value look_placed(struct checker *k, const struct ast *a, value op) {
    bool proc = op.tag == V_PROC;
    struct call_form form = {.n = a->n - 1, .width = a->n - 1}, as_written = form;
    size_t before = k->diags->list.n;
    bool good = !proc || call_form_of(k->core, a, op, &form) == GPM_OK;
    if (!good) {
        check_settle(k, before);
        form = as_written;
    }
    value *args = NEW_ARRAY(value, form.width + 1), v;
    for (size_t i = 0; i < form.width; i++) args[i] = ABSENT;
    look_args(k, a, op, &form, args);
    v = good ? apply(k, op, args, form.n, a->span) : guess_any();
    for (size_t i = 0; i < form.width; i++) value_unref(args[i]);
    mem_free(args);
    call_form_release(&form);
    return v;
}

static value look_call(struct checker *k, const struct ast *a) {
    value op = call_operator(k->core, a, check_expr(k, a->kids[0]), check_in_model(k)), v;
    enum sp_special which = core_special(op);
    if (which == SPECIAL_ENV)
        v = guess_any();
    else if (which == SPECIAL_ACTION)
        v = look_later(k, a, op);
    else
        v = look_placed(k, a, op);
    value_unref(op);
    return v;
}

/* ---- procedures ---- */

static void walk_body(struct checker *k, struct checked_proc *p) {
    const struct ast *l = p->lambda;
    size_t base = k->locals.n, floor = k->floor;
    unsigned models = k->models;
    bool certain = k->certain, runs = k->runs;
    if (p->closed) {
        k->floor = base;
        k->models = p->models;
    }
    k->certain = false;
    k->runs = true;
    for (uint32_t i = 0; i < l->u.lambda.n_params; i++)
        push_local(k, l->u.lambda.params[i], guess_any(), false);
    p->busy = p->walked = true;
    size_t choices = k->choices.n;
    value_unref(check_expr(k, l->kids[0]));
    k->choices.n = choices;
    p->busy = false;
    pop_locals(k, base);
    k->certain = certain;
    k->runs = runs;
    k->floor = floor;
    k->models = models;
}

void check_procedures(struct checker *k) {
    for (size_t i = 0; i < k->waiting.n; i++)
        if (!k->waiting.at[i]->walked) walk_body(k, k->waiting.at[i]);
}

static value look_lambda(struct checker *k, const struct ast *a) {
    if (!map_get(&k->procs, MAP_PTR(a))) {
        struct checked_proc *p = NEW(struct checked_proc);
        p->lambda = a;
        p->models = k->models;
        p->closed = k->locals.n == 0;
        map_put(&k->procs, MAP_PTR(a), p);
        if (p->closed)
            vec_push(&k->waiting, p); /* a call gives more information */
        else
            walk_body(k, p);
    }
    return closure_value(a, NULL);
}

/* ---- the other expressions ---- */

/* What the program or the model binds is unknown from here on, but for procedures. */
static void doubt_globals(struct checker *k, const struct ast *a) {
    if (!a) return;
    if (a->kind == AST_NAME && !a->u.name.builtin) {
        const struct global *g = check_global(&k->assumed, a->u.name.sym);
        if (!g) g = check_global(&k->defined, a->u.name.sym);
        if (g && g->v.tag != V_PROC) push_local(k, a->u.name.sym, guess_any(), false);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) doubt_globals(k, a->kids[i]);
}

/* The branch that a known condition leaves out. These values do not come there, so what they would
 * do there is no fault (y[t] under t >= 0, of t = -1): locals and what the condition reads are
 * unknown in it. */
static void look_left_out(struct checker *k, const struct ast *condition,
                          const struct ast *branch) {
    size_t choices = k->choices.n, base = k->locals.n;
    bool certain = k->certain;
    for (size_t i = k->floor; i < base; i++) {
        struct checked_local *l = &k->locals.at[i];
        value seen = l->v.tag == V_PROC ? value_ref(l->v) : guess_any();
        push_local(k, l->name, seen, l->loop);
        vec_last(&k->locals).models = k->locals.at[i].models;
    }
    doubt_globals(k, condition);
    k->certain = false;
    value_unref(check_expr(k, branch));
    k->choices.n = choices;
    k->certain = certain;
    pop_locals(k, base);
}

static value look_if(struct checker *k, const struct ast *a) {
    value c = check_expr(k, a->kids[0]), v;
    bool truth = false, known = !guess_of(c), certain = k->certain;
    size_t before = k->diags->list.n;
    if (known || !(guess_may_be(c, V_BOOL) || guess_may_be(c, V_NUM))) {
        if (core_truth(k->core, c, a->kids[0]->span, &truth) != GPM_OK) {
            check_settle(k, before);
            known = false;
        }
    }
    value_unref(c);
    if (known) {
        /* what a literal condition leaves out was left out on purpose */
        if (a->kids[0]->kind != AST_BOOL) look_left_out(k, a->kids[0], a->kids[truth ? 2 : 1]);
        return check_expr(k, a->kids[truth ? 1 : 2]);
    }
    k->certain = false;
    value yes = check_expr(k, a->kids[1]), no = check_expr(k, a->kids[2]);
    k->certain = certain;
    v = guess_either(yes, no);
    value_unref(yes);
    value_unref(no);
    return v;
}

/* A statement of a block of actions, and what infer is given. */
static void must_act(struct checker *k, value v, struct span at) {
    const struct guess *g = guess_of(v);
    size_t before = k->diags->list.n;
    bool may = g ? guess_may_be(v, V_BOX) &&
                       (!g->kind || !strcmp(g->kind, "action") || !strcmp(g->kind, "subproblem"))
                 : action_of(v) || subproblem_of(v);
    if (may) return;
    (void)!infer_not_action(k->diags, v, at);
    check_settle(k, before);
}

static void look_let(struct checker *k, const struct ast *s) {
    size_t n = s->u.bind.n_names;
    if (s->kind == AST_LETREC) {
        size_t base = k->locals.n;
        for (size_t i = 0; i < n; i++) push_local(k, s->u.bind.names[i], guess_any(), false);
        for (uint32_t i = 0; i < s->n; i++) {
            value v = check_expr(k, s->kids[i]);
            value_set_take(&k->locals.at[base + i].v, v);
        }
        return;
    }
    value v = check_expr(k, s->kids[0]);
    if (s->kind == AST_BIND) must_act(k, v, s->kids[0]->span);
    if (s->kind == AST_LET && n == 1) {
        push_local(k, s->u.bind.names[0], v, false);
        return;
    }
    value_unref(v);
    for (size_t i = 0; i < n; i++) push_local(k, s->u.bind.names[i], guess_any(), false);
}

static value look_block(struct checker *k, const struct ast *a) {
    size_t base = k->locals.n;
    bool certain = k->certain, runs = k->runs;
    value v = NIL;
    if (a->u.block.action) {
        k->certain &= runs;
        k->runs = true;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        const struct ast *s = a->kids[i];
        if (s->kind == AST_LET || s->kind == AST_LETREC || s->kind == AST_BIND)
            look_let(k, s);
        else {
            value_set_take(&v, check_expr(k, s));
            if (a->u.block.action) must_act(k, v, s->span);
        }
    }
    pop_locals(k, base);
    k->certain = certain;
    k->runs = runs;
    if (!a->u.block.action) return v;
    value_unref(v);
    return guess_any();
}

static value look_tag(struct checker *k, const struct ast *a) {
    value scope = check_expr(k, a->kids[0]);
    struct checked_tag t = {.tag = a, .scope = scope, .from = k->choices.n};
    if (a->kind == AST_TAG && a->kids[1]) value_unref(check_expr(k, a->kids[1]));
    struct span read = k->read;
    k->read = NO_SPAN;
    value v = check_expr(k, a->kids[a->n - 1]);
    k->read = read;
    t.to = k->choices.n;
    if (a->kind == AST_TAG && !guess_of(scope) && k->tags.n < 100000)
        vec_push(&k->tags, t); /* keeps the scope */
    else
        value_unref(scope);
    return v;
}

static value look_unquote(struct checker *k, const struct ast *a) {
    unsigned models = k->models;
    bool in_world = k->in_world;
    k->models = 0;
    k->in_world = false;
    value v = check_expr(k, a->kids[0]);
    k->models = models;
    k->in_world = in_world;
    if (v.tag != V_NUM && v.tag != V_BOOL && v.tag != V_STR && v.tag != V_PROC)
        value_set_take(&v, guess_any()); /* may be code */
    return v;
}

static void look_parts_of_quasi(struct checker *k, const struct ast *a) {
    for (uint32_t i = 0; i < a->u.model.n_splices; i++)
        value_unref(look_unquote(k, a->u.model.splices[i]));
}

static value look_model(struct checker *k, const struct ast *a) {
    k->models++;
    value v = check_expr(k, a->kids[0]);
    k->models--;
    return v;
}

static void bind_assumed(struct checker *k, const struct ast *a, value v) {
    bool happens = k->certain && k->runs && !k->removes && !k->lent && !check_in_model(k);
    for (uint32_t i = 0; i < a->u.dir.n_names; i++) {
        struct sym *name = a->u.dir.names[i];
        const struct global *g = check_global(&k->assumed, name);
        size_t before = k->diags->list.n;
        if (g && happens && g->first.unit != NO_SPAN_UNIT) {
            (void)!trace_name_taken(k->diags, name, a->span, g->first);
            check_settle(k, before);
        }
        check_bind(k, &k->assumed, name,
                   a->u.dir.n_names == 1 && k->certain ? value_ref(v) : guess_any(),
                   happens ? a->kids[0]->kids[0]->span : NO_SPAN);
    }
}

static value look_directive(struct checker *k, const struct ast *a) {
    enum directive d = a->u.dir.kind;
    bool certain = k->certain, runs = k->runs;
    size_t choices = k->choices.n;
    value first = NIL, second = NIL;
    if (a->u.dir.label_expr) value_unref(check_expr(k, a->u.dir.label_expr));
    if (a->u.dir.name_expr) value_unref(check_expr(k, a->u.dir.name_expr));
    for (uint32_t i = 0; i < a->n; i++) {
        if (!a->kids[i]) continue;
        bool model = a->kids[i]->kind == AST_MODEL;
        k->certain = certain && (!model || runs);
        k->runs = d == DIR_INFER && runs;
        value v = model ? look_model(k, a->kids[i]) : check_expr(k, a->kids[i]);
        value_set_take(i ? &second : &first, v);
    }
    k->runs = runs;
    k->certain = certain;
    bool keeps = d == DIR_ASSUME || d == DIR_PREDICT || d == DIR_PREDICT_ALL || d == DIR_OBSERVE;
    for (size_t i = choices; i < k->choices.n && !keeps; i++) k->choices.at[i].fixed = true;
    if (d == DIR_ASSUME || d == DIR_OBSERVE)
        check_reads(k, a->kids[0]->kids[0], d == DIR_OBSERVE && a->n == 2);
    if (d == DIR_ASSUME) bind_assumed(k, a, first);
    k->certain = certain && runs;
    if (d == DIR_INFER && a->n) must_act(k, first, a->kids[0]->span);
    if ((d == DIR_OBSERVE || d == DIR_FORCE) && a->n == 2)
        check_observation(k, a->kids[0]->kids[0], first, second);
    k->certain = certain;
    value_unref(first);
    value_unref(second);
    return guess_any();
}

static bool has_unquote(const struct ast *a) {
    bool found = a->kind == AST_UNQUOTE;
    for (uint32_t i = 0; i < a->n && !found; i++) found = a->kids[i] && has_unquote(a->kids[i]);
    return found;
}

value check_expr(struct checker *k, const struct ast *a) {
    const char here = 0;
    if (k->core->stack_limit && &here < k->core->stack_limit) return guess_any();
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL: return value_ref(core_literal(k->core, a)->val);
    case AST_QUOTE: return has_unquote(a) ? guess_any() : value_ref(core_literal(k->core, a)->val);
    case AST_NAME: return look_name(k, a);
    case AST_CALL: return look_call(k, a);
    case AST_LAMBDA: return look_lambda(k, a);
    case AST_IF: return look_if(k, a);
    case AST_BLOCK: return look_block(k, a);
    case AST_TAG:
    case AST_TAG_OUT: return look_tag(k, a);
    case AST_QUASI: look_parts_of_quasi(k, a); return guess_any();
    case AST_UNQUOTE: return look_unquote(k, a);
    case AST_MODEL: return look_model(k, a);
    case AST_DIRECTIVE: return look_directive(k, a);
    default: return guess_any();
    }
}
