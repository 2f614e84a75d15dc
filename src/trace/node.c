/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and families: allocation, links between parents and children. Removing a child is O(1):
 * each edge knows its position in the parent's list.
 *
 * A family owns its nodes, which come from the trace's pool; constants are cut off after the value
 * and know neither parents nor children (they never change, so nothing has to be told). Values are
 * counted, statistics are the procedure's own: incorporate and unincorporate come in pairs,
 * NODE_INCORPORATED says on which side a node stands. */
#include "trace/node.h"

#include <assert.h>
#include <string.h>

/* seq grows with every node and is never used twice: scaffolds are sorted by it, and programs name
 * choices by it (SUB_CHOSEN). */
struct node *node_new(struct trace *t, struct family *fam, enum node_kind kind,
                      const struct ast *ast, uint32_t n_in) {
    struct node *n = pool_zalloc(&inner(t)->pool, node_size(kind, n_in));
    n->kind = (uint8_t)kind;
    n->ast = ast;
    n->n_in = n_in;
    n->family = fam;
    n->seq = inner(t)->next_seq++;
    n->choice = NO_INDEX;
    t->n_nodes++;
    vec_push(&fam->nodes, n);
    return n;
}

struct node *node_constant(struct trace *t, struct family *fam, value v_taken) {
    struct node *n = pool_zalloc(&inner(t)->pool, sizeof(struct cell));
    n->kind = NODE_CONST;
    n->val = v_taken;
    t->n_nodes++;
    vec_push(&fam->nodes, n);
    return n;
}

void node_free(struct trace *t, struct node *n) {
    t->n_nodes--;
    value_unref(n->val);
    if (n->kind != NODE_CONST) {
        if (n->req) request_free(n->req);
        mem_free(n->out);
        mem_free(n->member);
        if (n->flat) inner(t)->flat_hooks->drop(t, n->flat);
    }
    pool_free(&inner(t)->pool, n, node_size(n->kind, n->n_in));
}

void link_in(struct node *child, uint32_t slot) {
    struct in_edge *e = edge_of(child, slot);
    struct node *p = e->node;
    if (p->kind == NODE_CONST) return;
    if (p->n_out == p->cap_out) {
        p->cap_out = p->cap_out ? 2 * p->cap_out : 2;
        p->out = mem_realloc(p->out, p->cap_out * sizeof *p->out);
    }
    e->back = p->n_out;
    p->out[p->n_out++] = (struct out_edge){child, slot};
}

/* The last child takes the free place, and its edge learns of it. */
void unlink_in(struct node *child, uint32_t slot) {
    struct in_edge *e = edge_of(child, slot);
    struct node *p = e->node;
    if (p->kind == NODE_CONST) return;
    struct out_edge last = p->out[--p->n_out];
    if (e->back == p->n_out) return;
    p->out[e->back] = last;
    edge_of(last.child, last.slot)->back = e->back;
}

/* Most nodes request nothing, and carry a NULL. */
struct request *node_request(struct node *n) {
    if (!n->req) n->req = NEW(struct request);
    return n->req;
}

void request_free(struct request *r) {
    if (r->own) tagctx_free(r->own);
    mem_free(r->fam);
    mem_free(r->xin);
    mem_free(r);
}

void request_add_parent(struct node *n, struct node *parent) {
    struct request *r = node_request(n);
    r->xin = mem_realloc(r->xin, (r->n_xin + 1) * sizeof *r->xin);
    r->xin[r->n_xin].node = parent;
    link_in(n, XIN | r->n_xin++);
}

void request_clear_parents(struct node *n) {
    if (!n->req) return;
    while (n->req->n_xin) {
        unlink_in(n, XIN | (n->req->n_xin - 1));
        n->req->n_xin--;
    }
}

/* For a request that is put away with its list (detach): links go, xin[] stays for relinking. */
void request_clear_parents_keep(struct node *n) {
    for (uint32_t i = n->req->n_xin; i-- > 0;) unlink_in(n, XIN | i);
}

/* A compound call is no child of its operands (NODE_LINKED_ARGS is off): the body's nodes read them
 * themselves, and a change must reach those alone. */
