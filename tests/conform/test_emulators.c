/* SPDX-License-Identifier: Apache-2.0
 *
 * One test over every emulator: the conditional densities of pairs multiply to the joint density in
 * any order, one by one or in batches; what is added and removed again leaves no mark; draws have
 * the distribution that the densities say; a rejected proposal restores, an accepted one is what a
 * fresh emulator would be; copies are independent. With noise, some of the pairs are values of the
 * latent function and carry none. And each against its own formula. */
#include "support/spcall.h"

#include "language/rows/emu/emulator.h"
#include "language/rows/protocol/kernel_value.h"
#include "language/value/value_pack.h"
#include <math.h>

enum { N = 6 };
struct kind {
    const char *maker;
    bool noisy; /* takes replicates */
    int dim;
    /* The maker's arguments at time t; those not set are left out. */
    size_t n_args;
    void (*args)(const struct kind *kind, double t, value *args);
    unsigned latent; /* bit i: pair i is a value of the latent function */
};

static void process_args(const struct kind *kind, double t, value *args) {
    double par[2] = {1 + 0.3 * t, 0.8 + 0.2 * t};
    args[0] = kernel_value_take(kern_leaf(kern_class_find("SE"), par, NULL));
    if (kind->noisy) args[2] = value_num(0.3 + 0.1 * t);
    if (kind->n_args == 5) args[4] = value_num(6 + t);
}

static void polynomial_args(const struct kind *kind, double t, value *args) {
    double quad[4] = {2, 3 + t, 1.5 + t, 0.7};
    for (size_t i = 0; i < 4; i++) args[i] = value_num(quad[i]);
}

static const struct kind kinds[] = {
    {"make_gp", false, 1, 1, process_args, 0},
    {"make_gp", true, 2, 3, process_args, 0},
    {"make_tp", false, 1, 1, process_args, 0},
    {"make_tp", true, 2, 5, process_args, 0},
    {"make_quad", true, 1, 4, polynomial_args, 0},
    {"make_quad", true, 2, 4, polynomial_args, 0},
    {"make_gp", true, 2, 3, process_args, 0x32},
    {"make_gp", true, 1, 3, process_args, 0x05},
    {"make_tp", true, 2, 5, process_args, 0x32},
    {"make_quad", true, 1, 4, polynomial_args, 0x05},
    {"make_quad", true, 2, 4, polynomial_args, 0x32},
};

static const struct emulator_class *class_of(const struct kind *kind) {
    return sp_index_find(kind->maker)->of;
}

static const double xs[N * 2] = {0.3, -1, 1.1, 0.2, -0.7, 0.9, 2.0, -0.4, 0.8, 0.6, -1.9, 1.4};
static const double ys[N] = {0.4, 1.2, -0.3, 0.9, 0.1, -1.5};

/* The maker's call with parameters that depend on t. */
static void start(struct call *k, const struct kind *kind, double t) {
    value args[CALL_ARGS];
    for (size_t i = 0; i < CALL_ARGS; i++) args[i] = ABSENT;
    kind->args(kind, t, args);
    call_init(k, kind->maker, args, kind->n_args, 5);
}

static void *make(struct call *k, const struct kind *kind, double t) {
    start(k, kind, t);
    void *e = class_of(kind)->make(&k->c, kind->dim);
    assert_non_null(e);
    return e;
}

/* Of one made at time 0. */
static void *copy_of(const struct kind *kind, void *e) {
    struct call k;
    struct pack p;
    void *copy = make(&k, kind, 0);
    pack_begin_copy(&p, NULL);
    class_of(kind)->pack(&p, e);
    pack_turn(&p);
    class_of(kind)->pack(&p, copy);
    pack_release(&p);
    call_release(&k);
    return copy;
}

static const double *at(const struct kind *kind, size_t i) {
    return xs + i * (size_t)kind->dim;
}

static bool measured(const struct kind *kind, size_t i) {
    return !(kind->latent >> i & 1);
}

static void add(const struct kind *kind, void *e, size_t i, size_t n) {
    if (!kind->latent)
        assert_int_equal(class_of(kind)->add(e, true, at(kind, i), ys + i, n), GPM_OK);
    for (size_t j = i; j < i + n && kind->latent; j++)
        assert_int_equal(class_of(kind)->add(e, measured(kind, j), at(kind, j), ys + j, 1), GPM_OK);
}

