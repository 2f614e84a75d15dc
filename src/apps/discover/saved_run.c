/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as a folder:
 *   manifest.json    format, version, seed, hash of the data, options
 *   data.csv         the values that were fitted: x,y and the regressors r1, r2, ...
 *   structures.json  every structure visited: evidence, modes, weighted draws of the parameters
 *   chains.csv       the states of the exact sampler
 *   draws.csv        the draws of the most probable structures in the user's units, for other tools
 *   lock             while a process writes
 *   search.journal   while the search runs, and after it was ended (journal.h)
 * Files are written beside and renamed, the manifest last: a folder with a manifest is complete.
 * They are read in saved_read.c.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/version.h"
#include "apps/discover/discovery.h"
#include "apps/discover/every.h"
#include "apps/discover/saved_run.h"
#include <math.h>
#include <string.h>

/* ---- writing ---- */
/* %.17g: shorter ones that read back alike take longer to find, and these are many. */
static void put_array(const char *name, const double *v, size_t n, struct buf *out) {
    json_key(out, name);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, isfinite(v[i]) ? "%c%.17g" : "%cnull", i ? ',' : '[', v[i]);
    buf_puts(out, n ? "]" : "[]");
}

static void put_evidence(const struct evidence *e, struct buf *out) {
    const struct structure *s = &smodel_of(e)->s;
    struct buf name = BUF_INIT;
    structure_print(s, &name);
    buf_putc(out, '{');
    JSON(out, FIELD("struct", name.data), FIELD("transform", s->transform),
         FIELD("change", s->change));
    buf_puts(out, ", \"terms\": [");
    for (int k = 0; k < s->n; k++)
        buf_printf(out, "%s[%u, %u, %u, %u]", k ? ", " : "", s->t[k].mask, s->t[k].gate, s->t[k].at,
                   s->t[k].to);
    buf_putc(out, ']');
    JSON(out, FIELD("log_prior", e->log_prior), FIELD("log_evidence", e->logz),
         FIELD("laplace", e->laplace), FIELD("se", e->se), FIELD("ess", e->ess),
         FIELD("rough", e->rough), FIELD("expanded", e->expanded), FIELD("evals", e->evals));
    put_array("mode", e->prop.mode[0].z, e->prop.n ? (size_t)smodel_of(e)->d : 0, out);
    put_array("weights", e->draws.w, e->draws.n, out);
    put_array("draws", e->draws.z, e->draws.n * e->draws.d, out);
    buf_putc(out, '}');
    buf_release(&name);
}

static void put_structures(const struct discovery *d, struct buf *out) {
    for (size_t i = 0; i < d->search.n; i++) {
        buf_puts(out, i ? ",\n" : "[\n");
        put_evidence(d->search.at[i], out);
    }
    buf_puts(out, "\n]\n");
}

static void put_series(const struct series *s, struct buf *out) {
    const struct regressors *r = &s->reg;
    buf_puts(out, "x,y");
    for (int j = 0; j < r->n; j++) buf_printf(out, ",r%d", j + 1);
    for (size_t i = 0; i < s->n; i++) {
        double z[REGRESSORS_MAX];
        if (r->n) (void)regressors_at(r, s->x[i], 0, z);
        buf_printf(out, "\n%.17g,%.17g", s->x[i], s->y[i]);
        for (int j = 0; j < r->n; j++) buf_printf(out, ",%.17g", z[j]);
    }
    buf_putc(out, '\n');
}

static void put_data(const struct discovery *d, struct buf *out) {
    put_series(&d->series, out);
}

static void put_chains(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    buf_puts(out, "chain,step,structure,log_density\n");
    for (size_t i = 0; i < (size_t)p->n_chains * p->steps; i++)
        buf_printf(out, "%zu,%zu,%d,%.10g\n", i / p->steps, i % p->steps, p->chain[i].structure,
                   p->chain[i].logp);
}

/* What makes the values of parameters the user's. */
static const enum {
    OF_VALUES,
    OF_TIME,
    A_TIME,
    PLAIN
} units[SPAR_KINDS] = {
    [SPAR_NOISE] = OF_VALUES, [SPAR_SD] = OF_VALUES,  [SPAR_L] = OF_TIME, [SPAR_PERIOD] = OF_TIME,
    [SPAR_LPER] = PLAIN,      [SPAR_ALPHA] = PLAIN,   [SPAR_C] = A_TIME,  [SPAR_TAU] = A_TIME,
    [SPAR_WIDTH] = OF_TIME,   [SPAR_LWITHIN] = PLAIN,
};

