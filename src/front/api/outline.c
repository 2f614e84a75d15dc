/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_outline: definitions and uses of the names in a text, for editors. language/lang/resolve.c
 * follows the scopes and says what is bound and used. Global names (assume, define) are gathered
 * first; a use refers to the last definition before it, else to the first one after it (a procedure
 * may call what is assumed later).
 */
#include "gpmem/outline.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/vec.h"
#include "language/lang/ast.h"
#include "language/lang/lex.h"
#include <string.h>

struct definition {
    const struct sym *sym;
    struct gpm_name_place place;
};

struct walker {
    const char *text;
    uint32_t len;
    VEC(struct definition *) defs; /* owned; the globals, in order of the text, then the locals */
    size_t n_globals;
    void (*each)(void *user, const struct gpm_name_place *place);
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

static void tell(const struct walker *w, struct definition *d, struct span at) {
    d->place.start = at.start;
    d->place.end = at.end;
    w->each(w->user, &d->place);
}

static struct definition *add_def(struct walker *w, struct sym *sym, enum gpm_name_kind kind,
                                  struct span whole, const char *word) {
    struct definition *d = NEW(struct definition);
    struct span at = find_name(w, after_word(w, whole, word), sym);
    d->sym = sym;
    d->place = (struct gpm_name_place){.name = sym->text,
                                       .kind = kind,
                                       .def_start = at.start,
                                       .def_end = at.end,
                                       .whole_start = whole.start,
                                       .whole_end = whole.end};
    vec_push(&w->defs, d);
    tell(w, d, at);
    return d;
}

static void outline_gather(struct walker *w, const struct ast *a) {
    bool define = a->kind == AST_DEFINE;
    bool assume = a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_ASSUME;
    struct sym **names = define ? a->u.bind.names : assume ? a->u.dir.names : NULL;
    uint32_t n = define ? a->u.bind.n_names : assume ? a->u.dir.n_names : 0;
    for (uint32_t i = 0; i < n; i++)
        add_def(w, names[i], define ? GPM_NAME_DEFINE : GPM_NAME_ASSUME, a->span,
                define ? "define" : "assume");
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) outline_gather(w, a->kids[i]);
}

static struct definition *find_global(const struct walker *w, const struct sym *s, uint32_t at) {
    struct definition *found = NULL;
    for (size_t i = 0; i < w->n_globals; i++) {
        struct definition *d = w->defs.at[i];
        if (d->sym == s && (!found || d->place.def_start < at)) found = d;
    }
    return found;
}

static void *bound(void *user, struct sym *s, const struct ast *by) {
    enum gpm_name_kind kind = by->kind == AST_LAMBDA ? GPM_NAME_PARAMETER : GPM_NAME_LET;
    return add_def(user, s, kind, by->span,
                   by->kind == AST_LAMBDA   ? "proc"
                   : by->kind == AST_LETREC ? "letrec"
                   : by->kind == AST_FOR    ? "for"
                                            : "let");
}

static void used(void *user, const struct ast *name, void *tag) {
    struct walker *w = user;
    if (name->u.name.builtin || name->span.end <= name->span.start) return;
    struct definition *d = tag ? tag : find_global(w, name->u.name.sym, name->span.start);
    if (d) tell(w, d, name->span);
}

/* f(alpha=1): the parameter of the procedure that f is defined as. */
static struct definition *parameter_of(const struct walker *w, const struct definition *f,
                                       const struct sym *name) {
    for (size_t i = w->n_globals; i < w->defs.n; i++) {
        struct definition *d = w->defs.at[i];
        if (d->sym == name && d->place.kind == GPM_NAME_PARAMETER &&
            d->place.def_start >= f->place.whole_start && d->place.def_end <= f->place.whole_end)
            return d;
    }
    return NULL;
}

static void tell_keywords(struct walker *w, const struct ast *a) {
    const struct ast *callee = a->kind == AST_CALL ? a->kids[0] : NULL;
    bool named = callee && callee->kind == AST_NAME && !callee->u.name.builtin && a->u.call.kw;
    const struct definition *f =
        named ? find_global(w, callee->u.name.sym, callee->span.start) : NULL;
    for (uint32_t i = 1; f && i < a->n; i++) {
        const struct sym *kw = a->u.call.kw[i - 1];
        struct definition *d = kw && a->kids[i] ? parameter_of(w, f, kw) : NULL;
        if (!d) continue;
        struct span before = {a->span.unit, a->kids[i - 1]->span.end, a->kids[i]->span.start};
        struct span at = find_name(w, before, kw);
        if (at.end > at.start) tell(w, d, at);
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) tell_keywords(w, a->kids[i]);
}

/* The program, a tree of parse_program, is good for nothing else afterwards. */
static void walk(struct walker *w, struct arena *arena, struct ast *program) {
    outline_gather(w, program);
    w->n_globals = w->defs.n;
    resolve_program(arena, program, &(struct resolve_hook){bound, used, w});
    tell_keywords(w, program);
    for (size_t i = 0; i < w->defs.n; i++) mem_free(w->defs.at[i]);
    vec_release(&w->defs);
}

enum gpm_status gpm_outline(const char *text, size_t len,
                            void (*each)(void *user, const struct gpm_name_place *place),
                            void *user) {
    struct walker w = {.text = text, .len = (uint32_t)len, .each = each, .user = user};
    struct arena arena = {0};
    struct sym_table syms = {0};
    struct sources sources = {0};
    struct diags diags = {.sources = &sources};
    struct ast *program = NULL;
    uint32_t unit = sources_add(&sources, "<outline>", text, len);
    enum gpm_status st = parse_program(&arena, NULL, &syms, &diags, unit, false, &program);
    if (st == GPM_OK) walk(&w, &arena, program);
    diags_release(&diags);
    sources_release(&sources);
    sym_table_release(&syms);
    arena_release(&arena);
    return st;
}

/* ---- tokens ---- */

struct token_teller {
    const char *text;
    void (*each)(void *user, enum gpm_token_kind kind, size_t start, size_t end);
    void *user;
};

/* Comments stand between tokens, beside blanks. */
static void tell_comments(const struct token_teller *t, uint32_t at, uint32_t end) {
    while (at < end) {
        uint32_t to = lex_comment_end(t->text, at, end);
        if (to > at) t->each(t->user, GPM_TOKEN_COMMENT, at, to);
        at = to > at ? to : at + 1;
    }
}

static enum gpm_token_kind kind_of(const struct token *t) {
    switch (t->kind) {
    case TOK_NAME: return t->word != WORD_NONE ? GPM_TOKEN_WORD : GPM_TOKEN_NAME;
    case TOK_NUMBER:
    case TOK_TYPED: return GPM_TOKEN_NUMBER;
    case TOK_STRING: return GPM_TOKEN_STRING;
    default: return GPM_TOKEN_SIGN;
    }
}

void gpm_tokens(const char *text, size_t len,
                void (*each)(void *user, enum gpm_token_kind kind, size_t start, size_t end),
                void *user) {
    struct token_teller teller = {text, each, user};
    struct lexer lx;
    lex_init(&lx, text, (uint32_t)len);
    for (;;) {
        uint32_t from = lx.pos;
        struct token t = lex_next(&lx);
        tell_comments(&teller, from, t.kind == TOK_EOF ? (uint32_t)len : t.start);
        if (t.kind == TOK_EOF) break;
        each(user, kind_of(&t), t.start, t.end);
        if (lx.pos <= from) break; /* cannot be */
    }
}
