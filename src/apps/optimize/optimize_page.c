/* SPDX-License-Identifier: Apache-2.0
 * The page of an optimisation: what was found, the front, how it got there, slices of what is
 * believed through the best point, what matters, what failed, what comes next. */
#include "base/mem.h"
#include "apps/optimize/optimize.h"
#include "apps/optimize/pareto.h"
#include "io/plot/scene.h"

#include <math.h>
#include <string.h>

/* Pictures shrink with the page, and their words with them: they are made no wider than they have
 * to be, so that a telephone's are to be read. */
static void draw(struct plot_scene *scene, const char *id, double width, struct buf *out) {
    struct plot_svg_options svg = {
        .id = id, .embedded = true, .panel_width = width, .panel_height = 120 + width / 3};
    buf_puts(out, "<figure>");
    plot_svg(scene, &svg, out);
    buf_puts(out, "</figure>\n");
    plot_scene_free(scene);
}

#define WHOLE 420 /* the width of a picture that stands alone */
#define HALF  340 /* and of one beside another */

/* A name as it fits beside a picture, in whole characters: of a long one the middle is left out, as
 * long names often begin alike. Owned. */
static char *short_name(const char *name) {
    enum { MOST = 26, START = 14, END = 11 };
    size_t n = strlen(name), start = START, end = n - END;
    if (n <= MOST) return mem_strdup(name);
    while (start && ((unsigned char)name[start] & 0xC0) == 0x80) start--;
    while (end < n && ((unsigned char)name[end] & 0xC0) == 0x80) end++;
    struct buf out = BUF_INIT;
    buf_add(&out, name, start);
    buf_puts(&out, "\xE2\x80\xA6"); /* an ellipsis */
    buf_puts(&out, name + end);
    return buf_take(&out);
}

/* Labels of both axes, shortened. */
static void label_axes(struct plot_panel *p, const char *x, const char *y) {
    char *a = short_name(x), *b = short_name(y);
    plot_axis_labels(p, a, b);
    mem_free(a);
    mem_free(b);
}

static struct plot_panel *named_panel(struct plot_scene *s, const char *name) {
    char *title = short_name(name);
    struct plot_panel *p = plot_panel_add(s, title);
    mem_free(title);
    return p;
}

/* Bars with names. */
static void bars(struct plot_panel *p, size_t n, const char *const *names, const double *y,
                 const double *sd) {
    char **fit = NEW_ARRAY(char *, n);
    for (size_t i = 0; i < n; i++) fit[i] = short_name(names[i]);
    plot_add(p, (struct plot_item){PLOT_NAMED, PLOT_COLOUR(PLOT_BLUE), .n = n,
                                   .names = (const char *const *)fit, .y = y, .y2 = sd});
    for (size_t i = 0; i < n; i++) mem_free(fit[i]);
    mem_free(fit);
}

static const char *objective_name(const struct optimize *o) {
    int first;
    goals_objectives(&o->goals, &first);
    return goals_name(&o->goals, first);
}

/* ---- how it went ---- */

/* Volume that the front so far dominates, of the box from the final front's best values to its
 * worst (or to the reference values). */
static void volumes(const struct optimize *o, double *volume) {
    int first, m = goals_objectives(&o->goals, &first);
    size_t M = (size_t)m, n = 0, *index = NEW_ARRAY(size_t, o->trace.n + 1);
    double *y = NEW_ARRAY(double, (o->trace.n + 2) * M), *ideal = y + o->trace.n * M;
    double *ref = ideal + M, box = 1, *row = NEW_ARRAY(double, M);
    for (size_t j = 0; j < M; j++) ideal[j] = INFINITY, ref[j] = -INFINITY;
    for (size_t i = 0, count = optimize_front(o, index); i < count; i++) {
        if (!optimize_objectives(o, index[i], row)) continue;
        for (size_t j = 0; j < M; j++)
            ideal[j] = fmin(ideal[j], row[j]), ref[j] = fmax(ref[j], row[j]);
    }
    for (size_t k = 0, j = 0; k < o->goals.goal.n; k++) {
        const struct bo_goal *g = &o->goals.goal.at[k];
        if (!g->direction) continue;
        ref[j] =
            isnan(g->reference) ? ref[j] + 0.1 * (ref[j] - ideal[j]) : g->direction * g->reference;
        box *= fmax(ref[j] - ideal[j], 1e-300);
        j++;
    }
    for (size_t i = 0; i < o->trace.n; i++) {
        double added = 0;
        if (optimize_objectives(o, i, y + n * M)) {
            added = pareto_added(y, n, m, ref, y + n * M, NULL) / box;
            n++;
        }
        volume[i] = (i ? volume[i - 1] : 0) + added;
    }
    mem_free(index);
    mem_free(y);
    mem_free(row);
}

