/* SPDX-License-Identifier: Apache-2.0
 *
 * Which inputs matter, and how, from functions drawn from the posterior (gp/way/gp_path.h), one for
 * each draw of the parameters. With x a row of the data and x' another,
 *
 *   total share of input j:  E (f(x) - f(x with x'_j))^2 / E (f(x) - f(x'))^2,
 *   share of a pair a, b:    E (f(x) - f(x with x'_a) - f(x with x'_b) + f(x with both))^2 / 4
 *                            / (E (f(x) - f(x'))^2 / 2), what both do together (Liu and Owen 2006),
 *   curve of input j:        c(v) = E f(x with x_j = v) over rows x,    alone: Var c(x_j) / Var f,
 *   bend:                    the part of Var c(x_j) that no straight line in x_j explains.
 *
 * Each draw has rows of its own, some of all. What that choice adds to the scatter of the draws is
 * known from within each of them, and taken out; what stays of it is the error of all rows, which
 * are a sample, too.
 */
#include "base/mem.h"
#include "base/number.h"
#include "gp/way/gp_path.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID = 21,     /* values of a number; two more stand behind them: its quantiles */
    ROWS = 20,     /* of a draw, over which its curves are averaged */
    SHARED = 200,  /* rows of a draw for shares, ... */
    SHIFTS = 2,    /* and each of them paired with so many others */
    DRAWS = 120,   /* at most */
    PILOT = 3,     /* draws that choose the pairs of inputs */
    TOGETHER = 4,  /* inputs of these pairs, at most */
    FIXED = 60,    /* points between the rows, which tell how well a function is known there */
    FEATURES = 512 /* of a path */
};

/* A share: what draws say, draws of each, and how far they are off. */
struct share_plan {
    double *share, *chosen; /* chosen: the variance by the choice of rows and pairs */
    double *of_row;         /* draws x n_rows: what each row adds to the share's error */
};

struct reffect_plan { /* of one input */
    size_t m;         /* points of its curve */
    double *at;       /* values, or places of levels */
    double *weight;   /* share of the rows near a grid point, or of a level */
    double *curve;    /* draws x m */
    double *within;   /* draws x m: variance of the curve by the choice of its rows */
    double *alone, *bend, *change, *change_within; /* draws each */
    struct share_plan total;
};

struct pair_plan {
    int a, b;
    struct share_plan share;
};

struct effects {
    struct regress *r;
    size_t draws, n_rows; /* of a draw */
    double *fixed;        /* draws x FIXED: the function at points that all draws share, */
    double *var;          /* and its variance at all rows */
    size_t *row;          /* draws x n_rows: those of a draw */
    struct reffect_plan *plan;
    struct pair_plan *pair;
    int pairs;
};

/* ---- the points ---- */

/* Sets input j of a standardised row to point i of its plan. */
static void put_value(const struct regress *r, int j, double at, double *z) {
    const struct rinput *in = &r->t.input[j];
    for (int k = 0; k < in->n; k++) {
        int c = in->first + k;
        double v = in->level ? (double)((int)at == k + 1) : at;
        z[c] = (v - r->t.centre[c]) / r->t.scale[c];
    }
}

/* Point i of input j, nearest to a row of the table. */
static size_t nearest(const struct regress *r, int j, const struct reffect_plan *p,
                      const double *row) {
    const struct rinput *in = &r->t.input[j];
    size_t points = in->level ? p->m : GRID, at = 0;
    for (int k = 0; k < in->n && in->level; k++)
        if (row[in->first + k] > 0.5) at = (size_t)k + 1;
    if (in->level) return at;
    double share = (row[in->first] - in->lo) / (in->hi - in->lo);
    return (size_t)fmin((double)points - 1, fmax(0, floor(share * (GRID - 1) + 0.5)));
}

static struct share_plan new_share(const struct effects *e) {
    double *room = NEW_ARRAY(double, e->draws *(e->n_rows + 2) + 1);
    return (struct share_plan){room, room + e->draws, room + 2 * e->draws};
}

