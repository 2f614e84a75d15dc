/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem plot DIR: trace and density of every quantity of a run, on the terminal or as SVG; of a run
 * of discover, data with forecast and components. gpmem draw SCENE.json: a picture from a
 * description in JSON; `make figures` uses it.
 */
#include "front/cli/command.h"
#include "base/number.h"
#include "front/cli/run_folder.h"
#include "front/cli/out.h"
#include "gpmem/discover.h"
#include "gpmem/plot.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIND_BOTH, KIND_TRACE, KIND_DENSITY, KIND_RANKS, KIND_ACF };
static struct {
    const char *svg;
    int kind;
    struct text_list columns;
} args;

static const char *const colours[] = {"blue", "vermilion", "green", "purple", "orange", "sky"};

static json_t *number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

/* Every step-th draw of a column. */
static json_t *column_numbers(const gpm_draws *d, size_t chain, size_t column, size_t step) {
    json_t *a = json_array();
    for (size_t r = 0; r < gpm_draws_rows(d); r += step)
        json_array_append_new(a, number(gpm_draws_at(d, chain, r, column)));
    return a;
}

static json_t *row_numbers(size_t first, size_t rows, size_t step) {
    json_t *a = json_array();
    for (size_t r = 0; r < rows; r += step)
        json_array_append_new(a, json_integer((json_int_t)(r + first)));
    return a;
}

static json_t *line(json_t *x, json_t *y, size_t chain) {
    return json_pack("{s:s, s:o, s:o, s:s, s:f, s:f}", "type", "line", "x", x, "y", y, "colour",
                     colours[chain % 6], "width", 0.9, "opacity", 0.8);
}

static json_t *histogram(json_t *x, int bins, size_t chain, double opacity) {
    return json_pack("{s:s, s:o, s:i, s:s, s:f}", "type", "histogram", "x", x, "bins", bins,
                     "colour", colours[chain % 6], "opacity", opacity);
}

/* Correlation of a chain's draws with those k earlier, where both have the quantity. */
static double autocorrelation(const gpm_draws *d, size_t chain, size_t column, size_t k) {
    size_t n = gpm_draws_rows(d), have = 0;
    double mean = 0, own = 0, with = 0;
    for (size_t r = 0; r < n; r++) {
        double x = gpm_draws_at(d, chain, r, column);
        if (!gpm_draws_is_absent(x)) mean += (x - mean) / (double)++have;
    }
    for (size_t r = 0; r < n; r++) {
        double x = gpm_draws_at(d, chain, r, column) - mean;
        double before = r >= k ? gpm_draws_at(d, chain, r - k, column) - mean : 0;
        if (gpm_draws_is_absent(x)) continue;
        own += x * x;
        if (!gpm_draws_is_absent(before)) with += x * before;
    }
    return with / own;
}

static json_t *autocorrelations(const gpm_draws *d, size_t chain, size_t column) {
    size_t n = gpm_draws_rows(d), lags = n < 41 ? n : 41;
    json_t *y = json_array();
    for (size_t k = 0; k < lags; k++)
        json_array_append_new(y, number(autocorrelation(d, chain, column, k)));
    return line(row_numbers(0, lags, 1), y, chain);
}

struct ranked {
    double v;
    size_t chain;
};

/* Ranks of each chain's draws among those of all chains: flat when the chains agree (Vehtari et al.
 * 2021). */
static void add_ranks(json_t *items, const gpm_draws *d, size_t column) {
    size_t rows = gpm_draws_rows(d), chains = gpm_draws_chains(d), n = 0;
    struct ranked *all = NEW_ARRAY(struct ranked, rows * chains + 1);
    for (size_t i = 0; i < rows * chains; i++) {
        double x = gpm_draws_at(d, i / rows, i % rows, column);
        if (!gpm_draws_is_absent(x)) all[n++] = (struct ranked){x, i / rows};
    }
    qsort(all, n, sizeof *all, number_compare);
    for (size_t c = 0; c < chains; c++) {
        json_t *ranks = json_array();
        for (size_t i = 0; i < n; i++)
            if (all[i].chain == c) json_array_append_new(ranks, json_integer((json_int_t)i));
        json_array_append_new(items, histogram(ranks, 20, c, 0.35));
    }
    mem_free(all);
}

