/* SPDX-License-Identifier: Apache-2.0
 *
 * See evaluations.h. One call of evaluations_fetch is a batch: every point goes missing -> claimed
 * (where there is a store) -> running -> known or failed. A failure does not stop the others, so
 * that nothing that was begun is lost; the first one is raised at the end. */
#include "source/evaluations.h"

#include "base/mem.h"
#include "base/stop.h"
#include "base/vec.h"
#include "source/point_map.h"
#include "source/pool.h"
#include "sp/sp_options.h"
#include "source/srcfn.h"
#include "store/memo.h"
#include "base/clock.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

struct evaluations {
    uint32_t refs; /* copies of a model share what is known */
    value f;
    struct srcfn *src; /* borrowed from f; NULL: a procedure of the language */
    char *identity, *path;
    struct memo *store; /* NULL: none, or not open yet */
    int dim;            /* 0: not known yet */
    struct point_map known;
};

enum { RENEW_SECONDS = 120 };

/* ---- the table in memory ------------------------------------------------------------------ */

static struct point_entry *find(const struct evaluations *e, const double *x) {
    return point_map_find(&e->known, x, e->dim);
}

static void learn(struct evaluations *e, const double *x, double y) {
    if (!find(e, x)) point_map_add(&e->known, x, e->dim, y);
}

static void *evaluations_copy(void *state, const struct sp_aaa *aaa) {
    UNUSED(aaa);
    ((struct evaluations *)state)->refs++;
    return state;
}

static void evaluations_free(void *state) {
    struct evaluations *e = state;
    if (--e->refs) return;
    point_map_release(&e->known);
    memo_close(e->store);
    mem_free(e->identity);
    mem_free(e->path);
    value_unref(e->f);
    mem_free(e);
}

/* ---- the table on disk -------------------------------------------------------------------- */

static enum gpm_status store_error(struct sp_call *c, struct buf *err) {
    enum gpm_status st = sp_error(c, DIAG_STORE, "%s", err->data);
    buf_release(err);
    return st;
}

static enum gpm_status set_dim(struct sp_call *c, struct evaluations *e, int dim) {
    if (e->dim && e->dim != dim)
        return sp_error(c, DIAG_GP_DIMENSION, "the source function takes %d number%s, got %d",
                        e->dim, e->dim == 1 ? "" : "s", dim);
    e->dim = dim;
    if (!e->path || e->store) return GPM_OK;
    struct memo_options opt;
    struct buf err = BUF_INIT;
    memo_options_init(&opt);
    opt.function = e->identity;
    opt.dim = dim;
    struct buf names = BUF_INIT; /* a command says what its inputs are called */
    bool named = e->src && e->src->cls == &srcfn_command;
    for (int i = 0; named && i < dim; i++)
        buf_printf(&names, "%s%s", i ? "," : "", e->src->u.command.names[i]);
    if (named) opt.names = names.data;
    enum gpm_status st = memo_open(&e->store, e->path, &opt, &err);
    buf_release(&names);
    if (st == GPM_OK) {
        buf_release(&err);
        return GPM_OK;
    }
    e->store = NULL;
    return store_error(c, &err);
}

/* ---- one batch ---------------------------------------------------------------------------- */

struct batch {
    struct sp_call *c;
    struct evaluations *e;
    const double *x;
    size_t n;
    int64_t *id; /* rows claimed, 0: none */
    double *begun;
    VEC(size_t) todo, busy;
    const volatile sig_atomic_t *stop;
    bool failed, raised; /* raised: a diagnostic is on the list already */
    size_t failed_at;
    struct buf why;
    enum gpm_status st; /* of the store */
    struct buf err;
};

static const double *point(const struct batch *b, size_t i) {
    return b->x + i * (size_t)b->e->dim;
}

static bool stopped(const struct batch *b) {
    return stop_asked(b->stop);
}

static void note_failure(struct batch *b, size_t i, const char *why) {
    if (b->failed && b->failed_at < i) return;
    b->failed = true;
    b->failed_at = i;
    buf_reset(&b->why);
    buf_puts(&b->why, why);
}

