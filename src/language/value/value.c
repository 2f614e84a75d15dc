/* SPDX-License-Identifier: Apache-2.0
 *
 * Construction, release, equality, hashing and order of values. Nothing here recurses on the depth
 * of user data: release, equality and order use an explicit stack, and hashing stops at a fixed
 * depth. A value nested a million times is as safe as a flat one. */
#include "language/value/value.h"

#include "base/mem.h"
#include "base/work.h"
#include "base/vec.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static atomic_long live; /* objects made here and not yet freed; test builds only */
#ifdef GPMEM_CHECKS
#define COUNT_LIVE(d) atomic_fetch_add(&live, (d))
#else
#define COUNT_LIVE(d) ((void)0)
#endif

long value_live_count(void) {
    return atomic_load(&live);
}

/* ---- construction ------------------------------------------------------------------------- */

static void *obj_new(size_t size) {
    struct obj *o = mem_alloc(size);
    o->refs = 1;
    o->flags = 0;
    COUNT_LIVE(1);
    return o;
}

value value_str(const char *s, size_t n) {
    struct str_obj *o = obj_new(sizeof *o + n + 1);
    o->len = n;
    if (n) memcpy(o->text, s, n);
    o->text[n] = 0;
    return (value){.tag = V_STR, .u.str = o};
}

value value_cstr(const char *s) {
    return value_str(s, strlen(s));
}

value value_pair(value first, value rest) {
    return value_pair_take(value_ref(first), value_ref(rest));
}

value value_pair_take(value first, value rest) {
    struct pair_obj *o = obj_new(sizeof *o);
    o->first = first;
    o->rest = rest;
    return (value){.tag = V_PAIR, .u.pair = o};
}

value value_array_new(size_t n) {
    struct array_obj *o = obj_new(sizeof *o + n * sizeof(value));
    o->n = n;
    for (size_t i = 0; i < n; i++) o->at[i] = NIL;
    return (value){.tag = V_ARRAY, .u.array = o};
}

value value_array(const value *at, size_t n) {
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = value_ref(at[i]);
    return v;
}

value value_vector_new(size_t n) {
    struct vector_obj *o = obj_new(sizeof *o + n * sizeof(double));
    o->n = n;
    return (value){.tag = V_VECTOR, .u.vector = o};
}

value value_vector(const double *at, size_t n) {
    value v = value_vector_new(n);
    if (n) memcpy(v.u.vector->at, at, n * sizeof *at);
    return v;
}

value value_matrix_new(size_t rows, size_t cols) {
    size_t bytes = rows * cols * sizeof(double);
    struct matrix_obj *o = obj_new(sizeof *o + bytes);
    o->rows = rows;
    o->cols = cols;
    if (bytes) memset(o->at, 0, bytes);
    return (value){.tag = V_MATRIX, .u.matrix = o};
}

value value_matrix(const double *at, size_t rows, size_t cols) {
    value v = value_matrix_new(rows, cols);
    if (rows && cols) memcpy(v.u.matrix->at, at, rows * cols * sizeof *at);
    return v;
}

value value_list(const value *at, size_t n) {
    value v = NIL;
    while (n--) v = value_pair_take(value_ref(at[n]), v);
    return v;
}

value value_ref_to(value v, void *node) {
    struct ref_obj *o = obj_new(sizeof *o);
    o->v = value_ref(v);
    o->node = node;
    return (value){.tag = V_REF, .u.ref = o};
}

const value *value_parts(value v, size_t *n) {
    switch (v.tag) {
    case V_PAIR: *n = 2; return v.u.pair->at;
    case V_ARRAY: *n = v.u.array->n; return v.u.array->at;
    case V_DICT: *n = 2 * v.u.dict->n; return v.u.dict->kv;
    case V_REF: *n = 1; return &v.u.ref->v;
    default: *n = 0; return NULL;
    }
}

struct some_parts {
    const value *at;
    size_t n;
};

bool value_any(value v, bool (*test)(value part, void *ctx), void *ctx) {
    enum { SMALL = 256 }; /* number of steps without bookkeeping */
    VEC(struct some_parts) left = {0};
    struct map met = {0};
    bool found = test(v, ctx);
    struct some_parts p;
    p.at = value_parts(v, &p.n);
    if (!found && p.n) vec_push(&left, p);
    size_t asked = 0;
    for (size_t steps = 0; !found && left.n && !work_step(&asked); steps++) {
        struct some_parts *last = &vec_last(&left);
        value x = *last->at++;
        if (--last->n == 0) left.n--;
        found = test(x, ctx);
        p.at = value_parts(x, &p.n);
        if (!p.n || (x.u.obj->refs > 1 && map_get(&met, MAP_PTR(x.u.obj)))) continue;
        if (x.u.obj->refs > 1 && steps > SMALL) map_put(&met, MAP_PTR(x.u.obj), x.u.obj);
        vec_push(&left, p);
    }
    vec_release(&left);
    map_release(&met);
    return found;
}

