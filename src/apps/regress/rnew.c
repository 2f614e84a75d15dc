/* SPDX-License-Identifier: Apache-2.0
 * Rows to predict, from tables and from points: see rtable.h. */
#include "base/mem.h"
#include "base/number.h"
#include "apps/regress/rtable.h"
#include <math.h>
#include <string.h>

void rnew_release(struct rnew *r) {
    mem_free(r->x);
    vec_release(&r->line);
    for (size_t i = 0; i < r->unseen.n; i++) mem_free(r->unseen.at[i]);
    vec_release(&r->unseen);
    memset(r, 0, sizeof *r);
}

/* Back to the first m rows. */
static void take_back(struct rnew *r, size_t m) {
    while (r->unseen.n > m) mem_free(r->unseen.at[--r->unseen.n]);
    r->m = r->line.n = m;
}

static double *add_row(struct rnew *r, int d, size_t line) {
    if (r->m == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 16;
        r->x = mem_realloc(r->x, r->cap * (size_t)d * sizeof *r->x);
    }
    vec_push(&r->line, line);
    vec_push(&r->unseen, NULL);
    double *row = r->x + r->m++ * (size_t)d;
    for (int k = 0; k < d; k++) row[k] = NAN;
    return row;
}

static enum gpm_status no_value(const struct rinput *in, const char *where, const char *cell,
                                struct buf *err) {
    buf_printf(err, "%s: '%s' is no %s '%s'", where, cell,
               in->level   ? "level of"
               : in->dated ? "date for"
                           : "number for",
               in->name);
    for (int l = 0; l < in->n_levels; l++)
        buf_printf(err, "%s%s", l ? ", " : "; there are ", in->level[l]);
    return GPM_E_FORMAT;
}

/* What row i of the file has for an input, into its design; a word that is no level: into *unseen.
 */
static enum gpm_status put_input(const struct rtable *t, int j, const struct csv *c, size_t i,
                                 int col, double *row, char **unseen, struct buf *err) {
    const struct rinput *in = &t->input[j];
    const char *cell = csv_text(c, i, col);
    bool none = in->level && csv_is_none(cell, t->o.missing);
    if (!none && csv_missing_as(c, i, col, t->o.missing)) return GPM_OK;
    if (rinput_put(in, cell, row + in->first)) return GPM_OK;
    struct buf where = BUF_INIT, why = BUF_INIT;
    buf_printf(&where, "%s, line %zu", c->name, c->lines[i]);
    enum gpm_status st = no_value(in, where.data, cell, in->level ? &why : err);
    if (in->level) {
        row[in->first] = INFINITY;
        if (!*unseen) *unseen = buf_take(&why);
        st = GPM_OK;
    }
    buf_release(&where);
    buf_release(&why);
    return st;
}

static enum gpm_status file_rows(const struct rtable *t, const struct csv *c, const int *col,
                                 struct rnew *r, struct buf *err) {
    enum gpm_status st = GPM_OK;
    size_t before = r->m, bad = 0;
    for (size_t i = 0; i < c->n_rows && !st; i++) {
        double *row = add_row(r, t->d, c->lines[i]);
        char **unseen = &r->unseen.at[r->m - 1];
        for (int j = 0; j < t->n_inputs && !st; j++)
            st = put_input(t, j, c, i, col[j], row, unseen, err);
        bad += *unseen != NULL;
    }
    if (!st && bad == c->n_rows) st = buf_fail(err, GPM_E_FORMAT, "%s", r->unseen.at[before]);
    return st;
}

enum gpm_status rnew_table(const struct rtable *t, const struct rtext *from, struct rnew *r,
                           struct buf *err) {
    struct csv c;
    size_t before = r->m;
    enum gpm_status st = rtext_read(from, &c, err);
    if (st) return st;
    int *col = NEW_ARRAY(int, (size_t)t->n_inputs + 1);
    if (t->header) csv_take_header(&c);
    for (int j = 0; j < t->n_inputs && !st; j++) {
        col[j] = rinput_column(&t->input[j], &c);
        if (col[j] < 0 || col[j] >= c.n_cols)
            st = buf_fail(err, GPM_E_FORMAT, "%s has no column '%s', which is an input", from->name,
                          t->input[j].name);
    }
    if (!st && !c.n_rows) st = buf_fail(err, GPM_E_FORMAT, "%s has no rows of data", from->name);
    if (!st) st = file_rows(t, &c, col, r, err);
    if (st) take_back(r, before);
    mem_free(col);
    csv_release(&c);
    return st;
}

/* Commas stand between inputs here: decimals have a point, whatever the file writes. */
static bool put_cell(const struct rinput *in, const char *cell, double *row) {
    double v;
    bool number = !in->level && !in->dated;
    if (!number || !number_parse(cell, strlen(cell), &v) || !isfinite(v))
        return rinput_put(in, cell, row);
    *row = v;
    return true;
}

static enum gpm_status put_point(const struct rtable *t, const char *text, double *row,
                                 struct buf *err) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ","), key = strcspn(p, "=");
        if (key >= n)
            return buf_fail(err, GPM_E_ARG, "--at '%s': write NAME=VALUE for each input, by commas",
                            text);
        char *name = mem_strndup(p, key), *cell = mem_strndup(p + key + 1, n - key - 1);
        int j = 0;
        enum gpm_status st = GPM_OK;
        while (j < t->n_inputs && strcmp(t->input[j].name, name) != 0) j++;
        if (j == t->n_inputs)
            st = buf_fail(err, GPM_E_ARG, "--at '%s': there is no input '%s'", text, name);
        else if (!isnan(row[t->input[j].first]))
            st = buf_fail(err, GPM_E_ARG, "--at '%s': '%s' twice", text, name);
        else if (!put_cell(&t->input[j], cell, row + t->input[j].first))
            st = no_value(&t->input[j], "--at", cell, err);
        mem_free(name);
        mem_free(cell);
        if (st) return st;
        p += n + (p[n] == ',');
    }
    for (int j = 0; j < t->n_inputs; j++)
        if (isnan(row[t->input[j].first]))
            return buf_fail(err, GPM_E_ARG, "--at '%s' gives no value for '%s'", text,
                            t->input[j].name);
    return GPM_OK;
}

enum gpm_status rnew_point(const struct rtable *t, const char *text, struct rnew *r,
                           struct buf *err) {
    enum gpm_status st = put_point(t, text, add_row(r, t->d, 0), err);
    if (st) take_back(r, r->m - 1);
    return st;
}
