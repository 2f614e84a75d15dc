/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the folders that `gpmem discover` keeps: the input is the files of one, each after
 * a line "@@ name". It is opened, reported in every format, asked, continued. Nothing may crash,
 * and a refusal says why. Run: fuzz_folder corpus/folder
 */
#include "fuzz/scratch.h"
#include "gpmem/discover.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"manifest.json", "structures.json", "data.csv", "chains.csv"};
enum { NAMES = sizeof names / sizeof names[0] };

static void unpack(const char *text, size_t size) {
    for (size_t i = 0; i < NAMES; i++) {
        char mark[40];
        int n = snprintf(mark, sizeof mark, "@@ %s\n", names[i]);
        const char *at = memmem(text, size, mark, (size_t)n);
        at = at ? at + n : text + size;
        const char *end = memmem(at, (size_t)(text + size - at), "@@ ", 3);
        scratch_write(names[i], at, (size_t)((end ? end : text + size) - at));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 65536) return 0;
    scratch("");
    unpack((const char *)data, size);
    gpm_discovery *d = gpm_discover_new();
    struct gpm_answer a;
    const char *csv;
    if (gpm_discover_open(d, scratch_dir) != GPM_OK) {
        if (!*gpm_discover_error(d)) abort();
    } else {
        for (int f = GPM_REPORT_TEXT; f <= GPM_REPORT_PROGRAM; f++)
            gpm_discover_report(d, (enum gpm_discover_format)f);
        if (gpm_discover_query(d, "LIN + any", &a) && !*gpm_discover_error(d)) abort();
        if (gpm_discover_forecast(d, 3, NULL, 0, 0.9, &csv) && !*gpm_discover_error(d)) abort();
    }
    gpm_discover_free(d);
    return 0;
}
