/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients: reverse accumulation over a scaffold. The function is the log weight of the scaffold
 * with its principals fixed (scaffold_regen under SCAFFOLD_FIXED): the densities of principals, of
 * what absorbs, of makers that absorb and of observed ends. The walk goes backwards through the
 * order of evaluation, so a node's adjoint is complete when the walk reaches it. The rows'
 * grad_density, grad_simulate, grad_output and aaa->gradient pass it on to the node's parents.
 *
 * Choices redrawn from their prior (brush, procedures that changed) are constants here. Requested
 * families come before the requesting node in the order. Procedures called with values (mapv,
 * apply, mem) hold them as constants at the head of their family. The adjoint of such a constant
 * goes to the operand it came from. */
#include "language/rows/protocol/adjoint.h"
#include "runtime/trace/scaffold.h"

/* An adjoint has the form of its value (number, vector, package); NIL is zero. adjoint_of gives
 * NULL for a node that is not differentiated. */
struct sweep_step {
    struct node *n;
    uint32_t entry;    /* 1 + scaffold entry, whose adjoint is in grad.adj; 0: not in it */
    struct node *from; /* for a constant: the operand it came from */
    long item;         /* index of the operand's element, or -1: the whole operand */
    value adj;
};
struct grad {
    struct scaffold *s;
    struct trace *t;
    value *adj; /* one per scaffold entry */
    VEC(struct sweep_step) steps;
    struct map place;            /* node outside the torus, or constant -> 1 + its step */
    uint32_t visit;              /* mark of families already listed */
    VEC(struct family *) opened; /* calls held as one node, evaluated in full while this runs */
    struct map opening;          /* such a call -> its family */
    value *out;                  /* per principal */
};

static bool in_torus(const struct grad *g, const struct node *n) {
    return n->kind != NODE_CONST && n->mark && !g->s->e.at[n->mark - 1].brush;
}

static value *adjoint_of(struct grad *g, struct node *n) {
    if (in_torus(g, n)) return &g->adj[n->mark - 1];
    size_t i = (size_t)map_get(&g->place, MAP_PTR(n));
    return i ? &g->steps.at[i - 1].adj : NULL;
}

/* adjoint(n) += d. */
static void give(struct grad *g, struct node *n, value d_taken) {
    value *a = adjoint_of(g, n);
    if (a && d_taken.tag != V_NIL) value_set_take(a, adj_add(*a, d_taken));
    value_unref(d_taken);
}

static enum gpm_status no_gradient(struct grad *g, struct node *n, const char *what) {
    const struct sp_class *cls = node_class(n);
    struct diags *d = g->t->core->diags;
    diag_raise(d, DIAG_NO_GRADIENT, node_span(n), "%s has no gradient%s", cls ? cls->name : "this",
               what);
    return diag_set_help(d, cls && cls->predict
                                ? "mh, slice or gibbs need no gradients; a block that holds the "
                                  "value of the function at one input, too, has one"
                                : "mh, slice or gibbs need no gradients");
}

/* A row's function on the call that computes n, with room for the adjoints of its arguments. */
struct grad_call {
    struct node_call k;
    value *dargs;
};

static struct sp_call *grad_begin(struct grad *g, struct node *n, struct grad_call *k) {
    k->dargs = NEW_ARRAY(value, n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++) k->dargs[i] = NIL;
    call_begin(g->t, n, &k->k);
    return &k->k.c;
}

/* share: the weight of a density in the gradient. */
static enum gpm_status grad_end(struct grad *g, struct node *n, struct grad_call *k, double share,
                                enum gpm_status st) {
    st = call_end(g->t, n, &k->k, st);
    bool hidden = false; /* depends on principals through a procedure, or lacks a formula */
    for (uint32_t i = 1; i < n->n_in; i++) {
        if (!is_absent(k->dargs[i - 1])) continue;
        hidden |= adjoint_of(g, n->in[i].node) != NULL;
        k->dargs[i - 1] = NIL;
    }
    for (uint32_t i = 1; i < n->n_in; i++)
        if (st == GPM_OK) {
            if (share != 1) value_set_take(&k->dargs[i - 1], adj_scaled(k->dargs[i - 1], share));
            give(g, n->in[i].node, k->dargs[i - 1]);
        } else
            value_unref(k->dargs[i - 1]);
    mem_free(k->dargs);
    return st == GPM_OK && hidden ? no_gradient(g, n, " in an argument that matters here") : st;
}

