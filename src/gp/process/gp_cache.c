/* SPDX-License-Identifier: Apache-2.0
 * Cache of term matrices; see gp_cache.h. */
#include "gp/process/gp_cache.h"

#include "gp/kernel/kern_plan.h"

#include "base/mem.h"
#include "base/vec.h"
#include "numeric/la/vec_ops.h"

#include <string.h>

#define LEAST 24 /* points; smaller matrices are filled sooner than looked up */

static size_t bytes_of(size_t n) {
    return n * (n > 0 ? n - 1 : 0) / 2 * sizeof(double);
}

static void drop(struct gp_cache *c, size_t i) {
    mem_free(c->slot[i].a);
    kern_unref(c->slot[i].key);
    memmove(c->slot + i, c->slot + i + 1, (--c->n - i) * sizeof *c->slot);
}

void gp_cache_clear(struct gp_cache *c) {
    while (c->n) drop(c, c->n - 1);
}

static struct kern *unit_term(const struct kern *k, double *coef) {
    VEC(struct kern *) kids = {0};
    *coef = 1;
    for (size_t i = 0; i < kern_nparts(k, KERN_PRODUCT); i++) {
        const struct kern *f = kern_part(k, KERN_PRODUCT, i);
        bool sized = f->op == KERN_LEAF && f->cls->amp != KERN_AMP_NONE;
        vec_push(&kids, sized ? kern_with_first(f, 1) : kern_ref(f));
        if (sized) *coef *= kern_amplitude(f);
    }
    struct kern *u = kern_nary(KERN_PRODUCT, kids.at, kids.n);
    for (size_t i = 0; i < kids.n; i++) kern_unref(kids.at[i]);
    vec_release(&kids);
    return u;
}

/* The matrix of a unit kernel in fresh memory, or NULL. */
static double *compute(const struct kern *unit, struct kern_pts x, enum gpm_status *st) {
    double *a = mem_try_doubles(bytes_of(x.n) / sizeof(double)), *to = a;
    struct plan p;
    if (!a) return NULL;
    *st = plan_init(&p, unit, x, x, true);
    for (size_t j = 0; j + 1 < x.n && !*st; to += x.n - ++j) *st = plan_values(&p, j, j + 1, to);
    plan_release(&p);
    if (!*st) return a;
    mem_free(a);
    return NULL;
}

/* The matrix of a unit kernel when there is one, which moves it to the front; the first *busy
 * entries serve the fill under way and stay. */
static const double *lookup(struct gp_cache *c, const struct kern *unit, struct kern_pts x,
                            size_t *busy, enum gpm_status *st) {
    size_t i = 0;
    while (i < c->n && !kern_equal(c->slot[i].key, unit)) i++;
    bool known = i < c->n;
    if (!known && i == c->room) {
        if (*busy == c->room) return NULL;
        drop(c, --i);
    }
    struct gp_cached e = known ? c->slot[i] : (struct gp_cached){kern_ref(unit), NULL};
    if (known && !e.a) e.a = compute(unit, x, st);
    c->n += !known;
    memmove(c->slot + 1, c->slot, i * sizeof e);
    c->slot[0] = e;
    *busy += i >= *busy;
    return e.a;
}

struct parts {
    double coef[GP_CACHE_ENTRIES];
    const double *a[GP_CACHE_ENTRIES]; /* packed columns below the diagonal */
    size_t n;
};

/* Splits the kernel into cached parts and the kernel of the rest (NULL: nothing is left). */
static struct kern *split(struct gp_cache *c, const struct kern *k, struct kern_pts x,
                          struct parts *parts, enum gpm_status *st) {
    VEC(struct kern *) rest = {0};
    struct kern *out = NULL;
    size_t busy = 0;
    for (size_t i = 0; i < kern_nparts(k, KERN_SUM) && !*st; i++) {
        struct kern *term = kern_part(k, KERN_SUM, i), *unit = NULL;
        const double *a = NULL;
        if (term->dear && parts->n < GP_CACHE_ENTRIES) {
            unit = unit_term(term, &parts->coef[parts->n]);
            a = lookup(c, unit, x, &busy, st);
        }
        if (a)
            parts->a[parts->n++] = a;
        else
            vec_push(&rest, term);
        kern_unref(unit);
    }
    if (rest.n && !*st) out = kern_nary(KERN_SUM, rest.at, rest.n);
    vec_release(&rest);
    return out;
}

static enum gpm_status fill_parts(const struct kern *k, const struct kern *rest,
                                  const struct parts *parts, struct kern_pts x, double *a,
                                  size_t ld) {
    struct plan p;
    double *d = NEW_ARRAY(double, x.n);
    enum gpm_status st = kern_diag(k, x, d);
    bool planned = !st && rest;
    if (planned) st = plan_init(&p, rest, x, x, true);
    bool plain = !rest || (!st && p.root->zero_off);
    for (size_t j = 0, at = 0; j < x.n && !st; j++) {
        double *col = a + j + 1 + j * ld;
        size_t m = x.n - j - 1;
        a[j + j * ld] = d[j];
        if (!plain) st = plan_values(&p, j, j + 1, col);
        for (size_t q = 0; q < parts->n; q++)
            if (plain && q == 0)
                vec_ops()->scale_to(m, parts->coef[q], parts->a[q] + at, col);
            else
                vec_ops()->axpy(m, parts->coef[q], parts->a[q] + at, col);
        at += m;
    }
    if (planned) plan_release(&p);
    mem_free(d);
    return st;
}

enum gpm_status gp_cache_fill(struct gp_cache *c, const struct kern *k, struct kern_pts x,
                              double *a, size_t ld) {
    if (c->budget < bytes_of(x.n) || x.n < LEAST) return kern_fill(k, x, a, ld);
    struct parts parts = {.n = 0};
    enum gpm_status st = GPM_OK;
    if (c->points != x.n) gp_cache_clear(c);
    c->points = x.n;
    c->room = c->budget / bytes_of(x.n);
    if (c->room > GP_CACHE_ENTRIES) c->room = GP_CACHE_ENTRIES;
    struct kern *rest = split(c, k, x, &parts, &st);
    if (!st) st = parts.n ? fill_parts(k, rest, &parts, x, a, ld) : kern_fill(k, x, a, ld);
    kern_unref(rest);
    return st;
}

enum gpm_status gp_cache_make(struct gp_cache *c, size_t i, struct kern_pts x) {
    enum gpm_status st = GPM_OK;
    c->slot[i].a = compute(c->slot[i].key, x, &st);
    return c->slot[i].a || st != GPM_OK ? st : GPM_E_NOMEM;
}
