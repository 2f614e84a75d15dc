/* SPDX-License-Identifier: Apache-2.0
 * The traits of a sketch (traits.h); what they bound is in traits_bound.c. */
#include "apps/discover/traits.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/ask/ask_curve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define K     SKETCH_KNOTS
#define SMALL 1e-4 /* masses below it are written together */

/* ---- questions without an argument ---- */
static const struct {
    enum ask_name name;
    bool throughout;
} asked[TRAIT_SWINGS - TRAIT_ASKED] = {
    {ASK_RISES, false},         {ASK_FALLS, false},         {ASK_LINEAR, false},
    {ASK_LINEAR, true},         {ASK_PERIODIC, false},      {ASK_PERIODIC, true},
    {ASK_SWING_GROWS, false},   {ASK_SWING_SHRINKS, false}, {ASK_NOISE_GROWS, false},
    {ASK_NOISE_SHRINKS, false}, {ASK_JUMPS, false},         {ASK_SMOOTH, false},
    {ASK_RANDOM_WALK, false},   {ASK_PURE_NOISE, false}};

int trait_asked(const struct ask_predicate *q) {
    if (q->given & ~ASK_INTERVAL) return -1;
    bool interval = q->given & ASK_INTERVAL && !q->throughout, throughout = q->throughout;
    if (q->name == ASK_LINEAR) interval = false; /* it asks of the whole, whatever the interval */
    if (throughout && (q->name == ASK_RISES || q->name == ASK_FALLS)) interval = true;
    if (q->name != ASK_LINEAR && q->name != ASK_PERIODIC) throughout = false;
    for (int i = 0; i < TRAIT_SWINGS - TRAIT_ASKED && !interval; i++)
        if (asked[i].name == q->name && asked[i].throughout == throughout) return TRAIT_ASKED + i;
    return -1;
}

/* ---- numbers ---- */
/* Not below the number where towards is above it, nor above where it is below. */
static void put_float(struct buf *b, double v, double towards) {
    float f = (float)v;
    if (towards > 0 ? (double)f < v : towards < 0 && (double)f > v)
        f = nextafterf(f, (float)towards);
    buf_put_float(b, f);
}
static void put_mass(struct buf *b, double v) {
    buf_put_bits(b, (uint64_t)ceil(fmin(fmax(v, 0), 1) * TRAIT_FULL), 2);
}
static void put_number(struct buf *b, uint32_t v) {
    for (; v >= 128; v >>= 7) buf_putc(b, (char)((v & 127) | 128));
    buf_putc(b, (char)v);
}
/* What f writes, behind its length. */
static void put_record(struct buf *b, struct buf *record) {
    buf_put_bits(b, record->len, 2);
    buf_add(b, record->data, record->len);
    buf_release(record);
}

/* ---- structures ---- */
static void put_structures(const struct sketch *p, const struct sketch_names *names,
                           struct buf *part) {
    struct buf all = BUF_INIT, drawn = BUF_INIT;
    for (size_t i = 0; i < p->n_structures; i++) {
        size_t n = 0;
        uint32_t number = names->number(names->ctx, p->structure[i].text);
        for (size_t k = 0; k < p->n_draws; k++) n += (size_t)p->draw[k].structure == i;
        put_number(&all, number);
        buf_put_bits(&all, (uint64_t)floor(p->structure[i].p * TRAIT_FULL + 0.5), 2);
        buf_put_bits(&all, (uint64_t)floor(fmin(p->structure[i].error, 1) * 255 + 0.5), 1);
        if (!n) continue;
        put_number(&drawn, number);
        buf_put_bits(&drawn, n, 1);
    }
    put_record(&part[TRAIT_STRUCTURES], &all);
    put_record(&part[TRAIT_DRAWN], &drawn);
}

/* ---- masses at dates ---- */
struct masses {
    double at[2][ASK_BENDS + 1]; /* up, down; by place */
};

