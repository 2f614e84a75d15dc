/* SPDX-License-Identifier: Apache-2.0
 *
 * Regression: chains on a density whose moments are known, quantiles of mixtures, and predictions
 * with given parameters beside the textbook's formulas.
 */
#include "base/mem.h"
#include "numeric/posterior/fit.h"
#include "numeric/special/special.h"
#include "apps/regress/rchains.h"
#include "apps/regress/regress.h"
#include "support/check.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* log Gamma(a, 1) of z0, that is a z0 - exp(z0): mean digamma(a); z1 given z0 is N(z0, 1). */
static double skewed(void *ctx, const double *z, double *grad) {
    double a = *(const double *)ctx, t = z[1] - z[0];
    if (grad) grad[0] = a - exp(z[0]) + t, grad[1] = -t;
    return a * z[0] - exp(z[0]) - 0.5 * t * t;
}

static struct density skewed_density(void *ctx, int chain) {
    return (struct density){.d = 2, .eval = skewed, .ctx = ctx};
}

static void chains_follow_a_known_density(void **state) {
    enum { N = 8000 };
    double a = 3, z[2] = {0, 0}, *draws = NEW_ARRAY(double, 2 * N);
    struct density t = skewed_density(&a, 0);
    struct proposal q = {0};
    struct rchains c = {.z = draws, .kept = N};
    assert_true(isfinite(fit_optimise(&t, z, 100)));
    assert_true(isfinite(proposal_add_mode(&q, &t, z)));
    rchains_run(&c, &q, skewed_density, &a, 1, 2);
    double m0 = 0, m1 = 0, v0 = 0, v1 = 0;
    for (size_t i = 0; i < N; i++) m0 += draws[2 * i] / N, m1 += draws[2 * i + 1] / N;
    for (size_t i = 0; i < N; i++) {
        v0 += (draws[2 * i] - m0) * (draws[2 * i] - m0) / N;
        v1 += (draws[2 * i + 1] - m1) * (draws[2 * i + 1] - m1) / N;
    }
    /* digamma(3) and trigamma(3); five standard errors and more */
    assert_close(m0, 0.9227843, 0.05);
    assert_close(m1, 0.9227843, 0.1);
    assert_close(v0, 0.3949341, 0.06);
    assert_close(v1, 1.3949341, 0.2);
    assert_true(c.rhat < 1.02 && c.ess > N / 2.0);
    double *again = NEW_ARRAY(double, 2 * N);
    struct rchains other = {.z = again, .kept = N};
    rchains_run(&other, &q, skewed_density, &a, 1, 1);
    assert_memory_equal(draws, again, 2 * N * sizeof *draws); /* whatever the threads */
    proposal_release(&q);
    mem_free(draws);
    mem_free(again);
}

/* Many coordinates, the first of which has two stories: N(0, 1) and, with a tenth of the mass,
 * N(-5, 0.4^2), which the way back from is long. */
enum { STORIES = 20 };

static double two_stories(void *ctx, const double *z, double *grad) {
    double t = (z[0] + 5) / 0.4, a = log(0.9) - 0.5 * z[0] * z[0], b = log(0.1 / 0.4) - 0.5 * t * t,
           top = fmax(a, b), sum = top + log(exp(a - top) + exp(b - top));
    for (int i = 0; i < STORIES && grad; i++) grad[i] = -z[i];
    if (grad) grad[0] = -z[0] * exp(a - sum) - t / 0.4 * exp(b - sum);
    for (int i = 1; i < STORIES; i++) sum -= 0.5 * z[i] * z[i];
    return sum;
}

static double one_story(void *ctx, const double *z, double *grad) {
    double sum = 0;
    for (int i = 0; i < STORIES; i++) sum -= 0.5 * z[i] * z[i];
    for (int i = 0; i < STORIES && grad; i++) grad[i] = -z[i];
    return sum;
}

static struct density story_density(void *ctx, int chain) {
    return (struct density){
        .d = STORIES, .eval = *(bool *)ctx ? two_stories : one_story, .ctx = ctx};
}

