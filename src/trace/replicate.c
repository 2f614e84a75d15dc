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

struct replicate {
    struct trace *t;
    struct record *const *records;
    size_t n;
    value *out;
    struct node **ends; /* the observed choice of each record */
};

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

static enum gpm_status draw_stateful(struct replicate *r) {
    enum gpm_status st = GPM_OK;
    size_t i, joined = 0;
    for (i = 0; i < r->n && st == GPM_OK; i++) {
        if (!node_is_stateful(r->ends[i])) continue;
        st = call_once(r->t, r->ends[i], DRAW, &r->out[i]);
        if (st == GPM_OK) st = call_once(r->t, r->ends[i], JOIN, &r->out[i]);
        if (st == GPM_OK) joined = i + 1;
    }
    for (i = joined; i-- > 0;) {
        if (!node_is_stateful(r->ends[i])) continue;
        enum gpm_status left = call_once(r->t, r->ends[i], LEAVE, &r->out[i]);
        if (st == GPM_OK) st = left;
    }
    return st;
}

/* Between these two the plain ends count as choices that no observation holds. */
static void set_free(struct replicate *r) {
    for (size_t i = 0; i < r->n; i++) {
        if (node_is_stateful(r->ends[i])) continue;
        r->records[i]->family->root->flags &= (uint16_t)~NODE_OBS_ROOT;
        r->ends[i]->flags &= (uint16_t)~NODE_OBSERVED;
    }
}

static void hold_again(struct replicate *r) {
    for (size_t i = r->n; i-- > 0;) {
        if (node_is_stateful(r->ends[i])) continue;
        choice_remove(r->t, r->ends[i]);
        r->ends[i]->flags |= NODE_OBSERVED;
        r->records[i]->family->root->flags |= NODE_OBS_ROOT;
    }
}

static enum gpm_status propose_and_restore(struct replicate *r, struct node *const *plain,
                                           size_t n) {
    struct scaffold *s;
    double w;
    enum gpm_status st = scaffold_open(r->t, plain, n, SCAFFOLD_PRIOR, &w, &s);
    if (st != GPM_OK) return st;
    s->strict = true;
    st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w);
    for (size_t i = 0; i < r->n && st == GPM_OK; i++) {
        if (node_is_stateful(r->ends[i])) continue;
        r->out[i] = value_ref(chase(r->records[i]->family->root)->val);
    }
    scaffold_close(s, false);
    return st;
}

static enum gpm_status draw_plain(struct replicate *r) {
    VEC(struct node *) plain = {0};
    for (size_t i = 0; i < r->n; i++)
        if (!node_is_stateful(r->ends[i])) vec_push(&plain, r->ends[i]);
    enum gpm_status st = GPM_OK;
    if (plain.n) {
        set_free(r);
        st = propose_and_restore(r, plain.at, plain.n);
        hold_again(r);
    }
    vec_release(&plain);
    return st;
}

enum gpm_status trace_replicate(struct trace *t, struct record *const *records, size_t n,
                                value *out) {
    struct replicate r = {t, records, n, out, NEW_ARRAY(struct node *, n + 1)};
    for (size_t i = 0; i < n; i++) {
        out[i] = NIL;
        r.ends[i] = chase(records[i]->family->root);
    }
    enum gpm_status st = draw_stateful(&r);
    if (st == GPM_OK) st = draw_plain(&r);
    for (size_t i = 0; i < n && st != GPM_OK; i++) value_unref(out[i]);
    mem_free(r.ends);
    return st;
}
