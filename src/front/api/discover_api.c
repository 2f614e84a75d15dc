/* SPDX-License-Identifier: Apache-2.0
 *
 * Public face of the structure learner (include/gpmem/discover.h).
 */
#include "gpmem/discover.h"
#include "front/api/call.h"
#include "front/api/voice.h"
#include "front/api/discover_keep.h"
#include "front/api/picture.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/file.h"
#include "base/work.h"
#include "apps/ask/ask.h"
#include "apps/check/remarks.h"
#include "apps/discover/charts.h"
#include "apps/discover/panel.h"
#include "apps/discover/report.h"
#include "table/csv.h"
#include <math.h>
#include <string.h>

struct gpm_discovery {
    struct discovery d;
    bool ready;
    HANDLE;
    double *levels; /* quantiles of forecasts */
    size_t n_levels, paths;
};

static const struct gpm_discover_options default_options = {.seed = 1, .level = 0.95};

void gpm_discover_options_init_sized(struct gpm_discover_options *o, size_t size) {
    options_give(o, size, &default_options, sizeof default_options);
}

gpm_discovery *gpm_discover_new(void) {
    return HANDLE_NEW(gpm_discovery);
}

static void clear(gpm_discovery *d) {
    if (d->ready) discovery_release(&d->d);
    d->ready = false;
    buf_reset(&d->err);
}

void gpm_discover_free(gpm_discovery *d) {
    if (!d || !call_enter(&d->busy)) return;
    clear(d);
    mem_free(d->levels);
    HANDLE_FREE(d);
}

const char *gpm_discover_error(gpm_discovery *d) {
    CALL_SAYS(d);
    return voice_error(&d->err);
}

bool gpm_discover_settled(const gpm_discovery *d) {
    CALL_ALONE((gpm_discovery *)d, false);
    return d->ready && d->d.post.settled;
}

static enum gpm_status need_run(gpm_discovery *d) {
    enum gpm_status st = call_begin(&d->err);
    return st || d->ready ? st : buf_fail(&d->err, GPM_E_ARG, "there is no run yet");
}

/* What was left out for want of memory makes another answer: a run in which that happened failed.
 */
static enum gpm_status all_had_memory(gpm_discovery *d, unsigned long before, enum gpm_status st) {
    st = search_no_shortage(before, st, &d->err);
    if (d->ready && st) discovery_release(&d->d), d->ready = false;
    return st;
}

/* What the caller asked for. */
static struct kept_search asked(const char *name, const char *text, size_t len,
                                const struct gpm_discover_options *given) {
    struct kept_search k = {
        .kind = GPM_KEPT_SERIES, .name = name, .text = text, .len = len, .o = default_options};
    options_take(&k.o, sizeof k.o, given);
    return k;
}

