/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem check FILE...: parses and reports errors; runs nothing.
 */
#include "cli/run.h"
#include <stdlib.h>
#include <string.h>

static bool check_file(const char *path) {
    struct buf text = BUF_INIT;
    bool good = read_text(path, &text) == GPM_OK;
    if (good) {
        struct gpm_options o = session_settings();
        gpm_session *s = gpm_session_new(&o);
        const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
        enum gpm_status st = gpm_check_text(s, name, text.data, text.len, false);
        print_error(s, st, false);
        gpm_session_free(s);
        good = st == GPM_OK;
    }
    buf_release(&text);
    if (good) explain("'%s' parses", path);
    return good;
}

static int run(int argc, char **argv) {
    bool good = true;
    for (int i = 0; i < argc; i++) good &= check_file(argv[i]);
    return good ? EXIT_FINE : EXIT_USAGE;
}

static const struct option_row rows[] = {
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     &session_diagnostics},
};

COMMAND(check, 20) = {
    .args = "FILE...",
    .summary = "Parses programs and reports their errors without running them",
    .text = "Exit status: 0 every file parses, 2 otherwise.",
    OPTIONS(rows),
    .takes = {1, -1},
    .run = run,
};
