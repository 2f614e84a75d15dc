/* SPDX-License-Identifier: Apache-2.0
 * See units.h. */
#include "base/units.h"
#include "base/ascii.h"
#include <string.h>

const struct time_unit time_units[UNITS] = {
    {"second", "s", 1.0 / 86400, 1 / (86400 * DAYS_PER_YEAR)},
    {"minute", "min", 1.0 / 1440, 1 / (1440 * DAYS_PER_YEAR)},
    {"hour", "h", 1.0 / 24, 1 / (24 * DAYS_PER_YEAR)},
    {"day", "d", 1, 1 / DAYS_PER_YEAR},
    {"week", "w", 7, 7 / DAYS_PER_YEAR},
    {"month", "month", DAYS_PER_YEAR / 12, 1.0 / 12},
    {"quarter", "quarter", DAYS_PER_YEAR / 4, 0.25},
    {"year", "year", DAYS_PER_YEAR, 1},
};

static bool is_name(const char *name, const char *text, size_t n) {
    return n == strlen(name) && !ascii_ncasecmp(text, name, n);
}

const struct time_unit *unit_find(const char *text, size_t n, bool brief) {
    size_t one = n > 1 && ascii_lower(text[n - 1]) == 's' ? n - 1 : n;
    for (size_t i = 0; i < UNITS; i++) {
        const struct time_unit *u = &time_units[i];
        if (is_name(u->name, text, n) || is_name(u->name, text, one)) return u;
        if (brief && (is_name(u->brief, text, n) || is_name(u->brief, text, one))) return u;
    }
    return brief && is_name("sec", text, one) ? &time_units[UNIT_SECOND] : NULL;
}
