/* SPDX-License-Identifier: Apache-2.0
 *
 * Replicated data: what the observed choices might as well have been, given every other choice as
 * it is now. The trace is left as it was.
 *
 * Choices of plain procedures are drawn together by a proposal from the prior that is taken back,
 * so data that depend on data (a series that is observed step by step) are replicated as a whole.
 * A procedure with statistics keeps what it has learned from the data and is applied once more:
 * p(y' | y) with the parameters that it integrates out. Its replicates join the statistics one by
 * one, so they come from the joint distribution, and leave them in reverse order. */
#include "trace/scaffold.h"

struct datum {
    struct node *root, *end; /* of the observed expression; the choice that holds its value */
    value *out;
};
typedef VEC(struct datum) data;

/* The procedure of a choice, called: draws (out), or lets v join (in) or leave its statistics. */
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

/* For as long as the proposal stands, no observation holds the ends. */
static enum gpm_status draw_plain(struct trace *t, const data *d) {
    struct node **ends = NEW_ARRAY(struct node *, d->n + 1);
    struct scaffold *s;
    double w;
    for (size_t i = 0; i < d->n; i++) {
        ends[i] = d->at[i].end;
        d->at[i].root->flags &= (uint16_t)~NODE_OBS_ROOT;
        ends[i]->flags &= (uint16_t)~NODE_OBSERVED;
    }
    enum gpm_status st = scaffold_open(t, ends, d->n, SCAFFOLD_PRIOR, &w, &s);
    if (st == GPM_OK) {
        s->strict = true;
        st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w);
        for (size_t i = 0; i < d->n && st == GPM_OK; i++)
            *d->at[i].out = value_ref(chase(d->at[i].root)->val);
        scaffold_close(s, false);
    }
    for (size_t i = d->n; i-- > 0;) {
        choice_remove(t, ends[i]);
        ends[i]->flags |= NODE_OBSERVED;
        d->at[i].root->flags |= NODE_OBS_ROOT;
    }
    mem_free(ends);
    return st;
}

enum gpm_status trace_replicate(struct trace *t, struct record *const *records, size_t n,
                                value *out) {
    data plain = {0}, stateful = {0};
    for (size_t i = 0; i < n; i++) {
        struct node *root = records[i]->family->root;
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
