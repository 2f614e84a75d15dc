/* SPDX-License-Identifier: Apache-2.0
 *
 * The default grammar as a space. Groups are the transforms of the values; structures whose
 * likelihood is O(n^2) on a regular grid are the fast ones.
 */
#include "apps/discover/series_space.h"
#include "apps/discover/beats.h"
#include "apps/discover/changes.h"
#include "apps/discover/journal.h"
#include "apps/discover/starts.h"
#include "base/clock.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRUNE                                                                                      \
    9.0 /* nats below the top: what a structure is given that fell behind on the subset            \
         */

/* Dense likelihoods cost n^3. On a long regular series they are tried on a subset first, beside the
 * best structure known: what falls behind there by SCREEN nats falls behind on all of the data. */
#define SCREEN_FROM 300 /* values from which it pays */
#define SCREEN_SIZE 250
#define SCREEN      7.0

struct screen {
    struct smodel_data data;
    struct smodel_work **work;
    struct structure best; /* the structure that `top` is of */
    double top;            /* its total log evidence on the subset, roughly */
};

static struct series_space *own(struct space *s) {
    return (struct series_space *)s;
}

size_t series_space_number(struct series_space *s, const struct structure *k) {
    uint64_t h = structure_hash(k);
    size_t at = (size_t)(uintptr_t)map_get(&s->index, h);
    if (at && structure_equal(&s->known.at[at - 1], k)) return at - 1;
    vec_push(&s->known, *k);
    map_put(&s->index, h, (void *)(uintptr_t)s->known.n);
    return s->known.n - 1;
}

/* ---- the structures ---- */
struct emission {
    struct series_space *s;
    space_emit each;
    void *ctx;
};

static void emit(void *ctx, const struct structure *k) {
    struct emission *x = ctx;
    x->each(x->ctx, series_space_number(x->s, k));
}

static void seeds(struct space *s, int group, space_emit each, void *ctx) {
    struct emission x = {own(s), each, ctx};
    grammar_seeds(&x.s->grammar, group, emit, &x);
}

/* Roots lie between values and logarithms. A structure that fell behind on those scales (on each on
 * which it is known) is not tried on this one. */
static bool hopeless(const struct series_space *s, const struct structure *k) {
    struct structure other = *k;
    bool known = false;
    if (k->transform != TRANSFORM_POWER || !s->search) return false;
    for (int tr = 0; tr < TRANSFORM_POWER; tr++) {
        other.transform = (uint8_t)tr;
        size_t at = (size_t)(uintptr_t)map_get(&s->index, structure_hash(&other));
        const struct evidence *e = at && at <= s->search->n_of ? s->search->of[at - 1] : NULL;
        if (!e || !structure_equal(&smodel_of(e)->s, &other)) continue;
        if (evidence_total(e) > s->best[tr] - s->behind) return false;
        known = true;
    }
    return known;
}

static void emit_hopeful(void *ctx, const struct structure *k) {
    if (!hopeless(((struct emission *)ctx)->s, k)) emit(ctx, k);
}

static void neighbours(struct space *s, const struct evidence *e, space_emit each, void *ctx) {
    struct emission x = {own(s), each, ctx};
    grammar_neighbours(&x.s->grammar, &smodel_of(e)->s, emit_hopeful, &x);
}

static double log_prior(const struct series_space *s, const struct smodel_data *data,
                        const struct structure *k) {
    return grammar_log_prior(&s->grammar, k) + data->log_measure[k->transform];
}

/* ---- changes ---- */
static bool plain(const struct evidence *e) {
    const struct structure *k = &smodel_of(e)->s;
    unsigned stiff =
        factors_of(KERN_ROLE_TREND) | factors_of(KERN_ROLE_PERIODIC) | factors_of(KERN_ROLE_BREAK);
    for (int i = 0; i < k->n; i++) /* one such factor each */
        if (k->t[i].mask & ~stiff || k->t[i].mask & (k->t[i].mask - 1) || k->t[i].gate)
            return false;
    return true;
}

static bool unchanged(const struct evidence *e) {
    const struct structure *k = &smodel_of(e)->s;
    for (int i = 0; i < k->n; i++)
        if (k->t[i].gate || k->t[i].mask & factors_of(KERN_ROLE_BREAK)) return false;
    return !k->change;
}

