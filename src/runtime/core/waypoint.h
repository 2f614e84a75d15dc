/* SPDX-License-Identifier: Apache-2.0
 *
 * The current place of a program, so that its state can be saved while it runs and another process
 * can resume it.
 *
 * A program is inside nested places: the instruction of its text, the round of a loop, the action
 * of a block, the transition of an operator. Each is a C function with a struct of what it needs to
 * resume, and a function that packs this struct (base/pack.h). The state can be saved at a point of
 * the innermost place (place_point). The process that reads it runs the same program: each function
 * finds its place (place_enter returns true) and resumes from there.
 *
 * This works only if the C stack holds nothing but such functions. A caller that calls one directly
 * announces it immediately before (place_hand). A function reached in another way, through the
 * evaluator, is not sound, nor is anything it calls; no state is saved there. */
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
    struct waypoint *outer; /* set by place_enter, as is `sound` */
    bool sound;
};
struct waypoints {
    struct waypoint *top; /* innermost, or NULL */
    bool handed;          /* the innermost place calls the next one directly */
    /* Reading: places not yet found. */
    struct pack *from;
    size_t left;
    void (*found)(struct session_core *core); /* all places were found: ends `from` */
    /* Writing; NULL: saving is off. */
    enum gpm_status (*save)(struct session_core *core);
    double next;   /* clock_seconds() of the next save */
    double asked;  /* when a stop was noticed; 0: not yet */
    bool stopping; /* the state was saved for the stop; the run ends */
    unsigned tick;
};

/* Returns true if the place is resumed; ctx then has its saved contents. */
bool place_enter(struct session_core *core, struct waypoint *p);
void place_leave(struct session_core *core, const struct waypoint *p);
/* The next call is made by a place. */
void place_hand(struct session_core *core);
/* Withdraws place_hand. */
void place_take(struct session_core *core);
/* Was this function handed a place that is being resumed? Its own place follows. */
bool place_resumes(const struct session_core *core);
/* The state may be saved here. A status other than GPM_OK ends the run. */
enum gpm_status place_point(struct session_core *core, const struct waypoint *p,
                            struct span at) GPM_MUST_USE;
/* May a requested stop wait for the next point? */
bool place_waits(struct session_core *core);
/* The longest time, in seconds, that a stop waits for the program. */
double place_patience(const struct session_core *core);
/* Packs all places, the outermost first. */
void places_pack(struct pack *p, struct session_core *core);
#endif
