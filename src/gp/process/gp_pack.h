/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels, means and processes as bytes (base/pack.h). What the library calls back belongs to a
 * layer above, which packs it: `foreign` reads or writes a kernel, or a mean, that is a callback
 * (NULL: one is read; owned).
 */
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
/* What a callback was made with; NULL: it is none of these functions. */
void *kern_user(const struct kern *k, kern_callback_fn fn);
void *mean_user(const struct mean *m, mean_callback_fn fn);
/* Data and what was computed from them; a process that is read into has its model already, and no
 * data. Factors that grew row by row are written as they are: made anew they would differ in the
 * last bits. No proposal is pending. */
void gp_pack(struct pack *p, struct gp *g, const struct gp_foreign *foreign);
#endif
