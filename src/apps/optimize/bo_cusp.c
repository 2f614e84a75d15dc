/* SPDX-License-Identifier: Apache-2.0
 *
 * Minima that are sharp. The kernels say that the function is smooth, and around a minimum with an
 * edge or a tip (absolute values, maxima of several costs, thresholds) the mean cuts the tip off,
 * sure of itself. So beside the process f there may be a cusp with its point at c,
 *
 *   f(x) - beta exp(-r(x, c)/w),   beta = |N(0, s^2)|,   r in length scales,
 *
 * for c any evaluated place around the lowest or the lowest itself, some widths w, and s a multiple
 * of the noise under a half-Cauchy prior; or no cusp. The belief is the average over all of them,
 * weighted by their evidence. With C, m the covariance and mean of f at the evaluated places given
 * their values y, S the variances of the noise, h = -exp(-r/w) and g = S^-1 h
 *
 *   q = h' P h = g' (h - C g),   b = h' P y = g' (y - m),   P = (K + S)^-1 = S^-1 - S^-1 C S^-1
 *   evidence against none: (1 + s^2 q)^-1/2 exp(b mu / 2) 2 Phi(mu / sigma),
 *   beta ~ N(mu, sigma^2) above zero, sigma^2 = s^2/(1 + s^2 q), mu = sigma^2 b,
 *
 * and the belief at a place moves by beta e, e = h - C g there. */
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUSP_NONE 0.5 /* prior probability of no cusp */
#define REACH     1.0 /* its point is at most so far from the lowest place, */
#define AROUND    5.0 /* and the values so far from there tell about it, in length scales */
#define MOST      150 /* of them at most */

static const double widths[] = {0.1, 0.3, 1};
static const double sizes[] = {0.5, 1, 2, 4, 8}; /* of s, in noise */
enum { WIDTHS = sizeof widths / sizeof *widths, SIZES = sizeof sizes / sizeof *sizes };

/* The lowest place (first) and the evaluated ones around it. */
struct cusp {
    struct bo_output *o;
    struct bo_ranked *near; /* owned: squared distance, index in o->active; from the second on */
    size_t n;
    double *at, *cov;                         /* D coordinates each; n x n; one block with */
    double *over, *precision, *r, *h, *g, *e; /* n each: y - m, 1/S, distances from c, see above */
    double *shift, *square;                   /* n each: sums of beta e and its square */
    double noise, prior[SIZES];
    double top, total; /* the largest log weight, to which the others are relative; their sum */
};

static const struct bo_point *point_of(const struct cusp *t, size_t i) {
    return &t->o->b->points.at[t->o->active.at[t->near[i - 1].i]];
}

static void find_near(struct cusp *t, const double *u) {
    const struct bo *b = t->o->b;
    size_t m = t->o->active.n;
    t->near = NEW_ARRAY(struct bo_ranked, m + 1);
    for (size_t i = 0; i < m; i++) {
        const double *v = b->points.at[t->o->active.at[i]].u;
        t->near[i] = (struct bo_ranked){bo_distance2(b, u, v, t->o->model.inv_l), 0, i};
    }
    qsort(t->near, m, sizeof *t->near, bo_by_key);
    for (t->n = 1; t->n <= m && t->n <= MOST && t->near[t->n - 1].key < AROUND * AROUND;) t->n++;
}

