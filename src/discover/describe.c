/* SPDX-License-Identifier: Apache-2.0
 *
 * English for structures, after the manner of the Automatic Statistician: in a product the most
 * characteristic factor is the noun ("an approximately periodic function"), the others modify it
 * ("whose amplitude grows linearly"). Numbers are posterior medians with 95% intervals, in the
 * user's units; with a log transform effects are percentages.
 */
#include "base/mem.h"
#include "discover/discovery.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))

/* ---- small words ---- */
static void number(double v, struct buf *out) {
    double a = fabs(v);
    if (a >= 1e6 || (a > 0 && a < 1e-4))
        buf_printf(out, "%.3g", v);
    else if (a >= 1000)
        buf_printf(out, "%.0f", v);
    else
        buf_printf(out, "%.3g", v);
}

static void interval(double lo, double hi, struct buf *out) {
    buf_puts(out, " (95%: ");
    number(lo, out);
    buf_puts(out, " to ");
    number(hi, out);
    buf_putc(out, ')');
}

/* A duration in the user's unit; fractions of a year in months, of a day in hours and less. */
static void duration(const struct discovery *d, double v, struct buf *out) {
    static const struct {
        const char *unit, *part;
        double parts, below;
    } finer[] = {{"year", "month", 12, 1.95},
                 {"day", "hour", 24, 0.995},
                 {"hour", "minute", 60, 0.995},
                 {"minute", "second", 60, 0.995}};
    const char *unit = d->series.unit;
    for (size_t i = 0; i < COUNT_OF(finer); i++) {
        if (strcmp(unit, finer[i].unit) || v >= finer[i].below || fabs(v - 1) <= 0.005) continue;
        unit = finer[i].part;
        v *= finer[i].parts;
    }
    number(v, out);
    buf_printf(out, " %s%s", unit, fabs(v - 1) < 0.005 ? "" : "s");
}

static void duration_of(const struct discovery *d, int par, struct buf *out) {
    struct par_summary s = parameter_summary(discovery_top(d), par);
    double span = d->data.span;
    struct buf lo = BUF_INIT, hi = BUF_INIT;
    duration(d, s.mean * span, out);
    duration(d, s.lo * span, &lo);
    duration(d, s.hi * span, &hi);
    if (strcmp(lo.data, hi.data)) buf_printf(out, " (95%%: %s to %s)", lo.data, hi.data);
    buf_release(&lo);
    buf_release(&hi);
}

static bool is_log(const struct discovery *d) {
    return discovery_top(d)->m.s.transform == TRANSFORM_LOG;
}

/* A standard deviation on the scale of the transform: in units, as a percentage, or a factor. */
static void amount(const struct discovery *d, double sd, struct buf *out) {
    if (is_log(d) && sd > 1.2) {
        buf_puts(out, "a factor of ");
        number(exp(sd), out);
    } else if (is_log(d)) {
        number(100 * expm1(sd), out);
        buf_putc(out, '%');
    } else {
        number(sd, out);
    }
}

static void amount_of(const struct discovery *d, int par, double factor, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    double f = factor * d->data.sd[e->m.s.transform];
    struct par_summary s = parameter_summary(e, par);
    amount(d, s.mean * f, out);
    buf_puts(out, " (95%: ");
    amount(d, s.lo * f, out);
    buf_puts(out, " to ");
    amount(d, s.hi * f, out);
    buf_putc(out, ')');
}

static void date(const struct discovery *d, double t, struct buf *out) {
    double x = d->data.x0 + d->data.span * t;
    if (series_dated(&d->series))
        series_print_time(&d->series, x, out);
    else
        buf_printf(out, "%.6g", x);
}

void describe_probability(double p, struct buf *out) {
    const char *word = p >= 0.99   ? "almost certain"
                       : p >= 0.9  ? "very likely"
                       : p >= 0.66 ? "likely"
                       : p >= 0.33 ? "as likely as not"
                       : p >= 0.1  ? "unlikely"
                                   : "very unlikely";
    if (p > 0.999)
        buf_printf(out, "%s (above 99.9%%)", word);
    else
        buf_printf(out, "%s (%.*f%%)", word, p > 0.99 || p < 0.01 ? 1 : 0, 100 * p);
}

/* ---- terms ---- */
static const struct part *part_of(const struct discovery *d, int term) {
    for (int k = 0; k < d->dec.n_parts; k++)
        if (d->dec.part[k].term == term) return &d->dec.part[k];
    return NULL;
}

