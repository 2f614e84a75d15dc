/* SPDX-License-Identifier: Apache-2.0
 *
 * Output scales: a value y is modelled as v = to(y), where it is closer to normal. One row each.
 */
#ifndef NUMERIC_LINK_H
#define NUMERIC_LINK_H
#include <stdbool.h>

enum link_kind {
    LINK_NONE,   /* v = y */
    LINK_SQUARE, /* sqrt(y) of a positive y */
    LINK_LOG,    /* log(y) */
    LINK_ROOT,   /* sqrt(y + offset), of values with zeros among them */
    LINK_ODDS,   /* log((y - low) / (high - y)) */
    LINK_RATE,   /* y is a count around the rate e^v */
    LINK_CHANCE, /* y is 1 with the chance whose log odds are v, else 0 */
    LINK_ABOVE,  /* log(y - low) */
    LINK_BELOW,  /* -log(high - y) */
    LINK_KINDS
};
struct value_link {
    enum link_kind kind;
    double offset;    /* of LINK_ROOT */
    double low, high; /* of the kinds whose formula has them */
};
const char *link_name(enum link_kind kind);
/* Effects on the scale are factors of the values. */
static inline bool link_multiplies(enum link_kind kind) {
    return kind == LINK_LOG || kind == LINK_RATE;
}
/* Values are drawn around the function that is modelled. */
static inline bool link_hidden(enum link_kind kind) {
    return kind == LINK_RATE || kind == LINK_CHANCE;
}

/* Infinite beyond the ends of the scale. A hidden scale gives a v of which y is typical. */
double link_to(const struct value_link *l, double y);
double link_back(const struct value_link *l, double v);
/* The factor from small changes at v to changes of y; 1 where effects multiply. */
double link_slope(const struct value_link *l, double v);
/* The mean of y where v is normal; of log odds MacKay's approximation. */
double link_mean(const struct value_link *l, double mean, double var);
/* log dv/dy; 0 on a hidden scale, whose values have probabilities and no densities. */
double link_stretch(const struct value_link *l, double y);
#endif
