/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenes as SVG: light grid, ticks at round numbers, legend above the plot area where it cannot
 * hide data. Text widths are estimated (there is no font here), on the generous side. Coordinates
 * are written to a tenth of a pixel; lines with many points are thinned to the lowest and highest
 * point of each half pixel, which looks the same.
 */
#include "io/plot/scene.h"
#include "base/number.h"
#include "io/plot/ticks.h"
#include <math.h>

#define FONT 12.0
#define GAP  8.0

static const char *const palette[PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#222222", "#888888"};

/* One panel being drawn: its plot area in pixels and its limits. */
struct panel_area {
    const struct plot_panel *p;
    const struct plot_item *named; /* plot_panel_names */
    struct plot_axes a;
    double left, top, width, height;
    struct plot_ticks x, y;
    struct buf *out;
};

/* The number of a mark, if it has one. The minus of a number is a minus sign; the hyphens of a date
 * stay. */
static void add_mark(struct buf *out, double x, double y, const char *anchor, const char *text) {
    if (!*text) return;
    buf_printf(out, "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (const char *first = text; *text; text++) {
        bool minus = *text == '-' && (text == first || text[-1] == 'e');
        buf_printf(out, minus ? "\xe2\x88\x92" : "%c", *text);
    }
    buf_puts(out, "</text>\n");
}

static double text_width(const char *text, double size) {
    return (double)plot_text_length(text) * size * 0.56;
}

static double to_x(const struct panel_area *f, double v) {
    return f->left + f->width * plot_axis_share(&f->a.x, v);
}

/* Named bars count rows from the top; everything else has y upwards. */
static double to_y(const struct panel_area *f, double v) {
    double share = plot_axis_share(&f->a.y, v);
    return f->top + f->height * (f->named ? share : 1 - share);
}

/* Far outside the plot area numbers only make the file large (and overflow viewers). */
static double clamp(double v) {
    return fmin(fmax(v, -1e4), 1e5);
}

static void text_at(struct buf *out, double x, double y, double size, const char *anchor,
                    const char *extra, const char *text) {
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\"%s>", x, y,
               size, anchor, extra);
    buf_markup(out, text);
    buf_puts(out, "</text>\n");
}

/* ---- axes ---- */

/* Grid, marks and labels; that of the y axis stands at x. */
static void draw_axes(const struct panel_area *f, double x) {
    struct buf *out = f->out;
    double bottom = f->top + f->height, middle = f->top + f->height / 2;
    for (size_t i = 0; i < f->x.n; i++) {
        double at = to_x(f, f->x.at[i]);
        buf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, f->top, bottom);
        add_mark(out, at, bottom + FONT + 4, "middle", f->x.text[i]);
    }
    if (f->p->x.label) {
        text_at(out, f->left + f->width / 2, bottom + 2 * FONT + 11, FONT, "middle",
                " class=\"label\"", f->p->x.label);
    }
    for (size_t i = 0; i < f->y.n; i++) {
        double at = to_y(f, f->y.at[i]);
        buf_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", f->left, at,
                   f->left + f->width);
        add_mark(out, f->left - 6, at + FONT * 0.34, "end", f->y.text[i]);
    }
    char turn[64];
    if (!f->p->y.label) return;
    number_snprintf(turn, sizeof turn, " class=\"label\" transform=\"rotate(-90 %.1f %.1f)\"", x,
                    middle);
    text_at(out, x, middle, FONT, "middle", turn, f->p->y.label);
}

/* ---- items ---- */

static void stroke(const struct panel_area *f, const struct plot_item *it, double width) {
    const struct plot_style *s = &it->style;
    buf_printf(f->out, " fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"", palette[s->colour],
               s->width > 0 ? s->width : width);
    if (s->opacity > 0) buf_printf(f->out, " stroke-opacity=\"%g\"", s->opacity);
    if (s->dashed) buf_puts(f->out, " stroke-dasharray=\"6 4\"");
}

static void fill(const struct panel_area *f, const struct plot_item *it, double opacity) {
    const struct plot_style *s = &it->style;
    buf_printf(f->out, " fill=\"%s\" fill-opacity=\"%g\"", palette[s->colour],
               s->opacity > 0 ? s->opacity : opacity);
}

static void path_to(struct buf *out, bool *open, double x, double y) {
    buf_printf(out, "%c%.1f %.1f", *open ? 'L' : 'M', clamp(x), clamp(y));
    *open = true;
}

/* A run of points that share a half pixel is drawn as first, lowest, highest, last. */
struct thin {
    double cell, x, first, low, high, last;
    size_t n;
};

