/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts from outside: what options of the tool, members of option structs, arguments of the
 * packages, values of programs and rows of files say of how many. Each has one range, here. What
 * lies outside is refused with a sentence; nothing is wrapped, cut or believed. A negative number
 * that a caller's language made unsigned lies above every range.
 */
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
    COUNT_TASKS, /* of a scheduler */
    COUNT_HORIZON,
    COUNT_BACKTEST,
    COUNT_PATHS,
    COUNT_TOP,
    COUNT_INITIAL,
    COUNT_RETRIES,
    COUNT_POINTS, /* asked for at once */
    COUNT_REPEAT,
    COUNT_STARTS,
    COUNT_DIM,
    COUNT_FEATURES, /* of a draw of a function; inducing points, neighbours */
    COUNT_CELLS,    /* columns and lines of a picture of characters */
    COUNT_SERIES    /* numbers of an index */
};

bool count_fits(enum count_of c, uint64_t n);
/* Digits and nothing else. */
bool count_read(enum count_of c, const char *text, uint64_t *n);
/* "a whole number from 0 to 1024" */
void count_put_range(enum count_of c, struct buf *out);
/* GPM_E_ARG and a sentence about what is called `name` ("--threads") where n lies outside. */
GPM_MUST_USE enum gpm_status count_check(enum count_of c, const char *name, uint64_t n,
                                         struct buf *err);
#endif
