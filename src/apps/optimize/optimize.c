/* SPDX-License-Identifier: Apache-2.0
 * The handle of an optimisation: settings, store, and keeping the optimiser in step with it. */
#include "apps/optimize/optimize.h"
#include "base/count.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/optimize/bo_rules.h"
#include "apps/optimize/memo_csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct optimize *optimize_new(const struct gpm_optimize_options *opt) {
    struct optimize *o = NEW(struct optimize);
    o->opt = *opt;
    if (o->opt.jobs < 1) o->opt.jobs = 1;
    o->end = "budget";
    return o;
}

void optimize_free(struct optimize *o) {
    if (!o) return;
    for (size_t i = 0; i < o->trace.n; i++) {
        mem_free(o->trace.at[i].x);
        mem_free(o->trace.at[i].values);
        mem_free(o->trace.at[i].error);
        vec_release(&o->trace.at[i].curve.best);
    }
    vec_release(&o->trace);
    vec_release(&o->pending);
    vec_release(&o->starts);
    bo_free(o->bo);
    memo_close(o->memo);
    if (o->command_text) proc_command_release(&o->command);
    mem_free(o->command_text);
    bo_space_release(&o->space);
    goals_release(&o->goals);
    mem_free(o->identity);
    mem_free(o->state);
    mem_free(o->failure);
    mem_free(o->unread_one);
    mem_free(o);
}

static const char **space_names(const struct bo_space *s) {
    const char **names = NEW_ARRAY(const char *, (size_t)s->n + 1);
    for (int j = 0; j < s->n; j++) names[j] = s->vars[j].name;
    return names;
}

static void set_identity(struct optimize *o, const char *text) {
    struct buf b = BUF_INIT;
    buf_puts(&b, text);
    if (o->opt.version) buf_printf(&b, " [%s]", o->opt.version);
    mem_free(o->identity);
    o->identity = buf_take(&b);
}

static enum gpm_status take_command(struct optimize *o, enum gpm_status s) {
    if (s) return s;
    struct buf text = BUF_INIT;
    o->command.timeout = o->opt.timeout;
    o->command.retries = o->opt.retries;
    proc_command_text(&o->command, &text);
    set_identity(o, text.data);
    o->command_text = buf_take(&text);
    return GPM_OK;
}

enum gpm_status optimize_command(struct optimize *o, char *const *argv, int argc, struct buf *err) {
    const char **names = space_names(&o->space);
    enum gpm_status s =
        proc_command_init(&o->command, argv, argc, names, o->space.n, o->opt.json, err);
    mem_free(names);
    return take_command(o, s);
}

/* The end of a word: a blank outside of quotes. */
static size_t word_length(const char *p) {
    bool quoted = false;
    size_t n = 0;
    for (; p[n] && (quoted || p[n] != ' '); n++) {
        if (p[n] == '"') quoted = !quoted;
        if (quoted && p[n] == '\\' && p[n + 1]) n++;
    }
    return n;
}

/* Reads a word name=value into x; false: no such variable, or an invalid value. */
static enum gpm_status read_word(struct optimize *o, const char *word, double *x, struct buf *err) {
    const char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) : 0;
    for (int j = 0; j < o->space.n; j++)
        if (strlen(o->space.vars[j].name) == len && memcmp(o->space.vars[j].name, word, len) == 0)
            return bo_space_read_quoted(&o->space, j, eq + 1, &x[j], err);
    return buf_fail(err, GPM_E_ARG, "guess '%s': expected name=value of a variable", word);
}

