/* SPDX-License-Identifier: Apache-2.0
 *
 * A persistent map: 64-bit keys to pointers. A version of it is its root, which is counted; putting
 * something in gives another version that shares all but the way to the new entry, O(log n) of
 * both. NULL is the empty one. For what changes in place see map.h.
 */
#ifndef BASE_PMAP_H
#define BASE_PMAP_H
#include <stdint.h>

struct pmap;
struct pmap *pmap_ref(struct pmap *m);
void pmap_unref(struct pmap *m);
void *pmap_get(const struct pmap *m, uint64_t key); /* NULL when absent */
/* Takes over the reference to m and returns one to the new version, which is m itself if it has no
 * other holder. val NULL: removes the key. */
struct pmap *pmap_put(struct pmap *m, uint64_t key, void *val);
#endif
