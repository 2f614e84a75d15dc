/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenes written as JSON, for scripts that draw figures:
 *
 *     {"title": "..", "description": "..", "columns": 2, "panels": [
 *       {"title": "..", "x": {"label": "..", "log": false, "min": 0, "max": 1}, "y": {..},
 *        "items": [
 *          {"type": "line", "label": "..", "x": [..], "y": [..], "colour": "blue", "dashed": true},
 *          {"type": "points", "x": [..], "y": [..]},
 *          {"type": "band", "x": [..], "low": [..], "high": [..], "opacity": 0.2},
 *          {"type": "bars", "x": [..], "y": [..], "width": 1},
 *          {"type": "names", "names": [".."], "y": [..], "error": [..]},
 *          {"type": "histogram", "x": [..], "bins": 20},
 *          {"type": "rule", "x": 3}, {"type": "rule", "y": 0},
 *          {"type": "note", "x": 1, "y": 2, "label": ".."}]}]}
 *
 * A null in an array of numbers is a gap. Keys that are not known are errors, so that a misspelt
 * one is found.
 */
#ifndef PLOT_SCENE_JSON_H
#define PLOT_SCENE_JSON_H
#include "gpmem/status.h"
#include "io/plot/scene.h"

/* GPM_E_FORMAT: err says what is wrong and where. The caller frees *out. */
enum gpm_status plot_scene_from_json(const char *text, size_t len, struct plot_scene **out,
                                     struct buf *err) GPM_MUST_USE;
#endif
