/* SPDX-License-Identifier: Apache-2.0
 *
 * The Kalman filter with covariances, and its smoother. A state is a: cols x d (means, one row per
 * column c), then P: d x d (covariance), both row-major. An event does
 *
 *   g = P h,  s = h'g + noise,  v_c = u_c - h'a_c
 *   a_c += g v_c/s,  P -= g g'/s                  update
 *   a_c = A a_c,  P = A P A' + Q                  step
 *
 * Back (de Jong 1989), with r: cols x d and N: d x d between events:
 *
 *   r_c = A'r_c,  N = A'N A
 *   e_c = v_c/s - g'r_c/s,  D = 1/s + g'N g/s^2,  n = N g/s
 *   r_c += h e_c,  N = N - h n' - n h' + h h'D
 *
 * The smoothed states are a + P r with covariance P - P N P. With S = sum_c r r' - N, and m and P
 * after the update,
 *
 *   d log p = 1/2 <S, dQ> + <sum_c r m' + S A P, dA> + 1/2 (sum_c e^2 - D) dnoise + ...
 *
 * P is stored in full, not as P_inf less a sum, so it stays accurate with little noise. */
#include "gp/way/states_run.h"

#include <math.h>
#include <string.h>

/* Below this share of the prior variance an innovation's variance has no digits. */
#define LEAST 1e-14

static double *covariance(const struct st_run *r, double *state) {
    return state + r->cols * r->d;
}

static size_t size(const struct st_run *r) {
    return r->cols * r->d + r->d * r->d;
}

/* Is the term among the states of the filter? */
static bool filtered(const struct st_run *r, const struct st_term *t) {
    return t->kind == ST_TERM_STATES && !(r->n_standing && st_static(t));
}

static void add_blocks(const struct st_run *r, double *p, bool prior) {
    for (size_t i = 0; i < r->m->n_terms; i++) {
        const struct st_term *t = &r->m->term[i];
        if (!filtered(r, t) || (!prior && st_static(t))) continue;
        const double *q = prior ? t->p : t->q;
        for (int a = 0; a < t->ns; a++)
            for (int b = 0; b < t->ns; b++)
                for (int j = 0; j < t->w; j++)
                    p[(size_t)(t->off + a * t->w + j) * r->d + (size_t)(t->off + b * t->w + j)] +=
                        q[a * t->ns + b] * t->size[j];
    }
}

static void start(struct st_run *r, double *state) {
    memset(state, 0, size(r) * sizeof *state);
    r->m->last = NAN;
    st_prior(r->m, r->x->x[0]);
    add_blocks(r, covariance(r, state), true);
}

/* x = A x (or A'x) for a term's states, x: ns x len, row-major; t: scratch of that size. */
static void turn_states(const struct st_term *e, bool trans, size_t len, double *x, double *t) {
    size_t ns = (size_t)e->ns;
    if (ns == 1) {
        for (size_t j = 0; j < len && e->a[0] != 1; j++) x[j] *= e->a[0];
        return;
    }
    memcpy(t, x, ns * len * sizeof *t);
    if (len > 1) {
        st_combine(e, trans, len, t, x);
        return;
    }
    size_t row = trans ? 1 : ns, col = trans ? ns : 1;
    for (size_t i = 0; i < ns; i++) {
        double sum = 0;
        for (size_t j = 0; j < ns; j++) sum += e->a[i * row + j * col] * t[j];
        x[i] = sum;
    }
}

/* M = A M (or A'M), M: d x d, on the rows of every term; turn_columns does M = M A' (or M A) on
 * `rows` rows. t: scratch. */
static void turn_rows(const struct st_run *r, bool trans, double *p, double *t) {
    for (size_t i = 0; i < r->m->n_terms; i++) {
        const struct st_term *e = &r->m->term[i];
        if (e->kind != ST_TERM_STATES || st_static(e)) continue;
        turn_states(e, trans, (size_t)e->w * r->d, p + (size_t)e->off * r->d, t);
    }
}
static void turn_columns(const struct st_run *r, bool trans, size_t rows, double *p, double *t) {
    for (size_t i = 0; i < r->m->n_terms; i++) {
        const struct st_term *e = &r->m->term[i];
        if (e->kind != ST_TERM_STATES || st_static(e) || (e->ns == 1 && e->a[0] == 1)) continue;
        for (size_t row = 0; row < rows; row++)
            turn_states(e, trans, (size_t)e->w, p + row * r->d + (size_t)e->off, t);
    }
}

/* Gains and innovations at event k: h: m->d and g: d in the scratch, s and v in r. */
static bool gains(struct st_run *r, size_t k, const double *state, double *h, double *g) {
    size_t d = r->d;
    const double *p = covariance(r, (double *)state);
    double u[ST_MIX_MAX];
    r->s = 0;
    if (isnan(r->x->y[k])) return true;
    st_observe(r->m, r->x->x[k], r->mixed && r->ready.u ? d : r->m->d, h);
    memset(g, 0, d * sizeof *g);
    for (size_t i = 0; i < d; i++)
        if (h[i] != 0) st_axpy(d, h[i], p + i * d, g);
    r->s = r->x->noise[k] + st_dot(d, h, g);
    st_columns(r, k, u);
    for (size_t c = 0; c < r->cols; c++) r->v[c] = u[c] - st_dot(d, h, state + c * d);
    return true;
}

