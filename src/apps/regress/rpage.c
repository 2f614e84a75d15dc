/* SPDX-License-Identifier: Apache-2.0
 * The page of a regression: words, how well it predicts, what each input does, rows far out,
 * predictions, the program. No network, no scripts; everything that comes from the data is escaped.
 */
#include "base/mem.h"
#include "base/number.h"
#include "base/version.h"
#include "io/plot/scene.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char embed_report_page_css[];

static void put_words(const struct regress *r, void (*words)(const struct regress *, struct buf *),
                      const char *open, const char *close, struct buf *out) {
    struct buf b = BUF_INIT;
    words(r, &b);
    if (b.len) buf_html(out, open, b.data, close);
    buf_release(&b);
}

/* Pictures shrink with the page, and their words with them: they are made no wider than a
 * telephone's. */
static void draw(struct plot_scene *s, const char *id, struct buf *out) {
    struct plot_svg_options svg = {
        .id = id, .embedded = true, .panel_width = 400, .panel_height = 270};
    buf_puts(out, "<figure class=\"half\">");
    plot_svg(s, &svg, out);
    buf_puts(out, "</figure>\n");
    plot_scene_free(s);
}

/* ---- how well it predicts ---- */

static void check_head(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    buf_printf(out, "<h2>How well it predicts</h2>\n<p class=\"sub\">%zu rows%s",
               k->apart ? k->n : r->n,
               k->apart ? " that were left aside" : ", each predicted from all others");
    if (r->family == RFAMILY_CHANCE)
        buf_puts(out, ". Log score: mean logarithm of the chance of what happened; AUC: how often, "
                      "of a row with the value and one without, the first has the larger chance; "
                      "right: guesses of the more probable value");
    else
        buf_printf(out, "; %g%% intervals hold %.1f%% of them", 100 * r->o.level,
                   100 * k->coverage);
    buf_puts(out, ".</p>\n<table><thead><tr><th>predicted by</th>");
}

static void check_table(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    const struct {
        const char *name;
        double rmse, r2;
    } rows[RSCORES] = {{"this model", k->rmse, k->r2},
                       {r->model.family->lines, k->rmse_linear, k->r2_linear},
                       {r->model.family->none, k->rmse_mean, 0}};
    bool chance = r->family == RFAMILY_CHANCE;
    check_head(r, out);
    buf_puts(out, chance ? "<th class=\"n\">log score</th><th class=\"n\">AUC</th><th "
                           "class=\"n\">right</th>"
                         : "<th class=\"n\">RMSE</th>");
    buf_puts(out, "<th class=\"n\">R²</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < RSCORES; i++) {
        buf_printf(out, "<tr><td>%s</td>", rows[i].name);
        if (chance)
            buf_printf(out,
                       "<td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td "
                       "class=\"n\">%.0f%%</td>",
                       k->score[i].log, k->score[i].auc, 100 * k->score[i].right);
        else
            buf_printf(out, "<td class=\"n\">%s</td>", FIGURE(4, rows[i].rmse));
        buf_printf(out, "<td class=\"n\">%.3f</td></tr>\n", rows[i].r2);
    }
    buf_puts(out, "</tbody></table>\n");
}

struct told {
    double chance; /* first: it is what is compared */
    double is;
};

/* Are chances what they say? Rows in groups by their chance: its mean, and the share with the
 * value, with an interval of Wilson's. */
