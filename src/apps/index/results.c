/* SPDX-License-Identifier: Apache-2.0
 * Results of a search: for a terminal with sparklines, as JSON, as one page without a network. */
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/index/index.h"
#include "io/plot/scene.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define K SKETCH_KNOTS

extern const char embed_index_page_css[], embed_index_page_js[];

/* The course of a series over its knots: mean level, and what lies around it: draws, swing. */
struct curve {
    double x[K], mid[K], lo[K], hi[K];
};

static struct curve curve_of(const struct sketch *p) {
    struct curve c;
    double n = (double)p->n_draws;
    for (int k = 0; k < K; k++) {
        double sum = 0, sq = 0, swing = 0;
        for (size_t i = 0; i < p->n_draws; i++) {
            const struct sketch_draw *d = &p->draw[i];
            double s = 0;
            for (int j = 0; j < d->n_patterns; j++)
                s += (double)d->pattern[j].swing[k] * d->pattern[j].swing[k];
            sum += d->level[k] / n;
            sq += (double)d->level[k] * d->level[k] / n;
            swing += sqrt(s) / n;
        }
        double sd = sqrt(fmax(sq - sum * sum, 0));
        c.x[k] = p->x0 + p->span * (k + 0.5) / K;
        c.mid[k] = sum;
        c.lo[k] = sum - swing - 2 * sd;
        c.hi[k] = sum + swing + 2 * sd;
    }
    return c;
}

static void range_of(const struct curve *c, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = -INFINITY;
    for (int k = 0; k < K; k++) *lo = fmin(*lo, c->lo[k]), *hi = fmax(*hi, c->hi[k]);
    if (!(*hi > *lo)) *lo -= 1, *hi += 1;
}

/* One letter for a knot: the mean of the level there. Of what repeats a sketch has the size alone,
 * no phase: drawn edge by edge it would have the period of the letters. */
static void sparkline(const struct sketch *p, struct buf *out) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    struct curve c = curve_of(p);
    double lo = INFINITY, hi = -INFINITY;
    for (int k = 0; k < K; k++) lo = fmin(lo, c.mid[k]), hi = fmax(hi, c.mid[k]);
    double least = 0.5 * p->sd; /* less is flat: its middle is that of a letter */
    if (hi - lo < least) lo = 0.5 * (lo + hi) - 3.5 / 8 * least, hi = lo + least;
    for (int k = 0; k < K; k++) {
        int at = hi > lo ? (int)floor((c.mid[k] - lo) / (hi - lo) * 8) : 4;
        buf_puts(out, blocks[at < 0 ? 0 : at > 7 ? 7 : at]);
    }
}

static void put_count(const struct index_result *r, struct buf *out) {
    buf_printf(out, "%zu of %lld series", r->n, (long long)r->series);
}

void index_result_text(const struct index_result *r, struct buf *out) {
    size_t wide = 4;
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->at[i].name) > wide) wide = strlen(r->at[i].name);
    if (wide > 30) wide = 30;
    buf_printf(out, "read as: %s\n", r->reading);
    put_count(r, out);
    buf_puts(out, ", the most probable first\n\n");
    for (size_t i = 0; i < r->n; i++) {
        const struct index_hit *h = &r->at[i];
        buf_printf(out, "%3zu  %.3f ±%.3f  ", i + 1, h->probability, h->error);
        sparkline(&h->sketch, out);
        buf_printf(out, "  %-*s  %s\n", (int)wide, h->name, h->words);
    }
}

/* A number of which a sketch knows some digits: more of them would only take time. */
static void put_short(const char *before, double v, int digits, struct buf *out) {
    buf_puts(out, before);
    json_short(out, v, digits);
}

void index_result_json(const struct index_result *r, struct buf *out) {
    buf_puts(out, "{");
    JSON(out, FIELD("question", r->question), FIELD("reading", r->reading),
         FIELD("series", (size_t)r->series), FIELD("sketches_read", (size_t)r->looked));
    buf_puts(out, ", \"results\": [");
    for (size_t i = 0; i < r->n; i++) {
        const struct index_hit *h = &r->at[i];
        struct curve c = curve_of(&h->sketch);
        buf_puts(out, i ? ",\n {" : "\n {");
        JSON(out, FIELD("rank", i + 1), FIELD("name", h->name),
             FIELD("probability", h->probability), FIELD("error", h->error),
             FIELD("structure", h->structure), FIELD("structure_probability", h->p_structure),
             FIELD("words", h->words), FIELD("source", h->source), FIELD("values", h->sketch.n),
             FIELD("from", h->sketch.x0), FIELD("to", h->sketch.x0 + h->sketch.span));
        json_key(out, "level");
        for (int k = 0; k < K; k++) put_short(k ? ", " : "[", c.mid[k], 7, out);
        buf_putc(out, ']');
        index_forecast(&h->sketch, out);
        buf_puts(out, "}");
    }
    buf_puts(out, "]}\n");
}

