/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as bytes. A layer is written in two passes, in the way clone.c copies it. The skeleton
 * comes first: every family with the kinds of its nodes, which gives all of them numbers. The
 * contents follow, and may point anywhere. Compiled steps are not written; they are rebuilt from
 * the trace, which is up to date after trace_settle.
 *
 * Preserved exactly: numbers of nodes, values and densities, the generator, positions in lists of
 * children, and the order of choices, of scopes, of blocks and of live blocks. */
#include "runtime/trace/trace_pack.h"

#include "runtime/trace/node.h"

#include <string.h>

/* A new field of these structs must be written, or set by the reader. */
PACK_SIZE(struct node, 112, "struct node: see pack_node");
PACK_SIZE(struct request, 48, "struct request: see pack_request");
PACK_SIZE(struct family, 136, "struct family: see pack_family");
PACK_SIZE(struct tagctx, 128, "struct tagctx: see pack_ctx");
PACK_SIZE(struct scope_block, 72, "struct scope_block: see pack_scopes");
PACK_SIZE(struct scope, 96, "struct scope: see pack_scopes");
PACK_SIZE(struct record, 80, "struct record: see pack_record");
PACK_SIZE(struct inner, 440, "struct inner: see pack_layer");

/* ---- targets of values ---- */

void trace_pack_node(struct pack *p, void **node) {
    pack_cell(p, node);
}

void trace_pack_maker(struct pack *p, void **node) {
    void *known = !p->reading && *node && pack_known(p, *node) ? *node : NULL;
    pack_cell(p, &known);
    if (p->reading) *node = known;
}

/* An object that the pack holds; NULL stays NULL. */
static void pack_held(struct pack *p, void **x) {
    if (!p->reading && *x && !pack_known(p, *x))
        pack_fail(p, "something in it belongs to another model");
    else if (pack_object(p, x))
        pack_fail(p, "something in it is out of order");
}

void trace_pack_family(struct pack *p, struct memo_entry *e) {
    struct family *f = e->family;
    pack_held(p, (void **)&f);
    if (p->reading && f) memo_set_family(e, f);
}

/* ---- the skeleton ---- */

/* Requesters first, as in clone.c. Families of layers below are already known. */
static void find_families(struct pack *p, struct family *f, struct map *seen, families *order) {
    if (pack_known(p, f) || map_get(seen, MAP_PTR(f))) return;
    map_put(seen, MAP_PTR(f), f);
    vec_push(order, f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !n->req) continue;
        for (uint32_t j = 0; j < n->req->n_fam; j++) find_families(p, n->req->fam[j], seen, order);
    }
}

static void raw_node(struct pack *p, struct trace *t, struct family *f, size_t i) {
    struct node *n = p->reading ? NULL : f->nodes.at[i];
    uint32_t n_in = n && n->kind != NODE_CONST ? n->n_in : 0;
    uint32_t kind = pack_choice(p, n ? n->kind : 0, NODE_TAG + 1);
    size_t number = pack_object(p, (void **)&n), count = n_in;
    if (kind != NODE_CONST) pack_count(p, &count, 1);
    if (!p->reading) return;
    n = pool_zalloc(pool_of(t), node_size((int)kind, (uint32_t)count));
    n->kind = (uint8_t)kind;
    n->n_in = (uint32_t)count;
    if (!number) {
        pack_fail(p, "a node in it stands twice");
        return;
    }
    pack_made(p, number, n);
    pvec_push(pool_of(t), &f->nodes, n);
    if (kind == NODE_CONST) return;
    n->family = f;
    n->choice = NO_INDEX;
}

static void pack_skeleton(struct pack *p, struct trace *t, families *order) {
    struct map seen = {0};
    for (size_t i = 0; !p->reading && i < t->records.n; i++)
        find_families(p, t->records.at[i]->family, &seen, order);
    map_release(&seen);
    size_t n = order->n;
    pack_count(p, &n, 2);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct family *f = p->reading ? NULL : order->at[i];
        size_t number = pack_object(p, (void **)&f);
        if (p->reading && !number) pack_fail(p, "a family in it stands twice");
        if (!pack_ok(p)) return;
        if (p->reading) {
            f = family_new(t, NULL);
            pack_made(p, number, f);
            vec_push(order, f);
        }
        size_t nodes = f->nodes.n;
        pack_count(p, &nodes, 2);
        for (size_t j = 0; j < nodes && pack_ok(p); j++) raw_node(p, t, f, j);
    }
}

/* ---- scopes ---- */

static void pack_ctx(struct pack *p, struct tagctx **x);

