/* SPDX-License-Identifier: Apache-2.0
 *
 * The syntax tree, after desugaring. Nodes live in the arena of their code, and every holder of a
 * node pointer counts a reference to that code. Every node has a span.
 *
 * Desugared by the parser: operators to calls of builtins (callee AST_NAME with `builtin` set, so a
 * user's own `add` does not capture `+`); `a && b`, `a || b`, and(..), or(..) to AST_IF; `a[i]` to
 * lookup(a, i); unary minus to sub(0, e) (a literal is folded); `[a, b]` to array(a, b);
 * `(a, b)` to list(ref(a), ref(b)); `e #t:v`, `tag(...)`, `tag_exclude(...)` to AST_TAG /
 * AST_TAG_OUT; `x -> e`, `proc` to AST_LAMBDA; `do(..)`, `begin(..)` to an action block; call forms
 * of directives
 * (`observe(e, v, l)`, `sample(e)`, ...) to AST_DIRECTIVE; `$x` to AST_UNQUOTE with `constant` set;
 * a selector path `/?t==v/...` to calls of by_tag, by_tag_value, by_star, by_walk, by_top;
 * `array(a, ..., b)` to _range(position of the ellipsis, items...), lists likewise in
 * to_list(..). */
#ifndef LANG_AST_H
#define LANG_AST_H
#include "base/arena.h"
#include "base/sym.h"
#include "language/lang/diag.h"
#include "language/lang/source.h"
#include <stdbool.h>

#define DATA_NAMES "_data_names" /* what `data n, y;` defines: the names of the data */

enum ast_kind {
    AST_NUMBER,
    AST_ATOM, /* atom<2> */
    AST_STRING,
    AST_BOOL,
    AST_NAME,
    AST_CALL,
    AST_LAMBDA,
    AST_IF,        /* kids: condition, then, else */
    AST_BLOCK,     /* statements; see `action` */
    AST_LET,       /* statement: names = kids[0]; several names destructure a multiple value */
    AST_LETREC,    /* statement: names[i] = kids[i], mutually recursive */
    AST_BIND,      /* statement: names[0] <- kids[0], monadic */
    AST_TAG,       /* kids: scope, block (NULL: unique per evaluation), expression */
    AST_TAG_OUT,   /* tag_exclude; kids: scope, expression */
    AST_QUOTE,     /* kids[0] as data */
    AST_QUASI,     /* [| e |]: kids[0] as data, with unquotes (slots as in AST_MODEL) */
    AST_UNQUOTE,   /* inside AST_MODEL or AST_QUASI: see u.unquote */
    AST_MODEL,     /* a model expression inside the inference program: kids[0]; splices */
    AST_DIRECTIVE, /* see enum directive */
    AST_FOR,       /* names[0] = loop variable; kids: start, condition, step value, body (block) */
    AST_DEFINE,    /* names = kids[0]; several names destructure a multiple value */
    AST_LOAD,      /* u.string = path */
    AST_PROGRAM    /* kids: instructions */
};

enum directive {              /* the first ones in the order of their words, lex.h */
                 DIR_ASSUME,  /* names, or name_expr for `assume $e = ..`; kids: model */
                 DIR_OBSERVE, /* kids: model, value (inference expression) */
                 DIR_PREDICT, /* kids: model */
                 DIR_SAMPLE,  /* kids: model */
                 DIR_FORCE,   /* kids: model, value */
                 DIR_INFER,   /* kids: action expression */
                 DIR_SAMPLE_ALL,
                 DIR_PREDICT_ALL,
                 DIR_COLLECT,       /* kids: models; names[i] is the label of column i or NULL */
                 DIR_EXTRACT_STATS, /* kids: model */
                 DIR_EXACT,         /* exact_posterior; kids: model */
                 DIR_CALL_BACK      /* label or label_expr: the callback; kids: models */
};

