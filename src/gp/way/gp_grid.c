/* SPDX-License-Identifier: Apache-2.0
 *
 * Stationary terms and noise make a Toeplitz matrix. A Wiener term becomes stationary after one
 * difference, an integrated Wiener term after two; differencing is a linear map of determinant 1,
 * so the density does not change. Other processes of stationary increments, of variogram G (half
 * the variance of an increment) and value 0 at the first point, count as the stationary kernel -G
 * wherever both sides are differences. With q differences the first q values stay as a border:
 * y~ = (y_0, y_1 - y_0, second differences ...), and
 *
 *   K~^-1 = T^-1 + sum_c sign_c w_c w_c'
 *
 * with T the Toeplitz part, one column (sign +) for each border row (block elimination) and one
 * (sign -) for each rank-one term v u u' (Sherman-Morrison). Rank-one terms are those of the
 * kernel; a missing value, which may be anything: a term along the differences of its unit vector
 * whose variance v grows without limit, its log taken out of the determinant; and a value with
 * another number of measurements than most, whose share of the noise differs by v.
 *
 * For a value alone T = L L' by Schur, vectors a are kept as L^-1 a and w as L' w: all inner
 * products stay what they are, and the same lines serve both. A gradient takes Levinson's way:
 * M = alpha alpha' - K~^-1, of which it needs only the sums along diagonals: sums of T^-1 by
 * Gohberg-Semencul, autocorrelations of the rest, pulled back to the table K(lag) by the adjoint of
 * the differencing.
 */
#include "gp/way/gp_grid.h"
#include "base/number.h"

#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"
#include "numeric/la/toeplitz.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPARSEST    8 /* grid points for each input: more are no grid */
#define MAX_BORDER  2
#define MAX_RANK    (12 + GRID_MAX_SPECIAL)
#define MAX_COLUMNS (MAX_RANK + MAX_BORDER)
/* When the recursions are trusted, relative to the variance on T's diagonal and calibrated in
 * tests/unit/test_toeplitz.c: white noise of at least FLOOR_MIN bounds the smallest eigenvalue from
 * below; without it every conditional variance must stay above PIVOT_MIN. Solutions must solve the
 * equations to RESIDUAL, too. Otherwise the dense factor is used. */
#define FLOOR_MIN 1e-7
#define PIVOT_MIN 1e-4
#define TINY      1e-13
#define RESIDUAL  1e-7

enum kind { STATIONARY, WHITE, CONSTANT, RANK_ONE, WALK, INTRINSIC };
/* A term of the kernel. */
struct grid_term {
    enum kind kind;
    const struct kern *k;
    size_t at;        /* of its first parameter in the flat vector */
    double amp;       /* white noise, constants, walks: variance */
    int order;        /* walks: 1 Wiener, 2 integrated */
    double since;     /* how long it has run at the first point */
    struct plan plan; /* stationary: lags against lag 0; rank one: the inputs */
    bool planned;
};

/* A rank-one term v u u'. */
struct rank {
    struct grid_term *term; /* NULL: a special point */
    size_t place;           /* of a special point */
    double v;               /* infinite: a missing point */
    double share;           /* d v / d noise^2 */
};

struct job {
    struct gp *g;
    struct gp_slot *s;
    const struct vec_ops *ops;
    struct grid_term *term;
    size_t n_term;
    bool intrinsic;     /* some of them are */
    size_t n, q, nt;    /* grid length; differences; size of the Toeplitz part */
    double step, share; /* share of the noise that most points have */
    double floor;       /* variance of white noise in T */
    struct rank rank[MAX_RANK];
    size_t n_rank;
    double *table; /* n: K(lag) of the stationary terms; later sums of M */
    double
        *rising; /* the same for two differences: less the variograms; the table where none are */
    double *r;   /* nt: first column of T; later sums along diagonals */
    double *rhs; /* columns of nt: y, rank-one vectors, borders, solved */
    double *y, *u, *cov;                   /* the same before, n each (borders: nt) */
    double *w;                             /* correction columns of n */
    double *first, *alpha, *scratch;       /* nt: first column of T^-1; n: K~^-1 y~; 3n */
    double border[MAX_BORDER][MAX_BORDER]; /* covariance of the border values */
    double sign[MAX_COLUMNS];
    size_t n_w;
};

