/* SPDX-License-Identifier: Apache-2.0
 *
 * The statistical memoizer: a table of computed pairs and an emulator that is conditioned on it and
 * on observed pairs. One per evaluation of its maker; f_compute and f_emu share it.
 *
 *     f_compute(x)   y = f(x), once per input; the pair is recorded as a measurement
 *     f_emu(x)       a draw of the emulator given all pairs, recorded while its node lives
 *
 * Both are exchangeable procedures: incorporate adds a pair and unincorporate removes it, in any
 * order; the density of a pair is the emulator's conditional one. A change of the maker's arguments
 * (kernel, mean, noise) keeps the pairs and is weighed by one likelihood of all of them (aaa
 * below). Nodes that depend on the procedures are not visited. */
#include "language/rows/emu/emulator.h"

#include "base/mem.h"
#include "language/value/value_pack.h"
#include "gp/process/gp.h"
#include "numeric/special/rng.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/protocol/kernel_value.h"
#include "base/vec.h"
#include "language/rows/source/evaluations.h"
#include "language/rows/source/point_map.h"
#include "language/rows/source/srcfn.h"
#include <math.h>
#include <string.h>

/* The emulator, made once the dimension is known. It is lazy: recorded pairs wait before they are
 * passed on, since most are removed immediately (sample f_emu(x)). Also the computed inputs with
 * counts. */
struct memoizer {
    const struct emulator_class *cls;
    void *em;    /* NULL until the dimension is known */
    int dim;     /* 0: not yet known */
    size_t q;    /* values per point */
    bool vector; /* values are vectors, possibly of length one */
    value f;
    struct sp_call call;    /* the maker's call, for making the emulator later */
    struct array_obj *args; /* of the call; counted, owned by this table alone */
    struct map computed;    /* count: recorded applications; the emulator has the pair once */
    VEC(double) px, py;     /* waiting pairs, all of one kind */
    bool pmeasured;
    bool warned; /* about an approximation's error */
};

static void args_free(struct array_obj *a) {
    value_unref((value){.tag = V_ARRAY, .u.array = a});
}

/* Replaces the arguments of the call (owned); returns the previous ones. */
static struct array_obj *swap_args(struct memoizer *m, struct array_obj *a) {
    struct array_obj *old = m->args;
    m->args = a;
    m->call.args = a->at;
    m->call.n = a->n;
    return old;
}

static struct memoizer *memoizer_new(const struct emulator_class *cls, const struct sp_call *maker,
                                     value f) {
    struct memoizer *m = NEW(struct memoizer);
    m->cls = cls;
    m->f = value_ref(f);
    m->call = *maker;
    (void)swap_args(m, value_array(maker->args, maker->n).u.array);
    m->call.rng = NULL;
    m->q = 1;
    return m;
}

static void memoizer_free(void *state) {
    struct memoizer *m = state;
    if (m->em) m->cls->free(m->em);
    args_free(m->args);
    point_map_release(&m->computed);
    vec_release(&m->px);
    vec_release(&m->py);
    value_unref(m->f);
    mem_free(m);
}

/* Passes waiting pairs to the emulator, which then holds all pairs. */
static enum gpm_status flush(struct memoizer *m) {
    if (m->dim && !m->em) return GPM_E_NOMEM; /* out of memory when copied */
    if (!m->py.n) return GPM_OK;
    enum gpm_status st = m->cls->add(m->em, m->pmeasured, m->px.at, m->py.at, m->py.n / m->q);
    if (st != GPM_OK) return st; /* they stay, so that they can be removed */
    vec_clear(&m->px);
    vec_clear(&m->py);
    return GPM_OK;
}

static value output_value(const struct memoizer *m, const double *y) {
    return m->vector ? value_vector(y, m->q) : value_num(*y);
}

/* extract_stats: an array of (x, y) arrays. */
static value memoizer_stats(void *state) {
    struct memoizer *m = state;
    if (!m->em || flush(m) != GPM_OK) return value_array_new(0);
    size_t n = m->cls->n_pairs(m->em);
    value out = value_array_new(n);
    double *x = NEW_ARRAY(double, (size_t)m->dim), *y = NEW_ARRAY(double, m->q);
    for (size_t i = 0; i < n; i++) {
        m->cls->pair(m->em, i, x, y);
        value row = value_array_new(2);
        row.u.array->at[0] = point_value(x, m->dim);
        row.u.array->at[1] = output_value(m, y);
        out.u.array->at[i] = row;
    }
    mem_free(x);
    mem_free(y);
    return out;
}

