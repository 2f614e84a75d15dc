/* SPDX-License-Identifier: Apache-2.0
 * Kernels of rank one, K(x, x') = phi(x) phi(x'); contracts in kern_plan.h. */
#include "gp/kernel/kern_plan.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

bool kern_rank_one(const struct kern *k) {
    switch (k->op) {
    case KERN_LEAF: return (kern_is_line(k) || kern_is_constant(k)) && kern_amplitude(k) > 0;
    case KERN_PRODUCT:
        for (size_t i = 0; i < k->nkids; i++)
            if (!kern_rank_one(k->kid[i])) return false;
        return true;
    default: return false;
    }
}

/* Products are flat, so their kids are leaves. */
static size_t nleaves(const struct plan_node *q) {
    return q->k->op == KERN_PRODUCT ? q->nkids : 1;
}
static const struct plan_node *leaf_at(const struct plan_node *q, size_t i) {
    return q->k->op == KERN_PRODUCT ? q->kid[i] : q;
}

static void times_leaf(const struct plan *p, const struct plan_node *leaf, double *v) {
    p->v->scale(p->rows.n, sqrt(leaf->amp), v);
    if (leaf->nf) p->v->mul(p->rows.n, leaf->row_f, v);
}

void plan_phi(struct plan *p, const struct plan_node *q, double *phi) {
    for (size_t i = 0; i < p->rows.n; i++) phi[i] = 1;
    for (size_t c = 0; c < nleaves(q); c++) times_leaf(p, leaf_at(q, c), phi);
}

static void leaf_grad(struct plan *p, const struct plan_node *q, const double *w, double *g) {
    size_t n = p->rows.n;
    double own[KERN_MAX_PAR] = {0}, a = sqrt(q->amp);
    double total = a * (q->nf ? p->v->dot(n, w, q->row_f) : p->v->sum(n, w));
    own[0] = (q->k->cls->amp == KERN_AMP_SQUARE ? 1 : 0.5) * total / q->k->par[0];
    for (size_t c = 1; c < q->k->npar; c++) /* the derivatives follow the feature; x - c has -1 */
        own[c] = a * (q->k->cls->weight ? p->v->dot(n, w, q->row_f + c * n) : -p->v->sum(n, w));
    plan_deliver(q, own, g);
}

void plan_phi_grad(struct plan *p, const struct plan_node *q, const double *w, double *g) {
    double *rest = NEW_ARRAY(double, p->rows.n + 1);
    for (size_t c = 0; c < nleaves(q); c++) {
        memcpy(rest, w, p->rows.n * sizeof *rest);
        for (size_t o = 0; o < nleaves(q); o++)
            if (o != c) times_leaf(p, leaf_at(q, o), rest);
        leaf_grad(p, leaf_at(q, c), rest, g);
    }
    mem_free(rest);
}
