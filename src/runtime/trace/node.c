/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and families: allocation, links between parents and children. Removing a child is O(1):
 * each edge knows its position in the parent's list.
 *
 * A family owns its nodes, which come from the trace's pool. Constants never change, so they end
 * after the value and have no links to parents or children. Values are counted. Statistics belong
 * to the procedure: each incorporate is matched by one unincorporate, and NODE_INCORPORATED marks
 * the nodes now counted. */
#include "runtime/trace/node.h"

#include "runtime/core/nest.h"
#include "runtime/core/call_form.h"

#include <assert.h>
#include <math.h>

/* seq grows with every node and is never reused. Scaffolds are sorted by it, and programs name
 * choices by it (SUB_CHOSEN). */
struct node *node_new(struct trace *t, struct family *fam, enum node_kind kind,
                      const struct ast *ast, uint32_t n_in) {
    struct node *n = pool_zalloc(pool_of(t), node_size(kind, n_in));
    n->kind = (uint8_t)kind;
    n->ast = ast;
    n->n_in = n_in;
    n->family = fam;
    n->seq = inner(t)->next_seq++;
    n->choice = NO_INDEX;
    t->n_nodes++;
    pvec_push(pool_of(t), &fam->nodes, n);
    return n;
}

struct node *node_constant(struct trace *t, struct family *fam, value v_taken) {
    struct node *n = pool_zalloc(pool_of(t), sizeof(struct cell));
    inner(t)->makers |= first_made(v_taken) != NULL;
    n->kind = NODE_CONST;
    n->val = v_taken;
    t->n_nodes++;
    pvec_push(pool_of(t), &fam->nodes, n);
    return n;
}

void node_free(struct trace *t, struct node *n) {
    t->n_nodes--;
    value_unref(n->val);
    if (n->kind != NODE_CONST) {
        if (n->req) request_free(t, n->req);
        pool_free(pool_of(t), n->out, n->cap_out * sizeof *n->out);
        mem_free(n->member);
        if (n->flat) inner(t)->flat_hooks->drop(t, n->flat);
    }
    pool_free(pool_of(t), n, node_size(n->kind, n->n_in));
}

void link_in(struct trace *t, struct node *child, uint32_t slot) {
    struct in_edge *e = edge_of(child, slot);
    struct node *p = e->node;
    if (p->kind == NODE_CONST || node_below(t, p)) return;
    if (p->n_out == p->cap_out) p->out = pool_grow(pool_of(t), p->out, &p->cap_out, sizeof *p->out);
    e->back = p->n_out;
    p->out[p->n_out++] = (struct out_edge){child, slot};
}

/* The last child moves into the free position, and its edge is updated. */
void unlink_in(struct trace *t, struct node *child, uint32_t slot) {
    struct in_edge *e = edge_of(child, slot);
    struct node *p = e->node;
    if (p->kind == NODE_CONST || node_below(t, p)) return;
    struct out_edge last = p->out[--p->n_out];
    if (e->back == p->n_out) return;
    p->out[e->back] = last;
    edge_of(last.child, last.slot)->back = e->back;
}

/* Allocated on first use, since most nodes request nothing. */
struct request *node_request(struct trace *t, struct node *n) {
    if (!n->req) n->req = request_new(t);
    return n->req;
}

struct request *request_new(struct trace *t) {
    return pool_zalloc(pool_of(t), sizeof(struct request));
}

void request_free(struct trace *t, struct request *r) {
    if (r->own) tagctx_free(r->own);
    pool_free(pool_of(t), r->fam, r->cap_fam * sizeof *r->fam);
    pool_free(pool_of(t), r->xin, r->cap_xin * sizeof *r->xin);
    pool_free(pool_of(t), r, sizeof *r);
}

void request_add_parent(struct trace *t, struct node *n, struct node *parent) {
    struct request *r = node_request(t, n);
    if (r->n_xin == r->cap_xin) r->xin = pool_grow(pool_of(t), r->xin, &r->cap_xin, sizeof *r->xin);
    r->xin[r->n_xin].node = parent;
    link_in(t, n, XIN | r->n_xin++);
}

