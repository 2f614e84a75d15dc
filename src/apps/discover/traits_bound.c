/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds of answers from traits. Every leaf of a question gets a lower and an upper bound of its
 * mean over the draws of each series; AND, OR and NOT join them as means of products can lie:
 * max(0, a + b - 1) <= mean(ab) <= min(a, b).
 * What curves say is in traits_curve.c.
 */
#include "base/mem.h"
#include "apps/discover/traits_priv.h"
#include <math.h>
#include <pthread.h>

/* ---- reading ---- */
struct trait_record {
    const uint8_t *at, *end;
};
/* Records of a part, one after the other. */
struct trait_column {
    const uint8_t *at, *end;
    int width;
};

static struct trait_column column_of(const struct traits *t, int part) {
    return (struct trait_column){t->part[part], (const uint8_t *)t->part[part] + t->bytes[part],
                                 trait_width(part)};
}

static bool next_record(struct trait_column *c, struct trait_record *r) {
    size_t n = (size_t)c->width;
    if (!n) {
        if (c->end - c->at < 2) return false;
        n = u16_at(c->at);
        c->at += 2;
    }
    if ((size_t)(c->end - c->at) < n) return false;
    *r = (struct trait_record){c->at, c->at + n};
    c->at += n;
    return true;
}

/* A number in 7-bit bytes; false: it does not end. */
static bool next_number(struct trait_record *r, uint32_t *v) {
    *v = 0;
    for (int shift = 0; r->at < r->end && shift < 32; shift += 7) {
        *v |= (uint32_t)(*r->at & 127) << shift;
        if (*r->at++ < 128) return true;
    }
    return false;
}

/* A mass as it may be at most, and at least. */
static float most_of(const uint8_t *p) {
    return (float)u16_at(p) * (1.0F / TRAIT_FULL);
}
static float least_of(const uint8_t *p) {
    unsigned u = u16_at(p);
    return u ? (float)(u - 1) * (1.0F / TRAIT_FULL) : 0;
}

/* ---- one leaf over all series ---- */
/* The bounds of series i, which are 0 before, from its axis (of `when`) and record; false: damaged.
 * It looks first whether there is anything to be asked about: most series have it not. */
typedef bool leaf_fn(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r);

static enum gpm_status each_series(const struct leaf *l, int part, leaf_fn *bound) {
    struct trait_column data = column_of(l->t, part);
    const uint8_t *when = l->t->part[TRAIT_TIME], *live = l->t->part[TRAIT_LIVE];
    size_t width = (size_t)trait_width(TRAIT_TIME);
    for (size_t i = 0; i < l->t->n; i++, when += width) {
        struct trait_record r;
        if (!next_record(&data, &r)) return GPM_E_FORMAT;
        if (live[i] && !bound(l, i, when, r)) return GPM_E_FORMAT;
    }
    return GPM_OK;
}

static enum gpm_status bound_mass(const struct leaf *l, int part, bool exact) {
    if (l->t->bytes[part] < 2 * l->t->n) return GPM_E_FORMAT;
    const uint8_t *p = l->t->part[part];
    for (size_t i = 0; i < l->t->n; i++) {
        l->lo[i] = exact ? least_of(p + 2 * i) : 0;
        l->hi[i] = most_of(p + 2 * i);
    }
    return GPM_OK;
}

/* How near something is to a date, exp(-z^2 / 2), in steps of 1 / PER_UNIT; between them straight
 * lines are wrong by less than BETWEEN. What is left out is 1e-14. */
#define UNITS    8
#define PER_UNIT 64
#define BETWEEN  3.1e-5F /* 1 / (8 PER_UNIT^2), as no second derivative is above 1 */
static struct {
    pthread_once_t once;
    float at[UNITS * PER_UNIT + 2];
} nearness = {.once = PTHREAD_ONCE_INIT};

static void prepare_nearness(void) {
    for (int j = 0; j < (int)COUNT_OF(nearness.at); j++)
        nearness.at[j] = (float)ask_near((double)j / PER_UNIT, 0, 1);
}