/* The same, checked. */
static enum gpm_status take_options(const struct kept_search *k, struct discovery_options *opt,
                                    struct buf *err) {
    const struct gpm_discover_options *o = &k->o;
    *opt = (struct discovery_options){.series = {.time = o->time_column,
                                                 .value = o->value_column,
                                                 .skip_bad = o->skip_bad,
                                                 .max_points = o->max_points,
                                                 .date_format = o->date_format,
                                                 .missing = o->missing,
                                                 .every = o->every,
                                                 .take = (enum series_take)o->take,
                                                 .least = o->least,
                                                 .per_day = o->per_day,
                                                 .holidays = o->holidays,
                                                 .most = o->most,
                                                 .with = o->with_columns,
                                                 .smooth = o->smooth_columns,
                                                 .decimal = (enum series_decimal)o->decimal},
                                      .seed = o->seed,
                                      .threads = (int)o->threads,
                                      .change = o->changepoints,
                                      .logs = (enum log_choice)o->log,
                                      .precision = (enum precision_choice)o->precision,
                                      .holdout = o->holdout,
                                      .backtest = o->backtest,
                                      .horizon = o->horizon,
                                      .level = o->level,
                                      .seconds = o->max_seconds,
                                      .stop = o->stop,
                                      .finish = o->finish};
    enum gpm_status st = count_check(COUNT_THREADS, "--threads", o->threads, err);
    if (!st) st = count_check(COUNT_BACKTEST, "--backtest", o->backtest, err);
    if (!st) st = count_check(COUNT_HORIZON, "--horizon", o->horizon, err);
    if (st) return st;
    bool whole = o->holdout >= 1 && o->holdout <= 1e9 && o->holdout == floor(o->holdout);
    if (!(o->level > 0 && o->level < 1) || !((o->holdout >= 0 && o->holdout < 1) || whole))
        return buf_fail(err, GPM_E_ARG,
                        "the level lies between 0 and 1; the hold-out is a share between 0 and 1 "
                        "or a number of values");
    if ((unsigned)o->log > LOG_ALWAYS || (unsigned)o->decimal > DECIMAL_COMMA)
        return buf_fail(err, GPM_E_ARG, "there is no such choice of logarithms, or of decimals");
    if ((unsigned)o->take >= TAKES)
        return buf_fail(err, GPM_E_ARG, "there is nothing like that to take");
    if ((unsigned)o->precision >= PRECISIONS)
        return buf_fail(err, GPM_E_ARG, "there is no such precision");
    if (o->paper)
        return buf_fail(err, GPM_E_ARG,
                        "the paper's grammar is a program: gpmem run examples/paper.vnts --data "
                        "'file=\"FILE.csv\"' --data x_scale=1 --data y_sd=0");
    return o->kernels ? discovery_kernels(o->kernels, &opt->factors, err) : GPM_OK;
}

/* Reading may wait for a pipe; a search that is to be finished early ends in its own way. */
static enum gpm_status search_series(gpm_discovery *d, struct kept_search *k,
                                     struct work_limits *limits) {
    struct discovery_options opt;
    enum gpm_status st = take_options(k, &opt, &d->err);
    struct series series;
    if (st == GPM_OK) st = series_read(&series, k->name, k->text, k->len, &opt.series, &d->err);
    limits->stop = k->o.stop;
    if (st != GPM_OK) return st;
    if (k->o.keep) st = discovery_may_keep(&series, k->o.keep, &d->err);
    if (st == GPM_OK) st = kept_open(k, &d->err);
    opt.journal = k->journal;
    if (st == GPM_OK)
        st = discovery_run(&d->d, &series, &opt, &d->err);
    else
        series_release(&series);
    bool made = st == GPM_OK;
    st = journal_gone_through(k->journal, st, &d->err);
    d->ready = st == GPM_OK;
    if (made && !d->ready) discovery_release(&d->d);
    return st;
}

static enum gpm_status discover_api_run(gpm_discovery *d, const char *name, const char *text,
                                        size_t len, const struct gpm_discover_options *given) {
    CALL_ALONE(d, GPM_E_BUSY);
    clear(d);
    if (call_begin(&d->err)) return GPM_E_NOMEM;
    struct kept_search k = asked(name, text, len, given);
    unsigned long shortages = mem_shortages();
    struct work_limits limits = {.stop = k.o.stop ? k.o.stop : k.o.finish,
                                 .deadline =
                                     k.o.max_seconds > 0 ? clock_seconds() + k.o.max_seconds : 0};
    struct work_limits *before = work_set_limits(&limits);
    enum gpm_status st = kept_begin(&k, &d->err);
    if (st == GPM_OK) st = search_series(d, &k, &limits);
    work_set_limits(before);
    kept_end(&k, st);
    return all_had_memory(d, shortages, st);
}

enum gpm_status gpm_discover_run(gpm_discovery *d, const char *path,
                                 const struct gpm_discover_options *o) {
    return discover_api_run(d, path, NULL, 0, o);
}

