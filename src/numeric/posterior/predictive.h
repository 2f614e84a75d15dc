/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares data with data simulated from a model (Gelman, Meng, Stern 1996): test quantities T of
 * both, the Bayesian p-value P(T(y') >= T(y)), estimated by the share of the replicates y', and
 * pictures. */
#ifndef INFER_PREDICTIVE_H
#define INFER_PREDICTIVE_H
#include "numeric/posterior/draws.h"
#include "io/plot/scene.h"

typedef VEC(double) numbers;

/* A named test quantity: a function of the data, or their p-quantile. */
struct known_quantity {
    const char *name;
    double (*fn)(const double *y, size_t n); /* NULL: the quantile */
    double p;
    bool usual; /* the default set */
};
const struct known_quantity *known_quantity(const char *name); /* NULL: unknown */
const struct known_quantity *known_quantity_at(size_t i);      /* NULL past the last */
double known_quantity_of(const struct known_quantity *k, const double *y, size_t n);

struct predictive_quantity {
    char *name; /* owned */
    double observed;
    numbers replicated;
};
struct predictive {
    const char *title; /* "posterior predictive check"; borrowed */
    numbers y;
    VEC(numbers) shown; /* replicates for the picture, the first ones */
    VEC(struct predictive_quantity) q;
};
void predictive_release(struct predictive *p);
/* Offers a replicate for the picture; only the first 40 are kept. */
void predictive_show(struct predictive *p, const double *y, size_t n);
/* From the columns y_rep and y_obs of a table, with the usual quantities. False: `why` gives the
 * reason. */
bool predictive_of_table(const struct draw_table *d, struct predictive *out, struct buf *why);

/* A table, and a description of what the model rarely reproduces. */
void predictive_text(const struct predictive *p, struct buf *out);
void predictive_json(const struct predictive *p, struct buf *out);
/* Histograms of the quantities; with `overlay`, preceded by densities and distribution functions of
 * the data and of replicates. */
struct plot_scene *predictive_scene(const struct predictive *p, bool overlay);
#endif