/* ---- where the inputs lie ---- */

/* The least distance of two neighbours that are not equal. */
static double least_step(const double *x, size_t n, bool *repeats) {
    double h = INFINITY, *sorted = NULL;
    bool ordered = true;
    for (size_t i = 1; i < n && ordered; i++) ordered = x[i] >= x[i - 1];
    if (!ordered) {
        sorted = NEW_ARRAY(double, n);
        memcpy(sorted, x, n * sizeof *x);
        qsort(sorted, n, sizeof *x, number_compare);
        x = sorted;
    }
    *repeats = false;
    for (size_t i = 1; i < n; i++) {
        if (x[i] > x[i - 1]) h = fmin(h, x[i] - x[i - 1]);
        *repeats = *repeats || x[i] == x[i - 1];
    }
    mem_free(sorted);
    return h;
}

static void find_missing(const struct gp *g, struct gp_places *p) {
    if (p->repeats || p->n - g->n > GRID_MAX_SPECIAL) return;
    bool *there = mem_zalloc(p->n * sizeof *there);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) there[p->place[i]] = true;
    for (size_t i = 0; i < p->n; i++)
        if (!there[i]) p->missing[n++] = i;
    mem_free(there);
}

/* Regular to 1e-10 of a step or to the rounding of the numbers, in any order; of several columns
 * the first. */
static void find_places(struct gp *g, struct gp_places *p) {
    double lo = INFINITY, hi = -INFINITY;
    p->known = true;
    p->n = 0;
    if (g->n < 3) return;
    for (size_t i = 0; i < g->n; i++) lo = fmin(lo, g->x[i]), hi = fmax(hi, g->x[i]);
    double steps = floor((hi - lo) / least_step(g->x, g->n, &p->repeats) + 0.5);
    if (!(steps >= 2) || steps > (double)(SPARSEST * g->n)) return;
    p->x0 = lo;
    p->step = (hi - lo) / steps;
    p->place = mem_realloc(p->place, g->n * sizeof *p->place);
    double rounding = fmin(4 * DBL_EPSILON * fmax(fabs(lo), fabs(hi)), 1e-6 * p->step);
    double tolerance = fmax(1e-10 * p->step, rounding);
    for (size_t i = 0; i < g->n; i++) {
        double at = (g->x[i] - lo) / p->step, k = floor(at + 0.5);
        if (fabs(g->x[i] - (lo + k * p->step)) > tolerance) return;
        p->place[i] = (size_t)k;
        p->in_order = (i == 0 || p->in_order) && p->place[i] == i;
    }
    p->n = (size_t)steps + 1;
    find_missing(g, p);
}

const struct gp_places *gp_places(struct gp *g) {
    if (!g->places.known) find_places(g, &g->places);
    return &g->places;
}

/* ---- what the kernel is made of ---- */

/* A Wiener process, perhaps times constants. */
static const struct kern *walk_of(const struct kern *k, double *amp) {
    const struct kern *walk = NULL;
    size_t n = kern_nparts(k, KERN_PRODUCT);
    *amp = 1;
    for (size_t i = 0; i < n; i++) {
        const struct kern *f = kern_part(k, KERN_PRODUCT, i);
        if (f->op != KERN_LEAF || (!kern_is_constant(f) && (!f->cls->walk || walk))) return NULL;
        if (f->cls->walk) walk = f;
        *amp *= kern_amplitude(f);
        if (n > 1 && kern_amplitude(f) == 0) return NULL; /* its derivative would be 0 / 0 */
    }
    return walk;
}

/* Of inputs with several columns the grid is that of the first. Each leaf must have one column:
 * the first, or, where rank one is all that counts, any. */
static bool on_column(const struct kern *k, bool first) {
    if (k->op == KERN_LEAF)
        return kern_is_constant(k) || kern_is_white(k) ||
               (k->ncol == 1 && (!first || k->col[0] == 0));
    for (size_t i = 0; i < k->nkids; i++)
        if (!on_column(k->kid[i], first)) return false;
    return true;
}

