/* SPDX-License-Identifier: Apache-2.0
 *
 * Search. A pass over the traits of all series (apps/discover/traits.h) gives each a bound of its
 * answer from above; sketches are read from the best bounds on, until no other series can be among
 * the best. So the results are those that reading every sketch would give, in the same order: by
 * probability, then error, both in steps, then number. A question without predicates over functions
 * is answered by the pass alone.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "apps/discover/traits.h"
#include "apps/index/index.h"
#include <math.h>
#include <string.h>

/* Probabilities are means over SKETCH_DRAWS draws, with errors of .02 and more: closer than TIE
 * they are equal, and errors that differ by less than UNSURE are. */
#define TIE    5e-3
#define UNSURE 2e-2
#define TIES   200 /* of TIE */
#define NONE   255 /* no candidate */

static int step_of(double v) {
    double in = v > 0 ? v : 0; /* no number: 0 */
    return (int)((in < 1 ? in : 1) * TIES + 0.5);
}

/* An answer by what ranks it. */
struct ranked {
    int64_t id;
    double probability, error;
};
struct scan {
    struct catalog *c;
    const struct ask *q; /* NULL: structures are compared */
    float *weight;       /* by number of a structure */
    bool exact;          /* the pass gives answers, not bounds */
    double least;
    double floor;          /* series below it cannot be among the best; from the lower bounds */
    size_t sure[TIES + 1]; /* series whose answer is this step at least, rounded down */
    int64_t series, looked;
    VEC(uint8_t) step;       /* of the bound of each number */
    VEC(float) value, error; /* of each number, where they are the answers */
    size_t count[TIES + 1];  /* of candidates by step */
    struct ranked *best;     /* the best first */
    size_t n_best, top;
};

static void release_hit(struct index_hit *h) {
    mem_free(h->name);
    mem_free(h->source);
    mem_free(h->words);
    mem_free(h->structure);
    sketch_release(&h->sketch);
}

void index_result_release(struct index_result *r) {
    for (size_t i = 0; i < r->n; i++) release_hit(&r->at[i]);
    mem_free(r->at);
    mem_free(r->question);
    mem_free(r->reading);
    memset(r, 0, sizeof *r);
}

/* ---- the pass over traits ---- */
static enum gpm_status make_traits(void *ctx, const struct catalog_row *r, struct buf *part,
                                   struct buf *err) {
    struct index_names who = {ctx, err};
    struct sketch_names names = index_names(&who);
    struct sketch p;
    if (!r) {
        traits_add(NULL, &names, part);
        return GPM_OK;
    }
    if (sketch_read(&p, &names, r->sketch, r->n_sketch) != GPM_OK)
        return index_damaged(r->name, err);
    traits_add(&p, &names, part);
    sketch_release(&p);
    return GPM_OK;
}

struct catalog_maker index_maker(struct catalog *c) {
    return (struct catalog_maker){TRAITS, make_traits, c};
}

enum gpm_status index_damaged(const char *name, struct buf *err) {
    return buf_fail(err, GPM_E_FORMAT,
                    "the sketch of '%s' is damaged; remove it from the index and add it again",
                    name);
}

/* The bounds of a block into lo, hi; where they are answers, hi is the answer and lo its error. */
static enum gpm_status bounds_of(const struct scan *s, const struct traits *t, float *lo, float *hi,
                                 struct buf *err) {
    struct index_names who = {s->c, err};
    struct sketch_names names = index_names(&who);
    if (s->exact) return traits_structures(t, s->weight, catalog_structures(s->c), !s->q, hi, lo);
    return traits_bound(s->q, t, &names, (float)s->floor, lo, hi);
}

/* As many answers as wanted reach some step: series that cannot reach it are out. */
static void raise_floor(struct scan *s, const uint8_t *live, const float *lo, size_t n) {
    float least = (float)s->floor;
    size_t above = 0;
    if (s->floor > 1 - 2 * TIE) return; /* no higher one is possible */
    for (size_t i = 0; i < n; i++)
        if (lo[i] > least && live[i]) s->sure[(int)(lo[i] * TIES)]++;
    for (int step = TIES; step >= 0; step--)
        if ((above += s->sure[step]) >= s->top) {
            s->floor = fmax(s->floor, (step - 1.01) * TIE); /* below by more than a tie */
            break;
        }
}

/* For each series the step of its upper bound; initially `step` is `NONE`. */
static void take_steps(struct scan *s, const uint8_t *live, const float *hi, size_t n,
                       uint8_t *step) {
    float least = (float)(s->exact ? s->least : s->floor);
    for (size_t i = 0; i < n; i++) s->series += live[i] != 0;
    for (size_t i = 0; i < n; i++)
        if (hi[i] >= least && live[i]) s->count[step[i] = (uint8_t)step_of(hi[i])]++;
}

