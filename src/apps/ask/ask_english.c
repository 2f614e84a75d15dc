/* SPDX-License-Identifier: Apache-2.0
 *
 * English questions, by rules, to formal ones (ask.h). A sentence is a list of clauses joined by
 * and, or, but, commas, with, without; a clause is a set of known words and of phrases of time,
 * period and amount (ask_phrase.h). Every word is known or the question is refused: nothing is
 * skipped that could change the meaning.
 */
#include "apps/ask/ask.h"
#include "apps/ask/ask_phrase.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/suggest.h"
#include <stdint.h>
#include <string.h>

/* ---- clauses ---- */
static const char negations[] =
    "not never no neither without isn't aren't wasn't doesn't don't didn't hasn't haven't nor";

static bool connector(const struct ask_words *r) {
    return r->at >= r->n || ask_one_of(ask_peek(r, 0), "and or but nor with without , ( )");
}

/* "no longer" is "not" with a time behind it. */
static void take_negation(struct ask_words *r, struct ask_clause *c) {
    c->negated = !c->negated;
    if (!strcmp(r->word[r->at++], "no")) ask_take(r, "longer");
}

/* What comes before a property: "and is not", "there is no", "but then it". */
static void take_opening(struct ask_words *r, struct ask_clause *c) {
    for (;;)
        if (ask_one_of(ask_peek(r, 0), negations))
            take_negation(r, c);
        else if (!ask_take(r, "is are was were has have had does do did it there and shows"))
            return;
}

/* A negation further on is of the whole clause when only its subject has been named: "the noise
 * does not grow". */
static bool names_subject(int says) {
    bool swing = says & SAYS_SWING;
    return !(says & ~(SAYS_TREND | SAYS_NOISE | SAYS_SWING | (swing ? SAYS_PERIODIC : 0)));
}

static bool is_jump(int says) {
    int moved = SAYS_RISE | SAYS_FALL | SAYS_GROW | SAYS_SHRINK | SAYS_UP | SAYS_DOWN | SAYS_CHANGE;
    return says & SAYS_JUMP || (says & SAYS_SUDDEN && says & moved);
}

/* Words that no spelling would mend: of another time, or of another kind of question. */
static const char *unanswerable(const char *w) {
    if (ask_one_of(w, "will would next tomorrow soon future forecast predict"))
        return "questions are about the values that are there; of what is to come gpmem forecast "
               "tells";
    if (ask_one_of(w, "what when where why how who"))
        return "questions are those that yes or no answers; gpmem report tells what was found";
    return NULL;
}

