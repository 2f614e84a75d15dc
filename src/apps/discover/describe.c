/* SPDX-License-Identifier: Apache-2.0
 *
 * English for structures, after the manner of the Automatic Statistician: in a product the most
 * characteristic factor is the noun ("an approximately periodic function"), the others modify it
 * ("whose amplitude grows linearly"). Numbers are posterior medians with 95% intervals, in the
 * user's units; with a log transform effects are percentages.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "gp/kernel/kern_class.h"
#include "apps/discover/dated.h"
#include "apps/discover/words.h"
#include <math.h>
#include <string.h>

static bool has(unsigned mask, enum kern_role role) {
    return mask & factors_of(role);
}

/* A parameter with its interval, where that has a width in print; the scale makes the quantity. */
static void put_estimate(const struct discovery *d, const char *before, quantity *put,
                         struct par_summary s, double scale, const char *after, struct buf *out) {
    struct buf lo = BUF_INIT, hi = BUF_INIT;
    buf_puts(out, before);
    put(d, s.mean * scale, out);
    if (put == words_period || put == words_duration) { /* "every year (95%: 1 year to ...)" */
        words_duration_about(d, s.lo * scale, s.mean * scale, &lo);
        words_duration_about(d, s.hi * scale, s.mean * scale, &hi);
    } else {
        put(d, s.lo * scale, &lo);
        put(d, s.hi * scale, &hi);
    }
    if (strcmp(lo.data, hi.data)) buf_printf(out, " (95%%: %s to %s)", lo.data, hi.data);
    buf_puts(out, after);
    buf_release(&lo);
    buf_release(&hi);
}

static void estimate(const struct discovery *d, const char *before, quantity *put, int par,
                     double scale, const char *after, struct buf *out) {
    put_estimate(d, before, put, parameter_summary(discovery_top(d), par), scale, after, out);
}

/* The standard deviation of the values that are modelled. */
static double value_sd(const struct discovery *d) {
    return smodel_unit(&d->data, smodel_of(discovery_top(d))->s.transform);
}

/* ---- terms ---- */
const struct series_part *discovery_part(const struct discovery *d, int term) {
    for (int k = 0; k < d->dec.n_parts; k++)
        if (d->dec.part[k].term == term) return &d->dec.part[k];
    return NULL;
}

void describe_name(const struct discovery *d, int term, struct buf *out) {
    if (term <= SMODEL_REGRESS)
        buf_printf(out, "%s(%s)", d->series.reg.smooth[SMODEL_REGRESS - term] ? "LIN+SE" : "LIN",
                   d->series.reg.name[SMODEL_REGRESS - term]);
    else if (term >= 0)
        term_print(smodel_of(discovery_top(d))->s.t[term], out);
    else
        buf_puts(out, term == SMODEL_CONSTANT ? "C" : "WN");
}

/* Ordered: the first of which a factor of the term is, by its role or because it has a direction.
 */
static const struct motif {
    enum kern_role role;
    bool direction;
    const char *name, *words;
} motifs[] = {
    {KERN_ROLE_WHITE, false, "heteroskedastic_noise", "noise that grows or shrinks"},
    {KERN_ROLE_PERIODIC, false, "recurring_pattern", "a recurring pattern"},
    {KERN_ROLE_TREND, true, "trend", "a trend"},
    {KERN_ROLE_WALK, false, "random_walk", "a random walk"},
    {KERN_ROLE_BREAK, false, "change", "a change at a date"},
    {KERN_ROLE_SMOOTH, false, "smooth", "a smooth variation"},
};

static bool has_direction(unsigned mask) {
    for (int f = factor_next(mask, -1); f < FACTOR_MAX; f = factor_next(mask, f))
        if (factor_class(f)->motif.direction) return true;
    return false;
}

static const struct motif *motif_of(unsigned mask) {
    const struct motif *m = motifs;
    while (m->role != KERN_ROLE_SMOOTH && !has(mask, m->role) &&
           !(m->direction && has_direction(mask)))
        m++;
    return m;
}

/* What a term amounts to (smodel_amounts). */
static unsigned amounts(const struct discovery *d, const struct sterm *e) {
    const struct smodel *m = smodel_of(discovery_top(d));
    int l = e->par[SPAR_L];
    return l < 0
               ? e->mask
               : smodel_amounts(m, (int)(e - m->term), parameter_summary(discovery_top(d), l).mean);
}

