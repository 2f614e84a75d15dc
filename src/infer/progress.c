/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "infer/progress.h"
#include <time.h>

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

void progress_begin(struct progress_loop *p, struct infer_state *x, double rounds) {
    *p = (struct progress_loop){x, rounds, x->progress.report && !x->progress.busy};
    if (!p->counts) return;
    x->progress.busy = true;
    x->progress.started = x->progress.said = now();
}

/* "hyper 43%, default 21%" */
static void acceptance_text(const struct infer_state *x, struct buf *out) {
    for (size_t i = 0; i < x->n_stats; i++) {
        const struct scope_stats *s = &x->stats[i];
        if (!s->proposed) continue;
        if (out->len) buf_puts(out, ", ");
        if (s->scope.tag == V_STR) {
            buf_puts(out, s->scope.u.str->text);
        } else {
            value_print(s->scope, out);
        }
        buf_printf(out, " %.0f%%", 100.0 * (double)s->accepted / (double)s->proposed);
    }
}

void progress_step(struct progress_loop *p, double done) {
    if (!p->counts) return;
    double t = now();
    struct infer_state *x = p->x;
    if (t - x->progress.said < 0.1) return;
    x->progress.said = t;
    struct buf b = BUF_INIT;
    acceptance_text(x, &b);
    x->progress.report(x->progress.user, p->rounds > 0 ? done / p->rounds : 1,
                       t - x->progress.started, b.data);
    buf_release(&b);
}

void progress_end(struct progress_loop *p) {
    if (!p->counts) return;
    p->x->progress.busy = false;
    if (p->x->progress.said > p->x->progress.started) {
        p->x->progress.report(p->x->progress.user, 1, now() - p->x->progress.started, "");
    }
}
