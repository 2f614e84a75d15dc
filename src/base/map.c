/* SPDX-License-Identifier: Apache-2.0
 * Hash map; see map.h. */
#include "base/map.h"
#include "base/mem.h"

#include <string.h>

void map_release(struct map *m) {
    mem_free(m->slots);
    memset(m, 0, sizeof *m);
}

static size_t home(const struct map *m, uint64_t key) {
    return (size_t)hash_mix(key) & (m->cap - 1);
}

void *map_get(const struct map *m, uint64_t key) {
    if (!m->n) return NULL;
    for (size_t i = home(m, key); m->slots[i].val; i = (i + 1) & (m->cap - 1))
        if (m->slots[i].key == key) return m->slots[i].val;
    return NULL;
}

static void put_slot(struct map *m, uint64_t key, void *val) {
    size_t i = home(m, key);
    while (m->slots[i].val && m->slots[i].key != key) i = (i + 1) & (m->cap - 1);
    if (!m->slots[i].val) m->n++;
    m->slots[i] = (struct map_slot){key, val};
}

void map_put(struct map *m, uint64_t key, void *val) {
    if (2 * (m->n + 1) > m->cap) {
        struct map old = *m;
        m->cap = old.cap ? old.cap * 2 : 16;
        m->slots = mem_zalloc(m->cap * sizeof *m->slots);
        m->n = 0;
        for (size_t i = 0; i < old.cap; i++)
            if (old.slots[i].val) put_slot(m, old.slots[i].key, old.slots[i].val);
        mem_free(old.slots);
    }
    put_slot(m, key, val);
}

void *map_del(struct map *m, uint64_t key) {
    if (!m->n) return NULL;
    size_t i = home(m, key), mask = m->cap - 1;
    while (m->slots[i].val && m->slots[i].key != key) i = (i + 1) & mask;
    void *old = m->slots[i].val;
    if (!old) return NULL;
    m->n--;
    for (size_t j = (i + 1) & mask; m->slots[j].val; j = (j + 1) & mask) {
        size_t h = home(m, m->slots[j].key);
        if (((j - h) & mask) >= ((j - i) & mask)) { /* slot j may move back to i */
            m->slots[i] = m->slots[j];
            i = j;
        }
    }
    m->slots[i].val = NULL;
    return old;
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325ULL ^ hash_mix(seed + 1);
    for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001b3ULL;
    return hash_mix(h ^ n);
}
