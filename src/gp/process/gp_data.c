/* SPDX-License-Identifier: Apache-2.0
 * Recorded pairs, grouped by distinct input, and their effect on the current factor. */
#include "gp/process/gp_engine.h"

#include "base/mem.h"
#include "numeric/la/blas.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- distinct inputs ---- */

/* Coordinates `ld` apart. */
static uint64_t hash_point(const double *x, size_t ld, int dim) {
    uint64_t h = 7;
    for (int c = 0; c < dim; c++) h = hash_key_add(h, hash_num(x[(size_t)c * ld]));
    return h;
}

static void index_entry(struct gp *g, size_t e) {
    map_put(&g->index, hash_point(g->x + e, g->cap, g->dim), (void *)(uintptr_t)(e + 1));
}

static bool same_point(const struct gp *g, size_t i, const double *x) {
    for (int c = 0; c < g->dim; c++)
        if (g->x[i + (size_t)c * g->cap] != x[c]) return false;
    return true;
}

/* Place of an input, SIZE_MAX when it is new. */
static size_t find(const struct gp *g, const double *x) {
    size_t at = (size_t)(uintptr_t)map_get(&g->index, hash_point(x, 1, g->dim));
    if (at == 0) return SIZE_MAX;
    if (same_point(g, at - 1, x)) return at - 1;
    for (size_t i = 0; i < g->n; i++) /* two inputs share a hash */
        if (same_point(g, i, x)) return i;
    return SIZE_MAX;
}

static void copy_inputs(const struct gp *g, double *x, size_t ld) {
    for (int c = 0; c < g->dim && g->n; c++)
        memcpy(x + (size_t)c * ld, g->x + (size_t)c * g->cap, g->n * sizeof *x);
}

static enum gpm_status grow(struct gp *g, size_t want) {
    if (want <= g->cap) return GPM_OK;
    size_t cap = g->cap * 2 > want ? g->cap * 2 : want < 8 ? 8 : want;
    double *x = mem_try_doubles(cap * (size_t)g->dim);
    if (!x) return GPM_E_NOMEM;
    copy_inputs(g, x, cap);
    mem_free(g->x);
    g->x = x;
    g->cap = cap;
    g->at = mem_realloc(g->at, cap * sizeof *g->at);
    for (struct gp_slot *s = g->slot; s < g->slot + 2; s++) {
        double **part[] = {&s->r, &s->w, &s->u};
        for (size_t i = 0; i < COUNT_OF(part); i++)
            *part[i] = mem_realloc(*part[i], cap * sizeof(double));
    }
    return GPM_OK;
}

enum gpm_status gp_copy_data(struct gp *to, const struct gp *from) {
    enum gpm_status st = grow(to, from->n);
    if (st) return st;
    copy_inputs(from, to->x, to->cap);
    if (from->n) memcpy(to->at, from->at, from->n * sizeof *to->at);
    for (size_t i = 0; i < from->pairs.n; i++) vec_push(&to->pairs, from->pairs.at[i]);
    to->n = from->n;
    to->nexact = from->nexact;
    to->stamp = from->stamp;
    to->loud = from->loud;
    to->loud_ctx = from->loud_ctx;
    for (size_t e = 0; e < to->n; e++) index_entry(to, e);
    return GPM_OK;
}

static uint64_t next_stamp(void) {
    static _Atomic(uint64_t) stamps;
    return ++stamps;
}

enum gpm_status gp_reserve(struct gp *g, size_t n) {
    return grow(g, n);
}

void gp_data_read(struct gp *g) {
    for (size_t e = 0; e < g->n; e++) {
        g->at[e].touched = false;
        g->at[e].before = g->at[e].more = 0;
        index_entry(g, e);
    }
    g->stamp = next_stamp();
}

/* Value and spread of the touched entries from the pairs themselves, so that adding and taking out
 * leaves no rounding behind. Equal values keep their bits. Where there are exact values, theirs is
 * the entry's. */
