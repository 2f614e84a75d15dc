/* SPDX-License-Identifier: Apache-2.0
 * How plans are made from scaffolds; see plan.h. */
#include "trace/plan.h"
#include "trace/scaffold.h"

#include <string.h>

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

/* A plan in the making. */
struct draft {
    struct scaffold *s;
    struct form head;
    VEC(struct form_op) ops, own_ops;
    VEC(double) constants;
    VEC(struct node *) nodes, own;
    struct {
        uint32_t result; /* a deterministic entry's number */
        bool alone;      /* it depends on no choice but the principal */
    } * of;              /* by entry */
};

/* Refers to where the operand's value comes from; *alone false when other choices move it. */
static bool refer(struct draft *d, struct node *operand, int32_t *out, bool *alone) {
    struct node *source = chase(operand);
    const struct entry *e = entry_of(d->s, source);
    if (!number_is(source->val)) return false;
    if (source->kind == NODE_CONST) {
        *out = ~(int32_t)(1 + d->head.n_det + d->constants.n);
        vec_push(&d->constants, number_of(&source->val));
    } else if (e && e->principal >= 0)
        *out = REF_PRINCIPAL;
    else if (e && e->role == ROLE_D) {
        size_t i = (size_t)(e - d->s->e.at);
        *out = ~(int32_t)(1 + d->of[i].result);
        *alone &= d->of[i].alone;
    } else {
        *out = (int32_t)d->nodes.n;
        *alone = false;
        vec_push(&d->nodes, source);
    }
    return true;
}

static bool refer_all(struct draft *d, const struct node *n, int32_t *out, bool *alone) {
    *alone = true;
    for (uint32_t i = 1; i < n->n_in; i++)
        if (!refer(d, n->in[i].node, &out[i - 1], alone)) return false;
    return true;
}

static bool add_det(struct draft *d, size_t entry) {
    struct node *n = d->s->e.at[entry].n;
    const struct sp_class *cls = proc_class(n->in[0].node->val, NULL);
    struct form_op op = {.n_args = (uint16_t)(n->n_in - 1)};
    if (!cls || !cls->num || n->val.tag != V_NUM || node_is_stateful(n)) return false;
    if (!refer_all(d, n, op.args, &d->of[entry].alone)) return false;
    op.num = cls->num;
    op.code = (uint16_t)op_code_of(cls, op.n_args);
    op.at = (int32_t)d->nodes.n;
    d->of[entry].result = (uint32_t)d->ops.n;
    vec_push(&d->nodes, n);
    vec_push(&d->ops, op);
    return true;
}

static bool add_absorbing(struct draft *d, struct node *n) {
    const struct sp_class *cls = node_class(n);
    struct form_op op = {.n_args = (uint16_t)(n->n_in - 1)};
    bool alone;
    if (!cls || !cls->num_log_density || cls->incorporate || !number_is(n->val)) return false;
    if (!refer_all(d, n, op.args, &alone)) return false;
    op.log_density = cls->num_log_density;
    op.code = (uint16_t)op_code_of(cls, op.n_args);
    op.at = (int32_t)d->nodes.n;
    if (alone && n->choice == NO_INDEX) { /* owned: its place follows when all nodes are known */
        vec_push(&d->own, n);
        vec_push(&d->own_ops, op);
    } else {
        vec_push(&d->nodes, n);
        vec_push(&d->ops, op);
    }
    return true;
}

static bool is_operation(const struct entry *e) {
    return e->role == ROLE_D && e->principal < 0 && !copy_source(e->n);
}

static bool add_role(struct draft *d, int role) {
    for (size_t i = 0; i < d->s->order.n; i++) {
        size_t entry = d->s->order.at[i];
        struct entry *e = &d->s->e.at[entry];
        if (e->principal >= 0 || (int)e->role != role) continue;
        if (role == ROLE_D && !is_operation(e))
            d->head.settles = 1;
        else if (!(role == ROLE_D ? add_det(d, entry) : add_absorbing(d, e->n)))
            return false;
    }
    return true;
}

