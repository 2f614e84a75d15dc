/* SPDX-License-Identifier: Apache-2.0
 *
 * Every maker: predictive densities multiply to the joint in any order, leaving undoes entering,
 * remaking agrees with making anew, undo and commit, gradients of the joint against differences,
 * copies are independent, samplers agree with densities, uncollapsed forms have the same marginal.
 */
#include "support/call.h"
#include "support/spcall.h"

#include "language/rows/emu/emulator.h"
#include "language/value/value_pack.h"

static const struct maker_case {
    const char *maker, *args, *other, *data, *times; /* other: parameters to move to */
    const char *stats;                               /* extract_stats after the data */
} cases[] = {
    {"make_beta_bernoulli", "1.5, 2", "0.3, 4", "true, true, false, true", NULL, "(3, 1)"},
    {"make_uc_beta_bernoulli", "1.5, 2", "0.3, 4", "true, true, false, true", NULL, "(3, 1)"},
    {"make_suff_stat_bernoulli", "0.3", "0.8", "true, true, false, true", NULL, "(3, 1)"},
    {"make_gamma_poisson", "3, 2", "0.5, 7", "4, 0, 3, 11", NULL, "(4, 18)"},
    {"make_uc_gamma_poisson", "3, 2", "0.5, 7", "4, 0, 3, 11", NULL, "(4, 18)"},
    {"make_suff_stat_poisson", "2.5", "7", "4, 0, 3, 11", NULL, "(4, 18)"},
    {"make_nig_normal", "1, 2, 3, 4", "-1, 0.5, 1.2, 0.7", "2, 4, -1, 0.5", NULL,
     "(4, 5.5, 21.25)"},
    {"make_uc_nig_normal", "1, 2, 3, 4", "-1, 0.5, 1.2, 0.7", "2, 4, -1, 0.5", NULL,
     "(4, 5.5, 21.25)"},
    {"make_suff_stat_normal", "1, 2", "-1, 0.5", "2, 4, -1, 0.5", NULL, "(4, 5.5, 21.25)"},
    {"make_niw_normal", "[1, 2], 2, 4, [[2, 0.3], [0.3, 1]]", "[0, 1], 0.5, 3, [[1, 0], [0, 2]]",
     "[0, 0], [2, 4], [1, 2], [1, -2]", NULL, "(4, [1, 1], [[2, 4], [4, 20]])"},
    {"make_dir_cat", "[1, 2, 3]", "[0.5, 0.5, 5]", "0, 2, 2, 1, 0", NULL, "[2, 1, 2]"},
    {"make_dir_cat", "v[1, 2, 3], [\"a\", \"b\", \"a\"]", "v[4, 1, 2], [\"b\", \"a\", \"c\"]",
     "\"a\", \"b\", \"a\", \"a\"", NULL, "[3, 1, 0]"},
    {"make_uc_dir_cat", "[1, 2, 3]", "[0.5, 0.5, 5]", "0, 2, 2, 1, 0", NULL, "[2, 1, 2]"},
    {"make_sym_dir_cat", "0.7, 3", "2, 5", "0, 2, 2, 1, 0", NULL, "[2, 1, 2]"},
    {"make_sym_dir_cat", "0.7, 3, (10, 20, 30)", "2, 3, (30, 20, 10)", "10, 10, 30", NULL,
     "[2, 0, 1]"},
    {"make_uc_sym_dir_cat", "0.7, 3", "2, 4", "0, 2, 2, 1, 0", NULL, "[2, 1, 2]"},
    {"make_crp", "1.5", "0.2", "1, 1, 2, 1, 3, 2, 7", NULL, "{1: 3, 2: 2, 3: 1, 7: 1}"},
    {"make_crp", "1.5, 0.3", "0.2, 0.6", "1, 1, 2, 1, 3, 2", NULL, "{1: 3, 2: 2, 3: 1}"},
    {"make_lazy_hmm", "[0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.2], [0.1, 0.8]]",
     "[0.1, 0.9], [[0.5, 0.1], [0.5, 0.9]], [[0.6, 0.5], [0.4, 0.5]]", "0, 1, 1, 0, 1, 1",
     "1, 2, 5, 1, 1, 8", "[[1, 0, 2], [1, 1, 1], [2, 1, 1], [5, 1, 1], [8, 1, 1]]"},
};