static void summarise(struct gp *g) {
    const struct gp_pair *end = g->pairs.at + g->pairs.n;
    for (struct gp_entry *t = g->at; t < g->at + g->n; t++)
        if (t->touched) t->count = t->exact = 0, t->ybar = 0, t->ss = NAN;
    for (const struct gp_pair *p = g->pairs.at; p < end; p++) {
        struct gp_entry *t = &g->at[p->entry];
        if (t->touched) t->count++, t->exact += p->exact;
    }
    for (const struct gp_pair *p = g->pairs.at; p < end; p++) {
        struct gp_entry *t = &g->at[p->entry];
        if (!t->touched || (t->exact && !p->exact)) continue;
        if (isnan(t->ss)) t->ss = p->y; /* the first value, for a moment */
        t->ybar += p->y - t->ss;
    }
    for (struct gp_entry *t = g->at; t < g->at + g->n; t++) {
        if (!t->touched) continue;
        t->ybar = t->ss + t->ybar / (double)(t->exact ? t->exact : t->count);
        t->ss = 0;
    }
    for (const struct gp_pair *p = g->pairs.at; p < end; p++) {
        struct gp_entry *t = &g->at[p->entry];
        double d = p->y - t->ybar;
        if (t->touched && d != 0) t->ss += p->exact ? INFINITY : d * d / (1 + t->more);
    }
}

static void new_entry(struct gp *g, const double *x, double y, bool exact) {
    size_t e = g->n++;
    for (int c = 0; c < g->dim; c++) g->x[e + (size_t)c * g->cap] = x[c];
    g->at[e] = (struct gp_entry){.count = 1, .exact = exact, .ybar = y};
    if (g->loud) g->at[e].more = g->loud(g->loud_ctx, x) - 1;
    index_entry(g, e);
}

/* ---- the current factor follows ---- */

/* The share of the noise on a touched entry has changed: so does its diagonal element. */
static void follow_share(struct gp *g, size_t e) {
    struct gp_slot *s = gp_current(g);
    double d = s->noise * s->noise * (gp_share(g, e) - g->at[e].before);
    g->at[e].touched = s->have_r = s->have_w = false;
    if (!s->have_factor || d == 0) return;
    if (s->engine != &gp_engine_cpu) {
        s->have_factor = false;
        return;
    }
    double *v = mem_zalloc(g->n * sizeof *v);
    v[e] = sqrt(fabs(d));
    if (d > 0)
        chol_update(&s->f, v);
    else if (chol_downdate(&s->f, v))
        s->have_factor = false;
    mem_free(v);
}

enum gpm_status gp_residual_from(struct gp *g, struct gp_slot *s, size_t first) {
    struct kern_pts x = gp_inputs(g);
    if (first == x.n) return GPM_OK; /* their places may be NULL */
    x.x += first;
    x.n -= first;
    if (first) x.step = 0;
    enum gpm_status st = mean_eval(s->mean, x, s->r + first);
    for (size_t i = first; i < g->n && !st; i++) s->r[i] = g->at[i].ybar - s->r[i];
    return st;
}

const double *gp_solved_find(const struct gp *g, const struct gp_slot *s, struct kern_pts xs) {
    const struct gp_solved *q = &g->solved;
    if (!q->v || q->f != &s->f || q->changes != s->f.changes || q->n != s->f.n) return NULL;
    for (int c = 0; c < g->dim; c++)
        if (q->x[c] != xs.x[(size_t)c * xs.ld]) return NULL;
    return q->v;
}

void gp_solved_keep(struct gp *g, const struct gp_slot *s, struct kern_pts xs, const double *v) {
    struct gp_solved *q = &g->solved;
    if (s->f.n > q->cap || !q->x) {
        q->cap = g->cap;
        q->v = mem_realloc(q->v, (q->cap + 1) * sizeof *q->v);
        if (!q->x) q->x = NEW_ARRAY(double, (size_t)g->dim);
    }
    for (int c = 0; c < g->dim; c++) q->x[c] = xs.x[(size_t)c * xs.ld];
    memcpy(q->v, v, s->f.n * sizeof *v);
    q->n = s->f.n;
    q->f = &s->f;
    q->changes = s->f.changes;
}

/* Rows first .. n-1 are new inputs. */
static void follow_append(struct gp *g, size_t first) {
    struct gp_slot *s = gp_current(g);
    if (!s->have_factor || g->n == first) return;
    enum gpm_status st = s->engine->append(g, s, first);
    s->have_factor = st == GPM_OK;
    if (st) s->have_r = s->have_w = false;
}

