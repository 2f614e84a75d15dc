/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a model: the observes a program refers to, their values as plain numbers, replicates
 * of them, and their densities. */
#ifndef INFER_OBSERVED_H
#define INFER_OBSERVED_H
#include "inference/run/infer.h"
#include "numeric/posterior/predictive.h"

enum observed_what {
    OBSERVED_DATA,      /* as observed */
    OBSERVED_REPLICATE, /* drawn again, with all other choices fixed */
    OBSERVED_LOG_LIK    /* log density of each element */
};
/* Appends to y the numbers of the observes that `labels` names, element by element. labels: a
 * label, several, a pattern "y*", or ABSENT for all. `who` is the operator's name, for messages. */
enum gpm_status observed_numbers(struct infer_state *x, struct trace *t, value labels,
                                 enum observed_what what, const char *who, numbers *y) GPM_MUST_USE;
#endif
