/* SPDX-License-Identifier: Apache-2.0
 * The loop: decide under the lock, run in parallel, store, log. */
#include "base/ascii.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stop.h"
#include "apps/optimize/bo_rules.h"
#include "apps/optimize/optimize.h"
#include "language/rows/source/runner.h"
#include "language/rows/source/srcfn.h"
#include "base/clock.h"
#include "base/work.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Evaluations that count for the budget. */
static size_t counted(const struct optimize *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->trace.n; i++) n += !o->trace.at[i].given;
    return n;
}

/* The budget of costs is used up, those in flight left aside. */
static bool cost_spent(const struct optimize *o) {
    double sum = 0;
    for (size_t i = 0; i < o->trace.n; i++)
        if (!o->trace.at[i].given) sum += optimize_cost(o, &o->trace.at[i]);
    return o->opt.max_cost > 0 && sum >= o->opt.max_cost * (1 - 1e-12);
}

/* Points that are being evaluated, here and elsewhere. */
static size_t in_flight(const struct optimize *o) {
    return o->pending.n / (size_t)o->space.n;
}

/* ---- the log: how far it is written is kept in the store, so that a crash between the two leaves
 * neither a gap nor a line twice ---- */

static void log_line(struct optimize *o, const struct optimize_eval *e, struct buf *out) {
    for (int j = 0; j < o->space.n; j++) {
        bo_space_value(&o->space, j, e->x[j], 0, out);
        buf_putc(out, ' ');
    }
    if (!e->values) buf_puts(out, "fail");
    for (int k = 0; e->values && k < goals_count(&o->goals); k++) {
        if (k) buf_putc(out, ' ');
        buf_number(out, e->values[k]);
    }
    buf_putc(out, '\n');
}

/* How many of the lines are already after the offset, written by a process that ended before noting
 * it. 0 if other text is there. */
static size_t written_before(const char *path, long long offset, long long size,
                             const struct buf *lines) {
    size_t n = (size_t)(size - offset);
    if (size <= offset || n > lines->len) return 0;
    struct buf all = BUF_INIT;
    bool ours = file_read(path, FILE_GIVEN, FILE_TEXT_MAX, &all) == GPM_OK &&
                all.len == (size_t)size && memcmp(all.data + offset, lines->data, n) == 0;
    buf_release(&all);
    return ours ? n : 0;
}

/* What finished since the last time, at the end of the file; `key` names the note in the store. */
static enum gpm_status log_append(struct optimize *o, int fd, const char *key, struct buf *err) {
    long long seq = 0, offset = -1;
    char *text = NULL;
    struct stat sb;
    enum gpm_status s = memo_get(o->memo, key, &text, err);
    if (!s && sscanf(text, "%lld %lld", &seq, &offset) != 2) seq = 0, offset = -1;
    mem_free(text);
    if (s && s != GPM_E_NOT_FOUND) return s;
    if (fstat(fd, &sb)) return buf_fail(err, GPM_E_IO, "log '%s': %s", o->opt.log, strerror(errno));
    bool file = S_ISREG(sb.st_mode);                       /* a pipe has no end to look at */
    if (file && sb.st_size < offset) seq = 0, offset = -1; /* the file was removed: start again */
    struct buf lines = BUF_INIT, mark = BUF_INIT;
    for (size_t i = 0; i < o->trace.n; i++) {
        if (o->trace.at[i].seq <= seq || o->trace.at[i].given) continue;
        log_line(o, &o->trace.at[i], &lines);
        seq = o->trace.at[i].seq;
    }
    size_t done = 0;
    if (file && offset >= 0) done = written_before(o->opt.log, offset, sb.st_size, &lines);
    long long end = (long long)sb.st_size + (long long)(lines.len - done);
    s = lines.len > done ? file_put(fd, lines.data + done, lines.len - done) : GPM_OK;
    if (s) {
        buf_printf(err, "log '%s': writing failed: %s", o->opt.log, file_why());
    } else if (lines.len || offset < 0) {
        buf_printf(&mark, "%lld %lld", seq, end);
        s = memo_set(o->memo, key, mark.data, err);
    }
    buf_release(&lines);
    buf_release(&mark);
    return s;
}

