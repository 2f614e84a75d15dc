/* SPDX-License-Identifier: Apache-2.0
 * The memo table on disk: rows, identity, versions, and what happens when the disk says no. */
#include "support/check.h"
#include "support/tmp.h"

#include "io/store/memo_priv.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct memo *open_store(const char *name, const char *function, int dim) {
    struct memo_options opt;
    struct buf err = BUF_INIT;
    struct memo *m = NULL;
    opt = (struct memo_options){0};
    opt.function = function;
    opt.dim = dim;
    enum gpm_status s = memo_open(&m, store_path(name), &opt, &err);
    if (s) print_error("%s\n", err.data);
    assert_int_equal(s, GPM_OK);
    buf_release(&err);
    return m;
}

/* Opens and expects a failure whose message holds `words`. */
static void expect_refused(const char *name, const struct memo_options *opt, enum gpm_status want,
                           const char *words) {
    struct buf err = BUF_INIT;
    struct memo *m = NULL;
    assert_int_equal(memo_open(&m, store_path(name), opt, &err), want);
    assert_null(m);
    if (!strstr(err.data, words)) print_error("message: %s\n", err.data);
    assert_non_null(strstr(err.data, words));
    buf_release(&err);
}

static double eval_store(struct memo *m, const double *x, double y) {
    struct memo_claim c;
    struct buf err = BUF_INIT;
    double stored = NAN;
    assert_int_equal(memo_claim(m, x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_OURS);
    assert_int_equal(memo_finish(m, c.id, y, NULL, NULL, 0.5, &stored, &err), GPM_OK);
    buf_release(&err);
    return stored;
}

static void values_come_back_exactly(void **state) {
    struct memo *m = open_store("exact.db", "f", 3);
    struct buf err = BUF_INIT;
    const double xs[][3] = {
        {0.1, -0.0, 1e-310}, {1.0 / 3, 5e307, -7}, {0.1, 0, nextafter(1e-310, 1)}};
    for (int i = 0; i < 3; i++) eval_store(m, xs[i], sqrt(2) * (i + 1));
    memo_close(m);
    m = open_store("exact.db", "f", 3);
    for (int i = 0; i < 3; i++) {
        struct memo_claim known;
        assert_int_equal(memo_claim(m, xs[i], &known, &err), GPM_OK);
        assert_int_equal(known.state, MEMO_KNOWN);
        assert_true(known.y == sqrt(2) * (i + 1));
    }
    double other[3] = {0.1, 0, 1};
    struct memo_claim absent;
    assert_int_equal(memo_claim(m, other, &absent, &err), GPM_OK);
    assert_int_equal(absent.state, MEMO_OURS);
    double bad[3] = {0, NAN, 0};
    assert_int_equal(memo_claim(m, bad, &absent, &err), GPM_E_ARG);
    memo_close(m);
    buf_release(&err);
}

static void claims_exclude_and_expire(void **state) {
    struct memo *m = open_store("claims.db", "f", 1);
    struct buf err = BUF_INIT;
    struct memo_claim c, again;
    double x = 2;
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_OURS);
    assert_int_equal(memo_claim(m, &x, &again, &err), GPM_OK);
    assert_int_equal(again.state, MEMO_BUSY);
    assert_int_equal(memo_unclaim(m, c.id, &err), GPM_OK);
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_OURS);
    memo_close(m);

    struct memo_options opt; /* a claim that lasts no time is void at once */
    opt = (struct memo_options){0};
    opt.claim_seconds = -1;
    assert_int_equal(memo_open(&m, store_path("claims.db"), &opt, &err), GPM_OK);
    x = 3;
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(memo_claim(m, &x, &again, &err), GPM_OK);
    assert_int_equal(again.state, MEMO_OURS);
    assert_int_equal(again.id, c.id);
    /* the first to store decides; the slower one is told */
    double stored;
    assert_int_equal(memo_finish(m, c.id, 10, NULL, NULL, 1, &stored, &err), GPM_OK);
    assert_true(stored == 10);
    assert_int_equal(memo_finish(m, again.id, 11, NULL, NULL, 1, &stored, &err), GPM_OK);
    assert_true(stored == 10);
    assert_int_equal(memo_finish(m, 999, 11, NULL, NULL, 1, &stored, &err), GPM_E_NOT_FOUND);
    assert_int_equal(memo_finish(m, c.id, NAN, NULL, NULL, 1, &stored, &err), GPM_E_ARG);
    memo_close(m);
    buf_release(&err);
}

