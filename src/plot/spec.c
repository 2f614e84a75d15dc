/* SPDX-License-Identifier: Apache-2.0
 *
 * See spec.h.
 */
#include "plot/spec.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_MAX 7 /* as many as there are colours that can be told apart */

struct stream {
    const double *at; /* per row */
    const char *name;
    bool log;
};

struct parser {
    const char *at;
    const struct plot_table *t;
    size_t next; /* data column after the last one used */
    bool points, lines, bars, area, histogram;
    struct stream streams[3];
    size_t n;
    double *numbers[3]; /* streams made up here; owned */
    size_t n_numbers;
    char *err;
    size_t err_size;
};

static enum gpm_status fail(struct parser *p, const char *fmt, const char *what, size_t n) {
    snprintf(p->err, p->err_size, fmt, what, n);
    return GPM_E_FORMAT;
}

/* A stream that the table does not have: the row's number, or zeros. */
static const double *make_numbers(struct parser *p, bool count) {
    double *x = NEW_ARRAY(double, p->t->rows ? p->t->rows : 1);
    for (size_t i = 0; i < p->t->rows; i++) x[i] = count ? (double)i : 0;
    return p->numbers[p->n_numbers++] = x;
}

static struct stream iteration_stream(struct parser *p) {
    const double *have = p->t->iteration;
    return (struct stream){have ? have : make_numbers(p, true), "iteration", false};
}

/* geometry = { "p" | "l" | "b" | "a" | "h" | "w" } */
static void parse_geometry(struct parser *p) {
    for (; *p->at && strchr("plbahw", *p->at); p->at++) {
        p->points |= *p->at == 'p';
        p->lines |= *p->at == 'l';
        p->bars |= *p->at == 'b';
        p->area |= *p->at == 'a';
        p->histogram |= *p->at == 'h';
    }
}

static enum gpm_status data_stream(struct parser *p, size_t column, struct stream *s) {
    if (column >= p->t->columns) {
        return fail(p, "%sthe data set has %zu columns of data, numbered from 0", "",
                    p->t->columns);
    }
    *s = (struct stream){p->t->data[column], p->t->names[column], false};
    p->next = column + 1;
    return GPM_OK;
}

/* stream = digits | "%" | "c" | "t" | "r" ; scale = "d" | "l" */
static enum gpm_status parse_stream(struct parser *p) {
    struct stream s = {0};
    enum gpm_status st = GPM_OK;
    if (ascii_digit(*p->at)) {
        size_t column = 0;
        for (; ascii_digit(*p->at); p->at++) {
            if (column < 1000000) column = column * 10 + (size_t)(*p->at - '0');
        }
        st = data_stream(p, column, &s);
    } else {
        char c = *p->at++;
        switch (c) {
        case '%': st = data_stream(p, p->next, &s); break;
        case 'c': s = iteration_stream(p); break;
        case 't': s = (struct stream){p->t->time, "time (s)", false}; break;
        case 'r': s = (struct stream){p->t->particle, "particle", false}; break;
        default: p->at--; return fail(p, "'%s' is no stream of a plot", p->at, 0);
        }
        if (st == GPM_OK && !s.at) s.at = make_numbers(p, false);
    }
    if (st != GPM_OK) return st;
    if (*p->at == 'd' || *p->at == 'l') s.log = *p->at++ == 'l';
    p->streams[p->n++] = s;
    return GPM_OK;
}

static enum gpm_status parse(struct parser *p) {
    parse_geometry(p);
    while (*p->at) {
        if (ascii_space(*p->at)) {
            p->at++;
            continue;
        }
        if (p->n == 3) return fail(p, "a plot has at most three streams%s", "", 0);
        enum gpm_status st = parse_stream(p);
        if (st != GPM_OK) return st;
    }
    if (p->n == 0) {
        bool xy = p->t->columns > 1 && !p->t->iteration;
        enum gpm_status st = data_stream(p, 0, &p->streams[p->n++]);
        if (st == GPM_OK && xy) st = data_stream(p, 1, &p->streams[p->n++]);
        if (st != GPM_OK) return st;
    }
    if (!(p->points || p->lines || p->bars || p->area || p->histogram)) p->points = true;
    if (p->n == 1 && !p->histogram) {
        p->streams[1] = p->streams[0];
        p->streams[0] = iteration_stream(p);
        p->n = 2;
    }
    return GPM_OK;
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

static void draw(const struct parser *p, struct plot_panel *panel, const char *label, size_t n,
                 const double *x, const double *y) {
    int colour = panel->next_colour++ % PLOT_COLOURS;
    struct plot_style style = PLOT_COLOUR(colour);
    if (p->histogram) plot_histogram(panel, label, n, x, 0, style);
    if (p->n < 2) return;
    if (p->area) {
        double *zero = NEW_ARRAY(double, n ? n : 1);
        memset(zero, 0, n * sizeof *zero);
        plot_band(panel, label, n, x, zero, y, style);
        mem_free(zero);
    }
    if (p->bars) plot_bars(panel, label, n, x, bar_width(x, n), y, style);
    if (p->lines) plot_line(panel, label, n, x, y, style);
    if (p->points) plot_points(panel, p->lines ? NULL : label, n, x, y, style);
}

/* Rows whose third stream is `value`, drawn as one series. */
static void draw_group(const struct parser *p, struct plot_panel *panel, double value) {
    size_t rows = p->t->rows, n = 0;
    double *x = NEW_ARRAY(double, rows), *y = NEW_ARRAY(double, rows);
    char label[100];
    for (size_t i = 0; i < rows; i++) {
        if (p->streams[2].at[i] != value) continue;
        x[n] = p->streams[0].at[i];
        y[n++] = p->streams[1].at[i];
    }
    number_snprintf(label, sizeof label, "%.60s %g", p->streams[2].name, value);
    draw(p, panel, label, n, x, y);
    mem_free(x);
    mem_free(y);
}

/* The different values of the third stream in order of appearance; 0: too many for colours. */
static size_t find_groups(const struct parser *p, double *groups) {
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

static void draw_all(const struct parser *p, struct plot_panel *panel) {
    double groups[GROUPS_MAX];
    size_t n = p->n == 3 && p->t->rows ? find_groups(p, groups) : 0;
    for (size_t i = 0; i < n; i++) draw_group(p, panel, groups[i]);
    if (n == 0) {
        draw(p, panel, NULL, p->t->rows, p->streams[0].at, p->n > 1 ? p->streams[1].at : NULL);
    }
}

enum gpm_status plot_spec_panel(struct plot_scene *s, const char *spec, const struct plot_table *t,
                                char *err, size_t err_size) {
    struct parser p = {.at = spec, .t = t, .err = err, .err_size = err_size};
    enum gpm_status st = parse(&p);
    if (st == GPM_OK) {
        struct plot_panel *panel = plot_panel_add(s, NULL);
        plot_axis_labels(panel, p.streams[0].name, p.n > 1 ? p.streams[1].name : "density");
        plot_axis_log(panel, p.streams[0].log, p.n > 1 && p.streams[1].log);
        draw_all(&p, panel);
    }
    for (size_t i = 0; i < p.n_numbers; i++) mem_free(p.numbers[i]);
    return st;
}
