/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of draws and its writers. Draws are kept column by column, chain by chain; statistics
 * get them cut to the rows that every chain has, since the diagnostics compare chains of one
 * length.
 */
#include "numeric/posterior/draws.h"
#include "base/ascii.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void draw_table_init(struct draw_table *d, size_t chains) {
    *d = (struct draw_table){0};
    for (size_t c = 0; c < chains; c++) vec_push(&d->chain, (struct draws_chain){.number = c + 1});
}

static void release_last(struct draw_table *d) {
    struct draws_chain c = vec_pop(&d->chain);
    for (size_t j = 0; j < c.columns.n; j++) vec_release(&c.columns.at[j].x);
    vec_release(&c.columns);
}

void draw_table_drop_last(struct draw_table *d) {
    release_last(d);
    if (!d->chain.n) draw_table_release(d);
}

void draw_table_release(struct draw_table *d) {
    while (d->chain.n) release_last(d);
    column_names_free(&d->columns);
    mem_free(d->known);
    vec_release(&d->chain);
    *d = (struct draw_table){0};
}

static size_t all_rows(const struct draw_table *d) {
    size_t rows = 0;
    for (size_t c = 0; c < d->chain.n; c++) rows += d->chain.at[c].rows;
    return rows;
}

void draw_table_place(struct draw_table *d, const char *const *names, size_t n, size_t *places) {
    size_t before = draw_table_columns(d);
    column_names_begin_row(&d->columns);
    for (size_t k = 0, at = 0; k < n; k++, at++)
        places[k] = at = column_names_take(&d->columns, names[k], at);
    d->late |= before && draw_table_columns(d) > before && all_rows(d);
}

void draw_table_push_at(struct draw_table *d, size_t chain, const size_t *places, const double *row,
                        size_t n) {
    struct draws_chain *c = &d->chain.at[chain];
    for (size_t k = 0; k < n; k++) {
        if (number_is_absent(row[k])) continue;
        while (c->columns.n <= places[k]) vec_push(&c->columns, (struct draws_cells){0});
        struct draws_cells *to = &c->columns.at[places[k]];
        while (to->x.n < c->rows) vec_push(&to->x, number_absent());
        vec_push(&to->x, row[k]);
    }
    c->rows++;
}

void draw_table_push(struct draw_table *d, size_t chain, const char *const *names,
                     const double *row, size_t n) {
    size_t few[64], *places = n > COUNT_OF(few) ? NEW_ARRAY(size_t, n) : few;
    draw_table_place(d, names, n, places);
    draw_table_push_at(d, chain, places, row, n);
    if (places != few) mem_free(places);
}

double draw_table_at(const struct draw_table *d, size_t chain, size_t row, size_t j) {
    const struct draws_chain *c = &d->chain.at[chain];
    bool there = j < c->columns.n && row < c->columns.at[j].x.n;
    return there ? c->columns.at[j].x.at[row] : number_absent();
}

size_t draw_table_rows(const struct draw_table *d) {
    size_t rows = SIZE_MAX;
    for (size_t c = 0; c < d->chain.n; c++)
        if (d->chain.at[c].rows < rows) rows = d->chain.at[c].rows;
    return d->chain.n ? rows : 0;
}

double *draw_table_column(const struct draw_table *d, size_t j) {
    size_t rows = draw_table_rows(d);
    double *x = NEW_ARRAY(double, d->chain.n *rows + 1);
    for (size_t c = 0; c < d->chain.n; c++)
        for (size_t i = 0; i < rows; i++) x[c * rows + i] = draw_table_at(d, c, i, j);
    return x;
}

/* ---- the order of columns ---- */

/* The position in an array a[1], a[2], or m[1,1], m[2,1]; in files a.1 and m.1.1. */
struct place {
    size_t whole, dims, index[2]; /* whole: which array; index: the last index first */
    size_t at;
};

