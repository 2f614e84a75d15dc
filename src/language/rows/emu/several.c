/* SPDX-License-Identifier: Apache-2.0
 *
 * Several values per point: an independent emulator for each output, or one kernel for all with a
 * covariance B between the outputs (intrinsic coregionalisation):
 *
 *     cov(y_i(x), y_j(x')) = B_ij k(x, x')
 *
 * All outputs are known at a point together, so with B = A A' the combinations u(x) = A^-1 y(x) are
 * independent processes of covariance k, and
 *
 *     log p(y) = sum_j log p(u_j) - n log |A|
 *
 * New parameters require new emulators for all pairs, so the pairs are kept here. */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"
#include "base/pack.h"
#include "base/vec.h"
#include "numeric/la/blas.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <string.h>

enum { MOST_OUTPUTS = 1000 };

/* The emulators for one set of parameters. */
struct setting {
    void **em;      /* one for each output */
    double *a;      /* lower triangular, by columns; NULL: independent outputs */
    double log_det; /* log |A| */
};

struct several {
    const struct emulator_class *cls; /* of each output */
    size_t q, dim;
    struct setting now, before; /* before: during a proposal; without emulators: no proposal */
    VEC(double) x, y;           /* all pairs */
    VEC(bool) measured;
};

/* ---- parameters ---- */

/* A list of kernels is not a kernel. */
static bool is_list(value v, size_t *n) {
    return v.tag != V_PROC && v.tag != V_BOX && seq_length(v, n);
}

enum gpm_status several_outputs(struct sp_call *c, size_t *q) {
    int at = maker_parameter(c, "outputs");
    size_t n = 0;
    bool list = maker_parameter(c, "a") >= 0 && is_list(c->args[process_kernel_place(c)], &n);
    *q = list ? n : 1;
    if (list && (!n || n > MOST_OUTPUTS))
        return sp_error(c, DIAG_DOMAIN, "%s: %zu kernels, at least 1 and at most %d", c->cls->name,
                        n, MOST_OUTPUTS);
    if (at < 0) return GPM_OK;
    value v = c->args[at];
    if (list)
        return sp_error(c, DIAG_TYPE, "%s: outputs= goes with one kernel; there are %zu",
                        c->cls->name, n);
    if (v.tag == V_MATRIX)
        *q = v.u.matrix->rows;
    else if (is_list(v, &n) && n && n <= MOST_OUTPUTS)
        *q = n;
    else if (v.tag == V_NUM && v.u.num >= 1 && v.u.num <= MOST_OUTPUTS && v.u.num == floor(v.u.num))
        *q = (size_t)v.u.num;
    else
        return sp_type_error(c, v,
                             "%s: outputs must be the number of outputs (up to %d), or the matrix "
                             "of covariances between them",
                             c->cls->name, MOST_OUTPUTS);
    return GPM_OK;
}

bool several_given(const struct sp_call *c) {
    size_t n;
    bool process = maker_parameter(c, "a") >= 0;
    return process &&
           (maker_parameter(c, "outputs") >= 0 || is_list(c->args[process_kernel_place(c)], &n));
}

/* The numbers of a symmetric q x q matrix, or of an array of its rows. */
static bool read_square(value v, size_t q, double *out) {
    bool ok = true;
    if (v.tag == V_MATRIX) {
        ok = v.u.matrix->cols == q;
        if (ok) memcpy(out, v.u.matrix->at, q * q * sizeof *out);
        return ok;
    }
    for (size_t i = 0; i < q && ok; i++) {
        value row;
        double *numbers = NULL;
        size_t n = 0;
        ok = seq_get(v, i, &row);
        if (!ok) break;
        ok = seq_numbers(row, &numbers, &n) && n == q;
        for (size_t j = 0; ok && j < q; j++) out[j * q + i] = numbers[j];
        mem_free(numbers);
        value_unref(row);
    }
    for (size_t i = 0; ok && i < q; i++)
        for (size_t j = 0; j < i; j++) ok = ok && out[j * q + i] == out[i * q + j];
    return ok;
}

