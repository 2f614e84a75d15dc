/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole-trace invariants, for tests: links agree in both directions, choices and scopes agree with
 * the nodes' flags, copied values agree with their source, cached densities with recomputed ones.
 * The invariants are listed at the head of onoff.c (nodes), scope.c (index) and joint.c
 * (statistics). This file recomputes everything, so it costs as much as evaluating the model
 * again. */
#include "runtime/trace/scaffold.h"

#include <math.h>

struct audit {
    struct buf *why;
    size_t choices;
};

static enum gpm_status fail(struct audit *c, const struct node *n, const char *what) {
    buf_printf(c->why, "%s (node %llu, kind %d)", what, (unsigned long long)n->seq, n->kind);
    return GPM_E_ARG;
}

/* in[slot].back is the position in the parent's out-list, and the entry there leads back here. */
static bool edge_ok(struct node *n, uint32_t slot) {
    struct in_edge *e = edge_of(n, slot);
    if (e->node->kind == NODE_CONST) return true;
    return e->back < e->node->n_out && e->node->out[e->back].child == n &&
           e->node->out[e->back].slot == slot;
}

static enum gpm_status check_links(struct audit *c, struct node *n) {
    for (uint32_t i = 0; !(n->flags & NODE_FROZEN) && i < n->n_in; i++) {
        bool linked = (n->kind == NODE_APP && i == 0) || (n->flags & NODE_LINKED_ARGS);
        if (linked && !edge_ok(n, i)) return fail(c, n, "a parent does not know its child");
        struct node *p = n->in[i].node;
        if (p->kind != NODE_CONST && !(p->flags & NODE_ON)) return fail(c, n, "a parent is off");
    }
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (!edge_ok(n, XIN | i)) return fail(c, n, "an extra parent does not know its child");
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct in_edge *e = edge_of(n->out[i].child, n->out[i].slot);
        if (e->node != n || e->back != i) return fail(c, n, "a child does not know its parent");
        if (!(n->out[i].child->flags & NODE_ON)) return fail(c, n, "a child is off");
    }
    return GPM_OK;
}

/* Equal up to rounding, since compiled steps may add in another order. */
static bool alike(value a, value b) {
    if (value_equal(a, b)) return true;
    if (a.tag == V_NUM && b.tag == V_NUM)
        return fabs(a.u.num - b.u.num) <= 1e-9 * (1 + fabs(a.u.num));
    bool matrices = a.tag == V_MATRIX && b.tag == V_MATRIX;
    size_t n = matrices ? a.u.matrix->rows * a.u.matrix->cols : 0;
    if (matrices && (a.u.matrix->rows != b.u.matrix->rows || a.u.matrix->cols != b.u.matrix->cols))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!alike(value_num(a.u.matrix->at[i]), value_num(b.u.matrix->at[i]))) return false;
    struct seq_walk x = {a, 0}, y = {b, 0};
    value u, v;
    bool more = a.tag == b.tag && seq_is(a) && seq_is(b);
    if (!more) return matrices;
    while ((more = seq_next(&x, &u)) && seq_next(&y, &v))
        if (!alike(u, v)) return false;
    return !more && !seq_next(&y, &v);
}

/* A call held as one node must have the value of its full evaluation. */
static enum gpm_status check_held(struct audit *c, struct trace *t, struct node *n) {
    struct family *f;
    enum gpm_status st = call_taken_apart(t, n, &f);
    bool same = st == GPM_OK && (alike(f->root->val, n->val) || n->val.tag == V_PROC);
    family_drop(t, f, NULL);
    families_free_dead(t, &f, 1);
    return same ? GPM_OK : fail(c, n, "a call that is held as one has another value");
}

/* Recomputes and compares deterministic values. Procedures with effects are left out, and so are
 * boxes and procedures, which equal only themselves. */
