/* SPDX-License-Identifier: Apache-2.0
 *
 * Categories: ordered ones, cut out of a latent number by cutpoints, and counts of several.
 *
 *     ordered_logistic, ordered_probit   P(k) = F(c_{k+1} - eta) - F(c_k - eta), k = 0 .. K - 1,
 *                                        with c_0 = -inf, c_K = inf and F the distribution
 *                                        function of the logistic or the normal distribution
 *     multinomial                        n! / prod x_i! prod p_i^x_i
 */
#include "base/mem.h"
#include "language/rows/dist/columns.h"
#include "language/rows/dist/transform.h"
#include "numeric/special/special.h"
#include <math.h>

/* log(F(b) - F(a)), a < b, and its derivatives in a and b. */
typedef double piece_fn(double a, double b, double *da, double *db);

/* F(b) - F(a) = F(b) (1 - F(a)) (1 - e^(a - b)) for the logistic function F */
static double logistic_piece(double a, double b, double *da, double *db) {
    double gap = isinf(a) || isinf(b) ? 0 : 1 / expm1(b - a);
    *da = isinf(a) ? 0 : -logistic(a) - gap;
    *db = isinf(b) ? 0 : logistic(-b) + gap;
    return -log1pexp(-b) - log1pexp(a) + (isinf(a) || isinf(b) ? 0 : log1mexp(b - a));
}

static double normal_piece(double a, double b, double *da, double *db) {
    static const double standard[] = {0, 1};
    struct law w = {.lp = dist_normal_lp,
                    .tails = dist_normal_tails,
                    .lo = -INFINITY,
                    .hi = INFINITY,
                    .a = standard,
                    .n = 2};
    double log_mass = law_log_mass(&w, a, b);
    *da = isinf(a) ? 0 : -exp(dist_normal_lp(a, standard, 2) - log_mass);
    *db = isinf(b) ? 0 : exp(dist_normal_lp(b, standard, 2) - log_mass);
    return log_mass;
}

enum { LOGISTIC, PROBIT }; /* variants */

/* A call: etas, one or many, and the cutpoints between infinite ones. */
struct ordered {
    struct sp_call eta; /* the call without the cutpoints */
    struct arg_columns q;
    double *cut; /* n_cut + 1: cut[0] = -inf, cut[n_cut] = inf; owned */
    size_t k;    /* categories */
    piece_fn *piece;
};

static void ordered_release(struct ordered *o) {
    columns_release(&o->q, 1);
    mem_free(o->cut);
}

static enum gpm_status read_cuts(struct sp_call *c, struct ordered *o) {
    double *given;
    size_t n;
    enum gpm_status st = sp_numbers_arg(c, 1, "cutpoints", &given, &n);
    if (st != GPM_OK) return st;
    o->k = n + 1;
    o->cut = NEW_ARRAY(double, n + 2);
    o->cut[0] = -INFINITY;
    for (size_t i = 0; i < n; i++) o->cut[i + 1] = given[i];
    o->cut[n + 1] = INFINITY;
    mem_free(given);
    for (size_t i = 1; i + 1 < o->k; i++)
        if (!(o->cut[i] < o->cut[i + 1])) {
            mem_free(o->cut);
            return sp_bad_arg(c, 1, "cutpoints", "in ascending order");
        }
    return GPM_OK;
}

static enum gpm_status ordered_init(struct sp_call *c, struct ordered *o) {
    o->eta = *c;
    o->eta.n = 1;
    o->piece = c->cls->variant == LOGISTIC ? logistic_piece : normal_piece;
    enum gpm_status st = read_cuts(c, o);
    if (st != GPM_OK) return st;
    st = columns_init(&o->eta, &o->q);
    if (st != GPM_OK) mem_free(o->cut);
    return st;
}

static double eta_at(const struct ordered *o, size_t i) {
    return o->q.arg[0].at[i * o->q.arg[0].step];
}

static double category_lp(const struct ordered *o, double x, double eta, double *da, double *db) {
    *da = *db = 0;
    if (!(x >= 0 && x < (double)o->k && x == floor(x)) || isinf(eta)) return -INFINITY;
    size_t k = (size_t)x;
    return o->piece(o->cut[k] - eta, o->cut[k + 1] - eta, da, db);
}

/* The latent number, then the piece in which it lies. */
static double category_draw(const struct ordered *o, struct rng *r, double eta) {
    double y = eta + (o->piece == logistic_piece ? standard_logistic.draw(r) : rng_normal(r));
    size_t k = 0;
    while (k + 1 < o->k && y > o->cut[k + 1]) k++;
    return (double)k;
}

