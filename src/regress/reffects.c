/* SPDX-License-Identifier: Apache-2.0
 *
 * Which inputs matter, and how, from functions drawn from the posterior (gp/gp_path.h), one for
 * each draw of the parameters. With x a row of the data and x' another,
 *
 *   total share of input j:  E (f(x) - f(x with x'_j))^2 / E (f(x) - f(x'))^2,
 *   curve of input j:        c(v) = E f(x with x_j = v) over rows x,    alone: Var c(x_j) / Var f,
 *   bend:                    the part of Var c(x_j) that no straight line in x_j explains.
 */
#include "base/mem.h"
#include "base/number.h"
#include "gp/gp_path.h"
#include "regress/regress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID = 21,     /* values of a number; two more stand behind them: its quantiles */
    ROWS = 40,     /* of the data, over which curves are averaged */
    SHARED = 200,  /* rows for shares, ... */
    PAIRS = 800,   /* and pairs of them, each row with several others */
    DRAWS = 120,   /* at most */
    FEATURES = 512 /* of a path */
};

struct reffect_plan {                      /* of one input */
    size_t m;                              /* points of its curve */
    double *at;                            /* values, or places of levels */
    double *weight;                        /* share of the rows near a grid point, or of a level */
    double *curve;                         /* draws x m */
    double *total, *alone, *bend, *change; /* draws each */
};

struct effects {
    struct regress *r;
    size_t draws;
    size_t *row, n_rows; /* of the model's rows, at random */
    struct reffect_plan *plan;
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

static void plan_input(const struct regress *r, int j, size_t draws, struct reffect_plan *p) {
    const struct rinput *in = &r->t.input[j];
    size_t n = r->t.n, d = (size_t)r->t.d;
    p->m = in->level ? (size_t)in->n_levels : GRID + 2;
    p->at = NEW_ARRAY(double, p->m);
    p->weight = mem_zalloc(p->m * sizeof *p->weight);
    p->curve = NEW_ARRAY(double, (p->m + 4) * draws);
    p->total = p->curve + p->m * draws;
    p->alone = p->total + draws, p->bend = p->alone + draws, p->change = p->bend + draws;
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

/* The function at n points on the outcome's scale: chances and rates. */
static enum gpm_status outcome(const struct regress *r, struct gp_path *path, const double *z,
                               size_t n, double *f) {
    enum gpm_status st = gp_path_eval_block(path, z, n, f);
    for (size_t i = 0; i < n && !st && regress_hidden(r); i++) f[i] = r->model.family->mean(f[i]);
    return st;
}

static enum gpm_status curves(const struct effects *e, size_t draw, struct gp_path *path) {
    const struct regress *r = e->r;
    size_t d = (size_t)r->t.d, rows = e->n_rows < ROWS ? e->n_rows : ROWS;
    double *z = NEW_ARRAY(double, rows *d), *f = NEW_ARRAY(double, rows);
    enum gpm_status st = GPM_OK;
    for (int j = 0; j < r->t.n_inputs; j++) {
        struct reffect_plan *p = &e->plan[j];
        for (size_t i = 0; i < p->m && !st; i++) {
            double sum = 0;
            for (size_t k = 0; k < rows; k++) {
                memcpy(z + k * d, r->x + e->row[k] * d, d * sizeof *z);
                put_value(r, j, p->at[i], z + k * d);
            }
            st = outcome(r, path, z, rows, f);
            for (size_t k = 0; k < rows; k++) sum += f[k] / (double)rows;
            p->curve[draw * p->m + i] = sum;
        }
    }
    mem_free(z);
    mem_free(f);
    return st;
}

/* Half the mean square of differences f - g, where g belongs to rows of f `shift` places on. */
static double half_square(const double *f, const double *g, size_t n, size_t shift) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = f[i] - g[(i + shift) % n];
        sum += 0.5 * d * d / (double)n;
    }
    return sum;
}

/* Sums over pairs of rows; the variance of the function at the rows. All differences are those of
 * the same pairs: the one input that there is has all of them, however few they are. */
