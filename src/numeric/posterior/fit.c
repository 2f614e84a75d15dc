/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost, in gradients: one without gradient for each start, polished * iterations for the best few,
 * about 30 for the best one, 2d for the Hessian of each mode.
 */
#include "numeric/posterior/fit.h"
#include "base/mem.h"
#include "numeric/optim/optim.h"
#include <math.h>
#include <string.h>

struct fit_starts *fit_starts_new(int d, int room) {
    return mem_zalloc(sizeof(struct fit_starts) +
                      sizeof(double) * (size_t)((room + FIT_MAX_POLISHED) * d));
}

/* ---- optimisation ---- */
/* The optimiser works on x = z / unit, since scales differ: a period is known to a small fraction
 * of itself, other parameters to some tenths. */
struct scaled {
    const struct density *t;
    double unit[PROPOSAL_MAX_DIM], valued[PROPOSAL_MAX_DIM]; /* last point without gradient */
    bool begun, known;
};

static double minus_density(void *ctx, const double *x, double *grad) {
    struct scaled *s = ctx;
    int d = s->t->d;
    double z[PROPOSAL_MAX_DIM];
    if (s->begun && haste_now(s->t->haste)) return INFINITY; /* rejects every step */
    s->begun = true;
    for (int i = 0; i < d; i++) z[i] = x[i] * s->unit[i];
    size_t size = sizeof *z * (size_t)d;
    bool rest = grad && s->known && !memcmp(z, s->valued, size);
    double f = 0; /* with a following gradient, the value is not needed again */
    if (rest)
        f = s->t->slopes(s->t->ctx, z, grad) ? 0 : -INFINITY;
    else
        f = density_eval(s->t, z, grad);
    s->known = !grad;
    if (!grad) memcpy(s->valued, z, size);
    if (!isfinite(f)) return INFINITY;
    for (int i = 0; i < d && grad; i++) grad[i] *= -s->unit[i];
    return -f;
}

static bool late(void *ctx) {
    const struct density *t = ((struct scaled *)ctx)->t;
    return t->late && t->late(t->ctx);
}

double fit_optimise(const struct density *t, double *z, int iterations) {
    struct optim_options o = OPTIM_OPTIONS_INIT;
    struct scaled s = {.t = t};
    o.max_iter = iterations;
    o.max_eval = 2 * iterations + 10;
    o.grad_tol = 1e-2;
    o.f_tol = 1e-8;
    o.late = late;
    for (int i = 0; i < t->d; i++) s.unit[i] = 1;
    if (t->units) t->units(t->ctx, z, s.unit);
    for (int i = 0; i < t->d; i++) z[i] /= s.unit[i];
    double f = optim_minimise(minus_density, &s, (size_t)t->d, z, &o);
    for (int i = 0; i < t->d; i++) z[i] *= s.unit[i];
    if (t->settle) t->settle(t->ctx, z);
    return isfinite(f) ? -f : -INFINITY;
}

/* ---- starts ---- */
/* Inserts start i in the list of the best `want`, best first. */
static void rank(struct fit_starts *s, int want, int i, double logp) {
    bool full = s->n == want;
    if (!isfinite(logp) || (full && logp <= s->best[want - 1].logp)) return;
    int at = full ? want - 1 : s->n++;
    s->best[at] = (struct fit_rank){logp, i};
    for (; at > 0 && s->best[at].logp > s->best[at - 1].logp; at--) {
        struct fit_rank x = s->best[at];
        s->best[at] = s->best[at - 1];
        s->best[at - 1] = x;
    }
}

/* Adds the best of the isolated starts at the end. */
static void add_apart(struct fit_starts *s, int n, const double *logp) {
    int best = -1;
    for (int i = n - s->apart; i < n; i++)
        if (isfinite(logp[i]) && (best < 0 || logp[i] > logp[best])) best = i;
    if (best >= 0 && s->n < FIT_MAX_POLISHED) s->best[s->n++] = (struct fit_rank){logp[best], best};
}

