/* SPDX-License-Identifier: Apache-2.0
 *
 * Is the structure worth it? Compares its forecasts with simple ones on unseen values. A hold-out
 * has one origin, the end of the fitted values. A backtest has several, and every method is fitted
 * again to the values before each. */
#ifndef DISCOVER_CONTEST_H
#define DISCOVER_CONTEST_H
#include "base/buf.h"
#include "apps/discover/baselines.h"
#include "apps/discover/predict.h"
#include "apps/discover/smodel.h"

struct contest_row {    /* means over origins */
    double mase, smape; /* sMAPE in percent */
    double coverage;    /* of the interval; NaN: it has none */
    size_t wins;        /* origins at which the structure's absolute error is smaller */
};
enum { CONTEST_STRUCTURE, CONTEST_FIRST, CONTEST_ROWS = CONTEST_FIRST + BASELINES };
struct contest {
    size_t origins, steps; /* 0: no contest; steps ahead from each (the last may have fewer) */
    double level;
    struct contest_row row[CONTEST_ROWS]; /* the structure, then the baselines */
};
const char *contest_name(int row);

/* Steps of the data's grid in a season, the shortest that the calendar suggests; 1: none. */
size_t contest_season(const struct smodel_data *m);
/* Mean absolute error of the seasonal naive forecast inside the data: the scale of MASE. */
double contest_scale(const struct smodel_data *m, size_t n, const double *y);
struct contest_values {
    size_t n;
    const double *x, *y;
};
/* Adds an origin: the values before it, those that follow and the structure's prediction of these.
 * m: the data of the fit, for their grid and season. */
void contest_add(struct contest *c, const struct smodel_data *m, struct contest_values past,
                 struct contest_values next, const struct prediction *p);
/* Whether the structure pays. */
void contest_sentence(const struct contest *c, struct buf *out);
#endif
