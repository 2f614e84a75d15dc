/* SPDX-License-Identifier: Apache-2.0
 *
 * The result as one JSON object. Fields are only ever added.
 */
#include "base/json.h"
#include "base/version.h"
#include "apps/discover/dated.h"
#include "apps/discover/every.h"
#include "apps/discover/report.h"

void report_times(const char *name, const struct series *s, size_t n, const double *x,
                  struct buf *out) {
    if (!series_dated(s)) {
        json_numbers(out, name, n, x);
        return;
    }
    struct buf at = BUF_INIT;
    json_key(out, name);
    buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        buf_reset(&at);
        series_print_plain(s, x[i], &at);
        buf_json_string(out, at.data, at.len);
    }
    buf_putc(out, ']');
    buf_release(&at);
}

void report_table(const char *name, const char *key, const struct post_table *t, struct buf *out) {
    const struct post_entry *e = t->at;
    buf_printf(out, "  \"%s\": [\n", name);
    for (size_t i = 0; i < t->n; i++) {
        buf_puts(out, "    {");
        JSON(out, FIELD(key, e[i].text), FIELD("probability", e[i].p), FIELD("error", e[i].error));
        if (e[i].best) {
            enum link_kind scale = smodel_scale(smodel_of(e[i].best)->data);
            double other = e[i].p_group[TRANSFORM_LOG], root = e[i].p_group[TRANSFORM_POWER];
            JSON(out, FIELD("log_share", scale == LINK_ROOT ? 0 : other),
                 FIELD("root_share", scale == LINK_ROOT ? other : root),
                 FIELD("log_evidence", evidence_total(e[i].best)),
                 FIELD("log_evidence_se", e[i].best->se));
        }
        buf_puts(out, i + 1 < t->n ? "},\n" : "}\n");
    }
    buf_puts(out, "  ],\n");
}

static void diagnostics(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    buf_puts(out, "  \"diagnostics\": {");
    JSON(out, FIELD("chains", p->n_chains), FIELD("steps", p->steps),
         FIELD("acceptance", p->acceptance), FIELD("distance_between_chains", p->tv_between),
         FIELD("distance_chains_evidences", p->tv_evidence), FIELD("rhat_log_density", p->rhat),
         FIELD("ess_components", p->ess), FIELD("unexplored", p->unexplored),
         FIELD("structures_visited", d->search.n), FIELD("likelihoods", d->search.evals),
         FIELD("precision", precision_names[d->opt.precision]), FIELD("search_cut", d->search.cut),
         FIELD("verdict", p->verdict));
    buf_printf(out, "},\n  \"settled\": %s,\n  \"seed\": %llu,\n  \"version\": \"%s\",\n",
               p->settled ? "true" : "false", (unsigned long long)d->opt.seed, version_text());
}

static void data(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    buf_puts(out, "  \"data\": {");
    JSON(out, FIELD("file", s->name), FIELD("time", s->time_name), FIELD("value", s->value_name),
         FIELD("unit", s->unit), FIELD("n", s->n), FIELD("rows", s->rows),
         FIELD("missing", s->missing), FIELD("skipped", s->bad), FIELD("lines_left_out", s->aside),
         FIELD("repeated_times", s->repeated), FIELD("left_out", s->left_out),
         FIELD("clocks_set_back", s->set_back),
         FIELD("time_pattern", s->form.pattern ? s->form.pattern : "number"),
         FIELD("value_unit", (const char *)s->style.unit), FIELD("regular", d->data.regular),
         FIELD("rounded_to", d->data.step_y),
         FIELD("gaps", d->data.regular ? d->data.ng - d->data.n : 0), FIELD("remarks", d->remarks));
    every_json(s, out);
    buf_printf(out, ", \"hash\": \"%016llx\"},\n", (unsigned long long)s->hash);
}

/* Sentences on the whole, and the numbers of the level: changes per unit of time, on the scale of
 * the transform. */
static void level(const struct discovery *d, struct buf *out) {
    const struct series_level *l = &d->dec.level;
    struct level_rate all = level_rate(l, 0, LEVEL_POINTS - 1);
    struct level_rate late = level_rate(l, LEVEL_POINTS - 2, LEVEL_POINTS - 1);
    struct buf b = BUF_INIT;
    describe_level(d, &b);
    JSON(out, FIELD("level", b.data));
    buf_reset(&b);
    describe_shares(d, &b);
    JSON(out, FIELD("shares", b.data));
    buf_reset(&b);
    describe_outlook(d, &b);
    JSON(out, FIELD("outlook", b.len ? b.data : ""));
    buf_reset(&b);
    describe_open(d, &b);
    JSON(out, FIELD("open", b.data), FIELD("level_slope", all.slope),
         FIELD("level_slope_sd", all.sd), FIELD("level_slope_late", late.slope),
         FIELD("level_slope_late_sd", late.sd), FIELD("rest_share", d->dec.rest));
    buf_release(&b);
}

