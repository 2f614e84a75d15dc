/* SPDX-License-Identifier: Apache-2.0
 *
 * Metropolis-Hastings from the prior: pick a block, draw its choices (and new choices they bring)
 * from the prior q, accept with probability min(1, alpha). Let x be the block and r what absorbs
 * the change. q(x) = p(x) cancels the block's own density:
 *
 *     log alpha = log p(r | x') - log p(r | x) + log P(block | x') - log P(block | x)
 *
 * The last two differ only if the number of blocks changes (struct mh_extra). flat_mh computes the
 * ratio if nothing but values changes, otherwise trace_mh. */
#include "inference/run/move.h"
#include "inference/hmc/sampler_stats.h"

#include <math.h>

static enum gpm_status op_default_chain(struct infer_state *x, const struct action *a, value *out) {
    struct target g = infer_aim(x, infer_name(x, "default"), infer_name(x, "one"));
    if (a->n) g.transitions = a->args[0].u.num;
    return infer_transitions(x, &g, move_mh, NULL);
}

/* Acceptance rates by scope since the session began. */
static enum gpm_status op_acceptance(struct infer_state *x, const struct action *a, value *out) {
    value *kv = NEW_ARRAY(value, 2 * x->n_stats + 1);
    for (size_t i = 0; i < x->n_stats; i++) {
        kv[2 * i] = x->stats[i].scope;
        kv[2 * i + 1] = value_num((double)x->stats[i].accepted / (double)x->stats[i].proposed);
    }
    *out = value_dict(kv, x->n_stats);
    mem_free(kv);
    return GPM_OK;
}

static enum gpm_status op_divergences(struct infer_state *x, const struct action *a, value *out) {
    *out = value_num(sampler_summarise(x).divergences);
    return GPM_OK;
}

#define MH_SIG "(scope: target, block?: block, steps?: count) -> action"
const struct infer_op infer_mh_rows[] = {
    {"mh", MH_SIG, "Metropolis-Hastings: proposes the block from its prior", STEPS(move_mh, "one")},
    {"resimulation_mh", MH_SIG, "the same as mh", STEPS(move_mh, "one")},
    {"func_mh", MH_SIG, "the same as mh", STEPS(move_mh, "one")},
    {"default_markov_chain", "(steps?: count) -> action", "mh(default, one, steps)",
     .flags = OP_STEPS | OP_RESUMES, .run = op_default_chain},
    {"acceptance_rates", "() -> action", "dictionary: scope -> share of accepted proposals so far",
     .run = op_acceptance},
    {"divergences", "() -> action",
     "number of trajectories of hmc and nuts (after warm-up) whose energy diverged",
     .run = op_divergences},
    {0},
};
