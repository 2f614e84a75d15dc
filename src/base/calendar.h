/* SPDX-License-Identifier: Apache-2.0
 *
 * The proleptic Gregorian calendar as days since 1970-01-01.
 */
#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H

long calendar_days(int year, int month, int day);
void calendar_date(long days, int *year, int *month, int *day);
int calendar_month_length(int year, int month);
#endif
