/* SPDX-License-Identifier: Apache-2.0
 * Rows of sums and means among those of a table: see csv.h. */
#include "base/ascii.h"
#include "base/mem.h"
#include "table/table.h"
#include <math.h>
#include <string.h>

bool csv_total(const char *cell) {
    static const char *const words[] = {"total", "totals", "subtotal", "sum", "average", "mean"};
    while (*cell) {
        while (*cell && !ascii_alpha(*cell)) cell++;
        size_t n = 0;
        while (ascii_alpha(cell[n])) n++;
        for (size_t i = 0; i < COUNT_OF(words); i++)
            if (n == strlen(words[i]) && !ascii_ncasecmp(cell, words[i], n)) return true;
        cell += n;
    }
    return false;
}

static const char *first_cell(const struct csv *c, size_t row) {
    int j = 0;
    while (j + 1 < c->n_cols && !*csv_text(c, row, j)) j++;
    return csv_text(c, row, j);
}

/* The numbers of all cells; NaN for other cells. */
static double *numbers(const struct csv *c, char decimal) {
    size_t n = c->n_rows, d = (size_t)c->n_cols;
    double *v = NEW_ARRAY(double, n *d + 1);
    for (size_t j = 0; j < d; j++) {
        struct table_column k;
        table_column_read(&k, c, (int)j, &(struct column_wish){.decimal = decimal});
        for (size_t i = 0; i < n; i++) v[i * d + j] = k.x[i];
        table_column_release(&k);
    }
    return v;
}

#define ROUNDED 0.005 /* of a mean, at most */

/* Are half of a row's numbers sums or means over the rows from `from` on that are not totals
 * themselves? */
static bool adds_up(const double *v, size_t d, size_t from, size_t row, const bool *says) {
    size_t all = 0, right = 0;
    for (size_t j = 0; j < d; j++) {
        double sum = 0, size = 0, n = 0, own = v[row * d + j];
        for (size_t i = from; i < row; i++)
            if (!says[i] && !isnan(v[i * d + j]))
                n++, sum += v[i * d + j], size += fabs(v[i * d + j]);
        if (isnan(own) || n < 2) continue;
        all++;
        right += fabs(own - sum) <= ROUNDED * size || fabs(own - sum / n) <= ROUNDED * size / n;
    }
    return all && 2 * right >= all;
}

/* The label of no row that stays. */
static bool only_here(const struct csv *c, size_t row, const bool *drop) {
    for (size_t i = 0; i < c->n_rows; i++)
        if (i != row && !drop[i] && !strcmp(first_cell(c, i), first_cell(c, row))) return false;
    return true;
}

size_t csv_drop_totals(struct csv *c, char decimal, size_t *line) {
    size_t n = c->n_rows, said = 0, out = 0, from = 0;
    bool *says = mem_zalloc(2 * (n + 1) * sizeof *says), *drop = says + n + 1;
    for (size_t i = 0; i < n; i++) said += says[i] = csv_total(first_cell(c, i));
    double *v = said && said < n ? numbers(c, decimal) : NULL;
    for (size_t i = 0; i < n && v; i++) {
        if (!says[i]) continue;
        drop[i] = adds_up(v, (size_t)c->n_cols, from, i, says) ||
                  adds_up(v, (size_t)c->n_cols, 0, i, says);
        if (drop[i]) from = i + 1;
    }
    for (size_t i = n; i-- > 0 && v && says[i];) drop[i] = drop[i] || only_here(c, i, drop);
    for (size_t i = n; i-- > 0;)
        if (drop[i]) out++, *line = c->lines[i];
    if (out) csv_drop(c, drop);
    mem_free(v);
    mem_free(says);
    return out;
}