static bool unknown_word(struct ask_words *r, const char *w) {
    const char *why = unanswerable(w), *near = why ? NULL : ask_word_near(w, &r->a);
    if (why)
        buf_printf(r->err, "the word '%s' is not known: %s", w, why);
    else
        buf_printf(r->err, "the word '%s' is not known%s%s%s", w, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
    r->failed = true;
    return false;
}

static bool read_clause(struct ask_words *r, struct ask_clause *c) {
    *c = (struct ask_clause){.negated = r->not_either};
    r->not_either = false;
    take_opening(r, c);
    size_t begin = r->at;
    while (!r->failed) {
        int says;
        const char *w = ask_peek(r, 0);
        if (!strcmp(w, "(") && ask_one_of(ask_peek(r, 1), "at")) { /* (at any time) */
            r->at++;
            if (!ask_take_time(r, c)) return ask_expected(r, "a phrase of time");
            if (!ask_take(r, ")")) return ask_expected(r, "')'");
            continue;
        }
        if (ask_take_period(r, c) || ask_take_amount(r, c) || ask_take_time(r, c)) continue;
        if (connector(r) || r->failed) break;
        if (ask_one_of(w, negations) && names_subject(c->says)) {
            take_negation(r, c);
            continue;
        }
        if (!ask_word(w, &says)) return unknown_word(r, w);
        c->says |= says;
        r->at++;
    }
    return !r->failed && (r->at > begin || ask_expected(r, "a property of a series"));
}

/* The name of the predicate that the words of a clause amount to; NULL: none. */
static const char *name_of(const struct ask_clause *c) {
    int s = c->says, up = SAYS_GROW | SAYS_RISE | SAYS_UP,
        down = SAYS_SHRINK | SAYS_FALL | SAYS_DOWN;
    if (is_jump(s)) return "jumps";
    if (c->above || c->below) return "value";
    if (s & SAYS_MOSTLY) return "share";
    if (s & SAYS_NOISE && s & up) return "noise_grows";
    if (s & SAYS_NOISE && s & down) return "noise_shrinks";
    if (s & SAYS_NOISE && s & (SAYS_PURE | SAYS_RANDOM)) return "pure_noise";
    if (s & (SAYS_SWING | SAYS_PERIODIC) && s & up) return "swing_grows";
    if (s & (SAYS_SWING | SAYS_PERIODIC) && s & down) return "swing_shrinks";
    if (s & SAYS_LINEAR && s & up) return "linear() & rises";
    if (s & SAYS_LINEAR && s & down) return "linear() & falls";
    if (s & SAYS_LINEAR) return "linear";
    if (s & up) return "rises";
    if (s & down) return "falls";
    if (s & SAYS_WALK) return "random_walk";
    if (s & SAYS_SMOOTH) return "smooth";
    if (s & SAYS_PERIODIC) return "periodic";
    if (s & (SAYS_CHANGE | SAYS_FLAT)) return "changes";
    if (s & SAYS_TREND) return "trend";
    if (s & SAYS_NOISE) return "noise";
    return NULL;
}

/* The kind of component that "mostly" is about; NULL: none. */
static const char *kind_of(int says) {
    return says & SAYS_PERIODIC                ? "periodic"
           : says & SAYS_NOISE                 ? "noise"
           : says & SAYS_SMOOTH                ? "smooth"
           : says & (SAYS_LINEAR | SAYS_TREND) ? "line"
           : says & (SAYS_WALK | SAYS_RANDOM)  ? "rough"
                                               : NULL;
}

/* Does the predicate take the argument? Of "linear() & rises" the last one does. */
static bool takes(const char *name, int argument) {
    const char *last = strrchr(name, ' ');
    for (size_t i = 0; i < COUNT_OF(ask_rows); i++)
        if (!strcmp(ask_rows[i].name, last ? last + 1 : name)) return ask_rows[i].takes & argument;
    return false;
}

/* Formal arguments, joined by commas. A predicate that has no beginning or end of its own takes
 * the interval on that side of the date. */
static void put_arguments(struct ask_words *r, const struct ask_clause *c, const char *name,
                          struct buf *out) {
    const char *interval = c->throughout ? "throughout" : c->interval;
    bool jump = is_jump(c->says);
    bool up = c->says & (SAYS_UP | SAYS_RISE | SAYS_GROW);
    bool down = c->says & (SAYS_DOWN | SAYS_FALL | SAYS_SHRINK);
    const char *from = takes(name, ASK_FROM) ? c->from : NULL;
    const char *until = takes(name, ASK_UNTIL) ? c->until : NULL;
    if (!interval && c->from && c->until && !(from && until)) {
        interval = ask_text(r, "%s..%s", c->from, c->until);
        from = until = NULL;
    } else if (!interval && c->from && !from)
        interval = ask_text(r, "after %s", c->from);
    else if (!interval && c->until && !until)
        interval = ask_text(r, "before %s", c->until);
    const char *all[] = {interval,
                         from ? ask_text(r, "from=%s", from) : NULL,
                         until ? ask_text(r, "until=%s", until) : NULL,
                         c->period ? ask_text(r, "period=%s", c->period) : NULL,
                         jump && c->above ? ask_text(r, "size>%.12g", c->amount) : NULL,
                         !jump  ? NULL
                         : up   ? "up"
                         : down ? "down"
                                : NULL};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]) buf_printf(out, "%s%s", out->len ? ", " : "", all[i]);
}

static bool put_value(struct ask_words *r, const struct ask_clause *c, struct buf *out) {
    if (!c->date) return ask_expected(r, "the date of the value (is above 5 in 1990)");
    buf_printf(out, "value(%s) %c %.12g", c->date, c->above ? '>' : '<', c->amount);
    return true;
}

