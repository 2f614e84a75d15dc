/* SPDX-License-Identifier: Apache-2.0
 * The reader of kernels as text, for the readers that build on it (queries). */
#ifndef GP_KERN_TEXT_H
#define GP_KERN_TEXT_H
#include "gp/kernel.h"

struct kern_reader {
    const char *text, *at;
    int depth;
    bool query;     /* names in any case, and short ones */
    struct buf why; /* "column 7: ..."; not empty: failed */
};

/* The first failure is kept; NULL, for whoever returns a pointer. */
void *kern_fail(struct kern_reader *p, const char *fmt, const char *what);
char kern_peek(struct kern_reader *p); /* after blanks; 0 at the end */
bool kern_accept(struct kern_reader *p, char c);
bool kern_expect(struct kern_reader *p, char c);
size_t kern_word(struct kern_reader *p); /* length of the name that stands there, or 0 */
/* A sum as in kern_parse, or NULL; what follows is left. */
struct kern *kern_read_sum(struct kern_reader *p);
#endif