double component_probability(const struct discovery *d, int term) {
    if (term < 0) return 1;
    struct buf b = BUF_INIT;
    struct term t = discovery_top(d)->m.s.t[term];
    double p = 0;
    t.gate = GATE_NONE;
    term_print(t, &b);
    for (size_t i = 0; i < d->post.n_components; i++)
        if (!strcmp(d->post.components[i].text, b.data)) p = d->post.components[i].p;
    buf_release(&b);
    return p;
}

/* Ordered: the first whose factors a term has. */
static const struct {
    unsigned factors;
    const char *motif, *words;
} motifs[] = {
    {FACTOR_BIT(FACTOR_WN), "heteroskedastic_noise", "noise that grows or shrinks"},
    {FACTOR_BIT(FACTOR_PER), "recurring_pattern", "a recurring pattern"},
    {FACTOR_BIT(FACTOR_LIN) | FACTOR_BIT(FACTOR_IW) | FACTOR_BIT(FACTOR_RAMP), "trend", "a trend"},
    {FACTOR_BIT(FACTOR_W), "random_walk", "a random walk"},
    {FACTOR_BIT(FACTOR_STEP), "change", "a change at a date"},
    {~0u, "smooth", "a smooth variation"},
};

static size_t motif_row(const struct discovery *d, int term) {
    unsigned mask = discovery_top(d)->m.s.t[term].mask;
    size_t i = 0;
    while (!(motifs[i].factors & mask)) i++;
    return i;
}

const char *term_motif(const struct discovery *d, int term) {
    return term < 0 ? "noise" : motifs[motif_row(d, term)].motif;
}

static void put_presence(const struct discovery *d, const char *words, const char *motif,
                         struct buf *out) {
    buf_printf(out, " That there is %s is ", words);
    describe_probability(posterior_motif(&d->post, motif), out);
    buf_putc(out, '.');
}

/* Probabilities of what the term is an instance of, whatever kernel expresses it: structures share
 * the mass of a pattern between PER, SE*PER and LIN*PER. Whether it changes is a question of its
 * own. */
static void describe_presence(const struct discovery *d, int term, struct buf *out) {
    size_t row = motif_row(d, term);
    unsigned mask = discovery_top(d)->m.s.t[term].mask;
    put_presence(d, motifs[row].words, motifs[row].motif, out);
    if (HAS(mask, FACTOR_WN) || !HAS(mask, FACTOR_PER)) return;
    put_presence(d, "one that changes from period to period", "changing_pattern", out);
    if (HAS(mask, FACTOR_LIN))
        put_presence(d, "one that grows or shrinks", "changing_amplitude", out);
}

static const char *amplitude_direction(const struct discovery *d, const struct sterm *e) {
    struct par_summary c = parameter_summary(discovery_top(d), e->c);
    if (c.hi < 0.3) return "grows linearly";
    if (c.lo > 0.7) return "shrinks linearly";
    return "varies linearly";
}

void describe_headline(const struct discovery *d, int term, struct buf *out) {
    if (term < 0) {
        buf_puts(out, "uncorrelated noise");
        return;
    }
    const struct sterm *e = &discovery_top(d)->m.term[term];
    const struct part *p = part_of(d, term);
    unsigned m = e->mask;
    if (HAS(m, FACTOR_WN)) {
        buf_printf(out, "uncorrelated noise whose size %s", amplitude_direction(d, e));
    } else if (m == FACTOR_BIT(FACTOR_LIN)) {
        buf_printf(out, "a linear %s", p && p->slope < 0 ? "decrease" : "increase");
    } else if (HAS(m, FACTOR_PER)) {
        bool exact = !(m & ~(FACTOR_BIT(FACTOR_PER) | FACTOR_BIT(FACTOR_LIN)));
        buf_printf(out, "%s periodic function", exact ? "an exactly" : "an approximately");
        if (HAS(m, FACTOR_LIN)) buf_printf(out, " whose amplitude %s", amplitude_direction(d, e));
    } else {
        int f = factor_next(m & ~factors_of(KERN_ROLE_TREND), -1);
        buf_puts(out, kern_class_motif(factor_class(f))->english);
        if (HAS(m, FACTOR_LIN)) buf_printf(out, " whose amplitude %s", amplitude_direction(d, e));
    }
}

