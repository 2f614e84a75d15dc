/* SPDX-License-Identifier: Apache-2.0
 *
 * make_crp(alpha, d): the Chinese restaurant process, with discount d the two-parameter
 * (Pitman-Yor) one. Tables are the numbers 1, 2, ...; a new one takes the smallest number free.
 * Any unknown number counts as a new table in densities, so that applications may leave and return
 * in any order. par: alpha, d; stat: a table (conj_tally) of customers by the number of their
 * table.
 */
#include "language/rows/makers/conj.h"
#include "base/mem.h"
#include "numeric/special/special.h"
#include <math.h>

struct table {
    double id, count;
};

struct crp {
    double alpha, d, n; /* n: customers */
    size_t n_tables;
    const struct table *tables; /* by id; borrowed */
};

static struct crp crp_of(const struct conj *s) {
    return (struct crp){.alpha = s->par[0],
                        .d = s->par[1],
                        .n = s->stat[0],
                        .n_tables = s->n_stat / 2,
                        .tables = (const struct table *)(s->stat + 1)};
}

static enum gpm_status crp_read(struct sp_call *c, struct conj *s) {
    conj_reserve(s, 2, 1, 0);
    s->par[0] = sp_num(c, 0);
    s->par[1] = sp_num_or(c, 1, 0);
    if (s->par[1] >= 0 && s->par[1] < 1) return GPM_OK;
    return sp_bad_arg(c, 1, "d", "at least 0 and below 1");
}

/* Dictionary from table to number of customers. */
static value crp_stats(const struct conj *s) {
    struct crp t = crp_of(s);
    value *kv = NEW_ARRAY(value, 2 * t.n_tables + 1);
    for (size_t i = 0; i < 2 * t.n_tables; i++) kv[i] = value_num(s->stat[1 + i]);
    value out = value_dict(kv, t.n_tables);
    mem_free(kv);
    return out;
}

/* Smallest positive whole number that is no table. */
static double next_table(const struct crp *s) {
    double id = 1;
    for (size_t i = 0; i < s->n_tables && s->tables[i].id <= id; i++)
        if (s->tables[i].id == id) id++;
    return id;
}

/* Weights out of n + alpha: c_t - d for each table, alpha + d K for a new one. */
static double new_weight(const struct crp *s) {
    return s->alpha + s->d * (double)s->n_tables;
}

static enum gpm_status crp_draw(struct sp_call *c, value *out) {
    struct crp s = crp_of(conj_of(c));
    double u = rng_uniform(c->rng) * (s.n + s.alpha);
    for (size_t i = 0; i < s.n_tables; i++) {
        u -= s.tables[i].count - s.d;
        if (u >= 0) continue;
        *out = value_num(s.tables[i].id);
        return GPM_OK;
    }
    *out = value_num(next_table(&s));
    return GPM_OK;
}

static enum gpm_status crp_density(struct sp_call *c, value v, double *out) {
    struct crp s = crp_of(conj_of(c));
    double id;
    size_t at;
    if (!value_number(v, &id) || isnan(id)) return sp_bad_value(c, v, "a table (a number)");
    const double *t = conj_record(conj_of(c), &id, 1, &at);
    *out = log(t ? t[1] - s.d : new_weight(&s)) - log(s.n + s.alpha);
    return GPM_OK;
}

static enum gpm_status crp_count(struct sp_call *c, value v, double by) {
    double id;
    bool table = value_number(v, &id) && !isnan(id);
    if (table && conj_tally(conj_of(c), &id, 1, by)) return GPM_OK;
    return sp_bad_value(c, v, by > 0 ? "a table (a number)" : "a table in use");
}

static enum gpm_status crp_enumerate(struct sp_call *c, value **vals, size_t *n) {
    struct crp s = crp_of(conj_of(c));
    *vals = NEW_ARRAY(value, s.n_tables + 1);
    for (*n = 0; *n < s.n_tables; ++*n) (*vals)[*n] = value_num(s.tables[*n].id);
    if (new_weight(&s) > 0) (*vals)[(*n)++] = value_num(next_table(&s));
    return GPM_OK;
}

/* prod_{k<K} (alpha + k d) prod_t (1-d)_{c_t - 1} / prod_{i<n} (alpha + i), in logarithms; (x)_m is
 * the rising factorial Gamma(x + m) / Gamma(x). */
static double crp_joint(const struct conj *of) {
    struct crp s = crp_of(of);
    if (s.n == 0) return 0;
    double lp = log_gamma(s.alpha) - log_gamma(s.alpha + s.n);
    for (size_t k = 0; k < s.n_tables; k++) {
        lp += log(s.alpha + s.d * (double)k);
        lp += log_gamma(s.tables[k].count - s.d) - log_gamma(1 - s.d);
    }
    return lp;
}

static void crp_gradient(const struct conj *of, const struct sp_call *c, value *dargs) {
    struct crp s = crp_of(of);
    double dalpha = s.n > 0 ? digamma(s.alpha) - digamma(s.alpha + s.n) : 0, dd = 0;
    for (size_t k = 0; k < s.n_tables; k++) {
        double w = s.alpha + s.d * (double)k;
        dalpha += 1 / w;
        dd += (double)k / w + digamma(1 - s.d) - digamma(s.tables[k].count - s.d);
    }
    dargs[0] = value_num(dalpha);
    if (c->n > 1) dargs[1] = value_num(dd);
}

static const struct conj_class crp = {
    .made = {CONJ_MADE("crp", "() -> number"), .flags = SP_RANDOM | SP_DISCRETE | SP_RENAMES,
             .simulate = crp_draw, .log_density = crp_density, .enumerate = crp_enumerate,
             .support = sp_support_discrete, .log_bound = sp_discrete_bound},
    .read = crp_read,
    .count = crp_count,
    .stats = crp_stats,
    .log_joint = crp_joint,
    .gradient = crp_gradient};

const struct sp_class sp_makers_crp_rows[] = {
    {.name = "make_crp",
     .sig = "(alpha: positive, d?: real) -> proc",
     .doc = "Chinese restaurant process: tables 1, 2, ...; d is the Pitman-Yor discount",
     .example = "make_crp(2)() => 1",
     CONJ_MAKER(crp)},
};
const size_t sp_makers_crp_count = COUNT_OF(sp_makers_crp_rows);
