/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the scaffold: which nodes change when the principals do (D), which absorb the change
 * (A), which makers absorb it for all their applications (M), and which families lose their last
 * requester (the brush). Then an order of evaluation of what stays.
 *
 *     1. Reach: from the principals along out-edges. A random primitive absorbs and ends the walk,
 *        or is redrawn if it is a function's value at an argument that changes (draws_anew). A
 *        maker that knows the joint density of its data absorbs for all of them. Any other node is
 *        computed from what changed, so it changes and the walk continues.
 *     2. Brush: a D node with new requests loses its families. A family that has lost all
 *        requesters is brush, and its nodes lose their families in turn: trial deletion by counts.
 *        A memoized family with a requester outside stays.
 *     3. Order: what is left (the torus: D, A and M outside the brush), parents first.
 *
 * Invariants: roles only rise, from none to A or M to D. A node reached through its operator cannot
 * absorb, since the density of another procedure does not apply. node->mark is 1 + the entry, so a
 * trace has one scaffold at a time (trace->active). scaffold_end clears every mark and count before
 * anything is freed. Entries do not move or grow after scaffold_build. Time and memory are
 * proportional to the scaffold and its edges, not to the trace (Mansinghka, Selsam and Perov 2014).
 */
#include "runtime/core/pure.h"
#include "runtime/trace/scaffold.h"

#include <stdlib.h>
#include <string.h>

/* Does a change of this operand change the requests, or only the output? The operator decides which
 * body is evaluated, the condition which branch. A memoized call and requesting primitives use
 * operands as keys or pass them by value. An inner run starts over whatever it has read. An operand
 * of a compound call changes no request, since the body's frame refers to the node; but a call held
 * as one node has no body yet. A sequence mapped by index matters only if its length changes
 * (reach_all). */
bool requests_on(const struct node *n, uint32_t slot) {
    if (n->kind == NODE_IF) return slot == 0;
    if (n->kind != NODE_APP) return false;
    if (slot == 0) return true;
    if (slot & XIN) return n->special == SPECIAL_RUN;
    value op = n->in[0].node->val;
    if (memo_of(op)) return true;
    if (closure_of(op)) return n->special != SPECIAL_PURE && !(n->req && n->req->n_fam);
    if (n->flags & NODE_BY_INDEX) return slot == 1;
    const struct sp_class *cls = proc_class(op, NULL);
    return cls && (cls->request || node_calls(n, cls) || n->special == SPECIAL_EVAL ||
                   n->special == SPECIAL_DEREF);
}

static struct entry *entry_make(struct scaffold *s, struct node *n) {
    if (!n->mark) {
        struct entry e = {.n = n, .principal = -1, .old = NIL};
        vec_push(&s->e, e);
        n->mark = (uint32_t)s->e.n;
    }
    return &s->e.at[n->mark - 1];
}

static void push_children(edges *w, const struct node *n) {
    for (uint32_t i = n->n_out; i-- > 0;) vec_push(w, n->out[i]); /* the first is processed first */
}

/* assess reads the parameters of a made procedure, so its value changes even where applications
 * absorb. */
static void push_assessments(edges *w, const struct node *maker) {
    for (uint32_t i = 0; i < maker->n_out; i++) {
        const struct sp_class *cls = node_class(maker->out[i].child);
        if (cls && cls->code == SP_CODE_ASSESS) vec_push(w, maker->out[i]);
    }
}

/* A maker can absorb if only parameters change: not its procedure, nor values it keeps as they are.
 * A closure may change only if the maker calls it for values alone (kernels and means). */
static bool can_absorb_for_applications(const struct node *n, uint32_t slot,
                                        const struct sp_class *cls) {
    if (!cls->aaa || slot == 0 || !first_made(n->val)) return false;
    if (slot & XIN) return true;
    if (slot <= 32 && (cls->aaa->fixed >> (slot - 1) & 1)) return false;
    return (cls->flags & SP_CALLS) || !closure_of(n->in[slot].node->val);
}

