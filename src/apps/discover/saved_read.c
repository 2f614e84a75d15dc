/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a run from its folder (saved_run.c says what is in it).
 */
#include "base/count.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/discover/discovery.h"
#include "apps/discover/every.h"
#include "apps/discover/journal.h"
#include "apps/discover/saved_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum gpm_status read_part(const char *dir, const char *name, struct buf *text) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", dir, name);
    enum gpm_status st = file_read(path.data, FILE_OURS, SIZE_MAX / 4, text);
    buf_release(&path);
    return st;
}

/* A folder that holds a search alone; false: it does not. */
static bool say_unfinished(const char *dir, struct buf *err) {
    struct buf head = BUF_INIT, why = BUF_INIT;
    bool there = journal_there(dir), good = there && journal_head(dir, &head, &why);
    if (there) buf_printf(err, "the search in '%s' was ended before it was done", dir);
    if (good)
        buf_printf(err, "; `gpmem discover --continue %s` goes on with it", dir);
    else if (there)
        buf_printf(err, ", and cannot go on: %s; `gpmem discover FILE --out %s` begins anew",
                   why.data, dir);
    buf_release(&head);
    buf_release(&why);
    return there;
}

json_t *saved_json(const char *dir, const char *name, struct buf *err) {
    struct buf text = BUF_INIT;
    json_error_t e;
    json_t *j = NULL;
    enum gpm_status st = read_part(dir, name, &text);
    if (st == GPM_OK) {
        locale_t before = number_locale_enter();
        j = json_loadb(text.data, text.len, 0, &e);
        number_locale_leave(before);
    }
    if (!j && !say_unfinished(dir, err))
        buf_printf(err,
                   "'%s' holds no run of discover that can be read: %s: %s; "
                   "`gpmem discover --out DIR FILE` makes one",
                   dir, name, st == GPM_OK ? e.text : file_why());
    buf_release(&text);
    return j;
}

bool discovery_is_kept(const char *dir) {
    struct buf err = BUF_INIT;
    json_t *m = saved_json(dir, "manifest.json", &err);
    const char *kind = json_string_value(json_object_get(m, "kind"));
    bool kept = kind && !strcmp(kind, "gpmem discovery");
    json_decref(m);
    buf_release(&err);
    return kept;
}

