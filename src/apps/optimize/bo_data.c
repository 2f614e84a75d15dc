/* SPDX-License-Identifier: Apache-2.0
 * The evaluations, the thinned set the model sees, and the output warps. */
#include "base/number.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bo_warp_names[BO_WARP_COUNT] = {"identity", "sqrt", "log", "bilog"};

size_t bo_find(const struct bo *b, const double *x) {
    for (size_t i = 0; i < b->points.n; i++)
        if (memcmp(b->points.at[i].x, x, (size_t)b->space->n * sizeof *x) == 0) return i;
    return SIZE_MAX;
}

size_t bo_n_good(const struct bo *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->points.n; i++) n += b->points.at[i].count > 0;
    return n;
}

double bo_violation(const struct bo *b, const double *y) {
    double sum = 0;
    for (int k = 0; k < b->K && !b->plain; k++) {
        const struct bo_goal *g = &b->out[k].goal;
        double over = fmax(0, fmax(g->lo - y[k], y[k] - g->hi));
        if (over > 0) sum += over / b->out[k].spread;
    }
    return sum;
}

double bo_merit(const struct bo *b, const double *y) {
    double most = -INFINITY;
    for (int j = 0; j < b->n_obj; j++) {
        int k = b->obj[j];
        most = fmax(most, b->gain[k] * (y[k] - b->from[k]));
    }
    return b->n_obj ? most : 0;
}

static struct bo_ranked ranked(const struct bo *b, size_t i) {
    const struct bo_point *p = &b->points.at[i];
    double less = b->fidelity < 0 ? 0 : BO_BROKEN * (1 - p->u[b->fidelity]);
    return (struct bo_ranked){less + bo_violation(b, p->y), bo_merit(b, p->y), i};
}

#define LITTLE 0.15 /* of the largest: some hundredths of the variance */

double bo_idle(const struct bo *b) {
    double most = 0;
    for (int k = 0; k < b->space->d && b->space->d > BO_MANY_DIMS; k++)
        most = fmax(most, bo_lead(b)->model.inv_l[k]);
    return LITTLE * most;
}

/* u within `wider` times `half` of v in every number, and of the same categories. half NULL: within
 * 1e-7. */
static bool near(const struct bo *b, const double *u, const double *v, const double *half,
                 double wider) {
    for (int k = 0; k < b->space->d; k++)
        if (!(fabs(u[k] - v[k]) <= wider * (half ? half[k] : 1e-7))) return false;
    for (int k = b->space->d; k < b->D; k++)
        if (u[k] != v[k]) return false;
    return true;
}

static bool in_tabu(const struct bo *b, const double *u, double wider) {
    for (size_t i = 0; i < b->tabu.n; i += bo_tabu_width(b))
        if (near(b, u, b->tabu.at + i, b->tabu.at + i + b->D, wider)) return true;
    return false;
}

bool bo_in_tabu(const struct bo *b, const double *u) {
    return in_tabu(b, u, 1);
}

#define BASIN 1.5 /* points so much of a tabu box away still lead down into it */

size_t bo_incumbent(const struct bo *b, bool skip_tabu) {
    struct bo_ranked best = {INFINITY, INFINITY, SIZE_MAX};
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (!p->count) continue;
        struct bo_ranked r = ranked(b, i);
        if (best.i != SIZE_MAX && bo_by_key(&r, &best) >= 0) continue;
        if (!skip_tabu || !in_tabu(b, p->u, BASIN)) best = r;
    }
    return best.i;
}

bool bo_duplicate(const struct bo *b, const double *u) {
    for (size_t i = 0; i < b->pending.n; i += (size_t)b->D)
        if (near(b, u, b->pending.at + i, NULL, 1)) return true;
    for (size_t i = 0; i < b->points.n && !b->opt.noisy; i++)
        if (near(b, u, b->points.at[i].u, NULL, 1)) return true;
    return false;
}

/* ---- active set ---- */

int bo_by_key(const void *a, const void *b) {
    const struct bo_ranked *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    if (p->second != q->second) return p->second < q->second ? -1 : 1;
    return p->i < q->i ? -1 : p->i > q->i;
}

