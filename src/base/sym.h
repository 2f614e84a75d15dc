/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned symbols, compared by address. One table per session, of zeros at first: no globals,
 * so two sessions may run in two threads.
 */
#ifndef BASE_SYM_H
#define BASE_SYM_H
#include "base/arena.h"
#include "base/map.h"
#include <stddef.h>
#include <stdint.h>

struct sym {
    uint64_t hash;
    struct sym *next; /* same hash */
    uint32_t len;
    char text[]; /* NUL-terminated */
};
struct sym_table {
    struct map map;
    struct arena arena;
};

void sym_table_release(struct sym_table *t);
struct sym *sym_intern(struct sym_table *t, const char *s, size_t n);
struct sym *sym_cstr(struct sym_table *t, const char *s);
#endif
