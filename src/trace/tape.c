/* SPDX-License-Identifier: Apache-2.0
 *
 * Tapes: the log weight of a static numeric scaffold, and its gradient, as a straight-line program.
 * hmc, nuts, gradient ascent and variational inference evaluate one point after another on the same
 * structure; a tape does so without touching the trace. Every number has a slot: principals first,
 * then deterministic nodes in order of evaluation, then what they do not change. Nodes that only
 * pass a value on have no slot of their own.
 *
 * Whatever the fast functions cannot judge (NaN, -inf: perhaps a domain error) is left to the
 * general way, scaffold_regen and scaffold_gradient. */
#include "trace/scaffold.h"

#include <math.h>
#include <string.h>

struct tape_op {
    struct node *n;
    const struct sp_class *cls;
    uint8_t code, n_args;
    uint32_t slot; /* of its value */
    uint32_t args[OP_MAX_ARGS];
};

struct tape {
    uint64_t structure; /* of the trace it was made for */
    struct trace *t;    /* borrowed */
    VEC(struct node *) key;
    bool usable, has_copies;
    size_t n_principals;
    VEC(struct node *) node; /* of each slot */
    VEC(struct tape_op) det, density;
    size_t n_changing; /* slots from here on keep their values */
    double *val, *adj, *logp;
};

void tape_free(struct tape *p) {
    if (!p) return;
    vec_release(&p->key);
    vec_release(&p->node);
    vec_release(&p->det);
    vec_release(&p->density);
    mem_free(p->val);
    mem_free(p);
}

/* Compilation. */

static uint32_t slot_of(struct tape *p, struct map *slots, struct node *n) {
    struct node *source = chase(n);
    size_t have = (size_t)map_get(slots, MAP_PTR(source));
    if (have) return (uint32_t)(have - 1);
    vec_push(&p->node, source);
    map_put(slots, MAP_PTR(source), (void *)(uintptr_t)p->node.n);
    return (uint32_t)(p->node.n - 1);
}

static struct tape_op op_of(struct tape *p, struct map *slots, struct node *n) {
    struct tape_op op = {.n = n, .cls = node_class(n), .n_args = (uint8_t)(n->n_in - 1)};
    op.slot = slot_of(p, slots, n);
    for (uint32_t i = 1; i < n->n_in; i++) op.args[i - 1] = slot_of(p, slots, n->in[i].node);
    if (op.cls) op.code = (uint8_t)op_code_of(op.cls, op.n_args);
    return op;
}

static bool det_is_known(const struct tape_op *op) {
    return op->cls && op->cls->num && op->cls->grad_simulate && op->n->val.tag == V_NUM &&
           !node_is_stateful(op->n);
}

static bool density_is_known(const struct tape_op *op) {
    return op->cls && op->cls->num_log_density && op->cls->num_grad && !op->cls->incorporate &&
           op->n->n_in <= OP_MAX_ARGS + 1;
}

static bool compile_ops(struct tape *p, struct scaffold *s, struct map *slots) {
    for (size_t i = 0; i < s->principals.n; i++) slot_of(p, slots, s->principals.at[i]);
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->principal >= 0 || e->role != ROLE_D) continue;
        if (copy_source(e->n))
            p->has_copies = true;
        else
            slot_of(p, slots, e->n);
    }
    p->n_changing = p->node.n;
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        bool is_density = e->principal >= 0 || e->role == ROLE_A;
        if (!is_density && copy_source(e->n)) continue;
        struct tape_op op = op_of(p, slots, e->n);
        if (!(is_density ? density_is_known(&op) : det_is_known(&op))) return false;
        if (is_density)
            vec_push(&p->density, op);
        else
            vec_push(&p->det, op);
    }
    return true;
}

