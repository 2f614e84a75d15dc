/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the lexer, parser, resolver and renderer: any bytes give a tree or diagnostics,
 * and a tree printed and parsed again is the same tree, and so is that of the text laid out anew.
 * Run: fuzz_parse -dict=parse.dict corpus/parse
 */
#include "language/lang/format.h"
#include "support/parsed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_format(struct parsed *p, const struct ast *first, const char *text, size_t len) {
    struct buf a = BUF_INIT, b = BUF_INIT;
    char *whole = mem_strndup(text, len);
    format_text(whole, len, &a);
    if (parsed_add(p, a.data, a.len, false) != GPM_OK || !tree_equal(first, p->program)) abort();
    format_text(a.data, a.len, &b);
    if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0) abort();
    mem_free(whole);
    buf_release(&a);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct parsed p;
    struct buf b = BUF_INIT, again = BUF_INIT;
    parsed_init(&p);
    bool interactive = size > 0 && data[size - 1] == '?';
    if (parsed_add(&p, (const char *)data, size, interactive) == GPM_OK) {
        struct ast *first = p.program;
        check_format(&p, first, (const char *)data, size);
        ast_print(first, &b);
        if (parsed_add(&p, b.data, b.len, false) == GPM_OK) {
            if (!tree_equal(first, p.program)) abort();
            ast_print(p.program, &again);
            if (strcmp(b.data, again.data) != 0) abort();
        } else if (p.diags.list.n == 0 || vec_last(&p.diags.list)->code != DIAG_TOO_DEEP) {
            abort(); /* the printed form has more brackets; nothing else may go wrong */
        }
    } else if (p.st == GPM_E_USER && p.diags.list.n == 0) {
        abort(); /* failure without a word */
    }
    buf_reset(&b);
    diags_render(&p.diags, true, &b);
    diags_render_json(&p.diags, &b);
    buf_release(&b);
    buf_release(&again);
    parsed_release(&p);
    return 0;
}
