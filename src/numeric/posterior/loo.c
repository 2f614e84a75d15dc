/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out from draws of the posterior given all data. With l_si the log density of y_i in
 * draw s, the importance ratio of the posterior without y_i is r_s = exp(-l_si), and
 *
 *     p(y_i | y_-i)  ~  sum_s w_s exp(l_si) / sum_s w_s
 *
 * where w are the ratios with their largest values replaced by quantiles of a fitted generalised
 * Pareto distribution. The shape k of that tail shows whether the estimate is reliable: below 1/2
 * the ratios have a variance, below 1 a mean. */
#include "numeric/posterior/loo.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the generalised Pareto distribution ---- */

struct pareto {
    double k, sigma;
};

/* Zhang and Stephens (2009): averages the profile likelihood of theta = -k / sigma over a grid.
 * Then k is shrunk towards 1/2 with the weight of ten observations (Vehtari et al. 2024), so that
 * few exceedances do not dominate. x is positive and ascending. */
static struct pareto pareto_fit(const double *x, size_t n) {
    size_t m = 30 + (size_t)sqrt((double)n);
    double *theta = NEW_ARRAY(double, 2 * m), *lik = theta + m, top = -INFINITY;
    double quartile = x[(size_t)floor((double)n / 4 + 0.5) - 1], largest = x[n - 1];
    for (size_t j = 0; j < m; j++) {
        double k = 0;
        theta[j] = 1 / largest + (1 - sqrt((double)m / ((double)j + 0.5))) / (3 * quartile);
        for (size_t i = 0; i < n; i++) k += log1p(-theta[j] * x[i]) / (double)n;
        lik[j] = (double)n * (log(-theta[j] / k) - k - 1);
        if (lik[j] > top) top = lik[j];
    }
    double mean = 0, total = 0, k = 0;
    for (size_t j = 0; j < m; j++) {
        if (isnan(lik[j])) continue;
        mean += theta[j] * exp(lik[j] - top);
        total += exp(lik[j] - top);
    }
    mean /= total;
    mem_free(theta);
    for (size_t i = 0; i < n; i++) k += log1p(-mean * x[i]) / (double)n;
    double sigma = -k / mean, weight = (double)n / ((double)n + 10);
    return (struct pareto){isnan(k) ? INFINITY : k * weight + 0.5 * (1 - weight), sigma};
}

static double pareto_quantile(const struct pareto *g, double p) {
    double u = -log1p(-p); /* exponential */
    return g->k == 0 ? g->sigma * u : g->sigma * expm1(g->k * u) / g->k;
}

/* ---- smoothing ---- */

struct ranked {
    double x; /* first member, for number_compare */
    size_t at;
};

/* The largest ratios, r[0 .. n - 1] ascending above `cut` (log scale, at most 0), get quantiles of
 * the fitted distribution, but at most the largest observed ratio. */
static double smooth_tail(double *lw, const struct ranked *r, size_t n, double cut) {
    if (r[n - 1].x - r[0].x < 1e-16) return 0; /* equal: there is no tail */
    double *x = NEW_ARRAY(double, n);
    for (size_t i = 0; i < n; i++) x[i] = exp(r[i].x) - exp(cut);
    struct pareto g = pareto_fit(x, n);
    mem_free(x);
    if (!isfinite(g.k)) return g.k;
    for (size_t i = 0; i < n; i++) {
        double q = pareto_quantile(&g, ((double)i + 0.5) / (double)n);
        lw[r[i].at] = fmin(log(q + exp(cut)), 0);
    }
    return g.k;
}

double psis(double *lw, size_t n, double r_eff) {
    enum { FEWEST = 5 };
    size_t tail = (size_t)ceil(fmin(0.2 * (double)n, 3 * sqrt((double)n / r_eff)));
    struct ranked *r = NEW_ARRAY(struct ranked, n + 1);
    double k = INFINITY, top = -INFINITY;
    for (size_t i = 0; i < n; i++) top = fmax(top, lw[i]);
    for (size_t i = 0; i < n; i++) {
        lw[i] -= top;
        r[i] = (struct ranked){lw[i], i};
    }
    qsort(r, n, sizeof *r, number_compare);
    if (tail >= FEWEST) k = smooth_tail(lw, r + n - tail, tail, r[n - tail - 1].x);
    mem_free(r);
    double total = logsumexp(lw, n);
    for (size_t i = 0; i < n; i++) lw[i] -= total;
    return k;
}

/* ---- one observation ---- */

/* Number of independent draws per draw of exp(l); 1 if unknown. */
static double relative_ess(const double *l, size_t chains, size_t rows) {
    size_t n = chains * rows;
    double *x = NEW_ARRAY(double, n + 1), top = -INFINITY;
    for (size_t i = 0; i < n; i++) top = fmax(top, l[i]);
    for (size_t i = 0; i < n; i++) x[i] = exp(l[i] - top);
    double ess = draws_ess_mean(x, chains, rows) / (double)n;
    mem_free(x);
    return ess > 0 ? ess : 1;
}

