/* SPDX-License-Identifier: Apache-2.0
 * Evaluations of functions of this process: a claim is kept while its function runs. */
#include "support/spcall.h"
#include "support/tmp.h"

#include "base/mem.h"
#include "language/rows/source/evaluations.h"
#include "language/rows/source/srcfn.h"
#include "language/rows/protocol/sp_options.h"
#include "io/store/memo.h"
#include <time.h>

/* Seconds that a claim lasts: longer than a busy machine keeps a thread waiting. */
#define CLAIM 5.0

struct watch {
    const char *path;
    int lost; /* times that another worker could have taken the point */
};

/* Runs for twice as long as its claim lasts, and looks all the time, as another worker would,
 * whether the point may be taken over. */
static int slow(void *user, const double *x, size_t n, double *y, char *err, size_t err_size) {
    struct watch *w = user;
    struct buf why = BUF_INIT;
    struct memo *m;
    struct memo_options opt = {0};
    if (memo_open(&m, w->path, &opt, &why)) {
        snprintf(err, err_size, "%s", why.data);
        buf_release(&why);
        return 1;
    }
    for (int i = 0; i < 30; i++) {
        int64_t id;
        double at;
        bool found = false;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * CLAIM / 15)}, NULL);
        if (memo_reclaim(m, &found, &id, &at, &why)) return 1;
        w->lost += found;
    }
    memo_close(m);
    buf_release(&why);
    *y = 2 * x[0];
    return 0;
}

static void a_claim_is_renewed_while_its_function_runs(void **state) {
    struct watch w = {.path = tmp_path("claims.db")};
    struct sp_options options = {.allow_write = true, .jobs = 1, .claim_seconds = CLAIM};
    struct sp_host host = {.options = &options};
    struct call k;
    call_init(&k, "gpmem", NULL, 0, 1);
    k.c.host = &host;
    struct srcfn *s = srcfn_new(&srcfn_call, mem_strdup("slow"), 1);
    s->u.callback.f = slow;
    s->u.callback.user = &w;
    value f = srcfn_value(s), known = evaluations_value(&k.c, f, w.path, 1);
    assert_int_not_equal(known.tag, V_NIL);
    double x = 3;
    enum gpm_status st = evaluations_fetch(&k.c, evaluations_of(known), &x, 1, 1);
    if (k.diags.list.n) print_error("%s\n", k.diags.list.at[0]->message);
    assert_int_equal(st, GPM_OK);
    assert_int_equal(w.lost, 0);
    value_unref(known);
    value_unref(f);
    call_release(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_is_renewed_while_its_function_runs),
    };
    return cmocka_run_group_tests(tests, tmp_setup, tmp_teardown);
}
