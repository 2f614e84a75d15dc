/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of times: finding their pattern, reading by it. One text is in times_text.c, writing in
 * times_print.c.
 */
#include "table/times.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "table/amounts.h"
#include "table/times_int.h"
#include <math.h>
#include <string.h>
/* ---- the pattern of a column ---- */

/* In the order of preference among those that read a column alike. */
static const char *const dates[] = {
    "%Y-%m-%d",     "%Y/%m/%d",     "%Y.%m.%d",     "%Y%m%d",         "%d/%m/%Y",    "%m/%d/%Y",
    "%d.%m.%Y",     "%d-%m-%Y",     "%m-%d-%Y",     "%d-%b-%Y",       "%d %b %Y",    "%d. %b %Y",
    "%d/%b/%Y",     "%b %d %Y",     "%b %d, %Y",    "%b-%d-%Y",       "%Y-%b-%d",    "%Y %b %d",
    "%d%b%Y",       "%d/%m/%y",     "%m/%d/%y",     "%y/%m/%d",       "%d.%m.%y",    "%d-%m-%y",
    "%m-%d-%y",     "%y-%m-%d",     "%d-%b-%y",     "%d %b %y",       "%Y%b%d",      "%a %d %b %Y",
    "%a, %d %b %Y", "%a %b %d %Y",  "%a %b %d, %Y", "%a, %b %d, %Y",  "%a %d/%m/%Y", "%a %m/%d/%Y",
    "%a %d.%m.%Y",  "%a, %d.%m.%Y", "%a %Y-%m-%d",  "%d de %b de %Y", "%d de %b %Y",
};
/* Clocks, and the ends of ranges. */
static const char *const clocks[] = {
    "T%T",
    " %T",
    "T%T%z",
    " %T%z",
    " %T %z",
    "T%H%M%S",
    "T%H%M%S%z",
    " %I:%M %p",
    " %I:%M%p",
    " %I:%M:%S %p",
    " %I:%M:%S%p",
    " %I:%M %p %z",
    " %I:%M:%S %p %z",
    "/%e",
    " - %e",
    "-%e",
    " \xe2\x80\x93 %e",
    "\xe2\x80\x93%e",
    " to %e",
    ", %T",
    " %H",
    "T%H",
    ":%T", /* 01/Jan/2001:12:00:00 */
};
static const char *const wholes[] = {
    "%Y-%m",    "%Y/%m",    "%YM%m",    "%Y-M%m",
    "%Y:%m",    "%b %Y",    "%b-%Y",    "%b/%Y",
    "%b, %Y",   "%Y %b",    "%Y-%b",    "%Y/%b",
    "%Y%b",     "%b%Y",     "%m/%Y",    "%m-%Y",
    "%b-%y",    "%b de %Y", "%YH%h",    "%Y-H%h",
    "%Y H%h",   "%Y/H%h",   "H%h %Y",   "H%h-%Y",
    "H%h/%Y",   "H%h%Y",    "%hH%Y",    "%hH %Y",
    "H%h '%y",  "%hH%y",    "%YS%h",    "%Y-S%h",
    "%Y S%h",   "%Y/S%h",   "S%h %Y",   "S%h-%Y",
    "S%h/%Y",   "S%h%Y",    "%hS%Y",    "%hS %Y",
    "%YQ%q",    "%Y-Q%q",   "%Y Q%q",   "%Y/Q%q",
    "%Y:Q%q",   "%Y:%q",    "Q%q %Y",   "Q%q-%Y",
    "Q%q/%Y",   "Q%q%Y",    "%qQ%Y",    "%qQ %Y",
    "%G-W%V",   "%GW%V",    "%G W%V",   "%G-W%V-%u",
    "%GW%V%u",  "KW %V/%G", "KW%V/%G",  "KW %V %G",
    "KW%V %G",  "%G-KW%V",  "%G KW%V",  "%G KW %V",
    "%G/KW%V",  "Q%q '%y",  "Q%q'%y",   "Q%q %y",
    "Q%q-%y",   "Q%q/%y",   "%qQ%y",    "%qQ %y",
    "%qQ'%y",   "FY%YQ%q",  "FY%Y Q%q", "FY%Y-Q%q",
    "FY%yQ%q",  "FY%y Q%q", "FY%y-Q%q", "Q%q FY%Y",
    "Q%q FY%y", "Q%qFY%Y",  "Q%qFY%y",  "Q%q-FY%Y",
    "Q%q-FY%y", "FY%Y",     "FY %Y",    "FY%y",
    "FY'%y",    "%Y-%n",    "%Y/%n",    "%Y\xe2\x80\x93%n",
    "FY%Y-%n",  "FY%Y/%n",  "FY %Y-%n", "FY %Y/%n",
};