void node_link_all(struct node *n) {
    if (n->flags & NODE_FROZEN) return;
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool is_op = n->kind == NODE_APP && i == 0;
        if (is_op || (n->flags & NODE_LINKED_ARGS)) link_in(n, i);
    }
    n->flags |= NODE_LINKED_OP;
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++) link_in(n, XIN | i);
}

void node_unlink_all(struct node *n) {
    for (uint32_t i = n->req ? n->req->n_xin : 0; i-- > 0;) unlink_in(n, XIN | i);
    for (uint32_t i = n->n_in; i-- > 0;) {
        bool is_op = n->kind == NODE_APP && i == 0;
        if (is_op ? (n->flags & NODE_LINKED_OP) : (n->flags & NODE_LINKED_ARGS)) unlink_in(n, i);
    }
    n->flags &= (uint16_t)~NODE_LINKED_OP;
}

struct family *family_new(struct tagctx *ctx) {
    struct family *f = NEW(struct family);
    f->ctx = ctx;
    return f;
}

void family_keep_code(struct family *f, struct code *k) {
    size_t n = f->more ? f->more->n : 0;
    if (!k || f->code == k) return;
    if (!f->code) {
        f->code = code_ref(k);
        return;
    }
    f->more = mem_realloc(f->more, sizeof *f->more + (n + 1) * sizeof f->more->at[0]);
    f->more->at[n] = code_ref(k);
    f->more->n = n + 1;
}

void family_free(struct trace *t, struct family *f) {
    for (size_t i = f->nodes.n; i-- > 0;) node_free(t, f->nodes.at[i]);
    for (size_t i = 0; i < f->frames.n; i++) frame_unref(f->frames.at[i]);
    vec_release(&f->nodes);
    vec_release(&f->frames);
    value_unref(f->key);
    if (f->own_ctx) tagctx_free(f->own_ctx);
    code_unref(f->code);
    for (size_t i = 0; f->more && i < f->more->n; i++) code_unref(f->more->at[i]);
    mem_free(f->more);
    mem_free(f);
}

struct frame *family_frame(struct session_core *core, struct family *fam, struct frame *parent,
                           size_t n, struct sym **names, struct code *code) {
    struct frame *f = frame_new(core, parent, n, names, code);
    vec_push(&fam->frames, f);
    return f;
}

struct span node_span(const struct node *n) {
    return n->kind != NODE_CONST && n->ast ? n->ast->span : NO_SPAN;
}

uint64_t node_seq(const struct node *n) {
    return n->seq;
}

value node_procedure(const struct node *n) {
    return n->in[0].node->val;
}

const struct sp_class *node_class(const struct node *n) {
    bool applies = n->kind == NODE_APP && !(n->flags & NODE_FROZEN);
    return applies ? proc_class(n->in[0].node->val, NULL) : NULL;
}

bool node_is_stateful(const struct node *n) {
    const struct sp_class *cls = node_class(n);
    return cls && cls->incorporate;
}

/* Arguments are borrowed from the operand nodes: args must be gone before any of those changes. */
void node_call(struct trace *t, struct node *n, struct sp_call *c, value *args) {
#ifdef GPMEM_CHECKS
    assert(!inner(t)->flats ||
           !inner(t)->flat_hooks->is_ahead(t)); /* it would read what is out of date */
#endif
    c->cls = proc_class(n->in[0].node->val, &c->state);
    c->n = n->n_in - 1;
    for (size_t i = 0; i < c->n; i++) args[i] = n->in[i + 1].node->val;
    c->args = args;
    c->rng = &t->rng;
    c->diags = t->core->diags;
    c->host = &t->core->host;
    c->observed = n->flags & NODE_OBSERVED;
}

/* The arguments of a call by row, on the C stack where there are few. */
#define CALL_ARGS(n)                                                                               \
    value args_small_[8], *args = (n)->n_in <= 9 ? args_small_ : NEW_ARRAY(value, (n)->n_in)
#define CALL_DONE() (args != args_small_ ? mem_free(args) : (void)0)

/* log p(v | arguments, statistics as they are). -inf is an answer; NaN is an error, raised here
 * where it appears. core->model: rows that call procedures of the model evaluate them in this
 * trace. */
