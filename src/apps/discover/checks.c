/* SPDX-License-Identifier: Apache-2.0
 *
 * Model checks: statistics of the innovations e = L^-1 (y - m) at the best parameters, which are
 * independent standard normal when the model holds. Each statistic is compared with its
 * distribution under simulated innovations: the p-value of a posterior predictive check.
 */
#include "base/mem.h"
#include "apps/discover/discovery.h"
#include "numeric/la/mat.h"
#include <math.h>
#include <string.h>

#define SIMULATIONS 400

static double stat_lag1(const double *e, size_t n) {
    double a = 0, b = 0;
    for (size_t i = 0; i < n; i++) {
        b += e[i] * e[i];
        if (i) a += e[i] * e[i - 1];
    }
    return a / b;
}

/* The largest share of one frequency in the innovations' spectrum. */
static double stat_peak(const double *e, size_t n) {
    double best = 0, total = 0;
    size_t step = n > 600 ? n / 300 : 1;
    for (size_t k = 1; k < n / 2; k += step) {
        double c = 0, s = 0, w = 2 * M_PI * (double)k / (double)n, rc = cos(w), rs = sin(w);
        double x = 1, y = 0; /* rotating phasor: no trigonometry in the loop */
        for (size_t i = 0; i < n; i++) {
            c += e[i] * x;
            s += e[i] * y;
            double t = x * rc - y * rs;
            y = x * rs + y * rc;
            x = t;
        }
        double p = c * c + s * s;
        total += p;
        best = fmax(best, p);
    }
    return total > 0 ? best / total : 0;
}

/* Correlation of |e| with time: noise that grows or shrinks. */
static double stat_spread(const double *e, size_t n) {
    double mt = 0.5 * (double)(n - 1), ma = 0, st = 0, sa = 0, sta = 0;
    for (size_t i = 0; i < n; i++) ma += fabs(e[i]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = (double)i - mt, a = fabs(e[i]) - ma;
        st += t * t;
        sa += a * a;
        sta += t * a;
    }
    return sta / sqrt(st * sa);
}

static const struct {
    const char *name, *ok, *bad;
    double (*f)(const double *, size_t);
    bool two_sided, sizes; /* sizes of errors: those of 0 and 1 around a mean have theirs from it */
} rows[DISCOVERY_CHECKS] = {
    {"correlation of neighbouring innovations", "no sign that neighbouring errors are correlated",
     "neighbouring errors are correlated: some short-range structure is left", stat_lag1, true,
     false},
    {"largest peak of the innovations' spectrum", "no sign of a periodicity left in the errors",
     "the errors still hold a periodicity that the structure does not explain", stat_peak, false,
     false},
    {"largest innovation", "no sign of values out of line",
     "some values lie farther out than the model allows: outliers or heavy tails", mat_max_abs,
     false, true},
    {"spread of the innovations over time", "no sign that the size of the errors changes",
     "the size of the errors changes over time", stat_spread, true, true},
};

/* Innovations as they would be without a fault: normal; around a rate or by a chance, where they
 * have a distribution of their own, the same ones in another order. */
static void replicate(struct rng *r, bool hidden, const double *e, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        size_t j = hidden ? (size_t)(rng_uniform(r) * (double)(i + 1)) : i;
        if (j < i) out[i] = out[j];
        out[j] = hidden ? e[i] : rng_normal(r);
    }
}

/* Values that were all but certain leave errors that hold nothing. */
#define LITTLE 0.1

static void little_left(double *e, size_t n) {
    double sq = 0;
    for (size_t i = 0; i < n; i++) sq += e[i] * e[i];
    if (sq < LITTLE * (double)n) memset(e, 0, n * sizeof *e);
}

void discovery_checks(struct discovery *d) {
    const struct evidence *top = discovery_top(d);
    double *e = NEW_ARRAY(double, 2 * d->data.n), *sim = e + d->data.n;
    struct gp *g;
    struct rng r;
    rng_init(&r, d->opt.seed, 0, 99);
    enum gpm_status st = smodel_condition(smodel_of(top), series_space_of(&d->search)->work[0],
                                          top->prop.mode[0].z, &g);
    if (st || gp_innovations(g, e) != GPM_OK) {
        mem_free(e);
        return;
    }
    bool hidden = smodel_hidden(smodel_of(top)), by_mean = d->data.truths && !hidden;
    if (hidden) little_left(e, gp_n(g));
    size_t n = gp_n(g), sims = n > 700 ? 100 : SIMULATIONS;
    int above[DISCOVERY_CHECKS] = {0};
    for (int k = 0; k < DISCOVERY_CHECKS; k++)
        d->check[k].observed = rows[k].sizes && by_mean ? NAN : rows[k].f(e, n);
    for (size_t s = 0; s < sims; s++) {
        replicate(&r, hidden, e, n, sim);
        for (int k = 0; k < DISCOVERY_CHECKS; k++)
            above[k] += rows[k].f(sim, n) >= d->check[k].observed;
    }
    for (int k = 0; k < DISCOVERY_CHECKS; k++) {
        double p = (above[k] + 1.0) / ((double)sims + 2);
        d->check[k].p = rows[k].two_sided ? 2 * fmin(p, 1 - p) : p;
        if (isnan(d->check[k].observed)) d->check[k].p = 1; /* nothing was left, or nothing asked */
        d->check[k].name = rows[k].name;
        struct buf text = BUF_INIT; /* four checks are made: one in five good models shows a 0.05 */
        if (d->check[k].p < 0.05 && d->check[k].p >= 0.01) buf_puts(&text, "a weak sign: ");
        buf_puts(&text, d->check[k].p < 0.05 ? rows[k].bad : rows[k].ok);
        d->check[k].text = buf_take(&text);
    }
    mem_free(e);
}
