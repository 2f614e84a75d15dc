/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenes as text: a character cell holds 2 x 4 braille dots, the frame is box-drawing characters.
 * Panels stand below one another whatever the scene's grid. A cell takes the colour of what was
 * drawn into it last.
 */
#include "io/plot/scene.h"
#include "io/plot/ticks.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

#define COLUMNS_MAX 400

/* ANSI colours near the palette's. */
static const unsigned char ansi[PLOT_COLOURS] = {34, 31, 32, 35, 33, 36, 39, 90};

struct canvas {
    unsigned w, h;       /* in cells */
    unsigned char *dots; /* braille bits per cell */
    signed char *colour; /* palette place per cell that has dots */
    struct plot_axes a;
};

/* The bit of each dot of a braille character, by row and column. */
static const unsigned char dot_bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

/* Dot (x, y) from the top left; dots outside are dropped. A colour below 0 takes the dot away. */
static void put_dot(struct canvas *c, long x, long y, int colour) {
    if (x < 0 || y < 0 || x >= 2 * (long)c->w || y >= 4 * (long)c->h) return;
    size_t cell = (size_t)(y / 4) * c->w + (size_t)(x / 2);
    if (colour < 0) {
        c->dots[cell] &= (unsigned char)~dot_bit[y % 4][x % 2];
        return;
    }
    c->dots[cell] |= dot_bit[y % 4][x % 2];
    c->colour[cell] = (signed char)colour;
}

/* Data coordinates to dots, as real numbers; NaN when they cannot be shown. */
static double dot_x(const struct canvas *c, double v) {
    return plot_axis_share(&c->a.x, v) * (2.0 * c->w - 1);
}
static double dot_y(const struct canvas *c, double v) {
    return (1 - plot_axis_share(&c->a.y, v)) * (4.0 * c->h - 1);
}

/* Keeps the part of segment a-b inside the canvas (Liang and Barsky 1984); false: none is. */
static bool clip_segment(const struct canvas *c, double *ax, double *ay, double *bx, double *by) {
    double dx = *bx - *ax, dy = *by - *ay, t0 = 0, t1 = 1;
    double p[4] = {-dx, dx, -dy, dy};
    double q[4] = {*ax + 0.5, 2.0 * c->w - 0.5 - *ax, *ay + 0.5, 4.0 * c->h - 0.5 - *ay};
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0) {
            if (q[i] < 0) return false;
            continue;
        }
        double t = q[i] / p[i];
        if (p[i] < 0) t0 = fmax(t0, t);
        if (p[i] > 0) t1 = fmin(t1, t);
    }
    if (!(t0 <= t1)) return false;
    double sx = *ax, sy = *ay;
    *ax = sx + t0 * dx;
    *ay = sy + t0 * dy;
    *bx = sx + t1 * dx;
    *by = sy + t1 * dy;
    return true;
}

static void draw_segment(struct canvas *c, double ax, double ay, double bx, double by, int colour,
                         unsigned skip) {
    if (!isfinite(ax + ay + bx + by) || !clip_segment(c, &ax, &ay, &bx, &by)) return;
    long steps = lround(fmax(fabs(bx - ax), fabs(by - ay)));
    for (long i = 0; i <= steps; i++) {
        double t = steps ? (double)i / (double)steps : 0;
        long x = lround(ax + t * (bx - ax)), y = lround(ay + t * (by - ay));
        if (skip && (unsigned long)(x + y) % (skip + 1)) continue;
        put_dot(c, x, y, colour);
    }
}

static void draw_polyline(struct canvas *c, const struct plot_item *it, const double *ys,
                          unsigned skip) {
    bool alone = it->n == 1; /* is a dot, whatever the pattern */
    for (size_t i = 0; i < it->n - !alone && it->n; i++) {
        size_t next = alone ? i : i + 1;
        draw_segment(c, dot_x(c, it->x[i]), dot_y(c, ys[i]), dot_x(c, it->x[next]),
                     dot_y(c, ys[next]), it->style.colour, alone ? 0 : skip);
    }
}