static void calibration_figure(const struct regress *r, struct buf *out) {
    enum { GROUPS = 10 };
    const struct rcheck *k = &r->check;
    size_t groups = k->n / 10 < GROUPS ? (k->n / 10 ? k->n / 10 : 1) : GROUPS;
    struct told *v = NEW_ARRAY(struct told, k->n + 1);
    double x[GROUPS], y[GROUPS], lo[GROUPS], hi[GROUPS];
    for (size_t i = 0; i < k->n; i++)
        v[i] = (struct told){k->mean[i], r->t.y[r->row[i + k->from]] == r->high};
    qsort(v, k->n, sizeof *v, number_compare);
    for (size_t g = 0; g < groups; g++) {
        size_t from = g * k->n / groups, to = (g + 1) * k->n / groups;
        double m = (double)(to - from), z = 1.96, chance = 0, is = 0;
        for (size_t i = from; i < to; i++) chance += v[i].chance / m, is += v[i].is / m;
        double mid = (is + z * z / (2 * m)) / (1 + z * z / m),
               half = z * sqrt(is * (1 - is) / m + z * z / (4 * m * m)) / (1 + z * z / m);
        x[g] = chance, y[g] = is, lo[g] = mid - half, hi[g] = mid + half;
    }
    const double ends[2] = {0, 1};
    struct plot_scene *s = plot_scene_new(NULL, "Chances as predicted, and shares as observed", 1);
    struct plot_panel *p = plot_panel_add(s, "Are the chances right?");
    plot_axis_labels(p, "predicted chance, rows in groups", "observed share");
    plot_band(p, "95% interval", groups, x, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_POINTS, "groups of rows", groups, x, y, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "equal", 2, ends, ends, PLOT_COLOUR(PLOT_GREY));
    draw(s, "check", out);
    mem_free(v);
}

static void check_figure(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    if (r->family == RFAMILY_CHANCE) {
        calibration_figure(r, out);
        return;
    }
    double *y = NEW_ARRAY(double, k->n + 1), lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < k->n; i++) {
        y[i] = r->t.y[r->row[i + k->from]];
        lo = fmin(lo, y[i]), hi = fmax(hi, y[i]);
    }
    const double ends[2] = {lo, hi};
    struct plot_scene *s =
        plot_scene_new(NULL, "Each row as predicted without it, and as observed", 1);
    struct plot_panel *p = plot_panel_add(s, "Predicted and observed");
    plot_axis_labels(p, k->apart ? "predicted" : "predicted from the other rows", r->t.y_name);
    plot_xy(p, PLOT_POINTS, "rows", k->n, k->mean, y, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "equal", 2, ends, ends, PLOT_COLOUR(PLOT_GREY));
    draw(s, "check", out);
    mem_free(y);
}

/* ---- inputs ---- */

static void put_share(struct buf *out, struct rinterval v) {
    buf_printf(out, "<td class=\"n\">%.0f%% <span class=\"sub\">%.0f to %.0f</span></td>",
               100 * v.mid, 100 * v.lo, 100 * v.hi);
    buf_printf(out, "<td class=\"bar\"><div style=\"width:%.1f%%\"></div></td>", 100 * v.mid);
}

static void input_table(const struct regress *r, struct buf *out) {
    buf_puts(out, "<h2>What matters</h2>\n<p class=\"sub\">Share: of the function's variation, "
                  "interactions included. Change: of ");
    put_words(r, regress_target, "", "", out);
    buf_printf(out,
               " between the values that 10%% and 90%% of the rows lie below. With %g%% "
               "intervals.</p>\n<table class=\"rows\"><thead><tr><th>input</th><th class=\"n\">"
               "share</th><th></th><th class=\"n\">change</th><th>how</th></tr></thead><tbody>\n",
               100 * r->o.level);
    for (int i = 0; i < r->t.n_inputs; i++) {
        int j = r->order[i];
        const struct reffect *f = &r->effect[j];
        buf_html(out, "<tr><td class=\"own\">", r->t.input[j].name, "</td>");
        put_share(out, f->total);
        buf_printf(out, "<td class=\"n\">%s%s <span class=\"sub\">%s to %s</span></td>",
                   f->change.mid < 0 ? "" : "+", FIGURE(3, f->change.mid), FIGURE(3, f->change.lo),
                   FIGURE(3, f->change.hi));
        struct buf between = BUF_INIT;
        regress_between(r, j, " \xe2\x86\x92 ", &between);
        buf_html(out, "<td class=\"own\">", regress_shape(r, j), "");
        buf_html(out, " <span class=\"sub\">(", between.data, ")</span></td></tr>\n");
        buf_release(&between);
    }
    buf_puts(out, "</tbody></table>\n");
}

/* One scale for all inputs, so that what matters is seen. */
static void shared_axis(const struct regress *r, struct plot_axis *y) {
    double lo = INFINITY, hi = -INFINITY;
    for (int j = 0; j < r->t.n_inputs; j++)
        for (size_t i = 0; i < r->effect[j].m; i++)
            lo = fmin(lo, r->effect[j].f[i].lo), hi = fmax(hi, r->effect[j].f[i].hi);
    y->lo = lo - 0.03 * (hi - lo);
    y->hi = hi + 0.03 * (hi - lo);
}

