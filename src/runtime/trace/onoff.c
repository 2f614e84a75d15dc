/* SPDX-License-Identifier: Apache-2.0
 *
 * Switching nodes and families off and on: mirror images, line by line in opposite order. Off
 * removes a node from its parents' lists, the choices, the scopes and the statistics, and releases
 * its requests. On restores all of it. Switching on suffices to undo a rejected proposal: nothing
 * is evaluated.
 *
 * Invariants of a node that is on: it is in the out-list of each linked parent, and no parent is
 * off. It is in trace->choices exactly when it is random and not observed. The statistics of its
 * procedure, if any, count it. The context of a tag is in the index. Procedures it made have it as
 * their maker. trace_check (check.c) tests the first three. */
#include "runtime/trace/node.h"

/* The list is unordered, and each choice stores its position: the last one moves into a gap, so
 * removal is O(1). */
void choice_add(struct trace *t, struct node *n) {
    if (n->choice != NO_INDEX || !(n->flags & NODE_RANDOM) || (n->flags & NODE_OBSERVED)) return;
    n->choice = (uint32_t)t->choices.n;
    vec_push(&t->choices, n);
    tagctx_register(t, n);
}

void choice_remove(struct trace *t, struct node *n) {
    if (n->choice == NO_INDEX) return;
    tagctx_unregister(t, n);
    vec_swap_out(&t->choices, n->choice)->choice = n->choice;
    n->choice = NO_INDEX;
}

/* Procedures of one maker share their state, so the first one found is enough. It may be in a
 * package (gpmem makes two) or behind a reference. */
struct sp_proc *first_made(value v) {
    if (v.tag == V_PROC) return sp_made_of(v);
    if (v.tag == V_REF) return v.u.ref->node ? NULL : first_made(v.u.ref->v);
    if (v.tag == V_PAIR) return first_made(v.u.pair->first);
    if (v.tag == V_ARRAY && v.u.array->n) return first_made(v.u.array->at[0]);
    return NULL;
}

void set_maker(value v, struct node *maker) {
    struct sp_proc *m = sp_made_of(v);
    if (m)
        m->maker = maker;
    else if (v.tag == V_REF && !v.u.ref->node)
        set_maker(v.u.ref->v, maker);
    else if (v.tag == V_PAIR) {
        set_maker(v.u.pair->first, maker);
        set_maker(v.u.pair->rest, maker);
    } else if (v.tag == V_ARRAY) {
        for (size_t i = 0; i < v.u.array->n; i++) set_maker(v.u.array->at[i], maker);
    }
}

struct node *maker_of(value v) {
    struct sp_proc *m = sp_made_of(v);
    return m ? m->maker : NULL;
}

static bool is_maker(const struct node *n) {
    const struct sp_class *cls = node_class(n);
    return cls && (cls->flags & SP_MAKER);
}

static void node_off(struct trace *t, struct node *n);

/* A memoized family leaves its table while off, so a call with the same arguments makes a new
 * family. It returns when switched on. */
static void family_off(struct trace *t, struct family *f) {
    for (size_t i = f->nodes.n; i-- > 0;) {
        struct node *n = f->nodes.at[i];
        if (n->kind != NODE_CONST && (n->flags & NODE_ON)) node_off(t, n);
    }
    if (f->memo) world_memo_remove(&t->world, f->memo, f->key);
}

static void family_on(struct trace *t, struct family *f) {
    if (f->memo) memo_set_family(world_memo_insert(&t->world, f->memo, f->key), f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind != NODE_CONST) node_on(t, n);
    }
}

void family_drop(struct trace *t, struct family *f, struct tagctx *ctx) {
    if (family_below(t, f)) return; /* it was not counted there, either */
    if (f->own_ctx) memo_part(t, f, ctx);
    if (--f->refs == 0) family_off(t, f);
}

void family_take(struct trace *t, struct family *f, struct tagctx *ctx) {
    if (family_below(t, f)) return; /* counted when the trace becomes whole */
    if (f->refs++ == 0) family_on(t, f);
    if (f->own_ctx) memo_join(t, f, ctx);
}

/* Unregisters, unincorporates and unlinks the node; then its families lose one requester each.
 * Value and structure stay, so off followed by on changes nothing. */
