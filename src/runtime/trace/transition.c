/* SPDX-License-Identifier: Apache-2.0
 *
 * The Metropolis-Hastings transition through a scaffold, and walks over the whole trace. */
#include "runtime/trace/scaffold.h"

#include <math.h>

/* Two infinite densities have no ratio. */
bool mh_accept(double log_alpha, double w_old, double w_new, struct rng *rng) {
    if (w_old == -INFINITY) return true;
    if (w_new == -INFINITY || (isinf(w_old) && isinf(w_new))) return false;
    return log_alpha >= 0 || log(rng_uniform(rng)) < log_alpha;
}

#ifdef GPMEM_CHECKS
/* Test builds compare the weight of a proposal with densities of the whole trace. Without a brush,
 * log p(new) - log p(old) = w_new - w_old + the principals' own densities, which a proposal from
 * the prior leaves out. */
struct weight_check {
    double joint, own;
    bool on;
};

static struct weight_check densities(struct trace *t, struct node *const *principals, size_t n) {
    struct weight_check c = {.on = t->n_nodes < 5000};
    double likelihood, logp;
    for (size_t i = 0; i < n; i++) {
        const struct sp_class *cls = node_class(principals[i]);
        if (!c.on || !cls || cls->incorporate || cls->aaa) return (struct weight_check){0};
        c.on = node_density(t, principals[i], principals[i]->val, &logp) == GPM_OK;
        c.own += logp;
    }
    c.on = c.on && trace_log_joint(t, &c.joint, &likelihood) == GPM_OK && isfinite(c.joint);
    return c;
}

static enum gpm_status check_weight(struct trace *t, const struct weight_check *old,
                                    const struct weight_check *now, double w_old, double w_new) {
    if (!old->on || !now->on || !isfinite(w_old) || !isfinite(w_new)) return GPM_OK;
    double change = now->joint - old->joint, own = now->own - old->own;
    double scale = 1 + fabs(now->joint) + fabs(old->joint) + fabs(w_old) + fabs(w_new);
    if (fabs(change - own - (w_new - w_old)) <= 1e-6 * scale) return GPM_OK;
    return diag_raise(t->core->diags, DIAG_NAN, NO_SPAN,
                      "trace check: a proposal weighs %.17g, the whole trace says %.17g",
                      w_new - w_old, change - own);
}

#endif

enum gpm_status trace_mh(struct trace *t, struct node *const *principals, size_t n,
                         const struct mh_extra *extra, bool *accepted) {
    double w_old, w_new, pick = extra && extra->log_pick ? -extra->log_pick(extra->ctx, t) : 0;
#ifdef GPMEM_CHECKS
    struct weight_check old = densities(t, principals, n);
#endif
    struct scaffold *s = scaffold_build_redrawing(t, principals, n);
    *accepted = false;
    enum gpm_status st = scaffold_detach(s, SCAFFOLD_PRIOR, &w_old);
    if (st != GPM_OK) return st;
    st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w_new);
    if (st == GPM_OK && s->built && extra && extra->log_pick)
        pick += extra->log_pick(extra->ctx, t);
    /* Choices drawn from their prior weigh nothing (regen.c). */
    *accepted = st == GPM_OK && s->built && mh_accept(w_new - w_old + pick, w_old, w_new, &t->rng);
#ifdef GPMEM_CHECKS
    /* New draws are choices of the brush, memoized families requested for the first time, and
     * parameters of uncollapsed makers. */
    bool fresh = s->has_brush || inner(t)->next_seq != s->first_seq;
    for (size_t i = 0; i < s->e.n; i++)
        fresh |= s->e.at[i].role == ROLE_M && (s->e.at[i].n->flags & NODE_RANDOM);
#endif
    scaffold_close(s, *accepted);
#ifdef GPMEM_CHECKS /* after the commit, until which makers keep both sets of parameters */
    if (st == GPM_OK && *accepted && !fresh) {
        struct weight_check now = densities(t, principals, n);
        return check_weight(t, &old, &now, w_old, w_new);
    }
#endif
    return st;
}

