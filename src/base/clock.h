/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that only goes forward.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <pthread.h>

/* Seconds since some moment in the past; for differences. */
double clock_seconds(void);
/* A condition that can be waited for so many seconds, whatever happens to the time of day. */
void clock_cond_init(pthread_cond_t *c);
void clock_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, double seconds);
#endif