static enum gpm_status scan_block(void *ctx, const struct catalog_block *b, struct buf *err) {
    struct scan *s = ctx;
    struct traits t = {.n = b->bytes[TRAIT_LIVE]};
    const uint8_t *live = b->part[TRAIT_LIVE];
    for (int i = 0; i < TRAITS; i++) {
        t.part[i] = b->part[i];
        t.bytes[i] = b->bytes[i];
    }
    float *lo = NEW_ARRAY(float, 2 * t.n + 1), *hi = lo + t.n;
    size_t first = s->step.n, want = (size_t)b->first + t.n;
    enum gpm_status st = (size_t)b->first < first ? GPM_E_FORMAT : bounds_of(s, &t, lo, hi, err);
    if (!st) {
        vec_reserve(&s->step, want);
        memset(s->step.at + first, NONE, want - first);
        s->step.n = want;
        take_steps(s, live, hi, t.n, s->step.at + b->first);
        if (!s->exact) raise_floor(s, live, lo, t.n);
    }
    if (!st && s->exact) {
        vec_reserve(&s->value, want);
        vec_reserve(&s->error, want);
        memcpy(s->value.at + b->first, hi, t.n * sizeof *hi);
        memcpy(s->error.at + b->first, lo, t.n * sizeof *lo);
    }
    mem_free(lo);
    return st;
}

/* ---- the best ---- */
static bool better(const struct ranked *a, const struct ranked *b) {
    int p = step_of(a->probability), q = step_of(b->probability);
    if (p != q) return p > q;
    double e = floor(a->error / UNSURE + 0.5), f = floor(b->error / UNSURE + 0.5);
    return e != f ? e < f : a->id < b->id;
}

static void keep(struct scan *s, struct ranked r) {
    size_t i = s->n_best;
    if (i == s->top && !better(&r, &s->best[i - 1])) return;
    if (i == s->top)
        i--;
    else
        s->n_best++;
    for (; i > 0 && better(&r, &s->best[i - 1]); i--) s->best[i] = s->best[i - 1];
    s->best[i] = r;
}

/* Can no series from this number on, with a bound of this step, be among the best? No answer has an
 * error below that which one draw more would make (ask_sketch). */
static bool settled(const struct scan *s, int step, int64_t id) {
    double n = SKETCH_DRAWS, sure = POSTERIOR_ERROR_Z * sqrt(1 / (n * n * n));
    struct ranked hope = {id, step * TIE, s->exact ? 0 : sure};
    return s->n_best == s->top && !better(&hope, &s->best[s->top - 1]);
}

static enum gpm_status name_damaged(void *ctx, const struct catalog_row *r, struct buf *err) {
    return index_damaged(r->name, err);
}

static enum gpm_status answer(struct scan *s, int64_t id, struct ranked *r, bool *found,
                              struct buf *bytes, struct buf *err) {
    *r = (struct ranked){.id = id};
    *found = true;
    if (s->exact) {
        r->probability = s->value.at[id - 1];
        r->error = fmax(s->error.at[id - 1], 1e-4);
        return GPM_OK;
    }
    struct index_names who = {s->c, err};
    struct sketch_names names = index_names(&who);
    struct sketch p;
    buf_reset(bytes);
    enum gpm_status st = catalog_sketch(s->c, id, found, bytes, err);
    if (st || !*found) return st;
    if (sketch_read(&p, &names, bytes->data, bytes->len) != GPM_OK)
        return catalog_each(s->c, id, name_damaged, NULL, err);
    s->looked++;
    struct query_answer a = ask_sketch(s->q, &p);
    r->probability = a.probability;
    r->error = a.error;
    sketch_release(&p);
    return GPM_OK;
}

/* From the best bounds on, those of one step by their numbers. */
static enum gpm_status visit(struct scan *s, struct buf *err) {
    enum gpm_status st = GPM_OK;
    struct buf bytes = BUF_INIT;
    if (s->top > s->step.n) s->top = s->step.n + 1; /* there are no more */
    s->best = NEW_ARRAY(struct ranked, s->top + 1);
    for (int step = TIES; step >= 0 && !st && !settled(s, step, 0); step--) {
        const uint8_t *p = s->step.at, *end = p + s->step.n;
        for (size_t left = s->count[step]; left > 0 && !st; left--) {
            p = memchr(p, step, (size_t)(end - p));
            int64_t id = p++ - s->step.at + 1;
            struct ranked r;
            bool found;
            if (settled(s, step, id)) break;
            st = answer(s, id, &r, &found, &bytes, err);
            if (!st && found && r.probability >= s->least) keep(s, r);
        }
    }
    buf_release(&bytes);
    return st;
}

/* ---- results ---- */
struct reading {
    struct catalog *c;
    struct index_hit *hit;
};

static enum gpm_status read_hit(void *ctx, const struct catalog_row *row, struct buf *err) {
    struct reading *r = ctx;
    struct index_names who = {r->c, err};
    struct sketch_names names = index_names(&who);
    struct index_hit *h = r->hit;
    if (sketch_read(&h->sketch, &names, row->sketch, row->n_sketch) != GPM_OK)
        return index_damaged(row->name, err);
    h->id = row->id;
    h->name = mem_strdup(row->name);
    h->source = mem_strdup(row->source);
    h->words = mem_strdup(row->words);
    h->structure = mem_strdup(h->sketch.structure[0].text);
    h->p_structure = h->sketch.structure[0].p;
    return GPM_OK;
}