enum gpm_status gpm_discover_run_text(gpm_discovery *d, const char *name, const char *text,
                                      size_t len, const struct gpm_discover_options *o) {
    return discover_api_run(d, name, text ? text : "", len, o); /* no text is no file */
}

enum gpm_status gpm_discover_add(gpm_discovery *d, const char *name, const char *text, size_t len) {
    CALL_ALONE(d, GPM_E_BUSY);
    struct csv c;
    enum gpm_status st = need_run(d);
    if (st == GPM_OK) st = csv_table(&c, name, text, len, &d->err);
    if (st != GPM_OK) return st;
    unsigned long shortages = mem_shortages();
    st = discovery_add(&d->d, &c, &d->err);
    csv_release(&c);
    return search_no_shortage(shortages, st, &d->err);
}

/* As it was learnt, without values that were added. */
static enum gpm_status need_learnt(gpm_discovery *d) {
    enum gpm_status st = need_run(d);
    if (st != GPM_OK || !d->d.data.added) return st;
    return buf_fail(&d->err, GPM_E_ARG,
                    "values were added to this run after it was learnt; learn it "
                    "anew from all of them");
}

enum gpm_status gpm_discover_save(gpm_discovery *d, const char *dir) {
    CALL_ALONE(d, GPM_E_BUSY);
    enum gpm_status st = need_learnt(d);
    return st == GPM_OK ? discovery_save(&d->d, dir, &d->err) : st;
}

enum gpm_status gpm_discover_open(gpm_discovery *d, const char *dir) {
    CALL_ALONE(d, GPM_E_BUSY);
    clear(d);
    if (call_begin(&d->err)) return GPM_E_NOMEM;
    unsigned long shortages = mem_shortages();
    enum gpm_status st = discovery_load(&d->d, dir, &d->err);
    d->ready = st == GPM_OK;
    return all_had_memory(d, shortages, st);
}

enum gpm_status gpm_discover_go_on(gpm_discovery *d, const struct gpm_discover_options *given) {
    CALL_ALONE(d, GPM_E_BUSY);
    enum gpm_status st = need_learnt(d);
    if (st != GPM_OK) return st;
    struct kept_search k = asked(NULL, NULL, 0, given);
    if (!(k.o.max_seconds >= 0)) return buf_fail(&d->err, GPM_E_ARG, "seconds are at least 0");
    st = kept_open_more(&k, &d->d, &d->err);
    if (st == GPM_OK) {
        const struct discovery_options o = {.seconds = k.o.max_seconds,
                                            .stop = k.o.stop,
                                            .finish = k.o.finish,
                                            .journal = k.journal};
        st = discovery_continue(&d->d, &o, &d->err);
    }
    kept_end(&k, st);
    return st;
}

enum gpm_status gpm_discover_continue(gpm_discovery *d, double max_seconds) {
    struct gpm_discover_options o = default_options;
    o.size = sizeof o;
    o.max_seconds = max_seconds;
    return gpm_discover_go_on(d, &o);
}

enum gpm_status gpm_discover_forecast_add(gpm_discovery *d, const double *levels, size_t n_levels,
                                          size_t paths) {
    CALL_ALONE(d, GPM_E_BUSY);
    for (size_t i = 0; i < n_levels; i++)
        if (!(levels[i] > 0 && levels[i] < 1))
            return buf_fail(&d->err, GPM_E_ARG, "levels of quantiles lie between 0 and 1");
    if (n_levels > 1000) return buf_fail(&d->err, GPM_E_ARG, "at most 1000 quantiles");
    enum gpm_status st = count_check(COUNT_PATHS, "--paths", paths, &d->err);
    if (st) return st;
    mem_free(d->levels);
    d->levels = NEW_ARRAY(double, n_levels + 1);
    memcpy(d->levels, levels, n_levels * sizeof *levels);
    d->n_levels = n_levels;
    d->paths = paths;
    return GPM_OK;
}

