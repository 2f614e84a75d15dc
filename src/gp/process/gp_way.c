/* SPDX-License-Identifier: Apache-2.0
 * The table of ways and the one that chooses among them; contracts in gp_way.h. */
#include "gp/process/gp_way.h"

#include "gp/way/gp_states.h"

#include <math.h>
#include <string.h>

/* An approximation that loses less than this, in nats, is taken before others are tried. */
#define LOSS_SMALL 0.05

/* The filters come last of the exact ways: their cost is known only after work that is not worth
 * its while beside a cheaper way. Approximations stand in the order in which they are tried. */
static const struct gp_way *const ways[] = {&gp_way_card,    &gp_way_factor,   &gp_way_toeplitz,
                                            &gp_way_filters, &gp_way_low_rank, &gp_way_inducing,
                                            &gp_way_vecchia};
enum { WAYS = COUNT_OF(ways) };

const struct gp_way *gp_way_at(size_t i) {
    return i < WAYS ? ways[i] : NULL;
}

/* By the bits of enum gp_serves. */
static const char *const can[] = {"value",         "slopes",     "points",
                                  "covariance",    "draws",      "parts",
                                  "leave-one-out", "integrated", "exact beside noisy",
                                  "columns",       "weights"};

void gp_way_print(const struct gp_way *w, struct buf *out) {
    buf_printf(out, "| %s |", w ? w->name : "way");
    for (size_t i = 0; i < COUNT_OF(can); i++)
        buf_printf(out, " %s |", !w ? can[i] : w->serves >> i & 1 ? "x" : "-");
}

/* ---- what a way costs ---- */

static unsigned needs(const struct gp_question *q) {
    static const unsigned of[] = {GP_DOES_VALUE, GP_DOES_SLOPES, GP_DOES_POINTS, GP_DOES_DRAWS};
    const struct gp *g = q->g;
    unsigned need = of[q->asked];
    if (q->cov) need |= GP_DOES_COVARIANCE;
    if (q->part) need |= GP_DOES_PARTS;
    if (g->integrated) need |= GP_DOES_INTEGRATED;
    if (g->nexact && q->s->noise > 0) need |= GP_DOES_EXACT;
    if (g->dim > 1) need |= GP_DOES_COLUMNS;
    if (q->want && q->want->weight != 1) need |= GP_DOES_WEIGHTS;
    return need;
}

/* By what was said about the process. Without data there is nothing to approximate. */
static bool allowed(const struct gp *g, const struct gp_way *w) {
    if (gp_approx_asked(g) && g->n) return w->kind == g->approx;
    return (w->kind == GP_EXACT || (g->approx == GP_AUTO && !g->filtered)) &&
           (w->exact & g->ways) == w->exact;
}

static double cost_of(struct gp_question *q, const struct gp_way *w) {
    unsigned lacks = needs(q) & ~w->serves;
    q->why = NULL;
    q->way = w;
    if (!allowed(q->g, w)) return INFINITY;
    for (size_t i = 0; i < COUNT_OF(can) && lacks; i++)
        if (lacks >> i & 1) q->why = can[i];
    return lacks ? INFINITY : w->cost(q);
}

/* The cheapest exact way but for those tried; NULL: none serves. */
static const struct gp_way *cheapest(struct gp_question *q, unsigned tried) {
    const struct gp_way *best = NULL;
    q->below = INFINITY;
    for (size_t i = 0; i < WAYS; i++) {
        if (ways[i]->kind != GP_EXACT || tried >> i & 1) continue;
        double cost = cost_of(q, ways[i]);
        if (isinf(cost)) q->g->refused[i] = q->why;
        if (!(cost < q->below)) continue;
        q->below = cost;
        best = ways[i];
    }
    return best;
}

const struct gp_way *gp_way_for(struct gp *g, struct gp_slot *s, enum gp_asked asked) {
    struct gp_slopes want = {.weight = 1};
    struct gp_question q = {.g = g, .s = s, .asked = asked, .want = asked ? &want : NULL};
    const struct gp_way *w = cheapest(&q, 0);
    gp_series_drop(&q);
    return w;
}

enum gpm_status gp_factor_allowed(struct gp *g) {
    struct gp_question q = {.g = g, .s = gp_current(g), .asked = GP_VALUE};
    return isinf(cost_of(&q, &gp_way_factor)) ? GPM_E_LIMIT : GPM_OK;
}