static void plan_input(const struct effects *e, int j, struct reffect_plan *p) {
    const struct regress *r = e->r;
    const struct rinput *in = &r->t.input[j];
    size_t n = r->t.n, d = (size_t)r->t.d, draws = e->draws;
    p->m = in->level ? (size_t)in->n_levels : GRID + 2;
    p->at = NEW_ARRAY(double, p->m);
    p->weight = mem_zalloc(p->m * sizeof *p->weight);
    p->curve = NEW_ARRAY(double, (2 * p->m + 4) * draws);
    p->within = p->curve + p->m * draws, p->alone = p->within + p->m * draws;
    p->bend = p->alone + draws, p->change = p->bend + draws, p->change_within = p->change + draws;
    p->total = new_share(e);
    for (size_t i = 0; i < p->m; i++)
        p->at[i] = in->level ? (double)i : in->lo + (in->hi - in->lo) * (double)i / (GRID - 1);
    for (size_t i = 0; i < n; i++) p->weight[nearest(r, j, p, r->t.x + i * d)] += 1 / (double)n;
    if (in->level) return;
    double *v = NEW_ARRAY(double, n);
    for (size_t i = 0; i < n; i++) v[i] = r->t.x[i * d + (size_t)in->first];
    qsort(v, n, sizeof *v, number_compare);
    p->at[GRID] = v[(size_t)(0.1 * (double)(n - 1))];
    p->at[GRID + 1] = v[(size_t)ceil(0.9 * (double)(n - 1))];
    if (p->at[GRID] == p->at[GRID + 1]) p->at[GRID] = in->lo, p->at[GRID + 1] = in->hi;
    mem_free(v);
}

/* ---- one function ---- */

struct drawn {
    const struct effects *e;
    struct gp_path *path;
    size_t draw, *row; /* the rows of the model in an order of its own: the first are its own */
    double mean, var;  /* of the function at all rows */
};

/* The function at n points, and (not NULL) the same on the outcome's scale: chances and rates. */
static enum gpm_status outcome(const struct drawn *w, const double *z, size_t n, double *f,
                               double *scaled) {
    const struct regress *r = w->e->r;
    enum gpm_status st = gp_path_eval_block(w->path, z, n, f);
    for (size_t i = 0; i < n && !st && scaled; i++)
        scaled[i] = regress_hidden(r) ? r->model.family->mean(f[i]) : f[i];
    return st;
}

static void moments(const double *v, size_t n, double *mean, double *var) {
    *mean = *var = 0;
    for (size_t i = 0; i < n; i++) *mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++) *var += (v[i] - *mean) * (v[i] - *mean) / (double)(n - 1);
}

static enum gpm_status all_rows(struct drawn *w) {
    const struct effects *e = w->e;
    size_t n = e->r->n;
    double *f = NEW_ARRAY(double, 2 * n + 1);
    enum gpm_status st = outcome(w, e->r->x, n, f, f + n);
    moments(f, n, &w->mean, &e->var[w->draw]);
    moments(f + n, n, &w->mean, &w->var);
    mem_free(f);
    return st;
}

/* The curve of an input: the function's mean, and what the input adds to it in each of some rows,
 * beside the mean over its values there. */
static enum gpm_status curve(const struct drawn *w, int j) {
    const struct effects *e = w->e;
    const struct regress *r = e->r;
    struct reffect_plan *p = &e->plan[j];
    size_t d = (size_t)r->t.d, rows = e->n_rows < ROWS ? e->n_rows : ROWS, m = p->m;
    double *z = NEW_ARRAY(double, rows *m *(d + 1)), *f = z + rows * m * d;
    double *mean = p->curve + w->draw * m, *within = p->within + w->draw * m;
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < m; i++) {
            double *at = z + (k * m + i) * d;
            memcpy(at, r->x + w->row[k] * d, d * sizeof *z);
            put_value(r, j, p->at[i], at);
        }
    enum gpm_status st = outcome(w, z, rows * m, f, f);
    for (size_t i = 0; i < m; i++) mean[i] = 0;
    for (size_t k = 0; k < rows && !st; k++) {
        double base = 0;
        for (size_t i = 0; i < m; i++) base += p->weight[i] * f[k * m + i];
        for (size_t i = 0; i < m; i++) mean[i] += (f[k * m + i] -= base) / (double)rows;
    }
    for (size_t i = 0; i < m && !st; i++) {
        double squares = 0;
        for (size_t k = 0; k < rows; k++)
            squares += (f[k * m + i] - mean[i]) * (f[k * m + i] - mean[i]);
        within[i] = squares / (double)(rows * (rows - 1));
    }
    for (size_t i = 0; i < m; i++) mean[i] += w->mean;
    mem_free(z);
    return st;
}

