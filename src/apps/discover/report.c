/* SPDX-License-Identifier: Apache-2.0
 *
 * The result for people: one document (io/plot/doc.h), whose sections are listed once.
 */
#include "apps/discover/report.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/version.h"
#include "apps/discover/charts.h"
#include "apps/discover/every.h"
#include "apps/discover/layout.h"
#include "apps/discover/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How times were read, where a reader might wonder. */
static void say_times(const struct series *s, struct buf *out) {
    const struct time_form *f = &s->form;
    if (f->kind == TIME_UNIX && f->pattern && !strcmp(f->pattern, "excel")) {
        buf_puts(out, ", times in days of a spreadsheet (");
        series_print_plain(s, s->x[0], out);
        buf_printf(out, " on%s)", f->found ? "; if they are numbers: --date-format number" : "");
    } else if (f->kind == TIME_UNIX && f->pattern) {
        buf_printf(out, ", times in %s (since 1970, UTC: ",
                   strcmp(f->pattern, "unix") ? f->pattern : "unix seconds");
        series_print_plain(s, s->x[0], out);
        buf_printf(out, " on%s)", f->found ? "; if they are numbers: --date-format number" : "");
    } else if (f->pattern && series_dated(s)) { /* the year first, and set off, to be unambiguous */
        bool plain = f->pattern[0] == '%' && strchr("YG", f->pattern[1]) && f->pattern[2] != '%';
        if (!plain || !strcmp(f->pattern, "%Y.%m")) /* parts of a year are written so, too */
            buf_printf(out, ", times read as %s", f->pattern);
    }
    if (time_elapsed(f)) buf_puts(out, ", times read as hours that went by");
    if (f->zones) buf_puts(out, ", times of several zones, written in UTC");
}

static void report_data(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    buf_printf(out, "%s: %zu values of '%s' from ", s->name, s->n, s->value_name);
    series_print_time(s, s->x[0], out);
    buf_puts(out, " to ");
    series_print_time(s, s->x[s->n - 1], out);
    buf_puts(out, !d->data.regular     ? ", irregular"
                  : d->data.ng == s->n ? ", regular"
                                       : ", regular with gaps");
    if (s->missing) buf_printf(out, ", %zu missing", s->missing);
    if (s->bad) buf_printf(out, ", %zu row%s skipped", s->bad, s->bad == 1 ? "" : "s");
    if (s->repeated)
        buf_printf(out, ", %zu repeated time%s%s", s->repeated, s->repeated == 1 ? "" : "s",
                   10 * s->repeated > s->n ? " (totals or counts of their rows: --take)" : "");
    layout_say(s, out);
    number_style_say(&s->style, out);
    say_times(s, out);
    if (s->set_back)
        buf_printf(out, ", clocks set back%s (an hour that comes twice is averaged)",
                   s->set_back == 1 ? " once" : "");
    if (!s->sorted) buf_puts(out, ", sorted by time");
    if (s->unseen)
        buf_printf(out, ", %zu holiday%s of the list without a day in it left out", s->unseen,
                   s->unseen == 1 ? "" : "s");
    if (s->left_out)
        buf_printf(out, "; the %zu oldest values were left out (--max-points)", s->left_out);
    every_say(s, out);
    if (d->data.added)
        buf_printf(out, "; the last %zu were added to what was learnt from the others",
                   d->data.added);
    if (d->subset)
        buf_printf(out, "; structures were searched on a subset of %zu values", d->subset);
}

/* ---- charts ---- */

static struct plot_scene *scene(const char *caption) {
    return plot_scene_new(NULL, caption, 1);
}

static void label_time(const void *ctx, double x, struct buf *out) {
    series_print_rounded(ctx, x, 8, out);
}

static void chart(const struct discovery *d, struct plot_panel *p, const char *id, size_t n,
                  const double *x, const struct doc_line *lines, size_t n_lines, struct doc *doc) {
    const struct doc_hover h = {n, x, label_time, &d->series, lines, n_lines};
    doc_figure(doc, DOC_WIDE, id, p->scene, &h);
}

