/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem kernel: programs in notebooks. The kernel is part of the Python package (gpmem.kernel, over
 * ipykernel); this command hands over to it.
 */
#include "front/cli/command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    bool install, user;
    const char *prefix;
} args;

/* Runs the function main of a module of the package; what is missing is said in a line. */
static const char start[] = "import importlib, sys\n"
                            "try:\n"
                            "    importlib.import_module(sys.argv.pop(1)).main()\n"
                            "except ImportError as e:\n"
                            "    sys.exit('gpmem: the kernel is part of the Python package gpmem, "
                            "which %s cannot use: %s'\n"
                            "             % (sys.executable, e))\n";

static int kernel_run(int argc, char **argv) {
    if (args.install != (argc == 0))
        return complain(EXIT_USAGE,
                        "kernel needs --install, or the connection file that Jupyter gives");
    if (!args.install && (args.user || args.prefix))
        return complain(EXIT_USAGE, "--user and --prefix go with --install");
    const char *named = getenv("GPMEM_PYTHON"), *python = named && *named ? named : "python3";
    const char *given = args.install ? args.prefix : argv[0];
    const char *module = args.install ? "gpmem._kernelspec" : "gpmem.kernel";
    const char *option = args.install ? "--prefix" : "-f";
    explain("the kernel runs in %s", python);
    execlp(python, python, "-Xfrozen_modules=off", "-c", start, module, given ? option : NULL,
           given, NULL);
    return complain(EXIT_FAILED, "cannot run %s, which the kernel needs: %s", python,
                    strerror(errno));
}

static const struct option_row rows[] = {
    {"install", 0, OPTION_FLAG, NULL, "make the kernel known to Jupyter, and end", &args.install},
    {"user", 0, OPTION_FLAG, NULL, "with --install: for this user (the default)", &args.user},
    {"prefix", 0, OPTION_TEXT, "DIR", "with --install: in DIR/share/jupyter/kernels", &args.prefix},
};

COMMAND(kernel, 195) = {
    .args = "[CONNECTION-FILE]",
    .summary = "run programs in Jupyter notebooks",
    .text = "`gpmem kernel --install` makes notebooks offer the language; Jupyter then starts the "
            "kernel itself. "
            "A notebook is one session: names and the model stay from cell to cell. Plots are "
            "pictures, tables of draws "
            "HTML; `?name` shows help; the stop button ends the running cell and keeps the "
            "session. What a program may "
            "not do unasked (run commands, write files) is asked for in the notebook.\n\n"
            "The kernel is part of the Python package and needs ipykernel (Debian: python3-gpmem, "
            "python3-ipykernel). It runs in `python3`, or in the one that GPMEM_PYTHON names.",
    OPTIONS(rows),
    .takes = {0, 1},
    .run = kernel_run,
};