static void trace_figure(const struct optimize *o, struct buf *out) {
    size_t n = o->trace.n;
    int first, m = goals_objectives(&o->goals, &first);
    double *i = NEW_ARRAY(double, 4 * n + 1), *in = i + n, *beyond = in + n, *best = beyond + n;
    double low = NAN;
    for (size_t k = 0; k < n; k++) {
        const struct optimize_eval *e = &o->trace.at[k];
        bool met = e->values && goals_met(&o->goals, e->values) && !e->stopped &&
                   optimize_is_full(o, e->x);
        i[k] = (double)k + 1;
        in[k] = met ? e->y : NAN;
        beyond[k] = met ? NAN : e->y;
        if (met && optimize_better(o, e->y, low)) low = e->y;
        best[k] = low;
    }
    struct plot_scene *s =
        plot_scene_new(NULL, "What each evaluation gave, and the best so far", 1);
    struct plot_panel *p = plot_panel_add(s, m > 1 ? "Volume dominated" : "Values and best so far");
    label_axes(p, "evaluation", m > 1 ? "share of the box" : objective_name(o));
    p->x.whole = true;
    if (m > 1) {
        volumes(o, best);
        plot_xy(p, PLOT_LINE, "volume of the front", n, i, best, PLOT_COLOUR(PLOT_BLUE));
    } else {
        plot_xy(p, PLOT_POINTS, goals_bounded(&o->goals) ? "within the bounds" : "value", n, i, in,
                PLOT_COLOUR(PLOT_GREY));
        if (goals_bounded(&o->goals))
            plot_xy(p, PLOT_POINTS, "beyond a bound", n, i, beyond, PLOT_COLOUR(PLOT_ORANGE));
        plot_xy(p, PLOT_LINE, "best so far", n, i, best, PLOT_COLOUR(PLOT_BLUE));
    }
    draw(s, "trace", WHOLE, out);
    mem_free(i);
}

/* ---- the front ---- */

/* Objectives a and b of all evaluations, those of the front apart. */
static void front_panel(const struct optimize *o, int a, int b, double width, const size_t *index,
                        size_t count, struct buf *out) {
    struct plot_scene *s = plot_scene_new(
        NULL, "The front: evaluations that nothing is better than in every objective", 1);
    struct buf id = BUF_INIT;
    size_t n = o->trace.n;
    double *x = NEW_ARRAY(double, 2 * (n + count) + 1), *y = x + n, *fx = y + n, *fy = fx + count;
    for (size_t i = 0; i < n; i++) {
        const double *v = o->trace.at[i].values;
        bool met = v && goals_met(&o->goals, v);
        x[i] = met ? v[a] : NAN;
        y[i] = met ? v[b] : NAN;
    }
    for (size_t i = 0; i < count; i++) {
        fx[i] = o->trace.at[index[i]].values[a];
        fy[i] = o->trace.at[index[i]].values[b];
    }
    struct plot_panel *p = plot_panel_add(s, NULL);
    label_axes(p, goals_name(&o->goals, a), goals_name(&o->goals, b));
    plot_xy(p, PLOT_POINTS, "evaluations", n, x, y, PLOT_COLOUR(PLOT_GREY));
    plot_xy(p, PLOT_POINTS, "front", count, fx, fy, PLOT_COLOUR(PLOT_VERMILION));
    buf_printf(&id, "front%d-%d", a, b);
    draw(s, id.data, width, out);
    buf_release(&id);
    mem_free(x);
}

