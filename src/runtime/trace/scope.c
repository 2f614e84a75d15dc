/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes and blocks. Each evaluation of `tag` is a context. A choice registers in the innermost
 * context of every scope around it. Blocks hold contexts, and scopes hold blocks. A scope keeps a
 * list of the blocks that hold choices, so picking one is O(1).
 *
 * A memoized family may be requested from several places: its context joins the requesters'
 * contexts. Joining or parting registers the family's choices again.
 *
 * Invariants: n->member lists the contexts of a choice with its position in each (ctx->choices),
 * and both sides agree. block->n_choices is the sum over its contexts. A block is in scope->live
 * exactly when that sum is above 0. Removal swaps with the last element in O(1), so these lists are
 * unordered; operators that need an order sort (scopes_sorted).
 *
 * Bits save visits. Scope number k < 63 owns bit k; the others share the last bit. tagctx.reach has
 * the bits of the scopes around a memoized family. If inner tags claim all of them, a new requester
 * changes nothing and the family's choices need no visit. Bits become invalid once a tag changes
 * its scope (scopes_vary). */
#include "runtime/trace/node.h"

#include <stdlib.h>
#include <string.h>

struct tagctx *tagctx_new(struct tagctx *parent, bool memo) {
    struct tagctx *c = NEW(struct tagctx);
    c->parent = parent;
    c->memo = memo;
    return c;
}

void tagctx_free(struct tagctx *c) {
    value_unref(c->scope);
    value_unref(c->block);
    vec_release(&c->choices);
    vec_release(&c->joined);
    mem_free(c);
}

/* The index. */

struct scope *trace_scope(struct trace *t, value name) {
    for (size_t i = 0; i < t->scopes.n; i++)
        if (value_name_equal(t->scopes.at[i]->name, name)) return t->scopes.at[i];
    return NULL;
}

struct scope_block *scope_find_block(struct scope *s, value id) {
    struct scope_block *b = map_get(&s->by_id, value_name_hash(id));
    if (b && value_name_equal(b->id, id)) return b;
    for (size_t i = 0; i < s->blocks.n; i++)
        if (value_name_equal(s->blocks.at[i]->id, id)) return s->blocks.at[i];
    return NULL;
}

static struct scope *scope_add(struct trace *t, value name) {
    struct scope *s = NEW(struct scope);
    s->name = value_ref(name);
    s->pos = (uint32_t)t->scopes.n;
    vec_push(&t->scopes, s);
    return s;
}

struct scope *scope_get(struct trace *t, value name) {
    /* Scopes have the same numbers in all layers. A layer that has any scope has all scopes of the
     * layers below. */
    const struct trace *below = t->scopes.n ? NULL : inner(t)->below;
    while (below && !below->scopes.n) below = inner(below)->below;
    for (size_t i = 0; below && i < below->scopes.n; i++) scope_add(t, below->scopes.at[i]->name);
    struct scope *s = trace_scope(t, name);
    return s ? s : scope_add(t, name);
}

/* A tag without a block name is a block of its own that cannot be looked up (unique). */
static struct scope_block *block_get(struct scope *s, value id, bool unique) {
    struct scope_block *b = unique ? NULL : map_get(&s->by_id, value_name_hash(id));
    if (b && !value_name_equal(b->id, id)) b = scope_find_block(s, id);
    if (b) return b;
    b = NEW(struct scope_block);
    b->id = value_ref(id);
    b->scope = s;
    b->pos = (uint32_t)s->blocks.n;
    vec_push(&s->blocks, b);
    if (!unique) map_put(&s->by_id, value_name_hash(id), b);
    b->unique = unique;
    return b;
}

/* Maintains scope->live. */
static void block_count(struct scope_block *b, long change) {
    struct scope *s = b->scope;
    bool was = b->n_choices > 0;
    b->n_choices = (size_t)((long)b->n_choices + change);
    bool is = b->n_choices > 0;
    if (is && !was) {
        b->live_pos = (uint32_t)s->live.n;
        vec_push(&s->live, b);
    } else if (was && !is) {
        vec_swap_out(&s->live, b->live_pos)->live_pos = b->live_pos;
    }
}

