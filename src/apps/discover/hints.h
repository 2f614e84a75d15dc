/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of values before any structure: typical errors and habits in tables, reported with a
 * remedy. */
#ifndef DISCOVER_HINTS_H
#define DISCOVER_HINTS_H
#include "apps/discover/discovery.h"

/* Sentences, each after a blank where there is something before it; nothing where none applies. */
void hint_units(const struct discovery *d, struct buf *out);   /* a factor of 100, 1000, ... */
void hint_counter(const struct discovery *d, struct buf *out); /* totals that only grow */
void hint_shots(const struct discovery *d, struct buf *out);   /* sudden rises, again and again */
void hint_feast(const struct discovery *d, struct buf *out);   /* outliers at one time of years */
#endif