static struct loo_point leave_out(const double *l, size_t chains, size_t rows) {
    size_t n = chains * rows;
    double *lw = NEW_ARRAY(double, n + 1), sd = draws_sd(l, n);
    double lpd = logsumexp(l, n) - log((double)n);
    for (size_t i = 0; i < n; i++) lw[i] = -l[i];
    struct loo_point p = {.k = psis(lw, n, relative_ess(l, chains, rows)), .p_waic = sd * sd};
    for (size_t i = 0; i < n; i++) lw[i] += l[i];
    p.elpd = logsumexp(lw, n);
    p.p = lpd - p.elpd;
    p.elpd_waic = lpd - p.p_waic;
    mem_free(lw);
    return p;
}

bool loo_of_table(const struct draw_table *d, struct loo *out, struct buf *why) {
    struct draw_table drawn;
    if (draw_table_draw(d, &drawn)) {
        bool good = loo_of_table(&drawn, out, why);
        draw_table_release(&drawn);
        out->weighted = good;
        return good;
    }
    size_t rows = draw_table_rows(d), n = rows * d->chain.n;
    VEC(struct loo_point) at = {0};
    for (size_t j = 0; j < draw_table_columns(d) && !why->len; j++) {
        if (draw_group_of(draw_table_name(d, j)) != DRAWS_LOG_LIK) continue;
        if (n < 10) buf_printf(why, "%zu draws are too few", n);
        double *l = draw_table_column(d, j);
        bool finite = true, there = true;
        for (size_t i = 0; i < n; i++) finite &= isfinite(l[i]) != 0;
        for (size_t i = 0; i < n; i++) there &= !number_is_absent(l[i]);
        if (!there)
            buf_printf(why, "observation %zu is absent in some draws", at.n + 1);
        else if (!finite)
            buf_printf(why, "observation %zu has probability zero in some draws", at.n + 1);
        if (!why->len) vec_push(&at, leave_out(l, d->chain.n, rows));
        mem_free(l);
    }
    if (!at.n && !why->len)
        buf_puts(why, "there are no columns log_lik; collect them with the draws: collect(mu, "
                      "log_lik())");
    *out = (struct loo){at.at, at.n, n, fmin(1 - 1 / log10((double)n), 0.7), false};
    if (why->len) loo_release(out);
    return !why->len;
}

void loo_release(struct loo *l) {
    mem_free(l->at);
    *l = (struct loo){0};
}

/* ---- sums ---- */

static struct loo_sum sum_of(const double *x, size_t n) {
    double sd = n > 1 ? draws_sd(x, n) : NAN;
    return (struct loo_sum){draws_mean(x, n) * (double)n, sqrt((double)n) * sd};
}

static double *field_of(const struct loo *l, size_t field) {
    double *x = NEW_ARRAY(double, l->n + 1);
    for (size_t i = 0; i < l->n; i++) memcpy(&x[i], (char *)&l->at[i] + field, sizeof *x);
    return x;
}

struct loo_sum loo_total(const struct loo *l, size_t field) {
    double *x = field_of(l, field);
    struct loo_sum s = sum_of(x, l->n);
    mem_free(x);
    return s;
}

struct loo_sum loo_difference(const struct loo *a, const struct loo *b) {
    double *x = NEW_ARRAY(double, a->n + 1);
    for (size_t i = 0; i < a->n; i++) x[i] = a->at[i].elpd - b->at[i].elpd;
    struct loo_sum s = sum_of(x, a->n);
    mem_free(x);
    return s;
}

/* ---- messages ---- */

size_t loo_complain(const struct loo *l, struct buf *out) {
    enum { SHOWN = 8 };
    size_t bad = 0, waic = 0;
    if (l->weighted) buf_puts(out, "the draws have weights: rows were drawn by weight first\n");
    for (size_t i = 0; i < l->n; i++) {
        waic += l->at[i].p_waic > 0.4;
        if (!(l->at[i].k > l->limit)) continue;
        if (bad < SHOWN)
            buf_printf(out, "%s%zu (%.2f)", bad ? ", " : "Pareto k is too large for observation ",
                       i + 1, l->at[i].k);
        bad++;
    }
    if (bad > SHOWN) buf_printf(out, " and %zu more", bad - SHOWN);
    if (bad)
        buf_printf(out,
                   "; %zu of %zu above %.2f: elpd_loo is too high by an unknown amount. Few draws, "
                   "or data that the model does not expect: run longer, look at these "
                   "observations, try longer tails (student_t)\n",
                   bad, l->n, l->limit);
    if (waic)
        buf_printf(out, "p_waic is above 0.4 for %zu of %zu observations: trust loo more\n", waic,
                   l->n);
    return bad + waic;
}

static const struct loo_line {
    const char *name;
    size_t field;
    double times;
} lines[] = {
    {"elpd_loo", offsetof(struct loo_point, elpd), 1},
    {"p_loo", offsetof(struct loo_point, p), 1},
    {"looic", offsetof(struct loo_point, elpd), -2},
    {"elpd_waic", offsetof(struct loo_point, elpd_waic), 1},
    {"p_waic", offsetof(struct loo_point, p_waic), 1},
    {"waic", offsetof(struct loo_point, elpd_waic), -2},
};