static void memoizer_visit(void *state, struct visitor *v) {
    struct memoizer *m = state;
    v->value(v, m->f);
    v->value(v, (value){.tag = V_ARRAY, .u.array = m->args});
}

/* The maker's call: its row and arguments, from which the emulator is made again. */
static void pack_call(struct pack *p, struct memoizer *m) {
    uint32_t row = m->call.cls ? (uint32_t)sp_index_number(m->call.cls->name) : 0;
    value args = m->args ? (value){.tag = V_ARRAY, .u.array = m->args} : NIL;
    row = pack_choice(p, row, (uint32_t)sp_index_count());
    pack_value(p, &args);
    pack_value(p, &m->f);
    if (!p->reading) return;
    if (args.tag != V_ARRAY || sp_index_at(row)->simulate != memoizer_make) {
        pack_fail(p, "a memoizer in it is unknown");
        value_set_take(&args, value_array_new(0));
        row = (uint32_t)sp_index_number("gpmem");
    }
    m->call = (struct sp_call){.cls = sp_index_at(row), .host = p->host, .diags = p->diags};
    (void)swap_args(m, args.u.array);
}

static void pack_waiting(struct pack *p, struct memoizer *m) {
    pack_vec_doubles(p, &m->px);
    pack_vec_doubles(p, &m->py);
    pack_bool(p, &m->pmeasured);
}

static const struct emulator_class *emulator_of(const struct sp_call *c) {
    const struct emulator_class *cls = c->cls->of;
    if (several_given(c)) return &several_emulator;
    return maker_parameter(c, "likelihood") >= 0 ? cls->with_likelihood : cls;
}

static void *memoizer_pack(struct pack *p, void *state) {
    struct memoizer *m = state ? state : NEW(struct memoizer);
    bool made = m->em;
    pack_call(p, m);
    pack_int(p, &m->dim);
    pack_size(p, &m->q);
    pack_bool(p, &m->vector);
    pack_bool(p, &m->warned);
    pack_bool(p, &made);
    if (!state) m->cls = emulator_of(&m->call);
    if (!state && made && pack_ok(p)) m->em = m->cls->make(&m->call, m->dim);
    if (made && !m->em) pack_fail(p, "an emulator in it cannot be made");
    point_map_pack(p, &m->computed, m->dim);
    pack_waiting(p, m);
    if (made && pack_ok(p)) m->cls->pack(p, m->em);
    return m;
}

static const struct sp_class compute_class, emulate_class;
static const struct sp_class *memoizer_row(const void *state, bool second) {
    return second ? &compute_class : &emulate_class;
}

const struct sp_state_class memoizer_state = {.free = memoizer_free,
                                              .stats = memoizer_stats,
                                              .visit = memoizer_visit,
                                              .pack = memoizer_pack,
                                              .row = memoizer_row};

/* The arguments of f_emu or f_compute. */
struct points {
    double *x, *y; /* y: the outputs if read, m->q per point */
    size_t n;
    bool single; /* the result is one number */
};

static void points_free(struct points *p) {
    mem_free(p->x);
    mem_free(p->y);
}

/* The first input fixes the dimension and makes the emulator; later inputs must agree. */
static enum gpm_status set_dim(struct sp_call *c, struct memoizer *m, int dim) {
    if (dim < 1) return sp_error(c, DIAG_GP_DIMENSION, "an input has no coordinates");
    if (m->dim == dim) return GPM_OK;
    if (m->dim)
        return sp_error(c, DIAG_GP_DIMENSION,
                        "an input has %d coordinate%s, the data so far have %d", dim,
                        dim == 1 ? "" : "s", m->dim);
    m->call.diags = c->diags;
    m->call.host = c->host;
    m->em = m->cls->make(&m->call, dim);
    if (!m->em) return GPM_E_USER;
    m->dim = dim;
    return GPM_OK;
}

