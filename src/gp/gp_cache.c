/* SPDX-License-Identifier: Apache-2.0
 * Cache of term matrices; see gp_cache.h. */
#include "gp/gp_cache.h"

#include "gp/kern_tree.h"
#include "gp/kern_plan.h"

#include "base/mem.h"
#include "base/vec.h"
#include "la/vec.h"

#include <string.h>

#define MAX_ENTRIES 24
#define LEAST       24 /* points; smaller matrices are filled sooner than looked up */

void gp_cache_init(struct gp_cache *c) {
    memset(c, 0, sizeof *c);
    c->budget = (size_t)128 << 20;
    c->slot = mem_zalloc(MAX_ENTRIES * sizeof *c->slot);
}

static size_t bytes_of(size_t n) {
    return n * (n > 0 ? n - 1 : 0) / 2 * sizeof(double);
}

static void drop(struct gp_cache *c, size_t i) {
    if (c->slot[i].a) c->used -= bytes_of(c->points);
    mem_free(c->slot[i].a);
    kern_unref(c->slot[i].key);
    c->slot[i] = c->slot[--c->n];
}

void gp_cache_clear(struct gp_cache *c) {
    while (c->n) drop(c, c->n - 1);
    c->used = 0;
}

void gp_cache_release(struct gp_cache *c) {
    gp_cache_clear(c);
    mem_free(c->slot);
}

static size_t oldest(const struct gp_cache *c, bool with_matrix) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < c->n; i++)
        if ((!with_matrix || c->slot[i].a) &&
            (best == SIZE_MAX || c->slot[i].stamp < c->slot[best].stamp))
            best = i;
    return best;
}

static struct gp_cached *find(struct gp_cache *c, const struct kern *key) {
    for (size_t i = 0; i < c->n; i++)
        if (kern_equal(c->slot[i].key, key)) return &c->slot[i];
    return NULL;
}

/* ---- terms ---- */

struct part {
    struct kern *unit;
    double coef;
    const double *a; /* cached matrix, or NULL */
};
typedef VEC(struct part) part_list;

static bool dear(const struct kern *k) {
    if (k->op == KERN_LEAF)
        return k->cls->algebra == KERN_ALG_OPAQUE
                   ? k->cls->npar > 2
                   : k->cls->algebra == KERN_ALG_SE || k->cls->algebra == KERN_ALG_STAT;
    if (k->op == KERN_CALLBACK) return true;
    for (size_t i = 0; i < k->nkids; i++)
        if (dear(k->kid[i])) return true;
    return false;
}

static struct kern *unit_leaf(const struct kern *k, double *coef) {
    if (k->op != KERN_LEAF || k->cls->amp == KERN_AMP_NONE) return kern_ref(k);
    *coef *= kern_amplitude(k);
    return kern_with_first(k, 1);
}

static struct kern *unit_term(const struct kern *k, double *coef) {
    *coef = 1;
    if (k->op != KERN_PRODUCT) return unit_leaf(k, coef);
    struct kern **kids = NEW_ARRAY(struct kern *, k->nkids);
    for (size_t i = 0; i < k->nkids; i++) kids[i] = unit_leaf(k->kid[i], coef);
    struct kern *u = kern_nary(KERN_PRODUCT, kids, k->nkids);
    for (size_t i = 0; i < k->nkids; i++) kern_unref(kids[i]);
    mem_free(kids);
    return u;
}

/* Computes the matrix of a unit kernel into fresh memory; NULL when it does not fit the budget. */
static double *compute(struct gp_cache *c, const struct kern *unit, struct kern_pts x,
                       enum gpm_status *st) {
    size_t need = bytes_of(x.n);
    if (need > c->budget) return NULL;
    while (c->used + need > c->budget) {
        size_t i = oldest(c, true);
        if (i == SIZE_MAX || c->slot[i].stamp > c->start) return NULL; /* all in use */
        drop(c, i);
    }
    double *a = mem_try_doubles(need / sizeof(double)), *to = a;
    struct plan p;
    if (!a) return NULL;
    *st = plan_init(&p, unit, x, x, true);
    for (size_t j = 0; j + 1 < x.n && !*st; j++) {
        *st = plan_values(&p, j, j + 1, to);
        to += x.n - j - 1;
    }
    plan_release(&p);
    if (!*st) return a;
    mem_free(a);
    return NULL;
}

