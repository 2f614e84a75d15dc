/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes after the data: the parts of a forecast beside courses of events that are drawn, and
 * beside what the moments of Polya's process are.
 */
#include "apps/discover/further.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

#define DRAWS 40000

static const struct further shifts = {
    .n = 2, .at = {{false, 4}, {false, 1}}, .kind = {{0.7, 3, 4}, {0.3, 2, 0.5}}};
static const struct further bend = {.n = 1, .at = {{true, 9}}, .kind = {{1, 2, 4}, {0, 2, 1}}};

static const struct further pulses = {
    .pulses = 2, .pulse = {{4, 0.02}, {1, 0.06}}, .of_pulse = {{0.7, 3, 4}, {0.3, 2, 0.5}}};

struct moments {
    double share, more, none;
    double other, both; /* the other regime: its share, and what of `more` falls to it */
};

static struct moments of_parts(const struct further *f, double after) {
    struct further_part p[FURTHER_PARTS];
    struct moments m = {0};
    size_t n = further_parts(f, after, p);
    assert_true(n <= FURTHER_PARTS);
    for (size_t i = 0; i < n; i++) {
        assert_true(p[i].share >= 0 && p[i].more >= 0);
        m.share += p[i].share;
        m.more += p[i].share * p[i].more;
        m.other += p[i].other ? p[i].share : 0;
        m.both += p[i].other ? p[i].share * p[i].more : 0;
    }
    m.none = p[0].share;
    return m;
}

/* The same of courses that are drawn, at 1 + after, or at as much before the data. */
static struct moments of_draws(const struct further *f, double after, bool before) {
    struct rng r;
    struct moments m = {.share = 1};
    rng_init(&r, 7, 0, 0);
    for (int k = 0; k < DRAWS; k++) {
        double t[] = {0.5, before ? -after : 1 + after}, level[2] = {0};
        bool other[2] = {false};
        further_draw(f, &r, 2, t, before, level, other);
        assert_true(level[0] == 0 && !other[0]); /* among the data nothing happens */
        m.more += level[1] * level[1] / DRAWS;
        m.none += (level[1] == 0 && !other[1]) / (double)DRAWS;
        m.other += other[1] / (double)DRAWS;
        m.both += other[1] ? level[1] * level[1] / DRAWS : 0;
    }
    return m;
}

/* E m = shape after / rate changes, (rate / (rate + after))^shape without one, for each kind. */
static void test_moments(void **state) {
    static const double after[] = {0.05, 0.2, 1, 5};
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        double a = after[i];
        struct moments s = of_parts(&shifts, a), b = of_parts(&bend, a);
        assert_true(fabs(s.share - 1) < 1e-12 && fabs(b.share - 1) < 1e-12);
        double none = 0.7 * pow(4 / (4 + a), 3) + 0.3 * pow(0.5 / (0.5 + a), 2);
        assert_true(fabs(s.none - none) < 1e-12);
        double number = a * (0.7 * 3 / 4 + 0.3 * 2 / 0.5);
        assert_true(fabs(further_rate(shifts.kind) * a - number) < 1e-12);
        assert_true(fabs(s.more - number * 2.5) < 1e-9);              /* the mean of 4 and 1 */
        assert_true(fabs(b.more - 2 * a / 4 * 9 * a * a / 3) < 1e-9); /* uniform dates */
    }
}

static void test_draws(void **state) {
    for (int before = 0; before < 2; before++) {
        struct moments p = of_parts(&shifts, 0.4), r = of_draws(&shifts, 0.4, before);
        assert_true(fabs(p.none - r.none) < 0.01 && fabs(p.more / r.more - 1) < 0.05);
        p = of_parts(&bend, 0.4), r = of_draws(&bend, 0.4, before);
        assert_true(fabs(p.none - r.none) < 0.01 && fabs(p.more / r.more - 1) < 0.08);
    }
}

/* Switches of the regime: an odd number of them leaves the other one, also beside shifts. Of one
 * kind of rate alone the odd numbers have (1 - (1 + 2 p after / rate)^-shape) / 2. */
