/* SPDX-License-Identifier: Apache-2.0
 *
 * English questions, by rules, to formal ones (ask.h). A sentence is a list of clauses joined by
 * and, or, but, commas, with, without; a clause is a set of known words and a phrase of time. Every
 * word is known or the question is refused: nothing is skipped that could change the meaning.
 */
#include "discover/ask.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "host/times.h"
#include <math.h>
#include <string.h>

enum { /* what words say */
       W_RISE = 1,
       W_FALL = 2,
       W_LINEAR = 4,
       W_PERIODIC = 8,
       W_SWING = 16,
       W_GROW = 32,
       W_SHRINK = 64,
       W_NOISE = 128,
       W_PURE = 256,
       W_JUMP = 512,
       W_SMOOTH = 1024,
       W_WALK = 2048,
       W_TREND = 4096,
       W_UP = 8192,
       W_DOWN = 16384,
       W_FILLER = 0
};
static const struct {
    const char *word;
    int says;
} words[] = {{"rising", W_RISE},
             {"rises", W_RISE},
             {"rise", W_RISE},
             {"increasing", W_RISE},
             {"increases", W_RISE},
             {"upward", W_RISE | W_TREND},
             {"growing", W_GROW},
             {"grows", W_GROW},
             {"grow", W_GROW},
             {"falling", W_FALL},
             {"falls", W_FALL},
             {"fall", W_FALL},
             {"decreasing", W_FALL},
             {"decreases", W_FALL},
             {"declining", W_FALL},
             {"downward", W_FALL | W_TREND},
             {"shrinking", W_SHRINK},
             {"shrinks", W_SHRINK},
             {"shrink", W_SHRINK},
             {"linear", W_LINEAR},
             {"straight", W_LINEAR},
             {"line", W_LINEAR},
             {"trend", W_TREND},
             {"periodic", W_PERIODIC},
             {"seasonal", W_PERIODIC},
             {"seasonality", W_PERIODIC},
             {"cyclic", W_PERIODIC},
             {"cycle", W_PERIODIC},
             {"repeats", W_PERIODIC},
             {"recurring", W_PERIODIC},
             {"repeating", W_PERIODIC},
             {"swing", W_SWING},
             {"amplitude", W_SWING},
             {"noise", W_NOISE},
             {"noisy", W_NOISE},
             {"pure", W_PURE},
             {"only", W_PURE},
             {"jumps", W_JUMP},
             {"jump", W_JUMP},
             {"shift", W_JUMP},
             {"shifts", W_JUMP},
             {"step", W_JUMP},
             {"smooth", W_SMOOTH},
             {"smoothly", W_SMOOTH},
             {"walk", W_WALK},
             {"up", W_UP},
             {"down", W_DOWN},
             {"upwards", W_UP},
             {"downwards", W_DOWN},
             {"random", W_WALK},
             {"is", 0},
             {"are", 0},
             {"has", 0},
             {"have", 0},
             {"a", 0},
             {"an", 0},
             {"the", 0},
             {"that", 0},
             {"which", 0},
             {"it", 0},
             {"its", 0},
             {"whose", 0},
             {"of", 0},
             {"to", 0},
             {"new", 0},
             {"level", 0},
             {"component", 0},
             {"pattern", 0},
             {"function", 0},
             {"series", 0},
             {"over", 0},
             {"time", 0},
             {"there", 0},
             {"was", 0},
             {"in", 0},
             {"size", 0},
             {"sudden", 0},
             {"values", 0},
             {"value", 0},
             {"white", W_PURE},
             {"nothing", W_PURE},
             {"else", 0}};

#define WORDS_MAX 64
struct reader {
    char *word[WORDS_MAX];
    size_t n, at;
    struct arena a;
    struct buf *err;
    bool failed;
};

/* What one clause says. */
struct clause {
    int says;
    bool negated;
    char *interval, *from, *until, *period, *value; /* formal arguments */
    double start, end;                              /* of the interval, where it has them */
    bool throughout, timed;                         /* timed: some phrase of time was read */
    bool before, after;                             /* without a date */
    double size;
};

static void split(struct reader *r, const char *text) {
    for (const char *p = text; *p && r->n < WORDS_MAX;) {
        size_t n = 0;
        if (strchr(" \t\n'\"?", *p)) {
            p++;
            continue;
        }
        if (strchr(",()", *p))
            n = 1;
        else
            while (p[n] && !strchr(" \t\n,()?\"", p[n])) n++;
        char *w = arena_strndup(&r->a, p, n);
        for (char *c = w; *c; c++) *c = ascii_lower(*c);
        for (size_t len = strlen(w); len > 1 && w[len - 1] == '.'; len--) w[len - 1] = 0;
        r->word[r->n++] = w;
        p += n;
    }
}

