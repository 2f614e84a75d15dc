/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums for long-lived files, equal on every machine and in every version. A change within one
 * aligned group of eight bytes is always detected, any other with probability 1 - 2^-64. They
 * protect against corruption, not against attackers; base/own.h does that. */
#ifndef BASE_SUM_H
#define BASE_SUM_H
#include <stddef.h>
#include <stdint.h>

/* An injective step: different bits of h or of word give a different result. */
static inline uint64_t sum_word(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
    return h ^ h >> 32;
}

/* The checksum of bytes in pieces; starts with h, which is 0 or an earlier checksum. */
struct sum {
    uint64_t h, word;
    uint64_t n; /* number of bytes added */
};

static inline void sum_add(struct sum *s, const void *data, size_t n) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) {
        s->word |= (uint64_t)p[i] << 8 * (s->n++ % 8);
        if (s->n % 8) continue;
        s->h = sum_word(s->h, s->word);
        s->word = 0;
    }
}

static inline uint64_t sum_end(const struct sum *s) {
    return sum_word(sum_word(s->h, s->word), s->n);
}

/* The checksum of n bytes that follow those with checksum h (0: no earlier bytes). */
static inline uint64_t sum_bytes(uint64_t h, const void *data, size_t n) {
    struct sum s = {.h = h};
    sum_add(&s, data, n);
    return sum_end(&s);
}
#endif
