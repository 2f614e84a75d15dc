/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds from the curves of traits (traits.h): where a pattern is there, how the course rises, the
 * level at a date, shares. A million series are asked, so what depends on the knots of an interval
 * alone lies in tables, axes are looked at where they change from one series to the next, and
 * sums go over all knots with weights that are 0 outside of the interval: loops of a fixed length,
 * which compilers turn into a few vector instructions.
 *
 * Where a mean over draws of an edge Phi((x - e) / w) is wanted and only mean and deviation of x
 * are known, two things hold: of n numbers none is farther from their mean than sqrt(n - 1)
 * deviations, and a share v / (v + d^2) of them at most is above the mean by d (Cantelli), with
 * v the variance, to which the width of the edge adds as that of an independent number.
 */
#include "apps/discover/traits_priv.h"
#include <math.h>
#include <pthread.h>

#define K     SKETCH_KNOTS
#define GRID  256
#define ROUND 1e-6F /* relative: floats, a few operations */

/* ---- knots of an interval ---- */
/* Of knots [a, b): which they are, what the rise of a line through them takes of the values and
 * what its deviation takes of those of increments, in (n - 1) / sum (k - mean k)^2 / 2. */
struct window {
    uint16_t in[K];  /* 65535 or 0 */
    int8_t rise[K];  /* 2 k - (a + b - 1) */
    uint8_t wide[K]; /* of the increment to this knot from that before, halved */
    float unit, off; /* off: of an error that each of the values may have */
    float never;     /* below 3 knots -INFINITY: they have no trend */
    int n;
};
#define PER_WIDTH 32 /* places of a width where an edge is known */
#define WIDTHS    7
static struct {
    pthread_once_t once;
    struct window window[K + 1][K + 1];
    float root[256];
    /* of a trend: Phi; of an interval that is covered, at j / GRID: as it is, and the concave
     * function above and the convex one below it */
    float edge[2 * WIDTHS * PER_WIDTH + 2];
    float cover[GRID + 1], above[GRID + 1], below[GRID + 1];
} known = {.once = PTHREAD_ONCE_INIT};

static void prepare_window(int a, int b) {
    struct window *w = &known.window[a][b];
    int n = w->n = b - a;
    for (int k = a; k < b; k++) {
        w->in[k] = 65535;
        w->rise[k] = (int8_t)(2 * k - (a + b - 1));
        w->wide[k] = (uint8_t)(((b - k) * (k - a) + 1) / 2);
    }
    w->never = n < 3 ? -INFINITY : 0;
    if (n > 1) w->unit = 12.0F * (float)(n - 1) / (float)(n * (n * n - 1));
    w->off = w->unit * (float)(n * n) / 4;
}

/* sign 1: the least concave function that is nowhere below v; -1: the largest convex one. */
static void hull(const float *v, float sign, float *out) {
    for (int a = 0; a < GRID;) {
        int best = a + 1;
        for (int b = a + 2; b <= GRID; b++)
            if (sign * ((v[b] - v[a]) * (float)(best - a) - (v[best] - v[a]) * (float)(b - a)) >= 0)
                best = b;
        for (int j = a; j <= best; j++)
            out[j] =
                v[a] + (v[best] - v[a]) * (float)(j - a) / (float)(best - a) + sign * TRAIT_SLACK;
        a = best;
    }
}

static float cover_at(int j) {
    return (float)ask_soft((double)j / GRID, EDGE_COVER, WIDTH_COVER);
}

/* Between two places the edge is below its value at the next and above that at the last one, so
 * hulls of those hold everywhere. */
static void prepare(void) {
    float next[GRID + 1], last[GRID + 1];
    for (int a = 0; a <= K; a++)
        for (int b = a; b <= K; b++) prepare_window(a, b);
    for (int i = 0; i < 256; i++) known.root[i] = sqrtf((float)i);
    for (int j = 0; j < (int)COUNT_OF(known.edge); j++)
        known.edge[j] = (float)ask_soft((double)j / PER_WIDTH - WIDTHS, 0, 1) + TRAIT_SLACK;
    for (int j = 0; j <= GRID; j++) {
        known.cover[j] = cover_at(j);
        next[j] = cover_at(j < GRID ? j + 1 : GRID);
        last[j] = cover_at(j > 0 ? j - 1 : 0);
    }
    hull(next, 1, known.above);
    hull(last, -1, known.below);
}