/* Copies start `from` to start `to`, and sets each coordinate in turn to the best of its values in
 * the n starts. This finds a narrow mode (a period over many cycles) even if no start is near it in
 * all coordinates. */
static void scan(const struct density *t, struct fit_starts *s, int n, struct fit_rank from, int to,
                 int want) {
    double *z = s->z + (size_t)(to * t->d), logp = from.logp;
    memcpy(z, s->z + (size_t)(from.at * t->d), sizeof *z * (size_t)t->d);
    for (int i = 0; i < t->d; i++) {
        double best = z[i];
        for (int k = 0; k < n; k++) {
            z[i] = s->z[(size_t)(k * t->d + i)];
            double f = density_eval(t, z, NULL);
            if (f > logp) logp = f, best = z[i];
        }
        z[i] = best;
    }
    rank(s, want, to, logp);
}

/* Drops similar starts, which lead to the same optimum. */
static void drop_copies(const struct density *t, struct fit_starts *s) {
    int kept = 0;
    for (int k = 0; k < s->n; k++) {
        bool copy = false;
        for (int i = 0; i < kept; i++)
            copy |= !memcmp(s->z + (size_t)(s->best[i].at * t->d), fit_best(t, s, k),
                            sizeof(double) * (size_t)t->d);
        if (!copy) s->best[kept++] = s->best[k];
    }
    s->n = kept;
}

void fit_polish(const struct density *t, struct fit_starts *s, int n, const struct fit_rules *r,
                double floor) {
    int top = 0;
    s->n = 0;
    double *logp = NEW_ARRAY(double, (size_t)n + 1);
    density_many(t, (size_t)n, s->z, logp, NULL);
    for (int i = 0; i < n - s->apart; i++) rank(s, r->polished, i, logp[i]);
    add_apart(s, n, logp);
    mem_free(logp);
    if (haste_now(t->haste)) return;
    drop_copies(t, s);
    struct fit_rank first[FIT_MAX_POLISHED];
    int scans = r->scan < s->n ? r->scan : s->n;
    memcpy(first, s->best, sizeof first);
    for (int k = 0; k < scans; k++) scan(t, s, n, first[k], n + k, r->polished);
    for (int k = 0; k < s->n; k++) {
        s->best[k].logp = fit_optimise(t, fit_best(t, s, k), r->iterations);
        if (s->best[k].logp > s->best[top].logp) top = k;
        if (s->best[k].logp < floor - r->hope) s->n = k + 1;
    }
    struct fit_rank x = s->best[0];
    s->best[0] = s->best[top];
    s->best[top] = x;
}

/* ---- modes ---- */
bool fit_known_mode(const struct proposal *p, const double *z, double apart) {
    for (int k = 0; k < p->n; k++) {
        double far = 0;
        for (int i = 0; i < p->d; i++) far = fmax(far, fabs(z[i] - p->mode[k].z[i]));
        if (far <= apart) return true;
    }
    return false;
}

double fit_modes(const struct density *t, struct fit_starts *s, int most, const struct fit_rules *r,
                 struct proposal *p, double *map) {
    double sum = -INFINITY;
    *map = s->best[0].logp;
    for (int k = 0; k < s->n && k < most; k++) {
        double *z = fit_best(t, s, k);
        if (s->best[k].logp < s->best[0].logp - r->range) break;
        if (k > 0 && fit_known_mode(p, z, r->apart)) continue; /* it is almost there already */
        if (k > 0) s->best[k].logp = fit_optimise(t, z, r->modes);
        if (k > 0 && fit_known_mode(p, z, r->apart)) continue;
        if (s->best[k].logp < *map - r->range) continue;
        double lap = proposal_add_mode(p, t, z);
        if (!isfinite(lap)) continue;
        *map = fmax(*map, s->best[k].logp);
        sum = p->n == 1 ? lap : fmax(sum, lap) + log1p(exp(-fabs(sum - lap)));
    }
    return sum;
}
