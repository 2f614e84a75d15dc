/* SPDX-License-Identifier: Apache-2.0
 *
 * Densities of the whole trace. A maker that absorbs for its applications knows the joint density
 * of its data in closed form. The densities of the single applications, each taken before its value
 * joins, telescope to the same: log p(y1, ..., yn) = sum log p(yi | y1, ..., yi-1). */
#include "runtime/trace/scaffold.h"

#include <math.h>

struct joint {
    double all, observed;
    VEC(struct node *) apps; /* applications counted in statistics, in evaluation order */
    VEC(struct node *) makers;
    bool free_apps; /* some applications are not observed */
};

static struct sp_state *state_of(const struct node *n) {
    struct sp_proc *m = sp_made_of(n->in[0].node->val);
    return m ? m->state : NULL;
}

/* Adds plain choices at once. Applications with statistics are collected first, because their
 * densities depend on the order in which they join. */
static enum gpm_status add_density(void *ctx, struct trace *t, struct node *n) {
    struct joint *j = ctx;
    const struct sp_class *cls = node_class(n);
    double logp;
    if (!cls) return GPM_OK;
    if (cls->aaa && first_made(n->val)) vec_push(&j->makers, n);
    if (node_is_stateful(n)) {
        vec_push(&j->apps, n);
        j->free_apps |= (n->flags & NODE_RANDOM) && !(n->flags & NODE_OBSERVED);
    } else if ((n->flags & NODE_RANDOM) && cls->log_density) {
        enum gpm_status st = node_density(t, n, n->val, &logp);
        if (st != GPM_OK) return st;
        j->all += logp;
        if (n->flags & NODE_OBSERVED) j->observed += logp;
    }
    return GPM_OK;
}

enum step { STEP_OUT, STEP_DENSITY, STEP_IN };

/* Moves one application into or out of a copy of its statistics. */
static enum gpm_status step_on(struct trace *t, struct node *n, void *data, enum step step,
                               double *logp) {
    struct node_call k;
    call_begin(t, n, &k);
    k.c.state = data;
    k.c.observed = n->flags & NODE_AS_DATA;
    return call_end(t, n, &k,
                    step == STEP_OUT  ? k.c.cls->unincorporate(&k.c, n->val)
                    : step == STEP_IN ? k.c.cls->incorporate(&k.c, n->val)
                                      : k.c.cls->log_density(&k.c, n->val, logp));
}

/* Takes one maker's data out of a copy of its statistics and adds them one by one: out->all = sum_i
 * log p(y_i | y_1 .. y_{i-1}). This must equal the closed form (check.c), and it is the only way to
 * separate the observations' part. A value of probability zero is not added. */
static enum gpm_status one_by_one(struct trace *t, const struct joint *j, struct sp_state *state,
                                  const struct sp_aaa *aaa, struct maker_density *out) {
    void *copy = trace_copy_state(t, state);
    enum gpm_status st = GPM_OK;
    double logp = 0;
    for (size_t i = j->apps.n; i-- > 0 && st == GPM_OK;)
        if (state_of(j->apps.at[i]) == state && (j->apps.at[i]->flags & NODE_INCORPORATED))
            st = step_on(t, j->apps.at[i], copy, STEP_OUT, NULL);
    if (st == GPM_OK) st = aaa->log_joint(copy, &out->empty);
    for (size_t i = 0; i < j->apps.n && st == GPM_OK; i++) {
        struct node *n = j->apps.at[i];
        if (state_of(n) != state || !(n->flags & NODE_INCORPORATED)) continue;
        st = step_on(t, n, copy, STEP_DENSITY, &logp);
        out->all += logp;
        if (!(n->flags & NODE_RANDOM) || (n->flags & NODE_OBSERVED)) out->observed += logp;
        if (st == GPM_OK && !isinf(logp)) st = step_on(t, n, copy, STEP_IN, NULL);
    }
    state->cls->free(copy);
    return st;
}

/* For every maker: the closed form of the joint density of its data. The data are also taken one by
 * one if `apart`, or if the maker has drawn a parameter. */
static enum gpm_status each_maker(struct trace *t, struct joint *j, bool apart, maker_fn *fn,
                                  void *ctx) {
    enum gpm_status st = trace_each_node(t, add_density, j);
    apart |= j->free_apps;
    for (size_t i = 0; i < j->makers.n && st == GPM_OK; i++) {
        struct node *n = j->makers.at[i];
        struct sp_state *state = first_made(n->val)->state;
        struct maker_density d = {0};
        bool drawn = n->flags & NODE_RANDOM;
        d.taken_apart = apart || drawn;
        if (!drawn) st = maker_log_joint(t, n, state, &d.joint);
        if (st == GPM_OK && d.taken_apart) st = one_by_one(t, j, state, node_class(n)->aaa, &d);
        if (st == GPM_OK) st = fn(ctx, n, &d);
    }
    vec_release(&j->apps);
    vec_release(&j->makers);
    return st;
}

/* An uncollapsed maker counts as a choice, and its data are given the parameter it drew. The closed
 * form has integrated the parameter out. */
static enum gpm_status add_maker(void *ctx, struct node *n, const struct maker_density *d) {
    struct joint *j = ctx;
    j->all += n->flags & NODE_RANDOM ? d->all : d->joint;
    j->observed += d->taken_apart ? d->observed : d->joint;
    return GPM_OK;
}

/* joint = log p(all random choices, observed ones included); likelihood: the observed ones' part.
 */
enum gpm_status trace_log_joint(struct trace *t, double *joint, double *likelihood) {
    struct joint j = {0};
    enum gpm_status st = each_maker(t, &j, false, add_maker, &j);
    *joint = j.all;
    *likelihood = j.observed;
    return st;
}

enum gpm_status trace_each_maker(struct trace *t, maker_fn *fn, void *ctx) {
    struct joint j = {0};
    return each_maker(t, &j, true, fn, ctx);
}
