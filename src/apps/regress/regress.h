/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayesian regression with a Gaussian process: a table (rtable.h), the posterior of the model's
 * parameters (rmodel.h), and what it says: how well it predicts rows that it has not seen, which
 * inputs matter and how, what is noise, which rows are strange, predictions.
 *
 * All of it averages over the draws of the parameters. Rows beyond max_rows, chosen at random, are
 * not part of the model; they test it.
 */
#ifndef REGRESS_REGRESS_H
#define REGRESS_REGRESS_H
#include "apps/regress/rmix.h"
#include "apps/regress/rmodel.h"
#include "apps/regress/rtable.h"
#include "io/plot/doc.h"

enum { REGRESS_MOST_ROWS = 8000, REGRESS_ROWS = 2000, REGRESS_FAMILY_ROWS = 800 };

enum rnoise { RNOISE_AUTO, RNOISE_NORMAL, RNOISE_ROBUST };

struct regress_options {
    struct rtable_options table;
    const char *kernel; /* NULL: the usual one */
    double level;       /* of intervals */
    uint64_t seed;
    size_t max_rows; /* of the model; 0: as many as take seconds */
    enum rnoise noise;
    enum rfamily_kind family;
    bool rough; /* an answer, too, where chains do not agree */
    int threads;
    const volatile sig_atomic_t *stop;
};

/* Median and interval. */
struct rinterval {
    double mid, lo, hi;
};

enum rshape {
    RSHAPE_NONE,
    RSHAPE_OPEN,
    RSHAPE_JOINT,
    RSHAPE_NOT_SIMPLE,
    RSHAPE_LINE,
    RSHAPE_MONOTONE,
    RSHAPE_HILL,
    RSHAPE_VALLEY,
    RSHAPE_WAVY
};

/* What an input does, averaged over the values of the others: the function at m values of it. */
struct reffect {
    size_t m;
    double *at;              /* values of a number; places of levels */
    struct rinterval *f;     /* in units of the outcome */
    struct rinterval total;  /* share of the function's variance, with interactions */
    struct rinterval alone;  /* without */
    double from, to;         /* 10% and 90% quantiles of a number, or its ends where these are the
                              * same; places of the levels with the smallest and largest outcome */
    struct rinterval change; /* of the outcome between them */
    struct rinterval bend;   /* share of the curve's variance that no straight line explains */
    enum rshape shape; /* OPEN: there, but its direction is not clear; JOINT: together with others
                          alone; NOT_SIMPLE: draws have no shape in common */
    bool clear;        /* that it has an effect, and which */
};

/* Two inputs that act together, and the share of the function's variance that is neither's own. */
struct rtogether {
    int a, b;
    struct rinterval share;
};

/* How chances were predicted: mean log probability of what happened, the probability that of two
 * rows the one that has the value had the larger chance, and the share of rows where the more
 * probable value was right. */
struct rscore {
    double log, auc, right;
};
enum { RSCORE_OWN, RSCORE_LINES, RSCORE_NONE, RSCORES };

/* How well rows were predicted that the prediction did not know. */
struct rcheck {
    bool apart;     /* they were left aside to test it; else one at a time, and those set aside */
    size_t from, n; /* rows in regress's order */
    double *mean, *sd, *lo, *hi; /* of each */
    double rmse, r2;
    double coverage; /* of the intervals, as the log score with the rows set aside */
    double rmse_mean, rmse_linear, r2_linear;
    bool beats_mean, beats_lines; /* by more than chance: two standard errors of squared errors */
    size_t *odd, n_odd;           /* far out, farthest first */
    struct rscore score[RSCORES]; /* of chances and counts; of normal measurements log alone */
};

struct regress {
    struct regress_options o; /* borrowed texts */
    struct rtable t;
    size_t *row;       /* of the table: the model's, those set aside, those that test the model */
    size_t n;          /* of the model */
    size_t wild;       /* set aside: out of line (raside.c) */
    double wild_share; /* of measurements to come that are like them */
    double *x, *y;     /* all rows in that order, standardised; y of chances 0 and 1, counts */
    enum rfamily_kind family; /* of the outcome: not AUTO once the work is done */
    double low, high;         /* the two values of an outcome that has two */
    struct rmodel model;
    struct rcheck check;
    struct reffect *effect;     /* of each input */
    int *order;                 /* inputs, what matters most first */
    struct rtogether *together; /* pairs to be seen, the largest first */
    int n_together;
    struct rinterval noise; /* in units of the outcome; of counts: the size; of others nothing */
};

