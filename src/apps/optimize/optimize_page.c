/* SPDX-License-Identifier: Apache-2.0
 * An optimisation for people, one document (io/plot/doc.h): what was found; on a page the front,
 * how it got there, slices of what is believed through the best point, what matters, what failed,
 * what comes next. */
#include "base/mem.h"
#include "apps/optimize/optimize.h"
#include "apps/optimize/pareto.h"
#include "io/plot/doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* ---- in words ---- */

/* Which bounds the numbers break, and by how much. */
static void put_broken(const struct optimize *o, const double *y, struct buf *out) {
    const char *sep = "";
    for (int k = 0; k < o->goals.names.n; k++) {
        const struct bo_goal *g = &o->goals.goal.at[k];
        double over = fmax(g->lo - y[k], y[k] - g->hi);
        if (!(over > 0)) continue;
        buf_printf(out, "%s%s is %.3g %s", sep, goals_name(&o->goals, k), over,
                   y[k] > g->hi ? "above " : "below ");
        buf_number(out, y[k] > g->hi ? g->hi : g->lo);
        sep = ", ";
    }
}

/* " (f=3 +- 0.1)": what is believed of the objectives under noise. */
static void put_belief(const struct optimize *o, const double *mean, const double *sd,
                       struct buf *out) {
    const char *sep = " (";
    for (int k = 0, j = 0; k < o->goals.names.n; k++) {
        if (!o->goals.goal.at[k].direction) continue;
        buf_printf(out, "%s%s=%.5g +- %.2g", sep, goals_name(&o->goals, k), mean[j], sd[j]);
        sep = " ";
        j++;
    }
    buf_putc(out, ')');
}

static void front_lines(struct optimize *o, struct doc *doc) {
    int first, m = goals_objectives(&o->goals, &first);
    size_t *index = NEW_ARRAY(size_t, o->trace.n + 1), n = optimize_front(o, index);
    double *mean = NEW_ARRAY(double, 2 * n * (size_t)m + 1), *sd = mean + n * (size_t)m;
    bool known = optimize_front_belief(o, index, n, mean, sd);
    doc_say(doc, DOC_ITEM, "front: %zu point%s that nothing is better than in every objective", n,
            n == 1 ? "" : "s");
    for (size_t i = 0; i < n && doc->form == DOC_TEXT; i++) { /* elsewhere they have a table */
        buf_putc(&doc->words, ' ');
        optimize_put_numbers(o, o->trace.at[index[i]].values, 6, &doc->words);
        if (known) put_belief(o, mean + i * (size_t)m, sd + i * (size_t)m, &doc->words);
        buf_puts(&doc->words, " at");
        optimize_put_point(o, o->trace.at[index[i]].x, 6, &doc->words);
        doc_put(doc, DOC_ITEM);
    }
    mem_free(index);
    mem_free(mean);
}

static void best_line(struct optimize *o, double *x, double *y, struct doc *doc) {
    bool met = goals_met(&o->goals, y);
    buf_puts(&doc->words, met ? "best:" : "best: none within the bounds yet; the closest is");
    optimize_put_numbers(o, y, 0, &doc->words);
    buf_puts(&doc->words, " at");
    optimize_put_point(o, x, 0, &doc->words);
    if (!met) {
        buf_puts(&doc->words, " (");
        put_broken(o, y, &doc->words);
        buf_puts(&doc->words, "); the search first looks for points within the bounds");
    }
    doc_put(doc, DOC_ITEM);
}

/* Those stopped on the way, and what all cost where it differs. */
static void put_costs(const struct optimize *o, struct buf *out) {
    size_t stopped = 0;
    double cost = 0;
    for (size_t i = 0; i < o->trace.n; i++) {
        stopped += o->trace.at[i].stopped;
        cost += optimize_cost(o, &o->trace.at[i]);
    }
    if (stopped) buf_printf(out, ", %zu stopped early", stopped);
    if (fabs(cost - (double)o->trace.n) > 1e-9) buf_printf(out, ", cost %.6g", cost);
}

