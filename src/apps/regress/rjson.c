/* SPDX-License-Identifier: Apache-2.0
 * What a regression found for programs: JSON, and predictions as CSV. */
#include "apps/regress/regress.h"
#include "base/json.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

void regress_predictions_csv(const struct regress *r, const struct rnew *at,
                             const struct rprediction *p, struct buf *out) {
    for (int j = 0; j < r->t.n_inputs; j++) {
        csv_put(out, r->t.input[j].name);
        buf_putc(out, ',');
    }
    buf_puts(out, "mean,median,sd,lower,upper,new_sd,new_lower,new_upper,outside\n");
    for (size_t i = 0; i < at->m; i++) {
        const double v[] = {p[i].mean, p[i].median, p[i].sd,     p[i].lo,
                            p[i].hi,   p[i].new_sd, p[i].new_lo, p[i].new_hi};
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf cell = BUF_INIT;
        for (int j = 0; j < r->t.n_inputs; j++) {
            buf_reset(&cell);
            rtable_value(&r->t, j, row, &cell);
            csv_put(out, cell.data);
            buf_putc(out, ',');
        }
        for (size_t k = 0; k < COUNT_OF(v); k++) {
            if (isfinite(v[k])) buf_printf(out, "%.7g", v[k]);
            buf_putc(out, ',');
        }
        buf_reset(&cell);
        rtable_outside(&r->t, row, &cell);
        csv_put(out, cell.data);
        buf_putc(out, '\n');
        buf_release(&cell);
    }
}

/* ---- JSON ---- */

static void json_interval(struct buf *out, const char *name, struct rinterval v) {
    json_numbers(out, name, 3, (const double[]){v.mid, v.lo, v.hi});
}

/* Dates as the file writes them, beside the years since the first that are computed with. */
static void json_dates(const struct rinput *in, const struct reffect *f, struct buf *out) {
    json_key(out, "dates");
    for (size_t i = 0; i < f->m; i++) {
        struct buf date = BUF_INIT;
        rinput_date(in, f->at[i], &date);
        buf_puts(out, i ? ", " : "[");
        buf_json_string(out, date.data, date.len);
        buf_release(&date);
    }
    buf_puts(out, "]");
}

static void json_effect(const struct regress *r, int j, struct buf *out) {
    const struct reffect *f = &r->effect[j];
    const struct rinput *in = &r->t.input[j];
    double *v = NEW_ARRAY(double, 3 * f->m + 1);
    for (size_t i = 0; i < f->m; i++)
        v[i] = f->f[i].mid, v[f->m + i] = f->f[i].lo, v[2 * f->m + i] = f->f[i].hi;
    buf_puts(out, "    {");
    JSON(out, FIELD("name", (const char *)in->name), FIELD("shape", regress_shape(r, j)));
    json_interval(out, "share", f->total);
    json_interval(out, "share_alone", f->alone);
    json_interval(out, "change", f->change);
    json_interval(out, "bend", f->bend);
    if (in->level) {
        JSON(out, FIELD("from", (const char *)in->level[(int)f->from]),
             FIELD("to", (const char *)in->level[(int)f->to]));
        json_key(out, "levels");
        for (int l = 0; l < in->n_levels; l++) {
            buf_puts(out, l ? ", " : "[");
            buf_json_string(out, in->level[l], strlen(in->level[l]));
        }
        buf_puts(out, "]");
    } else {
        if (in->dated) json_dates(in, f, out);
        JSON(out, FIELD("from", f->from), FIELD("to", f->to));
        json_numbers(out, "at", f->m, f->at);
    }
    json_numbers(out, "median", f->m, v);
    json_numbers(out, "lower", f->m, v + f->m);
    json_numbers(out, "upper", f->m, v + 2 * f->m);
    buf_puts(out, "}");
    mem_free(v);
}

