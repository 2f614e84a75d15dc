/* SPDX-License-Identifier: Apache-2.0
 *
 * See outline.h. resolve.c follows the scopes and says what is bound and used. Global names
 * (assume, define) are gathered first; a use refers to the last definition before it, else to the
 * first one after it (a procedure may call what is assumed later).
 */
#include "lang/outline.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lang/lex.h"
#include <string.h>

struct walker {
    const char *text;
    uint32_t len;
    VEC(struct outline_def *) defs; /* owned; the globals, in order of the text, then the locals */
    size_t n_globals;
    outline_fn *each;
    void *user;
};

/* The first token in [from, to) that spells the name: where a construct writes what it binds. */
static struct span find_name(const struct walker *w, struct span in, const struct sym *name) {
    struct lexer lx;
    lex_init(&lx, w->text, w->len);
    lx.pos = in.start;
    for (struct token t = lex_next(&lx); t.kind != TOK_EOF && t.start < in.end; t = lex_next(&lx)) {
        if (t.kind == TOK_NAME && t.end - t.start == name->len &&
            memcmp(w->text + t.start, name->text, name->len) == 0) {
            return (struct span){in.unit, t.start, t.end};
        }
    }
    return (struct span){in.unit, in.start, in.start};
}

/* Skips the word that opens the construct: in `define define = 1` the second one is the name. */
static struct span after_word(const struct walker *w, struct span s, const char *word) {
    size_t n = strlen(word);
    if (s.end - s.start > n && ascii_ncasecmp(w->text + s.start, word, n) == 0) {
        s.start += (uint32_t)n;
    }
    return s;
}

static struct outline_def *add_def(struct walker *w, struct sym *sym, enum outline_kind kind,
                                   struct span whole, const char *word) {
    struct outline_def *d = NEW(struct outline_def);
    *d = (struct outline_def){sym, kind, find_name(w, after_word(w, whole, word), sym), whole};
    vec_push(&w->defs, d);
    w->each(w->user, d, d->at);
    return d;
}

static void gather(struct walker *w, const struct ast *a) {
    bool define = a->kind == AST_DEFINE;
    bool assume = a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_ASSUME;
    struct sym **names = define ? a->u.bind.names : assume ? a->u.dir.names : NULL;
    uint32_t n = define ? a->u.bind.n_names : assume ? a->u.dir.n_names : 0;
    for (uint32_t i = 0; i < n; i++)
        add_def(w, names[i], define ? OUTLINE_DEFINE : OUTLINE_ASSUME, a->span,
                define ? "define" : "assume");
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) gather(w, a->kids[i]);
}

static struct outline_def *find_global(const struct walker *w, const struct sym *s, uint32_t at) {
    struct outline_def *found = NULL;
    for (size_t i = 0; i < w->n_globals; i++) {
        struct outline_def *d = w->defs.at[i];
        if (d->sym == s && (!found || d->at.start < at)) found = d;
    }
    return found;
}

static void *bound(void *user, struct sym *s, const struct ast *by) {
    enum outline_kind kind = by->kind == AST_LAMBDA ? OUTLINE_PARAMETER : OUTLINE_LET;
    return add_def(user, s, kind, by->span,
                   by->kind == AST_LAMBDA   ? "proc"
                   : by->kind == AST_LETREC ? "letrec"
                   : by->kind == AST_FOR    ? "for"
                                            : "let");
}

static void used(void *user, const struct ast *name, void *tag) {
    struct walker *w = user;
    if (name->u.name.builtin || name->span.end <= name->span.start) return;
    struct outline_def *d = tag ? tag : find_global(w, name->u.name.sym, name->span.start);
    if (d) w->each(w->user, d, name->span);
}

void outline_walk(const char *text, size_t len, struct ast *program, outline_fn *each, void *user) {
    struct walker w = {.text = text, .len = (uint32_t)len, .each = each, .user = user};
    struct arena arena;
    gather(&w, program);
    w.n_globals = w.defs.n;
    arena_init(&arena);
    resolve_program(&arena, program, &(struct resolve_hook){bound, used, &w});
    arena_release(&arena);
    for (size_t i = 0; i < w.defs.n; i++) mem_free(w.defs.at[i]);
    vec_release(&w.defs);
}
