/* SPDX-License-Identifier: Apache-2.0
 *
 * Permissions of a session's procedures beyond computing. An untrusted program must not run
 * commands or write files without consent: procedures that do so ask here first. */
#ifndef SP_SP_OPTIONS_H
#define SP_SP_OPTIONS_H
#include "language/rows/protocol/sp.h"
#include <signal.h>

struct sp_options {
    bool allow_run;                    /* commands, shared objects */
    bool allow_write;                  /* files, stores and indexes, servers that hold them */
    unsigned jobs;                     /* parallel evaluations of source functions; at least 1 */
    double claim_seconds;              /* how long a claimed point of a store is ours; 0: 600 */
    size_t max_memory;                 /* bytes the process may hold; 0: no limit */
    double deadline;                   /* CLOCK_MONOTONIC seconds; 0: none */
    const volatile sig_atomic_t *stop; /* becomes non-zero on an interrupt; may be NULL */
    /* The prompt's question; NULL: no user to ask. A yes holds for this exact action during the
     * session. */
    bool (*confirm)(void *user, const char *question);
    void *user;
    struct buf agreed; /* actions with consent, each followed by a NUL */
    /* Called with every file of data or program text before it is read; or NULL. */
    void (*file)(void *user, const char *path);
    void *file_user;
};

enum sp_permission { SP_MAY_RUN, SP_MAY_WRITE };
/* Is `what` ("run ./sim") permitted? Asks the user if possible. */
bool sp_permitted(struct sp_options *o, enum sp_permission p, const char *what);
/* The same for a procedure whose row declares it (SP_WRITES, SP_RUNS): otherwise DIAG_DENIED with
 * the flag to use. */
enum gpm_status sp_need(struct sp_call *c, enum sp_permission p, const char *verb,
                        const char *object) GPM_MUST_USE;
#endif
