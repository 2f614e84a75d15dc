/* SPDX-License-Identifier: Apache-2.0
 * See runner.h. */
#include "source/runner.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"

struct runner *runner_new(struct memo *store, int jobs, bool abandon) {
    struct runner *r = NEW(struct runner);
    r->store = store;
    r->abandon = abandon;
    r->pool = proc_pool_new(jobs);
    return r;
}

void runner_hold(struct runner *r, int64_t id, size_t tag) {
    struct runner_claim c = {id, tag, clock_seconds()};
    vec_push(&r->open, c);
}

void runner_start(struct runner *r, const struct proc_command *c, const char *const *values,
                  int64_t id, size_t tag) {
    runner_hold(r, id, tag);
    proc_pool_start(r->pool, c, values, (int64_t)tag);
}

void outcome_put(struct outcome *o, const struct proc_outputs *names, const double *values) {
    buf_putc(&o->outputs, '{');
    for (int i = 0; i < names->n; i++) JSON(&o->outputs, FIELD(names->names[i], values[i]));
    buf_putc(&o->outputs, '}');
}

void outcome_steps(struct outcome *o, const char *steps, bool stopped) {
    if (o->outputs.len)
        o->outputs.data[--o->outputs.len] = 0; /* the bracket */
    else
        buf_putc(&o->outputs, '{');
    json_key(&o->outputs, "steps");
    buf_printf(&o->outputs, "[%s]", steps);
    if (stopped) JSON(&o->outputs, FIELD("stopped", stopped));
    buf_putc(&o->outputs, '}');
}

void outcome_release(struct outcome *o) {
    buf_release(&o->why);
    buf_release(&o->outputs);
}

static enum gpm_status give_back(struct runner *r, int64_t id, struct buf *err) {
    return r->abandon ? memo_abandon(r->store, id, err) : memo_unclaim(r->store, id, err);
}

enum gpm_status runner_settle(struct runner *r, struct outcome *o, struct buf *err) {
    size_t i = 0;
    while (r->open.at[i].tag != o->tag) i++; /* it was held */
    int64_t id = r->open.at[i].id;
    vec_swap_out(&r->open, i);
    if (!r->store) return GPM_OK;
    if (o->nothing) return give_back(r, id, err);
    return memo_finish(r->store, id, o->y, o->outputs.data, o->ok ? NULL : o->why.data, o->seconds,
                       &o->y, err);
}

enum gpm_status runner_renew(struct runner *r, struct buf *err) {
    double t = clock_seconds();
    enum gpm_status s = GPM_OK;
    for (size_t i = 0; r->store && i < r->open.n && !s; i++) {
        if (t < r->open.at[i].renewed + r->store->claim_seconds / 10) continue;
        r->open.at[i].renewed = t;
        s = memo_renew(r->store, r->open.at[i].id, err);
    }
    return s;
}

enum gpm_status runner_wait(struct runner *r, double seconds, const volatile sig_atomic_t *stop,
                            bool *got, struct outcome *o, struct buf *err) {
    struct proc_result p;
    int64_t tag;
    enum gpm_status s = GPM_OK;
    proc_result_init(&p);
    *got = proc_pool_wait(r->pool, seconds, stop, &tag, &p);
    if (*got) {
        *o = (struct outcome){.tag = (size_t)tag,
                              .ok = p.outcome == PROC_OK,
                              .unread = p.outcome == PROC_GARBAGE,
                              .nothing = proc_says_nothing(&p),
                              .y = p.value,
                              .seconds = p.seconds,
                              .why = BUF_INIT,
                              .outputs = BUF_INIT};
        if (o->ok && p.values) outcome_put(o, p.outputs, p.values);
        if (o->ok && p.steps.len) outcome_steps(o, p.steps.data, p.stopped);
        if (!o->ok) proc_result_text(&p, &o->why);
        s = runner_settle(r, o, err);
    }
    proc_result_release(&p);
    return s ? s : runner_renew(r, err);
}

enum gpm_status runner_end(struct runner *r, struct buf *err) {
    enum gpm_status first = GPM_OK;
    proc_pool_free(r->pool);
    for (size_t i = 0; r->store && i < r->open.n; i++) {
        enum gpm_status s = give_back(r, r->open.at[i].id, err);
        if (!first) first = s;
    }
    vec_release(&r->open);
    mem_free(r);
    return first;
}
