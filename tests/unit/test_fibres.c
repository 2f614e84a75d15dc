/* SPDX-License-Identifier: Apache-2.0
 * Fibres: everybody gets back what they handed over, numbers in registers and the guard of files
 * are their own, a fibre that never waits holds nobody up, deep stacks stay apart, an order that is
 * refused is made again, and who is behind goes first. */
#include "support/check.h"

#include "base/work.h"
#include "base/fibres.h"
#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { MANY = 60, ROUNDS = 200, STACK = 256 << 10 };

struct request {
    struct parcel parcel; /* first */
    double x, out;
};
static atomic_size_t batches, served, handed, taken;

/* What was ordered, and how often somebody looked since. */
struct ticket {
    struct parcel **all;
    size_t n, looks;
};

/* Until so many more wait, or not for ever. */
static void until_handed(size_t more) {
    for (int i = 0; i < 60000 && handed - taken < more; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *begin(struct parcel **all, size_t n, bool wait) {
    taken += n;
    struct ticket *t = NEW(struct ticket);
    *t = (struct ticket){all, n, 0};
    return t;
}

static bool ended(void *ticket) {
    struct ticket *t = ticket;
    return ++t->looks > 2;
}

static void end(void *ticket) {
    struct ticket *t = ticket;
    batches++;
    served += t->n;
    for (size_t i = 0; i < t->n; i++) {
        struct request *r = (struct request *)t->all[i];
        r->out = sqrt(r->x);
    }
    mem_free(t);
}
static const struct parcel_service roots = {begin, ended, end};

struct task {
    double start, sum;
    size_t rounds;
    bool own_guard, was_fibre;
};

static double down(int depth, struct request *r) {
    volatile char room[512] = {0}; /* a stack of some depth at the switch */
    if (depth) return down(depth - 1, r) + room[depth];
    handed++;
    fibre_wait_for(&r->parcel, &roots);
    return r->out;
}

static void *chain(void *arg) {
    struct task *t = arg;
    struct work_limits mine = {0};
    double a = t->start, b = 2 * a, c = 3 * a; /* in registers that a call keeps */
    work_set_limits(&mine);
    t->was_fibre = fibre_here();
    t->own_guard = true;
    for (size_t i = 0; i < t->rounds; i++) {
        struct request r = {.x = a * a};
        double root = down((int)(i % 40), &r);
        t->sum += root + b - 2 * a + c - 3 * a;
        struct work_limits *now = work_set_limits(&mine);
        t->own_guard &= now == &mine;
    }
    work_set_limits(NULL);
    return NULL;
}

static void *call(void *arg) {
    const char *lowest;
    return fibres_run(STACK, chain, arg, &lowest) ? arg : NULL;
}

static void many_wait_together(void **state) {
    struct task tasks[MANY];
    pthread_t threads[MANY];
    for (int i = 0; i < MANY; i++) {
        tasks[i] = (struct task){.start = 0.37 * (i + 1), .rounds = i % 7 == 3 ? 0 : ROUNDS};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &tasks[i]), 0);
    }
    size_t expected = 0;
    for (int i = 0; i < MANY; i++) {
        void *back;
        pthread_join(threads[i], &back);
        assert_non_null(back);
        assert_true(tasks[i].was_fibre && tasks[i].own_guard);
        double sum = 0;
        for (size_t k = 0; k < tasks[i].rounds; k++) sum += sqrt(tasks[i].start * tasks[i].start);
        assert_float_equal(tasks[i].sum, sum, 1e-9 * (1 + sum));
        expected += tasks[i].rounds;
    }
    assert_int_equal(served, expected);
    assert_true(batches < served); /* some were served with others */
    assert_false(fibre_here());
}

/* ---- who is behind goes first ---- */

struct walker {
    size_t points;
    pthread_t on; /* out: its thread, and when it went on */
    size_t at;
};
static atomic_size_t gone_on;
static atomic_bool later;

static void *begin_late(struct parcel **all, size_t n, bool wait) {
    void *ticket = begin(all, n, true);
    if (!atomic_exchange(&later, true)) until_handed(MANY - n);
    return ticket;
}
static const struct parcel_service late_roots = {begin_late, ended, end};

static void *walk(void *arg) {
    struct walker *w = arg;
    struct request r = {.x = 4};
    for (size_t i = 0; i < w->points; i++) fibre_passed();
    handed++;
    fibre_wait_for(&r.parcel, &late_roots);
    w->on = pthread_self();
    w->at = gone_on++;
    return NULL;
}

static void *call_walk(void *arg) {
    const char *lowest;
    return fibres_run(STACK, walk, arg, &lowest) ? arg : NULL;
}

/* All others are in the second order: of those that then may go on, a thread takes the one with the
 * fewest points first. In order of their coming about half would follow one with more. */
static void who_is_behind_goes_first(void **state) {
    struct walker walkers[MANY], *order[MANY];
    pthread_t threads[MANY];
    for (int i = 0; i < MANY; i++) {
        walkers[i] = (struct walker){.points = (size_t)(i * 37 % MANY)};
        assert_int_equal(pthread_create(&threads[i], NULL, call_walk, &walkers[i]), 0);
    }
    for (int i = 0; i < MANY; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < MANY; i++) order[walkers[i].at] = &walkers[i];
    size_t back = 0;
    for (int i = 0; i < MANY; i++) {
        int k = i + 1;
        while (k < MANY && !pthread_equal(order[k]->on, order[i]->on)) k++;
        back += k < MANY && order[k]->points < order[i]->points;
    }
    assert_true(back < MANY / 5);
}

/* ---- one that is not taken on beside another ---- */

static atomic_bool first_begins, first_ended, refused, again;

static void *begin_one(struct parcel **all, size_t n, bool wait) {
    if (!wait) {
        refused = true;
        return NULL;
    }
    again = refused && first_ended;
    void *ticket = begin(all, n, wait);
    if (!atomic_exchange(&first_begins, true)) {
        until_handed(1);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* from there to its list */
    }
    return ticket;
}
static void end_one(void *ticket) {
    first_ended = true;
    end(ticket);
}
static const struct parcel_service one_by_one = {begin_one, ended, end_one};

static void *ask_once(void *arg) {
    struct request r = {.x = 9};
    handed++;
    fibre_wait_for(&r.parcel, &one_by_one);
    *(double *)arg = r.out;
    return NULL;
}

static void *call_once(void *arg) {
    const char *lowest;
    return fibres_run(STACK, ask_once, arg, &lowest) ? arg : NULL;
}

/* The second asks while the first is taken on, and is refused until that has ended. */
static void refused_until_another_has_ended(void **state) {
    pthread_t threads[2];
    double out[2] = {0};
    assert_int_equal(pthread_create(&threads[0], NULL, call_once, &out[0]), 0);
    while (!first_begins) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    assert_int_equal(pthread_create(&threads[1], NULL, call_once, &out[1]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_true(refused && again);
    assert_true(out[0] == 3 && out[1] == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_wait_together),
                                       cmocka_unit_test(refused_until_another_has_ended),
                                       cmocka_unit_test(who_is_behind_goes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