/* Inputs: a number is a point on the line. A sequence of numbers is several such points, or one
 * point if its length is the known dimension. A sequence of sequences is several points. */
static enum gpm_status points_parse(struct sp_call *c, struct memoizer *m, value v,
                                    struct points *p) {
    value *items;
    double one;
    size_t n;
    *p = (struct points){.single = value_number(v, &one) && v.tag != V_ATOM};
    if (p->single) {
        p->x = NEW_ARRAY(double, 1);
        p->x[0] = one;
        p->n = 1;
        return set_dim(c, m, 1);
    }
    if (seq_numbers(v, &p->x, &n)) {
        p->single = m->dim > 1 && n == (size_t)m->dim;
        p->n = p->single ? 1 : n;
        return p->single ? GPM_OK : set_dim(c, m, 1);
    }
    if (!seq_items(v, &items, &n))
        return sp_error(
            c, DIAG_TYPE,
            "an input must be a number, an array of numbers or an array of points, got a %s",
            value_type_name(v));
    enum gpm_status st = GPM_OK;
    VEC(double) all = {0};
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        double *row = NULL;
        size_t d;
        if (seq_numbers(items[i], &row, &d))
            st = set_dim(c, m, (int)d);
        else
            st = sp_error(c, DIAG_TYPE, "a point must be an array of numbers, got a %s",
                          value_type_name(items[i]));
        for (size_t j = 0; st == GPM_OK && j < d; j++) vec_push(&all, row[j]);
        mem_free(row);
    }
    values_free(items, n);
    p->x = all.at;
    p->n = n;
    return st;
}

static enum gpm_status points_read(struct sp_call *c, struct points *p) {
    struct memoizer *m = c->state;
    enum gpm_status st = points_parse(c, m, c->args[0], p);
    for (size_t i = 0; st == GPM_OK && i < p->n * (size_t)m->dim; i++) {
        if (!kern_all_bounded(p->x + i, 1))
            st = sp_error(c, DIAG_DOMAIN,
                          "an input of an emulator must be a number below 1e150 in size");
        p->x[i] += 0.0; /* -0 is 0 */
    }
    return st;
}

/* The values of one point. */
static bool output_read(const struct memoizer *m, value v, double *y) {
    double *numbers;
    size_t n;
    if (!m->vector) {
        *y = v.u.num;
        return v.tag == V_NUM;
    }
    if (v.tag == V_NUM || !seq_numbers(v, &numbers, &n)) return false;
    if (n == m->q) memcpy(y, numbers, n * sizeof *y);
    mem_free(numbers);
    return n == m->q;
}

static enum gpm_status bad_output(struct sp_call *c, const struct memoizer *m, value v) {
    if (m->vector)
        return sp_error(c, DIAG_TYPE, "an output must be %zu numbers, got %s", m->q, SHOW(v));
    return sp_error(c, DIAG_TYPE, "an output must be a number, got a %s", value_type_name(v));
}

static enum gpm_status outputs_read(struct sp_call *c, const struct memoizer *m, value v,
                                    struct points *p) {
    size_t n = 0;
    enum gpm_status st = GPM_OK;
    if (!m->vector) {
        if (!seq_numbers(v, &p->y, &n))
            return sp_error(c, DIAG_TYPE, "the outputs must be an array of numbers, got a %s",
                            value_type_name(v));
    } else if (!seq_length(v, &n))
        return sp_error(c, DIAG_TYPE, "the outputs must be an array of %zu numbers each, got a %s",
                        m->q, value_type_name(v));
    if (n != p->n) return sp_error(c, DIAG_GP_LENGTH, "%zu inputs but %zu outputs", p->n, n);
    if (!m->vector) return GPM_OK;
    p->y = NEW_ARRAY(double, n * m->q + 1);
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        value item;
        if (!seq_get(v, i, &item)) return GPM_E_ARG;
        if (!output_read(m, item, p->y + i * m->q)) st = bad_output(c, m, item);
        value_unref(item);
    }
    return st;
}

/* Inputs and outputs of an application. The table accepts only finite outputs, so pairs and
 * densities are finite. */
