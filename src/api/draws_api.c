/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_draws: infer/draws.h for the outside.
 */
#include "gpmem/draws.h"
#include "base/mem.h"
#include "base/number.h"
#include "infer/draws.h"
#include <stdio.h>
#include <string.h>

struct gpm_draws {
    struct draw_table t; /* without columns before the first chain */
    struct buf text;
};

gpm_draws *gpm_draws_new(void) {
    gpm_draws *d = NEW(gpm_draws);
    buf_init(&d->text);
    return d;
}

void gpm_draws_free(gpm_draws *d) {
    if (!d) return;
    draw_table_release(&d->t);
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

/* Splits off the first field of a line; *len is SIZE_MAX after the last. */
static size_t next_field(const char **line, size_t *len, const char **field) {
    const char *comma = memchr(*line, ',', *len);
    size_t n = comma ? (size_t)(comma - *line) : *len;
    *field = *line;
    *line += comma ? n + 1 : n;
    *len = comma ? *len - n - 1 : SIZE_MAX;
    return n;
}

static enum gpm_status read_header(struct draw_table *t, const struct csv *c, const char *line,
                                   size_t len) {
    VEC(char *) names = {0};
    const char *field;
    while (len != SIZE_MAX) {
        size_t n = next_field(&line, &len, &field);
        vec_push(&names, mem_strndup(field, n));
    }
    bool same = names.n == t->n_cols;
    for (size_t k = 0; k < names.n && same; k++) same = !strcmp(names.at[k], t->names[k]);
    if (!t->chain.n) {
        t->names = names.at;
        t->n_cols = names.n;
        return GPM_OK;
    }
    for (size_t k = 0; k < names.n; k++) mem_free(names.at[k]);
    vec_release(&names);
    return same ? GPM_OK : fail(c, "the chains have different columns");
}

static enum gpm_status read_row(struct draw_table *t, const struct csv *c, const char *line,
                                size_t len) {
    struct draws_chain *to = &vec_last(&t->chain);
    const char *field;
    for (size_t k = 0; k < t->n_cols && len != SIZE_MAX; k++) {
        double x;
        size_t n = next_field(&line, &len, &field);
        if (!number_parse(field, n, &x)) return fail(c, "a number is missing or malformed");
        vec_push(&to->x, x);
        if ((len == SIZE_MAX) != (k + 1 == t->n_cols))
            return fail(c, "the number of columns is wrong");
    }
    return GPM_OK;
}

enum gpm_status gpm_draws_add_csv(gpm_draws *d, const char *text, size_t len, char *err,
                                  size_t err_size) {
    struct csv c = {text, text + len, 0, err, err_size};
    struct draw_table *t = &d->t;
    const char *line;
    size_t n;
    if (!next_line(&c, &line, &n)) return fail(&c, "there is no header");
    enum gpm_status st = read_header(t, &c, line, n);
    if (st) return st;
    vec_push(&t->chain, (struct draws_chain){0});
    while (!st && next_line(&c, &line, &n)) st = read_row(t, &c, line, n);
    if (!st) return GPM_OK;
    struct draws_chain broken = vec_pop(&t->chain);
    vec_release(&broken.x);
    if (!t->chain.n) draw_table_release(t);
    return st;
}

/* ---- asking ---- */

size_t gpm_draws_chains(const gpm_draws *d) {
    return d->t.chain.n;
}

size_t gpm_draws_columns(const gpm_draws *d) {
    return d->t.n_cols;
}

size_t gpm_draws_rows(const gpm_draws *d) {
    return draw_table_rows(&d->t);
}

const char *gpm_draws_name(const gpm_draws *d, size_t column) {
    return d->t.names[column];
}

double gpm_draws_at(const gpm_draws *d, size_t chain, size_t row, size_t column) {
    return d->t.chain.at[chain].x.at[row * d->t.n_cols + column];
}

const char *gpm_draws_summary(gpm_draws *d, enum gpm_format format) {
    buf_reset(&d->text);
    if (format == GPM_FORMAT_JSON)
        draw_table_summary_json(&d->t, &d->text);
    else
        draw_table_summary(&d->t, &d->text);
    return d->text.data;
}

const char *gpm_draws_complaints(gpm_draws *d) {
    const struct draw_table *t = &d->t;
    buf_reset(&d->text);
    for (size_t j = 0; j < t->n_cols && t->chain.n; j++) {
        struct draws_summary s;
        double *x = draw_table_column(t, j);
        size_t rows = draw_table_rows(t);
        draws_summarise(x, t->chain.n, rows, &s);
        (void)draws_complain(&s, x, t->chain.n, rows, t->names[j], &d->text);
        mem_free(x);
    }
    return d->text.data;
}

const char *gpm_draws_json(gpm_draws *d) {
    buf_reset(&d->text);
    draw_table_json(&d->t, &d->text);
    return d->text.data;
}