static enum gpm_status ordered_simulate(struct sp_call *c, value *out) {
    struct ordered o;
    enum gpm_status st = ordered_init(c, &o);
    if (st != GPM_OK) return st;
    if (!o.q.many)
        *out = value_num(category_draw(&o, c->rng, eta_at(&o, 0)));
    else {
        *out = value_array_new(o.q.n);
        for (size_t i = 0; i < o.q.n; i++)
            out->u.array->at[i] = value_num(category_draw(&o, c->rng, eta_at(&o, i)));
    }
    ordered_release(&o);
    return GPM_OK;
}

static enum gpm_status ordered_log_density(struct sp_call *c, value v, double *out) {
    struct ordered o;
    struct column x;
    double da, db;
    enum gpm_status st = ordered_init(c, &o);
    if (st != GPM_OK) return st;
    st = columns_value(&o.eta, v, &o.q, &x);
    *out = 0;
    for (size_t i = 0; st == GPM_OK && i < o.q.n; i++)
        *out += category_lp(&o, x.at[i * x.step], eta_at(&o, i), &da, &db);
    if (isnan(*out)) *out = -INFINITY;
    column_release(&x);
    ordered_release(&o);
    return st;
}

static enum gpm_status ordered_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct ordered o;
    struct column x;
    enum gpm_status st = ordered_init(c, &o);
    if (st != GPM_OK) return st;
    st = columns_value(&o.eta, v, &o.q, &x);
    if (dv) *dv = NIL;
    if (st == GPM_OK) {
        bool many = o.q.arg[0].step;
        dargs[0] = many ? value_vector_new(o.q.n) : value_num(0);
        dargs[1] = value_vector_new(o.k - 1);
        double *cut = dargs[1].u.vector->at, da, db;
        for (size_t j = 0; j + 1 < o.k; j++) cut[j] = 0;
        for (size_t i = 0; i < o.q.n; i++) {
            double k = x.at[i * x.step];
            if (category_lp(&o, k, eta_at(&o, i), &da, &db) == -INFINITY) da = db = 0;
            if (da != 0) cut[(size_t)k - 1] += da;
            if (db != 0) cut[(size_t)k] += db;
            if (many)
                dargs[0].u.vector->at[i] = -da - db;
            else
                dargs[0].u.num -= da + db;
        }
    }
    column_release(&x);
    ordered_release(&o);
    return st;
}

/* Number 0 is eta, the others are the cutpoints. */
static double ordered_gathered(piece_fn *piece, double x, const double *v, const uint32_t *at,
                               size_t n, double *adj) {
    double eta = v[at[0]], da, db;
    if (!(x >= 0 && x < (double)n && x == floor(x)) || isinf(eta)) return -INFINITY;
    for (size_t i = 2; i < n; i++)
        if (!(v[at[i - 1]] < v[at[i]])) return NAN;
    size_t k = (size_t)x;
    double lp =
        piece(k ? v[at[k]] - eta : -INFINITY, k + 1 < n ? v[at[k + 1]] - eta : INFINITY, &da, &db);
    if (adj && lp > -INFINITY) {
        adj[at[0]] -= da + db;
        if (k) adj[at[k]] += da;
        if (k + 1 < n) adj[at[k + 1]] += db;
    }
    return lp;
}

static double logistic_gathered(double x, const double *v, const uint32_t *at, size_t n,
                                double *adj) {
    return ordered_gathered(logistic_piece, x, v, at, n, adj);
}

static double probit_gathered(double x, const double *v, const uint32_t *at, size_t n,
                              double *adj) {
    return ordered_gathered(normal_piece, x, v, at, n, adj);
}

static enum gpm_status ordered_enumerate(struct sp_call *c, value **vals, size_t *n) {
    struct ordered o;
    enum gpm_status st = ordered_init(c, &o);
    if (st != GPM_OK) return st;
    if (o.q.many)
        st = sp_error(c, DIAG_NOT_ENUMERABLE,
                      "%s: the values of a sequence of choices cannot be enumerated", c->cls->name);
    else {
        *n = o.k;
        *vals = NEW_ARRAY(value, o.k);
        for (size_t i = 0; i < o.k; i++) (*vals)[i] = value_num((double)i);
    }
    ordered_release(&o);
    return st;
}

/* ---- multinomial(n, weights) */
struct counts {
    double n, total, *w; /* weights and their sum; owned */
    size_t k;
};