static enum gpm_status pairs_read(struct sp_call *c, value v, struct points *p) {
    const struct memoizer *m = c->state;
    enum gpm_status st = points_read(c, p);
    if (st != GPM_OK) return st;
    if (p->single) {
        p->y = NEW_ARRAY(double, m->q);
        if (!output_read(m, v, p->y)) st = bad_output(c, m, v);
    } else
        st = outputs_read(c, m, v, p);
    if (st != GPM_OK || kern_all_bounded(p->y, p->n * m->q)) return st;
    return sp_error(c, DIAG_DOMAIN,
                    "an output of an emulator must be a number below 1e150 in size");
}

static value outputs_value(const struct memoizer *m, const struct points *p) {
    if (p->single) return output_value(m, p->y);
    value v = value_array_new(p->n);
    for (size_t i = 0; i < p->n; i++) v.u.array->at[i] = output_value(m, p->y + i * m->q);
    return v;
}

static enum gpm_status numeric(struct sp_call *c, enum gpm_status st) {
    if (st == GPM_OK || st == GPM_E_USER) return st;
    if (st == GPM_E_NOT_PD) {
        sp_error(c, DIAG_GP_NUMERIC,
                 "the covariance matrix of the inputs is not positive definite");
        return diag_set_help(c->diags,
                             "is the kernel a covariance function? adding make_whitenoise(s) to "
                             "it helps when inputs lie close together");
    }
    if (st == GPM_E_ARG)
        return sp_error(c, DIAG_GP_NUMERIC, "inputs and outputs must be finite numbers");
    /* such a matrix is an impossible state; a missing GPU is not */
    return sp_error(c, st == GPM_E_DEVICE ? DIAG_LIMIT : DIAG_GP_NUMERIC, "%s", gp_status_text(st));
}

/* Recording of pairs. The latest ones wait outside the emulator (px, py). A sample is removed
 * before any other request, and then no factorisation is ever needed. Code that needs the emulator
 * flushes first. */

static enum gpm_status record(struct memoizer *m, bool measured, const double *x, const double *y,
                              size_t n) {
    enum gpm_status st = flush(m);
    if (st != GPM_OK) return st;
    m->pmeasured = measured;
    for (size_t i = 0; i < n * (size_t)m->dim; i++) vec_push(&m->px, x[i]);
    for (size_t i = 0; i < n * m->q; i++) vec_push(&m->py, y[i]);
    return st;
}

static enum gpm_status take_out(struct memoizer *m, bool measured, const double *x, const double *y,
                                size_t n) {
    size_t d = (size_t)m->dim, q = m->q;
    if (!n) return GPM_OK;
    if (m->py.n == n * q && m->pmeasured == measured && !memcmp(m->px.at, x, n * d * sizeof *x) &&
        !memcmp(m->py.at, y, n * q * sizeof *y)) {
        vec_clear(&m->px); /* they never reached the emulator */
        vec_clear(&m->py);
        return GPM_OK;
    }
    enum gpm_status st = flush(m);
    for (size_t i = n; i-- > 0 && st == GPM_OK;)
        st = m->cls->remove(m->em, measured, x + i * d, y + i * q);
    return st;
}

/* f_emu: a choice of the model is a value of the latent function, or with measured=true a
 * measurement. An observation is always a measurement. */

static bool wants_measured(const struct sp_call *c) {
    bool yes = false;
    return c->observed || (sp_given(c, 1) && sp_truth(c->args[1], &yes) && yes);
}

/* A joint draw of more points that is never read is replaced by zeros, using the same random
 * numbers, so that later draws agree. The zeros wait beside the emulator (px, py) until the
 * observed values replace them. */
enum { IN_VAIN = 64 };

static enum gpm_status draw(struct sp_call *c, bool measured, value *out) {
    struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = points_read(c, &p);
    if (st == GPM_OK) st = numeric(c, flush(m));
    p.y = mem_zalloc((p.n * m->q + 1) * sizeof *p.y);
    if (st == GPM_OK && c->in_vain && p.n > IN_VAIN)
        for (size_t i = 0; i < p.n; i++) rng_normal(c->rng);
    else if (st == GPM_OK && p.n)
        st = numeric(c, m->cls->sample(m->em, p.x, p.n, measured, c->rng, p.y));
    if (st == GPM_OK) *out = outputs_value(m, &p);
    points_free(&p);
    return st;
}