const char *term_motif(const struct discovery *d, int term) {
    return term < 0 ? "noise"
                    : motif_of(amounts(d, &smodel_of(discovery_top(d))->term[term]))->name;
}

static void presence(const struct discovery *d, const char *words, const char *motif,
                     struct buf *out) {
    buf_printf(out, " That there is %s is ", words);
    words_probability(posterior_entry(&d->post.motifs, motif), out);
    buf_putc(out, '.');
}

/* Noise beside that of the whole series, on one side of a date or of a window. */
static bool more_noise(const struct sterm *e) {
    return e->gate != GATE_NONE && has(e->mask, KERN_ROLE_WHITE);
}

/* Of several patterns the one that changes is what the question is about. */
static bool changes_elsewhere(const struct discovery *d, unsigned mask) {
    const struct structure *s = &smodel_of(discovery_top(d))->s;
    unsigned both = factors_of(KERN_ROLE_SMOOTH) | factors_of(KERN_ROLE_PERIODIC);
    bool other = false;
    for (int k = 0; k < s->n; k++)
        other |= has(s->t[k].mask & both, KERN_ROLE_PERIODIC) &&
                 has(s->t[k].mask & both, KERN_ROLE_SMOOTH);
    return other && !has(mask, KERN_ROLE_SMOOTH);
}

/* Probabilities of what the term is an instance of, whatever kernel expresses it: structures share
 * the mass of a pattern between PER, SE*PER and LIN*PER. Whether it changes is a question of its
 * own; of noise that is there for a time only the question is whether there is a change. */
static void describe_presence(const struct discovery *d, const struct sterm *e, struct buf *out) {
    unsigned mask = e->mask;
    const struct motif *m = motif_of(amounts(d, e));
    for (const struct motif *q = motifs; more_noise(e) && q->role != KERN_ROLE_SMOOTH; q++)
        if (q->role == KERN_ROLE_BREAK) m = q;
    presence(d, m->words, m->name, out);
    if (m->role != KERN_ROLE_PERIODIC) return;
    if (!changes_elsewhere(d, mask))
        presence(d, "one that changes from period to period", "changing_pattern", out);
    if (has(mask, KERN_ROLE_TREND))
        presence(d, "one that grows or shrinks", "changing_amplitude", out);
}

/* With fewer periods a warning is given: two periods do not show that a pattern continues. */
#define SEEN 2.9

/* Two years are 24 months, the last of which is a month long, too. */
static double periods_seen(const struct discovery *d, const struct sterm *e) {
    return (1 + d->data.dt) / period_summary(discovery_top(d), e).mean;
}

static void headline_periodic(const struct discovery *d, const struct sterm *e, bool exact,
                              struct buf *out) {
    double seen = periods_seen(d, e);
    if (seen < SEEN)
        buf_printf(out, "a function that repeats %s over the %.2g periods seen",
                   exact ? "exactly" : "approximately", seen);
    else
        buf_puts(out,
                 exact ? "an exactly periodic function" : "an approximately periodic function");
}

void describe_headline(const struct discovery *d, int term, struct buf *out) {
    if (term < 0) {
        buf_puts(out, "uncorrelated noise");
        return;
    }
    const struct sterm *e = &smodel_of(discovery_top(d))->term[term];
    const struct series_part *p = discovery_part(d, term);
    unsigned trend = factors_of(KERN_ROLE_TREND), others = e->mask & ~trend;
    bool white = has(others, KERN_ROLE_WHITE);
    if (!others) {
        buf_printf(out, "a linear %s", p && p->slope < 0 ? "decrease" : "increase");
        return;
    }
    if (e->par[SPAR_LWITHIN] >= 0)
        buf_puts(out, "a pattern of the day that differs within the week");
    else if (white)
        buf_puts(out, more_noise(e) ? "more uncorrelated noise" : "uncorrelated noise");
    else if (has(others, KERN_ROLE_PERIODIC))
        headline_periodic(d, e, !(others & ~factors_of(KERN_ROLE_PERIODIC)), out);
    else if (has(others, KERN_ROLE_WALK) && amounts(d, e) != e->mask)
        buf_puts(out, "a random walk whose slope lasts for a while");
    else
        buf_puts(out, factor_class(factor_next(others, -1))->motif.english);
    if (!(e->mask & trend)) return;
    struct par_summary c = parameter_summary(discovery_top(d), e->par[SPAR_C]);
    buf_printf(out, " whose %s %s linearly", white ? "size" : "amplitude",
               c.hi < 0.3   ? "grows"
               : c.lo > 0.7 ? "shrinks"
                            : "varies");
}

