/* SPDX-License-Identifier: Apache-2.0
 *
 * Principals placed by their arguments (struct placing), in a flat. At the draw the arguments are
 * known, so x replaces z there. On the way back the adjoint of x is complete at that point. */
#include "runtime/flat/form.h"

void flat_set_placing(struct flat *f, const struct placing *p) {
    f->form->placing = p;
}

/* The slot of number k of a shape; a single number serves for all k. NO_SLOT if it has none. */
static uint32_t slot_in(const uint32_t *at, uint32_t k) {
    switch ((enum shape_word)at[0]) {
    case SHAPE_NUM: return at[1];
    case SHAPE_VECTOR: return at[3] + k;
    case SHAPE_VECTOR_AT: return at[3 + k];
    case SHAPE_ARRAY: return at[3 + 2 * k] == SHAPE_NUM ? at[4 + 2 * k] : NO_SLOT;
    default: return NO_SLOT;
    }
}

/* The slot of number k of argument `arg` (1 + its number) of a draw. */
static uint32_t argument_slot(const struct flat_run *r, const struct flat_op *op, uint8_t arg,
                              uint32_t k) {
    if (op->code == FLAT_DRAW) return op->args[arg - 1];
    return slot_in(r->form->words + op_shapes(r->form, op)[arg - 1], k);
}

/* Fast case: chains of hundreds of principals with one number each, whose arguments are slots of
 * the draw. */
static inline bool is_number(const struct flat_op *op, const struct placed *of) {
    return of->n == 1 && op->code == FLAT_DRAW;
}

static inline bool read_arguments(const struct flat_run *r, const struct flat_op *op,
                                  const struct placed *of, const double *args[2]) {
    if (is_number(op, of)) {
        for (size_t i = 0; i < 2; i++)
            args[i] = of->arg[i] ? &r->v[op->args[of->arg[i] - 1]] : NULL;
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        double *to = r->form->placing->room + i * of->n;
        args[i] = of->arg[i] ? to : NULL;
        for (uint32_t k = 0; of->arg[i] && k < of->n; k++) {
            uint32_t slot = argument_slot(r, op, of->arg[i], k);
            if (slot == NO_SLOT) return false;
            to[k] = r->v[slot];
        }
    }
    return true;
}

bool place_principal(const struct flat_run *r, const struct flat_op *op) {
    const struct placing *p = r->form->placing;
    const struct placed *of = &p->of[op->node];
    const double *args[2];
    double *x = r->v + of->first;
    if (!of->n) return true;
    if (!read_arguments(r, op, of, args)) return false;
    p->place(p->ctx, op->node, args[0], args[1], x);
    for (size_t k = 0; k < of->n; k++)
        if (x[k] != x[k]) return false;
    return true;
}

bool place_drawn(const struct flat_run *r, const struct flat_op *op) {
    const struct placing *p = r->form->placing;
    const struct placed *of = &p->of[op->node];
    const double *args[2];
    if (!of->n) return true;
    if (!read_arguments(r, op, of, args)) return false;
    p->unplace(p->ctx, op->node, args[0], args[1], r->v + of->first);
    return true;
}

/* Adjoints of inputs and constants are discarded. */
bool place_back(const struct flat_run *r, const struct flat_op *op) {
    const struct placing *p = r->form->placing;
    const struct placed *of = &p->of[op->node];
    const double *args[2];
    double *adj = r->form->adj, *d = p->room + 2 * of->n;
    if (!of->n) return true;
    if (!read_arguments(r, op, of, args)) return false;
    p->pull(p->ctx, op->node, args[0], args[1], r->v + of->first, adj + of->first, d, d + of->n);
    for (size_t i = 0; is_number(op, of) && i < 2; i++)
        if (of->arg[i]) adj[op->args[of->arg[i] - 1]] += d[i];
    for (size_t i = 0; !is_number(op, of) && i < 2; i++)
        for (uint32_t k = 0; of->arg[i] && k < of->n; k++)
            adj[argument_slot(r, op, of->arg[i], k)] += d[i * of->n + k];
    return true;
}
