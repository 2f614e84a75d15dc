/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem reference: every procedure, operator and kernel of the language as JSON. Documentation and
 * editor files are made from it.
 */
#include "cli/command.h"
#include "cli/out.h"
#include <string.h>

static int run(const void *opts, int argc, char **argv) {
    gpm_session *s = gpm_session_new(NULL);
    const char *json = gpm_reference_json(s);
    out_data(json, strlen(json));
    out_data("\n", 1);
    gpm_session_free(s);
    return EXIT_FINE;
}

COMMAND(reference) = {
    .place = 200,
    .name = "reference",
    .args = "",
    .summary = "Prints the reference of the language as JSON",
    .run = run,
};
