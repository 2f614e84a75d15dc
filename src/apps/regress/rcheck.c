/* SPDX-License-Identifier: Apache-2.0
 *
 * How well a regression predicts. One row at a time: with the prediction N(m_is, v_is) of row i
 * from all others under draw s of the parameters (gp_loo), and p(theta | y without y_i) in
 * proportion to p(theta | y) / p(y_i | theta, y without y_i), the draws are weighted by
 * 1 / N(y_i; m_is, v_is), smoothed as in numeric/posterior/loo.h. With rows left aside: their
 * prediction. Of chances and counts N is the function's, and p(y_i | ...) the integral over it
 * (rfamily.h).
 */
#include "base/mem.h"
#include "base/number.h"
#include "numeric/posterior/loo.h"
#include "numeric/special/special.h"
#include "apps/regress/regress.h"
#include "apps/regress/rstarts.h"
#include <math.h>
#include <stdlib.h>

struct checking {
    const struct regress *r;
    size_t n;
    double *mean, *sd; /* draws x n: of measurements, standardised; of chances and counts of the
                          function */
    double *size;      /* draws */
};

static enum gp_target target(const struct regress *r) {
    return regress_hidden(r) ? GP_LATENT : GP_MEASURED;
}

static enum gpm_status one_at_a_time(void *ctx, size_t draw, struct rprocess *p) {
    struct checking *c = ctx;
    double *mean = c->mean + draw * c->n, *sd = c->sd + draw * c->n;
    const struct regress *r = c->r;
    enum gpm_status st = rprocess_loo(p, mean, sd);
    if (!st && r->wild)
        st = gp_predict(p->g, r->x + r->n * (size_t)r->t.d, r->wild, GP_MEASURED, mean + r->n,
                        sd + r->n);
    for (size_t i = 0; i < c->n && !st; i++) sd[i] = sqrt(fmax(sd[i], 1e-24));
    return st;
}

static enum gpm_status those_apart(void *ctx, size_t draw, struct rprocess *p) {
    struct checking *c = ctx;
    const struct regress *r = c->r;
    double *mean = c->mean + draw * c->n, *sd = c->sd + draw * c->n;
    enum gpm_status st =
        gp_predict(p->g, r->x + r->check.from * (size_t)r->t.d, c->n, target(r), mean, sd);
    for (size_t i = 0; i < c->n && !st; i++) sd[i] = sqrt(fmax(sd[i], 1e-24));
    return st;
}

/* log p(y) of row i from the others, under one draw. */
static double log_density(const struct checking *c, size_t k, size_t i, double y) {
    double m = c->mean[k * c->n + i], s = c->sd[k * c->n + i], t = (y - m) / s;
    return regress_hidden(c->r) ? rfamily_log_density(c->r->model.family, &c->size[k], y, m, s)
                                : -0.5 * t * t - log(s);
}

/* The weights of the draws for row i: of the model's rows, those without it. */
static void weigh(const struct checking *c, size_t i, double y, double *w) {
    size_t draws = c->r->model.used;
    bool apart = c->r->check.from + i >= c->r->n;
    for (size_t k = 0; k < draws; k++) w[k] = apart ? 0 : -log_density(c, k, i, y);
    if (!apart) (void)psis(w, draws, 1);
    for (size_t k = 0; k < draws; k++) w[k] = apart ? 1 / (double)draws : exp(w[k]);
}

/* What is known of each row of the check, and of what is compared with it. */
struct rows {
    const double *y;
    double *far; /* standard deviations off, or of a normal distribution with such tails */
    double *mean[RSCORES], *logs[RSCORES]; /* logs of normal measurements: the model's own alone */
};

/* Row i of normal measurements, standardised. */
static void of_normal(struct regress *r, const struct checking *c, size_t i, const double *w,
                      struct rows *v) {
    struct rcheck *k = &r->check;
    double low = (1 - r->o.level) / 2;
    struct rmix x = {r->model.family, r->model.used, w, c->mean + i, c->sd + i, c->n, NULL};
    struct mixture m = {0};
    rmix_normals(&x, 0, &m);
    k->mean[i] = mixture_mean(&m);
    k->sd[i] = mixture_sd(&m);
    v->far[i] = fabs(v->y[i] - k->mean[i]) / k->sd[i];
    rmix_normals(&x, r->wild_share, &m); /* as measurements are */
    k->lo[i] = mixture_quantile(&m, low);
    k->hi[i] = mixture_quantile(&m, 1 - low);
    v->logs[RSCORE_OWN][i] = mixture_log_score(&m, v->y[i]);
    mixture_release(&m);
}

