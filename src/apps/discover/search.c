/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: seeds, then the best unexpanded structure within the window again and again; then
 * importance sampling of everything near the top. Where some structures have a fast density it
 * climbs by those first: the others are then measured against a high top, and most of them are
 * given up after a few steps.
 */
#include "apps/discover/search.h"
#include "apps/discover/journal.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/vec.h"
#include "numeric/la/blas.h"
#include <math.h>
#include <string.h>

#define SAMPLE_WINDOW 4.0  /* nats below the top within which structures are sampled */
#define IDLE_SHARE    0.01 /* of the probability: an expansion that finds less was idle */
/* What was lent (evidence_lend) counts by its few draws, as one of many such structures, unless it
 * lies within SEARCH_LENT of the top, or within LENT_UNSURE where the error of its log evidence is
 * LENT_ERROR or more: then it is fitted. */
#define LENT_UNSURE  2.0
#define LENT_ERROR   0.7
#define GROUP_WINDOW 60.0 /* nats below the top at which a whole group is given up */

double search_floor(const struct search *s) {
    return s->top - s->how.prune;
}

/* Of the time allowed the search for structures takes this share, draws and chains the rest; once
 * it is over, structures so close to the top get so many draws. */
#define GROW_SHARE  0.7
#define LATE_WINDOW 0.5
#define LATE_DRAWS  20

int search_threads(int wanted) {
    int cores = cores_available();
    return wanted > 0 ? wanted : cores > 8 ? 8 : cores;
}

static size_t scaled(size_t n, double times, double most) {
    return (size_t)fmin(times * (double)n, most);
}

void search_init(struct search *s, struct space *space, const struct search_options *o) {
    const struct precision *how = &s->how;
    memset(s, 0, sizeof *s);
    s->space = space;
    s->opt = *o;
    s->how = precision_of(o->precision);
    s->top = -INFINITY;
    s->grown = INFINITY;
    space->haste = (struct haste){o->finish, INFINITY};
    la_init();
    s->opt.threads = search_threads(o->threads);
    if (space->max_threads && s->opt.threads > space->max_threads)
        s->opt.threads = space->max_threads;
    space->draws = scaled(space->draws, how->times, how->draws);
    space->steps = scaled(space->steps, how->times, INFINITY);
    space->most = scaled(space->most, how->times, how->most);
    if (!o->draws) s->opt.draws = space->draws;
}

bool search_late(const struct search *s) {
    return haste_now(&s->space->haste);
}

bool search_hurried(const struct search *s) {
    bool ended = clock_seconds() > s->grown || mem_shortages() != s->shortages;
    return search_late(s) || (s->cut && ended);
}

void search_limit(struct search *s, double start) {
    double all = s->opt.seconds;
    s->space->haste = (struct haste){s->opt.finish, all > 0 ? start + all : INFINITY};
    s->grown = all > 0 ? start + GROW_SHARE * all : INFINITY;
}

void search_release(struct search *s) {
    for (size_t i = 0; i < s->n; i++) evidence_free(s->at[i]);
    mem_free(s->at);
    mem_free(s->of);
    if (s->space) s->space->ops->free(s->space);
    memset(s, 0, sizeof *s);
}

/* ---- one round: a batch of new structures around a parent ---- */
struct batch {
    struct search *search;
    const struct evidence *parent;
    bool fast, dense; /* which structures are wanted: with a fast density, with another one */
    int round;        /* of the expansion; 0: not part of it */
    bool suggested;   /* by a gain that was computed: none is given up early */
    VEC(size_t) id;
    struct evidence **result;
    VEC(struct evidence *) old; /* known neighbours that may profit from the parent's optimum */
};

static bool is_fast(const struct search *s, size_t id) {
    return s->space->ops->fast && s->space->ops->fast(s->space, id);
}

static void collect(void *ctx, size_t id) {
    struct batch *b = ctx;
    if (!(is_fast(b->search, id) ? b->fast : b->dense)) return;
    struct evidence *known = id < b->search->n_of ? b->search->of[id] : NULL;
    if (known) {
        if (!b->parent || known == b->parent || known->expanded) return;
        if (evidence_total(known) < b->search->top - 8) return;
        for (size_t i = 0; i < b->old.n; i++)
            if (b->old.at[i] == known) return;
        vec_push(&b->old, known);
        return;
    }
    for (size_t i = 0; i < b->id.n; i++)
        if (b->id.at[i] == id) return;
    vec_push(&b->id, id);
}

