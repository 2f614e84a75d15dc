/* SPDX-License-Identifier: Apache-2.0
 *
 * The n-th allocation fails, for one n after another, in every part of the public API: each call
 * ends with its right result or with GPM_E_NOMEM and a word about it, the same call afterwards
 * gives what a fresh handle gives, and nothing leaks (the sanitizers watch). */
#include "support/check.h"
#include "support/session.h"
#include "support/tmp.h"

#include "base/buf.h"
#include "gpmem/discover.h"
#include "gpmem/draws.h"
#include "gpmem/gp.h"
#include "gpmem/optimize.h"
#include "gpmem/outline.h"
#include "gpmem/plot.h"
#include <jansson.h>

/* All small n, then ever larger strides: the first allocations are those of the set-up. */
static long next(long n) {
    return n < 60 ? n + 1 : n + 1 + n / 12;
}

/* One piece of work: appends what it gave to out. Called with the failure armed, then again. */
typedef enum gpm_status work(void *handle, struct buf *out);
struct part {
    void *(*make)(void);
    work *run;
    void (*drop)(void *handle);
};

/* The JSON library allocates for itself. */
static long json_countdown;
static void *json_alloc(size_t size) {
    return json_countdown && --json_countdown == 0 ? NULL : malloc(size);
}

/* It fails in turn: no crash, no leak. (What the library reads then may lack a character: it loses
 * one itself when its buffer cannot grow, so results are not compared.) */
static void sweep_json(work *run, void *h) {
    struct buf got = BUF_INIT;
    json_set_alloc_funcs(json_alloc, free);
    long n = 1, refused = 0;
    for (bool hit = true; hit; n = next(n)) {
        buf_reset(&got);
        json_countdown = n;
        refused += run(h, &got) != GPM_OK;
        hit = json_countdown == 0;
        json_countdown = 0;
    }
    buf_release(&got);
    assert_true(refused > 0 && n > 10);
}

static long sweep(const struct part *p) {
    struct buf want = BUF_INIT, got = BUF_INIT;
    void *h = p->make();
    assert_int_equal(p->run(h, &want), GPM_OK);
    p->drop(h);
    assert_true(want.len > 0);
    long n = 1, refused = 0;
    for (bool hit = true; hit; n = next(n)) {
        h = p->make();
        buf_reset(&got);
        mem_fail_nth(n);
        enum gpm_status st = p->run(h, &got);
        hit = !mem_fail_pending();
        mem_fail_nth(0);
        assert_true(st == GPM_OK || st == GPM_E_NOMEM);
        if (st == GPM_OK) assert_string_equal(got.data, want.data);
        refused += st != GPM_OK;
        buf_reset(&got);
        assert_int_equal(p->run(h, &got), GPM_OK); /* the handle is as good as new */
        assert_string_equal(got.data, want.data);
        p->drop(h);
    }
    buf_release(&want);
    buf_release(&got);
    assert_true(n > 10);
    return refused;
}

/* ---- a session ---- */
static void *runner_new(void) {
    return kept_session_new(1);
}

static void runner_free(void *h) {
    kept_session_free(h);
}

static enum gpm_status run_program(struct kept_session *r, const char *text, struct buf *out) {
    buf_reset(&r->out);
    enum gpm_status st = gpm_run_text(r->s, "test", text, strlen(text));
    if (st == GPM_E_NOMEM && !strstr(gpm_last_error(r->s), "out of memory"))
        fail_msg("no word about it: %s", gpm_last_error(r->s));
    if (st && st != GPM_E_NOMEM) fail_msg("%s", gpm_last_error(r->s));
    buf_add(out, r->out.data, r->out.len);
    return st;
}

/* In a model of its own, so that the next run finds nothing of this one. */
static enum gpm_status program(void *h, struct buf *out) {
    return run_program(
        h,
        "define once = first(run(in_model(run(new_model()), {\n"
        "  assume m = normal(0, 1); assume f = mem(proc(i) { normal(m, 1) });\n"
        "  assume g = make_gp(gp_mean_const(0), gp_cov_se(1));\n"
        "  observe normal(f(1), 0.1) = 2; observe g([1, 2]) = [0.5, 0.7];\n"
        "  mh(default, one, 10); d <- collect(m, f(1));\n"
        "  hmc(default, all, 0.1, 2, 1); s <- sample [f(1) - f(1), \"a\", m - m]; return(s) })));\n"
        "once; map(proc(x) { x * x }, [1, 2, 3]);",
        out);
}

