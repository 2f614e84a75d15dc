/* SPDX-License-Identifier: Apache-2.0
 *
 * structure_mh: moves between structures, with matching parameters.
 *
 * Let k be the structure (the choices of a scope and everything that depends on them), theta the
 * continuous choices of another scope, g_k the fit (laplace_fit.h) of p(theta | k, data). The
 * proposal draws k' from the prior of a block and theta' from g_k':
 *
 *     log alpha = log p(y, theta' | k') - log p(y, theta | k) + log g_k(theta) - log g_k'(theta')
 *                 + log P(block | k') - log P(block | k)
 *
 * The trace cannot draw k' without some theta: it draws theta_1 from the prior with it, and
 *
 *     p(y, theta' | k') = p(y | k', theta_1) p(theta_1 | k') J(theta') / J(theta_1),
 *
 * where J is the weight of theta alone under k'. theta_1 cancels. g must be a function of the
 * structure alone. So fits are made on new copies of the trace, whose order of nodes does not
 * depend on how the structure was reached. */
#include "inference/op/structure_choices.h"

#include "base/mem.h"
#include <math.h>

enum { DRAWS = 100 };

struct jump {
    struct infer_state *x;
    value scope, block, parameters;
};

/* ---- the choices ---- */

struct ordering {
    struct map wanted;
    struct node_set *out;
};

static enum gpm_status take_in_order(void *ctx, struct trace *t, struct node *n) {
    struct ordering *o = ctx;
    if (map_get(&o->wanted, MAP_PTR(n))) o->out->at[o->out->n++] = n;
    return GPM_OK;
}

enum gpm_status choices_in_order(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) {
    struct target g = {.scope = scope, .block = infer_name(x, "all")};
    enum gpm_status st = infer_target_all(x, t, &g, out);
    if (st != GPM_OK) return st;
    struct ordering o = {{0}, out};
    for (size_t i = 0; i < out->n; i++) map_put(&o.wanted, MAP_PTR(out->at[i]), out->at[i]);
    out->n = 0;
    st = trace_each_node(t, take_in_order, &o);
    map_release(&o.wanted);
    return st;
}

enum gpm_status parameters_in_order(struct infer_state *x, struct trace *t, value scope,
                                    struct node_set *out) {
    enum gpm_status st = choices_in_order(x, t, scope, out);
    size_t n = st == GPM_OK ? out->n : 0;
    for (size_t i = out->n = 0; i < n; i++)
        if (continuous_takes(t, out->at[i])) out->at[out->n++] = out->at[i];
    return st;
}

/* Picks a block of the structure's scope and gives the log probability of the pick. */
static enum gpm_status pick_block(struct jump *j, struct trace *t, struct node_set *out) {
    struct target g = {.scope = j->scope, .block = j->block};
    return infer_is_name(j->block, "one") ? infer_pick_block(j->x, t, j->scope, out)
                                          : infer_target_all(j->x, t, &g, out);
}

static double log_pick(struct jump *j, struct trace *t) {
    struct scope *s = trace_scope(t, j->scope);
    return infer_is_name(j->block, "one") && s ? -log((double)scope_live(s)) : 0;
}

/* ---- the two sides ---- */

static enum gpm_status prior_of(struct trace *t, const struct node_set *p, double *out) {
    enum gpm_status st = GPM_OK;
    *out = 0;
    for (size_t i = 0; i < p->n && st == GPM_OK; i++) {
        double logp = 0;
        st = node_logp(t, p->at[i], &logp);
        *out += logp;
    }
    return st;
}

/* Takes the parameters out of the trace; *prior: their log prior, in the coordinates of the fit.
 * Parameters that exist only for some values of another one are its brush and are drawn from their
 * prior in both directions: p loses them. */
static enum gpm_status take_out(struct jump *j, struct trace *t, struct node_set *p,
                                struct continuous *c, double *prior) {
    for (;;) {
        enum gpm_status st = prior_of(t, p, prior);
        struct step s = {.x = j->x, .t = t, .at = p->at, .n = p->n};
        if (st == GPM_OK) st = continuous_open(&s, true, c);
        if (st != GPM_OK || !c->n_parts) return st;
        if (c->n_parts == p->n) break;
        p->n = c->n_parts;
        for (size_t i = 0; i < p->n; i++) p->at[i] = move_principal(&c->m, i);
        continuous_close(c, false);
    }
    *prior += continuous_log_jacobian(c, c->old);
    return GPM_OK;
}

/* The parameters' contribution to log alpha on one side of the move. For the present state (LEAVE):
 *
 *     log p(theta | k) - log g_k(theta),   -inf: any other state is better
 *
 * From theta_1, the value in the trace, to theta' ~ g (ARRIVE):
 *
 *     log J(theta') / J(theta_1) + log p(theta_1 | k') - log g_k'(theta') */
enum side { LEAVE, ARRIVE };
static enum gpm_status parameters(struct jump *j, struct trace *t, struct node_set *p,
                                  enum side side, double *ratio) {
    struct continuous c;
    const struct laplace_fit *f = NULL;
    double drawn[PROPOSAL_MAX_DIM];
    enum gpm_status st = take_out(j, t, p, &c, ratio);
    if (st != GPM_OK || !c.n_parts) return st;
    double *z = side == LEAVE ? c.old : drawn, logp = c.w_old;
    if (c.w_old > -INFINITY) st = laplace_fit_find(&c, DRAWS, &f);
    bool known = st == GPM_OK && f && f->p.n;
    if (known && side == ARRIVE) {
        laplace_fit_draw(f, &t->rng, z);
        st = continuous_build(&c, z, &logp);
        known = st == GPM_OK && logp > -INFINITY && move_built(&c.m);
    }
    *ratio = known ? *ratio + (logp - c.w_old) - laplace_fit_log_density(f, z) : -INFINITY;
    continuous_close(&c, known && side == ARRIVE);
    return st;
}

