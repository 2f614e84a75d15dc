/* SPDX-License-Identifier: Apache-2.0
 * What the files that bound answers from traits share: numbers as they lie, and one leaf of a
 * question over all series. */
#ifndef DISCOVER_TRAITS_PRIV_H
#define DISCOVER_TRAITS_PRIV_H
#include "apps/ask/ask_curve.h"
#include "apps/discover/traits.h"
#include <endian.h>
#include <string.h>

#define TRAIT_SLACK 1e-6F /* for sums in another order */

/* ---- numbers ---- */
static inline unsigned u16_at(const uint8_t *p) {
    uint16_t u;
    memcpy(&u, p, sizeof u);
    return le16toh(u);
}
static inline float f32_at(const uint8_t *p) {
    float v;
    uint32_t u;
    memcpy(&u, p, sizeof u);
    u = le32toh(u);
    memcpy(&v, &u, sizeof v);
    return v;
}
static inline double f64_at(const uint8_t *p) {
    double v;
    uint64_t u;
    memcpy(&u, p, sizeof u);
    u = le64toh(u);
    memcpy(&v, &u, sizeof v);
    return v;
}
static inline struct ask_axis axis_of(const uint8_t *when) {
    return (struct ask_axis){(enum sketch_clock)when[16], f64_at(when), f64_at(when + 8)};
}

/* ---- one leaf over all series ---- */
/* Its bounds are 0 before. */
struct leaf {
    const struct ask_predicate *p;
    const struct traits *t;
    const uint8_t *need; /* NULL: of all; else the bounds of the others are not looked at */
    float *lo, *hi;
};
/* Of parts whose records have a fixed width, which are there as a whole. */
void leaf_presence(const struct leaf *l);
void leaf_trend(const struct leaf *l);
void leaf_level(const struct leaf *l);
void leaf_shares(const struct leaf *l);
#endif
