/* SPDX-License-Identifier: Apache-2.0
 *
 * See evaluations.h. One call of evaluations_fetch is a batch. Every point goes missing -> claimed
 * (with a store) -> running -> known or failed. A failure does not stop the others, so started work
 * is not lost; the first failure is raised at the end. */
#include "language/rows/source/evaluations.h"

#include "base/mem.h"
#include "language/value/value_pack.h"
#include "base/stop.h"
#include "base/vec.h"
#include "language/rows/source/point_map.h"
#include "language/rows/source/runner.h"
#include "language/rows/protocol/kernel_value.h"
#include "language/rows/protocol/sp_options.h"
#include "language/rows/source/srcfn.h"
#include "io/store/memo.h"
#include "base/clock.h"
#include "numeric/la/parallel.h"
#include <math.h>
#include <pthread.h>
#include <time.h>

struct evaluations {
    uint32_t refs; /* copies of a model share the known values */
    value f;
    struct srcfn *src; /* borrowed from f; NULL: a procedure of the language */
    char *identity, *path;
    struct memo *store; /* NULL: no store, or not yet open */
    int dim;            /* 0: not yet known */
    struct map known;
};

static bool is_program(const struct evaluations *e) {
    return e->src && e->src->cls == &srcfn_command;
}

/* ---- the table in memory ------------------------------------------------------------------ */

static struct point_entry *find(const struct evaluations *e, const double *x) {
    return point_map_find(&e->known, x, e->dim);
}

static void learn(struct evaluations *e, const double *x, double y) {
    if (!find(e, x)) point_map_add(&e->known, x, e->dim, y);
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

static enum gpm_status set_dim(struct sp_call *c, struct evaluations *e, int dim) {
    if (e->dim && e->dim != dim)
        return sp_error(c, DIAG_GP_DIMENSION, "the source function takes %d number%s, got %d",
                        e->dim, e->dim == 1 ? "" : "s", dim);
    e->dim = dim;
    if (!e->path || e->store) return GPM_OK;
    struct sp_options *o = c->host ? c->host->options : NULL;
    struct memo_options opt = {
        .function = e->identity, .dim = dim, .claim_seconds = o ? o->claim_seconds : 0};
    struct buf err = BUF_INIT, names = BUF_INIT; /* a command gives names to its inputs */
    bool named = is_program(e);
    for (int i = 0; named && i < dim; i++)
        buf_printf(&names, "%s%s", i ? "," : "", e->src->u.command.names[i]);
    if (named) opt.names = names.data;
    enum gpm_status st = memo_open(&e->store, e->path, &opt, &err);
    if (st != GPM_OK) st = sp_error(c, DIAG_STORE, "%s", err.data);
    buf_release(&names);
    buf_release(&err);
    return st;
}

/* ---- one batch ---------------------------------------------------------------------------- */

struct batch {
    struct sp_call *c;
    struct evaluations *e;
    const double *x;
    size_t n;
    struct runner *runner; /* tags are positions in the batch */
    VEC(size_t) pending, busy;
    const volatile sig_atomic_t *stop;
    bool failed, raised; /* raised: a diagnostic is already stored */
    size_t failed_at;
    struct buf why;
    enum gpm_status st; /* of the store */
    struct buf err;
    pthread_mutex_t lock; /* protects the batch and the known values between threads */
    pthread_cond_t over;  /* with `ended`: no point is still running */
    bool ended;
};

static const double *point(const struct batch *b, size_t i) {
    return b->x + i * (size_t)b->e->dim;
}

static void note_failure(struct batch *b, size_t i, const char *why) {
    if (b->failed && b->failed_at < i) return;
    b->failed = true;
    b->failed_at = i;
    buf_reset(&b->why);
    buf_puts(&b->why, why);
}

/* Is point i ours to evaluate? Handles known, failed and busy points. */
static bool claim(struct batch *b, size_t i, int64_t *id) {
    *id = 0;
    if (find(b->e, point(b, i))) return false;
    if (!b->e->store) return true;
    struct memo_claim got;
    struct buf text = BUF_INIT;
    b->st = memo_claim(b->e->store, point(b, i), &got, &text);
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
        *id = got.id;
    bool ours = b->st == GPM_OK && got.state == MEMO_OURS;
    buf_release(&text);
    return ours;
}

/* Takes over a stored outcome and releases it. */
static void learn_outcome(struct batch *b, struct outcome *o) {
    if (b->st == GPM_OK && o->ok)
        learn(b->e, point(b, o->tag), o->y);
    else if (b->st == GPM_OK && !(o->nothing && stop_asked(b->stop)))
        note_failure(b, o->tag, o->why.data);
    outcome_release(o);
}

/* Waits for points that other processes evaluate. */
static void wait_for_others(struct batch *b) {
    struct timespec pause = {0, 50 * 1000 * 1000};
    pthread_mutex_unlock(&b->lock); /* for other threads of this process */
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&b->lock);
    for (size_t k = 0; k < b->busy.n; k++) vec_push(&b->pending, b->busy.at[k]);
    vec_clear(&b->busy);
}

