/* SPDX-License-Identifier: Apache-2.0
 *
 * Detach and regen. Detach goes through the scaffold in reverse order of evaluation and adds up the
 * log density of what absorbs. Regen goes forward, on demand, with new values. Unregen detaches the
 * new state. Restore switches the old state on again, in the old order.
 *
 * Weights: an absorbing node, a principal under SCAFFOLD_FIXED and an observed end each add their
 * log density. A maker in M adds the joint log density of its data. Choices drawn from their prior
 * (principals under SCAFFOLD_PRIOR, brush) add nothing, since they are proposed with their density
 * in the model. So
 *
 *     SCAFFOLD_PRIOR  w_new - w_old = log alpha of Metropolis-Hastings with that proposal
 *     SCAFFOLD_FIXED  w_new - w_old = log p(new) - log p(old), the brush's own densities left out
 *
 * Density is taken before incorporating on the way in and after unincorporating on the way out, so
 * exchangeable applications telescope: log p(y1..yn) = sum log p(yi | y1..yi-1) whatever the order.
 *
 * Regen is driven by demand (regen_ensure): evaluating a brush may read a node of the torus before
 * its turn in the list; that node is then regenerated first. new_order records the resulting order,
 * and unregen follows it backwards. */
#include "runtime/trace/scaffold.h"

#include <math.h>

static struct sp_state *maker_state(const struct node *n) {
    struct sp_proc *m = first_made(n->val);
    return m ? m->state : NULL;
}

/* Weights add up in s->sink. Outside a proposal it is NULL and nothing is added. */
enum gpm_status carry_weight(struct trace *t, struct node *n) {
    struct scaffold *s = inner(t)->active;
    if (!inner(t)->makers || !s || !s->sink || (n->flags & NODE_RANDOM) || !node_is_stateful(n))
        return GPM_OK;
    double logp;
    enum gpm_status st = node_density(t, n, n->val, &logp);
    if (st == GPM_OK) *s->sink += logp;
    return st;
}

/* Detach. */

bool is_torn_down(struct scaffold *s, const struct node *n) {
    const struct entry *e = entry_of(s, n);
    return family_is_brush(n->family) || (e && (e->role == ROLE_D || e->brush));
}

/* Detaches the observation at root e from a choice that is torn down. observation_follow (moves.c)
 * finds its choice in the new state. An end that stays is noted as kept_end. */
static enum gpm_status unconstrain(struct scaffold *s, struct entry *e) {
    struct node *end = chase(e->n);
    bool changes = is_torn_down(s, end);
    if (!e->obs) {
        e->obs = NEW(struct observed_root);
        e->obs->seen = e->obs->left_val = e->obs->taken_val = NIL;
    }
    value_set_take(&e->obs->seen, value_ref(end->val));
    if (!changes && (end->flags & NODE_OBSERVED)) e->obs->kept_end = end;
    if (!changes || !(end->flags & NODE_OBSERVED)) return GPM_OK;
    double logp;
    enum gpm_status st = node_unincorporate(s->t, end);
    if (st == GPM_OK) st = node_logp(s->t, end, &logp);
    if (st != GPM_OK) return st;
    *s->sink += logp;
    end->flags &= (uint16_t)~NODE_OBSERVED;
    e->obs->old_end = end;
    return GPM_OK;
}

/* Takes one D node out and records its old state. Its families are switched off but not freed, and
 * its links to operands stay; only its requests are removed. */
