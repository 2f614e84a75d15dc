/* SPDX-License-Identifier: Apache-2.0
 *
 * The result as one JSON object. Fields are only ever added.
 */
#include "base/mem.h"
#include "discover/discovery.h"
#include <math.h>
#include <string.h>

static void text(const char *s, struct buf *out) {
    buf_json_string(out, s, strlen(s));
}

static void num(double v, struct buf *out) {
    if (isfinite(v))
        buf_number(out, v);
    else
        buf_puts(out, "null");
}

static void field_num(const char *name, double v, struct buf *out) {
    buf_printf(out, "\"%s\": ", name);
    num(v, out);
}

struct field {
    const char *name;
    double v;
};
static void fields(const struct field *f, size_t n, struct buf *out) {
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        field_num(f[i].name, f[i].v, out);
    }
}
#define FIELDS(out, ...)                                                                           \
    fields((const struct field[]){__VA_ARGS__},                                                    \
           sizeof((const struct field[]){__VA_ARGS__}) / sizeof(struct field), out)

static void array(const char *name, size_t n, const double *v, struct buf *out) {
    buf_printf(out, "\"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        num(v[i], out);
    }
    buf_putc(out, ']');
}

/* Times in the form of the file: numbers, or dates as texts. */
static void times(const struct series *s, size_t n, const double *x, struct buf *out) {
    struct buf b = BUF_INIT;
    buf_puts(out, "\"x\": [");
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        buf_reset(&b);
        series_print_time(s, x[i], &b);
        if (series_dated(s))
            text(b.data, out);
        else
            num(x[i], out);
    }
    buf_putc(out, ']');
    buf_release(&b);
}

static void entries(const char *name, const char *key, const struct post_entry *e, size_t n,
                    bool structures, struct buf *out) {
    buf_printf(out, "  \"%s\": [\n", name);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "    {\"%s\": ", key);
        text(e[i].text, out);
        buf_puts(out, ", ");
        FIELDS(out, {"probability", e[i].p}, {"error", e[i].error});
        if (structures) {
            buf_puts(out, ", ");
            FIELDS(out, {"log_share", e[i].p_log}, {"log_evidence", evidence_total(e[i].best)},
                   {"log_evidence_se", e[i].best->se});
        }
        buf_printf(out, "}%s\n", i + 1 < n ? "," : "");
    }
    buf_puts(out, "  ],\n");
}

static void diagnostics(const struct discovery *d, struct buf *out) {
    const struct posterior *p = &d->post;
    buf_printf(out, "  \"diagnostics\": {\"chains\": %d, \"steps\": %zu, ", p->n_chains, p->steps);
    FIELDS(out, {"acceptance", p->acceptance}, {"distance_between_chains", p->tv_between},
           {"distance_chains_evidences", p->tv_evidence}, {"rhat_log_density", p->rhat},
           {"ess_components", p->ess}, {"unexplored", p->unexplored});
    buf_printf(out, ", \"structures_visited\": %zu, \"likelihoods\": %ld, \"search_cut\": %s, ",
               d->search.n, d->search.evals, d->search.cut ? "true" : "false");
    buf_puts(out, "\"verdict\": ");
    text(p->verdict ? p->verdict : "", out);
    buf_puts(out, "},\n");
}

static void data(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    buf_puts(out, "  \"data\": {\"file\": ");
    text(s->name, out);
    buf_puts(out, ", \"time\": ");
    text(s->time_name, out);
    buf_puts(out, ", \"value\": ");
    text(s->value_name, out);
    buf_printf(out,
               ", \"unit\": \"%s\", \"n\": %zu, \"rows\": %zu, \"missing\": %zu, \"skipped\": %zu, "
               "\"repeated_times\": %zu, \"left_out\": %zu, \"regular\": %s, \"gaps\": %zu, "
               "\"hash\": \"%016llx\"},\n",
               s->unit, s->n, s->rows, s->missing, s->bad, s->repeated, s->left_out,
               d->data.regular ? "true" : "false", d->data.regular ? d->data.ng - d->data.n : 0,
               (unsigned long long)s->hash);
}

