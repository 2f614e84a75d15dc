/* SPDX-License-Identifier: Apache-2.0
 *
 * See fibres.h. A worker takes the fibres that are ready for it and leaves the parcels of waiting
 * ones. The server takes the parcels of all workers, has several orders served at a time, and makes
 * their fibres ready. One server serves all workers, because a launch costs the driver as much for
 * thirty fibres as for three hundred. The lists are arrays, so that their contents can be
 * prefetched: a thousand fibres have left the caches when their turn comes.
 *
 * A fibre may be made ready before it has left its thread: its worker looks only after that. */
#include "base/fibres.h"

#include "base/cores.h"
#include "base/file.h"
#include "base/vec.h"
#include "base/work.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { PATIENCE = 2000000 }; /* nanoseconds to wait for fibres that compute something else */
enum { SPINS = 10000 };      /* looks before sleeping, where there are cores for it */
enum { AT_ONCE = 4 };        /* orders under way */
enum { PART = 16 };          /* an order is due when one fibre in so many waits */

/* A thread that sleeps while it has no work. */
struct sleeper {
    atomic_bool asleep;
    sem_t wake;
};

/* A stack that is not in use: where it goes on, and what the sanitizer wants to know. */
struct side {
    void *sp;
    const void *stack;
    size_t size;
    void *fake;
};

struct fibre {
    struct side side;
    void *(*f)(void *);
    void *arg;
    bool over;
    size_t passed; /* points of its program */
    sem_t ended;
};

/* One that may go on. */
struct ready {
    struct fibre *f;
    size_t passed, came; /* points; in what order it came */
};

struct fibre_worker {
    _Alignas(64) pthread_mutex_t lock; /* of what others see */
    VEC(struct ready) ready;
    VEC(struct parcel *) left;
    atomic_size_t n_ready;
    struct sleeper sleeper;
    _Alignas(64) struct side home; /* its own */
    struct fibre *now;
    VEC(struct ready) turn; /* taken over */
    size_t came;
};

static struct {
    struct fibre_worker *at;
    size_t n;
    atomic_size_t next, live, waiting;
    _Atomic(const struct parcel_service *) service;
    struct sleeper server;
    struct order {
        void *ticket;
        VEC(struct parcel *) of;
    } orders[AT_ONCE + 1]; /* the server's: n under way, the oldest first, and one to be begun */
    size_t n_orders;
    int spins;
} pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct fibre_worker *here;

/* ---- sleeping ---- */

static void rouse(struct sleeper *s) {
    if (atomic_load(&s->asleep) && atomic_exchange(&s->asleep, false)) sem_post(&s->wake);
}

/* Until roused, or the time is up (true); the caller has looked since it said that it sleeps. */
static bool sleep_on(struct sleeper *s, bool timed) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += PATIENCE;
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    int rc;
    while ((rc = timed ? sem_timedwait(&s->wake, &end) : sem_wait(&s->wake)) && errno == EINTR) {
    }
    if (!rc) return false;
    if (!atomic_exchange(&s->asleep, false)) sem_wait(&s->wake); /* roused all the same */
    return true;
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

static void fibre_begin(void);

/* stack_change(&from, to): what a function must leave as it was (the ABI's callee-saved registers)
 * goes onto the stack that is left. swapcontext would ask the kernel for the mask of signals each
 * time. */
#if defined(__x86_64__)
__asm__(".text\n.type stack_change, @function\nstack_change:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size stack_change, .-stack_change\n");
void stack_change(void **from, void *to) __attribute__((visibility("hidden")));
/* Six registers and the address to return to, with the stack as a call would leave it. */
static void *stack_first(char *top) {
    void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15) - 2;
    memset(sp - 6, 0, 8 * sizeof *sp);
    *(void (**)(void))sp = fibre_begin;
    return sp - 6;
}
#elif defined(__aarch64__)
__asm__(".text\n.type stack_change, %function\nstack_change:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\nret\n.size stack_change, .-stack_change\n");
void stack_change(void **from, void *to) __attribute__((visibility("hidden")));
static void *stack_first(char *top) {
    void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15) - 20;
    memset(sp, 0, 20 * sizeof *sp);
    *(void (**)(void))(sp + 11) = fibre_begin; /* x30 */
    return sp;
}
#else
#define NO_FIBRES /* fibres_run says so */
static void stack_change(void **from, void *to) {}
static void *stack_first(char *top) {
    return top;
}
#endif

static void change(struct side *from, struct side *to, bool for_good) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake, to->stack, to->size);
#endif
    stack_change(&from->sp, to->sp);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

static void fibre_begin(void) {
    struct fibre_worker *w = here;
    struct fibre *f = w->now;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(NULL, &w->home.stack, &w->home.size);
#endif
    f->f(f->arg);
    f->over = true;
    change(&f->side, &w->home, true);
}

