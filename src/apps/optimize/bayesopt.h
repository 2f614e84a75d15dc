/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimiser: minimises (or maximises) a function that is only known by evaluations, each of
 * which may be slow, noisy or fail. Ask for a point, evaluate it anywhere, tell the outcome, in any
 * order and with any number of points in flight. All decisions follow from the seed and from what
 * was told.
 *
 *   struct bo *b = bo_new(&space, NULL, seed);
 *   while (..) { bo_ask(b, x); y = f(x); bo_tell_all(b, x, &y); }
 *   bo_best(b, x, &y); bo_free(b);
 *
 * Inside (one file each): a Gaussian process with integrated mean and scale whose kernel and output
 * warp are chosen by evidence (bo_model, bo_fit); draws of whole functions and log expected
 * improvement, optimised by gradients (bo_path, bo_acq); a local quadratic model that gets the last
 * digits (bo_local); a classifier of failures (bo_feas).
 */
#ifndef OPTIMIZE_BAYESOPT_H
#define OPTIMIZE_BAYESOPT_H
#include "base/buf.h"
#include "gpmem/optimize.h"
#include "apps/optimize/bo_space.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bo;
/* space: borrowed. Of the options those that say how points are chosen, and the goal; NULL: the
 * defaults. Default acquisition: draws at temperatures 1, 1/2, 1/4 mixed with log-EI; noisy: what
 * lowers the recommended mean by most, mixed with draws at 1. */
struct bo *bo_new(const struct bo_space *space, const struct gpm_optimize_options *opt,
                  uint64_t seed);
/* What is asked of one number of an evaluation. */
struct bo_goal {
    int direction; /* 1: the smaller the better, -1: the larger, 0: neither */
    double lo, hi; /* where it may lie; infinite: anywhere */
    /* of an objective among several: values beyond it are of no use; NaN: by what was seen */
    double reference;
};
/* The same for evaluations that give n numbers. Several directions: the front of points that
 * nothing is better than in all of them. */
struct bo *bo_new_goals(const struct bo_space *space, const struct gpm_optimize_options *opt,
                        const struct bo_goal *goals, int n, uint64_t seed);
void bo_free(struct bo *b);

/* The next point to evaluate, in x; it is pending until told or dropped. GPM_E_LIMIT when every
 * point of a finite space was evaluated or is pending. */
GPM_MUST_USE enum gpm_status bo_ask(struct bo *b, double *x);
/* An outcome, of an asked point or of any other (warm start): all its numbers. One that is not
 * finite: it failed. */
void bo_tell_all(struct bo *b, const double *x, const double *y);

/* Exactly these n points (x, one after the other) are in flight. */
void bo_set_pending(struct bo *b, const double *x, size_t n);

size_t bo_count(const struct bo *b); /* evaluations told, failures included */
/* The best evaluation (noisy: mean over replicates): all its numbers in y, and unless x is NULL its
 * point; false without evaluations. If no evaluation is within the bounds: the one that violates
 * them least. Several objectives: one in the middle of the front. */
bool bo_best(const struct bo *b, double *x, double *y);
bool bo_feasible(const struct bo *b, const double *y); /* the numbers keep their bounds */
/* The point to use: best seen, or for a noisy function the minimum of the posterior mean, with the
 * mean and standard deviation of the function there. */
bool bo_recommend(struct bo *b, double *x, double *mean, double *sd);
/* n quantiles (p ascending) of number k of the evaluations at each of count points, one after the
 * other in x and in out; of the latent function when noisy. */
bool bo_quantiles(struct bo *b, int k, const double *x, size_t count, const double *p, int n,
                  double *out);

/* Do values at the same point differ? sd: by how much, of one evaluation. */
bool bo_noise_seen(const struct bo *b, double *sd);

struct bo_summary {
    const char *kernel, *warp;
    size_t n_model;                /* points the model sees */
    double noise_sd;               /* in units of y; 0 when not noisy */
    double coverage50, coverage90; /* leave-one-out coverage of the intervals */
    int tabu;                      /* optima found to the last digit and left alone */
};
bool bo_summarise(struct bo *b, struct bo_summary *out); /* false before there is a model */
/* Share of the first objective's variance over the box that each variable explains alone, and
 * together with its interactions (first order and total Sobol indices), and the standard deviation
 * of the latter over what is believed about the function; n numbers each. */
bool bo_sensitivity(struct bo *b, double *first, double *total, double *sd);

/* What is not in the evaluations: fitted parameters, the local arm, counters. A run that is fed the
 * first bo_state_told outcomes in the same order, loads the state and is fed the rest goes on as if
 * never interrupted. Pending points are not part of it. load: false when the text is not a state of
 * this space and these options; the optimiser is then to be freed. */
void bo_state_save(const struct bo *b, struct buf *out);
GPM_MUST_USE bool bo_state_load(struct bo *b, const char *text);
bool bo_state_told(const char *text, size_t *told);
#endif