/* The ratio of sums over pairs of rows. Pair p is that of row p mod n and the one p / n + 1 places
 * on. */
static void ratio(const struct drawn *w, const struct share_plan *to, size_t pairs,
                  const double *part, const double *all) {
    size_t n = w->e->n_rows;
    double *of_row = to->of_row + w->draw * n, a = 0, b = 0, squares = 0;
    for (size_t i = 0; i < n; i++) of_row[i] = 0;
    for (size_t p = 0; p < pairs; p++) a += part[p], b += all[p];
    for (size_t p = 0; p < pairs && b > 0; p++) {
        double off = (part[p] - a / b * all[p]) / b;
        of_row[p % n] += off, of_row[(p % n + p / n + 1) % n] += off;
    }
    for (size_t i = 0; i < n; i++) squares += of_row[i] * of_row[i];
    to->share[w->draw] = b > 0 ? a / b : 0;
    to->chosen[w->draw] = squares;
}

static double half_square(double a) {
    return 0.5 * a * a;
}

/* Takes the values of input j from the row that each is paired with. */
static void exchange(const struct drawn *w, int j, size_t n, size_t pairs, double *z) {
    const struct regress *r = w->e->r;
    const struct rinput *in = &r->t.input[j];
    size_t d = (size_t)r->t.d;
    for (size_t p = 0; p < pairs; p++)
        memcpy(z + p * d + in->first, r->x + w->row[(p % n + p / n + 1) % n] * d + in->first,
               (size_t)in->n * sizeof *z);
}

static void own_rows(const struct drawn *w, size_t n, size_t pairs, double *z) {
    size_t d = (size_t)w->e->r->t.d;
    for (size_t p = 0; p < pairs; p++)
        memcpy(z + p * d, w->e->r->x + w->row[p % n] * d, d * sizeof *z);
}

/* The function between the rows: where pairs of inputs have the values of another row. */
static enum gpm_status at_fixed(const struct drawn *w) {
    const struct effects *e = w->e;
    size_t d = (size_t)e->r->t.d, row[FIXED + 1];
    struct drawn fixed = *w;
    double *z = NEW_ARRAY(double, FIXED *d + 1);
    for (size_t i = 0; i <= FIXED; i++) row[i] = i * 7919 % e->r->n;
    fixed.row = row;
    for (size_t i = 0; i < FIXED; i++) {
        const struct pair_plan *q = &e->pair[i % (size_t)e->pairs];
        fixed.row = row + i;
        own_rows(&fixed, 2, 1, z + i * d);
        exchange(&fixed, q->a, 2, 1, z + i * d);
        exchange(&fixed, q->b, 2, 1, z + i * d);
    }
    enum gpm_status st = outcome(w, z, FIXED, e->fixed + w->draw * FIXED, NULL);
    mem_free(z);
    return st;
}

/* All differences are those of the same pairs: the one input that there is has all of them, however
 * few they are. Pairs of inputs go by the function itself: on the scale of chances and rates inputs
 * that know nothing of each other have an effect together. */
static enum gpm_status shares(const struct drawn *w) {
    const struct effects *e = w->e;
    size_t d = (size_t)e->r->t.d, n = e->n_rows, shifts = n > SHIFTS ? SHIFTS : n - 1;
    size_t pairs = n * shifts, inputs = (size_t)e->r->t.n_inputs;
    double *z = NEW_ARRAY(double, pairs *(d + 5 + inputs)), *base = z + pairs * d;
    double *f = base + pairs, *all = f + pairs, *part = all + pairs, *other = part + pairs;
    double *single = other + pairs; /* the function with input j exchanged, inputs x pairs */
    own_rows(w, n, pairs, z);
    enum gpm_status st = outcome(w, z, pairs, base, f);
    for (size_t p = 0; p < pairs; p++) all[p] = half_square(f[p] - f[(p % n + p / n + 1) % n]);
    for (size_t j = 0; j < inputs && !st; j++) {
        own_rows(w, n, pairs, z);
        exchange(w, (int)j, n, pairs, z);
        st = outcome(w, z, pairs, single + j * pairs, other);
        for (size_t p = 0; p < pairs; p++) part[p] = half_square(f[p] - other[p]);
        ratio(w, &e->plan[j].total, pairs, part, all);
    }
    for (size_t p = 0; p < pairs; p++)
        all[p] = half_square(base[p] - base[(p % n + p / n + 1) % n]);
    for (int k = 0; k < e->pairs && !st; k++) {
        const struct pair_plan *q = &e->pair[k];
        const double *a = single + (size_t)q->a * pairs, *b = single + (size_t)q->b * pairs;
        own_rows(w, n, pairs, z);
        exchange(w, q->a, n, pairs, z);
        exchange(w, q->b, n, pairs, z);
        st = outcome(w, z, pairs, other, NULL);
        for (size_t p = 0; p < pairs; p++)
            part[p] = half_square(base[p] - a[p] - b[p] + other[p]) / 2;
        ratio(w, &q->share, pairs, part, all);
    }
    mem_free(z);
    return st;
}

