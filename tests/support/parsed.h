/* SPDX-License-Identifier: Apache-2.0
 *
 * One parsed text with everything it needs, for tests of the front end; and equality of trees,
 * which disregards spans.
 */
#ifndef SUPPORT_PARSED_H
#define SUPPORT_PARSED_H
#include "language/lang/ast.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parsed {
    struct sources sources;
    struct diags diags;
    struct arena arena;
    struct sym_table syms;
    enum gpm_status st;
    struct ast *program; /* NULL unless st is GPM_OK */
};

static inline void parsed_init(struct parsed *p) {
    memset(p, 0, sizeof *p);
    p->diags.sources = &p->sources;
}

static inline enum gpm_status parsed_add(struct parsed *p, const char *text, size_t len,
                                         bool interactive) {
    uint32_t unit = sources_add(&p->sources, "test", text, len);
    p->program = NULL;
    p->st = parse_program(&p->arena, NULL, &p->syms, &p->diags, unit, interactive, &p->program);
    return p->st;
}

static inline void parsed_release(struct parsed *p) {
    diags_release(&p->diags);
    sources_release(&p->sources);
    arena_release(&p->arena);
    sym_table_release(&p->syms);
}

static inline bool tree_same_names(struct sym *const *a, uint32_t n, struct sym *const *b,
                                   uint32_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static inline bool tree_equal(const struct ast *a, const struct ast *b);

static inline bool tree_same_payload(const struct ast *a, const struct ast *b) {
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM: return a->u.number == b->u.number;
    case AST_BOOL: return a->u.boolean == b->u.boolean;
    case AST_STRING:
    case AST_LOAD:
        return a->u.string.len == b->u.string.len &&
               memcmp(a->u.string.text, b->u.string.text, a->u.string.len) == 0;
    case AST_NAME:
        return a->u.name.sym == b->u.name.sym && a->u.name.builtin == b->u.name.builtin &&
               a->u.name.depth == b->u.name.depth && a->u.name.slot == b->u.name.slot &&
               a->u.name.global_first == b->u.name.global_first;
    case AST_CALL:
        if (!a->u.call.kw != !b->u.call.kw) return false;
        return !a->u.call.kw || (tree_same_names(a->u.call.kw, a->n - 1, b->u.call.kw, b->n - 1) &&
                                 memcmp(a->u.call.kw_real, b->u.call.kw_real, a->n - 1) == 0);
    case AST_LAMBDA:
        return tree_same_names(a->u.lambda.params, a->u.lambda.n_params, b->u.lambda.params,
                               b->u.lambda.n_params) &&
               a->u.lambda.self == b->u.lambda.self;
    case AST_BLOCK:
        return a->u.block.action == b->u.block.action && a->u.block.n_slots == b->u.block.n_slots;
    case AST_LET:
    case AST_LETREC:
    case AST_BIND:
    case AST_FOR:
    case AST_DEFINE:
        return tree_same_names(a->u.bind.names, a->u.bind.n_names, b->u.bind.names,
                               b->u.bind.n_names) &&
               a->u.bind.slot == b->u.bind.slot;
    case AST_UNQUOTE:
        return a->u.unquote.slot == b->u.unquote.slot && a->u.unquote.depth == b->u.unquote.depth &&
               a->u.unquote.constant == b->u.unquote.constant;
    case AST_MODEL:
    case AST_QUASI: return a->u.model.n_splices == b->u.model.n_splices;
    case AST_DIRECTIVE:
        return a->u.dir.kind == b->u.dir.kind && a->u.dir.label == b->u.dir.label &&
               tree_same_names(a->u.dir.names, a->u.dir.n_names, b->u.dir.names,
                               b->u.dir.n_names) &&
               tree_equal(a->u.dir.label_expr, b->u.dir.label_expr) &&
               tree_equal(a->u.dir.name_expr, b->u.dir.name_expr);
    default: return true;
    }
}

static inline bool tree_equal(const struct ast *a, const struct ast *b) {
    if (!a || !b) return a == b;
    if (a->kind != b->kind || a->n != b->n || !tree_same_payload(a, b)) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!tree_equal(a->kids[i], b->kids[i])) return false;
    return true;
}

/* A whole file, NUL-terminated; NULL when it cannot be read. */
static inline char *read_whole(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    struct buf b = BUF_INIT;
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0) buf_add(&b, part, n);
    fclose(f);
    *len = b.len;
    return buf_take(&b);
}
#endif
