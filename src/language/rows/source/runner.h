/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim, run, store: the common loop for paid evaluations (gpmem's sources, the optimiser). The
 * caller chooses and claims the next point. The runner runs the programs of the claims in parallel
 * and renews their claims. An outcome is on disk before it is reported, and unfinished claims are
 * given back. */
#ifndef SOURCE_RUNNER_H
#define SOURCE_RUNNER_H
#include "base/vec.h"
#include "io/host/process.h"
#include "io/store/memo.h"

struct runner_claim {
    int64_t id;
    double *x; /* owned */
    size_t tag;
    double renewed;
};
struct runner {
    struct memo *store;
    struct proc_pool *pool;
    bool abandon, failed;          /* failed: an outcome could not be stored */
    VEC(struct runner_claim) open; /* claims whose outcome is not there yet */
};
/* store: borrowed, or NULL. Claims given back become void at once for the next process (abandon),
 * or their row is deleted. */
struct runner *runner_new(struct memo *store, int jobs, bool abandon);

/* A claim of x that the caller evaluates itself; `tag` names it, id is its row (0 without a store).
 */
void runner_hold(struct runner *r, int64_t id, const double *x, size_t tag);
/* The same, evaluated by the program. The pool must not be full. */
void runner_start(struct runner *r, const struct proc_command *c, const char *const *values,
                  int64_t id, const double *x, size_t tag);

struct outcome {
    size_t tag;
    bool ok;      /* y holds the value: the one that now counts, should another have been first */
    bool unread;  /* it ended well, but what it printed is no answer */
    bool nothing; /* interrupted, or the machine could not start it: given back, not stored */
    double y, seconds;
    struct buf why;     /* of a failure, as it is stored */
    struct buf outputs; /* all numbers as JSON, where there are several; else empty */
};
void outcome_release(struct outcome *o);
/* All numbers of an evaluation that gives several. */
void outcome_put(struct outcome *o, const struct proc_outputs *names, const double *values);
/* Stores the outcome of a held claim. A value that cannot be stored is kept (memo_keep_value). */
GPM_MUST_USE enum gpm_status runner_settle(struct runner *r, struct outcome *o, struct buf *err);
/* Waits up to `seconds` for a program to end, stores what it gave. *got: o is filled (and to be
 * released); else nothing ended, or *stop became non-zero. */
GPM_MUST_USE enum gpm_status runner_wait(struct runner *r, double seconds,
                                         const volatile sig_atomic_t *stop, bool *got,
                                         struct outcome *o, struct buf *err);
/* Renews claims that a tenth of their time has gone by; runner_wait does, too. One that cannot be
 * renewed, since the server is away, may run out: what is paid for goes on, and is stored first. */
void runner_renew(struct runner *r);
/* Kills what still runs, gives open claims back, frees r; the first failure. Where an outcome could
 * not be stored, the values of programs that have ended by then are kept, too. */
GPM_MUST_USE enum gpm_status runner_end(struct runner *r, struct buf *err);
#endif
