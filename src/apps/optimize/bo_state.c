/* SPDX-License-Identifier: Apache-2.0
 * The optimiser's state as text: words separated by blanks, numbers in hexadecimal so that they
 * read back exactly. One walk over the fields serves both directions. */
#include "apps/optimize/bo_priv.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MAGIC "gpmem-bo-3"

/* Saving when out is set, else loading from p; bad is set at the first word that does not read. */
struct walk {
    struct buf *out;
    const char *p;
    bool bad;
};

static void took(struct walk *w, const char *end) {
    if (end == w->p) w->bad = true;
    w->p = end;
}

static void reals(struct walk *w, double *x, int n) {
    for (char *end; n > 0; n--, x++) {
        if (w->out) {
            buf_printf(w->out, " %a", *x);
        } else {
            *x = number_read(w->p, &end);
            took(w, end);
        }
    }
}

static void whole(struct walk *w, size_t *x) {
    char *end;
    if (w->out) {
        buf_printf(w->out, " %zu", *x);
    } else {
        *x = strtoull(w->p, &end, 10);
        took(w, end);
    }
}

static void small(struct walk *w, int *x, int limit) {
    size_t v = (size_t)*x;
    whole(w, &v);
    if (v >= (size_t)limit)
        w->bad = true;
    else
        *x = (int)v;
}

static void flag(struct walk *w, bool *x) {
    int v = *x;
    small(w, &v, 2);
    *x = v;
}

static void walk_combo(struct walk *w, struct bo_combo *c, int n) {
    bool has = c->theta != NULL, chain = c->chain != NULL;
    flag(w, &has);
    flag(w, &chain);
    flag(w, &c->fitted);
    small(w, &c->lost, 1 << 30);
    if (has && !c->theta) c->theta = NEW_ARRAY(double, (size_t)n);
    if (chain && !c->chain) c->chain = NEW_ARRAY(double, (size_t)n);
    if (has) reals(w, c->theta, n);
    if (chain) reals(w, c->chain, n);
}

static void walk_local(struct walk *w, struct bo *b) {
    struct bo_local *l = &b->local;
    double *const real[] = {&l->rho, &l->merit0, &l->predicted, &l->size};
    flag(w, &l->hot);
    flag(w, &l->pending);
    flag(w, &l->probing);
    whole(w, &l->center);
    for (size_t i = 0; i < COUNT_OF(real); i++) reals(w, real[i], 1);
    whole(w, &l->n_used);
    small(w, &l->misses, 1 << 30);
    small(w, &l->run, 1 << 30);
    reals(w, l->x, b->D);
    reals(w, l->price, 3 * b->K);
    if (l->center != SIZE_MAX && l->center >= b->points.n) w->bad = true;
}

static void walk_tabu(struct walk *w, struct bo *b) {
    size_t width = bo_tabu_width(b), n = b->tabu.n / width;
    whole(w, &n);
    if (n > 100000) w->bad = true;
    for (size_t i = 0; i < n * width && !w->bad; i++) {
        if (i == b->tabu.n) vec_push(&b->tabu, 0);
        reals(w, &b->tabu.at[i], 1);
    }
}

static void walk_output(struct walk *w, struct bo_output *o) {
    int kern = (int)o->kern, warp = (int)o->warp, n = (int)bo_model_size(&o->model);
    whole(w, &o->n_full);
    whole(w, &o->fit_steps);
    whole(w, &o->fits);
    small(w, &kern, BO_KERN_COUNT);
    small(w, &warp, BO_WARP_COUNT);
    o->kern = (enum bo_kern)kern;
    o->warp = (enum bo_warp)warp;
    for (int k = 0; k < BO_KERN_COUNT && !w->bad; k++)
        for (int v = 0; v < BO_WARP_COUNT && !w->bad; v++) walk_combo(w, &o->combo[k][v], n);
    reals(w, o->model.inv_l, o->b->D);
}

static void walk(struct walk *w, struct bo *b) {
    size_t *const counts[] = {&b->asks,  &b->n_local, &b->n_global, &b->n_initial,
                              &b->stuck, &b->doubted, &b->cheap};
    for (size_t i = 0; i < COUNT_OF(counts); i++) whole(w, counts[i]);
    flag(w, &b->failed_last);
    flag(w, &b->turn_local);
    for (int k = 0; k < b->K && !w->bad; k++) walk_output(w, &b->out[k]);
    walk_local(w, b);
    reals(w, &b->region.side, 1);
    reals(w, &b->region.best, 1);
    small(w, &b->region.wins, 1 << 30);
    small(w, &b->region.losses, 1 << 30);
    walk_tabu(w, b);
}

void bo_state_save(const struct bo *b, struct buf *out) {
    struct walk w = {.out = out};
    buf_printf(out, STATE_MAGIC " %zu %d %d %d %d", b->told, b->space->d, b->space->n_cat,
               b->opt.noisy, b->K);
    walk(&w, (struct bo *)(uintptr_t)b); /* saving writes nothing to b */
    buf_puts(out, " end");
}

bool bo_state_told(const char *text, size_t *told) {
    return sscanf(text, STATE_MAGIC " %zu", told) == 1;
}

bool bo_state_load(struct bo *b, const char *text) {
    size_t told;
    int d, n_cat, noisy, outputs, used = 0;
    if (sscanf(text, STATE_MAGIC " %zu %d %d %d %d%n", &told, &d, &n_cat, &noisy, &outputs,
               &used) != 5 ||
        outputs != b->K || d != b->space->d || n_cat != b->space->n_cat || noisy != b->opt.noisy ||
        told != b->told)
        return false;
    struct walk w = {.p = text + used};
    walk(&w, b);
    return !w.bad && strncmp(w.p, " end", 4) == 0;
}
