/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "front/cli/progress_line.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "front/cli/out.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE = 200 };
struct chain_line {
    bool running;
    char text[LINE];
    double said; /* elapsed seconds when the last plain line was printed */
};

/* Results and lines share the terminal. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool terminal;
    size_t n, drawn; /* lines on the screen now */
    struct chain_line *lines;
} board;

void progress_begin(size_t chains) {
    board.lines = mem_zalloc(chains * sizeof *board.lines);
    board.n = chains;
    board.terminal = isatty(STDERR_FILENO);
}

static void erase(void) {
    for (; board.drawn > 0; board.drawn--) out_drawn(2, "\033[1A\033[2K", 8);
}

void progress_hide(void) {
    pthread_mutex_lock(&lock);
    erase();
    pthread_mutex_unlock(&lock);
}

void progress_end(void) {
    progress_hide();
    mem_free(board.lines);
}

/* "1 h 5 m", "3 m 20 s", "12 s" */
static void time_text(double seconds, char *out, size_t size) {
    long s = (long)(seconds + 0.5);
    if (s >= 3600) {
        snprintf(out, size, "%ld h %ld m", s / 3600, s % 3600 / 60);
    } else if (s >= 60) {
        snprintf(out, size, "%ld m %ld s", s / 60, s % 60);
    } else {
        snprintf(out, size, "%ld s", s);
    }
}

/* The names of scopes are the program's. */
static void put_line(const char *text, size_t width) {
    struct buf b = BUF_INIT;
    buf_visible(&b, text, strnlen(text, width));
    buf_putc(&b, '\n');
    out_drawn(2, b.data, b.len);
    buf_release(&b);
}

static void progress_line_draw(void) {
    struct winsize ws = {0};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &ws);
    int width = ws.ws_col > 20 ? ws.ws_col - 1 : 79;
    erase();
    for (size_t i = 0; i < board.n; i++) {
        if (!board.lines[i].running) continue;
        put_line(board.lines[i].text, (size_t)width);
        board.drawn++;
    }
}

static void report(void *user, double share, double elapsed, const char *acceptance) {
    struct chain_line *l = user;
    char left[32], chain[32] = "";
    time_text(share > 0 ? elapsed * (1 - share) / share : 0, left, sizeof left);
    pthread_mutex_lock(&lock);
    if (board.n > 1) snprintf(chain, sizeof chain, "chain %td: ", l - board.lines + 1);
    number_snprintf(l->text, sizeof l->text, "%s%3.0f%%, %s left%s%s", chain, 100 * share, left,
                    *acceptance ? ", accepted: " : "", acceptance);
    l->running = share < 1;
    if (board.terminal) {
        if (elapsed > 0.5 || board.drawn) progress_line_draw();
    } else if (elapsed - l->said >= 10) {
        l->said = elapsed;
        put_line(l->text, sizeof l->text);
    }
    pthread_mutex_unlock(&lock);
}

void progress_attach(size_t i, struct gpm_options *o) {
    if (o->quiet) return;
    o->progress = report;
    o->progress_user = &board.lines[i];
}
