/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels and mean functions as values of the language: boxes around gp/kernel/kernel.h and
 * gp/process/mean.h. The adjoint of a kernel is the vector of the adjoints of its flat parameters.
 */
#ifndef SP_KERNEL_VALUE_H
#define SP_KERNEL_VALUE_H
#include "gp/process/gp_pack.h"
#include "gp/kernel/kernel.h"
#include "gp/process/mean.h"
#include "language/rows/protocol/sp.h"

struct kernel_box {
    struct box box;
    struct kern *k;
};
struct mean_box {
    struct box box;
    struct mean *m;
};
extern const struct box_class kernel_class, mean_class;
extern const struct gp_foreign kernel_foreign; /* procedures of the language as kernels, means */
value kernel_value_take(struct kern *k);
value mean_value_take(struct mean *m);
value point_value(const double *x, int dim); /* an input: a number, or a vector if dim > 1 */
struct kern *kernel_of(value v);             /* borrowed; NULL: not a kernel */
/* A kernel value, or a procedure of two inputs as a callback kernel. Owned; NULL after sp_error. */
struct kern *kernel_from(struct sp_call *c, value v);
/* The procedure k(x, y, parameters) at these parameters, with slopes if it can be compiled to
 * numbers. Owned. */
struct kern *kernel_written(struct sp_call *c, value k, const double *par, size_t n);
/* A mean value, a number, or a procedure of one input. Owned; NULL after sp_error. */
struct mean *mean_from(struct sp_call *c, value v);
/* contains(k, s): is the structure or kernel s among the global additive components of the kernel
 * args[0], after simplification? */
enum gpm_status kernel_contains(struct sp_call *c, value *out) GPM_MUST_USE;
/* Constructors of the rows of the kernel table, for the index of procedures. */
size_t sp_kernel_leaf_make(const struct sp_class **rows);
#endif