static void put_value_date(const struct discovery *d, size_t at, struct buf *out) {
    words_date(d, d->data.t[at], out);
}

/* The date of a step or a bend; of a pulse its first value and its last. */
static void change_date(const struct discovery *d, int term, struct buf *out) {
    struct dated c[DATED_OF_TERM];
    int n = dated_of(d, term, false, c);
    words_date(d, c[0].t.mean, out);
    if (n < 2) return;
    buf_puts(out, " to ");
    put_value_date(d, c[1].at - 1, out);
}

/* When a part acts that is not of all times. */
static void when(const struct discovery *d, int term, struct buf *out) {
    struct dated c[DATED_OF_TERM];
    int n = dated_of(d, term, true, c);
    if (n == 2) {
        buf_puts(out, c[0].begins ? "between " : "outside the time from ");
        put_value_date(d, c[0].at, out);
        buf_puts(out, c[0].begins ? " and " : " to ");
        put_value_date(d, c[1].at - 1, out);
    } else {
        buf_puts(out, c[0].begins ? "from " : "until ");
        put_value_date(d, c[0].at - (!c[0].begins && c[0].at > 0), out);
    }
}

void describe_title(const struct discovery *d, int term, struct buf *out) {
    describe_headline(d, term, out);
    if (term < 0 || !more_noise(&smodel_of(discovery_top(d))->term[term])) return;
    buf_putc(out, ' ');
    when(d, term, out);
}

void describe_time(const struct discovery *d, int term, struct buf *out) {
    const struct evidence *top = discovery_top(d);
    const struct sterm *e = &smodel_of(top)->term[term];
    double span = d->data.span;
    if (e->par[SPAR_PERIOD] >= 0) {
        buf_puts(out, " of every ");
        words_period(d, period_summary(discovery_top(d), e).mean * span, out);
    } else if (e->par[SPAR_L] >= 0) {
        buf_puts(out, " over about ");
        words_duration(d, parameter_summary(top, e->par[SPAR_L]).mean * span, out);
    } else if (e->par[SPAR_TAU] >= 0) {
        buf_puts(out, e->to ? " from " : " at ");
        describe_when(d, term, out);
    }
}

static void describe_gate(const struct discovery *d, int term, struct buf *out) {
    const struct sterm *e = &smodel_of(discovery_top(d))->term[term];
    if (e->gate == GATE_NONE || more_noise(e)) return; /* that is in its title */
    buf_puts(out, " It acts ");
    when(d, term, out);
    buf_putc(out, '.');
}

void describe_when(const struct discovery *d, int term, struct buf *out) {
    const struct sterm *e = &smodel_of(discovery_top(d))->term[term];
    if (e->gate != GATE_NONE)
        when(d, term, out);
    else if (e->par[SPAR_TAU] >= 0)
        change_date(d, term, out);
}

static void describe_slope(const struct discovery *d, const struct series_part *p,
                           struct buf *out) {
    buf_puts(out, words_log(d) ? " The level " : " It ");
    words_rate(d, p->slope, p->slope_sd, false, out);
    buf_putc(out, '.');
}

/* A slope that drifts, or that is forgotten after a time; how it is at the end of the data. */
static void describe_drift(const struct discovery *d, const struct sterm *e,
                           const struct series_part *p, struct buf *out) {
    buf_puts(out, " Locally it is a straight line; ");
    if (e->par[SPAR_L] >= 0)
        estimate(d, "its slope lasts for about ", words_duration, e->par[SPAR_L], d->data.span,
                 ", and forecasts level off.", out);
    else
        buf_puts(out, "the slope wanders slowly.");
    if (!p) return;
    buf_puts(out, " At the end it ");
    words_rate(d, p->late, p->late_sd, false, out);
    buf_putc(out, '.');
}

