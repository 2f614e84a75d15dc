/* SPDX-License-Identifier: Apache-2.0
 * The list of kernel families and lookup by name. */
#include "gp/kernel/kern_tree.h"

#include "base/mem.h"
#include "base/suggest.h"

#include <string.h>

static const struct kern_class *const families[] = {
    kern_rows_stationary, kern_rows_periodic, kern_rows_linear,
    kern_rows_noise,      kern_rows_platform, kern_rows_change,
};

const struct kern_class *kern_class_at(size_t i) {
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (const struct kern_class *row = families[f]; row->name; row++)
            if (i-- == 0) return row;
    return NULL;
}

const struct kern_class *kern_class_with(const struct kern_class *row, size_t npar) {
    const struct kern_class *found = row;
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (const struct kern_class *other = families[f]; other->name; other++)
            if (other->npar == npar && strcmp(other->name, row->name) == 0) found = other;
    return found;
}

bool kern_class_called(const struct kern_class *cls, const char *name) {
    return strcmp(cls->name, name) == 0 || (cls->op == KERN_LEAF && strcmp(cls->symbol, name) == 0);
}

const struct kern_class *kern_class_find(const char *name) {
    const struct kern_class *row;
    for (size_t i = 0; (row = kern_class_at(i)); i++)
        if (kern_class_called(row, name)) return row;
    return NULL;
}

const struct kern_class *kern_class_of(enum kern_algebra algebra, enum kern_amp amp, size_t npar) {
    const struct kern_class *row;
    for (size_t i = 0; (row = kern_class_at(i)); i++)
        if (row->algebra == algebra && row->amp == amp && row->npar == npar) break;
    return row;
}

const char *kern_class_maker(const struct kern_class *cls, size_t i) {
    if (cls->op == KERN_CHANGE || i > 1) return NULL;
    return i == 0 && !cls->maker[0] && strncmp(cls->name, "gp_cov_", 7) == 0 ? cls->name
                                                                             : cls->maker[i];
}
const struct kern_class *kern_change_class(bool window) {
    return &kern_rows_change[window];
}
const char *kern_class_suggest(const char *name) {
    const struct kern_class *row;
    const char *best = NULL;
    size_t near = strlen(name) / 3 + 2;
    for (size_t i = 0; (row = kern_class_at(i)); i++) {
        size_t d = edit_distance(name, row->name);
        if (d < near) near = d, best = row->name;
    }
    return best;
}
