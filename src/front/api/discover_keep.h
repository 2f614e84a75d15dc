/* SPDX-License-Identifier: Apache-2.0
 *
 * A search of structures that is saved while it runs (apps/discover/journal.h). The head of its
 * journal holds the request with its data. Resuming needs only the folder, so it can be moved, and
 * the data file may be gone. */
#ifndef API_DISCOVER_KEEP_H
#define API_DISCOVER_KEEP_H
#include "apps/discover/discovery.h"
#include "apps/discover/journal.h"
#include "gpmem/discover.h"

struct kept_search {
    enum gpm_discover_kept kind;
    const char *name, *text; /* text NULL: it is to be read from the file of that name */
    size_t len;
    struct gpm_discover_options o;
    struct gpm_panel_options how;
    struct journal *journal; /* NULL: it is not kept */
    bool read;               /* texts are owned: they come from a head */
    struct buf file;
};
/* k->kind, name, text, o and how are given; where k has no name they come from the journal in
 * k->o.keep. */
GPM_MUST_USE enum gpm_status kept_begin(struct kept_search *k, struct buf *err);
/* Opens the journal; without a folder it does nothing. */
GPM_MUST_USE enum gpm_status kept_open(struct kept_search *k, struct buf *err);
/* The same for the continuation of a run. */
GPM_MUST_USE enum gpm_status kept_open_more(struct kept_search *k, const struct discovery *d,
                                            struct buf *err);
/* st: how the search ended. */
void kept_end(struct kept_search *k, enum gpm_status st);
#endif
