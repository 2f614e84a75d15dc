/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as text, in the form of the column that they belong to: the pattern says what stands where,
 * the example how long names are, in which case, and how many decimals seconds have.
 */
#include "base/ascii.h"
#include "base/calendar.h"
#include "table/times_int.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *time_usual_pattern(enum time_kind kind) {
    static const char *const usual[TIME_KINDS] = {
        [TIME_NUMBER] = "number", [TIME_YEAR] = "number",       [TIME_MONTH] = "%Y-%m",
        [TIME_QUARTER] = "%YQ%q", [TIME_DATE] = "%Y-%m-%d",     [TIME_INSTANT] = "%Y-%m-%dT%T",
        [TIME_WEEK] = "%G-W%V",   [TIME_UNIX] = "%Y-%m-%dT%T%z"};
    return usual[kind];
}

static size_t letters_of(const char *text) {
    size_t n = 0;
    while (ascii_alpha(text[n])) n++;
    return n;
}

/* A name in the case that the example's has. */
static void put_name(const char *like, const char *name, size_t length, struct buf *out) {
    size_t from = out->len;
    buf_add(out, name, length);
    for (size_t i = from; i < out->len; i++) {
        char c = like[i == from ? 0 : 1];
        if (c != ascii_lower(c)) out->data[i] = ascii_upper(out->data[i]);
    }
}

static void put_weekday(const char *like, const struct time_parts *t, struct buf *out) {
    long day = calendar_days(t->year, t->month, t->day);
    const char *name = time_weekdays[((day + 3) % 7 + 7) % 7];
    put_name(like, name, letters_of(like) > 3 ? strlen(name) : 3, out);
}

/* How many decimals the seconds have in the example of a clock or of seconds. */
static int decimals_of(const char *like) {
    size_t n = strspn(like, "0123456789:"), d = 0;
    if (like[n] == '.' || like[n] == ',') d = strspn(like + n + 1, "0123456789");
    return d > 6 ? 6 : (int)d;
}

struct printed {
    struct time_parts t;
    long long part, scale; /* of the second */
    int decimals;
};

static void put_second(const struct printed *p, const char *like, struct buf *out) {
    char point = like[strspn(like, "0123456789:")] == ',' ? ',' : '.';
    buf_printf(out, "%02d", (int)p->t.second);
    if (p->decimals) buf_printf(out, "%c%0*lld", point, p->decimals, p->part);
}

static void put_clock(const struct printed *p, const char *like, struct buf *out) {
    size_t n = strspn(like, "0123456789:");
    int colons = 0;
    for (size_t i = 0; i < n; i++) colons += like[i] == ':';
    buf_printf(out, "%02d:%02d", p->t.hour, p->t.minute);
    if (colons < 2 && p->t.second == 0 && *like) return;
    buf_putc(out, ':');
    put_second(p, like, out);
}

static void put_zone(const struct time_form *f, const char *like, struct buf *out) {
    int m = f->zone < 0 ? -f->zone : f->zone;
    size_t name = letters_of(like);
    if (name > 1 && f->zones) like = "UTC", name = 3;
    if (name || !*like) { /* UTC, GMT, Z */
        buf_printf(out, "%.*s", name ? (int)name : 1, name ? like : "Z");
        return;
    }
    buf_printf(out, "%c%02d", f->zone < 0 ? '-' : '+', m / 60);
    if (ascii_digit(like[3]) || like[3] == ':' || m % 60)
        buf_printf(out, "%s%02d", like[3] == ':' ? ":" : "", m % 60);
}