static double joint(const struct kind *kind, void *e) {
    double lp = NAN;
    assert_int_equal(class_of(kind)->log_joint(e, &lp), GPM_OK);
    return lp;
}

/* Pairs of one kind at once, then the others given those. */
static double conditional(const struct kind *kind, void *e, size_t i, size_t n) {
    double lp = NAN;
    size_t m = 1;
    while (m < n && measured(kind, i + m) == measured(kind, i)) m++;
    assert_int_equal(class_of(kind)->conditional(e, measured(kind, i), at(kind, i), ys + i, m, &lp),
                     GPM_OK);
    if (m == n) return lp;
    void *with = copy_of(kind, e);
    add(kind, with, i, m);
    lp += conditional(kind, with, i + m, n - m);
    class_of(kind)->free(with);
    return lp;
}

static void telescopes(const struct kind *kind) {
    static const size_t orders[][N] = {{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0, 2, 4}, {2, 4, 0, 5, 1, 3}};
    struct call k;
    double want = NAN;
    for (size_t o = 0; o < COUNT_OF(orders); o++) {
        void *e = make(&k, kind, 0);
        double sum = 0;
        assert_close(joint(kind, e), 0, 1e-12);
        for (size_t i = 0; i < N; i++) {
            sum += conditional(kind, e, orders[o][i], 1);
            add(kind, e, orders[o][i], 1);
            assert_close(joint(kind, e), sum, 1e-8);
        }
        if (o == 0) want = sum;
        assert_close(sum, want, 1e-8);
        class_of(kind)->free(e);
        call_release(&k);
    }
    void *e = make(&k, kind, 0);
    add(kind, e, 0, 2);
    assert_close(joint(kind, e) + conditional(kind, e, 2, 4), want, 1e-8);
    assert_true(class_of(kind)->n_pairs(e) == 2);
    class_of(kind)->free(e);
    call_release(&k);
}

static void leaves_no_mark(const struct kind *kind) {
    struct call k;
    void *e = make(&k, kind, 0);
    add(kind, e, 0, 3);
    double before = joint(kind, e), next = conditional(kind, e, 4, 1);
    void *copy = copy_of(kind, e);
    add(kind, e, 3, 3);
    for (size_t i = N; i-- > 3;)
        assert_int_equal(class_of(kind)->remove(e, measured(kind, i), at(kind, i), &ys[i]), GPM_OK);
    assert_close(joint(kind, e), before, 1e-9);
    assert_close(conditional(kind, e, 4, 1), next, 1e-8);
    assert_int_equal(class_of(kind)->remove(e, measured(kind, 5), at(kind, 5), &ys[5]),
                     GPM_E_NOT_FOUND);
    assert_true(class_of(kind)->n_pairs(e) == 3);
    add(kind, e, 3, 1); /* a copy does not see it */
    assert_close(joint(kind, copy), before, 1e-12);
    double x[2], y;
    class_of(kind)->pair(copy, 1, x, &y);
    assert_true(x[0] == at(kind, 1)[0] && y == ys[1]);
    class_of(kind)->free(copy);
    class_of(kind)->free(e);
    call_release(&k);
}

static void proposals(const struct kind *kind) {
    struct call k, other;
    void *e = make(&k, kind, 0), *fresh = make(&other, kind, 1);
    add(kind, e, 0, 4);
    add(kind, fresh, 0, 4);
    double before = joint(kind, e), lp, want = joint(kind, fresh);
    for (int data = 0; data < 2; data++) { /* the data may change while a proposal is open */
        assert_int_equal(class_of(kind)->propose(e, &other.c, &lp), GPM_OK);
        assert_close(lp, want, 1e-9);
        if (data) {
            add(kind, e, 4, 1);
            assert_int_equal(class_of(kind)->remove(e, measured(kind, 4), at(kind, 4), &ys[4]),
                             GPM_OK);
        }
        class_of(kind)->reject(e);
        assert_close(joint(kind, e), before, 1e-9);
    }
    assert_int_equal(class_of(kind)->propose(e, &other.c, &lp), GPM_OK);
    class_of(kind)->accept(e);
    assert_close(joint(kind, e), want, 1e-9);
    assert_close(conditional(kind, e, 4, 2), conditional(kind, fresh, 4, 2), 1e-8);
    class_of(kind)->free(e);
    class_of(kind)->free(fresh);
    call_release(&k);
    call_release(&other);
}

