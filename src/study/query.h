/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about structures: "LIN & (WN | LIN*WN)". A product names a global additive component
 * (after simplification, factors in any order); a sum asks for all of its terms; AND (&, &&), OR
 * (|, ||), NOT (!, ~), parentheses; and named motifs:
 *
 *   trend                  LIN, LIN*SE, IW, RAMP ... : a term with a direction, not periodic
 *   recurring_pattern      any term with PER         (also: periodic, seasonal)
 *   smooth                 SE, MAT or RQ alone
 *   random_walk            W
 *   noise                  WN or LIN*WN              (the paper's definition)
 *   white_noise            WN
 *   heteroskedastic_noise  LIN*WN
 *   changing_amplitude     LIN times PER
 *   change                 a change point or window, a ramp or a step
 *
 * Used by `gpmem query` and by prob(...) of the language.
 */
#ifndef STUDY_QUERY_H
#define STUDY_QUERY_H
#include "base/arena.h"
#include "base/buf.h"
#include "gpmem/status.h"
#include "study/structure.h"

struct query; /* lives in the arena it was parsed into */

/* GPM_E_FORMAT and a message with the column when the text is wrong. */
GPM_MUST_USE enum gpm_status query_parse(const char *text, struct arena *a, struct query **out,
                                         struct buf *err);
/* Does the query hold for a sum of these terms (masks of factors)? */
bool query_holds(const struct query *q, const struct term *t, size_t n, bool change);
/* The same for a structure of the learner: white noise is always there. */
bool query_holds_structure(const struct query *q, const struct structure *s);
/* Reads "LIN + SE*PER + WN" into terms; GPM_E_FORMAT when a factor is unknown or there are more
 * than max terms. */
GPM_MUST_USE enum gpm_status query_terms(const char *text, struct term *t, size_t max, size_t *n);
/* Names of the motifs, NULL past the last. */
const char *query_motif(size_t i);
#endif
