/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing, errors raised by the program, names and strings.
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"

/* A value as people want it inside text: strings and symbols without quotes. */
static void put_plain(value v, struct buf *out) {
    if (v.tag == V_STR)
        buf_add(out, v.u.str->text, v.u.str->len);
    else
        value_print(v, out);
}

static void emit_line(struct sp_call *c, struct buf *line) {
    buf_putc(line, '\n');
    if (c->host && c->host->print) c->host->print(c->host, line->data, line->len);
    buf_release(line);
}

static enum gpm_status simulate_print(struct sp_call *c, value *out) {
    struct buf line = BUF_INIT;
    for (size_t i = 0; i < c->n; i++) {
        if (i) buf_putc(&line, ' ');
        put_plain(c->args[i], &line);
    }
    emit_line(c, &line);
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status simulate_debug(struct sp_call *c, value *out) {
    struct buf line = BUF_INIT;
    put_plain(c->args[0], &line);
    buf_puts(&line, ": ");
    value_print(c->args[1], &line);
    emit_line(c, &line);
    *out = value_ref(c->args[1]);
    return GPM_OK;
}

static enum gpm_status grad_debug(struct sp_call *c, value r, value dr, value *dargs) {
    dargs[1] = value_ref(dr);
    return GPM_OK;
}

static enum gpm_status simulate_value_error(struct sp_call *c, value *out) {
    struct buf text = BUF_INIT;
    put_plain(c->args[0], &text);
    sp_error(c, DIAG_USER_ERROR, "%s", text.data);
    buf_release(&text);
    return GPM_E_USER;
}

static enum gpm_status simulate_name(struct sp_call *c, value *out) {
    struct buf text = BUF_INIT;
    if (!c->host || !c->host->syms)
        return sp_error(c, DIAG_TYPE, "%s: symbols cannot be made here", c->cls->name);
    for (size_t i = 0; i < c->n; i++) put_plain(c->args[i], &text);
    *out = value_sym(sym_intern(c->host->syms, text.data, text.len));
    buf_release(&text);
    return GPM_OK;
}

static enum gpm_status simulate_to_string(struct sp_call *c, value *out) {
    struct buf text = BUF_INIT;
    double total = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->args[i].tag == V_STR) total += (double)c->args[i].u.str->len;
    enum gpm_status st = sp_check_size(c, total, 1);
    if (st) return st;
    for (size_t i = 0; i < c->n; i++) put_plain(c->args[i], &text);
    *out = value_str(text.data, text.len);
    buf_release(&text);
    return GPM_OK;
}

const struct sp_class sp_misc_rows[] = {
    {SP_ROW(print, print, "(...xs: any) -> nil",
            "Prints its arguments on one line; the value is the empty list.", NULL),
     .flags = SP_NO_MODEL_EFFECT},
    {SP_GROW(debug, debug, "(label: any, x: any) -> any",
             "x itself; prints the label and x on the way.", NULL),
     .flags = SP_NO_MODEL_EFFECT},
    {SP_ROW(value_error, value_error, "(message: any) -> any",
            "Stops with an error of the program's own.", NULL)},
    {SP_ROW(name, name, "(base: name, ...more: any) -> symbol",
            "The symbol whose text is that of its arguments in a row.", "name(quote(x), 3) => x3")},
    {SP_ROW(to_symbol, name, "(s: name) -> symbol", "The symbol of that text.",
            "to_symbol(\"abc\") => abc")},
    {SP_ROW(to_string, to_string, "(x: any) -> string", "The text of a value.",
            "to_string([1, 2]) => \"[1, 2]\"")},
    {SP_ROW(string_concat, to_string, "(...xs: any) -> string",
            "The texts of its arguments in a row.", "string_concat(\"x = \", 3) => \"x = 3\"")},
};
const size_t sp_misc_count = COUNT_OF(sp_misc_rows);