static enum gpm_status read_hits(struct scan *s, struct index_result *out, struct buf *err) {
    enum gpm_status st = GPM_OK;
    out->at = mem_zalloc((s->n_best + 1) * sizeof *out->at);
    for (size_t i = 0; i < s->n_best && !st; i++) {
        struct reading r = {s->c, &out->at[out->n]};
        st = catalog_each(s->c, s->best[i].id, read_hit, &r, err);
        if (!r.hit->name) continue; /* it was removed meanwhile */
        r.hit->probability = s->best[i].probability;
        r.hit->error = s->exact && s->q ? ask_sketch(s->q, &r.hit->sketch).error : s->best[i].error;
        out->n++;
    }
    return st;
}

static enum gpm_status run(struct scan *s, struct index_result *out, struct buf *err) {
    const uint64_t one = 1;
    struct catalog_maker maker = index_maker(s->c);
    uint64_t parts = s->exact ? one << TRAIT_LIVE | one << TRAIT_STRUCTURES : traits_needed(s->q);
    enum gpm_status st = catalog_blocks(s->c, &maker, parts, scan_block, s, err);
    if (!st) st = visit(s, err);
    if (!st) st = read_hits(s, out, err);
    out->series = s->series;
    out->looked = s->looked;
    vec_release(&s->step);
    vec_release(&s->value);
    vec_release(&s->error);
    mem_free(s->best);
    mem_free(s->weight);
    catalog_close(s->c);
    if (st) index_result_release(out);
    return st;
}

enum gpm_status index_search(const char *path, const char *question, size_t top, double least,
                             struct index_result *out, struct buf *err) {
    struct scan s = {.least = fmax(least, 1e-3), .top = top};
    s.floor = s.least;
    struct arena a = {0};
    struct ask *q = NULL;
    const char *formal;
    memset(out, 0, sizeof *out);
    enum gpm_status st = ask_read(question, &a, &q, &formal, err);
    if (!st) st = catalog_open(&s.c, path, CATALOG_READ, err);
    if (!st) {
        uint32_t n = catalog_structures(s.c);
        s.q = q;
        s.exact = !ask_dated(q);
        s.weight = mem_zalloc((n + 1) * sizeof *s.weight);
        for (uint32_t k = 1; k <= n && s.exact; k++) {
            const char *text = catalog_structure_text(s.c, k);
            s.weight[k] = text && ask_holds(q, text);
        }
        out->question = mem_strdup(question);
        out->reading = mem_strdup(formal);
        st = run(&s, out, err);
    }
    arena_release(&a);
    return st;
}

/* ---- like ---- */
/* The posterior over structures of a series of the index, a kept run or a file. */
static enum gpm_status find_posterior(struct scan *s, const char *like,
                                      const struct index_options *o, struct sketch *p,
                                      struct buf *err) {
    struct index_hit hit = {0};
    struct reading r = {s->c, &hit};
    struct buf why = BUF_INIT;
    int64_t id = 0;
    enum gpm_status st = catalog_number(s->c, like, &id, err);
    if (!st && id) {
        st = catalog_each(s->c, id, read_hit, &r, err);
        *p = hit.sketch;
        memset(&hit.sketch, 0, sizeof hit.sketch);
        release_hit(&hit);
    } else if (!st)
        st = index_sketch(like, o, p, &why);
    if (st && why.len)
        buf_printf(err, "'%s' is no series of the index, and as a file: %s", like, why.data);
    buf_release(&why);
    return st;
}

enum gpm_status index_like(const char *path, const char *like, size_t top,
                           const struct index_options *o, struct index_result *out,
                           struct buf *err) {
    struct scan s = {.least = 1e-3, .exact = true, .top = top};
    struct sketch p = {0};
    memset(out, 0, sizeof *out);
    enum gpm_status st = catalog_open(&s.c, path, CATALOG_READ, err);
    if (st) return st;
    st = find_posterior(&s, like, o, &p, err);
    if (st) {
        catalog_close(s.c);
        return st;
    }
    uint32_t n = catalog_structures(s.c);
    double all = 0;
    s.weight = mem_zalloc((n + 1) * sizeof *s.weight);
    for (size_t i = 0; i < p.n_structures; i++) all += p.structure[i].p;
    for (uint32_t k = 1; k <= n; k++)
        for (size_t i = 0; i < p.n_structures; i++)
            if (!strcmp(catalog_structure_text(s.c, k), p.structure[i].text))
                s.weight[k] = (float)sqrt(p.structure[i].p / all);
    struct buf reading = BUF_INIT;
    buf_printf(&reading, "the same structure as %s (%s)", like,
               p.n_structures ? p.structure[0].text : "none");
    sketch_release(&p);
    out->question = mem_strdup(like);
    out->reading = buf_take(&reading);
    return run(&s, out, err);
}
