/* SPDX-License-Identifier: Apache-2.0
 *
 * Redraws for unlucky starts. Assume and observe may fail at an unfortunate draw of earlier
 * choices: a vague prior may give exp(-800), and a mean of 0 may be outside the domain. For a chain
 * that starts there this is a bad start, not an error of the program. The choices are drawn again,
 * with all earlier observations, and the directive is retried. A warning says so, since later
 * forward draws are conditional on it. Three cases remain errors: a model changed by an operator or
 * a force is no longer a start; sample and predict only read; several particles are weighted. */
#include "inference/run/infer.h"
#include "inference/hmc/sampler_stats.h"

#include <math.h>

enum { TRIES = 100 };

/* Draws all choices from the prior once. False: an earlier observation is impossible with them, or
 * the model failed in another way; the old state is kept. */
static bool draw_again(struct trace *t) {
    struct node **all = NEW_ARRAY(struct node *, t->choices.n + 1);
    double before, weight;
    memcpy(all, t->choices.at, t->choices.n * sizeof *all);
    struct scaffold *s = scaffold_build(t, all, t->choices.n);
    mem_free(all);
    if (scaffold_detach(s, SCAFFOLD_PRIOR, &before) != GPM_OK) return false;
    bool ok = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &weight) == GPM_OK && scaffold_built(s) &&
              weight > -INFINITY;
    scaffold_close(s, ok);
    if (ok) t->log_weight += weight - before;
    return ok;
}

static bool unlucky(const struct infer_state *x, enum gpm_status st) {
    const struct diags *d = x->core->diags;
    return st == GPM_E_USER && d->list.n && vec_last(&d->list)->code == DIAG_DOMAIN &&
           x->model->p.n == 1 && !x->model->begun;
}

/* The reported failure is that of the final state, which is the first one: one more attempt repeats
 * it. */
enum gpm_status redraw_run(struct infer_state *x, redraw_fn *f, void *ctx, value *out) {
    size_t said = x->core->diags->list.n;
    struct trace *t = x->model->p.at[0];
    struct rng now = t->rng;
    enum gpm_status st = f(x, ctx, out);
    if (!unlucky(x, st)) return st;
    trace_whole(t);
    if (!t->choices.n) return st;
    struct rng after = t->rng;
    struct trace *was = trace_clone(t);
    t->rng = after;
    double tries = 0;
    for (; unlucky(x, st) && tries < TRIES; tries++) {
        if (!draw_again(t)) continue;
        diags_rewind(x->core->diags, said);
        st = f(x, ctx, out);
    }
    if (st == GPM_OK) {
        trace_free(was);
        sampler_stats_of(x)->redrawn += tries;
        diag_warn(x->core->diags, DIAG_DOMAIN, x->at,
                  "%g draw%s of the prior could not be evaluated here and %s drawn again", tries,
                  tries == 1 ? "" : "s", tries == 1 ? "was" : "were");
        return st;
    }
    trace_free(t);
    x->model->p.at[0] = was;
    was->rng = now;
    diags_rewind(x->core->diags, said);
    return f(x, ctx, out);
}
