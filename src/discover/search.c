/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: seeds, then the best unexpanded structure within the window again and again; then
 * importance sampling of everything near the top. On a regular grid it climbs by structures with a
 * fast likelihood first: the others are then measured against a high top, and most of them are
 * given up after a few steps.
 */
#include "discover/search.h"
#include "la/parallel.h"
#include "base/clock.h"
#include "base/mem.h"
#include "la/blas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRUNE            9.0  /* nats below the top at which a structure is given up early */
#define TRANSFORM_WINDOW 60.0 /* at which a whole transform is */

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

void search_options_init(struct search_options *o) {
    memset(o, 0, sizeof *o);
    grammar_init(&o->grammar, 0, false, true);
    o->seed = 1;
    o->window = 4.0;
    o->sample_window = 7.0;
}

static void set_limits(struct search *s) {
    struct search_options *o = &s->opt;
    if (o->threads <= 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o->threads = cores < 1 ? 1 : cores > 8 ? 8 : (int)cores;
    }
    size_t n = s->data->n;
    if (!o->draws) o->draws = n <= 300 ? 1000 : n <= 700 ? 500 : 200;
    if (!o->max_structures) o->max_structures = n <= 300 ? 600 : n <= 700 ? 300 : 150;
    if (!s->data->y[TRANSFORM_LOG]) o->grammar.logs = false;
}

static void screen_free(struct screen *c, int threads) {
    if (!c) return;
    for (int i = 0; i < threads; i++) smodel_work_free(c->work[i]);
    mem_free(c->work);
    smodel_data_release(&c->data);
    mem_free(c);
}

static enum gpm_status screen_init(struct search *s) {
    const struct smodel_data *d = s->data;
    if (d->n < SCREEN_FROM || !smodel_fast_grid(d)) return GPM_OK;
    struct screen *c = NEW(struct screen);
    c->work = NEW_ARRAY(struct smodel_work *, (size_t)s->opt.threads);
    enum gpm_status st = smodel_data_subset(d, SCREEN_SIZE, &c->data);
    for (int i = 0; i < s->opt.threads && st == GPM_OK; i++)
        if (!(c->work[i] = smodel_work_new(&c->data))) st = GPM_E_NOMEM;
    s->screen = c;
    return st;
}

enum gpm_status search_init(struct search *s, const struct smodel_data *data,
                            const struct search_options *o) {
    memset(s, 0, sizeof *s);
    s->data = data;
    s->opt = *o;
    s->top = -INFINITY;
    la_init();
    set_limits(s);
    s->work = NEW_ARRAY(struct smodel_work *, (size_t)s->opt.threads);
    for (int i = 0; i < s->opt.threads; i++) {
        s->work[i] = smodel_work_new(data);
        if (!s->work[i]) {
            for (int k = i + 1; k < s->opt.threads; k++) s->work[k] = NULL;
            search_release(s);
            return GPM_E_NOMEM;
        }
    }
    for (int tr = 0; tr < 2; tr++)
        if (data->y[tr]) period_hints_data(data, tr, &s->hints[tr]);
    enum gpm_status st = screen_init(s);
    if (st != GPM_OK) search_release(s);
    return st;
}

void search_release(struct search *s) {
    for (size_t i = 0; i < s->n; i++) evidence_free(s->at[i]);
    mem_free(s->at);
    map_release(&s->index);
    screen_free(s->screen, s->opt.threads);
    for (int i = 0; s->work && i < s->opt.threads; i++) smodel_work_free(s->work[i]);
    mem_free(s->work);
    memset(s, 0, sizeof *s);
}

struct evidence *search_find(const struct search *s, const struct structure *k) {
    struct evidence *e = map_get(&s->index, structure_hash(k));
    return e && structure_equal(&e->m.s, k) ? e : NULL;
}

/* ---- one round: a batch of new structures around a parent ---- */
struct batch {
    struct search *search;
    const struct evidence *parent;
    bool fast, slow; /* which structures are wanted: with a fast likelihood, with a dense one */
    struct period_hints hints[2];
    struct structure *s;
    struct evidence **result;
    size_t n, cap;
    struct evidence **old; /* known neighbours that may profit from the parent's optimum */
    size_t n_old, cap_old;
};

