/* SPDX-License-Identifier: Apache-2.0
 *
 * Search. What a question says of structures is decided once per distinct structure, for every
 * predicate counting as true and as it bounds the answer from above; a pass over the postings gives
 * each series a bound, and sketches are read from the best bound on until no other series can be
 * among the best. A question without predicates over functions is answered by the postings alone.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "index/index.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probabilities are means over SKETCH_DRAWS draws, with errors of .02 and more: closer than this
 * they are equal. */
#define TIE 5e-3

#define BOUND_STEPS 400 /* that bounds are counted in */

struct candidate {
    double bound;
    int64_t id;
};
struct scan {
    struct catalog *c;
    const struct ask *q;
    float *holds; /* by number of a structure: the most that it adds, 0 or 1 */
    VEC(struct candidate) at;
    double least;
    int64_t series;
    size_t count[BOUND_STEPS + 1]; /* of candidates, by their bound in steps */
    /* of a posting to be compared with: sqrt of its probabilities by number of a structure */
    bool like;
};

void index_result_release(struct index_result *r) {
    for (size_t i = 0; i < r->n; i++) {
        struct index_hit *h = &r->at[i];
        mem_free(h->name);
        mem_free(h->source);
        mem_free(h->words);
        mem_free(h->structure);
        sketch_release(&h->sketch);
    }
    mem_free(r->at);
    mem_free(r->question);
    mem_free(r->reading);
    memset(r, 0, sizeof *r);
}

/* ---- the pass over postings ---- */
static int step_of(double bound) {
    return (int)(fmin(bound, 1) * BOUND_STEPS);
}

/* Where bounds are the answers, those that cannot be among the best go before the rest is sorted.
 */
static void keep_best(struct scan *s, size_t top) {
    size_t above = 0, kept = 0;
    int step = BOUND_STEPS;
    for (; step > 0 && above < top; step--) above += s->count[step];
    for (size_t i = 0; i < s->at.n; i++) /* one step more: ties */
        if (step_of(s->at.at[i].bound) + 2 >= step) s->at.at[kept++] = s->at.at[i];
    s->at.n = kept;
}

static enum gpm_status scan_block(void *ctx, int64_t first, const void *data, size_t n) {
    struct scan *s = ctx;
    const uint8_t *p = data, *end = p + n;
    uint32_t most = catalog_structures(s->c);
    for (int64_t id = first + 1; p < end; id++) {
        if (end - p < 2) return GPM_E_FORMAT;
        size_t len = p[0] | (size_t)p[1] << 8;
        p += 2;
        if ((size_t)(end - p) < len || len % 6) return GPM_E_FORMAT;
        double sum = 0, all = 0;
        for (const uint8_t *e = p + len; p < e; p += 6) {
            uint32_t k = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            double share = (double)(p[4] | (unsigned)p[5] << 8);
            if (k > most) return GPM_E_FORMAT;
            all += share;
            sum += s->holds[k] * (s->like ? sqrt(share) : share);
        }
        if (!len) continue;
        s->series++;
        sum = all > 0 ? s->like ? sum / sqrt(all) : sum / all : 0;
        if (sum < s->least) continue;
        s->count[step_of(sum)]++;
        vec_push(&s->at, ((struct candidate){sum, id}));
    }
    return GPM_OK;
}

static int by_bound(const void *a, const void *b) {
    const struct candidate *p = a, *q = b;
    if (p->bound != q->bound) return p->bound < q->bound ? 1 : -1;
    return p->id < q->id ? -1 : p->id > q->id;
}

/* ---- hits ---- */
static bool worse(const struct index_hit *a, const struct index_hit *b) {
    double p = floor(a->probability / TIE + 0.5), q = floor(b->probability / TIE + 0.5);
    if (p != q) return p < q;
    return a->error != b->error ? a->error > b->error : a->id > b->id;
}

struct reading {
    struct scan *s;
    struct index_hit hit;
};

static enum gpm_status read_hit(void *ctx, const struct catalog_row *row, struct buf *err) {
    struct reading *r = ctx;
    struct index_names who = {r->s->c, err};
    struct sketch_names names = index_names(&who);
    struct index_hit *h = &r->hit;
    memset(h, 0, sizeof *h);
    if (sketch_read(&h->sketch, &names, row->sketch, row->n_sketch) != GPM_OK)
        return buf_fail(err, GPM_E_FORMAT,
                        "the sketch of '%s' is damaged; remove it from the index and add it again",
                        row->name);
    h->id = row->id;
    h->name = mem_strdup(row->name);
    h->source = mem_strdup(row->source);
    h->words = mem_strdup(row->words);
    h->structure = mem_strdup(h->sketch.structure[0].text);
    h->p_structure = h->sketch.structure[0].p;
    return GPM_OK;
}

