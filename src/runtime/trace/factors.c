/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits the weight of a scaffold into factors, for sums over discrete principals: what each entry
 * contributes, and which summed principals that depends on. An entry contributes the log density of
 * what absorbs there, of a principal's own value, or of an observation that ends there. It depends
 * on what its operands depend on, and a summed principal depends on itself.
 *
 * Branches that a summed principal selects are evaluated again for every value. Such a family may
 * hold computations and observed ends. A choice in it would come and go, so it is refused.
 * Applications counted by the same statistics are refused, too, because their densities depend on
 * each other. */
#include "runtime/trace/factors.h"
#include "runtime/trace/scaffold.h"

#include <string.h>

/* A set of summed principals, by number; set 0 is empty. */
struct dep_set {
    size_t first, n; /* in items */
    uint32_t next;   /* another set with the same hash; 0: last */
};

struct factors {
    struct scaffold *s;
    size_t first;                   /* number of the first principal that is summed */
    VEC(uint32_t) items;            /* of all sets, each ascending */
    VEC(struct dep_set) sets;       /* each once */
    struct map by_hash;             /* of the items -> the newest set */
    uint32_t *value_on, *weight_on; /* by entry: the sets its value and its weight depend on */
    struct map fresh;               /* node made since detach -> 1 + set */
    struct node *refused;           /* node that prevents factors; NULL: none does */
};

struct factors *factors_new(struct scaffold *s, size_t first) {
    struct factors *f = NEW(struct factors);
    f->s = s;
    f->first = first;
    f->value_on = mem_zalloc((s->e.n + 1) * sizeof *f->value_on);
    f->weight_on = mem_zalloc((s->e.n + 1) * sizeof *f->weight_on);
    vec_push(&f->sets, (struct dep_set){0});
    return f;
}

void factors_free(struct factors *f) {
    if (!f) return;
    vec_release(&f->items);
    vec_release(&f->sets);
    mem_free(f->value_on);
    mem_free(f->weight_on);
    map_release(&f->fresh);
    map_release(&f->by_hash);
    mem_free(f);
}

size_t factors_count(const struct factors *f) {
    return f->s->e.n;
}

double factors_weight(const struct factors *f, size_t i) {
    const struct entry *e = &f->s->e.at[i];
    return e->brush ? 0 : e->drawn;
}

size_t factors_of_node(const struct factors *f, const struct node *n) {
    return (size_t)(entry_of(f->s, n) - f->s->e.at);
}

const uint32_t *factors_scope(const struct factors *f, size_t i, size_t *n) {
    const struct dep_set *set = &f->sets.at[f->weight_on[i]];
    *n = set->n;
    return f->items.at + set->first;
}

/* ---- sets -------------------------------------------------------------------------------------
 */

/* The set of the last n items of f->items. The items stay there if the set is new. */
static uint32_t intern(struct factors *f, size_t first, size_t n) {
    const uint32_t *at = f->items.at + first;
    uint64_t h = hash_bytes(at, n * sizeof *at, 0);
    uint32_t newest = (uint32_t)(uintptr_t)map_get(&f->by_hash, h);
    for (uint32_t i = newest; i; i = f->sets.at[i].next) {
        const struct dep_set *s = &f->sets.at[i];
        if (s->n != n || memcmp(f->items.at + s->first, at, n * sizeof *at)) continue;
        f->items.n = first;
        return i;
    }
    vec_push(&f->sets, ((struct dep_set){first, n, newest}));
    map_put(&f->by_hash, h, (void *)(uintptr_t)(f->sets.n - 1));
    return (uint32_t)f->sets.n - 1;
}

static uint32_t single(struct factors *f, uint32_t item) {
    size_t first = f->items.n;
    vec_push(&f->items, item);
    return intern(f, first, 1);
}

static uint32_t unite(struct factors *f, uint32_t a, uint32_t b) {
    if (a == b || !b) return a;
    if (!a) return b;
    struct dep_set x = f->sets.at[a], y = f->sets.at[b];
    size_t first = f->items.n, i = 0, j = 0;
    while (i < x.n || j < y.n) {
        uint32_t p = i < x.n ? f->items.at[x.first + i] : UINT32_MAX;
        uint32_t q = j < y.n ? f->items.at[y.first + j] : UINT32_MAX;
        i += p <= q;
        j += q <= p;
        vec_push(&f->items, p < q ? p : q);
    }
    return intern(f, first, f->items.n - first);
}

