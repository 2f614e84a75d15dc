/* SPDX-License-Identifier: Apache-2.0
 * Questions with time in them: what is read, what is refused, what predicates say of curves whose
 * answer is known; sketches as bytes. */
#include "support/check.h"

#include "apps/ask/ask.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

#define K SKETCH_KNOTS

/* ---- sketches of one draw, of series from 1950 to 1990 ---- */
static struct sketch *one_draw(void) {
    struct sketch *p = NEW(struct sketch);
    *p = (struct sketch){
        .clock = CLOCK_YEARS, .x0 = 1950, .span = 40, .mean = 10, .sd = 2, .n = 480};
    p->structure = mem_zalloc(sizeof *p->structure);
    p->structure[p->n_structures++] = (struct sketch_structure){mem_strdup("LIN + PER + WN"), 1, 0};
    p->draw = mem_zalloc(sizeof *p->draw);
    p->n_draws = 1;
    for (int k = 0; k < K; k++) {
        p->draw->level[k] = 10;
        p->draw->noise[k] = 1;
    }
    p->draw->share[KIND_NOISE] = 0.25f;
    return p;
}
static void done(struct sketch *p) {
    sketch_release(p);
    mem_free(p);
}
static double year(int k) {
    return 1950 + 40 * (k + 0.5) / K;
}
/* A ramp of the level from a year on, by `rise` until the end. */
static void ramp(struct sketch *p, double from, double rise) {
    for (int k = 0; k < K; k++)
        p->draw->level[k] += (float)(rise * fmax(0, year(k) - from) / (1990 - from));
    p->draw->share[KIND_DRIFT] = 0.7f;
}
/* A pattern between two years. */
static void pattern(struct sketch *p, double from, double to, double first, double last) {
    struct sketch_draw *d = p->draw;
    d->n_patterns = 1;
    d->pattern[0].period = 1;
    for (int k = 0; k < K; k++)
        if (year(k) >= from && year(k) <= to)
            d->pattern[0].swing[k] = (float)(first + (last - first) * (year(k) - 1950) / 40);
    d->share[KIND_PATTERN] = 0.5f;
}
static double asked(const struct sketch *p, const char *question) {
    struct arena a = {0};
    struct ask *q;
    const char *reading;
    struct buf err = BUF_INIT;
    if (ask_read(question, &a, &q, &reading, &err) != GPM_OK) fail_msg("%s", err.data);
    double v = ask_sketch(q, p).probability;
    arena_release(&a);
    buf_release(&err);
    return v;
}
#define YES(p, q)                                                                                  \
    do {                                                                                           \
        double v_ = asked(p, q);                                                                   \
        if (!(v_ > 0.8)) fail_msg("%s: %g", q, v_);                                                \
    } while (0)
#define NO(p, q)                                                                                   \
    do {                                                                                           \
        double v_ = asked(p, q);                                                                   \
        if (!(v_ < 0.2)) fail_msg("%s: %g", q, v_);                                                \
    } while (0)

static void trends(void **state) {
    struct sketch *p = one_draw();
    YES(p, "pure_noise()");
    NO(p, "rises()");
    NO(p, "smooth()");
    ramp(p, 1968, 4);
    YES(p, "rises(from=1968)");
    YES(p, "rises(from=1968.2)");
    NO(p, "rises(from=1960)");
    NO(p, "rises(from=1976)");
    NO(p, "falls(from=1968)");
    YES(p, "rises(1970..1985)");
    NO(p, "rises(1950..1965)");
    YES(p, "rises()");
    NO(p, "falls()");
    NO(p, "linear(throughout)");
    YES(p, "linear()");
    NO(p, "pure_noise()");
    YES(p, "value(1989) > 12");
    NO(p, "value(1960) > 12");
    YES(p, "value(1960) < 12");
    NO(p, "value(2020) > 0"); /* there are no data */
    done(p);
    p = one_draw();
    ramp(p, 1950, -4);
    YES(p, "falls()");
    YES(p, "linear(throughout)");
    YES(p, "is falling between 1955 and 1985");
    done(p);
}