/* ---- workers ---- */

static void make_ready(struct fibre_worker *w, struct fibre *f) {
    pthread_mutex_lock(&w->lock);
    vec_push(&w->ready, ((struct ready){.f = f}));
    atomic_fetch_add(&w->n_ready, 1);
    pthread_mutex_unlock(&w->lock);
    rouse(&w->sleeper);
}

/* All that are ready; wait: until some are. */
static void take_ready(struct fibre_worker *w, bool wait) {
    while (wait && !atomic_load(&w->n_ready)) {
        for (int i = 0; i < pool.spins && !atomic_load(&w->n_ready); i++) relax();
        if (atomic_load(&w->n_ready)) break;
        atomic_store(&w->sleeper.asleep, true);
        if (atomic_load(&w->n_ready))
            stay_awake(&w->sleeper);
        else
            sleep_on(&w->sleeper, false);
    }
    if (!atomic_load(&w->n_ready)) return;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < w->ready.n; i++) {
        w->ready.at[i].came = w->came++;
        vec_push(&w->turn, w->ready.at[i]);
    }
    w->ready.n = 0;
    atomic_store(&w->n_ready, 0);
    pthread_mutex_unlock(&w->lock);
}

static bool goes_before(const struct ready *a, const struct ready *b) {
    return a->passed != b->passed ? a->passed < b->passed : a->came < b->came;
}

/* The fibre that is furthest behind. So fibres with more work run from the beginning, not at the
 * end alone. *next: the one after it. */
static struct fibre *pick(struct fibre_worker *w, struct fibre **next) {
    struct ready *first = &w->turn.at[0], *second = NULL;
    for (size_t i = 1; i < w->turn.n; i++) {
        struct ready *r = &w->turn.at[i];
        if (goes_before(r, first))
            second = first, first = r;
        else if (!second || goes_before(r, second))
            second = r;
    }
    struct fibre *f = first->f;
    *next = second ? second->f : NULL;
    *first = vec_pop(&w->turn);
    return f;
}

/* Enough wait: a small part of all. What comes while those are served is served next; larger orders
 * do not make the card faster, and those that are behind wait longer for them. */
static bool due(void) {
    size_t waiting = atomic_load(&pool.waiting);
    return waiting && PART * waiting >= atomic_load(&pool.live);
}

/* The stack of a fibre whose turn comes soon. */
static void fetch_ahead(const struct fibre *f) {
    enum { LINE = 64, LINES = 12 };
    const char *sp = f->side.sp;
    for (int k = 0; k < LINES; k++) __builtin_prefetch(sp + k * LINE);
}

static void *work(void *arg) {
    struct fibre_worker *w = here = arg;
    for (;;) {
        struct fibre *next;
        if (!w->turn.n || atomic_load(&w->n_ready)) take_ready(w, !w->turn.n);
        struct fibre *f = w->now = pick(w, &next);
        if (next) fetch_ahead(next);
        change(&w->home, &f->side, false);
        if (!f->over) continue;
        atomic_fetch_sub(&pool.live, 1);
        if (due()) rouse(&pool.server);
        sem_post(&f->ended); /* then it is gone */
    }
    return NULL;
}

/* ---- the server ---- */

/* Until enough wait (true), or some have waited for long. */
static bool wait_until_due(void) {
    struct sleeper *me = &pool.server;
    for (int i = 0; i < pool.spins && !due(); i++) relax();
    if (due()) return true;
    atomic_store(&me->asleep, true);
    bool some = atomic_load(&pool.waiting) > 0, late = false;
    if (due())
        stay_awake(me);
    else
        late = sleep_on(me, some);
    return due() || (late && atomic_load(&pool.waiting) > 0);
}

static void take_parcels(struct order *o) {
    o->of.n = 0;
    for (size_t i = 0; i < pool.n; i++) {
        struct fibre_worker *w = &pool.at[i];
        pthread_mutex_lock(&w->lock);
        for (size_t k = 0; k < w->left.n; k++) {
            __builtin_prefetch(w->left.at[k]);
            vec_push(&o->of, w->left.at[k]);
        }
        w->left.n = 0;
        pthread_mutex_unlock(&w->lock);
    }
    atomic_fetch_sub(&pool.waiting, o->of.n);
}

/* They were taken worker by worker. A parcel is gone when its fibre is ready. */
static void give_back(const struct order *o) {
    for (size_t i = 0; i < o->of.n;) {
        struct fibre_worker *w = o->of.at[i]->at;
        pthread_mutex_lock(&w->lock);
        size_t before = w->ready.n;
        for (; i < o->of.n && o->of.at[i]->at == w; i++)
            vec_push(&w->ready, ((struct ready){o->of.at[i]->of, o->of.at[i]->passed, 0}));
        atomic_fetch_add(&w->n_ready, w->ready.n - before);
        pthread_mutex_unlock(&w->lock);
        rouse(&w->sleeper);
    }
}