enum gpm_status trace_redraw(struct trace *t, struct node *const *principals, size_t n,
                             double *w_old, double *w_new) {
    struct scaffold *s;
    *w_new = -INFINITY;
    enum gpm_status st = scaffold_open(t, principals, n, SCAFFOLD_PRIOR, w_old, &s);
    if (st != GPM_OK) return st;
    st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, w_new);
    scaffold_close(s, st == GPM_OK && s->built);
    return st;
}

/* Every node of the trace, families in the order of their first requester. */

static enum gpm_status each_in_family(struct trace *t, struct family *f, uint32_t visit,
                                      node_fn *fn, void *ctx);

/* Visits nodes from..to-1 of a family, with the families they request. */
static enum gpm_status each_of(struct trace *t, struct family *f, uint32_t from, uint32_t to,
                               uint32_t visit, node_fn *fn, void *ctx) {
    for (uint32_t i = from; i < to; i++) {
        struct node *n = f->nodes.at[i];
        if (n->kind == NODE_CONST || !(n->flags & NODE_ON)) continue;
        enum gpm_status st = GPM_OK;
        for (uint32_t j = 0; n->req && j < n->req->n_fam && st == GPM_OK; j++)
            st = each_in_family(t, n->req->fam[j], visit, fn, ctx);
        if (st == GPM_OK) st = fn(ctx, t, n);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

static enum gpm_status each_in_family(struct trace *t, struct family *f, uint32_t visit,
                                      node_fn *fn, void *ctx) {
    if (f->visit == visit || family_below(t, f)) return GPM_OK;
    f->visit = visit;
    return each_of(t, f, 0, f->nodes.n, visit, fn, ctx);
}

/* Visits directives in order, and requested families before the requesting node. This is the order
 * of evaluation, so densities of exchangeable applications can be added up on the way. */
enum gpm_status trace_each_node(struct trace *t, node_fn *fn, void *ctx) {
    uint32_t visit = ++inner(t)->ctx_visit;
    for (size_t i = 0; i < t->records.n; i++) {
        enum gpm_status st = each_in_family(t, t->records.at[i]->family, visit, fn, ctx);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

enum gpm_status trace_each_in(struct trace *t, struct recorded d, node_fn *fn, void *ctx) {
    uint32_t from, to = recorded_nodes(d, &from);
    return each_of(t, d.r->family, from, to, ++inner(t)->ctx_visit, fn, ctx);
}

struct count {
    size_t bytes, apps;
};

/* Bytes of the family and its constants, without the other nodes. */
static size_t family_bytes(const struct family *f) {
    size_t bytes = sizeof *f + f->nodes.n * sizeof *f->nodes.at;
    for (uint32_t i = 0; i < f->nodes.n; i++)
        if (f->nodes.at[i]->kind == NODE_CONST) bytes += sizeof(struct cell);
    return bytes;
}

static enum gpm_status count_bytes(void *ctx, struct trace *t, struct node *n) {
    struct count *c = ctx;
    c->apps++;
    c->bytes += sizeof *n + n->n_in * sizeof n->in[0];
    for (uint32_t i = 0; i < n->n_in; i++) /* its edges in the parents' lists */
        if (n->in[i].node->kind != NODE_CONST) c->bytes += sizeof(struct out_edge);
    if (!n->req) return GPM_OK;
    c->bytes += sizeof *n->req + n->req->n_xin * (sizeof n->req->xin[0] + sizeof(struct out_edge));
    for (uint32_t i = 0; i < n->req->n_fam; i++)
        c->bytes += sizeof(void *) + family_bytes(n->req->fam[i]);
    return GPM_OK;
}

static size_t record_bytes(const struct record *r) {
    return sizeof(struct record *) + sizeof *r + r->names.n * sizeof *r->names.at +
           r->parts.n * sizeof *r->parts.at + family_bytes(r->family);
}

size_t trace_memory(struct trace *t, struct map *seen, size_t *n_apps) {
    struct count c = {0, 0};
    for (; t && !map_get(seen, MAP_PTR(t)); t = inner(t)->below) {
        enum gpm_status st = trace_each_node(t, count_bytes, &c);
        (void)st;
        for (size_t i = 0; i < t->records.n; i++) c.bytes += record_bytes(t->records.at[i]);
        map_put(seen, MAP_PTR(t), t);
    }
    *n_apps = c.apps;
    return c.bytes;
}