static void thin_flush(struct buf *out, bool *open, struct thin *t) {
    if (t->n == 0) return;
    path_to(out, open, t->x, t->first);
    if (t->n > 2) {
        bool up = t->last > t->first;
        path_to(out, open, t->x, up ? t->low : t->high);
        path_to(out, open, t->x, up ? t->high : t->low);
    }
    if (t->n > 1) path_to(out, open, t->x, t->last);
    t->n = 0;
}

static void draw_line(const struct panel_area *f, const struct plot_item *it) {
    bool open = false, thinned = it->n > 4000;
    struct thin t = {0};
    buf_puts(f->out, "<path d=\"");
    for (size_t i = 0; i < it->n; i++) {
        double x = to_x(f, it->x[i]), y = to_y(f, it->y[i]);
        double cell = thinned ? floor(x * 2) : (double)i;
        bool gap = !isfinite(x) || !isfinite(y);
        if (gap || cell != t.cell) thin_flush(f->out, &open, &t);
        open = open && !gap;
        if (gap) continue;
        if (!t.n) t = (struct thin){cell, x, y, y, y, y, 0};
        t.low = fmin(t.low, y);
        t.high = fmax(t.high, y);
        t.last = y;
        t.n++;
    }
    thin_flush(f->out, &open, &t);
    buf_puts(f->out, "\"");
    stroke(f, it, 1.8);
    buf_puts(f->out, " stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n");
}

static bool band_point(const struct panel_area *f, const struct plot_item *it, size_t i) {
    return isfinite(to_x(f, it->x[i]) + to_y(f, it->y[i]) + to_y(f, it->y2[i]));
}

static void draw_band(const struct panel_area *f, const struct plot_item *it) {
    buf_puts(f->out, "<path d=\"");
    for (size_t from = 0; from < it->n;) {
        size_t to = from;
        while (to < it->n && band_point(f, it, to)) to++;
        bool open = false;
        for (size_t i = from; i < to; i++)
            path_to(f->out, &open, to_x(f, it->x[i]), to_y(f, it->y[i]));
        for (size_t i = to; i-- > from;)
            path_to(f->out, &open, to_x(f, it->x[i]), to_y(f, it->y2[i]));
        if (open) buf_putc(f->out, 'Z');
        from = to + 1;
    }
    buf_puts(f->out, "\"");
    fill(f, it, 0.2);
    buf_puts(f->out, "/>\n");
}

static void point_style(const struct panel_area *f, const struct plot_item *it) {
    if (it->style.dashed) {
        buf_printf(f->out, " fill=\"#fff\" stroke=\"%s\" stroke-width=\"1.3\"",
                   palette[it->style.colour]);
    } else {
        fill(f, it, it->n > 400 ? 0.5 : 0.9);
    }
}

static void draw_points(const struct panel_area *f, const struct plot_item *it) {
    double r = it->style.width > 0 ? it->style.width : it->n > 400 ? 1.6 : it->n > 100 ? 2.2 : 3;
    buf_puts(f->out, "<g");
    point_style(f, it);
    buf_puts(f->out, ">\n");
    for (size_t i = 0; i < it->n; i++) {
        double x = to_x(f, it->x[i]), y = to_y(f, it->y[i]);
        if (!isfinite(x) || !isfinite(y)) continue;
        buf_printf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"", clamp(x), clamp(y), r);
        if (it->n <= 500)
            buf_printf(f->out, "><title>%.6g, %.6g</title></circle>\n", it->x[i], it->y[i]);
        else
            buf_puts(f->out, "/>\n");
    }
    buf_puts(f->out, "</g>\n");
}

static void draw_bars(const struct panel_area *f, const struct plot_item *it) {
    buf_puts(f->out, "<g stroke=\"#fff\" stroke-width=\"0.6\"");
    fill(f, it, 0.65);
    buf_puts(f->out, ">\n");
    double base = to_y(f, f->a.y.log ? f->a.y.lo : 0);
    for (size_t i = 0; i < it->n; i++) {
        double a = to_x(f, it->x[i]), b = to_x(f, it->y2[i]), y = to_y(f, it->y[i]);
        if (!isfinite(a) || !isfinite(b) || !isfinite(y)) continue;
        buf_printf(
            f->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%.6g to %.6g: "
            "%.6g</title></rect>\n",
            clamp(a), clamp(fmin(y, base)), clamp(b - a), clamp(fabs(base - y)), it->x[i],
            it->y2[i], it->y[i]);
    }
    buf_puts(f->out, "</g>\n");
}

