/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidences: importance sampling on densities with known integrals, evidences of small structures
 * against integration on a grid, the posterior against the exact chains, threads do not matter.
 */
#include "apps/discover/posterior.h"
#include "apps/discover/predict.h"
#include "apps/discover/series_space.h"
#include "apps/discover/starts.h"
#include "support/check.h"
#include "support/structure_text.h"

/* A correlated normal times exp(3) in two dimensions, and a bent one: both integrate to exp(3). */
static double bent(void *ctx, const double *z, double *grad) {
    double b = *(double *)ctx, u = z[0] / 0.5, v = z[1] - b * z[0] * z[0];
    if (grad) {
        grad[0] = -u / 0.5 + v * 2 * b * z[0];
        grad[1] = -v;
    }
    return 3 - 0.5 * u * u - 0.5 * v * v - log(2 * M_PI * 0.5);
}

static void test_importance(void **state) {
    for (double b = 0; b <= 1.5; b += 0.75) {
        struct density t = {.d = 2, .eval = bent, .ctx = &b};
        struct proposal p = {0};
        struct draws d = {0};
        struct rng r;
        double mode[2] = {0, 0};
        rng_init(&r, 11, 0, 0);
        double laplace = proposal_add_mode(&p, &t, mode);
        assert_close(laplace, 3, 1e-6); /* the curvature at the mode does not see the bend */
        struct is_result res = importance(&t, &p, 200, 4000, &r, &d);
        assert_true(fabs(res.logz - 3) < 5 * res.se + 1e-3);
        assert_true(res.se < 0.05 && res.ess > 0.2);
        double mean = 0, want = b * 0.25; /* E z1 = b E z0^2 */
        for (size_t i = 0; i < d.n; i++) mean += d.w[i] * d.z[2 * i + 1];
        assert_true(fabs(mean - want) < 0.1);
        is_draws_release(&d);
        proposal_release(&p);
    }
}

/* Draws have the density they are said to have: E_p[q/p] = 1 with q another member. */
static void test_proposal_density(void **state) {
    double b = 0, zero[2] = {0, 0}, one[2] = {1, -1}, sum = 0;
    struct density t = {.d = 2, .eval = bent, .ctx = &b};
    struct proposal p = {0}, q = {0};
    struct rng r;
    rng_init(&r, 12, 0, 0);
    proposal_add_mode(&p, &t, zero);
    proposal_add_mode(&p, &t, one);
    proposal_add_mode(&q, &t, one);
    int n = 40000;
    for (int i = 0; i < n; i++) {
        double z[2];
        proposal_draw(&p, &r, z);
        sum += exp(proposal_log_density(&q, z) - proposal_log_density(&p, z)) / n;
    }
    assert_true(fabs(sum - 1) < 0.03);
    proposal_release(&p);
    proposal_release(&q);
}

/* Half around 0, half around -5: from the one no step leads to the other. */
static double two_kinds(void *ctx, const double *z, double *grad) {
    double a = z[0] / 0.3, b = (z[0] + 5) / 0.3, top = -0.5 * fmin(a * a, b * b);
    double p = exp(-0.5 * a * a - top), q = exp(-0.5 * b * b - top);
    if (grad) {
        grad[0] = -(p * a + q * b) / (p + q) / 0.3;
        grad[1] = -z[1];
    }
    return top + log(0.5 * (p + q)) - 0.5 * z[1] * z[1] - log(2 * M_PI * 0.3);
}

static bool other_kinds(void *ctx, const double *z, int k, double *at, double *unit) {
    for (int i = 0; i < 2; i++) at[i] = z[i], unit[i] = 0;
    at[0] = k == 0 ? 2 : -4.8; /* nothing is around 2 */
    unit[0] = 0.4;
    return k < 2;
}

