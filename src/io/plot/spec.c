/* SPDX-License-Identifier: Apache-2.0
 *
 * See spec.h.
 */
#include "io/plot/spec.h"
#include "base/ascii.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

#define GROUPS_MAX 7 /* as many as there are colours that can be told apart */

struct stream {
    const double *at; /* per row */
    const char *name;
    bool log;
};

struct spec_parser {
    const char *at;
    struct plot_scene *scene; /* owns the streams that are made up here */
    const struct plot_table *t;
    size_t next;          /* data column after the last one used */
    const char *geometry; /* letters at the start of the specification */
    size_t n_geometry;
    struct stream streams[3];
    size_t n;
    struct buf *err;
};

/* Adds a stream; one that the table does not have is the row's number, or zeros. */
static void add_stream(struct spec_parser *p, const double *have, const char *name, bool count) {
    if (!have) {
        double *x = ARENA_ARRAY(&p->scene->arena, double, p->t->rows);
        for (size_t i = 0; count && i < p->t->rows; i++) x[i] = (double)i;
        have = x;
    }
    p->streams[p->n++] = (struct stream){have, name, false};
}

static bool has(const struct spec_parser *p, char geometry) {
    return memchr(p->geometry, geometry, p->n_geometry);
}

static enum gpm_status add_column(struct spec_parser *p, size_t column) {
    if (column >= p->t->columns)
        return buf_fail(p->err, GPM_E_FORMAT,
                        "the data set has %zu columns of data, numbered from 0", p->t->columns);
    add_stream(p, p->t->data[column], p->t->names[column], false);
    p->next = column + 1;
    return GPM_OK;
}

/* stream = digits | "%" | "c" | "t" | "r" ; scale = "d" | "l" */
static enum gpm_status parse_stream(struct spec_parser *p) {
    enum gpm_status st = GPM_OK;
    size_t column = 0;
    switch (*p->at) {
    case '%': st = add_column(p, p->next); break;
    case 'c': add_stream(p, p->t->iteration, "iteration", true); break;
    case 't': add_stream(p, p->t->time, "time (s)", false); break;
    case 'r': add_stream(p, p->t->particle, "particle", false); break;
    default:
        if (!ascii_digit(*p->at))
            return buf_fail(p->err, GPM_E_FORMAT, "'%s' is no stream of a plot", p->at);
        for (; ascii_digit(*p->at); p->at++)
            if (column < 1000000) column = column * 10 + (size_t)(*p->at - '0');
        st = add_column(p, column);
        p->at--;
    }
    if (st != GPM_OK) return st;
    p->at++;
    if (*p->at == 'd' || *p->at == 'l') p->streams[p->n - 1].log = *p->at++ == 'l';
    return GPM_OK;
}

static enum gpm_status parse(struct spec_parser *p) {
    enum gpm_status st = GPM_OK;
    p->geometry = p->at;
    p->at += p->n_geometry = strspn(p->at, "plbahw");
    while (*p->at && st == GPM_OK) {
        if (ascii_space(*p->at))
            p->at++;
        else if (p->n == 3)
            return buf_fail(p->err, GPM_E_FORMAT, "a plot has at most three streams");
        else
            st = parse_stream(p);
    }
    if (st == GPM_OK && p->n == 0) {
        bool xy = p->t->columns > 1 && !p->t->iteration;
        st = add_column(p, 0);
        if (st == GPM_OK && xy) st = add_column(p, 1);
    }
    if (st == GPM_OK && p->n == 1 && !has(p, 'h')) {
        add_stream(p, p->t->iteration, "iteration", true);
        struct stream y = p->streams[0];
        p->streams[0] = p->streams[1];
        p->streams[1] = y;
    }
    return st;
}

/* ---- drawing ---- */

static double bar_width(const double *x, size_t n) {
    double least = INFINITY;
    for (size_t i = 1; i < n; i++) {
        double d = fabs(x[i] - x[i - 1]);
        if (d > 0 && d < least) least = d;
    }
    return isfinite(least) ? least * 0.9 : 1;
}

static void draw(const struct spec_parser *p, struct plot_panel *panel, const char *label, size_t n,
                 const double *x, const double *y) {
    struct plot_style style = PLOT_COLOUR(panel->next_colour++ % PLOT_COLOURS);
    bool others = has(p, 'l') || has(p, 'b') || has(p, 'a') || has(p, 'h');
    if (has(p, 'h')) plot_histogram(panel, label, n, x, 0, style);
    if (p->n < 2) return;
    if (has(p, 'a'))
        plot_band(panel, label, n, x, ARENA_ARRAY(&p->scene->arena, double, n), y, style);
    if (has(p, 'b')) plot_bars(panel, label, n, x, bar_width(x, n), y, style);
    if (has(p, 'l')) plot_xy(panel, PLOT_LINE, label, n, x, y, style);
    if (has(p, 'p') || !others)
        plot_xy(panel, PLOT_POINTS, has(p, 'l') ? NULL : label, n, x, y, style);
}

/* Rows whose third stream is `value`, drawn as one series. */
static void draw_group(const struct spec_parser *p, struct plot_panel *panel, double value) {
    size_t rows = p->t->rows, n = 0;
    double *x = ARENA_ARRAY(&p->scene->arena, double, 2 * rows), *y = x + rows;
    char label[100];
    for (size_t i = 0; i < rows; i++) {
        if (p->streams[2].at[i] != value) continue;
        x[n] = p->streams[0].at[i];
        y[n++] = p->streams[1].at[i];
    }
    number_snprintf(label, sizeof label, "%.60s %g", p->streams[2].name, value);
    draw(p, panel, label, n, x, y);
}

/* The different values of the third stream in order of appearance; 0: too many for colours. */
static size_t find_groups(const struct spec_parser *p, double *groups) {
    size_t n = 0;
    for (size_t i = 0; i < p->t->rows; i++) {
        double v = p->streams[2].at[i];
        size_t k = 0;
        while (k < n && groups[k] != v) k++;
        if (k < n || isnan(v)) continue;
        if (n == GROUPS_MAX) return 0;
        groups[n++] = v;
    }
    return n;
}

static void draw_all(const struct spec_parser *p, struct plot_panel *panel) {
    double groups[GROUPS_MAX];
    size_t n = p->n == 3 ? find_groups(p, groups) : 0;
    for (size_t i = 0; i < n; i++) draw_group(p, panel, groups[i]);
    if (n == 0) draw(p, panel, NULL, p->t->rows, p->streams[0].at, p->streams[1].at);
}

enum gpm_status plot_spec_panel(struct plot_scene *s, const char *spec, const struct plot_table *t,
                                struct buf *err) {
    struct spec_parser p = {.at = spec, .scene = s, .t = t, .err = err};
    enum gpm_status st = parse(&p);
    if (st != GPM_OK) return st;
    struct plot_panel *panel = plot_panel_add(s, NULL);
    plot_axis_labels(panel, p.streams[0].name, p.n > 1 ? p.streams[1].name : "density");
    panel->x.log = p.streams[0].log;
    panel->y.log = p.n > 1 && p.streams[1].log;
    draw_all(&p, panel);
    return st;
}