/* ---- public ---- */

/* changed: more than pairs at new inputs. */
static void data_changed(struct gp *g, bool changed) {
    gp_reject(g);
    gp_drop_view(g);
    g->stamp = next_stamp();
    g->places.known = false;
    struct gp_slot *s = gp_current(g);
    s->have_logml = s->singular = false;
    s->used = NULL;
    if (!s->have_factor || !s->have_w || g->integrated)
        s->have_r = s->have_w = false; /* nothing extends them */
    g->slot[!g->cur].have_factor = g->slot[!g->cur].have_r = false;
    g->vecchia.n = 0;
    gp_timeline_changed(g, g->n, changed);
}

void gp_set_loud(struct gp *g, gp_loud_fn loud, const void *ctx) {
    double *x = NEW_ARRAY(double, (size_t)g->dim + 1);
    g->loud = loud;
    g->loud_ctx = ctx;
    for (size_t e = 0; e < g->n; e++) {
        for (int c = 0; c < g->dim; c++) x[c] = g->x[e + (size_t)c * g->cap];
        double more = loud ? loud(ctx, x) - 1 : 0;
        g->at[e].ss *= (1 + g->at[e].more) / (1 + more);
        g->at[e].more = more;
    }
    mem_free(x);
    data_changed(g, true);
    gp_slot_forget(gp_current(g));
    gp_cache_clear(&g->cache);
}

/* The entry is about to change; whether that is news. */
static bool touch(struct gp *g, size_t e) {
    if (g->at[e].touched) return false;
    g->at[e].before = gp_share(g, e);
    return g->at[e].touched = true;
}

/* loud NULL: the noise of the place. */
static enum gpm_status add(struct gp *g, enum gp_target target, const double *x, const double *y,
                           const double *loud, size_t n) {
    if (!kern_all_bounded(x, n * (size_t)g->dim) || !kern_all_bounded(y, n)) return GPM_E_ARG;
    enum gpm_status st = grow(g, g->n + n);
    if (st) return st;
    data_changed(g, false);
    size_t first = g->n, repeats = 0;
    bool exact = target == GP_LATENT;
    for (size_t i = 0; i < n; i++) {
        const double *p = x + i * (size_t)g->dim;
        size_t e = g->apart ? SIZE_MAX : find(g, p), fresh = g->n;
        if (e == SIZE_MAX)
            new_entry(g, p, y[i], exact), e = fresh;
        else
            repeats += touch(g, e);
        if (loud) g->at[e].more = loud[i] - 1;
        struct gp_pair pair = {e, y[i], exact};
        vec_push(&g->pairs, pair);
    }
    if (exact) g->nexact += n;
    if (repeats) {
        summarise(g);
        gp_timeline_changed(g, first, true);
    }
    if (repeats > 8 + first / 8) gp_current(g)->have_factor = false; /* rebuilding is cheaper */
    for (size_t e = 0; e < g->n && repeats; e++)
        if (g->at[e].touched && e < first)
            follow_share(g, e);
        else
            g->at[e].touched = false;
    if (g->n > first) gp_cache_clear(&g->cache);
    follow_append(g, first);
    return GPM_OK;
}

enum gpm_status gp_add(struct gp *g, enum gp_target target, const double *x, const double *y,
                       size_t n) {
    return add(g, target, x, y, NULL, n);
}

enum gpm_status gp_add_loud(struct gp *g, const double *x, const double *y, const double *loud,
                            size_t n) {
    return g->apart ? add(g, GP_MEASURED, x, y, loud, n) : GPM_E_ARG;
}

static void delete_entry(struct gp *g, size_t e) {
    struct gp_slot *s = gp_current(g);
    size_t tail = --g->n - e;
    map_del(&g->index, hash_point(g->x + e, g->cap, g->dim));
    for (int c = 0; c < g->dim; c++) {
        double *col = g->x + (size_t)c * g->cap + e;
        memmove(col, col + 1, tail * sizeof *col);
    }
    memmove(g->at + e, g->at + e + 1, tail * sizeof *g->at);
    for (size_t i = e; i < g->n; i++) index_entry(g, i);
    for (size_t i = 0; i < g->pairs.n; i++)
        if (g->pairs.at[i].entry > e) g->pairs.at[i].entry--;
    if (s->have_factor && s->engine == &gp_engine_cpu)
        chol_delete(&s->f, e);
    else
        s->have_factor = false;
    s->have_r = s->have_w = false;
    gp_cache_clear(&g->cache);
}

