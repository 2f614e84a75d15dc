/* SPDX-License-Identifier: Apache-2.0
 *
 * Building scenes, and the limits of their axes.
 */
#include "io/plot/scene.h"
#include "base/number.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *copy_text(struct plot_scene *s, const char *text) {
    return text ? arena_strndup(&s->arena, text, strlen(text)) : NULL;
}

static double *copy_numbers(struct plot_scene *s, const double *x, size_t n) {
    double *to = x ? ARENA_ARRAY(&s->arena, double, n + 1) : NULL;
    if (x) memcpy(to, x, n * sizeof *x);
    return to;
}

struct plot_scene *plot_scene_new(const char *title, const char *description, size_t columns) {
    struct plot_scene *s = NEW(struct plot_scene);
    s->title = copy_text(s, title);
    s->description = copy_text(s, description);
    s->columns = columns ? columns : 1;
    return s;
}

void plot_scene_free(struct plot_scene *s) {
    if (!s) return;
    for (size_t i = 0; i < s->panels.n; i++) {
        vec_release(&s->panels.at[i]->items);
        mem_free(s->panels.at[i]);
    }
    vec_release(&s->panels);
    arena_release(&s->arena);
    mem_free(s);
}

struct plot_panel *plot_panel_add(struct plot_scene *s, const char *title) {
    struct plot_panel *p = NEW(struct plot_panel);
    p->scene = s;
    p->title = copy_text(s, title);
    p->x.lo = p->x.hi = p->y.lo = p->y.hi = NAN;
    vec_push(&s->panels, p);
    return p;
}

void plot_axis_labels(struct plot_panel *p, const char *x, const char *y) {
    p->x.label = copy_text(p->scene, x);
    p->y.label = copy_text(p->scene, y);
}

void plot_add(struct plot_panel *p, struct plot_item it) {
    struct plot_scene *s = p->scene;
    it.label = copy_text(s, it.label);
    it.x = copy_numbers(s, it.x, it.n);
    it.y = copy_numbers(s, it.y, it.n);
    it.y2 = copy_numbers(s, it.y2, it.n);
    const char **names = ARENA_ARRAY(&s->arena, const char *, it.n + 1);
    for (size_t i = 0; it.names && i < it.n; i++) names[i] = copy_text(s, it.names[i]);
    it.names = names;
    if (it.style.colour < 0 || it.style.colour >= PLOT_COLOURS) {
        it.style.colour = p->next_colour;
        p->next_colour = (p->next_colour + 1) % PLOT_COLOURS;
    }
    vec_push(&p->items, it);
}

void plot_xy(struct plot_panel *p, enum plot_kind kind, const char *label, size_t n,
             const double *x, const double *y, struct plot_style style) {
    plot_add(p, (struct plot_item){kind, style, label, n, x, y, NULL, NULL});
}

void plot_rule(struct plot_panel *p, enum plot_kind kind, const char *label, double at,
               struct plot_style style) {
    plot_xy(p, kind, label, 1, &at, &at, style);
}

void plot_band(struct plot_panel *p, const char *label, size_t n, const double *x, const double *lo,
               const double *hi, struct plot_style style) {
    plot_add(p, (struct plot_item){PLOT_BAND, style, label, n, x, lo, hi, NULL});
}

void plot_bars(struct plot_panel *p, const char *label, size_t n, const double *x, double width,
               const double *height, struct plot_style style) {
    double *left = copy_numbers(p->scene, x, n), *right = copy_numbers(p->scene, x, n);
    for (size_t i = 0; i < n; i++) {
        left[i] -= width / 2;
        right[i] += width / 2;
    }
    plot_add(p, (struct plot_item){PLOT_BARS, style, label, n, left, height, right, NULL});
}

/* Freedman and Diaconis (1981): width 2 IQR n^(-1/3); Sturges' rule when the IQR is 0. */
static size_t count_bins(const double *sorted, size_t n) {
    double iqr = sorted[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1] - sorted[n / 4];
    double range = sorted[n - 1] - sorted[0];
    double bins =
        iqr > 0 ? ceil(range / (2 * iqr * pow((double)n, -1.0 / 3))) : ceil(log2((double)n) + 1);
    return (size_t)fmin(fmax(bins, 1), 200);
}

/* Few different values a step apart (counts, shares of a count): the step, so that each gets a bar
 * of its own; 0: not such a sample. */
