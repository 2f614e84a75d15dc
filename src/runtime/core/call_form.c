/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls; see call_form.h. */
#include "runtime/core/call_form.h"

#include "language/lang/elsewhere.h"
#include "language/rows/protocol/guess.h"

#include <string.h>

/* Rows of made procedures are in no table. The session parses their signatures when first needed
 * and stores them with the procedure. */
static const struct sp_sig *signature(struct session_core *core, value op) {
    struct sp_proc *p = (struct sp_proc *)op.u.box;
    if (p->sig) return p->sig;
    struct sp_sig *sig = map_get(&core->sigs, MAP_PTR(p->cls));
    if (!sig) {
        sig = NEW(struct sp_sig);
        sp_sig_parse(p->cls->sig, sig);
        map_put(&core->sigs, MAP_PTR(p->cls), sig);
    }
    return p->sig = sig;
}

enum gpm_status core_check_args(struct session_core *core, struct sp_call *c, value op,
                                struct span at) {
    return core_place(core, sp_check_args(c, signature(core, op)), at);
}

enum gpm_status core_check_call(struct session_core *core, struct sp_call *c, value op,
                                const value *args, size_t n, struct span at) {
    c->cls = proc_class(op, &c->state);
    c->args = args;
    c->n = n;
    c->diags = core->diags;
    c->host = &core->host;
    return core_place(core, sp_check_args(c, signature(core, op)), at);
}

size_t core_store_position(value op) {
    int at = sp_sig_param(sp_proc_of(op)->sig, "store");
    return at < 0 ? SIZE_MAX - 1 : (size_t)at;
}

bool core_memoizes(value source, value store) {
    struct sp_proc *made = sp_made_of(source);
    return source.tag == V_PROC && (!made || (made->cls->flags & SP_RANDOM)) && is_absent(store);
}

/* The paper counts steps, the platform transitions; a subproblem takes the place of a scope. */
static const struct {
    const char *alias, *name;
} operator_keywords[] = {
    {"transitions", "steps"}, {"steps", "transitions"}, {"subproblem", "scope"}};

/* Parameter position for keyword `kw` of procedure op, or -1; *what names the procedure. */
static int keyword_position(struct session_core *core, value op, const char *kw,
                            const char **what) {
    struct closure *c = closure_of(op);
    struct memo_proc *m = memo_of(op);
    if (m) c = closure_of(m->proc);
    if (c) {
        const struct ast *l = c->lambda;
        *what = l->u.lambda.self ? l->u.lambda.self->text : "the procedure";
        for (uint32_t i = 0; i < l->u.lambda.n_params; i++)
            if (!strcmp(l->u.lambda.params[i]->text, kw)) return (int)i;
        return -1;
    }
    const struct sp_class *cls = proc_class(op, NULL);
    if (!cls) return -1;
    *what = cls->name;
    const struct sp_sig *sig = signature(core, op);
    int i = sp_sig_param(sig, kw);
    for (size_t k = 0; i < 0 && !cls->simulate && k < COUNT_OF(operator_keywords); k++)
        if (!strcmp(operator_keywords[k].alias, kw))
            i = sp_sig_param(sig, operator_keywords[k].name);
    return i;
}

static enum gpm_status unknown_keyword(struct session_core *core, value op, const char *what,
                                       const char *kw, struct span at) {
    VEC(const char *) names = {0};
    struct memo_proc *m = memo_of(op);
    struct closure *c = closure_of(m ? m->proc : op);
    const struct sp_class *cls = proc_class(op, NULL);
    const struct sp_sig *sig = cls ? signature(core, op) : NULL;
    for (size_t i = 0; sig && i < sig->n_params; i++) vec_push(&names, sig->params[i].name);
    for (uint32_t i = 0; c && i < c->lambda->u.lambda.n_params; i++)
        vec_push(&names, c->lambda->u.lambda.params[i]->text);
    const char *near = suggest_nearest(kw, names.at, names.n);
    diag_raise(core->diags, DIAG_UNKNOWN_KEYWORD, at, "%s has no parameter `%s`", what, kw);
    if (near)
        diag_set_help(core->diags, "did you mean `%s`?", near);
    else if (cls)
        diag_set_help(core->diags, "the signature is %s%s", cls->name, cls->sig);
    vec_release(&names);
    return GPM_E_USER;
}

