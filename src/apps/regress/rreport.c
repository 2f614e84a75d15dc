/* SPDX-License-Identifier: Apache-2.0
 *
 * A regression for people: one document (io/plot/doc.h), whose sections are listed once: words, how
 * well it predicts, what each input does, rows far out, predictions, the program.
 */
#include "base/mem.h"
#include "base/number.h"
#include "base/version.h"
#include "io/plot/doc.h"
#include "apps/regress/regress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a section writes about. */
struct told_by {
    const struct regress *r;
    const struct rnew *at;
    const struct rprediction *p;
};

/* Sentences as a block, between other words. */
static void say(const struct regress *r, void (*words)(const struct regress *, struct buf *),
                const char *before, const char *after, enum doc_role role, struct doc *doc) {
    size_t from;
    buf_puts(&doc->words, before);
    from = doc->words.len;
    words(r, &doc->words);
    if (doc->words.len == from)
        buf_reset(&doc->words);
    else
        buf_puts(&doc->words, after);
    doc_put(doc, role);
}

static void put_percent(struct rinterval v, struct buf *out) {
    buf_printf(out, "%d%% [%d, %d]", percent_of(v.mid), percent_of(v.lo), percent_of(v.hi));
}

/* ---- what was read ---- */

static void put_inputs(const struct regress *r, struct buf *out) {
    for (int j = 0; j < r->t.n_inputs; j++) {
        const struct rinput *in = &r->t.input[j];
        buf_printf(out, "%s%s", j ? ", " : "", in->name);
        if (in->level) buf_printf(out, " (%d levels)", in->n_levels);
    }
}

static void section_head(const struct told_by *t, struct doc *doc) {
    const struct regress *r = t->r;
    buf_printf(&doc->words, "%s: %zu rows; outcome %s; %d input%s: ", r->t.file, r->t.n,
               r->t.y_name, r->t.n_inputs, r->t.n_inputs == 1 ? "" : "s");
    put_inputs(r, &doc->words);
    doc_put(doc, DOC_SOFT);
    for (const char *at = r->t.notes.data; *at; at += strcspn(at, "\n") + 1)
        doc_say(doc, DOC_ITEM, "note: %.*s", (int)strcspn(at, "\n"), at);
    if (r->n + r->wild < r->t.n)
        doc_say(doc, DOC_ITEM,
                "note: the model is fitted to %zu rows drawn at random (--max-rows)%s",
                r->n + r->wild, r->check.apart ? "; others test it" : "");
    if (doc->form == DOC_TEXT && !rmodel_settled(&r->model))
        doc_say(doc, DOC_ITEM, "note: the result is NOT SETTLED, see the last paragraph");
}

static void section_words(const struct told_by *t, struct doc *doc) {
    say(t->r, regress_words, "", "", DOC_LEAD, doc);
}

/* ---- how well it predicts ---- */

struct told {
    double chance; /* first: it is what is compared */
    double is;
};

/* Are chances what they say? Rows in groups by their chance: its mean, and the share with the
 * value, with an interval of Wilson's. */
static void calibration_figure(const struct regress *r, struct doc *doc) {
    enum { GROUPS = 10 };
    const struct rcheck *k = &r->check;
    size_t groups = k->n / 10 < GROUPS ? (k->n / 10 ? k->n / 10 : 1) : GROUPS;
    struct told *v = NEW_ARRAY(struct told, k->n + 1);
    double x[GROUPS], y[GROUPS], lo[GROUPS], hi[GROUPS];
    for (size_t i = 0; i < k->n; i++)
        v[i] = (struct told){k->mean[i], r->t.y[r->row[i + k->from]] == r->high};
    qsort(v, k->n, sizeof *v, number_compare);
    for (size_t g = 0; g < groups; g++) {
        size_t from = g * k->n / groups, to = (g + 1) * k->n / groups;
        double m = (double)(to - from), z = 1.96, chance = 0, is = 0;
        for (size_t i = from; i < to; i++) chance += v[i].chance / m, is += v[i].is / m;
        double mid = (is + z * z / (2 * m)) / (1 + z * z / m),
               half = z * sqrt(is * (1 - is) / m + z * z / (4 * m * m)) / (1 + z * z / m);
        x[g] = chance, y[g] = is, lo[g] = mid - half, hi[g] = mid + half;
    }
    const double ends[2] = {0, 1};
    struct plot_scene *s = plot_scene_new(NULL, "Chances as predicted, and shares as observed", 1);
    struct plot_panel *p = plot_panel_add(s, "Are the chances right?");
    plot_axis_labels(p, "predicted chance, rows in groups", "observed share");
    plot_band(p, "95% interval", groups, x, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_POINTS, "groups of rows", groups, x, y, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "equal", 2, ends, ends, PLOT_COLOUR(PLOT_GREY));
    doc_figure(doc, DOC_HALF, "check", s, NULL);
    mem_free(v);
}

