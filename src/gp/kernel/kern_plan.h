/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel prepared for a set of points: features computed, factors with exponentials gathered, lag
 * tables built on regular grids. A plan is used for one fill or gradient pass and then released. */
#ifndef GP_KERN_PLAN_H
#define GP_KERN_PLAN_H
#include "base/arena.h"
#include "gp/kernel/kern_tree.h"
#include <string.h>

struct plan_node {
    const struct kern *k;
    size_t at;      /* first parameter of this node in the flat vector */
    double amp;     /* leaves */
    int nf;         /* features */
    double *row_f;  /* nf x nrows, feature f at row_f + f * nrows */
    double *col_f;  /* the same for the fixed points; may be row_f */
    double *col;    /* features of the current fixed point, gathered */
    double *h, *dh; /* change operators: weight of row points, its derivatives npar x nrows */
    double *hc, *dhc;
    struct plan_node **kid;
    size_t nkids;
    size_t nexp;       /* products: the first nexp kids are leaves with expo */
    bool zero_off;     /* a Gram matrix of distinct points is zero off its diagonal */
    struct plan *lags; /* regular grid: lags against lag 0; the walk then stops at this node */
    double *lag;       /* its values */
    double *table;     /* sum on a regular grid: values of all kids with lags, by lag */
    double *lag_sum;   /* gradient: weights by lag; of a sum: for all kids with lags */
    double *gap;       /* regular grid: the row's `gap` by lag, */
    double *gap_at;    /* for the current strip, if the grid has gaps */
    double *buf;       /* scratch for one strip */
    double *own;       /* gradient of the leaf's parameters */
};

struct plan {
    struct arena arena;
    struct kern_pts rows, cols;
    const double *lag_x; /* regular grid: the lags */
    size_t *run;         /* rows in grid order with gaps: end of the run without gaps */
    size_t fixed;        /* index of the fixed point */
    bool square;         /* rows and columns are the same points: a Gram matrix */
    struct plan_node *root;
    enum gpm_status status; /* first failure of a callback, or abandoned work */
    size_t steps;           /* base/work.h */
    const struct vec_ops *v;
};

static inline size_t plan_lags(const struct plan *p) {
    return p->rows.place ? p->rows.grid : p->rows.n;
}
static inline size_t lag_of(size_t a, size_t b) {
    return a > b ? a - b : b - a;
}

/* Are the rows in grid order? */
static inline bool plan_ordered(const struct plan *p) {
    return p->lag_x && (!p->rows.place || p->run);
}
/* Rows i0 + i and following (of a strip of m rows, below row j) that are adjacent in the grid:
 * where the run ends. *lag: of the first. Only for rows in order. */
static inline size_t plan_run(const struct plan *p, size_t j, size_t i0, size_t m, size_t i,
                              size_t *lag) {
    const size_t *place = p->rows.place;
    *lag = place ? place[i0 + i] - place[j] : i0 + i - j;
    return place && p->run[i0 + i] < i0 + m ? p->run[i0 + i] - i0 : m;
}
/* out[i] = table[lag of rows i0 + i and j]. */
static inline void plan_look_up(const struct plan *p, const double *table, size_t j, size_t i0,
                                size_t m, double *out) {
    const size_t *place = p->rows.place;
    size_t lag;
    for (size_t i = 0, end; i < m && plan_ordered(p); i = end) {
        end = plan_run(p, j, i0, m, i, &lag);
        memcpy(out + i, table + lag, (end - i) * sizeof *out);
    }
    for (size_t i = 0; i < m && !plan_ordered(p); i++)
        out[i] = table[lag_of(place[i0 + i], place[j])];
}

/* The leaf's function of the distance from the fixed point, which precedes the strip. */
static inline const double *plan_gap(const struct plan *p, const struct plan_node *q, size_t i0,
                                     size_t m) {
    if (!q->gap || i0 < p->fixed) return NULL;
    if (!p->rows.place) return q->gap + (i0 - p->fixed);
    plan_look_up(p, q->gap, p->fixed, i0, m, q->gap_at);
    return q->gap_at;
}
/* Is the node zero in this strip? Strips of Gram matrices are below the diagonal, except for i0 =
 * j. */
static inline bool plan_zero(const struct plan_node *q, size_t j, size_t i0) {
    return q->zero_off && j != i0;
}
/* Rows [i0, i0+m) of a leaf against the fixed point. */
static inline struct kern_strip plan_view(const struct plan *p, const struct plan_node *q,
                                          size_t i0, size_t m) {
    bool later = plan_ordered(p) && i0 >= p->fixed;
    return (struct kern_strip){q->row_f + i0,         p->rows.n, q->col, m, q->nf,
                               plan_gap(p, q, i0, m), later};
}
static inline size_t plan_width(const struct plan *p,
                                size_t i0) { /* number of rows of the strip starting at i0 */
    return p->rows.n - i0 < KERN_STRIP ? p->rows.n - i0 : KERN_STRIP;
}

/* GPM_E_ARG if the inputs do not fit the kernel. */
GPM_MUST_USE enum gpm_status plan_init(struct plan *p, const struct kern *k, struct kern_pts rows,
                                       struct kern_pts cols, bool square);
void plan_release(struct plan *p);
/* Takes over changed coordinates of the only fixed point (cols.n = 1). */
void plan_move(struct plan *p);
/* g[c] += sum_i w_i dk/dx_c over all rows, where x is the fixed point; every leaf must have a
 * slope. Returns sum_i w_i k. */
double plan_slope(struct plan *p, const double *w, double *g);
void plan_column(struct plan *p, size_t j); /* makes point j of cols the fixed point */
/* Values of all rows from i0 on against point j of cols, which becomes the fixed point. Returns the
 * plan's status. */
enum gpm_status plan_values(struct plan *p, size_t j, size_t i0, double *out);
/* Values of rows [i0, i0+m), m <= KERN_STRIP, against the fixed point j. */
void plan_strip(struct plan *p, struct plan_node *q, size_t j, size_t i0, size_t m, double *out);
/* Row i against itself; row i becomes the fixed point of this leaf. */
struct kern_strip plan_self(const struct plan *p, const struct plan_node *q, size_t i);
/* K(x_i, x_i) for rows [i0, i0+m); afterwards there is no fixed point. */
void plan_diag(struct plan *p, struct plan_node *q, size_t i0, size_t m, double *out);
/* g[p] += sum_i w_i dK(x_i, x_0)/dpar_p over all rows against the fixed point 0. */
void plan_column_grad(struct plan *p, const double *w, double *g);
/* Adds the derivatives gb in the parameters of the node's leaf to g. */
void plan_deliver(const struct plan_node *q, const double *gb, double *g);

/* Is the kernel of rank one, K(x, x') = phi(x) phi(x')? These are rank-one leaves of one column,
 * positive constants, and their products. */
bool kern_rank_one(const struct kern *k);
void plan_phi(struct plan *p, const struct plan_node *q, double *phi); /* at all rows */
/* g[p] += sum_i w_i dphi_i/dpar_p */
void plan_phi_grad(struct plan *p, const struct plan_node *q, const double *w, double *g);
#endif