/* Probability integral transform: the share of draws below y against the integral of the density.
 */
static void draws_agree(const struct kind *kind) {
    enum { DRAWS = 20000, STEPS = 4000 };
    struct call k;
    void *e = make(&k, kind, 0);
    add(kind, e, 0, 4);
    const double *x = at(kind, 4), cuts[3] = {-0.5, 0.3, 1};
    double cdf[3] = {0}, count[3] = {0}, lo = -60, h = 120.0 / STEPS, total = 0;
    for (int i = 0; i < STEPS; i++) {
        double y = lo + (i + 0.5) * h, lp;
        assert_int_equal(class_of(kind)->conditional(e, measured(kind, 4), x, &y, 1, &lp), GPM_OK);
        total += exp(lp) * h;
        for (int j = 0; j < 3; j++) cdf[j] += y < cuts[j] ? exp(lp) * h : 0;
    }
    assert_close(total, 1, 5e-3);
    for (int i = 0; i < DRAWS; i++) {
        double y;
        assert_int_equal(class_of(kind)->sample(e, x, 1, measured(kind, 4), &k.rng, &y), GPM_OK);
        for (int j = 0; j < 3; j++) count[j] += y < cuts[j];
    }
    for (int j = 0; j < 3; j++) {
        double sd = sqrt(cdf[j] * (1 - cdf[j]) / DRAWS);
        assert_close(count[j] / DRAWS, cdf[j], 4.5 * sd + 0.01);
    }
    class_of(kind)->free(e);
    call_release(&k);
}

/* A joint draw, recorded value by value, is scored as the joint density: draws at two points are
 * correlated as their densities say (covariance of y0 with y1 by both ways). */
static void joint_draws(const struct kind *kind) {
    enum { DRAWS = 40000 };
    struct call k;
    void *e = make(&k, kind, 0);
    add(kind, e, 0, 4);
    double sum[3] = {0}, y[2], lp;
    for (int i = 0; i < DRAWS; i++) { /* medians of signs: robust to heavy tails */
        assert_int_equal(class_of(kind)->sample(e, at(kind, 4), 2, measured(kind, 4), &k.rng, y),
                         GPM_OK);
        sum[0] += y[0] > 0.5, sum[1] += y[1] > 0.5, sum[2] += y[0] > 0.5 && y[1] > 0.5;
    }
    double p1 = 0, p11 = 0, h = 0.05;
    for (double a = 0.5 + h / 2; a < 30;
         a += h * (1 + a)) { /* P(y0 > .5, y1 > .5) by draws of y1 */
        double w = h * (1 + a), both = 0;
        assert_int_equal(class_of(kind)->conditional(e, measured(kind, 4), at(kind, 4), &a, 1, &lp),
                         GPM_OK);
        p1 += exp(lp) * w;
        void *given = copy_of(kind, e);
        assert_int_equal(class_of(kind)->add(given, measured(kind, 4), at(kind, 4), &a, 1), GPM_OK);
        for (int i = 0; i < 400; i++) {
            assert_int_equal(
                class_of(kind)->sample(given, at(kind, 5), 1, measured(kind, 5), &k.rng, y),
                GPM_OK);
            both += y[0] > 0.5;
        }
        p11 += exp(lp) * w * both / 400;
        class_of(kind)->free(given);
    }
    assert_close(sum[0] / DRAWS, p1, 0.03);
    assert_close(sum[2] / DRAWS, p11, 0.03);
    class_of(kind)->free(e);
    call_release(&k);
}

static double density(const struct kind *kind, void *e, bool as_measured, double y) {
    double lp = NAN;
    assert_int_equal(class_of(kind)->conditional(e, as_measured, at(kind, 0), &y, 1, &lp), GPM_OK);
    return lp;
}