/* The table and the model: all that can be wrong with files and options is found here. Zeroes r
 * first. GPM_E_FORMAT, ...: err says why. */
GPM_MUST_USE enum gpm_status regress_read(struct regress *r, const struct rtext *from,
                                          const struct regress_options *o, struct buf *err);
/* The work, once. GPM_E_NO_CONVERGENCE: chains do not agree; GPM_E_INTERRUPT, ...: err says why. */
GPM_MUST_USE enum gpm_status regress_run(struct regress *r, struct buf *err);
void regress_release(struct regress *r);

/* m rows as read; those with a NaN get NaN. */
GPM_MUST_USE enum gpm_status regress_predict(const struct regress *r, const double *x, size_t m,
                                             struct rprediction *out);

/* ---- parts (rkind.c, raside.c, rcheck.c, reffects.c) ---- */
/* What the outcome is, as far as its values tell (AUTO: whole numbers that may be counts), and the
 * model of it. GPM_E_FORMAT: it cannot be what the options say; err says why. */
GPM_MUST_USE enum gpm_status regress_find_family(struct regress *r, struct buf *err);
/* Numbers with normal noise or counts, where the values leave it open: by the evidence. */
GPM_MUST_USE enum gpm_status regress_contest(struct regress *r);
/* The rows of the model, chosen at random where there are too many. */
void regress_choose_rows(struct regress *r);
/* Fills x and y, standardised, from the rows as they stand: the model's give the outcome's scale.
 */
void regress_fill(struct regress *r);
/* After the modes of all rows are known: sets rows out of line aside, where the evidence asks for
 * it, and finds the modes of the others. */
GPM_MUST_USE enum gpm_status regress_set_aside(struct regress *r);
/* Runs job(ctx, draw, process with its parameters, settled) for so many of the draws, in threads.
 */
typedef enum gpm_status (*rdraw_fn)(void *ctx, size_t draw, struct rprocess *p);
GPM_MUST_USE enum gpm_status regress_each(const struct regress *r, size_t draws, rdraw_fn job,
                                          void *ctx);
/* The parameter of the likelihood in each of so many draws (1 where it has none); the caller frees.
 */
double *regress_sizes(const struct regress *r, size_t draws);
/* Of chances and counts? */
static inline bool regress_hidden(const struct regress *r) {
    return rfamily_of(r->family)->likelihood != NULL;
}
struct rinterval rinterval_of(const double *draws, size_t n, double level);
GPM_MUST_USE enum gpm_status regress_check(struct regress *r);
GPM_MUST_USE enum gpm_status regress_effects(struct regress *r);

/* ---- reports ---- */
void regress_report(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                    enum doc_form form, struct buf *out);
void regress_json(const struct regress *r, const struct rnew *at, const struct rprediction *p,
                  struct buf *out);
void regress_program(const struct regress *r, struct buf *out);
void regress_predictions_csv(const struct regress *r, const struct rnew *at,
                             const struct rprediction *p, struct buf *out);
void regress_predictions_text(const struct regress *r, const struct rnew *at,
                              const struct rprediction *p, struct buf *out);
/* Sentences: what was found, in plain English; a paragraph without markup. */
void regress_words(const struct regress *r, struct buf *out);
/* What chains that have not settled do not agree on, and what may help; no end. */
void regress_open(const struct regress *r, struct buf *out);
/* Why the shares of the inputs do not add up to all; nothing where they nearly do. */
void regress_shares(const struct regress *r, struct buf *out);
/* Reports what was done with outliers; writes nothing without outliers. */
void regress_aside(const struct regress *r, struct buf *out);
/* What is predicted: the outcome's name, or "chance of y = 1". */
void regress_target(const struct regress *r, struct buf *out);
/* A value of the outcome: a number, or the word that the file has. */
void regress_value(const struct regress *r, double y, struct buf *out);
int percent_of(double share);
/* "rises in a straight line", of input j. */
const char *regress_shape(const struct regress *r, int j);
/* The two values of input j between which its effect is reported. */
void regress_between(const struct regress *r, int j, const char *sign, struct buf *out);
/* What is left to chance, a sentence: noise, or how counts scatter. Nothing of chances. */
void regress_rest(const struct regress *r, struct buf *out);
/* How the posterior was computed, a sentence. */
void regress_method(const struct regress *r, struct buf *out);
#endif
