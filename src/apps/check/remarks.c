/* SPDX-License-Identifier: Apache-2.0
 *
 * Remarks of one series or of all series of a file, written as text or as JSON.
 */
#include "apps/check/remarks.h"
#include "apps/discover/report.h"
#include "base/json.h"
#include "base/mem.h"
#include "io/plot/doc.h"

/* Takes the series over. */
static enum gpm_status look(struct discovery *d, struct series *s, const struct series_options *o,
                            struct remarks *r, struct buf *err) {
    struct discovery_options opt = DISCOVERY_OPTIONS_INIT;
    opt.series = *o;
    *r = (struct remarks){0};
    enum gpm_status st = discovery_start(d, &opt, s, err);
    if (st == GPM_OK) remarks_find(d, r);
    return st;
}

size_t check_count(const struct discovery *run) {
    struct discovery d;
    struct remarks r;
    struct buf err = BUF_INIT;
    struct series s = series_copy(&run->series);
    size_t n = look(&d, &s, &run->opt.series, &r, &err) == GPM_OK ? r.of.n : 0;
    remarks_release(&r);
    discovery_release(&d);
    buf_release(&err);
    return n;
}

/* ---- output ---- */

static void remark_json(const struct series *s, const struct remark *r, struct buf *out) {
    double *x = NEW_ARRAY(double, r->at.n + 1);
    for (size_t i = 0; i < r->at.n; i++) x[i] = s->x[(size_t)r->at.at[i] - 1];
    buf_puts(out, "    {");
    JSON(out, FIELD("kind", r->kind), FIELD("seen", r->seen.data), FIELD("advice", r->advice.data));
    json_numbers(out, "at", r->at.n, r->at.at);
    buf_puts(out, ", ");
    report_times("x", s, r->at.n, x, out);
    buf_putc(out, '}');
    mem_free(x);
}

/* why: there are no remarks; else NULL. */
static void series_json(const char *key, const struct series *s, const struct remarks *r,
                        const char *why, struct buf *out) {
    buf_puts(out, "  {");
    if (key) JSON(out, FIELD("key", key));
    if (why) JSON(out, FIELD("error", why));
    if (!why) JSON(out, FIELD("value", s->value_name), FIELD("n", s->n));
    buf_puts(out, ", \"remarks\": [");
    for (size_t i = 0; i < r->of.n; i++) {
        buf_puts(out, i ? ",\n" : "\n");
        remark_json(s, &r->of.at[i], out);
    }
    buf_puts(out, "]}");
}

static void series_text(const char *key, const struct series *s, const struct remarks *r,
                        const char *why, struct doc *doc) {
    size_t n = r->of.n;
    buf_printf(&doc->words, "%s: ", key ? key : s->name);
    if (why) {
        doc_say(doc, DOC_LEAD, "not used: %s", why);
        return;
    }
    buf_printf(&doc->words, "%zu values of '%s' from ", s->n, s->value_name);
    series_print_time(s, s->x[0], &doc->words);
    buf_puts(&doc->words, " to ");
    series_print_time(s, s->x[s->n - 1], &doc->words);
    if (n) buf_printf(&doc->words, ", %zu remark%s", n, n == 1 ? "" : "s");
    doc_say(doc, DOC_LEAD, "%s", n ? ":" : ", no remarks");
    for (size_t i = 0; i < n; i++)
        doc_say(doc, DOC_STEP, "%zu. %s %s", i + 1, r->of.at[i].seen.data, r->of.at[i].advice.data);
}

/* ---- files ---- */

/* Takes the series over; why: it could not be read. key: NULL for a single series, of which
 * nothing is written then. */
static enum gpm_status check_series(const char *key, struct series *s, const char *why,
                                    const struct series_options *o, bool json, struct doc *doc,
                                    struct buf *err) {
    struct discovery d = {0};
    struct remarks r = {0};
    enum gpm_status st = why ? buf_fail(err, GPM_E_FORMAT, "%s", why) : look(&d, s, o, &r, err);
    if (why) series_release(s);
    why = st == GPM_OK ? NULL : err->data;
    if ((key || !why) && json) series_json(key, &d.series, &r, why, doc->out);
    if ((key || !why) && !json) series_text(key, &d.series, &r, why, doc);
    remarks_release(&r);
    discovery_release(&d);
    return st;
}

/* A series that cannot be used does not stop the others. */
static enum gpm_status check_panel(const char *path, const struct series_options *o,
                                   const struct panel_options *how, bool json, struct doc *doc,
                                   struct buf *err) {
    struct panel p;
    struct series *series;
    struct buf why = BUF_INIT;
    size_t good = 0;
    enum gpm_status st = panel_read(&p, path, o, how, &series, err);
    for (size_t i = 0; i < p.n; i++) {
        const struct panel_member *m = &p.at[i];
        buf_reset(&why);
        good += check_series(m->key, &series[i], m->error, o, json, doc, &why) == GPM_OK;
        if (json && i + 1 < p.n) buf_puts(doc->out, ",\n");
    }
    if (st == GPM_OK && !good)
        st = buf_fail(err, GPM_E_FORMAT, "%s: no series of the file could be used; the last: %s",
                      path, why.len ? why.data : "there is none");
    mem_free(series);
    panel_release(&p);
    buf_release(&why);
    return st;
}

enum gpm_status check_file(const char *path, const struct series_options *o,
                           const struct panel_options *how, bool json, struct buf *out,
                           struct buf *err) {
    struct series s;
    struct doc doc;
    doc_begin(&doc, DOC_TEXT, "gpmem check-data", path, out);
    if (json) buf_puts(out, "{");
    if (json) JSON(out, FIELD("file", path));
    if (json) buf_puts(out, ", \"series\": [\n");
    enum gpm_status st =
        how ? check_panel(path, o, how, json, &doc, err) : series_read(&s, path, NULL, 0, o, err);
    if (st == GPM_OK && !how) st = check_series(NULL, &s, NULL, o, json, &doc, err);
    if (json) buf_puts(out, "\n]}\n");
    doc_end(&doc);
    return st;
}