static enum gpm_status emulate(struct sp_call *c, value *out) {
    return draw(c, wants_measured(c), out);
}

static enum gpm_status emulate_replicate(struct sp_call *c, value *out) {
    return draw(c, true, out);
}

/* log p(y | the pairs recorded so far); 0 for no pairs. */
static enum gpm_status density(struct sp_call *c, const struct points *p, bool measured,
                               double *out) {
    struct memoizer *m = c->state;
    enum gpm_status st = numeric(c, flush(m));
    *out = 0;
    if (st == GPM_OK && p->n)
        st = numeric(c, m->cls->conditional(m->em, measured, p->x, p->y, p->n, out));
    return st;
}

static enum gpm_status emulate_density(struct sp_call *c, value v, double *out) {
    struct points p;
    enum gpm_status st = pairs_read(c, v, &p);
    if (st == GPM_OK) st = density(c, &p, wants_measured(c), out);
    points_free(&p);
    return st;
}

static enum gpm_status emulate_in(struct sp_call *c, value v) {
    struct points p;
    enum gpm_status st = pairs_read(c, v, &p);
    if (st == GPM_OK) st = numeric(c, record(c->state, wants_measured(c), p.x, p.y, p.n));
    points_free(&p);
    return st;
}

static enum gpm_status emulate_out(struct sp_call *c, value v) {
    struct points p;
    enum gpm_status st = pairs_read(c, v, &p);
    if (st == GPM_OK) st = numeric(c, take_out(c->state, wants_measured(c), p.x, p.y, p.n));
    points_free(&p);
    return st;
}

/* The gradient of log p(y) in the input of one observed number, whose mean and sd change with it;
 * ABSENT for other inputs. */
static enum gpm_status grad_input(struct sp_call *c, const struct points *p, value *dx) {
    struct memoizer *m = c->state;
    size_t d = (size_t)m->dim;
    double at[2], *slopes = NEW_ARRAY(double, 3 * d + 1), *out = slopes + 2 * d;
    enum gpm_status st = numeric(c, flush(m));
    if (st == GPM_OK) st = m->cls->predict(m->em, true, p->x, at, slopes, slopes + d);
    double z = (*p->y - at[0]) / at[1];
    for (size_t i = 0; st == GPM_OK && i < d; i++)
        out[i] = (z * slopes[i] + (z * z - 1) * slopes[d + i]) / at[1];
    if (st == GPM_OK) *dx = adj_like(c->args[0], out);
    mem_free(slopes);
    return st == GPM_E_LIMIT ? GPM_OK : numeric(c, st);
}

/* The gradient in the value. Inputs are data (ABSENT if they are not), except the input of one
 * measurement. A choice at a changing input moves with it (predict). */
static enum gpm_status emulate_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct memoizer *m = c->state;
    struct points p;
    for (size_t i = 0; i < c->n; i++) dargs[i] = ABSENT;
    if (!dv && !c->observed) return GPM_OK;
    enum gpm_status st = pairs_read(c, v, &p);
    if (st == GPM_OK && c->observed && p.single && !m->vector && m->cls->predict)
        st = grad_input(c, &p, &dargs[0]);
    if (st == GPM_OK) st = numeric(c, flush(m));
    if (st == GPM_OK && p.n && dv) {
        double *d = NEW_ARRAY(double, p.n * m->q);
        st =
            m->cls->slope ? m->cls->slope(m->em, wants_measured(c), p.x, p.y, p.n, d) : GPM_E_LIMIT;
        if (st == GPM_E_LIMIT)
            st = sp_error(c, DIAG_NO_GRADIENT, "%s: measurements of this kind have no gradient",
                          c->cls->name);
        st = numeric(c, st);
        struct points slopes = {.y = d, .n = p.n, .single = p.single};
        if (st == GPM_OK)
            *dv = m->vector || p.single ? outputs_value(m, &slopes) : value_vector(d, p.n);
        mem_free(d);
    }
    points_free(&p);
    return st;
}