static struct place place_of(const char *name, struct column_names *wholes) {
    struct place p = {0};
    size_t n = strcspn(name, "[."), dims = 0, index[2];
    const char *s = name + n;
    for (char *end; n && *s && strchr("[.,", *s) && ascii_digit(s[1]) && dims < 2; s = end) {
        index[dims++] = (size_t)strtoull(s + 1, &end, 10);
    }
    if (dims && *s == ']') s++;
    if (dims && !*s) p.dims = dims;
    for (size_t k = 0; k < p.dims; k++) p.index[k] = index[p.dims - 1 - k];
    char *whole = mem_strndup(name, p.dims ? n : strlen(name));
    column_names_begin_row(wholes);
    p.whole = column_names_take(wholes, whole, wholes->names.n ? wholes->names.n - 1 : 0);
    mem_free(whole);
    return p;
}

static int by_place(const void *a, const void *b) {
    const struct place *p = a, *q = b;
    size_t x[] = {p->whole, p->dims, p->index[0], p->index[1], p->at};
    size_t y[] = {q->whole, q->dims, q->index[0], q->index[1], q->at};
    size_t i = 0;
    while (i + 1 < COUNT_OF(x) && x[i] == y[i]) i++;
    return (x[i] > y[i]) - (x[i] < y[i]);
}

static void arrange_chain(struct draws_chain *c, const struct place *order, size_t n) {
    struct draws_chain to = {.rows = c->rows, .number = c->number};
    for (size_t k = 0; k < n; k++) {
        bool there = order[k].at < c->columns.n;
        vec_push(&to.columns, there ? c->columns.at[order[k].at] : (struct draws_cells){0});
    }
    vec_release(&c->columns);
    *c = to;
}

void draw_table_arrange(struct draw_table *d) {
    size_t n = draw_table_columns(d);
    if (!d->late) return;
    struct place *order = NEW_ARRAY(struct place, n + 1);
    struct column_names wholes = {0}, to = {0};
    for (size_t j = 0; j < n; j++) {
        order[j] = place_of(draw_table_name(d, j), &wholes);
        order[j].at = j;
    }
    qsort(order, n, sizeof *order, by_place);
    for (size_t c = 0; c < d->chain.n; c++) arrange_chain(&d->chain.at[c], order, n);
    column_names_begin_row(&to);
    for (size_t k = 0; k < n; k++) (void)column_names_take(&to, draw_table_name(d, order[k].at), k);
    column_names_free(&d->columns);
    column_names_free(&wholes);
    mem_free(order);
    d->columns = to;
    d->late = false;
}

/* ---- weights ---- */

/* Log weights; NULL: all are equal. */
static double *log_weights(const struct draw_table *d) {
    size_t j = 0, n = draw_table_rows(d) * d->chain.n;
    while (j < draw_table_columns(d) && strcmp(draw_table_name(d, j), DRAWS_LOG_WEIGHT) != 0) j++;
    if (j == draw_table_columns(d)) return NULL;
    double *w = draw_table_column(d, j);
    bool equal = true;
    for (size_t i = 0; i < n; i++) {
        if (isnan(w[i])) w[i] = 0;
        equal &= w[i] == w[0];
    }
    if (!equal) return w;
    mem_free(w);
    return NULL;
}

static double top_of(const double *w, size_t n) {
    double top = -INFINITY;
    for (size_t i = 0; i < n; i++) top = fmax(top, w[i]);
    return top;
}

/* The weights of these rows, the largest 1; NULL: all are equal. Caller frees with mem_free. */
static double *draw_table_weights(const struct draw_table *d) {
    size_t n = draw_table_rows(d) * d->chain.n;
    double *w = log_weights(d), top = w ? top_of(w, n) : 0;
    for (size_t i = 0; w && i < n; i++) w[i] = exp(w[i] - top);
    return w;
}

