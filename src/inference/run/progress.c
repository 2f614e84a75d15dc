/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "inference/run/progress.h"
#include "base/clock.h"

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

/* Reports at most ten times a second, with the acceptance rates. */
static void report(struct infer_state *x, double share) {
    double t = clock_seconds();
    struct buf b = BUF_INIT;
    if (t - x->progress.said < 0.1) return;
    x->progress.said = t;
    acceptance_text(x, NULL, 0, &b);
    x->progress.report(x->progress.user, share, t - x->progress.started, b.data);
    buf_release(&b);
}

static void pack_round(struct pack *p, void *ctx) {
    pack_double(p, ctx);
}

enum gpm_status progress_loop(struct infer_state *x, double rounds, loop_fn *round, void *ctx) {
    bool counts = x->progress.report && !x->progress.busy; /* the outermost loop, with a listener */
    enum gpm_status st = GPM_OK;
    x->progress.busy |= counts;
    if (counts) x->progress.started = x->progress.said = clock_seconds();
    double i = 0;
    struct waypoint here = {PLACE_LOOP, pack_round, &i, NULL, false};
    bool resumed = place_enter(x->core, &here);
    for (; i < rounds && st == GPM_OK; i++, resumed = false) {
        if (counts) report(x, i / rounds);
        if (!resumed) st = place_point(x->core, &here, x->at);
        if (st == GPM_OK) st = round(ctx, i);
    }
    place_leave(x->core, &here);
    if (!counts) return st;
    x->progress.busy = false;
    if (x->progress.said > x->progress.started)
        x->progress.report(x->progress.user, 1, clock_seconds() - x->progress.started, "");
    return st;
}

struct repeated {
    struct infer_state *x;
    value action;
    round_fn *each;
    void *ctx;
};

static enum gpm_status run_once(void *ctx, double i) {
    struct repeated *r = ctx;
    value v;
    r->x->core->dropping = !r->each;
    place_hand(r->x->core);
    enum gpm_status st = action_run(r->x->core, r->action, r->x->at, &v);
    if (st != GPM_OK) return st;
    if (r->each) st = r->each(r->ctx, i, v);
    value_unref(v);
    return st;
}

enum gpm_status progress_repeat(struct infer_state *x, double rounds, value action, round_fn *each,
                                void *ctx) {
    struct repeated r = {x, action, each, ctx};
    return progress_loop(x, rounds, run_once, &r);
}
