/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place where text leaves the tool (tests/conform/run_one_place.py holds it to that).
 * Names, cells, paths, programs and messages come from untrusted files, so text for people is made
 * visible (base/buf.h: no escape sequence of the input reaches a terminal). Values that a program
 * prints and formats for other programs (JSON, CSV, HTML) go out byte for byte, unless standard
 * output is a terminal. */
#ifndef CLI_OUT_H
#define CLI_OUT_H
#include "base/file.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Standard output, for people. */
void out_text(const char *text);
/* A report: on a terminal lines that begin with no blank are broken at blanks. */
void out_report(const char *text);
size_t out_width(void);          /* characters of a line of the terminal; 0: no terminal */
void out_line(const char *text); /* its end is that of a line */
void out_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Standard output, for programs: values, JSON, CSV. */
void out_data(const char *text, size_t n);
/* A quoted JSON string, for what is put together here. */
void out_json_string(const char *text);
/* Standard output (1) or error (2), from language/lang/render.c or io/plot/terminal.c, which made
 * foreign text visible and may have put in colours. */
void out_drawn(int stream, const char *text, size_t n);
/* The same on standard error of what a file kept: of escape sequences only colours pass. */
void err_drawn(const char *text, size_t n);
void out_flush(void);

/* Standard error, after what standard output holds. */
void err_text(const char *text, size_t n);
void err_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes a whole file; false: said why. */
bool out_part(const char *path, enum file_how how, const char *text, size_t n);
/* The same, or standard output when `path` is NULL or "-". */
bool out_file(const char *path, const char *text, size_t n);

/* Before long work whose results go there (NULL: nowhere): the file may be written, or its folder;
 * false: said why. */
bool out_place(const char *path);

/* At the very end: `status`, or EXIT_FAILED and a message when standard output could not be
 * written. */
int out_finish(int status);
#endif
