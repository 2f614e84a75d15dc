/* SPDX-License-Identifier: Apache-2.0
 *
 * Dates of changes: parameters, or dates that a structure has as its own; the latter are uncertain
 * by the other structures of its text.
 */
#include "apps/discover/dated.h"
#include "apps/discover/report.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "gp/kernel/kern_class.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATTERS 1e-6 /* weight of a structure that is looked at */

/* The first value at or behind t, the number of values behind the last one. */
static size_t value_from(const struct discovery *d, double t) {
    size_t i = 0;
    while (i < d->data.n && d->data.t[i] < t - 1e-9) i++;
    return i;
}

static struct dated edge(const struct discovery *d, enum dated_kind kind, int term, bool begins,
                         struct par_summary t) {
    size_t at = value_from(d, t.mean);
    if (at >= d->data.n) at = d->data.n - 1;
    return (struct dated){kind, term, begins, at, t, {NAN, NAN, NAN}, NAN};
}

static struct par_summary place_of(uint16_t at) {
    double t = term_place(at);
    return (struct par_summary){t, t, t};
}

/* The date of a step or a bend; of a step between two values that of the second: where days are
 * missing (weekends) the middle between them is a day on which nothing happened. Of a pulse its
 * first value and the one after its last. */
static int of_break(const struct discovery *d, const struct evidence *e, int term,
                    struct dated *out) {
    const struct sterm *s = &smodel_of(e)->term[term];
    int f = factor_next(s->mask & factors_of(KERN_ROLE_BREAK), -1), tau = s->par[SPAR_TAU];
    bool bend = f < FACTOR_MAX && factor_class(f)->motif.direction;
    out[0] = edge(d, bend ? DATED_SLOPE : DATED_LEVEL, term, true, parameter_summary(e, tau));
    if (!smodel_free(tau)) out[0].t.mean = d->data.t[out[0].at];
    if (!s->to) return 1;
    out[1] = edge(d, DATED_LEVEL, term, false, place_of(s->to));
    out[1].t.mean = d->data.t[out[1].at];
    return 2;
}

/* By the values that it has: where a window reaches one end of the series, there is one date. */
static int of_gate(const struct discovery *d, const struct evidence *e, int term,
                   struct dated *out) {
    const struct smodel *m = smodel_of(e);
    enum gate gate = m->term[term].gate;
    bool window = gate == GATE_INSIDE || gate == GATE_OUTSIDE;
    bool begins = gate == GATE_INSIDE || gate == GATE_AFTER;
    bool noise = m->term[term].mask & factors_of(KERN_ROLE_WHITE);
    struct par_summary tau = parameter_summary(e, m->tau);
    enum dated_kind kind[] = {noise ? DATED_NOISE : DATED_END, noise ? DATED_NOISE : DATED_START};
    size_t from = value_from(d, tau.mean), to = d->data.n;
    int n = 0;
    if (from > 0 || !window) out[n++] = edge(d, kind[begins], term, begins, tau);
    if (!window) return n;
    struct par_summary end = window_end_summary(e);
    to = value_from(d, end.mean);
    if (!from || (to < d->data.n && from < to))
        out[n++] = edge(d, kind[!begins], term, !begins, end);
    return n;
}

static int edges_of(const struct discovery *d, const struct evidence *e, int term, bool acts,
                    struct dated *out) {
    const struct sterm *s = &smodel_of(e)->term[term];
    if (acts) return s->gate != GATE_NONE ? of_gate(d, e, term, out) : 0;
    return s->par[SPAR_TAU] >= 0 ? of_break(d, e, term, out) : 0;
}

/* ---- sizes ---- */

static struct par_summary about(double mean, double sd) {
    return (struct par_summary){mean, mean - 1.96 * sd, mean + 1.96 * sd};
}

static struct par_summary turned(struct par_summary s, bool round) {
    return round ? (struct par_summary){-s.mean, -s.hi, -s.lo} : s;
}

/* Of a shift that of the part after it, of a pulse that of the part within; of a bend what the part
 * rises by from there on. */
static struct par_summary size_of(const struct discovery *d, const struct dated *c) {
    const struct sterm *s = &smodel_of(discovery_top(d))->term[c->term];
    const struct series_part *p = discovery_part(d, c->term);
    size_t at = d->series.n - 1;
    if (c->kind == DATED_NOISE) {
        struct par_summary sd = parameter_summary(discovery_top(d), s->par[SPAR_SD]);
        double unit = smodel_unit(&d->data, smodel_of(discovery_top(d))->s.transform);
        return turned((struct par_summary){unit * sd.mean, unit * sd.lo, unit * sd.hi}, !c->begins);
    }
    if (!p || c->kind > DATED_NOISE) return c->size;
    while (s->to && at > 0 && p->mean[at] == 0) at--;
    if (c->kind == DATED_LEVEL) return turned(about(p->mean[at], p->sd[at]), !c->begins);
    double run = d->dec.x[at] - (d->data.x0 + d->data.span * c->t.mean);
    return run > 0 ? about(p->mean[at] / run, p->sd[at] / run) : c->size;
}