static enum doc_form document_form(enum gpm_discover_format f) {
    return f == GPM_REPORT_HTML ? DOC_HTML : f == GPM_REPORT_MARKDOWN ? DOC_MARKDOWN : DOC_TEXT;
}

const char *gpm_discover_report(gpm_discovery *d, enum gpm_discover_format f) {
    CALL_ALONE(d, "");
    buf_reset(&d->out);
    if (need_run(d) != GPM_OK) return "";
    unsigned long shortages = mem_shortages();
    d->d.remarks = check_count(&d->d);
    switch (f) {
    case GPM_REPORT_JSON: discovery_json(&d->d, &d->out); break;
    case GPM_REPORT_PROGRAM: discovery_program(&d->d, &d->out); break;
    default: discovery_report(&d->d, document_form(f), &d->out);
    }
    return search_no_shortage(shortages, GPM_OK, &d->err) ? "" : voice_text(&d->out);
}

bool gpm_discover_is_run(const char *dir) {
    return discovery_is_kept(dir);
}

enum gpm_status gpm_discover_plot(gpm_discovery *d, const char *const *names, size_t n,
                                  const struct gpm_plot_options *o, const char **picture) {
    CALL_ALONE(d, GPM_E_BUSY);
    struct plot_scene *s;
    enum gpm_status st = need_run(d);
    if (st == GPM_OK) st = plot_check(o, &d->err);
    if (st == GPM_OK) st = discovery_scene(&d->d, names, n, &s, &d->err);
    if (st != GPM_OK) return st;
    buf_reset(&d->out);
    plot_picture(s, o, &d->out);
    plot_scene_free(s);
    *picture = d->out.data;
    return GPM_OK;
}

enum gpm_status gpm_discover_query(gpm_discovery *d, const char *query, struct gpm_answer *out) {
    CALL_ALONE(d, GPM_E_BUSY);
    enum gpm_status st = need_run(d);
    if (st != GPM_OK) return st;
    struct query_answer r = {0, 0, 0};
    struct arena a = {0};
    const char *reading = query;
    st = ask_discovery(&d->d, query, &r, &reading, &a, &d->err);
    buf_reset(&d->out);
    if (st == GPM_OK) buf_puts(&d->out, reading);
    arena_release(&a);
    *out = (struct gpm_answer){r.probability, r.error, r.ess};
    return st;
}

const char *gpm_discover_reading(gpm_discovery *d) {
    CALL_ALONE(d, "");
    return d->out.data;
}

/* An error if the regressors at these times are unknown. file: that of the times, or NULL. */
static enum gpm_status need_regressors(gpm_discovery *d, size_t n, const double *x,
                                       const char *file) {
    const struct regressors *r = &d->d.series.reg;
    double z[REGRESSORS_MAX], slack = 0.3 * d->d.data.step * d->d.data.span;
    for (size_t i = 0; i < n && r->n; i++) {
        unsigned unknown = regressors_at(r, x[i], slack, z), listed = 0;
        if (!unknown) continue;
        for (int j = 0; j < r->n; j++) listed |= (unsigned)r->listed[j] << j;
        if (unknown & ~listed) unknown &= ~listed;
        buf_puts(&d->err, "the value of ");
        regressors_list(r, unknown, &d->err);
        buf_puts(&d->err, " is not known at ");
        series_print_time(&d->d.series, x[i], &d->err);
        if (file && !(unknown & listed))
            return buf_fail(&d->err, GPM_E_ARG, "; %s needs a number there", file);
        return buf_fail(&d->err, GPM_E_ARG, "; %s",
                        unknown & listed
                            ? "the list of holidays (--holidays) ends in the year before"
                            : "give the times and these columns: --at-file FILE");
    }
    return GPM_OK;
}

