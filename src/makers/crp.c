/* SPDX-License-Identifier: Apache-2.0
 *
 * make_crp(alpha, d): the Chinese restaurant process, with discount d the two-parameter
 * (Pitman-Yor) one. Tables are the numbers 1, 2, ...; a new one takes the smallest number free.
 * Any unknown number counts as a new table in densities, so that applications may leave and return
 * in any order.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "math/dist.h"
#include "math/special.h"
#include "dist/dist_row.h"
#include <math.h>
#include <string.h>

struct table {
    double id, count;
};

struct crp {
    double alpha, d, n;       /* n: customers */
    VEC(struct table) tables; /* by id */
};

static void crp_free(void *state) {
    struct crp *s = state;
    vec_release(&s->tables);
    mem_free(s);
}

static void *crp_copy(void *state, const struct sp_aaa *aaa) {
    const struct crp *s = state;
    struct crp *t = NEW(struct crp);
    t->alpha = s->alpha, t->d = s->d, t->n = s->n;
    for (size_t i = 0; i < s->tables.n; i++) vec_push(&t->tables, s->tables.at[i]);
    return t;
}

/* Dictionary from table to number of customers. */
static value crp_stats(void *state) {
    const struct crp *s = state;
    value *kv = NEW_ARRAY(value, 2 * s->tables.n + 1);
    for (size_t i = 0; i < s->tables.n; i++) {
        kv[2 * i] = value_num(s->tables.at[i].id);
        kv[2 * i + 1] = value_num(s->tables.at[i].count);
    }
    value out = value_dict(kv, s->tables.n);
    mem_free(kv);
    return out;
}

static const struct sp_state_class crp_state = {
    .copy = crp_copy, .free = crp_free, .stats = crp_stats};