static enum gpm_status counts_init(struct sp_call *c, struct counts *m) {
    *m = (struct counts){.n = sp_num(c, 0)};
    enum gpm_status st = sp_numbers_arg(c, 1, "weights", &m->w, &m->k);
    if (st != GPM_OK) return st;
    bool ok = true;
    for (size_t i = 0; i < m->k; i++) {
        ok &= m->w[i] >= 0;
        m->total += m->w[i];
    }
    if (ok && m->total > 0 && isfinite(m->total)) return GPM_OK;
    mem_free(m->w);
    return sp_bad_arg(c, 1, "weights", "nonnegative and not all zero");
}

/* Each count given those before it is binomial. */
static enum gpm_status multinomial_simulate(struct sp_call *c, value *out) {
    struct counts m;
    enum gpm_status st = counts_init(c, &m);
    if (st != GPM_OK) return st;
    double left = m.n, mass = m.total;
    *out = value_vector_new(m.k);
    for (size_t i = 0; i < m.k; i++) {
        double share = mass > 0 ? fmin(m.w[i] / mass, 1) : 0;
        if (i + 1 == m.k && m.w[i] > 0) share = 1;
        double x = left > 0 ? dist_binomial_draw(c->rng, (double[]){left, share}, 2) : 0;
        out->u.vector->at[i] = x;
        left -= x;
        mass -= m.w[i];
    }
    for (size_t i = m.k; left > 0 && i-- > 0;) /* rounding left some: to the last that can be */
        if (m.w[i] > 0) out->u.vector->at[i] += left, left = 0;
    mem_free(m.w);
    return GPM_OK;
}

static enum gpm_status multinomial_log_density(struct sp_call *c, value v, double *out) {
    struct counts m;
    double *x, sum = 0;
    enum gpm_status st = counts_init(c, &m);
    if (st != GPM_OK) return st;
    st = sp_numbers_value(c, v, m.k, &x);
    if (st == GPM_OK) {
        *out = log_gamma(m.n + 1);
        for (size_t i = 0; i < m.k; i++) {
            *out +=
                is_count(x[i]) ? xlogy(x[i], m.w[i] / m.total) - log_gamma(x[i] + 1) : -INFINITY;
            sum += x[i];
        }
        if (sum != m.n) *out = -INFINITY;
        mem_free(x);
    }
    mem_free(m.w);
    return st;
}

static enum gpm_status multinomial_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct counts m;
    double *x;
    enum gpm_status st = counts_init(c, &m);
    if (st != GPM_OK) return st;
    st = sp_numbers_value(c, v, m.k, &x);
    if (dv) *dv = NIL;
    if (st == GPM_OK) {
        dargs[0] = NIL;
        dargs[1] = value_vector_new(m.k);
        for (size_t i = 0; i < m.k; i++)
            dargs[1].u.vector->at[i] = (x[i] > 0 ? x[i] / m.w[i] : 0) - m.n / m.total;
        mem_free(x);
    }
    mem_free(m.w);
    return st;
}

#define ORDERED(which)                                                                             \
    .variant = which, .flags = SP_RANDOM | SP_DISCRETE | SP_LIFTS, .simulate = ordered_simulate,   \
    .log_density = ordered_log_density, .grad_density = ordered_grad,                              \
    .enumerate = ordered_enumerate, .support = sp_support_discrete,                                \
    .log_bound = sp_discrete_bound, .of = &(const struct scalar_family) {                          \
        .support = SUPPORT_DISCRETE                                                                \
    }

const struct sp_class sp_category_rows[] = {
    {.name = "ordered_logistic",
     .sig = "(eta: real, cutpoints: numbers) -> count",
     .doc = "the number of cutpoints, which ascend, below eta plus logistic noise",
     .example = "assess(0, ordered_logistic, 0, [0]) => -0.6931471805599453",
     .gathered = logistic_gathered,
     ORDERED(LOGISTIC)},
    {.name = "ordered_probit",
     .sig = "(eta: real, cutpoints: numbers) -> count",
     .doc = "the number of cutpoints, which ascend, below eta plus standard normal noise",
     .example = "assess(1, ordered_probit, 0, [0]) => -0.6931471805599453",
     .gathered = probit_gathered,
     ORDERED(PROBIT)},
    {.name = "multinomial",
     .sig = "(n: count, weights: numbers) -> vector",
     .doc = "counts of n draws among categories with probabilities in proportion to the weights",
     .example = "multinomial(3, [0, 1]) => [0, 3]",
     .flags = SP_RANDOM | SP_DISCRETE | SP_VECTOR,
     .simulate = multinomial_simulate,
     .log_density = multinomial_log_density,
     .grad_density = multinomial_grad,
     .support = sp_support_discrete,
     .log_bound = sp_discrete_bound},
};
const size_t sp_category_count = COUNT_OF(sp_category_rows);
