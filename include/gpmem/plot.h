/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures from JSON: one scene, drawn as SVG or as text for a terminal. src/io/plot/scene_json.h
 * describes the scene. Needs no session.
 */
#ifndef GPMEM_PLOT_H
#define GPMEM_PLOT_H
#include "gpmem/gpmem.h"
#if defined(__cplusplus)
extern "C" {
#endif

enum gpm_plot_format { GPM_PLOT_SVG, GPM_PLOT_TEXT };

struct gpm_plot_options {
    size_t size; /* set by init */
    enum gpm_plot_format format;
    double width, height;   /* SVG: pixels of one panel; 0: defaults */
    unsigned columns, rows; /* text: width of the terminal, lines of one panel; 0: 80, 18 */
    bool colour;            /* text: ANSI colours */
};
GPM_API void gpm_plot_options_init_sized(struct gpm_plot_options *o, size_t size);
static inline void gpm_plot_options_init(struct gpm_plot_options *o) {
    gpm_plot_options_init_sized(o, sizeof *o);
}

/* Draws the scene and hands the picture to `write` (stream 1). GPM_E_FORMAT: err says what is wrong
 * with the JSON. */
GPM_API enum gpm_status gpm_plot_json(const char *json, size_t len,
                                      const struct gpm_plot_options *o, gpm_write_fn *write,
                                      void *user, char *err, size_t err_size);
#if defined(__cplusplus)
}
#endif
#endif
