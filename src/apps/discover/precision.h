/* SPDX-License-Identifier: Apache-2.0
 *
 * How thorough a search is: all that a precision means, in one place.
 */
#ifndef DISCOVER_PRECISION_H
#define DISCOVER_PRECISION_H
#include <math.h>
#include <stdbool.h>

enum precision_choice { PRECISION_NORMAL, PRECISION_LOW, PRECISION_HIGH, PRECISIONS };

/* X(field, low, normal, high) */
#define PRECISION_FIELDS(X)                                                                        \
    X(cheap, 1, 0, 0)           /* kernels whose likelihood costs little, at most three terms */   \
    X(values, 160, INF, INF)    /* that the search looks at, of more of them a part */             \
    X(rates, 0, 1, 1)           /* few counts get a rate of their own */                           \
    X(window, .5, 3, 4)         /* nats below the top: what is expanded */                         \
    X(prune, 4, 7, 7)           /* nats below the top: what is given up early */                   \
    X(idle, 1, 3, 3)            /* so many idle expansions in a row end the search */              \
    X(suggested, 2, 4, 4)       /* times that changes are looked for */                            \
    X(times, .25, 1, 2)         /* draws, structures and steps, in those of the space */           \
    X(draws, 40, INF, INF)      /* per structure near the top, at most */                          \
    X(first_draws, 20, 60, 120) /* the same on a part of the data */                               \
    X(most, 48, INF, INF)       /* structures, at most */                                          \
    X(taken, 4, 8, 16)          /* structures that a search has from another one, at most */       \
    X(lend, 0, 1, 1)            /* what was given up early gets an evidence, too */                \
    X(widen, 0, 64, 256)        /* further expansions, at most, each time */                       \
    X(left, 1, .08, .02)        /* of the probability may lie in what was not visited */           \
    X(looks, 0, 3, 3)           /* searches made again without further values out of line */       \
    X(mends, 0, 6, 6)           /* times that proposals are mended where chains found a gap */     \
    X(more, 0, 2, 2)            /* times that draws are doubled where chains disagree still */     \
    X(longest, 1, 16, 32)       /* times the first length: chains that disagree, at most */

struct precision {
#define PRECISION_FIELD(name, low, normal, high) double name;
    PRECISION_FIELDS(PRECISION_FIELD)
#undef PRECISION_FIELD
};

extern const char *const precision_names[PRECISIONS];
/* False: no precision has this name. */
bool precision_find(const char *name, enum precision_choice *out);
struct precision precision_of(enum precision_choice which);
#endif
