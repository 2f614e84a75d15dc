/* SPDX-License-Identifier: Apache-2.0
 *
 * Renders diagnostics, as text
 *
 *     file:2:7: error[E0201]: `foo` is not bound
 *       |
 *     2 | 1 + foo;
 *       |     ^^^
 *       = help: did you mean `for`?
 *       = in f, called at file:9:1
 *
 * or as one JSON object per line. Columns count characters; the drawing counts the columns of a
 * terminal (tabs to the next multiple of four, wide characters two). A long line is cut to a window
 * around its mark. */
#include "language/lang/lex.h"
#include <stdlib.h>
#include <string.h>

enum { TAB = 4, WINDOW = 100, LEAD = 40 };

struct paint {
    struct buf *out;
    bool colour;
    unsigned gutter; /* digits of the largest line number shown */
};

static void style(const struct paint *p, const char *code) {
    if (p->colour) buf_printf(p->out, "\033[%sm", code);
}

static void gutter(const struct paint *p, unsigned line) {
    style(p, "34");
    if (line)
        buf_printf(p->out, "%*u |", (int)p->gutter, line);
    else
        buf_printf(p->out, "%*s |", (int)p->gutter, "");
    style(p, "0");
}

/* ---- one source line ---- */

/* A line of a unit without the line break, and the visible part of it. */
struct line {
    const char *text; /* of the unit */
    uint32_t start, end, from, to;
    unsigned number;
};

static bool inside_char(const char *text, uint32_t i) {
    return ((unsigned char)text[i] & 0xC0) == 0x80;
}

/* The line of `at`; the visible part of a long line begins shortly before it. */
static struct line find_line(struct sources *s, struct span at) {
    struct line l;
    unsigned column;
    sources_locate(s, at, &l.number, &column);
    const struct source *u = s->units.at[at.unit];
    l.text = u->text;
    l.start = l.from = u->lines.at[l.number - 1];
    l.end = l.number < u->lines.n ? u->lines.at[l.number] - 1 : (uint32_t)u->len;
    if (l.end > l.start && l.text[l.end - 1] == '\r') l.end--;
    l.to = l.end;
    if (l.end - l.start <= 2 * WINDOW) return l;
    uint32_t mark = at.start < l.end ? at.start : l.end;
    if (mark - l.start > LEAD) l.from = mark - LEAD;
    while (l.from > l.start && inside_char(l.text, l.from)) l.from--;
    if (l.end - l.from > WINDOW) l.to = l.from + WINDOW;
    while (l.to < l.end && inside_char(l.text, l.to)) l.to++;
    return l;
}

static unsigned char_width(uint32_t c) {
    bool combining = (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F);
    bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
    return combining ? 0 : wide ? 2 : 1;
}

/* Steps over one character: appends it to `out` (unless NULL) and advances *column. */
static uint32_t draw_char(const struct line *l, uint32_t i, unsigned *column, struct buf *out) {
    uint32_t code = 0, n = utf8_decode(l->text + i, l->to - i, &code);
    bool tab = n && code == '\t', shown = n && !utf8_steers(code);
    unsigned width = tab ? TAB - *column % TAB : shown ? char_width(code) : 1;
    if (out && tab)
        buf_printf(out, "%*s", (int)width, "");
    else if (out)
        buf_add(out, shown ? l->text + i : UTF8_REPLACEMENT, shown ? n : 3);
    *column += width;
    return i + (n ? n : 1);
}

static void draw_text(const struct paint *p, const struct line *l) {
    unsigned column = 0;
    gutter(p, l->number);
    buf_putc(p->out, ' ');
    if (l->from > l->start) buf_puts(p->out, "...");
    for (uint32_t i = l->from; i < l->to;) i = draw_char(l, i, &column, p->out);
    if (l->to < l->end) buf_puts(p->out, "...");
    while (p->out->len && p->out->data[p->out->len - 1] == ' ') p->out->data[--p->out->len] = '\0';
    buf_putc(p->out, '\n');
}

/* ---- the places of one diagnostic ---- */

struct place {
    struct span at;
    const char *text;
    char mark;
    unsigned line;
};