static double get_number(json_t *j, const char *key, double fallback) {
    json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

/* A whole number from 0 to `most`, or the nearest of these: casts of others are undefined. */
static size_t get_count(json_t *j, const char *key, double most) {
    double v = get_number(j, key, 0);
    return v >= 0 ? (size_t)fmin(v, most) : 0;
}

/* Larger than the reader's integers: a text. False: not a seed, or rounded. */
static bool get_seed(json_t *j, uint64_t *seed) {
    json_t *v = json_object_get(j, "seed");
    if (json_is_string(v)) return count_read(COUNT_ANY, json_string_value(v), seed);
    *seed = (uint64_t)json_integer_value(v);
    return json_is_integer(v);
}

static bool get_bool(json_t *j, const char *key) {
    return json_is_true(json_object_get(j, key));
}

static void set_text(char **to, json_t *j, const char *key) {
    const char *s = json_string_value(json_object_get(j, key));
    mem_free(*to);
    *to = series_clean_name(s ? s : "");
}

/* A text that has its room in a struct; what does not fit is left out. */
static void set_short(char *to, size_t size, json_t *j, const char *key) {
    char *text = NULL;
    set_text(&text, j, key);
    if (strlen(text) < size) strcpy(to, text);
    mem_free(text);
}

/* The caller frees; NULL: there is nothing in it. *bad is set when an entry is no number. */
static double *get_array(json_t *j, const char *key, size_t *n, bool *bad) {
    json_t *a = json_object_get(j, key);
    *n = json_array_size(a);
    double *v = *n ? NEW_ARRAY(double, *n) : NULL;
    for (size_t i = 0; i < *n; i++) {
        v[i] = json_number_value(json_array_get(a, i));
        *bad |= !json_is_number(json_array_get(a, i));
    }
    return v;
}

/* The form of times: only what reads its own example; without one the usual form of the kind. */
static void load_form(struct series *s, json_t *m) {
    struct time_form f = {.kind = (enum time_kind)get_count(m, "time_kind", TIME_KINDS - 1)}, old;
    const char *like = json_string_value(json_object_get(m, "time_form"));
    const char *pattern = json_string_value(json_object_get(m, "time_pattern"));
    double x, zone = get_number(m, "time_zone", 0);
    struct buf why = BUF_INIT;
    time_form_release(&s->form);
    bool good = like && (pattern ? times_read(&old, pattern, 1, &like, &x, &why) == GPM_OK
                                 : time_form_of(like, &old) == GPM_OK);
    if (good && (isnan(x) || old.kind != f.kind)) time_form_release(&old);
    if (good && old.pattern) {
        f.pattern = mem_strdup(pattern ? pattern : old.pattern);
        f.like = mem_strdup(like);
        time_form_release(&old);
    }
    f.zone = fabs(zone) < 1440 ? (int)zone : 0;
    f.zones = get_bool(m, "time_zones");
    f.found = get_bool(m, "time_found");
    s->form = f;
    s->month_end = get_bool(m, "month_end");
    s->month_at = get_number(m, "month_at", 0);
    if (!(fabs(s->month_at) < 32)) s->month_at = 0;
    const char *mark = json_string_value(json_object_get(m, "truth"));
    s->style = (struct number_style){.decimal = get_bool(m, "decimal_comma") ? ',' : '.',
                                     .thousands = get_bool(m, "thousands"),
                                     .magnitudes = get_bool(m, "magnitudes"),
                                     .noted = get_count(m, "marks", 1e9)};
    if (mark) s->style.truth = strcmp(mark, "yes") ? "true" : "yes";
    set_short(s->style.unit, sizeof s->style.unit, m, "value_unit");
    set_short(s->style.notes, sizeof s->style.notes, m, "mark");
    buf_release(&why);
}

static bool load_outliers(struct discovery *d, json_t *m) {
    json_t *list = json_object_get(m, "outliers");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *o = json_array_get(list, i);
        json_int_t at = json_integer_value(json_array_get(o, 0));
        if (i == OUTLIERS_MAX || at < 0 || (size_t)at >= d->series.n) return false;
        d->out.at[d->out.n++] =
            (struct outlier){.at = (size_t)at,
                             .x = d->series.x[at],
                             .y = d->series.y[at],
                             .expected = json_number_value(json_array_get(o, 1)),
                             .sds = json_number_value(json_array_get(o, 2))};
    }
    return true;
}

/* r1,r2 ... in data.csv; linear effects come first, as they were read. */
static void list_regressors(json_t *m, struct buf *lists) {
    json_t *all = json_object_get(m, "regressors");
    for (size_t j = 0; j < json_array_size(all) && j < REGRESSORS_MAX; j++) {
        struct buf *to = &lists[get_bool(json_array_get(all, j), "smooth")];
        buf_printf(to, "%sr%zu", to->len ? "," : "", j + 1);
    }
}

/* What a row does not tell is null. */
static bool load_to_come(struct series *s, json_t *m) {
    json_t *a = json_object_get(m, "to_come"), *e;
    size_t n = json_array_size(a), k = (size_t)s->reg.n + 1, i;
    bool bad = n % k || (n && k == 1);
    double *v = NEW_ARRAY(double, n + 1), *x = NEW_ARRAY(double, 2 * n + 1), *z = x + n;
    json_array_foreach(a, i, e) {
        v[i] = json_is_null(e) ? NAN : json_number_value(e);
        bad |= !json_is_number(e) && !(json_is_null(e) && i % k);
    }
    for (i = 0; i < n && !bad; i++) *(i % k ? &z[i - i / k - 1] : &x[i / k]) = v[i];
    if (n && !bad) regressors_add(&s->reg, n / k, x, z);
    mem_free(v);
    mem_free(x);
    return !bad;
}