static enum gate gate_of(const struct change_place *p) {
    if (p->width > 0) return p->more ? GATE_INSIDE : GATE_OUTSIDE;
    return p->more ? GATE_AFTER : GATE_BEFORE;
}

/* Dates and widths as starting points of what is fitted next. */
static void hint_places(struct series_space *s, const struct changes *c, int n_terms) {
    s->places = s->widths = (struct period_hints){0};
    const struct change_place *at[4 + STRUCTURE_MAX_TERMS] = {&c->pattern, &c->bend, &c->variance,
                                                              &c->window};
    for (int k = 0; k < n_terms; k++) at[4 + k] = &c->part[k];
    for (int i = 0; i < 4 + n_terms; i++) {
        if (!(at[i]->gain > 0)) continue;
        s->places.p[s->places.n++] = fmin(fmax(at[i]->tau, 0.06), 0.94);
        if (at[i]->width > 0) s->widths.p[s->widths.n++] = fmin(fmax(at[i]->width, 0.04), 0.58);
    }
    for (int tr = 0; tr < TRANSFORMS; tr++) {
        s->around[tr].places = s->places.n ? &s->places : NULL;
        s->around[tr].widths = s->widths.n ? &s->widths : NULL;
    }
}

/* A step or a pulse beside k; where there is no room for one more, instead of another break: dates
 * that were found beside other values may not be the best ones. */
static void suggest_break(struct series_space *s, const struct change_place *p,
                          const struct structure *k, space_emit each, void *ctx) {
    const struct grammar *g = &s->grammar;
    double end = p->width > 0 ? p->tau + p->width : 0;
    struct structure v, rest;
    bool room = grammar_break(g, k, p->tau, end, &v);
    if (room) each(ctx, series_space_number(s, &v));
    for (int i = 0; i < k->n && !room; i++)
        if (grammar_without_break(k, i, &rest) && grammar_break(g, &rest, p->tau, end, &v))
            each(ctx, series_space_number(s, &v));
}

/* Steps, pulses or a bend beside k; also without the line that imitated them. */
static void suggest_shifts(struct series_space *s, const struct changes *c,
                           const struct structure *k, space_emit each, void *ctx) {
    const struct grammar *g = &s->grammar;
    struct structure v, bare;
    bool line = grammar_without_line(k, &bare);
    double date = log((double)s->data->n);
    for (int i = 0; i < c->n_shift + c->n_pulse; i++) {
        const struct change_place *p = i < c->n_shift ? &c->shift[i] : &c->pulse[i - c->n_shift];
        if (p->gain <= (p->width > 0 ? 2 : 1) * date) continue;
        suggest_break(s, p, k, each, ctx);
        if (line) suggest_break(s, p, &bare, each, ctx);
    }
    if (c->bend.gain <= 3) return;
    if (grammar_bend(g, k, &v)) each(ctx, series_space_number(s, &v));
    if (line && grammar_bend(g, &bare, &v)) each(ctx, series_space_number(s, &v));
}

/* A pattern in a part of the data, of a period of the calendar or of its own. */
static void suggest_wave(struct series_space *s, const struct changes *c, const struct structure *k,
                         space_emit each, void *ctx) {
    struct period_hints *h = &s->around[k->transform];
    struct structure v;
    int at = 0;
    for (int i = 0; i < s->data->n_season; i++)
        if (fabs(log(c->period / s->data->season[i])) < 0.03) at = i + 1;
    memmove(h->p + 1, h->p, sizeof h->p - sizeof h->p[0]);
    h->p[0] = c->period;
    h->n += h->n < (int)COUNT_OF(h->p);
    for (int own = at > 0; own >= 0; own--)
        if (grammar_wave(&s->grammar, k, own ? at : 0, gate_of(&c->pattern), &v))
            each(ctx, series_space_number(s, &v));
}

/* Periods of the calendar, and those that stand out. */
static int wave_periods(const struct series_space *s, int transform, double *p) {
    const struct period_hints *h = &s->hints[transform];
    int n = 0;
    for (int i = 0; i < s->data->n_season; i++) p[n++] = s->data->season[i];
    for (int i = 0; i < h->n; i++) p[n++] = h->p[i];
    return n;
}

