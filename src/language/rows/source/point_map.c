/* SPDX-License-Identifier: Apache-2.0
 *
 * See point_map.h. */
#include "language/rows/source/point_map.h"

#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const double *x, int dim) {
    return hash_key(x, (size_t)dim * sizeof *x, 7);
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

static int by_input(const void *a, const void *b, void *bytes) {
    const struct point_entry *const *x = a, *const *y = b;
    return memcmp((*x)->x, (*y)->x, *(size_t *)bytes);
}

void point_map_pack(struct pack *p, struct map *m, int dim) {
    VEC(struct point_entry *) all = {0};
    size_t bytes = (size_t)dim * sizeof(double);
    for (size_t i = 0; i < m->cap; i++)
        for (struct point_entry *e = m->slots[i].val; e; e = e->next) vec_push(&all, e);
    if (all.n) qsort_r(all.at, all.n, sizeof *all.at, by_input, &bytes);
    size_t n = all.n;
    pack_count(p, &n, sizeof(double));
    for (size_t i = 0; !p->reading && i < n; i++) {
        pack_doubles(p, all.at[i]->x, (size_t)dim);
        pack_double(p, &all.at[i]->y);
        pack_u32(p, &all.at[i]->count);
    }
    vec_release(&all);
    double *x = NEW_ARRAY(double, (size_t)dim + 1), y;
    for (size_t i = 0; p->reading && i < n && pack_ok(p); i++) {
        uint32_t count;
        pack_doubles(p, x, (size_t)dim);
        pack_double(p, &y);
        pack_u32(p, &count);
        if (pack_ok(p)) point_map_add(m, x, dim, y)->count = count;
    }
    mem_free(x);
}
