/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters over a series in time order: likelihood, gradient and smoothing in O(n).
 *
 * K = S + Z Z' + noise, S the covariance of the states, Z the regressor columns. A filter takes y
 * and the columns of Z alike (they share its gains); with their innovations v and variances s
 *
 *   G = sum_k v_k v_k' / s_k,   W = D + G_ZZ,   x = W^-1 G_Zy      (D = 1; 0 for a missing value)
 *   log p = -1/2 (G_yy - x'W x + sum log s + log det W + n log 2 pi)
 *
 * For everything else the columns are mixed, u_0 = y - Z x, (u_1 ...) = Z C with C C' = W^-1: then
 * the inverse of K is that of S less sum_c g_c g_c' over c > 0, g_c = (S + noise)^-1 u_c, and
 *   2 d log p = sum_c g_c' dS g_c - tr (S + noise)^-1 dS      with c = 0 among them.
 *
 * Two filters:
 *   Kalman (states_kalman.c): any steps, missing values, weights; O(n d^2). Harmonics stand still,
 *     the observation turns. Harmonics alone (PER) need no states then: each is a column, its
 *     amplitude times cosine or sine, so that c of them cost O(n c^2 / 2) in one matrix product.
 *   Chandrasekhar (states_grid.c; Morf, Sidhu, Kailath 1974): a regular grid, equal noise, constant
 *     observation; O(n d). The covariance itself never appears: its increments have low rank.
 * Both keep the state before event k, so that the way back runs over pieces of the series whose
 * states are computed again from the piece's first: memory O(sqrt n).
 */
#ifndef GP_STATES_RUN_H
#define GP_STATES_RUN_H
#include "gp/way/gp_grid.h"
#include "gp/way/states_model.h"

#define ST_SPECIAL_MAX GRID_MAX_SPECIAL /* missing values of a grid, as columns */
#define ST_MIX_MAX     (1 + ST_COLUMNS_MAX + ST_STATES_MAX) /* more than ST_SPECIAL_MAX */

struct st_series {
    size_t n;
    const double *x, *y; /* times, ascending; values, NAN: nothing measured */
    const double *noise; /* variances of the measurements, white noise inside the kernel included */
    double step;         /* > 0: x is regular */
    const size_t *place; /* with step, perhaps: x = some x0 + place * step */
    const double *z;     /* further columns of the inputs, nz for each event; NULL: none */
    size_t nz;
};
static inline const double *st_further(const struct st_series *x, size_t k) {
    return x->z ? x->z + k * x->nz : NULL;
}

struct st_run;
/* What a filter does. State: doubles, the columns' means first. */
struct st_filter {
    const char *name;
    size_t (*size)(const struct st_run *r);
    void (*start)(struct st_run *r, double *state);
    /* Takes event k in and goes on to the next, in place; sets v and s (0: nothing measured). False
     * when s has no digits. */
    bool (*step)(struct st_run *r, size_t k, double *state);
    /* The way back through event k, from its state before: see st_adjoint. */
    void (*back)(struct st_run *r, size_t k, const double *state);
    void (*finish)(struct st_run *r); /* at the first event */
    /* From the state after the last event, `gap` ago, to the one before event 0 of a new series. */
    void (*resume)(struct st_run *r, double last, double gap, double *state);
};

/* On the way back. Kalman: r and N of the smoother; Chandrasekhar: derivatives in the state. */
struct st_adjoint {
    double *now, *next;   /* of the size of the state */
    double e[ST_MIX_MAX]; /* derivative of the log likelihood in the columns at this event, < 0 */
    double inverse;       /* ((S + noise)^-1)_kk */
    double noise_bar;     /* derivative in the noise variance of the event */
    bool slopes;          /* parameters are wanted */
};

/* The columns of the events [from, to), a row for each: as they are, mixed, and derivatives in the
 * mixtures. Matrix products make them, many events at once. */
struct st_ready {
    size_t from, to, room;
    double *raw, *u, *e;
};

struct st_run {
    struct st_model *m;
    const struct st_series *x;
    const struct st_filter *filter;
    size_t d;          /* states of the filter */
    size_t all;        /* y and the columns: ld of the square matrices */
    size_t cols;       /* those of them, or mixtures of them, that are filtered */
    size_t n_standing; /* the last states of the model, taken as columns */
    size_t n_special, special[ST_SPECIAL_MAX]; /* missing events of a grid */
    bool mixed;
    struct st_ready ready;   /* with mixed */
    double *square;          /* memory of the matrices */
    double *mix;             /* row c: u_c from (y, Z) */
    double *root;            /* of the variances of the standing states */
    double beta[ST_MIX_MAX]; /* taken off y beforehand: least squares of the regressors */
    double v[ST_MIX_MAX], s;
    double *g, log_s; /* G, its upper triangle, and sum log s over the events so far */
    double *block;    /* v / sqrt(s) of the events that G lacks */
    size_t n_block, observed;
    double *work; /* of the filter; Kalman's begins with the model's h at the event */
    struct st_adjoint back;
    /* the answer */
    double quad, logdet, logml, x_post[ST_MIX_MAX], *mixing;
};

extern const struct st_filter st_kalman, st_chandrasekhar;

enum st_way {
    ST_GRID,  /* Chandrasekhar's filter */
    ST_STEPS, /* Kalman's over the states that a step changes; the others are columns */
    ST_WHOLE  /* Kalman's over all states, so that s is that of Chandrasekhar's */
};
/* GPM_E_NOMEM. */
GPM_MUST_USE enum gpm_status st_run_init(struct st_run *r, struct st_model *m,
                                         const struct st_series *x, enum st_way way);
void st_run_release(struct st_run *r);
/* The whole series; *ok is false when the filter has lost its digits. The state at its end goes to
 * *end (NULL: not wanted), for the caller to free. */
GPM_MUST_USE enum gpm_status st_run_value(struct st_run *r, double **end, bool *ok);
/* More events after the end of a series whose value is known: only they are filtered. False: no
 * digits are left, and the series is to be run as a whole. */
bool st_run_append(struct st_run *r, const struct st_series *more, double last, double *state);
/* After st_run_value: from the last event to the first; after each, visit (may be NULL) finds the
 * state before the event and r->back. The quadratic form is counted `weight` times. */
typedef void (*st_visit)(void *ctx, struct st_run *r, size_t k, const double *state);
GPM_MUST_USE enum gpm_status st_run_back(struct st_run *r, bool slopes, double weight,
                                         st_visit visit, void *ctx);
/* Do the two filters agree at the beginning of the series? Chandrasekhar's loses digits without a
 * sign when the prior variance is large beside the noise. */
GPM_MUST_USE enum gpm_status st_run_guard(struct st_model *m, const struct st_series *x, bool *ok);

/* Of the Kalman filter, for covariances. After the way back through a measured event: the
 * covariance of the state there with (S + noise)^-1 of the event, d numbers. */
void st_kalman_own(const struct st_run *r, const double *state, double *out);
/* After a step: m vectors that stand for states before it, carried through it. */
void st_kalman_carry(struct st_run *r, size_t k, size_t m, double *w);

/* ---- for the filters ---- */
void st_columns(struct st_run *r, size_t k, double *u);
static inline double st_gap(const struct st_series *x, size_t k) { /* from event k to the next */
    return x->place      ? (double)(x->place[k + 1] - x->place[k]) * x->step
           : x->step > 0 ? x->step
                         : x->x[k + 1] - x->x[k];
}
static inline double st_dot(size_t n, const double *restrict a, const double *restrict b) {
    double s[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) s[j] += a[i + (size_t)j] * b[i + (size_t)j];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}
static inline void st_axpy(size_t n, double f, const double *restrict x, double *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += f * x[i];
}
/* Blocks of len: out_i = sum_j A_ij in_j, or with A' (trans). */
void st_combine(const struct st_term *t, bool trans, size_t len, const double *in, double *out);
#endif
