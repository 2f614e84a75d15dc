/* SPDX-License-Identifier: Apache-2.0
 * Threads over a shared counter; contract in parallel.h. */
#include "numeric/la/parallel.h"
#include "numeric/la/parts.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include <pthread.h>
#include <stdatomic.h>

struct job_range {
    atomic_size_t next;
    size_t jobs;
    la_job_fn fn;
    void *ctx;
};
struct worker {
    struct job_range *pool;
    int thread;
    pthread_t id;
};

static void *work(void *arg) {
    struct worker *w = arg;
    for (;;) {
        size_t job = atomic_fetch_add(&w->pool->next, 1);
        if (job >= w->pool->jobs) return NULL;
        w->pool->fn(w->pool->ctx, job, w->thread);
    }
}

void la_parallel(int threads, size_t jobs, la_job_fn fn, void *ctx) {
    struct job_range pool = {.jobs = jobs, .fn = fn, .ctx = ctx};
    atomic_init(&pool.next, 0);
    if ((size_t)threads > jobs) threads = (int)jobs;
    if (parts_many()) threads = 1; /* all parts must add sums in the same order */
    struct worker *w = NEW_ARRAY(struct worker, (size_t)(threads > 0 ? threads : 1));
    int started = 1;
    while (threads > 1 && !la_enter((size_t)threads)) threads--; /* this thread may lack a buffer */
    for (int i = 1; i < threads; i++) {
        w[started] = (struct worker){&pool, started, 0};
        if (pthread_create(&w[started].id, NULL, work, &w[started]) == 0) started++;
    }
    w[0] = (struct worker){&pool, 0, 0};
    work(&w[0]);
    for (int i = 1; i < started; i++) pthread_join(w[i].id, NULL);
    if (threads > 1) la_leave((size_t)threads);
    mem_free(w);
}
