/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call of the public API begins: no error yet, and memory in reserve (base/mem.h), also
 * for the linear algebra. A handle serves one call at a time.
 */
#ifndef API_CALL_H
#define API_CALL_H
#include "base/buf.h"
#include "base/mem.h"
#include "gpmem/status.h"
#include "numeric/la/blas.h"
#include <stdatomic.h>
#include <string.h>

/* Takes the handle whose `busy` this is. NULL: it is at work for another thread, or for the call
 * whose callback this is; until the next call that is served, call_refused() says so of it in this
 * thread. */
atomic_bool *call_enter(atomic_bool *busy);
void call_leave(atomic_bool *const *entered); /* NULL in it: it was not */
bool call_refused(const atomic_bool *busy);
extern const char call_is_busy[]; /* what to say of it */

/* What each handle holds beside its own: its error, a text that it gives out, whether it is at
 * work. */
#define HANDLE                                                                                     \
    struct buf err, out;                                                                           \
    atomic_bool busy
#define HANDLE_NEW(type)                                                                           \
    __extension__({                                                                                \
        type *made = NEW(type);                                                                    \
        buf_init(&made->err);                                                                      \
        buf_init(&made->out);                                                                      \
        made;                                                                                      \
    })
static inline void handle_free(void *h, struct buf *err, struct buf *out) {
    buf_release(err);
    buf_release(out);
    mem_free(h);
}
#define HANDLE_FREE(h) handle_free((h), &(h)->err, &(h)->out)

/* The function from here to its end has the handle h for itself, or returns `otherwise`. */
#define CALL_ALONE(h, otherwise)                                                                   \
    __attribute__((cleanup(call_leave))) atomic_bool *const entered = call_enter(&(h)->busy);      \
    if (!entered) return otherwise
/* Of those that tell an error. */
#define CALL_SAYS(h)                                                                               \
    if (call_refused(&(h)->busy)) return call_is_busy;                                             \
    CALL_ALONE(h, call_is_busy)

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
/* Begins most other functions: st is the status so far. CALL_GIVES is the whole body of one. */
#define CALL_BEGIN(h, st)                                                                          \
    __attribute__((cleanup(call_leave))) atomic_bool *const entered = call_enter(&(h)->busy);      \
    enum gpm_status st = entered ? call_begin(&(h)->err) : GPM_E_BUSY
#define CALL_GIVES(h, result)                                                                      \
    CALL_BEGIN(h, began);                                                                          \
    return began ? began : (result)
#endif