static bool evaluate_here(struct batch *b, size_t i, double *y, struct buf *why) {
    struct evaluations *e = b->e;
    if (e->src) return e->src->cls->evaluate(e->src, point(b, i), y, b->stop, why) == GPM_OK;
    value arg = point_value(point(b, i), e->dim);
    value v;
    size_t before = b->c->diags->list.n;
    enum gpm_status st = b->c->host->apply(b->c->host, e->f, &arg, 1, &v);
    value_unref(arg);
    if (st != GPM_OK) {
        b->raised = true;
        struct diags *d = b->c->diags;
        buf_puts(why, d->list.n > before ? d->list.at[d->list.n - 1]->message : "it failed");
        return false;
    }
    bool ok = v.tag == V_NUM && isfinite(v.u.num);
    if (ok)
        *y = v.u.num;
    else
        buf_printf(why, "it gave %s, not a number", SHOW(v));
    value_unref(v);
    return ok;
}

/* Calls a function of this process without the lock. It cannot be stopped, and its result is
 * kept. */
static void call_function(struct batch *b, size_t i, int64_t id) {
    struct outcome o = {.tag = i, .y = NAN, .why = BUF_INIT, .outputs = BUF_INIT};
    runner_hold(b->runner, id, point(b, i), i);
    pthread_mutex_unlock(&b->lock);
    double t = clock_seconds();
    o.ok = evaluate_here(b, i, &o.y, &o.why);
    o.seconds = clock_seconds() - t;
    pthread_mutex_lock(&b->lock);
    o.nothing = !o.ok && stop_asked(b->stop);
    enum gpm_status st = runner_settle(b->runner, &o, &b->err);
    if (b->st == GPM_OK) b->st = st;
    learn_outcome(b, &o);
}

static void start_program(struct batch *b, size_t i, int64_t id) {
    char **texts = srcfn_texts(point(b, i), b->e->dim);
    runner_start(b->runner, &b->e->src->u.command, (const char *const *)texts, id, point(b, i), i);
    srcfn_texts_free(texts, b->e->dim);
}

static void wait_for_program(struct batch *b) {
    struct outcome o;
    bool got;
    b->st = runner_wait(b->runner, b->busy.n ? 0.2 : 10, b->stop, &got, &o, &b->err);
    if (got) learn_outcome(b, &o);
}

/* Works on one point after another: programs in parallel, as many as the session's jobs allow;
 * functions in as many threads, if declared safe. The lock is held except during functions. */
