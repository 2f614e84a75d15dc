/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine "Cholesky (ScaLAPACK)": K + noise and its factor lie block-cyclically on a grid of
 * ranks (blocks of NB x NB; block (I, J) on the rank in row I mod rows, column J mod cols), so that
 * n inputs need 8 n^2 / ranks bytes on each. Contract in gp/process/gp_engine.h. All ranks run the
 * same program and come to the same calls.
 *
 * What leaves a call has the same bits on every rank: a number has one owner and is added to zeros
 * (parts_sum), or each rank's part of a sum is, and the parts are added up in the order of the
 * ranks. Other numbers of ranks give other last bits.
 */
#include "base/mem.h"
#include "gp/process/gp_engine.h"
#include "numeric/la/parts.h"
#include "numeric/la/vec_ops.h"
#include "ranks.h"
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define NB   128  /* side of a block */
#define FROM 2000 /* inputs from which it is worth its messages */

/* ScaLAPACK and its grids, as their Fortran and C bindings are called. */
void Cblacs_get(int ctxt, int what, int *val);
void Cblacs_gridinit(int *ctxt, const char *order, int rows, int cols);
void Cblacs_gridinfo(int ctxt, int *rows, int *cols, int *row, int *col);
int numroc_(const int *n, const int *nb, const int *me, const int *first, const int *count);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *r,
               const int *c, const int *ctxt, const int *ld, int *info);
void pdpotrf_(const char *uplo, const int *n, double *a, const int *ia, const int *ja,
              const int *desc, int *info);
void pdpotri_(const char *uplo, const int *n, double *a, const int *ia, const int *ja,
              const int *desc, int *info);
void pdtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
             const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *desca, double *b, const int *ib, const int *jb, const int *descb);
void pdtrmm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
             const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *desca, double *b, const int *ib, const int *jb, const int *descb);
void pdsyrk_(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desca, const double *beta,
             double *c, const int *ic, const int *jc, const int *descc);

static struct { int ctxt, rows, cols, row, col, rank, ranks; } grid;
static const int one = 1, zero = 0, side = NB;

/* A matrix on the grid: this rank's blocks, column-major. */
struct spread_matrix {
    size_t m, n;
    int desc[9], rows, cols, ld; /* of this rank's part */
    double *a;
};

struct spread_factor {
    struct spread_matrix l;
    double logdet;
};

static enum gpm_status matrix_init(struct spread_matrix *x, size_t m, size_t n) {
    int im = (int)m, in = (int)n, info;
    *x = (struct spread_matrix){.m = m, .n = n};
    x->rows = numroc_(&im, &side, &grid.row, &zero, &grid.rows);
    x->cols = numroc_(&in, &side, &grid.col, &zero, &grid.cols);
    x->ld = x->rows > 0 ? x->rows : 1;
    descinit_(x->desc, &im, &in, &side, &side, &zero, &zero, &grid.ctxt, &x->ld, &info);
    x->a = mem_try_doubles((size_t)x->ld * (size_t)(x->cols > 0 ? x->cols : 1));
    return parts_sum(NULL, 0, x->a ? GPM_OK : GPM_E_NOMEM); /* all of them have it, or none */
}

/* One of this rank's blocks: its place in the whole, its size and its first element. */
struct block {
    size_t i, j, m, n;
    double *at;
};

