/* SPDX-License-Identifier: Apache-2.0
 * Recorded pairs, grouped by distinct input, and their effect on the current factor. */
#include "gp/gp_int.h"

#include "base/mem.h"
#include "la/blas.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- distinct inputs ---- */

static uint64_t hash_point(const double *x, int dim) {
    uint64_t h = 7;
    for (int c = 0; c < dim; c++) {
        double v = x[c] == 0 ? 0 : x[c]; /* -0 is 0 */
        h = hash_bytes(&v, sizeof v, h);
    }
    return h;
}

static bool same_point(const struct gp *g, size_t i, const double *x) {
    for (int c = 0; c < g->dim; c++)
        if (g->x[i + (size_t)c * g->cap] != x[c]) return false;
    return true;
}

size_t gp_find(const struct gp *g, const double *x) {
    size_t at = (size_t)(uintptr_t)map_get(&g->index, hash_point(x, g->dim));
    if (at == 0) return SIZE_MAX;
    if (same_point(g, at - 1, x)) return at - 1;
    for (size_t i = 0; i < g->n; i++) /* two inputs share a hash */
        if (same_point(g, i, x)) return i;
    return SIZE_MAX;
}

static enum gpm_status grow(struct gp *g, size_t want) {
    if (want <= g->cap) return GPM_OK;
    size_t cap = g->cap * 2 > want ? g->cap * 2 : want < 8 ? 8 : want;
    double *x = mem_try_doubles(cap * (size_t)g->dim);
    if (!x) return GPM_E_NOMEM;
    for (int c = 0; c < g->dim && g->n; c++)
        memcpy(x + (size_t)c * cap, g->x + (size_t)c * g->cap, g->n * sizeof *x);
    mem_free(g->x);
    g->x = x;
    g->cap = cap;
    g->count = mem_realloc(g->count, cap * sizeof *g->count);
    g->exact = mem_realloc(g->exact, cap * sizeof *g->exact);
    g->ybar = mem_realloc(g->ybar, cap * sizeof *g->ybar);
    g->ss = mem_realloc(g->ss, cap * sizeof *g->ss);
    for (int s = 0; s < 2; s++) {
        g->slot[s].r = mem_realloc(g->slot[s].r, cap * sizeof(double));
        g->slot[s].w = mem_realloc(g->slot[s].w, cap * sizeof(double));
        g->slot[s].u = mem_realloc(g->slot[s].u, cap * sizeof(double));
    }
    return GPM_OK;
}

/* What is known of one entry before a change: its share of the noise. */
struct before {
    bool touched;
    double share;
};

/* Does the pair belong to those whose mean is the entry's value? */
static bool leads(const struct gp *g, const struct gp_pair *p) {
    return p->exact || !g->exact[p->entry];
}

/* Value and spread of the touched entries from the pairs themselves, so that adding and taking out
 * leaves no rounding behind. Equal values keep their bits. */
static void summarise(struct gp *g, const struct before *was) {
    for (size_t e = 0; e < g->n; e++)
        if (was[e].touched) g->count[e] = g->exact[e] = 0, g->ybar[e] = 0, g->ss[e] = NAN;
    for (size_t i = 0; i < g->pairs.n; i++) {
        const struct gp_pair *p = &g->pairs.at[i];
        if (was[p->entry].touched) g->count[p->entry]++, g->exact[p->entry] += p->exact;
    }
    for (size_t i = 0; i < g->pairs.n; i++) {
        const struct gp_pair *p = &g->pairs.at[i];
        size_t e = p->entry;
        if (!was[e].touched || !leads(g, p)) continue;
        if (isnan(g->ss[e])) g->ss[e] = p->y; /* the first value, for a moment */
        g->ybar[e] += p->y - g->ss[e];
    }
    for (size_t e = 0; e < g->n; e++) {
        if (!was[e].touched) continue;
        g->ybar[e] = g->ss[e] + g->ybar[e] / (double)(g->exact[e] ? g->exact[e] : g->count[e]);
        g->ss[e] = 0;
    }
    for (size_t i = 0; i < g->pairs.n; i++) {
        const struct gp_pair *p = &g->pairs.at[i];
        double d = p->y - g->ybar[p->entry];
        if (was[p->entry].touched && d != 0) g->ss[p->entry] += p->exact ? INFINITY : d * d;
    }
}

static void new_entry(struct gp *g, const double *x, double y, bool exact) {
    size_t e = g->n++;
    for (int c = 0; c < g->dim; c++) g->x[e + (size_t)c * g->cap] = x[c];
    g->count[e] = 1;
    g->exact[e] = exact;
    g->ybar[e] = y;
    g->ss[e] = 0;
    map_put(&g->index, hash_point(x, g->dim), (void *)(uintptr_t)(e + 1));
}

/* ---- the current factor follows ---- */

