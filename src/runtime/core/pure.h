/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure procedures: compound procedures that draw nothing, keep nothing and call nothing but such
 * procedures and plain rows. Their values follow from their arguments and from the nodes that they
 * read by name, so a trace may hold a whole call, however deep it recurses, as one application.
 * What its names stand for depends on the model that asks; it is found when the procedure is first
 * called in one, and again when names of the model or of the program have changed (machine_stamp).
 */
#ifndef CORE_PURE_H
#define CORE_PURE_H
#include "runtime/core/core.h"

/* What is known of a procedure. */
struct pure;
void pure_free(struct pure *p);
/* NULL: c is not pure there, or does not call itself by any way: what need not recurse is better
 * taken apart. Valid until names change. */
struct pure *pure_of(struct session_core *core, struct world *w, struct closure *c);
/* Does a condition depend on argument i? May the value be that argument as it is? */
bool pure_decides(const struct pure *p, size_t i);
bool pure_passes(const struct pure *p, size_t i);
/* Nodes that change, which it reads by name. */
struct cell *const *pure_reads(const struct pure *p, size_t *n);
#endif
