/* SPDX-License-Identifier: Apache-2.0
 *
 * The posterior over structures from the evidences, with Monte Carlo errors, and the evidence that
 * it has settled: exact chains over (structure, parameters) beside the evidences.
 */
#ifndef DISCOVER_POSTERIOR_H
#define DISCOVER_POSTERIOR_H
#include "base/buf.h"
#include "apps/discover/search.h"
#include "inference/op/query.h"

/* Stated errors are half-widths of 99% intervals. */
#define POSTERIOR_ERROR_Z 2.58

struct post_entry {
    char *text;                   /* "LIN + SE*PER + WN" or a component */
    double p, error;              /* probability, half-width of its 99% interval */
    double p_group[SPACE_GROUPS]; /* shares of p by transform (structures only) */
    struct evidence *best; /* borrowed: the most probable evidence of this text (structures) */
};
struct post_table {
    struct post_entry *at; /* by descending probability */
    size_t n;
};
struct chain_state {
    int structure; /* index of the evidence */
    double logp;   /* log joint density */
};
struct posterior {
    struct search *search; /* borrowed; chains may mend its evidences */
    double *weight;        /* of every evidence, summing to 1 */
    char **seen; /* of every one of n_seen evidences, the text in which motifs are looked for */
    size_t n_seen;
    double *replicate; /* REPLICATES such weights, each evidence perturbed by its standard error */
    struct post_table structures, components, motifs;
    double unexplored; /* estimate of the probability of structures that were not visited */
    double p_group[SPACE_GROUPS]; /* by transform */
    /* chains */
    int n_chains;
    size_t steps;
    struct chain_state *chain; /* n_chains x steps */
    /* the largest difference of a stated probability between chains (on average over pairs), and
     * between all chains and the evidences */
    double tv_between, tv_evidence;
    double acceptance, rhat, ess; /* ess: least of component indicators */
    bool settled;
    char *verdict; /* in words */
};
void posterior_init(struct posterior *p, struct search *s);
void posterior_release(struct posterior *p);
/* Runs the exact sampler and fills the diagnostics; steps 0: by size. */
void posterior_chains(struct posterior *p, size_t steps);

/* One of n by their shares, which sum to 1. */
size_t posterior_pick(const double *share, size_t n, struct rng *r);

/* Probability that `holds` over structures, its error and effective sample size. */
typedef bool (*structure_test)(void *ctx, const struct posterior *p, size_t evidence);
/* The next term of a structure from *at on, and its length; NULL after the last. Terms stand
 * between " + ", also inside CP(a + b, c), whose empty side is C. */
const char *structure_next_term(const char **at, size_t *len);
/* Is the text of a term one of the structure's, also inside a change point or window? */
bool structure_has_term(const char *term, const char *structure);
/* Tests: has it the term ctx, is it the structure ctx? */
bool posterior_has_term(void *ctx, const struct posterior *p, size_t evidence);
bool posterior_is(void *ctx, const struct posterior *p, size_t evidence);
struct query_answer posterior_probability(const struct posterior *p, structure_test holds,
                                          void *ctx);
/* A question (gp/kernel/kern_query.h) to the posterior; GPM_E_FORMAT: it cannot be read. */
GPM_MUST_USE enum gpm_status posterior_query(const struct posterior *p, const char *query,
                                             struct query_answer *out, struct buf *err);
/* The probability of a component or a motif, 0 where the table has none of this text. */
double posterior_entry(const struct post_table *t, const char *text);
/* Effective sample size of the share of the structures of this text. */
double posterior_text_ess(const struct posterior *p, char *text);
/* Effective sample size of an indicator over the chains. */
double posterior_indicator_ess(const struct posterior *p, structure_test holds, void *ctx);
#endif
