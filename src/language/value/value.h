/* SPDX-License-Identifier: Apache-2.0
 *
 * Values: 16 bytes, a tag and a number, symbol or counted object. Objects are immutable after
 * construction and contain no cycles.
 *
 * Ownership: parameters are borrowed, results are owned. A function that keeps a value takes its
 * own reference (value_ref). A function with `take` in its name takes over the caller's reference.
 * Other constructors below copy plain data and take references to given values. */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H
#include "base/buf.h"
#include "base/map.h"
#include "base/sym.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_tag {
    V_NIL, /* the empty list */
    V_NUM,
    V_BOOL,
    V_ATOM, /* payload num */
    V_SYM,
    V_STR,
    V_PAIR,
    V_ARRAY,  /* boxed */
    V_VECTOR, /* unboxed doubles; simplex when the object's flag says so */
    V_MATRIX, /* column-major doubles */
    V_DICT,
    V_REF,  /* reference: a value, or a node of a trace */
    V_ENV,  /* box */
    V_PROC, /* box: builtin, compound, memoized, made */
    V_BOX   /* box: kernel, mean function, action, model, subproblem, dataset, model expression */
};

struct obj {
    uint32_t refs;
    uint32_t flags;
};
#define OBJ_CODE    1u /* an array made by quote: code, spliced as code */
#define OBJ_SIMPLEX 2u /* a vector of probabilities */

struct box;
typedef struct value {
    uint32_t tag; /* enum value_tag */
    union {
        double num;
        bool boolean;
        struct sym *sym;
        struct obj *obj;
        struct box *box;
        struct str_obj *str;
        struct pair_obj *pair;
        struct array_obj *array;
        struct vector_obj *vector;
        struct matrix_obj *matrix;
        struct dict_obj *dict;
        struct ref_obj *ref;
    } u;
} value;

struct str_obj {
    struct obj o;
    size_t len;
    char text[];
};
struct pair_obj {
    struct obj o;
    union {
        struct {
            value first, rest;
        };
        value at[2];
    };
};
struct array_obj {
    struct obj o;
    size_t n;
    value at[];
};
struct vector_obj {
    struct obj o;
    size_t n;
    double at[];
};
struct matrix_obj {
    struct obj o;
    size_t rows, cols;
    double at[]; /* element (i, j) at i + j * rows */
};
struct dict_obj {
    struct obj o;
    size_t n;
    value *kv; /* n keys and values alternating, as inserted; a later equal key replaces */
    bool indexed;
    struct map index; /* hash of the key -> position + 1 */
};
struct ref_obj {
    struct obj o;
    value v;    /* the value, when untraced */
    void *node; /* borrowed: the trace node it refers to, or NULL */
};

/* The parts of a pair, array, dictionary (keys and values alternating) or reference, borrowed;
 * other values have no parts. */
const value *value_parts(value v, size_t *n);

/* Does the value or any nested part pass the test? A shared part is tested at most twice; the walk
 * ends at the first success. */
bool value_any(value v, bool (*test)(value part, void *ctx), void *ctx);

/* Payloads unknown to this layer: the first member of the object is a struct box. */
/* Visits every counted reference of an object, each once; see runtime/core/cycles.c. */
struct frame;
struct visitor {
    void (*value)(struct visitor *v, value x);
    void (*frame)(struct visitor *v, struct frame *f);
    /* A part with references of its own. refs: how often it is held; 0: it has a single owner, but
     * may be visited many times. */
    void (*part)(struct visitor *v, void *part, uint32_t refs,
                 void (*visit)(void *part, struct visitor *v));
};

struct pack;
struct box_class {
    const char *name;                                    /* "kernel", "procedure", "action", ... */
    void (*release)(struct box *b);                      /* its contents, not the object; or NULL */
    void (*print)(const struct box *b, struct buf *out); /* NULL: <name> */
    bool (*equal)(const struct box *a, const struct box *b); /* NULL: identity */
    uint64_t (*hash)(const struct box *b);                   /* NULL: address; goes with equal */
    /* `+ - * /` and similar operators if a or b is of this class: op is "add", "sub", "mul", ...
     * GPM_E_NOT_FOUND: not for these two. NULL: no arithmetic. */
    enum gpm_status (*arith)(const char *op, value a, value b, value *out);
    /* Adjoints *da, *db (owned) given that of the result. NULL: no gradient. */
    enum gpm_status (*arith_grad)(const char *op, value a, value b, value dresult, value *da,
                                  value *db);
    void (*visit)(struct box *b, struct visitor *v); /* NULL: its references are hidden */
    void (*clear)(struct box *b); /* drops its references when a cycle is opened; or NULL */
    bool copies;                  /* holds parts of traces, to be copied */
    size_t size;                  /* of the object; box_new and readers of packs make it */
    /* Writes the contents, or reads them into a new object of zeros (base/pack.h). NULL: cannot be
     * saved. */
    void (*pack)(struct pack *p, struct box *b);
};
struct box {
    struct obj o;
    const struct box_class *cls;
};

#define IS_OBJ(v) ((v).tag >= V_STR)
void value_free_(value v); /* after the last reference */
/* Objects of this layer (all but boxes) alive in the process; 0 unless built with GPMEM_CHECKS. */
long value_live_count(void);
static inline value value_ref(value v) {
    if (IS_OBJ(v)) v.u.obj->refs++;
    return v;
}
static inline void value_unref(value v) {
    if (IS_OBJ(v) && --v.u.obj->refs == 0) value_free_(v);
}
/* *dst = take v; the old value is released. */
static inline void value_set_take(value *dst, value v) {
    value old = *dst;
    *dst = v;
    value_unref(old);
}

