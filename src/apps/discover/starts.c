/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting points, and the periodogram that suggests periods.
 */
#include "apps/discover/starts.h"
#include "gp/kernel/kern_class.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

/* ---- carrying parameters over ---- */
static void copy_par(const double *from, int a, double *to, int b, int *source) {
    if (!smodel_free(a) || !smodel_free(b)) return;
    to[b] = from[a];
    if (source) source[b] = a;
}

/* The size of a walk, and its memory, are other things than those of other terms. */
static void copy_term(const struct sterm *a, const double *from, const struct sterm *b, double *to,
                      int *source) {
    bool walks = (a->mask | b->mask) & factors_of(KERN_ROLE_WALK);
    for (int kind = 0; kind < SPAR_KINDS; kind++)
        if ((kind != SPAR_SD && kind != SPAR_L) || !walks || a->mask == b->mask)
            copy_par(from, a->par[kind], to, b->par[kind], source);
}

/* The very same term, one of the same factors that is elsewhere (a step at another date, the part
 * of a level that moves in a window), one that shares a factor; 0: none of these. */
static int likeness(const struct sterm *a, const struct sterm *b) {
    if (a->mask != b->mask) return (a->mask & b->mask) != 0;
    return a->gate == b->gate && a->at == b->at && a->to == b->to ? 3 : 2;
}

void starts_carry(const struct smodel *m, const struct evidence *from, double *z, int *source) {
    smodel_prior_draw_hint(m, z);
    if (source)
        for (int i = 0; i < m->d; i++) source[i] = i > 0 ? -1 : 0;
    if (!from) return;
    const struct smodel *f = smodel_of(from);
    const double *zf = from->prop.mode[0].z;
    bool used[STRUCTURE_MAX_TERMS] = {false}, done[STRUCTURE_MAX_TERMS] = {false};
    z[0] = zf[0];
    for (int alike = 2; alike >= 0; alike--)
        for (int k = 0; k < m->n_terms; k++)
            for (int j = 0; j < f->n_terms && !done[k]; j++) {
                if (used[j] || likeness(&m->term[k], &f->term[j]) <= alike) continue;
                copy_term(&f->term[j], zf, &m->term[k], z, source);
                used[j] = done[k] = true;
            }
    copy_par(zf, f->tau, z, m->tau, source);
    copy_par(zf, f->width, z, m->width, source);
}

bool starts_faint(const struct smodel *m, const struct evidence *from, double *z) {
    int source[SMODEL_MAX_PAR];
    bool any = false;
    starts_carry(m, from, z, source);
    for (int i = 0; i < m->d; i++) {
        if (source[i] >= 0 || m->par[i].kind != SPAR_SD) continue;
        z[i] = fmin(z[i], z[0]);
        any = true;
    }
    return any;
}

/* ---- candidates for new parameters ---- */
static const struct period_hints candidates[SPAR_KINDS] = {
    [SPAR_L] = {.p = {0.03, 0.12, 0.6}, .n = 3},
    [SPAR_LPER] = {.p = {0.15, 0.3, 0.7, 1.5}, .n = 4},
    [SPAR_LWITHIN] = {.p = {0.3, 0.7, 1.5}, .n = 3},
    [SPAR_C] = {.p = {-0.2, 0.5, 1.2}, .n = 3},
    [SPAR_TAU] = {.p = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, .n = 9},
    [SPAR_WIDTH] = {.p = {0.08, 0.2, 0.4}, .n = 3},
};
static const struct period_hints beside_periodic = {.p = {0.3, 1.0}, .n = 2}; /* lengths there */
static const struct period_hints walks[] = {
    {.n = 0}, {.p = {0.3, 1.5}, .n = 2}, {.p = {1.0, 8.0}, .n = 2}}; /* sizes */
static const struct period_hints slopes = {.p = {1.0, 4.0}, .n = 2},
                                 memories = {.p = {0.08, 0.3, 1.5}, .n = 3};

/* Length-scales in the span, and some of a few steps, each where it is far below those: neighbours
 * are alike for reasons that are over in a moment, too. */
#define MOST_STEPS 3

static bool momentary(const struct smodel_data *d, double length) {
    return length <= MOST_STEPS * d->dt;
}

static struct period_hints lengths_of(const struct smodel_data *d) {
    struct period_hints h = candidates[SPAR_L];
    double below = 0.5 * h.p[0];
    for (int steps = MOST_STEPS; steps >= 1; steps -= MOST_STEPS - 1)
        if (steps * d->dt <= below) h.p[h.n++] = steps * d->dt;
    return h;
}

