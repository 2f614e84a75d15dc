/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles of the library used by several threads at once: the results are those of one thread, and
 * the thread sanitizer (tools/races) sees every pair of parts that could share state. */
#include "support/check.h"
#include "support/tmp.h"

#include "base/buf.h"
#include "base/stop.h"
#include "gpmem/discover.h"
#include "gpmem/gp.h"
#include "gpmem/optimize.h"
#include "gpmem/regress.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const char program[] =
    "assume l = gamma(2, 1); assume s = gamma(2, 2);"
    "assume (f, e) = gpmem(proc(x) { sin(x) }, make_squaredexp(1, l), noise=s);"
    "for (i = 0; i < 12; i++) { observe e(i) = sin(i); };"
    "infer mh(default, one, 30); infer nuts(default, all, 3); infer slice(default, one, 5);"
    "infer pgibbs(default, ordered, 4, 1); sample l; sample s; sample e(linspace(0, 3, 4));"
    "assume c = make_crp(1); for (i = 0; i < 9; i++) { observe c() = int_mod(i, 3) + 1; };"
    "sample c(); sample lgamma(3.5);";

static gpm_kernel *shared; /* kernels do not change: one serves all threads */

static void keep(void *user, int stream, const char *text, size_t len) {
    if (stream == 1) buf_add(user, text, len);
}

static void run_session(struct buf *out) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.write = keep;
    o.user = out;
    gpm_session *s = gpm_session_new(&o);
    if (gpm_run_text(s, "test", program, strlen(program))) buf_puts(out, gpm_last_error(s));
    gpm_session_free(s);
}

static void run_gp(struct buf *out) {
    double x[60], y[60], lp = NAN, grad[8], noise = NAN;
    for (int i = 0; i < 60; i++) x[i] = 0.1 * i + 0.01 * sin(9.0 * i), y[i] = cos(x[i]);
    gpm_gp *g = gpm_gp_new();
    enum gpm_status st = gpm_gp_set_kernel(g, 1, shared, 0.1);
    if (!st) st = gpm_gp_add(g, x, y, 60);
    if (!st) st = gpm_gp_log_likelihood_grad(g, &lp, grad, &noise);
    buf_printf(out, "%d %.17g %.17g %.17g\n", st, lp, grad[0], noise);
    gpm_gp_free(g);
}

static int bowl(void *user, const double *x, double *y) {
    *y = (x[0] - 0.3) * (x[0] - 0.3);
    return 0;
}

static void run_optimizer(struct buf *out) {
    struct gpm_optimize_options opt;
    double x = NAN, y = NAN;
    gpm_optimize_options_init(&opt);
    opt.budget = 12;
    gpm_optimizer *o = gpm_optimizer_new(&opt);
    enum gpm_status st = gpm_optimizer_variable(o, "x=-1:1");
    gpm_optimizer_function(o, "bowl", bowl, NULL);
    if (!st) st = gpm_optimizer_open(o);
    if (!st) st = gpm_optimizer_run(o);
    gpm_optimizer_best(o, &x, &y);
    buf_printf(out, "%d %.17g %.17g %s\n", st, x, y, gpm_optimizer_error(o));
    gpm_optimizer_free(o);
}

static void run_discovery(struct buf *out) {
    struct gpm_discover_options opt;
    gpm_discover_options_init(&opt);
    opt.threads = 2;
    opt.kernels = "LIN SE WN";
    gpm_discovery *d = gpm_discover_new();
    char path[128];
    snprintf(path, sizeof path, "%s/line.csv", tmp_dir);
    const char *csv = "";
    struct gpm_answer a = {0};
    enum gpm_status st = gpm_discover_run(d, path, &opt);
    if (!st) st = gpm_discover_query(d, "LIN", &a);
    if (!st) st = gpm_discover_forecast(d, 3, NULL, 0, 0.95, &csv);
    buf_printf(out, "%d %.17g %.17g %s%s", st, a.probability, a.error, csv, gpm_discover_error(d));
    gpm_discover_free(d);
}

typedef void job_fn(struct buf *out);
static job_fn *const jobs[] = {run_session, run_gp, run_optimizer, run_discovery};
enum { JOBS = COUNT_OF(jobs), EACH = 2 };

struct worker {
    job_fn *job;
    struct buf out;
    pthread_t thread;
};

static void *work(void *arg) {
    struct worker *w = arg;
    w->job(&w->out);
    return NULL;
}

