/* SPDX-License-Identifier: Apache-2.0
 *
 * Memo tables and run times for the public interface (include/gpmem/optimize.h).
 */
#include "front/api/call.h"
#include "front/api/voice.h"
#include "base/file.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/vec.h"
#include "gpmem/optimize.h"
#include "language/rows/source/runner.h"
#include "language/rows/source/srcfn.h"
#include "io/store/memo.h"
#include "apps/optimize/memo_csv.h"
#include "apps/optimize/time_predict.h"

#include <math.h>
#include <string.h>
#include <time.h>

struct gpm_memo {
    struct memo *memo;
    struct bo_space space; /* of the inputs, once it is open */
    HANDLE;
};

gpm_memo *gpm_memo_new(void) {
    return HANDLE_NEW(gpm_memo);
}

void gpm_memo_free(gpm_memo *m) {
    if (!m) return;
    memo_close(m->memo);
    bo_space_release(&m->space);
    HANDLE_FREE(m);
}

const char *gpm_memo_error(const gpm_memo *m) {
    return voice_error((struct buf *)&m->err);
}

static enum gpm_status memo_api_begin(gpm_memo *m) {
    buf_reset(&m->out);
    return call_begin(&m->err);
}

static enum gpm_status open_table(gpm_memo *m, const char *path, const struct memo_options *opt) {
    enum gpm_status s = memo_api_begin(m);
    if (!s) s = memo_open(&m->memo, path, opt, &m->err);
    return s ? s : memo_inputs(m->memo, &m->space, &m->err);
}

enum gpm_status gpm_memo_open(gpm_memo *m, const char *path, bool write) {
    return open_table(m, path, &(struct memo_options){.read_only = !write});
}

enum gpm_status gpm_memo_create(gpm_memo *m, const char *path, const char *function,
                                const char *names) {
    struct memo_options opt = {.function = function, .names = names, .dim = 1};
    for (const char *p = names; *p; p++) opt.dim += *p == ',';
    return open_table(m, path, &opt);
}

static bool json_row(const struct memo_row *r, void *user) {
    gpm_memo *m = user;
    struct buf *out = &m->out, level = BUF_INIT;
    buf_printf(out, "{\"id\": %lld, \"x\": {", (long long)r->id);
    for (int j = 0; j < r->dim; j++) {
        const struct bo_var *v = &m->space.vars[j];
        buf_reset(&level);
        bo_space_value(&m->space, j, r->x[j], 0, &level);
        if (v->n_levels) {
            JSON(out, FIELD(v->name, level.data));
        } else {
            json_key(out, v->name);
            buf_puts(out, level.data);
        }
    }
    buf_putc(out, '}');
    JSON(out, FIELD("value", r->status == MEMO_DONE ? r->y : NAN),
         FIELD("status", memo_status_name(r->status)), FIELD("replicate", r->rep));
    buf_printf(out, ", \"seconds\": %.6g", r->seconds);
    JSON(out, FIELD("host", r->host), FIELD("pid", r->pid), FIELD("attempts", r->attempts));
    buf_printf(out, ", \"started\": %.3f, \"finished\": %.3f", r->started, r->finished);
    JSON(out, FIELD("error", r->error), FIELD("tag", r->tag));
    buf_puts(out, "}\n");
    buf_release(&level);
    return true;
}

/* One line: id, inputs, value or status, seconds, first line of the error. */
static bool list_row(const struct memo_row *r, void *user) {
    gpm_memo *m = user;
    struct buf *out = &m->out;
    buf_printf(out, "%lld", (long long)r->id);
    for (int j = 0; j < r->dim; j++) {
        buf_putc(out, '\t');
        bo_space_value(&m->space, j, r->x[j], 0, out);
    }
    buf_putc(out, '\t');
    if (r->status == MEMO_DONE)
        buf_number(out, r->y);
    else
        buf_puts(out, memo_status_name(r->status));
    buf_printf(out, "\t%.4g\t", r->seconds);
    buf_visible(out, r->error, strcspn(r->error, "\n"));
    buf_putc(out, '\n');
    return true;
}

enum gpm_status gpm_memo_list(gpm_memo *m, enum gpm_format f, const char **text) {
    enum gpm_status s = memo_api_begin(m);
    if (s) return s;
    if (f == GPM_FORMAT_TEXT) {
        buf_puts(&m->out, "id");
        for (int j = 0; j < m->space.n; j++) buf_printf(&m->out, "\t%s", m->space.vars[j].name);
        buf_puts(&m->out, "\tvalue\tseconds\terror\n");
    }
    s = memo_each(m->memo, -1, f == GPM_FORMAT_JSON ? json_row : list_row, m, &m->err);
    *text = m->out.data;
    return s;
}

