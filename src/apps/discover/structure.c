/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures: the factors of the kernel table, canonical form, text.
 */
#include "apps/discover/structure.h"
#include "gp/kernel/kern_class.h"
#include "base/ascii.h"
#include "base/map.h"
#include <pthread.h>
#include <string.h>

/* ---- the factors: rows of the kernel table ---- */
static struct {
    pthread_once_t once;
    const struct kern_class *row[FACTOR_MAX];
    int order[FACTOR_MAX]; /* place of each inside a product */
} table = {.once = PTHREAD_ONCE_INIT};

static const struct kern_motif *motif(int f) {
    return &table.row[f]->motif;
}

/* The place among the factors of a product: that of the row, and of any periodic one that of PER.
 */
static int place(const struct kern_class *row) {
    return row->motif.role == KERN_ROLE_PERIODIC ? -1 : row->order;
}

static bool stands_before(const struct kern_class *a, const struct kern_class *b) {
    int x = place(a), y = place(b);
    return x != y ? x < y : strcmp(a->motif.word, b->motif.word) < 0;
}

static void read_table(void) {
    const struct kern_class *row;
    for (size_t i = 0; (row = kern_class_at(i)); i++)
        if (row->motif.word) table.row[row->motif.id] = row;
    for (int a = 0; a < FACTOR_MAX; a++)
        for (int b = 0; b < FACTOR_MAX; b++)
            table.order[a] +=
                table.row[a] && table.row[b] && stands_before(table.row[b], table.row[a]);
}

const struct kern_class *factor_class(int f) {
    pthread_once(&table.once, read_table);
    return table.row[f];
}

enum kern_role factor_role(int f) {
    return factor_class(f) ? motif(f)->role : KERN_ROLE_NONE;
}

unsigned factors_of(enum kern_role role) {
    unsigned mask = 0;
    for (int f = 0; f < FACTOR_MAX; f++)
        if (factor_role(f) == role) mask |= FACTOR_BIT(f);
    return mask;
}

unsigned factors_standard(void) {
    unsigned mask = 0;
    for (int f = 0; f < FACTOR_MAX; f++)
        if (factor_class(f) && motif(f)->standard) mask |= FACTOR_BIT(f);
    return mask;
}

const char *factor_name(int f) {
    return f >= 0 && f < FACTOR_MAX && factor_class(f) ? motif(f)->word : "?";
}

static bool same_word(const char *word, const char *name, size_t len) {
    return word && strlen(word) == len && !ascii_ncasecmp(name, word, len);
}

int factor_find(const char *name, size_t len) {
    for (int f = 0; f < FACTOR_MAX; f++)
        if (factor_class(f) &&
            (same_word(motif(f)->word, name, len) || same_word(motif(f)->brief, name, len)))
            return f;
    return FACTOR_MAX;
}

int factor_next(unsigned mask, int f) {
    int best = FACTOR_MAX;
    for (int g = 0; g < FACTOR_MAX; g++) {
        if (!(mask & FACTOR_BIT(g)) || !factor_class(g)) continue;
        if (f >= 0 && table.order[g] <= table.order[f]) continue;
        if (best == FACTOR_MAX || table.order[g] < table.order[best]) best = g;
    }
    return best;
}

bool term_nests(struct term t) {
    return t.to && factor_role(factor_next(t.mask, -1)) == KERN_ROLE_PERIODIC;
}

void term_print(struct term t, struct buf *out) {
    for (int f = factor_next(t.mask, -1), n = 0; f < FACTOR_MAX; f = factor_next(t.mask, f)) {
        if (n++) buf_putc(out, '*');
        buf_puts(out, factor_name(f));
    }
    if (term_nests(t)) buf_puts(out, "*PER");
}

/* Terms in the order of their text; gated ones after the others. */
static int term_compare(struct term a, struct term b) {
    if (a.gate != b.gate) return a.gate < b.gate ? -1 : 1;
    if (a.mask == b.mask && a.at == b.at) return (a.to > b.to) - (a.to < b.to);
    if (a.mask == b.mask) return (a.at > b.at) - (a.at < b.at);
    struct buf x = BUF_INIT, y = BUF_INIT;
    term_print(a, &x);
    term_print(b, &y);
    int c = strcmp(x.data, y.data);
    buf_release(&x);
    buf_release(&y);
    return c;
}

void structure_canonical(struct structure *s) {
    int n = s->n < STRUCTURE_MAX_TERMS ? s->n : STRUCTURE_MAX_TERMS; /* n says it of one too many */
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && term_compare(s->t[j - 1], s->t[j]) > 0; j--) {
            struct term x = s->t[j];
            s->t[j] = s->t[j - 1];
            s->t[j - 1] = x;
        }
    for (int i = n; i < STRUCTURE_MAX_TERMS; i++) s->t[i] = (struct term){0};
    s->pad = 0;
    bool gated = false;
    for (int i = 0; i < n; i++) gated |= s->t[i].gate != GATE_NONE;
    if (!gated) s->change = CHANGE_NONE;
}

bool structure_equal(const struct structure *a, const struct structure *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

uint64_t structure_hash(const struct structure *s) {
    return hash_bytes(s, sizeof *s, 0x5eed);
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
