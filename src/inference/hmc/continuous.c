/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous choices as a vector; the transforms are those of constrain.h.
 *
 * Two spaces: x holds the numbers in the choices' values, part after part; z is unconstrained, and
 * operators work in it. With the transform z -> x = T(z) the density of z is
 *
 *     log p_z(z) = log p_x(T(z)) + log |dT/dz|,    d/dz = (dT/dz)' d/dx log p_x + d/dz log |dT/dz|
 *
 * so a sampler on z is correct for x. continuous_eval computes the left sides and leaves no state
 * built. continuous_build leaves the state built, for continuous_close to keep.
 *
 * Evaluations draw any brush with the frozen generator. The density is then a function of z alone,
 * as gradients and optimisers need. continuous_build draws a new brush, and its weight decides
 * acceptance. */
#include "inference/hmc/continuous.h"
#include "inference/hmc/placed.h"

#include "numeric/la/cols.h"
#include "language/rows/protocol/adjoint.h"

#include <math.h>
#include <string.h>

/* Integers are numbers too: rows say that they are discrete. */
static bool is_continuous(struct trace *t, struct node *n, struct sp_support *support) {
    const struct sp_class *cls = node_class(n);
    if (!cls || !adj_count(node_value(n)) || (cls->flags & SP_DISCRETE)) return false;
    return node_support(t, n, support) == GPM_OK && support->kind != SUPPORT_DISCRETE;
}

/* Is argument `arg` (1 + its number; 0: no argument) of a node a number, or n numbers? */
static bool is_column(const struct node *n, uint8_t arg, size_t count) {
    if (!arg) return true;
    value v = node_arg(n, arg);
    return v.tag == V_NUM || adj_count(v) == count;
}

static void read_column(const struct node *n, uint8_t arg, size_t count, double *out) {
    if (arg) adj_doubles(node_arg(n, arg), out, count);
}

/* How a part depends on its arguments if they change with other choices of the block. The numbers
 * stay in x, where a step outside has weight -inf, in three cases: without transforms, with summed
 * choices, and if no argument is an end of the support. */
static enum continuous_place place_of(struct continuous *c, size_t i, const struct sp_support *s,
                                      size_t n) {
    struct node *at = move_principal(&c->m, i);
    bool may = c->transformed && !c->m.n_summed;
    if (may && n == 1 && node_is_predicted(c->t, at, &c->part[i].slopes)) return PLACE_PREDICTED;
    if (s->moves) {
        bool ends =
            constraint_follows(s) && is_column(at, s->lo_arg, n) && is_column(at, s->hi_arg, n);
        return may && ends ? PLACE_BOUNDED : PLACE_FREE;
    }
    bool shifted = s->kind == SUPPORT_REAL && s->loc_arg && s->scale_arg;
    shifted = shifted && is_column(at, s->loc_arg, n) && is_column(at, s->scale_arg, n);
    return may && shifted ? PLACE_CENTRED : PLACE_ALONE;
}

/* The continuous choices of a block, with their supports. */
struct choices {
    struct node **at;
    struct sp_support *support;
    size_t n;
};

/* Even without transforms, numbers that are tied together get one, since there is no other way to
 * move along their support. The density remains that of x. */