static void front_figure(struct optimize *o, struct buf *out) {
    int first, m = goals_objectives(&o->goals, &first);
    if (m < 2) return;
    size_t *index = NEW_ARRAY(size_t, o->trace.n + 1), n = optimize_front(o, index);
    buf_puts(out, "<h2>The front</h2>\n<p>Nothing found is better than these in every objective; "
                  "which of them to take is yours to say.</p>\n");
    if (m > 2) buf_puts(out, "<div class=\"grid\">\n");
    for (int a = 0; a < o->goals.names.n; a++)
        for (int b = a + 1; b < o->goals.names.n; b++)
            if (o->goals.goal.at[a].direction && o->goals.goal.at[b].direction)
                front_panel(o, a, b, m > 2 ? HALF : WHOLE, index, n, out);
    if (m > 2) buf_puts(out, "</div>\n");
    optimize_front_table(o, index, n, out);
    mem_free(index);
}

/* ---- slices ---- */

#define SLICE 61

/* Posterior of number k along a numeric variable through x. */
static bool slice_panel(struct optimize *o, struct plot_scene *s, const double *x, int j, int k) {
    const struct bo_var *v = &o->space.vars[j];
    const double probs[3] = {0.05, 0.5, 0.95};
    double at[SLICE], lo[SLICE], mid[SLICE], hi[SLICE], q[3 * SLICE];
    size_t n = (size_t)o->space.n;
    double *t = NEW_ARRAY(double, n *SLICE);
    for (int i = 0; i < SLICE; i++) {
        double u = (double)i / (SLICE - 1);
        at[i] = v->log ? v->lo * pow(v->hi / v->lo, u) : v->lo + u * (v->hi - v->lo);
        memcpy(t + (size_t)i * n, x, n * sizeof *t);
        t[(size_t)i * n + (size_t)j] = at[i];
    }
    bool ok = bo_quantiles(o->bo, goals_place(&o->goals, k), t, SLICE, probs, 3, q);
    mem_free(t);
    if (!ok) return false;
    for (int i = 0; i < SLICE; i++) {
        lo[i] = q[3 * i];
        mid[i] = q[3 * i + 1];
        hi[i] = q[3 * i + 2];
    }
    struct plot_panel *p = named_panel(s, v->name);
    label_axes(p, v->name, goals_name(&o->goals, k));
    p->x.log = v->log;
    plot_band(p, "90% band", SLICE, at, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "median", SLICE, at, mid, PLOT_COLOUR(PLOT_BLUE));
    plot_rule(p, PLOT_RULE_X, "best", x[j], PLOT_COLOUR(PLOT_VERMILION));
    if (o->goals.names.n) {
        const struct bo_goal *g = &o->goals.goal.at[k];
        if (isfinite(g->hi)) plot_rule(p, PLOT_RULE_Y, "bound", g->hi, PLOT_COLOUR(PLOT_BLACK));
        if (isfinite(g->lo)) plot_rule(p, PLOT_RULE_Y, "bound", g->lo, PLOT_COLOUR(PLOT_BLACK));
    }
    return true;
}

