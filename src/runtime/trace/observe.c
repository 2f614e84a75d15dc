/* SPDX-License-Identifier: Apache-2.0
 *
 * Observations: finding the node that supplies an expression's value, constraining it, and carrying
 * the value to the nodes computed from it. */
#include "language/rows/dist/dist_row.h"
#include "runtime/trace/scaffold.h"

/* apply, and f_compute at one input, pass on the value of the application they requested. */
static bool passes_on(const struct node *n, value op) {
    const struct sp_class *cls = proc_class(op, NULL);
    return cls && (cls->flags & SP_PASSES) && n->req && n->req->n_fam == 1 &&
           n->val.tag == n->req->fam[0]->root->val.tag;
}

/* Nodes that compute nothing: a tag, the taken branch, a call (its family's root), a dereference.
 * Their values are copies, so observing or forcing one applies to its source. */
struct node *copy_source(const struct node *n) {
    if (n->kind == NODE_CONST || (n->flags & NODE_FROZEN)) return NULL;
    if (n->kind == NODE_TAG) return n->in[n->n_in - 1].node;
    if (n->kind == NODE_IF) return n->req->fam[0]->root;
    value op = n->in[0].node->val;
    if ((closure_of(op) || memo_of(op) || n->special == SPECIAL_EVAL) && n->req && n->req->n_fam)
        return n->req->fam[0]->root;
    if (passes_on(n, op)) return n->req->fam[0]->root;
    if (n->special != SPECIAL_DEREF) return NULL;
    if (n->req && n->req->n_xin) return n->req->xin[0].node;
    return n->in[1].node->val.tag != V_REF ? n->in[1].node : NULL;
}

struct node *chase(struct node *n) {
    struct node *source;
    while ((source = copy_source(n))) n = source;
    return n;
}

enum gpm_status trace_not_random(struct diags *d, const struct sp_class *from, bool constant,
                                 struct span made, struct span at) {
    diag_raise(d, DIAG_OBSERVE_DETERMINISTIC, at,
               "this expression cannot be observed: its value is %s",
               constant ? "a constant" : "computed, not random");
    if (from) diag_add_label(d, made, "the value comes from %s", from->name);
    return diag_set_help(d, "observe a random choice: normal(e, 0.1) lets e differ from the value, "
                            "exactly(e) does not");
}

enum gpm_status observation_end(struct trace *t, struct node *root, struct span at,
                                struct node **out) {
    struct node *end = chase(root);
    struct diags *d = t->core->diags;
    bool constant = end->kind == NODE_CONST;
    if (constant || !(end->flags & NODE_RANDOM))
        return trace_not_random(d, constant ? NULL : node_class(end), constant,
                                constant ? NO_SPAN : node_span(end), at);
    const struct sp_class *cls = node_class(end);
    if (!cls || !cls->log_density)
        return diag_raise(d, DIAG_NO_DENSITY, at, "%s has no density, so it cannot be observed",
                          cls ? cls->name : "the procedure");
    if (end->flags & NODE_OBSERVED) {
        diag_raise(d, DIAG_OBSERVE_TWICE, at,
                   "this choice is already observed; it cannot be observed twice");
        return diag_add_label(d, node_span(end), "the choice");
    }
    *out = end;
    return GPM_OK;
}

/* Before its value is recomputed, a pair recorded by f_compute leaves the table and its density
 * leaves the weight. */
static enum gpm_status take_out_record(struct trace *t, struct node *n) {
    if (!(n->flags & NODE_INCORPORATED)) return GPM_OK;
    enum gpm_status st = node_unincorporate(t, n);
    double logp = 0;
    if (st == GPM_OK && inner(t)->active && inner(t)->active->sink)
        st = node_density(t, n, n->val, &logp);
    if (st == GPM_OK && logp != 0) *inner(t)->active->sink -= logp;
    return st;
}

/* A value set outside the evaluation order (an observation inside a newly evaluated brush) makes
 * children computed from the drawn value stale. They are recomputed here, except children waiting
 * in the scaffold. A random child, or one whose requests depend on the value, would have to be
 * redrawn with the rest of its proposal, so it is refused. */