struct candidate {
    char *pattern;
    size_t n; /* cells that it reads */
};
struct finding {
    VEC(struct candidate) at;
    const char *const *cells;
    size_t n;
};

static void consider(struct finding *f, const char *a, const char *b) {
    struct buf pattern = BUF_INIT;
    buf_printf(&pattern, "%s%s", a, b);
    for (size_t i = 0; i < f->at.n; i++)
        if (!strcmp(f->at.at[i].pattern, pattern.data)) {
            buf_release(&pattern);
            return;
        }
    vec_push(&f->at, ((struct candidate){.pattern = buf_take(&pattern)}));
}

/* Every pattern that reads this cell. */
static void consider_cell(struct finding *f, const char *cell) {
    struct time_parts t;
    double x;
    for (size_t i = 0; i < COUNT_OF(wholes); i++)
        if (time_read_by(wholes[i], cell, &x, &t)) consider(f, wholes[i], "");
    for (size_t i = 0; i < COUNT_OF(dates); i++) {
        if (!time_match_start(dates[i], cell, &t, NULL)) continue;
        if (time_read_by(dates[i], cell, &x, &t)) consider(f, dates[i], "");
        for (size_t k = 0; k < COUNT_OF(clocks); k++) {
            struct buf both = BUF_INIT;
            buf_printf(&both, "%s%s", dates[i], clocks[k]);
            if (time_read_by(both.data, cell, &x, &t)) consider(f, dates[i], clocks[k]);
            buf_release(&both);
        }
    }
}

/* Keeps the candidates that read the most of every step-th cell. */
static void keep_best(struct finding *f, size_t step) {
    size_t most = 0, kept = 0;
    struct time_parts t;
    double x;
    for (struct candidate *c = f->at.at; c < f->at.at + f->at.n; c++) {
        c->n = 0;
        for (size_t i = 0; i < f->n; i += step)
            c->n += f->cells[i] && time_read_by(c->pattern, f->cells[i], &x, &t);
        if (c->n > most) most = c->n;
    }
    for (size_t i = 0; i < f->at.n; i++) {
        if (f->at.at[i].n == most)
            f->at.at[kept++] = f->at.at[i];
        else
            mem_free(f->at.at[i].pattern);
    }
    f->at.n = kept;
}

/* The first cell that two patterns read differently, or NULL. */
static const char *disputed(const struct finding *f, const char *a, const char *b) {
    struct time_parts t;
    double x, y;
    for (size_t i = 0; i < f->n; i++)
        if (f->cells[i] && time_read_by(a, f->cells[i], &x, &t) &&
            time_read_by(b, f->cells[i], &y, &t) && x != y)
            return f->cells[i];
    return NULL;
}

/* Days between neighbours of which one reading makes more than a day, of times that are parts of
 * one: 05/01 23:55 and 05/02 00:00 are five minutes apart, not a month. */
static size_t count_jumps(const struct finding *f, const char *pattern, double *mean) {
    struct time_parts t;
    double x, last = NAN, sum = 0;
    size_t jumps = 0, n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->cells[i] || !time_read_by(pattern, f->cells[i], &x, &t)) continue;
        if (n++) jumps += fabs(x - last) > 1, sum += fabs(x - last);
        last = x;
    }
    *mean = n > 1 ? sum / (double)(n - 1) : 0;
    return jumps;
}

