/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call of the public API begins: no error yet, and memory in reserve (base/mem.h), also
 * for the linear algebra.
 */
#ifndef API_CALL_H
#define API_CALL_H
#include "base/buf.h"
#include "base/mem.h"
#include "gpmem/status.h"
#include "la/blas.h"

static inline bool call_room(void) {
    if (!mem_reserve() || !la_enter(1)) return false;
    la_leave(1);
    return true;
}

static inline enum gpm_status call_begin(struct buf *err) {
    buf_reset(err);
    if (call_room()) return GPM_OK;
    buf_puts(err, gpm_status_text(GPM_E_NOMEM));
    return GPM_E_NOMEM;
}
#endif
