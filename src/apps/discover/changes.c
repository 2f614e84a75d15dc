/* SPDX-License-Identifier: Apache-2.0
 *
 * With K the covariance at the optimum and alpha = K^-1 y, a term s^2 h h' changes the log
 * likelihood by
 *
 *     -1/2 log(1 + s^2 q) + 1/2 s^2 b^2 / (1 + s^2 q),   q = h' K^-1 h,  b = h' alpha,
 *
 * and for steps all q come from one pass over K^-1: h differs by one value from place to place.
 * The size of the noise is looked for in the innovations L^-1 y, which have variance 1 where the
 * structure holds: two variances instead of one gain -1/2 (n1 log v1 + n2 log v2 - n log v).
 */
#include "apps/discover/changes.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include <math.h>
#include <string.h>

#define MARGIN       4    /* values on either side of a change, at least */
#define BENDS        40   /* places where a trend may bend */
#define PART_RATIO   10.0 /* of the mean squares of a term inside and outside */
#define PATTERN_GAIN 4.0  /* nats, from which a pattern may live in a part of the data alone */
#define SHORTEST     48   /* values: in shorter series a change and a bending trend are alike */
#define LONGEST      1200 /* values: K^-1 costs n^3 */

struct scan {
    size_t n;
    const double *t;
    double *inverse, *alpha, *e; /* K^-1 (lower triangle), K^-1 y, innovations */
};

static double gain_of(double q, double b) {
    static const double size[] = {0.2, 0.5, 1, 2};
    double best = 0;
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        double v = size[i] * size[i], f = 1 + v * q;
        best = fmax(best, -0.5 * log(f) + 0.5 * v * b * b / f);
    }
    return best;
}

/* The matrix, its factor and its inverse. */
static bool factor(struct scan *s, const struct evidence *e) {
    const struct smodel *m = smodel_of(e);
    const double *z = e->prop.mode[0].z;
    size_t n = s->n, pivot;
    struct kern *k = smodel_kernel(m, z, SMODEL_ALL);
    double *columns = smodel_columns(m->data, n, s->t);
    struct kern_pts x = {.x = columns, .n = n, .ld = n, .dim = m->data->dim};
    double *l = NEW_ARRAY(double, n *n), noise = smodel_value(m, 0, z[0]);
    bool ok = k && kern_fill(k, x, l, n) == GPM_OK;
    mem_free(columns);
    kern_unref(k);
    for (size_t i = 0; i < n && ok; i++) l[i + i * n] += noise * noise + 1e-8;
    ok = ok && la_potrf(n, l, n, &pivot) == GPM_OK;
    if (ok) {
        memcpy(s->e, m->y, n * sizeof *s->e);
        la_trsv(false, n, l, n, s->e);
        memcpy(s->alpha, s->e, n * sizeof *s->alpha);
        la_trsv(true, n, l, n, s->alpha);
        la_inverse(n, l, n, s->inverse, n);
    }
    mem_free(l);
    return ok;
}

/* Into the list of the best, which lie at least MARGIN values apart. */
static void keep(struct changes *c, struct change_place p, double apart) {
    int at = c->n_shift;
    for (int i = 0; i < c->n_shift; i++)
        if (fabs(c->shift[i].tau - p.tau) < apart) {
            if (c->shift[i].gain < p.gain) c->shift[i] = p;
            return;
        }
    if (at == CHANGES_MAX) {
        at = 0;
        for (int i = 1; i < CHANGES_MAX; i++)
            if (c->shift[i].gain < c->shift[at].gain) at = i;
        if (c->shift[at].gain >= p.gain) return;
    } else {
        c->n_shift++;
    }
    c->shift[at] = p;
}

static void scan_shifts(const struct scan *s, struct changes *c) {
    size_t n = s->n;
    double q = 0, b = 0;
    for (size_t k = n; k-- > MARGIN;) { /* h = 1 from value k on */
        q += s->inverse[k + k * n];
        for (size_t j = k + 1; j < n; j++) q += 2 * s->inverse[j + k * n];
        b += s->alpha[k];
        if (n - k < MARGIN || !(s->t[k] > s->t[k - 1])) continue;
        keep(c, (struct change_place){.tau = 0.5 * (s->t[k - 1] + s->t[k]), .gain = gain_of(q, b)},
             1.5 / (double)n);
    }
}