/* Two patterns of one period, such as a smooth one and a sharp edge, look like one to a reader. */
static void describe_same_period(const struct discovery *d, const struct sterm *e,
                                 struct buf *out) {
    const struct smodel *m = smodel_of(discovery_top(d));
    struct par_summary mine = period_summary(discovery_top(d), e);
    for (int k = 0; k < m->n_terms && &m->term[k] != e; k++) {
        if (m->term[k].par[SPAR_PERIOD] < 0) continue;
        struct par_summary other = period_summary(discovery_top(d), &m->term[k]);
        if (other.hi < mine.lo || other.lo > mine.hi) continue;
        buf_printf(out, " That is the period of component %d: together they are one pattern.",
                   k + 1);
        return;
    }
}

static void describe_periodic(const struct discovery *d, const struct sterm *e, struct buf *out) {
    double span = d->data.span, shape = parameter_summary(discovery_top(d), e->par[SPAR_LPER]).mean;
    put_estimate(d, " It repeats every ", words_period, period_summary(discovery_top(d), e), span,
                 ".", out);
    describe_same_period(d, e, out);
    if (periods_seen(d, e) < SEEN)
        buf_printf(out, " The series holds only %.2g such periods: whether it goes on is not seen.",
                   periods_seen(d, e));
    if (e->par[SPAR_L] >= 0)
        estimate(d, " The pattern is alike within ", words_duration, e->par[SPAR_L], span,
                 " and may change beyond.", out);
    if (e->par[SPAR_LWITHIN] >= 0) return; /* that is what differs, and not the pattern */
    if (shape > 1.5)
        buf_puts(out, " Within a period it is close to a sine wave.");
    else if (shape < 0.35)
        buf_puts(out, " Within a period it has sharp features.");
}

/* Parts are in units of the values at the middle of a scale that is neither theirs nor that of
 * their logarithms: how far values go from one point of a part to another there. */
static double stretch(const struct discovery *d, double from, double to) {
    const struct smodel_data *m = &d->data;
    int tr = smodel_of(discovery_top(d))->s.transform;
    if (tr == TRANSFORM_NONE || smodel_multiplies(m, tr) || smodel_scale(m) == LINK_CHANCE)
        return to - from;
    double slope = link_slope(&m->link[tr], m->mean[tr]);
    return link_back(&m->link[tr], m->mean[tr] + to / slope) -
           link_back(&m->link[tr], m->mean[tr] + from / slope);
}

/* How far a part goes from its lowest to its highest point between two times; fewer than three
 * values between them tell nothing: NaN. */
static double swing(const struct discovery *d, const struct series_part *p, double from,
                    double to) {
    double least = INFINITY, greatest = -INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < d->series.n; i++) {
        if (!(d->dec.x[i] >= from && d->dec.x[i] <= to)) continue;
        least = fmin(least, p->mean[i]);
        greatest = fmax(greatest, p->mean[i]);
        n++;
    }
    return n < 3 ? NAN : stretch(d, least, greatest);
}

static void describe_size(const struct discovery *d, const struct sterm *e, struct buf *out) {
    /* the sd of sqrt(12)(t-c) is of order one to two */
    double f = has(e->mask, KERN_ROLE_TREND) ? 1.7 : 1;
    estimate(d, " Typical size: ", words_amount, e->par[SPAR_SD], f * value_sd(d), ".", out);
}

/* A pattern is known far better than the spread of those it might have been drawn with: how far it
 * goes within the series; of one that changes in its first and in its last period. */
static void describe_swing(const struct discovery *d, const struct sterm *e,
                           const struct series_part *p, struct buf *out) {
    double x0 = d->data.x0, x1 = x0 + d->data.span;
    double period = d->data.span * period_summary(discovery_top(d), e).mean;
    bool same = !(e->mask & ~factors_of(KERN_ROLE_PERIODIC));
    double slack = 1e-9 * d->data.span, first = swing(d, p, x0, x0 + period + slack),
           last = swing(d, p, x1 - period - slack, x1);
    if (!same && !(isfinite(first) && isfinite(last) && 2 * period <= d->data.span + slack)) {
        describe_size(d, e, out);
        return;
    }
    buf_puts(out, " Its highest point is ");
    words_amount(d, same ? swing(d, p, -INFINITY, INFINITY) : first, out);
    buf_puts(out, " above its lowest");
    if (!same) {
        buf_puts(out, " in the first period, ");
        words_amount(d, last, out);
        buf_puts(out, " in the last");
    }
    buf_putc(out, '.');
}

/* Do days of the week differ by their level, or by when it is high? The share of the former in the
 * variance of the part. */