static void put_directive(const struct time_form *f, const struct printed *p, char c, bool bare,
                          const char *like, struct buf *out) {
    const struct time_parts *t = &p->t;
    int twelve = t->hour % 12 ? t->hour % 12 : 12;
    int small = c == 'y'   ? t->year % 100
                : c == 'm' ? t->month
                : c == 'd' ? t->day
                : c == 'V' ? t->week
                : c == 'H' ? t->hour
                : c == 'I' ? twelve
                           : t->minute;
    bool upper = !ascii_alpha(*like) || *like != ascii_lower(*like);
    switch (c) {
    case 'Y':
    case 'G': buf_printf(out, "%04d", t->year); break;
    case 'b': month_write(*like ? like : "Jan", t->month, out); break;
    case 'n': {
        bool four = strspn(like, "0123456789") > 2;
        buf_printf(out, "%0*d", four ? 4 : 2, four ? t->year + 1 : (t->year + 1) % 100);
        break;
    }
    case 'a': put_weekday(*like ? like : "Mon", t, out); break;
    case 'q': buf_printf(out, "%d", t->quarter); break;
    case 'h': buf_printf(out, "%d", t->month > 6 ? 2 : 1); break;
    case 'u': buf_printf(out, "%d", t->weekday); break;
    case 'S': put_second(p, like, out); break;
    case 'T': put_clock(p, like, out); break;
    case 'p': buf_puts(out, t->hour < 12 ? (upper ? "AM" : "am") : (upper ? "PM" : "pm")); break;
    case 'z': put_zone(f, like, out); break;
    default: buf_printf(out, bare ? "%d" : "%02d", small);
    }
}

/* Parts of a year (months, quarters) or a day with its clock. */
static void fill_parts(const struct time_form *f, double x, struct printed *p) {
    struct time_parts *t = &p->t;
    if (f->kind == TIME_MONTH || f->kind == TIME_QUARTER || f->kind == TIME_YEAR) {
        double per = f->kind == TIME_QUARTER ? 4
                     : f->kind == TIME_YEAR  ? 1
                                             : 12,
               k = floor(x * per + 0.5);
        t->year = (int)floor(k / per);
        t->month = t->quarter = (int)(k - per * t->year) + 1;
        return;
    }
    double unit = (double)p->scale, at = x + f->zone / 1440.0;
    long long parts = 86400 * p->scale, all = llround(at * 86400 * unit);
    if (f->kind == TIME_DATE || f->kind == TIME_WEEK) all = (long long)floor(x + 0.5) * parts;
    long day = (long)(all >= 0 ? all / parts : -((parts - 1 - all) / parts));
    long long rest = all - day * parts, sec = rest / p->scale;
    calendar_date(day, &t->year, &t->month, &t->day);
    t->quarter = (t->month - 1) / 3 + 1;
    t->hour = (int)(sec / 3600);
    t->minute = (int)(sec / 60 % 60);
    t->second = (double)(sec % 60);
    p->part = rest % p->scale;
    if (f->kind != TIME_WEEK) return;
    t->weekday = (int)(((day + 3) % 7 + 7) % 7) + 1;
    t->year += day >= time_week_day(t->year + 1, 1) ? 1 : day < time_week_day(t->year, 1) ? -1 : 0;
    t->week = (int)((day - time_week_day(t->year, 1)) / 7) + 1;
}

static void print_by(const struct time_form *f, const char *pattern, const char *like, double x,
                     struct buf *out);

/* The last day of a range that begins at x and is as long as that of the example, which is written
 * by the pattern `part` twice, the second time from `end` on: whole months, or so many days. */
static void put_range_end(const char *part, const char *like, const char *end, double x,
                          struct buf *out) {
    struct time_form days = {.kind = TIME_DATE};
    struct time_parts a, b;
    int y, m, d;
    double last = floor(x + 0.5) + 6;
    if (like && *end && time_match_start(part, like, &a, NULL) &&
        time_match_start(part, end, &b, NULL)) {
        last = floor(x + 0.5) + (double)(calendar_days(b.year, b.month, b.day) -
                                         calendar_days(a.year, a.month, a.day));
        int months = 12 * (b.year - a.year) + b.month - a.month;
        calendar_date((long)floor(x + 0.5), &y, &m, &d);
        if (a.day == 1 && d == 1 && b.day == calendar_month_length(b.year, b.month)) {
            m += months;
            y += (m - 1) / 12, m = (m - 1) % 12 + 1;
            last = (double)calendar_days(y, m, calendar_month_length(y, m));
        }
    }
    print_by(&days, part, *end ? end : NULL, last, out);
}