static enum gpm_status detach_d(struct scaffold *s, struct entry *e) {
    struct trace *t = s->t;
    struct node *n = e->n;
    enum gpm_status st = GPM_OK;
    e->old_flags = n->flags;
    if (n->flags & NODE_OBS_ROOT) st = unconstrain(s, e);
    bool recorded = n->flags & NODE_INCORPORATED;
    if (st == GPM_OK) st = node_unincorporate(t, n);
    if (st == GPM_OK && recorded) st = carry_weight(t, n);
    if (st != GPM_OK) return st;
    e->old_logp = n->logp;
    if (e->principal >= 0 && s->mode == SCAFFOLD_FIXED && !e->op_changed) {
        double logp;
        st = is_predicted(s, e->principal) ? placed_standing_out(s, n, e->principal, &logp)
                                           : node_logp(t, n, &logp);
        if (st != GPM_OK) return st;
        e->old_logp = n->logp;
        e->old_flags = (uint16_t)(e->old_flags | (n->flags & NODE_HAS_LOGP));
        *s->sink += logp;
    }
    if (e->op_changed) choice_remove(t, n);
    if (n->flags & NODE_IN_INDEX) tag_leave_index(t, n);
    value_set_take(&e->old, value_ref(n->val));
    if (inner(t)->makers) set_maker(n->val, NULL);
    if (e->requests && n->req) {
        e->old_req = n->req;
        request_unlink(t, n);
        for (uint32_t i = n->req->n_fam; i-- > 0;) family_drop(t, n->req->fam[i], n->ctx);
        n->req = request_new(t); /* the frame does not change */
        n->req->frame = e->old_req->frame;
    }
    return GPM_OK;
}

/* The joint density of a maker's data. This may evaluate a kernel written in the language, which
 * reads names of the model. */
enum gpm_status maker_log_joint(struct trace *t, struct node *n, struct sp_state *state,
                                double *logp) {
    struct world *outer = model_enter(t);
    enum gpm_status st = node_class(n)->aaa->log_joint(state->data, logp);
    t->core->model = outer;
    return core_place(t->core, st, node_span(n));
}

/* Adds the entry's weight to *s->sink. */
static enum gpm_status detach_entry(struct scaffold *s, struct entry *e) {
    double logp;
    enum gpm_status st;
    if (e->role == ROLE_D) return detach_d(s, e);
    if (e->role == ROLE_M) {
        st = maker_log_joint(s->t, e->n, maker_state(e->n), &logp);
        if (st != GPM_OK) return st;
        *s->sink += logp;
        if (e->requests && e->n->req) { /* nodes its closures close over may go away */
            e->old_req = e->n->req;
            request_unlink(s->t, e->n);
            e->n->req = NULL;
        }
        return GPM_OK;
    }
    e->old_flags = e->n->flags;
    st = node_unincorporate(s->t, e->n);
    if (st == GPM_OK) st = node_logp(s->t, e->n, &logp);
    if (st != GPM_OK) return st;
    e->old_logp = e->n->logp;
    e->old_flags |= e->n->flags & NODE_HAS_LOGP;
    *s->sink += logp;
    return GPM_OK;
}

/* In reverse order of evaluation. At a node's turn everything computed after it is out, so its
 * arguments and statistics are those it was put in with. */
enum gpm_status take_old(struct scaffold *s, uint32_t n, double *weights) {
    for (; s->n_old; s->n_old--) {
        struct entry *e = &s->e.at[s->order.at[s->n_old - 1]];
        double w = 0;
        if (e->early < n) break;
        s->sink = &w;
        enum gpm_status st = detach_entry(s, e);
        s->sink = NULL;
        if (st != GPM_OK) return st;
        e->done = e->attached = false;
        if (!weights) continue;
        e->held = w;
        weights[e->group] += w;
    }
    return GPM_OK;
}

/* Densities of the current state fail only through a bug or Ctrl-C. */
enum gpm_status scaffold_detach(struct scaffold *s, enum scaffold_mode mode, double *weights) {
    s->mode = mode;
    s->detached = true;
    scaffold_order(s);
    s->first_seq = inner(s->t)->next_seq;
    s->structure = s->t->structure;
    s->n_old = s->order.n;
    for (uint32_t i = 0; i < s->n_steps; i++) weights[i] = 0;
    enum gpm_status st = take_old(s, 0, weights);
    if (st != GPM_OK) scaffold_close(s, false);
    return st;
}

