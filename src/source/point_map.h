/* SPDX-License-Identifier: Apache-2.0
 *
 * Values at points of one dimension: a hash table from inputs to one number and a count. Inputs
 * are compared by their bytes; callers turn -0 into 0. */
#ifndef SOURCE_POINT_MAP_H
#define SOURCE_POINT_MAP_H
#include "base/map.h"

struct point_entry {
    struct point_entry *next; /* of the same hash */
    double y;
    uint32_t count;
    double x[];
};
struct point_map {
    struct map table; /* hash of the input -> struct point_entry */
};

/* NULL: not there. */
struct point_entry *point_map_find(const struct point_map *m, const double *x, int dim);
/* An entry for an input that is not there; its count is 1. */
struct point_entry *point_map_add(struct point_map *m, const double *x, int dim, double y);
void point_map_remove(struct point_map *m, struct point_entry *e, int dim);
void point_map_copy(struct point_map *to, const struct point_map *from, int dim); /* to: zeroed */
void point_map_release(struct point_map *m);
#endif
