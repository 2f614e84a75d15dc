/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared objects that hold plug-ins (gpmem/plugin.h). Objects stay loaded while the process runs,
 * since any value may hold their procedures. */
#ifndef SOURCE_PLUGIN_H
#define SOURCE_PLUGIN_H
#include "language/rows/protocol/sp.h"
#include <gpmem/plugin.h>

/* The emulator of that name; NULL after sp_error. */
const struct gpm_plugin_emulator *plugin_emulator(struct sp_call *c, const char *path,
                                                  const char *name);
extern const struct sp_state_class plugged_state;
/* A generator as plug-ins see it. */
struct gpm_random plugin_random(struct rng *rng);
#endif
