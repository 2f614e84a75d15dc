/* SPDX-License-Identifier: Apache-2.0
 *
 * Random procedures of numbers, element by element: every argument is a column, of one number for
 * all elements or of one for each, and the value another. With q the number of elements,
 *
 *     log p(x | a) = sum_i log p(x_i | a_i),    d/da = sum_i d/da_i  for a number that all share
 *
 * A plain application is the case of one element. Elements of an observed sequence that are missing
 * (NaN) are left out of the sum: they were not observed. Truncation subtracts the mass between the
 * bounds (numeric/dist/tails.h) from each element's density.
 */
#include "base/mem.h"
#include "language/rows/dist/columns.h"
#include <math.h>
#include <string.h>

/* The parameters passed their signature but the distribution does not exist, or cannot be computed:
 * says which of the three it is. */
static enum gpm_status no_such_distribution(struct sp_call *c, const double *a) {
    struct buf b = BUF_INIT;
    const char *why = "the parameters are outside the procedure's domain";
    for (size_t i = 0; i < c->n; i++) {
        double x = a[i];
        if (i) buf_puts(&b, ", ");
        value_print(value_num(x), &b);
        if (fabs(x) < 1e150 && (fabs(x) > 1e-150 || x == 0)) continue;
        why = isinf(x) ? "a parameter is infinite" : "a parameter is too extreme for its numbers";
        if (isinf(x)) break;
    }
    enum gpm_status st = sp_error(c, DIAG_DOMAIN, "%s(%.*s): %s", c->cls->name, 80, b.data, why);
    buf_release(&b);
    return st;
}

/* ---- columns ------------------------------------------------------------------------------ */

void column_release(struct column *col) {
    mem_free(col->owned);
    col->owned = NULL;
}

void columns_release(struct arg_columns *q, size_t n) {
    for (size_t i = 0; i < n; i++) column_release(&q->arg[i]);
}

static void column_of_number(struct column *col, double x) {
    *col = (struct column){.one = x};
    col->at = &col->one;
}

/* A sequence of numbers or booleans; false: something else is in it. */
static bool column_of_sequence(struct column *col, value v, size_t *n) {
    *col = (struct column){.step = 1};
    if (v.tag == V_VECTOR) {
        *n = v.u.vector->n;
        col->at = v.u.vector->at;
        return true;
    }
    if (!seq_length(v, n)) return false;
    struct seq_walk w = {v, 0};
    size_t i = 0;
    bool ok = true;
    col->at = col->owned = NEW_ARRAY(double, *n + 1);
    for (value item; ok && seq_next(&w, &item); i++) ok = value_number(item, &col->owned[i]);
    return ok;
}

static const char *name_of(const struct sp_call *c, size_t i, char name[40]) {
    struct sp_sig sig;
    sp_sig_parse(c->cls->sig, &sig);
    return sp_param_name(&sig, i, i, name);
}

static enum gpm_status unequal_lengths(struct sp_call *c, size_t i, size_t n_i, size_t k,
                                       size_t n_k) {
    char name[2][40];
    return sp_error(c, DIAG_SHAPE, "%s: %s has %zu elements but %s has %zu", c->cls->name,
                    name_of(c, i, name[0]), n_i, name_of(c, k, name[1]), n_k);
}

static double absent_value(const struct sp_call *c, size_t i) {
    const struct scalar_family *f = c->cls->of;
    return !f->tails || i < c->cls->num_args ? f->absent[i]
           : i == c->cls->num_args           ? -INFINITY
                                             : INFINITY;
}

enum gpm_status columns_init(struct sp_call *c, struct arg_columns *q) {
    size_t first = 0;
    q->many = false;
    q->n = 1;
    for (size_t i = 0; i < c->n; i++) {
        struct column *col = &q->arg[i];
        size_t n;
        double x;
        if (is_absent(c->args[i]) || value_number(c->args[i], &x)) {
            column_of_number(col, is_absent(c->args[i]) ? absent_value(c, i) : x);
            continue;
        }
        bool ok = column_of_sequence(col, c->args[i], &n);
        bool fits = !q->many || n == q->n;
        if (!q->many) first = i, q->n = n;
        q->many = true;
        if (ok && fits) continue;
        columns_release(q, i + 1);
        return ok ? unequal_lengths(c, first, q->n, i, n)
                  : sp_type_error(c, c->args[i], "%s must be a number or a sequence of numbers",
                                  name_of(c, i, (char[40]){0}));
    }
    return GPM_OK;
}

void columns_element(const struct arg_columns *q, size_t n, size_t i, double *a) {
    for (size_t k = 0; k < n; k++) a[k] = q->arg[k].at[i * q->arg[k].step];
}

