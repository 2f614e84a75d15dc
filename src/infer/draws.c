/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of draws and its writers. Rows are kept as they come, chain by chain; statistics want
 * columns, which are copied out when asked for, cut to the rows that every chain has, since the
 * diagnostics compare chains of one length.
 */
#include "infer/draws.h"
#include "base/json.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void draw_table_init(struct draw_table *d, const char *const *names, size_t n_cols, size_t chains) {
    *d = (struct draw_table){.n_cols = n_cols, .names = NEW_ARRAY(char *, n_cols + 1)};
    for (size_t j = 0; j < n_cols; j++) d->names[j] = mem_strdup(names[j]);
    for (size_t c = 0; c < chains; c++) vec_push(&d->chain, (struct draws_chain){.number = c + 1});
}

void draw_table_release(struct draw_table *d) {
    for (size_t j = 0; j < d->n_cols; j++) mem_free(d->names[j]);
    for (size_t c = 0; c < d->chain.n; c++) vec_release(&d->chain.at[c].x);
    mem_free(d->names);
    mem_free(d->known);
    vec_release(&d->chain);
    *d = (struct draw_table){0};
}

void draw_table_push(struct draw_table *d, size_t chain, const double *row) {
    for (size_t j = 0; j < d->n_cols; j++) vec_push(&d->chain.at[chain].x, row[j]);
}

size_t draw_table_rows(const struct draw_table *d) {
    size_t rows = SIZE_MAX;
    for (size_t c = 0; c < d->chain.n; c++) {
        size_t n = d->n_cols ? d->chain.at[c].x.n / d->n_cols : 0;
        if (n < rows) rows = n;
    }
    return d->chain.n ? rows : 0;
}

double *draw_table_column(const struct draw_table *d, size_t j) {
    size_t rows = draw_table_rows(d);
    double *x = NEW_ARRAY(double, d->chain.n *rows + 1);
    for (size_t c = 0; c < d->chain.n; c++)
        for (size_t i = 0; i < rows; i++) x[c * rows + i] = d->chain.at[c].x.at[i * d->n_cols + j];
    return x;
}

static const struct {
    const char *name;
    enum draw_group group;
} group_names[] = {
    {"log_lik", DRAWS_LOG_LIK},       {"y_rep", DRAWS_REPLICATE},
    {"y_obs", DRAWS_OBSERVED},        {"lp__", DRAWS_SAMPLER},
    {"accept_stat__", DRAWS_SAMPLER}, {"stepsize__", DRAWS_SAMPLER},
    {"treedepth__", DRAWS_SAMPLER},   {"n_leapfrog__", DRAWS_SAMPLER},
    {"divergent__", DRAWS_SAMPLER},   {"energy__", DRAWS_SAMPLER},
};

enum draw_group draw_group_of(const char *name) {
    size_t n = strcspn(name, "[.");
    for (size_t i = 0; i < COUNT_OF(group_names); i++)
        if (strlen(group_names[i].name) == n && !memcmp(group_names[i].name, name, n))
            return group_names[i].group;
    return DRAWS_POSTERIOR;
}

void draw_table_json(const struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d);
    buf_putc(out, '{');
    JSON(out, FIELD("chains", d->chain.n), FIELD("rows", rows));
    buf_puts(out, ", \"draws\": {");
    for (size_t j = 0; j < d->n_cols; j++) {
        double *x = draw_table_column(d, j);
        json_key(out, d->names[j]);
        buf_putc(out, '[');
        for (size_t c = 0; c < d->chain.n; c++) {
            if (c) buf_puts(out, ", ");
            json_list(out, rows, x + c * rows);
        }
        buf_putc(out, ']');
        mem_free(x);
    }
    buf_puts(out, "}}\n");
}

