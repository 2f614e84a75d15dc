/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the parser: its state and the functions its files share. A parse function reports a syntax
 * error and does not return. It jumps to the innermost statement loop (give_up), which drops the
 * statement's stack entries and skips to the next `;` or closing brace. Until then no other error
 * is reported (`panic`). Therefore everything a parse function allocates is in the arena or on a
 * stack of the parser. */
#ifndef LANG_PARSE_H
#define LANG_PARSE_H
#include "language/lang/ast.h"
#include "language/lang/lex.h"
#include "base/map.h"
#include <setjmp.h>

enum { LOOKAHEAD = 4, MAX_NESTING = 2000, MAX_HEIGHT = 4000 };

/* Binding powers, weakest first. */
enum prec { PREC_OR = 1, PREC_AND, PREC_EQ, PREC_CMP, PREC_SUM, PREC_TERM, PREC_UNARY, PREC_POW };

/* Where a statement stands: what `x = e` means, and whether `define` and `<-` may occur. */
enum place { PLACE_TOP, PLACE_FOR, PLACE_BLOCK, PLACE_DO };

/* What the text is part of: the inference program, a model expression in it, a quasiquotation in
 * it. None of the last two holds another; what they unquote belongs to the program again. */
enum within { PROGRAM, MODEL, QUASI };

/* An argument or list item under construction. */
struct list_item {
    struct ast *e; /* NULL: the ellipsis */
    struct sym *kw;
    bool kw_real;
    struct span at;
};

struct parser {
    struct arena *arena;
    struct code *code; /* what its nodes belong to */
    struct sym_table *syms;
    struct diags *diags;
    uint32_t unit;
    struct lexer lx;
    struct token tok[LOOKAHEAD]; /* tok[0] is the current token */
    unsigned n_tok;
    uint32_t prev_end; /* where the token before the current one ended */
    unsigned depth;
    int parens, parens_at_error; /* open parentheses and square brackets; at the last error */
    int lost; /* of those, left open by failed statements: their closers cause no error */
    bool trailing_comma; /* the last list ended in a comma */
    bool panic;          /* an error was reported; silence until recovery */
    unsigned failed;     /* errors reported */
    bool interactive;    /* the end of the text is not an error */
    bool incomplete;
    enum { PROB_UNKNOWN, PROB_QUERY, PROB_OWN } prob; /* the meaning of prob(...) in this unit */
    jmp_buf *catcher;                                 /* where parsing continues after an error */
    enum within within;
    size_t first_splice;         /* of the innermost model expression or quasiquotation */
    VEC(struct ast *) splices;   /* stack of unquotes in unfinished models and quotations */
    VEC(struct list_item) items; /* of arguments under construction */
    VEC(struct ast *) stmts;     /* of statements */
    VEC(struct sym *) names;     /* of names */
    struct map seen;             /* names of the list being checked for duplicates */
};

/* parse.c: tokens, errors, nodes */
const struct token *peek(struct parser *p, unsigned k);
#define tok(p) (&(p)->tok[0])
void advance(struct parser *p);
struct span take(struct parser *p); /* advances; returns the span of the token taken */
bool accept(struct parser *p, enum tok_kind kind);
struct span here(const struct parser *p);                      /* the current token */
struct span span_from(const struct parser *p, uint32_t start); /* to the last token taken */
/* Reports unless in panic; true if a diagnostic was stored (labels may follow). `help`: a help
 * line, or NULL. */
bool perr(struct parser *p, enum diag_code code, struct span at, const char *help, const char *fmt,
          ...) __attribute__((format(printf, 5, 6)));
