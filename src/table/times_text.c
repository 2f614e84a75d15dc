/* SPDX-License-Identifier: Apache-2.0
 *
 * One text by one pattern of times: matching it, and what was read as a number.
 */
#include "table/times.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"
#include "table/times_int.h"
#include <math.h>
#include <string.h>

/* At least `least` and at most `most` decimal digits. */
bool time_digits(const char **p, int least, int most, int *out) {
    int v = 0, n = 0;
    for (; n < most && ascii_digit((*p)[n]); n++) v = v * 10 + ((*p)[n] - '0');
    *p += n;
    *out = v;
    return n >= least;
}

const char *const time_weekdays[7] = {"monday", "tuesday",  "wednesday", "thursday",
                                      "friday", "saturday", "sunday"};

/* Three letters of it, or all; what it says is what the date says. */
static bool weekday_name(const char **p) {
    size_t n = 0;
    while (ascii_alpha((*p)[n])) n++;
    for (int i = 0; i < 7; i++) {
        if ((n != 3 && n != strlen(time_weekdays[i])) || ascii_ncasecmp(*p, time_weekdays[i], n))
            continue;
        *p += n;
        return true;
    }
    return false;
}

/* The year after that of *t, in two digits or in four: 2014-15, 2014/2015. */
static bool next_year(const char **p, const struct time_parts *t) {
    const char *s = *p;
    int year, n = ascii_digit(s[0]) && ascii_digit(s[1]) && ascii_digit(s[2]) ? 4 : 2;
    if (!time_digits(p, n, n, &year)) return false;
    return year == (n == 4 ? t->year + 1 : (t->year + 1) % 100);
}

/* second := 1 or 2 digits [('.' | ',') digits] */
static bool seconds(const char **p, double *out) {
    int s;
    if (!time_digits(p, 1, 2, &s) || s > 60) return false;
    *out = s;
    if ((**p != '.' && **p != ',') || !ascii_digit((*p)[1])) return true;
    double unit = 0.1;
    for ((*p)++; ascii_digit(**p); (*p)++, unit /= 10) *out += unit * (**p - '0');
    return true;
}

/* clock := HH ':' MM [':' second] */
static bool clock_time(const char **p, struct time_parts *t) {
    if (!time_digits(p, 1, 2, &t->hour) || *(*p)++ != ':' || !time_digits(p, 2, 2, &t->minute))
        return false;
    if (**p != ':') return true;
    (*p)++;
    return seconds(p, &t->second);
}

static bool half_of_day(const char **p, struct time_parts *t) {
    char c = ascii_lower(**p);
    if ((c != 'a' && c != 'p') || ascii_lower((*p)[1]) != 'm') return false;
    t->half = c == 'p' ? 2 : 1;
    *p += 2;
    return true;
}

/* 1er janvier: the first alone is counted. */
static bool day_of_month(const char **p, int *day) {
    if (!time_digits(p, 1, 2, day)) return false;
    if (*day == 1 && !ascii_ncasecmp(*p, "er ", 3)) *p += 2;
    return true;
}

/* Its first month. */
static bool half_of_year(const char **p, struct time_parts *t) {
    int half;
    if (!time_digits(p, 1, 1, &half) || half < 1 || half > 2) return false;
    t->month = half == 1 ? 1 : 7;
    return true;
}

static bool directive(char c, const char **p, struct time_parts *t) {
    switch (c) {
    case 'Y':
    case 'G': return time_digits(p, 4, 4, &t->year);
    case 'y':
        if (!time_digits(p, 2, 2, &t->year)) return false;
        t->year += t->year < 69 ? 2000 : 1900;
        return true;
    case 'n': return next_year(p, t);
    case 'a': return weekday_name(p);
    case 'm': return time_digits(p, 1, 2, &t->month);
    case 'b': return month_read(p, &t->month, &t->languages);
    case 'd': return day_of_month(p, &t->day);
    case 'h': return half_of_year(p, t);
    case 'q': return time_digits(p, 1, 1, &t->quarter);
    case 'V': return time_digits(p, 1, 2, &t->week);
    case 'u': return time_digits(p, 1, 1, &t->weekday);
    case 'H':
    case 'I':
        return time_digits(p, 1, 2, &t->hour) && (c == 'H' || (t->hour >= 1 && t->hour <= 12));
    case 'M': return time_digits(p, 1, 2, &t->minute);
    case 'S': return seconds(p, &t->second);
    case 'T': return clock_time(p, t);
    case 'p': return half_of_day(p, t);
    case 'z': return time_zone_read(p, t);
    default: return false;
    }
}

/* The letter of the directive at `pattern`, whose end is *next; 0: not a directive. */
char time_directive(const char *pattern, const char **next) {
    if (*pattern != '%') return 0;
    pattern += 1 + (pattern[1] == '-');
    *next = pattern + 1;
    return *pattern;
}

/* The end of a range, written as its beginning is by the first `n` characters of the pattern, and
 * not before it. */
static bool range_end(const char *pattern, size_t n, const char **text,
                      const struct time_parts *t) {
    char part[64];
    struct time_parts end;
    if (n >= sizeof part) return false;
    memcpy(part, pattern, n);
    part[n] = 0;
    *text = strchr(part, 'e') ? NULL : time_match_start(part, *text, &end, NULL);
    return *text && end.month >= 1 && end.month <= 12 && end.day >= 1 &&
           end.day <= calendar_month_length(end.year, end.month) &&
           (end.year * 12 + end.month) * 31 + end.day >= (t->year * 12 + t->month) * 31 + t->day;
}