static enum gpm_status shares(const struct effects *e, size_t draw, struct gp_path *path,
                              double *var) {
    const struct regress *r = e->r;
    size_t d = (size_t)r->t.d, n = e->n_rows, shifts = PAIRS / n;
    double *z = NEW_ARRAY(double, n *d), *f = NEW_ARRAY(double, 2 * n), *g = f + n, all = 0;
    double mean = 0, sq = 0;
    if (shifts > n - 1) shifts = n - 1;
    for (size_t i = 0; i < n; i++) memcpy(z + i * d, r->x + e->row[i] * d, d * sizeof *z);
    enum gpm_status st = outcome(r, path, z, n, f);
    for (size_t s = 1; s <= shifts; s++) all += half_square(f, f, n, s);
    for (size_t i = 0; i < n; i++) mean += f[i] / (double)n;
    for (size_t i = 0; i < n; i++) sq += (f[i] - mean) * (f[i] - mean) / (double)(n - 1);
    *var = sq;
    for (int j = 0; j < r->t.n_inputs && !st; j++) {
        const struct rinput *in = &r->t.input[j];
        double own = 0;
        for (size_t s = 1; s <= shifts && !st; s++) {
            for (size_t i = 0; i < n; i++) { /* another row's value of the input */
                memcpy(z + i * d, r->x + e->row[i] * d, d * sizeof *z);
                memcpy(z + i * d + in->first, r->x + e->row[(i + s) % n] * d + in->first,
                       (size_t)in->n * sizeof *z);
            }
            st = outcome(r, path, z, n, g);
            own += half_square(f, g, n, 0);
        }
        e->plan[j].total[draw] = all > 0 ? fmin(1, own / all) : 0;
    }
    mem_free(z);
    mem_free(f);
    return st;
}

/* Weighted moments of a curve: its variance, what a line leaves of it, its change. */
static void of_curve(const struct regress *r, int j, struct reffect_plan *p, size_t draw,
                     double var) {
    const double *c = p->curve + draw * p->m;
    bool level = r->t.input[j].level != NULL;
    size_t n = level ? p->m : GRID;
    double mc = 0, mx = 0, cc = 0, xx = 0, cx = 0;
    for (size_t i = 0; i < n; i++) mc += p->weight[i] * c[i], mx += p->weight[i] * p->at[i];
    for (size_t i = 0; i < n; i++) {
        double x = p->at[i] - mx, y = c[i] - mc;
        cc += p->weight[i] * y * y, xx += p->weight[i] * x * x, cx += p->weight[i] * x * y;
    }
    p->alone[draw] = var > 0 ? fmin(1, cc / var) : 0;
    p->bend[draw] = cc > 0 && xx > 0 ? fmax(0, 1 - cx * cx / xx / cc) : 0;
    if (!level) p->change[draw] = c[GRID + 1] - c[GRID];
}

static enum gpm_status one_function(void *ctx, size_t draw, struct rprocess *p) {
    struct effects *e = ctx;
    struct gp_path *path = NULL;
    struct rng rng;
    double var = 0;
    rng_init(&rng, e->r->o.seed, 23, (uint32_t)draw);
    enum gpm_status st = gp_path_new(p->g, FEATURES, &rng, &path);
    if (!st) st = curves(e, draw, path);
    if (!st) st = shares(e, draw, path, &var);
    for (int j = 0; j < e->r->t.n_inputs && !st; j++) of_curve(e->r, j, &e->plan[j], draw, var);
    gp_path_free(path);
    return st;
}

/* ---- what they say ---- */

/* Shares of the variation: below the first an effect is none to be seen, unless it may be as large
 * as the second. */
#define VISIBLE 0.02
#define MAYBE   0.1

static enum rshape faint(const struct reffect *f) {
    return f->total.hi < MAYBE ? RSHAPE_NONE : RSHAPE_OPEN;
}

/* A line, where little of the curve and nothing to be seen of all variation is bent. A curve that
 * goes back by a fifth of its way has a hill or a valley. */
static enum rshape shape_of(const struct reffect *f) {
    bool open = f->change.lo <= 0 && f->change.hi >= 0;
    double up = 0, down = 0;
    size_t top = 0, bottom = 0;
    if (f->total.mid < VISIBLE) return faint(f);
    if (f->bend.mid < 0.1 && f->bend.mid * f->alone.mid < VISIBLE)
        return open ? RSHAPE_OPEN : RSHAPE_LINE;
    for (size_t i = 0; i < GRID; i++) {
        if (i && f->f[i].mid > f->f[i - 1].mid) up += f->f[i].mid - f->f[i - 1].mid;
        if (i && f->f[i].mid < f->f[i - 1].mid) down += f->f[i - 1].mid - f->f[i].mid;
        if (f->f[i].mid > f->f[top].mid) top = i;
        if (f->f[i].mid < f->f[bottom].mid) bottom = i;
    }
    double range = f->f[top].mid - f->f[bottom].mid;
    if (fmin(up, down) < 0.2 * (up + down) / 2) return open ? RSHAPE_OPEN : RSHAPE_MONOTONE;
    if (up + down > 2.3 * range) return RSHAPE_WAVY;
    return top > 0 && top < GRID - 1 && fabs(f->f[0].mid - f->f[GRID - 1].mid) < 0.8 * range &&
                   (bottom == 0 || bottom == GRID - 1)
               ? RSHAPE_HILL
               : RSHAPE_VALLEY;
}

