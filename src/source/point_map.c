/* SPDX-License-Identifier: Apache-2.0
 *
 * See point_map.h. */
#include "source/point_map.h"

#include "base/mem.h"
#include <string.h>

static uint64_t hash_of(const double *x, int dim) {
    return hash_bytes(x, (size_t)dim * sizeof *x, 7);
}

struct point_entry *point_map_find(const struct map *m, const double *x, int dim) {
    if (!m->n) return NULL;
    struct point_entry *e = map_get(m, hash_of(x, dim));
    while (e && memcmp(e->x, x, (size_t)dim * sizeof *x) != 0) e = e->next;
    return e;
}

struct point_entry *point_map_add(struct map *m, const double *x, int dim, double y) {
    size_t bytes = (size_t)dim * sizeof *x;
    uint64_t h = hash_of(x, dim);
    struct point_entry *e = mem_alloc(sizeof *e + bytes);
    e->y = y;
    e->count = 1;
    memcpy(e->x, x, bytes);
    e->next = map_get(m, h);
    map_put(m, h, e);
    return e;
}

void point_map_remove(struct map *m, struct point_entry *e, int dim) {
    uint64_t h = hash_of(e->x, dim);
    struct point_entry *first = map_get(m, h), *before = first;
    if (first != e) {
        while (before->next != e) before = before->next;
        before->next = e->next;
    } else if (e->next)
        map_put(m, h, e->next);
    else
        map_del(m, h);
    mem_free(e);
}

void point_map_copy(struct map *to, const struct map *from, int dim) {
    for (size_t i = 0; i < from->cap; i++)
        for (struct point_entry *e = from->slots[i].val; e; e = e->next)
            point_map_add(to, e->x, dim, e->y)->count = e->count;
}

void point_map_release(struct map *m) {
    for (size_t i = 0; i < m->cap; i++) {
        struct point_entry *e = m->slots[i].val, *next;
        for (; e; e = next) {
            next = e->next;
            mem_free(e);
        }
    }
    map_release(m);
}
