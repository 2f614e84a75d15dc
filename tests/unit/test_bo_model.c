/* SPDX-License-Identifier: Apache-2.0
 * The optimiser's model against finite differences and dense formulas written out here. */
#include "support/check.h"

#include "numeric/optim/optim.h"
#include "apps/optimize/bo_model.h"
#include "apps/optimize/bo_priv.h"

/* Random points of d coordinates and perhaps categories of 3 levels, with replicates when noisy. */
enum { MOST = 20, PAIRS = 3 * MOST };
struct world {
    struct bo_model m;
    size_t n;
    double u[MOST][8], z[MOST], count[MOST]; /* distinct points, means */
};

static void random_world(struct world *w, int d, int n_cat, int fidelity, size_t n,
                         enum bo_kern kind, bool noisy, struct rng *r) {
    double u[PAIRS * 8], y[PAIRS];
    size_t pairs = 0, D = (size_t)(d + n_cat);
    *w = (struct world){.n = n};
    bo_model_init(&w->m, d, n_cat, fidelity, noisy);
    w->m.kind = kind;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < d; k++) w->u[i][k] = rng_uniform(r);
        for (int c = 0; c < n_cat; c++) w->u[i][d + c] = (double)rng_below(r, 3);
        double f = sin(5 * w->u[i][0]) + (n_cat ? w->u[i][d] : 0) + 0.1 * rng_normal(r);
        w->count[i] = noisy ? 1 + (double)rng_below(r, 3) : 1;
        for (int j = 0; j < (int)w->count[i]; j++, pairs++) {
            memcpy(u + pairs * D, w->u[i], D * sizeof *u);
            y[pairs] = f + (noisy ? 0.1 * rng_normal(r) : 0);
            w->z[i] += y[pairs] / w->count[i];
        }
    }
    assert_int_equal(bo_model_load(&w->m, u, y, pairs), GPM_OK);
    bo_model_prior(&w->m, r, w->m.theta);
    w->m.theta[w->m.D] = log(noisy ? 0.03 : 1e-4);
}

static void likelihood_gradient_is_the_difference_quotient(void **state) {
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (int k = 0; k < BO_KERN_COUNT; k++)
        for (int form = 0; form < 8; form++) {
            struct world w;
            double grad[8], none[8], theta[8];
            bool cat = form & 1, noisy = form & 2;
            random_world(&w, 3, cat, form & 4 ? 1 : -1, 17, (enum bo_kern)k, noisy, &r);
            struct bo_model m = w.m;
            memcpy(theta, m.theta, sizeof(double) * bo_model_size(&m));
            assert_true(isfinite(bo_model_nlp(&m, theta, grad)));
            for (int i = 0; i < bo_model_params(&m); i++) {
                double t = theta[i], h = 1e-5;
                theta[i] = t + h;
                double up = bo_model_nlp(&m, theta, none);
                theta[i] = t - h;
                double down = bo_model_nlp(&m, theta, NULL);
                theta[i] = t;
                assert_close(grad[i], (up - down) / (2 * h), 2e-6);
            }
            bo_model_release(&m);
        }
}

/* Kernel by its definition, one pair at a time, of the coordinates but `without`. */
static double term_value(const struct bo_model *m, const double *x, const double *y, int without) {
    double r2 = 0, add = 0, f = 1, w = 1 / (1 + exp(-m->theta[m->D + 1]));
    double rho = exp(m->theta[m->D + 2]);
    for (int k = 0; k < m->d; k++) {
        double t = fabs(x[k] - y[k]) / exp(m->theta[k]), s = sqrt(5) * t;
        if (k == without) continue;
        r2 += t * t;
        add += (1 + s + s * s / 3) * exp(-s) / (m->d - (without >= 0));
    }
    for (int c = m->d; c < m->D; c++)
        if (x[c] != y[c]) f *= exp(-1 / exp(m->theta[c]));
    double s = sqrt(5 * r2), m52 = (1 + s + s * s / 3) * exp(-s), q = s / rho;
    switch (m->kind) {
    case BO_SE: return f * exp(-r2 / 2);
    case BO_M52: return f * m52;
    case BO_MIX: {
        double s3 = sqrt(3 * r2) / rho;
        return f * ((1 - w) * m52 + w * (1 + s3) * exp(-s3));
    }
    default: return f * (w * add + (1 - w) * (1 + q + q * q / 3) * exp(-q));
    }
}

