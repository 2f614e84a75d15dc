/* SPDX-License-Identifier: Apache-2.0
 *
 * Deep copies of traces. The layers of a trace (layer.c) become one. First every family, node,
 * frame and context is copied raw, with maps from old to new; then pointers and values are
 * translated. Plain data are shared, since values are immutable. Closures over traced frames, memo
 * tables, references to nodes and statistics are copied. Last come the links between layers, in
 * evaluation order.
 *
 * Statistics and boxes (kernels, environments, actions) are copied by packing, as when they are
 * saved. Parts of the trace inside them go through clone_value and clone_frame.
 *
 * Guarantee: the copy has the same values, evaluation order, weight and generator state, and shares
 * nothing mutable. Split the generator for an independent stream. Contexts and blocks may be stored
 * in another order. */
#include "runtime/core/nest.h"
#include "runtime/trace/node.h"
#include "language/value/value_pack.h"

#include <string.h>

struct clone {
    struct trace *from, *to; /* to: NULL for a value that leaves the trace */
    struct trace **layers;   /* layers of `from`, the lowest first */
    size_t n_layers;
    struct map nodes, families, frames, ctxs, values; /* old pointer -> new */
    VEC(struct family *) order;                       /* old families, in the order found */
    VEC(struct frame *) frame_order;                  /* old frames that are copied */
    VEC(value) kept;                                  /* new values, held until the end */
    struct map plain;          /* frames that hold nothing of the trace; each -> itself */
    VEC(struct frame *) asked; /* the same, in order of insertion */
    bool looks, found;         /* looking for parts of the trace; one found */
};

static value clone_value(struct clone *c, value v);
static bool is_traced(struct clone *c, value v);

static struct node *map_node(struct clone *c, struct node *n) {
    struct node *m = map_get(&c->nodes, MAP_PTR(n));
    return m ? m : n; /* shared constants stay */
}

/* Does the frame or an enclosing one bind a name to a node of the trace, or to a value that holds
 * part of it? Nodes of an enclosing model belong to that model. */
static bool frame_leads(struct clone *c, const struct frame *f) {
    uint16_t level = nest_level(c->from->core);
    for (; f && !map_get(&c->plain, MAP_PTR(f)); f = f->parent) {
        bool objects = false;
        if (f->made_with && f->owner == level) return true;
        for (uint32_t i = 0; i < f->n; i++) {
            if (f->s[i].node && !f->s[i].own && f->owner == level) return true;
            objects |= IS_OBJ(f->s[i].v);
        }
        if (!objects) continue;
        map_put(&c->plain, MAP_PTR(f), (void *)(uintptr_t)f); /* assumed so; ends cycles */
        vec_push(&c->asked, (struct frame *)(uintptr_t)f);
        for (uint32_t i = 0; i < f->n; i++)
            if ((!f->s[i].node || f->s[i].own) && is_traced(c, f->s[i].v)) return true;
    }
    return false;
}

/* If a frame needs a copy, the assumptions made during its test are withdrawn. */
static bool frame_needs_copy(struct clone *c, const struct frame *f) {
    size_t before = c->asked.n;
    bool leads = frame_leads(c, f);
    while (leads && c->asked.n > before) {
        c->asked.n--;
        map_del(&c->plain, MAP_PTR(c->asked.at[c->asked.n]));
    }
    return leads;
}

/* Slots are filled later, when all nodes exist. */
static struct frame *clone_frame(struct clone *c, struct frame *f) {
    if (!f || !frame_needs_copy(c, f)) return frame_ref(f);
    struct frame *g = map_get(&c->frames, MAP_PTR(f));
    if (g) return frame_ref(g);
    struct frame *parent = clone_frame(c, f->parent);
    g = frame_like(c->from->core, parent, f);
    frame_unref(parent);
    map_put(&c->frames, MAP_PTR(f), g);
    vec_push(&c->frame_order, f);
    for (uint32_t i = 0; i < f->n; i++) {
        struct slot *s = &f->s[i];
        g->s[i].unset = s->unset;
        if (!s->own || !c->to) continue;
        struct node *k = (struct node *)cell_new(NIL); /* a constant that the frame owns */
        g->s[i].node = k;
        g->s[i].own = true;
        map_put(&c->nodes, MAP_PTR(s->node), k);
    }
    return g;
}