static void draw_named(const struct panel_area *f, const struct plot_item *it) {
    double zero = to_x(f, 0);
    for (size_t i = 0; i < it->n; i++) {
        double x = to_x(f, it->y[i]), y = to_y(f, (double)i);
        double h = fmin(0.7 * f->height / (double)it->n, 26);
        if (!isfinite(x)) continue;
        buf_printf(f->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
                   clamp(fmin(x, zero)), y - h / 2, clamp(fabs(x - zero)), h);
        fill(f, it, 0.75);
        buf_puts(f->out, "><title>");
        buf_markup(f->out, it->names[i]);
        buf_printf(f->out, ": %.4g", it->y[i]);
        if (it->y2) buf_printf(f->out, " \xc2\xb1 %.2g", it->y2[i]);
        buf_puts(f->out, "</title></rect>\n");
        if (it->y2 && isfinite(it->y2[i]) && it->y2[i] > 0) {
            buf_printf(
                f->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#222\" stroke-width=\"1.2\"/>\n",
                clamp(to_x(f, it->y[i] - it->y2[i])), y, clamp(to_x(f, it->y[i] + it->y2[i])));
        }
    }
}

static void draw_rule(const struct panel_area *f, const struct plot_item *it) {
    bool upright = it->kind == PLOT_RULE_X;
    double at = upright ? to_x(f, it->x[0]) : to_y(f, it->y[0]);
    if (!isfinite(at)) return;
    if (upright)
        buf_printf(f->out, "<path d=\"M%.1f %.1fv%.1f\"", clamp(at), f->top, f->height);
    else
        buf_printf(f->out, "<path d=\"M%.1f %.1fh%.1f\"", f->left, clamp(at), f->width);
    stroke(f, it, 1.3);
    buf_puts(f->out, "/>\n");
}

static void draw_note(const struct panel_area *f, const struct plot_item *it) {
    double x = to_x(f, it->x[0]), y = to_y(f, it->y[0]);
    if (!isfinite(x) || !isfinite(y) || !it->label) return;
    text_at(f->out, clamp(x) + 4, clamp(y) - 5, FONT - 1, "start", " class=\"note\"", it->label);
}

static void (*const draw_item[])(const struct panel_area *f, const struct plot_item *it) = {
    [PLOT_LINE] = draw_line,   [PLOT_POINTS] = draw_points, [PLOT_BAND] = draw_band,
    [PLOT_BARS] = draw_bars,   [PLOT_NAMED] = draw_named,   [PLOT_RULE_X] = draw_rule,
    [PLOT_RULE_Y] = draw_rule, [PLOT_NOTE] = draw_note,
};

/* ---- legend ---- */

static void draw_key(const struct panel_area *f, const struct plot_item *it, double x, double y) {
    struct buf *out = f->out;
    if (it->kind == PLOT_POINTS) {
        buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"", x + 9, y - 4);
        point_style(f, it);
    } else if (it->kind == PLOT_BAND || it->kind == PLOT_BARS) {
        buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"10\"", x, y - 9);
        fill(f, it, it->kind == PLOT_BAND ? 0.25 : 0.65);
    } else {
        buf_printf(out, "<path d=\"M%.1f %.1fh18\"", x, y - 4);
        stroke(f, it, 1.8);
    }
    buf_puts(out, "/>\n");
}

/* Rows of entries from the left; returns the height they take. Draws only when f->out is set. */
static double legend(const struct panel_area *f, double left, double top, double width) {
    double x = left, y = top;
    bool any = false;
    for (size_t i = 0; i < f->p->items.n; i++) {
        const struct plot_item *it = &f->p->items.at[i];
        if (!plot_item_listed(it)) continue;
        double w = 24 + text_width(it->label, FONT - 1) + 14;
        if (any && x + w > left + width) {
            x = left;
            y += FONT + 5;
        }
        any = true;
        if (f->out) {
            draw_key(f, it, x, y + FONT);
            text_at(f->out, x + 24, y + FONT, FONT - 1, "start", " class=\"label\"", it->label);
        }
        x += w;
    }
    return any ? y - top + FONT + 8 : 0;
}

/* ---- panels and pages ---- */

static void make_ticks(struct panel_area *f) {
    plot_ticks_axis(&f->a.x, (unsigned)fmax(3, f->width / 55), &f->x);
    f->y.n = 0;
    if (!f->named) plot_ticks_axis(&f->a.y, (unsigned)fmax(3, f->height / 30), &f->y);
}

/* Width of what stands left of the plot area. */
static double left_margin(const struct panel_area *f) {
    double w = 0;
    const struct plot_item *named = f->named;
    for (size_t i = 0; i < f->y.n; i++) w = fmax(w, text_width(f->y.text[i], FONT - 1));
    for (size_t i = 0; named && i < named->n; i++) w = fmax(w, text_width(named->names[i], FONT));
    return w + 15 + (f->p->y.label ? FONT + 8 : 0);
}

/* A panel of notes alone is text: it has no axes. */
static bool text_only(const struct plot_panel *p) {
    for (size_t i = 0; i < p->items.n; i++)
        if (p->items.at[i].kind != PLOT_NOTE) return false;
    return p->items.n > 0;
}