/* Whose columns are a list's: runs from before columns and lists went together do not say it. */
static void load_columns(struct series *s, json_t *m) {
    bool list = json_object_get(json_object_get(m, "read"), "holidays");
    for (int j = 0; j < s->reg.n; j++) {
        json_t *c = json_array_get(json_object_get(m, "regressors"), (size_t)j);
        set_text(&s->reg.name[j], c, "name");
        s->reg.listed[j] = json_object_get(c, "listed") ? get_bool(c, "listed") : list;
    }
}

/* TAKE_AUTO where it is not said. */
static enum series_take get_take(json_t *j) {
    const char *name = json_string_value(json_object_get(j, "take"));
    enum series_take take = TAKE_AUTO;
    return name && series_take_find(name, &take) ? take : TAKE_AUTO;
}

static enum gpm_status load_series(struct discovery *d, const char *dir, json_t *m,
                                   struct buf *err) {
    struct buf text = BUF_INIT;
    struct series_options o = {.value = "y",
                               .date_format = "number",
                               .decimal = DECIMAL_POINT,
                               .every = "none",
                               .max_points = SIZE_MAX};
    struct buf lists[2] = {BUF_INIT, BUF_INIT}; /* of linear effects, of smooth ones */
    list_regressors(m, lists);
    o.with = lists[0].data;
    o.smooth = lists[1].data;
    enum gpm_status st = read_part(dir, "data.csv", &text);
    if (st)
        buf_printf(err, "'%s': data.csv: %s", dir, file_why());
    else
        st = series_read(&d->series, "data.csv", text.data, text.len, &o, err);
    buf_release(&text);
    buf_release(&lists[0]);
    buf_release(&lists[1]);
    if (st != GPM_OK) return st;
    struct series *s = &d->series;
    load_columns(s, m);
    if (!load_to_come(s, m))
        st = buf_fail(err, GPM_E_FORMAT, "'%s': the columns to come of manifest.json are damaged",
                      dir);
    const char *hash = json_string_value(json_object_get(m, "data_hash"));
    if (!hash || strtoull(hash, NULL, 16) != s->hash)
        st = buf_fail(err, GPM_E_CONFLICT,
                      "the data in '%s' are not those of its manifest (hash differs)", dir);
    set_text(&s->name, m, "file");
    set_text(&s->time_name, m, "time_name");
    set_text(&s->value_name, m, "value_name");
    const char *unit = json_string_value(json_object_get(m, "unit"));
    s->unit = unit && !strcmp(unit, "year")  ? "year"
              : unit && !strcmp(unit, "day") ? "day"
                                             : "step";
    load_form(s, m);
    series_set_seasons(s);
    if (!load_outliers(d, m))
        st = buf_fail(err, GPM_E_FORMAT, "'%s': the outliers of manifest.json are none of its data",
                      dir);
    s->rows = get_count(m, "rows", 1e9);
    s->missing = get_count(m, "missing", 1e9);
    s->bad = get_count(m, "bad", 1e9);
    s->left_out = get_count(m, "left_out", 1e9);
    s->aside = get_count(m, "aside", 1e9);
    s->aside_line = get_count(m, "aside_line", 1e9);
    s->layout = (int)get_count(m, "layout", CSV_YEARLESS);
    s->unseen = get_count(m, "unseen", 1e9);
    s->set_back = get_count(m, "set_back", 1e9);
    set_short(s->every, sizeof s->every, m, "every");
    if (*s->every) {
        s->averaged = get_count(m, "averaged", 1e9);
        s->take = get_take(m);
        s->ends = get_count(m, "ends", 1e9);
        s->empty = get_count(m, "empty", 1e9);
        s->same = get_count(m, "same", 1e9);
        s->within = get_number(m, "within", 0);
        s->next = get_number(m, "next", 0);
    }
    s->sorted = get_bool(m, "sorted");
    return st;
}