/* Chains that tell the same end; where they do not they go on, and say so at the end. */
static void chains_go_on(void **state) {
    enum { N = 200, SEEDS = 20 };
    double *draws = NEW_ARRAY(double, N *STORIES), z[STORIES] = {0};
    size_t gone[2] = {0}, open = 0;
    for (int two = 0; two < 2; two++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            bool is = two;
            struct density t = story_density(&is, 0);
            struct proposal q = {0};
            struct rchains c = {.z = draws, .kept = N, .rounds = 10};
            assert_true(isfinite(proposal_add_mode(&q, &t, z)));
            rchains_run(&c, &q, story_density, &is, seed, 1);
            gone[two] += c.rounds;
            assert_true(c.rounds <= 10);
            assert_true(c.rounds == 10 || (c.rhat < RCHAINS_SETTLED && c.ess >= N / 2.0));
            size_t below = 0;
            for (size_t k = 0; k < N; k++) below += draws[k * STORIES] < -3.5;
            open += two && below && c.rounds < 3; /* the other story, and at once an end */
            proposal_release(&q);
        }
    assert_true(gone[0] <= 2 * SEEDS); /* a draw a transition, or nearly */
    assert_true(gone[1] > gone[0] && open <= SEEDS / 5);
    mem_free(draws);
}

/* Two places that no chain leaves, N(0, 1) and N(20, 1) in the first of five coordinates, the
 * second `below` nats lower. */
enum { PLACES = 5 };

static double two_places(void *ctx, const double *z, double *grad) {
    double below = *(const double *)ctx, sum = 0;
    double from = z[0] * z[0] < (z[0] - 20) * (z[0] - 20) + 2 * below ? 0 : 20;
    for (int i = 0; i < PLACES; i++) {
        double t = z[i] - (i ? 0 : from);
        sum -= 0.5 * t * t;
        if (grad) grad[i] = -t;
    }
    return sum - (from > 0 ? below : 0);
}

static struct density place_density(void *ctx, int chain) {
    return (struct density){.d = PLACES, .eval = two_places, .ctx = ctx};
}

/* Draws in the second place, where two of four chains begin: none where it has no evidence, half of
 * them and no agreement where it has as much, less where it has less. */
static void chains_go_where_the_evidence_is(void **state) {
    enum { N = 200 };
    static const double below[] = {60, 0, 3}, least[] = {0, 60, 1}, most[] = {0, 140, 30};
    double *draws = NEW_ARRAY(double, N *PLACES);
    for (int k = 0; k < 3; k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            double low = below[k], z[PLACES] = {0};
            struct density t = place_density(&low, 0);
            struct proposal q = {0};
            struct rchains c = {.z = draws, .kept = N, .rounds = 4};
            assert_true(isfinite(proposal_add_mode(&q, &t, z)));
            z[0] = 20;
            assert_true(isfinite(proposal_add_mode(&q, &t, z)));
            q.mode[1].log_weight = q.mode[0].log_weight; /* wrong */
            rchains_run(&c, &q, place_density, &low, seed, 1);
            size_t there = 0;
            for (size_t i = 0; i < N; i++) there += draws[i * PLACES] > 10;
            assert_in_range(there, (size_t)least[k], (size_t)most[k]);
            assert_true(k ? c.rhat > RMODEL_OPEN : c.rhat < RCHAINS_SETTLED);
            proposal_release(&q);
        }
    mem_free(draws);
}

/* However many rounds there are, and wherever the chains begin: no draw is of a place with next to
 * no evidence beside that of another. */