/* Innovations of another size on one side of a date or of a window: of the noise, or of a level
 * that moves there more than elsewhere, which has one parameter more. What moved everywhere else
 * may then go, as any term may; where there is no room for one more, it goes at once. */
#define MOVES_COST 3.0 /* nats */

static void suggest_spread(struct series_space *s, const struct change_place *p, double cost,
                           const struct structure *k, space_emit each, void *ctx) {
    const struct grammar *g = &s->grammar;
    struct structure v;
    if (p->gain <= cost) return;
    if (grammar_spread(g, k, gate_of(p), &v)) each(ctx, series_space_number(s, &v));
    if (p->gain <= cost + MOVES_COST) return;
    bool room = grammar_moves(g, k, k->n, gate_of(p), &v);
    if (room) each(ctx, series_space_number(s, &v));
    for (int i = 0; i < k->n && !room; i++)
        if (grammar_moves(g, k, i, gate_of(p), &v)) each(ctx, series_space_number(s, &v));
}

/* Patterns that last instead of one that changes, where a point that was found at once is no worse
 * than the optimum of e by more than the way from there to an optimum may bring. */
#define BEATS_BEHIND 5.0 /* nats */

static void suggest_patterns(struct series_space *s, const struct evidence *e, space_emit each,
                             void *ctx) {
    const struct structure *k = &smodel_of(e)->s;
    struct structure v;
    double least = e->map + e->log_prior - BEATS_BEHIND;
    for (int i = 0; i < k->n && e->prop.n; i++)
        for (int n = 2; beats_may(k, i) && grammar_patterns(&s->grammar, k, i, n, &v); n++) {
            struct evidence *x = beats_start(e, i, &v, log_prior(s, s->data, &v), s->work[0]);
            if (x && x->map + x->log_prior > least) {
                vec_push(&s->pointed, x);
                each(ctx, series_space_number(s, &v));
            } else {
                evidence_free(x);
            }
        }
}

/* A pulse leaves nothing to see of where the level does not come back. */
static void suggest_steps(struct series_space *s, const struct structure *k, space_emit each,
                          void *ctx) {
    struct structure v;
    for (int i = 0; i < k->n; i++)
        if (grammar_steps(&s->grammar, k, i, &v)) each(ctx, series_space_number(s, &v));
}

/* Those whose gain could pay for what they cost. */
static void suggestions(struct space *base, const struct evidence *e, space_emit each, void *ctx) {
    struct series_space *s = own(base);
    const struct grammar *g = &s->grammar;
    const struct structure *k = &smodel_of(e)->s;
    struct structure v;
    struct changes c;
    double periods[SERIES_SEASONS + COUNT_OF(s->hints[0].p)];
    int n = plain(e) ? wave_periods(s, k->transform, periods) : 0;
    s->floor = -INFINITY; /* what has a gain that was computed gets all of its starts */
    suggest_patterns(s, e, each, ctx);
    suggest_steps(s, k, each, ctx);
    if (!g->changes || !changes_scan(e, s->work[0], periods, n, &c)) return;
    hint_places(s, &c, k->n);
    suggest_shifts(s, &c, k, each, ctx);
    suggest_spread(s, &c.variance, 5, k, each, ctx);
    suggest_spread(s, &c.window, 8, k, each, ctx);
    if (c.pattern.gain > 10) suggest_wave(s, &c, k, each, ctx);
    for (int i = 0; i < k->n; i++)
        if (c.part[i].gain > 0 && grammar_gate(g, k, i, gate_of(&c.part[i]), &v))
            each(ctx, series_space_number(s, &v));
}

static bool is_fast(struct space *s, size_t id) {
    struct smodel m;
    smodel_init(&m, own(s)->data, &own(s)->known.at[id]);
    return m.fast;
}

