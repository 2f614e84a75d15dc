/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics are data: code, primary span, labels, notes, help, chain of calls. Raising one
 * stores it and returns GPM_E_USER, so that `return diag_raise(...)` is the idiom.
 * language/lang/render.c alone turns them into text or JSON.
 */
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

/* Errors per file; and how many innermost and outermost ones a deep chain of calls keeps. */
enum { DIAG_MAX = 10, DIAG_CALLS_INNER = 10, DIAG_CALLS_OUTER = 6 };

/* What a diagnostic says beside its message: secondary places ("first bound here"), notes, one line
 * of help, and the chain of calls that led there, innermost first. */
enum diag_kind { DIAG_LABEL, DIAG_NOTE, DIAG_HELP, DIAG_CALL, DIAG_KINDS };
struct diag_part {
    struct span at;
    char *text;
};

struct diag {
    enum diag_code code;
    bool warning;   /* something odd that was understood; does not fail the run */
    bool said;      /* shown already; it is not rendered again */
    struct span at; /* unit == NO_SPAN_UNIT: no place */
    char *message;
    VEC(struct diag_part) parts[DIAG_KINDS];
    size_t calls_dropped; /* frames left out of the middle of a deep chain */
};
#define NO_SPAN_UNIT UINT32_MAX
#define NO_SPAN      ((struct span){NO_SPAN_UNIT, 0, 0})

/* Of zeros and its sources at first. */
struct diags {
    VEC(struct diag *) list; /* owned */
    struct sources *sources; /* borrowed */
    bool muted;              /* the last one was beyond DIAG_MAX: additions to it are dropped */
};

void diags_release(struct diags *d);
/* Drops what was stored after the first n: a caller that recovers from an error takes it back and
 * keeps the warnings of before. */
void diags_rewind(struct diags *d, size_t n);
/* The last diagnostic is an error, and was stored after the first n. */
bool diags_failed_since(const struct diags *d, size_t n);

enum gpm_status diag_store(struct diags *d, bool warning, enum diag_code code, struct span at,
                           const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Stores an error and returns GPM_E_USER. The parser reports up to DIAG_MAX of them. */
#define diag_raise(d, code, at, ...) diag_store(d, false, code, at, __VA_ARGS__)
/* Stores a warning, once for each code and place; the run goes on. Callers that print after success
 * print these too. */
#define diag_warn(d, code, at, ...) diag_store(d, true, code, at, __VA_ARGS__)
size_t diags_errors(const struct diags *d); /* how many are not warnings */
/* These speak of the diagnostic raised last; no-ops when there is none. They return GPM_E_USER, so
 * that they can end the idiom. */
enum gpm_status diag_add(struct diags *d, enum diag_kind kind, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define diag_add_label(d, at, ...) diag_add(d, DIAG_LABEL, at, __VA_ARGS__)
#define diag_add_note(d, ...)      diag_add(d, DIAG_NOTE, NO_SPAN, __VA_ARGS__)
#define diag_set_help(d, ...)      diag_add(d, DIAG_HELP, NO_SPAN, __VA_ARGS__)
#define diag_add_call(d, at, ...)  diag_add(d, DIAG_CALL, at, __VA_ARGS__)
/* Gives the last diagnostic a place when it has none yet (primitives do not know theirs). */
void diag_place(struct diags *d, struct span at);

const char *diag_code_text(enum diag_code c); /* "E0201" */

/* Appends every stored diagnostic, rendered for people (colour: ANSI) or as JSON lines. */
void diags_render(const struct diags *d, bool colour, struct buf *out);
void diags_render_json(const struct diags *d, struct buf *out);

#endif