/* Without choices and home; clone_scopes registers and indexes the copies. */
static struct tagctx *clone_ctx(struct clone *c, struct tagctx *x) {
    if (!x) return NULL;
    struct tagctx *y = map_get(&c->ctxs, MAP_PTR(x));
    if (y) return y;
    y = tagctx_new(NULL, x->memo);
    map_put(&c->ctxs, MAP_PTR(x), y);
    y->parent = clone_ctx(c, x->parent);
    y->exclude = x->exclude;
    y->reach = x->reach;
    y->bit = x->bit;
    y->scope = value_ref(x->scope);
    y->block = value_ref(x->block);
    for (size_t i = 0; i < x->joined.n; i++) {
        struct tagctx *j = clone_ctx(c, x->joined.at[i]);
        vec_push(&y->joined, j);
    }
    return y;
}

/* Copies flags, number, density and edge positions. Pointers into the old trace are cleared here,
 * or translated by fill_node before they are read. */
static void raw_node(struct clone *c, struct node *n, struct family *g) {
    bool constant = n->kind == NODE_CONST;
    size_t size = node_size(n->kind, n->n_in);
    struct node *m = pool_zalloc(pool_of(c->to), size);
    memcpy(m, n, size);
    m->val = NIL;
    if (!constant) {
        m->family = g;
        m->choice = NO_INDEX;
        m->member = NULL;
        m->flat = NULL;
        m->req = NULL;
        m->out = n->cap_out ? pool_zalloc(pool_of(c->to), n->cap_out * sizeof *n->out) : NULL;
        m->flags &= (uint16_t)~NODE_IN_INDEX;
    }
    map_put(&c->nodes, MAP_PTR(n), m);
    pvec_push(pool_of(c->to), &g->nodes, m);
    c->to->n_nodes++;
}

/* Finds requesters first, so every family is reached from a directive; each is listed once. */
static void find_families(struct clone *c, struct family *f) {
    if (map_get(&c->families, MAP_PTR(f))) return;
    struct family *g = family_new(c->to, NULL);
    g->refs = f->refs;
    g->born = f->born;
    map_put(&c->families, MAP_PTR(f), g);
    vec_push(&c->order, f);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        raw_node(c, n, g);
        if (n->kind == NODE_CONST || !n->req) continue;
        for (uint32_t j = 0; j < n->req->n_fam; j++) find_families(c, n->req->fam[j]);
    }
}

static void fill_family(struct clone *c, struct family *f) {
    struct family *g = map_get(&c->families, MAP_PTR(f));
    g->root = map_node(c, f->root);
    g->ctx = clone_ctx(c, f->ctx);
    g->own_ctx = clone_ctx(c, f->own_ctx);
    g->key = clone_value(c, f->key);
    for (size_t i = 0; i < f->code.n; i++) family_keep_code(c->to, g, f->code.at[i]);
    for (size_t i = 0; i < f->frames.n; i++) {
        struct frame *h = clone_frame(c, f->frames.at[i]);
        pvec_push(pool_of(c->to), &g->frames, h);
    }
    if (f->memo) { /* the table lists the copy */
        value m = clone_value(c, value_box(V_PROC, &f->memo->box));
        g->memo = memo_of(m);
        value_unref(m);
    }
}

