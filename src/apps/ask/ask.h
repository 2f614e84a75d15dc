/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about the functions of a posterior, with time in them; beside questions about
 * structures (gp/kernel/kern_query.h), which they contain.
 *
 *   question  := and { ("|" | OR) and }           and := not { ("&" | AND) not }
 *   not       := ("!" | "~" | NOT) not | "(" question ")" | predicate | structure
 *   structure := what gp/kernel/kern_query.h reads: LIN, SE*PER, trend, recurring_pattern
 *   predicate := name "(" [ argument { "," argument } ] ")" [ ("<" | ">") number ]
 *   argument  := a .. b | .. b | a .. | before a | after a | throughout | from = a | until = a
 *              | period = a .. b | size > number | up | down | a kind of component
 *
 * Names and what they ask are the rows of ask_rows. A date is a year with decimals, 1988-03, or
 * 1988-03-15; on an axis of plain numbers, a number. A period is a number of the axis' own units,
 * or one with a unit: 12 months, 7 days, 1 year.
 *
 * The probability is the mean, over the draws of a sketch, of a degree between 0 and 1: words like
 * "around" and "rising" have no sharp edge, each edge is spread (ask_eval.c says by how much).
 */
#ifndef DISCOVER_ASK_H
#define DISCOVER_ASK_H
#include "base/arena.h"
#include "apps/discover/sketch.h"
#include "gp/kernel/kern_query.h"

enum ask_name {
    ASK_RISES,
    ASK_FALLS,
    ASK_LINEAR,
    ASK_PERIODIC,
    ASK_SWING_GROWS,
    ASK_SWING_SHRINKS,
    ASK_NOISE_GROWS,
    ASK_NOISE_SHRINKS,
    ASK_JUMPS,
    ASK_SMOOTH,
    ASK_RANDOM_WALK,
    ASK_PURE_NOISE,
    ASK_VALUE,
    ASK_SHARE,
    ASK_NAMES
};
/* Arguments that a predicate takes. */
enum {
    ASK_INTERVAL = 1,
    ASK_FROM = 2,
    ASK_UNTIL = 4,
    ASK_PERIOD = 8,
    ASK_SIZE = 16,
    ASK_DIRECTION = 32,
    ASK_DATE = 64,
    ASK_KIND = 128,
    ASK_BOUND = 256 /* > or < and a number behind it, required */
};
struct ask_row {
    const char *name;
    int takes;
    const char *help; /* what it asks, in a sentence */
};
extern const struct ask_row ask_rows[ASK_NAMES];
extern const char *const ask_kinds[SKETCH_KINDS];

/* A date as it was written: years with decimals, and the length of what it names. */
struct ask_date {
    double at;     /* a calendar's: decimal years; else the number */
    double unit;   /* what "around" it means, in years: 1, 1/12, 1/365 */
    double number; /* on an axis of plain numbers */
};
struct ask_predicate {
    enum ask_name name;
    int given; /* ASK_* of what was written */
    bool throughout, open_from, open_to;
    struct ask_date from, to;
    double period_from, period_to; /* in years when period_years, else in units of the axis */
    bool period_years, down, up, below;
    double size, bound;
    int kind;
};
enum ask_op { ASK_AND, ASK_OR, ASK_NOT, ASK_STRUCTURE, ASK_PREDICATE };
struct ask {
    enum ask_op op;
    struct ask *a, *b;
    const struct kern_query *structure;
    struct ask_predicate p;
};

/* Lives in the arena. GPM_E_FORMAT with a message that says what was expected where. */
GPM_MUST_USE enum gpm_status ask_parse(const char *text, struct arena *a, struct ask **out,
                                       struct buf *err);
/* English by rules, or formal; *reading (in the arena) is the formal text in either case. */
GPM_MUST_USE enum gpm_status ask_read(const char *text, struct arena *a, struct ask **out,
                                      const char **reading, struct buf *err);
/* English to formal; false: it cannot be read, err has the nearest that can. */
bool ask_english(const char *text, struct buf *formal, struct buf *err);
bool ask_dated(const struct ask *q); /* has it a predicate over functions? */

/* Does a question without predicates over functions hold for a structure? */
bool ask_holds(const struct ask *q, const char *structure);
/* Does it ask for a value before or after the data? Among many series such ones have none. */
bool ask_outside(const struct ask *q, const struct sketch *p);
/* The answer of a sketch. */
struct query_answer ask_sketch(const struct ask *q, const struct sketch *p);
/* The same to a run, in either language: structures from its posterior, functions from many draws
 * of it. *reading, in the arena, is how the question was read. */
GPM_MUST_USE enum gpm_status ask_discovery(const struct discovery *d, const char *text,
                                           struct query_answer *out, const char **reading,
                                           struct arena *a, struct buf *err);
#endif