static void test_elsewhere(void **state) {
    for (int knows = 0; knows < 2; knows++) {
        struct density t = {.d = 2, .eval = two_kinds, .elsewhere = knows ? other_kinds : NULL};
        struct proposal p = {0};
        struct draws d = {0};
        struct rng r;
        double mode[2] = {0, 0};
        rng_init(&r, 13, 0, 0);
        proposal_add_mode(&p, &t, mode);
        proposal_reach(&p, &t);
        assert_int_equal(p.n, 1 + knows);
        assert_true(p.mode[p.n - 1].log_weight <= p.mode[0].log_weight); /* its shape is borrowed */
        struct is_result res = importance(&t, &p, 100, 400, &r, &d);
        assert_true(fabs(res.logz - (knows ? 0 : log(0.5))) < 4 * res.se + 0.02);
        is_draws_release(&d);
        proposal_release(&p);
    }
}

/* However often a gap is found there is room for what fills it, and the first mode stays. */
static void test_room(void **state) {
    double b = 0;
    struct density t = {.d = 2, .eval = bent, .ctx = &b};
    struct proposal p = {0};
    for (int i = 0; i < 2 * PROPOSAL_MAX_MODES; i++) {
        double z[2] = {0.1 * i, 0};
        proposal_make_room(&p);
        assert_true(isfinite(proposal_add_mode(&p, &t, z)));
        assert_true(p.n <= PROPOSAL_MAX_MODES);
        assert_close(p.mode[0].z[0], 0, 0);
        assert_close(p.mode[p.n - 1].z[0], 0.1 * i, 1e-12);
    }
    proposal_release(&p);
}

static void make_data(struct smodel_data *d, size_t n) {
    double x[700], y[700];
    struct rng r;
    rng_init(&r, 21, 0, 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i;
        y[i] = 0.05 * x[i] + rng_normal(&r);
    }
    assert_int_equal(smodel_data_init(d, n, x, y, -INFINITY, INFINITY), GPM_OK);
}

/* log of the sum over a grid of the two parameters, or of the one. */
static double grid_evidence(const struct smodel *m, struct smodel_work *w) {
    double best = -INFINITY, sum = 0, h = 0.05;
    static double v[40000];
    size_t n = 0;
    for (double a = -5; a < 3; a += h)
        for (double b = m->d > 1 ? -5 : 0; b < (m->d > 1 ? 3.5 : h / 2); b += h) {
            double z[2] = {a, b};
            assert_true(n < COUNT_OF(v));
            v[n++] = smodel_eval(m, w, z, NULL);
            best = fmax(best, v[n - 1]);
        }
    for (size_t i = 0; i < n; i++) sum += exp(v[i] - best);
    return best + log(sum) + (double)(m->d > 1 ? 2 : 1) * log(h);
}

static void test_evidence_against_grid(void **state) {
    static const char *const texts[] = {"WN", "LIN", "W"};
    struct smodel_data d;
    make_data(&d, 30);
    struct smodel_work *w = smodel_work_new(&d);
    struct period_hints hints = {.n = 0};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct structure s = structure_of(texts[i]);
        struct evidence *e = sevidence_new(&d, &s, 0, -INFINITY, NULL, &hints, w);
        evidence_finish(e, smodel_density(smodel_of(e), w, false), -INFINITY, &series_fit_rules);
        double want = grid_evidence(smodel_of(e), w);
        assert_true(fabs(e->laplace - want) < 0.5); /* Laplace is off where a term is not needed */
        evidence_sample(e, 2000, 5, smodel_density(smodel_of(e), w, true));
        if (fabs(e->logz - want) > 4 * e->se + 0.01)
            fail_msg("%s: %.4f +- %.4f, grid %.4f", texts[i], e->logz, e->se, want);
        evidence_free(e);
    }
    smodel_work_free(w);
    smodel_data_release(&d);
}