enum gpm_status optimize_start(struct optimize *o, const char *text, struct buf *err) {
    size_t n = (size_t)o->space.n;
    double *x = NEW_ARRAY(double, n + 1);
    enum gpm_status s = GPM_OK;
    for (size_t j = 0; j < n; j++) x[j] = NAN;
    for (const char *p = text + strspn(text, " "); *p && !s; p += strspn(p, " ")) {
        size_t len = word_length(p);
        char *word = mem_strndup(p, len);
        s = read_word(o, word, x, err);
        mem_free(word);
        p += len;
    }
    for (size_t j = 0; j < n && !s; j++)
        if (isnan(x[j]))
            s = buf_fail(err, GPM_E_ARG, "guess '%s': the variable '%s' is missing", text,
                         o->space.vars[j].name);
    for (size_t j = 0; j < n && !s; j++) vec_push(&o->starts, x[j]);
    mem_free(x);
    return s;
}

void optimize_function(struct optimize *o, const char *identity, gpm_objective *fn, void *user) {
    o->fn = fn;
    o->fn_user = user;
    set_identity(o, identity);
}

/* ---- settings beside the table ---- */

/* beta was the width of a bound, always at its default. */
static void settings_text(const struct gpm_optimize_options *p, struct buf *out) {
    buf_printf(out,
               "goal=%s seed=%llu noisy=%d acq=%d initial=%d mcmc=%d no_local=%d beta=%a "
               "budget=%zu json=%d timeout=%a retries=%d",
               p->maximize ? "max" : "min", (unsigned long long)p->seed, p->noisy,
               (int)p->acquisition, p->initial, p->mcmc, p->no_local, 0.0, p->budget, p->json,
               p->timeout, p->retries);
}

/* Into the options they belong to. False: not within what an optimiser can be told; a file may say
 * anything. */
static bool read_settings(const char *text, struct gpm_optimize_options *p) {
    char goal[8], timeout[40], *end; /* as %a writes it */
    unsigned long long seed;
    int noisy, acq, no_local, json;
    if (sscanf(text,
               "goal=%7s seed=%llu noisy=%d acq=%d initial=%d mcmc=%d no_local=%d beta=%*s "
               "budget=%zu json=%d timeout=%39s retries=%d",
               goal, &seed, &noisy, &acq, &p->initial, &p->mcmc, &no_local, &p->budget, &json,
               timeout, &p->retries) != 11)
        return false;
    p->timeout = number_read(timeout, &end);
    if (*end) return false;
    p->maximize = strcmp(goal, "max") == 0;
    p->seed = seed;
    p->noisy = noisy;
    p->acquisition = (enum gpm_acquisition)acq;
    p->no_local = no_local;
    p->json = json;
    return (p->maximize || strcmp(goal, "min") == 0) && (noisy | no_local | json | 1) == 1 &&
           acq >= 0 && acq <= GPM_ACQ_UCB && count_fits(COUNT_INITIAL, (uint64_t)p->initial) &&
           p->mcmc >= -1 && p->mcmc <= 1 && p->timeout >= 0 && isfinite(p->timeout) &&
           count_fits(COUNT_RETRIES, (uint64_t)p->retries);
}

static enum gpm_status conflict(struct optimize *o, const char *what, struct buf *err) {
    return buf_fail(err, GPM_E_CONFLICT,
                    "store '%s' holds a search with %s; go on with that one (--join), or name "
                    "another store",
                    o->opt.store, what);
}

/* The space: stored and given must agree; whichever is there is used. */
static enum gpm_status settle_space(struct optimize *o, struct buf *err) {
    struct bo_space stored;
    enum gpm_status s = memo_space(o->memo, &stored, err);
    struct buf mine = BUF_INIT, theirs = BUF_INIT;
    bo_space_text(&o->space, &mine);
    if (s == GPM_E_NOT_FOUND) {
        s = o->space.n ? memo_set(o->memo, "space", mine.data, err) : GPM_E_ARG;
        if (s == GPM_E_ARG)
            buf_printf(err, "store '%s' holds no search space; give the variables with --var",
                       o->opt.store ? o->opt.store : "");
    } else if (!s) {
        bo_space_text(&stored, &theirs);
        if (o->space.n && strcmp(mine.data, theirs.data) != 0)
            s = conflict(o, "other variables or ranges", err);
        bo_space_release(&o->space);
        o->space = stored;
    }
    buf_release(&mine);
    buf_release(&theirs);
    return s;
}

