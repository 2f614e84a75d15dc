/* SPDX-License-Identifier: Apache-2.0
 *
 * Covariance functions as immutable, reference-counted expression trees.
 *
 * A leaf is one row of the kernel table (kern_class.h) with its parameters and input columns. Inner
 * nodes are sums and products of any number of kernels (flattened: a sum never holds a sum), change
 * operators, and platform kernels, which reparametrise a leaf. A scale factor is a product with
 * CONST, written as a plain number. A callback leaf evaluates a covariance procedure of the user.
 *
 * Ownership: parameters are borrowed, results are owned by the caller (kern_unref). Constructors
 * take their own references. Trees may be shared between threads; a callback must then be safe too.
 *
 * Parameters are one flat vector: those of the leaves from left to right, a change operator's own
 * before those of its two kernels.
 *
 * Points are column-major: x[i + c * ld] is column c of point i. */
#ifndef GP_KERNEL_H
#define GP_KERNEL_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kern;
struct kern_class;

/* Limits of parameters, inputs, outputs and noise. They enter squared, and the squares must keep
 * all digits: neither infinite, nor zero for a nonzero number. */
#define KERN_SIZE_MAX    1e150
#define KERN_RANGE_TEXT  "between 1e-150 and 1e150 in size"
#define KERN_DEPTH_MAX   200    /* alternations of sum and product, change operators */
#define KERN_SYMBOLS_MAX 100000 /* of the expression in full */

/* ALIAS occurs only in rows: alias kernels are leaves. */
enum kern_op { KERN_LEAF, KERN_SUM, KERN_PRODUCT, KERN_CHANGE, KERN_ALIAS, KERN_CALLBACK };

bool kern_in_range(double v);                     /* zero, or absolute value from 1e-150 to 1e150 */
bool kern_all_bounded(const double *v, size_t n); /* no NaN, absolute values up to 1e150 */

/* ---- the table; its rows are in kern_class.h ---- */
enum kern_domain {
    KERN_REAL,
    KERN_POSITIVE,
    KERN_NONNEGATIVE,
    KERN_UPTO2, /* (0, 2] */
    KERN_DEGREE /* integer 1 .. 10; not a continuous parameter */
};
enum kern_transform { KERN_T_NONE, KERN_T_LOG, KERN_T_LOGIT2, KERN_T_FIXED };
enum kern_prior {
    KERN_P_FLAT, /* no prior: fits with default priors hold the parameter fixed */
    KERN_P_NORMAL,
    KERN_P_LOGNORMAL,
    KERN_P_UNIFORM,
    KERN_P_LOGUNIFORM
};
struct kern_param {
    const char *name;
    enum kern_domain domain;
    enum kern_transform transform; /* to unconstrained: identity, log, logit on (0,2), or fixed */
    enum kern_prior prior;         /* default, for standardised data (x in [0,1], y with sd 1) */
    /* normal, lognormal: mean and sd (of the log); uniform, loguniform: ends. */
    double prior_a, prior_b;
    double fallback; /* value if the text or the constructor omits it */
    bool vector;     /* may be given per input column (ARD) */
    struct {
        double share, a, b;
    } second;      /* lognormal: a second component with share > 0 */
    double beside; /* lognormal: mean of the log in a product with a periodic factor; 0: a */
};

/* The kind of function a row describes, used by queries, and by the structure learner for rows with
 * a word. */
enum kern_role {
    KERN_ROLE_NONE,
    KERN_ROLE_TREND,    /* parameters: sf, origin */
    KERN_ROLE_SMOOTH,   /* sf, length, perhaps one of shape */
    KERN_ROLE_PERIODIC, /* sf, period, length */
    KERN_ROLE_WALK,     /* sf; starts at the first value */
    KERN_ROLE_BREAK,    /* sf, place */
    KERN_ROLE_WHITE     /* sigma */
};
struct kern_motif {
    enum kern_role role;
    bool direction;           /* counts as a trend */
    int id;                   /* its bit in run folders: below 16, never reused */
    const char *word, *brief; /* in structures (NULL: not learned); a short name, or NULL */
    double unit;              /* of sf: makes the function of order one for x in [0, 1] */
    bool standard;            /* in the default set */
    const char *english;      /* what a term of this factor is called in reports */
    bool alone;               /* in the default set it occurs in no product */
    double cost;              /* of its prior, in factors above one; < 0: favoured */
};