/* A point is a plus of five dots, a single dot when there are many. */
static void draw_points(struct canvas *c, const struct plot_item *it) {
    for (size_t i = 0; i < it->n; i++) {
        double x = dot_x(c, it->x[i]), y = dot_y(c, it->y[i]);
        if (!(fabs(x) < 1e6) || !(fabs(y) < 1e6)) continue;
        long px = lround(x), py = lround(y), arm = it->n > 60 ? 0 : 1;
        for (long d = -arm; d <= arm; d++) {
            put_dot(c, px + d, py, it->style.colour);
            put_dot(c, px, py + d, it->style.colour);
        }
    }
}

static void draw_bars(struct canvas *c, const struct plot_item *it) {
    double base = dot_y(c, c->a.y.log ? c->a.y.lo : 0);
    for (size_t i = 0; i < it->n; i++) {
        double a = fmax(dot_x(c, it->x[i]), 0), b = fmin(dot_x(c, it->y2[i]), 2.0 * c->w);
        double y = dot_y(c, it->y[i]);
        if (!isfinite(y)) continue;
        long last = lround(b) > lround(a) + 1 ? lround(b) - 1 : lround(a); /* a gap between bars */
        for (long x = lround(a); x <= last; x++) {
            draw_segment(c, (double)x, base, (double)x, y, it->style.colour, 0);
        }
    }
}

/* A band is its two edges and a sparse pattern between them. */
static void draw_band(struct canvas *c, const struct plot_item *it) {
    for (size_t i = 0; i + 1 < it->n; i++) {
        double a = dot_x(c, it->x[i]), b = dot_x(c, it->x[i + 1]);
        double lo0 = dot_y(c, it->y[i]), hi0 = dot_y(c, it->y2[i]);
        double lo1 = dot_y(c, it->y[i + 1]), hi1 = dot_y(c, it->y2[i + 1]);
        if (!isfinite(a + b + lo0 + hi0 + lo1 + hi1)) continue;
        double from = fmax(fmin(a, b), 0), to = fmin(fmax(a, b), 2.0 * c->w);
        for (long x = lround(from); x <= lround(to); x++) {
            double t = b != a ? ((double)x - a) / (b - a) : 0;
            double lo = fmin(lo0 + t * (lo1 - lo0), 4.0 * c->h),
                   hi = fmax(hi0 + t * (hi1 - hi0), 0);
            for (long y = lround(hi); (double)y <= lo; y++) {
                if (x % 4 == (y % 4 < 2 ? 0 : 2) && y % 2 == 0) put_dot(c, x, y, it->style.colour);
            }
        }
    }
    draw_polyline(c, it, it->y, 1);
    draw_polyline(c, it, it->y2, 1);
}

/* A gap of one dot on both sides keeps the rule visible inside bars and bands. */
static void draw_rule_x(struct canvas *c, double x, double bottom, int colour) {
    if (!(fabs(x) < 1e6)) return;
    for (long y = 0; y <= lround(bottom); y++)
        for (long d = -1; d <= 1; d++) put_dot(c, lround(x) + d, y, -1);
    draw_segment(c, x, 0, x, bottom, colour, 0);
}

static void draw_item(struct canvas *c, const struct plot_item *it) {
    double right = 2.0 * c->w, bottom = 4.0 * c->h;
    switch (it->kind) {
    case PLOT_LINE: draw_polyline(c, it, it->y, it->style.dashed ? 2 : 0); break;
    case PLOT_POINTS: draw_points(c, it); break;
    case PLOT_BAND: draw_band(c, it); break;
    case PLOT_BARS: draw_bars(c, it); break;
    case PLOT_RULE_X: draw_rule_x(c, dot_x(c, it->x[0]), bottom, it->style.colour); break;
    case PLOT_RULE_Y:
        draw_segment(c, 0, dot_y(c, it->y[0]), right, dot_y(c, it->y[0]), it->style.colour, 1);
        break;
    case PLOT_NAMED:
    case PLOT_NOTE: break;
    }
}

/* ---- text around the canvas ---- */

static void add_spaces(struct buf *out, size_t n) {
    buf_printf(out, "%*s", (int)n, "");
}

/* Goes over from one place of the palette to another; -1: none. */
static void set_colour(struct buf *out, bool colour, int from, int to) {
    if (colour && from >= 0) buf_puts(out, "\033[0m");
    if (colour && to >= 0) buf_printf(out, "\033[%dm", ansi[to]);
}

