/* SPDX-License-Identifier: Apache-2.0
 *
 * The plot specifications of VentureScript's plot and plotf: a few letters that say which columns
 * of a data set to draw, and how. One specification is one panel.
 *
 *     spec    = { geometry } { stream [scale] }      one to three streams: x, y, group
 *     geometry= p points | l lines | b bars | a area | h histogram | w (accepted, no effect)
 *     stream  = digits: data column of that number, from 0 | % the data column after the last one
 *               used | c iteration | t time | r particle
 *     scale   = d direct | l logarithmic
 *
 * One stream with points, lines, bars or area is y over the iteration; with a histogram (the
 * default of a lone stream is points) it is x. A third stream groups: one colour per value. No
 * stream at all means column 0, or column 1 over column 0 when the table has no iterations.
 */
#ifndef PLOT_SPEC_H
#define PLOT_SPEC_H
#include "gpmem/status.h"
#include "io/plot/scene.h"

struct plot_table {
    size_t rows, columns;
    const char *const *names;                  /* of the data columns */
    const double *const *data;                 /* data[column][row] */
    const double *iteration, *time, *particle; /* per row; NULL: the row's number, 0, 0 */
};

/* Adds a panel drawn by `spec` to the scene. GPM_E_FORMAT: a reason is in err. */
enum gpm_status plot_spec_panel(struct plot_scene *s, const char *spec, const struct plot_table *t,
                                struct buf *err) GPM_MUST_USE;
#endif
