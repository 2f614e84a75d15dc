/* SPDX-License-Identifier: Apache-2.0
 *
 * Known constraints of a search: comparisons of expressions in its variables, as in "x + 2*y <= 10"
 * or "a*b = 3 +- 0.1", in the language's own syntax and with its functions of numbers. Nothing has
 * to be evaluated to know whether a point keeps them, so no evaluation is spent on one that does
 * not.
 */
#ifndef OPTIMIZE_BO_RULES_H
#define OPTIMIZE_BO_RULES_H
#include "apps/optimize/bo_space.h"

/* Is it about variables of the space alone? Else it bounds what evaluations give. */
bool bo_rule_is(const struct bo_space *s, const char *text);
/* GPM_E_ARG with a message: it does not read, or is about categories. */
GPM_MUST_USE enum gpm_status bo_rule_add(struct bo_space *s, const char *text, struct buf *err);
void bo_rules_release(struct bo_space *s);
const char *bo_rule_text(const struct bo_space *s, int i); /* as it was given */

/* Row i of the rules (there are s->n_rules) at u: c <= 0 where it is kept; and its derivatives in
 * the numeric coordinates, by differences, unless grad is NULL. */
double bo_rule_value(const struct bo_space *s, int i, const double *u, double *grad);
/* GPM_E_ARG with what is wrong: x is no point of the space, or breaks a rule. */
GPM_MUST_USE enum gpm_status bo_space_check(const struct bo_space *s, const double *x,
                                            struct buf *err);
bool bo_rules_kept(const struct bo_space *s, const double *u);
/* Moves u to where the rules are kept, not far, and onto its grid; false: it could not be found. */
bool bo_rules_repair(const struct bo_space *s, double *u);
#endif