static void check_figure(const struct regress *r, struct doc *doc) {
    const struct rcheck *k = &r->check;
    if (!doc_draws(doc)) return;
    if (r->family == RFAMILY_CHANCE) {
        calibration_figure(r, doc);
        return;
    }
    double *y = NEW_ARRAY(double, k->n + 1), lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < k->n; i++) {
        y[i] = r->t.y[r->row[i + k->from]];
        lo = fmin(lo, y[i]), hi = fmax(hi, y[i]);
    }
    const double ends[2] = {lo, hi};
    struct plot_scene *s =
        plot_scene_new(NULL, "Each row as predicted without it, and as observed", 1);
    struct plot_panel *p = plot_panel_add(s, "Predicted and observed");
    plot_axis_labels(p, k->apart ? "predicted" : "predicted from the other rows", r->t.y_name);
    plot_xy(p, PLOT_POINTS, "rows", k->n, k->mean, y, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "equal", 2, ends, ends, PLOT_COLOUR(PLOT_GREY));
    doc_figure(doc, DOC_HALF, "check", s, NULL);
    mem_free(y);
}

static void score_cells(const struct regress *r, int i, struct doc *doc) {
    const struct rcheck *k = &r->check;
    const double rmse[RSCORES] = {k->rmse, k->rmse_linear, k->rmse_mean};
    const double r2[RSCORES] = {k->r2, k->r2_linear, 0};
    const char *names[RSCORES] = {"this model", r->model.family->lines, r->model.family->none};
    bool chance = r->family == RFAMILY_CHANCE;
    doc_cellf(doc, "%s", names[i]);
    if (chance) doc_cellf(doc, "%.4f", k->score[i].log);
    if (chance) doc_cellf(doc, "%.3f", k->score[i].auc);
    if (chance) doc_cellf(doc, "%d%%", percent_of(k->score[i].right));
    if (!chance) doc_cellf(doc, "%s", FIGURE(4, rmse[i]));
    doc_cellf(doc, "%.3f", r2[i]);
    if (chance) return;
    if (regress_hidden(r)) doc_cellf(doc, "%.4f", k->score[i].log);
    doc_cellf(doc, i ? "" : "%g%% intervals hold %.1f%%%s", 100 * r->o.level, 100 * k->coverage,
              r->wild && !k->apart ? " of all" : "");
}

static void section_check(const struct told_by *t, struct doc *doc) {
    const struct regress *r = t->r;
    const struct rcheck *k = &r->check;
    const char *by = doc->form == DOC_TEXT ? "" : "predicted by";
    bool chance = r->family == RFAMILY_CHANCE;
    const struct doc_column chances[] = {{by, DOC_WORD},
                                         {"log score", DOC_NUMBER},
                                         {"AUC", DOC_NUMBER},
                                         {"right", DOC_NUMBER},
                                         {"R2", DOC_NUMBER}};
    const struct doc_column numbers[] = {
        {by, DOC_WORD}, {"RMSE", DOC_NUMBER}, {"R2", DOC_NUMBER}, {"", DOC_WORD}};
    const struct doc_column counts[] = {{by, DOC_WORD},
                                        {"RMSE", DOC_NUMBER},
                                        {"R2", DOC_NUMBER},
                                        {"log score", DOC_NUMBER},
                                        {"", DOC_WORD}};
    struct buf title = BUF_INIT;
    buf_printf(&title, "How well it predicts (%zu rows%s", k->apart ? k->n : r->n,
               k->apart ? " left aside" : ", each left out once");
    if (r->wild) buf_printf(&title, "; without the %zu set aside", r->wild);
    buf_putc(&title, ')');
    doc_table(doc, title.data, NULL,
              chance              ? chances
              : regress_hidden(r) ? counts
                                  : numbers,
              chance || regress_hidden(r) ? 5 : 4);
    doc->table.heading = DOC_SECTION;
    for (int i = 0; i < RSCORES; i++) score_cells(r, i, doc);
    doc_table_end(doc);
    if (chance)
        doc_say(doc, DOC_SOFT,
                "(log score: mean logarithm of the chance of what happened; AUC: how often a row "
                "with the value has the larger chance of two; right: guesses of the more probable "
                "value; R2: of the chances)");
    buf_release(&title);
    check_figure(r, doc);
}