static const struct period_hints *candidates_of(const struct smodel *m, int i,
                                                const struct period_hints *periods,
                                                const struct period_hints *lengths) {
    int kind = m->par[i].kind, k = m->par[i].term;
    if (kind == SPAR_PERIOD) return periods;
    const struct kern_class *first = k < 0 ? NULL : factor_class(factor_next(m->term[k].mask, -1));
    if (first && first->variogram && (kind == SPAR_SD || kind == SPAR_L))
        return kind == SPAR_SD ? &slopes : &memories;
    if (kind == SPAR_SD) return &walks[first->walk];
    if (kind == SPAR_TAU && periods->places) return periods->places;
    if (kind == SPAR_WIDTH && periods->widths) return periods->widths;
    if (kind == SPAR_L && m->term[k].par[SPAR_PERIOD] >= 0) return &beside_periodic;
    return kind == SPAR_L ? lengths : &candidates[kind];
}

/* Variations of a point whose parameters all come from the parent: other length-scales. */
static int variations(const struct smodel *m, double *z, int n) {
    const double *z0 = z;
    for (int i = 0; i < m->d && n + 3 <= STARTS_MAX; i++) {
        int kind = m->par[i].kind;
        if (kind != SPAR_L && kind != SPAR_LPER && kind != SPAR_LWITHIN) continue;
        for (int s = -1; s <= 1; s += 2) {
            double *v = z + (size_t)(n++ * m->d);
            memcpy(v, z0, sizeof *v * (size_t)m->d);
            v[i] += s * 1.2;
        }
    }
    return n;
}

/* What is over after a few steps was noise so far: half of its variance each. */
static void shrink(const struct smodel *m, int k, double *z) {
    int sd = m->term[k].par[SPAR_SD];
    if (!smodel_free(sd)) return;
    z[0] -= 0.5 * M_LN2;
    z[sd] = z[0];
}

/* Those with something momentary behind the others, either in their order; how many they are. */
static int part_momentary(size_t d, int n, const bool *over, double *z) {
    double *rest = NEW_ARRAY(double, (size_t)n *d + 1);
    size_t kept = 0, moved = 0;
    for (int k = 0; k < n; k++) {
        double *to = over[k] ? rest + d * moved++ : z + d * kept++;
        memmove(to, z + d * (size_t)k, d * sizeof *z);
    }
    memcpy(z + d * kept, rest, d * moved * sizeof *z);
    mem_free(rest);
    return (int)moved;
}

/* All combinations of the candidates; with more of them than room, a stride that visits all axes.
 */
int starts_make(const struct smodel *m, const struct evidence *parent,
                const struct period_hints *hints, int most, double *z, int *apart) {
    bool fresh[SMODEL_MAX_PAR], over[STARTS_MAX] = {false}, any = false;
    int source[SMODEL_MAX_PAR];
    const struct period_hints *list[SMODEL_MAX_PAR], lengths = lengths_of(m->data);
    long total = 1;
    *apart = 0;
    starts_carry(m, parent, z, source);
    for (int i = 0; i < m->d; i++) {
        list[i] = candidates_of(m, i, hints, &lengths);
        fresh[i] = source[i] < 0 && list[i]->n;
        any |= fresh[i];
        if (fresh[i] && total < 100000) total *= list[i]->n;
    }
    if (!any) return variations(m, z, 1);
    long want = total < most - 1 ? total : most - 1;
    for (long k = 0; k < want; k++) {
        double *v = z + (size_t)((k + 1) * m->d);
        long at = total <= want ? k : (long)((double)k * (double)total / (double)want);
        memcpy(v, z, sizeof *v * (size_t)m->d);
        for (int i = 0; i < m->d; i++) {
            if (!fresh[i]) continue;
            double value = list[i]->p[at % list[i]->n];
            at /= list[i]->n;
            v[i] = smodel_unvalue(m, i, value);
            if (m->par[i].kind != SPAR_L || !momentary(m->data, value)) continue;
            shrink(m, m->par[i].term, v);
            over[k + 1] = true;
        }
    }
    *apart = part_momentary((size_t)m->d, (int)want + 1, over, z);
    return (int)want + 1;
}

/* ---- periodogram ---- */
/* Power of the least-squares sine at n frequencies f0 + k df: with the two sums nearly orthogonal
 * this is the usual sum of squares of projections. From one frequency to the next each time turns
 * its point on the circle by the same angle, so sines are computed for the first of them alone;
 * what rounding adds is 1e-16 a step. */
static void powers(const struct smodel_data *d, const double *y, double f0, double df, size_t n,
                   double *out) {
    double *a = NEW_ARRAY(double, 4 * d->n), *b = a + d->n, *da = b + d->n, *db = da + d->n;
    for (size_t i = 0; i < d->n; i++) {
        double at = 2 * M_PI * d->t[i];
        a[i] = cos(f0 * at), b[i] = sin(f0 * at);
        da[i] = cos(df * at), db[i] = sin(df * at);
    }
    for (size_t k = 0; k < n; k++) {
        double c = 0, s = 0, cc = 0, ss = 0, cs = 0;
        for (size_t i = 0; i < d->n; i++) {
            double u = a[i], v = b[i];
            c += u * y[i];
            s += v * y[i];
            cc += u * u;
            ss += v * v;
            cs += u * v;
            a[i] = u * da[i] - v * db[i];
            b[i] = u * db[i] + v * da[i];
        }
        double det = cc * ss - cs * cs;
        out[k] = det > 1e-9 * (double)d->n ? (c * c * ss - 2 * c * s * cs + s * s * cc) / det : 0;
    }
    mem_free(a);
}

