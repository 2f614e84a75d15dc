/* SPDX-License-Identifier: Apache-2.0
 *
 * Dictionaries: keys and values in order of insertion. From INDEX_FROM keys on, a map from hashes
 * to positions makes finding constant time (another key of the same hash stands under the next
 * one); smaller ones are scanned.
 */
#include "base/mem.h"
#include "value/value.h"

enum { INDEX_FROM = 8 };

/* d->n: none. *slot: under which hash its position stands in the index, or belongs. */
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

static void put(struct dict_obj *d, value key, value v) {
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

value value_dict(const value *kv, size_t n) {
    struct dict_obj *d = dict_alloc_();
    d->n = 0;
    d->kv = NEW_ARRAY(value, 2 * (n ? n : 1));
    d->index = (struct map){0};
    d->indexed = n >= INDEX_FROM;
    for (size_t i = 0; i < n; i++) put(d, kv[2 * i], kv[2 * i + 1]);
    return (value){.tag = V_DICT, .u.dict = d};
}