static enum gpm_status emulate_predict(struct sp_call *c, double at[2], double *dloc,
                                       double *dscale) {
    struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = points_read(c, &p);
    bool single = st == GPM_OK && p.single && !m->vector && m->cls->predict;
    if (st == GPM_OK) st = single ? numeric(c, flush(m)) : GPM_E_LIMIT;
    if (st == GPM_OK) st = m->cls->predict(m->em, wants_measured(c), p.x, at, dloc, dscale);
    points_free(&p);
    return st == GPM_E_LIMIT ? st : numeric(c, st);
}

static enum gpm_status emulate_support(struct sp_call *c, struct sp_support *out) {
    const struct memoizer *m = c->state;
    bool number = c->args[0].tag == V_NUM && !m->vector;
    *out = (struct sp_support){.kind = number ? SUPPORT_REAL : SUPPORT_OTHER};
    return GPM_OK;
}

static const struct sp_class emulate_class = {
    .name = "f_emu",
    .sig = "(x: any, measured?: any) -> any",
    .doc = "A draw of the emulator at a number, or jointly at an array of inputs.",
    .flags = SP_RANDOM | SP_AT_INPUT,
    .simulate = emulate,
    .replicate = emulate_replicate,
    .log_density = emulate_density,
    .incorporate = emulate_in,
    .unincorporate = emulate_out,
    .grad_density = emulate_grad,
    .predict = emulate_predict,
    .support = emulate_support};

/* f_compute requests an application of the source for every input, then makes one value of the
 * results. The evaluator runs the requests, so a source written in the language is traced like any
 * procedure. A store or a pool of processes handles several inputs at once: evaluations_fetch. */

static enum gpm_status compute_request(struct sp_call *c, sp_emit_fn *emit, void *ctx) {
    struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = points_read(c, &p);
    struct evaluations *known = evaluations_of(m->f);
    if (known && st == GPM_OK) st = evaluations_fetch(c, known, p.x, p.n, m->dim);
    for (size_t i = 0; st == GPM_OK && i < p.n; i++) {
        value arg = point_value(p.x + i * (size_t)m->dim, m->dim);
        emit(ctx, m->f, &arg, 1);
        value_unref(arg);
    }
    points_free(&p);
    return st;
}

/* results: one per requested input. */
static enum gpm_status compute_output(struct sp_call *c, const value *results, size_t n,
                                      value *out) {
    const struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = points_read(c, &p);
    p.y = NEW_ARRAY(double, n * m->q + 1);
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        bool fine = output_read(m, results[i], p.y + i * m->q);
        for (size_t j = 0; j < m->q && fine; j++) fine = isfinite(p.y[i * m->q + j]);
        if (fine) continue;
        st = m->vector
                 ? sp_error(c, DIAG_SOURCE_FAILED,
                            "the source function gave %s, not %zu finite numbers", SHOW(results[i]),
                            m->q)
                 : sp_error(c, DIAG_SOURCE_FAILED,
                            "the source function gave %s, not a finite number", SHOW(results[i]));
    }
    if (st == GPM_OK) *out = outputs_value(m, &p);
    points_free(&p);
    return st;
}

/* The key of a value in the table of computed inputs: the number itself, or a hash of several. */
static double known_by(const struct memoizer *m, const double *y) {
    return m->vector ? (double)(hash_bytes(y, m->q * sizeof *y, 0) >> 11) : *y;
}

/* Inputs already in the table have no density, or contradict it. */
static enum gpm_status compute_density(struct sp_call *c, value v, double *out) {
    struct memoizer *m = c->state;
    struct points p;
    size_t n = 0;
    bool clash = false;
    enum gpm_status st = pairs_read(c, v, &p);
    size_t d = (size_t)m->dim; /* known by now */
    for (size_t i = 0; i < p.n && st == GPM_OK; i++) {
        struct point_entry *known = point_map_find(&m->computed, p.x + i * d, m->dim);
        if (known) {
            clash |= known->y != known_by(m, p.y + i * m->q);
            continue;
        }
        memmove(p.x + n * d, p.x + i * d, d * sizeof *p.x);
        memmove(p.y + n++ * m->q, p.y + i * m->q, m->q * sizeof *p.y);
    }
    p.n = n;
    if (st == GPM_OK) st = density(c, &p, true, out);
    if (clash) *out = -INFINITY;
    points_free(&p);
    return st;
}

