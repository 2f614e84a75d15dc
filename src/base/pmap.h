/* SPDX-License-Identifier: Apache-2.0
 *
 * A persistent map: 64-bit keys to pointers. A version is its counted root. Adding an entry gives a
 * new version that shares everything except the path to the new entry, in O(log n) time and memory.
 * NULL is the empty map. map.h changes in place. */
#ifndef BASE_PMAP_H
#define BASE_PMAP_H
#include <stdint.h>

struct pmap;
struct pmap *pmap_ref(struct pmap *m);
void pmap_unref(struct pmap *m);
void *pmap_get(const struct pmap *m, uint64_t key); /* NULL if absent */
/* Takes over the reference to m and returns one to the new version, which is m itself if it has no
 * other holder. val NULL: removes the key. */
struct pmap *pmap_put(struct pmap *m, uint64_t key, void *val);
#endif
