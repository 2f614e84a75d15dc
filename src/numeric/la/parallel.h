/* SPDX-License-Identifier: Apache-2.0
 *
 * The parallel loop: jobs are handed out by a shared counter, so results do not depend on who ran
 * them when a job writes only what is its own. Threads that BLAS has no memory for, or that the
 * system does not give, are done without.
 */
#ifndef LA_PARALLEL_H
#define LA_PARALLEL_H
#include <stddef.h>

/* thread: 0 .. threads - 1, one at a time: workspaces are found by it. */
typedef void (*la_job_fn)(void *ctx, size_t job, int thread);
/* Runs jobs 0 .. jobs - 1 on at most `threads` threads, this one among them. */
void la_parallel(int threads, size_t jobs, la_job_fn fn, void *ctx);
#endif
