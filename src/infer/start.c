/* SPDX-License-Identifier: Apache-2.0
 *
 * See start.h. A vague prior is a poor place to begin: its draws are astronomically far from the
 * data, or round to the bound of a support, where no gradient is finite. Numbers of order one in
 * the unconstrained space serve every model whose quantities have sensible units. */
#include "infer/start.h"

#include "infer/laplace_fit.h"
#include "la/optim.h"
#include <math.h>

#define RADIUS 2.0

/* Can trajectories begin here? logp is -inf, too, where the gradient is not finite. */
static enum gpm_status judge(struct continuous *c, const double *z, bool *ok) {
    double *g = NEW_ARRAY(double, c->n_z + 1), logp;
    enum gpm_status st = continuous_eval(c, z, &logp, g);
    *ok = st == GPM_OK && isfinite(logp);
    mem_free(g);
    return st;
}

static enum gpm_status draw(struct continuous *c, bool prior, double *z, bool *ok) {
    if (prior) {
        enum gpm_status st = continuous_prior(c, z, NULL, ok);
        return st == GPM_OK && *ok ? judge(c, z, ok) : st;
    }
    for (size_t i = 0; i < c->n_z; i++) z[i] = RADIUS * (2 * rng_uniform(&c->t->rng) - 1);
    return judge(c, z, ok);
}

/* - log p(z) for the optimiser, which knows no statuses: the first error is kept. */
struct descent {
    struct continuous *c;
    enum gpm_status st;
};

static double minus_logp(void *ctx, const double *z, double *grad) {
    struct descent *d = ctx;
    double logp = -INFINITY;
    if (d->st == GPM_OK) d->st = continuous_eval(d->c, z, &logp, grad);
    for (size_t i = 0; i < d->c->n_z; i++) grad[i] = -grad[i];
    return -logp;
}

static enum gpm_status climb(struct continuous *c, double *z) {
    struct descent d = {c, GPM_OK};
    struct optim_options o = OPTIM_OPTIONS_INIT;
    optim_minimise(minus_logp, &d, c->n_z, z, &o);
    return d.st;
}

/* Random points first; where none will do (supports whose ends move with other choices), every
 * second one is drawn from the prior. */
enum gpm_status start_draw(struct continuous *c, enum start_kind kind, double *z, double *tries,
                           bool *found) {
    enum gpm_status st = GPM_OK;
    *tries = 0;
    *found = false;
    if (kind == START_LAPLACE) {
        const struct laplace_fit *f;
        st = laplace_fit_find(c, 100, &f);
        if (st != GPM_OK) return st;
        for (; f->p.n && !*found && *tries < START_TRIES && st == GPM_OK; *tries += !*found) {
            laplace_fit_draw(f, &c->t->rng, z);
            st = judge(c, z, found);
        }
        return st;
    }
    for (; !*found && *tries < START_TRIES && st == GPM_OK; *tries += !*found) {
        bool prior = kind == START_PRIOR || (*tries >= START_TRIES / 4 && (int)*tries % 2);
        st = draw(c, prior, z, found);
    }
    if (st == GPM_OK && *found && kind == START_OPTIMUM) st = climb(c, z);
    return st;
}