/* Handles empty positions: trailing ones are cut off, others are refused unless the parameter is
 * optional. Operators check their own arguments. With a target every position is kept, because the
 * meaning of its numbers depends on which are given. */
static enum gpm_status close_gaps(struct session_core *core, value op, const bool *taken, size_t *n,
                                  struct span at) {
    const struct sp_class *cls = proc_class(op, NULL);
    bool is_operator = cls && (cls->flags & SP_INFERENCE_ONLY);
    if (is_operator && signature(core, op)->target) return GPM_OK;
    while (*n && !taken[*n - 1]) --*n;
    for (size_t i = 0; i < *n && !is_operator; i++)
        if (!taken[i] && !signature(core, op)->params[i].optional)
            return diag_raise(core->diags, DIAG_ARITY, at, "%s: the argument `%s` is missing",
                              cls->name, signature(core, op)->params[i].name);
    return GPM_OK;
}

/* Keywords go to their parameters; other arguments fill the remaining positions in order. */
static enum gpm_status place_keywords(struct session_core *core, const struct ast *call, value op,
                                      struct call_form *form) {
    size_t n = call->n - 1, width = form->width, next = 0, *order = form->order;
    bool *taken = mem_zalloc((width + 1) * sizeof *taken);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        order[i] = SIZE_MAX;
        if (!call->u.call.kw[i] || !call->u.call.kw_real[i]) continue;
        const char *what = "this procedure", *kw = call->u.call.kw[i]->text;
        int p = keyword_position(core, op, kw, &what);
        if (p < 0)
            st = unknown_keyword(core, op, what, kw, call->kids[i + 1]->span);
        else if ((size_t)p >= width || taken[p])
            st = diag_raise(core->diags, DIAG_ARITY, call->kids[i + 1]->span,
                            "%s: an argument before `%s` is missing, or it is given twice", what,
                            kw);
        else
            taken[order[i] = (size_t)p] = true;
    }
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        if (order[i] != SIZE_MAX) continue;
        while (next < width && taken[next]) next++;
        if (next >= width)
            st = diag_raise(core->diags, DIAG_ARITY, call->kids[i + 1]->span, "too many arguments");
        else
            taken[order[i] = next] = true;
    }
    if (st == GPM_OK) st = close_gaps(core, op, taken, &form->n, call->span);
    mem_free(taken);
    return st;
}

enum gpm_status call_form_of(struct session_core *core, const struct ast *call, value op,
                             struct call_form *form) {
    size_t n = form->width = form->n = call->n - 1;
    form->order = NULL;
    if (!call->u.call.kw) return GPM_OK;
    size_t want = proc_class(op, NULL) ? signature(core, op)->n_params : n;
    if (want > n) form->width = form->n = want;
    form->order = n <= COUNT_OF(form->few) ? form->few : NEW_ARRAY(size_t, n);
    enum gpm_status st = place_keywords(core, call, op, form);
    if (st != GPM_OK) call_form_release(form);
    return st;
}

value call_operator(struct session_core *core, const struct ast *call, value op_taken,
                    bool in_model) {
    if (core_special(op_taken) != SPECIAL_MAP || call->n <= 3 || in_model) return op_taken;
    value_unref(op_taken);
    return value_ref(core_builtin(core, "gradient_ascent")->val);
}

enum gpm_status call_not_by_name(struct session_core *core, value op, struct span at) {
    const char *name = proc_class(op, NULL)->name;
    return diag_raise(core->diags, DIAG_TYPE, at, "%s is called by its name: %s(...)", name, name);
}
