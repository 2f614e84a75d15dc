/* SPDX-License-Identifier: Apache-2.0
 *
 * See pathfinder.h. With s and y the last steps of the path and the changes of the gradient (of
 * -log p) along them, A a diagonal, the inverse Hessian of L-BFGS is (Byrd, Nocedal and Schnabel
 * 1994)
 *
 *     H = A + B G B',  B = (A Y, S),  G = ( 0      -R^-1                     )
 *                                         ( -R^-T  R^-T (E + Y'A Y) R^-1     )
 *
 * where R is the upper triangle of S'Y and E its diagonal. With Q orthonormal columns that span
 * A^-1/2 B, and W = Q'A^-1/2 B, it is A^1/2 (I + Q W G W'Q') A^1/2, so that
 *
 *     L L' = I + W G W',   z = mean + A^1/2 (u + Q (L - I) Q'u),   u ~ N(0, I)
 *
 * is a draw from N(mean, H), and log det H = sum log A + 2 sum log diag L. */
#include "inference/hmc/pathfinder.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/cols.h"
#include "numeric/la/mat.h"
#include "numeric/optim/optim.h"
#include <math.h>
#include <string.h>

/* Steps an approximation uses; draws to evaluate it; points of a path. */
enum { HISTORY = 6, DRAWS = 5, LONGEST = 60, PAIRS = 2 * HISTORY };

struct path {
    struct objective of;              /* first member: continuous_cost receives only this */
    size_t n, have, seen;             /* numbers; pairs kept; points seen */
    double *a, *s, *y;                /* A; HISTORY columns each, the oldest first */
    double *last_z, *last_g;          /* current point, and gradient of -log p there */
    double *mean, *q, *u, *z, *spare; /* the approximation: mean, Q; scratch */
    double l[PAIRS * PAIRS];          /* its L, of `rank` columns */
    size_t rank;
    double *best_z, best; /* a draw from the best approximation, and its bound */
};

/* ---- curvature ---- */

/* The diagonal by the new pair (Gilbert and Lemarechal 1989), scaled to fit it. */
static void update_diagonal(struct path *p, const double *s, const double *y) {
    double yay = 0, sy = 0, sas = 0;
    for (size_t i = 0; i < p->n; i++) {
        yay += y[i] * y[i] * p->a[i];
        sy += s[i] * y[i];
        sas += s[i] * s[i] / p->a[i];
    }
    for (size_t i = 0; i < p->n; i++) {
        double inverse = yay / (sy * p->a[i]) + y[i] * y[i] / sy -
                         yay * s[i] * s[i] / (sy * sas * p->a[i] * p->a[i]);
        if (inverse > 0 && isfinite(inverse)) p->a[i] = 1 / inverse;
    }
}

static void remember(struct path *p, const double *z, const double *g) {
    size_t n = p->n;
    double *s = p->u, *y = p->z, sy, yy;
    for (size_t i = 0; i < n; i++) {
        s[i] = z[i] - p->last_z[i];
        y[i] = g[i] - p->last_g[i];
    }
    sy = col_dot(n, s, y);
    yy = col_dot(n, y, y);
    if (!(sy > 1e-12 * yy) || !isfinite(yy)) return;
    update_diagonal(p, s, y);
    if (p->have == HISTORY) {
        memmove(p->s, p->s + n, (HISTORY - 1) * n * sizeof *s);
        memmove(p->y, p->y + n, (HISTORY - 1) * n * sizeof *y);
        p->have--;
    }
    memcpy(p->s + p->have * n, s, n * sizeof *s);
    memcpy(p->y + p->have * n, y, n * sizeof *y);
    p->have++;
}

/* G (2k x 2k, whole, columns 2k apart): see above. */
static void middle(const struct path *p, double *g) {
    size_t k = p->have, n = p->n, w = 2 * k;
    double r[HISTORY][HISTORY] = {{0}}, inv[HISTORY][HISTORY] = {{0}}, m[HISTORY][HISTORY];
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) {
            double dot = 0;
            for (size_t t = 0; t < n; t++) dot += p->y[t + i * n] * p->a[t] * p->y[t + j * n];
            m[i][j] = dot;
            if (j >= i) r[i][j] = col_dot(n, p->s + i * n, p->y + j * n);
        }
    for (size_t j = 0; j < k; j++) m[j][j] += r[j][j];
    for (size_t j = 0; j < k; j++) /* column j of R^-1, from below */
        for (size_t i = j + 1; i-- > 0;) {
            double sum = i == j;
            for (size_t t = i + 1; t <= j; t++) sum -= r[i][t] * inv[t][j];
            inv[i][j] = sum / r[i][i];
        }
    memset(g, 0, w * w * sizeof *g);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) {
            g[i + (k + j) * w] = g[k + j + i * w] = -inv[i][j];
            for (size_t x = 0; x < k; x++)
                for (size_t t = 0; t < k; t++)
                    g[k + i + (k + j) * w] += inv[x][i] * m[x][t] * inv[t][j];
        }
}

/* ---- approximations ---- */

/* H v = A v + B G B' v, added to z. */
static void add_newton_step(struct path *p, const double *g_middle, const double *v, double *z) {
    size_t n = p->n, k = p->have, w = 2 * k;
    double b[PAIRS], gb[PAIRS];
    for (size_t i = 0; i < n; i++) p->spare[i] = p->a[i] * v[i];
    for (size_t j = 0; j < k; j++) {
        b[j] = col_dot(n, p->y + j * n, p->spare);
        b[k + j] = col_dot(n, p->s + j * n, v);
    }
    for (size_t i = 0; i < w; i++) {
        gb[i] = 0;
        for (size_t j = 0; j < w; j++) gb[i] += g_middle[i + j * w] * b[j];
    }
    col_add(n, 1, p->spare, z);
    for (size_t j = 0; j < k; j++) {
        for (size_t i = 0; i < n; i++) z[i] += p->a[i] * p->y[i + j * n] * gb[j];
        col_add(n, gb[k + j], p->s + j * n, z);
    }
}

