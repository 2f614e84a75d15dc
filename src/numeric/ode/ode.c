/* SPDX-License-Identifier: Apache-2.0
 *
 * Dormand and Prince (1980), RK5(4)7M, with the continuous extension of order 4 by Shampine (1986),
 * step control as in Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4.
 *
 *     Y_i = y + h sum_{j<i} a_ij k_j,   k_i = f(t + c_i h, Y_i),   y_new = Y_7
 *     y(t + x h) = y + h sum_j b_j(x) k_j
 *
 * k_7 is the first slope of the next step. Derivatives are those of these formulas with the actual
 * steps (the adjoint of the discrete solution). So a log density and its gradient are of one
 * function, however large the tolerance. */
#include "numeric/ode/ode.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STAGES = 7 };

static const double c_of[STAGES] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
static const double a_of[STAGES][STAGES - 1] = {
    {0},
    {1. / 5},
    {3. / 40, 9. / 40},
    {44. / 45, -56. / 15, 32. / 9},
    {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
    {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
    {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
/* order 5 minus order 4 */
static const double e_of[STAGES] = {-71. / 57600,    0,          71. / 16695, -71. / 1920,
                                    17253. / 339200, -22. / 525, 1. / 40};
/* b_j(x) = sum_q dense[j][q] x^(q+1) */
static const double dense[STAGES][4] = {
    {1, -8048581381. / 2820520608, 8663915743. / 2820520608, -12715105075. / 11282082432},
    {0},
    {0, 131558114200. / 32700410799, -68118460800. / 10900136933, 87487479700. / 32700410799},
    {0, -1754552775. / 470086768, 14199869525. / 1410260304, -10690763975. / 1880347072},
    {0, 127303824393. / 49829197408, -318862633887. / 49829197408, 701980252875. / 199316789632},
    {0, -282668133. / 205662961, 2019193451. / 616988883, -1453857185. / 822651844},
    {0, 40617522. / 29380423, -110615467. / 29380423, 69997945. / 29380423}};

void ode_track_release(struct ode_track *t) {
    vec_release(&t->steps);
    vec_release(&t->y);
    vec_release(&t->k);
    vec_release(&t->output_in);
}

/* A solution in progress; k holds STAGES slopes, one after another. */
struct rk {
    struct ode *o;
    double t, h;
    double *y, *next, *k;
};

/* y + h sum_j w_j k_j over the first `stages` slopes. */
static void combine(const struct rk *r, const double *w, size_t stages, double *out) {
    size_t n = r->o->n;
    memcpy(out, r->y, n * sizeof *out);
    for (size_t j = 0; j < stages; j++) {
        double hw = r->h * w[j];
        const double *k = r->k + j * n;
        if (hw == 0) continue;
        for (size_t i = 0; i < n; i++) out[i] += hw * k[i];
    }
}

static double scale_at(const struct ode *o, double a, double b) {
    return o->atol + o->rtol * fmax(fabs(a), fabs(b));
}

/* Root mean square of x relative to the tolerance at y. */
static double norm_of(const struct ode *o, const double *x, const double *y) {
    double s = 0;
    for (size_t i = 0; i < o->n; i++) {
        double e = x[i] / scale_at(o, y[i], y[i]);
        s += e * e;
    }
    return sqrt(s / (double)(o->n ? o->n : 1));
}

/* The first step (Hairer, II.4), from how much the slope changes over one small explicit Euler
 * step. */
static bool first_step(struct rk *r, double span) {
    struct ode *o = r->o;
    double *turned = r->k + o->n, d0 = norm_of(o, r->y, r->y), d1 = norm_of(o, r->k, r->y);
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    h0 = fmin(h0, span);
    for (size_t i = 0; i < o->n; i++) r->next[i] = r->y[i] + h0 * r->k[i];
    o->status = o->f(o->ctx, r->t + h0, r->next, turned);
    if (o->status != GPM_OK) return false;
    for (size_t i = 0; i < o->n; i++) turned[i] -= r->k[i];
    double d2 = norm_of(o, turned, r->y) / h0, d = fmax(d1, d2);
    double h1 = d <= 1e-15 ? fmax(1e-6, h0 * 1e-3) : pow(0.01 / d, 0.2);
    r->h = fmin(fmin(100 * h0, h1), span);
    if (!(r->h > 0)) r->h = h0; /* NaN: the next step reports it */
    return true;
}

/* The stages of one step; *error is relative to the tolerance, NaN if f was not finite. */
static bool try_step(struct rk *r, double *error) {
    struct ode *o = r->o;
    size_t n = o->n;
    double sum = 0;
    for (size_t s = 1; s < STAGES; s++) {
        combine(r, a_of[s], s, r->next);
        o->status = o->f(o->ctx, r->t + c_of[s] * r->h, r->next, r->k + s * n);
        if (o->status != GPM_OK) return false;
    }
    for (size_t i = 0; i < n; i++) {
        double e = 0;
        for (size_t s = 0; s < STAGES; s++) e += e_of[s] * r->k[s * n + i];
        e *= r->h / scale_at(o, r->y[i], r->next[i]);
        sum += e * e;
    }
    *error = sqrt(sum / (double)(n ? n : 1));
    return true;
}

static void weights_at(double x, double w[STAGES]) {
    for (size_t s = 0; s < STAGES; s++)
        w[s] = x * (dense[s][0] + x * (dense[s][1] + x * (dense[s][2] + x * dense[s][3])));
}

static void keep_step(const struct rk *r, struct ode_track *track) {
    size_t n = r->o->n;
    vec_push(&track->steps, ((struct ode_step){r->t, r->h}));
    vec_reserve(&track->y, track->y.n + n);
    vec_reserve(&track->k, track->k.n + STAGES * n);
    memcpy(track->y.at + track->y.n, r->y, n * sizeof *r->y);
    memcpy(track->k.at + track->k.n, r->k, STAGES * n * sizeof *r->k);
    track->y.n += n;
    track->k.n += STAGES * n;
}

/* Outputs at times inside the accepted step. */
static void give_outputs(const struct rk *r, size_t *next, double *out, struct ode_track *track) {
    const struct ode *o = r->o;
    double w[STAGES];
    for (; *next < o->m && o->ts[*next] <= r->t + r->h; ++*next) {
        weights_at((o->ts[*next] - r->t) / r->h, w);
        combine(r, w, STAGES, out + *next * o->n);
        if (track) vec_push(&track->output_in, track->steps.n - 1);
    }
}

/* y_new becomes y, its slope the first one. */
static void advance(struct rk *r, double t) {
    double *y = r->y;
    r->y = r->next;
    r->next = y;
    r->t = t;
    memcpy(r->k, r->k + (STAGES - 1) * r->o->n, r->o->n * sizeof *r->k);
}

static bool all_finite(const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Takes steps until all times are passed. The last step ends at the last time, so f is never
 * evaluated beyond it. */
static enum ode_end steps(struct rk *r, double *out, size_t next, struct ode_track *track) {
    struct ode *o = r->o;
    double end = o->ts[o->m - 1], error = 0, grow = 10;
    for (size_t used = 0; next < o->m; used++) {
        if (used >= o->max_steps) return ODE_STEPS;
        bool last = r->t + r->h * (1 + 1e-12) >= end;
        if (last) r->h = end - r->t;
        if (r->h < 16 * DBL_EPSILON * fabs(r->t) || r->h < DBL_MIN)
            return error != error ? ODE_NAN : ODE_STUCK;
        if (!try_step(r, &error)) return ODE_ASKED;
        if (!(error <= 1)) { /* NaN too */
            r->h *= error != error || isinf(error) ? 0.1 : fmax(0.2, 0.9 * pow(error, -0.2));
            grow = 1;
            continue;
        }
        if (track) keep_step(r, track);
        give_outputs(r, &next, out, track);
        advance(r, last ? end : r->t + r->h);
        o->at = r->t;
        r->h *= error == 0 ? grow : fmin(grow, fmax(0.2, 0.9 * pow(error, -0.2)));
        grow = 10;
    }
    return ODE_DONE;
}

enum ode_end ode_rk(struct ode *o, double *out, struct ode_track *track) {
    size_t n = o->n, next = 0;
    double *room = mem_array((STAGES + 2) * n + 1, sizeof *room);
    struct rk r = {o, o->t0, 0, room, room + n, room + 2 * n};
    memcpy(r.y, o->y0, n * sizeof *r.y);
    o->at = o->t0;
    for (; next < o->m && o->ts[next] <= o->t0; next++) {
        memcpy(out + next * n, o->y0, n * sizeof *out);
        if (track) vec_push(&track->output_in, SIZE_MAX);
    }
    enum ode_end end = ODE_DONE;
    if (next < o->m) {
        o->status = o->f(o->ctx, r.t, r.y, r.k);
        if (o->status != GPM_OK)
            end = ODE_ASKED;
        else if (!all_finite(r.k, n))
            end = ODE_NAN;
        else
            end = first_step(&r, o->ts[o->m - 1] - r.t) ? steps(&r, out, next, track) : ODE_ASKED;
    }
    if (end == ODE_DONE && !all_finite(out, o->m * n)) end = ODE_NAN;
    mem_free(room);
    return end;
}

/* ---- backwards ---- */

/* Known adjoints after a step: of the state there, and of its slope. */
struct back {
    struct ode *o;
    const struct ode_track *track;
    const struct ode_adjoint *a;
    size_t output;        /* outputs from here on are done */
    double *dy, *dk, *dY; /* dk: STAGES n */
    double *Y;
};

/* dY += the adjoint of Y through k = f(t, Y). */
static enum gpm_status through_f(struct back *b, double t, const double *Y, const double *dk,
                                 double *dY) {
    struct ode *o = b->o;
    bool any = false;
    for (size_t i = 0; i < o->n; i++) any |= dk[i] != 0;
    if (!any) return GPM_OK;
    enum gpm_status st = o->f(o->ctx, t, Y, b->Y + o->n); /* its results are no longer needed */
    if (st == GPM_OK) o->back(o->ctx, dk, dY, b->a->dp);
    return st;
}

static void add_scaled(double *to, double x, const double *d, size_t n) {
    for (size_t i = 0; x != 0 && i < n; i++) to[i] += x * d[i];
}

/* Outputs inside step s: y(t + x h) = y + h sum_j b_j(x) k_j. dy0: adjoint of y at the start of the
 * step. */
static void outputs_back(struct back *b, size_t s, const struct rk *r, double *dy0) {
    const struct ode_track *track = b->track;
    size_t n = b->o->n;
    double w[STAGES];
    for (; b->output > 0 && track->output_in.at[b->output - 1] == s; b->output--) {
        const double *d = b->a->d + (b->output - 1) * n;
        weights_at((b->o->ts[b->output - 1] - r->t) / r->h, w);
        for (size_t j = 0; j < STAGES; j++) add_scaled(b->dk + j * n, r->h * w[j], d, n);
        add_scaled(dy0, 1, d, n);
    }
}

/* One step: dy is the adjoint of y_new and the last of dk that of its slope. Afterwards they are
 * the adjoints of y and of its slope k_1. */
static enum gpm_status step_back(struct back *b, size_t s, double *dy0) {
    size_t n = b->o->n;
    struct rk r = {.o = b->o, .t = b->track->steps.at[s].t, .h = b->track->steps.at[s].h};
    r.y = b->track->y.at + s * n;
    r.k = b->track->k.at + s * STAGES * n;
    memset(b->dk, 0, (STAGES - 1) * n * sizeof *b->dk);
    memset(dy0, 0, n * sizeof *dy0);
    outputs_back(b, s, &r, dy0);
    for (size_t i = STAGES; i-- > 1;) { /* the last stage is y_new itself */
        double *dY = i == STAGES - 1 ? b->dy : b->dY;
        if (dY != b->dy) memset(dY, 0, n * sizeof *dY);
        combine(&r, a_of[i], i, b->Y);
        enum gpm_status st = through_f(b, r.t + c_of[i] * r.h, b->Y, b->dk + i * n, dY);
        if (st != GPM_OK) return st;
        add_scaled(dy0, 1, dY, n);
        for (size_t j = 0; j < i; j++) add_scaled(b->dk + j * n, r.h * a_of[i][j], dY, n);
    }
    memcpy(b->dk + (STAGES - 1) * n, b->dk, n * sizeof *b->dk);
    memcpy(b->dy, dy0, n * sizeof *dy0);
    return GPM_OK;
}

enum gpm_status ode_rk_back(struct ode *o, const struct ode_track *track,
                            const struct ode_adjoint *a) {
    size_t n = o->n;
    double *room = mem_zalloc((STAGES + 5) * n * sizeof *room + sizeof *room);
    struct back b = {
        o, track, a, o->m, room, room + n, room + (STAGES + 1) * n, room + (STAGES + 2) * n};
    double *dy0 = room + (STAGES + 4) * n;
    enum gpm_status st = GPM_OK;
    for (size_t s = track->steps.n; s-- > 0 && st == GPM_OK;) st = step_back(&b, s, dy0);
    if (st == GPM_OK) st = through_f(&b, o->t0, o->y0, b.dk + (STAGES - 1) * n, b.dy);
    for (; b.output > 0; b.output--) add_scaled(b.dy, 1, a->d + (b.output - 1) * n, n);
    add_scaled(a->dy0, 1, b.dy, n);
    mem_free(room);
    return st;
}
