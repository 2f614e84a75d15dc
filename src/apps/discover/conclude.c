/* SPDX-License-Identifier: Apache-2.0
 *
 * What follows from the whole: the summary, the course of the level, how the variance is shared,
 * and what the conclusion hangs on.
 */
#include "base/mem.h"
#include "apps/discover/words.h"
#include "gp/kernel/kern_class.h"
#include <math.h>
#include <string.h>

/* ---- the summary ---- */

/* The terms' noun phrases; equal phrases are distinguished by their time. */
static void list_terms(const struct discovery *d, struct buf *out) {
    int terms = smodel_of(discovery_top(d))->n_terms;
    struct buf name[STRUCTURE_MAX_TERMS];
    for (int k = 0; k < terms; k++) {
        buf_init(&name[k]);
        describe_title(d, k, &name[k]);
    }
    for (int k = 0; k < terms; k++) {
        bool alike = false;
        for (int j = 0; j < terms; j++) alike |= j != k && !strcmp(name[j].data, name[k].data);
        buf_puts(out, name[k].data);
        if (alike) describe_time(d, k, out);
        buf_puts(out, k + 1 < terms ? ", " : terms == 1 ? " and " : ", and ");
    }
    for (int k = 0; k < terms; k++) buf_release(&name[k]);
    describe_headline(d, -1, out);
}

/* How often a structure has a term, up to `end`. */
static size_t term_count(const char *structure, const char *end, const char *term, size_t len) {
    const char *at = structure, *t;
    size_t n = 0, k;
    while ((t = structure_next_term(&at, &k)) && t < end) n += k == len && !memcmp(t, term, k);
    return n;
}

/* The terms of one structure that another lacks or has less often: "WIENER", "LIN and another PER",
 * or nothing. */
static void only_in(const char *one, const char *other, const char *again, struct buf *out) {
    const char *at = one, *term;
    size_t len, n = 0;
    while ((term = structure_next_term(&at, &len))) {
        size_t there = term_count(other, other + strlen(other), term, len);
        if (term_count(one, term, term, len) < there) continue;
        buf_printf(out, "%s%s%.*s", n++ ? " and " : "", there ? again : "", (int)len, term);
    }
}

static bool is_tie(const struct post_entry *a, const struct post_entry *b) {
    return b->p > 0.75 * a->p || a->p - b->p <= a->error + b->error;
}

/* The runner-up, where it is one: what it has instead. */
static void describe_runner_up(const struct discovery *d, struct buf *out) {
    const struct post_table *t = &d->post.structures;
    if (t->n < 2 || t->at[1].p < 0.1) return;
    const struct post_entry *a = &t->at[0], *b = &t->at[1];
    struct buf more = BUF_INIT, less = BUF_INIT;
    only_in(b->text, a->text, "another ", &more);
    only_in(a->text, b->text, more.len ? "another " : "further ", &less);
    bool tie = is_tie(a, b);
    buf_printf(out, tie ? " That is a tie with %s (%.3f)" : " The next is %s (%.3f)", b->text,
               b->p);
    if (more.len && less.len)
        buf_printf(out, ", which has %s instead of %s", more.data, less.data);
    else if (more.len || less.len)
        buf_printf(out, ", which has %s %s", more.len ? "also" : "no",
                   more.len ? more.data : less.data);
    buf_puts(out, tie ? ": the data do not decide between them." : ".");
    buf_release(&more);
    buf_release(&less);
}

/* Roots of counts, log odds of percentages, distances from an end. */
static void describe_scale(const struct discovery *d, bool other, double p, struct buf *out) {
    const struct smodel_data *m = &d->data;
    const char *what = smodel_scale(m) == LINK_ROOT && m->counts ? "counts"
                       : !strcmp(d->series.style.unit, "%")      ? "percentages"
                                                                 : "values";
    if (!m->y[TRANSFORM_LOG]) return;
    if (smodel_scale(m) >= LINK_ABOVE)
        buf_printf(out, " Logarithms of the distance from %.10g",
                   smodel_scale(m) == LINK_ABOVE ? m->low : m->high);
    else
        buf_printf(out, " %s of the %s", smodel_scale(m) == LINK_ROOT ? "Square roots" : "Log odds",
                   what);
    buf_printf(out, " %s than the %s themselves (probability %.2f)",
               other ? "are modelled rather" : "fit worse", what, other ? p : 1 - p);
    if (other && smodel_scale(m) == LINK_ROOT)
        buf_puts(out, ": they scatter the more the higher they are");
    else if (other && smodel_scale(m) == LINK_ODDS)
        buf_printf(out, ": they scatter the less the closer to %.10g or %.10g they are", m->low,
                   m->high);
    else if (other)
        buf_puts(out, ": values scatter the less the closer to it they are");
    buf_puts(out, other ? "; sizes are given for their middle." : ".");
}

