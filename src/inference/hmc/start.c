/* SPDX-License-Identifier: Apache-2.0
 *
 * See start.h. A vague prior gives poor starts: its draws are extremely far from the data, or round
 * to the bound of a support, where no gradient is finite. Numbers of order one in the unconstrained
 * space suit every model with sensible units. */
#include "inference/hmc/start.h"

#include "inference/hmc/laplace_fit.h"
#include "inference/hmc/pathfinder.h"
#include "numeric/optim/optim.h"
#include <math.h>
#include <string.h>

#define RADIUS 2.0

/* Can a trajectory start here? Sets logp to -inf if the gradient is not finite. */
static enum gpm_status start_judge(struct continuous *c, const double *z, double *logp, bool *ok) {
    double *g = NEW_ARRAY(double, c->n_z + 1);
    enum gpm_status st = continuous_eval(c, z, logp, g);
    *ok = st == GPM_OK && isfinite(*logp);
    mem_free(g);
    return st;
}

/* Sets the numbers of z that a dictionary gives; keys are names as in trace_quantities. */
static enum gpm_status assign(struct continuous *c, value given, double *z) {
    struct trace_quantity *q;
    size_t n = trace_quantities(c->t, &q);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < given.u.dict->n && st == GPM_OK; i++) {
        value key = given.u.dict->kv[2 * i], v = given.u.dict->kv[2 * i + 1];
        const char *name = value_text(key);
        size_t k = 0;
        while (k < n && !(name && strcmp(q[k].name, name) == 0)) k++;
        if (k < n && continuous_assign(c, q[k].node, v, z)) continue;
        st = k < n && continuous_has(c, q[k].node)
                 ? infer_error(c->x, DIAG_BAD_OPERATOR_ARG, "init: %s cannot begin with %s",
                               SHOW(key), SHOW(v))
                 : infer_error(c->x, DIAG_BAD_OPERATOR_ARG,
                               "init: %s is no name of a continuous choice here", SHOW(key));
    }
    trace_quantities_free(q, n);
    return st == GPM_OK ? continuous_settle(c, z) : st;
}

static enum gpm_status draw(struct continuous *c, bool prior, value given, double *z, double *logp,
                            bool *ok) {
    enum gpm_status st = GPM_OK;
    *ok = true;
    if (prior)
        st = continuous_prior(c, z, NULL, ok);
    else
        for (size_t i = 0; i < c->n_z; i++) z[i] = RADIUS * (2 * rng_uniform(&c->t->rng) - 1);
    if (st == GPM_OK && given.tag == V_DICT) st = assign(c, given, z);
    return st == GPM_OK && *ok ? start_judge(c, z, logp, ok) : st;
}

static enum gpm_status climb(struct continuous *c, double *z) {
    struct objective d = {c, GPM_OK};
    struct optim_options o = OPTIM_OPTIONS_INIT;
    optim_minimise(continuous_cost, &d, c->n_z, z, &o);
    return d.st;
}

static enum gpm_status draw_laplace(struct continuous *c, double *z, double *tries, bool *found) {
    const struct laplace_fit *f;
    enum gpm_status st = laplace_fit_find(c, 100, &f);
    if (st != GPM_OK || !f->p.n) return st;
    for (; !*found && *tries < START_TRIES && st == GPM_OK; *tries += !*found) {
        double logp;
        laplace_fit_draw(f, &c->t->rng, z);
        st = start_judge(c, z, &logp, found);
    }
    return st;
}

/* Follows several paths (pathfinder.h) and picks one of their starts by the evidence bounds. So two
 * modes of equal mass each get their share of the chains, and a mode with e^-40 of the mass gets
 * none. A path without a result leaves its point unchanged. */
static enum gpm_status follow_paths(struct continuous *c, double *all, size_t have, double *z) {
    double top = -INFINITY;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < have && st == GPM_OK; i++) {
        double elbo, logp;
        bool ok;
        st = pathfinder_path(c, all + i * c->n_z, &elbo);
        if (st == GPM_OK) st = start_judge(c, all + i * c->n_z, &logp, &ok);
        double race = elbo - log(-log(rng_uniform(&c->t->rng)));
        if (st != GPM_OK || !ok || !(race > top)) continue;
        top = race;
        memcpy(z, all + i * c->n_z, c->n_z * sizeof *z);
    }
    return st;
}

