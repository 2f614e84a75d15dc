/* SPDX-License-Identifier: Apache-2.0
 */
#include "apps/ask/ask_phrase.h"
#include "base/ascii.h"
#include "base/number.h"
#include "base/units.h"
#include "base/suggest.h"
#include "table/times.h"
#include "base/mem.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Words of one meaning stand in one row; those that say nothing by themselves in the last. */
static const struct {
    const char *list;
    int says;
} vocabulary[] = {
    {"rising rises rise rose risen increasing increases increase increased climbing climbs climb "
     "climbed",
     SAYS_RISE},
    {"falling falls fall fell fallen decreasing decreases decrease decreased declining declines "
     "decline "
     "declined dropping",
     SAYS_FALL},
    {"drop drops dropped", SAYS_FALL | SAYS_SUDDEN},
    {"upward", SAYS_RISE | SAYS_TREND},
    {"downward", SAYS_FALL | SAYS_TREND},
    {"growing grows grow grew growth", SAYS_GROW},
    {"shrinking shrinks shrink shrank", SAYS_SHRINK},
    {"linear straight line", SAYS_LINEAR},
    {"trend trends trending", SAYS_TREND},
    {"periodic periodicity seasonal seasonality season seasons cyclic cyclical cycle cycles "
     "repeats repeat "
     "recurring "
     "repeating oscillates oscillating oscillation",
     SAYS_PERIODIC},
    {"swing swings amplitude", SAYS_SWING},
    {"noise noisy scatter variance variability volatility", SAYS_NOISE},
    {"pure only white nothing", SAYS_PURE},
    {"jumps jump jumped shift shifts shifted step steps leap leaps break breaks broke", SAYS_JUMP},
    {"sudden suddenly abrupt abruptly", SAYS_SUDDEN},
    {"change changes changed changing", SAYS_CHANGE},
    {"flat constant unchanged", SAYS_FLAT},
    {"smooth smoothly", SAYS_SMOOTH},
    {"walk", SAYS_WALK},
    {"random", SAYS_RANDOM},
    {"up upwards", SAYS_UP},
    {"down downwards", SAYS_DOWN},
    {"mostly mainly dominated", SAYS_MOSTLY},
    {"find list is are was were be been has have had does do did a an the that which it its whose "
     "of to by "
     "new "
     "level component pattern function series over time there in size values value else shows show "
     "showing exhibits displays contains goes go went going moves move moved moving stays stay "
     "stayed "
     "remains overall ones those please me structural",
     0},
};

bool ask_one_of(const char *w, const char *list) {
    size_t n = strlen(w);
    for (const char *p = list; n && (p = strstr(p, w)); p++)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return true;
    return false;
}

bool ask_word(const char *word, int *says) {
    for (size_t i = 0; i < COUNT_OF(vocabulary); i++)
        if (ask_one_of(word, vocabulary[i].list)) {
            *says = vocabulary[i].says;
            return true;
        }
    return false;
}

const char *ask_word_near(const char *word, struct arena *a) {
    enum { KNOWN_MAX = 256 };
    const char *known[KNOWN_MAX];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(vocabulary); i++)
        for (const char *p = vocabulary[i].list; *p && n < KNOWN_MAX;) {
            size_t len = strcspn(p, " ");
            known[n++] = arena_strndup(a, p, len);
            p += len + (p[len] == ' ');
        }
    return suggest_nearest(word, known, n);
}

/* ---- words ---- */
static bool is_year(const char *w) {
    for (int i = 0; i < 4; i++)
        if (!ascii_digit(w[i])) return false;
    return !w[4];
}

/* Signs that editors put instead of plain ones: apostrophes, quotation marks, dashes; 0: none. */
static char plain_sign(const char *p, size_t *len) {
    *len = 3;
    if (!strncmp(p, "\xe2\x80\x98", 3) || !strncmp(p, "\xe2\x80\x99", 3)) return '\'';
    if (!strncmp(p, "\xe2\x80\x9c", 3) || !strncmp(p, "\xe2\x80\x9d", 3)) return '"';
    if (!strncmp(p, "\xe2\x80\x93", 3) || !strncmp(p, "\xe2\x80\x94", 3)) return '-';
    *len = 1;
    return 0;
}

static char *plain_text(struct ask_words *r, const char *text) {
    struct buf b = BUF_INIT;
    for (size_t len; *text; text += len) {
        char sign = plain_sign(text, &len);
        buf_putc(&b, sign ? sign : ascii_lower(*text));
    }
    char *s = arena_strndup(&r->a, b.data ? b.data : "", b.len);
    buf_release(&b);
    return s;
}

