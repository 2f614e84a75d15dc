/* SPDX-License-Identifier: Apache-2.0
 *
 * See fibres.h. Everybody has one writer's end of everything: a worker takes the fibres that are
 * ready for it, and leaves the parcels of those that wait; the server takes the parcels of all
 * workers, and makes their fibres ready. Both are lists that are pushed onto and taken as a whole.
 *
 * A fibre may be made ready before it has left its thread: its worker looks only after that. */
#include "base/fibres.h"

#include "base/cores.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { PATIENCE = 2000000 }; /* nanoseconds to wait for fibres that compute something else */
enum { SPINS = 2000 };       /* looks before sleeping, where there are cores for it */

/* Somebody who sleeps when there is nothing to do. */
struct sleeper {
    atomic_bool asleep;
    sem_t wake;
};

/* A stack as the sanitizer wants to know it. */
struct side {
    ucontext_t at;
    const void *stack;
    size_t size;
    void *fake;
};

struct worker;
struct fibre {
    struct side side;
    struct fibre *next;
    struct worker *at;
    void *(*f)(void *);
    void *arg;
    bool over;
    sem_t ended;
};

struct worker {
    _Alignas(64) _Atomic(struct fibre *) ready;
    _Alignas(64) _Atomic(struct parcel *) left;
    struct sleeper sleeper;
    struct side home;
    struct fibre *now;
};

static struct {
    struct worker *at;
    size_t n;
    atomic_size_t next, live, waiting;
    _Atomic(parcel_server *) serve;
    struct sleeper server;
    int spins;
} pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct worker *here;

/* ---- sleeping ---- */

static void rouse(struct sleeper *s) {
    if (atomic_load(&s->asleep) && atomic_exchange(&s->asleep, false)) sem_post(&s->wake);
}

/* Until roused, or the time is up; the caller has looked since it said that it sleeps. */
static void sleep_on(struct sleeper *s, bool timed) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += PATIENCE;
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    int rc;
    while ((rc = timed ? sem_timedwait(&s->wake, &end) : sem_wait(&s->wake)) && errno == EINTR) {
    }
    if (rc && !atomic_exchange(&s->asleep, false)) sem_wait(&s->wake); /* roused all the same */
}

/* It need not sleep after all. */
static void stay_awake(struct sleeper *s) {
    if (!atomic_exchange(&s->asleep, false)) sem_wait(&s->wake);
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- changing stacks ---- */

static void change(struct side *from, struct side *to, bool for_good) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake, to->stack, to->size);
#endif
    swapcontext(&from->at, &to->at);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

static void fibre_begin(void) {
    struct worker *w = here;
    struct fibre *f = w->now;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, &w->home.stack, &w->home.size);
#endif
    f->f(f->arg);
    f->over = true;
    change(&f->side, &w->home, true);
}

/* ---- workers ---- */

static void make_ready(struct fibre *f) {
    struct fibre *first = atomic_load(&f->at->ready);
    do f->next = first;
    while (!atomic_compare_exchange_weak(&f->at->ready, &first, f));
}

static struct fibre *take_ready(struct worker *w) {
    for (;;) {
        for (int i = 0; i < pool.spins; i++, relax())
            if (atomic_load(&w->ready)) break;
        struct fibre *f = atomic_exchange(&w->ready, NULL);
        if (f) return f;
        atomic_store(&w->sleeper.asleep, true);
        if (atomic_load(&w->ready))
            stay_awake(&w->sleeper);
        else
            sleep_on(&w->sleeper, false);
    }
}

/* Enough wait: as many as run on. */
static bool due(void) {
    size_t waiting = atomic_load(&pool.waiting);
    return waiting && 2 * waiting >= atomic_load(&pool.live);
}

static void *work(void *arg) {
    struct worker *w = here = arg;
    for (;;)
        for (struct fibre *f = take_ready(w), *next; f; f = next) {
            next = f->next;
            w->now = f;
            change(&w->home, &f->side, false);
            if (!f->over) continue;
            atomic_fetch_sub(&pool.live, 1);
            if (due()) rouse(&pool.server);
            sem_post(&f->ended); /* then it is gone */
        }
    return NULL;
}