/* Weighted moments of a curve: its variance, what a line leaves of it, its change. What the choice
 * of its rows adds to the squares is taken out. */
static void of_curve(const struct regress *r, int j, struct reffect_plan *p, size_t draw,
                     double var) {
    const double *c = p->curve + draw * p->m, *within = p->within + draw * p->m;
    bool level = r->t.input[j].level != NULL;
    size_t n = level ? p->m : GRID;
    double mc = 0, mx = 0, cc = 0, xx = 0, cx = 0, by_rows = 0;
    for (size_t i = 0; i < n; i++) mc += p->weight[i] * c[i], mx += p->weight[i] * p->at[i];
    for (size_t i = 0; i < n; i++) {
        double x = p->at[i] - mx, y = c[i] - mc;
        cc += p->weight[i] * y * y, xx += p->weight[i] * x * x, cx += p->weight[i] * x * y;
        by_rows += p->weight[i] * within[i];
    }
    double line = xx > 0 ? cx * cx / xx : 0, bent = fmax(0, cc - line - by_rows);
    p->alone[draw] = var > 0 ? fmin(1, fmax(0, cc - by_rows) / var) : 0;
    p->bend[draw] = line + bent > 0 ? bent / (line + bent) : 0;
    if (level) return;
    p->change[draw] = c[GRID + 1] - c[GRID];
    p->change_within[draw] = 2 * (within[GRID] + within[GRID + 1]); /* at most */
}

/* The model's rows in an order of this draw. */
static size_t *shuffled(size_t n, struct rng *rng) {
    size_t *row = NEW_ARRAY(size_t, n + 1);
    for (size_t i = 0; i < n; i++) row[i] = i;
    for (size_t i = 0; i + 1 < n; i++) {
        size_t k = i + rng_below(rng, n - i), was = row[i];
        row[i] = row[k];
        row[k] = was;
    }
    return row;
}

static enum gpm_status one_function(void *ctx, size_t draw, struct rprocess *p) {
    struct effects *e = ctx;
    struct drawn w = {.e = e, .draw = draw};
    struct rng rng;
    rng_init(&rng, e->r->o.seed, 23, (uint32_t)draw);
    enum gpm_status st = gp_path_new(p->g, FEATURES, &rng, &w.path);
    w.row = shuffled(e->r->n, &rng);
    memcpy(e->row + draw * e->n_rows, w.row, e->n_rows * sizeof *w.row);
    if (!st) st = all_rows(&w);
    if (!st) st = shares(&w);
    if (!st && e->pairs) st = at_fixed(&w);
    for (int j = 0; j < e->r->t.n_inputs && !st; j++) {
        st = curve(&w, j);
        if (!st) of_curve(e->r, j, &e->plan[j], draw, w.var);
    }
    mem_free(w.row);
    gp_path_free(w.path);
    return st;
}

/* ---- what they say ---- */

/* Shares of the variation: below the first an effect is invisible, unless it may be as large as the
 * second. */
#define VISIBLE 0.02
#define MAYBE   0.1

#define SHOWN 0.9 /* of the draws: the shape that so many of them have is one */

static enum rshape faint(const struct reffect *f) {
    return f->total.hi < MAYBE ? RSHAPE_NONE : RSHAPE_OPEN;
}

