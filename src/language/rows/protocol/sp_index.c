/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of procedures. The flat list of the families' rows (named in front/rows.c), the table
 * of names and the parsed signatures are computed once and never change. So sessions in several
 * threads share them. */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    const struct sp_class **rows = NEW_ARRAY(const struct sp_class *, sp_family_count);
    size_t *count = NEW_ARRAY(size_t, sp_family_count);
    for (size_t f = 0; f < sp_family_count; f++) {
        rows[f] = sp_families[f].rows;
        count[f] = sp_families[f].make ? sp_families[f].make(&rows[f]) : *sp_families[f].count;
        all.n += count[f];
    }
    all.rows = NEW_ARRAY(const struct sp_class *, all.n);
    all.sigs = NEW_ARRAY(struct sp_sig, all.n);
    all.order = NEW_ARRAY(size_t, all.n);
    size_t k = 0;
    for (size_t f = 0; f < sp_family_count; f++)
        for (size_t i = 0; i < count[f]; i++, k++) {
            all.rows[k] = &rows[f][i];
            all.order[k] = k;
            sp_sig_parse(all.rows[k]->sig, &all.sigs[k]);
        }
    mem_free(rows);
    mem_free(count);
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
