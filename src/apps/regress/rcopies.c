/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that repeat others in all columns. Two measurements may well agree, where outcomes have few
 * values; taken for measurements copies would say that there is no noise. So they are left out
 *   - of an outcome whose values hardly ever repeat otherwise,
 *   - where all rows stand twice, or three times, or ...: a table behind itself. Of measurements
 *     that agree by chance some agree an odd number of times.
 */
#include "base/mem.h"
#include "apps/regress/rtable.h"
#include <stdlib.h>
#include <string.h>

struct row_of {
    const struct rtable *t;
    size_t row;
};

static int compare_values(const struct row_of *p, const struct row_of *q) {
    size_t d = (size_t)p->t->d;
    double y = p->t->y[p->row], z = p->t->y[q->row];
    if (y != z) return y < z ? -1 : 1;
    for (size_t k = 0; k < d; k++) {
        double u = p->t->x[p->row * d + k], v = p->t->x[q->row * d + k];
        if (u != v) return u < v ? -1 : 1;
    }
    return 0;
}

/* Among equal rows the first of the file comes first. */
static int compare_rows(const void *a, const void *b) {
    const struct row_of *p = a, *q = b;
    int order = compare_values(p, q);
    return order ? order : p->row < q->row ? -1 : p->row > q->row;
}

static size_t common_divisor(size_t a, size_t b) {
    while (b) {
        size_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Of sorted rows: how many differ, how many values the outcome has, and the number that divides how
 * often each row stands in the table. */
static void count_rows(const struct rtable *t, const struct row_of *key, size_t *rows,
                       size_t *values, size_t *times) {
    size_t run = 1;
    *rows = *values = 1;
    *times = 0;
    for (size_t i = 1; i < t->n; i++) {
        *values += t->y[key[i].row] != t->y[key[i - 1].row];
        if (!compare_values(&key[i], &key[i - 1])) {
            run++;
            continue;
        }
        *times = common_divisor(*times, run);
        run = 1;
        ++*rows;
    }
    *times = common_divisor(*times, run);
}

/* Keeps the first of every `times` equal rows; 0: of all equal ones. */
static void keep_first(struct rtable *t, const struct row_of *key, size_t times) {
    size_t d = (size_t)t->d, kept = 0, run = 0;
    bool *copy = mem_zalloc(t->n * sizeof *copy);
    for (size_t i = 0; i < t->n; i++) {
        run = i && !compare_values(&key[i], &key[i - 1]) ? run + 1 : 0;
        copy[key[i].row] = times ? run % times != 0 : run != 0;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (copy[i]) continue;
        memmove(t->x + kept * d, t->x + i * d, d * sizeof *t->x);
        t->y[kept] = t->y[i];
        t->line[kept++] = t->line[i];
    }
    t->n = kept;
    mem_free(copy);
}

void rtable_drop_copies(struct rtable *t) {
    enum { CHANCE = 20 }; /* so many different rows do not all stand twice by chance */
    size_t rows, values, times, before = t->n;
    struct row_of *key = NEW_ARRAY(struct row_of, t->n);
    for (size_t i = 0; i < t->n; i++) key[i] = (struct row_of){t, i};
    qsort(key, t->n, sizeof *key, compare_rows);
    count_rows(t, key, &rows, &values, &times);
    if (rows < before && rows >= RTABLE_LEAST && 10 * values >= 9 * rows) {
        keep_first(t, key, 0);
        bool one = before - t->n == 1;
        buf_printf(&t->notes, "%zu row%s others in every column and count%s once\n", before - t->n,
                   one ? " repeats" : "s repeat", one ? "s" : "");
    } else if (times > 1 && rows >= CHANCE) {
        keep_first(t, key, times);
        buf_printf(&t->notes, "every row stands %zu times in the table, and counts once\n", times);
    }
    mem_free(key);
}
