/* SPDX-License-Identifier: Apache-2.0
 *
 * Chandrasekhar's recursions (Morf, Sidhu, Kailath 1974): an exact Kalman filter in O(d) a step for
 * equal steps, equal noise and a constant observation h. The covariance changes from step to step
 * by L M L'. Its rank is 1 for all stationary and static terms together, plus one for each state of
 * a process with a start (WIENER, IWIENER, IOU). With K = A P h, s = h'P h + noise:
 *
 *   v_c = u_c - h'a_c,  a_c = A a_c + K v_c/s
 *   u = L'h,  w = M u
 *   s' = s + w'u,  M' = M + w w'/s,  K' = K + A L w,  L' = A L - K' u'/s'
 *
 * It starts with L = K, M = -1/s. A process with a start adds unit vectors to L and A P A' + Q - P
 * to M. Derivatives go backwards through the same recursions; those in A, P, Q then meet the rows'
 * own. Missing values are separate columns (states_run.h). */
#include "gp/way/states_run.h"

#include <math.h>
#include <string.h>

#define RANK_MAX ST_RANK_MAX

/* The parts of a state or of its adjoint. */
struct parts {
    double *a, *k, *l, *m, *s; /* cols x d; d; rank x d (L' by rows); rank x rank; 1 */
};

static size_t size(const struct st_run *r) {
    size_t rank = r->m->rank, d = r->m->d;
    return (r->cols + 1 + rank) * d + rank * rank + 1;
}

static struct parts parts_of(const struct st_run *r, const double *state) {
    size_t d = r->m->d, rank = r->m->rank;
    struct parts p = {.a = (double *)state};
    p.k = p.a + r->cols * d;
    p.l = p.k + d;
    p.m = p.l + rank * d;
    p.s = p.m + rank * rank;
    return p;
}

/* x = A x in place, x: d; the harmonics rotate by one step. */
static void turn(const struct st_model *m, double *x) {
    double t[ST_STATES_MAX];
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *e = &m->term[i];
        if (e->kind != ST_TERM_STATES) continue;
        double *out = x + e->off;
        size_t w = (size_t)e->w, all = (size_t)e->ns * w;
        if (e->ns == 1 && !st_static(e))
            for (size_t j = 0; j < all; j++) out[j] *= e->a[0];
        else if (e->ns > 1) {
            memcpy(t, out, all * sizeof *t);
            st_combine(e, false, w, t, out);
        }
        if (!e->periodic) continue;
        int skip = e->nc - e->nz;
        for (int s = 0; s < e->ns; s++) {
            double *restrict c = out + s * e->w + skip, *restrict z = out + s * e->w + e->nc;
            const double *restrict cs = e->cs + skip, *restrict sn = e->sn + skip;
            for (int j = 0; j < e->nz; j++) {
                double u = c[j], v = z[j];
                c[j] = cs[j] * u + sn[j] * v;
                z[j] = cs[j] * v - sn[j] * u;
            }
        }
    }
}

/* Adjoint of y = A x, all d: xb += A'yb. Adds derivatives in A's entries (abar, ns x ns per term)
 * and in angles. */