static void parts(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    buf_puts(out, "  \"description\": {\"summary\": ");
    struct buf b = BUF_INIT;
    describe_summary(d, &b);
    text(b.data, out);
    buf_reset(&b);
    describe_formula(d, &b);
    buf_puts(out, ", \"formula\": ");
    text(b.data, out);
    buf_puts(out, ", \"components\": [\n");
    for (int k = -1; k < e->m.n_terms; k++) {
        int term = k + 1 < e->m.n_terms ? k + 1 : -1;
        buf_reset(&b);
        buf_puts(out, "    {\"struct\": ");
        if (term >= 0)
            term_print(e->m.s.t[term], &b);
        else
            buf_puts(&b, "WN");
        text(b.data, out);
        buf_reset(&b);
        describe_term(d, term, &b);
        buf_puts(out, ", \"text\": ");
        text(b.data, out);
        buf_puts(out, ", ");
        field_num("probability", component_probability(d, term), out);
        const char *motif = term_motif(d, term);
        buf_printf(out, ", \"motif\": \"%s\", ", motif);
        field_num("motif_probability", term < 0 ? 1 : posterior_motif(&d->post, motif), out);
        buf_printf(out, "}%s\n", k + 1 < e->m.n_terms ? "," : "");
    }
    buf_puts(out, "  ]},\n");
    buf_release(&b);
}

static void decomposition(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    buf_printf(out, "  \"decomposition\": {\"transform\": \"%s\", ",
               e->m.s.transform == TRANSFORM_LOG ? "log" : "none");
    times(&d->series, d->dec.n, d->dec.x, out);
    buf_puts(out, ", \"parts\": [\n");
    for (int k = 0; k < d->dec.n_parts; k++) {
        const struct part *p = &d->dec.part[k];
        struct buf b = BUF_INIT;
        if (p->term >= 0)
            term_print(e->m.s.t[p->term], &b);
        else
            buf_puts(&b, "C");
        buf_puts(out, "    {\"struct\": ");
        text(b.data, out);
        buf_puts(out, ", ");
        field_num("share", p->share, out);
        buf_puts(out, ", ");
        array("mean", d->dec.n, p->mean, out);
        buf_puts(out, ", ");
        array("sd", d->dec.n, p->sd, out);
        buf_printf(out, "}%s\n", k + 1 < d->dec.n_parts ? "," : "");
        buf_release(&b);
    }
    buf_puts(out, "  ]},\n");
}

static void prediction(const char *name, const struct series *s, const struct prediction *p,
                       size_t from, struct buf *out) {
    size_t n = p->n - from;
    buf_printf(out, "  \"%s\": {", name);
    times(s, n, p->x + from, out);
    buf_puts(out, ", ");
    array("mean", n, p->mean + from, out);
    buf_puts(out, ", ");
    array("median", n, p->median + from, out);
    buf_puts(out, ", ");
    array("lo", n, p->lo + from, out);
    buf_puts(out, ", ");
    array("hi", n, p->hi + from, out);
    buf_puts(out, "},\n");
}

static void checks(const struct discovery *d, struct buf *out) {
    buf_puts(out, "  \"checks\": [\n");
    for (int k = 0; k < DISCOVERY_CHECKS; k++) {
        const struct check *c = &d->check[k];
        if (!c->name) continue;
        buf_printf(out, "%s    {\"name\": \"%s\", ", k ? ",\n" : "", c->name);
        FIELDS(out, {"observed", c->observed}, {"p", c->p});
        buf_puts(out, ", \"text\": ");
        text(c->text, out);
        buf_putc(out, '}');
    }
    buf_puts(out, "\n  ],\n");
}

static void holdout(const struct discovery *d, struct buf *out) {
    const struct holdout *h = &d->hold;
    if (!h->n) return;
    prediction("holdout_forecast", &d->series, &h->pred, 0, out);
    buf_printf(out, "  \"holdout\": {\"n\": %zu, ", h->n);
    FIELDS(out, {"mae", h->mae}, {"rmse", h->rmse}, {"mase", h->mase}, {"crps", h->crps},
           {"coverage", h->coverage}, {"log_score", h->log_score});
    buf_puts(out, "},\n");
}

void discovery_json(const struct discovery *d, struct buf *out) {
    buf_puts(out, "{\n");
    entries("structures", "struct", d->post.structures, d->post.n_structures, true, out);
    entries("components", "struct", d->post.components, d->post.n_components, false, out);
    entries("motifs", "motif", d->post.motifs, d->post.n_motifs, false, out);
    diagnostics(d, out);
    buf_printf(out, "  \"settled\": %s,\n  \"seed\": %llu,\n  \"version\": \"%s\",\n",
               d->post.settled ? "true" : "false", (unsigned long long)d->opt.seed, GPMEM_VERSION);
    data(d, out);
    parts(d, out);
    struct buf b = BUF_INIT;
    discovery_program(d, &b);
    buf_puts(out, "  \"program\": ");
    text(b.data, out);
    buf_puts(out, ",\n  ");
    buf_release(&b);
    field_num("probability_of_log", d->post.p_log, out);
    buf_puts(out, ",\n");
    checks(d, out);
    holdout(d, out);
    decomposition(d, out);
    prediction("forecast", &d->series, &d->fit, d->series.n, out);
    buf_puts(out, "  ");
    field_num("seconds", d->seconds, out);
    buf_puts(out, "\n}\n");
}
