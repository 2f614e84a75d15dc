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
#include <string.h>

static inline enum gpm_status call_begin(struct buf *err) {
    buf_reset(err);
    if (mem_reserve() && la_enter(1)) {
        la_leave(1);
        return GPM_OK;
    }
    buf_puts(err, gpm_status_text(GPM_E_NOMEM));
    return GPM_E_NOMEM;
}

/* Options begin with the size of the struct that the caller was compiled with. What is shorter than
 * the library's own lacks the newest members, what is longer has members unknown here.
 * options_give: the defaults to a caller; options_take: over defaults, what a caller knew (NULL:
 * nothing). */
static inline void options_give(void *to, size_t size, const void *defaults, size_t own) {
    memset(to, 0, size);
    memcpy(to, defaults, size < own ? size : own);
    memcpy(to, &size, sizeof size);
}
static inline void options_take(void *over_defaults, size_t own, const void *from) {
    size_t size;
    if (!from) return;
    memcpy(&size, from, sizeof size);
    memcpy(over_defaults, from, size < own ? size : own);
}
#endif
