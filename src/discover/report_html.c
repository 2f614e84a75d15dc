/* SPDX-License-Identifier: Apache-2.0
 *
 * The result as one HTML page: no network, readable and printable without scripts; a script adds
 * hovering and zooming. Everything that comes from the data is escaped.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "plot/scene.h"
#include "discover/discovery.h"
#include <math.h>
#include <string.h>

extern const char embed_discover_report_css[], embed_discover_report_js[];

/* Foreign text between pieces of the page. */
static void put(struct buf *out, const char *open, const char *text, const char *close) {
    buf_puts(out, open);
    buf_markup(out, text);
    buf_puts(out, close);
}

/* ---- charts ---- */
/* A value shown when the pointer rests on a time; those beyond n are blank. */
struct hover {
    const char *name;
    const double *v;
    size_t n;
};

static struct plot_panel *chart_begin(const struct discovery *d, const char *caption) {
    struct plot_panel *p = plot_panel_add(plot_scene_new(NULL, caption, 1), NULL);
    if (series_dated(&d->series))
        p->x.time = strcmp(d->series.unit, "day") ? PLOT_TIME_YEARS : PLOT_TIME_DAYS;
    return p;
}

/* The script reads what a chart shows from JSON beside it. A time as the file writes it has no
 * character that means something there, or to HTML. */