static void block_drop(struct scope_block *b) {
    struct scope *s = b->scope;
    vec_swap_out(&s->blocks, b->pos)->pos = b->pos;
    if (!b->unique && map_get(&s->by_id, value_name_hash(b->id)) == b)
        map_del(&s->by_id, value_name_hash(b->id));
    value_unref(b->id);
    vec_release(&b->ctxs);
    mem_free(b);
}

/* The last bit stands for all scopes without a bit of their own and is never claimed. */
enum { SCOPE_BITS = 64 };
#define OTHER_SCOPES (UINT64_C(1) << (SCOPE_BITS - 1))

void tagctx_set_scope(struct trace *t, struct tagctx *c, value name) {
    struct scope *s = scope_get(t, name);
    uint64_t bit = UINT64_C(1) << (s->pos < SCOPE_BITS ? s->pos : SCOPE_BITS - 1);
    if (c->bit && c->bit != bit) inner(t)->scopes_vary = true;
    c->bit = bit;
    value_set_take(&c->scope, value_ref(name));
}

/* Scope and block are operands and may change in a proposal. The context leaves the index before
 * the change and enters it afterwards at the new place. Its choices stay registered in it. */
void tag_enter_index(struct trace *t, struct node *tag) {
    if (!tag->req) return; /* an alias, or frozen */
    struct tagctx *c = tag->req->own;
    tagctx_set_scope(t, c, tag->in[0].node->val);
    if (tag->n_in == 3)
        value_set_take(&c->block, value_ref(tag->in[1].node->val));
    else if (c->block.tag == V_NIL)
        c->block = value_atom((double)inner(t)->next_block++);
    struct scope *s = scope_get(t, c->scope);
    tag->flags |= NODE_IN_INDEX;
    if (c->exclude) return;
    struct scope_block *b = block_get(s, c->block, tag->n_in == 2);
    c->home = b;
    c->home_pos = (uint32_t)b->ctxs.n;
    vec_push(&b->ctxs, c);
    if (c->choices.n) block_count(b, (long)c->choices.n);
}

void tag_leave_index(struct trace *t, struct node *tag) {
    struct tagctx *c = tag->req->own;
    tag->flags &= (uint16_t)~NODE_IN_INDEX;
    struct scope_block *b = c->home;
    if (!b) return;
    if (c->choices.n) block_count(b, -(long)c->choices.n);
    vec_swap_out(&b->ctxs, c->home_pos)->home_pos = c->home_pos;
    c->home = NULL;
    if (!b->ctxs.n) block_drop(b);
}

/* Registration of choices. */

/* A choice registers in all of its contexts in one pass. If several ways lead to one context, its
 * slot shows that it is already listed. */
static void enlist(struct node *n, struct tagctx *c) {
    uint32_t k = n->member ? n->member->n : 0, cap = n->member ? n->member->cap : 0;
    if (c->slot < k && n->member->in[c->slot].ctx == c) return;
    c->slot = k;
    if (k == cap) {
        cap = cap ? 2 * cap : 1;
        n->member = mem_realloc(n->member, sizeof *n->member + cap * sizeof n->member->in[0]);
        n->member->cap = cap;
    }
    n->member->n = k + 1;
    n->member->in[k].ctx = c;
    n->member->in[k].pos = (uint32_t)c->choices.n;
    vec_push(&c->choices, n);
    if (c->home) block_count(c->home, 1);
}

/* The bits that c claims: choices in its extent do not register further out in those scopes. */
static uint64_t claim(const struct trace *t, const struct tagctx *c) {
    return inner(t)->scopes_vary ? 0 : c->bit & ~OTHER_SCOPES;
}

/* Walks outwards. `seen` holds scopes claimed by an inner tag, `claimed` their bits. A tag that
 * excludes (tag_exclude) claims its scope without enlisting, so the choice is in no block of it. At
 * a memoized family the walk continues from every requester. At most 32 scopes around a choice are
 * kept apart; further ones outwards are not. */