/* Where one reading of times has no jump, those that have some are given up. */
static void keep_steady(struct finding *f) {
    size_t kept = 0;
    double mean;
    bool steady = false, *jumps = NEW_ARRAY(bool, f->at.n + 1);
    for (size_t i = 0; i < f->at.n; i++) {
        jumps[i] = count_jumps(f, f->at.at[i].pattern, &mean) > 0;
        steady |= !jumps[i] && mean > 0 && mean < 0.5;
    }
    for (size_t i = 0; i < f->at.n && steady; i++)
        if (jumps[i])
            mem_free(f->at.at[i].pattern);
        else
            f->at.at[kept++] = f->at.at[i];
    if (steady) f->at.n = kept;
    mem_free(jumps);
}

static enum gpm_status ask(const struct finding *f, struct buf *err) {
    const char *first = f->at.at[0].pattern;
    for (size_t k = 1; k < f->at.n; k++) {
        const char *other = f->at.at[k].pattern, *cell = disputed(f, first, other);
        if (!cell) continue;
        buf_printf(err, "the times are ambiguous: '%.40s' is ", cell);
        for (int i = 0; i < 2; i++) {
            const char *pattern = i ? other : first;
            struct time_form form = {.kind = time_pattern_kind(pattern)};
            struct time_parts t;
            double x;
            if (!time_read_by(pattern, cell, &x, &t)) continue;
            buf_puts(err, i ? " or " : "");
            time_print_iso(&form, x, err);
            buf_printf(err, " with --date-format '%s'", pattern);
        }
        return buf_fail(err, GPM_E_FORMAT, "; say which");
    }
    return GPM_OK;
}

/* ---- columns of numbers that are dates ---- */

/* Every cell in [lo, hi] and readable by the pattern. */
static bool all_read(const struct finding *f, double lo, double hi, const char *pattern) {
    struct time_parts t;
    double x, v;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->cells[i]) continue;
        if (!time_number(f->cells[i], &v) || !(v >= lo && v <= hi)) return false;
        if (!time_read_by(pattern, f->cells[i], &x, &t)) return false;
        n++;
    }
    return n > 1;
}

/* More different numbers than a year has months: running ones would have met a 13th month. */
static bool many_months(const struct finding *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->cells[i] && (!i || !f->cells[i - 1] || strcmp(f->cells[i], f->cells[i - 1]));
    return n > 12;
}

/* 201952, 202001: years and their weeks, over the turn of a year at least; running numbers would
 * not leave out what lies between. */
static bool year_weeks(const struct finding *f) {
    const char *first = NULL;
    bool turns = false, late = false;
    if (!all_read(f, 180001, 220053, "%G%V")) return false;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->cells[i]) continue;
        if (!first) first = f->cells[i];
        turns |= strncmp(first, f->cells[i], 4) != 0;
        late |= strcmp(f->cells[i] + 4, "12") > 0;
    }
    return turns && late && many_months(f);
}

/* Months and years with a point between, 01.2019 or 2019.01, which are numbers, too: every one has
 * `digits` of them after the point, a month and a year from 1800 to 2200. Cells that are not
 * numbers are handled elsewhere. */
static bool point_months(const struct finding *f, const char *pattern, size_t digits) {
    struct time_parts t;
    double x, v;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->cells[i] || !time_number(f->cells[i], &v)) continue;
        const char *point = strchr(f->cells[i], '.');
        if (!point || strlen(point + 1) != digits) return false;
        if (!time_read_by(pattern, f->cells[i], &x, &t) || x < 1800 || x > 2200) return false;
        n++;
    }
    return n > 2;
}

