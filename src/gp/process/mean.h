/* SPDX-License-Identifier: Apache-2.0
 *
 * Mean functions: constant, linear, or a callback (a procedure of the user). Immutable,
 * reference-counted, like kernels.
 */
#ifndef GP_MEAN_H
#define GP_MEAN_H
#include "base/buf.h"
#include "gp/kernel/kernel.h"

struct mean;
typedef enum gpm_status (*mean_callback_fn)(void *user, const double *x, int dim, double *out);

struct mean *mean_const(double c);
/* a + sum_c b[c] x[c] */
struct mean *mean_linear(double a, const double *b, size_t dim);
struct mean *mean_callback(mean_callback_fn fn, void *user, void (*drop)(void *user),
                           const char *label);
struct mean *mean_ref(const struct mean *m);
void mean_unref(struct mean *m);
bool mean_equal(const struct mean *a, const struct mean *b);
void mean_print(const struct mean *m, struct buf *out);
/* Parameters: the constant, then the slopes. NULL (the zero mean) and callbacks have no
 * parameters. */
size_t mean_nparam(const struct mean *m);
/* out[p] = sum_i w_i d m(x_i) / d par_p */
void mean_grad(const struct mean *m, struct kern_pts x, const double *w, double *out);
/* out[i] = m(x_i); NULL is the zero mean. */
GPM_MUST_USE enum gpm_status mean_eval(const struct mean *m, struct kern_pts x, double *out);
#endif
