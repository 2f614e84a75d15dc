/* SPDX-License-Identifier: Apache-2.0
 * Programs as functions: templates, outcomes, time-outs, the pool, interruption. */
#include "support/check.h"
#include "support/tmp.h"

#include "base/stop.h"
#include "io/host/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {"x", "y"};

static struct proc_command command(const char *line, bool json) {
    struct proc_command c;
    struct buf err = BUF_INIT;
    enum gpm_status s = proc_command_parse(&c, line, names, 2, json, &err);
    if (s) print_error("%s\n", err.data);
    assert_int_equal(s, GPM_OK);
    buf_release(&err);
    return c;
}

static void run_line(const char *line, bool json, double timeout, int retries,
                     struct proc_result *r) {
    struct proc_command c = command(line, json);
    const char *values[] = {"1.5", "2"};
    c.timeout = timeout;
    c.retries = retries;
    proc_result_init(r);
    proc_run(&c, values, NULL, r);
    proc_command_release(&c);
}

static void templates_and_their_errors(void **state) {
    struct proc_command c =
        command("./sim --a={x}:{y} 'two words' \"q\\\"\" '{print $1}' {{x}}", false);
    struct buf text = BUF_INIT, err = BUF_INIT;
    assert_int_equal(c.argc, 6);
    assert_string_equal(c.argv[2], "two words");
    assert_string_equal(c.argv[3], "q\"");
    for (int byte = 1; byte < 256; byte++) /* each as a word, and inside one */
        for (int inside = 0; inside < 2; inside++) {
            char word[] = {inside ? 'a' : (char)byte, inside ? (char)byte : 0, inside ? 'b' : 0, 0};
            char *argv[] = {(char[]){"./sim"}, (char[]){"{x}{y}"}, word};
            struct proc_command one, back;
            if (byte == '{') continue;
            assert_int_equal(proc_command_init(&one, argv, 3, names, 2, false, &err), GPM_OK);
            buf_reset(&text);
            proc_command_text(&one, &text);
            back = command(text.data, false);
            assert_int_equal(back.argc, 3);
            assert_string_equal(back.argv[2], word);
            proc_command_release(&one);
            proc_command_release(&back);
        }
    buf_reset(&text);
    proc_command_text(&c, &text);
    struct proc_command again = command(text.data, false); /* the text reads back */
    assert_int_equal(again.argc, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(again.argv[i], c.argv[i]);
    proc_command_release(&c);
    proc_command_release(&again);
    assert_int_equal(proc_command_parse(&c, "./sim {z}", names, 2, false, &err), GPM_E_ARG);
    assert_non_null(strstr(err.data, "{z}"));
    assert_non_null(strstr(err.data, "{x}, {y}"));
    assert_int_equal(proc_command_parse(&c, "./sim", names, 2, false, &err), GPM_E_ARG);
    assert_int_equal(proc_command_parse(&c, "  ", names, 2, false, &err), GPM_E_ARG);
    assert_int_equal(proc_command_parse(&c, "./sim 'a {x}", names, 2, false, &err), GPM_E_ARG);
    buf_release(&text);
    buf_release(&err);
}

static void outcomes_are_told_apart(void **state) {
    const struct {
        const char *line;
        double timeout;
        enum proc_outcome outcome;
        int code;
        double value;
        const char *words, *err;
    } cases[] = {
        {"echo {x}", 0, PROC_OK, 0, 1.5, "", ""},
        {"sh -c 'echo; echo \" {x}e2 \"'", 0, PROC_OK, 0, 150, "", ""},
        {"sh -c 'echo {x}; echo note >&2'", 0, PROC_OK, 0, 1.5, "", "note\n"},
        {"sh -c 'echo 1; echo why {x} >&2; exit 3'", 0, PROC_EXIT, 3, 0, "status 3", "why 1.5\n"},
        {"sh -c 'kill -SEGV $$; echo {x}'", 0, PROC_SIGNAL, 11, 0, "signal 11", ""},
        {"sh -c 'echo part >&2; sleep 150 # {x}'", 2, PROC_TIMEOUT, 0, 0, "time-out of 2 s",
         "part\n"},
        {"sh -c 'trap \"\" TERM; sleep 150; echo {x}'", 0.2, PROC_TIMEOUT, 0, 0, "time-out", ""},
        {"sh -c 'echo nan # {x}'", 0, PROC_NAN, 0, 0, "not finite", ""},
        {"sh -c 'echo -inf # {x}'", 0, PROC_NAN, 0, 0, "not finite", ""},
        {"echo {x} {y}", 0, PROC_GARBAGE, 0, 0, "\"1.5 2", ""},
        {"true {x}", 0, PROC_GARBAGE, 0, 0, "printed nothing", ""},
        {"sh -c 'yes 1.0 | head -100000 # {x}'", 0, PROC_GARBAGE, 0, 0, "...", ""},
        {"./no/such/program {x}", 0, PROC_NO_START, 0, 0, "No such file", ""},
        {"/ {x}", 0, PROC_NO_START, 0, 0, "Permission denied", ""},
        {"sh -c 'sleep 40 & echo {x}'", 30, PROC_OK, 0, 1.5, "", ""}, /* a child left behind */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct proc_result r;
        run_line(cases[i].line, false, cases[i].timeout, 0, &r);
        if (r.outcome != cases[i].outcome) print_error("%s: %s\n", cases[i].line, r.message.data);
        assert_int_equal(r.outcome, cases[i].outcome);
        assert_int_equal(r.code, cases[i].code);
        if (r.outcome == PROC_OK) assert_close(r.value, cases[i].value, 0);
        assert_non_null(strstr(r.message.data, cases[i].words));
        assert_string_equal(r.stderr_tail.data, cases[i].err);
        assert_true(r.seconds < 100); /* nobody waited for what sleeps */
        proc_result_release(&r);
    }
}

static void stderr_is_bounded_and_keeps_the_end(void **state) {
    struct proc_result r;
    struct buf text = BUF_INIT;
    run_line("sh -c 'yes abcdefg | head -c 3000000 >&2; echo THE END >&2; exit {y}'", false, 10, 0,
             &r);
    assert_int_equal(r.outcome, PROC_EXIT);
    assert_int_equal(r.stderr_tail.len, PROC_STDERR_MAX);
    assert_string_equal(r.stderr_tail.data + r.stderr_tail.len - 8, "THE END\n");
    proc_result_text(&r, &text);
    assert_memory_equal(text.data, "ended with status 2\nstderr: ", 28);
    buf_release(&text);
    proc_result_release(&r);
}

static void json_on_stdin(void **state) {
    struct proc_result r;
    run_line("/usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin); "
             "print(d[\"x\"]+10*d[\"y\"])'",
             true, 20, 0, &r);
    assert_int_equal(r.outcome, PROC_OK);
    assert_close(r.value, 21.5, 0);
    proc_result_release(&r);
}

static void retries_until_it_works(void **state) {
    struct proc_result r;
    struct buf line = BUF_INIT;
    buf_printf(&line, "sh -c 'echo x >> %s; test $(wc -l < %s) -ge 3 && echo {x}'",
               tmp_path("count"), tmp_path("count"));
    run_line(line.data, false, 5, 5, &r);
    assert_int_equal(r.outcome, PROC_OK);
    assert_int_equal(r.attempts, 3);
    proc_result_release(&r);
    buf_release(&line);
}

static volatile sig_atomic_t stop_flag;
static atomic_int n_ended;

/* Runs count jobs, two values each, until the flag is set; results[i] in input order. */
static void run_all(const struct proc_command *c, const char *const *values, size_t count, int jobs,
                    struct proc_result *results) {
    struct proc_pool *p = proc_pool_new(jobs);
    size_t next = 0;
    stop_flag = 0;
    atomic_store(&n_ended, 0);
    for (size_t i = 0; i < count; i++) {
        proc_result_init(&results[i]);
        results[i].outcome = PROC_INTERRUPTED;
    }
    for (;;) {
        int64_t i;
        struct proc_result r;
        while (next < count && !proc_pool_full(p)) {
            proc_pool_start(p, c, values + 2 * next, (int64_t)next);
            next++;
        }
        proc_result_init(&r);
        if (!proc_pool_wait(p, -1, &stop_flag, &i, &r)) break;
        results[i] = r;
        atomic_fetch_add(&n_ended, 1);
    }
    proc_pool_free(p);
}

/* Each waits until twelve have begun, up to a minute: one after the other none would end. */
static void pool_runs_in_parallel_with_results_in_order(void **state) {
    struct buf line = BUF_INIT;
    const char *begun = tmp_path("begun");
    buf_printf(&line,
               "sh -c 'echo {x} >> %s; while test $(wc -l < %s) -lt 12; do sleep 0.05; done;"
               " sleep {y}; echo {x}'",
               begun, begun);
    struct proc_command c = command(line.data, false);
    c.timeout = 60;
    enum { N = 24 };
    char text[N][16];
    const char *values[2 * N];
    struct proc_result r[N];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "%d", i * i);
        values[2 * i] = text[i];
        values[2 * i + 1] = i % 3 ? "0.1" : "0.3";
    }
    run_all(&c, values, N, 12, r);
    assert_int_equal(atomic_load(&n_ended), N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(r[i].outcome, PROC_OK);
        assert_close(r[i].value, i * i, 0);
        proc_result_release(&r[i]);
    }
    proc_command_release(&c);
    buf_release(&line);
}