/* By name, or by a symbol that is not another row's name; NULL if unknown. */
const struct kern_class *kern_class_find(const char *name);
const struct kern_class *kern_class_at(size_t i); /* NULL past the last row */
/* The row of the same name with npar parameters; the row itself if there is no other. */
const struct kern_class *kern_class_with(const struct kern_class *row, size_t npar);
/* Procedure i of the language that makes the kernel; NULL past the last. */
const char *kern_class_maker(const struct kern_class *cls, size_t i);
const struct kern_class *kern_change_class(bool window); /* CW, CP */
/* The row with the most similar spelling, for messages; NULL if no name is similar. */
const char *kern_class_suggest(const char *name);

/* ---- construction: returns NULL if a parameter is outside its domain or the tree too deep. *why
 * (unless NULL) then has a message; the caller frees it with mem_free ---- */
/* One value per parameter of the row. */
struct kern *kern_leaf(const struct kern_class *cls, const double *par, char **why);
/* With chosen columns if ncol > 0 (from 0). If ard > 1 the vector parameter has that many values:
 * par then holds nparam - 1 + ard values, in the row's order. */
struct kern *kern_leaf_on(const struct kern_class *cls, const double *par, size_t ard,
                          const int *col, size_t ncol, char **why);
struct kern *kern_sum(struct kern *a, struct kern *b);     /* NULL: too deep, too large */
struct kern *kern_product(struct kern *a, struct kern *b); /* NULL: too deep, too large */
/* Sum or product; takes over both references, and ignores a NULL. */
struct kern *kern_join(enum kern_op op, struct kern *a, struct kern *b);
struct kern *kern_scale(double variance, struct kern *k); /* variance * k; NULL: negative, deep */
struct kern *kern_constant(double variance);              /* CONST; NULL: negative or not finite */
/* (1-h)(1-h') before + h h' after, h a sigmoid (CP: tau, s) or a window (CW: tau1, tau2, s) of
 * input column `col`. */
struct kern *kern_change(const struct kern_class *cls, const double *par, int col,
                         struct kern *before, struct kern *after, char **why);

/* Covariance of two points given as contiguous coordinates. */
typedef enum gpm_status (*kern_callback_fn)(void *user, const double *x1, const double *x2, int dim,
                                            double *out);
/* drop (may be NULL) is called with user when the last reference is released. label is printed.
 * Callback leaves are equal if function and user pointer are. */
struct kern *kern_callback(kern_callback_fn fn, void *user, void (*drop)(void *user),
                           const char *label);
/* A callback with parameters, which `user` holds, too; slope adds w (d k / d par) to g. */
typedef enum gpm_status (*kern_callback_slope_fn)(void *user, const double *x1, const double *x2,
                                                  int dim, double w, double *g);
struct kern *kern_callback_with(kern_callback_fn fn, kern_callback_slope_fn slope, void *user,
                                void (*drop)(void *user), const char *label, const double *par,
                                size_t npar);

struct kern *kern_ref(const struct kern *k); /* returns k */
void kern_unref(struct kern *k);             /* NULL is fine */

/* ---- inspection ---- */
uint64_t kern_hash(const struct kern *k); /* structure, parameters and columns */
bool kern_equal(const struct kern *a, const struct kern *b);
/* Do inputs of this dimension fit (columns in range, ARD lengths agree, one-column kernels)?
 * Otherwise GPM_E_ARG and a message. */
GPM_MUST_USE enum gpm_status kern_check_dim(const struct kern *k, int dim, char **why);

/* ---- parameters ---- */
size_t kern_nparam(const struct kern *k);
void kern_params(const struct kern *k, double *theta);
const struct kern_param *kern_param_at(const struct kern *k, size_t i);
void kern_param_name(const struct kern *k, size_t i, struct buf *out); /* "SE.l", "SE#2.l[1]" */
struct kern *kern_with_params(const struct kern *k, const double *theta, char **why);
/* z = T(theta) and back; dtheta (may be NULL) receives dtheta/dz. Fixed parameters pass through. */
void kern_unconstrain(const struct kern *k, const double *theta, double *z);
void kern_constrain(const struct kern *k, const double *z, double *theta, double *dtheta);
/* Log density of z = log theta under a lognormal prior centred at `mean`, and its slope. */
double kern_log_scale_prior(const struct kern_param *p, double z, double mean, double *slope);

/* ---- values ---- */
struct kern_pts {
    const double *x; /* borrowed, column-major */
    size_t n, ld;
    int dim;
    bool distinct;       /* the caller knows that all points differ: WN only affects the diagonal */
    double step;         /* > 0: one dimension, x[i] = some x0 + place[i] * step up to rounding */
    const size_t *place; /* NULL: place[i] = i */
    size_t grid;         /* with place: length of the grid */
};
/* GPM_E_USER if a callback failed, GPM_E_ARG if the inputs do not fit the kernel. */
GPM_MUST_USE enum gpm_status kern_eval(const struct kern *k, const double *x1, const double *x2,
                                       int dim, double *out);