static void fit_job(void *ctx, size_t job, int thread) {
    struct batch *b = ctx;
    struct space *s = b->search->space;
    if (search_late(b->search) && (job || b->search->n)) return; /* see hurry */
    if (job < b->id.n) {
        b->result[job] = s->ops->fit(s, b->id.at[job], b->parent, thread);
        return;
    }
    double z[PROPOSAL_MAX_DIM];
    struct evidence *e = b->old.at[job - b->id.n];
    struct density t = s->ops->density(s, e, thread, false);
    if (s->st == GPM_OK && s->ops->carry(s, e, b->parent, z)) evidence_improve(e, t, z);
}

static void finish_job(void *ctx, size_t job, int thread) {
    struct batch *b = ctx;
    struct evidence *e = b->result[job];
    struct space *s = b->search->space;
    if (search_late(b->search)) return;
    struct density t = s->ops->density(s, e, thread, false);
    if (s->st == GPM_OK)
        evidence_finish(e, t, (b->suggested ? -INFINITY : search_floor(b->search)) - e->log_prior,
                        s->rules);
}

void search_store(struct search *s, struct evidence *e) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->at = mem_realloc(s->at, s->cap * sizeof *s->at);
    }
    if (e->id >= s->n_of) {
        size_t n = 2 * e->id + 64;
        s->of = mem_realloc(s->of, n * sizeof *s->of);
        memset(s->of + s->n_of, 0, (n - s->n_of) * sizeof *s->of);
        s->n_of = n;
    }
    s->at[s->n++] = s->of[e->id] = e;
}

void search_find_top(struct search *s) {
    s->top = -INFINITY;
    s->evals = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->top = fmax(s->top, evidence_total(s->at[i]));
        s->evals += s->at[i]->evals;
    }
}

/* ---- its jobs in a journal ---- */
static uint64_t fit_key(void *ctx, size_t job) {
    struct batch *b = ctx;
    return job < b->id.n ? b->id.at[job] : b->old.at[job - b->id.n]->hash;
}

static void fit_pack(struct pack *p, void *ctx, size_t job) {
    struct batch *b = ctx;
    struct space *s = b->search->space;
    bool new = job < b->id.n;
    if (p->reading && new) b->result[job] = s->ops->make(s, b->id.at[job]);
    evidence_pack(p, new ? b->result[job] : b->old.at[job - b->id.n]);
    if (p->reading && new && !pack_ok(p)) evidence_free(b->result[job]);
}

static uint64_t finish_key(void *ctx, size_t job) {
    return ((struct batch *)ctx)->result[job]->hash;
}

static void finish_pack(struct pack *p, void *ctx, size_t job) {
    evidence_pack(p, ((struct batch *)ctx)->result[job]);
}

static bool batch_late(const void *ctx) {
    return search_hurried(((const struct batch *)ctx)->search);
}

static const struct journal_step fit_step = {"fit", fit_job, fit_key, fit_pack, batch_late},
                                 finish_step = {"finish", finish_job, finish_key, finish_pack,
                                                batch_late};

/* Structures whose evaluation did not finish are forgotten, so that a resumed search meets them
 * again: those of this batch, and those abandoned relative to an estimate that is forgotten,
 * too. */
static void forget_open(struct search *s, size_t from, double best) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        bool open = i >= from && e->open, above = e->rough && evidence_total(e) > best;
        if (i < s->pinned || (!open && !above)) {
            s->at[n++] = e;
            continue;
        }
        s->of[e->id] = NULL;
        evidence_free(e);
    }
    s->n = n;
}

/* The user asked to finish, or the time is over, and jobs not yet begun were left out. If nothing
 * is known yet, the best structure begun is evaluated to the end, so that there is a result. */
static void hurry(struct batch *b, size_t before) {
    struct search *s = b->search;
    struct evidence *open = NULL;
    double best = -INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if (evidence_fitted(e)) best = fmax(best, evidence_total(e));
        if (e->open && (!open || evidence_total(e) > evidence_total(open))) open = e;
    }
    if (best == -INFINITY && open) {
        struct density t = s->space->ops->density(s->space, open, 0, false);
        t.haste = NULL;
        evidence_finish(open, t, -INFINITY, s->space->rules);
        if (evidence_fitted(open)) best = evidence_total(open);
    }
    if (best > -INFINITY) forget_open(s, before, best);
    if (b->parent) s->of[b->parent->id]->climbed = s->of[b->parent->id]->expanded = false;
}

