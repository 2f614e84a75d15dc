/* SPDX-License-Identifier: Apache-2.0
 *
 * A run kept on disk: DIR/manifest.json (version, program, seed, chains, state, the files read with
 * their hashes), DIR/program.vnts (a copy of the program), DIR/chain-N.csv (Stan CSV, a row per
 * draw that the program collects (chain_rows.h), written out in whole rows as they come, so that a
 * run killed at any moment can be read), at the end DIR/diagnostics.json (summary of every
 * quantity, complaints, what was accepted by scope and chain), and DIR/lock while a process writes:
 * a second one is refused.
 *
 * Going on after an interruption: a chain with a checkpoint (DIR/chain-N.ckpt, run_checkpoint.h)
 * goes on from it, rows that came after it are made again. Without one the program is replayed,
 * which the seed makes exact: rows that are there are compared, the others are added.
 */
#ifndef CLI_RUN_FOLDER_H
#define CLI_RUN_FOLDER_H
#include "base/buf.h"
#include "gpmem/draws.h"
#include "gpmem/gpmem.h"
#include <jansson.h>
#include <stdbool.h>

struct run_facts {
    json_int_t seed, chains, first;
    const char *program; /* path of the program when the run began */
    const char *folder;  /* where the folder was when the run began; "" where that is not known */
    const char
        *counted; /* what gave the chain its number, as SLURM_ARRAY_TASK_ID=3; NULL: the user */
    const char *state; /* running, stopped (asked to: resume goes on), finished, failed */
    const char *version;
    json_t *data;     /* what --data gave, as it was written; NULL: nothing */
    json_t *files;    /* [{"path": .., "sha256": ..}], those that it read */
    json_t *failed;   /* [{"chain": 2, "why": ..}], chains that ended with an error */
    json_t *sums;     /* of the chains' files as hexadecimal numbers, null where one is not known;
                       * NULL: it runs, or an earlier version wrote it */
    const char *lost; /* a line for every chain that is left out of the draws, and why */
};

#define RUN_SUM_FORMAT "%016llx"
/* Is the text of the file of chain i as the run wrote it, as far as is known? False: said why. */
bool run_chain_sound(const char *dir, const json_t *sums, size_t i, const struct buf *text);

/* A process writes one run. New folder, with seed, chains and first of `facts`; false: said on
 * stderr why. The folder's name is borrowed until the run is closed. */
bool run_folder_create(const char *dir, const char *program, const struct run_facts *facts);
/* Opens a run to go on with it; false: said on stderr why. facts->program is where it is now: where
 * it was, or at the same place beside a folder that was moved, or the copy. */
bool run_folder_reopen(const char *dir, struct run_facts *facts);
/* Writes the final state; gives the exit status (worse than `status` when draws did not agree). */
int run_folder_close(int status);
/* Removes the checkpoints of a finished run, which are of no use any more. */
void run_folder_forget(const char *dir, size_t chains);
/* The end of a run: diagnostics.json, where it has draws, of these and of the chains whose moves
 * (run_folder_note) are given; then the manifest, so that what says finished has all. */
bool run_write_end(const char *dir, struct run_facts *facts, bool draws, json_t *moves);

/* Makes the session of chain i, which is made with `o`, report its draws and files. */
void run_folder_attach(size_t i, struct gpm_options *o);
/* What chain i has printed so far goes into its checkpoints; borrowed. */
void run_folder_output(size_t i, const struct buf *output);
/* Where chain i stood when the run before was stopped: its session, which has run nothing yet, goes
 * on from there, and *output gets what it had printed. */
enum run_resumed {
    RUN_BEGINS, /* no checkpoint, or an unusable one (reported): starts over */
    RUN_GOES_ON,
    RUN_DONE,  /* the chain had come to its end */
    RUN_SPOILT /* as the first, and the session is not to be used */
};
enum run_resumed run_folder_resume(size_t i, gpm_session *s, struct buf *output);
/* The session of chain i: interrupted when its draws do not agree with those on disk. */
void run_folder_watch(size_t i, gpm_session *s);
/* The session of chain i has ended with `st`: what its operators did is kept, and why it failed. */
void run_folder_note(size_t i, gpm_session *s, enum gpm_status st);

/* Reading (run_read.c). */

/* The path of a file of the folder. */
struct run_path {
    char text[4200];
};
struct run_path run_path(const char *dir, const char *name);
struct run_path run_chain_path(const char *dir, size_t i);
/* The manifest, whose texts stay valid until the next call. 0 or an exit status, said why. */
int run_facts_read(const char *dir, struct run_facts *facts);
bool run_has_failed(const char *dir); /* a run is there, and ended in an error */
/* Finished, with diagnostics.json where there are draws: versions before wrote it last. */
bool run_is_whole(const char *dir, const struct run_facts *facts);
/* All chains as one table (*out is the caller's); those that were lost are left out, and
 * facts->lost says which. 0 or an exit status. The second reads the manifest, too. */
int run_draws_read(const char *dir, struct run_facts *facts, gpm_draws **out);
int run_folder_read(const char *dir, struct run_facts *facts, gpm_draws **out);
/* The same; what is not as it should be (chains that were lost, a run that goes on) is said on
 * stderr. */
void run_say_state(const struct run_facts *facts); /* that it goes on */
int run_folder_open(const char *dir, struct run_facts *facts, gpm_draws **out);
/* What its operators did, when that is kept: adds "proposals accepted: default 40%, h 71%\n" over
 * all chains, and lines about what is wrong. */
void run_folder_moves(const char *dir, struct buf *accepted, struct buf *wrong);
/* The same from what run_folder_note keeps of the chains: null for one that has not ended. */
void run_tell_moves(const json_t *chains, struct buf *accepted, struct buf *wrong);
#endif
