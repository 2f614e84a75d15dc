/* SPDX-License-Identifier: Apache-2.0
 * Interned symbols; see sym.h. */
#include "base/sym.h"

#include <string.h>

void sym_table_release(struct sym_table *t) {
    map_release(&t->map);
    arena_release(&t->arena);
}

struct sym *sym_intern(struct sym_table *t, const char *s, size_t n) {
    uint64_t h = hash_key(s, n, 0);
    struct sym *first = map_get(&t->map, h);
    for (struct sym *y = first; y; y = y->next)
        if (y->len == n && !memcmp(y->text, s, n)) return y;
    struct sym *y = arena_alloc(&t->arena, sizeof *y + n + 1);
    y->hash = h;
    y->next = first;
    y->len = (uint32_t)n;
    memcpy(y->text, s, n);
    y->text[n] = 0;
    map_put(&t->map, h, y);
    return y;
}

struct sym *sym_cstr(struct sym_table *t, const char *s) {
    return sym_intern(t, s, strlen(s));
}