/* U+2800 and the dots' bits, or a blank. */
static void add_cell(struct buf *out, unsigned char dots) {
    const char braille[] = {(char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f))};
    buf_add(out, dots ? braille : " ", dots ? 3 : 1);
}

static void add_canvas_row(struct buf *out, const struct canvas *c, unsigned row, bool colour) {
    int now = -1;
    unsigned end = c->w; /* no blanks at the end of a line */
    while (end > 0 && !c->dots[(size_t)row * c->w + end - 1]) end--;
    for (unsigned i = 0; i < end; i++) {
        size_t cell = (size_t)row * c->w + i;
        int want = c->dots[cell] ? c->colour[cell] : -1;
        if (want != now) set_colour(out, colour, now, want);
        now = want;
        add_cell(out, c->dots[cell]);
    }
    set_colour(out, colour, now, -1);
}

static const char *key_of(const struct plot_item *it) {
    switch (it->kind) {
    case PLOT_POINTS: return "\xe2\x80\xa2"; /* bullet */
    case PLOT_BAND: return "\xe2\x96\x91";   /* light shade */
    case PLOT_BARS: return "\xe2\x96\x88";   /* full block */
    default: return it->style.dashed ? "\xe2\x95\x8c\xe2\x95\x8c" : "\xe2\x94\x80\xe2\x94\x80";
    }
}

static void add_legend(struct buf *out, const struct plot_panel *p, size_t indent, size_t width,
                       bool colour) {
    size_t at = 0;
    for (size_t i = 0; i < p->items.n; i++) {
        const struct plot_item *it = &p->items.at[i];
        if (!plot_item_listed(it)) continue;
        size_t w = plot_text_length(it->label) + 6;
        if (at && at + w > width) {
            buf_putc(out, '\n');
            at = 0;
        }
        if (!at) add_spaces(out, indent);
        set_colour(out, colour, -1, it->style.colour);
        buf_puts(out, key_of(it));
        set_colour(out, colour, it->style.colour, -1);
        buf_putc(out, ' ');
        buf_line(out, it->label);
        buf_puts(out, "   ");
        at += w;
    }
    if (at) buf_putc(out, '\n');
}

static void add_x_axis(struct buf *out, const struct canvas *c, size_t margin) {
    struct plot_ticks t;
    struct buf numbers = BUF_INIT; /* the line below the axis */
    bool mark[COLUMNS_MAX] = {false};
    plot_ticks_axis(&c->a.x, c->w / 12 > 2 ? c->w / 12 : 2, &t);
    for (size_t i = 0; i < t.n; i++) {
        long x = lround(plot_axis_share(&c->a.x, t.at[i]) * (c->w - 1.0));
        size_t len = strlen(t.text[i]), from = (size_t)x > len / 2 ? (size_t)x - len / 2 : 0;
        if (x < 0 || x >= (long)c->w) continue;
        mark[x] = true;
        bool room = !numbers.len || from > numbers.len;
        if (len == 0 || !room || from + len > c->w + 30) continue;
        add_spaces(&numbers, from - numbers.len);
        buf_puts(&numbers, t.text[i]);
    }
    add_spaces(out, margin);
    buf_puts(out, "\xe2\x94\x94"); /* corner */
    for (unsigned i = 0; i < c->w; i++) buf_puts(out, mark[i] ? "\xe2\x94\xb4" : "\xe2\x94\x80");
    buf_putc(out, '\n');
    add_spaces(out, margin + 1);
    buf_printf(out, "%s\n", numbers.data);
    buf_release(&numbers);
}

static void add_canvas(struct buf *out, const struct canvas *c, const struct plot_ticks *t,
                       size_t margin, bool colour) {
    for (unsigned row = 0; row < c->h; row++) {
        const char *text = "";
        bool mark = false;
        for (size_t i = 0; i < t->n; i++) {
            double share = plot_axis_share(&c->a.y, t->at[i]);
            if (lround((1 - share) * (c->h - 1.0)) == (long)row) {
                text = t->text[i];
                mark = true;
            }
        }
        add_spaces(out, margin - strlen(text) - 1);
        buf_printf(out, "%s %s", text, mark ? "\xe2\x94\xa4" : "\xe2\x94\x82");
        add_canvas_row(out, c, row, colour);
        buf_putc(out, '\n');
    }
}