/* After so many of its transitions, is the model of a session in which all was well as shown? */
static bool stood_there(const char *begin, const char *show, const char *shown) {
    struct kept_session *q = runner_new();
    struct buf out = BUF_INIT;
    bool found = false;
    assert_int_equal(run_program(q, begin, &out), GPM_OK);
    for (int k = 0; k <= 20 && !found; k++) {
        buf_reset(&out);
        assert_int_equal(run_program(q, show, &out), GPM_OK);
        found = !strcmp(out.data, shown);
        const char *next = k < 10 ? "infer mh(default, one, 1);" : "infer mh(default, all, 1);";
        assert_int_equal(run_program(q, next, &out), GPM_OK);
    }
    runner_free(q);
    buf_release(&out);
    return found;
}

/* A failing chain keeps its last complete transition. */
static void chain(void **state) {
    struct buf after = BUF_INIT;
    long refused = 0;
    const char *show = "[run(sample(x)), run(sample(f(1))), run(global_log_joint())];";
    const char *begin = "assume x = normal(0, 1); assume f = mem(proc(i) { normal(x, 1) });"
                        "observe normal(f(1) + f(2), 1) = 3;";
    for (long n = 1; n < 4000; n = next(n)) {
        struct kept_session *r = runner_new();
        assert_int_equal(run_program(r, begin, &after), GPM_OK);
        mem_fail_nth(n);
        enum gpm_status st =
            run_program(r, "infer { mh(default, one, 10); mh(default, all, 10) };", &after);
        mem_fail_nth(0);
        assert_true(st == GPM_OK || st == GPM_E_NOMEM);
        refused += st != GPM_OK;
        buf_reset(&after);
        assert_int_equal(run_program(r, show, &after), GPM_OK);
        if (!stood_there(begin, show, after.data)) fail_msg("%ld: no state of the chain", n);
        runner_free(r);
    }
    assert_true(refused > 10);
    buf_release(&after);
}

/* The same for one instruction alone, of which no copy is made: refused or carried out, as said. */
static void alone(void **state) {
    static const char *const instructions[] = {
        "assume y = normal(0, 1);", "observe normal(f(1), 1) = 2;",
        "force f(1) = 7;",          "predict f(3) + 1;",
        "mh(default, one, 1);",     "define z = run(predict(f(4)));"};
    struct buf before = BUF_INIT, after = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(instructions); i++) {
        long refused = 0, done = 0;
        for (long n = 1; n < 3000 && !(done && n > 200); n = next(n)) {
            struct kept_session *r = runner_new();
            buf_reset(&before), buf_reset(&after);
            const char *begin = "assume x = normal(0, 1); assume f = mem(proc(i) { normal(x, 1) });"
                                "predict f(1); [run(sample(f(1))), run(global_log_joint())];";
            const char *show = "[run(sample(f(1))), run(global_log_joint())];";
            assert_int_equal(run_program(r, begin, &before), GPM_OK);
            mem_fail_nth(n);
            enum gpm_status st = run_program(r, instructions[i], &after);
            done += mem_fail_pending();
            mem_fail_nth(0);
            refused += st != GPM_OK;
            buf_reset(&before), buf_reset(&after);
            /* as in a session in which all was well: it did not happen, or it did */
            struct kept_session *q = runner_new();
            assert_int_equal(run_program(q, begin, &before), GPM_OK);
            if (st == GPM_OK) assert_int_equal(run_program(q, instructions[i], &before), GPM_OK);
            buf_reset(&before);
            assert_int_equal(run_program(q, show, &before), GPM_OK);
            assert_int_equal(run_program(r, show, &after), GPM_OK);
            assert_string_equal(before.data, after.data);
            if (st && i == 0) assert_int_equal(run_program(r, instructions[i], &after), GPM_OK);
            runner_free(r);
            runner_free(q);
        }
        assert_true(refused > 3 && done);
    }
    buf_release(&before);
    buf_release(&after);
}

static void *nothing(void) {
    return NULL;
}

static void no_drop(void *h) {}

/* Making the session is part of it: the reserve carries it. */
static enum gpm_status whole_session(void *h, struct buf *out) {
    struct kept_session *r = runner_new();
    enum gpm_status st = run_program(r, "1 + 1; map(proc(i) { i }, [1, 2]);", out);
    runner_free(r);
    return st;
}

/* ---- Gaussian processes ---- */
static void *gp_make(void) {
    return gpm_gp_new();
}

static void gp_drop(void *h) {
    gpm_gp_free(h);
}