enum gpm_status columns_check(struct sp_call *c, const double *a) {
    const struct scalar_family *f = c->cls->of;
    return f->check ? f->check(c, a) : GPM_OK;
}

enum gpm_status columns_value(struct sp_call *c, value v, struct arg_columns *q, struct column *x) {
    const struct scalar_family *f = c->cls->of;
    double one;
    size_t n;
    if (!q->many && value_number(v, &one)) {
        column_of_number(x, one);
        return GPM_OK;
    }
    *x = (struct column){0};
    if (!seq_is(v) || !column_of_sequence(x, v, &n)) {
        column_release(x);
        if (q->many)
            return sp_type_error(c, v, "the value must be a sequence of %zu %s", q->n,
                                 f->coin ? "booleans" : "numbers");
        return sp_bad_value(c, v, f->coin ? "a boolean" : "a number");
    }
    if (!q->many || n == q->n) {
        q->n = n;
        return GPM_OK;
    }
    column_release(x);
    return sp_error(c, DIAG_SHAPE, "%s: the value has %zu elements, expected %zu", c->cls->name, n,
                    q->n);
}

/* ---- one element ---------------------------------------------------------------------------- */

struct law law_of(const struct sp_class *cls, const double *a) {
    const struct scalar_family *f = cls->of;
    bool whole = cls->flags & SP_DISCRETE;
    return (struct law){.lp = cls->num_log_density,
                        .tails = f->tails,
                        .slopes = f->slopes,
                        .whole = whole,
                        .lo = whole ? -INFINITY : f->lo,
                        .hi = whole ? INFINITY : f->hi,
                        .a = a,
                        .n = cls->num_args};
}

/* What truncation wants to know; false: this application is not truncated. */
static bool truncated(const struct sp_call *c, const double *a, struct law *w, double *lo,
                      double *hi) {
    const struct scalar_family *f = c->cls->of;
    size_t n = c->cls->num_args;
    if (!f->tails || c->n <= n) return false;
    *lo = a[n];
    *hi = c->n > n + 1 ? a[n + 1] : INFINITY;
    *w = law_of(c->cls, a);
    return true;
}

static double element_lp(const struct sp_call *c, double x, const double *a) {
    struct law w;
    double lo, hi;
    if (!truncated(c, a, &w, &lo, &hi)) return c->cls->num_log_density(x, a, c->n);
    double lp = w.lp(x, a, w.n);
    if (isnan(lp) || isnan(x)) return lp;
    double mass = law_log_mass(&w, lo, hi);
    if (!(mass > -INFINITY)) return NAN;
    return x >= lo && x <= hi ? lp - mass : -INFINITY;
}

static double element_draw(const struct sp_call *c, const double *a) {
    struct law w;
    double lo, hi;
    if (!truncated(c, a, &w, &lo, &hi)) return c->cls->num_sample(c->rng, a, c->n);
    return isnan(w.lp(isfinite(lo) ? lo : 0, a, w.n)) ? NAN : law_draw_between(c->rng, &w, lo, hi);
}

static void element_grad(const struct sp_call *c, double x, const double *a, double *g) {
    struct law w;
    double lo, hi, m[LAW_PARAMS + 2];
    if (!truncated(c, a, &w, &lo, &hi)) {
        c->cls->num_grad(x, a, c->n, g);
        return;
    }
    c->cls->num_grad(x, a, w.n, g);
    law_mass_grad(&w, lo, hi, law_log_mass(&w, lo, hi), m);
    for (size_t i = 0; i < w.n; i++) g[1 + i] -= m[i];
    for (size_t i = w.n; i < c->n; i++) g[1 + i] = -m[i];
}

/* Nothing between the bounds, and other distributions that there are not. */
static enum gpm_status no_element(struct sp_call *c, const double *a) {
    struct law w;
    double lo, hi;
    if (!truncated(c, a, &w, &lo, &hi) || isnan(w.lp(isfinite(lo) ? lo : 0, a, w.n)))
        return no_such_distribution(c, a);
    return sp_error(c, DIAG_DOMAIN, "%s: there is no probability between lower = %g and upper = %g",
                    c->cls->name, lo, hi);
}

/* ---- the rows' functions -------------------------------------------------------------------- */

/* Values keep the kind of the arguments: vectors where one is a vector, else arrays. */
static value value_of(const struct sp_call *c, const struct arg_columns *q, const double *x) {
    const struct scalar_family *f = c->cls->of;
    if (!q->many) return f->coin ? value_bool(x[0] != 0) : value_num(x[0]);
    for (size_t i = 0; i < c->n && !f->coin; i++)
        if (c->args[i].tag == V_VECTOR) return value_vector(x, q->n);
    value v = value_array_new(q->n);
    for (size_t i = 0; i < q->n; i++)
        v.u.array->at[i] = f->coin ? value_bool(x[i] != 0) : value_num(x[i]);
    return v;
}