/* Sorts a term; false when it is of none of these kinds. */
static bool sort_term(const struct kern *k, size_t at, double x0, struct grid_term *out) {
    *out = (struct grid_term){.k = k, .at = at};
    const struct kern *walk = walk_of(k, &out->amp);
    if (walk) {
        out->kind = WALK;
        out->order = walk->cls->walk;
        out->since = x0 - walk->par[1];
        return out->since >= 0;
    }
    if (kern_is_constant(k) || kern_is_white(k)) {
        out->kind = kern_is_constant(k) ? CONSTANT : WHITE;
        out->amp = kern_amplitude(k);
        return true;
    }
    if (k->op == KERN_LEAF && k->cls->variogram) {
        out->kind = INTRINSIC;
        out->amp = kern_amplitude(k);
        return x0 == k->par[k->npar - 1];
    }
    out->kind = k->stationary && !k->callback ? STATIONARY : RANK_ONE;
    return out->kind == STATIONARY || kern_rank_one(k);
}

static bool sort_terms(struct job *j, const struct kern *k) {
    size_t n = kern_nparts(k, KERN_SUM), at = 0;
    bool fits = true;
    j->term = NEW_ARRAY(struct grid_term, n);
    for (size_t i = 0; i < n && fits; i++) {
        const struct kern *kid = kern_part(k, KERN_SUM, i);
        struct grid_term *t = &j->term[j->n_term++];
        fits = sort_term(kid, at, j->g->places.x0, t) &&
               (j->g->dim == 1 || on_column(kid, t->kind != RANK_ONE));
        at += kid->total;
        if (t->kind == INTRINSIC) t->order = 1;
        if ((size_t)t->order > j->q) j->q = (size_t)t->order;
        j->intrinsic |= t->kind == INTRINSIC;
        if (t->kind != RANK_ONE) continue;
        fits = fits && j->n_rank < MAX_RANK - GRID_MAX_SPECIAL;
        if (fits) j->rank[j->n_rank++] = (struct rank){.term = t, .v = 1};
    }
    return fits;
}

/* The share of the noise most points have; the others and the missing points become rank-one
 * terms. */
static bool sort_points(struct job *j) {
    struct gp *g = j->g;
    const struct gp_places *p = gp_places(g);
    double noise2 = j->s->noise * j->s->noise;
    size_t votes = 0, special = j->n_rank + grid_most_special(g->n);
    for (size_t i = 0; i < g->n; i++) { /* majority vote */
        double share = gp_share(g, i);
        if (votes == 0) j->share = share;
        votes = share == j->share ? votes + 1 : votes - 1;
    }
    for (size_t i = 0; i < g->n && noise2 > 0; i++) {
        double more = gp_share(g, i) - j->share;
        if (more == 0) continue;
        if (j->n_rank == special) return false;
        j->rank[j->n_rank++] =
            (struct rank){.place = p->place[i], .v = noise2 * more, .share = more};
    }
    for (size_t i = 0; i < p->n - g->n; i++) {
        if (j->n_rank == special) return false;
        j->rank[j->n_rank++] = (struct rank){.place = p->missing[i], .v = INFINITY};
    }
    return true;
}

static bool bind(struct job *j, bool gradient) {
    size_t n = j->n, columns = 1 + j->n_rank + j->q;
    size_t all = 3 + columns + 1 + j->n_rank + j->q + (j->n_rank + j->q) + 3 + (gradient ? 2 : 0);
    double *at = gp_work(j->g, n * all);
    if (!at) return false;
    j->nt = n - j->q;
    double **part[] = {&j->table, &j->rising, &j->r,       &j->rhs,   &j->y,    &j->u,
                       &j->cov,   &j->w,      &j->scratch, &j->first, &j->alpha};
    size_t len[] = {1, 1, 1, columns, 1, j->n_rank, j->q, j->n_rank + j->q, 3, 1, 1};
    for (size_t i = 0; i < (gradient ? 11 : 9); i++) *part[i] = at, at += len[i] * n;
    if (!j->intrinsic) j->rising = j->table;
    return true;
}

/* In place: v_0, v_1 - v_0, then differences of order q; and the transpose of that map. */
static void difference(const struct job *j, double *v) {
    for (size_t pass = 0; pass < j->q; pass++)
        for (size_t i = j->n - 1; i > pass; i--) v[i] -= v[i - 1];
}

static void difference_transposed(const struct job *j, double *v) {
    for (size_t pass = j->q; pass-- > 0;)
        for (size_t i = pass; i + 1 < j->n; i++) v[i] -= v[i + 1];
}

