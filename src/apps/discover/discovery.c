/* SPDX-License-Identifier: Apache-2.0
 *
 * The run: read, standardise, search, chains, decomposition, forecast, checks.
 */
#include "apps/discover/discovery.h"
#include "apps/discover/journal.h"
#include "apps/discover/rounding.h"
#include "apps/discover/shots.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

/* Of the zone in which times are written; rounding does not lead to the day before. */
static int day_of_week(const struct series *s, double x) {
    double day = floor(x + s->form.zone / 1440.0 + 1e-6);
    return (int)(day - 7 * floor(day / 7));
}

/* The weekdays with values, if a daily series of at least four weeks leaves some out (trading
 * days); 0 otherwise. */
static unsigned days_of_week(const struct series *s, double step) {
    unsigned days = 0;
    if (strcmp(s->unit, "day") || s->form.kind == TIME_WEEK || fabs(step - 1) > 1e-6) return 0;
    for (size_t i = 0; i < s->n; i++) days |= 1U << day_of_week(s, s->x[i]);
    return s->n && s->x[s->n - 1] - s->x[0] >= 28 && days != 0x7F ? days : 0;
}

void discovery_future(const struct discovery *d, size_t h, double *x) {
    const struct smodel_data *m = &d->data;
    double end = m->x0 + m->span * smodel_last(m), step = (m->regular ? m->dt : m->step) * m->span;
    bool decimal = d->series.form.kind == TIME_YEAR && m->regular; /* they keep their own phase */
    bool months = !decimal && !strcmp(d->series.unit, "year") && fabs(step * 12 - 1) < 0.05;
    unsigned days = days_of_week(&d->series, step);
    double k = 0;
    for (size_t i = 0; i < h;) {
        k++;
        x[i] = months ? floor((end + k / 12) * 12 + 0.5) / 12 : end + step * k;
        if (!days || days >> day_of_week(&d->series, x[i]) & 1) i++;
    }
}

/* The number in a text, NaN if it is not one; without a text `other`. */
static double end_or(const char *text, double other) {
    double v = NAN;
    return !text ? other : number_parse(text, strlen(text), &v) ? v : NAN;
}

/* What values can be: as the user says; percentages between 0 and 100 are shares of a whole (with
 * zeros, if one is 100: rates of growth reach 0, too), values of which each is 0 or 1 are nothing
 * else, and ratings end where their scale does.
 */
static void ends(const struct discovery *d, double *low, double *high) {
    const struct series *s = &d->series;
    bool share = !strcmp(s->style.unit, "%"), positive = true, full = false, truths = true;
    for (size_t i = 0; i < s->n; i++) {
        share &= s->y[i] >= 0 && s->y[i] <= 100;
        positive &= s->y[i] > 0;
        full |= s->y[i] == 100;
        truths &= s->y[i] == 0 || s->y[i] == 1;
    }
    share &= positive || full;
    bool floor = share || (truths && !d->opt.series.most);
    bool cap = share || (truths && !d->opt.series.least);
    double least = floor ? 0 : -INFINITY, most = !cap ? INFINITY : truths ? 1 : 100;
    if (!d->opt.series.least && !d->opt.series.most)
        (void)rounding_rating(s->n, s->y, s->value_name, &least, &most);
    *low = end_or(d->opt.series.least, least);
    *high = end_or(d->opt.series.most, most);
}

/* Values beyond the ends that the user names are an error of one or the other. */
static enum gpm_status check_ends(const struct discovery *d, struct buf *err) {
    const struct series *s = &d->series;
    double low, high;
    ends(d, &low, &high);
    if (!(low < high))
        return buf_fail(err, GPM_E_ARG,
                        "what values can be is two numbers, the smaller one first, not '%s' and "
                        "'%s'",
                        d->opt.series.least ? d->opt.series.least : "anything",
                        d->opt.series.most ? d->opt.series.most : "anything");
    for (size_t i = 0; i < s->n; i++) {
        if (s->y[i] >= low && s->y[i] <= high) continue;
        bool above = s->y[i] > high;
        buf_printf(err, "%s: %.10g at ", s->name, s->y[i]);
        series_print_time(s, s->x[i], err);
        buf_printf(err, " lies %s %.10g, the %s value that there is to be",
                   above ? "above" : "below", above ? high : low, above ? "greatest" : "least");
        return GPM_E_ARG;
    }
    return GPM_OK;
}

