/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics are data: code, primary span, labels, notes, help, chain of calls. Raising one stores
 * it and returns GPM_E_USER, so the idiom is `return diag_raise(...)`. Only language/lang/render.c
 * turns them into text or JSON. */
#ifndef LANG_DIAG_H
#define LANG_DIAG_H
#include "base/buf.h"
#include "base/suggest.h"
#include "language/lang/diag_codes.h"
#include "language/lang/source.h"
#include <stdbool.h>

enum diag_code {
#define X(name, code, title) name,
    DIAG_CODES(X)
#undef X
        DIAG_CODE_COUNT
};

/* Maximum number of errors per file; innermost and outermost calls kept of a deep chain. */
enum { DIAG_MAX = 10, DIAG_CALLS_INNER = 10, DIAG_CALLS_OUTER = 6 };

/* Additions to a diagnostic's message: secondary places ("first bound here"), notes, one line of
 * help, and the chain of calls, innermost first. */
enum diag_kind { DIAG_LABEL, DIAG_NOTE, DIAG_HELP, DIAG_CALL, DIAG_KINDS };
struct diag_part {
    struct span at;
    char *text;
};

struct diag {
    enum diag_code code;
    bool warning;   /* an accepted oddity; does not fail the run */
    bool said;      /* already shown; not rendered again */
    struct span at; /* unit == NO_SPAN_UNIT: no place */
    char *message;
    VEC(struct diag_part) parts[DIAG_KINDS];
    size_t calls_dropped; /* frames left out of the middle of a deep chain */
};
#define NO_SPAN_UNIT UINT32_MAX
#define NO_SPAN      ((struct span){NO_SPAN_UNIT, 0, 0})

/* Initialise with zeros and the sources. */
struct diags {
    VEC(struct diag *) list; /* owned */
    struct sources *sources; /* borrowed */
    bool muted;              /* the last one exceeded DIAG_MAX: additions to it are dropped */
};

void diags_release(struct diags *d);
/* Drops everything stored after the first n, for a caller that recovers from an error and keeps
 * earlier warnings. */
void diags_rewind(struct diags *d, size_t n);
/* Is the last diagnostic an error, stored after the first n? */
bool diags_failed_since(const struct diags *d, size_t n);

enum gpm_status diag_store(struct diags *d, bool warning, enum diag_code code, struct span at,
                           const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Stores an error and returns GPM_E_USER. The parser reports up to DIAG_MAX of them. */
#define diag_raise(d, code, at, ...) diag_store(d, false, code, at, __VA_ARGS__)
/* Stores a warning, once per code and place; the run continues. Callers that print after success
 * print these, too. */
#define diag_warn(d, code, at, ...) diag_store(d, true, code, at, __VA_ARGS__)
size_t diags_errors(const struct diags *d); /* number of errors, without warnings */
/* Adds to the last diagnostic raised; does nothing without one. Returns GPM_E_USER, so it can end
 * the idiom. */
enum gpm_status diag_add(struct diags *d, enum diag_kind kind, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define diag_add_label(d, at, ...) diag_add(d, DIAG_LABEL, at, __VA_ARGS__)
#define diag_add_note(d, ...)      diag_add(d, DIAG_NOTE, NO_SPAN, __VA_ARGS__)
#define diag_set_help(d, ...)      diag_add(d, DIAG_HELP, NO_SPAN, __VA_ARGS__)
#define diag_add_call(d, at, ...)  diag_add(d, DIAG_CALL, at, __VA_ARGS__)
/* Gives the last diagnostic a place if it has none (primitives do not know theirs). */
void diag_place(struct diags *d, struct span at);

const char *diag_code_text(enum diag_code c); /* "E0201" */

/* Appends every stored diagnostic, as text (colour: ANSI) or as JSON lines. */
void diags_render(const struct diags *d, bool colour, struct buf *out);
void diags_render_json(const struct diags *d, struct buf *out);

#endif