/* Sharp patterns and smooth ones; dates that move, of a window its start without its end. */
static void test_other_regions(void **state) {
    struct smodel_data d;
    make_data(&d, 60);
    struct smodel_work *w = smodel_work_new(&d);
    struct smodel m;
    struct structure s = structure_of("PER");
    double z[PROPOSAL_MAX_DIM], at[PROPOSAL_MAX_DIM], unit[PROPOSAL_MAX_DIM];
    smodel_init(&m, &d, &s);
    smodel_prior_draw_hint(&m, z);
    struct density t = smodel_density(&m, w, false);
    int shape = m.term[0].par[SPAR_LPER];
    for (int k = 0; k < 2; k++) {
        z[shape] = k ? -1.9 : 0;
        assert_true(t.elsewhere(t.ctx, z, 0, at, unit) && !t.elsewhere(t.ctx, z, 1, at, unit));
        assert_true(t.elsewhere(t.ctx, z, 0, at, unit));
        assert_true(k ? at[shape] > -0.5 : at[shape] < -1.5);
        for (int i = 0; i < m.d; i++)
            assert_true(i == shape ? unit[i] > 0 : unit[i] == 0 && at[i] == z[i]);
    }
    s = structure_of("W");
    s.t[0].gate = GATE_OUTSIDE;
    s.change = CHANGE_WINDOW;
    smodel_init(&m, &d, &s);
    smodel_prior_draw_hint(&m, z);
    t = smodel_density(&m, w, false);
    int starts = 0, ends = 0;
    double from = smodel_value(&m, m.tau, z[m.tau]), wide = smodel_value(&m, m.width, z[m.width]);
    for (int k = 0; t.elsewhere(t.ctx, z, k, at, unit); k++) {
        double a = smodel_value(&m, m.tau, at[m.tau]), b = smodel_value(&m, m.width, at[m.width]);
        bool start = fabs(a - from) > 0.01, end = fabs(a + b - from - wide) > 0.01;
        assert_true(start != end);
        starts += start, ends += end;
    }
    assert_true(starts >= 2 && ends >= 2);
    smodel_work_free(w);
    smodel_data_release(&d);
}

static bool has_lin(void *ctx, const struct posterior *p, size_t i) {
    return structure_has_term("LIN", p->search->at[i]->text);
}

static void test_posterior(void **state) {
    struct smodel_data d;
    make_data(&d, 40);
    struct search_options o = {.seed = 1};
    struct search s[2];
    struct posterior p;
    struct grammar g;
    grammar_init(&g, 0, false, true);
    for (int k = 0; k < 2; k++) {
        o.threads = k + 1;
        assert_int_equal(series_search_init(&s[k], &d, &g, &o), GPM_OK);
        assert_int_equal(search_run(&s[k]), GPM_OK);
    }
    assert_int_equal(s[0].n, s[1].n);
    for (size_t i = 0; i < s[0].n; i++) /* bit for bit the same with two threads */
        assert_true(evidence_total(s[0].at[i]) == evidence_total(s[1].at[i]));
    posterior_init(&p, &s[1]);
    posterior_chains(&p, 800);
    assert_true(p.tv_evidence < 0.1 && p.rhat < 1.05);
    double sum = 0;
    for (size_t i = 0; i < p.structures.n; i++) sum += p.structures.at[i].p;
    assert_close(sum, 1, 1e-9);
    struct query_answer a = posterior_probability(&p, has_lin, NULL);
    double share = 0;
    for (size_t i = 0; i < 4 * p.steps; i++)
        share += has_lin(NULL, &p, (size_t)p.chain[i].structure) / (4.0 * (double)p.steps);
    assert_true(a.probability > 0.2 && a.error > 0 && a.ess > 100);
    assert_true(fabs(a.probability - share) <
                a.error + 4 / sqrt(a.ess)); /* an exact sampler beside it */
    posterior_release(&p);
    search_release(&s[0]);
    search_release(&s[1]);
    smodel_data_release(&d);
}

static struct evidence *best_of(const struct search *s) {
    struct evidence *best = s->at[0];
    for (size_t i = 1; i < s->n; i++)
        if (evidence_total(s->at[i]) > evidence_total(best)) best = s->at[i];
    return best;
}