static enum gpm_status make_data(struct discovery *d) {
    const struct series *s = &d->series;
    double *x = NEW_ARRAY(double, 2 * s->n + 1), *y = x + s->n, low, high;
    size_t n = outliers_without(&d->out, s, x, y);
    smodel_data_release(&d->data);
    ends(d, &low, &high);
    enum gpm_status st = smodel_data_init(&d->data, n, x, y, low, high);
    d->data.shared = d->opt.shared;
    if (st == GPM_OK) smodel_data_rounded(&d->data, rounding_step(s->n, s->y));
    if (st == GPM_OK && !d->data.truths) d->data.level_y = rounding_levels(s->n, s->y);
    if (st == GPM_OK && s->reg.n) smodel_data_regressors(&d->data, &s->reg);
    mem_free(x);
    return st;
}

/* All values but a few are the same: no series, but a finding. */
static void explain_constant(const struct discovery *d, struct buf *err) {
    const struct series *s = &d->series;
    buf_printf(err, "%s: all values are %g but", s->name, s->y[0]);
    for (size_t i = 0; i < d->out.n; i++) {
        buf_printf(err, "%s %g at ", i ? "," : "", d->out.at[i].y);
        series_print_time(s, d->out.at[i].x, err);
    }
    buf_puts(err, ": there is no structure to look for");
}

enum gpm_status discovery_prepare(struct discovery *d, struct buf *err) {
    const struct series *s = &d->series;
    enum gpm_status st = check_ends(d, err);
    if (st != GPM_OK) return st;
    st = make_data(d);
    if (st == GPM_E_ARG && d->out.n) {
        explain_constant(d, err);
        return st;
    }
    if (st == GPM_E_NOMEM) buf_printf(err, "%s: not enough memory for %zu values", s->name, s->n);
    if (st == GPM_E_ARG)
        buf_printf(err,
                   "%s: the values vary too little, or too much for double precision, to look for "
                   "structure",
                   s->name);
    for (int i = 0; i < s->n_season && st == GPM_OK; i++)
        smodel_data_season(&d->data, s->season[i] / d->data.span);
    if (st == GPM_OK) outliers_spread(&d->out, &d->data);
    return st;
}

static void search_settings(const struct discovery *d, struct search_options *o,
                            struct grammar *g) {
    grammar_init(g, d->opt.factors, d->opt.change, d->opt.logs != LOG_NEVER);
    if (precision_of(d->opt.precision).cheap && !d->opt.factors) grammar_cheap(g);
    g->only_logs = d->opt.logs == LOG_ALWAYS;
    if (!d->opt.change && shots_find(d->data.n, d->data.values, NULL).side)
        g->changes = g->pulses = false;
    *o = (struct search_options){
        .seed = d->opt.seed,
        .threads = d->opt.threads,
        .seconds = d->opt.seconds,
        .draws = d->opt.draws,
        .stop = d->opt.stop,
        .finish = d->opt.finish,
        .journal = d->opt.journal,
        .precision = d->opt.precision,
    };
}

#define PART_SHARE 0.4 /* of the time allowed, for a search on a part of the data */

/* What the search finds on `part` of the data, to be evaluated on all of them; only the choice of
 * structures is kept. hints: of all of the data; NULL: its own. */
static enum gpm_status search_part(const struct discovery *d, const struct smodel_data *part,
                                   const struct series_space *hints, struct search *coarse) {
    struct search_options o;
    struct grammar g;
    search_settings(d, &o, &g);
    o.draws = (size_t)precision_of(d->opt.precision).first_draws;
    o.seconds *= PART_SHARE;
    enum gpm_status st = series_search_init(coarse, part, &g, &o);
    if (st != GPM_OK) return st;
    struct series_space *few = series_space_of(coarse);
    if (hints) memcpy(few->hints, hints->hints, sizeof few->hints);
    double start = clock_seconds();
    st = search_run(coarse);
    coarse->opt.seconds = d->opt.seconds; /* the rest of the time is for all of them */
    search_limit(coarse, start);
    if (st != GPM_OK) search_release(coarse);
    return st;
}

