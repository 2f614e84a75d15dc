/* SPDX-License-Identifier: Apache-2.0
 *
 * A scaffold rebuilt step by step, for sequential Monte Carlo over ordered blocks. Every node of
 * the scaffold belongs to a step (group): a principal to its block's step, any other node to the
 * latest step of its operands. The weight of a step is what absorbs in it. Nodes that a requested
 * family reads are built on demand, before their step if necessary, but weigh in their step.
 *
 * Steps must not depend on the state: otherwise a move and its reverse would use different
 * sequences of targets. So steps are derived from operands alone. The old state can be restored for
 * the first n steps, with what their families read (early), so that a new state can branch off from
 * it.
 *
 * Moving from one state to another costs only the steps in which they differ. Draws are undone back
 * to a mark, and the restored part of the old state (a prefix of the order) grows or shrinks. If an
 * observed end comes earlier than its observation (tangled), the way leads through the empty
 * state. */
#include "runtime/trace/scaffold.h"

#include <math.h>
#include <stdlib.h>

static struct entry *torus_entry(struct scaffold *s, const struct node *n) {
    struct entry *e = n ? entry_of(s, n) : NULL;
    return e && !e->brush ? e : NULL;
}

/* Calls fn for every entry that n reads directly. Operands of a requesting node are fixed, but what
 * its requests lead to depends on the state; `all` includes those. */
typedef void read_fn(struct entry *reader, struct entry *read);

static void each_read(struct scaffold *s, const struct node *n, bool all, struct entry *reader,
                      read_fn *fn) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        struct node *p = n->in[i].node;
        struct entry *e = torus_entry(s, p), *m = torus_entry(s, maker_of(p->val));
        if (e) fn(reader, e);
        if (m) fn(reader, m);
    }
    for (uint32_t i = 0; all && n->req && i < n->req->n_xin; i++) {
        struct entry *e = torus_entry(s, n->req->xin[i].node);
        if (e) fn(reader, e);
    }
}

static void each_read_by_brush(struct scaffold *s, const struct family *f, struct entry *reader,
                               read_fn *fn) {
    if (!family_is_brush(f)) return;
    for (size_t i = 0; i < f->nodes.n; i++) {
        const struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST) continue;
        each_read(s, n, true, reader, fn);
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++)
            each_read_by_brush(s, n->req->fam[j], reader, fn);
    }
}

/* Forwards: a node weighs in the latest step it reads. */
static void not_before(struct entry *reader, struct entry *read) {
    if (read->group > reader->group) reader->group = read->group;
}

/* Forwards: absorbing nodes keep their values; chains of computed values begin at draws. */
static void takes_from(struct entry *reader, struct entry *read) {
    uint32_t low = read->principal >= 0 ? read->group : read->low;
    if (read->role == ROLE_D && low < reader->low) reader->low = low;
}

/* Backwards: when the old state of a step is restored, everything a node in it reads must be
 * restored. */
static void not_after(struct entry *reader, struct entry *read) {
    if (read->early > reader->early) read->early = reader->early;
}

static int by_step(const void *a, const void *b, void *ctx) {
    const struct scaffold *s = ctx;
    const struct entry *x = &s->e.at[*(const uint32_t *)a], *y = &s->e.at[*(const uint32_t *)b];
    if (x->early != y->early) return x->early < y->early ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void sort_by_step(struct scaffold *s, uint32_t *at, size_t n) {
    for (size_t i = 0; i < n; i++) s->e.at[at[i]].rank = (uint32_t)i;
    if (n) qsort_r(at, n, sizeof *at, by_step, s);
}

/* Numbers the steps that hold principals without gaps. A block whose choices are all brush is drawn
 * by whatever requests it. */
static uint32_t number_steps(struct scaffold *s, struct node *const *nodes, const uint32_t *step,
                             size_t n) {
    uint32_t top = 0, used = 0;
    for (size_t i = 0; i < n; i++) top = step[i] > top ? step[i] : top;
    uint32_t *number = mem_zalloc((top + 1) * sizeof *number);
    for (size_t i = 0; i < n; i++) {
        struct entry *e = torus_entry(s, nodes[i]);
        if (e && e->principal >= 0) number[step[i]] = 1;
    }
    for (uint32_t k = 0; k <= top; k++)
        if (number[k]) number[k] = used++;
    for (size_t i = 0; i < n; i++) {
        struct entry *e = torus_entry(s, nodes[i]);
        if (e && e->principal >= 0) e->group = number[step[i]];
    }
    mem_free(number);
    return used;
}

/* group: the step in which a node is drawn and weighs, from operands alone, so equal in every
 * state. early: the step in which the old state needs it, which includes reads of its brush. The
 * torus is sorted by group (early holds group then); `order`, which restores the old state, by
 * early. */
uint32_t scaffold_set_steps(struct scaffold *s, struct node *const *nodes, const uint32_t *step,
                            size_t n) {
    s->by_steps = true;
    scaffold_order(s);
    s->n_steps = number_steps(s, nodes, step, n);
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        each_read(s, e->n, !e->requests, e, not_before);
        e->early = e->low = e->group;
        each_read(s, e->n, true, e, takes_from);
    }
    sort_by_step(s, s->torus.at, s->torus.n);
    for (size_t i = s->order.n; i-- > 0;) {
        struct entry *e = &s->e.at[s->order.at[i]];
        each_read(s, e->n, true, e, not_after);
        for (uint32_t j = 0; e->requests && e->n->req && j < e->n->req->n_fam; j++)
            each_read_by_brush(s, e->n->req->fam[j], e, not_after);
    }
    sort_by_step(s, s->order.at, s->order.n);
    return s->n_steps;
}