static bool put_clause(struct ask_words *r, const struct ask_clause *c, const char *name,
                       struct buf *out) {
    struct buf args = BUF_INIT;
    bool flat = c->says & SAYS_FLAT && !strcmp(name, "changes"), ok = true;
    buf_puts(out, c->negated != flat ? "!" : "");
    if (!strcmp(name, "value")) return put_value(r, c, out);
    if (!strcmp(name, "share")) {
        const char *kind = kind_of(c->says);
        if (kind) buf_printf(out, "share(%s) > 0.5", kind);
        return kind || ask_expected(r, "what it mostly is (periodic, noise, smooth)");
    }
    if (c->date && !c->interval) ok = ask_expected(r, "a year, a month, a decade or an interval");
    if (is_jump(c->says) && c->below) ok = ask_expected(r, "a least size instead of a greatest");
    put_arguments(r, c, name, &args);
    const char *a = args.len ? args.data : "";
    if (!*a && (!strcmp(name, "trend") || !strcmp(name, "noise")))
        buf_puts(out, name);
    else if (!strcmp(name, "trend"))
        buf_printf(out, "(rises(%s) | falls(%s))", a, a);
    else if (!strcmp(name, "changes"))
        buf_printf(out, "(rises(%s) | falls(%s) | jumps(%s))", a, a, a);
    else if (strchr(name, '&'))
        buf_printf(out, "(%s(%s))", name, a);
    else
        buf_printf(out, "%s(%s)", name, a);
    buf_release(&args);
    return ok;
}

/* A clause that names no property is about that of the one before, "but not before"; and one that
 * names no date about what was before or after it, "until 1965 and then falls". */
static bool complete(struct ask_words *r, struct ask_clause *c, const struct ask_clause *before) {
    bool names_one = c->says || c->period || c->above || c->below;
    if (!names_one && before) {
        c->says = before->says;
        c->period = before->period;
    }
    if (!(c->before || c->after) || c->timed) return true;
    const char *date = !before ? NULL : c->before ? before->start : before->end;
    if (!date && before) date = c->before ? before->end : before->start;
    if (!date) return ask_expected(r, c->before ? "a date after 'before'" : "a date after 'after'");
    c->interval = ask_text(r, "%s %s", c->before ? "before" : "after", date);
    return c->timed = true;
}

static bool read_or(struct ask_words *r, struct buf *out);

/* "series" in "series with a trend" does not. */
static bool says_something(const struct ask_clause *c) {
    return c->says || c->period || c->above || c->below || c->timed || c->negated;
}

struct conjunction {
    struct ask_clause at[16];
    char *group[16]; /* a group in brackets instead */
    size_t n;
};

static bool read_and(struct ask_words *r, struct buf *out) {
    struct conjunction k = {.n = 0};
    do {
        if (k.n == COUNT_OF(k.at)) return ask_expected(r, "fewer clauses");
        while (ask_take(r, ", and but with")) {
        }
        struct ask_clause *c = &k.at[k.n];
        if (!strcmp(ask_peek(r, 0), "(") && !ask_one_of(ask_peek(r, 1), "at")) {
            struct buf inner = BUF_INIT;
            r->at++;
            bool ok = read_or(r, &inner);
            if (ok && !ask_take(r, ")")) ok = ask_expected(r, "')'");
            if (ok) k.group[k.n++] = ask_text(r, "(%s)", inner.data);
            buf_release(&inner);
            if (!ok) return false;
            continue;
        }
        const struct ask_clause *before = k.n && !k.group[k.n - 1] ? &k.at[k.n - 1] : NULL;
        if (!read_clause(r, c) || !complete(r, c, before)) return false;
        k.n += k.n > 0 || says_something(c) || !ask_one_of(ask_peek(r, 0), "with without");
    } while (ask_one_of(ask_peek(r, 0), ", and but nor with without"));
    r->negated = k.n && !k.group[k.n - 1] && k.at[k.n - 1].negated;
    bool last = k.n && k.at[k.n - 1].throughout;
    for (size_t i = 0; i < k.n; i++) {
        struct ask_clause *c = &k.at[i];
        if (i) buf_puts(out, " & ");
        if (k.group[i]) {
            buf_puts(out, k.group[i]);
            continue;
        }
        const char *name = name_of(c);
        if (last && !c->timed) c->throughout = true; /* "a and b throughout" is of both */
        if (!name)
            return ask_expected(r, "a property of a series (rising, periodic, smooth, noise ...)");
        if (!put_clause(r, c, name, out)) return false;
    }
    return true;
}

