/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a model: which observes a program means, their values as plain numbers, what they
 * might as well have been, and how probable each of them is.
 */
#ifndef INFER_OBSERVED_H
#define INFER_OBSERVED_H
#include "inference/run/infer.h"
#include "numeric/posterior/predictive.h"

enum observed_what {
    OBSERVED_DATA,      /* as observed */
    OBSERVED_REPLICATE, /* drawn anew, everything else as it is */
    OBSERVED_LOG_LIK    /* log density of each */
};
/* Appends to y, for the observes that `labels` names (a label, several, "y*"; ABSENT: all), their
 * numbers, one element after the other. `who` asks, for messages. */
enum gpm_status observed_numbers(struct infer_state *x, struct trace *t, value labels,
                                 enum observed_what what, const char *who, numbers *y) GPM_MUST_USE;
#endif
