/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled transition plans (plan_make.c makes them, plan.c runs them). When the scaffold of one
 * choice is static (no requests made anew, no brush, no statistics) and everything in it is a
 * number, its nodes are kept as a list of operations: deterministic nodes in order of evaluation,
 * then absorbing ones. A transition costs a few nanoseconds per node: no search, no allocation, old
 * densities from the cache. The list is valid as long as the structure of the trace does not
 * change.
 *
 * Large traces do not fit the caches, so a plan touches little:
 * - What plans of many choices have in common, the operations and their constants, is one form,
 *   shared by them; a plan holds the nodes that the operations refer to, and no more.
 * - Nodes that only pass a value on (tags, branches, calls) are no operations. Operands refer past
 *   them to where the value comes from.
 * - Observations that depend on no other choice are not touched: the plan holds their value and
 *   density ("own").
 * The copies that passing nodes hold and the densities of owned ones are brought up to date by
 * trace_settle, before anything but a plan reads the trace.
 */
#ifndef TRACE_PLAN_H
#define TRACE_PLAN_H
#include "trace/node.h"

/* What operands refer to: a node of the plan (ref >= 0), or ~ref in the form's locals: the
 * principal's value, results of the deterministic operations, constants. */
enum { REF_PRINCIPAL = ~0 };

struct form_op {
    union {
        double (*num)(const double *args, size_t n);
        double (*log_density)(double v, const double *args, size_t n);
    };
    uint16_t code, n_args;
    int32_t at; /* of its node among the plan's words; owned: its value and density follow */
    int32_t args[OP_MAX_ARGS];
};

struct form {
    struct form *next; /* another one of the same hash */
    uint64_t hash;
    uint32_t refs; /* plans */
    /* from here on: what makes two forms equal, but for values and results among the locals */
    uint32_t n_det, n_absorb, n_nodes, n_own, n_constants;
    uint32_t n_args;
    uint32_t settles; /* transitions leave something for trace_settle */
    const struct sp_class *cls;
    int32_t args[OP_MAX_ARGS]; /* of the principal */
    struct form_op ops[];      /* deterministic, absorbing, owned ones last; then the locals */
};

union plan_word {
    struct node *n;
    double x;
};

struct plan {
    uint64_t structure; /* of the trace it was made for */
    uint64_t epoch : 62;
    uint64_t stale : 1;  /* in trace->stale */
    uint64_t noted : 1;  /* the principal is in trace->journal */
    struct form *form;   /* NULL: the general way must be taken */
    union plan_word w[]; /* n_nodes nodes, then node, value and density of each owned one */
};

static inline double *form_locals(struct form *f) {
    return (double *)(f->ops + f->n_det + f->n_absorb);
}

/* Computes the deterministic nodes from the values that stand. */
void plan_evaluate(struct plan *p, struct node *principal);
/* *out is owned by the caller; without a form where the scaffold does not allow one. */
enum gpm_status plan_make(struct trace *t, struct node *principal, struct plan **out) GPM_MUST_USE;
#endif