/* Sets mean, Q and L at the point z with gradient g of -log p; false: H is not positive
 * definite. */
static bool approximate(struct path *p, const double *z, const double *g) {
    size_t n = p->n, k = p->have, w = 2 * k, pivot;
    double mid[PAIRS * PAIRS], wm[PAIRS * PAIRS], t[PAIRS * PAIRS];
    double *b = p->q + PAIRS * n; /* A^-1/2 B */
    middle(p, mid);
    for (size_t i = 0; i < n; i++) p->u[i] = -g[i];
    memcpy(p->mean, z, n * sizeof *z);
    add_newton_step(p, mid, p->u, p->mean);
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < n; i++) {
            b[i + j * n] = sqrt(p->a[i]) * p->y[i + j * n];
            b[i + (k + j) * n] = p->s[i + j * n] / sqrt(p->a[i]);
        }
    memcpy(p->q, b, w * n * sizeof *b);
    size_t r = p->rank = mat_orthonormal(p->q, n, w);
    la_gemm(true, false, r, w, n, 1, p->q, n, b, n, 0, wm, r);
    la_gemm(false, false, r, w, w, 1, wm, r, mid, w, 0, t, r);
    la_gemm(false, true, r, r, w, 1, t, r, wm, r, 0, p->l, r);
    for (size_t i = 0; i < r; i++) p->l[i + i * r] += 1;
    return la_potrf(r, p->l, r, &pivot) == GPM_OK;
}

/* Draws into p->z; returns log q of the draw. */
static double pathfinder_draw(struct path *p) {
    size_t n = p->n, r = p->rank;
    double v[PAIRS], lv[PAIRS], logq = 0;
    for (size_t i = 0; i < n; i++) {
        p->u[i] = rng_normal(&p->of.c->t->rng);
        logq -= 0.5 * (p->u[i] * p->u[i] + log(2 * M_PI * p->a[i]));
    }
    for (size_t j = 0; j < r; j++) lv[j] = v[j] = col_dot(n, p->q + j * n, p->u);
    if (r) la_trmv(false, r, p->l, r, lv);
    for (size_t j = 0; j < r; j++) {
        col_add(n, lv[j] - v[j], p->q + j * n, p->u);
        logq -= log(p->l[j + j * r]);
    }
    for (size_t i = 0; i < n; i++) p->z[i] = p->mean[i] + sqrt(p->a[i]) * p->u[i];
    return logq;
}

/* Computes the bound of the approximation. For the best one so far a draw is kept, chosen by
 * importance weights: the k-th draw replaces the earlier ones with probability of its share of all
 * weights. The maximum of log weight + Gumbel noise does exactly this. */
static void pathfinder_judge(struct path *p) {
    double sum = 0, top = -INFINITY;
    for (int k = 0; k < DRAWS && p->of.st == GPM_OK; k++) {
        double logp, logq = pathfinder_draw(p);
        p->of.st = continuous_eval(p->of.c, p->z, &logp, NULL);
        double gain = logp - logq, race = gain - log(-log(rng_uniform(&p->of.c->t->rng)));
        sum += gain / DRAWS;
        if (!(race > top)) continue;
        top = race;
        memcpy(p->spare, p->z, p->n * sizeof *p->z);
    }
    if (p->of.st != GPM_OK || !(sum > p->best)) return;
    p->best = sum;
    memcpy(p->best_z, p->spare, p->n * sizeof *p->spare);
}

/* ---- the path ---- */

static void seen(void *ctx, const double *z, const double *g) {
    struct path *p = ctx;
    if (p->seen++) remember(p, z, g);
    memcpy(p->last_z, z, p->n * sizeof *z);
    memcpy(p->last_g, g, p->n * sizeof *g);
    if (p->have && approximate(p, z, g)) pathfinder_judge(p);
}

enum gpm_status pathfinder_path(struct continuous *c, double *z, double *elbo) {
    size_t n = c->n_z, sizes = 8 + 2 * HISTORY + 2 * PAIRS;
    double *all = NEW_ARRAY(double, sizes *n + 1), *room = all;
    struct path p = {.of = {c, GPM_OK}, .n = n, .best = -INFINITY};
    double **part[] = {&p.a, &p.last_z, &p.last_g, &p.mean, &p.u, &p.z, &p.spare, &p.best_z};
    for (size_t i = 0; i < COUNT_OF(part); i++, room += n) *part[i] = room;
    p.s = room;
    p.y = p.s + HISTORY * n;
    p.q = p.y + HISTORY * n;
    for (size_t i = 0; i < n; i++) p.a[i] = 1;
    struct optim_options o = OPTIM_OPTIONS_INIT;
    o.max_iter = LONGEST;
    o.max_eval = 4 * LONGEST;
    double *at = NEW_ARRAY(double, n + 1);
    memcpy(at, z, n * sizeof *z);
    optim_path(continuous_cost, seen, &p, n, at, &o);
    *elbo = p.best;
    if (p.best > -INFINITY) memcpy(z, p.best_z, n * sizeof *z);
    mem_free(at);
    mem_free(all);
    return p.of.st;
}
