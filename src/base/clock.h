/* SPDX-License-Identifier: Apache-2.0
 *
 * Monotonic time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <pthread.h>

/* Seconds since an arbitrary moment; for differences. */
double clock_seconds(void);
/* A condition with a timeout in seconds, independent of changes of the time of day. */
void clock_cond_init(pthread_cond_t *c);
void clock_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, double seconds);
#endif
