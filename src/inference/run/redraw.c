/* SPDX-License-Identifier: Apache-2.0
 *
 * Assume and observe may fail at an unlucky draw of the choices before them: a vague prior gives
 * exp(-800), and a mean of 0 is no mean. For a chain that begins there this is a bad start, not an
 * error of the program: the choices are drawn again, with everything that was observed so far, and
 * the directive is tried once more; a warning says so, since what is drawn forwards is from then on
 * conditional on it. What an operator or a force has worked on is no start any more, and sample and
 * predict only look: there the error stands. So it does with several particles, which are weighed.
 */
#include "inference/run/infer.h"
#include "inference/hmc/sampler_stats.h"

#include <math.h>

enum { TRIES = 100 };

/* All choices from the prior, once; false: what was observed before is impossible with them, or the
 * model failed otherwise, and the old state stands. */
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

/* The last failure is said of the state that stands then, the first one: trying it a last time says
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