/* Regen. */

enum gpm_status regen_maker(struct trace *t, value proc) {
    struct node *maker = maker_of(proc);
    return maker ? regen_ensure(t, maker) : GPM_OK;
}

enum gpm_status regen_operands(struct trace *t, struct node *n) {
    enum gpm_status st = GPM_OK;
    if (!inner(t)->active) return st; /* no proposal: every node is current */
    for (uint32_t i = 0; i < n->n_in && st == GPM_OK; i++) {
        struct node *p = n->in[i].node;
        if (p->kind != NODE_CONST && p->mark) st = regen_ensure(t, p);
        if (st == GPM_OK && inner(t)->makers) st = regen_maker(t, p->val);
    }
    return st;
}

enum gpm_status regen_extra(struct trace *t, struct node *n) {
    enum gpm_status st = GPM_OK;
    for (uint32_t i = 0; n->req && i < n->req->n_xin && st == GPM_OK; i++)
        st = regen_ensure(t, n->req->xin[i].node);
    return st;
}

/* For enumeration (scaffold_only_listed): a process with statistics may give every name a density,
 * but among new names only the one it currently lists counts. */
static enum gpm_status check_listed(struct scaffold *s, struct node *n, bool *listed) {
    const struct sp_class *cls = node_class(n);
    *listed = true;
    if (!s->canonical || !node_is_stateful(n) || !cls || !cls->enumerate) return GPM_OK;
    value *vals;
    size_t k;
    enum gpm_status st = node_enumerate(s->t, n, &vals, &k);
    if (st != GPM_OK) return st;
    *listed = false;
    for (size_t i = 0; i < k; i++) *listed |= value_equal(vals[i], n->val);
    values_free(vals, k);
    return GPM_OK;
}

void scaffold_only_listed(struct scaffold *s) {
    s->canonical = true;
}

/* A value given from outside; its density is taken before incorporating. */
static enum gpm_status regen_fixed(struct scaffold *s, struct entry *e, value v) {
    double logp;
    bool listed;
    enum gpm_status st = node_give(s->t, e->n, v, &logp);
    if (st == GPM_OK) st = check_listed(s, e->n, &listed);
    if (st != GPM_OK) return st;
    e->drawn += listed ? logp : -INFINITY;
    return node_incorporate_given(s->t, e->n);
}

static enum gpm_status regen_given(struct scaffold *s, struct entry *e) {
    value given = s->values[e->principal];
    if (!is_placed(s, e->principal)) return regen_fixed(s, e, given);
    value v;
    enum gpm_status st = placed_value(s, e->n, e->principal, given, &v);
    if (st != GPM_OK) return st;
    if (is_predicted(s, e->principal)) {
        value_set_take(&e->n->val, v);
        e->drawn += placed_log_density(given);
        return node_incorporate(s->t, e->n);
    }
    st = regen_fixed(s, e, v);
    value_unref(v);
    return st;
}

/* Given values go to principals that still apply the same procedure. A principal whose operator
 * changed is drawn like any other node. */
static enum gpm_status regen_d(struct scaffold *s, struct entry *e) {
    struct node *n = e->n;
    enum gpm_status st;
    if (e->principal >= 0 && s->mode == SCAFFOLD_FIXED && !e->op_changed)
        st = regen_given(s, e);
    else
        st = node_apply(s->t, n, e->requests);
    if (st == GPM_OK && s->mode == SCAFFOLD_PRIOR && is_placed(s, e->principal))
        st = placed_drawn(s, n, e->principal);
    if (st != GPM_OK || !(n->flags & NODE_OBS_ROOT)) return st;
    double logp = 0;
    st = observation_follow(s, e, &logp);
    e->drawn += logp;
    return st;
}