/* Objectives and bounds: stored and given must agree; whichever is there is used. */
static enum gpm_status settle_goals(struct optimize *o, struct buf *err) {
    char *text = NULL, *settings = NULL;
    struct buf mine = BUF_INIT, theirs = BUF_INIT;
    struct goals stored = {0};
    enum gpm_status s = goals_settle(&o->goals, o->opt.maximize, err);
    if (s) return s;
    goals_text(&o->goals, &mine);
    s = memo_get(o->memo, "goals", &text, err);
    if (s == GPM_E_NOT_FOUND) {
        bool begun = memo_get(o->memo, "settings", &settings, err) == GPM_OK;
        s = GPM_OK;
        if (o->goals.given && begun) s = conflict(o, "one number as its only objective", err);
        if (o->goals.given && !s) s = memo_set(o->memo, "goals", mine.data, err);
    } else if (!s) {
        s = goals_parse(&stored, text, err);
        goals_text(&stored, &theirs);
        if (!s && o->goals.given && strcmp(mine.data, theirs.data) != 0)
            s = conflict(o, "other objectives, bounds or numbers", err);
        goals_release(&o->goals);
        o->goals = stored;
    }
    mem_free(text);
    mem_free(settings);
    buf_release(&mine);
    buf_release(&theirs);
    return s;
}

static enum gpm_status settle_settings(struct optimize *o, struct buf *err) {
    char *text = NULL;
    struct gpm_optimize_options *mine = &o->opt, stored = *mine;
    struct buf new = BUF_INIT;
    enum gpm_status s = memo_get(o->memo, "settings", &text, err);
    if (!s && !read_settings(text, &stored))
        s = buf_fail(err, GPM_E_FORMAT,
                     "store '%s': its settings are not those of a search; the file is damaged",
                     mine->store);
    if (!s && mine->join && mine->maximize && !stored.maximize) {
        s = conflict(o, "the goal to minimise", err);
    } else if (!s && mine->join && mine->noisy && !stored.noisy) {
        s = conflict(o, "an exact objective", err);
    } else if (!s && mine->join) {
        if (mine->budget) stored.budget = mine->budget;
        if (mine->timeout != 0) stored.timeout = mine->timeout;
        if (mine->retries) stored.retries = mine->retries;
        *mine = stored;
    } else if (!s && stored.maximize != mine->maximize) {
        s = conflict(o, mine->maximize ? "the goal to minimise" : "the goal to maximise", err);
    } else if (!s && stored.noisy != mine->noisy) {
        s = conflict(o, stored.noisy ? "a noisy objective" : "an exact objective", err);
    } else if (!s || s == GPM_E_NOT_FOUND) {
        settings_text(mine, &new);
        s = memo_set(o->memo, "settings", new.data, err);
    }
    mem_free(text);
    buf_release(&new);
    return s;
}

/* A worker that joins runs the store's command. A file from another user must not make us run
 * programs without consent; asking and telling run no programs. */
static enum gpm_status adopt_command(struct optimize *o, struct buf *err) {
    char *text = NULL;
    enum gpm_status s = memo_get(o->memo, "command", &text, err);
    if (s == GPM_E_NOT_FOUND) return GPM_OK; /* of ask and tell */
    bool own = false;
    if (!s) s = optimize_own_command(o, text, false, &own, err);
    o->foreign = !own;
    const char **names = space_names(&o->space);
    if (!s) s = proc_command_parse(&o->command, text, names, o->space.n, o->opt.json, err);
    mem_free(names);
    mem_free(text);
    return take_command(o, s);
}

/* ---- opening ---- */