/* ---- what depends on what -----------------------------------------------------------------------
 */

static uint32_t set_of_node(struct factors *f, const struct node *n) {
    if (n->kind == NODE_CONST) return 0;
    if (n->mark) return f->value_on[n->mark - 1];
    uintptr_t fresh = (uintptr_t)map_get(&f->fresh, MAP_PTR(n));
    return fresh ? (uint32_t)fresh - 1 : 0;
}

static bool is_fresh(const struct factors *f, const struct node *n) {
    return n->kind != NODE_CONST && !n->mark && n->seq >= f->s->first_seq && (n->flags & NODE_ON);
}

/* The dependencies of n's operands and extra parents. Operands of a compound call are read only in
 * its body. */
static uint32_t set_of_parents(struct factors *f, const struct node *n) {
    uint32_t set = 0, n_in = n->flags & NODE_LINKED_ARGS ? n->n_in : n->n_in ? 1 : 0;
    for (uint32_t i = 0; i < n_in; i++) set = unite(f, set, set_of_node(f, n->in[i].node));
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        set = unite(f, set, set_of_node(f, n->req->xin[i].node));
    return set;
}

/* The union of the dependencies of everything a requesting node evaluated, in evaluation order. */
static uint32_t set_of_families(struct factors *f, const struct node *n) {
    uint32_t set = 0;
    for (uint32_t i = 0; n->req && i < n->req->n_fam; i++) {
        const struct family *fam = n->req->fam[i];
        for (size_t j = 0; j < fam->nodes.n; j++) {
            struct node *m = fam->nodes.at[j];
            if (!is_fresh(f, m)) continue;
            uintptr_t known = (uintptr_t)map_get(&f->fresh, MAP_PTR(m));
            uint32_t inside = known ? (uint32_t)known - 1 : set_of_families(f, m);
            if (!known) {
                inside = unite(f, inside, set_of_parents(f, m));
                map_put(&f->fresh, MAP_PTR(m), (void *)(uintptr_t)(inside + 1));
            }
            bool free_choice = (m->flags & NODE_RANDOM) && !(m->flags & NODE_OBSERVED);
            if (free_choice || node_is_stateful(m)) f->refused = m;
            set = unite(f, set, inside);
        }
    }
    return set;
}

static bool is_summed(const struct factors *f, const struct entry *e) {
    return e->principal >= 0 && (size_t)e->principal >= f->first;
}

/* Entry i of the current state; all earlier entries must have been read. */
static void read_entry(struct factors *f, uint32_t i, bool *grew) {
    const struct entry *e = &f->s->e.at[i];
    struct node *n = e->n;
    uint32_t set = e->role == ROLE_D && e->requests ? set_of_families(f, n) : 0;
    set = unite(f, set, set_of_parents(f, n));
    uint32_t own = is_summed(f, e) ? single(f, (uint32_t)((size_t)e->principal - f->first)) : 0;
    uint32_t weight = unite(f, f->weight_on[i], unite(f, set, own));
    if (e->role != ROLE_M && (set || own) && node_is_stateful(n)) f->refused = n;
    *grew |= weight != f->weight_on[i];
    f->weight_on[i] = weight;
    bool keeps = e->role == ROLE_A || (e->principal >= 0 && !own); /* a given value */
    f->value_on[i] = own ? own : keeps ? 0 : set;
}

enum gpm_status factors_read(struct factors *f, bool *grew) {
    map_release(&f->fresh);
    f->refused = NULL;
    for (size_t k = 0; k < f->s->new_order.n; k++) read_entry(f, f->s->new_order.at[k], grew);
    if (!f->refused) return GPM_OK;
    struct diags *d = f->s->t->core->diags;
    bool counted = node_is_stateful(f->refused);
    diag_raise(d, DIAG_NOT_ENUMERABLE, node_span(f->refused),
               counted ? "a choice that is summed out decides what this procedure counts"
                       : "a choice that is summed out decides whether this one is made");
    return diag_set_help(d, counted ? "gibbs needs no sum"
                                    : "make the choices of all branches before, and let the branch "
                                      "read them: if (z) { a } else { b }");
}