/* The factor of the covariances between outputs. */
static enum gpm_status read_factor(struct sp_call *c, size_t q, struct setting *s) {
    int at = maker_parameter(c, "outputs");
    size_t pivot;
    if (at < 0 || c->args[at].tag == V_NUM) return GPM_OK;
    s->a = NEW_ARRAY(double, q *q + 1);
    bool square = read_square(c->args[at], q, s->a);
    if (square && maker_parameter(c, "noise") >= 0) {
        sp_error(c, DIAG_DOMAIN, "%s: noise= does not go with covariances between outputs",
                 c->cls->name);
        return diag_set_help(c->diags, "add make_whitenoise(s) to the kernel: noise that is "
                                       "correlated as the outputs are");
    }
    if (square && process_kernel_place(c) > (size_t)(c->cls->special == SPECIAL_GPMEM))
        return sp_error(c, DIAG_DOMAIN, "%s: a mean does not go with covariances between outputs",
                        c->cls->name);
    if (!square || la_potrf(q, s->a, q, &pivot) != GPM_OK)
        return sp_error(c, DIAG_DOMAIN,
                        "%s: the covariances between outputs must be a positive definite matrix",
                        c->cls->name);
    for (size_t j = 0; j < q; j++) s->log_det += log(s->a[j * q + j]);
    return GPM_OK;
}

/* The maker's call restricted to output j; args: room for its arguments. */
static struct sp_call call_of(const struct sp_call *c, size_t j, value *args) {
    struct sp_call one = *c;
    int outputs = maker_parameter(c, "outputs");
    size_t k = process_kernel_place(c), n;
    value kernel = NIL;
    for (size_t i = 0; i < c->n; i++) args[i] = c->args[i];
    if (outputs >= 0) args[outputs] = ABSENT;
    if (is_list(c->args[k], &n) && seq_get(c->args[k], j, &kernel)) {
        args[k] = kernel; /* the list holds it */
        value_unref(kernel);
    }
    one.args = args;
    return one;
}

/* ---- settings ---- */

static void setting_release(struct several *s, struct setting *g) {
    for (size_t j = 0; g->em && j < s->q; j++)
        if (g->em[j]) s->cls->free(g->em[j]);
    mem_free(g->em);
    mem_free(g->a);
    *g = (struct setting){0};
}

static enum gpm_status setting_make(struct several *s, struct sp_call *c, struct setting *g) {
    value *args = NEW_ARRAY(value, c->n + 1);
    *g = (struct setting){.em = mem_zalloc((s->q + 1) * sizeof *g->em)};
    enum gpm_status st = read_factor(c, s->q, g);
    for (size_t j = 0; j < s->q && st == GPM_OK; j++) {
        struct sp_call one = call_of(c, j, args);
        g->em[j] = s->cls->make(&one, (int)s->dim);
        if (!g->em[j]) st = GPM_E_USER;
    }
    mem_free(args);
    if (st != GPM_OK) setting_release(s, g);
    return st;
}

/* Column j of u = A^-1 y for n points; u: n * q numbers, with column j at u[j * n]. */
static double *combined(const struct several *s, const struct setting *g, const double *y,
                        size_t n) {
    size_t q = s->q;
    double *u = NEW_ARRAY(double, n *q + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q; j++) {
            double v = y[i * q + j];
            for (size_t k = 0; g->a && k < j; k++) v -= g->a[k * q + j] * u[k * n + i];
            u[j * n + i] = g->a ? v / g->a[j * q + j] : v;
        }
    return u;
}

/* y = A u, by points. */
static void separate(const struct several *s, const struct setting *g, const double *u, size_t n,
                     double *y) {
    size_t q = s->q;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < q; j++) {
            double v = g->a ? 0 : u[j * n + i];
            for (size_t k = 0; g->a && k <= j; k++) v += g->a[k * q + j] * u[k * n + i];
            y[i * q + j] = v;
        }
}