static json_t *panel(const gpm_draws *d, size_t column, int kind, bool text) {
    /* of the axes; NULL: the name of the quantity, else the title */
    static const char *const labels[][2] = {
        [KIND_TRACE] = {"iteration", NULL},
        [KIND_DENSITY] = {NULL, "density"},
        [KIND_RANKS] = {"rank among all chains", "density"},
        [KIND_ACF] = {"lag", "autocorrelation"},
    };
    const char *name = gpm_draws_name(d, column), *x = labels[kind][0];
    size_t rows = gpm_draws_rows(d), chains = gpm_draws_chains(d);
    /* a terminal shows some 150 points before lines become a block: there every k-th is drawn */
    size_t step = text ? rows / 150 + 1 : 1;
    char every[64];
    snprintf(every, sizeof every, "iteration, every %zuth draw", step);
    if (kind == KIND_TRACE && step > 1) x = every;
    json_t *items = json_array(), *item = NULL;
    if (kind == KIND_RANKS) add_ranks(items, d, column);
    for (size_t c = 0; c < chains && kind != KIND_RANKS; c++) {
        if (kind == KIND_TRACE)
            item = line(row_numbers(1, rows, step), column_numbers(d, c, column, step), c);
        else if (kind == KIND_DENSITY)
            item = histogram(column_numbers(d, c, column, 1), 0, c, chains > 1 ? 0.35 : 0.65);
        else
            item = autocorrelations(d, c, column);
        json_array_append_new(items, item);
    }
    if (kind == KIND_ACF) {
        item = json_pack("{s:s, s:i, s:s}", "type", "rule", "y", 0, "colour", "grey");
        json_array_append_new(items, item);
    }
    return json_pack("{s:s*, s:{s:s}, s:{s:s*}, s:o}", "title", x ? name : NULL, "x", "label",
                     x ? x : name, "y", "label", labels[kind][1], "items", items);
}

static bool wanted(const struct text_list *l, const char *name) {
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->at[i], name) == 0) return true;
    }
    return l->n == 0;
}

/* NULL: there is nothing to draw. */
static char *make_scene(const gpm_draws *d) {
    json_t *panels = json_array();
    for (size_t k = 0; k < gpm_draws_columns(d); k++) {
        const char *name = gpm_draws_name(d, k);
        bool own = gpm_draws_group_of(name) == GPM_DRAWS_POSTERIOR;
        if (!wanted(&args.columns, name) || (!own && !args.columns.n)) continue;
        bool both = args.kind == KIND_BOTH;
        json_array_append_new(panels, panel(d, k, both ? KIND_TRACE : args.kind, !args.svg));
        if (both) json_array_append_new(panels, panel(d, k, KIND_DENSITY, !args.svg));
    }
    bool any = json_array_size(panels) > 0;
    json_t *scene = json_pack("{s:i, s:o}", "columns", 2, "panels", panels);
    char *text = any ? json_dumps(scene, JSON_COMPACT) : NULL;
    json_decref(scene);
    return text;
}

static void keep_picture(void *user, int stream, const char *text, size_t len) {
    buf_add(user, text, len);
}

/* Width and colours of standard output. */
static void fit_terminal(struct gpm_plot_options *o) {
    o->size = sizeof *o;
    o->columns = (unsigned)out_width();
    o->colour = colour_wanted(STDOUT_FILENO);
}

/* Draws a scene in JSON into a file or, when `path` is NULL, on standard output, whose width and
 * colours are filled in; false: said why. */
static bool draw_scene(const char *name, const char *json, size_t len, struct gpm_plot_options *o,
                       const char *path) {
    char err[300] = "";
    struct buf b = BUF_INIT;
    fit_terminal(o);
    bool good = gpm_plot_json(json, len, o, keep_picture, &b, err, sizeof err) == GPM_OK;
    if (!good)
        complain(0, "%s: %s", name, err);
    else if (path)
        good = out_file(path, b.data, b.len);
    else
        out_drawn(1, b.data, b.len);
    buf_release(&b);
    return good;
}

