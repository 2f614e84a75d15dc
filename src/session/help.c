/* SPDX-License-Identifier: Apache-2.0
 *
 * Help and completion, from the tables of procedures and operators. */
#include "session/session.h"

#include "gp/kernel.h"

#include <string.h>

static void describe(const char *name, const char *sig, const char *doc, const char *example,
                     struct buf *out) {
    buf_printf(out, "%s%s\n    %s\n", name, sig, doc ? doc : "");
    if (example) buf_printf(out, "    example: %s\n", example);
}

/* A kernel by the symbol that structures print: SE, LIN, PER, ... */
static bool describe_kernel(const char *name, struct buf *out) {
    const struct kern_class *k = kern_class_find(name);
    if (!k) return false;
    buf_printf(out, "%s(", name);
    for (size_t i = 0; i < kern_class_nparam(k); i++)
        buf_printf(out, "%s%s", i ? ", " : "", kern_class_param(k, i)->name);
    buf_printf(out, "): a kernel, %s\n    %s\n", kern_class_phrase(k), kern_class_doc(k));
    buf_puts(out,
             "    as text: parse(\"...\"); as procedures: make_squaredexp, make_linear, ...\n");
    return true;
}

bool session_help(struct session *s, const char *name, struct buf *out) {
    const struct sp_class *cls = sp_index_find(name);
    if (cls) {
        describe(cls->name, cls->sig, cls->doc, cls->example, out);
        return true;
    }
    const struct infer_op *op = infer_index_find(name);
    if (op) {
        describe(op->name, op->sig, op->doc, op->example, out);
        return true;
    }
    if (describe_kernel(name, out)) return true;
    struct sym *y = sym_cstr(&s->syms, name);
    if (core_lookup_define(&s->core, y)) {
        buf_printf(out, "%s: defined in this session\n", name);
        return true;
    }
    if (map_get(&s->infer.model->p.at[0]->globals, MAP_PTR(y))) {
        buf_printf(out, "%s: assumed in the current model\n", name);
        return true;
    }
    return false;
}

static void json_row(struct buf *out, bool *first, const char *kind, const char *name,
                     const char *sig, const char *doc, const char *example) {
    buf_puts(out, *first ? "\n" : ",\n");
    *first = false;
    buf_printf(out, "{\"kind\": \"%s\", \"name\": ", kind);
    buf_json_string(out, name, strlen(name));
    buf_puts(out, ", \"signature\": ");
    buf_json_string(out, sig, strlen(sig));
    buf_puts(out, ", \"doc\": ");
    buf_json_string(out, doc ? doc : "", doc ? strlen(doc) : 0);
    if (example) {
        buf_puts(out, ", \"example\": ");
        buf_json_string(out, example, strlen(example));
    }
    buf_puts(out, "}");
}

void session_reference_json(struct session *s, struct buf *out) {
    UNUSED(s);
    bool first = true;
    buf_puts(out, "[");
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *c = sp_index_at(i);
        if (c->flags & SP_HIDDEN) continue;
        json_row(out, &first,
                 c->flags & SP_RANDOM  ? "random"
                 : c->flags & SP_MAKER ? "maker"
                                       : "procedure",
                 c->name, c->sig, c->doc, c->example);
    }
    for (size_t i = 0; i < infer_index_count(); i++) {
        const struct infer_op *o = infer_index_at(i);
        json_row(out, &first, "operator", o->name, o->sig, o->doc, o->example);
    }
    buf_puts(out, "\n]\n");
}

void session_complete(struct session *s, const char *prefix, void (*each)(void *, const char *),
                      void *user) {
    static const char *const words[] = {"assume", "define", "observe", "predict",
                                        "sample", "force",  "infer",   "load",
                                        "proc",   "letrec", "true",    "false"};
    size_t n = strlen(prefix);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strncmp(words[i], prefix, n)) each(user, words[i]);
    for (size_t i = 0; i < sp_index_count(); i++)
        if (!(sp_index_at(i)->flags & SP_HIDDEN) && !strncmp(sp_index_at(i)->name, prefix, n))
            each(user, sp_index_at(i)->name);
    for (size_t i = 0; i < infer_index_count(); i++)
        if (!strncmp(infer_index_at(i)->name, prefix, n)) each(user, infer_index_at(i)->name);
    for (size_t i = 0; i < s->core.define_names.n; i++)
        if (!strncmp(s->core.define_names.at[i]->text, prefix, n))
            each(user, s->core.define_names.at[i]->text);
    struct trace *t = s->infer.model->p.at[0];
    for (size_t i = 0; i < t->records.n; i++) {
        struct record *r = t->records.at[i];
        if (r->name && !strncmp(r->name->text, prefix, n)) each(user, r->name->text);
        for (size_t j = 0; j < r->names.n; j++)
            if (!strncmp(r->names.at[j]->text, prefix, n)) each(user, r->names.at[j]->text);
    }
}