/* "march 1988" as a date of one word, 1988-03; NULL: not such a date. */
static char *month_of_year(struct ask_words *r, const char *month, const char *year) {
    struct time_form f;
    double x;
    if (!ascii_alpha(*month) || !is_year(year)) return NULL;
    char *text = ask_text(r, "%s %s", month, year);
    if (time_form_of(text, &f) != GPM_OK) return NULL;
    bool is_one = f.kind == TIME_MONTH && time_read(&f, text, &x) == GPM_OK;
    time_form_release(&f);
    if (!is_one) return NULL;
    int months = (int)floor(12 * x + 0.5);
    return ask_text(r, "%04d-%02d", months / 12, months % 12 + 1);
}

static void join_months(struct ask_words *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        char *date = i + 1 < r->n ? month_of_year(r, r->word[i], r->word[i + 1]) : NULL;
        r->word[n++] = date ? date : r->word[i];
        i += date != NULL;
    }
    r->n = n;
}

void ask_split(struct ask_words *r, const char *text) {
    for (const char *p = plain_text(r, text); *p;) {
        size_t n = 0;
        if (strchr(" \t\n'\"?", *p)) {
            p++;
            continue;
        }
        if (strchr(",()", *p))
            n = 1;
        else
            while (p[n] && !strchr(" \t\n,()?\"", p[n])) n++;
        if (r->n == ASK_WORDS_MAX) {
            r->too_many = true;
            break;
        }
        char *w = arena_strndup(&r->a, p, n);
        for (size_t len = strlen(w); len > 1 && strchr(".;'!", w[len - 1]); len--) w[len - 1] = 0;
        r->word[r->n++] = w;
        p += n;
    }
    join_months(r);
}

const char *ask_peek(const struct ask_words *r, size_t k) {
    return r->at + k < r->n ? r->word[r->at + k] : "";
}
static bool next_is(const struct ask_words *r, size_t k, const char *w) {
    return !strcmp(ask_peek(r, k), w);
}

bool ask_take(struct ask_words *r, const char *list) {
    if (!ask_one_of(ask_peek(r, 0), list)) return false;
    r->at++;
    return true;
}

char *ask_text(struct ask_words *r, const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char *s = arena_strndup(&r->a, b.data, b.len);
    buf_release(&b);
    return s;
}

bool ask_expected(struct ask_words *r, const char *what) {
    if (!r->failed)
        buf_printf(r->err, "expected %s %s '%s'", what, r->at < r->n ? "before" : "behind",
                   r->at < r->n ? ask_peek(r, 0)
                   : r->n       ? r->word[r->n - 1]
                                : "");
    r->failed = true;
    return false;
}

/* ---- time ---- */
static const char hedges[] = "about around approximately roughly ~ circa";

static bool is_unit(const char *w) {
    const struct time_unit *u = unit_find(w, strlen(w), false);
    return u && u != &time_units[UNIT_SECOND]; /* one of several, say */
}

static bool is_date(const char *w) {
    return ascii_digit(*w) && time_is_one(w);
}

/* 1990s, 1990's, 90s, perhaps with early, mid or late before it: its years. */
static bool take_decade(struct ask_words *r, double *from, double *to) {
    size_t k = 0;
    const char *part = "", *w = ask_peek(r, 0);
    if (ask_one_of(w, "early mid late")) part = w, k = 1;
    for (const char *p = "early-\0mid-\0late-\0"; *p; p += strlen(p) + 1)
        if (!strncmp(w, p, strlen(p))) part = p, w += strlen(p);
    if (k) w = ask_peek(r, 1);
    size_t digits = 0;
    while (ascii_digit(w[digits])) digits++;
    double year;
    if ((strcmp(w + digits, "s") && strcmp(w + digits, "'s")) || (digits != 2 && digits != 4) ||
        !number_parse(w, digits, &year))
        return false;
    if (digits == 2) year += year < 30 ? 2000 : 1900; /* the reading is shown back */
    r->at += k + 1;
    *from = year + (*part == 'm' ? 3 : *part == 'l' ? 7 : 0);
    *to = year + (*part == 'm' ? 7 : *part == 'e' ? 3 : 10);
    return true;
}

static bool set_interval(struct ask_words *r, struct ask_clause *c, char *from, char *to) {
    c->interval = ask_text(r, "%s..%s", from, to);
    c->start = from;
    c->end = to;
    return c->timed = true;
}

static bool set_years(struct ask_words *r, struct ask_clause *c, double from, double to) {
    return set_interval(r, c, ask_text(r, "%.12g", from), ask_text(r, "%.12g", to));
}