enum gpm_status optimize_write_log(struct optimize *o, struct buf *err) {
    if (!o->opt.log) return GPM_OK;
    int fd;
    if (file_append(o->opt.log, &fd))
        return buf_fail(err, GPM_E_IO, "log '%s': %s", o->opt.log, file_why());
    struct buf key = BUF_INIT;
    char *full = realpath(o->opt.log, NULL); /* it is there now */
    buf_printf(&key, "log:%s", full ? full : o->opt.log);
    free(full);
    enum gpm_status s;
    size_t said = err->len;
    do { /* lines whose mark was lost are written again in their place */
        s = memo_begin(o->memo, err);
        if (!s) s = optimize_refresh(o, err);
        if (!s) s = log_append(o, fd, key.data, err);
        s = memo_end(o->memo, s, err);
    } while (memo_again(o->memo, s, said, err));
    buf_release(&key);
    if (file_close(fd) && !s)
        s = buf_fail(err, GPM_E_IO, "log '%s': writing failed: %s", o->opt.log, file_why());
    return s;
}

/* ---- one decision ---- */

enum next { NEXT_POINT, NEXT_WAIT, NEXT_BUDGET, NEXT_EXHAUSTED };

static enum gpm_status claim(struct optimize *o, const double *x, bool ask, int64_t *id,
                             enum next *what, struct buf *err) {
    struct memo_claim c;
    *what = NEXT_POINT;
    bool again = false; /* to see whether the value is the same */
    for (size_t i = 0; i < o->trace.n && !again; i++)
        again = memcmp(o->trace.at[i].x, x, (size_t)o->space.n * sizeof *x) == 0;
    if (ask || o->opt.noisy || again) return memo_new_row(o->memo, x, ask, id, err);
    enum gpm_status s = memo_claim(o->memo, x, &c, err);
    *id = c.id;
    if (!s && c.state != MEMO_OURS) *what = NEXT_WAIT;
    return s;
}

/* The next unused guess. */
static bool next_start(const struct optimize *o, double *x) {
    size_t n = (size_t)o->space.n, bytes = n * sizeof *x;
    for (size_t i = 0; i < o->starts.n; i += n) {
        bool begun = false;
        for (size_t k = 0; k < o->trace.n; k++)
            begun = begun || memcmp(o->trace.at[k].x, o->starts.at + i, bytes) == 0;
        for (size_t k = 0; k < o->pending.n; k += n)
            begun = begun || memcmp(o->pending.at + k, o->starts.at + i, bytes) == 0;
        if (begun) continue;
        memcpy(x, o->starts.at + i, bytes);
        return true;
    }
    return false;
}

static enum gpm_status decide(struct optimize *o, bool ask, double *x, int64_t *id, enum next *what,
                              struct buf *err) {
    bool found = false;
    enum gpm_status s = optimize_refresh(o, err);
    if (s) return s;
    if (!ask) s = memo_reclaim(o->memo, &found, id, x, err); /* of a worker that died */
    if (!s && found && !bo_space_inside(&o->space, x))
        s = buf_fail(err, GPM_E_FORMAT,
                     "point %lld of the store lies outside the search space; take it away with "
                     "gpmem memo rm",
                     (long long)*id);
    *what = NEXT_POINT;
    if (s || found) return s;
    size_t begun = counted(o) + in_flight(o);
    if (((o->opt.budget && begun >= o->opt.budget) || cost_spent(o)) && !ask) {
        *what = NEXT_BUDGET;
        return GPM_OK;
    }
    s = next_start(o, x) ? GPM_OK : bo_ask(o->bo, x);
    if (s == GPM_E_LIMIT) {
        *what = NEXT_EXHAUSTED;
        return GPM_OK;
    }
    if (!s) s = claim(o, x, ask, id, what, err);
    return s ? s : optimize_save_state(o, err);
}

