/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional system libraries, opened by name when needed. They stay open. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* A function, and where to store the pointer to it. */
struct library_symbol {
    const char *name;
    void *at;
};

/* Fills the pointers of a table that ends with {0}. Returns NULL, or the first name missing in the
 * library. */
static inline const char *library_bind(void *library, const struct library_symbol *s) {
    for (void *found; s->name; s++) {
        if (!(found = dlsym(library, s->name))) return s->name;
        memcpy(s->at, &found, sizeof found); /* ISO C has no cast to function pointers */
    }
    return NULL;
}

/* false: the library or one of its functions is missing. */
static inline bool library_load(const char *name, const struct library_symbol *symbols) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library && !library_bind(library, symbols);
}
#endif
