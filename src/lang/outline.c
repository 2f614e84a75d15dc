/* SPDX-License-Identifier: Apache-2.0
 *
 * See outline.h. Local names follow the scopes of resolve.c. Global ones (assume, define) are
 * gathered first; a use refers to the last definition before it, else to the first one after it
 * (a procedure may call what is assumed later).
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
    VEC(struct outline_def *) globals; /* in order of the text; owned */
    VEC(struct outline_def) locals;    /* innermost last */
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

static struct outline_def make_def(const struct walker *w, struct sym *sym, enum outline_kind kind,
                                   struct span search, struct span whole) {
    return (struct outline_def){sym, kind, find_name(w, search, sym), whole};
}

/* ---- globals ---- */

static void add_globals(struct walker *w, struct sym **names, uint32_t n, enum outline_kind kind,
                        struct span whole, const char *word) {
    for (uint32_t i = 0; i < n; i++) {
        if (!names[i]) continue;
        struct outline_def *d = NEW(struct outline_def);
        *d = make_def(w, names[i], kind, after_word(w, whole, word), whole);
        vec_push(&w->globals, d);
        w->each(w->user, d, d->at);
    }
}

static void gather(struct walker *w, const struct ast *a) {
    if (a->kind == AST_DEFINE) {
        add_globals(w, a->u.bind.names, a->u.bind.n_names, OUTLINE_DEFINE, a->span, "define");
    }
    if (a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_ASSUME) {
        add_globals(w, a->u.dir.names, a->u.dir.n_names, OUTLINE_ASSUME, a->span, "assume");
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->kids[i]) gather(w, a->kids[i]);
    }
}

static const struct outline_def *find_global(const struct walker *w, const struct sym *s,
                                             uint32_t at) {
    const struct outline_def *found = NULL;
    for (size_t i = 0; i < w->globals.n; i++) {
        const struct outline_def *d = w->globals.at[i];
        if (d->sym == s && (!found || d->at.start < at)) found = d;
    }
    return found;
}

/* ---- uses and locals ---- */

static void walk(struct walker *w, const struct ast *a);

static void walk_kids(struct walker *w, const struct ast *a) {
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->kids[i]) walk(w, a->kids[i]);
    }
}

static void bind_local(struct walker *w, struct sym *s, enum outline_kind kind, struct span search,
                       struct span whole) {
    if (!s) return;
    struct outline_def d = make_def(w, s, kind, search, whole);
    vec_push(&w->locals, d);
    w->each(w->user, &d, d.at);
}

static void walk_name(struct walker *w, const struct ast *a) {
    if (a->u.name.builtin || a->span.end <= a->span.start) return;
    for (size_t i = w->locals.n; i-- > 0;) {
        if (w->locals.at[i].sym == a->u.name.sym) {
            w->each(w->user, &w->locals.at[i], a->span);
            return;
        }
    }
    const struct outline_def *d = find_global(w, a->u.name.sym, a->span.start);
    if (d) w->each(w->user, d, a->span);
}

static void walk_lambda(struct walker *w, const struct ast *a) {
    size_t n = w->locals.n;
    struct span search = after_word(w, a->span, "proc");
    for (uint32_t i = 0; i < a->u.lambda.n_params; i++) {
        bind_local(w, a->u.lambda.params[i], OUTLINE_PARAMETER, search, a->span);
    }
    walk_kids(w, a);
    w->locals.n = n;
}

static void bind_statement(struct walker *w, const struct ast *s) {
    const char *word = s->kind == AST_LETREC ? "letrec" : "let";
    for (uint32_t i = 0; i < s->u.bind.n_names; i++) {
        bind_local(w, s->u.bind.names[i], OUTLINE_LET, after_word(w, s->span, word), s->span);
    }
}

static void walk_block(struct walker *w, const struct ast *a) {
    size_t n = w->locals.n;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct ast *s = a->kids[i];
        bool let = s->kind == AST_LET || s->kind == AST_BIND;
        if (s->kind == AST_LETREC) bind_statement(w, s);
        if (let || s->kind == AST_LETREC) {
            walk_kids(w, s);
        } else {
            walk(w, s);
        }
        if (let) bind_statement(w, s);
    }
    w->locals.n = n;
}

static void walk_for(struct walker *w, const struct ast *a) {
    size_t n = w->locals.n;
    walk(w, a->kids[0]);
    bind_local(w, a->u.bind.names[0], OUTLINE_LET, after_word(w, a->span, "for"), a->span);
    for (uint32_t i = 1; i < a->n; i++) walk(w, a->kids[i]);
    w->locals.n = n;
}

static void walk(struct walker *w, const struct ast *a) {
    switch (a->kind) {
    case AST_NAME: walk_name(w, a); break;
    case AST_LAMBDA: walk_lambda(w, a); break;
    case AST_BLOCK: walk_block(w, a); break;
    case AST_FOR: walk_for(w, a); break;
    case AST_DIRECTIVE:
        if (a->u.dir.label_expr) walk(w, a->u.dir.label_expr);
        if (a->u.dir.name_expr) walk(w, a->u.dir.name_expr);
        walk_kids(w, a);
        break;
    default: walk_kids(w, a); break;
    }
}

void outline_walk(const char *text, size_t len, const struct ast *program, outline_fn *each,
                  void *user) {
    struct walker w = {.text = text, .len = (uint32_t)len, .each = each, .user = user};
    gather(&w, program);
    walk(&w, program);
    for (size_t i = 0; i < w.globals.n; i++) mem_free(w.globals.at[i]);
    vec_release(&w.globals);
    vec_release(&w.locals);
}
