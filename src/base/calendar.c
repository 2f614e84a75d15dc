/* SPDX-License-Identifier: Apache-2.0
 *
 * Howard Hinnant's civil-calendar arithmetic: eras of 400 years that begin in March.
 */
#include "base/calendar.h"
#include <stdio.h>
#include <time.h>

long calendar_days(int year, int month, int day) {
    long y = month <= 2 ? year - 1 : year;
    long era = (y >= 0 ? y : y - 399) / 400;
    long yoe = y - era * 400, doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void calendar_date(long days, int *year, int *month, int *day) {
    days += 719468;
    long era = (days >= 0 ? days : days - 146096) / 146097, doe = days - era * 146097;
    long yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    long doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *day = (int)(doy - (153 * mp + 2) / 5 + 1);
    *month = (int)(mp < 10 ? mp + 3 : mp - 9);
    *year = (int)(yoe + era * 400 + (*month <= 2));
}

int calendar_month_length(int y, int m) {
    static const int len[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)) ? 29 : len[m - 1];
}

void calendar_now(bool parts, char out[40]) {
    struct timespec now;
    int year, month, day;
    clock_gettime(CLOCK_REALTIME, &now);
    long days = (long)(now.tv_sec / 86400), second = (long)(now.tv_sec % 86400);
    calendar_date(days, &year, &month, &day);
    int n = snprintf(out, 40, "%04d-%02d-%02dT%02ld:%02ld:%02ld", year % 10000, month, day,
                     second / 3600, second / 60 % 60, second % 60);
    if (parts) n += snprintf(out + n, 40 - (size_t)n, ".%06ld", now.tv_nsec / 1000 % 1000000);
    snprintf(out + n, 40 - (size_t)n, "Z");
}