static void patterns(void **state) {
    struct sketch *p = one_draw();
    pattern(p, 1970, 1980, 2, 2);
    YES(p, "periodic(1970..1980)");
    YES(p, "is periodic during the 1970s but not before");
    NO(p, "periodic(1960..1970)");
    NO(p, "periodic(throughout)");
    NO(p, "periodic(1970..1990)");
    YES(p, "periodic()");
    YES(p, "periodic(1970..1980, period=12 months)");
    YES(p, "periodic(1970..1980, period=0.9..1.1)");
    NO(p, "periodic(1970..1980, period=7 days)");
    NO(p, "swing_grows()"); /* it begins, it does not grow */
    YES(p, "share(periodic) > 0.5");
    done(p);
    p = one_draw();
    pattern(p, 1950, 1970, 2, 2);
    YES(p, "is periodic until about 1970 and then stops");
    NO(p, "periodic(until=1960)");
    NO(p, "periodic(until=1980)");
    NO(p, "periodic(from=1970)");
    done(p);
    p = one_draw();
    pattern(p, 1950, 1990, 0.5, 4);
    YES(p, "has a seasonal swing that grows over time");
    YES(p, "periodic(throughout)");
    NO(p, "swing_shrinks()");
    NO(p, "noise_grows()");
    done(p);
}

static void noise_and_jumps(void **state) {
    struct sketch *p = one_draw();
    for (int k = 0; k < K; k++) p->draw->noise[k] = (float)(0.3 + 2 * (year(k) - 1950) / 40);
    YES(p, "noise_grows()");
    NO(p, "noise_shrinks()");
    NO(p, "pure_noise()");
    for (int k = 0; k < K; k++) p->draw->noise[k] = year(k) < 1970 ? 0.5f : 2; /* at once */
    NO(p, "noise_grows()");
    done(p);
    p = one_draw();
    p->draw->event[p->draw->n_events++] = (struct sketch_event){0.375f, 3, true}; /* 1965 */
    for (int k = 0; k < K; k++)
        if (year(k) > 1965) p->draw->level[k] += 3;
    YES(p, "jumps to a new level in the mid 1960s");
    YES(p, "jumps(1963..1967, size>2, up)");
    NO(p, "jumps(1963..1967, size>4)");
    NO(p, "jumps(1963..1967, down)");
    NO(p, "jumps(1970..1980)");
    NO(p, "rises()"); /* a step is no trend */
    NO(p, "pure_noise()");
    done(p);
}

static void logic(void **state) {
    struct sketch *p = one_draw();
    pattern(p, 1950, 1990, 2, 2);
    YES(p, "LIN & PER");
    NO(p, "SE");
    YES(p, "PER & periodic(throughout) & !jumps()");
    YES(p, "rises() | periodic(throughout)");
    NO(p, "!(rises() | periodic(throughout))");
    YES(p, "NOT rises() AND (SE OR PER)");
    done(p);
}