/* ---- inputs ---- */

static void section_inputs(const struct told_by *t, struct doc *doc) {
    const struct regress *r = t->r;
    const struct doc_column columns[] = {
        {"input", DOC_WORD},
        {"share", DOC_WORD},
        {"", DOC_BAR},
        {r->family == RFAMILY_CHANCE ? "change of the chance" : "change of the outcome", DOC_WORD},
        {"how", DOC_WORD}};
    doc_table(doc, "What matters", NULL, columns, COUNT_OF(columns));
    doc->table.heading = DOC_SECTION;
    doc->table.stacked = true;
    for (int i = 0; i < r->t.n_inputs; i++) {
        int j = r->order[i];
        const struct reffect *f = &r->effect[j];
        doc_cellf(doc, "%s", r->t.input[j].name);
        put_percent(f->total, &doc->words);
        doc_cell(doc);
        doc_cellf(doc, "%.1f", 100 * f->total.mid);
        regress_between(r, j, doc_draws(doc) ? " \u2192 " : " -> ", &doc->words);
        doc_cellf(doc, ": %s%s [%s, %s]", f->change.mid < 0 ? "" : "+", FIGURE(3, f->change.mid),
                  FIGURE(3, f->change.lo), FIGURE(3, f->change.hi));
        doc_cellf(doc, "%s", regress_shape(r, j));
    }
    doc_table_end(doc);
    doc_say(doc, DOC_SOFT,
            "(share: of the function's variation, interactions included; change: between the "
            "values that 10%% and 90%% of the rows lie below; in brackets %g%% intervals)",
            100 * r->o.level);
    say(r, regress_shares, "", "", DOC_SOFT, doc);
    say(r, regress_rest, "", "", DOC_PLAIN, doc);
}

/* One scale for all inputs, so that what matters is seen. */
static void shared_axis(const struct regress *r, struct plot_axis *y) {
    double lo = INFINITY, hi = -INFINITY;
    for (int j = 0; j < r->t.n_inputs; j++)
        for (size_t i = 0; i < r->effect[j].m; i++)
            lo = fmin(lo, r->effect[j].f[i].lo), hi = fmax(hi, r->effect[j].f[i].hi);
    y->lo = lo - 0.03 * (hi - lo);
    y->hi = hi + 0.03 * (hi - lo);
}

static void number_panel(const struct regress *r, int j, struct plot_scene *s) {
    const struct reffect *f = &r->effect[j];
    const struct rinput *in = &r->t.input[j];
    double *lo = NEW_ARRAY(double, 4 * f->m), *mid = lo + f->m, *hi = mid + f->m, *at = hi + f->m;
    for (size_t i = 0; i < f->m; i++) lo[i] = f->f[i].lo, mid[i] = f->f[i].mid, hi[i] = f->f[i].hi;
    struct buf band = BUF_INIT, what = BUF_INIT;
    struct plot_panel *p = plot_panel_add(s, r->t.input[j].name);
    regress_target(r, &what);
    plot_axis_labels(p, r->t.input[j].name, what.data);
    buf_release(&what);
    shared_axis(r, &p->y);
    for (size_t i = 0; i < f->m; i++)
        at[i] = in->dated ? in->origin + f->at[i] * in->year : f->at[i];
    if (in->dated) p->x.time = in->year > 1 ? PLOT_TIME_DAYS : PLOT_TIME_YEARS;
    buf_printf(&band, "%g%% band", 100 * r->o.level);
    plot_band(p, band.data, f->m, at, lo, hi, PLOT_COLOUR(PLOT_BLUE));
    plot_xy(p, PLOT_LINE, "median", f->m, at, mid, PLOT_COLOUR(PLOT_BLUE));
    buf_release(&band);
    mem_free(lo);
}

