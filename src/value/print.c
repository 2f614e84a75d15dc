/* SPDX-License-Identifier: Apache-2.0
 *
 * The one canonical printer, as text and as JSON. Text: shortest round-trip numbers, [a, b] arrays
 * and vectors, (a, b) lists, (a . b) improper pairs, "s" strings, bare symbols, () the empty list,
 * {k: v} dictionaries, [[..], [..]] matrices by rows, atom<k>, <kind> for opaque values.
 *
 * JSON: sequences and matrices are arrays, dictionaries objects (keys that are not names in their
 * text form), symbols strings; infinities and nan, which JSON lacks, and opaque values are strings
 * holding their text form.
 */
#include "base/mem.h"
#include "value/value.h"
#include <math.h>

enum { PRINT_DEPTH = 2000 }; /* deeper parts print as ... : the C stack is not the user's to fill */

static void print_at(value v, struct buf *out, int depth);
static void json_at(value v, struct buf *out, int depth);
typedef void print_fn(value v, struct buf *out, int depth);

static void print_items(value v, struct buf *out, int depth, print_fn *f) {
    buf_putc(out, '[');
    for (size_t i = 0; i < v.u.array->n; i++) {
        if (i) buf_puts(out, ", ");
        f(v.u.array->at[i], out, depth + 1);
    }
    buf_putc(out, ']');
}

static void print_doubles(const double *at, size_t n, size_t step, struct buf *out, print_fn *f) {
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        f(value_num(at[i * step]), out, 0);
    }
    buf_putc(out, ']');
}

static void print_matrix(const struct matrix_obj *m, struct buf *out, print_fn *f) {
    buf_putc(out, '[');
    for (size_t i = 0; i < m->rows; i++) {
        if (i) buf_puts(out, ", ");
        print_doubles(m->at + i, m->cols, m->rows, out, f);
    }
    buf_putc(out, ']');
}

static void print_list(value v, struct buf *out, int depth) {
    const char *sep = "";
    buf_putc(out, '(');
    for (; v.tag == V_PAIR; v = v.u.pair->rest, sep = ", ") {
        buf_puts(out, sep);
        print_at(v.u.pair->first, out, depth + 1);
    }
    if (v.tag != V_NIL) {
        buf_puts(out, " . ");
        print_at(v, out, depth + 1);
    }
    buf_putc(out, ')');
}

static void print_dict(const struct dict_obj *d, struct buf *out, int depth) {
    buf_putc(out, '{');
    for (size_t i = 0; i < d->n; i++) {
        if (i) buf_puts(out, ", ");
        print_at(d->kv[2 * i], out, depth + 1);
        buf_puts(out, ": ");
        print_at(d->kv[2 * i + 1], out, depth + 1);
    }
    buf_putc(out, '}');
}

static void print_ref(const struct ref_obj *r, struct buf *out, int depth) {
    buf_puts(out, "<ref");
    if (!r->node) {
        buf_putc(out, ' ');
        print_at(r->v, out, depth + 1);
    }
    buf_putc(out, '>');
}

static void print_box(const struct box *b, struct buf *out) {
    if (b->cls->print)
        b->cls->print(b, out);
    else
        buf_printf(out, "<%s>", b->cls->name);
}

static void print_at(value v, struct buf *out, int depth) {
    if (depth > PRINT_DEPTH) {
        buf_puts(out, "...");
        return;
    }
    switch (v.tag) {
    case V_NIL: buf_puts(out, "()"); break;
    case V_NUM: buf_number(out, v.u.num); break;
    case V_BOOL: buf_puts(out, v.u.boolean ? "true" : "false"); break;
    case V_ATOM:
        buf_puts(out, "atom<");
        buf_number(out, v.u.num);
        buf_putc(out, '>');
        break;
    case V_SYM: buf_add(out, v.u.sym->text, v.u.sym->len); break;
    case V_STR: buf_json_string(out, v.u.str->text, v.u.str->len); break;
    case V_PAIR: print_list(v, out, depth); break;
    case V_ARRAY: print_items(v, out, depth, print_at); break;
    case V_VECTOR: print_doubles(v.u.vector->at, v.u.vector->n, 1, out, print_at); break;
    case V_MATRIX: print_matrix(v.u.matrix, out, print_at); break;
    case V_DICT: print_dict(v.u.dict, out, depth); break;
    case V_REF: print_ref(v.u.ref, out, depth); break;
    default: print_box(v.u.box, out);
    }
}

void value_print(value v, struct buf *out) {
    print_at(v, out, 0);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_text(value v, struct buf *out) {
    struct buf text = BUF_INIT;
    print_at(v, &text, 0);
    buf_json_string(out, text.data, text.len);
    buf_release(&text);
}

static void json_list(value v, struct buf *out, int depth) {
    if (!seq_is(v)) { /* (a . b) */
        json_text(v, out);
        return;
    }
    buf_putc(out, '[');
    for (const char *sep = ""; v.tag == V_PAIR; v = v.u.pair->rest, sep = ", ") {
        buf_puts(out, sep);
        json_at(v.u.pair->first, out, depth + 1);
    }
    buf_putc(out, ']');
}

static void json_dict(const struct dict_obj *d, struct buf *out, int depth) {
    buf_putc(out, '{');
    for (size_t i = 0; i < d->n; i++) {
        value key = d->kv[2 * i];
        if (i) buf_puts(out, ", ");
        if (key.tag == V_STR)
            buf_json_string(out, key.u.str->text, key.u.str->len);
        else
            json_text(key, out);
        buf_puts(out, ": ");
        json_at(d->kv[2 * i + 1], out, depth + 1);
    }
    buf_putc(out, '}');
}

static void json_at(value v, struct buf *out, int depth) {
    if (depth > PRINT_DEPTH) {
        buf_puts(out, "\"...\"");
        return;
    }
    switch (v.tag) {
    case V_NIL: buf_puts(out, "[]"); break;
    case V_NUM:
        if (isfinite(v.u.num))
            buf_number(out, v.u.num);
        else
            json_text(v, out);
        break;
    case V_BOOL:
    case V_STR: print_at(v, out, 0); break;
    case V_PAIR: json_list(v, out, depth); break;
    case V_ARRAY: print_items(v, out, depth, json_at); break;
    case V_VECTOR: print_doubles(v.u.vector->at, v.u.vector->n, 1, out, json_at); break;
    case V_MATRIX: print_matrix(v.u.matrix, out, json_at); break;
    case V_DICT: json_dict(v.u.dict, out, depth); break;
    default: json_text(v, out);
    }
}

void value_print_json(value v, struct buf *out) {
    json_at(v, out, 0);
}