/* ---- the matrix ---- */

static void fill_rising(struct job *j) {
    double by[KERN_MAX_PAR];
    memcpy(j->rising, j->table, j->n * sizeof *j->table);
    for (size_t i = 0; i < j->n_term; i++) {
        const struct grid_term *t = &j->term[i];
        for (size_t l = 0; l < j->n && t->kind == INTRINSIC; l++)
            j->rising[l] -= t->amp * t->k->cls->variogram(t->k->par, (double)l * j->step, by);
    }
}

/* K(lag) of the stationary terms, without constants, which differencing removes but for the first
 * value. */
static enum gpm_status fill_table(struct job *j) {
    double noise = j->s->noise;
    struct kern_pts lags = {.x = j->scratch, .n = j->n, .ld = j->n, .dim = 1}, origin = lags;
    origin.n = 1;
    for (size_t i = 0; i < j->n; i++) j->scratch[i] = (double)i * j->step;
    memset(j->table, 0, j->n * sizeof *j->table);
    j->floor = noise * noise * j->share;
    for (size_t i = 0; i < j->n_term; i++) {
        struct grid_term *t = &j->term[i];
        if (t->kind == WHITE) j->floor += t->amp;
        if (t->kind != STATIONARY) continue;
        enum gpm_status st = plan_init(&t->plan, t->k, lags, origin, false);
        t->planned = true;
        if (st) return st;
        if ((st = plan_values(&t->plan, 0, 0, j->scratch + j->n))) return st;
        j->ops->axpy(j->n, 1, j->scratch + j->n, j->table);
    }
    j->table[0] += j->floor;
    if (j->intrinsic) fill_rising(j);
    return GPM_OK;
}

static double *column(const struct job *j, size_t c) {
    return j->rhs + c * j->nt;
}

/* The covariance of the p-th difference at place p with the q-th at place q + l, l < m, is a sum of
 * weights times K(lag): into out, or (back, the adjoint) from out to the table k. */
static void differences(const struct job *j, size_t p, size_t q, size_t m, double *k, double *out,
                        bool back) {
    static const double weight[MAX_BORDER + 1][MAX_BORDER + 1] = {{1}, {1, -1}, {1, -2, 1}};
    if (!back) memset(out, 0, m * sizeof *out);
    for (size_t a = 0; a <= p; a++)
        for (size_t b = 0; b <= q; b++) {
            double w = weight[p][a] * weight[q][b];
            size_t under = p + b > q + a ? p + b - q - a : 0; /* lags are l - under, or l + over */
            size_t over = q + a > p + b ? q + a - p - b : 0, l = 0;
            for (; l < under && l < m; l++)
                *(back ? &k[under - l] : &out[l]) += w * (back ? out[l] : k[under - l]);
            if (back)
                j->ops->axpy(m - l, w, out + l, k + over);
            else
                j->ops->axpy(m - l, w, k + over, out + l);
        }
}

/* First column of T, the border's variances and covariances with the rest (the right hand sides
 * from b on). */
static void difference_table(struct job *j, size_t b) {
    size_t q = j->q;
    differences(j, q, q, j->nt, j->rising, j->r, false);
    for (size_t p = 0; p < q; p++) {
        differences(j, p, q, j->nt, p ? j->rising : j->table, column(j, b + p), false);
        for (size_t o = 0; o < q; o++)
            differences(j, p, o, 1, p && o ? j->rising : j->table, &j->border[p][o], false);
    }
}

/* A constant c: K~ has c in its first place, or all over T when nothing is differenced. */
static void add_constant(struct job *j, double c) {
    if (j->q)
        j->border[0][0] += c;
    else
        for (size_t l = 0; l < j->nt; l++) j->r[l] += c;
}

/* Walks after differencing, h the step, a the time since they started. Increments of a Wiener
 * process are independent, variance h; second differences of an integrated one have variance 2/3
 * and covariance 1/6 of h^3. At the first point the process has variance a (a^3/3), its slope a,
 * both together a^2/2. */
