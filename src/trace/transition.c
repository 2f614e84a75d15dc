/* SPDX-License-Identifier: Apache-2.0
 *
 * The Metropolis-Hastings transition, densities of the whole trace, values that leave it. */
#include "trace/scaffold.h"

#include <math.h>

static bool accept(double log_alpha, double w_old, double w_new, struct rng *rng) {
    if (isinf(w_old) && w_old < 0) return true; /* leaves an impossible start */
    if (isinf(w_new) && w_new < 0) return false;
    if (isinf(w_old) && isinf(w_new)) return false;
    return log_alpha >= 0 || log(rng_uniform(rng)) < log_alpha;
}

static enum gpm_status general_mh(struct trace *t, struct node *const *principals, size_t n,
                                  const struct mh_extra *extra, bool *accepted) {
    struct scaffold *s;
    double w_old, w_new, pick = extra && extra->log_pick ? -extra->log_pick(extra->ctx, t) : 0;
    enum gpm_status st = scaffold_build(t, principals, n, &s);
    if (st != GPM_OK) return st;
    st = scaffold_detach(s, SCAFFOLD_PRIOR, &w_old);
    if (st == GPM_OK) {
        st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w_new);
        if (st == GPM_OK && scaffold_built(s) && extra && extra->log_pick)
            pick += extra->log_pick(extra->ctx, t);
        *accepted = st == GPM_OK && scaffold_built(s) &&
                    accept(w_new - w_old + pick, w_old, w_new, &t->rng);
        if (*accepted)
            scaffold_commit(s);
        else
            scaffold_restore(s);
    }
    scaffold_free(s);
    return st;
}

enum gpm_status trace_mh(struct trace *t, struct node *const *principals, size_t n,
                         const struct mh_extra *extra, bool *accepted) {
    *accepted = false;
    if (n == 1) {
        bool done;
        enum gpm_status st = plan_mh(t, principals[0], &done, accepted);
        if (st != GPM_OK || done) return st;
    }
    return general_mh(t, principals, n, extra, accepted);
}

/* Every node of the trace, families in the order of their first requester. */

static enum gpm_status each_in_family(struct trace *t, struct family *f, uint32_t visit,
                                      node_fn *fn, void *ctx) {
    if (f->visit == visit) return GPM_OK;
    f->visit = visit;
    for (size_t i = 0; i < f->nodes.n; i++) {
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

enum gpm_status trace_each_node(struct trace *t, node_fn *fn, void *ctx) {
    uint32_t visit = ++t->ctx_visit;
    for (size_t i = 0; i < t->records.n; i++) {
        enum gpm_status st = each_in_family(t, t->records.at[i]->family, visit, fn, ctx);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

struct joint {
    double all, observed;
};

static enum gpm_status add_density(void *ctx, struct trace *t, struct node *n) {
    struct joint *j = ctx;
    const struct sp_class *cls = node_class(n);
    double logp;
    enum gpm_status st = GPM_OK;
    if (!cls) return GPM_OK;
    if (cls->aaa && first_made(n->val)) {
        st = maker_log_joint(t, n, first_made(n->val)->state, &logp);
        if (st == GPM_OK) j->all += logp, j->observed += logp;
    } else if ((n->flags & NODE_RANDOM) && cls->log_density && !node_is_stateful(n)) {
        st = node_density(t, n, n->val, &logp);
        if (st != GPM_OK) return st;
        j->all += logp;
        if (n->flags & NODE_OBSERVED) j->observed += logp;
    }
    return st;
}

enum gpm_status trace_log_joint(struct trace *t, double *joint, double *likelihood) {
    struct joint j = {0, 0};
    enum gpm_status st = trace_each_node(t, add_density, &j);
    *joint = j.all;
    *likelihood = j.observed;
    return st;
}

struct count {
    size_t bytes, apps;
};

static enum gpm_status count_bytes(void *ctx, struct trace *t, struct node *n) {
    UNUSED(t);
    struct count *c = ctx;
    c->apps++;
    c->bytes += sizeof *n + n->n_in * sizeof n->in[0];
    for (uint32_t i = 0; i < n->n_in; i++) /* its edges in the parents' lists */
        if (n->in[i].node->kind != NODE_CONST) c->bytes += sizeof(struct out_edge);
    if (n->req)
        c->bytes += sizeof *n->req + n->req->n_fam * (sizeof(struct family) + sizeof(void *)) +
                    n->req->n_xin * (sizeof n->req->xin[0] + sizeof(struct out_edge));
    return GPM_OK;
}

size_t trace_memory(struct trace *t, size_t *n_apps) {
    struct count c = {0, 0};
    enum gpm_status st = trace_each_node(t, count_bytes, &c);
    UNUSED(st);
    *n_apps = c.apps;
    return c.bytes;
}

/* Values that leave the trace. */

static bool frame_is_traced(const struct frame *f) {
    for (; f; f = f->parent)
        for (uint32_t i = 0; i < f->n; i++)
            if (f->s[i].node && !f->s[i].own) return true;
    return false;
}

static value export_value(struct trace *t, value v, struct map *frames);

static struct frame *export_frame(struct trace *t, struct frame *f, struct map *frames) {
    if (!f || !frame_is_traced(f)) return frame_ref(f);
    struct frame *g = map_get(frames, MAP_PTR(f));
    if (g) return frame_ref(g);
    struct frame *parent = export_frame(t, f->parent, frames);
    g = frame_new(t->core, parent, f->n, f->names);
    frame_unref(parent);
    map_put(frames, MAP_PTR(f), g);
    for (uint32_t i = 0; i < f->n; i++) {
        g->s[i].v = export_value(t, slot_value(&f->s[i]), frames);
        g->s[i].unset = f->s[i].unset;
    }
    return g;
}

static value export_value(struct trace *t, value v, struct map *frames) {
    struct closure *c = closure_of(v);
    if (c && c->env && frame_is_traced(c->env)) {
        struct frame *env = export_frame(t, c->env, frames);
        value out = closure_value(c->lambda, env);
        frame_unref(env);
        return out;
    }
    struct memo *m = memo_of(v);
    if (m && m->trace) {
        value proc = export_value(t, m->proc, frames), out = memo_value(proc, NULL);
        value_unref(proc);
        return out;
    }
    if (v.tag == V_ARRAY) {
        value out = value_array_new(v.u.array->n);
        for (size_t i = 0; i < v.u.array->n; i++)
            out.u.array->at[i] = export_value(t, v.u.array->at[i], frames);
        out.u.obj->flags = v.u.obj->flags;
        return out;
    }
    if (v.tag == V_PAIR) {
        value *items;
        size_t n;
        if (!seq_items(v, &items, &n)) return value_ref(v);
        for (size_t i = 0; i < n; i++) {
            value x = export_value(t, items[i], frames);
            value_set_take(&items[i], x);
        }
        value out = value_list(items, n);
        values_free(items, n);
        return out;
    }
    if (v.tag == V_REF && v.u.ref->node) {
        value inner = export_value(t, ((struct node *)v.u.ref->node)->val, frames);
        value out = value_ref_to(inner, NULL);
        value_unref(inner);
        return out;
    }
    return value_ref(v);
}

value trace_export(struct trace *t, value v) {
    struct map frames = {0};
    value out = export_value(t, v, &frames);
    map_release(&frames);
    return out;
}