/* ---- axes ---- */
enum {
    AXIS = 17,
    COURSE = 12 + K + K - 1,
    PRESENCE = 2 + 2 * K,
    LEVEL = 12 + 2 * K,
    CHUNK = ASK_MANY
}; /* bytes; series */

/* Those of some series that are asked about: all of them, or these. */
struct some {
    size_t n;
    bool all;
    int who[CHUNK];
};

static inline size_t who(const struct some *s, size_t i) {
    return s->all ? i : (size_t)s->who[i];
}

static void some_of(const struct leaf *l, size_t at, struct some *s) {
    size_t n = l->t->n - at < CHUNK ? l->t->n - at : CHUNK;
    s->all = !l->need;
    s->n = s->all ? n : 0;
    for (size_t i = 0; i < n && !s->all; i++) { /* without a branch, for better prediction */
        s->who[s->n] = (int)i;
        s->n += l->need[at + i];
    }
}

/* The interval of a question by clock; where it is open, infinite. */
struct interval {
    double from[3], to[3];
};

static struct interval interval_of(const struct ask_predicate *p) {
    struct interval v;
    for (int clock = 0; clock < 3; clock++) { /* on the axis x itself */
        struct ask_stretch s =
            ask_stretch_of(p, &(struct ask_axis){(enum sketch_clock)clock, 0, 1});
        v.from[clock] = s.from;
        v.to[clock] = s.to;
    }
    return v;
}

/* The knots of the interval for each of them. */
static void windows_of(const struct interval *v, const uint8_t *part, const struct some *s,
                       const struct window **window) {
    double from[CHUNK], to[CHUNK];
    int a[CHUNK], b[CHUNK];
    for (size_t i = 0; i < s->n; i++) {
        struct ask_axis axis = axis_of(part + who(s, i) * AXIS);
        int clock = axis.clock < CLOCK_DAYS ? (int)axis.clock : CLOCK_DAYS;
        from[i] = (v->from[clock] - axis.x0) / axis.span;
        to[i] = (v->to[clock] - axis.x0) / axis.span;
    }
    ask_knots_of(from, to, s->n, a, b);
    for (size_t i = 0; i < s->n; i++) window[i] = &known.window[a[i]][b[i]];
}

/* ---- presence of a pattern ---- */
/* What records say about the knots of the interval: sums of codes over all of them and over those
 * where few draws have it, and how many those are. */
struct presences {
    float sum[CHUNK], rare[CHUNK], bare[CHUNK];
    float seen[CHUNK], knots[CHUNK];
};

/* Of them, those with a pattern. */
static void with_pattern(const uint8_t *part, struct some *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = who(s, i);
        s->who[n] = (int)at;
        n += u16_at(part + at * PRESENCE) != 0;
    }
    s->n = n;
    s->all = false;
}

/* Of them, those with knots. */
static void with_knots(struct some *s, const struct window **window) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->who[n] = s->who[i];
        window[n] = window[i];
        n += window[i]->n > 0;
    }
    s->n = n;
}

static void presences_of(const uint8_t *part, const struct some *s, const struct window **window,
                         struct presences *out) {
    for (size_t i = 0; i < s->n; i++) {
        const uint8_t *r = part + s->who[i] * PRESENCE;
        const struct window *w = window[i];
        uint32_t seen = u16_at(r), sum = 0, rare = 0;
        uint16_t half = (uint16_t)((seen + 1) / 2), bare = 0; /* few: below half */
        for (int k = 0; k < K; k++) {
            uint16_t c = (uint16_t)(u16_at(r + 2 + 2 * k) & w->in[k]);
            uint16_t few = (uint16_t)(c < half ? w->in[k] : 0);
            sum += c;
            rare += (uint16_t)(c & few);
            bare = (uint16_t)(bare - few); /* - 65535 is + 1 */
        }
        out->sum[i] = (float)sum;
        out->rare[i] = (float)rare;
        out->bare[i] = (float)bare;
        out->seen[i] = (float)seen;
        out->knots[i] = (float)w->n;
    }
}

