/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings about inefficient inference, with figures and a remedy. They are based on acceptance
 * rates and on what hmc and nuts record about their trajectories (sampler_stats.h). */
#include "inference/run/advice.h"
#include "inference/run/progress.h"
#include "inference/hmc/sampler.h"
#include <math.h>

/* Limits: E-BFMI (Betancourt 2016); an acceptance rate, with the minimum number of proposals; the
 * mean acceptance statistic, whose target is 0.8. */
#define EBFMI_LOW  0.3
#define SHARE_LOW  0.05
#define ACCEPT_LOW 0.6
enum { PROPOSALS_ENOUGH = 100 };

/* ---- proposals ---- */

struct kinds {
    size_t continuous, listed, other;
};

static void count_kind(struct trace *t, struct node *n, struct kinds *k) {
    const struct sp_class *cls = node_class(n);
    if (continuous_takes(t, n))
        k->continuous++;
    else if (cls && cls->enumerate)
        k->listed++;
    else
        k->other++;
}

/* The kinds of the choices that a scope holds now, in the first particle. */
static struct kinds kinds_of(const struct infer_state *x, value scope) {
    struct kinds k = {0, 0, 0};
    struct trace *t = x->model->p.at[0];
    struct scope *s = infer_is_name(scope, "default") ? NULL : trace_scope(t, scope);
    struct scope_block **blocks = NULL;
    size_t n = 0;
    if (s) scopes_sorted(s, &blocks, &n);
    for (size_t i = 0; i < t->choices.n && !s; i++) count_kind(t, t->choices.at[i], &k);
    for (size_t b = 0; b < n; b++) {
        struct node **at;
        size_t m;
        block_choices(blocks[b], &at, &m);
        for (size_t i = 0; i < m; i++) count_kind(t, at[i], &k);
        mem_free(at);
    }
    mem_free(blocks);
    return k;
}

const char *advice_for_scope(const struct infer_state *x, value scope) {
    struct kinds k = kinds_of(x, scope);
    if (k.continuous && !k.listed && !k.other)
        return "its choices are continuous: try sample() or nuts, slice, or laplace_mh";
    if (k.listed && !k.continuous && !k.other)
        return "the values of its choices can be listed: try gibbs";
    if (k.continuous)
        return "try nuts on its continuous choices and gibbs on the others (sample() does both), "
               "or one choice at a time";
    return "try one choice at a time, gibbs, or particle Gibbs (pgibbs) on a series";
}

void advice_of_share(const char *scope, double proposed, double accepted, const char *advice,
                     struct buf *out) {
    double share = accepted / proposed;
    if (proposed < PROPOSALS_ENOUGH || share >= SHARE_LOW) return;
    buf_printf(out, "%s: %.2g%% of %.0f proposals were accepted; %s\n", scope, 100 * share,
               proposed, advice);
}

/* ---- trajectories ---- */

void advice_of_trajectories(const struct infer_state *x, struct buf *out) {
    static const char cure[] =
        "where the scale of a choice is itself a choice, write it as scale * "
        "z with z ~ normal(0, 1); or target_accept=0.95";
    struct sampler_summary s = sampler_summarise(x);
    if (s.stuck)
        buf_printf(
            out, "the chain did not move: no trajectory led anywhere; begin elsewhere (init=), or "
                 "look for a density that is infinite or not a number\n");
    if (s.rebuilt > 0)
        buf_printf(out,
                   "%.0f transitions of nuts were steps of hmc of size %g, since their choices "
                   "decide what is evaluated: little of the posterior may have been seen; the "
                   "warning of the run says where\n",
                   s.rebuilt, HMC_STEP);
    if (s.divergences > 0)
        buf_printf(out,
                   "%.0f trajectories diverged, of %.0f: the draws may miss a part of the "
                   "posterior; %s\n",
                   s.divergences, s.transitions, cure);
    if (s.ebfmi < EBFMI_LOW)
        buf_printf(out,
                   "E-BFMI %.2f (should be above %g): the energy moves slowly, and tails may be "
                   "missed; %s\n",
                   s.ebfmi, EBFMI_LOW,
                   s.divergences > 0 ? "the same helps, and priors with shorter tails" : cure);
    if (s.deep > 0)
        buf_printf(out,
                   "%.0f trajectories reached max_depth, of %.0f: steps are short for the "
                   "posterior; warm up longer, try metric=\"dense\", or bring the choices to one "
                   "scale\n",
                   s.deep, s.transitions);
    if (s.transitions >= PROPOSALS_ENOUGH && s.accept_stat < ACCEPT_LOW && !s.stuck)
        buf_printf(out,
                   "mean acceptance statistic %.2f, far below its target: the step size does not "
                   "fit; warm up longer\n",
                   s.accept_stat);
}

void advice_all(const struct infer_state *x, struct buf *out) {
    for (size_t i = 0; i < x->n_stats; i++) {
        const struct scope_stats *s = &x->stats[i];
        struct buf name = BUF_INIT;
        scope_name_text(s->scope, &name);
        advice_of_share(name.data, (double)s->proposed, (double)s->accepted,
                        advice_for_scope(x, s->scope), out);
        buf_release(&name);
    }
    advice_of_trajectories(x, out);
}

/* Warns at the node that is evaluated again and suggests what to write instead. */
void nuts_warn_rebuilt(struct infer_state *x, const struct node *n) {
    const struct sp_class *cls = n ? node_class(n) : NULL;
    bool maps = cls && (cls->flags & SP_ARRANGES) && cls->request;
    diag_warn(x->core->diags, DIAG_SLOW, n ? node_span(n) : x->at,
              "nuts takes plain steps of hmc, of size %g, where the choices that it moves decide "
              "what is evaluated%s%s",
              HMC_STEP, cls ? " by " : "", cls ? cls->name : "");
    diag_set_help(x->core->diags, "%s",
                  maps ? "map over indices instead of elements: "
                         "mapv(i -> f(x[i]), range(0, size(x)))"
                       : "a value without a branch, and procedures called with constants, are "
                         "followed; or move these choices with slice or mh, the others with nuts");
}

void nuts_warn(struct infer_state *x) {
    struct sampler_summary s = sampler_since_mark(x);
    bool slow = s.ebfmi < EBFMI_LOW;
    if (!(s.stuck || s.divergences > 0 || slow || s.deep > 0)) return;
    diag_warn(x->core->diags, DIAG_SLOW, x->at, "nuts does not follow this posterior: %s",
              s.stuck             ? "the chain does not move"
              : s.divergences > 0 ? "trajectories diverge"
              : slow              ? "its energy moves slowly (E-BFMI below 0.3)"
                                  : "trajectories reach the limit of their length");
    diag_set_help(x->core->diags, "summarize and gpmem diagnose say how often; where the scale "
                                  "of a choice depends on another, write it as scale * z with "
                                  "z ~ normal(0, 1)");
}
