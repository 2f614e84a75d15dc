/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics of hmc and nuts as data: a row per transition, of which collect keeps the one that
 * led to its draw, and totals per target. A session is a chain. Messages about them are written
 * elsewhere. */
#ifndef INFER_SAMPLER_STATS_H
#define INFER_SAMPLER_STATS_H
#include <stdbool.h>
#include <stddef.h>

struct infer_state;

/* One transition, with Stan's names and meanings, so that files and exports use them directly. */
enum { SAMPLER_COLUMNS = 6 };
union sampler_draw {
    struct {
        double accept_stat; /* mean over the trajectory of min(1, exp(h0 - h)) */
        double stepsize;
        double treedepth;  /* doublings; hmc: 0 */
        double n_leapfrog; /* gradients */
        double divergent;  /* 1: the energy error exceeded 1000 */
        double energy;     /* just after drawing the momenta */
    };
    double at[SAMPLER_COLUMNS];
};
extern const char *const sampler_names[SAMPLER_COLUMNS]; /* "accept_stat__", ... */

/* Totals over the transitions of one target. Warm-up transitions count only in warmup,
 * warmup_leapfrogs and restarts. */
struct sampler_totals {
    struct sampler_totals *next;
    double warmup, warmup_leapfrogs;
    double transitions, leapfrogs;
    double moved;       /* transitions that changed the state */
    double divergences; /* trajectories */
    double deep;        /* trajectories cut at the maximum depth */
    double restarts;    /* states that could not be a start and were drawn again */
    double rebuilt;     /* nuts: hmc transitions, since the block decides what is evaluated */
    double depth_sum;   /* doublings */
    double accept_sum, stepsize;
    double e_last, e_mean, e_m2, e_steps, energies; /* of `energies` transitions: sampler_note */
    double marked_transitions, marked_moved, marked_divergences, marked_deep; /* sampler_mark */
};

/* Of a session, or of a run inside a model (sampler_stats_of). */
struct sampler_stats {
    struct sampler_totals *first; /* one per target; each belongs to its sampler */
    union sampler_draw last;
    double redrawn; /* draws of the prior at which a directive could not be evaluated */
    bool fresh;     /* `last` is newer than the last collected draw */
    bool warm;      /* `last` belongs to a warm-up */
};

struct sampler_stats *sampler_stats_of(const struct infer_state *x);
bool sampler_in_use(const struct infer_state *x);

/* The result of a transition. */
struct sampler_end {
    union sampler_draw row;
    bool warm, moved, deep;
};
void sampler_note(struct infer_state *x, struct sampler_totals *of, const struct sampler_end *end);
/* The row of the transition that led to the current state; marked divergent if any since the last
 * call was. False: there was no transition. */
bool sampler_take(struct infer_state *x, union sampler_draw *out);

/* Over all targets: sums, means by transition, the worst E-BFMI. */
struct sampler_summary {
    double warmup, warmup_leapfrogs, transitions, leapfrogs, moved, divergences, deep, restarts;
    double rebuilt;
    double accept_stat; /* mean; NaN without transitions */
    double treedepth;   /* mean */
    double stepsize;    /* of the target used last */
    double ebfmi;       /* NaN: too few transitions */
    bool stuck;         /* some target never moved in SAMPLER_STUCK transitions */
};
enum { SAMPLER_STUCK = 20, SAMPLER_EBFMI_DRAWS = 100 };
/* Call when a run begins; later warnings about trajectories then refer to that run alone. */
void sampler_mark(struct infer_state *x);
struct sampler_summary sampler_since_mark(const struct infer_state *x);
struct sampler_summary sampler_summarise(const struct infer_state *x);
/* The summary as names and numbers, for dictionaries and files: entry i; NULL after the last. */
const char *sampler_fact(const struct sampler_summary *s, size_t i, double *out);
#endif
