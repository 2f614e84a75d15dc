/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a value before the program runs: a value that stands for any of several. It goes
 * through the checks of calls like others (language/rows/protocol/sig.c), which refuse it when none
 * of those it stands for would fit. Made by front/session/check_program.c; never seen by a running
 * program.
 */
#ifndef SP_GUESS_H
#define SP_GUESS_H
#include "language/rows/protocol/sp.h"

struct guess {
    struct box box;
    unsigned tags;    /* bit t: it may have the tag t */
    const char *kind; /* with V_BOX: the class of the box; NULL: any */
    /* Where it comes from: an application of this row to these, or NULL. Of a random row: the
     * choice itself, which an observation of the value is meant for. */
    const struct sp_class *from;
    struct span at; /* of the application */
    value *args;    /* owned */
    size_t n;
};

struct guess *guess_of(value v); /* NULL: a value that is known */
value guess_any(void);
/* The result of an application of a row. Arguments that are sequences make one of numbers, too. */
value guess_result(const struct sp_class *cls, const value *args, size_t n, struct span at);
/* One or the other: what both may be. */
value guess_either(value a, value b);
bool guess_may_be(value v, unsigned tag); /* a guess that may, or a value that has it */
#endif
