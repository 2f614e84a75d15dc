/* SPDX-License-Identifier: Apache-2.0
 *
 * A session whose results are kept as text, for tests through the public API.
 */
#ifndef SUPPORT_SESSION_H
#define SUPPORT_SESSION_H
#include "base/buf.h"
#include "gpmem/gpmem.h"

#include <stdlib.h>

struct kept_session {
    gpm_session *s;
    struct buf out; /* results since it was reset */
};

static inline void kept_write(void *user, int stream, const char *text, size_t len) {
    struct kept_session *k = user;
    if (stream == 1) buf_add(&k->out, text, len);
}

static inline struct kept_session *kept_session_new(uint64_t seed) {
    struct kept_session *k = calloc(1, sizeof *k);
    struct gpm_options o;
    gpm_options_init(&o);
    buf_init(&k->out);
    o.write = kept_write;
    o.user = k;
    o.seed = seed;
    k->s = gpm_session_new(&o);
    return k;
}

static inline void kept_session_free(struct kept_session *k) {
    gpm_session_free(k->s);
    buf_release(&k->out);
    free(k);
}
#endif