static void claim_of_a_dead_process_is_offered_again(void **state) {
    pid_t pid = fork();
    if (pid == 0) {
        static struct memo *volatile m; /* dies with it open; leak checkers find it here */
        m = open_store("dead.db", "f", 1);
        struct memo_claim c;
        struct buf err = BUF_INIT;
        double x = 1;
        int s = memo_claim(m, &x, &c, &err);
        _exit(s == GPM_OK && c.state == MEMO_OURS ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    struct memo *m = open_store("dead.db", "f", 1);
    double x = 1;
    eval_store(m, &x, 4);
    memo_close(m);
}

/* A process that lives keeps its claim past its time; once it is dead the claim is taken over with
 * the very same input. */
static void claim_of_a_living_process_is_kept(void **state) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct memo_options opt;
        struct buf err = BUF_INIT;
        struct memo *m;
        struct memo_claim c;
        double x = 0.1;
        opt = (struct memo_options){0};
        opt.function = "f", opt.dim = 1, opt.claim_seconds = -5;
        bool ok = !memo_open(&m, tmp_path("alive.db"), &opt, &err) &&
                  !memo_claim(m, &x, &c, &err) && c.state == MEMO_OURS;
        if (write(ready[1], ok ? "y" : "n", 1) != 1) _exit(1);
        pause();
    }
    char answer = 0;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    struct memo *m = open_store("alive.db", "f", 1);
    struct memo_claim c;
    struct buf err = BUF_INIT;
    double x = 0.1, got = 0;
    bool found = true;
    int64_t id = 0;
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_BUSY);
    assert_int_equal(memo_reclaim(m, &found, &id, &got, &err), GPM_OK);
    assert_false(found);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(memo_reclaim(m, &found, &id, &got, &err), GPM_OK);
    assert_true(found && got == x);
    assert_int_equal(memo_abandon(m, id, &err), GPM_OK); /* and anybody may go on with it */
    assert_int_equal(memo_reclaim(m, &found, &id, &got, &err), GPM_OK);
    assert_true(found);
    memo_close(m);
    buf_release(&err);
}

/* Two machines whose clocks are days apart share a file: a claim that is renewed is kept, one that
 * is silent for as long as it lasts is void, and neither clock has a say. */
static void clocks_of_machines_have_no_say(void **state) {
    enum { DAYS = 2 * 86400 };
    static const struct timespec moment = {.tv_nsec = 50000000};
    for (int ahead = -DAYS; ahead <= DAYS; ahead += DAYS) {
        struct memo_options opt;
        struct memo *there, *here;
        struct memo_claim c, again;
        struct buf err = BUF_INIT, sql = BUF_INIT;
        double x = ahead;
        opt = (struct memo_options){0};
        opt.function = "f", opt.dim = 1, opt.claim_seconds = 0.4;
        assert_int_equal(memo_open(&there, tmp_path("clocks.db"), &opt, &err), GPM_OK);
        assert_int_equal(memo_open(&here, tmp_path("clocks.db"), &opt, &err), GPM_OK);
        mem_free(there->host);
        there->host = mem_strdup("elsewhere");
        assert_int_equal(memo_claim(there, &x, &c, &err), GPM_OK);
        buf_printf(&sql, "UPDATE point SET started=started+%d, expires=expires+%d WHERE status=1",
                   ahead, ahead);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(memo_renew(there, c.id, &err), GPM_OK);
            assert_int_equal(memo_exec(there, sql.data, "", &err), GPM_OK);
            assert_int_equal(memo_claim(here, &x, &again, &err), GPM_OK);
            assert_int_equal(again.state, MEMO_BUSY);
            nanosleep(&moment, NULL);
        }
        int looks = 0;
        for (; looks < 100 && again.state == MEMO_BUSY; looks++) {
            assert_int_equal(memo_claim(here, &x, &again, &err), GPM_OK);
            nanosleep(&moment, NULL);
        }
        assert_int_equal(again.state, MEMO_OURS);
        assert_true(looks > 3);
        assert_int_equal(memo_finish(here, again.id, 1, NULL, NULL, 1, NULL, &err), GPM_OK);
        memo_close(there);
        memo_close(here);
        buf_release(&err);
        buf_release(&sql);
    }
}

