/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem check FILE...: parses and reports errors; runs nothing.
 */
#include "cli/run.h"
#include <stdlib.h>
#include <string.h>

struct args {
    int diagnostics;
};

static int check_file(const struct args *a, const char *path) {
    struct buf text = BUF_INIT;
    if (read_text(path, &text) != GPM_OK) {
        buf_release(&text);
        return EXIT_USAGE;
    }
    struct session_args session = {.diagnostics = a->diagnostics};
    struct gpm_options o;
    session_args_init(&session);
    session_args_apply(&session, &o);
    gpm_session *s = gpm_session_new(&o);
    enum gpm_status st =
        gpm_check_text(s, strcmp(path, "-") == 0 ? "<stdin>" : path, text.data, text.len, false);
    print_error(s, st, false);
    gpm_session_free(s);
    buf_release(&text);
    if (st == GPM_OK) explain("'%s' parses", path);
    return st == GPM_OK ? EXIT_FINE : EXIT_USAGE;
}

static int run(const void *opts, int argc, char **argv) {
    int status = EXIT_FINE;
    for (int i = 0; i < argc; i++) {
        if (check_file(opts, argv[i]) != EXIT_FINE) status = EXIT_USAGE;
    }
    return status;
}

static const struct option_row rows[] = {
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     offsetof(struct args, diagnostics)},
};

COMMAND(check) = {
    .place = 20,
    .name = "check",
    .args = "FILE...",
    .summary = "Parses programs and reports their errors without running them",
    .text = "Exit status: 0 every file parses, 2 otherwise.",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
