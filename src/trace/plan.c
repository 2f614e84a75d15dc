/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled transition plans. When the scaffold of one choice is static (no requests made anew, no
 * brush, no statistics) and everything in it is a number, its nodes are kept as two flat lists of
 * operations: deterministic nodes in order of evaluation and absorbing nodes. A transition then
 * costs a few nanoseconds per node: no search, no allocation, old densities from the cache. The
 * list is valid as long as the structure of the trace does not change.
 *
 * Values are changed in place and put back on rejection. Whatever the fast functions cannot judge
 * (NaN, -inf: perhaps a domain error) is left to the general way. */
#include "trace/scaffold.h"

#include <math.h>
#include <string.h>

enum { MAX_ARGS = 3 };
enum code { CODE_NUM, CODE_ADD, CODE_SUB, CODE_MUL, CODE_DIV, CODE_COPY };

struct op {
    struct node *n;
    union {
        double (*num)(const double *args, size_t n);
        double (*log_density)(double v, const double *args, size_t n);
    };
    const value *args[MAX_ARGS]; /* point into the parents */
    uint8_t code;
    uint8_t n_args;
    bool is_normal;
};

struct plan {
    uint64_t structure; /* of the trace it was made for */
    bool usable;
    uint32_t n_det, n_absorb;
    const struct sp_class *cls; /* of the principal */
    double *old_det, *new_logp; /* scratch, behind the operations */
    struct op ops[];            /* deterministic, then absorbing */
};

static size_t plan_size(uint32_t n) {
    return sizeof(struct plan) + n * (sizeof(struct op) + sizeof(double));
}

void plan_free(struct trace *t, struct plan *p) {
    pool_free(&t->pool, p, plan_size(p->n_det + p->n_absorb));
}

static bool is_number(value v) {
    return v.tag == V_NUM || v.tag == V_BOOL;
}

static double number(const value *v) {
    return v->tag == V_BOOL ? (double)v->u.boolean : v->u.num;
}

static bool set_args(struct op *op, struct node *n) {
    if (n->n_in < 1 || n->n_in > COUNT_OF(op->args) + 1) return false;
    op->n_args = (uint8_t)(n->n_in - 1);
    for (uint32_t i = 1; i < n->n_in; i++) {
        if (!is_number(n->in[i].node->val)) return false;
        op->args[i - 1] = &n->in[i].node->val;
    }
    return true;
}

static enum code code_of(const struct sp_class *cls, size_t n_args) {
    static const struct {
        const char *name;
        enum code code;
    } known[] = {{"add", CODE_ADD}, {"sub", CODE_SUB}, {"mul", CODE_MUL}, {"div", CODE_DIV}};
    for (size_t i = 0; n_args == 2 && i < COUNT_OF(known); i++)
        if (!strcmp(cls->name, known[i].name)) return known[i].code;
    return CODE_NUM;
}

static bool compile_copy(struct op *op, struct node *n, struct node *source) {
    op->code = CODE_COPY;
    op->n_args = 1;
    op->args[0] = &source->val;
    return is_number(n->val);
}

static bool compile_det(struct op *op, const struct entry *e) {
    struct node *n = e->n;
    op->n = n;
    if (e->requests || e->op_changed || (n->flags & (NODE_OBS_ROOT | NODE_RANDOM))) return false;
    if (n->kind == NODE_TAG) return compile_copy(op, n, n->in[n->n_in - 1].node);
    if (n->kind == NODE_IF) return compile_copy(op, n, n->req->fam[0]->root);
    if (n->kind == NODE_COMPONENT)
        return n->req->n_xin == 1 && compile_copy(op, n, n->req->xin[0].node);
    value f = n->in[0].node->val;
    if (closure_of(f) || memo_of(f)) return compile_copy(op, n, n->req->fam[0]->root);
    const struct sp_class *cls = proc_class(f, NULL);
    if (!cls || !cls->num || n->val.tag != V_NUM || node_is_stateful(n)) return false;
    op->num = cls->num;
    op->code = (uint8_t)code_of(cls, n->n_in - 1);
    return set_args(op, n);
}

/* A tag whose scope or block changes must be registered anew. */
static bool tag_is_static(struct scaffold *s, struct node *n) {
    for (uint32_t i = 0; n->kind == NODE_TAG && i + 1 < n->n_in; i++)
        if (entry_of(s, n->in[i].node)) return false;
    return true;
}

