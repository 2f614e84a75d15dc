/* SPDX-License-Identifier: Apache-2.0
 *
 * A predictive distribution: a mixture of weighted parts, one for each draw of what is not known.
 * The place y of a part is that of its deviate r = (to(y) - mean) / sd on the scale of its link.
 */
#ifndef NUMERIC_MIXTURE_H
#define NUMERIC_MIXTURE_H
#include "base/vec.h"
#include "numeric/special/link.h"
#include <stddef.h>

enum mixture_kind {
    MIXTURE_NORMAL,  /* par: with the tails of Wallace's t, degrees of freedom; 0: its own */
    MIXTURE_WILD,    /* normal, of values out of line: few of them may have any size (wild.h) */
    MIXTURE_STUDENT, /* Student's t with `par` degrees of freedom */
    MIXTURE_COUNT,   /* negative binomial: mean, and variance mean + mean^2 / par */
    MIXTURE_CHANCE,  /* 1 with the chance `mean`, else 0 */
    MIXTURE_KINDS
};
struct mixture_part {
    enum mixture_kind kind;
    double weight, mean, sd, par;
    const struct value_link *link; /* borrowed; NULL: the values themselves */
};
/* Numbers as they are written: whole ones from 0 on, or levels `step` apart (0: any number), from
 * low to high. */
struct mixture_written {
    bool whole;
    double step, low, high;
};
/* Zeroed: nothing yet. Parts are counts and chances, or none of them is. */
struct mixture {
    VEC(struct mixture_part) part;
    double total;                          /* of the weights */
    const struct mixture_written *written; /* borrowed; NULL: any number */
    double *table;                         /* weight of the counts 0, 1, ... of rates that fit */
};
void mixture_clear(struct mixture *m); /* room and `written` stay */
void mixture_add(struct mixture *m, struct mixture_part p);
void mixture_release(struct mixture *m);

/* The mean; of a lognormal part exp(m + s^2/2), of which heavier tails would have none. It may be
 * infinite. */
double mixture_mean(const struct mixture *m);
double mixture_sd(const struct mixture *m); /* of normal parts without links */
double mixture_cdf(const struct mixture *m, double y);
/* The least number at which the distribution function reaches q, as it is written; it may be
 * infinite. */
double mixture_quantile(const struct mixture *m, double q);
/* log p(y): of a density; of counts, chances and levels (per unit) of a probability. */
double mixture_log_score(const struct mixture *m, double y);
/* Continuous ranked probability score. */
double mixture_crps(const struct mixture *m, double y);

double mixture_as_written(const struct mixture_written *w, double y);
/* The deviate of MIXTURE_NORMAL with such tails where that of a normal distribution is z. */
double mixture_tails_deviate(double dof, double z);
#endif
