/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as text: ISO dates and their parts, month names, quarters, plain numbers.
 */
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/number.h"
#include "discover/series.h"
#include <math.h>
#include <string.h>

static const char *const months[12] = {"jan", "feb", "mar", "apr", "may", "jun",
                                       "jul", "aug", "sep", "oct", "nov", "dec"};

/* digits := exactly n decimal digits */
static bool digits(const char **p, int n, int *out) {
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (!ascii_digit((*p)[i])) return false;
        v = v * 10 + ((*p)[i] - '0');
    }
    *p += n;
    *out = v;
    return true;
}

static bool month_name(const char **p, int *month) {
    for (int i = 0; i < 12; i++) {
        if (ascii_ncasecmp(*p, months[i], 3)) continue;
        *p += 3;
        while (ascii_alpha(**p)) (*p)++;
        *month = i + 1;
        return true;
    }
    return false;
}

/* clock := HH ':' MM [':' SS ['.' digits]] ['Z' | ('+'|'-') HH [':'] MM] */
static bool clock_time(const char *p, double *fraction) {
    int h, m, s = 0, zh = 0, zm = 0;
    double rest = 0;
    if (!digits(&p, 2, &h) || *p++ != ':' || !digits(&p, 2, &m)) return false;
    if (*p == ':') {
        p++;
        if (!digits(&p, 2, &s)) return false;
        if (*p == '.') {
            char *end;
            rest = number_read(p, &end);
            p = end;
        }
    }
    if (h > 23 || m > 59 || s > 60) return false;
    double zone = 0;
    if (*p == 'Z' || *p == 'z') p++;
    if (*p == '+' || *p == '-') {
        double sign = *p++ == '-' ? -1 : 1;
        if (!digits(&p, 2, &zh)) return false;
        if (*p == ':') p++;
        if (!digits(&p, 2, &zm)) return false;
        zone = sign * (zh * 60 + zm);
    }
    *fraction = ((h * 60 + m - zone) * 60 + s + rest) / 86400;
    return *p == 0;
}

static bool whole_month(int y, int m, double *x, enum time_kind *kind) {
    *x = y + (m - 1) / 12.0;
    *kind = TIME_MONTH;
    return true;
}

/* date := YYYY ('-'|'/') MM ['-' DD [('T'|' ') clock]] | YYYY ['-'|' '] 'Q' n | month names */
static bool parse_date(const char *p, double *x, enum time_kind *kind) {
    int y, m, d;
    if (ascii_alpha(*p)) { /* Jan 1949, Jan-1949 */
        if (!month_name(&p, &m) || (*p != ' ' && *p != '-' && *p != '/')) return false;
        p++;
        return digits(&p, 4, &y) && !*p && whole_month(y, m, x, kind);
    }
    if (!digits(&p, 4, &y)) return false;
    char sep = *p;
    if (sep == '-' || sep == '/' || sep == ' ') p++;
    if (*p == 'Q' || *p == 'q') {
        p++;
        if (!digits(&p, 1, &d) || d < 1 || d > 4 || *p) return false;
        *x = y + (d - 1) / 4.0, *kind = TIME_QUARTER;
        return true;
    }
    if (ascii_alpha(*p)) return month_name(&p, &m) && !*p && whole_month(y, m, x, kind);
    if ((sep != '-' && sep != '/') || !digits(&p, 2, &m) || m < 1 || m > 12) return false;
    if (*p == 0) return whole_month(y, m, x, kind);
    if (*p++ != sep || !digits(&p, 2, &d) || d < 1 || d > calendar_month_length(y, m)) return false;
    *x = (double)calendar_days(y, m, d), *kind = TIME_DATE;
    if (*p == 0) return true;
    double fraction;
    if ((*p != 'T' && *p != ' ') || !clock_time(p + 1, &fraction)) return false;
    *x += fraction, *kind = TIME_INSTANT;
    return true;
}

enum gpm_status series_parse_time(const char *text, double *x, enum time_kind *kind) {
    if (parse_date(text, x, kind)) return GPM_OK;
    double v;
    if (!number_parse(text, strlen(text), &v) || !isfinite(v)) return GPM_E_FORMAT;
    *x = v;
    *kind = TIME_NUMBER;
    return GPM_OK;
}

bool series_compact_date(double v, double *x) {
    if (!(v >= 18000101 && v <= 22001231) || v != floor(v)) return false;
    int n = (int)v, y = n / 10000, m = n / 100 % 100, d = n % 100;
    if (m < 1 || m > 12 || d < 1 || d > calendar_month_length(y, m)) return false;
    *x = (double)calendar_days(y, m, d);
    return true;
}