static enum gpm_status open_memo(struct optimize *o, struct buf *err) {
    struct memo_options mo = {.stop = o->opt.stop,
                              .claim_seconds = o->opt.claim_seconds,
                              .say = o->opt.progress,
                              .say_user = o->opt.user};
    struct buf names = BUF_INIT;
    for (int j = 0; j < o->space.n; j++)
        buf_printf(&names, "%s%s", j ? "," : "", o->space.vars[j].name);
    if (!o->opt.join && o->space.n) {
        mo.function = o->identity ? o->identity : "ask/tell";
        mo.dim = o->space.n;
        mo.names = names.data;
    }
    bool exists = o->opt.store && !o->identity && memo_there(o->opt.store);
    if (exists) mo.function = NULL; /* of ask and tell: whatever it is for */
    enum gpm_status s = memo_open(&o->memo, o->opt.store ? o->opt.store : ":memory:", &mo, err);
    if (!s && o->memo->brought && o->opt.progress) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "%zu value%s that an outage had kept out came in", o->memo->brought,
                   o->memo->brought == 1 ? "" : "s");
        o->opt.progress(o->opt.user, text.data);
        buf_release(&text);
    }
    buf_release(&names);
    return s;
}

static enum gpm_status store_command(struct optimize *o, struct buf *err) {
    if (!o->command_text) return GPM_OK;
    bool own;
    enum gpm_status s = memo_set(o->memo, "command", o->command_text, err);
    return s || !o->opt.store ? s : optimize_own_command(o, o->command_text, true, &own, err);
}

/* ---- values of an earlier search ---- */

struct import {
    struct optimize *o;
    struct bo_space theirs;
    int *at; /* place of each variable of ours in theirs */
    double *x, *values;
    enum gpm_status s;
    struct buf *err;
};

/* A row of theirs, when it is a point of ours and has the numbers that are asked for. */
static bool import_row(const struct memo_row *r, void *user) {
    struct import *m = user;
    struct optimize *o = m->o;
    struct buf text = BUF_INIT, why = BUF_INIT;
    bool fits = r->status == MEMO_DONE && goals_read(&o->goals, r->y, r->outputs, m->values), added;
    for (int j = 0; fits && j < o->space.n; j++) {
        buf_reset(&text);
        bo_space_value(&m->theirs, m->at[j], r->x[m->at[j]], 0, &text);
        fits = bo_space_read(&o->space, j, text.data, &m->x[j], &why) == GPM_OK;
    }
    fits = fits && bo_space_check(&o->space, m->x, &why) == GPM_OK;
    o->from_seen++;
    o->from_used += fits;
    if (fits)
        m->s = memo_add(o->memo, m->x, r->y, r->outputs, NULL, r->seconds, o->opt.noisy, &added,
                        m->err);
    buf_release(&text);
    buf_release(&why);
    return m->s == GPM_OK;
}

static enum gpm_status match_names(struct import *m, struct buf *err) {
    const struct bo_space *ours = &m->o->space;
    for (int j = 0; j < ours->n; j++) {
        m->at[j] = -1;
        for (int i = 0; i < m->theirs.n; i++)
            if (strcmp(ours->vars[j].name, m->theirs.vars[i].name) == 0) m->at[j] = i;
        if (m->at[j] < 0)
            return buf_fail(err, GPM_E_CONFLICT, "store '%s' knows nothing of the variable '%s'",
                            m->o->opt.from, ours->vars[j].name);
    }
    return GPM_OK;
}