static void replicates(const struct kind *kind) {
    struct call k;
    void *e = make(&k, kind, 0);
    add(kind, e, 0, 2);
    bool known = !kind->noisy || !measured(kind, 0); /* the function's value at the input */
    assert_true(kind->noisy == (bool)isfinite(density(kind, e, true, ys[0] + 0.5)));
    assert_true(known == (bool)isinf(density(kind, e, false, ys[0] + 0.5)));
    double again = density(kind, e, true, ys[0]), before = joint(kind, e), y;
    if (!kind->noisy) assert_close(again, 0, 1e-9);
    if (known) {
        assert_close(density(kind, e, false, ys[0]), 0, 1e-12);
        assert_int_equal(class_of(kind)->sample(e, at(kind, 0), 1, false, &k.rng, &y), GPM_OK);
        assert_true(y == ys[0]);
    }
    if (kind->noisy) {
        assert_int_equal(class_of(kind)->add(e, true, at(kind, 0), ys, 1), GPM_OK);
        assert_close(joint(kind, e), before + again, 1e-8);
        assert_true(class_of(kind)->n_pairs(e) == 3);
    }
    class_of(kind)->free(e);
    call_release(&k);
}

/* Every row that makes an emulator alone is tried, at least once; those from outside are by
 * run_plugins.py, since they need an evaluator or a shared object. */
static int all_are_tried(void **state) {
    for (size_t r = 0; r < sp_index_count(); r++) {
        const struct sp_class *row = sp_index_at(r);
        bool tried = row->aaa != &memoizer_aaa || !strcmp(row->name, "make_emulator") ||
                     !strcmp(row->name, "make_plugin");
        for (size_t i = 0; i < COUNT_OF(kinds); i++) tried |= !strcmp(kinds[i].maker, row->name);
        if (!tried) fail_msg("%s: no row of `kinds` tries this emulator", row->name);
    }
    return 0;
}

static void every_emulator(void **state) {
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        telescopes(&kinds[i]);
        leaves_no_mark(&kinds[i]);
        proposals(&kinds[i]);
        replicates(&kinds[i]);
        draws_agree(&kinds[i]);
        joint_draws(&kinds[i]);
    }
}

/* numpy/scipy: multivariate_t(shape=(nu-2)/nu K, df=nu) for the t process (SE(1, .8), df 5); for
 * the regression the weight-space formula with features 1, sqrt(2) x, x^2. See the test's table. */
static void formulas(void **state) {
    struct call k;
    const struct kind *tp = &kinds[2], *quad = &kinds[4];
    void *e = make(&k, tp, 0);
    add(tp, e, 0, 3);
    assert_close(joint(tp, e), -3.3676096502324278, 1e-9);
    class_of(tp)->free(e);
    call_release(&k);
    e = make(&k, quad, 0);
    add(quad, e, 0, N);
    assert_close(joint(quad, e), -11.59459323689524, 1e-9);
    class_of(quad)->free(e);
    call_release(&k);
}

/* More data than are exact, under a cycle longer than any neighbourhood: the table says so, once.
 */
static void approximation_warns(void **state) {
    struct call k;
    struct kern *kern = NULL;
    value args[CALL_ARGS], made = NIL;
    void *token;
    double lp;
    assert_int_equal(kern_parse("PER(sf=1, p=3000, l=1) + RQ(sf=1, l=50, alpha=1)", &kern, NULL),
                     GPM_OK);
    for (size_t i = 0; i < CALL_ARGS; i++) args[i] = ABSENT;
    args[0] = kernel_value_take(kern);
    args[2] = value_num(0.1);
    call_init(&k, "make_gp", args, 3, 5);
    assert_int_equal(memoizer_make(&k.c, &made), GPM_OK);
    struct sp_proc *m = sp_made_of(made);
    for (int i = 0; i < 8010; i++) {
        value x = value_num(i + 0.3 * sin(i));
        struct sp_call c = {.cls = m->cls,
                            .args = &x,
                            .n = 1,
                            .state = m->state->data,
                            .rng = &k.rng,
                            .diags = &k.diags,
                            .observed = true};
        assert_int_equal(m->cls->incorporate(&c, value_num(sin(i / 477.0) + sin(i / 20.0))),
                         GPM_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(memoizer_aaa.remake(&k.c, m->state->data, &token, &lp), GPM_OK);
        memoizer_aaa.undo(m->state->data, token);
        assert_int_equal(k.diags.list.n, 1);
    }
    assert_non_null(strstr(k.diags.list.at[0]->message, "may be off by"));
    value_unref(made);
    call_release(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(approximation_warns),
                                       cmocka_unit_test(every_emulator),
                                       cmocka_unit_test(formulas)};
    return cmocka_run_group_tests(tests, all_are_tried, NULL);
}