static size_t shorter(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The blocks in the order of their columns; false at the end. *k counts. */
static bool next_block(const struct spread_matrix *x, size_t *k, struct block *b) {
    size_t down = ((size_t)x->rows + NB - 1) / NB, across = ((size_t)x->cols + NB - 1) / NB;
    if (*k >= down * across) return false;
    size_t li = *k % down, lj = *k / down;
    b->i = (li * (size_t)grid.rows + (size_t)grid.row) * NB;
    b->j = (lj * (size_t)grid.cols + (size_t)grid.col) * NB;
    b->m = shorter(NB, x->m - b->i);
    b->n = shorter(NB, x->n - b->j);
    b->at = x->a + li * NB + lj * NB * (size_t)x->ld;
    (*k)++;
    return true;
}

static struct kern_pts some(struct kern_pts x, size_t first, size_t n) {
    return (struct kern_pts){.x = x.x + first, .n = n, .ld = x.ld, .dim = x.dim};
}

/* total[i] += the parts of all ranks, in their order. */
static enum gpm_status add_up(size_t n, const double *part, double *total, enum gpm_status st) {
    double *all = mem_zalloc((size_t)grid.ranks * n * sizeof *all);
    memcpy(all + (size_t)grid.rank * n, part, n * sizeof *all);
    st = parts_sum(all, (size_t)grid.ranks * n, st);
    for (int r = 0; r < grid.ranks && !st; r++)
        for (size_t i = 0; i < n; i++) total[i] += all[(size_t)r * n + i];
    mem_free(all);
    return st;
}

/* ---- factor ---- */

static enum gpm_status fill(struct gp *g, const struct gp_slot *s, struct spread_matrix *x,
                            double jitter, double *diagonal) {
    struct block b;
    struct kern_pts pts = gp_points(g);
    enum gpm_status st = GPM_OK;
    memset(diagonal, 0, g->n * sizeof *diagonal);
    for (size_t k = 0; !st && next_block(x, &k, &b);) {
        if (b.i < b.j) continue;
        if (b.i > b.j) {
            st = kern_cross(s->kern, some(pts, b.i, b.m), some(pts, b.j, b.n), b.at, (size_t)x->ld);
            continue;
        }
        st = kern_fill(s->kern, some(pts, b.i, b.m), b.at, (size_t)x->ld);
        for (size_t i = 0; i < b.m && !st; i++) {
            double *d = b.at + i * ((size_t)x->ld + 1);
            diagonal[b.i + i] = *d += s->noise * s->noise * gp_share(g, b.i + i);
            *d += jitter;
        }
    }
    return parts_sum(diagonal, g->n, st);
}

static enum gpm_status collect_diagonal(const struct spread_matrix *x, double *d) {
    struct block b;
    memset(d, 0, x->n * sizeof *d);
    for (size_t k = 0; next_block(x, &k, &b);)
        for (size_t i = 0; i < b.m && b.i == b.j; i++) d[b.i + i] = b.at[i * ((size_t)x->ld + 1)];
    return parts_sum(d, x->n, GPM_OK);
}

static enum gpm_status solve(struct gp *g, struct gp_slot *s, bool trans, double *b);

/* One rung of the jitter ladder, judged as chol.c does. d: n doubles of scratch. */
static enum gpm_status rung(struct gp *g, struct gp_slot *s, double relative, double *mean,
                            double *d) {
    struct spread_factor *f = s->spread;
    double max = 0, least = INFINITY;
    int n = (int)g->n, info;
    s->f.jitter = relative * (*mean > 0 ? *mean : 1);
    enum gpm_status st = fill(g, s, &f->l, s->f.jitter, d);
    if (st) return st;
    *mean = 0;
    for (size_t i = 0; i < g->n; i++) max = fmax(max, d[i]), *mean += d[i] / (double)g->n;
    if (!isfinite(*mean)) return GPM_E_ARG;
    pdpotrf_("L", &n, f->l.a, &one, &one, f->l.desc, &info);
    if (info) return GPM_E_NOT_PD; /* the same everywhere */
    st = collect_diagonal(&f->l, d);
    f->logdet = 0;
    for (size_t i = 0; i < g->n; i++) {
        least = d[i] < least || !isfinite(d[i]) ? d[i] : least;
        f->logdet += 2 * log(d[i]);
    }
    if (st || !isfinite(f->logdet)) return st ? st : GPM_E_NOT_PD;
    if (chol_pivot_clear(g->n, least, max)) return GPM_OK;
    chol_signs(g->n, d);
    st = solve(g, s, false, d);
    return st || chol_rounding_small(g->n, d, max) ? st : GPM_E_NOT_PD;
}

static void release(struct gp_slot *s) {
    struct spread_factor *f = s->spread;
    if (f) mem_free(f->l.a);
    mem_free(f);
    s->spread = NULL;
}

static enum gpm_status factor(struct gp *g, struct gp_slot *s) {
    struct spread_factor *f = s->spread;
    if (g->n > INT_MAX / 2) return GPM_E_LIMIT;
    if (f && f->l.n != g->n) release(s);
    enum gpm_status st = GPM_OK;
    if (!s->spread) {
        f = s->spread = NEW(struct spread_factor);
        st = matrix_init(&f->l, g->n, g->n);
        if (st) {
            release(s);
            return st;
        }
    }
    double relative = 0, mean = 0, *d = NEW_ARRAY(double, g->n);
    while ((st = rung(g, s, relative, &mean, d)) == GPM_E_NOT_PD) {
        relative = relative > 0 ? relative * 10 : CHOL_JITTER_FIRST;
        if (relative > CHOL_JITTER_LAST * 1.5) break;
    }
    mem_free(d);
    return st == GPM_E_ARG ? GPM_E_NOT_PD : st; /* an infinite diagonal: no rung helps */
}

static double logdet(const struct gp_slot *s) {
    return ((struct spread_factor *)s->spread)->logdet;
}

/* ---- vectors ---- */

/* A host's vector, spread; and back. */
static void put(struct spread_matrix *x, const double *v) {
    struct block b;
    for (size_t k = 0; next_block(x, &k, &b);) memcpy(b.at, v + b.i, b.m * sizeof *v);
}

static enum gpm_status get(const struct spread_matrix *x, double *v) {
    struct block b;
    memset(v, 0, x->m * sizeof *v);
    for (size_t k = 0; next_block(x, &k, &b);) memcpy(v + b.i, b.at, b.m * sizeof *v);
    return parts_sum(v, x->m, GPM_OK);
}

typedef void triangular(const char *side, const char *uplo, const char *trans, const char *diag,
                        const int *m, const int *n, const double *alpha, const double *a,
                        const int *ia, const int *ja, const int *desca, double *b, const int *ib,
                        const int *jb, const int *descb);

/* x = L^-1 x, L^-T x or L x. */
static void apply(triangular *op, const struct gp_slot *s, bool trans, struct spread_matrix *x) {
    const struct spread_matrix *l = &((struct spread_factor *)s->spread)->l;
    int m = (int)x->m, n = (int)x->n;
    double plain = 1;
    op("L", "L", trans ? "T" : "N", "N", &m, &n, &plain, l->a, &one, &one, l->desc, x->a, &one,
       &one, x->desc);
}

static enum gpm_status apply_vector(triangular *op, struct gp *g, struct gp_slot *s, bool trans,
                                    double *b) {
    struct spread_matrix x;
    enum gpm_status st = matrix_init(&x, g->n, 1);
    if (!st) {
        put(&x, b);
        apply(op, s, trans, &x);
        st = get(&x, b);
    }
    mem_free(x.a);
    return st;
}

static enum gpm_status solve(struct gp *g, struct gp_slot *s, bool trans, double *b) {
    return apply_vector(pdtrsm_, g, s, trans, b);
}

static enum gpm_status times(struct gp *g, struct gp_slot *s, double *b) {
    return apply_vector(pdtrmm_, g, s, false, b);
}

/* ---- inverse and gradient ---- */

static enum gpm_status invert(struct gp *g, struct gp_slot *s, struct spread_matrix *x) {
    const struct spread_matrix *l = &((struct spread_factor *)s->spread)->l;
    int n = (int)g->n, info;
    enum gpm_status st = matrix_init(x, g->n, g->n);
    if (st) return st;
    memcpy(x->a, l->a, (size_t)l->ld * (size_t)l->cols * sizeof *x->a);
    pdpotri_("L", &n, x->a, &one, &one, x->desc, &info);
    return info ? GPM_E_NOT_PD : GPM_OK;
}

static enum gpm_status inverse(struct gp *g, struct gp_slot *s, double *a, size_t ld) {
    struct spread_matrix x;
    struct block b;
    enum gpm_status st = invert(g, s, &x);
    for (size_t j = 0; j < g->n && !st; j++) memset(a + j * ld, 0, g->n * sizeof *a);
    for (size_t k = 0; !st && next_block(&x, &k, &b);)
        for (size_t j = 0; j < b.n && b.i >= b.j; j++)
            memcpy(a + b.i + (b.j + j) * ld, b.at + j * (size_t)x.ld, b.m * sizeof *a);
    for (size_t j = 0; j < g->n && !st; j++) st = parts_sum(a + j * ld, g->n, st);
    mem_free(x.a);
    return st;
}

/* This rank's part of the gradient: sum over its blocks of W dK, W = alpha alpha' + mean mean' -
 * K^-1, those below the diagonal for their mirror images as well; sums[np]: of the noise. The
 * blocks of the inverse are overwritten. */
static enum gpm_status contract(struct gp *g, struct gp_slot *s, struct spread_matrix *x,
                                const double *alpha, const double *mean, double *sums, size_t np) {
    struct block b;
    struct kern_pts pts = gp_points(g);
    enum gpm_status st = GPM_OK;
    for (size_t k = 0; !st && next_block(x, &k, &b);) {
        if (b.i < b.j) continue;
        bool corner = b.i == b.j;
        for (size_t j = 0; j < b.n; j++)
            for (size_t i = corner ? j : 0; i < b.m; i++) {
                double *w = b.at + i + j * (size_t)x->ld;
                *w = alpha[b.i + i] * alpha[b.j + j] + mean[b.i + i] * mean[b.j + j] - *w;
                if (!corner) *w *= 2;
                if (corner && i == j) sums[np] += *w * gp_share(g, b.i + i);
            }
        struct kern_pts rows = some(pts, b.i, b.m), cols = some(pts, b.j, b.n);
        st = corner ? kern_grad_add(s->kern, rows, NULL, b.at, (size_t)x->ld, sums)
                    : kern_grad_cross(s->kern, rows, cols, b.at, (size_t)x->ld, sums);
    }
    return st;
}

static enum gpm_status gradient(struct gp *g, struct gp_slot *s, double *weight, double *dkern,
                                double *dnoise, double **alpha) {
    size_t n = g->n, np = kern_nparam(s->kern);
    double *a = gp_work(g, 2 * n + 1), *mean = a + n;
    if (!a) return GPM_E_NOMEM;
    *weight /= gp_integrated_scale(g, s);
    for (size_t i = 0; i < n; i++) {
        a[i] = sqrt(*weight) * s->w[i];
        mean[i] = g->integrated & GP_MEAN ? s->u[i] / sqrt(s->q) : 0;
    }
    enum gpm_status st = solve(g, s, true, a);
    if (!st && g->integrated & GP_MEAN) st = solve(g, s, true, mean);
    struct spread_matrix x = {0};
    if (!st) st = invert(g, s, &x);
    if (st) return mem_free(x.a), st;
    double *part = mem_zalloc(2 * (np + 1) * sizeof *part), *sums = part + np + 1;
    st = contract(g, s, &x, a, mean, part, np);
    st = add_up(np + 1, part, sums, st);
    for (size_t i = 0; i < np && !st; i++) dkern[i] += 0.5 * sums[i];
    if (dnoise && !st) *dnoise = s->noise * sums[np] + gp_replicate_slope(g, s->noise, *weight);
    *alpha = a;
    mem_free(part);
    mem_free(x.a);
    return st;
}

/* ---- posterior ---- */

/* V = L^-1 K(X, X*). */
static enum gpm_status half_solve(struct gp *g, struct gp_slot *s, const struct kern *k,
                                  struct kern_pts xs, struct spread_matrix *v) {
    struct block b;
    struct kern_pts pts = gp_points(g);
    enum gpm_status st = matrix_init(v, g->n, xs.n);
    if (st) return st;
    for (size_t i = 0; !st && next_block(v, &i, &b);)
        st = kern_cross(k, some(pts, b.i, b.m), some(xs, b.j, b.n), b.at, (size_t)v->ld);
    st = parts_sum(NULL, 0, st);
    if (!st) apply(pdtrsm_, s, false, v);
    return st;
}

/* Of each point V'w, V'u and the sum of V^2: this rank's rows of them, m numbers each. */
static void project(const struct gp_slot *s, const struct spread_matrix *v, double *out) {
    struct block b;
    size_t m = v->n;
    for (size_t k = 0; next_block(v, &k, &b);)
        for (size_t j = 0; j < b.n; j++) {
            const double *col = b.at + j * (size_t)v->ld;
            out[b.j + j] += vec_ops()->dot(b.m, col, s->w + b.i);
            if (s->u) out[m + b.j + j] += vec_ops()->dot(b.m, col, s->u + b.i);
            out[2 * m + b.j + j] += vec_ops()->dot(b.m, col, col);
        }
}

/* cov -= V'V, lower triangle. */
static enum gpm_status take_known(const struct spread_matrix *v, double *cov, size_t ld) {
    struct spread_matrix c;
    struct block b;
    int m = (int)v->n, n = (int)v->m;
    double plain = 1, none = 0;
    enum gpm_status st = matrix_init(&c, v->n, v->n);
    double *full = mem_zalloc(v->n * v->n * sizeof *full);
    if (!st)
        pdsyrk_("L", "T", &m, &n, &plain, v->a, &one, &one, v->desc, &none, c.a, &one, &one,
                c.desc);
    for (size_t k = 0; !st && next_block(&c, &k, &b);)
        for (size_t j = 0; j < b.n && b.i >= b.j; j++)
            for (size_t i = b.i == b.j ? j : 0; i < b.m; i++)
                full[b.i + i + (b.j + j) * v->n] = b.at[i + j * (size_t)c.ld];
    if (!st) st = parts_sum(full, v->n * v->n, st);
    for (size_t j = 0; j < v->n && !st; j++)
        for (size_t i = j; i < v->n; i++) cov[i + j * ld] -= full[i + j * v->n];
    mem_free(full);
    mem_free(c.a);
    return st;
}

static enum gpm_status posterior(struct gp *g, struct gp_slot *s, const struct kern *part,
                                 struct kern_pts xs, double *mean, double *var, double *cov,
                                 size_t ld, double *along) {
    const struct kern *k = part ? part : s->kern;
    size_t m = xs.n;
    struct spread_matrix v = {0};
    enum gpm_status st = var ? kern_diag(k, xs, var) : GPM_OK;
    if (!st && cov) st = kern_fill(k, xs, cov, ld);
    if (st || m == 0) return st;
    double *mine = mem_zalloc(6 * m * sizeof *mine), *all = mine + 3 * m;
    st = half_solve(g, s, k, xs, &v);
    if (!st) {
        project(s, &v, mine);
        st = add_up(3 * m, mine, all, GPM_OK);
    }
    for (size_t i = 0; i < m && !st; i++) {
        if (mean) mean[i] += all[i];
        if (along) along[i] -= all[m + i];
        if (var) var[i] = var[i] > all[2 * m + i] ? var[i] - all[2 * m + i] : 0;
    }
    if (!st && cov) st = take_known(&v, cov, ld);
    mem_free(mine);
    mem_free(v.a);
    return st;
}

/* The factor does not grow: it is made anew. */
static enum gpm_status append(struct gp *g, struct gp_slot *s, size_t first) {
    (void)g, (void)s, (void)first;
    return GPM_E_LIMIT;
}

static const struct gp_engine engine = {
    .method = "Cholesky (ScaLAPACK)",
    .factor = factor,
    .solve = solve,
    .times = times,
    .logdet = logdet,
    .gradient = gradient,
    .inverse = inverse,
    .posterior = posterior,
    .append = append,
    .release = release,
    .chunk = 384,
};

/* ScaLAPACK's BLAS is the system's, not the library's own: where it is OpenBLAS, one thread a rank.
 */
static void calm_blas(void) {
    void (*set_threads)(int);
    *(void **)&set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    if (set_threads) set_threads(1);
}

void exact_begin(int rank, int ranks) {
    int rows = (int)sqrt((double)ranks);
    calm_blas();
    while (ranks % rows) rows--;
    grid.rank = rank;
    grid.ranks = ranks;
    Cblacs_get(-1, 0, &grid.ctxt);
    Cblacs_gridinit(&grid.ctxt, "Row", rows, ranks / rows);
    Cblacs_gridinfo(grid.ctxt, &grid.rows, &grid.cols, &grid.row, &grid.col);
    if (ranks > 1) gp_engine_set_spread(&engine, FROM);
}