/* Restores the extra parents of before: removes the new ones and links those in `old`, if given. */
static void close_over_old(struct trace *t, struct node *n, struct request *old) {
    if (n->req) {
        request_clear_parents(t, n);
        request_free(t, n->req);
    }
    n->req = old;
    for (uint32_t i = 0; old && i < old->n_xin; i++) link_in(t, n, XIN | i);
}

/* The maker keeps its procedures, and they keep their statistics. `remake` sets the new parameters
 * and gives the joint density of the data. Its token keeps the old parameters for undo. */
static enum gpm_status regen_m(struct scaffold *s, struct entry *e) {
    struct node *n = e->n;
    struct node_call k;
    double joint = 0;
    if (e->requests) { /* closures changed: depend on what the new ones close over */
        node_close_over(s->t, n);
        if (e->old_req || n->req) s->t->structure++;
        enum gpm_status closed = regen_extra(s->t, n);
        if (closed != GPM_OK) return closed;
    }
    enum gpm_status st = call_begin_checked(s->t, n, &k);
    if (st == GPM_OK) st = k.c.cls->aaa->remake(&k.c, maker_state(n)->data, &e->token, &joint);
    st = call_end(s->t, n, &k, st);
    e->remade = st == GPM_OK;
    if (st == GPM_OK) e->drawn += joint;
    return st;
}

/* Adds log p(the same value | new arguments), before the value joins the statistics again. */
static enum gpm_status regen_a(struct scaffold *s, struct entry *e) {
    double logp;
    enum gpm_status st = node_density(s->t, e->n, e->n->val, &logp);
    if (st != GPM_OK) return st;
    e->n->logp = logp;
    if (!node_is_stateful(e->n)) e->n->flags |= NODE_HAS_LOGP;
    e->drawn += logp;
    return node_incorporate(s->t, e->n);
}

/* A D node with new requests has only its operands as parents (node_apply regenerates those). Its
 * old extra parents went with its families. */
static enum gpm_status regen_entry(struct scaffold *s, uint32_t i) {
    struct entry *e = &s->e.at[i];
    double *outer = s->sink;
    if (e->done) return GPM_OK;
    e->done = true;
    e->drawn = 0;
    enum gpm_status st = GPM_OK;
    if (e->role != ROLE_D || !e->requests) {
        st = regen_operands(s->t, e->n);
        if (st == GPM_OK) st = regen_extra(s->t, e->n);
    }
    if (st != GPM_OK) {
        e->done = false;
        return st;
    }
    s->sink = &e->drawn;
    switch (e->role) {
    case ROLE_D: st = regen_d(s, e); break;
    case ROLE_A: st = regen_a(s, e); break;
    default: st = regen_m(s, e); break;
    }
    s->sink = outer;
    vec_push(&s->new_order, i);
    return st;
}

/* Called wherever evaluation reads a node. An absorbing node keeps its value and can be read at any
 * time. Nodes of the old brush are never read. */
enum gpm_status regen_ensure(struct trace *t, struct node *n) {
    struct scaffold *s = inner(t)->active;
    if (!s || !s->detached || n->kind == NODE_CONST || !n->mark) return GPM_OK;
    struct entry *e = &s->e.at[n->mark - 1];
    if (e->brush || e->done || e->role == ROLE_A) return GPM_OK;
    return regen_entry(s, n->mark - 1);
}

/* A parameter outside its domain, a covariance that is not positive definite, or an unsolvable
 * equation: the proposed state has probability zero. Anything else is a program error and must be
 * reported. */
static bool failed_softly(struct scaffold *s, size_t n_diags_before) {
    struct diags *d = s->t->core->diags;
    if (s->strict || !diags_failed_since(d, n_diags_before)) return false;
    enum diag_code c = vec_last(&d->list)->code;
    if (c != DIAG_DOMAIN && c != DIAG_GP_NUMERIC && c != DIAG_ODE) return false;
    diags_rewind(d, n_diags_before);
    return true;
}

