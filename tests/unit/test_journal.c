/* SPDX-License-Identifier: Apache-2.0
 *
 * Journals of searches: what is gone on with, what begins anew and why, and what a limit leaves.
 * That killed searches end with the bytes of others is in tests/cli/run_discover_kills.py.
 */
#include "base/file.h"
#include "base/own.h"
#include "apps/discover/journal.h"
#include "support/check.h"
#include <stdlib.h>
#include <unistd.h>

enum { JOBS = 3, STEPS = 4 };

/* Jobs that count how often they were run, and whose step may be late. */
struct work {
    double result[JOBS];
    int runs;
    bool late;
};

static void run_job(void *ctx, size_t job, int thread) {
    struct work *w = ctx;
    w->result[job] = (double)job + 1;
    w->runs++;
}

static uint64_t key(void *ctx, size_t job) {
    return job;
}

static void pack(struct pack *p, void *ctx, size_t job) {
    pack_double(p, &((struct work *)ctx)->result[job]);
}

static bool late(const void *ctx) {
    return ((const struct work *)ctx)->late;
}

static const struct journal_step step = {"step", run_job, key, pack, late},
                                 other = {"other", run_job, key, pack, late};

static char folder[] = "/tmp/gpmem-journal-XXXXXX";

static int make_folder(void **state) {
    if (!mkdtemp(folder)) return -1;
    return setenv("XDG_STATE_HOME", folder, 1);
}

static int remove_folder(void **state) {
    struct buf command = BUF_INIT;
    buf_printf(&command, "rm -rf %s", folder);
    int st = system(command.data);
    buf_release(&command);
    return st;
}

static struct journal *opened(void) {
    struct buf head = BUF_INIT, err = BUF_INIT;
    struct journal *j;
    buf_puts(&head, "what was asked for");
    assert_int_equal(journal_open(&j, folder, &head, NULL, &err), GPM_OK);
    buf_release(&head);
    buf_release(&err);
    return j;
}

/* How many jobs `steps` steps have run that the journal did not know; the first `at` are the same
 * as ever, the others are late, if so, and other ones. *st: whether all of it was gone through. */
static int go(int steps, int at, bool hurry, enum gpm_status *st) {
    struct journal *j = opened();
    struct work w = {.runs = 0};
    struct buf err = BUF_INIT;
    for (int i = 0; i < steps; i++) {
        memset(w.result, 0, sizeof w.result);
        w.late = hurry && i >= at;
        journal_step(j, 1, JOBS, i < at ? &step : &other, &w);
        for (int k = 0; k < JOBS; k++) assert_true(w.result[k] == k + 1);
    }
    *st = journal_gone_through(j, GPM_OK, &err);
    journal_close(j);
    buf_release(&err);
    return w.runs;
}

static void test_limits(void **state) {
    enum gpm_status st;
    journal_remove(folder);
    assert_int_equal(go(STEPS, STEPS, false, &st), STEPS * JOBS);
    assert_int_equal(st, GPM_OK);
    assert_int_equal(go(STEPS, STEPS, false, &st), 0);
    assert_int_equal(st, GPM_OK);
    /* a limit: steps become others, or there are fewer; all that is known stays */
    assert_int_equal(go(STEPS, 2, true, &st), 2 * JOBS);
    assert_int_equal(st, GPM_E_INTERRUPT);
    assert_int_equal(go(1, 1, true, &st), 0);
    assert_int_equal(st, GPM_E_INTERRUPT);
    assert_int_equal(go(STEPS, STEPS, false, &st), 0);
    /* another search: what is left of the journal is void, and written again */
    assert_int_equal(go(STEPS, 2, false, &st), 2 * JOBS);
    assert_int_equal(st, GPM_OK);
    assert_int_equal(go(STEPS, STEPS, false, &st), 2 * JOBS);
}

/* The head as another build of this version wrote it: its first number is the format. */
static void test_format(void **state) {
    enum { CODED = OWN_CODE + 7, RECORD = CODED + 4 * sizeof(uint64_t) };
    struct buf path = BUF_INIT, file = BUF_INIT, head = BUF_INIT, why = BUF_INIT;
    enum gpm_status st;
    journal_remove(folder);
    assert_int_equal(go(1, 1, false, &st), JOBS);
    buf_printf(&path, "%s/" JOURNAL_NAME, folder);
    assert_true(journal_head(folder, &head, &why));
    assert_string_equal(head.data, "what was asked for");
    assert_int_equal(file_read(path.data, FILE_OURS, 1 << 20, &file), GPM_OK);
    uint64_t size;
    memcpy(&size, file.data + CODED, sizeof size);
    file.data[RECORD]++;
    assert_true(own_code(file.data + CODED, RECORD - CODED + size, file.data));
    assert_int_equal(file_write(path.data, FILE_OURS, file.data, file.len), GPM_OK);
    assert_false(journal_head(folder, &head, &why));
    assert_non_null(strstr(why.data, "another build"));
    assert_int_equal(go(1, 1, false, &st), JOBS);
    assert_int_equal(go(1, 1, false, &st), 0);
    buf_release(&path);
    buf_release(&file);
    buf_release(&head);
    buf_release(&why);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_format)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
