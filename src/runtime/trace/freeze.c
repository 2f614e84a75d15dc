/* SPDX-License-Identifier: Apache-2.0
 *
 * Freezing replaces a directive by its value. The nodes that names refer to become constants
 * (NODE_FROZEN: node_class is NULL, nothing is linked) and the computation below them is freed. If
 * the value holds procedures, all nodes become such constants, since frames lead to them. What such
 * a procedure reads of other directives continues to change with those.
 *
 * A draw from a procedure with statistics stays counted (NODE_KEPT). It remains as an observed
 * choice with constant arguments, beside the constant that names refer to; the maker of its
 * procedure keeps its arguments. So a stream whose parameters are summed out keeps what it has
 * learned. forget takes the count out. */
#include "runtime/trace/scaffold.h"

#include <string.h>

struct freezing {
    struct trace *t;
    struct record *r;
    struct family *f;
    families dead; /* requested by the directive alone, f first; all nodes are off */
    bool whole;    /* keep all nodes */
};

static void freeze_gather(families *all, struct family *f) {
    if (f->refs || f->dead) return;
    f->dead = true;
    vec_push(all, f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        for (uint32_t j = 0; n->kind != NODE_CONST && n->req && j < n->req->n_fam; j++)
            freeze_gather(all, n->req->fam[j]);
    }
}

/* Procedures, references and their callers lead to nodes through frames. */
static bool may_hold_nodes(value v) {
    size_t n;
    for (; v.tag == V_PAIR; v = v.u.pair->rest)
        if (may_hold_nodes(v.u.pair->first)) return true;
    if (v.tag >= V_REF) return true;
    const value *part = value_parts(v, &n);
    for (size_t i = 0; i < n; i++)
        if (may_hold_nodes(part[i])) return true;
    return false;
}

static bool is_bound(const struct record *r, const struct node *n) {
    bool bound = n == r->family->root;
    for (size_t i = 0; i < r->names.n; i++) bound |= r->names.at[i].node == n;
    return bound;
}

/* Names of a node that does not become a constant are rebound to a constant with its value. */
static void bind_constant(struct freezing *z, struct node *was) {
    struct record *r = z->r;
    struct node *now = node_constant(z->t, z->f, value_ref(was->val));
    if (z->f->root == was) z->f->root = now;
    for (size_t i = 0; i < r->names.n; i++)
        if (r->names.at[i].node == was) {
            r->names.at[i].node = now;
            map_put(&z->t->globals, MAP_PTR(r->names.at[i].name), now);
        }
    z->t->world.stamp = 0;
}

/* ---- observations --------------------------------------------------------------------------- */

/* What another directive observes leads through nodes about to be freed: to a choice that it names
 * (1), or on the way from a branch or to a choice that stays (2). */
static int loses_choice(const struct record *q, uint32_t k) {
    struct node *n = recorded_root((struct recorded){q, k}), *end = chase(n);
    bool freed = false;
    for (struct node *m = n; m && end->kind != NODE_CONST; m = copy_source(m))
        freed |= m->family->dead;
    if (!freed) return 0;
    while (n != end && n->kind == NODE_TAG) n = copy_source(n);
    return n == end && end->family->dead ? 1 : 2;
}

static enum gpm_status refuse_branch(struct freezing *z, struct recorded d, struct span at) {
    struct diags *diags = z->t->core->diags;
    diag_raise(diags, DIAG_FORGET_IN_USE, at,
               "`%s` cannot be frozen: a branch or tag that is observed leads to it",
               z->r->label->text);
    diag_add_label(diags, recorded_span(d), "observed here");
    return diag_set_help(diags, "forget the observation first");
}

/* An observation through a name is dropped, since its choice no longer exists. One through a branch
 * is refused: when the branch changed, the observation would have no choice. */
