/* SPDX-License-Identifier: Apache-2.0
 *
 * The density of a compound procedure at a value: that of the random application whose value it
 * gives,
 *
 *     log p(v | args) = log p(v | arguments of that application),
 *
 * which is all there is to it when nothing else on the way is random. The body is walked from its
 * end: blocks, branches, tags and calls of compound procedures lead on; whatever else stands there
 * is evaluated as it is. Where that draws random numbers, the density would be an integral over
 * them, and is refused. */
#include "runtime/core/plain.h"

#include <string.h>

static struct rng *generator(struct session_core *core) {
    return core->model ? &core->model->rng : &core->rng;
}

static enum gpm_status no_density(struct session_core *core, struct span at, const char *why) {
    diag_raise(core->diags, DIAG_NO_DENSITY, at, "assess: %s", why);
    return diag_set_help(core->diags, "a compound procedure has a density when its value is that "
                                      "of one random procedure, and nothing else in it is random");
}

static enum gpm_status of_expr(struct session_core *core, const struct ast *a, struct frame *f,
                               value v, double *out);

static enum gpm_status of_closure(struct session_core *core, const struct closure *c,
                                  const value *args, size_t n, struct span at, value v,
                                  double *out) {
    const struct ast *l = c->lambda;
    if (n != l->u.lambda.n_params) return core_wrong_arity(core, l, n, at);
    struct frame *f = frame_new(core, c->env, n, l->u.lambda.params, l->code);
    for (size_t i = 0; i < n; i++) f->s[i].v = value_ref(args[i]);
    enum gpm_status st = of_expr(core, l->kids[0], f, v, out);
    frame_unref(f);
    return st;
}

static enum gpm_status of_applied(struct session_core *core, value op, const value *args, size_t n,
                                  struct span at, value v, double *out) {
    enum gpm_status st = core_poll(core, at);
    if (st != GPM_OK) return st;
    const struct closure *c = closure_of(op);
    if (c) return of_closure(core, c, args, n, at, v, out);
    if (core_special(op) == SPECIAL_APPLY_FUNCTION && n > 1)
        return of_applied(core, args[0], args + 1, n - 1, at, v, out);
    const struct sp_class *cls = proc_class(op, NULL);
    if (!cls || !cls->log_density)
        return no_density(core, at, "the value of the procedure comes from no random procedure");
    struct sp_call call = {0};
    st = core_check_call(core, &call, op, args, n, at);
    return st == GPM_OK ? core_place(core, cls->log_density(&call, v, out), at) : st;
}

/* Operator and operands as a call evaluates them (plain.c). */
static enum gpm_status of_call(struct session_core *core, const struct ast *a, struct frame *f,
                               value v, double *out) {
    value op;
    enum gpm_status st = plain_eval(core, a->kids[0], f, &op);
    if (st != GPM_OK) return st;
    size_t width = core_call_width(core, a, op), n = width;
    value *args = NEW_ARRAY(value, width + 1);
    size_t *order = NEW_ARRAY(size_t, width + 1);
    for (size_t i = 0; i < width; i++) args[i] = ABSENT;
    for (size_t i = 0; i < width; i++) order[i] = i;
    if (a->u.call.kw) st = core_place_keywords(core, a, op, order, &n);
    for (size_t i = 0; i + 1 < a->n && st == GPM_OK; i++) {
        value arg = NIL;
        st = plain_eval(core, a->kids[i + 1], f, &arg);
        args[order[i]] = arg;
    }
    if (st == GPM_OK) st = of_applied(core, op, args, n, a->span, v, out);
    values_free(args, width);
    mem_free(order);
    value_unref(op);
    return st;
}

static enum gpm_status of_block(struct session_core *core, const struct ast *a, struct frame *f,
                                value v, double *out) {
    struct frame *inner =
        a->u.block.n_slots ? frame_new(core, f, a->u.block.n_slots, a->u.block.slot_names, a->code)
                           : frame_ref(f);
    enum gpm_status st = GPM_OK;
    for (uint32_t i = 0; i + 1 < a->n && st == GPM_OK; i++) st = plain_let(core, a->kids[i], inner);
    if (st == GPM_OK) st = of_expr(core, a->kids[a->n - 1], inner, v, out);
    frame_unref(inner);
    return st;
}

static enum gpm_status of_expr(struct session_core *core, const struct ast *a, struct frame *f,
                               value v, double *out) {
    value c;
    bool truth;
    enum gpm_status st;
    switch (a->kind) {
    case AST_CALL: return of_call(core, a, f, v, out);
    case AST_TAG:
    case AST_TAG_OUT: return of_expr(core, a->kids[a->n - 1], f, v, out);
    case AST_BLOCK:
        if (!a->u.block.action && a->n) return of_block(core, a, f, v, out);
        break;
    case AST_IF:
        st = plain_eval(core, a->kids[0], f, &c);
        if (st != GPM_OK) return st;
        st = core_truth(core, c, a->kids[0]->span, &truth);
        value_unref(c);
        return st == GPM_OK ? of_expr(core, a->kids[truth ? 1 : 2], f, v, out) : st;
    default: break;
    }
    return no_density(core, a->span, "the value of the procedure comes from no random procedure");
}

enum gpm_status plain_density(struct session_core *core, value proc, const value *args, size_t n,
                              value v, struct span at, double *out) {
    struct rng before = *generator(core);
    enum gpm_status st = of_applied(core, proc, args, n, at, v, out);
    if (st == GPM_OK && memcmp(&before, generator(core), sizeof before) != 0)
        st = no_density(core, at, "the procedure makes random choices on the way to its value");
    *generator(core) = before;
    return st;
}
