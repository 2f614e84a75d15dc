/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem man [COMMAND]: the manual page as scdoc source, written from the table of commands; with
 * --list the names of the pages. Used by tools/install-docs.
 */
#include "cli/command.h"
#include <ctype.h>
#include <string.h>

struct args {
    bool list;
};

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
    bool arg = o->kind != OPTION_FLAG && o->kind != OPTION_COUNT;
    if (o->letter) printf("*-%c*, ", o->letter);
    printf("*--%s*", o->name);
    if (arg) {
        fputs(" _", stdout);
        for (const char *t = o->arg; *t; t++) {
            if (*t == '_') putchar('\\');
            putchar(*t);
        }
        putchar('_');
    }
    fputs("\n\t", stdout);
    if (isalpha((unsigned char)o->help[0])) {
        putchar(toupper((unsigned char)o->help[0]));
        print_text(o->help + 1);
    } else {
        print_text(o->help);
    }
    fputs("\n\n", stdout);
}

static void print_page(const struct command *c) {
    bool main_page = c == &command_prompt;
    const char *name = main_page ? "" : c->name, *dash = main_page ? "" : "-";
    printf("gpmem%s%s(1)\n\n# NAME\n\ngpmem%s%s - ", dash, name, dash, name);
    if (main_page) {
        fputs("probabilistic programs with Gaussian-process memoization", stdout);
    } else {
        putchar(tolower((unsigned char)c->summary[0]));
        print_text(c->summary + 1);
    }
    printf("\n\n# SYNOPSIS\n\n*gpmem%s%s* [OPTIONS] ", main_page ? "" : " ", name);
    print_text(c->args ? c->args : "");
    fputs("\n\n# DESCRIPTION\n\n", stdout);
    print_text(c->summary);
    fputs(".\n", stdout);
    if (c->text) {
        fputc('\n', stdout);
        print_text(c->text);
        fputc('\n', stdout);
    }
    fputs("\n# OPTIONS\n\n", stdout);
    for (size_t i = 0; i < c->n_options; i++) print_option(&c->options[i]);
    size_t n;
    const struct option_row *common = common_options(&n);
    for (size_t i = 0; i < n; i++) print_option(&common[i]);
    if (main_page) {
        fputs("*-V*, *--version*\n\tPrint the version\n\n# COMMANDS\n\n", stdout);
        for (const struct command *const *k = command_list(); *k; k++) {
            if ((*k)->hidden) continue;
            printf("*gpmem-%s*(1)\n\t", (*k)->name);
            print_text((*k)->summary);
            fputs("\n\n", stdout);
        }
    }
    fputs("# EXIT STATUS\n\n0 fine, 1 the run failed, 2 bad usage or a bad program. Results are "
          "written to\nstandard output, everything else to standard error.\n\n# SEE ALSO\n\n",
          stdout);
    fputs(main_page ? "*gpmem-run*(1), *gpmem-help*(1)\n" : "*gpmem*(1)\n", stdout);
}

static int run(const void *opts, int argc, char **argv) {
    if (((const struct args *)opts)->list) {
        puts("gpmem");
        for (const struct command *const *c = command_list(); *c; c++) {
            if (!(*c)->hidden) printf("%s\n", (*c)->name);
        }
        return EXIT_FINE;
    }
    const struct command *c =
        argc == 0 || strcmp(argv[0], "gpmem") == 0 ? &command_prompt : command_find(argv[0]);
    if (!c) return complain(EXIT_USAGE, "there is no command '%s'", argv[0]);
    print_page(c);
    return EXIT_FINE;
}

static const struct option_row rows[] = {
    {"list", 0, OPTION_FLAG, NULL, "print the names of the pages", offsetof(struct args, list)},
};

COMMAND(man) = {
    .place = 220,
    .name = "man",
    .args = "[COMMAND]",
    .summary = "Prints the source of a manual page",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .max_args = 1,
    .hidden = true,
    .run = run,
};
