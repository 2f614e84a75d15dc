/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds of answers from traits. Every leaf of a question gets a lower and an upper bound of its
 * mean over the draws of each series; AND, OR and NOT join them as means of products can lie:
 * max(0, a + b - 1) <= mean(ab) <= min(a, b).
 *
 * Where a mean over draws of an edge Phi((x - e) / w) is wanted and only mean and deviation of x
 * are known, two things hold: of n numbers none is farther from their mean than sqrt(n - 1)
 * deviations, and a share v / (v + d^2) of them at most is above the mean by d (Cantelli), with
 * v the variance, to which the width of the edge adds as that of an independent number.
 */
#include "base/mem.h"
#include "discover/ask_curve.h"
#include "discover/traits.h"
#include <endian.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define K     SKETCH_KNOTS
#define SLACK 1e-6F /* for sums in another order */

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

static unsigned u16_at(const uint8_t *p) {
    return p[0] | (unsigned)p[1] << 8;
}
static float f32_at(const uint8_t *p) {
    float v;
    uint32_t u = u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
    memcpy(&v, &u, sizeof v);
    return v;
}
static double f64_at(const uint8_t *p) {
    double v;
    uint64_t u;
    memcpy(&u, p, sizeof u);
    u = le64toh(u);
    memcpy(&v, &u, sizeof v);
    return v;
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

static struct ask_axis axis_of(const uint8_t *when) {
    return (struct ask_axis){(enum sketch_clock)when[16], f64_at(when), f64_at(when + 8)};
}

/* ---- one leaf over all series ---- */
struct leaf {
    const struct ask_predicate *p;
    const struct traits *t;
    float *lo, *hi;
};
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

/* Masses near a date. */
static bool bound_near(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r,
                       bool down) {
    if (r.end - r.at < 4 || (r.end - r.at - 4) % 3) return false;
    const uint8_t *p = r.at + 4;
    double hi = most_of(r.at + (down ? 2 : 0)), lo = 0;
    while (p < r.end && p[0] >> 7 != down) p += 3;
    l->hi[i] = (float)hi;
    if (p >= r.end) return true;
    struct ask_date date = l->p->given & ASK_UNTIL ? l->p->to : l->p->from;
    struct ask_axis axis = axis_of(when);
    double place = ask_place(&axis, date), around = ask_around(&axis, date);
    for (; p < r.end && p[0] >> 7 == down; p += 3) {
        double t = (double)(p[0] & 127) / ASK_BENDS;
        if (fabs(t - place) > 8 * around) continue; /* 1e-14 */
        double near = ask_near(t, place, around);
        hi += near * most_of(p + 1);
        lo += near * least_of(p + 1);
    }
    l->lo[i] = (float)lo;
    l->hi[i] = (float)hi;
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

/* ---- presence of a pattern ---- */
#define GRID 256
/* The edge of an interval that is covered: as it is, and the concave function above and the convex
 * one below it, at j / GRID. */
static struct {
    pthread_once_t once;
    float edge[GRID + 1], above[GRID + 1], below[GRID + 1];
} cover = {.once = PTHREAD_ONCE_INIT};

static float cover_at(int j) {
    return (float)ask_soft((double)j / GRID, EDGE_COVER, WIDTH_COVER);
}

/* sign 1: the least concave function that is nowhere below v; -1: the largest convex one. */
static void hull(const float *v, float sign, float *out) {
    for (int a = 0; a < GRID;) {
        int best = a + 1;
        for (int b = a + 2; b <= GRID; b++)
            if (sign * ((v[b] - v[a]) * (float)(best - a) - (v[best] - v[a]) * (float)(b - a)) >= 0)
                best = b;
        for (int j = a; j <= best; j++)
            out[j] = v[a] + (v[best] - v[a]) * (float)(j - a) / (float)(best - a) + sign * SLACK;
        a = best;
    }
}

/* Between two places the edge is below its value at the next and above that at the last one, so
 * hulls of those hold everywhere. */
static void prepare_cover(void) {
    float next[GRID + 1], last[GRID + 1];
    for (int j = 0; j <= GRID; j++) {
        cover.edge[j] = cover_at(j);
        next[j] = cover_at(j < GRID ? j + 1 : GRID);
        last[j] = cover_at(j > 0 ? j - 1 : 0);
    }
    hull(next, 1, cover.above);
    hull(last, -1, cover.below);
}

static int grid_up(double x) {
    return x >= 1 ? GRID : (int)ceil(fmax(x, 0) * GRID);
}

/* The mean of seen_i edge(m_i), where the means of seen_i (S) and of seen_i m_i (X) are known:
 * S above(X / S) at most. Where a share `bare` of the knots has it in a share x of the draws on
 * average, m is 1 - bare + bare y in each, and y is above y0 in x / y0 of them at most. Sums are
 * those of the codes. */
static bool presence_within(const struct leaf *l, size_t i, const uint8_t *when,
                            struct trait_record r) {
    static const double at_least[] = {0.02, 0.1, 0.3};
    int a, b, seen = (int)u16_at(r.at), sum = 0, some = 0, bare = 0, rare = 0;
    if (!seen) return true;
    struct ask_axis axis = axis_of(when);
    if (!ask_knots(ask_stretch_of(l->p, &axis), &a, &b)) return true;
    for (int k = a; k < b; k++) {
        int code = (int)u16_at(r.at + 2 + 2 * k), few = 2 * code < seen;
        sum += code;
        some += code > 0;
        bare += few;
        rare += few ? code : 0;
    }
    double n = b - a, all = (double)seen / TRAIT_FULL, hi = cover.above[grid_up(sum / n / seen)];
    for (size_t j = 0; j < COUNT_OF(at_least) && bare > 0; j++)
        hi = fmin(hi, fmin((double)rare / bare / seen / at_least[j], 1) +
                          cover.edge[grid_up(1 - bare / n * (1 - at_least[j]))]);
    l->hi[i] = (float)(all * fmin(hi, 1));
    double least = fmin((sum - some) / n / seen, 1); /* above 1 in damaged bytes alone */
    l->lo[i] = (float)(all * fmax(cover.below[(int)(least * GRID)], 0));
    return true;
}

/* ---- trends within an interval ---- */
#define PER_WIDTH 32 /* places where an edge is known */
#define WIDTHS    7
static struct {
    pthread_once_t once;
    float at[2 * WIDTHS * PER_WIDTH + 2];
} edge = {.once = PTHREAD_ONCE_INIT};

static void prepare_edge(void) {
    for (int j = 0; j < (int)COUNT_OF(edge.at); j++)
        edge.at[j] = (float)ask_soft((double)j / PER_WIDTH - WIDTHS, 0, 1) + SLACK;
}

/* Not below the edge at v. */
static float edge_above(double v, double at, double width) {
    double z = (v - at) / width;
    return z > WIDTHS ? 1 : edge.at[(int)((fmax(z, -WIDTHS) + WIDTHS) * PER_WIDTH + 1)];
}

/* The rise is linear in the course: a sum of (k - middle) y_k, and of increments with weights that
 * are not negative, so its deviation is at most that sum of theirs. */
static bool trend_within(const struct leaf *l, size_t i, const uint8_t *when,
                         struct trait_record r) {
    int a, b;
    struct ask_axis axis = axis_of(when);
    if (!ask_knots(ask_stretch_of(l->p, &axis), &a, &b) || b - a < 3) return true;
    double least = f32_at(r.at), step = f32_at(r.at + 4), wide = f32_at(r.at + 8);
    const uint8_t *mean = r.at + 12, *sd = mean + K;
    int n = b - a, rise = 0, dev = 0;
    double draws = ((const uint8_t *)l->t->part[TRAIT_LIVE])[i], root = sqrt(draws);
    double widest = 1.5 * 256 * step + 256 * wide * K * root;
    if (widest < EDGE_WITHIN / 4) { /* nothing moves at all */
        l->hi[i] = edge_above(widest, EDGE_WITHIN, WIDTH_WITHIN);
        return true;
    }
    for (int k = a; k < b; k++) rise += mean[k] * (2 * k - (a + b - 1));
    for (int k = a; k + 1 < b; k++) dev += sd[k] * (b - 1 - k) * (k + 1 - a);
    double unit = 12.0 * (n - 1) / ((double)n * ((double)n * n - 1)); /* (n - 1) / sum (k - mk)^2 */
    double off = (0.75 * step + 2e-7 * (fabs(least) + 255 * step)) * unit * (n * n / 4.0);
    double sign = l->p->name == ASK_FALLS ? -1 : 1, s = wide * unit * dev / 2;
    double x = sign * step * unit * rise / 2 + off;
    double v = s * s + WIDTH_WITHIN * WIDTH_WITHIN, d = fmax(EDGE_WITHIN - x, 0);
    l->hi[i] = (float)fmin(v / (v + d * d), edge_above(x + s * root, EDGE_WITHIN, WIDTH_WITHIN));
    return true;
}

/* ---- the level at a date ---- */
/* The share of draws above a number, and below; less than one of them is none. */
static bool level_at(const struct leaf *l, size_t i, const uint8_t *when, struct trait_record r) {
    struct ask_axis axis = axis_of(when);
    double t = ask_place(&axis, l->p->from), u = t * K - 0.5;
    if (!(t >= -0.5 / K && t <= 1 + 0.5 / K)) return true;
    double least = f32_at(r.at), step = f32_at(r.at + 4), wide = f32_at(r.at + 8);
    const uint8_t *mean = r.at + 12, *sd = mean + K;
    int k = (int)floor(fmin(fmax(u, 0), K - 2));
    double f = u - k, g = 1 - f, draws = ((const uint8_t *)l->t->part[0])[i];
    double off = (fabs(f) + fabs(g)) * (0.75 * step + 4e-7 * (fabs(least) + 255 * step));
    double s = wide * (fabs(g) * sd[k] + fabs(f) * sd[k + 1]);
    double above = least + step * (g * mean[k] + f * mean[k + 1]) - l->p->bound;
    if (l->p->below) above = -above;
    /* at most where the level is below, at least where it is above the number */
    double far = fmax(-above - off, 0), sure = fmax(above - off, 0), v = s * s + off * off;
    double hi = v / (v + far * far + 1e-300), lo = 1 - v / (v + sure * sure + 1e-300);
    l->hi[i] = far > 0 && hi * draws < 0.999 ? 0 : far > 0 ? (float)hi : 1;
    l->lo[i] = sure > 0 ? (float)((1 - lo) * draws < 0.999 ? 1 : lo) : 0;
    return true;
}

/* ---- shares ---- */
/* Of the draws, by descending share: at most `rank` are above what that one is not. */
static enum gpm_status bound_shares(const struct leaf *l) {
    struct trait_column c = column_of(l->t, TRAIT_SHARES);
    const uint8_t *live = l->t->part[TRAIT_LIVE];
    /* codes up to which a share is surely below the number, and from which on above it */
    int below = (int)fmin(fmax(ceil(255 * l->p->bound - 1e-6) - 1, -1), 255);
    int above = (int)fmin(fmax(floor(255 * l->p->bound + 1e-6) + 2, 0), 256);
    for (size_t i = 0; i < l->t->n; i++) {
        struct trait_record r;
        int first = TRAIT_RANKS, last = -1;
        if (!next_record(&c, &r)) return GPM_E_FORMAT;
        const uint8_t *v = r.at + l->p->kind * TRAIT_RANKS;
        for (int k = 0; k < TRAIT_RANKS; k++) {
            if (v[k] <= below && k < first) first = k;
            if (v[k] >= above) last = k;
        }
        int n = live[i] ? live[i] : 1, most = n, least = 0;
        if (first < TRAIT_RANKS) most = first + 1 < TRAIT_RANKS ? first * n / 8 : n - 1;
        if (last >= 0) least = 1 + (last + 1 < TRAIT_RANKS ? last * n / 8 : n - 1);
        l->lo[i] = (float)(l->p->below ? n - most : least) / (float)n;
        l->hi[i] = (float)(l->p->below ? n - least : most) / (float)n;
    }
    return GPM_OK;
}

/* ---- periods ---- */
/* Draws with a pattern whose period may be in the range, and with one that may not be: where there
 * are none of these, the patterns asked for are all of them, whose bounds lo, hi hold. */
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
    enum gpm_status st;
    int part = part_of(l->p);
    memset(l->lo, 0, l->t->n * sizeof *l->lo);
    memset(l->hi, 0, l->t->n * sizeof *l->hi);
    switch (part) {
    case TRAIT_BENDS: st = each_series(l, part, bend_near); break;
    case TRAIT_COURSE: st = each_series(l, part, trend_within); break;
    case TRAIT_EDGES: st = each_series(l, part, edge_near); break;
    case TRAIT_PRESENCE: st = each_series(l, part, presence_within); break;
    case TRAIT_STEPS: st = each_series(l, part, steps_within); break;
    case TRAIT_LEVEL: st = each_series(l, part, level_at); break;
    case TRAIT_SHARES: st = bound_shares(l); break;
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

static void join(enum ask_op op, size_t n, float *lo, float *hi, const float *lo2,
                 const float *hi2) {
    for (size_t i = 0; i < n; i++) {
        float least = lo[i] + lo2[i] - 1, both = hi[i] + hi2[i];
        if (op == ASK_AND) {
            lo[i] = least > 0 ? least : 0;
            hi[i] = hi[i] < hi2[i] ? hi[i] : hi2[i];
        } else {
            lo[i] = lo[i] > lo2[i] ? lo[i] : lo2[i];
            hi[i] = both < 1 ? both : 1;
        }
    }
}

static enum gpm_status bound(const struct ask *q, const struct traits *t,
                             const struct sketch_names *names, float *lo, float *hi) {
    if (q->op == ASK_STRUCTURE) return bound_structure(q, t, names, lo, hi);
    if (q->op == ASK_PREDICATE)
        return bound_predicate(&(struct leaf){.p = &q->p, .t = t, .lo = lo, .hi = hi});
    enum gpm_status st = bound(q->a, t, names, lo, hi);
    if (st) return st;
    if (q->op == ASK_NOT) {
        for (size_t i = 0; i < t->n; i++) {
            float least = 1 - hi[i];
            hi[i] = 1 - lo[i];
            lo[i] = least;
        }
        return GPM_OK;
    }
    float *more = NEW_ARRAY(float, 2 * t->n + 1);
    st = bound(q->b, t, names, more, more + t->n);
    if (!st) join(q->op, t->n, lo, hi, more, more + t->n);
    mem_free(more);
    return st;
}

enum gpm_status traits_bound(const struct ask *q, const struct traits *t,
                             const struct sketch_names *names, float *lo, float *hi) {
    pthread_once(&cover.once, prepare_cover);
    pthread_once(&edge.once, prepare_edge);
    for (int i = 0; i < TRAITS; i++)
        if (t->part[i] && t->bytes[i] < (size_t)(trait_width(i) ? trait_width(i) : 2) * t->n)
            return GPM_E_FORMAT;
    enum gpm_status st = bound(q, t, names, lo, hi);
    for (size_t i = 0; i < t->n && !st; i++) {
        lo[i] = lo[i] > SLACK ? lo[i] - SLACK : 0;
        hi[i] = hi[i] < 1 - SLACK ? hi[i] + SLACK : 1;
    }
    return st;
}