static void update(struct st_run *r, const double *g, double *state) {
    size_t d = r->d;
    double *p = covariance(r, state);
    if (r->s == 0) return;
    for (size_t c = 0; c < r->cols; c++) st_axpy(d, r->v[c] / r->s, g, state + c * d);
    for (size_t i = 0; i < d; i++) st_axpy(d, -g[i] / r->s, g, p + i * d);
}

/* The step: a = A a, P = A P A' + Q. */
static void resume(struct st_run *r, double last, double gap, double *state) {
    size_t d = r->d;
    double *t = r->work + r->m->d + d, *p = covariance(r, state);
    st_step(r->m, last, gap);
    turn_columns(r, false, r->cols, state, t);
    turn_rows(r, false, p, t);
    turn_columns(r, false, d, p, t);
    add_blocks(r, p, false);
}

static bool step(struct st_run *r, size_t k, double *state) {
    size_t d = r->d;
    double *h = r->work, *g = h + r->m->d, *p = covariance(r, state);
    gains(r, k, state, h, g);
    if (!isnan(r->x->y[k])) {
        double floor = 0;
        for (size_t i = 0; i < d; i++) floor += h[i] * h[i] * fabs(p[i * (d + 1)]);
        if (!(r->s > LEAST * floor)) return false;
    }
    update(r, g, state);
    if (k + 1 < r->x->n) resume(r, r->x->x[k], st_gap(r->x, k), state);
    return true;
}

/* Element (a, b) of S; rr: cols x d, n: d x d. */
static double s_at(const struct st_run *r, const double *rr, const double *n, size_t a, size_t b) {
    size_t d = r->d;
    double s = -n[a * d + b];
    for (size_t c = 0; c < r->cols; c++) s += rr[c * d + a] * rr[c * d + b];
    return s;
}

/* Half of S against the blocks of Q (or P), q: ns x ns: derivatives in sizes and lengths. */
static void block_slopes(struct st_run *r, struct st_term *t, const double *q,
                         double *const dq[ST_SYSTEMS], const double *rr, const double *n) {
    for (int a = 0; a < t->ns; a++)
        for (int b = 0; b < t->ns; b++) {
            int at = a * t->ns + b;
            for (int j = 0; j < t->w; j++) {
                double s = 0.5 * s_at(r, rr, n, (size_t)(t->off + a * t->w + j),
                                      (size_t)(t->off + b * t->w + j));
                t->size_bar[j] += s * q[at];
                for (int f = 0; f < t->systems; f++)
                    if (t->system[f]->k->cls->states->length)
                        t->length_bar[f] += s * t->size[j] * dq[f][at];
            }
        }
}

/* <sum_c r m' + S A P, dA>. m, rr and par: cols x d; n: d x d; pa = P A': d x d by rows, so that (A
 * P)_(z, b) = pa_(b, z). */
static void transition_slopes(struct st_run *r, struct st_term *t, const double *rr,
                              const double *n, const double *m, const double *pa,
                              const double *par) {
    size_t d = r->d;
    for (int a = 0; a < t->ns; a++)
        for (int b = 0; b < t->ns; b++) {
            double bar = 0;
            for (int j = 0; j < t->w; j++) {
                size_t x = (size_t)(t->off + a * t->w + j), y = (size_t)(t->off + b * t->w + j);
                bar -= st_dot(d, n + x * d, pa + y * d);
                for (size_t c = 0; c < r->cols; c++)
                    bar += rr[c * d + x] * (m[c * d + y] + par[c * d + y]);
            }
            for (int f = 0; f < t->systems; f++)
                if (t->system[f]->k->cls->states->length)
                    t->length_bar[f] += bar * t->da[f][a * t->ns + b];
        }
}

/* Derivatives of the step from event k to the next, given r (rr: cols x d) and N (n: d x d) after
 * it. filtered: the state after the update, overwritten. par: cols x d, t: scratch. */
static void step_slopes(struct st_run *r, const double *rr, const double *n, double *filtered,
                        double *par, double *t) {
    size_t d = r->d;
    double *p = covariance(r, filtered);
    bool lengths = false;
    for (size_t i = 0; i < r->m->n_terms; i++) {
        struct st_term *e = &r->m->term[i];
        if (e->kind != ST_TERM_STATES || st_static(e)) continue;
        block_slopes(r, e, e->q, e->dq, rr, n);
        for (int f = 0; f < e->systems; f++) lengths |= e->system[f]->k->cls->states->length;
    }
    if (!lengths) return;
    turn_columns(r, false, d, p, t); /* P A' */
    for (size_t c = 0; c < r->cols; c++)
        for (size_t i = 0; i < d; i++) par[c * d + i] = st_dot(d, p + i * d, rr + c * d);
    for (size_t i = 0; i < r->m->n_terms; i++) {
        struct st_term *e = &r->m->term[i];
        if (e->kind == ST_TERM_STATES && !st_static(e))
            transition_slopes(r, e, rr, n, filtered, p, par);
    }
}