static void walk(struct trace *t, struct node *n, struct tagctx *c, value *seen, size_t n_seen,
                 uint64_t claimed) {
    for (; c; c = c->parent) {
        if (c->memo) {
            bool ends = !inner(t)->scopes_vary && !(c->reach & ~claimed);
            for (size_t i = 0; !ends && i < c->joined.n; i++)
                walk(t, n, c->joined.at[i], seen, n_seen, claimed);
            return;
        }
        bool taken = false;
        for (size_t i = 0; i < n_seen; i++) taken |= value_name_equal(seen[i], c->scope);
        if (taken) continue;
        if (!c->exclude) enlist(n, c);
        if (n_seen < 32) {
            seen[n_seen++] = c->scope;
            claimed |= claim(t, c);
        }
    }
}

void tagctx_register(struct trace *t, struct node *n) {
    value seen[32];
    if (n->ctx) walk(t, n, n->ctx, seen, 0, 0);
}

void tagctx_unregister(struct trace *t, struct node *n) {
    if (!n->member) return;
    for (uint32_t i = 0; i < n->member->n; i++) {
        struct tagctx *c = n->member->in[i].ctx;
        uint32_t pos = n->member->in[i].pos;
        struct node *last = vec_last(&c->choices);
        vec_swap_out(&c->choices, pos);
        for (uint32_t j = 0; last != n && j < last->member->n; j++)
            if (last->member->in[j].ctx == c) {
                last->member->in[j].pos = pos;
                break;
            }
        if (c->home) block_count(c->home, -1);
    }
    mem_free(n->member);
    n->member = NULL;
}

/* Memoized families. */

/* The scopes of the tags around this place. Memo contexts cache the result. */
uint64_t tagctx_reach(const struct tagctx *c) {
    uint64_t found = 0;
    for (; c; c = c->parent) {
        if (c->memo) return found | c->reach;
        found |= c->bit;
    }
    return found;
}

/* Those of `scopes` that no tag between a place and the start of its family claims. */
static uint64_t unclaimed(const struct trace *t, const struct family *f, const struct tagctx *c,
                          uint64_t scopes) {
    const struct tagctx *end = f->own_ctx ? f->own_ctx : f->ctx;
    for (; c && c != end && !c->memo; c = c->parent) scopes &= ~claim(t, c);
    return scopes;
}

/* Tags of these scopes around the family have come or gone. Its choices register again, except
 * those under inner tags of the same scopes. */
static void refresh(struct trace *t, struct family *f, uint64_t scopes) {
    if (family_below(t, f)) return;
    if (f->visit != inner(t)->ctx_visit) f->fresh = 0;
    f->visit = inner(t)->ctx_visit;
    if (!(scopes & ~f->fresh)) return;
    f->fresh |= scopes;
    struct tagctx *own = f->own_ctx;
    if (own) own->reach = 0;
    for (size_t i = 0; own && i < own->joined.n; i++) own->reach |= tagctx_reach(own->joined.at[i]);
    for (size_t i = 0; i < f->nodes.n; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !(n->flags & NODE_ON)) continue;
        uint64_t left = unclaimed(t, f, n->ctx, scopes);
        if (!left) continue;
        if (n->choice != NO_INDEX) {
            tagctx_unregister(t, n);
            tagctx_register(t, n);
        }
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++) refresh(t, n->req->fam[j], left);
    }
}

/* Families may be reached on several paths; f->fresh has the scopes already done in this visit
 * (ctx_visit). */
static void refresh_all(struct trace *t, struct family *f, struct tagctx *ctx) {
    uint64_t scopes = tagctx_reach(ctx);
    inner(t)->ctx_visit++;
    if (scopes) refresh(t, f, inner(t)->scopes_vary ? UINT64_MAX : scopes);
}

void memo_join(struct trace *t, struct family *f, struct tagctx *ctx) {
    if (!ctx) return;
    vec_push(&f->own_ctx->joined, ctx);
    refresh_all(t, f, ctx);
}