/* Digits that show an interval's ends four digits apart, ten at least. */
static int digits_for(const struct prediction *p) {
    double most = 0;
    for (size_t i = 0; i < p->n; i++) {
        double wide = p->hi[i] - p->lo[i], size = fmax(fabs(p->lo[i]), fabs(p->hi[i]));
        if (wide > 0 && isfinite(size)) most = fmax(most, size / wide);
    }
    return (int)fmin(17, fmax(10, ceil(log10(fmax(1, most))) + 4));
}

/* Predictions at n times, as CSV. */
static enum gpm_status forecast_at(gpm_discovery *d, size_t n, const double *x, double level,
                                   const char **csv) {
    const struct series *s = &d->d.series;
    struct prediction p = {0};
    unsigned long shortages = mem_shortages();
    enum gpm_status st = predict(&d->d.post, n, x, NULL, level, &p);
    buf_reset(&d->out);
    bool chance = d->d.data.truths;
    buf_puts(&d->out, chance ? "x,median,lo,hi,chance" : "x,median,lo,hi");
    for (size_t k = 0; k < d->n_levels; k++) buf_printf(&d->out, ",q%.10g", d->levels[k]);
    for (size_t k = 0; k < d->paths; k++) buf_printf(&d->out, ",path%zu", k + 1);
    buf_putc(&d->out, '\n');
    size_t more = d->n_levels + d->paths;
    double *beside = NEW_ARRAY(double, n *more + 1), *paths = beside + n * d->n_levels;
    if (st == GPM_OK && d->n_levels)
        st = predict_quantiles(&d->d.post, n, x, d->levels, d->n_levels, beside);
    if (st == GPM_OK && d->paths)
        st = predict_paths(&d->d.post, n, x, d->paths, d->d.opt.seed, paths);
    if (st != GPM_OK && !d->err.len) buf_puts(&d->err, "the forecast could not be computed");
    int digits = digits_for(&p);
    for (size_t i = 0; i < p.n; i++) {
        struct buf at = BUF_INIT; /* "Jan 1, 2001" holds a comma */
        series_print_time(s, p.x[i], &at);
        csv_put(&d->out, at.data);
        buf_printf(&d->out, ",%.*g,%.*g,%.*g", digits, p.median[i], digits, p.lo[i], digits,
                   p.hi[i]);
        if (chance) buf_printf(&d->out, ",%.4g", p.mean[i]);
        for (size_t k = 0; k < d->n_levels; k++)
            buf_printf(&d->out, ",%.*g", digits, beside[i * d->n_levels + k]);
        for (size_t k = 0; k < d->paths; k++)
            buf_printf(&d->out, ",%.*g", digits, paths[i * d->paths + k]);
        buf_putc(&d->out, '\n');
        buf_release(&at);
    }
    mem_free(beside);
    *csv = d->out.data;
    prediction_release(&p);
    return search_no_shortage(shortages, st, &d->err);
}

static enum gpm_status bad_level(gpm_discovery *d) {
    return buf_fail(&d->err, GPM_E_ARG,
                    "the horizon lies between 1 and 100000, the level between 0 and 1");
}

enum gpm_status gpm_discover_forecast(gpm_discovery *d, size_t horizon, const char *const *times,
                                      size_t n_times, double level, const char **csv) {
    CALL_ALONE(d, GPM_E_BUSY);
    enum gpm_status st = need_run(d);
    if (st != GPM_OK) return st;
    if (!(level > 0 && level < 1) || !count_fits(COUNT_HORIZON, horizon) || !(horizon || n_times))
        return bad_level(d);
    size_t n = n_times ? n_times : horizon;
    double *x = NEW_ARRAY(double, n);
    if (!n_times) discovery_future(&d->d, n, x);
    for (size_t i = 0; i < n_times && st == GPM_OK; i++) {
        st = series_read_time(&d->d.series, times[i], &x[i]);
        if (st != GPM_OK) st = series_no_time(&d->d.series, times[i], &d->err);
    }
    if (st == GPM_OK) st = need_regressors(d, n, x, NULL);
    if (st == GPM_OK) st = forecast_at(d, n, x, level, csv);
    mem_free(x);
    return st;
}

