/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem help NAME: a command of the tool, or a procedure, operator or kernel of the language. gpmem
 * reference: all of these of the language as JSON; documentation and editor files are made from it.
 */
#include "base/suggest.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include <string.h>

static int unknown(gpm_session *s, const char *name) {
    struct name_list l = {0};
    gpm_complete(s, "", name_list_add, &l);
    for (const struct command *c = command_list(); c->name; c++) name_list_add(&l, c->name);
    const char *near = suggest_nearest(name, (const char *const *)l.at, l.n);
    if (near)
        complain(0, "there is no help on '%s'; did you mean '%s'?", name, near);
    else
        complain(0, "there is no help on '%s': it is no command, procedure, operator or kernel",
                 name);
    name_list_release(&l);
    return EXIT_USAGE;
}

static int help_run(int argc, char **argv) {
    const struct command *c = command_find(argv[0]);
    gpm_session *s = gpm_session_new(NULL);
    const char *text = gpm_help(s, argv[0]);
    int status = EXIT_FINE;
    if (c) command_print_help(c);
    if (c && text) out_text("\nIn the language:\n");
    if (text) out_line(text);
    if (!c && !text) status = unknown(s, argv[0]);
    gpm_session_free(s);
    return status;
}

COMMAND(help, 170) = {
    .args = "[NAME]",
    .summary = "Explains a command, or a procedure, operator or kernel of the language",
    .takes = {1, 1},
    .run = help_run,
};

static int reference(int argc, char **argv) {
    gpm_session *s = gpm_session_new(NULL);
    const char *json = gpm_reference_json(s);
    out_data(json, strlen(json));
    out_data("\n", 1);
    gpm_session_free(s);
    return EXIT_FINE;
}

COMMAND(reference, 200) = {
    .args = "",
    .summary = "Prints the reference of the language as JSON",
    .run = reference,
};
