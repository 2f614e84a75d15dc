/* SPDX-License-Identifier: Apache-2.0
 *
 * See pace.h. */
#include "inference/hmc/pace.h"

#include "base/mem.h"
#include <math.h>

/* BATCH transitions per batch; FEWEST batches per estimate. The first SETTLING points only
 * contribute to the mean, while the step size settles. A draw should be worth 1 / PER_DRAW of an
 * independent one: 4,000 of them then give an R-hat below 1.01 for most posteriors. Beyond MOST the
 * batches are too short for an estimate. */
enum { BATCH = 20, FEWEST = 5, SETTLING = 50, MOST = 8 };
#define PER_DRAW 3.0
/* Below this there is no thinning. Consecutive draws of trajectories often lie on opposite sides of
 * the mean and are then worth more than every second one. The largest of many estimates is also
 * biased upwards by noise. */
#define SLOW 4.0

struct running { /* mean and squared deviations (Welford 1962) */
    double mean, m2;
};
struct pace_sums {
    struct running each, batch;
    double sum; /* of the current batch */
};

static void note(struct running *r, double n, double x) {
    double d = x - r->mean;
    r->mean += d / n;
    r->m2 += d * (x - r->mean);
}

static struct pace_sums *sums_of(const struct pace *p, size_t i) {
    return (struct pace_sums *)p->of + 2 * i;
}

void pace_init(struct pace *p, size_t n) {
    *p = (struct pace){.n = n};
    p->of = mem_zalloc((2 * n + 1) * sizeof(struct pace_sums));
}

void pace_release(struct pace *p) {
    mem_free(p->of);
    *p = (struct pace){0};
}

/* The mean continues to move a little; squares are taken from its present value. */
void pace_note(struct pace *p, const double *z) {
    p->seen++;
    double n = p->seen - SETTLING, at = fmod(n, BATCH);
    bool ends = n > 0 && at == 0;
    if (ends) p->batches++;
    for (size_t i = 0; i < p->n; i++) {
        struct pace_sums *s = sums_of(p, i);
        double f[2] = {z[i], pow(z[i] - s[0].each.mean, 2)};
        if (n <= 0) {
            note(&s[0].each, p->seen, z[i]);
            if (n == 0) s[0].each.m2 = 0;
            continue;
        }
        for (size_t k = 0; k < 2; k++) {
            /* The mean counts as the points before it. */
            note(&s[k].each, k ? n : p->seen, f[k]);
            s[k].sum += f[k] / BATCH;
            if (!ends) continue;
            note(&s[k].batch, p->batches, s[k].sum);
            s[k].sum = 0;
        }
    }
}

double pace_advice(const struct pace *p) {
    double longest = 1, n = p->seen - SETTLING;
    for (size_t i = 0; p->batches >= FEWEST && i < 2 * p->n; i++) {
        const struct pace_sums *s = (struct pace_sums *)p->of + i;
        double took = BATCH * (s->batch.m2 / (p->batches - 1)) / (s->each.m2 / (n - 1));
        if (isfinite(took)) longest = fmax(longest, took);
    }
    return longest > SLOW ? fmin(ceil(longest / PER_DRAW), MOST) : 1;
}

void pace_pack(struct pack *k, struct pace *p) {
    pack_doubles(k, p->of, 2 * p->n * sizeof(struct pace_sums) / sizeof(double));
    pack_double(k, &p->seen);
    pack_double(k, &p->batches);
}