/* There, but next to nothing where the others are averaged over. */
static bool only_joint(const struct reffect *f) {
    return f->total.lo >= VISIBLE && f->alone.mid < fmax(VISIBLE, f->total.mid / 10);
}

enum curve_kind { CURVE_UP, CURVE_DOWN, CURVE_HILL, CURVE_VALLEY, CURVE_WAVY, CURVE_KINDS };

/* The simplest shape of which nine tenths of a curve's way are part: a way up, one down, one after
 * the other. */
static enum curve_kind kind_of(const double *c) {
    double up[GRID] = {0}, down[GRID] = {0}, hill = INFINITY, valley = INFINITY;
    for (size_t i = 1; i < GRID; i++) {
        up[i] = up[i - 1] + fmax(0, c[i] - c[i - 1]);
        down[i] = down[i - 1] + fmax(0, c[i - 1] - c[i]);
    }
    double ups = up[GRID - 1], downs = down[GRID - 1], least = 0.1 * (ups + downs);
    if (downs <= least) return CURVE_UP;
    if (ups <= least) return CURVE_DOWN;
    for (size_t i = 1; i + 1 < GRID; i++) {
        hill = fmin(hill, down[i] + ups - up[i]);
        valley = fmin(valley, up[i] + downs - down[i]);
    }
    if (fmin(hill, valley) > least) return CURVE_WAVY;
    return hill < valley ? CURVE_HILL : CURVE_VALLEY;
}

/* A line, where little of the curve and nothing to be seen of all variation is bent; else what the
 * draws have in common. */
static enum rshape shape_of(const struct effects *e, const struct reffect_plan *p,
                            const struct reffect *f) {
    double share[CURVE_KINDS] = {0};
    if (f->total.mid < VISIBLE) return faint(f);
    if (only_joint(f)) return RSHAPE_JOINT;
    bool open = f->change.lo <= 0 && f->change.hi >= 0;
    if (f->bend.mid < 0.1 && f->bend.mid * f->alone.mid < VISIBLE)
        return open ? RSHAPE_OPEN : RSHAPE_LINE;
    for (size_t k = 0; k < e->draws; k++)
        share[kind_of(p->curve + k * p->m)] += 1 / (double)e->draws;
    if (fmax(share[CURVE_UP], share[CURVE_DOWN]) >= SHOWN && !open) return RSHAPE_MONOTONE;
    if (share[CURVE_UP] + share[CURVE_DOWN] >= SHOWN) return RSHAPE_OPEN;
    if (share[CURVE_HILL] >= SHOWN) return RSHAPE_HILL;
    if (share[CURVE_VALLEY] >= SHOWN) return RSHAPE_VALLEY;
    return share[CURVE_WAVY] >= SHOWN ? RSHAPE_WAVY : RSHAPE_NOT_SIMPLE;
}

/* From the level with the smallest outcome to that with the largest. The medians choose the two
 * levels, so a draw may have the opposite order. */
static void between_levels(const struct effects *e, const struct reffect_plan *p,
                           struct reffect *f) {
    size_t lo = 0, hi = 0;
    for (size_t i = 1; i < f->m; i++) {
        if (f->f[i].mid < f->f[lo].mid) lo = i;
        if (f->f[i].mid > f->f[hi].mid) hi = i;
    }
    f->from = (double)lo, f->to = (double)hi;
    for (size_t k = 0; k < e->draws; k++) {
        const double *c = p->curve + k * p->m;
        p->change[k] = c[hi] - c[lo];
        p->change_within[k] = 2 * (p->within[k * p->m + lo] + p->within[k * p->m + hi]);
    }
}

/* Levels differ, if those that differ most do. */
static enum rshape shape_of_levels(const struct reffect *f) {
    if (f->total.mid < VISIBLE) return faint(f);
    if (only_joint(f)) return RSHAPE_JOINT;
    return f->change.lo <= 0 ? RSHAPE_OPEN : RSHAPE_LINE;
}

static double mean_of(const double *v, size_t step, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i * step] / (double)n;
    return sum;
}

/* Draws of a quantity, each from some of the rows, as they would be from all of them, whose own
 * error stays: of the variance by the choice of rows and pairs that by all rows. */
