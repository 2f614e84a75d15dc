/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture as data: panels in a grid, each with two axes and a list of items (lines, points,
 * bands, bars, rules, notes). Two renderers read it: plot_svg (svg.c) and plot_terminal
 * (terminal.c). The scene copies what it is given; numbers that are not finite make gaps.
 *
 *     struct plot_scene *s = plot_scene_new("Airline passengers", NULL, 1);
 *     struct plot_panel *p = plot_panel_add(s, "Forecast");
 *     plot_axis_labels(p, "year", "passengers");
 *     plot_band(p, "95% band", n, x, lo, hi, PLOT_COLOUR(0));
 *     plot_xy(p, PLOT_LINE, "mean", n, x, mean, PLOT_COLOUR(0));
 *     plot_xy(p, PLOT_POINTS, "data", n, x, y, PLOT_COLOUR(PLOT_BLACK));
 *     struct buf out = BUF_INIT;
 *     plot_svg(s, &(struct plot_svg_options){0}, &out);
 *     plot_scene_free(s);
 */
#ifndef PLOT_SCENE_H
#define PLOT_SCENE_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stddef.h>

enum plot_kind {
    PLOT_LINE,   /* x, y */
    PLOT_POINTS, /* x, y */
    PLOT_BAND,   /* x, y (low), y2 (high) */
    PLOT_BARS,   /* x (left edge), y2 (right edge), y (height) */
    PLOT_NAMED,  /* horizontal bars: names, y (length), y2 (standard error or NULL) */
    PLOT_RULE_X, /* vertical rule at x[0] */
    PLOT_RULE_Y, /* horizontal rule at y[0] */
    PLOT_NOTE    /* text (label) at x[0], y[0] */
};

/* Colours are places in a palette that colour-blind people can tell apart (Okabe and Ito 2008). */
enum plot_colour {
    PLOT_NEXT = -1, /* the panel's next colour */
    PLOT_BLUE = 0,
    PLOT_VERMILION,
    PLOT_GREEN,
    PLOT_PURPLE,
    PLOT_ORANGE,
    PLOT_SKY,
    PLOT_BLACK,
    PLOT_GREY,
    PLOT_COLOURS
};

struct plot_style {
    int colour;     /* enum plot_colour */
    double width;   /* line width or point radius in pixels; 0: the default of the kind */
    double opacity; /* 0: the default of the kind */
    bool dashed;    /* lines: dashed; points: open circles */
};
#define PLOT_AUTO      ((struct plot_style){.colour = PLOT_NEXT})
#define PLOT_COLOUR(c) ((struct plot_style){.colour = (c)})

struct plot_item {
    enum plot_kind kind;
    struct plot_style style;
    const char *label; /* in the legend; NULL: not there */
    size_t n;
    const double *x, *y, *y2;
    const char *const *names;
};

enum plot_time {
    PLOT_TIME_NONE,
    PLOT_TIME_YEARS, /* numbers are years: 1949.5 is July 1949 */
    PLOT_TIME_DAYS   /* days since 1970-01-01 */
};

struct plot_axis {
    const char *label; /* or NULL */
    double lo, hi;     /* NaN: from the data */
    bool log;
    bool whole; /* ticks at whole numbers only */
    enum plot_time time;
};

struct plot_panel {
    struct plot_scene *scene;
    const char *title;
    struct plot_axis x, y;
    VEC(struct plot_item) items;
    int next_colour;
};

struct plot_scene {
    struct arena arena;
    const char *title, *description; /* description: for readers without the picture */
    size_t columns;                  /* of the grid of panels */
    VEC(struct plot_panel *) panels; /* owned */
};

struct plot_scene *plot_scene_new(const char *title, const char *description, size_t columns);
void plot_scene_free(struct plot_scene *s);
struct plot_panel *plot_panel_add(struct plot_scene *s, const char *title);
void plot_axis_labels(struct plot_panel *p, const char *x, const char *y);

/* Any item; what it points at is copied. Named bars stand alone in their panel, first on top. */
void plot_add(struct plot_panel *p, struct plot_item it);
/* Lines, points and notes; n is 1 for a note. */
void plot_xy(struct plot_panel *p, enum plot_kind kind, const char *label, size_t n,
             const double *x, const double *y, struct plot_style style);
void plot_rule(struct plot_panel *p, enum plot_kind kind, const char *label, double at,
               struct plot_style style);
void plot_band(struct plot_panel *p, const char *label, size_t n, const double *x, const double *lo,
               const double *hi, struct plot_style style);
/* Bars of the given width around x, from 0 to height. */
void plot_bars(struct plot_panel *p, const char *label, size_t n, const double *x, double width,
               const double *height, struct plot_style style);
/* Density histogram; bins 0: Freedman-Diaconis. */
void plot_histogram(struct plot_panel *p, const char *label, size_t n, const double *sample,
                    size_t bins, struct plot_style style);
/* A line: the density of a sample by a normal kernel (Silverman's width), or the share of it that
 * is at most x. */
void plot_density(struct plot_panel *p, const char *label, size_t n, const double *sample,
                  struct plot_style style);
void plot_ecdf(struct plot_panel *p, const char *label, size_t n, const double *sample,
               struct plot_style style);

/* The axes with the limits that both renderers use: the panel's own, else the data's with a margin;
 * never empty. */
struct plot_axes {
    struct plot_axis x, y;
};
struct plot_axes plot_panel_axes(const struct plot_panel *p);
/* Share of the way from lo to hi, on the axis' scale; NaN when v cannot be shown. */
double plot_axis_share(const struct plot_axis *a, double v);
/* Is it in the legend? */
bool plot_item_listed(const struct plot_item *it);
/* Characters (code points) of a text. */
size_t plot_text_length(const char *text);
/* The named-bars item of a panel, or NULL. */
const struct plot_item *plot_panel_names(const struct plot_panel *p);

struct plot_svg_options {
    double panel_width, panel_height; /* 0: 640 x 320, smaller in a grid of several columns */
    const char *id; /* prefix of ids, for several pictures in one page; NULL: "plot" */
    bool embedded;  /* part of an HTML page: no XML header */
};
/* Appends the picture as SVG 1.1; all text is escaped. */
void plot_svg(const struct plot_scene *s, const struct plot_svg_options *o, struct buf *out);

struct plot_terminal_options {
    unsigned columns; /* width of the terminal; 0: 80 */
    unsigned rows;    /* lines per panel; 0: 18 */
    bool colour;      /* ANSI colours */
};
/* Appends the picture as text: braille dots in a frame of box-drawing characters (UTF-8). */
void plot_terminal(const struct plot_scene *s, const struct plot_terminal_options *o,
                   struct buf *out);
#endif
