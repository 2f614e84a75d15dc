/* SPDX-License-Identifier: Apache-2.0
 *
 * Many processes at once, for the test and the bench of jobs: each item is what gp_propose and
 * gp_grad_weighted do to one process. On a GPU the small ones of equal shape are one launch.
 */
#ifndef SUPPORT_GP_BATCH_H
#define SUPPORT_GP_BATCH_H
#include "base/mem.h"
#include "gp/process/gp.h"
#include "gp/process/gp_engine.h"

struct gp_batch_item {
    struct gp *g; /* no two items have the same one */
    const struct kern *kern;
    const struct mean *mean; /* NULL: zero */
    double noise;
    double *dkern, *dmean, *dnoise; /* dkern NULL: no gradient; the others may be NULL */
    double logml;                   /* out; -inf where the matrix cannot be factored */
    enum gpm_status status;         /* out, as gp_propose gives it */
};

static void gp_batch_alone(struct gp_batch_item *t, struct gp_slot *s) {
    t->status = gp_slot_logml(t->g, s);
    if (t->status == GPM_E_NOT_PD) t->status = GPM_OK;
    t->logml = s->logml;
    if (t->status || !t->dkern || t->logml == -INFINITY) return;
    t->status = gp_grad_weighted(t->g, 1, &t->logml, t->dkern, t->dmean, t->dnoise);
}

/* The first failure; every item holds its proposal then (gp_accept). */
static enum gpm_status gp_batch(struct gp_batch_item *items, size_t n) {
    struct gp_job *jobs = mem_zalloc((n + 1) * sizeof *jobs),
                  **fit = NEW_ARRAY(struct gp_job *, n + 1);
    enum gpm_status st = GPM_OK;
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        struct gp_batch_item *t = &items[i];
        jobs[i].g = t->g;
        jobs[i].slopes = t->dkern != NULL;
        t->status = gp_proposed(t->g, t->kern, t->mean, t->noise, &jobs[i].s);
        if (t->status || !gp_job_fits(&jobs[i])) continue;
        gp_job_begin(&jobs[i]);
        if (!jobs[i].status && jobs[i].program) fit[m++] = &jobs[i];
    }
    gp_jobs_run(fit, m);
    for (size_t i = 0; i < n; i++) {
        struct gp_batch_item *t = &items[i];
        gp_job_end(&jobs[i]);
        if (!t->status) t->status = jobs[i].status;
        if (!t->status && !jobs[i].done)
            gp_batch_alone(t, jobs[i].s);
        else if (!t->status)
            t->logml = jobs[i].s->logml;
        if (jobs[i].done && t->dkern) gp_slot_slopes(t->g, jobs[i].s, t->dkern, t->dnoise);
        if (t->status && t->status != GPM_E_ARG) gp_reject(t->g);
        if (!st) st = t->status;
    }
    mem_free(jobs);
    mem_free(fit);
    return st;
}
#endif
