/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's own model: base kernels LIN, PER, SE, WN, each in or out with probability 1/2 (not
 * all out), a uniform permutation, a right-nested fold with + or x at even odds, Gamma(5,1) on all
 * seven parameters. Each base kernel occurs at most once, so there are 94 distinct kernels and 49
 * structures after simplification: the posterior is enumerated, and checked by an exact sampler.
 *
 *   LIN s^2 x x'   SE s^2 exp(-d^2/2l^2)   PER s^2 exp(-2 sin^2(pi d/p)/l^2)   WN s^2 [x = x']
 *
 * Results depend on how x and y are scaled, because Gamma(5,1) puts 99% of every parameter between
 * 1.1 and 11.6; the paper does not say how. The scaling is therefore an option and printed.
 */
#ifndef DISCOVER_PAPER_H
#define DISCOVER_PAPER_H
#include "base/buf.h"
#include "gp/kern_query.h"
#include "discover/evidence.h"
#include "discover/series.h"

#define PAPER_KERNELS    94
#define PAPER_STRUCTURES 49
#define PAPER_PARS       7

enum paper_par { PP_LIN_S, PP_SE_S, PP_SE_L, PP_PER_S, PP_PER_P, PP_PER_L, PP_WN_S };

struct paper_kernel {
    uint16_t product[8]; /* masks, sorted; products of the expanded kernel, parameters shared */
    int n;
    unsigned leaves;
    double prior;
    int structure; /* index into the structures */
};
struct paper_structure {
    char *text;
    struct term term[8];
    size_t n;
    double prior, p, error, chain_p;
};
struct paper_grammar {
    struct paper_kernel kernel[PAPER_KERNELS];
    int n_kernels;
    struct paper_structure structure[PAPER_STRUCTURES];
    int n_structures;
};
void paper_grammar_init(struct paper_grammar *g);
void paper_grammar_release(struct paper_grammar *g);

struct paper_data {
    size_t n;
    double *x, *y; /* x centred and multiplied, y centred and scaled */
    bool grid;     /* equal steps without gaps */
    double step;
};
struct paper_options {
    double x_scale; /* multiplies centred x */
    double y_sd;    /* sd of scaled y; 0: centred only */
    bool raw_x;     /* do not centre x */
    uint64_t seed;
    int threads;
    size_t draws, steps;
};
void paper_data_init(struct paper_data *d, const struct series *s, const struct paper_options *o);
void paper_data_thin(struct paper_data *d, const struct paper_data *all); /* every second value */
void paper_data_release(struct paper_data *d);

struct paper_work;
struct paper_work *paper_work_new(const struct paper_data *d); /* NULL: out of memory */
void paper_work_free(struct paper_work *w);
/* Log joint density of y and z = log parameters of the kernel's leaves (in the order of enum
 * paper_par, absent ones left out), Jacobian included. */
double paper_eval(const struct paper_data *d, const struct paper_kernel *k, struct paper_work *w,
                  const double *z, double *grad);
/* Posterior mean and sd of the signal (without noise) at the data, scaled units; n each. */
GPM_MUST_USE enum gpm_status paper_fit(const struct paper_data *d, const struct paper_kernel *k,
                                       struct paper_work *w, const double *z, double *mean,
                                       double *sd);
int paper_pars(const struct paper_kernel *k, int par[PAPER_PARS]); /* which, and how many */

struct paper_evidence {
    const struct paper_kernel *k;
    struct proposal prop;
    double logz, se, map;
    bool rough;
    struct draws draws;
};
struct paper_result {
    struct paper_grammar g;
    struct paper_data data;
    struct paper_options opt;
    struct paper_evidence e[PAPER_KERNELS];
    double weight[PAPER_KERNELS];
    int order[PAPER_STRUCTURES]; /* structures by probability */
    double tv, rhat, acceptance, ess;
    size_t steps;
    int *chain;       /* 4 x steps: kernel of each state */
    double *chain_lp; /* log density of each state */
    bool settled;
    long evals;
    double seconds;
};
GPM_MUST_USE enum gpm_status paper_run(struct paper_result *r, const struct series *s,
                                       const struct paper_options *o, struct buf *err);
void paper_release(struct paper_result *r);
void paper_text(const struct paper_result *r, const struct series *s, struct buf *out);
void paper_json(const struct paper_result *r, const struct series *s, struct buf *out);
/* A program of the language with the same posterior. */
void paper_program(const struct paper_result *r, const struct series *s,
                   const struct series_options *read, struct buf *out);
/* Probability of a query over the structures. */
void paper_query(const struct paper_result *r, const struct kern_query *q, double *p, double *error,
                 double *ess);
#endif