static void detrend(size_t n, const double *t, const double *y, double *r) {
    double mt = 0, my = 0, num = 0, den = 0;
    for (size_t i = 0; i < n; i++) {
        mt += t[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        num += (t[i] - mt) * (y[i] - my);
        den += (t[i] - mt) * (t[i] - mt);
    }
    for (size_t i = 0; i < n; i++) r[i] = y[i] - my - num / den * (t[i] - mt);
}

static void add_one_hint(struct period_hints *h, double p, double dt) {
    if (h->n >= (int)COUNT_OF(h->p) || !(p > 2.05 * dt) || p > 0.5) return;
    for (int i = 0; i < h->n; i++)
        if (fabs(h->p[i] / p - 1) < 0.02) return;
    h->p[h->n++] = p;
}

/* A wave of 3.5 or 2.33 steps may be that of a pattern of 7, which comes first. */
static void add_hint(struct period_hints *h, double p, double dt) {
    enum { PARTS = 4, FEW = 6 };
    const double near = 0.03;
    double steps = p / dt;
    bool whole = fabs(steps - floor(steps + 0.5)) < near;
    for (int k = 2; k <= PARTS && steps < FEW && !whole; k++) {
        whole = fabs(k * steps - floor(k * steps + 0.5)) < near;
        if (whole) add_one_hint(h, floor(k * steps + 0.5) * dt, dt);
    }
    add_one_hint(h, p, dt);
}

/* The `want` strongest local maxima of the periodogram of r, refined by a parabola. */
static void add_peaks(const struct smodel_data *d, const double *r, int want,
                      struct period_hints *h) {
    double f0 = 2.0, f1 = 1 / (2.1 * d->dt), df = 0.25;
    size_t nf = f1 > f0 ? (size_t)fmin((f1 - f0) / df + 1, 8000) : 0; /* dt may be tiny */
    if (nf < 3) return;
    double *pw = NEW_ARRAY(double, nf);
    powers(d, r, f0, df, nf, pw);
    for (int q = 0; q < want; q++) {
        size_t best = 0;
        for (size_t k = 1; k + 1 < nf; k++)
            if (pw[k] > pw[k - 1] && pw[k] >= pw[k + 1] && (!best || pw[k] > pw[best])) best = k;
        if (!best) break;
        double a = pw[best - 1], b = pw[best], c = pw[best + 1], den = a - 2 * b + c;
        double shift = den < 0 ? 0.5 * (a - c) / den : 0;
        add_hint(h, 1 / (f0 + df * ((double)best + shift)), d->dt);
        for (size_t k = best > 6 ? best - 6 : 0; k < nf && k <= best + 6; k++) pw[k] = 0;
    }
    mem_free(pw);
}

double period_peak(const struct smodel_data *d, const double *r) {
    struct period_hints h = {0};
    add_peaks(d, r, 1, &h);
    return h.n ? h.p[0] : 0;
}

void period_hints_data(const struct smodel_data *d, int transform, struct period_hints *h) {
    h->n = 0;
    double *r = NEW_ARRAY(double, d->n);
    for (int i = 0; i < d->n_season; i++) add_hint(h, d->season[i], d->dt);
    detrend(d->n, d->t, d->y[transform], r);
    add_peaks(d, r, 3, h);
    if (h->n) add_hint(h, 2 * h->p[0], d->dt);
    if (h->n > 1) add_hint(h, 2 * h->p[1], d->dt);
    mem_free(r);
}

/* y - posterior mean of all but the noise at the parent's optimum. */
static bool residual(const struct evidence *e, struct smodel_work *w, double *r) {
    const struct smodel *m = smodel_of(e);
    const struct smodel_data *d = m->data;
    const double *z = e->prop.mode[0].z;
    struct gp *g;
    if (smodel_condition(m, w, z, &g) != GPM_OK ||
        smodel_part(m, z, g, SMODEL_SIGNAL, d->t, d->n, r, NULL) != GPM_OK)
        return false;
    for (size_t i = 0; i < d->n; i++) r[i] = m->y[i] - r[i];
    return true;
}

void period_hints_residual(const struct evidence *parent, struct smodel_work *w,
                           const struct period_hints *data, struct period_hints *h) {
    const struct smodel_data *d = smodel_of(parent)->data;
    *h = (struct period_hints){0};
    double *r = NEW_ARRAY(double, d->n);
    if (residual(parent, w, r)) add_peaks(d, r, 3, h);
    for (int i = 0; i < data->n && i < 4; i++) add_hint(h, data->p[i], d->dt);
    mem_free(r);
}
