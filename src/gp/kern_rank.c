/* SPDX-License-Identifier: Apache-2.0
 * Kernels of rank one, K(x, x') = phi(x) phi(x'); contracts in kern_plan.h. */
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

bool kern_rank_one(const struct kern *k) {
    if (k->op == KERN_ALIAS) k = k->kid[0];
    switch (k->op) {
    case KERN_LEAF: return (kern_is_line(k) || kern_is_constant(k)) && kern_amplitude(k) > 0;
    case KERN_PRODUCT:
        for (size_t i = 0; i < k->nkids; i++)
            if (!kern_rank_one(k->kid[i])) return false;
        return true;
    default: return false;
    }
}

void plan_phi(struct plan *p, const struct plan_node *q, double *phi) {
    size_t n = p->rows.n;
    if (q->k->op == KERN_LEAF) {
        double a = sqrt(q->amp);
        for (size_t i = 0; i < n; i++) phi[i] = q->nf ? a * q->row_f[i] : a;
        return;
    }
    double *other = NEW_ARRAY(double, n);
    plan_phi(p, q->kid[0], phi);
    for (size_t c = 1; c < q->nkids; c++) {
        plan_phi(p, q->kid[c], other);
        p->v->mul(n, other, phi);
    }
    mem_free(other);
}

static void leaf_grad(struct plan *p, const struct plan_node *q, double *w, double *g) {
    size_t n = p->rows.n;
    double gb[KERN_MAX_PAR] = {0}, a = sqrt(q->amp), total = 0;
    for (size_t i = 0; i < n; i++) total += a * w[i] * (q->nf ? q->row_f[i] : 1);
    gb[0] = (q->k->cls->amp == KERN_AMP_SQUARE ? 1 : 0.5) * total / q->k->par[0];
    for (size_t c = 1; c < q->k->npar; c++) /* the derivatives follow the feature; x - c has -1 */
        gb[c] = a * (q->k->cls->weight ? p->v->dot(n, w, q->row_f + c * n) : -p->v->sum(n, w));
    plan_deliver(q, gb, g);
}

static void product_grad(struct plan *p, const struct plan_node *q, const double *w, double *g) {
    size_t n = p->rows.n;
    double *rest = NEW_ARRAY(double, n), *phi = NEW_ARRAY(double, n);
    for (size_t c = 0; c < q->nkids; c++) {
        memcpy(rest, w, n * sizeof *rest);
        for (size_t o = 0; o < q->nkids; o++) {
            if (o == c) continue;
            plan_phi(p, q->kid[o], phi);
            p->v->mul(n, phi, rest);
        }
        plan_phi_grad(p, q->kid[c], rest, g);
    }
    mem_free(rest);
    mem_free(phi);
}

void plan_phi_grad(struct plan *p, const struct plan_node *q, double *w, double *g) {
    if (q->k->op == KERN_LEAF)
        leaf_grad(p, q, w, g);
    else
        product_grad(p, q, w, g);
}