/* ---- evidences ---- */
/* The best structure on the subset, started from where it is on all of the data. */
static void screen_top(struct series_space *s, const struct search *x) {
    const struct evidence *best = NULL;
    for (size_t i = 0; i < x->n; i++)
        if (evidence_fitted(x->at[i]) && /* a stopped evaluation has no optimum */
            (!best || evidence_total(x->at[i]) > evidence_total(best)))
            best = x->at[i];
    struct screen *c = s->screen;
    if (!best || structure_equal(&smodel_of(best)->s, &c->best)) return;
    c->best = smodel_of(best)->s;
    struct evidence *e = sevidence_new(&c->data, &c->best, log_prior(s, &c->data, &c->best),
                                       -INFINITY, best, &s->hints[c->best.transform], c->work[0]);
    c->top = evidence_total(e);
    evidence_free(e);
}

static void forget_points(struct series_space *s) {
    for (size_t i = 0; i < s->pointed.n; i++) evidence_free(s->pointed.at[i]);
    s->pointed.n = 0;
}

static void prepare(struct space *base, const struct search *x, const struct evidence *parent,
                    bool dense) {
    struct series_space *s = own(base);
    forget_points(s);
    memcpy(s->around, s->hints, sizeof s->around);
    if (parent) {
        int tr = smodel_of(parent)->s.transform;
        period_hints_residual(parent, s->work[0], &s->hints[tr], &s->around[tr]);
    }
    s->top = x->top;
    s->floor = search_floor(x);
    s->search = x;
    s->behind = s->top - s->floor;
    for (int tr = 0; tr < TRANSFORMS; tr++) s->best[tr] = -INFINITY;
    for (size_t i = 0; i < x->n; i++) {
        int tr = x->at[i]->group;
        s->best[tr] = fmax(s->best[tr], evidence_total(x->at[i]));
    }
    if (s->screen && dense) screen_top(s, x);
}

/* What the search with a few values more or less has of a structure; NULL: nothing. */
static const struct evidence *known_before(const struct series_space *s,
                                           const struct structure *k) {
    if (!s->before) return NULL;
    size_t at = (size_t)(uintptr_t)map_get(&series_space_of(s->before)->index, structure_hash(k));
    const struct evidence *e = at && at <= s->before->n_of ? s->before->of[at - 1] : NULL;
    return e && e->prop.n && structure_equal(&smodel_of(e)->s, k) ? e : NULL;
}

/* A value more may have no logarithm. */
static bool on_scale(const struct series_space *s, int transform) {
    return s->data->y[transform] != NULL;
}

/* The top then, of the structures on one scale: what a value far out costs is another thing on each
 * of them. */
static double top_before(const struct series_space *s, int transform) {
    double top = -INFINITY;
    for (size_t i = 0; i < s->before->n && on_scale(s, transform); i++)
        if (s->before->at[i]->group == transform) top = fmax(top, evidence_total(s->before->at[i]));
    return top;
}

/* How far a structure lay behind then; 0 where that may change. */
static double lost_before(const struct series_space *s, const struct evidence *then) {
    double behind = top_before(s, then->group) - evidence_total(then);
    return behind > s->may_gain ? behind : 0;
}

/* A rough evidence so far behind the top. Finishing leaves it as it is. */
static void give_up(const struct series_space *s, struct evidence *e, double behind) {
    mem_free(e->open);
    e->open = NULL;
    e->laplace = e->logz = e->map = s->top - behind - e->log_prior;
    e->se = 2.0;
    e->rough = true;
}

/* A dense structure on the subset first. What falls behind there gets the rough evidence that this
 * leads to expect on all of the data: at least what it lost. */
static struct evidence *fit_screened(struct series_space *s, const struct structure *k,
                                     const struct evidence *parent, int thread) {
    struct screen *c = s->screen;
    const struct period_hints *hints = &s->around[k->transform];
    double full = log_prior(s, s->data, k);
    struct evidence *e, *part = sevidence_new(&c->data, k, log_prior(s, &c->data, k),
                                              c->top - SCREEN, parent, hints, c->work[thread]);
    double behind = c->top - evidence_total(part);
    if (behind > SCREEN || !part->prop.n) {
        smodel_init(part->item, s->data, k);
        part->log_prior = full;
        give_up(s, part, fmax(behind, PRUNE));
        return part;
    }
    e = sevidence_new(s->data, k, full, s->floor, part, hints, s->work[thread]);
    evidence_free(part);
    return e;
}