/* Structures of two other searches, one without some of the values and one of a part of them: each
 * is there once, the best of both among them, and the top is no lower than with the second alone.
 */
static void test_taken(void **state) {
    struct smodel_data d, without, part;
    make_data(&d, 60);
    assert_int_equal(smodel_data_subset(&d, 57, &without), GPM_OK);
    assert_int_equal(smodel_data_subset(&d, 30, &part), GPM_OK);
    const struct smodel_data *of[] = {&without, &part, &d, &d};
    struct search_options o = {.seed = 1, .threads = 1};
    struct search s[4];
    struct grammar g;
    grammar_init(&g, 0, false, true);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(series_search_init(&s[k], of[k], &g, &o), GPM_OK);
        if (k < 2) assert_int_equal(search_run(&s[k]), GPM_OK);
    }
    series_search_take(&s[2], &s[0], 4, false);
    size_t first = s[2].n;
    assert_in_range(first, 1, 4);
    for (int k = 2; k < 4; k++)
        assert_int_equal(series_search_refine(&s[k], &s[1], 4, false), GPM_OK);
    assert_in_range(s[2].n, first + 1, first + 4);
    for (size_t i = 0; i < s[2].n; i++) assert_ptr_equal(s[2].of[s[2].at[i]->id], s[2].at[i]);
    for (int k = 0; k < 2; k++) {
        size_t id = series_space_number(series_space_of(&s[2]), &smodel_of(best_of(&s[k]))->s);
        assert_true(id < s[2].n_of && s[2].of[id]);
    }
    assert_true(s[2].top >= s[3].top - 0.5); /* errors of both estimates */
    for (int k = 0; k < 4; k++) search_release(&s[k]);
    smodel_data_release(&part);
    smodel_data_release(&without);
    smodel_data_release(&d);
}

/* A search that is made again with a value more begins where the structures were without it, and
 * leaves those alone that lay far behind: the same top for less. */
static void test_again(void **state) {
    struct smodel_data d, without;
    make_data(&d, 60);
    assert_int_equal(smodel_data_subset(&d, 59, &without), GPM_OK);
    const struct smodel_data *of[] = {&without, &d, &d};
    struct search_options o = {.seed = 1, .threads = 1};
    struct search s[3];
    struct grammar g;
    grammar_init(&g, 0, false, true);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(series_search_init(&s[k], of[k], &g, &o), GPM_OK);
        if (k == 1) {
            series_space_of(&s[1])->before = &s[0];
            series_search_take(&s[1], &s[0], 4, true);
        }
        assert_int_equal(search_run(&s[k]), GPM_OK);
    }
    assert_true(fabs(s[1].top - s[2].top) < 0.5); /* errors of both estimates */
    assert_string_equal(best_of(&s[1])->text, best_of(&s[2])->text);
    assert_true((double)s[1].evals < 0.8 * (double)s[2].evals);
    for (int k = 0; k < 3; k++) search_release(&s[k]);
    smodel_data_release(&without);
    smodel_data_release(&d);
}

/* Positive values have been searched on their logarithms and roots; the value that comes back has
 * neither: what is taken over are the structures of the values themselves. */
static void test_scales(void **state) {
    enum { N = 40 };
    double x[N], y[N];
    struct smodel_data d[2];
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (int i = 0; i < N; i++) x[i] = i, y[i] = exp(0.1 * i + 0.2 * rng_normal(&r));
    struct search_options o = {.seed = 1, .threads = 1};
    struct search s[2];
    struct grammar g;
    grammar_init(&g, 0, false, true);
    for (int k = 0; k < 2; k++) {
        if (k) y[20] = -3;
        assert_int_equal(smodel_data_init(&d[k], N, x, y, -INFINITY, INFINITY), GPM_OK);
        assert_int_equal(series_search_init(&s[k], &d[k], &g, &o), GPM_OK);
        if (k) {
            series_space_of(&s[1])->before = &s[0];
            series_search_take(&s[1], &s[0], 8, true);
        }
        assert_int_equal(search_run(&s[k]), GPM_OK);
    }
    assert_int_equal(smodel_of(best_of(&s[0]))->s.transform, TRANSFORM_LOG);
    for (size_t i = 0; i < s[1].n; i++)
        assert_int_equal(smodel_of(s[1].at[i])->s.transform, TRANSFORM_NONE);
    for (int k = 0; k < 2; k++) {
        search_release(&s[k]);
        smodel_data_release(&d[k]);
    }
}