/* Masses near a date. */
static bool bound_near(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r,
                       bool down) {
    if (r.end - r.at < 4 || (r.end - r.at - 4) % 3) return false;
    const uint8_t *p = r.at + 4;
    float hi = most_of(r.at + (down ? 2 : 0)), lo = 0;
    while (p < r.end && p[0] >> 7 != down) p += 3;
    l->hi[i] = hi;
    if (p >= r.end) return true;
    struct ask_date date = l->p->given & ASK_UNTIL ? l->p->to : l->p->from;
    struct ask_axis axis = axis_of(when);
    double place = ask_place(&axis, date), per = PER_UNIT / ask_around(&axis, date);
    float from = (float)(place * per), step = (float)(per / ASK_BENDS);
    for (; p < r.end && p[0] >> 7 == down; p += 3) {
        float z = fabsf((float)(p[0] & 127) * step - from);
        if (!(z < UNITS * PER_UNIT)) continue; /* also of no number: the axis has no such date */
        int j = (int)z;
        float near = nearness.at[j] + (nearness.at[j + 1] - nearness.at[j]) * (z - (float)j);
        hi += (near + BETWEEN) * most_of(p + 1);
        lo += (near > BETWEEN ? near - BETWEEN : 0) * least_of(p + 1);
    }
    l->lo[i] = lo;
    l->hi[i] = hi;
    return true;
}

static bool bend_near(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r) {
    return bound_near(l, i, when, r, l->p->name == ASK_FALLS);
}
static bool edge_near(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r) {
    return bound_near(l, i, when, r, l->p->given & ASK_UNTIL);
}

/* A cell has an earliest and a latest date. */
static bool steps_within(const struct leaf *l, size_t i, const uint8_t *when,
                         struct trait_record r) {
    const struct ask_predicate *q = l->p;
    if ((r.end - r.at) % 9) return false;
    if (r.at == r.end) return true;
    struct ask_axis axis = axis_of(when);
    struct ask_stretch w = ask_stretch_of(q, &axis);
    double hi = 0;
    for (const uint8_t *p = r.at; p < r.end; p += 9) {
        bool down = p[0] >> 7;
        double first = (double)(p[0] & 127) / TRAIT_CELLS, last = first + 1.001 / TRAIT_CELLS;
        if ((q->up && down) || (q->down && !down)) continue;
        double in = ask_soft(last, w.from, WIDTH_DATE) * (1 - ask_soft(first, w.to, WIDTH_DATE));
        if (!(q->given & ASK_SIZE))
            hi += in * most_of(p + 1);
        else if ((double)f32_at(p + 5) >= q->size)
            hi += in * most_of(p + 3);
    }
    l->hi[i] = (float)fmin(hi, 1);
    return true;
}

/* ---- periods ---- */
/* Draws with a pattern whose period may be in the range, and with one that may not be: without the
 * latter, the patterns asked for are all patterns, whose bounds lo, hi hold. */
static bool within_periods(const struct leaf *l, size_t i, const uint8_t *when,
                           struct trait_record r) {
    double from, to, may = 0, other = 0;
    struct ask_axis axis = axis_of(when);
    ask_periods(l->p, axis.clock, &from, &to);
    if ((r.end - r.at) % 4) return false;
    for (const uint8_t *p = r.at; p < r.end; p += 4) {
        double at = exp2((int16_t)u16_at(p) / 16.0), next = at * 1.0442738 /* 2^(1/16) */;
        bool inside = at >= from * 1.0001 && next <= to * 0.9999;
        if (next * 1.0001 >= from && at * 0.9999 <= to) may += most_of(p + 2);
        if (!inside) other += most_of(p + 2);
    }
    l->hi[i] = (float)fmin(may, l->hi[i] + other);
    l->lo[i] = (float)fmax(l->lo[i] - other, 0);
    return true;
}