static bool cusp_init(struct cusp *t, struct bo_output *o, const double *u) {
    double noise = bo_model_noise_sd(&o->model);
    *t = (struct cusp){.o = o, .top = -INFINITY, .noise = noise * sqrt(bo_loud(o, u))};
    find_near(t, u);
    size_t n = t->n, D = (size_t)o->b->D;
    t->at = mem_zalloc(sizeof(double) * n * (D + n + 8));
    t->cov = t->at + n * D;
    double **each[] = {&t->over, &t->precision, &t->r, &t->h, &t->g, &t->e, &t->shift, &t->square};
    for (size_t i = 0; i < COUNT_OF(each); i++) *each[i] = t->cov + n * n + i * n;
    memcpy(t->at, u, D * sizeof *u);
    for (size_t i = 1; i < n; i++) memcpy(t->at + i * D, point_of(t, i)->u, D * sizeof *u);
    if (gp_predict_cov(o->model.gp, t->at, n, GP_LATENT, t->over, t->cov, n)) return false;
    for (size_t i = 1; i < n; i++) {
        t->over[i] = bo_to_z(o, point_of(t, i)->y[o->k]) - t->over[i];
        t->precision[i] = point_of(t, i)->count / (noise * noise * bo_loud(o, point_of(t, i)->u));
    }
    double sum = 0;
    for (int j = 0; j < SIZES; j++) {
        double wide = sizes[j < SIZES - 1 ? j + 1 : j] - (j ? sizes[j - 1] : 0);
        sum += t->prior[j] = wide / (1 + sizes[j] * sizes[j]);
    }
    for (int j = 0; j < SIZES; j++) t->prior[j] *= (1 - CUSP_NONE) / sum;
    return t->noise > 0;
}

static void cusp_release(struct cusp *t) {
    mem_free(t->near);
    mem_free(t->at);
}

/* A case of this log weight, with the first two moments of beta. */
static void add_case(struct cusp *t, double log_weight, double first, double second) {
    if (log_weight > t->top) {
        double less = exp(t->top - log_weight);
        t->total *= less;
        for (size_t i = 0; i < t->n; i++) t->shift[i] *= less, t->square[i] *= less;
        t->top = log_weight;
    }
    double w = exp(log_weight - t->top);
    t->total += w;
    for (size_t i = 0; i < t->n; i++) {
        t->shift[i] += w * first * t->e[i];
        t->square[i] += w * second * t->e[i] * t->e[i];
    }
}

static void add_sizes(struct cusp *t, double q, double b) {
    add_case(t, log(CUSP_NONE), 0, 0);
    for (int j = 0; j < SIZES; j++) {
        double s = sizes[j] * t->noise, rest = 1 / (1 + s * s * fmax(0, q)), sigma = s * sqrt(rest);
        double x = sigma * b, mu = sigma * x, above = 0.5 * x * x + norm_log_cdf(x);
        double first = fmax(0, mu + sigma * exp(-LOG_SQRT_2PI - above)); /* sigma phi/Phi more */
        add_case(t, log(2 * t->prior[j]) + 0.5 * log(rest) + above, first,
                 sigma * sigma + mu * first);
    }
}

/* The cusp at place c. */
static void add_place(struct cusp *t, size_t c) {
    const struct bo *b = t->o->b;
    size_t n = t->n, D = (size_t)b->D;
    for (size_t i = 0; i < n; i++)
        t->r[i] = sqrt(bo_distance2(b, t->at + i * D, t->at + c * D, t->o->model.inv_l));
    for (int k = 0; k < WIDTHS; k++) {
        double q = 0, y = 0;
        for (size_t i = 0; i < n; i++) {
            t->h[i] = -exp(-t->r[i] / widths[k]);
            t->g[i] = t->precision[i] * t->h[i];
        }
        for (size_t i = 0; i < n; i++) {
            t->e[i] = t->h[i];
            for (size_t j = 0; j < n; j++) t->e[i] -= t->cov[i * n + j] * t->g[j];
            q += t->g[i] * t->e[i];
            y += t->g[i] * t->over[i];
        }
        add_sizes(t, q, y);
    }
}

void bo_cusp(struct bo_output *o, const double *u, double *mean, double *var) {
    struct cusp t;
    bool known = cusp_init(&t, o, u);
    for (size_t c = 0; known && c < t.n; c++)
        if (!c || t.near[c - 1].key <= REACH * REACH) add_place(&t, c);
    for (size_t i = 0; known && i < t.n; i++) {
        size_t place = i ? t.near[i - 1].i : o->active.n;
        double shift = t.shift[i] / t.total;
        mean[place] += shift;
        var[place] += fmax(0, t.square[i] / t.total - shift * shift);
    }
    cusp_release(&t);
}
