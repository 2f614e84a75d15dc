/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of English questions, and phrases of a few words that stand for one argument of a
 * predicate: a time, a period, an amount. Sentences of them are ask_english.c's.
 */
#ifndef DISCOVER_ASK_PHRASE_H
#define DISCOVER_ASK_PHRASE_H
#include "base/arena.h"
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

enum { /* what words say */
       SAYS_RISE = 1 << 0,
       SAYS_FALL = 1 << 1,
       SAYS_LINEAR = 1 << 2,
       SAYS_PERIODIC = 1 << 3,
       SAYS_SWING = 1 << 4,
       SAYS_GROW = 1 << 5,
       SAYS_SHRINK = 1 << 6,
       SAYS_NOISE = 1 << 7,
       SAYS_PURE = 1 << 8,
       SAYS_JUMP = 1 << 9,
       SAYS_SMOOTH = 1 << 10,
       SAYS_WALK = 1 << 11,
       SAYS_TREND = 1 << 12,
       SAYS_UP = 1 << 13,
       SAYS_DOWN = 1 << 14,
       SAYS_SUDDEN = 1 << 15, /* what rises or falls so is a jump */
       SAYS_CHANGE = 1 << 16, /* rises, falls or jumps */
       SAYS_FLAT = 1 << 17,   /* does not */
       SAYS_RANDOM = 1 << 18,
       SAYS_MOSTLY = 1 << 19
};

#define ASK_WORDS_MAX 64
struct ask_words {
    char *word[ASK_WORDS_MAX];
    size_t n, at;
    struct arena a;
    struct buf *err;
    bool failed, too_many;
    bool negated;    /* was the last clause? */
    bool not_either; /* the next one is denied by the "not" before the last */
};

/* What one clause says. Texts are formal arguments, in the arena of the words. */
struct ask_clause {
    int says;
    bool negated;
    char *interval, *from, *until, *period;
    char *date;             /* "in 1990": also the date of a value */
    char *start, *end;      /* of what was said, for "but not before" and "and then" */
    bool throughout, timed; /* timed: some phrase of time was read */
    bool before, after;     /* without a date: before, after what the last clause was about */
    bool above, below;      /* an amount: of a jump, or of the level */
    double amount;
};

void ask_split(struct ask_words *r, const char *text);
/* What the word says, and whether it is known at all. */
bool ask_word(const char *word, int *says);
/* The known word nearest to one that is not; NULL: none is near. */
const char *ask_word_near(const char *word, struct arena *a);
const char *ask_peek(const struct ask_words *r, size_t k);
bool ask_one_of(const char *w, const char *list);
bool ask_take(struct ask_words *r, const char *list);
char *ask_text(struct ask_words *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says once what was expected where; false. */
bool ask_expected(struct ask_words *r, const char *what);
/* One phrase each; false: another phrase follows (or a wrong one: r->failed). */
bool ask_take_time(struct ask_words *r, struct ask_clause *c);
bool ask_take_period(struct ask_words *r, struct ask_clause *c);
bool ask_take_amount(struct ask_words *r, struct ask_clause *c);
#endif