static enum gpm_status gp_work(void *h, struct buf *out) {
    gpm_gp *g = h;
    double x[12], y[12], at[2] = {0.33, 2}, mean[2], var[2], lm = 0;
    struct gpm_gp_fit_options o;
    gpm_gp_fit_options_init(&o);
    o.starts = 1;
    for (int i = 0; i < 12; i++) x[i] = i / 4.0, y[i] = sin(x[i]) + 0.1 * ((i * 7) % 5 - 2);
    gpm_gp_clear(g);
    enum gpm_status st = gpm_gp_model(g, 1, "SE(sf=1, l=0.5) + LIN(sf=0.1)", 0.1);
    if (!st) st = gpm_gp_add(g, x, y, 12);
    if (!st) st = gpm_gp_fit(g, &o);
    if (!st) st = gpm_gp_predict(g, at, 2, true, mean, var);
    if (!st) st = gpm_gp_log_likelihood(g, &lm);
    if (!st) buf_printf(out, "%.12g %.12g %.12g %s", mean[0], var[1], lm, gpm_gp_kernel(g));
    return st;
}

/* ---- structure ---- */
static const char *series_file(void) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "t,y\n");
    for (int i = 0; i < 14; i++) buf_printf(&b, "%d,%g\n", i, i + 0.5 * ((i * 7) % 5));
    tmp_write("series.csv", b.data);
    buf_release(&b);
    return tmp_path("series.csv");
}

static enum gpm_status discover(gpm_discovery *d, const char *path) {
    struct gpm_discover_options o;
    gpm_discover_options_init(&o);
    o.threads = 2;
    o.kernels = "LIN";
    return gpm_discover_run(d, path, &o);
}

static enum gpm_status learner(void *h, struct buf *out) {
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = discover(d, tmp_path("series.csv"));
    if (st) assert_true(gpm_discover_error(d)[0]);
    if (!st) buf_puts(out, gpm_discover_report(d, GPM_REPORT_PROGRAM));
    gpm_discover_free(d);
    return st;
}

static void *discovery_make(void) {
    return gpm_discover_new();
}

static void discovery_drop(void *h) {
    gpm_discover_free(h);
}

static enum gpm_status reports(void *h, struct buf *out) {
    gpm_discovery *d = h;
    struct gpm_answer a = {0};
    const char *csv = "";
    enum gpm_status st = gpm_discover_open(d, tmp_path("run"));
    if (!st) st = gpm_discover_query(d, "LIN", &a);
    if (!st) st = gpm_discover_forecast(d, 3, NULL, 0, 0.9, &csv);
    if (!st) buf_printf(out, "%g %s", a.probability, csv);
    for (int f = GPM_REPORT_TEXT; f <= GPM_REPORT_PROGRAM && !st; f++) {
        buf_puts(out, gpm_discover_report(d, (enum gpm_discover_format)f));
        if (gpm_discover_error(d)[0]) st = GPM_E_NOMEM;
    }
    return st;
}

/* ---- optimiser and stores ---- */
static int bowl(void *user, const double *x, double *y) {
    *y = (x[0] - 1) * (x[0] - 1);
    return 0;
}

static enum gpm_status optimiser(void *h, struct buf *out) {
    struct gpm_optimize_options o;
    gpm_optimize_options_init(&o);
    o.budget = 8;
    o.initial = 4;
    gpm_optimizer *b = gpm_optimizer_new(&o);
    enum gpm_status st = gpm_optimizer_variable(b, "x=-5:10");
    if (!st) gpm_optimizer_function(b, "bowl", bowl, NULL);
    if (!st) st = gpm_optimizer_open(b);
    if (!st) st = gpm_optimizer_run(b);
    size_t kept = st ? gpm_optimizer_count(b) : 8;
    if (st && gpm_optimizer_count(b)) { /* what was evaluated is kept, and the search goes on */
        mem_fail_nth(0);
        assert_int_equal(gpm_optimizer_run(b), GPM_OK);
        assert_true(gpm_optimizer_count(b) == 8 && kept <= 8);
    }
    if (!st)
        buf_printf(out, "%zu %s", gpm_optimizer_count(b),
                   gpm_optimizer_report(b, GPM_OPTIMIZE_TEXT));
    gpm_optimizer_free(b);
    return st;
}

