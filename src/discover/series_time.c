/* SPDX-License-Identifier: Apache-2.0
 *
 * Times as text: ISO dates and their parts, month names, quarters, plain numbers.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "discover/series.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const months[12] = {"jan", "feb", "mar", "apr", "may", "jun",
                                       "jul", "aug", "sep", "oct", "nov", "dec"};

/* Days since 1970-01-01 (Howard Hinnant's civil-calendar arithmetic). */
long series_days(int year, int month, int day) {
    long y = month <= 2 ? year - 1 : year;
    long era = (y >= 0 ? y : y - 399) / 400;
    long yoe = y - era * 400, doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil(long days, int *year, int *month, int *day) {
    days += 719468;
    long era = (days >= 0 ? days : days - 146096) / 146097, doe = days - era * 146097;
    long yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    long doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = (int)(yoe + era * 400 + (*month <= 2));
}

static int month_length(int y, int m) {
    static const int len[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)) ? 29 : len[m - 1];
}

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

/* date := YYYY ('-'|'/') MM ['-' DD [('T'|' ') clock]] | YYYY ['-'|' '] 'Q' n | month names */
static bool parse_date(const char *p, double *x, enum time_kind *kind) {
    int y, m, d;
    if (ascii_alpha(*p)) { /* Jan 1949, Jan-1949 */
        if (!month_name(&p, &m) || (*p != ' ' && *p != '-' && *p != '/')) return false;
        p++;
        if (!digits(&p, 4, &y) || *p) return false;
        *x = y + (m - 1) / 12.0, *kind = TIME_MONTH;
        return true;
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
    if (ascii_alpha(*p)) {
        if (!month_name(&p, &m) || *p) return false;
        *x = y + (m - 1) / 12.0, *kind = TIME_MONTH;
        return true;
    }
    if ((sep != '-' && sep != '/') || !digits(&p, 2, &m) || m < 1 || m > 12) return false;
    if (*p == 0) {
        *x = y + (m - 1) / 12.0, *kind = TIME_MONTH;
        return true;
    }
    if (*p++ != sep || !digits(&p, 2, &d) || d < 1 || d > month_length(y, m)) return false;
    *x = (double)series_days(y, m, d), *kind = TIME_DATE;
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

static void print_month(double x, struct buf *out) {
    double m = floor(x * 12 + 0.5);
    buf_printf(out, "%04d-%02d", (int)floor(m / 12), (int)(m - 12 * floor(m / 12)) + 1);
}

void series_print_time(enum time_kind kind, const char *unit, double x, struct buf *out) {
    int y, m, d;
    if (!(fabs(x) < 1e9)) kind = TIME_NUMBER; /* no calendar goes that far */
    if (kind == TIME_QUARTER) {
        double q = floor(x * 4 + 0.5);
        buf_printf(out, "%04dQ%d", (int)floor(q / 4), (int)(q - 4 * floor(q / 4)) + 1);
    } else if (kind == TIME_MONTH || (kind == TIME_DATE && !strcmp(unit, "year"))) {
        print_month(x, out);
        if (kind == TIME_DATE) buf_puts(out, "-01");
    } else if (kind == TIME_DATE) {
        civil((long)floor(x + 0.5), &y, &m, &d);
        buf_printf(out, "%04d-%02d-%02d", y, m, d);
    } else if (kind == TIME_INSTANT) {
        long s = (long)floor(x * 86400 + 0.5), day = s >= 0 ? s / 86400 : (s - 86399) / 86400;
        civil(day, &y, &m, &d);
        s -= day * 86400;
        buf_printf(out, "%04d-%02d-%02dT%02ld:%02ld:%02ld", y, m, d, s / 3600, s / 60 % 60, s % 60);
    } else {
        buf_number(out, x);
    }
}