/* ---- dictionaries: keys and values in order of insertion ---------------------------------- */

/* From INDEX_FROM keys on, a map from hashes to positions finds a key in constant time. Another key
 * with the same hash is stored under the next one. Smaller dictionaries are scanned. */
enum { INDEX_FROM = 8 };

/* Returns d->n if missing. *slot: the hash under which its position is, or will be, indexed. */
static size_t find_position(const struct dict_obj *d, value key, uint64_t *slot) {
    size_t p = 0;
    if (d->indexed) {
        for (*slot = value_hash(key); (p = (size_t)map_get(&d->index, *slot));
             *slot = hash_mix(*slot))
            if (value_equal(d->kv[2 * (p - 1)], key)) return p - 1;
        return d->n;
    }
    while (p < d->n && !value_equal(d->kv[2 * p], key)) p++;
    return p;
}

const value *dict_find(const struct dict_obj *d, value key) {
    uint64_t slot;
    size_t i = find_position(d, key, &slot);
    return i < d->n ? &d->kv[2 * i + 1] : NULL;
}

static void dict_put(struct dict_obj *d, value key, value v) {
    uint64_t slot;
    size_t i = find_position(d, key, &slot);
    if (i < d->n) {
        value_set_take(&d->kv[2 * i + 1], value_ref(v));
        return;
    }
    if (d->indexed) map_put(&d->index, slot, (void *)(uintptr_t)(d->n + 1));
    d->kv[2 * d->n] = value_ref(key);
    d->kv[2 * d->n + 1] = value_ref(v);
    d->n++;
}

void dict_fill(struct dict_obj *d, const value *kv, size_t n) {
    mem_free(d->kv);
    d->n = 0;
    d->kv = NEW_ARRAY(value, 2 * (n ? n : 1));
    d->index = (struct map){0};
    d->indexed = n >= INDEX_FROM;
    for (size_t i = 0; i < n; i++) dict_put(d, kv[2 * i], kv[2 * i + 1]);
}

value value_dict(const value *kv, size_t n) {
    struct dict_obj *d = obj_new(sizeof *d);
    d->kv = NULL;
    dict_fill(d, kv, n);
    return (value){.tag = V_DICT, .u.dict = d};
}

/* ---- release ------------------------------------------------------------------------------ */

typedef VEC(value) value_stack;

/* Drops one reference; objects freed with it are pushed on the stack. */
static void drop(value v, value_stack *pending) {
    if (IS_OBJ(v) && --v.u.obj->refs == 0) vec_push(pending, v);
}

/* The class of a box releases its contents, which may lead to another box (a procedure to its
 * frame, which holds a procedure, and so on). Beyond some depth a box waits for the outermost
 * release. */
static void free_box(value v, value_stack *pending) {
    enum { NESTED = 200 };
    static _Thread_local unsigned depth;
    static _Thread_local value_stack *outermost;
    if (depth == 0) outermost = pending;
    if (depth == NESTED) {
        vec_push(outermost, v);
        return;
    }
    depth++;
    if (v.u.box->cls->release) v.u.box->cls->release(v.u.box);
    mem_free(v.u.box);
    depth--;
}

static void free_one(value v, value_stack *pending) {
    if (v.tag >= V_ENV) {
        free_box(v, pending);
        return;
    }
    size_t n;
    const value *part = value_parts(v, &n);
    for (size_t i = 0; i < n; i++) drop(part[i], pending);
    if (v.tag == V_DICT) {
        mem_free(v.u.dict->kv);
        map_release(&v.u.dict->index);
    }
    mem_free(v.u.obj);
    COUNT_LIVE(-1);
}

value value_numbers(const double *at, size_t n) {
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = value_num(at[i]);
    return v;
}

value value_dict_take(const char *const *keys, value *vals, size_t n) {
    value *kv = NEW_ARRAY(value, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        kv[2 * i] = value_cstr(keys[i]);
        kv[2 * i + 1] = vals[i];
    }
    value d = value_dict(kv, n);
    values_free(kv, 2 * n);
    return d;
}

