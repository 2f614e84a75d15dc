/* SPDX-License-Identifier: Apache-2.0
 *
 * See centred.h. */
#include "inference/hmc/centred.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

/* Degrees that are tried; points that make an estimate; how much better another degree must be, so
 * that noise changes nothing. */
static const double degrees[] = {1, 0.5, 0};
enum { DEGREES = 3, FEWEST = 10 };
#define BETTER 0.75

/* Of one number at one degree: means and sums of squared deviations of z and g. */
struct moments {
    double z_mean, z_m2, g_mean, g_m2;
};

static struct moments *moments_of(const struct centred *k, size_t i) {
    return (struct moments *)k->sums + i * DEGREES;
}

void centred_init(struct centred *k, size_t n) {
    *k = (struct centred){.n = n};
    k->by = NEW_ARRAY(double, n + 1);
    k->sums = mem_zalloc((n * DEGREES + 1) * sizeof(struct moments));
    for (size_t i = 0; i < n; i++) k->by[i] = 1;
}

void centred_release(struct centred *k) {
    mem_free(k->by);
    mem_free(k->sums);
    *k = (struct centred){0};
}

static void note_one(struct moments *m, double seen, double z, double g) {
    double dz = z - m->z_mean, dg = g - m->g_mean;
    m->z_mean += dz / seen;
    m->g_mean += dg / seen;
    m->z_m2 += dz * (z - m->z_mean);
    m->g_m2 += dg * (g - m->g_mean);
}

void centred_note(struct centred *k, const struct continuous *c, const double *z, const double *g) {
    k->seen++;
    for (size_t p = 0; p < c->n_parts; p++) {
        const struct continuous_part *part = &c->part[p];
        if (part->place != PLACE_CENTRED) continue;
        for (size_t j = 0; j < part->to.n_x; j++) {
            size_t at = part->z0 + j;
            struct centring now = {k->by[at], c->last[0][part->x0 + j], c->last[1][part->x0 + j]};
            double x = centring_to_x(now, z[at]), slope = g[at] / exp(centring_log_slope(now));
            for (size_t d = 0; d < DEGREES; d++) {
                struct centring other = {degrees[d], now.m, now.s};
                note_one(&moments_of(k, at)[d], k->seen, centring_to_z(other, x),
                         slope * exp(centring_log_slope(other)));
            }
        }
    }
}

bool centred_learn(struct centred *k, struct metric *m) {
    bool changed = false;
    for (size_t i = 0; k->seen >= FEWEST && i < k->n; i++) {
        const struct moments *all = moments_of(k, i), *now = NULL, *best = NULL;
        for (size_t d = 0; d < DEGREES; d++) {
            double size = all[d].z_m2 * all[d].g_m2;
            if (degrees[d] == k->by[i]) now = &all[d];
            if (size > 0 && isfinite(size) && (!best || size < best->z_m2 * best->g_m2))
                best = &all[d];
        }
        if (!best || !(best->z_m2 * best->g_m2 < BETTER * now->z_m2 * now->g_m2)) continue;
        k->by[i] = degrees[best - all];
        metric_set(m, i, sqrt(best->z_m2 / best->g_m2));
        changed = true;
    }
    if (changed) metric_forget(m);
    memset(k->sums, 0, k->n * DEGREES * sizeof(struct moments));
    k->seen = 0;
    return changed;
}

void centred_pack(struct pack *p, struct centred *k) {
    pack_doubles(p, k->by, k->n);
    pack_doubles(p, k->sums, k->n * DEGREES * sizeof(struct moments) / sizeof(double));
    pack_double(p, &k->seen);
}