/* A call held as one node becomes an ordinary call once names have changed so that it no longer
 * qualifies. */
static void release_held(struct scaffold *s, struct node *n) {
    if (n->special != SPECIAL_PURE) return;
    struct closure *c = closure_of(n->in[0].node->val);
    if (!pure_of(s->t->core, &s->t->world, c)) n->special = SPECIAL_NONE;
}

/* f(x) for a random function f is one choice for each x, like a memoized call. A move may also keep
 * its value for another x. If kept, the densities at both x decide, and where f is well known they
 * hardly ever allow another x. If redrawn, everything computed from it changes. Both leave the
 * posterior invariant. MAY_REDRAW tosses a coin between them whenever there is such a value. */
static bool draws_anew(struct scaffold *s, const struct node *n, const struct sp_class *cls) {
    if (s->at_input == HOLDS || !(cls->flags & SP_AT_INPUT) || (n->flags & NODE_OBSERVED))
        return false;
    if (s->at_input == MAY_REDRAW) s->at_input = rng_uniform(&s->t->rng) < 0.5 ? REDRAWS : HOLDS;
    s->has_brush |= s->at_input == REDRAWS;
    return s->at_input == REDRAWS;
}

/* The edge (n, slot) comes from a node that changes. A map by index does not look at the elements
 * of its sequences; their change reaches it through the roots of its families. */
static void reach(struct scaffold *s, edges *w, struct node *n, uint32_t slot) {
    if (maps_over(n, slot)) {
        vec_push(&s->maps, n);
        return;
    }
    release_held(s, n);
    struct entry *e = entry_make(s, n);
    const struct sp_class *cls = node_class(n);
    bool op_changed = n->kind == NODE_APP && slot == 0;
    if (cls && !op_changed && e->principal < 0) {
        bool random = n->flags & NODE_RANDOM;
        if (random && !draws_anew(s, n, cls)) {
            if (e->role == ROLE_NONE) e->role = ROLE_A;
            return;
        }
        if (!random && can_absorb_for_applications(n, slot, cls)) {
            if (e->role == ROLE_NONE) {
                e->role = ROLE_M;
                push_assessments(w, n);
            }
            e->requests |= requests_on(n, slot);
            return;
        }
    }
    e->op_changed |= op_changed;
    e->requests |= requests_on(n, slot);
    if (e->role == ROLE_D) return;
    e->role = ROLE_D;
    push_children(w, n);
}

/* Finds everything that changes. Maps whose sequences may change length request their families
 * again, which may change the sequences of further maps. */
static void reach_all(struct scaffold *s, edges *w) {
    while (w->n || s->maps.n) {
        while (w->n) {
            struct out_edge o = vec_pop(w);
            reach(s, w, o.child, o.slot);
        }
        size_t kept = maps_that_keep(s);
        if (kept == s->maps.n) break;
        for (; s->maps.n > kept; s->maps.n--) {
            struct node *n = vec_last(&s->maps);
            struct entry *e = entry_make(s, n);
            e->requests = true;
            if (e->role != ROLE_D) push_children(w, n);
            e->role = ROLE_D;
        }
    }
    vec_clear(&s->maps);
}

static void lose_requests(struct scaffold *s, struct node *n);

/* Subtracts one requester in this proposal's count (f->lost). The trace itself is unchanged until
 * detach. */
static void lose_family(struct scaffold *s, struct family *f) {
    if (!f->lost) vec_push(&s->touched, f);
    if (++f->lost != f->refs) return;
    s->has_brush = true;
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST) continue;
        struct entry *e = entry_of(s, n);
        if (e) e->brush = true;
        lose_requests(s, n);
    }
}

static void lose_requests(struct scaffold *s, struct node *n) {
    struct entry *e = entry_of(s, n);
    if (e) {
        if (e->requests_lost) return;
        e->requests_lost = true;
    }
    for (uint32_t i = 0; n->req && i < n->req->n_fam; i++) lose_family(s, n->req->fam[i]);
}