/* Numbers alone, as most applications have. */
static bool all_numbers(const struct sp_call *c, double *a) {
    for (size_t i = 0; i < c->n; i++) {
        if (c->args[i].tag != V_NUM) return false;
        a[i] = c->args[i].u.num;
    }
    return true;
}

static enum gpm_status draw_one(struct sp_call *c, const double *a, value *out) {
    enum gpm_status st = columns_check(c, a);
    if (st != GPM_OK) return st;
    double x = element_draw(c, a);
    if (isnan(x)) return no_element(c, a);
    *out = ((const struct scalar_family *)c->cls->of)->coin ? value_bool(x != 0) : value_num(x);
    return GPM_OK;
}

enum gpm_status sp_scalar_simulate(struct sp_call *c, value *out) {
    double a[SP_MAX_PARAMS], one, *x = &one;
    struct arg_columns q;
    if (all_numbers(c, a)) return draw_one(c, a, out);
    enum gpm_status st = columns_init(c, &q);
    if (st != GPM_OK) return st;
    if (q.many) x = NEW_ARRAY(double, q.n + 1);
    for (size_t i = 0; i < q.n && st == GPM_OK; i++) {
        columns_element(&q, c->n, i, a);
        st = columns_check(c, a);
        if (st != GPM_OK) break;
        x[i] = element_draw(c, a);
        if (isnan(x[i])) st = no_element(c, a);
    }
    if (st == GPM_OK) *out = value_of(c, &q, x);
    if (q.many) mem_free(x);
    columns_release(&q, c->n);
    return st;
}

/* Is element i of a value, one of several, missing? */
static inline bool is_missing(const struct column *x, size_t i) {
    return x->step && isnan(x->at[i]);
}

/* A value that is no number has no density; parameters that make none are an error. */
static enum gpm_status sum_densities(struct sp_call *c, const struct arg_columns *q,
                                     const struct column *x, double *out) {
    double a[SP_MAX_PARAMS];
    *out = 0;
    for (size_t i = 0; i < q->n; i++) {
        if (is_missing(x, i)) continue;
        columns_element(q, c->n, i, a);
        enum gpm_status st = columns_check(c, a);
        if (st != GPM_OK) return st;
        double at = x->at[i * x->step], lp = element_lp(c, at, a);
        if (isnan(lp) && isfinite(at)) {
            *out = -INFINITY;
            return no_element(c, a);
        }
        *out += isnan(lp) ? -INFINITY : lp;
    }
    return GPM_OK;
}

enum gpm_status sp_scalar_log_density(struct sp_call *c, value v, double *out) {
    struct arg_columns q;
    struct column x;
    enum gpm_status st = columns_init(c, &q);
    if (st != GPM_OK) return st;
    st = columns_value(c, v, &q, &x);
    if (st == GPM_OK) {
        st = sum_densities(c, &q, &x, out);
        column_release(&x);
    }
    columns_release(&q, c->n);
    return st;
}

/* The adjoint of a sequence; that of a number adds up. */
static value adjoint_of(const struct column *col, size_t n, double **to) {
    if (!col->step) return NIL;
    value v = value_vector_new(n);
    *to = v.u.vector->at;
    return v;
}

void columns_gradient(const struct sp_call *c, const struct arg_columns *q, const struct column *x,
                      columns_grad_fn *grad, value *d) {
    double a[SP_MAX_PARAMS], g[SP_MAX_PARAMS + 1], sum[SP_MAX_PARAMS + 1] = {0};
    double *to[SP_MAX_PARAMS + 1];
    for (size_t k = 0; k <= c->n; k++) d[k] = adjoint_of(k ? &q->arg[k - 1] : x, q->n, &to[k]);
    for (size_t i = 0; i < q->n; i++) {
        columns_element(q, c->n, i, a);
        memset(g, 0, sizeof g);
        if (!is_missing(x, i)) grad(c, x->at[i * x->step], a, g);
        for (size_t k = 0; k <= c->n; k++)
            if (d[k].tag == V_NIL)
                sum[k] += g[k];
            else
                to[k][i] = g[k];
    }
    for (size_t k = 0; k <= c->n; k++)
        if (d[k].tag == V_NIL && sum[k] != 0) d[k] = value_num(sum[k]);
}