/* Does any operand have room for an adjoint? If not, the density needs no gradient. */
static bool any_wanted(struct grad *g, const struct node *n) {
    for (uint32_t i = 1; i < n->n_in; i++)
        if (adjoint_of(g, n->in[i].node)) return true;
    return false;
}

/* Adds the gradient of the density of n's value; *dv is set if the value itself is differentiated.
 * The statistics must not count n. Then the density of one exchangeable application given the
 * others has the derivative of their joint density. */
static enum gpm_status density(struct grad *g, struct node *n, double share, value *dv) {
    const struct sp_class *cls = node_class(n);
    if (cls && (cls->flags & SP_DISCRETE)) dv = NULL; /* a summed choice: no slope in its value */
    if (share == 0 || (!dv && !any_wanted(g, n))) return GPM_OK;
    if (!cls || !cls->grad_density) return no_gradient(g, n, " of its density");
    bool inside = n->flags & NODE_INCORPORATED;
    enum gpm_status st = node_unincorporate(g->t, n);
    if (st != GPM_OK) return st;
    struct grad_call k;
    struct sp_call *c = grad_begin(g, n, &k);
    st = grad_end(g, n, &k, share, cls->grad_density(c, n->val, dv, k.dargs));
    if (dv && share != 1) value_set_take(dv, adj_scaled(*dv, share));
    if (inside) {
        enum gpm_status back = node_incorporate(g->t, n);
        if (st == GPM_OK) st = back;
    }
    return st;
}

/* Does anything that the procedures among n's operands close over depend on the principals? */
static bool acts_through_procedure(struct grad *g, const struct node *n) {
    for (uint32_t i = 0; n->req && i < n->req->n_xin; i++)
        if (adjoint_of(g, n->req->xin[i].node)) return true;
    return false;
}

/* Adds d log p(all data of the maker) / d its arguments. A row marks arguments that act through a
 * procedure of the model (a kernel written in the language) as ABSENT: they have no derivative. */
static enum gpm_status maker(struct grad *g, struct node *n, double share) {
    const struct sp_aaa *aaa = node_class(n)->aaa;
    if (share == 0) return GPM_OK;
    if (!aaa->gradient) return no_gradient(g, n, " of the density of its data");
    struct grad_call k;
    struct sp_call *c = grad_begin(g, n, &k);
    enum gpm_status st = aaa->gradient(c, first_made(n->val)->state->data, k.dargs);
    st = grad_end(g, n, &k, share, st);
    return st == GPM_OK && acts_through_procedure(g, n)
               ? no_gradient(g, n, " through a procedure of the model")
               : st;
}

/* Vector-Jacobian product of a row. Values without slope (booleans, procedures, discrete ones) end
 * the chain. A smooth function without a derivative in its row is an error. */
static enum gpm_status deterministic(struct grad *g, struct node *n, value d) {
    const struct sp_class *cls = node_class(n);
    if (n->special == SPECIAL_RUN && acts_through_procedure(g, n))
        return no_gradient(g, n, ": what it reads acts through inference inside the model");
    if (cls && node_calls(n, cls) && acts_through_procedure(g, n))
        return no_gradient(g, n,
                           " through what its procedure reads of the model; pass it on as an "
                           "argument");
    if (!any_wanted(g, n)) return GPM_OK;
    if (!cls || n->special == SPECIAL_REF || n->special == SPECIAL_DEREF ||
        n->special == SPECIAL_MEM)
        return GPM_OK;
    if (!cls->grad_simulate) {
        bool smooth = n->val.tag != V_BOOL && n->val.tag != V_PROC && !(cls->flags & SP_DISCRETE);
        return smooth ? no_gradient(g, n, "") : GPM_OK;
    }
    struct grad_call k;
    struct sp_call *c = grad_begin(g, n, &k);
    return grad_end(g, n, &k, 1, cls->grad_simulate(c, n->val, d, k.dargs));
}

static enum gpm_status requesting(struct grad *g, struct node *n, const struct sp_class *cls,
                                  value d) {
    uint32_t k = n->req ? n->req->n_fam : 0;
    if (!k) {
        give(g, n->in[1].node, value_ref(d)); /* apply_function(x) is x */
        return GPM_OK;
    }
    if (!cls->grad_output) return no_gradient(g, n, "");
    value *results = NEW_ARRAY(value, k);
    for (uint32_t i = 0; i < k; i++) results[i] = NIL;
    struct node_call call;
    call_begin(g->t, n, &call);
    enum gpm_status st = call_end(g->t, n, &call, cls->grad_output(&call.c, k, d, results));
    for (uint32_t i = 0; i < k; i++) {
        if (st == GPM_OK)
            give(g, n->req->fam[i]->root, results[i]);
        else
            value_unref(results[i]);
    }
    mem_free(results);
    return st;
}