static enum gpm_status import_store(struct optimize *o, struct buf *err) {
    struct memo *from = NULL;
    const struct memo_options look = {.read_only = true, .stop = o->opt.stop};
    struct import m = {.o = o, .err = err, .at = NEW_ARRAY(int, (size_t)o->space.n)};
    m.x = NEW_ARRAY(double, (size_t)(o->space.n + goals_count(&o->goals)));
    m.values = m.x + o->space.n;
    struct buf key = BUF_INIT; /* once: a search that goes on has them already */
    char *done = NULL;
    buf_printf(&key, "from:%s", o->opt.from);
    enum gpm_status s = memo_get(o->memo, key.data, &done, err);
    bool taken = !s;
    if (s == GPM_E_NOT_FOUND) s = memo_open(&from, o->opt.from, &look, err);
    if (!s && !taken) s = memo_inputs(from, &m.theirs, err);
    if (!s && !taken) s = match_names(&m, err);
    if (!s && !taken) s = memo_each(from, 0, import_row, &m, err);
    o->from_read = !s && !taken;
    if (!s && !taken && !m.s) s = memo_set(o->memo, key.data, "taken", err);
    buf_release(&key);
    mem_free(done);
    bo_space_release(&m.theirs);
    memo_close(from);
    mem_free(m.at);
    mem_free(m.x);
    return s ? s : m.s;
}

/* Guesses are points of the space that is settled by now. */
static enum gpm_status check_starts(const struct optimize *o, struct buf *err) {
    struct buf why = BUF_INIT;
    enum gpm_status s = GPM_OK;
    for (size_t i = 0; i < o->starts.n && !s; i += (size_t)o->space.n) {
        s = bo_space_check(&o->space, o->starts.at + i, &why);
        if (!s) continue;
        buf_puts(err, "guess");
        optimize_put_point(o, o->starts.at + i, 0, err);
        buf_printf(err, ": %s", why.data);
    }
    buf_release(&why);
    return s;
}

/* What the store and the caller say of the search, in one transaction. `given`: the command, or the
 * function, is the caller's; the store's is adopted once. */
static enum gpm_status settle_all(struct optimize *o, bool given, struct buf *err) {
    size_t added;
    enum gpm_status s = memo_begin(o->memo, err);
    if (!s) s = settle_space(o, err);
    if (!s) s = settle_goals(o, err);
    if (!s) s = check_starts(o, err);
    if (!s) s = settle_settings(o, err);
    if (!s && given) s = store_command(o, err);
    if (!s && !given && !o->command_text) s = adopt_command(o, err);
    if (!s && o->opt.warm)
        s = memo_csv_import(o->memo, &o->space, o->opt.warm, o->opt.noisy, &added, err);
    if (!s && o->opt.from) s = import_store(o, err);
    return memo_end(o->memo, s, err);
}

enum gpm_status optimize_open(struct optimize *o, struct buf *err) {
    bool given = o->command_text || o->fn;
    if (!o->space.n && !o->opt.store)
        return buf_fail(err, GPM_E_ARG,
                        "there are no variables; give at least one, for example --var x=-5:10");
    enum gpm_status s = open_memo(o, err);
    if (s) return s;
    size_t said = err->len;
    do { /* but for rows of a file, which might come twice, it is all the same when done again */
        s = settle_all(o, given, err);
    } while (!o->opt.warm && memo_again(o->memo, s, said, err));
    if (o->goals.names.n) o->command.outputs = &o->goals.names;
    if (!s) s = optimize_refresh(o, err);
    return s ? s : optimize_write_log(o, err);
}

/* ---- in step with the store ---- */

static bool add_eval(const struct memo_row *r, void *user) {
    struct optimize *o = user;
    struct optimize_eval e = {.x = NEW_ARRAY(double, (size_t)r->dim),
                              .y = NAN,
                              .id = r->id,
                              .seq = r->seq,
                              .seconds = r->seconds};
    memcpy(e.x, r->x, (size_t)r->dim * sizeof(double));
    int first;
    goals_objectives(&o->goals, &first);
    if (r->status == MEMO_DONE) e.values = NEW_ARRAY(double, (size_t)goals_count(&o->goals));
    if (e.values && !goals_read(&o->goals, r->y, r->outputs, e.values)) {
        mem_free(e.values);
        e.values = NULL;
        e.error = mem_strdup("the stored evaluation lacks numbers that are asked for");
    } else if (e.values) {
        e.y = e.values[first];
    } else {
        e.error = mem_strdup(r->error);
    }
    e.given = strcmp(r->tag, MEMO_GIVEN) == 0;
    if (strstr(r->outputs, "\"steps\"")) {
        double *pairs;
        size_t n = proc_read_steps(r->outputs, &pairs, &e.stopped);
        optimize_curve(o, pairs, n, &e.curve);
        mem_free(pairs);
    }
    vec_push(&o->trace, e);
    return true;
}