static const struct further window = {.n = 2, .switches = 2, .kind = {{1, 3, 4}, {0, 3, 1}}};
static const struct further mixed = {
    .n = 3, .switches = 1, .at = {{false, 4}, {false, 1}}, .kind = {{0.7, 3, 4}, {0.3, 2, 0.5}}};

static void test_switches(void **state) {
    static const double after[] = {0.05, 0.2, 1, 5};
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        double a = after[i], odd = 0.5 * (1 - pow(1 + 2 * a / 4, -3));
        struct moments w = of_parts(&window, a), m = of_parts(&mixed, a);
        assert_true(fabs(w.share - 1) < 1e-12 && fabs(m.share - 1) < 1e-12);
        assert_true(fabs(w.other - odd) < 1e-12 && w.more == 0);
        double number = a * (0.7 * 3 / 4 + 0.3 * 2 / 0.5);
        assert_true(fabs(m.more - number * 5 / 3) < 1e-9); /* the mean of 4, 1 and 0 */
    }
    for (int before = 0; before < 2; before++) {
        struct moments p = of_parts(&window, 0.4), r = of_draws(&window, 0.4, before);
        assert_true(fabs(p.other - r.other) < 0.01);
        p = of_parts(&mixed, 0.4), r = of_draws(&mixed, 0.4, before);
        assert_true(fabs(p.other - r.other) < 0.01);
        assert_true(fabs(p.both / r.both - 1) < 0.25 && fabs(p.more / r.more - 1) < 0.05);
    }
}

/* The rate after k changes beside sums over a grid of rates, which weigh the prior's by Poisson's
 * probability of k; of several changes it is near their number, of one well below. */
static double rate_by_sums(int k) {
    double sum = 0, mean = 0;
    for (double u = 0.0005; u < 200; u += 0.001) {
        double prior = 0.9 * 3 * exp(-3 * u) + 0.1 * 0.25 * exp(-0.25 * u);
        double w = prior * exp(-u) * pow(u, k);
        sum += w;
        mean += w * u;
    }
    return mean / sum;
}

static void test_rates(void **state) {
    double x[60], y[60], z[SMODEL_MAX_PAR] = {0}, rate[5] = {0};
    struct smodel_data d;
    for (int i = 0; i < 60; i++) x[i] = i, y[i] = i % 7;
    assert_int_equal(smodel_data_init(&d, 60, x, y, -INFINITY, INFINITY), GPM_OK);
    for (int k = 1; k <= 4; k++) {
        struct structure s;
        struct smodel m;
        struct further f;
        memset(&s, 0, sizeof s);
        for (s.n = 0; s.n < k; s.n++) {
            s.t[s.n].mask = (uint16_t)FACTOR_BIT(factor_find("STEP", 4));
            s.t[s.n].at = term_at(0.2 * (s.n + 1));
        }
        smodel_init(&m, &d, &s);
        further_of(&m, z, &f);
        rate[k] = further_rate(f.kind);
        assert_true(f.n == k && fabs(rate[k] / rate_by_sums(k) - 1) < 1e-4);
    }
    assert_true(rate[1] < 0.7 && rate[3] > 2 && rate[4] > 3);
    smodel_data_release(&d);
}

/* A date is one edge; a window has two, unless it reaches beyond the data. */
static void test_edges(void **state) {
    static const double width[] = {0, 0.3, 0.55};
    static const int edges[] = {1, 2, 1};
    double x[40], y[40];
    struct smodel_data d;
    for (int i = 0; i < 40; i++) x[i] = i, y[i] = i % 7;
    assert_int_equal(smodel_data_init(&d, 40, x, y, -INFINITY, INFINITY), GPM_OK);
    for (int k = 0; k < 3; k++) {
        double z[SMODEL_MAX_PAR] = {0};
        struct structure s;
        struct smodel m;
        struct further f;
        memset(&s, 0, sizeof s);
        s.n = 1;
        s.change = k ? CHANGE_WINDOW : CHANGE_POINT;
        s.t[0].mask = (uint16_t)FACTOR_BIT(factor_find("MAT12", 5));
        s.t[0].gate = k ? GATE_INSIDE : GATE_AFTER;
        smodel_init(&m, &d, &s);
        z[m.tau] = smodel_unvalue(&m, m.tau, 0.5);
        if (k) z[m.width] = smodel_unvalue(&m, m.width, width[k]);
        further_of(&m, z, &f);
        assert_true(f.n == edges[k] && f.switches == edges[k]);
    }
    smodel_data_release(&d);
}

