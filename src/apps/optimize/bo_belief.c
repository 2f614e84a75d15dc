/* SPDX-License-Identifier: Apache-2.0
 *
 * What the optimiser believes about the function, for reports. The parameters theta of the model
 * are known well when there are many exact values; with few or noisy ones they are not, and the
 * model at the best theta alone would be far too sure. Noisy functions are therefore answered by
 * the posterior of theta, drawn by Metropolis-Hastings:
 *
 *   mean = E m(theta),  var = E v(theta) + Var m(theta)
 */
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool model_ready(struct bo_output *o) {
    return bo_n_good(o->b) >= 3 && bo_ensure_model(o) == GPM_OK;
}

/* How many draws of theta are worth their factors: with many points theta is known. */
static int draws_for(const struct bo_output *o) {
    return !o->b->opt.noisy ? 1 : o->active.n <= 120 ? 40 : o->active.n <= 250 ? 10 : 1;
}

/* Sums of the function's mean, squared mean and variance at count points over draws of theta, and
 * of the noise's log standard deviation. The model is left at its best theta. */
struct belief {
    double *mean, *square, *var; /* count each; one block */
    double log_noise;
    int draws;
};

static void add_draw(struct bo_output *o, const double *u, size_t count, struct belief *t) {
    double m, v;
    for (size_t i = 0; i < count; i++) {
        bo_model_predict(&o->model, u + i * (size_t)o->b->D, &m, &v);
        t->mean[i] += m;
        t->square[i] += m * m;
        t->var[i] += v;
    }
    t->log_noise += log(fmax(bo_model_noise_sd(&o->model), 1e-300));
    t->draws++;
}

static bool believe(struct bo_output *o, const double *u, size_t count, struct belief *t) {
    enum { THIN = 8 };
    struct bo_model *m = &o->model;
    struct rng r;
    int draws = draws_for(o);
    *t = (struct belief){.mean = mem_zalloc(sizeof(double) * (3 * count + 1))};
    t->square = t->mean + count;
    t->var = t->square + count;
    if (draws > 1) {
        size_t bytes = sizeof(double) * bo_model_size(m);
        double *best = mem_alloc(bytes), nlp = bo_model_nlp(m, m->theta, NULL);
        memcpy(best, m->theta, bytes);
        rng_init(&r, o->b->seed, 4, 0);
        bo_model_mcmc(m, 10 * THIN, &nlp, &r);
        for (int i = 0; i < draws; i++) {
            bo_model_mcmc(m, THIN, &nlp, &r);
            if (bo_model_factor(m) == GPM_OK) add_draw(o, u, count, t);
        }
        memcpy(m->theta, best, bytes);
        mem_free(best);
        if (bo_model_factor(m)) return false;
    }
    if (t->draws == 0) add_draw(o, u, count, t);
    for (size_t i = 0; i < count; i++) {
        t->mean[i] /= t->draws;
        t->var[i] =
            t->var[i] / t->draws + fmax(0, t->square[i] / t->draws - t->mean[i] * t->mean[i]);
    }
    t->log_noise /= t->draws;
    return true;
}

static double dof_of(const struct bo_output *o) {
    return fmax(3, gp_dof(o->model.gp));
}

/* Values as they were told. */
static double sign_of(const struct bo_output *o) {
    return o->goal.direction < 0 ? -1 : 1;
}

/* Quantile of Student's t by the normal one (Cornish-Fisher, Abramowitz and Stegun 26.7.5). */
static double t_quantile(double p, double dof) {
    double z = norm_quantile(p), z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * dof) + (5 * z5 + 16 * z3 + 3 * z) / (96 * dof * dof);
}

/* What the function is at point i under noise: by the others N(mean', var' + t2), where t2 is what
 * the model is off by there, and by its own m values of mean y and variance s2/m; over what t2 may
 * be. */
static void correct(struct bo_output *o, const double *left, size_t i, double *mean, double *var) {
    const struct bo_point *p = &o->b->points.at[i];
    double s = bo_noise_sd_at(o, p->u), own = s * s / p->count, y = bo_to_z(o, p->y[o->k]);
    double sum = 0, square = 0;
    struct bo_off off;
    bo_leave_out(o, p, mean, var);
    bo_off(o, left, p->u, &off);
    for (int j = 0; j < BO_OFF; j++) {
        double prior = *var + off.t2[j], q = own > 0 ? prior / (prior + own) : 1;
        double m = q * (y - *mean); /* q: the share of its own values */
        sum += off.share[j] * m;
        square += off.share[j] * (m * m + q * own);
    }
    *mean += sum;
    *var = square - sum * sum;
}