static void visit(struct scaffold *s, struct node *n);

static void visit_parents(struct scaffold *s, struct node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        struct node *p = n->in[i].node;
        visit(s, p);
        struct node *maker = inner(s->t)->makers ? maker_of(p->val) : NULL;
        if (maker) visit(s, maker);
    }
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++) visit(s, n->req->xin[i].node);
}

static void visit_brush(struct scaffold *s, struct family *f) {
    if (!family_is_brush(f)) return;
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST) continue;
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++) visit_brush(s, n->req->fam[j]);
        visit_parents(s, n);
    }
}

/* Post-order over the torus: parents, then what the node's brush reads, then the node. Creation
 * order (seq) would be wrong, because a family evaluated again is younger than the nodes that read
 * it. */
static void visit(struct scaffold *s, struct node *n) {
    struct entry *e = entry_of(s, n);
    if (!e || e->brush || e->ordered) return;
    e->ordered = true;
    visit_parents(s, n);
    for (uint32_t i = 0; e->requests && n->req && i < n->req->n_fam; i++)
        visit_brush(s, n->req->fam[i]);
    vec_push(&s->order, n->mark - 1);
}

struct aged {
    uint64_t seq;
    uint32_t entry;
};

static int by_seq(const void *a, const void *b) {
    uint64_t x = ((const struct aged *)a)->seq, y = ((const struct aged *)b)->seq;
    return x < y ? -1 : x > y;
}

enum { FEW = 64 };

/* Numbers are distinct, so any sorting method gives the same order. Children are found in creation
 * order, so the array has few ascending runs. Each is merged into the sorted part before it. */
static void sort_few(struct aged *a, size_t n) {
    struct aged before[FEW];
    for (size_t begin = 1, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && a[end - 1].seq < a[end].seq;) end++;
        if (a[begin - 1].seq < a[begin].seq) continue;
        size_t from = begin; /* elements below the whole run stay */
        while (from > 0 && a[from - 1].seq > a[begin].seq) from--;
        size_t k = begin - from, i = 0, j = begin;
        memcpy(before, a + from, k * sizeof *a);
        for (size_t to = from; i < k; to++)
            a[to] = j == end || before[i].seq < a[j].seq ? before[i++] : a[j++];
    }
}

/* Most scaffolds have a few dozen entries, too few for a library sort. */
static void sort_by_seq(struct scaffold *s) {
    size_t n = s->torus.n;
    uint32_t *at = s->torus.at;
    struct aged few[FEW], *a = n <= FEW ? few : NEW_ARRAY(struct aged, n);
    for (size_t i = 0; i < n; i++) a[i] = (struct aged){s->e.at[at[i]].n->seq, at[i]};
    if (n <= FEW)
        sort_few(a, n);
    else
        qsort(a, n, sizeof *a, by_seq);
    for (size_t i = 0; i < n; i++) at[i] = a[i].entry;
    if (a != few) mem_free(a);
}

/* Sorts the torus by age, and `order` from it if needed. The order does not depend on how the
 * scaffold was reached, so runs with one seed agree. */
static void order_torus(struct scaffold *s) {
    for (size_t i = 0; i < s->e.n; i++)
        if (!s->e.at[i].brush) vec_push(&s->torus, (uint32_t)i);
    sort_by_seq(s);
}

void scaffold_order(struct scaffold *s) {
    if (s->order.n) return;
    for (size_t i = 0; i < s->torus.n; i++) visit(s, s->e.at[s->torus.at[i]].n);
}

/* A trace keeps the memory of one small scaffold for the next transition. */
static struct scaffold *scaffold_new(struct trace *t) {
    struct scaffold *s = inner(t)->spare;
    if (!s) {
        s = NEW(struct scaffold);
        s->t = t;
        return s;
    }
    inner(t)->spare = NULL;
    vec_clear(&s->e);
    vec_clear(&s->torus);
    vec_clear(&s->order);
    vec_clear(&s->new_order);
    vec_clear(&s->touched);
    vec_clear(&s->principals);
    vec_clear(&s->maps);
    memset(&s->mode, 0, sizeof *s - offsetof(struct scaffold, mode));
    return s;
}

