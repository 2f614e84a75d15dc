/* SPDX-License-Identifier: Apache-2.0
 *
 * See panel.h. The shared prior of a parameter z (term, kind) is one step of EM from the default
 * prior N(a, b): with the posterior mean m_i and variance v_i of every series i, weighted by the
 * probability w_i that it has the term,
 *
 *   mean = (sum w_i m_i + 2 a) / (sum w_i + 2)
 *   sd^2 = (sum w_i ((m_i - mean)^2 + v_i) + 2 (b^2 + (a - mean)^2)) / (sum w_i + 2)
 *
 * The default counts as two series, so that few of them do not make it narrow.
 */
#include "apps/discover/panel.h"
#include "base/ascii.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stop.h"
#include "apps/discover/every.h"
#include "table/table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PANEL_MAX 10000 /* series */

static void learn_shared(struct panel *p) {
    struct hyper_gathering *g = mem_zalloc(sizeof *g);
    for (size_t i = 0; i < p->n; i++)
        if (!p->at[i].error) hyper_gather(g, &p->at[i].d->post);
    hyper_learn(g, &p->shared);
    mem_free(g);
}

/* ---- the series of a file ---- */

struct reader {
    struct panel *p;
    struct csv csv;
    struct series_options o;
    struct series *series; /* of member i, where it has no error */
    struct time_form form; /* of all times */
    char every[24];        /* of the series, the step of all */
};

static void add_member(struct reader *r, const char *key) {
    struct panel *p = r->p;
    p->at = mem_realloc(p->at, (p->n + 1) * sizeof *p->at);
    r->series = mem_realloc(r->series, (p->n + 1) * sizeof *r->series);
    p->at[p->n] = (struct panel_member){.key = series_clean_name(key)};
    memset(&r->series[p->n], 0, sizeof *r->series);
    p->n++;
}

static void read_member(struct reader *r, const struct csv *part, const struct series_options *o) {
    struct buf why = BUF_INIT;
    size_t i = r->p->n - 1;
    enum gpm_status st = series_read_csv(&r->series[i], part, o, &why);
    if (st != GPM_OK) r->p->at[i].error = mem_strdup(why.data);
    buf_release(&why);
}

/* The rows whose cell in the column is that of row `first`; `done` marks them. */
static void read_rows_like(struct reader *r, int col, size_t first, bool *done) {
    const struct csv *c = &r->csv;
    struct csv part = *c;
    size_t n = 0, width = (size_t)c->n_cols;
    const char *key = csv_text(c, first, col);
    part.cells = NEW_ARRAY(const char *, c->n_rows *width + 1);
    part.lines = NEW_ARRAY(size_t, c->n_rows + 1);
    for (size_t row = first; row < c->n_rows; row++) {
        if (done[row] || strcmp(csv_text(c, row, col), key)) continue;
        done[row] = true;
        memcpy(part.cells + n * width, c->cells + row * width, width * sizeof *part.cells);
        part.lines[n++] = c->lines[row];
    }
    part.n_rows = n;
    add_member(r, key);
    read_member(r, &part, &r->o);
    mem_free(part.cells);
    mem_free(part.lines);
}

static enum gpm_status read_long(struct reader *r, const char *by, struct buf *err) {
    int col;
    if (csv_find(&r->csv, by, &col, err) != GPM_OK) return GPM_E_FORMAT;
    bool *done = mem_zalloc(r->csv.n_rows + 1);
    enum gpm_status st = GPM_OK;
    for (size_t row = 0; row < r->csv.n_rows && st == GPM_OK; row++) {
        if (done[row]) continue;
        if (r->p->n == PANEL_MAX)
            st = buf_fail(err, GPM_E_ARG, "%s: the column '%s' has more than %d different values",
                          r->csv.name, by, PANEL_MAX);
        else
            read_rows_like(r, col, row, done);
    }
    mem_free(done);
    return st;
}

static enum gpm_status read_wide(struct reader *r, int time, struct buf *err) {
    if (!r->csv.header)
        return buf_fail(err, GPM_E_FORMAT, "%s: a file with a series in each column has a header",
                        r->csv.name);
    for (int c = 0; c < r->csv.n_cols; c++) {
        char number[16];
        struct series_options o = r->o;
        if (c == time) continue;
        snprintf(number, sizeof number, "%d", c + 1);
        o.value = number;
        add_member(r, r->csv.header[c]);
        read_member(r, &r->csv, &o);
    }
    return GPM_OK;
}

