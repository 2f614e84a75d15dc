/* SPDX-License-Identifier: Apache-2.0
 *
 * What the random procedures share: the step from values to plain doubles and back. A row whose
 * value and arguments are numbers fills num_sample, num_log_density and num_grad from
 * numeric/dist/dist.h and takes sp_scalar_* for the rest.
 *
 * Such a row is elementwise: where some of its arguments are sequences, its value is a sequence of
 * independent elements, and a number stands for each of them. Numbers as arguments and a sequence
 * as value are independent draws, too. A row that knows its distribution function (tails) has two
 * last arguments `lower` and `upper`, which truncate it; num_args says how many stand before them.
 */
#ifndef DIST_DIST_ROW_H
#define DIST_DIST_ROW_H
#include "numeric/dist/tails.h"
#include "language/rows/protocol/sp.h"

/* Arguments as doubles into a[SP_MAX_PARAMS]; they have passed the signature. */
void sp_args(const struct sp_call *c, double *a);

/* Errors with the procedure's name; all return GPM_E_USER. */
enum gpm_status sp_bad_value(struct sp_call *c, value v, const char *expected);
enum gpm_status sp_bad_arg(struct sp_call *c, size_t i, const char *name, const char *expected);

/* What the row of a procedure of numbers says in its `of`. */
struct scalar_family {
    /* Bound of the density over the coordinates in `varies` (not 0), the others at x and a; NaN:
     * unbounded. See log_bound in sp.h. */
    double (*best)(const struct sp_call *c, uint64_t varies, double x, double *a);
    /* domains that a signature cannot say, at the parameters a of one element; or NULL */
    enum gpm_status (*check)(struct sp_call *c, const double *a);
    bool coin; /* its values are booleans */
    enum sp_support_kind support;
    double lo, hi;
    /* ends that depend on the parameters, or NULL */
    void (*range)(const double *a, double *lo, double *hi);
    dist_tails_fn *tails;   /* NULL: not known, and no truncation */
    dist_slopes_fn *slopes; /* NULL: none is closed */
    const double *absent;   /* what arguments that were left out are; NULL: none can be */
};
enum gpm_status sp_scalar_simulate(struct sp_call *c, value *out);
enum gpm_status sp_scalar_log_density(struct sp_call *c, value v, double *out);
enum gpm_status sp_scalar_grad(struct sp_call *c, value v, value *dv, value *dargs);
enum gpm_status sp_scalar_support(struct sp_call *c, struct sp_support *out);
enum gpm_status sp_scalar_bound(struct sp_call *c, value v, uint64_t varies, double *out);
/* The last parameters of a row with tails. */
#define SP_BOUNDS ", lower?: real, upper?: real"
#define SP_NUMERIC(fn)                                                                             \
    .num_log_density = dist_##fn##_lp, .num_sample = dist_##fn##_draw, .num_grad = dist_##fn##_grad
#define SP_SCALAR(fn)                                                                              \
    .simulate = sp_scalar_simulate, .log_density = sp_scalar_log_density,                          \
    .grad_density = sp_scalar_grad, .support = sp_scalar_support, SP_NUMERIC(fn)

/* A row of continuous values: densities of dist_FN, then its family. */
#define SP_CONTINUOUS(fn, ...)                                                                     \
    SP_SCALAR(fn), .flags = SP_RANDOM | SP_LIFTS | SP_LACKS, .log_bound = sp_scalar_bound,         \
                   .of = &(const struct scalar_family) {                                           \
        __VA_ARGS__                                                                                \
    }
#define SP_REAL              .support = SUPPORT_REAL, .lo = -INFINITY, .hi = INFINITY
#define SP_POSITIVE          .support = SUPPORT_POSITIVE, .lo = 0, .hi = INFINITY
#define SP_BETWEEN(from, to) .support = SUPPORT_INTERVAL, .lo = (from), .hi = (to)
/* `best` of location and scale, where the mode is the location and the best scale the distance to
 * it: normal, laplace, cauchy. */
double best_loc_scale(const struct sp_call *c, uint64_t varies, double x, double *a);

/* Bound for a discrete procedure: 0, or the density itself when nothing varies. */
enum gpm_status sp_discrete_bound(struct sp_call *c, value v, uint64_t varies, double *out);
enum gpm_status sp_support_discrete(struct sp_call *c, struct sp_support *out);
enum gpm_status sp_support_real(struct sp_call *c, struct sp_support *out);
/* The values of positive probability among `a` and `b`; owned. */
enum gpm_status sp_enumerate_two(struct sp_call *c, value a, value b, value **vals, size_t *n);

/* The items of argument i, which the signature says is a sequence; values_free. */
value *sp_items(const struct sp_call *c, size_t i, size_t *n);
/* A sequence of numbers; *out owned (mem_free). NaN among them is an error. */
enum gpm_status sp_numbers_arg(struct sp_call *c, size_t i, const char *name, double **out,
                               size_t *n);
/* The n elements of a value; owned. */
enum gpm_status sp_numbers_value(struct sp_call *c, value v, size_t n, double **out);
/* A matrix value, or a sequence of rows; *out owned, column-major. */
enum gpm_status sp_matrix_arg(struct sp_call *c, size_t i, const char *name, double **out,
                              size_t *rows, size_t *cols);
bool sp_as_matrix(value v, double **out, size_t *rows, size_t *cols);
#endif