/* Picks the first of up to CANDIDATES random points whose log density is not hopelessly worse than
 * the best. If a point overflows a recursion, its log density is a million times that of another,
 * and the other parameters would adapt to it. All other points stay equally likely, so chains still
 * start far apart. */
enum { CANDIDATES = 10, PATHS = 6 };

static enum gpm_status choose(struct continuous *c, const struct start *how, double *z,
                              double *tries, double *at, bool *found) {
    size_t n = c->n_z, have = 0;
    double *all = NEW_ARRAY(double, CANDIDATES *n + 1), logp[CANDIDATES], best = -INFINITY;
    enum gpm_status st = GPM_OK;
    while (have < CANDIDATES && *tries < START_TRIES && st == GPM_OK) {
        bool ok, prior = *tries >= START_TRIES / 4 && (int)*tries % 2;
        st = draw(c, prior, how->given, all + have * n, &logp[have], &ok);
        if (st == GPM_OK && ok) best = fmax(best, logp[have++]);
        *tries += !ok;
    }
    *found = have > 0;
    size_t good = 0;
    for (size_t i = 0; st == GPM_OK && i < have; i++) {
        if (logp[i] < best - 9 * fabs(best) - 100) continue;
        memmove(all + good * n, all + i * n, n * sizeof *z);
        logp[good++] = logp[i];
    }
    if (good) {
        memcpy(z, all, n * sizeof *z);
        *at = logp[0];
    }
    if (st == GPM_OK && good && how->kind == START_PATHFINDER && *at >= CONTINUOUS_HOPELESS)
        st = follow_paths(c, all, good < PATHS ? good : PATHS, z);
    mem_free(all);
    return st;
}

/* Random points. If those fail (supports whose ends move with other choices), every second try is
 * drawn from the prior. */
enum gpm_status start_draw(struct continuous *c, const struct start *how, double *z, double *tries,
                           bool *found) {
    enum gpm_status st = GPM_OK;
    double logp;
    *tries = 0;
    *found = false;
    if (how->kind == START_LAPLACE) return draw_laplace(c, z, tries, found);
    if (how->kind == START_CURRENT) {
        memcpy(z, c->old, c->n_z * sizeof *z);
        if (c->w_old > -INFINITY) st = start_judge(c, z, &logp, found);
        if (*found || st != GPM_OK) return st;
        *tries = 1;
    }
    if (how->kind != START_PRIOR) st = choose(c, how, z, tries, &logp, found);
    while (how->kind == START_PRIOR && !*found && *tries < START_TRIES && st == GPM_OK) {
        st = draw(c, true, how->given, z, &logp, found);
        *tries += !*found;
    }
    bool hopeless = *found && logp < CONTINUOUS_HOPELESS;
    if (st == GPM_OK && *found && (how->kind == START_OPTIMUM || hopeless)) st = climb(c, z);
    return st;
}

enum gpm_status start_read(struct infer_state *x, value init, struct start *out) {
    static const char *const kinds[] = {"current", "prior",   "random",
                                        "optimum", "laplace", "pathfinder"};
    *out = (struct start){START_PATHFINDER, NIL};
    if (is_absent(init)) return GPM_OK;
    if (init.tag == V_DICT) {
        *out = (struct start){START_RANDOM, init};
        return GPM_OK;
    }
    const char *word = value_text(init);
    for (int i = 0; word && i < (int)COUNT_OF(kinds); i++)
        if (strcmp(word, kinds[i]) == 0) {
            out->kind = (enum start_kind)i;
            return GPM_OK;
        }
    return infer_error(
        x, DIAG_BAD_OPERATOR_ARG,
        "init is current, prior, random, optimum, laplace, pathfinder or a dictionary of names "
        "and values, not %s",
        SHOW(init));
}
