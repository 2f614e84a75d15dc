/* SPDX-License-Identifier: Apache-2.0
 *
 * From starting points to the modes of a density: points are evaluated, the best few polished,
 * promising ones converged, and Laplace's method applied at every distinct optimum. Both users
 * integrate parameters out: the evidences of the structure search, and laplace_fit.h. */
#ifndef INFER_FIT_H
#define INFER_FIT_H
#include "numeric/posterior/laplace.h"
#include <stdbool.h>

#define FIT_MAX_POLISHED 6

struct fit_rules {
    int scan;       /* best starts whose coordinates are tried at the values of all others */
    int polished;   /* starts that are polished, at most FIT_MAX_POLISHED */
    int iterations; /* steps for each */
    int modes;      /* steps for each further mode */
    double range;   /* nats below the best within which a second mode matters */
    double apart;   /* optima closer than this in every coordinate are the same */
    /* Per coordinate: how far the log integral is below the best density, typically and at least.
     * Without information in the data it is above it by half of log 2 pi, in units of the prior's
     * spread. */
    double typical, least;
    /* Nats below the limit of interest at which further starts, and `again` more steps of the best,
     * are still worth trying. */
    double hope;
    int again;
};
struct fit_starts {
    int n;     /* length of best */
    int apart; /* the last `apart` starts lie far from the others; the best of them is polished,
                  too, however low it begins; at most FIT_MAX_POLISHED in all */
    struct fit_rank {
        double logp;
        int at;
    } best[FIT_MAX_POLISHED]; /* best first */
    double z[];               /* all starts, n x d; the ranked ones polished */
};
struct fit_starts *fit_starts_new(int d, int room); /* for `room` starts and scan's; mem_free */
static inline double *fit_best(const struct density *t, struct fit_starts *s, int k) {
    return s->z + (size_t)(s->best[k].at * t->d);
}
/* Evaluates n starts and polishes the best. If that stays hopelessly below `floor` (the log density
 * of interest), the others are left alone. */
void fit_polish(const struct density *t, struct fit_starts *s, int n, const struct fit_rules *r,
                double floor);
/* Maximises from z in place; returns the log density there, -inf if it cannot be evaluated. */
double fit_optimise(const struct density *t, double *z, int iterations);
/* Is z, in every coordinate, closer than `apart` to a mode of p? */
bool fit_known_mode(const struct proposal *p, const double *z, double apart);
/* Converges the other starts as well as the best (already converged) to modes of p; tries at most
 * `most` starts. Returns Laplace's log integral over all modes, -inf: none found; *map: the best
 * density. */
double fit_modes(const struct density *t, struct fit_starts *s, int most, const struct fit_rules *r,
                 struct proposal *p, double *map);
#endif
