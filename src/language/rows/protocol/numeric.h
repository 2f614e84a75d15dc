/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure procedures of numbers as straight-line code on doubles, with derivatives. A procedure that a
 * row calls thousands of times (the right-hand side of a differential equation) is compiled once
 * and runs without values. runtime/core/compile.c makes the code from a procedure of the language.
 * Rows reach it through the host (struct sp_host, numeric).
 *
 * Slots: inputs | results, in order of evaluation; constants are results without operands
 *
 * An operation reads only slots before its own. Both branches of a condition are computed and one
 * is selected, so there are no jumps, and the backward pass visits the same operations. */
#ifndef SP_NUMERIC_H
#define SP_NUMERIC_H
#include "base/vec.h"
#include "language/rows/protocol/sp.h"

enum numeric_op_code {
    NUMERIC_CONSTANT,
    NUMERIC_ADD,
    NUMERIC_SUB,
    NUMERIC_MUL,
    NUMERIC_DIV,
    NUMERIC_SELECT, /* the second operand if the first is not 0, else the third */
    NUMERIC_ROW     /* cls->num */
};

enum { NUMERIC_ARGS = 3 };

struct numeric_op {
    uint16_t code, n_args;
    /* Slots; unused ones are 0. With more than NUMERIC_ARGS operands args[0] is the start of their
     * list in `extra`. */
    uint32_t args[NUMERIC_ARGS];
    union {
        double x; /* NUMERIC_CONSTANT */
        const struct sp_class *cls;
    } u;
};

/* A procedure compiled for arguments of certain shapes. Without code (reason in `why`) it is called
 * through the host for each point and has no derivative. */
struct numeric {
    uint32_t refs;
    size_t n_in, n_out;
    VEC(struct numeric_op) ops; /* element i writes slot n_in + i */
    VEC(uint32_t) extra;
    uint32_t *out;     /* slots of the results; NULL: no code */
    double *v, *adj;   /* one per slot; v holds the last point run, for numeric_back */
    char *why;         /* owned, or NULL */
    bool random;       /* no code because it draws */
    value proc, *like; /* the procedure, and arguments of these shapes; counted */
    size_t n_args;
};

void numeric_unref(struct numeric *f); /* f may be NULL */

/* The numbers of a number, matrix (row by row) or nested sequence, one after another; adds their
 * count to *n. out NULL: only counts. False: something else occurs. */
bool numeric_flatten(value v, double *out, size_t *n);
/* A value shaped like `like` with the numbers at *at, which advances; owned. In an adjoint lists
 * become arrays. */
value numeric_shaped(value like, const double **at, bool adjoint);

/* out[n_out] at the point in[n_in]. GPM_E_USER: a procedure without code failed. */
enum gpm_status numeric_run(struct sp_call *c, struct numeric *f, const double *in,
                            double *out) GPM_MUST_USE;
/* After numeric_run at a point: din[n_in] += d[n_out] . (d out / d in). Only with code. */
void numeric_back(struct numeric *f, const double *d, double *din);
#endif
