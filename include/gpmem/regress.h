/* SPDX-License-Identifier: Apache-2.0
 *
 * Bayesian regression with a Gaussian process on the rows of a CSV file. No session needed.
 *
 *   gpm_regression *r = gpm_regression_new();
 *   if (gpm_regression_fit(r, "data.csv", NULL)) puts(gpm_regression_error(r));
 *   puts(gpm_regression_report(r, GPM_REGRESS_TEXT));
 *   gpm_regression_at(r, "a=1,b=2"); puts(gpm_regression_report(r, GPM_REGRESS_PREDICTIONS));
 *   gpm_regression_free(r);
 *
 * Texts that a call returns stay valid until the next call on the handle.
 */
#ifndef GPMEM_REGRESS_H
#define GPMEM_REGRESS_H
#include "gpmem/gpmem.h"
#include <signal.h>
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_regression gpm_regression;

/* Rows out of line are set aside where the evidence asks for it; never; wherever the odds do. */
enum gpm_regress_noise {
    GPM_REGRESS_NOISE_AUTO,
    GPM_REGRESS_NOISE_NORMAL,
    GPM_REGRESS_NOISE_ROBUST
};
/* What the outcome is: numbers with normal noise, the chance of the larger of two values, counts
 * that scatter as chance does or more. AUTO: two values are a chance, small whole numbers counts
 * where the evidence says so. */
enum gpm_regress_family {
    GPM_REGRESS_AUTO,
    GPM_REGRESS_NORMAL,
    GPM_REGRESS_BERNOULLI,
    GPM_REGRESS_POISSON,
    GPM_REGRESS_NEGATIVE_BINOMIAL
};
struct gpm_regress_options {
    size_t size;         /* set by init */
    uint64_t seed;       /* default 1 */
    const char *y;       /* column of the outcome; NULL: the last one of numbers */
    const char *x;       /* columns of inputs, by commas; NULL: all others */
    const char *kernel;  /* covariance, in standardised units; NULL: the usual one */
    const char *missing; /* cells that stand for missing values, by commas */
    int decimal;         /* 0: found, 1: point, 2: comma */
    double level;        /* of intervals; default 0.95 */
    size_t max_rows;  /* rows of the model, the others test it; at most 8000; 0, the default: 2000,
                         of chances and counts 800 */
    unsigned threads; /* 0: all cores, at most 8 */
    /* Non-zero (set by a signal handler, or by another thread with an atomic store): stop soon. May
     * be NULL. */
    const volatile sig_atomic_t *stop;
    const char *date_format; /* of columns of dates, as for discover; NULL: found */
    enum gpm_regress_noise noise;
    enum gpm_regress_family family;
    bool rough; /* an answer, too, where chains do not agree (GPM_E_NO_CONVERGENCE) */
};
GPM_API void gpm_regress_options_init_sized(struct gpm_regress_options *o, size_t size);
static inline void gpm_regress_options_init(struct gpm_regress_options *o) {
    gpm_regress_options_init_sized(o, sizeof *o);
}

GPM_API gpm_regression *gpm_regression_new(void);
GPM_API void gpm_regression_free(gpm_regression *r);
GPM_API const char *gpm_regression_error(const gpm_regression *r);
/* GPM_E_FORMAT: the file, or an option. o may be NULL; its texts are copied. */
GPM_API enum gpm_status gpm_regression_fit(gpm_regression *r, const char *file,
                                           const struct gpm_regress_options *o);
/* The same in two steps: read takes the table, from a file or from the text of one, and finds all
 * that is wrong with it and with the options; then new rows may be given, and run does the work. */
GPM_API enum gpm_status gpm_regression_read(gpm_regression *r, const char *file,
                                            const struct gpm_regress_options *o);
GPM_API enum gpm_status gpm_regression_read_text(gpm_regression *r, const char *name,
                                                 const char *csv, size_t n,
                                                 const struct gpm_regress_options *o);
/* GPM_E_NO_CONVERGENCE: chains end in different places, and there is no answer; the error says
 * where, and what may help. */
GPM_API enum gpm_status gpm_regression_run(gpm_regression *r);
/* New rows to predict, from a table with the inputs' columns or as "a=1,b=2"; several calls, more
 * rows; a call that fails adds none. */
GPM_API enum gpm_status gpm_regression_file(gpm_regression *r, const char *file);
GPM_API enum gpm_status gpm_regression_text(gpm_regression *r, const char *name, const char *csv,
                                            size_t n);
GPM_API enum gpm_status gpm_regression_at(gpm_regression *r, const char *point);
GPM_API void gpm_regression_forget(gpm_regression *r); /* all new rows */
/* How many of the new rows lie outside of the data in some input, and how many lack a value. */
GPM_API size_t gpm_regression_outside(const gpm_regression *r, size_t *lacking);
/* How many have a word that is no level of the data, so that there is no prediction; *first (may be
 * NULL) says which the first is, "" where there is none. */
GPM_API size_t gpm_regression_unseen(const gpm_regression *r, const char **first);

/* Predictions: as CSV; what the report says of new rows is computed by the first call that needs
 * it. NULL: gpm_regression_error says why. */
enum gpm_regress_format {
    GPM_REGRESS_TEXT,
    GPM_REGRESS_JSON,
    GPM_REGRESS_HTML,
    GPM_REGRESS_PROGRAM,
    GPM_REGRESS_PREDICTIONS,
    GPM_REGRESS_PREDICTIONS_TEXT
};
GPM_API const char *gpm_regression_report(gpm_regression *r, enum gpm_regress_format f);
#if defined(__cplusplus)
}
#endif
#endif