static enum gpm_status leave_observations(struct freezing *z, struct span at) {
    struct trace *t = z->t;
    for (int drop = 0; drop < 2; drop++)
        for (size_t i = t->records.n; i-- > 0;) {
            struct record *q = t->records.at[i];
            for (uint32_t k = record_size(q); q != z->r && q->kind == REC_OBSERVE && k-- > 0;) {
                int how = loses_choice(q, k);
                if (how == 2) return refuse_branch(z, (struct recorded){q, k}, at);
                if (how && drop && observation_drop(t, q, k)) break;
            }
        }
    return GPM_OK;
}

/* ---- statistics ----------------------------------------------------------------------------- */

static struct node *constant_for_kept(struct freezing *z, value v) {
    struct node *n = node_constant(z->t, z->f, value_ref(v));
    n->flags |= NODE_KEPT;
    return n;
}

/* The operator that remains when the other nodes are freed; NULL if its maker is freed, too. */
static struct node *operator_of(struct freezing *z, struct node *n) {
    struct node *op = n->in[0].node, *maker = maker_of(op->val);
    if (maker && !(maker->flags & NODE_ON)) return NULL;
    if (op->kind != NODE_CONST && !op->family->dead) return op;
    bool same = maker && maker->val.tag == V_PROC && maker->val.u.box == op->val.u.box;
    return same ? maker : constant_for_kept(z, op->val);
}

static void move_node(struct freezing *z, struct family *from, size_t i) {
    struct node *n = from->nodes.at[i];
    if (from == z->f) return;
    memmove(&from->nodes.at[i], &from->nodes.at[i + 1], (from->nodes.n - i - 1) * sizeof n);
    from->nodes.n--;
    pvec_push(pool_of(z->t), &z->f->nodes, n);
    n->family = z->f;
}

/* Is it a counted draw, or the maker of procedures that others may still draw from? */
static bool has_statistics(const struct freezing *z, const struct node *n) {
    const struct sp_class *cls = node_class(n);
    if (!cls || (n->flags & NODE_ON)) return false;
    if (cls->flags & SP_MAKER) return z->whole && first_made(n->val);
    return cls->incorporate && (n->flags & NODE_RANDOM);
}

static void keep_parents(struct request *r) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < r->n_xin; i++) {
        struct node *n = r->xin[i].node;
        if (n->kind != NODE_CONST && !n->family->dead) r->xin[left++] = r->xin[i];
    }
    r->n_xin = left;
}

/* False if no statistics count the draw. */
static bool keep_count(struct freezing *z, struct family *from, size_t i) {
    struct node *n = from->nodes.at[i];
    struct node *op = has_statistics(z, n) ? operator_of(z, n) : NULL;
    if (!op) return false;
    if (is_bound(z->r, n)) bind_constant(z, n);
    n->in[0].node = op;
    for (uint32_t j = 1; j < n->n_in; j++) n->in[j].node = constant_for_kept(z, n->in[j].node->val);
    if (n->req) keep_parents(n->req);
    n->ctx = NULL;
    n->flags &= NODE_RANDOM | NODE_LINKED_ARGS;
    n->flags |= NODE_KEPT | (n->flags & NODE_RANDOM ? NODE_OBSERVED | NODE_OBS_ROOT : 0);
    move_node(z, from, i);
    node_on(z->t, n);
    return true;
}

