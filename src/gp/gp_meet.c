/* SPDX-License-Identifier: Apache-2.0
 * Fibres that compute small processes meet on the card: chains of one program, each of which asks
 * for one likelihood at a time. What they want is taken there in one launch. */
#include "gp/gp_engine.h"

bool gp_meeting(void) {
    return fibre_here();
}

static void serve(struct parcel **all, size_t n) {
    gp_jobs_run((struct gp_job **)all, n); /* of which they are the first members */
}

enum gpm_status gp_meet(struct gp_job *t) {
    struct gp_job *only[] = {t};
    gp_job_begin(t);
    if (t->program && fibre_here())
        fibre_wait_for(&t->parcel, serve);
    else if (t->program)
        gp_jobs_run(only, 1);
    gp_job_end(t);
    return t->status;
}