static double discrete_step(const double *sorted, size_t n) {
    double step = INFINITY, range = sorted[n - 1] - sorted[0];
    size_t different = 1;
    for (size_t i = 1; i < n; i++) {
        double gap = sorted[i] - sorted[i - 1];
        if (gap <= 1e-9 * range) continue;
        step = fmin(step, gap);
        different++;
    }
    if (different < 2 || different > 40 || 4 * different > n || range / step > 100) return 0;
    for (size_t i = 1; i < n; i++) {
        double k = (sorted[i] - sorted[0]) / step;
        if (fabs(k - round(k)) > 1e-6) return 0;
    }
    return step;
}

/* Where the bars begin, how wide and how many they are. */
struct bins {
    double lo, width;
    size_t n;
};

static struct bins choose_bins(const double *sorted, size_t n, size_t wanted) {
    double lo = sorted[0], range = sorted[n - 1] - lo;
    double step = wanted ? 0 : discrete_step(sorted, n);
    if (!(range > 0)) return (struct bins){lo - 0.5, 1, 1}; /* one bar around a single value */
    if (step > 0) return (struct bins){lo - step / 2, step, (size_t)lround(range / step) + 1};
    size_t k = wanted ? wanted : count_bins(sorted, n);
    return (struct bins){lo, range / (double)k, k};
}

/* The finite numbers of a sample, sorted; *m of them. */
static double *sorted_sample(struct plot_scene *s, const double *sample, size_t n, size_t *m) {
    double *v = copy_numbers(s, sample, n);
    *m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) v[(*m)++] = v[i];
    qsort(v, *m, sizeof *v, number_compare);
    return v;
}

void plot_histogram(struct plot_panel *p, const char *label, size_t n, const double *sample,
                    size_t bins, struct plot_style style) {
    struct plot_scene *s = p->scene;
    size_t m;
    double *v = sorted_sample(s, sample, n, &m);
    struct bins b = m ? choose_bins(v, m, bins) : (struct bins){0};
    double *left = ARENA_ARRAY(&s->arena, double, 3 * b.n + 1), *right = left + b.n,
           *height = right + b.n;
    for (size_t i = 0; i < b.n; i++) {
        left[i] = b.lo + b.width * (double)i;
        right[i] = b.lo + b.width * (double)(i + 1);
    }
    for (size_t i = 0; i < m; i++) {
        size_t k = (size_t)((v[i] - b.lo) / b.width);
        height[k < b.n ? k : b.n - 1] += 1 / ((double)m * b.width);
    }
    plot_add(p, (struct plot_item){PLOT_BARS, style, label, b.n, left, height, right, NULL});
}

void plot_density(struct plot_panel *p, const char *label, size_t n, const double *sample,
                  struct plot_style style) {
    enum { POINTS = 96 };
    size_t m;
    double *v = sorted_sample(p->scene, sample, n, &m), x[POINTS], y[POINTS] = {0}, mean = 0,
           ss = 0;
    if (m < 2 || !(v[m - 1] > v[0])) return;
    for (size_t i = 0; i < m; i++) mean += v[i] / (double)m;
    for (size_t i = 0; i < m; i++) ss += (v[i] - mean) * (v[i] - mean);
    double sd = sqrt(ss / ((double)m - 1)), iqr = (v[(3 * m) / 4] - v[m / 4]) / 1.34;
    double h = 0.9 * (iqr > 0 ? fmin(sd, iqr) : sd) * pow((double)m, -0.2);
    double lo = v[0] - 3 * h, hi = v[m - 1] + 3 * h;
    for (size_t k = 0; k < POINTS; k++) {
        x[k] = lo + (hi - lo) * (double)k / (POINTS - 1);
        for (size_t i = 0; i < m; i++) {
            double u = (x[k] - v[i]) / h;
            y[k] += exp(-u * u / 2) / (h * sqrt(2 * M_PI) * (double)m);
        }
    }
    plot_xy(p, PLOT_LINE, label, POINTS, x, y, style);
}

void plot_ecdf(struct plot_panel *p, const char *label, size_t n, const double *sample,
               struct plot_style style) {
    size_t m;
    double *v = sorted_sample(p->scene, sample, n, &m);
    double *x = ARENA_ARRAY(&p->scene->arena, double, 4 * m + 1), *y = x + 2 * m;
    for (size_t i = 0; i < m; i++) {
        x[2 * i] = x[2 * i + 1] = v[i];
        y[2 * i] = (double)i / (double)m;
        y[2 * i + 1] = (double)(i + 1) / (double)m;
    }
    if (m) plot_xy(p, PLOT_LINE, label, 2 * m, x, y, style);
}