void draws_comb(const double *log_weight, size_t n, size_t *rows) {
    double top = top_of(log_weight, n), sum = 0, upto = 0;
    size_t drawn = 0;
    for (size_t i = 0; i < n; i++) sum += exp(log_weight[i] - top);
    for (size_t i = 0; i < n; i++) {
        upto += exp(log_weight[i] - top) / sum * (double)n;
        while (drawn < n && (double)drawn + 0.5 < upto) rows[drawn++] = i;
    }
    for (; drawn < n; drawn++) rows[drawn] = drawn ? rows[drawn - 1] : 0;
}

bool draw_table_draw(const struct draw_table *d, struct draw_table *out) {
    size_t rows = draw_table_rows(d), n = rows * d->chain.n, m = draw_table_columns(d);
    double *w = log_weights(d), *row = NEW_ARRAY(double, m + 1);
    size_t *drawn = NEW_ARRAY(size_t, n + 1), *places = NEW_ARRAY(size_t, m + 1);
    if (w) {
        draw_table_init(out, 1);
        draw_table_place(out, (const char *const *)d->columns.names.at, m, places);
        draws_comb(w, n, drawn);
    }
    for (size_t i = 0; w && i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            bool weight = !strcmp(draw_table_name(d, j), DRAWS_LOG_WEIGHT);
            row[j] =
                weight ? number_absent() : draw_table_at(d, drawn[i] / rows, drawn[i] % rows, j);
        }
        draw_table_push_at(out, 0, places, row, m);
    }
    mem_free(places);
    mem_free(drawn);
    mem_free(row);
    bool any = w != NULL;
    mem_free(w);
    return any;
}

/* ---- groups ---- */

static const struct {
    const char *name;
    enum draw_group group;
} group_names[] = {
    {"log_lik", DRAWS_LOG_LIK},        {"y_rep", DRAWS_REPLICATE},
    {"y_obs", DRAWS_OBSERVED},         {"lp__", DRAWS_SAMPLER},
    {"accept_stat__", DRAWS_SAMPLER},  {"stepsize__", DRAWS_SAMPLER},
    {"treedepth__", DRAWS_SAMPLER},    {"n_leapfrog__", DRAWS_SAMPLER},
    {"divergent__", DRAWS_SAMPLER},    {"energy__", DRAWS_SAMPLER},
    {DRAWS_LOG_WEIGHT, DRAWS_SAMPLER},
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
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        double *x = draw_table_column(d, j);
        json_key(out, draw_table_name(d, j));
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
    bool fixed; /* digits after the point; otherwise significant ones */
} columns[] = {
    COLUMN("mean", mean, 10, 4, false),       COLUMN("mcse", mcse_mean, 9, 2, false),
    COLUMN("sd", sd, 10, 4, false),           COLUMN("5%", q5, 10, 4, false),
    COLUMN("50%", median, 10, 4, false),      COLUMN("95%", q95, 10, 4, false),
    COLUMN("ess_bulk", ess_bulk, 9, 0, true), COLUMN("ess_tail", ess_tail, 9, 0, true),
    COLUMN("rhat", rhat, 6, 3, true),         COLUMN("absent", absent, 7, 3, true),
};
enum { ALWAYS = COUNT_OF(columns) - 1 }; /* `absent` is only shown if a draw lacks a quantity */

static double field(const struct draws_summary *s, size_t k) {
    double x;
    memcpy(&x, (const char *)s + columns[k].offset, sizeof x);
    return x;
}

static int name_width(const struct draw_table *d) {
    size_t w = 8;
    for (size_t j = 0; j < draw_table_columns(d); j++)
        if (draw_group_of(draw_table_name(d, j)) == DRAWS_POSTERIOR &&
            strlen(draw_table_name(d, j)) > w)
            w = strlen(draw_table_name(d, j));
    return w > 40 ? 40 : (int)w;
}

static void cell(size_t k, double x, struct buf *out) {
    if (isnan(x))
        buf_printf(out, " %*s", columns[k].width, "-");
    else
        buf_printf(out, columns[k].fixed ? " %*.*f" : " %*.*g", columns[k].width, columns[k].digits,
                   x);
}

