/* SPDX-License-Identifier: Apache-2.0
 *
 * The result on a terminal, and as Markdown.
 */
#include "base/mem.h"
#include "discover/discovery.h"
#include <math.h>
#include <string.h>

#define SHOWN 0.005 /* structures below this probability are summed up in one line */

/* A name from the data, or a text of the run's folder. */
static void put_name(const char *s, bool markdown, struct buf *out) {
    if (markdown)
        buf_markdown(out, s);
    else
        buf_visible(out, s, strlen(s));
}

static void data_line(const struct discovery *d, bool markdown, struct buf *out) {
    const struct series *s = &d->series;
    put_name(s->name, markdown, out);
    buf_printf(out, ": %zu values of '", s->n);
    put_name(s->value_name, markdown, out);
    buf_puts(out, "' from ");
    series_print_time(s, s->x[0], out);
    buf_puts(out, " to ");
    series_print_time(s, s->x[s->n - 1], out);
    if (d->data.regular)
        buf_printf(out, ", regular%s", d->data.no_gaps ? "" : " with gaps");
    else
        buf_puts(out, ", irregular");
    if (s->missing) buf_printf(out, ", %zu missing", s->missing);
    if (s->bad) buf_printf(out, ", %zu rows skipped", s->bad);
    if (s->repeated)
        buf_printf(out, ", %zu repeated time%s", s->repeated, s->repeated == 1 ? "" : "s");
    if (s->coded)
        buf_printf(out, ", %zu of them %g (if that stands for missing, leave the cell empty)",
                   s->coded, s->code);
    if (!s->sorted) buf_puts(out, ", sorted by time");
    if (s->left_out)
        buf_printf(out, "; the %zu oldest values were left out (--max-points)", s->left_out);
    if (d->subset)
        buf_printf(out, "; structures were searched on a subset of %zu values", d->subset);
    buf_putc(out, '\n');
}

/* Structures exclude each other, so that the rest can be summed up; components do not. */
static void entry_rows(const struct post_entry *e, size_t n, bool markdown, bool structures,
                       struct buf *out) {
    double rest = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].p < SHOWN && i > 0) {
            rest += e[i].p;
            continue;
        }
        const char *log = structures && e[i].p_log > 0.5 ? "log " : "";
        buf_printf(out, markdown ? "| %.4f | %.4f | %s`%s` |\n" : "  %.4f  %.4f  %s%s\n", e[i].p,
                   e[i].error, log, e[i].text);
    }
    if (rest > 0 && !structures)
        buf_printf(out,
                   markdown ? "| < %.3f | | each of the others |\n"
                            : "< %.3f           each of the others\n",
                   SHOWN);
    else if (rest > 0)
        buf_printf(out, markdown ? "| %.4f | | all others |\n" : "  %.4f          all others\n",
                   rest);
}

static void holdout_lines(const struct discovery *d, struct buf *out) {
    const struct holdout *h = &d->hold;
    if (!h->n) return;
    buf_printf(out,
               "Hold-out of the last %zu values: MASE %.3f, MAE %.4g, RMSE %.4g, CRPS %.4g, %.0f%% "
               "inside the %.0f%% interval, log score %.3f\n",
               h->n, h->mase, h->mae, h->rmse, h->crps, 100 * h->coverage, 100 * d->opt.level,
               h->log_score);
}

void discovery_text(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    data_line(d, false, out);
    buf_puts(out, "\nStructures: probability, error, structure\n");
    entry_rows(d->post.structures, d->post.n_structures, false, true, out);
    buf_puts(out, "\nMotifs: probability that there is one, whatever components express it\n");
    entry_rows(d->post.motifs, d->post.n_motifs, false, false, out);
    buf_puts(out, "\nComponents: probability that the component is present\n");
    entry_rows(d->post.components, d->post.n_components, false, false, out);
    buf_putc(out, '\n');
    describe_summary(d, out);
    buf_puts(out, "\n\n  ");
    describe_formula(d, out);
    buf_puts(out, "\n\n");
    for (int k = 0; k <= e->m.n_terms; k++) {
        buf_printf(out, "%d. ", k + 1);
        describe_term(d, k < e->m.n_terms ? k : -1, out);
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
    holdout_lines(d, out);
    for (int k = 0; k < DISCOVERY_CHECKS; k++)
        if (d->check[k].name)
            buf_printf(out, "Check: %s (p = %.3f)\n", d->check[k].text, d->check[k].p);
    buf_printf(out, "%s%s\n",
               d->post.settled ? "" : "NOT SETTLED: ", d->post.verdict ? d->post.verdict : "");
    buf_printf(out, "%zu structures, %ld likelihoods, %.1f s, seed %llu\n", d->search.n,
               d->search.evals, d->seconds, (unsigned long long)d->opt.seed);
}

static void forecast_rows(const struct discovery *d, struct buf *out) {
    buf_puts(out, "\n## Forecast\n\n| ");
    put_name(d->series.time_name, true, out);
    buf_printf(out, " | median | %.0f%% interval |\n|---|---:|---:|\n", 100 * d->opt.level);
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        buf_puts(out, "| ");
        series_print_time(&d->series, d->fit.x[i], out);
        buf_printf(out, " | %.5g | %.5g to %.5g |\n", d->fit.median[i], d->fit.lo[i], d->fit.hi[i]);
    }
}

void discovery_markdown(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    buf_puts(out, "# Structure of ");
    put_name(d->series.value_name, true, out);
    buf_puts(out, "\n\n");
    data_line(d, true, out);
    buf_putc(out, '\n');
    describe_summary(d, out);
    buf_puts(out, "\n\n    ");
    describe_formula(d, out);
    buf_puts(out, "\n\n## Components\n\n");
    for (int k = 0; k <= e->m.n_terms; k++) {
        buf_printf(out, "%d. ", k + 1);
        describe_term(d, k < e->m.n_terms ? k : -1, out);
        buf_putc(out, '\n');
    }
    buf_puts(out, "\n## Structures\n\n| probability | error | structure |\n|---:|---:|---|\n");
    entry_rows(d->post.structures, d->post.n_structures, true, true, out);
    buf_puts(out, "\n| probability | error | motif |\n|---:|---:|---|\n");
    entry_rows(d->post.motifs, d->post.n_motifs, true, false, out);
    buf_puts(out, "\n| probability | error | component |\n|---:|---:|---|\n");
    entry_rows(d->post.components, d->post.n_components, true, false, out);
    forecast_rows(d, out);
    buf_puts(out, "\n## Checks\n\n");
    holdout_lines(d, out);
    for (int k = 0; k < DISCOVERY_CHECKS; k++)
        if (d->check[k].name) buf_printf(out, "- %s (p = %.3f)\n", d->check[k].text, d->check[k].p);
    buf_printf(out, "- %s", d->post.settled ? "" : "**Not settled**: ");
    put_name(d->post.verdict ? d->post.verdict : "", true, out);
    buf_putc(out, '\n');
    buf_puts(out, "\n## How it was computed\n\n```\n");
    discovery_program(d, out);
    buf_printf(out, "```\n\ngpmem %s, %.1f s, data hash %016llx\n", GPMEM_VERSION, d->seconds,
               (unsigned long long)d->series.hash);
}
