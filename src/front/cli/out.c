/* SPDX-License-Identifier: Apache-2.0
 *
 * See out.h.
 */
#include "front/cli/out.h"
#include "base/file.h"
#include "base/mem.h"
#include "front/cli/command.h"
#include "front/cli/progress_line.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static atomic_int failed; /* errno of the first write to standard output that failed */

static void note_failure(void) {
    int none = 0;
    atomic_compare_exchange_strong(&failed, &none, errno ? errno : EIO);
}

static void out_put(FILE *to, const char *text, size_t n) {
    if (n && fwrite(text, 1, n, to) != n && to == stdout) note_failure();
}

static void put_visible(FILE *to, const char *text, size_t n) {
    struct buf b = BUF_INIT;
    buf_visible(&b, text, n);
    out_put(to, b.data, b.len);
    buf_release(&b);
}

void out_text(const char *text) {
    put_visible(stdout, text, strlen(text));
}

size_t out_width(void) {
    struct winsize ws = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    return ws.ws_col;
}

/* A line in lines of at most so many characters. */
static void wrap_line(const char *at, size_t bytes, size_t width, struct buf *out) {
    const char *end = at + bytes;
    size_t column = 0;
    while (at < end) {
        size_t n = strcspn(at, " "), wide = 0;
        if (n > (size_t)(end - at)) n = (size_t)(end - at);
        for (size_t i = 0; i < n; i++) wide += ((unsigned char)at[i] & 0xC0) != 0x80;
        bool fits = column + 1 + wide <= width;
        if (column) buf_putc(out, fits ? ' ' : '\n');
        column = (column && fits ? column + 1 : 0) + wide;
        buf_add(out, at, n);
        at += n + (at + n < end);
    }
}

void out_report(const char *text) {
    size_t width = out_width();
    struct buf b = BUF_INIT;
    if (width > 100) width = 100; /* longer lines are hard to read */
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        if (width && *text != ' ' && n > width)
            wrap_line(text, n, width, &b);
        else
            buf_add(&b, text, n);
        if (text[n]) buf_putc(&b, text[n++]);
    }
    out_text(b.data);
    buf_release(&b);
}

void out_line(const char *text) {
    size_t n = strlen(text);
    out_printf("%s%s", text, n && text[n - 1] != '\n' ? "\n" : "");
}

void out_printf(const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    put_visible(stdout, b.data, b.len);
    buf_release(&b);
}

void out_data(const char *text, size_t n) {
    if (isatty(STDOUT_FILENO))
        put_visible(stdout, text, n);
    else
        out_put(stdout, text, n);
}

void out_json_string(const char *text) {
    struct buf b = BUF_INIT;
    buf_json_string(&b, text, strlen(text));
    out_put(stdout, b.data, b.len);
    buf_release(&b);
}

void out_drawn(int stream, const char *text, size_t n) {
    if (stream != 1) out_flush();
    out_put(stream == 1 ? stdout : stderr, text, n);
}

void err_drawn(const char *text, size_t n) {
    struct buf b = BUF_INIT;
    buf_drawn(&b, text, n);
    out_drawn(2, b.data, b.len);
    buf_release(&b);
}

void out_flush(void) {
    if (fflush(stdout) != 0) note_failure();
}

void err_text(const char *text, size_t n) {
    progress_hide();
    out_flush(); /* a terminal or file that both share shows them in the order of writing */
    put_visible(stderr, text, n);
}

void err_printf(const char *fmt, ...) {
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    err_text(b.data, b.len);
    buf_release(&b);
}

bool out_part(const char *path, enum file_how how, const char *text, size_t n) {
    if (file_write(path, how, text, n) == GPM_OK) return true;
    return complain(false, "cannot write '%s': %s", path, file_why());
}

bool out_file(const char *path, const char *text, size_t n) {
    if (!path || strcmp(path, "-") == 0) {
        out_data(text, n);
        return true; /* out_finish says what went wrong */
    }
    bool good = out_part(path, FILE_GIVEN, text, n);
    if (good) explain("wrote '%s'", path);
    return good;
}

bool out_place(const char *path) {
    if (!path || strcmp(path, "-") == 0 || access(path, W_OK) == 0) return true;
    int why = errno;
    if (why == ENOENT) { /* it will be made */
        const char *end = strrchr(path, '/');
        char *folder = end ? mem_strndup(path, (size_t)(end - path) + 1) : mem_strdup(".");
        why = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
        mem_free(folder);
    }
    return !why || complain(false, "cannot write '%s': %s", path, strerror(why));
}

int out_finish(int status) {
    out_flush();
    int e = atomic_load(&failed);
    if (!e && !ferror(stdout)) return status;
    return complain(EXIT_FAILED, "cannot write the results: %s", strerror(e ? e : EIO));
}