/* Lists of children are copied in their order, so the positions in in[].back stay right. */
static void fill_node(struct clone *c, struct node *n) {
    struct node *m = map_node(c, n);
    m->val = clone_value(c, n->val);
    if (n->kind == NODE_CONST) return;
    m->ctx = clone_ctx(c, n->ctx);
    for (uint32_t i = 0; i < n->n_in; i++) m->in[i].node = map_node(c, n->in[i].node);
    for (uint32_t i = 0; i < n->n_out; i++)
        m->out[i] = (struct out_edge){map_node(c, n->out[i].child), n->out[i].slot};
    if (!n->req) return;
    struct request *r = m->req = request_new(c->to), *q = n->req;
    r->n_fam = q->n_fam;
    r->n_xin = q->n_xin;
    r->cap_fam = q->n_fam;
    r->cap_xin = q->n_xin;
    r->fam = q->n_fam ? pool_zalloc(pool_of(c->to), q->n_fam * sizeof *r->fam) : NULL;
    for (uint32_t i = 0; i < q->n_fam; i++) r->fam[i] = map_get(&c->families, MAP_PTR(q->fam[i]));
    r->xin = q->n_xin ? pool_zalloc(pool_of(c->to), q->n_xin * sizeof *r->xin) : NULL;
    for (uint32_t i = 0; i < q->n_xin; i++) {
        r->xin[i].node = map_node(c, q->xin[i].node);
        r->xin[i].back = q->xin[i].back;
    }
    r->own = clone_ctx(c, q->own);
    if (q->frame) {
        r->frame = clone_frame(c, q->frame);
        frame_unref(r->frame); /* borrowed; held by the family */
    }
}

/* Values. */

/* Each object has one copy, since procedures are compared by identity. The map holds no references;
 * `kept` does until the end. */
static value remember(struct clone *c, value old, value fresh) {
    map_put(&c->values, MAP_PTR(old.u.obj), fresh.u.obj);
    vec_push(&c->kept, value_ref(fresh));
    return fresh;
}

/* Translates the trace's parts of a pack; everything else is unchanged. The reader, which follows
 * directly, owns the result. */
static void carry_value(struct pack *p, value *v) {
    struct clone *c = p->above;
    value of = p->reading || c->looks ? NIL : clone_value(c, *v);
    if (!p->reading && c->looks) c->found |= is_traced(c, *v);
    pack_raw(p, p->reading ? v : &of, sizeof of);
}

static void carry_frame(struct pack *p, struct frame **f) {
    struct clone *c = p->above;
    struct frame *of = p->reading || c->looks ? NULL : clone_frame(c, *f);
    if (!p->reading && c->looks) c->found |= frame_needs_copy(c, *f);
    pack_raw(p, p->reading ? f : &of, sizeof of);
}

static const struct pack_links carrying = {.value = carry_value, .frame = carry_frame};

static void copy_begin(struct pack *p, struct session_core *core, const struct pack_links *links,
                       struct clone *c) {
    pack_begin_copy(p, links);
    p->core = core;
    p->host = &core->host;
    p->diags = core->diags;
    p->above = c;
}

static void *copy_state(struct pack *p, const struct sp_state *s) {
    s->cls->pack(p, s->data);
    pack_turn(p);
    void *data = s->cls->pack(p, NULL);
    pack_release(p);
    return data;
}

/* Kernels of the calling program cannot be packed and belong to no trace. */
static bool box_is_traced(struct clone *c, struct box *b) {
    struct pack p;
    bool looks = c->looks, found = c->found;
    void *x = b;
    c->looks = true;
    c->found = false;
    copy_begin(&p, c->from->core, &carrying, c);
    pack_box(&p, pack_object(&p, &x), b->cls, b);
    bool traced = c->found && pack_ok(&p);
    pack_release(&p);
    c->looks = looks;
    c->found = found;
    return traced;
}

static value clone_box(struct clone *c, value v) {
    struct pack p;
    void *x = v.u.box;
    copy_begin(&p, c->from->core, &carrying, c);
    pack_box(&p, pack_object(&p, &x), v.u.box->cls, v.u.box);
    pack_turn(&p);
    struct box *made = pack_box(&p, pack_object(&p, &x), v.u.box->cls, NULL);
    pack_release(&p);
    return remember(c, v, value_box(v.tag, made));
}

