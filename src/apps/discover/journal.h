/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a search: results of its jobs in a file, as they come. What is costly in a search
 * are jobs that a step runs beside each other, each a pure function of what was there before; all
 * the rest follows from their results in a fixed order. So a search that was ended at any moment is
 * gone through again with the results that the journal holds, which costs little, and goes on with
 * the first job that it lacks: the same bytes as if nothing had happened.
 *
 * The file is only ever made longer: a head (what was asked for, with the data: the same head is
 * the same search), then a record for each job. What is left of a record that was being written is
 * cut off. States in it are taken as they stand, so each record carries a code under the key of the
 * user who wrote it (base/own.h), and those of others are none. Records come in the order of the
 * steps. A step whose jobs are not those of the journal (another moment at which --max-time was
 * over) makes the rest of the journal void, unless it is a signal or a limit of this run that makes
 * them others.
 */
#ifndef DISCOVER_JOURNAL_H
#define DISCOVER_JOURNAL_H
#include "base/pack.h"
#include "numeric/la/parallel.h"
#include <signal.h>

#define JOURNAL_NAME "search.journal"

struct journal;

/* Jobs 0 .. n - 1 of a context. `key` names what a job is about; `pack` is its result: read, the
 * job counts as done, unless the pack fails, which must leave everything as it was. Once `late`
 * (may be NULL) is true jobs may be left out, or be others, and nothing is noted. */
struct journal_step {
    const char *name;
    la_job_fn run;
    uint64_t (*key)(void *ctx, size_t job);
    void (*pack)(struct pack *p, void *ctx, size_t job);
    bool (*late)(const void *ctx);
};

/* The journal in the folder, which is made: gone on with where it has this head, else begun anew;
 * empty and not written where the user has no key.
 * The folder is locked until it is closed: GPM_E_BUSY. Once `finish` (may be NULL) is set, results
 * are those of somebody in a hurry and not written. */
GPM_MUST_USE enum gpm_status journal_open(struct journal **out, const char *dir,
                                          const struct buf *head,
                                          const volatile sig_atomic_t *finish, struct buf *err);
void journal_close(struct journal *j); /* NULL: nothing */
/* After a search that ended with st: GPM_E_INTERRUPT where a limit came before all that the journal
 * holds was asked for. Its result knows less, and to keep it in place of the journal would lose the
 * rest. After `finish` both are kept. j NULL: st. */
GPM_MUST_USE enum gpm_status journal_gone_through(const struct journal *j, enum gpm_status st,
                                                  struct buf *err);
/* The head of the journal in the folder; false: it has none, and why where that is not all. */
bool journal_head(const char *dir, struct buf *head, struct buf *why);
bool journal_there(const char *dir); /* whatever is in it */
void journal_remove(const char *dir);
/* Runs the jobs on at most `threads` threads (numeric/la/parallel.h), but those whose results are
 * known; j NULL: all of them. */
void journal_step(struct journal *j, int threads, size_t n, const struct journal_step *s,
                  void *ctx);
#endif
