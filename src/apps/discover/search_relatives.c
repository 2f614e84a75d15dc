/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures and their best relatives; see search_relatives.h.
 */
#include "apps/discover/search_relatives.h"
#include <math.h>

static void collect(void *ctx, size_t id) {
    struct relatives *t = ctx;
    struct evidence *e = id < t->s->n_of ? t->s->of[id] : NULL;
    if (!e || e == t->from || e->group != t->from->group || !e->prop.n) return;
    struct relative r = {e, t->from, t->rank(t->s, e, t->from)};
    if (r.rank == -INFINITY) return;
    size_t at = (size_t)(uintptr_t)map_get(&t->at, id);
    if (!at) {
        vec_push(&t->pair, r);
        map_put(&t->at, id, (void *)(uintptr_t)t->pair.n);
    } else if (r.rank > t->pair.at[at - 1].rank) {
        t->pair.at[at - 1] = r;
    }
}

void relatives_collect(struct relatives *t, const struct evidence *from) {
    t->from = from;
    t->s->space->ops->neighbours(t->s->space, from, collect, t);
}

/* ---- in a journal ---- */
static uint64_t pair_key(void *ctx, size_t job) {
    return ((struct relatives *)ctx)->pair.at[job].e->hash;
}

static void pair_pack(struct pack *p, void *ctx, size_t job) {
    evidence_pack(p, ((struct relatives *)ctx)->pair.at[job].e);
}

static bool pair_late(const void *ctx) {
    return search_hurried(((const struct relatives *)ctx)->s);
}

void relatives_run(struct relatives *t, const char *name, void (*job)(void *, size_t, int)) {
    const struct journal_step step = {name, job, pair_key, pair_pack, pair_late};
    journal_step(t->s->opt.journal, t->s->opt.threads, t->pair.n, &step, t);
    search_find_top(t->s);
}

void relatives_release(struct relatives *t) {
    map_release(&t->at);
    vec_release(&t->pair);
}