/* The place above v, of a table of an edge. */
static void places_above(const float *v, size_t n, int *place) {
    for (size_t i = 0; i < n; i++) place[i] = (int)(v[i] < GRID - 1 ? v[i] : GRID - 1) + 1;
}

/* The mean of seen_i edge(m_i), where the means of seen_i (S) and of seen_i m_i (X) are known:
 * S above(X / S) at most. Where a share `bare` of the knots has it in a share x of the draws on
 * average, m is 1 - bare + bare y in each, and y is above y0 in x / y0 of them at most. Sums are
 * those of the codes. */
static void bound_presences(const struct presences *s, const struct some *of, float *lo,
                            float *hi) {
    static const float at_least[] = {0.02F, 0.1F, 0.3F};
    float v[CHUNK], least[CHUNK], rare[CHUNK], bare[CHUNK], most[CHUNK];
    int place[CHUNK];
    size_t n = of->n;
    for (size_t i = 0; i < n; i++) {
        float per = GRID / (s->knots[i] * s->seen[i]);
        v[i] = s->sum[i] * per * (1 + ROUND);
        least[i] = (s->sum[i] - s->knots[i]) * per * (1 - ROUND); /* codes are rounded up */
        rare[i] = s->rare[i] / ((s->bare[i] > 1 ? s->bare[i] : 1) * s->seen[i]) * (1 + ROUND);
        bare[i] = s->bare[i] / s->knots[i];
    }
    places_above(v, n, place);
    for (size_t i = 0; i < n; i++) most[i] = known.above[place[i]];
    for (size_t j = 0; j < COUNT_OF(at_least); j++) {
        for (size_t i = 0; i < n; i++)
            v[i] = (1 - bare[i] * (1 - at_least[j])) * (GRID * (1 + ROUND));
        places_above(v, n, place);
        for (size_t i = 0; i < n; i++) v[i] = known.cover[place[i]];
        for (size_t i = 0; i < n; i++) {
            float sum = v[i] + rare[i] * (1 / at_least[j]);
            most[i] = sum < most[i] ? sum : most[i];
        }
    }
    for (size_t i = 0; i < n; i++) v[i] = least[i] > 0 ? least[i] : 0;
    for (size_t i = 0; i < n; i++) place[i] = (int)(v[i] < GRID ? v[i] : GRID); /* damaged */
    for (size_t i = 0; i < n; i++) {
        float all = s->seen[i] * (1.0F / TRAIT_FULL), some = known.below[place[i]];
        hi[of->who[i]] = all * most[i];
        lo[of->who[i]] = all * (some > 0 ? some : 0);
    }
}

void leaf_presence(const struct leaf *l) {
    const uint8_t *r = l->t->part[TRAIT_PRESENCE], *when = l->t->part[TRAIT_TIME];
    const struct interval asked = interval_of(l->p);
    const struct window *window[CHUNK];
    struct presences p;
    struct some s;
    pthread_once(&known.once, prepare);
    for (size_t at = 0; at < l->t->n; at += CHUNK) {
        some_of(l, at, &s);
        with_pattern(r + at * PRESENCE, &s);
        windows_of(&asked, when + at * AXIS, &s, window);
        with_knots(&s, window);
        presences_of(r + at * PRESENCE, &s, window, &p);
        bound_presences(&p, &s, l->lo + at, l->hi + at);
    }
}

/* ---- trends within an interval ---- */
static inline int rise_of(const uint8_t *mean, const struct window *w) {
    int sum = 0;
    for (int k = 0; k < K; k++) sum += mean[k] * w->rise[k];
    return sum;
}
static inline int wide_of(const uint8_t *sd, const struct window *w) {
    int sum = 0;
    for (int k = 0; k < K; k++) sum += sd[k] * w->wide[k];
    return sum;
}