static void put_masses(const struct masses *m, struct buf *part) {
    struct buf b = BUF_INIT;
    double rest[2] = {0};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i <= ASK_BENDS; i++)
            if (m->at[d][i] < SMALL) rest[d] += m->at[d][i];
    put_mass(&b, rest[0]);
    put_mass(&b, rest[1]);
    for (int d = 0; d < 2; d++)
        for (int i = 0; i <= ASK_BENDS; i++)
            if (m->at[d][i] >= SMALL) {
                buf_put_bits(&b, (uint64_t)(i + 128 * d), 1);
                put_mass(&b, m->at[d][i]);
            }
    put_record(part, &b);
}

static void put_bends(const struct sketch *p, struct ask_view *view, struct buf *part) {
    struct masses m = {0};
    for (size_t i = 0; i < p->n_draws; i++)
        for (int down = 0; down < 2; down++) {
            double tau, v = ask_bend(&view[i], down ? -1 : 1, &tau);
            m.at[down][(int)floor(tau * ASK_BENDS + 0.5)] += v / (double)p->n_draws;
        }
    put_masses(&m, part);
}

struct step_cell {
    double mass, count, largest;
};

static void put_steps(const struct sketch *p, struct buf *part) {
    struct step_cell cell[2][TRAIT_CELLS] = {0};
    struct buf b = BUF_INIT;
    double n = (double)p->n_draws;
    for (size_t i = 0; i < p->n_draws; i++)
        for (int e = 0; e < p->draw[i].n_events; e++) {
            const struct sketch_event *v = &p->draw[i].event[e];
            int k = (int)fmin(fmax(floor((double)v->date * TRAIT_CELLS), 0), TRAIT_CELLS - 1);
            double size = fabs((double)v->size);
            for (int down = 0; down < 2 && v->step; down++) {
                if (down ? v->size > 0 : v->size < 0) continue;
                struct step_cell *c = &cell[down][k];
                c->mass += ask_soft(size / p->sd, EDGE_JUMP, 0.08) / n;
                c->count += 1 / n;
                c->largest = fmax(c->largest, size);
            }
        }
    for (int down = 0; down < 2; down++)
        for (int k = 0; k < TRAIT_CELLS; k++) {
            if (cell[down][k].count == 0) continue;
            buf_put_bits(&b, (uint64_t)(k + 128 * down), 1);
            put_mass(&b, cell[down][k].mass);
            put_mass(&b, cell[down][k].count);
            put_float(&b, cell[down][k].largest, INFINITY);
        }
    put_record(part, &b);
}

/* ---- patterns ---- */
static int octave(double period) {
    return (int)fmin(fmax(floor(16 * log2(period)), -30000), 30000);
}

/* A draw with two patterns in one sixteenth counts once. */
static void put_periods(const struct sketch *p, const double *seen, struct buf *part) {
    double of[2 * SKETCH_PATTERNS * 256], n = (double)p->n_draws; /* pairs: octave, mass */
    size_t m = 0;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < p->n_draws; i++)
        for (int k = 0; k < p->draw[i].n_patterns; k++) {
            int here = octave(p->draw[i].pattern[k].period);
            if (k && here == octave(p->draw[i].pattern[0].period)) continue;
            of[2 * m] = here;
            of[2 * m++ + 1] = seen[i] / n;
        }
    qsort(of, m, 2 * sizeof *of, number_compare); /* by the first of a pair */
    for (size_t i = 0, j; i < m; i = j) {
        double mass = 0;
        for (j = i; j < m && of[2 * j] == of[2 * i]; j++) mass += of[2 * j + 1];
        buf_put_bits(&b, (uint64_t)(int64_t)of[2 * i], 2);
        put_mass(&b, mass);
    }
    put_record(part, &b);
}