/* Structures that a search has from another one. */
static size_t most_taken(const struct discovery *d) {
    double most = precision_of(d->opt.precision).taken;
    return (size_t)(d->data.n > 800 ? ceil(0.6 * most) : most);
}

/* Many values: the search looks at k of them over the whole span; with a filter's likelihood for
 * whatever there is (smodel_gp.c) it then goes on with all. */
static enum gpm_status search_coarse(struct discovery *d, size_t k, bool further) {
    struct smodel_data part;
    struct search coarse;
    enum gpm_status st = smodel_data_subset(&d->data, k, &part);
    if (st != GPM_OK) return st;
    st = search_part(d, &part, series_space_of(&d->search), &coarse);
    if (st == GPM_OK) {
        st = series_search_refine(&d->search, &coarse, most_taken(d), further);
        search_release(&coarse);
    }
    d->subset = further ? 0 : k;
    smodel_data_release(&part);
    return st;
}

/* Do the counts scatter around the best structure by about as much as Poisson counts or more? Whole
 * numbers that follow a course closely are no counts of random events. */
#define SCATTER_LEAST 0.5

static bool scatters(const struct search *s) {
    const struct evidence *best = NULL;
    struct gp *g;
    for (size_t i = 0; i < s->n; i++)
        if (evidence_fitted(s->at[i]) && (!best || evidence_total(s->at[i]) > evidence_total(best)))
            best = s->at[i];
    if (!best) return false;
    const struct smodel *m = smodel_of(best);
    const struct smodel_data *d = m->data;
    const double *z = best->prop.mode[0].z;
    double *mean = NEW_ARRAY(double, d->n), sum = 0, rate = 0;
    int tr = m->s.transform;
    enum gpm_status st = smodel_condition(m, series_space_of(s)->work[0], z, &g);
    if (st == GPM_OK) st = smodel_part(m, z, g, SMODEL_SIGNAL, d->t, d->n, mean, NULL);
    for (size_t i = 0; i < d->n && st == GPM_OK; i++) {
        double fit = link_back(&d->link[tr], d->mean[tr] + d->sd[tr] * mean[i]);
        double off = d->values[i] - fit;
        sum += off * off;
        rate += fmax(fit, 0);
    }
    mem_free(mean);
    return st == GPM_OK && sum >= SCATTER_LEAST * rate;
}

/* Few counts are searched on the scales of values and roots. *counts: they are such, and what was
 * found is evaluated as counts around a rate. */
static enum gpm_status search_rates(struct discovery *d, bool *counts) {
    struct search_options o;
    struct grammar g;
    struct smodel_data plain;
    struct search coarse;
    *counts = false;
    enum gpm_status st = smodel_data_subset(&d->data, d->data.n, &plain);
    if (st != GPM_OK) return st;
    st = search_part(d, &plain, NULL, &coarse);
    if (st == GPM_OK) {
        *counts = plain.truths || scatters(&coarse);
        search_settings(d, &o, &g);
        if (*counts) {
            smodel_data_rates(&d->data);
            st = series_search_init(&d->search, &d->data, &g, &o);
            if (st == GPM_OK) st = series_search_refine(&d->search, &coarse, 8, false);
        }
        search_release(&coarse);
    }
    smodel_data_release(&plain);
    return st;
}

/* ---- values under suspicion ---- */
struct suspects {
    struct discovery *d;
    struct outliers out; /* those that stay out */
    bool back;           /* others belong to the series */
};

static enum gpm_status judge(struct suspects *s, const struct posterior *p) {
    struct smodel_data *data = &s->d->data;
    double levels = data->level_y, wild = data->wild;
    s->out = s->d->out;
    data->wild = 0;
    data->level_y = 0; /* how far out a value is has no steps */
    enum gpm_status st = outliers_judge(&s->out, p, &s->back);
    data->level_y = levels;
    data->wild = wild;
    return st;
}

