/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with a run: a call that fails leaves the run as it was.
 */
#include "base/mem.h"
#include "apps/discover/discovery.h"
#include "gpmem/discover.h"
#include "support/check.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile sig_atomic_t stop;

static void on_alarm(int sig) {
    stop = 1;
}

static void stop_in(long microseconds) {
    struct itimerval after = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    stop = 0;
    signal(SIGALRM, on_alarm);
    assert_int_equal(setitimer(ITIMER_REAL, &after, NULL), 0);
}

static void write_data(struct buf *out) {
    buf_puts(out, "t,y\n");
    for (int i = 0; i < 60; i++)
        buf_printf(out, "%d,%.4f\n", i, 0.1 * i + sin(i * 0.7) + 0.2 * sin(i * i * 1.3));
}

static gpm_discovery *made(void) {
    struct gpm_discover_options o;
    struct buf data = BUF_INIT;
    gpm_discover_options_init(&o);
    o.kernels = "LIN PER SE WN";
    o.threads = 1;
    gpm_discovery *d = gpm_discover_new();
    write_data(&data);
    assert_int_equal(gpm_discover_run_text(d, "wave", data.data, data.len, &o), GPM_OK);
    buf_release(&data);
    return d;
}

/* All that a run says, but the seconds that it took. */
static char *said(gpm_discovery *d) {
    struct buf all = BUF_INIT;
    struct gpm_answer a;
    const char *csv, *end;
    const char *json = gpm_discover_report(d, GPM_REPORT_JSON);
    end = strstr(json, "\"seconds\"");
    buf_add(&all, json, end ? (size_t)(end - json) : strlen(json));
    assert_int_equal(gpm_discover_query(d, "LIN & PER", &a), GPM_OK);
    buf_printf(&all, "%.17g %.17g %.17g\n", a.probability, a.error, a.ess);
    assert_int_equal(gpm_discover_forecast(d, 5, NULL, 0, 0.9, &csv), GPM_OK);
    buf_puts(&all, csv);
    return buf_take(&all);
}

static void too_little_time(void **state) {
    gpm_discovery *d = made(), *other = made();
    char *before = said(d);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(gpm_discover_continue(d, 1e-9), GPM_E_INTERRUPT);
        char *after = said(d);
        assert_string_equal(before, after);
        mem_free(after);
    }
    /* and it goes on as if nothing had been tried */
    assert_int_equal(gpm_discover_continue(d, 0), GPM_OK);
    assert_int_equal(gpm_discover_continue(other, 0), GPM_OK);
    char *one = said(d), *two = said(other);
    assert_string_equal(one, two);
    mem_free(one);
    mem_free(two);
    mem_free(before);
    gpm_discover_free(d);
    gpm_discover_free(other);
}

/* Whenever somebody stops it. */
static void stopped(void **state) {
    struct gpm_discover_options o;
    gpm_discovery *d = made();
    char *before = said(d);
    gpm_discover_options_init(&o);
    o.stop = &stop;
    size_t times = 0;
    for (long after = 1; after < 10000000; after *= 3, times++) {
        stop_in(after);
        enum gpm_status st = gpm_discover_go_on(d, &o);
        if (st == GPM_OK) break; /* it was fast */
        assert_int_equal(st, GPM_E_INTERRUPT);
        char *now = said(d);
        assert_string_equal(before, now);
        mem_free(now);
    }
    assert_true(times > 2);
    signal(SIGALRM, SIG_IGN);
    mem_free(before);
    gpm_discover_free(d);
}

/* An error of the model is one, not somebody who stopped the search. */
static void failed(void **state) {
    struct discovery d;
    struct discovery_options o = DISCOVERY_OPTIONS_INIT;
    struct series s;
    struct buf data = BUF_INIT, err = BUF_INIT;
    write_data(&data);
    assert_int_equal(series_read(&s, "wave", data.data, data.len, &o.series, &err), GPM_OK);
    assert_int_equal(discovery_kernels("LIN SE WN", &o.factors, &err), GPM_OK);
    o.threads = 1;
    assert_int_equal(discovery_run(&d, &s, &o, &err), GPM_OK);
    d.search.space->st = GPM_E_DEVICE;
    assert_int_equal(search_resume(&d.search), GPM_E_DEVICE);
    discovery_release(&d);
    buf_release(&data);
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_time),
        cmocka_unit_test(stopped),
        cmocka_unit_test(failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
