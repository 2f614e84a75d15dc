/* SPDX-License-Identifier: Apache-2.0
 *
 * A panel for people, as a document, and as JSON. On a page each series has a part of its own with
 * what was found in words, the chart of its forecast and its table.
 */
#include "apps/discover/panel.h"
#include "apps/discover/report.h"
#include "apps/discover/words.h"
#include "base/json.h"
#include "base/mem.h"
#include <stdio.h>

static const char *const motifs[] = {"trend",  "recurring_pattern",    "smooth", "random_walk",
                                     "change", "heteroskedastic_noise"};

/* Motif number k with its mean probability over the series; NULL: no more. */
static const char *panel_motif(const struct panel *p, size_t k, double *probability) {
    double sum = 0, n = 0;
    if (k == COUNT_OF(motifs)) return NULL;
    for (size_t i = 0; i < p->n; i++)
        if (!p->at[i].error) sum += posterior_entry(&p->at[i].d->post.motifs, motifs[k]), n++;
    *probability = n > 0 ? sum / n : 0;
    return motifs[k];
}

/* How the level of a series moved. */
static void panel_rise(const struct discovery *d, struct buf *out) {
    struct level_rate all = level_rate(&d->dec.level, 0, LEVEL_POINTS - 1);
    if (all.sd > 0 || all.slope != 0)
        words_rate(d, all.slope, all.sd, true, out);
    else
        buf_puts(out, "level stays the same");
}

static size_t panel_failures(const struct panel *p) {
    size_t bad = 0;
    for (size_t i = 0; i < p->n; i++) bad += p->at[i].error != NULL;
    return bad;
}

static const char *key_of(const struct panel_member *m) {
    return *m->key ? m->key : "(no name)";
}

/* One series in the table: what it is, how sure, how the level moved. */
static void row(const struct panel_member *m, size_t i, struct doc *doc) {
    if (!m->error) buf_printf(&doc->href, "#series%zu", i + 1);
    doc_cellf(doc, "%s", key_of(m));
    if (m->error) {
        doc_cell(doc);
        doc_restf(doc, "no result: %s", m->error);
        return;
    }
    const struct post_entry *top = &m->d->post.structures.at[0];
    const char *scale = report_transform(top);
    doc_cellf(doc, "%zu", m->d->series.n);
    doc_cellf(doc, "%s%s%s", scale, *scale ? " " : "", top->text);
    doc_cellf(doc, "%.2f", top->p);
    panel_rise(m->d, &doc->words);
    doc_cellf(doc, "%s", m->d->post.settled ? "" : "  NOT SETTLED");
}

static void section_series(const struct panel *p, struct doc *doc) {
    static const struct doc_column columns[] = {{"series", DOC_WORD},
                                                {"values", DOC_NUMBER},
                                                {"most probable structure", DOC_NAME},
                                                {"probability", DOC_NUMBER},
                                                {"how the level moved", DOC_WORD}};
    doc_table(doc, "Series",
              "values, most probable structure, its probability; how the level moved", columns,
              COUNT_OF(columns));
    doc->table.stacked = true;
    for (size_t i = 0; i < p->n; i++) row(&p->at[i], i, doc);
    doc_table_end(doc);
}

static void section_motifs(const struct panel *p, struct doc *doc) {
    static const struct doc_column columns[] = {
        {"mean probability", DOC_NUMBER}, {"a series has", DOC_NAME}, {"", DOC_BAR}};
    double mean;
    const char *name;
    doc_table(doc, "Over the panel", "mean probability that a series has", columns,
              COUNT_OF(columns));
    for (size_t k = 0; (name = panel_motif(p, k, &mean)); k++) {
        doc_cellf(doc, "%.3f", mean);
        doc_cellf(doc, "%s", name);
        doc_cellf(doc, "%.1f", 100 * mean);
    }
    doc_table_end(doc);
}

static void member(const struct panel_member *m, size_t i, struct doc *doc) {
    char id[48];
    if (m->error) return;
    snprintf(id, sizeof id, "<section id=\"series%zu\">\n", i + 1);
    doc_raw(doc, id);
    doc_say(doc, DOC_SECTION, "%s", key_of(m));
    report_summary(m->d, doc);
    snprintf(id, sizeof id, "fit%zu", i + 1);
    report_forecast_chart(m->d, id, doc);
    report_forecast_table(m->d, doc);
    doc_fold(doc, "Components");
    report_components(m->d, false, doc);
    doc_fold_end(doc);
    doc_raw(doc, "</section>\n");
}

void panel_report(const struct panel *p, enum doc_form form, struct buf *out) {
    size_t bad = panel_failures(p);
    struct buf title = BUF_INIT;
    struct doc doc;
    buf_printf(&title, "Structures of %s", p->name);
    doc_begin(&doc, form, "gpmem discover", title.data, out);
    buf_printf(&doc.words, "%s: %zu series", p->name, p->n);
    if (p->by) buf_printf(&doc.words, " by '%s'", p->by);
    if (bad) buf_printf(&doc.words, ", %zu of them without a result", bad);
    doc_say(&doc, DOC_LEAD, "%s",
            p->second ? "; hyper-parameters have priors learnt from all of them" : "");
    section_series(p, &doc);
    section_motifs(p, &doc);
    for (size_t i = 0; i < p->n && form != DOC_TEXT; i++) member(&p->at[i], i, &doc);
    doc_end(&doc);
    buf_release(&title);
}

void panel_json(const struct panel *p, struct buf *out) {
    buf_puts(out, "{\n  ");
    JSON(out, FIELD("file", p->name), FIELD("by", p->by ? p->by : ""), FIELD("series", p->n),
         FIELD("shared_hyperparameters", p->second));
    buf_puts(out, ",\n  \"motifs\": [\n");
    double mean;
    const char *name;
    for (size_t k = 0; (name = panel_motif(p, k, &mean)); k++) {
        buf_puts(out, "    {");
        JSON(out, FIELD("motif", name), FIELD("mean_probability", mean));
        buf_puts(out, k + 1 < COUNT_OF(motifs) ? "},\n" : "}\n  ],\n  \"shared\": [\n");
    }
    for (size_t k = 0; k < p->shared.n; k++) {
        const struct hyper_prior *h = &p->shared.at[k];
        struct buf term = BUF_INIT;
        if (h->mask)
            term_print((struct term){.mask = h->mask}, &term);
        else
            buf_puts(&term, "WN");
        buf_puts(out, "    {");
        JSON(out, FIELD("term", term.data), FIELD("parameter", spar_name(h->kind)),
             FIELD("mean", h->mean), FIELD("sd", h->sd));
        buf_puts(out, k + 1 < p->shared.n ? "},\n" : "}\n");
        buf_release(&term);
    }
    buf_puts(out, "  ],\n  \"panel\": [\n");
    for (size_t i = 0; i < p->n; i++) {
        const struct panel_member *m = &p->at[i];
        buf_puts(out, "{");
        JSON(out, FIELD("key", m->key));
        if (m->error) {
            JSON(out, FIELD("error", m->error));
        } else {
            buf_puts(out, ", \"result\": ");
            discovery_json(m->d, out);
        }
        buf_puts(out, i + 1 < p->n ? "},\n" : "}\n");
    }
    buf_puts(out, "]}\n");
}