/* Of the rise within the interval in each of some series. */
struct rises {
    float mean[CHUNK], sd[CHUNK], root[CHUNK]; /* root: of the draws */
};

/* The rise is linear in the course: a sum of (k - middle) y_k, and of increments with weights that
 * are not negative, so its deviation is at most that sum of theirs. */
static void rises_of(const uint8_t *part, const uint8_t *live, const struct some *s, float sign,
                     const struct window **window, struct rises *out) {
    for (size_t i = 0; i < s->n; i++) {
        const uint8_t *r = part + who(s, i) * COURSE;
        const struct window *w = window[i];
        float least = f32_at(r), step = f32_at(r + 4), wide = f32_at(r + 8);
        /* the increment to a knot lies before it; to the first none, which has the weight 0 */
        float rise = (float)rise_of(r + 12, w), dev = (float)wide_of(r + 12 + K - 1, w);
        float off = (0.75F * step + ROUND * (fabsf(least) + 255 * step)) * w->off;
        out->mean[i] = sign * step * w->unit * rise + off + w->never;
        out->sd[i] = wide * w->unit * dev * (1 + ROUND);
        out->root[i] = known.root[live[who(s, i)]];
    }
}

static void bound_rises(const struct rises *r, const struct some *of, float *hi) {
    const float v0 = (float)(WIDTH_WITHIN * WIDTH_WITHIN), edge = (float)EDGE_WITHIN;
    int place[CHUNK]; /* of the largest draw in the table of the edge */
    float most[CHUNK], far[CHUNK];
    for (size_t i = 0; i < of->n; i++) {
        float d = edge - r->mean[i], s = r->sd[i], v = s * s + v0;
        float z = (s * r->root[i] - d) * (float)(1 / WIDTH_WITHIN);
        d = d > 0 ? d : 0;
        z = z > -WIDTHS ? z : -WIDTHS;
        z = z < WIDTHS ? z : WIDTHS;
        far[i] = v / (v + d * d) * (1 + ROUND);
        place[i] = (int)((z + WIDTHS) * PER_WIDTH + 1);
    }
    for (size_t i = 0; i < of->n; i++) most[i] = known.edge[place[i]];
    for (size_t i = 0; i < of->n; i++) most[i] = far[i] < most[i] ? far[i] : most[i];
    for (size_t i = 0; i < of->n; i++) hi[who(of, i)] = most[i];
}

void leaf_trend(const struct leaf *l) {
    const uint8_t *r = l->t->part[TRAIT_COURSE], *when = l->t->part[TRAIT_TIME];
    const uint8_t *live = l->t->part[TRAIT_LIVE];
    const struct interval asked = interval_of(l->p);
    const struct window *window[CHUNK];
    struct rises rises;
    struct some s;
    float sign = l->p->name == ASK_FALLS ? -0.5F : 0.5F;
    pthread_once(&known.once, prepare);
    for (size_t at = 0; at < l->t->n; at += CHUNK) {
        some_of(l, at, &s);
        windows_of(&asked, when + at * AXIS, &s, window);
        rises_of(r + at * COURSE, live + at, &s, sign, window, &rises);
        bound_rises(&rises, &s, l->hi + at);
    }
}

/* ---- the level at a date ---- */
/* Where a date is on the axis of some series: t, and whether the data have it. */
static void dates_of(struct ask_date date, const uint8_t *when, size_t n, double *t) {
    for (size_t i = 0; i < n; i++, when += AXIS) {
        struct ask_axis axis = axis_of(when);
        t[i] = ask_place(&axis, date);
    }
}

/* Of the level at the date: how far it is above the number, by how much that may be wrong, and its
 * variance. */
struct levels {
    double above[CHUNK], off[CHUNK], v[CHUNK];
};