/* What an evaluation that was stopped would have come to: its last value, and the mean way that the
 * complete ones before it still went from that step on. */
static double would_be(const struct optimize *o, size_t at) {
    const struct optimize_eval *e = &o->trace.at[at];
    double way = 0, n = 0;
    for (size_t i = 0; i < at; i++) {
        struct optimize_eval *other = &o->trace.at[i];
        double then = optimize_by_step(&other->curve, e->curve.last);
        if (other->stopped || isnan(then) || isnan(other->y)) continue;
        way += other->y - then;
        n++;
    }
    return e->y + (n > 0 ? way / n : 0);
}

static void feed(struct optimize *o, size_t upto) {
    for (; o->fed < upto && o->fed < o->trace.n; o->fed++) {
        const struct optimize_eval *e = &o->trace.at[o->fed];
        if (!bo_space_inside(&o->space, e->x)) continue;
        double guess = e->stopped && e->curve.best.n ? would_be(o, o->fed) : NAN;
        goals_tell(&o->goals, o->bo, e->x, isnan(guess) ? e->values : &guess);
    }
}

static void begin_anew(struct optimize *o) {
    bo_free(o->bo);
    o->bo = goals_optimiser(&o->goals, &o->space, &o->opt);
    o->fed = 0;
}

/* A state saved by another process or an earlier run: replays up to it, then takes it over. Without
 * a valid state everything is learned again. */
static void adopt_state(struct optimize *o, const char *text) {
    size_t told = 0;
    begin_anew(o);
    if (text && bo_state_told(text, &told)) {
        while (bo_count(o->bo) < told && o->fed < o->trace.n) feed(o, o->fed + 1);
        if (!bo_state_load(o->bo, text)) begin_anew(o);
    }
    mem_free(o->state);
    o->state = text ? mem_strdup(text) : NULL;
}

static bool note_pending(const struct memo_row *r, void *user) {
    struct optimize *o = user;
    bool open = r->status == MEMO_CLAIMED || r->status == MEMO_ASKED;
    if (!open || !bo_space_inside(&o->space, r->x)) return true;
    for (int j = 0; j < r->dim; j++) vec_push(&o->pending, r->x[j]);
    return true;
}

enum gpm_status optimize_refresh(struct optimize *o, struct buf *err) {
    char *text = NULL;
    int64_t after = o->trace.n ? vec_last(&o->trace).seq : 0;
    enum gpm_status s = memo_each(o->memo, after, add_eval, o, err);
    if (!s) s = memo_get(o->memo, "bo", &text, err);
    if (s == GPM_E_NOT_FOUND) s = GPM_OK;
    if (s) return s;
    bool same = text && o->state && strcmp(text, o->state) == 0;
    if (!o->bo || (text && !same)) adopt_state(o, text);
    mem_free(text);
    feed(o, o->trace.n);
    vec_clear(&o->pending);
    s = memo_each(o->memo, -1, note_pending, o, err);
    if (!s) bo_set_pending(o->bo, o->pending.at, o->pending.n / (size_t)o->space.n);
    return s;
}

enum gpm_status optimize_save_state(struct optimize *o, struct buf *err) {
    struct buf text = BUF_INIT;
    bo_state_save(o->bo, &text);
    enum gpm_status s = memo_set(o->memo, "bo", text.data, err);
    mem_free(o->state);
    o->state = buf_take(&text);
    return s;
}