static void together_as_alone(void **state) {
    struct worker w[JOBS * EACH];
    tmp_write("line.csv", "t,y\n1,1.1\n2,2.0\n3,2.9\n4,4.2\n5,5.0\n6,5.9\n7,7.1\n8,8.0\n9,9.2\n10,"
                          "9.9\n11,11.1\n12,12.0\n13,12.8\n14,14.1\n15,15.0\n16,16.2\n");
    assert_int_equal(gpm_kernel_parse("SE + LIN", &shared, NULL, 0), GPM_OK);
    for (size_t i = 0; i < COUNT_OF(w); i++) {
        w[i].job = jobs[i % JOBS];
        buf_init(&w[i].out);
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(w); i++) pthread_join(w[i].thread, NULL);
    for (size_t i = 0; i < COUNT_OF(w); i++) {
        struct buf alone = BUF_INIT;
        w[i].job(&alone);
        assert_true(alone.len > 0);
        assert_string_equal(w[i].out.data, alone.data);
        buf_release(&alone);
        buf_release(&w[i].out);
    }
    gpm_kernel_free(shared);
}

/* A series whose search takes minutes, stopped by another thread in its first tenths of a second;
 * the handle then serves another one. */
static void *ask_to_stop(void *flag) {
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    stop_set(flag, true);
    return NULL;
}

static void another_thread_stops_a_search(void **state) {
    struct buf csv = BUF_INIT;
    struct gpm_discover_options o;
    volatile sig_atomic_t stop = 0;
    pthread_t other;
    buf_puts(&csv, "t,y\n");
    for (int i = 0; i < 2500; i++)
        buf_printf(&csv, "%.6f,%.6f\n", i + 0.4 * sin(7.0 * i),
                   sin(0.03 * i) + 0.2 * cos(5.0 * i * i));
    gpm_discover_options_init(&o);
    o.every = "none";
    o.stop = &stop;
    gpm_discovery *d = gpm_discover_new();
    assert_int_equal(pthread_create(&other, NULL, ask_to_stop, (void *)&stop), 0);
    assert_int_equal(gpm_discover_run_text(d, "long", csv.data, csv.len, &o), GPM_E_INTERRUPT);
    pthread_join(other, NULL);
    assert_string_equal(gpm_discover_error(d), "interrupted");
    assert_string_equal(gpm_discover_report(d, GPM_REPORT_TEXT), "");
    static const char line[] = "t,y\n1,1.1\n2,2\n3,2.9\n4,4.2\n5,5\n6,5.9\n7,7.1\n8,8\n9,9.2\n";
    stop = 0;
    assert_int_equal(gpm_discover_run_text(d, "short", line, sizeof line - 1, &o), GPM_OK);
    gpm_discover_free(d);
    buf_release(&csv);
}

/* Stopped while its first structures are looked at, some of which have no optimum then: on a grid
 * that is long enough for a subset to screen structures. */
struct soon {
    volatile sig_atomic_t stop;
    long ms;
};

static void *ask_soon(void *p) {
    struct soon *s = p;
    nanosleep(&(struct timespec){.tv_nsec = s->ms * 1000000}, NULL);
    stop_set(&s->stop, true);
    return NULL;
}

static void stopped_early(void **state) {
    struct buf csv = BUF_INIT;
    struct gpm_discover_options o;
    struct soon s = {0, 0};
    buf_puts(&csv, "t,y\n");
    for (int i = 0; i < 1200; i++)
        buf_printf(&csv, "%d,%.6f\n", i, sin(0.06 * i) + 0.2 * cos(5.0 * i * i));
    gpm_discover_options_init(&o);
    o.stop = &s.stop;
    gpm_discovery *d = gpm_discover_new();
    for (; s.ms < 60; s.ms += 2) {
        pthread_t other;
        stop_set(&s.stop, false);
        assert_int_equal(pthread_create(&other, NULL, ask_soon, &s), 0);
        assert_int_equal(gpm_discover_run_text(d, "grid", csv.data, csv.len, &o), GPM_E_INTERRUPT);
        pthread_join(other, NULL);
        assert_string_equal(gpm_discover_error(d), "interrupted");
    }
    gpm_discover_free(d);
    buf_release(&csv);
}

/* ---- one session, one call at a time ---- */

enum { THREADS = 8, CALLS = 60 };

struct shared {
    gpm_session *s;
    atomic_int served, refused, other;
};

static void *use_shared(void *arg) {
    struct shared *h = arg;
    static const char text[] = "predict normal(0, 1); infer mh(default, one, 20); [1, 2];";
    for (int i = 0; i < CALLS; i++) {
        enum gpm_status st = gpm_run_text(h->s, "shared", text, sizeof text - 1);
        const char *why = st == GPM_E_BUSY ? gpm_last_error(h->s) : "one call at a time";
        bool said = strstr(why, "one call at a time") != NULL;
        atomic_fetch_add(!st ? &h->served : st == GPM_E_BUSY && said ? &h->refused : &h->other, 1);
        (void)gpm_list_directives(h->s);
        (void)gpm_stopped(h->s);
    }
    return NULL;
}

