/* SPDX-License-Identifier: Apache-2.0
 * Traits of series bound every answer: random sketches of many kinds, random questions with random
 * dates, and what is read of damaged bytes. */
#include "support/check.h"

#include "base/mem.h"
#include "apps/discover/traits.h"
#include "numeric/special/rng.h"
#include <math.h>
#include <string.h>

#define K       SKETCH_KNOTS
#define SERIES  150
#define ASKINGS 1500

static const char *const structures[] = {"WN", "LIN + WN", "PER + WN", "LIN + PER + WN",
                                         "STEP + SE + WN"};
static uint32_t number(void *ctx, const char *text) {
    for (uint32_t i = 0; i < COUNT_OF(structures); i++)
        if (!strcmp(text, structures[i])) return 100 * i + 7;
    fail_msg("%s", text);
    return 0;
}
static const char *text(void *ctx, uint32_t n) {
    return n % 100 == 7 && n / 100 < COUNT_OF(structures) ? structures[n / 100] : NULL;
}
static const struct sketch_names names = {number, text, NULL};

static double u(struct rng *r, double lo, double hi) {
    return lo + (hi - lo) * rng_uniform(r);
}

/* ---- a sketch of anything ---- */
/* A series has a character, which its draws share more or less. */
struct character {
    double slope, bend, wave, wander, from, to, period, step, date, spread, grows;
};

static void draw_curves(struct rng *r, const struct character *c, double sd,
                        struct sketch_draw *d) {
    double walk = 0, off = c->spread;
    double tau = c->from + off * u(r, -0.1, 0.1), slope = c->slope + off * rng_normal(r);
    for (int k = 0; k < K; k++) {
        double t = (k + 0.5) / K;
        walk += c->wander * rng_normal(r) / 6;
        d->level[k] = (float)(20 + sd * (slope * t + c->bend * fmax(0, t - tau) + walk));
        d->noise[k] = (float)(sd * 0.3 * exp(c->grows * t));
    }
    if (c->wave > 0 && rng_uniform(r) < 1 - off / 2) {
        int n = 1 + (rng_uniform(r) < 0.3);
        d->n_patterns = n;
        for (int i = 0; i < n; i++) {
            d->pattern[i].period = (float)(c->period * (1 + i) * u(r, 0.97, 1.03));
            for (int k = 0; k < K; k++) {
                double t = (k + 0.5) / K, here = t >= tau && t < c->to;
                d->pattern[i].swing[k] =
                    (float)(sd * c->wave * (here ? exp(c->grows * t) : u(r, 0, 0.05)));
            }
        }
    }
    if (c->step != 0 && rng_uniform(r) < 1 - off / 2) {
        double at = fmin(fmax(c->date + off * u(r, -0.1, 0.1), 0), 1), size = sd * c->step;
        d->event[d->n_events++] = (struct sketch_event){(float)at, (float)size, true};
        for (int k = 0; k < K; k++)
            if ((k + 0.5) / K > at) d->level[k] += (float)size;
    }
    d->line = rng_uniform(r) < 0.4 ? (float)(sd * slope) : 0;
    for (int k = 0; k < SKETCH_KINDS; k++)
        d->share[k] = rng_uniform(r) < 0.5 ? (float)u(r, 0, 0.7) : 0;
}

static void make_sketch(struct rng *r, struct sketch *p) {
    static const double spans[] = {1, 20, 40};
    int clock = (int)u(r, 0, 3);
    size_t draws = rng_uniform(r) < 0.8 ? SKETCH_DRAWS : 1 + (size_t)u(r, 0, SKETCH_DRAWS);
    struct character c = {.slope = rng_uniform(r) < 0.5 ? u(r, -2, 2) : 0,
                          .bend = rng_uniform(r) < 0.5 ? u(r, -4, 4) : 0,
                          .wave = rng_uniform(r) < 0.6 ? u(r, 0, 1.5) : 0,
                          .wander = rng_uniform(r) < 0.4 ? u(r, 0, 1) : 0,
                          .from = rng_uniform(r) < 0.5 ? u(r, 0.1, 0.9) : 0,
                          .to = rng_uniform(r) < 0.5 ? u(r, 0.3, 1) : 1,
                          .period = exp(u(r, -3, 3)),
                          .step = rng_uniform(r) < 0.4 ? u(r, -2, 2) : 0,
                          .date = rng_uniform(r),
                          .spread = rng_uniform(r) < 0.5 ? 0.02 : u(r, 0, 1),
                          .grows = rng_uniform(r) < 0.3 ? u(r, -2, 2) : 0};
    double sd = exp(u(r, -3, 6));
    *p = (struct sketch){.clock = (enum sketch_clock)clock,
                         .span = spans[(int)u(r, 0, 3)] * u(r, 0.5, 1.5),
                         .mean = 20,
                         .sd = sd,
                         .n = 100};
    p->x0 = clock == CLOCK_DAYS ? u(r, -5000, 5000) : floor(u(r, 1950, 1980));
    if (clock == CLOCK_DAYS) p->span *= 365;
    p->structure = mem_zalloc(COUNT_OF(structures) * sizeof *p->structure);
    for (size_t i = 0; i < COUNT_OF(structures); i++)
        p->structure[p->n_structures++] =
            (struct sketch_structure){mem_strdup(structures[i]), 0.2F, 0.01F};
    p->draw = mem_zalloc(draws * sizeof *p->draw);
    for (; p->n_draws < draws; p->n_draws++) {
        struct sketch_draw *d = &p->draw[p->n_draws];
        d->structure = (int)u(r, 0, c.spread < 0.1 ? 1.3 : (double)COUNT_OF(structures));
        draw_curves(r, &c, sd, d);
    }
}

