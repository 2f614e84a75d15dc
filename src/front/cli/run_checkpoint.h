/* SPDX-License-Identifier: Apache-2.0
 *
 * DIR/chain-N.ckpt: where a chain of a run stands (gpm_options.checkpoint), with what the folder
 * and the terminal had got from it by then. Written beside and renamed, and sealed (base/pack.h):
 * it is whole and this user's, or it is not used. Gone when the run is finished.
 */
#ifndef CLI_RUN_CHECKPOINT_H
#define CLI_RUN_CHECKPOINT_H
#include "base/buf.h"
#include "base/sum.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chain_stand {
    char *of;        /* whose it is: a hash of program, data on the command line, seed, chain */
    bool done;       /* the chain has come to its end: nothing is left to run */
    uint64_t length; /* bytes of draws that belong to it */
    uint64_t sum;    /* their checksum */
    uint64_t whole, whole_sum; /* of the table that the draws become at the end (chain_rows.h),
                                  which may have replaced them; 0: they stay as they are */
    struct buf names;          /* of the columns, each with its NUL */
    uint64_t before;           /* rows that came before the first of them */
    struct buf output;         /* what the program printed (cmd_run.c) */
    struct buf state;          /* of the session; empty when it is done */
    char *moves;               /* JSON of what its operators did, when it is done; or NULL */
};
void chain_stand_release(struct chain_stand *c);
bool chain_stand_write(const char *path, struct chain_stand *c); /* false: said why */
/* False: there is no checkpoint, or `why` tells why it cannot be used. */
bool chain_stand_read(const char *path, struct chain_stand *c, struct buf *why);
/* The checksum of the first `length` bytes of a file; false: it is shorter. */
bool draws_sum(int fd, uint64_t length, struct sum *sum);
#endif