enum gpm_status node_density(struct trace *t, struct node *n, value v, double *out) {
    struct sp_call c;
    CALL_ARGS(n);
    node_call(t, n, &c, args);
    struct world *outer = model_enter(t);
    enum gpm_status st = core_check_call(t->core, &c, n->in[0].node->val, args, c.n, node_span(n));
    if (st == GPM_OK) {
        c.rng = &t->rng;
        st = core_place(t->core, c.cls->log_density(&c, v, out), node_span(n));
    }
    t->core->model = outer;
    CALL_DONE();
    if (st == GPM_OK && *out != *out)
        st = diag_raise(t->core->diags, DIAG_NAN, node_span(n), "the log density of %s is NaN",
                        c.cls->name);
    return st;
}

/* With statistics the density changes with everything else that is counted, so it is not kept. */
enum gpm_status node_logp(struct trace *t, struct node *n, double *out) {
    if (!(n->flags & NODE_HAS_LOGP)) {
        enum gpm_status st = node_density(t, n, n->val, &n->logp);
        if (st != GPM_OK) return st;
        if (!node_is_stateful(n)) n->flags |= NODE_HAS_LOGP;
    }
    *out = n->logp;
    return GPM_OK;
}

/* In or out of the statistics of the procedure that n applies. What went in as an observation must
 * leave as one (NODE_AS_DATA), even where the observation is gone by then. */
static enum gpm_status statistics(struct trace *t, struct node *n, bool in) {
    struct sp_call c;
    CALL_ARGS(n);
    node_call(t, n, &c, args);
    enum gpm_status st = GPM_OK;
    if (!in) c.observed = n->flags & NODE_AS_DATA; /* as it went in */
    if (c.cls && c.cls->incorporate) {
        struct world *outer = model_enter(t);
        st = in ? c.cls->incorporate(&c, n->val) : c.cls->unincorporate(&c, n->val);
        t->core->model = outer;
        st = core_place(t->core, st, node_span(n));
    }
    CALL_DONE();
    return st;
}

enum gpm_status node_incorporate(struct trace *t, struct node *n) {
    if (n->flags & NODE_INCORPORATED || !node_is_stateful(n)) return GPM_OK;
    enum gpm_status st = statistics(t, n, true);
    if (st != GPM_OK) return st;
    n->flags &= (uint16_t)~NODE_AS_DATA;
    n->flags |= NODE_INCORPORATED | (n->flags & NODE_OBSERVED ? NODE_AS_DATA : 0);
    return GPM_OK;
}

/* A row that cannot hold the value says so by an error, which is taken back: its density is zero as
 * it is. */
enum gpm_status node_incorporate_impossible(struct trace *t, struct node *n) {
    struct diags *d = t->core->diags;
    size_t before = d->list.n;
    enum gpm_status st = node_incorporate(t, n);
    if (st == GPM_OK || !diags_failed_since(d, before)) return st;
    diags_rewind(d, before);
    return GPM_OK;
}

enum gpm_status node_unincorporate(struct trace *t, struct node *n) {
    if (!(n->flags & NODE_INCORPORATED)) return GPM_OK;
    n->flags &= (uint16_t)~NODE_INCORPORATED;
    return statistics(t, n, false);
}

enum gpm_status node_support(struct trace *t, struct node *n, struct sp_support *out) {
    struct sp_call c;
    CALL_ARGS(n);
    node_call(t, n, &c, args);
    enum gpm_status st = GPM_OK;
    if (c.cls->support)
        st = core_place(t->core, c.cls->support(&c, out), node_span(n));
    else
        *out = (struct sp_support){c.cls->flags & SP_DISCRETE ? SUPPORT_DISCRETE : SUPPORT_OTHER, 0,
                                   0};
    CALL_DONE();
    return st;
}

enum gpm_status node_enumerate(struct trace *t, struct node *n, value **vals, size_t *count) {
    struct sp_call c;
    CALL_ARGS(n);
    node_call(t, n, &c, args);
    enum gpm_status st;
    if (!c.cls->enumerate) {
        st = diag_raise(t->core->diags, DIAG_NOT_ENUMERABLE, node_span(n),
                        "the values of %s cannot be enumerated", c.cls->name);
        diag_set_help(t->core->diags,
                      "gibbs and emap need discrete choices with finitely many values; "
                      "mh, slice or hmc move continuous ones");
    } else
        st = core_place(t->core, c.cls->enumerate(&c, vals, count), node_span(n));
    CALL_DONE();
    return st;
}
