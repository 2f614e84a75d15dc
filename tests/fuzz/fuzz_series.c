/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a CSV file of a time series: read or refused with a message, never worse.
 */
#include "discover/series.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct series s;
    struct buf err = BUF_INIT;
    struct series_options o = {.skip_bad = size && data[0] & 1};
    if (series_parse(&s, "fuzz", (const char *)data, size, &o, &err) == GPM_OK) {
        for (size_t i = 1; i < s.n; i++)
            if (!(s.x[i] >= s.x[i - 1])) abort();
        struct buf b = BUF_INIT;
        series_print_time(s.kind, s.unit, s.x[0], &b);
        buf_release(&b);
        series_release(&s);
    } else if (err.len == 0) {
        abort(); /* a refusal says why */
    }
    buf_release(&err);
    return 0;
}