static bool collect(const struct memo_row *r, void *user) {
    struct buf *b = user;
    buf_printf(b, "%d/%lld:%s", (int)r->x[0], (long long)r->seq, memo_status_name(r->status));
    if (r->status == MEMO_DONE) buf_printf(b, "=%g", r->y);
    if (r->error[0]) buf_printf(b, "(%s)", r->error);
    if (r->rep) buf_printf(b, "rep%d", r->rep);
    buf_puts(b, r->tag);
    buf_putc(b, ' ');
    return true;
}

static void failures_replicates_asks_and_listing(void **state) {
    struct memo *m = open_store("rows.db", "f", 1);
    struct buf err = BUF_INIT, text = BUF_INIT;
    struct memo_claim c;
    double x = 1;
    int64_t id;
    bool added;
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(memo_finish(m, c.id, NAN, NULL, "signal 11", 0.1, NULL, &err), GPM_OK);
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_KNOWN_FAILED);
    assert_string_equal(err.data, "signal 11");
    x = 2;
    eval_store(m, &x, 20);
    assert_int_equal(memo_new_row(m, &x, false, &id, &err), GPM_OK);
    assert_int_equal(memo_finish(m, id, 21, NULL, NULL, 0, NULL, &err), GPM_OK);
    x = 3;
    assert_int_equal(memo_new_row(m, &x, true, &id, &err), GPM_OK);
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_BUSY);
    assert_int_equal(memo_each(m, -1, collect, &text, &err), GPM_OK);
    assert_string_equal(text.data,
                        "1/1:failed(signal 11) 2/2:done=20 2/3:done=21rep1 3/0:askedask ");
    assert_int_equal(memo_finish(m, id, 30, NULL, NULL, 0, NULL, &err), GPM_OK);
    x = 1; /* a failed point again, this time with success */
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state, MEMO_KNOWN_FAILED);
    assert_int_equal(memo_finish(m, c.id, 10, NULL, NULL, 0, NULL, &err), GPM_OK);
    buf_reset(&text);
    assert_int_equal(memo_each(m, 2, collect, &text, &err), GPM_OK);
    assert_string_equal(text.data, "2/3:done=21rep1 3/4:done=30ask 1/5:done=10 ");
    assert_int_equal(memo_delete(m, id, &err), GPM_OK);
    assert_int_equal(memo_delete(m, id, &err), GPM_E_NOT_FOUND);
    x = 2;
    assert_int_equal(memo_add(m, &x, 20, NULL, NULL, 0, false, &added, &err), GPM_OK);
    assert_int_equal(memo_add(m, &x, 19, NULL, NULL, 0, false, &added, &err), GPM_E_CONFLICT);
    assert_int_equal(memo_add(m, &x, 19, NULL, NULL, 0, true, &added, &err), GPM_OK);
    buf_reset(&text);
    assert_int_equal(memo_row_by_id(m, c.id, collect, &text, &err), GPM_OK);
    assert_string_equal(text.data, "1/5:done=10 ");
    memo_close(m);
    buf_release(&err);
    buf_release(&text);
}