/* Few counts: what they scatter by beside what Poisson counts do. */
static void describe_rate(const struct discovery *d, struct buf *out) {
    double unit = d->data.sd[TRANSFORM_LOG], mean = d->data.mean[0];
    struct par_summary s = parameter_summary(discovery_top(d), 0);
    double more = unit * s.mean, lo = unit * s.lo, hi = unit * s.hi;
    words_number(" The values are counts, ", mean,
                 " on average: their rate is modelled, whose effects multiply. Around it they "
                 "scatter as ",
                 out);
    if (mean * hi * hi < 0.5) {
        buf_puts(out, "Poisson counts do.");
        return;
    }
    bool sure = mean * lo * lo > 0.1;
    buf_puts(out, sure ? "negative binomial counts do, more than Poisson counts: the rate itself "
                         "varies"
                       : "Poisson counts do or more (negative binomial): the rate itself may vary");
    words_number(" by ", 100 * more, "% ", out);
    words_number("(95%: ", 100 * lo, " to ", out);
    words_number("", 100 * hi, ") from one to the next.", out);
}

static void describe_chance(const struct discovery *d, struct buf *out) {
    buf_printf(out, " The values are 0 or 1, %.3g%% of them 1: ", 100 * d->data.mean[0]);
    buf_puts(out, smodel_scale(&d->data) == LINK_CHANCE
                      ? "the chance of a 1 is modelled, by its log odds; slopes are given for a "
                        "chance in the middle."
                      : "the chance of a 1 is modelled, as the mean of the values.");
}

/* ", beside the effects of price and promo": of the columns that are likely to have one. */
static void list_effects(const struct discovery *d, struct buf *out) {
    const struct regressors *r = &d->series.reg;
    int n = 0, last = -1, named = 0;
    for (int j = 0; j < r->n; j++)
        if (d->dec.effect[j].p > 0.5) n++, last = j;
    if (!n) return;
    buf_printf(out, ", beside the effect%s of ", n == 1 ? "" : "s");
    for (int j = 0; j <= last; j++) {
        if (!(d->dec.effect[j].p > 0.5)) continue;
        buf_printf(out, "%s%s", !named ? "" : j == last ? " and " : ", ", r->name[j]);
        named++;
    }
}

/* Positive values: as they are, their square roots or their logarithms. */
static void describe_power(const struct discovery *d, struct buf *out) {
    const double *p = d->post.p_group, clear = 0.67, little = 0.05;
    double logs = p[TRANSFORM_LOG], roots = p[TRANSFORM_POWER];
    if (logs >= clear || (roots < little && logs <= 1 - clear))
        buf_printf(out, " The logarithm of the values %s (probability %.2f)%s.",
                   logs >= clear ? "is modelled rather than the values themselves"
                                 : "fits worse than the values themselves",
                   logs >= clear ? logs : 1 - logs, logs >= clear ? ": effects multiply" : "");
    else if (roots < little)
        buf_printf(out,
                   " Whether effects add or multiply is open: the logarithm of the values fits "
                   "about as well as the values (probability %.2f); here %s.",
                   logs, words_log(d) ? "it is modelled" : "the values are modelled");
    else if (roots >= clear)
        buf_printf(out,
                   " Square roots of the values are modelled rather than the values themselves "
                   "(probability %.2f): effects and scatter grow with the level, but less than in "
                   "proportion; sizes are given for the middle.",
                   roots);
    else
        buf_printf(out,
                   " %s: the values themselves have probability %.2f, their square roots %.2f, "
                   "their logarithms %.2f; here %s modelled.",
                   logs <= 1 - clear && p[0] >= clear ? "Effects add rather than multiply"
                                                      : "Whether effects add or multiply is open",
                   p[0], roots, logs,
                   words_log(d) ? "the logarithms are"
                   : smodel_of(discovery_top(d))->s.transform == TRANSFORM_POWER
                       ? "the roots are"
                       : "the values are");
}

/* Values that differ by little of their size. */
static void describe_linear(const struct discovery *d, struct buf *out) {
    if (smodel_scale(&d->data) == LINK_LOG)
        buf_puts(out, " The values differ by so little of their size that adding and multiplying "
                      "are the same here.");
}

