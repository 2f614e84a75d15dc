/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures from text: "LIN + SE*PER + WN", white noise may be missing.
 */
#ifndef TESTS_STRUCTURE_TEXT_H
#define TESTS_STRUCTURE_TEXT_H
#include "apps/discover/structure.h"
#include <stdlib.h>
#include <string.h>

static inline struct structure structure_of(const char *text) {
    struct structure s;
    unsigned mask = 0, white = factors_of(KERN_ROLE_WHITE);
    memset(&s, 0, sizeof s);
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, " *+");
        int f = factor_find(p, len);
        if (f == FACTOR_MAX || s.n == STRUCTURE_MAX_TERMS) abort();
        mask |= FACTOR_BIT(f);
        p += len;
        p += strspn(p, " ");
        if (*p != '*' && mask != white) s.t[s.n++] = (struct term){.mask = (uint16_t)mask};
        if (*p != '*') mask = 0;
        p += strspn(p, " *+");
    }
    structure_canonical(&s);
    return s;
}
#endif