static void draw_panel(const struct plot_panel *p, const char *id, size_t number, double x,
                       double y, double w, double h, struct buf *out) {
    struct panel_area f = {.p = p, .named = plot_panel_names(p), .a = plot_panel_axes(p)};
    bool axes = !text_only(p);
    double head = p->title && *p->title ? FONT + 11 : 4;
    double foot = FONT + 8 + (p->x.label ? FONT + 8 : 0);
    f.left = x;
    f.width = w;
    f.height = fmax(40, h - head - 2 * FONT - foot);
    make_ticks(&f); /* the widths of the marks decide where the plot area begins */
    f.left = x + (axes ? left_margin(&f) : 0);
    f.width = fmax(60, x + w - f.left - 10);
    f.top = y + head + legend(&f, f.left, y, f.width) + 2;
    f.height = fmax(40, h - (f.top - y) - foot);
    make_ticks(&f);
    f.out = out;
    if (p->title && *p->title) {
        text_at(out, x + 2, y + FONT + 1, FONT + 1, "start", " class=\"title\"", p->title);
    }
    legend(&f, f.left, y + head, f.width);
    if (axes) draw_axes(&f, x + FONT);
    buf_printf(out,
               "<clipPath id=\"%s-%zu\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
               "height=\"%.1f\"/></clipPath>\n<g clip-path=\"url(#%s-%zu)\">\n",
               id, number, f.left, f.top, f.width, f.height, id, number);
    for (size_t i = 0; i < p->items.n; i++) draw_item[p->items.at[i].kind](&f, &p->items.at[i]);
    buf_puts(out, "</g>\n");
    for (size_t i = 0; f.named && i < f.named->n; i++)
        text_at(out, f.left - 8, to_y(&f, (double)i) + FONT * 0.34, FONT, "end", " class=\"label\"",
                f.named->names[i]);
    if (axes)
        buf_printf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", f.left, f.top,
                   f.top + f.height, f.left + f.width);
}

static void begin_page(const struct plot_scene *s, const char *id, bool embedded, double w,
                       double h, struct buf *out) {
    const char *title = s->title ? s->title : "plot";
    if (!embedded) buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
               "height=\"%.0f\" role=\"img\" aria-labelledby=\"%s-title %s-desc\" id=\"%s\" "
               "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title "
               "id=\"%s-title\">",
               w, h, w, h, id, id, id, id);
    buf_markup(out, title);
    buf_printf(out, "</title>\n<desc id=\"%s-desc\">", id);
    buf_markup(out, s->description ? s->description : title);
    /* the selectors carry the id: several pictures may share a page */
    buf_printf(
        out,
        "</desc>\n<style>#%s .grid{stroke:#e4e6ea;fill:none}#%s .axis{stroke:#8a8f98;fill:none}"
        "#%s .mark{font-size:11px;fill:#555}#%s .label,#%s .note{fill:#333}"
        "#%s .title{font-weight:bold;fill:#222}</style>\n"
        "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n",
        id, id, id, id, id, id, w, h);
}

/* Named bars take the height of their rows; other panels take the given one. */
static double panel_height(const struct plot_panel *p, double given) {
    const struct plot_item *named = plot_panel_names(p);
    if (!named) return given;
    return 26.0 * (double)(named->n ? named->n : 1) + 50 + (p->title ? FONT + 11 : 0) +
           (p->x.label ? FONT + 8 : 0);
}

void plot_svg(const struct plot_scene *s, const struct plot_svg_options *o, struct buf *out) {
    static const double widths[] = {640, 640, 420, 320};
    const char *id = o->id ? o->id : "plot";
    size_t n = s->panels.n, columns = s->columns < n ? s->columns : n ? n : 1;
    size_t rows = (n + columns - 1) / columns;
    double w = o->panel_width > 0 ? o->panel_width : widths[columns < 3 ? columns : 3];
    double h = o->panel_height > 0 ? o->panel_height : fmax(230, w * 0.52);
    double y = s->title ? 16 + 2 * GAP : GAP;
    struct buf body = BUF_INIT; /* its height is in the head of the page */
    for (size_t r = 0; r < rows; r++) {
        double row = 0;
        for (size_t c = 0; c < columns && r * columns + c < n; c++) {
            const struct plot_panel *p = s->panels.at[r * columns + c];
            double ph = panel_height(p, h);
            draw_panel(p, id, r * columns + c, GAP + (w + GAP) * (double)c, y, w, ph, &body);
            row = fmax(row, ph);
        }
        y += row + GAP;
    }
    begin_page(s, id, o->embedded, (w + GAP) * (double)columns + GAP, y, out);
    if (s->title) text_at(out, GAP + 2, 16 + GAP / 2, 16, "start", " class=\"title\"", s->title);
    buf_add(out, body.data, body.len);
    buf_release(&body);
    buf_puts(out, "</svg>\n");
}