static double between_days(const struct discovery *d, const struct series_part *p) {
    double sum[7] = {0}, number[7] = {0}, all = 0, square = 0, between = 0, n = (double)d->series.n;
    for (size_t i = 0; i < d->series.n; i++) {
        int day = (int)(floor(d->dec.x[i] + 1e-9) - 7 * floor((floor(d->dec.x[i] + 1e-9)) / 7));
        sum[day] += p->mean[i];
        number[day]++;
        all += p->mean[i] / n;
        square += p->mean[i] * p->mean[i] / n;
    }
    for (int k = 0; k < 7; k++)
        if (number[k] > 0) between += number[k] / n * pow(sum[k] / number[k] - all, 2);
    return between / (square - all * all);
}

static void describe_days(const struct discovery *d, const struct series_part *p, struct buf *out) {
    double level = between_days(d, p);
    buf_puts(out, level > 0.8   ? " Its days differ by their level."
                  : level > 0.4 ? " Its days differ by their level, and by when it is high."
                                : " Its days differ by when the level is high.");
}

static void describe_shift(const struct discovery *d, const struct dated *c, int n,
                           struct buf *out) {
    bool down = c->size.mean < 0, percent = down && words_log(d);
    double least = down ? -c->size.hi : c->size.lo, most = down ? -c->size.lo : c->size.hi;
    double v[] = {fabs(c->size.mean), fmax(least, 0), most};
    static const char *const before[] = {" by ", " (95%: ", " to "};
    if (n == 2)
        buf_printf(out, " The level is %s", down ? "lower" : "higher");
    else
        buf_printf(out, " The level shifts %s", down ? "down" : "up");
    for (int i = 0; i < 3; i++) {
        buf_puts(out, before[i]);
        if (percent)
            buf_printf(out, "%.3g%%", -100 * expm1(-v[i]));
        else
            words_amount(d, v[i], out);
    }
    buf_puts(out, n == 2 ? ") from " : ") at ");
    change_date(d, c->term, out);
    buf_putc(out, '.');
}

/* A trend that starts at a date: the slope from there on, which adds to that of the others. */
static void describe_bend(const struct discovery *d, const struct dated *c, struct buf *out) {
    const struct smodel *m = smodel_of(discovery_top(d));
    bool alone = true;
    for (int k = 0; k < m->n_terms; k++) alone &= k == c->term || !has_direction(m->term[k].mask);
    if (isnan(c->size.mean)) return;
    buf_puts(out, alone ? " From there on the level " : " From there on it ");
    words_rate(d, c->size.mean, (c->size.hi - c->size.mean) / 1.96, false, out);
    buf_puts(out, alone ? "." : ", which adds to the other trends.");
}

static void describe_course(const struct discovery *d, const struct sterm *e,
                            const struct series_part *p, struct buf *out) {
    struct dated c[DATED_OF_TERM];
    int n = dated_of(d, (int)(e - smodel_of(discovery_top(d))->term), false, c);
    bool directed = has_direction(e->mask & ~factors_of(KERN_ROLE_TREND));
    if (e->mask == factors_of(KERN_ROLE_TREND)) {
        describe_slope(d, p, out);
    } else if (has(e->mask, KERN_ROLE_WALK) && directed) {
        describe_drift(d, e, p, out);
    } else if (has(e->mask, KERN_ROLE_WALK)) {
        double per;
        buf_printf(out, " In one %s it moves by", words_rate_unit(d, &per));
        estimate(d, " about ", words_amount, e->par[SPAR_SD],
                 value_sd(d) * sqrt(per / d->data.span), ", in either direction.", out);
    } else if (n && !smodel_free(e->par[SPAR_TAU]) && p) {
        describe_shift(d, c, n, out);
    } else if (n) {
        put_estimate(d, directed ? " It starts at " : " The level shifts at ", words_date, c->t, 1,
                     ".", out);
        if (directed) describe_bend(d, c, out);
    } else {
        estimate(d, " It changes over a typical time of ", words_duration, e->par[SPAR_L],
                 d->data.span, ".", out);
        describe_size(d, e, out);
    }
}

/* Where at least half of the noise is that of how values are written. */
static void describe_rounding(const struct discovery *d, struct buf *out) {
    const struct smodel *m = smodel_of(discovery_top(d));
    double noise = smodel_value(m, 0, discovery_top(d)->prop.mode[0].z[0]);
    if (d->data.rounding[m->s.transform] < 0.5 * noise * noise) return;
    buf_printf(out, " Values are written in steps of %g: most of it is rounding.", d->data.step_y);
}