static enum gpm_status compile(struct tape *p, struct node *const *principals, size_t n) {
    struct scaffold *s;
    struct map slots = {0};
    enum gpm_status st = scaffold_build(p->t, principals, n, &s);
    if (st != GPM_OK) return st;
    p->n_principals = s->principals.n;
    p->usable = scaffold_is_static(s);
    for (size_t i = 0; p->usable && i < s->principals.n; i++)
        p->usable =
            s->principals.at[i]->val.tag == V_NUM && s->principals.at[i]->n_in <= OP_MAX_ARGS + 1;
    p->usable = p->usable && compile_ops(p, s, &slots);
    map_release(&slots);
    scaffold_end(s);
    scaffold_free(s);
    size_t k = p->node.n;
    p->val = NEW_ARRAY(double, 2 * k + p->density.n + 1);
    p->adj = p->val + k;
    p->logp = p->adj + k;
    return GPM_OK;
}

static bool same_key(const struct tape *p, struct node *const *principals, size_t n) {
    return p->key.n == n && !memcmp(p->key.at, principals, n * sizeof *principals);
}

/* What the principals do not change may have been changed by others since. */
static bool read_fixed(struct tape *p) {
    for (size_t i = p->n_changing; i < p->node.n; i++) {
        if (!number_is(p->node.at[i]->val)) return false;
        p->val[i] = number_of(&p->node.at[i]->val);
    }
    return true;
}

enum gpm_status trace_tape(struct trace *t, struct node *const *principals, size_t n,
                           struct tape **out) {
    *out = NULL;
    struct tape *p = t->tape;
    if (!p || p->structure != t->structure || !same_key(p, principals, n)) {
        tape_free(p);
        p = t->tape = NEW(struct tape);
        p->t = t;
        p->structure = t->structure;
        for (size_t i = 0; i < n; i++) vec_push(&p->key, principals[i]);
        enum gpm_status st = compile(p, principals, n);
        if (st != GPM_OK) {
            tape_free(p);
            t->tape = NULL;
            return st;
        }
    }
    if (p->usable && read_fixed(p)) *out = p;
    return GPM_OK;
}

size_t tape_n_principals(const struct tape *p) {
    return p->n_principals;
}

struct node *tape_principal(const struct tape *p, size_t i) {
    return p->node.at[i];
}

bool tape_args_change(const struct tape *p, size_t i) {
    for (size_t k = 0; k < p->density.n; k++) {
        const struct tape_op *op = &p->density.at[k];
        if (op->slot != i) continue;
        for (uint8_t a = 0; a < op->n_args; a++)
            if (op->args[a] < p->n_changing) return true;
    }
    return false;
}

/* Evaluation. */

static double evaluate(const struct tape *p, const struct tape_op *op) {
    const double *v = p->val;
    double args[OP_MAX_ARGS];
    switch ((enum op_code)op->code) {
    case OP_ADD: return v[op->args[0]] + v[op->args[1]];
    case OP_SUB: return v[op->args[0]] - v[op->args[1]];
    case OP_MUL: return v[op->args[0]] * v[op->args[1]];
    case OP_DIV: return v[op->args[0]] / v[op->args[1]];
    default: break;
    }
    for (size_t i = 0; i < op->n_args; i++) args[i] = v[op->args[i]];
    return op->cls->num(args, op->n_args);
}

/* Density of a normal: sd and its logarithm are kept from one to the next, most share them. */
struct normal_memo {
    double sd, log_sd;
};

static double normal_density(const struct tape *p, const struct tape_op *op, bool wanted,
                             struct normal_memo *m) {
    const double log_sqrt_2pi = 0.91893853320467274178;
    double sd = p->val[op->args[1]];
    if (sd != m->sd) *m = (struct normal_memo){sd, sd > 0 ? log(sd) + log_sqrt_2pi : NAN};
    double z = (p->val[op->slot] - p->val[op->args[0]]) / sd;
    if (wanted) {
        double slope = z / sd;
        p->adj[op->slot] -= slope;
        p->adj[op->args[0]] += slope;
        p->adj[op->args[1]] += (z * z - 1) / sd;
    }
    return -0.5 * z * z - m->log_sd;
}

