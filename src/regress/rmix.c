/* SPDX-License-Identifier: Apache-2.0
 * Mixtures over draws: see rmix.h. */
#include "regress/rmix.h"
#include "base/mem.h"
#include "base/number.h"
#include "math/special.h"
#include <math.h>
#include <stdlib.h>

/* ---- of normal distributions ---- */

static double mix_cdf(size_t n, const double *w, const double *mean, const double *sd, size_t step,
                      double x, double *density) {
    double cdf = 0;
    *density = 0;
    for (size_t i = 0; i < n; i++) {
        double share = w ? w[i] : 1 / (double)n, s = sd[i * step], t = (x - mean[i * step]) / s;
        cdf += share * norm_cdf(t);
        *density += share * exp(-0.5 * t * t) / (s * 2.5066282746310002);
    }
    return cdf;
}

/* Newton's steps, and halves of the interval where they leave it. */
double rmix_quantile(size_t n, const double *w, const double *mean, const double *sd, size_t step,
                     double p) {
    double lo = INFINITY, hi = -INFINITY, z = norm_quantile(p), x = 0;
    for (size_t i = 0; i < n; i++) {
        double q = mean[i * step] + z * sd[i * step];
        lo = fmin(lo, q), hi = fmax(hi, q);
        x += (w ? w[i] : 1 / (double)n) * q;
    }
    for (int it = 0; it < 100 && hi - lo > 1e-12 * (fabs(lo) + fabs(hi)); it++) {
        double density, off = mix_cdf(n, w, mean, sd, step, x, &density) - p;
        if (off > 0)
            hi = x;
        else
            lo = x;
        double next = x - off / density;
        if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
        if (fabs(next - x) <= 1e-10 * fabs(sd[0])) return next;
        x = next;
    }
    return x;
}

/* ---- of chances and counts ---- */

static double weight(const struct rmix *x, size_t k) {
    return x->w ? x->w[k] : 1 / (double)x->n;
}

static double at(const struct rmix *x, double p) {
    return x->family->mean(rmix_quantile(x->n, x->w, x->mean, x->sd, x->step, p));
}

/* Measurements, each from the draw whose share of the weights it falls into; stratified in the
 * draws and, shuffled by a step that is prime to their number, in the function. */
enum { SIMULATED = 1000, SHUFFLE = 387 };

static void simulate(const struct rmix *x, struct rng *r, double *y) {
    const struct gp_likelihood *l = gp_likelihood_find(x->family->likelihood);
    double sum = weight(x, 0);
    size_t k = 0;
    for (size_t i = 0; i < SIMULATED; i++) {
        while (k + 1 < x->n && sum < ((double)i + 0.5) / SIMULATED) sum += weight(x, ++k);
        double u = ((double)(i * SHUFFLE % SIMULATED) + rng_uniform(r)) / SIMULATED;
        double f = x->mean[k * x->step] + x->sd[k * x->step] * norm_quantile(u);
        y[i] = l->draw(r, f, &x->size[k]);
    }
    qsort(y, SIMULATED, sizeof *y, number_compare);
}

static void new_interval(const struct rmix *x, double low, uint64_t seed, size_t row,
                         struct rprediction *p) {
    if (x->family == rfamily_of(RFAMILY_CHANCE)) {
        p->new_lo = 1 - p->mean < low, p->new_hi = 1 - p->mean < 1 - low;
        return;
    }
    double y[SIMULATED];
    struct rng r;
    rng_init(&r, seed, 37, (uint32_t)row);
    simulate(x, &r, y);
    p->new_lo = y[(size_t)floor(low * SIMULATED)];
    p->new_hi = y[(size_t)fmin(SIMULATED - 1, ceil((1 - low) * SIMULATED) - 1)];
}

struct rprediction rmix_predict(const struct rmix *x, double level, uint64_t seed, size_t row) {
    double low = (1 - level) / 2, sq = 0, new_sq = 0;
    struct rprediction p = {.median = at(x, 0.5), .lo = at(x, low), .hi = at(x, 1 - low)};
    for (size_t k = 0; k < x->n; k++) {
        struct rresponse r =
            rfamily_response(x->family, &x->size[k], x->mean[k * x->step], x->sd[k * x->step]);
        double w = weight(x, k);
        p.mean += w * r.mean;
        sq += w * (r.var + r.mean * r.mean), new_sq += w * (r.new_var + r.mean * r.mean);
    }
    p.sd = sqrt(fmax(0, sq - p.mean * p.mean));
    p.new_sd = sqrt(fmax(0, new_sq - p.mean * p.mean));
    new_interval(x, low, seed, row, &p);
    return p;
}

double rmix_log_density(const struct rmix *x, double y) {
    double *logs = NEW_ARRAY(double, x->n + 1);
    for (size_t k = 0; k < x->n; k++)
        logs[k] = log(weight(x, k)) + rfamily_log_density(x->family, &x->size[k], y,
                                                          x->mean[k * x->step], x->sd[k * x->step]);
    double sum = logsumexp(logs, x->n);
    mem_free(logs);
    return sum;
}

double rmix_tail(const struct rmix *x, double y) {
    double below = 0, above = 0;
    for (size_t k = 0; k < x->n; k++)
        for (int i = -6; i <= 6; i++) { /* of the function, as in rfamily.c */
            double z = i, t[2], w = weight(x, k) * exp(-0.5 * z * z) / 2.5066282746310002;
            x->family->tails(y, x->mean[k * x->step] + z * x->sd[k * x->step], &x->size[k], t);
            below += w * exp(t[0]), above += w * exp(t[1]);
        }
    return fmin(1, 2 * fmin(below, above));
}