static void run_batch(struct batch *b) {
    struct search *s = b->search;
    size_t before = s->n;
    b->result = mem_zalloc((b->id.n + 1) * sizeof(struct evidence *));
    journal_step(s->opt.journal, s->opt.threads, b->id.n + b->old.n, &fit_step, b);
    for (size_t i = 0; i < b->id.n; i++) {
        if (!b->result[i]) continue;
        b->result[i]->found_in = b->round;
        search_store(s, b->result[i]);
    }
    search_find_top(s);
    if (!search_late(s)) journal_step(s->opt.journal, s->opt.threads, b->id.n, &finish_step, b);
    if (search_late(s)) hurry(b, before), s->cut = true;
    search_find_top(s);
    mem_free(b->result);
    vec_release(&b->id);
    vec_release(&b->old);
}

static void prepare(const struct batch *b) {
    struct space *s = b->search->space;
    if (s->ops->prepare) s->ops->prepare(s, b->search, b->parent, b->dense);
}

/* How far below the top a group may be to be looked into. */
static double group_window(const struct search *s, int g) {
    return g < s->space->seeded ? GROUP_WINDOW : s->how.window;
}

/* A group that is far behind gets no seeds any more. */
static void seed(struct search *s, bool fast, bool dense) {
    struct batch b = {.search = s, .fast = fast, .dense = dense};
    prepare(&b);
    for (int g = 0; g < s->space->seeded; g++) {
        double best = s->n == 0 ? INFINITY : -INFINITY;
        for (size_t i = 0; i < s->n; i++)
            if (s->at[i]->group == g) best = fmax(best, evidence_total(s->at[i]));
        if (best >= s->top - GROUP_WINDOW) s->space->ops->seeds(s->space, g, collect, &b);
    }
    run_batch(&b);
}

/* Neighbours of e: those with a fast density once, all the others later. */
static void expand(struct search *s, struct evidence *e, bool climb) {
    struct batch b = {.search = s, .parent = e, .fast = !e->climbed, .dense = !climb};
    e->climbed = true;
    e->expanded = !climb;
    s->rounds++;
    e->round = b.round = s->rounds;
    prepare(&b);
    s->space->ops->neighbours(s->space, e, collect, &b);
    run_batch(&b);
}

/* lent: also of those that were lent. */
static struct evidence *best_unexpanded(const struct search *s, bool climb, double window,
                                        bool lent) {
    struct evidence *best = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if ((climb ? e->climbed : e->expanded) || !evidence_fitted(e) || (e->lent && !lent))
            continue;
        if (evidence_total(e) < s->top - window) continue;
        if (!best || evidence_total(e) > evidence_total(best)) best = e;
    }
    return best;
}

/* ---- sampling ---- */
/* For a first estimate, and for what hardly counts. */
static size_t few_draws(const struct search *s) {
    return s->opt.draws / 5 + 20;
}

struct sampling {
    struct search *s;
    struct evidence **e;
    size_t n, draws;
    double top; /* of which all draws are wanted */
};

/* An error of an evidence moves probabilities in proportion to its own share, and falls with the
 * root of the draws: at the top all of them, below it as many as leave errors alike, but few are
 * needed to know one's own error. Where no structure has a quarter of the probability, the top has
 * less to move, too. */
static double sampled_top(const struct search *s) {
    double all = 0;
    for (size_t i = 0; i < s->n; i++) {
        double w = exp(evidence_total(s->at[i]) - s->top);
        if (!isnan(w)) all += w;
    }
    return s->top + fmax(log(all / 4), 0);
}

static size_t draws_of(const struct sampling *p, const struct evidence *e) {
    double share = exp(0.5 * fmin(evidence_total(e) - p->top, 0));
    size_t n = (size_t)((double)p->draws * share), few = few_draws(p->s);
    double lent = e->se < LENT_ERROR ? SEARCH_LENT : LENT_UNSURE;
    if (e->lent && evidence_total(e) < p->s->top - lent) return 0;
    return n > few ? n : p->draws < few ? p->draws : few;
}