/* Asks to stop while programs are waited for, when the two quick ones have ended. */
static void *set_flag(void *p) {
    struct timespec t = {0, 100000000};
    do nanosleep(&t, NULL);
    while (atomic_load(&n_ended) < 2);
    stop_set(&stop_flag, true);
    return p;
}

static void interruption_keeps_what_is_done(void **state) {
    struct proc_command c = command("sh -c 'sleep {y}; echo {x}'", false);
    const char *values[] = {"1", "0", "2", "30", "3", "0", "4", "30", "5", "0"};
    struct proc_result r[5];
    pthread_t thread;
    atomic_store(&n_ended, 0);
    pthread_create(&thread, NULL, set_flag, NULL);
    run_all(&c, values, 5, 2, r);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&n_ended), 2);
    const enum proc_outcome want[] = {PROC_OK, PROC_INTERRUPTED, PROC_OK, PROC_INTERRUPTED,
                                      PROC_INTERRUPTED};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r[i].outcome, want[i]);
        proc_result_release(&r[i]);
    }
    proc_command_release(&c);
}

/* No descriptor is left: asked again until there is one, or given up as the machine's fault. */
static void shortages_are_waited_for(void **state) {
    struct proc_command c = command("echo {x}{y}", false);
    const char *values[] = {"1", "2"};
    struct proc_result r;
    int64_t tag;
    struct rlimit all, few;
    getrlimit(RLIMIT_NOFILE, &all);
    few = all;
    int lowest = open("/dev/null", O_RDONLY);
    few.rlim_cur = (rlim_t)lowest;
    close(lowest);
    proc_result_init(&r);
    for (int recovers = 0; recovers < 2; recovers++) {
        struct proc_pool *p = proc_pool_new(1);
        c.patience = recovers ? 60 : 0.05;
        setrlimit(RLIMIT_NOFILE, &few);
        proc_pool_start(p, &c, values, 7);
        bool ended = proc_pool_wait(p, recovers ? 0.05 : 60, NULL, &tag, &r);
        setrlimit(RLIMIT_NOFILE, &all);
        if (!recovers) {
            assert_true(ended);
            assert_int_equal(r.outcome, PROC_SHORTAGE);
            assert_true(proc_says_nothing(&r));
            assert_non_null(strstr(r.message.data, "Too many open files"));
        } else {
            assert_false(ended);
            assert_true(proc_pool_wait(p, 60, NULL, &tag, &r));
            assert_int_equal(r.outcome, PROC_OK);
            assert_close(r.value, 12, 0);
            assert_int_equal(r.attempts, 1);
        }
        proc_pool_free(p);
    }
    proc_result_release(&r);
    proc_command_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_and_their_errors),
        cmocka_unit_test(outcomes_are_told_apart),
        cmocka_unit_test(stderr_is_bounded_and_keeps_the_end),
        cmocka_unit_test(json_on_stdin),
        cmocka_unit_test(retries_until_it_works),
        cmocka_unit_test(pool_runs_in_parallel_with_results_in_order),
        cmocka_unit_test(interruption_keeps_what_is_done),
        cmocka_unit_test(shortages_are_waited_for),
    };
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
