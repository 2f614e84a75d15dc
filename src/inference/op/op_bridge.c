/* SPDX-License-Identifier: Apache-2.0
 *
 * bridge_evidence: the evidence of the data from draws of the posterior (Meng and Wong 1996; Gronau
 * et al. 2017), in the unconstrained space of the continuous choices. Let p be the unnormalised
 * density there and g a normal distribution fitted to the first half of the draws. With z_i the N1
 * draws of the second half and u_j N2 draws from g, the evidence Z is the fixed point of
 *
 *     Z = 1/N2 sum_j p(u_j) / (s1 p(u_j) + s2 Z g(u_j))
 *         over 1/N1 sum_i g(z_i) / (s1 p(z_i) + s2 Z g(z_i)),     s1 : s2 = ESS of z : N2
 *
 * which has the smallest error of all such ratios. It is finite whichever of g and p has the longer
 * tails. Warped (Meng and Schilling 2002): p is first made symmetric about the mean, (p(z) + p(2 m
 * - z)) / 2, which is closer to g for a skewed posterior. */
#include "base/mem.h"
#include "inference/hmc/continuous.h"
#include "numeric/posterior/diagnostics.h"
#include "inference/run/progress.h"
#include "numeric/la/chol.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

typedef VEC(double) numbers;

struct bridge {
    struct infer_state *x;
    bool warp;
    size_t d;        /* dimension; 0 until the first draw */
    numbers z, logp; /* draws of the posterior, a row of z each */
    double *mean;    /* of g, owned */
    struct chol l;   /* its covariance */
    size_t half;     /* draws that g was fitted to */
};

/* ---- draws ---- */

/* All continuous choices of the model, as one block. */
static enum gpm_status open_all(struct bridge *b, struct continuous *c) {
    struct infer_state *x = b->x;
    struct trace *t = x->model->p.at[0];
    struct step s = {.x = x, .t = t, .at = t->choices.at, .n = t->choices.n};
    if (x->model->p.n > 1)
        return infer_error(x, DIAG_PARTICLES,
                           "bridge_evidence works on one particle; there are %zu", x->model->p.n);
    enum gpm_status st = continuous_open(&s, true, c);
    if (st != GPM_OK) return st;
    if (!c->n_parts || c->n_parts < s.n) {
        continuous_close(c, false);
        st = infer_error(x, DIAG_BAD_OPERATOR_ARG, "bridge_evidence: %s",
                         c->n_parts || s.n ? "the model has choices that are not continuous"
                                           : "the model has no choices");
        diag_set_help(x->core->diags, "log_evidence(scope) integrates part of the choices, "
                                      "smc and particles estimate the evidence of the rest");
    }
    return st;
}

/* A brush drawn in evaluation makes the density random; two generators reveal that. */
static enum gpm_status check_fixed(struct bridge *b, struct continuous *c) {
    struct rng kept = c->frozen;
    double w[2] = {0, 0};
    enum gpm_status st = GPM_OK;
    for (uint32_t g = 0; g < 2 && st == GPM_OK && move_has_brush(&c->m); g++) {
        rng_init(&c->frozen, 21, 1, g);
        st = continuous_eval(c, c->old, &w[g], NULL);
    }
    c->frozen = kept;
    if (st == GPM_OK && (fabs(w[0] - w[1]) > 1e-9 * (1 + fabs(w[0])) || c->n_z != b->d))
        st = infer_error(b->x, DIAG_BAD_OPERATOR_ARG,
                         "bridge_evidence: which choices the model has depends on their values");
    return st;
}

/* For progress_repeat: records the chain's state after a step. */
static enum gpm_status note_draw(void *ctx, double i, value ignored) {
    struct bridge *b = ctx;
    struct continuous c;
    enum gpm_status st = open_all(b, &c);
    if (st != GPM_OK) return st;
    if (!b->d) b->d = c.n_z;
    st = check_fixed(b, &c);
    for (size_t k = 0; k < b->d && st == GPM_OK; k++) vec_push(&b->z, c.old[k]);
    vec_push(&b->logp, c.w_old);
    if (st == GPM_OK && !isfinite(c.w_old))
        st = infer_error(b->x, DIAG_BAD_OPERATOR_ARG,
                         "bridge_evidence: draw %.0f has probability zero; warm up first", i + 1);
    continuous_close(&c, false);
    return st;
}

