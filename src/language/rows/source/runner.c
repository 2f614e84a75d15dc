/* SPDX-License-Identifier: Apache-2.0
 * See runner.h. */
#include "language/rows/source/runner.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

struct runner *runner_new(struct memo *store, int jobs, bool abandon) {
    struct runner *r = NEW(struct runner);
    r->store = store;
    r->abandon = abandon;
    r->pool = proc_pool_new(jobs);
    return r;
}

void runner_hold(struct runner *r, int64_t id, const double *x, size_t tag) {
    struct runner_claim c = {id, NULL, tag, clock_seconds()};
    if (r->store) {
        c.x = NEW_ARRAY(double, (size_t)r->store->dim);
        memcpy(c.x, x, sizeof *x * (size_t)r->store->dim);
    }
    vec_push(&r->open, c);
}

void runner_start(struct runner *r, const struct proc_command *c, const char *const *values,
                  int64_t id, const double *x, size_t tag) {
    runner_hold(r, id, x, tag);
    proc_pool_start(r->pool, c, values, (int64_t)tag);
}

void outcome_put(struct outcome *o, const struct proc_outputs *names, const double *values) {
    buf_putc(&o->outputs, '{');
    for (int i = 0; i < names->n; i++) JSON(&o->outputs, FIELD(names->names[i], values[i]));
    buf_putc(&o->outputs, '}');
}

/* What was told on the way ([step, value], ..), beside them. */
static void outcome_steps(struct outcome *o, const char *steps, bool stopped) {
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
    enum gpm_status s = GPM_OK;
    while (r->open.at[i].tag != o->tag) i++; /* it was held */
    struct runner_claim c = r->open.at[i];
    vec_swap_out(&r->open, i);
    if (r->store && o->nothing)
        s = give_back(r, c.id, err);
    else if (r->store)
        s = memo_finish(r->store, c.id, o->y, o->outputs.data, o->ok ? NULL : o->why.data,
                        o->seconds, &o->y, err);
    bool gone = s == GPM_E_NOT_FOUND; /* its row was deleted meanwhile */
    if (s && !gone && o->ok)
        memo_keep_value(r->store, c.id, c.x, o->y, o->outputs.data, o->seconds, err);
    r->failed = r->failed || s;
    mem_free(c.x);
    return s;
}

void runner_renew(struct runner *r) {
    double t = clock_seconds();
    struct buf ignored = BUF_INIT;
    for (size_t i = 0; r->store && i < r->open.n; i++) {
        if (t < r->open.at[i].renewed + r->store->claim_seconds / 10) continue;
        r->open.at[i].renewed = t;
        (void)!memo_renew(r->store, r->open.at[i].id, &ignored);
    }
    buf_release(&ignored);
}

static enum gpm_status take_one(struct runner *r, double seconds, const volatile sig_atomic_t *stop,
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
    return s;
}

enum gpm_status runner_wait(struct runner *r, double seconds, const volatile sig_atomic_t *stop,
                            bool *got, struct outcome *o, struct buf *err) {
    enum gpm_status s = take_one(r, seconds, stop, got, o, err);
    if (!s) runner_renew(r);
    return s;
}

/* What ended while the store was waited for. */
static void keep_ended(struct runner *r, struct buf *err) {
    struct outcome o;
    bool got = true;
    while (got) {
        struct buf why = BUF_INIT;
        (void)!take_one(r, 0, NULL, &got, &o, &why);
        const char *value = strstr(why.data ? why.data : "", "; the value ");
        if (got && value) buf_puts(err, value); /* the reason has been told */
        if (got) outcome_release(&o);
        buf_release(&why);
    }
}

enum gpm_status runner_end(struct runner *r, struct buf *err) {
    enum gpm_status first = GPM_OK;
    if (r->failed) keep_ended(r, err);
    proc_pool_free(r->pool);
    for (size_t i = 0; i < r->open.n; i++) {
        struct buf why = BUF_INIT;
        enum gpm_status s = r->store ? give_back(r, r->open.at[i].id, &why) : GPM_OK;
        if (!first && s && !r->failed) buf_puts(err, why.data); /* else it runs out */
        if (!first && !r->failed) first = s;
        mem_free(r->open.at[i].x);
        buf_release(&why);
    }
    vec_release(&r->open);
    mem_free(r);
    return first;
}