void report_forecast_chart(const struct discovery *d, const char *id, struct doc *doc) {
    const struct prediction *p = &d->fit;
    bool truths = d->data.truths;
    if (!doc_draws(doc)) return;
    const char *caption =
        truths
            ? "Data (points: 0 or 1) and the chance of a 1 (line), in the data and to come. Drag "
              "to zoom, double click to return."
            : "Data (points), forecast (line) and its interval; the fit to the data lies "
              "underneath. Drag to zoom, double click to return.";
    const struct doc_line lines[] = {{"data", d->series.y, d->series.n},
                                     {discovery_line_name(d), discovery_line(d), p->n},
                                     {"low", p->lo, p->n},
                                     {"high", p->hi, p->n}};
    chart(d, chart_forecast(d, scene(caption), NULL), id, p->n, p->x, lines,
          COUNT_OF(lines) - (truths ? 2 : 0), doc);
}

static void part_chart(const struct discovery *d, int k, struct doc *doc) {
    const struct series_part *p = &d->dec.part[k];
    size_t n = d->dec.n;
    double *lo = NEW_ARRAY(double, 2 * n), *hi = lo + n;
    chart_part_interval(p, n, lo, hi);
    static const char caption[] =
        "Posterior of this component with its 95% interval; beyond the rule: its forecast.";
    char id[16];
    snprintf(id, sizeof id, "part%d", k);
    const struct doc_line lines[] = {{"mean", p->mean, n}, {"low", lo, n}, {"high", hi, n}};
    chart(d, chart_part(d, k, scene(caption), NULL), id, n, d->dec.x, lines, COUNT_OF(lines), doc);
    mem_free(lo);
}

/* The chart of the part that stands for a term. */
static void term_chart(const struct discovery *d, int term, struct doc *doc) {
    for (int q = 0; q < d->dec.n_parts && doc_draws(doc); q++)
        if (d->dec.part[q].term == term) part_chart(d, q, doc);
}

/* ---- sections ---- */

static void section_verdict(const struct discovery *d, struct doc *doc) {
    doc_say(doc, d->post.settled ? DOC_SETTLED : DOC_OPEN, "%s",
            d->post.verdict ? d->post.verdict : "");
}

void report_forecast_table(const struct discovery *d, struct doc *doc) {
    char interval[32];
    number_snprintf(interval, sizeof interval, "%.0f%% interval", 100 * d->opt.level);
    const struct doc_column columns[] = {{d->series.time_name, DOC_WORD},
                                         {discovery_line_name(d), DOC_NUMBER},
                                         {interval, DOC_NUMBER}};
    bool band = !d->data.truths; /* of 0 and 1 the chance says all */
    doc_fold(doc, "Forecast as a table");
    doc_table(doc, NULL, NULL, columns, band ? 3 : 2);
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        if (doc_draws(doc)) /* as its axes have it; else as the file has it */
            series_print_rounded(&d->series, d->fit.x[i], 8, &doc->words);
        else
            series_print_time(&d->series, d->fit.x[i], &doc->words);
        doc_cell(doc);
        words_value(d, discovery_line(d)[i], 5, &doc->words);
        doc_cell(doc);
        if (!band) continue;
        words_value(d, d->fit.lo[i], 5, &doc->words);
        buf_puts(&doc->words, " to ");
        words_value(d, d->fit.hi[i], 5, &doc->words);
        doc_cell(doc);
    }
    doc_table_end(doc);
    doc_fold_end(doc);
}

static void section_forecast(const struct discovery *d, struct doc *doc) {
    doc_say(doc, DOC_SECTION, "Forecast");
    report_forecast_chart(d, "fit", doc);
    report_forecast_table(d, doc);
}

/* Component or effect number k: a heading with its chart on a page, else a numbered item. */
static void component(const struct discovery *d, int k, bool charts, struct doc *doc) {
    int n = smodel_of(discovery_top(d))->n_terms, effect = k - n - 1, term = k < n ? k : -1;
    struct buf *words = &doc->words;
    buf_printf(words, "%d. ", k + 1);
    if (doc_draws(doc)) {
        size_t from = words->len;
        if (effect >= 0) {
            buf_printf(words, "Effect of %s", d->series.reg.name[effect]);
        } else {
            describe_headline(d, term, words);
            words->data[from] = ascii_upper(words->data[from]);
            buf_puts(words, " (");
            describe_name(d, term, words);
            buf_putc(words, ')');
        }
        doc_put(doc, DOC_PART);
    }
    if (effect >= 0)
        describe_effect(d, effect, words);
    else
        describe_term(d, term, words);
    doc_put(doc, doc_draws(doc) ? DOC_PLAIN : DOC_STEP);
    if (charts && (effect >= 0 || term >= 0))
        term_chart(d, effect >= 0 ? SMODEL_REGRESS - effect : term, doc);
}

