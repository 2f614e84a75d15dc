/* SPDX-License-Identifier: Apache-2.0
 * The handle behind gpm_gp and the frame of every call on it; shared by the gp_*api.c files. */
#ifndef API_GP_HANDLE_H
#define API_GP_HANDLE_H
#include "base/buf.h"
#include "gp/gp.h"
#include "gpmem/gp.h"

struct gpm_gp {
    struct gp *gp; /* NULL before the model is set */
    struct buf err, text;
};

struct gpm_kernel {
    struct kern *k;
    struct buf text;
};

enum gpm_status gp_call_fail(gpm_gp *g, enum gpm_status st, const char *what);
enum gpm_status gp_call_begin(gpm_gp *g); /* every call on a model begins here */
enum gpm_status gp_call_end(gpm_gp *g, enum gpm_status st);
enum gpm_status gp_call_points(gpm_gp *g, const double *x, size_t n); /* or here: all finite? */
#endif
