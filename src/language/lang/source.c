/* SPDX-License-Identifier: Apache-2.0
 *
 * Source units: owned copies of the texts, and the line map that turns byte offsets into the line
 * and column of a message. The map is built on the first question about a unit.
 */
#include "language/lang/source.h"
#include <string.h>

static void source_free(struct source *u) {
    mem_free(u->name);
    mem_free(u->text);
    vec_release(&u->lines);
}

void sources_drop(struct sources *s, uint32_t unit) {
    struct source *u = s->units.at[unit];
    if (!s->gone.text) {
        s->gone.name = mem_strdup("<an earlier text>");
        s->gone.text = mem_strdup("");
    }
    s->units.at[unit] = &s->gone;
    source_free(u);
    mem_free(u);
}

void sources_release(struct sources *s) {
    for (size_t i = 0; i < s->units.n; i++) {
        if (s->units.at[i] == &s->gone) continue;
        source_free(s->units.at[i]);
        mem_free(s->units.at[i]);
    }
    source_free(&s->gone);
    vec_release(&s->units);
}

uint32_t sources_add(struct sources *s, const char *name, const char *text, size_t len) {
    struct source *u = NEW(struct source);
    u->name = mem_strdup(name);
    u->text = mem_alloc(len + 1);
    if (len) memcpy(u->text, text, len);
    u->text[len] = '\0';
    u->len = len;
    vec_push(&s->units, u);
    return (uint32_t)(s->units.n - 1);
}

static void build_lines(struct source *u) {
    vec_push(&u->lines, 0);
    for (const char *p = u->text, *end = p + u->len; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        vec_push(&u->lines, (uint32_t)(p + 1 - u->text));
}

/* The index of the last line that starts at or before `offset`. */
static size_t find_line(const struct source *u, uint32_t offset) {
    size_t lo = 0, hi = u->lines.n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (u->lines.at[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void sources_locate(struct sources *s, struct span at, unsigned *line, unsigned *column) {
    *line = *column = 0;
    if (at.unit >= s->units.n) return;
    struct source *u = s->units.at[at.unit];
    if (!u->lines.n) build_lines(u);
    uint32_t offset = at.start > u->len ? (uint32_t)u->len : at.start;
    size_t i = find_line(u, offset);
    unsigned col = 1;
    for (uint32_t k = u->lines.at[i]; k < offset; k++)
        if (((unsigned char)u->text[k] & 0xC0) != 0x80) col++; /* not a UTF-8 continuation */
    *line = (unsigned)(i + 1);
    *column = col;
}