/* A density of which somebody asks to finish while its point number `at` is computed. */
struct watched {
    double b;
    long at;
    volatile sig_atomic_t asked;
};
static long points;
static double watched(void *ctx, const double *z, double *grad) {
    struct watched *w = ctx;
    if (++points == w->at) stop_set(&w->asked, true);
    return bent(&w->b, z, grad);
}

/* What is begun ends at once: an optimum with the point reached, a mode without its shape,
 * importance sampling with the draws that it has, or a few. */
static void test_haste(void **state) {
    struct watched w = {.b = 0.75, .at = 3};
    struct haste haste = {&w.asked, INFINITY};
    struct density t = {.d = 2, .eval = watched, .ctx = &w, .haste = &haste};
    struct proposal p = {0};
    struct draws d = {0};
    struct rng r;
    double z[2] = {2, 5}, mode[2] = {0, 0};
    points = 0;
    assert_true(isfinite(fit_optimise(&t, z, 100)));
    assert_int_equal(points, 3);
    assert_true(isinf(proposal_add_mode(&p, &t, mode)));
    assert_int_equal(points, 4);
    w.at = 100;
    stop_set(&w.asked, false);
    assert_close(proposal_add_mode(&p, &t, mode), 3, 1e-6);
    points = 0;
    rng_init(&r, 11, 0, 0);
    for (int k = 0; k < 2; k++) { /* while it goes on; before it begins */
        struct is_result res = importance(&t, &p, 200, 4000, &r, &d);
        assert_int_equal(points, k ? 100 + HASTY_POINTS : 100);
        assert_int_equal(d.n, k ? HASTY_POINTS : 100);
        assert_true(fabs(res.logz - 3) < 1 && res.se > 0);
        is_draws_release(&d);
    }
    proposal_release(&p);
}

/* A search on part of the values, then somebody asks to finish: the best structure is taken as it
 * is, a few draws and one step of each chain say what is said, and that it was cut. */
static void test_finish(void **state) {
    struct smodel_data d, part;
    volatile sig_atomic_t asked = 0;
    make_data(&d, 60);
    assert_int_equal(smodel_data_subset(&d, 30, &part), GPM_OK);
    struct search_options o = {.seed = 1, .threads = 1, .finish = &asked};
    struct search s[2];
    struct posterior p;
    struct grammar g;
    grammar_init(&g, 0, false, true);
    for (int k = 0; k < 2; k++)
        assert_int_equal(series_search_init(&s[k], k ? &d : &part, &g, &o), GPM_OK);
    assert_int_equal(search_run(&s[0]), GPM_OK);
    long before = s[0].evals;
    assert_false(s[0].cut);
    stop_set(&asked, true);
    assert_int_equal(series_search_refine(&s[1], &s[0], 4, false), GPM_OK);
    assert_int_equal(s[1].n, 1);
    assert_true(isfinite(s[1].top) && s[1].cut);
    assert_in_range(s[1].evals - before, 1, 2 * HASTY_POINTS + 8);
    posterior_init(&p, &s[1]);
    posterior_chains(&p, 0);
    assert_false(p.settled);
    for (size_t i = 0; i < 4 * p.steps; i++) assert_true(isfinite(p.chain[i].logp));
    posterior_release(&p);
    for (int k = 0; k < 2; k++) search_release(&s[k]);
    smodel_data_release(&part);
    smodel_data_release(&d);
    make_data(&d, 700); /* of so many values few draws are predicted with */
    assert_int_equal(series_search_init(&s[0], &d, &g, &o), GPM_OK);
    assert_int_equal(predict_draws(&s[0], 24), 24);
    s[0].cut = true;
    assert_int_equal(predict_draws(&s[0], 24), 3);
    search_release(&s[0]);
    smodel_data_release(&d);
}