static void no_draw_is_of_a_lost_place(void **state) {
    enum { N = 200 };
    double *draws = NEW_ARRAY(double, N *PLACES), below = 15;
    for (size_t rounds = 0; rounds < 4; rounds++)
        for (int lost = 1; lost < RCHAINS; lost++) {
            double z[PLACES] = {0};
            struct density t = place_density(&below, 0);
            struct proposal q = {0};
            struct rchains c = {.z = draws, .kept = N, .rounds = rounds};
            assert_true(isfinite(proposal_add_mode(&q, &t, z)));
            z[0] = 20;
            assert_true(isfinite(proposal_add_mode(&q, &t, z)));
            q.mode[0].log_weight = log(RCHAINS - lost), q.mode[1].log_weight = log(lost);
            rchains_run(&c, &q, place_density, &below, 1, 1);
            for (size_t i = 0; i < N; i++) assert_true(draws[i * PLACES] < 10);
            /* the evidence is that of normal distributions */
            double norm = PLACES * 0.5 * log(2 * M_PI);
            assert_close(c.evidence[0], norm, 1);
            assert_close(c.evidence[RCHAINS - 1], rounds > 1 ? norm : norm - below, 1);
            proposal_release(&q);
        }
    mem_free(draws);
}

/* Solves the n x n system a x = b by elimination, for a positive definite a. */
static void solve(size_t n, double *a, double *b) {
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            b[i] -= f * b[k];
        }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
}

#define ROWS 6
static const double xs[ROWS][2] = {{0, 1}, {1, 3}, {2, 0}, {3, 2}, {5, 5}, {4, 1}};
static const double ys[ROWS] = {3, 5, 4, 7, 12, 8};

/* 1 + tau^2 x.x' + sf^2 exp(-sum (x - x')^2 / (2 l^2)) */
static double kernel(const double *p, const double *a, const double *b) {
    double dot = 0, far = 0;
    for (int c = 0; c < 2; c++) {
        double t = (a[c] - b[c]) / p[2 + c];
        dot += a[c] * b[c], far += t * t;
    }
    return 1 + p[0] * p[0] * dot + p[1] * p[1] * exp(-0.5 * far);
}

static void predictions_are_the_formulas(void **state) {
    const double par[] = {0.4, 1.2, 0.8, 2.5, 0.25}; /* tau, sf, l1, l2, noise */
    const double row[2] = {2.5, 2}, low = norm_quantile(0.05);
    struct buf text = BUF_INIT, err = BUF_INIT;
    struct regress r;
    struct regress_options o = {.level = 0.9, .seed = 1, .max_rows = 100, .threads = 1};
    char path[] = "/tmp/test_regress_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    buf_puts(&text, "a,b,y\n");
    for (int i = 0; i < ROWS; i++) buf_printf(&text, "%g,%g,%g\n", xs[i][0], xs[i][1], ys[i]);
    assert_int_equal(write(fd, text.data, text.len), (ssize_t)text.len);
    close(fd);
    assert_int_equal(regress_read(&r, &(struct rtext){.name = path}, &o, &err), GPM_OK);
    assert_int_equal(regress_run(&r, &err), GPM_OK);
    unlink(path);
    assert_int_equal(r.model.d, 5);
    r.model.kept = r.model.used = 1;
    for (int i = 0; i < 5; i++) r.model.z[i] = log(par[i]);
    struct rprediction p;
    assert_int_equal(regress_predict(&r, row, 1, &p), GPM_OK);

    double z[2], k[ROWS * ROWS], copy[ROWS * ROWS], alpha[ROWS], beta[ROWS], mean = 0, var;
    rtable_standard(&r.t, row, z);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++)
            k[i * ROWS + j] = kernel(par, r.x + 2 * i, r.x + 2 * j) + (i == j) * par[4] * par[4];
        alpha[i] = r.y[i];
        beta[i] = kernel(par, r.x + 2 * i, z);
    }
    memcpy(copy, k, sizeof k);
    solve(ROWS, copy, alpha);
    memcpy(copy, k, sizeof k);
    solve(ROWS, copy, beta);
    var = kernel(par, z, z);
    for (int i = 0; i < ROWS; i++) {
        double c = kernel(par, r.x + 2 * i, z);
        mean += c * alpha[i], var -= c * beta[i];
    }
    mean = r.t.y_mean + r.t.y_sd * mean;
    double sd = r.t.y_sd * sqrt(var), new_sd = r.t.y_sd * sqrt(var + par[4] * par[4]);
    assert_close(p.mean, mean, 1e-7);
    assert_close(p.median, mean, 1e-7);
    assert_close(p.sd, sd, 1e-7);
    assert_close(p.lo, mean + low * sd, 1e-7);
    assert_close(p.hi, mean - low * sd, 1e-7);
    assert_close(p.new_sd, new_sd, 1e-7);
    assert_close(p.new_hi, mean - low * new_sd, 1e-7);
    /* what chains did not settle is said first, and in a field */
    struct rnew none = {0};
    for (int open = 0; open < 2; open++) {
        r.model.method = RMODEL_CHAINS, r.model.chains.rhat = open ? 1.5 : 1.1;
        buf_reset(&text);
        regress_words(&r, &text);
        assert_int_equal(strncmp(text.data, "Not settled", 11) == 0, open);
        buf_reset(&text);
        regress_json(&r, &none, NULL, &text);
        assert_non_null(strstr(text.data, open ? "\"settled\": false" : "\"settled\": true"));
    }
    regress_release(&r);
    buf_release(&text);
    buf_release(&err);
}