static double prior_of(const struct search *s, const struct structure *k) {
    return grammar_log_prior(&s->opt.grammar, k) + s->data->log_measure[k->transform];
}

static bool wanted(const struct batch *b, const struct structure *k) {
    struct smodel m;
    smodel_init(&m, b->search->data, k);
    return m.fast ? b->fast : b->slow;
}

static void collect(void *ctx, const struct structure *k) {
    struct batch *b = ctx;
    if (!wanted(b, k)) return;
    struct evidence *known = search_find(b->search, k);
    if (known) {
        if (!b->parent || known == b->parent || known->expanded) return;
        if (evidence_total(known) < b->search->top - 8) return;
        for (size_t i = 0; i < b->n_old; i++)
            if (b->old[i] == known) return;
        if (b->n_old == b->cap_old) {
            b->cap_old = b->cap_old ? 2 * b->cap_old : 32;
            b->old = mem_realloc(b->old, b->cap_old * sizeof *b->old);
        }
        b->old[b->n_old++] = known;
        return;
    }
    for (size_t i = 0; i < b->n; i++)
        if (structure_equal(&b->s[i], k)) return;
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        b->s = mem_realloc(b->s, b->cap * sizeof *b->s);
    }
    b->s[b->n++] = *k;
}

/* The best structure on the subset, started from where it is on all of the data. */
static void screen_top(struct search *s) {
    struct evidence *best = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (!s->at[i]->rough && (!best || evidence_total(s->at[i]) > evidence_total(best)))
            best = s->at[i];
    struct screen *c = s->screen;
    if (!best || structure_equal(&best->m.s, &c->best)) return;
    c->best = best->m.s;
    struct evidence *e = evidence_new(&c->data, &c->best,
                                      grammar_log_prior(&s->opt.grammar, &c->best) +
                                          c->data.log_measure[c->best.transform],
                                      best, &s->hints[c->best.transform], c->work[0]);
    c->top = evidence_total(e);
    evidence_free(e);
}

/* A dense structure on the subset first; what it loses there is what it would lose at least. */
static struct evidence *new_screened(const struct batch *b, const struct structure *k, int thread) {
    const struct search *s = b->search;
    struct screen *c = s->screen;
    const struct period_hints *hints = &b->hints[k->transform];
    double prior = grammar_log_prior(&s->opt.grammar, k), full = prior_of(s, k);
    struct evidence *e, *part = evidence_new(&c->data, k, prior + c->data.log_measure[k->transform],
                                             b->parent, hints, c->work[thread]);
    double behind = c->top - evidence_total(part);
    if (behind > SCREEN || !part->prop.n)
        e = evidence_guess(s->data, part, full, s->top - fmax(behind, PRUNE) - full);
    else
        e = evidence_new(s->data, k, full, part, hints, s->work[thread]);
    evidence_free(part);
    return e;
}

static void run_job(void *ctx, size_t job, int thread) {
    struct batch *b = ctx;
    struct search *s = b->search;
    if (job >= b->n) {
        evidence_improve(b->old[job - b->n], b->parent, s->work[thread]);
        return;
    }
    const struct structure *k = &b->s[job];
    struct smodel m;
    smodel_init(&m, s->data, k);
    b->result[job] = !m.fast && s->screen ? new_screened(b, k, thread)
                                          : evidence_new(s->data, k, prior_of(s, k), b->parent,
                                                         &b->hints[k->transform], s->work[thread]);
}

static void finish_job(void *ctx, size_t job, int thread) {
    struct batch *b = ctx;
    struct evidence *e = b->result[job];
    evidence_finish(e, b->search->top - e->log_prior - PRUNE, b->search->work[thread]);
}

static void store(struct search *s, struct evidence *e) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->at = mem_realloc(s->at, s->cap * sizeof *s->at);
    }
    e->index = (int)s->n;
    s->at[s->n++] = e;
    map_put(&s->index, structure_hash(&e->m.s), e);
}