/* Adds to all emulators or to none. */
static enum gpm_status add_to(struct several *s, struct setting *g, bool measured, const double *x,
                              const double *y, size_t n) {
    double *u = combined(s, g, y, n);
    size_t j = 0;
    enum gpm_status st = GPM_OK;
    for (; j < s->q && st == GPM_OK; j++) st = s->cls->add(g->em[j], measured, x, u + j * n, n);
    for (size_t k = 0; st != GPM_OK && k + 1 < j; k++)
        for (size_t i = n; i-- > 0;)
            (void)(s->cls->remove(g->em[k], measured, x + i * s->dim, u + k * n + i) == GPM_OK);
    mem_free(u);
    return st;
}

static bool is_among(const double *x, const double *all, size_t n, size_t dim) {
    size_t i = 0;
    while (i < n && memcmp(x, all + i * dim, dim * sizeof *x) != 0) i++;
    return i < n;
}

/* The number of the n points that are new: not among `known` and not repeated. The other values are
 * determined (outputs with covariances have no noise) and have no density. */
static double news(const struct several *s, const struct setting *g, const double *x, size_t n,
                   const double *known, size_t n_known) {
    double count = 0;
    for (size_t i = 0; g->a && i < n; i++)
        count += !is_among(x + i * s->dim, known, n_known, s->dim) &&
                 !is_among(x + i * s->dim, x, i, s->dim);
    return count;
}

static enum gpm_status joint_of(struct several *s, struct setting *g, double *out) {
    double one;
    enum gpm_status st = GPM_OK;
    *out = -news(s, g, s->x.at, s->measured.n, NULL, 0) * g->log_det;
    for (size_t j = 0; j < s->q && st == GPM_OK; j++) {
        st = s->cls->log_joint(g->em[j], &one);
        if (st == GPM_OK) *out += one;
    }
    return st;
}

/* ---- the emulator ---- */

static enum gpm_status several_sample(void *e, const double *x, size_t n, bool measured,
                                      struct rng *rng, double *out) {
    struct several *s = e;
    double *u = NEW_ARRAY(double, n * s->q + 1);
    enum gpm_status st = GPM_OK;
    for (size_t j = 0; j < s->q && st == GPM_OK; j++)
        st = s->cls->sample(s->now.em[j], x, n, measured, rng, u + j * n);
    if (st == GPM_OK) separate(s, &s->now, u, n, out);
    mem_free(u);
    return st;
}

static enum gpm_status several_conditional(void *e, bool measured, const double *x, const double *y,
                                           size_t n, double *logpdf) {
    struct several *s = e;
    double *u = combined(s, &s->now, y, n), one;
    enum gpm_status st = GPM_OK;
    *logpdf = -news(s, &s->now, x, n, s->x.at, s->measured.n) * s->now.log_det;
    for (size_t j = 0; j < s->q && st == GPM_OK; j++) {
        st = s->cls->conditional(s->now.em[j], measured, x, u + j * n, n, &one);
        if (st == GPM_OK) *logpdf += one;
    }
    mem_free(u);
    return st;
}

/* d/dy = A^-T d/du, by back substitution. */
static enum gpm_status several_slope(void *e, bool measured, const double *x, const double *y,
                                     size_t n, double *dy) {
    struct several *s = e;
    size_t q = s->q;
    double *u = combined(s, &s->now, y, n), *du = NEW_ARRAY(double, n *q + 1);
    enum gpm_status st = s->cls->slope ? GPM_OK : GPM_E_LIMIT;
    for (size_t j = 0; j < q && st == GPM_OK; j++)
        st = s->cls->slope(s->now.em[j], measured, x, u + j * n, n, du + j * n);
    for (size_t i = 0; i < n && st == GPM_OK; i++)
        for (size_t j = q; j-- > 0;) {
            double v = du[j * n + i];
            for (size_t k = j + 1; s->now.a && k < q; k++) v -= s->now.a[j * q + k] * dy[i * q + k];
            dy[i * q + j] = s->now.a ? v / s->now.a[j * q + j] : v;
        }
    mem_free(u);
    mem_free(du);
    return st;
}