static void turn_back(const struct st_model *m, const double *x, const double *yb, double *xb,
                      double *abar) {
    double z[ST_STATES_MAX], lin[ST_STATES_MAX];
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *e = &m->term[i];
        if (e->kind != ST_TERM_STATES) continue;
        size_t w = (size_t)e->w, ns = (size_t)e->ns, all = ns * w;
        const double *in = x + e->off, *bar = yb + e->off;
        memcpy(z, bar, all * sizeof *z);
        if (e->periodic) { /* y = R u, u = A x: dy/dangle = (y_sin, -y_cos) */
            st_combine(e, false, w, in, lin);
            int skip = e->nc - e->nz;
            for (size_t s = 0; s < ns; s++)
                for (int j = 0; j < e->nz; j++) {
                    size_t c = s * w + (size_t)(skip + j), q = s * w + (size_t)(e->nc + j);
                    double cs = e->cs[skip + j], sn = e->sn[skip + j];
                    double yc = cs * lin[c] + sn * lin[q], ys = cs * lin[q] - sn * lin[c];
                    e->freq_bar[skip + j] +=
                        bar[c] * ys - bar[q] * yc; /* of the angle, until finish */
                    z[c] = cs * bar[c] - sn * bar[q];
                    z[q] = cs * bar[q] + sn * bar[c];
                }
        }
        for (size_t a = 0; a < ns; a++)
            for (size_t b = 0; b < ns; b++) {
                double f = e->a[a * ns + b];
                abar[a * ns + b] += st_dot(w, z + a * w, in + b * w);
                if (f != 0) st_axpy(w, f, z + a * w, xb + e->off + b * w);
            }
        abar += ns * ns;
    }
}

/* h: d, selects the cosines. */
static void observation(const struct st_model *m, double *h) {
    memset(h, 0, m->d * sizeof *h);
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *t = &m->term[i];
        for (int s = 0; s < t->ns && t->kind == ST_TERM_STATES; s++)
            for (int j = 0; j < t->nc; j++) h[t->off + s * t->w + j] = t->observe[s];
    }
}

/* g = P h, both d. */
static void prior_times(const struct st_model *m, const double *h, double *g) {
    memset(g, 0, m->d * sizeof *g);
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES) continue;
        for (int a = 0; a < t->ns; a++)
            for (int b = 0; b < t->ns; b++)
                for (int j = 0; j < t->w; j++)
                    g[t->off + a * t->w + j] +=
                        t->p[a * t->ns + b] * t->size[j] * h[t->off + b * t->w + j];
    }
}

static void angles(const struct st_run *r) {
    for (size_t i = 0; i < r->m->n_terms; i++) {
        struct st_term *t = &r->m->term[i];
        for (int j = 0; j < t->nc && t->kind == ST_TERM_STATES; j++) {
            double turns = t->freq[j] * r->x->step, a = 2 * M_PI * (turns - floor(turns));
            t->cs[j] = cos(a), t->sn[j] = sin(a);
        }
    }
}

/* Element (i, j) of A P A' + Q - P for a process with a start, at unit amplitude. */
static double increment(const struct st_term *t, int i, int j) {
    int n = t->ns;
    double z = t->q[i * n + j] - t->p[i * n + j];
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) z += t->a[i * n + a] * t->p[a * n + b] * t->a[j * n + b];
    return z;
}

static void start(struct st_run *r, double *state) {
    struct st_model *m = r->m;
    struct parts p = parts_of(r, state);
    size_t d = m->d, rank = m->rank, at = 1;
    double *h = r->work, *g = h + d;
    memset(state, 0, size(r) * sizeof *state);
    m->last = NAN;
    st_prior(m, r->x->x[0]);
    st_step(m, r->x->x[0], r->x->step);
    angles(r);
    observation(m, h);
    prior_times(m, h, g);
    *p.s = r->x->noise[0] + st_dot(d, h, g);
    memcpy(p.k, g, d * sizeof *p.k);
    turn(m, p.k);
    memcpy(p.l, p.k, d * sizeof *p.l);
    p.m[0] = -1 / *p.s;
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES || !t->moving) continue;
        for (int a = 0; a < t->ns; a++) {
            p.l[(at + (size_t)a) * d + (size_t)(t->off + a)] = 1;
            for (int b = 0; b < t->ns; b++)
                p.m[(at + (size_t)a) * rank + at + (size_t)b] = t->size[0] * increment(t, a, b);
        }
        at += (size_t)t->ns;
    }
}

