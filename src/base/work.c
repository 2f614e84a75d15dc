/* SPDX-License-Identifier: Apache-2.0
 * See work.h. */
#include "base/work.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"

static _Thread_local struct work_limits *limits;

struct work_limits *work_set_limits(struct work_limits *l) {
    struct work_limits *before = limits;
    limits = l;
    return before;
}

enum work_end work_look(void) {
    const struct work_limits *l = limits;
    if (!l) return WORK_GOES_ON;
    if (stop_asked(l->stop)) return WORK_STOPPED;
    if (l->deadline > 0 && clock_seconds() > l->deadline) return WORK_LATE;
    return l->max_memory && mem_held(l->max_memory) > l->max_memory ? WORK_LARGE : WORK_GOES_ON;
}

bool work_ends(void) {
    struct work_limits *l = limits;
    if (!l || !l->cuts || l->taken) return false;
    if (l->cut) return true;
    enum work_end end = work_look();
    if (!end) return false;
    double now = clock_seconds();
    if (l->since == 0) l->since = now;
    if (end == WORK_LARGE || now - l->since > l->patience) l->cut = end;
    return l->cut != WORK_GOES_ON;
}

bool work_room(size_t bytes) {
    struct work_limits *l = limits;
    if (!l || !l->cuts || l->taken || !l->max_memory) return true;
    bool room = bytes < l->max_memory && mem_held(l->max_memory - bytes) <= l->max_memory - bytes;
    if (!room && !l->cut) l->cut = WORK_LARGE;
    return room;
}

bool work_time(double seconds) {
    struct work_limits *l = limits;
    if (!l || !l->cuts || l->taken || l->deadline <= 0) return true;
    bool time =
        clock_seconds() + seconds / 2 < l->deadline; /* roughly: half the time must suffice */
    if (!time && !l->cut) l->cut = WORK_LATE;
    return time;
}

enum work_end work_was_cut(struct work_limits *l) {
    if (!l->cut || l->taken) return WORK_GOES_ON;
    l->taken = true;
    return l->cut;
}
