/* SPDX-License-Identifier: Apache-2.0
 * Fibres that compute small processes meet on the card: chains of one program, each of which asks
 * for one likelihood at a time. What they want is taken there in one launch. */
#include "gp/gp_engine.h"

#include "base/mem.h"

bool gp_meeting(void) {
    return fibre_here();
}

static void serve(struct parcel *first) {
    static VEC(struct gp_job *) jobs; /* of the one thread that serves */
    jobs.n = 0;
    for (struct parcel *p = first; p; p = p->next) {
        struct gp_job *t = (struct gp_job *)p; /* its first member */
        vec_push(&jobs, t);
    }
    gp_jobs_run(jobs.at, jobs.n);
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