/* How thorough a search is depends on its own data alone, not on what was searched before. */
static void test_sizes(void **state) {
    const size_t n[] = {40, 700, 40, 320, 40};
    struct search_options o = {.seed = 1, .threads = 1};
    struct grammar g;
    struct space base[COUNT_OF(n)];
    grammar_init(&g, 0, false, true);
    for (size_t k = 0; k < COUNT_OF(n); k++) {
        struct smodel_data d;
        struct search s;
        make_data(&d, n[k]);
        assert_int_equal(series_search_init(&s, &d, &g, &o), GPM_OK);
        base[k] = *s.space;
        search_release(&s);
        smodel_data_release(&d);
    }
    for (size_t k = 0; k < COUNT_OF(n); k++) {
        bool same = n[k] == n[0];
        assert_int_equal(base[k].draws == base[0].draws, same);
        assert_int_equal(base[k].most, base[0].most); /* 320 to 700 values had half of it */
        assert_int_equal(base[k].steps == base[0].steps, same);
    }
}

/* An evidence that few draws made too high, which chains contradict, gets more of them. */
static void test_more_draws(void **state) {
    struct smodel_data d;
    struct grammar g;
    struct search_options o = {.seed = 1, .threads = 1};
    struct search s;
    struct posterior p;
    make_data(&d, 40);
    grammar_init(&g, 0, false, true);
    assert_int_equal(series_search_init(&s, &d, &g, &o), GPM_OK);
    assert_int_equal(search_run(&s), GPM_OK);
    struct evidence *first = best_of(&s);
    double right = first->logz;
    size_t draws = s.opt.draws;
    first->logz += 1.5;
    search_find_top(&s);
    posterior_init(&p, &s);
    posterior_chains(&p, 0);
    assert_int_equal(s.opt.draws, 2 * draws);
    assert_true(p.settled && fabs(first->logz - right) < 0.5);
    posterior_release(&p);
    search_release(&s);
    smodel_data_release(&d);
}

/* A precision is known by its name. The lower, the less is spent; the best is there at each of
 * them, and a higher one says it no less surely. */
static void test_precisions(void **state) {
    static const char *const names[] = {"low", "normal", "high"};
    struct smodel_data d;
    struct grammar g;
    struct search s[COUNT_OF(names)];
    enum precision_choice none = PRECISION_HIGH;
    make_data(&d, 40);
    grammar_init(&g, 0, false, true);
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        struct search_options o = {.seed = 1, .threads = 1};
        assert_true(precision_find(names[k], &o.precision));
        assert_string_equal(precision_names[o.precision], names[k]);
        assert_int_equal(series_search_init(&s[k], &d, &g, &o), GPM_OK);
        assert_int_equal(search_run(&s[k]), GPM_OK);
        assert_true(k == 0 || (s[k].evals > s[k - 1].evals && s[k].opt.draws > s[k - 1].opt.draws));
        assert_true(k == 0 || best_of(&s[k])->se < best_of(&s[k - 1])->se);
        assert_string_equal(best_of(&s[k])->text, best_of(&s[0])->text);
    }
    assert_false(precision_find("lowest", &none));
    assert_int_equal(none, PRECISION_HIGH);
    for (size_t k = 0; k < COUNT_OF(names); k++) search_release(&s[k]);
    smodel_data_release(&d);
}

/* A term goes on where it was: the level that moves outside a window alone is not the one beside it
 * that moves everywhere. Carried from a level that moves so (gate) to both: goes on as term `same`.
 */