static enum gpm_status next_point(struct optimize *o, bool ask, double *x, int64_t *id,
                                  enum next *what, struct buf *err) {
    enum gpm_status s;
    size_t said = err->len;
    do { /* a point whose claim was lost with the connection is offered again when its time is over
          */
        s = memo_begin(o->memo, err);
        if (!s) s = decide(o, ask, x, id, what, err);
        s = memo_end(o->memo, s, err);
    } while (!ask && memo_again(o->memo, s, said, err));
    return s;
}

/* ---- running ---- */

static void say(struct optimize *o) {
    if (!o->opt.progress || o->trace.n == 0) return;
    int count = goals_count(&o->goals);
    double *x = NEW_ARRAY(double, (size_t)o->space.n + (size_t)count), *y = x + o->space.n;
    const struct optimize_eval *last = &vec_last(&o->trace);
    struct buf line = BUF_INIT;
    buf_printf(&line, "%zu", counted(o));
    if (o->opt.budget) buf_printf(&line, "/%zu", o->opt.budget);
    if (!last->values)
        buf_printf(&line, " failed%s%s", o->failure ? ": " : "", o->failure ? o->failure : "");
    else
        optimize_put_numbers(o, last->values, 6, &line);
    if (optimize_best(o, x, y)) {
        buf_puts(&line, goals_met(&o->goals, y) ? "  best" : "  closest to the bounds");
        optimize_put_numbers(o, y, 6, &line);
        buf_puts(&line, " at");
        optimize_put_point(o, x, 5, &line);
    }
    if (optimize_failed(o)) buf_printf(&line, "  (%zu failed)", optimize_failed(o));
    o->opt.progress(o->opt.user, line.data);
    buf_release(&line);
    mem_free(x);
}

static bool target_met(const struct optimize *o) {
    int first, n = goals_objectives(&o->goals, &first);
    double *y = NEW_ARRAY(double, (size_t)goals_count(&o->goals));
    bool met = o->opt.has_target && n == 1 && optimize_best(o, NULL, y) && goals_met(&o->goals, y);
    bool up = o->goals.names.n ? o->goals.goal.at[first].direction < 0 : o->opt.maximize;
    met = met && (up ? y[first] >= o->opt.target : y[first] <= o->opt.target);
    mem_free(y);
    return met;
}

static enum gpm_status finished(struct optimize *o, struct buf *err) {
    enum gpm_status s = optimize_refresh(o, err);
    if (!s) s = optimize_write_log(o, err);
    if (!s) say(o);
    return s;
}

/* At most `most` bytes of text[..n), whole characters of them. */
static void put_start(const char *text, size_t n, size_t most, struct buf *out) {
    size_t keep = n < most ? n : most;
    while (keep < n && keep && ((unsigned char)text[keep] & 0xC0) == 0x80) keep--;
    buf_add(out, text, keep);
    if (keep < n) buf_puts(out, "...");
}

/* Keeps the first line of a reason, and the last that the program wrote to stderr, which mostly
 * says it: for the progress line and the report. */
static void note_failure(struct optimize *o, const char *why) {
    enum { MOST = 240 };
    struct buf text = BUF_INIT;
    size_t n = strcspn(why, "\n");
    put_start(why, n, MOST, &text);
    const char *last = why[n] ? strrchr(why, '\n') + 1 : "", *said = "stderr: ";
    if (strncmp(last, said, strlen(said)) == 0) last += strlen(said);
    last += strspn(last, " \t");
    if (*last) buf_puts(&text, "; it said: ");
    put_start(last, strlen(last), MOST, &text);
    mem_free(o->failure);
    o->failure = buf_take(&text);
}

static bool all_finite(const double *y, int n) {
    for (int k = 0; k < n; k++)
        if (!isfinite(y[k])) return false;
    return true;
}

