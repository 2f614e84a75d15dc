/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "cli/progress_line.h"
#include "base/buf.h"
#include "base/number.h"
#include "cli/out.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE = 200 };
struct chain_line {
    struct progress_board *board;
    size_t number;
    bool running;
    char text[LINE];
    double said; /* elapsed seconds when the last plain line was printed */
};

struct progress_board {
    bool terminal;
    size_t n, drawn; /* lines on the screen now */
    struct chain_line lines[];
};

/* One board at a time; results and lines share the terminal. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct progress_board *current;

struct progress_board *progress_board_new(size_t chains) {
    struct progress_board *b = calloc(1, sizeof *b + chains * sizeof b->lines[0]);
    if (!b) return NULL;
    b->n = chains;
    b->terminal = isatty(STDERR_FILENO);
    for (size_t i = 0; i < chains; i++) b->lines[i] = (struct chain_line){.board = b, .number = i};
    pthread_mutex_lock(&lock);
    current = b;
    pthread_mutex_unlock(&lock);
    return b;
}

static void erase(struct progress_board *b) {
    for (; b->drawn > 0; b->drawn--) out_drawn(2, "\033[1A\033[2K", 8);
}

void progress_board_free(struct progress_board *b) {
    if (!b) return;
    pthread_mutex_lock(&lock);
    erase(b);
    current = NULL;
    pthread_mutex_unlock(&lock);
    free(b);
}

void progress_hide(void) {
    pthread_mutex_lock(&lock);
    if (current && current->drawn) erase(current);
    pthread_mutex_unlock(&lock);
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

static void draw(struct progress_board *b) {
    struct winsize ws = {0};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &ws);
    int width = ws.ws_col > 20 ? ws.ws_col - 1 : 79;
    erase(b);
    for (size_t i = 0; i < b->n; i++) {
        if (!b->lines[i].running) continue;
        put_line(b->lines[i].text, (size_t)width);
        b->drawn++;
    }
}

static void report(void *user, double share, double elapsed, const char *acceptance) {
    struct chain_line *l = user;
    char left[32], chain[32] = "";
    time_text(share > 0 ? elapsed * (1 - share) / share : 0, left, sizeof left);
    pthread_mutex_lock(&lock);
    if (l->board->n > 1) snprintf(chain, sizeof chain, "chain %zu: ", l->number + 1);
    number_snprintf(l->text, sizeof l->text, "%s%3.0f%%, %s left%s%s", chain, 100 * share, left,
                    *acceptance ? ", accepted: " : "", acceptance);
    l->running = share < 1;
    if (l->board->terminal) {
        if (elapsed > 0.5 || l->board->drawn) draw(l->board);
    } else if (elapsed - l->said >= 10) {
        l->said = elapsed;
        put_line(l->text, sizeof l->text);
    }
    pthread_mutex_unlock(&lock);
}

void progress_attach(struct progress_board *b, size_t i, struct gpm_options *o) {
    if (!b || o->quiet) return;
    o->progress = report;
    o->progress_user = &b->lines[i];
}
