/* SPDX-License-Identifier: Apache-2.0
 *
 * What every command that runs programs shares: options of a session, its output, its files.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/out.h"
#include "cli/progress_line.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gpm_options session_args = {.seed = 1, .jobs = 1};

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how values are printed (default text)",
     &session_args.format},
    {"diagnostics", 0, OPTION_EITHER, "text|json", "how errors are printed (default text)",
     &session_args.diagnostics_json},
    {"allow-run", 0, OPTION_FLAG, NULL, "programs may run commands and load shared objects",
     &session_args.allow_run},
    {"allow-write", 0, OPTION_FLAG, NULL, "programs may write files", &session_args.allow_write},
    {"jobs", 'j', OPTION_SMALL, "N", "source functions evaluated at once (default 1)",
     &session_args.jobs},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h; default: no limit)",
     &session_args.max_seconds},
    {"max-depth", 0, OPTION_SIZE, "N", "deepest recursion (default: the language's)",
     &session_args.max_depth},
    {"max-memory", 0, OPTION_BYTES, "M",
     "bytes a program may hold (also 512M, 2G; default: no limit)", &session_args.max_memory},
};
const struct option_group session_options = {rows, COUNT_OF(rows)};

bool colour_wanted(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no) return false;
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

static void write_streams(void *user, int stream, const char *text, size_t len) {
    progress_hide();
    if (stream == 1)
        out_data(text, len);
    else
        err_text(text, len);
}

struct gpm_options session_settings(void) {
    struct gpm_options o = session_args;
    o.size = sizeof o;
    o.colour = !o.diagnostics_json && colour_wanted(STDERR_FILENO);
    o.quiet = voice.quiet;
    o.verbose = voice.verbose;
    o.jobs = o.jobs < 1 ? 1 : o.jobs < 4096 ? o.jobs : 4096;
    o.write = write_streams;
    return o;
}

enum gpm_status read_text(const char *path, struct buf *out) {
    bool standard = strcmp(path, "-") == 0;
    enum gpm_status st = standard ? file_read_stdin(FILE_TEXT_MAX, out)
                                  : file_read(path, FILE_GIVEN, FILE_TEXT_MAX, out);
    if (st != GPM_OK && standard) complain(0, "cannot read the program: %s", file_why());
    if (st != GPM_OK && !standard) complain(0, "cannot read '%s': %s", path, file_why());
    return st;
}

enum gpm_status read_program(const char *path, struct buf *out) {
    double end = session_args.max_seconds > 0 ? clock_seconds() + session_args.max_seconds : 0;
    const struct file_guard limits = {.deadline = end, .max_memory = session_args.max_memory};
    const struct file_guard *before = file_set_guard(&limits);
    enum gpm_status st = read_text(path, out);
    file_set_guard(before);
    return st;
}