/* A structure that lay farther behind when other values were left out is given up at once. What a
 * value says for a structure with more noise: LOST, or as much as k values sds_i standard
 * deviations out make the likelihood of n values smaller whose noise grows with them, n/2 log(1 +
 * sum sds_i^2/n).
 */
#define LOST 14.0

static void may_gain(struct discovery *d, const struct search *first) {
    struct series_space *s = series_space_of(&d->search);
    double n = (double)d->data.n, was = (double)series_space_of(first)->values, square = 0;
    for (size_t i = 0; i < d->out.n && n < was; i++) square += pow(d->out.at[i].sds, 2);
    s->before = first;
    s->may_gain = fmax(LOST * fmax(fabs(n - was), 1), 0.5 * n * log1p(square / n));
}

/* first: what was found with other values left out; NULL: nothing. */
static enum gpm_status search_once(struct discovery *d, const struct search *first,
                                   struct buf *err) {
    struct search_options o;
    struct grammar g;
    search_settings(d, &o, &g);
    struct precision how = precision_of(d->opt.precision);
    bool part = (double)d->data.n > how.values;
    bool further = !part && d->data.n > SMODEL_LONG && smodel_filters(&d->data);
    bool coarse = part || further || (d->data.n > 450 && !smodel_fast_grid(&d->data));
    size_t few = part ? (size_t)how.values : further ? 200 : 350;
    bool rates = how.rates && d->opt.logs == LOG_AUTO && smodel_few_counts(&d->data);
    enum gpm_status st = rates ? search_rates(d, &rates) : GPM_OK;
    if (st == GPM_OK && !rates) {
        st = series_search_init(&d->search, &d->data, &g, &o);
        if (st == GPM_OK && first) may_gain(d, first);
        if (st == GPM_OK && first)
            series_search_take(&d->search, first, most_taken(d), further || !coarse);
        if (st == GPM_OK && isfinite(d->search.top) && search_late(&d->search))
            search_sample(&d->search); /* without the suspect values, no job waits for more */
        else if (st == GPM_OK)
            st = coarse ? search_coarse(d, few, further) : search_run(&d->search);
        if (st == GPM_OK) series_space_of(&d->search)->before = NULL;
    }
    if (st == GPM_E_NOMEM)
        return buf_fail(err, st, "%s: not enough memory for %zu values", d->series.name,
                        d->series.n);
    if (st == GPM_E_INTERRUPT)
        return buf_fail(err, st, "%s: stopped before a structure was fitted", d->series.name);
    if (st != GPM_OK)
        return buf_fail(err, st, "%s: no structure could be fitted (%s)", d->series.name,
                        gpm_status_text(st));
    posterior_init(&d->post, &d->search);
    return GPM_OK;
}

static enum gpm_status search_here(struct discovery *d, const struct search *first,
                                   struct buf *err) {
    enum gpm_status st = search_once(d, first, err);
    if (!gp_device_serves()) return st;
    buf_reset(err);
    return buf_fail(err, GPM_E_DEVICE, "%s", gp_device_error());
}

/* The search made again on the values that are not left out now, with what the last one found. */
static enum gpm_status search_again(struct discovery *d, struct buf *err) {
    double left = d->search.space->haste.deadline - clock_seconds(), all = d->opt.seconds;
    posterior_release(&d->post);
    struct search first = d->search;
    memset(&d->search, 0, sizeof d->search);
    enum gpm_status st = discovery_prepare(d, err);
    if (all > 0) d->opt.seconds = fmax(left, 0.1 * all);
    if (st == GPM_OK) st = search_here(d, &first, err);
    search_release(&first);
    d->opt.seconds = all;
    return st;
}

/* What was found without the values under suspicion decides about them; the search is made again
 * where some of them turn out to belong to the series. */
static enum gpm_status judge_suspects(struct suspects *s, struct buf *err) {
    struct discovery *d = s->d;
    enum gpm_status st = judge(s, &d->post);
    if (st != GPM_OK) return buf_fail(err, st, "values out of line could not be predicted");
    d->out = s->out;
    if (s->back) return search_again(d, err);
    outliers_spread(&d->out, &d->data);
    return GPM_OK;
}

