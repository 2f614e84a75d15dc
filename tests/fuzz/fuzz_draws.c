/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the tables of draws (Stan CSV): two chains from one text, summarised and written
 * as JSON. Run: fuzz_draws corpus/draws
 */
#include "gpmem/draws.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char err[200] = "";
    gpm_draws *d = gpm_draws_new();
    enum gpm_status st = gpm_draws_add_csv(d, (const char *)data, size, err, sizeof err);
    if (!st) st = gpm_draws_add_csv(d, (const char *)data, size, err, sizeof err);
    if (st && !err[0]) abort(); /* a refusal says why */
    gpm_draws_summary(d, GPM_FORMAT_TEXT);
    gpm_draws_summary(d, GPM_FORMAT_JSON);
    gpm_draws_complaints(d);
    gpm_draws_json(d);
    gpm_draws_free(d);
    return 0;
}
