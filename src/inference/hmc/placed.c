/* SPDX-License-Identifier: Apache-2.0
 *
 * See placed.h; the formulas are those of constrain.h. */
#include "inference/hmc/placed.h"

#include "inference/run/infer.h"
#include <math.h>
#include <string.h>

/* The interval of number k of part i; a NULL end is the support's. False: the interval is empty;
 * the density reports that. */
static bool ends_at(const struct continuous_part *p, const double *lo, const double *hi, size_t k,
                    struct constraint *out) {
    *out = p->to;
    out->n_x = out->n_z = 1;
    if (lo) out->lo = lo[k];
    if (hi) out->hi = hi[k];
    return out->lo < out->hi;
}

static struct centring centring_at(const struct continuous *c, const struct continuous_part *p,
                                   const double *m, const double *s, size_t k) {
    double by = c->by ? c->by[p->z0 + k] : 1;
    return (struct centring){s[k] > 0 ? by : 1, m[k], s[k]};
}

/* x for z in place; log |dx/dz|. */
static double to_x(const struct continuous *c, size_t i, const double *a, const double *b,
                   double *x) {
    const struct continuous_part *p = &c->part[i];
    struct constraint ends;
    double sum = 0;
    for (size_t k = 0; k < p->to.n_x; k++)
        if (p->place == PLACE_PREDICTED)
            x[k] = a[k] + b[k] * x[k]; /* the density of z accounts for this (place.c) */
        else if (p->place == PLACE_CENTRED) {
            struct centring how = centring_at(c, p, a, b, k);
            x[k] = centring_to_x(how, x[k]);
            sum += centring_log_slope(how);
        } else if (ends_at(p, a, b, k, &ends)) {
            double z = x[k];
            sum += constraint_to_x(&ends, &z, &x[k]);
        }
    return sum;
}

static bool to_z(const struct continuous *c, size_t i, const double *a, const double *b,
                 const double *x, double *z) {
    const struct continuous_part *p = &c->part[i];
    struct constraint ends;
    bool ok = true;
    for (size_t k = 0; k < p->to.n_x; k++)
        if (p->place == PLACE_PREDICTED)
            z[k] = (x[k] - a[k]) / b[k];
        else if (p->place == PLACE_CENTRED)
            z[k] = centring_to_z(centring_at(c, p, a, b, k), x[k]);
        else if (ends_at(p, a, b, k, &ends))
            ok &= constraint_to_z(&ends, &x[k], &c->t->rng, &z[k]);
        else {
            ok = false;
            z[k] = 0.1;
        }
    return ok;
}

/* ---- callbacks of the model (struct placing) ---- */

static void keep_arguments(struct continuous *c, size_t i, const double *a, const double *b) {
    const struct continuous_part *p = &c->part[i];
    if (a) memcpy(c->last[0] + p->x0, a, p->to.n_x * sizeof *a);
    if (b) memcpy(c->last[1] + p->x0, b, p->to.n_x * sizeof *b);
}

static void unplace(void *ctx, size_t i, const double *a, const double *b, const double *x) {
    struct continuous *c = ctx;
    (void)to_z(c, i, a, b, x, c->found + c->part[i].x0);
}

static void place(void *ctx, size_t i, const double *a, const double *b, double *x) {
    struct continuous *c = ctx;
    keep_arguments(c, i, a, b);
    if (c->part[i].given)
        unplace(c, i, a, b, x);
    else
        c->log_slope[i] = to_x(c, i, a, b, x);
}

static void pull(void *ctx, size_t i, const double *a, const double *b, const double *x,
                 double *adj, double *da, double *db) {
    struct continuous *c = ctx;
    const struct continuous_part *p = &c->part[i];
    const double *z = c->at_z + p->z0;
    struct constraint ends;
    for (size_t k = 0; k < p->to.n_x; k++) {
        da[k] = db[k] = 0;
        if (p->place == PLACE_PREDICTED) { /* density -z^2 / 2, and the value moves by c->scale z */
            da[k] = adj[k];
            db[k] = adj[k] * z[k];
            adj[k] = adj[k] * c->last[1][p->x0 + k] - z[k];
        } else if (p->place == PLACE_CENTRED)
            centring_pull(centring_at(c, p, a, b, k), x[k], &adj[k], &da[k], &db[k]);
        else if (ends_at(p, a, b, k, &ends)) {
            double g = adj[k];
            constraint_pull_ends(&ends, z[k], g, true, &da[k], &db[k]);
            constraint_pull(&ends, &z[k], &x[k], &g, true, &adj[k]);
        }
    }
}

/* ---- the parts ---- */

void placed_new(struct continuous *c) {
    size_t longest = 1;
    for (size_t i = 0; i < c->n_parts; i++)
        if (c->part[i].to.n_x > longest) longest = c->part[i].to.n_x;
    c->placed = mem_zalloc((c->n_parts + 1) * sizeof *c->placed);
    c->found = mem_zalloc((5 * c->n_x + c->n_parts + 4 * longest + 1) * sizeof(double));
    double *room = c->found + c->n_x;
    for (size_t k = 0; k < 2; k++) {
        c->standing[k] = room + 2 * k * c->n_x;
        c->last[k] = c->standing[k] + c->n_x;
    }
    c->log_slope = room + 4 * c->n_x;
    c->placing = (struct placing){c, c->placed, c->log_slope + c->n_parts, place, pull, unplace};
}

void placed_free(struct continuous *c) {
    mem_free(c->placed);
    mem_free(c->found);
    c->placed = NULL;
    c->found = NULL;
}

void placed_set(struct continuous *c, size_t i, bool on) {
    const struct continuous_part *p = &c->part[i];
    bool predicted = p->place == PLACE_PREDICTED;
    c->placed[i] = (struct placed){
        on ? p->to.n_x : 0, p->x0, {predicted ? 1 : p->arg[0], p->arg[1]}, p->slopes};
}

/* NULL if no argument gives that end. */
static const double *standing(const struct continuous *c, size_t i, size_t k) {
    return c->part[i].arg[k] ? c->standing[k] + c->part[i].x0 : NULL;
}

bool placed_standing(struct continuous *c, size_t i, const double *x, double *z) {
    return to_z(c, i, standing(c, i, 0), standing(c, i, 1), x, z);
}

double placed_at_standing(const struct continuous *c, size_t i, double *x) {
    if (c->part[i].slopes) return 0;
    return to_x(c, i, standing(c, i, 0), standing(c, i, 1), x);
}

double placed_log_slopes(const struct continuous *c) {
    double sum = 0;
    for (size_t i = 0; c->placed && i < c->n_parts; i++)
        if (c->placed[i].n) sum += c->log_slope[i];
    return sum;
}