static struct evidence *fit_lost(const struct series_space *s, const struct structure *k,
                                 double behind) {
    struct evidence *e = sevidence_make(s->data, k, log_prior(s, s->data, k));
    give_up(s, e, behind);
    return e;
}

static struct evidence *fit_structure(struct series_space *s, const struct structure *k, bool fast,
                                      const struct evidence *parent, int thread) {
    const struct evidence *then = known_before(s, k);
    double behind = then ? lost_before(s, then) : 0, prior = log_prior(s, s->data, k);
    for (size_t i = 0; i < s->pointed.n; i++)
        if (structure_equal(&smodel_of(s->pointed.at[i])->s, k)) parent = s->pointed.at[i];
    if (behind > 0) return fit_lost(s, k, behind);
    if (s->screen && !fast) return fit_screened(s, k, then ? then : parent, thread);
    if (then) return sevidence_again(s->data, k, prior, s->floor, then, s->work[thread]);
    return sevidence_new(s->data, k, prior, s->floor, parent, &s->around[k->transform],
                         s->work[thread]);
}

static struct evidence *fit(struct space *base, size_t id, const struct evidence *parent,
                            int thread) {
    struct series_space *s = own(base);
    struct evidence *e = fit_structure(s, &s->known.at[id], is_fast(base, id), parent, thread);
    e->id = id;
    return e;
}

static struct evidence *make(struct space *base, size_t id) {
    struct series_space *s = own(base);
    const struct structure *k = &s->known.at[id];
    struct evidence *e = sevidence_make(s->data, k, log_prior(s, s->data, k));
    e->id = id;
    return e;
}

static bool carry(struct space *s, const struct evidence *e, const struct evidence *from,
                  double *z) {
    starts_carry(smodel_of(e), from, z, NULL);
    return true;
}

static bool faint(struct space *s, const struct evidence *e, const struct evidence *from,
                  double *z) {
    return starts_faint(smodel_of(e), from, z);
}

static bool related(struct space *s, const struct evidence *e, const struct evidence *from,
                    int *source) {
    double z[SMODEL_MAX_PAR];
    starts_carry(smodel_of(e), from, z, source);
    return true;
}

static struct density density(struct space *s, const struct evidence *e, int thread, bool folded) {
    return smodel_density(smodel_of(e), own(s)->work[thread], folded);
}

/* ---- the space ---- */
static void free_works(struct smodel_work **w, int n) {
    for (int i = 0; w && i < n; i++) smodel_work_free(w[i]);
    mem_free(w);
}

/* A workspace per thread; NULL: out of memory. */
static struct smodel_work **new_works(const struct series_space *s, const struct smodel_data *d,
                                      const volatile sig_atomic_t *stop) {
    int n = s->threads;
    struct smodel_work **w = mem_zalloc((size_t)n * sizeof *w);
    for (int i = 0; i < n; i++) {
        if (!(w[i] = smodel_work_new(d))) {
            free_works(w, n);
            return NULL;
        }
        w[i]->stop = stop;
        w[i]->haste = &s->base.haste;
    }
    return w;
}

static void place_works(struct search *s, struct smodel_work **w) {
    struct series_space *v = series_space_of(s);
    v->work = w;
    for (size_t i = 0; i < s->n; i++) {
        struct smodel *m = s->at[i]->item;
        m->y = v->data->y[m->s.transform];
    }
}

void series_search_free_works(struct search *s, struct smodel_work **was) {
    free_works(was, series_space_of(s)->threads);
}

enum gpm_status series_search_renew(struct search *s, struct smodel_work ***was) {
    struct series_space *v = series_space_of(s);
    struct smodel_work **w = new_works(v, v->data, NULL);
    if (!w) return GPM_E_NOMEM;
    *was = v->work;
    place_works(s, w);
    return GPM_OK;
}

void series_search_put_back(struct search *s, struct smodel_work **was) {
    series_search_free_works(s, series_space_of(s)->work);
    place_works(s, was);
}