/* Medians for each level, in an order or not, with their standard deviations. */
static bool level_panel(struct optimize *o, struct plot_scene *s, const double *x, int j, int k) {
    const struct bo_var *v = &o->space.vars[j];
    const double probs[3] = {0.1587, 0.5, 0.8413};
    char *const *names = v->labels ? v->labels : v->levels;
    size_t n = (size_t)o->space.n, levels = v->labels ? (size_t)v->hi + 1 : (size_t)v->n_levels;
    double *t = NEW_ARRAY(double, levels *(n + 5)), *q = t + levels * n, *mid = q + 3 * levels;
    double *sd = mid + levels;
    for (size_t i = 0; i < levels; i++) {
        memcpy(t + i * n, x, n * sizeof *t);
        t[i * n + (size_t)j] = (double)i;
    }
    bool ok = bo_quantiles(o->bo, goals_place(&o->goals, k), t, levels, probs, 3, q);
    for (size_t i = 0; ok && i < levels; i++) {
        mid[i] = q[3 * i + 1];
        sd[i] = 0.5 * (q[3 * i + 2] - q[3 * i]);
    }
    if (ok) bars(named_panel(s, v->name), levels, (const char *const *)names, mid, sd);
    mem_free(t);
    return ok;
}

enum { MOST_VARIABLES = 12 };

/* The variables to show: all in their order, or of many those that matter most; how many. */
static int shown_variables(struct optimize *o, int *which) {
    size_t n = (size_t)o->space.n;
    for (int j = 0; j < o->space.n; j++) which[j] = j;
    if (o->space.n <= MOST_VARIABLES) return o->space.n;
    double *first = NEW_ARRAY(double, 3 * n), *total = first + n;
    bool known = bo_sensitivity(o->bo, first, total, total + n);
    for (int i = 0; known && i < MOST_VARIABLES; i++) { /* the greatest of those left comes next */
        int best = i;
        for (int j = i + 1; j < o->space.n; j++)
            if (total[which[j]] > total[which[best]]) best = j;
        int next = which[best];
        memmove(which + i + 1, which + i, (size_t)(best - i) * sizeof *which);
        which[i] = next;
    }
    mem_free(first);
    return MOST_VARIABLES;
}

/* One number along the variables, a figure each: they stand side by side where there is room. */
static bool number_slices(struct optimize *o, const double *x, int k, struct buf *out) {
    bool any = false;
    int *which = NEW_ARRAY(int, (size_t)o->space.n), n = shown_variables(o, which);
    for (int i = 0; i < n; i++) {
        int j = which[i];
        const struct bo_var *v = &o->space.vars[j];
        struct plot_scene *s = plot_scene_new(NULL, "What is believed along one variable", 1);
        if (!(v->n_levels || v->labels ? level_panel : slice_panel)(o, s, x, j, k)) {
            plot_scene_free(s);
            continue;
        }
        struct buf id = BUF_INIT;
        buf_printf(&id, "slice%d-%d", k, j);
        if (!any)
            buf_printf(out, "<h2>%s along %s, through the best point</h2>\n<div class=\"grid\">\n",
                       goals_name(&o->goals, k),
                       n < o->space.n ? "the variables that matter most" : "each variable");
        any = true;
        draw(s, id.data, HALF, out);
        buf_release(&id);
    }
    if (any) buf_puts(out, "</div>\n");
    mem_free(which);
    return any;
}

static void slices_figure(struct optimize *o, struct buf *out) {
    enum { MOST_NUMBERS = 6 };
    int shown = 0;
    double *x = NEW_ARRAY(double, (size_t)(o->space.n + goals_count(&o->goals)));
    bool best = optimize_best(o, x, x + o->space.n);
    for (int k = 0; best && k < goals_count(&o->goals) && shown < MOST_NUMBERS; k++)
        if (goals_place(&o->goals, k) >= 0) shown += number_slices(o, x, k, out);
    mem_free(x);
}

/* ---- what matters ---- */

static void sensitivity_figure(struct optimize *o, struct buf *out) {
    size_t n = (size_t)o->space.n;
    double *first = NEW_ARRAY(double, 3 * n), *total = first + n, *sd = total + n;
    const char **names = NEW_ARRAY(const char *, n);
    if (bo_sensitivity(o->bo, first, total, sd)) {
        for (size_t j = 0; j < n; j++) names[j] = o->space.vars[j].name;
        struct plot_scene *s = plot_scene_new(NULL, "Total sensitivity index of each variable", 1);
        struct plot_panel *p = plot_panel_add(s, "Share of the variation, interactions included");
        bars(p, n, names, total, sd);
        buf_printf(out, "<h2>What matters for %s</h2>\n", objective_name(o));
        draw(s, "sensitivity", WHOLE, out);
    }
    mem_free(names);
    mem_free(first);
}

