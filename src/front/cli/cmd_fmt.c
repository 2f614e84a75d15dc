/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem fmt [FILE...]: programs in the style of the house.
 */
#include "base/file.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include <string.h>

static struct { bool check; } args;

enum outcome { AS_IT_WAS, CHANGED, FAILED };

/* Standard input goes to standard output; a file is written when it changes. */
static enum outcome fmt_put(const char *path, const char *text, const struct buf *old) {
    size_t n = strlen(text);
    bool same = n == old->len && memcmp(text, old->data, n) == 0;
    bool standard = strcmp(path, "-") == 0;
    if (standard && !args.check) out_data(text, n);
    if (args.check && !same)
        err_printf("%s is not formatted\n", standard ? "standard input" : path);
    if (!same && !standard && !args.check && file_write(path, FILE_GIVEN, text, n) != GPM_OK) {
        complain(0, "cannot write '%s': %s", path, file_why());
        return FAILED;
    }
    if (!same && !args.check && !standard) explain("'%s' is formatted", path);
    return same ? AS_IT_WAS : CHANGED;
}

static enum outcome format(const char *path) {
    struct buf old = BUF_INIT;
    enum outcome done = FAILED;
    if (read_text(path, &old) == GPM_OK) {
        struct gpm_options o = session_settings();
        gpm_session *s = gpm_session_new(&o);
        const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
        const char *text = gpm_format_text(s, name, old.data, old.len);
        if (text)
            done = fmt_put(path, text, &old);
        else
            print_error(s, GPM_E_USER, false);
        gpm_session_free(s);
    }
    buf_release(&old);
    return done;
}

static int fmt_run(int argc, char **argv) {
    static char standard[] = "-", *input[] = {standard, NULL};
    int status = EXIT_FINE;
    if (argc == 0) {
        argv = input;
        argc = 1;
    }
    for (int i = 0; i < argc; i++) {
        enum outcome done = format(argv[i]);
        if (done == FAILED) status = EXIT_USAGE;
        if (done == CHANGED && args.check && status == EXIT_FINE) status = EXIT_FAILED;
    }
    return status;
}

static const struct option_row rows[] = {
    {"check", 0, OPTION_FLAG, NULL, "write nothing, name the files that are not formatted",
     &args.check},
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     &session_diagnostics},
};

COMMAND(fmt, 21) = {
    .args = "[FILE...]",
    .summary = "Lays out programs in the style of the house",
    .text =
        "Files are rewritten; without one, or for -, standard input goes to standard output. What "
        "stands on a line stays there; indents, blanks between tokens and empty lines change, and "
        "nothing else.\n\nExit status: 0 fine, 1 with --check some file is not formatted, 2 a file "
        "cannot be read or does not parse.",
    OPTIONS(rows),
    .takes = {0, -1},
    .run = fmt_run,
};
