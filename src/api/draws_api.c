/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_draws: infer/draws.h for the outside.
 */
#include "gpmem/draws.h"
#include "base/mem.h"
#include "base/number.h"
#include "infer/draws.h"
#include "infer/loo.h"
#include "infer/predictive.h"
#include "api/picture.h"
#include <stdio.h>
#include <string.h>

struct gpm_draws {
    struct draw_table t; /* without columns before the first chain */
    size_t skipped;      /* chains that left nothing */
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

/* The names of the first chain are those of the table, which the others must have. NULL: good, here
 * and below; else what is wrong. */
static const char *read_header(struct draw_table *t, const char *p, const char *end) {
    VEC(char *) names = {0};
    for (const char *q; p <= end; p = q + 1) {
        q = field_end(p, end);
        vec_push(&names, mem_strndup(p, (size_t)(q - p)));
    }
    if (!t->chain.n) {
        t->names = names.at;
        t->n_cols = names.n;
        return NULL;
    }
    bool same = names.n == t->n_cols;
    for (size_t k = 0; k < names.n; k++) {
        same = same && !strcmp(names.at[k], t->names[k]);
        mem_free(names.at[k]);
    }
    vec_release(&names);
    return same ? NULL : "the chains have different columns";
}

static const char *read_row(const struct draw_table *t, struct draws_chain *to, const char *p,
                            const char *end) {
    size_t n = 0;
    for (const char *q; p <= end; p = q + 1, n++) {
        double x;
        q = field_end(p, end);
        if (n == t->n_cols) return "the number of columns is wrong";
        if (!number_parse(p, (size_t)(q - p), &x)) return "a number is missing or malformed";
        vec_push(&to->x, x);
    }
    return n == t->n_cols ? NULL : "the number of columns is wrong";
}

static void add_chain(gpm_draws *d, struct draws_chain *c) {
    c->number = d->t.chain.n + d->skipped + 1;
    vec_push(&d->t.chain, *c);
}

void gpm_draws_skip(gpm_draws *d) {
    d->skipped++;
}

enum gpm_status gpm_draws_add_rows(gpm_draws *d, const char *const *names, size_t n,
                                   const double *x, size_t rows) {
    struct draws_chain chain = {0};
    if (!d->t.chain.n) draw_table_init(&d->t, names, n, 0);
    bool same = n == d->t.n_cols;
    for (size_t k = 0; k < n && same; k++) same = !strcmp(names[k], d->t.names[k]);
    if (!same) return GPM_E_FORMAT;
    vec_reserve(&chain.x, n * rows);
    if (rows) memcpy(chain.x.at, x, n * rows * sizeof *x);
    chain.x.n = n * rows;
    add_chain(d, &chain);
    return GPM_OK;
}

enum gpm_status gpm_draws_add_csv(gpm_draws *d, const char *text, size_t len, char *err,
                                  size_t err_size) {
    const char *wrong = NULL, *stop = text + len, *nl;
    struct draws_chain chain = {0};
    size_t line = 0;
    bool header = false;
    /* a row without its newline was cut off */
    for (; !wrong && (nl = memchr(text, '\n', (size_t)(stop - text))); text = nl + 1) {
        const char *end = nl > text && nl[-1] == '\r' ? nl - 1 : nl;
        line++;
        if (text == end || *text == '#') continue;
        wrong = header ? read_row(&d->t, &chain, text, end) : read_header(&d->t, text, end);
        header = true;
    }
    if (!header) wrong = "there is no header";
    if (!wrong) {
        add_chain(d, &chain);
        return GPM_OK;
    }
    snprintf(err, err_size, "line %zu: %s", line, wrong);
    vec_release(&chain.x);
    if (!d->t.chain.n) draw_table_release(&d->t);
    return GPM_E_FORMAT;
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
