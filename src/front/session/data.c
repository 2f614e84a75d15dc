/* SPDX-License-Identifier: Apache-2.0
 *
 * Data given to a program from outside: --data of the tool, data= of Python, gpm_data_* of C. The
 * names are defined before the program runs; it cannot define them again, so that what was given
 * is what is used.
 */
#include "front/session/session.h"

#include "base/ascii.h"
#include "base/file.h"
#include "language/rows/source/data_file.h"
#include "language/rows/protocol/sp_options.h"
#include <string.h>

static const char all_name[] = "data";

static bool is_name(const char *text) {
    size_t n = 0;
    while (ascii_name(text[n])) n++;
    return n && !text[n] && !ascii_digit(text[0]);
}

static struct define_slot *slot_of(struct session *s, const char *name) {
    return map_get(&s->core.defines, MAP_PTR(sym_cstr(&s->syms, name)));
}

static void define_data(struct session *s, const char *name, value v) {
    session_define(s, name, value_ref(v));
    slot_of(s, name)->data = true;
}

/* The dictionary of what was given before and now; a later value of a name replaces an earlier. */
static value joined(const struct define_slot *before, const struct dict_obj *more) {
    const struct dict_obj *old = before && before->data ? before->v.u.dict : NULL;
    VEC(value) kv = {0};
    for (size_t i = 0; old && i < 2 * old->n; i++) vec_push(&kv, old->kv[i]);
    for (size_t i = 0; i < 2 * more->n; i++) vec_push(&kv, more->kv[i]);
    value d = value_dict(kv.at, kv.n / 2);
    vec_release(&kv);
    return d;
}

/* Columns of tables may have names that the language cannot write: data["log.radon"] has them. */
static enum gpm_status data_take(struct session *s, value given) {
    enum gpm_status st = GPM_OK;
    if (given.tag != V_DICT)
        st = diag_raise(&s->diags, DIAG_DATA, NO_SPAN,
                        "data must have names: an object {\"n\": 3, ...}, not a %s",
                        value_type_name(given));
    for (size_t i = 0; st == GPM_OK && i < given.u.dict->n; i++) {
        const char *name = given.u.dict->kv[2 * i].u.str->text;
        if (is_name(name)) define_data(s, name, given.u.dict->kv[2 * i + 1]);
    }
    if (st == GPM_OK) {
        value all = joined(slot_of(s, all_name), given.u.dict);
        define_data(s, all_name, all);
        value_unref(all);
    }
    value_unref(given);
    return st;
}

enum gpm_status session_data_json(struct session *s, const char *text, size_t n) {
    struct buf err = BUF_INIT;
    value v;
    enum gpm_status st = data_json(text, n, &v, &err);
    if (st != GPM_OK) st = diag_raise(&s->diags, DIAG_DATA, NO_SPAN, "data: %s", err.data);
    buf_release(&err);
    return st == GPM_OK ? data_take(s, v) : st;
}

enum gpm_status session_data_file(struct session *s, const char *path) {
    struct buf err = BUF_INIT;
    struct sp_options *o = s->core.host.options;
    value v;
    if (o && o->file) o->file(o->file_user, path);
    enum gpm_status st = data_file(path, &v, &err);
    if (st != GPM_OK)
        st = diag_raise(&s->diags, st == GPM_E_IO ? DIAG_FILE : DIAG_DATA, NO_SPAN, "%s", err.data);
    buf_release(&err);
    return st == GPM_OK ? data_take(s, v) : st;
}
