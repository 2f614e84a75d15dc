/* SPDX-License-Identifier: Apache-2.0
 *
 * What every command that runs programs shares: options of a session, its output, its files.
 */
#include "cli/command.h"
#include "cli/progress_line.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void session_args_init(struct session_args *a) {
    a->seed = 1;
    a->jobs = 1;
}

bool colour_wanted(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no) return false;
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

/* Results to stdout, the rest to stderr; stdout goes first so that a shared terminal or file shows
 * them in the order of writing. */
static void write_streams(void *user, int stream, const char *text, size_t len) {
    (void)user;
    progress_hide();
    if (stream != 1) fflush(stdout);
    fwrite(text, 1, len, stream == 1 ? stdout : stderr);
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

static char *read_stream(FILE *f, size_t *len) {
    size_t cap = 1 << 16, n = 0;
    char *text = malloc(cap + 1);
    while (text) {
        n += fread(text + n, 1, cap - n, f);
        if (n < cap) break;
        char *more = realloc(text, cap * 2 + 1);
        if (!more) free(text);
        text = more;
        cap *= 2;
    }
    if (text && ferror(f)) {
        int e = errno;
        free(text);
        errno = e;
        return NULL;
    }
    if (text) text[n] = 0;
    *len = n;
    return text;
}

char *read_whole(const char *path, size_t *len) {
    if (strcmp(path, "-") == 0) return read_stream(stdin, len);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = read_stream(f, len);
    int e = errno;
    fclose(f);
    errno = e;
    return text;
}