/* ---- predicates ---- */
/* The part that bounds a predicate, its period left aside. */
static int part_of(const struct ask_predicate *q) {
    struct ask_predicate plain = *q;
    plain.given &= ~ASK_PERIOD;
    int part = trait_asked(&plain);
    if (part >= 0) return part;
    switch (q->name) {
    case ASK_RISES:
    case ASK_FALLS: return q->given & ASK_FROM ? TRAIT_BENDS : TRAIT_COURSE;
    case ASK_PERIODIC: return q->given & (ASK_FROM | ASK_UNTIL) ? TRAIT_EDGES : TRAIT_PRESENCE;
    case ASK_SWING_GROWS:
    case ASK_SWING_SHRINKS: return TRAIT_SWINGS;
    case ASK_NOISE_GROWS:
    case ASK_NOISE_SHRINKS: return TRAIT_NOISES;
    case ASK_JUMPS: return TRAIT_STEPS;
    case ASK_VALUE: return TRAIT_LEVEL;
    default: return TRAIT_SHARES;
    }
}

static enum gpm_status bound_predicate(const struct leaf *l) {
    enum gpm_status st = GPM_OK;
    int part = part_of(l->p);
    memset(l->lo, 0, l->t->n * sizeof *l->lo);
    memset(l->hi, 0, l->t->n * sizeof *l->hi);
    switch (part) {
    case TRAIT_BENDS:
        pthread_once(&nearness.once, prepare_nearness);
        st = each_series(l, part, bend_near);
        break;
    case TRAIT_COURSE: leaf_trend(l); break;
    case TRAIT_EDGES:
        pthread_once(&nearness.once, prepare_nearness);
        st = each_series(l, part, edge_near);
        break;
    case TRAIT_PRESENCE: leaf_presence(l); break;
    case TRAIT_STEPS: st = each_series(l, part, steps_within); break;
    case TRAIT_LEVEL: leaf_level(l); break;
    case TRAIT_SHARES: leaf_shares(l); break;
    default: st = bound_mass(l, part, part < TRAIT_SWINGS);
    }
    return !st && l->p->given & ASK_PERIOD ? each_series(l, TRAIT_PERIODS, within_periods) : st;
}

/* ---- structures ---- */
static enum gpm_status bound_structure(const struct ask *q, const struct traits *t,
                                       const struct sketch_names *names, float *lo, float *hi) {
    enum { KNOWN = 4096 }; /* numbers whose answer is remembered: 0 not yet, 1 no, 2 yes */
    uint8_t known[KNOWN] = {0};
    struct trait_column c = column_of(t, TRAIT_DRAWN);
    const uint8_t *live = t->part[TRAIT_LIVE];
    for (size_t i = 0; i < t->n; i++) {
        struct trait_record r;
        float of = 0;
        if (!next_record(&c, &r)) return GPM_E_FORMAT;
        while (r.at < r.end) {
            uint32_t number;
            if (!next_number(&r, &number) || r.at == r.end) return GPM_E_FORMAT;
            uint8_t holds = number < KNOWN ? known[number] : 0;
            if (!holds) {
                const char *text = names->text(names->ctx, number);
                if (!text) return GPM_E_FORMAT;
                holds = kern_query_holds_text(q->structure, text) ? 2 : 1;
                if (number < KNOWN) known[number] = holds;
            }
            of += holds == 2 ? (float)*r.at : 0;
            r.at++;
        }
        lo[i] = hi[i] = live[i] ? of / live[i] : 0;
    }
    return GPM_OK;
}

enum gpm_status traits_structures(const struct traits *t, const float *weight, uint32_t most,
                                  bool root, float *sum, float *error) {
    struct trait_column c = column_of(t, TRAIT_STRUCTURES);
    for (size_t i = 0; i < t->n; i++) {
        struct trait_record r;
        double of = 0, all = 0;
        unsigned wrong = 0;
        if (!next_record(&c, &r)) return GPM_E_FORMAT;
        while (r.at < r.end) {
            uint32_t number;
            if (!next_number(&r, &number) || r.end - r.at < 3 || number > most) return GPM_E_FORMAT;
            double share = u16_at(r.at);
            all += share;
            of += weight[number] * (root ? sqrt(share) : share);
            if (weight[number] > 0 && r.at[2] > wrong) wrong = r.at[2];
            r.at += 3;
        }
        sum[i] = (float)(all > 0 ? of / (root ? sqrt(all) : all) : 0);
        error[i] = (float)wrong / 255;
    }
    return GPM_OK;
}