static void space_free(struct space *base) {
    struct series_space *s = own(base);
    if (s->screen) {
        free_works(s->screen->work, s->threads);
        smodel_data_release(&s->screen->data);
        mem_free(s->screen);
    }
    free_works(s->work, s->threads);
    forget_points(s);
    vec_release(&s->pointed);
    vec_release(&s->known);
    map_release(&s->index);
    mem_free(s);
}

static enum gpm_status screen_init(struct series_space *s, const volatile sig_atomic_t *stop) {
    if (s->data->n < SCREEN_FROM || !smodel_fast_grid(s->data)) return GPM_OK;
    s->screen = NEW(struct screen);
    enum gpm_status st = smodel_data_subset(s->data, SCREEN_SIZE, &s->screen->data);
    if (st == GPM_OK && !(s->screen->work = new_works(s, &s->screen->data, stop))) st = GPM_E_NOMEM;
    return st;
}

static const struct space_ops ops = {.free = space_free,
                                     .seeds = seeds,
                                     .neighbours = neighbours,
                                     .fast = is_fast,
                                     .suggestions = suggestions,
                                     .plain = plain,
                                     .unchanged = unchanged,
                                     .prepare = prepare,
                                     .fit = fit,
                                     .make = make,
                                     .carry = carry,
                                     .faint = faint,
                                     .related = related,
                                     .density = density};

/* Of a day the pattern may differ within the week, where no filter of many values is needed. */
static void nest_seasons(struct grammar *g, const struct smodel_data *d) {
    for (int i = 0; i < d->n_season; i++)
        for (int j = 0; j < d->n_season && g->pulses && d->n <= SMODEL_LONG; j++)
            if (fabs(d->season[i] / d->season[j] - 7) < 1e-6) g->outer = i + 1, g->inner = j + 1;
}

#define MOST 1200 /* structures of one search; a search that ends there has not settled */

enum gpm_status series_search_init(struct search *x, const struct smodel_data *data,
                                   const struct grammar *g, const struct search_options *o) {
    static const struct {
        size_t up_to, draws, steps;
    } sizes[] = {{300, 250, 500}, {700, 200, 250}, {SIZE_MAX, 150, 150}};
    size_t size = 0;
    struct series_space *s = NEW(struct series_space);
    while (data->n > sizes[size].up_to ||
           (smodel_scale_hidden(data) && sizes[size].up_to < SIZE_MAX))
        size++;
    s->base = (struct space){.ops = &ops,
                             .rules = &series_fit_rules,
                             .draws = sizes[size].draws,
                             .most = MOST,
                             .steps = sizes[size].steps};
    s->data = data;
    s->values = data->n;
    s->grammar = *g;
    nest_seasons(&s->grammar, data);
    grammar_calendar(&s->grammar, data->n_season, data->n);
    if (smodel_scale(data) != LINK_LOG) s->grammar.only_logs = smodel_scale_hidden(data);
    if (!data->y[TRANSFORM_LOG] || (data->linear && !s->grammar.only_logs)) s->grammar.logs = false;
    s->grammar.steady = data->truths || smodel_scale_hidden(data);
    s->grammar.powers = s->grammar.logs && !s->grammar.only_logs && data->y[TRANSFORM_POWER];
    s->base.seeded = s->grammar.logs ? 2 : 1;
    s->base.groups = s->base.seeded + s->grammar.powers;
    search_init(x, &s->base, o);
    s->threads = x->opt.threads;
    s->work = new_works(s, data, o->stop);
    for (int tr = 0; tr < TRANSFORMS; tr++)
        if (data->y[tr]) period_hints_data(data, tr, &s->hints[tr]);
    enum gpm_status st = s->work ? screen_init(s, o->stop) : GPM_E_NOMEM;
    if (st != GPM_OK) search_release(x);
    return st;
}

/* ---- refinement ---- */
struct refine {
    struct series_space *s;
    const struct search *coarse;
    const struct evidence **from;
    struct evidence **result;
};

/* Rates and chances have one scale alone, whatever the structure was found on. Counts scatter
 * more than a rate's own noise says: that is below the noise of values. */
