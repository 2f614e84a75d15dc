/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as a folder:
 *   manifest.json    format, version, seed, hash of the data, options
 *   data.csv         the values that were fitted: x,y
 *   structures.json  every structure visited: evidence, modes, weighted draws of the parameters
 *   chains.csv       the states of the exact sampler
 *   draws.csv        the draws of the most probable structures in the user's units, for other tools
 *   lock             while a process writes
 * Files are written beside and renamed, the manifest last: a folder with a manifest is complete.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "discover/discovery.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1

/* ---- writing ---- */
static enum gpm_status put_file(const char *dir, const char *name, const struct buf *text,
                                struct buf *err) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", dir, name);
    enum gpm_status st = file_write(path.data, FILE_OURS, text->data, text->len);
    if (st) buf_printf(err, "cannot write '%s': %s", path.data, file_why());
    buf_release(&path);
    return st;
}

static void put_exact(struct buf *out, double v) {
    if (isfinite(v))
        buf_printf(out, "%.17g", v);
    else
        buf_puts(out, "null");
}

static void put_array(struct buf *out, const double *v, size_t n) {
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_putc(out, ',');
        put_exact(out, v[i]);
    }
    buf_putc(out, ']');
}

static void put_evidence(const struct evidence *e, struct buf *out) {
    const struct structure *s = &smodel_of(e)->s;
    struct buf name = BUF_INIT;
    structure_print(s, &name);
    buf_printf(out, "{\"struct\": \"%s\", \"transform\": %d, \"change\": %d, \"terms\": [",
               name.data, s->transform, s->change);
    buf_release(&name);
    for (int k = 0; k < s->n; k++)
        buf_printf(out, "%s[%u, %u]", k ? ", " : "", s->t[k].mask, s->t[k].gate);
    buf_puts(out, "], \"log_prior\": ");
    put_exact(out, e->log_prior);
    buf_puts(out, ", \"log_evidence\": ");
    put_exact(out, e->logz);
    buf_puts(out, ", \"laplace\": ");
    put_exact(out, e->laplace);
    buf_puts(out, ", \"se\": ");
    put_exact(out, e->se);
    buf_puts(out, ", \"ess\": ");
    put_exact(out, e->ess);
    buf_printf(out, ", \"rough\": %s, \"expanded\": %s, \"evals\": %ld, \"mode\": ",
               e->rough ? "true" : "false", e->expanded ? "true" : "false", e->evals);
    put_array(out, e->prop.n ? e->prop.mode[0].z : NULL, e->prop.n ? (size_t)smodel_of(e)->d : 0);
    buf_puts(out, ", \"weights\": ");
    put_array(out, e->draws.w, e->draws.n);
    buf_puts(out, ", \"draws\": ");
    put_array(out, e->draws.z, e->draws.n * e->draws.d);
    buf_putc(out, '}');
}

/* What it takes to read the file and to run again (program.c). */
static void put_choices(const struct discovery *d, struct buf *out) {
    const struct series_options *o = &d->opt.series;
    const char *const names[] = {"time", "column"}, *const texts[] = {o->time, o->value};
    buf_puts(out, " \"read\": {");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!texts[i]) continue;
        buf_printf(out, "\"%s\": ", names[i]);
        buf_json_string(out, texts[i], strlen(texts[i]));
        buf_puts(out, ", ");
    }
    buf_printf(out,
               "\"skip_bad\": %s, \"max_points\": %zu}, \"holdout\": %.17g, \"max_seconds\": %g, "
               "\"only_logs\": %s,\n",
               o->skip_bad ? "true" : "false", o->max_points, d->opt.holdout, d->opt.seconds,
               series_space_of(&d->search)->grammar.only_logs ? "true" : "false");
}

