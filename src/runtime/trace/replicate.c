/* SPDX-License-Identifier: Apache-2.0
 *
 * Densities and replicates of observed choices, given every other choice. The trace ends unchanged.
 *
 * Choices of plain procedures are drawn together by a proposal from the prior that is then
 * rejected. So data that depend on data (a series observed step by step) are replicated as a whole.
 * A procedure with statistics keeps what it has learned and is applied once more: p(y' | y), its
 * parameters integrated out. Its replicates join the statistics one by one, so they come from the
 * joint distribution. They leave in reverse order. */
#include "runtime/trace/scaffold.h"
#include <math.h>

struct datum {
    struct node *root, *end; /* root of the observed expression; the choice that holds its value */
    value *out;
};
typedef VEC(struct datum) data;

/* Calls the procedure of a choice: draws (out), or lets v join (in) or leave the statistics. */
enum how { DRAW, JOIN, LEAVE };

static enum gpm_status call_once(struct trace *t, struct node *end, enum how how, value *v) {
    struct node_call k;
    enum gpm_status st = call_begin_checked(t, end, &k);
    const struct sp_class *cls = k.c.cls;
    if (st == GPM_OK)
        st = how == JOIN      ? cls->incorporate(&k.c, *v)
             : how == LEAVE   ? cls->unincorporate(&k.c, *v)
             : cls->replicate ? cls->replicate(&k.c, v)
                              : sp_simulate(&k.c, v);
    return call_end(t, end, &k, st);
}

static enum gpm_status draw_stateful(struct trace *t, const data *d) {
    enum gpm_status st = GPM_OK;
    size_t joined = 0;
    while (joined < d->n && st == GPM_OK) {
        const struct datum *x = &d->at[joined];
        st = call_once(t, x->end, DRAW, x->out);
        if (st == GPM_OK) st = call_once(t, x->end, JOIN, x->out);
        if (st == GPM_OK) joined++;
    }
    while (joined-- > 0) {
        enum gpm_status left = call_once(t, d->at[joined].end, LEAVE, d->at[joined].out);
        if (st == GPM_OK) st = left;
    }
    return st;
}

/* A sequence observed for a number-valued draw (SP_LIFTS) is replicated by as many draws. */
static enum gpm_status repeat_draw(struct trace *t, struct node *end, value observed, value *v) {
    size_t n, one;
    if (!(node_class(end)->flags & SP_LIFTS) || !seq_length(observed, &n) || seq_length(*v, &one))
        return GPM_OK;
    value *items = NEW_ARRAY(value, n + 1);
    size_t drawn = 0;
    enum gpm_status st = GPM_OK;
    if (n) items[drawn++] = *v;
    while (drawn < n && st == GPM_OK) {
        st = call_once(t, end, DRAW, &items[drawn]);
        if (st == GPM_OK) drawn++;
    }
    *v = NIL;
    if (st == GPM_OK)
        *v = seq_like_take(observed, items, n);
    else
        values_free(items, drawn);
    if (st == GPM_OK) mem_free(items);
    return st;
}

/* While the proposal is open, no observation constrains the ends. */
static enum gpm_status draw_plain(struct trace *t, const data *d) {
    struct node **ends = NEW_ARRAY(struct node *, d->n + 1);
    value *observed = NEW_ARRAY(value, d->n + 1);
    struct scaffold *s;
    double w;
    for (size_t i = 0; i < d->n; i++) {
        ends[i] = d->at[i].end;
        observed[i] = value_ref(ends[i]->val);
        d->at[i].root->flags &= (uint16_t)~NODE_OBS_ROOT;
        ends[i]->flags &= (uint16_t)~NODE_OBSERVED;
    }
    enum gpm_status st = scaffold_open(t, ends, d->n, SCAFFOLD_PRIOR, &w, &s);
    if (st == GPM_OK) {
        s->strict = true;
        st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w);
        for (size_t i = 0; i < d->n && st == GPM_OK; i++) {
            struct node *end = chase(d->at[i].root);
            *d->at[i].out = value_ref(end->val);
            st = repeat_draw(t, end, observed[i], d->at[i].out);
        }
        scaffold_close(s, false);
    }
    for (size_t i = d->n; i-- > 0;) {
        choice_remove(t, ends[i]);
        ends[i]->flags |= NODE_OBSERVED;
        d->at[i].root->flags |= NODE_OBS_ROOT;
    }
    values_free(observed, d->n);
    mem_free(ends);
    return st;
}