static void number_panel(const struct regress *r, int j, struct plot_scene *s) {
    const struct reffect *f = &r->effect[j];
    const struct rinput *in = &r->t.input[j];
    double *lo = NEW_ARRAY(double, 4 * f->m), *mid = lo + f->m, *hi = mid + f->m, *at = hi + f->m;
    for (size_t i = 0; i < f->m; i++) lo[i] = f->f[i].lo, mid[i] = f->f[i].mid, hi[i] = f->f[i].hi;
    struct buf band = BUF_INIT, what = BUF_INIT;
    struct plot_panel *p = plot_panel_add(s, r->t.input[j].name);
    regress_target(r, &what);
    plot_axis_labels(p, r->t.input[j].name, what.data);
    buf_release(&what);
    shared_axis(r, &p->y);
    for (size_t i = 0; i < f->m; i++)
        at[i] = in->dated ? in->origin + f->at[i] * in->year : f->at[i];
    if (in->dated) p->x.time = in->year > 1 ? PLOT_TIME_DAYS : PLOT_TIME_YEARS;
    buf_printf(&band, "%g%% band", 100 * r->o.level);
    plot_band(p, band.data, f->m, at, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "median", f->m, at, mid, PLOT_COLOUR(PLOT_BLUE));
    buf_release(&band);
    mem_free(lo);
}

static void level_panel(const struct regress *r, int j, struct plot_scene *s) {
    const struct reffect *f = &r->effect[j];
    double *mid = NEW_ARRAY(double, 2 * f->m), *half = mid + f->m;
    for (size_t i = 0; i < f->m; i++)
        mid[i] = f->f[i].mid, half[i] = 0.5 * (f->f[i].hi - f->f[i].lo);
    plot_add(plot_panel_add(s, r->t.input[j].name),
             (struct plot_item){PLOT_NAMED, PLOT_COLOUR(PLOT_BLUE), .n = f->m,
                                .names = (const char *const *)r->t.input[j].level, .y = mid,
                                .y2 = half});
    mem_free(mid);
}

static void input_figures(const struct regress *r, struct buf *out) {
    enum { MOST = 12 };
    put_words(r, regress_target, "<h2>The ", "", out);
    buf_puts(out, " along each input</h2>\n<p class=\"sub\">Averaged over the "
                  "values of the other inputs.</p>\n<div class=\"grid\">\n");
    for (int i = 0; i < r->t.n_inputs && i < MOST; i++) {
        int j = r->order[i];
        struct buf id = BUF_INIT;
        struct plot_scene *s =
            plot_scene_new(NULL, "The outcome along one input, with its band", 1);
        (r->t.input[j].level ? level_panel : number_panel)(r, j, s);
        buf_printf(&id, "input%d", j);
        draw(s, id.data, out);
        buf_release(&id);
    }
    buf_puts(out, "</div>\n");
}

/* ---- rows and predictions ---- */

static void odd_rows(const struct regress *r, struct buf *out) {
    enum { MOST = 20 };
    const struct rcheck *k = &r->check;
    if (!k->n_odd) return;
    buf_html(
        out,
        "<h2>Rows far from what the others say</h2>\n<table><thead><tr><th class=\"n\">line</th>"
        "<th class=\"n\">",
        r->t.y_name,
        "</th><th class=\"n\">expected</th><th class=\"n\">standard deviations off</th></tr>"
        "</thead><tbody>\n");
    for (size_t i = 0; i < k->n_odd && i < MOST; i++) {
        size_t at = k->odd[i], row = r->row[at + k->from];
        buf_printf(out,
                   "<tr><td class=\"n\">%zu</td><td class=\"n\">%s</td><td class=\"n\">%s <span "
                   "class=\"sub\">%s to %s</span></td><td class=\"n\">%.1f</td></tr>\n",
                   r->t.line[row], FIGURE(5, r->t.y[row]), FIGURE(4, k->mean[at]),
                   FIGURE(4, k->lo[at]), FIGURE(4, k->hi[at]),
                   fabs(r->t.y[row] - k->mean[at]) / k->sd[at]);
    }
    buf_puts(out, "</tbody></table>\n");
    if (k->n_odd > MOST) buf_printf(out, "<p>and %zu more.</p>\n", k->n_odd - MOST);
    put_words(r, regress_aside, "<p>", "</p>\n", out);
}

