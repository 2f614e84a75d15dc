/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads questions (ask.h). An error says what was expected, at which letter, and what comes near.
 */
#include "apps/ask/ask.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/units.h"
#include "table/times.h"
#include <math.h>
#include <string.h>

#define DEPTH_MAX 100

const struct ask_row ask_rows[ASK_NAMES] = {
    [ASK_RISES] = {"rises", ASK_INTERVAL | ASK_FROM,
                   "the level rises: over an interval, from a date on, or in a part of the data"},
    [ASK_FALLS] = {"falls", ASK_INTERVAL | ASK_FROM, "the same downwards"},
    [ASK_LINEAR] = {"linear", ASK_INTERVAL,
                    "a straight line is part of the level; (throughout): without a bend"},
    [ASK_PERIODIC] = {"periodic", ASK_INTERVAL | ASK_FROM | ASK_UNTIL | ASK_PERIOD,
                      "something repeats: in most of an interval, throughout, or at some time; "
                      "from=, until=: it begins or ends around a date"},
    [ASK_SWING_GROWS] = {"swing_grows", ASK_INTERVAL | ASK_PERIOD,
                         "what repeats grows by and by over the interval"},
    [ASK_SWING_SHRINKS] = {"swing_shrinks", ASK_INTERVAL | ASK_PERIOD, "what repeats shrinks"},
    [ASK_NOISE_GROWS] = {"noise_grows", ASK_INTERVAL, "the noise grows by and by"},
    [ASK_NOISE_SHRINKS] = {"noise_shrinks", ASK_INTERVAL, "the noise shrinks by and by"},
    [ASK_JUMPS] = {"jumps", ASK_INTERVAL | ASK_SIZE | ASK_DIRECTION,
                   "the level jumps within the interval, by at least a size"},
    [ASK_SMOOTH] = {"smooth", 0, "what moves the level is a smooth function"},
    [ASK_RANDOM_WALK] = {"random_walk", 0, "what moves the level is a random walk or the like"},
    [ASK_PURE_NOISE] = {"pure_noise", 0, "there is nothing but noise of one size"},
    [ASK_VALUE] = {"value", ASK_DATE | ASK_BOUND,
                   "the level at a date, without what repeats: value(1990) > 5"},
    [ASK_SHARE] = {"share", ASK_KIND | ASK_BOUND, "a share of the variance: share(periodic) > 0.5"},
};
const char *const ask_kinds[SKETCH_KINDS] = {"line",  "smooth",   "rough",
                                             "drift", "periodic", "noise"};

struct ask_parser {
    const char *text, *at;
    struct arena *a;
    struct buf *err;
    int depth;
};