static enum gpm_status several_add(void *e, bool measured, const double *x, const double *y,
                                   size_t n) {
    struct several *s = e;
    enum gpm_status st = add_to(s, &s->now, measured, x, y, n);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < n * s->dim; i++) vec_push(&s->x, x[i]);
    for (size_t i = 0; i < n * s->q; i++) vec_push(&s->y, y[i]);
    for (size_t i = 0; i < n; i++) vec_push(&s->measured, measured);
    return GPM_OK;
}

static enum gpm_status several_remove(void *e, bool measured, const double *x, const double *y) {
    struct several *s = e;
    size_t d = s->dim, q = s->q, i = s->measured.n;
    while (i-- > 0)
        if (s->measured.at[i] == measured && !memcmp(s->x.at + i * d, x, d * sizeof *x) &&
            !memcmp(s->y.at + i * q, y, q * sizeof *y))
            break;
    if (i == SIZE_MAX) return GPM_E_NOT_FOUND;
    double *u = combined(s, &s->now, y, 1);
    enum gpm_status st = GPM_OK;
    for (size_t j = 0; j < q && st == GPM_OK; j++)
        st = s->cls->remove(s->now.em[j], measured, x, u + j);
    mem_free(u);
    size_t after = s->measured.n - i - 1;
    memmove(s->x.at + i * d, s->x.at + (i + 1) * d, after * d * sizeof *x);
    memmove(s->y.at + i * q, s->y.at + (i + 1) * q, after * q * sizeof *y);
    memmove(s->measured.at + i, s->measured.at + i + 1, after * sizeof *s->measured.at);
    s->x.n -= d;
    s->y.n -= q;
    s->measured.n--;
    return st;
}

static enum gpm_status several_log_joint(void *e, double *out) {
    struct several *s = e;
    return joint_of(s, &s->now, out);
}

static double several_error(void *e, const char **method) {
    struct several *s = e;
    double sum = 0;
    for (size_t j = 0; s->cls->error && j < s->q; j++) sum += s->cls->error(s->now.em[j], method);
    return sum;
}

static size_t several_n_pairs(void *e) {
    return ((struct several *)e)->measured.n;
}

static void several_pair(void *e, size_t i, double *x, double *y) {
    struct several *s = e;
    memcpy(x, s->x.at + i * s->dim, s->dim * sizeof *x);
    memcpy(y, s->y.at + i * s->q, s->q * sizeof *y);
}

/* Adds pairs one by one in order; the emulator takes many at once only if they are of one kind. */
static enum gpm_status add_all(struct several *s, struct setting *g) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0, n; i < s->measured.n && st == GPM_OK; i += n) {
        for (n = 1; i + n < s->measured.n && s->measured.at[i + n] == s->measured.at[i]; n++)
            continue;
        st = add_to(s, g, s->measured.at[i], s->x.at + i * s->dim, s->y.at + i * s->q, n);
    }
    return st;
}

/* Parameters for which the pairs are impossible leave the emulators unchanged; then only a
 * rejection or another proposal can follow. */
static enum gpm_status several_propose(void *e, struct sp_call *c, double *log_joint) {
    struct several *s = e;
    struct setting g;
    enum gpm_status st = setting_make(s, c, &g);
    if (st != GPM_OK) return st;
    st = add_all(s, &g);
    if (st == GPM_OK) st = joint_of(s, &g, log_joint);
    if (st == GPM_OK) {
        s->before = s->now;
        s->now = g;
        return GPM_OK;
    }
    setting_release(s, &g);
    if (st != GPM_E_NOT_PD) return st;
    *log_joint = -INFINITY;
    return GPM_OK;
}

static void several_accept(void *e) {
    struct several *s = e;
    setting_release(s, &s->before);
}

/* Pairs added during a proposal would be in its emulators only. There are no such pairs, since a
 * proposal is decided at once. */
static void several_reject(void *e) {
    struct several *s = e;
    if (!s->before.em) return;
    setting_release(s, &s->now);
    s->now = s->before;
    s->before = (struct setting){0};
}

/* For a list of kernels, a list of adjoints; otherwise their sum. The covariances have no
 * adjoint. */