/* e, D, r and N back through the update; h, g and ng = N g / s: d each. */
static void update_back(struct st_run *r, const double *h, const double *g, double *ng) {
    size_t d = r->d;
    double *rr = r->back.now, *n = covariance(r, rr), square = 0;
    for (size_t i = 0; i < d; i++) ng[i] = st_dot(d, n + i * d, g) / r->s;
    r->back.inverse = (1 + st_dot(d, g, ng)) / r->s;
    for (size_t c = 0; c < r->cols; c++) {
        double e = (r->v[c] - st_dot(d, g, rr + c * d)) / r->s;
        r->back.e[c] = -e;
        square += e * e;
        st_axpy(d, e, h, rr + c * d);
    }
    r->back.noise_bar = 0.5 * (square - r->back.inverse);
    for (size_t i = 0; i < d; i++) {
        st_axpy(d, -h[i], ng, n + i * d);
        st_axpy(d, h[i] * r->back.inverse - ng[i], h, n + i * d);
    }
}

/* bar: m->d, the derivative in h: sum_c e (a + P r) - (g D - P ng). bar has room for d numbers
 * more. */
static void observe_slopes(struct st_run *r, size_t k, const double *state, const double *g,
                           const double *ng, double *bar) {
    size_t d = r->d;
    const double *p = covariance(r, (double *)state), *rr = r->back.now;
    double *sum = bar + r->m->d;
    memset(bar, 0, r->m->d * sizeof *bar);
    for (size_t i = 0; i < d; i++) sum[i] = ng[i];
    for (size_t i = 0; i < d; i++) bar[i] = -g[i] * r->back.inverse;
    for (size_t c = 0; c < r->cols; c++) {
        st_axpy(d, -r->back.e[c], state + c * d, bar);
        st_axpy(d, -r->back.e[c], rr + c * d, sum);
    }
    for (size_t i = 0; i < d; i++) bar[i] += st_dot(d, p + i * d, sum);
    st_observe_slope(r->m, r->x->x[k], bar);
}

static bool needs_observation(const struct st_run *r) {
    for (size_t i = 0; i < r->m->n_terms; i++) {
        const struct st_term *t = &r->m->term[i];
        if (filtered(r, t) && (t->weighted || t->periodic)) return true;
    }
    return false;
}

static void back(struct st_run *r, size_t k, const double *state) {
    size_t d = r->d;
    double *h = r->work, *g = h + r->m->d, *ng = g + d, *bar = ng + d;
    double *after = bar + r->m->d + d, *t = after + size(r), *rr = r->back.now,
           *n = covariance(r, rr);
    double *par = r->back.next;
    gains(r, k, state, h, g);
    if (k + 1 < r->x->n) {
        st_step(r->m, r->x->x[k], st_gap(r->x, k));
        if (r->back.slopes) {
            memcpy(after, state, size(r) * sizeof *state);
            update(r, g, after);
            step_slopes(r, rr, n, after, par, t);
        }
        turn_columns(r, true, r->cols, rr, t);
        turn_rows(r, true, n, t);
        turn_columns(r, true, d, n, t);
    }
    r->back.noise_bar = r->back.inverse = 0;
    memset(r->back.e, 0, sizeof r->back.e);
    if (r->s == 0) return;
    update_back(r, h, g, ng);
    if (r->back.slopes && needs_observation(r)) observe_slopes(r, k, state, g, ng, bar);
}

/* P (h D - n); call right after the backward pass through the event. */
void st_kalman_own(const struct st_run *r, const double *state, double *out) {
    size_t d = r->d;
    const double *p = covariance(r, (double *)state), *g = r->work + r->m->d, *ng = g + d;
    for (size_t i = 0; i < d; i++) out[i] = g[i] * r->back.inverse - st_dot(d, p + i * d, ng);
}

/* Call right after a step. */
void st_kalman_carry(struct st_run *r, size_t k, size_t m, double *w) {
    size_t d = r->d;
    const double *h = r->work, *g = h + r->m->d;
    for (size_t j = 0; j < m && r->s > 0; j++)
        st_axpy(d, -st_dot(d, h, w + j * d) / r->s, g, w + j * d);
    if (k + 1 < r->x->n) turn_columns(r, false, m, w, r->work + r->m->d + d);
}

static void finish(struct st_run *r) {
    const double *rr = r->back.now, *n = covariance(r, r->back.now);
    st_prior(r->m, r->x->x[0]);
    for (size_t i = 0; i < r->m->n_terms; i++) {
        struct st_term *t = &r->m->term[i];
        if (filtered(r, t)) block_slopes(r, t, t->p, t->dp, rr, n);
    }
}

const struct st_filter st_kalman = {"Kalman", size, start, step, back, finish, resume};