enum { DATA_MAX = 16 };

/* A maker call, the procedure it made, and the data. */
struct made {
    struct call_env env;
    struct call k; /* the maker's call */
    value proc;
    struct sp_call app; /* calls of the made procedure */
    value data[DATA_MAX], times[DATA_MAX];
    size_t n;
};

static void apply_to(struct made *m, value proc) {
    struct sp_proc *p = sp_made_of(proc);
    assert_non_null(p);
    m->app = (struct sp_call){
        .cls = p->cls, .state = p->state->data, .rng = &m->k.rng, .diags = &m->k.diags};
}

static void set_args(struct made *m, const char *text) {
    for (size_t i = 0; i < m->k.c.n; i++) value_unref(m->k.args[i]);
    m->k.c.n = read_values(&m->env, text, m->k.args, CALL_ARGS);
}

static void made_init(struct made *m, const struct maker_case *mc, const char *args,
                      uint64_t seed) {
    memset(m, 0, sizeof *m);
    call_env_init(&m->env);
    call_init(&m->k, mc->maker, NULL, 0, seed);
    set_args(m, args);
    struct sp_sig sig;
    sp_sig_parse(m->k.c.cls->sig, &sig);
    assert_int_equal(sp_check_args(&m->k.c, &sig), GPM_OK);
    m->proc = call_draw(&m->k);
    apply_to(m, m->proc);
    m->n = read_values(&m->env, mc->data, m->data, DATA_MAX);
    if (mc->times) assert_int_equal(read_values(&m->env, mc->times, m->times, DATA_MAX), m->n);
}

static void made_release(struct made *m) {
    for (size_t i = 0; i < m->n; i++) value_unref(m->data[i]);
    value_unref(m->proc);
    call_release(&m->k);
    call_env_release(&m->env);
}

/* Sets the argument of the next application (the time, for the hidden Markov chain). */
static struct sp_call *at(struct made *m, size_t i) {
    m->app.args = &m->times[i];
    m->app.n = m->times[i].tag == V_NUM;
    return &m->app;
}

static double density(struct made *m, size_t i) {
    double lp = NAN;
    assert_int_equal(m->app.cls->log_density(at(m, i), m->data[i], &lp), GPM_OK);
    return lp;
}

static void enter(struct made *m, size_t i) {
    assert_int_equal(m->app.cls->incorporate(at(m, i), m->data[i]), GPM_OK);
}

static void leave(struct made *m, size_t i) {
    assert_int_equal(m->app.cls->unincorporate(at(m, i), m->data[i]), GPM_OK);
}

static void enter_all(struct made *m) {
    for (size_t i = 0; i < m->n; i++) enter(m, i);
}

static double joint(struct made *m) {
    double lp = NAN;
    assert_int_equal(m->k.c.cls->aaa->log_joint(m->app.state, &lp), GPM_OK);
    return lp;
}

static bool uncollapsed(const struct maker_case *mc) {
    return strstr(mc->maker, "make_uc_") != NULL;
}

static void every_maker_has_a_case(void **state) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct sp_class *cls = sp_index_at(i);
        bool mine = cls->flags & SP_MAKER && strncmp(cls->name, "make_", 5) == 0;
        if (!mine || cls->aaa == &memoizer_aaa) continue; /* emulators have their own */
        bool found = false;
        for (size_t j = 0; j < COUNT_OF(cases); j++) found |= !strcmp(cases[j].maker, cls->name);
        if (!found) fail_msg("maker %s is not in this test", cls->name);
    }
}