static void json_together(const struct regress *r, struct buf *out) {
    json_key(out, "interactions");
    buf_puts(out, "[");
    for (int k = 0; k < r->n_together; k++) {
        const struct rtogether *t = &r->together[k];
        buf_puts(out, k ? ", {" : "{");
        JSON(out, FIELD("a", (const char *)r->t.input[t->a].name),
             FIELD("b", (const char *)r->t.input[t->b].name));
        json_interval(out, "share", t->share);
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

static void json_parameters(const struct regress *r, struct buf *out) {
    const struct rmodel *m = &r->model;
    double *v = NEW_ARRAY(double, m->kept + 1);
    json_key(out, "parameters");
    buf_puts(out, "{");
    for (int i = 0; i < m->d; i++) {
        struct buf name = BUF_INIT;
        rmodel_name(m, i, &name);
        for (size_t k = 0; k < m->kept; k++)
            v[k] = rmodel_value(m, i, m->z[k * (size_t)m->d + (size_t)i]);
        json_interval(out, name.data, rinterval_of(v, m->kept, r->o.level));
        buf_release(&name);
    }
    buf_puts(out, "}");
    mem_free(v);
}

static void json_odd(const struct regress *r, struct buf *out) {
    const struct rcheck *k = &r->check;
    json_key(out, "outliers");
    buf_puts(out, "[");
    for (size_t i = 0; i < k->n_odd; i++) {
        size_t at = k->odd[i], row = r->row[at + k->from];
        buf_puts(out, i ? ", {" : "{");
        JSON(out, FIELD("line", r->t.line[row]), FIELD("value", r->t.y[row]),
             FIELD("expected", k->mean[at]), FIELD("sd", k->sd[at]),
             FIELD("set_aside", (bool)(!k->apart && at >= r->n)));
        buf_puts(out, "}");
    }
    buf_puts(out, "]");
}

static void json_predictions(const struct regress *r, const struct rnew *at,
                             const struct rprediction *p, struct buf *out) {
    json_key(out, "predictions");
    buf_puts(out, "[");
    for (size_t i = 0; i < at->m; i++) {
        const double *row = at->x + i * (size_t)r->t.d;
        struct buf far = BUF_INIT;
        buf_puts(out, i ? ",\n    {\"at\": {" : "\n    {\"at\": {");
        for (int j = 0; j < r->t.n_inputs; j++) {
            struct buf cell = BUF_INIT;
            rtable_value(&r->t, j, row, &cell);
            if (r->t.input[j].level || r->t.input[j].dated)
                JSON(out, FIELD(r->t.input[j].name, (const char *)cell.data));
            else
                JSON(out, FIELD(r->t.input[j].name, row[r->t.input[j].first]));
            buf_release(&cell);
        }
        rtable_outside(&r->t, row, &far);
        buf_putc(out, '}');
        JSON(out, FIELD("mean", p[i].mean), FIELD("median", p[i].median), FIELD("sd", p[i].sd),
             FIELD("lower", p[i].lo), FIELD("upper", p[i].hi), FIELD("new_sd", p[i].new_sd),
             FIELD("new_lower", p[i].new_lo), FIELD("new_upper", p[i].new_hi),
             FIELD("outside", (const char *)far.data));
        if (at->unseen.at[i]) JSON(out, FIELD("why", (const char *)at->unseen.at[i]));
        buf_puts(out, "}");
        buf_release(&far);
    }
    buf_puts(out, "]");
}

static void json_scores(const struct regress *r, struct buf *out) {
    static const char *const names[RSCORES] = {"scores", "scores_linear", "scores_none"};
    for (int i = 0; i < RSCORES; i++) {
        const struct rscore *s = &r->check.score[i];
        json_key(out, names[i]);
        buf_putc(out, '{');
        JSON(out, FIELD("log_score", s->log));
        if (r->family == RFAMILY_CHANCE) JSON(out, FIELD("auc", s->auc), FIELD("right", s->right));
        buf_putc(out, '}');
    }
}

void regress_json(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                  struct buf *out) {
    const struct rcheck *k = &r->check;
    struct buf words = BUF_INIT, kernel = BUF_INIT, method = BUF_INIT;
    regress_words(r, &words);
    regress_method(r, &method);
    kern_print(r->model.k, &kernel);
    buf_puts(out, "{\n  ");
    JSON(out, FIELD("file", (const char *)r->t.file), FIELD("outcome", (const char *)r->t.y_name),
         FIELD("family", r->model.family->name), FIELD("rows", r->t.n),
         FIELD("rows_read", r->t.read), FIELD("rows_of_the_model", r->n),
         FIELD("level", r->o.level), FIELD("settled", rmodel_settled(&r->model)),
         FIELD("summary", (const char *)words.data), FIELD("notes", (const char *)r->t.notes.data));
    buf_puts(out, ",\n  \"check\": {");
    const char *how = k->apart ? "rows left aside" : "leave one out";
    JSON(out, FIELD("how", how), FIELD("rows", k->n), FIELD("rmse", k->rmse), FIELD("r2", k->r2),
         FIELD("coverage", k->coverage), FIELD("rmse_linear", k->rmse_linear),
         FIELD("r2_linear", k->r2_linear), FIELD("rmse_mean", k->rmse_mean));
    if (regress_hidden(r))
        json_scores(r, out);
    else
        JSON(out, FIELD("log_score", k->score[RSCORE_OWN].log));
    buf_puts(out, "},\n  \"inputs\": [\n");
    for (int i = 0; i < r->t.n_inputs; i++) {
        if (i) buf_puts(out, ",\n");
        json_effect(r, r->order[i], out);
    }
    buf_puts(out, "],\n ");
    json_together(r, out);
    if (!regress_hidden(r)) json_interval(out, "noise", r->noise);
    if (r->family == RFAMILY_CHANCE) JSON(out, FIELD("chance_of", r->high));
    JSON(out, FIELD("rows_set_aside", r->wild), FIELD("outlier_share", r->wild_share));
    json_odd(r, out);
    buf_puts(out, ",\n  \"model\": {");
    JSON(out, FIELD("kernel", (const char *)kernel.data),
         FIELD("method", (const char *)method.data), FIELD("draws", r->model.kept),
         FIELD("log_evidence", r->model.is.logz), FIELD("log_evidence_error", r->model.is.se));
    json_parameters(r, out);
    buf_puts(out, "}");
    if (at->m) {
        buf_puts(out, ",\n ");
        json_predictions(r, at, p, out);
    }
    buf_puts(out, "\n}\n");
    buf_release(&words);
    buf_release(&kernel);
    buf_release(&method);
}
