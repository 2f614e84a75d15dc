/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_draws: infer/draws.h for the outside.
 */
#include "gpmem/draws.h"
#include "base/mem.h"
#include "base/number.h"
#include "infer/draws.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpm_draws {
    VEC(char *) names;
    VEC(double *) chains; /* rows one after the other */
    VEC(size_t) rows;     /* per chain */
    struct buf text;
};

gpm_draws *gpm_draws_new(void) {
    gpm_draws *d = NEW(gpm_draws);
    buf_init(&d->text);
    return d;
}

void gpm_draws_free(gpm_draws *d) {
    if (!d) return;
    for (size_t i = 0; i < d->names.n; i++) mem_free(d->names.at[i]);
    for (size_t i = 0; i < d->chains.n; i++) mem_free(d->chains.at[i]);
    vec_release(&d->names);
    vec_release(&d->chains);
    vec_release(&d->rows);
    buf_release(&d->text);
    mem_free(d);
}

/* ---- reading ---- */

struct csv {
    const char *at, *end;
    size_t line;
    char *err;
    size_t err_size;
};

static enum gpm_status fail(const struct csv *c, const char *what) {
    snprintf(c->err, c->err_size, "line %zu: %s", c->line, what);
    return GPM_E_FORMAT;
}

/* The next complete line that is no comment; false: no more. */
static bool next_line(struct csv *c, const char **line, size_t *len) {
    while (c->at < c->end) {
        const char *nl = memchr(c->at, '\n', (size_t)(c->end - c->at));
        if (!nl) return false; /* cut off in the middle of a row */
        *line = c->at;
        *len = (size_t)(nl - c->at);
        c->at = nl + 1;
        c->line++;
        if (*len && (*line)[*len - 1] == '\r') --*len;
        if (*len && **line != '#') return true;
    }
    return false;
}

static enum gpm_status read_header(gpm_draws *d, const struct csv *c, const char *line,
                                   size_t len) {
    size_t k = 0;
    bool first = d->chains.n == 0;
    for (size_t at = 0; at <= len; k++) {
        const char *comma = memchr(line + at, ',', len - at);
        size_t n = comma ? (size_t)(comma - line) - at : len - at;
        if (first) {
            vec_push(&d->names, mem_strndup(line + at, n));
        } else if (k >= d->names.n || strlen(d->names.at[k]) != n ||
                   memcmp(d->names.at[k], line + at, n) != 0) {
            return fail(c, "the chains have different columns");
        }
        at += n + 1;
    }
    return k == d->names.n ? GPM_OK : fail(c, "the chains have different columns");
}

static enum gpm_status read_row(const gpm_draws *d, const struct csv *c, const char *line,
                                size_t len, double *row) {
    const char *at = line, *end = line + len;
    for (size_t k = 0; k < d->names.n; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (!number_parse(at, (size_t)(stop - at), &row[k]))
            return fail(c, "a number is missing or malformed");
        bool last = k + 1 == d->names.n;
        if (last != !comma) return fail(c, "the number of columns is wrong");
        at = stop + !last;
    }
    return GPM_OK;
}

enum gpm_status gpm_draws_add_csv(gpm_draws *d, const char *text, size_t len, char *err,
                                  size_t err_size) {
    struct csv c = {text, text + len, 0, err, err_size};
    const char *line;
    size_t n, rows = 0;
    VEC(double) cells = {0};
    if (!next_line(&c, &line, &n)) return fail(&c, "there is no header");
    enum gpm_status st = read_header(d, &c, line, n);
    double *row = NEW_ARRAY(double, d->names.n ? d->names.n : 1);
    while (st == GPM_OK && next_line(&c, &line, &n)) {
        st = read_row(d, &c, line, n, row);
        for (size_t k = 0; st == GPM_OK && k < d->names.n; k++) vec_push(&cells, row[k]);
        if (st == GPM_OK) rows++;
    }
    mem_free(row);
    if (st == GPM_OK) {
        vec_push(&d->chains, cells.at);
        vec_push(&d->rows, rows);
    } else {
        vec_release(&cells);
        while (d->chains.n == 0 && d->names.n) mem_free(vec_pop(&d->names));
    }
    return st;
}

/* ---- asking ---- */

size_t gpm_draws_chains(const gpm_draws *d) {
    return d->chains.n;
}

size_t gpm_draws_columns(const gpm_draws *d) {
    return d->names.n;
}

size_t gpm_draws_rows(const gpm_draws *d) {
    size_t least = d->rows.n ? d->rows.at[0] : 0;
    for (size_t i = 1; i < d->rows.n; i++) least = d->rows.at[i] < least ? d->rows.at[i] : least;
    return least;
}

const char *gpm_draws_name(const gpm_draws *d, size_t column) {
    return d->names.at[column];
}

double gpm_draws_at(const gpm_draws *d, size_t chain, size_t row, size_t column) {
    return d->chains.at[chain][row * d->names.n + column];
}

static void make_table(const gpm_draws *d, struct draw_table *t) {
    draw_table_init(t, (const char *const *)d->names.at, d->names.n, d->chains.n);
    for (size_t c = 0; c < d->chains.n; c++) {
        for (size_t r = 0; r < d->rows.at[c]; r++) {
            draw_table_push(t, c, d->chains.at[c] + r * d->names.n);
        }
    }
}

const char *gpm_draws_summary(gpm_draws *d, enum gpm_format format) {
    struct draw_table t;
    buf_reset(&d->text);
    make_table(d, &t);
    if (format == GPM_FORMAT_JSON) {
        draw_table_summary_json(&t, &d->text);
    } else {
        draw_table_summary(&t, &d->text);
    }
    draw_table_release(&t);
    return d->text.data;
}

const char *gpm_draws_complaints(gpm_draws *d) {
    struct draw_table t;
    size_t rows = gpm_draws_rows(d);
    buf_reset(&d->text);
    make_table(d, &t);
    for (size_t j = 0; j < d->names.n && d->chains.n; j++) {
        struct draws_summary s;
        double *x = draw_table_column(&t, j);
        draws_summarise(x, d->chains.n, rows, &s);
        (void)draws_complain(&s, x, d->chains.n, rows, d->names.at[j], &d->text);
        mem_free(x);
    }
    draw_table_release(&t);
    return d->text.data;
}

const char *gpm_draws_json(gpm_draws *d) {
    struct draw_table t;
    buf_reset(&d->text);
    make_table(d, &t);
    draw_table_json(&t, &d->text);
    draw_table_release(&t);
    return d->text.data;
}