/* Hands the adjoint d of a computed node to its parents. */
static enum gpm_status pass_on(struct grad *g, struct node *n, value d) {
    if (d.tag == V_NIL || (n->flags & NODE_RANDOM)) return GPM_OK;
    struct family *opened = map_get(&g->opening, MAP_PTR(n));
    struct node *source = opened ? opened->root : copy_source(n);
    if (source) {
        give(g, source, value_ref(d));
        return GPM_OK;
    }
    const struct sp_class *cls = node_class(n);
    return cls && cls->request ? requesting(g, n, cls, d) : deterministic(g, n, d);
}

/* Nodes behind a request, in order of evaluation. */

static void add_step(struct grad *g, struct node *n, struct node *from, long item) {
    if (map_get(&g->place, MAP_PTR(n))) return;
    vec_push(&g->steps, ((struct sweep_step){.n = n, .from = from, .item = item}));
    map_put(&g->place, MAP_PTR(n), (void *)(uintptr_t)g->steps.n);
}

/* The constant for argument j of a requested family. Constants come first in it, after the
 * procedure unless that is compound. */
static struct node *argument(struct family *f, size_t j) {
    bool compound =
        !(f->root->kind == NODE_APP && f->nodes.n && f->root->in[0].node == f->nodes.at[0]);
    size_t i = j + (compound ? 0 : 1);
    struct node *n = i < f->nodes.n ? f->nodes.at[i] : NULL;
    return n && n->kind == NODE_CONST && (n->flags & NODE_ARGUMENT) ? n : NULL;
}

/* Finds the operand, or the element of one, behind each constant argument of requested family f.
 * For mem argument j is operand j; other rows tell (cls->origin). */
static void add_arguments(struct grad *g, struct node *n, uint32_t f) {
    const struct sp_class *cls = node_class(n);
    bool mem = n->kind == NODE_APP && memo_of(n->in[0].node->val);
    struct node *k;
    if (!mem && !(cls && cls->origin)) return;
    for (uint32_t j = 0; j < 64 && (k = argument(n->req->fam[f], j)); j++) {
        struct sp_origin from = mem ? (struct sp_origin){(int)j, -1} : cls->origin(f, j);
        uint32_t slot = (uint32_t)(from.arg + 1); /* the operator is input 0 */
        if (slot && slot < n->n_in) add_step(g, k, n->in[slot].node, from.item);
    }
}

static enum gpm_status add_inside(struct grad *g, struct node *n);

static enum gpm_status add_family(struct grad *g, struct family *f) {
    enum gpm_status st = GPM_OK;
    if (f->visit == g->visit) return st;
    f->visit = g->visit;
    for (size_t j = 0; st == GPM_OK && j < f->nodes.n; j++) {
        struct node *m = f->nodes.at[j];
        if (m->kind == NODE_CONST || !(m->flags & NODE_ON) || in_torus(g, m)) continue;
        st = add_inside(g, m);
        add_step(g, m, NULL, -1);
    }
    return st;
}

/* Evaluates a call held as one node in full, for as long as the sweep lasts. */
static enum gpm_status add_opened(struct grad *g, struct node *n) {
    struct family *f;
    struct node *k;
    enum gpm_status st = call_taken_apart(g->t, n, &f);
    vec_push(&g->opened, f);
    if (st != GPM_OK) return st;
    map_put(&g->opening, MAP_PTR(n), f);
    for (uint32_t j = 1; j < n->n_in && (k = argument(f, j - 1)); j++)
        add_step(g, k, n->in[j].node, -1);
    return add_family(g, f);
}

static enum gpm_status add_inside(struct grad *g, struct node *n) {
    enum gpm_status st = GPM_OK;
    if (n->special == SPECIAL_PURE) return add_opened(g, n);
    for (uint32_t i = 0; st == GPM_OK && n->req && i < n->req->n_fam; i++) {
        add_arguments(g, n, i);
        st = add_family(g, n->req->fam[i]);
    }
    return st;
}

static void pass_to_operand(struct grad *g, const struct sweep_step *k) {
    size_t len = 0;
    if (k->adj.tag == V_NIL) return;
    if (k->item < 0)
        give(g, k->from, value_ref(k->adj));
    else if (seq_length(k->from->val, &len))
        give(g, k->from, adj_unit(len, (size_t)k->item, k->adj));
}