/* The other way round of put_choices; folders of before lack them. */
static void load_choices(struct discovery *d, json_t *m) {
    json_t *read = json_object_get(m, "read");
    struct series_options o = {
        .time = json_string_value(json_object_get(read, "time")),
        .value = json_string_value(json_object_get(read, "column")),
        .date_format = json_string_value(json_object_get(read, "date_format")),
        .missing = json_string_value(json_object_get(read, "missing")),
        .every = json_string_value(json_object_get(read, "every")),
        .take = get_take(read),
        .least = json_string_value(json_object_get(read, "least")),
        .most = json_string_value(json_object_get(read, "most")),
        .with = json_string_value(json_object_get(read, "with")),
        .smooth = json_string_value(json_object_get(read, "smooth")),
        .holidays = json_string_value(json_object_get(read, "holidays")),
        .decimal = (enum series_decimal)get_count(read, "decimal", DECIMAL_COMMA),
        .skip_bad = get_bool(read, "skip_bad"),
        .per_day = get_bool(read, "per_day"),
        .max_points = d->opt.series.max_points};
    if (read) o.max_points = get_count(read, "max_points", 1e9);
    d->opt.series = series_options_copy(&o);
    d->opt.holdout = fmin(fmax(get_number(m, "holdout", 0), 0), 1e9);
    d->opt.backtest = get_count(m, "backtest", 1000);
    d->opt.seconds = fmax(get_number(m, "max_seconds", 0), 0);
}

/* Data of a panel; unknown entries are left out. */
static void load_shared(struct discovery *d, json_t *m) {
    json_t *list = json_object_get(m, "shared_priors");
    struct hyper_priors *h = &d->own_shared;
    for (size_t i = 0; i + 3 < json_array_size(list) && h->n < HYPER_MAX; i += 4) {
        double v[4];
        for (size_t k = 0; k < 4; k++) v[k] = json_number_value(json_array_get(list, i + k));
        if (!(v[0] >= 0 && v[0] <= UINT16_MAX && v[1] >= 0 && v[1] < SPAR_KINDS && v[3] > 1e-3))
            continue;
        h->at[h->n++] = (struct hyper_prior){(uint16_t)v[0], (uint16_t)v[1], v[2], v[3]};
    }
    if (h->n) d->opt.shared = h;
}

/* Cells that are no number, as the coverage of what has no interval, are NaN. */
static void load_contests(struct discovery *d, json_t *m) {
    json_t *list = json_object_get(m, "comparisons");
    for (size_t i = 0; i < 2; i++) {
        json_t *j = json_array_get(list, i), *rows = json_object_get(j, "rows");
        struct contest *c = &d->contest[i];
        if (json_array_size(rows) != 4 * CONTEST_ROWS) continue;
        *c = (struct contest){.origins = get_count(j, "origins", 1000),
                              .steps = get_count(j, "steps", 1e9),
                              .level = get_number(j, "level", 0.95)};
        for (size_t k = 0; k < CONTEST_ROWS; k++) {
            double v[4];
            for (size_t q = 0; q < 4; q++) {
                json_t *cell = json_array_get(rows, 4 * k + q);
                v[q] = json_is_number(cell) ? json_number_value(cell) : NAN;
            }
            size_t wins = v[3] >= 0 && v[3] <= 1000 ? (size_t)v[3] : 0;
            c->row[k] = (struct contest_row){v[0], v[1], v[2], wins};
        }
    }
}

/* False: not a structure that a search visits, or not one for these data. */
static bool load_structure(const struct smodel_data *data, json_t *j, struct structure *s) {
    json_t *terms = json_object_get(j, "terms");
    memset(s, 0, sizeof *s);
    if (json_array_size(terms) > STRUCTURE_MAX_TERMS) return false;
    s->transform = (uint8_t)get_count(j, "transform", TRANSFORM_POWER);
    s->change = (uint8_t)get_count(j, "change", CHANGE_WINDOW);
    s->n = (uint8_t)json_array_size(terms);
    for (size_t k = 0; k < s->n; k++) {
        json_t *t = json_array_get(terms, k);
        json_int_t mask = json_integer_value(json_array_get(t, 0));
        json_int_t gate = json_integer_value(json_array_get(t, 1));
        json_int_t at = json_integer_value(json_array_get(t, 2)); /* folders of before: none */
        json_int_t to = json_integer_value(json_array_get(t, 3)); /* likewise */
        if (mask < 0 || mask > UINT16_MAX || gate < 0 || gate > UINT16_MAX) return false;
        if (at < 0 || at > UINT16_MAX || to < 0 || to > UINT16_MAX) return false;
        s->t[k] = (struct term){(uint16_t)mask, (uint16_t)gate, (uint16_t)at, (uint16_t)to};
    }
    return structure_sound(s, data->n_season) && data->y[s->transform];
}

