/* SPDX-License-Identifier: Apache-2.0
 *
 * See count.h.
 */
#include "base/count.h"
#include "base/ascii.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    uint64_t least, most;
} ranges[] = {
    [COUNT_ANY] = {0, UINT64_MAX},   [COUNT_THREADS] = {0, 1024},  [COUNT_JOBS] = {0, 4096},
    [COUNT_CHAINS] = {1, 1024},      [COUNT_TASKS] = {1, 1000000}, [COUNT_HORIZON] = {0, 100000},
    [COUNT_BACKTEST] = {0, 1000},    [COUNT_PATHS] = {0, 10000},   [COUNT_TOP] = {1, 1000000000},
    [COUNT_INITIAL] = {0, 1000000},  [COUNT_RETRIES] = {0, 1000},  [COUNT_POINTS] = {0, 100000},
    [COUNT_REPEAT] = {0, 1000000},   [COUNT_STARTS] = {0, 10000},  [COUNT_DIM] = {1, 10000},
    [COUNT_FEATURES] = {0, 1000000}, [COUNT_CELLS] = {0, 10000},   [COUNT_SERIES] = {1, 50000000},
};

bool count_fits(enum count_of c, uint64_t n) {
    return n >= ranges[c].least && n <= ranges[c].most;
}

bool count_read(enum count_of c, const char *text, uint64_t *n) {
    char *end;
    if (!ascii_digit(text[0])) return false;
    errno = 0;
    *n = strtoull(text, &end, 10);
    return errno == 0 && !*end && count_fits(c, *n);
}

void count_put_range(enum count_of c, struct buf *out) {
    unsigned long long least = ranges[c].least, most = ranges[c].most;
    if (c == COUNT_ANY)
        buf_puts(out, "a whole number, 0 or more");
    else
        buf_printf(out, "a whole number from %llu to %llu", least, most);
}

enum gpm_status count_check(enum count_of c, const char *name, uint64_t n, struct buf *err) {
    if (count_fits(c, n)) return GPM_OK;
    buf_printf(err, "%s must be ", name);
    count_put_range(c, err);
    return GPM_E_ARG;
}