static bool compile_absorb(struct op *op, struct node *n) {
    const struct sp_class *cls = node_class(n);
    op->n = n;
    if (!cls || !cls->num_log_density || cls->incorporate || !is_number(n->val)) return false;
    op->log_density = cls->num_log_density;
    op->is_normal = !strcmp(cls->name, "normal") && n->n_in == 3;
    return set_args(op, n);
}

static bool compile_entries(struct scaffold *s, struct plan *p) {
    uint32_t d = 0, a = 0;
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->principal >= 0) continue;
        if (e->role == ROLE_D) {
            if (!tag_is_static(s, e->n) || !compile_det(&p->ops[d], e)) return false;
            d++;
        } else if (e->role == ROLE_A) {
            if (!compile_absorb(&p->ops[p->n_det + a], e->n)) return false;
            a++;
        }
    }
    return true;
}

static struct plan *plan_alloc(struct trace *t, uint32_t n_det, uint32_t n_absorb) {
    uint32_t n = n_det + n_absorb;
    struct plan *p = pool_zalloc(&t->pool, plan_size(n));
    p->n_det = n_det;
    p->n_absorb = n_absorb;
    p->old_det = (double *)(p->ops + n);
    p->new_logp = p->old_det + n_det;
    return p;
}

static enum gpm_status compile(struct trace *t, struct node *principal, struct plan **out) {
    struct scaffold *s;
    enum gpm_status st = scaffold_build(t, &principal, 1, &s);
    if (st != GPM_OK) return st;
    uint32_t d = 0, a = 0;
    bool ok = !s->has_brush && s->order.n == s->e.n;
    for (size_t i = 0; i < s->e.n; i++) {
        struct entry *e = &s->e.at[i];
        if (e->role == ROLE_M) ok = false;
        if (e->principal < 0) e->role == ROLE_D ? d++ : a++;
    }
    struct plan *p = plan_alloc(t, ok ? d : 0, ok ? a : 0);
    p->cls = node_class(principal);
    p->usable = ok && p->cls->num_sample && !p->cls->incorporate && is_number(principal->val) &&
                principal->n_in <= 5 && !(principal->flags & NODE_OBS_ROOT) &&
                compile_entries(s, p);
    for (uint32_t i = 1; p->usable && i < principal->n_in; i++)
        p->usable = is_number(principal->in[i].node->val);
    scaffold_end(s);
    scaffold_free(s);
    p->structure = t->structure;
    *out = p;
    return GPM_OK;
}

static double evaluate(const struct op *op) {
    double args[4];
    switch ((enum code)op->code) {
    case CODE_ADD: return number(op->args[0]) + number(op->args[1]);
    case CODE_SUB: return number(op->args[0]) - number(op->args[1]);
    case CODE_MUL: return number(op->args[0]) * number(op->args[1]);
    case CODE_DIV: return number(op->args[0]) / number(op->args[1]);
    case CODE_COPY: return number(op->args[0]);
    case CODE_NUM: break;
    }
    for (size_t i = 0; i < op->n_args; i++) args[i] = number(op->args[i]);
    return op->num(args, op->n_args);
}

static void put(struct node *n, double x) {
    if (n->val.tag == V_BOOL)
        n->val.u.boolean = x != 0;
    else
        n->val.u.num = x;
}

/* Absorbing densities under the new values; false: the general way must judge. sd and its logarithm
 * are kept from one normal to the next, most share them. */
static bool weigh(struct trace *t, struct plan *p, double *w_old, double *w_new,
                  enum gpm_status *st) {
    double last_sd = NAN, log_sd = 0, args[4];
    const double log_sqrt_2pi = 0.91893853320467274178;
    *w_old = *w_new = 0;
    for (uint32_t i = 0; i < p->n_absorb; i++) {
        const struct op *op = &p->ops[p->n_det + i];
        struct node *n = op->n;
        double logp, v = number(&n->val);
        UNUSED(t);
        if (op->is_normal) {
            double sd = number(op->args[1]), z;
            if (sd != last_sd) {
                if (!(sd > 0)) return false;
                last_sd = sd;
                log_sd = log(sd) + log_sqrt_2pi;
            }
            z = (v - number(op->args[0])) / sd;
            logp = -0.5 * z * z - log_sd;
        } else {
            for (size_t k = 0; k < op->n_args; k++) args[k] = number(op->args[k]);
            logp = op->log_density(v, args, op->n_args);
        }
        if (!(logp > -INFINITY)) return false; /* NaN too */
        p->new_logp[i] = logp;
        *w_old += n->logp;
        *w_new += logp;
    }
    *st = GPM_OK;
    return true;
}

