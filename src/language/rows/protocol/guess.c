/* SPDX-License-Identifier: Apache-2.0
 *
 * Guesses: see guess.h. The class of a guess has the name of the common type of its possible
 * values, so messages treat it like a value ("got a number"). */
#include "language/rows/protocol/guess.h"

#include "base/mem.h"
#include <string.h>

static void guess_release(struct box *b) {
    struct guess *g = (struct guess *)b;
    for (size_t i = 0; i < g->n; i++) value_unref(g->args[i]);
    mem_free(g->args);
}

static void guess_print(const struct box *b, struct buf *out) {
    buf_printf(out, "a %s", b->cls->name);
}

#define CLASS(text)                                                                                \
    { .name = text, .release = guess_release, .print = guess_print }
static const struct box_class unknown_class = CLASS("value");
static const struct box_class classes[] = {
    [V_NIL] = CLASS("empty list"),  [V_NUM] = CLASS("number"),      [V_BOOL] = CLASS("boolean"),
    [V_ATOM] = CLASS("atom"),       [V_SYM] = CLASS("symbol"),      [V_STR] = CLASS("string"),
    [V_PAIR] = CLASS("list"),       [V_ARRAY] = CLASS("array"),     [V_VECTOR] = CLASS("vector"),
    [V_MATRIX] = CLASS("matrix"),   [V_DICT] = CLASS("dictionary"), [V_REF] = CLASS("reference"),
    [V_ENV] = CLASS("environment"), [V_PROC] = CLASS("procedure"),  [V_BOX] = CLASS("object")};
static const struct box_class kinds[] = {
    CLASS("kernel"),  CLASS("mean function"), CLASS("action"),  CLASS("subproblem"),
    CLASS("dataset"), CLASS("model"),         CLASS("proposal")};

#define TAG(t)    (1u << (t))
#define SEQUENCES (TAG(V_NIL) | TAG(V_PAIR) | TAG(V_ARRAY) | TAG(V_VECTOR))
#define ANYTHING  (~0u)

static const struct box_class *class_of(unsigned tags, const char *kind) {
    if (kind && tags == TAG(V_BOX)) {
        for (size_t i = 0; i < COUNT_OF(kinds); i++)
            if (!strcmp(kinds[i].name, kind)) return &kinds[i];
        return &unknown_class;
    }
    for (unsigned t = 0; t < COUNT_OF(classes); t++)
        if (tags == TAG(t)) return &classes[t];
    if (tags && !(tags & ~(TAG(V_NIL) | TAG(V_PAIR)))) return &classes[V_PAIR];
    if (tags && !(tags & ~(TAG(V_ARRAY) | TAG(V_VECTOR)))) return &classes[V_ARRAY];
    return &unknown_class;
}

static value guess_new(unsigned tags, const char *kind) {
    struct guess *g = NEW(struct guess);
    box_init(&g->box, class_of(tags, kind));
    g->tags = tags;
    g->kind = kind;
    return value_box(V_BOX, &g->box);
}

struct guess *guess_of(value v) {
    return v.tag == V_BOX && v.u.box->cls->print == guess_print ? (struct guess *)v.u.box : NULL;
}

value guess_any(void) {
    return guess_new(ANYTHING, NULL);
}

bool guess_may_be(value v, unsigned tag) {
    const struct guess *g = guess_of(v);
    return g ? g->tags >> tag & 1 : v.tag == tag;
}

/* A sequence may have any form. A procedure of numbers applied elementwise gives sequences and
 * matrices. */
value guess_result(const struct sp_class *cls, const value *args, size_t n, struct span at) {
    const char *kind;
    unsigned tags = sp_result_tags(cls, &kind);
    if (tags == TAG(V_NIL)) return NIL;
    bool lifted = (cls->flags & SP_LIFTS) && !(tags & SEQUENCES);
    bool numbers = true;
    for (size_t i = 0; i < n; i++)
        numbers &=
            args[i].tag == V_NUM || (guess_of(args[i]) && guess_of(args[i])->tags == TAG(V_NUM));
    if (tags & SEQUENCES) tags |= SEQUENCES;
    if (lifted && !numbers) tags |= SEQUENCES | TAG(V_MATRIX);
    value v = guess_new(tags, kind);
    struct guess *g = guess_of(v);
    g->from = cls;
    g->at = at;
    g->n = n;
    g->args = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) g->args[i] = value_ref(args[i]);
    return v;
}

value guess_either(value a, value b) {
    const struct guess *g = guess_of(a), *h = guess_of(b);
    unsigned tags = (g ? g->tags : TAG(a.tag)) | (h ? h->tags : TAG(b.tag));
    if (!g && !h && value_equal(a, b)) return value_ref(a);
    const char *of_a = g ? g->kind : a.tag == V_BOX ? a.u.box->cls->name : NULL;
    const char *of_b = h ? h->kind : b.tag == V_BOX ? b.u.box->cls->name : NULL;
    return guess_new(tags, of_a && of_b && !strcmp(of_a, of_b) ? of_a : NULL);
}