/* The weights of column j: 0 where it is absent. *absent: that share by weight. NULL: never absent,
 * and equal weights. */
static double *weights_of(const double *x, const double *all, size_t n, double *absent) {
    bool any = all != NULL;
    double there = 0, sum = 0;
    for (size_t i = 0; i < n && !any; i++) any = number_is_absent(x[i]);
    *absent = 0;
    if (!any) return NULL;
    double *w = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) {
        double own = all ? all[i] : 1;
        w[i] = number_is_absent(x[i]) ? 0 : own;
        there += w[i];
        sum += own;
    }
    *absent = 1 - there / sum;
    return w;
}

/* Computed on first use, and again after new draws. */
static const struct draws_summary *summaries(struct draw_table *d) {
    size_t rows = draw_table_rows(d), draws = all_rows(d), n = rows * d->chain.n;
    if (d->known && d->known_draws == draws) return d->known;
    struct draws_tables *t = draws_tables_new();
    mem_free(d->known);
    d->known = mem_zalloc((draw_table_columns(d) + 1) * sizeof *d->known);
    d->known_draws = draws;
    double *all = draw_table_weights(d);
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_POSTERIOR) continue;
        double absent, *x = draw_table_column(d, j), *w = weights_of(x, all, n, &absent);
        draws_summarise(t, x, w, d->chain.n, rows, &d->known[j]);
        d->known[j].absent = absent;
        mem_free(x);
        mem_free(w);
    }
    mem_free(all);
    draws_tables_free(t);
    return d->known;
}

static size_t columns_shown(const struct draw_table *d, const struct draws_summary *s) {
    for (size_t j = 0; j < draw_table_columns(d); j++)
        if (s[j].absent > 0) return COUNT_OF(columns);
    return ALWAYS;
}

/* ---- complaints ---- */

enum { STANDS_STILL = 20 }; /* fewer equal draws do not show a problem */

/* Is column j constant in all rows of chain c that have it? *x: its value; *n: number of rows. */
static bool is_same(const struct draw_table *d, size_t j, size_t c, double *x, size_t *n) {
    size_t rows = draw_table_rows(d);
    *n = 0;
    *x = number_absent();
    for (size_t i = 0; i < rows; i++) {
        double now = draw_table_at(d, c, i, j);
        if (number_is_absent(now)) continue;
        if ((*n)++ && !(now == *x)) return false;
        *x = now;
    }
    return true;
}

static bool is_constant(const struct draw_table *d, size_t j) {
    double first = number_absent(), x;
    size_t n;
    for (size_t c = 0; c < d->chain.n; c++) {
        if (!is_same(d, j, c, &x, &n)) return false;
        if (n && !number_is_absent(first) && x != first) return false;
        if (n) first = x;
    }
    return true;
}

/* "chain 3 does not move: a, b are the same in all of its 1000 draws" */
static void complain_of_chain(const struct draw_table *d, size_t c, struct buf *out) {
    enum { SHOWN = 6 };
    size_t still = 0, n;
    double x;
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_POSTERIOR) continue;
        if (!is_same(d, j, c, &x, &n) || n < STANDS_STILL || is_constant(d, j)) continue;
        if (!still) buf_printf(out, "chain %zu does not move: ", d->chain.at[c].number);
        if (still < SHOWN)
            buf_printf(out, "%s%s %.4g", still ? ", " : "", draw_table_name(d, j), x);
        still++;
    }
    if (still > SHOWN) buf_printf(out, " and %zu more", still - SHOWN);
    if (still)
        buf_printf(out,
                   " in all of its %zu draws; start it elsewhere (init=), and leave it out of what "
                   "you report\n",
                   draw_table_rows(d));
}

/* Length of the name of column j's vector or matrix with what follows it, `a[` of a[1] (in files
 * `a.` of a.1). A number by itself has length 0. */