/* A search without the values that stand out from their neighbours, and again without those that
 * stand out from what it found, which may have hidden others. */
enum gpm_status discovery_search(struct discovery *d, struct buf *err) {
    struct suspects s = {.d = d};
    double looks = precision_of(d->opt.precision).looks;
    bool more = true;
    enum gpm_status st = search_here(d, NULL, err);
    if (st == GPM_OK) st = judge_suspects(&s, err);
    for (int k = 0; k < looks && st == GPM_OK && more && !search_late(&d->search); k++) {
        size_t before = d->out.n;
        if (!outliers_more(&d->out, &d->series, contest_season(&d->data), &d->post)) break;
        s = (struct suspects){.d = d};
        st = search_again(d, err);
        if (st == GPM_OK) st = judge_suspects(&s, err);
        more = d->out.n > before; /* else the same ones would come under suspicion again */
    }
    return st;
}

/* Names separated by blanks, commas or plus signs. */
enum gpm_status discovery_kernels(const char *text, uint16_t *mask, struct buf *err) {
    *mask = 0;
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (ascii_alnum(p[n])) n++;
        if (n == 0) {
            p++;
            continue;
        }
        int f = factor_find(p, n);
        if (f == FACTOR_MAX) {
            unsigned all = FACTOR_BIT(FACTOR_MAX) - 1 - factors_of(KERN_ROLE_BREAK);
            buf_printf(err, "no kernel '%.*s'; there are", (int)n, p);
            for (f = factor_next(all, -1); f < FACTOR_MAX; f = factor_next(all, f))
                buf_printf(err, "%s %s", f == factor_next(all, -1) ? "" : ",", factor_name(f));
            return GPM_E_ARG;
        }
        *mask |= (uint16_t)FACTOR_BIT(f);
        p += n;
    }
    *mask |= (uint16_t)factors_of(KERN_ROLE_WHITE);
    return GPM_OK;
}

/* ---- the hold-out ---- */
static struct contest_values values(const struct series *s, size_t from, size_t n) {
    return (struct contest_values){n, s->x + from, s->y + from};
}

static enum gpm_status score(struct discovery *d, struct buf *err) {
    struct holdout *h = &d->hold;
    enum gpm_status st = predict(&d->post, h->n, h->x, h->y, d->opt.level, &h->pred);
    if (st != GPM_OK) return buf_fail(err, st, "the held-out values could not be predicted");
    double n = (double)h->n;
    for (size_t i = 0; i < h->n; i++) {
        double e = h->y[i] - h->pred.median[i];
        h->mae += fabs(e) / n;
        h->rmse += e * e / n;
        h->coverage += (h->y[i] >= h->pred.lo[i] && h->y[i] <= h->pred.hi[i]) / n;
        h->log_score += h->pred.logp[i] / n;
        h->crps += h->pred.crps[i] / n;
    }
    h->rmse = sqrt(h->rmse);
    h->mase = h->mae / contest_scale(&d->data, d->series.n, d->series.y);
    d->contest[0] = (struct contest){.steps = h->n, .level = d->opt.level};
    contest_add(&d->contest[0], &d->data, values(&d->series, 0, d->series.n),
                (struct contest_values){h->n, h->x, h->y}, &h->pred);
    return GPM_OK;
}

enum gpm_status discovery_finish(struct discovery *d, struct buf *err) {
    const struct series *s = &d->series;
    size_t h = d->opt.horizon;
    if (!h) h = s->n / 10 < 8 ? 8 : s->n / 10 > 36 ? 36 : s->n / 10;
    double *x = NEW_ARRAY(double, s->n + h);
    memcpy(x, s->x, s->n * sizeof *x);
    discovery_future(d, h, x + s->n);
    enum gpm_status st = predict(&d->post, s->n + h, x, NULL, d->opt.level, &d->fit);
    if (st == GPM_OK) st = decompose(&d->post, discovery_top(d), s->n + h, x, &d->dec);
    if (st != GPM_OK) buf_puts(err, "the fitted structure could not be evaluated");
    mem_free(x);
    return st;
}

