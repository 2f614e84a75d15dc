/* SPDX-License-Identifier: Apache-2.0
 *
 * What the outcome of a regression is: a number with normal noise, the chance of one of two values,
 * or a count. Of chances and counts the Gaussian process is the logarithm of the odds or of the
 * rate, and what the data say of it is approximated by a normal distribution (rmodel.h):
 * predictions of the function are normal there, and are brought to the outcome's scale here.
 */
#ifndef REGRESS_RFAMILY_H
#define REGRESS_RFAMILY_H
#include "gp/process/gp_likelihood.h"

enum rfamily_kind {
    RFAMILY_AUTO,
    RFAMILY_NORMAL,
    RFAMILY_CHANCE,
    RFAMILY_POISSON,
    RFAMILY_NEGATIVE_BINOMIAL,
    RFAMILY_END
};

struct rfamily {
    const char *name;       /* in options */
    const char *likelihood; /* a row of gp_likelihood.h; NULL: normal noise */
    const char *lines;      /* what straight lines under it are called */
    const char *none;       /* and no inputs at all */
    double constant, scale; /* standard deviations of the usual kernel's constant, and of its other
                               parts where those of a standardised outcome have 1 */
    double size;            /* median of the parameter that the likelihood has, if any */
    double (*mean)(double f);
    double (*variance)(double mean, const double *par);
    /* Logarithms of P(Y <= y) and P(Y >= y). */
    void (*tails)(double y, double f, const double *par, double *t);
};

const struct rfamily *rfamily_of(enum rfamily_kind kind); /* not AUTO */

/* The outcome where the function is N(m, s^2): its mean, the variance of that mean, the variance of
 * a measurement. */
struct rresponse {
    double mean, var, new_var;
};
struct rresponse rfamily_response(const struct rfamily *f, const double *par, double m, double s);
/* The function given a measurement y of it, where it was N(m, s^2): mean and variance (either may
 * be NULL); log p(y). By quadrature around the mode. */
double rfamily_given(const struct rfamily *f, const double *par, double y, double m, double s,
                     double *mean, double *var);
double rfamily_log_density(const struct rfamily *f, const double *par, double y, double m,
                           double s);
#endif
