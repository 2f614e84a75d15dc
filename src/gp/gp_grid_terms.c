/* SPDX-License-Identifier: Apache-2.0
 * The terms of a kernel as the grid engine sees them; contracts in gp_grid.h. */
#include "gp/gp_grid.h"

#include "gp/kern_tree.h"

/* A Wiener process, perhaps times constants. */
static const struct kern *walk_of(const struct kern *k, double *amp) {
    const struct kern *walk = NULL;
    size_t n = kern_nparts(k, KERN_PRODUCT);
    *amp = 1;
    for (size_t i = 0; i < n; i++) {
        const struct kern *f = kern_part(k, KERN_PRODUCT, i);
        if (f->op != KERN_LEAF || (!kern_is_constant(f) && (!f->cls->walk || walk))) return NULL;
        if (f->cls->walk) walk = f;
        *amp *= kern_amplitude(f);
        if (n > 1 && kern_amplitude(f) == 0) return NULL; /* its derivative would be 0 / 0 */
    }
    return walk;
}

bool grid_sort(const struct kern *k, size_t at, double x0, struct grid_term *out) {
    *out = (struct grid_term){.k = k, .at = at};
    const struct kern *walk = walk_of(k, &out->amp);
    if (walk) {
        out->kind = GRID_WALK;
        out->order = walk->cls->walk;
        out->since = x0 - walk->par[1];
        return out->since >= 0;
    }
    if (kern_is_constant(k) || kern_is_white(k)) {
        out->kind = kern_is_constant(k) ? GRID_CONSTANT : GRID_WHITE;
        out->amp = kern_amplitude(k);
        return true;
    }
    out->kind = k->stationary && !k->callback ? GRID_STATIONARY : GRID_RANK_ONE;
    return out->kind == GRID_STATIONARY || kern_rank_one(k);
}

/* d(amplitude of k)/d(its parameter 0) times rest, into g. */
static void amp_slope(const struct kern *k, double rest, double *g) {
    if (k->cls->amp == KERN_AMP_SQUARE) *g += 2 * k->par[0] * rest;
    if (k->cls->amp == KERN_AMP_LINEAR) *g += rest;
}

void grid_amp_grad(const struct grid_term *t, double unit, double *g) {
    g += t->at;
    if (t->k->op == KERN_LEAF) {
        amp_slope(t->k, unit, g);
        return;
    }
    for (size_t i = 0; i < t->k->nkids; g += t->k->kid[i++]->total)
        amp_slope(t->k->kid[i], unit * t->amp / kern_amplitude(t->k->kid[i]), g);
}
