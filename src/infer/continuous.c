/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous choices as a vector; the transforms are those of constrain.h.
 *
 * Two spaces: x, the numbers in the choices' values, part after part; z, unconstrained, where the
 * operators work. With T the transform, z -> x = T(z), the density of z is
 *
 *     log p_z(z) = log p_x(T(z)) + log |dT/dz|,    d/dz = (dT/dz)' d/dx log p_x + d/dz log |dT/dz|
 *
 * so a sampler on z is right for x. continuous_eval gives the left sides and keeps nothing built;
 * continuous_build leaves the state standing for continuous_close to keep.
 *
 * Evaluations use the frozen generator for whatever they draw along the way (brush): the density is
 * then a function of z alone, as gradients and optimisers need. continuous_build draws afresh, and
 * its weight is the one to accept by. */
#include "infer/continuous.h"

#include "sp/adjoint.h"

#include <math.h>
#include <string.h>

/* Numbers of a value: 0 when it is none of number, vector, array of numbers, matrix. Reading
 * (adj_doubles), and writing in the shape of the old value, are inverse to each other. */
static size_t numbers_in(value v) {
    if (v.tag == V_NUM) return 1;
    if (v.tag == V_VECTOR) return v.u.vector->n;
    if (v.tag == V_MATRIX) return v.u.matrix->rows * v.u.matrix->cols;
    if (v.tag != V_ARRAY) return 0;
    for (size_t i = 0; i < v.u.array->n; i++)
        if (v.u.array->at[i].tag != V_NUM) return 0;
    return v.u.array->n;
}

static value with_numbers(value shape, const double *x) {
    if (shape.tag == V_NUM) return value_num(x[0]);
    if (shape.tag == V_VECTOR) {
        value v = value_vector(x, shape.u.vector->n);
        v.u.obj->flags = shape.u.obj->flags;
        return v;
    }
    if (shape.tag == V_MATRIX) {
        value v = value_matrix_new(shape.u.matrix->rows, shape.u.matrix->cols);
        memcpy(v.u.matrix->at, x, numbers_in(shape) * sizeof *x);
        return v;
    }
    value v = value_array_new(shape.u.array->n);
    for (size_t i = 0; i < shape.u.array->n; i++) v.u.array->at[i] = value_num(x[i]);
    return v;
}

/* Integers are numbers too: rows say that they are discrete. */
static bool is_continuous(struct trace *t, struct node *n, struct sp_support *support) {
    const struct sp_class *cls = node_class(n);
    if (!cls || !numbers_in(node_value(n)) || (cls->flags & SP_DISCRETE)) return false;
    return node_support(t, n, support) == GPM_OK && support->kind != SUPPORT_DISCRETE;
}

/* The transform is fixed for as long as the block is open, lo and hi included: numbers whose bounds
 * move with other choices of the block stay in x, where a step outside has weight -inf. Without
 * transforms numbers that are tied together still have one (there is no other way to move along
 * their support), but the density stays that of x. */
static void set_part(struct continuous *c, size_t i) {
    struct continuous_part *p = &c->part[i];
    struct sp_support support;
    (void)is_continuous(c->t, move_principal(&c->m, i), &support);
    p->shape = value_ref(node_value(move_principal(&c->m, i)));
    size_t n = numbers_in(p->shape);
    p->to = constraint_of(&support, n);
    bool moves = support.moves && move_args_change(&c->m, i);
    if (moves || (!c->transformed && constraint_separates(&p->to)))
        p->to = constraint_of(&(struct sp_support){.kind = SUPPORT_REAL}, n);
    c->n_x += p->to.n_x;
    c->n_z += p->to.n_z;
}

