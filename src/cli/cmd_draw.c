/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem draw SCENE.json: a picture from a description in JSON; `make figures` uses it.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/plot.h"
#include <sys/ioctl.h>
#include <unistd.h>

struct args {
    int format;
    double width, height;
};

static void keep_picture(void *user, int stream, const char *text, size_t len) {
    buf_add(user, text, len);
}

bool draw_scene(const char *name, const char *json, size_t len, struct gpm_plot_options *o,
                const char *path) {
    char err[300] = "";
    struct winsize ws = {0};
    struct buf b = BUF_INIT;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    o->size = sizeof *o;
    o->columns = ws.ws_col;
    o->colour = colour_wanted(STDOUT_FILENO);
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

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    struct buf text = BUF_INIT;
    int status = EXIT_USAGE;
    if (read_text(argv[0], &text) == GPM_OK) {
        struct gpm_plot_options o = {.format = a->format ? GPM_PLOT_TEXT : GPM_PLOT_SVG,
                                     .width = a->width,
                                     .height = a->height};
        if (draw_scene(argv[0], text.data, text.len, &o, NULL)) status = EXIT_FINE;
    }
    buf_release(&text);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "svg|text", "what to write (default svg)",
     offsetof(struct args, format)},
    {"width", 0, OPTION_REAL, "PIXELS", "width of one panel (SVG; default by columns)",
     offsetof(struct args, width)},
    {"height", 0, OPTION_REAL, "PIXELS", "height of one panel (SVG; default half the width)",
     offsetof(struct args, height)},
};

COMMAND(draw) = {
    .place = 180,
    .name = "draw",
    .args = "SCENE",
    .summary = "Draws a picture described in JSON, as SVG or for the terminal",
    .text = "SCENE is a JSON file (or - for standard input): title, columns, panels with axes and "
            "items of\ntype line, points, band, bars, names, histogram, rule or note.",
    OPTIONS(rows, struct args),
    .takes = {1, 1},
    .run = run,
};
