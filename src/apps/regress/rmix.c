/* SPDX-License-Identifier: Apache-2.0
 * Mixtures over draws: see rmix.h. */
#include "apps/regress/rmix.h"
#include "base/mem.h"
#include "base/number.h"
#include "numeric/posterior/wild.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdlib.h>

/* ---- of normal distributions ---- */

static double part(const struct rnormals *x, size_t i) {
    return x->w ? x->w[i] : 1 / (double)x->n;
}

static double mix_cdf(const struct rnormals *x, double at, double *density) {
    double cdf = 0;
    *density = 0;
    for (size_t i = 0; i < x->n; i++) {
        double s = x->sd[i * x->step], t = (at - x->mean[i * x->step]) / s;
        for (int wide = 0; wide <= (x->wild > 0); wide++) {
            double u = wide ? t / WILD_WIDTH : t, width = wide ? s * WILD_WIDTH : s;
            double share = part(x, i) * (wide ? x->wild : 1 - x->wild);
            cdf += share * norm_cdf(u);
            *density += share * exp(-0.5 * u * u) / (width * 2.5066282746310002);
        }
    }
    return cdf;
}

/* Newton's steps, and halves of the interval where they leave it. */
double rmix_quantile(const struct rnormals *x, double p) {
    double lo = INFINITY, hi = -INFINITY, z = norm_quantile(p), at = 0;
    double wide = x->wild > 0 ? WILD_WIDTH * z : z;
    for (size_t i = 0; i < x->n; i++) {
        double m = x->mean[i * x->step], s = x->sd[i * x->step];
        lo = fmin(lo, m + fmin(z, wide) * s), hi = fmax(hi, m + fmax(z, wide) * s);
        at += part(x, i) * (m + z * s);
    }
    for (int it = 0; it < 100 && hi - lo > 1e-12 * (fabs(lo) + fabs(hi)); it++) {
        double density, off = mix_cdf(x, at, &density) - p;
        if (off > 0)
            hi = at;
        else
            lo = at;
        double next = at - off / density;
        if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
        if (fabs(next - at) <= 1e-10 * fabs(x->sd[0])) return next;
        at = next;
    }
    return at;
}

double rmix_mean(const struct rnormals *x) {
    double sum = 0;
    for (size_t i = 0; i < x->n; i++) sum += part(x, i) * x->mean[i * x->step];
    return sum;
}

double rmix_sd(const struct rnormals *x) {
    double mean = rmix_mean(x), sum = 0, square = 1 + x->wild * (WILD_WIDTH * WILD_WIDTH - 1);
    for (size_t i = 0; i < x->n; i++) {
        double off = x->mean[i * x->step] - mean, s = x->sd[i * x->step];
        sum += part(x, i) * (off * off + square * s * s);
    }
    return sqrt(sum);
}

double rmix_log_normal(const struct rnormals *x, double y) {
    double *logs = NEW_ARRAY(double, x->n + 1);
    for (size_t i = 0; i < x->n; i++) {
        double s = x->sd[i * x->step], far = (y - x->mean[i * x->step]) / s;
        logs[i] = log(part(x, i)) +
                  wild_log_mixture(-0.5 * far * far - log(s) - LOG_SQRT_2PI, far, s, x->wild);
    }
    double sum = logsumexp(logs, x->n);
    mem_free(logs);
    return sum;
}

/* ---- of chances and counts ---- */

static double weight(const struct rmix *x, size_t k) {
    return x->w ? x->w[k] : 1 / (double)x->n;
}

static double at(const struct rmix *x, double p) {
    struct rnormals f = {x->n, x->w, x->mean, x->sd, x->step, 0};
    return x->family->mean(rmix_quantile(&f, p));
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