void describe_summary(const struct discovery *d, struct buf *out) {
    static const char *const words[] = {"no", "one", "two", "three", "four", "five", "six"};
    const struct post_entry *s = &d->post.structures.at[0];
    int n = smodel_of(discovery_top(d))->n_terms + 1;
    buf_printf(out, "The search found %s additive component%s: ", words[n < 7 ? n : 6],
               n == 1 ? "" : "s");
    list_terms(d, out);
    list_effects(d, out);
    buf_printf(out, ". This structure, %s, has probability %.3f (error %.3f).", s->text, s->p,
               s->error);
    describe_runner_up(d, out);
    double p = d->post.p_group[TRANSFORM_LOG];
    if (d->data.truths)
        describe_chance(d, out);
    else if (smodel_scale(&d->data) == LINK_RATE)
        describe_rate(d, out);
    else if (d->data.linear && !words_log(d))
        describe_linear(d, out);
    else if (smodel_scale(&d->data) != LINK_LOG)
        describe_scale(d, p > 0.5, p, out);
    else if (d->data.y[TRANSFORM_LOG])
        describe_power(d, out);
}

/* ---- the level ---- */

/* The length-scale of term k, where it is one that passes; else 0. */
static double passing(const struct discovery *d, int k) {
    const struct evidence *top = discovery_top(d);
    int par = smodel_of(top)->term[k].par[SPAR_L];
    double l = par >= 0 ? parameter_summary(top, par).mean : 0;
    return smodel_passes(smodel_of(top), k, l) ? l : 0;
}

static bool level_moves(const struct discovery *d) {
    const struct smodel *m = smodel_of(discovery_top(d));
    unsigned other = factors_of(KERN_ROLE_PERIODIC) | factors_of(KERN_ROLE_WHITE);
    for (int k = 0; k < m->n_terms; k++)
        if (!(m->term[k].mask & other) && !(passing(d, k) > 0)) return true;
    return false;
}

static bool repeats(const struct discovery *d) {
    const struct smodel *m = smodel_of(discovery_top(d));
    for (int k = 0; k < m->n_terms; k++)
        if (m->term[k].mask & factors_of(KERN_ROLE_PERIODIC)) return true;
    return false;
}

static double level_value(const struct discovery *d, int i) {
    double v = d->dec.level.mean[i];
    return smodel_possible(&d->data, words_log(d) ? exp(v) : v);
}

/* "(without what repeats, without what comes and goes within 3 days, and without noise)" */
static void level_without(const struct discovery *d, struct buf *out) {
    double longest = 0;
    for (int k = 0; k < smodel_of(discovery_top(d))->n_terms; k++)
        longest = fmax(longest, passing(d, k));
    const char *more = longest > 0 ? ", " : " and ";
    buf_puts(out, " (without ");
    if (repeats(d)) buf_printf(out, "what repeats%swithout ", more);
    if (longest > 0) {
        buf_puts(out, "what comes and goes within about ");
        words_duration(d, longest * d->data.span, out);
        buf_printf(out, "%s and without ", repeats(d) ? "," : "");
    }
    buf_printf(out, "noise%s) ", d->series.reg.n ? ", other columns at their means" : "");
}

void describe_level(const struct discovery *d, struct buf *out) {
    const struct series_level *l = &d->dec.level;
    struct level_rate all = level_rate(l, 0, LEVEL_POINTS - 1);
    struct level_rate late = level_rate(l, LEVEL_POINTS - 2, LEVEL_POINTS - 1);
    buf_puts(out, "The level");
    level_without(d, out);
    if (!level_moves(d)) {
        buf_puts(out, "stays the same throughout, at ");
        words_value(d, level_value(d, 0), 3, out);
        buf_putc(out, '.');
        return;
    }
    buf_puts(out, "went from ");
    words_value(d, level_value(d, 0), 3, out);
    buf_puts(out, " at the start to ");
    words_value(d, level_value(d, LEVEL_POINTS - 1), 3, out);
    buf_puts(out, " at the end: over the whole series it ");
    words_rate(d, all.slope, all.sd, true, out);
    buf_puts(out, "; since ");
    series_print_rounded(&d->series, l->x[LEVEL_POINTS - 2], 6, out);
    buf_puts(out, " it ");
    words_rate(d, late.slope, late.sd, true, out);
    buf_putc(out, '.');
}

/* ---- effects of other columns ---- */

/* A change of the values on the scale of the transform: in units, or in percent. */
static void put_change(const struct discovery *d, double lo, double mid, double hi,
                       struct buf *out) {
    bool logs = words_log(d);
    const char *unit = logs ? "%" : "";
    words_number("", logs ? 100 * expm1(mid) : mid, unit, out);
    words_number(" (95%: ", logs ? 100 * expm1(lo) : lo, "", out);
    words_number(" to ", logs ? 100 * expm1(hi) : hi, ")", out);
}

