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

/* Where the text goes; sequences stop once it is longer than max. */
struct printer {
    struct buf *out;
    size_t max;
};

static bool more(const struct printer *p) {
    return p->out->len <= p->max;
}

static void print_at(value v, struct printer *p, int depth);
static void json_at(value v, struct printer *p, int depth);
typedef void print_fn(value v, struct printer *p, int depth);

static void print_items(value v, struct printer *p, int depth, print_fn *f) {
    buf_putc(p->out, '[');
    for (size_t i = 0; i < v.u.array->n && more(p); i++) {
        if (i) buf_puts(p->out, ", ");
        f(v.u.array->at[i], p, depth + 1);
    }
    buf_putc(p->out, ']');
}

static void print_doubles(const double *at, size_t n, size_t step, struct printer *p, print_fn *f) {
    buf_putc(p->out, '[');
    for (size_t i = 0; i < n && more(p); i++) {
        if (i) buf_puts(p->out, ", ");
        f(value_num(at[i * step]), p, 0);
    }
    buf_putc(p->out, ']');
}

static void print_matrix(const struct matrix_obj *m, struct printer *p, print_fn *f) {
    buf_putc(p->out, '[');
    for (size_t i = 0; i < m->rows && more(p); i++) {
        if (i) buf_puts(p->out, ", ");
        print_doubles(m->at + i, m->cols, m->rows, p, f);
    }
    buf_putc(p->out, ']');
}

static void print_list(value v, struct printer *p, int depth) {
    const char *sep = "";
    buf_putc(p->out, '(');
    for (; v.tag == V_PAIR && more(p); v = v.u.pair->rest, sep = ", ") {
        buf_puts(p->out, sep);
        print_at(v.u.pair->first, p, depth + 1);
    }
    if (v.tag != V_NIL && v.tag != V_PAIR) {
        buf_puts(p->out, " . ");
        print_at(v, p, depth + 1);
    }
    buf_putc(p->out, ')');
}

static void print_dict(const struct dict_obj *d, struct printer *p, int depth) {
    buf_putc(p->out, '{');
    for (size_t i = 0; i < d->n && more(p); i++) {
        if (i) buf_puts(p->out, ", ");
        print_at(d->kv[2 * i], p, depth + 1);
        buf_puts(p->out, ": ");
        print_at(d->kv[2 * i + 1], p, depth + 1);
    }
    buf_putc(p->out, '}');
}

static void print_ref(const struct ref_obj *r, struct printer *p, int depth) {
    buf_puts(p->out, "<ref");
    if (!r->node) {
        buf_putc(p->out, ' ');
        print_at(r->v, p, depth + 1);
    }
    buf_putc(p->out, '>');
}

static void print_box(const struct box *b, struct printer *p) {
    if (b->cls->print)
        b->cls->print(b, p->out);
    else
        buf_printf(p->out, "<%s>", b->cls->name);
}

static void print_at(value v, struct printer *p, int depth) {
    if (depth > PRINT_DEPTH) {
        buf_puts(p->out, "...");
        return;
    }
    switch (v.tag) {
    case V_NIL: buf_puts(p->out, "()"); break;
    case V_NUM: buf_number(p->out, v.u.num); break;
    case V_BOOL: buf_puts(p->out, v.u.boolean ? "true" : "false"); break;
    case V_ATOM:
        buf_puts(p->out, "atom<");
        buf_number(p->out, v.u.num);
        buf_putc(p->out, '>');
        break;
    case V_SYM: buf_add(p->out, v.u.sym->text, v.u.sym->len); break;
    case V_STR: buf_json_string(p->out, v.u.str->text, v.u.str->len); break;
    case V_PAIR: print_list(v, p, depth); break;
    case V_ARRAY: print_items(v, p, depth, print_at); break;
    case V_VECTOR: print_doubles(v.u.vector->at, v.u.vector->n, 1, p, print_at); break;
    case V_MATRIX: print_matrix(v.u.matrix, p, print_at); break;
    case V_DICT: print_dict(v.u.dict, p, depth); break;
    case V_REF: print_ref(v.u.ref, p, depth); break;
    default: print_box(v.u.box, p);
    }
}

void value_print(value v, struct buf *out) {
    value_print_max(v, SIZE_MAX, out);
}

void value_print_max(value v, size_t max, struct buf *out) {
    size_t limit = max < SIZE_MAX - out->len ? out->len + max : SIZE_MAX;
    print_at(v, &(struct printer){out, limit}, 0);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_text(value v, struct printer *p) {
    struct buf text = BUF_INIT;
    value_print(v, &text);
    buf_json_string(p->out, text.data, text.len);
    buf_release(&text);
}

static void json_list(value v, struct printer *p, int depth) {
    if (!seq_is(v)) { /* (a . b) */
        json_text(v, p);
        return;
    }
    buf_putc(p->out, '[');
    for (const char *sep = ""; v.tag == V_PAIR && more(p); v = v.u.pair->rest, sep = ", ") {
        buf_puts(p->out, sep);
        json_at(v.u.pair->first, p, depth + 1);
    }
    buf_putc(p->out, ']');
}

static void json_dict(const struct dict_obj *d, struct printer *p, int depth) {
    buf_putc(p->out, '{');
    for (size_t i = 0; i < d->n && more(p); i++) {
        value key = d->kv[2 * i];
        if (i) buf_puts(p->out, ", ");
        if (key.tag == V_STR)
            buf_json_string(p->out, key.u.str->text, key.u.str->len);
        else
            json_text(key, p);
        buf_puts(p->out, ": ");
        json_at(d->kv[2 * i + 1], p, depth + 1);
    }
    buf_putc(p->out, '}');
}

static void json_at(value v, struct printer *p, int depth) {
    if (depth > PRINT_DEPTH) {
        buf_puts(p->out, "\"...\"");
        return;
    }
    switch (v.tag) {
    case V_NIL: buf_puts(p->out, "[]"); break;
    case V_NUM:
        if (isfinite(v.u.num))
            buf_number(p->out, v.u.num);
        else
            json_text(v, p);
        break;
    case V_BOOL:
    case V_STR: print_at(v, p, 0); break;
    case V_PAIR: json_list(v, p, depth); break;
    case V_ARRAY: print_items(v, p, depth, json_at); break;
    case V_VECTOR: print_doubles(v.u.vector->at, v.u.vector->n, 1, p, json_at); break;
    case V_MATRIX: print_matrix(v.u.matrix, p, json_at); break;
    case V_DICT: json_dict(v.u.dict, p, depth); break;
    default: json_text(v, p);
    }
}

void value_print_json(value v, struct buf *out) {
    json_at(v, &(struct printer){out, SIZE_MAX}, 0);
}
