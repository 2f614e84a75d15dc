/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled transition plans. When the scaffold of one choice is static (no requests made anew, no
 * brush, no statistics) and everything in it is a number, its nodes are kept as two flat lists of
 * operations: deterministic nodes in order of evaluation and absorbing nodes. A transition then
 * costs a few nanoseconds per node: no search, no allocation, old densities from the cache. The
 * list is valid as long as the structure of the trace does not change.
 *
 * Large traces do not fit the caches, so a plan touches little: operations are records as
 * long as their operands need, and nodes that only pass a value on (tags, branches, calls) are no
 * operations. Operands point past them to where the value comes from; the copies they hold are
 * brought up to date by trace_settle, before anything but a plan reads the trace.
 *
 * Values are changed in place and put back on rejection. Whatever the fast functions cannot judge
 * (NaN, -inf: perhaps a domain error) is left to the general way. */
#include "trace/scaffold.h"

#include <math.h>
#include <string.h>

struct op {
    struct node *n;
    union {
        double (*num)(const double *args, size_t n);
        double (*log_density)(double v, const double *args, size_t n);
    };
    uint32_t code;
    uint32_t n_args;
    const value *args[]; /* point into the nodes that the operands' values come from */
};

struct plan {
    uint64_t structure;                 /* of the trace it was made for */
    const struct sp_class *cls;         /* of the principal */
    uint16_t det_stride, absorb_stride; /* bytes from one operation to the next */
    uint32_t n_det, n_absorb;
    bool usable, has_copies;
    bool stale; /* in trace->stale: copies of its values are out of date */
    uint8_t n_args;
    const value *args[]; /* of the principal; then deterministic and absorbing operations */
};

static size_t op_size(size_t n_args) {
    return sizeof(struct op) + n_args * sizeof(value *);
}

static struct op *first_op(const struct plan *p) {
    return (struct op *)(p->args + p->n_args);
}

static struct op *op_after(const struct op *op, size_t stride) {
    return (struct op *)((char *)op + stride);
}

static struct op *first_absorb(const struct plan *p) {
    return op_after(first_op(p), (size_t)p->n_det * p->det_stride);
}

static size_t plan_size(const struct plan *p) {
    return sizeof *p + p->n_args * sizeof(value *) + (size_t)p->n_det * p->det_stride +
           (size_t)p->n_absorb * p->absorb_stride;
}

void plan_free(struct trace *t, struct plan *p) {
    pool_free(&t->pool, p, plan_size(p));
}

/* Operands of an application: where their values come from. */
static bool set_args(const value **args, const struct node *n) {
    for (uint32_t i = 1; i < n->n_in; i++) {
        const struct node *source = chase(n->in[i].node);
        if (!number_is(source->val)) return false;
        args[i - 1] = &source->val;
    }
    return true;
}

enum op_code op_code_of(const struct sp_class *cls, size_t n_args) {
    static const struct {
        const char *name;
        enum op_code code;
    } known[] = {
        {"add", OP_ADD}, {"sub", OP_SUB}, {"mul", OP_MUL}, {"div", OP_DIV}, {"normal", OP_NORMAL}};
    for (size_t i = 0; n_args == 2 && i < COUNT_OF(known); i++)
        if (!strcmp(cls->name, known[i].name)) return known[i].code;
    return OP_CALL;
}

static bool compile_det(struct op *op, struct node *n) {
    const struct sp_class *cls = proc_class(n->in[0].node->val, NULL);
    op->n = n;
    op->n_args = n->n_in - 1;
    if (!cls || !cls->num || n->val.tag != V_NUM || node_is_stateful(n)) return false;
    op->num = cls->num;
    op->code = op_code_of(cls, op->n_args);
    return set_args(op->args, n);
}

static bool compile_absorb(struct op *op, struct node *n) {
    const struct sp_class *cls = node_class(n);
    op->n = n;
    op->n_args = n->n_in - 1;
    if (!cls || !cls->num_log_density || cls->incorporate || !number_is(n->val)) return false;
    op->log_density = cls->num_log_density;
    op->code = op_code_of(cls, op->n_args);
    return set_args(op->args, n);
}