/* h = 3 (t - tau)+, the unit of RAMP. */
static void scan_bends(const struct scan *s, struct changes *c) {
    size_t n = s->n;
    double *h = NEW_ARRAY(double, n);
    for (int k = 1; k < BENDS; k++) {
        double tau = 0.05 + 0.9 * k / BENDS, q = 0, b = 0;
        for (size_t i = 0; i < n; i++) {
            h[i] = 3 * fmax(0, s->t[i] - tau);
            b += h[i] * s->alpha[i];
        }
        for (size_t j = 0; j < n; j++) {
            double sum = 0.5 * h[j] * s->inverse[j + j * n];
            if (h[j] == 0) continue;
            for (size_t i = j + 1; i < n; i++) sum += h[i] * s->inverse[i + j * n];
            q += 2 * h[j] * sum;
        }
        double gain = gain_of(q, b);
        if (gain > c->bend.gain) c->bend = (struct change_place){.tau = tau, .gain = gain};
    }
    mem_free(h);
}

static double two_variances(double sum1, double n1, double sum2, double n2) {
    double v1 = fmax(sum1 / n1, 1e-6), v2 = fmax(sum2 / n2, 1e-6);
    return -0.5 * (n1 * log(v1) + n2 * log(v2) - (n1 + n2) * log((sum1 + sum2) / (n1 + n2)));
}

/* Another variance of v from a place on (*point), and within a window (*window): ends at every
 * other value of a long series. */
static void scan_variances(const struct scan *s, const double *v, struct change_place *at_point,
                           struct change_place *at_window) {
    size_t n = s->n, stride = 1 + n / 150, least = 2 * MARGIN;
    double *sum = NEW_ARRAY(double, n + 1);
    sum[0] = 0;
    for (size_t i = 0; i < n; i++) sum[i + 1] = sum[i] + v[i] * v[i];
    for (size_t a = least; a + least <= n; a += stride)
        for (size_t b = a + least; b <= n; b += stride) {
            bool point = b + stride > n;
            if (point) b = n;
            if ((!point && n - b < least) || n - (b - a) < least) continue;
            double n1 = (double)(b - a), in = sum[b] - sum[a], out = sum[n] - in;
            double gain = two_variances(in, n1, out, (double)n - n1);
            struct change_place *best = point ? at_point : at_window;
            if (gain <= best->gain) continue;
            *best = (struct change_place){.tau = s->t[a],
                                          .width = point ? 0 : s->t[b - 1] - s->t[a],
                                          .gain = gain,
                                          .more = in / n1 > out / ((double)n - n1)};
        }
    mem_free(sum);
}

/* A term whose mean is much larger on one side of a date, or within a window, may live only there.
 * A rough test: neighbours are alike, so the gain says little; the ratio of sizes decides. */
static void scan_part(const struct scan *s, const struct evidence *e, struct smodel_work *w, int k,
                      struct change_place *out) {
    const struct smodel *m = smodel_of(e);
    const double *z = e->prop.mode[0].z;
    struct change_place point = {0}, window = {0};
    double *v = NEW_ARRAY(double, s->n), total = 0, in = 0, n_in = 0;
    struct gp *g;
    if (smodel_condition(m, w, z, &g) == GPM_OK &&
        smodel_part(m, z, g, k, s->t, s->n, v, NULL) == GPM_OK)
        scan_variances(s, v, &point, &window);
    *out = window.gain > 1.3 * point.gain ? window : point; /* a window has one end more */
    double end = out->width > 0 ? out->tau + out->width : 2;
    for (size_t i = 0; i < s->n; i++) {
        bool inside = s->t[i] >= out->tau && s->t[i] <= end;
        total += v[i] * v[i];
        if (inside) in += v[i] * v[i], n_in++;
    }
    double ratio = (in / n_in) / ((total - in) / ((double)s->n - n_in));
    if (!(ratio > PART_RATIO || ratio < 1 / PART_RATIO)) out->gain = 0;
    mem_free(v);
}

/* Terms h = v within a window and 0 elsewhere: b and q of every window come from sums of v alpha,
 * and of v_i K^-1_ij v_j over squares with a corner at the first value. */
struct windows {
    size_t n;
    double *b, *q; /* b[i]: over values before i; q[j + i n]: over rows up to i, columns up to j */
};

