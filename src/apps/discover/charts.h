/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures of a run: data with forecast, and each component; for pages and for terminals.
 */
#ifndef DISCOVER_CHARTS_H
#define DISCOVER_CHARTS_H
#include "apps/discover/discovery.h"
#include "io/plot/scene.h"

/* Panels that are added to a scene. */
struct plot_panel *chart_forecast(const struct discovery *d, struct plot_scene *s,
                                  const char *title);
struct plot_panel *chart_part(const struct discovery *d, int part, struct plot_scene *s,
                              const char *title);
/* 95% interval of a component at its n times. */
void chart_part_interval(const struct series_part *p, size_t n, double *lo, double *hi);

/* The forecast and the components by their names ("forecast", "SE*PER"), all when only is empty.
 * GPM_E_ARG: an unknown name. The caller frees the scene. */
GPM_MUST_USE enum gpm_status discovery_scene(const struct discovery *d, const char *const *only,
                                             size_t n_only, struct plot_scene **out,
                                             struct buf *err);
#endif