static void put_evidence_draws(const struct discovery *d, const struct evidence *e,
                               struct buf *out) {
    int tr = smodel_of(e)->s.transform;
    const double scale[] = {d->data.sd[tr], d->data.span, d->data.span, 1};
    struct buf name = BUF_INIT;
    structure_print(&smodel_of(e)->s, &name);
    for (size_t k = 0; k < e->draws.n; k++)
        for (int j = 0; j < smodel_of(e)->d; j++) {
            int kind = smodel_of(e)->par[j].kind, unit = units[kind];
            double v = smodel_value(smodel_of(e), j, e->draws.z[k * e->draws.d + (size_t)j]);
            v = scale[unit] * v + (unit == A_TIME ? d->data.x0 : 0);
            buf_printf(out, "%s,%s,%.6g,%.8g,%s_%d,%.8g\n", name.data,
                       link_name(d->data.link[tr].kind), e->draws.w[k], e->draws.logp[k],
                       spar_name(kind), smodel_of(e)->par[j].term + 1, v);
        }
    buf_release(&name);
}

static void put_draws(const struct discovery *d, struct buf *out) {
    buf_puts(out, "structure,transform,weight,log_density,parameter,value\n");
    for (size_t i = 0; i < d->search.n; i++)
        if (d->post.weight[i] >= 0.01) put_evidence_draws(d, d->search.at[i], out);
}

/* What it takes to read the file and to run again (program.c). */
static void put_choices(const struct discovery *d, struct buf *out) {
    const struct series_options *o = &d->opt.series;
    buf_puts(out, ",\n \"read\": {");
    if (o->time) JSON(out, FIELD("time", o->time));
    if (o->value) JSON(out, FIELD("column", o->value));
    if (o->date_format) JSON(out, FIELD("date_format", o->date_format));
    if (o->missing) JSON(out, FIELD("missing", o->missing));
    if (o->every) JSON(out, FIELD("every", o->every));
    if (o->take) JSON(out, FIELD("take", series_take_name(o->take)));
    if (o->least) JSON(out, FIELD("least", o->least));
    if (o->most) JSON(out, FIELD("most", o->most));
    if (o->with) JSON(out, FIELD("with", o->with));
    if (o->smooth) JSON(out, FIELD("smooth", o->smooth));
    if (o->holidays) JSON(out, FIELD("holidays", o->holidays));
    JSON(out, FIELD("skip_bad", o->skip_bad), FIELD("per_day", o->per_day),
         FIELD("max_points", o->max_points), FIELD("decimal", o->decimal));
    buf_putc(out, '}');
    JSON(out, FIELD("holdout", d->opt.holdout), FIELD("backtest", d->opt.backtest),
         FIELD("max_seconds", d->opt.seconds),
         FIELD("only_logs", series_space_of(&d->search)->grammar.only_logs),
         FIELD("rates", smodel_scale_hidden(&d->data)));
}

