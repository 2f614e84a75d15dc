/* SPDX-License-Identifier: Apache-2.0
 *
 * From starting points to the modes of a density: the points are weighed, the best few polished,
 * what is worth it converges, and Laplace's method is applied at every distinct optimum. All who
 * integrate parameters out come this way: the evidences of the structure search, laplace_fit.h.
 */
#ifndef INFER_FIT_H
#define INFER_FIT_H
#include "numeric/posterior/laplace.h"
#include <stdbool.h>

#define FIT_MAX_POLISHED 6

struct fit_rules {
    int scan;       /* best starts of which each coordinate is tried at the values of all others */
    int polished;   /* starts that are polished, at most FIT_MAX_POLISHED */
    int iterations; /* steps each */
    int modes;      /* steps of every further mode */
    double range;   /* nats below the best at which a second mode is still of interest */
    double apart;   /* optima closer than this in every coordinate are the same */
    /* Per coordinate, how far the log integral lies below the best density: typically, and at
     * least. Where the data say nothing it lies above it by half of log 2 pi, in units of the
     * prior's spread. */
    double typical, least;
    /* Nats below what is of interest at which further starts, and `again` more steps of the best,
     * are still worth a try. */
    double hope;
    int again;
};
struct fit_starts {
    int n;     /* of best */
    int apart; /* the last so many starts lie far from the others: the best of them is polished,
                  too, however low it begins; at most FIT_MAX_POLISHED in all */
    struct fit_rank {
        double logp;
        int at;
    } best[FIT_MAX_POLISHED]; /* the best one first */
    double z[];               /* all starts, d each; the ranked ones polished */
};
struct fit_starts *fit_starts_new(int d, int room); /* for so many and what a scan adds; mem_free */
static inline double *fit_best(const struct density *t, struct fit_starts *s, int k) {
    return s->z + (size_t)(s->best[k].at * t->d);
}
/* Weighs n starts and polishes the best; where that one stays below `floor` (the log density that
 * is of interest) and all hope, the others are left as they are. */
void fit_polish(const struct density *t, struct fit_starts *s, int n, const struct fit_rules *r,
                double floor);
/* Maximises from z in place; the log density there, -inf where it cannot be evaluated. */
double fit_optimise(const struct density *t, double *z, int iterations);
/* Is z, in every coordinate, closer than `apart` to a mode of p? */
bool fit_known_mode(const struct proposal *p, const double *z, double apart);
/* Follows the best start, which has converged, and the others to their optima: modes of p, at most
 * `most` starts looked at. Laplace's log integral over all, -inf: none; *map: the best density. */
double fit_modes(const struct density *t, struct fit_starts *s, int most, const struct fit_rules *r,
                 struct proposal *p, double *map);
#endif
