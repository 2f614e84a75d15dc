/* SPDX-License-Identifier: Apache-2.0
 *
 * The parallel loop. A shared counter hands out jobs. If a job writes only its own results, they do
 * not depend on the thread that ran it. The loop uses fewer threads if BLAS lacks memory or the
 * system refuses them. */
#ifndef LA_PARALLEL_H
#define LA_PARALLEL_H
#include <stddef.h>

/* thread: 0 .. threads - 1, one at a time; it selects the workspace. */
typedef void (*la_job_fn)(void *ctx, size_t job, int thread);
/* Runs jobs 0 .. jobs - 1 on at most `threads` threads, including this one. */
void la_parallel(int threads, size_t jobs, la_job_fn fn, void *ctx);
#endif
