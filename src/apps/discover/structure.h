/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbolic structures of the time-series learner: a transform of the output, a sum of at most
 * STRUCTURE_MAX_TERMS product terms, optionally split by one change point or window, plus a
 * constant and white noise that every structure has. Canonical form (terms sorted, no two orders of
 * the same sum) makes equality a memcmp and the hash a cache key.
 *
 * Text: factors LIN, SE, PER, others by name, WN last inside a product; terms by text, the lone WN
 * at the end; the constant is not written. "LIN + SE*PER + WN". Periods of the calendar and free
 * ones are written alike: structures of one text are one line of the posterior.
 */
#ifndef DISCOVER_STRUCTURE_H
#define DISCOVER_STRUCTURE_H
#include "base/buf.h"
#include "gp/kernel/kernel.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Base kernels are the rows of the kernel table that have a motif; a factor is the motif's number.
 */
#define FACTOR_MAX    16
#define FACTOR_BIT(f) (1u << (f))

enum gate { GATE_NONE, GATE_BEFORE, GATE_AFTER, GATE_INSIDE, GATE_OUTSIDE };
enum change { CHANGE_NONE, CHANGE_POINT, CHANGE_WINDOW };
/* Of positive values Box and Cox's: exponents 1, 0 and 1/2. Other values have at most one other
 * scale (smodel.h), for which TRANSFORM_LOG stands. */
enum transform { TRANSFORM_NONE, TRANSFORM_LOG, TRANSFORM_POWER, TRANSFORMS };

#define STRUCTURE_MAX_TERMS 5

struct term {
    uint16_t mask; /* FACTOR_BITs */
    uint16_t gate; /* enum gate */
    /* PER: 0, its period is a parameter; k, it is the k-th of the calendar's. STEP: 0, its date is
     * a parameter; else that date (term_place). PULSE: the date on which it begins. */
    uint16_t at;
    /* PULSE: the date on which it ends. PER of the calendar's period `at`: 0, or the period of the
     * calendar whose pattern differs from one time to the next within that one: of a day, within a
     * week. */
    uint16_t to;
};
/* Is it a pattern of a period that differs within a longer one? */
bool term_nests(struct term t);
/* Dates of steps, in t, as whole numbers. */
uint16_t term_at(double t);
double term_place(uint16_t at);
struct structure {
    uint8_t transform, change, n, pad;
    struct term t[STRUCTURE_MAX_TERMS]; /* sorted; unused ones zero */
};

const struct kern_class *factor_class(int f); /* NULL: no such factor */
enum kern_role factor_role(int f);
unsigned factors_of(enum kern_role role); /* FACTOR_BITs */
unsigned factors_standard(void);
const char *factor_name(int f);
/* The factor of this name (case-insensitive; W, IW and MAT for short), FACTOR_MAX when unknown. */
int factor_find(const char *name, size_t len);
/* The factor that follows f (-1: the first) inside a product: the trend, SE, the periodic one,
 * others by name, white noise. FACTOR_MAX after the last. */
int factor_next(unsigned mask, int f);

void structure_canonical(struct structure *s);
bool structure_equal(const struct structure *a, const struct structure *b);
uint64_t structure_hash(const struct structure *s);
void structure_print(const struct structure *s, struct buf *out); /* without the transform */
void term_print(struct term t, struct buf *out);                  /* without the gate */

/* ---- the grammar: which terms exist and which structures are neighbours ---- */
struct grammar {
    uint16_t factors;  /* FACTOR_BITs in use */
    uint16_t products; /* those that may stand in products */
    bool change;       /* change points and windows of every term */
    bool changes;      /* shifts, bends, noise of another size where the data suggest them */
    bool pulses;       /* levels that end again, likewise */
    bool logs;         /* log transform allowed */
    bool only_logs;    /* and nothing else, where the values are positive */
    bool powers;       /* square roots beside both */
    bool steady;       /* noise of one size alone: counts have theirs from their mean */
    int max_terms;
    int seasons;      /* periods that the calendar offers */
    int outer, inner; /* those of them of which a pattern may differ within the other's; 0: none */
    size_t places;    /* dates that a step may have */
    double penalty;   /* log prior per factor, default -2 */
    struct term terms[128];
    int n_terms;
};
/* `factors` of 0: the default set, the standard rows of the kernel table. */
void grammar_init(struct grammar *g, uint16_t factors, bool change, bool logs);
/* The set for collections: kernels whose likelihood the filters of gp compute in time that grows as
 * the number of values, in any sum and on any side of a change. */
void grammar_cheap(struct grammar *g);
/* Recurring patterns may have one of so many periods of the calendar, steps one of so many dates.
 */
void grammar_calendar(struct grammar *g, int seasons, size_t places);
/* s with one more term, or with more noise on one side of a date or of a window; false: the grammar
 * has no such structure. */
/* s with another level from `from` to `to`, or (0) for good. */
bool grammar_break(const struct grammar *g, const struct structure *s, double from, double to,
                   struct structure *out);
/* s without its term i, if that is a break. */
bool grammar_without_break(const struct structure *s, int i, struct structure *out);
/* s with two shifts for its pulse i: the level does not come back. */
bool grammar_steps(const struct grammar *g, const struct structure *s, int i,
                   struct structure *out);
bool grammar_bend(const struct grammar *g, const struct structure *s, struct structure *out);
bool grammar_spread(const struct grammar *g, const struct structure *s, enum gate gate,
                    struct structure *out);
/* s with a pattern on one side of a date or in a window; at: 0, or a period of the calendar. */
bool grammar_wave(const struct grammar *g, const struct structure *s, int at, enum gate gate,
                  struct structure *out);
/* s, in which something moves, with a level that moves (MAT12) on one side of a date or of a window
 * alone: instead of its term i or, with i = s->n, beside all of them. */
bool grammar_moves(const struct grammar *g, const struct structure *s, int i, enum gate gate,
                   struct structure *out);
/* s with n patterns that last instead of its term i: the first has the period that the term had. */
bool grammar_patterns(const struct grammar *g, const struct structure *s, int i, int n,
                      struct structure *out);
/* s without its straight line; false: it has none. */
bool grammar_without_line(const struct structure *s, struct structure *out);
/* s with its term i on one side of a date or of a window alone. */
bool grammar_gate(const struct grammar *g, const struct structure *s, int i, enum gate gate,
                  struct structure *out);
double grammar_log_prior(const struct grammar *g, const struct structure *s);
bool grammar_allows(const struct grammar *g, const struct structure *s);
/* Canonical, made of terms that some grammar has, with the gates of its change: what a search
 * visits. Anything else came from a damaged file. */
bool structure_sound(const struct structure *s, int seasons);

typedef void (*structure_fn)(void *ctx, const struct structure *s);
void grammar_seeds(const struct grammar *g, int transform, structure_fn each, void *ctx);
/* Canonical neighbours of s: deletions and replacements first, then additions, then change points,
 * last the other transforms. Duplicates are possible. */
void grammar_neighbours(const struct grammar *g, const struct structure *s, structure_fn each,
                        void *ctx);
#endif
