/* SPDX-License-Identifier: Apache-2.0
 *
 * See gp_pack.h. What is not written is made when it is next asked for, by the same computation:
 * grids, orders, filters, inducing points, what lies on a device. */
#include "gp/process/gp_pack.h"

#include "gp/process/gp_engine.h"
#include "gp/kernel/kern_tree.h"

#include <string.h>

/* ---- kernels ---- */

static void pack_parameters(struct pack *p, struct kern *k, double **par, size_t *n) {
    *n = k ? k->npar : 0;
    pack_count(p, n, sizeof **par);
    *par = p->reading ? NEW_ARRAY(double, *n + 1) : k->par;
    pack_doubles(p, *par, *n);
}

static void pack_columns(struct pack *p, struct kern *k, int **col, size_t *n) {
    *n = k ? k->ncol : 0;
    pack_count(p, n, 1);
    *col = p->reading ? NEW_ARRAY(int, *n + 1) : k->col;
    for (size_t i = 0; i < *n; i++) pack_int(p, &(*col)[i]);
}

static const struct kern_class *pack_class(struct pack *p, const struct kern *k) {
    uint32_t i = 0, n = 0;
    while (kern_class_at(n)) n++;
    while (k && i < n && kern_class_at(i) != k->cls) i++;
    return kern_class_at(pack_choice(p, i, n));
}

/* A leaf, or a change with its two kernels. */
static struct kern *pack_row(struct pack *p, struct kern *k, const struct gp_foreign *foreign) {
    const struct kern_class *cls = pack_class(p, k);
    double *par;
    int *col;
    size_t npar, ncol, ard = k ? k->ard : 1;
    struct kern *made = k, *kid[2] = {0};
    pack_parameters(p, k, &par, &npar);
    pack_columns(p, k, &col, &ncol);
    pack_size(p, &ard);
    bool change = cls->op == KERN_CHANGE;
    for (size_t i = 0; i < 2 && change; i++) {
        if (k) kid[i] = k->kid[i];
        kern_pack(p, &kid[i], foreign);
    }
    if (p->reading) {
        bool fits = pack_ok(p) && npar >= cls->npar && (!change || (ncol == 1 && kid[0] && kid[1]));
        made = !fits    ? NULL
               : change ? kern_change(cls, par, col[0], kid[0], kid[1], NULL)
                        : kern_leaf_on(cls, par, ard, col, ncol, NULL);
        for (size_t i = 0; i < 2; i++) kern_unref(kid[i]);
        mem_free(par);
        mem_free(col);
    }
    return made;
}

static struct kern *pack_nary(struct pack *p, enum kern_op op, struct kern *k,
                              const struct gp_foreign *foreign) {
    size_t n = k ? k->nkids : 0, made = 0;
    pack_count(p, &n, 1);
    struct kern **kid = p->reading ? mem_zalloc((n + 1) * sizeof *kid) : k->kid;
    for (; made < n; made++) {
        kern_pack(p, &kid[made], foreign);
        if (!kid[made]) break;
    }
    if (!p->reading) return k;
    struct kern *out = made == n && n > 1 ? kern_nary(op, kid, n) : NULL;
    for (size_t i = 0; i < made; i++) kern_unref(kid[i]);
    mem_free(kid);
    return out;
}

void kern_pack(struct pack *p, struct kern **k, const struct gp_foreign *foreign) {
    size_t number = pack_object(p, (void **)k);
    if (!number) {
        if (p->reading && *k) kern_ref(*k);
        return;
    }
    struct kern *was = p->reading ? NULL : *k, *made;
    enum kern_op op = (enum kern_op)pack_choice(p, was ? was->op : 0, KERN_CALLBACK + 1);
    if (op == KERN_CALLBACK)
        made = foreign->kern(p, was);
    else if (op == KERN_SUM || op == KERN_PRODUCT)
        made = pack_nary(p, op, was, foreign);
    else
        made = pack_row(p, was, foreign);
    if (!p->reading) return;
    if (!made) pack_fail(p, "a kernel in it cannot be made");
    pack_made(p, number, made);
    *k = made;
}

void *kern_user(const struct kern *k, kern_callback_fn fn) {
    return k->op == KERN_CALLBACK && k->fn == fn ? k->user : NULL;
}

/* ---- data ---- */

static void pack_entries(struct pack *p, struct gp *g) {
    for (int c = 0; c < g->dim; c++) pack_doubles(p, g->x + (size_t)c * g->cap, g->n);
    for (size_t i = 0; i < g->n; i++) {
        struct gp_entry *e = &g->at[i];
        pack_size(p, &e->count);
        pack_size(p, &e->exact);
        pack_double(p, &e->ybar);
        pack_double(p, &e->ss);
    }
    size_t n = g->pairs.n;
    pack_count(p, &n, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        struct gp_pair pair = p->reading ? (struct gp_pair){0} : g->pairs.at[i];
        pack_size(p, &pair.entry);
        pack_double(p, &pair.y);
        pack_bool(p, &pair.exact);
        if (p->reading && pair.entry >= g->n) pack_fail(p, "a pair in it has no input");
        if (p->reading && pack_ok(p)) vec_push(&g->pairs, pair);
    }
    pack_size(p, &g->nexact);
}

