/* SPDX-License-Identifier: Apache-2.0
 * Kernels of rank one, K(x, x') = phi(x) phi(x'); contracts in kern_plan.h. */
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

static bool constant(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_CONST;
}

bool kern_rank_one(const struct kern *k) {
    if (k->op == KERN_ALIAS) k = k->kid[0];
    switch (k->op) {
    case KERN_LEAF: return (k->cls->rank_one || constant(k)) && kern_amplitude(k) > 0;
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
    double gb[KERN_MAX_PAR] = {0}, a = sqrt(q->amp), total = 0;
    for (size_t i = 0; i < p->rows.n; i++) total += a * w[i] * (q->nf ? q->row_f[i] : 1);
    p->v->scale(p->rows.n, a, w);
    if (q->k->cls->feature_grad) q->k->cls->feature_grad(q->k, p->rows, w, gb);
    if (q->k->cls->amp == KERN_AMP_SQUARE) gb[0] = total / q->k->par[0];
    if (q->k->cls->amp == KERN_AMP_LINEAR) gb[0] = 0.5 * total / q->k->par[0];
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