static void add_walk(struct job *j, const struct grid_term *t, size_t b) {
    double v = t->amp, h = j->step, a = t->since, (*border)[MAX_BORDER] = j->border;
    double *next = j->q == 2 ? column(j, b + 1) : NULL;
    if (t->order == 1) {
        border[0][0] += v * a;
        j->r[0] += (double)j->q * v * h; /* h, or the variance 2h of a difference */
        if (j->q == 1) return;
        j->r[1] -= v * h;
        border[1][1] += v * h;
        next[0] -= v * h;
        return;
    }
    double third = v * h * h * h / 3;
    j->r[0] += 2 * third;
    j->r[1] += third / 2;
    border[0][0] += v * a * a * a / 3;
    border[0][1] = border[1][0] += v * a * a * h / 2;
    border[1][1] += v * a * h * h + third;
    next[0] += third / 2;
}

static void make_matrix(struct job *j, size_t b) {
    difference_table(j, b);
    for (size_t i = 0; i < j->n_term; i++) {
        if (j->term[i].kind == CONSTANT) add_constant(j, j->term[i].amp);
        if (j->term[i].kind == WALK) add_walk(j, &j->term[i], b);
    }
    memcpy(j->cov, column(j, b), j->q * j->nt * sizeof *j->cov);
}

/* ---- right hand sides ---- */

static void scatter(const struct job *j, const double *at_inputs, double *v) {
    memset(v, 0, j->n * sizeof *v);
    for (size_t i = 0; i < j->g->n; i++) v[j->g->places.place[i]] = at_inputs[i];
}

static enum gpm_status rank_vector(struct job *j, struct rank *rank, double *u) {
    struct grid_term *t = rank->term;
    struct kern_pts x = gp_points(j->g);
    x.step = 0;
    enum gpm_status st = plan_init(&t->plan, t->k, x, x, true);
    t->planned = true;
    if (st) return st;
    plan_phi(&t->plan, t->plan.root, j->scratch);
    scatter(j, j->scratch, u);
    return GPM_OK;
}

static enum gpm_status load(struct job *j) {
    size_t q = j->q;
    enum gpm_status st = GPM_OK;
    scatter(j, j->s->r, j->y);
    difference(j, j->y);
    memcpy(column(j, 0), j->y + q, j->nt * sizeof(double));
    for (size_t r = 0; r < j->n_rank && !st; r++) {
        struct rank *rank = &j->rank[r];
        double *u = j->u + r * j->n;
        if (rank->term)
            st = rank_vector(j, rank, u);
        else {
            memset(u, 0, j->n * sizeof *u);
            u[rank->place] = 1;
        }
        difference(j, u);
        memcpy(column(j, 1 + r), u + q, j->nt * sizeof(double));
    }
    return st;
}

/* ---- the inverse ---- */

/* x += sum_c sign_c w_c (w_c' x0), with x = T^-1 x0 on entry. */
static void correct(const struct job *j, const double *x0, double *x) {
    for (size_t c = 0; c < j->n_w; c++) {
        const double *w = j->w + c * j->n;
        j->ops->axpy(j->n, j->sign[c] * j->ops->dot(j->n, w, x0), w, x);
    }
}

static double *new_column(struct job *j) {
    double *w = j->w + j->n_w * j->n;
    memset(w, 0, j->q * sizeof *w);
    return w;
}

/* Border values from the last to the first: w = (1, -K^-1 g) / sqrt(k - g' K^-1 g), g the
 * covariances with what is already inside. */
static bool add_borders(struct job *j, size_t b, double *logdet) {
    size_t q = j->q;
    for (size_t k = q; k-- > 0;) {
        double *w = new_column(j), *g = j->scratch;
        memset(g, 0, q * sizeof *g);
        for (size_t i = k + 1; i < q; i++) g[i] = j->border[k][i];
        memcpy(g + q, j->cov + k * j->nt, j->nt * sizeof *g);
        memcpy(w + q, column(j, b + k), j->nt * sizeof *w);
        correct(j, g, w);
        double schur = j->border[k][k] - j->ops->dot(j->n, g, w);
        if (!(schur > 0)) return false;
        *logdet += log(schur);
        j->ops->scale(j->n, -1 / sqrt(schur), w);
        w[k] = 1 / sqrt(schur);
        j->sign[j->n_w++] = 1;
    }
    return true;
}

/* (K + v u u')^-1 = K^-1 - w w' / kappa, w = K^-1 u, kappa = 1/v + u' K^-1 u;
 * |K + v u u'| = |K| v kappa. */