static bool draft_ops(struct draft *d, struct node *principal) {
    bool alone;
    d->head.n_args = principal->n_in - 1;
    for (size_t i = 0; i < d->s->e.n; i++) d->head.n_det += is_operation(&d->s->e.at[i]);
    if (!refer_all(d, principal, d->head.args, &alone) || !add_role(d, ROLE_D)) return false;
    if (!add_role(d, ROLE_A)) return false;
    for (size_t i = 0; i < d->own.n; i++) {
        d->own_ops.at[i].at = (int32_t)(d->nodes.n + 3 * i);
        vec_push(&d->ops, d->own_ops.at[i]);
    }
    d->head.n_absorb = (uint32_t)d->ops.n - d->head.n_det;
    d->head.n_nodes = (uint32_t)d->nodes.n;
    d->head.n_own = (uint32_t)d->own.n;
    d->head.n_constants = (uint32_t)d->constants.n;
    if (d->own.n) d->head.settles = 1;
    return true;
}

/* Forms. */

static size_t form_size(const struct form *f) {
    return sizeof *f + ((size_t)f->n_det + f->n_absorb) * sizeof f->ops[0] +
           (1 + (size_t)f->n_det + f->n_constants) * sizeof(double);
}

static const double *form_constants(struct form *f) {
    return form_locals(f) + 1 + f->n_det;
}

/* The bytes from the counts to the end of the operations, which with the constants make a form. */
static size_t form_compared(struct form *f) {
    return (size_t)((char *)form_locals(f) - (char *)&f->n_det);
}

static bool form_equal(struct form *f, struct form *g) {
    return form_size(f) == form_size(g) && !memcmp(&f->n_det, &g->n_det, form_compared(f)) &&
           !memcmp(form_constants(f), form_constants(g), f->n_constants * sizeof(double));
}

static struct form *form_of(struct trace *t, const struct draft *d) {
    struct form *f = mem_zalloc(form_size(&d->head)), *g;
    *f = d->head;
    for (size_t i = 0; i < d->ops.n; i++) f->ops[i] = d->ops.at[i];
    for (size_t i = 0; i < d->constants.n; i++)
        form_locals(f)[1 + f->n_det + i] = d->constants.at[i];
    f->hash = hash_bytes(&f->n_det, form_size(f) - offsetof(struct form, n_det), 0);
    struct form *first = map_get(&t->forms, f->hash);
    for (g = first; g && !form_equal(f, g);) g = g->next;
    if (g)
        mem_free(f);
    else {
        f->next = first;
        map_put(&t->forms, f->hash, f);
        g = f;
    }
    g->refs++;
    return g;
}

static void form_unref(struct trace *t, struct form *f) {
    if (!f || --f->refs) return;
    struct form *first = map_get(&t->forms, f->hash), **at = &first;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    if (first)
        map_put(&t->forms, f->hash, first);
    else
        map_del(&t->forms, f->hash);
    mem_free(f);
}

/* Plans. */

static size_t plan_size(const struct form *f) {
    return sizeof(struct plan) +
           (f ? f->n_nodes + 3 * (size_t)f->n_own : 0) * sizeof(union plan_word);
}

void plan_free(struct trace *t, struct plan *p) {
    struct form *f = p->form;
    pool_free(&t->pool, p, plan_size(f));
    form_unref(t, f);
}

static struct plan *plan_new(struct trace *t, struct form *f, const struct draft *d) {
    struct plan *p = pool_zalloc(&t->pool, plan_size(f));
    p->structure = t->structure;
    p->form = f;
    if (!f) return p;
    for (size_t i = 0; i < d->nodes.n; i++) p->w[i].n = d->nodes.at[i];
    for (size_t i = 0; i < d->own.n; i++) p->w[d->nodes.n + 3 * i].n = d->own.at[i];
    return p;
}

enum gpm_status plan_make(struct trace *t, struct node *principal, struct plan **out) {
    struct draft d = {.head.cls = node_class(principal)};
    enum gpm_status st = scaffold_build(t, &principal, 1, &d.s);
    if (st != GPM_OK) return st;
    const struct sp_class *cls = d.head.cls;
    bool ok = cls->num_sample && !cls->incorporate && number_is(principal->val) &&
              principal->n_in <= OP_MAX_ARGS + 1 && !(principal->flags & NODE_OBS_ROOT) &&
              scaffold_is_static(d.s);
    if (ok) {
        d.of = mem_zalloc(d.s->e.n * sizeof *d.of);
        ok = draft_ops(&d, principal);
    }
    *out = plan_new(t, ok ? form_of(t, &d) : NULL, &d);
    scaffold_end(d.s);
    scaffold_free(d.s);
    mem_free(d.of);
    vec_release(&d.ops);
    vec_release(&d.own_ops);
    vec_release(&d.constants);
    vec_release(&d.nodes);
    vec_release(&d.own);
    return GPM_OK;
}
