/* SPDX-License-Identifier: Apache-2.0
 *
 * The result as one HTML page: no network, readable and printable without scripts; a script adds
 * hovering and zooming. Everything that comes from the data is escaped.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "base/version.h"
#include "apps/discover/charts.h"
#include "apps/discover/report_html.h"
#include "apps/discover/words.h"
#include <stdio.h>
#include <math.h>
#include <string.h>

extern const char embed_report_page_css[], embed_discover_report_js[];

/* The words of one of describe_..., between pieces of the page; nothing where there are none. */
static void put_words(const struct discovery *d,
                      void (*describe)(const struct discovery *d, struct buf *out),
                      const char *open, const char *close, struct buf *out) {
    struct buf b = BUF_INIT;
    describe(d, &b);
    if (b.len) buf_html(out, open, b.data, close);
    buf_release(&b);
}

/* ---- charts ---- */
/* A value shown when the pointer rests on a time; those beyond n are blank. */
struct hover {
    const char *name;
    const double *v;
    size_t n;
};

/* The script reads what a chart shows from JSON beside it. */
static void chart_end(struct plot_panel *p, const char *id, double height,
                      const struct discovery *d, size_t n, const double *at, const struct hover *h,
                      size_t n_hover, struct buf *out) {
    /* drawn twice, for wide pages and narrow ones: letters keep their size */
    static const struct {
        const char *class;
        double width;
    } sizes[] = {{"wide", 860}, {"narrow", 372}};
    struct plot_axis x = plot_panel_axes(p).x;
    buf_puts(out, "<figure data-chart>\n");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s-%s", id, sizes[i].class);
        struct plot_svg_options o = {sizes[i].width, i ? fmin(height, 260) : height, name, true};
        buf_printf(out, "<div class=\"%s\">\n", sizes[i].class);
        plot_svg(p->scene, &o, out);
        buf_puts(out, "</div>\n");
    }
    buf_html(out, "<figcaption>", p->scene->description,
             "</figcaption>\n<script type=\"application/json\">");
    buf_printf(out, "{\"x0\":%.12g,\"x1\":%.12g,\"x\":[", x.lo, x.hi);
    for (size_t i = 0; i < n; i++) buf_printf(out, "%s%.12g", i ? "," : "", at[i]);
    buf_puts(out, "],\"labels\":[");
    struct buf time = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (i) buf_putc(out, ',');
        buf_reset(&time);
        series_print_rounded(&d->series, at[i], 8, &time);
        buf_json_string(out, time.data, time.len);
    }
    buf_release(&time);
    for (size_t k = 0; k < n_hover; k++) {
        buf_printf(out, "%s{\"name\":\"%s\",\"y\":[", k ? "]}," : "],\"series\":[", h[k].name);
        for (size_t i = 0; i < n; i++) {
            bool known = i < h[k].n && isfinite(h[k].v[i]);
            if (i) buf_putc(out, ',');
            buf_printf(out, known ? "%.7g" : "null", known ? h[k].v[i] : 0);
        }
    }
    buf_puts(out, "]}]}</script>\n</figure>\n");
    plot_scene_free(p->scene);
}

static struct plot_scene *scene(const char *caption) {
    return plot_scene_new(NULL, caption, 1);
}

void html_forecast(const struct discovery *d, const char *id, struct buf *out) {
    const struct prediction *p = &d->fit;
    bool truths = d->data.truths;
    const char *caption =
        truths
            ? "Data (points: 0 or 1) and the chance of a 1 (line), in the data and to come. Drag "
              "to zoom, double click to return."
            : "Data (points), forecast (line) and its interval; the fit to the data lies "
              "underneath. Drag to zoom, double click to return.";
    const struct hover shown[] = {{"data", d->series.y, d->series.n},
                                  {discovery_line_name(d), discovery_line(d), p->n},
                                  {"low", p->lo, p->n},
                                  {"high", p->hi, p->n}};
    chart_end(chart_forecast(d, scene(caption), NULL), id, 380, d, p->n, p->x, shown,
              COUNT_OF(shown) - (truths ? 2 : 0), out);
}