/* Is point i ours to evaluate? Known, failed and busy ones are dealt with here. */
static bool claim(struct batch *b, size_t i) {
    if (find(b->e, point(b, i))) return false;
    if (!b->e->store) return true;
    struct memo_claim got;
    struct buf text = BUF_INIT;
    b->st = memo_claim(b->e->store, point(b, i), false, &got, &text);
    if (b->st != GPM_OK)
        buf_puts(&b->err, text.data);
    else if (got.state == MEMO_KNOWN)
        learn(b->e, point(b, i), got.y);
    else if (got.state == MEMO_KNOWN_FAILED) {
        buf_printf(&text, "\n(it failed before; `gpmem memo rm %s %lld` lets it be tried again)",
                   b->e->path, (long long)got.id);
        note_failure(b, i, text.data);
    } else if (got.state == MEMO_BUSY)
        vec_push(&b->busy, i);
    else
        b->id[i] = got.id;
    bool ours = b->st == GPM_OK && got.state == MEMO_OURS;
    buf_release(&text);
    return ours;
}

static void finish(struct batch *b, size_t i, bool ok, double y, const char *why, double seconds) {
    struct evaluations *e = b->e;
    if (e->store) {
        double stored = y;
        b->st = ok ? memo_finish(e->store, b->id[i], y, seconds, &stored, &b->err)
                   : memo_fail(e->store, b->id[i], why, seconds, &b->err);
        b->id[i] = 0;
        y = stored;
    }
    if (b->st != GPM_OK) return;
    if (ok)
        learn(e, point(b, i), y);
    else
        note_failure(b, i, why);
}

static void give_back(struct batch *b) {
    struct buf ignored = BUF_INIT;
    for (size_t i = 0; b->e->store && i < b->n; i++)
        if (b->id[i] && memo_unclaim(b->e->store, b->id[i], &ignored) != GPM_OK) continue;
    buf_release(&ignored);
}

/* Points that others are evaluating come back after a while. */
static void wait_for_others(struct batch *b) {
    struct timespec pause = {0, 50 * 1000 * 1000};
    nanosleep(&pause, NULL);
    for (size_t k = 0; k < b->busy.n; k++) vec_push(&b->todo, b->busy.at[k]);
    vec_clear(&b->busy);
}

static void renew(struct batch *b, double t) {
    for (size_t i = 0; b->e->store && i < b->n && b->st == GPM_OK; i++) {
        if (!b->id[i] || t < b->begun[i] + RENEW_SECONDS) continue;
        b->begun[i] = t;
        b->st = memo_renew(b->e->store, b->id[i], &b->err);
    }
}

static void start_some(struct batch *b, struct proc_pool *pool) {
    while (b->todo.n && !proc_pool_full(pool) && b->st == GPM_OK && !stopped(b)) {
        size_t i = vec_pop(&b->todo);
        if (!claim(b, i)) continue;
        char **texts = srcfn_texts(point(b, i), b->e->dim);
        b->begun[i] = clock_seconds();
        proc_pool_start(pool, &b->e->src->u.command, (const char *const *)texts, (int64_t)i);
        srcfn_texts_free(texts, b->e->dim);
    }
}

static void collect_one(struct batch *b, struct proc_pool *pool) {
    struct proc_result r;
    int64_t tag;
    proc_result_init(&r);
    if (proc_pool_wait(pool, b->busy.n ? 0.2 : 10, b->stop, &tag, &r) &&
        r.outcome != PROC_INTERRUPTED) {
        struct buf why = BUF_INIT;
        if (r.outcome != PROC_OK) srcfn_failure_text(&r, &why);
        if (proc_says_nothing(&r))
            note_failure(b, (size_t)tag, why.data); /* give_back returns the claim */
        else
            finish(b, (size_t)tag, r.outcome == PROC_OK, r.value, why.data, r.seconds);
        buf_release(&why);
    }
    proc_result_release(&r);
}

/* Programs: as many at a time as the session's jobs say. */
static void run_programs(struct batch *b, int jobs) {
    struct proc_pool *pool = proc_pool_new(jobs);
    while (b->st == GPM_OK && !stopped(b)) {
        start_some(b, pool);
        if (proc_pool_running(pool))
            collect_one(b, pool);
        else if (b->busy.n)
            wait_for_others(b);
        else if (!b->todo.n)
            break;
        renew(b, clock_seconds());
    }
    proc_pool_free(pool);
}