/* Position of the first table whose id is not below `id`. */
static size_t position(const struct crp *s, double id) {
    size_t lo = 0, hi = s->tables.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->tables.at[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct table *find(struct crp *s, double id) {
    size_t i = position(s, id);
    return i < s->tables.n && s->tables.at[i].id == id ? &s->tables.at[i] : NULL;
}

/* Smallest positive whole number that is no table. */
static double next_table(const struct crp *s) {
    double id = 1;
    for (size_t i = position(s, 1); i < s->tables.n; i++) {
        if (s->tables.at[i].id > id) break;
        if (s->tables.at[i].id == id) id++;
    }
    return id;
}

/* Weights out of n + alpha: c_t - d for each table, alpha + d K for a new one. */
static double new_weight(const struct crp *s) {
    return s->alpha + s->d * (double)s->tables.n;
}

static enum gpm_status crp_draw(struct sp_call *c, value *out) {
    struct crp *s = c->state;
    double u = rng_uniform(c->rng) * (s->n + s->alpha);
    for (size_t i = 0; i < s->tables.n; i++) {
        u -= s->tables.at[i].count - s->d;
        if (u >= 0) continue;
        *out = value_num(s->tables.at[i].id);
        return GPM_OK;
    }
    *out = value_num(next_table(s));
    return GPM_OK;
}

static enum gpm_status crp_density(struct sp_call *c, value v, double *out) {
    struct crp *s = c->state;
    double id;
    if (!sp_as_number(v, &id) || isnan(id)) return sp_bad_value(c, v, "a table (a number)");
    struct table *t = find(s, id);
    *out = log(t ? t->count - s->d : new_weight(s)) - log(s->n + s->alpha);
    return GPM_OK;
}

static enum gpm_status crp_incorporate(struct sp_call *c, value v) {
    struct crp *s = c->state;
    double id;
    if (!sp_as_number(v, &id) || isnan(id)) return sp_bad_value(c, v, "a table (a number)");
    size_t i = position(s, id);
    s->n++;
    if (i < s->tables.n && s->tables.at[i].id == id) {
        s->tables.at[i].count++;
        return GPM_OK;
    }
    vec_push(&s->tables, ((struct table){0, 0}));
    memmove(s->tables.at + i + 1, s->tables.at + i, (s->tables.n - 1 - i) * sizeof(struct table));
    s->tables.at[i] = (struct table){id, 1};
    return GPM_OK;
}

static enum gpm_status crp_unincorporate(struct sp_call *c, value v) {
    struct crp *s = c->state;
    double id = NAN;
    struct table *t = sp_as_number(v, &id) ? find(s, id) : NULL;
    if (!t) return sp_bad_value(c, v, "a table in use");
    s->n--;
    if (--t->count > 0) return GPM_OK;
    memmove(t, t + 1, (size_t)(s->tables.at + s->tables.n - (t + 1)) * sizeof *t);
    s->tables.n--;
    return GPM_OK;
}

static enum gpm_status crp_enumerate(struct sp_call *c, value **vals, size_t *n) {
    const struct crp *s = c->state;
    *vals = NEW_ARRAY(value, s->tables.n + 1);
    *n = 0;
    for (size_t i = 0; i < s->tables.n; i++) (*vals)[(*n)++] = value_num(s->tables.at[i].id);
    if (new_weight(s) > 0) (*vals)[(*n)++] = value_num(next_table(s));
    return GPM_OK;
}

/* prod_{k<K} (alpha + k d) prod_t (1-d)_{c_t - 1} / prod_{i<n} (alpha + i), in logarithms; (x)_m is
 * the rising factorial Gamma(x + m) / Gamma(x). */
static double joint(const struct crp *s) {
    if (s->n == 0) return 0;
    double lp = log_gamma(s->alpha) - log_gamma(s->alpha + s->n);
    for (size_t k = 0; k < s->tables.n; k++) {
        lp += log(s->alpha + s->d * (double)k);
        lp += log_gamma(s->tables.at[k].count - s->d) - log_gamma(1 - s->d);
    }
    return lp;
}

static enum gpm_status read(struct sp_call *c, double *alpha, double *d) {
    *alpha = sp_num(c, 0);
    *d = sp_num_or(c, 1, 0);
    if (!(*d >= 0 && *d < 1)) return sp_bad_arg(c, 1, "d", "at least 0 and below 1");
    return GPM_OK;
}

struct crp_token {
    double alpha, d;
};

static enum gpm_status crp_remake(struct sp_call *c, void *state, void **token, double *log_joint) {
    struct crp *s = state;
    double alpha, d;
    enum gpm_status st = read(c, &alpha, &d);
    if (st != GPM_OK) return st;
    struct crp_token *t = NEW(struct crp_token);
    *t = (struct crp_token){s->alpha, s->d};
    s->alpha = alpha;
    s->d = d;
    *log_joint = joint(s);
    *token = t;
    return GPM_OK;
}

static void crp_undo(void *state, void *token) {
    struct crp *s = state;
    const struct crp_token *t = token;
    s->alpha = t->alpha;
    s->d = t->d;
    mem_free(token);
}

static void crp_commit(void *state, void *token) {
    mem_free(token);
}

static enum gpm_status crp_log_joint(void *state, double *out) {
    *out = joint(state);
    return GPM_OK;
}

static enum gpm_status crp_gradient(struct sp_call *c, void *state, value *dargs) {
    const struct crp *s = state;
    double dalpha = s->n > 0 ? digamma(s->alpha) - digamma(s->alpha + s->n) : 0, dd = 0;
    for (size_t k = 0; k < s->tables.n; k++) {
        double w = s->alpha + s->d * (double)k;
        dalpha += 1 / w;
        dd += (double)k / w + digamma(1 - s->d) - digamma(s->tables.at[k].count - s->d);
    }
    dargs[0] = value_num(dalpha);
    if (c->n > 1) dargs[1] = value_num(dd);
    return GPM_OK;
}

static const struct sp_aaa crp_aaa = {.remake = crp_remake,
                                      .undo = crp_undo,
                                      .commit = crp_commit,
                                      .log_joint = crp_log_joint,
                                      .gradient = crp_gradient};

static const struct sp_class made_crp = {.name = "crp",
                                         .sig = "() -> number",
                                         .doc = "made by make_crp",
                                         .flags = SP_RANDOM | SP_DISCRETE | SP_RENAMES,
                                         .simulate = crp_draw,
                                         .log_density = crp_density,
                                         .incorporate = crp_incorporate,
                                         .unincorporate = crp_unincorporate,
                                         .enumerate = crp_enumerate,
                                         .support = sp_support_discrete,
                                         .log_bound = sp_discrete_bound};

static enum gpm_status make_crp(struct sp_call *c, value *out) {
    double alpha, d;
    enum gpm_status st = read(c, &alpha, &d);
    if (st != GPM_OK) return st;
    struct crp *s = NEW(struct crp);
    s->alpha = alpha;
    s->d = d;
    struct sp_state *state = sp_state_new(&crp_state, s);
    *out = sp_made_value(&made_crp, state);
    sp_state_unref(state);
    return GPM_OK;
}

const struct sp_class sp_makers_crp_rows[] = {
    {.name = "make_crp",
     .sig = "(alpha: positive, d?: real) -> proc",
     .doc = "Chinese restaurant process: tables 1, 2, ...; d is the Pitman-Yor discount",
     .example = "make_crp(2)() => 1",
     .flags = SP_MAKER,
     .simulate = make_crp,
     .aaa = &crp_aaa},
};
const size_t sp_makers_crp_count = COUNT_OF(sp_makers_crp_rows);