static void work(void *ctx, size_t job, int thread) {
    struct batch *b = ctx;
    bool programs = is_program(b->e);
    pthread_mutex_lock(&b->lock);
    while (b->st == GPM_OK && !b->raised && !stop_asked(b->stop)) {
        if (b->pending.n && !(programs && proc_pool_full(b->runner->pool))) {
            size_t i = vec_pop(&b->pending);
            int64_t id;
            if (claim(b, i, &id)) (programs ? start_program : call_function)(b, i, id);
        } else if (programs && b->runner->open.n) {
            wait_for_program(b);
        } else if (b->busy.n) {
            wait_for_others(b);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&b->lock);
}

/* Renews claims while functions run that take longer than a claim lasts. */
static void *renew_claims(void *ctx) {
    struct batch *b = ctx;
    pthread_mutex_lock(&b->lock);
    while (!b->ended && b->st == GPM_OK) {
        clock_cond_wait(&b->over, &b->lock, b->e->store->claim_seconds / 60);
        runner_renew(b->runner);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Runs all points, with a thread that renews claims for functions of this process (runner_wait does
 * so for programs). Procedures of the language get no such thread, because they may use the store
 * themselves. */
static void run(struct batch *b, int jobs) {
    pthread_t keeper;
    const struct evaluations *e = b->e;
    bool kept =
        e->store && e->src && !is_program(e) && !pthread_create(&keeper, NULL, renew_claims, b);
    la_parallel(e->src && e->src->parallel ? jobs : 1, b->pending.n, work, b);
    pthread_mutex_lock(&b->lock);
    b->ended = true;
    pthread_cond_signal(&b->over);
    pthread_mutex_unlock(&b->lock);
    if (kept) pthread_join(keeper, NULL);
}

/* Lists missing points, each once. They are taken from the end, so the list is reversed. */
static void list_missing(struct batch *b) {
    struct map seen = {0};
    for (size_t i = b->n; i-- > 0;) {
        if (find(b->e, point(b, i)) || point_map_find(&seen, point(b, i), b->e->dim)) continue;
        point_map_add(&seen, point(b, i), b->e->dim, 0);
        vec_push(&b->pending, i);
    }
    point_map_release(&seen);
}

static enum gpm_status verdict(struct batch *b) {
    struct sp_call *c = b->c;
    if (b->st != GPM_OK) return sp_error(c, DIAG_STORE, "%s", b->err.data);
    if (b->raised) return GPM_E_USER;
    if (b->failed)
        return srcfn_failed(c, b->e->identity, point(b, b->failed_at), b->e->dim, b->why.data);
    if (stop_asked(b->stop))
        return sp_error(c, DIAG_INTERRUPTED, "interrupted; what was done is kept");
    return GPM_OK;
}

enum gpm_status evaluations_fetch(struct sp_call *c, struct evaluations *e, const double *x,
                                  size_t n, int dim) {
    enum gpm_status st = set_dim(c, e, dim);
    if (st != GPM_OK) return st;
    struct sp_options *o = c->host ? c->host->options : NULL;
    double *points = NEW_ARRAY(double, n *(size_t)dim + 1);
    for (size_t i = 0; i < n * (size_t)dim; i++) points[i] = x[i] + 0.0; /* -0 is 0 */
    int jobs = o ? (int)o->jobs : 1;
    struct batch b = {.c = c,
                      .e = e,
                      .x = points,
                      .n = n,
                      .runner = runner_new(e->store, jobs, false),
                      .stop = o ? o->stop : NULL,
                      .why = BUF_INIT,
                      .err = BUF_INIT,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    clock_cond_init(&b.over);
    list_missing(&b);
    run(&b, jobs);
    (void)!runner_end(b.runner, &b.err); /* claims that cannot be returned expire */
    st = verdict(&b);
    pthread_cond_destroy(&b.over);
    vec_release(&b.pending);
    vec_release(&b.busy);
    buf_release(&b.why);
    buf_release(&b.err);
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

/* Stores are opened again, and their present contents become known, too. Copies of a model share
 * one table, identified by its number. */
static void *evaluations_pack(struct pack *p, void *state) {
    void *x = state;
    size_t number = pack_object(p, &x);
    if (!number) {
        if (p->reading && x) ((struct evaluations *)x)->refs++;
        return x;
    }
    struct evaluations *e = state ? state : NEW(struct evaluations);
    struct sp_call c = {.host = p->host, .diags = p->diags};
    int dim = e->dim;
    if (!state) e->refs = 1;
    if (!state) pack_made(p, number, e);
    pack_value(p, &e->f);
    pack_text(p, &e->identity);
    pack_text(p, &e->path);
    pack_int(p, &dim);
    if (!state) {
        e->src = srcfn_of(e->f);
        if (pack_ok(p) && dim && set_dim(&c, e, dim) != GPM_OK)
            pack_fail(p, "the store %s cannot be opened", e->path ? e->path : "");
    }
    point_map_pack(p, &e->known, dim);
    return e;
}

static const struct sp_class evaluations_row;
static const struct sp_class *evaluations_row_of(const void *state, bool second) {
    return &evaluations_row;
}

const struct sp_state_class evaluations_state = {
    .shared = true, .free = evaluations_free, .pack = evaluations_pack, .row = evaluations_row_of};
static const struct sp_class evaluations_row = {.name = "remembered source function",
                                                .sig = "(x: any) -> number",
                                                .doc = "A source function and its known values.",
                                                .simulate = apply_known};

struct evaluations *evaluations_of(value v) {
    struct sp_proc *m = sp_made_of(v);
    return m && m->cls == &evaluations_row ? m->state->data : NULL;
}

/* A store is a file named by the program. It may be written if the user allows programs to write
 * files, or to run others (which could write it anyway). */
static enum gpm_status may_store(struct sp_call *c, const char *path) {
    struct sp_options *o = c->host ? c->host->options : NULL;
    const char *verb = memo_is_file(path) ? "keep values in" : "connect to";
    return o && o->allow_run ? GPM_OK : sp_need(c, SP_MAY_WRITE, verb, path);
}

value evaluations_value(struct sp_call *c, value f, const char *store, int dim) {
    if (store && may_store(c, store) != GPM_OK) return NIL;
    struct evaluations *e = NEW(struct evaluations);
    e->refs = 1;
    e->f = value_ref(f);
    e->src = srcfn_of(f);
    struct buf code = BUF_INIT; /* identifies the function in a store */
    if (e->src)
        buf_puts(&code, e->src->identity);
    else if (c->host && c->host->describe)
        c->host->describe(c->host, f, &code);
    else
        value_print(f, &code);
    e->identity = buf_take(&code);
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