/* ---- printing, in the form of the file ---- */
/* The separator that the file writes at this place, or the usual one. */
static char form_at(const struct series *s, size_t at, char usual) {
    return s->form && strlen(s->form) > at ? s->form[at] : usual;
}

static size_t letters_of(const char *form) {
    size_t n = 0;
    while (ascii_alpha(form[n])) n++;
    return n;
}

/* A month by name, as long and in the case that the form's name has. */
static void print_month_name(const char *form, int month, struct buf *out) {
    static const char *const rest[12] = {"uary", "ruary", "ch",     "il",   "",      "e",
                                         "y",    "ust",   "tember", "ober", "ember", "ember"};
    size_t from = out->len;
    buf_printf(out, "%s%s", months[month - 1], letters_of(form) > 3 ? rest[month - 1] : "");
    for (size_t i = from; i < out->len; i++) {
        char like = form[i == from ? 0 : 1];
        if (like != ascii_lower(like)) out->data[i] = ascii_upper(out->data[i]);
    }
}

/* month := YYYY sep MM | Mon sep YYYY | YYYY [sep] Mon */
static void print_month(const struct series *s, int year, int month, struct buf *out) {
    const char *f = s->form ? s->form : "0000-00";
    if (ascii_alpha(*f)) {
        print_month_name(f, month, out);
        buf_printf(out, "%c%04d", f[letters_of(f)], year);
        return;
    }
    bool sep = !ascii_alpha(f[4]);
    buf_printf(out, "%04d%.*s", year, sep, f + 4);
    if (ascii_alpha(f[4 + sep]))
        print_month_name(f + 4 + sep, month, out);
    else
        buf_printf(out, "%02d", month);
}

static void print_date(const struct series *s, long day, struct buf *out) {
    int y, m, d;
    char sep = form_at(s, 4, '-');
    calendar_date(day, &y, &m, &d);
    if (ascii_digit(sep))
        buf_printf(out, "%04d%02d%02d", y, m, d);
    else
        buf_printf(out, "%04d%c%02d%c%02d", y, sep, m, sep, d);
}

/* Seconds and their decimals where the file has them; a time of another zone is written in UTC. */
static void print_instant(const struct series *s, double x, struct buf *out) {
    const char *clock = s->form && strlen(s->form) > 15 ? s->form + 11 : "00:00:00";
    const char *point = strchr(clock, '.');
    int decimals = point ? (int)strspn(point + 1, "0123456789") : 0;
    if (decimals > 6) decimals = 6;
    double scale = pow(10, decimals);
    long long day_parts = (long long)(86400 * scale), all = llround(x * 86400 * scale);
    long long day = all >= 0 ? all / day_parts : -((day_parts - 1 - all) / day_parts);
    long long part = all - day * day_parts, sec = part / (long long)scale;
    print_date(s, (long)day, out);
    buf_printf(out, "%c%02lld:%02lld", form_at(s, 10, 'T'), sec / 3600, sec / 60 % 60);
    if (clock[5] == ':' || sec % 60) buf_printf(out, ":%02lld", sec % 60);
    if (decimals) buf_printf(out, ".%0*lld", decimals, part % (long long)scale);
    if (strpbrk(clock, "Zz+-")) buf_putc(out, 'Z');
}

void series_print_time(const struct series *s, double x, struct buf *out) {
    if (!series_dated(s) || !(fabs(x) < 1e9)) { /* no calendar goes that far */
        buf_number(out, x);
        return;
    }
    double per = s->kind == TIME_QUARTER ? 4 : 12, k = floor(x * per + 0.5); /* parts of a year */
    int year = (int)floor(k / per), part = (int)(k - per * year) + 1;
    if (s->kind == TIME_QUARTER) {
        char sep = form_at(s, 4, 'Q');
        bool bare = sep == 'Q' || sep == 'q';
        buf_printf(out, "%04d%.*s%c%d", year, !bare, &sep, bare ? sep : form_at(s, 5, 'Q'), part);
    } else if (s->kind == TIME_MONTH) {
        print_month(s, year, part, out);
    } else if (s->kind == TIME_DATE) {
        bool first = !strcmp(s->unit, "year"); /* of a month */
        print_date(s, first ? calendar_days(year, part, 1) : (long)floor(x + 0.5), out);
    } else {
        print_instant(s, x, out);
    }
}

void series_print_rounded(const struct series *s, double x, int digits, struct buf *out) {
    if (series_dated(s))
        series_print_time(s, x, out);
    else
        buf_printf(out, "%.*g", digits, x);
}
