/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that evaluate a source function whose maker said that it may be called from several at
 * once. The caller hands out points and takes results back on its own thread: stores and tables
 * are never touched by the workers. */
#ifndef SOURCE_POOL_H
#define SOURCE_POOL_H
#include "base/buf.h"
#include "source/runner.h"
#include "source/srcfn.h"

struct source_pool;
struct source_pool *source_pool_new(struct srcfn *s, int jobs); /* borrowed */
void source_pool_free(struct source_pool *p);                   /* waits for what runs */
int source_pool_running(const struct source_pool *p);
bool source_pool_full(const struct source_pool *p);
/* Starts f(x); x stays valid until the result is taken. The pool must not be full. */
void source_pool_start(struct source_pool *p, const double *x, size_t tag);
/* Waits up to `seconds` for a result; false: none yet. r->why is initialised. */
bool source_pool_wait(struct source_pool *p, double seconds, struct outcome *r);
#endif
