/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled transition plans. */
#include "trace/scaffold.h"

void plan_free(struct plan *p) {
    mem_free(p);
}

enum gpm_status plan_mh(struct trace *t, struct node *principal, bool *done, bool *accepted) {
    UNUSED(t);
    UNUSED(principal);
    UNUSED(accepted);
    *done = false;
    return GPM_OK;
}