static void another_function_or_dimension_is_refused(void **state) {
    struct memo_options opt;
    memo_close(open_store("id.db", "./sim {x}", 2));
    opt = (struct memo_options){0};
    opt.dim = 2;
    opt.function = "./other {x}";
    expect_refused("id.db", &opt, GPM_E_CONFLICT,
                   "belongs to the function './sim {x}', not to './other {x}'");
    opt.function = "./sim {x}";
    opt.dim = 3;
    expect_refused("id.db", &opt, GPM_E_CONFLICT, "holds a function of 2 inputs, this one has 3");
    opt = (struct memo_options){0}; /* without claims about it, the file's own identity */
    struct memo *m;
    struct buf err = BUF_INIT;
    assert_int_equal(memo_open(&m, store_path("id.db"), &opt, &err), GPM_OK);
    assert_string_equal(m->function, "./sim {x}");
    assert_string_equal(m->names, "x1,x2");
    assert_int_equal(m->dim, 2);
    memo_close(m);
    bool server = getenv("GPMEM_TEST_SERVER");
    expect_refused("nowhere.db", &opt, GPM_E_IO, server ? "No such store" : "No such file");
    if (!server) expect_refused("no/such/folder.db", &opt, GPM_E_IO, "No such file");
    opt.function = "f";
    if (!server) expect_refused(".", &opt, GPM_E_IO, "is a folder");
    buf_release(&err);
}