static void set_part(struct continuous *c, size_t i, const struct choices *of) {
    struct continuous_part *p = &c->part[i];
    struct sp_support support;
    struct node *at = move_principal(&c->m, i);
    if (i < of->n && of->at[i] == at)
        support = of->support[i];
    else
        (void)is_continuous(c->t, at, &support);
    p->shape = value_ref(node_value(at));
    size_t n = adj_count(p->shape);
    p->to = constraint_of(&support, n);
    const struct sp_class *cls = node_class(at);
    bool tied = support.moves || support.loc_arg || (cls && cls->predict);
    p->slopes = NULL;
    p->place = tied && move_args_change(&c->m, i) ? place_of(c, i, &support, n) : PLACE_ALONE;
    p->arg[0] = p->place == PLACE_BOUNDED ? support.lo_arg : support.loc_arg;
    p->arg[1] = p->place == PLACE_BOUNDED ? support.hi_arg : support.scale_arg;
    if (p->place == PLACE_PREDICTED) p->arg[0] = p->arg[1] = 0;
    if (p->place == PLACE_FREE || (!c->transformed && constraint_separates(&p->to)))
        p->to = constraint_of(&(struct sp_support){.kind = SUPPORT_REAL}, n);
    p->given = false;
    p->x0 = c->n_x;
    p->z0 = c->n_z;
    c->n_x += p->to.n_x;
    c->n_z += p->to.n_z;
}

/* A transform never has more numbers than its value, so one size fits all buffers. */
static void set_parts(struct continuous *c, const struct choices *of) {
    c->n_parts = move_n(&c->m);
    c->part = NEW_ARRAY(struct continuous_part, c->n_parts + 1);
    for (size_t i = 0; i < c->n_parts; i++) set_part(c, i, of);
    c->old = NEW_ARRAY(double, 3 * c->n_x + 1);
    c->buf_x = c->old + c->n_x;
    c->buf_g = c->buf_x + c->n_x;
    c->vals = NEW_ARRAY(value, 2 * c->n_parts + 1);
    c->grads = c->vals + c->n_parts;
    for (size_t i = 0; i < c->n_parts; i++) c->vals[i] = NIL;
    for (size_t i = 0; i < c->n_parts && !c->placed; i++)
        if (c->part[i].place > PLACE_FREE) placed_new(c);
    for (size_t i = 0; i < c->n_parts && c->placed; i++) {
        const struct continuous_part *p = &c->part[i];
        if (p->place <= PLACE_FREE) continue;
        for (size_t k = 0; k < 2; k++)
            read_column(move_principal(&c->m, i), p->arg[k], p->to.n_x, c->standing[k] + p->x0);
        placed_set(c, i, p->place != PLACE_CENTRED);
    }
}

/* The principals' values as z, either current or built. placed.c has seen the draws of values
 * placed by their arguments. */
static bool read_state(struct continuous *c, bool built, double *z) {
    double *x = c->buf_x;
    bool ok = true;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct constraint *to = &c->part[i].to;
        double *at = z + c->part[i].z0;
        adj_doubles(built ? move_value(&c->m, i) : c->part[i].shape, x, to->n_x);
        if (!placed_is(c, i))
            ok &= constraint_to_z(to, x, &c->t->rng, at);
        else if (built || c->part[i].slopes) /* for the current state, when it is taken out */
            memcpy(at, c->found + c->part[i].x0, to->n_z * sizeof *at);
        else
            ok &= placed_standing(c, i, x, at);
    }
    return ok;
}

static void continuous_release(struct continuous *c) {
    for (size_t i = 0; i < c->n_parts; i++) {
        value_unref(c->part[i].shape);
        value_unref(c->vals[i]);
        mem_free(c->part[i].slopes);
    }
    mem_free(c->part);
    mem_free(c->old);
    mem_free(c->vals);
    placed_free(c);
    c->n_parts = 0;
}

/* Sets buf_x to x of z and returns log |dx/dz|. Parts placed by their arguments keep z; their share
 * of the sum is added when they are placed (placed_log_slopes). */
static double set_numbers(struct continuous *c, const double *z) {
    double sum = 0;
    c->at_z = z;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct continuous_part *p = &c->part[i];
        if (placed_is(c, i))
            memcpy(c->buf_x + p->x0, z + p->z0, p->to.n_z * sizeof *z);
        else
            sum += constraint_to_x(&p->to, z + p->z0, c->buf_x + p->x0);
    }
    return c->transformed ? sum : 0;
}

