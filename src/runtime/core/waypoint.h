/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a program stands, so that its state can be written while it runs and another process goes
 * on from there.
 *
 * A program stands at a nest of places: the instruction of its text, the round of a loop, the
 * action of a block, the transition of an operator. Each is a C function with a struct of what it
 * needs to go on, and a function that packs it (base/pack.h). At a point of the innermost one
 * (place_point) the state can be written; the process that reads it runs the same program, in which
 * each function finds its place (place_enter gives true) and goes on from there instead of
 * beginning.
 *
 * That is possible when the C stack holds nothing but such functions. A caller that calls one
 * directly says so right before (place_hand); one that was reached by another way, through the
 * evaluator, is not sound, nor is anything inside it, and nothing is written there.
 */
#ifndef CORE_WAYPOINT_H
#define CORE_WAYPOINT_H
#include "base/pack.h"
#include "gpmem/status.h"
#include "language/lang/source.h"
#include <stdbool.h>

struct session_core;

enum place_kind {
    PLACE_PROGRAM,
    PLACE_FOR,
    PLACE_INSTRUCTION,
    PLACE_ACTION,
    PLACE_BLOCK,
    PLACE_LOOP,
    PLACE_OPERATOR,
    PLACE_TRANSITIONS,
    PLACE_KINDS
};
struct waypoint {
    enum place_kind kind;
    void (*pack)(struct pack *p, void *ctx);
    void *ctx;
    struct waypoint *outer; /* set by place_enter, as is the next */
    bool sound;
};
struct waypoints {
    struct waypoint *top; /* innermost; NULL: none */
    bool handed;          /* the next one is called by the innermost directly */
    /* reading: the places that have not been found yet */
    struct pack *from;
    size_t left;
    void (*found)(struct session_core *core); /* all were: ends `from` */
    /* writing; NULL: nobody asks for it */
    enum gpm_status (*save)(struct session_core *core);
    double next;   /* clock_seconds() when it is due */
    double asked;  /* when a stop was noticed; 0: not yet */
    bool stopping; /* the state was written for it: the run ends */
    unsigned tick;
};

/* True: it is resumed, and ctx is as it was. */
bool place_enter(struct session_core *core, struct waypoint *p);
void place_leave(struct session_core *core, const struct waypoint *p);
/* The next call is one of a place. */
void place_hand(struct session_core *core);
/* The next call is none after all. */
void place_take(struct session_core *core);
/* Was this function handed a place that is resumed? Its place follows. */
bool place_resumes(const struct session_core *core);
/* The state may be written here. Not GPM_OK: the run is to end. */
enum gpm_status place_point(struct session_core *core, const struct waypoint *p,
                            struct span at) GPM_MUST_USE;
/* May a stop that was asked for wait for the next point? */
bool place_waits(struct session_core *core);
/* For how many seconds a program may be waited for, at most. */
double place_patience(const struct session_core *core);
/* All places, the outermost first. */
void places_pack(struct pack *p, struct session_core *core);
#endif