/* Functions that said so: in as many threads. Those under way cannot be stopped; what they give is
 * kept. */
static void run_threads(struct batch *b, int jobs) {
    struct source_pool *pool = source_pool_new(b->e->src, jobs);
    while (b->st == GPM_OK) {
        while (b->todo.n && !source_pool_full(pool) && b->st == GPM_OK && !stopped(b)) {
            size_t i = vec_pop(&b->todo);
            if (!claim(b, i)) continue;
            b->begun[i] = clock_seconds();
            source_pool_start(pool, point(b, i), i);
        }
        struct source_result r;
        if (source_pool_wait(pool, b->busy.n ? 0.2 : 10, &r)) {
            finish(b, r.tag, r.ok, r.y, r.why.data, r.seconds);
            buf_release(&r.why);
        } else if (!source_pool_running(pool)) {
            if (stopped(b) || (!b->todo.n && !b->busy.n)) break;
            if (b->busy.n) wait_for_others(b);
        }
        renew(b, clock_seconds());
    }
    source_pool_free(pool);
}

static bool evaluate_here(struct batch *b, size_t i, double *y, struct buf *why) {
    struct evaluations *e = b->e;
    if (e->src) return e->src->cls->evaluate(e->src, point(b, i), y, b->stop, why) == GPM_OK;
    value arg = e->dim == 1 ? value_num(point(b, i)[0]) : value_vector(point(b, i), (size_t)e->dim);
    value v;
    size_t before = b->c->diags->list.n;
    if (b->c->host->apply(b->c->host, e->f, &arg, 1, &v) != GPM_OK) {
        value_unref(arg);
        b->raised = true;
        struct diags *d = b->c->diags;
        buf_puts(why, d->list.n > before ? d->list.at[d->list.n - 1]->message : "it failed");
        return false;
    }
    value_unref(arg);
    bool ok = v.tag == V_NUM && isfinite(v.u.num);
    if (ok)
        *y = v.u.num;
    else {
        char *shown = sp_show(v);
        buf_printf(why, "it gave %s, not a number", shown);
        mem_free(shown);
    }
    value_unref(v);
    return ok;
}

/* Everything else runs in this thread, one after the other. */
static void run_here(struct batch *b) {
    while (b->st == GPM_OK && !stopped(b) && (b->todo.n || b->busy.n)) {
        if (!b->todo.n) {
            wait_for_others(b);
            continue;
        }
        size_t i = vec_pop(&b->todo);
        if (!claim(b, i)) continue;
        struct buf why = BUF_INIT;
        double y = NAN, t = clock_seconds();
        bool ok = evaluate_here(b, i, &y, &why);
        if (ok || !stopped(b)) finish(b, i, ok, y, why.data, clock_seconds() - t);
        buf_release(&why);
        if (b->raised) break;
    }
}

/* Missing points, each once. They are taken from the end of the list: the first go first. */
static void list_missing(struct batch *b) {
    struct point_map seen = {0};
    for (size_t i = 0; i < b->n; i++) {
        if (find(b->e, point(b, i)) || point_map_find(&seen, point(b, i), b->e->dim)) continue;
        point_map_add(&seen, point(b, i), b->e->dim, 0);
        vec_push(&b->todo, i);
    }
    for (size_t i = 0, j = b->todo.n; i + 1 < j; i++) {
        size_t t = b->todo.at[i];
        b->todo.at[i] = b->todo.at[--j];
        b->todo.at[j] = t;
    }
    point_map_release(&seen);
}

static enum gpm_status outcome(struct batch *b) {
    struct sp_call *c = b->c;
    if (b->st != GPM_OK) return sp_error(c, DIAG_STORE, "%s", b->err.data);
    if (b->raised) return GPM_E_USER;
    if (b->failed)
        return srcfn_failed(c, b->e->identity, point(b, b->failed_at), b->e->dim, b->why.data);
    if (stopped(b)) return sp_error(c, DIAG_INTERRUPTED, "interrupted; what was done is kept");
    return GPM_OK;
}