struct ast {
    enum ast_kind kind;
    struct span span;
    uint32_t n;        /* number of kids */
    uint32_t height;   /* height of the subtree; the parser limits it */
    struct ast **kids; /* for AST_CALL kids[0] is the callee, the rest the arguments */
    void *cache;       /* the evaluator's constant node of a literal; owned there */
    struct code *code; /* its code, counted by the evaluator; NULL if never evaluated */
    /* A node is allocated only as large as its kind needs. Never copy one by assignment, and use
     * only its kind's member. */
    union {
        double number; /* AST_NUMBER, AST_ATOM */
        bool boolean;  /* AST_BOOL */
        struct {
            const char *text;
            uint32_t len;
        } string; /* AST_STRING, AST_LOAD */
        struct {
            struct sym *sym;
            int32_t depth, slot;  /* set by resolve: frames up, slot; depth < 0: global */
            bool builtin;         /* always the builtin of that name */
            uint8_t global_first; /* model expressions between the name and the variable it may
                                     refer to: the globals of these models are searched first */
            bool inference; /* outside model expressions: a procedure used in a model keeps the
                               program's own definitions */
        } name;
        struct {
            struct sym **kw; /* NULL, or per argument its keyword (NULL: none); n - 1 entries */
            bool *kw_real;   /* per argument: `name=e` (true) or the decoration `name: e` */
        } call;
        struct {
            struct sym **params; /* one frame slot each */
            uint32_t n_params;
            struct sym *self; /* name it is bound to, for messages; may be NULL */
        } lambda;             /* kids[0]: body */
        struct {
            bool action;             /* an inference block: statements are run in order */
            uint32_t n_slots;        /* names it binds, set by resolve */
            struct sym **slot_names; /* set by resolve */
        } block;
        struct {
            struct sym **names;
            uint32_t n_names;
            uint32_t slot; /* first slot in the enclosing frame, set by resolve */
        } bind;            /* AST_LET, AST_LETREC, AST_BIND, AST_FOR, AST_DEFINE */
        struct {
            uint32_t slot; /* in the splice frame of the nearest AST_MODEL / AST_QUASI */
            int32_t depth; /* frames up to it, set by resolve */
            bool constant; /* $x: spliced as a constant even if it is code */
        } unquote;         /* kids[0]: inference expression */
        struct {
            struct ast **splices; /* the AST_UNQUOTE nodes inside, by slot */
            uint32_t n_splices;
        } model; /* AST_MODEL, AST_QUASI */
        struct {
            enum directive kind;
            struct sym **names; /* DIR_ASSUME: names bound; DIR_COLLECT: labels */
            uint32_t n_names;
            struct sym *label;      /* or NULL */
            struct ast *label_expr; /* `$e: ...`, or NULL */
            struct ast *name_expr;  /* `assume $e = ..`, or NULL */
        } dir;
    } u;
};

/* Frames at run time, as resolve numbers them: a lambda call opens a frame of n_params slots
 * (also when 0); a block opens one of n_slots when n_slots > 0 (none otherwise); AST_FOR opens one
 * of one slot; AST_MODEL and AST_QUASI open one of n_splices slots, always (even when 0), around
 * their expression; the splice expressions themselves are resolved outside that frame. The
 * inference top level has no frame: its names are globals (depth < 0). */

/* Parses a whole unit. On GPM_OK *out is an AST_PROGRAM, resolved. Errors go to `diags`.
 * GPM_E_INCOMPLETE (without diagnostic): `interactive`, and the text ends inside an open
 * construct. */
enum gpm_status parse_program(struct arena *arena, struct code *code, struct sym_table *syms,
                              struct diags *diags, uint32_t unit, bool interactive,
                              struct ast **out) GPM_MUST_USE;

/* Hooks for code that tracks names; quoted code counts like any other. */
struct resolve_hook {
    void *(*bound)(void *user, struct sym *s, const struct ast *by); /* gives `tag` of `used` */
    void (*used)(void *user, const struct ast *name, void *tag);     /* tag NULL: not local */
    void *user;
};

/* Resolves the names of a tree. parse_program does so, and code built at run time needs it, too.
 * hook: NULL, or called for every name. */
void resolve_program(struct arena *arena, struct ast *program, const struct resolve_hook *hook);

/* Is it a call of the builtin with that name, even if the program redefines the name? */
bool ast_calls(const struct ast *a, const char *builtin);

/* Prints a tree as VentureScript source that parses back to an equal tree. */
void ast_print(const struct ast *a, struct buf *out);
#endif
