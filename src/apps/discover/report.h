/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the documents of one series (discovery_report) and of several (panel_report).
 */
#ifndef DISCOVER_REPORT_H
#define DISCOVER_REPORT_H
#include "apps/discover/discovery.h"
#include "io/plot/doc.h"

void discovery_report(const struct discovery *d, enum doc_form form, struct buf *out);

/* What was read, what was found, has it settled. */
void report_summary(const struct discovery *d, struct doc *doc);
/* Data and forecast; id: one of the page's own. */
void report_forecast_chart(const struct discovery *d, const char *id, struct doc *doc);
void report_forecast_table(const struct discovery *d, struct doc *doc);
/* Components and effects in words, and (on a page of one series) as charts. */
void report_components(const struct discovery *d, bool charts, struct doc *doc);
/* "log", "root": what most of a structure's probability is of; "": the values. */
const char *report_transform(const struct post_entry *e);
/* A table of the posterior; what: its entries. */
void report_entries(const char *title, const char *more, const char *what,
                    const struct post_table *t, struct doc *doc);
/* Times in the form of the file, as a field of a JSON object: numbers, or dates as texts; unix
 * seconds are dates. */
void report_times(const char *name, const struct series *s, size_t n, const double *x,
                  struct buf *out);
#endif