int dated_of(const struct discovery *d, int term, bool acts, struct dated *out) {
    int n = edges_of(d, discovery_top(d), term, acts, out);
    for (int k = 0; k < n; k++) out[k].size = size_of(d, &out[k]);
    return n;
}

/* ---- what other structures say ---- */

struct weighted {
    double v, w;
};

static bool matters(const struct discovery *d, size_t k) {
    return d->post.weight[k] > MATTERS && evidence_fitted(d->search.at[k]);
}

/* The interval of a date that structures have as their own: over those of its text. */
static void date_interval(const struct discovery *d, int number, bool acts, struct dated *c) {
    const struct search *s = &d->search;
    const struct evidence *top = discovery_top(d);
    struct weighted *v = NEW_ARRAY(struct weighted, s->n + 1);
    struct dated other[DATED_OF_TERM];
    size_t n = 0, i = 0;
    double all = 0, sum = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (!matters(d, k) || strcmp(s->at[k]->text, top->text)) continue;
        if (edges_of(d, s->at[k], c->term, acts, other) <= number) continue;
        all += d->post.weight[k];
        v[n++] = (struct weighted){d->data.t[other[number].at], d->post.weight[k]};
    }
    qsort(v, n, sizeof *v, number_compare);
    c->t.lo = c->t.hi = c->t.mean;
    for (; i < n && sum + v[i].w < 0.025 * all; i++) sum += v[i].w;
    if (i < n) c->t.lo = fmin(c->t.mean, v[i].v);
    for (; i < n && sum + v[i].w < 0.975 * all; i++) sum += v[i].w;
    if (i < n) c->t.hi = fmax(c->t.mean, v[i].v);
    mem_free(v);
}

static bool has_like(const struct discovery *d, const struct evidence *e, const struct dated *c) {
    struct dated other[2 * DATED_OF_TERM];
    for (int term = 0; term < smodel_of(e)->n_terms; term++) {
        int n = edges_of(d, e, term, false, other);
        n += edges_of(d, e, term, true, other + n);
        for (int k = 0; k < n; k++)
            if (other[k].kind == c->kind && other[k].t.mean >= c->t.lo - d->data.dt &&
                other[k].t.mean <= c->t.hi + d->data.dt)
                return true;
    }
    return false;
}

static int by_time(const void *a, const void *b) {
    const struct dated *p = a, *q = b;
    return p->at != q->at ? (p->at > q->at) - (p->at < q->at) : p->term - q->term;
}

int dated_all(const struct discovery *d, struct dated *out) {
    int n = 0;
    for (int k = 0; k < 2 * smodel_of(discovery_top(d))->n_terms; k++) {
        bool acts = k % 2;
        int more = dated_of(d, k / 2, acts, out + n);
        for (int j = 0; j < more; j++, n++) {
            struct dated *c = &out[n];
            if (!(c->t.lo < c->t.hi)) date_interval(d, j, acts, c);
            c->p = 0;
            for (size_t i = 0; i < d->search.n; i++)
                if (matters(d, i) && has_like(d, d->search.at[i], c)) c->p += d->post.weight[i];
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_time);
    return n;
}

/* The number of the value of the data, from 1, among those of the series, which may have outliers
 * beside them. */
static size_t number_in_series(const struct discovery *d, size_t at) {
    double x = d->data.x0 + d->data.span * d->data.t[at], slack = 1e-9 * d->data.span;
    size_t i = 0;
    while (i + 1 < d->series.n && d->series.x[i] < x - slack) i++;
    return i + 1;
}

void dated_json(const struct discovery *d, struct buf *out) {
    static const char *const kinds[] = {"level", "slope", "noise", "start", "end"};
    struct dated c[DATED_MAX];
    int n = dated_all(d, c);
    buf_puts(out, "  \"changes\": [");
    for (int k = 0; k < n; k++) {
        struct buf name = BUF_INIT;
        double t[] = {c[k].t.mean, c[k].t.lo, c[k].t.hi};
        for (int i = 0; i < 3; i++) t[i] = d->data.x0 + d->data.span * t[i];
        describe_name(d, c[k].term, &name);
        buf_puts(out, k ? ",\n    {" : "\n    {");
        JSON(out, FIELD("kind", kinds[c[k].kind]), FIELD("struct", name.data),
             FIELD("component", c[k].term + 1), FIELD("at", number_in_series(d, c[k].at)));
        buf_puts(out, ", ");
        report_times("x", &d->series, 1, t, out);
        buf_puts(out, ", ");
        report_times("interval", &d->series, 2, t + 1, out);
        JSON(out, FIELD("probability", c[k].p), FIELD("size", c[k].size.mean),
             FIELD("size_lo", c[k].size.lo), FIELD("size_hi", c[k].size.hi));
        buf_putc(out, '}');
        buf_release(&name);
    }
    buf_puts(out, "],\n");
}
