/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to stop: a flag that a signal handler or another thread sets while work goes on. It
 * orders nothing else, so relaxed accesses are enough; plain ones would be a data race.
 */
#ifndef BASE_STOP_H
#define BASE_STOP_H
#include <signal.h>
#include <stdbool.h>

/* `flag` may be NULL: nobody can ask. */
static inline bool stop_asked(const volatile sig_atomic_t *flag) {
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static inline void stop_set(volatile sig_atomic_t *flag, bool on) {
    __atomic_store_n(flag, on, __ATOMIC_RELAXED);
}
#endif
