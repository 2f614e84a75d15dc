/* SPDX-License-Identifier: Apache-2.0
 *
 * Noise that differs by place. Its log variance is a quadratic of the numeric coordinates,
 *
 *   v(u) = s^2 exp(c_0 + sum_k c_k P1(t_k) + c_kk P2(t_k)),   t = 2u - 1, P of Legendre,
 *
 * with normal priors on c. What tells about it are the values left out: r_i, by which value i is
 * off when the others predict it, is N(0, a_i + v(u_i)), a_i being what the function is uncertain
 * by. Maximised by Fisher's scoring,
 *
 *   grad = -1/2 sum rho_i (1 - r_i^2/e_i) phi_i - c/tau^2,  H = 1/2 sum rho_i^2 phi_i phi_i' +
 * tau^-2, e_i = a_i + v_i, rho_i = v_i/e_i,
 *
 * and taken only if its evidence (Laplace's) beats that of one noise for all places by LOUD_NATS:
 * else the model is as if this file were not there.
 */
#include "numeric/la/chol.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define LOUD_FIRST 24  /* values before anything is tried */
#define LOUD_MOST  400 /* above, one noise: the inverse would cost too much */
#define LOUD_NATS  5.0
#define LOUD_STEPS 20
#define WIDEST     6.0 /* |log v/s^2| at most */

static const double taus[] = {1, 1, 0.5}; /* prior sd of c_0, of the linear and quadratic parts */
enum { MOST_C = 1 + 2 * BO_LOUD_DIMS };

static int terms(int d) {
    return 1 + 2 * d;
}

static double tau_of(int j, int d) {
    return taus[j == 0 ? 0 : j <= d ? 1 : 2];
}

static void features(const double *u, int d, double *phi) {
    phi[0] = 1;
    for (int k = 0; k < d; k++) {
        double t = 2 * u[k] - 1;
        phi[1 + k] = t;
        phi[1 + d + k] = 0.5 * (3 * t * t - 1);
    }
}

double bo_loud(const struct bo_output *o, const double *u) {
    double phi[MOST_C], sum = 0;
    if (!o->loud.on) return 1;
    features(u, o->model.d, phi);
    for (int j = 0; j < terms(o->model.d); j++) sum += o->loud.c[j] * phi[j];
    return exp(fmin(WIDEST, fmax(-WIDEST, sum)));
}

static double loud_at(const void *ctx, const double *u) {
    return bo_loud(ctx, u);
}

void bo_loud_off(struct bo_output *o) {
    if (!o->loud.on) return;
    o->loud.on = false;
    gp_set_loud(o->model.gp, NULL, NULL);
}

/* The values left out. */
struct left {
    size_t n;
    int d;
    double s2, *r2, *a; /* n each; one block */
    const double *u;    /* borrowed, D coordinates each */
    size_t D;
};

static double log_density(const struct left *t, const double *c, int p) {
    double sum = 0, phi[MOST_C];
    for (int j = 0; j < p; j++) sum -= 0.5 * c[j] * c[j] / (tau_of(j, t->d) * tau_of(j, t->d));
    for (size_t i = 0; i < t->n; i++) {
        double log_v = 0;
        features(t->u + i * t->D, t->d, phi);
        for (int j = 0; j < p; j++) log_v += c[j] * phi[j];
        double e = t->a[i] + t->s2 * exp(log_v);
        sum -= 0.5 * (log(e) + t->r2[i] / e);
    }
    return sum;
}

/* grad and H (p x p, lower triangle) of -log_density. */
static void scores(const struct left *t, const double *c, int p, double *grad, double *H) {
    double phi[MOST_C];
    memset(H, 0, sizeof *H * (size_t)(p * p));
    for (int j = 0; j < p; j++) {
        double precision = 1 / (tau_of(j, t->d) * tau_of(j, t->d));
        grad[j] = c[j] * precision;
        H[j * (p + 1)] = precision;
    }
    for (size_t i = 0; i < t->n; i++) {
        double log_v = 0;
        features(t->u + i * t->D, t->d, phi);
        for (int j = 0; j < p; j++) log_v += c[j] * phi[j];
        double v = t->s2 * exp(log_v), e = t->a[i] + v, rho = v / e;
        for (int j = 0; j < p; j++) {
            grad[j] += 0.5 * rho * (1 - t->r2[i] / e) * phi[j];
            for (int k = 0; k <= j; k++) H[j + k * p] += 0.5 * rho * rho * phi[j] * phi[k];
        }
    }
}

/* The first p coefficients at their best, and the log evidence of that model. */
static double maximise(const struct left *t, int p, double *c) {
    double grad[MOST_C], H[MOST_C * MOST_C], next[MOST_C], log_det = 0;
    struct chol f = {0};
    memset(c, 0, sizeof *c * MOST_C);
    double best = log_density(t, c, p);
    for (int step = 0; step < LOUD_STEPS; step++) {
        double size = 1, before = best;
        scores(t, c, p, grad, H);
        if (chol_build_from(&f, (size_t)p, H, (size_t)p)) break;
        chol_solve_l(&f, grad, 1, (size_t)p);
        chol_solve_lt(&f, grad, 1, (size_t)p);
        for (; size > 1e-3; size /= 2) {
            for (int j = 0; j < p; j++) next[j] = c[j] - size * grad[j];
            double value = log_density(t, next, p);
            if (!(value > best)) continue;
            best = value;
            memcpy(c, next, sizeof *c * (size_t)p);
            break;
        }
        if (!(best > before + 1e-6)) break;
    }
    scores(t, c, p, grad, H);
    bool known = chol_build_from(&f, (size_t)p, H, (size_t)p) == GPM_OK;
    for (int j = 0; known && j < p; j++)
        log_det += 2 * log(f.l[(size_t)j * (f.ld + 1)] * tau_of(j, t->d));
    chol_release(&f);
    return known ? best - 0.5 * log_det : -INFINITY;
}

static bool left_init(struct left *t, struct bo_output *o) {
    double noise = bo_model_noise_sd(&o->model);
    *t = (struct left){.n = o->model_y.n, .d = o->model.d, .D = (size_t)o->b->D};
    t->u = o->model_u.at;
    t->s2 = noise * noise;
    t->r2 = NEW_ARRAY(double, 2 * t->n + 1);
    t->a = t->r2 + t->n;
    if (gp_loo(o->model.gp, t->r2, t->a, NULL)) return false;
    for (size_t i = 0; i < t->n; i++) {
        double r = o->model_y.at[i] - t->r2[i];
        t->r2[i] = r * r;
        t->a[i] = fmax(0, t->a[i] - t->s2);
    }
    return true;
}

enum gpm_status bo_loud_learn(struct bo_output *o) {
    struct left t;
    double one[MOST_C], c[MOST_C];
    size_t n = o->model_y.n;
    int d = o->model.d;
    bo_loud_off(o);
    if (!o->b->opt.noisy || n < LOUD_FIRST || n > LOUD_MOST || d < 1 || d > BO_LOUD_DIMS)
        return GPM_OK;
    if (left_init(&t, o) && maximise(&t, terms(d), c) > maximise(&t, 1, one) + LOUD_NATS) {
        o->loud.on = true;
        memcpy(o->loud.c, c, sizeof *c * (size_t)terms(d));
        gp_set_loud(o->model.gp, loud_at, o);
    }
    mem_free(t.r2);
    return o->loud.on ? bo_model_factor(&o->model) : GPM_OK;
}