void memo_part(struct trace *t, struct family *f, struct tagctx *ctx) {
    if (!ctx) return;
    for (size_t i = 0; i < f->own_ctx->joined.n; i++)
        if (f->own_ctx->joined.at[i] == ctx) {
            vec_swap_out(&f->own_ctx->joined, i);
            break;
        }
    refresh_all(t, f, ctx);
}

/* Why a choice of a memoized family is in a scope. */

/* The next requester of the family; its parents include the family's root. */
static const struct node *next_reader(const struct family *f, uint32_t *at) {
    for (; *at < f->root->n_out; ++*at) {
        const struct node *n = f->root->out[*at].child;
        for (uint32_t j = 0; n->req && j < n->req->n_fam; j++)
            if (n->req->fam[j] == f) return n;
    }
    return NULL;
}

static const struct family *memoized_around(const struct node *n) {
    const struct family *f = n->family;
    for (uint32_t first = 0; f && !f->memo; first = 0) {
        const struct node *reader = next_reader(f, &first);
        f = reader ? reader->family : NULL;
    }
    return f;
}

static bool read_in(const struct node *n, value scope, unsigned depth, struct span *at) {
    enum { DEEP = 100 };
    const struct tagctx *c = n->ctx;
    for (; c && !c->memo; c = c->parent)
        if (!c->exclude && value_name_equal(c->scope, scope)) return true;
    const struct family *f = c && depth < DEEP ? memoized_around(n) : NULL;
    const struct node *reader;
    for (uint32_t i = 0; f && (reader = next_reader(f, &i)); i++)
        if (read_in(reader, scope, depth + 1, at)) {
            if (at->unit == NO_SPAN_UNIT) *at = node_span(reader);
            return true;
        }
    return false;
}

struct span node_read_in(const struct node *n, value scope) {
    struct span at = NO_SPAN;
    return read_in(n, scope, 0, &at) ? at : NO_SPAN;
}

/* For operators. */

value scope_name(const struct scope *s) {
    return s->name;
}

size_t scope_live(const struct scope *s) {
    return s->live.n;
}

value block_id(const struct scope_block *b) {
    return b->id;
}

void block_choices(const struct scope_block *b, struct node ***out, size_t *n) {
    VEC(struct node *) v = {0};
    for (size_t i = 0; i < b->ctxs.n; i++)
        for (size_t j = 0; j < b->ctxs.at[i]->choices.n; j++) {
            struct node *c = b->ctxs.at[i]->choices.at[j];
            bool twice = false; /* a shared family may be in two contexts of one block */
            for (size_t k = 0; b->ctxs.n > 1 && k < v.n; k++) twice |= v.at[k] == c;
            if (!twice) vec_push(&v, c);
        }
    *out = v.at;
    *n = v.n;
}

void scope_pick(const struct scope *s, struct rng *rng, struct node ***out, size_t *n) {
    block_choices(s->live.at[rng_below(rng, s->live.n)], out, n);
}

static int by_id(const void *a, const void *b) {
    return value_compare((*(struct scope_block *const *)a)->id,
                         (*(struct scope_block *const *)b)->id);
}

void scopes_sorted(struct scope *s, struct scope_block ***out, size_t *n) {
    *n = s->live.n;
    *out = NEW_ARRAY(struct scope_block *, s->live.n + 1);
    if (*n) memcpy(*out, s->live.at, *n * sizeof **out);
    qsort(*out, *n, sizeof **out, by_id);
}

void scope_show_blocks(const struct scope *s, struct buf *out) {
    enum { SHOWN = 8 };
    for (size_t i = 0; i < s->blocks.n && i < SHOWN; i++) {
        if (i) buf_puts(out, ", ");
        value_print(s->blocks.at[i]->id, out);
    }
    if (s->blocks.n > SHOWN) buf_puts(out, ", ...");
}

void scopes_release(struct trace *t) {
    for (size_t i = 0; i < t->scopes.n; i++) {
        struct scope *s = t->scopes.at[i];
        while (s->blocks.n) block_drop(vec_last(&s->blocks));
        vec_release(&s->blocks);
        vec_release(&s->live);
        map_release(&s->by_id);
        value_unref(s->name);
        mem_free(s);
    }
    vec_release(&t->scopes);
}