/* Old densities, while the old values stand. */
static enum gpm_status refresh(struct trace *t, struct plan *p) {
    for (uint32_t i = 0; i < p->n_absorb; i++) {
        struct node *n = p->ops[p->n_det + i].n;
        double logp;
        if (n->flags & NODE_HAS_LOGP) continue;
        enum gpm_status st = node_logp(t, n, &logp);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

static bool propose(struct plan *p, struct node *principal, double x) {
    put(principal, x);
    for (uint32_t i = 0; i < p->n_det; i++) {
        struct op *op = &p->ops[i];
        p->old_det[i] = number(&op->n->val);
        double v = evaluate(op);
        put(op->n, v);
        if (v != v) {
            for (uint32_t j = i + 1; j-- > 0;) put(p->ops[j].n, p->old_det[j]);
            return false;
        }
    }
    return true;
}

void trace_prefetch(const struct node *n, int stage) {
    if (stage == 0) {
        __builtin_prefetch(n);
        __builtin_prefetch(&n->plan);
        __builtin_prefetch(&n->in[1]);
        return;
    }
    const struct plan *p = n->plan;
    if (!p) return;
    if (stage == 1) {
        size_t bytes = sizeof *p + 5 * sizeof(struct op);
        for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)p + i);
        return;
    }
    for (uint32_t i = 1; i < n->n_in; i++) __builtin_prefetch(n->in[i].node);
    for (uint32_t i = 0; p->usable && i < p->n_det + p->n_absorb && i < 6; i++) {
        __builtin_prefetch(p->ops[i].n);
        if (i >= p->n_det) __builtin_prefetch(&p->ops[i].n->logp);
        for (uint32_t k = 0; k < p->ops[i].n_args; k++) __builtin_prefetch(p->ops[i].args[k]);
    }
}

enum gpm_status plan_mh(struct trace *t, struct node *principal, bool *done, bool *accepted) {
    struct plan *p = principal->plan;
    *done = false;
    if (!p || p->structure != t->structure) {
        if (p) plan_free(t, p);
        principal->plan = NULL;
        enum gpm_status st = compile(t, principal, &principal->plan);
        if (st != GPM_OK) return st;
        p = principal->plan;
    }
    if (!p->usable) return GPM_OK;
    enum gpm_status st = refresh(t, p);
    if (st != GPM_OK) return st;
    double args[4], old = number(&principal->val), w_old, w_new;
    size_t n = principal->n_in - 1;
    for (size_t i = 0; i < n; i++) args[i] = number(&principal->in[i + 1].node->val);
    double x = p->cls->num_sample(&t->rng, args, n);
    if (x != x || !propose(p, principal, x)) {
        put(principal, old);
        return GPM_OK;
    }
    if (!weigh(t, p, &w_old, &w_new, &st) || !(w_old > -INFINITY)) {
        for (uint32_t i = 0; i < p->n_det; i++) put(p->ops[i].n, p->old_det[i]);
        put(principal, old);
        return st;
    }
    *done = true;
    *accepted = w_new >= w_old || log(rng_uniform(&t->rng)) < w_new - w_old;
    if (*accepted) {
        for (uint32_t i = 0; i < p->n_absorb; i++) p->ops[p->n_det + i].n->logp = p->new_logp[i];
        principal->flags &= (uint16_t)~NODE_HAS_LOGP;
        if (p->cls->num_log_density) { /* wanted when the choice absorbs a neighbour's move */
            double logp = p->cls->num_log_density(number(&principal->val), args, n);
            if (logp > -INFINITY) {
                principal->logp = logp;
                principal->flags |= NODE_HAS_LOGP;
            }
        }
    } else {
        for (uint32_t i = 0; i < p->n_det; i++) put(p->ops[i].n, p->old_det[i]);
        put(principal, old);
    }
    return GPM_OK;
}