/* The emulator gets each input once; the table counts its applications. */
static enum gpm_status compute_in(struct sp_call *c, value v) {
    struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = pairs_read(c, v, &p);
    for (size_t i = 0; i < p.n && st == GPM_OK; i++) {
        const double *x = p.x + i * (size_t)m->dim;
        struct point_entry *known = point_map_find(&m->computed, x, m->dim);
        if (known) {
            known->count++;
            continue;
        }
        point_map_add(&m->computed, x, m->dim, known_by(m, p.y + i * m->q));
        st = numeric(c, record(m, true, x, p.y + i * m->q, 1));
    }
    points_free(&p);
    return st;
}

static enum gpm_status compute_out(struct sp_call *c, value v) {
    struct memoizer *m = c->state;
    struct points p;
    enum gpm_status st = pairs_read(c, v, &p);
    for (size_t i = p.n; i-- > 0 && st == GPM_OK;) {
        const double *x = p.x + i * (size_t)m->dim;
        struct point_entry *known = point_map_find(&m->computed, x, m->dim);
        if (!known || --known->count) continue;
        st = numeric(c, take_out(m, true, x, p.y + i * m->q, 1));
        point_map_remove(&m->computed, known, m->dim);
    }
    points_free(&p);
    return st;
}

static const struct sp_class compute_class = {
    .name = "f_compute",
    .sig = "(x: any) -> any",
    .doc = "The source function, evaluated once per input; every pair conditions the emulator.",
    .flags = SP_PASSES,
    .request = compute_request,
    .output = compute_output,
    .log_density = compute_density,
    .incorporate = compute_in,
    .unincorporate = compute_out};

/* Makers. */

/* Caches the last signature, since several parameters are looked up for every likelihood. */
int maker_parameter(const struct sp_call *c, const char *name) {
    static _Thread_local struct {
        const struct sp_class *of;
        const struct sp_sig *sig;
    } last;
    if (last.of != c->cls) {
        last.sig = sp_index_sig((size_t)sp_index_number(c->cls->name));
        last.of = c->cls;
    }
    int i = sp_sig_param(last.sig, name);
    return i >= 0 && sp_given(c, (size_t)i) ? i : -1;
}

/* The source function in the form that f_compute calls; owned, NIL after sp_error. */
static value source_parameter(struct sp_call *c, int dim) {
    value f = c->args[0];
    int i = maker_parameter(c, "store");
    if (i >= 0 && c->args[i].tag != V_STR) {
        sp_error(c, DIAG_TYPE, "%s: store must be the path of a file, got a %s", c->cls->name,
                 value_type_name(c->args[i]));
        return NIL;
    }
    if (i < 0 && !srcfn_of(f)) return value_ref(f);
    return evaluations_value(c, f, i >= 0 ? c->args[i].u.str->text : NULL, dim);
}

/* Stores and external functions have one number per input. */
static enum gpm_status check_several(struct sp_call *c, bool pair) {
    if (maker_parameter(c, "likelihood") >= 0)
        return sp_error(c, DIAG_DOMAIN, "%s: likelihood= is for one output", c->cls->name);
    if (pair && (maker_parameter(c, "store") >= 0 || srcfn_of(c->args[0])))
        return sp_error(c, DIAG_DOMAIN,
                        "%s: several outputs need a procedure of the language, and no store",
                        c->cls->name);
    return GPM_OK;
}