static const char *peek(const struct reader *r, size_t k) {
    return r->at + k < r->n ? r->word[r->at + k] : "";
}
static bool next_is(const struct reader *r, size_t k, const char *w) {
    return !strcmp(peek(r, k), w);
}
static bool one_of(const char *w, const char *list) {
    size_t n = strlen(w);
    for (const char *p = list; n && (p = strstr(p, w)); p++)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return true;
    return false;
}
static bool take(struct reader *r, const char *list) {
    if (!one_of(peek(r, 0), list)) return false;
    r->at++;
    return true;
}
static char *text_of(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static char *text_of(struct reader *r, const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char *s = arena_strndup(&r->a, b.data, b.len);
    buf_release(&b);
    return s;
}

/* ---- time ---- */
static bool is_date(const char *w) {
    return ascii_digit(*w) && time_is_one(w);
}

/* 1990s, 1990's, perhaps with early, mid or late before it: its years. */
static bool take_decade(struct reader *r, double *from, double *to) {
    size_t k = 0;
    const char *part = "", *w = peek(r, 0);
    if (one_of(w, "early mid late")) part = w, k = 1;
    for (const char *p = "early-\0mid-\0late-\0"; *p; p += strlen(p) + 1)
        if (!strncmp(w, p, strlen(p))) part = p, w += strlen(p);
    if (k) w = peek(r, 1);
    double year;
    size_t len = strlen(w);
    if (len < 5 || w[len - 1] != 's' || !number_parse(w, len - 1, &year)) return false;
    r->at += k + 1;
    *from = year + (*part == 'm' ? 3 : *part == 'l' ? 7 : 0);
    *to = year + (*part == 'm' ? 7 : *part == 'e' ? 3 : 10);
    return true;
}

static bool set_interval(struct reader *r, struct clause *c, double from, double to) {
    c->interval = text_of(r, "%.12g..%.12g", from, to);
    c->start = from;
    c->end = to;
    return c->timed = true;
}

/* A date behind a preposition; NULL: there is none. */
static char *take_date(struct reader *r) {
    take(r, "about around approximately roughly ~ circa the year");
    take(r, "the year");
    return is_date(peek(r, 0)) ? r->word[r->at++] : NULL;
}

static bool take_between(struct reader *r, struct clause *c, const char *joins) {
    char *a = take_date(r), *b = a && take(r, joins) ? take_date(r) : NULL;
    if (!b) return false;
    c->interval = text_of(r, "%s..%s", a, b);
    c->start = number_read(a, NULL);
    c->end = number_read(b, NULL);
    return c->timed = true;
}

static bool fail_at(struct reader *r, const char *expected) {
    if (!r->failed)
        buf_printf(r->err, "expected %s %s '%s'", expected, r->at < r->n ? "before" : "behind",
                   r->at < r->n ? peek(r, 0)
                   : r->n       ? r->word[r->n - 1]
                                : "");
    r->failed = true;
    return false;
}

/* One phrase of time; false: what comes next is none. */
static bool take_time(struct reader *r, struct clause *c) {
    double from, to;
    char *date;
    size_t back = r->at;
    if (take(r, "throughout always")) return c->throughout = c->timed = true;
    if (next_is(r, 0, "at") && one_of(peek(r, 1), "any some") && next_is(r, 2, "time")) {
        r->at += 3;
        return c->timed = true;
    }
    if (take(r, "ever sometime")) return c->timed = true;
    if (take(r, "over") && take(r, "time")) return true;
    r->at = back;
    if (take(r, "starting beginning begins starts start begin")) {
        take(r, "in at from");
        if (!(date = take_date(r))) return fail_at(r, "a year");
        c->from = date;
        return c->timed = true;
    }
    if (take(r, "until till")) {
        if (!(date = take_date(r))) return fail_at(r, "a year");
        c->until = date;
        if (next_is(r, 0, "and") && next_is(r, 1, "then") &&
            one_of(peek(r, 2), "stops ends stop end vanishes disappears"))
            r->at += 3;
        return c->timed = true;
    }
    if (take(r, "before")) {
        if ((date = take_date(r)))
            c->interval = text_of(r, "before %s", date), c->timed = true;
        else
            c->before = true;
        return true;
    }
    if (take(r, "after since afterwards")) {
        if ((date = take_date(r)))
            c->interval = text_of(r, "after %s", date), c->timed = true;
        else
            c->after = true;
        return true;
    }
    if (take(r, "between")) return take_between(r, c, "and") || fail_at(r, "two years");
    if (take(r, "from")) {
        size_t here = r->at;
        if (take_between(r, c, "to until till")) return true;
        r->at = here;
        if (!(date = take_date(r))) return fail_at(r, "a year");
        take(r, "on onwards");
        c->from = date;
        return c->timed = true;
    }
    if (take(r, "during in over at around about")) {
        take(r, "the");
        if (take_decade(r, &from, &to)) return set_interval(r, c, from, to);
        if (take(r, "years") && take_between(r, c, "to and")) return true;
        if ((date = take_date(r))) {
            double year = number_read(date, NULL);
            bool whole = strlen(date) == 4;
            if (c->value) {
                c->interval = date;
                return c->timed = true;
            }
            if (whole) return set_interval(r, c, year, year + 1);
            return fail_at(r, "a year, a decade or an interval");
        }
        r->at = back;
    }
    return false;
}

/* "every 12 months", "with a period of 1 year", "yearly" */
static bool take_period(struct reader *r, struct clause *c) {
    static const char *const adverbs[][2] = {{"yearly", "1 year"},   {"annual", "1 year"},
                                             {"monthly", "1 month"}, {"weekly", "1 week"},
                                             {"daily", "1 day"},     {"quarterly", "1 quarter"},
                                             {"hourly", "1 hour"}};
    for (size_t i = 0; i < COUNT_OF(adverbs); i++)
        if (next_is(r, 0, adverbs[i][0])) {
            r->at++;
            c->says |= W_PERIODIC;
            c->period = (char *)adverbs[i][1];
            return true;
        }
    size_t back = r->at;
    if (!take(r, "every")) {
        take(r, "with");
        take(r, "a the");
        if (!take(r, "period")) {
            r->at = back;
            return false;
        }
        take(r, "of");
    }
    const char *n = peek(r, 0), *unit = peek(r, 1);
    if (!ascii_digit(*n)) {
        unit = n;
        n = "1";
    } else
        r->at++;
    r->at++;
    if (!*unit) return fail_at(r, "a unit (years, months, weeks, days)");
    c->period = text_of(r, "%s %s", n, unit);
    return true;
}

/* "above 5", "below 3", "at least 2" */
static bool take_amount(struct reader *r, struct clause *c) {
    bool above = one_of(peek(r, 0), "above exceeds"), below = one_of(peek(r, 0), "below under");
    size_t k = 1;
    if (next_is(r, 0, "at") && next_is(r, 1, "least")) k = 2;
    double v;
    const char *w = peek(r, k);
    if (!(above || below || k == 2) || !number_parse(w, strlen(w), &v)) return false;
    r->at += k + 1;
    if (k == 2)
        c->size = v;
    else
        c->value = text_of(r, "%s %.12g", above ? ">" : "<", v);
    return true;
}

/* ---- clauses ---- */
static bool connector(const struct reader *r) {
    return r->at >= r->n || one_of(peek(r, 0), "and or but with without , ( )");
}

static bool read_clause(struct reader *r, struct clause *c) {
    *c = (struct clause){.start = NAN, .end = NAN, .size = NAN};
    while (take(r, "not never no without is has and")) /* "and is not", "without" */
        c->negated ^= one_of(r->word[r->at - 1], "not never no without");
    size_t begin = r->at;
    while (!r->failed) {
        if (next_is(r, 0, "(") && one_of(peek(r, 1), "at")) { /* (at any time) */
            r->at++;
            if (!take_time(r, c)) return fail_at(r, "a phrase of time");
            if (!take(r, ")")) return fail_at(r, "')'");
            continue;
        }
        if (take_period(r, c) || take_amount(r, c) || take_time(r, c)) continue;
        if (connector(r)) break;
        const char *w = peek(r, 0), *known[COUNT_OF(words)], *near;
        size_t i = 0;
        while (i < COUNT_OF(words) && strcmp(words[i].word, w)) i++;
        if (i == COUNT_OF(words)) {
            for (i = 0; i < COUNT_OF(words); i++) known[i] = words[i].word;
            near = suggest_nearest(w, known, COUNT_OF(words));
            buf_printf(r->err, "the word '%s' is not known%s%s%s", w,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            r->failed = true;
            return false;
        }
        c->says |= words[i].says;
        r->at++;
    }
    return !r->failed && (r->at > begin || fail_at(r, "a property of a series"));
}

/* The name of the predicate that the words of a clause amount to; NULL: none. */
static const char *name_of(const struct clause *c) {
    int s = c->says;
    if (c->value) return "value";
    if (s & W_JUMP) return "jumps";
    if (s & W_NOISE && s & (W_GROW | W_RISE)) return "noise_grows";
    if (s & W_NOISE && s & (W_SHRINK | W_FALL)) return "noise_shrinks";
    if (s & W_NOISE && s & W_PURE) return "pure_noise";
    if (s & (W_SWING | W_PERIODIC) && s & (W_GROW | W_RISE)) return "swing_grows";
    if (s & (W_SWING | W_PERIODIC) && s & (W_SHRINK | W_FALL)) return "swing_shrinks";
    if (s & W_LINEAR && s & (W_RISE | W_GROW)) return "linear() & rises";
    if (s & W_LINEAR && s & W_FALL) return "linear() & falls";
    if (s & W_LINEAR) return "linear";
    if (s & (W_RISE | W_GROW)) return "rises";
    if (s & W_FALL) return "falls";
    if (s & W_WALK) return "random_walk";
    if (s & W_SMOOTH) return "smooth";
    if (s & W_PERIODIC || c->period) return "periodic";
    if (s & W_TREND) return "trend";
    if (s & W_NOISE) return "noise";
    return NULL;
}

static void put_clause(struct reader *r, const struct clause *c, const char *name,
                       struct buf *out) {
    struct buf args = BUF_INIT;
    const char *all[] = {c->throughout ? "throughout" : c->interval,
                         c->from ? text_of(r, "from=%s", c->from) : NULL,
                         c->until ? text_of(r, "until=%s", c->until) : NULL,
                         c->period ? text_of(r, "period=%s", c->period) : NULL,
                         isnan(c->size) ? NULL : text_of(r, "size>%.12g", c->size),
                         c->says & W_JUMP && c->says & (W_UP | W_RISE)     ? "up"
                         : c->says & W_JUMP && c->says & (W_DOWN | W_FALL) ? "down"
                                                                           : NULL};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]) buf_printf(&args, "%s%s", args.len ? ", " : "", all[i]);
    bool plain = !strcmp(name, "trend") || !strcmp(name, "noise");
    bool two = strchr(name, '&') != NULL;
    buf_puts(out, c->negated ? "!" : "");
    if (plain && !args.len)
        buf_puts(out, name);
    else if (!strcmp(name, "trend"))
        buf_printf(out, "(rises(%s) | falls(%s))", args.data, args.data);
    else
        buf_printf(out, "%s%s(%s)%s%s%s", two ? "(" : "", name, args.data, c->value ? " " : "",
                   c->value ? c->value : "", two ? ")" : "");
    buf_release(&args);
}