enum gpm_status regen_range(struct scaffold *s, size_t from, size_t to, double *weight) {
    struct diags *d = s->t->core->diags;
    size_t n_diags = d->list.n, mark = s->new_order.n;
    uint64_t seq = inner(s->t)->next_seq;
    enum gpm_status st = GPM_OK;
    *weight = 0;
    for (size_t i = from; i < to && st == GPM_OK; i++) {
        struct entry *e = &s->e.at[s->torus.at[i]];
        if (!e->attached) st = regen_entry(s, s->torus.at[i]);
        *weight += e->attached ? e->held : e->drawn;
        if (st == GPM_OK && *weight != *weight)
            st = diag_raise(d, DIAG_NAN, node_span(e->n), "the weight of a proposal is NaN");
    }
    if (s->by_steps) find_tangles(s, mark, seq);
    s->built = st == GPM_OK;
    if (s->built) return st;
    scaffold_rewind(s, mark);
    if (!failed_softly(s, n_diags)) return st;
    *weight = -INFINITY;
    return GPM_OK;
}

enum gpm_status scaffold_regen(struct scaffold *s, enum scaffold_mode mode, const value *values,
                               double *weight) {
    s->mode = mode;
    s->values = values;
    return regen_range(s, 0, s->torus.n, weight);
}

enum gpm_status scaffold_open(struct trace *t, struct node *const *principals, size_t n,
                              enum scaffold_mode mode, double *weight, struct scaffold **out) {
    *out = scaffold_build(t, principals, n);
    return scaffold_detach(*out, mode, weight);
}

bool scaffold_built(const struct scaffold *s) {
    return s->built;
}

/* Undoing. */

#define RESTORE_FAILED "a rejected proposal cannot be taken back"

static void unregen_d(struct scaffold *s, struct entry *e) {
    struct trace *t = s->t;
    struct node *n = e->n;
    observation_return(s, e);
    if (e->op_changed) choice_remove(t, n);
    core_must(t->core, node_unincorporate(t, n), "a choice cannot leave its statistics");
    if (n->flags & NODE_IN_INDEX) tag_leave_index(t, n);
    if (inner(t)->makers) set_maker(n->val, NULL);
    if (e->requests && n->req) request_release(t, n);
}

static void unregen_entry(struct scaffold *s, struct entry *e) {
    e->done = false;
    if (e->role == ROLE_D)
        unregen_d(s, e);
    else if (e->role == ROLE_A) {
        core_must(s->t->core, node_unincorporate(s->t, e->n),
                  "a choice cannot leave its statistics");
    } else {
        if (e->remade) node_class(e->n)->aaa->undo(maker_state(e->n)->data, e->token);
        e->remade = false;
        if (e->requests) close_over_old(s->t, e->n, NULL);
    }
}

/* Goes back along new_order, so it mirrors the way the state was built. */
void scaffold_rewind(struct scaffold *s, size_t mark) {
    while (s->new_order.n > mark) {
        uint32_t i = vec_pop(&s->new_order);
        unregen_entry(s, &s->e.at[i]);
    }
}

void scaffold_unregen(struct scaffold *s) {
    s->built = false;
    scaffold_rewind(s, 0);
}

static void restore_d(struct scaffold *s, struct entry *e) {
    struct trace *t = s->t;
    struct node *n = e->n;
    value_set_take(&n->val, value_ref(e->old));
    if (e->old_req) {
        if (n->req) request_free(t, n->req);
        n->req = e->old_req;
        e->old_req = NULL;
        for (uint32_t i = 0; i < n->req->n_fam; i++) family_take(t, n->req->fam[i], n->ctx);
        for (uint32_t i = 0; i < n->req->n_xin; i++) link_in(t, n, XIN | i);
    }
    if (n->kind == NODE_APP) set_linked_args(t, n, e->old_flags & NODE_LINKED_ARGS);
    n->flags = (uint16_t)((e->old_flags & ~(NODE_INCORPORATED | NODE_IN_INDEX)) |
                          (n->flags & (NODE_INCORPORATED | NODE_IN_INDEX)));
    n->logp = e->old_logp;
    const struct sp_class *cls = node_class(n);
    if (cls && (cls->flags & SP_MAKER)) set_maker(n->val, n);
    if (n->kind == NODE_TAG) tag_enter_index(t, n);
    core_must(t->core, node_incorporate(t, n), RESTORE_FAILED);
    choice_add(t, n);
}

