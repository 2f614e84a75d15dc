/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows out of line, by the rule of numeric/posterior/wild.h: a mixture of the model and of a wide
 * distribution, in which each row belongs to one of the two. At the best mode every row is
 * predicted from the others; those that stand out by SUSPECT robust standard deviations are set
 * aside, the modes of the others found, and all are judged again, until nothing changes. With `out`
 * the rows set aside,
 *
 *     log Z1 = log Z(others) + sum_out log(SHARE wide(y_i)) + sum_others log(1 - SHARE)
 *
 * is a lower bound of the mixture's evidence. Unless the user asked for it, they stay aside where
 * it exceeds the evidence of normal noise by MARGIN nats, and that of a model of the outcome's
 * logarithm: what is out of line on one scale alone is a matter of the scale.
 */
#include "base/mem.h"
#include "base/number.h"
#include "numeric/posterior/wild.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUSPECT 4.5
#define MOST    0.15 /* of the rows at most: more are no exceptions */
#define MARGIN  3.0
#define STRETCH 4.0 /* largest outcome over the smallest, from which its logarithm is tried */

enum { ROUNDS = 5, FEWEST = 12, LOG_ROWS = 700, SAME = 5 /* one in so many rows, see below */ };

struct aside {
    struct regress *r;
    size_t all;          /* rows of the model before */
    size_t *row;         /* as they were */
    double *mean, *sd;   /* of each row in the order of r, predicted from the others */
    bool *out;           /* of row[i] */
    double before;       /* log evidence of normal noise, of the outcome as read */
    struct rmodel first; /* of all rows, once there is another */
};

/* ---- one round ---- */

static enum gpm_status predict_others(struct aside *a) {
    struct regress *r = a->r;
    struct rprocess p;
    enum gpm_status st = rprocess_init(&p, &r->model);
    if (!st) st = rprocess_use(&p, r->model.q.mode[0].z);
    if (!st) st = rprocess_loo(&p, a->mean, a->sd);
    if (!st && r->wild)
        st = gp_predict(p.g, r->x + r->n * (size_t)r->t.d, r->wild, GP_MEASURED, a->mean + r->n,
                        a->sd + r->n);
    for (size_t i = 0; i < a->all && !st; i++) a->sd[i] = sqrt(fmax(a->sd[i], 1e-24));
    rprocess_release(&p);
    return st;
}

static double distance(const struct aside *a, size_t i) {
    return (a->r->y[i] - a->mean[i]) / a->sd[i];
}

/* Standard deviations are too large while rows out of line are among the model's. */
static double robust_unit(const struct aside *a) {
    double *v = NEW_ARRAY(double, a->all + 1);
    for (size_t i = 0; i < a->all; i++) v[i] = fabs(distance(a, i));
    qsort(v, a->all, sizeof *v, number_compare);
    double unit = 1.4826 * v[a->all / 2];
    mem_free(v);
    return fmin(1, unit);
}

/* Which rows are out, in their first order; how many, and whether that is news. A row that was set
 * aside comes back where the odds say so. */
static size_t judge(struct aside *a, bool *news) {
    const struct regress *r = a->r;
    double unit = robust_unit(a);
    bool *out = mem_zalloc(r->t.n * sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < a->all; i++) {
        double far = distance(a, i), logp = -0.5 * far * far - log(a->sd[i] * sqrt(2 * M_PI));
        out[r->row[i]] = i < r->n ? fabs(far) > SUSPECT * unit : wild_is(logp, far, a->sd[i]);
    }
    *news = false;
    for (size_t i = 0; i < a->all; i++) {
        *news = *news || a->out[i] != out[a->row[i]];
        a->out[i] = out[a->row[i]];
        n += a->out[i];
    }
    mem_free(out);
    return n;
}

/* The rows in the order of the model's and those out; the outcome's scale is that of the first. */
static void order_rows(struct aside *a) {
    struct regress *r = a->r;
    size_t n = 0, last = a->all;
    for (size_t i = 0; i < a->all; i++)
        if (!a->out[i]) r->row[n++] = a->row[i];
    for (size_t i = a->all; i-- > 0;)
        if (a->out[i]) r->row[--last] = a->row[i];
    r->wild = a->all - n;
    r->n = n;
    rtable_scale_outcome(&r->t, r->row, n);
    regress_fill(r);
}

/* The model of the rows that are not out, from the last one's mode. */
static enum gpm_status refit(struct aside *a) {
    struct regress *r = a->r;
    struct buf err = BUF_INIT; /* the kernel was fine before */
    struct rmodel last = r->model;
    order_rows(a);
    struct rmodel_data data = {r->t.d, r->n, r->x, r->y, RFAMILY_NORMAL};
    enum gpm_status st = rmodel_init(&r->model, &data, r->o.kernel, &err);
    buf_release(&err);
    r->model.stop = r->o.stop;
    if (!st) st = rmodel_find_near(&r->model, &last.q.mode[0], r->o.seed, r->o.threads);
    if (a->first.k)
        rmodel_release(&last);
    else
        a->first = last;
    return st;
}

/* ---- evidences, of the outcome as read ---- */

static double evidence(const struct aside *a) {
    const struct regress *r = a->r;
    double sum = r->model.laplace - (double)r->n * log(r->t.y_sd);
    if (r->wild) sum += (double)r->n * log1p(-WILD_SHARE);
    for (size_t i = r->n; i < r->n + r->wild; i++)
        sum += log(WILD_SHARE) + wild_log_density(distance(a, i), a->sd[i] * r->t.y_sd);
    return sum;
}

