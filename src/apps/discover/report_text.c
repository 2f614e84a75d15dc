/* SPDX-License-Identifier: Apache-2.0
 *
 * The result on a terminal, and as Markdown.
 */
#include "base/mem.h"
#include "base/version.h"
#include "apps/discover/discovery.h"
#include "apps/discover/every.h"
#include "apps/discover/words.h"
#include "apps/discover/layout.h"
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
    } else if (f->pattern && series_dated(s)) { /* the year first, and set off: nobody wonders */
        bool plain = f->pattern[0] == '%' && strchr("YG", f->pattern[1]) && f->pattern[2] != '%';
        if (!plain || !strcmp(f->pattern, "%Y.%m")) /* parts of a year are written so, too */
            buf_printf(out, ", times read as %s", f->pattern);
    }
    if (time_elapsed(f)) buf_puts(out, ", times read as hours that went by");
    if (f->zones) buf_puts(out, ", times of several zones, written in UTC");
}

/* What was written into `text`, which is empty again. */
static void put(struct buf *text, bool markdown, struct buf *out) {
    (markdown ? buf_markdown : buf_puts)(out, text->data);
    buf_reset(text);
}

static void put_words(const struct discovery *d,
                      void (*describe)(const struct discovery *d, struct buf *out), bool markdown,
                      struct buf *out) {
    struct buf b = BUF_INIT;
    describe(d, &b);
    put(&b, markdown, out);
    buf_release(&b);
}

void report_data(const struct discovery *d, struct buf *out) {
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
    if (s->coded)
        buf_printf(out, ", %zu of them %g (if that stands for missing: --missing %g)", s->coded,
                   s->code, s->code);
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

const char *report_transform(const struct post_entry *e) {
    for (int tr = TRANSFORM_NONE + 1; e->best && tr < TRANSFORMS; tr++)
        if (e->p_group[tr] > 0.5) return smodel_transform_name(smodel_of(e->best)->data, tr);
    return "";
}

/* The transform of a structure that is of transformed values: "log ". */
static const char *entry_mark(const struct post_entry *e, const struct entry_form *f, char *room) {
    const char *name = report_transform(e);
    if (!*name) return "";
    snprintf(room, 16, "%s%s", name, f->after);
    return room;
}

/* Structures exclude each other, so that the rest can be summed up; components do not. */
void report_entries(const struct post_table *t, const struct entry_form *f, struct buf *out) {
    const double shown = 0.005;
    double rest = 0;
    char mark[16];
    for (size_t i = 0; i < t->n; i++) {
        const struct post_entry *e = &t->at[i];
        if (e->p < shown && i > 0)
            rest += e->p;
        else
            buf_printf(out, f->row, e->p, e->error, entry_mark(e, f, mark), e->text,
                       100 * fmin(e->p, 1));
    }
    if (rest > 0 && !t->at[0].best)
        buf_printf(out, f->each, shown);
    else if (rest > 0)
        buf_printf(out, f->rest, rest);
}

static void entry_rows(const char *title, const struct post_table *t, bool markdown,
                       struct buf *out) {
    static const struct entry_form forms[] = {
        {" ", "  %1$.4f  %2$.4f  %3$s%4$s\n", "< %.3f           each of the others\n",
         "  %.4f          all others\n"},
        {" ", "| %1$.4f | %2$.4f | %3$s`%4$s` |\n", "| < %.3f | | each of the others |\n",
         "| %.4f | | all others |\n"}};
    buf_puts(out, title);
    report_entries(t, &forms[markdown], out);
}

static void term_lines(const struct discovery *d, bool markdown, struct buf *out) {
    int n = smodel_of(discovery_top(d))->n_terms, effects = d->series.reg.n;
    struct buf b = BUF_INIT;
    for (int k = 0; k <= n + effects; k++) {
        buf_printf(out, "%d. ", k + 1);
        if (k <= n)
            describe_term(d, k < n ? k : -1, &b);
        else
            describe_effect(d, k - n - 1, &b);
        put(&b, markdown, out);
        buf_putc(out, '\n');
    }
    buf_release(&b);
    if (!effects) return;
    buf_putc(out, '\n');
    put_words(d, describe_future, markdown, out);
    buf_putc(out, '\n');
}

void report_holdout(const struct discovery *d, struct buf *out) {
    const struct holdout *h = &d->hold;
    if (h->n)
        buf_printf(out,
                   "Hold-out of the last %zu values: MASE %.3f, MAE %.4g, RMSE %.4g, CRPS %.4g, "
                   "%.0f%% inside the %.0f%% interval, log score %.3f\n",
                   h->n, h->mase, h->mae, h->rmse, h->crps, 100 * h->coverage, 100 * d->opt.level,
                   h->log_score);
}

static void contest_lines(const struct discovery *d, bool markdown, struct buf *out) {
    static const struct contest_form forms[] = {
        {"Forecasts compared: MASE, sMAPE, inside the %.0f%% interval\n",
         "  %-22s %7.3f %7.2f%% %5s\n", ""},
        {"\n| forecast | MASE | sMAPE | inside %.0f%% |\n|---|---:|---:|---:|\n",
         "| %s | %.3f | %.2f%% | %s |\n", "\n"}};
    for (const struct contest *c = d->contest; c < d->contest + COUNT_OF(d->contest); c++) {
        contest_print(c, &forms[markdown], out);
        contest_sentence(c, out);
        if (c->origins) buf_putc(out, '\n');
    }
}

static void check_lines(const struct discovery *d, const char *mark, struct buf *out) {
    report_holdout(d, out);
    for (const struct residual_check *c = d->check; c < d->check + DISCOVERY_CHECKS; c++)
        if (c->name) buf_printf(out, "%s%s (p = %.3f)\n", mark, c->text, c->p);
}

/* After what stands above them, where there are any. */
static void outlook_lines(const struct discovery *d, bool markdown, struct buf *out) {
    struct buf b = BUF_INIT;
    describe_outlook(d, &b);
    if (b.len) buf_puts(out, markdown ? "\n\n" : "\n");
    put(&b, markdown, out);
    buf_release(&b);
}

void discovery_text(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    report_data(d, out);
    buf_puts(out, "\n\n");
    describe_summary(d, out);
    buf_puts(out, "\n\n");
    describe_level(d, out);
    buf_puts(out, d->out.n ? "\n" : "");
    describe_outliers(d, out);
    outlook_lines(d, false, out);
    buf_puts(out, "\n\n");
    term_lines(d, false, out);
    buf_putc(out, '\n');
    describe_shares(d, out);
    buf_putc(out, '\n');
    describe_open(d, out);
    buf_puts(out, "\n\n  ");
    describe_formula(d, out);
    entry_rows("\n\nStructures: probability, error, structure\n", &p->structures, false, out);
    entry_rows("\nMotifs: probability that there is one, whatever components express it\n",
               &p->motifs, false, out);
    entry_rows("\nComponents: probability that the component is present\n", &p->components, false,
               out);
    buf_putc(out, '\n');
    contest_lines(d, false, out);
    check_lines(d, "Check: ", out);
    buf_printf(out, "%s%s\n%zu structure%s, %ld likelihood%s, %.1f s, seed %llu\n",
               p->settled ? "" : "NOT SETTLED: ", p->verdict ? p->verdict : "", d->search.n,
               d->search.n == 1 ? "" : "s", d->search.evals, d->search.evals == 1 ? "" : "s",
               d->seconds, (unsigned long long)d->opt.seed);
}

static void forecast_rows(const struct discovery *d, struct buf *out) {
    buf_puts(out, "\n## Forecast\n\n| ");
    buf_markdown(out, d->series.time_name);
    bool band = !d->data.truths; /* of 0 and 1 the chance says all */
    buf_printf(out, " | %s |", discovery_line_name(d));
    if (band) buf_printf(out, " %.0f%% interval |", 100 * d->opt.level);
    buf_puts(out, band ? "\n|---|---:|---:|\n" : "\n|---|---:|\n");
    struct buf at = BUF_INIT;
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        buf_puts(out, "| ");
        series_print_time(&d->series, d->fit.x[i], &at);
        put(&at, true, out);
        buf_puts(out, " | ");
        words_value(d, discovery_line(d)[i], 5, out);
        if (band) {
            buf_puts(out, " | ");
            words_value(d, d->fit.lo[i], 5, out);
            buf_puts(out, " to ");
            words_value(d, d->fit.hi[i], 5, out);
        }
        buf_puts(out, " |\n");
    }
    buf_release(&at);
}