static void sample_job(void *ctx, size_t job, int thread) {
    struct sampling *p = ctx;
    struct space *s = p->s->space;
    size_t n = draws_of(p, p->e[job]);
    if (p->e[job]->lent) space_refit(s, p->e[job], thread);
    struct density t = s->ops->density(s, p->e[job], thread, true);
    evidence_sample(p->e[job], n, p->s->opt.seed, t);
}

static uint64_t sample_key(void *ctx, size_t job) {
    struct sampling *p = ctx;
    return p->e[job]->hash ^ p->draws;
}

static void sample_pack(struct pack *p, void *ctx, size_t job) {
    evidence_pack(p, ((struct sampling *)ctx)->e[job]);
}

static bool sample_late(const void *ctx) {
    return search_hurried(((const struct sampling *)ctx)->s);
}

static const struct journal_step sample_step = {"sample", sample_job, sample_key, sample_pack,
                                                sample_late};

static bool wanting(const struct sampling *p, const struct evidence *e) {
    size_t n = draws_of(p, e);
    return n && (e->lent || e->draws.n < n);
}

/* Structures within `window` of the top whose draws are fewer than `draws`; past the deadline a few
 * draws of those close to the top. */
static void sample_near_top(struct search *s, double window, size_t draws) {
    if (search_late(s)) {
        window = LATE_WINDOW;
        draws = LATE_DRAWS;
        s->cut = true;
    }
    struct sampling p = {s, NEW_ARRAY(struct evidence *, s->n + 1), 0, draws, sampled_top(s)};
    for (size_t i = 0; i < s->n; i++)
        if (evidence_fitted(s->at[i]) && wanting(&p, s->at[i]) &&
            evidence_total(s->at[i]) > s->top - window)
            p.e[p.n++] = s->at[i];
    journal_step(s->opt.journal, s->opt.threads, p.n, &sample_step, &p);
    s->cut |= search_late(s);
    mem_free(p.e);
    search_find_top(s);
}

enum gpm_status search_no_shortage(unsigned long before, enum gpm_status st, struct buf *err) {
    if (mem_shortages() == before) return st;
    buf_reset(err);
    return buf_fail(err, GPM_E_NOMEM, "out of memory");
}

enum gpm_status search_not_stopped(const volatile sig_atomic_t *stop, enum gpm_status st,
                                   struct buf *err) {
    if (!stop_asked(stop)) return st;
    buf_reset(err);
    return buf_fail(err, GPM_E_INTERRUPT, "interrupted");
}

void search_sample(struct search *s) {
    sample_near_top(s, SAMPLE_WINDOW, few_draws(s));
    sample_near_top(s, 2.0, s->opt.draws);
}

/* Share of the structures from `from` on of the probability of all. */
static double found(const struct search *s, size_t from) {
    double all = 0, new = 0;
    for (size_t i = 0; i < s->n; i++) {
        double w = exp(evidence_total(s->at[i]) - s->top);
        if (isnan(w)) continue;
        all += w;
        if (i >= from) new += w;
    }
    return all > 0 ? new / all : 0;
}

/* Has an error of the model, or a request to stop, ended the search? */
static bool ended(struct search *s) {
    if (s->space->st == GPM_OK && stop_asked(s->opt.stop)) s->space->st = GPM_E_INTERRUPT;
    return s->space->st != GPM_OK;
}

static bool at_limit(const struct search *s) {
    return s->n >= s->space->most || stop_asked(s->opt.finish) || clock_seconds() > s->grown ||
           mem_shortages() != s->shortages;
}

static void grow(struct search *s, bool climb) {
    struct evidence *e;
    for (int idle = 0; !ended(s) && idle < s->how.idle;) {
        size_t before = s->n;
        if (!(e = best_unexpanded(s, climb, s->how.window, false))) break;
        if (at_limit(s)) {
            s->cut = true;
            return;
        }
        expand(s, e, climb);
        idle = found(s, before) < IDLE_SHARE ? idle + 1 : 0;
    }
}

/* Structures whose neighbours were not visited would lead to others at the rate at which the last
 * of those that were expanded did (a quarter of them, at least four): probability found, and not
 * expanded itself since, for probability expanded. */
