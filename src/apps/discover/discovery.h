/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of the structure learner on one series: data, search, posterior, decomposition, forecast,
 * checks; written as text, JSON, Markdown or HTML; kept in a folder and read back.
 */
#ifndef DISCOVER_DISCOVERY_H
#define DISCOVER_DISCOVERY_H
#include "apps/discover/contest.h"
#include "apps/discover/outliers.h"
#include "apps/discover/predict.h"
#include "apps/discover/series.h"
#include "apps/discover/series_space.h"

enum log_choice { LOG_AUTO, LOG_NEVER, LOG_ALWAYS };

struct discovery_options {
    struct series_options series;
    uint64_t seed;
    int threads;
    uint16_t factors; /* 0: the default set */
    bool change;
    enum log_choice logs;
    double
        holdout; /* kept aside at the end to score the forecast: below 1 a share, else a number */
    size_t backtest;                   /* origins of a backtest */
    const struct hyper_priors *shared; /* of a panel, borrowed */
    size_t horizon; /* steps of the forecast in reports; 0: a tenth of the data, at most 36 */
    double level;   /* of intervals */
    double seconds;
    size_t draws, steps;
    const volatile sig_atomic_t *stop, *finish; /* of the search (search.h) */
    struct journal *journal;                    /* likewise */
    enum precision_choice precision;            /* precision.h */
};
#define DISCOVERY_OPTIONS_INIT                                                                     \
    { .seed = 1, .level = 0.95 }

/* Scores on values that the fit has not seen. */
struct holdout {
    size_t n;
    double *x, *y; /* one block */
    struct prediction pred;
    double mae, rmse, mase, crps, coverage, log_score;
};
/* Posterior predictive checks on standardised one-by-one residuals of the fit. */
struct residual_check {
    const char *name;
    double observed, p;
    char *text;
};
#define DISCOVERY_CHECKS 4

struct discovery {
    struct discovery_options opt; /* owns the texts of opt.series */
    struct series series;         /* what was fitted, and values out of line */
    struct outliers out;          /* those, which the model does not see */
    struct smodel_data data;
    struct search search;
    struct posterior post;
    struct decomposition dec; /* of the most probable structure, over data and forecast times */
    struct prediction fit;    /* over data and forecast times */
    size_t subset;            /* values that the search looked at; 0: all */
    struct holdout hold;
    struct hyper_priors own_shared; /* of a kept run */
    struct contest contest[2]; /* beside simple forecasts: on what was held out, in the backtest */
    struct residual_check check[DISCOVERY_CHECKS];
    size_t remarks; /* of the lint on the values (apps/check), set before a report; 0: none */
    double seconds;
};
GPM_MUST_USE enum gpm_status discovery_run(struct discovery *d, struct series *series,
                                           const struct discovery_options *o, struct buf *err);
void discovery_release(struct discovery *d);
/* Values that follow, a table with the columns of the run: structures and draws of parameters stay.
 * Such a run is neither saved nor continued. Where it fails d is what it was. */
struct csv;
GPM_MUST_USE enum gpm_status discovery_add(struct discovery *d, struct csv *c, struct buf *err);
/* The steps of a run, for callers that take them one by one: start (takes *series over, also on
 * failure, when the caller releases d), search, posterior_chains. */
GPM_MUST_USE enum gpm_status discovery_start(struct discovery *d, const struct discovery_options *o,
                                             struct series *series, struct buf *err);
GPM_MUST_USE enum gpm_status discovery_search(struct discovery *d, struct buf *err);
/* Base kernels by name, as factors of the grammar. */
GPM_MUST_USE enum gpm_status discovery_kernels(const char *text, uint16_t *mask, struct buf *err);
/* Goes on with a run that was read back; of the options seconds, stop, finish and journal
 * count. Where it fails d is what it was. */
GPM_MUST_USE enum gpm_status discovery_continue(struct discovery *d,
                                                const struct discovery_options *o, struct buf *err);
/* Steps of a run, also used when one is read back. */
GPM_MUST_USE enum gpm_status discovery_prepare(struct discovery *d, struct buf *err);
GPM_MUST_USE enum gpm_status discovery_finish(struct discovery *d, struct buf *err);
void discovery_checks(struct discovery *d); /* fills check[] */

/* Times of the next `h` steps after the data. */
void discovery_future(const struct discovery *d, size_t h, double *x);

/* ---- words ---- */
const struct evidence *discovery_top(const struct discovery *d);
/* The part of the decomposition that stands for a term; NULL: none. */
const struct series_part *discovery_part(const struct discovery *d, int term);
/* The course that reports show: medians, of values of 0 and 1 the chance of a 1; and its name. */
const double *discovery_line(const struct discovery *d);
const char *discovery_line_name(const struct discovery *d);
/* One sentence or two on a term of the top structure (term -1: the noise). */
void describe_term(const struct discovery *d, int term, struct buf *out);
void describe_headline(const struct discovery *d, int term, struct buf *out); /* noun phrase */
/* The same, of noise that is there for a time with that time. */
void describe_title(const struct discovery *d, int term, struct buf *out);
/* "1968.5", "until 1970", "between 1970 and 1980"; nothing for a term of all times. */
void describe_when(const struct discovery *d, int term, struct buf *out);
/* "SE*PER"; -1: WN, SMODEL_CONSTANT: C. */
void describe_name(const struct discovery *d, int term, struct buf *out);
/* The most probable structure with numbers in the user's units. */
void describe_formula(const struct discovery *d, struct buf *out);
void describe_summary(const struct discovery *d, struct buf *out); /* a paragraph */
/* What tells it from another of its kind: " of every week", " over about 3 days", " at 1998". */
void describe_time(const struct discovery *d, int term, struct buf *out);
/* Sentences: the movement of the level; the shares of variance; what the conclusion depends on. */
void describe_level(const struct discovery *d, struct buf *out);
void describe_effect(const struct discovery *d, int j, struct buf *out); /* of regressor j */
void describe_future(const struct discovery *d, struct buf *out);   /* nothing without regressors */
void describe_outliers(const struct discovery *d, struct buf *out); /* nothing without one */
/* What forecasts count with beside the structure; nothing where there is no more. */
void describe_outlook(const struct discovery *d, struct buf *out);
void describe_remarks(const struct discovery *d, struct buf *out); /* one line, or nothing */
void describe_shares(const struct discovery *d, struct buf *out);
void describe_open(const struct discovery *d, struct buf *out);
/* What the term is an instance of, as queries name it: "recurring_pattern", "trend". */
const char *term_motif(const struct discovery *d, int term);
/* The program that was run: `gpmem run` of it gives the same posterior, draw for draw. */
void discovery_program(const struct discovery *d, struct buf *out);

/* The arguments of read_series and structure_model: which values of which file. */
void program_series(const struct series *s, const struct series_options *o, struct buf *out);
/* ---- output ---- */
void discovery_json(const struct discovery *d, struct buf *out);
/* A table of the posterior as a field of a JSON object; key: what an entry's text is called. */
void report_table(const char *name, const char *key, const struct post_table *t, struct buf *out);

/* ---- folder ---- */
GPM_MUST_USE enum gpm_status discovery_save(const struct discovery *d, const char *dir,
                                            struct buf *err);
/* GPM_E_ARG: the folder holds the run of another series (file and column, and other values). */
GPM_MUST_USE enum gpm_status discovery_may_keep(const struct series *s, const char *dir,
                                                struct buf *err);
bool discovery_is_kept(const char *dir); /* Is it the folder of a run of discover? */
GPM_MUST_USE enum gpm_status discovery_load(struct discovery *d, const char *dir, struct buf *err);
#endif
