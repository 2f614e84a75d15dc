/* SPDX-License-Identifier: Apache-2.0
 * Fibres that compute small processes meet on the card: chains of one program, each of which asks
 * for one likelihood at a time. What they want is taken there in one launch. */
#include "gp/process/gp_engine.h"

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