#define PACK_VEC(p, v, each)                                                                       \
    do {                                                                                           \
        size_t n_ = (v)->n;                                                                        \
        pack_count(p, &n_, 1);                                                                     \
        vec_reserve(v, n_);                                                                        \
        if ((p)->reading && n_) memset((v)->at, 0, n_ * sizeof *(v)->at);                          \
        (v)->n = n_;                                                                               \
        for (size_t i_ = 0; i_ < n_; i_++) each(p, (void **)&(v)->at[i_]);                         \
    } while (0)

static void pack_ctx_at(struct pack *p, void **x) {
    pack_ctx(p, (struct tagctx **)x);
}

static void pack_ctx(struct pack *p, struct tagctx **x) {
    size_t number = pack_object(p, (void **)x);
    if (!number) return;
    if (p->reading) {
        *x = tagctx_new(NULL, false);
        pack_made(p, number, *x);
    }
    struct tagctx *c = *x;
    pack_bool(p, &c->memo);
    pack_bool(p, &c->exclude);
    pack_u64(p, &c->reach);
    pack_u64(p, &c->bit);
    pack_value(p, &c->scope);
    pack_value(p, &c->block);
    pack_ctx(p, &c->parent);
    PACK_VEC(p, &c->joined, pack_ctx_at);
    PACK_VEC(p, &c->choices, pack_held);
    pack_held(p, (void **)&c->home);
    pack_u32(p, &c->home_pos);
}

static void pack_block(struct pack *p, struct scope *s, void **at) {
    size_t number = pack_object(p, at);
    if (p->reading && number) {
        struct scope_block *made = NEW(struct scope_block);
        *at = made;
        made->scope = s;
        pack_made(p, number, made);
    }
    struct scope_block *b = *at;
    if (!number || !b) {
        pack_fail(p, "a block in it stands twice");
        return;
    }
    pack_value(p, &b->id);
    pack_size(p, &b->n_choices);
    pack_u32(p, &b->live_pos);
    pack_u32(p, &b->pos);
    pack_bool(p, &b->unique);
    if (p->reading && !b->unique) map_put(&s->by_id, value_name_hash(b->id), b);
}

/* Contexts listed in blocks are written last, not here. */
static void pack_scopes(struct pack *p, struct trace *t) {
    size_t n = t->scopes.n;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct scope *s = p->reading ? NEW(struct scope) : t->scopes.at[i];
        if (p->reading) vec_push(&t->scopes, s);
        pack_value(p, &s->name);
        pack_u32(p, &s->pos);
        size_t blocks = s->blocks.n;
        pack_count(p, &blocks, 1);
        for (size_t j = 0; j < blocks && pack_ok(p); j++) {
            void *b = p->reading ? NULL : s->blocks.at[j];
            pack_block(p, s, &b);
            if (p->reading && b) vec_push(&s->blocks, b);
        }
        PACK_VEC(p, &s->live, pack_held);
    }
}

static void pack_scope_ctxs(struct pack *p, struct trace *t) {
    for (size_t i = 0; i < t->scopes.n; i++) {
        struct scope *s = t->scopes.at[i];
        for (size_t j = 0; j < s->blocks.n; j++) PACK_VEC(p, &s->blocks.at[j]->ctxs, pack_ctx_at);
    }
}

/* ---- families and nodes ---- */

static void pack_family(struct pack *p, struct trace *t, struct family *f) {
    struct pool *pool = pool_of(t);
    pack_cell(p, (void **)&f->root);
    pack_ctx(p, &f->ctx);
    pack_ctx(p, &f->own_ctx);
    pack_value(p, &f->key);
    pack_u64(p, &f->born);
    pack_u32(p, &f->refs);
    if (f->building || f->dead) pack_fail(p, "a family in it is being made");
    value memo = f->memo ? value_box(V_PROC, &f->memo->box) : NIL;
    pack_value(p, &memo);
    size_t codes = f->code.n, frames = f->frames.n;
    pack_count(p, &codes, 1);
    pack_count(p, &frames, 1);
    for (size_t i = 0; i < codes && pack_ok(p); i++) {
        struct code *k = p->reading ? NULL : f->code.at[i];
        pack_code(p, &k);
        if (p->reading && k) pvec_push(pool, &f->code, code_ref(k));
    }
    for (size_t i = 0; i < frames && pack_ok(p); i++) {
        struct frame *g = p->reading ? NULL : f->frames.at[i];
        pack_frame(p, &g);
        if (p->reading && g) pvec_push(pool, &f->frames, g);
    }
    if (!p->reading) return;
    f->memo = memo_of(memo);
    pack_keep_value(p, memo); /* the value of its maker's node holds it later */
}

static void pack_edge(struct pack *p, struct in_edge *e) {
    pack_cell(p, (void **)&e->node);
    pack_u32(p, &e->back);
}

