/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms that have dates and periods of the calendar: a pulse is the constant between its dates, a
 * pattern of a day that differs within the week the product of two. Their gradients, and what a
 * grammar allows of them.
 */
#include "apps/discover/smodel.h"
#include "gp/kernel/kern_class.h"
#include "support/check.h"
#include "support/structure_text.h"
#include <math.h>
#include <string.h>

#define N 84 /* four values a day, three weeks */

static void data_make(struct smodel_data *d) {
    double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i / 4.0;
        y[i] = 5 + sin(1.7 * i) + (i % 28 > 19) * cos(1.6 * i);
    }
    assert_int_equal(smodel_data_init(d, N, x, y, -INFINITY, INFINITY), GPM_OK);
    double span = x[N - 1];
    smodel_data_season(d, 7 / span);
    smodel_data_season(d, 1 / span);
    assert_int_equal(d->n_season, 2);
}

static struct structure with_dates(const char *text, const char *factor, int at, int to) {
    struct structure s = structure_of(text);
    bool done = false;
    for (int i = 0; i < s.n && !done; i++) {
        if (s.t[i].mask != FACTOR_BIT(factor_find(factor, strlen(factor))) || s.t[i].at) continue;
        s.t[i].at = (uint16_t)at;
        s.t[i].to = (uint16_t)to;
        done = true;
    }
    assert_true(done);
    structure_canonical(&s);
    return s;
}

static double covariance(const struct smodel *m, const double *z, double a, double b) {
    double t[2] = {a, b}, c[4];
    struct kern *k = smodel_kernel(m, z, 0);
    assert_int_equal(kern_fill(k, (struct kern_pts){.x = t, .n = 2, .ld = 2, .dim = 1}, c, 2),
                     GPM_OK);
    kern_unref(k);
    return c[1];
}

static void check_gradient(const struct smodel_data *d, const struct structure *s) {
    struct smodel_work *w = smodel_work_new(d);
    struct smodel m;
    double z[SMODEL_MAX_PAR] = {0}, g[SMODEL_MAX_PAR];
    smodel_init(&m, d, s);
    smodel_prior_draw_hint(&m, z);
    for (int i = 0; i < m.d; i++) z[i] += 0.2 * sin(3.0 * i);
    assert_true(isfinite(smodel_eval(&m, w, z, g)));
    for (int i = 0; i < m.d; i++) {
        double at = z[i], a, b;
        z[i] = at + 1e-5;
        a = smodel_eval(&m, w, z, NULL);
        z[i] = at - 1e-5;
        b = smodel_eval(&m, w, z, NULL);
        z[i] = at;
        assert_close((a - b) / 2e-5, g[i], 1e-4 * (1 + fabs(g[i])));
    }
    smodel_work_free(w);
}

static void test_pulse(void **state) {
    struct smodel_data d;
    struct smodel m;
    double z[SMODEL_MAX_PAR] = {0};
    data_make(&d);
    struct structure s = with_dates("PULSE + WN", "PULSE", term_at(0.25), term_at(0.5));
    smodel_init(&m, &d, &s);
    assert_int_equal(m.d, 2); /* its size and that of the noise: the dates are chosen */
    double sd = smodel_value(&m, m.term[0].par[SPAR_SD], z[m.term[0].par[SPAR_SD]]);
    assert_close(covariance(&m, z, 0.3, 0.45), sd * sd, 1e-12);
    assert_true(covariance(&m, z, 0.2, 0.3) == 0 && covariance(&m, z, 0.3, 0.55) == 0);
    assert_true(covariance(&m, z, 0.1, 0.9) == 0);
    s = with_dates("LIN + PER + PULSE + WN", "PULSE", term_at(0.25), term_at(0.5));
    check_gradient(&d, &s);
    smodel_data_release(&d);
}

/* PER of mean zero over the week times PER, with its mean, over the day. */
static void test_nested(void **state) {
    struct smodel_data d;
    struct smodel m;
    double z[SMODEL_MAX_PAR] = {0}, week = 7 / 20.75, day = 1 / 20.75;
    data_make(&d);
    struct structure s = with_dates("PER + WN", "PER", 1, 2);
    smodel_init(&m, &d, &s);
    const int *par = m.term[0].par;
    assert_true(m.d == 4 && par[SPAR_LWITHIN] >= 0 && !smodel_free(par[SPAR_PERIOD]));
    z[par[SPAR_LPER]] = log(0.8);
    z[par[SPAR_LWITHIN]] = log(0.5);
    double sd = smodel_value(&m, par[SPAR_SD], z[par[SPAR_SD]]);
    struct structure alone = with_dates("PER + WN", "PER", 1, 0);
    struct smodel of_week;
    smodel_init(&of_week, &d, &alone);
    double zw[SMODEL_MAX_PAR] = {0};
    zw[of_week.term[0].par[SPAR_LPER]] = log(0.8);
    for (double lag = 0.003; lag < 0.4; lag += 0.017) {
        double inner = exp(-2 * pow(sin(M_PI * lag / day) / 0.5, 2));
        double outer = covariance(&of_week, zw, 0, lag); /* of size exp of its z, too */
        assert_close(covariance(&m, z, 0, lag), inner * outer, 1e-9 * sd * sd);
        assert_close(covariance(&m, z, 0, lag), covariance(&m, z, 0, lag + week), 1e-6 * sd * sd);
    }
    s = with_dates("MAT12 + PER + WN", "PER", 1, 2);
    check_gradient(&d, &s);
    smodel_data_release(&d);
}

static void test_grammar(void **state) {
    struct grammar g;
    grammar_init(&g, 0, false, false);
    g.outer = 1, g.inner = 2;
    grammar_calendar(&g, 2, 50);
    struct structure s = with_dates("PER + WN", "PER", 1, 2), v, w;
    struct structure plain = with_dates("PER + WN", "PER", 1, 0);
    assert_true(grammar_allows(&g, &s) && structure_sound(&s, 2) && !structure_sound(&s, 1));
    assert_close(grammar_log_prior(&g, &s) - grammar_log_prior(&g, &plain), -2, 1e-12);
    struct buf b = BUF_INIT;
    structure_print(&s, &b);
    assert_string_equal(b.data, "PER*PER + WN");
    buf_release(&b);
    /* a pulse costs its two dates; none shares one with another break */
    struct structure flat = structure_of("LIN + WN");
    assert_true(grammar_break(&g, &flat, 0.2, 0.4, &v) && structure_sound(&v, 0));
    assert_close(grammar_log_prior(&g, &v) - grammar_log_prior(&g, &flat), -2 - log(50 * 49 / 2.0),
                 1e-9);
    assert_true(grammar_break(&g, &v, 0.6, 0.7, &w) && grammar_break(&g, &v, 0.3, 0, &w));
    assert_false(grammar_break(&g, &v, 0.2, 0, &w) || grammar_break(&g, &v, 0.4, 0, &w) ||
                 grammar_break(&g, &v, 0.4, 0.6, &w) || grammar_break(&g, &v, 0.1, 0.4, &w));
    /* as two shifts, where the level does not come back */
    int pulse = v.t[0].to ? 0 : 1;
    assert_true(grammar_steps(&g, &v, pulse, &w) && w.n == 3 && structure_sound(&w, 0));
    assert_false(grammar_steps(&g, &v, 1 - pulse, &w));
    v.t[pulse].to = v.t[pulse].at;
    assert_false(grammar_allows(&g, &v) || structure_sound(&v, 0));
    grammar_cheap(&g);
    assert_false(grammar_break(&g, &flat, 0.2, 0.4, &v)); /* in collections there are none */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pulse), cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_grammar)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
