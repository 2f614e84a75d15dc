/* SPDX-License-Identifier: Apache-2.0
 *
 * Values at points of one dimension: a map from the hash of an input to a struct point_entry with
 * one number and a count. Inputs are compared by their bytes; callers turn -0 into 0. */
#ifndef SOURCE_POINT_MAP_H
#define SOURCE_POINT_MAP_H
#include "base/map.h"
#include "base/pack.h"

struct point_entry {
    struct point_entry *next; /* with the same hash */
    double y;
    uint32_t count;
    double x[];
};

/* NULL if missing. */
struct point_entry *point_map_find(const struct map *m, const double *x, int dim);
/* Adds an entry for a missing input, with count 1. */
struct point_entry *point_map_add(struct map *m, const double *x, int dim, double y);
void point_map_remove(struct map *m, struct point_entry *e, int dim);
void point_map_release(struct map *m);
void point_map_pack(struct pack *p, struct map *m, int dim); /* read into an empty one */
#endif