/* A tag whose scope or block changes must be registered anew. */
static bool tag_is_static(struct scaffold *s, struct node *n) {
    for (uint32_t i = 0; n->kind == NODE_TAG && i + 1 < n->n_in; i++)
        if (entry_of(s, n->in[i].node)) return false;
    return true;
}

static bool entry_is_static(struct scaffold *s, const struct entry *e) {
    if (e->role == ROLE_M) return false;
    if (e->principal >= 0) return true;
    bool is_copy = e->role == ROLE_D && copy_source(e->n);
    if (e->role == ROLE_D &&
        (e->requests || e->op_changed || (e->n->flags & (NODE_OBS_ROOT | NODE_RANDOM)) ||
         !tag_is_static(s, e->n)))
        return false;
    if (is_copy) return number_is(e->n->val) && !node_is_stateful(e->n);
    return e->n->kind == NODE_APP && e->n->n_in >= 1 && e->n->n_in <= OP_MAX_ARGS + 1;
}

bool scaffold_is_static(struct scaffold *s) {
    if (s->has_brush || s->order.n != s->e.n) return false;
    for (size_t i = 0; i < s->e.n; i++)
        if (!entry_is_static(s, &s->e.at[i])) return false;
    return true;
}

static bool compile_role(struct scaffold *s, int role, struct op *at, size_t stride) {
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->principal >= 0 || (int)e->role != role) continue;
        if (role == ROLE_D && copy_source(e->n)) continue;
        if (!(role == ROLE_D ? compile_det(at, e->n) : compile_absorb(at, e->n))) return false;
        at = op_after(at, stride);
    }
    return true;
}

struct census {
    size_t det_stride, absorb_stride; /* of the largest one */
    uint32_t n_det, n_absorb, n_copies;
};

static struct census take_census(const struct scaffold *s) {
    struct census c = {0};
    for (size_t i = 0; i < s->e.n; i++) {
        const struct entry *e = &s->e.at[i];
        if (e->principal >= 0) continue;
        if (e->role == ROLE_D && copy_source(e->n)) {
            c.n_copies++;
            continue;
        }
        size_t *stride = e->role == ROLE_D ? &c.det_stride : &c.absorb_stride;
        *(e->role == ROLE_D ? &c.n_det : &c.n_absorb) += 1;
        *stride = op_size(e->n->n_in - 1) > *stride ? op_size(e->n->n_in - 1) : *stride;
    }
    return c;
}

static struct plan *plan_new(struct trace *t, const struct node *principal,
                             const struct census *c) {
    struct plan shape = {.n_args = (uint8_t)(principal->n_in - 1),
                         .n_det = c->n_det,
                         .n_absorb = c->n_absorb,
                         .det_stride = (uint16_t)c->det_stride,
                         .absorb_stride = (uint16_t)c->absorb_stride};
    struct plan *p = pool_zalloc(&t->pool, plan_size(&shape));
    *p = shape;
    p->has_copies = c->n_copies > 0;
    p->structure = t->structure;
    return p;
}

static enum gpm_status compile(struct trace *t, struct node *principal, struct plan **out) {
    struct scaffold *s;
    enum gpm_status st = scaffold_build(t, &principal, 1, &s);
    if (st != GPM_OK) return st;
    const struct sp_class *cls = node_class(principal);
    struct census c = {0};
    bool ok = cls->num_sample && !cls->incorporate && number_is(principal->val) &&
              principal->n_in <= OP_MAX_ARGS + 1 && !(principal->flags & NODE_OBS_ROOT) &&
              scaffold_is_static(s);
    if (ok) c = take_census(s);
    struct plan *p = plan_new(t, principal, &c);
    p->cls = cls;
    p->usable = ok && set_args(p->args, principal) &&
                compile_role(s, ROLE_D, first_op(p), p->det_stride) &&
                compile_role(s, ROLE_A, first_absorb(p), p->absorb_stride);
    scaffold_end(s);
    scaffold_free(s);
    *out = p;
    return GPM_OK;
}

