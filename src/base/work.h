/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that end the work of the calling thread: a request, a time, a size. Reading and waiting
 * check them (base/file.h), and programs between evaluations (runtime/core/core.h). Long walks and
 * loops inside one evaluation use work_ends().
 *
 * An abandoned walk leaves an invalid result. So `cuts` is set only by owners that undo everything
 * computed since: they call work_was_cut() before a result counts. */
#ifndef BASE_WORK_H
#define BASE_WORK_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum work_end { WORK_GOES_ON, WORK_STOPPED, WORK_LATE, WORK_LARGE };

/* A field that is 0 sets no limit. */
struct work_limits {
    const volatile sig_atomic_t *stop; /* base/stop.h */
    double deadline;                   /* clock_seconds() */
    size_t max_memory;                 /* bytes that the process may hold */
    bool cuts;                         /* work_ends() may be true */
    double patience; /* how long, in seconds, a request or deadline waits for a nearby point where
                        the work can end without loss */
    bool taken;      /* work_was_cut() has reported it: the undoing is not cut again */
    enum work_end cut;
    double since; /* first time a request or the deadline was noticed; 0: not yet */
};

/* Borrowed until the next call; NULL: no limits. Returns the previous one. */
struct work_limits *work_set_limits(struct work_limits *l);

/* Should the work end now? */
enum work_end work_look(void);
/* Should a walk or loop stop as soon as possible? It costs some microseconds, so loops of small
 * steps call it through work_step(). */
bool work_ends(void);
/* May `bytes` more be held? If not, the work ends. */
bool work_room(size_t bytes);
/* Is there time for about this many seconds without a check? If not, the work ends. */
bool work_time(double seconds);
/* The reason why a walk was abandoned since the limits were set; afterwards no walk is
 * abandoned. */
enum work_end work_was_cut(struct work_limits *l);

/* n small steps of a walk; a few in a hundred thousand check the limits. */
static inline bool work_steps(size_t *steps, size_t n) {
    if ((*steps += n) < 1 << 14) return false;
    *steps = 0;
    return work_ends();
}
static inline bool work_step(size_t *steps) {
    return work_steps(steps, 1);
}
#endif