static void densities_multiply_to_the_joint_in_any_order(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (uncollapsed(&cases[i])) continue; /* theirs condition on the latent */
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 3);
        assert_close(joint(&m), 0, 1e-15);
        size_t order[DATA_MAX];
        for (int rep = 0; rep < 6; rep++) {
            double sum = 0, back = 0;
            for (size_t j = 0; j < m.n; j++) order[j] = j;
            for (size_t j = m.n; rep && j > 1; j--) {
                size_t r = rng_below(&m.k.rng, j), t = order[j - 1];
                order[j - 1] = order[r], order[r] = t;
            }
            for (size_t j = 0; j < m.n; j++) {
                sum += density(&m, order[j]);
                enter(&m, order[j]);
                assert_close(sum, joint(&m), 1e-11);
            }
            for (size_t j = 0; j < m.n; j++) { /* density after leaving */
                size_t out = order[rep % 2 ? j : m.n - 1 - j];
                leave(&m, out);
                back += density(&m, out);
            }
            assert_close(back, sum, 1e-10);
            assert_close(joint(&m), 0, 1e-14);
        }
        made_release(&m);
    }
}

static void leaving_undoes_entering(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 3);
        enter_all(&m);
        double before = joint(&m);
        for (int rep = 0; rep < 50; rep++) {
            size_t j = rng_below(&m.k.rng, m.n);
            enter(&m, j);
            leave(&m, j);
        }
        assert_close(joint(&m), before, 1e-10);
        for (size_t j = 0; j < m.n; j++) leave(&m, j);
        assert_true(joint(&m) == 0); /* exactly: nothing is left behind */
        made_release(&m);
    }
}

static void statistics_can_be_read(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 3);
        enter_all(&m);
        struct sp_proc *p = sp_made_of(m.proc);
        value v = p->state->cls->stats(p->state->data);
        struct buf b = BUF_INIT;
        value_print(v, &b);
        assert_string_equal(b.data, cases[i].stats);
        buf_release(&b);
        value_unref(v);
        made_release(&m);
    }
}

static void remaking_agrees_with_making_anew(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct maker_case *mc = &cases[i];
        struct made m, anew;
        made_init(&m, mc, mc->args, 3);
        made_init(&anew, mc, mc->other, 4);
        enter_all(&m);
        enter_all(&anew);
        double old = joint(&m), moved;
        const struct sp_aaa *aaa = m.k.c.cls->aaa;
        void *token;
        set_args(&m, mc->other);
        assert_int_equal(aaa->remake(&m.k.c, m.app.state, &token, &moved), GPM_OK);
        assert_close(moved, joint(&anew), 1e-12);
        assert_close(joint(&m), moved, 1e-15);
        assert_true(fabs(moved - old) > 1e-3);
        /* an application comes and goes while the proposal stands */
        enter(&m, 0);
        leave(&m, 0);
        aaa->undo(m.app.state, token);
        assert_close(joint(&m), old, 1e-12);
        assert_int_equal(aaa->remake(&m.k.c, m.app.state, &token, &moved), GPM_OK);
        aaa->commit(m.app.state, token);
        assert_close(joint(&m), moved, 1e-12);
        if (!uncollapsed(mc)) assert_close(density(&m, 1), density(&anew, 1), 1e-11);
        for (size_t j = 0; j < m.n; j++) leave(&m, j);
        assert_true(joint(&m) == 0);
        made_release(&m);
        made_release(&anew);
    }
}

/* ---- gradients of the joint */
static size_t slots_of(value *v, double **slots) {
    size_t n = 0;
    switch (v->tag) {
    case V_NUM: slots[n++] = &v->u.num; break;
    case V_VECTOR:
        for (; n < v->u.vector->n; n++) slots[n] = &v->u.vector->at[n];
        break;
    case V_ARRAY:
        for (; n < v->u.array->n && v->u.array->at[n].tag == V_NUM; n++)
            slots[n] = &v->u.array->at[n].u.num;
        break;
    default: break;
    }
    return n;
}

static double moved_joint(struct made *m, double *slot, double to) {
    double keep = *slot, lp;
    void *token;
    *slot = to;
    assert_int_equal(m->k.c.cls->aaa->remake(&m->k.c, m->app.state, &token, &lp), GPM_OK);
    m->k.c.cls->aaa->undo(m->app.state, token);
    *slot = keep;
    return lp;
}