static double evaluate(const struct op *op) {
    double args[OP_MAX_ARGS];
    switch ((enum op_code)op->code) {
    case OP_ADD: return number_of(op->args[0]) + number_of(op->args[1]);
    case OP_SUB: return number_of(op->args[0]) - number_of(op->args[1]);
    case OP_MUL: return number_of(op->args[0]) * number_of(op->args[1]);
    case OP_DIV: return number_of(op->args[0]) / number_of(op->args[1]);
    default: break;
    }
    for (size_t i = 0; i < op->n_args; i++) args[i] = number_of(op->args[i]);
    return op->num(args, op->n_args);
}

/* What a transition remembers: old values of the deterministic nodes, new densities of the
 * absorbing ones. */
struct undo {
    double *old_det, *new_logp;
};

static struct undo undo_room(struct trace *t, const struct plan *p) {
    size_t n = (size_t)p->n_det + p->n_absorb;
    if (n >= t->plan_room) { /* also for none: no offset from a null pointer */
        t->plan_room = 2 * n + 1;
        t->plan_scratch = mem_realloc(t->plan_scratch, t->plan_room * sizeof(double));
    }
    return (struct undo){t->plan_scratch, t->plan_scratch + p->n_det};
}

/* Absorbing densities under the new values; false: the general way must judge. sd and its logarithm
 * are kept from one normal to the next, most share them. */
static bool weigh(const struct plan *p, double *new_logp, double *w_old, double *w_new) {
    const struct op *op = first_absorb(p);
    double last_sd = NAN, log_sd = 0, args[OP_MAX_ARGS];
    const double log_sqrt_2pi = 0.91893853320467274178;
    *w_old = *w_new = 0;
    for (uint32_t i = 0; i < p->n_absorb; i++, op = op_after(op, p->absorb_stride)) {
        double logp, v = number_of(&op->n->val);
        if (op->code == OP_NORMAL) {
            double sd = number_of(op->args[1]), z;
            if (sd != last_sd) {
                if (!(sd > 0)) return false;
                last_sd = sd;
                log_sd = log(sd) + log_sqrt_2pi;
            }
            z = (v - number_of(op->args[0])) / sd;
            logp = -0.5 * z * z - log_sd;
        } else {
            for (size_t k = 0; k < op->n_args; k++) args[k] = number_of(op->args[k]);
            logp = op->log_density(v, args, op->n_args);
        }
        if (!(logp > -INFINITY)) return false; /* NaN too */
        new_logp[i] = logp;
        *w_old += op->n->logp;
        *w_new += logp;
    }
    return true;
}

/* Computes the deterministic nodes; false after a NaN, with the nodes as they were. */
static bool propose(struct plan *p, double *old_det) {
    struct op *op = first_op(p);
    for (uint32_t i = 0; i < p->n_det; i++, op = op_after(op, p->det_stride)) {
        old_det[i] = number_of(&op->n->val);
        double v = evaluate(op);
        number_put(op->n, v);
        if (v != v) {
            op = first_op(p);
            for (uint32_t j = 0; j <= i; j++, op = op_after(op, p->det_stride))
                number_put(op->n, old_det[j]);
            return false;
        }
    }
    return true;
}

static void take_back(struct plan *p, struct node *principal, double old, const double *old_det) {
    struct op *op = first_op(p);
    for (uint32_t i = 0; i < p->n_det; i++, op = op_after(op, p->det_stride))
        number_put(op->n, old_det[i]);
    number_put(principal, old);
}