/* For a request that is kept aside with its list (detach): removes the links but leaves xin[] for
 * relinking. */
void request_unlink(struct trace *t, struct node *n) {
    for (uint32_t i = n->req ? n->req->n_xin : 0; i-- > 0;) unlink_in(t, n, XIN | i);
}

void request_clear_parents(struct trace *t, struct node *n) {
    request_unlink(t, n);
    if (n->req) n->req->n_xin = 0;
}

/* The operands do not list a compound call as a child (NODE_LINKED_ARGS is off). The body's nodes
 * read them directly, and a change must reach only those. */
uint32_t linked_operands(const struct node *n) {
    return n->flags & NODE_LINKED_ARGS ? n->n_in : n->kind == NODE_APP;
}

void node_link_operands(struct trace *t, struct node *n) {
    for (uint32_t i = 0; i < linked_operands(n); i++) link_in(t, n, i);
}

void node_link_all(struct trace *t, struct node *n) {
    if (n->flags & NODE_FROZEN) return;
    node_link_operands(t, n);
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++) link_in(t, n, XIN | i);
}

void node_unlink_all(struct trace *t, struct node *n) {
    request_unlink(t, n);
    if (n->flags & NODE_FROZEN) return;
    for (uint32_t i = linked_operands(n); i-- > 0;) unlink_in(t, n, i);
}

struct family *family_new(struct trace *t, struct tagctx *ctx) {
    struct family *f = pool_zalloc(pool_of(t), sizeof *f);
    f->ctx = ctx;
    return f;
}

void family_keep_code(struct trace *t, struct family *f, struct code *k) {
    enum { LOOKED_AT = 8 }; /* a loop of observations repeats the same ones */
    for (uint32_t i = f->code.n; i-- > 0 && i + LOOKED_AT >= f->code.n;)
        if (f->code.at[i] == k) return;
    if (k) pvec_push(pool_of(t), &f->code, code_ref(k));
}

void family_free(struct trace *t, struct family *f) {
    for (size_t i = f->nodes.n; i-- > 0;) node_free(t, f->nodes.at[i]);
    for (size_t i = 0; i < f->frames.n; i++) frame_unref(f->frames.at[i]);
    pvec_release(pool_of(t), &f->nodes);
    pvec_release(pool_of(t), &f->frames);
    value_unref(f->key);
    if (f->own_ctx) tagctx_free(f->own_ctx);
    for (size_t i = 0; i < f->code.n; i++) code_unref(f->code.at[i]);
    pvec_release(pool_of(t), &f->code);
    pool_free(pool_of(t), f, sizeof *f);
}

struct frame *family_frame(struct trace *t, struct family *fam, struct frame *parent, size_t n,
                           struct sym **names, struct code *code) {
    struct frame *f = frame_new(t->core, parent, n, names, code);
    f->owner = nest_level(t->core);
    if (!f->lexical) f->lexical = f->owner;
    pvec_push(pool_of(t), &fam->frames, f);
    return f;
}

struct span node_span(const struct node *n) {
    return n->kind != NODE_CONST && n->ast ? n->ast->span : NO_SPAN;
}

uint64_t node_origin(const struct node *n) {
    uint64_t h = (uint64_t)(uintptr_t)n->ast;
    for (const struct tagctx *c = n->ctx; c; c = c->parent)
        if (c->home && !c->home->unique) h = hash_mix(h ^ value_hash(c->block));
    return h;
}

static bool leads_somewhere(const struct node *n, struct map *seen) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct node *child = n->out[i].child;
        if (child->flags & (NODE_RANDOM | NODE_OBSERVED | NODE_OBS_ROOT)) return true;
        if (map_get(seen, MAP_PTR(child))) continue;
        map_put(seen, MAP_PTR(child), (void *)child);
        if (leads_somewhere(child, seen)) return true;
    }
    return false;
}