/* The share of the noise on entry e has changed: so does its diagonal element. */
static void follow_share(struct gp *g, size_t e, double share) {
    struct gp_slot *s = gp_current(g);
    s->have_r = s->have_w = false;
    if (!s->have_factor || s->noise == 0 || gp_share(g, e) == share) return;
    double d = s->noise * s->noise * (gp_share(g, e) - share);
    double *v = mem_zalloc(g->n * sizeof *v);
    v[e] = sqrt(fabs(d));
    if (d > 0)
        chol_update(&s->f, v);
    else if (chol_downdate(&s->f, v))
        s->have_factor = false;
    mem_free(v);
}

/* w = L^-1 r grows by solving with the new rows only. */
static enum gpm_status follow_solution(struct gp *g, struct gp_slot *s, size_t first) {
    size_t m = g->n - first;
    struct kern_pts x = gp_points(g);
    x.x += first;
    x.n = m;
    x.step = 0;
    enum gpm_status st = mean_eval(s->mean, x, s->r + first);
    if (st) return st;
    for (size_t i = first; i < g->n; i++) s->r[i] = g->ybar[i] - s->r[i];
    memcpy(s->w + first, s->r + first, m * sizeof *s->w);
    la_gemv(m, first, -1, s->f.l + first, s->f.ld, s->w, 1, s->w + first);
    la_trsv(false, m, s->f.l + first + first * s->f.ld, s->f.ld, s->w + first);
    return GPM_OK;
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

/* The factor grows by the rows of the points `fresh`. */
static enum gpm_status append_rows(struct gp *g, struct gp_slot *s, struct kern_pts fresh) {
    size_t m = fresh.n, first = g->n - m;
    double *block = mem_try_doubles((first + m) * m), *corner = block + first * m;
    if (!block) return GPM_E_NOMEM;
    enum gpm_status st = kern_fill(s->kern, fresh, corner, m);
    for (size_t i = 0; i < m && !st; i++)
        corner[i * (m + 1)] += s->noise * s->noise * gp_share(g, first + i);
    const double *known = m == 1 ? gp_solved_find(g, s, fresh) : NULL;
    struct kern_pts old = gp_points(g);
    old.n = first;
    old.step = 0;
    if (!st && known)
        st = chol_append_solved(&s->f, known, corner[0]);
    else if (!st) {
        st = kern_cross(s->kern, old, fresh, block, first ? first : 1);
        if (!st) st = chol_append(&s->f, m, block, first ? first : 1, corner, m);
    }
    mem_free(block);
    return st;
}

/* Rows first .. n-1 are new inputs. */
static void follow_append(struct gp *g, size_t first) {
    struct gp_slot *s = gp_current(g);
    size_t m = g->n - first;
    if (!s->have_factor || m == 0) return;
    struct kern_pts fresh = gp_points(g);
    fresh.step = 0;
    fresh.x += first;
    fresh.n = m;
    enum gpm_status st = append_rows(g, s, fresh);
    s->have_factor = st == GPM_OK;
    if (s->have_factor && s->have_w && s->have_r) st = follow_solution(g, s, first);
    if (st) s->have_r = s->have_w = false;
}

/* ---- public ---- */

static void data_changed(struct gp *g) {
    gp_reject(g);
    gp_drop_view(g);
    g->places.known = false;
    struct gp_slot *s = gp_current(g);
    s->have_logml = s->singular = false;
    s->used = GP_EXACT;
    if (!s->have_factor || !s->have_w || g->integrated)
        s->have_r = s->have_w = false; /* nothing extends them */
    g->slot[!g->cur].have_factor = g->slot[!g->cur].have_r = false;
    g->vecchia.n = 0;
}

static void touch(const struct gp *g, struct before *b, size_t e, size_t *touched) {
    if (!b->touched) *b = (struct before){true, gp_share(g, e)}, ++*touched;
}

enum gpm_status gp_add(struct gp *g, enum gp_target target, const double *x, const double *y,
                       size_t n) {
    if (!kern_all_bounded(x, n * (size_t)g->dim) || !kern_all_bounded(y, n)) return GPM_E_ARG;
    enum gpm_status st = grow(g, g->n + n);
    if (st) return st;
    data_changed(g);
    size_t first = g->n, repeats = 0;
    struct before *was = mem_zalloc((first + n + 1) * sizeof *was); /* where a pair is repeated */
    bool exact = target == GP_LATENT;
    for (size_t i = 0; i < n; i++) {
        const double *p = x + i * (size_t)g->dim;
        size_t e = g->apart ? SIZE_MAX : gp_find(g, p), before = g->n;
        if (e == SIZE_MAX) {
            new_entry(g, p, y[i], exact);
            e = before;
        } else
            touch(g, &was[e], e, &repeats);
        struct gp_pair pair = {e, y[i], exact};
        vec_push(&g->pairs, pair);
    }
    if (exact) g->nexact += n;
    if (repeats) summarise(g, was);
    if (repeats > 8 + first / 8) gp_current(g)->have_factor = false; /* rebuilding is cheaper */
    for (size_t e = 0; e < first && repeats; e++)
        if (was[e].touched) follow_share(g, e, was[e].share);
    mem_free(was);
    if (g->n > first) gp_cache_clear(&g->cache);
    follow_append(g, first);
    return GPM_OK;
}

static void delete_entry(struct gp *g, size_t e) {
    struct gp_slot *s = gp_current(g);
    double point[64], *p = g->dim <= 64 ? point : NEW_ARRAY(double, (size_t)g->dim);
    size_t tail = g->n - e - 1;
    for (int c = 0; c < g->dim; c++) p[c] = g->x[e + (size_t)c * g->cap];
    map_del(&g->index, hash_point(p, g->dim));
    for (int c = 0; c < g->dim; c++) {
        double *col = g->x + (size_t)c * g->cap + e;
        memmove(col, col + 1, tail * sizeof *col);
    }
    memmove(g->count + e, g->count + e + 1, tail * sizeof *g->count);
    memmove(g->exact + e, g->exact + e + 1, tail * sizeof *g->exact);
    memmove(g->ybar + e, g->ybar + e + 1, tail * sizeof *g->ybar);
    memmove(g->ss + e, g->ss + e + 1, tail * sizeof *g->ss);
    g->n--;
    for (size_t i = e; i < g->n; i++) {
        for (int c = 0; c < g->dim; c++) p[c] = g->x[i + (size_t)c * g->cap];
        map_put(&g->index, hash_point(p, g->dim), (void *)(uintptr_t)(i + 1));
    }
    for (size_t i = 0; i < g->pairs.n; i++)
        if (g->pairs.at[i].entry > e) g->pairs.at[i].entry--;
    if (p != point) mem_free(p);
    if (s->have_factor) chol_delete(&s->f, e);
    s->have_r = s->have_w = false;
    gp_cache_clear(&g->cache);
}

enum gpm_status gp_remove(struct gp *g, enum gp_target target, const double *x, double y) {
    size_t e = gp_find(g, x), at = g->pairs.n, touched = 0;
    bool exact = target == GP_LATENT;
    if (g->apart) return GPM_E_ARG;
    if (e == SIZE_MAX) return GPM_E_NOT_FOUND;
    for (; at > 0; at--) {
        const struct gp_pair *p = &g->pairs.at[at - 1];
        if (p->entry == e && p->y == y && p->exact == exact) break;
    }
    if (at == 0) return GPM_E_NOT_FOUND;
    data_changed(g);
    memmove(g->pairs.at + at - 1, g->pairs.at + at, (g->pairs.n - at) * sizeof *g->pairs.at);
    g->pairs.n--;
    g->nexact -= exact;
    if (g->count[e] == 1) {
        delete_entry(g, e);
        return GPM_OK;
    }
    struct before *was = mem_zalloc(g->n * sizeof *was);
    touch(g, &was[e], e, &touched);
    summarise(g, was);
    follow_share(g, e, was[e].share);
    mem_free(was);
    return GPM_OK;
}

void gp_clear(struct gp *g) {
    data_changed(g);
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
    size_t e = gp_find(g, x);
    if (e == SIZE_MAX || (gp_noise(g) > 0 && !g->exact[e])) return false;
    *y = g->ybar[e];
    return true;
}

size_t gp_ndensity(const struct gp *g, double noise) {
    if (noise == 0) return g->n;
    size_t n = g->pairs.n;
    for (size_t e = 0; e < g->n && g->nexact; e++)
        if (g->exact[e]) n -= g->exact[e] - 1;
    return n;
}

bool gp_contradicts(const struct gp *g, double noise) {
    if (g->n == g->pairs.n || (noise > 0 && g->nexact == 0)) return false;
    for (size_t i = 0; i < g->n; i++)
        if (noise > 0 ? isinf(g->ss[i]) : g->ss[i] > 0) return true;
    return false;
}

/* For m values at one input, -(m-1)/2 log(2 pi s^2) - log(m)/2 - SS/(2 s^2); where the function's
 * value is known the other m are independent, -m/2 log(2 pi s^2) - SS/(2 s^2). */
double gp_replicate_term(const struct gp *g, double noise) {
    double sum = 0, v = noise * noise;
    if (g->n == g->pairs.n || noise == 0) return 0;
    for (size_t i = 0; i < g->n; i++) {
        double m = (double)(g->count[i] - g->exact[i]);
        if (g->exact[i])
            sum -= 0.5 * (m * log(2 * M_PI * v) + g->ss[i] / v);
        else if (m > 1)
            sum -= 0.5 * ((m - 1) * log(2 * M_PI * v) + log(m) + g->ss[i] / v);
    }
    return sum;
}

double gp_replicate_slope(const struct gp *g, double noise, double weight) {
    double sum = 0;
    if (g->n == g->pairs.n) return 0;
    for (size_t i = 0; i < g->n; i++) {
        double c = (double)(g->count[i] - g->exact[i]) + (g->exact[i] > 0);
        if (c > 1) sum += weight * g->ss[i] / (noise * noise * noise) - (c - 1) / noise;
    }
    return sum;
}
