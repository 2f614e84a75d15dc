/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem plot DIR: trace and density of every quantity of a run, on the terminal or as SVG.
 */
#include "cli/command.h"
#include "cli/run_folder.h"
#include "gpmem/plot.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct args {
    const char *svg;
    struct text_list columns;
};

static const char *const colours[] = {"blue", "vermilion", "green", "purple", "orange", "sky"};

static json_t *column_numbers(const gpm_draws *d, size_t chain, size_t column) {
    json_t *a = json_array();
    for (size_t r = 0; r < gpm_draws_rows(d); r++) {
        double v = gpm_draws_at(d, chain, r, column);
        json_array_append_new(a, isfinite(v) ? json_real(v) : json_null());
    }
    return a;
}

static json_t *row_numbers(const gpm_draws *d) {
    json_t *a = json_array();
    for (size_t r = 0; r < gpm_draws_rows(d); r++)
        json_array_append_new(a, json_integer((json_int_t)r + 1));
    return a;
}

static json_t *trace_panel(const gpm_draws *d, size_t column) {
    json_t *items = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        json_array_append_new(items,
                              json_pack("{s:s, s:o, s:o, s:s, s:f, s:f}", "type", "line", "x",
                                        row_numbers(d), "y", column_numbers(d, c, column), "colour",
                                        colours[c % 6], "width", 0.9, "opacity", 0.8));
    }
    return json_pack("{s:s, s:{s:s}, s:o}", "title", gpm_draws_name(d, column), "x", "label",
                     "iteration", "items", items);
}

static json_t *density_panel(const gpm_draws *d, size_t column) {
    json_t *items = json_array();
    for (size_t c = 0; c < gpm_draws_chains(d); c++) {
        json_array_append_new(items,
                              json_pack("{s:s, s:o, s:s, s:f}", "type", "histogram", "x",
                                        column_numbers(d, c, column), "colour", colours[c % 6],
                                        "opacity", gpm_draws_chains(d) > 1 ? 0.35 : 0.65));
    }
    return json_pack("{s:{s:s}, s:{s:s}, s:o}", "x", "label", gpm_draws_name(d, column), "y",
                     "label", "density", "items", items);
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
        json_array_append_new(panels, trace_panel(d, k));
        json_array_append_new(panels, density_panel(d, k));
    }
    json_t *scene = json_array_size(panels) == 0
                        ? NULL
                        : json_pack("{s:i, s:O}", "columns", 2, "panels", panels);
    char *text = scene ? json_dumps(scene, JSON_COMPACT) : NULL;
    json_decref(scene);
    json_decref(panels);
    return text;
}

static void write_file(void *user, int stream, const char *text, size_t len) {
    (void)stream;
    fwrite(text, 1, len, user);
}

static int draw(const char *scene, const struct args *a) {
    char err[200] = "";
    struct winsize ws = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    struct gpm_plot_options o = {.format = a->svg ? GPM_PLOT_SVG : GPM_PLOT_TEXT,
                                 .columns = ws.ws_col,
                                 .rows = 12,
                                 .colour = colour_wanted(STDOUT_FILENO)};
    FILE *to = a->svg ? fopen(a->svg, "w") : stdout;
    if (!to) return complain(EXIT_FAILED, "cannot write '%s': %s", a->svg, strerror(errno));
    enum gpm_status st = gpm_plot_json(scene, strlen(scene), &o, write_file, to, err, sizeof err);
    if (a->svg && fclose(to) != 0) {
        return complain(EXIT_FAILED, "cannot write '%s': %s", a->svg, strerror(errno));
    }
    return st == GPM_OK ? EXIT_FINE : complain(EXIT_FAILED, "%s", err);
}

static int run(const void *opts, int argc, char **argv) {
    (void)argc;
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
    {"column", 'c', OPTION_LIST, "NAME", "only this quantity; may be repeated (default: all)",
     offsetof(struct args, columns)},
};

const struct command command_plot = {
    .name = "plot",
    .args = "DIR",
    .summary = "Draws traces and densities of a run",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
