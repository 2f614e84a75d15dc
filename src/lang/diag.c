/* SPDX-License-Identifier: Apache-2.0
 *
 * The store of diagnostics. Texts are formatted when raised (the values they quote may be gone when
 * they are drawn); drawing is in render.c.
 */
#include "lang/diag.h"
#include <stdarg.h>
#include <string.h>

enum { MAX_ERRORS = 10, MAX_TEXT = 1000 };

const char *diag_code_text(enum diag_code c) {
    static const char *const codes[] = {
#define X(name, code, title) code,
        DIAG_CODES(X)
#undef X
    };
    return codes[c];
}

void diags_init(struct diags *d, struct sources *sources) {
    memset(d, 0, sizeof *d);
    d->sources = sources;
    d->max = MAX_ERRORS;
}

static void diag_free(struct diag *x) {
    for (size_t i = 0; i < x->labels.n; i++) mem_free(x->labels.at[i].text);
    for (size_t i = 0; i < x->notes.n; i++) mem_free(x->notes.at[i]);
    for (size_t i = 0; i < x->calls.n; i++) mem_free(x->calls.at[i].text);
    vec_release(&x->labels);
    vec_release(&x->notes);
    vec_release(&x->calls);
    mem_free(x->message);
    mem_free(x->help);
    mem_free(x);
}

void diags_rewind(struct diags *d, size_t n) {
    while (d->list.n > n) diag_free(vec_pop(&d->list));
    d->muted = false;
}

void diags_clear(struct diags *d) {
    diags_rewind(d, 0);
}

bool diags_failed_since(const struct diags *d, size_t n) {
    return d->list.n > n && !vec_last(&d->list)->warning;
}

void diags_release(struct diags *d) {
    diags_clear(d);
    vec_release(&d->list);
}

size_t diags_errors(const struct diags *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->list.n; i++) n += !d->list.at[i]->warning;
    return n;
}

/* A name or value quoted in a message may be as long as the program: the text is cut. */
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
 * most d->max times: many forgiven slips do not hide what the run itself warns of. */
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
    return alike >= d->max;
}

static void store(struct diags *d, enum diag_code code, bool warning, struct span at, char *text) {
    d->muted = warning ? warned_enough(d, code, at) : diags_errors(d) >= d->max;
    if (d->muted) {
        mem_free(text);
        return;
    }
    struct diag *x = NEW(struct diag);
    x->code = code;
    x->warning = warning;
    x->at = at;
    x->message = text;
    vec_push(&d->list, x);
}

enum gpm_status diag_raise(struct diags *d, enum diag_code code, struct span at, const char *fmt,
                           ...) {
    va_list ap;
    va_start(ap, fmt);
    store(d, code, false, at, format(fmt, ap));
    va_end(ap);
    return GPM_E_USER;
}

void diag_warn(struct diags *d, enum diag_code code, struct span at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    store(d, code, true, at, format(fmt, ap));
    va_end(ap);
}

static struct diag *last(struct diags *d) {
    return d->muted || d->list.n == 0 ? NULL : vec_last(&d->list);
}

enum gpm_status diag_add_label(struct diags *d, struct span at, const char *fmt, ...) {
    struct diag *x = last(d);
    if (!x) return GPM_E_USER;
    va_list ap;
    va_start(ap, fmt);
    struct diag_label l = {at, format(fmt, ap)};
    va_end(ap);
    vec_push(&x->labels, l);
    return GPM_E_USER;
}

void diag_add_note(struct diags *d, const char *fmt, ...) {
    struct diag *x = last(d);
    if (!x) return;
    va_list ap;
    va_start(ap, fmt);
    char *text = format(fmt, ap);
    va_end(ap);
    vec_push(&x->notes, text);
}

enum gpm_status diag_set_help(struct diags *d, const char *fmt, ...) {
    struct diag *x = last(d);
    if (!x) return GPM_E_USER;
    va_list ap;
    va_start(ap, fmt);
    mem_free(x->help);
    x->help = format(fmt, ap);
    va_end(ap);
    return GPM_E_USER;
}

/* A deep chain keeps its innermost and outermost frames; the middle is only counted. */
void diag_add_call(struct diags *d, struct span at, const char *fmt, ...) {
    struct diag *x = last(d);
    if (!x) return;
    va_list ap;
    va_start(ap, fmt);
    struct diag_label l = {at, format(fmt, ap)};
    va_end(ap);
    if (x->calls.n < DIAG_CALLS_INNER + DIAG_CALLS_OUTER) {
        vec_push(&x->calls, l);
        return;
    }
    mem_free(x->calls.at[DIAG_CALLS_INNER].text);
    memmove(&x->calls.at[DIAG_CALLS_INNER], &x->calls.at[DIAG_CALLS_INNER + 1],
            (DIAG_CALLS_OUTER - 1) * sizeof x->calls.at[0]);
    x->calls.at[DIAG_CALLS_INNER + DIAG_CALLS_OUTER - 1] = l;
    x->calls_dropped++;
}

void diag_place(struct diags *d, struct span at) {
    struct diag *x = last(d);
    if (x && x->at.unit == NO_SPAN_UNIT) x->at = at;
}
