/* SPDX-License-Identifier: Apache-2.0
 *
 * Every command of the tool, in the order of `gpmem --help`: COMMAND(name) stands for
 * `const struct command command_name` of cmd_name.c. One line each.
 */
COMMAND(run)
COMMAND(check)
COMMAND(resume)
COMMAND(summary)
COMMAND(diagnose)
COMMAND(plot)
COMMAND(export)
COMMAND(discover)
COMMAND(query)
COMMAND(forecast)
COMMAND(report)
COMMAND(optimize)
COMMAND(ask)
COMMAND(tell)
COMMAND(memo)
COMMAND(time)
COMMAND(help)
COMMAND(draw)
COMMAND(lsp)
COMMAND(reference)
COMMAND(completions)
COMMAND(man)
