/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of HTML pages: the page of one series (discovery_html), and of several (panel_html).
 * Whatever comes from the data is escaped here.
 */
#ifndef DISCOVER_REPORT_HTML_H
#define DISCOVER_REPORT_HTML_H
#include "apps/discover/discovery.h"

/* The page up to its heading "TITLE NAME", and its end. */
void html_begin(const char *title, const char *name, struct buf *out);
void html_end(struct buf *out);
/* What was read, what was found, has it settled. */
void html_summary(const struct discovery *d, struct buf *out);
/* Data and forecast; id: one of the page's own. */
void html_forecast(const struct discovery *d, const char *id, struct buf *out);
void html_forecast_table(const struct discovery *d, struct buf *out);
/* Components and effects in words, and (on a page of one series) as charts. */
void html_components(const struct discovery *d, bool charts, struct buf *out);
#endif
