/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms and flats as objects. Equal forms are shared. The flat of one principal hangs on its node;
 * flats of several principals are in a small cache.
 *
 * Ownership: a node or the cache owns a flat. Flats share counted forms, and the map finds forms by
 * hash without owning them. A form owns its scratch. Flats come from the trace's pool.
 *
 * A flat's stamp has two parts. The upper bits count how often all flats were thrown away before it
 * was compiled; they are 0 once the structure that it rests on has changed (stale.c). If they are
 * not those of now, it is recompiled. The lower bits are the epoch in which it last read its owned
 * observations; if that changed, refresh reads them again. The hot path tests both in one
 * comparison. */
#include "runtime/flat/form.h"

#include <math.h>
#include <string.h>

/* Forms. */

size_t form_size(const struct flat_form *f) {
    size_t words = (size_t)f->n_refs + f->n_words + f->n_nodes + f->n_wide + f->n_copies;
    return sizeof *f + form_n_ops(f) * sizeof f->ops[0] + f->n_constants * sizeof(double) +
           words * sizeof(uint32_t);
}

void form_lay_out(struct flat_form *f) {
    f->constants = (double *)(f->ops + form_n_ops(f));
    f->gathered = (uint32_t *)(f->constants + f->n_constants);
    f->words = f->gathered + f->n_refs;
    f->places = f->words + f->n_words;
}

static void add_scratch(struct flat_form *f) {
    uint32_t n = form_n_slots(f), n_densities = form_n_ops(f) - f->n_steps;
    f->v = mem_zalloc((n + n_densities + 1) * sizeof *f->v);
    f->logp = f->v + n;
    f->last_sd = NAN;
    if (f->n_constants)
        memcpy(f->v + n - f->n_constants, f->constants, f->n_constants * sizeof *f->v);
    for (uint32_t i = 0; i < f->n_constants; i++) f->missing |= isnan(f->constants[i]);
    size_t values = 2 * (size_t)f->n_boxes + f->n_wide + f->most_args;
    if (!values) return;
    f->box = mem_zalloc(values * sizeof *f->box);
    f->box_adj = f->box + f->n_boxes;
    f->seen = f->box_adj + f->n_boxes;
    f->args = f->seen + f->n_wide;
}

static void form_free(struct flat_form *f) {
    for (uint32_t i = 0; f->box && i < 2 * f->n_boxes + f->n_wide; i++)
        value_unref(f->box[i]); /* box_adj and seen follow box */
    if (f->proposed) values_free(f->proposed, f->n_principals);
    mem_free(f->box);
    mem_free(f->v);
    mem_free(f->adj);
    mem_free(f);
}

/* Models repeat themselves: a thousand observations from one line of the program make flats with
 * one form, whose code stays in the cache. Two forms are equal if their counts and the data behind
 * the counts agree. The scratch comes before the counts; equal forms share it, since only one
 * proposal is active at a time. */
struct flat_form *form_share(struct flats *all, struct flat_form *taken) {
    struct flat_form *f = taken, *g;
    size_t head = offsetof(struct flat_form, n_principals), size = form_size(f);
    f->hash = hash_bytes((char *)f + head, size - head, 0);
    struct flat_form *first = map_get(&all->forms, f->hash);
    for (g = first; g; g = g->next)
        if (form_size(g) == size && !memcmp((char *)f + head, (char *)g + head, size - head)) break;
    if (g)
        form_free(f);
    else {
        add_scratch(f);
        f->next = first;
        map_put(&all->forms, f->hash, f);
        g = f;
    }
    g->refs++;
    return g;
}

static void form_unref(struct flats *all, struct flat_form *f) {
    if (!f || --f->refs) return;
    struct flat_form *first = map_get(&all->forms, f->hash), **at = &first;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    if (first)
        map_put(&all->forms, f->hash, first);
    else
        map_del(&all->forms, f->hash);
    form_free(f);
}

/* Flats. */

static size_t flat_size(const struct flat_form *f) {
    return sizeof(struct flat) +
           (f ? form_n_words(f) + 3 * (size_t)f->n_own : 0) * sizeof(union flat_word);
}

static void flat_free(struct trace *t, struct flat *f) {
    struct flat_form *form = f->form;
    pool_free(pool_of(t), f, flat_size(form));
    form_unref(inner(t)->flats, form);
}

/* Compiled for the present structure, in no epoch yet. */
struct flat *flat_new(struct trace *t, struct flat_form *taken, struct node *const *words,
                      struct node *const *owned) {
    struct flat *f = pool_zalloc(pool_of(t), flat_size(taken));
    f->stamp = inner(t)->flats->stamp >> EPOCH_BITS << EPOCH_BITS;
    f->form = taken;
    if (!taken) return f;
    uint32_t n = form_n_words(taken);
    for (uint32_t i = 0; i < n; i++) f->w[i].n = words[i];
    for (uint32_t i = 0; i < taken->n_own; i++) f->w[n + 3 * i].n = owned[i];
    return f;
}

