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
#include "base/work.h"
#include "language/value/value.h"
#include <math.h>

enum { PRINT_DEPTH = 2000 }; /* deeper parts print as ..., to limit use of the C stack */

/* The output; sequences stop once it is longer than max. */
struct printer {
    struct buf *out;
    size_t max;
    bool json;
    size_t steps;
};

static bool more(struct printer *p) {
    if (work_step(&p->steps)) p->max = 0;
    return p->out->len <= p->max;
}

static void print_at(value v, struct printer *p, int depth);

static void print_item(value v, size_t i, struct printer *p, int depth) {
    if (i) buf_puts(p->out, ", ");
    print_at(v, p, depth + 1);
}

static void print_items(value v, struct printer *p, int depth) {
    bool list = v.tag == V_PAIR && !p->json;
    struct seq_walk w = {v, 0};
    value item;
    buf_putc(p->out, list ? '(' : '[');
    for (size_t i = 0; more(p) && seq_next(&w, &item); i++) print_item(item, i, p, depth);
    if (list && w.rest.tag != V_NIL && w.rest.tag != V_PAIR) {
        buf_puts(p->out, " . ");
        print_at(w.rest, p, depth + 1);
    }
    buf_putc(p->out, list ? ')' : ']');
}

static void print_matrix(const struct matrix_obj *m, struct printer *p) {
    buf_putc(p->out, '[');
    for (size_t i = 0; i < m->rows && more(p); i++) {
        buf_puts(p->out, i ? ", [" : "[");
        for (size_t j = 0; j < m->cols && more(p); j++)
            print_item(value_num(m->at[i + j * m->rows]), j, p, 0);
        buf_putc(p->out, ']');
    }
    buf_putc(p->out, ']');
}

/* The text form of a value without a JSON form, as a string. */
static void print_as_string(value v, struct printer *p) {
    struct buf text = BUF_INIT;
    value_print(v, &text);
    buf_json_string(p->out, text.data, text.len);
    buf_release(&text);
}

static void print_dict(const struct dict_obj *d, struct printer *p, int depth) {
    buf_putc(p->out, '{');
    for (size_t i = 0; i < d->n && more(p); i++) {
        value key = d->kv[2 * i];
        if (i) buf_puts(p->out, ", ");
        if (p->json && key.tag != V_STR)
            print_as_string(key, p);
        else
            print_at(key, p, depth + 1);
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

static bool has_json_form(value v) {
    static const bool as_it_is[V_BOX + 1] = {
        [V_NIL] = true,    [V_BOOL] = true,   [V_STR] = true,  [V_ARRAY] = true,
        [V_VECTOR] = true, [V_MATRIX] = true, [V_DICT] = true,
    };
    if (v.tag == V_NUM) return isfinite(v.u.num);
    return v.tag == V_PAIR ? seq_is(v) : as_it_is[v.tag];
}

static void print_at(value v, struct printer *p, int depth) {
    if (depth > PRINT_DEPTH) {
        buf_puts(p->out, p->json ? "\"...\"" : "...");
        return;
    }
    if (p->json && !has_json_form(v)) {
        print_as_string(v, p);
        return;
    }
    switch (v.tag) {
    case V_NIL: buf_puts(p->out, p->json ? "[]" : "()"); break;
    case V_NUM: buf_number(p->out, v.u.num); break;
    case V_BOOL: buf_puts(p->out, v.u.boolean ? "true" : "false"); break;
    case V_ATOM:
        buf_puts(p->out, "atom<");
        buf_number(p->out, v.u.num);
        buf_putc(p->out, '>');
        break;
    case V_SYM: buf_add(p->out, v.u.sym->text, v.u.sym->len); break;
    case V_STR: buf_json_string(p->out, v.u.str->text, v.u.str->len); break;
    case V_PAIR:
    case V_ARRAY:
    case V_VECTOR: print_items(v, p, depth); break;
    case V_MATRIX: print_matrix(v.u.matrix, p); break;
    case V_DICT: print_dict(v.u.dict, p, depth); break;
    case V_REF: print_ref(v.u.ref, p, depth); break;
    default:
        if (v.u.box->cls->print)
            v.u.box->cls->print(v.u.box, p->out);
        else
            buf_printf(p->out, "<%s>", v.u.box->cls->name);
    }
}

void value_print(value v, struct buf *out) {
    value_print_max(v, SIZE_MAX, out);
}

void value_print_max(value v, size_t max, struct buf *out) {
    size_t limit = max < SIZE_MAX - out->len ? out->len + max : SIZE_MAX;
    print_at(v, &(struct printer){out, limit, false, 0}, 0);
}

void value_print_json(value v, struct buf *out) {
    print_at(v, &(struct printer){out, SIZE_MAX, true, 0}, 0);
}
