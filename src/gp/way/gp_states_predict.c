/* SPDX-License-Identifier: Apache-2.0
 *
 * Posterior of a GP, of its parts, and joint draws by filters; contract in gp_states.h.
 *
 * Points asked for are events at which nothing is measured. With the smoother's r and N there, and
 * h, f the observation and the regressors of the part in question,
 *   mean = h'(a_0 + P r_0) + f'x,   var = h'(P - P N P)h + sum_c (f'C_c - h'(a_c + P r_c))^2, c > 0
 * Two points, i before k:  h_i'P_i B' (h_k - N_k P_k h_k) + the same sum of products, B the product
 * of the transitions and updates between them. White noise inside the kernel is by value: at an
 * input that was measured it is the measurement's own, of mean w g_0 and covariance -w (K^-1)_kk w
 * with itself.
 */
#include "gp/way/gp_states.h"
#include "gp/process/gp_way.h"
#include "gp/process/gp_engine.h"

#include "gp/process/gp_int.h"

#include "base/mem.h"
#include "numeric/special/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the series with the points asked for ---- */

struct asked {
    double x;
    size_t i;
};
static int by_x(const void *a, const void *b) {
    const struct asked *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

struct question {
    struct gp *g;
    struct gp_series e; /* of the data */
    struct st_series x; /* of both */
    double *buf;
    size_t *point; /* event -> point asked for; SIZE_MAX: data */
    size_t *entry; /* event -> entry; SIZE_MAX: a point */
    struct kern_pts xs;
    bool *wanted; /* by term: belongs to the part */
    /* answers, by point; each may be NULL */
    double *mean, *var;
    double *b, *mixed; /* for covariances: h - N P h (d each); f'C_c - ... (cols each) */
    /* at the measurement that was passed last */
    size_t seen; /* its event; SIZE_MAX: none yet */
    double *own, e_seen[ST_MIX_MAX], inverse_seen;
    bool white_met; /* a point is at a measured input, and white noise belongs to the part */
};

/* Points stand before the measurement at their time: the smoothed state is the same. */
static enum gpm_status merge(struct question *q) {
    size_t m = q->xs.n, nd = q->e.x.n, n = m + nd, at = 0, j = 0;
    struct asked *order = mem_try_alloc(m + 1, sizeof *order);
    size_t nz = q->e.x.nz;
    double *x = q->buf = mem_try_doubles((3 + nz) * n), *y = x + n, *noise = y + n, *z = noise + n;
    q->point = mem_try_alloc(n, sizeof *q->point);
    q->entry = mem_try_alloc(n, sizeof *q->entry);
    if (!order || !x || !q->point || !q->entry) {
        mem_free(order);
        return GPM_E_NOMEM;
    }
    for (size_t i = 0; i < m; i++) order[i] = (struct asked){q->xs.x[i], i};
    qsort(order, m, sizeof *order, by_x);
    for (size_t k = 0; k <= nd; k++) {
        for (; j < m && (k == nd || order[j].x <= q->e.x.x[k]); j++, at++) {
            x[at] = order[j].x, y[at] = NAN, noise[at] = 0;
            q->point[at] = order[j].i, q->entry[at] = SIZE_MAX;
            for (size_t c = 0; c < nz; c++)
                z[at * nz + c] = q->xs.x[order[j].i + (c + 1) * q->xs.ld];
        }
        if (k == nd) break;
        x[at] = q->e.x.x[k], y[at] = q->e.x.y[k], noise[at] = q->e.x.noise[k];
        for (size_t c = 0; c < nz; c++) z[at * nz + c] = q->e.x.z[k * nz + c];
        q->point[at] = SIZE_MAX, q->entry[at++] = q->e.entry[k];
    }
    mem_free(order);
    q->x = (struct st_series){.n = n, .x = x, .y = y, .noise = noise, .z = nz ? z : NULL, .nz = nz};
    return GPM_OK;
}

/* Which terms make the part; false when one of the part's is not among the model's. */
static bool match_terms(struct question *q, const struct kern *part) {
    struct st_model p, *m = &q->e.m;
    q->wanted = mem_zalloc((m->n_terms + 1) * sizeof *q->wanted);
    for (size_t i = 0; i < m->n_terms && !part; i++) q->wanted[i] = true;
    if (!part) return true;
    struct st_scope scope = {m->t0, m->t0, q->e.least, 1, ST_STATES_MAX, 0}; /* its terms alone */
    if (!st_model_init(&p, part, &scope)) return false;
    bool ok = true;
    for (size_t i = 0; i < p.n_terms && ok; i++) {
        size_t j = 0;
        if (p.term[i].kind == ST_TERM_NOTHING) continue;
        while (j < m->n_terms && (q->wanted[j] || !st_same_term(&p.term[i], &m->term[j]))) j++;
        ok = j < m->n_terms;
        if (ok) q->wanted[j] = true;
    }
    st_model_release(&p);
    return ok;
}

static bool wants_white(const struct question *q) {
    for (size_t i = 0; i < q->e.m.n_terms; i++)
        if (q->wanted[i] && q->e.m.term[i].kind == ST_TERM_WHITE) return true;
    return false;
}

/* Takes the series of the question over. */
static enum gpm_status ask(struct question *q, struct gp_question *of, bool *done) {
    memset(q, 0, sizeof *q);
    q->g = of->g;
    q->xs = of->xs;
    q->seen = SIZE_MAX;
    q->e = *of->series;
    mem_free(of->series);
    of->series = NULL;
    enum gpm_status st = gp_series_fill(q->g, of->s, &q->e);
    *done = !st && match_terms(q, of->part);
    return *done ? merge(q) : st;
}

static void answer_release(struct question *q) {
    gp_series_release(&q->e);
    void *owned[] = {q->buf, q->point, q->entry, q->wanted, q->b, q->mixed, q->own};
    for (size_t i = 0; i < COUNT_OF(owned); i++) mem_free(owned[i]);
}

/* ---- mean, variance ---- */

static bool same_input(const struct st_series *x, size_t a, size_t b) {
    bool same = x->x[a] == x->x[b];
    for (size_t c = 0; c < x->nz && same; c++) same = st_further(x, a)[c] == st_further(x, b)[c];
    return same;
}

/* The value of column c in the mixtures. */
static void add_column(const struct st_run *r, size_t c, double value, double *f) {
    f[0] += value * r->x_post[c];
    for (size_t j = 1; j < r->cols; j++) f[j] += value * r->mix[j * r->all + 1 + c];
}

/* h (r->d of the model's states are the filter's) and the columns' mixed values of the part at
 * event k; white its white noise. */
static void part_at(struct question *q, struct st_run *r, size_t k, double *h, double *f,
                    double *white) {
    struct st_model *m = r->m;
    double x = r->x->x[k];
    st_observe(m, x, m->d, h);
    *white = 0;
    memset(f, 0, r->cols * sizeof *f);
    for (size_t i = 0, c = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind == ST_TERM_STATES && !q->wanted[i])
            memset(h + t->off, 0, (size_t)(t->ns * t->w) * sizeof *h);
        if (t->kind == ST_TERM_WHITE && q->wanted[i]) {
            double w = st_weight(t, x, NULL, 0);
            *white += t->amp * w * w;
        }
        if (t->kind != ST_TERM_COLUMN) continue;
        if (q->wanted[i]) add_column(r, c, st_column(m, c, x, st_further(r->x, k)), f);
        c++;
    }
    for (size_t j = 0; j < r->n_standing; j++)
        if (h[r->d + j] != 0) add_column(r, m->n_columns + j, r->root[j] * h[r->d + j], f);
}

