/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of make_gp, gpmem, make_tp and tpmem: [f,] [mean,] kernel [, noise=, ...]. */
#ifndef EMU_GP_ARGS_H
#define EMU_GP_ARGS_H
#include "gp/gp.h"
#include "sp/kernel_value.h"

static inline enum gp_target gp_kind(bool measured) {
    return measured ? GP_MEASURED : GP_LATENT;
}

struct gp_args {
    struct kern *k;
    struct mean *m; /* NULL: zero */
    double noise;
};
enum gpm_status gp_args_read(struct sp_call *c, struct gp_args *out) GPM_MUST_USE;
void gp_args_release(struct gp_args *a);
/* Adjoints of kernel, mean and noise among the maker's arguments: those of the log marginal
 * likelihood of g (the proposed model where one is pending) with the quadratic form counted
 * `weight` times. Procedures as kernels or means have none: ABSENT. */
enum gpm_status gp_args_gradient(struct sp_call *c, struct gp *g, double weight,
                                 value *dargs) GPM_MUST_USE;
size_t gp_args_kernel_position(const struct sp_call *c);
int gp_args_noise_position(const struct sp_call *c); /* -1: none */
/* Position of the first argument behind f (1 for gpmem, 0 for make_gp). Both, and their Student-t
 * relatives, share the tail (a, b?, noise?, ...): one positional argument is the kernel, two are
 * mean and kernel. */
size_t gp_args_first(const struct sp_call *c);
#endif
