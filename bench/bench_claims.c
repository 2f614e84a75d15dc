/* SPDX-License-Identifier: Apache-2.0
 *
 * One client of a store: claims points of its own and stores their values as fast as it can.
 * bench_claims STORE NUMBER SECONDS prints how many; bench/stores.py runs several at once. */
#include "base/clock.h"
#include "io/store/memo.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 4) {
        printf("bench_claims STORE NUMBER SECONDS is run by bench/stores.py\n");
        return 0;
    }
    struct memo_options opt = {.function = "f", .dim = 1};
    struct buf err = BUF_INIT;
    struct memo *m;
    enum gpm_status s = memo_open(&m, argv[1], &opt, &err);
    double end = clock_seconds() + atof(argv[3]), x = 1e6 * atof(argv[2]), stored;
    long n = 0;
    struct memo_claim c;
    for (; !s && clock_seconds() < end; n++, x++) {
        s = memo_claim(m, &x, &c, &err);
        if (!s) s = memo_finish(m, c.id, x, NULL, NULL, 0, &stored, &err);
    }
    if (s)
        fprintf(stderr, "%s\n", err.data);
    else
        memo_close(m);
    printf("%ld\n", n);
    buf_release(&err);
    return s ? 1 : 0;
}
