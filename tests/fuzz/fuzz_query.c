/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a query over structures.
 */
#include "base/mem.h"
#include "gp/kernel/kern_query.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct kern_query *q;
    struct buf err = BUF_INIT;
    char *text = mem_strndup((const char *)data, size);
    if (kern_query_parse(text, &a, &q, &err) == GPM_OK)
        kern_query_holds_text(q, "CP(LIN, SE) + LIN*SE*PER + WN");
    else if (err.len == 0)
        abort(); /* a refusal says why */
    arena_release(&a);
    buf_release(&err);
    mem_free(text);
    return 0;
}