static enum gpm_status stores(void *h, struct buf *out) {
    const char *text = "", *path = tmp_path("memo.db");
    size_t added = 0;
    unlink(path);
    gpm_memo *m = gpm_memo_new();
    enum gpm_status st = gpm_memo_create(m, path, "f", "a,b");
    if (!st) st = gpm_memo_import(m, tmp_path("known.csv"), false, &added);
    if (!st) st = gpm_memo_export(m, &text);
    if (!st) buf_printf(out, "%zu %zu", added, strlen(text) > 20 ? (size_t)1 : 0);
    if (!st) st = gpm_memo_remove(m, 1);
    if (!st) st = gpm_memo_show(m, 0, GPM_FORMAT_JSON, &text);
    if (!st) buf_puts(out, text);
    gpm_memo_free(m);
    return st;
}

/* ---- tables, pictures, outlines ---- */
static enum gpm_status tables(void *h, struct buf *out) {
    char err[200];
    struct buf csv = BUF_INIT;
    buf_puts(&csv, "# chain\na,b\n");
    for (int i = 0; i < 20; i++) buf_printf(&csv, "%d,%g\n", (i * 7) % 11, i / 3.0);
    gpm_draws *d = gpm_draws_new();
    enum gpm_status st = gpm_draws_add_csv(d, csv.data, csv.len, err, sizeof err);
    if (!st) st = gpm_draws_add_csv(d, csv.data, csv.len, err, sizeof err);
    if (!st) buf_puts(out, gpm_draws_summary(d, GPM_FORMAT_JSON));
    if (!st) buf_puts(out, gpm_draws_json(d));
    gpm_draws_free(d);
    buf_release(&csv);
    return st;
}

static void append(void *user, int stream, const char *text, size_t len) {
    buf_add(user, text, len);
}

static void place(void *user, const struct gpm_name_place *p) {
    buf_printf(user, "%s@%zu ", p->name, p->start);
}

static enum gpm_status pictures(void *h, struct buf *out) {
    static const char program[] = "assume x = normal(0, 1); define y = x + 1; y;";
    static const char scene[] = "{\"panels\": [{\"title\": \"<t>\", \"items\": "
                                "[{\"type\": \"line\", \"x\": [1, 2, 3], \"y\": [3, 1, 2]}]}]}";
    struct gpm_plot_options o;
    gpm_plot_options_init(&o);
    char err[200];
    enum gpm_status st = gpm_plot_json(scene, sizeof scene - 1, &o, append, out, err, sizeof err);
    o.format = GPM_PLOT_TEXT;
    if (!st) st = gpm_plot_json(scene, sizeof scene - 1, &o, append, out, err, sizeof err);
    if (!st) st = gpm_outline(program, sizeof program - 1, place, out);
    return st;
}

static int setup(void **state) {
    if (tmp_setup(state)) return -1;
    tmp_write("known.csv", "a,b,value\n1,2,3\n4,5,6\n");
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = discover(d, series_file());
    if (!st) st = gpm_discover_save(d, tmp_path("run"));
    gpm_discover_free(d);
    return st ? -1 : 0;
}

static int teardown(void **state) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s/run'", tmp_dir);
    return system(command) || tmp_teardown(state);
}

#define SWEEP(name, ...)                                                                           \
    static void name(void **state) {                                                               \
        static const struct part p = {__VA_ARGS__};                                                \
        long refused = sweep(&p);                                                                  \
        print_message("refused %ld times\n", refused);                                             \
    }
SWEEP(sessions, nothing, whole_session, no_drop)
SWEEP(programs, runner_new, program, runner_free)
SWEEP(processes, gp_make, gp_work, gp_drop)
SWEEP(learners, nothing, learner, no_drop)
SWEEP(folders, discovery_make, reports, discovery_drop)
SWEEP(optimisers, nothing, optimiser, no_drop)
SWEEP(memo_tables, nothing, stores, no_drop)
SWEEP(draw_tables, nothing, tables, no_drop)
SWEEP(scenes, nothing, pictures, no_drop)

static void json_library(void **state) {
    gpm_discovery *d = gpm_discover_new();
    sweep_json(reports, d);
    gpm_discover_free(d);
    sweep_json(pictures, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain),       cmocka_unit_test(alone),
        cmocka_unit_test(sessions),    cmocka_unit_test(programs),
        cmocka_unit_test(processes),   cmocka_unit_test(learners),
        cmocka_unit_test(folders),     cmocka_unit_test(optimisers),
        cmocka_unit_test(memo_tables), cmocka_unit_test(draw_tables),
        cmocka_unit_test(scenes),      cmocka_unit_test(json_library)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