double bo_distance2(const struct bo *b, const double *u, const double *v, const double *inv_l) {
    double r2 = 0;
    for (int k = 0; k < b->space->d; k++) {
        double t = (u[k] - v[k]) * inv_l[k];
        r2 += t * t;
    }
    for (int k = b->space->d; k < b->D; k++)
        if (u[k] != v[k]) r2 += 1e6;
    return r2;
}

#define MODEL_MAX  1200 /* points the model sees at most */
#define MODEL_NEAR 800  /* of which so many nearest to the best */

/* With very many points: the nearest to the incumbent, and every so-manieth of the rest. */
static void limit_active(struct bo_output *o, const double *inv_l) {
    const struct bo *b = o->b;
    size_t n = o->active.n, kept = 0;
    if (n <= MODEL_MAX) return;
    struct bo_ranked *r = NEW_ARRAY(struct bo_ranked, n);
    const double *best = b->points.at[o->active.at[0]].u; /* sorted by value */
    for (size_t i = 0; i < n; i++) {
        r[i] = (struct bo_ranked){.i = o->active.at[i]};
        r[i].key = bo_distance2(b, b->points.at[r[i].i].u, best, inv_l);
    }
    qsort(r, n, sizeof *r, bo_by_key);
    for (size_t i = 0; i < MODEL_NEAR; i++) o->active.at[kept++] = r[i].i;
    size_t rest = n - MODEL_NEAR, want = MODEL_MAX - MODEL_NEAR;
    for (size_t i = 0; i < want; i++) o->active.at[kept++] = r[MODEL_NEAR + i * rest / want].i;
    o->active.n = kept;
    mem_free(r);
}

/* At least 1e-3 length scales apart; mostly the first coordinate says so. */
static bool apart(const struct bo *b, const double *u, const double *v, const double *inv_l) {
    for (int k = 0; k < b->D; k++)
        if (fabs(u[k] - v[k]) * inv_l[k] >= 1e-3) return true;
    return bo_distance2(b, u, v, inv_l) >= 1e-6;
}

/* Deterministic functions: a point closer than 1e-3 (in length scales) to a better one is dropped;
 * without this the points of the local arm ruin the global fit. */
void bo_load_points(struct bo_output *o, const double *theta) {
    const struct bo *b = o->b;
    size_t n = b->points.n, m = 0;
    double *inv_l = NEW_ARRAY(double, (size_t)b->D);
    for (int k = 0; k < b->D; k++) inv_l[k] = exp(-theta[k]);
    struct bo_ranked *r = NEW_ARRAY(struct bo_ranked, n + 1);
    for (size_t i = 0; i < n; i++)
        if (b->points.at[i].count) r[m++] = ranked(b, i);
    qsort(r, m, sizeof *r, bo_by_key);
    vec_clear(&o->active);
    for (size_t i = 0; i < m; i++) {
        bool keep = true;
        const double *u = b->points.at[r[i].i].u;
        for (size_t j = 0; keep && j < o->active.n; j++)
            keep = b->opt.noisy || apart(b, u, b->points.at[o->active.at[j]].u, inv_l);
        if (keep) vec_push(&o->active, r[i].i);
    }
    mem_free(r);
    limit_active(o, inv_l);
    mem_free(inv_l);
    o->given = -1;
}

/* ---- warps: t = (y - min)/c, then t, sqrt(1+t), log(1+t) or sign(t) log(1+|t|), then
 * standardised. min: the least value, or the bound of a number that has one ---- */

static double warp(enum bo_warp w, double t) {
    if (w == BO_BILOG) return copysign(log1p(fabs(t)), t);
    return w == BO_SQRT ? sqrt(1 + t) : w == BO_LOG ? log1p(t) : t;
}

static double unwarp(enum bo_warp w, double v) {
    if (w == BO_SQRT) return v > 0 ? v * v - 1 : -1;
    if (w == BO_BILOG) return copysign(expm1(fabs(v)), v);
    return w == BO_LOG ? expm1(v) : v;
}

