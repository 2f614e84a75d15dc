/* SPDX-License-Identifier: Apache-2.0
 *
 * The panel as one HTML page: a table of its series, each a link to its part of the page with what
 * was found in words, the chart of its forecast and its table.
 */
#include "apps/discover/panel.h"
#include "apps/discover/report_html.h"
#include <stdio.h>

static void head(const struct panel *p, struct buf *out) {
    size_t bad = panel_failures(p);
    html_begin("Structures of", p->name, out);
    buf_printf(out, "<p class=\"lead\">%zu series", p->n);
    if (p->by) buf_html(out, " by <code>", p->by, "</code>");
    if (bad) buf_printf(out, ", %zu of them without a result", bad);
    buf_puts(out, p->second ? "; hyper-parameters have priors learnt from all of them.</p>\n"
                            : ".</p>\n");
}

/* One series in the table: what it is, how sure, how the level moved. */
static void row(const struct panel_member *m, size_t i, struct buf *out) {
    struct buf b = BUF_INIT;
    if (m->error) {
        buf_html(out, "<tr><td>", m->key, "</td><td class=\"n\"></td>");
        buf_html(out, "<td colspan=\"3\" class=\"own\">no result: ", m->error, "</td></tr>\n");
        return;
    }
    const struct post_entry *top = &m->d->post.structures.at[0];
    buf_printf(out, "<tr><td><a href=\"#series%zu\">", i + 1);
    buf_html(out, "", *m->key ? m->key : "(no name)", "</a></td>");
    buf_printf(out, "<td class=\"n\">%zu</td><td>%s%s<code>%s</code></td><td class=\"n\">%.2f</td>",
               m->d->series.n, report_transform(top), *report_transform(top) ? " " : "", top->text,
               top->p);
    panel_rise(m->d, &b);
    buf_html(out, "<td class=\"own\">", b.data,
             m->d->post.settled ? "</td></tr>\n" : " (not settled)</td></tr>\n");
    buf_release(&b);
}

static void table(const struct panel *p, struct buf *out) {
    buf_puts(out,
             "<h2>The series</h2>\n<table class=\"rows\"><thead><tr><th>series</th><th "
             "class=\"n\">values</th>"
             "<th>most probable structure</th><th class=\"n\">probability</th><th>how the level "
             "moved</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < p->n; i++) row(&p->at[i], i, out);
    buf_puts(out, "</tbody></table>\n");
}

static void motif_table(const struct panel *p, struct buf *out) {
    double mean;
    const char *name;
    buf_puts(out, "<h2>Over the panel</h2>\n<table><thead><tr><th>a series has</th><th "
                  "class=\"n\">mean probability</th><th></th></tr></thead><tbody>\n");
    for (size_t k = 0; (name = panel_motif(p, k, &mean)); k++)
        buf_printf(out,
                   "<tr><td><code>%s</code></td><td class=\"n\">%.3f</td><td class=\"bar\"><div "
                   "style=\"width:%.1f%%\"></div></td></tr>\n",
                   name, mean, 100 * mean);
    buf_puts(out, "</tbody></table>\n");
}

static void member(const struct panel_member *m, size_t i, struct buf *out) {
    char id[32];
    if (m->error) return;
    snprintf(id, sizeof id, "fit%zu", i + 1);
    buf_printf(out, "<section id=\"series%zu\">\n", i + 1);
    buf_html(out, "<h2>", *m->key ? m->key : "(no name)", "</h2>\n");
    html_summary(m->d, out);
    html_forecast(m->d, id, out);
    html_forecast_table(m->d, out);
    buf_puts(out, "<details><summary>Components</summary>\n");
    html_components(m->d, false, out);
    buf_puts(out, "</details>\n</section>\n");
}

void panel_html(const struct panel *p, struct buf *out) {
    head(p, out);
    table(p, out);
    motif_table(p, out);
    for (size_t i = 0; i < p->n; i++) member(&p->at[i], i, out);
    html_end(out);
}