static void put_patterns(const struct sketch *p, struct ask_view *view, struct buf *part) {
    double seen[256], mean[K] = {0}, all = 0, n = (double)p->n_draws;
    struct masses m = {0};
    for (size_t i = 0; i < p->n_draws; i++) {
        const double *there;
        seen[i] = ask_view_presence(&view[i], &there);
        if (!(seen[i] > 0)) continue;
        all += seen[i] / n;
        for (int k = 0; k < K; k++) mean[k] += seen[i] * there[k] / n;
        for (int until = 0; until < 2; until++) {
            double t, v = ask_edge(there, until, &t);
            m.at[until][(int)floor(t * ASK_BENDS + 0.5)] += seen[i] * v / n;
        }
    }
    put_masses(&m, &part[TRAIT_EDGES]);
    put_periods(p, seen, &part[TRAIT_PERIODS]);
    put_mass(&part[TRAIT_PRESENCE], all);
    for (int k = 0; k < K; k++) put_mass(&part[TRAIT_PRESENCE], mean[k]);
}

/* ---- curves ---- */
struct moments {
    double mean[K], sd[K];
};

static void moments_of(double v[][K], size_t n, struct moments *m) {
    double sum[K] = {0}, sq[K] = {0};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < K; k++) sum[k] += v[i][k];
    for (int k = 0; k < K; k++) m->mean[k] = sum[k] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < K; k++) {
            double off = v[i][k] - m->mean[k];
            sq[k] += off * off;
        }
    for (int k = 0; k < K; k++) m->sd[k] = sqrt(sq[k] / (double)n);
}

/* Means to the next step, deviations to the next higher one. */
static void put_curve(const double *mean, const double *sd, int n_sd, struct buf *b) {
    double lo = INFINITY, hi = -INFINITY, most = 0;
    for (int k = 0; k < K; k++) lo = fmin(lo, mean[k]), hi = fmax(hi, mean[k]);
    for (int k = 0; k < n_sd; k++) most = fmax(most, sd[k]);
    float least = (float)lo, step = nextafterf((float)((hi - lo) / 254), INFINITY),
          wide = nextafterf((float)(most / 254), INFINITY);
    buf_put_float(b, least);
    buf_put_float(b, step);
    buf_put_float(b, wide);
    for (int k = 0; k < K; k++)
        buf_put_bits(b, (uint64_t)fmin(fmax(floor((mean[k] - least) / step + 0.5), 0), 255), 1);
    for (int k = 0; k < n_sd; k++) buf_put_bits(b, (uint64_t)fmin(ceil(sd[k] / wide), 255), 1);
}

static void put_curves(const struct sketch *p, struct buf *part) {
    double(*v)[K] = mem_alloc(p->n_draws * sizeof *v);
    struct moments m, change;
    for (size_t i = 0; i < p->n_draws; i++)
        for (int k = 0; k < K; k++) v[i][k] = p->draw[i].level[k];
    moments_of(v, p->n_draws, &m);
    put_curve(m.mean, m.sd, K, &part[TRAIT_LEVEL]);
    for (size_t i = 0; i < p->n_draws; i++) ask_course(p, &p->draw[i], v[i]);
    moments_of(v, p->n_draws, &m);
    for (size_t i = 0; i < p->n_draws; i++)
        for (int k = 0; k + 1 < K; k++) v[i][k] = v[i][k + 1] - v[i][k];
    moments_of(v, p->n_draws, &change);
    put_curve(m.mean, change.sd, K - 1, &part[TRAIT_COURSE]);
    mem_free(v);
}

/* ---- the others ---- */
static void put_shares(const struct sketch *p, struct buf *part) {
    double v[256], all[256];
    for (size_t i = 0; i < p->n_draws; i++) {
        all[i] = 1e-12;
        for (int k = 0; k < SKETCH_KINDS; k++) all[i] += p->draw[i].share[k];
    }
    for (int kind = 0; kind < SKETCH_KINDS; kind++) {
        for (size_t i = 0; i < p->n_draws; i++) v[i] = p->draw[i].share[kind] / all[i];
        qsort(v, p->n_draws, sizeof *v, number_compare);
        for (size_t r = 0; r < TRAIT_RANKS; r++) {
            size_t rank = r + 1 < TRAIT_RANKS ? r * p->n_draws / 8 : p->n_draws - 1;
            buf_put_bits(part, (uint64_t)ceil(fmin(v[p->n_draws - 1 - rank], 1) * 255), 1);
        }
    }
}

