/* SPDX-License-Identifier: Apache-2.0
 *
 * Low rank and conjugate gradients, for smooth kernels and more inputs than memory allows a factor
 * for. Partial Cholesky with pivots finds inputs u (struct inducing) such that K = L L' + R,
 * L = K(x, u) Luu^-T, and the trace of R is known exactly: the sum of the residual diagonal. The
 * log-determinant and the trace of the gradient come from L. Their error in nats is at most the sum
 * of R_ii over the noise variance; if that is not below LOW_RANK_PROOF the process is refused. The
 * quadratic form is solved with the whole kernel, by conjugate gradients with
 * L L' + D as preconditioner. */
#ifndef GP_GP_LOW_RANK_H
#define GP_GP_LOW_RANK_H
#include "gp/way/gp_approx.h"

#define LOW_RANK_PROOF 1e-6 /* nats */
enum { LOW_RANK_MOST = 4096 };

struct gp;
/* The columns of L and the device that multiplies with the kernel. */
struct low_rank {
    const struct low_rank_ops *ops;
    struct gp *g;
    const struct approx_data *d;
    size_t n, most, rank;
    double *l;             /* on the host: n x most, column-major */
    unsigned long long at; /* on the card */
};
struct low_rank_ops {
    const char *method;
    enum gpm_status (*begin)(struct low_rank *w); /* memory for `most` columns */
    /* column: K(x, x_p) - L L_p'. keep: makes this the next column of L. */
    enum gpm_status (*column)(struct low_rank *w, size_t p, double *out);
    enum gpm_status (*keep)(struct low_rank *w, const double *column);
    enum gpm_status (*l_times)(struct low_rank *w, const double *c, double *out);  /* L c */
    enum gpm_status (*lt_times)(struct low_rank *w, const double *v, double *out); /* L' v */
    enum gpm_status (*k_times)(struct low_rank *w, const double *v, double *out);  /* K v */
    void (*end)(struct low_rank *w);
};
extern const struct low_rank_ops low_rank_cpu, low_rank_gpu;

/* Builds q at the pivots. *logml uses the quadratic form of the whole kernel. GPM_E_DEVICE:
 * refused, with the reason in gp_device_error. */
GPM_MUST_USE enum gpm_status low_rank_build(struct gp *g, const struct low_rank_ops *ops,
                                            struct inducing *q, const struct approx_data *d,
                                            size_t most, double *logml, double *bound);
#endif