/* White noise at a measured input: what it adds to mean and variance. */
static void met_white(struct question *q, struct st_run *r, double w, const double *h,
                      const double *f, const double *smooth, double *mean, double *var) {
    double inverse = q->inverse_seen, cross = st_dot(r->d, h, q->own);
    for (size_t c = 1; c < r->cols; c++) { /* e is minus g */
        inverse -= q->e_seen[c] * q->e_seen[c];
        cross -= (f[c] - smooth[c]) * q->e_seen[c];
    }
    *mean += -w * q->e_seen[0];
    *var += w - w * w * inverse - 2 * w * cross;
}

static void visit_point(void *ctx, struct st_run *r, size_t k, const double *state) {
    struct question *q = ctx;
    size_t d = r->d, i = q->point[k], cols = r->cols;
    const double *p = state + cols * d, *rr = r->back.now, *n = rr + cols * d;
    if (i == SIZE_MAX) {
        q->seen = k;
        if (!q->own) return;
        memcpy(q->e_seen, r->back.e, sizeof q->e_seen);
        q->inverse_seen = r->back.inverse;
        st_kalman_own(r, state, q->own);
        return;
    }
    double *h = r->work, *ph = h + r->m->d, *nph = ph + d, f[ST_MIX_MAX], smooth[ST_MIX_MAX], white;
    part_at(q, r, k, h, f, &white);
    for (size_t a = 0; a < d; a++) ph[a] = st_dot(d, p + a * d, h);
    for (size_t a = 0; a < d; a++) nph[a] = st_dot(d, n + a * d, ph);
    double var = st_dot(d, h, ph) - st_dot(d, ph, nph);
    for (size_t c = 0; c < cols; c++) {
        smooth[c] = st_dot(d, h, state + c * d) + st_dot(d, ph, rr + c * d);
        if (c) var += (f[c] - smooth[c]) * (f[c] - smooth[c]);
    }
    double mean = smooth[0] + f[0];
    if (white > 0 && q->seen != SIZE_MAX && same_input(r->x, k, q->seen) && q->own) {
        met_white(q, r, white, h, f, smooth, &mean, &var);
        q->white_met = true;
    } else
        var += white;
    if (q->mean) q->mean[i] += mean;
    if (q->var) q->var[i] = fmax(var, 0);
    for (size_t a = 0; a < d && q->b; a++) q->b[i * d + a] = h[a] - nph[a];
    for (size_t c = 0; c < cols && q->mixed; c++) q->mixed[i * cols + c] = f[c] - smooth[c];
}