static void parts(const struct discovery *d, struct buf *out) {
    int n = smodel_of(discovery_top(d))->n_terms;
    struct buf b = BUF_INIT, formula = BUF_INIT;
    describe_summary(d, &b);
    describe_formula(d, &formula);
    buf_puts(out, "  \"description\": {");
    JSON(out, FIELD("summary", b.data), FIELD("formula", formula.data));
    level(d, out);
    buf_puts(out, ", \"components\": [\n");
    for (int k = 0; k <= n; k++) {
        int term = k < n ? k : -1;
        const char *motif = term_motif(d, term);
        struct buf name = BUF_INIT;
        buf_reset(&b);
        describe_name(d, term, &name);
        describe_term(d, term, &b);
        buf_puts(out, "    {");
        JSON(out, FIELD("struct", name.data), FIELD("text", b.data),
             FIELD("probability", term < 0 ? 1 : posterior_entry(&d->post.components, name.data)),
             FIELD("motif", motif),
             FIELD("motif_probability", term < 0 ? 1 : posterior_entry(&d->post.motifs, motif)));
        buf_puts(out, k < n ? "},\n" : "}\n");
        buf_release(&name);
    }
    buf_puts(out, "  ]},\n");
    buf_release(&b);
    buf_release(&formula);
}

static void decomposition(const struct discovery *d, struct buf *out) {
    buf_printf(out, "  \"decomposition\": {\"transform\": \"%s\", ",
               link_name(d->data.link[smodel_of(discovery_top(d))->s.transform].kind));
    report_times("x", &d->series, d->dec.n, d->dec.x, out);
    buf_puts(out, ", \"parts\": [\n");
    for (int k = 0; k < d->dec.n_parts; k++) {
        const struct series_part *p = &d->dec.part[k];
        struct buf name = BUF_INIT;
        describe_name(d, p->term, &name);
        buf_puts(out, "    {");
        JSON(out, FIELD("struct", name.data), FIELD("share", p->share));
        json_numbers(out, "mean", d->dec.n, p->mean);
        json_numbers(out, "sd", d->dec.n, p->sd);
        buf_puts(out, k + 1 < d->dec.n_parts ? "},\n" : "}\n");
        buf_release(&name);
    }
    buf_puts(out, "  ]},\n");
}

static void prediction(const char *name, const struct series *s, const struct prediction *p,
                       size_t from, struct buf *out) {
    size_t n = p->n - from;
    buf_printf(out, "  \"%s\": {", name);
    report_times("x", s, n, p->x + from, out);
    json_numbers(out, "mean", n, p->mean + from);
    json_numbers(out, "median", n, p->median + from);
    json_numbers(out, "lo", n, p->lo + from);
    json_numbers(out, "hi", n, p->hi + from);
    buf_puts(out, "},\n");
}

static void checks(const struct discovery *d, struct buf *out) {
    buf_puts(out, "  \"checks\": [\n");
    for (int k = 0; k < DISCOVERY_CHECKS; k++) {
        const struct residual_check *c = &d->check[k];
        if (!c->name) continue;
        buf_puts(out, k ? ",\n    {" : "    {");
        JSON(out, FIELD("name", c->name), FIELD("observed", c->observed), FIELD("p", c->p),
             FIELD("text", c->text));
        buf_putc(out, '}');
    }
    buf_puts(out, "\n  ],\n");
}

/* Per unit of the column for a line, else over two standard deviations; on the transform's scale.
 */
static void effects(const struct discovery *d, struct buf *out) {
    const struct regressors *r = &d->series.reg;
    if (!r->n) return;
    buf_puts(out, "  \"effects\": [\n");
    for (int j = 0; j < r->n; j++) {
        const struct effect *e = &d->dec.effect[j];
        double per = r->smooth[j] ? 1 : 1 / (2 * d->data.reg_sd[j]);
        struct buf b = BUF_INIT;
        describe_effect(d, j, &b);
        buf_puts(out, "    {");
        JSON(out, FIELD("column", r->name[j]), FIELD("smooth", r->smooth[j]),
             FIELD("change", per * e->change), FIELD("sd", per * e->sd), FIELD("lo", per * e->lo),
             FIELD("hi", per * e->hi), FIELD("probability", e->p), FIELD("text", b.data));
        buf_puts(out, j + 1 < r->n ? "},\n" : "}\n");
        buf_release(&b);
    }
    buf_puts(out, "  ],\n");
}

