/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters over a series in time order: likelihood, gradient and smoothing in O(n).
 *
 * K = S + Z Z' + noise, with S the covariance of the states and Z the regressor columns. A filter
 * processes y and the columns of Z together, with common gains. With their innovations v and
 * variances s
 *
 *   G = sum_k v_k v_k' / s_k,   W = D + G_ZZ,   x = W^-1 G_Zy      (D = 1; 0 for a missing value)
 *   log p = -1/2 (G_yy - x'W x + sum log s + log det W + n log 2 pi)
 *
 * For all other results the columns are mixed: u_0 = y - Z x, (u_1 ...) = Z C with C C' = W^-1.
 * Then K^-1 = (S + noise)^-1 - sum_c g_c g_c' over c > 0, g_c = (S + noise)^-1 u_c, and
 *   2 d log p = sum_c g_c' dS g_c - tr (S + noise)^-1 dS      with c = 0 among them.
 *
 * Two filters:
 *   Kalman (states_kalman.c): any steps, missing values, weights; O(n d^2). Harmonics stand still,
 *     the observation turns. Harmonics alone (PER) need no states then: each is a column, its
 *     amplitude times cosine or sine, so that c of them cost O(n c^2 / 2) in one matrix product.
 *   Chandrasekhar (states_grid.c; Morf, Sidhu, Kailath 1974): a regular grid, equal noise, constant
 *     observation; O(n d). The covariance itself never appears: its increments have low rank.
 * Both store the state before event k. The backward pass takes the series in pieces and recomputes
 * the states of a piece from its first one: memory O(sqrt n). */
#ifndef GP_STATES_RUN_H
#define GP_STATES_RUN_H
#include "gp/way/gp_grid.h"
#include "gp/way/states_model.h"

#define ST_SPECIAL_MAX GRID_MAX_SPECIAL /* missing values of a grid, as columns */
#define ST_MIX_MAX     (1 + ST_COLUMNS_MAX + ST_STATES_MAX) /* more than ST_SPECIAL_MAX */

struct st_series {
    size_t n;
    const double *x, *y; /* n each: times, ascending; values, NAN: not measured */
    const double *noise; /* n: measurement variances, the kernel's white noise included */
    double step;         /* > 0: x is regular */
    const size_t *place; /* n or NULL, only with step: x = some x0 + place * step */
    const double *z;     /* n x nz, row-major: further columns of the inputs, or NULL */
    size_t nz;
};
static inline const double *st_further(const struct st_series *x, size_t k) {
    return x->z ? x->z + k * x->nz : NULL;
}

struct st_run;
/* Functions of a filter. The state is an array of size(r) doubles; the columns' means (cols x d)
 * come first. */
struct st_filter {
    const char *name;
    size_t (*size)(const struct st_run *r);
    void (*start)(struct st_run *r, double *state);
    /* Processes event k and moves to the next, in place; sets v and s (0: not measured). False if s
     * has lost its digits. */
    bool (*step)(struct st_run *r, size_t k, double *state);
    /* Backward through event k, given the state before it: see st_adjoint. */
    void (*back)(struct st_run *r, size_t k, const double *state);
    void (*finish)(struct st_run *r); /* after the first event */
    /* Moves from the state after the last event, `gap` ago, to the one before event 0 of a new
     * series. */
    void (*resume)(struct st_run *r, double last, double gap, double *state);
};

/* State of the backward pass. Kalman: r and N of the smoother; Chandrasekhar: derivatives in the
 * state. */
struct st_adjoint {
    double *now, *next;   /* size(r) each */
    double e[ST_MIX_MAX]; /* all: derivative of log p in the columns at this event, -g_c */
    double inverse;       /* ((S + noise)^-1)_kk */
    double noise_bar;     /* derivative in the noise variance of the event */
    bool slopes;          /* derivatives in parameters are wanted */
};

/* The columns of the events [from, to), a row of `all` per event: raw, mixed (u), and derivatives
 * in the mixed ones (e). Matrix products compute many events at once. */
struct st_ready {
    size_t from, to, room;
    double *raw, *u, *e;
};

struct st_run {
    struct st_model *m;
    const struct st_series *x;
    const struct st_filter *filter;
    size_t d;          /* states of the filter */
    size_t all;        /* y and all columns: order of the square matrices */
    size_t cols;       /* how many of them, or of their mixtures, are filtered */
    size_t n_standing; /* last states of the model, treated as columns */
    size_t n_special, special[ST_SPECIAL_MAX]; /* missing events of a grid */
    bool mixed;
    struct st_ready ready;   /* valid with mixed */
    double *square;          /* storage of the matrices */
    double *mix;             /* all x all, row-major; row c: u_c as a combination of (y, Z) */
    double *root;            /* n_standing: roots of the standing states' variances */
    double beta[ST_MIX_MAX]; /* subtracted from y beforehand: least squares on the regressors */
    double v[ST_MIX_MAX], s;
    double *g, log_s; /* all x all: G, its upper triangle; sum of log s over the events so far */
    double *block;    /* n_block x all: v / sqrt(s) of events not yet in G */
    size_t n_block, observed;
    double *work; /* scratch of the filter; Kalman's begins with the model's h at the event */
    struct st_adjoint back;
    /* Results. mixing: all x all, row i: row i of C = L^-T, with W = L L'. */
    double quad, logdet, logml, x_post[ST_MIX_MAX], *mixing;
};

extern const struct st_filter st_kalman, st_chandrasekhar;

enum st_way {
    ST_GRID,  /* Chandrasekhar's filter */
    ST_STEPS, /* Kalman filter of the states a step changes; the others are columns */
    ST_WHOLE  /* Kalman filter of all states, with the same s as Chandrasekhar's */
};
/* Fails only with GPM_E_NOMEM. */
GPM_MUST_USE enum gpm_status st_run_init(struct st_run *r, struct st_model *m,
                                         const struct st_series *x, enum st_way way);
void st_run_release(struct st_run *r);
/* Filters the whole series; *ok is false if the filter has lost its digits. *end: state at its end,
 * for the caller to free; NULL: not wanted. */
GPM_MUST_USE enum gpm_status st_run_value(struct st_run *r, double **end, bool *ok);
/* Filters only events after the end of a series whose value is known. False: the digits are lost,
 * and the whole series must be filtered. */
bool st_run_append(struct st_run *r, const struct st_series *more, double last, double *state);
/* After st_run_value: goes from the last event to the first. After each event, visit (may be NULL)
 * gets the state before it, and r->back. The quadratic form counts `weight` times. */
typedef void (*st_visit)(void *ctx, struct st_run *r, size_t k, const double *state);
GPM_MUST_USE enum gpm_status st_run_back(struct st_run *r, bool slopes, double weight,
                                         st_visit visit, void *ctx);
#define ST_GUARD_EVENTS 128
/* Do the two filters agree at the beginning of the series? Chandrasekhar's loses digits without
 * notice if the prior variance is large compared with the noise. */
GPM_MUST_USE enum gpm_status st_run_guard(struct st_model *m, const struct st_series *x, bool *ok);

/* Kalman filter only, for covariances. After the backward pass through a measured event: out: d,
 * the covariance of the state there with (S + noise)^-1 of the event. */
void st_kalman_own(const struct st_run *r, const double *state, double *out);
/* After a step: moves w: m x d, row-major, m linear functions of the state before it, through the
 * step. */
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
/* Blocks of len: out_i = sum_j A_ij in_j, or with A' (trans). in, out: ns x len, row-major. */
void st_combine(const struct st_term *t, bool trans, size_t len, const double *in, double *out);
#endif