/* The frame of an `if` is borrowed from the family. */
static void pack_request(struct pack *p, struct trace *t, struct node *n) {
    bool there = n->req != NULL;
    pack_bool(p, &there);
    if (!there) return;
    struct request *r = p->reading ? n->req = request_new(t) : n->req;
    size_t fam = r->n_fam, xin = r->n_xin;
    pack_count(p, &fam, 1);
    pack_count(p, &xin, 1);
    if (p->reading) {
        r->n_fam = r->cap_fam = (uint32_t)fam;
        r->n_xin = r->cap_xin = (uint32_t)xin;
        r->fam = fam ? pool_zalloc(pool_of(t), fam * sizeof *r->fam) : NULL;
        r->xin = xin ? pool_zalloc(pool_of(t), xin * sizeof *r->xin) : NULL;
    }
    for (size_t i = 0; i < fam; i++) pack_held(p, (void **)&r->fam[i]);
    for (size_t i = 0; i < xin; i++) pack_edge(p, &r->xin[i]);
    pack_frame(p, &r->frame);
    if (p->reading && r->frame) pack_keep_frame(p, r->frame);
    pack_ctx(p, &r->own);
}

static void pack_members(struct pack *p, struct node *n) {
    size_t count = n->member ? n->member->n : 0;
    pack_count(p, &count, 2);
    if (p->reading && count) {
        n->member = mem_zalloc(sizeof *n->member + count * sizeof n->member->in[0]);
        n->member->n = n->member->cap = (uint32_t)count;
    }
    for (size_t i = 0; i < count; i++) {
        pack_ctx(p, &n->member->in[i].ctx);
        pack_u32(p, &n->member->in[i].pos);
    }
}

static void pack_children(struct pack *p, struct trace *t, struct node *n) {
    size_t count = n->n_out;
    pack_count(p, &count, 2);
    if (p->reading) {
        n->n_out = n->cap_out = (uint32_t)count;
        n->out = count ? pool_zalloc(pool_of(t), count * sizeof *n->out) : NULL;
    }
    for (size_t i = 0; i < count; i++) {
        pack_held(p, (void **)&n->out[i].child);
        pack_u32(p, &n->out[i].slot);
    }
}

static void pack_node(struct pack *p, struct trace *t, struct node *n) {
    if (n->kind == NODE_CONST) {
        pack_value(p, &n->val);
        pack_u16(p, &n->flags);
        return;
    }
    pack_value(p, &n->val);
    pack_u16(p, &n->flags);
    pack_u8(p, &n->special);
    pack_double(p, &n->logp);
    pack_ast(p, &n->ast);
    pack_ctx(p, &n->ctx);
    pack_u64(p, &n->seq);
    for (uint32_t i = 0; i < n->n_in; i++) pack_edge(p, &n->in[i]);
    pack_children(p, t, n);
    pack_members(p, n);
    pack_request(p, t, n);
    if (n->mark && !p->reading) pack_fail(p, "a proposal is under way");
}

/* ---- a layer ---- */

static void pack_parts(struct pack *p, struct trace *t, struct record *r) {
    size_t n = r->parts.n;
    pack_count(p, &n, 3);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct observation part = p->reading ? (struct observation){0} : r->parts.at[i];
        pack_cell(p, (void **)&part.root);
        pack_span(p, &part.span);
        pack_u32(p, &part.end);
        if (p->reading) pvec_push(pool_of(t), &r->parts, part);
    }
}

static void pack_record(struct pack *p, struct trace *t, struct record *r) {
    struct inner *in = inner(t);
    size_t n = r->names.n;
    bool labels = !p->reading && r->label && map_get(&in->labels, MAP_PTR(r->label)) == r;
    enum { KINDS = REC_PREDICT + 1 }; /* frozen records follow the others */
    uint32_t kind = pack_choice(p, r->kind + (r->frozen ? KINDS : 0), 2 * KINDS);
    r->kind = (enum record_kind)(kind % KINDS);
    r->frozen = kind >= KINDS;
    pack_sym(p, &r->label);
    pack_bool(p, &labels);
    pack_held(p, (void **)&r->family);
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct binding b = p->reading ? (struct binding){0} : r->names.at[i];
        pack_sym(p, &b.name);
        pack_cell(p, (void **)&b.node);
        if (!p->reading || !b.node) continue;
        pvec_push(pool_of(t), &r->names, b);
        map_put(&t->globals, MAP_PTR(b.name), b.node);
    }
    pack_parts(p, t, r);
    pack_span(p, &r->span);
    pack_double(p, &r->weight);
    if (p->reading && pack_ok(p) && labels) map_put(&in->labels, MAP_PTR(r->label), r);
}

static void pack_records(struct pack *p, struct trace *t) {
    size_t n = t->records.n;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct record *r = p->reading ? pool_zalloc(pool_of(t), sizeof *r) : t->records.at[i];
        if (p->reading) vec_push(&t->records, r);
        pack_record(p, t, r);
    }
}