static double kernel_value(const struct bo_model *m, const double *x, const double *y) {
    int s = m->fidelity;
    double whole = term_value(m, x, y, s);
    if (s < 0) return whole;
    return whole + exp(2 * m->theta[m->D + 3]) * (1 - x[s]) * (1 - y[s]) * term_value(m, x, y, -1);
}

/* Solves A v = b by elimination with pivoting; A is n x n row-major and is destroyed. */
static void eliminate(size_t n, double *A, double *b) {
    for (size_t j = 0; j < n; j++) {
        size_t p = j;
        for (size_t i = j; i < n; i++)
            if (fabs(A[i * n + j]) > fabs(A[p * n + j])) p = i;
        for (size_t k = 0; k < n; k++) {
            double t = A[j * n + k];
            A[j * n + k] = A[p * n + k];
            A[p * n + k] = t;
        }
        double t = b[j];
        b[j] = b[p];
        b[p] = t;
        for (size_t i = 0; i < n; i++) {
            if (i == j) continue;
            double f = A[i * n + j] / A[j * n + j];
            for (size_t k = j; k < n; k++) A[i * n + k] -= f * A[j * n + k];
            b[i] -= f * b[j];
        }
    }
    for (size_t j = 0; j < n; j++) b[j] /= A[j * n + j];
}

static void solve_gram(const struct world *w, double *b) {
    size_t n = w->n;
    const struct bo_model *m = &w->m;
    double A[MOST * MOST];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            A[i * n + j] = kernel_value(m, w->u[i], w->u[j]) +
                           (i == j ? exp(m->theta[m->D]) / w->count[i] : 0);
    eliminate(n, A, b);
}

/* Far from the origin ADD cannot take its exponentials as ratios of numbers of each point. */
static void covariances_do_not_depend_on_the_origin(void **state) {
    enum { N = 12 };
    double x[2 * N], near[N * N] = {0}, far[N * N] = {0}, theta[6] = {-2, -1, 0, 0.3, 1.2, 0};
    struct bo_model m;
    struct rng r;
    rng_init(&r, 8, 0, 0);
    bo_model_init(&m, 2, 0, -1, false);
    for (int i = 0; i < 2 * N; i++) x[i] = rng_uniform(&r);
    for (int k = 0; k < BO_KERN_COUNT; k++) {
        struct kern *kern = bo_model_kern(&m, (enum bo_kern)k, theta);
        struct kern_pts p = {.x = x, .n = N, .ld = N, .dim = 2, .distinct = true};
        assert_int_equal(kern_fill(kern, p, near, N), GPM_OK);
        for (int i = 0; i < N; i++) x[i] += 1000;
        assert_int_equal(kern_fill(kern, p, far, N), GPM_OK);
        for (int i = 0; i < N; i++) x[i] -= 1000;
        for (int j = 0; j < N; j++)
            for (int i = j; i < N; i++) assert_true(fabs(near[j * N + i] - far[j * N + i]) < 1e-9);
        assert_true(near[N + 2] > 1e-6 && near[N + 2] < 0.999);
        kern_unref(kern);
    }
    bo_model_release(&m);
}

