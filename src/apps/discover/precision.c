/* SPDX-License-Identifier: Apache-2.0
 *
 * See precision.h.
 */
#include "apps/discover/precision.h"
#include <string.h>

const char *const precision_names[PRECISIONS] = {"normal", "low", "high"};

#ifdef GPMEM_ABLATION
#include "base/number.h"
#include <stdlib.h>

/* GPMEM_PRECISION="field=value,field=value" in place of what the table says. */
static void ablate(struct precision *p) {
    for (const char *at = getenv("GPMEM_PRECISION"); at && *at; at = strchr(at, ',')) {
        if (*at == ',') at++;
#define TAKE(name, low, normal, high)                                                              \
    if (!strncmp(at, #name "=", sizeof #name)) p->name = number_read(at + sizeof #name, NULL);
        PRECISION_FIELDS(TAKE)
#undef TAKE
    }
}
#endif

bool precision_find(const char *name, enum precision_choice *out) {
    for (int i = 0; i < PRECISIONS; i++) {
        if (strcmp(name, precision_names[i])) continue;
        *out = (enum precision_choice)i;
        return true;
    }
    return false;
}

struct precision precision_of(enum precision_choice which) {
    const double INF = INFINITY;
#define NORMAL(name, low, normal, high) .name = normal,
#define LOW(name, low, normal, high)    .name = low,
#define HIGH(name, low, normal, high)   .name = high,
    struct precision all[PRECISIONS] = {
        {PRECISION_FIELDS(NORMAL)}, {PRECISION_FIELDS(LOW)}, {PRECISION_FIELDS(HIGH)}};
#ifdef GPMEM_ABLATION
    ablate(&all[which]);
#endif
    return all[which];
}