const char *time_match_start(const char *pattern, const char *text, struct time_parts *t,
                             const char **spans) {
    const char *next, *start = pattern, *last = pattern;
    size_t k = 0;
    *t = (struct time_parts){.month = 1, .day = 1, .quarter = 1, .week = 1, .weekday = 1};
    while (*pattern) {
        char c = time_directive(pattern, &next);
        if (c) {
            if (spans && k < TIME_DIRECTIVES) spans[k++] = text;
            bool ok = c == 'e' ? range_end(start, (size_t)(last - start), &text, t)
                               : directive(c, &text, t);
            if (!ok) return NULL;
            pattern = last = next;
        } else if (*pattern == ' ') {
            if (*text != ' ') return NULL;
            while (*text == ' ') text++;
            pattern++;
        } else if (ascii_lower(*text++) != ascii_lower(*pattern++)) {
            return NULL;
        }
    }
    return text;
}

/* ---- what was read as a number ---- */

/* 24:00 is the end of a day. */
static bool in_range(const struct time_parts *t) {
    return t->month >= 1 && t->month <= 12 && t->day >= 1 &&
           t->day <= calendar_month_length(t->year, t->month) && t->quarter >= 1 &&
           t->quarter <= 4 && t->weekday >= 1 && t->weekday <= 7 && t->minute <= 59 &&
           t->week >= 1 && (t->hour <= 23 || (t->hour == 24 && !t->minute && t->second <= 0));
}

/* The Monday of the week that holds the 4th of January is that of week 1 (ISO 8601). */
long time_week_day(int year, int week) {
    long fourth = calendar_days(year, 1, 4);
    return fourth - (((fourth + 3) % 7 + 7) % 7) + 7 * (week - 1);
}

bool time_has(const char *pattern, const char *letters) {
    const char *next;
    for (; *pattern; pattern++) {
        char c = time_directive(pattern, &next);
        if (c && strchr(letters, c)) return true;
        if (c) pattern = next - 1;
    }
    return false;
}

enum time_kind time_pattern_kind(const char *pattern) {
    if (!strncmp(pattern, "unix", 4) || !strcmp(pattern, "excel")) return TIME_UNIX;
    if (!strcmp(pattern, "number") || !strcmp(pattern, "elapsed")) return TIME_NUMBER;
    if (time_has(pattern, "HITS")) return TIME_INSTANT;
    if (time_has(pattern, "V")) return TIME_WEEK;
    if (time_has(pattern, "d")) return TIME_DATE;
    if (time_has(pattern, "q")) return TIME_QUARTER;
    return time_has(pattern, "mbh") ? TIME_MONTH : TIME_YEAR;
}

double time_unix_unit(const char *pattern) {
    static const struct {
        const char *name;
        double per_second;
    } units[] = {
        {"unix", 1}, {"unix-ms", 1e3}, {"unix-us", 1e6}, {"unix-ns", 1e9}, {"excel", 1.0 / 86400}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (!strcmp(pattern, units[i].name)) return units[i].per_second;
    return 0;
}

/* Spreadsheets count days from 1899-12-30 on. */
double time_unix_start(const char *pattern) {
    return strcmp(pattern, "excel") ? 0 : 25569;
}

static bool value_of(const char *pattern, struct time_parts *t, double *x) {
    enum time_kind kind = time_pattern_kind(pattern);
    if (t->half) t->hour = t->hour % 12 + (t->half == 2 ? 12 : 0);
    if (!in_range(t)) return false;
    double clock = ((t->hour * 60 + t->minute - t->zone) * 60 + t->second) / 86400;
    bool week = time_has(pattern, "V");
    long day = calendar_days(t->year, t->month, t->day);
    if (week) { /* a year has 52 or 53 of them */
        day = time_week_day(t->year, t->week);
        if (day >= time_week_day(t->year + 1, 1)) return false;
        day += t->weekday - 1;
    }
    *x = kind == TIME_QUARTER ? t->year + (t->quarter - 1) / 4.0
         : kind == TIME_MONTH ? t->year + (t->month - 1) / 12.0
         : kind == TIME_YEAR  ? t->year
                              : (double)day + clock;
    return true;
}

bool time_number(const char *text, double *v) {
    return number_parse(text, strlen(text), v) && isfinite(*v);
}

/* Hours that went by: [days 'day'['s'] [',']] hours ':' minutes ':' seconds, as many hours as there
 * are. */
bool time_read_elapsed(const char *p, double *x) {
    int days = 0, hours, minutes;
    double second;
    const char *q = p;
    if (time_digits(&q, 1, 6, &days) && *q == ' ' && !ascii_ncasecmp(q, " day", 4)) {
        for (q += 4; *q == 's' || *q == ',' || *q == ' ';) q++;
        p = q;
    } else
        days = 0;
    if (!time_digits(&p, 1, 6, &hours) || *p++ != ':' || !time_digits(&p, 2, 2, &minutes) ||
        *p++ != ':' || minutes > 59 || !seconds(&p, &second) || *p || second >= 60)
        return false;
    *x = 24.0 * days + hours + minutes / 60.0 + second / 3600;
    return true;
}

/* One text by a pattern or a word for one. */
bool time_read_by(const char *pattern, const char *text, double *x, struct time_parts *t) {
    enum time_kind kind = time_pattern_kind(pattern);
    *t = (struct time_parts){0};
    if (kind == TIME_NUMBER && *pattern == 'e') return time_read_elapsed(text, x);
    if (kind == TIME_NUMBER || kind == TIME_UNIX) {
        if (!time_number(text, x)) return false;
        if (kind == TIME_UNIX)
            *x = *x / (86400 * time_unix_unit(pattern)) - time_unix_start(pattern);
        return true;
    }
    const char *end = time_match_start(pattern, text, t, NULL);
    return end && !*end && value_of(pattern, t, x);
}