/* The C callback runs here and now. */
static enum gpm_status call_function(struct optimize *o, int64_t id, const double *x,
                                     struct buf *err) {
    struct outcome got = {.tag = (size_t)id, .y = NAN, .why = BUF_INIT, .outputs = BUF_INIT};
    double t = clock_seconds();
    runner_hold(o->runner, id, x, (size_t)id);
    int n = goals_count(&o->goals), first;
    double *y = NEW_ARRAY(double, (size_t)n);
    for (int k = 0; k < n; k++) y[k] = NAN;
    bool failed = o->fn(o->fn_user, x, y) != 0;
    got.seconds = clock_seconds() - t;
    got.ok = !failed && all_finite(y, n);
    goals_objectives(&o->goals, &first);
    got.y = y[first];
    if (got.ok && o->goals.names.n) outcome_put(&got, &o->goals.names, y);
    mem_free(y);
    if (!got.ok) buf_puts(&got.why, failed ? "the function failed" : "the value is not finite");
    got.nothing = failed && stop_asked(o->opt.stop); /* it was left: the point is offered again */
    if (!got.ok) note_failure(o, got.why.data);
    enum gpm_status s = runner_settle(o->runner, &got, err);
    outcome_release(&got);
    return s ? s : finished(o, err);
}

static void start_program(struct optimize *o, int64_t id, const double *x) {
    char **values = NEW_ARRAY(char *, (size_t)o->space.n);
    for (int j = 0; j < o->space.n; j++) {
        struct buf b = BUF_INIT;
        bo_space_value(&o->space, j, x[j], 0, &b);
        values[j] = buf_take(&b);
    }
    runner_start(o->runner, &o->command, (const char *const *)values, id, x, (size_t)id);
    srcfn_texts_free(values, o->space.n);
}

#define UNREAD_MOST                                                                                \
    3 /* evaluations may be dear: a mistake in the command costs no more of them                   \
       */

/* What stands before a number in the last line that was printed, whose end the failure quotes, as a
 * pattern: of "epoch 3 loss=0.2" loss={}, the first number after a sign, or else the last one. */
static void put_pattern(const char *failure, struct buf *out) {
    const char *end = failure ? strrchr(failure, '"') : NULL, *from = failure, *at = NULL;
    while (end && end - failure > 2 && end[-1] == 'n' && end[-2] == '\\') end -= 2;
    bool signed_one = false;
    for (const char *p = failure; end && p < end; p++) {
        if (*p == '"' || (p > failure && p[-1] == '\\'))
            from = p + 1, at = NULL, signed_one = false;
        bool number = ascii_digit(*p) && (p == from || !ascii_alpha(p[-1]));
        if (p < from || !number || signed_one) continue;
        const char *before = p;
        while (before > from && strchr(" +-.", before[-1])) before--;
        signed_one = before > from && strchr(":=", before[-1]);
        at = before + (before < p && *before == ' ');
        p += strspn(p, "0123456789.eE+-") - 1;
    }
    for (const char *p = from; p && at && p < at; p++)
        if (ascii_digit(*p)) from = p + 1;
    while (at && from < at && *from == ' ') from++;
    if (!at || at - from < 2 || at - from > 40 || memchr(from, '\'', (size_t)(at - from)))
        from = "loss: ", at = from + strlen(from);
    buf_printf(out, "%.*s{}", (int)(at - from), from);
}

/* Programs that end well and print no answer, and none that does, are a mistake in the command. */
static enum gpm_status unread_so_far(const struct optimize *o, struct buf *err) {
    if (o->unread < UNREAD_MOST || optimize_best(o, NULL, NULL)) return GPM_OK;
    struct buf pattern = BUF_INIT;
    put_pattern(o->unread_one, &pattern);
    enum gpm_status st = buf_fail(
        err, GPM_E_FORMAT,
        "%d programs ended well but gave no value, and none did; the last one: %s. It is to be all "
        "that is printed, or the last line; or take it out of what is printed, with --read '%s'",
        UNREAD_MOST, o->unread_one ? o->unread_one : "printed nothing", pattern.data);
    buf_release(&pattern);
    return st;
}