void discovery_markdown(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    buf_puts(out, "# Structure of ");
    buf_markdown(out, d->series.value_name);
    buf_puts(out, "\n\n");
    put_words(d, report_data, true, out);
    buf_puts(out, "\n\n");
    put_words(d, describe_summary, true, out);
    buf_puts(out, "\n\n");
    put_words(d, describe_level, true, out);
    buf_puts(out, d->out.n ? "\n\n" : "");
    put_words(d, describe_outliers, true, out);
    outlook_lines(d, true, out);
    buf_puts(out, "\n\n    ");
    describe_formula(d, out);
    buf_puts(out, "\n\n## Components\n\n");
    term_lines(d, true, out);
    buf_putc(out, '\n');
    put_words(d, describe_shares, true, out);
    buf_puts(out, "\n\n");
    put_words(d, describe_open, true, out);
    buf_putc(out, '\n');
    entry_rows("\n## Structures\n\n| probability | error | structure |\n|---:|---:|---|\n",
               &p->structures, true, out);
    entry_rows("\n| probability | error | motif |\n|---:|---:|---|\n", &p->motifs, true, out);
    entry_rows("\n| probability | error | component |\n|---:|---:|---|\n", &p->components, true,
               out);
    forecast_rows(d, out);
    contest_lines(d, true, out);
    buf_puts(out, "\n## Checks\n\n");
    check_lines(d, "- ", out);
    buf_puts(out, p->settled ? "- " : "- **Not settled**: ");
    buf_markdown(out, p->verdict ? p->verdict : "");
    buf_puts(out, "\n\n## How it was computed\n\n```\n");
    discovery_program(d, out);
    buf_printf(out, "```\n\ngpmem %s, %.1f s, data hash %016llx\n", version_text(), d->seconds,
               (unsigned long long)d->series.hash);
}
