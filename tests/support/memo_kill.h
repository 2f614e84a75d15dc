/* SPDX-License-Identifier: Apache-2.0
 * Workers on one store, killed at random moments: the checks shared by the short and the long run.
 * Each worker writes "E i" before it evaluates point i and "U i y" after memo_finish returned; the
 * writes are atomic appends. After every kill the store must open and hold every used value, and
 * no point that was done before may be evaluated after. */
#ifndef SUPPORT_MEMO_KILL_H
#define SUPPORT_MEMO_KILL_H
#include "support/check.h"
#include "support/tmp.h"

#include "io/store/memo.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_POINTS 2000
static unsigned char kill_done[KILL_POINTS]; /* done at the last look */

static void kill_log(int fd, const char *fmt, int i, double y) {
    char line[64];
    int n = snprintf(line, sizeof line, fmt, i, y);
    if (write(fd, line, (size_t)n) != n) _exit(3);
}

static void kill_nap(long microseconds) {
    struct timespec t = {0, microseconds * 1000};
    nanosleep(&t, NULL);
}

/* One worker: goes through all points until each is done. */
static void kill_worker(const char *db, const char *log, int nap) {
    struct memo_options opt;
    struct buf err = BUF_INIT;
    struct memo *m;
    opt = (struct memo_options){0};
    opt.function = "f";
    opt.dim = 1;
    if (!nap && getenv("GPMEM_TEST_SERVER")) opt.claim_seconds = 0.3; /* nobody knows who died */
    int fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (memo_open(&m, db, &opt, &err)) {
        dprintf(2, "worker: %s\n", err.data);
        _exit(2);
    }
    for (int left = 1; left;) {
        left = 0;
        for (int i = 0; i < KILL_POINTS; i++) {
            struct memo_claim c;
            double x = i, stored;
            if (memo_claim(m, &x, &c, &err)) _exit(4);
            if (c.state == MEMO_BUSY) left = 1;
            if (c.state != MEMO_OURS) continue;
            kill_log(fd, "E %d %g\n", i, 0);
            if (nap) kill_nap(nap);
            if (memo_finish(m, c.id, x * x, NULL, NULL, 0, &stored, &err)) _exit(5);
            kill_log(fd, "U %d %.17g\n", i, stored);
        }
        if (left) kill_nap(2000);
    }
    memo_close(m);
    _exit(0);
}

static bool kill_note_done(const struct memo_row *r, void *user) {
    int i = (int)r->x[0];
    if (r->status != MEMO_DONE || r->y != r->x[0] * r->x[0] || r->rep) return true;
    kill_done[i] = 1;
    ++*(int *)user;
    return true;
}

/* Looks at the store and at the log from *at on; returns the number of done points. */
static int kill_check(const char *db, const char *log, long *at) {
    struct memo_options opt;
    struct buf err = BUF_INIT;
    struct memo *m;
    int n = 0;
    opt = (struct memo_options){0};
    opt.function = "f"; /* a kill may come before the table was made */
    opt.dim = 1;
    FILE *f = fopen(log, "r");
    char kind;
    int i;
    double y;
    unsigned char before[KILL_POINTS];
    memcpy(before, kill_done, sizeof before);
    enum gpm_status s = memo_open(&m, db, &opt, &err);
    if (s) print_error("%s\n", err.data);
    assert_int_equal(s, GPM_OK);
    assert_int_equal(memo_each(m, -1, kill_note_done, &n, &err), GPM_OK);
    memo_close(m);
    if (!f) return n;
    fseek(f, *at, SEEK_SET);
    while (fscanf(f, " %c %d %lf", &kind, &i, &y) == 3) {
        if (kind == 'E')
            assert_false(before[i]);
        else
            assert_true(kill_done[i] && y == (double)i * i);
    }
    *at = ftell(f);
    fclose(f);
    buf_release(&err);
    return n;
}

static void kill_run(int kills, int workers, int nap) {
    char db[256], log[256];
    long at = 0;
    int done = 0, killed = 0;
    unsigned long long rng = 12345;
    snprintf(db, sizeof db, "%s", store_path("kill.db"));
    snprintf(log, sizeof log, "%s", tmp_path("kill.log"));
    while (killed < kills || done < KILL_POINTS) {
        pid_t pid[8];
        for (int w = 0; w < workers; w++)
            if ((pid[w] = fork()) == 0) kill_worker(db, log, nap);
        rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
        bool last = killed >= kills;
        if (!last) kill_nap(2000 + (long)(rng >> 33) % 30000);
        for (int w = 0; w < workers; w++) {
            int status;
            if (!last) kill(pid[w], SIGKILL);
            waitpid(pid[w], &status, 0);
            if (!last && WIFSIGNALED(status))
                killed++;
            else if (status)
                print_error("worker ended with status %d\n", WEXITSTATUS(status));
            assert_true(WIFSIGNALED(status) || status == 0);
        }
        done = kill_check(db, log, &at);
        if (done == KILL_POINTS && killed < kills) { /* finished too soon: start over */
            char name[32];
            snprintf(name, sizeof name, "kill-%d.db", killed);
            unlink(db);
            if (getenv("GPMEM_TEST_SERVER")) snprintf(db, sizeof db, "%s", store_path(name));
            unlink(log);
            unlink(tmp_path("kill.db-wal"));
            unlink(tmp_path("kill.db-shm"));
            memset(kill_done, 0, sizeof kill_done);
            at = 0;
        }
    }
    assert_int_equal(done, KILL_POINTS);
    print_message("%d kills, %d points, every used value kept, none evaluated again\n", killed,
                  KILL_POINTS);
}
#endif