/* A part that varies more than the whole is cancelled by others: it explains nothing by itself. */
#define MORE_THAN_ALL 1.1

static void describe_share(const struct discovery *d, const struct series_part *p,
                           struct buf *out) {
    bool more = p->share > MORE_THAN_ALL;
    buf_puts(out, more ? " It varies more than the whole, because others partly cancel it: it has "
                       : " It explains ");
    if (more)
        words_number("", p->share, " times", out);
    else
        words_share(p->share, 0.1, out);
    buf_printf(out, "%s the variance%s.", more ? "" : " of",
               !smodel_hidden(smodel_of(discovery_top(d))) ? ""
               : d->data.truths                            ? " of the log odds"
                                                           : " of the rate's logarithm");
}

void describe_term(const struct discovery *d, int term, struct buf *out) {
    size_t at = out->len;
    describe_title(d, term, out);
    out->data[at] = ascii_upper(out->data[at]);
    if (term < 0 && d->data.truths) {
        buf_puts(out, ": each value is a 0 or a 1 by its chance.");
        return;
    }
    if (term < 0 && smodel_scale(&d->data) == LINK_RATE) {
        buf_puts(out, ": counts around their rate.");
        return;
    }
    if (term < 0) {
        estimate(d, " with a standard deviation of ", words_amount, 0, value_sd(d),
                 words_log(d) ? " of the value." : ".", out);
        describe_rounding(d, out);
        return;
    }
    const struct sterm *e = &smodel_of(discovery_top(d))->term[term];
    const struct series_part *p = discovery_part(d, term);
    buf_putc(out, '.');
    if (has(e->mask, KERN_ROLE_PERIODIC)) describe_periodic(d, e, out);
    if (p && e->par[SPAR_LWITHIN] >= 0) describe_days(d, p, out);
    if (p && has(e->mask, KERN_ROLE_PERIODIC) && e->gate == GATE_NONE)
        describe_swing(d, e, p, out);
    else if (has(e->mask, KERN_ROLE_PERIODIC) || has(e->mask, KERN_ROLE_WHITE))
        describe_size(d, e, out);
    else
        describe_course(d, e, p, out);
    describe_gate(d, term, out);
    if (p) describe_share(d, p, out);
    describe_presence(d, e, out);
}

/* ---- formula ---- */
/* What the variance of a factor on [0,1] is multiplied by for the user's x: (x - c)(x' - c) for a
 * line (a ramp), min(x, x') for a random walk, the integral of one for a drifting trend. */
static double time_unit(int f, double span) {
    static const struct {
        const char *name;
        int power;
    } powers[] = {{"LIN", 2}, {"RAMP", 2}, {"WIENER", 1}, {"IWIENER", 3}};
    for (size_t i = 0; i < COUNT_OF(powers); i++)
        if (!strcmp(factor_name(f), powers[i].name))
            return pow(factor_class(f)->motif.unit, 2) / pow(span, powers[i].power);
    return 1;
}

/* What is normal: the values on the scale on which they are modelled. */
static void formula_scale(const struct discovery *d, struct buf *out) {
    static const char *const words[] = {
        [LINK_LOG] = "log y", [LINK_RATE] = "log rate", [LINK_CHANCE] = "log odds of a 1"};
    const struct smodel_data *m = &d->data;
    int tr = smodel_of(discovery_top(d))->s.transform;
    if (tr != TRANSFORM_LOG)
        buf_puts(out, tr == TRANSFORM_NONE ? "y" : "sqrt y");
    else if (smodel_scale(m) == LINK_ODDS && m->low == 0)
        buf_printf(out, "log(y / (%.10g - y))", m->high);
    else if (smodel_scale(m) == LINK_ODDS)
        buf_printf(out, "log((y - %.10g) / (%.10g - y))", m->low, m->high);
    else if (smodel_scale(m) == LINK_ROOT && m->counts)
        buf_puts(out, "sqrt(y + 3/8)");
    else if (smodel_scale(m) == LINK_ROOT)
        buf_printf(out, "sqrt(y + %.10g)", m->link[TRANSFORM_LOG].offset);
    else if (smodel_scale(m) == LINK_ABOVE)
        buf_printf(out, "log(y - %.10g)", m->low);
    else if (smodel_scale(m) == LINK_BELOW)
        buf_printf(out, "-log(%.10g - y)", m->high);
    else
        buf_puts(out, words[smodel_scale(m)]);
}

