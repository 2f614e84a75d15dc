/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures drawn by actions: on the terminal, or as an SVG file if the program may write files. */
#ifndef INFER_SHOW_H
#define INFER_SHOW_H
#include "inference/run/infer.h"
#include "io/plot/scene.h"

/* file NULL: on the terminal, with `rows` lines per panel (0: the renderer's default). */
enum gpm_status infer_show(struct infer_state *x, const struct plot_scene *s, const char *file,
                           unsigned rows) GPM_MUST_USE;
/* An error unless the host permits programs this action (such as "write") on the named file; for
 * rows that declare SP_WRITES. */
enum gpm_status infer_may(struct infer_state *x, const char *verb, const char *name) GPM_MUST_USE;
#endif