enum gpm_status trace_replicate(struct trace *t, const struct recorded *of, size_t n, value *out) {
    data plain = {0}, stateful = {0};
    for (size_t i = 0; i < n; i++) {
        struct node *root = recorded_root(of[i]);
        struct datum x = {root, chase(root), &out[i]};
        out[i] = NIL;
        if (node_is_stateful(x.end))
            vec_push(&stateful, x);
        else
            vec_push(&plain, x);
    }
    enum gpm_status st = draw_stateful(t, &stateful);
    if (st == GPM_OK && plain.n) st = draw_plain(t, &plain);
    for (size_t i = 0; i < n && st != GPM_OK; i++) value_unref(out[i]);
    vec_release(&plain);
    vec_release(&stateful);
    return st;
}

/* ---- densities ---- */

/* p(y | the others): the value's density with its own count taken out of the statistics. */
static enum gpm_status density_left_out(struct trace *t, struct node *end, double *out) {
    value v = value_ref(end->val);
    enum gpm_status st = call_once(t, end, LEAVE, &v);
    if (st == GPM_OK) {
        st = node_density(t, end, v, out);
        enum gpm_status back = call_once(t, end, JOIN, &v);
        if (st == GPM_OK) st = back;
    }
    value_unref(v);
    return st;
}

/* Element i of an argument or value, owned: the item of a sequence; any other value stands for
 * all. */
static value element(value v, size_t i) {
    value item;
    size_t n;
    return seq_length(v, &n) && n > 0 && seq_get(v, i, &item) ? item : value_ref(v);
}

/* The density of element i for a procedure of numbers applied to sequences. */
static enum gpm_status element_density(struct trace *t, struct node *end, size_t i, double *out) {
    struct node_call k;
    call_begin(t, end, &k);
    value v = element(end->val, i);
    for (size_t j = 0; j < k.c.n; j++) k.args[j] = element(k.args[j], i);
    enum gpm_status st = k.c.cls->log_density(&k.c, v, out);
    for (size_t j = 0; j < k.c.n; j++) value_unref(k.args[j]);
    value_unref(v);
    return call_end(t, end, &k, st);
}

/* Is element i of the observed value missing? */
static bool element_missing(value v, size_t i) {
    value item = element(v, i);
    bool is = item.tag == V_NUM && isnan(item.u.num);
    value_unref(item);
    return is;
}

/* The densities of the *n elements. Missing ones are skipped, and *n then counts the rest. *apart
 * is false if the terms do not add up to the whole. */
static enum gpm_status densities_apart(struct trace *t, struct node *end, size_t *n, double total,
                                       double *each, bool *apart) {
    double sum = 0;
    size_t there = 0;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < *n && st == GPM_OK; i++) {
        if (element_missing(end->val, i)) continue;
        st = element_density(t, end, i, &each[there]);
        sum += each[there++];
    }
    *n = there;
    *apart = sum == total || fabs(sum - total) <= 1e-6 * (1 + fabs(total));
    return st;
}

enum gpm_status trace_log_likelihood(struct trace *t, struct recorded d, double **each, size_t *n) {
    struct node *end = chase(recorded_root(d));
    double total;
    trace_settle(t);
    enum gpm_status st =
        node_is_stateful(end) ? density_left_out(t, end, &total) : node_logp(t, end, &total);
    if (st != GPM_OK) return st;
    size_t elements = 1;
    bool apart = (node_class(end)->flags & SP_LIFTS) && seq_length(end->val, &elements);
    *each = NEW_ARRAY(double, elements + 1);
    if (apart && elements > 1) st = densities_apart(t, end, &elements, total, *each, &apart);
    *n = apart ? elements : 1;
    if (*n == 1) **each = total;
    if (st != GPM_OK) mem_free(*each);
    return st;
}
