/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of documents: one shell with one style sheet and one script, tables, figures. No network,
 * readable and printable without scripts; the script adds hovering, zooming, sorting and picking.
 */
#include "io/plot/doc.h"
#include "base/json.h"
#include <math.h>
#include <stdio.h>

extern const char embed_report_page_css[], embed_report_page_js[];

void doc_page_begin(struct doc *d, const char *maker, const char *title) {
    buf_html(d->out,
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
             "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
             title, "</title>\n<style>");
    buf_puts(d->out, embed_report_page_css);
    buf_html(d->out, "</style></head><body><main>\n<p class=\"sub\">", maker, "</p>");
    buf_html(d->out, "<h1>", title, "</h1>\n");
}

void doc_page_end(struct doc *d) {
    buf_printf(d->out, "</main>\n<script>%s</script>\n</body></html>\n", embed_report_page_js);
}

/* ---- tables ---- */

static void head(const struct doc *d) {
    const struct doc_table *t = &d->table;
    buf_puts(d->out, t->stacked ? "<table class=\"rows\"" : "<div class=\"scroll\"><table");
    buf_puts(d->out, t->attributes ? t->attributes : "");
    buf_puts(d->out, "><thead><tr>");
    for (size_t j = 0; j < t->n; j++)
        buf_html(d->out, t->columns[j].kind == DOC_NUMBER ? "<th class=\"n\">" : "<th>",
                 t->columns[j].kind == DOC_BAR ? "" : t->columns[j].name, "</th>");
    buf_puts(d->out, "</tr></thead><tbody>\n");
}

static void cell(const struct doc *d, size_t i) {
    static const char *const open[] = {"<td>", "<td class=\"n\">", "<td><code>",
                                       "<td class=\"bar\"><div style=\"width:"};
    static const char *const close[] = {"</td>", "</td>", "</code></td>", "%\"></div></td>"};
    const struct doc_cell *c = &d->cells.at[i];
    enum doc_kind kind = d->table.columns[i % d->table.n].kind;
    size_t span = doc_span(d, i);
    if (c->joined) return;
    if (span > 1) {
        buf_printf(d->out, "<td colspan=\"%zu\">", span);
        buf_html(d->out, "", c->text, "</td>");
    } else if (!*c->text) {
        buf_puts(d->out, "<td></td>");
    } else if (c->href) {
        buf_html(d->out, "<td class=\"own\"><a href=\"", c->href, "\">");
        buf_html(d->out, "", c->text, "</a></td>");
    } else {
        bool own = kind == DOC_WORD && d->table.stacked; /* a line of its own where it is narrow */
        buf_html(d->out, own ? "<td class=\"own\">" : open[kind], c->text, close[kind]);
    }
}

void doc_table_html(const struct doc *d) {
    size_t n = d->table.n;
    head(d);
    for (size_t i = 0; i < d->cells.n; i++) {
        const char *row = d->cells.at[i].row;
        if (i % n == 0) buf_printf(d->out, "<tr%s>", row ? row : "");
        cell(d, i);
        if (i % n == n - 1) buf_puts(d->out, "</tr>\n");
    }
    buf_puts(d->out, d->table.stacked ? "</tbody></table>\n" : "</tbody></table></div>\n");
}

/* ---- figures ---- */

bool doc_draws(const struct doc *d) {
    return d->form == DOC_HTML;
}

/* A list of `many` numbers: v has the first n of them, the others are null. */
static void put_numbers(const double *v, size_t n, size_t many, int digits, struct buf *out) {
    for (size_t i = 0; i < many; i++) {
        if (i) buf_putc(out, ',');
        json_short(out, i < n ? v[i] : NAN, digits);
    }
}

/* The script reads what a chart shows from JSON beside it. */
static void put_hover(const struct plot_scene *s, const struct doc_hover *h, struct buf *out) {
    struct plot_axis x = plot_panel_axes(s->panels.at[0]).x;
    struct buf label = BUF_INIT;
    buf_printf(out, "<script type=\"application/json\">{\"x0\":%.12g,\"x1\":%.12g,\"x\":[", x.lo,
               x.hi);
    put_numbers(h->x, h->n, h->n, 12, out);
    buf_puts(out, "],\"labels\":[");
    for (size_t i = 0; i < h->n; i++) {
        if (i) buf_putc(out, ',');
        buf_reset(&label);
        h->label(h->ctx, h->x[i], &label);
        buf_json_string(out, label.data, label.len);
    }
    for (size_t k = 0; k < h->n_lines; k++) {
        const struct doc_line *l = &h->lines[k];
        buf_printf(out, "%s{\"name\":\"%s\",\"y\":[", k ? "]}," : "],\"series\":[", l->name);
        put_numbers(l->y, l->n, h->n, 7, out);
    }
    buf_puts(out, "]}]}</script>\n");
    buf_release(&label);
}

static void picture(const struct doc *d, const struct plot_scene *s, const char *id, double width) {
    struct plot_svg_options o = {
        .panel_width = width, .panel_height = 140 + width / 3.5, .id = id, .embedded = true};
    plot_svg(s, &o, d->out);
}

void doc_figure(struct doc *d, enum doc_role size, const char *id, struct plot_scene *s,
                const struct doc_hover *h) {
    char name[2][40];
    if (doc_draws(d) && doc_enter(d, size)) {
        snprintf(name[0], sizeof name[0], "%s-wide", id);
        snprintf(name[1], sizeof name[1], "%s-narrow", id);
        buf_puts(d->out, h ? "<figure data-chart>\n" : "<figure>\n");
        if (size == DOC_WIDE) {
            buf_puts(d->out, "<div class=\"wide\">\n");
            picture(d, s, name[0], 860);
            buf_puts(d->out, "</div>\n<div class=\"narrow\">\n");
        }
        picture(d, s, size == DOC_WIDE ? name[1] : id, 372);
        if (size == DOC_WIDE) buf_puts(d->out, "</div>\n");
        if (size == DOC_WIDE) buf_html(d->out, "<figcaption>", s->description, "</figcaption>\n");
        if (h) put_hover(s, h, d->out);
        buf_puts(d->out, "</figure>\n");
    }
    plot_scene_free(s);
}