static bool add_ranks(struct job *j, double *logdet) {
    for (size_t r = 0; r < j->n_rank; r++) {
        const double *u = j->u + r * j->n;
        double *w = new_column(j), v = j->rank[r].v;
        memcpy(w + j->q, column(j, 1 + r), j->nt * sizeof *w);
        correct(j, u, w);
        double kappa = 1 / v + j->ops->dot(j->n, u, w), ratio = isinf(v) ? kappa : v * kappa;
        if (!(ratio > 0)) return false;
        *logdet += log(ratio);
        j->ops->scale(j->n, 1 / sqrt(fabs(kappa)), w);
        j->sign[j->n_w++] = kappa > 0 ? -1 : 1;
    }
    return true;
}

static double least_pivot(const struct job *j) {
    bool white = j->q == 0 && j->floor >= FLOOR_MIN * j->r[0];
    return j->r[0] * (white ? TINY : PIVOT_MIN);
}

/* Solves with T, then with K~; alpha (gradients) or its half form (in scratch) comes last. */
static bool solve(struct job *j, bool gradient, double *quad, double *logdet) {
    size_t q = j->q, b = 1 + j->n_rank, bytes = j->nt * sizeof(double);
    enum gpm_status st = gradient ? toeplitz_solve(j->nt, j->r, least_pivot(j), b + q, j->rhs,
                                                   j->first, logdet, j->scratch)
                                  : toeplitz_half_solve(j->nt, j->r, least_pivot(j), b + q, j->rhs,
                                                        logdet, j->scratch);
    if (st) return false;
    if (!gradient) { /* vectors in their half form */
        memcpy(j->y + q, column(j, 0), bytes);
        for (size_t r = 0; r < j->n_rank; r++) memcpy(j->u + r * j->n + q, column(j, 1 + r), bytes);
        if (q) memcpy(j->cov, column(j, b), q * bytes);
    }
    if (!add_borders(j, b, logdet) || !add_ranks(j, logdet)) return false;
    double *alpha = gradient ? j->alpha : j->scratch;
    memset(alpha, 0, q * sizeof *alpha);
    memcpy(alpha + q, column(j, 0), bytes);
    correct(j, j->y, alpha);
    *quad = j->ops->dot(j->n, j->y, alpha);
    return true;
}

/* A missing value leaves row i of K~ alpha = y~ free. */
static bool free_row(const struct job *j, size_t i) {
    for (size_t r = 0; r < j->n_rank; r++)
        if (isinf(j->rank[r].v) && j->u[r * j->n + i] != 0) return true;
    return false;
}

/* Checks K~ alpha = y~ at a few rows: Levinson loses digits when T is nearly singular. */
static bool accurate(const struct job *j) {
    size_t q = j->q, nt = j->nt;
    for (size_t k = 0; k < 4; k++) {
        size_t row = (nt - 1) * k / 3;
        if (free_row(j, q + row)) continue;
        double s = 0, scale = fabs(j->y[q + row]) + 1e-3 * sqrt(j->r[0]);
        for (size_t i = 0; i < nt; i++) s += j->r[row > i ? row - i : i - row] * j->alpha[q + i];
        for (size_t b = 0; b < q; b++) s += j->cov[b * nt + row] * j->alpha[b];
        for (size_t r = 0; r < j->n_rank; r++) {
            const double *u = j->u + r * j->n;
            if (!isinf(j->rank[r].v))
                s += j->rank[r].v * u[q + row] * j->ops->dot(j->n, u, j->alpha);
        }
        if (!(fabs(s - j->y[q + row]) < RESIDUAL * scale)) return false;
    }
    return true;
}

/* ---- gradient ---- */

/* d logml = u' M du for each rank-one term; special points give M_ii to the noise. */
static void grad_ranks(struct job *j, double *dkern, double *noise_sum) {
    for (size_t r = 0; r < j->n_rank; r++) {
        struct rank *rank = &j->rank[r];
        const double *u = j->u + r * j->n;
        double *x = j->scratch, *at_inputs = x + j->n, ua = j->ops->dot(j->n, u, j->alpha);
        if (isinf(rank->v)) continue;
        memset(x, 0, j->q * sizeof *x);
        memcpy(x + j->q, column(j, 1 + r), j->nt * sizeof *x);
        correct(j, u, x);
        if (!rank->term) {
            *noise_sum += rank->share * (ua * ua - j->ops->dot(j->n, u, x));
            continue;
        }
        for (size_t i = 0; i < j->n; i++) x[i] = ua * j->alpha[i] - x[i];
        difference_transposed(j, x);
        for (size_t i = 0; i < j->g->n; i++) at_inputs[i] = x[j->g->places.place[i]];
        plan_phi_grad(&rank->term->plan, rank->term->plan.root, at_inputs, dkern + rank->term->at);
    }
}

