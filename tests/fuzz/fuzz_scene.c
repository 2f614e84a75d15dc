/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenes in JSON through both renderers.
 */
#include "gpmem/plot.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop(void *user, int stream, const char *text, size_t len) {
    (void)user;
    (void)stream;
    (void)text;
    (void)len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char err[200];
    struct gpm_plot_options o = {.size = sizeof o, .format = GPM_PLOT_SVG};
    if (size > 4096) return 0;
    if (gpm_plot_json((const char *)data, size, &o, drop, NULL, err, sizeof err) != GPM_OK)
        return 0;
    o.format = GPM_PLOT_TEXT;
    (void)gpm_plot_json((const char *)data, size, &o, drop, NULL, err, sizeof err);
    return 0;
}
