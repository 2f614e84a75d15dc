/* SPDX-License-Identifier: Apache-2.0
 * The evaluations, the thinned set the model sees, and the output warps. */
#include "optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bo_warp_names[BO_WARP_COUNT] = {"identity", "sqrt", "log"};

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

size_t bo_incumbent(const struct bo *b, bool skip_tabu) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < b->points.n; i++) {
        const struct bo_point *p = &b->points.at[i];
        if (!p->count || (best != SIZE_MAX && p->y >= b->points.at[best].y)) continue;
        if (!skip_tabu || !bo_in_tabu(b, p->u)) best = i;
    }
    return best;
}

/* u within `half` of v in every number, and of the same categories. half NULL: within 1e-7. */
static bool near(const struct bo *b, const double *u, const double *v, const double *half) {
    for (int k = 0; k < b->space->d; k++)
        if (!(fabs(u[k] - v[k]) <= (half ? half[k] : 1e-7))) return false;
    for (int k = b->space->d; k < b->D; k++)
        if (u[k] != v[k]) return false;
    return true;
}

bool bo_in_tabu(const struct bo *b, const double *u) {
    for (const double *t = b->tabu.at, *end = t + b->tabu.n; t < end; t += bo_tabu_width(b))
        if (near(b, u, t, t + b->D)) return true;
    return false;
}

bool bo_duplicate(const struct bo *b, const double *u) {
    for (size_t i = 0; i < b->pending.n; i += (size_t)b->D)
        if (near(b, u, b->pending.at + i, NULL)) return true;
    for (size_t i = 0; i < b->points.n && !b->opt.noisy; i++)
        if (near(b, u, b->points.at[i].u, NULL)) return true;
    return false;
}

/* ---- active set ---- */

int bo_by_key(const void *a, const void *b) {
    const struct bo_ranked *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key ? 1 : p->i < q->i ? -1 : p->i > q->i;
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
static void limit_active(struct bo *b, const double *inv_l) {
    size_t n = b->active.n, kept = 0;
    if (n <= MODEL_MAX) return;
    struct bo_ranked *r = NEW_ARRAY(struct bo_ranked, n);
    const double *best = b->points.at[b->active.at[0]].u; /* sorted by value */
    for (size_t i = 0; i < n; i++) {
        r[i].i = b->active.at[i];
        r[i].key = bo_distance2(b, b->points.at[r[i].i].u, best, inv_l);
    }
    qsort(r, n, sizeof *r, bo_by_key);
    for (size_t i = 0; i < MODEL_NEAR; i++) b->active.at[kept++] = r[i].i;
    size_t rest = n - MODEL_NEAR, want = MODEL_MAX - MODEL_NEAR;
    for (size_t i = 0; i < want; i++) b->active.at[kept++] = r[MODEL_NEAR + i * rest / want].i;
    b->active.n = kept;
    mem_free(r);
}

/* Deterministic functions: a point closer than 1e-3 (in length scales) to a better one is dropped;
 * without this the points of the local arm ruin the global fit. */
void bo_load_points(struct bo *b, const double *theta) {
    size_t n = b->points.n, m = 0;
    double *inv_l = NEW_ARRAY(double, (size_t)b->D);
    for (int k = 0; k < b->D; k++) inv_l[k] = exp(-theta[k]);
    struct bo_ranked *r = NEW_ARRAY(struct bo_ranked, n + 1);
    for (size_t i = 0; i < n; i++)
        if (b->points.at[i].count) r[m++] = (struct bo_ranked){b->points.at[i].y, i};
    qsort(r, m, sizeof *r, bo_by_key);
    vec_clear(&b->active);
    for (size_t i = 0; i < m; i++) {
        bool keep = true;
        const double *u = b->points.at[r[i].i].u;
        for (size_t j = 0; keep && j < b->active.n; j++)
            keep =
                b->opt.noisy || bo_distance2(b, u, b->points.at[b->active.at[j]].u, inv_l) >= 1e-6;
        if (keep) vec_push(&b->active, r[i].i);
    }
    mem_free(r);
    limit_active(b, inv_l);
    mem_free(inv_l);
    b->given = -1;
}

/* ---- warps: t = (y - ymin)/c, then t, sqrt(1+t) or log(1+t), then standardised ---- */

static double warp(enum bo_warp w, double t) {
    return w == BO_SQRT ? sqrt(1 + t) : w == BO_LOG ? log1p(t) : t;
}

static double unwarp(enum bo_warp w, double v) {
    if (w == BO_SQRT) return v > 0 ? v * v - 1 : -1;
    return w == BO_LOG ? expm1(v) : v;
}

static double standard(const struct bo *b, enum bo_warp w, double y) {
    return (warp(w, (y - b->w_min) / b->w_scale) - b->w_mean) / b->w_sd;
}

/* c: from the first decile to the median, the half that matters (the active set is sorted by
 * value). */
static void set_scale(struct bo *b) {
    size_t n = b->active.n;
    double lo = b->points.at[b->active.at[0]].y, hi = b->points.at[b->active.at[n - 1]].y;
    double q1 = b->points.at[b->active.at[n / 10]].y, q3 = b->points.at[b->active.at[n / 2]].y;
    b->w_min = lo;
    b->w_scale = q3 > q1 ? q3 - q1 : hi > lo ? hi - lo : 1;
    if (!isfinite(b->w_scale)) b->w_scale = 1e300;
}

enum gpm_status bo_load_outputs(struct bo *b, enum bo_warp w) {
    size_t n = b->active.n;
    double mean = 0, var = 0;
    if (b->given == (int)w) return GPM_OK;
    set_scale(b);
    for (size_t i = 0; i < n; i++)
        mean += warp(w, (b->points.at[b->active.at[i]].y - b->w_min) / b->w_scale) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = warp(w, (b->points.at[b->active.at[i]].y - b->w_min) / b->w_scale) - mean;
        var += t * t / (double)n;
    }
    b->w_mean = mean;
    b->w_sd = var > 0 ? sqrt(var) : 1;
    vec_clear(&b->model_u);
    vec_clear(&b->model_y);
    for (size_t i = 0; i < n; i++) {
        const struct bo_point *p = &b->points.at[b->active.at[i]];
        for (size_t j = 0; j < (b->opt.noisy ? p->ys.n : 1); j++) { /* exact: their mean */
            for (int k = 0; k < b->D; k++) vec_push(&b->model_u, p->u[k]);
            vec_push(&b->model_y, standard(b, w, b->opt.noisy ? p->ys.at[j] : p->y));
        }
    }
    enum gpm_status s = bo_model_load(&b->model, b->model_u.at, b->model_y.at, b->model_y.n);
    b->given = s ? -1 : (int)w;
    return s;
}

/* log density of the y given that of the z: sum log dwarp/dt - (N-1) log sd, constants left out.
 * The mean and scale are integrated out, so the standardisation costs N-1 times its logarithm. */
double bo_log_jacobian(const struct bo *b, enum bo_warp w) {
    double lj = -((double)gp_npairs(b->model.gp) - 1) * log(b->w_sd);
    for (size_t i = 0; w != BO_IDENTITY && i < b->active.n; i++) {
        double t = (b->points.at[b->active.at[i]].y - b->w_min) / b->w_scale;
        lj -= w == BO_SQRT ? log(2) + 0.5 * log1p(t) : log1p(t);
    }
    return lj;
}

double bo_unwarp(const struct bo *b, double z) {
    return b->w_min + b->w_scale * unwarp(b->warp, z * b->w_sd + b->w_mean);
}
