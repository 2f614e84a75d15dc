/* SPDX-License-Identifier: Apache-2.0
 *
 * See value_pack.h. An object is made empty and filled in place, because its contents may lead back
 * to it through frames. */
#include "language/value/value_pack.h"

static size_t length_of(value v) {
    switch (v.tag) {
    case V_STR: return v.u.str->len;
    case V_ARRAY: return v.u.array->n;
    case V_VECTOR: return v.u.vector->n;
    case V_MATRIX: return v.u.matrix->rows;
    case V_DICT: return v.u.dict->n;
    default: return 0;
    }
}

/* Its length and, for a matrix, the number of columns; checked when reading. */
static void pack_shape(struct pack *p, value v, size_t *n, size_t *cols) {
    bool numbers = v.tag == V_VECTOR || v.tag == V_MATRIX;
    *n = p->reading ? 0 : length_of(v);
    *cols = p->reading || v.tag != V_MATRIX ? 1 : v.u.matrix->cols;
    if (v.tag == V_MATRIX) pack_size(p, cols);
    pack_size(p, n);
    size_t left = p->reading ? (size_t)(p->end - p->at) / (numbers ? sizeof(double) : 1) : SIZE_MAX;
    if (*cols && *n <= left / *cols) return;
    if (*cols) pack_fail(p, "it ends too early");
    if (*cols) *n = 0;
}

static value make(uint32_t tag, size_t n, size_t cols, const char *text) {
    switch (tag) {
    case V_STR: return value_str(text, n);
    case V_PAIR: return value_pair(NIL, NIL);
    case V_ARRAY: return value_array_new(n);
    case V_VECTOR: return value_vector_new(n);
    case V_MATRIX: return value_matrix_new(n, cols);
    case V_REF: return value_ref_to(NIL, NULL);
    default: return NIL;
    }
}

/* Keys determine positions, so a dictionary stays empty until all of them are read. */
static void pack_dict(struct pack *p, size_t number, value *v) {
    size_t n = p->reading ? 0 : v->u.dict->n;
    pack_count(p, &n, 2);
    if (!p->reading) {
        pack_values(p, v->u.dict->kv, 2 * n);
        return;
    }
    value *kv = mem_zalloc((2 * n + 1) * sizeof *kv);
    *v = value_dict(NULL, 0);
    pack_made(p, number, v->u.obj);
    pack_values(p, kv, 2 * n);
    dict_fill(v->u.dict, kv, n);
    values_free(kv, 2 * n);
}

/* Makes a new object and packs its contents; the caller packs the rest of a list. */
static void pack_contents(struct pack *p, size_t number, value *v) {
    uint32_t flags = p->reading ? 0 : v->u.obj->flags, tag = v->tag;
    size_t n, cols;
    pack_u32(p, &flags);
    if (tag == V_DICT) {
        pack_dict(p, number, v);
        return;
    }
    pack_shape(p, *v, &n, &cols);
    if (p->reading) {
        *v = make(tag, n, cols, p->at);
        v->u.obj->flags = flags;
        pack_made(p, number, v->u.obj);
    }
    switch (tag) {
    case V_STR:
        if (p->reading)
            p->at += n;
        else
            pack_raw(p, v->u.str->text, n);
        break;
    case V_PAIR: pack_value(p, &v->u.pair->first); break;
    case V_ARRAY: pack_values(p, v->u.array->at, n); break;
    case V_VECTOR: pack_doubles(p, v->u.vector->at, n); break;
    case V_MATRIX: pack_doubles(p, v->u.matrix->at, n * cols); break;
    case V_REF:
        pack_value(p, &v->u.ref->v);
        p->links->node(p, &v->u.ref->node);
        break;
    default: break;
    }
}

struct box *pack_box(struct pack *p, size_t number, const struct box_class *cls, struct box *b) {
    if (!b) {
        b = box_new(cls);
        pack_made(p, number, b);
    }
    cls->pack(p, b);
    return b;
}

static void pack_box_value(struct pack *p, size_t number, value *v) {
    uint32_t i = 0, n = (uint32_t)p->links->n_boxes;
    while (!p->reading && i < n && p->links->boxes[i] != v->u.box->cls) i++;
    if (i == n || (!p->reading && !v->u.box->cls->pack)) {
        pack_fail(p, "a %s cannot be saved", v->u.box->cls->name);
        return;
    }
    i = pack_choice(p, i, n);
    if (!pack_ok(p)) return;
    v->u.box = pack_box(p, number, p->links->boxes[i], p->reading ? NULL : v->u.box);
}

static void pack_object_value(struct pack *p, value *v) {
    void *x = p->reading ? NULL : (void *)v->u.obj;
    size_t number = pack_object(p, &x);
    if (!number) {
        v->u.obj = x;
        if (p->reading && x) v->u.obj->refs++;
    } else if (v->tag >= V_ENV)
        pack_box_value(p, number, v);
    else
        pack_contents(p, number, v);
    if (p->reading && (!pack_ok(p) || !v->u.obj)) *v = NIL;
}

static void share_value(struct pack *p, value *v) {
    if (!p->reading) value_ref(*v);
    pack_raw(p, v, sizeof *v);
}

void pack_begin_copy(struct pack *p, const struct pack_links *links) {
    static const struct pack_links sharing = {.value = share_value};
    pack_begin_write(p);
    p->copying = true;
    p->links = links ? links : &sharing;
}

void pack_value(struct pack *p, value *v) {
    if (p->copying) {
        p->links->value(p, v);
        return;
    }
    for (;;) { /* follows the rest of a list, which may be long */
        uint32_t tag = pack_choice(p, v->tag, V_BOX + 1);
        size_t before = p->n_objects;
        if (p->reading) *v = (value){.tag = tag};
        switch (tag) {
        case V_NIL: return;
        case V_NUM:
        case V_ATOM: pack_double(p, &v->u.num); return;
        case V_BOOL: pack_bool(p, &v->u.boolean); return;
        case V_SYM: pack_sym(p, &v->u.sym); return;
        default: break;
        }
        pack_object_value(p, v);
        if (v->tag != V_PAIR || p->n_objects == before || !pack_ok(p)) return;
        v = &v->u.pair->rest;
    }
}

void pack_values(struct pack *p, value *v, size_t n) {
    for (size_t i = 0; i < n; i++) pack_value(p, &v[i]);
}