static void put_regressors(const struct regressors *r, struct buf *out) {
    buf_puts(out, ",\n \"regressors\": [");
    for (int j = 0; j < r->n; j++) {
        buf_puts(out, j ? ", {" : "{");
        JSON(out, FIELD("name", r->name[j]), FIELD("smooth", r->smooth[j]),
             FIELD("listed", r->listed[j]));
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

/* Rows of regressors after the values, as far as they are known: time, then columns. */
static void put_to_come(const struct series *s, struct buf *out) {
    const struct regressors *r = &s->reg;
    size_t k = (size_t)r->n, first = 0, n = 0;
    while (first < r->rows && r->x[first] <= s->x[s->n - 1]) first++;
    double *v = NEW_ARRAY(double, (r->rows - first) * (k + 1) + 1);
    for (size_t i = first; i < r->rows; i++) {
        v[n++] = r->x[i];
        for (size_t j = 0; j < k; j++) v[n++] = r->z[i * k + j];
    }
    put_array("to_come", v, n, out);
    mem_free(v);
}

static void put_shared(const struct hyper_priors *h, struct buf *out) {
    double v[4 * HYPER_MAX];
    for (size_t i = 0; h && i < h->n; i++) {
        double row[] = {h->at[i].mask, h->at[i].kind, h->at[i].mean, h->at[i].sd};
        memcpy(v + 4 * i, row, sizeof row);
    }
    put_array("shared_priors", v, h ? 4 * h->n : 0, out);
}

/* Comparisons with simple forecasts: sums over origins, row by row. */
static void put_contests(const struct discovery *d, struct buf *out) {
    buf_puts(out, ",\n \"comparisons\": [");
    for (int i = 0; i < 2; i++) {
        const struct contest *c = &d->contest[i];
        double v[4 * CONTEST_ROWS];
        for (int k = 0; k < CONTEST_ROWS; k++) {
            const struct contest_row *r = &c->row[k];
            double row[] = {r->mase, r->smape, r->coverage, (double)r->wins};
            memcpy(v + 4 * k, row, sizeof row);
        }
        buf_puts(out, i ? ", {" : "{");
        JSON(out, FIELD("origins", c->origins), FIELD("steps", c->steps), FIELD("level", c->level));
        put_array("rows", v, c->origins ? COUNT_OF(v) : 0, out);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

static void put_outliers(const struct outliers *o, struct buf *out) {
    json_key(out, "outliers");
    buf_putc(out, '[');
    for (size_t i = 0; i < o->n; i++)
        buf_printf(out, "%s[%zu, %.17g, %.17g]", i ? ", " : "", o->at[i].at, o->at[i].expected,
                   o->at[i].sds);
    buf_putc(out, ']');
}

static void put_manifest(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    const struct search_options *o = &d->search.opt;
    const struct grammar *g = &series_space_of(&d->search)->grammar;
    const struct posterior *p = &d->post;
    const char *quote = d->opt.seed > INT64_MAX ? "\"" : ""; /* no integer of the reader's */
    buf_printf(out,
               "{\"format\": %d, \"kind\": \"gpmem discovery\", \"version\": \"%s\", \"seed\": "
               "%s%llu%s, \"data_hash\": \"%016llx\",\n ",
               SAVED_FORMAT, version_text(), quote, (unsigned long long)d->opt.seed, quote,
               (unsigned long long)s->hash);
    JSON(out, FIELD("file", s->name), FIELD("time_name", s->time_name),
         FIELD("value_name", s->value_name), FIELD("time_kind", s->form.kind),
         FIELD("unit", s->unit), FIELD("rows", s->rows), FIELD("missing", s->missing),
         FIELD("bad", s->bad), FIELD("repeated", s->repeated), FIELD("left_out", s->left_out),
         FIELD("sorted", s->sorted), FIELD("aside", s->aside), FIELD("aside_line", s->aside_line),
         FIELD("layout", s->layout), FIELD("unseen", s->unseen), FIELD("set_back", s->set_back));
    if (s->form.like) JSON(out, FIELD("time_form", s->form.like));
    if (s->form.pattern) JSON(out, FIELD("time_pattern", s->form.pattern));
    JSON(out, FIELD("time_zone", s->form.zone), FIELD("time_zones", s->form.zones),
         FIELD("time_found", s->form.found), FIELD("month_end", s->month_end),
         FIELD("month_at", s->month_at), FIELD("value_unit", (const char *)s->style.unit),
         FIELD("decimal_comma", s->style.decimal == ','), FIELD("thousands", s->style.thousands),
         FIELD("magnitudes", s->style.magnitudes), FIELD("marks", s->style.noted),
         FIELD("mark", (const char *)s->style.notes));
    if (s->averaged)
        JSON(out, FIELD("every", (const char *)s->every), FIELD("averaged", s->averaged),
             FIELD("take", series_take_name(s->take)), FIELD("ends", s->ends),
             FIELD("empty", s->empty), FIELD("same", s->same), FIELD("within", s->within),
             FIELD("next", s->next));
    if (s->style.truth) JSON(out, FIELD("truth", s->style.truth));
    put_outliers(&d->out, out);
    put_choices(d, out);
    put_regressors(&d->series.reg, out);
    if (d->series.reg.n) put_to_come(&d->series, out);
    put_contests(d, out);
    put_shared(d->data.shared, out);
    buf_puts(out, ",\n ");
    JSON(out, FIELD("factors", g->factors), FIELD("asked", d->opt.factors),
         FIELD("change", g->change), FIELD("logs", g->logs),
         FIELD("precision", precision_names[d->opt.precision]), FIELD("draws", o->draws),
         FIELD("horizon", d->opt.horizon), FIELD("level", d->opt.level),
         FIELD("cut", d->search.cut), FIELD("evals", d->search.evals),
         FIELD("seconds", d->seconds));
    buf_puts(out, ",\n ");
    JSON(out, FIELD("chains", p->n_chains), FIELD("steps", p->steps),
         FIELD("acceptance", p->acceptance), FIELD("tv_between", p->tv_between),
         FIELD("tv_evidence", p->tv_evidence), FIELD("rhat", p->rhat), FIELD("ess", p->ess),
         FIELD("settled", p->settled), FIELD("verdict", p->verdict),
         FIELD("unexplored", p->unexplored));
    buf_puts(out, "}\n");
}

static const struct {
    const char *name;
    void (*put)(const struct discovery *d, struct buf *out);
} parts[] = {{"data.csv", put_data},
             {"structures.json", put_structures},
             {"chains.csv", put_chains},
             {"draws.csv", put_draws},
             {"manifest.json", put_manifest}};

static enum gpm_status save_parts(const struct discovery *d, const char *dir, struct buf *err) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < COUNT_OF(parts) && !st; i++) {
        struct buf path = BUF_INIT, text = BUF_INIT;
        buf_printf(&path, "%s/%s", dir, parts[i].name);
        parts[i].put(d, &text);
        st = file_write(path.data, FILE_OURS, text.data, text.len);
        if (st) buf_printf(err, "cannot write '%s': %s", path.data, file_why());
        buf_release(&path);
        buf_release(&text);
    }
    return st;
}

/* ---- the folder ---- */

/* A folder without a manifest keeps its own files; a save that was cut short left the data of this
 * series, and then maybe more. */
static enum gpm_status is_free(const struct series *s, const char *dir, struct buf *err) {
    struct buf path = BUF_INIT, data = BUF_INIT;
    put_series(s, &data);
    buf_printf(&path, "%s/%s", dir, parts[0].name);
    bool begun = file_there(path.data), is = file_is_free(path.data, data.data, data.len);
    for (size_t i = 1; is && !begun && i < COUNT_OF(parts); i++) {
        buf_reset(&path);
        buf_printf(&path, "%s/%s", dir, parts[i].name);
        is = !file_there(path.data);
    }
    if (!is) buf_printf(err, "'%s' would be written over; choose another folder", path.data);
    buf_release(&path);
    buf_release(&data);
    return is ? GPM_OK : GPM_E_ARG;
}

enum gpm_status discovery_may_keep(const struct series *s, const char *dir, struct buf *err) {
    struct buf why = BUF_INIT;
    char hash[24];
    json_t *m = saved_json(dir, "manifest.json", &why);
    const char *file = json_string_value(json_object_get(m, "file")),
               *column = json_string_value(json_object_get(m, "value_name")),
               *data = json_string_value(json_object_get(m, "data_hash"));
    snprintf(hash, sizeof hash, "%016llx", s ? (unsigned long long)s->hash : 0);
    bool named = s && file && column && !strcmp(file, s->name) && !strcmp(column, s->value_name);
    bool same = named || (s && data && !strcmp(data, hash));
    enum gpm_status st = !m || same ? GPM_OK : GPM_E_ARG;
    if (st)
        buf_printf(err, "'%s' holds another run%s%s%s%s; choose another folder, or remove that one",
                   dir, column ? ", of '" : "", column ? column : "", file ? "' of " : "",
                   file ? file : "");
    if (!m && s) st = is_free(s, dir, err);
    json_decref(m);
    buf_release(&why);
    return st;
}

enum gpm_status discovery_save(const struct discovery *d, const char *dir, struct buf *err) {
    int lock;
    enum gpm_status st = discovery_may_keep(&d->series, dir, err);
    if (st) return st;
    st = file_folder(dir, FILE_GIVEN);
    if (st) {
        buf_printf(err, "cannot make the folder '%s': %s", dir, file_why());
    } else if ((st = file_lock(dir, &lock))) {
        buf_printf(err, "cannot write to the folder '%s': %s", dir, file_why());
    } else {
        st = save_parts(d, dir, err);
        file_unlock(dir, lock);
    }
    return st;
}