static void prediction_equals_the_dense_formula(void **state) {
    struct rng r;
    rng_init(&r, 6, 0, 0);
    for (int form = 0; form < 2 * BO_KERN_COUNT; form++) {
        struct world w;
        random_world(&w, 2, 1, form % 2 ? 1 : -1, 11, (enum bo_kern)(form / 2), false, &r);
        struct bo_model m = w.m;
        assert_int_equal(bo_model_factor(&m), GPM_OK);
        double one[11], a[11], k[11], ki[11], q = 0, mu = 0, S = 0, x[3] = {0.3, 0.8, 1};
        for (int i = 0; i < 11; i++) one[i] = 1, a[i] = w.z[i];
        solve_gram(&w, one);
        for (int i = 0; i < 11; i++) q += one[i], mu += one[i] * w.z[i];
        mu /= q;
        for (int i = 0; i < 11; i++) a[i] = w.z[i] - mu;
        solve_gram(&w, a);
        for (int i = 0; i < 11; i++) {
            S += a[i] * (w.z[i] - mu);
            k[i] = ki[i] = kernel_value(&m, x, w.u[i]);
        }
        solve_gram(&w, ki);
        double mean = mu, kRk = 0, kb = 0;
        for (int i = 0; i < 11; i++) mean += k[i] * a[i], kRk += k[i] * ki[i], kb += k[i] * one[i];
        double own = kernel_value(&m, x, x);
        double var = S / 10 * (own - kRk + (1 - kb) * (1 - kb) / q), got_m, got_v, gm[3], gv[3];
        bo_model_predict(&m, x, &got_m, &got_v);
        bo_model_slope(&m, 1, 0, gm);
        bo_model_slope(&m, 0, 1, gv);
        assert_close(got_m, mean, 1e-9);
        assert_close(got_v, var, 1e-8);
        double many_m[2], many_v[2], two[6] = {0.3, 0.8, 1, 0.1, 0.2, 0};
        bo_model_predict_many(&m, two, 2, many_m, many_v);
        assert_close(many_m[0], mean, 1e-9);
        assert_close(many_v[0], var, 1e-8);
        for (int j = 0; j < 2; j++) { /* gradients */
            double h = 1e-6, up_m, up_v, dn_m, dn_v, y[3] = {x[0], x[1], x[2]};
            y[j] += h;
            bo_model_predict(&m, y, &up_m, &up_v);
            y[j] -= 2 * h;
            bo_model_predict(&m, y, &dn_m, &dn_v);
            assert_close(gm[j], (up_m - dn_m) / (2 * h), 1e-5);
            assert_close(gv[j], (up_v - dn_v) / (2 * h), 1e-5);
        }
        bo_model_release(&m);
    }
}

/* A draw passes through the data, has the gradient it says, and over many draws the mean and
 * variance of the posterior (scale and mean uncertain: Student t, variance s2 (N-1)/(N-3)). */
static void paths_are_draws_of_the_posterior(void **state) {
    struct rng r;
    rng_init(&r, 7, 0, 0);
    for (int form = 0; form < 2 * BO_KERN_COUNT; form++) {
        struct world w;
        struct gp_path *p = NULL;
        random_world(&w, 2, 1, form % 2 ? 1 : -1, 12, (enum bo_kern)(form / 2), false, &r);
        struct bo_model m = w.m;
        m.theta[m.D] = log(1e-8);
        assert_int_equal(bo_model_factor(&m), GPM_OK);
        double far[3] = {0.95, 0.05, 2}, sum = 0, sum2 = 0, g[3], mean, var, f;
        enum { DRAWS = 1500 };
        for (int i = 0; i < DRAWS; i++) {
            assert_int_equal(gp_path_new(m.gp, 512, &r, &p), GPM_OK);
            assert_int_equal(gp_path_eval(p, far, 1, &f, g), GPM_OK);
            sum += f, sum2 += f * f;
            for (size_t j = 0; i == 0 && j < w.n; j++) {
                assert_int_equal(gp_path_eval(p, w.u[j], 1, &f, NULL), GPM_OK);
                assert_close(f, w.z[j], 20 * bo_model_noise_sd(&m));
            }
            for (int k = 0; i == 0 && k < 2; k++) {
                double y[3] = {far[0], far[1], far[2]}, h = 1e-5, up, down;
                y[k] += h;
                assert_int_equal(gp_path_eval(p, y, 1, &up, NULL), GPM_OK);
                y[k] -= 2 * h;
                assert_int_equal(gp_path_eval(p, y, 1, &down, NULL), GPM_OK);
                assert_close(g[k], (up - down) / (2 * h), 1e-4);
            }
            if (i + 1 < DRAWS) gp_path_free(p);
        }
        bo_model_predict(&m, far, &mean, &var);
        double got = sum / DRAWS, sd = sqrt(var * 11 / 9);
        double got_sd = sqrt(sum2 / DRAWS - got * got);
        assert_true(fabs(got - mean) < 5 * sd / sqrt(DRAWS));
        assert_true(fabs(got_sd / sd - 1) < 0.15);
        gp_path_temper(p, 0); /* temperature 0 is the mean */
        assert_int_equal(gp_path_eval(p, far, 1, &f, NULL), GPM_OK);
        assert_close(f, mean, 1e-9);
        gp_path_free(p);
        bo_model_release(&m);
    }
}