enum gpm_status evaluations_fetch(struct sp_call *c, struct evaluations *e, const double *x,
                                  size_t n, int dim) {
    enum gpm_status st = set_dim(c, e, dim);
    if (st != GPM_OK) return st;
    struct sp_options *o = c->host ? c->host->options : NULL;
    double *points = NEW_ARRAY(double, n *(size_t)dim + 1);
    for (size_t i = 0; i < n * (size_t)dim; i++) points[i] = x[i] + 0.0; /* -0 is 0 */
    struct batch b = {.c = c, .e = e, .x = points, .n = n, .stop = o ? o->stop : NULL};
    buf_init(&b.why);
    buf_init(&b.err);
    b.id = mem_zalloc((n + 1) * sizeof *b.id);
    b.begun = mem_zalloc((n + 1) * sizeof *b.begun);
    list_missing(&b);
    if (b.todo.n && e->src && e->src->cls == &srcfn_command)
        run_programs(&b, o ? (int)o->jobs : 1);
    else if (b.todo.n > 1 && e->src && e->src->parallel && o && o->jobs > 1)
        run_threads(&b, o->jobs < b.todo.n ? (int)o->jobs : (int)b.todo.n);
    else
        run_here(&b);
    give_back(&b);
    st = outcome(&b);
    vec_release(&b.todo);
    vec_release(&b.busy);
    buf_release(&b.why);
    buf_release(&b.err);
    mem_free(b.id);
    mem_free(b.begun);
    mem_free(points);
    return st;
}

/* ---- as a procedure ----------------------------------------------------------------------- */

static enum gpm_status apply_known(struct sp_call *c, value *out) {
    struct evaluations *e = c->state;
    double one, *x = &one;
    size_t n = 1;
    if (c->args[0].tag == V_NUM)
        one = c->args[0].u.num;
    else if (!seq_numbers(c->args[0], &x, &n))
        return sp_error(c, DIAG_TYPE, "a source function takes numbers, got a %s",
                        value_type_name(c->args[0]));
    for (size_t i = 0; i < n; i++) x[i] += 0.0; /* -0 is 0 */
    enum gpm_status st = evaluations_fetch(c, e, x, 1, (int)n);
    if (st == GPM_OK) *out = value_num(find(e, x)->y);
    if (x != &one) mem_free(x);
    return st;
}

static const struct sp_state_class evaluations_state = {.copy = evaluations_copy,
                                                        .free = evaluations_free};
static const struct sp_class evaluations_row = {.name = "remembered source function",
                                                .sig = "(x: any) -> number",
                                                .doc = "A source function and its known values.",
                                                .simulate = apply_known};

struct evaluations *evaluations_of(value v) {
    struct sp_made *m = sp_made_of(v);
    return m && m->cls == &evaluations_row ? m->state->data : NULL;
}

static char *identity_of(struct sp_call *c, value f, const struct srcfn *src) {
    if (src) return mem_strdup(src->identity);
    struct buf b = BUF_INIT;
    if (c->host && c->host->describe)
        c->host->describe(c->host, f, &b);
    else
        value_print(f, &b);
    return buf_take(&b);
}

/* A store is a file that the program names: it may be written when the user lets programs write
 * files, or run others (which could write it anyway). */
static enum gpm_status may_store(struct sp_call *c, const char *path) {
    struct sp_options *o = c->host ? c->host->options : NULL;
    struct buf what = BUF_INIT;
    if (o && o->allow_run) return GPM_OK;
    buf_printf(&what, "keep values in %s", path);
    enum gpm_status st = sp_need(c, SP_MAY_WRITE, what.data);
    buf_release(&what);
    return st;
}

value evaluations_value(struct sp_call *c, value f, const char *store, int dim) {
    if (store && may_store(c, store) != GPM_OK) return NIL;
    struct evaluations *e = NEW(struct evaluations);
    e->refs = 1;
    e->f = value_ref(f);
    e->src = srcfn_of(f);
    e->identity = identity_of(c, f, e->src);
    if (store) e->path = srcfn_path(c, store);
    struct sp_state *state = sp_state_new(&evaluations_state, e);
    value v = sp_made_value(&evaluations_row, state);
    sp_state_unref(state);
    int known = e->src ? e->src->dim : dim;
    if (dim && known != dim)
        sp_error(c, DIAG_GP_DIMENSION, "the source function takes %d number%s, dim= says %d", known,
                 known == 1 ? "" : "s", dim);
    else if (!known || set_dim(c, e, known) == GPM_OK)
        return v;
    value_unref(v);
    return NIL;
}