/* Of a model of the logarithms of all rows; -inf: it is out of the question. */
static enum gpm_status log_evidence(const struct aside *a, double *out) {
    const struct regress *r = a->r;
    size_t n = a->all;
    double *y = NEW_ARRAY(double, n), mean = 0, sq = 0, lo = INFINITY, hi = -INFINITY, logs = 0;
    enum gpm_status st = GPM_OK;
    *out = -INFINITY;
    for (size_t i = 0; i < n; i++)
        lo = fmin(lo, r->t.y[r->row[i]]), hi = fmax(hi, r->t.y[r->row[i]]);
    if (lo > 0 && hi > STRETCH * lo) {
        for (size_t i = 0; i < n; i++) logs += y[i] = log(r->t.y[r->row[i]]);
        mean = logs / (double)n;
        for (size_t i = 0; i < n; i++) sq += (y[i] - mean) * (y[i] - mean);
        double sd = sqrt(sq / (double)(n - 1));
        for (size_t i = 0; i < n; i++) y[i] = (y[i] - mean) / sd;
        struct rmodel m;
        struct buf err = BUF_INIT;
        struct rmodel_data data = {r->t.d, n, r->x, y, RFAMILY_NORMAL};
        st = rmodel_init(&m, &data, r->o.kernel, &err);
        m.stop = r->o.stop;
        if (!st) st = rmodel_find(&m, r->o.seed, r->o.threads);
        if (!st) *out = m.laplace - (double)n * log(sd) - logs;
        buf_release(&err);
        rmodel_release(&m);
    }
    mem_free(y);
    return st == GPM_E_NOT_PD ? GPM_OK : st;
}

/* One value in every fifth row (rain on dry days): then the others are no exceptions. */
static bool often_the_same(const struct regress *r) {
    double *y = NEW_ARRAY(double, r->n + 1);
    size_t run = 1, longest = 1;
    memcpy(y, r->y, r->n * sizeof *y);
    qsort(y, r->n, sizeof *y, number_compare);
    for (size_t i = 1; i < r->n; i++) {
        run = y[i] == y[i - 1] ? run + 1 : 1;
        longest = run > longest ? run : longest;
    }
    mem_free(y);
    return SAME * longest > r->n;
}

/* ---- all of it ---- */

static enum gpm_status rounds(struct aside *a, size_t *out) {
    bool news = true;
    enum gpm_status st = predict_others(a);
    *out = 0;
    for (int k = 0; k < ROUNDS && !st && news; k++) {
        *out = judge(a, &news);
        if (*out > (size_t)(MOST * (double)a->all) + 1) *out = 0; /* no exceptions */
        if (!*out || !news) break;
        st = refit(a);
        if (!st) st = predict_others(a);
    }
    return st;
}

static void put_back(struct aside *a) {
    memset(a->out, 0, a->all * sizeof *a->out);
    if (!a->first.k) return;
    order_rows(a);
    rmodel_release(&a->r->model);
    a->r->model = a->first;
    a->first = (struct rmodel){0};
}

/* Whether rows that were found stay aside. A shape of its own, which takes time, is for a model
 * that stays, and its evidence may change the mind once more. */
static enum gpm_status stays(struct aside *a, double logs, double *own, bool *keep) {
    struct regress *r = a->r;
    enum gpm_status st = GPM_OK;
    for (int k = 0; k < 2; k++) {
        *own = fmax(a->before, evidence(a));
        *keep = r->o.noise == RNOISE_ROBUST || (*own > a->before + MARGIN && *own > logs);
        if (!*keep || !r->model.lent) break;
        if ((st = rmodel_shape(&r->model, r->o.threads))) break;
    }
    return st;
}

static enum gpm_status decide(struct aside *a) {
    struct regress *r = a->r;
    size_t out;
    double logs = -INFINITY, own = a->before;
    bool keep = false;
    enum gpm_status st = rounds(a, &out);
    if (!st && (out || a->all <= LOG_ROWS)) st = log_evidence(a, &logs);
    if (!st && out) st = stays(a, logs, &own, &keep);
    if (st) return st;
    if (logs > (keep ? own : a->before) + MARGIN)
        buf_printf(&r->t.notes,
                   "the logarithm of '%s' would be described better (by %.3g nats of evidence): "
                   "take that as the outcome\n",
                   r->t.y_name, logs - (keep ? own : a->before));
    if (keep)
        r->wild_share = wild_share(r->wild, a->all);
    else
        put_back(a);
    return GPM_OK;
}

enum gpm_status regress_set_aside(struct regress *r) {
    struct aside a = {.r = r, .all = r->n};
    if (r->n < FEWEST || (r->o.noise == RNOISE_AUTO && often_the_same(r))) return GPM_OK;
    a.before = evidence(&a);
    a.row = NEW_ARRAY(size_t, a.all);
    memcpy(a.row, r->row, a.all * sizeof *a.row);
    a.mean = NEW_ARRAY(double, 2 * a.all);
    a.sd = a.mean + a.all;
    a.out = mem_zalloc(a.all * sizeof *a.out);
    enum gpm_status st = decide(&a);
    rmodel_release(&a.first);
    mem_free(a.row);
    mem_free(a.mean);
    mem_free(a.out);
    return st;
}
