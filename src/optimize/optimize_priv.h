/* SPDX-License-Identifier: Apache-2.0
 * The handle of an optimisation, shared by its files. */
#ifndef OPTIMIZE_OPTIMIZE_PRIV_H
#define OPTIMIZE_OPTIMIZE_PRIV_H
#include "optimize/optimize.h"

struct optimize {
    struct gpm_optimize_options opt;
    struct bo_space space;
    struct proc_command command;
    bool has_command, foreign; /* foreign: the store brought it, and this user never gave it */
    gpm_objective *fn;
    void *fn_user;
    char *identity; /* owned */
    struct memo *memo;
    struct bo *bo;
    char *state;                     /* owned; the optimiser's state as last stored */
    VEC(struct optimize_eval) trace; /* finished rows in the order of finishing */
    size_t fed;                      /* of them told to the optimiser */
    VEC(double) pending;             /* inputs in flight, here and elsewhere */
    size_t n_pending;
    enum optimize_end end;
    char *failure; /* what the last evaluation that failed here said; owned, NULL: none did */
};

/* Reads what other workers stored; under the write lock the picture is complete. */
GPM_MUST_USE enum gpm_status optimize_refresh(struct optimize *o, struct buf *err);
GPM_MUST_USE enum gpm_status optimize_save_state(struct optimize *o, struct buf *err);
/* Appends what finished since the last time to the log. */
GPM_MUST_USE enum gpm_status optimize_write_log(struct optimize *o, struct buf *err);
/* GPM_E_DENIED: the command is not one that this user gave. */
GPM_MUST_USE enum gpm_status optimize_may_run(const struct optimize *o, struct buf *err);
size_t optimize_counted(const struct optimize *o); /* evaluations that count for the budget */
#endif