static void joint_gradients_agree_with_differences(void **state) {
    size_t checked = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 3);
        enter_all(&m);
        value d[CALL_ARGS] = {NIL};
        const struct sp_aaa *aaa = m.k.c.cls->aaa;
        bool has = aaa->gradient && aaa->gradient(&m.k.c, m.app.state, d) == GPM_OK;
        for (size_t j = 0; has && j < m.k.c.n; j++) {
            double *slots[16], *parts[16], zero = 0;
            bool whole = strstr(cases[i].maker, "sym_dir") && j == 1;
            size_t n = whole || j == 2 ? 0 : slots_of(&m.k.args[j], slots);
            if (strstr(cases[i].maker, "nig") && j == 2) n = slots_of(&m.k.args[j], slots);
            if (slots_of(&d[j], parts) != n)
                for (size_t s = 0; s < n; s++) parts[s] = &zero;
            for (size_t s = 0; s < n; s++) {
                double h = 1e-5 * fabs(*slots[s]) + 1e-9, x = *slots[s];
                double diff = (moved_joint(&m, slots[s], x + h) - moved_joint(&m, slots[s], x - h));
                assert_close(*parts[s], diff / (2 * h), 1e-6);
                checked++;
            }
            value_unref(d[j]);
        }
        made_release(&m);
    }
    assert_true(checked >= 35);
}

static void copies_are_independent(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 3);
        enter_all(&m);
        double before = joint(&m), lp;
        struct sp_proc *p = sp_made_of(m.proc);
        struct pack copied;
        pack_begin_copy(&copied, NULL);
        p->state->cls->pack(&copied, p->state->data);
        pack_turn(&copied);
        void *copy = p->state->cls->pack(&copied, NULL);
        pack_release(&copied);
        for (size_t j = 0; j < m.n; j++) leave(&m, j);
        assert_int_equal(m.k.c.cls->aaa->log_joint(copy, &lp), GPM_OK);
        assert_close(lp, before, 1e-15);
        p->state->cls->free(copy);
        made_release(&m);
    }
}

/* ---- draws: discrete ones against the density, cell by cell */
enum { DRAWS = 20000, CELLS = 400 };

static size_t cell_of(value v, value *seen, size_t *n) {
    for (size_t i = 0; i < *n; i++)
        if (value_equal(seen[i], v)) return i;
    assert_true(*n < CELLS);
    seen[*n] = value_ref(v);
    return (*n)++;
}

static void discrete_draws_agree_with_densities(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 50 + i);
        enter_all(&m);
        if (m.app.cls->flags & SP_DISCRETE) {
            value seen[CELLS];
            double count[CELLS] = {0}, prob[CELLS], total = 0;
            size_t n = 0;
            for (int r = 0; r < DRAWS; r++) {
                value v;
                assert_int_equal(m.app.cls->simulate(at(&m, 0), &v), GPM_OK);
                count[cell_of(v, seen, &n)]++;
                value_unref(v);
            }
            for (size_t c = 0; c < n; c++) {
                double lp;
                assert_int_equal(m.app.cls->log_density(at(&m, 0), seen[c], &lp), GPM_OK);
                total += prob[c] = exp(lp);
                value_unref(seen[c]);
            }
            assert_true(total < 1 + 1e-12 && total > 0.99);
            assert_p_value(chi2_p(count, prob, n, DRAWS), 50 + i);
        }
        made_release(&m);
    }
}

static void enumerated_probabilities_sum_to_one(void **state) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made m;
        made_init(&m, &cases[i], cases[i].args, 5);
        enter_all(&m);
        if (m.app.cls->enumerate) {
            value *vals;
            size_t n;
            double sum = 0, lp;
            assert_int_equal(m.app.cls->enumerate(at(&m, 0), &vals, &n), GPM_OK);
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(m.app.cls->log_density(at(&m, 0), vals[j], &lp), GPM_OK);
                sum += exp(lp);
            }
            assert_close(sum, 1, 1e-12);
            values_free(vals, n);
        }
        made_release(&m);
    }
}

/* Distribution function of Student's t. */
static double t_cdf(double x, double nu, double loc, double scale) {
    double z = (x - loc) / scale, tail = 0.5 * beta_inc(0.5 * nu, 0.5, nu / (nu + z * z));
    return z > 0 ? 1 - tail : tail;
}