/* Of counts whose logarithms are hardly known the mean is made by what is least known, the tail;
 * the median is not. */
static double point(const struct regress *r, double mean, double median) {
    return r->family == RFAMILY_CHANCE ? mean : median;
}

/* Of a chance or a count. */
static void of_hidden(struct regress *r, const struct checking *c, size_t i, const double *w,
                      struct rows *v) {
    struct rcheck *k = &r->check;
    struct rmix x = {r->model.family, r->model.used, w, c->mean + i, c->sd + i, c->n, c->size};
    struct rprediction p = rmix_predict(&x, r->o.level, r->o.seed, k->from + i);
    bool may = fabs(v->y[i] - p.mean) > 2 * p.new_sd;
    k->mean[i] = point(r, p.mean, p.median);
    k->sd[i] = p.new_sd, k->lo[i] = p.new_lo, k->hi[i] = p.new_hi;
    v->far[i] = may ? -norm_quantile(fmax(1e-300, rmix_tail(&x, v->y[i])) / 2) : 0;
    v->logs[RSCORE_OWN][i] = rmix_log_density(&x, v->y[i]);
}

static void summarise(struct regress *r, const struct checking *c, struct rows *v) {
    double *w = NEW_ARRAY(double, r->model.used + 1);
    for (size_t i = 0; i < c->n; i++) {
        weigh(c, i, v->y[i], w);
        (regress_hidden(r) ? of_hidden : of_normal)(r, c, i, w, v);
    }
    mem_free(w);
}

/* Another model under the family, its parameters at their optimum: means of the rows and what it
 * says of each. */
static enum gpm_status simpler(const struct regress *r, const char *kernel, size_t n, double *mean,
                               double *logs) {
    struct rmodel_data data = {r->t.d, r->n, r->x, r->y, r->family};
    const struct rcheck *k = &r->check;
    struct rmodel m;
    struct rprocess p = {0};
    struct buf err = BUF_INIT;
    double *var = NEW_ARRAY(double, n + 1), z[PROPOSAL_MAX_DIM] = {0};
    enum gpm_status st = rmodel_init(&m, &data, kernel, &err);
    m.stop = r->o.stop;
    if (!st) rstarts_one(&m, z);
    if (!st) st = rprocess_init(&p, &m);
    if (!st) st = rprocess_use(&p, z);
    if (!st) st = rprocess_settle(&p);
    if (!st && k->apart)
        st = gp_predict(p.g, r->x + k->from * (size_t)r->t.d, n, GP_LATENT, mean, var);
    else if (!st)
        st = rprocess_loo(&p, mean, var);
    double size = m.d > m.nk ? rmodel_value(&m, m.nk, z[m.nk]) : 1;
    for (size_t i = 0; i < n && !st; i++) {
        double f = mean[i], s = sqrt(fmax(var[i], 1e-24));
        mean[i] = point(r, rfamily_response(m.family, &size, f, s).mean, m.family->mean(f));
        logs[i] = rfamily_log_density(m.family, &size, r->y[k->from + i], f, s);
    }
    rprocess_release(&p);
    rmodel_release(&m);
    buf_release(&err);
    mem_free(var);
    return st;
}