/* M(b, i) for a border row: T^-1 has no part in it. */
static double border_m(const struct job *j, size_t b, size_t i) {
    double s = j->alpha[b] * j->alpha[i];
    for (size_t c = 0; c < j->n_w; c++) s -= j->sign[c] * j->w[c * j->n + b] * j->w[c * j->n + i];
    return s;
}

/* Sums of M over equal lags of the Toeplitz part (both triangles) into g. */
static void diagonal_sums(const struct job *j, double *g) {
    toeplitz_inverse_sums(j->nt, j->first, g, j->scratch);
    for (size_t l = 0; l < j->nt; l++) g[l] = -g[l];
    toeplitz_add_correlation(j->nt, 1, j->alpha + j->q, g);
    for (size_t c = 0; c < j->n_w; c++)
        toeplitz_add_correlation(j->nt, -j->sign[c], j->w + c * j->n + j->q, g);
    for (size_t l = 1; l < j->nt; l++) g[l] *= 2;
}

/* s[lag] = sum of M dK~/dK(lag): the adjoint of difference_table; into j->rising the part of it
 * that intrinsic terms have. */
static void pull_back(const struct job *j, double *g, double *s) {
    size_t q = j->q;
    double *row = j->scratch, *rising = j->rising, m;
    memset(s, 0, j->n * sizeof *s);
    memset(rising, 0, j->n * sizeof *rising);
    differences(j, q, q, j->nt, rising, g, true);
    for (size_t p = 0; p < q; p++) {
        for (size_t l = 0; l < j->nt; l++) row[l] = 2 * border_m(j, p, q + l);
        differences(j, p, q, j->nt, p ? rising : s, row, true);
        for (size_t o = 0; o < q; o++) {
            m = border_m(j, p, o);
            differences(j, p, o, 1, p && o ? rising : s, &m, true);
        }
    }
    if (j->intrinsic) j->ops->axpy(j->n, 1, rising, s);
}

/* Derivatives of a term -amp G(lag), from the sums of M. */
static void variogram_grad(const struct job *j, const struct grid_term *t, double *g) {
    double by[KERN_MAX_PAR] = {0}, unit = 0;
    for (size_t l = 0; l < j->n; l++) {
        double m = -0.5 * j->rising[l];
        unit += m * t->k->cls->variogram(t->k->par, (double)l * j->step, by);
        for (size_t p = 1; p < t->k->npar; p++) g[t->at + p] += m * t->amp * by[p];
    }
    g[t->at] += kern_amp_slope(t->k) * unit;
}

/* Sum of M dK~/dv of a walk v * ...: the adjoint of add_walk. */
static double walk_sum(const struct job *j, const struct grid_term *t, const double *g) {
    double h = j->step, a = t->since, x = a * border_m(j, 0, 0);
    if (t->order == 1 && j->q == 1) return x + h * g[0];
    double m11 = border_m(j, 1, 1), m12 = border_m(j, 1, 2);
    if (t->order == 1) return x + h * (2 * g[0] - g[1] + m11 - 2 * m12);
    double third = h * h * h / 3;
    return a * a * x / 3 + a * a * h * border_m(j, 0, 1) + a * h * h * m11 +
           third * (2 * g[0] + g[1] / 2 + m11 + m12);
}

/* Derivatives of the amplitude, also of a product; unit = sum of M dK/d(variance). */
static void amp_grad(const struct grid_term *t, double unit, double *g) {
    g += t->at;
    for (size_t i = 0; i < kern_nparts(t->k, KERN_PRODUCT); i++) {
        const struct kern *k = kern_part(t->k, KERN_PRODUCT, i);
        *g += kern_amp_slope(k) * (t->k == k ? unit : unit * t->amp / kern_amplitude(k));
        g += k->total;
    }
}