const char *value_text(value v) {
    if (v.tag == V_STR) return v.u.str->text;
    return v.tag == V_SYM && v.u.sym ? v.u.sym->text : NULL;
}

void *box_new(const struct box_class *cls) {
    struct box *b = mem_zalloc(cls->size);
    box_init(b, cls);
    return b;
}

void value_free_(value v) {
    value_stack pending = {0};
    free_one(v, &pending);
    while (pending.n) free_one(vec_pop(&pending), &pending);
    vec_release(&pending);
}

void values_free(value *items, size_t n) {
    for (size_t i = 0; i < n; i++) value_unref(items[i]);
    mem_free(items);
}

/* ---- equality ----------------------------------------------------------------------------- */

struct two {
    value a, b;
};
typedef VEC(struct two) two_stack;

static void push_two(two_stack *pending, value a, value b) {
    vec_push(pending, ((struct two){a, b}));
}

static size_t n_parts(value v) {
    size_t n;
    (void)value_parts(v, &n);
    return v.tag == V_VECTOR ? v.u.vector->n : n;
}

/* Pushes the first n parts of two values in pairs, the first on top; a vector's parts are
 * numbers. */
static void push_parts(two_stack *pending, value a, value b, size_t n) {
    size_t all;
    const value *x = value_parts(a, &all), *y = value_parts(b, &all);
    while (n--)
        push_two(pending, x ? x[n] : value_num(a.u.vector->at[n]),
                 y ? y[n] : value_num(b.u.vector->at[n]));
}

/* Under `==` a NaN equals nothing, as in arithmetic; as part of a key it equals itself. */
enum nan_rule { NAN_IS_ITSELF, NAN_EQUALS_NOTHING };

static bool numbers_equal(double a, double b, enum nan_rule rule) {
    return rule == NAN_IS_ITSELF ? same_number(a, b) : a == b;
}

static bool doubles_equal(const double *a, const double *b, size_t n, enum nan_rule rule) {
    for (size_t i = 0; i < n; i++)
        if (!numbers_equal(a[i], b[i], rule)) return false;
    return true;
}

static bool dict_equal(const struct dict_obj *a, const struct dict_obj *b, two_stack *pending) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const value *other = dict_find(b, a->kv[2 * i]);
        if (!other) return false;
        push_two(pending, a->kv[2 * i + 1], *other);
    }
    return true;
}

/* Equality of two values without their parts, which are pushed on the stack. */
static bool equal_one(value a, value b, two_stack *pending, enum nan_rule rule) {
    bool arrays =
        (a.tag == V_ARRAY && b.tag == V_VECTOR) || (a.tag == V_VECTOR && b.tag == V_ARRAY);
    if (a.tag != b.tag && !arrays) return false;
    if (rule == NAN_IS_ITSELF && IS_OBJ(a) && a.u.obj == b.u.obj) return true;
    switch (arrays ? V_ARRAY : a.tag) {
    case V_NIL: return true;
    case V_NUM:
    case V_ATOM: return numbers_equal(a.u.num, b.u.num, rule);
    case V_BOOL: return a.u.boolean == b.u.boolean;
    case V_SYM: return a.u.sym == b.u.sym;
    case V_STR:
        return a.u.str->len == b.u.str->len &&
               memcmp(a.u.str->text, b.u.str->text, a.u.str->len) == 0;
    case V_PAIR:
    case V_ARRAY:
        if (n_parts(a) != n_parts(b)) return false;
        push_parts(pending, a, b, n_parts(a));
        return true;
    case V_VECTOR:
        return a.u.vector->n == b.u.vector->n &&
               doubles_equal(a.u.vector->at, b.u.vector->at, a.u.vector->n, rule);
    case V_MATRIX:
        return a.u.matrix->rows == b.u.matrix->rows && a.u.matrix->cols == b.u.matrix->cols &&
               doubles_equal(a.u.matrix->at, b.u.matrix->at, a.u.matrix->rows * a.u.matrix->cols,
                             rule);
    case V_DICT: return dict_equal(a.u.dict, b.u.dict, pending);
    case V_REF:
        if (a.u.ref == b.u.ref) return true;
        if (a.u.ref->node || b.u.ref->node) return a.u.ref->node == b.u.ref->node;
        push_two(pending, a.u.ref->v, b.u.ref->v);
        return true;
    default: {
        const struct box_class *cls = a.u.box->cls;
        return a.u.box == b.u.box ||
               (cls == b.u.box->cls && cls->equal && cls->equal(a.u.box, b.u.box));
    }
    }
}