/* A clause that names no property is about that of the one before: "but not before". */
static bool complete(struct reader *r, struct clause *c, const struct clause *before) {
    if (c->says || c->period || c->value || !before) return true;
    c->says = before->says;
    c->period = before->period;
    if (c->before && !isnan(before->start)) c->interval = text_of(r, "before %.12g", before->start);
    if (c->after && !isnan(before->end)) c->interval = text_of(r, "after %.12g", before->end);
    if ((c->before || c->after) && !c->interval)
        return fail_at(r, c->before ? "a date after 'before'" : "a date after 'after'");
    return true;
}

static bool read_or(struct reader *r, struct buf *out);

struct conjunction {
    struct clause at[16];
    char *group[16]; /* a group in brackets instead */
    size_t n;
};

static bool read_and(struct reader *r, struct buf *out) {
    struct conjunction k = {.n = 0};
    do {
        if (k.n == COUNT_OF(k.at)) return fail_at(r, "fewer clauses");
        while (take(r, ", and but with")) {
        }
        struct clause *c = &k.at[k.n];
        if (next_is(r, 0, "(") && !one_of(peek(r, 1), "at")) {
            struct buf inner = BUF_INIT;
            r->at++;
            bool ok = read_or(r, &inner);
            if (ok && !take(r, ")")) ok = fail_at(r, "')'");
            if (ok) k.group[k.n++] = text_of(r, "(%s)", inner.data);
            buf_release(&inner);
            if (!ok) return false;
            continue;
        }
        const struct clause *before = k.n && !k.group[k.n - 1] ? &k.at[k.n - 1] : NULL;
        if (!read_clause(r, c) || !complete(r, c, before)) return false;
        k.n++;
    } while (one_of(peek(r, 0), ", and but with without"));
    bool last = k.n && k.at[k.n - 1].throughout;
    for (size_t i = 0; i < k.n; i++) {
        struct clause *c = &k.at[i];
        if (i) buf_puts(out, " & ");
        if (k.group[i]) {
            buf_puts(out, k.group[i]);
            continue;
        }
        const char *name = name_of(c);
        if (last && !c->timed) c->throughout = true; /* "a and b throughout" is of both */
        if (!name)
            return fail_at(r, "a property of a series (rising, periodic, smooth, noise ...)");
        put_clause(r, c, name, out);
    }
    return true;
}

