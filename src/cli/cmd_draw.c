/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem draw SCENE.json: a picture from a description in JSON; `make figures` uses it.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/plot.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct args {
    int format;
    double width, height;
};

static void write_stdout(void *user, int stream, const char *text, size_t len) {
    out_drawn(1, text, len);
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    char err[300] = "";
    struct buf text = BUF_INIT;
    if (read_text(argv[0], &text) != GPM_OK) {
        buf_release(&text);
        return EXIT_USAGE;
    }
    struct winsize ws = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    struct gpm_plot_options o = {.size = sizeof o,
                                 .format = a->format ? GPM_PLOT_TEXT : GPM_PLOT_SVG,
                                 .width = a->width,
                                 .height = a->height,
                                 .columns = ws.ws_col,
                                 .colour = colour_wanted(STDOUT_FILENO)};
    enum gpm_status st =
        gpm_plot_json(text.data, text.len, &o, write_stdout, NULL, err, sizeof err);
    buf_release(&text);
    if (st != GPM_OK) return complain(EXIT_USAGE, "%s: %s", argv[0], err);
    return EXIT_FINE;
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
