/* SPDX-License-Identifier: Apache-2.0
 *
 * Zones of times, by offset or by name.
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "table/times_int.h"
#include <math.h>
#include <string.h>

/* Zones by their names. With a partner a name is also that of another zone: where a column has
 * several names, it is understood beside the partner alone ("": beside none). */
static const struct zone_name {
    const char *name;
    int minutes;
    const char *partner;
} zone_names[] = {
    {"UTC", 0, NULL},     {"GMT", 0, NULL},     {"Z", 0, NULL},      {"WET", 0, NULL},
    {"WEST", 60, NULL},   {"BST", 60, "GMT"},   {"CET", 60, NULL},   {"CEST", 120, NULL},
    {"MEZ", 60, NULL},    {"MESZ", 120, NULL},  {"EET", 120, NULL},  {"EEST", 180, NULL},
    {"MSK", 180, NULL},   {"IST", 330, ""},     {"SGT", 480, NULL},  {"HKT", 480, NULL},
    {"AWST", 480, NULL},  {"JST", 540, NULL},   {"KST", 540, NULL},  {"ACST", 570, NULL},
    {"ACDT", 630, NULL},  {"AEST", 600, NULL},  {"AEDT", 660, NULL}, {"NZST", 720, NULL},
    {"NZDT", 780, NULL},  {"AST", -240, "ADT"}, {"ADT", -180, NULL}, {"EST", -300, NULL},
    {"EDT", -240, NULL},  {"CST", -360, "CDT"}, {"CDT", -300, NULL}, {"MST", -420, NULL},
    {"MDT", -360, NULL},  {"PST", -480, NULL},  {"PDT", -420, NULL}, {"AKST", -540, NULL},
    {"AKDT", -480, NULL}, {"HST", -600, NULL},
};

/* zone := name | ('+' | '-') HH [[':'] MM] */
bool time_zone_read(const char **p, struct time_parts *t) {
    int h, m = 0;
    for (size_t i = 0; i < COUNT_OF(zone_names); i++) {
        size_t n = strlen(zone_names[i].name);
        if (ascii_ncasecmp(*p, zone_names[i].name, n) || ascii_alpha((*p)[n])) continue;
        *p += n;
        t->zone = zone_names[i].minutes;
        t->zone_name = (int)i + 1;
        return true;
    }
    bool west = **p == '-';
    if (!west && **p != '+') return false;
    (*p)++;
    if (!time_digits(p, 2, 2, &h) || h > 14) return false;
    if (**p == ':') (*p)++;
    if (ascii_digit(**p) && (!time_digits(p, 2, 2, &m) || m > 59)) return false;
    t->zone = (west ? -1 : 1) * (60 * h + m);
    return true;
}

enum gpm_status time_zones_check(const char *pattern, size_t n, const char *const *cells,
                                 const double *x, struct buf *err) {
    const char *found[COUNT_OF(zone_names)] = {NULL};
    struct time_parts t;
    size_t several = 0;
    for (size_t i = 0; i < n; i++) {
        if (!cells[i] || isnan(x[i]) || !time_match_start(pattern, cells[i], &t, NULL)) continue;
        const char **name = t.zone_name ? &found[t.zone_name - 1] : NULL;
        if (name && !*name) *name = zone_names[t.zone_name - 1].name, several++;
    }
    for (size_t i = 0; i < COUNT_OF(found) && several > 1; i++) {
        const char *partner = found[i] ? zone_names[i].partner : NULL;
        for (size_t k = 0; partner && k < COUNT_OF(found); k++)
            if (k != i && found[k] && strcmp(found[k], partner))
                return buf_fail(err, GPM_E_FORMAT,
                                "the zone '%s' is that of several places, and '%s' beside it does "
                                "not tell which; write zones as +01:00",
                                found[i], found[k]);
    }
    return GPM_OK;
}