/* ---- the move ---- */

struct ratio {
    double log_alpha, w_old, w_new;
};

struct trace *trace_copy(struct trace *t) {
    struct trace *c = trace_clone(t);
    c->rng = rng_split(&t->rng);
    return c;
}

/* From t through `via` to `end`, two copies that the caller frees; each fit needs a new copy of the
 * trace. `via` is t with block and theta drawn from the prior, `end` a copy of `via` with theta'
 * from the fit. In the computed terms
 *
 *     log alpha = lik + to - from + pick
 *     lik  = log p(y | k', theta_1) - log p(y | k, theta)             w_new - w_old
 *     from = log p(theta | k) - log g_k(theta)                                  LEAVE
 *     to   = log J(theta') - log J(theta_1) + log p(theta_1 | k') - log g_k'(theta')    ARRIVE
 *     pick = log P(block | k') - log P(block | k)
 *
 * t is not changed; step replaces it by `end` if accepted. Between states of weight zero no fits
 * are made: `end` is `via`. */
static enum gpm_status propose(struct jump *j, struct trace *t, struct trace **via,
                               struct trace **end, struct ratio *r) {
    struct node_set block, p = {NULL, 0};
    double from = 0, to = 0;
    *via = trace_copy(t);
    enum gpm_status st = pick_block(j, *via, &block);
    if (st != GPM_OK || !block.n) {
        if (st == GPM_OK) mem_free(block.at);
        return st;
    }
    double pick = -log_pick(j, *via);
    st = parameters_in_order(j->x, *via, j->parameters, &p);
    if (st == GPM_OK) st = parameters(j, *via, &p, LEAVE, &from);
    if (st == GPM_OK) {
        node_set_join(&block, &p);
        st = trace_redraw(*via, block.at, block.n, &r->w_old, &r->w_new);
    }
    mem_free(block.at);
    mem_free(p.at);
    p = (struct node_set){NULL, 0};
    if (st == GPM_OK && r->w_old == -INFINITY && r->w_new == -INFINITY) {
        *end = *via;
        *via = NULL;
    }
    if (st != GPM_OK || r->w_new == -INFINITY) return st;
    pick += log_pick(j, *via);
    *end = trace_copy(*via);
    st = parameters_in_order(j->x, *end, j->parameters, &p);
    if (st == GPM_OK) st = parameters(j, *end, &p, ARRIVE, &to);
    mem_free(p.at);
    if (st != GPM_OK || to == -INFINITY) return st;
    r->log_alpha = from == -INFINITY ? INFINITY : r->w_new - r->w_old + to - from + pick;
    return st;
}

static enum gpm_status structure_step(struct jump *j, size_t particle) {
    struct trace **t = &j->x->model->p.at[particle], *via = NULL, *end = NULL;
    struct ratio r = {.w_new = -INFINITY};
    enum gpm_status st = propose(j, *t, &via, &end, &r);
    bool accepted = st == GPM_OK && end && mh_accept(r.log_alpha, r.w_old, r.w_new, &(*t)->rng);
    if (accepted) {
        trace_free(*t);
        *t = end;
        end = NULL;
    }
    if (via) trace_free(via);
    if (end) trace_free(end);
    if (st == GPM_OK) infer_count(j->x, infer_stats_of(j->x, j->scope), accepted);
    return st;
}

static enum gpm_status check_block(struct infer_state *x, value block) {
    static const char *const other[] = {"each", "each_reverse", "none", "ordered"};
    for (size_t i = 0; i < COUNT_OF(other); i++)
        if (infer_is_name(block, other[i]))
            return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                               "structure_mh proposes one block, all, or the block named; not %s",
                               other[i]);
    return GPM_OK;
}

static enum gpm_status op_structure_mh(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    enum gpm_status st = infer_target(x, a, &g);
    if (st != GPM_OK) return st;
    bool given = g.extra[0].tag != V_NUM || !isnan(g.extra[0].u.num);
    value parameters = given ? g.extra[0] : infer_name(x, "default");
    if (g.sub || infer_is_name(g.scope, "default") || subproblem_of(parameters))
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "structure_mh needs the scope of the structure, as tag names it");
    struct jump j = {x, g.scope, g.block, parameters};
    st = check_block(x, g.block);
    for (size_t p = 0; p < x->model->p.n; p++)
        for (double k = 0; k < g.transitions && st == GPM_OK; k++) {
            st = core_poll(x->core, x->at);
            if (st == GPM_OK) st = structure_step(&j, p);
        }
    return st;
}

const struct infer_op infer_structure_rows[] = {
    {"structure_mh", "(scope: target, block?: block, parameters?: scope, steps?: count) -> action",
     "moves between structures (reversible jump): proposes one block of the scope, a grammar's "
     "discrete choices, from its prior, and the continuous choices of the scope `parameters` "
     "(default: all there are) from a mixture of Student-t distributions fitted to their "
     "conditional under the new structure; exact. Fits are kept, so a structure met again costs a "
     "few likelihoods",
     .flags = OP_MOVES, .run = op_structure_mh, .block = "one", .n_extra = 1, .extra = {NAN}},
    {0},
};
