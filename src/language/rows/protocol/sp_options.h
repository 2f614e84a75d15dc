/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session lets its procedures do, beyond computing. A program from a stranger must not run
 * commands or write files by itself: procedures that do so ask here first.
 */
#ifndef SP_SP_OPTIONS_H
#define SP_SP_OPTIONS_H
#include "language/rows/protocol/sp.h"
#include <signal.h>

struct sp_options {
    bool allow_run;                    /* commands, shared objects */
    bool allow_write;                  /* files, stores and indexes, servers that hold them */
    unsigned jobs;                     /* parallel evaluations of source functions; at least 1 */
    double claim_seconds;              /* that others leave a point of a store to us; 0: 600 */
    size_t max_memory;                 /* bytes the process may hold; 0: no limit */
    double deadline;                   /* CLOCK_MONOTONIC seconds; 0: none */
    const volatile sig_atomic_t *stop; /* becomes non-zero on an interrupt; may be NULL */
    /* The prompt's question, NULL: no one to ask. A yes holds for this very thing, as long as the
     * session lasts. */
    bool (*confirm)(void *user, const char *question);
    void *user;
    struct buf agreed; /* what got a yes, a NUL after each */
    /* Told of every file of data or program text before it is read; NULL: nobody listens. */
    void (*file)(void *user, const char *path);
    void *file_user;
};

enum sp_permission { SP_MAY_RUN, SP_MAY_WRITE };
/* Is it allowed to do `what` ("run ./sim")? Asks when there is someone to ask. */
bool sp_permitted(struct sp_options *o, enum sp_permission p, const char *what);
/* The same for a procedure, whose row declares it (SP_WRITES, SP_RUNS): DIAG_DENIED with the flag
 * to give. */
enum gpm_status sp_need(struct sp_call *c, enum sp_permission p, const char *verb,
                        const char *object) GPM_MUST_USE;
#endif