/* The row of marks under a line: ^^^^ for the place itself, ---- for a label. */
static void draw_marks(const struct paint *p, const struct line *l, const struct place *at) {
    unsigned column = 0, lead = l->from > l->start ? 3 : 0;
    uint32_t i = l->from;
    gutter(p, 0);
    buf_putc(p->out, ' ');
    while (i < at->at.start && i < l->to) i = draw_char(l, i, &column, NULL);
    buf_printf(p->out, "%*s", (int)(column + lead), "");
    unsigned first = column;
    while (i < at->at.end && i < l->to) i = draw_char(l, i, &column, NULL);
    style(p, at->mark == '^' ? "1;31" : "1;34");
    for (unsigned k = 0; k < (column > first ? column - first : 1); k++) buf_putc(p->out, at->mark);
    if (at->text) {
        buf_putc(p->out, ' ');
        buf_visible(p->out, at->text, strlen(at->text));
    }
    style(p, "0");
    buf_putc(p->out, '\n');
}

static int by_position(const void *x, const void *y) {
    const struct place *a = x, *b = y;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->mark != b->mark) return a->mark == '^' ? -1 : 1;
    return a->at.start < b->at.start ? -1 : a->at.start > b->at.start;
}

static void draw_places(const struct paint *p, struct sources *s, const struct place *at,
                        size_t n) {
    unsigned shown = 0;
    gutter(p, 0);
    buf_putc(p->out, '\n');
    for (size_t i = 0; i < n;) {
        struct line l = find_line(s, at[i].at);
        if (shown && l.number > shown + 1) buf_puts(p->out, "...\n");
        shown = l.number;
        draw_text(p, &l);
        for (; i < n && at[i].line == l.number; i++)
            if (at[i].at.start >= l.from && at[i].at.start <= l.to) draw_marks(p, &l, &at[i]);
    }
}

static bool has_place(const struct diags *d, struct span at) {
    return at.unit < d->sources->units.n && d->sources->units.at[at.unit] != &d->sources->gone;
}

static void put_position(const struct diags *d, struct span at, struct buf *out) {
    unsigned line, column;
    sources_locate(d->sources, at, &line, &column);
    const char *name = d->sources->units.at[at.unit]->name;
    buf_visible(out, name, strlen(name));
    buf_printf(out, ":%u:%u", line, column);
}

static unsigned digits(unsigned n) {
    return n < 10 ? 1 : 1 + digits(n / 10);
}

/* The places in the diagnostic's own unit, in order of line. */
static void draw_snippet(struct paint *p, const struct diags *d, const struct diag *x) {
    size_t n = 0;
    unsigned column, largest = 1;
    struct place *at = NEW_ARRAY(struct place, x->parts[DIAG_LABEL].n + 1);
    at[n++] = (struct place){x->at, NULL, '^', 0};
    for (size_t i = 0; i < x->parts[DIAG_LABEL].n; i++) {
        const struct diag_part *l = &x->parts[DIAG_LABEL].at[i];
        if (l->at.unit == x->at.unit) at[n++] = (struct place){l->at, l->text, '-', 0};
    }
    for (size_t i = 0; i < n; i++) {
        sources_locate(d->sources, at[i].at, &at[i].line, &column);
        if (at[i].line > largest) largest = at[i].line;
    }
    qsort(at, n, sizeof *at, by_position);
    p->gutter = digits(largest);
    draw_places(p, d->sources, at, n);
    mem_free(at);
}

static void trailer(const struct paint *p, const char *kind, const char *text) {
    buf_printf(p->out, "%*s ", (int)p->gutter, "");
    style(p, "34");
    buf_puts(p->out, "=");
    style(p, "0");
    buf_printf(p->out, " %s", kind);
    buf_visible(p->out, text, strlen(text));
    buf_putc(p->out, '\n');
}

static bool same_call(const struct diag_part *a, const struct diag_part *b) {
    return a->at.unit == b->at.unit && a->at.start == b->at.start && strcmp(a->text, b->text) == 0;
}

/* The chain of calls, innermost first; a repeated call is drawn once with its count. */
static void draw_calls(const struct paint *p, const struct diags *d, const struct diag *x) {
    const struct diag_part *calls = x->parts[DIAG_CALL].at;
    size_t n = x->parts[DIAG_CALL].n, middle = x->calls_dropped ? n - DIAG_CALLS_OUTER : n;
    struct buf b = BUF_INIT;
    for (size_t i = 0, next; i < n; i = next) {
        const struct diag_part *c = &calls[i];
        for (next = i + 1; next < n && next != middle && same_call(c, &calls[next]);) next++;
        if (i == middle) {
            buf_printf(&b, "... %zu more calls", x->calls_dropped);
            trailer(p, "", b.data);
            buf_reset(&b);
        }
        buf_puts(&b, c->text);
        if (has_place(d, c->at)) {
            buf_puts(&b, " at ");
            put_position(d, c->at, &b);
        }
        if (next - i > 1) buf_printf(&b, ", %zu times", next - i);
        trailer(p, "", b.data);
        buf_reset(&b);
    }
    buf_release(&b);
}

