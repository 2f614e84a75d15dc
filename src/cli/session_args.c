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

static const struct option_row rows[] = {
    {"seed", 's', OPTION_UINT, "N", "seed of the random numbers (default 1)",
     offsetof(struct session_args, seed)},
    {"format", 0, OPTION_CHOICE, "text|json", "how values are printed (default text)",
     offsetof(struct session_args, format)},
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     offsetof(struct session_args, diagnostics)},
    {"allow-run", 0, OPTION_FLAG, NULL, "programs may run commands and load shared objects",
     offsetof(struct session_args, allow_run)},
    {"allow-write", 0, OPTION_FLAG, NULL, "programs may write files",
     offsetof(struct session_args, allow_write)},
    {"jobs", 'j', OPTION_UINT, "N", "source functions evaluated at once (default 1)",
     offsetof(struct session_args, jobs)},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h; default: no limit)",
     offsetof(struct session_args, max_time)},
    {"max-depth", 0, OPTION_UINT, "N", "deepest recursion (default: the language's)",
     offsetof(struct session_args, max_depth)},
    {"max-memory", 0, OPTION_BYTES, "M",
     "bytes a program may hold (also 512M, 2G; default: no limit)",
     offsetof(struct session_args, max_memory)},
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

void session_args_apply(const struct session_args *a, struct gpm_options *o) {
    gpm_options_init(o);
    o->seed = a->seed;
    o->format = a->format ? GPM_FORMAT_JSON : GPM_FORMAT_TEXT;
    o->diagnostics_json = a->diagnostics == 1;
    o->colour = !o->diagnostics_json && colour_wanted(STDERR_FILENO);
    o->allow_run = a->allow_run;
    o->allow_write = a->allow_write;
    o->quiet = voice_quiet();
    o->verbose = voice_verbose();
    o->jobs = a->jobs ? (unsigned)(a->jobs < 4096 ? a->jobs : 4096) : 1;
    o->max_depth = (size_t)a->max_depth;
    o->max_memory = (size_t)a->max_memory;
    o->max_seconds = a->max_time;
    o->write = write_streams;
}

enum gpm_status read_text(const char *path, struct buf *out) {
    bool standard = strcmp(path, "-") == 0;
    enum gpm_status st = standard ? file_read_stdin(FILE_TEXT_MAX, out)
                                  : file_read(path, FILE_GIVEN, FILE_TEXT_MAX, out);
    if (st != GPM_OK && standard) complain(0, "cannot read the program: %s", file_why());
    if (st != GPM_OK && !standard) complain(0, "cannot read '%s': %s", path, file_why());
    return st;
}

enum gpm_status read_program(const struct session_args *a, const char *path, struct buf *out) {
    double end = a->max_time > 0 ? clock_seconds() + a->max_time : 0;
    const struct file_guard limits = {.deadline = end, .max_memory = (size_t)a->max_memory};
    const struct file_guard *before = file_set_guard(&limits);
    enum gpm_status st = read_text(path, out);
    file_set_guard(before);
    return st;
}