/* This layer's entries in memo tables of lower layers. */
static void pack_added(struct pack *p, struct trace *t) {
    size_t n = t->world.added.n;
    pack_count(p, &n, 3);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct memo_entry *e = p->reading ? NULL : t->world.added.at[i];
        value of = e ? value_box(V_PROC, &e->of->box) : NIL, key = e ? e->key : NIL;
        struct memo_entry read = {0};
        pack_value(p, &of);
        pack_value(p, &key);
        trace_pack_family(p, e ? e : &read);
        if (e) continue;
        if (memo_of(of) && read.family)
            memo_set_family(world_memo_insert(&t->world, memo_of(of), key), read.family);
        pack_keep_value(p, of);
        pack_keep_value(p, key);
    }
}

static void pack_choices(struct pack *p, struct trace *t) {
    PACK_VEC(p, &t->choices, pack_held);
    for (size_t i = 0; p->reading && i < t->choices.n; i++)
        if (t->choices.at[i]) t->choices.at[i]->choice = (uint32_t)i;
}

/* Writes names only; texts are noted again when called. */
static void pack_lent(struct pack *p, struct map *lent) {
    size_t n = 0;
    for (size_t i = 0; i < lent->cap; i++) n += lent->slots[i].val && !(lent->slots[i].key & 1);
    pack_count(p, &n, 1);
    for (size_t i = 0, k = 0; i < n && pack_ok(p); i++) {
        struct sym *s = NULL;
        while (!p->reading && (!lent->slots[k].val || (lent->slots[k].key & 1))) k++;
        if (!p->reading) s = lent->slots[k++].val;
        pack_sym(p, &s);
        if (p->reading && s) map_put(lent, MAP_PTR(s), s);
    }
}

static void pack_numbers(struct pack *p, struct trace *t) {
    struct inner *in = inner(t);
    pack_rng(p, &t->rng);
    pack_double(p, &t->log_weight);
    pack_u64(p, &t->structure);
    pack_u64(p, &t->n_nodes);
    pack_u64(p, &t->n_directives);
    pack_u64(p, &t->world.first);
    pack_u64(p, &in->next_seq);
    pack_u64(p, &in->next_block);
    pack_bool(p, &in->scopes_vary);
    pack_bool(p, &in->makers);
    enum { IMPROPER = 1, ANCESTRY = 2, BITS = 4 };
    uint32_t bits = pack_choice(
        p, (in->improper ? IMPROPER : 0) | (t->ancestry.generations ? ANCESTRY : 0), BITS);
    in->improper = bits & IMPROPER;
    pack_lent(p, &in->lent);
    if (!(bits & ANCESTRY)) return;
    pack_u32(p, &t->ancestry.from);
    pack_u32(p, &t->ancestry.generations);
    pack_double(p, &t->ancestry.variance);
}

static void pack_layer(struct pack *p, struct trace *t) {
    struct inner *in = inner(t);
    families order = {0};
    bool sealed = in->names || in->entries || in->above;
    if (in->active) pack_fail(p, "part of a model is detached");
    pack_bool(p, &sealed);
    pack_skeleton(p, t, &order);
    pack_scopes(p, t);
    for (size_t i = 0; i < order.n && pack_ok(p); i++) pack_family(p, t, order.at[i]);
    for (size_t i = 0; i < order.n && pack_ok(p); i++)
        for (size_t j = 0; j < order.at[i]->nodes.n && pack_ok(p); j++)
            pack_node(p, t, order.at[i]->nodes.at[j]);
    pack_records(p, t);
    pack_added(p, t);
    pack_choices(p, t);
    pack_scope_ctxs(p, t);
    vec_release(&order);
    if (p->reading && sealed && pack_ok(p)) layer_seal(t);
}

/* Writes lower layers first. */
void trace_pack(struct pack *p, struct trace **t) {
    VEC(struct trace *) fresh = {0}; /* layers not yet known, from the top */
    struct trace *below = p->reading ? NULL : *t;
    for (; below && !pack_known(p, below); below = inner(below)->below) vec_push(&fresh, below);
    pack_held(p, (void **)&below);
    size_t n = fresh.n;
    pack_count(p, &n, 1);
    for (size_t i = n; i-- > 0 && pack_ok(p);) {
        struct trace *l = p->reading ? NULL : fresh.at[i];
        size_t number = pack_object(p, (void **)&l);
        if (p->reading) {
            l = below ? layer_new(below) : trace_new(p->core, (struct rng){0});
            if (number) pack_made(p, number, l);
        } else
            trace_settle(l);
        pack_numbers(p, l);
        pack_layer(p, l);
        below = l;
    }
    vec_release(&fresh);
    if (p->reading) *t = below;
}