static void windows_fill(struct windows *w, const struct scan *s, const double *v) {
    size_t n = w->n;
    w->b[0] = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        w->b[i + 1] = w->b[i] + v[i] * s->alpha[i];
        for (size_t j = 0; j < n; j++) {
            row += v[i] * v[j] * s->inverse[i > j ? i + j * n : j + i * n];
            w->q[j + i * n] = row + (i ? w->q[j + (i - 1) * n] : 0);
        }
    }
}

static double windows_b(const struct windows *w, size_t from, size_t to) {
    return w->b[to + 1] - w->b[from];
}

static double windows_gain(const struct windows *w, size_t from, size_t to) {
    size_t n = w->n;
    double q = w->q[to + to * n];
    if (from)
        q += w->q[from - 1 + (from - 1) * n] - w->q[from - 1 + to * n] - w->q[to + (from - 1) * n];
    return gain_of(fmax(q, 0), windows_b(w, from, to));
}

static struct windows windows_new(size_t n) {
    double *block = NEW_ARRAY(double, (n + 1) * (n + 1));
    return (struct windows){n, block, block + n + 1};
}

/* A window that ends with the data, or begins with them, is a side of a date. */
static struct change_place place_of(const struct scan *s, size_t from, size_t to, double gain,
                                    bool more) {
    bool end = to == s->n - 1, side = end || !from;
    return (struct change_place){.tau = s->t[end || from ? from : to],
                                 .width = side ? 0 : s->t[to] - s->t[from],
                                 .gain = gain,
                                 .more = more == (end || from > 0)};
}

/* ---- levels that end again ---- */
#define PULSE_LEAST 2 /* values: one alone is out of line */

static bool apart(const struct changes *c, const size_t *edge, size_t from, size_t to) {
    for (int i = 0; i < c->n_pulse; i++)
        if (from <= edge[2 * i + 1] + 1 && to + 1 >= edge[2 * i]) return false;
    return true;
}

/* The best window that lies apart from those that are known: edge[0] and edge[1]. A gain is at most
 * b^2 / 2q, which costs no logarithm. */
static double best_pulse(const struct windows *w, const struct changes *c, size_t *edge) {
    size_t n = w->n, *here = edge + (ptrdiff_t)(2 * c->n_pulse);
    double best = 0;
    for (size_t from = MARGIN; from + PULSE_LEAST + MARGIN <= n; from++) {
        const double *before = w->q + (from - 1) * n;
        for (size_t to = from + PULSE_LEAST - 1; to + MARGIN < n && to - from < n / 2; to++) {
            double b = windows_b(w, from, to);
            double q = w->q[to + to * n] - 2 * before[to] + before[from - 1];
            if (!(b * b > 2 * q * best) || !apart(c, edge, from, to)) continue;
            double gain = gain_of(fmax(q, 0), b);
            if (gain > best) best = gain, here[0] = from, here[1] = to;
        }
    }
    return best;
}

static void scan_pulses(const struct scan *s, struct changes *c) {
    struct windows sums = windows_new(s->n);
    double *one = NEW_ARRAY(double, s->n), gain;
    size_t edge[2 * CHANGES_MAX];
    for (size_t i = 0; i < s->n; i++) one[i] = 1;
    windows_fill(&sums, s, one);
    while (c->n_pulse < CHANGES_MAX && (gain = best_pulse(&sums, c, edge)) > 0) {
        size_t from = edge[2 * c->n_pulse], to = edge[2 * c->n_pulse + 1];
        double tau = 0.5 * (s->t[from - 1] + s->t[from]), end = 0.5 * (s->t[to] + s->t[to + 1]);
        c->pulse[c->n_pulse++] =
            (struct change_place){.tau = tau, .width = end - tau, .gain = gain};
    }
    mem_free(one);
    mem_free(sums.b);
}

typedef double (*window_fn)(void *ctx, size_t from, size_t to, bool *more);

/* The best side of a date or window; a window has one end more. */
static struct change_place best_window(const struct scan *s, size_t least, window_fn gain,
                                       void *ctx) {
    struct change_place point = {0}, window = {0};
    size_t n = s->n, stride = 1 + n / 100;
    for (size_t from = 0; from + least <= n; from += stride)
        for (size_t to = from + least - 1; to < n; to += stride) {
            bool more = true;
            if (to + stride >= n) to = n - 1;
            if (n - (to + 1 - from) < 2 * MARGIN) continue;
            double v = gain(ctx, from, to, &more);
            struct change_place *best = to == n - 1 || !from ? &point : &window;
            if (v > best->gain) *best = place_of(s, from, to, v, more);
        }
    return window.gain > point.gain + 3 ? window : point;
}

