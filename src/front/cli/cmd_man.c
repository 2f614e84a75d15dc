/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem man [COMMAND]: the manual page as scdoc source, written from the table of commands; with
 * --list the names of the pages. Used by tools/install-docs.
 */
#include "base/ascii.h"
#include "front/cli/command.h"
#include <string.h>

static struct { bool list; } args;

/* scdoc reads _ and * as emphasis, and some characters as markup at the start of a line. */
static void print_text(const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (strchr("_*\\<#`", *text) || (start && strchr("-.|[]{}!;", *text))) putchar('\\');
        start = *text == '\n';
        putchar(*text);
    }
}

static void print_option(const struct option_row *o) {
    if (o->letter) printf("*-%c*, ", o->letter);
    printf("*--%s*", o->name);
    if (option_has_argument(o)) {
        fputs(" _", stdout);
        for (const char *t = o->arg; *t; t++) printf(*t == '_' ? "\\%c" : "%c", *t);
        putchar('_');
    }
    fputs("\n\t", stdout);
    bool letter = ascii_alpha(o->help[0]);
    if (letter) putchar(ascii_upper(o->help[0]));
    print_text(o->help + letter);
    fputs("\n\n", stdout);
}

static void print_page(const struct command *c) {
    bool main_page = c == &command_prompt;
    const char *name = main_page ? "" : c->name, *dash = main_page ? "" : "-";
    struct option_list l = command_options(c);
    printf("gpmem%s%s(1)\n\n# NAME\n\ngpmem%s%s - ", dash, name, dash, name);
    if (main_page) {
        fputs("probabilistic programs with Gaussian-process memoization", stdout);
    } else {
        putchar(ascii_lower(c->row->summary[0]));
        print_text(c->row->summary + 1);
    }
    printf("\n\n# SYNOPSIS\n\n*gpmem%s%s* [OPTIONS] ", main_page ? "" : " ", name);
    print_text(c->row->args);
    fputs("\n\n# DESCRIPTION\n\n", stdout);
    print_text(c->row->summary);
    puts(".");
    if (c->row->text) {
        putchar('\n');
        print_text(c->row->text);
        putchar('\n');
    }
    fputs("\n# OPTIONS\n\n", stdout);
    for (size_t i = 0; i < l.n; i++) print_option(l.at[i]);
    if (main_page) {
        fputs("*-V*, *--version*\n\tPrint the version\n\n# COMMANDS\n\n", stdout);
        for (const struct command *k = command_list(); k->name; k++) {
            printf("*gpmem-%s*(1)\n\t", k->name);
            print_text(k->row->summary);
            fputs("\n\n", stdout);
        }
    }
    fputs("# EXIT STATUS\n\n0 fine, 1 the run failed, 2 bad usage or a bad program. Results are "
          "written to\nstandard output, everything else to standard error.\n\n# SEE ALSO\n\n",
          stdout);
    puts(main_page ? "*gpmem-run*(1), *gpmem-help*(1)" : "*gpmem*(1)");
}

static int man_run(int argc, char **argv) {
    if (args.list) {
        puts("gpmem");
        for (const struct command *c = command_list(); c->name; c++) puts(c->name);
        return EXIT_FINE;
    }
    const struct command *c =
        argc == 0 || strcmp(argv[0], "gpmem") == 0 ? &command_prompt : command_find(argv[0]);
    if (!c) return complain(EXIT_USAGE, "there is no command '%s'", argv[0]);
    print_page(c);
    return EXIT_FINE;
}

static const struct option_row rows[] = {
    {"list", 0, OPTION_FLAG, NULL, "print the names of the pages", &args.list},
};

COMMAND(man, 0) = {
    .args = "[COMMAND]",
    .summary = "Prints the source of a manual page",
    OPTIONS(rows),
    .takes = {0, 1},
    .run = man_run,
};