bool node_matters(const struct node *n) {
    struct map seen = {0};
    bool yes = leads_somewhere(n, &seen);
    map_release(&seen);
    return yes;
}

uint64_t node_seq(const struct node *n) {
    return n->seq;
}

value node_procedure(const struct node *n) {
    return n->in[0].node->val;
}

value node_arg(const struct node *n, size_t i) {
    return n->in[i].node->val;
}

const struct sp_class *node_class(const struct node *n) {
    bool applies = n->kind == NODE_APP && !(n->flags & NODE_FROZEN);
    return applies ? proc_class(n->in[0].node->val, NULL) : NULL;
}

bool node_is_stateful(const struct node *n) {
    const struct sp_class *cls = node_class(n);
    return cls && cls->incorporate;
}

void call_begin_with(struct trace *t, struct node *n, value *args, struct node_call *k) {
    k->args = args;
    k->c = (struct sp_call){.args = args,
                            .n = n->n_in - 1,
                            .rng = &t->rng,
                            .diags = t->core->diags,
                            .host = &t->core->host,
                            .observed = node_is_datum(n)};
    k->c.cls = proc_class(n->in[0].node->val, &k->c.state);
    k->outer = model_enter(t);
}

void call_begin(struct trace *t, struct node *n, struct node_call *k) {
#ifdef GPMEM_CHECKS
    assert(!inner(t)->flats || !inner(t)->flat_hooks->is_ahead(t)); /* else reads stale values */
#endif
    value *args = n->n_in <= COUNT_OF(k->small) + 1 ? k->small : NEW_ARRAY(value, n->n_in);
    for (uint32_t i = 1; i < n->n_in; i++) args[i - 1] = n->in[i].node->val;
    call_begin_with(t, n, args, k);
}

enum gpm_status call_begin_checked(struct trace *t, struct node *n, struct node_call *k) {
    call_begin(t, n, k);
    return core_check_args(t->core, &k->c, n->in[0].node->val, node_span(n));
}

enum gpm_status call_end(struct trace *t, struct node *n, struct node_call *k, enum gpm_status st) {
    t->core->model = k->outer;
    if (k->args != k->small) mem_free(k->args);
    return core_place(t->core, st, node_span(n));
}

/* The density of a number given numbers, the usual case, by the row's numeric form. On NaN the
 * general form reports the error (sp.h). The number of arguments was checked at the application. */
static bool quick_density(const struct node *n, value v, double *out) {
    enum { FEW = 4 };
    const struct sp_class *cls = node_class(n);
    double args[FEW];
    uint32_t k = n->n_in - 1;
    if (!cls || !cls->num_log_density || cls->code == SP_CODE_EXACTLY || !number_is(v) || k > FEW ||
        (cls->num_args && k > cls->num_args))
        return false;
    for (uint32_t i = 0; i < k; i++) {
        value arg = n->in[i + 1].node->val;
        if (arg.tag != V_NUM) return false;
        args[i] = arg.u.num;
    }
    *out = cls->num_log_density(number_of(&v), args, k);
    return *out == *out;
}

/* log p(v | arguments, current statistics). -inf is a valid result; NaN is an error and is raised
 * here, where it arises. */
enum gpm_status node_density(struct trace *t, struct node *n, value v, double *out) {
    struct node_call k;
    if (quick_density(n, v, out)) return GPM_OK;
    enum gpm_status st = call_begin_checked(t, n, &k);
    if (st == GPM_OK) st = k.c.cls->log_density(&k.c, v, out);
    st = call_end(t, n, &k, st);
    if (st == GPM_OK && *out != *out)
        st = diag_raise(t->core->diags, DIAG_NAN, node_span(n), "the log density of %s is NaN",
                        k.c.cls->name);
    return st;
}

