/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions over finitely many values (finite.h), and the stream of a run inside a model. */
#include "language/rows/dist/finite.h"

#include "base/mem.h"
#include "language/value/value_pack.h"
#include "numeric/special/rng.h"
#include <math.h>
#include <string.h>

struct finite {
    value *at;
    double *p;
    size_t n;
};

static void finite_free(void *state) {
    struct finite *f = state;
    values_free(f->at, f->n);
    mem_free(f->p);
    mem_free(f);
}

static value table(const struct finite *f, bool values) {
    value v = value_array_new(f->n);
    for (size_t i = 0; i < f->n; i++)
        v.u.array->at[i] = values ? value_ref(f->at[i]) : value_num(f->p[i]);
    return v;
}

static value finite_stats(void *state) {
    value both[2] = {table(state, true), table(state, false)};
    value v = value_array(both, 2);
    value_unref(both[0]);
    value_unref(both[1]);
    return v;
}

static void finite_visit(void *state, struct visitor *v) {
    const struct finite *f = state;
    for (size_t i = 0; i < f->n; i++) v->value(v, f->at[i]);
}

static void *finite_pack(struct pack *p, void *state) {
    struct finite *f = state ? state : NEW(struct finite);
    pack_count(p, &f->n, sizeof(double));
    if (!state) f->at = mem_zalloc((f->n + 1) * sizeof *f->at);
    pack_values(p, f->at, f->n);
    pack_new_doubles(p, &f->p, f->n, 0);
    return f;
}

static const struct sp_class finite_class;

static const struct sp_class *finite_row(const void *state, bool second) {
    return &finite_class;
}

const struct sp_state_class finite_state = {.free = finite_free,
                                            .stats = finite_stats,
                                            .visit = finite_visit,
                                            .pack = finite_pack,
                                            .row = finite_row};

/* Rounding may leave u above all sums: then the last value of some probability. */
static enum gpm_status finite_simulate(struct sp_call *c, value *out) {
    const struct finite *f = c->state;
    double u = rng_uniform(c->rng), sum = 0;
    size_t last = 0;
    for (size_t i = 0; i < f->n && u >= sum; i++) {
        if (f->p[i] > 0) last = i;
        sum += f->p[i];
    }
    *out = value_ref(f->at[last]);
    return GPM_OK;
}

static enum gpm_status finite_log_density(struct sp_call *c, value v, double *out) {
    const struct finite *f = c->state;
    *out = -INFINITY;
    for (size_t i = 0; i < f->n; i++)
        if (value_equal(f->at[i], v)) {
            *out = log(f->p[i]);
            break;
        }
    return GPM_OK;
}

static enum gpm_status finite_enumerate(struct sp_call *c, value **vals, size_t *n) {
    const struct finite *f = c->state;
    *n = f->n;
    *vals = NEW_ARRAY(value, f->n + 1);
    for (size_t i = 0; i < f->n; i++) (*vals)[i] = value_ref(f->at[i]);
    return GPM_OK;
}

static enum gpm_status finite_support(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){.kind = SUPPORT_DISCRETE};
    return GPM_OK;
}

static const struct sp_class finite_class = {.name = "exact distribution",
                                             .sig = "() -> any",
                                             .doc = "a value of the distribution",
                                             .flags = SP_RANDOM | SP_DISCRETE,
                                             .simulate = finite_simulate,
                                             .log_density = finite_log_density,
                                             .enumerate = finite_enumerate,
                                             .support = finite_support};

value finite_value(value *at_taken, double *p_taken, size_t n) {
    struct finite *f = NEW(struct finite);
    *f = (struct finite){at_taken, p_taken, n};
    struct sp_state *state = sp_state_new(&finite_state, f);
    value v = sp_made_value(&finite_class, state);
    sp_state_unref(state);
    return v;
}

enum { VALUES, PROBABILITIES };

static enum gpm_status tell(struct sp_call *c, value *out) {
    struct sp_proc *made = sp_made_of(c->args[0]);
    if (!made || made->cls != &finite_class)
        return sp_type_error(c, c->args[0], "d must be a distribution that exact_posterior gave");
    *out = table(made->state->data, c->cls->variant == VALUES);
    return GPM_OK;
}

/* Random numbers of a run inside a model follow from this choice. Its density is taken with respect
 * to its own distribution, so that it says nothing. */
static const double STREAMS = 0x1p53;

static enum gpm_status stream_simulate(struct sp_call *c, value *out) {
    *out = value_num(floor(rng_uniform(c->rng) * STREAMS));
    return GPM_OK;
}

static enum gpm_status stream_log_density(struct sp_call *c, value v, double *out) {
    bool one = v.tag == V_NUM && v.u.num >= 0 && v.u.num < STREAMS && v.u.num == floor(v.u.num);
    *out = one ? 0 : -INFINITY;
    return GPM_OK;
}

const struct sp_class sp_finite_rows[] = {
    {.name = "support",
     .sig = "(d: proc) -> array",
     .doc = "the values of a distribution that exact_posterior gave",
     .example = "support(run(exact_posterior(exactly(4)))) => [4]",
     .variant = VALUES,
     .simulate = tell},
    {.name = "probabilities",
     .sig = "(d: proc) -> array",
     .doc = "the probabilities of support(d), in its order",
     .example = "probabilities(run(exact_posterior(flip(0.25)))) => [0.25, 0.75]",
     .variant = PROBABILITIES,
     .simulate = tell},
    {.name = "_stream",
     .sig = "() -> number",
     .doc = "where the random numbers of run(...) inside a model begin",
     .example = "_stream() >= 0 => true",
     .flags = SP_RANDOM | SP_DISCRETE | SP_HIDDEN,
     .simulate = stream_simulate,
     .log_density = stream_log_density,
     .support = finite_support},
};
const size_t sp_finite_count = COUNT_OF(sp_finite_rows);