/* ---- the server ---- */

/* Until it is time; false: nothing waits. */
static bool wait_until_due(void) {
    for (int i = 0; i < pool.spins && !due(); i++) relax();
    if (due()) return true;
    atomic_store(&pool.server.asleep, true);
    bool some = atomic_load(&pool.waiting) > 0;
    if (due())
        stay_awake(&pool.server);
    else
        sleep_on(&pool.server, some);
    return due() || (some && atomic_load(&pool.waiting) > 0);
}

static struct parcel *take_parcels(void) {
    struct parcel *all = NULL, **last = &all;
    size_t n = 0;
    for (size_t i = 0; i < pool.n; i++) {
        *last = atomic_exchange(&pool.at[i].left, NULL);
        for (; *last; last = &(*last)->next) n++;
    }
    atomic_fetch_sub(&pool.waiting, n);
    return all;
}

static void *serve(void *arg) {
    for (;;) {
        if (!wait_until_due()) continue;
        struct parcel *all = take_parcels();
        if (!all) continue;
        parcel_server *server = atomic_load(&pool.serve);
        server(all);
        for (struct parcel *p = all, *next; p; p = next) {
            next = p->next; /* before its fibre runs on */
            make_ready(p->of);
        }
        for (size_t i = 0; i < pool.n; i++)
            if (atomic_load(&pool.at[i].ready)) rouse(&pool.at[i].sleeper);
    }
    return NULL;
}

/* The last core is the server's. */
static void open_pool(void) {
    int cores = cores_available();
    size_t n = cores > 2 ? (size_t)cores - 1 : 1;
    pthread_t thread;
    pool.spins = cores > 2 ? SPINS : 0;
    pool.at = aligned_alloc(64, n * sizeof *pool.at);
    if (!pool.at || sem_init(&pool.server.wake, 0, 0)) return;
    memset(pool.at, 0, n * sizeof *pool.at);
    if (pthread_create(&thread, NULL, serve, NULL)) return;
    pthread_detach(thread);
    for (size_t i = 0; i < n; i++) {
        struct worker *w = &pool.at[i];
        if (sem_init(&w->sleeper.wake, 0, 0) || pthread_create(&thread, NULL, work, w)) break;
        pthread_detach(thread);
        pool.n++;
    }
}

/* ---- for others ---- */

bool fibres_run(char *stack, size_t size, void *(*f)(void *), void *arg) {
    pthread_once(&once, open_pool);
    if (!pool.n) return false;
    struct fibre me = {.side = {.stack = stack, .size = size}, .f = f, .arg = arg};
    getcontext(&me.side.at);
    me.side.at.uc_stack.ss_sp = stack;
    me.side.at.uc_stack.ss_size = size;
    me.side.at.uc_link = NULL;
    makecontext(&me.side.at, fibre_begin, 0);
    sem_init(&me.ended, 0, 0);
    me.at = &pool.at[atomic_fetch_add(&pool.next, 1) % pool.n];
    atomic_fetch_add(&pool.live, 1);
    make_ready(&me);
    rouse(&me.at->sleeper);
    while (sem_wait(&me.ended)) {
    }
    sem_destroy(&me.ended);
    return true;
}

bool fibre_here(void) {
    return here != NULL;
}

void fibre_wait_for(struct parcel *p, parcel_server *server) {
    struct worker *w = here;
    struct fibre *me = p->of = w->now;
    const struct file_guard *guard = file_set_guard(NULL);
    atomic_store(&pool.serve, server);
    bool alone = atomic_fetch_add(&pool.waiting, 1) == 0; /* counted before it can be taken */
    struct parcel *first = atomic_load(&w->left);
    do p->next = first;
    while (!atomic_compare_exchange_weak(&w->left, &first, p));
    if (alone || due()) rouse(&pool.server);
    change(&me->side, &w->home, false);
    file_set_guard(guard);
}