static struct structure refined(const struct series_space *s, const struct evidence *from) {
    struct structure k = smodel_of(from)->s;
    if (smodel_scale_hidden(s->data)) k.transform = TRANSFORM_LOG;
    return k;
}

/* Where a few values show a pattern that is too sharp for a filter of all: a smoother one. */
static void smooth_patterns(const struct smodel *m, const struct density *t, double *z) {
    enum { TRIES = 12 };
    for (int k = 0; k < TRIES && density_eval(t, z, NULL) == -INFINITY; k++)
        for (int i = 0; i < m->d; i++)
            if (m->par[i].kind == SPAR_LPER) z[i] += 0.4;
}

static void refine_job(void *ctx, size_t job, int thread) {
    struct refine *r = ctx;
    const struct evidence *from = r->from[job];
    struct structure k = refined(r->s, from);
    double z[SMODEL_MAX_PAR];
    if (job && search_late(r->coarse)) return;
    double prior = log_prior(r->s, r->s->data, &k);
    if (r->coarse == r->s->before && !search_late(r->coarse)) {
        struct smodel_work *w = r->s->work[thread];
        r->result[job] = sevidence_again(r->s->data, &k, prior, -INFINITY, from, w);
        evidence_finish(r->result[job], density(&r->s->base, r->result[job], thread, false),
                        -INFINITY, r->s->base.rules);
        return;
    }
    struct evidence *e = sevidence_make(r->s->data, &k, prior);
    struct density t = density(&r->s->base, e, thread, false);
    memcpy(z, from->prop.mode[0].z, sizeof *z * (size_t)t.d);
    if (smodel_scale_hidden(r->s->data)) z[0] -= 1;
    smooth_patterns(smodel_of(e), &t, z);
    evidence_at(e, t, z);
    if (!job && !e->prop.n && search_late(r->coarse)) evidence_borrow(e, t, z, from);
    r->result[job] = e;
}