static void pack_data(struct pack *p, struct gp *g) {
    size_t n = g->n;
    pack_count(p, &n, sizeof(double) * (size_t)g->dim);
    if (p->reading && gp_reserve(g, n) != GPM_OK) pack_fail(p, "there is no memory for it");
    if (!pack_ok(p)) return;
    g->n = n;
    pack_entries(p, g);
    if (p->reading && pack_ok(p)) gp_data_read(g);
}

/* ---- what was computed ---- */

static void pack_factor(struct pack *p, struct chol *f) {
    size_t n = f->n;
    uint64_t changes = f->changes;
    pack_count(p, &n, sizeof(double));
    if (p->reading && n && chol_reserve(f, n) != GPM_OK) pack_fail(p, "there is no memory for it");
    if (!pack_ok(p)) return;
    f->n = n;
    for (size_t j = 0; j < n; j++) pack_doubles(p, f->l + j + j * f->ld, n - j);
    pack_double(p, &f->jitter);
    pack_int(p, &f->steps);
    pack_size(p, &f->pivot);
    pack_u64(p, &changes);
    f->changes = (unsigned long)changes;
}

/* A method is known by its name alone. */
static void pack_method(struct pack *p, struct gp_slot *s) {
    char *name = (char *)(uintptr_t)s->method;
    pack_text(p, &name);
    if (!p->reading) return;
    s->method = NULL;
    if (name) {
        strncpy(s->kept.label, name, sizeof s->kept.label - 1);
        s->method = s->kept.label;
    }
    mem_free(name);
}

static void pack_slot(struct pack *p, struct gp *g, struct gp_slot *s) {
    bool exact = !s->used; /* else all is computed again */
    bool factor = exact && s->have_factor && s->engine == &gp_engine_cpu;
    bool have_r = s->have_r && exact, have_w = s->have_w && factor;
    bool have_logml = s->have_logml && exact;
    pack_bool(p, &factor);
    pack_bool(p, &have_r);
    pack_bool(p, &have_w);
    pack_bool(p, &have_logml);
    pack_bool(p, &s->singular);
    pack_double(p, &s->logml);
    pack_double(p, &s->error);
    pack_size(p, &s->asked);
    if (factor) pack_factor(p, &s->f);
    if (p->reading) {
        s->have_factor = factor;
        s->have_r = have_r;
        s->have_w = have_w;
        s->have_logml = have_logml;
        if (factor) s->engine = &gp_engine_cpu;
    }
    if (!pack_ok(p)) return;
    if (have_r) pack_doubles(p, s->r, g->n);
    if (have_w) pack_doubles(p, s->w, g->n);
    bool u = have_w && g->integrated;
    if (u) pack_doubles(p, s->u, g->n);
    pack_double(p, &s->mu);
    pack_double(p, &s->q);
    pack_double(p, &s->S);
    pack_method(p, s);
}

/* The solution of the point asked for last: it serves again when the pair is recorded. */
static void pack_solved(struct pack *p, struct gp *g) {
    struct gp_solved *s = &g->solved;
    bool there = s->f == &gp_current(g)->f && s->n == gp_current(g)->f.n &&
                 s->changes == gp_current(g)->f.changes;
    pack_bool(p, &there);
    if (!there) return;
    size_t n = s->n;
    pack_size(p, &n);
    if (p->reading && n != gp_current(g)->f.n) pack_fail(p, "a solution in it has another size");
    if (!pack_ok(p)) return;
    if (p->reading) {
        s->v = NEW_ARRAY(double, n + 1);
        s->x = NEW_ARRAY(double, (size_t)g->dim);
        s->n = s->cap = n;
        s->f = &gp_current(g)->f;
        s->changes = s->f->changes;
    }
    pack_doubles(p, s->v, n);
    pack_doubles(p, s->x, (size_t)g->dim);
}

/* The set of term matrices decides how sums are rounded; the matrices are computed again. */
static void pack_cache(struct pack *p, struct gp *g, const struct gp_foreign *foreign) {
    struct gp_cache *c = &g->cache;
    size_t n = c->n;
    pack_size(p, &c->budget);
    pack_size(p, &c->points);
    pack_size(p, &c->room);
    pack_count(p, &n, 2);
    if (n > GP_CACHE_ENTRIES) pack_fail(p, "it holds too many matrices");
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct kern *key = p->reading ? NULL : c->slot[i].key;
        bool made = !p->reading && c->slot[i].a;
        kern_pack(p, &key, foreign);
        pack_bool(p, &made);
        if (!p->reading || !key) continue;
        c->slot[c->n++] = (struct gp_cached){key, NULL};
        if (made && gp_cache_make(c, i, gp_points(g)) != GPM_OK)
            pack_fail(p, "there is no memory for it");
    }
}

void gp_pack(struct pack *p, struct gp *g, const struct gp_foreign *foreign) {
    uint32_t approx = pack_choice(p, g->approx, GP_LOW_RANK + 1);
    g->approx = (enum gp_approx)approx;
    pack_size(p, &g->approx_size);
    uint32_t ways = g->ways ^ GP_FACTORS; /* older checkpoints lack the bit */
    pack_u32(p, &ways);
    g->ways = ways ^ GP_FACTORS;
    pack_u32(p, &g->integrated);
    pack_bool(p, &g->apart);
    if (g->proposed) pack_fail(p, "a process with a proposal cannot be saved");
    pack_data(p, g);
    if (!pack_ok(p)) return;
    pack_slot(p, g, gp_current(g));
    pack_solved(p, g);
    pack_cache(p, g, foreign);
}