/* u = L'h and w = M u, both rank; returns w'u. */
static double directions(const struct st_run *r, const struct parts *p, const double *h, double *u,
                         double *w) {
    size_t d = r->m->d, rank = r->m->rank;
    double um = 0;
    for (size_t i = 0; i < rank; i++) u[i] = st_dot(d, h, p->l + i * d);
    for (size_t i = 0; i < rank; i++) {
        w[i] = st_dot(rank, p->m + i * rank, u);
        um += w[i] * u[i];
    }
    return um;
}

static bool step(struct st_run *r, size_t k, double *state) {
    struct parts p = parts_of(r, state);
    size_t d = r->m->d, rank = r->m->rank;
    double *h = r->work, u[RANK_MAX], w[RANK_MAX], col[ST_MIX_MAX], s = *p.s;
    r->s = s;
    if (!(s > 0)) return false;
    st_columns(r, k, col);
    for (size_t c = 0; c < r->cols; c++) {
        double *a = p.a + c * d;
        r->v[c] = col[c] - st_dot(d, h, a);
        turn(r->m, a);
        st_axpy(d, r->v[c] / s, p.k, a);
    }
    double um = directions(r, &p, h, u, w);
    for (size_t i = 0; i < rank; i++) {
        st_axpy(rank, w[i] / s, w, p.m + i * rank);
        turn(r->m, p.l + i * d);
        st_axpy(d, w[i], p.l + i * d, p.k);
    }
    *p.s = s + um;
    for (size_t i = 0; i < rank; i++) st_axpy(d, -u[i] / *p.s, p.k, p.l + i * d);
    return true;
}

static double *transition_bars(struct st_run *r) { /* after the scratch */
    return r->work + 2 * r->m->d + 2 * size(r);
}

static void back(struct st_run *r, size_t k, const double *state) {
    size_t d = r->m->d, rank = r->m->rank;
    double *h = r->work, *after = h + 2 * d, u[RANK_MAX], w[RANK_MAX];
    double ub[RANK_MAX], wb[RANK_MAX], v[ST_MIX_MAX], *abar = transition_bars(r);
    struct parts x = parts_of(r, state), y = parts_of(r, after), b = parts_of(r, r->back.now),
                 n = parts_of(r, r->back.next);
    if (k + 1 == r->x->n) memset(abar, 0, r->m->d * ST_SYSTEM_MAX * sizeof *abar);
    memcpy(after, state, size(r) * sizeof *after);
    step(r, k, after);
    memcpy(v, r->v, sizeof v);
    memset(r->back.next, 0, size(r) * sizeof *r->back.next);
    directions(r, &x, h, u, w);
    double s = *x.s, s2 = *y.s, sb2 = *b.s, sb = 0;
    for (size_t p = 0; p < rank; p++) { /* L' = A L - K'u/s' */
        double f = st_dot(d, b.l + p * d, y.k);
        ub[p] = -f / s2;
        sb2 += f * u[p] / (s2 * s2);
        st_axpy(d, -u[p] / s2, b.l + p * d, b.k);
    }
    double *al = after + size(r), *alb = al + d; /* A L of one row, and its derivative */
    for (size_t p = 0; p < rank; p++) {
        memcpy(al, y.l + p * d, d * sizeof *al);
        st_axpy(d, u[p] / s2, y.k, al);
        wb[p] = st_dot(d, al, b.k) + sb2 * u[p];
        ub[p] += sb2 * w[p];
        memcpy(alb, b.l + p * d, d * sizeof *alb);
        st_axpy(d, w[p], b.k, alb);
        turn_back(r->m, x.l + p * d, alb, n.l + p * d, abar);
    }
    sb = sb2;
    for (size_t p = 0; p < rank; p++)
        for (size_t q = 0; q < rank; q++) {
            double mb = b.m[p * rank + q];
            wb[p] += (mb + b.m[q * rank + p]) * w[q] / s;
            sb -= mb * w[p] * w[q] / (s * s);
            n.m[p * rank + q] += mb;
        }
    for (size_t p = 0; p < rank; p++)
        for (size_t q = 0; q < rank; q++) {
            n.m[p * rank + q] += wb[p] * u[q];
            ub[q] += x.m[p * rank + q] * wb[p];
        }
    for (size_t p = 0; p < rank; p++) st_axpy(d, ub[p], h, n.l + p * d);
    memcpy(n.k, b.k, d * sizeof *n.k);
    double square = 0;
    for (size_t c = 0; c < r->cols; c++) {
        double *ab = b.a + c * d, f = st_dot(d, x.k, ab), vb = (f - v[c]) / s;
        sb -= f * v[c] / (s * s);
        square += v[c] * v[c];
        st_axpy(d, v[c] / s, ab, n.k);
        turn_back(r->m, x.a + c * d, ab, n.a + c * d, abar);
        st_axpy(d, -vb, h, n.a + c * d);
        r->back.e[c] = vb;
    }
    *n.s = sb + 0.5 * square / (s * s) - 0.5 / s;
    double *swap = r->back.now;
    r->back.now = r->back.next;
    r->back.next = swap;
    r->back.inverse = r->back.noise_bar = 0;
}

