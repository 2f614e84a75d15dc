/* SPDX-License-Identifier: Apache-2.0
 *
 * See waypoint.h.
 */
#include "runtime/core/waypoint.h"

#include "base/clock.h"
#include "base/fibres.h"
#include "base/stop.h"
#include "runtime/core/core.h"

/* Seconds that a stop waits for a point. */
#define PATIENCE      5.0
#define WALK_PATIENCE .25

void place_hand(struct session_core *core) {
    core->places.handed = true;
}

void place_take(struct session_core *core) {
    core->places.handed = false;
}

bool place_resumes(const struct session_core *core) {
    return core->places.handed && core->places.from;
}

bool place_enter(struct session_core *core, struct waypoint *p) {
    struct waypoints *s = &core->places;
    p->outer = s->top;
    p->sound = s->handed && (!s->top || s->top->sound);
    s->handed = false;
    s->top = p;
    struct pack *from = s->from;
    if (!from) return false;
    from->stack_limit = core->stack_limit; /* saved on another stack */
    if (pack_choice(from, 0, PLACE_KINDS) != p->kind || !p->sound)
        pack_fail(from, "the program has no such place");
    else
        p->pack(from, p->ctx);
    bool ok = pack_ok(from);
    if (!ok) core_must(core, GPM_E_ARG, "the checkpoint does not fit the program");
    if (--s->left == 0 || !ok) {
        s->from = NULL;
        s->found(core);
    }
    return ok;
}

void place_leave(struct session_core *core, const struct waypoint *p) {
    core->places.top = p->outer;
    core->places.handed = false;
}

static bool must_stop(const struct session_core *core, double now) {
    return stop_asked(core->limits.stop) ||
           (core->limits.deadline > 0 && now > core->limits.deadline);
}

double place_patience(const struct session_core *core) {
    return core->places.save ? PATIENCE : WALK_PATIENCE;
}

bool place_waits(struct session_core *core) {
    struct waypoints *s = &core->places;
    if (!s->save || s->stopping || !s->top) return false;
    double now = clock_seconds();
    if (!s->asked) s->asked = now;
    return now - s->asked < PATIENCE;
}

enum gpm_status place_point(struct session_core *core, const struct waypoint *p, struct span at) {
    struct waypoints *s = &core->places;
    fibre_passed();
    s->handed = false;
    if (!s->save || !p->sound || s->top != p || s->from) return GPM_OK;
    bool asked = stop_asked(core->limits.stop);
    if (!asked && !s->asked && (++s->tick & 15)) return GPM_OK; /* the clock has a small cost */
    double now = clock_seconds();
    bool stop = must_stop(core, now);
    if (!stop && now < s->next) return GPM_OK;
    enum gpm_status st = s->save(core);
    if (st != GPM_OK || !stop) return st;
    s->stopping = true;
    return core_stop(core, at);
}

static void pack_places(struct pack *p, struct waypoint *at) {
    if (!at) return;
    pack_places(p, at->outer);
    (void)pack_choice(p, at->kind, PLACE_KINDS);
    at->pack(p, at->ctx);
}

void places_pack(struct pack *p, struct session_core *core) {
    struct waypoints *s = &core->places;
    size_t n = 0;
    for (struct waypoint *at = s->top; at; at = at->outer) n++;
    pack_count(p, &n, 1);
    if (p->reading)
        s->left = n;
    else
        pack_places(p, s->top);
}
