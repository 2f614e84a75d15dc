/* SPDX-License-Identifier: Apache-2.0
 *
 * The public runtime: include/gpmem/gpmem.h over session/. Programs run on a thread of their own
 * with a large stack, so deep recursion ends in a diagnostic and not in a crash. */
#include "gpmem/gpmem.h"
#include "front/api/call.h"
#include "front/api/stack.h"
#include "front/api/voice.h"
#include "gp/process/gp.h"
#include "inference/run/advice.h"
#include "inference/run/profile.h"
#include "inference/run/progress.h"
#include "inference/hmc/sampler_stats.h"
#include "language/lang/format.h"
#include "front/session/checkpoint.h"
#include "front/session/session.h"
#include "language/rows/protocol/sp_options.h"
#include "language/rows/source/srcfn.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/fibres.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/version.h"
#include "numeric/la/blas.h"

#include <stdio.h>
#include <string.h>

struct gpm_session {
    struct session s;
    struct sp_options permissions;
    struct gpm_options options;
    struct buf error, text;
    atomic_bool busy;      /* one call at a time */
    bool stopped;          /* the last run ended on request or by its limit of time */
    enum gpm_status ready; /* not GPM_OK: the library could not be read, and nothing runs */
};

enum { STACK_MARGIN = 256 * 1024 };
static const size_t default_stack = (size_t)256 << 20;

static const struct gpm_options default_options = {.seed = 1, .jobs = 1, .checkpoint_seconds = 60};