/* No transform has more numbers than its value, so that one size does for all buffers. */
static void set_parts(struct continuous *c) {
    c->n_parts = move_n(&c->m);
    c->part = NEW_ARRAY(struct continuous_part, c->n_parts + 1);
    for (size_t i = 0; i < c->n_parts; i++) set_part(c, i);
    c->old = NEW_ARRAY(double, 3 * c->n_x + 1);
    c->buf_x = c->old + c->n_x;
    c->buf_g = c->buf_x + c->n_x;
    c->vals = NEW_ARRAY(value, 2 * c->n_parts + 1);
    c->grads = c->vals + c->n_parts;
    for (size_t i = 0; i < c->n_parts; i++) c->vals[i] = NIL;
}

/* The principals' values as z: those that stand, or those that were built. */
static bool read_state(struct continuous *c, bool built, double *z) {
    double *x = c->buf_x, *at = z;
    bool ok = true;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct constraint *to = &c->part[i].to;
        adj_doubles(built ? move_value(&c->m, i) : c->part[i].shape, x, to->n_x);
        ok &= constraint_to_z(to, x, &c->t->rng, at);
        at += to->n_z;
    }
    return ok;
}

static void release(struct continuous *c) {
    for (size_t i = 0; i < c->n_parts; i++) {
        value_unref(c->part[i].shape);
        value_unref(c->vals[i]);
    }
    mem_free(c->part);
    mem_free(c->old);
    mem_free(c->vals);
    c->n_parts = 0;
}

/* x of z into buf_x; log |dx/dz| there. */
static double set_numbers(struct continuous *c, const double *z) {
    double *x = c->buf_x, sum = 0;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct constraint *to = &c->part[i].to;
        sum += constraint_to_x(to, z, x);
        z += to->n_z;
        x += to->n_x;
    }
    return c->transformed ? sum : 0;
}

/* The values of the numbers in buf_x. */
static void set_values(struct continuous *c) {
    const double *x = c->buf_x;
    for (size_t i = 0; i < c->n_parts; i++) {
        value_set_take(&c->vals[i], with_numbers(c->part[i].shape, x));
        x += c->part[i].to.n_x;
    }
}

/* The other choices of the block stay where they are. The frozen generator is split off after the
 * old state is weighed: it knows nothing of the brush that stands. */
enum gpm_status continuous_open(struct step *s, bool transformed, struct continuous *c) {
    struct step some = *s;
    struct sp_support support;
    struct trace *t = s->t;
    *c = (struct continuous){.x = s->x, .t = t, .transformed = transformed};
    some.at = NEW_ARRAY(struct node *, s->n + 1);
    some.n = 0;
    some.marginal = true;
    for (size_t i = 0; i < s->n; i++)
        if (is_continuous(t, s->at[i], &support)) some.at[some.n++] = s->at[i];
    enum gpm_status st = some.n ? move_find(&some, &c->m) : GPM_OK;
    mem_free(some.at);
    s->log_pick = some.log_pick;
    if (!some.n || st != GPM_OK) return st;
    set_parts(c);
    bool inside = read_state(c, false, c->old);
    st = move_open(&c->m);
    c->w_old = c->m.w_old;
    if (!inside)
        c->w_old = -INFINITY; /* an impossible start: any possible state is accepted */
    else
        c->w_old += continuous_log_jacobian(c, c->old);
    c->frozen = rng_split(&t->rng);
    if (st != GPM_OK) release(c);
    return st;
}

double continuous_log_jacobian(struct continuous *c, const double *z) {
    return set_numbers(c, z);
}

/* The gradient in z from that in x, which stands in buf_g; x stands in buf_x. */
static void pull_back(const struct continuous *c, const double *z, double *grad) {
    const double *x = c->buf_x, *g = c->buf_g;
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct constraint *to = &c->part[i].to;
        constraint_pull(to, z, x, g, c->transformed, grad);
        z += to->n_z;
        x += to->n_x;
        g += to->n_x;
        grad += to->n_z;
    }
}

