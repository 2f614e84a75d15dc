/* SPDX-License-Identifier: Apache-2.0
 *
 * See source_pool.h. As many threads as jobs, each with one place for a point and its result. */
#include "source/pool.h"

#include "base/clock.h"
#include "base/mem.h"
#include <pthread.h>
#include <time.h>

enum state { IDLE, GIVEN, DONE };
struct place {
    struct source_pool *pool;
    pthread_t thread;
    bool started;
    enum state state;
    const double *x;
    struct outcome r;
    pthread_cond_t wake;
};
struct source_pool {
    struct srcfn *s;
    struct place *at;
    int n, running;
    bool closing;
    pthread_mutex_t lock;
    pthread_cond_t done;
};

static void evaluate(struct source_pool *p, struct place *q) {
    double t = clock_seconds();
    q->r.ok = p->s->cls->evaluate(p->s, q->x, &q->r.y, NULL, &q->r.why) == GPM_OK;
    q->r.seconds = clock_seconds() - t;
}

static void *work(void *arg) {
    struct place *q = arg;
    struct source_pool *p = q->pool;
    pthread_mutex_lock(&p->lock);
    while (!p->closing || q->state == GIVEN) {
        if (q->state != GIVEN) {
            pthread_cond_wait(&q->wake, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        evaluate(p, q);
        pthread_mutex_lock(&p->lock);
        q->state = DONE;
        pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct source_pool *source_pool_new(struct srcfn *s, int jobs) {
    struct source_pool *p = NEW(struct source_pool);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    p->s = s;
    p->n = jobs;
    p->at = mem_zalloc((size_t)jobs * sizeof *p->at);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, &clock);
    for (int i = 0; i < jobs; i++) {
        p->at[i].pool = p;
        pthread_cond_init(&p->at[i].wake, NULL);
    }
    pthread_condattr_destroy(&clock);
    return p;
}

void source_pool_free(struct source_pool *p) {
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    for (int i = 0; i < p->n; i++) pthread_cond_signal(&p->at[i].wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n; i++) {
        if (p->at[i].started) pthread_join(p->at[i].thread, NULL);
        if (p->at[i].state == DONE) buf_release(&p->at[i].r.why);
        pthread_cond_destroy(&p->at[i].wake);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->done);
    mem_free(p->at);
    mem_free(p);
}

int source_pool_running(const struct source_pool *p) {
    return p->running;
}

bool source_pool_full(const struct source_pool *p) {
    return p->running == p->n;
}

void source_pool_start(struct source_pool *p, const double *x, size_t tag) {
    pthread_mutex_lock(&p->lock);
    struct place *q = p->at;
    while (q->state != IDLE) q++;
    q->x = x;
    q->r = (struct outcome){.tag = tag};
    buf_init(&q->r.why);
    q->state = GIVEN;
    p->running++;
    bool fresh = !q->started;
    if (fresh) q->started = pthread_create(&q->thread, NULL, work, q) == 0;
    pthread_cond_signal(&q->wake);
    bool none = !q->started; /* no thread to be had: here and now */
    pthread_mutex_unlock(&p->lock);
    if (!none) return;
    evaluate(p, q);
    q->state = DONE;
}

bool source_pool_wait(struct source_pool *p, double seconds, struct outcome *r) {
    double until = clock_seconds() + seconds;
    struct timespec at = {(time_t)until, (long)(1e9 * (until - (double)(time_t)until))};
    bool got = false, late = false;
    pthread_mutex_lock(&p->lock);
    while (!got && p->running) {
        for (int i = 0; i < p->n && !got; i++) {
            if (p->at[i].state != DONE) continue;
            *r = p->at[i].r;
            p->at[i].state = IDLE;
            p->running--;
            got = true;
        }
        if (got || late) break;
        late = pthread_cond_timedwait(&p->done, &p->lock, &at) != 0;
    }
    pthread_mutex_unlock(&p->lock);
    return got;
}