static void find_top(struct search *s) {
    s->top = -INFINITY;
    s->evals = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->top = fmax(s->top, evidence_total(s->at[i]));
        s->evals += s->at[i]->evals;
    }
}

static void run_batch(struct batch *b) {
    struct search *s = b->search;
    b->result = NEW_ARRAY(struct evidence *, b->n + 1);
    if (s->screen && b->slow) screen_top(s);
    la_parallel(s->opt.threads, b->n + b->n_old, run_job, b);
    for (size_t i = 0; i < b->n; i++) store(s, b->result[i]);
    find_top(s);
    la_parallel(s->opt.threads, b->n, finish_job, b);
    find_top(s);
    mem_free(b->result);
    mem_free(b->s);
    mem_free(b->old);
}

/* A transform that is far behind gets no seeds any more. */
struct seeding {
    struct batch b;
    double best[2];
};

static void collect_seed(void *ctx, const struct structure *k) {
    struct seeding *x = ctx;
    if (x->best[k->transform] >= x->b.search->top - TRANSFORM_WINDOW) collect(&x->b, k);
}

static void seed(struct search *s, bool fast) {
    struct seeding x = {.b = {.search = s, .fast = fast, .slow = !fast}};
    memcpy(x.b.hints, s->hints, sizeof x.b.hints);
    for (int tr = 0; tr < 2; tr++) {
        x.best[tr] = s->n == 0 ? INFINITY : -INFINITY;
        for (size_t i = 0; i < s->n; i++)
            if (s->at[i]->m.s.transform == tr)
                x.best[tr] = fmax(x.best[tr], evidence_total(s->at[i]));
        if (tr == TRANSFORM_NONE || s->opt.grammar.logs)
            grammar_seeds(&s->opt.grammar, tr, collect_seed, &x);
    }
    run_batch(&x.b);
}

/* Neighbours of e: those with a fast likelihood once, all the others later. */
static void expand(struct search *s, struct evidence *e, bool climb) {
    struct batch b = {.search = s, .parent = e, .fast = !e->climbed, .slow = !climb};
    e->climbed = true;
    e->expanded = !climb;
    s->rounds++;
    memcpy(b.hints, s->hints, sizeof b.hints);
    period_hints_residual(e, s->work[0], &s->hints[e->m.s.transform], &b.hints[e->m.s.transform]);
    grammar_neighbours(&s->opt.grammar, &e->m.s, collect, &b);
    run_batch(&b);
}

static bool fitted(const struct evidence *e) {
    return !e->rough && e->prop.n > 0;
}

static struct evidence *best_unexpanded(const struct search *s, bool climb) {
    struct evidence *best = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if ((climb ? e->climbed : e->expanded) || !fitted(e)) continue;
        if (evidence_total(e) < s->top - s->opt.window) continue;
        if (!best || evidence_total(e) > evidence_total(best)) best = e;
    }
    return best;
}

/* ---- sampling ---- */
struct sampling {
    struct search *s;
    struct evidence **e;
    size_t n, draws;
};

static void sample_job(void *ctx, size_t job, int thread) {
    struct sampling *p = ctx;
    evidence_sample(p->e[job], p->draws, p->s->opt.seed, p->s->work[thread]);
}

/* Structures within `window` of the top whose draws are fewer than `draws`. */
static void sample_near_top(struct search *s, double window, size_t draws) {
    struct sampling p = {s, NEW_ARRAY(struct evidence *, s->n + 1), 0, draws};
    for (size_t i = 0; i < s->n; i++)
        if (fitted(s->at[i]) && s->at[i]->draws.n < draws &&
            evidence_total(s->at[i]) > s->top - window)
            p.e[p.n++] = s->at[i];
    la_parallel(s->opt.threads, p.n, sample_job, &p);
    mem_free(p.e);
    find_top(s);
}