/* A pulse is there for its width: E number of those that began since, of either kind; the parts
 * know of one at a time. Beside shifts both are there. */
static void test_pulses(void **state) {
    static const double after[] = {0.01, 0.05, 0.4};
    struct further both = pulses;
    both.n = shifts.n;
    memcpy(both.at, shifts.at, sizeof both.at);
    memcpy(both.kind, shifts.kind, sizeof both.kind);
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        double a = after[i], rate = 0.7 * 3 / 4 + 0.3 * 2 / 0.5;
        struct moments p = of_parts(&pulses, a), r = of_draws(&pulses, a, i == 1);
        double more = rate * 0.5 * (4 * fmin(a, 0.02) + fmin(a, 0.06));
        assert_true(fabs(p.share - 1) < 1e-12 && p.other == 0);
        assert_true(p.more < more && p.more > 0.9 * more);
        assert_true(fabs(r.more / more - 1) < 0.12 && fabs(p.none - r.none) < 0.01);
        struct moments b = of_parts(&both, a), s = of_parts(&shifts, a);
        double there = 1 - p.none;
        assert_true(fabs(b.share - 1) < 1e-12 && fabs(b.none - s.none * p.none) < 1e-12);
        assert_true(fabs(b.more - (1 - there) * s.more - p.more) < 1e-12);
    }
    assert_true(of_parts(&pulses, 0).none == 1);
}

/* What forty values and one term, of the size that the middle of its prior says, lead to expect. */
struct alone {
    struct further f;
    double size; /* its variance */
};
static void alone(struct alone *a, const char *name, double at, double to) {
    double x[40], y[40], z[SMODEL_MAX_PAR] = {0};
    struct smodel_data d;
    struct structure s;
    struct smodel m;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < 40; i++) x[i] = i, y[i] = i % 7;
    assert_int_equal(smodel_data_init(&d, 40, x, y, -INFINITY, INFINITY), GPM_OK);
    s.n = 1;
    s.t[0].mask = (uint16_t)FACTOR_BIT(factor_find(name, strlen(name)));
    s.t[0].at = at > 0 ? term_at(at) : 0;
    s.t[0].to = to > 0 ? term_at(to) : 0;
    smodel_init(&m, &d, &s);
    further_of(&m, z, &a->f);
    a->size = pow(smodel_value(&m, m.term[0].par[SPAR_SD], 0), 2);
    smodel_data_release(&d);
}

/* What a structure has seen: their sizes and widths, and no change that stays. */
static void test_pulses_of(void **state) {
    struct alone a;
    alone(&a, "PULSE", 0.5, 0.6);
    assert_true(a.f.n == 0 && a.f.pulses == 1 && fabs(a.f.pulse[0].width - 0.1) < 1e-4);
    assert_true(fabs(a.f.pulse[0].size - a.size) < 1e-12);
    assert_true(a.f.of_pulse[0].shape > a.f.kind[0].shape);
    assert_true(a.f.of_pulse[0].rate == a.f.kind[0].rate);
}

/* A structure without a change has no further one. */
static void test_none(void **state) {
    struct alone a;
    alone(&a, "LIN", 0, 0);
    assert_int_equal(a.f.n, 0);
    alone(&a, "STEP", 0.5, 0);
    assert_true(a.f.n == 1 && !a.f.at[0].bend);
    assert_true(fabs(a.f.at[0].size - a.size) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),  cmocka_unit_test(test_draws),
        cmocka_unit_test(test_switches), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_edges),    cmocka_unit_test(test_none),
        cmocka_unit_test(test_pulses),   cmocka_unit_test(test_pulses_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