/* The same for the current state, whose arguments are known. */
static double set_standing(struct continuous *c, const double *z) {
    double sum = set_numbers(c, z);
    for (size_t i = 0; i < c->n_parts; i++)
        if (placed_is(c, i)) sum += placed_at_standing(c, i, c->buf_x + c->part[i].x0);
    return sum;
}

/* Makes values from the numbers in buf_x. */
static void set_values(struct continuous *c) {
    const double *x = c->buf_x;
    for (size_t i = 0; i < c->n_parts; i++) {
        value_set_take(&c->vals[i], adj_like(c->part[i].shape, x));
        x += c->part[i].to.n_x;
    }
}

/* Tells the model which parts to place, if any. */
static enum gpm_status follow_arguments(struct continuous *c) {
    bool any = false;
    for (size_t i = 0; i < c->n_parts; i++) any |= placed_is(c, i);
    return any ? move_set_placing(&c->m, &c->placing) : GPM_OK;
}

static void read_predicted(struct continuous *c) {
    for (size_t i = 0; i < c->n_parts; i++)
        if (c->part[i].slopes) c->old[c->part[i].z0] = c->found[c->part[i].x0];
}

/* The other choices of the block stay. The frozen generator is split off after the old state is
 * weighed, so it is independent of the present brush. */
enum gpm_status continuous_open(struct step *s, bool transformed, struct continuous *c) {
    struct step some = *s;
    struct trace *t = s->t;
    struct choices of = {NEW_ARRAY(struct node *, s->n + 1), NEW_ARRAY(struct sp_support, s->n + 1),
                         0};
    *c = (struct continuous){.x = s->x, .t = t, .transformed = transformed};
    for (size_t i = 0; i < s->n; i++) {
        of.at[of.n] = s->at[i];
        of.n += is_continuous(t, s->at[i], &of.support[of.n]);
    }
    some.at = of.at;
    some.n = of.n;
    some.marginal = true;
    enum gpm_status st = some.n ? move_find(&some, &c->m) : GPM_OK;
    s->log_pick = some.log_pick;
    if (some.n && st == GPM_OK) set_parts(c, &of);
    mem_free(of.at);
    mem_free(of.support);
    if (!some.n || st != GPM_OK) return st;
    bool inside = read_state(c, false, c->old);
    if (c->m.s) st = follow_arguments(c); /* the current state is shown when taken out */
    if (st == GPM_OK) st = move_open(&c->m);
    if (st == GPM_OK && !c->m.s) st = follow_arguments(c);
    if (st == GPM_OK) read_predicted(c);
    c->w_old = c->m.w_old;
    if (!inside)
        c->w_old = -INFINITY; /* an impossible start: any possible state is accepted */
    else
        c->w_old += continuous_log_jacobian(c, c->old);
    c->frozen = rng_split(&t->rng);
    if (st != GPM_OK) continuous_release(c);
    return st;
}

double continuous_log_jacobian(struct continuous *c, const double *z) {
    return set_standing(c, z);
}

enum gpm_status continuous_centre(struct continuous *c, const double *by) {
    if (!c->placed) return GPM_OK;
    double before = set_standing(c, c->old), *x = c->buf_x;
    c->by = by;
    for (size_t i = 0; i < c->n_parts; i++) {
        if (c->part[i].place != PLACE_CENTRED) continue;
        placed_set(c, i, true);
        adj_doubles(c->part[i].shape, x, c->part[i].to.n_x);
        (void)placed_standing(c, i, x, c->old + c->part[i].z0);
    }
    c->w_old += set_standing(c, c->old) - before;
    return follow_arguments(c);
}

/* The gradient in z, from that in x (buf_g) at the point x (buf_x). */
static void pull_back(const struct continuous *c, const double *z, double *grad) {
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct continuous_part *p = &c->part[i];
        const double *x = c->buf_x + p->x0, *g = c->buf_g + p->x0;
        if (placed_is(c, i))
            memcpy(grad + p->z0, g, p->to.n_z * sizeof *g); /* pulled when it was placed */
        else
            constraint_pull(&p->to, z + p->z0, x, g, c->transformed, grad + p->z0);
    }
}

