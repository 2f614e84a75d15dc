/* SPDX-License-Identifier: Apache-2.0
 *
 * A scaffold rebuilt step by step, for sequential Monte Carlo over ordered blocks. Every node of
 * the scaffold belongs to a step: a principal to its block's, anything else to the latest of what
 * it reads. The weight of a step is what absorbs in it; it depends on the blocks up to that step
 * only. The old state can be put back for the first steps alone, so that a new state can branch off
 * from it. */
#include "trace/scaffold.h"

#include <math.h>
#include <stdlib.h>

static void read_step(struct scaffold *s, const struct node *p, uint32_t *g) {
    struct entry *e = entry_of(s, p);
    if (e && !e->brush && e->group > *g) *g = e->group;
    struct node *maker = maker_of(p->val);
    e = maker ? entry_of(s, maker) : NULL;
    if (e && !e->brush && e->group > *g) *g = e->group;
}

static void read_steps(struct scaffold *s, const struct node *n, uint32_t *g) {
    for (uint32_t i = 0; i < n->n_in; i++) read_step(s, n->in[i].node, g);
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++) read_step(s, n->req->xin[i].node, g);
}

static void read_brush_steps(struct scaffold *s, const struct family *f, uint32_t *g) {
    if (!family_is_brush(f)) return;
    for (size_t i = 0; i < f->nodes.n; i++) {
        const struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST) continue;
        read_steps(s, n, g);
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++)
            read_brush_steps(s, n->req->fam[j], g);
    }
}

static int by_step(const void *a, const void *b, void *ctx) {
    const struct scaffold *s = ctx;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct entry *x = &s->e.at[i], *y = &s->e.at[j];
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void sort_by_step(struct scaffold *s, uint32_t *at, size_t n) {
    for (size_t i = 0; i < n; i++) s->e.at[at[i]].rank = (uint32_t)i;
    if (n) qsort_r(at, n, sizeof *at, by_step, s);
}

void scaffold_set_steps(struct scaffold *s, struct node *const *nodes, const uint32_t *step,
                        size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct entry *e = entry_of(s, nodes[i]);
        if (e && e->principal >= 0) e->group = step[i];
    }
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        read_steps(s, e->n, &e->group);
        for (uint32_t j = 0; e->requests && e->n->req && j < e->n->req->n_fam; j++)
            read_brush_steps(s, e->n->req->fam[j], &e->group);
    }
    sort_by_step(s, s->order.at, s->order.n);
    sort_by_step(s, s->torus.at, s->torus.n);
}

enum gpm_status scaffold_detach_steps(struct scaffold *s, double *weights, uint32_t n_steps) {
    s->mode = SCAFFOLD_PRIOR;
    s->detached = true;
    for (uint32_t i = 0; i < n_steps; i++) weights[i] = 0;
    for (size_t i = s->order.n; i-- > 0;) {
        struct entry *e = &s->e.at[s->order.at[i]];
        enum gpm_status st = detach_entry(s, e, &weights[e->group]);
        if (st == GPM_OK) continue;
        for (size_t j = i + 1; j-- > 0;) s->e.at[s->order.at[j]].ordered = false;
        scaffold_restore(s);
        return st;
    }
    return GPM_OK;
}

void scaffold_attach_old(struct scaffold *s, uint32_t n) {
    s->weight = 0;
    for (size_t i = 0; i < s->e.n; i++) s->e.at[i].done = false;
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->group < n && e->old_end) e->old_end->flags |= NODE_OBSERVED;
    }
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->group >= n) break;
        restore_entry(s, e);
        e->done = true;
    }
}

enum gpm_status scaffold_detach_old(struct scaffold *s, uint32_t n) {
    double ignored = 0;
    s->mode = SCAFFOLD_PRIOR;
    for (size_t i = s->order.n; i-- > 0;) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->group >= n) continue;
        enum gpm_status st = detach_entry(s, e, &ignored);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

enum gpm_status scaffold_regen_step(struct scaffold *s, uint32_t step, double *weights) {
    s->mode = SCAFFOLD_PRIOR;
    s->values = NULL;
    s->by_group = weights;
    s->built = true;
    size_t n_diags = s->t->core->diags->list.n;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < s->torus.n && st == GPM_OK; i++)
        if (s->e.at[s->torus.at[i]].group == step) st = regen_entry(s, s->torus.at[i]);
    s->by_group = NULL;
    if (st == GPM_OK) return st;
    scaffold_unregen(s);
    if (!regen_failed_softly(s, n_diags)) return st;
    weights[step] = -INFINITY;
    return GPM_OK;
}