/* Log density of the model at z, from the process itself. */
static double model_density(const struct rmodel *m, struct rprocess *p, const double *z) {
    double logml, sum = 0;
    assert_int_equal(rprocess_use(p, z), GPM_OK);
    assert_int_equal(gp_logml(p->g, &logml), GPM_OK);
    for (int i = 0; i < m->d; i++) {
        double t = (z[i] - m->centre[i]) / RMODEL_PRIOR_SD;
        sum -= 0.5 * t * t;
    }
    return logml + sum;
}

/* Of many rows the optimum is looked for in the shape of the posterior of some of them: it is one,
 * and takes few gradients of all rows. */
static void optimum_of_many_rows(void **state) {
    enum { N = 720, D = 6 };
    double *x = NEW_ARRAY(double, N *D), *y = NEW_ARRAY(double, N);
    struct rng r;
    struct rmodel m;
    struct buf err = BUF_INIT;
    rng_init(&r, 5, 0, 0);
    for (size_t i = 0; i < N; i++) {
        double *at = x + i * D;
        for (int k = 0; k < D; k++) at[k] = rng_normal(&r);
        y[i] = sin(2 * at[0]) + 0.5 * at[1] * at[2] + 0.2 * rng_normal(&r);
    }
    struct rmodel_data data = {D, N, x, y, RFAMILY_NORMAL};
    assert_int_equal(rmodel_init(&m, &data, NULL, &err), GPM_OK);
    assert_int_equal(rmodel_find(&m, 1, 1), GPM_OK);
    assert_true(m.evals < 50); /* 25; from its own units the search took 87 */
    struct rprocess p;
    assert_int_equal(rprocess_init(&p, &m), GPM_OK);
    const struct mode *q = &m.q.mode[0];
    double best = model_density(&m, &p, q->z);
    for (int i = 0; i < m.d; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double t[PROPOSAL_MAX_DIM] = {0}, z[PROPOSAL_MAX_DIM];
            t[i] = 0.3 * sign; /* of a standard deviation: 0.045 nats below the optimum */
            mode_point(q, m.d, t, z);
            assert_true(model_density(&m, &p, z) < best - 0.02);
        }
    rprocess_release(&p);
    /* a few rows fewer: what the long way finds, in a few steps; then its own shape and evidence */
    struct rmodel other, near;
    data.n = N - 10;
    assert_int_equal(rmodel_init(&other, &data, NULL, &err), GPM_OK);
    assert_int_equal(rmodel_find(&other, 1, 1), GPM_OK);
    assert_int_equal(rmodel_init(&near, &data, NULL, &err), GPM_OK);
    assert_int_equal(rmodel_find_near(&near, q, 1, 1), GPM_OK);
    assert_true(near.evals < 15 && near.lent);
    assert_close(near.laplace, other.laplace, 0.5);
    assert_int_equal(rmodel_shape(&near, 1), GPM_OK);
    assert_true(!near.lent && near.used == other.used && near.kept == other.kept);
    assert_close(near.laplace, other.laplace, 0.02);
    for (int i = 0; i < m.d; i++) assert_close(near.q.mode[0].z[i], other.q.mode[0].z[i], 0.05);
    rmodel_release(&near);
    rmodel_release(&other);
    rmodel_release(&m);
    buf_release(&err);
    mem_free(x);
    mem_free(y);
}