static void add_plot(struct buf *out, const struct plot_panel *p, unsigned columns, unsigned rows,
                     bool colour) {
    struct canvas c = {.h = rows, .a = plot_panel_axes(p)};
    struct plot_ticks t;
    plot_ticks_axis(&c.a.y, rows / 3 > 2 ? rows / 3 : 2, &t);
    size_t margin = 2;
    for (size_t i = 0; i < t.n; i++) {
        size_t n = strlen(t.text[i]);
        if (n + 1 > margin) margin = n + 1;
    }
    c.w = columns > margin + 12 ? columns - (unsigned)margin - 2 : 10;
    c.dots = mem_zalloc((size_t)c.w * rows);
    c.colour = mem_alloc((size_t)c.w * rows);
    for (size_t i = 0; i < p->items.n; i++) draw_item(&c, &p->items.at[i]);
    if (p->y.label) {
        buf_line(out, p->y.label);
        buf_putc(out, '\n');
    }
    add_canvas(out, &c, &t, margin, colour);
    add_x_axis(out, &c, margin);
    if (p->x.label) {
        size_t n = plot_text_length(p->x.label);
        add_spaces(out, margin + 1 + (c.w > n ? (c.w - n) / 2 : 0));
        buf_line(out, p->x.label);
        buf_putc(out, '\n');
    }
    mem_free(c.dots);
    mem_free(c.colour);
}

/* ---- named bars: one line each, eighths of a cell ---- */

static void add_bar(struct buf *out, double cells) {
    long eighths = lround(cells * 8);
    for (; eighths >= 8; eighths -= 8) buf_puts(out, "\xe2\x96\x88");
    if (eighths > 0) buf_printf(out, "\xe2\x96%c", (char)(0x90 - (int)eighths));
}

static void add_named(struct buf *out, const struct plot_item *it, unsigned columns, bool colour) {
    size_t margin = 0;
    double largest = 0;
    for (size_t i = 0; i < it->n; i++) {
        size_t n = plot_text_length(it->names[i]);
        if (n > margin) margin = n;
        if (isfinite(it->y[i])) largest = fmax(largest, it->y[i]);
    }
    unsigned room = columns > margin + 34 ? columns - (unsigned)margin - 24 : 10;
    for (size_t i = 0; i < it->n; i++) {
        add_spaces(out, margin - plot_text_length(it->names[i]));
        buf_line(out, it->names[i]);
        buf_puts(out, " \xe2\x94\x82");
        set_colour(out, colour, -1, it->style.colour);
        if (isfinite(it->y[i]) && largest > 0) add_bar(out, fmax(it->y[i], 0) / largest * room);
        set_colour(out, colour, it->style.colour, -1);
        buf_printf(out, " %.3g", it->y[i]);
        if (it->y2) buf_printf(out, " \xc2\xb1 %.1g", it->y2[i]);
        buf_putc(out, '\n');
    }
}

static void add_title(struct buf *out, const char *title, bool colour) {
    if (!title || !*title) return;
    if (colour) buf_puts(out, "\033[1m");
    buf_line(out, title);
    buf_puts(out, colour ? "\033[0m\n" : "\n");
}

void plot_terminal(const struct plot_scene *s, const struct plot_terminal_options *o,
                   struct buf *out) {
    unsigned columns = o->columns ? o->columns : 80, rows = o->rows ? o->rows : 18;
    columns = columns < 30 ? 30 : columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
    rows = rows < 4 ? 4 : rows > 200 ? 200 : rows;
    add_title(out, s->title, o->colour);
    for (size_t i = 0; i < s->panels.n; i++) {
        const struct plot_panel *p = s->panels.at[i];
        if (i > 0) buf_putc(out, '\n');
        add_title(out, p->title, o->colour);
        add_legend(out, p, 2, columns - 2, o->colour);
        if (plot_panel_names(p)) {
            add_named(out, plot_panel_names(p), columns, o->colour);
        } else {
            add_plot(out, p, columns, rows, o->colour);
        }
    }
}