/* The mode and the draws of the model's parameters; both may be missing, as of a structure that was
 * given up. */
static bool load_draws(struct evidence *e, json_t *j) {
    size_t d, nw, nz;
    bool bad = false;
    double *mode = get_array(j, "mode", &d, &bad);
    e->draws.w = get_array(j, "weights", &nw, &bad);
    e->draws.z = get_array(j, "draws", &nz, &bad);
    e->draws.logp = mem_zalloc(sizeof(double) * (nw + 1));
    e->draws.d = (size_t)smodel_of(e)->d;
    e->draws.n = nw;
    e->prop.d = smodel_of(e)->d;
    e->prop.n = d > 0;
    e->prop.mode[0].z = mode;
    if (d == 0) e->logz = -INFINITY;
    return !bad && nz == nw * e->draws.d && (d ? d == e->draws.d : nw == 0);
}

/* NULL when the entry is damaged. */
static struct evidence *load_evidence(const struct smodel_data *data, json_t *j) {
    struct structure s;
    if (!load_structure(data, j, &s)) return NULL;
    struct evidence *e = sevidence_make(data, &s, get_number(j, "log_prior", 0));
    e->logz = get_number(j, "log_evidence", -INFINITY);
    e->laplace = get_number(j, "laplace", -INFINITY);
    e->se = get_number(j, "se", 1);
    e->ess = get_number(j, "ess", 0);
    e->rough = get_bool(j, "rough");
    e->expanded = get_bool(j, "expanded");
    e->evals = (long)get_count(j, "evals", 1e15);
    if (load_draws(e, j)) return e;
    evidence_free(e);
    return NULL;
}

static enum gpm_status load_structures(struct discovery *d, const char *dir, json_t *m,
                                       struct buf *err) {
    json_t *list = saved_json(dir, "structures.json", err);
    if (!list) return GPM_E_FORMAT;
    size_t n = json_array_size(list);
    struct search *s = &d->search;
    struct search_options o = {
        .seed = d->opt.seed, .draws = get_count(m, "draws", 1e6), .precision = d->opt.precision};
    struct grammar g;
    /* folders of before do not say what of the set was asked for */
    const char *set = json_object_get(m, "asked") ? "asked" : "factors";
    d->opt.factors = (uint16_t)get_count(m, set, 65535);
    grammar_init(&g, d->opt.factors, get_bool(m, "change"), get_bool(m, "logs"));
    g.only_logs = get_bool(m, "only_logs");
    enum gpm_status st = series_search_init(s, &d->data, &g, &o);
    if (st == GPM_OK) {
        for (size_t i = 0; i < n; i++) {
            struct evidence *e = load_evidence(&d->data, json_array_get(list, i));
            if (!e) break;
            e->id = series_space_number(series_space_of(s), &smodel_of(e)->s);
            search_store(s, e);
            s->top = fmax(s->top, evidence_total(e));
        }
        s->cut = get_bool(m, "cut");
        s->evals = (long)get_count(m, "evals", 1e15);
        if (s->n != n)
            st = buf_fail(err, GPM_E_FORMAT,
                          "'%s': structures.json is damaged: entry %zu is no structure of these "
                          "data with its parameters",
                          dir, s->n + 1);
        else if (n == 0 || !isfinite(s->top))
            st = buf_fail(err, GPM_E_FORMAT, "'%s': structures.json is damaged: it has no evidence",
                          dir);
    }
    json_decref(list);
    return st;
}