static void level_panel(const struct regress *r, int j, struct plot_scene *s) {
    const struct reffect *f = &r->effect[j];
    double *mid = NEW_ARRAY(double, 2 * f->m), *half = mid + f->m;
    for (size_t i = 0; i < f->m; i++)
        mid[i] = f->f[i].mid, half[i] = 0.5 * (f->f[i].hi - f->f[i].lo);
    plot_add(plot_panel_add(s, r->t.input[j].name),
             (struct plot_item){PLOT_NAMED, PLOT_COLOUR(PLOT_BLUE), .n = f->m,
                                .names = (const char *const *)r->t.input[j].level, .y = mid,
                                .y2 = half});
    mem_free(mid);
}

static void section_curves(const struct told_by *t, struct doc *doc) {
    enum { MOST = 12 };
    const struct regress *r = t->r;
    if (!doc_draws(doc)) return;
    say(r, regress_target, "The ", " along each input", DOC_SECTION, doc);
    doc_say(doc, DOC_SOFT, "Averaged over the values of the other inputs.");
    for (int i = 0; i < r->t.n_inputs && i < MOST; i++) {
        char id[24];
        struct plot_scene *s =
            plot_scene_new(NULL, "The outcome along one input, with its band", 1);
        (r->t.input[r->order[i]].level ? level_panel : number_panel)(r, r->order[i], s);
        snprintf(id, sizeof id, "input%d", r->order[i]);
        doc_figure(doc, DOC_HALF, id, s, NULL);
    }
}

/* ---- rows and predictions ---- */

static void odd_row(const struct regress *r, size_t at, struct doc *doc) {
    const struct rcheck *k = &r->check;
    size_t row = r->row[at + k->from];
    double y = r->t.y[row], chance = y == r->high ? k->mean[at] : 1 - k->mean[at];
    buf_printf(&doc->words, "line %zu: %s = ", r->t.line[row], r->t.y_name);
    if (r->family == RFAMILY_CHANCE) {
        regress_value(r, y, &doc->words);
        doc_say(doc, DOC_ITEM, ", which had a chance of %.2g%%", 100 * chance);
    } else {
        doc_say(doc, DOC_ITEM, "%s, expected %s [%s, %s], %.1f standard deviations off",
                FIGURE(5, y), FIGURE(4, k->mean[at]), FIGURE(4, k->lo[at]), FIGURE(4, k->hi[at]),
                fabs(y - k->mean[at]) / k->sd[at]);
    }
}

static void section_odd(const struct told_by *t, struct doc *doc) {
    const struct rcheck *k = &t->r->check;
    enum { FEW = 8, MOST = 20 };
    size_t most = doc->form == DOC_TEXT ? FEW : MOST;
    if (!k->n_odd) return;
    doc_say(doc, DOC_PART, "Rows far from what the others say");
    for (size_t i = 0; i < k->n_odd && i < most; i++) odd_row(t->r, k->odd[i], doc);
    if (k->n_odd > most) doc_say(doc, DOC_ITEM, "and %zu more", k->n_odd - most);
    say(t->r, regress_aside, "", "", DOC_PLAIN, doc);
}