static void print_by(const struct time_form *f, const char *pattern, const char *like, double x,
                     struct buf *out) {
    const char *spans[TIME_DIRECTIVES] = {NULL}, *next;
    struct printed p = {.scale = 1};
    if (like && !time_match_start(pattern, like, &p.t, spans)) memset(spans, 0, sizeof spans);
    size_t k = 0, n = 0;
    for (const char *q = pattern; *q;) { /* the decimals, before the parts */
        char c = time_directive(q, &next);
        if ((c == 'S' || c == 'T') && n < TIME_DIRECTIVES && spans[n])
            p.decimals = decimals_of(spans[n]);
        n += c != 0;
        q = c ? next : q + 1;
    }
    for (int i = 0; i < p.decimals; i++) p.scale *= 10;
    fill_parts(f, x, &p);
    const char *last = pattern;
    for (const char *q = pattern; *q;) {
        char c = time_directive(q, &next);
        if (!c) {
            buf_putc(out, *q++);
            continue;
        }
        const char *span = k < TIME_DIRECTIVES && spans[k] ? spans[k] : "";
        if (c == 'e') {
            char part[64];
            snprintf(part, sizeof part, "%.*s", (int)(last - pattern), pattern);
            put_range_end(part, like, span, x, out);
        } else
            put_directive(f, &p, c, q[1] == '-', span, out);
        k++;
        q = last = next;
    }
}

/* Hours as hours, minutes and seconds; with days where the example has them. */
static void put_elapsed(const char *like, double x, struct buf *out) {
    const char *days = like ? strchr(like, ' ') : NULL,
               *clock = days ? strrchr(like, ' ') + 1 : like;
    int decimals = clock ? decimals_of(clock) : 0;
    long long scale = 1;
    for (int i = 0; i < decimals; i++) scale *= 10;
    long long all = llround(x * 3600 * (double)scale), sec = all / scale, hours = sec / 3600;
    if (days) {
        buf_printf(out, "%lld%.*s", hours / 24, (int)(clock - days), days);
        hours %= 24;
    }
    bool bare = clock && clock[1] == ':';
    buf_printf(out, bare ? "%lld:%02lld:%02lld" : "%02lld:%02lld:%02lld", hours, sec / 60 % 60,
               sec % 60);
    if (decimals) buf_printf(out, ".%0*lld", decimals, all % scale);
}

void time_print(const struct time_form *f, double x, struct buf *out) {
    const char *pattern = f->pattern ? f->pattern : time_usual_pattern(f->kind);
    if (f->kind == TIME_UNIX && f->pattern && fabs(x) < 1e9) {
        double unit = time_unix_unit(f->pattern),
               v = (x + time_unix_start(f->pattern)) * 86400 * unit;
        int decimals = f->like && strchr(f->like, '.') ? decimals_of(f->like) : 0;
        if (unit > 1e6) v = floor(v / 1000 + 0.5) * 1000; /* no double has more */
        buf_printf(out, "%.*f", decimals, v);
        return;
    }
    if (time_elapsed(f) && x >= 0 && x < 1e9) {
        put_elapsed(f->like, x, out);
        return;
    }
    bool year = f->kind == TIME_YEAR && strchr(pattern, '%') && x == floor(x); /* FY2014 */
    if (!(time_dated(f) || year) || !(fabs(x) < 1e9)) /* no calendar goes that far */
        buf_number(out, x);
    else
        print_by(f, pattern, f->like, x, out);
}

void time_print_iso(const struct time_form *f, double x, struct buf *out) {
    if (!time_dated(f) || !(fabs(x) < 1e9)) {
        buf_number(out, x);
        return;
    }
    static const char fine[] = "2000-01-01T00:00:00.000000"; /* as many decimals as it takes */
    struct time_form utc = {.kind = f->kind};
    struct buf like = BUF_INIT;
    if (f->kind == TIME_UNIX && f->pattern) {
        double unit = time_unix_unit(f->pattern);
        int decimals = unit > 1e3             ? 6
                       : unit > 1             ? 3
                       : f->like && unit == 1 ? decimals_of(f->like)
                                              : 0;
        buf_printf(&like, "%.*sZ", 19 + (decimals ? 1 + decimals : 0), fine);
    }
    bool days = f->pattern && !strcmp(f->pattern, "excel") && f->like && !strchr(f->like, '.');
    if (days) utc.kind = TIME_DATE;
    print_by(&utc, time_usual_pattern(utc.kind), !days && like.len ? like.data : NULL, x, out);
    buf_release(&like);
}

void time_put_day_of(int year, long day, struct buf *out) {
    int y, m, d;
    calendar_date(calendar_days(year, 1, 0) + day, &y, &m, &d);
    buf_printf(out, "%04d-%02d-%02d", y, m, d);
}