/* Waits for the oldest order. */
static void deliver(void) {
    struct order first = pool.orders[0];
    atomic_load(&pool.service)->end(first.ticket);
    give_back(&first);
    pool.n_orders--;
    memmove(pool.orders, pool.orders + 1, AT_ONCE * sizeof *pool.orders);
    pool.orders[AT_ONCE] = first; /* its memory is used again */
}

static void order(void) {
    const struct parcel_service *service = atomic_load(&pool.service);
    struct order *o = &pool.orders[pool.n_orders];
    take_parcels(o);
    if (!o->of.n) return; /* their fibres are about to leave them */
    while (!(o->ticket = service->begin(o->of.at, o->of.n, pool.n_orders == 0))) {
        deliver(); /* it holds what these need */
        o--;
    }
    pool.n_orders++;
}

static bool oldest_ended(void) {
    return atomic_load(&pool.service)->ended(pool.orders[0].ticket);
}

static void *serve(void *arg) {
    enum { LOOKS = 20 };
    for (;;) {
        bool room = pool.n_orders < AT_ONCE;
        if (room && due())
            order();
        else if (!pool.n_orders) {
            if (wait_until_due()) order();
        } else if (!room || !pool.spins || oldest_ended())
            deliver();
        else
            for (int i = 0; i < LOOKS && !due(); i++) relax();
    }
    return NULL;
}

static bool open_thread(void *(*f)(void *), void *arg, struct sleeper *sleeper) {
    pthread_t thread;
    if (sem_init(&sleeper->wake, 0, 0) || pthread_create(&thread, NULL, f, arg)) return false;
    pthread_detach(thread);
    return true;
}

/* The last core is the server's. */
static void open_pool(void) {
    int cores = cores_available();
    size_t n = cores > 1 ? (size_t)(cores - 1) : 1;
    pool.spins = cores > 4 ? SPINS : 0;
    pool.at = aligned_alloc(64, n * sizeof *pool.at);
    if (!pool.at) return;
    memset(pool.at, 0, n * sizeof *pool.at);
    bool served = open_thread(serve, NULL, &pool.server);
    for (size_t i = 0; i < n && served; i++) {
        struct fibre_worker *w = &pool.at[i];
        pthread_mutex_init(&w->lock, NULL);
        if (!open_thread(work, w, &w->sleeper)) break;
        pool.n++;
    }
}

/* ---- for others ---- */

enum { GUARD = 65536 };

char *stack_new(size_t size) {
    char *at = size > SIZE_MAX - GUARD
                   ? MAP_FAILED
                   : mmap(NULL, size + GUARD, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) return NULL;
    if (mprotect(at, GUARD, PROT_NONE) == 0) return at + GUARD;
    munmap(at, size + GUARD);
    return NULL;
}

void stack_free(char *stack, size_t size) {
    munmap(stack - GUARD, size + GUARD);
}

bool fibres_run(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
#ifdef NO_FIBRES
    return false;
#endif
    pthread_once(&once, open_pool);
    char *stack = pool.n ? stack_new(size) : NULL;
    if (!stack) return false;
    *lowest = stack;
    struct fibre me = {.side = {stack_first(stack + size), stack, size}, .f = f, .arg = arg};
    sem_init(&me.ended, 0, 0);
    struct fibre_worker *w = &pool.at[atomic_fetch_add(&pool.next, 1) % pool.n];
    atomic_fetch_add(&pool.live, 1);
    make_ready(w, &me);
    while (sem_wait(&me.ended)) {
    }
    sem_destroy(&me.ended);
    stack_free(stack, size);
    return true;
}

void fibre_passed(void) {
    if (here) here->now->passed++;
}

bool fibre_here(void) {
    return here != NULL;
}

void fibre_wait_for(struct parcel *p, const struct parcel_service *service) {
    struct fibre_worker *w = p->at = here;
    struct fibre *me = p->of = w->now;
    p->passed = me->passed;
    struct work_limits *limits = work_set_limits(NULL);
    atomic_store_explicit(&pool.service, service, memory_order_relaxed);
    bool alone = atomic_fetch_add(&pool.waiting, 1) == 0; /* counted before it can be taken */
    pthread_mutex_lock(&w->lock);
    vec_push(&w->left, p);
    pthread_mutex_unlock(&w->lock);
    if (alone || due()) rouse(&pool.server);
    change(&me->side, &w->home, false);
    work_set_limits(limits);
}
