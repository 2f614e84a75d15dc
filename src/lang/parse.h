/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the parser: its state and the functions its three files share. A parse function returns
 * NULL after reporting; the statement loop then skips to the next `;` or closing brace, and no
 * other error is reported until it got there (`panic`).
 */
#ifndef LANG_PARSE_H
#define LANG_PARSE_H
#include "lang/ast.h"
#include "lang/lex.h"

enum { LOOKAHEAD = 4, MAX_NESTING = 2000, MAX_HEIGHT = 4000 };

/* Binding powers, weakest first. */
enum prec { PREC_OR = 1, PREC_AND, PREC_EQ, PREC_CMP, PREC_SUM, PREC_TERM, PREC_UNARY, PREC_POW };

/* Where a statement stands: what `x = e` means, and whether `define` and `<-` may occur. */
enum place { PLACE_TOP, PLACE_FOR, PLACE_BLOCK, PLACE_DO };

/* The model expression or quasiquotation being parsed; collects its unquotes. */
struct model_ctx {
    struct model_ctx *parent;
    bool quasi;
    VEC(struct ast *) splices;
};

/* An argument or list item under construction. */
struct item {
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
    int parens, parens_at_error; /* parentheses and square brackets open; when an error was met */
    int lost; /* of those, left open by statements that failed: their closers are no news */
    bool trailing_comma; /* the list parsed last ended in a comma */
    bool panic;          /* an error was reported; silence until recovery */
    bool failed;         /* some error was reported */
    bool interactive;    /* running out of text is not an error */
    bool incomplete;
    enum { PROB_UNKNOWN, PROB_QUERY, PROB_OWN } prob; /* what prob(...) means in this unit */
    struct model_ctx *model;
    VEC(struct item) items;  /* stack of arguments under construction */
    VEC(struct ast *) stmts; /* of statements */
    VEC(struct sym *) names; /* of names */
};

/* parse.c: tokens, errors, nodes */
const struct token *peek(struct parser *p, unsigned k);
#define tok(p) (&(p)->tok[0])
void advance(struct parser *p);
bool accept(struct parser *p, enum tok_kind kind);
struct span tok_span(const struct parser *p, const struct token *t);
struct span span_from(const struct parser *p, uint32_t start); /* to the last token taken */
/* Reports unless in panic; true when a diagnostic was stored (labels and help may follow). */
bool perr(struct parser *p, enum diag_code code, struct span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool perr_found(struct parser *p, const char *expected); /* "expected ..., found ..." */
/* The same for those who give up: NULL (also as false). `help`: a help line, or NULL. */
void *fail(struct parser *p, enum diag_code code, struct span at, const char *help, const char *fmt,
           ...) __attribute__((format(printf, 5, 6)));
void *fail_found(struct parser *p, const char *expected);
/* Takes a token of that kind; `what` was expected otherwise. */
bool expect(struct parser *p, enum tok_kind kind, const char *what);
/* Takes the closing bracket, or explains; false on error. `inside`: what else could stand here. */
bool close_bracket(struct parser *p, enum tok_kind kind, struct span open, const char *inside);
bool unclosed(struct parser *p, struct span open); /* reports; false */
bool enter(struct parser *p);
#define leave(p) ((p)->depth--)
bool is_reserved(enum tok_word w);
struct sym *take_name(struct parser *p, const char *what);
struct sym *tok_sym(struct parser *p, const struct token *t);
/* `( names )`; the names are pushed on p->names. */
bool parse_names(struct parser *p, const char *what);
struct sym **copy_names(struct parser *p, size_t base, uint32_t *n);
enum tok_kind after_names(const struct parser *p); /* the token after `(names)`, TOK_EOF: not so */

struct ast *node(struct parser *p, enum ast_kind kind, uint32_t start);
bool set_kids(struct parser *p, struct ast *a, struct ast *const *kids, size_t n);
/* A node with its kids, or NULL when it is too high. */
struct ast *make(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *const *kids,
                 size_t n);
struct ast *node1(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *a);
struct ast *name_node(struct parser *p, struct span at, const char *text, bool builtin);
struct ast *number_node(struct parser *p, struct span at, double x);
struct ast *call_builtin(struct parser *p, uint32_t start, struct span op, const char *fn,
                         struct ast *const *args, size_t n);
void name_lambda(struct ast *e, struct sym *name);

/* parse_stmt.c */
/* { [statement] ";" } [statement], up to `closer` (not taken); what fails is skipped. *trailing: a
 * `;` ends it. */
void parse_statements(struct parser *p, enum place place, enum tok_kind closer, struct span open,
                      bool *trailing);
/* One statement, pushed on p->stmts (a top-level letrec pushes several); false on error. */
bool parse_statement(struct parser *p, enum place place);
struct ast *parse_body(struct parser *p, enum tok_kind closer, struct span open);
struct ast *parse_block(struct parser *p, const char *of);
struct ast *make_block(struct parser *p, size_t base, bool trailing, bool action, uint32_t start);
bool labelled_ahead(struct parser *p);
struct ast *parse_labelled(struct parser *p); /* [label :] directive, or an expression */
bool instruction_ahead(struct parser *p);
unsigned line_of(struct parser *p, const struct token *t);

/* parse_expr.c */
struct ast *bool_node(struct parser *p, struct span at, bool b);
struct ast *string_node(struct parser *p, enum ast_kind kind, uint32_t start);
/* l && r, or l || r: a conditional; `at`: the operator. */
struct ast *lazy(struct parser *p, bool and, struct span at, struct ast *l, struct ast *r);
struct ast *parse_expr(struct parser *p);
struct ast *parse_primary(struct parser *p);
struct ast *parse_applicative(struct parser *p);
/* Goes on from a complete left operand: calls, indices, operators, tags. */
struct ast *parse_from(struct parser *p, uint32_t start, struct ast *left);
bool starts_expr(const struct token *t);
bool parse_args(struct parser *p, enum tok_kind closer, struct span open, bool keywords);
struct ast *parse_if(struct parser *p);

/* parse_hint.c: adds a help line to the error just reported; `before`: the statement so far, or
 * NULL */
void hint(struct parser *p, const struct ast *before);

/* parse_special.c */
bool directive_ahead(struct parser *p);
struct ast *parse_directive(struct parser *p);
/* A call of a name with a syntax of its own; *special false: it is an ordinary call. */
struct ast *parse_special(struct parser *p, bool *special);
struct ast *parse_quasi(struct parser *p);
struct ast *parse_dollar(struct parser *p);
struct ast *parse_path(struct parser *p);
/* array(...) of the items from `base` on, with its ellipsis; `fn`: array, list or vector. */
struct ast *make_sequence(struct parser *p, size_t base, uint32_t start, struct span op,
                          const char *fn, bool builtin);
#endif