/* An end that exists while its observation does not has been put in, or left behind, as a free
 * choice. A later attach cannot build on such a state. */
static void check_end(struct scaffold *s, const struct entry *e) {
    struct node *old = e->obs ? e->obs->old_end : NULL;
    const struct entry *end = torus_entry(s, old);
    if (old && (end ? end->done : old->flags & NODE_ON)) s->tangled = true;
}

/* Takes the old state out again, from the end, down to the first n steps. The weights are already
 * known (held). */
static enum gpm_status take_old_to(struct scaffold *s, uint32_t n) {
    size_t from = s->n_old;
    enum gpm_status st = take_old(s, n, NULL);
    for (size_t i = s->n_old; n && i < from; i++) check_end(s, &s->e.at[s->order.at[i]]);
    return st;
}

/* Grows or shrinks the restored prefix of the old state. A tangled scaffold takes all of it out and
 * puts it in again. */
enum gpm_status scaffold_attach_old(struct scaffold *s, uint32_t n) {
    scaffold_unregen(s);
    enum gpm_status st = take_old_to(s, s->tangled ? 0 : n);
    if (st != GPM_OK) return st;
    size_t end = s->n_old;
    for (; end < s->order.n && s->e.at[s->order.at[end]].early < n; end++)
        if (s->n_old) check_end(s, &s->e.at[s->order.at[end]]);
    if (s->tangled) st = take_old_to(s, 0);
    if (st == GPM_OK) put_old(s, end);
    return st;
}

bool scaffold_tangled(const struct scaffold *s) {
    return s->tangled;
}

size_t scaffold_mark(const struct scaffold *s) {
    return s->new_order.n;
}

/* The torus holds the steps one after another. */
static size_t step_begin(const struct scaffold *s, uint32_t step) {
    size_t low = 0, high = s->torus.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->e.at[s->torus.at[mid]].group < step)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Does the observation moved by this step now end at a node that existed before the step? */
static bool new_end_is_old(struct scaffold *s, const struct entry *e, size_t mark, uint64_t seq) {
    const struct entry *end = torus_entry(s, e->obs->new_end);
    if (!end) return e->obs->new_end->seq < seq;
    for (size_t i = mark; i < s->new_order.n; i++)
        if (&s->e.at[s->new_order.at[i]] == end) return false;
    return true;
}

void find_tangles(struct scaffold *s, size_t mark, uint64_t seq) {
    for (size_t i = mark; i < s->new_order.n; i++) {
        const struct entry *e = &s->e.at[s->new_order.at[i]];
        if (e->obs && e->obs->new_end && new_end_is_old(s, e, mark, seq)) s->tangled = true;
    }
}

enum gpm_status scaffold_regen_step(struct scaffold *s, uint32_t step, double *weight) {
    return regen_range(s, step_begin(s, step), step_begin(s, step + 1), weight);
}

/* A density in step g computed only from draws of step `low` and later differs between states that
 * differ before step k only if low < k <= g. */
bool scaffold_looks_ahead(struct scaffold *s, uint32_t *last) {
    enum { MOST = 4 }; /* average number of steps examined per step */
    size_t sum = 0;
    if (s->tangled || scaffold_has_brush(s)) return false;
    for (uint32_t k = 0; k < s->n_steps; k++) last[k] = k;
    for (size_t i = 0; i < s->torus.n; i++) {
        const struct entry *e = &s->e.at[s->torus.at[i]];
        if (e->op_changed || e->role == ROLE_M || node_is_stateful(e->n)) return false;
        sum += e->group - e->low;
        if (sum > MOST * (s->torus.n + s->n_steps)) return false;
        for (uint32_t k = e->low + 1; k <= e->group; k++)
            if (last[k] < e->group) last[k] = e->group;
    }
    sum = 0;
    for (uint32_t k = 0; k < s->n_steps; k++) sum += last[k] - k;
    return sum <= (size_t)MOST * s->n_steps;
}

enum gpm_status scaffold_regen_given(struct scaffold *s, uint32_t step, const value *values,
                                     double *weight, double *own) {
    size_t from = step_begin(s, step), to = step_begin(s, step + 1);
    s->mode = SCAFFOLD_FIXED;
    s->values = values;
    enum gpm_status st = regen_range(s, from, to, weight);
    s->mode = SCAFFOLD_PRIOR;
    *own = 0;
    for (size_t i = from; s->built && i < to; i++) {
        const struct entry *e = &s->e.at[s->torus.at[i]];
        if (e->principal >= 0) *own += e->drawn;
    }
    if (*weight > -INFINITY) *weight -= *own;
    return st;
}
