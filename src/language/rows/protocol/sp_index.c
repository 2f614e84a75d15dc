/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of procedures. A family file ends with `const struct sp_class sp_NAME_rows[]` and
 * `const size_t sp_NAME_count`; adding a family is one line of families.def. Rows that another
 * table gives rise to (constructors of kernels) are made by `sp_NAME_make`. The flat list, the
 * table of names and the parsed signatures are worked out once and never change after that, so
 * sessions in several threads share them.
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY(name)                                                                               \
    extern const struct sp_class sp_##name##_rows[];                                               \
    extern const size_t sp_##name##_count;
#define MADE(name) extern size_t sp_##name##_make(const struct sp_class **rows);
#include "language/rows/protocol/families.def"
#undef FAMILY
#undef MADE

static const struct family {
    const struct sp_class *rows;
    const size_t *count;
    size_t (*make)(const struct sp_class **rows); /* rows made from another table, once */
} families[] = {
#define FAMILY(name) {sp_##name##_rows, &sp_##name##_count, NULL},
#define MADE(name)   {NULL, NULL, sp_##name##_make},
#include "language/rows/protocol/families.def"
#undef FAMILY
#undef MADE
};

static struct {
    size_t n;
    const struct sp_class **rows;
    struct sp_sig *sigs;
    size_t *order; /* row numbers, by name */
} all;
static pthread_once_t all_once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b) {
    return strcmp(all.rows[*(const size_t *)a]->name, all.rows[*(const size_t *)b]->name);
}

static int name_at(const void *name, const void *row) {
    return strcmp(name, all.rows[*(const size_t *)row]->name);
}

static void build(void) {
    const struct sp_class *rows[COUNT_OF(families)];
    size_t count[COUNT_OF(families)];
    for (size_t f = 0; f < COUNT_OF(families); f++) {
        rows[f] = families[f].rows;
        count[f] = families[f].make ? families[f].make(&rows[f]) : *families[f].count;
        all.n += count[f];
    }
    all.rows = NEW_ARRAY(const struct sp_class *, all.n);
    all.sigs = NEW_ARRAY(struct sp_sig, all.n);
    all.order = NEW_ARRAY(size_t, all.n);
    size_t k = 0;
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (size_t i = 0; i < count[f]; i++, k++) {
            all.rows[k] = &rows[f][i];
            all.order[k] = k;
            sp_sig_parse(all.rows[k]->sig, &all.sigs[k]);
        }
    qsort(all.order, all.n, sizeof *all.order, by_name);
}

static void ready(void) {
    pthread_once(&all_once, build);
}

size_t sp_index_count(void) {
    ready();
    return all.n;
}

const struct sp_class *sp_index_at(size_t i) {
    ready();
    return all.rows[i];
}

const struct sp_sig *sp_index_sig(size_t i) {
    ready();
    return &all.sigs[i];
}

long sp_index_number(const char *name) {
    ready();
    const size_t *at = bsearch(name, all.order, all.n, sizeof *all.order, name_at);
    return at ? (long)*at : -1;
}

const struct sp_class *sp_index_find(const char *name) {
    long i = sp_index_number(name);
    return i < 0 ? NULL : all.rows[i];
}