/* Straight lines, as good as unregularised: a kernel of great variance. */
static enum gpm_status straight_lines(const struct regress *r, size_t n, double *mean) {
    struct kern *k;
    enum gpm_status st = kern_parse("1000000 + LIN(sf=1000)", &k, NULL);
    if (st) return st;
    struct gp *g = gp_new(r->t.d, k, NULL, 1, NULL);
    gp_set_approx(g, GP_EXACT, 0);
    gp_set_ways(g, GP_FACTORS);
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

/* Set aside, or beyond what chance gives in one of twenty tables of this size. */
static void find_odd(const struct regress *r, struct rcheck *k, const double *far) {
    double limit = fmax(3, norm_quantile(1 - 0.025 / (double)k->n));
    struct odd *o = NEW_ARRAY(struct odd, k->n + 1);
    for (size_t i = 0; i < k->n; i++)
        if (far[i] > limit || (!k->apart && i >= r->n)) o[k->n_odd++] = (struct odd){-far[i], i};
    qsort(o, k->n_odd, sizeof *o, number_compare);
    k->odd = NEW_ARRAY(size_t, k->n_odd + 1);
    for (size_t i = 0; i < k->n_odd; i++) k->odd[i] = o[i].at;
    mem_free(o);
}

/* ---- scores of chances ---- */

struct ranked {
    double chance; /* first: it is what is compared */
    bool is;
};

/* The share of pairs of a row that has the value and one that has not in which the first has the
 * larger chance; equal ones count half (Mann and Whitney). */
static double auc(size_t n, const double *chance, const double *y) {
    struct ranked *v = NEW_ARRAY(struct ranked, n + 1);
    double below = 0, sum = 0, with = 0;
    for (size_t i = 0; i < n; i++) v[i] = (struct ranked){chance[i], y[i] > 0.5};
    qsort(v, n, sizeof *v, number_compare);
    for (size_t i = 0, end; i < n; i = end) {
        double is = 0, not = 0;
        for (end = i; end < n && v[end].chance == v[i].chance; end++) v[end].is ? is++ : not ++;
        sum += is * (below + not / 2);
        below += not, with += is;
    }
    mem_free(v);
    return with > 0 && below > 0 ? sum / (with * below) : NAN;
}

static double log_odds(double p) {
    p = fmin(1 - 1e-12, fmax(1e-12, p));
    return log(p) - log1p(-p);
}

/* A row that is left out takes its value from the share of all: where inputs tell nothing, chances
 * of rows that have it are the smaller ones. Its odds are put back by what the share's moved. */
static void put_back(const struct regress *r, size_t n, const double *chance, const double *y,
                     double *out) {
    double sum = 0, m = (double)r->n;
    for (size_t i = 0; i < r->n; i++) sum += r->y[i];
    for (size_t i = 0; i < n; i++) {
        double others = r->check.apart ? sum / m : (sum - y[i]) / (m - 1);
        out[i] = logistic(log_odds(chance[i]) - log_odds(others) + log_odds(sum / m));
    }
}

static void score(const struct regress *r, struct rscore *s, size_t n, const double *chance,
                  const double *y) {
    double *p = NEW_ARRAY(double, n + 1);
    put_back(r, n, chance, y, p);
    s->auc = auc(n, p, y);
    for (size_t i = 0; i < n; i++) s->right += ((p[i] > 0.5) == (y[i] > 0.5)) / (double)n;
    mem_free(p);
}

/* Whether errors a are smaller than b, both squared, by two standard errors of the difference. */
static bool smaller(size_t n, const double *a, const double *b) {
    double mean = 0, sq = 0;
    for (size_t i = 0; i < n; i++) mean += (b[i] - a[i]) / (double)n;
    for (size_t i = 0; i < n; i++) sq += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
    return mean > 2 * sqrt(sq / (double)(n - 1) / (double)n);
}

/* Without inputs all rows are alike, and the guess is the more frequent value. */
static void score_none(struct regress *r, const double *y, size_t n, double share) {
    struct rscore *s = &r->check.score[RSCORE_NONE];
    s->auc = 0.5, s->right = 0;
    for (size_t i = 0; i < n; i++) s->right += ((share > 0.5) == (y[i] > 0.5)) / (double)n;
}

/* Squared errors a, b, c of the three; and whether the model's predictions are better, by squared
 * errors or, of chances and counts, by what they gave to what happened. */
static void compare(struct regress *r, const struct rows *v, size_t n, double *a) {
    struct rcheck *k = &r->check;
    double sum = 0, *e[RSCORES] = {a, a + n, a + 2 * n}, mse[RSCORES] = {0};
    bool hidden = regress_hidden(r);
    for (size_t i = 0; i < r->n; i++) sum += r->y[i];
    for (size_t i = 0; i < n; i++) {
        if (!hidden) v->mean[RSCORE_NONE][i] = mean_of_others(r, k->from + i, sum);
        for (int s = 0; s < RSCORES; s++) {
            double off = v->y[i] - v->mean[s][i];
            e[s][i] = off * off;
            mse[s] += e[s][i] / (double)n;
        }
    }
    double unit = hidden ? 1 : r->t.y_sd;
    k->rmse = unit * sqrt(mse[RSCORE_OWN]), k->rmse_linear = unit * sqrt(mse[RSCORE_LINES]);
    k->rmse_mean = unit * sqrt(mse[RSCORE_NONE]);
    k->r2 = 1 - mse[RSCORE_OWN] / mse[RSCORE_NONE];
    k->r2_linear = 1 - mse[RSCORE_LINES] / mse[RSCORE_NONE];
    for (int s = 0; s < RSCORES && hidden; s++)
        for (size_t i = 0; i < n; i++) {
            e[s][i] = -v->logs[s][i];
            k->score[s].log += v->logs[s][i] / (double)n;
        }
    for (int s = 0; s < RSCORES && r->family == RFAMILY_CHANCE; s++)
        score(r, &k->score[s], n, v->mean[s], v->y);
    if (r->family == RFAMILY_CHANCE) score_none(r, v->y, n, sum / (double)r->n);
    k->beats_mean = smaller(n, e[RSCORE_OWN], e[RSCORE_NONE]);
    k->beats_lines = smaller(n, e[RSCORE_OWN], e[RSCORE_LINES]);
}

/* From standardised numbers to the outcome's units. */
static void finish(struct regress *r, struct rows *v) {
    struct rcheck *k = &r->check;
    bool hidden = regress_hidden(r);
    double unit = hidden ? 1 : r->t.y_sd, base = hidden ? 0 : r->t.y_mean, inside = 0;
    size_t n = k->apart ? k->n : r->n; /* without those set aside */
    double *a = NEW_ARRAY(double, 3 * n + 1);
    v->mean[RSCORE_OWN] = k->mean;
    compare(r, v, n, a);
    mem_free(a);
    find_odd(r, k, v->far);
    for (size_t i = 0; i < k->n; i++) inside += v->y[i] >= k->lo[i] && v->y[i] <= k->hi[i];
    k->coverage = inside / (double)k->n;
    if (!hidden) /* of all rows, too, in the outcome's units */
        for (size_t i = 0; i < k->n; i++)
            k->score[RSCORE_OWN].log += (v->logs[RSCORE_OWN][i] - log(unit)) / (double)k->n;
    for (size_t i = 0; i < k->n; i++) {
        k->sd[i] *= unit;
        k->mean[i] = base + unit * k->mean[i];
        k->lo[i] = base + unit * k->lo[i];
        k->hi[i] = base + unit * k->hi[i];
    }
}

enum { APART_MOST = 4000 }; /* rows that test the model */

enum gpm_status regress_check(struct regress *r) {
    struct rcheck *k = &r->check;
    size_t apart = r->t.n - r->n - r->wild, draws = r->model.used;
    k->apart = apart >= 100; /* fewer are no test */
    k->from = k->apart ? r->n + r->wild : 0;
    k->n = !k->apart ? r->n + r->wild : apart < APART_MOST ? apart : APART_MOST;
    k->mean = NEW_ARRAY(double, 4 * k->n + 1);
    k->sd = k->mean + k->n, k->lo = k->sd + k->n, k->hi = k->lo + k->n;
    double *room = NEW_ARRAY(double, (2 * draws + 6) * k->n + 1), *more = room + 2 * draws * k->n;
    struct rows v = {.y = r->y + k->from, .far = more};
    for (int s = 0; s < RSCORES; s++) v.logs[s] = more += k->n;
    v.mean[RSCORE_LINES] = more += k->n, v.mean[RSCORE_NONE] = more + k->n;
    struct checking c = {r, k->n, room, room + draws * k->n, regress_sizes(r, draws)};
    enum gpm_status st = regress_each(r, draws, k->apart ? those_apart : one_at_a_time, &c);
    if (!st && !regress_hidden(r)) st = straight_lines(r, k->n, v.mean[RSCORE_LINES]);
    if (!st && regress_hidden(r))
        st = simpler(r, "100 + LIN(sf=1)", k->n, v.mean[RSCORE_LINES], v.logs[RSCORE_LINES]);
    if (!st && regress_hidden(r))
        st = simpler(r, "100", k->n, v.mean[RSCORE_NONE], v.logs[RSCORE_NONE]);
    if (!st) {
        summarise(r, &c, &v);
        finish(r, &v);
    }
    mem_free(c.size);
    mem_free(room);
    return st;
}