static double y_at(const struct bo_output *o, size_t i) {
    return o->b->points.at[o->active.at[i]].y[o->k];
}

static double scaled(const struct bo_output *o, double y) {
    return (y - o->w_min) / o->w_scale;
}

double bo_to_z(const struct bo_output *o, double y) {
    return isinf(y) ? y : (warp(o->warp, scaled(o, y)) - o->w_mean) / o->w_sd;
}

/* c: from the first decile to the median, the half that matters; of a bounded number the lower
 * third of the distances from the bound. */
static void set_scale(struct bo_output *o) {
    const struct bo_goal *g = &o->goal;
    size_t n = o->active.n;
    double *y = NEW_ARRAY(double, n), q1, q3;
    bool bounded = !g->direction;
    double at = isinf(g->lo) ? g->hi : isinf(g->hi) ? g->lo : 0.5 * (g->lo + g->hi);
    if (isinf(at)) at = 0; /* neither bounded nor an objective */
    for (size_t i = 0; i < n; i++) y[i] = bounded ? fabs(y_at(o, i) - at) : y_at(o, i);
    qsort(y, n, sizeof *y, number_compare);
    o->w_min = bounded ? at : y[0];
    q1 = bounded ? 0 : y[n / 10];
    q3 = bounded ? y[n / 3] : y[n / 2];
    o->w_scale = q3 > q1 ? q3 - q1 : y[n - 1] > y[0] ? y[n - 1] - y[0] : 1;
    if (!isfinite(o->w_scale)) o->w_scale = 1e300;
    mem_free(y);
}

enum gpm_status bo_load_outputs(struct bo_output *o, enum bo_warp w) {
    const struct bo *b = o->b;
    size_t n = o->active.n;
    double mean = 0, var = 0;
    if (o->given == (int)w) return GPM_OK;
    set_scale(o);
    for (size_t i = 0; i < n; i++) mean += warp(w, scaled(o, y_at(o, i))) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = warp(w, scaled(o, y_at(o, i))) - mean;
        var += t * t / (double)n;
    }
    o->w_mean = mean;
    o->w_sd = var > 0 ? sqrt(var) : 1;
    vec_clear(&o->model_u);
    vec_clear(&o->model_y);
    for (size_t i = 0; i < n; i++) {
        const struct bo_point *p = &b->points.at[o->active.at[i]];
        for (int j = 0; j < (b->opt.noisy ? p->count : 1); j++) { /* exact: their mean */
            double y = b->opt.noisy ? p->ys.at[j * b->K + o->k] : p->y[o->k];
            for (int c = 0; c < b->D; c++) vec_push(&o->model_u, p->u[c]);
            vec_push(&o->model_y, (warp(w, scaled(o, y)) - o->w_mean) / o->w_sd);
        }
    }
    enum gpm_status s = bo_model_load(&o->model, o->model_u.at, o->model_y.at, o->model_y.n);
    o->given = s ? -1 : (int)w;
    return s;
}

/* log density of the y given that of the z: sum log dwarp/dt - (N-1) log sd, constants left out.
 * The mean and scale are integrated out, so the standardisation costs N-1 times its logarithm. */
double bo_log_jacobian(const struct bo_output *o, enum bo_warp w) {
    double lj = -((double)gp_npairs(o->model.gp) - 1) * log(o->w_sd);
    for (size_t i = 0; w != BO_IDENTITY && i < o->active.n; i++) {
        double t = scaled(o, y_at(o, i));
        lj -= w == BO_SQRT ? log(2) + 0.5 * log1p(t) : log1p(fabs(t));
    }
    return lj;
}

double bo_unwarp(const struct bo_output *o, double z) {
    return o->w_min + o->w_scale * unwarp(o->warp, z * o->w_sd + o->w_mean);
}

double bo_unwarp_slope(const struct bo_output *o, double z) {
    double v = z * o->w_sd + o->w_mean, s = o->w_scale * o->w_sd;
    if (o->warp == BO_SQRT) return v > 0 ? 2 * v * s : 0;
    return o->warp == BO_IDENTITY ? s : s * exp(o->warp == BO_LOG ? v : fabs(v));
}
