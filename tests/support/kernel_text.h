/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SUPPORT_KERNEL_TEXT_H
#define SUPPORT_KERNEL_TEXT_H
#include "base/mem.h"
#include "gp/kernel/kernel.h"
#include "support/check.h"

/* The kernel that a text stands for; a text that does not parse fails the test. */
static inline struct kern *kernel_of(const char *text) {
    struct kern *k = NULL;
    char *why = NULL;
    if (kern_parse(text, &k, &why)) fail_msg("%s: %s", text, why ? why : "?");
    mem_free(why);
    return k;
}
#endif