static void put_text(struct buf *out, const char *what, const char *text) {
    if (!text[0]) return;
    buf_printf(out, "%s: ", what);
    buf_visible(out, text, strlen(text));
    buf_putc(out, '\n');
}

static bool show_row(const struct memo_row *r, void *user) {
    gpm_memo *m = user;
    struct buf *out = &m->out;
    buf_printf(out, "id: %lld\n", (long long)r->id);
    for (int j = 0; j < r->dim; j++) {
        buf_printf(out, "%s: ", m->space.vars[j].name);
        bo_space_value(&m->space, j, r->x[j], 0, out);
        buf_putc(out, '\n');
    }
    buf_printf(out, "status: %s\n", memo_status_name(r->status));
    if (r->status == MEMO_DONE) {
        buf_puts(out, "value: ");
        buf_number(out, r->y);
        buf_putc(out, '\n');
    }
    buf_printf(out, "replicate: %d\nseconds: %.6g\nattempts: %d\nwhere: %s, process %ld\n", r->rep,
               r->seconds, r->attempts, r->host, r->pid);
    memo_time(out, "started: %Y-%m-%d %H:%M:%S UTC\n", r->started);
    memo_time(out, "finished: %Y-%m-%d %H:%M:%S UTC\n", r->finished);
    put_text(out, "tag", r->tag);
    put_text(out, "error", r->error);
    return true;
}

static bool count_row(const struct memo_row *r, void *user) {
    ((size_t *)user)[r->status]++;
    return true;
}

static enum gpm_status show_table(gpm_memo *m, bool json) {
    static const enum memo_status shown[] = {MEMO_DONE, MEMO_FAILED, MEMO_CLAIMED, MEMO_ASKED};
    struct buf *out = &m->out;
    size_t counts[5] = {0};
    enum gpm_status s = memo_each(m->memo, -1, count_row, counts, &m->err);
    if (s) return s;
    const char *f = m->memo->function, *names = m->memo->names;
    if (json) {
        buf_putc(out, '{');
        JSON(out, FIELD("function", f), FIELD("inputs", names));
    } else {
        buf_printf(out, "function: %s\ninputs: %s\n", f, names);
    }
    for (size_t i = 0; i < COUNT_OF(shown); i++)
        buf_printf(out, json ? ", \"%s\": %zu" : "%s: %zu\n", memo_status_name(shown[i]),
                   counts[shown[i]]);
    if (json) buf_puts(out, "}\n");
    return GPM_OK;
}

enum gpm_status gpm_memo_show(gpm_memo *m, int64_t id, enum gpm_format f, const char **text) {
    enum gpm_status s = memo_api_begin(m);
    bool json = f == GPM_FORMAT_JSON;
    if (!s && id) s = memo_row_by_id(m->memo, id, json ? json_row : show_row, m, &m->err);
    if (!s && !id) s = show_table(m, json);
    *text = m->out.data;
    return s;
}

enum gpm_status gpm_memo_export(gpm_memo *m, const char **csv) {
    enum gpm_status s = memo_api_begin(m);
    if (!s) s = memo_csv_export(m->memo, &m->space, &m->out, &m->err);
    *csv = m->out.data;
    return s;
}

enum gpm_status gpm_memo_import(gpm_memo *m, const char *path, bool replicate, size_t *added) {
    enum gpm_status s = memo_api_begin(m);
    return s ? s : memo_csv_import(m->memo, &m->space, path, replicate, added, &m->err);
}

bool gpm_memo_there(const char *path) {
    return memo_there(path);
}

enum gpm_status gpm_memo_copy(gpm_memo *m, const char *to, size_t *rows) {
    enum gpm_status s = memo_api_begin(m);
    return s ? s : memo_copy(m->memo, to, rows, &m->err);
}

enum gpm_status gpm_memo_remove(gpm_memo *m, int64_t id) {
    enum gpm_status s = memo_api_begin(m);
    return s ? s : memo_delete(m->memo, id, &m->err);
}

enum gpm_status gpm_memo_verify(gpm_memo *m, size_t *rows, bool *summed) {
    size_t counts[5] = {0};
    enum gpm_status s = memo_api_begin(m);
    if (!s) s = memo_check(m->memo, &m->err);
    if (!s) s = memo_each(m->memo, -1, count_row, counts, &m->err);
    *rows = 0;
    for (size_t i = 0; i < COUNT_OF(counts); i++) *rows += counts[i];
    *summed = !s && memo_summed(m->memo);
    return s;
}

/* ---- run times ---- */

struct gpm_timer {
    char *path;
    HANDLE;
};

gpm_timer *gpm_timer_new(const char *store) {
    gpm_timer *t = HANDLE_NEW(gpm_timer);
    t->path = mem_strdup(store);
    return t;
}

void gpm_timer_free(gpm_timer *t) {
    if (!t) return;
    mem_free(t->path);
    HANDLE_FREE(t);
}