static void put_manifest(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    buf_printf(out,
               "{\"format\": %d, \"kind\": \"gpmem discovery\", \"version\": \"%s\", \"seed\": "
               "%llu, \"data_hash\": \"%016llx\",\n \"file\": ",
               FORMAT, GPMEM_VERSION, (unsigned long long)d->opt.seed, (unsigned long long)s->hash);
    buf_json_string(out, s->name, strlen(s->name));
    buf_puts(out, ", \"time_name\": ");
    buf_json_string(out, s->time_name, strlen(s->time_name));
    if (s->form) {
        buf_puts(out, ", \"time_form\": ");
        buf_json_string(out, s->form, strlen(s->form));
    }
    buf_puts(out, ", \"value_name\": ");
    buf_json_string(out, s->value_name, strlen(s->value_name));
    buf_printf(out,
               ",\n \"time_kind\": %d, \"unit\": \"%s\", \"rows\": %zu, \"missing\": %zu, \"bad\": "
               "%zu, \"repeated\": %zu, \"left_out\": %zu, \"sorted\": %s,\n",
               (int)s->kind, s->unit, s->rows, s->missing, s->bad, s->repeated, s->left_out,
               s->sorted ? "true" : "false");
    put_choices(d, out);
    const struct search_options *o = &d->search.opt;
    const struct grammar *g = &series_space_of(&d->search)->grammar;
    buf_printf(out,
               " \"factors\": %u, \"change\": %s, \"logs\": %s, \"window\": %g, \"draws\": %zu, "
               "\"horizon\": %zu, \"level\": %.17g, \"cut\": %s, \"evals\": %ld, \"seconds\": "
               "%.3f,\n \"chains\": %d, \"steps\": %zu, \"acceptance\": %.17g, \"tv_between\": "
               "%.17g, \"tv_evidence\": %.17g, \"rhat\": %.17g, \"ess\": %.17g, \"settled\": %s, "
               "\"verdict\": ",
               g->factors, g->change ? "true" : "false", g->logs ? "true" : "false", o->window,
               o->draws, d->opt.horizon, d->opt.level, d->search.cut ? "true" : "false",
               d->search.evals, d->seconds, d->post.n_chains, d->post.steps, d->post.acceptance,
               d->post.tv_between, d->post.tv_evidence, d->post.rhat, d->post.ess,
               d->post.settled ? "true" : "false");
    buf_json_string(out, d->post.verdict, strlen(d->post.verdict));
    buf_puts(out, "}\n");
}

static void put_draws(const struct discovery *d, struct buf *out) {
    static const char *const kinds[] = {"noise_sd", "sd", "l",  "l",  "period", "l_per",
                                        "alpha",    "c",  "sd", "sd", "tau",    "width"};
    buf_puts(out, "structure,transform,weight,log_density,parameter,value\n");
    for (size_t i = 0; i < d->search.n; i++) {
        const struct evidence *e = d->search.at[i];
        if (d->post.weight[i] < 0.01) continue;
        struct buf name = BUF_INIT;
        structure_print(&smodel_of(e)->s, &name);
        int tr = smodel_of(e)->s.transform;
        for (size_t k = 0; k < e->draws.n; k++)
            for (int j = 0; j < smodel_of(e)->d; j++) {
                int kind = smodel_of(e)->par[j].kind;
                double v = smodel_value(smodel_of(e), j, e->draws.z[k * e->draws.d + (size_t)j]);
                if (kind == SPAR_NOISE || kind == SPAR_SD || kind == SPAR_SD_W ||
                    kind == SPAR_SD_IW)
                    v *= d->data.sd[tr];
                else if (kind == SPAR_C || kind == SPAR_TAU)
                    v = d->data.x0 + v * d->data.span;
                else if (kind != SPAR_LPER && kind != SPAR_ALPHA)
                    v *= d->data.span;
                buf_printf(out, "%s,%s,%.6g,%.8g,%s_%d,%.8g\n", name.data, tr ? "log" : "none",
                           e->draws.w[k], e->draws.logp[k], kinds[kind],
                           smodel_of(e)->par[j].term + 1, v);
            }
        buf_release(&name);
    }
}

static enum gpm_status save_parts(const struct discovery *d, const char *dir, struct buf *b,
                                  struct buf *err) {
    buf_puts(b, "x,y\n");
    for (size_t i = 0; i < d->series.n; i++)
        buf_printf(b, "%.17g,%.17g\n", d->series.x[i], d->series.y[i]);
    enum gpm_status st = put_file(dir, "data.csv", b, err);
    if (st != GPM_OK) return st;
    buf_reset(b);
    buf_puts(b, "[");
    for (size_t i = 0; i < d->search.n; i++) {
        buf_puts(b, i ? ",\n" : "\n");
        put_evidence(d->search.at[i], b);
    }
    buf_puts(b, "\n]\n");
    st = put_file(dir, "structures.json", b, err);
    if (st != GPM_OK) return st;
    buf_reset(b);
    buf_puts(b, "chain,step,structure,log_density\n");
    for (size_t i = 0; i < (size_t)d->post.n_chains * d->post.steps; i++)
        buf_printf(b, "%zu,%zu,%d,%.10g\n", i / d->post.steps, i % d->post.steps,
                   d->post.chain[i].structure, d->post.chain[i].logp);
    st = put_file(dir, "chains.csv", b, err);
    if (st != GPM_OK) return st;
    buf_reset(b);
    put_draws(d, b);
    st = put_file(dir, "draws.csv", b, err);
    if (st != GPM_OK) return st;
    buf_reset(b);
    put_manifest(d, b);
    return put_file(dir, "manifest.json", b, err);
}