static void chart_end(struct plot_panel *p, const char *id, double height,
                      const struct discovery *d, size_t n, const double *at, const struct hover *h,
                      size_t n_hover, struct buf *out) {
    struct plot_axis x = plot_panel_axes(p).x;
    struct plot_svg_options o = {860, height, id, true};
    buf_puts(out, "<figure data-chart>\n");
    plot_svg(p->scene, &o, out);
    put(out, "<figcaption>", p->scene->description,
        "</figcaption>\n<script type=\"application/json\">");
    buf_printf(out, "{\"x0\":%.12g,\"x1\":%.12g,\"x\":[", x.lo, x.hi);
    for (size_t i = 0; i < n; i++) buf_printf(out, "%s%.12g", i ? "," : "", at[i]);
    buf_puts(out, "],\"labels\":[");
    for (size_t i = 0; i < n; i++) {
        buf_puts(out, i ? ",\"" : "\"");
        series_print_rounded(&d->series, at[i], 8, out);
        buf_putc(out, '"');
    }
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

/* Values are modelled on the log scale, and the forecast leaves them so far behind that they would
 * lie on the axis: the chart is logarithmic, too. */
static bool wide_forecast(const struct discovery *d) {
    double most = 0, limit = 0;
    if (smodel_of(discovery_top(d))->s.transform != TRANSFORM_LOG) return false;
    for (size_t i = 0; i < d->series.n; i++) most = fmax(most, d->series.y[i]);
    for (size_t i = 0; i < d->fit.n; i++) limit = fmax(limit, d->fit.hi[i]);
    return limit > 5 * most;
}

static void forecast_chart(const struct discovery *d, struct buf *out) {
    size_t n = d->series.n, h = d->fit.n - n;
    const struct prediction *p = &d->fit;
    static const char caption[] =
        "Data (points), forecast (line) and its interval; the fit to the data lies underneath. "
        "Drag to zoom, double click to return.";
    struct plot_panel *panel = chart_begin(d, caption);
    plot_axis_labels(panel, d->series.time_name, d->series.value_name);
    panel->y.log = wide_forecast(d);
    plot_band(panel, NULL, n, p->x, p->lo, p->hi,
              (struct plot_style){.colour = PLOT_SKY, .opacity = 0.25});
    plot_band(panel, "forecast interval", h + 1, p->x + n - 1, p->lo + n - 1, p->hi + n - 1,
              (struct plot_style){.colour = PLOT_VERMILION, .opacity = 0.25});
    plot_xy(panel, PLOT_LINE, "fit", n, p->x, p->median,
            (struct plot_style){.colour = PLOT_SKY, .width = 1.2});
    plot_xy(panel, PLOT_LINE, "forecast", h + 1, p->x + n - 1, p->median + n - 1,
            PLOT_COLOUR(PLOT_VERMILION));
    plot_xy(panel, PLOT_POINTS, "data", n, d->series.x, d->series.y,
            (struct plot_style){.colour = PLOT_BLACK, .width = n > 300 ? 1.3 : 2});
    if (d->hold.n)
        plot_xy(panel, PLOT_POINTS, "held out", d->hold.n, d->hold.pred.x, d->hold.y,
                (struct plot_style){.colour = PLOT_GREEN, .width = 2});
    const struct hover shown[] = {{"data", d->series.y, n},
                                  {"median", p->median, p->n},
                                  {"low", p->lo, p->n},
                                  {"high", p->hi, p->n}};
    chart_end(panel, "fit", 380, d, p->n, p->x, shown, COUNT_OF(shown), out);
}

static void part_chart(const struct discovery *d, int k, struct buf *out) {
    const struct series_part *p = &d->dec.part[k];
    size_t n = d->dec.n;
    double *lo = NEW_ARRAY(double, 2 * n), *hi = lo + n;
    bool logs = smodel_of(discovery_top(d))->s.transform == TRANSFORM_LOG;
    for (size_t i = 0; i < n; i++) {
        lo[i] = p->mean[i] - 1.96 * p->sd[i];
        hi[i] = p->mean[i] + 1.96 * p->sd[i];
    }
    static const char caption[] =
        "Posterior of this component with its 95% interval; beyond the rule: its forecast.";
    char id[16] = "part0";
    id[4] = (char)('0' + k);
    struct plot_panel *panel = chart_begin(d, caption);
    plot_axis_labels(panel, d->series.time_name,
                     logs ? "effect (log scale units)" : d->series.value_name);
    plot_band(panel, NULL, n, d->dec.x, lo, hi,
              (struct plot_style){.colour = PLOT_BLUE, .opacity = 0.2});
    plot_xy(panel, PLOT_LINE, NULL, n, d->dec.x, p->mean, PLOT_COLOUR(PLOT_BLUE));
    plot_rule(panel, PLOT_RULE_X, NULL, d->series.x[d->series.n - 1],
              (struct plot_style){.colour = PLOT_GREY, .dashed = true});
    const struct hover shown[] = {{"mean", p->mean, n}, {"low", lo, n}, {"high", hi, n}};
    chart_end(panel, id, 250, d, n, d->dec.x, shown, COUNT_OF(shown), out);
    mem_free(lo);
}

/* ---- tables ---- */
static void entry_table(const char *what, const struct post_table *t, struct buf *out) {
    static const struct entry_form form = {
        "log: ",
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

static void forecast_table(const struct discovery *d, struct buf *out) {
    put(out, "<details><summary>Forecast as a table</summary><table><thead><tr><th>",
        d->series.time_name,
        "</th><th class=\"n\">median</th><th class=\"n\">low</th><th "
        "class=\"n\">high</th></tr></thead><tbody>\n");
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        buf_puts(out, "<tr><td>");
        series_print_rounded(&d->series, d->fit.x[i], 8, out);
        buf_printf(out,
                   "</td><td class=\"n\">%.5g</td><td class=\"n\">%.5g</td><td "
                   "class=\"n\">%.5g</td></tr>\n",
                   d->fit.median[i], d->fit.lo[i], d->fit.hi[i]);
    }
    buf_puts(out, "</tbody></table></details>\n");
}

/* ---- sections ---- */
static void head(const struct discovery *d, struct buf *out) {
    const char *name = d->series.value_name;
    struct buf b = BUF_INIT;
    put(out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Structure of ",
        name, "</title>\n<style>");
    buf_puts(out, embed_discover_report_css);
    put(out, "</style></head><body><main>\n<p class=\"sub\">gpmem discover</p><h1>Structure of ",
        name, "</h1>\n");
    report_data(d, false, &b);
    put(out, "<p class=\"sub\">", b.data, "</p>\n");
    buf_reset(&b);
    describe_summary(d, &b);
    put(out, "<p class=\"lead\">", b.data, "</p>\n");
    put(out,
        d->post.settled ? "<p class=\"verdict\">"
                        : "<p class=\"verdict open\"><strong>Not settled.</strong> ",
        d->post.verdict ? d->post.verdict : "", "</p>\n");
    buf_release(&b);
}

static void component_sections(const struct discovery *d, struct buf *out) {
    int n = smodel_of(discovery_top(d))->n_terms;
    struct buf b = BUF_INIT;
    buf_puts(out, "<h2>Components</h2>\n");
    for (int k = 0; k <= n; k++) {
        int term = k < n ? k : -1;
        buf_reset(&b);
        describe_headline(d, term, &b);
        b.data[0] = ascii_upper(b.data[0]);
        buf_printf(out, "<section><h3>%d. ", k + 1);
        put(out, "", b.data, "<span class=\"badge\">");
        describe_name(d, term, out);
        buf_reset(&b);
        describe_term(d, term, &b);
        put(out, "</span></h3>\n<p>", b.data, "</p>\n");
        for (int q = 0; q < d->dec.n_parts; q++)
            if (term >= 0 && d->dec.part[q].term == term) part_chart(d, q, out);
        buf_puts(out, "</section>\n");
    }
    buf_release(&b);
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
    struct buf b = BUF_INIT;
    head(d, out);
    buf_puts(out, "<h2>Data and forecast</h2>\n");
    forecast_chart(d, out);
    forecast_table(d, out);
    component_sections(d, out);
    buf_puts(out, "<h2>Probable structures</h2>\n");
    entry_table("structure", &d->post.structures, out);
    buf_puts(out, "<h3>What is there, and what expresses it</h3>\n");
    entry_table("motif", &d->post.motifs, out);
    entry_table("component", &d->post.components, out);
    describe_formula(d, &b);
    put(out, "<h3>The most probable structure with numbers</h3>\n<pre>", b.data, "</pre>\n");
    checks_section(d, out);
    buf_reset(&b);
    discovery_program(d, &b);
    put(out, "<h2>How it was computed</h2>\n<pre>", b.data, "</pre>\n");
    buf_printf(out,
               "<p class=\"note\">gpmem %s; %.1f s; seed %llu; data hash %016llx; %.1f%% of the "
               "mass on structures whose neighbours were not visited.</p>\n",
               GPMEM_VERSION, d->seconds, (unsigned long long)d->opt.seed,
               (unsigned long long)d->series.hash, 100 * d->post.unexplored);
    buf_printf(out, "</main>\n<script>%s</script>\n</body></html>\n", embed_discover_report_js);
    buf_release(&b);
}