/* At the times of a text under a name, or of the file of this name where text is NULL. */
static enum gpm_status forecast_table(gpm_discovery *d, const char *name, const char *text,
                                      size_t len, double level, const char **csv) {
    CALL_ALONE(d, GPM_E_BUSY);
    struct series *s = &d->d.series;
    struct csv c;
    size_t n;
    double *x = NULL;
    enum gpm_status st = need_run(d);
    if (st != GPM_OK) return st;
    if (!(level > 0 && level < 1)) return bad_level(d);
    st = csv_table(&c, name, text, len, &d->err);
    if (st != GPM_OK) return st;
    st = series_read_times(s, &c, &d->d.opt.series, &n, &x, &d->err);
    if (st == GPM_OK && s->reg.n) st = series_read_future(s, &c, &d->d.opt.series, x, &d->err);
    csv_release(&c);
    if (st == GPM_OK) st = need_regressors(d, n, x, name);
    if (st == GPM_OK) st = forecast_at(d, n, x, level, csv);
    mem_free(x);
    return st;
}

enum gpm_status gpm_discover_forecast_file(gpm_discovery *d, const char *path, double level,
                                           const char **csv) {
    return forecast_table(d, path, NULL, 0, level, csv);
}

enum gpm_status gpm_discover_forecast_text(gpm_discovery *d, const char *name, const char *text,
                                           size_t len, double level, const char **csv) {
    return forecast_table(d, name, text ? text : "", len, level, csv);
}

/* ---- panels ---- */

struct gpm_panel {
    struct panel p;
    gpm_discovery **member; /* as many as p.n, NULL where there is no run */
    size_t room;
    HANDLE;
};

static const struct gpm_panel_options panel_defaults;

void gpm_panel_options_init_sized(struct gpm_panel_options *o, size_t size) {
    options_give(o, size, &panel_defaults, sizeof panel_defaults);
}

gpm_panel *gpm_panel_new(void) {
    return HANDLE_NEW(gpm_panel);
}

/* Runs that failed hold nothing. */
static void clear_members(gpm_panel *p) {
    for (size_t i = 0; i < p->room; i++)
        if (p->member[i]) gpm_discover_free(p->member[i]);
    mem_free(p->member);
    p->member = NULL;
    p->room = 0;
    panel_release(&p->p);
}

static void clear_panel(gpm_panel *p) {
    clear_members(p);
    buf_reset(&p->err);
}

void gpm_panel_free(gpm_panel *p) {
    if (!p || !call_enter(&p->busy)) return;
    clear_panel(p);
    HANDLE_FREE(p);
}

static struct discovery *place_member(void *ctx, size_t i) {
    gpm_panel *p = ctx;
    p->member = mem_realloc(p->member, (i + 1) * sizeof(gpm_discovery *));
    while (p->room <= i) p->member[p->room++] = NULL;
    p->member[i] = gpm_discover_new();
    return &p->member[i]->d;
}

/* What a member could not do, as the caller says it. */
static void say_error(struct panel_member *m) {
    struct buf b = BUF_INIT;
    buf_puts(&b, m->error);
    (void)voice_text(&b);
    mem_free(m->error);
    m->error = buf_take(&b);
}

/* The options of several series of a file, checked. */
static enum gpm_status take_panel(const struct kept_search *k, struct discovery_options *opt,
                                  struct buf *err) {
    enum gpm_status st = take_options(k, opt, err);
    if (st != GPM_OK || k->how.by || !k->o.value_column) return st;
    return buf_fail(err, GPM_E_ARG, "a wide file has a series in every column: choose none");
}

