/* SPDX-License-Identifier: Apache-2.0
 *
 * What an evaluation of a noisy function is worth: by how much it lowers, in expectation, the least
 * posterior mean, which is what will be recommended (the knowledge gradient). One at x moves the
 * mean at every place j along a line in a standard normal Z,
 *
 *   mean_j + b_j Z,   b_j = cov(f_j, f_x) / sqrt(var f_x + noise_x^2),
 *
 * and worth(x) = min_j mean_j - E min_j (mean_j + b_j Z), exactly, from the lower envelope of the
 * lines. A place that was evaluated before is worth another evaluation as any other is, so that
 * points are repeated when that pays, and where noise is small more is learnt.
 */
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct line { /* a + b Z; from: where it enters the envelope */
    double a, b, from;
};

static int by_slope(const void *p, const void *q) {
    const struct line *s = p, *t = q;
    if (s->b != t->b) return s->b < t->b ? -1 : 1;
    return s->a < t->a ? -1 : s->a > t->a;
}

/* E max_j (a_j + b_j Z) - max_j a_j: over the corners c of the upper envelope, between slopes b and
 * b', the sum of (b' - b) (phi(c) - |c| Phi(-|c|)). The lines are sorted in place. */
static double gain(struct line *t, size_t n) {
    size_t m = 0;
    double sum = 0;
    qsort(t, n, sizeof *t, by_slope);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && t[i + 1].b == t[i].b) continue; /* the last of them is the highest */
        struct line next = t[i];
        next.from = -INFINITY;
        for (; m; m--) {
            next.from = (t[m - 1].a - next.a) / (next.b - t[m - 1].b);
            if (next.from > t[m - 1].from) break;
        }
        if (!m) next.from = -INFINITY;
        t[m++] = next;
    }
    for (size_t i = 1; i < m; i++) {
        double c = fabs(t[i].from);
        if (c < 38)
            sum += (t[i].b - t[i - 1].b) * (exp(-0.5 * c * c - LOG_SQRT_2PI) - c * norm_cdf(-c));
    }
    return sum;
}

bool bo_worth(struct bo_output *o, const double *at, size_t n, size_t count, double *worth) {
    double *mean = NEW_ARRAY(double, n *(n + 1)), *cov = mean + n;
    struct line *t = NEW_ARRAY(struct line, n);
    size_t D = (size_t)o->b->D;
    bool known = gp_predict_cov(o->model.gp, at, n, GP_LATENT, mean, cov, n) == GPM_OK;
    for (size_t i = 0; known && i < count; i++) {
        double s = bo_noise_sd_at(o, at + i * D), all = sqrt(fmax(0, cov[i * n + i]) + s * s);
        for (size_t j = 0; j < n; j++)
            t[j] = (struct line){-mean[j], all > 0 ? -cov[i * n + j] / all : 0, 0};
        worth[i] = gain(t, n);
    }
    mem_free(t);
    mem_free(mean);
    return known;
}