static void restore_entry(struct scaffold *s, struct entry *e) {
    struct session_core *core = s->t->core;
    if (e->role == ROLE_D)
        restore_d(s, e);
    else if (e->role == ROLE_A) {
        e->n->logp = e->old_logp;
        e->n->flags |= e->old_flags & NODE_HAS_LOGP;
        core_must(core, node_incorporate(s->t, e->n), RESTORE_FAILED);
    } else if (e->requests) {
        close_over_old(s->t, e->n, e->old_req);
        e->old_req = NULL;
    }
    struct node *end = e->obs ? e->obs->old_end : NULL;
    if (end && !(end->flags & NODE_INCORPORATED))
        core_must(core, node_incorporate(s->t, end), RESTORE_FAILED);
}

/* Marks old ends as observed before they are incorporated, since procedures may count data
 * differently from choices. */
void put_old(struct scaffold *s, size_t n) {
    for (size_t i = s->n_old; i < n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        if (e->obs && e->obs->old_end) e->obs->old_end->flags |= NODE_OBSERVED;
    }
    for (; s->n_old < n; s->n_old++) {
        struct entry *e = &s->e.at[s->order.at[s->n_old]];
        restore_entry(s, e);
        e->done = e->attached = true;
    }
}

/* Compiled steps rely on the procedure a node applies, on what it requests and closes over, and on
 * the type of its value. May any of these have changed? */
static bool has_new_structure(const struct entry *e) {
    return e->role == ROLE_D && (e->requests || e->old.tag != e->n->val.tag);
}

/* Did nothing but what the scaffold holds change, since compiled steps held? Not where an
 * observation moved from or to a variable, nor where layers below hold nodes. */
static bool is_local(const struct scaffold *s) {
    const struct inner *in = inner(s->t);
    bool local = in->flats && in->flats_structure == s->structure && !in->below;
    for (size_t i = 0; local && i < s->order.n; i++) {
        const struct observed_root *o = s->e.at[s->order.at[i]].obs;
        local = !o || !(o->left || o->taken);
    }
    return local;
}

/* Frees the old state. Marks are cleared first, since entries point to nodes of the freed
 * families. */
static void commit(struct scaffold *s) {
    struct trace *t = s->t;
    struct inner *in = inner(t);
    VEC(struct request *) old = {0};
    families dead = {0};
    for (size_t i = 0; i < s->order.n; i++) {
        struct entry *e = &s->e.at[s->order.at[i]];
        t->structure += has_new_structure(e);
        if (e->old_req) {
            vec_push(&old, e->old_req);
            families_find_dead(e->old_req->fam, e->old_req->n_fam, &dead);
        }
        observation_stay(e);
        if (e->remade) node_class(e->n)->aaa->commit(maker_state(e->n)->data, e->token);
    }
    bool local = is_local(s);
    if (local && t->structure != s->structure) in->flat_hooks->outdate(t, s, dead.at, dead.n);
    scaffold_end(s);
    families_free(t, &dead);
    if (local) in->flats_structure = t->structure;
    for (size_t i = 0; i < old.n; i++) request_free(t, old.at[i]);
    vec_release(&old);
}

void scaffold_close(struct scaffold *s, bool keep) {
    if (!s->detached)
        scaffold_end(s);
    else if (keep)
        commit(s);
    else {
        scaffold_unregen(s);
        put_old(s, s->order.n);
        s->t->structure = s->structure; /* every node is where it was: compiled steps stay valid */
        scaffold_end(s);
    }
}