bool perr_found(struct parser *p, const char *expected); /* "expected ..., found ..." */
/* Ends the statement after a reported error. */
_Noreturn void give_up(struct parser *p);
/* Reports and gives up. */
_Noreturn void fail(struct parser *p, enum diag_code code, struct span at, const char *help,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
_Noreturn void fail_found(struct parser *p, const char *expected);
_Noreturn void unclosed(struct parser *p, struct span open);
/* Takes a token of that kind, or reports that `what` was expected. */
void expect(struct parser *p, enum tok_kind kind, const char *what);
bool is_closer(enum tok_kind k);
/* Takes the closing bracket, or reports an error. `inside`: what else may be here. */
void close_bracket(struct parser *p, enum tok_kind kind, struct span open, const char *inside);
void enter(struct parser *p);
#define leave(p) ((p)->depth--)
bool is_reserved(enum tok_word w);
struct sym *take_name(struct parser *p, const char *what);
struct sym *tok_sym(struct parser *p, const struct token *t);
/* NAME or `( names )`; the names are pushed on p->names. */
void parse_names(struct parser *p, const char *what);
struct sym **copy_names(struct parser *p, size_t base, uint32_t *n);
enum tok_kind after_names(const struct parser *p); /* the token after `(names)`, or TOK_EOF */

struct ast *node_at(struct parser *p, enum ast_kind kind, struct span at);
struct ast *node(struct parser *p, enum ast_kind kind, uint32_t start); /* to the last token */
/* Sets the children of the node; returns it. */
struct ast *set_kids(struct parser *p, struct ast *a, struct ast *const *kids, size_t n);
struct ast *make(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *const *kids,
                 size_t n);
struct ast *node1(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *a);
struct ast *name_node(struct parser *p, struct span at, struct sym *name);
struct ast *quoted_name(struct parser *p, struct span at, struct sym *name);
struct ast *pass_node(struct parser *p, struct span at); /* the action that does nothing */
struct ast *number_node(struct parser *p, struct span at, double x);
struct ast *call_builtin(struct parser *p, uint32_t start, struct span op, const char *fn,
                         struct ast *const *args, size_t n);
void name_lambda(struct ast *e, struct sym *name);

/* parse_stmt.c */
/* { [statement] ";" } [statement], up to `closer` (not taken); failed statements are skipped.
 * *trailing: it ends with `;`. */
void parse_statements(struct parser *p, enum place place, enum tok_kind closer, struct span open,
                      bool *trailing);
/* One statement, pushed on p->stmts (a top-level letrec pushes several). */
void parse_statement(struct parser *p, enum place place);
struct ast *parse_body(struct parser *p, enum tok_kind closer, struct span open);
struct ast *parse_block(struct parser *p, const char *of);
struct ast *make_block(struct parser *p, size_t base, bool trailing, bool action, uint32_t start);
bool labelled_ahead(struct parser *p);
struct ast *parse_labelled(struct parser *p); /* [label :] directive, or an expression */
bool instruction_ahead(struct parser *p);
unsigned line_of(struct parser *p); /* the current token */

/* parse_expr.c */
struct ast *bool_node(struct parser *p, struct span at, bool b);
struct ast *string_node(struct parser *p, enum ast_kind kind, uint32_t start);
/* l && r, or l || r: a conditional; `at`: the operator. */
struct ast *lazy(struct parser *p, bool and, struct span at, struct ast *l, struct ast *r);
struct ast *parse_expr(struct parser *p);
struct ast *parse_primary(struct parser *p);
struct ast *parse_applicative(struct parser *p);
/* Continues after a complete left operand: calls, indices, operators, tags. */
struct ast *parse_from(struct parser *p, uint32_t start, struct ast *left);
bool starts_expr(const struct token *t);
void parse_args(struct parser *p, enum tok_kind closer, struct span open, bool keywords);
struct ast *parse_call(struct parser *p, struct ast *callee); /* at its parenthesis */

/* parse_hint.c: adds a help line to the error just reported; `before`: the statement up to there,
 * or NULL */
void hint(struct parser *p, const struct ast *before);

/* parse_special.c */
bool directive_ahead(struct parser *p);
struct ast *parse_directive(struct parser *p);
/* Parses a name before a parenthesis with its own syntax, or `$`, `[|`; NULL for other names. */
struct ast *parse_special(struct parser *p);
struct ast *parse_path(struct parser *p);
/* array(...) of the items from `base` on, with its ellipsis; `fn`: array, list or vector. */
struct ast *make_sequence(struct parser *p, size_t base, uint32_t start, struct span op,
                          const char *fn, bool builtin);
#endif
