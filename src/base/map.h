/* SPDX-License-Identifier: Apache-2.0
 *
 * One hash map: 64-bit keys (pointers, hashes) to pointers; open addressing, deletion by shifting.
 * For keys that are not integers, callers hash and keep chains behind the pointer. For any choice
 * of keys few collide, since slots depend on a secret of the process. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct map_slot {
    uint64_t key;
    void *val; /* NULL: empty slot; values must not be NULL */
};
struct map {
    struct map_slot *slots;
    size_t n, cap; /* cap is 0 or a power of two */
};

void map_release(struct map *m);
void *map_get(const struct map *m, uint64_t key); /* NULL when absent */
void map_put(struct map *m, uint64_t key, void *val);
void *map_del(struct map *m, uint64_t key); /* returns the old value or NULL */
/* The same in every process: for streams of random numbers and for written data. */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);
/* For keys of tables only. It includes a secret of the process, so an author of keys cannot make
 * them collide. No visible result may depend on it, or on the order of slots. */
uint64_t hash_key(const void *p, size_t n, uint64_t seed);
/* The hash of a sequence extended by one part. */
static inline uint64_t hash_key_add(uint64_t h, uint64_t part) {
    return hash_key(&part, sizeof part, h);
}
static inline uint64_t hash_mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}
/* Numbers as parts of keys: 0 and -0 are one key, and so are all NaNs (under == a NaN would never
 * be found again). Code that hashes a number for a key must use hash_num. */
static inline bool same_number(double a, double b) {
    return a == b || (a != a && b != b);
}
static inline uint64_t hash_num(double x) {
    uint64_t bits;
    x = x == 0 ? 0 : x != x ? (double)NAN : x;
    memcpy(&bits, &x, sizeof bits);
    return hash_mix(bits + 0x9e3779b97f4a7c15ULL);
}
#define MAP_PTR(p) ((uint64_t)(uintptr_t)(p))
#endif