/* Lower triangle of the Gram matrix, with the diagonal. */
GPM_MUST_USE enum gpm_status kern_fill(const struct kern *k, struct kern_pts x, double *a,
                                       size_t ld);
/* The block K(rows, cols), rows.n x cols.n. */
GPM_MUST_USE enum gpm_status kern_cross(const struct kern *k, struct kern_pts rows,
                                        struct kern_pts cols, double *a, size_t ld);
GPM_MUST_USE enum gpm_status kern_diag(const struct kern *k, struct kern_pts x, double *d);
/* g[p] += sum_ij M_ij dK_ij / dtheta_p over the full symmetric matrix; M is given by its lower
 * triangle. If alpha is not NULL the weights are alpha alpha' - M, as in the gradient of the
 * likelihood. Callback leaves have no parameters; fixed parameters get 0. */
GPM_MUST_USE enum gpm_status kern_grad_add(const struct kern *k, struct kern_pts x,
                                           const double *alpha, const double *m, size_t ld,
                                           double *g);
/* g[p] += sum_ij W_ij dK(rows_i, cols_j) / dtheta_p; and sum_i w_i dK(x_i, x_i) / dtheta_p. */
GPM_MUST_USE enum gpm_status kern_grad_cross(const struct kern *k, struct kern_pts rows,
                                             struct kern_pts cols, const double *w, size_t ld,
                                             double *g);
GPM_MUST_USE enum gpm_status kern_grad_diag(const struct kern *k, struct kern_pts x,
                                            const double *w, double *g);

/* The kernel between fixed points (borrowed while the view exists) and one new point at a time.
 * Work on the fixed points is done once. NULL if the inputs do not fit. */
struct kern_view;
struct kern_view *kern_view_new(const struct kern *k, struct kern_pts rows);
void kern_view_free(struct kern_view *v); /* NULL is fine */
/* out[i] = k(rows_i, x), x contiguous. */
GPM_MUST_USE enum gpm_status kern_view_row(struct kern_view *v, const double *x, double *out);
/* *f = sum_i w_i k(rows_i, x) and g[c] = df/dx_c, by central differences for kernels without closed
 * form. */
GPM_MUST_USE enum gpm_status kern_view_slope(struct kern_view *v, const double *x, const double *w,
                                             double *f, double *g);

/* Derivatives of a function of dim numbers by central differences. The steps balance truncation and
 * rounding for coordinates of at least about `size`. */
typedef enum gpm_status (*kern_point_fn)(void *ctx, const double *x, double *f);
GPM_MUST_USE enum gpm_status kern_differences(kern_point_fn fn, void *ctx, const double *x, int dim,
                                              double size, double *grad);

/* ---- algebra (paper, appendices B and C) ---- */
/* The same function as a sum of products after the rules of appendix B, with merged parameters.
 * Further rules: WN + WN, C + C, folded numbers, LIN + LIN with different origins, WN times PER, SE
 * ..., products of rank-one constants. */
struct kern *kern_simplify(const struct kern *k); /* NULL: KERN_TOO_LARGE */
#define KERN_TOO_LARGE "the kernel stands for too many terms to be brought into normal form"
/* Canonical expression of the simplified kernel, whatever order it was written in: factors LIN, SE,
 * PER, others by name, WN last; terms by text, a lone WN last. GPM_E_NOT_FOUND: KERN_TOO_LARGE; out
 * is unchanged. */
GPM_MUST_USE enum gpm_status kern_struct(const struct kern *k, struct buf *out);
/* Rewrites a symbolic expression ("PER*SE + LIN") in canonical order and simplified. GPM_E_FORMAT
 * with a message if it cannot be read. */
GPM_MUST_USE enum gpm_status kern_struct_canonical(const char *text, struct buf *out, char **why);
/* Are the terms of the structure among k's global additive components? */
GPM_MUST_USE enum gpm_status kern_contains(const struct kern *k, const char *structure, bool *yes,
                                           char **why);

/* ---- text ---- */
void kern_print(const struct kern *k, struct buf *out);
/* Grammar: sum of products of NAME(par=number, ..., dims=[0, 1]), numbers, parentheses, CP(k1, k2,
 * tau=.., s=..). Parameters may be positional; omitted ones take their default. GPM_E_FORMAT and a
 * message with the column for a wrong text. */
GPM_MUST_USE enum gpm_status kern_parse(const char *text, struct kern **out, char **why);
#endif