/* A run of discover: data, forecast, components. */
static int run_discovery(const char *dir) {
    struct gpm_plot_options o = {.format = args.svg ? GPM_PLOT_SVG : GPM_PLOT_TEXT, .rows = 16};
    gpm_discovery *d = gpm_discover_new();
    const char *picture;
    fit_terminal(&o);
    enum gpm_status st = gpm_discover_open(d, dir);
    if (st == GPM_OK) st = gpm_discover_plot(d, args.columns.at, args.columns.n, &o, &picture);
    int status = st == GPM_OK ? EXIT_FINE : complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    if (st == GPM_OK && args.svg)
        status = out_file(args.svg, picture, strlen(picture)) ? EXIT_FINE : EXIT_FAILED;
    else if (st == GPM_OK)
        out_drawn(1, picture, strlen(picture));
    gpm_discover_free(d);
    return status;
}

static int plot_run(int argc, char **argv) {
    if (gpm_discover_is_run(argv[0])) return run_discovery(argv[0]);
    struct run_facts facts;
    gpm_draws *d;
    int status = run_folder_open(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    gpm_draws *drawn = gpm_draws_drawn(d);
    if (drawn && !voice.quiet)
        complain(0, "the draws have weights: the picture shows as many, drawn by weight");
    char *scene = make_scene(drawn ? drawn : d);
    gpm_draws_free(drawn);
    gpm_draws_free(d);
    if (!scene)
        return complain(EXIT_USAGE, "the run has no such column; `gpmem summary %s` lists them",
                        argv[0]);
    struct gpm_plot_options o = {.format = args.svg ? GPM_PLOT_SVG : GPM_PLOT_TEXT, .rows = 12};
    if (!draw_scene(argv[0], scene, strlen(scene), &o, args.svg)) status = EXIT_FAILED;
    free(scene);
    return status;
}

static const struct option_row rows[] = {
    {"svg", 0, OPTION_TEXT, "FILE", "write an SVG file instead of drawing on the terminal",
     &args.svg},
    {"kind", 'k', OPTION_CHOICE, "both|trace|density|ranks|autocorrelation",
     "what to draw (default both: trace and density)", &args.kind},
    {"column", 'c', OPTION_LIST, "NAME", "only this quantity; may be repeated (default: all)",
     &args.columns},
};

COMMAND(plot, 60) = {
    .args = "DIR",
    .summary = "Draws traces and densities of a run; of discover, data and forecast",
    .text = "Of a run of discover: the data with the forecast, then every component (--column "
            "forecast, --column LIN ... chooses). Of other runs: one colour per chain. Ranks are "
            "those of a chain's draws among the draws of all "
            "chains: flat histograms say that the chains agree.",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = plot_run,
};

/* ---- draw ---- */

static struct {
    int format;
    double width, height;
} draw_args;

static int plot_draw(int argc, char **argv) {
    struct buf text = BUF_INIT;
    int status = EXIT_USAGE;
    if (read_text(argv[0], &text) == GPM_OK) {
        struct gpm_plot_options o = {.format = draw_args.format ? GPM_PLOT_TEXT : GPM_PLOT_SVG,
                                     .width = draw_args.width,
                                     .height = draw_args.height};
        if (draw_scene(argv[0], text.data, text.len, &o, NULL)) status = EXIT_FINE;
    }
    buf_release(&text);
    return status;
}

static const struct option_row draw_rows[] = {
    {"format", 0, OPTION_CHOICE, "svg|text", "what to write (default svg)", &draw_args.format},
    {"width", 0, OPTION_REAL, "PIXELS", "width of one panel (SVG; default by columns)",
     &draw_args.width},
    {"height", 0, OPTION_REAL, "PIXELS", "height of one panel (SVG; default half the width)",
     &draw_args.height},
};

COMMAND(draw, 180) = {
    .args = "SCENE",
    .summary = "Draws a picture described in JSON, as SVG or for the terminal",
    .text = "SCENE is a JSON file (or - for standard input): title, columns, panels with axes and "
            "items of\ntype line, points, band, bars, names, histogram, rule or note.",
    OPTIONS(draw_rows),
    .takes = {1, 1},
    .run = plot_draw,
};
