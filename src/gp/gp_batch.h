/* SPDX-License-Identifier: Apache-2.0
 *
 * Many processes at once: chains of a model, starts of an optimiser, structures of a search, series
 * of an index. Each item is what gp_propose and gp_grad_weighted do to one process; here it is a
 * loop over them, with the same bits, on a GPU the small ones of equal shape are one launch.
 */
#ifndef GP_GP_BATCH_H
#define GP_GP_BATCH_H
#include "gp/gp.h"

struct gp_batch_item {
    struct gp *g; /* no two items have the same one */
    const struct kern *kern;
    const struct mean *mean; /* NULL: zero */
    double noise;
    double *dkern, *dmean, *dnoise; /* dkern NULL: no gradient; the others may be NULL */
    double logml;                   /* out; -inf where the matrix cannot be factored */
    enum gpm_status status;         /* out, as gp_propose gives it */
};
/* The first failure, GPM_E_DEVICE before others; every item holds its proposal then (gp_accept). */
GPM_MUST_USE enum gpm_status gp_batch(struct gp_batch_item *items, size_t n);
/* Seconds that the card took for the last batch of this process, transfers of parameters and
 * results included. */
double gp_batch_seconds(void);
#define GP_BATCH_MAX 512 /* inputs of a process that goes this way */
#endif