static bool read_or(struct reader *r, struct buf *out) {
    struct buf first = BUF_INIT;
    bool ok = read_and(r, &first);
    while (ok && take(r, "or")) {
        struct buf one = BUF_INIT;
        ok = read_and(r, &one);
        buf_printf(&first, " | %s", one.data);
        buf_release(&one);
    }
    buf_puts(out, first.data);
    buf_release(&first);
    return ok;
}

bool ask_english(const char *text, struct buf *formal, struct buf *err) {
    struct reader r = {.err = err};
    split(&r, text);
    bool ok = read_or(&r, formal);
    if (ok && r.at < r.n) ok = fail_at(&r, "'and', 'or', 'but' or the end");
    arena_release(&r.a);
    return ok;
}

/* ---- either language ---- */
/* The question that people ask that is nearest to the text. */
static const char *nearest(const char *text) {
    static const char *const common[] = {"has a rising trend starting around 1988",
                                         "has a falling trend starting around 1988",
                                         "is periodic during the 1990s",
                                         "is periodic during the 1990s but not before",
                                         "is periodic until about 1970 and then stops",
                                         "has a linear trend and a periodic component throughout",
                                         "is pure noise",
                                         "has noise whose amplitude grows over time",
                                         "has a seasonal swing that grows over time",
                                         "jumps to a new level in the mid 1960s",
                                         "is smooth, without linear trend and not periodic",
                                         "is a random walk",
                                         "is above 5 in 1990",
                                         "is rising or periodic throughout"};
    const char *best = common[0];
    unsigned least = ~0u;
    for (size_t i = 0; i < COUNT_OF(common); i++) {
        unsigned d = edit_distance(text, common[i]);
        if (d < least) least = d, best = common[i];
    }
    return best;
}