/* From the derivatives in the first state to those in A, P, Q, then to sizes and lengths. */
static void finish(struct st_run *r) {
    struct st_model *m = r->m;
    size_t d = m->d, rank = m->rank, at = 1;
    double *h = r->work, *g = h + d, *abar = transition_bars(r), *gb = r->back.next;
    struct parts b = parts_of(r, r->back.now);
    st_prior(m, r->x->x[0]);
    prior_times(m, h, g);
    double s = r->x->noise[0] + st_dot(d, h, g), sb = *b.s + b.m[0] / (s * s);
    r->back.noise_bar = sb;
    st_axpy(d, 1, b.l, b.k); /* L starts as K */
    memset(gb, 0, d * sizeof *gb);
    turn_back(m, g, b.k, gb, abar);
    st_axpy(d, sb, h, gb);
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES) continue;
        int n = t->ns;
        double pbar[ST_SYSTEM_MAX * ST_SYSTEM_MAX] = {0}, qbar[ST_SYSTEM_MAX * ST_SYSTEM_MAX] = {0};
        for (int x = 0; x < n; x++)
            for (int y = 0; y < n; y++)
                for (int j = 0; j < t->w; j++) {
                    double f = gb[t->off + x * t->w + j] * h[t->off + y * t->w + j];
                    t->size_bar[j] += f * t->p[x * n + y];
                    pbar[x * n + y] += f * t->size[j];
                }
        for (int x = 0; x < n && t->moving; x++) /* D = A P A' + Q - P, times the size */
            for (int y = 0; y < n; y++) {
                double mb = b.m[(at + (size_t)x) * rank + at + (size_t)y], f = mb * t->size[0];
                t->size_bar[0] += mb * increment(t, x, y);
                qbar[x * n + y] += f;
                pbar[x * n + y] -= f;
                for (int u = 0; u < n; u++)
                    for (int v = 0; v < n; v++) {
                        pbar[u * n + v] += f * t->a[x * n + u] * t->a[y * n + v];
                        abar[x * n + u] += f * t->p[u * n + v] * t->a[y * n + v];
                        abar[y * n + v] += f * t->a[x * n + u] * t->p[u * n + v];
                    }
            }
        if (t->moving) at += (size_t)n;
        for (int f = 0; f < t->systems; f++)
            for (int e = 0; e < n * n && t->system[f]->k->cls->states->length; e++)
                t->length_bar[f] +=
                    abar[e] * t->da[f][e] + pbar[e] * t->dp[f][e] + qbar[e] * t->dq[f][e];
        for (int j = 0; j < t->nc; j++) t->freq_bar[j] *= 2 * M_PI * r->x->step;
        abar += n * n;
    }
}

/* A step already moves on to the next event. */
static void resume(struct st_run *r, double last, double gap, double *state) {}

const struct st_filter st_chandrasekhar = {"Chandrasekhar", size,  start, step, back,
                                           finish,          resume};
