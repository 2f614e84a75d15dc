/* SPDX-License-Identifier: Apache-2.0
 * Threads that compute small processes meet on the card: chains of one program, each of which asks
 * for one likelihood at a time. Whoever comes last, or has waited too long, takes what all of them
 * want there in one launch. They wake each other along a tree: waking a thousand one after the
 * other would take longer than the launch. */
#include "gp/gp_engine.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define PATIENCE 0.004 /* seconds to wait for others that compute something else */

struct guest {
    struct gp_job *job;
    sem_t wake;
    struct guest *wakes[2];
};
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static size_t present;              /* threads that take part */
static VEC(struct guest *) waiting; /* their jobs are on the table */
static _Thread_local bool here;

void gp_meeting_join(void) {
    pthread_mutex_lock(&door);
    present++;
    pthread_mutex_unlock(&door);
    here = true;
}

bool gp_meeting(void) {
    return here;
}

/* Takes all that wait, the caller among them or not; the lock is given back. */
static void serve(struct guest *me) {
    size_t n = waiting.n;
    struct guest **all = waiting.at;
    waiting.at = NULL, waiting.n = waiting.cap = 0;
    pthread_mutex_unlock(&door);
    struct gp_job **jobs = NEW_ARRAY(struct gp_job *, n + 1);
    for (size_t i = 0; i < n; i++) jobs[i] = all[i]->job;
    gp_jobs_run(jobs, n);
    mem_free(jobs);
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i] != me) all[others++] = all[i];
    for (size_t i = 0; i < others; i++) /* before anyone runs on */
        for (size_t c = 0; c < 2; c++)
            all[i]->wakes[c] = 2 * i + 1 + c < others ? all[2 * i + 1 + c] : NULL;
    struct guest *first = others ? all[0] : NULL;
    mem_free(all);
    if (first) sem_post(&first->wake);
}

void gp_meeting_leave(void) {
    here = false;
    pthread_mutex_lock(&door);
    present--;
    if (waiting.n && waiting.n >= present)
        serve(NULL); /* the others waited for this one */
    else
        pthread_mutex_unlock(&door);
}

/* Still on the table: nobody took it. */
static bool impatient(struct guest *me) {
    pthread_mutex_lock(&door);
    for (size_t i = 0; i < waiting.n; i++)
        if (waiting.at[i] == me) {
            serve(me);
            return true;
        }
    pthread_mutex_unlock(&door);
    return false;
}

enum gpm_status gp_meet(struct gp_job *t) {
    struct guest me = {.job = t};
    if (!here) {
        struct gp_job *only[] = {t};
        gp_jobs_run(only, 1);
        return t->status;
    }
    sem_init(&me.wake, 0, 0);
    pthread_mutex_lock(&door);
    struct guest *self = &me;
    vec_push(&waiting, self);
    if (waiting.n >= present)
        serve(&me);
    else {
        pthread_mutex_unlock(&door);
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += (long)(PATIENCE * 1e9);
        if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
        int rc;
        while ((rc = sem_timedwait(&me.wake, &end)) && errno == EINTR) {
        }
        bool served = rc != 0 && impatient(&me);
        if (rc != 0 && !served)
            while (sem_wait(&me.wake)) {
            } /* somebody has it */
        for (size_t c = 0; c < 2 && !served; c++)
            if (me.wakes[c]) sem_post(&me.wakes[c]->wake);
    }
    sem_destroy(&me.wake);
    return t->status;
}