static void levels_of(const uint8_t *r, const double *t, size_t n, double bound,
                      struct levels *out) {
    double from[CHUNK];
    int knot[CHUNK]; /* that before the date */
    for (size_t i = 0; i < n; i++) {
        double u = t[i] * K - 0.5;
        from[i] = u > 0 ? u : 0; /* no number: 0 */
    }
    for (size_t i = 0; i < n; i++) knot[i] = (int)(from[i] < K - 2 ? from[i] : K - 2);
    for (size_t i = 0; i < n; i++, r += LEVEL) {
        double least = f32_at(r), step = f32_at(r + 4), wide = f32_at(r + 8);
        const uint8_t *mean = r + 12 + knot[i], *sd = mean + K;
        double f = t[i] * K - 0.5 - knot[i], g = 1 - f, size = fabs(f) + fabs(g);
        double off = size * (0.75 * step + 4e-7 * (fabs(least) + 255 * step));
        double s = wide * (fabs(g) * sd[0] + fabs(f) * sd[1]);
        out->above[i] = least + step * (g * mean[0] + f * mean[1]) - bound;
        out->off[i] = off;
        out->v[i] = s * s + off * off;
    }
}

/* The share of draws above a number, and below; less than one of them counts as zero. At most where
 * the level is below, at least where it is above the number. */
static void bound_levels(const struct levels *v, const uint8_t *live, size_t n, double sign,
                         float *lo, float *hi) {
    for (size_t i = 0; i < n; i++) {
        double d = fabs(v->above[i]) - v->off[i], share = v->v[i] / (v->v[i] + d * d + 1e-300);
        share = share * live[i] < 0.999 ? 0 : share;
        lo[i] = (float)(d > 0 ? share : 1); /* 1: nothing is known */
    }
    for (size_t i = 0; i < n; i++) {
        float above = (float)(sign * v->above[i]), share = lo[i];
        hi[i] = above < 0 ? share : 1;
        lo[i] = above > 0 ? 1 - share : 0;
    }
}

void leaf_level(const struct leaf *l) {
    const uint8_t *r = l->t->part[TRAIT_LEVEL], *when = l->t->part[TRAIT_TIME];
    const uint8_t *live = l->t->part[TRAIT_LIVE];
    double t[CHUNK];
    struct levels v;
    for (size_t at = 0, n; at < l->t->n; at += n) {
        float *lo = l->lo + at, *hi = l->hi + at;
        n = l->t->n - at < CHUNK ? l->t->n - at : CHUNK;
        dates_of(l->p->from, when + at * AXIS, n, t);
        levels_of(r + at * LEVEL, t, n, l->p->bound, &v);
        bound_levels(&v, live + at, n, l->p->below ? -1 : 1, lo, hi);
        for (size_t i = 0; i < n; i++) { /* the data do not have the date: no */
            bool there = (t[i] >= -0.5 / K) & (t[i] <= 1 + 0.5 / K);
            lo[i] = there ? lo[i] : 0;
            hi[i] = there ? hi[i] : 0;
        }
    }
}

/* ---- shares ---- */
/* Of the draws, by descending share: at most `rank` are above what that one is not. */
void leaf_shares(const struct leaf *l) {
    const uint8_t *v = l->t->part[TRAIT_SHARES], *live = l->t->part[TRAIT_LIVE];
    /* codes up to which a share is surely below the number, and from which on above it */
    int below = (int)fmin(fmax(ceil(255 * l->p->bound - 1e-6) - 1, -1), 255);
    int above = (int)fmin(fmax(floor(255 * l->p->bound + 1e-6) + 2, 0), 256);
    v += l->p->kind * TRAIT_RANKS;
    for (size_t i = 0; i < l->t->n; i++, v += SKETCH_KINDS * TRAIT_RANKS) {
        int first = 0, last = 0; /* ranks that are not surely below, and surely above: the first */
        for (int k = 0; k < TRAIT_RANKS; k++) {
            first += v[k] > below;
            last += v[k] >= above;
        }
        int n = live[i] ? live[i] : 1, most = n, least = 0;
        if (first < TRAIT_RANKS) most = first + 1 < TRAIT_RANKS ? first * n / 8 : n - 1;
        if (last > 0) least = 1 + (last < TRAIT_RANKS ? (last - 1) * n / 8 : n - 1);
        float per = 1 / (float)n;
        l->lo[i] = (float)(l->p->below ? n - most : least) * per;
        l->hi[i] = (float)(l->p->below ? n - least : most) * per;
    }
}