static enum gpm_status several_gradient(void *e, struct sp_call *c, value *dargs) {
    struct several *s = e;
    size_t k = process_kernel_place(c), n;
    bool list = is_list(c->args[k], &n);
    int outputs = maker_parameter(c, "outputs");
    value *args = NEW_ARRAY(value, c->n + 1), *one = NEW_ARRAY(value, c->n + 1);
    value kernels = list ? value_array_new(s->q) : NIL;
    enum gpm_status st =
        s->cls->gradient
            ? GPM_OK
            : sp_error(c, DIAG_NO_GRADIENT, "%s has no gradient; use mh or slice", c->cls->name);
    for (size_t j = 0; j < s->q && st == GPM_OK; j++) {
        struct sp_call call = call_of(c, j, args);
        for (size_t i = 0; i < c->n; i++) one[i] = NIL;
        st = s->cls->gradient(s->now.em[j], &call, one);
        for (size_t i = 0; i < c->n && st == GPM_OK; i++) {
            if (list && i == k) {
                kernels.u.array->at[j] = one[i];
                continue;
            }
            value sum =
                is_absent(one[i]) || is_absent(dargs[i]) ? ABSENT : adj_add(dargs[i], one[i]);
            value_set_take(&dargs[i], sum);
            value_unref(one[i]);
        }
    }
    if (list) dargs[k] = kernels;
    if (outputs >= 0) dargs[outputs] = ABSENT;
    mem_free(args);
    mem_free(one);
    return st;
}

static void several_free(void *e) {
    struct several *s = e;
    setting_release(s, &s->now);
    setting_release(s, &s->before);
    vec_release(&s->x);
    vec_release(&s->y);
    vec_release(&s->measured);
    mem_free(s);
}

/* Each output's emulator; the covariances come from the maker's call. */
static void several_pack(struct pack *p, void *e) {
    struct several *s = e;
    size_t n = s->measured.n;
    if (s->before.em) pack_fail(p, "a proposal is under way");
    pack_vec_doubles(p, &s->x);
    pack_vec_doubles(p, &s->y);
    pack_count(p, &n, 1);
    vec_reserve(&s->measured, n);
    s->measured.n = n;
    for (size_t i = 0; i < n; i++) pack_bool(p, &s->measured.at[i]);
    if (s->x.n != n * s->dim || s->y.n != n * s->q) pack_fail(p, "a pair in it has no input");
    for (size_t j = 0; j < s->q && pack_ok(p); j++) s->cls->pack(p, s->now.em[j]);
}

static void *several_make(struct sp_call *c, int dim) {
    size_t q;
    if (several_outputs(c, &q) != GPM_OK) return NULL;
    struct several *s = NEW(struct several);
    s->cls = c->cls->of;
    s->q = q;
    s->dim = (size_t)dim;
    if (setting_make(s, c, &s->now) == GPM_OK) return s;
    several_free(s);
    return NULL;
}

static enum gpm_status several_check(struct sp_call *c) {
    const struct emulator_class *cls = c->cls->of;
    struct setting g = {0};
    size_t q;
    enum gpm_status st = several_outputs(c, &q);
    if (st == GPM_OK) st = read_factor(c, q, &g);
    mem_free(g.a);
    value *args = NEW_ARRAY(value, c->n + 1);
    for (size_t j = 0; j < q && st == GPM_OK; j++) {
        struct sp_call one = call_of(c, j, args);
        st = cls->check(&one);
    }
    mem_free(args);
    return st;
}

const struct emulator_class several_emulator = {.name = "several outputs",
                                                .sample = several_sample,
                                                .conditional = several_conditional,
                                                .slope = several_slope,
                                                .add = several_add,
                                                .remove = several_remove,
                                                .log_joint = several_log_joint,
                                                .error = several_error,
                                                .n_pairs = several_n_pairs,
                                                .pair = several_pair,
                                                .propose = several_propose,
                                                .accept = several_accept,
                                                .reject = several_reject,
                                                .gradient = several_gradient,
                                                .free = several_free,
                                                .pack = several_pack,
                                                .make = several_make,
                                                .check = several_check};