/* ---- what failed, what comes next ---- */

static void failures(const struct optimize *o, struct buf *out) {
    enum { MOST = 20 };
    size_t n = optimize_failed(o), shown = 0;
    if (!n) return;
    buf_printf(out,
               "<h2>Failures</h2>\n<p>%zu of %zu evaluations failed; points like them are "
               "avoided.</p>\n",
               n, o->trace.n);
    for (size_t i = o->trace.n; i-- > 0 && shown < MOST;) {
        const struct optimize_eval *e = &o->trace.at[i];
        if (e->values) continue;
        struct buf at = BUF_INIT;
        optimize_put_point(o, e->x, 6, &at);
        buf_printf(out, "<details%s><summary>%zu:", shown ? "" : " open", i + 1);
        buf_markup(out, at.data);
        buf_puts(out, "</summary><pre>");
        buf_markup(out, e->error);
        buf_puts(out, "</pre></details>\n");
        buf_release(&at);
        shown++;
    }
    if (shown < n) buf_printf(out, "<p>and %zu before.</p>\n", n - shown);
}

/* The next points, as an optimiser that knows the same would choose them. */
static void next_points(struct optimize *o, struct buf *out) {
    enum { POINTS = 3 };
    struct bo *b = goals_optimiser(&o->goals, &o->space, &o->opt);
    double *x = NEW_ARRAY(double, (size_t)o->space.n);
    for (size_t i = 0; i < o->trace.n; i++)
        if (bo_space_inside(&o->space, o->trace.at[i].x))
            goals_tell(&o->goals, b, o->trace.at[i].x, o->trace.at[i].values);
    buf_puts(out, "<h2>What to try next</h2>\n<ul>\n");
    for (int i = 0; i < POINTS && bo_ask(b, x) == GPM_OK; i++) {
        struct buf at = BUF_INIT;
        optimize_put_point(o, x, 6, &at);
        buf_puts(out, "<li>");
        buf_markup(out, at.data + 1);
        buf_puts(out, "</li>\n");
        buf_release(&at);
    }
    buf_puts(out, "</ul>\n");
    bo_free(b);
    mem_free(x);
}

/* ---- everything ---- */

static void cell(struct buf *out, const char *text) {
    buf_puts(out, "<td>");
    buf_markup(out, text);
    buf_puts(out, "</td>");
}

static void trace_row(const struct optimize *o, size_t i, struct buf *out) {
    const struct optimize_eval *e = &o->trace.at[i];
    int count = goals_count(&o->goals);
    struct buf text = BUF_INIT;
    bool met = e->values && goals_met(&o->goals, e->values) && !e->stopped;
    buf_printf(out, "<tr%s><td>%zu</td>", met ? "" : " class=\"out\"", i + 1);
    for (int j = 0; j < o->space.n; j++) {
        buf_reset(&text);
        bo_space_value(&o->space, j, e->x[j], 6, &text);
        cell(out, text.data);
    }
    for (int k = 0; e->values && k < count; k++) {
        buf_reset(&text);
        buf_printf(&text, "%.8g%s", e->values[k], e->stopped ? ", stopped early" : "");
        cell(out, text.data);
    }
    if (!e->values) buf_printf(out, "<td colspan=\"%d\">failed</td>", count);
    buf_printf(out, "<td>%.3g</td></tr>\n", e->seconds);
    buf_release(&text);
}

static void trace_table(const struct optimize *o, struct buf *out) {
    buf_puts(out, "<h2>Evaluations</h2>\n<div class=\"wide\"><table><tr><th>#</th>");
    for (int j = 0; j < o->space.n; j++) {
        buf_puts(out, "<th>");
        buf_markup(out, o->space.vars[j].name);
        buf_puts(out, "</th>");
    }
    for (int k = 0; k < goals_count(&o->goals); k++)
        buf_printf(out, "<th>%s</th>", goals_name(&o->goals, k));
    buf_puts(out, "<th>seconds</th></tr>\n");
    for (size_t i = 0; i < o->trace.n; i++) trace_row(o, i, out);
    buf_puts(out, "</table></div>\n");
}

