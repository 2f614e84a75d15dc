/* SPDX-License-Identifier: Apache-2.0
 *
 * Transitions by plans; see plan.h. New values and densities stand in the form's locals and in
 * scratch until they are accepted, so a rejection has nothing to undo. Whatever the fast functions
 * cannot judge (NaN, -inf: perhaps a domain error) is left to the general way. */
#include "trace/plan.h"

#include <math.h>

struct run {
    struct plan *p;
    struct form *f;
    double *local;
};

static inline double operand(const struct run *r, int32_t ref) {
    return ref < 0 ? r->local[~ref] : number_of(&r->p->w[ref].n->val);
}

static inline void operands(const struct run *r, const int32_t *refs, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = operand(r, refs[i]);
}

static inline double evaluate(const struct run *r, const struct form_op *op) {
    double args[OP_MAX_ARGS];
    switch ((enum op_code)op->code) {
    case OP_ADD: return operand(r, op->args[0]) + operand(r, op->args[1]);
    case OP_SUB: return operand(r, op->args[0]) - operand(r, op->args[1]);
    case OP_MUL: return operand(r, op->args[0]) * operand(r, op->args[1]);
    case OP_DIV: return operand(r, op->args[0]) / operand(r, op->args[1]);
    default: break;
    }
    operands(r, op->args, op->n_args, args);
    return op->num(args, op->n_args);
}

/* The deterministic nodes; false: a NaN. */
static bool propose(const struct run *r) {
    const struct form_op *op = r->f->ops;
    for (uint32_t i = 0; i < r->f->n_det; i++, op++) {
        double v = r->local[1 + i] = evaluate(r, op);
        if (v != v) return false;
    }
    return true;
}

enum verdict { JUDGED, NOT_JUDGED, NO_DENSITY }; /* the latter: an old density must be computed */

/* Sums of old and new densities; the new ones go to the end of `next`. */
struct weight {
    double old, new, *next;
    double last_sd, log_sd; /* kept from one normal to the next, most share them */
};

static inline bool log_density(const struct run *r, const struct form_op *op, double v,
                               struct weight *w, double *out) {
    const double log_sqrt_2pi = 0.91893853320467274178;
    if (op->code != OP_NORMAL) {
        double args[OP_MAX_ARGS];
        operands(r, op->args, op->n_args, args);
        *out = op->log_density(v, args, op->n_args);
        return *out > -INFINITY; /* not NaN either */
    }
    double sd = operand(r, op->args[1]);
    if (sd != w->last_sd) {
        if (!(sd > 0)) return false;
        w->last_sd = sd;
        w->log_sd = log(sd) + log_sqrt_2pi;
    }
    double z = (v - operand(r, op->args[0])) / sd;
    *out = -0.5 * z * z - w->log_sd;
    return *out > -INFINITY;
}

static enum verdict weigh_shared(const struct run *r, const struct form_op *op, size_t n,
                                 struct weight *w) {
    for (size_t i = 0; i < n; i++, op++) {
        const struct node *at = r->p->w[op->at].n;
        double logp;
        if (!(at->flags & NODE_HAS_LOGP)) return NO_DENSITY;
        if (!log_density(r, op, number_of(&at->val), w, &logp)) return NOT_JUDGED;
        *w->next++ = logp;
        w->old += at->logp;
        w->new += logp;
    }
    return JUDGED;
}

static enum verdict weigh_own(const struct run *r, const struct form_op *op, size_t n,
                              struct weight *w) {
    const union plan_word *at = r->p->w + r->f->n_nodes;
    for (size_t i = 0; i < n; i++, op++, at += 3) {
        double logp;
        if (!log_density(r, op, at[1].x, w, &logp)) return NOT_JUDGED;
        *w->next++ = logp;
        w->old += at[2].x;
        w->new += logp;
    }
    return JUDGED;
}

static enum verdict weigh(const struct run *r, double *new_logp, struct weight *w) {
    const struct form *f = r->f;
    size_t shared = f->n_absorb - f->n_own;
    *w = (struct weight){.next = new_logp, .last_sd = NAN};
    enum verdict v = weigh_shared(r, f->ops + f->n_det, shared, w);
    if (v == JUDGED) v = weigh_own(r, f->ops + f->n_det + shared, f->n_own, w);
    return v == JUDGED && !(w->old > -INFINITY) ? NOT_JUDGED : v;
}

/* Carries a value to the nodes that only pass it on. */
void settle_copies(struct node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct node *c = n->out[i].child;
        if (copy_source(c) != n) continue;
        c->val = n->val; /* a number */
        settle_copies(c);
    }
}

static void settle_plan(struct node *principal) {
    struct plan *p = principal->plan;
    const struct form *f = p->form;
    settle_copies(principal);
    for (uint32_t i = 0; i < f->n_det; i++) settle_copies(p->w[f->ops[i].at].n);
    for (uint32_t i = 0; i < f->n_own; i++) {
        union plan_word *w = &p->w[f->n_nodes + 3 * i];
        w->n->logp = w[2].x;
    }
    p->stale = false;
}