/* Without noise a polynomial is worth a variance beside which the floor of the noise is rounding:
 * the density has no steps there, and starts from all sides end at one optimum. */
static void optimum_without_noise(void **state) {
    enum { N = 80, STARTS = 6 };
    double x[2 * N], y[N], best = -INFINITY, logp[STARTS], z[PROPOSAL_MAX_DIM];
    struct rng r;
    struct rmodel m;
    struct rprocess p;
    struct buf err = BUF_INIT;
    rng_init(&r, 7, 0, 0);
    for (size_t i = 0; i < N; i++) {
        double u = x[2 * i] = 3.4 * (rng_uniform(&r) - 0.5);
        double v = x[2 * i + 1] = 3.4 * (rng_uniform(&r) - 0.5), s = u * u + v * v;
        y[i] = 0.4 * s * (9 - s) / 2 - 2;
    }
    struct rmodel_data data = {2, N, x, y, RFAMILY_NORMAL};
    assert_int_equal(rmodel_init(&m, &data, NULL, &err), GPM_OK);
    assert_int_equal(rprocess_init(&p, &m), GPM_OK);
    struct density t = rprocess_density(&p);
    for (int s = 0; s < STARTS; s++) {
        for (int i = 0; i < m.d; i++) z[i] = m.centre[i] + 0.7 * rng_normal(&r);
        z[m.nk] -= 2;
        logp[s] = fit_optimise(&t, z, 150);
        best = fmax(best, logp[s]);
    }
    for (int s = 0; s < STARTS; s++) assert_close(logp[s], best, 0.01);
    double grad[PROPOSAL_MAX_DIM];
    assert_true(isfinite(density_eval(&t, z, grad)));
    for (int i = 0; i < m.d; i++) { /* the optimum is no edge */
        double at[PROPOSAL_MAX_DIM];
        memcpy(at, z, sizeof at);
        at[i] += 0.01;
        double up = density_eval(&t, at, NULL);
        at[i] -= 0.02;
        assert_close((up - density_eval(&t, at, NULL)) / 0.02, grad[i], 0.5);
    }
    rprocess_release(&p);
    rmodel_release(&m);
    buf_release(&err);
}

/* ---- chances and counts ---- */

static double hidden_density(const struct rmodel *m, struct rprocess *p, const double *z) {
    double logml, sum = 0;
    assert_int_equal(rprocess_use(p, z), GPM_OK);
    assert_int_equal(gp_laplace_logml(&p->rate, &logml), GPM_OK);
    for (int i = 0; i < m->d; i++) sum -= 0.5 * (z[i] - m->centre[i]) * (z[i] - m->centre[i]);
    return logml + sum;
}

/* log of the integral of p(y | f) N(f; m, s^2), by many small steps. */
static double by_steps(const char *likelihood, double size, double y, double m, double s) {
    const struct gp_likelihood *l = gp_likelihood_find(likelihood);
    double sum = 0, step = s / 2000;
    for (double f = m - 12 * s; f < m + 12 * s; f += step) {
        struct gp_likely at;
        double t = (f - m) / s;
        l->at(y, f, &size, &at);
        sum += exp(at.l - 0.5 * t * t);
    }
    return log(sum * step / s) - LOG_SQRT_2PI;
}