/* ---- covariances ---- */

/* Forwards again with a vector for each point passed: P h of its event, carried on. */
static enum gpm_status between(struct question *q, struct st_run *r, double *cov, size_t ld) {
    size_t d = r->d, m = q->xs.n, n = r->x->n, cols = r->cols, passed = 0;
    double *state = mem_try_doubles(st_kalman.size(r)), *w = mem_try_doubles(m * d + 1),
           f[ST_MIX_MAX];
    size_t *who = mem_try_alloc(2 * m + 1, sizeof *who), *at = who + m; /* points, their events */
    bool ok = state && w && who;
    enum gpm_status st = ok ? GPM_OK : GPM_E_NOMEM;
    if (ok) st_kalman.start(r, state);
    for (size_t k = 0; k < n && ok; k++) {
        size_t i = q->point[k];
        double white, *h = r->work;
        if (i != SIZE_MAX) {
            const double *p = state + cols * d;
            part_at(q, r, k, h, f, &white);
            for (size_t a = 0; a < d; a++) w[passed * d + a] = st_dot(d, p + a * d, h);
            at[passed] = k;
            who[passed++] = i;
            for (size_t j = 0; j < passed; j++) {
                size_t o = who[j], lo = i > o ? i : o, hi = i > o ? o : i;
                double c = st_dot(d, w + j * d, q->b + i * d);
                for (size_t a = 1; a < cols; a++)
                    c += q->mixed[i * cols + a] * q->mixed[o * cols + a];
                cov[lo + hi * ld] = c + (same_input(r->x, k, at[j]) ? white : 0);
            }
        }
        ok = st_kalman.step(r, k, state);
        if (ok) st_kalman_carry(r, k, passed, w);
    }
    mem_free(state);
    mem_free(w);
    mem_free(who);
    return !st && !ok ? GPM_E_NOT_PD : st;
}

/* ---- answers ---- */

/* The answers asked for in q, from the residuals of its series. */
static enum gpm_status answer(struct question *q, double *cov, size_t ld, bool *done) {
    struct st_run r;
    size_t m = q->xs.n;
    enum gpm_status st = st_run_init(&r, &q->e.m, &q->x, ST_STEPS);
    size_t d = r.d;
    if (!st && cov) {
        q->b = mem_try_doubles(m * d + 1);
        q->mixed = mem_try_doubles(m * r.cols + 1);
        if (!q->b || !q->mixed) st = GPM_E_NOMEM;
    }
    if (!st && wants_white(q)) q->own = mem_try_doubles(d + 1);
    if (!st) st = st_run_value(&r, NULL, done);
    if (!st && *done) st = st_run_back(&r, false, 1, visit_point, q);
    if (!st && *done && cov) {
        *done = !q->white_met; /* their covariances are not made here */
        if (*done) st = between(q, &r, cov, ld);
    }
    if (st == GPM_E_NOT_PD) *done = false, st = GPM_OK;
    st_run_release(&r);
    return st;
}

