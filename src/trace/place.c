/* SPDX-License-Identifier: Apache-2.0
 *
 * Principals that are placed by their arguments (struct placing), through a scaffold: when a
 * principal's turn comes in regen its operands stand, and when its turn comes in the gradient its
 * adjoint is complete and theirs are not yet asked for. */
#include "sp/adjoint.h"
#include "trace/scaffold.h"

void scaffold_set_placing(struct scaffold *s, const struct placing *p) {
    s->placing = p;
}

/* Both arguments into the room; NULL: none. Input 0 of a node is its procedure, so that 1 + the
 * number of an argument is its input. */
static void read_arguments(const struct placing *p, const struct node *n, const struct placed *of,
                           const double *args[2]) {
    for (size_t k = 0; k < 2; k++) {
        double *to = p->room + k * of->n;
        args[k] = of->arg[k] ? to : NULL;
        if (of->arg[k]) adj_doubles(n->in[of->arg[k]].node->val, to, of->n);
    }
}

value placed_value(const struct scaffold *s, const struct node *n, int32_t i, value v) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2];
    double *x = p->room + 2 * of->n;
    read_arguments(p, n, of, args);
    adj_doubles(v, x, of->n);
    p->place(p->ctx, (size_t)i, args[0], args[1], x);
    return adj_like(v, x);
}

void placed_drawn(const struct scaffold *s, const struct node *n, int32_t i) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2];
    double *x = p->room + 2 * of->n;
    if (adj_count(n->val) != of->n) return; /* of another length: its owner finds that out */
    read_arguments(p, n, of, args);
    adj_doubles(n->val, x, of->n);
    p->unplace(p->ctx, (size_t)i, args[0], args[1], x);
}

/* One number for all elements gets what all of them say. */
static value argument_adjoint(value arg, double *d, size_t n) {
    if (adj_count(arg) == n) return adj_like(arg, d);
    for (size_t k = 1; k < n; k++) d[0] += d[k];
    return value_num(d[0]);
}

value placed_adjoint(const struct scaffold *s, const struct node *n, int32_t i, value adj,
                     value dargs[2]) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2];
    double *numbers = NEW_ARRAY(double, 4 * of->n), *x = numbers, *d = x + of->n, *da = d + of->n,
           *db = da + of->n;
    read_arguments(p, n, of, args);
    adj_doubles(n->val, x, of->n);
    adj_doubles(adj, d, of->n);
    p->pull(p->ctx, (size_t)i, args[0], args[1], x, d, da, db);
    for (size_t k = 0; k < 2; k++)
        dargs[k] =
            of->arg[k] ? argument_adjoint(n->in[of->arg[k]].node->val, k ? db : da, of->n) : NIL;
    value out = adj_like(n->val, d);
    mem_free(numbers);
    return out;
}