/* Labels in other units (another file) are shown by position. */
static void draw_far_labels(const struct paint *p, const struct diags *d, const struct diag *x) {
    for (size_t i = 0; i < x->parts[DIAG_LABEL].n; i++) {
        struct span at = x->parts[DIAG_LABEL].at[i].at;
        if (!has_place(d, at) || (has_place(d, x->at) && at.unit == x->at.unit)) continue;
        struct buf b = BUF_INIT;
        put_position(d, at, &b);
        buf_printf(&b, ": %s", x->parts[DIAG_LABEL].at[i].text);
        trailer(p, "", b.data);
        buf_release(&b);
    }
}

static void draw_diag(struct paint *p, const struct diags *d, const struct diag *x) {
    p->gutter = 1;
    style(p, "1");
    if (has_place(d, x->at)) {
        put_position(d, x->at, p->out);
        buf_puts(p->out, ": ");
    }
    style(p, x->warning ? "1;33" : "1;31");
    buf_printf(p->out, "%s[%s]", x->warning ? "warning" : "error", diag_code_text(x->code));
    style(p, "0");
    buf_puts(p->out, ": ");
    buf_visible(p->out, x->message, strlen(x->message));
    buf_putc(p->out, '\n');
    if (has_place(d, x->at)) draw_snippet(p, d, x);
    draw_far_labels(p, d, x);
    for (int kind = DIAG_NOTE; kind <= DIAG_HELP; kind++)
        for (size_t i = 0; i < x->parts[kind].n; i++)
            trailer(p, kind == DIAG_NOTE ? "note: " : "help: ", x->parts[kind].at[i].text);
    draw_calls(p, d, x);
}

void diags_render(const struct diags *d, bool colour, struct buf *out) {
    struct paint p = {out, colour, 1};
    for (size_t i = 0; i < d->list.n; i++)
        if (!d->list.at[i]->said) draw_diag(&p, d, d->list.at[i]);
}

/* ---- JSON ---- */

static void json_text(struct buf *out, const char *key, const char *s) {
    buf_printf(out, ",\"%s\":", key);
    buf_json_string(out, s, strlen(s));
}

static void json_place(const struct diags *d, struct span at, struct buf *out) {
    unsigned line, column;
    struct span end = {at.unit, at.end, at.end};
    if (!has_place(d, at)) return;
    json_text(out, "file", d->sources->units.at[at.unit]->name);
    sources_locate(d->sources, at, &line, &column);
    buf_printf(out, ",\"line\":%u,\"column\":%u", line, column);
    sources_locate(d->sources, end, &line, &column);
    buf_printf(out, ",\"end_line\":%u,\"end_column\":%u", line, column);
}

/* The parts of one kind: objects with their places, or texts alone. */
static void json_parts(const struct diags *d, const char *key, const struct diag *x,
                       enum diag_kind kind, bool places, struct buf *out) {
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < x->parts[kind].n; i++) {
        const struct diag_part *p = &x->parts[kind].at[i];
        buf_printf(out, "%s%s", i ? "," : "", places ? "{\"text\":" : "");
        buf_json_string(out, p->text, strlen(p->text));
        if (places) json_place(d, p->at, out);
        if (places) buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

void diags_render_json(const struct diags *d, struct buf *out) {
    for (size_t i = 0; i < d->list.n; i++) {
        const struct diag *x = d->list.at[i];
        if (x->said) continue;
        buf_printf(out, "{\"severity\":\"%s\",\"code\":\"%s\"", x->warning ? "warning" : "error",
                   diag_code_text(x->code));
        json_text(out, "message", x->message);
        json_place(d, x->at, out);
        json_parts(d, "labels", x, DIAG_LABEL, true, out);
        json_parts(d, "notes", x, DIAG_NOTE, false, out);
        if (x->parts[DIAG_HELP].n) json_text(out, "help", x->parts[DIAG_HELP].at[0].text);
        json_parts(d, "calls", x, DIAG_CALL, true, out);
        if (x->calls_dropped) buf_printf(out, ",\"calls_dropped\":%zu", x->calls_dropped);
        buf_puts(out, "}\n");
    }
}
