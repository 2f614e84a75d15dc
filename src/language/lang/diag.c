/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of diagnostics. Texts are formatted when raised (the values they quote may be gone when
 * they are drawn); drawing is in render.c.
 */
#include "language/lang/diag.h"
#include <stdarg.h>
#include <string.h>

enum { MAX_TEXT = 1000 };

const char *diag_code_text(enum diag_code c) {
    static const char *const codes[] = {
#define X(name, code, title) code,
        DIAG_CODES(X)
#undef X
    };
    return codes[c];
}

static void diag_free(struct diag *x) {
    for (int kind = 0; kind < DIAG_KINDS; kind++) {
        for (size_t i = 0; i < x->parts[kind].n; i++) mem_free(x->parts[kind].at[i].text);
        vec_release(&x->parts[kind]);
    }
    mem_free(x->message);
    mem_free(x);
}

void diags_rewind(struct diags *d, size_t n) {
    while (d->list.n > n) diag_free(vec_pop(&d->list));
    d->muted = false;
}

bool diags_failed_since(const struct diags *d, size_t n) {
    return d->list.n > n && !vec_last(&d->list)->warning;
}

void diags_release(struct diags *d) {
    diags_rewind(d, 0);
    vec_release(&d->list);
}

size_t diags_errors(const struct diags *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->list.n; i++) n += !d->list.at[i]->warning;
    return n;
}

/* Messages say "a %s" of a type's name: these names want "an". */
static char *mend_articles(char *text) {
    static const char *const wrong[] = {" a array", " a action", " a atom", " a environment",
                                        " a empty list"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (char *at; (at = strstr(text, wrong[i]));) {
            struct buf b = BUF_INIT;
            buf_printf(&b, "%.*s an%s", (int)(at - text), text, at + 2);
            mem_free(text);
            text = buf_take(&b);
        }
    return text;
}

/* A name or value quoted in a message may be as long as the program: the text is cut. */
static char *format(const char *fmt, va_list ap) {
    struct buf b = BUF_INIT;
    buf_vprintf(&b, fmt, ap);
    if (b.len > MAX_TEXT) {
        b.len = MAX_TEXT;
        while (((unsigned char)b.data[b.len] & 0xC0) == 0x80) b.len--;
        b.data[b.len] = '\0';
        buf_puts(&b, "...");
    }
    return mend_articles(buf_take(&b));
}

/* One place warns once, however often it runs (loops, particles, sweeps), and a kind of warning at
 * most DIAG_MAX times: many forgiven slips do not hide what the run itself warns of. */
static bool warned_enough(const struct diags *d, enum diag_code code, struct span at) {
    size_t alike = 0;
    for (size_t i = 0; i < d->list.n; i++) {
        const struct diag *x = d->list.at[i];
        if (!x->warning || x->code != code) continue;
        alike++;
        if (at.unit != NO_SPAN_UNIT && x->at.unit == at.unit && x->at.start == at.start &&
            x->at.end == at.end)
            return true;
    }
    return alike >= DIAG_MAX;
}

enum gpm_status diag_store(struct diags *d, bool warning, enum diag_code code, struct span at,
                           const char *fmt, ...) {
    d->muted = warning ? warned_enough(d, code, at) : diags_errors(d) >= DIAG_MAX;
    if (d->muted) return GPM_E_USER;
    struct diag *x = NEW(struct diag);
    x->code = code;
    x->warning = warning;
    x->at = at;
    va_list ap;
    va_start(ap, fmt);
    x->message = format(fmt, ap);
    va_end(ap);
    vec_push(&d->list, x);
    return GPM_E_USER;
}

static struct diag *last(struct diags *d) {
    return d->muted || d->list.n == 0 ? NULL : vec_last(&d->list);
}

enum gpm_status diag_add(struct diags *d, enum diag_kind kind, struct span at, const char *fmt,
                         ...) {
    struct diag *x = last(d);
    if (!x) return GPM_E_USER;
    va_list ap;
    va_start(ap, fmt);
    struct diag_part part = {at, format(fmt, ap)}; /* may quote the help that it replaces */
    va_end(ap);
    /* a deep chain keeps its innermost and outermost frames; the middle is only counted */
    size_t most = kind == DIAG_CALL   ? DIAG_CALLS_INNER + DIAG_CALLS_OUTER
                  : kind == DIAG_HELP ? 1
                                      : SIZE_MAX;
    size_t out = kind == DIAG_CALL ? DIAG_CALLS_INNER : 0;
    if (x->parts[kind].n == most) {
        struct diag_part *old = x->parts[kind].at + out;
        mem_free(old->text);
        memmove(old, old + 1, (most - out - 1) * sizeof *old);
        x->parts[kind].n--;
        x->calls_dropped += kind == DIAG_CALL;
    }
    vec_push(&x->parts[kind], part);
    return GPM_E_USER;
}

void diag_place(struct diags *d, struct span at) {
    struct diag *x = last(d);
    if (x && x->at.unit == NO_SPAN_UNIT) x->at = at;
}
