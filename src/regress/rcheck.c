/* SPDX-License-Identifier: Apache-2.0
 *
 * How well a regression predicts. One row at a time: with the prediction N(m_is, v_is) of row i
 * from all others under draw s of the parameters (gp_loo), and p(theta | y without y_i) in
 * proportion to p(theta | y) / p(y_i | theta, y without y_i), the draws are weighted by
 * 1 / N(y_i; m_is, v_is), smoothed as in infer/loo.h. With rows left aside: their prediction.
 */
#include "base/mem.h"
#include "infer/loo.h"
#include "math/special.h"
#include "regress/regress.h"
#include <math.h>
#include <stdlib.h>

struct checking {
    const struct regress *r;
    size_t n;
    double *mean, *sd; /* draws x n, standardised */
};

static enum gpm_status one_at_a_time(void *ctx, size_t draw, struct gp *g) {
    struct checking *c = ctx;
    double *mean = c->mean + draw * c->n, *sd = c->sd + draw * c->n;
    const struct regress *r = c->r;
    enum gpm_status st = gp_loo(g, mean, sd, NULL);
    if (!st && r->wild)
        st = gp_predict(g, r->x + r->n * (size_t)r->t.d, r->wild, GP_MEASURED, mean + r->n,
                        sd + r->n);
    for (size_t i = 0; i < c->n && !st; i++) sd[i] = sqrt(fmax(sd[i], 1e-24));
    return st;
}

static enum gpm_status those_apart(void *ctx, size_t draw, struct gp *g) {
    struct checking *c = ctx;
    const struct regress *r = c->r;
    double *mean = c->mean + draw * c->n, *sd = c->sd + draw * c->n;
    enum gpm_status st =
        gp_predict(g, r->x + r->check.from * (size_t)r->t.d, c->n, GP_MEASURED, mean, sd);
    for (size_t i = 0; i < c->n && !st; i++) sd[i] = sqrt(fmax(sd[i], 1e-24));
    return st;
}

/* The weights of the draws for row i: of the model's rows, those without it. */
static void weigh(const struct checking *c, size_t i, double y, double *w) {
    size_t draws = c->r->model.used;
    bool apart = c->r->check.from + i >= c->r->n;
    for (size_t k = 0; k < draws; k++) {
        double s = c->sd[k * c->n + i], t = (y - c->mean[k * c->n + i]) / s;
        w[k] = apart ? 0 : 0.5 * t * t + log(s);
    }
    if (!apart) (void)psis(w, draws, 1);
    for (size_t k = 0; k < draws; k++) w[k] = apart ? 1 / (double)draws : exp(w[k]);
}

static void summarise(struct regress *r, const struct checking *c, const double *y) {
    struct rcheck *k = &r->check;
    size_t draws = r->model.used, n = c->n;
    double *w = NEW_ARRAY(double, draws + 1), low = (1 - r->o.level) / 2;
    for (size_t i = 0; i < n; i++) {
        double m = 0, v = 0;
        weigh(c, i, y[i], w);
        for (size_t s = 0; s < draws; s++) m += w[s] * c->mean[s * n + i];
        for (size_t s = 0; s < draws; s++) {
            double off = c->mean[s * n + i] - m, sd = c->sd[s * n + i];
            v += w[s] * (off * off + sd * sd);
        }
        k->mean[i] = m;
        k->sd[i] = sqrt(v);
        k->lo[i] = rmix_quantile(draws, w, c->mean + i, c->sd + i, n, low);
        k->hi[i] = rmix_quantile(draws, w, c->mean + i, c->sd + i, n, 1 - low);
    }
    mem_free(w);
}

/* Straight lines, as good as unregularised: a kernel of great variance. */
static enum gpm_status straight_lines(const struct regress *r, size_t n, double *mean) {
    struct kern *k;
    enum gpm_status st = kern_parse("1000000 + LIN(sf=1000)", &k, NULL);
    if (st) return st;
    struct gp *g = gp_new(r->t.d, k, NULL, 1, NULL);
    gp_set_approx(g, GP_EXACT, 0);
    gp_set_structured(g, 0);
    st = gp_add(g, GP_MEASURED, r->x, r->y, r->n);
    if (!st && r->check.apart)
        st = gp_predict(g, r->x + r->check.from * (size_t)r->t.d, n, GP_LATENT, mean, NULL);
    else if (!st)
        st = gp_loo(g, mean, NULL, NULL);
    if (!st && !r->check.apart && r->wild)
        st = gp_predict(g, r->x + r->n * (size_t)r->t.d, r->wild, GP_LATENT, mean + r->n, NULL);
    gp_free(g);
    kern_unref(k);
    return st;
}

