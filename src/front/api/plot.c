/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_plot_json: scenes for scripts.
 */
#include "gpmem/plot.h"
#include "front/api/call.h"
#include "front/api/picture.h"
#include "base/count.h"
#include "io/plot/scene_json.h"
#include <math.h>
#include <stdio.h>

void gpm_plot_options_init_sized(struct gpm_plot_options *o, size_t size) {
    static const struct gpm_plot_options defaults;
    options_give(o, size, &defaults, sizeof defaults);
}

void plot_picture(const struct plot_scene *s, const struct gpm_plot_options *given,
                  struct buf *out) {
    struct gpm_plot_options o = {0};
    options_take(&o, sizeof o, given);
    if (o.format == GPM_PLOT_TEXT)
        plot_terminal(s, &(struct plot_terminal_options){o.columns, o.rows, o.colour}, out);
    else
        plot_svg(s, &(struct plot_svg_options){.panel_width = o.width, .panel_height = o.height},
                 out);
}

/* A size in pixels has the range of a number of cells; what is below it or no number is outside. */
static uint64_t cells_of(double pixels) {
    return pixels >= 0 && pixels < UINT32_MAX ? (uint64_t)ceil(pixels) : UINT64_MAX;
}

enum gpm_status plot_check(const struct gpm_plot_options *given, struct buf *err) {
    struct gpm_plot_options o = {0};
    options_take(&o, sizeof o, given);
    enum gpm_status st = count_check(COUNT_CELLS, "the number of columns", o.columns, err);
    if (!st) st = count_check(COUNT_CELLS, "the number of rows", o.rows, err);
    if (!st) st = count_check(COUNT_CELLS, "the width of a panel", cells_of(o.width), err);
    return st ? st : count_check(COUNT_CELLS, "the height of a panel", cells_of(o.height), err);
}

enum gpm_status gpm_plot_json(const char *json, size_t len, const struct gpm_plot_options *o,
                              gpm_write_fn *write, void *user, char *err, size_t err_size) {
    struct plot_scene *s;
    struct buf out = BUF_INIT;
    enum gpm_status st = plot_check(o, &out);
    if (!st) st = plot_scene_from_json(json, len, &s, &out);
    if (st != GPM_OK) {
        if (err) snprintf(err, err_size, "%s", out.data);
        buf_release(&out);
        return st;
    }
    plot_picture(s, o, &out);
    write(user, 1, out.data, out.len);
    buf_release(&out);
    plot_scene_free(s);
    return GPM_OK;
}
