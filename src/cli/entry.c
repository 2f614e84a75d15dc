/* SPDX-License-Identifier: Apache-2.0
 *
 * The program `gpmem`. mpi/main.c has another one around the same tool.
 */
#include "cli/command.h"

int main(int argc, char **argv) {
    return tool_main(argc, argv);
}
