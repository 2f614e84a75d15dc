/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of draws and its writers. Rows are kept as they come, chain by chain; statistics want
 * columns, which are copied out when asked for, cut to the rows that every chain has, since the
 * diagnostics compare chains of one length.
 */
#include "infer/draws.h"
#include "base/ascii.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void draw_table_init(struct draw_table *d, const char *const *names, size_t n_cols, size_t chains) {
    d->n_cols = n_cols;
    d->chains = chains;
    d->names = NEW_ARRAY(char *, n_cols + 1);
    for (size_t j = 0; j < n_cols; j++) d->names[j] = mem_strdup(names[j]);
    d->chain = mem_zalloc((chains + 1) * sizeof *d->chain);
}

void draw_table_release(struct draw_table *d) {
    for (size_t j = 0; j < d->n_cols; j++) mem_free(d->names[j]);
    for (size_t c = 0; c < d->chains; c++) vec_release(&d->chain[c].x);
    mem_free(d->names);
    mem_free(d->chain);
}

void draw_table_push(struct draw_table *d, size_t chain, const double *row) {
    for (size_t j = 0; j < d->n_cols; j++) vec_push(&d->chain[chain].x, row[j]);
}

size_t draw_table_rows(const struct draw_table *d) {
    size_t rows = SIZE_MAX;
    for (size_t c = 0; c < d->chains; c++) {
        size_t n = d->n_cols ? d->chain[c].x.n / d->n_cols : 0;
        if (n < rows) rows = n;
    }
    return d->chains ? rows : 0;
}

double *draw_table_column(const struct draw_table *d, size_t j) {
    size_t rows = draw_table_rows(d);
    double *x = NEW_ARRAY(double, d->chains *rows + 1);
    for (size_t c = 0; c < d->chains; c++)
        for (size_t i = 0; i < rows; i++) x[c * rows + i] = d->chain[c].x.at[i * d->n_cols + j];
    return x;
}

/* "a[1,2]" is a.1.2 in Stan's files. */
static void stan_name(const char *name, struct buf *out) {
    size_t n = strlen(name);
    if (n && name[n - 1] == ']') n--;
    for (size_t i = 0; i < n; i++) {
        bool index = name[i] == '[' || name[i] == ',';
        bool plain = ascii_alnum(name[i]) || name[i] == '_' || name[i] == '.' ||
                     (unsigned char)name[i] >= 0x80;
        buf_putc(out, index ? '.' : plain ? name[i] : '_');
    }
}

static void comment_lines(const char *text, struct buf *out) {
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        buf_puts(out, "# ");
        buf_add(out, text, n);
        buf_putc(out, '\n');
        text += n + (text[n] == '\n');
    }
}

void draw_table_stan_csv(const struct draw_table *d, size_t chain, const char *comments,
                         struct buf *out) {
    comment_lines(comments, out);
    for (size_t j = 0; j < d->n_cols; j++) {
        if (j) buf_putc(out, ',');
        stan_name(d->names[j], out);
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < d->chain[chain].x.n; i++) {
        if (i % d->n_cols) buf_putc(out, ',');
        buf_number(out, d->chain[chain].x.at[i]);
        if (i % d->n_cols == d->n_cols - 1) buf_putc(out, '\n');
    }
}

static void json_number(double x, struct buf *out) {
    if (isfinite(x))
        buf_number(out, x);
    else
        buf_puts(out, "null");
}

void draw_table_json(const struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d);
    buf_printf(out, "{\"chains\": %zu, \"rows\": %zu, \"draws\": {", d->chains, rows);
    for (size_t j = 0; j < d->n_cols; j++) {
        if (j) buf_puts(out, ", ");
        buf_json_string(out, d->names[j], strlen(d->names[j]));
        buf_puts(out, ": [");
        for (size_t c = 0; c < d->chains; c++) {
            buf_puts(out, c ? ", [" : "[");
            for (size_t i = 0; i < rows; i++) {
                if (i) buf_puts(out, ", ");
                json_number(d->chain[c].x.at[i * d->n_cols + j], out);
            }
            buf_putc(out, ']');
        }
        buf_putc(out, ']');
    }
    buf_puts(out, "}}\n");
}

/* ---- summaries */
static const struct {
    const char *title, *key;
    size_t offset;
    const char *format;
} columns[] = {
    {"mean", "mean", offsetof(struct draws_summary, mean), " %10.4g"},
    {"mcse", "mcse_mean", offsetof(struct draws_summary, mcse_mean), " %9.2g"},
    {"sd", "sd", offsetof(struct draws_summary, sd), " %10.4g"},
    {"5%", "q5", offsetof(struct draws_summary, q5), " %10.4g"},
    {"50%", "median", offsetof(struct draws_summary, median), " %10.4g"},
    {"95%", "q95", offsetof(struct draws_summary, q95), " %10.4g"},
    {"ess_bulk", "ess_bulk", offsetof(struct draws_summary, ess_bulk), " %9.0f"},
    {"ess_tail", "ess_tail", offsetof(struct draws_summary, ess_tail), " %9.0f"},
    {"rhat", "rhat", offsetof(struct draws_summary, rhat), " %6.3f"},
};

static double field(const struct draws_summary *s, size_t k) {
    double x;
    memcpy(&x, (const char *)s + columns[k].offset, sizeof x);
    return x;
}

/* "%10.4g" says how wide the column is. */
static int width_of(const char *format) {
    int w = 0;
    for (const char *p = format + 2; ascii_digit(*p); p++) w = 10 * w + (*p - '0');
    return w;
}

static int name_width(const struct draw_table *d) {
    size_t w = 8;
    for (size_t j = 0; j < d->n_cols; j++)
        if (strlen(d->names[j]) > w) w = strlen(d->names[j]);
    return w > 40 ? 40 : (int)w;
}

static void cell(const char *format, double x, struct buf *out) {
    if (isnan(x)) {
        buf_printf(out, " %*s", width_of(format), "-");
        return;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buf_printf(out, format, x);
#pragma GCC diagnostic pop
}

void draw_table_summary(const struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d);
    int w = name_width(d);
    struct buf complaints = BUF_INIT;
    buf_printf(out, "%-*s", w, "");
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        buf_printf(out, " %*s", width_of(columns[k].format), columns[k].title);
    buf_putc(out, '\n');
    for (size_t j = 0; j < d->n_cols; j++) {
        struct draws_summary s;
        double *x = draw_table_column(d, j);
        draws_summarise(x, d->chains, rows, &s);
        buf_printf(out, "%-*s", w, d->names[j]);
        for (size_t k = 0; k < COUNT_OF(columns); k++) cell(columns[k].format, field(&s, k), out);
        buf_putc(out, '\n');
        draws_complain(&s, x, d->chains, rows, d->names[j], &complaints);
        mem_free(x);
    }
    buf_add(out, complaints.data, complaints.len);
    buf_release(&complaints);
}

void draw_table_summary_json(const struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d);
    buf_putc(out, '{');
    for (size_t j = 0; j < d->n_cols; j++) {
        struct draws_summary s;
        double *x = draw_table_column(d, j);
        draws_summarise(x, d->chains, rows, &s);
        mem_free(x);
        if (j) buf_puts(out, ", ");
        buf_json_string(out, d->names[j], strlen(d->names[j]));
        buf_puts(out, ": {");
        for (size_t k = 0; k < COUNT_OF(columns); k++) {
            buf_printf(out, "%s\"%s\": ", k ? ", " : "", columns[k].key);
            json_number(field(&s, k), out);
        }
        buf_putc(out, '}');
    }
    buf_puts(out, "}\n");
}