void report_components(const struct discovery *d, bool charts, struct doc *doc) {
    int n = smodel_of(discovery_top(d))->n_terms + 1 + d->series.reg.n;
    for (int k = 0; k < n; k++) component(d, k, charts, doc);
    describe_future(d, &doc->words);
    doc_put(doc, DOC_PLAIN);
    describe_shares(d, &doc->words);
    doc_put(doc, DOC_PLAIN);
}

static void section_components(const struct discovery *d, struct doc *doc) {
    doc_say(doc, DOC_SECTION, "Components");
    report_components(d, true, doc);
}

const char *report_transform(const struct post_entry *e) {
    for (int tr = TRANSFORM_NONE + 1; e->best && tr < TRANSFORMS; tr++)
        if (e->p_group[tr] > 0.5) return link_name(smodel_of(e->best)->data->link[tr].kind);
    return "";
}

/* Structures exclude each other, so that the rest can be summed up; components do not. */
void report_entries(const char *title, const char *more, const char *what,
                    const struct post_table *t, struct doc *doc) {
    const double shown = 0.005;
    double rest = 0;
    const struct doc_column columns[] = {
        {"probability", DOC_NUMBER}, {"error", DOC_NUMBER}, {what, DOC_NAME}, {"", DOC_BAR}};
    doc_table(doc, title, more, columns, COUNT_OF(columns));
    for (size_t i = 0; i < t->n; i++) {
        const struct post_entry *e = &t->at[i];
        const char *scale = report_transform(e);
        if (e->p < shown && i > 0) {
            rest += e->p;
            continue;
        }
        doc_cellf(doc, "%.4f", e->p);
        doc_cellf(doc, "%.4f", e->error);
        doc_cellf(doc, "%s%s%s", scale, *scale ? " " : "", e->text);
        doc_cellf(doc, "%.1f", 100 * fmin(e->p, 1));
    }
    bool apart = t->n && t->at[0].best;
    if (rest > 0) {
        doc_cellf(doc, apart ? "%.4f" : "< %.3f", apart ? rest : shown);
        doc_restf(doc, apart ? "all others" : "each of the others");
    }
    doc_table_end(doc);
}

static void section_posterior(const struct discovery *d, struct doc *doc) {
    const struct posterior *p = &d->post;
    doc_say(doc, DOC_SECTION, "Probable structures");
    report_entries("Structures", "probability, error, structure", "structure", &p->structures, doc);
    report_entries("Motifs", "probability that there is one, whatever components express it",
                   "motif", &p->motifs, doc);
    report_entries("Components", "probability that the component is present", "component",
                   &p->components, doc);
}

static void section_contests(const struct discovery *d, struct doc *doc) {
    char inside[32], more[64];
    for (const struct contest *c = d->contest; c < d->contest + COUNT_OF(d->contest); c++) {
        double n = (double)c->origins;
        if (!c->origins) continue;
        number_snprintf(inside, sizeof inside, "inside %.0f%%", 100 * c->level);
        number_snprintf(more, sizeof more, "MASE, sMAPE, inside the %.0f%% interval",
                        100 * c->level);
        const struct doc_column columns[] = {{"forecast", DOC_WORD},
                                             {"MASE", DOC_NUMBER},
                                             {"sMAPE", DOC_NUMBER},
                                             {inside, DOC_NUMBER}};
        doc_table(doc, "Forecasts compared", more, columns, COUNT_OF(columns));
        for (int k = 0; k < CONTEST_ROWS; k++) {
            const struct contest_row *r = &c->row[k];
            doc_cellf(doc, "%s", contest_name(k));
            doc_cellf(doc, "%.3f", r->mase / n);
            doc_cellf(doc, "%.2f%%", r->smape / n);
            if (!isnan(r->coverage)) buf_printf(&doc->words, "%.0f%%", 100 * r->coverage / n);
            doc_cell(doc);
        }
        doc_table_end(doc);
        contest_sentence(c, &doc->words);
        doc_put(doc, DOC_PLAIN);
    }
}

