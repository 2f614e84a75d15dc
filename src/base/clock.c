/* SPDX-License-Identifier: Apache-2.0
 *
 * See clock.h.
 */
#include "base/clock.h"
#include <math.h>
#include <time.h>

double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void clock_cond_init(pthread_cond_t *c) {
    pthread_condattr_t how;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(c, &how);
    pthread_condattr_destroy(&how);
}

void clock_cond_wait(pthread_cond_t *c, pthread_mutex_t *held, double seconds) {
    double end = clock_seconds() + seconds;
    struct timespec at = {.tv_sec = (time_t)end, .tv_nsec = (long)(1e9 * (end - floor(end)))};
    pthread_cond_timedwait(c, held, &at);
}