static struct scaffold *build(struct trace *t, struct node *const *principals, size_t n,
                              bool may_redraw) {
    struct scaffold *s = scaffold_new(t);
    if (may_redraw) s->at_input = MAY_REDRAW;
    edges *w = &s->walk;
    trace_settle(t);
    /* Settles compiled steps first, since the walk reads the nodes. */
    for (size_t i = 0; i < n; i++) {
        struct entry *e = entry_make(s, principals[i]);
        if (e->principal >= 0) continue;
        e->principal = (int32_t)i;
        e->role = ROLE_D;
    }
    for (size_t i = 0; i < n; i++) push_children(w, principals[i]);
    reach_all(s, w);
    for (size_t i = 0; i < s->e.n; i++)
        if (s->e.at[i].role == ROLE_D && s->e.at[i].requests) lose_requests(s, s->e.at[i].n);
    for (size_t i = 0; i < n; i++) { /* a principal inside another's brush is not a principal */
        struct entry *e = entry_of(s, principals[i]);
        if (e->brush || e->principal != (int32_t)i) continue;
        e->principal = (int32_t)s->principals.n;
        vec_push(&s->principals, principals[i]);
    }
    order_torus(s);
    s->n_steps = 1;
    inner(t)->active = s;
    return s;
}

struct scaffold *scaffold_build(struct trace *t, struct node *const *principals, size_t n) {
    return build(t, principals, n, false);
}

struct scaffold *scaffold_build_redrawing(struct trace *t, struct node *const *principals,
                                          size_t n) {
    return build(t, principals, n, true);
}

void scaffold_release(struct scaffold *s) {
    if (!s) return;
    vec_release(&s->e);
    vec_release(&s->torus);
    vec_release(&s->order);
    vec_release(&s->new_order);
    vec_release(&s->touched);
    vec_release(&s->principals);
    vec_release(&s->maps);
    vec_release(&s->walk);
    mem_free(s);
}

static void observed_root_free(struct observed_root *o) {
    if (!o) return;
    value_unref(o->seen);
    mem_free(o);
}

void scaffold_end(struct scaffold *s) {
    enum { KEPT = 1024 };
    struct inner *in = inner(s->t);
    for (size_t i = 0; i < s->e.n; i++) {
        s->e.at[i].n->mark = 0;
        value_unref(s->e.at[i].old);
        observed_root_free(s->e.at[i].obs);
    }
    for (size_t i = 0; i < s->touched.n; i++) s->touched.at[i]->lost = 0;
    in->active = NULL;
    if (!in->spare && s->e.cap <= KEPT && s->touched.cap <= KEPT && s->walk.cap <= KEPT)
        in->spare = s;
    else
        scaffold_release(s);
}

size_t scaffold_n_principals(const struct scaffold *s) {
    return s->principals.n;
}

struct node *scaffold_principal(const struct scaffold *s, size_t i) {
    return s->principals.at[i];
}

value scaffold_old_value(const struct scaffold *s, size_t i) {
    struct entry *e = &s->e.at[s->principals.at[i]->mark - 1];
    return s->detached ? e->old : e->n->val;
}

struct node *scaffold_rebuilds(const struct scaffold *s) {
    for (size_t i = 0; i < s->torus.n; i++) {
        const struct entry *e = &s->e.at[s->torus.at[i]];
        const struct request *old = e->old_req ? e->old_req : e->n->req;
        if (e->role == ROLE_D && e->requests && old && old->n_fam) return e->n;
    }
    return NULL;
}

/* Is anything evaluated again? Families kept alive by other requesters count, too. So both states
 * of a move give the same answer. */
bool scaffold_has_brush(const struct scaffold *s) {
    return s->has_brush || scaffold_rebuilds(s);
}
