/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts from outside: options of the tool, members of option structs, arguments of the packages,
 * values of programs, rows of files. Each has one range, defined here. A value outside is refused
 * with a sentence, never wrapped or clipped. A negative number converted to unsigned is above every
 * range. */
#ifndef BASE_COUNT_H
#define BASE_COUNT_H
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

enum count_of {
    COUNT_ANY, /* all 64 bits: seeds, and limits that are only compared */
    COUNT_THREADS,
    COUNT_JOBS,
    COUNT_CHAINS,
    COUNT_TASKS, /* tasks of a scheduler */
    COUNT_HORIZON,
    COUNT_BACKTEST,
    COUNT_PATHS,
    COUNT_TOP,
    COUNT_INITIAL,
    COUNT_RETRIES,
    COUNT_POINTS, /* requested at once */
    COUNT_REPEAT,
    COUNT_STARTS,
    COUNT_DIM,
    COUNT_FEATURES, /* of a draw of a function; inducing points, neighbours */
    COUNT_CELLS,    /* columns and lines of a character picture */
    COUNT_SERIES    /* numbers in an index */
};

bool count_fits(enum count_of c, uint64_t n);
/* Accepts digits only. */
bool count_read(enum count_of c, const char *text, uint64_t *n);
/* "a whole number from 0 to 1024" */
void count_put_range(enum count_of c, struct buf *out);
/* GPM_E_ARG and a sentence about `name` ("--threads") if n is outside. */
GPM_MUST_USE enum gpm_status count_check(enum count_of c, const char *name, uint64_t n,
                                         struct buf *err);
#endif