static void free_hit(struct index_hit *h) {
    struct index_result one = {.at = mem_alloc(sizeof *h), .n = 1};
    one.at[0] = *h;
    index_result_release(&one);
}

/* Into its place; the last one goes when there are more than `top`. */
static void keep(struct index_result *out, struct index_hit h, size_t top) {
    size_t i = out->n;
    if (out->n == top && worse(&h, &out->at[top - 1])) {
        free_hit(&h);
        return;
    }
    if (out->n == top) {
        free_hit(&out->at[--i]);
        out->n--;
    }
    for (; i > 0 && worse(&out->at[i - 1], &h); i--) out->at[i] = out->at[i - 1];
    out->at[i] = h;
    out->n++;
}

static enum gpm_status visit(struct scan *s, size_t top, struct index_result *out,
                             struct buf *err) {
    enum gpm_status st = GPM_OK;
    bool exact = s->like || !ask_dated(s->q);
    if (exact) keep_best(s, top);
    qsort(s->at.at, s->at.n, sizeof *s->at.at, by_bound);
    out->at = mem_zalloc((top + 1) * sizeof *out->at);
    for (size_t i = 0; i < s->at.n && !st; i++) {
        const struct candidate *c = &s->at.at[i];
        if (out->n == top && out->at[top - 1].probability >= c->bound - TIE / 2) break;
        struct reading r = {.s = s};
        st = catalog_each(s->c, c->id, read_hit, &r, err);
        if (st || !r.hit.name) continue;
        out->looked++;
        struct query_answer a =
            exact ? (struct query_answer){c->bound, 1e-4, 0} : ask_sketch(s->q, &r.hit.sketch);
        if (exact && !s->like) a.error = ask_sketch(s->q, &r.hit.sketch).error;
        r.hit.probability = a.probability;
        r.hit.error = a.error;
        if (a.probability < s->least)
            free_hit(&r.hit);
        else
            keep(out, r.hit, top);
    }
    return st;
}

static enum gpm_status run(struct scan *s, size_t top, struct index_result *out, struct buf *err) {
    enum gpm_status st = catalog_blocks(s->c, scan_block, s, err);
    if (!st) st = visit(s, top, out, err);
    out->series = s->series;
    vec_release(&s->at);
    mem_free(s->holds);
    catalog_close(s->c);
    if (st) index_result_release(out);
    return st;
}

enum gpm_status index_search(const char *path, const char *question, size_t top, double least,
                             struct index_result *out, struct buf *err) {
    struct scan s = {.least = fmax(least, 1e-3)};
    struct arena a = {0};
    struct ask *q = NULL;
    const char *formal;
    memset(out, 0, sizeof *out);
    enum gpm_status st = ask_read(question, &a, &q, &formal, err);
    if (!st) st = catalog_open(&s.c, path, CATALOG_READ, err);
    if (!st) {
        uint32_t n = catalog_structures(s.c);
        s.q = q;
        s.holds = NEW_ARRAY(float, n + 1);
        s.holds[0] = 0;
        for (uint32_t k = 1; k <= n; k++) {
            const char *text = catalog_structure_text(s.c, k);
            s.holds[k] = text && ask_holds(q, text, true);
        }
        out->question = mem_strdup(question);
        out->reading = mem_strdup(formal);
        st = run(&s, top, out, err);
    }
    arena_release(&a);
    return st;
}

/* ---- like ---- */
/* The posterior over structures of a series of the index, a kept run or a file. */
static enum gpm_status find_posterior(struct scan *s, const char *like,
                                      const struct index_options *o, struct sketch *p,
                                      struct buf *err) {
    struct reading r = {.s = s};
    struct buf why = BUF_INIT;
    int64_t id = 0;
    enum gpm_status st = catalog_number(s->c, like, &id, err);
    if (!st && id) {
        st = catalog_each(s->c, id, read_hit, &r, err);
        *p = r.hit.sketch;
        memset(&r.hit.sketch, 0, sizeof r.hit.sketch);
        free_hit(&r.hit);
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
    struct scan s = {.least = 1e-3, .like = true};
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
    s.holds = mem_zalloc((n + 1) * sizeof *s.holds);
    for (size_t i = 0; i < p.n_structures; i++) all += p.structure[i].p;
    for (uint32_t k = 1; k <= n; k++)
        for (size_t i = 0; i < p.n_structures; i++)
            if (!strcmp(catalog_structure_text(s.c, k), p.structure[i].text))
                s.holds[k] = (float)sqrt(p.structure[i].p / all);
    struct buf reading = BUF_INIT;
    buf_printf(&reading, "the same structure as %s (%s)", like,
               p.n_structures ? p.structure[0].text : "none");
    sketch_release(&p);
    out->question = mem_strdup(like);
    out->reading = buf_take(&reading);
    return run(&s, top, out, err);
}