/* Signs that English has not, a single word, or a call: a word with a bracket right behind it. */
static bool looks_formal(const char *text) {
    if (strpbrk(text, "&|=<>*!~") || !strchr(text, ' ')) return true;
    for (const char *p = strchr(text, '('); p; p = strchr(p + 1, '('))
        if (p > text && ascii_name(p[-1])) return true;
    return false;
}

enum gpm_status ask_read(const char *text, struct arena *a, struct ask **out, const char **reading,
                         struct buf *err) {
    struct buf formal = BUF_INIT, why = BUF_INIT, not_english = BUF_INIT;
    enum gpm_status st = ask_parse(text, a, out, &why);
    if (st == GPM_OK) {
        buf_puts(&formal, text);
    } else if (ask_english(text, &formal, &not_english)) {
        buf_reset(&why);
        st = ask_parse(formal.data, a, out, &why);
        if (st != GPM_OK) buf_printf(err, "'%s' was read as %s: %s", text, formal.data, why.data);
    } else if (looks_formal(text)) {
        buf_puts(err, why.data);
    } else {
        buf_printf(err, "the question '%s' cannot be read: %s; the nearest that can: '%s'", text,
                   not_english.data, nearest(text));
    }
    *reading = st == GPM_OK ? arena_strndup(a, formal.data, formal.len) : NULL;
    buf_release(&formal);
    buf_release(&why);
    buf_release(&not_english);
    return st;
}

#define RUN_DRAWS 200

enum gpm_status ask_discovery(const struct discovery *d, const char *text, struct query_answer *out,
                              const char **reading, struct arena *a, struct buf *err) {
    struct ask *q = NULL;
    struct sketch p;
    enum gpm_status st = ask_read(text, a, &q, reading, err);
    if (st != GPM_OK) return st;
    if (!ask_dated(q)) return posterior_query(&d->post, *reading, out, err);
    st = sketch_make(&p, d, RUN_DRAWS, err);
    if (st == GPM_OK) {
        *out = ask_sketch(q, &p);
        sketch_release(&p);
    }
    return st;
}