/* 1970-1980 as one word. */
static bool take_range(struct ask_words *r, struct ask_clause *c) {
    const char *w = ask_peek(r, 0);
    if (strlen(w) != 9 || w[4] != '-') return false;
    char *from = arena_strndup(&r->a, w, 4), *to = arena_strndup(&r->a, w + 5, 4);
    if (!is_year(from) || !is_year(to)) return false;
    r->at++;
    return set_interval(r, c, from, to);
}

/* A date after a preposition; NULL: not a date, as in "about 10 years". */
static char *take_date(struct ask_words *r) {
    ask_take(r, hedges);
    ask_take(r, "the year");
    ask_take(r, "the year");
    if (is_unit(ask_peek(r, 1))) return NULL;
    return is_date(ask_peek(r, 0)) ? r->word[r->at++] : NULL;
}

static bool take_between(struct ask_words *r, struct ask_clause *c, const char *joins) {
    char *a = take_date(r), *b = a && ask_take(r, joins) ? take_date(r) : NULL;
    return b && set_interval(r, c, a, b);
}

/* A year or month that something happens in, or near. */
static bool set_date(struct ask_words *r, struct ask_clause *c, char *date, bool near) {
    c->date = date;
    double wide = near ? 1 : 0, year, month;
    if (is_year(date) && number_parse(date, 4, &year))
        return set_years(r, c, year - wide, year + 1 + wide);
    if (strlen(date) == 7 && date[4] == '-' && number_parse(date, 4, &year) &&
        number_parse(date + 5, 2, &month)) {
        double first = 12 * year + month - 1 - wide, last = first + 1 + 2 * wide;
        int a = (int)first, b = (int)last;
        return set_interval(r, c, ask_text(r, "%d-%02d", a / 12, a % 12 + 1),
                            ask_text(r, "%d-%02d", b / 12, b % 12 + 1));
    }
    return c->timed = true; /* of a value alone; ask_english.c asks for more where it is not */
}

/* before, after and since, with a date or with that of the clause before. */
static bool take_side(struct ask_words *r, struct ask_clause *c, bool before) {
    char *date = take_date(r);
    if (!date) {
        ask_take(r, "that then this");
        *(before ? &c->before : &c->after) = true;
        return true;
    }
    c->interval = ask_text(r, "%s %s", before ? "before" : "after", date);
    *(before ? &c->end : &c->start) = date;
    return c->timed = true;
}

static bool take_until(struct ask_words *r, struct ask_clause *c) {
    char *date = take_date(r);
    if (!date) return ask_expected(r, "a year");
    c->until = c->end = date;
    if (next_is(r, 0, "and") && next_is(r, 1, "then") &&
        ask_one_of(ask_peek(r, 2), "stops ends stop end vanishes disappears"))
        r->at += 3;
    return c->timed = true;
}

static bool take_from(struct ask_words *r, struct ask_clause *c) {
    char *date = take_date(r);
    if (!date) return ask_expected(r, "a year");
    ask_take(r, "on onwards");
    c->from = c->start = date;
    return c->timed = true;
}

bool ask_take_time(struct ask_words *r, struct ask_clause *c) {
    double from, to;
    char *date;
    size_t back = r->at;
    if (ask_take(r, "throughout always")) return c->throughout = c->timed = true;
    if (next_is(r, 0, "at") && ask_one_of(ask_peek(r, 1), "any some") && next_is(r, 2, "time")) {
        r->at += 3;
        return c->timed = true;
    }
    if (ask_take(r, "ever sometime")) return c->timed = true;
    if (ask_take(r, "over") && ask_take(r, "time")) return true;
    r->at = back;
    if (take_range(r, c)) return true;
    if (ask_take(r, "starting beginning begins starts start begin began started")) {
        ask_take(r, "in at from near");
        return take_from(r, c);
    }
    if (ask_take(r, "until till")) return take_until(r, c);
    if (ask_take(r, "before previously")) return take_side(r, c, true);
    if (ask_take(r, "after since afterwards thereafter later then")) return take_side(r, c, false);
    if (ask_take(r, "between")) return take_between(r, c, "and") || ask_expected(r, "two years");
    if (ask_take(r, "from")) {
        size_t here = r->at;
        if (take_between(r, c, "to until till through")) return true;
        r->at = here;
        return take_from(r, c);
    }
    bool near = ask_one_of(ask_peek(r, 0), "around about near circa");
    if (near || ask_one_of(ask_peek(r, 0), "during in over at")) {
        r->at++;
        near = near || ask_one_of(ask_peek(r, 0), "around about near circa");
        ask_take(r, "the around about near circa");
        if (take_decade(r, &from, &to)) return set_years(r, c, from, to);
        if (take_range(r, c)) return true;
        if (ask_take(r, "years") && (take_range(r, c) || take_between(r, c, "to and"))) return true;
        if ((date = take_date(r))) return set_date(r, c, date, near);
        r->at = back;
    }
    return false;
}