static void predictions(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                        struct buf *out) {
    enum { MOST = 200 };
    if (!at->m) return;
    buf_puts(out, "<h2>Predictions</h2>\n<div class=\"scroll\"><table><thead><tr>");
    for (int j = 0; j < r->t.n_inputs; j++)
        buf_html(out, "<th class=\"n\">", r->t.input[j].name, "</th>");
    bool chance = r->family == RFAMILY_CHANCE;
    buf_printf(out, "<th class=\"n\">%s</th><th class=\"n\">of the %s</th>",
               chance ? "chance" : "median", chance ? "chance" : "function");
    buf_puts(out,
             "<th class=\"n\">of a new measurement</th><th>outside of the data</th></tr></thead>"
             "<tbody>\n");
    for (size_t i = 0; i < at->m && i < MOST; i++) {
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf cell = BUF_INIT;
        buf_puts(out, "<tr>");
        for (int j = 0; j < r->t.n_inputs; j++) {
            buf_reset(&cell);
            rtable_value(&r->t, j, row, &cell);
            buf_html(out, "<td class=\"n\">", cell.data, "</td>");
        }
        if (isfinite(p[i].mean))
            buf_printf(out,
                       "<td class=\"n\">%s</td><td class=\"n\">%s to %s</td><td "
                       "class=\"n\">%s to %s</td>",
                       FIGURE(5, chance ? p[i].mean : p[i].median), FIGURE(4, p[i].lo),
                       FIGURE(4, p[i].hi), FIGURE(4, p[i].new_lo), FIGURE(4, p[i].new_hi));
        else
            buf_html(out, "<td colspan=\"3\">",
                     at->unseen.at[i] ? at->unseen.at[i] : "a value is missing", "</td>");
        buf_reset(&cell);
        rtable_outside(&r->t, row, &cell);
        buf_html(out, "<td>", cell.data, "</td></tr>\n");
        buf_release(&cell);
    }
    buf_puts(out, "</tbody></table></div>\n");
    if (at->m > MOST) buf_printf(out, "<p>and %zu more.</p>\n", at->m - MOST);
}

static void head(const struct regress *r, struct buf *out) {
    buf_html(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Regression of ",
        r->t.y_name, "</title>\n<style>");
    buf_puts(out, embed_report_page_css);
    buf_html(out,
             "</style></head><body><main>\n<p class=\"sub\">gpmem regress</p><h1>Regression of ",
             r->t.y_name, "</h1>\n");
    buf_html(out, "<p class=\"sub\">", r->t.file, ": ");
    buf_printf(out, "%zu rows, %d input%s</p>\n", r->t.n, r->t.n_inputs,
               r->t.n_inputs == 1 ? "" : "s");
    put_words(r, regress_words, "<p class=\"lead\">", "</p>\n", out);
    for (const char *at = r->t.notes.data; *at; at += strcspn(at, "\n") + 1) {
        char *line = mem_strndup(at, strcspn(at, "\n"));
        buf_html(out, "<p class=\"note\">", line, "</p>\n");
        mem_free(line);
    }
}

void regress_page(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                  struct buf *out) {
    head(r, out);
    check_table(r, out);
    check_figure(r, out);
    input_table(r, out);
    put_words(r, regress_shares, "<p class=\"sub\">", "</p>\n", out);
    if (regress_hidden(r))
        put_words(r, regress_rest, "<p>", "</p>\n", out);
    else
        buf_printf(out, "<p>Noise: standard deviation %s, %s to %s.</p>\n", FIGURE(4, r->noise.mid),
                   FIGURE(4, r->noise.lo), FIGURE(4, r->noise.hi));
    input_figures(r, out);
    odd_rows(r, out);
    predictions(r, at, p, out);
    put_words(r, regress_method, "<h2>Method</h2>\n<p>", ".</p>\n", out);
    if (!r->o.kernel)
        put_words(r, regress_program,
                  "<details><summary>The same model as a program</summary><pre>",
                  "</pre></details>\n", out);
    buf_printf(out, "<p class=\"note\">gpmem %s</p>\n</main></body></html>\n", version_text());
}
