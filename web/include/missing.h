/* SPDX-License-Identifier: Apache-2.0
 *
 * What emscripten's C library does not have; the bodies are in web/none.c.
 */
#ifndef WEB_MISSING_H
#define WEB_MISSING_H
#include <stddef.h>
void qsort_r(void *at, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx);
/* glibc's mutex that spins before it sleeps: a single thread never waits for one. */
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP PTHREAD_MUTEX_INITIALIZER
#endif