/* "not rising or falling" is neither: what is denied before an "or" is denied behind it, unless
 * that is a sentence of its own ("is not rising or is falling"). */
static bool denies_both(struct ask_words *r) {
    const char *w = ask_peek(r, 0);
    int says;
    return r->negated && ask_word(w, &says) && says;
}

static bool read_or(struct ask_words *r, struct buf *out) {
    struct buf first = BUF_INIT;
    bool ok = read_and(r, &first);
    while (ok && ask_take(r, "or")) {
        struct buf one = BUF_INIT;
        bool both = r->not_either = denies_both(r);
        ok = read_and(r, &one);
        buf_printf(&first, " %c %s", both ? '&' : '|', one.data ? one.data : "");
        buf_release(&one);
    }
    buf_puts(out, first.data ? first.data : "");
    buf_release(&first);
    return ok;
}

bool ask_english(const char *text, struct buf *formal, struct buf *err) {
    struct ask_words r = {.err = err};
    ask_split(&r, text);
    bool ok = !r.too_many && read_or(&r, formal);
    if (r.too_many) buf_printf(err, "it has more than %d words", ASK_WORDS_MAX);
    if (ok && r.at < r.n) ok = ask_expected(&r, "'and', 'or', 'but' or the end");
    arena_release(&r.a);
    return ok;
}

/* ---- either language ---- */
/* How many words with a meaning of their own two questions share, letters that were swapped or
 * forgotten aside. */
static unsigned words_shared(const struct ask_words *a, const struct ask_words *b) {
    unsigned n = 0;
    for (size_t i = 0; i < a->n; i++) {
        int says = 0;
        bool told = false;
        if (strlen(a->word[i]) < 4 || (ask_word(a->word[i], &says) && !says)) continue;
        for (size_t k = 0; k < b->n && !told; k++) {
            int other = 0;
            bool same = says && ask_word(b->word[k], &other) && (says & other);
            told = same || edit_distance(a->word[i], b->word[k]) <= 1 + (strlen(a->word[i]) > 6);
        }
        n += told;
    }
    return n;
}

/* The question that people ask that is nearest to the text: that with most of its words; NULL: it
 * shares none with any. */
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
                                         "drops suddenly in 1973",
                                         "rises until 1965 and then falls",
                                         "is flat after 1980",
                                         "has a period of 12 months",
                                         "is mostly noise",
                                         "is rising or periodic throughout"};
    const char *best = common[0];
    unsigned most = 0, least = ~0u;
    struct buf unused = BUF_INIT;
    struct ask_words asked = {.err = &unused};
    ask_split(&asked, text);
    for (size_t i = 0; i < COUNT_OF(common); i++) {
        struct ask_words w = {.err = &unused};
        ask_split(&w, common[i]);
        unsigned shared = words_shared(&asked, &w), d = edit_distance(text, common[i]);
        if (shared > most || (shared == most && d < least))
            most = shared, least = d, best = common[i];
        arena_release(&w.a);
    }
    arena_release(&asked.a);
    buf_release(&unused);
    return most ? best : NULL;
}

/* Signs that English has not, names of kernels (LIN, recurring_pattern) by themselves, or a call: a
 * word with a bracket right behind it. */
static bool looks_formal(const char *text) {
    if (strpbrk(text, "&|=<>*!~")) return true;
    if (!strchr(text, ' ')) {
        size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
        return text[letters] && strcmp(text + letters, "?") != 0;
    }
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
        const char *near = nearest(text);
        buf_printf(err, "the question '%s' cannot be read: %s; ", text, not_english.data);
        if (near)
            buf_printf(err, "the nearest that can: '%s'", near);
        else
            buf_puts(err, "questions are like 'is periodic during the 1990s', 'has a rising trend "
                          "starting around 1988', 'drops suddenly in 1973'");
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
    if (st != GPM_OK) return st;
    *out = ask_sketch(q, &p);
    if (ask_outside(q, &p))
        st = buf_fail(err, GPM_E_ARG,
                      "'%s' asks for the level outside of the data; of what is to come "
                      "gpmem forecast tells the values",
                      *reading);
    sketch_release(&p);
    return st;
}
