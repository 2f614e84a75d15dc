/* SPDX-License-Identifier: Apache-2.0
 *
 * C functions from shared objects: `double f(double)` for one input, `double f(const double *,
 * int)` for any number. Loading runs the object's code, so the caller must check permission. */
#ifndef HOST_FOREIGN_H
#define HOST_FOREIGN_H
#include "base/buf.h"
#include <gpmem/status.h>

enum foreign_kind {
    FOREIGN_SCALAR, /* double f(double) */
    FOREIGN_VECTOR, /* double f(const double *x, int n) */
};
struct foreign {
    void *handle; /* owned */
    void *symbol;
    enum foreign_kind kind;
};

/* GPM_E_IO: the object cannot be loaded; GPM_E_NOT_FOUND: the function is missing in it. A path
 * without a slash means the current folder. */
GPM_MUST_USE enum gpm_status foreign_open(struct foreign *f, const char *path, const char *symbol,
                                          enum foreign_kind kind, struct buf *err);
double foreign_call(const struct foreign *f, const double *x, int n);
void foreign_close(struct foreign *f);
#endif
