/* SPDX-License-Identifier: Apache-2.0
 *
 * See column_names.h.
 */
#include "base/column_names.h"
#include "base/mem.h"

void column_names_begin_row(struct column_names *c) {
    c->rows++;
}

static bool is_next(const struct column_names *c, size_t i, const char *name) {
    return i < c->names.n && c->row.at[i] != c->rows && !strcmp(c->names.at[i], name);
}

size_t column_names_take(struct column_names *c, const char *name, size_t guess) {
    size_t i = guess;
    if (!is_next(c, i, name)) {
        uint64_t key = hash_key(name, strlen(name), 0);
        for (void *at; (at = map_get(&c->places, key)); key++)
            if (is_next(c, i = (size_t)(uintptr_t)at - 1, name)) break;
        if (!map_get(&c->places, key)) {
            i = c->names.n;
            vec_push(&c->names, mem_strdup(name));
            vec_push(&c->row, 0);
            map_put(&c->places, key, (void *)(uintptr_t)(i + 1));
        }
    }
    c->row.at[i] = c->rows;
    return i;
}

bool column_names_has(const struct column_names *c, const char *name) {
    uint64_t key = hash_key(name, strlen(name), 0);
    for (void *at; (at = map_get(&c->places, key)); key++)
        if (!strcmp(c->names.at[(size_t)(uintptr_t)at - 1], name)) return true;
    return false;
}

void column_names_free(struct column_names *c) {
    for (size_t i = 0; i < c->names.n; i++) mem_free(c->names.at[i]);
    vec_release(&c->names);
    vec_release(&c->row);
    map_release(&c->places);
    *c = (struct column_names){0};
}