/* ---- the normal distribution ---- */

/* Does every coordinate change within the first n draws? */
static bool all_move(const struct bridge *b, size_t n) {
    size_t moving = 0;
    for (size_t k = 0; k < b->d; k++) {
        size_t i = 1;
        while (i < n && b->z.at[i * b->d + k] == b->z.at[k]) i++;
        moving += i < n;
    }
    return moving == b->d;
}

/* Mean and covariance of the first half of the draws. */
static enum gpm_status fit_normal(struct bridge *b) {
    size_t d = b->d, n = b->half = b->logp.n / 2;
    double *cov = mem_zalloc(d * d * sizeof *cov);
    b->mean = mem_zalloc((d + 1) * sizeof *b->mean);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) b->mean[k] += b->z.at[i * d + k] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            for (size_t j = k; j < d; j++)
                cov[k * d + j] += (b->z.at[i * d + k] - b->mean[k]) *
                                  (b->z.at[i * d + j] - b->mean[j]) / ((double)n - 1);
    enum gpm_status st = chol_build_from(&b->l, d, cov, d);
    mem_free(cov);
    if (st != GPM_E_NOT_PD && b->l.jitter == 0 && all_move(b, n)) return st;
    if (st != GPM_OK && st != GPM_E_NOT_PD) return st;
    return infer_error(b->x, DIAG_BAD_OPERATOR_ARG,
                       "bridge_evidence: the draws do not move in every direction; run longer");
}

static double log_normal(const struct bridge *b, const double *z) {
    double *u = NEW_ARRAY(double, b->d + 1), q = 0;
    for (size_t k = 0; k < b->d; k++) u[k] = z[k] - b->mean[k];
    chol_solve_l(&b->l, u, 1, b->d);
    for (size_t k = 0; k < b->d; k++) q += u[k] * u[k];
    mem_free(u);
    return -0.5 * (q + chol_logdet(&b->l) + (double)b->d * log(2 * M_PI));
}

static void draw_normal(const struct bridge *b, struct rng *r, double *z) {
    double *u = NEW_ARRAY(double, b->d + 1);
    for (size_t k = 0; k < b->d; k++) u[k] = rng_normal(r);
    for (size_t k = 0; k < b->d; k++) {
        z[k] = b->mean[k];
        for (size_t j = 0; j <= k; j++) z[k] += b->l.l[j * b->l.ld + k] * u[j];
    }
    mem_free(u);
}

/* ---- densities at both sets of draws ---- */

/* log p at z (known or NULL); if warped, of the symmetric density. */
static enum gpm_status log_target(struct bridge *b, struct continuous *c, const double *z,
                                  const double *known, double *out) {
    double other = -INFINITY, *mirror;
    enum gpm_status st = GPM_OK;
    if (known)
        *out = *known;
    else
        st = continuous_eval(c, z, out, NULL);
    if (!b->warp || st != GPM_OK) return st;
    mirror = NEW_ARRAY(double, b->d + 1);
    for (size_t k = 0; k < b->d; k++) mirror[k] = 2 * b->mean[k] - z[k];
    st = continuous_eval(c, mirror, &other, NULL);
    mem_free(mirror);
    *out = logaddexp(*out, other) - log(2);
    return st;
}

/* ratio[i] = log p - log g, first at n1 draws of the posterior, then at n1 draws of g. */
static enum gpm_status log_ratios(struct bridge *b, size_t n1, double *ratio) {
    struct continuous c;
    double *u = NEW_ARRAY(double, b->d + 1), p;
    enum gpm_status st = open_all(b, &c);
    if (st != GPM_OK) {
        mem_free(u);
        return st;
    }
    for (size_t i = 0; i < n1 && st == GPM_OK; i++) {
        const double *z = b->z.at + (b->half + i) * b->d;
        st = log_target(b, &c, z, &b->logp.at[b->half + i], &p);
        ratio[i] = p - log_normal(b, z);
    }
    for (size_t j = 0; j < n1 && st == GPM_OK; j++) {
        draw_normal(b, &c.t->rng, u);
        st = log_target(b, &c, u, NULL, &p);
        ratio[n1 + j] = isnan(p) ? -INFINITY : p - log_normal(b, u);
    }
    continuous_close(&c, false);
    mem_free(u);
    return st;
}