static double other_density(const struct tape *p, const struct tape_op *op, bool wanted) {
    double args[OP_MAX_ARGS], g[OP_MAX_ARGS + 1] = {0}, v = p->val[op->slot];
    for (size_t i = 0; i < op->n_args; i++) args[i] = p->val[op->args[i]];
    double logp = op->cls->num_log_density(v, args, op->n_args);
    if (!wanted || !(logp > -INFINITY)) return logp;
    op->cls->num_grad(v, args, op->n_args, g);
    p->adj[op->slot] += g[0];
    for (size_t i = 0; i < op->n_args; i++) p->adj[op->args[i]] += g[i + 1];
    return logp;
}

/* Adjoints of the operands of a deterministic node given its own. */
static bool back(const struct tape *p, const struct tape_op *op) {
    double d = p->adj[op->slot], *adj = p->adj;
    const double *v = p->val;
    const uint32_t *a = op->args;
    value args[OP_MAX_ARGS], dargs[OP_MAX_ARGS];
    if (d == 0) return true;
    switch ((enum op_code)op->code) {
    case OP_ADD: adj[a[0]] += d, adj[a[1]] += d; return true;
    case OP_SUB: adj[a[0]] += d, adj[a[1]] -= d; return true;
    case OP_MUL: adj[a[0]] += d * v[a[1]], adj[a[1]] += d * v[a[0]]; return true;
    case OP_DIV: adj[a[0]] += d / v[a[1]], adj[a[1]] -= d * v[op->slot] / v[a[1]]; return true;
    default: break;
    }
    struct sp_call c = {.cls = op->cls, .args = args, .n = op->n_args};
    c.diags = p->t->core->diags;
    c.host = &p->t->core->host;
    for (size_t i = 0; i < op->n_args; i++) args[i] = value_num(v[a[i]]), dargs[i] = NIL;
    enum gpm_status st = op->cls->grad_simulate(&c, value_num(v[op->slot]), value_num(d), dargs);
    for (size_t i = 0; i < op->n_args; i++) {
        if (st == GPM_OK && dargs[i].tag == V_NUM) adj[a[i]] += dargs[i].u.num;
        value_unref(dargs[i]);
    }
    return st == GPM_OK;
}

bool tape_eval(struct tape *p, const double *x, double *logp, double *grad) {
    struct normal_memo memo = {NAN, NAN};
    memcpy(p->val, x, p->n_principals * sizeof *x);
    for (size_t i = 0; i < p->det.n; i++) {
        double v = evaluate(p, &p->det.at[i]);
        if (v != v) return false;
        p->val[p->det.at[i].slot] = v;
    }
    if (grad) memset(p->adj, 0, p->node.n * sizeof *p->adj);
    *logp = 0;
    for (size_t i = 0; i < p->density.n; i++) {
        const struct tape_op *op = &p->density.at[i];
        double w = op->code == OP_NORMAL ? normal_density(p, op, grad != NULL, &memo)
                                         : other_density(p, op, grad != NULL);
        if (!(w > -INFINITY)) return false; /* NaN too */
        p->logp[i] = w;
        *logp += w;
    }
    for (size_t i = p->det.n; grad && i-- > 0;)
        if (!back(p, &p->det.at[i])) return false;
    if (grad) memcpy(grad, p->adj, p->n_principals * sizeof *grad);
    return true;
}

void tape_commit(struct tape *p) {
    for (size_t i = 0; i < p->n_changing; i++) {
        number_put(p->node.at[i], p->val[i]);
        if (p->has_copies) settle_copies(p->node.at[i]);
    }
    for (size_t i = 0; i < p->density.n; i++) {
        p->density.at[i].n->logp = p->logp[i];
        p->density.at[i].n->flags |= NODE_HAS_LOGP;
    }
}
