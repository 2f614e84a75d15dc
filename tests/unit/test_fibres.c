/* SPDX-License-Identifier: Apache-2.0
 * Fibres: everybody gets back what they handed over, numbers in registers and the guard of files
 * are their own, a fibre that never waits holds nobody up, deep stacks stay apart. */
#include "support/check.h"

#include "base/fibres.h"
#include "base/file.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MANY = 60, ROUNDS = 200, STACK = 256 << 10 };

struct request {
    struct parcel parcel; /* first */
    double x, out;
};
static atomic_size_t batches, served;

static void roots(struct parcel **all, size_t n) {
    batches++;
    served += n;
    for (size_t i = 0; i < n; i++) {
        struct request *r = (struct request *)all[i];
        r->out = sqrt(r->x);
    }
}

struct task {
    double start, sum;
    size_t rounds;
    bool own_guard, was_fibre;
};

static double down(int depth, struct request *r) {
    volatile char room[512] = {0}; /* a stack of some depth at the switch */
    if (depth) return down(depth - 1, r) + room[depth];
    fibre_wait_for(&r->parcel, roots);
    return r->out;
}

static void *chain(void *arg) {
    struct task *t = arg;
    const struct file_guard mine = {0};
    double a = t->start, b = 2 * a, c = 3 * a; /* in registers that a call keeps */
    file_set_guard(&mine);
    t->was_fibre = fibre_here();
    t->own_guard = true;
    for (size_t i = 0; i < t->rounds; i++) {
        struct request r = {.x = a * a};
        double root = down((int)(i % 40), &r);
        t->sum += root + b - 2 * a + c - 3 * a;
        const struct file_guard *now = file_set_guard(&mine);
        t->own_guard &= now == &mine;
    }
    file_set_guard(NULL);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_wait_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
