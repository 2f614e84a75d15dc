/* SPDX-License-Identifier: Apache-2.0
 *
 * Principals placed by their arguments (struct placing), in a scaffold. In regen, a principal's
 * operands are complete when its turn comes. In the gradient, its adjoint is complete at its turn,
 * while those of its operands are not yet needed. */
#include "language/rows/protocol/adjoint.h"
#include "runtime/trace/scaffold.h"

#include <math.h>

void scaffold_set_placing(struct scaffold *s, const struct placing *p) {
    s->placing = p;
}

bool node_is_predicted(struct trace *t, struct node *n, double **slopes) {
    const struct sp_class *cls = node_class(n);
    size_t d = cls && cls->predict && n->val.tag == V_NUM ? adj_count(n->in[1].node->val) : 0;
    if (!d) return false;
    struct node_call k;
    double at[2];
    *slopes = NEW_ARRAY(double, 2 * d);
    call_begin(t, n, &k);
    enum gpm_status st = cls->predict(&k.c, at, *slopes, *slopes + d);
    if (call_end(t, n, &k, st == GPM_E_LIMIT ? GPM_OK : st) == GPM_OK && st == GPM_OK) return true;
    mem_free(*slopes);
    *slopes = NULL;
    return false;
}

/* Reads both arguments into the room; NULL if unused. A node's input 0 is its procedure, so of->arg
 * (1 + the argument's number) is an input. For a placed prediction they are its mean and standard
 * deviation. */
static enum gpm_status read_arguments(const struct scaffold *s, struct node *n,
                                      const struct placed *of, const double *args[2]) {
    const struct placing *p = s->placing;
    if (of->slopes) {
        struct node_call k;
        size_t d = adj_count(n->in[1].node->val);
        args[0] = p->room;
        args[1] = p->room + 1;
        call_begin(s->t, n, &k);
        enum gpm_status st = k.c.cls->predict(&k.c, p->room, of->slopes, of->slopes + d);
        return call_end(s->t, n, &k, st);
    }
    for (size_t k = 0; k < 2; k++) {
        double *to = p->room + k * of->n;
        args[k] = of->arg[k] ? to : NULL;
        if (of->arg[k]) adj_doubles(n->in[of->arg[k]].node->val, to, of->n);
    }
    return GPM_OK;
}

enum gpm_status placed_value(const struct scaffold *s, struct node *n, int32_t i, value v,
                             value *out) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2];
    double *x = p->room + 2 * of->n;
    enum gpm_status st = read_arguments(s, n, of, args);
    if (st != GPM_OK) return st;
    adj_doubles(v, x, of->n);
    p->place(p->ctx, (size_t)i, args[0], args[1], x);
    *out = adj_like(v, x);
    return GPM_OK;
}

static enum gpm_status show(const struct scaffold *s, struct node *n, int32_t i, double *z) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2];
    double *x = p->room + 2 * of->n;
    enum gpm_status st = read_arguments(s, n, of, args);
    if (st != GPM_OK) return st;
    adj_doubles(n->val, x, of->n);
    *z = of->slopes ? (*x - *args[0]) / *args[1] : 0;
    p->unplace(p->ctx, (size_t)i, args[0], args[1], x);
    return GPM_OK;
}

enum gpm_status placed_drawn(const struct scaffold *s, struct node *n, int32_t i) {
    double z;
    if (adj_count(n->val) != s->placing->of[i].n) /* of another length; its owner notices that */
        return GPM_OK;
    if (!is_predicted(s, i)) return show(s, n, i, &z);
    enum gpm_status st = node_unincorporate(s->t, n);
    if (st == GPM_OK) st = show(s, n, i, &z);
    return st == GPM_OK ? node_incorporate(s->t, n) : st;
}

enum gpm_status placed_standing_out(const struct scaffold *s, struct node *n, int32_t i,
                                    double *logp) {
    double z = 0;
    enum gpm_status st = show(s, n, i, &z);
    *logp = placed_log_density(value_num(z));
    return st;
}

double placed_log_density(value z) {
    return -0.5 * z.u.num * z.u.num - 0.5 * log(2 * M_PI);
}

/* A single number used for all elements gets the sum of their adjoints. */
static value argument_adjoint(value arg, double *d, size_t n) {
    if (adj_count(arg) == n) return adj_like(arg, d);
    for (size_t k = 1; k < n; k++) d[0] += d[k];
    return value_num(d[0]);
}

static value predicted_adjoint(const struct placed *of, value arg, double da, double db) {
    size_t d = adj_count(arg);
    double *out = NEW_ARRAY(double, d);
    for (size_t k = 0; k < d; k++) out[k] = da * of->slopes[k] + db * of->slopes[d + k];
    value v = adj_like(arg, out);
    mem_free(out);
    return v;
}

/* Slopes of a prediction are those at the time the value was placed. */
value placed_adjoint(const struct scaffold *s, struct node *n, int32_t i, value adj,
                     value dargs[2]) {
    const struct placing *p = s->placing;
    const struct placed *of = &p->of[i];
    const double *args[2] = {NULL, NULL};
    double *numbers = NEW_ARRAY(double, 4 * of->n), *x = numbers, *d = x + of->n, *da = d + of->n,
           *db = da + of->n;
    enum gpm_status st = of->slopes ? GPM_OK : read_arguments(s, n, of, args);
    (void)st; /* the arguments exist */
    adj_doubles(n->val, x, of->n);
    adj_doubles(adj, d, of->n);
    p->pull(p->ctx, (size_t)i, args[0], args[1], x, d, da, db);
    for (size_t k = 0; k < 2; k++) {
        value arg = of->arg[k] ? n->in[of->arg[k]].node->val : NIL;
        dargs[k] = !of->arg[k]  ? NIL
                   : of->slopes ? predicted_adjoint(of, arg, *da, *db)
                                : argument_adjoint(arg, k ? db : da, of->n);
    }
    value out = adj_like(n->val, d);
    mem_free(numbers);
    return out;
}