/* alpha is that of the quadratic form counted `weight` times: M = weight alpha alpha' - K~^-1. */
static void gradient(struct job *j, const struct gp_slopes *want) {
    double noise = j->s->noise, noise_sum = 0, *sums = j->table;
    j->ops->scale(j->n, sqrt(want->weight), j->alpha);
    grad_ranks(j, want->dkern, &noise_sum);
    diagonal_sums(j, j->r);
    pull_back(j, j->r, sums);
    for (size_t i = 0; i < j->n_term; i++) {
        struct grid_term *t = &j->term[i];
        double *g = want->dkern;
        switch (t->kind) {
        case WHITE: amp_grad(t, 0.5 * sums[0], g); break;
        case CONSTANT:
            amp_grad(t, 0.5 * (j->q ? border_m(j, 0, 0) : j->ops->sum(j->n, sums)), g);
            break;
        case WALK: amp_grad(t, 0.5 * walk_sum(j, t, j->r), g); break;
        case INTRINSIC: variogram_grad(j, t, g); break;
        default: break; /* stationary ones below */
        }
    }
    noise_sum += j->share * sums[0];
    j->ops->scale(j->n, 0.5, sums);
    for (size_t i = 0; i < j->n_term; i++)
        if (j->term[i].kind == STATIONARY)
            plan_column_grad(&j->term[i].plan, sums, want->dkern + j->term[i].at);
    if (want->dnoise && noise > 0)
        *want->dnoise = noise * noise_sum + gp_replicate_slope(j->g, noise, want->weight);
    if (!want->dmean) return;
    difference_transposed(j, j->alpha);
    for (size_t i = 0; i < j->g->n; i++) j->scratch[i] = j->alpha[j->g->places.place[i]];
    mean_grad(j->s->mean, gp_inputs(j->g), j->scratch, want->dmean);
    for (size_t i = 0; i < mean_nparam(j->s->mean); i++) want->dmean[i] *= sqrt(want->weight);
}

static enum gpm_status run(struct job *j, const struct gp_slopes *want, bool *done) {
    double quad, logdet;
    if (!bind(j, want)) return GPM_E_NOMEM;
    enum gpm_status st = gp_slot_residual(j->g, j->s);
    if (!st) st = load(j);
    if (!st) st = fill_table(j);
    if (st) return st;
    make_matrix(j, 1 + j->n_rank);
    if (!solve(j, want, &quad, &logdet) || (want && !accurate(j))) return GPM_OK;
    if (want) gradient(j, want);
    double ml = -0.5 * (quad + logdet + (double)j->g->n * LOG_2PI);
    j->s->logml = ml + gp_replicate_term(j->g, j->s->noise);
    j->s->method = "Toeplitz";
    j->s->quad = quad;
    j->s->have_quad = true;
    *done = !isnan(ml);
    return GPM_OK;
}

static enum gpm_status answer(struct gp_question *q, bool *done) {
    struct gp *g = q->g;
    struct job j = {.g = g, .s = q->s, .ops = vec_ops(), .n = g->places.n, .step = g->places.step};
    enum gpm_status st = GPM_OK;
    if (sort_terms(&j, q->s->kern) && sort_points(&j)) st = run(&j, q->want, done);
    for (size_t i = 0; i < j.n_term; i++)
        if (j.term[i].planned) plan_release(&j.term[i].plan);
    mem_free(j.term);
    return st;
}

/* A missing point is a column more. Without a look at the kernel. */
static double cost(struct gp_question *q) {
    struct gp *g = q->g;
    const struct gp_places *p = g->n < 3 ? NULL : gp_places(g);
    q->why = "the inputs are no regular grid with few gaps";
    if (!p || !p->n || p->repeats || p->n - g->n > grid_most_special(g->n)) return INFINITY;
    q->why = "more inputs than are factored";
    if (g->filtered && g->n > gp_exact_max(g)) return INFINITY;
    double n = (double)p->n, gaps = n - (double)g->n;
    return (q->want ? 3 : 1) * (2550 + n * (25 + n * (0.25 + 0.125 * gaps)));
}

const struct gp_way gp_way_toeplitz =
    GP_WAY("Toeplitz", GP_EXACT, GP_DOES_VALUE | GP_DOES_SLOPES | GP_DOES_COLUMNS | GP_DOES_WEIGHTS,
           GP_TOEPLITZ);