static enum gpm_status wait_for_one(struct optimize *o, double limit, struct buf *err) {
    struct outcome got;
    bool any;
    double wait = fmin(60, limit - clock_seconds());
    enum gpm_status s = runner_wait(o->runner, wait < 0 ? 0 : wait, o->opt.stop, &any, &got, err);
    if (!any) return s;
    if (!s && got.nothing) /* the next process evaluates it */
        s = buf_fail(err, GPM_E_IO, "%s; every evaluation so far is kept", got.why.data);
    if (!s && !got.ok) note_failure(o, got.why.data);
    if (!s && got.unread && !got.ok) {
        o->unread++;
        mem_free(o->unread_one);
        o->unread_one = mem_strdup(o->failure);
    }
    outcome_release(&got);
    if (!s) s = finished(o, err);
    return s ? s : unread_so_far(o, err);
}

#define CURVES_LEAST 5 /* so many finished ones, before one is stopped */

/* The median rule: what a program tells on its way is worse than the median of the best values that
 * others had told by that step. Only a single number can stand for the result. */
static bool hopeless(void *user, int64_t tag, double step, double now) {
    struct optimize *o = user;
    (void)tag;
    if (o->opt.no_early_stop || goals_count(&o->goals) != 1) return false;
    size_t better = 0, n = 0;
    for (size_t i = 0; i < o->trace.n; i++) {
        double other = optimize_by_step(&o->trace.at[i].curve, step);
        if (isnan(other) || !optimize_is_full(o, o->trace.at[i].x)) continue;
        n++;
        better += optimize_better(o, other, now);
    }
    return n >= CURVES_LEAST && 2 * better > n;
}

/* Decides on a point and starts it, or does not: *what. */
static enum gpm_status start_one(struct optimize *o, double *x, enum next *what, struct buf *err) {
    int64_t id;
    enum gpm_status s = next_point(o, false, x, &id, what, err);
    if (s || *what != NEXT_POINT) return s;
    if (o->fn) return call_function(o, id, x, err);
    start_program(o, id, x);
    return GPM_OK;
}

/* Nothing that keeps the constraints was found, to begin with. */
static enum gpm_status none_possible(const struct optimize *o, struct buf *err) {
    if (!o->space.n_rules || o->trace.n || o->pending.n) return GPM_OK;
    return buf_fail(err, GPM_E_LIMIT,
                    "no point of the ranges was found that keeps the constraints on variables; "
                    "loosen one of them, or give a point that keeps them with --start");
}

/* Starts as long as something can be started, then waits for one to end. */
static enum gpm_status loop(struct optimize *o, double *x, struct buf *err) {
    double limit = o->opt.max_seconds ? clock_seconds() + o->opt.max_seconds : INFINITY;
    unsigned long shortages = mem_shortages(); /* one more ends the run */
    bool more = true;
    enum gpm_status s = GPM_OK;
    while (!s) {
        enum next what = NEXT_WAIT;
        if (mem_shortages() != shortages)
            return buf_fail(err, GPM_E_NOMEM, "out of memory; every evaluation so far is kept");
        bool stopped = stop_asked(o->opt.stop);
        if (stopped || clock_seconds() >= limit) {
            o->end = stopped ? "stopped" : "time";
            return stopped ? GPM_E_INTERRUPT : GPM_OK;
        }
        if (more && target_met(o)) {
            o->end = "target";
            more = false;
        }
        if (more && !proc_pool_full(o->runner->pool)) s = start_one(o, x, &what, err);
        if (s || what == NEXT_POINT) continue;
        if (what != NEXT_WAIT) {
            o->end = what == NEXT_BUDGET ? "budget" : "exhausted";
            if (what == NEXT_EXHAUSTED && (s = none_possible(o, err))) return s;
            /* points of other workers may still fail to finish: then they are offered again */
            more = in_flight(o) > o->runner->open.n && counted(o) < o->opt.budget;
        }
        if (o->runner->open.n) {
            bool others = more && what != NEXT_WAIT;
            s = wait_for_one(o, others ? fmin(limit, clock_seconds() + 0.5) : limit, err);
        } else if (!more) {
            return GPM_OK;
        } else if (!o->fn || what != NEXT_WAIT) {
            memo_wait(o->memo, 1);
        }
    }
    return s;
}