const double *discovery_line(const struct discovery *d) {
    return d->data.truths ? d->fit.mean : d->fit.median;
}

const char *discovery_line_name(const struct discovery *d) {
    return d->data.truths ? "chance" : "median";
}

const struct evidence *discovery_top(const struct discovery *d) {
    return d->post.structures.n ? d->post.structures.at[0].best : NULL;
}

/* A whole number or a share below 1 of n. */
static size_t discovery_held_out(double holdout, size_t n) {
    return (size_t)floor((holdout < 1 ? holdout * (double)n : fmin(holdout, 1e9)) + 0.5);
}

/* Splits the last of the values off. */
static enum gpm_status hold_out(struct discovery *d, struct buf *err) {
    size_t n = d->series.n, k = discovery_held_out(d->opt.holdout, n);
    if (k < 1 || k >= n || n - k < 8)
        return buf_fail(err, GPM_E_ARG,
                        "a hold-out of %g leaves %zu of %zu values: at least 8 are needed",
                        d->opt.holdout, k < n ? n - k : 0, n);
    struct holdout *h = &d->hold;
    h->n = k;
    h->x = NEW_ARRAY(double, 2 * k);
    h->y = h->x + k;
    memcpy(h->x, d->series.x + n - k, k * sizeof *h->x);
    memcpy(h->y, d->series.y + n - k, k * sizeof *h->y);
    series_cut(&d->series, n - k);
    return GPM_OK;
}

/* ---- the backtest ---- */
/* One origin: repeats everything with the first n values and predicts the next h. */
static enum gpm_status backtest_at(const struct discovery *d, size_t n, size_t h,
                                   struct contest *out, struct buf *err) {
    struct discovery past;
    struct prediction p = {0};
    struct discovery_options o = d->opt;
    struct series part = series_copy(&d->series);
    series_cut(&part, n);
    o.holdout = 0;
    o.backtest = 0;
    enum gpm_status st = discovery_start(&past, &o, &part, err);
    if (st == GPM_OK) st = discovery_search(&past, err);
    if (st == GPM_OK) st = predict(&past.post, h, d->series.x + n, NULL, d->opt.level, &p);
    if (st == GPM_OK)
        contest_add(out, &past.data, values(&d->series, 0, n), values(&d->series, n, h), &p);
    prediction_release(&p);
    discovery_release(&past);
    return st;
}

static enum gpm_status backtest(struct discovery *d, struct buf *err) {
    size_t n = d->series.n, k = d->opt.backtest, h = d->opt.horizon ? d->opt.horizon : n / 10;
    if (!d->opt.horizon) h = h > 36 ? 36 : h;
    if (!d->opt.horizon && 2 * k * h > n) h = n / (2 * k); /* half of the values are a past */
    if (h < 1) h = 1;
    struct contest *c = &d->contest[1];
    *c = (struct contest){.steps = h, .level = d->opt.level};
    if (k > 1000 || h > n || n < k * h + 12)
        return buf_fail(
            err, GPM_E_ARG,
            "a backtest from %zu origins, %zu steps ahead, needs %zu values and 12 more; "
            "there are %zu (--horizon sets the steps)",
            k, h, k * h, n);
    enum gpm_status st = GPM_OK;
    for (size_t i = k; i > 0 && st == GPM_OK; i--) st = backtest_at(d, n - i * h, h, c, err);
    if (st != GPM_OK) buf_puts(err, " (in the backtest)");
    return st;
}

enum gpm_status discovery_start(struct discovery *d, const struct discovery_options *o,
                                struct series *series, struct buf *err) {
    memset(d, 0, sizeof *d);
    d->opt = *o;
    d->opt.series = series_options_copy(&o->series);
    d->series = *series;
    enum gpm_status st = o->holdout > 0 ? hold_out(d, err) : GPM_OK;
    if (st == GPM_OK) st = discovery_prepare(d, err);
    if (st != GPM_OK) return st;
    if (!d->data.truths || fmin(d->data.mean[0], 1 - d->data.mean[0]) * (double)d->data.n < 2.5)
        outliers_suspect(&d->out, &d->series, contest_season(&d->data));
    return d->out.n ? discovery_prepare(d, err) : GPM_OK;
}

