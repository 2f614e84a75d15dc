/* SPDX-License-Identifier: Apache-2.0
 * Mixtures over draws: see rmix.h. */
#include "apps/regress/rmix.h"
#include "base/mem.h"
#include "base/number.h"
#include "numeric/posterior/wild.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdlib.h>

static double weight(const struct rmix *x, size_t k) {
    return x->w ? x->w[k] : 1 / (double)x->n;
}

void rmix_normals(const struct rmix *x, double wild, struct mixture *out) {
    mixture_clear(out);
    for (size_t k = 0; k < x->n; k++) {
        struct mixture_part p = {.weight = weight(x, k) * (1 - wild),
                                 .mean = x->mean[k * x->step],
                                 .sd = x->sd[k * x->step]};
        mixture_add(out, p);
        p.kind = MIXTURE_WILD, p.weight = weight(x, k) * wild, p.sd *= WILD_WIDTH;
        if (wild > 0) mixture_add(out, p);
    }
}

/* ---- of chances and counts ---- */

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
    struct mixture f = {0};
    rmix_normals(x, 0, &f);
    struct rprediction p = {.median = x->family->mean(mixture_quantile(&f, 0.5)),
                            .lo = x->family->mean(mixture_quantile(&f, low)),
                            .hi = x->family->mean(mixture_quantile(&f, 1 - low))};
    mixture_release(&f);
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