/* ---- the whole question ---- */
uint64_t traits_needed(const struct ask *q) {
    const uint64_t one = 1;
    switch (q->op) {
    case ASK_NOT: return traits_needed(q->a);
    case ASK_STRUCTURE: return one << TRAIT_LIVE | one << TRAIT_DRAWN;
    case ASK_PREDICATE:
        return one << TRAIT_LIVE | one << part_of(&q->p) |
               (part_of(&q->p) < TRAIT_ASKED ? one << TRAIT_TIME : 0) |
               (q->p.given & ASK_PERIOD ? one << TRAIT_PERIODS | one << TRAIT_TIME : 0);
    default: return traits_needed(q->a) | traits_needed(q->b);
    }
}

static void join(enum ask_op op, size_t n, const uint8_t *need, float *lo, float *hi,
                 const float *lo2, const float *hi2) {
    for (size_t i = 0; i < n; i++) {
        float least = lo[i] + lo2[i] - 1, both = hi[i] + hi2[i];
        if (op == ASK_AND) {
            lo[i] = need[i] && least > 0 ? least : 0;
            hi[i] = need[i] && hi2[i] < hi[i] ? hi2[i] : hi[i];
        } else {
            lo[i] = lo[i] > lo2[i] ? lo[i] : lo2[i];
            hi[i] = both < 1 ? both : 1;
        }
    }
}

/* A question, and what is done about it. */
struct bounding {
    const struct traits *t;
    const struct sketch_names *names;
};

/* Bounds of the series that are needed (NULL: all), down to `least`. Of those for which the first
 * half of "and" is below it, the second half is not asked. */
static enum gpm_status bound(const struct bounding *b, const struct ask *q, const uint8_t *need,
                             float least, float *lo, float *hi) {
    size_t n = b->t->n;
    bool both = q->op == ASK_AND;
    if (q->op == ASK_STRUCTURE) return bound_structure(q, b->t, b->names, lo, hi);
    if (q->op == ASK_PREDICATE)
        return bound_predicate(
            &(struct leaf){.p = &q->p, .t = b->t, .need = need, .lo = lo, .hi = hi});
    enum gpm_status st = bound(b, q->a, need, both ? least : 0, lo, hi);
    if (st) return st;
    if (q->op == ASK_NOT) {
        for (size_t i = 0; i < n; i++) {
            float some = 1 - hi[i];
            hi[i] = 1 - lo[i];
            lo[i] = some;
        }
        return GPM_OK;
    }
    float *more = NEW_ARRAY(float, 2 * n + 1);
    uint8_t *still = NEW_ARRAY(uint8_t, n + 1);
    for (size_t i = 0; i < n && both; i++) still[i] = hi[i] >= least && (!need || need[i]);
    st = bound(b, q->b, both ? still : need, both ? least : 0, more, more + n);
    if (!st) join(q->op, n, still, lo, hi, more, more + n);
    mem_free(more);
    mem_free(still);
    return st;
}

enum gpm_status traits_bound(const struct ask *q, const struct traits *t,
                             const struct sketch_names *names, float least, float *lo, float *hi) {
    for (int i = 0; i < TRAITS; i++)
        if (t->part[i] && t->bytes[i] < (size_t)(trait_width(i) ? trait_width(i) : 2) * t->n)
            return GPM_E_FORMAT;
    enum gpm_status st = bound(&(struct bounding){t, names}, q, NULL, least - TRAIT_SLACK, lo, hi);
    for (size_t i = 0; i < t->n && !st; i++) {
        lo[i] = lo[i] < 1 ? lo[i] : 1; /* above it, and no number: damaged */
        lo[i] = lo[i] > TRAIT_SLACK ? lo[i] - TRAIT_SLACK : 0;
        hi[i] = hi[i] < 1 - TRAIT_SLACK ? hi[i] + TRAIT_SLACK : 1;
    }
    return st;
}
