/* SPDX-License-Identifier: Apache-2.0
 *
 * call_back("name", e1, ...): hands the values of expressions in every particle to a function of
 * the host and takes its reply as the action's value. */
#include "base/mem.h"
#include "inference/run/infer.h"
#include "language/lang/ast.h"
#include <string.h>

static struct callback *callback_find(struct infer_state *x, const char *name) {
    for (size_t i = 0; i < x->callbacks.n; i++)
        if (!strcmp(x->callbacks.at[i].name, name)) return &x->callbacks.at[i];
    return NULL;
}

void infer_bind_callback(struct infer_state *x, const char *name, callback_fn *f, void *user) {
    struct callback *known = callback_find(x, name);
    if (!known) {
        vec_push(&x->callbacks, ((struct callback){.name = mem_strdup(name)}));
        known = &vec_last(&x->callbacks);
    }
    known->f = f;
    known->user = user;
}

static enum gpm_status not_bound(struct infer_state *x, const struct sym *name) {
    infer_error(x, DIAG_CALLBACK, "no callback is bound to the name `%s`", name->text);
    struct buf have = BUF_INIT;
    for (size_t i = 0; i < x->callbacks.n; i++)
        buf_printf(&have, "%s%s", i ? ", " : "", x->callbacks.at[i].name);
    if (have.len)
        diag_add_note(x->core->diags, "callbacks of this session: %s", have.data);
    else
        diag_set_help(x->core->diags, "the program that runs this one binds callbacks: "
                                      "gpm_bind_callback in C, callbacks= in Python");
    buf_release(&have);
    return GPM_E_USER;
}

/* [[value in particle 0, 1, ...] of e1, ... of e2, ...] as JSON. */
static enum gpm_status arguments(struct infer_state *x, struct action *a, struct buf *out) {
    size_t n = x->model->p.n, k = a->n_splices;
    value all = value_array_new(k), *one = NEW_ARRAY(value, k + 1);
    const struct ast **e = NEW_ARRAY(const struct ast *, k + 1);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < k; i++) {
        all.u.array->at[i] = value_array_new(n);
        e[i] = a->ast->kids[i]->kids[0];
    }
    for (size_t p = 0; p < n && st == GPM_OK; p++) {
        st = trace_sample(x->model->p.at[p], e, a->splices, k, one);
        for (size_t i = 0; i < k && st == GPM_OK; i++) all.u.array->at[i].u.array->at[p] = one[i];
    }
    mem_free(one);
    mem_free(e);
    if (st == GPM_OK) value_print_json(all, out);
    if (st == GPM_OK) st = core_poll(x->core, x->at);
    value_unref(all);
    return st;
}

/* Evaluates the reply, an expression of the language. */
static enum gpm_status read_reply(struct infer_state *x, const char *text, value *out) {
    struct session_core *core = x->core;
    struct ast *program;
    struct code *code;
    enum gpm_status st =
        core_parse(core, "<reply of a callback>", text, strlen(text), false, &code, &program);
    if (st != GPM_OK) return st;
    enum ast_kind kind = program->n == 1 ? program->kids[0]->kind : AST_DEFINE;
    st = kind == AST_DEFINE || kind == AST_LOAD || kind == AST_FOR
             ? infer_error(x, DIAG_CALLBACK, "the reply of a callback must be one expression")
             : plain_eval(core, program->kids[0], NULL, out);
    code_unref(code);
    return st;
}

/* The host receives JSON and replies with text of the language; an empty reply means nil. On
 * failure its text becomes part of the message. */
enum gpm_status callback_run(struct infer_state *x, struct action *a, const struct sym *name,
                             value *out) {
    struct callback *bound = callback_find(x, name->text);
    if (!bound) return not_bound(x, name);
    struct buf args = BUF_INIT;
    const char *reply = NULL;
    char err[256] = "";
    enum gpm_status st = arguments(x, a, &args);
    if (st == GPM_OK && bound->f(bound->user, args.data, &reply, err, sizeof err) != 0) {
        err[sizeof err - 1] = 0;
        st = infer_error(x, DIAG_CALLBACK, "the callback `%s` failed%s%s", name->text,
                         *err ? ": " : "", err);
    }
    buf_release(&args);
    if (st != GPM_OK) return st;
    *out = NIL;
    return reply ? read_reply(x, reply, out) : GPM_OK;
}