enum gpm_status optimize_run(struct optimize *o, struct buf *err) {
    if (!o->command_text && !o->fn)
        return buf_fail(err, GPM_E_ARG,
                        "there is nothing to evaluate: give the command after --, for example "
                        "-- ./sim {x}");
    int first;
    if (o->opt.has_target && goals_objectives(&o->goals, &first) > 1)
        return buf_fail(err, GPM_E_ARG,
                        "a target is for one objective; of several, each may have a reference "
                        "value (NAME@V)");
    if (o->foreign && !o->opt.allow_run) {
        struct buf space = BUF_INIT;
        bo_space_text(&o->space, &space);
        buf_printf(err,
                   "store '%s' was not made by you on this machine as it is now, and joining would "
                   "run its command %s with\n%sallow it with --allow-run",
                   o->opt.store, o->command_text, space.data);
        buf_release(&space);
        return GPM_E_DENIED;
    }
    o->runner = runner_new(o->memo, (int)o->opt.jobs, true);
    o->command.watch = hopeless;
    o->command.watcher = o;
    double *x = NEW_ARRAY(double, (size_t)o->space.n);
    struct work_limits limits = {.stop = o->opt.stop}; /* the log may be a pipe */
    struct work_limits *before = work_set_limits(&limits);
    enum gpm_status s = loop(o, x, err);
    work_set_limits(before);
    enum gpm_status given = runner_end(o->runner, err); /* its points are offered again */
    mem_free(x);
    if (given && (!s || s == GPM_E_INTERRUPT)) s = given;
    return s;
}

/* ---- evaluations elsewhere ---- */

enum gpm_status optimize_ask(struct optimize *o, double *x, int64_t *id, struct buf *err) {
    enum next what;
    enum gpm_status s = next_point(o, true, x, id, &what, err);
    if (s || what == NEXT_POINT) return s;
    s = none_possible(o, err);
    if (s) return s;
    return buf_fail(err, GPM_E_LIMIT,
                    "every point of the search space was evaluated or is being evaluated");
}

static bool is_open(const struct memo_row *r, void *open) {
    *(bool *)open = r->status != MEMO_DONE;
    return false;
}

/* The numbers as they are stored; false: they say that it failed. */
static bool told(const struct optimize *o, const double *y, struct outcome *out) {
    int first;
    *out = (struct outcome){.y = NAN, .why = BUF_INIT, .outputs = BUF_INIT};
    if (!y || !all_finite(y, goals_count(&o->goals))) return false;
    goals_objectives(&o->goals, &first);
    out->y = y[first];
    if (o->goals.names.n) outcome_put(out, &o->goals.names, y);
    return true;
}

enum gpm_status optimize_tell(struct optimize *o, int64_t id, const double *y, struct buf *err) {
    bool open = false;
    struct outcome t;
    const char *why = told(o, y, &t) ? NULL : "told: failed";
    enum gpm_status s = memo_row_by_id(o->memo, id, is_open, &open, err);
    if (!s && !open)
        s = buf_fail(err, GPM_E_CONFLICT,
                     "point %lld has its value already; remove it first with gpmem memo rm",
                     (long long)id);
    if (!s) s = memo_finish(o->memo, id, t.y, t.outputs.data, why, 0, NULL, err);
    outcome_release(&t);
    return s ? s : finished(o, err);
}

enum gpm_status optimize_tell_at(struct optimize *o, const double *x, const double *y,
                                 struct buf *err) {
    bool added;
    struct outcome t;
    struct buf wrong = BUF_INIT;
    const char *why = told(o, y, &t) ? NULL : "told: failed";
    enum gpm_status s = bo_space_check(&o->space, x, &wrong);
    if (s) buf_printf(err, "the point is none of this search: %s", wrong.data);
    buf_release(&wrong);
    if (!s) s = memo_add(o->memo, x, t.y, t.outputs.data, why, 0, o->opt.noisy, &added, err);
    if (s == GPM_E_CONFLICT)
        buf_puts(err, "; in a noisy search (--noisy) a point may be told again");
    outcome_release(&t);
    return s ? s : finished(o, err);
}
