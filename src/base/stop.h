/* SPDX-License-Identifier: Apache-2.0
 *
 * A request to stop: a flag that a signal handler or another thread sets while work goes on. It
 * orders nothing else, so relaxed accesses are enough; plain ones would be a data race. Haste: a
 * request or a time after which started work is finished quickly. */
#ifndef BASE_STOP_H
#define BASE_STOP_H
#include "base/clock.h"
#include <signal.h>
#include <stdbool.h>

/* `flag` may be NULL: never asked. */
static inline bool stop_asked(const volatile sig_atomic_t *flag) {
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

struct haste {
    const volatile sig_atomic_t *finish; /* may be NULL */
    double deadline;                     /* clock_seconds() */
};
static inline bool haste_now(const struct haste *h) {
    return h && (stop_asked(h->finish) || clock_seconds() > h->deadline);
}

static inline void stop_set(volatile sig_atomic_t *flag, bool on) {
    __atomic_store_n(flag, on, __ATOMIC_RELAXED);
}
#endif