/* A density under statistics changes with every counted value, so it is not cached. */
enum gpm_status node_logp(struct trace *t, struct node *n, double *out) {
    if (!(n->flags & NODE_HAS_LOGP)) {
        enum gpm_status st = node_density(t, n, n->val, &n->logp);
        if (st != GPM_OK) return st;
        if (!node_is_stateful(n)) n->flags |= NODE_HAS_LOGP;
    }
    *out = n->logp;
    return GPM_OK;
}

/* Adds n to the statistics of its procedure or removes it. A value added as an observation must be
 * removed as one (NODE_AS_DATA), even if the observation is gone by then. */
static enum gpm_status statistics(struct trace *t, struct node *n, bool in) {
    struct node_call k;
    call_begin(t, n, &k);
    enum gpm_status st = GPM_OK;
    if (!in) k.c.observed = n->flags & NODE_AS_DATA;
    if (k.c.cls && k.c.cls->incorporate)
        st = in ? k.c.cls->incorporate(&k.c, n->val) : k.c.cls->unincorporate(&k.c, n->val);
    return call_end(t, n, &k, st);
}

enum gpm_status node_incorporate(struct trace *t, struct node *n) {
    if (!inner(t)->makers) return GPM_OK; /* no procedure keeps statistics */
    if (n->flags & NODE_INCORPORATED || !node_is_stateful(n)) return GPM_OK;
    enum gpm_status st = statistics(t, n, true);
    if (st != GPM_OK) return st;
    n->flags &= (uint16_t)~NODE_AS_DATA;
    n->flags |= NODE_INCORPORATED | (node_is_datum(n) ? NODE_AS_DATA : 0);
    return GPM_OK;
}

/* A row that cannot hold the value raises an error, which is discarded: the density is already
 * zero. */
enum gpm_status node_incorporate_given(struct trace *t, struct node *n) {
    struct diags *d = t->core->diags;
    size_t before = d->list.n;
    enum gpm_status st = node_incorporate(t, n);
    if (st == GPM_OK || !isinf(n->logp) || !diags_failed_since(d, before)) return st;
    diags_rewind(d, before);
    return GPM_OK;
}

enum gpm_status node_unincorporate(struct trace *t, struct node *n) {
    if (!(n->flags & NODE_INCORPORATED)) return GPM_OK;
    n->flags &= (uint16_t)~NODE_INCORPORATED;
    return statistics(t, n, false);
}

bool node_is_normal(const struct node *n) {
    const struct sp_class *cls = node_class(n);
    return cls && cls->normal && n->n_in == 3; /* procedure, mean and spread */
}

enum gpm_status node_prior(struct trace *t, struct node *n, value *draw, value *mean) {
    struct node_call k;
    call_begin(t, n, &k);
    *mean = k.c.args[0];
    return call_end(t, n, &k, sp_simulate(&k.c, draw));
}

enum gpm_status node_support(struct trace *t, struct node *n, struct sp_support *out) {
    struct node_call k;
    call_begin(t, n, &k);
    const struct sp_class *cls = k.c.cls;
    *out = (struct sp_support){.kind = cls->flags & SP_DISCRETE ? SUPPORT_DISCRETE : SUPPORT_OTHER};
    return call_end(t, n, &k, cls->support ? cls->support(&k.c, out) : GPM_OK);
}

enum gpm_status trace_not_enumerable(struct diags *d, const struct sp_class *cls, struct span at) {
    diag_raise(d, DIAG_NOT_ENUMERABLE, at, "the values of %s cannot be enumerated", cls->name);
    const char *movers = cls->flags & SP_DISCRETE ? "mh moves" : "mh, slice and nuts move";
    return diag_set_help(d, "%s it; gibbs and emap list all values that a choice may have", movers);
}

enum gpm_status node_enumerate(struct trace *t, struct node *n, value **vals, size_t *count) {
    const struct sp_class *cls = node_class(n);
    if (!cls->enumerate) return trace_not_enumerable(t->core->diags, cls, node_span(n));
    struct node_call k;
    call_begin(t, n, &k);
    return call_end(t, n, &k, cls->enumerate(&k.c, vals, count));
}