static void run_sql(const char *name, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(tmp_path(name), &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "gpmem-files"),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void versions_and_strange_files(void **state) {
    struct memo_options opt = {0};
    opt.function = "f";
    opt.dim = 1;
    struct memo *m = open_store("v.db", "f", 1);
    double x = 5;
    eval_store(m, &x, 50);
    memo_close(m);
    /* back to version 2: no outputs; it can be read without writing to it */
    run_sql("v.db", "ALTER TABLE point DROP COLUMN outputs; PRAGMA user_version=2;");
    const struct memo_options look = {.read_only = true};
    struct buf before = BUF_INIT;
    assert_int_equal(memo_open(&m, tmp_path("v.db"), &look, &before), GPM_OK);
    assert_int_equal(memo_each(m, 0, collect, &before, &before), GPM_OK);
    assert_string_equal(before.data, "5/1:done=50 ");
    buf_release(&before);
    memo_close(m);
    /* back to version 1: no tags, no state table either */
    run_sql("v.db", "ALTER TABLE point DROP COLUMN tag; DROP TABLE state; PRAGMA user_version=1;");
    m = open_store("v.db", "f", 1);
    struct buf text = BUF_INIT, err = BUF_INIT;
    assert_int_equal(memo_each(m, 0, collect, &text, &err), GPM_OK);
    assert_string_equal(text.data, "5/1:done=50 ");
    char *value;
    assert_int_equal(memo_get(m, "space", &value, &err), GPM_E_NOT_FOUND);
    assert_int_equal(memo_set(m, "space", "x=0:1", &err), GPM_OK);
    assert_int_equal(memo_get(m, "space", &value, &err), GPM_OK);
    assert_string_equal(value, "x=0:1");
    mem_free(value);
    memo_close(m);
    run_sql("v.db", "PRAGMA user_version=-3;");
    expect_refused("v.db", &opt, GPM_E_FORMAT, "no file version -3");
    run_sql("v.db", "PRAGMA user_version=77;");
    expect_refused("v.db", &opt, GPM_E_FORMAT, "made by a newer gpmem (file version 77");
    tmp_write("text.db", "this is not a database, but it is long enough to be taken for one....\n");
    expect_refused("text.db", &opt, GPM_E_FORMAT, "not a memo table");
    run_sql("alien.db", "CREATE TABLE songs(title TEXT);");
    expect_refused("alien.db", &opt, GPM_E_FORMAT, "of another program");
    buf_release(&text);
    buf_release(&err);
}

/* A damaged page gives an error or the right rows, never wrong ones and never a crash. */
static void damaged_file_is_an_error(void **state) {
    struct memo *m = open_store("broken.db", "f", 1);
    for (int i = 0; i < 300; i++) {
        double x = i;
        eval_store(m, &x, 10 * i);
    }
    memo_close(m);
    FILE *f = fopen(tmp_path("broken.db"), "r+");
    for (long at = 4096; at < 12 * 4096; at += 4096) {
        fseek(f, at, SEEK_SET);
        for (int i = 0; i < 64; i++) fputc(0xAA, f);
    }
    fclose(f);
    struct memo_options opt = {0};
    opt.function = "f";
    opt.dim = 1;
    expect_refused("broken.db", &opt, GPM_E_FORMAT, "damaged");
}

static void full_disk_loses_nothing(void **state) {
    memo_close(open_store("full.db", "f", 1));
    struct memo_options opt;
    struct buf err = BUF_INIT;
    struct memo *m;
    opt = (struct memo_options){0};
    assert_int_equal(memo_open(&m, tmp_path("full.db"), &opt, &err), GPM_OK);
    sqlite3_exec(m->db, "PRAGMA max_page_count=20", NULL, NULL, NULL);
    int stored = 0;
    enum gpm_status s = GPM_OK;
    for (; !s && stored < 100000; stored++) {
        struct memo_claim c;
        double x = stored;
        s = memo_claim(m, &x, &c, &err);
        if (!s) s = memo_finish(m, c.id, 2 * x, NULL, NULL, 0, NULL, &err);
    }
    stored--;
    assert_int_equal(s, GPM_E_IO);
    assert_non_null(strstr(err.data, "the disk is full"));
    assert_true(stored > 100);
    memo_close(m);
    m = open_store("full.db", "f", 1);
    for (int i = 0; i < stored; i++) {
        struct memo_claim known;
        double x = i;
        assert_int_equal(memo_claim(m, &x, &known, &err), GPM_OK);
        assert_int_equal(known.state, MEMO_KNOWN);
        assert_true(known.y == 2 * x);
    }
    double x = stored; /* there is room again */
    struct memo_claim c;
    assert_int_equal(memo_claim(m, &x, &c, &err), GPM_OK);
    assert_int_equal(c.state == MEMO_OURS || c.state == MEMO_BUSY, 1);
    memo_close(m);
    buf_release(&err);
}

/* As a user without write permission (root is not stopped by permissions, so a child drops it). */
static int try_read_only(void) {
    struct memo_options opt;
    struct buf err = BUF_INIT;
    struct memo *m = NULL;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 10;
    opt = (struct memo_options){0};
    if (memo_open(&m, tmp_path("ro.db"), &opt, &err) != GPM_E_IO) return 11;
    if (!strstr(err.data, "read-only") && !strstr(err.data, "cannot be opened")) return 12;
    opt.read_only = true;
    buf_reset(&err);
    if (memo_open(&m, tmp_path("ro.db"), &opt, &err) != GPM_OK) return 13;
    double x = 1;
    struct memo_claim c;
    if (memo_claim(m, &x, &c, &err) || c.state != MEMO_KNOWN || c.y != 7) return 14;
    x = 2;
    if (memo_claim(m, &x, &c, &err) != GPM_E_IO || !strstr(err.data, "read-only")) return 15;
    memo_close(m);
    buf_release(&err);
    return 0;
}

static void read_only_store_reads_and_says_why_not_write(void **state) {
    struct memo *m = open_store("ro.db", "f", 1);
    double x = 1;
    eval_store(m, &x, 7);
    memo_close(m);
    chmod(tmp_path("ro.db"), 0444);
    chmod(tmp_dir, 0555);
    pid_t pid = fork();
    if (pid == 0) _exit(try_read_only());
    int status;
    waitpid(pid, &status, 0);
    chmod(tmp_dir, 0755);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest both[] = {
        cmocka_unit_test(values_come_back_exactly),
        cmocka_unit_test(claims_exclude_and_expire),
        cmocka_unit_test(failures_replicates_asks_and_listing),
        cmocka_unit_test(another_function_or_dimension_is_refused),
    };
    const struct CMUnitTest files[] = {
        cmocka_unit_test(claim_of_a_dead_process_is_offered_again),
        cmocka_unit_test(claim_of_a_living_process_is_kept),
        cmocka_unit_test(clocks_of_machines_have_no_say),
        cmocka_unit_test(versions_and_strange_files),
        cmocka_unit_test(damaged_file_is_an_error),
        cmocka_unit_test(full_disk_loses_nothing),
        cmocka_unit_test(read_only_store_reads_and_says_why_not_write),
    };
    int failed = cmocka_run_group_tests(both, tmp_setup, tmp_teardown);
    if (getenv("GPMEM_TEST_SERVER")) return failed;
    return failed + cmocka_run_group_tests(files, tmp_setup, tmp_teardown);
}