static void outliers(const struct discovery *d, struct buf *out) {
    buf_puts(out, "  \"outliers\": [");
    for (size_t i = 0; i < d->out.n; i++) {
        const struct outlier *o = &d->out.at[i];
        buf_puts(out, i ? ",\n    {" : "\n    {");
        report_times("x", &d->series, 1, &o->x, out);
        JSON(out, FIELD("value", o->y), FIELD("expected", o->expected),
             FIELD("standard_deviations", o->sds));
        buf_putc(out, '}');
    }
    buf_puts(out, "],\n");
}

static void holdout(const struct discovery *d, struct buf *out) {
    const struct holdout *h = &d->hold;
    if (!h->n) return;
    prediction("holdout_forecast", &d->series, &h->pred, 0, out);
    buf_puts(out, "  \"holdout\": {");
    JSON(out, FIELD("n", h->n), FIELD("mae", h->mae), FIELD("rmse", h->rmse),
         FIELD("mase", h->mase), FIELD("crps", h->crps), FIELD("coverage", h->coverage),
         FIELD("log_score", h->log_score));
    buf_puts(out, "},\n");
}

static void contests(const struct discovery *d, struct buf *out) {
    static const char *const names[] = {"holdout_comparison", "backtest"};
    for (int i = 0; i < 2; i++) {
        const struct contest *c = &d->contest[i];
        double n = (double)c->origins;
        struct buf words = BUF_INIT;
        if (!c->origins) continue;
        contest_sentence(c, &words);
        buf_printf(out, "  \"%s\": {", names[i]);
        JSON(out, FIELD("origins", c->origins), FIELD("steps", c->steps),
             FIELD("text", words.data));
        buf_puts(out, ", \"methods\": [\n");
        for (int k = 0; k < CONTEST_ROWS; k++) {
            const struct contest_row *r = &c->row[k];
            buf_puts(out, "    {");
            JSON(out, FIELD("method", contest_name(k)), FIELD("mase", r->mase / n),
                 FIELD("smape", r->smape / n), FIELD("coverage", r->coverage / n),
                 FIELD("structure_better_at", r->wins));
            buf_puts(out, k + 1 < CONTEST_ROWS ? "},\n" : "}\n");
        }
        buf_puts(out, "  ]},\n");
        buf_release(&words);
    }
}

void discovery_json(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    struct buf program = BUF_INIT;
    discovery_program(d, &program);
    buf_puts(out, "{\n");
    report_table("structures", "struct", &p->structures, out);
    report_table("components", "struct", &p->components, out);
    report_table("motifs", "motif", &p->motifs, out);
    diagnostics(d, out);
    data(d, out);
    parts(d, out);
    buf_puts(out, "  ");
    JSON(out, FIELD("program", program.data));
    buf_puts(out, ",\n  ");
    double other = p->p_group[TRANSFORM_LOG], root = p->p_group[TRANSFORM_POWER];
    JSON(out, FIELD("probability_of_log", smodel_scale(&d->data) == LINK_LOG ? other : 0),
         FIELD("probability_of_root", smodel_scale(&d->data) == LINK_ROOT ? other : root),
         FIELD("probability_of_odds", smodel_scale(&d->data) == LINK_ODDS ? other : 0),
         FIELD("probability_of_rate", smodel_scale(&d->data) == LINK_RATE ? other : 0),
         FIELD("probability_of_chance", smodel_scale(&d->data) == LINK_CHANCE ? other : 0),
         FIELD("probability_of_distance", smodel_scale(&d->data) >= LINK_ABOVE ? other : 0));
    buf_puts(out, ",\n");
    dated_json(d, out);
    checks(d, out);
    outliers(d, out);
    effects(d, out);
    holdout(d, out);
    contests(d, out);
    decomposition(d, out);
    prediction("forecast", &d->series, &d->fit, d->series.n, out);
    buf_puts(out, "  ");
    JSON(out, FIELD("seconds", d->seconds));
    buf_puts(out, "\n}\n");
    buf_release(&program);
}
