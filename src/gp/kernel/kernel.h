/* SPDX-License-Identifier: Apache-2.0
 *
 * Covariance functions as immutable, reference-counted expression trees.
 *
 * A leaf is one row of the kernel table (kern_class.h) with its parameters and the input columns it
 * looks at; inner nodes are sums and products of any number of kernels (flattened: a sum never
 * holds a sum), change operators, and platform kernels, which are another parametrisation of a
 * leaf. A scale factor is a product with CONST, written as a plain number. A callback leaf
 * evaluates a covariance procedure of the user.
 *
 * Ownership: parameters are borrowed, results are owned by the caller (kern_unref). Constructors
 * take their own references. Trees may be shared between threads; a callback must then be safe too.
 *
 * Parameters are one flat vector: those of the leaves from left to right, a change operator's own
 * before those of its two kernels.
 *
 * Points are column-major: x[i + c * ld] is column c of point i.
 */
#ifndef GP_KERNEL_H
#define GP_KERNEL_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kern;
struct kern_class;

/* Parameters, inputs, outputs and noise enter squared: the squares are numbers with all their
 * digits, neither infinite nor zero where none was given. */
#define KERN_SIZE_MAX    1e150
#define KERN_RANGE_TEXT  "between 1e-150 and 1e150 in size"
#define KERN_DEPTH_MAX   200    /* alternations of sum and product, change operators */
#define KERN_SYMBOLS_MAX 100000 /* of the expression written out */

/* ALIAS is of rows alone: its kernels are leaves. */
enum kern_op { KERN_LEAF, KERN_SUM, KERN_PRODUCT, KERN_CHANGE, KERN_ALIAS, KERN_CALLBACK };

bool kern_in_range(double v);                     /* zero, or between 1e-150 and 1e150 in size */
bool kern_all_bounded(const double *v, size_t n); /* no NaN, none above 1e150 in size */

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
    KERN_P_FLAT, /* none: whoever fits with default priors holds the parameter */
    KERN_P_NORMAL,
    KERN_P_LOGNORMAL,
    KERN_P_UNIFORM,
    KERN_P_LOGUNIFORM
};
struct kern_param {
    const char *name;
    enum kern_domain domain;
    enum kern_transform transform; /* unconstraining: identity, log, logit on (0,2), held fixed */
    enum kern_prior prior;         /* default, for standardised data (x in [0,1], y with sd 1) */
    /* normal, lognormal: mean, sd (of the log); uniform, loguniform: ends */
    double prior_a, prior_b;
    double fallback; /* value when the text or the constructor leaves it out */
    bool vector;     /* may be given per input column (ARD) */
    struct {
        double share, a, b;
    } second;      /* lognormal: share > 0 of a second one */
    double beside; /* lognormal: the mean of the log in a product with a periodic factor; 0: a */
};

/* What kind of function a row describes: for queries, and for what the structure learner does with
 * the rows that have a word. */
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
    int id;                   /* its bit in run folders: below 16, never used again */
    const char *word, *brief; /* in structures (NULL: not learnt); a second name, or NULL */
    double unit;              /* of sf: makes the function of order one for x in [0, 1] */
    bool standard;            /* in the default set */
    const char *english;      /* what a term of this factor is called in reports */
    bool alone;               /* in the default set it stands in no product */
    double cost;              /* of its prior, in factors beyond one; < 0: favoured */
};

/* By name, or by a symbol that is no other row's name; NULL when unknown. */
const struct kern_class *kern_class_find(const char *name);
const struct kern_class *kern_class_at(size_t i); /* NULL past the last row */
/* The row of the same name with that many parameters; the row itself where there is none. */
const struct kern_class *kern_class_with(const struct kern_class *row, size_t npar);
/* Procedure i of the language that makes the kernel, NULL past the last. */
const char *kern_class_maker(const struct kern_class *cls, size_t i);
const struct kern_class *kern_change_class(bool window); /* CW, CP */
/* The row closest in spelling, for messages; NULL when nothing is near. */
const char *kern_class_suggest(const char *name);

/* ---- construction: NULL and a message in *why (when not NULL, caller frees with mem_free) when a
 * parameter is out of its domain or the tree gets too deep ---- */
/* One value per parameter of the row. */
struct kern *kern_leaf(const struct kern_class *cls, const double *par, char **why);
/* With chosen columns (ncol > 0; 0-based) and, when ard > 1, that many values for the vector
 * parameter: par then holds nparam - 1 + ard values, in the row's order. */
struct kern *kern_leaf_on(const struct kern_class *cls, const double *par, size_t ard,
                          const int *col, size_t ncol, char **why);
struct kern *kern_sum(struct kern *a, struct kern *b);     /* NULL: too deep, too large */
struct kern *kern_product(struct kern *a, struct kern *b); /* NULL: too deep, too large */
/* Sum or product of two references that it takes over; NULL counts as nothing there. */
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
/* drop (may be NULL) is called with user when the last reference goes. label prints it. Two
 * callback leaves are equal when function and user pointer are. */
struct kern *kern_callback(kern_callback_fn fn, void *user, void (*drop)(void *user),
                           const char *label);
/* One with parameters, which `user` knows too; slope adds w (d k / d par) to g. */
typedef enum gpm_status (*kern_callback_slope_fn)(void *user, const double *x1, const double *x2,
                                                  int dim, double w, double *g);
struct kern *kern_callback_with(kern_callback_fn fn, kern_callback_slope_fn slope, void *user,
                                void (*drop)(void *user), const char *label, const double *par,
                                size_t npar);