/* From the level with the smallest outcome to that with the largest: which two that are is told by
 * the medians, so that a draw may say that it is the other way round. */
static void between_levels(const struct effects *e, const struct reffect_plan *p,
                           struct reffect *f) {
    size_t lo = 0, hi = 0;
    for (size_t i = 1; i < f->m; i++) {
        if (f->f[i].mid < f->f[lo].mid) lo = i;
        if (f->f[i].mid > f->f[hi].mid) hi = i;
    }
    f->from = (double)lo, f->to = (double)hi;
    for (size_t k = 0; k < e->draws; k++)
        p->change[k] = p->curve[k * p->m + hi] - p->curve[k * p->m + lo];
}

/* Levels differ, if those that differ most do. */
static enum rshape shape_of_levels(const struct reffect *f) {
    if (f->total.mid < VISIBLE) return faint(f);
    return f->change.lo <= 0 ? RSHAPE_OPEN : RSHAPE_LINE;
}

static void conclude(struct effects *e, int j) {
    struct regress *r = e->r;
    const struct reffect_plan *p = &e->plan[j];
    struct reffect *f = &r->effect[j];
    bool level = r->t.input[j].level != NULL, hidden = regress_hidden(r);
    double *v = NEW_ARRAY(double, e->draws), base = hidden ? 0 : r->t.y_mean;
    double unit = hidden ? 1 : r->t.y_sd;
    f->m = level ? p->m : GRID;
    f->at = NEW_ARRAY(double, f->m);
    f->f = NEW_ARRAY(struct rinterval, f->m);
    for (size_t i = 0; i < f->m; i++) {
        for (size_t k = 0; k < e->draws; k++) v[k] = base + unit * p->curve[k * p->m + i];
        f->at[i] = p->at[i];
        f->f[i] = rinterval_of(v, e->draws, r->o.level);
    }
    f->total = rinterval_of(p->total, e->draws, r->o.level);
    f->alone = rinterval_of(p->alone, e->draws, r->o.level);
    f->bend = rinterval_of(p->bend, e->draws, r->o.level);
    if (level)
        between_levels(e, p, f);
    else
        f->from = p->at[GRID], f->to = p->at[GRID + 1];
    for (size_t k = 0; k < e->draws; k++) p->change[k] *= unit;
    f->change = rinterval_of(p->change, e->draws, r->o.level);
    f->shape = level ? shape_of_levels(f) : shape_of(f);
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

/* The rows that curves and shares are averaged over: a random part of the model's. */
static void choose(struct effects *e) {
    const struct regress *r = e->r;
    struct rng rng;
    rng_init(&rng, r->o.seed, 31, 0);
    e->n_rows = r->n < SHARED ? r->n : SHARED;
    e->row = NEW_ARRAY(size_t, r->n + 1);
    for (size_t i = 0; i < r->n; i++) e->row[i] = i;
    for (size_t i = 0; i < e->n_rows; i++) {
        size_t k = i + rng_below(&rng, r->n - i), was = e->row[i];
        e->row[i] = e->row[k];
        e->row[k] = was;
    }
}

enum gpm_status regress_effects(struct regress *r) {
    size_t inputs = (size_t)r->t.n_inputs;
    struct effects e = {.r = r, .draws = r->model.used < DRAWS ? r->model.used : DRAWS};
    e.plan = mem_zalloc(inputs * sizeof *e.plan);
    r->effect = mem_zalloc(inputs * sizeof *r->effect);
    choose(&e);
    for (int j = 0; j < r->t.n_inputs; j++) plan_input(r, j, e.draws, &e.plan[j]);
    enum gpm_status st = regress_each(r, e.draws, one_function, &e);
    for (int j = 0; j < r->t.n_inputs && !st; j++) conclude(&e, j);
    if (!st) sort_inputs(r);
    for (size_t j = 0; j < inputs; j++) {
        mem_free(e.plan[j].at);
        mem_free(e.plan[j].weight);
        mem_free(e.plan[j].curve);
    }
    mem_free(e.plan);
    mem_free(e.row);
    return st;
}