/* As an index has it: written and read again. */
static void keep_sketch(struct rng *r, struct sketch *p) {
    struct sketch made;
    struct buf b = BUF_INIT;
    make_sketch(r, &made);
    sketch_write(&made, &names, &b);
    assert_int_equal(sketch_read(p, &names, b.data, b.len), GPM_OK);
    sketch_release(&made);
    buf_release(&b);
}

/* ---- questions ---- */
static void interval(struct rng *r, struct buf *b) {
    double from = u(r, 1940, 2000);
    switch ((int)u(r, 0, 5)) {
    case 0: buf_printf(b, "before %.1f", from); break;
    case 1: buf_printf(b, "after %.1f", from); break;
    case 2: buf_puts(b, "throughout"); break;
    default: buf_printf(b, "%.0f..%.2f", floor(from), floor(from) + u(r, 1.5, 30));
    }
}

static void predicate(struct rng *r, struct buf *b) {
    static const char *const spans[] = {"rises",         "falls",        "linear",
                                        "swing_grows",   "noise_grows",  "periodic",
                                        "swing_shrinks", "noise_shrinks"},
                             *const plain[] = {"smooth",      "random_walk", "pure_noise", "jumps",
                                               "periodic",    "rises",       "falls",      "linear",
                                               "swing_grows", "noise_grows"};
    double date = u(r, 1945, 2000);
    switch ((int)u(r, 0, 9)) {
    case 0: buf_printf(b, "%s()", plain[(int)u(r, 0, COUNT_OF(plain))]); return;
    case 1:
        buf_printf(b, "%s(from=%.*f)", u(r, 0, 2) < 1 ? "rises" : "falls", (int)u(r, 0, 2), date);
        return;
    case 2: buf_printf(b, "periodic(%s=%.0f)", u(r, 0, 2) < 1 ? "from" : "until", date); return;
    case 3:
        buf_printf(b, "value(%.1f) %c %g", date, u(r, 0, 2) < 1 ? '<' : '>', u(r, 10, 40));
        return;
    case 4:
        buf_printf(b, "share(%s) %c %.2f", ask_kinds[(int)u(r, 0, SKETCH_KINDS)],
                   u(r, 0, 2) < 1 ? '<' : '>', u(r, 0, 1));
        return;
    case 5:
        buf_puts(b, "jumps(");
        interval(r, b);
        if (u(r, 0, 2) < 1) buf_puts(b, u(r, 0, 2) < 1 ? ", up" : ", down");
        if (u(r, 0, 3) < 1) buf_printf(b, ", size>%g", u(r, 0, 30));
        break;
    case 6:
        buf_printf(b, "%s(period=%g..%g", u(r, 0, 2) < 1 ? "periodic" : "swing_grows", u(r, 0, 1),
                   u(r, 1, 10));
        if (u(r, 0, 2) < 1) buf_puts(b, ", "), interval(r, b);
        break;
    default: buf_printf(b, "%s(", spans[(int)u(r, 0, COUNT_OF(spans))]); interval(r, b);
    }
    buf_putc(b, ')');
}

static void question(struct rng *r, int depth, struct buf *b) {
    static const char *const kernels[] = {"PER", "LIN", "STEP", "SE & PER", "WN"};
    double kind = depth ? u(r, 0, 10) : 0;
    if (kind < 5) return predicate(r, b);
    if (kind < 6) return buf_puts(b, kernels[(int)u(r, 0, COUNT_OF(kernels))]);
    buf_puts(b, kind < 7.5 ? "!(" : "(");
    question(r, depth - 1, b);
    if (kind >= 7.5) {
        buf_puts(b, kind < 9 ? " & " : " | ");
        question(r, depth - 1, b);
    }
    buf_putc(b, ')');
}