bool record_keeps_counts(const struct record *r) {
    for (size_t i = 0; i < r->family->nodes.n; i++) {
        const struct node *n = r->family->nodes.at[i];
        if (n->kind != NODE_CONST && (n->flags & NODE_KEPT)) return true;
    }
    return false;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* Moves what procedures may read into the directive's own family. */
static void adopt(struct freezing *z, struct family *from) {
    struct pool *p = pool_of(z->t);
    for (size_t i = 0; i < from->frames.n; i++) pvec_push(p, &z->f->frames, from->frames.at[i]);
    for (size_t i = 0; i < from->code.n; i++) family_keep_code(z->t, z->f, from->code.at[i]);
    for (size_t i = 0; i < from->nodes.n; i++) {
        struct node *n = from->nodes.at[i];
        if (n->kind != NODE_CONST) n->family = z->f;
        pvec_push(p, &z->f->nodes, n);
    }
    from->frames.n = from->nodes.n = 0;
}

/* A constant procedure that no name or frame reads, but which keeps its maker's frame alive. */
static bool is_left_over(const struct freezing *z, const struct node *n) {
    if (n->kind != NODE_CONST || n->val.tag != V_PROC || (n->flags & NODE_KEPT)) return false;
    if (is_bound(z->r, n)) return false;
    for (size_t i = 0; i < z->f->frames.n; i++)
        for (uint32_t k = 0; k < z->f->frames.at[i]->n; k++)
            if (z->f->frames.at[i]->s[k].node == n) return false;
    return true;
}

static void stop(struct freezing *z, struct node *n) {
    bool read = z->whole || is_bound(z->r, n) || n->n_out;
    n->flags = read ? NODE_ON | NODE_FROZEN : NODE_FROZEN;
    for (uint32_t j = 0; j < n->n_in; j++) n->in[j].node = n; /* old parents may be freed first */
    if (n->req) request_free(z->t, n->req);
    n->req = NULL;
    n->ctx = NULL;
}

/* Releases frames that no procedure holds, inner frames first. */
static void drop_frame(struct freezing *z, size_t i) {
    struct family *f = z->f;
    struct frame *g = f->frames.at[i];
    if (z->whole && g->refs > 1) return;
    family_keep_code(z->t, f, g->code);
    frame_unref(g);
    memmove(&f->frames.at[i], &f->frames.at[i + 1], (f->frames.n - i - 1) * sizeof g);
    f->frames.n--;
}

static void take_apart(struct freezing *z) {
    struct family *f = z->f;
    for (size_t k = 0; k < z->dead.n; k++)
        for (size_t i = 0; i < z->dead.at[k]->nodes.n;) {
            struct family *g = z->dead.at[k];
            struct node *n = g->nodes.at[i];
            bool kept = n->kind != NODE_CONST && keep_count(z, g, i);
            i += !kept || g == f;
        }
    for (size_t k = 1; k < z->dead.n; k++) {
        if (z->whole) adopt(z, z->dead.at[k]);
        family_free(z->t, z->dead.at[k]);
    }
    size_t left = 0;
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        bool constant = n->kind == NODE_CONST || (n->flags & NODE_KEPT);
        if (!constant) stop(z, n);
        if ((constant || (n->flags & NODE_ON)) && !is_left_over(z, n))
            f->nodes.at[left++] = n;
        else
            node_free(z->t, n);
    }
    f->nodes.n = left;
    for (size_t i = f->frames.n; i-- > 0;) drop_frame(z, i);
}

enum gpm_status record_freeze(struct trace *t, struct record *r, struct span at) {
    struct freezing z = {.t = t, .r = r, .f = r->family};
    family_drop(t, z.f, NULL);
    freeze_gather(&z.dead, z.f);
    enum gpm_status st = leave_observations(&z, at);
    if (st == GPM_OK) {
        if (z.f->root->kind == NODE_CONST || z.f->root->family != z.f) bind_constant(&z, z.f->root);
        z.whole = may_hold_nodes(z.f->root->val);
        for (size_t i = 0; i < r->names.n; i++) z.whole |= may_hold_nodes(r->names.at[i].node->val);
        take_apart(&z);
        for (size_t i = 0; i < r->names.n; i++) r->names.at[i].node->flags |= NODE_FROZEN;
        z.f->refs = 1;
        r->frozen = true;
        t->structure++;
    }
    for (size_t i = 0; st != GPM_OK && i < z.dead.n; i++) z.dead.at[i]->dead = false;
    z.f->dead = false;
    if (st != GPM_OK) family_take(t, z.f, NULL);
    vec_release(&z.dead);
    return st;
}