static void section_words(struct optimize *o, struct doc *doc) {
    int first, n = goals_objectives(&o->goals, &first), count = goals_count(&o->goals);
    double *x = NEW_ARRAY(double, (size_t)(o->space.n + count)), *y = x + o->space.n, mean, sd;
    buf_printf(&doc->words, "evaluations: %zu (%zu failed", o->trace.n, optimize_failed(o));
    if (goals_bounded(&o->goals))
        buf_printf(&doc->words, ", %zu within the bounds", optimize_within(o));
    put_costs(o, &doc->words);
    doc_say(doc, DOC_ITEM, ")");
    if (o->from_read && !o->from_used)
        doc_say(doc, DOC_ITEM,
                "from %s: nothing; of its %zu evaluations none succeeded at a point of this search "
                "with the numbers it asks for",
                o->opt.from, o->from_seen);
    if (!optimize_best(o, x, y)) {
        doc_say(doc, DOC_ITEM, "best: none, no evaluation succeeded");
        if (o->failure) doc_say(doc, DOC_ITEM, "the last failure: %s", o->failure);
    } else if (n > 1 && goals_met(&o->goals, y)) {
        front_lines(o, doc);
    } else {
        best_line(o, x, y, doc);
    }
    if (!o->opt.noisy && bo_noise_seen(o->bo, &sd))
        doc_say(doc, DOC_ITEM,
                "noise: values at the same point differ (standard deviation about %.2g), and the "
                "search took them for exact; begin a new one with --noisy (--from brings the "
                "values along)",
                sd);
    if (o->opt.noisy && n == 1 && bo_recommend(o->bo, x, &mean, &sd)) {
        buf_printf(&doc->words, "recommended: %.6g +- %.2g at", mean, sd);
        optimize_put_point(o, x, 0, &doc->words);
        doc_put(doc, DOC_ITEM);
    }
    mem_free(x);
}

static void section_model(struct optimize *o, struct doc *doc) {
    struct bo_summary s;
    if (!bo_summarise(o->bo, &s)) return;
    buf_printf(&doc->words,
               "Model: kernel %s, output %s, %zu points; leave-one-out coverage of the 50%% and "
               "90%% intervals %.0f%% and %.0f%%.",
               s.kernel, s.warp, s.n_model, 100 * s.coverage50, 100 * s.coverage90);
    if (o->opt.noisy) buf_printf(&doc->words, " Estimated noise: %.3g.", s.noise_sd);
    if (s.tabu) buf_printf(&doc->words, " Optima found to the last digit: %d.", s.tabu);
    doc_put(doc, DOC_PLAIN);
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

static void section_trace(struct optimize *o, struct doc *doc) {
    size_t n = o->trace.n;
    if (optimize_failed(o) == n) return;
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
    doc_say(doc, DOC_SECTION, "How it went");
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
    doc_figure(doc, DOC_HALF, "trace", s, NULL);
    mem_free(i);
}

/* ---- the front ---- */

/* Objectives a and b of all evaluations, those of the front apart. */
static void front_figure(const struct optimize *o, int a, int b, const size_t *index, size_t count,
                         struct doc *doc) {
    struct plot_scene *s = plot_scene_new(
        NULL, "The front: evaluations that nothing is better than in every objective", 1);
    char id[40];
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
    snprintf(id, sizeof id, "front%d-%d", a, b);
    doc_figure(doc, DOC_HALF, id, s, NULL);
    mem_free(x);
}

/* One row of the front: numbers, objectives as believed under noise, the point. */
static void front_row(const struct optimize *o, const struct optimize_eval *e, const double *mean,
                      const double *sd, struct doc *doc) {
    for (int k = 0, j = 0; k < o->goals.names.n; k++) {
        bool objective = o->goals.goal.at[k].direction != 0;
        if (objective && mean)
            doc_cellf(doc, "%.5g ± %.2g", mean[j], sd[j]);
        else
            doc_cellf(doc, "%.6g", e->values[k]);
        j += objective;
    }
    for (int j = 0; j < o->space.n; j++) {
        bo_space_value(&o->space, j, e->x[j], 5, &doc->words);
        doc_cell(doc);
    }
}

/* The columns of a table of evaluations: its numbers before or after the variables. Owned. */
static struct doc_column *columns_of(const struct optimize *o, bool before) {
    size_t n = (size_t)o->space.n, m = (size_t)goals_count(&o->goals);
    struct doc_column *c = NEW_ARRAY(struct doc_column, n + m), *vars = before ? c + m : c;
    for (size_t j = 0; j < n; j++) vars[j] = (struct doc_column){o->space.vars[j].name, DOC_NUMBER};
    for (size_t k = 0; k < m; k++)
        (before ? c : c + n)[k] = (struct doc_column){goals_name(&o->goals, (int)k), DOC_NUMBER};
    return c;
}

/* Each row has its objectives, small is good, from 0 (the best of the front) to 1 (the worst): a
 * row is picked by how much each objective matters (the script of pages). */
static void front_table(struct optimize *o, const size_t *index, size_t n, struct doc *doc) {
    int first, m = goals_objectives(&o->goals, &first);
    size_t M = (size_t)m;
    double *y = NEW_ARRAY(double, 3 * n * M + 2 * M + 1), *mean = y + n * M, *sd = mean + n * M;
    double *low = sd + n * M, *high = low + M;
    bool known = optimize_front_belief(o, index, n, mean, sd);
    struct doc_column *columns = columns_of(o, true);
    struct buf pick = BUF_INIT;
    for (size_t j = 0; j < M; j++) low[j] = INFINITY, high[j] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!optimize_objectives(o, index[i], y + i * M)) continue;
        for (size_t j = 0; j < M; j++) {
            low[j] = fmin(low[j], y[i * M + j]);
            high[j] = fmax(high[j], y[i * M + j]);
        }
    }
    for (int k = 0; k < o->goals.names.n; k++)
        if (o->goals.goal.at[k].direction)
            buf_html(&pick, pick.len ? "\n" : " id=\"pick\" data-weights=\"",
                     goals_name(&o->goals, k), "");
    buf_putc(&pick, '"');
    doc_say(doc, DOC_PLAIN, "Weigh the objectives, or click a row:");
    doc_table(doc, NULL, NULL, columns, (size_t)(o->space.n + goals_count(&o->goals)));
    doc->table.attributes = pick.data;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < M; j++)
            buf_printf(&doc->row, "%s%.4f", j ? " " : " data-y=\"",
                       high[j] > low[j] ? (y[i * M + j] - low[j]) / (high[j] - low[j]) : 0);
        buf_printf(&doc->row, "\"");
        front_row(o, &o->trace.at[index[i]], known ? mean + i * M : NULL, sd + i * M, doc);
    }
    doc_table_end(doc);
    buf_release(&pick);
    mem_free(columns);
    mem_free(y);
}