void index_forecast(const struct sketch *p, struct buf *out) {
    json_key(out, "forecast");
    buf_putc(out, '[');
    for (size_t i = 0; i < p->n_ahead; i++) {
        const struct sketch_ahead *a = &p->ahead[i];
        put_short(i ? ", {\"at\": " : "{\"at\": ", p->x0 + p->span * a->t, 10, out);
        put_short(", \"lo\": ", (double)a->lo, 7, out);
        put_short(", \"median\": ", (double)a->median, 7, out);
        put_short(", \"hi\": ", (double)a->hi, 7, out);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

/* ---- the page ---- */
static void put_spark(const struct curve *c, struct buf *out) {
    double lo, hi;
    range_of(c, &lo, &hi);
    buf_puts(out, "<svg class=\"spark\" viewBox=\"0 0 100 40\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\"><polygon points=\"");
    for (int k = 0; k < 2 * K; k++) {
        int i = k < K ? k : 2 * K - 1 - k;
        double v = k < K ? c->hi[i] : c->lo[i];
        buf_printf(out, "%.1f,%.1f ", 100.0 * i / (K - 1), 39 - 38 * (v - lo) / (hi - lo));
    }
    buf_puts(out, "\"/><polyline points=\"");
    for (int k = 0; k < K; k++)
        buf_printf(out, "%.1f,%.1f ", 100.0 * k / (K - 1), 39 - 38 * (c->mid[k] - lo) / (hi - lo));
    buf_puts(out, "\"/></svg>");
}

static void plot_ahead(struct plot_panel *panel, const struct sketch *p) {
    double x[SKETCH_AHEAD], lo[SKETCH_AHEAD], mid[SKETCH_AHEAD], hi[SKETCH_AHEAD];
    for (size_t i = 0; i < p->n_ahead; i++) {
        x[i] = p->x0 + p->span * p->ahead[i].t;
        lo[i] = p->ahead[i].lo;
        mid[i] = p->ahead[i].median;
        hi[i] = p->ahead[i].hi;
    }
    if (!p->n_ahead) return;
    plot_band(panel, NULL, p->n_ahead, x, lo, hi, PLOT_COLOUR(PLOT_VERMILION));
    plot_xy(panel, PLOT_LINE, "forecast and 95% interval", p->n_ahead, x, mid,
            PLOT_COLOUR(PLOT_VERMILION));
}

static void put_chart(const struct sketch *p, const struct curve *c, size_t number,
                      struct buf *out) {
    static const struct {
        const char *class;
        double width;
    } sizes[] = {{"wide", 860}, {"narrow", 356}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct plot_scene *s =
            plot_scene_new(NULL, "Level with what repeats and its uncertainty around it", 1);
        struct plot_panel *panel = plot_panel_add(s, NULL);
        char id[40];
        panel->x.time = p->clock == CLOCK_YEARS  ? PLOT_TIME_YEARS
                        : p->clock == CLOCK_DAYS ? PLOT_TIME_DAYS
                                                 : PLOT_TIME_NONE;
        plot_band(panel, "swing and uncertainty", K, c->x, c->lo, c->hi, PLOT_COLOUR(PLOT_BLUE));
        plot_xy(panel, PLOT_LINE, "level", K, c->x, c->mid, PLOT_COLOUR(PLOT_BLUE));
        plot_ahead(panel, p);
        snprintf(id, sizeof id, "hit%zu-%s", number, sizes[i].class);
        struct plot_svg_options o = {sizes[i].width, 240, id, true};
        buf_printf(out, "<div class=\"chart %s\">", sizes[i].class);
        plot_svg(s, &o, out);
        buf_puts(out, "</div>\n");
        plot_scene_free(s);
    }
}

static void put_hit(const struct index_hit *h, size_t rank, struct buf *out) {
    struct curve c = curve_of(&h->sketch);
    buf_printf(out, "<li data-rank=\"%zu\" data-start=\"%.9g\"", rank, h->sketch.x0);
    buf_html(out, " data-name=\"", h->name, "\"");
    buf_html(out, " data-structure=\"", h->structure, "\"><details><summary>");
    buf_html(out, "<span class=\"name\">", h->name, "</span>");
    buf_printf(out,
               "<span class=\"p\">%.3f ± %.3f<span class=\"bar\" style=\"display:block\"><div "
               "style=\"width:%.1f%%\"></div></span></span>",
               h->probability, h->error, 100 * h->probability);
    put_spark(&c, out);
    buf_html(out, "<span class=\"words\">", h->words, "</span></summary>\n");
    put_chart(&h->sketch, &c, rank, out);
    buf_puts(out, "<table><tr><th>structure</th><th>probability</th></tr>");
    for (size_t i = 0; i < h->sketch.n_structures && i < 8; i++) {
        buf_html(out, "<tr><td><code>", h->sketch.structure[i].text, "</code></td>");
        buf_printf(out, "<td>%.3f</td></tr>", (double)h->sketch.structure[i].p);
    }
    buf_html(out, "</table><p class=\"note\">", h->source, "");
    buf_printf(out, ", %zu values</p></details></li>\n", h->sketch.n);
}

void index_result_html(const struct index_result *r, struct buf *out) {
    buf_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    buf_html(out, "<title>", r->question, "</title>\n<style>");
    buf_puts(out, embed_index_page_css);
    buf_html(out, "</style></head><body>\n<h1>", r->question, "</h1>\n");
    buf_html(out, "<p class=\"note\">Read as <code>", r->reading, "</code>. ");
    put_count(r, out);
    buf_puts(out,
             ", the most probable first. A line opens.</p>\n"
             "<div class=\"sort\" role=\"group\" aria-label=\"Sort\">"
             "<button data-by=\"rank\" aria-pressed=\"true\">by probability</button>"
             "<button data-by=\"name\" aria-pressed=\"false\">by name</button>"
             "<button data-by=\"structure\" aria-pressed=\"false\">by structure</button>"
             "<button data-by=\"start\" aria-pressed=\"false\">by start</button></div>\n<ol>\n");
    for (size_t i = 0; i < r->n; i++) put_hit(&r->at[i], i + 1, out);
    buf_puts(out, "</ol>\n<script>");
    buf_puts(out, embed_index_page_js);
    buf_puts(out, "</script></body></html>\n");
}