/* The mean of the others in the model, as a prediction of row i. */
static double mean_of_others(const struct regress *r, size_t i, double sum) {
    return i < r->n ? (sum - r->y[i]) / (double)(r->n - 1) : sum / (double)r->n;
}

struct odd {
    double minus; /* first: it is what is compared */
    size_t at;
};

static int farther(const void *a, const void *b) {
    const struct odd *p = a, *q = b;
    return p->minus != q->minus ? (p->minus > q->minus) - (p->minus < q->minus)
                                : (p->at > q->at) - (p->at < q->at);
}

/* Set aside, or beyond what chance gives in one of twenty tables of this size. */
static void find_odd(const struct regress *r, struct rcheck *k, const double *y) {
    double limit = fmax(3, norm_quantile(1 - 0.025 / (double)k->n));
    struct odd *o = NEW_ARRAY(struct odd, k->n + 1);
    for (size_t i = 0; i < k->n; i++) {
        double far = fabs(y[i] - k->mean[i]) / k->sd[i];
        if (far > limit || (!k->apart && i >= r->n)) o[k->n_odd++] = (struct odd){-far, i};
    }
    qsort(o, k->n_odd, sizeof *o, farther);
    k->odd = NEW_ARRAY(size_t, k->n_odd + 1);
    for (size_t i = 0; i < k->n_odd; i++) k->odd[i] = o[i].at;
    mem_free(o);
}

/* Whether errors a are smaller than b, both squared, by two standard errors of the difference. */
static bool smaller(size_t n, const double *a, const double *b) {
    double mean = 0, sq = 0;
    for (size_t i = 0; i < n; i++) mean += (b[i] - a[i]) / (double)n;
    for (size_t i = 0; i < n; i++) sq += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
    return mean > 2 * sqrt(sq / (double)(n - 1) / (double)n);
}

/* From standardised numbers to the outcome's units. */
static void finish(struct regress *r, const double *y, const double *lines) {
    struct rcheck *k = &r->check;
    double own = 0, mean = 0, line = 0, sum = 0, unit = r->t.y_sd, inside = 0;
    size_t n = k->apart ? k->n : r->n; /* without those set aside */
    double *a = NEW_ARRAY(double, 3 * n + 1), *b = a + n, *c = b + n;
    for (size_t i = 0; i < r->n; i++) sum += r->y[i];
    for (size_t i = 0; i < n; i++) {
        double m = y[i] - mean_of_others(r, k->from + i, sum);
        a[i] = (y[i] - k->mean[i]) * (y[i] - k->mean[i]);
        b[i] = m * m, c[i] = (y[i] - lines[i]) * (y[i] - lines[i]);
        inside += y[i] >= k->lo[i] && y[i] <= k->hi[i];
        own += a[i] / (double)n, mean += b[i] / (double)n, line += c[i] / (double)n;
    }
    k->beats_mean = smaller(n, a, b), k->beats_lines = smaller(n, a, c);
    mem_free(a);
    find_odd(r, k, y);
    k->rmse = unit * sqrt(own), k->rmse_mean = unit * sqrt(mean),
    k->rmse_linear = unit * sqrt(line);
    k->r2 = 1 - own / mean, k->r2_linear = 1 - line / mean;
    k->coverage = inside / (double)n;
    for (size_t i = 0; i < k->n; i++) {
        k->sd[i] *= unit;
        k->mean[i] = r->t.y_mean + unit * k->mean[i];
        k->lo[i] = r->t.y_mean + unit * k->lo[i];
        k->hi[i] = r->t.y_mean + unit * k->hi[i];
    }
}

enum { APART_MOST = 4000 }; /* rows that test the model */

enum gpm_status regress_check(struct regress *r) {
    struct rcheck *k = &r->check;
    size_t apart = r->t.n - r->n - r->wild, draws = r->model.used;
    k->apart = apart >= 100; /* fewer are no test */
    k->from = k->apart ? r->n + r->wild : 0;
    k->n = !k->apart ? r->n + r->wild : apart < APART_MOST ? apart : APART_MOST;
    const double *y = r->y + k->from;
    k->mean = NEW_ARRAY(double, 4 * k->n + 1);
    k->sd = k->mean + k->n, k->lo = k->sd + k->n, k->hi = k->lo + k->n;
    double *room = NEW_ARRAY(double, (2 * draws + 1) * k->n + 1), *lines = room + 2 * draws * k->n;
    struct checking c = {r, k->n, room, room + draws * k->n};
    enum gpm_status st = regress_each(r, draws, k->apart ? those_apart : one_at_a_time, &c);
    if (!st) st = straight_lines(r, k->n, lines);
    if (!st) {
        summarise(r, &c, y);
        finish(r, y, lines);
    }
    mem_free(room);
    return st;
}