/* What is believed of the active points, then of the place u. */
static bool believe_points(struct bo_output *o, const double *u, struct belief *t) {
    size_t D = (size_t)o->b->D, n = o->active.n;
    double *at = NEW_ARRAY(double, (n + 1) * D);
    for (size_t i = 0; i < n; i++)
        memcpy(at + i * D, o->b->points.at[o->active.at[i]].u, D * sizeof *at);
    memcpy(at + n * D, u, D * sizeof *at);
    bool known = believe(o, at, n + 1, t);
    mem_free(at);
    return known;
}

/* The place to recommend: the minimum of the posterior mean, or an evaluated point that is lower
 * when theta is averaged over. They are chosen by the model's means: by corrected ones it would be
 * the luckiest. */
static bool surest(struct bo_output *o, double *u, double *mean, double *var) {
    struct bo *b = o->b;
    struct belief t;
    size_t D = (size_t)b->D, n = o->active.n, best = n;
    double low;
    memcpy(u, bo_lowest_mean(b, &low), D * sizeof *u);
    bo_minimise_mean(b, u);
    bool known = believe_points(o, u, &t);
    if (known) bo_cusp(o, u, t.mean, t.var);
    double *left = bo_left_out(o, known ? t.mean : NULL);
    for (size_t i = 0; known && i < n; i++)
        if (t.mean[i] < t.mean[best]) best = i;
    *mean = t.mean[best];
    *var = t.var[best];
    if (known && best < n) {
        correct(o, left, o->active.at[best], mean, var);
        memcpy(u, b->points.at[o->active.at[best]].u, D * sizeof *u);
    } else if (known) {
        bo_off_between(o, left, u, mean, var);
    }
    mem_free(left);
    mem_free(t.mean);
    return known;
}

bool bo_recommend(struct bo *b, double *x, double *mean, double *sd) {
    struct bo_output *o = bo_lead(b);
    double *y = NEW_ARRAY(double, (size_t)b->K);
    bool any = bo_best(b, x, y);
    *mean = y[o->k];
    *sd = 0;
    mem_free(y);
    if (!any || !b->opt.noisy || !model_ready(o)) return any;
    double *u = NEW_ARRAY(double, (size_t)b->D), z, var;
    bool known;
    if (b->plain) {
        known = surest(o, u, &z, &var);
        bo_space_from_unit(b->space, u, x);
    } else { /* with bounds or several objectives the best one seen */
        struct belief t;
        bo_space_to_unit(b->space, x, u);
        known = believe(o, u, 1, &t);
        double *left = bo_left_out(o, NULL);
        z = t.mean[0], var = t.var[0];
        if (known) correct(o, left, bo_find(b, x), &z, &var);
        mem_free(left);
        mem_free(t.mean);
    }
    if (known) {
        double wider = t_quantile(0.75, dof_of(o)) / norm_quantile(0.75); /* half of t is within */
        *mean = sign_of(o) * bo_unwarp(o, z);
        *sd = wider * sqrt(var) * o->w_sd * o->w_scale;
    }
    mem_free(u);
    return true;
}

bool bo_quantiles(struct bo *b, int k, const double *x, size_t count, const double *p, int n,
                  double *out) {
    struct bo_output *o = &b->out[k];
    if (!model_ready(o)) return false;
    size_t D = (size_t)b->D;
    double *u = NEW_ARRAY(double, D *count), sign = sign_of(o);
    for (size_t i = 0; i < count; i++) bo_space_to_unit(b->space, x + i * D, u + i * D);
    struct belief t;
    bool ok = believe(o, u, count, &t);
    for (size_t i = 0; ok && i < count; i++)
        for (int j = 0; j < n; j++)
            out[i * (size_t)n + (size_t)j] =
                sign *
                bo_unwarp(o, t.mean[i] + sign * sqrt(t.var[i]) * t_quantile(p[j], dof_of(o)));
    mem_free(t.mean);
    mem_free(u);
    return ok;
}