static void one_owner_at_a_time(void **state) {
    struct shared h = {.s = gpm_session_new(NULL)};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_shared, &h), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(h.other, 0);
    assert_int_equal(h.served + h.refused, THREADS * CALLS);
    assert_true(h.served > 0);
    assert_int_equal(gpm_run_text(h.s, "after", "1 + 1;", 6), GPM_OK);
    gpm_session_free(h.s);
}

static int call_own_session(void *user, const char *args, const char **result, char *err,
                            size_t err_size) {
    struct shared *h = user;
    const enum gpm_status st[] = {
        gpm_run_text(h->s, "inner", "5;", 2), gpm_data_json(h->s, "{\"a\": 1}", 8),
        gpm_check_text(h->s, "inner", "1", 1, true), gpm_restore(h->s, "", 0),
        gpm_bind_callback(h->s, "f", call_own_session, h)};
    for (size_t i = 0; i < COUNT_OF(st); i++) h->refused += st[i] == GPM_E_BUSY;
    gpm_session_free(h->s); /* frees nothing */
    h->refused += !strncmp(gpm_last_error(h->s), "this object is at work", 22);
    h->refused += !gpm_help(h->s, "normal") && !*gpm_reference_json(h->s);
    return 0;
}

static void callbacks_call_no_session_of_theirs(void **state) {
    static const char text[] = "assume a = flip(0.5); infer call_back(\"f\", a); infer mh(default, "
                               "one, 5); sample a;";
    struct shared h = {.s = gpm_session_new(NULL)};
    assert_int_equal(gpm_bind_callback(h.s, "f", call_own_session, &h), GPM_OK);
    assert_int_equal(gpm_run_text(h.s, "outer", text, sizeof text - 1), GPM_OK);
    assert_int_equal(h.refused, 7);
    assert_string_equal(gpm_last_error(h.s), "");
    gpm_session_free(h.s);
}

struct own {
    gpm_optimizer *o;
    int refused;
};

static int call_own_optimizer(void *user, const double *x, double *y) {
    struct own *own = user;
    double at;
    *y = x[0] * x[0];
    own->refused += gpm_optimizer_run(own->o) == GPM_E_BUSY;
    own->refused += !gpm_optimizer_best(own->o, NULL, &at) && !*gpm_optimizer_report(own->o, 0);
    gpm_optimizer_free(own->o);
    own->refused += !strncmp(gpm_optimizer_error(own->o), "this object is at work", 22);
    return 0;
}

static void *use_regression(void *arg) {
    gpm_regression *r = arg;
    static const char csv[] = "x,y\n1,1.1\n2,2.2\n3,2.9\n4,4.1\n5,5.2\n6,5.8\n7,7.1\n8,8\n9,9.1\n";
    size_t wrong = 0;
    for (int i = 0; i < 100; i++) {
        enum gpm_status st[] = {gpm_regression_read_text(r, "t", csv, sizeof csv - 1, NULL),
                                gpm_regression_at(r, "x=2")};
        wrong += st[0] && st[0] != GPM_E_BUSY;
        wrong += st[1] && st[1] != GPM_E_BUSY && st[1] != GPM_E_ARG; /* none is read as yet */
        gpm_regression_forget(r);
    }
    return (void *)wrong;
}

static void other_handles_likewise(void **state) {
    struct gpm_optimize_options opt;
    gpm_optimize_options_init(&opt);
    opt.budget = 4;
    struct own own = {gpm_optimizer_new(&opt), 0};
    assert_int_equal(gpm_optimizer_variable(own.o, "x=-1:1"), GPM_OK);
    gpm_optimizer_function(own.o, "own", call_own_optimizer, &own);
    assert_int_equal(gpm_optimizer_open(own.o), GPM_OK);
    assert_int_equal(gpm_optimizer_run(own.o), GPM_OK);
    assert_int_equal(own.refused, 4 * 3);
    gpm_optimizer_free(own.o);

    gpm_regression *r = gpm_regression_new();
    pthread_t threads[THREADS];
    void *wrong;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_regression, r), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    gpm_regression_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(together_as_alone),
                                       cmocka_unit_test(another_thread_stops_a_search),
                                       cmocka_unit_test(stopped_early),
                                       cmocka_unit_test(one_owner_at_a_time),
                                       cmocka_unit_test(callbacks_call_no_session_of_theirs),
                                       cmocka_unit_test(other_handles_likewise)};
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