static struct loo_sum line_total(const struct loo *l, const struct loo_line *of) {
    struct loo_sum s = loo_total(l, of->field);
    return (struct loo_sum){of->times * s.sum, fabs(of->times) * s.se};
}

static void one_text(const struct loo_model *m, struct buf *out) {
    size_t at = out->len;
    double worst = -INFINITY;
    buf_printf(out, "%zu observations, %zu draws\n%-9s %10s %8s\n", m->loo.n, m->loo.draws, "",
               "estimate", "se");
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct loo_sum s = line_total(&m->loo, &lines[i]);
        buf_printf(out, "%-9s %10.2f %8.2f\n", lines[i].name, s.sum, s.se);
    }
    for (size_t i = 0; i < m->loo.n; i++) worst = fmax(worst, m->loo.at[i].k);
    at = out->len;
    loo_complain(&m->loo, out);
    if (out->len == at)
        buf_printf(out, "Pareto k is at most %.2f: elpd_loo can be trusted\n", worst);
}

static void comparison_text(const struct loo_model *m, size_t n, struct buf *out) {
    size_t wide = 8;
    for (size_t i = 0; i < n; i++)
        if (strlen(m[i].name) > wide) wide = strlen(m[i].name);
    int w = (int)(wide > 40 ? 40 : wide);
    buf_printf(out, "%-*s %10s %8s %10s %8s %8s\n", w, "", "elpd_diff", "se_diff", "elpd_loo", "se",
               "p_loo");
    for (size_t i = 0; i < n; i++) {
        struct loo_sum d = loo_difference(&m[i].loo, &m[0].loo);
        struct loo_sum e = line_total(&m[i].loo, &lines[0]), p = line_total(&m[i].loo, &lines[1]);
        buf_printf(out, "%-*s %10.2f %8.2f %10.2f %8.2f %8.2f\n", w, m[i].name, d.sum, d.se, e.sum,
                   e.se, p.sum);
    }
    for (size_t i = 0; i < n; i++) {
        struct buf said = BUF_INIT;
        loo_complain(&m[i].loo, &said);
        for (const char *p = said.data, *nl; (nl = strchr(p, '\n')); p = nl + 1)
            buf_printf(out, "%s: %.*s\n", m[i].name, (int)(nl - p), p);
        buf_release(&said);
    }
    struct loo_sum d = loo_difference(&m[1].loo, &m[0].loo);
    if (-d.sum < 4)
        buf_puts(out, "the first two differ by less than 4: they predict about equally well\n");
    else if (-d.sum < 2 * d.se)
        buf_puts(out, "the first two differ by less than two standard errors\n");
}

static void one_json(const struct loo_model *m, const struct loo_model *best, struct buf *out) {
    double *k = field_of(&m->loo, offsetof(struct loo_point, k));
    double *each = field_of(&m->loo, offsetof(struct loo_point, elpd));
    struct loo_sum d = loo_difference(&m->loo, &best->loo);
    struct buf said = BUF_INIT;
    buf_putc(out, '{');
    JSON(out, FIELD("name", m->name), FIELD("observations", m->loo.n),
         FIELD("draws", m->loo.draws));
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct loo_sum s = line_total(&m->loo, &lines[i]);
        char se[32];
        snprintf(se, sizeof se, "se_%s", lines[i].name);
        JSON(out, FIELD(lines[i].name, s.sum), FIELD(se, s.se));
    }
    loo_complain(&m->loo, &said);
    JSON(out, FIELD("elpd_diff", d.sum), FIELD("se_diff", d.se), FIELD("warnings", said.data));
    buf_puts(out, ", \"pareto_k\": ");
    json_list(out, m->loo.n, k);
    buf_puts(out, ", \"elpd_loo_i\": ");
    json_list(out, m->loo.n, each);
    buf_putc(out, '}');
    buf_release(&said);
    mem_free(k);
    mem_free(each);
}

static int by_elpd(const void *a, const void *b) {
    const struct loo_model *x = a, *y = b;
    double d = loo_total(&y->loo, 0).sum - loo_total(&x->loo, 0).sum;
    return (d > 0) - (d < 0);
}

bool loo_report(struct loo_model *m, size_t n, bool json, struct buf *out, struct buf *why) {
    for (size_t i = 1; i < n && !why->len; i++)
        if (m[i].loo.n != m[0].loo.n)
            buf_printf(why,
                       "%s has %zu observations and %s has %zu: models are compared on the same "
                       "data",
                       m[0].name, m[0].loo.n, m[i].name, m[i].loo.n);
    if (why->len) return false;
    qsort(m, n, sizeof *m, by_elpd);
    if (json) buf_puts(out, "[");
    for (size_t i = 0; i < n && json; i++) {
        if (i) buf_puts(out, ", ");
        one_json(&m[i], &m[0], out);
    }
    if (json) buf_puts(out, "]\n");
    if (!json && n == 1) one_text(m, out);
    if (!json && n > 1) comparison_text(m, n, out);
    return true;
}