static size_t group_length(const struct draw_table *d, size_t j) {
    const char *name = draw_table_name(d, j);
    size_t n = strcspn(name, "[.");
    return name[n] ? n + 1 : 0;
}

/* The vectors and matrices of which an element moves. */
static struct map moving_groups(const struct draw_table *d) {
    struct map moving = {0};
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        size_t n = group_length(d, j);
        if (n && !is_constant(d, j))
            map_put(&moving, hash_key(draw_table_name(d, j), n, 0), (void *)(uintptr_t)1);
    }
    return moving;
}

/* Is column j constant while others of its vector or matrix move? The diagonal of a correlation
 * matrix and the upper half of a Cholesky factor are, and that is no problem. */
static bool is_fixed_part(const struct draw_table *d, size_t j, const struct map *moving) {
    size_t n = group_length(d, j);
    return n && map_get(moving, hash_key(draw_table_name(d, j), n, 0)) && is_constant(d, j);
}

void draw_table_complain(struct draw_table *d, struct buf *out) {
    size_t rows = draw_table_rows(d), n = rows * d->chain.n;
    const struct draws_summary *s = summaries(d);
    struct map moving = moving_groups(d);
    double *all = draw_table_weights(d), worth = all ? draws_worth(all, n) : (double)n;
    if (all && worth < 100 * (double)d->chain.n)
        buf_printf(out,
                   "the weights of the %zu draws differ: they are worth %.0f equal ones (want "
                   "%zu); keep more particles, or resample\n",
                   n, worth, 100 * d->chain.n);
    for (size_t c = 0; c < d->chain.n && d->chain.n > 1; c++) complain_of_chain(d, c, out);
    for (size_t j = 0; j < draw_table_columns(d) && d->chain.n; j++) {
        const char *name = draw_table_name(d, j);
        if (draw_group_of(name) != DRAWS_POSTERIOR || is_fixed_part(d, j, &moving)) continue;
        double absent, *x = draw_table_column(d, j), *w = weights_of(x, all, n, &absent);
        (void)draws_complain(&s[j], x, w, d->chain.n, rows, name, out);
        mem_free(x);
        mem_free(w);
    }
    map_release(&moving);
    mem_free(all);
}

void draw_table_summary(struct draw_table *d, struct buf *out) {
    const struct draws_summary *s = summaries(d);
    size_t shown = columns_shown(d, s);
    int w = name_width(d);
    buf_printf(out, "%-*s", w, "");
    for (size_t k = 0; k < shown; k++) buf_printf(out, " %*s", columns[k].width, columns[k].title);
    buf_putc(out, '\n');
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_POSTERIOR) continue;
        buf_printf(out, "%-*s", w, draw_table_name(d, j));
        for (size_t k = 0; k < shown; k++) cell(k, field(&s[j], k), out);
        buf_putc(out, '\n');
    }
    draw_table_complain(d, out);
}

void draw_table_summary_html(struct draw_table *d, const char *remarks, struct buf *out) {
    struct buf text = BUF_INIT;
    const struct draws_summary *s = summaries(d);
    size_t shown = columns_shown(d, s);
    buf_puts(out, "<table>\n<thead><tr><th></th>");
    for (size_t k = 0; k < shown; k++) buf_printf(out, "<th>%s</th>", columns[k].title);
    buf_puts(out, "</tr></thead>\n");
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_POSTERIOR) continue;
        buf_puts(out, "<tr><th>");
        buf_markup(out, draw_table_name(d, j));
        buf_puts(out, "</th>");
        for (size_t k = 0; k < shown; k++) {
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
    size_t shown = columns_shown(d, s);
    buf_putc(out, '{');
    for (size_t j = 0; j < draw_table_columns(d); j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_POSTERIOR) continue;
        json_key(out, draw_table_name(d, j));
        buf_putc(out, '{');
        for (size_t k = 0; k < shown; k++) JSON(out, FIELD(columns[k].key, field(&s[j], k)));
        buf_putc(out, '}');
    }
    buf_puts(out, "}\n");
}
