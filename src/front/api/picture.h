/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene drawn as the options of a caller say.
 */
#ifndef API_PICTURE_H
#define API_PICTURE_H
#include "gpmem/plot.h"
#include "io/plot/scene.h"

/* GPM_E_ARG: more characters than a picture has. */
enum gpm_status plot_check(const struct gpm_plot_options *given, struct buf *err);
void plot_picture(const struct plot_scene *s, const struct gpm_plot_options *given,
                  struct buf *out);
#endif