enum gpm_status observation_propagate(struct trace *t, struct node *n, bool back) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct node *c = n->out[i].child;
        struct entry *e = inner(t)->active ? entry_of(inner(t)->active, c) : NULL;
        if (e && !e->brush && !e->done) continue; /* will be computed later */
        if (!(c->flags & NODE_ON)) continue;
        if ((c->flags & NODE_RANDOM) || requests_on(c, n->out[i].slot)) {
            if (back) continue; /* it was not computed from the other value */
            diag_raise(t->core->diags, DIAG_OBSERVE_PROPAGATE, node_span(c),
                       "an observed value reaches this expression after it was evaluated");
            return diag_add_label(t->core->diags, node_span(n), "the observed value");
        }
        if (c->flags & NODE_IN_INDEX) tag_leave_index(t, c);
        enum gpm_status st = take_out_record(t, c);
        if (st == GPM_OK) st = node_apply(t, c, false);
        if (st == GPM_OK) st = observation_propagate(t, c, back);
        if (st != GPM_OK) return st;
    }
    return GPM_OK;
}

/* v in the representation of `like` if there is one, otherwise v. Owned. */
static value in_form_of(value like, value v) {
    value *items;
    double x, *numbers;
    size_t n, rows, cols;
    value out = NIL;
    if (like.tag == V_NUM && value_number(v, &x)) return value_num(x);
    if (like.tag == V_BOOL && value_number(v, &x) && (x == 0 || x == 1)) return value_bool(x != 0);
    if (like.tag == V_VECTOR && seq_numbers(v, &numbers, &n)) {
        out = value_vector(numbers, n);
        out.u.obj->flags |= like.u.obj->flags & OBJ_SIMPLEX;
        mem_free(numbers);
        return out;
    }
    if ((like.tag == V_ARRAY || like.tag == V_PAIR) && seq_items(v, &items, &n)) {
        out = like.tag == V_ARRAY ? value_array(items, n) : value_list(items, n);
        values_free(items, n);
        return out;
    }
    if (like.tag == V_MATRIX && sp_as_matrix(v, &numbers, &rows, &cols)) {
        out = value_matrix(numbers, rows, cols);
        mem_free(numbers);
        return out;
    }
    return value_ref(v);
}

enum gpm_status trace_not_boolean(struct diags *d, const struct sp_class *cls, value v,
                                  struct span at) {
    return diag_raise(d, DIAG_TYPE, at, "%s gives true or false (1 or 0), not %s", cls->name,
                      SHOW(v));
}

/* Converts v to the form of the choice's own draws: true for 1, a vector for a list of numbers.
 * *out is owned. */
static enum gpm_status given_value(struct trace *t, struct node *n, value v, value *out) {
    const struct sp_class *cls = node_class(n);
    /* A choice among objects distinguishes 1 from true by equality, so its value is not
     * converted. */
    if (v.tag == n->val.tag || !cls || sp_gives_objects(cls)) {
        *out = value_ref(v);
        return GPM_OK;
    }
    *out = in_form_of(n->val, v);
    if (n->val.tag != V_BOOL || out->tag == V_BOOL) return GPM_OK;
    value_set_take(out, NIL);
    return trace_not_boolean(t->core->diags, cls, v, node_span(n));
}

enum gpm_status node_give(struct trace *t, struct node *n, value v, double *logp) {
    value given = NIL;
    enum gpm_status st = given_value(t, n, v, &given);
    if (st == GPM_OK) st = node_density(t, n, given, logp);
    if (st != GPM_OK) {
        value_unref(given);
        return st;
    }
    value_set_take(&n->val, given);
    n->logp = *logp;
    if (!node_is_stateful(n)) n->flags |= NODE_HAS_LOGP;
    return GPM_OK;
}

/* *weight: log density of v at `end`, under the statistics without it. A value of density zero is
 * kept, too: the state has weight -inf until a move changes that. */
enum gpm_status constrain_end(struct trace *t, struct node *end, value v, double *weight) {
    struct node *checked;
    enum gpm_status st = observation_end(t, end, node_span(end), &checked);
    if (st != GPM_OK) return st;
    choice_remove(t, end);
    st = node_unincorporate(t, end);
    end->flags |= NODE_OBSERVED; /* procedures may score data differently from choices */
    if (st == GPM_OK) st = node_give(t, end, v, weight);
    if (st != GPM_OK) {
        end->flags &= (uint16_t)~NODE_OBSERVED;
        return st;
    }
    st = node_incorporate_given(t, end);
    return st == GPM_OK ? observation_propagate(t, end, false) : st;
}