/* E max(0, best - f) by quadrature. */
static void log_ei_is_stable(void **state) {
    for (double u = -6; u <= 3; u += 0.37) {
        double s = 0.7, best = 0.2, mean = best - u * s, dm, dv, ei = 0, step = 1e-4;
        for (double f = best - 12 * s; f < best; f += step)
            ei += step * (best - f) * exp(-0.5 * pow((f - mean) / s, 2)) / (s * sqrt(2 * M_PI));
        double got = bo_log_ei(best, mean, s * s, &dm, &dv), h = 1e-6, t1, t2;
        assert_close(got, log(ei), 2e-3);
        double up = bo_log_ei(best, mean + h, s * s, &t1, &t2);
        double dn = bo_log_ei(best, mean - h, s * s, &t1, &t2);
        assert_close(dm, (up - dn) / (2 * h), 1e-5);
        up = bo_log_ei(best, mean, s * s + h, &t1, &t2);
        dn = bo_log_ei(best, mean, s * s - h, &t1, &t2);
        assert_close(dv, (up - dn) / (2 * h), 1e-5);
    }
    double a, b, last = 0, t = -0.5;
    for (double u = -24; u > -27; u -= 0.01) { /* no jump where the forms meet */
        double v = bo_log_ei(0, -u, 1, &a, &b);
        if (last != 0) assert_true(fabs((v - last) - (u * 0.01 + 0.01 / u * 2)) < 0.01);
        assert_true(isfinite(a) && isfinite(b));
        last = v;
    }
    assert_true(isfinite(bo_log_ei(0, 1e5, 1, &a, &b)) && isfinite(t));
}

static double rosenbrock(void *ctx, const double *x, double *g) {
    ++*(int *)ctx;
    double a = x[1] - x[0] * x[0], b = 1 - x[0];
    g[0] = -400 * a * x[0] - 2 * b;
    g[1] = 200 * a;
    return 100 * a * a + b * b;
}

static void optimiser_finds_minima_inside_and_on_the_border(void **state) {
    double lo[2] = {-2, -2}, hi[2] = {2, 2}, x[2] = {-1.2, 1};
    struct optim_options opt = {200, 1000, 0, 1e-14, 0.1, 1, 0.1, lo, hi, NULL};
    int calls = 0;
    assert_true(optim_minimise(rosenbrock, &calls, 2, x, &opt) < 1e-10);
    assert_close(x[0], 1, 1e-4);
    assert_true(calls < 150);
    hi[0] = 0.5; /* then the best is x0 = 0.5, x1 = 0.25 */
    x[0] = -1, x[1] = 1;
    assert_close(optim_minimise(rosenbrock, &calls, 2, x, &opt), 0.25, 1e-6);
    assert_close(x[1], 0.25, 1e-4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_gradient_is_the_difference_quotient),
        cmocka_unit_test(covariances_do_not_depend_on_the_origin),
        cmocka_unit_test(prediction_equals_the_dense_formula),
        cmocka_unit_test(paths_are_draws_of_the_posterior),
        cmocka_unit_test(log_ei_is_stable),
        cmocka_unit_test(optimiser_finds_minima_inside_and_on_the_border),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
