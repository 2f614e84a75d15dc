/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of a program and where they are defined, for editors. Needs no session.
 */
#ifndef GPMEM_OUTLINE_H
#define GPMEM_OUTLINE_H
#include "gpmem/gpmem.h"
#if defined(__cplusplus)
extern "C" {
#endif

enum gpm_name_kind { GPM_NAME_ASSUME, GPM_NAME_DEFINE, GPM_NAME_LET, GPM_NAME_PARAMETER };

/* One occurrence of a name that the text itself defines (also as the keyword of an argument);
 * offsets in bytes, [start, end). At the
 * definition both ranges are the same. [whole_start, whole_end): the defining instruction. */
struct gpm_name_place {
    const char *name;
    enum gpm_name_kind kind;
    size_t start, end;
    size_t def_start, def_end;
    size_t whole_start, whole_end;
};

/* Calls `each` for every occurrence, in no special order; `place` is valid during the call.
 * GPM_E_USER: the text does not parse (gpm_check_text says why). */
GPM_API enum gpm_status gpm_outline(const char *text, size_t len,
                                    void (*each)(void *user, const struct gpm_name_place *place),
                                    void *user);

enum gpm_token_kind {
    GPM_TOKEN_NAME,
    GPM_TOKEN_WORD, /* of the language */
    GPM_TOKEN_NUMBER,
    GPM_TOKEN_STRING,
    GPM_TOKEN_SIGN,
    GPM_TOKEN_COMMENT
};
/* Calls `each` for every token and comment of any text, in order; offsets in bytes, [start, end).
 */
GPM_API void gpm_tokens(const char *text, size_t len,
                        void (*each)(void *user, enum gpm_token_kind kind, size_t start,
                                     size_t end),
                        void *user);
#if defined(__cplusplus)
}
#endif
#endif