double search_unexplored(const struct search *s) {
    double all = 0, left = 0, expanded = 0, found = 0;
    int last = s->rounds - (s->rounds > 16 ? s->rounds / 4 : 4);
    for (size_t i = 0; i < s->n; i++) {
        const struct evidence *e = s->at[i];
        double w = exp(evidence_total(e) - s->top);
        if (isnan(w)) continue;
        all += w;
        if (!e->expanded) left += w;
        if (e->round > last) expanded += w;
        if (!e->expanded && e->found_in > last && e->found_in > 0) found += w;
    }
    return left / all * (expanded > 0 ? fmin(found / expanded, 1) : 1);
}

/* Many structures that count little each have been left, and lead to others: the best of them are
 * expanded until little is to be expected of the rest. They leave room for what counts more. */
#define WIDE_WINDOW 5.0
#define WIDE_SHARE  0.8 /* of the structures at most */

static void widen(struct search *s) {
    struct evidence *e;
    for (int k = 0; k < s->how.widen && !s->cut && !ended(s); k++) {
        if (search_unexplored(s) < s->how.left || at_limit(s)) break;
        if ((double)s->n > WIDE_SHARE * (double)s->space->most) break;
        if (!(e = best_unexpanded(s, false, WIDE_WINDOW, true))) break;
        expand(s, e, false);
        search_lend(s, e);
    }
}

/* The best structure of each group is expanded, also where it lies outside the window: what the
 * other transform needs (noise that changes, say) may be a dense term that nothing led to yet. */
static void try_groups(struct search *s) {
    for (int g = 0; g < s->space->groups; g++) {
        struct evidence *best = NULL;
        for (size_t i = 0; i < s->n; i++) {
            struct evidence *e = s->at[i];
            if (e->group != g || !evidence_fitted(e)) continue;
            if (!best || evidence_total(e) > evidence_total(best)) best = e;
        }
        if (best && !best->expanded && evidence_total(best) > s->top - group_window(s, g) &&
            !search_late(s))
            expand(s, best, false);
    }
}

/* ---- what the data suggest ---- */
/* The best of a group beside which changes are looked for: of all, of those that cannot imitate a
 * change by bending, of those that have none yet. The last: a change in the first form that was
 * found leaves nothing to see of a better one. */
enum beside { BESIDE_ALL, BESIDE_PLAIN, BESIDE_UNCHANGED, BESIDES };

static bool may_stand(const struct search *s, const struct evidence *e, enum beside which) {
    const struct space_ops *ops = s->space->ops;
    if (which == BESIDE_PLAIN) return e->prop.n && ops->plain(e);
    return evidence_fitted(e) && (which == BESIDE_ALL || ops->unchanged(e));
}

static struct evidence *best_fitted(const struct search *s, int group, enum beside which) {
    struct evidence *best = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if (e->group != group || !may_stand(s, e, which)) continue;
        if (!best || evidence_total(e) > evidence_total(best)) best = e;
    }
    return best;
}

/* Suggestions in a group: were some of them worth a search around them? They are near the top, or
 * bring their group nearer: the same change hides what one transform sees, and not another's. */
static bool try_suggestions_in(struct search *s, int group) {
    size_t before = s->n;
    struct evidence *done[BESIDES] = {best_fitted(s, group, BESIDE_ALL)};
    if (!done[0] || evidence_total(done[0]) < s->top - group_window(s, group)) return false;
    double own = evidence_total(done[0]);
    for (int k = 0; k < BESIDES; k++) {
        struct evidence *e = best_fitted(s, group, (enum beside)k);
        bool again = k > 0 && e == done[0];
        for (int i = 1; i < k; i++) again |= e == done[i];
        done[k] = e;
        if (!e || again) continue;
        struct batch b = {.search = s, .parent = e, .fast = true, .dense = true, .suggested = true};
        prepare(&b);
        s->space->ops->suggestions(s->space, e, collect, &b);
        run_batch(&b);
    }
    bool worth = false;
    double window = s->how.window;
    for (size_t i = before; i < s->n; i++) {
        if (!evidence_fitted(s->at[i])) continue;
        double total = evidence_total(s->at[i]);
        worth |= total > s->top - window || total > own + window;
    }
    return worth;
}

static bool try_suggestions(struct search *s) {
    bool worth = false;
    for (int g = 0; g < s->space->groups && !s->cut && !ended(s); g++)
        worth |= try_suggestions_in(s, g);
    return worth;
}