static void *wrong(struct ask_parser *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void *wrong(struct ask_parser *s, const char *fmt, ...) {
    va_list ap;
    if (s->err->len) return NULL; /* the first one counts */
    buf_printf(s->err, "in the question '%s', at letter %zu, ", s->text,
               (size_t)(s->at - s->text) + 1);
    va_start(ap, fmt);
    buf_vprintf(s->err, fmt, ap);
    va_end(ap);
    return NULL;
}

static char peek(struct ask_parser *s) {
    while (ascii_space(*s->at)) s->at++;
    return *s->at;
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (ascii_name(p[n])) n++;
    return n;
}

static bool is_word(const char *p, size_t n, const char *name) {
    return n == strlen(name) && !ascii_ncasecmp(p, name, n);
}

static bool take(struct ask_parser *s, char sign, const char *name) {
    char c = peek(s);
    size_t n = word_length(s->at);
    if (c == sign || (sign == '!' && c == '~')) {
        s->at += 1 + (s->at[1] == c && c != '!');
        return true;
    }
    if (!is_word(s->at, n, name)) return false;
    s->at += n;
    return true;
}

static struct ask *node(struct ask_parser *s, enum ask_op op, struct ask *a, struct ask *b) {
    struct ask *q = ARENA_NEW(s->a, struct ask);
    *q = (struct ask){.op = op, .a = a, .b = b};
    return q;
}

/* ---- dates and numbers ---- */
static bool read_number(struct ask_parser *s, const char *text, double *v) {
    if (number_parse(text, strlen(text), v) && isfinite(*v)) return true;
    wrong(s, "expected a number instead of '%s'", text);
    return false;
}

static bool read_date(struct ask_parser *s, const char *text, struct ask_date *d) {
    struct time_form f;
    double x;
    if (number_parse(text, strlen(text), &x) && isfinite(x)) {
        *d = (struct ask_date){x, strchr(text, '.') ? 0.25 : 1, x};
        return true;
    }
    if (time_form_of(text, &f) == GPM_OK) {
        bool ok = time_read(&f, text, &x) == GPM_OK;
        bool years = f.kind == TIME_YEAR || f.kind == TIME_MONTH || f.kind == TIME_QUARTER;
        *d = (struct ask_date){years ? x : 1970 + x / DAYS_PER_YEAR,
                               f.kind == TIME_MONTH     ? 1 / 12.0
                               : f.kind == TIME_QUARTER ? 0.25
                                                        : 1 / DAYS_PER_YEAR,
                               NAN};
        time_form_release(&f);
        if (ok) return true;
    }
    wrong(s, "expected a date (1988, 1988.5, 1988-03, 1988-03-15) instead of '%s'", text);
    return false;
}

/* A number, perhaps with a unit of the calendar; *years says that it was one. */
static bool read_period(struct ask_parser *s, char *text, double *v, bool *years) {
    size_t n = strlen(text), u = n;
    while (u > 0 && ascii_alpha(text[u - 1])) u--;
    const struct time_unit *unit = unit_find(text + u, n - u, false);
    if (unit) {
        while (u > 0 && ascii_space(text[u - 1])) u--;
        text[u] = 0;
        if (!read_number(s, text, v)) return false;
        *v *= unit->years;
        *years = true;
        return true;
    }
    if (u < n) {
        wrong(s, "expected a unit (years, months, weeks, days, hours) instead of '%s'", text + u);
        return false;
    }
    return read_number(s, text, v);
}

/* ---- arguments ---- */
static char *trimmed(struct ask_parser *s, const char *from, const char *to) {
    while (from < to && ascii_space(*from)) from++;
    while (to > from && ascii_space(to[-1])) to--;
    return arena_strndup(s->a, from, (size_t)(to - from));
}

/* What stands behind "name" and one of the signs, or behind the word and a blank. */
static char *behind(struct ask_parser *s, char *arg, const char *name, const char *signs) {
    size_t n = word_length(arg);
    if (!is_word(arg, n, name)) return NULL;
    char *p = arg + n;
    while (ascii_space(*p)) p++;
    if (*signs) {
        if (!*p || !strchr(signs, *p)) return NULL;
        p += 1 + (p[0] == '>' && p[1] == '=');
    }
    return *p ? trimmed(s, p, p + strlen(p)) : NULL;
}

static bool read_interval(struct ask_parser *s, char *arg, char *dots, struct ask_predicate *q) {
    char *a = trimmed(s, arg, dots), *b = trimmed(s, dots + 2, dots + strlen(dots));
    q->given |= ASK_INTERVAL;
    q->open_from = !*a;
    q->open_to = !*b;
    if (!*a && !*b) {
        wrong(s, "expected a date before or behind '..'");
        return false;
    }
    if ((*a && !read_date(s, a, &q->from)) || (*b && !read_date(s, b, &q->to))) return false;
    if (*a && *b && !(q->from.at < q->to.at)) {
        wrong(s, "the interval '%s' ends before it begins", arg);
        return false;
    }
    return true;
}

static bool read_periods(struct ask_parser *s, char *text, struct ask_predicate *q) {
    char *dots = strstr(text, "..");
    q->given |= ASK_PERIOD;
    if (!dots) {
        if (!read_period(s, text, &q->period_from, &q->period_years)) return false;
        q->period_to = 1.1 * q->period_from;
        q->period_from *= 0.9;
        return true;
    }
    char *a = trimmed(s, text, dots), *b = trimmed(s, dots + 2, dots + strlen(dots));
    if (!read_period(s, b, &q->period_to, &q->period_years)) return false;
    bool unit = false;
    if (!read_period(s, a, &q->period_from, &unit)) return false;
    if (q->period_years && !unit) { /* "10..14 months": the unit is that of both */
        char *both = arena_strndup(s->a, a, strlen(a) + 0);
        struct buf t = BUF_INIT;
        const char *word = dots + strlen(dots);
        while (word > dots && (ascii_alpha(word[-1]))) word--;
        buf_printf(&t, "%s %s", both, word);
        char *again = arena_strndup(s->a, t.data, t.len);
        buf_release(&t);
        if (!read_period(s, again, &q->period_from, &unit)) return false;
    }
    return true;
}

static bool read_argument(struct ask_parser *s, char *arg, struct ask_predicate *q) {
    char *v, *dots = strstr(arg, "..");
    int takes = ask_rows[q->name].takes;
    size_t n = word_length(arg);
    if (takes & ASK_PERIOD && (v = behind(s, arg, "period", "="))) return read_periods(s, v, q);
    if (takes & ASK_FROM && (v = behind(s, arg, "from", "="))) {
        q->given |= ASK_FROM;
        return read_date(s, v, &q->from);
    }
    if (takes & ASK_UNTIL && (v = behind(s, arg, "until", "="))) {
        q->given |= ASK_UNTIL;
        return read_date(s, v, &q->to);
    }
    if (takes & ASK_SIZE && (v = behind(s, arg, "size", ">"))) {
        q->given |= ASK_SIZE;
        return read_number(s, v, &q->size);
    }
    if (takes & ASK_DIRECTION && (is_word(arg, strlen(arg), "up") || is_word(arg, n, "down"))) {
        q->given |= ASK_DIRECTION;
        *(is_word(arg, n, "up") ? &q->up : &q->down) = true;
        return true;
    }
    if (takes & ASK_INTERVAL) {
        if (is_word(arg, strlen(arg), "throughout")) {
            q->given |= ASK_INTERVAL;
            return q->throughout = true;
        }
        if (dots) return read_interval(s, arg, dots, q);
        bool before = (v = behind(s, arg, "before", "")) != NULL;
        if (before || (v = behind(s, arg, "after", ""))) {
            q->given |= ASK_INTERVAL;
            q->open_from = before;
            q->open_to = !before;
            return read_date(s, v, before ? &q->to : &q->from);
        }
    }
    if (takes & ASK_DATE) {
        q->given |= ASK_DATE;
        return read_date(s, arg, &q->from);
    }
    if (takes & ASK_KIND) {
        const char *near = suggest_nearest(arg, ask_kinds, SKETCH_KINDS);
        for (int k = 0; k < SKETCH_KINDS; k++)
            if (is_word(arg, strlen(arg), ask_kinds[k])) {
                q->given |= ASK_KIND;
                q->kind = k;
                return true;
            }
        wrong(s, "expected line, smooth, rough, drift, periodic or noise instead of '%s'%s%s%s",
              arg, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return false;
    }
    struct buf may = BUF_INIT;
    static const struct {
        int bit;
        const char *form;
    } forms[] = {{ASK_INTERVAL, "1970..1980, before 1970, after 1980, throughout"},
                 {ASK_FROM, "from=1968"},
                 {ASK_UNTIL, "until=1970"},
                 {ASK_PERIOD, "period=10..14 months"},
                 {ASK_SIZE, "size>2"},
                 {ASK_DIRECTION, "up, down"}};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (takes & forms[i].bit) buf_printf(&may, "%s%s", may.len ? ", " : "", forms[i].form);
    wrong(s, "%s() does not take '%s'; it takes %s", ask_rows[q->name].name, arg,
          may.len ? may.data : "nothing");
    buf_release(&may);
    return false;
}

static bool read_arguments(struct ask_parser *s, struct ask_predicate *q) {
    if (peek(s) == ')') return true;
    for (;;) {
        const char *end = s->at + strcspn(s->at, ",()");
        char *arg = trimmed(s, s->at, end);
        if (*end != ',' && *end != ')') {
            s->at = end;
            wrong(s, "expected ')'");
            return false;
        }
        if (!*arg) {
            wrong(s, "expected an argument");
            return false;
        }
        if (!read_argument(s, arg, q)) return false;
        s->at = end;
        if (*end == ')') return true;
        s->at++;
    }
}

/* "> 5", "< 0.2" behind value(...) and share(...) */
static bool read_bound(struct ask_parser *s, struct ask_predicate *q) {
    char c = peek(s);
    if (c != '<' && c != '>') {
        wrong(s, "expected '>' or '<' and a number, as in %s",
              q->name == ASK_VALUE ? "value(1990) > 5" : "share(periodic) > 0.5");
        return false;
    }
    q->below = c == '<';
    s->at += 1 + (s->at[1] == '=');
    peek(s);
    const char *end = s->at + strcspn(s->at, " &|)\t\n");
    if (!read_number(s, trimmed(s, s->at, end), &q->bound)) return false;
    s->at = end;
    return true;
}

static struct ask *parse_predicate(struct ask_parser *s, enum ask_name name, size_t len) {
    struct ask *q = node(s, ASK_PREDICATE, NULL, NULL);
    int must = ask_rows[name].takes & (ASK_DATE | ASK_KIND);
    q->p.name = name;
    s->at += len;
    peek(s);
    s->at++;
    if (!read_arguments(s, &q->p)) return NULL;
    if ((q->p.given & must) != must)
        return wrong(s, "expected %s",
                     must & ASK_DATE ? "a date, as in value(1990) > 5"
                                     : "a kind of component, as in share(periodic) > 0.5");
    s->at++;
    if (ask_rows[name].takes & ASK_BOUND && !read_bound(s, &q->p)) return NULL;
    return q;
}

/* ---- the rest ---- */
static bool operator_here(const char *p) {
    size_t n = word_length(p);
    return strchr("&|", *p) || is_word(p, n, "and") || is_word(p, n, "or");
}

/* A question about structures reaches to the next operator or to a bracket that it did not open. */
static struct ask *parse_structure(struct ask_parser *s) {
    const char *from = s->at, *p = from;
    int open = 0;
    while (*p && !(open == 0 && (*p == ')' || operator_here(p)))) {
        open += (*p == '(') - (*p == ')');
        size_t n = word_length(p);
        p += n ? n : 1;
    }
    char *text = trimmed(s, from, p);
    if (!*text)
        return wrong(s, "expected a predicate such as periodic(1970..1980), or a component");
    struct kern_query *k = NULL;
    struct buf why = BUF_INIT;
    if (kern_query_parse(text, s->a, &k, &why) != GPM_OK) {
        const char *names[ASK_NAMES], *near;
        size_t n = word_length(text);
        for (int i = 0; i < ASK_NAMES; i++) names[i] = ask_rows[i].name;
        near = suggest_nearest(arena_strndup(s->a, text, n), names, ASK_NAMES);
        if (!s->err->len) /* it says where itself */
            buf_printf(s->err, "%s%s%s%s", why.data, near ? "; did you mean " : "",
                       near ? near : "", near ? "()?" : "");
        buf_release(&why);
        return NULL;
    }
    buf_release(&why);
    struct ask *q = node(s, ASK_STRUCTURE, NULL, NULL);
    q->structure = k;
    s->at = p;
    return q;
}

static struct ask *parse_or(struct ask_parser *s);

static struct ask *parse_not(struct ask_parser *s) {
    struct ask *q;
    if (++s->depth > DEPTH_MAX) return wrong(s, "nested too deeply");
    size_t n = (peek(s), word_length(s->at));
    const char *call = s->at + n;
    while (ascii_space(*call)) call++;
    if (take(s, '!', "not")) {
        q = parse_not(s);
        if (q) q = node(s, ASK_NOT, q, NULL);
    } else if (peek(s) == '(') {
        s->at++;
        q = parse_or(s);
        if (q && peek(s) != ')') q = wrong(s, "expected ')'");
        if (q) s->at++;
    } else {
        int name = ASK_NAMES;
        for (int i = 0; n && *call == '(' && i < ASK_NAMES; i++)
            if (is_word(s->at, n, ask_rows[i].name)) name = i;
        q = name < ASK_NAMES ? parse_predicate(s, (enum ask_name)name, n) : parse_structure(s);
    }
    s->depth--;
    return q;
}

static struct ask *parse_and(struct ask_parser *s) {
    struct ask *q = parse_not(s), *b;
    while (q && take(s, '&', "and")) q = (b = parse_not(s)) ? node(s, ASK_AND, q, b) : NULL;
    return q;
}

static struct ask *parse_or(struct ask_parser *s) {
    struct ask *q = parse_and(s), *b;
    while (q && take(s, '|', "or")) q = (b = parse_and(s)) ? node(s, ASK_OR, q, b) : NULL;
    return q;
}

enum gpm_status ask_parse(const char *text, struct arena *a, struct ask **out, struct buf *err) {
    struct ask_parser s = {.text = text, .at = text, .a = a, .err = err};
    *out = parse_or(&s);
    if (*out && peek(&s)) *out = wrong(&s, "expected '&', '|' or the end");
    return *out ? GPM_OK : GPM_E_FORMAT;
}
