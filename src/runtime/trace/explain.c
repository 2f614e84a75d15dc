/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains the value of a directive: the random choices it was computed from. */
#include "runtime/trace/scaffold.h"

struct telling {
    choice_fn *each;
    void *ctx;
};

static enum gpm_status tell(void *ctx, struct trace *t, struct node *n) {
    const struct telling *to = ctx;
    if (!(n->flags & NODE_RANDOM) || !node_class(n)) return GPM_OK;
    struct choice_facts f = {
        .cls = node_class(n), .at = node_span(n), .val = n->val, .observed = node_is_datum(n)};
    for (uint32_t i = 1; i < n->n_in && f.n_args < CHOICE_FACTS; i++)
        f.args[f.n_args++] = n->in[i].node->val;
    for (uint32_t i = 0; n->member && i < n->member->n && f.n_tags < CHOICE_FACTS; i++) {
        const struct tagctx *c = n->member->in[i].ctx;
        f.blocks[f.n_tags] = c->home && c->home->unique ? ABSENT : c->block;
        f.scopes[f.n_tags++] = c->scope;
    }
    enum gpm_status st = node_logp(t, n, &f.logp);
    if (st == GPM_OK) to->each(to->ctx, &f);
    return st;
}

enum gpm_status trace_explain(struct trace *t, struct recorded d, choice_fn *each, void *ctx) {
    struct telling to = {each, ctx};
    trace_whole(t);
    trace_settle(t);
    return trace_each_in(t, d, tell, &to);
}