bool bo_summarise(struct bo *b, struct bo_summary *s) {
    struct bo_output *o = bo_lead(b);
    if (!model_ready(o)) return false;
    struct bo_model *m = &o->model;
    size_t n = gp_npairs(m->gp);
    double *mean = NEW_ARRAY(double, 2 * n), *var = mean + n;
    double q50 = t_quantile(0.75, dof_of(o)), q90 = t_quantile(0.95, dof_of(o));
    *s = (struct bo_summary){.kernel = bo_kern_names[o->kern],
                             .warp = bo_warp_names[o->warp],
                             .n_model = gp_n(m->gp),
                             .tabu = (int)(b->tabu.n / bo_tabu_width(b))};
    bool left_out = gp_loo(m->gp, mean, var, NULL) == GPM_OK;
    for (size_t i = 0; left_out && i < n; i++) {
        double t = fabs(o->model_y.at[i] - mean[i]) / sqrt(var[i]);
        s->coverage50 += (t <= q50) / (double)n;
        s->coverage90 += (t <= q90) / (double)n;
    }
    mem_free(mean);
    if (b->opt.noisy) {
        struct belief t;
        if (believe(o, NULL, 0, &t)) s->noise_sd = exp(t.log_noise) * o->w_sd * o->w_scale;
        mem_free(t.mean);
    }
    return true;
}

/* Indices of one drawn function by Saltelli's estimators over pairs of points, in the order of u.
 */
static bool indices(struct bo_output *o, struct gp_path *f, struct rng *r, int pairs, double *s1,
                    double *st) {
    const struct bo *b = o->b;
    size_t D = (size_t)b->D;
    double *p = NEW_ARRAY(double, 3 * D), *q = p + D, *t = q + D, sum = 0, square = 0;
    bool good = true;
    memset(s1, 0, D * sizeof *s1);
    memset(st, 0, D * sizeof *st);
    for (int i = 0; i < pairs && good; i++) {
        double fp = 0, fq = 0, ft = 0;
        bo_uniform_point(b, r, p);
        bo_uniform_point(b, r, q);
        good = !gp_path_eval(f, p, 1, &fp, NULL) && !gp_path_eval(f, q, 1, &fq, NULL);
        sum += fp + fq;
        square += fp * fp + fq * fq;
        for (size_t k = 0; k < D && good; k++) {
            memcpy(t, p, D * sizeof *t);
            t[k] = q[k];
            good = !gp_path_eval(f, t, 1, &ft, NULL);
            s1[k] += fq * (ft - fp) / pairs;
            st[k] += 0.5 * (fp - ft) * (fp - ft) / pairs;
        }
    }
    double n = 2.0 * pairs, var = (square - sum * sum / n) / n;
    for (size_t k = 0; k < D; k++) {
        s1[k] = var > 0 ? fmin(1, fmax(0, s1[k] / var)) : 0;
        st[k] = var > 0 ? fmin(1, st[k] / var) : 0;
    }
    mem_free(p);
    return good;
}

/* Means and standard deviation over draws of the function. */
bool bo_sensitivity(struct bo *b, double *first, double *total, double *sd) {
    enum { DRAWS = 16, FEATURES = 256 };
    struct bo_output *o = bo_lead(b);
    if (!model_ready(o)) return false;
    size_t D = (size_t)b->D;
    int pairs = b->D <= 20 ? 128 : 24;
    struct rng r;
    bool good = true;
    double *s1 = mem_zalloc(sizeof(double) * 5 * D), *st = s1 + D, *m1 = st + D, *mt = m1 + D,
           *vt = mt + D;
    rng_init(&r, b->seed, 3, 0);
    for (int i = 0; i < DRAWS && good; i++) {
        struct gp_path *f = NULL;
        good = !gp_path_new(o->model.gp, FEATURES, &r, &f) && indices(o, f, &r, pairs, s1, st);
        for (size_t k = 0; k < D; k++) {
            m1[k] += s1[k] / DRAWS;
            mt[k] += st[k] / DRAWS;
            vt[k] += st[k] * st[k] / DRAWS;
        }
        gp_path_free(f);
    }
    for (int j = 0; j < b->D; j++) {
        int k = b->space->vars[j].at;
        first[j] = m1[k];
        total[j] = mt[k];
        sd[j] = sqrt(fmax(0, vt[k] - mt[k] * mt[k]));
    }
    mem_free(s1);
    return good;
}