enum gpm_status gp_states_points(struct gp_question *of, bool *done) {
    struct question q;
    enum gpm_status st = ask(&q, of, done);
    q.mean = of->mean;
    q.var = of->var;
    if (!st && *done) st = answer(&q, of->cov, of->ld, done);
    answer_release(&q);
    return st;
}

/* ---- draws ---- */

/* Adds N(0, C (x) sizes) of a term to its states, C ns x ns. */
static void add_noise(const struct st_term *t, const double *c, struct rng *rng, double *x) {
    int n = t->ns;
    double l[ST_SYSTEM_MAX * ST_SYSTEM_MAX] = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double z = c[i * n + j];
            for (int k = 0; k < j; k++) z -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(fmax(z, 0)) : l[j * n + j] > 0 ? z / l[j * n + j] : 0;
        }
    for (int j = 0; j < t->w; j++) {
        double e[ST_SYSTEM_MAX], size = sqrt(t->size[j]);
        for (int i = 0; i < n; i++) e[i] = rng_normal(rng);
        for (int i = 0; i < n; i++)
            for (int k = 0; k <= i; k++) x[t->off + i * t->w + j] += size * l[i * n + k] * e[k];
    }
}

/* A path of the prior at all events: the function (with white noise) into f. */
static void prior_path(struct question *q, struct rng *rng, double *x, double *t, double *f) {
    struct st_model *m = &q->e.m;
    double beta[ST_COLUMNS_MAX], *h = t + m->d;
    for (size_t c = 0; c < m->n_columns; c++) beta[c] = rng_normal(rng);
    memset(x, 0, m->d * sizeof *x);
    m->last = NAN;
    st_prior(m, q->x.x[0]);
    for (size_t k = 0; k < q->x.n; k++) {
        if (k) st_step(m, q->x.x[k - 1], st_gap(&q->x, k - 1));
        for (size_t i = 0; i < m->n_terms; i++) {
            const struct st_term *e = &m->term[i];
            if (e->kind != ST_TERM_STATES || (k && st_static(e))) continue;
            size_t all = (size_t)(e->ns * e->w);
            memcpy(t, x + e->off, all * sizeof *t);
            if (k) st_combine(e, false, (size_t)e->w, t, x + e->off);
            add_noise(e, k ? e->q : e->p, rng, x);
        }
        st_observe(m, q->x.x[k], m->d, h);
        bool again = k && same_input(&q->x, k, k - 1); /* equal inputs share their white noise */
        double white = m->white && !again ? sqrt(st_white(m, q->x.x[k])) * rng_normal(rng) : 0;
        f[k] = again ? f[k - 1] : st_dot(m->d, h, x) + white;
        for (size_t c = 0; c < m->n_columns && !again; c++)
            f[k] += beta[c] * st_column(m, c, q->x.x[k], st_further(&q->x, k));
    }
}

/* Durbin and Koopman (2002): a path of the prior with its measurements, plus what the difference to
 * the real ones says. */
enum gpm_status gp_states_draw(struct gp_question *of, bool *done) {
    struct gp *g = of->g;
    struct gp_slot *s = of->s;
    struct question q;
    struct rng rng;
    uint64_t seed = hash_bytes(of->z, of->xs.n * sizeof *of->z, 11);
    double *out = of->out;
    enum gpm_status st = ask(&q, of, done);
    double *f = NULL, *x = NULL;
    if (!st && *done && q.x.nz) *done = !q.e.m.white; /* equal inputs need not be neighbours */
    if (!st && *done) {
        f = mem_try_doubles(q.x.n);
        x = mem_try_doubles(3 * q.e.m.d + 3);
        if (!f || !x) st = GPM_E_NOMEM;
        if (!st) st = mean_eval(s->mean, of->xs, out);
    }
    if (!st && *done) {
        rng_init(&rng, seed, 0, 23);
        prior_path(&q, &rng, x, x + q.e.m.d, f);
        for (size_t k = 0; k < q.x.n; k++) {
            size_t i = q.entry[k], p = q.point[k];
            if (p != SIZE_MAX) out[p] += f[k] + sqrt(of->extra) * rng_normal(&rng);
            if (i == SIZE_MAX) continue;
            double own = s->noise * sqrt(gp_share(g, i)) * rng_normal(&rng);
            ((double *)q.x.y)[k] -= f[k] + own;
        }
        q.mean = out;
        if (g->n) st = answer(&q, NULL, 0, done);
    }
    mem_free(f);
    mem_free(x);
    answer_release(&q);
    return st;
}