/* What was the caller's, of one call alone. */
static void forget_caller(struct discovery *d) {
    d->opt.stop = d->search.opt.stop = NULL;
    d->opt.finish = d->search.opt.finish = NULL;
    if (d->search.space) d->search.space->haste.finish = NULL;
    d->opt.journal = d->search.opt.journal = NULL;
}

enum gpm_status discovery_run(struct discovery *d, struct series *series,
                              const struct discovery_options *o, struct buf *err) {
    unsigned long shortages = mem_shortages();
    double start = clock_seconds();
    enum gpm_status st = discovery_start(d, o, series, err);
    if (st == GPM_OK) st = discovery_search(d, err);
    if (st == GPM_OK) posterior_chains(&d->post, d->opt.steps);
    st = search_not_stopped(o->stop, st, err);
    if (st == GPM_OK) st = discovery_finish(d, err);
    if (st == GPM_OK && d->hold.n) st = score(d, err);
    if (st == GPM_OK && d->opt.backtest) st = backtest(d, err);
    if (st == GPM_OK) discovery_checks(d);
    d->seconds = clock_seconds() - start;
    st = search_not_stopped(o->stop, search_no_shortage(shortages, st, err), err);
    forget_caller(d);
    if (st != GPM_OK) discovery_release(d);
    return st;
}

/* What follows from the search. */
static void release_results(struct discovery *d) {
    for (size_t i = 0; i < DISCOVERY_CHECKS; i++) mem_free(d->check[i].text);
    memset(d->check, 0, sizeof d->check);
    prediction_release(&d->fit);
    decomposition_release(&d->dec);
    posterior_release(&d->post);
}

static void forget_results(struct discovery *d) {
    memset(d->check, 0, sizeof d->check);
    memset(&d->fit, 0, sizeof d->fit);
    memset(&d->dec, 0, sizeof d->dec);
    memset(&d->post, 0, sizeof d->post);
}

static enum gpm_status go_on(struct discovery *d, const struct discovery_options *o,
                             struct buf *err) {
    enum gpm_status st = search_resume(&d->search);
    if (st == GPM_E_INTERRUPT)
        return buf_fail(err, st,
                        "%s: stopped before the search went on; what it had found stays as it is",
                        d->series.name);
    if (st != GPM_OK) return buf_fail(err, st, "%s: the search cannot go on", d->series.name);
    posterior_init(&d->post, &d->search);
    posterior_chains(&d->post, 0);
    st = discovery_finish(d, err);
    if (st == GPM_OK) discovery_checks(d);
    st = search_not_stopped(o->stop, search_no_shortage(d->search.shortages, st, err), err);
    return journal_gone_through(o->journal, st, err);
}

enum gpm_status discovery_continue(struct discovery *d, const struct discovery_options *o,
                                   struct buf *err) {
    double start = clock_seconds();
    struct discovery was = *d;
    struct search_mark mark;
    search_set_mark(&d->search, &mark);
    forget_results(d);
    d->search.opt.seconds = o->seconds;
    d->search.opt.stop = o->stop;
    d->search.opt.finish = o->finish;
    d->search.opt.journal = o->journal;
    enum gpm_status st = go_on(d, o, err);
    if (st == GPM_OK) {
        search_release_mark(&d->search, &mark);
        release_results(&was);
        d->seconds += clock_seconds() - start;
    } else { /* a call that failed leaves everything as it was */
        release_results(d);
        search_go_back(&d->search, &mark);
        was.search = d->search;
        *d = was;
    }
    forget_caller(d);
    return st;
}

void discovery_release(struct discovery *d) {
    release_results(d);
    prediction_release(&d->hold.pred);
    mem_free(d->hold.x);
    search_release(&d->search);
    smodel_data_release(&d->data);
    series_release(&d->series);
    series_options_release(&d->opt.series);
    memset(d, 0, sizeof *d);
}