/* English, and the formal question that it is; NULL: it is refused, with this in the message. */
static void english(void **state) {
    static const char *const rows[][2] = {
        {"has a rising trend starting around 1988", "rises(from=1988)"},
        {"is periodic during the 1990s", "periodic(1990..2000)"},
        {"is periodic during the 1990s but not before",
         "periodic(1990..2000) & !periodic(before 1990)"},
        {"is periodic during the 1990s but not afterwards",
         "periodic(1990..2000) & !periodic(after 2000)"},
        {"has a linear trend AND a periodic component throughout",
         "linear(throughout) & periodic(throughout)"},
        {"is pure noise", "pure_noise()"},
        {"has noise whose amplitude grows over time", "noise_grows()"},
        {"has a seasonal swing that grows over time", "swing_grows()"},
        {"jumps to a new level in the mid 1960s", "jumps(1963..1967)"},
        {"is periodic until about 1970 and then stops", "periodic(until=1970)"},
        {"is smooth, without linear trend and not periodic", "smooth() & !linear() & !periodic()"},
        {"is rising (at any time) OR periodic throughout", "rises() | periodic(throughout)"},
        {"is periodic every 12 months between 1970 and 1980",
         "periodic(1970..1980, period=12 months)"},
        {"rising trend since 1980", "rises(after 1980)"},
        {"is above 5 in 1990", "value(1990) > 5"},
        {"has a jump of at least 3 in 1975", "jumps(1975..1976, size>3)"},
        {"is a random walk", "random_walk()"},
        {"yearly cycle after 1990 and growing noise",
         "periodic(after 1990, period=1 year) & noise_grows()"},
        {"has a sudden drop in 1970", "jumps(1970..1971, down)"},
        {"rises until 1965 and then falls", "rises(before 1965) & falls(after 1965)"},
        {"is flat before 1960 and rises afterwards",
         "!(rises(before 1960) | falls(before 1960) | jumps(before 1960)) & rises(after 1960)"},
        {"rising trend starting around 1968 but not before",
         "rises(from=1968) & !rises(before 1968)"},
        {"shows yearly seasonality", "periodic(period=1 year)"},
        {"has a period of about 12 months", "periodic(period=12 months)"},
        {"has a period of 10 to 14 months", "periodic(period=10..14 months)"},
        {"has a twelve-month cycle", "periodic(period=12 month)"},
        {"cycle of about 10 years", "periodic(period=10 years)"},
        {"roughly a 12-month cycle", "periodic(period=12 month)"},
        {"repeats every decade", "periodic(period=10 years)"},
        {"Which ones are seasonal?", "periodic()"},
        {"has a level shift larger than 5 near 1970", "jumps(1969..1972, size>5)"},
        {"was above 3 in 1970", "value(1970) > 3"},
        {"in March 1970 it was at most 3", "value(1970-03) < 3"},
        {"jumps in December 1965", "jumps(1965-12..1966-01)"},
        {"was there a structural break in 1965?", "jumps(1965..1966)"},
        {"is there a season?", "periodic()"},
        {"went down from March 1965 to June 1970", "falls(1965-03..1970-06)"},
        {"is rising 1960\xe2\x80\x93"
         "1970",
         "rises(1960..1970)"},
        {"is periodic in the '70s", "periodic(1970..1980)"},
        {"doesn\xe2\x80\x99t rise in the 1970's", "!rises(1970..1980)"},
        {"the noise does not grow", "!noise_grows()"},
        {"is no longer periodic after 1980", "!periodic(after 1980)"},
        {"is random noise", "pure_noise()"},
        {"is mostly periodic", "share(periodic) > 0.5"},
        {"is not rising or falling", "!rises() & !falls()"},
        {"is neither rising nor falling", "!rises() & !falls()"},
        {"is not rising or is falling", "!rises() | falls()"},
        {"series with a linear trend", "linear()"},
        {"series without a trend", "!trend"},
        {"which series are periodic?", "periodic()"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf formal = BUF_INIT, err = BUF_INIT;
        if (!ask_english(rows[i][0], &formal, &err)) fail_msg("%s: %s", rows[i][0], err.data);
        assert_string_equal(formal.data, rows[i][1]);
        buf_release(&formal);
        buf_release(&err);
    }
}

static void refused(void **state) {
    static const char *const rows[][2] = {
        {"periodc during the 1990s", "did you mean 'periodic'?"},
        {"seasonl", "did you mean 'seasonal'?"},
        {"doubling?", "questions are like"},
        {"periodc during the 1990s", "the nearest that can: 'is periodic during the 1990s'"},
        {"has elephants", "'elephants' is not known"},
        {"has elephants", "questions are like"},
        {"trend reverses", "the nearest that can: 'has a rising trend starting around 1988'"},
        {"will it rise next year?", "of what is to come gpmem forecast tells"},
        {"how much did it rise?", "questions are those that yes or no answers"},
        {"is random", "expected a property"},
        {"exceeds 5", "expected the date of the value"},
        {"has a jump of at most 3", "a least size"},
        {"rises and then falls", "a date after 'after'"},
        {"is periodic every fortnight", "expected a length"},
        {"is rising and and and and and and and and and and and and and and and and and and and "
         "and "
         "and and and and and and and and and and and and and and and and and and and and "
         "and and and and and and and and and and and and and and and and and and and and and and "
         "and and and periodic",
         "more than 64 words"},
        {"is periodic during", "the word 'during' is not known"},
        {"rises(1970..", "letter 13, expected ')'"},
        {"rises(1980..1970)", "ends before it begins"},
        {"rises(yesterday..1990)", "expected a date"},
        {"periodic(1970..1980, perod=1)", "it takes 1970..1980"},
        {"share(perodic) > 0.5", "did you mean 'periodic'?"},
        {"share(periodic)", "as in share(periodic) > 0.5"},
        {"value(1990)", "expected '>' or '<'"},
        {"value() > 3", "expected a date"},
        {"periodic(period=3 parsecs)", "expected a unit"},
        {"smooth(1970..1980)", "it takes nothing"},
        {"rises() rises()", "expected '&', '|' or the end"},
        {"(rises()", "expected ')'"},
        {"rises() &", "expected a predicate"},
        {"risse()", "did you mean rises()?"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        struct ask *q;
        const char *reading;
        struct buf err = BUF_INIT;
        assert_int_equal(ask_read(rows[i][0], &a, &q, &reading, &err), GPM_E_FORMAT);
        if (!strstr(err.data, rows[i][1])) fail_msg("%s: %s", rows[i][0], err.data);
        arena_release(&a);
        buf_release(&err);
    }
}

/* ---- bytes ---- */
static uint32_t number(void *ctx, const char *text) {
    assert_string_equal(text, "LIN + PER + WN");
    return 7;
}
static const char *text(void *ctx, uint32_t n) {
    return n == 7 ? "LIN + PER + WN" : NULL;
}

static void bytes(void **state) {
    struct sketch_names names = {number, text, NULL};
    struct sketch *p = one_draw(), q;
    struct buf b = BUF_INIT;
    pattern(p, 1970, 1980, 2, 2);
    ramp(p, 1968, 4);
    p->draw->event[p->draw->n_events++] = (struct sketch_event){0.25f, -2, true};
    p->draw->line = 1.5f;
    p->draw = mem_realloc(p->draw, 2 * sizeof *p->draw);
    p->draw[1] = p->draw[0];
    p->n_draws = 2;
    for (int k = 0; k < K; k++) p->draw[1].level[k] += 0.1f * (float)k;
    p->ahead[p->n_ahead++] = (struct sketch_ahead){1.1f, 8, 9, 10};
    sketch_write(p, &names, &b);
    assert_int_equal(sketch_read(&q, &names, b.data, b.len), GPM_OK);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < K; k++) {
            assert_true(fabsf(q.draw[i].level[k] - p->draw[i].level[k]) < 0.02);
            assert_true(fabsf(q.draw[i].pattern[0].swing[k] - p->draw[i].pattern[0].swing[k]) <
                        0.1);
            assert_true(fabsf(q.draw[i].noise[k] - p->draw[i].noise[k]) < 0.05);
        }
    assert_true(q.draw[0].line == 1.5f && q.draw[0].event[0].size == -2 && q.n == p->n);
    YES(&q, "periodic(1970..1980)");
    assert_true(q.n_ahead == 1 && q.ahead[0].t == 1.1f && q.ahead[0].hi == 10);
    sketch_release(&q);
    b.data[0] = 1; /* the first format, which had no forecast: 17 bytes less */
    assert_int_equal(sketch_read(&q, &names, b.data, b.len - 17), GPM_OK);
    assert_true(q.n_ahead == 0 && q.draw[1].line == 1.5f);
    sketch_release(&q);
    b.data[0] = 2;
    for (size_t cut = 0; cut < b.len; cut++) /* whatever is missing is noticed */
        assert_int_equal(sketch_read(&q, &names, b.data, cut), GPM_E_FORMAT);
    for (size_t i = 0; i < b.len; i++) { /* other bytes are read or refused, and nothing breaks */
        b.data[i] ^= 0x55;
        if (sketch_read(&q, &names, b.data, b.len) == GPM_OK) {
            asked(&q, "rises(from=1970) | periodic() | LIN | noise_grows() | jumps() | smooth()");
            sketch_release(&q);
        }
        b.data[i] ^= 0x55;
    }
    buf_release(&b);
    done(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trends), cmocka_unit_test(patterns), cmocka_unit_test(noise_and_jumps),
        cmocka_unit_test(logic),  cmocka_unit_test(english),  cmocka_unit_test(refused),
        cmocka_unit_test(bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