void gpm_options_init_sized(struct gpm_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

static void render_error(gpm_session *g) {
    const struct diags *d = &g->s.diags;
    if (!d->list.n) return;
    if (g->options.diagnostics_json)
        diags_render_json(d, &g->error);
    else
        diags_render(d, g->options.colour, &g->error);
}

/* Of the check before a run: said now, and not again at the end. */
static void say_warnings(void *user) {
    gpm_session *g = user;
    render_error(g);
    if (g->options.write) g->options.write(g->options.user, 2, g->error.data, g->error.len);
    buf_reset(&g->error);
    for (size_t i = 0; i < g->s.diags.list.n; i++) g->s.diags.list.at[i]->said = true;
}

gpm_session *gpm_session_new(const struct gpm_options *given) {
    gpm_session *g = NEW(gpm_session);
    g->options = default_options;
    options_take(&g->options, sizeof g->options, given);
    const struct gpm_options *o = &g->options;
    buf_init(&g->error);
    buf_init(&g->text);
    g->ready = session_init(&g->s, o->seed, o->chain);
    if (g->ready != GPM_OK) render_error(g);
    if (g->ready == GPM_OK) g->ready = count_check(COUNT_JOBS, "--jobs", o->jobs, &g->error);
    g->s.json = o->format == GPM_FORMAT_JSON;
    g->s.verbose = o->verbose > 0;
    g->s.infer.write = o->write;
    g->s.infer.user = o->user;
    g->s.infer.show = o->show;
    g->s.infer.show_user = o->show_user;
    g->s.infer.draw = o->draw;
    if (o->profile) g->s.infer.profile = profile_new();
    g->s.warn = o->warn_early ? say_warnings : NULL;
    g->s.warn_user = g;
    g->s.infer.draw_user = o->draw_user;
    g->s.infer.progress.report = o->progress;
    g->s.infer.progress.user = o->progress_user;
    g->permissions = (struct sp_options){.allow_run = o->allow_run,
                                         .allow_write = o->allow_write,
                                         .jobs = o->jobs ? o->jobs : 1,
                                         .agreed = BUF_INIT,
                                         .stop = &g->s.interrupted,
                                         .confirm = o->confirm,
                                         .user = o->user,
                                         .file = o->file,
                                         .file_user = o->file_user};
    g->s.core.host.options = &g->permissions;
    if (o->max_memory) { /* what the process holds already does not count */
        g->s.core.max_nodes = o->max_memory / 160;
        g->s.core.limits.max_memory = g->permissions.max_memory =
            mem_held(SIZE_MAX) + o->max_memory;
    }
    g->s.core.watch_memory = true;
    double seconds = o->checkpoint_seconds;
    if (seconds == 0) seconds = default_options.checkpoint_seconds; /* not: all the time */
    if (o->checkpoint) session_checkpoints(&g->s, seconds, o->checkpoint, o->checkpoint_user);
    return g;
}

static void *release_job(void *arg) {
    session_release(arg);
    return NULL;
}

/* About 8 KB of C stack per level of recursion is ample without sanitizers. */
static size_t stack_size(const struct gpm_options *o) {
    const size_t a_level = 8192, at_least = (size_t)1 << 20;
    if (!o->max_depth) return default_stack;
    return o->max_depth > (SIZE_MAX / 2 - at_least) / a_level ? SIZE_MAX / 2
                                                              : o->max_depth * a_level + at_least;
}

/* On a large stack: a deep recursion's families are released as deep as they were made. */
void gpm_session_free(gpm_session *g) {
    if (!g || !call_enter(&g->busy)) return;
    const char *lowest;
    if (!run_on_stack(stack_size(&g->options), release_job, &g->s, &lowest)) session_release(&g->s);
    buf_release(&g->permissions.agreed);
    buf_release(&g->error);
    buf_release(&g->text);
    mem_free(g);
}

struct job {
    gpm_session *g;
    const char *name, *text;
    size_t len;
    bool file, check;
    const char *stack; /* its lowest byte */
    enum gpm_status st;
};

static void *run_job(void *arg) {
    struct job *j = arg;
    struct session *s = &j->g->s;
    /* from below: what the thread keeps of its own (TLS) lies above and can be large */
    s->core.stack_limit = j->stack + STACK_MARGIN;
    struct work_limits *limits = &s->core.limits;
    limits->cuts = true;
    limits->taken = false;
    limits->cut = WORK_GOES_ON;
    limits->since = 0;
    work_set_limits(limits);
    place_hand(&s->core);
    limits->patience = place_patience(&s->core);
    j->st = j->check  ? session_check(s, j->name, j->text, j->len, false)
            : j->file ? session_run_file(s, j->name, NO_SPAN)
                      : session_run(s, j->name, j->text, j->len);
    place_take(&s->core);
    s->core.stack_limit = NULL;
    work_set_limits(NULL);
    return NULL;
}

/* Clears the errors and reserves memory for new ones; false: out of memory. */
static bool runtime_begin(gpm_session *g) {
    diags_rewind(&g->s.diags, 0);
    buf_reset(&g->error);
    return mem_reserve();
}

static enum gpm_status runtime_run(gpm_session *g, struct job *j) {
    CALL_ALONE(g, GPM_E_BUSY);
    struct session *s = &g->s;
    if (g->ready != GPM_OK) return g->ready;
    if (!runtime_begin(g) || !la_enter(1)) return GPM_E_NOMEM;
    s->core.shortages = mem_shortages();
    s->core.limits.deadline =
        g->options.max_seconds > 0 ? clock_seconds() + g->options.max_seconds : 0;
    s->stack_size = stack_size(&g->options);
    s->core.places.asked = 0;
    s->core.places.stopping = false;
    j->g = g;
    bool ran = g->options.together && fibres_run(s->stack_size, run_job, j, &j->stack);
    if (!ran && !run_on_stack(s->stack_size, run_job, j, &j->stack)) {
        diag_raise(&s->diags, DIAG_LIMIT, NO_SPAN,
                   "there is no address space for a recursion of depth %zu (--max-depth)",
                   g->options.max_depth ? (size_t)g->options.max_depth : s->stack_size / 8192);
        j->st = GPM_E_USER;
    }
    la_leave(1);
    if (s->core.limits.max_memory) mem_give_back(s->core.limits.max_memory);
    g->stopped = j->st != GPM_OK &&
                 (stop_asked(&s->interrupted) ||
                  (s->core.limits.deadline > 0 && clock_seconds() > s->core.limits.deadline));
    render_error(g);
    /* Here and not above: asked of a command that is about to begin, it is heard by it. */
    stop_set(&s->interrupted, false);
    return j->st && mem_shortages() != s->core.shortages ? GPM_E_NOMEM : j->st;
}

enum gpm_status gpm_run_text(gpm_session *g, const char *name, const char *text, size_t len) {
    struct job j = {.name = name, .text = text, .len = len};
    return runtime_run(g, &j);
}

enum gpm_status gpm_run_file(gpm_session *g, const char *path) {
    struct job j = {.name = path, .file = true};
    return runtime_run(g, &j);
}

struct restoring {
    gpm_session *g;
    const void *data;
    size_t n;
    struct buf why;
    const char *stack; /* its lowest byte */
    enum gpm_status st;
};

static void *restore_job(void *arg) {
    struct restoring *r = arg;
    r->g->s.core.stack_limit = r->stack + STACK_MARGIN;
    r->st = session_restore(&r->g->s, r->data, r->n, &r->why);
    r->g->s.core.stack_limit = NULL;
    return NULL;
}

enum gpm_status gpm_restore(gpm_session *g, const void *data, size_t n) {
    CALL_ALONE(g, GPM_E_BUSY);
    struct restoring r = {.g = g, .data = data, .n = n, .why = BUF_INIT};
    if (g->ready != GPM_OK) return g->ready;
    if (!runtime_begin(g)) return GPM_E_NOMEM;
    if (!run_on_stack(stack_size(&g->options), restore_job, &r, &r.stack)) return GPM_E_NOMEM;
    if (r.st != GPM_OK) {
        if (g->s.core.places.left || sampler_in_use(&g->s.infer)) g->ready = GPM_E_USER;
        buf_printf(&g->error, "the checkpoint cannot be used: %s\n", r.why.data);
    }
    buf_release(&r.why);
    return r.st;
}

enum gpm_status gpm_check_text(gpm_session *g, const char *name, const char *text, size_t len,
                               bool interactive) {
    struct job j = {.name = name, .text = text, .len = len, .check = true};
    if (!interactive) return runtime_run(g, &j);
    CALL_ALONE(g, GPM_E_BUSY);
    if (!runtime_begin(g)) return GPM_E_NOMEM;
    enum gpm_status st = session_check(&g->s, name, text, len, true);
    render_error(g);
    return st;
}

const char *gpm_format_text(gpm_session *g, const char *name, const char *text, size_t len) {
    CALL_ALONE(g, NULL);
    buf_reset(&g->text);
    if (!runtime_begin(g)) return NULL;
    enum gpm_status st = session_check(&g->s, name, text, len, true);
    if (st == GPM_E_INCOMPLETE) st = session_check(&g->s, name, text, len, false);
    if (st != GPM_OK) render_error(g);
    if (st == GPM_OK) format_text(text, len, &g->text);
    return st == GPM_OK ? g->text.data : NULL;
}

static enum gpm_status take_data(gpm_session *g, const char *path, const char *text, size_t len) {
    CALL_ALONE(g, GPM_E_BUSY);
    if (g->ready != GPM_OK) return g->ready;
    if (!runtime_begin(g)) return GPM_E_NOMEM;
    enum gpm_status st =
        path ? session_data_file(&g->s, path) : session_data_json(&g->s, text, len);
    render_error(g);
    return st;
}

enum gpm_status gpm_data_json(gpm_session *g, const char *text, size_t len) {
    return take_data(g, NULL, text, len);
}

enum gpm_status gpm_data_file(gpm_session *g, const char *path) {
    return take_data(g, path, NULL, 0);
}

const char *gpm_list_directives(gpm_session *g) {
    CALL_ALONE(g, "");
    buf_reset(&g->text);
    infer_list_directives(&g->s.infer, &g->text);
    return g->text.data;
}

const char *gpm_profile(gpm_session *g) {
    CALL_ALONE(g, "");
    buf_reset(&g->text);
    if (g->s.infer.profile) profile_text(g->s.infer.profile, &g->s.sources, &g->text);
    return g->text.data;
}

const char *gpm_last_error(gpm_session *g) {
    CALL_SAYS(g);
    return voice_text(&g->error);
}

void gpm_interrupt(gpm_session *g) {
    stop_set(&g->s.interrupted, true);
}

bool gpm_stopped(const gpm_session *g) {
    CALL_ALONE((gpm_session *)g, false);
    return *g->error.data && g->stopped;
}

void gpm_complete(gpm_session *g, const char *prefix, void (*each)(void *, const char *),
                  void *user) {
    CALL_ALONE(g, );
    session_complete(&g->s, prefix, each, user);
}

uint64_t gpm_acceptance(gpm_session *g, void (*each)(void *, const char *, uint64_t, uint64_t),
                        void *user) {
    CALL_ALONE(g, 0);
    const struct infer_state *x = &g->s.infer;
    for (size_t i = 0; i < x->n_stats; i++) {
        buf_reset(&g->text);
        scope_name_text(x->stats[i].scope, &g->text);
        each(user, g->text.data, x->stats[i].proposed, x->stats[i].accepted);
    }
    return (uint64_t)sampler_summarise(x).divergences;
}

const char *gpm_trajectory_complaints(gpm_session *g) {
    CALL_ALONE(g, "");
    buf_reset(&g->text);
    advice_of_trajectories(&g->s.infer, &g->text);
    return g->text.data;
}

void gpm_sampler_facts(gpm_session *g, void (*each)(void *, const char *, double), void *user) {
    CALL_ALONE(g, );
    struct sampler_summary s = sampler_summarise(&g->s.infer);
    const char *name;
    double v;
    for (size_t i = 0; sampler_in_use(&g->s.infer) && (name = sampler_fact(&s, i, &v)); i++)
        each(user, name, v);
}

const char *gpm_acceptance_advice(gpm_session *g, const char *scope) {
    CALL_ALONE(g, "");
    const struct infer_state *x = &g->s.infer;
    const char *advice = "";
    for (size_t i = 0; i < x->n_stats; i++) {
        buf_reset(&g->text);
        scope_name_text(x->stats[i].scope, &g->text);
        if (!strcmp(g->text.data, scope)) advice = advice_for_scope(x, x->stats[i].scope);
    }
    return advice;
}

size_t gpm_acceptance_complaint(const char *scope, double proposed, double accepted,
                                const char *advice, char *text, size_t size) {
    struct buf b = BUF_INIT;
    advice_of_share(scope, proposed, accepted, advice, &b);
    size_t n = b.len;
    if (size) snprintf(text, size, "%s", b.data);
    buf_release(&b);
    return n;
}

const char *gpm_help(gpm_session *g, const char *name) {
    CALL_ALONE(g, NULL);
    buf_reset(&g->text);
    return session_help(&g->s, name, &g->text) ? g->text.data : NULL;
}

const char *gpm_reference_json(gpm_session *g) {
    CALL_ALONE(g, "");
    buf_reset(&g->text);
    session_reference_json(&g->s, &g->text);
    return g->text.data;
}

static bool is_type(const char *word) {
    return !strcmp(word, "real") || !strcmp(word, "number");
}

/* (name: real, name: real) -> real, with number for real; how many parameters, or -1. */
static int count_parameters(const char *sig) {
    char type[8], after = ',';
    int n = 0, used = (int)strspn(sig, " ");
    for (sig += used; after == ','; n++) {
        if (n == 0 && *sig++ != '(') return -1;
        if (sscanf(sig, " %*[A-Za-z0-9_] : %7[a-z] %c%n", type, &after, &used) != 2) return -1;
        if (!is_type(type)) return -1;
        sig += used;
    }
    bool good = after == ')' && sscanf(sig, " -> %7[a-z] %c", type, &after) == 1 && is_type(type);
    return good ? n : -1;
}

static enum gpm_status bind_function(gpm_session *g, const char *name, const char *sig,
                                     gpm_function *f, void *user, bool parallel) {
    CALL_ALONE(g, GPM_E_BUSY);
    buf_reset(&g->error);
    size_t n = 0;
    while (ascii_name(name[n])) n++;
    bool named = n && !name[n] && !ascii_digit(name[0]);
    int dim = named ? count_parameters(sig) : -1;
    if (!named) return buf_fail(&g->error, GPM_E_ARG, "'%s' is no name of the language", name);
    if (dim < 1)
        return buf_fail(
            &g->error, GPM_E_ARG,
            "the signature '%s' cannot be read; it looks like (x: real, y: real) -> real", sig);
    struct srcfn *s = srcfn_new(&srcfn_call, mem_strdup(name), dim);
    s->u.callback.f = f;
    s->u.callback.user = user;
    s->parallel = parallel;
    session_define(&g->s, name, srcfn_value(s));
    return GPM_OK;
}

enum gpm_status gpm_bind_function(gpm_session *g, const char *name, const char *sig,
                                  gpm_function *f, void *user) {
    return bind_function(g, name, sig, f, user, false);
}

enum gpm_status gpm_bind_parallel(gpm_session *g, const char *name, const char *sig,
                                  gpm_function *f, void *user) {
    return bind_function(g, name, sig, f, user, true);
}

enum gpm_status gpm_bind_callback(gpm_session *g, const char *name, gpm_callback *f, void *user) {
    CALL_ALONE(g, GPM_E_BUSY);
    buf_reset(&g->error);
    if (!name || !*name || !f)
        return buf_fail(&g->error, GPM_E_ARG, "a callback needs a name and a function");
    infer_bind_callback(&g->s.infer, name, f, user);
    return GPM_OK;
}

const char *gpm_version(void) {
    return version_text();
}