static void densities_of_families(void **state) {
    const struct {
        enum rfamily_kind kind;
        double size, y, m, s;
    } cases[] = {{RFAMILY_CHANCE, 1, 0, 2, 1.5},
                 {RFAMILY_CHANCE, 1, 1, -6, 0.2},
                 {RFAMILY_POISSON, 1, 0, 1, 0.7},
                 {RFAMILY_POISSON, 1, 4000, 8, 0.5}, /* far narrower than the function's */
                 {RFAMILY_NEGATIVE_BINOMIAL, 2.5, 17, 1, 1},
                 {RFAMILY_NEGATIVE_BINOMIAL, 300, 90, 4.2, 0.05}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct rfamily *f = rfamily_of(cases[i].kind);
        double got = rfamily_log_density(f, &cases[i].size, cases[i].y, cases[i].m, cases[i].s);
        assert_close(
            got, by_steps(f->likelihood, cases[i].size, cases[i].y, cases[i].m, cases[i].s), 1e-6);
    }
    double one = 1;
    struct rresponse r = rfamily_response(rfamily_of(RFAMILY_POISSON), &one, 0.5, 0.4);
    assert_close(r.mean, exp(0.58), 1e-8); /* log-normal */
    assert_close(r.var, (exp(0.16) - 1) * exp(1.16), 1e-7);
    assert_close(r.new_var, r.var + r.mean, 1e-12);
}

/* Of a large size the negative binomial is Poisson's, to the last digits that matter. */
static void large_sizes(void **state) {
    for (double size = 1e9; size < 1e16; size *= 10) {
        struct gp_likely many, poisson;
        gp_likelihood_find("negative_binomial")->at(1000, 7, &size, &many);
        gp_likelihood_find("poisson")->at(1000, 7, &size, &poisson);
        assert_close(many.l, poisson.l, 1e6 / size + 1e-9);
    }
}

/* Tails are sums of probabilities; simulated intervals hold what they should. */
static void tails_of_families(void **state) {
    double mean = 1.2, sd = 1e-9, size = 2.5;
    for (enum rfamily_kind kind = RFAMILY_CHANCE; kind < RFAMILY_END; kind++) {
        const struct rfamily *f = rfamily_of(kind);
        const struct gp_likelihood *l = gp_likelihood_find(f->likelihood);
        struct rmix x = {f, 1, NULL, &mean, &sd, 1, &size};
        struct rprediction p = rmix_predict(&x, 0.9, 1, 0);
        double sum = 0, below_lo = 0, up_to_hi = 0;
        for (double y = 0; y < (kind == RFAMILY_CHANCE ? 2 : 12); y++) {
            struct gp_likely at;
            double t[2];
            l->at(y, mean, &size, &at);
            f->tails(y, mean, &size, t);
            assert_close(exp(t[1]), 1 - sum, 1e-10);
            if (y < p.new_lo) below_lo += exp(at.l);
            if (y <= p.new_hi) up_to_hi += exp(at.l);
            sum += exp(at.l);
            assert_close(exp(t[0]), sum, 1e-10);
            assert_close(rmix_tail(&x, y), fmin(1, 2 * fmin(exp(t[0]), exp(t[1]))), 1e-6);
        }
        assert_close(p.mean, f->mean(mean), 1e-6);
        assert_true(below_lo < 0.05 + 0.02 && up_to_hi > 0.95 - 0.02);
    }
}

/* Few rows with counts around exp(sin), or chances. */
static void some_rows(enum rfamily_kind kind, size_t n, double *x, double *y) {
    struct rng r;
    rng_init(&r, 11, 0, 0);
    for (size_t i = 0; i < n; i++) {
        double one = 3;
        x[i] = 3 * rng_uniform(&r) - 1.5;
        y[i] =
            gp_likelihood_find(rfamily_of(kind)->likelihood)->draw(&r, 1.5 * sin(2 * x[i]), &one);
    }
}

/* The fixed point of expectation propagation: at each row the function given all is what the row
 * makes of the function given the others. And predictions of rows from the others are near those of
 * the process without them (0.0023 nats a row and less). */