enum gpm_status discovery_save(const struct discovery *d, const char *dir, struct buf *err) {
    struct buf b = BUF_INIT;
    int lock = -1;
    enum gpm_status st = file_folder(dir, FILE_GIVEN);
    if (st) buf_printf(err, "cannot make the folder '%s': %s", dir, file_why());
    if (!st) {
        st = file_lock(dir, &lock);
        if (st) buf_printf(err, "cannot write to the folder '%s': %s", dir, file_why());
    }
    if (!st) {
        st = save_parts(d, dir, &b, err);
        file_unlock(dir, lock);
    }
    buf_release(&b);
    return st;
}

/* ---- reading ---- */

static enum gpm_status read_part(const char *dir, const char *name, struct buf *text) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", dir, name);
    enum gpm_status st = file_read(path.data, FILE_OURS, SIZE_MAX / 4, text);
    buf_release(&path);
    return st;
}

static json_t *load_json(const char *dir, const char *name, struct buf *err) {
    struct buf text = BUF_INIT;
    json_error_t e;
    json_t *j = NULL;
    enum gpm_status st = read_part(dir, name, &text);
    if (st == GPM_OK) {
        locale_t before = number_locale_enter();
        j = json_loadb(text.data, text.len, 0, &e);
        number_locale_leave(before);
    }
    if (!j)
        buf_printf(err,
                   "'%s' holds no run of discover that can be read: %s: %s; "
                   "`gpmem discover --out DIR FILE` makes one",
                   dir, name, st == GPM_OK ? e.text : file_why());
    buf_release(&text);
    return j;
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

static bool get_bool(json_t *j, const char *key) {
    return json_is_true(json_object_get(j, key));
}

static char *get_text(json_t *j, const char *key) {
    const char *s = json_string_value(json_object_get(j, key));
    return series_clean_name(s ? s : "");
}

/* The caller frees; *bad is set when an entry is no number. */
static double *get_array(json_t *j, const char *key, size_t *n, bool *bad) {
    json_t *a = json_object_get(j, key);
    *n = json_array_size(a);
    double *v = NEW_ARRAY(double, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        v[i] = json_number_value(json_array_get(a, i));
        *bad |= !json_is_number(json_array_get(a, i));
    }
    return v;
}

/* Only what is a time of the series' kind; without one times are printed in the usual form. */
static void load_form(struct series *s, const char *form) {
    double x;
    enum time_kind kind;
    mem_free(s->form);
    bool good = form && series_parse_time(form, &x, &kind) == GPM_OK &&
                (kind == s->kind || (s->kind == TIME_DATE && series_compact_date(x, &x)));
    s->form = good ? mem_strdup(form) : NULL;
}

static enum gpm_status load_series(struct discovery *d, const char *dir, json_t *m,
                                   struct buf *err) {
    struct buf text = BUF_INIT;
    struct series_options o = {0};
    enum gpm_status st = read_part(dir, "data.csv", &text);
    if (st)
        buf_printf(err, "'%s': data.csv: %s", dir, file_why());
    else
        st = series_parse(&d->series, "data.csv", text.data, text.len, &o, err);
    buf_release(&text);
    if (st != GPM_OK) return st;
    struct series *s = &d->series;
    char *hash = get_text(m, "data_hash");
    if (strtoull(hash, NULL, 16) != s->hash) {
        buf_printf(err, "the data in '%s' are not those of its manifest (hash differs)", dir);
        st = GPM_E_CONFLICT;
    }
    mem_free(hash);
    mem_free(s->name);
    mem_free(s->time_name);
    mem_free(s->value_name);
    s->name = get_text(m, "file");
    s->time_name = get_text(m, "time_name");
    s->value_name = get_text(m, "value_name");
    s->kind = (enum time_kind)get_count(m, "time_kind", TIME_INSTANT);
    load_form(s, json_string_value(json_object_get(m, "time_form")));
    const char *unit = json_string_value(json_object_get(m, "unit"));
    s->unit = unit && !strcmp(unit, "year")  ? "year"
              : unit && !strcmp(unit, "day") ? "day"
                                             : "step";
    s->rows = get_count(m, "rows", 1e9);
    s->missing = get_count(m, "missing", 1e9);
    s->bad = get_count(m, "bad", 1e9);
    s->left_out = get_count(m, "left_out", 1e9);
    s->sorted = get_bool(m, "sorted");
    return st;
}

/* The other way round of put_choices; folders of before lack them. */
static void load_choices(struct discovery *d, json_t *m) {
    json_t *read = json_object_get(m, "read");
    struct series_options o = {.time = json_string_value(json_object_get(read, "time")),
                               .value = json_string_value(json_object_get(read, "column")),
                               .skip_bad = get_bool(read, "skip_bad"),
                               .max_points = d->opt.series.max_points};
    if (read) o.max_points = get_count(read, "max_points", 1e9);
    d->opt.series = series_options_copy(&o);
    d->opt.holdout = fmin(fmax(get_number(m, "holdout", 0), 0), 1);
    d->opt.seconds = fmax(get_number(m, "max_seconds", 0), 0);
}

/* False when it is none that a search visits, or not one of these data. */
static bool load_structure(const struct smodel_data *data, json_t *j, struct structure *s) {
    json_t *terms = json_object_get(j, "terms");
    memset(s, 0, sizeof *s);
    if (json_array_size(terms) > STRUCTURE_MAX_TERMS) return false;
    s->transform = (uint8_t)get_count(j, "transform", TRANSFORM_LOG);
    s->change = (uint8_t)get_count(j, "change", CHANGE_WINDOW);
    s->n = (uint8_t)json_array_size(terms);
    for (size_t k = 0; k < s->n; k++) {
        json_t *t = json_array_get(terms, k);
        json_int_t mask = json_integer_value(json_array_get(t, 0));
        json_int_t gate = json_integer_value(json_array_get(t, 1));
        if (mask < 0 || mask > UINT16_MAX || gate < 0 || gate > UINT16_MAX) return false;
        s->t[k] = (struct term){(uint16_t)mask, (uint16_t)gate};
    }
    return structure_sound(s) && data->y[s->transform];
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
    if (bad || nz != nw * e->draws.d || (d ? d != e->draws.d : nw > 0)) {
        mem_free(mode);
        return false;
    }
    if (d == 0) {
        mem_free(mode);
        e->logz = -INFINITY;
        return true;
    }
    e->prop.d = smodel_of(e)->d;
    e->prop.n = 1;
    e->prop.mode[0].z = mode;
    return true;
}

/* NULL when the entry is damaged. */
static struct evidence *load_evidence(const struct smodel_data *data, json_t *j) {
    struct structure s;
    if (!load_structure(data, j, &s)) return NULL;
    struct evidence *e = NEW(struct evidence);
    evidence_set_model(e, data, &s);
    e->log_prior = get_number(j, "log_prior", 0);
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
    json_t *list = load_json(dir, "structures.json", err);
    if (!list) return GPM_E_FORMAT;
    size_t n = json_array_size(list);
    struct search *s = &d->search;
    struct search_options o;
    struct grammar g;
    search_options_init(&o);
    grammar_init(&g, (uint16_t)get_count(m, "factors", 65535), get_bool(m, "change"),
                 get_bool(m, "logs"));
    g.only_logs = get_bool(m, "only_logs");
    o.draws = get_count(m, "draws", 1e6);
    o.seed = d->opt.seed;
    enum gpm_status st = series_search_init(s, &d->data, &g, &o);
    if (st == GPM_OK) {
        for (size_t i = 0; i < n; i++) {
            struct evidence *e = load_evidence(&d->data, json_array_get(list, i));
            if (!e) break;
            e->id = i;
            search_store(s, e);
            s->top = fmax(s->top, evidence_total(e));
        }
        s->cut = get_bool(m, "cut");
        s->evals = (long)get_count(m, "evals", 1e15);
        if (s->n == 0 || s->n != n || !isfinite(s->top)) st = GPM_E_FORMAT;
        if (s->n != n)
            buf_printf(err,
                       "'%s': structures.json is damaged: entry %zu is no structure of these data "
                       "with its parameters",
                       dir, s->n + 1);
        else if (st)
            buf_printf(err, "'%s': structures.json is damaged: it has no evidence", dir);
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
    p->verdict = get_text(m, "verdict");
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
    memset(d, 0, sizeof *d);
    discovery_options_init(&d->opt);
    json_t *m = load_json(dir, "manifest.json", err);
    if (!m) return GPM_E_FORMAT;
    enum gpm_status st = GPM_OK;
    if (!json_object_get(m, "format")) {
        buf_printf(err,
                   "'%s' is no run of `gpmem discover`; for a run of `gpmem run --out` there are "
                   "summary, diagnose, plot, export and resume",
                   dir);
        st = GPM_E_FORMAT;
    } else if (get_number(m, "format", 0) != FORMAT) {
        buf_printf(err, "'%s' has format %g; this version reads format %d", dir,
                   get_number(m, "format", 0), FORMAT);
        st = GPM_E_FORMAT;
    }
    d->opt.seed = (uint64_t)get_count(m, "seed", 1.8e19);
    d->opt.horizon = get_count(m, "horizon", 100000);
    d->opt.level = get_number(m, "level", 0.95);
    if (!(d->opt.level > 0 && d->opt.level < 1)) d->opt.level = 0.95;
    d->seconds = get_number(m, "seconds", 0);
    load_choices(d, m);
    if (st == GPM_OK) st = load_series(d, dir, m, err);
    if (d->opt.horizon > 1000 + 10 * d->series.n) d->opt.horizon = 0; /* as no run was saved */
    if (st == GPM_OK) st = discovery_prepare(d, err);
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