/* ---- the fixed point ---- */

struct bridge_result {
    double log_evidence, error, ess;
};

/* The summand for one ratio p/g at Z: (p / g)^of_p / (s1 p/g + s2 Z), on a scale where Z is near
 * 1. */
static double term(double ratio, double s1, double log_z, bool of_p) {
    double low = logaddexp(log(s1) + ratio, log1p(-s1) + log_z);
    return exp((of_p ? ratio : log_z) - low);
}

/* Relative error of both means (Fruehwirth-Schnatter 2004); the chain's uses its effective sample
 * size. */
static double error_of(const double *f, size_t n, double ess) {
    double m = draws_mean(f, n), sd = draws_sd(f, n);
    return sd * sd / (m * m) / ess;
}

static struct bridge_result bridge_solve(const double *ratio, size_t n1) {
    enum { ROUNDS = 1000 };
    double *f = NEW_ARRAY(double, 2 * n1 + 1), log_z = draws_quantile(ratio, n1, 0.5), change = 1;
    double ess = draws_ess_mean(ratio, 1, n1), e1;
    if (!(ess > 0) || ess > (double)n1) ess = (double)n1;
    double s1 = ess / (ess + (double)n1);
    for (int k = 0; k < ROUNDS && fabs(change) > 1e-10; k++) {
        for (size_t i = 0; i < 2 * n1; i++) f[i] = term(ratio[i], s1, log_z, i >= n1);
        change = log(draws_mean(f + n1, n1)) - log(draws_mean(f, n1));
        log_z += change;
    }
    e1 = draws_ess_mean(f, 1, n1);
    double error = sqrt(error_of(f, n1, e1 > 0 ? e1 : ess) + error_of(f + n1, n1, (double)n1));
    mem_free(f);
    return (struct bridge_result){log_z, error, ess};
}

/* ---- the operator ---- */

static enum gpm_status estimate(struct bridge *b, value *out) {
    static const char *const keys[] = {"log_evidence", "error", "ess"};
    enum gpm_status st = fit_normal(b);
    if (st != GPM_OK) return st;
    size_t n1 = b->logp.n - b->half;
    double *ratio = NEW_ARRAY(double, 2 * n1 + 1);
    st = log_ratios(b, n1, ratio);
    if (st == GPM_OK) {
        struct bridge_result e = bridge_solve(ratio, n1);
        double vals[] = {e.log_evidence, e.error, e.ess};
        *out = infer_numbers(keys, vals, 3);
    }
    mem_free(ratio);
    return st;
}

static enum gpm_status op_bridge(struct infer_state *x, const struct action *a, value *out) {
    struct bridge b = {.x = x};
    value warp = action_arg(a, 2);
    double draws = a->args[0].u.num;
    if (!is_absent(warp) && !sp_truth(warp, &b.warp))
        return infer_error(x, DIAG_TYPE, "bridge_evidence: warp must be true or false");
    if (draws < 40)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG, "bridge_evidence needs at least 40 draws");
    enum gpm_status st = progress_repeat(x, draws, a->args[1], note_draw, &b);
    if (st == GPM_OK) st = estimate(&b, out);
    vec_release(&b.z);
    vec_release(&b.logp);
    mem_free(b.mean);
    chol_release(&b.l);
    return st;
}

const struct infer_op infer_bridge_rows[] = {
    {"bridge_evidence", "(draws: count, step: action, warp?: bool) -> action",
     "log of the evidence of the data by bridge sampling: draws times runs step, fits a normal "
     "distribution to the first half of the draws in unconstrained space and bridges it to the "
     "second. Gives a dictionary of log_evidence, error (its standard error) and ess. All choices "
     "must be continuous. warp=true: the posterior is made symmetric first, better for skewed "
     "ones at twice the cost. Unlike log_evidence it has no limit of dimension, and needs a chain "
     "that has arrived",
     .run = op_bridge},
    {0},
};
