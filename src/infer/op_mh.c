/* SPDX-License-Identifier: Apache-2.0
 *
 * Metropolis-Hastings from the prior: pick a block, draw its choices (and whatever else comes into
 * being with them) from the prior q, accept with probability min(1, alpha). With x the block, r
 * what absorbs the change, q(x) = p(x) cancels the block's own density:
 *
 *     log alpha = log p(r | x') - log p(r | x) + log P(block | x') - log P(block | x)
 *
 * The last two differ only where the number of blocks does (struct mh_extra). The ratio is computed
 * by flat_mh where nothing but values changes, else by trace_mh. */
#include "infer/move.h"

#include <math.h>

static enum gpm_status mh_transition(struct infer_state *x, struct trace *t, struct node **at,
                                     size_t n, const struct mh_extra *extra, void *ctx,
                                     bool *accepted) {
    return move_mh(x, t, at, n, extra, accepted);
}

static enum gpm_status op_mh(struct infer_state *x, const value *args, size_t n, value *out) {
    struct target g;
    enum gpm_status st =
        infer_target(x, &(struct target_form){"mh", "one", 0, false}, args, n, NULL, &g);
    if (st != GPM_OK) return st;
    st = infer_transitions(x, &g, mh_transition, NULL);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_default_chain(struct infer_state *x, const value *args, size_t n,
                                        value *out) {
    value all[3] = {infer_name(x, "default"), infer_name(x, "one"), n ? args[0] : value_num(1)};
    return op_mh(x, all, 3, out);
}

/* Share of accepted proposals by scope, since the session began. */
static enum gpm_status op_acceptance(struct infer_state *x, const value *args, size_t n,
                                     value *out) {
    value *kv = NEW_ARRAY(value, 2 * x->n_stats + 1);
    for (size_t i = 0; i < x->n_stats; i++) {
        kv[2 * i] = x->stats[i].scope;
        kv[2 * i + 1] = value_num((double)x->stats[i].accepted / (double)x->stats[i].proposed);
    }
    *out = value_dict(kv, x->n_stats);
    mem_free(kv);
    return GPM_OK;
}

static enum gpm_status op_divergences(struct infer_state *x, const value *args, size_t n,
                                      value *out) {
    *out = value_num((double)x->divergences);
    return GPM_OK;
}

#define TARGET_SIG "(scope: target, block?: block, steps?: count) -> action"
const struct infer_op infer_mh_rows[] = {
    {"mh", TARGET_SIG, "Metropolis-Hastings: proposes the block from its prior", NULL, OP_STEPS,
     op_mh},
    {"resimulation_mh", TARGET_SIG, "the same as mh", NULL, OP_STEPS, op_mh},
    {"func_mh", TARGET_SIG, "the same as mh", NULL, OP_STEPS, op_mh},
    {"default_markov_chain", "(steps?: count) -> action", "mh(default, one, steps)", NULL, OP_STEPS,
     op_default_chain},
    {"acceptance_rates", "() -> action", "dictionary: scope -> share of accepted proposals so far",
     NULL, 0, op_acceptance},
    {"divergences", "() -> action",
     "number of trajectories of hmc and nuts (after warm-up) whose energy diverged", NULL, 0,
     op_divergences},
};
const size_t infer_mh_count = COUNT_OF(infer_mh_rows);
