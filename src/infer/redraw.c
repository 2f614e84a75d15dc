/* SPDX-License-Identifier: Apache-2.0
 *
 * A directive may fail at an unlucky draw of the choices before it: a vague prior gives exp(-800),
 * and a mean of 0 is no mean. Such a state is one of probability zero, not an error of the program:
 * the choices are drawn again, with everything that was observed so far, and the directive is tried
 * once more. Particles are weighed, so that there the draw would have to count: with several of
 * them the error stands. */
#include "infer/infer.h"

#include <math.h>

enum { TRIES = 100 };

/* All choices from the prior, once; false: what was observed before is impossible with them, or the
 * model failed otherwise, and the old state stands. */
static bool draw_again(struct trace *t) {
    struct node **all = NEW_ARRAY(struct node *, t->choices.n + 1);
    double weight;
    memcpy(all, t->choices.at, t->choices.n * sizeof *all);
    struct scaffold *s = scaffold_build(t, all, t->choices.n);
    mem_free(all);
    if (scaffold_detach(s, SCAFFOLD_PRIOR, &weight) != GPM_OK) return false;
    bool ok = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &weight) == GPM_OK && scaffold_built(s) &&
              weight > -INFINITY;
    scaffold_close(s, ok);
    return ok;
}

static bool unlucky(const struct infer_state *x, enum gpm_status st) {
    const struct diags *d = x->core->diags;
    return st == GPM_E_USER && d->list.n && vec_last(&d->list)->code == DIAG_DOMAIN &&
           x->model->p.n == 1 && x->model->p.at[0]->choices.n;
}

/* The last failure is said of the state that stands then, the first one: trying it a last time says
 * it. */
enum gpm_status redraw_run(struct infer_state *x, redraw_fn *f, void *ctx, value *out) {
    size_t said = x->core->diags->list.n;
    struct trace *t = x->model->p.at[0];
    struct rng now = t->rng;
    enum gpm_status st = f(x, ctx, out);
    if (!unlucky(x, st)) return st;
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
        x->sampler.redrawn += tries;
        return st;
    }
    trace_free(t);
    x->model->p.at[0] = was;
    was->rng = now;
    diags_rewind(x->core->diags, said);
    return f(x, ctx, out);
}