/* Reads adjoints (owned by the caller of move_build) as numbers. NIL means zero, where nothing was
 * built. */
static void read_gradient(struct continuous *c) {
    double *g = c->buf_g;
    for (size_t i = 0; i < c->n_parts; i++) {
        adj_doubles(c->grads[i], g, c->part[i].to.n_x);
        g += c->part[i].to.n_x;
        value_unref(c->grads[i]);
    }
}

#ifdef GPMEM_CHECKS
/* Test builds: points evaluated as numbers are checked like those evaluated as values. */
static enum gpm_status check_numbers(struct continuous *c, double logp, bool gradient) {
    const double *g = c->buf_g;
    set_values(c);
    for (size_t i = 0; i < c->n_parts; g += c->part[i++].to.n_x)
        c->grads[i] = gradient ? adj_like(c->part[i].shape, g) : NIL;
    enum gpm_status st = move_check(&c->m, c->vals, logp, gradient ? c->grads : NULL);
    for (size_t i = 0; i < c->n_parts; i++) value_unref(c->grads[i]);
    return st;
}
#endif

/* Log weight of the numbers in buf_x; the gradient, if wanted, in buf_g. A flat takes the numbers
 * directly. Values are made if there is no flat or it cannot evaluate the point. */
static enum gpm_status weigh(struct continuous *c, bool gradient, double *logp) {
    if (move_numbers(&c->m, c->n_x, c->buf_x, logp, gradient ? c->buf_g : NULL)) {
#ifdef GPMEM_CHECKS
        return check_numbers(c, *logp, gradient && *logp > -INFINITY);
#endif
        return GPM_OK;
    }
    set_values(c);
    enum gpm_status st = move_build(&c->m, c->vals, logp, gradient ? c->grads : NULL);
    if (st == GPM_OK && gradient) read_gradient(c);
    return st;
}

enum gpm_status continuous_eval(struct continuous *c, const double *z, double *logp, double *grad) {
    *logp = -INFINITY;
    if (grad) memset(grad, 0, c->n_z * sizeof *grad);
    if (!col_finite(c->n_z, z)) return GPM_OK;
    enum gpm_status st = core_poll(c->x->core, c->x->at);
    if (st != GPM_OK) return st;
    struct rng now = c->t->rng;
    c->t->rng = c->frozen; /* a brush is drawn with it */
    double log_j = set_numbers(c, z);
    st = weigh(c, grad != NULL, logp);
    c->t->rng = now;
    if (st != GPM_OK) return st;
    move_drop(&c->m);
    if (*logp == -INFINITY) return GPM_OK;
    *logp += log_j + placed_log_slopes(c);
    if (isnan(*logp)) *logp = -INFINITY;
    if (grad) pull_back(c, z, grad);
    if (grad && !col_finite(c->n_z, grad)) *logp = -INFINITY;
    return GPM_OK;
}

double continuous_cost(void *objective, const double *z, double *grad) {
    struct objective *o = objective;
    double logp = -INFINITY;
    if (o->st == GPM_OK) o->st = continuous_eval(o->c, z, &logp, grad);
    if (o->st != GPM_OK) return INFINITY;
    for (size_t i = 0; grad && i < o->c->n_z; i++) grad[i] = -grad[i];
    return -logp;
}

enum gpm_status continuous_build(struct continuous *c, const double *z, double *logp) {
    *logp = -INFINITY;
    if (!col_finite(c->n_z, z)) return GPM_OK;
    double log_j = set_numbers(c, z);
    set_values(c);
    enum gpm_status st = move_build(&c->m, c->vals, logp, NULL);
    if (*logp > -INFINITY) *logp += log_j + placed_log_slopes(c);
    return st;
}