/* Adjoints (owned by the caller of move_build) as numbers; NIL, zero, where nothing was built. */
static void read_gradient(struct continuous *c) {
    double *g = c->buf_g;
    for (size_t i = 0; i < c->n_parts; i++) {
        adj_doubles(c->grads[i], g, c->part[i].to.n_x);
        g += c->part[i].to.n_x;
        value_unref(c->grads[i]);
    }
}

static bool finite_all(const double *z, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(z[i])) return false;
    return true;
}

#ifdef GPMEM_CHECKS
/* Points judged as numbers are checked like those judged as values. */
static enum gpm_status check_numbers(struct continuous *c, double logp, bool gradient) {
    const double *g = c->buf_g;
    set_values(c);
    for (size_t i = 0; i < c->n_parts; g += c->part[i++].to.n_x)
        c->grads[i] = gradient ? with_numbers(c->part[i].shape, g) : NIL;
    enum gpm_status st = move_check(&c->m, c->vals, logp, gradient ? c->grads : NULL);
    for (size_t i = 0; i < c->n_parts; i++) value_unref(c->grads[i]);
    return st;
}
#endif

/* Log weight of the numbers in buf_x; the gradient in them, where wanted, into buf_g. Numbers do
 * for a flat; values are made where it cannot judge the point, or there is none. */
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
    if (!finite_all(z, c->n_z)) return GPM_OK;
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
    *logp += log_j;
    if (grad) pull_back(c, z, grad);
    if (grad && !finite_all(grad, c->n_z)) *logp = -INFINITY;
    return GPM_OK;
}

enum gpm_status continuous_build(struct continuous *c, const double *z, double *logp) {
    *logp = -INFINITY;
    if (!finite_all(z, c->n_z)) return GPM_OK;
    double log_j = set_numbers(c, z);
    set_values(c);
    enum gpm_status st = move_build(&c->m, c->vals, logp, NULL);
    *logp += log_j;
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

/* Numbers of order 1, where a prior has none. */
static enum gpm_status anywhere(struct continuous *c, double *z, double *logp, bool *ok) {
    double w;
    for (size_t i = 0; i < c->n_z; i++) z[i] = rng_normal(&c->t->rng);
    enum gpm_status st = continuous_eval(c, z, &w, NULL);
    if (logp) *logp = w;
    *ok = w > -INFINITY;
    return st;
}

/* A draw may have another shape than the value that stands (a vector whose length was drawn): such
 * a one is no point of this space, *ok false. */
enum gpm_status continuous_prior(struct continuous *c, double *z, double *logp, bool *ok) {
    double w;
    if (continuous_improper(c)) return anywhere(c, z, logp, ok);
    enum gpm_status st = move_build(&c->m, NULL, &w, NULL);
    if (st != GPM_OK) return st;
    if (logp) *logp = w;
    *ok = move_built(&c->m);
    for (size_t i = 0; *ok && i < c->n_parts; i++)
        *ok = numbers_in(move_value(&c->m, i)) == c->part[i].to.n_x;
    if (*ok) *ok = read_state(c, true, z);
    move_drop(&c->m);
    return GPM_OK;
}

void continuous_refine(struct continuous *c, const double *z) {
    if (!finite_all(z, c->n_z)) return;
    double log_j = set_numbers(c, z), *x = NEW_ARRAY(double, c->n_x + 1), *at = x;
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

bool continuous_assign(struct continuous *c, const struct node *n, value v, double *z) {
    double *x = c->buf_x;
    for (size_t i = 0; i < c->n_parts; z += c->part[i++].to.n_z) {
        const struct constraint *to = &c->part[i].to;
        if (move_principal(&c->m, i) != n) continue;
        if (numbers_in(v) != to->n_x) return false;
        adj_doubles(v, x, to->n_x);
        return constraint_to_z(to, x, &c->t->rng, z);
    }
    return false;
}

void continuous_close(struct continuous *c, bool keep) {
    if (!c->n_parts) return;
    move_close(&c->m, keep);
    release(c);
}
