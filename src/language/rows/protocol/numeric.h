/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure procedures of numbers as straight-line code on doubles, with derivatives: what a row calls
 * thousands of times (the right-hand side of a differential equation) is compiled once and run
 * without values. runtime/core/compile.c makes the code from a procedure of the language; rows
 * reach it through the host (struct sp_host, numeric).
 *
 * Slots:   inputs | results, in order of evaluation; constants are results without operands
 *
 * An operation reads slots before its own. Both branches of a condition are computed and one is
 * selected: there are no jumps, and the way back visits the same operations.
 */
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
    NUMERIC_SELECT, /* the second operand where the first is not 0, else the third */
    NUMERIC_ROW     /* cls->num */
};

enum { NUMERIC_ARGS = 3 };

struct numeric_op {
    uint16_t code, n_args;
    /* slots; those that are not used are 0. Of more than NUMERIC_ARGS: args[0] is where they stand
     * in `extra` */
    uint32_t args[NUMERIC_ARGS];
    union {
        double x; /* NUMERIC_CONSTANT */
        const struct sp_class *cls;
    } u;
};

/* A procedure for arguments of certain shapes. Without code (`why` says the reason) it is called
 * through the host for each point, and has no derivative. */
struct numeric {
    uint32_t refs;
    size_t n_in, n_out;
    VEC(struct numeric_op) ops; /* that of slot n_in + i */
    VEC(uint32_t) extra;
    uint32_t *out;     /* slots of the results; NULL: no code */
    double *v, *adj;   /* one per slot; v holds the point last run, for numeric_back */
    char *why;         /* owned, or NULL */
    bool random;       /* it has no code because it draws */
    value proc, *like; /* the procedure, and arguments of its shapes; counted */
    size_t n_args;
};

void numeric_unref(struct numeric *f); /* NULL: nothing */

/* The numbers of a number, matrix (row by row) or sequence of such, one after another; false:
 * something else is in it. out NULL: they are counted alone. *n grows. */
bool numeric_flatten(value v, double *out, size_t *n);
/* A value of the shape of `like` with the numbers at *at, which moves on; owned. For an adjoint
 * lists are arrays. */
value numeric_shaped(value like, const double **at, bool adjoint);

/* out[n_out] at the point in[n_in]. GPM_E_USER: a procedure without code failed. */
enum gpm_status numeric_run(struct sp_call *c, struct numeric *f, const double *in,
                            double *out) GPM_MUST_USE;
/* After numeric_run at a point: din[n_in] += d[n_out] . (d out / d in). Only with code. */
void numeric_back(struct numeric *f, const double *d, double *din);
#endif