/* ---- the tests ---- */
struct many {
    struct sketch p[SERIES];
    struct buf part[TRAITS];
    struct traits t;
};

static struct many *make_many(struct rng *r) {
    struct many *m = mem_zalloc(sizeof *m);
    for (int i = 0; i < TRAITS; i++) buf_init(&m->part[i]);
    for (int i = 0; i < SERIES; i++) { /* some numbers have no series */
        if (i % 10 < 9) keep_sketch(r, &m->p[i]);
        traits_add(i % 10 < 9 ? &m->p[i] : NULL, &names, m->part);
    }
    m->t.n = SERIES;
    for (int i = 0; i < TRAITS; i++) {
        m->t.part[i] = m->part[i].data;
        m->t.bytes[i] = m->part[i].len;
    }
    return m;
}

static void free_many(struct many *m) {
    for (int i = 0; i < SERIES; i++) sketch_release(&m->p[i]);
    for (int i = 0; i < TRAITS; i++) buf_release(&m->part[i]);
    mem_free(m);
}

/* Every answer is between its bounds; over all questions the bounds are near it, or no sketch would
 * be left out. */
static void bounds(void **state) {
    struct rng r;
    rng_init(&r, 5, 0, 0);
    struct many *m = make_many(&r);
    double apart = 0, n = 0;
    for (int k = 0; k < ASKINGS; k++) {
        struct arena a = {0};
        struct buf b = BUF_INIT, err = BUF_INIT;
        struct ask *q;
        float lo[SERIES], hi[SERIES];
        question(&r, 2, &b);
        if (ask_parse(b.data, &a, &q, &err) != GPM_OK) fail_msg("%s", err.data);
        if (ask_dated(q)) {
            struct traits needed = m->t; /* nothing else is looked at */
            for (int i = 0; i < TRAITS; i++)
                if (!(traits_needed(q) >> i & 1)) needed.part[i] = NULL, needed.bytes[i] = 0;
            assert_int_equal(traits_bound(q, &needed, &names, 0, lo, hi), GPM_OK);
            float least = (float)u(&r, 0, 1), lo2[SERIES], hi2[SERIES];
            assert_int_equal(traits_bound(q, &needed, &names, least, lo2, hi2), GPM_OK);
            for (int i = 0; i < SERIES; i++) {
                if (i % 10 == 9) continue;
                if (hi2[i] < least ? !(hi[i] < least) : hi2[i] != hi[i] || lo2[i] != lo[i])
                    fail_msg("%s, series %d: %.8f, with %.8f as the least %.8f", b.data, i, hi[i],
                             least, hi2[i]);
                double p = ask_sketch(q, &m->p[i]).probability;
                if (!(p >= lo[i] && p <= hi[i]))
                    fail_msg("%s, series %d: %.8f is not in %.8f..%.8f", b.data, i, p, lo[i],
                             hi[i]);
                apart += hi[i] - p;
                n++;
            }
        }
        arena_release(&a);
        buf_release(&b);
        buf_release(&err);
    }
    if (!(apart / n < 0.12)) fail_msg("bounds are %.3f above the answers", apart / n);
    free_many(m);
}

/* Bytes that are missing or others are read or refused, and nothing breaks. */
static void damaged(void **state) {
    static const char all[] =
        "rises(from=1960) | periodic(until=1970) | jumps(1950..1990) | value(1970) > 3 & PER | "
        "share(noise) > 0.3 | falls(1950..1980) | periodic(1950..1980, period=1..2) | smooth()";
    struct rng r;
    rng_init(&r, 6, 0, 0);
    struct many *m = make_many(&r);
    struct arena a = {0};
    struct buf err = BUF_INIT;
    struct ask *q;
    float lo[SERIES], hi[SERIES];
    assert_int_equal(ask_parse(all, &a, &q, &err), GPM_OK);
    for (int i = 0; i < TRAITS; i++) {
        if (!(traits_needed(q) >> i & 1)) continue;
        m->t.bytes[i]--;
        assert_int_equal(traits_bound(q, &m->t, &names, 0, lo, hi), GPM_E_FORMAT);
        m->t.bytes[i]++;
        for (int k = 0; k < 300; k++) {
            size_t at = (size_t)u(&r, 0, (double)m->part[i].len);
            char was = m->part[i].data[at];
            m->part[i].data[at] = (char)u(&r, -128, 127);
            (void)!traits_bound(q, &m->t, &names, 0, lo, hi);
            m->part[i].data[at] = was;
        }
    }
    arena_release(&a);
    buf_release(&err);
    free_many(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