static void section_front(struct optimize *o, struct doc *doc) {
    int first, m = goals_objectives(&o->goals, &first);
    if (m < 2) return;
    size_t *index = NEW_ARRAY(size_t, o->trace.n + 1), n = optimize_front(o, index);
    doc_say(doc, DOC_SECTION, "The front");
    doc_say(doc, DOC_PLAIN,
            "Nothing found is better than these in every objective; which of them to take is yours "
            "to say.");
    for (int a = 0; a < o->goals.names.n; a++)
        for (int b = a + 1; b < o->goals.names.n; b++)
            if (o->goals.goal.at[a].direction && o->goals.goal.at[b].direction)
                front_figure(o, a, b, index, n, doc);
    front_table(o, index, n, doc);
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
static bool number_slices(struct optimize *o, const double *x, int k, struct doc *doc) {
    bool any = false;
    int *which = NEW_ARRAY(int, (size_t)o->space.n), n = shown_variables(o, which);
    for (int i = 0; i < n; i++) {
        int j = which[i];
        const struct bo_var *v = &o->space.vars[j];
        struct plot_scene *s = plot_scene_new(NULL, "What is believed along one variable", 1);
        char id[40];
        if (!(v->n_levels || v->labels ? level_panel : slice_panel)(o, s, x, j, k)) {
            plot_scene_free(s);
            continue;
        }
        snprintf(id, sizeof id, "slice%d-%d", k, j);
        if (!any)
            doc_say(doc, DOC_SECTION, "%s along %s, through the best point",
                    goals_name(&o->goals, k),
                    n < o->space.n ? "the variables that matter most" : "each variable");
        any = true;
        doc_figure(doc, DOC_HALF, id, s, NULL);
    }
    mem_free(which);
    return any;
}

static void section_slices(struct optimize *o, struct doc *doc) {
    enum { MOST_NUMBERS = 6 };
    int shown = 0;
    double *x = NEW_ARRAY(double, (size_t)(o->space.n + goals_count(&o->goals)));
    bool best = optimize_best(o, x, x + o->space.n);
    for (int k = 0; best && k < goals_count(&o->goals) && shown < MOST_NUMBERS; k++)
        if (goals_place(&o->goals, k) >= 0) shown += number_slices(o, x, k, doc);
    mem_free(x);
}

/* ---- what matters ---- */

static void section_sensitivity(struct optimize *o, struct doc *doc) {
    size_t n = (size_t)o->space.n;
    double *first = NEW_ARRAY(double, 3 * n), *total = first + n, *sd = total + n;
    const char **names = NEW_ARRAY(const char *, n);
    if (bo_sensitivity(o->bo, first, total, sd)) {
        for (size_t j = 0; j < n; j++) names[j] = o->space.vars[j].name;
        struct plot_scene *s = plot_scene_new(NULL, "Total sensitivity index of each variable", 1);
        struct plot_panel *p = plot_panel_add(s, "Share of the variation, interactions included");
        bars(p, n, names, total, sd);
        doc_say(doc, DOC_SECTION, "What matters for %s", objective_name(o));
        doc_figure(doc, DOC_HALF, "sensitivity", s, NULL);
    }
    mem_free(names);
    mem_free(first);
}

/* ---- what failed, what comes next ---- */

/* The last failure is open, those before it are closed. */
static void section_failures(struct optimize *o, struct doc *doc) {
    enum { MOST = 20 };
    size_t n = optimize_failed(o), shown = 0;
    if (!n) return;
    doc_say(doc, DOC_SECTION, "Failures");
    doc_say(doc, DOC_PLAIN, "%zu of %zu evaluations failed; points like them are avoided.", n,
            o->trace.n);
    for (size_t i = o->trace.n; i-- > 0 && shown < MOST;) {
        const struct optimize_eval *e = &o->trace.at[i];
        struct buf at = BUF_INIT;
        if (e->values) continue;
        buf_printf(&at, "%zu:", i + 1);
        optimize_put_point(o, e->x, 6, &at);
        if (shown)
            doc_fold(doc, at.data);
        else
            doc_say(doc, DOC_SOFT, "%s", at.data);
        doc_say(doc, DOC_CODE, "%s", e->error);
        if (shown++) doc_fold_end(doc);
        buf_release(&at);
    }
    if (shown < n) doc_say(doc, DOC_PLAIN, "and %zu before.", n - shown);
}

/* The next points, as an optimiser that knows the same would choose them. */
static void section_next(struct optimize *o, struct doc *doc) {
    enum { POINTS = 3 };
    struct bo *b = goals_optimiser(&o->goals, &o->space, &o->opt);
    double *x = NEW_ARRAY(double, (size_t)o->space.n);
    for (size_t i = 0; i < o->trace.n; i++)
        if (bo_space_inside(&o->space, o->trace.at[i].x))
            goals_tell(&o->goals, b, o->trace.at[i].x, o->trace.at[i].values);
    doc_say(doc, DOC_SECTION, "What to try next");
    for (int i = 0; i < POINTS && bo_ask(b, x) == GPM_OK; i++) {
        struct buf at = BUF_INIT;
        optimize_put_point(o, x, 6, &at);
        doc_say(doc, DOC_ITEM, "%s", at.data + 1);
        buf_release(&at);
    }
    bo_free(b);
    mem_free(x);
}

/* ---- everything ---- */

static void trace_row(const struct optimize *o, size_t i, struct doc *doc) {
    const struct optimize_eval *e = &o->trace.at[i];
    bool met = e->values && goals_met(&o->goals, e->values) && !e->stopped;
    if (!met) buf_printf(&doc->row, " class=\"out\"");
    doc_cellf(doc, "%zu", i + 1);
    doc_cellf(doc, "%.3g", e->seconds);
    for (int j = 0; j < o->space.n; j++) {
        bo_space_value(&o->space, j, e->x[j], 6, &doc->words);
        doc_cell(doc);
    }
    for (int k = 0; e->values && k < goals_count(&o->goals); k++)
        doc_cellf(doc, "%.8g%s", e->values[k], e->stopped ? ", stopped early" : "");
    if (!e->values) doc_restf(doc, "failed");
}

static void section_evaluations(struct optimize *o, struct doc *doc) {
    size_t n = (size_t)(o->space.n + goals_count(&o->goals));
    struct doc_column *of = columns_of(o, false), *columns = NEW_ARRAY(struct doc_column, n + 2);
    columns[0] = (struct doc_column){"#", DOC_NUMBER};
    columns[1] = (struct doc_column){"seconds", DOC_NUMBER};
    memcpy(columns + 2, of, n * sizeof *of);
    doc_table(doc, "Evaluations", NULL, columns, n + 2);
    doc->table.heading = DOC_SECTION;
    for (size_t i = 0; i < o->trace.n; i++) trace_row(o, i, doc);
    doc_table_end(doc);
    mem_free(of);
    mem_free(columns);
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

static void section_function(struct optimize *o, struct doc *doc) {
    buf_puts(&doc->words, o->memo->function);
    for (size_t i = 0; i < o->goals.bounds.n; i++)
        buf_printf(&doc->words, "%s%s", i ? ", " : " with ", o->goals.bounds.at[i]);
    doc_put(doc, DOC_SOFT);
}

void optimize_report(struct optimize *o, enum doc_form form, struct buf *out) {
    static void (*const sections[])(struct optimize *, struct doc *) = {
        section_words,  section_function,    section_model, section_front,    section_trace,
        section_slices, section_sensitivity, section_next,  section_failures, section_evaluations};
    size_t n = form == DOC_TEXT ? 1 : COUNT_OF(sections); /* on a terminal words alone */
    struct buf name = BUF_INIT;
    struct doc doc;
    title(o, &name);
    doc_begin(&doc, form, "gpmem optimize", name.data, out);
    for (size_t i = 0; i < n; i++) sections[i](o, &doc);
    doc_end(&doc);
    buf_release(&name);
}