/* After observing 2 and 4: student_t(8, 2.6, 1.4247806848775004), collapsed; the uncollapsed form
 * remade around its data has the same predictive. */
static void normal_predictives_are_student(void **state) {
    static const struct maker_case two[] = {
        {"make_nig_normal", "1, 2, 3, 4", "", "2, 4", NULL, NULL},
        {"make_uc_nig_normal", "1, 2, 3, 4", "", "2, 4", NULL, NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct made m;
        made_init(&m, &two[i], two[i].args, 70 + i);
        enter_all(&m);
        double count[40] = {0}, prob[40], lp;
        for (int r = 0; r < DRAWS; r++) {
            void *token;
            value v;
            if (i) {
                assert_int_equal(m.k.c.cls->aaa->remake(&m.k.c, m.app.state, &token, &lp), GPM_OK);
                m.k.c.cls->aaa->commit(m.app.state, token);
            }
            assert_int_equal(m.app.cls->simulate(&m.app, &v), GPM_OK);
            count[(int)(40 * t_cdf(v.u.num, 8, 2.6, 1.4247806848775004))]++;
        }
        for (int b = 0; b < 40; b++) prob[b] = 1.0 / 40;
        assert_p_value(chi2_p(count, prob, 40, DRAWS), 70 + i);
        made_release(&m);
    }
}

/* Uncollapsed, discrete: draws over remakes have the collapsed predictive, and the density of the
 * latent that the maker declares is a density: its average ratio to the posterior's is one. */
static void uncollapsed_draws_have_the_collapsed_marginal(void **state) {
    static const char *const pairs[][2] = {{"make_uc_beta_bernoulli", "make_beta_bernoulli"},
                                           {"make_uc_gamma_poisson", "make_gamma_poisson"},
                                           {"make_uc_dir_cat", "make_dir_cat"},
                                           {"make_uc_sym_dir_cat", "make_sym_dir_cat"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct maker_case *uc = NULL;
        for (size_t j = 0; j < COUNT_OF(cases); j++)
            if (!strcmp(cases[j].maker, pairs[i][0])) uc = &cases[j];
        struct maker_case plain = *uc;
        plain.maker = pairs[i][1];
        struct made m, c;
        made_init(&m, uc, uc->args, 90 + i);
        made_init(&c, &plain, plain.args, 1);
        enter_all(&m);
        enter_all(&c);
        assert_close(joint(&m), joint(&c), 1e-14);
        double count[CELLS] = {0}, prob[CELLS], lp;
        for (int r = 0; r < DRAWS; r++) {
            void *token;
            value v;
            assert_int_equal(m.k.c.cls->aaa->remake(&m.k.c, m.app.state, &token, &lp), GPM_OK);
            m.k.c.cls->aaa->commit(m.app.state, token);
            assert_int_equal(m.app.cls->simulate(&m.app, &v), GPM_OK);
            count[(size_t)as_double(v)]++;
        }
        for (size_t x = 0; x < CELLS; x++) {
            value v = i == 0 ? value_bool(x == 1) : value_num((double)x);
            assert_int_equal(c.app.cls->log_density(&c.app, v, &lp), GPM_OK);
            prob[x] = i == 0 && x > 1 ? 0 : exp(lp);
        }
        assert_p_value(chi2_p(count, prob, CELLS, DRAWS), 90 + i);
        assert_int_equal(m.k.c.cls->log_density(&m.k.c, m.proc, &lp), GPM_OK);
        assert_true(isfinite(lp));
        made_release(&m);
        made_release(&c);
    }
}

/* Numbers of the reference interpreter and of scipy. */
static void predictive_densities_agree_with_the_reference(void **state) {
    static const struct {
        struct maker_case mc;
        const char *value;
        double expect;
    } rows[] = {
        {{"make_beta_bernoulli", "1, 1", "", "true, false, true", NULL, NULL},
         "true",
         -0.5108256237659907},
        {{"make_dir_cat", "[1, 2, 3]", "", "0", NULL, NULL}, "0", -1.252762968495368},
        {{"make_dir_cat", "[1, 2, 3]", "", "0", NULL, NULL}, "2", -0.8472978603872037},
        {{"make_gamma_poisson", "3, 2", "", "", NULL, NULL}, "1", -1.2163953243244934},
        {{"make_gamma_poisson", "3, 2", "", "4", NULL, NULL}, "1", -1.4541587192270435},
        {{"make_nig_normal", "0, 1, 2, 3", "", "", NULL, NULL}, "0.5", -1.58168361535262},
        {{"make_crp", "1, 0.5", "", "1, 1, 2", NULL, NULL}, "1", -0.9808292530117262},
        {{"make_crp", "1, 0.5", "", "1, 1, 2", NULL, NULL}, "3", -0.6931471805599453},
        {{"make_niw_normal", "[0, 0], 1, 3, [[1, 0], [0, 1]]", "", "[1, 0], [0, 2]", NULL, NULL},
         "[0.5, -0.5]",
         -2.3457665458707204},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct made m;
        double lp;
        value v;
        made_init(&m, &rows[i].mc, rows[i].mc.args, 1);
        enter_all(&m);
        assert_int_equal(read_values(&m.env, rows[i].value, &v, 1), 1);
        assert_int_equal(m.app.cls->log_density(&m.app, v, &lp), GPM_OK);
        assert_close(lp, rows[i].expect, 1e-13);
        value_unref(v);
        made_release(&m);
    }
}

/* The chain by brute force over all hidden paths. */
static void hidden_chain_agrees_with_all_paths(void **state) {
    const struct maker_case *mc = &cases[COUNT_OF(cases) - 1];
    struct made m;
    made_init(&m, mc, mc->args, 1);
    enter_all(&m);
    static const double T[2][2] = {{0.7, 0.3}, {0.3, 0.7}}, O[2][2] = {{0.9, 0.2}, {0.1, 0.8}};
    double total = 0;
    for (unsigned path = 0; path < 512; path++) {
        double p = 0.5;
        for (int t = 1; t < 9; t++) p *= T[path >> t & 1][path >> (t - 1) & 1];
        for (size_t i = 0; i < m.n; i++)
            p *= O[(int)m.data[i].u.num][path >> (int)m.times[i].u.num & 1];
        total += p;
    }
    assert_close(joint(&m), log(total), 1e-13);
    made_release(&m);
}

/* Data that the new parameters cannot give: minus infinity, and the way back is exact. */
static void an_impossible_object_is_a_zero_density(void **state) {
    struct maker_case mc = {"make_sym_dir_cat", "1, 4", "1, 2", "3, 0, 3, 1", NULL, NULL};
    struct made m;
    made_init(&m, &mc, mc.args, 1);
    enter_all(&m);
    double old = joint(&m), moved;
    void *token;
    set_args(&m, mc.other);
    assert_int_equal(m.k.c.cls->aaa->remake(&m.k.c, m.app.state, &token, &moved), GPM_OK);
    assert_true(moved == -INFINITY);
    m.k.c.cls->aaa->undo(m.app.state, token);
    assert_close(joint(&m), old, 1e-15);
    made_release(&m);
}

/* Data of density zero enter and leave like others: the joint density is zero meanwhile, and finite
 * again where a change of parameters makes them possible. */
static void impossible_data_are_kept(void **state) {
    static const char *const odd[][2] = {
        {"make_beta_bernoulli", "7"},     {"make_suff_stat_poisson", "-1"},
        {"make_gamma_poisson", "2.5"},    {"make_nig_normal", "inf"},
        {"make_suff_stat_normal", "inf"}, {"make_dir_cat", "\"nowhere\""},
        {"make_uc_dir_cat", "9"},         {"make_niw_normal", "[1, inf]"},
        {"make_lazy_hmm", "7"},           {"make_lazy_hmm", "0.5"},
    };
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        const struct maker_case *mc = NULL;
        for (size_t j = COUNT_OF(cases); j-- > 0;)
            if (!strcmp(cases[j].maker, odd[i][0])) mc = &cases[j];
        struct made m;
        made_init(&m, mc, mc->args, 1);
        enter_all(&m);
        double before = joint(&m), lp;
        value v;
        assert_int_equal(read_values(&m.env, odd[i][1], &v, 1), 1);
        assert_int_equal(m.app.cls->log_density(at(&m, 0), v, &lp), GPM_OK);
        assert_true(lp == -INFINITY);
        assert_int_equal(m.app.cls->incorporate(at(&m, 0), v), GPM_OK);
        assert_true(joint(&m) == -INFINITY);
        assert_int_equal(m.app.cls->unincorporate(at(&m, 0), v), GPM_OK);
        assert_close(joint(&m), before, 1e-13);
        value_unref(v);
        made_release(&m);
    }
}

static void a_datum_becomes_possible(void **state) {
    struct maker_case small = {"make_sym_dir_cat", "1, 2", "1, 4", "3, 0, 3, 1", NULL, NULL};
    struct made m, big;
    void *token;
    double moved;
    made_init(&m, &small, small.args, 1);
    made_init(&big, &small, small.other, 1);
    enter_all(&m);
    enter_all(&big);
    assert_true(joint(&m) == -INFINITY);
    set_args(&m, small.other);
    assert_int_equal(m.k.c.cls->aaa->remake(&m.k.c, m.app.state, &token, &moved), GPM_OK);
    m.k.c.cls->aaa->commit(m.app.state, token);
    assert_close(moved, joint(&big), 1e-14);
    for (size_t j = 0; j < m.n; j++) leave(&m, j);
    assert_true(joint(&m) == 0);
    made_release(&m);
    made_release(&big);
}

static void bad_parameters_are_errors(void **state) {
    static const char *const bad[][2] = {
        {"make_beta_bernoulli", "0, 1"},
        {"make_suff_stat_bernoulli", "1.2"},
        {"make_dir_cat", "[1, -1]"},
        {"make_dir_cat", "[]"},
        {"make_dir_cat", "[1, 2], [\"a\"]"},
        {"make_sym_dir_cat", "1, 0"},
        {"make_nig_normal", "0, 1, -1, 1"},
        {"make_niw_normal", "[0, 0], 1, 0.5, [[1, 0], [0, 1]]"},
        {"make_niw_normal", "[0, 0], 1, 3, [[1, 2], [2, 1]]"},
        {"make_niw_normal", "[0, 0, 0], 1, 3, [[1, 0], [0, 1]]"},
        {"make_crp", "1, 1"},
        {"make_crp", "-1"},
        {"make_lazy_hmm", "[1, 0], [[1, 0], [1, 1]], [[1, 0], [0, 1]]"},
        {"make_lazy_hmm", "[1, 0], [[1, 0]], [[1, 0], [0, 1]]"},
        {"make_lazy_hmm", "[1, 1], [[1, 0], [0, 1]], [[1, 0], [0, 1]]"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct call_env env;
        call_env_init(&env);
        char *text = call_text(&env, bad[i][0], bad[i][1]);
        if (strncmp(text, "error E02", 9)) fail_msg("%s(%s): %s", bad[i][0], bad[i][1], text);
        mem_free(text);
        call_env_release(&env);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_maker_has_a_case),
        cmocka_unit_test(densities_multiply_to_the_joint_in_any_order),
        cmocka_unit_test(leaving_undoes_entering),
        cmocka_unit_test(statistics_can_be_read),
        cmocka_unit_test(remaking_agrees_with_making_anew),
        cmocka_unit_test(joint_gradients_agree_with_differences),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(discrete_draws_agree_with_densities),
        cmocka_unit_test(enumerated_probabilities_sum_to_one),
        cmocka_unit_test(normal_predictives_are_student),
        cmocka_unit_test(uncollapsed_draws_have_the_collapsed_marginal),
        cmocka_unit_test(predictive_densities_agree_with_the_reference),
        cmocka_unit_test(hidden_chain_agrees_with_all_paths),
        cmocka_unit_test(an_impossible_object_is_a_zero_density),
        cmocka_unit_test(impossible_data_are_kept),
        cmocka_unit_test(a_datum_becomes_possible),
        cmocka_unit_test(bad_parameters_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