/* ---- summaries */
#define COLUMN(title, key, ...)                                                                    \
    { title, #key, offsetof(struct draws_summary, key), __VA_ARGS__ }
static const struct {
    const char *title, *key;
    size_t offset;
    int width, digits;
    bool fixed; /* digits behind the point, else significant ones */
} columns[] = {
    COLUMN("mean", mean, 10, 4, false),       COLUMN("mcse", mcse_mean, 9, 2, false),
    COLUMN("sd", sd, 10, 4, false),           COLUMN("5%", q5, 10, 4, false),
    COLUMN("50%", median, 10, 4, false),      COLUMN("95%", q95, 10, 4, false),
    COLUMN("ess_bulk", ess_bulk, 9, 0, true), COLUMN("ess_tail", ess_tail, 9, 0, true),
    COLUMN("rhat", rhat, 6, 3, true),
};

static double field(const struct draws_summary *s, size_t k) {
    double x;
    memcpy(&x, (const char *)s + columns[k].offset, sizeof x);
    return x;
}

static int name_width(const struct draw_table *d) {
    size_t w = 8;
    for (size_t j = 0; j < d->n_cols; j++)
        if (draw_group_of(d->names[j]) == DRAWS_POSTERIOR && strlen(d->names[j]) > w)
            w = strlen(d->names[j]);
    return w > 40 ? 40 : (int)w;
}

static void cell(size_t k, double x, struct buf *out) {
    if (isnan(x))
        buf_printf(out, " %*s", columns[k].width, "-");
    else
        buf_printf(out, columns[k].fixed ? " %*.*f" : " %*.*g", columns[k].width, columns[k].digits,
                   x);
}

/* Made when first asked for, and anew when draws have come since. */
static const struct draws_summary *summaries(struct draw_table *d) {
    size_t rows = draw_table_rows(d), draws = 0;
    for (size_t c = 0; c < d->chain.n; c++) draws += d->chain.at[c].x.n;
    if (d->known && d->known_draws == draws) return d->known;
    struct draws_tables *t = draws_tables_new();
    mem_free(d->known);
    d->known = mem_zalloc((d->n_cols + 1) * sizeof *d->known);
    d->known_draws = draws;
    for (size_t j = 0; j < d->n_cols; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR) continue;
        double *x = draw_table_column(d, j);
        draws_summarise(t, x, d->chain.n, rows, &d->known[j]);
        mem_free(x);
    }
    draws_tables_free(t);
    return d->known;
}

/* ---- complaints ---- */

enum { STANDS_STILL = 20 }; /* fewer equal draws say nothing */

static double cell_at(const struct draw_table *d, size_t c, size_t row, size_t j) {
    return d->chain.at[c].x.at[row * d->n_cols + j];
}

/* Is column j `first` in all rows of chain c? */
static bool is_all(const struct draw_table *d, size_t j, size_t c, double first) {
    size_t rows = draw_table_rows(d), i = 0;
    while (i < rows && cell_at(d, c, i, j) == first) i++;
    return i == rows;
}

/* Does column j stay the same in chain c, and differ elsewhere? */
static bool stands_still(const struct draw_table *d, size_t j, size_t c) {
    if (draw_table_rows(d) < STANDS_STILL || !is_all(d, j, c, cell_at(d, c, 0, j))) return false;
    bool everywhere = true;
    for (size_t k = 0; k < d->chain.n; k++) everywhere &= is_all(d, j, k, cell_at(d, c, 0, j));
    return !everywhere;
}

/* "chain 3 does not move: a, b are the same in all of its 1000 draws" */
static void complain_of_chain(const struct draw_table *d, size_t c, struct buf *out) {
    enum { SHOWN = 6 };
    size_t still = 0;
    for (size_t j = 0; j < d->n_cols; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR || !stands_still(d, j, c)) continue;
        if (!still) buf_printf(out, "chain %zu does not move: ", d->chain.at[c].number);
        if (still < SHOWN)
            buf_printf(out, "%s%s %.4g", still ? ", " : "", d->names[j], d->chain.at[c].x.at[j]);
        still++;
    }
    if (still > SHOWN) buf_printf(out, " and %zu more", still - SHOWN);
    if (still)
        buf_printf(out,
                   " in all of its %zu draws; start it elsewhere (init=), and leave it out of what "
                   "you report\n",
                   draw_table_rows(d));
}

