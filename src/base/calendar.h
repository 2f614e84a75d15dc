/* SPDX-License-Identifier: Apache-2.0
 *
 * The proleptic Gregorian calendar as days since 1970-01-01.
 */
#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H
#include <stdbool.h>

long calendar_days(int year, int month, int day);
void calendar_date(long days, int *year, int *month, int *day);
int calendar_month_length(int year, int month);
/* This moment as 2026-11-16T05:10:51.123456Z, or without the part of a second. */
void calendar_now(bool parts, char out[40]);
#endif