/* Other groups, changes, then draws: those may lift a structure into the window. */
static void explore(struct search *s) {
    try_groups(s);
    grow(s, false);
    for (int k = 0; k < s->how.suggested && s->space->ops->suggestions && !s->cut && !ended(s);
         k++) {
        if (!try_suggestions(s)) break;
        try_groups(s);
        grow(s, false);
    }
    for (int pass = 0; pass < 2; pass++) { /* sampling may lift a structure into the window */
        if (!pass) search_lend(s, NULL);
        sample_near_top(s, SAMPLE_WINDOW, few_draws(s));
        grow(s, false);
        widen(s);
    }
    search_lend(s, NULL);
    widen(s);
    search_sample(s);
}

enum gpm_status search_extend(struct search *s) {
    grow(s, false);
    explore(s);
    return ended(s) ? s->space->st : GPM_OK;
}

enum gpm_status search_run(struct search *s) {
    double start = clock_seconds();
    s->shortages = mem_shortages();
    search_limit(s, start);
    if (s->space->ops->fast) {
        seed(s, true, false);
        grow(s, true);
    }
    seed(s, false, true);
    if (ended(s)) return s->space->st;
    if (!isfinite(s->top))
        return stop_asked(s->opt.finish) ? GPM_E_INTERRUPT : GPM_E_NO_CONVERGENCE;
    enum gpm_status st = search_extend(s);
    s->seconds = clock_seconds() - start;
    return st;
}

static void again_job(void *ctx, size_t job, int thread) {
    struct sampling *p = ctx;
    struct space *s = p->s->space;
    if (!search_late(p->s)) space_refit(s, p->e[job], thread);
}

static const struct journal_step again_step = {"again", again_job, sample_key, sample_pack,
                                               sample_late};

enum gpm_status search_resume(struct search *s) {
    double start = clock_seconds();
    struct sampling p = {.s = s, .e = NEW_ARRAY(struct evidence *, s->n + 1)};
    /* A folder keeps modes, not the shapes around them, which chains and samplers draw from. All
     * get theirs again: which structures are near the top changes as they do. */
    for (size_t i = 0; i < s->n; i++)
        if (evidence_fitted(s->at[i])) p.e[p.n++] = s->at[i];
    s->shortages = mem_shortages();
    s->cut = false;
    s->opt.draws *= 2;
    s->space->steps *= 2;
    s->space->most *= 2;
    search_limit(s, start);
    journal_step(s->opt.journal, s->opt.threads, p.n, &again_step, &p);
    mem_free(p.e);
    if (ended(s)) return s->space->st;
    if (search_late(s)) return GPM_E_INTERRUPT;
    search_find_top(s);
    enum gpm_status st = search_extend(s);
    s->seconds += clock_seconds() - start;
    return st;
}

/* ---- the way back ---- */
void search_set_mark(struct search *s, struct search_mark *m) {
    struct pack p;
    *m = (struct search_mark){.was = *s, .space = *s->space, .computed = BUF_INIT};
    s->pinned = s->n;
    m->flat = NEW_ARRAY(struct evidence, s->n + 1);
    pack_begin_write(&p);
    for (size_t i = 0; i < s->n; i++) {
        m->flat[i] = *s->at[i];
        evidence_pack(&p, s->at[i]);
    }
    buf_add(&m->computed, p.out.data, p.out.len);
    pack_release(&p);
}

void search_go_back(struct search *s, struct search_mark *m) {
    struct pack p;
    pack_begin_read(&p, m->computed.data, m->computed.len);
    for (size_t i = 0; i < m->was.n; i++) {
        struct evidence *e = s->at[i];
        const struct evidence *was = &m->flat[i];
        evidence_pack(&p, e);
        e->climbed = was->climbed;
        e->expanded = was->expanded;
        e->round = was->round;
        e->found_in = was->found_in;
    }
    pack_release(&p);
    for (size_t i = m->was.n; i < s->n; i++) {
        if (s->at[i]->id < s->n_of) s->of[s->at[i]->id] = NULL;
        evidence_free(s->at[i]);
    }
    struct search now = *s;
    *s = m->was;
    s->at = now.at, s->cap = now.cap; /* they may have grown */
    s->of = now.of, s->n_of = now.n_of;
    *s->space = m->space;
    search_release_mark(s, m);
}

void search_release_mark(struct search *s, struct search_mark *m) {
    s->pinned = 0;
    mem_free(m->flat);
    buf_release(&m->computed);
}
