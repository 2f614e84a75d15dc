/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, means and processes as bytes (base/pack.h). Callbacks belong to a layer above, which
 * packs them: `foreign` reads or writes a kernel or mean that is a callback (NULL: reads one,
 * owned). */
#ifndef GP_GP_PACK_H
#define GP_GP_PACK_H
#include "base/pack.h"
#include "gp/process/gp.h"

struct gp_foreign {
    struct kern *(*kern)(struct pack *p, struct kern *k);
    struct mean *(*mean)(struct pack *p, struct mean *m);
};
void kern_pack(struct pack *p, struct kern **k, const struct gp_foreign *foreign);
void mean_pack(struct pack *p, struct mean **m, const struct gp_foreign *foreign); /* may be NULL */
/* The user pointer of a callback; NULL if it is another function's. */
void *kern_user(const struct kern *k, kern_callback_fn fn);
void *mean_user(const struct mean *m, mean_callback_fn fn);
/* Packs data and computed results. A process being read already has its model, and no data. Factors
 * that grew row by row are written, since rebuilding would change the last bits. No proposal may be
 * pending. */
void gp_pack(struct pack *p, struct gp *g, const struct gp_foreign *foreign);
#endif
