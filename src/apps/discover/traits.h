/* SPDX-License-Identifier: Apache-2.0
 *
 * Traits: what a search over many series reads first. They say of a sketch just so much that every
 * question (ask.h) can be bounded from both sides: lo <= the answer of ask_sketch <= hi. What is
 * asked of a million series reads a few bytes each, and the sketches of those alone whose bounds
 * leave it open whether they are among the best.
 *
 * Traits lie in parts, each a column over many series; a question reads the parts that it needs.
 * Records have a fixed width, or a length before them (u16); numbers are little-endian.
 *
 *   LIVE        u8 draws; 0: a number that no series has (its other records are zeros or empty)
 *   STRUCTURES  number of a structure in 7-bit bytes, u16 probability of 65535, u8 error of 255;
 * ... DRAWN       number of a structure in 7-bit bytes, u8 draws of it; ... TIME        f64 x0, f64
 * span, u8 clock BENDS       masses of trends that begin: u16 rest up, rest down; u8 place + 128
 * (down), u16 mass EDGES       the same of patterns that begin (up) and end (down) STEPS       u8
 * cell of the date + 128 (down), u16 mass, u16 count, f32 largest size; ... PERIODS     i16
 * sixteenth of an octave, u16 mass of patterns; ... PRESENCE    u16 seen, u16[knots] seen and there
 * COURSE      f32 least, f32 step, f32 step of sd; u8[knots] mean, u8[knots - 1] sd of increments
 * LEVEL       the same of the level; u8[knots] sd SHARES      u8[kinds][ranks] shares by descending
 * size and an u16 for each of the questions without an argument (traits.c, asked[])
 *
 * A mass is a mean over draws of a degree, written rounded up: code - 1 < 65535 mass <= code.
 */
#ifndef DISCOVER_TRAITS_H
#define DISCOVER_TRAITS_H
#include "apps/ask/ask.h"

enum trait {
    TRAIT_LIVE,
    TRAIT_STRUCTURES,
    TRAIT_DRAWN,
    TRAIT_TIME,
    TRAIT_BENDS,
    TRAIT_EDGES,
    TRAIT_STEPS,
    TRAIT_PERIODS,
    TRAIT_PRESENCE,
    TRAIT_COURSE,
    TRAIT_LEVEL,
    TRAIT_SHARES,
    TRAIT_ASKED,                     /* the first of those */
    TRAIT_SWINGS = TRAIT_ASKED + 14, /* what repeats could grow over some interval */
    TRAIT_NOISES,                    /* so could the noise */
    TRAITS
};
#define TRAIT_RANKS 9   /* of shares: 0, 1/8, .., 7/8 of the draws, and the last */
#define TRAIT_CELLS 128 /* of dates of steps */
#define TRAIT_FULL  65535

/* Bytes of a record of a part; 0: a length stands before each. */
int trait_width(int part);
/* The number of the part that answers a question without an argument, or -1. */
int trait_asked(const struct ask_predicate *q);

/* Appends the records of a series, or of a number without one (p NULL), to every part. */
void traits_add(const struct sketch *p, const struct sketch_names *names, struct buf part[TRAITS]);

/* Many series: their parts, NULL where a question does not need them. */
struct traits {
    const void *part[TRAITS];
    size_t bytes[TRAITS];
    size_t n;
};
/* Parts that a question needs, a bit each. */
uint64_t traits_needed(const struct ask *q);
/* Bounds for each of n series. text: of a structure by its number (NULL: none). The upper bound of
 * a series below `least` is not needed: it may be any number below. GPM_E_FORMAT: damaged bytes. */
GPM_MUST_USE enum gpm_status traits_bound(const struct ask *q, const struct traits *t,
                                          const struct sketch_names *names, float least, float *lo,
                                          float *hi);
/* Of the structures of each series, whose probabilities p sum to 1: the sum of weight[number] p,
 * or of weight[number] sqrt(p) (root), and the largest error of those with a weight. `most` is the
 * last number that has one. */
GPM_MUST_USE enum gpm_status traits_structures(const struct traits *t, const float *weight,
                                               uint32_t most, bool root, float *sum, float *error);
#endif
