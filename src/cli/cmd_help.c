/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem help NAME: a command of the tool, or a procedure, operator or kernel of the language.
 */
#include "cli/command.h"
#include "cli/out.h"
#include <stdlib.h>
#include <string.h>

struct names {
    const char **at;
    size_t n, cap;
};

static void keep_name(void *user, const char *name) {
    struct names *l = user;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 256;
        const char **more = realloc(l->at, cap * sizeof *more);
        if (!more) return;
        l->at = more;
        l->cap = cap;
    }
    char *copy = strdup(name);
    if (copy) l->at[l->n++] = copy;
}

static int unknown(gpm_session *s, const char *name) {
    struct names l = {0};
    gpm_complete(s, "", keep_name, &l);
    for (const struct command *const *c = command_list(); *c; c++) {
        if (!(*c)->hidden) keep_name(&l, (*c)->name);
    }
    const char *near = nearest_word(name, l.at, l.n);
    if (near) {
        complain(0, "there is no help on '%s'; did you mean '%s'?", name, near);
    } else {
        complain(0, "there is no help on '%s': it is no command, procedure, operator or kernel",
                 name);
    }
    for (size_t i = 0; i < l.n; i++) free((char *)l.at[i]);
    free(l.at);
    return EXIT_USAGE;
}

static int run(const void *opts, int argc, char **argv) {
    const struct command *c = command_find(argv[0]);
    struct gpm_options o;
    gpm_options_init(&o);
    gpm_session *s = gpm_session_new(&o);
    const char *text = gpm_help(s, argv[0]);
    int status = EXIT_FINE;
    if (c) command_print_help(c);
    if (text) {
        out_printf("%s%s%s", c ? "\nIn the language:\n" : "", text,
                   *text && text[strlen(text) - 1] != '\n' ? "\n" : "");
    }
    if (!c && !text) status = unknown(s, argv[0]);
    gpm_session_free(s);
    return status;
}

COMMAND(help) = {
    .place = 170,
    .name = "help",
    .args = "[NAME]",
    .summary = "Explains a command, or a procedure, operator or kernel of the language",
    .min_args = 1, /* `gpmem help` alone is handled by main */
    .max_args = 1,
    .run = run,
};