static void gate_words(const struct discovery *d, const struct sterm *e, struct buf *out) {
    const struct evidence *top = discovery_top(d);
    if (e->gate == GATE_NONE) return;
    double tau = parameter_summary(top, top->m.tau).mean;
    if (e->gate == GATE_BEFORE || e->gate == GATE_AFTER) {
        buf_puts(out, e->gate == GATE_BEFORE ? " It acts until " : " It acts from ");
        date(d, tau, out);
        buf_puts(out, ".");
        return;
    }
    double width = parameter_summary(top, top->m.width).mean;
    buf_puts(out, e->gate == GATE_INSIDE ? " It acts between " : " It acts outside the time from ");
    date(d, tau, out);
    buf_puts(out, e->gate == GATE_INSIDE ? " and " : " to ");
    date(d, tau + width, out);
    buf_puts(out, ".");
}

static void describe_slope(const struct discovery *d, const struct part *p, struct buf *out) {
    double a = p->slope - 1.96 * p->slope_sd, b = p->slope + 1.96 * p->slope_sd;
    if (is_log(d)) {
        buf_puts(out, " The level changes by ");
        number(100 * expm1(p->slope), out);
        buf_printf(out, "%% per %s", d->series.unit);
        interval(100 * expm1(a), 100 * expm1(b), out);
    } else {
        buf_puts(out, " It changes by ");
        number(p->slope, out);
        buf_printf(out, " per %s", d->series.unit);
        interval(a, b, out);
    }
    buf_puts(out, ".");
}

static void describe_periodic(const struct discovery *d, const struct sterm *e, struct buf *out) {
    const struct evidence *top = discovery_top(d);
    buf_puts(out, " It repeats every ");
    duration_of(d, e->period, out);
    buf_puts(out, ".");
    if (e->l >= 0) {
        buf_puts(out, " The pattern is alike within ");
        duration_of(d, e->l, out);
        buf_puts(out, " and may change beyond.");
    }
    double shape = parameter_summary(top, e->lper).mean;
    if (shape > 1.5)
        buf_puts(out, " Within a period it is close to a sine wave.");
    else if (shape < 0.35)
        buf_puts(out, " Within a period it has sharp features.");
}

static void describe_size(const struct discovery *d, const struct sterm *e, struct buf *out) {
    double f = HAS(e->mask, FACTOR_LIN) ? 1.7 : 1; /* sd of sqrt(12)(t-c) is of order one to two */
    buf_puts(out, " Typical size: ");
    amount_of(d, e->sd, f, out);
    buf_puts(out, ".");
}

static void describe_trend(const struct discovery *d, const struct sterm *e, const struct part *p,
                           struct buf *out) {
    unsigned m = e->mask;
    if (m == FACTOR_BIT(FACTOR_LIN)) {
        describe_slope(d, p, out);
    } else if (HAS(m, FACTOR_W)) {
        buf_printf(out, " In one %s it moves by about ", d->series.unit);
        amount_of(d, e->sd, 1 / sqrt(d->data.span), out);
        buf_puts(out, ", in either direction.");
    } else if (HAS(m, FACTOR_IW)) {
        buf_puts(out, " Locally it is a straight line; the slope wanders slowly.");
        if (p && d->dec.n > 1) {
            size_t last = d->series.n - 1; /* the slope at the end of the data */
            double slope =
                (p->mean[last] - p->mean[last - 1]) / (d->dec.x[last] - d->dec.x[last - 1]);
            buf_puts(out, " At the end it changes by ");
            if (is_log(d)) {
                number(100 * expm1(slope), out);
                buf_putc(out, '%');
            } else {
                number(slope, out);
            }
            buf_printf(out, " per %s.", d->series.unit);
        }
    } else if (e->tau >= 0) {
        struct par_summary s = parameter_summary(discovery_top(d), e->tau);
        buf_puts(out, HAS(m, FACTOR_RAMP) ? " It starts at " : " The level shifts at ");
        date(d, s.mean, out);
        buf_puts(out, " (95%: ");
        date(d, s.lo, out);
        buf_puts(out, " to ");
        date(d, s.hi, out);
        buf_puts(out, ").");
    } else {
        buf_puts(out, " It changes over a typical time of ");
        duration_of(d, e->l, out);
        buf_puts(out, ".");
        describe_size(d, e, out);
    }
}

