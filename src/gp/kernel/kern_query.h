/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries about the structure of a kernel: "LIN & (WN | LIN*WN)". A kernel names global additive
 * components (after simplification, with factors in any order, without parameters). A sum requires
 * all of its terms. Operators: AND (&, &&), OR (|, ||), NOT (!, ~), parentheses. Named motifs:
 *
 *   trend                  LIN, LIN*SE, IWIENER, RAMP ... : a term with a direction, not periodic
 *   recurring_pattern      any term with PER, COS    (also: recurring, periodic, seasonal)
 *   smooth                 a smooth kernel alone: SE, RQ, Matern ...
 *   random_walk            WIENER
 *   noise                  WN or LIN*WN              (the paper's definition)
 *   white_noise            WN
 *   heteroskedastic_noise  LIN*WN                    (also: heteroskedastic)
 *   changing_amplitude     LIN times PER
 *   changing_pattern       a smooth kernel times PER
 *   change                 a change point or window, a ramp or a step
 *
 * Used by `gpmem query` and by the language. Case does not matter. Short names (W, IW, MAT, OU) are
 * accepted, and a space or a hyphen may replace the underscore of a motif.
 */
#ifndef GP_KERN_QUERY_H
#define GP_KERN_QUERY_H
#include "base/arena.h"
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

struct kern_query; /* lives in the arena it was parsed into */

/* GPM_E_FORMAT and a message with the column if the text is wrong. */
GPM_MUST_USE enum gpm_status kern_query_parse(const char *text, struct arena *a,
                                              struct kern_query **out, struct buf *err);
/* Does the query hold for a canonical structure, as written by kern_struct: "LIN + SE*PER + WN"? */
bool kern_query_holds_text(const struct kern_query *q, const char *structure);
/* The same, but motifs are tested on another text: the components' meaning given their
 * parameters. */
bool kern_query_holds_seen(const struct kern_query *q, const char *structure, const char *seen);
#endif
