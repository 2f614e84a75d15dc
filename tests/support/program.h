/* SPDX-License-Identifier: Apache-2.0
 *
 * A session in which a program was run, for tests that look at its inside.
 */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H
#include "front/session/session.h"
#include "support/check.h"
#include <stdlib.h>
#include <string.h>

/* A program that fails fails the test. */
static inline struct session *session_with(const char *program, uint64_t seed) {
    struct session *s = calloc(1, sizeof *s);
    assert_int_equal(session_init(s, seed, 0), GPM_OK);
    if (session_run(s, "test", program, strlen(program)) != GPM_OK) {
        struct buf b = BUF_INIT;
        diags_render(&s->diags, false, &b);
        fail_msg("%s\n%s", program, b.data);
    }
    return s;
}

static inline void session_done(struct session *s) {
    session_release(s);
    free(s);
}
#endif