static bool equal(value a, value b, enum nan_rule rule) {
    two_stack pending = {0};
    size_t steps = 0;
    bool same = equal_one(a, b, &pending, rule);
    while (same && pending.n && !work_step(&steps)) {
        struct two t = vec_pop(&pending);
        same = equal_one(t.a, t.b, &pending, rule);
    }
    vec_release(&pending);
    return same;
}

bool value_equal(value a, value b) {
    return equal(a, b, NAN_IS_ITSELF);
}

bool value_equal_arithmetic(value a, value b) {
    return equal(a, b, NAN_EQUALS_NOTHING);
}

/* The text of a string or symbol; false for other values. */
static bool text_of(value v, const char **s, size_t *n) {
    if (v.tag == V_STR) {
        *s = v.u.str->text;
        *n = v.u.str->len;
    } else if (v.tag == V_SYM) {
        *s = v.u.sym->text;
        *n = v.u.sym->len;
    } else
        return false;
    return true;
}

bool value_name_equal(value a, value b) {
    const char *s, *t;
    size_t m, n;
    if (text_of(a, &s, &m) && text_of(b, &t, &n)) return m == n && memcmp(s, t, m) == 0;
    return value_equal(a, b);
}

/* ---- hashing ------------------------------------------------------------------------------ */

/* Parts beyond this number are not hashed: shared arrays can have astronomically many. */
enum { HASH_DEPTH = 24, HASH_ITEMS = 1 << 20 };

/* *left: number of parts that may still be hashed. */
static bool spend(size_t *left, size_t n) {
    bool enough = *left >= n;
    *left -= enough ? n : *left;
    return enough;
}

static uint64_t hash_at(value v, int depth, size_t *left);

/* Gives the same hash as an array of the same numbers. */
static uint64_t hash_doubles(uint64_t h, const double *at, size_t n, int depth, size_t *left) {
    for (size_t i = 0; i < n && *left; i++)
        h = hash_key_add(h, hash_at(value_num(at[i]), depth + 1, left));
    return h;
}

static uint64_t hash_list(value v, int depth, size_t *left) {
    uint64_t h = 0x11;
    for (; v.tag == V_PAIR && spend(left, 1); v = v.u.pair->rest)
        h = hash_key_add(h, hash_at(v.u.pair->first, depth + 1, left));
    return v.tag == V_PAIR ? h : hash_key_add(h, hash_at(v, depth + 1, left));
}

/* Dictionaries are equal whatever the order of insertion, so the hashes of entries are added. Each
 * entry may use the same number of parts. */
static uint64_t hash_dict(const struct dict_obj *d, int depth, size_t *left) {
    uint64_t h = 0x33;
    size_t share = *left / (d->n + 1);
    for (size_t i = 0; i < d->n; i++) {
        size_t own = share;
        uint64_t key = hash_at(d->kv[2 * i], depth + 1, &own);
        h += hash_key_add(key, hash_at(d->kv[2 * i + 1], depth + 1, &own));
    }
    *left = share;
    return hash_mix(h);
}

static uint64_t hash_at(value v, int depth, size_t *left) {
    uint64_t h;
    size_t n;
    if (depth > HASH_DEPTH || !spend(left, 1)) return 0x77;
    switch (v.tag) {
    case V_NIL: return 0x9d;
    case V_NUM: return hash_num(v.u.num);
    case V_ATOM: return hash_mix(hash_num(v.u.num) + 1);
    case V_BOOL: return v.u.boolean ? 0x517cc1b727220a95ULL : 0x2545f4914f6cdd1dULL;
    case V_SYM: return hash_mix(v.u.sym->hash);
    case V_STR: return hash_key(v.u.str->text, v.u.str->len, 5);
    case V_PAIR: return hash_list(v, depth, left);
    case V_ARRAY:
        h = 0x22;
        for (size_t i = 0; i < v.u.array->n && *left; i++)
            h = hash_key_add(h, hash_at(v.u.array->at[i], depth + 1, left));
        return h;
    case V_VECTOR: return hash_doubles(0x22, v.u.vector->at, v.u.vector->n, depth, left);
    case V_MATRIX:
        n = v.u.matrix->rows * v.u.matrix->cols;
        return hash_doubles(v.u.matrix->rows, v.u.matrix->at, n, depth, left);
    case V_DICT: return hash_dict(v.u.dict, depth, left);
    case V_REF:
        return v.u.ref->node ? hash_mix(MAP_PTR(v.u.ref->node))
                             : hash_key_add(3, hash_at(v.u.ref->v, depth + 1, left));
    default: return v.u.box->cls->hash ? v.u.box->cls->hash(v.u.box) : hash_mix(MAP_PTR(v.u.box));
    }
}