static void widen(double *q, size_t step, size_t draws, double chosen, double rows) {
    double mean = 0, var = 0;
    for (size_t k = 0; k < draws; k++) mean += q[k * step] / (double)draws;
    for (size_t k = 0; k < draws; k++)
        var += (q[k * step] - mean) * (q[k * step] - mean) / fmax(1, (double)draws - 1);
    if (!(var > 0)) return;
    double scale = sqrt((fmax(0, var - fmax(0, chosen - rows)) + rows) / var);
    for (size_t k = 0; k < draws; k++) q[k * step] = mean + scale * (q[k * step] - mean);
}

/* With the error that so few draws leave in the ends: a standard error of their probabilities. */
static struct rinterval interval_of(const struct effects *e, const double *q) {
    double tail = (1 - e->r->o.level) / 2, error = sqrt(tail * (1 - tail) / (double)e->draws);
    return rinterval_of(q, e->draws, fmin(1, e->r->o.level + 2 * error));
}

/* The variance of a share by all rows: what each adds to its error, over the draws that have it. */
static double by_all_rows(const struct effects *e, const struct share_plan *s) {
    size_t n = e->r->n, all = e->draws * e->n_rows;
    double *room = mem_zalloc((3 * n + 1) * sizeof *room), *sq = room + n, *times = sq + n;
    double sum = 0, part = (double)e->n_rows / (double)n;
    for (size_t k = 0; k < all; k++) {
        room[e->row[k]] += s->of_row[k], sq[e->row[k]] += s->of_row[k] * s->of_row[k];
        times[e->row[k]]++;
    }
    for (size_t i = 0; i < n; i++) {
        double t = times[i], mean = t > 0 ? room[i] / t : 0;
        if (t > 1) sum += part * part * (mean * mean - (sq[i] / t - mean * mean) / (t - 1));
    }
    mem_free(room);
    return fmax(0, sum);
}

static struct rinterval share_of(const struct effects *e, const struct share_plan *s) {
    widen(s->share, 1, e->draws, mean_of(s->chosen, 1, e->draws), by_all_rows(e, s));
    for (size_t k = 0; k < e->draws; k++) s->share[k] = fmin(1, fmax(0, s->share[k]));
    return interval_of(e, s->share);
}

static void conclude(struct effects *e, int j) {
    struct regress *r = e->r;
    const struct reffect_plan *p = &e->plan[j];
    struct reffect *f = &r->effect[j];
    bool level = r->t.input[j].level != NULL, hidden = regress_hidden(r);
    double *v = NEW_ARRAY(double, e->draws), base = hidden ? 0 : r->t.y_mean, n = (double)r->n;
    double unit = hidden ? 1 : r->t.y_sd, rows = fmin(ROWS, (double)e->n_rows);
    double low = hidden ? r->model.family->mean(-INFINITY) : -INFINITY;
    double high = hidden ? r->model.family->mean(INFINITY) : INFINITY;
    f->m = level ? p->m : GRID;
    f->at = NEW_ARRAY(double, f->m);
    f->f = NEW_ARRAY(struct rinterval, f->m);
    for (size_t i = 0; i < f->m; i++) {
        double within = mean_of(p->within + i, p->m, e->draws);
        widen(p->curve + i, p->m, e->draws, within, within * rows / n);
        for (size_t k = 0; k < e->draws; k++)
            v[k] = fmin(high, fmax(low, base + unit * p->curve[k * p->m + i]));
        f->at[i] = p->at[i];
        f->f[i] = interval_of(e, v);
    }
    f->total = share_of(e, &p->total);
    f->alone = interval_of(e, p->alone);
    f->bend = interval_of(e, p->bend);
    if (level)
        between_levels(e, p, f);
    else
        f->from = p->at[GRID], f->to = p->at[GRID + 1];
    double within = mean_of(p->change_within, 1, e->draws);
    widen(p->change, 1, e->draws, within, within * rows / n);
    for (size_t k = 0; k < e->draws; k++) p->change[k] *= unit;
    f->change = interval_of(e, p->change);
    f->shape = level ? shape_of_levels(f) : shape_of(e, p, f);
    f->clear = f->shape > RSHAPE_OPEN && f->total.lo >= VISIBLE;
    mem_free(v);
}

