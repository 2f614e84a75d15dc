/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns identified by names in rows: the first row with a name adds the column. A name that
 * occurs twice in a row is two columns. A value missing in a row is absent: a special NaN with the
 * bits of R's NA. */
#ifndef BASE_COLUMN_NAMES_H
#define BASE_COLUMN_NAMES_H
#include "base/map.h"
#include "base/vec.h"
#include <stdbool.h>
#include <string.h>

struct column_names {
    VEC(char *) names; /* owned */
    VEC(uint64_t) row; /* number of the last row that has the column */
    struct map places; /* hash of a name -> 1 + index, as a pointer */
    uint64_t rows;     /* number of rows begun */
};
void column_names_begin_row(struct column_names *c);
/* The index of the next column with this name in the current row; tries `guess` first. */
size_t column_names_take(struct column_names *c, const char *name, size_t guess);
bool column_names_has(const struct column_names *c, const char *name);
void column_names_free(struct column_names *c);

static inline double number_absent(void) {
    const uint64_t bits = 0x7FF80000000007A2;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/* Copying a NaN may change its upper bits. */
static inline bool number_is_absent(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x && (uint32_t)bits == 1954;
}
#endif