/* Procedures of one maker share their state, and their copies do, too. */
static value clone_made(struct clone *c, value v) {
    struct sp_proc *m = (struct sp_proc *)v.u.box;
    struct sp_state *state =
        m->state->cls->shared ? m->state : map_get(&c->values, MAP_PTR(m->state));
    if (!state) {
        struct pack p;
        copy_begin(&p, c->from->core, &carrying, c);
        state = sp_state_new(m->state->cls, copy_state(&p, m->state));
        map_put(&c->values, MAP_PTR(m->state), state);
    } else
        sp_state_ref(state);
    value out = sp_made_value(m->cls, state);
    sp_state_unref(state);
    if (m->maker) ((struct sp_proc *)out.u.box)->maker = map_node(c, m->maker);
    return remember(c, v, out);
}

/* The memo table's families are copied along. A value that leaves the trace gets an empty table. */
static value clone_memo(struct clone *c, value v) {
    struct memo_proc *m = memo_of(v);
    value proc = clone_value(c, m->proc);
    value out = remember(c, v, memo_value(proc, c->to ? m->owner : 0));
    value_unref(proc);
    struct memo_proc *k = memo_of(out);
    k->born = m->born;
    for (size_t i = 0; c->to && i < m->table.cap; i++)
        for (struct memo_entry *e = m->table.slots[i].val; e; e = e->next) {
            value key = clone_value(c, e->key);
            struct memo_entry *ne = memo_insert(k, key);
            value_unref(key);
            ne->val = clone_value(c, e->val);
            if (e->family) memo_set_family(ne, map_get(&c->families, MAP_PTR(e->family)));
        }
    return out;
}

static bool box_copies(value v) {
    return (v.tag == V_BOX || v.tag == V_ENV) && v.u.box->cls->copies;
}

/* Does the value hold anything that belongs to a trace? Made procedures and their statistics count
 * as belonging; is_traced_part reads them without changing them. */
static bool is_traced_part(value v, void *ctx) {
    struct clone *c = ctx;
    if (v.tag == V_REF) return v.u.ref->node != NULL;
    if (box_copies(v)) return box_is_traced(c, v.u.box);
    if (v.tag != V_PROC) return false;
    struct closure *k = closure_of(v);
    struct memo_proc *m = memo_of(v);
    bool own = m && m->owner == nest_level(c->from->core);
    return (k && frame_needs_copy(c, k->env)) || own || (c->to && sp_made_of(v));
}

static bool is_traced(struct clone *c, value v) {
    return value_any(v, is_traced_part, c);
}

static value clone_sequence(struct clone *c, value v) {
    value *items;
    size_t n;
    if (!seq_items(v, &items, &n)) return value_ref(v);
    for (size_t i = 0; i < n; i++) value_set_take(&items[i], clone_value(c, items[i]));
    value out = v.tag == V_ARRAY ? value_array(items, n) : value_list(items, n);
    out.u.obj->flags = v.u.obj->flags;
    values_free(items, n);
    return out;
}

/* Shares plain data. Only sequences with more than one reference are remembered: two copies of a
 * list are still equal, but two copies of a procedure would not be. */