/* Observed ends inside the brush contribute to the weight. */
static struct node *observed_end(struct grad *g, struct node *n) {
    if (!(n->flags & NODE_OBS_ROOT)) return NULL;
    struct node *end = chase(n);
    struct entry *e = entry_of(g->s, end);
    bool absorbs = e && !e->brush && e->role != ROLE_D;
    return !absorbs && (end->flags & NODE_OBSERVED) ? end : NULL;
}

/* Turns the adjoint of a placed principal into that of its given number. */
static void pull(struct grad *g, const struct entry *e) {
    const struct placed *of = &g->s->placing->of[e->principal];
    value dargs[2], *out = &g->out[e->principal];
    value_set_take(out, placed_adjoint(g->s, e->n, e->principal, *out, dargs));
    for (size_t k = 0; k < 2; k++)
        if (of->arg[k]) give(g, e->n->in[of->arg[k]].node, dargs[k]);
}

/* Processes one entry whose adjoint is complete. A principal gets d/dv = adjoint + d log p(v |
 * args) / dv, and its arguments get their part of the same density. */
static enum gpm_status entry_back(struct grad *g, uint32_t i) {
    struct entry *e = &g->s->e.at[i];
    struct node *n = e->n;
    double share = g->s->shares ? g->s->shares[i] : 1;
    if (e->role == ROLE_A) return density(g, n, share, NULL);
    if (e->role == ROLE_M) return maker(g, n, share);
    if (e->principal >= 0 && !e->op_changed) {
        value dv = NIL; /* pull adds the density of values placed by their prediction */
        bool predicted = is_predicted(g->s, e->principal);
        enum gpm_status st = predicted ? GPM_OK : density(g, n, share, &dv);
        if (st == GPM_OK) g->out[e->principal] = adj_add(g->adj[i], dv);
        value_unref(dv);
        if (st == GPM_OK && is_placed(g->s, e->principal)) pull(g, e);
        return st;
    }
    struct node *end = observed_end(g, n);
    enum gpm_status st = end ? density(g, end, share, NULL) : GPM_OK;
    return st == GPM_OK ? pass_on(g, n, g->adj[i]) : st;
}

/* One backward walk. It costs a small multiple of one evaluation, whatever the number of principals
 * (Baur and Strassen 1983). It uses the old order before detach and the new order after regen. */
enum gpm_status scaffold_gradient(struct scaffold *s, value *grads) {
    struct grad g = {.s = s, .t = s->t, .out = grads, .visit = ++inner(s->t)->ctx_visit};
    bool fresh = s->detached;
    size_t n = fresh ? s->new_order.n : s->order.n;
    const uint32_t *order = fresh ? s->new_order.at : s->order.at;
    g.adj = NEW_ARRAY(value, s->e.n + 1);
    for (size_t i = 0; i < s->e.n; i++) g.adj[i] = NIL;
    for (size_t i = 0; i < s->principals.n; i++) grads[i] = NIL;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        const struct entry *e = &s->e.at[order[i]];
        if (e->role == ROLE_D && (e->requests || e->n->special == SPECIAL_PURE))
            st = add_inside(&g, e->n);
        vec_push(&g.steps, ((struct sweep_step){.n = e->n, .entry = order[i] + 1}));
    }
    for (size_t i = g.steps.n; i-- > 0 && st == GPM_OK;) {
        const struct sweep_step *k = &g.steps.at[i];
        if (k->entry)
            st = entry_back(&g, k->entry - 1);
        else if (k->from)
            pass_to_operand(&g, k);
        else
            st = pass_on(&g, k->n, k->adj);
    }
    values_free(g.adj, s->e.n);
    for (size_t i = 0; i < g.steps.n; i++) value_unref(g.steps.at[i].adj);
    vec_release(&g.steps);
    map_release(&g.place);
    map_release(&g.opening);
    for (size_t i = 0; i < g.opened.n; i++) family_drop(s->t, g.opened.at[i], NULL);
    families_free_dead(s->t, g.opened.at, g.opened.n);
    vec_release(&g.opened);
    if (st != GPM_OK)
        for (size_t i = 0; i < s->principals.n; i++) value_set_take(&grads[i], NIL);
    return st;
}

void scaffold_set_shares(struct scaffold *s, const double *shares) {
    s->shares = shares;
}

bool scaffold_args_change(const struct scaffold *s, size_t i) {
    const struct node *n = s->principals.at[i];
    for (uint32_t k = 0; k < n->n_in; k++) {
        const struct node *p = n->in[k].node;
        if (p->kind != NODE_CONST && p->mark && s->e.at[p->mark - 1].role == ROLE_D) return true;
    }
    return false;
}
