/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as people write them in tables: decimal commas, thousands separators (comma, point,
 * blank, apostrophe), signs and names of currencies, percent signs, units of measure, a true
 * minus, negative ones in parentheses, thousands and millions as 987K and 1.2M, marks of footnotes
 * behind a few of the values (12.3*, 12.3 (p), 12.3e). A column has one style; what one cell says
 * of it holds for all. (Numbers of programs are base/number's; this is the one place that reads
 * those of people.)
 *
 * A column of yes and no, or true and false, alone is one of 1 and 0.
 *
 * 1,234 is 1234 or 1.234. Other cells decide (12,5 or 1,234,567 or 0,123); where none does, the
 * style is open, and the caller asks.
 */
#ifndef HOST_AMOUNTS_H
#define HOST_AMOUNTS_H
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct number_style {
    char decimal;      /* '.' or ',' */
    bool thousands;    /* separators between thousands were left out */
    bool open;         /* commas can be read both ways: not decided */
    char unit[8];      /* "%", "$", "EUR", "kWh"; "": none */
    const char *truth; /* all cells are this word for 1 or its opposite, for 0; NULL: numbers */
    bool magnitudes;   /* K, M, B multiply */
    size_t noted;      /* cells with footnote marks; 0: none expected */
    char notes[24];    /* and these */
    const char *doubt; /* a cell that leaves it open, borrowed */
};
/* decimal: '.' or ',' as the user said, 0 to find it. Cells may be NULL (missing). */
void number_style_find(size_t n, const char *const *cells, char decimal, struct number_style *out);
/* "the comma of '1,234' may separate decimals or thousands, and no other value tells". */
void number_style_doubt(const struct number_style *s, struct buf *out);
/* A finite number; false if the cell is not a number in this style. */
bool number_style_read(const struct number_style *s, const char *cell, double *out);
/* ", decimal commas, thousands separators, in EUR": what was unusual. */
void number_style_say(const struct number_style *s, struct buf *out);
#endif