enum gpm_status gpm_discover_check(gpm_discovery *d, const char *path,
                                   const struct gpm_discover_options *given,
                                   const struct gpm_panel_options *how, bool json,
                                   const char **report) {
    CALL_ALONE(d, GPM_E_BUSY);
    clear(d);
    if (call_begin(&d->err)) return GPM_E_NOMEM;
    struct kept_search k = asked(path, NULL, 0, given);
    struct discovery_options opt;
    if (how) options_take(&k.how, sizeof k.how, how);
    enum gpm_status st = how ? take_panel(&k, &opt, &d->err) : take_options(&k, &opt, &d->err);
    const struct panel_options several = {.by = k.how.by};
    buf_reset(&d->out);
    if (st == GPM_OK)
        st = check_file(path, &opt.series, how ? &several : NULL, json, &d->out, &d->err);
    *report = st == GPM_OK ? voice_text(&d->out) : "";
    return st;
}

static enum gpm_status search_panel(gpm_panel *p, struct kept_search *k) {
    struct discovery_options opt;
    enum gpm_status st = take_panel(k, &opt, &p->err);
    if (st == GPM_OK) st = kept_open(k, &p->err);
    if (st != GPM_OK) return st;
    opt.journal = k->journal;
    const struct panel_options o = {.by = k->how.by,
                                    .independent = k->how.independent,
                                    .text = k->text,
                                    .len = k->len,
                                    .keep = k->o.keep};
    st = panel_run(&p->p, k->name, &opt, &o, place_member, p, &p->err);
    for (size_t i = 0; i < p->room && st == GPM_OK; i++)
        if (p->member[i]) p->member[i]->ready = !p->p.at[i].error;
    for (size_t i = 0; i < p->p.n && st == GPM_OK; i++)
        if (p->p.at[i].error) say_error(&p->p.at[i]);
    st = journal_gone_through(k->journal, st, &p->err);
    if (st != GPM_OK) clear_members(p);
    return st;
}

enum gpm_status gpm_panel_run(gpm_panel *p, const char *path,
                              const struct gpm_discover_options *given,
                              const struct gpm_panel_options *how) {
    CALL_ALONE(p, GPM_E_BUSY);
    clear_panel(p);
    if (call_begin(&p->err)) return GPM_E_NOMEM;
    struct kept_search k = asked(path, NULL, 0, given);
    k.kind = GPM_KEPT_PANEL;
    k.how = panel_defaults;
    options_take(&k.how, sizeof k.how, how);
    unsigned long shortages = mem_shortages();
    enum gpm_status st = kept_begin(&k, &p->err);
    if (st == GPM_OK) st = search_panel(p, &k);
    kept_end(&k, st);
    return search_no_shortage(shortages, st, &p->err);
}

const char *gpm_panel_error(gpm_panel *p) {
    CALL_SAYS(p);
    return voice_error(&p->err);
}

size_t gpm_panel_size(const gpm_panel *p) {
    return p->p.n;
}

const char *gpm_panel_key(const gpm_panel *p, size_t i) {
    return i < p->p.n ? p->p.at[i].key : NULL;
}

gpm_discovery *gpm_panel_member(gpm_panel *p, size_t i, const char **why) {
    const char *error = i < p->p.n ? p->p.at[i].error : "there is no such series";
    if (why) *why = error;
    return error ? NULL : p->member[i];
}

enum gpm_status gpm_panel_save(gpm_panel *p, const char *dir) {
    CALL_GIVES(p, panel_save(&p->p, dir, &p->err));
}

const char *gpm_panel_report(gpm_panel *p, enum gpm_discover_format f) {
    CALL_ALONE(p, "");
    buf_reset(&p->out);
    for (size_t i = 0; i < p->p.n; i++)
        if (!p->p.at[i].error) p->p.at[i].d->remarks = check_count(p->p.at[i].d);
    if (f == GPM_REPORT_JSON)
        panel_json(&p->p, &p->out);
    else
        panel_report(&p->p, document_form(f), &p->out);
    return voice_text(&p->out);
}