static int by_total(const void *a, const void *b) {
    double x = evidence_total(*(const struct evidence *const *)a);
    double y = evidence_total(*(const struct evidence *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* One factor, or noise alone. */
static bool simple(const struct structure *k) {
    return k->n == 0 ||
           (k->n == 1 && k->change == CHANGE_NONE && __builtin_popcount(k->t[0].mask) == 1);
}

/* Is e the best on its scale of those beside which changes are looked for, though far behind the
 * top? What was left out then may be a change. */
static bool is_base(const struct search *coarse, const struct evidence *e) {
    bool stiff = plain(e), still = unchanged(e);
    for (size_t i = 0; i < coarse->n && (stiff || still); i++) {
        const struct evidence *o = coarse->at[i];
        if (o->group != e->group || !o->prop.n || evidence_total(o) <= evidence_total(e)) continue;
        stiff &= !plain(o);
        still &= !unchanged(o);
    }
    return stiff || still;
}

/* Noise whose size changes is what counts have by themselves where their rate changes. */
static bool worth(const struct refine *r, const struct evidence *e) {
    const struct smodel *m = smodel_of(e);
    bool changing = false;
    for (int k = 0; k < m->n_terms; k++)
        changing |= (m->term[k].mask & factors_of(KERN_ROLE_WHITE)) != 0;
    struct structure k = refined(r->s, e);
    struct smodel now; /* other data may have other parameters */
    smodel_init(&now, r->s->data, &k);
    bool hidden = smodel_scale_hidden(r->s->data);
    bool base = r->coarse == r->s->before && is_base(r->coarse, e);
    return (!e->rough || base || (hidden && simple(&k))) && e->prop.n && now.d <= e->prop.d &&
           on_scale(r->s, k.transform) && !(changing && hidden);
}

static bool known(const struct search *s, const struct structure *k) {
    size_t id = series_space_number(series_space_of(s), k);
    return id < s->n_of && s->of[id];
}

/* The best first, one of each structure as it will be, and none that `s` has from another search;
 * at most `most`. Where a rate is to be modelled the simple ones follow, however far behind: many
 * zeros and few high counts lead normal errors to patterns and windows that a rate need not have.
 */
static size_t choose_refined(struct refine *r, const struct search *s, const struct search *coarse,
                             size_t most) {
    bool hidden = smodel_scale_hidden(r->s->data);
    size_t n = 0, kept = 0;
    double top = -INFINITY;
    for (size_t i = 0; i < coarse->n; i++)
        if (worth(r, coarse->at[i])) top = fmax(top, evidence_total(coarse->at[i]));
    bool again = coarse == r->s->before;
    for (size_t i = 0; i < coarse->n; i++)
        if (worth(r, coarse->at[i]) &&
            (evidence_total(coarse->at[i]) > top - 6 || (again && is_base(coarse, coarse->at[i])) ||
             (hidden && simple(&smodel_of(coarse->at[i])->s))))
            r->from[n++] = coarse->at[i];
    qsort(r->from, n, sizeof *r->from, by_total);
    for (size_t i = 0; i < n; i++) {
        struct structure k = refined(r->s, r->from[i]);
        bool more = (hidden && simple(&k)) || (again && is_base(coarse, r->from[i]));
        bool leave = known(s, &k) || (kept >= most && !more);
        for (size_t j = 0; j < kept && !leave; j++) {
            struct structure other = refined(r->s, r->from[j]);
            leave = structure_equal(&k, &other);
        }
        if (!leave) r->from[kept++] = r->from[i];
    }
    return kept;
}

/* ---- in a journal ---- */
static uint64_t refine_key(void *ctx, size_t job) {
    return ((struct refine *)ctx)->from[job]->hash;
}

static void refine_pack(struct pack *p, void *ctx, size_t job) {
    struct refine *r = ctx;
    struct structure k = refined(r->s, r->from[job]);
    if (p->reading)
        r->result[job] = sevidence_make(r->s->data, &k, log_prior(r->s, r->s->data, &k));
    evidence_pack(p, r->result[job]);
    if (p->reading && !pack_ok(p)) evidence_free(r->result[job]);
}

static bool refine_late(const void *ctx) {
    return search_hurried(((const struct refine *)ctx)->coarse);
}

static const struct journal_step refine_step = {"refine", refine_job, refine_key, refine_pack,
                                                refine_late};

void series_search_take(struct search *s, const struct search *other, size_t most, bool further) {
    struct refine r = {series_space_of(s), other, NEW_ARRAY(const struct evidence *, other->n + 1),
                       NULL};
    size_t n = choose_refined(&r, s, other, most);
    r.result = mem_zalloc((n + 1) * sizeof *r.result);
    journal_step(s->opt.journal, s->opt.threads, n, &refine_step, &r);
    for (size_t i = 0; i < n; i++) {
        if (r.result[i] && !isfinite(evidence_total(r.result[i]))) {
            evidence_free(r.result[i]);
            continue;
        }
        if (!r.result[i]) continue;
        r.result[i]->expanded = r.from[i]->expanded && !further;
        r.result[i]->round = r.from[i]->round;
        r.result[i]->found_in = r.from[i]->found_in;
        r.result[i]->id = series_space_number(r.s, &smodel_of(r.result[i])->s);
        search_store(s, r.result[i]);
    }
    search_find_top(s);
    mem_free(r.from);
    mem_free(r.result);
}

/* Has a rate led to a structure around which the search by normal errors has not looked? */
static bool elsewhere(const struct search *s) {
    const struct evidence *best = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (!best || evidence_total(s->at[i]) > evidence_total(best)) best = s->at[i];
    return best && !best->expanded && smodel_scale_hidden(series_space_of(s)->data);
}

enum gpm_status series_search_refine(struct search *s, const struct search *coarse, size_t most,
                                     bool further) {
    double start = clock_seconds();
    series_search_take(s, coarse, most, further);
    if (!isfinite(s->top)) return further ? search_run(s) : GPM_E_NO_CONVERGENCE;
    s->space->haste = coarse->space->haste;
    s->grown = coarse->grown;
    s->rounds = coarse->rounds;
    bool on = further || elsewhere(s);
    s->cut = coarse->cut && !on;
    s->shortages = coarse->shortages;
    enum gpm_status st = GPM_OK;
    if (on)
        st = search_extend(s);
    else
        search_sample(s);
    s->evals += coarse->evals;
    s->seconds = coarse->seconds + clock_seconds() - start;
    return st;
}
