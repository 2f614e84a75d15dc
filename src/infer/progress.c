/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "infer/progress.h"
#include "base/clock.h"

void progress_begin(struct progress_loop *p, struct infer_state *x, double rounds) {
    *p = (struct progress_loop){x, rounds, x->progress.report && !x->progress.busy};
    if (!p->counts) return;
    x->progress.busy = true;
    x->progress.started = x->progress.said = clock_seconds();
}

void scope_name_text(value scope, struct buf *out) {
    if (scope.tag == V_STR)
        buf_puts(out, scope.u.str->text);
    else
        value_print(scope, out);
}

void acceptance_text(const struct infer_state *x, const struct scope_stats *before, size_t n,
                     struct buf *out) {
    for (size_t i = 0; i < x->n_stats; i++) {
        const struct scope_stats *s = &x->stats[i];
        uint64_t proposed = s->proposed - (i < n ? before[i].proposed : 0);
        uint64_t accepted = s->accepted - (i < n ? before[i].accepted : 0);
        if (!proposed) continue;
        if (out->len) buf_puts(out, ", ");
        scope_name_text(s->scope, out);
        buf_printf(out, " %.0f%%", 100.0 * (double)accepted / (double)proposed);
    }
}

void progress_step(struct progress_loop *p, double done) {
    if (!p->counts) return;
    double t = clock_seconds();
    struct infer_state *x = p->x;
    if (t - x->progress.said < 0.1) return;
    x->progress.said = t;
    struct buf b = BUF_INIT;
    acceptance_text(x, NULL, 0, &b);
    x->progress.report(x->progress.user, p->rounds > 0 ? done / p->rounds : 1,
                       t - x->progress.started, b.data);
    buf_release(&b);
}

void progress_end(struct progress_loop *p) {
    if (!p->counts) return;
    p->x->progress.busy = false;
    if (p->x->progress.said > p->x->progress.started) {
        p->x->progress.report(p->x->progress.user, 1, clock_seconds() - p->x->progress.started, "");
    }
}
