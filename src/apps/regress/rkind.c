/* SPDX-License-Identifier: Apache-2.0
 *
 * What the outcome is. Two values are a chance. Whole numbers from 0 on may be counts, or measures
 * that were rounded: with the Poisson and the negative binomial distribution as with normal noise
 * some rows are described, and the evidence decides, a density being the probability of a step of 1
 * where every value is moved at random within its step: else normal noise narrower than a step
 * would win by what rounding did. Numbers that scatter less than counts can (a quarter of their
 * mean), and large ones, whose steps are no matter, are measures; those between (feet of stopping
 * distance, visits a day) are ambiguous, which is reported to the user. */
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "apps/regress/regress.h"
#include <math.h>

#define MARGIN       3.0   /* nats */
#define SMALL        10.0  /* means: below, they are counts; */
#define LARGE        100.0 /* above, measures */
#define LEAST_SPREAD 0.25

enum { CONTEST_ROWS = 250 };

static bool may_count(const struct rtable *t) {
    for (size_t i = 0; i < t->n; i++)
        if (!is_count(t->y[i])) return false;
    return t->y_mean < LARGE && t->y_sd * t->y_sd > LEAST_SPREAD * t->y_mean;
}

static enum gpm_status take(struct regress *r, enum rfamily_kind kind, struct buf *err) {
    r->family = kind;
    regress_choose_rows(r);
    struct rmodel_data data = {r->t.d, r->n, r->x, r->y, kind};
    rmodel_release(&r->model);
    enum gpm_status st = rmodel_init(&r->model, &data, r->o.kernel, err);
    if (!st && !r->model.d)
        return buf_fail(err, GPM_E_FORMAT, "kernel '%s': it has no free parameters", r->o.kernel);
    return st;
}

enum gpm_status regress_find_family(struct regress *r, struct buf *err) {
    bool two = rtable_two_values(&r->t, &r->low, &r->high);
    enum rfamily_kind kind = r->o.family;
    if (kind == RFAMILY_AUTO) kind = two ? RFAMILY_CHANCE : RFAMILY_NORMAL;
    if (kind == RFAMILY_CHANCE && !two)
        return buf_fail(err, GPM_E_FORMAT,
                        "'%s' has more than two values: --family bernoulli is for two, such as "
                        "0 and 1 or yes and no",
                        r->t.y_name);
    for (size_t i = 0; i < r->t.n && kind > RFAMILY_CHANCE; i++)
        if (!is_count(r->t.y[i]))
            return buf_fail(err, GPM_E_FORMAT,
                            "line %zu: '%s' is %g, which is no count: --family %s is for 0, 1, 2 "
                            "...",
                            r->t.line[i], r->t.y_name, r->t.y[i], rfamily_of(kind)->name);
    if (kind == RFAMILY_CHANCE && r->o.family == RFAMILY_AUTO && !r->t.word[0])
        buf_printf(&r->t.notes,
                   "'%s' has two values: what is modelled is the chance of %g (--family normal "
                   "takes them for numbers)\n",
                   r->t.y_name, r->high);
    if (kind > RFAMILY_NORMAL && r->o.noise == RNOISE_ROBUST)
        buf_puts(&r->t.notes, "rows out of line are set aside under normal noise alone\n");
    return take(r, kind, err);
}

/* The log evidence of some rows, evenly chosen; -inf if unavailable. */
static enum gpm_status evidence(const struct regress *r, enum rfamily_kind kind, double *out) {
    size_t all = r->t.n, n = all < CONTEST_ROWS ? all : CONTEST_ROWS, d = (size_t)r->t.d;
    double *x = NEW_ARRAY(double, n *(d + 1)), *y = x + n * d, mean = r->t.y_mean, sd = r->t.y_sd;
    bool normal = kind == RFAMILY_NORMAL;
    struct rng g;
    rng_init(&g, r->o.seed, 41, 0);
    for (size_t i = 0; i < n; i++) {
        size_t at = i * all / n;
        double value = r->t.y[r->row[at]];
        memcpy(x + i * d, r->x + at * d, d * sizeof *x);
        y[i] = normal ? (value + rng_uniform(&g) - 0.5 - mean) / sd : value;
    }
    struct rmodel m;
    struct rmodel_data data = {r->t.d, n, x, y, kind};
    struct buf err = BUF_INIT; /* the kernel was fine before */
    enum gpm_status st = rmodel_init(&m, &data, r->o.kernel, &err);
    m.stop = r->o.stop;
    if (!st && !m.d) st = GPM_E_FORMAT;
    if (!st) st = rmodel_find(&m, r->o.seed, r->o.threads);
    *out = st ? -INFINITY : m.laplace - (normal ? (double)n * log(sd) : 0);
    rmodel_release(&m);
    buf_release(&err);
    mem_free(x);
    return st == GPM_E_NOT_PD || st == GPM_E_FORMAT ? GPM_OK : st;
}

enum gpm_status regress_contest(struct regress *r) {
    double normal = -INFINITY, poisson = -INFINITY, crowd = -INFINITY;
    struct buf err = BUF_INIT;
    if (r->o.family != RFAMILY_AUTO || r->family != RFAMILY_NORMAL || !may_count(&r->t))
        return GPM_OK;
    enum gpm_status st = evidence(r, RFAMILY_NORMAL, &normal);
    if (!st) st = evidence(r, RFAMILY_POISSON, &poisson);
    if (!st) st = evidence(r, RFAMILY_NEGATIVE_BINOMIAL, &crowd);
    double best = fmax(poisson, crowd);
    if (st || !(best > normal + MARGIN)) return st;
    enum rfamily_kind kind = poisson > crowd ? RFAMILY_POISSON : RFAMILY_NEGATIVE_BINOMIAL;
    if (!(r->t.y_mean < SMALL)) {
        buf_printf(&r->t.notes,
                   "if '%s' counts something, --family %s describes it better (by %.3g nats of "
                   "evidence)\n",
                   r->t.y_name, rfamily_of(kind)->name, best - normal);
        return GPM_OK;
    }
    buf_printf(&r->t.notes,
               "'%s' is described better as a count than with normal noise, by %.3g nats of "
               "evidence (--family normal takes it for a measure)\n",
               r->t.y_name, best - normal);
    st = take(r, kind, &err);
    r->model.stop = r->o.stop;
    buf_release(&err);
    return st;
}