static void node_off(struct trace *t, struct node *n) {
    n->flags &= (uint16_t)~NODE_ON;
    choice_remove(t, n);
    bool recorded = n->flags & NODE_INCORPORATED;
    enum gpm_status st = node_unincorporate(t, n);
    if (st == GPM_OK && recorded) st = carry_weight(t, n);
    core_must(t->core, st, "an application cannot leave its procedure's statistics");
    if (n->flags & NODE_IN_INDEX) tag_leave_index(t, n);
    if (n->kind == NODE_APP && is_maker(n)) set_maker(n->val, NULL);
    node_unlink_all(t, n);
    for (uint32_t i = n->req ? n->req->n_fam : 0; i-- > 0;) family_drop(t, n->req->fam[i], n->ctx);
}

void node_on(struct trace *t, struct node *n) {
    for (uint32_t i = 0; n->req && i < n->req->n_fam; i++) family_take(t, n->req->fam[i], n->ctx);
    node_link_all(t, n);
    if (n->kind == NODE_APP && is_maker(n)) set_maker(n->val, n);
    if (n->kind == NODE_TAG) tag_enter_index(t, n);
    core_must(t->core, node_incorporate(t, n),
              "an application cannot return to its procedure's statistics");
    choice_add(t, n);
    n->flags |= NODE_ON;
}

static void collect_dead(struct family *f, families *dead) {
    if (f->refs || f->dead) return;
    f->dead = true;
    vec_push(dead, f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !n->req) continue;
        for (uint32_t j = 0; j < n->req->n_fam; j++) collect_dead(n->req->fam[j], dead);
    }
}

/* Collects all families reachable from f, whatever their number of requesters. */
static void collect_all(struct trace *t, struct family *f, families *all) {
    if (f->dead || family_below(t, f)) return;
    f->refs = 0;
    f->dead = true;
    vec_push(all, f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !n->req) continue;
        for (uint32_t j = 0; j < n->req->n_fam; j++) collect_all(t, n->req->fam[j], all);
    }
}

void families_find_dead(struct family *const *fam, size_t n, families *dead) {
    for (size_t i = 0; i < n; i++) collect_dead(fam[i], dead);
}

void families_free(struct trace *t, families *dead) {
    for (size_t i = 0; i < dead->n; i++) family_free(t, dead->at[i]);
    if (dead->n) t->structure++;
    vec_release(dead);
}

void families_free_dead(struct trace *t, struct family *const *fam, size_t n) {
    families dead = {0};
    families_find_dead(fam, n, &dead);
    families_free(t, &dead);
}

void families_free_all(struct trace *t) {
    families all = {0};
    for (size_t i = 0; i < t->records.n; i++) collect_all(t, t->records.at[i]->family, &all);
    for (size_t i = 0; i < all.n; i++) family_free(t, all.at[i]);
    vec_release(&all);
}

void request_release(struct trace *t, struct node *n) {
    if (!n->req) return;
    request_clear_parents(t, n);
    for (uint32_t i = n->req->n_fam; i-- > 0;) family_drop(t, n->req->fam[i], n->ctx);
    families_free_dead(t, n->req->fam, n->req->n_fam);
    n->req->n_fam = 0;
}

/* For the cycle collector. A family is owned by its trace alone, whatever the number of
 * requesters. */
static void family_visit(void *family, struct visitor *v) {
    struct family *f = family;
    for (size_t i = 0; i < f->frames.n; i++) v->frame(v, f->frames.at[i]);
    v->value(v, f->key);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        v->value(v, n->val);
        for (uint32_t j = 0; n->kind != NODE_CONST && n->req && j < n->req->n_fam; j++)
            v->part(v, n->req->fam[j], 0, family_visit);
    }
}

static void layer_visit(void *layer, struct visitor *v) {
    trace_visit(layer, v);
}

void trace_visit(struct trace *t, struct visitor *v) {
    for (size_t i = 0; i < t->records.n; i++) v->part(v, t->records.at[i]->family, 0, family_visit);
    for (size_t i = 0; i < t->world.added.n; i++) v->value(v, t->world.added.at[i]->key);
    if (inner(t)->below) v->part(v, inner(t)->below, inner(inner(t)->below)->above, layer_visit);
}