void describe_effect(const struct discovery *d, int j, struct buf *out) {
    const struct effect *e = &d->dec.effect[j];
    const struct regressors *r = &d->series.reg;
    double sd = d->data.reg_sd[j];
    double per = r->smooth[j] ? 1 : 1 / (2 * sd); /* a line: for one more of it */
    if (r->listed[j])
        buf_printf(out, "Each day of %s", r->name[j]);
    else
        buf_printf(out, "%s has a %s effect: ", r->name[j], r->smooth[j] ? "smooth" : "linear");
    if (r->listed[j]) {
        buf_puts(out, " changes the value by ");
    } else if (r->smooth[j]) {
        words_number("from ", d->data.reg_mean[j] - sd, "", out);
        words_number(" to ", d->data.reg_mean[j] + sd, " of it the value changes by ", out);
    } else {
        buf_puts(out, "one more of it changes the value by ");
    }
    put_change(d, per * e->lo, per * e->change, per * e->hi, out);
    buf_puts(out, ", all else equal. That it has an effect is ");
    words_probability(e->p, out);
    buf_putc(out, '.');
}

/* The next times at which column j of the list is not 0: "Easter (2017-04-14, 2017-04-17, ...)". */
#define DAYS_NAMED 3

static void put_known(const struct discovery *d, int j, struct buf *out) {
    const struct series *s = &d->series;
    const struct regressors *r = &s->reg;
    size_t named = 0, k = (size_t)r->n;
    for (size_t i = 0; i < r->rows && named <= DAYS_NAMED; i++) {
        if (r->x[i] <= s->x[s->n - 1] || !(r->z[i * k + (size_t)j] > 0)) continue;
        buf_puts(out, named ? ", " : " (");
        if (named++ < DAYS_NAMED)
            series_print_time(s, r->x[i], out);
        else
            buf_puts(out, "...");
    }
    buf_puts(out, named ? ")" : " (none)");
}

static void put_list(const struct discovery *d, unsigned listed, struct buf *out) {
    const struct series *s = &d->series;
    const struct regressors *r = &s->reg;
    buf_puts(out, "Holidays to come are those of the list: ");
    for (int j = 0, n = 0; j < r->n; j++) {
        if (!(listed >> j & 1)) continue;
        buf_printf(out, "%s%s", n++ ? ", " : "", r->name[j]);
        put_known(d, j, out);
    }
    size_t last = r->rows - 1, k = (size_t)r->n;
    int first = __builtin_ctz(listed);
    while (last && isnan(r->z[last * k + (size_t)first])) last--;
    buf_puts(out, "; it goes to ");
    series_print_time(s, r->x[last], out);
    buf_putc(out, '.');
}

void describe_future(const struct discovery *d, struct buf *out) {
    const struct regressors *r = &d->series.reg;
    unsigned listed = 0, all = (1U << r->n) - 1;
    for (int j = 0; j < r->n; j++) listed |= (unsigned)r->listed[j] << j;
    if (listed) put_list(d, listed, out);
    if (listed == all) return;
    buf_puts(out, listed ? " " : "");
    buf_puts(out, "Forecasts need values to come of ");
    regressors_list(r, all & ~listed, out);
    buf_puts(out, " (--at-file of forecast); in this report they stay as they were last.");
}

/* ---- values out of line ---- */

void describe_outliers(const struct discovery *d, struct buf *out) {
    size_t n = d->out.n;
    if (!n) return;
    if (n == 1)
        buf_puts(out, "One value is out of line and was left out: ");
    else
        buf_printf(out, "%zu values are out of line and were left out: ", n);
    for (size_t i = 0; i < n; i++) {
        const struct outlier *o = &d->out.at[i];
        buf_puts(out, i ? "; " : "");
        series_print_rounded(&d->series, o->x, 8, out);
        buf_puts(out, ", ");
        words_value(d, o->y, 3, out);
        buf_puts(out, " where ");
        words_value(d, o->expected, 3, out);
        buf_printf(out, " was expected (%.0f standard deviations %s)", fabs(o->sds),
                   o->y < o->expected ? "below" : "above");
    }
    buf_puts(out, ".");
}

/* ---- shares of the variance ---- */

/* "PER's", with its time where another term has the name: "PER's (of every week)". */
static void share_name(const struct discovery *d, int term, struct buf *out) {
    const struct structure *s = &smodel_of(discovery_top(d))->s;
    bool alike = false;
    for (int j = 0; term >= 0 && j < s->n; j++)
        alike |= j != term && s->t[j].mask == s->t[term].mask;
    describe_name(d, term, out);
    buf_puts(out, "'s");
    if (!alike) return;
    struct buf time = BUF_INIT;
    describe_time(d, term, &time);
    if (time.len) buf_printf(out, " (%s)", time.data + 1);
    buf_release(&time);
}