static void carries(const struct smodel_data *d, enum gate gate, int same) {
    struct structure a = structure_of("MAT12"), b = structure_of("MAT12 + MAT12");
    struct smodel m;
    double z[SMODEL_MAX_PAR];
    int source[SMODEL_MAX_PAR];
    a.t[0].gate = (uint16_t)gate;
    a.change = gate ? CHANGE_WINDOW : CHANGE_NONE;
    b.t[1].gate = GATE_OUTSIDE;
    b.change = CHANGE_WINDOW;
    struct evidence *e = sevidence_make(d, &a, 0);
    smodel_init(&m, d, &b);
    e->prop.d = smodel_of(e)->d;
    double *was = e->prop.mode[e->prop.n++].z = NEW_ARRAY(double, SMODEL_MAX_PAR);
    smodel_prior_draw_hint(smodel_of(e), was);
    was[smodel_of(e)->term[0].par[SPAR_SD]] = -4.25;
    starts_carry(&m, e, z, source);
    for (int k = 0; k < m.n_terms; k++) {
        assert_int_equal(source[m.term[k].par[SPAR_SD]] < 0, k != same);
        assert_int_equal(z[m.term[k].par[SPAR_SD]] == -4.25, k == same);
    }
    assert_true(starts_faint(&m, e, z));
    for (int k = 0; k < m.n_terms; k++) /* what is new is no more than noise */
        assert_true(k == same || z[m.term[k].par[SPAR_SD]] <= z[0]);
    evidence_free(e);
}

static void test_carry(void **state) {
    struct smodel_data d;
    make_data(&d, 40);
    carries(&d, GATE_OUTSIDE, 1);
    carries(&d, GATE_NONE, 0);
    smodel_data_release(&d);
}

/* The log evidence of a structure that was not followed to its optimum, computed to its end. */
static double to_the_end(struct search *s, const struct evidence *e) {
    struct evidence *own = s->space->ops->make(s->space, e->id);
    double z[PROPOSAL_MAX_DIM];
    memcpy(z, e->prop.mode[0].z, sizeof *z * (size_t)e->prop.d);
    evidence_at(own, s->space->ops->density(s->space, own, 0, false), z);
    evidence_sample(own, 300, 7, s->space->ops->density(s->space, own, 0, true));
    double total = evidence_total(own);
    evidence_free(own);
    return total;
}

/* Structures with a term that the data say nothing of are many: each counts little, all of them do,
 * though none was followed to its optimum. */
static void test_given_up(void **state) {
    struct smodel_data d;
    struct grammar g;
    struct search_options o = {.seed = 1, .threads = 1};
    struct search s;
    double all = 0, said = 0, known = 0, missed = 0;
    make_data(&d, 40);
    grammar_init(&g, 0, false, true);
    assert_int_equal(series_search_init(&s, &d, &g, &o), GPM_OK);
    assert_int_equal(search_run(&s), GPM_OK);
    for (size_t i = 0; i < s.n; i++) {
        const struct evidence *e = s.at[i];
        double w = exp(evidence_total(e) - s.top);
        all += w;
        if (!e->prop.n || (!e->rough && !e->lent)) continue;
        double end = exp(to_the_end(&s, e) - s.top);
        if (e->rough) missed += end;
        said += w;
        known += end;
    }
    assert_true(known > 0.1 * all);
    assert_true(said > 0.67 * known && said < 1.5 * known);
    assert_true(missed < 0.05 * all);
    search_release(&s);
    smodel_data_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_importance),
                                       cmocka_unit_test(test_elsewhere),
                                       cmocka_unit_test(test_room),
                                       cmocka_unit_test(test_other_regions),
                                       cmocka_unit_test(test_proposal_density),
                                       cmocka_unit_test(test_evidence_against_grid),
                                       cmocka_unit_test(test_posterior),
                                       cmocka_unit_test(test_taken),
                                       cmocka_unit_test(test_again),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_haste),
                                       cmocka_unit_test(test_finish),
                                       cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_precisions),
                                       cmocka_unit_test(test_more_draws),
                                       cmocka_unit_test(test_carry),
                                       cmocka_unit_test(test_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