#define NIL ((value){.tag = V_NIL})
static inline value value_num(double x) {
    return (value){.tag = V_NUM, .u.num = x};
}
static inline value value_bool(bool b) {
    return (value){.tag = V_BOOL, .u.boolean = b};
}
static inline value value_atom(double x) {
    return (value){.tag = V_ATOM, .u.num = x};
}
static inline value value_sym(struct sym *s) {
    return (value){.tag = V_SYM, .u.sym = s};
}
/* A number, atom or boolean as a double; false for other values. */
static inline bool value_number(value v, double *out) {
    *out = v.tag == V_BOOL ? (double)v.u.boolean : v.u.num;
    return v.tag == V_NUM || v.tag == V_ATOM || v.tag == V_BOOL;
}
value value_str(const char *s, size_t n);
value value_cstr(const char *s);
value value_pair(value first, value rest);
value value_pair_take(value first, value rest); /* the caller's references */
value value_array(const value *at, size_t n);   /* references taken of each */
value value_array_new(size_t n);                /* filled with NIL; fill before sharing */
value value_vector(const double *at, size_t n); /* copied */
value value_vector_new(size_t n);               /* uninitialised; fill before sharing */
value value_matrix(const double *at, size_t rows, size_t cols); /* copied, by columns */
value value_matrix_new(size_t rows, size_t cols);               /* zeroed */
value value_list(const value *at, size_t n);                    /* pairs ending in NIL */
value value_dict(const value *kv, size_t n);                    /* 2n values: key, value in turn */
value value_ref_to(value v, void *node);
value value_numbers(const double *at, size_t n); /* an array of these numbers */
/* A dictionary with these keys; takes ownership of the values. */
value value_dict_take(const char *const *keys, value *vals, size_t n);
static inline value value_box(uint32_t tag, struct box *b) { /* takes the caller's reference */
    return (value){.tag = tag, .u.box = b};
}
/* Starts the header of a box with one reference. */
static inline void box_init(struct box *b, const struct box_class *cls) {
    b->o.refs = 1;
    b->o.flags = 0;
    b->cls = cls;
}
void *box_new(const struct box_class *cls); /* one reference; zeros after the header */

/* Equality of keys in memo tables, dictionaries, blocks and agreeing particles. It is structural;
 * numbers compare by value, and NaN equals NaN. Different types are unequal. Arrays, vectors and
 * lists compare only with their own kind, except that an array and a vector of equal numbers are
 * equal. */
bool value_equal(value a, value b);
uint64_t value_hash(value v); /* agrees with value_equal */
/* The operator ==: the same, except that a NaN equals nothing, not even itself. */
bool value_equal_arithmetic(value a, value b);
/* Total order for sorting blocks: numbers < atoms < booleans < symbols and strings < sequences. */
int value_compare(value a, value b);

/* Sequences: list, array or vector. */
bool seq_is(value v);                        /* proper list, array, vector */
bool seq_length(value v, size_t *n);         /* false: not a sequence */
bool seq_get(value v, size_t i, value *out); /* owned element; false: no such index */
/* The elements in turn, borrowed: while (seq_next(&w, &item)), starting with w = {v}. A value that
 * is not a sequence has no elements; w.rest is then the tail of a chain of pairs. */
struct seq_walk {
    value rest;
    size_t i;
};
static inline bool seq_next(struct seq_walk *w, value *item) {
    value v = w->rest;
    if (v.tag == V_PAIR) {
        *item = v.u.pair->first;
        w->rest = v.u.pair->rest;
        w->i = SIZE_MAX; /* an array as the tail of an improper list is not part of it */
        return true;
    }
    if (v.tag == V_ARRAY && w->i < v.u.array->n) {
        *item = v.u.array->at[w->i++];
        return true;
    }
    if (v.tag != V_VECTOR || w->i >= v.u.vector->n) return false;
    *item = value_num(v.u.vector->at[w->i++]);
    return true;
}
/* Elements as an array of owned references; caller frees with values_free. */
bool seq_items(value v, value **items, size_t *n);
void seq_or_one(value v, value **items, size_t *n); /* the same; otherwise the value itself */
void values_free(value *items, size_t n);
/* Numbers (or booleans as 0/1) of a sequence; caller frees with mem_free. */
bool seq_numbers(value v, double **out, size_t *n);
/* A sequence of the same kind as `like` (list, array or vector) from items, taking over their
 * references. A vector requires numbers; otherwise an array is made. */
value seq_like_take(value like, value *items, size_t n);
/* Copies a matrix, or a sequence of number sequences of equal length, column by column; false for
 * other values. *ragged: the first row whose length differs from row 0, else 0. */
bool seq_matrix(value v, double **out, size_t *rows, size_t *cols, size_t *ragged);
bool value_has_nan(value v); /* the value or one of its items */
/* dict: borrowed value or NULL */
const value *dict_find(const struct dict_obj *d, value key);
/* Fills an empty dictionary that has no readers yet, for code that needs the object before its
 * keys. */
void dict_fill(struct dict_obj *d, const value *kv, size_t n);

/* Names of scopes, blocks and labels: a string equals the symbol. */
bool value_name_equal(value a, value b);
uint64_t value_name_hash(value v); /* agrees with value_name_equal */

const char *value_text(value v);      /* of a string or symbol, borrowed; NULL for other values */
const char *value_type_name(value v); /* "number", "array", ... with article-free wording */
/* The canonical printer: shortest round-trip numbers, [a, b] arrays and vectors, (a, b) lists, "s"
 * strings, bare symbols, () nil, dicts as {k: v}, <kind ...> for opaque values. */
void value_print(value v, struct buf *out);
/* The same, but sequences stop (without a mark) after about max bytes; for messages. */
void value_print_max(value v, size_t max, struct buf *out);
void value_print_json(value v, struct buf *out);
#endif