/* The hook behind trace_settle. Afterwards the nodes are up to date and other code may write them.
 * A new epoch makes every flat read its owned observations before its next step. */
static void settle(struct trace *t) {
    write_ahead(t);
    inner(t)->flats->stamp++;
    if (!(inner(t)->flats->stamp << (64 - EPOCH_BITS))) inner(t)->flats->stamp++; /* no epoch */
}

/* The nodes and the flats on them are already gone. */
static void flats_free(struct trace *t) {
    struct flats *all = inner(t)->flats;
    for (size_t i = 0; i < FLAT_CACHE; i++) {
        if (all->cache[i].f) flat_free(t, all->cache[i].f);
        mem_free(all->cache[i].key);
    }
    map_release(&all->forms);
    vec_release(&all->ahead);
    vec_release(&all->pending);
    mem_free(all);
    inner(t)->flats = NULL;
}

static bool is_ahead(const struct trace *t) {
    return inner(t)->flats->ahead.n > 0;
}

static const struct flat_hooks hooks = {settle, is_ahead, flat_free, flats_outdate, flats_free};

struct flats *flats_renewed(struct trace *t) {
    struct inner *in = inner(t);
    if (!in->flats) {
        in->flat_hooks = &hooks;
        in->flats = NEW(struct flats);
    }
    struct flats *all = in->flats; /* every flat must be recompiled */
    in->flats_structure = t->structure;
    all->stamp = ((all->stamp >> EPOCH_BITS) + 1) << EPOCH_BITS | 1;
    return all;
}

/* The cache entry of these principals; the least recently used one is replaced. */
static struct flat **cached(struct trace *t, struct node *const *principals, size_t n, bool apart) {
    struct flats *all = inner(t)->flats;
    struct cached_flat *c = &all->cache[0];
    for (size_t i = 0; i < FLAT_CACHE; i++) {
        struct cached_flat *k = &all->cache[i];
        if (k->n == n && k->apart == apart && !memcmp(k->key, principals, n * sizeof *principals)) {
            k->used = ++all->clock;
            return &k->f;
        }
        if (k->used < c->used) c = k;
    }
    write_ahead(t);
    if (c->f) flat_free(t, c->f);
    c->f = NULL;
    c->key = mem_realloc(c->key, n * sizeof *principals);
    memcpy(c->key, principals, n * sizeof *principals);
    c->n = n;
    c->apart = apart;
    c->used = ++all->clock;
    return &c->f;
}

static struct flat *form_find(struct trace *t, struct node *const *principals, size_t n,
                              bool apart) {
    struct flats *all = flats_of(t);
    struct flat **at = n == 1 ? &principals[0]->flat : cached(t, principals, n, apart);
    if (!*at || (*at)->stamp >> EPOCH_BITS != all->stamp >> EPOCH_BITS) {
        if (n == 1 && flat_is_hopeless(principals[0])) return NULL;
        write_ahead(t);
        if (*at) flat_free(t, *at);
        *at = flat_make(t, principals, n, apart);
    }
    return (*at)->form ? *at : NULL;
}

struct flat *flat_of(struct trace *t, struct node *const *principals, size_t n) {
    return form_find(t, principals, n, false);
}

/* Makers are excluded: they hold one proposal at a time, so many points cannot be evaluated. */
struct flat *flat_of_parts(struct trace *t, struct node *const *principals, size_t n) {
    struct flat *f = n > 1 ? form_find(t, principals, n, true) : NULL;
    if (!f || !f->form->n_x) return NULL;
    for (uint32_t i = 0; i < form_n_ops(f->form); i++)
        if (f->form->ops[i].code == FLAT_MAKER) return NULL;
    return f;
}

size_t flat_n_principals(const struct flat *f) {
    return f->form->n_principals;
}

struct node *flat_principal(const struct flat *f, size_t i) {
    return f->w[i].n;
}

bool flat_args_change(const struct flat *f, size_t i) {
    struct flat_form *form = f->form;
    const struct flat_op *op = form->ops + form_n_ops(form) - form->n_principals + i;
    return op->how;
}

/* The first few nodes suffice for most flats. Slot 0, the principal, was already prefetched as
 * `far`. */
void flat_prefetch(const struct node *far, const struct node *middle, const struct node *near) {
    __builtin_prefetch(far);
    if (middle->flat) __builtin_prefetch(middle->flat);
    const struct flat *f = near->flat;
    uint32_t n = f && f->form ? form_n_words(f->form) : 0;
    for (uint32_t i = 1; i < n && i < 6; i++) __builtin_prefetch(f->w[i].n);
}
