/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem plot DIR: trace and density of every quantity of a run, on the terminal or as SVG.
 */
#include "cli/command.h"
#include "cli/run_folder.h"
#include "cli/out.h"
#include "gpmem/plot.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { KIND_BOTH, KIND_TRACE, KIND_DENSITY, KIND_RANKS, KIND_ACF };
struct args {
    const char *svg;
    int kind;
    struct text_list columns;
};

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

/* A terminal shows some 150 points before lines become a block: there every k-th draw is drawn. */
static json_t *trace_panel(const gpm_draws *d, size_t column, bool text) {
    size_t rows = gpm_draws_rows(d), step = text ? rows / 150 + 1 : 1;
    char label[64] = "iteration";
    if (step > 1) snprintf(label, sizeof label, "iteration, every %zuth draw", step);
    json_t *items = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++)
        json_array_append_new(
            items, line(row_numbers(1, rows, step), column_numbers(d, c, column, step), c));
    return json_pack("{s:s, s:{s:s}, s:o}", "title", gpm_draws_name(d, column), "x", "label", label,
                     "items", items);
}

static json_t *density_panel(const gpm_draws *d, size_t column) {
    json_t *items = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        json_array_append_new(items,
                              json_pack("{s:s, s:o, s:s, s:f}", "type", "histogram", "x",
                                        column_numbers(d, c, column, 1), "colour", colours[c % 6],
                                        "opacity", gpm_draws_chains(d) > 1 ? 0.35 : 0.65));
    }
    return json_pack("{s:{s:s}, s:{s:s}, s:o}", "x", "label", gpm_draws_name(d, column), "y",
                     "label", "density", "items", items);
}

/* Correlation of a chain's draws with those k earlier. */
static double autocorrelation(const gpm_draws *d, size_t chain, size_t column, size_t k) {
    size_t n = gpm_draws_rows(d);
    double mean = 0, own = 0, with = 0;
    for (size_t r = 0; r < n; r++) mean += gpm_draws_at(d, chain, r, column) / (double)n;
    for (size_t r = 0; r < n; r++) {
        double x = gpm_draws_at(d, chain, r, column) - mean;
        own += x * x;
        if (r >= k) with += x * (gpm_draws_at(d, chain, r - k, column) - mean);
    }
    return with / own;
}

static json_t *acf_panel(const gpm_draws *d, size_t column) {
    size_t n = gpm_draws_rows(d), lags = n < 41 ? n : 41;
    json_t *items = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        json_t *y = json_array();
        for (size_t k = 0; k < lags; k++)
            json_array_append_new(y, number(autocorrelation(d, c, column, k)));
        json_array_append_new(items, line(row_numbers(0, lags, 1), y, c));
    }
    json_array_append_new(items,
                          json_pack("{s:s, s:i, s:s}", "type", "rule", "y", 0, "colour", "grey"));
    return json_pack("{s:s, s:{s:s}, s:{s:s}, s:o}", "title", gpm_draws_name(d, column), "x",
                     "label", "lag", "y", "label", "autocorrelation", "items", items);
}

struct ranked {
    double v;
    size_t chain;
};

static int by_value(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->v, y = ((const struct ranked *)b)->v;
    return (x > y) - (x < y);
}

/* Ranks of each chain's draws among those of all chains: flat when the chains agree (Vehtari et al.
 * 2021). */
static json_t *rank_panel(const gpm_draws *d, size_t column) {
    size_t rows = gpm_draws_rows(d), chains = gpm_draws_chains(d), n = rows * chains;
    struct ranked *all = calloc(n + 1, sizeof *all);
    json_t *items = json_array();
    for (size_t i = 0; all && i < n; i++)
        all[i] = (struct ranked){gpm_draws_at(d, i / rows, i % rows, column), i / rows};
    if (all) qsort(all, n, sizeof *all, by_value);
    for (size_t c = 0; all && c < chains; c++) {
        json_t *ranks = json_array();
        for (size_t i = 0; i < n; i++)
            if (all[i].chain == c) json_array_append_new(ranks, json_integer((json_int_t)i));
        json_array_append_new(items, json_pack("{s:s, s:o, s:i, s:s, s:f}", "type", "histogram",
                                               "x", ranks, "bins", 20, "colour", colours[c % 6],
                                               "opacity", 0.35));
    }
    free(all);
    return json_pack("{s:s, s:{s:s}, s:{s:s}, s:o}", "title", gpm_draws_name(d, column), "x",
                     "label", "rank among all chains", "y", "label", "density", "items", items);
}