/* scale: the standard deviation of what is normal. */
static void formula_term(const struct discovery *d, int term, double scale, struct buf *out) {
    const struct sterm *s = &smodel_of(discovery_top(d))->term[term];
    const struct evidence *e = discovery_top(d);
    double unit = 1, per; /* a line's slope and a walk's variance are per unit of time */
    (void)words_rate_unit(d, &per);
    for (int f = 0; f < FACTOR_MAX; f++)
        if (s->mask & FACTOR_BIT(f)) unit *= time_unit(f, d->data.span / per);
    words_number("", unit * pow(parameter_summary(e, s->par[SPAR_SD]).mean * scale, 2), "", out);
    for (int f = 0; f < FACTOR_MAX; f++) {
        if (!(s->mask & FACTOR_BIT(f))) continue;
        enum kern_role role = factor_role(f);
        int place = role == KERN_ROLE_TREND ? s->par[SPAR_C] : s->par[SPAR_TAU];
        buf_printf(out, " * %s", factor_name(f));
        if (role == KERN_ROLE_SMOOTH) {
            buf_puts(out, "(l=");
            words_duration(d, parameter_summary(e, s->par[SPAR_L]).mean * d->data.span, out);
            buf_putc(out, ')');
        }
        if (role == KERN_ROLE_PERIODIC) {
            buf_puts(out, "(p=");
            words_duration(d, parameter_summary(e, s->par[SPAR_PERIOD]).mean * d->data.span, out);
            words_number(", l=", parameter_summary(e, s->par[SPAR_LPER]).mean, ")", out);
        }
        if (role == KERN_ROLE_PERIODIC && s->par[SPAR_LWITHIN] >= 0) {
            buf_puts(out, " * PER(p=");
            words_duration(d, d->data.season[s->to - 1] * d->data.span, out);
            words_number(", l=", parameter_summary(e, s->par[SPAR_LWITHIN]).mean, ")", out);
        }
        if (role == KERN_ROLE_TREND || (role == KERN_ROLE_BREAK && place >= 0)) {
            buf_puts(out, role == KERN_ROLE_TREND ? "(c=" : s->to ? "(" : "(at=");
            if (role == KERN_ROLE_BREAK)
                change_date(d, term, out);
            else
                words_date(d, place < 0 ? 0.5 : parameter_summary(e, place).mean, out);
            buf_putc(out, ')');
        }
    }
    if (s->gate == GATE_NONE) return;
    buf_puts(out, " [");
    when(d, term, out);
    buf_putc(out, ']');
}

void describe_formula(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    bool rate = smodel_scale_hidden(&d->data);
    int tr = smodel_of(e)->s.transform;
    double scale = d->data.sd[tr], to_scale = scale / value_sd(d); /* effects are of values */
    formula_scale(d, out);
    buf_puts(out, " ~ GP(");
    if (tr == TRANSFORM_NONE)
        words_value(d, d->data.mean[tr], 3, out);
    else
        words_number("", d->data.mean[tr], "", out);
    buf_puts(out, ", ");
    int terms = smodel_of(e)->n_terms;
    for (int k = 0; k < terms; k++) {
        formula_term(d, k, scale, out);
        if (!rate || k + 1 < terms) buf_puts(out, " + ");
    }
    double per, noise = pow(parameter_summary(e, 0).mean * scale, 2);
    if (!rate)
        words_number("", noise, " * WN)", out);
    else if (d->data.truths)
        buf_puts(out, terms ? ")" : "0)");
    else
        words_number(terms ? "), y ~ negative binomial(rate, size "
                           : "0), y ~ negative binomial(rate, size ",
                     1 / noise, ")", out);
    for (int j = 0; j < d->series.reg.n; j++) {
        const struct regressors *r = &d->series.reg;
        double slope = to_scale * d->dec.effect[j].change / (2 * d->data.reg_sd[j]);
        if (r->smooth[j]) {
            buf_printf(out, " + s(%s)", r->name[j]);
            continue;
        }
        words_number(slope < 0 ? " - " : " + ", fabs(slope), " (", out);
        buf_puts(out, r->name[j]);
        words_number(" - ", d->data.reg_mean[j], ")", out);
    }
    buf_printf(out, ", time in %ss", words_rate_unit(d, &per));
}
