/* SPDX-License-Identifier: Apache-2.0
 *
 * A lint of tables of series: typical errors and habits of tables, seen from the values alone,
 * each with what its author may do about it. No search is made, and nothing is changed: only the
 * author of a table knows which of them are errors.
 */
#ifndef CHECK_REMARKS_H
#define CHECK_REMARKS_H
#include "apps/discover/discovery.h"
#include "apps/discover/panel.h"
#include "base/vec.h"

struct remark {
    const char *kind;        /* "unit": its name in JSON */
    struct buf seen, advice; /* sentences */
    VEC(double) at;          /* the values that it is about: their numbers, from 1 */
};
struct remarks {
    VEC(struct remark) of;
};
/* d: a series as discovery_start leaves it. */
void remarks_find(const struct discovery *d, struct remarks *r);
void remarks_release(struct remarks *r);

/* The number of remarks on the values of a run. */
size_t check_count(const struct discovery *run);
/* The remarks on the series of a file, as text or as JSON; how: where it has several, or NULL. */
GPM_MUST_USE enum gpm_status check_file(const char *path, const struct series_options *o,
                                        const struct panel_options *how, bool json, struct buf *out,
                                        struct buf *err);
#endif
