/* SPDX-License-Identifier: Apache-2.0
 *
 * Several series of one file: by the value of a column (long form), or a column each (wide form).
 * Every series is a run of its own; where several share a kind of component, its hyper-parameters
 * get a common prior (hyper.h) and the search is made again.
 */
#ifndef DISCOVER_PANEL_H
#define DISCOVER_PANEL_H
#include "apps/discover/discovery.h"
#include "io/plot/doc.h"

struct panel_member {
    char *key;           /* value of the column, or the column's name */
    struct discovery *d; /* where `place` said; valid when error is NULL */
    char *error;         /* why there is no run */
};
struct panel {
    char *name, *by; /* by: NULL for a wide file */
    struct panel_member *at;
    size_t n;
    struct hyper_priors shared;
    bool second; /* the shared priors were used */
};
struct panel_options {
    const char *by;   /* column; NULL: every column but that of times is a series */
    bool independent; /* nothing is shared */
    const char *text; /* of the file; NULL: it is read */
    size_t len;
    const char *keep; /* the folder that panel_save will be given: refused before the work */
};
/* Storage for member i, zeroed, which outlives the panel's use of it. */
typedef struct discovery *(*panel_place)(void *ctx, size_t i);

/* GPM_OK when at least one series has a run. */
GPM_MUST_USE enum gpm_status panel_run(struct panel *p, const char *path,
                                       const struct discovery_options *o,
                                       const struct panel_options *how, panel_place place,
                                       void *ctx, struct buf *err);
/* The series alone: keys and errors of the members, *series one each (the caller releases those
 * without an error, and the block). */
GPM_MUST_USE enum gpm_status panel_read(struct panel *p, const char *path,
                                        const struct series_options *o,
                                        const struct panel_options *how, struct series **series,
                                        struct buf *err);
void panel_release(struct panel *p); /* not the runs */
/* Each run into a folder of its own below dir, by its key. */
GPM_MUST_USE enum gpm_status panel_save(const struct panel *p, const char *dir, struct buf *err);
void panel_report(const struct panel *p, enum doc_form form, struct buf *out);
void panel_json(const struct panel *p, struct buf *out);
#endif