static value clone_value(struct clone *c, value v) {
    if (!IS_OBJ(v) || !is_traced(c, v)) return value_ref(v);
    struct obj *known = map_get(&c->values, MAP_PTR(v.u.obj));
    if (known) return value_ref((value){.tag = v.tag, .u.obj = known});
    struct closure *k = closure_of(v);
    if (k) {
        struct frame *env = clone_frame(c, k->env);
        value out = closure_value(k->lambda, env);
        frame_unref(env);
        return remember(c, v, out);
    }
    if (memo_of(v)) return clone_memo(c, v);
    if (sp_made_of(v)) return clone_made(c, v);
    if (box_copies(v)) return clone_box(c, v);
    if (v.tag == V_REF) {
        struct node *n = v.u.ref->node;
        value of = clone_value(c, n && !c->to ? n->val : v.u.ref->v);
        value out = value_ref_to(of, n && c->to ? map_node(c, n) : NULL);
        value_unref(of);
        return remember(c, v, out);
    }
    if (v.tag == V_DICT) {
        size_t n = v.u.dict->n;
        value *kv = NEW_ARRAY(value, 2 * n + 1);
        for (size_t i = 0; i < 2 * n; i++) kv[i] = clone_value(c, v.u.dict->kv[i]);
        value out = value_dict(kv, n);
        values_free(kv, 2 * n);
        return remember(c, v, out);
    }
    value out = clone_sequence(c, v);
    return v.u.obj->refs > 1 ? remember(c, v, out) : out;
}

/* Inside a trace the bindings are copied. For a value that leaves it names mean what they mean at
 * the place of the call. */
static void fill_bindings(struct clone *c, const struct bindings *from, struct frame *g) {
    if (!from || !c->to) return;
    g->made_with = NEW(struct bindings);
    for (size_t i = 0; i < from->all.n; i++) {
        struct meaning m = from->all.at[i];
        if (m.kind == MEANS_CONSTANT) m.cell = cell_new(clone_value(c, m.cell->val));
        bindings_put(g->made_with, m);
    }
}

static void fill_frames(struct clone *c) {
    for (size_t k = 0; k < c->frame_order.n; k++) { /* grows while values are copied */
        struct frame *f = c->frame_order.at[k], *g = map_get(&c->frames, MAP_PTR(f));
        fill_bindings(c, f->made_with, g);
        for (uint32_t i = 0; i < f->n; i++) {
            struct slot *s = &f->s[i];
            g->s[i].v = clone_value(c, c->to ? s->v : slot_value(s));
            if (!s->node || !c->to) continue;
            if (s->own)
                g->s[i].node->val = value_ref(g->s[i].v);
            else
                g->s[i].node = map_node(c, s->node);
        }
    }
}

static void clone_scopes(struct clone *c) {
    struct trace *u = c->to;
    for (size_t k = 0; k < c->n_layers; k++) {
        struct trace *t = c->layers[k];
        for (size_t i = 0; i < t->scopes.n; i++) scope_get(u, t->scopes.at[i]->name);
        for (size_t i = 0; i < t->choices.n; i++) choice_add(u, map_node(c, t->choices.at[i]));
    }
    /* In evaluation order, whatever order the old index has: copies of two traces with the same
     * nodes then list their blocks alike. */
    for (size_t k = 0; k < c->order.n; k++)
        for (size_t i = 0; i < c->order.at[k]->nodes.n; i++) {
            struct node *n = c->order.at[k]->nodes.at[i];
            if (n->kind == NODE_TAG && (n->flags & NODE_IN_INDEX))
                tag_enter_index(u, map_node(c, n));
        }
}

static void clone_records(struct clone *c, struct trace *t) {
    struct trace *u = c->to;
    for (size_t i = 0; i < t->records.n; i++) {
        struct record *r = t->records.at[i], *q = pool_zalloc(pool_of(u), sizeof *q);
        *q = *r;
        memset(&q->names, 0, sizeof q->names);
        memset(&q->parts, 0, sizeof q->parts);
        q->family = map_get(&c->families, MAP_PTR(r->family));
        for (size_t j = 0; j < r->parts.n; j++) {
            struct observation p = r->parts.at[j];
            p.root = map_node(c, p.root);
            pvec_push(pool_of(u), &q->parts, p);
        }
        for (size_t j = 0; j < r->names.n; j++) {
            struct binding b = {r->names.at[j].name, map_node(c, r->names.at[j].node)};
            pvec_push(pool_of(u), &q->names, b);
            map_put(&u->globals, MAP_PTR(b.name), b.node);
        }
        vec_push(&u->records, q);
        if (q->label && map_get(&inner(t)->labels, MAP_PTR(q->label)) == r)
            map_put(&inner(u)->labels, MAP_PTR(q->label), q);
    }
}