void describe_term(const struct discovery *d, int term, struct buf *out) {
    const struct evidence *top = discovery_top(d);
    size_t at = out->len;
    describe_headline(d, term, out);
    out->data[at] = (char)(out->data[at] - 'a' + 'A');
    if (term < 0) {
        buf_puts(out, " with a standard deviation of ");
        amount_of(d, 0, 1, out);
        buf_puts(out, is_log(d) ? " of the value." : ".");
        return;
    }
    const struct sterm *e = &top->m.term[term];
    const struct part *p = part_of(d, term);
    buf_puts(out, ".");
    if (HAS(e->mask, FACTOR_PER)) {
        describe_periodic(d, e, out);
        describe_size(d, e, out);
    } else if (HAS(e->mask, FACTOR_WN)) {
        describe_size(d, e, out);
    } else {
        describe_trend(d, e, p, out);
    }
    gate_words(d, e, out);
    if (p) buf_printf(out, " It explains %.*f%% of the variance.", p->share < 0.1, 100 * p->share);
    describe_presence(d, term, out);
}

/* ---- formula ---- */
static void formula_par(const char *name, double v, struct buf *out) {
    buf_printf(out, "%s=", name);
    number(v, out);
}

static void formula_term(const struct discovery *d, int k, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    const struct sterm *s = &e->m.term[k];
    double span = d->data.span, sd = d->data.sd[e->m.s.transform];
    struct buf name = BUF_INIT;
    number(pow(parameter_summary(e, s->sd).mean * sd, 2), out);
    for (int f = 0; f < FACTOR_MAX; f++) {
        if (!HAS(s->mask, f)) continue;
        buf_printf(out, " * %s", factor_name(f));
        bool smooth = factor_role(f) == KERN_ROLE_SMOOTH;
        if (!smooth && f != FACTOR_PER && !(f == FACTOR_LIN && s->c >= 0) && s->tau < 0) continue;
        buf_putc(out, '(');
        if (smooth) formula_par("l", parameter_summary(e, s->l).mean * span, out);
        if (f == FACTOR_PER) {
            formula_par("p", parameter_summary(e, s->period).mean * span, out);
            buf_puts(out, ", ");
            formula_par("l", parameter_summary(e, s->lper).mean, out);
        }
        if (f == FACTOR_LIN || s->tau >= 0) {
            int par = f == FACTOR_LIN ? s->c : s->tau;
            buf_puts(out, f == FACTOR_LIN ? "c=" : "at=");
            date(d, parameter_summary(e, par).mean, out);
        }
        buf_putc(out, ')');
    }
    buf_release(&name);
}

void describe_formula(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    double sd = d->data.sd[e->m.s.transform];
    buf_printf(out, "%s ~ GP(", is_log(d) ? "log y" : "y");
    number(d->data.mean[e->m.s.transform], out);
    buf_puts(out, ", ");
    for (int k = 0; k < e->m.n_terms; k++) {
        formula_term(d, k, out);
        buf_puts(out, " + ");
    }
    number(pow(parameter_summary(e, 0).mean * sd, 2), out);
    buf_puts(out, " * WN)");
}

/* ---- the whole ---- */
void describe_summary(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    const struct post_entry *s = &d->post.structures[0];
    int n = e->m.n_terms + 1;
    static const char *const words[] = {"no", "one", "two", "three", "four", "five", "six"};
    buf_printf(out, "The search found %s additive component%s: ", words[n < 7 ? n : 6],
               n == 1 ? "" : "s");
    for (int k = 0; k < e->m.n_terms; k++) {
        describe_headline(d, k, out);
        buf_puts(out, k + 1 < e->m.n_terms ? ", " : ", and ");
    }
    if (e->m.n_terms == 1) { /* "a, and b" reads badly */
        out->len -= strlen(", and ");
        out->data[out->len] = 0;
        buf_puts(out, " and ");
    }
    describe_headline(d, -1, out);
    buf_printf(out, ". This structure, %s, has probability %.3f (error %.3f).", s->text, s->p,
               s->error);
    if (d->data.y[TRANSFORM_LOG])
        buf_printf(out, " The logarithm of the values %s (probability %.2f)%s.",
                   d->post.p_log > 0.5 ? "is modelled rather than the values themselves"
                                       : "fits worse than the values themselves",
                   d->post.p_log > 0.5 ? d->post.p_log : 1 - d->post.p_log,
                   d->post.p_log > 0.5 ? ": effects multiply" : "");
}