enum gpm_status search_no_shortage(unsigned long before, enum gpm_status st, struct buf *err) {
    if (mem_shortages() == before) return st;
    buf_reset(err);
    buf_puts(err, "out of memory");
    return GPM_E_NOMEM;
}

/* A few draws of everything within the window, many of what matters. */
static void sample_all(struct search *s) {
    sample_near_top(s, s->opt.sample_window, s->opt.draws / 5 + 20);
    sample_near_top(s, 4.0, s->opt.draws);
}

static void grow(struct search *s, bool climb, double deadline) {
    struct evidence *e;
    while ((e = best_unexpanded(s, climb)) != NULL) {
        if (s->n >= s->opt.max_structures || clock_seconds() > deadline ||
            mem_shortages() != s->shortages) {
            s->cut = true;
            return;
        }
        expand(s, e, climb);
    }
}

/* The best structure of each transform is expanded, also where it lies outside the window: what the
 * other transform needs (noise that changes, say) may be a dense term that nothing led to yet. */
static void try_transforms(struct search *s) {
    for (int tr = 0; tr < 2; tr++) {
        struct evidence *best = NULL;
        for (size_t i = 0; i < s->n; i++) {
            struct evidence *e = s->at[i];
            if (e->m.s.transform != tr || !fitted(e)) continue;
            if (!best || evidence_total(e) > evidence_total(best)) best = e;
        }
        if (best && !best->expanded && evidence_total(best) > s->top - TRANSFORM_WINDOW)
            expand(s, best, false);
    }
}

enum gpm_status search_run(struct search *s) {
    double start = clock_seconds();
    s->shortages = mem_shortages();
    double deadline = s->opt.seconds > 0 ? start + s->opt.seconds : INFINITY;
    seed(s, true);
    grow(s, true, deadline);
    seed(s, false);
    if (!isfinite(s->top)) return GPM_E_NO_CONVERGENCE;
    grow(s, false, deadline);
    try_transforms(s);
    grow(s, false, deadline);
    for (int pass = 0; pass < 2; pass++) { /* sampling may lift a structure into the window */
        sample_near_top(s, s->opt.sample_window, s->opt.draws / 5 + 20);
        grow(s, false, deadline);
    }
    sample_all(s);
    s->seconds = clock_seconds() - start;
    return GPM_OK;
}

/* ---- refinement ---- */
struct refine {
    struct search *s;
    const struct evidence **from;
    struct evidence **result;
};

static void refine_job(void *ctx, size_t job, int thread) {
    struct refine *r = ctx;
    const struct evidence *e = r->from[job];
    r->result[job] = evidence_carry(r->s->data, e, prior_of(r->s, &e->m.s), r->s->work[thread]);
}

static int by_total(const void *a, const void *b) {
    double x = evidence_total(*(const struct evidence *const *)a);
    double y = evidence_total(*(const struct evidence *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

enum gpm_status search_refine(struct search *s, const struct search *coarse, size_t most) {
    double start = clock_seconds();
    struct refine r = {s, NEW_ARRAY(const struct evidence *, coarse->n + 1), NULL};
    size_t n = 0;
    for (size_t i = 0; i < coarse->n; i++) {
        const struct evidence *e = coarse->at[i];
        if (!e->rough && e->prop.n && evidence_total(e) > coarse->top - 6) r.from[n++] = e;
    }
    qsort(r.from, n, sizeof *r.from, by_total);
    if (n > most) n = most;
    r.result = NEW_ARRAY(struct evidence *, n + 1);
    la_parallel(s->opt.threads, n, refine_job, &r);
    for (size_t i = 0; i < n; i++) {
        r.result[i]->expanded = r.from[i]->expanded;
        store(s, r.result[i]);
    }
    find_top(s);
    mem_free(r.from);
    mem_free(r.result);
    if (!isfinite(s->top)) return GPM_E_NO_CONVERGENCE;
    s->rounds = coarse->rounds;
    s->cut = coarse->cut;
    sample_all(s);
    s->evals += coarse->evals;
    s->seconds = coarse->seconds + clock_seconds() - start;
    return GPM_OK;
}
