/* SPDX-License-Identifier: Apache-2.0
 *
 * The program `gpmem`. mpi/main.c has another one around the same tool.
 */
#include "cli/command.h"

int main(int argc, char **argv) {
    tool_may_restart = true; /* nothing has been started yet */
    return tool_main(argc, argv);
}
