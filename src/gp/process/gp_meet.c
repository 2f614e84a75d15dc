/* SPDX-License-Identifier: Apache-2.0
 * Fibres that compute small processes meet on the card: chains of one program, each of which asks
 * for one likelihood at a time. What they want is taken there in one launch. */
#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

bool gp_meeting(void) {
    return fibre_here();
}

/* Parcels are the first members of jobs. */
static void *begin(struct parcel **all, size_t n, bool wait) {
    return gp_jobs_begin((struct gp_job **)all, n, wait);
}
static bool ended(void *ticket) {
    return gp_jobs_ended(ticket);
}
static void end(void *ticket) {
    gp_jobs_end(ticket);
}
static const struct parcel_service on_card = {begin, ended, end};

enum gpm_status gp_meet(struct gp_job *t) {
    struct gp_job *only[] = {t};
    gp_job_begin(t);
    if (t->program && fibre_here())
        fibre_wait_for(&t->parcel, &on_card);
    else if (t->program)
        gp_jobs_run(only, 1);
    gp_job_end(t);
    return t->status;
}

/* ---- the way ---- */

/* A trajectory wants the gradient where it has asked for the likelihood: it then comes with it,
 * until so many have come without being asked for. */
enum { SLOPES_FOLLOW = 2 };

/* Of this processor nothing is taken. */
static double cost(struct gp_question *q) {
    struct gp_job t = {.g = q->g, .s = q->s};
    bool there = q->want && q->s->have_logml && q->s->have_slopes;
    q->why = "not among the fibres of a GPU";
    if (!there && !(gp_meeting() && gp_job_fits(&t))) return INFINITY;
    q->why = "slopes of a mean function";
    return q->want && q->want->dmean ? INFINITY : 0;
}

static enum gpm_status answer(struct gp_question *q, bool *done) {
    struct gp *g = q->g;
    struct gp_job t = {.g = g, .s = q->s, .slopes = q->want || g->slopes_follow > 0};
    enum gpm_status st = GPM_OK;
    *done = q->want && q->s->have_logml && q->s->have_slopes;
    if (!*done) st = gp_meet(&t);
    *done |= t.done;
    if (!*done || !q->want) return st;
    gp_slot_slopes(g, q->s, q->want->dkern, q->want->dnoise);
    g->slopes_follow = SLOPES_FOLLOW;
    return st;
}

const struct gp_way gp_way_card =
    GP_WAY("small on a GPU", GP_EXACT,
           GP_DOES_VALUE | GP_DOES_SLOPES | GP_DOES_COLUMNS | GP_DOES_EXACT, 0);
