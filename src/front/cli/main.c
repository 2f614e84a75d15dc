/* SPDX-License-Identifier: Apache-2.0
 *
 * The tool's entry: finds the command in the table and runs it. `gpmem` without a command, or with
 * options only, is the prompt (a program on standard input when that is no terminal).
 */
#include "base/file.h"
#include "base/suggest.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The section that COMMAND fills: its bounds are the linker's. */
extern const struct command *const __start_commands[], *const __stop_commands[];
enum { MAX_COMMANDS = 128 };

static int by_place(const void *a, const void *b) {
    const struct command *x = a, *y = b;
    return x->place != y->place ? x->place - y->place : strcmp(x->name, y->name);
}

const struct command *command_list(void) {
    static struct command list[MAX_COMMANDS + 1];
    size_t n = 0;
    if (list[0].name) return list;
    for (const struct command *const *c = __start_commands; c < __stop_commands; c++) {
        if ((*c)->place == 0) continue;
        if (n == MAX_COMMANDS) abort();
        list[n++] = **c;
    }
    qsort(list, n, sizeof list[0], by_place);
    return list;
}

const struct command *command_find(const char *name) {
    for (const struct command *const *c = __start_commands; c < __stop_commands; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

static void print_help(void) {
    out_text("gpmem, probabilistic programs with Gaussian-process memoization\n\n"
             "Usage: gpmem                      the prompt\n"
             "       gpmem -e EXPR              run one line\n"
             "       gpmem run FILE             run a program\n"
             "       gpmem COMMAND [OPTIONS] ...\n\nCommands:\n");
    for (const struct command *c = command_list(); c->name; c++) {
        out_printf("  %-12s %s\n", c->name, c->row->summary);
    }
    out_text("\n`gpmem help COMMAND` shows the options of a command, `gpmem help NAME` explains a "
             "procedure,\noperator or kernel of the language. `gpmem --version` prints the "
             "version.\n\nExit status: 0 fine, 1 the run failed, 2 bad usage or a bad "
             "program.\n");
}

static int unknown_command(const char *word) {
    const char *words[MAX_COMMANDS];
    size_t n = 0;
    for (const struct command *c = command_list(); c->name; c++) words[n++] = c->name;
    if (file_there(word)) {
        return complain(EXIT_USAGE, "there is no command '%s'; to run that file: gpmem run %s",
                        word, word);
    }
    const char *near = suggest_nearest(word, words, n);
    if (near) {
        return complain(EXIT_USAGE, "there is no command '%s'; did you mean '%s'?", word, near);
    }
    return complain(EXIT_USAGE, "there is no command '%s'; `gpmem --help` lists them", word);
}

/* What the loader runs before the constructors of the libraries, which do not look whether they got
 * their memory. Sanitizers, which take over mmap, are not up so early, and with them address space
 * is never short. */
#ifndef GPMEM_SANITIZED
static void look_for_room(void) {
    enum { ROOM = 16 << 20 };
    static const char text[] = "gpmem: out of memory\n";
    void *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        _exit(write(STDERR_FILENO, text, sizeof text - 1) > 0 ? EXIT_FAILED : EXIT_USAGE);
    munmap(room, ROOM);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = look_for_room;
#endif

int tool_main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit of its size is an error that is said */
    if (argc < 2) return command_main(&command_prompt, argc, argv);
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        out_printf("gpmem %s\n", gpm_version());
        if (argc > 2 && (strcmp(argv[2], "-v") == 0 || strcmp(argv[2], "--verbose") == 0)) {
            const char *advice = gpm_blas_advice();
            out_printf("linear algebra: OpenBLAS for %s\n", gpm_blas_core());
            if (advice) out_printf("%s\n", advice);
        }
        return out_finish(EXIT_FINE);
    }
    bool help = strcmp(word, "help") == 0 && argc == 2;
    if (help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help();
        return out_finish(EXIT_FINE);
    }
    const struct command *c = command_find(word);
    if (c) return command_main(c, argc - 1, argv + 1);
    if (word[0] == '-') return command_main(&command_prompt, argc, argv);
    return unknown_command(word);
}