static void settle(struct trace *t) {
    for (size_t i = 0; i < t->stale.n; i++) settle_plan(t->stale.at[i]);
    t->stale.n = 0;
}

void trace_settle(struct trace *t) {
    settle(t);
    t->epoch++;
}

/* Old densities; the old values stand. Their nodes may lie behind copies that are stale. */
static enum gpm_status refresh(struct trace *t, struct plan *p) {
    const struct form *f = p->form;
    settle(t);
    for (uint32_t i = 0; i < f->n_absorb; i++) {
        union plan_word *w = &p->w[f->ops[f->n_det + i].at];
        double logp;
        enum gpm_status st = node_logp(t, w->n, &logp);
        if (st != GPM_OK) return st;
        if (i < f->n_absorb - f->n_own) continue;
        w[1].x = number_of(&w->n->val);
        w[2].x = w->n->logp;
    }
    p->epoch = t->epoch;
    return GPM_OK;
}

static void put_results(const struct run *r) {
    const struct form_op *op = r->f->ops;
    for (uint32_t i = 0; i < r->f->n_det; i++, op++) r->p->w[op->at].n->val.u.num = r->local[1 + i];
}

void plan_evaluate(struct plan *p, struct node *principal) {
    struct run r = {p, p->form, form_locals(p->form)};
    r.local[0] = number_of(&principal->val);
    if (propose(&r)) put_results(&r);
}

static void keep(struct trace *t, const struct run *r, struct node *principal,
                 const double *new_logp, const double *args) {
    const struct form *f = r->f;
    const struct form_op *op = f->ops + f->n_det;
    if (t->journal.on && !r->p->noted) {
        r->p->noted = 1;
        vec_push(&t->journal.moved, ((struct moved){principal, number_of(&principal->val)}));
    }
    number_put(principal, r->local[0]);
    put_results(r);
    for (uint32_t i = f->n_own; i < f->n_absorb; i++, op++) r->p->w[op->at].n->logp = *new_logp++;
    for (uint32_t i = 0; i < f->n_own; i++, op++) r->p->w[op->at + 2].x = *new_logp++;
    principal->flags &= (uint16_t)~NODE_HAS_LOGP;
    if (f->cls->num_log_density) { /* wanted when the choice absorbs a neighbour's move */
        double logp = f->cls->num_log_density(number_of(&principal->val), args, f->n_args);
        if (logp > -INFINITY) {
            principal->logp = logp;
            principal->flags |= NODE_HAS_LOGP;
        }
    }
    if (f->settles && !r->p->stale) {
        r->p->stale = true;
        vec_push(&t->stale, principal);
    }
}

void trace_prefetch(const struct node *far, const struct node *middle, const struct node *near) {
    __builtin_prefetch(far);
    if (middle->plan) __builtin_prefetch(middle->plan);
    const struct plan *p = near->plan;
    for (uint32_t i = 0; p && p->form && i < p->form->n_nodes && i < 6; i++)
        __builtin_prefetch(p->w[i].n);
}

static enum gpm_status valid_plan(struct trace *t, struct node *principal, struct plan **out) {
    *out = principal->plan;
    if (*out && (*out)->structure == t->structure) return GPM_OK;
    settle(t);
    if (*out) plan_free(t, *out);
    principal->plan = NULL;
    enum gpm_status st = plan_make(t, principal, &principal->plan);
    *out = principal->plan;
    return st;
}

static double *scratch(struct trace *t, size_t n) {
    if (n > t->plan_room) {
        t->plan_room = 2 * n;
        t->plan_scratch = mem_realloc(t->plan_scratch, t->plan_room * sizeof(double));
    }
    return t->plan_scratch;
}

enum gpm_status trace_mh_by_plan(struct trace *t, struct node *principal, bool *done,
                                 bool *accepted) {
    struct plan *p;
    *done = false;
    enum gpm_status st = valid_plan(t, principal, &p);
    if (st == GPM_OK && p->form && p->epoch != t->epoch) st = refresh(t, p);
    if (st != GPM_OK || !p->form) return st;
    struct form *f = p->form;
    struct run r = {p, f, form_locals(f)};
    double args[OP_MAX_ARGS], *new_logp = scratch(t, f->n_absorb);
    operands(&r, f->args, f->n_args, args);
    r.local[0] = f->cls->num_sample(&t->rng, args, f->n_args);
    if (!(r.local[0] == r.local[0]) || !propose(&r)) return GPM_OK;
    struct weight w;
    enum verdict v = weigh(&r, new_logp, &w);
    if (v == NO_DENSITY) {
        st = refresh(t, p);
        if (st != GPM_OK) return st;
        v = weigh(&r, new_logp, &w);
    }
    if (v != JUDGED) return GPM_OK;
    *done = true;
    *accepted = w.new >= w.old || log(rng_uniform(&t->rng)) < w.new - w.old;
    if (*accepted) keep(t, &r, principal, new_logp, args);
    return GPM_OK;
}