/* The number of seconds from 1973 to 2103 has nine or ten digits, of milliseconds three more. */
static const char *number_pattern(const struct finding *f) {
    if (all_read(f, 18000101, 22001231, "%Y%m%d")) return "%Y%m%d";
    if (all_read(f, 180001, 220012, "%Y%m") && many_months(f)) return "%Y%m";
    if (year_weeks(f)) return "%G%V";
    if (point_months(f, "%m.%Y", 4)) return "%m.%Y";
    if (point_months(f, "%Y.%m", 2) && many_months(f)) return "%Y.%m";
    if (all_read(f, 18000101000000, 22001231235959, "%Y%m%d%H%M%S")) return "%Y%m%d%H%M%S";
    if (all_read(f, 1e8, 4.2e9, "unix")) return "unix";
    if (all_read(f, 1e11, 4.2e12, "unix-ms")) return "unix-ms";
    if (all_read(f, 1e14, 4.2e15, "unix-us")) return "unix-us";
    if (all_read(f, 1e17, 4.2e18, "unix-ns")) return "unix-ns";
    return "number";
}

/* 2001/02, 2002/03: months of years that are each one more, or years from one into the next. Three
 * that are so are no months. */
static const char *into_next(const struct finding *f) {
    for (size_t i = 0; i < f->at.n; i++)
        if (f->at.at[i].n > 2 && time_has(f->at.at[i].pattern, "n")) return f->at.at[i].pattern;
    return NULL;
}

/* All cells are hours, minutes and seconds, and not clock times, which restart every day. */
static bool all_elapsed(const struct finding *f) {
    double x, before = -1;
    bool descends = false, beyond = false;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->cells[i]) continue;
        if (!time_read_elapsed(f->cells[i], &x)) return false;
        descends |= x < before;
        beyond |= x >= 24;
        before = x;
        n++;
    }
    return n > 1 && (beyond || !descends);
}

static enum gpm_status find_pattern(struct finding *f, const char **out, struct buf *err) {
    size_t numbers = 0, cells = 0, step = f->n / 200 + 1;
    double v;
    for (size_t i = 0; i < f->n; i++) {
        cells += f->cells[i] != NULL;
        numbers += f->cells[i] && time_number(f->cells[i], &v);
    }
    *out = "number";
    if (2 * numbers >= cells) {
        *out = number_pattern(f);
        return GPM_OK;
    }
    for (size_t i = 0; i < f->n; i += step)
        if (f->cells[i]) consider_cell(f, f->cells[i]);
    if (f->at.n == 0 && all_elapsed(f)) *out = "elapsed";
    if (f->at.n == 0) return GPM_OK;
    if (step > 1 && f->at.n > 1) keep_best(f, step);
    keep_best(f, 1);
    *out = into_next(f);
    if (*out) return GPM_OK;
    if (f->at.n > 1) keep_steady(f);
    *out = f->at.at[0].pattern;
    return ask(f, err);
}

/* ---- the column ---- */

static bool sound_pattern(const char *p) {
    const char *next;
    if (!strcmp(p, "number") || !strcmp(p, "elapsed") || time_unix_unit(p) > 0) return true;
    if (!time_has(p, "YyG")) return false;
    uint32_t code;
    for (size_t i = 0, n = strlen(p), len; i < n; i += len) { /* times are shown */
        len = utf8_decode(p + i, n - i, &code);
        if (!len || utf8_steers(code)) return false;
    }
    for (; *p; p++) {
        char c = time_directive(p, &next);
        if (*p == '%' && (!c || !strchr("YyGmbhdnaqVuHIMSTpze", c))) return false;
        if (c) p = next - 1;
    }
    return true;
}

static enum gpm_status check_given(const char *given, struct buf *err) {
    if (sound_pattern(given)) return GPM_OK;
    return buf_fail(
        err, GPM_E_FORMAT,
        "'%s' is no date format: write number, unix, unix-ms, unix-us, unix-ns, excel, elapsed, or "
        "a "
        "pattern with a year of %%Y %%y %%G and %%m %%b %%h %%d %%e %%a %%n %%q %%V %%u %%H %%I "
        "%%M "
        "%%S %%T %%p %%z, such as %%d/%%m/%%Y",
        given);
}

