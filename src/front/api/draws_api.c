/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_draws: numeric/posterior/draws.h for the outside.
 */
#include "gpmem/draws.h"
#include "base/mem.h"
#include "base/number.h"
#include "numeric/posterior/draws.h"
#include "numeric/posterior/loo.h"
#include "numeric/posterior/predictive.h"
#include "front/api/picture.h"
#include <stdio.h>
#include <string.h>

struct gpm_draws {
    struct draw_table t;
    size_t skipped; /* chains that left nothing */
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

/* Where the field that starts at p ends. */
static const char *field_end(const char *p, const char *end) {
    const char *comma = memchr(p, ',', (size_t)(end - p));
    return comma ? comma : end;
}

/* The columns of a file as it is read: which of the table its cells are. */
struct header {
    VEC(char *) names; /* owned */
    VEC(size_t) places;
};

static void header_release(struct header *h) {
    for (size_t k = 0; k < h->names.n; k++) mem_free(h->names.at[k]);
    vec_release(&h->names);
    vec_release(&h->places);
}

/* The first line names the columns; a line "#+a,b" says that these join. */
static void read_names(struct draw_table *t, struct header *h, const char *p, const char *end) {
    for (const char *q; p <= end; p = q + 1) {
        q = field_end(p, end);
        vec_push(&h->names, mem_strndup(p, (size_t)(q - p)));
    }
    vec_reserve(&h->places, h->names.n);
    h->places.n = h->names.n;
    draw_table_place(t, (const char *const *)h->names.at, h->names.n, h->places.at);
}

/* NULL: good; else what is wrong. An empty cell is absent; a row of one cell has "" there. */
static const char *read_row(struct draw_table *t, size_t chain, const struct header *h, double *row,
                            const char *p, const char *end) {
    size_t n = 0;
    for (const char *q; p <= end; p = q + 1, n++) {
        q = field_end(p, end);
        size_t len = (size_t)(q - p);
        if (n == h->places.n) return "the number of columns is wrong";
        if (!len || (len == 2 && !memcmp(p, "\"\"", 2)))
            row[n] = number_absent();
        else if (!number_parse(p, len, &row[n]))
            return "a number is missing or malformed";
    }
    if (n != h->places.n) return "the number of columns is wrong";
    draw_table_push_at(t, chain, h->places.at, row, n);
    return NULL;
}

/* One chain more; its place. */
static size_t add_chain(gpm_draws *d) {
    size_t number = d->t.chain.n + d->skipped + 1;
    vec_push(&d->t.chain, (struct draws_chain){.number = number});
    return d->t.chain.n - 1;
}

void gpm_draws_skip(gpm_draws *d) {
    d->skipped++;
}

void gpm_draws_push(gpm_draws *d, size_t chain, const char *const *names, const double *row,
                    size_t n) {
    while (d->t.chain.n <= chain) (void)add_chain(d);
    draw_table_push(&d->t, chain, names, row, n);
}

void gpm_draws_arrange(gpm_draws *d) {
    draw_table_arrange(&d->t);
}

enum gpm_status gpm_draws_add_rows(gpm_draws *d, const char *const *names, size_t n,
                                   const double *x, size_t rows) {
    size_t chain = add_chain(d), *places = NEW_ARRAY(size_t, n + 1);
    draw_table_place(&d->t, names, n, places);
    for (size_t r = 0; r < rows; r++) draw_table_push_at(&d->t, chain, places, x + r * n, n);
    mem_free(places);
    draw_table_arrange(&d->t);
    return GPM_OK;
}

void gpm_draws_join(gpm_draws *d, const gpm_draws *from) {
    const struct draw_table *t = &from->t;
    size_t n = draw_table_columns(t), *places = NEW_ARRAY(size_t, n + 1);
    double *row = NEW_ARRAY(double, n + 1);
    draw_table_place(&d->t, (const char *const *)t->columns.names.at, n, places);
    for (size_t c = 0; c < t->chain.n; c++) {
        size_t chain = add_chain(d);
        for (size_t r = 0; r < t->chain.at[c].rows; r++) {
            for (size_t j = 0; j < n; j++) row[j] = draw_table_at(t, c, r, j);
            draw_table_push_at(&d->t, chain, places, row, n);
        }
    }
    mem_free(row);
    mem_free(places);
    draw_table_arrange(&d->t);
}

static const char *read_line(struct draw_table *t, size_t chain, struct header *h, double **row,
                             const char *p, const char *end) {
    bool joins = end - p > 2 && !memcmp(p, "#+", 2);
    if (*p == '#' && (!joins || !h->names.n)) return NULL;
    if (h->names.n && !joins) return read_row(t, chain, h, *row, p, end);
    if (p < end) read_names(t, h, joins ? p + 2 : p, end);
    *row = mem_realloc(*row, (h->places.n + 1) * sizeof **row);
    return NULL;
}

/* A chain that cannot be read leaves the table without it. */
enum gpm_status gpm_draws_add_csv(gpm_draws *d, const char *text, size_t len, char *err,
                                  size_t err_size) {
    const char *wrong = NULL, *stop = text + len, *nl;
    struct header h = {0};
    double *row = NULL;
    size_t line = 0, chain = add_chain(d);
    /* a row without its newline was cut off */
    for (; !wrong && (nl = memchr(text, '\n', (size_t)(stop - text))); text = nl + 1) {
        const char *end = nl > text && nl[-1] == '\r' ? nl - 1 : nl;
        line++;
        if (text < end) wrong = read_line(&d->t, chain, &h, &row, text, end);
    }
    if (!h.names.n) wrong = "there is no header";
    header_release(&h);
    mem_free(row);
    if (!wrong) {
        draw_table_arrange(&d->t);
        return GPM_OK;
    }
    snprintf(err, err_size, "line %zu: %s", line, wrong);
    draw_table_drop_last(&d->t);
    return GPM_E_FORMAT;
}

/* ---- asking ---- */

size_t gpm_draws_chains(const gpm_draws *d) {
    return d->t.chain.n;
}

size_t gpm_draws_columns(const gpm_draws *d) {
    return draw_table_columns(&d->t);
}

size_t gpm_draws_rows(const gpm_draws *d) {
    return draw_table_rows(&d->t);
}

const char *gpm_draws_name(const gpm_draws *d, size_t column) {
    return draw_table_name(&d->t, column);
}

double gpm_draws_at(const gpm_draws *d, size_t chain, size_t row, size_t column) {
    return draw_table_at(&d->t, chain, row, column);
}

void gpm_draws_column(const gpm_draws *d, size_t chain, size_t column, double *out) {
    size_t rows = draw_table_rows(&d->t);
    for (size_t i = 0; i < rows; i++) out[i] = draw_table_at(&d->t, chain, i, column);
}

gpm_draws *gpm_draws_drawn(const gpm_draws *d) {
    struct draw_table t;
    if (!draw_table_draw(&d->t, &t)) return NULL;
    gpm_draws *out = gpm_draws_new();
    out->t = t;
    return out;
}

bool gpm_draws_is_absent(double x) {
    return number_is_absent(x);
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
    buf_reset(&d->text);
    draw_table_complain(&d->t, &d->text);
    return d->text.data;
}

enum gpm_status gpm_draws_loo(gpm_draws *const *d, const char *const *names, size_t n,
                              enum gpm_format format, const char **text) {
    if (!n) return GPM_E_ARG;
    struct loo_model *m = mem_zalloc(n * sizeof *m);
    struct buf why = BUF_INIT, *out = &d[0]->text;
    buf_reset(out);
    for (size_t i = 0; i < n && !why.len; i++) {
        m[i].name = names[i];
        if (!loo_of_table(&d[i]->t, &m[i].loo, &why) && n > 1) buf_printf(&why, " (%s)", names[i]);
    }
    bool good = !why.len && loo_report(m, n, format == GPM_FORMAT_JSON, out, &why);
    if (!good) buf_puts(out, why.data);
    for (size_t i = 0; i < n; i++) loo_release(&m[i].loo);
    mem_free(m);
    buf_release(&why);
    *text = out->data;
    return good ? GPM_OK : GPM_E_ARG;
}

enum gpm_status gpm_draws_predictive(gpm_draws *d, enum gpm_format format,
                                     const struct gpm_plot_options *plot, const char **text) {
    struct predictive p;
    struct buf why = BUF_INIT;
    buf_reset(&d->text);
    bool good = predictive_of_table(&d->t, &p, &why);
    if (good && plot) good = plot_check(plot, &why) == GPM_OK;
    if (good && plot) {
        struct plot_scene *s = predictive_scene(&p, true);
        plot_picture(s, plot, &d->text);
        plot_scene_free(s);
    } else if (good)
        (format == GPM_FORMAT_JSON ? predictive_json : predictive_text)(&p, &d->text);
    else
        buf_puts(&d->text, why.data);
    predictive_release(&p);
    buf_release(&why);
    *text = d->text.data;
    return good ? GPM_OK : GPM_E_ARG;
}

enum gpm_draws_group gpm_draws_group_of(const char *name) {
    return (enum gpm_draws_group)draw_group_of(name);
}

const char *gpm_draws_json(gpm_draws *d) {
    buf_reset(&d->text);
    draw_table_json(&d->t, &d->text);
    return d->text.data;
}