static void settled_processes(void **state) {
    enum { N = 40 };
    double x[N], y[N], mean[N], var[N], now[N], now_var[N], want, want_var;
    for (enum rfamily_kind kind = RFAMILY_CHANCE; kind < RFAMILY_END; kind++) {
        struct rmodel m, less;
        struct rprocess p, q;
        struct buf err = BUF_INIT;
        some_rows(kind, N, x, y);
        struct rmodel_data data = {1, N, x, y, kind}, rest = {1, N - 1, x, y, kind};
        assert_int_equal(rmodel_init(&m, &data, NULL, &err), GPM_OK);
        assert_int_equal(rprocess_init(&p, &m), GPM_OK);
        assert_int_equal(rprocess_use(&p, m.centre), GPM_OK);
        assert_int_equal(rprocess_settle(&p), GPM_OK);
        assert_int_equal(rprocess_loo(&p, mean, var), GPM_OK);
        assert_int_equal(gp_predict(p.g, x, N, GP_LATENT, now, now_var), GPM_OK);
        for (size_t i = 0; i < N; i++) {
            (void)rfamily_given(m.family, p.rate.model.par, y[i], mean[i], sqrt(var[i]), &want,
                                &want_var);
            assert_close(now[i], want, 0.02 * sqrt(want_var));
            assert_close(now_var[i], want_var, 0.02 * want_var);
        }
        double all = 0, own = 0, size = fmax(1, m.family->size); /* sums of log densities */
        for (size_t k = 0; k < N; k++) {
            double left[2] = {x[k], y[k]};
            x[k] = x[N - 1], y[k] = y[N - 1], x[N - 1] = left[0], y[N - 1] = left[1];
            assert_int_equal(rmodel_init(&less, &rest, NULL, &err), GPM_OK);
            assert_int_equal(rprocess_init(&q, &less), GPM_OK);
            assert_int_equal(rprocess_use(&q, m.centre), GPM_OK);
            assert_int_equal(rprocess_settle(&q), GPM_OK);
            assert_int_equal(gp_predict(q.g, left, 1, GP_LATENT, &want, &want_var), GPM_OK);
            all += rfamily_log_density(m.family, &size, left[1], want, sqrt(want_var));
            own += rfamily_log_density(m.family, &size, left[1], mean[k], sqrt(var[k]));
            x[N - 1] = x[k], y[N - 1] = y[k], x[k] = left[0], y[k] = left[1];
            rprocess_release(&q);
            rmodel_release(&less);
        }
        assert_close(own / N, all / N, 4e-3);
        rprocess_release(&p);
        rmodel_release(&m);
        buf_release(&err);
    }
}

/* The gradient that the optimum and the chains go by is that of the density. */
static void optima_of_families(void **state) {
    enum { N = 30 };
    double x[N], y[N];
    for (enum rfamily_kind kind = RFAMILY_CHANCE; kind < RFAMILY_END; kind++) {
        struct rmodel m;
        struct rprocess p;
        struct buf err = BUF_INIT;
        some_rows(kind, N, x, y);
        struct rmodel_data data = {1, N, x, y, kind};
        assert_int_equal(rmodel_init(&m, &data, NULL, &err), GPM_OK);
        assert_int_equal(m.d, kind == RFAMILY_NEGATIVE_BINOMIAL ? 4 : 3);
        assert_int_equal(rmodel_find(&m, 1, 1), GPM_OK);
        assert_int_equal(rprocess_init(&p, &m), GPM_OK);
        const struct mode *q = &m.q.mode[0];
        double best = hidden_density(&m, &p, q->z);
        for (int i = 0; i < m.d; i++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double t[PROPOSAL_MAX_DIM] = {0}, z[PROPOSAL_MAX_DIM];
                t[i] = 0.3 * sign;
                mode_point(q, m.d, t, z);
                assert_true(hidden_density(&m, &p, z) < best - 0.02);
            }
        rprocess_release(&p);
        rmodel_release(&m);
        buf_release(&err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities_of_families),
        cmocka_unit_test(large_sizes),
        cmocka_unit_test(tails_of_families),
        cmocka_unit_test(settled_processes),
        cmocka_unit_test(optima_of_families),
        cmocka_unit_test(chains_follow_a_known_density),
        cmocka_unit_test(chains_go_on),
        cmocka_unit_test(chains_go_where_the_evidence_is),
        cmocka_unit_test(no_draw_is_of_a_lost_place),
        cmocka_unit_test(optimum_of_many_rows),
        cmocka_unit_test(optimum_without_noise),
        cmocka_unit_test(predictions_are_the_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