static enum gpm_status load_chains(struct discovery *d, const char *dir, json_t *m,
                                   struct buf *err) {
    struct posterior *p = &d->post;
    p->n_chains = (int)get_count(m, "chains", 1000);
    p->steps = get_count(m, "steps", 1e6);
    p->acceptance = get_number(m, "acceptance", 0);
    p->tv_between = get_number(m, "tv_between", 0);
    p->tv_evidence = get_number(m, "tv_evidence", 0);
    p->rhat = get_number(m, "rhat", 0);
    p->ess = get_number(m, "ess", 0);
    p->settled = get_bool(m, "settled");
    p->unexplored = get_number(m, "unexplored", p->unexplored);
    set_text(&p->verdict, m, "verdict");
    struct buf text = BUF_INIT;
    enum gpm_status st = read_part(dir, "chains.csv", &text);
    size_t n = (size_t)p->n_chains * p->steps, k = 0;
    size_t room = n > 10000000 ? 0 : n; /* no run was that long */
    p->chain = NEW_ARRAY(struct chain_state, room + 1);
    char *line = strchr(text.data, '\n'), *end;
    for (; st == GPM_OK && line && line[1] && k < room; line = strchr(line + 1, '\n')) {
        strtoul(line + 1, &end, 10);
        strtoul(*end ? end + 1 : end, &end, 10);
        long id = strtol(*end ? end + 1 : end, &end, 10);
        if (id < 0 || (size_t)id >= d->search.n) break;
        p->chain[k++] = (struct chain_state){(int)id, number_read(*end ? end + 1 : end, NULL)};
    }
    buf_release(&text);
    if (k != n) buf_printf(err, "'%s': chains.csv is damaged", dir);
    return k == n ? GPM_OK : GPM_E_FORMAT;
}

enum gpm_status discovery_load(struct discovery *d, const char *dir, struct buf *err) {
    *d = (struct discovery){.opt = DISCOVERY_OPTIONS_INIT};
    json_t *m = saved_json(dir, "manifest.json", err);
    if (!m) return GPM_E_FORMAT;
    enum gpm_status st = GPM_OK;
    double format = get_number(m, "format", 0);
    if (!json_object_get(m, "format"))
        st = buf_fail(err, GPM_E_FORMAT,
                      "'%s' is no run of `gpmem discover`; for a run of `gpmem run --out` there "
                      "are summary, diagnose, plot, export and resume",
                      dir);
    else if (format != SAVED_FORMAT)
        st = buf_fail(err, GPM_E_FORMAT, "'%s' has format %g; this version reads format %d", dir,
                      format, SAVED_FORMAT);
    else if (!get_seed(m, &d->opt.seed))
        st = buf_fail(err, GPM_E_FORMAT, "the manifest of '%s' names no seed", dir);
    d->opt.horizon = get_count(m, "horizon", 100000);
    d->opt.level = get_number(m, "level", 0.95);
    if (!(d->opt.level > 0 && d->opt.level < 1)) d->opt.level = 0.95;
    d->seconds = get_number(m, "seconds", 0);
    const char *precision = json_string_value(json_object_get(m, "precision"));
    if (st == GPM_OK && precision && !precision_find(precision, &d->opt.precision))
        st = buf_fail(err, GPM_E_FORMAT, "'%s' has precision '%s'; this version has no such one",
                      dir, precision);
    load_choices(d, m);
    load_contests(d, m);
    load_shared(d, m);
    if (st == GPM_OK) st = load_series(d, dir, m, err);
    if (d->opt.horizon > 1000 + 10 * d->series.n) d->opt.horizon = 0; /* as no run was saved */
    if (st == GPM_OK) st = discovery_prepare(d, err);
    if (st == GPM_OK && get_bool(m, "rates") && smodel_few_counts(&d->data))
        smodel_data_rates(&d->data);
    if (st == GPM_OK) st = load_structures(d, dir, m, err);
    if (st == GPM_OK) {
        posterior_init(&d->post, &d->search);
        st = load_chains(d, dir, m, err);
    }
    if (st == GPM_OK) st = discovery_finish(d, err);
    if (st == GPM_OK) discovery_checks(d);
    json_decref(m);
    if (st != GPM_OK) discovery_release(d);
    return st;
}