const char *gpm_timer_error(const gpm_timer *t) {
    return voice_error((struct buf *)&t->err);
}

static enum gpm_status timer_open(gpm_timer *t, const char *function, size_t n,
                                  const char *const *names, struct memo **out) {
    struct buf joined = BUF_INIT;
    for (size_t j = 0; j < n; j++) buf_printf(&joined, "%s%s", j ? "," : "", names[j]);
    struct memo_options opt = {
        .function = function, .dim = function ? (int)n : 0, .names = joined.data};
    enum gpm_status s =
        function || memo_there(t->path)
            ? memo_open(out, t->path, &opt, &t->err)
            : buf_fail(&t->err, GPM_E_NOT_FOUND,
                       "there are no runs in '%s' yet; gpmem time NAME=X,X,X -- COMMAND makes some",
                       t->path);
    if (!s && strcmp((*out)->names, joined.data) != 0)
        s = buf_fail(&t->err, GPM_E_CONFLICT, "the runs in '%s' have the inputs %s, not %s",
                     t->path, (*out)->names, joined.data);
    buf_release(&joined);
    return s;
}

static enum gpm_status timed_run(gpm_timer *t, struct memo *m, const struct proc_command *c,
                                 const char *const *texts, const double *values,
                                 const volatile sig_atomic_t *stop, double *seconds) {
    struct outcome o = {0};
    int64_t id;
    bool got = false;
    enum gpm_status s = memo_new_row(m, values, false, &id, &t->err);
    if (s) return s;
    struct runner *r = runner_new(m, 1, false);
    runner_start(r, c, texts, id, values, 0);
    while (!s && !got && !stop_asked(stop)) s = runner_wait(r, 10, stop, &got, &o, &t->err);
    if (!s && !got) s = GPM_E_INTERRUPT;
    if (!s && o.nothing) s = buf_fail(&t->err, GPM_E_IO, "%s", o.why.data);
    if (!s && !o.ok) s = buf_fail(&t->err, GPM_E_USER, "the program failed: %s", o.why.data);
    if (got) *seconds = o.seconds;
    if (got) outcome_release(&o);
    enum gpm_status given = runner_end(r, &t->err); /* interrupted: the run leaves no row */
    return s ? s : given;
}

enum gpm_status gpm_timer_run(gpm_timer *t, int argc, char *const *argv, size_t n,
                              const char *const *names, const double *values, double timeout,
                              const volatile sig_atomic_t *stop, double *seconds) {
    struct proc_command c;
    struct memo *m = NULL;
    struct buf identity = BUF_INIT;
    if (call_begin(&t->err)) return GPM_E_NOMEM;
    char **texts = srcfn_texts(values, (int)n);
    enum gpm_status s = proc_command_init(&c, argv, argc, names, (int)n, false, &t->err);
    if (!s) {
        c.timeout = timeout;
        c.timing = true; /* one that prints no number has succeeded all the same */
        buf_puts(&identity, "time ");
        proc_command_text(&c, &identity);
        s = timer_open(t, identity.data, n, names, &m);
        if (!s) s = timed_run(t, m, &c, (const char *const *)texts, values, stop, seconds);
        proc_command_release(&c);
    }
    memo_close(m);
    srcfn_texts_free(texts, (int)n);
    buf_release(&identity);
    return s;
}

struct runs {
    VEC(double) x;
    VEC(double) t;
};
static bool collect(const struct memo_row *r, void *user) {
    struct runs *all = user;
    if (r->status != MEMO_DONE) return true;
    for (int j = 0; j < r->dim; j++) vec_push(&all->x, r->x[j]);
    vec_push(&all->t, r->y);
    return true;
}

enum gpm_status gpm_timer_predict(gpm_timer *t, size_t n, const char *const *names,
                                  const double *values, double level, double *median, double *low,
                                  double *high, size_t *runs) {
    struct memo *m = NULL;
    struct runs all = {0};
    double p[3] = {(1 - level) / 2, 0.5, (1 + level) / 2}, q[3];
    if (call_begin(&t->err)) return GPM_E_NOMEM;
    enum gpm_status s = timer_open(t, NULL, n, names, &m);
    if (!s) s = memo_each(m, 0, collect, &all, &t->err);
    *runs = all.t.n;
    if (!s && all.t.n < 3)
        s = buf_fail(&t->err, GPM_E_ARG, "'%s' holds %zu run%s; a prediction needs at least 3",
                     t->path, all.t.n, all.t.n == 1 ? "" : "s");
    if (!s) s = runtime_predict(all.x.at, all.t.at, all.t.n, (int)n, values, p, 3, q);
    if (!s) *low = q[0], *median = q[1], *high = q[2];
    memo_close(m);
    vec_release(&all.x);
    vec_release(&all.t);
    return s;
}