struct kern *kern_ref(const struct kern *k); /* returns k */
void kern_unref(struct kern *k);             /* NULL is fine */

/* ---- looking inside ---- */
uint64_t kern_hash(const struct kern *k); /* structure, parameters and columns */
bool kern_equal(const struct kern *a, const struct kern *b);
/* Whether inputs of this dimension fit (columns in range, ARD lengths agree, one-column kernels);
 * otherwise GPM_E_ARG and a message. */
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
    bool distinct; /* the caller knows that no two points are equal: WN touches the diagonal only */
    double step;   /* > 0: one dimension, x[i] = some x0 + place[i] * step up to rounding */
    const size_t *place; /* NULL: place[i] = i */
    size_t grid;         /* with place: length of the grid */
};
/* GPM_E_USER when a callback failed, GPM_E_ARG when the inputs do not fit the kernel. */
GPM_MUST_USE enum gpm_status kern_eval(const struct kern *k, const double *x1, const double *x2,
                                       int dim, double *out);
/* Lower triangle with diagonal of the Gram matrix. */
GPM_MUST_USE enum gpm_status kern_fill(const struct kern *k, struct kern_pts x, double *a,
                                       size_t ld);
/* rows.n x cols.n block K(rows, cols). */
GPM_MUST_USE enum gpm_status kern_cross(const struct kern *k, struct kern_pts rows,
                                        struct kern_pts cols, double *a, size_t ld);
GPM_MUST_USE enum gpm_status kern_diag(const struct kern *k, struct kern_pts x, double *d);
/* g[p] += sum_ij M_ij dK_ij / dtheta_p over the whole symmetric matrix, M given by its lower
 * triangle; alpha not NULL: with the weights alpha alpha' - M, as the likelihood's gradient needs
 * them. Callback leaves have no parameters, fixed ones get 0. */
GPM_MUST_USE enum gpm_status kern_grad_add(const struct kern *k, struct kern_pts x,
                                           const double *alpha, const double *m, size_t ld,
                                           double *g);
/* g[p] += sum_ij W_ij dK(rows_i, cols_j) / dtheta_p; and sum_i w_i dK(x_i, x_i) / dtheta_p. */
GPM_MUST_USE enum gpm_status kern_grad_cross(const struct kern *k, struct kern_pts rows,
                                             struct kern_pts cols, const double *w, size_t ld,
                                             double *g);
GPM_MUST_USE enum gpm_status kern_grad_diag(const struct kern *k, struct kern_pts x,
                                            const double *w, double *g);

/* The kernel against fixed points (borrowed, as long as the view is used) for one new point at a
 * time: what depends on the fixed points alone is done once. NULL when the inputs do not fit. */
struct kern_view;
struct kern_view *kern_view_new(const struct kern *k, struct kern_pts rows);
void kern_view_free(struct kern_view *v); /* NULL is fine */
/* out[i] = k(rows_i, x), x contiguous. */
GPM_MUST_USE enum gpm_status kern_view_row(struct kern_view *v, const double *x, double *out);
/* *f = sum_i w_i k(rows_i, x) and g[c] = df/dx_c; by central differences where a kernel has no
 * closed form. */
GPM_MUST_USE enum gpm_status kern_view_slope(struct kern_view *v, const double *x, const double *w,
                                             double *f, double *g);

/* Derivatives of a function of dim numbers by central differences, with steps that balance
 * truncation and rounding for coordinates of about `size` and more. */
typedef enum gpm_status (*kern_point_fn)(void *ctx, const double *x, double *f);
GPM_MUST_USE enum gpm_status kern_differences(kern_point_fn fn, void *ctx, const double *x, int dim,
                                              double size, double *grad);

/* ---- algebra (paper, appendices B and C) ---- */
/* Sum of products with the rules of appendix B applied and the merged parameters computed: the same
 * function. Also WN + WN, C + C, numbers folded, LIN + LIN with different origins, PER and SE ...
 * times WN, products of rank-one constants. */
struct kern *kern_simplify(const struct kern *k); /* NULL: KERN_TOO_LARGE */
#define KERN_TOO_LARGE "the kernel stands for too many terms to be brought into normal form"
/* Canonical symbolic expression of the simplified kernel, the same whatever the order it was
 * written in: factors LIN, SE, PER, others by name, WN last; terms by text, a lone WN last.
 * GPM_E_NOT_FOUND: KERN_TOO_LARGE, and nothing is added. */
GPM_MUST_USE enum gpm_status kern_struct(const struct kern *k, struct buf *out);
/* Rewrites a symbolic expression ("PER*SE + LIN") in canonical order and simplified;
 * GPM_E_FORMAT with a message when it cannot be read. */
GPM_MUST_USE enum gpm_status kern_struct_canonical(const char *text, struct buf *out, char **why);
/* Is the structure (one or several terms) among k's global additive components? */
GPM_MUST_USE enum gpm_status kern_contains(const struct kern *k, const char *structure, bool *yes,
                                           char **why);

/* ---- text ---- */
void kern_print(const struct kern *k, struct buf *out);
/* Grammar: sum of products of NAME(par=number, ..., dims=[0, 1]), numbers, parentheses,
 * CP(k1, k2, tau=.., s=..). Positional parameters work too. Parameters left out take their default.
 * GPM_E_FORMAT and a message with the column when the text is wrong. */
GPM_MUST_USE enum gpm_status kern_parse(const char *text, struct kern **out, char **why);
#endif
