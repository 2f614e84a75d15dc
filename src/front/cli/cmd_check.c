/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem check FILE...: says what would fail, and runs nothing.
 */
#include "front/cli/run.h"
#include <stdlib.h>
#include <string.h>

static struct {
    struct text_list data;
    bool strict;
} args;

static bool check_text(gpm_session *s, const char *path, const struct buf *text) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < args.data.n && st == GPM_OK; i++) st = give_data(s, args.data.at[i]);
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (st == GPM_OK) st = gpm_check_text(s, name, text->data, text->len, false);
    print_error(s, st, voice.quiet && !args.strict);
    return st == GPM_OK && !(args.strict && *gpm_last_error(s));
}

static bool check_file(const char *path) {
    struct buf text = BUF_INIT;
    bool good = read_text(path, &text) == GPM_OK;
    if (good) {
        struct gpm_options o = session_settings();
        gpm_session *s = gpm_session_new(&o);
        good = check_text(s, path, &text);
        gpm_session_free(s);
    }
    buf_release(&text);
    if (good) explain("nothing would fail in '%s'", path);
    return good;
}

static int check_run(int argc, char **argv) {
    bool good = true;
    for (int i = 0; i < argc; i++) good &= check_file(argv[i]);
    return good ? EXIT_FINE : EXIT_USAGE;
}

static const struct option_row rows[] = {
    {"data", 'd', OPTION_LIST, "FILE|NAME=VALUE",
     "names that the program is given, as for run; those of `data n, y;` need not be", &args.data},
    {"strict", 0, OPTION_FLAG, NULL, "warnings count as errors", &args.strict},
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     &session_diagnostics},
};

COMMAND(check, 20) = {
    .args = "FILE...",
    .summary = "Says what would fail in programs, without running them",
    .text =
        "Follows a program and the files it loads with what is known before it runs: names, "
        "numbers "
        "and types of arguments, keywords, labels, scopes and blocks that no tag names, "
        "observations that cannot hold, operators on scopes without choices that they move. What "
        "would certainly fail is an error; what fails only if it is reached, and what is merely "
        "odd, a warning. `run` makes the same check and does not begin what would fail after "
        "inference.\n\nExit status: 0 nothing would certainly fail, 2 otherwise.",
    OPTIONS(rows),
    .takes = {1, -1},
    .run = check_run,
};