/* %d becomes %-d where some cell writes it with one digit; a letter before a directive has the case
 * of the example. */
static void set_style(struct time_form *f, const bool *bare) {
    struct buf out = BUF_INIT;
    struct time_parts t;
    const char *next, *spans[TIME_DIRECTIVES] = {NULL};
    size_t k = 0;
    (void)time_match_start(f->pattern, f->like, &t, spans);
    for (const char *p = f->pattern; *p;) {
        char c = time_directive(p, &next);
        if (!c) {
            buf_putc(&out, *p++);
            continue;
        }
        bool seen = k < TIME_DIRECTIVES && spans[k];
        if (seen && spans[k] > f->like && out.len && ascii_alpha(p[-1]) &&
            ascii_alpha(spans[k][-1]))
            if (p - f->pattern == 1 || p[-2] != '%') out.data[out.len - 1] = spans[k][-1];
        buf_printf(&out, seen && bare[k] && strchr("mdHIMV", c) ? "%%-%c" : "%%%c", c);
        k++;
        p = next;
    }
    mem_free(f->pattern);
    f->pattern = buf_take(&out);
}

/* The languages that all names of months are of, or English; all where there are no names. */
static unsigned languages_of(const char *pattern, size_t n, const char *const *cells,
                             const double *x) {
    unsigned all = ~0u;
    struct time_parts t;
    for (size_t i = 0; i < n && time_has(pattern, "b"); i++)
        if (cells[i] && !isnan(x[i]) && time_match_start(pattern, cells[i], &t, NULL))
            all &= t.languages;
    return all ? all : 1;
}

/* Is the first language of these names that of all? Such a name tells how others are written. */
static bool tells(unsigned languages, unsigned all) {
    return !languages || (languages & -languages) == (all & -all);
}

static void note_style(struct time_form *f, size_t n, const char *const *cells, const double *x) {
    unsigned all =
        f->kind == TIME_NUMBER || f->kind == TIME_UNIX ? 0 : languages_of(f->pattern, n, cells, x);
    bool told = false; /* the example tells the language */
    bool bare[TIME_DIRECTIVES] = {false}, any = false;
    struct time_parts t;
    for (size_t i = 0; i < n; i++) {
        const char *spans[TIME_DIRECTIVES];
        if (!cells[i] || isnan(x[i])) continue;
        memset(spans, 0, sizeof spans);
        t.languages = 0;
        if (all) (void)time_match_start(f->pattern, cells[i], &t, spans);
        bool better = tells(t.languages, all);
        if (!f->like || better > told || (better == told && strlen(cells[i]) > strlen(f->like))) {
            mem_free(f->like);
            f->like = mem_strdup(cells[i]);
            told = better;
        }
        if (!all) continue;
        f->zones |= any && t.zone != f->zone;
        f->zone = t.zone;
        any = true;
        for (int k = 0; k < TIME_DIRECTIVES && spans[k]; k++)
            bare[k] |= ascii_digit(spans[k][0]) && !ascii_digit(spans[k][1]);
    }
    if (f->zones) f->zone = 0;
    if (any) set_style(f, bare);
}

enum gpm_status times_read(struct time_form *f, const char *given, size_t n,
                           const char *const *cells, double *x, struct buf *err) {
    struct finding finding = {.cells = cells, .n = n};
    const char *pattern = given;
    struct number_style style = {0};
    struct time_parts t;
    enum gpm_status st = given ? check_given(given, err) : find_pattern(&finding, &pattern, err);
    memset(f, 0, sizeof *f);
    if (st == GPM_OK) {
        f->pattern = mem_strdup(pattern);
        f->kind = time_pattern_kind(pattern);
        f->found = !given;
        if (f->kind == TIME_NUMBER) number_style_find(n, cells, 0, &style);
        for (size_t i = 0; i < n; i++) {
            bool ok = cells[i] && (time_read_by(pattern, cells[i], &x[i], &t) ||
                                   (f->kind == TIME_NUMBER && style.decimal == ',' &&
                                    number_style_read(&style, cells[i], &x[i])));
            if (!ok) x[i] = NAN;
        }
        note_style(f, n, cells, x);
        if (time_has(pattern, "z")) st = time_zones_check(pattern, n, cells, x, err);
        if (st != GPM_OK) time_form_release(f);
    }
    for (size_t i = 0; i < finding.at.n; i++) mem_free(finding.at.at[i].pattern);
    vec_release(&finding.at);
    return st;
}