enum gpm_status gp_remove(struct gp *g, enum gp_target target, const double *x, double y) {
    size_t e = find(g, x), at = g->pairs.n;
    bool exact = target == GP_LATENT;
    if (g->apart) return GPM_E_ARG;
    if (e == SIZE_MAX) return GPM_E_NOT_FOUND;
    for (; at > 0; at--) {
        const struct gp_pair *p = &g->pairs.at[at - 1];
        if (p->entry == e && p->y == y && p->exact == exact) break;
    }
    if (at == 0) return GPM_E_NOT_FOUND;
    data_changed(g, true);
    memmove(g->pairs.at + at - 1, g->pairs.at + at, (g->pairs.n - at) * sizeof *g->pairs.at);
    g->pairs.n--;
    g->nexact -= exact;
    if (g->at[e].count == 1)
        delete_entry(g, e);
    else if (touch(g, e)) {
        summarise(g);
        follow_share(g, e);
    }
    return GPM_OK;
}

void gp_clear(struct gp *g) {
    data_changed(g, true);
    map_release(&g->index);
    memset(&g->index, 0, sizeof g->index);
    g->pairs.n = 0;
    g->n = g->nexact = 0;
    gp_slot_forget(gp_current(g));
    gp_cache_clear(&g->cache);
}

size_t gp_n(const struct gp *g) {
    return g->n;
}
size_t gp_npairs(const struct gp *g) {
    return g->pairs.n;
}

void gp_pair(const struct gp *g, size_t i, double *x, double *y) {
    const struct gp_pair *p = &g->pairs.at[i];
    for (int c = 0; c < g->dim; c++) x[c] = g->x[p->entry + (size_t)c * g->cap];
    *y = p->y;
}

bool gp_known(const struct gp *g, const double *x, double *y) {
    if (g->nexact == 0 && gp_noise(g) > 0) return false;
    size_t e = find(g, x);
    if (e == SIZE_MAX || (gp_noise(g) > 0 && !g->at[e].exact)) return false;
    *y = g->at[e].ybar;
    return true;
}

size_t gp_ndensity(const struct gp *g, double noise) {
    if (noise == 0) return g->n;
    size_t n = g->pairs.n;
    for (size_t e = 0; e < g->n && g->nexact; e++)
        if (g->at[e].exact) n -= g->at[e].exact - 1;
    return n;
}

bool gp_contradicts(const struct gp *g, double noise) {
    if (g->n == g->pairs.n || (noise > 0 && g->nexact == 0)) return false;
    for (size_t i = 0; i < g->n; i++)
        if (noise > 0 ? isinf(g->at[i].ss) : g->at[i].ss > 0) return true;
    return false;
}

/* For m values at one input, -(m-1)/2 log(2 pi s^2) - log(m)/2 - SS/(2 s^2); where the function's
 * value is known the other m are independent, -m/2 log(2 pi s^2) - SS/(2 s^2). s^2 is that of the
 * place, and SS is stored in its units. */
double gp_replicate_term(const struct gp *g, double noise) {
    double sum = 0, v = noise * noise;
    if (g->n == g->pairs.n || noise == 0) return 0;
    for (size_t i = 0; i < g->n; i++) {
        double m = (double)(g->at[i].count - g->at[i].exact), own = v * (1 + g->at[i].more);
        if (g->at[i].exact)
            sum -= 0.5 * (m * log(2 * M_PI * own) + g->at[i].ss / v);
        else if (m > 1)
            sum -= 0.5 * ((m - 1) * log(2 * M_PI * own) + log(m) + g->at[i].ss / v);
    }
    return sum;
}

double gp_replicate_slope(const struct gp *g, double noise, double weight) {
    double sum = 0;
    if (g->n == g->pairs.n) return 0;
    for (size_t i = 0; i < g->n; i++) {
        double c = (double)(g->at[i].count - g->at[i].exact) + (g->at[i].exact > 0);
        if (c > 1) sum += weight * g->at[i].ss / (noise * noise * noise) - (c - 1) / noise;
    }
    return sum;
}