/* Makes the links that a family of a layer left out because they would have changed lower
 * layers. */
static void link_layers(struct clone *c, const struct trace *layer, struct family *f) {
    struct trace *u = c->to;
    struct family *g = map_get(&c->families, MAP_PTR(f));
    if (f->memo && f->memo->born < layer->world.first)
        memo_set_family(memo_insert(g->memo, g->key), g);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i], *m = map_node(c, n);
        if (n->kind == NODE_CONST) continue;
        for (uint32_t j = 0; j < linked_operands(n); j++)
            if (node_below(layer, n->in[j].node)) link_in(u, m, j);
        for (uint32_t j = 0; n->req && j < n->req->n_xin; j++)
            if (node_below(layer, n->req->xin[j].node)) link_in(u, m, XIN | j);
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++)
            if (family_below(layer, n->req->fam[j])) family_take(u, m->req->fam[j], m->ctx);
    }
}

static void clone_release(struct clone *c) {
    mem_free(c->layers);
    map_release(&c->nodes);
    map_release(&c->families);
    map_release(&c->frames);
    map_release(&c->ctxs);
    map_release(&c->values);
    map_release(&c->plain);
    vec_release(&c->asked);
    vec_release(&c->order);
    vec_release(&c->frame_order);
    for (size_t i = 0; i < c->kept.n; i++) value_unref(c->kept.at[i]);
    vec_release(&c->kept);
}

/* All raw copies exist before the first pointer is translated, so translation may run in any order.
 * Frames come last, since copying values adds more of them. */
struct trace *trace_clone(struct trace *t) {
    struct trace *u = trace_new(t->core, t->rng);
    struct clone c = {.from = t, .to = u};
    c.n_layers = trace_layers(t, &c.layers);
    size_t *upto = NEW_ARRAY(size_t, c.n_layers); /* families of each layer and below */
    inner(u)->next_block = inner(t)->next_block;
    inner(u)->scopes_vary = inner(t)->scopes_vary;
    inner(u)->makers = inner(t)->makers;
    inner(u)->improper = inner(t)->improper;
    u->log_weight = t->log_weight;
    u->ancestry = t->ancestry;
    u->n_directives = t->n_directives;
    for (size_t k = 0; k < c.n_layers; k++) {
        struct trace *l = c.layers[k];
        lent_join(u, l);
        for (size_t i = 0; i < l->records.n; i++) find_families(&c, l->records.at[i]->family);
        upto[k] = c.order.n;
    }
    for (size_t i = 0; i < c.order.n; i++) fill_family(&c, c.order.at[i]);
    for (size_t i = 0; i < c.order.n; i++)
        for (size_t j = 0; j < c.order.at[i]->nodes.n; j++)
            fill_node(&c, c.order.at[i]->nodes.at[j]);
    fill_frames(&c);
    for (size_t k = 0; k < c.n_layers; k++) clone_records(&c, c.layers[k]);
    clone_scopes(&c);
    for (size_t k = 1; k < c.n_layers; k++)
        for (size_t i = upto[k - 1]; i < upto[k]; i++) link_layers(&c, c.layers[k], c.order.at[i]);
    inner(u)->next_seq = inner(t)->next_seq;
    mem_free(upto);
    clone_release(&c);
    return u;
}

/* Exports closures over values, empty memo tables and references to values. Later moves of the
 * trace do not change an exported value. */
value trace_export(struct trace *t, value v) {
    struct clone c = {.from = t};
    value out = clone_value(&c, v);
    fill_frames(&c);
    clone_release(&c);
    return out;
}

void *trace_copy_state(struct trace *t, struct sp_state *s) {
    struct pack p;
    copy_begin(&p, t->core, NULL, NULL);
    return copy_state(&p, s);
}
