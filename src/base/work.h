/* SPDX-License-Identifier: Apache-2.0
 *
 * What ends the work of the calling thread: a request, a time, a size. Reading and waiting look at
 * it (base/file.h), programs between evaluations (runtime/core/core.h), and long walks and loops
 * inside one evaluation by work_ends().
 *
 * A walk that is given up leaves something that is not its result. So only an owner that takes back
 * everything that was computed since says `cuts`: it asks work_was_cut() before a result counts.
 */
#ifndef BASE_WORK_H
#define BASE_WORK_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum work_end { WORK_GOES_ON, WORK_STOPPED, WORK_LATE, WORK_LARGE };

/* Fields that are 0 end nothing. */
struct work_limits {
    const volatile sig_atomic_t *stop; /* base/stop.h */
    double deadline;                   /* clock_seconds() */
    size_t max_memory;                 /* bytes that the process may hold */
    bool cuts;                         /* work_ends() may be true */
    double patience; /* seconds for which requests and times are waited with, since a place where
                        the work ends without loss may be near */
    bool taken;      /* work_was_cut() has said so: going back is not cut again */
    enum work_end cut;
    double since; /* when a request or the end of the time was first seen; 0: not yet */
};

/* Borrowed until the next call; NULL: nothing ends it. Returns the one before. */
struct work_limits *work_set_limits(struct work_limits *l);

/* Whether the work should end now. */
enum work_end work_look(void);
/* Whether a walk or loop is to be given up, as soon as possible. It costs some microseconds: asked
 * by work_step() in loops of small steps. */
bool work_ends(void);
/* Whether `bytes` more may be held; if not, the work ends. */
bool work_room(size_t bytes);
/* Is there time for about this many seconds without a check? If not, the work ends. */
bool work_time(double seconds);
/* Why a walk was given up since the limits were set; then none is given up any more. */
enum work_end work_was_cut(struct work_limits *l);

/* n small steps of a walk, of which a few in a hundred thousand ask. */
static inline bool work_steps(size_t *steps, size_t n) {
    if ((*steps += n) < 1 << 14) return false;
    *steps = 0;
    return work_ends();
}
static inline bool work_step(size_t *steps) {
    return work_steps(steps, 1);
}
#endif