static bool is_constant(const struct draw_table *d, size_t j) {
    bool same = true;
    for (size_t c = 0; c < d->chain.n && draw_table_rows(d); c++)
        same &= is_all(d, j, c, cell_at(d, 0, 0, j));
    return same;
}

/* Does column j stand still while others of its vector or matrix move? So do the diagonal of a
 * correlation matrix and the upper half of a Cholesky factor: nothing is wrong with them. */
static bool is_fixed_part(const struct draw_table *d, size_t j) {
    const char *name = d->names[j];
    size_t n = strcspn(name, "[."); /* a[1], in files a.1 */
    if (!name[n] || !is_constant(d, j)) return false;
    for (size_t k = 0; k < d->n_cols; k++)
        if (strncmp(d->names[k], name, n + 1) == 0 && !is_constant(d, k)) return true;
    return false;
}

void draw_table_complain(struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d);
    const struct draws_summary *s = summaries(d);
    for (size_t c = 0; c < d->chain.n && d->chain.n > 1; c++) complain_of_chain(d, c, out);
    for (size_t j = 0; j < d->n_cols && d->chain.n; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR || is_fixed_part(d, j)) continue;
        double *x = draw_table_column(d, j);
        (void)draws_complain(&s[j], x, d->chain.n, rows, d->names[j], out);
        mem_free(x);
    }
}

void draw_table_summary(struct draw_table *d, struct buf *out) {
    const struct draws_summary *s = summaries(d);
    int w = name_width(d);
    buf_printf(out, "%-*s", w, "");
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        buf_printf(out, " %*s", columns[k].width, columns[k].title);
    buf_putc(out, '\n');
    for (size_t j = 0; j < d->n_cols; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR) continue;
        buf_printf(out, "%-*s", w, d->names[j]);
        for (size_t k = 0; k < COUNT_OF(columns); k++) cell(k, field(&s[j], k), out);
        buf_putc(out, '\n');
    }
    draw_table_complain(d, out);
}

void draw_table_summary_html(struct draw_table *d, const char *remarks, struct buf *out) {
    struct buf text = BUF_INIT;
    const struct draws_summary *s = summaries(d);
    buf_puts(out, "<table>\n<thead><tr><th></th>");
    for (size_t k = 0; k < COUNT_OF(columns); k++) buf_printf(out, "<th>%s</th>", columns[k].title);
    buf_puts(out, "</tr></thead>\n");
    for (size_t j = 0; j < d->n_cols; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR) continue;
        buf_puts(out, "<tr><th>");
        buf_markup(out, d->names[j]);
        buf_puts(out, "</th>");
        for (size_t k = 0; k < COUNT_OF(columns); k++) {
            buf_reset(&text);
            cell(k, field(&s[j], k), &text);
            buf_printf(out, "<td>%s</td>", text.data + strspn(text.data, " "));
        }
        buf_puts(out, "</tr>\n");
    }
    buf_puts(out, "</table>\n");
    buf_reset(&text);
    draw_table_complain(d, &text);
    buf_puts(&text, remarks);
    if (text.len) {
        buf_puts(out, "<pre>");
        buf_markup(out, text.data);
        buf_puts(out, "</pre>\n");
    }
    buf_release(&text);
}

void draw_table_summary_json(struct draw_table *d, struct buf *out) {
    const struct draws_summary *s = summaries(d);
    buf_putc(out, '{');
    for (size_t j = 0; j < d->n_cols; j++) {
        if (draw_group_of(d->names[j]) != DRAWS_POSTERIOR) continue;
        json_key(out, d->names[j]);
        buf_putc(out, '{');
        for (size_t k = 0; k < COUNT_OF(columns); k++)
            JSON(out, FIELD(columns[k].key, field(&s[j], k)));
        buf_putc(out, '}');
    }
    buf_puts(out, "}\n");
}