/* Could a curve grow over some knots? A line through values between lo and hi rises by 1.5 of
 * their distance at most, and their mean is lo at least. */
static double could_grow(const double *v) {
    double lo = INFINITY, hi = 0;
    for (int k = 0; k < K; k++) lo = fmin(lo, v[k]), hi = fmax(hi, v[k]);
    return hi > lo ? ask_soft(1.5 * (hi - lo) / lo, EDGE_GROWTH, WIDTH_GROWTH) : 0;
}

static void put_growths(const struct sketch *p, struct ask_view *view, struct buf *part) {
    double swings = 0, noises = 0, v[K], n = (double)p->n_draws;
    for (size_t i = 0; i < p->n_draws; i++) {
        const double *swing;
        double seen = ask_soft(ask_view_swing(&view[i], &swing), EDGE_SWING, 0.04);
        swings += seen * could_grow(swing) / n;
        for (int k = 0; k < K; k++) v[k] = p->draw[i].noise[k];
        noises += could_grow(v) / n;
    }
    put_mass(&part[TRAIT_SWINGS], swings);
    put_mass(&part[TRAIT_NOISES], noises);
}

/* Means over draws as ask_sketch has them, to the last bit. */
static void put_asked(const struct sketch *p, struct ask_view *view, struct buf *part) {
    for (int i = 0; i < TRAIT_SWINGS - TRAIT_ASKED; i++) {
        double sum = 0;
        struct ask_predicate q = {.name = asked[i].name,
                                  .given = asked[i].throughout ? ASK_INTERVAL : 0,
                                  .throughout = asked[i].throughout};
        for (size_t k = 0; k < p->n_draws; k++) sum += ask_degree(&q, &view[k]);
        put_mass(&part[TRAIT_ASKED + i], sum / (double)p->n_draws);
    }
}

int trait_width(int part) {
    switch (part) {
    case TRAIT_LIVE: return 1;
    case TRAIT_TIME: return 17;
    case TRAIT_PRESENCE: return 2 + 2 * K;
    case TRAIT_COURSE: return 12 + K + K - 1;
    case TRAIT_LEVEL: return 12 + 2 * K;
    case TRAIT_SHARES: return SKETCH_KINDS * TRAIT_RANKS;
    default: return part >= TRAIT_ASKED ? 2 : 0;
    }
}

void traits_add(const struct sketch *p, const struct sketch_names *names, struct buf part[TRAITS]) {
    if (!p) {
        for (int i = 0; i < TRAITS; i++)
            for (int n = trait_width(i) ? trait_width(i) : 2; n > 0; n--) buf_putc(&part[i], 0);
        return;
    }
    struct ask_view *view = mem_zalloc(p->n_draws * sizeof *view);
    for (size_t i = 0; i < p->n_draws; i++) view[i] = (struct ask_view){.p = p, .d = &p->draw[i]};
    buf_put_bits(&part[TRAIT_LIVE], p->n_draws, 1);
    put_structures(p, names, part);
    buf_put_double(&part[TRAIT_TIME], p->x0);
    buf_put_double(&part[TRAIT_TIME], p->span);
    buf_put_bits(&part[TRAIT_TIME], p->clock, 1);
    put_bends(p, view, &part[TRAIT_BENDS]);
    put_steps(p, &part[TRAIT_STEPS]);
    put_patterns(p, view, part);
    put_curves(p, part);
    put_shares(p, &part[TRAIT_SHARES]);
    put_asked(p, view, part);
    put_growths(p, view, part);
    mem_free(view);
}
