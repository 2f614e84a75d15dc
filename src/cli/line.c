/* SPDX-License-Identifier: Apache-2.0
 *
 * See line.h. The history lives in $XDG_STATE_HOME/gpmem/history (~/.local/state by default),
 * readable by its owner only; without a home there is none.
 */
#include "cli/line.h"
#include "base/ascii.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/out.h"
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_LENGTH 2000

/* The one of the prompt. */
static struct {
    EditLine *el;
    History *history;
    HistEvent event;
    char *history_path; /* or NULL */
    line_complete_fn *complete;
    const char *prompt;
    bool colour, cancelled;
    char *line; /* the last one read */
} e;

/* While a line is edited Ctrl-C is a key like any other, not a signal: no race with reading. A
 * signal that comes all the same (kill -INT, or the key before the terminal is in edit mode) ends
 * the reading, too. */
static volatile sig_atomic_t signalled;

static void on_signal(int sig) {
    signalled = 1;
}

static unsigned char on_cancel_key(EditLine *el, int key) {
    e.cancelled = true;
    return CC_EOF;
}

static char *show_prompt(EditLine *el) {
    static char text[64];
    int n = (int)strlen(e.prompt) - 1; /* without the blank at its end */
    /* \1 brackets what takes no room on the screen; it must not stand at the end */
    snprintf(text, sizeof text, e.colour ? "\1\033[1m\1%.*s\1\033[0m\1 " : "%.*s ", n, e.prompt);
    return text;
}

/* ---- completion ---- */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t common_prefix(const struct name_list *m) {
    size_t n = strlen(m->at[0]);
    for (size_t i = 1; i < m->n; i++) {
        size_t k = 0;
        while (k < n && m->at[i][k] == m->at[0][k]) k++;
        n = k;
    }
    return n;
}

static void show_matches(const struct name_list *m) {
    struct winsize ws = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
    size_t width = ws.ws_col ? ws.ws_col : 80, longest = 1;
    for (size_t i = 0; i < m->n; i++) {
        if (strlen(m->at[i]) > longest) longest = strlen(m->at[i]);
    }
    size_t columns = width / (longest + 2) ? width / (longest + 2) : 1, shown = m->n;
    if (shown > 120) shown = 120;
    out_text("\n");
    for (size_t i = 0; i < shown; i++) {
        bool last = (i + 1) % columns == 0 || i + 1 == shown;
        out_printf("%-*s%s", last ? 0 : (int)longest + 2, m->at[i], last ? "\n" : "");
    }
    if (shown < m->n) out_printf("and %zu more\n", m->n - shown);
    out_flush();
}

static unsigned char on_tab(EditLine *el, int key) {
    const LineInfo *info = el_line(el);
    size_t len = (size_t)(info->cursor - info->buffer), at = len;
    char *before = mem_strndup(info->buffer, len);
    if (before[0] == ':') { /* the prompt's own commands: words are split by blanks */
        while (at > 0 && before[at - 1] != ' ') at--;
    } else {
        while (at > 0 && (ascii_name(before[at - 1]) || before[at - 1] & 0x80)) at--;
    }
    struct name_list m = {0};
    unsigned char result = CC_ERROR;
    e.complete(before, at, before + at, name_list_add, &m);
    if (m.n > 0) {
        qsort(m.at, m.n, sizeof *m.at, compare_texts);
        size_t common = common_prefix(&m), have = len - at;
        if (common > have) {
            m.at[0][common] = 0;
            result = el_insertstr(el, m.at[0] + have) == 0 ? CC_REFRESH : CC_ERROR;
        } else if (m.n > 1) {
            show_matches(&m);
            result = CC_REDISPLAY;
        }
    }
    name_list_release(&m);
    mem_free(before);
    return result;
}

/* ---- history ---- */

/* NULL: there is none, and the prompt works as well. */
static char *find_history(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct buf path = BUF_INIT;
    if (state && *state == '/')
        buf_printf(&path, "%s/gpmem/history", state);
    else if (home && *home == '/')
        buf_printf(&path, "%s/.local/state/gpmem/history", home);
    if (path.len && file_folders_above(path.data) == GPM_OK) return buf_take(&path);
    buf_release(&path);
    return NULL;
}

void line_remember(const char *entry) {
    char *text = mem_strdup(entry);
    size_t n = strlen(text);
    while (n > 0 && ascii_space(text[n - 1])) text[--n] = 0;
    if (!strstr(text, "//")) { /* one line when recalled, unless a comment needs its end */
        for (char *c = text; *c; c++) {
            if (*c == '\n') *c = ' ';
        }
    }
    if (n > 0) history(e.history, &e.event, H_ENTER, text);
    mem_free(text);
    if (n == 0 || !e.history_path) return;
    mode_t old = umask(077);
    history(e.history, &e.event, H_SAVE, e.history_path);
    umask(old);
}

void line_editor_begin(line_complete_fn *complete, bool colour) {
    e.complete = complete;
    e.colour = colour;
    e.history = history_init();
    history(e.history, &e.event, H_SETSIZE, HISTORY_LENGTH);
    history(e.history, &e.event, H_SETUNIQUE, 1);
    e.history_path = find_history();
    if (e.history_path) history(e.history, &e.event, H_LOAD, e.history_path);
    e.el = el_init("gpmem", stdin, isatty(STDOUT_FILENO) ? stdout : stderr, stderr);
    el_set(e.el, EL_PROMPT_ESC, show_prompt, '\1');
    el_set(e.el, EL_EDITOR, "emacs");
    el_set(e.el, EL_HIST, history, e.history);
    el_set(e.el, EL_ADDFN, "gpmem-complete", "complete a name", on_tab);
    el_set(e.el, EL_BIND, "^I", "gpmem-complete", NULL);
    el_set(e.el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(e.el, EL_ADDFN, "gpmem-cancel", "give the line up", on_cancel_key);
    el_set(e.el, EL_BIND, "^C", "gpmem-cancel", NULL);
    el_set(e.el, EL_SETTY, "-d", "intr=", NULL); /* no interrupt key in edit mode */
    el_source(e.el, NULL);                       /* the user's ~/.editrc */
}

void line_editor_end(void) {
    el_end(e.el);
    history_end(e.history);
    mem_free(e.history_path);
    mem_free(e.line);
}

enum line_result line_read(const char *prompt, const char **text) {
    struct sigaction sa, old;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal; /* no SA_RESTART: reading must end */
    sigaction(SIGINT, &sa, &old);
    signalled = 0;
    e.cancelled = false;
    e.prompt = prompt;
    int n = 0;
    const char *got = el_gets(e.el, &n);
    sigaction(SIGINT, &old, NULL);
    if (e.cancelled || (!got && signalled)) {
        el_reset(e.el);
        err_printf("^C\n");
        return LINE_CANCELLED;
    }
    if (!got || n <= 0) return LINE_END;
    mem_free(e.line);
    e.line = mem_strndup(got, strcspn(got, "\n"));
    *text = e.line;
    return LINE_READ;
}
