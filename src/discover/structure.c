/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures: canonical form, text, and the table of factors.
 */
#include "discover/structure.h"
#include "base/ascii.h"
#include "base/map.h"
#include "base/mem.h"
#include <string.h>

/* In the order in which factors stand inside a product. */
static const char *const factor_names[FACTOR_COUNT] = {
    [FACTOR_LIN] = "LIN",   [FACTOR_SE] = "SE",     [FACTOR_PER] = "PER", [FACTOR_IW] = "IWIENER",
    [FACTOR_MAT] = "MAT32", [FACTOR_RAMP] = "RAMP", [FACTOR_RQ] = "RQ",   [FACTOR_STEP] = "STEP",
    [FACTOR_W] = "WIENER",  [FACTOR_WN] = "WN"};

const char *factor_name(enum factor f) {
    return f < FACTOR_COUNT ? factor_names[f] : "?";
}

static const struct {
    const char *name;
    enum factor f;
} short_names[] = {{"W", FACTOR_W}, {"IW", FACTOR_IW}, {"MAT", FACTOR_MAT}};

enum factor factor_find(const char *name, size_t len) {
    for (size_t i = 0; i < COUNT_OF(short_names); i++)
        if (strlen(short_names[i].name) == len && !ascii_ncasecmp(name, short_names[i].name, len))
            return short_names[i].f;
    for (int f = 0; f < FACTOR_COUNT; f++)
        if (strlen(factor_names[f]) == len && !ascii_ncasecmp(name, factor_names[f], len))
            return (enum factor)f;
    return FACTOR_COUNT;
}

void term_print(struct term t, struct buf *out) {
    bool first = true;
    for (int f = 0; f < FACTOR_COUNT; f++) {
        if (!(t.mask & FACTOR_BIT(f))) continue;
        if (!first) buf_putc(out, '*');
        buf_puts(out, factor_names[f]);
        first = false;
    }
}

/* Terms in the order of their text; gated ones after the others. */
static int term_compare(struct term a, struct term b) {
    if (a.gate != b.gate) return a.gate < b.gate ? -1 : 1;
    if (a.mask == b.mask) return 0;
    struct buf x = BUF_INIT, y = BUF_INIT;
    term_print(a, &x);
    term_print(b, &y);
    int c = strcmp(x.data, y.data);
    buf_release(&x);
    buf_release(&y);
    return c;
}

void structure_canonical(struct structure *s) {
    for (int i = 1; i < s->n; i++)
        for (int j = i; j > 0 && term_compare(s->t[j - 1], s->t[j]) > 0; j--) {
            struct term x = s->t[j];
            s->t[j] = s->t[j - 1];
            s->t[j - 1] = x;
        }
    for (int i = s->n; i < STRUCTURE_MAX_TERMS; i++) s->t[i] = (struct term){0, 0};
    s->pad = 0;
    bool gated = false;
    for (int i = 0; i < s->n; i++) gated |= s->t[i].gate != GATE_NONE;
    if (!gated) s->change = CHANGE_NONE;
}

bool structure_equal(const struct structure *a, const struct structure *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

uint64_t structure_hash(const struct structure *s) {
    return hash_bytes(s, sizeof *s, 0x5eed);
}

int structure_factors(const struct structure *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++) n += __builtin_popcount(s->t[i].mask);
    return n;
}

int structure_count(const struct structure *s, uint16_t mask) {
    int n = 0;
    for (int i = 0; i < s->n; i++) n += s->t[i].mask == mask;
    return n;
}

bool structure_has(const struct structure *s, uint16_t mask) {
    return mask == FACTOR_BIT(FACTOR_WN) || structure_count(s, mask) > 0;
}

static void print_gated(const struct structure *s, unsigned gate, struct buf *out) {
    bool any = false;
    for (int i = 0; i < s->n; i++) {
        if (s->t[i].gate != gate) continue;
        if (any) buf_puts(out, " + ");
        term_print(s->t[i], out);
        any = true;
    }
    if (!any) buf_puts(out, "C");
}

void structure_print(const struct structure *s, struct buf *out) {
    if (s->change != CHANGE_NONE) {
        bool window = s->change == CHANGE_WINDOW;
        buf_puts(out, window ? "CW(" : "CP(");
        print_gated(s, window ? GATE_INSIDE : GATE_BEFORE, out);
        buf_puts(out, ", ");
        print_gated(s, window ? GATE_OUTSIDE : GATE_AFTER, out);
        buf_puts(out, ") + ");
    }
    for (int i = 0; i < s->n; i++) {
        if (s->t[i].gate != GATE_NONE) continue;
        term_print(s->t[i], out);
        buf_puts(out, " + ");
    }
    buf_puts(out, "WN");
}

enum gpm_status structure_parse(const char *text, struct structure *out) {
    struct structure s;
    unsigned mask = 0;
    memset(&s, 0, sizeof s);
    for (const char *p = text;;) {
        size_t len = 0;
        while (ascii_space(*p)) p++;
        while (ascii_alnum(p[len])) len++;
        enum factor f = len ? factor_find(p, len) : FACTOR_COUNT;
        if (f == FACTOR_COUNT) return GPM_E_FORMAT;
        mask |= FACTOR_BIT(f);
        p += len;
        while (ascii_space(*p)) p++;
        if (*p == '*') {
            p++;
            continue;
        }
        if (*p && *p != '+') return GPM_E_FORMAT;
        if (mask != FACTOR_BIT(FACTOR_WN)) {
            if (s.n == STRUCTURE_MAX_TERMS) return GPM_E_FORMAT;
            s.t[s.n++] = (struct term){(uint16_t)mask, GATE_NONE};
        }
        mask = 0;
        if (!*p++) break;
    }
    structure_canonical(&s);
    *out = s;
    return GPM_OK;
}
