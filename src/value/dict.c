/* SPDX-License-Identifier: Apache-2.0
 *
 * Dictionaries: keys and values in order of insertion. From INDEX_FROM keys on, an open-addressing
 * table of positions makes finding constant time; smaller ones are scanned.
 */
#include "base/mem.h"
#include "value/value.h"

enum { INDEX_FROM = 8 };

static size_t index_size(size_t n) {
    size_t cap = 16;
    while (cap < 2 * n) cap *= 2;
    return cap;
}

/* The slot of the index that holds `key`, or the empty slot where it belongs. */
static size_t find_slot(const struct dict_obj *d, value key) {
    size_t mask = d->index_cap - 1, i = value_hash(key) & mask;
    while (d->index[i] && !value_equal(d->kv[2 * (d->index[i] - 1)], key)) i = (i + 1) & mask;
    return i;
}

static size_t find_position(const struct dict_obj *d, value key) { /* d->n: none */
    if (d->index) {
        uint32_t p = d->index[find_slot(d, key)];
        return p ? p - 1 : d->n;
    }
    for (size_t i = 0; i < d->n; i++)
        if (value_equal(d->kv[2 * i], key)) return i;
    return d->n;
}

const value *dict_find(const struct dict_obj *d, value key) {
    size_t i = find_position(d, key);
    return i < d->n ? &d->kv[2 * i + 1] : NULL;
}

static void put(struct dict_obj *d, value key, value v) {
    size_t i = find_position(d, key);
    if (i < d->n) {
        value_set_take(&d->kv[2 * i + 1], value_ref(v));
        return;
    }
    if (d->index) d->index[find_slot(d, key)] = (uint32_t)(d->n + 1);
    d->kv[2 * d->n] = value_ref(key);
    d->kv[2 * d->n + 1] = value_ref(v);
    d->n++;
}

value value_dict(const value *kv, size_t n) {
    struct dict_obj *d = dict_alloc_();
    d->n = 0;
    d->kv = NEW_ARRAY(value, 2 * (n ? n : 1));
    d->index = NULL;
    d->index_cap = 0;
    if (n >= INDEX_FROM) {
        d->index_cap = index_size(n);
        d->index = mem_zalloc(d->index_cap * sizeof *d->index);
    }
    for (size_t i = 0; i < n; i++) put(d, kv[2 * i], kv[2 * i + 1]);
    return (value){.tag = V_DICT, .u.dict = d};
}
