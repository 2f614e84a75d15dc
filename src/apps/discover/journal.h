/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a search: a file with the results of its jobs as they finish. The expensive parts
 * of a search are jobs that a step runs in parallel, each a pure function of earlier results.
 * Everything else follows from their results in a fixed order. So an interrupted search is replayed
 * cheaply from the journal and continues with the first missing job: the same bytes as without the
 * interruption.
 *
 * The file is only ever made longer: a head (what was asked for, with the data: the same head is
 * the same search), then a record for each job. What is left of a record that was being written is
 * cut off. States in it are trusted, so each record carries a code under its author's key
 * (base/own.h), and records of other users do not count. Records come in the order of the steps. A
 * step whose jobs are not those of the journal (another moment at which --max-time was over) makes
 * the rest of the journal void, unless it is a signal or a limit of this run that makes them
 * others. */
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

/* The journal in the folder, which is made if needed. It is continued if it has this head,
 * otherwise started again. Without a key of the user it is empty and not written.
 * The folder is locked until it is closed: GPM_E_BUSY. Once `finish` (may be NULL) is set, results
 * are hurried and not written. */
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
