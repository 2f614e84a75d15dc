/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions and uses of the names in a parsed unit, for editors (go to definition).
 */
#ifndef LANG_OUTLINE_H
#define LANG_OUTLINE_H
#include "lang/ast.h"

enum outline_kind { OUTLINE_ASSUME, OUTLINE_DEFINE, OUTLINE_LET, OUTLINE_PARAMETER };

struct outline_def {
    struct sym *sym;
    enum outline_kind kind;
    struct span at;    /* the name where it is defined */
    struct span whole; /* the construct that defines it */
};

typedef void outline_fn(void *user, const struct outline_def *def, struct span at);

/* Calls `each` for every definition (at its own place) and every use of a name that `text`
 * defines. `program` is a tree of parse_program; it is good for nothing else afterwards. */
void outline_walk(const char *text, size_t len, struct ast *program, outline_fn *each, void *user);
#endif