uint64_t value_hash(value v) {
    size_t left = HASH_ITEMS;
    return hash_at(v, 0, &left);
}

uint64_t value_name_hash(value v) {
    const char *s;
    size_t n;
    return text_of(v, &s, &n) ? hash_key(s, n, 5) : value_hash(v);
}

/* ---- order -------------------------------------------------------------------------------- */

static const int rank_of[] = {
    [V_NIL] = 4,  [V_NUM] = 0,  [V_BOOL] = 2,  [V_ATOM] = 1,   [V_SYM] = 3,
    [V_STR] = 3,  [V_PAIR] = 4, [V_ARRAY] = 5, [V_VECTOR] = 5, [V_MATRIX] = 6,
    [V_DICT] = 7, [V_REF] = 8,  [V_ENV] = 9,   [V_PROC] = 10,  [V_BOX] = 11};

/* NaN sorts after every number, so that the order stays total. */
static int compare_nums(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_sizes(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int compare_text(value a, value b) {
    const char *s, *t;
    size_t m, n;
    if (!text_of(a, &s, &m) || !text_of(b, &t, &n)) return 0;
    int c = memcmp(s, t, m < n ? m : n);
    if (c) return c < 0 ? -1 : 1;
    return m != n ? compare_sizes(m, n) : (a.tag > b.tag) - (a.tag < b.tag);
}

static int compare_matrices(const struct matrix_obj *a, const struct matrix_obj *b) {
    int c = compare_sizes(a->rows, b->rows);
    if (!c) c = compare_sizes(a->cols, b->cols);
    for (size_t i = 0; !c && i < a->rows * a->cols; i++) c = compare_nums(a->at[i], b->at[i]);
    return c;
}

static int compare_one(value a, value b, two_stack *pending) {
    int ra = rank_of[a.tag], rb = rank_of[b.tag];
    size_t m, n;
    if (IS_OBJ(a) && IS_OBJ(b) && a.u.obj == b.u.obj) return 0;
    if (ra != rb) return ra < rb ? -1 : 1;
    switch (a.tag) {
    case V_NUM:
    case V_ATOM: return compare_nums(a.u.num, b.u.num);
    case V_BOOL: return (int)a.u.boolean - (int)b.u.boolean;
    case V_SYM:
    case V_STR: return compare_text(a, b);
    case V_MATRIX: return compare_matrices(a.u.matrix, b.u.matrix);
    case V_NIL:
    case V_PAIR:
    case V_ARRAY:
    case V_VECTOR:
    case V_DICT: /* by elements first, then by length */
        m = n_parts(a), n = n_parts(b);
        if (m != n) push_two(pending, value_num((double)m), value_num((double)n));
        push_parts(pending, a, b, m < n ? m : n);
        return 0;
    default: /* no natural order: by address, equal values equal */
        if (value_equal(a, b)) return 0;
        return (uintptr_t)a.u.obj < (uintptr_t)b.u.obj ? -1 : 1;
    }
}

int value_compare(value a, value b) {
    two_stack pending = {0};
    size_t steps = 0;
    int c = compare_one(a, b, &pending);
    while (!c && pending.n && !work_step(&steps)) {
        struct two t = vec_pop(&pending);
        c = compare_one(t.a, t.b, &pending);
    }
    vec_release(&pending);
    return c;
}

/* ---- names -------------------------------------------------------------------------------- */

const char *value_type_name(value v) {
    static const char *const name[] = {
        [V_NIL] = "empty list",  [V_NUM] = "number",      [V_BOOL] = "boolean",
        [V_ATOM] = "atom",       [V_SYM] = "symbol",      [V_STR] = "string",
        [V_PAIR] = "list",       [V_ARRAY] = "array",     [V_VECTOR] = "vector",
        [V_MATRIX] = "matrix",   [V_DICT] = "dictionary", [V_REF] = "reference",
        [V_ENV] = "environment", [V_PROC] = "procedure",  [V_BOX] = "object"};
    if (v.tag == V_BOX) return v.u.box->cls->name;
    if (v.tag == V_VECTOR && (v.u.obj->flags & OBJ_SIMPLEX)) return "simplex";
    return name[v.tag];
}
