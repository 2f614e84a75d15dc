/* SPDX-License-Identifier: Apache-2.0
 * Results of a search: for a terminal with sparklines, as JSON, as one page without a network. */
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/index/index.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define K SKETCH_KNOTS

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

/* ---- documents ---- */

static void hit_row(const struct index_hit *h, size_t rank, struct doc *doc) {
    doc_cellf(doc, "%zu", rank);
    doc_cellf(doc, "%.3f ±%.3f", h->probability, h->error);
    sparkline(&h->sketch, &doc->words);
    doc_cell(doc);
    doc_cellf(doc, "%s", h->name);
    doc_cellf(doc, "%s", h->words);
}

/* Rows of text. */
static void hit_table(const struct index_result *r, struct doc *doc) {
    static const struct doc_column columns[] = {{"", DOC_NUMBER},
                                                {"probability", DOC_WORD},
                                                {"course", DOC_WORD},
                                                {"name", DOC_WORD},
                                                {"words", DOC_WORD}};
    doc_table(doc, NULL, "", columns, COUNT_OF(columns));
    for (size_t i = 0; i < r->n; i++) hit_row(&r->at[i], i + 1, doc);
    doc_table_end(doc);
}

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

static void put_chart(const struct sketch *p, const struct curve *c, const char *id,
                      struct doc *doc) {
    struct plot_scene *s =
        plot_scene_new(NULL, "Level with what repeats and its uncertainty around it", 1);
    struct plot_panel *panel = plot_panel_add(s, NULL);
    panel->x.time = p->clock == CLOCK_YEARS  ? PLOT_TIME_YEARS
                    : p->clock == CLOCK_DAYS ? PLOT_TIME_DAYS
                                             : PLOT_TIME_NONE;
    plot_band(panel, "swing and uncertainty", K, c->x, c->lo, c->hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(panel, PLOT_LINE, "level", K, c->x, c->mid, PLOT_COLOUR(PLOT_BLUE));
    plot_ahead(panel, p);
    doc_figure(doc, DOC_WIDE, id, s, NULL);
}

/* The line of a result, which opens. */
static void put_line(const struct index_hit *h, const struct curve *c, size_t rank,
                     struct doc *doc) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "<li data-rank=\"%zu\" data-start=\"%.9g\"", rank, h->sketch.x0);
    buf_html(&b, " data-name=\"", h->name, "\"");
    buf_html(&b, " data-structure=\"", h->structure, "\"><details><summary>");
    buf_html(&b, "<span class=\"name\">", h->name, "</span>");
    buf_printf(&b, "<span class=\"p\">%.3f ± %.3f<div style=\"width:%.1f%%\"></div></span>",
               h->probability, h->error, 100 * h->probability);
    put_spark(c, &b);
    buf_html(&b, "<span class=\"words\">", h->words, "</span></summary>\n");
    doc_raw(doc, b.data);
    buf_release(&b);
}

static void put_hit(const struct index_hit *h, size_t rank, struct doc *doc) {
    static const struct doc_column columns[] = {{"structure", DOC_NAME},
                                                {"probability", DOC_NUMBER}};
    struct curve c = curve_of(&h->sketch);
    char id[32];
    snprintf(id, sizeof id, "hit%zu", rank);
    put_line(h, &c, rank, doc);
    put_chart(&h->sketch, &c, id, doc);
    doc_table(doc, NULL, NULL, columns, COUNT_OF(columns));
    for (size_t i = 0; i < h->sketch.n_structures && i < 8; i++) {
        doc_cellf(doc, "%s", h->sketch.structure[i].text);
        doc_cellf(doc, "%.3f", (double)h->sketch.structure[i].p);
    }
    doc_table_end(doc);
    doc_say(doc, DOC_NOTE, "%s, %zu values", h->source, h->sketch.n);
    doc_raw(doc, "</details></li>\n");
}

static void hit_list(const struct index_result *r, struct doc *doc) {
    doc_raw(doc, "<div class=\"sort\" role=\"group\" aria-label=\"Sort\">"
                 "<button data-by=\"rank\" aria-pressed=\"true\">by probability</button>"
                 "<button data-by=\"name\" aria-pressed=\"false\">by name</button>"
                 "<button data-by=\"structure\" aria-pressed=\"false\">by structure</button>"
                 "<button data-by=\"start\" aria-pressed=\"false\">by start</button></div>\n"
                 "<ol class=\"hits\">\n");
    for (size_t i = 0; i < r->n; i++) put_hit(&r->at[i], i + 1, doc);
    doc_raw(doc, "</ol>\n");
}

void index_result_report(const struct index_result *r, enum doc_form form, struct buf *out) {
    struct doc doc;
    doc_begin(&doc, form, "gpmem search", r->question, out);
    doc_say(&doc, DOC_ITEM, "read as: %s", r->reading);
    doc_say(&doc, DOC_ITEM, "%zu of %lld series, the most probable first", r->n,
            (long long)r->series);
    if (doc_draws(&doc))
        hit_list(r, &doc);
    else
        hit_table(r, &doc);
    doc_end(&doc);
}