bool plot_item_listed(const struct plot_item *it) {
    return it->label && *it->label && it->kind != PLOT_NOTE;
}

size_t plot_text_length(const char *text) {
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

const struct plot_item *plot_panel_names(const struct plot_panel *p) {
    for (size_t i = 0; i < p->items.n; i++) {
        if (p->items.at[i].kind == PLOT_NAMED) return &p->items.at[i];
    }
    return NULL;
}

static void widen(struct plot_axis *a, double v) {
    if (!(fabs(v) < 1e300) || (a->log && v <= 0)) return; /* differences must stay finite */
    a->lo = fmin(a->lo, v);
    a->hi = fmax(a->hi, v);
}

static void widen_all(struct plot_axis *a, const double *v, size_t n) {
    for (size_t i = 0; v && i < n; i++) widen(a, v[i]);
}

static void widen_by_item(struct plot_axes *a, const struct plot_item *it) {
    switch (it->kind) {
    case PLOT_BARS:
        widen_all(&a->x, it->x, it->n);
        widen_all(&a->x, it->y2, it->n);
        widen_all(&a->y, it->y, it->n);
        widen(&a->y, 0);
        break;
    case PLOT_NAMED:
        widen(&a->x, 0);
        widen_all(&a->x, it->y, it->n);
        for (size_t i = 0; it->y2 && i < it->n; i++) widen(&a->x, it->y[i] + it->y2[i]);
        widen(&a->y, -0.5);
        widen(&a->y, (double)it->n - 0.5);
        break;
    case PLOT_RULE_X: widen(&a->x, it->x[0]); break;
    case PLOT_RULE_Y: widen(&a->y, it->y[0]); break;
    default:
        widen_all(&a->x, it->x, it->n);
        widen_all(&a->y, it->y, it->n);
        widen_all(&a->y, it->y2, it->n);
        break;
    }
}

/* Makes the limits a usable interval with a margin (a share of its length), and puts the user's own
 * in place. */
static void finish_limits(struct plot_axis *a, const struct plot_axis *own, double margin,
                          bool from_zero) {
    if (!(a->lo <= a->hi)) {
        a->lo = a->log ? 1 : 0;
        a->hi = a->log ? 10 : 1;
        margin = 0;
    }
    if (a->log) {
        double f = a->hi > a->lo ? pow(a->hi / a->lo, margin) : 2;
        a->lo /= f;
        a->hi *= f;
    } else {
        double m = a->hi > a->lo ? (a->hi - a->lo) * margin : fmax(fabs(a->lo) * 0.1, 0.5);
        if (!(from_zero && a->lo == 0)) a->lo -= m;
        if (!(from_zero && a->hi == 0)) a->hi += m;
    }
    if (isfinite(own->lo) && !(a->log && own->lo <= 0)) a->lo = own->lo;
    if (isfinite(own->hi) && !(a->log && own->hi <= 0)) a->hi = own->hi;
    double lo = a->lo;
    a->lo = fmin(lo, a->hi);
    a->hi = fmax(lo, a->hi);
    if (!(a->hi > a->lo)) a->hi = a->log ? a->lo * 10 : a->lo + 1;
}

struct plot_axes plot_panel_axes(const struct plot_panel *p) {
    struct plot_axes a = {p->x, p->y};
    bool bars = false, named = plot_panel_names(p) != NULL;
    a.x.lo = a.y.lo = INFINITY;
    a.x.hi = a.y.hi = -INFINITY;
    for (size_t i = 0; i < p->items.n; i++) {
        widen_by_item(&a, &p->items.at[i]);
        bars |= p->items.at[i].kind == PLOT_BARS;
    }
    finish_limits(&a.x, &p->x, named ? 0.04 : 0.02, named);
    finish_limits(&a.y, &p->y, named ? 0 : 0.05, bars);
    return a;
}

double plot_axis_share(const struct plot_axis *a, double v) {
    if (!isfinite(v) || (a->log && v <= 0)) return NAN;
    return a->log ? (log(v) - log(a->lo)) / (log(a->hi) - log(a->lo))
                  : (v - a->lo) / (a->hi - a->lo);
}