/* How times are written is a question to the whole file. */
static enum gpm_status find_times(struct reader *r, int time, struct buf *err) {
    if (time < 0 || r->o.date_format) return GPM_OK;
    struct table_column k;
    enum gpm_status st = table_column_times(&k, &r->csv, time, r->o.missing, NULL, err);
    r->form = k.form;
    k.form = (struct time_form){0};
    if (st == GPM_OK && time_dated(&r->form)) r->o.date_format = r->form.pattern;
    table_column_release(&k);
    return st;
}

static enum gpm_status read_members(struct reader *r, const char *by, int time, struct buf *err) {
    return by ? read_long(r, by, err) : read_wide(r, time, err);
}

static void forget_members(struct reader *r) {
    for (size_t i = 0; i < r->p->n; i++) {
        series_release(&r->series[i]);
        mem_free(r->p->at[i].key);
        mem_free(r->p->at[i].error);
    }
    r->p->n = 0;
}

/* Totals and counts of all series are over one step: that which most of them have for themselves.
 * Those that failed with theirs get another chance. False: all have it already. */
static bool share_step(struct reader *r) {
    size_t most = 0;
    for (size_t i = 0; i < r->p->n && !r->o.every; i++) {
        const struct series *s = &r->series[i];
        if (r->p->at[i].error || !series_take_adds(s->take)) continue;
        size_t alike = 0;
        for (size_t k = 0; k < r->p->n; k++)
            alike += !r->p->at[k].error && !strcmp(r->series[k].every, s->every);
        if (alike <= most) continue;
        most = alike;
        memcpy(r->every, s->every, sizeof r->every);
    }
    if (!most || most == r->p->n) return false;
    r->o.every = r->every;
    return true;
}

static enum gpm_status read_panel(struct reader *r, const char *path,
                                  const struct panel_options *how, struct buf *err) {
    int time;
    enum gpm_status st = csv_table(&r->csv, path, how->text, how->len, err);
    if (st != GPM_OK) return st;
    r->o.wide = !how->by;
    st = series_time_column(&r->csv, &r->o, &time, err);
    if (st == GPM_OK) st = find_times(r, time, err);
    if (st == GPM_OK) st = read_members(r, how->by, time, err);
    if (st == GPM_OK && share_step(r)) {
        forget_members(r);
        st = read_members(r, how->by, time, err);
    }
    csv_release(&r->csv);
    return st;
}

/* ---- the runs ---- */

/* Names a series by its file and its key, so the file need not be read. */
static void name_member(const struct panel *p, size_t i, struct series *s) {
    struct buf name = BUF_INIT;
    if (!p->by) return; /* the column says it */
    buf_printf(&name, "%s (%s = %s)", p->name, p->by, p->at[i].key);
    mem_free(s->name);
    s->name = buf_take(&name);
}

static void run_member(struct panel *p, size_t i, const struct series *given,
                       struct discovery_options *o) {
    struct buf why = BUF_INIT;
    struct panel_member *m = &p->at[i];
    struct series s = series_copy(given);
    name_member(p, i, &s);
    if (!p->by) o->series.value = m->key;
    if (discovery_run(m->d, &s, o, &why) != GPM_OK) m->error = mem_strdup(why.data);
    buf_release(&why);
}

static bool to_end(const struct discovery_options *o) {
    return stop_asked(o->stop) || stop_asked(o->finish);
}

/* Again from the same series with the shared priors. Those whose turn does not come keep the run
 * that they have. */
static void run_again(struct panel *p, const struct series *series, struct discovery_options *o) {
    o->shared = &p->shared;
    p->second = true;
    for (size_t i = 0; i < p->n && !to_end(o); i++) {
        if (p->at[i].error) continue;
        discovery_release(p->at[i].d);
        run_member(p, i, &series[i], o);
    }
}

/* The first runs; how many have a result. */
static size_t run_all(struct panel *p, const struct series *series, struct discovery_options *o,
                      panel_place place, void *ctx) {
    size_t good = 0;
    for (size_t i = 0; i < p->n && !stop_asked(o->stop); i++) {
        if (p->at[i].error) continue;
        if (stop_asked(o->finish)) {
            p->at[i].error = mem_strdup("stopped before its turn");
            continue;
        }
        p->at[i].d = place(ctx, i);
        run_member(p, i, &series[i], o);
        good += !p->at[i].error;
    }
    return good;
}