static void add_panels(json_t *panels, const gpm_draws *d, size_t k, const struct args *a) {
    int kind = a->kind;
    if (kind == KIND_BOTH || kind == KIND_TRACE)
        json_array_append_new(panels, trace_panel(d, k, !a->svg));
    if (kind == KIND_BOTH || kind == KIND_DENSITY)
        json_array_append_new(panels, density_panel(d, k));
    if (kind == KIND_RANKS) json_array_append_new(panels, rank_panel(d, k));
    if (kind == KIND_ACF) json_array_append_new(panels, acf_panel(d, k));
}

static bool wanted(const struct text_list *l, const char *name) {
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->at[i], name) == 0) return true;
    }
    return l->n == 0;
}

static char *make_scene(const gpm_draws *d, const struct args *a) {
    json_t *panels = json_array();
    for (size_t k = 0; k < gpm_draws_columns(d); k++) {
        if (!wanted(&a->columns, gpm_draws_name(d, k))) continue;
        add_panels(panels, d, k, a);
    }
    json_t *scene = json_array_size(panels) == 0
                        ? NULL
                        : json_pack("{s:i, s:O}", "columns", 2, "panels", panels);
    char *text = scene ? json_dumps(scene, JSON_COMPACT) : NULL;
    json_decref(scene);
    json_decref(panels);
    return text;
}

static void keep_picture(void *user, int stream, const char *text, size_t len) {
    buf_add(user, text, len);
}

static int draw(const char *scene, const struct args *a) {
    char err[200] = "";
    struct winsize ws = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    struct gpm_plot_options o = {.size = sizeof o,
                                 .format = a->svg ? GPM_PLOT_SVG : GPM_PLOT_TEXT,
                                 .columns = ws.ws_col,
                                 .rows = 12,
                                 .colour = colour_wanted(STDOUT_FILENO)};
    struct buf b = BUF_INIT;
    enum gpm_status st = gpm_plot_json(scene, strlen(scene), &o, keep_picture, &b, err, sizeof err);
    int status = EXIT_FINE;
    if (st != GPM_OK)
        status = complain(EXIT_FAILED, "%s", err);
    else if (!a->svg)
        out_drawn(1, b.data, b.len);
    else if (!out_file(a->svg, b.data, b.len))
        status = EXIT_FAILED;
    buf_release(&b);
    return status;
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    struct run_facts facts;
    gpm_draws *d;
    int status = run_folder_read(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    char *scene = make_scene(d, a);
    gpm_draws_free(d);
    if (!scene)
        return complain(EXIT_USAGE, "the run has no such column; `gpmem summary %s` lists them",
                        argv[0]);
    status = draw(scene, a);
    free(scene);
    return status;
}

static const struct option_row rows[] = {
    {"svg", 0, OPTION_TEXT, "FILE", "write an SVG file instead of drawing on the terminal",
     offsetof(struct args, svg)},
    {"kind", 'k', OPTION_CHOICE, "both|trace|density|ranks|autocorrelation",
     "what to draw (default both: trace and density)", offsetof(struct args, kind)},
    {"column", 'c', OPTION_LIST, "NAME", "only this quantity; may be repeated (default: all)",
     offsetof(struct args, columns)},
};

COMMAND(plot) = {
    .place = 60,
    .name = "plot",
    .args = "DIR",
    .summary = "Draws traces and densities of a run",
    .text = "One colour per chain. Ranks are those of a chain's draws among the draws of all "
            "chains: flat histograms say that the chains agree.",
    OPTIONS(rows, struct args),
    .takes = {1, 1},
    .run = run,
};
