/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel expression as text for a device: C that is also CUDA, made from the rows' device text.
 * Parameters are data, so expressions of one shape share a program. It defines DIM, NF, NG, NP, NT
 * and
 *
 *   k_prepare(x, t, f)             NF features of a point from its DIM coordinates
 *   k_value(f, h, t, same)         the kernel of two points
 *   k_grad(f, h, t, same, w, g)    g[p] += w dk/dt_p, p < NP
 *
 * t: NT numbers, the parameters of all leaves and change operators in the order of the tree, then
 * the constants that rows derive from them. same: 1 if the points are one point (white noise), 2 if
 * equal coordinates decide. */
#ifndef GP_KERN_DEVICE_H
#define GP_KERN_DEVICE_H
#include "gp/kernel/kernel.h"

struct kern_program {
    int dim, nf, np, nt;
    int ng; /* number of leading features that a Gram matrix needs */
};
#define KERN_PROGRAM_MAX 128 /* most features, and numbers: they are kept in registers */

/* Equal for expressions that differ only in parameters. */
uint64_t kern_shape(const struct kern *k);
bool kern_same_shape(const struct kern *a, const struct kern *b);
/* GPM_E_LIMIT and *why (caller frees): a procedure as a kernel, or too large. */
GPM_MUST_USE enum gpm_status kern_program(const struct kern *k, int dim, struct kern_program *p,
                                          struct buf *text, char **why);
void kern_program_params(const struct kern *k, double *t);
/* A program for any expression of one column, with the shape as data. It avoids compiling for each
 * of many shapes (a search of structures). It has any_prepare, any_value, any_grad instead of the
 * above (gp/process/embed/device_any.cu); *p: its limits. */
void kern_any_program(struct kern_program *p, struct buf *text);
/* The p->nt numbers of this expression; *features as ng above. False: too large. */
bool kern_any_params(const struct kern *k, double *t, int *features);
/* dkern += the derivatives in the expression's parameters, from the sums g over t. */
void kern_program_slopes(const struct kern *k, const double *g, double *dkern);
#endif