/* Old densities, while the old values stand. Their nodes may lie behind copies that are stale. */
static enum gpm_status refresh(struct trace *t, struct plan *p) {
    struct op *op = first_absorb(p);
    double logp;
    for (uint32_t i = 0; i < p->n_absorb; i++, op = op_after(op, p->absorb_stride)) {
        if (op->n->flags & NODE_HAS_LOGP) continue;
        trace_settle(t);
        enum gpm_status st = node_logp(t, op->n, &logp);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

static void keep(struct trace *t, struct plan *p, struct node *principal, const double *new_logp,
                 const double *args) {
    struct op *absorb = first_absorb(p);
    for (uint32_t i = 0; i < p->n_absorb; i++, absorb = op_after(absorb, p->absorb_stride))
        absorb->n->logp = new_logp[i];
    principal->flags &= (uint16_t)~NODE_HAS_LOGP;
    if (p->cls->num_log_density) { /* wanted when the choice absorbs a neighbour's move */
        double logp = p->cls->num_log_density(number_of(&principal->val), args, p->n_args);
        if (logp > -INFINITY) {
            principal->logp = logp;
            principal->flags |= NODE_HAS_LOGP;
        }
    }
    if (p->has_copies && !p->stale) {
        p->stale = true;
        vec_push(&t->stale, principal);
    }
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

void trace_settle(struct trace *t) {
    for (size_t i = 0; i < t->stale.n; i++) {
        struct plan *p = t->stale.at[i]->plan;
        struct op *op = first_op(p);
        settle_copies(t->stale.at[i]);
        for (uint32_t k = 0; k < p->n_det; k++, op = op_after(op, p->det_stride))
            settle_copies(op->n);
        p->stale = false;
    }
    t->stale.n = 0;
}

static void prefetch_operands(const struct plan *p) {
    const struct op *op = first_op(p);
    for (uint32_t i = 0; i < p->n_args; i++) __builtin_prefetch(p->args[i]);
    for (uint32_t i = 0; p->usable && i < p->n_det && i < 4; i++, op = op_after(op, p->det_stride))
        __builtin_prefetch(op->n);
    op = first_absorb(p);
    for (uint32_t i = 0; p->usable && i < p->n_absorb && i < 4; i++) {
        __builtin_prefetch(op->n);
        __builtin_prefetch(&op->n->logp);
        op = op_after(op, p->absorb_stride);
    }
}

void trace_prefetch(const struct node *far, const struct node *middle, const struct node *near) {
    __builtin_prefetch(far);
    __builtin_prefetch(&far->plan);
    const char *plan = (const char *)middle->plan;
    for (size_t i = 0; plan && i < 128; i += 64) __builtin_prefetch(plan + i);
    if (near->plan) prefetch_operands(near->plan);
}

static enum gpm_status valid_plan(struct trace *t, struct node *principal, struct plan **out) {
    *out = principal->plan;
    if (*out && (*out)->structure == t->structure) return GPM_OK;
    trace_settle(t);
    if (*out) plan_free(t, *out);
    principal->plan = NULL;
    enum gpm_status st = compile(t, principal, &principal->plan);
    *out = principal->plan;
    return st;
}

enum gpm_status plan_mh(struct trace *t, struct node *principal, bool *done, bool *accepted) {
    struct plan *p;
    *done = false;
    enum gpm_status st = valid_plan(t, principal, &p);
    if (st == GPM_OK && p->usable) st = refresh(t, p);
    if (st != GPM_OK || !p->usable) return st;
    double args[OP_MAX_ARGS], old = number_of(&principal->val), w_old, w_new;
    struct undo u = undo_room(t, p);
    for (size_t i = 0; i < p->n_args; i++) args[i] = number_of(p->args[i]);
    double x = p->cls->num_sample(&t->rng, args, p->n_args);
    if (x != x) return GPM_OK;
    number_put(principal, x);
    if (!propose(p, u.old_det)) {
        number_put(principal, old);
        return GPM_OK;
    }
    if (!weigh(p, u.new_logp, &w_old, &w_new) || !(w_old > -INFINITY)) {
        take_back(p, principal, old, u.old_det);
        return GPM_OK;
    }
    *done = true;
    *accepted = w_new >= w_old || log(rng_uniform(&t->rng)) < w_new - w_old;
    if (*accepted)
        keep(t, p, principal, u.new_logp, args);
    else
        take_back(p, principal, old, u.old_det);
    return GPM_OK;
}