enum gpm_status sp_scalar_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct arg_columns q;
    struct column x;
    value d[SP_MAX_PARAMS + 1];
    enum gpm_status st = columns_init(c, &q);
    if (st != GPM_OK) return st;
    st = columns_value(c, v, &q, &x);
    if (st == GPM_OK) {
        columns_gradient(c, &q, &x, element_grad, d);
        bool moves = dv && !(c->cls->flags & SP_DISCRETE);
        if (dv) *dv = moves ? d[0] : NIL;
        if (!moves) value_unref(d[0]);
        memcpy(dargs, d + 1, c->n * sizeof *dargs);
        column_release(&x);
    }
    columns_release(&q, c->n);
    return st;
}

/* Which argument an end of the support is, if any: those of the family's range, found by asking
 * it about numbers that tell the arguments apart, and the bounds of truncation. */
static void name_ends(const struct sp_call *c, struct sp_support *out) {
    const struct scalar_family *f = c->cls->of;
    double marks[SP_MAX_PARAMS], end[2] = {f->lo, f->hi};
    uint8_t from[2] = {0, 0};
    for (size_t k = 0; k < SP_MAX_PARAMS; k++) marks[k] = -1e300 - 1e290 * (double)k;
    if (f->range) f->range(marks, &end[0], &end[1]);
    for (size_t e = 0; e < 2; e++) {
        for (size_t k = 0; k < c->n; k++)
            if (end[e] == marks[k]) from[e] = sp_given(c, k) ? (uint8_t)(k + 1) : 0;
        size_t bound = c->cls->num_args + e;
        if (!f->tails || !sp_given(c, bound)) continue;
        out->mixed |= from[e] || isfinite(end[e]);
        from[e] = (uint8_t)(bound + 1);
    }
    out->lo_arg = from[0];
    out->hi_arg = from[1];
}

/* Where values lie: one range for all elements, so that of ends which differ the outermost. */
enum gpm_status sp_scalar_support(struct sp_call *c, struct sp_support *out) {
    const struct scalar_family *f = c->cls->of;
    struct arg_columns q;
    struct law w;
    double a[SP_MAX_PARAMS], least = INFINITY, most = -INFINITY;
    *out = (struct sp_support){.kind = f->support, .lo = f->lo, .hi = f->hi};
    bool between = f->tails && c->n > c->cls->num_args;
    if (f->slopes == slopes_loc_scale || f->slopes == slopes_shape_loc_scale) {
        size_t loc = f->slopes == slopes_shape_loc_scale;
        if (sp_given(c, loc)) out->loc_arg = (uint8_t)(loc + 1);
        if (sp_given(c, loc + 1)) out->scale_arg = (uint8_t)(loc + 2);
    }
    if (c->cls->flags & SP_DISCRETE || (!between && !f->range)) return GPM_OK;
    enum gpm_status st = columns_init(c, &q);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < q.n; i++) {
        double lo = f->lo, hi = f->hi, lower = -INFINITY, upper = INFINITY;
        columns_element(&q, c->n, i, a);
        for (size_t k = c->n; k < c->cls->num_args && f->absent; k++) a[k] = f->absent[k];
        if (f->range) f->range(a, &lo, &hi);
        (void)truncated(c, a, &w, &lower, &upper);
        least = fmin(least, fmax(lo, lower));
        most = fmax(most, fmin(hi, upper));
    }
    columns_release(&q, c->n);
    *out = (struct sp_support){.kind = SUPPORT_INTERVAL, .lo = least, .hi = most, .moves = true};
    name_ends(c, out);
    return GPM_OK;
}

/* The sum of the elements' bounds: no less than the bound of their sum. */
enum gpm_status sp_scalar_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    const struct scalar_family *f = c->cls->of;
    struct arg_columns q;
    double a[SP_MAX_PARAMS];
    if (!varies) return c->cls->log_density(c, v, out);
    if (!f->best || (f->tails && c->n > c->cls->num_args)) return GPM_E_NOT_FOUND;
    enum gpm_status st = columns_init(c, &q);
    if (st != GPM_OK) return st;
    struct column x = {.one = NAN};
    if (!(varies & 1u)) st = columns_value(c, v, &q, &x);
    if (!x.at) x.at = &x.one;
    *out = 0;
    for (size_t i = 0; i < q.n && st == GPM_OK; i++) {
        if (is_missing(&x, i)) continue;
        columns_element(&q, c->n, i, a);
        *out += f->best(c, varies, x.at[i * x.step], a);
    }
    column_release(&x);
    columns_release(&q, c->n);
    return st != GPM_OK ? st : isnan(*out) ? GPM_E_NOT_FOUND : GPM_OK;
}
