/* SPDX-License-Identifier: Apache-2.0
 * Hash map; see map.h. */
#include "base/map.h"
#include "base/mem.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t secret[3];

__attribute__((constructor)) static void make_secret(void) {
    if (getentropy(secret, sizeof secret) != 0) { /* better than none */
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        for (int i = 0; i < 3; i++) secret[i] = hash_mix(MAP_PTR(&now) + (uint64_t)now.tv_nsec + i);
    }
    secret[2] |= 1;
}

void map_release(struct map *m) {
    mem_free(m->slots);
    memset(m, 0, sizeof *m);
}

/* The upper bits of a product with a secret odd number (Dietzfelbinger 1997): two keys collide with
 * a probability of at most 2 / cap. */
static size_t home(const struct map *m, uint64_t key) {
    return (size_t)(hash_mix(key) * secret[2] >> (__builtin_clzll(m->cap) + 1));
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

/* ---- SipHash-1-3 (Aumasson and Bernstein 2012) ---- */

static inline uint64_t turn(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[2] += v[3];
    v[1] = turn(v[1], 13) ^ v[0], v[3] = turn(v[3], 16) ^ v[2];
    v[0] = turn(v[0], 32);
    v[2] += v[1], v[0] += v[3];
    v[1] = turn(v[1], 17) ^ v[2], v[3] = turn(v[3], 21) ^ v[0];
    v[2] = turn(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

uint64_t hash_key(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t v[] = {secret[0] ^ 0x736f6d6570736575ULL, secret[1] ^ 0x646f72616e646f6dULL,
                    secret[0] ^ 0x6c7967656e657261ULL, secret[1] ^ 0x7465646279746573ULL};
    uint64_t word, last = (uint64_t)n << 56;
    sip_word(v, seed);
    for (; n >= sizeof word; s += sizeof word, n -= sizeof word) {
        memcpy(&word, s, sizeof word);
        sip_word(v, word);
    }
    for (size_t i = 0; i < n; i++) last |= (uint64_t)s[i] << 8 * i;
    sip_word(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