/* More than so many percent too much: shares tell nothing, but that the parts are larger than their
 * sum. */
#define CANCELLED 100

/* var(y) = sum of var(part) + var(rest) + 2 sum of covariances, so that the last makes up what the
 * shares lack. */
void describe_shares(const struct discovery *d, struct buf *out) {
    double sum = d->dec.rest;
    int n = 0;
    bool hidden = smodel_hidden(smodel_of(discovery_top(d)));
    const char *whose = !hidden          ? "of the values"
                        : d->data.truths ? "of the log odds"
                                         : "of the rate's logarithm";
    if (hidden && d->dec.n_parts == 1) {
        buf_puts(out, "All of the variance is left as noise.");
        return;
    }
    for (int k = 0; k < d->dec.n_parts; k++)
        if (d->dec.part[k].term != SMODEL_CONSTANT) sum += d->dec.part[k].share;
    double both = 100 * (1 - sum);
    if (both < -CANCELLED) {
        buf_printf(out,
                   "Components mostly cancel each other: together they have %.3g times the "
                   "variance %s, so that shares of it say little.",
                   sum, whose);
        return;
    }
    buf_printf(out, "Of the variance %s%s", hidden ? whose : "", hidden ? " " : "");
    for (int k = 0; k < d->dec.n_parts; k++) {
        const struct series_part *p = &d->dec.part[k];
        if (p->term == SMODEL_CONSTANT) continue;
        buf_puts(out, n++ ? ", " : "");
        words_share(p->share, 0.01, out);
        buf_puts(out, " is ");
        share_name(d, p->term, out);
    }
    if (!hidden) {
        buf_puts(out, n ? ", " : "");
        words_share(d->dec.rest, 0.01, out);
        buf_puts(out, " is left as noise");
    }
    if (fabs(both) < 1.5)
        buf_puts(out, "; the shares add up.");
    else if (both > 0 && n == 1 && !hidden)
        buf_printf(out, "; the other %.0f%% may be either's.", both);
    else if (both > 0)
        buf_printf(out,
                   "; the other %.0f%% belong to no single one, because components rise and fall "
                   "together.",
                   both);
    else
        buf_printf(out, "; that is %.0f%% too much, because components partly cancel each other.",
                   -both);
}

/* ---- what it hangs on ---- */

static void open_item(struct buf *out, size_t *n, const char *what, double p) {
    buf_printf(out, "%s%s (%.0f%%)", (*n)++ ? ", " : "Open: whether there is ", what, 100 * p);
}

/* Questions with an uncertain answer, and what the checks found: where more or other data would
 * change what is said above. */
void describe_open(const struct discovery *d, struct buf *out) {
    static const struct {
        const char *motif, *words;
    } asked[] = {{"trend", "a trend"},
                 {"recurring_pattern", "a recurring pattern"},
                 {"changing_pattern", "a pattern that changes"},
                 {"smooth", "a smooth variation"},
                 {"random_walk", "a random walk"},
                 {"heteroskedastic_noise", "noise that grows or shrinks"},
                 {"change", "a change at a date"}};
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        double p = posterior_entry(&d->post.motifs, asked[i].motif);
        if (p > 0.1 && p < 0.9) open_item(out, &n, asked[i].words, p);
    }
    double other = d->post.p_group[TRANSFORM_LOG];
    if (d->data.y[TRANSFORM_LOG] && other > 0.1 && other < 0.9)
        open_item(out, &n,
                  smodel_scale(&d->data) != LINK_LOG
                      ? "scatter that depends on the level"
                      : "multiplication rather than addition of effects",
                  other);
    if (n)
        buf_puts(out, ". Data that decide these would change the conclusion and widen or narrow "
                      "the forecast.");
    else
        buf_puts(out, "No question about the kind of components is open: every one above is at "
                      "least 90% or at most 10% probable, under these kernels.");
    n = 0;
    for (int k = 0; k < DISCOVERY_CHECKS; k++)
        if (d->check[k].name && d->check[k].p < 0.01)
            buf_printf(out, "%s%s (p = %.3f)", n++ ? "; and " : " But ", d->check[k].text,
                       d->check[k].p);
    if (n) buf_puts(out, ": the model misses that, and a kernel for it may change what is said.");
    if (!d->post.settled) buf_puts(out, " The search has not settled: its errors are too small.");
}