void gp_refusal(const struct gp *g, struct buf *out) {
    const char *sep = "no way serves; ";
    for (size_t i = 0; i < WAYS; i++) {
        if (!g->refused[i]) continue;
        buf_printf(out, "%s%s: %s", sep, ways[i]->name, g->refused[i]);
        sep = "; ";
    }
}

/* ---- answers ---- */

void gp_clear_slopes(const struct gp_slot *s, const struct gp_slopes *want) {
    memset(want->dkern, 0, kern_nparam(s->kern) * sizeof *want->dkern);
    if (want->dnoise) *want->dnoise = 0;
    for (size_t i = 0; want->dmean && i < mean_nparam(s->mean); i++) want->dmean[i] = 0;
}

/* What every way begins with: zeros to add to, the mean function to add to, and what ends it. */
static enum gpm_status answer_by(struct gp_question *q, const struct gp_way *w, bool *done) {
    bool model = q->asked <= GP_SLOPES;
    enum gpm_status st = GPM_OK;
    *done = false;
    if (model) q->s->have_quad = false, q->s->error = 0;
    if (q->want) gp_clear_slopes(q->s, q->want);
    if (q->mean) st = mean_eval(q->part ? NULL : q->s->mean, q->xs, q->mean);
    q->way = w;
    if (!st) st = w->answer(q, done);
    if (st || !*done) return st;
    for (size_t i = 0; i < q->xs.n && q->var && !q->g->integrated; i++) q->var[i] += q->extra;
    for (size_t i = 0; i < q->xs.n && q->cov; i++)
        if (q->cov[i * (q->ld + 1)] < 0) q->cov[i * (q->ld + 1)] = 0;
    return GPM_OK;
}

/* The likelihood by the first approximation that loses next to nothing, else by the one that loses
 * least. A matrix that cannot be factored loses everything. */
static enum gpm_status approximate(struct gp_question *q) {
    struct gp_slot *s = q->s;
    const struct gp_way *best = NULL;
    double logml = -INFINITY, error = INFINITY;
    const char *method = NULL;
    enum gpm_status st = GPM_E_LIMIT;
    for (size_t i = 0; i < WAYS && !(error <= LOSS_SMALL); i++) {
        bool done;
        if (ways[i]->kind == GP_EXACT) continue;
        if (isinf(cost_of(q, ways[i]))) {
            q->g->refused[i] = q->why;
            continue;
        }
        st = answer_by(q, ways[i], &done);
        bool goes_on = st == GPM_E_NOT_PD || (st == GPM_E_DEVICE && q->g->device == GP_ON_ANY);
        if (st && !goes_on) return st;
        if (st || (best && !(s->error < error))) continue;
        best = ways[i];
        logml = s->logml;
        error = s->error;
        method = s->method;
    }
    if (!best) return st;
    s->used = best;
    s->method = method;
    s->logml = logml + gp_replicate_term(q->g, s->noise);
    s->error = error;
    return GPM_OK;
}

/* Slopes and posterior of the approximation; the likelihood stays what it was. */
static enum gpm_status as_approximated(struct gp_question *q) {
    struct gp_slot *s = q->s;
    struct gp_question value = {.g = q->g, .s = s, .asked = GP_VALUE};
    bool done, known = s->have_logml;
    double logml = s->logml, error = s->error;
    const char *method = s->method;
    enum gpm_status st = s->used ? GPM_OK : approximate(&value);
    if (known && !st) s->logml = logml, s->error = error, s->method = method;
    s->have_logml |= !st;
    if (st) return st;
    if (!isinf(cost_of(q, s->used))) return answer_by(q, s->used, &done);
    for (size_t i = 0; i < WAYS; i++)
        if (ways[i] == s->used) q->g->refused[i] = q->why;
    return GPM_E_LIMIT;
}

enum gpm_status gp_answer(struct gp_question *q) {
    const struct gp_way *w;
    bool done = false;
    unsigned tried = 0;
    enum gpm_status st = GPM_OK;
    memset(q->g->refused, 0, sizeof q->g->refused);
    while (!st && !done && (w = cheapest(q, tried))) {
        st = answer_by(q, w, &done);
        for (size_t i = 0; i < WAYS; i++) tried |= (unsigned)(ways[i] == w) << i;
    }
    gp_series_drop(q);
    if (q->asked <= GP_SLOPES) q->s->counted = q->g->n;
    if (q->asked == GP_POINTS) q->s->asked++;
    if (st || done) return st;
    return q->asked == GP_VALUE ? approximate(q) : as_approximated(q);
}