/* A name for a folder: what is no letter, digit, dot or dash becomes an underscore. */
static void folder_name(const struct panel *p, const char *dir, size_t i, struct buf *out) {
    const char *key = p->at[i].key;
    buf_reset(out);
    buf_printf(out, "%s/", dir);
    size_t from = out->len;
    for (; *key; key++) {
        bool plain = ascii_alnum(*key) || *key == '-' || (*key == '.' && out->len > from);
        buf_putc(out, plain ? *key : '_');
    }
    if (out->len == from) buf_printf(out, "series-%zu", i + 1);
}

/* Of two keys that would share a name the second gets its number. */
static void member_folder(const struct panel *p, const char *dir, size_t i, struct buf *out) {
    struct buf other = BUF_INIT;
    bool taken = false;
    folder_name(p, dir, i, out);
    for (size_t j = 0; j < i && !taken; j++) {
        folder_name(p, dir, j, &other);
        taken = !strcmp(other.data, out->data);
    }
    if (taken) buf_printf(out, "-%zu", i + 1);
    buf_release(&other);
}

/* Keeps the runs below dir, or, given their series, says whether they may be kept there. */
static enum gpm_status keep_all(const struct panel *p, const struct series *series, const char *dir,
                                struct buf *err) {
    struct buf folder = BUF_INIT;
    enum gpm_status st = discovery_may_keep(NULL, dir, err);
    for (size_t i = 0; i < p->n && !st; i++) {
        if (p->at[i].error) continue;
        member_folder(p, dir, i, &folder);
        st = series ? discovery_may_keep(&series[i], folder.data, err)
                    : discovery_save(p->at[i].d, folder.data, err);
    }
    buf_release(&folder);
    return st;
}

enum gpm_status panel_save(const struct panel *p, const char *dir, struct buf *err) {
    if (file_folder(dir, FILE_GIVEN) == GPM_OK) return keep_all(p, NULL, dir, err);
    return buf_fail(err, GPM_E_IO, "cannot make the folder '%s': %s", dir, file_why());
}

enum gpm_status panel_run(struct panel *p, const char *path, const struct discovery_options *given,
                          const struct panel_options *how, panel_place place, void *ctx,
                          struct buf *err) {
    struct discovery_options o = *given;
    struct reader r = {.p = p, .o = given->series};
    r.o.by = how->by;
    size_t good = 0;
    memset(p, 0, sizeof *p);
    p->name = series_clean_name(path);
    p->by = how->by ? series_clean_name(how->by) : NULL;
    enum gpm_status st = read_panel(&r, path, how, err);
    o.series = r.o;
    if (st == GPM_OK && how->keep) st = keep_all(p, r.series, how->keep, err);
    if (st == GPM_OK) good = run_all(p, r.series, &o, place, ctx);
    if (good > 2 && !how->independent && !to_end(&o)) learn_shared(p);
    if (p->shared.n) run_again(p, r.series, &o);
    for (size_t i = 0; i < p->n; i++) series_release(&r.series[i]);
    mem_free(r.series);
    time_form_release(&r.form);
    st = search_not_stopped(o.stop, st, err);
    if (st == GPM_OK && !good && stop_asked(o.finish))
        st = buf_fail(err, GPM_E_INTERRUPT, "%s: stopped before a series had a result", path);
    if (st == GPM_OK && !good)
        st = buf_fail(err, GPM_E_FORMAT, "%s: no series of the panel could be used; the first: %s",
                      path, p->n ? p->at[0].error : "there is none");
    for (size_t i = 0; i < p->n && st != GPM_OK; i++)
        if (p->at[i].d && !p->at[i].error) discovery_release(p->at[i].d);
    if (st != GPM_OK) panel_release(p);
    return st;
}

enum gpm_status panel_read(struct panel *p, const char *path, const struct series_options *o,
                           const struct panel_options *how, struct series **series,
                           struct buf *err) {
    struct reader r = {.p = p, .o = *o};
    r.o.by = how->by;
    memset(p, 0, sizeof *p);
    p->name = series_clean_name(path);
    p->by = how->by ? series_clean_name(how->by) : NULL;
    enum gpm_status st = read_panel(&r, path, how, err);
    time_form_release(&r.form);
    *series = r.series;
    return st;
}

void panel_release(struct panel *p) {
    for (size_t i = 0; i < p->n; i++) {
        mem_free(p->at[i].key);
        mem_free(p->at[i].error);
    }
    mem_free(p->at);
    mem_free(p->name);
    mem_free(p->by);
    memset(p, 0, sizeof *p);
}
