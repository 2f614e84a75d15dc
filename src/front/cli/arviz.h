/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws as ArviZ and its kin take them: groups of variables, each an array chain x draw x shape.
 */
#ifndef CLI_ARVIZ_H
#define CLI_ARVIZ_H
#include "front/cli/run_folder.h"

/* {"posterior": {"mu": [[..]]}, "sample_stats": .., "log_likelihood": {"y": ..},
 * "posterior_predictive":
 * {"y": ..}, "observed_data": {"y": [..]}, "prior": .., "prior_predictive": .., "attrs": ..},
 * groups that there is something for: the arguments of arviz.from_dict. prior: draws from the
 * prior, or NULL. The caller's. */
json_t *arviz_groups(const gpm_draws *d, const gpm_draws *prior, const struct run_facts *facts);
#endif