enum gpm_status memoizer_make(struct sp_call *c, value *out) {
    const struct emulator_class *cls = emulator_of(c);
    bool pair = c->cls->special == SPECIAL_GPMEM, vector = several_given(c);
    size_t q = 1;
    int dim;
    enum gpm_status st = vector ? several_outputs(c, &q) : GPM_OK;
    if (st == GPM_OK && vector) st = check_several(c, pair);
    if (st == GPM_OK) st = cls->check(c);
    if (st == GPM_OK) st = srcfn_dim(c, maker_parameter(c, "dim"), 0, &dim);
    if (st != GPM_OK) return st;
    value f = pair ? source_parameter(c, dim) : NIL;
    if (pair && f.tag == V_NIL) return GPM_E_USER;
    struct memoizer *m = memoizer_new(cls, c, f);
    value_unref(f);
    m->q = q;
    m->vector = vector;
    struct sp_state *s = sp_state_new(&memoizer_state, m);
    if (dim) st = set_dim(c, m, dim);
    if (st == GPM_OK && pair) {
        value procs[2] = {sp_made_value(&compute_class, s), sp_made_value(&emulate_class, s)};
        *out = value_list(procs, 2);
        for (int i = 0; i < 2; i++) value_unref(procs[i]);
    } else if (st == GPM_OK)
        *out = sp_made_value(&emulate_class, s);
    sp_state_unref(s);
    return st;
}

/* A change of kernel, mean or noise costs one likelihood evaluation. remake proposes and gives log
 * p(all pairs | new arguments), from which the caller subtracts the old log_joint. Then commit
 * frees the old arguments (the token), or undo restores them. */

/* Warns once per table that the likelihood is not exact. */
static void warn_approximate(struct memoizer *m) {
    const char *method;
    double error = m->em && m->cls->error && !m->warned ? m->cls->error(m->em, &method) : 0;
    if (!(error > GP_ERROR_SMALL)) return;
    m->warned = true;
    diag_warn(m->call.diags, DIAG_LIMIT, NO_SPAN,
              "the log likelihood of %zu pairs is approximated by %s and may be off by about %.2g "
              "nats",
              m->cls->n_pairs(m->em), method, error);
    diag_set_help(m->call.diags,
                  "conclusions that rest on smaller differences are not supported; "
                  "up to %d inputs are exact",
                  GP_EXACT_MAX);
}

static enum gpm_status aaa_remake(struct sp_call *c, void *state, void **token, double *log_joint) {
    struct memoizer *m = state;
    *log_joint = 0;
    *token = NULL;
    enum gpm_status st = GPM_OK;
    if (m->em) st = numeric(c, flush(m));
    if (st == GPM_OK && m->em) st = m->cls->propose(m->em, c, log_joint);
    if (st != GPM_OK) return st;
    warn_approximate(m);
    *token = swap_args(m, value_array(c->args, c->n).u.array);
    return GPM_OK;
}

static void aaa_undo(void *state, void *token) {
    struct memoizer *m = state;
    if (m->em) {
        enum gpm_status st = flush(m); /* pairs that cannot be added now keep waiting */
        (void)st;
        m->cls->reject(m->em);
    }
    args_free(swap_args(m, token));
}

static void aaa_commit(void *state, void *token) {
    struct memoizer *m = state;
    if (m->em) m->cls->accept(m->em);
    args_free(token);
}

static enum gpm_status aaa_log_joint(void *state, double *out) {
    struct memoizer *m = state;
    *out = 0;
    if (!m->em) return GPM_OK;
    enum gpm_status st = flush(m);
    if (st == GPM_OK) st = m->cls->log_joint(m->em, out);
    warn_approximate(m);
    return st;
}

static enum gpm_status aaa_gradient(struct sp_call *c, void *state, value *dargs) {
    struct memoizer *m = state;
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    if (!m->em) return GPM_OK;
    if (!m->cls->gradient)
        return sp_error(c, DIAG_NO_GRADIENT, "%s has no gradient; use mh or slice", c->cls->name);
    enum gpm_status st = numeric(c, flush(m));
    return st == GPM_OK ? m->cls->gradient(m->em, c, dargs) : st;
}

#define ABSORBING                                                                                  \
    .remake = aaa_remake, .undo = aaa_undo, .commit = aaa_commit, .log_joint = aaa_log_joint,      \
    .gradient = aaa_gradient
const struct sp_aaa memoizer_aaa = {ABSORBING};
static bool has_store(const struct sp_call *c) {
    return maker_parameter(c, "store") >= 0;
}

const struct sp_aaa memoizer_pair_aaa = {ABSORBING, .fixed = 1,
                                         .keeps_values = has_store}; /* the source function */