static enum gpm_status check_value(struct audit *c, struct trace *t, struct node *n) {
    value op = n->kind == NODE_APP ? n->in[0].node->val : NIL;
    bool requests =
        n->kind == NODE_IF || memo_of(op) || (closure_of(op) && !(n->flags & NODE_LINKED_ARGS));
    if (requests && (!n->req || n->req->n_fam != 1))
        return fail(c, n, "a request without its family");
    const struct node *source = copy_source(n);
    if (source && !value_equal(n->val, source->val))
        return fail(c, n, "a value that is passed on differs from its source");
    if (n->special == SPECIAL_PURE) return check_held(c, t, n);
    const struct sp_class *cls = node_class(n);
    if ((n->flags & NODE_HAS_LOGP) && cls && !node_is_stateful(n)) {
        double fresh;
        if (node_density(t, n, n->val, &fresh) != GPM_OK) return fail(c, n, "a density that fails");
        if (!(fresh == n->logp || fabs(fresh - n->logp) <= 1e-9 * (1 + fabs(fresh))))
            return fail(c, n, "a cached density is stale");
    }
    if (!cls || (cls->flags & (SP_RANDOM | SP_MAKER)) || node_calls(n, cls) || cls->request ||
        n->special || !cls->simulate)
        return GPM_OK;
    value fresh;
    struct node_call k;
    if (cls->flags & SP_NO_MODEL_EFFECT) return GPM_OK;
    call_begin(t, n, &k);
    if (call_end(t, n, &k, cls->simulate(&k.c, &fresh)) != GPM_OK)
        return fail(c, n, "a computation that fails");
    bool same = alike(fresh, n->val) || fresh.tag == V_BOX || fresh.tag == V_PROC;
    value_unref(fresh);
    return same ? GPM_OK : fail(c, n, "a deterministic value is stale");
}

static enum gpm_status check_node(void *ctx, struct trace *t, struct node *n) {
    struct audit *c = ctx;
    if (n->mark) return fail(c, n, "a scaffold mark was left");
    enum gpm_status st = check_links(c, n);
    if (st == GPM_OK && !(n->flags & NODE_FROZEN)) st = check_value(c, t, n);
    if (st != GPM_OK) return st;
    bool free_choice = (n->flags & NODE_RANDOM) && !(n->flags & NODE_OBSERVED);
    if (free_choice != (n->choice != NO_INDEX))
        return fail(c, n, "a choice is missing or too many");
    if (free_choice && t->choices.at[n->choice] != n) return fail(c, n, "a choice is misplaced");
    c->choices += free_choice;
    if (node_is_stateful(n) && !(n->flags & NODE_INCORPORATED))
        return fail(c, n, "a value is not in its statistics");
    for (uint32_t i = 0; n->req && i < n->req->n_fam; i++)
        if (!n->req->fam[i]->refs || n->req->fam[i]->lost)
            return fail(c, n, "a family's count is off");
    return GPM_OK;
}

static bool near(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * (1 + fabs(a));
}

/* Compares statistics kept by increments with statistics built from nothing. */
static enum gpm_status check_maker(void *ctx, struct node *n, const struct maker_density *d) {
    struct audit *c = ctx;
    /* the closed form of an uncollapsed maker is a marginal */
    if (!d->taken_apart || (n->flags & NODE_RANDOM)) return GPM_OK;
    if (!near(d->empty, 0)) return fail(c, n, "statistics keep something of data that are gone");
    if (isinf(d->joint) || isinf(d->all) || near(d->joint, d->all)) return GPM_OK;
    buf_printf(c->why, "%.17g kept, %.17g from scratch: ", d->joint, d->all);
    return fail(c, n, "the joint density of a maker's data has drifted");
}

/* Scaffolds must be closed and flats settled. Test builds call this after every transition. */
bool trace_check(struct trace *t, struct buf *why) {
    struct audit c = {why, 0};
    if (trace_each_node(t, check_node, &c) != GPM_OK ||
        trace_each_maker(t, check_maker, &c) != GPM_OK) {
        if (!why->len) buf_puts(why, "failed");
        return false;
    }
    if (c.choices != t->choices.n) {
        buf_printf(why, "%zu choices on nodes, %zu listed", c.choices, t->choices.n);
        return false;
    }
    for (size_t i = 0; i < t->scopes.n; i++)
        for (size_t j = 0; j < t->scopes.at[i]->blocks.n; j++) {
            struct scope_block *b = t->scopes.at[i]->blocks.at[j];
            size_t n = 0;
            for (size_t k = 0; k < b->ctxs.n; k++) n += b->ctxs.at[k]->choices.n;
            if (n != b->n_choices) {
                buf_puts(why, "a block's count is off");
                return false;
            }
        }
    return true;
}
