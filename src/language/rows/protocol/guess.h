/* SPDX-License-Identifier: Apache-2.0
 *
 * Static knowledge about a value before the program runs: a value that stands for any of several.
 * Checks of calls treat it like a value (language/rows/protocol/sig.c) and refuse it only if none
 * of its possible values would fit. Made by front/session/check_program.c; a running program never
 * sees one. */
#ifndef SP_GUESS_H
#define SP_GUESS_H
#include "language/rows/protocol/sp.h"

struct guess {
    struct box box;
    unsigned tags;    /* bit t: it may have tag t */
    const char *kind; /* with V_BOX: the class of the box; NULL: any */
    /* Its origin: an application of this row to these arguments, or NULL. For a random row: the
     * choice itself, which an observation of the value concerns. */
    const struct sp_class *from;
    struct span at; /* of the application */
    value *args;    /* owned */
    size_t n;
};

struct guess *guess_of(value v); /* NULL for a known value */
value guess_any(void);
/* The result of an application of a row. If arguments are sequences, so may the result be. */
value guess_result(const struct sp_class *cls, const value *args, size_t n, struct span at);
/* Either of the two: everything that one of them may be. */
value guess_either(value a, value b);
bool guess_may_be(value v, unsigned tag); /* a guess that may, or a value that does */
#endif