static void section_checks(const struct discovery *d, struct doc *doc) {
    const struct holdout *h = &d->hold;
    doc_say(doc, DOC_SECTION, "Checks of the model");
    if (h->n)
        doc_say(doc, DOC_PLAIN,
                "Hold-out of the last %zu values: MASE %.3f, MAE %.4g, RMSE %.4g, CRPS %.4g, "
                "%.0f%% inside the %.0f%% interval, log score %.3f",
                h->n, h->mase, h->mae, h->rmse, h->crps, 100 * h->coverage, 100 * d->opt.level,
                h->log_score);
    for (const struct residual_check *c = d->check; c < d->check + DISCOVERY_CHECKS; c++)
        if (c->name)
            doc_say(doc, DOC_ITEM, "%s%s (p = %.3f)", doc->form == DOC_TEXT ? "Check: " : "",
                    c->text, c->p);
}

static void section_program(const struct discovery *d, struct doc *doc) {
    doc_say(doc, DOC_SECTION, "How it was computed");
    discovery_program(d, &doc->words);
    doc_put(doc, DOC_CODE);
}

static void section_effort(const struct discovery *d, struct doc *doc) {
    const struct search *s = &d->search;
    buf_printf(&doc->words, "%zu structure%s, %ld likelihood%s, %.1f s, seed %llu", s->n,
               s->n == 1 ? "" : "s", s->evals, s->evals == 1 ? "" : "s", d->seconds,
               (unsigned long long)d->opt.seed);
    if (doc->form != DOC_TEXT)
        buf_printf(&doc->words,
                   ", gpmem %s, data hash %016llx; %.1f%% of the mass on structures whose "
                   "neighbours were not visited",
                   version_text(), (unsigned long long)d->series.hash, 100 * d->post.unexplored);
    doc_put(doc, DOC_NOTE);
}

/* ---- documents ---- */

/* A section is words in a role, or writes itself; in some forms alone. */
struct section {
    unsigned forms;
    enum doc_role role;
    void (*words)(const struct discovery *d, struct buf *out);
    void (*write)(const struct discovery *d, struct doc *doc);
};
#define IN(form) (1u << (form))
#define ALL      (IN(DOC_TEXT) | IN(DOC_MARKDOWN) | IN(DOC_HTML))
#define SHEETS   (IN(DOC_MARKDOWN) | IN(DOC_HTML))

/* What is said first; also of each series of a panel. */
static const struct section summary[] = {
    {ALL, DOC_SOFT, report_data, NULL},
    {ALL, DOC_LEAD, describe_summary, NULL},
    {ALL, DOC_PLAIN, describe_level, NULL},
    {ALL, DOC_PLAIN, describe_outliers, NULL},
    {ALL, DOC_PLAIN, describe_outlook, NULL},
    {ALL, DOC_PLAIN, describe_remarks, NULL},
    {IN(DOC_HTML), DOC_NOTHING, NULL, section_verdict},
};
static const struct section sections[] = {
    {SHEETS, DOC_NOTHING, NULL, section_forecast},
    {ALL, DOC_NOTHING, NULL, section_components},
    {ALL, DOC_PLAIN, describe_open, NULL},
    {ALL, DOC_CODE, describe_formula, NULL},
    {ALL, DOC_NOTHING, NULL, section_posterior},
    {ALL, DOC_NOTHING, NULL, section_contests},
    {ALL, DOC_NOTHING, NULL, section_checks},
    {ALL & ~IN(DOC_HTML), DOC_NOTHING, NULL, section_verdict},
    {SHEETS, DOC_NOTHING, NULL, section_program},
    {ALL, DOC_NOTHING, NULL, section_effort},
};

static void put_sections(const struct discovery *d, const struct section *s, size_t n,
                         struct doc *doc) {
    for (const struct section *end = s + n; s < end; s++) {
        if (!(s->forms & IN(doc->form))) continue;
        if (s->write) {
            s->write(d, doc);
        } else {
            s->words(d, &doc->words);
            doc_put(doc, s->role);
        }
    }
}

void report_summary(const struct discovery *d, struct doc *doc) {
    put_sections(d, summary, COUNT_OF(summary), doc);
}

void discovery_report(const struct discovery *d, enum doc_form form, struct buf *out) {
    struct buf title = BUF_INIT;
    struct doc doc;
    buf_printf(&title, "Structure of %s", d->series.value_name);
    doc_begin(&doc, form, "gpmem discover", title.data, out);
    report_summary(d, &doc);
    put_sections(d, sections, COUNT_OF(sections), &doc);
    doc_end(&doc);
    buf_release(&title);
}