enum gpm_status time_form_of(const char *example, struct time_form *f) {
    double x;
    struct buf err = BUF_INIT;
    enum gpm_status st = times_read(f, NULL, 1, &example, &x, &err);
    if (st == GPM_OK && isnan(x)) {
        time_form_release(f);
        st = GPM_E_FORMAT;
    }
    buf_release(&err);
    return st;
}

enum gpm_status time_read(const struct time_form *f, const char *text, double *x) {
    struct time_parts t;
    const char *pattern = f->pattern ? f->pattern : time_usual_pattern(f->kind);
    if (time_read_by(pattern, text, x, &t)) return GPM_OK;
    struct time_form other; /* a day is an instant, too */
    if (!time_dated(f) || time_form_of(text, &other) != GPM_OK) return GPM_E_FORMAT;
    bool alike = other.kind == f->kind || (f->kind >= TIME_DATE && other.kind >= TIME_DATE);
    bool read = alike && time_read_by(other.pattern, text, x, &t);
    time_form_release(&other);
    return read ? GPM_OK : GPM_E_FORMAT;
}

bool time_is_year(const char *text) {
    double v;
    return time_number(text, &v) && v >= 1000 && v <= 2200 && v == floor(v);
}

int time_month(const char *text) {
    int month = 0;
    unsigned languages;
    return month_read(&text, &month, &languages) && !*text ? month : 0;
}

bool time_is_one(const char *text) {
    struct finding f = {.cells = &text, .n = 1};
    double v;
    if (time_number(text, &v)) return true;
    consider_cell(&f, text);
    bool found = f.at.n > 0;
    for (size_t i = 0; i < f.at.n; i++) mem_free(f.at.at[i].pattern);
    vec_release(&f.at);
    return found;
}

void time_form_release(struct time_form *f) {
    mem_free(f->pattern);
    mem_free(f->like);
    memset(f, 0, sizeof *f);
}

struct time_form time_form_copy(const struct time_form *f) {
    struct time_form c = *f;
    c.pattern = f->pattern ? mem_strdup(f->pattern) : NULL;
    c.like = f->like ? mem_strdup(f->like) : NULL;
    return c;
}

void time_form_days(struct time_form *f) {
    char *p = f->pattern, *end = p ? p + strlen(p) : NULL;
    const char *next;
    for (char *q = p; q && q < end; q++)
        if (*q == '%' && strchr("HIT", time_directive(q, &next))) end = q;
    while (p && end > p && strchr(" T,:", end[-1])) end--;
    if (p) *end = 0;
    if (p && !time_has(p, "d")) p = NULL; /* the clock stood first */
    struct time_parts t;
    const char *rest = p && f->like ? time_match_start(p, f->like, &t, NULL) : NULL;
    if (rest) f->like[rest - f->like] = 0;
    if (!p) {
        time_form_release(f);
        f->pattern = mem_strdup("%Y-%m-%d");
    }
    f->kind = TIME_DATE;
    f->zone = 0;
    f->zones = false;
}

bool time_dated(const struct time_form *f) {
    return f->kind != TIME_NUMBER && f->kind != TIME_YEAR;
}

bool time_elapsed(const struct time_form *f) {
    return f->kind == TIME_NUMBER && f->pattern && !strcmp(f->pattern, "elapsed");
}