bool continuous_takes(struct trace *t, struct node *n) {
    struct sp_support support;
    return is_continuous(t, n, &support);
}

const struct sp_class *continuous_improper(const struct continuous *c) {
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct sp_class *cls = node_class(move_principal(&c->m, i));
        if (cls && cls->flags & SP_IMPROPER) return cls;
    }
    return NULL;
}

/* Numbers of order 1, if the prior has no draws. */
static enum gpm_status anywhere(struct continuous *c, double *z, double *logp, bool *ok) {
    double w;
    for (size_t i = 0; i < c->n_z; i++) z[i] = rng_normal(&c->t->rng);
    enum gpm_status st = continuous_eval(c, z, &w, NULL);
    if (logp) *logp = w;
    *ok = w > -INFINITY;
    return st;
}

/* A draw may have another shape than the current value (a vector whose length was drawn). It is
 * then not a point of this space: *ok is false. */
enum gpm_status continuous_prior(struct continuous *c, double *z, double *logp, bool *ok) {
    double w;
    if (continuous_improper(c)) return anywhere(c, z, logp, ok);
    enum gpm_status st = move_build(&c->m, NULL, &w, NULL);
    if (st != GPM_OK) return st;
    if (logp) *logp = w;
    *ok = move_built(&c->m) && !(logp && c->m.sum); /* otherwise w is not a marginal weight */
    for (size_t i = 0; *ok && i < c->n_parts; i++)
        *ok = adj_count(move_value(&c->m, i)) == c->part[i].to.n_x;
    if (*ok) *ok = read_state(c, true, z);
    move_drop(&c->m);
    return GPM_OK;
}

void continuous_refine(struct continuous *c, const double *z) {
    if (!col_finite(c->n_z, z)) return;
    double log_j = set_standing(c, z), *x = NEW_ARRAY(double, c->n_x + 1), *at = x;
    for (size_t i = 0; i < c->n_parts; at += c->part[i++].to.n_x)
        adj_doubles(c->part[i].shape, at, c->part[i].to.n_x);
    if (!memcmp(x, c->buf_x, c->n_x * sizeof *x)) {
        memcpy(c->old, z, c->n_z * sizeof *z);
        c->w_old = c->m.w_old + log_j;
    }
    mem_free(x);
}

bool continuous_has(const struct continuous *c, const struct node *n) {
    for (size_t i = 0; i < c->n_parts; i++)
        if (move_principal(&c->m, i) == n) return true;
    return false;
}

/* The arguments that place a part are not known yet: z holds x until continuous_settle. */
bool continuous_assign(struct continuous *c, const struct node *n, value v, double *z) {
    for (size_t i = 0; i < c->n_parts; i++) {
        struct continuous_part *p = &c->part[i];
        if (move_principal(&c->m, i) != n) continue;
        if (adj_count(v) != p->to.n_x) return false;
        adj_doubles(v, c->buf_x, p->to.n_x);
        p->given = placed_is(c, i);
        if (!p->given) return constraint_to_z(&p->to, c->buf_x, &c->t->rng, z + p->z0);
        memcpy(z + p->z0, c->buf_x, p->to.n_x * sizeof *z);
        return true;
    }
    return false;
}

enum gpm_status continuous_settle(struct continuous *c, double *z) {
    bool any = false;
    double logp;
    for (size_t i = 0; i < c->n_parts; i++) any |= c->part[i].given;
    if (!any) return GPM_OK;
    enum gpm_status st = continuous_eval(c, z, &logp, NULL);
    for (size_t i = 0; i < c->n_parts; i++) {
        struct continuous_part *p = &c->part[i];
        if (p->given) memcpy(z + p->z0, c->found + p->x0, p->to.n_z * sizeof *z);
        p->given = false;
    }
    return st;
}

void continuous_close(struct continuous *c, bool keep) {
    if (!c->n_parts) return;
    move_close(&c->m, keep);
    continuous_release(c);
}