static double resized(void *ctx, size_t from, size_t to, bool *more) {
    const struct windows *w = ctx;
    *more = windows_b(w, from, to) > 0;
    return windows_gain(w, from, to);
}

/* A pattern of one shape that lives on one side of a date, or within a window: with v its mean over
 * all of the data, what its size there adds or takes. */
static void scan_pattern(const struct scan *s, const struct evidence *e, struct smodel_work *w,
                         int k, struct change_place *out) {
    const struct smodel *m = smodel_of(e);
    const double *z = e->prop.mode[0].z;
    double *v = NEW_ARRAY(double, s->n);
    struct gp *g;
    if (smodel_condition(m, w, z, &g) == GPM_OK &&
        smodel_part(m, z, g, k, s->t, s->n, v, NULL) == GPM_OK) {
        struct windows sums = windows_new(s->n);
        windows_fill(&sums, s, v);
        *out = best_window(s, 2 * MARGIN, resized, &sums);
        mem_free(sums.b);
    }
    if (!(out->gain > PATTERN_GAIN)) out->gain = 0;
    mem_free(v);
}

/* A wave: cosine and sine, nearly orthogonal over a period. */
static double waves(void *ctx, size_t from, size_t to, bool *more) {
    const struct windows *w = ctx;
    return windows_gain(&w[0], from, to) + windows_gain(&w[1], from, to);
}

/* A pattern that is not in the structure, over three periods at least. */
static void scan_waves(const struct scan *s, const double *periods, int n, struct changes *c) {
    struct windows sums[2] = {windows_new(s->n), windows_new(s->n)};
    double *v = NEW_ARRAY(double, s->n);
    for (int k = 0; k < n; k++) {
        size_t least = (size_t)fmax(2 * MARGIN, ceil(3 * periods[k] * (double)s->n));
        if (!(periods[k] > 0) || least > s->n / 2) continue;
        for (int part = 0; part < 2; part++) {
            for (size_t i = 0; i < s->n; i++)
                v[i] = sin(6.283185307179586 * s->t[i] / periods[k] + part * 1.5707963267948966);
            windows_fill(&sums[part], s, v);
        }
        struct change_place p = best_window(s, least, waves, sums);
        if (p.gain <= c->pattern.gain) continue;
        c->pattern = p;
        c->period = periods[k];
    }
    mem_free(v);
    mem_free(sums[0].b);
    mem_free(sums[1].b);
}

static void scan_parts(const struct scan *s, const struct evidence *e, struct smodel_work *w,
                       struct changes *c) {
    const struct smodel *m = smodel_of(e);
    unsigned lasting = factors_of(KERN_ROLE_PERIODIC) | factors_of(KERN_ROLE_SMOOTH);
    for (int k = 0; k < m->n_terms; k++) {
        unsigned mask = m->term[k].mask;
        if (m->term[k].gate != GATE_NONE || !(mask & lasting)) continue;
        if (mask & factors_of(KERN_ROLE_SMOOTH))
            scan_part(s, e, w, k, &c->part[k]);
        else
            scan_pattern(s, e, w, k, &c->part[k]);
    }
}

bool changes_scan(const struct evidence *e, struct smodel_work *w, const double *periods, int n,
                  struct changes *out) {
    const struct smodel_data *d = smodel_of(e)->data;
    struct scan s = {.n = d->n, .t = d->t};
    memset(out, 0, sizeof *out);
    if (d->n < SHORTEST || d->n > LONGEST || !e->prop.n) return false;
    s.inverse = NEW_ARRAY(double, s.n *(s.n + 2));
    s.alpha = s.inverse + s.n * s.n;
    s.e = s.alpha + s.n;
    bool ok = factor(&s, e);
    if (ok) {
        scan_shifts(&s, out);
        scan_bends(&s, out);
        scan_pulses(&s, out);
        scan_variances(&s, s.e, &out->variance, &out->window);
        scan_parts(&s, e, w, out);
        if (n) scan_waves(&s, periods, n, out);
    }
    mem_free(s.inverse);
    return ok;
}