static void part_chart(const struct discovery *d, int k, struct buf *out) {
    const struct series_part *p = &d->dec.part[k];
    size_t n = d->dec.n;
    double *lo = NEW_ARRAY(double, 2 * n), *hi = lo + n;
    chart_part_interval(p, n, lo, hi);
    static const char caption[] =
        "Posterior of this component with its 95% interval; beyond the rule: its forecast.";
    char id[16];
    snprintf(id, sizeof id, "part%d", k);
    const struct hover shown[] = {{"mean", p->mean, n}, {"low", lo, n}, {"high", hi, n}};
    chart_end(chart_part(d, k, scene(caption), NULL), id, 250, d, n, d->dec.x, shown,
              COUNT_OF(shown), out);
    mem_free(lo);
}

/* ---- tables ---- */
static void entry_table(const char *what, const struct post_table *t, struct buf *out) {
    static const struct entry_form form = {
        ": ",
        "<tr><td>%3$s<code>%4$s</code></td><td class=\"n\">%1$.3f</td><td class=\"n\">%2$.3f</td>"
        "<td class=\"bar\"><div style=\"width:%5$.1f%%\"></div></td></tr>\n",
        "<tr><td>each of the others</td><td class=\"n\">below %.3f</td><td></td><td></td></tr>\n",
        "<tr><td>all others</td><td class=\"n\">%.3f</td><td></td><td></td></tr>\n"};
    buf_printf(out,
               "<table><thead><tr><th>%s</th><th class=\"n\">probability</th><th "
               "class=\"n\">± error</th><th></th></tr></thead><tbody>\n",
               what);
    report_entries(t, &form, out);
    buf_puts(out, "</tbody></table>\n");
}

void html_forecast_table(const struct discovery *d, struct buf *out) {
    buf_html(out, "<details><summary>Forecast as a table</summary><table><thead><tr><th>",
             d->series.time_name, "</th><th class=\"n\">");
    bool band = !d->data.truths; /* of 0 and 1 the chance says all */
    buf_printf(out, "%s</th>%s</tr></thead><tbody>\n", discovery_line_name(d),
               band ? "<th class=\"n\">low</th><th class=\"n\">high</th>" : "");
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        struct buf at = BUF_INIT;
        series_print_rounded(&d->series, d->fit.x[i], 8, &at);
        buf_html(out, "<tr><td>", at.data, "</td>");
        buf_release(&at);
        const double v[] = {discovery_line(d)[i], d->fit.lo[i], d->fit.hi[i]};
        for (int k = 0; k < (band ? 3 : 1); k++) {
            buf_puts(out, "<td class=\"n\">");
            words_value(d, v[k], 5, out);
            buf_puts(out, "</td>");
        }
        buf_puts(out, "</tr>\n");
    }
    buf_puts(out, "</tbody></table></details>\n");
}

/* ---- sections ---- */
void html_begin(const char *title, const char *name, struct buf *out) {
    buf_html(out,
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
             "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
             title, " ");
    buf_html(out, "", name, "</title>\n<style>");
    buf_puts(out, embed_report_page_css);
    buf_html(out, "</style></head><body><main>\n<p class=\"sub\">gpmem discover</p><h1>", title,
             " ");
    buf_html(out, "", name, "</h1>\n");
}

void html_end(struct buf *out) {
    buf_printf(out, "</main>\n<script>%s</script>\n</body></html>\n", embed_discover_report_js);
}

void html_summary(const struct discovery *d, struct buf *out) {
    put_words(d, report_data, "<p class=\"sub\">", "</p>\n", out);
    put_words(d, describe_summary, "<p class=\"lead\">", "</p>\n", out);
    put_words(d, describe_level, "<p>", "</p>\n", out);
    put_words(d, describe_outliers, "<p>", "</p>\n", out);
    put_words(d, describe_outlook, "<p>", "</p>\n", out);
    buf_html(out,
             d->post.settled ? "<p class=\"verdict\">"
                             : "<p class=\"verdict open\"><strong>Not settled.</strong> ",
             d->post.verdict ? d->post.verdict : "", "</p>\n");
}

/* The chart of the part that stands for a term. */
static void term_chart(const struct discovery *d, int term, struct buf *out) {
    for (int q = 0; q < d->dec.n_parts; q++)
        if (d->dec.part[q].term == term) part_chart(d, q, out);
}

static void term_section(const struct discovery *d, int number, int term, bool charts,
                         struct buf *out) {
    struct buf b = BUF_INIT;
    describe_headline(d, term, &b);
    b.data[0] = ascii_upper(b.data[0]);
    buf_printf(out, "<section><h3>%d. ", number);
    buf_html(out, "", b.data, "<span class=\"badge\">");
    buf_reset(&b);
    describe_name(d, term, &b);
    buf_html(out, "", b.data, "");
    buf_reset(&b);
    describe_term(d, term, &b);
    buf_html(out, "</span></h3>\n<p>", b.data, "</p>\n");
    if (charts && term >= 0) term_chart(d, term, out);
    buf_puts(out, "</section>\n");
    buf_release(&b);
}