/* ---- periods ---- */
/* A number in digits, or one to twelve in letters; NULL: neither. */
static const char *digits_of(const char *w) {
    static const char *const names[] = {"one",   "two",   "three", "four", "five",   "six",
                                        "seven", "eight", "nine",  "ten",  "eleven", "twelve"};
    static const char *const figures[] = {"1", "2", "3", "4",  "5",  "6",
                                          "7", "8", "9", "10", "11", "12"};
    double v;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(w, names[i])) return figures[i];
    return *w && number_parse(w, strlen(w), &v) && v > 0 ? w : NULL;
}

/* "12 months", "12-month", "10 to 14 months"; the words behind `every` and `a period of`. */
static bool take_length(struct ask_words *r, struct ask_clause *c) {
    if (ask_take(r, "decade")) {
        c->period = ask_text(r, "10 years");
        return true;
    }
    const char *w = ask_peek(r, 0), *dash = strchr(w, '-'), *n = digits_of(w);
    if (dash && is_unit(dash + 1)) {
        n = digits_of(arena_strndup(&r->a, w, (size_t)(dash - w)));
        if (!n) return false;
        c->period = ask_text(r, "%s %s", n, dash + 1);
        r->at++;
        return true;
    }
    if (!n) return false;
    const char *to = ask_one_of(ask_peek(r, 1), "to and") ? digits_of(ask_peek(r, 2)) : NULL;
    const char *unit = ask_peek(r, to ? 3 : 1);
    if (!is_unit(unit)) return false;
    c->period = to ? ask_text(r, "%s..%s %s", n, to, unit) : ask_text(r, "%s %s", n, unit);
    r->at += to ? 4 : 2;
    return true;
}

bool ask_take_period(struct ask_words *r, struct ask_clause *c) {
    static const char *const adverbs[][2] = {{"yearly annual annually", "1 year"},
                                             {"monthly", "1 month"},
                                             {"weekly", "1 week"},
                                             {"daily", "1 day"},
                                             {"hourly", "1 hour"},
                                             {"quarterly", "1 quarter"}};
    for (size_t i = 0; i < COUNT_OF(adverbs); i++)
        if (ask_take(r, adverbs[i][0])) {
            c->says |= SAYS_PERIODIC;
            c->period = (char *)adverbs[i][1];
            return true;
        }
    size_t back = r->at;
    bool every = ask_take(r, "every");
    if (!every) {
        ask_take(r, "with");
        ask_take(r, "a the");
        if (!ask_take(r, "period periods")) {
            r->at = back;
            ask_take(r, hedges);
            ask_take(r, "a the");
            if (take_length(r, c)) return c->says |= SAYS_PERIODIC, true;
            r->at = back;
            return false;
        }
        ask_take(r, "of between from");
    }
    ask_take(r, hedges);
    ask_take(r, "a an");
    c->says |= SAYS_PERIODIC;
    if (take_length(r, c)) return true;
    if (is_unit(ask_peek(r, 0))) {
        c->period = ask_text(r, "1 %s", ask_peek(r, 0));
        r->at++;
        return true;
    }
    const char *n = digits_of(ask_peek(r, 0));
    if (!n) return ask_expected(r, "a length (12 months, 7 days, a year)");
    r->at++;
    const char *unit = ask_peek(r, 0);
    if (*unit && ascii_alpha(*unit) && every)
        return ask_expected(r, "a unit (years, months, weeks, days)");
    c->period = (char *)n; /* in units of the axis */
    return true;
}

/* ---- amounts ---- */
bool ask_take_amount(struct ask_words *r, struct ask_clause *c) {
    const char *w = ask_peek(r, 0), *than = ask_peek(r, 1);
    bool at = next_is(r, 0, "at") && ask_one_of(than, "least most");
    bool compared = ask_one_of(w, "greater larger bigger higher more less smaller lower") &&
                    !strcmp(than, "than");
    bool plain = ask_one_of(w, "above exceeds exceeding exceeded below under");
    if (!at && !compared && !plain) return false;
    size_t k = plain ? 1 : 2;
    const char *number = ask_peek(r, k);
    if (!number_parse(number, strlen(number), &c->amount) || !isfinite(c->amount)) return false;
    c->below = at ? !strcmp(than, "most") : ask_one_of(w, "less smaller lower below under");
    c->above = !c->below;
    r->at += k + 1;
    return true;
}