static const double *lookup(struct gp_cache *c, const struct kern *unit, struct kern_pts x,
                            enum gpm_status *st) {
    struct gp_cached *e = find(c, unit);
    c->clock++;
    if (!e) {
        size_t old = c->n == MAX_ENTRIES ? oldest(c, false) : SIZE_MAX;
        if (old != SIZE_MAX && c->slot[old].stamp > c->start) return NULL;
        if (old != SIZE_MAX) drop(c, old);
        c->slot[c->n++] = (struct gp_cached){kern_ref(unit), NULL, c->clock};
        return NULL;
    }
    e->stamp = c->clock;
    if (e->a) return e->a;
    double *a = compute(c, unit, x, st); /* may move entries */
    if (!a) return NULL;
    e = find(c, unit);
    e->a = a;
    c->used += bytes_of(x.n);
    return a;
}

/* Splits the kernel into cached parts and the kernel of the rest (NULL: nothing is left). */
static struct kern *split(struct gp_cache *c, const struct kern *k, struct kern_pts x,
                          part_list *parts, enum gpm_status *st) {
    VEC(struct kern *) rest = {0};
    struct kern *out = NULL;
    for (size_t i = 0; i < kern_nparts(k, KERN_SUM) && !*st; i++) {
        struct kern *term = kern_part(k, KERN_SUM, i);
        struct part part = {NULL, 1, NULL};
        if (dear(term)) {
            part.unit = unit_term(term, &part.coef);
            part.a = lookup(c, part.unit, x, st);
        }
        if (part.a)
            vec_push(parts, part);
        else
            vec_push(&rest, term);
        if (!part.a) kern_unref(part.unit);
    }
    if (rest.n && !*st) out = kern_nary(KERN_SUM, rest.at, rest.n);
    vec_release(&rest);
    return out;
}

static void add_parts(const part_list *parts, size_t n, size_t j, double *col, bool fresh) {
    const struct vec_ops *v = vec_ops();
    size_t at = j * n - j * (j + 1) / 2, m = n - j - 1; /* packed columns below the diagonal */
    for (size_t q = 0; q < parts->n; q++) {
        const double *a = parts->at[q].a + at;
        if (fresh && q == 0)
            v->scale_to(m, parts->at[q].coef, a, col);
        else
            v->axpy(m, parts->at[q].coef, a, col);
    }
}

static enum gpm_status fill_parts(const struct kern *k, const struct kern *rest,
                                  const part_list *parts, struct kern_pts x, double *a, size_t ld) {
    struct plan p;
    bool plain = !rest;
    enum gpm_status st = GPM_OK;
    if (rest) {
        st = plan_init(&p, rest, x, x, true);
        plain = !st && p.root->zero_off;
    }
    for (size_t j = 0; j + 1 < x.n && !st; j++) {
        double *col = a + j + 1 + j * ld;
        if (!plain) st = plan_values(&p, j, j + 1, col);
        add_parts(parts, x.n, j, col, plain);
    }
    if (rest) plan_release(&p);
    double *d = st ? NULL : NEW_ARRAY(double, x.n);
    if (!st) st = kern_diag(k, x, d);
    for (size_t i = 0; i < x.n && !st; i++) a[i + i * ld] = d[i];
    mem_free(d);
    return st;
}

enum gpm_status gp_cache_fill(struct gp_cache *c, const struct kern *k, struct kern_pts x,
                              double *a, size_t ld) {
    part_list parts = {0};
    enum gpm_status st = GPM_OK;
    if (c->budget == 0 || x.n < LEAST) return kern_fill(k, x, a, ld);
    if (c->points != x.n) gp_cache_clear(c);
    c->points = x.n;
    c->start = c->clock;
    struct kern *rest = split(c, k, x, &parts, &st);
    if (!st) st = parts.n ? fill_parts(k, rest, &parts, x, a, ld) : kern_fill(k, x, a, ld);
    for (size_t i = 0; i < parts.n; i++) kern_unref(parts.at[i].unit);
    vec_release(&parts);
    kern_unref(rest);
    return st;
}
