/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text: the only code that reads and formats them. The decimal sign is a point, whatever
 * locale the host process has set. strtod, printf and similar functions follow the locale, so no
 * other code calls them on a floating-point number (tests/conform checks that). Whole numbers read
 * and print alike in every locale. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Like strtod. */
double number_read(const char *text, char **end);
/* Is text[0..n) a number as in programs and JSON, or inf or nan? Hexadecimal and too large numbers
 * are refused. Leading blanks are allowed as in strtod; reads no byte beyond. */
bool number_parse(const char *text, size_t n, double *x);

/* The shortest decimal that reads back as x; inf, -inf, nan. */
enum { NUMBER_TEXT = 40 }; /* 24 are needed; the rest is scratch */
void number_shortest(char text[NUMBER_TEXT], double x);

/* x with this many digits for people, in texts and tables: whole from 1000 on, and powers of ten
 * only beyond ten million. FIGURE(digits, x) is for a %s in the same expression. */
const char *number_figure(char text[NUMBER_TEXT], int digits, double x);
#define FIGURE(digits, x) number_figure((char[NUMBER_TEXT]){0}, digits, x)

/* All 17 digits, byte for byte like %.17g, which reads back as x; thirty times faster. Returns the
 * length. */
size_t number_exact(char text[NUMBER_TEXT], double x);

/* Like the stdio functions of the same names. */
int number_vsnprintf(char *text, size_t size, const char *fmt, va_list ap);
int number_snprintf(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* For qsort: doubles, or structs that begin with one, in ascending order. */
int number_compare(const void *a, const void *b);

/* Brackets calls to other libraries that read or write numbers: this thread is in the locale "C"
 * from enter to leave. No callback of the host may run in between. */
locale_t number_locale_enter(void);
void number_locale_leave(locale_t before);
#endif