static void sort_inputs(struct regress *r) {
    int n = r->t.n_inputs;
    r->order = NEW_ARRAY(int, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at && r->effect[r->order[at - 1]].total.mid < r->effect[i].total.mid; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
}

/* ---- pairs ---- */

/* The share of the function's variance that the draws do not agree on between the rows. What is not
 * known of a function looks like what inputs do together, and a draw is off by twice as much: from
 * the mean of all, which is off from the truth. */
static double unknown(const struct effects *e) {
    double *v = NEW_ARRAY(double, e->draws), all, mean, var, sum = 0;
    for (size_t i = 0; i < FIXED; i++) {
        for (size_t k = 0; k < e->draws; k++) v[k] = e->fixed[k * FIXED + i];
        moments(v, e->draws, &mean, &var);
        sum += var / FIXED;
    }
    moments(e->var, e->draws, &all, &var);
    mem_free(v);
    return all > 0 ? sum / all : 0;
}

/* All pairs of the inputs whose share is more than what they do alone by the most. */
static void choose_pairs(struct effects *e, size_t pilot) {
    int best[TOGETHER], n = 0;
    double gain[TOGETHER];
    for (int j = 0; j < e->r->t.n_inputs; j++) {
        double g = mean_of(e->plan[j].total.share, 1, pilot) - mean_of(e->plan[j].alone, 1, pilot);
        if (!(g > VISIBLE)) continue;
        int at = n < TOGETHER ? n++ : TOGETHER;
        for (; at && gain[at - 1] < g; at--)
            if (at < TOGETHER) gain[at] = gain[at - 1], best[at] = best[at - 1];
        if (at < TOGETHER) gain[at] = g, best[at] = j;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) {
            struct pair_plan *q = &e->pair[e->pairs++];
            *q = (struct pair_plan){.a = best[a] < best[b] ? best[a] : best[b],
                                    .b = best[a] < best[b] ? best[b] : best[a],
                                    .share = new_share(e)};
        }
}

/* Those that are to be seen, and known to be there, the largest first. */
static void name_pairs(struct effects *e) {
    struct regress *r = e->r;
    double least = e->pairs ? fmax(VISIBLE, 2 * unknown(e)) : 1;
    r->together = mem_zalloc((size_t)(e->pairs + 1) * sizeof *r->together);
    for (int k = 0; k < e->pairs; k++) {
        struct pair_plan *q = &e->pair[k];
        struct rtogether t = {q->a, q->b, share_of(e, &q->share)};
        if (t.share.lo < least) continue;
        int at = r->n_together++;
        for (; at && r->together[at - 1].share.mid < t.share.mid; at--)
            r->together[at] = r->together[at - 1];
        r->together[at] = t;
    }
}

enum gpm_status regress_effects(struct regress *r) {
    size_t inputs = (size_t)r->t.n_inputs;
    struct pair_plan pair[TOGETHER * (TOGETHER - 1) / 2];
    struct effects e = {.r = r, .draws = r->model.used < DRAWS ? r->model.used : DRAWS};
    size_t pilot = e.draws < PILOT ? e.draws : PILOT;
    e.n_rows = r->n < SHARED ? r->n : SHARED;
    e.plan = mem_zalloc(inputs * sizeof *e.plan);
    e.pair = pair;
    e.row = NEW_ARRAY(size_t, e.draws * e.n_rows + 1);
    e.fixed = NEW_ARRAY(double, e.draws *(FIXED + 1)), e.var = e.fixed + e.draws * FIXED;
    r->effect = mem_zalloc(inputs * sizeof *r->effect);
    for (int j = 0; j < r->t.n_inputs; j++) plan_input(&e, j, &e.plan[j]);
    enum gpm_status st = regress_each(r, pilot, one_function, &e);
    if (!st) choose_pairs(&e, pilot);
    if (!st) st = regress_each(r, e.draws, one_function, &e);
    for (int j = 0; j < r->t.n_inputs && !st; j++) conclude(&e, j);
    if (!st) sort_inputs(r);
    if (!st) name_pairs(&e);
    for (int k = 0; k < e.pairs; k++) mem_free(pair[k].share.share);
    for (size_t j = 0; j < inputs; j++) {
        mem_free(e.plan[j].at);
        mem_free(e.plan[j].weight);
        mem_free(e.plan[j].curve);
        mem_free(e.plan[j].total.share);
    }
    mem_free(e.plan);
    mem_free(e.fixed);
    mem_free(e.row);
    return st;
}