static void model_paragraph(struct optimize *o, struct buf *out) {
    struct bo_summary s;
    if (!bo_summarise(o->bo, &s)) return;
    buf_printf(out,
               "<p>Model: kernel %s, output %s, %zu points; leave-one-out coverage of the 50%% "
               "and 90%% intervals %.0f%% and %.0f%%.",
               s.kernel, s.warp, s.n_model, 100 * s.coverage50, 100 * s.coverage90);
    if (o->opt.noisy) buf_printf(out, " Estimated noise: %.3g.", s.noise_sd);
    if (s.tabu) buf_printf(out, " Optima found to the last digit: %d.", s.tabu);
    buf_puts(out, "</p>\n");
}

/* "Minimum of cost, maximum of speed", or of the program's name. */
static void title(const struct optimize *o, struct buf *out) {
    bool more = false;
    if (!o->goals.names.n) buf_puts(out, o->opt.maximize ? "Maximum" : "Minimum");
    for (int k = 0; k < o->goals.names.n; k++) {
        const struct bo_goal *g = &o->goals.goal.at[k];
        if (!g->direction) continue;
        buf_printf(out, "%s%s of %s", more ? ", m" : "M", g->direction < 0 ? "aximum" : "inimum",
                   goals_name(&o->goals, k));
        more = true;
    }
}

/* What the command says, but for the points of the front: they have a table. */
static void in_words(struct optimize *o, struct buf *out) {
    struct buf text = BUF_INIT, line = BUF_INIT;
    optimize_report_text(o, &text);
    buf_puts(out, "<pre>");
    for (const char *at = text.data; *at; at += line.len) {
        buf_reset(&line);
        buf_add(&line, at, strcspn(at, "\n") + 1);
        if (strncmp(line.data, "  ", 2) != 0) buf_markup(out, line.data);
    }
    buf_puts(out, "</pre>\n");
    buf_release(&text);
    buf_release(&line);
}

void optimize_report_html(struct optimize *o, struct buf *out) {
    buf_puts(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<title>Optimisation</title>\n<style>body{font:16px/1.5 sans-serif;max-width:60em;"
        "margin:2em auto;padding:0 1em}table{border-collapse:collapse;font-size:14px}"
        "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}"
        ".grid{display:grid;gap:0 1em;grid-template-columns:repeat(auto-fit,"
        "minmax(min(20em,100%),1fr))}.out{color:#767676}.wide{overflow-x:auto}"
        "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f6f6f6;padding:.6em}"
        ".picked{background:#fde8c8;font-weight:bold}.weights "
        "label{margin-right:1em;white-space:nowrap}"
        "#pick tbody tr{cursor:pointer}"
        "h1,h2,p,summary,li{overflow-wrap:anywhere}figure{margin:1em 0}"
        "svg{max-width:100%;height:auto}</style></head><body>\n<h1>");
    title(o, out);
    buf_puts(out, "</h1>\n<p><code>");
    buf_markup(out, o->memo->function);
    buf_puts(out, "</code>");
    for (size_t i = 0; i < o->goals.bounds.n; i++) {
        buf_puts(out, i ? ", <code>" : " with <code>");
        buf_markup(out, o->goals.bounds.at[i]);
        buf_puts(out, "</code>");
    }
    buf_puts(out, "</p>\n");
    in_words(o, out);
    model_paragraph(o, out);
    front_figure(o, out);
    if (optimize_failed(o) < o->trace.n) trace_figure(o, out);
    slices_figure(o, out);
    sensitivity_figure(o, out);
    next_points(o, out);
    failures(o, out);
    trace_table(o, out);
    buf_puts(out, "</body></html>\n");
}