void html_components(const struct discovery *d, bool charts, struct buf *out) {
    int n = smodel_of(discovery_top(d))->n_terms;
    for (int k = 0; k <= n; k++) term_section(d, k + 1, k < n ? k : -1, charts, out);
    for (int j = 0; j < d->series.reg.n; j++) {
        struct buf b = BUF_INIT;
        buf_printf(out, "<section><h3>%d. ", n + 2 + j);
        buf_html(out, "Effect of ", d->series.reg.name[j], "</h3>\n");
        describe_effect(d, j, &b);
        buf_html(out, "<p>", b.data, "</p>\n");
        if (charts) term_chart(d, SMODEL_REGRESS - j, out);
        buf_puts(out, "</section>\n");
        buf_release(&b);
    }
    put_words(d, describe_future, "<p>", "</p>\n", out);
    put_words(d, describe_shares, "<p>", "</p>\n", out);
}

static void contest_section(const struct discovery *d, struct buf *out) {
    static const struct contest_form form = {
        "<table><thead><tr><th>forecast</th><th class=\"n\">MASE</th><th class=\"n\">sMAPE</th><th "
        "class=\"n\">inside %.0f%%</th></tr></thead><tbody>\n",
        "<tr><td>%s</td><td class=\"n\">%.3f</td><td class=\"n\">%.2f%%</td><td "
        "class=\"n\">%s</td></tr>\n",
        "</tbody></table>\n"};
    bool any = false;
    for (const struct contest *c = d->contest; c < d->contest + COUNT_OF(d->contest); c++) {
        if (!c->origins) continue;
        if (!any) buf_puts(out, "<h2>Does the structure pay?</h2>\n");
        any = true;
        buf_puts(out, "<p>");
        contest_sentence(c, out);
        buf_puts(out, "</p>\n");
        contest_print(c, &form, out);
    }
}

static void checks_section(const struct discovery *d, struct buf *out) {
    buf_puts(out, "<h2>Checks of the model</h2>\n<table><thead><tr><th>check</th><th "
                  "class=\"n\">p-value</th></tr></thead><tbody>\n");
    for (int k = 0; k < DISCOVERY_CHECKS; k++)
        if (d->check[k].name)
            buf_printf(out, "<tr><td>%s%s%s</td><td class=\"n\">%.3f</td></tr>\n",
                       d->check[k].p < 0.01 ? "<strong>" : "", d->check[k].text,
                       d->check[k].p < 0.01 ? "</strong>" : "", d->check[k].p);
    buf_puts(out, "</tbody></table>\n");
    if (!d->hold.n) return;
    buf_puts(out, "<p>");
    report_holdout(d, out);
    buf_puts(out, "</p>\n");
}

void discovery_html(const struct discovery *d, struct buf *out) {
    html_begin("Structure of", d->series.value_name, out);
    html_summary(d, out);
    buf_puts(out, "<h2>Data and forecast</h2>\n");
    html_forecast(d, "fit", out);
    html_forecast_table(d, out);
    contest_section(d, out);
    buf_puts(out, "<h2>Components</h2>\n");
    html_components(d, true, out);
    put_words(d, describe_open, "<h3>What would change this</h3>\n<p>", "</p>\n", out);
    buf_puts(out, "<h2>Probable structures</h2>\n");
    entry_table("structure", &d->post.structures, out);
    buf_puts(out, "<h3>What is there, and what expresses it</h3>\n");
    entry_table("motif", &d->post.motifs, out);
    entry_table("component", &d->post.components, out);
    put_words(d, describe_formula, "<h3>The most probable structure with numbers</h3>\n<pre>",
              "</pre>\n", out);
    checks_section(d, out);
    put_words(d, discovery_program, "<h2>How it was computed</h2>\n<pre>", "</pre>\n", out);
    buf_printf(out,
               "<p class=\"note\">gpmem %s; %.1f s; seed %llu; data hash %016llx; %.1f%% of the "
               "mass on structures whose neighbours were not visited.</p>\n",
               version_text(), d->seconds, (unsigned long long)d->opt.seed,
               (unsigned long long)d->series.hash, 100 * d->post.unexplored);
    html_end(out);
}
