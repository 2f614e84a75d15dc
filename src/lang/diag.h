/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics are data: code, primary span, labels, notes, help, chain of calls. Raising one
 * stores it and returns GPM_E_USER, so that `return diag_raise(...)` is the idiom. lang/render.c
 * alone turns them into text or JSON.
 */
#ifndef LANG_DIAG_H
#define LANG_DIAG_H
#include "base/buf.h"
#include "base/suggest.h"
#include "lang/diag_codes.h"
#include "lang/source.h"
#include <stdbool.h>

enum diag_code {
#define X(name, code, title) name,
    DIAG_CODES(X)
#undef X
        DIAG_CODE_COUNT
};

/* A deep chain of calls keeps this many innermost and outermost ones. */
enum { DIAG_CALLS_INNER = 10, DIAG_CALLS_OUTER = 6 };

struct diag_label {
    struct span at;
    char *text;
};

struct diag {
    enum diag_code code;
    bool warning;   /* something odd that was understood; does not fail the run */
    struct span at; /* unit == NO_SPAN_UNIT: no place */
    char *message;
    VEC(struct diag_label) labels; /* secondary places: "first bound here" */
    VEC(char *) notes;
    char *help;
    VEC(struct diag_label) calls; /* innermost first: the chain of calls that led here */
    size_t calls_dropped;         /* frames left out of the middle of a deep chain */
};
#define NO_SPAN_UNIT UINT32_MAX
#define NO_SPAN      ((struct span){NO_SPAN_UNIT, 0, 0})

struct diags {
    VEC(struct diag *) list; /* owned */
    struct sources *sources; /* borrowed */
    size_t max;              /* errors per file; 10 */
    bool muted;              /* the last one was beyond max: additions to it are dropped */
};

void diags_init(struct diags *d, struct sources *sources);
void diags_release(struct diags *d);
void diags_clear(struct diags *d);
/* Drops what was stored after the first n: a caller that recovers from an error takes it back and
 * keeps the warnings of before. */
void diags_rewind(struct diags *d, size_t n);
/* The last diagnostic is an error, and was stored after the first n. */
bool diags_failed_since(const struct diags *d, size_t n);

/* Stores a diagnostic and returns GPM_E_USER. The parser reports up to d->max of them. */
enum gpm_status diag_raise(struct diags *d, enum diag_code code, struct span at, const char *fmt,
                           ...) __attribute__((format(printf, 4, 5)));
/* Stores a warning, once for each code and place; the run goes on. Callers that print after success
 * print these too. */
void diag_warn(struct diags *d, enum diag_code code, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
size_t diags_errors(const struct diags *d); /* how many are not warnings */
/* These speak of the diagnostic raised last; no-ops when there is none. Two return GPM_E_USER, so
 * that they can end the idiom. */
enum gpm_status diag_add_label(struct diags *d, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_add_note(struct diags *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum gpm_status diag_set_help(struct diags *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void diag_add_call(struct diags *d, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Gives the last diagnostic a place when it has none yet (primitives do not know theirs). */
void diag_place(struct diags *d, struct span at);

const char *diag_code_text(enum diag_code c); /* "E0201" */

/* Appends every stored diagnostic, rendered for people (colour: ANSI) or as JSON lines. */
void diags_render(const struct diags *d, bool colour, struct buf *out);
void diags_render_json(const struct diags *d, struct buf *out);

#endif