static void prediction(const struct told_by *t, size_t i, struct doc *doc) {
    const struct regress *r = t->r;
    const double *row = t->at->x + i * (size_t)r->t.d;
    const struct rprediction *p = &t->p[i];
    const char *unseen = t->at->unseen.at[i];
    struct buf inputs = BUF_INIT, far = BUF_INIT;
    for (int j = 0; j < r->t.n_inputs; j++) {
        buf_printf(&inputs, "%s%s=", j ? " " : "", r->t.input[j].name);
        rtable_value(&r->t, j, row, &inputs);
    }
    if (rtable_outside(&r->t, row, &far) && !unseen)
        buf_printf(&inputs, "   outside of the data: %s", far.data);
    if (isfinite(p->mean)) {
        doc_cellf(doc, "%s", FIGURE(5, r->family == RFAMILY_CHANCE ? p->mean : p->median));
        doc_cellf(doc, "%s", FIGURE(3, p->sd));
        doc_cellf(doc, "[%s, %s]", FIGURE(4, p->lo), FIGURE(4, p->hi));
        doc_cellf(doc, "[%s, %s]", FIGURE(4, p->new_lo), FIGURE(4, p->new_hi));
        doc_cellf(doc, "%s", inputs.data);
    } else if (unseen) {
        doc_restf(doc, "no prediction: %s  %s", unseen, inputs.data);
    } else {
        doc_restf(doc, "a value is missing: no prediction  %s", inputs.data);
    }
    buf_release(&inputs);
    buf_release(&far);
}

static void section_predictions(const struct told_by *t, struct doc *doc) {
    const struct regress *r = t->r;
    enum { FEW = 40, MOST = 200 };
    size_t most = doc->form == DOC_TEXT ? FEW : MOST;
    bool chance = r->family == RFAMILY_CHANCE;
    const struct doc_column columns[] = {{chance ? "chance" : "median", DOC_NUMBER},
                                         {"sd", DOC_NUMBER},
                                         {chance ? "of the chance" : "of the function", DOC_WORD},
                                         {"of a new measurement", DOC_WORD},
                                         {"", DOC_WORD}};
    struct buf title = BUF_INIT;
    if (!t->at->m) return;
    buf_puts(&title, "Predictions of ");
    regress_target(r, &title);
    buf_printf(&title, " (%g%% intervals)", 100 * r->o.level);
    doc_table(doc, title.data, NULL, columns, COUNT_OF(columns));
    doc->table.heading = DOC_SECTION;
    for (size_t i = 0; i < t->at->m && i < most; i++) prediction(t, i, doc);
    doc_table_end(doc);
    if (t->at->m > most)
        doc_say(doc, DOC_PLAIN, "and %zu more (--out FILE.csv has all)", t->at->m - most);
    buf_release(&title);
}

/* ---- everything ---- */

static void section_method(const struct told_by *t, struct doc *doc) {
    say(t->r, regress_method, "Method: ", ".", DOC_PLAIN, doc);
    if (doc->form == DOC_TEXT) return;
    if (!t->r->o.kernel) {
        doc_fold(doc, "The same model as a program");
        say(t->r, regress_program, "", "", DOC_CODE, doc);
        doc_fold_end(doc);
    }
    doc_say(doc, DOC_NOTE, "gpmem %s", version_text());
}

/* The summary comes first on a page and last on a terminal, where what is last is seen. */
void regress_report(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                    enum doc_form form, struct buf *out) {
    typedef void section(const struct told_by *t, struct doc *doc);
    static section *const text[] = {section_head, section_check, section_inputs,
                                    section_odd,  section_words, section_method},
                          *const page[] = {section_head,        section_words,  section_check,
                                           section_inputs,      section_curves, section_odd,
                                           section_predictions, section_method};
    section *const *s = form == DOC_TEXT ? text : page;
    size_t n = form == DOC_TEXT ? COUNT_OF(text) : COUNT_OF(page);
    const struct told_by t = {r, at, p};
    struct buf title = BUF_INIT;
    struct doc doc;
    buf_printf(&title, "Regression of %s", r->t.y_name);
    doc_begin(&doc, form, "gpmem regress", title.data, out);
    for (size_t i = 0; i < n; i++) s[i](&t, &doc);
    doc_end(&doc);
    buf_release(&title);
}

void regress_predictions_text(const struct regress *r, const struct rnew *at,
                              const struct rprediction *p, struct buf *out) {
    const struct told_by t = {r, at, p};
    struct doc doc;
    if (at->m) buf_putc(out, '\n');
    doc_begin(&doc, DOC_TEXT, "", "", out);
    section_predictions(&t, &doc);
    doc_end(&doc);
}
