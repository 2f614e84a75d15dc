/* SPDX-License-Identifier: Apache-2.0
 *
 * The prompt: reads instructions until they are complete, runs them, keeps the state whatever
 * happens. Lines that begin with `:` are commands of the prompt. When standard input is no
 * terminal it is read to its end and run as a program.
 */
#include "base/ascii.h"
#include "base/file.h"
#include "base/own.h"
#include "base/suggest.h"
#include "front/cli/progress_line.h"
#include "front/cli/run.h"
#include "front/cli/out.h"
#include <glob.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct text_list expressions;

/* ---- commands of the prompt ---- */

static gpm_session *session;
static struct gpm_options options; /* of the session */
static bool leave;

struct prompt_command {
    const char *name, *args, *help;
    void (*run)(const char *arg);
};
static const struct prompt_command prompt_commands[7]; /* the last has no name */

/* Runs a file, or when `path` is NULL the text. */
static void run_here(const char *path, const struct buf *text) {
    interrupt_begin(0, session);
    enum gpm_status st = path ? gpm_run_file(session, path)
                              : gpm_run_text(session, "<prompt>", text->data, text->len);
    interrupt_end(0);
    print_error(session, st, options.quiet > 0);
    out_flush();
}

static void do_help(const char *arg) {
    if (*arg) {
        const char *text = gpm_help(session, arg);
        if (text)
            out_line(text);
        else
            complain(0, "there is no help on '%s'; Tab completes names", arg);
        return;
    }
    out_text(
        "Type an instruction to run it; an open bracket continues on the next line. For example:\n"
        "  assume x = normal(0, 1);  observe normal(x, 1) = 3;  mh(default, one, 100);  sample "
        "x;\n");
    for (const struct prompt_command *c = prompt_commands; c->name; c++) {
        out_printf("  :%s %-*s %s\n", c->name, 14 - (int)strlen(c->name), c->args, c->help);
    }
    out_text("Tab completes, Ctrl-C stops a running command, Ctrl-D leaves.\n");
}

static void do_list(const char *arg) {
    out_text(gpm_list_directives(session));
}

static void do_quit(const char *arg) {
    leave = true;
}

static void do_load(const char *arg) {
    if (*arg)
        run_here(arg, NULL);
    else
        complain(0, ":load needs a file");
}

static void do_reset(const char *arg) {
    gpm_session_free(session);
    session = gpm_session_new(&options);
}

static void print_name(void *user, const char *name) {
    out_printf("%s\n", name);
}

static void do_names(const char *arg) {
    gpm_complete(session, arg, print_name, NULL);
}

static const struct prompt_command prompt_commands[] = {
    {"help", "[NAME]", "this text, or help on a name", do_help},
    {"list", "", "the directives of the model and their values", do_list},
    {"load", "FILE", "run a file in this session", do_load},
    {"names", "[PREFIX]", "names that begin with PREFIX", do_names},
    {"reset", "", "start again with an empty session", do_reset},
    {"quit", "", "leave", do_quit},
    {NULL, NULL, NULL, NULL},
};

/* Length of the text without what ends it of these characters. */
static size_t trimmed(const char *text, const char *blanks) {
    size_t n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1])) n--;
    return n;
}

static void run_prompt_command(const char *line) {
    const char *names[16], *near;
    char word[32];
    size_t n = 0, len = strcspn(line, " \t");
    snprintf(word, sizeof word, "%.*s", (int)len, line);
    const struct prompt_command *c = prompt_commands;
    for (; c->name; c++) {
        names[n++] = c->name;
        if (strncmp(c->name, word, strlen(word)) == 0 && *word) break; /* :q, :h are enough */
    }
    if (c->name) {
        const char *arg = line + len + strspn(line + len, " \t");
        char *argument = mem_strndup(arg, trimmed(arg, " \t;"));
        c->run(argument);
        mem_free(argument);
    } else if ((near = suggest_nearest(word, names, n))) {
        complain(0, "there is no command :%s; did you mean :%s?", word, near);
    } else {
        complain(0, "there is no command :%s; see :help", word);
    }
}

/* ---- completion ---- */

/* Folders get a slash; what begins with a dot is not offered. */
static void complete_files(const char *word, struct name_list *list) {
    struct buf pattern = BUF_INIT;
    glob_t files = {0};
    buf_printf(&pattern, "%s*", word);
    if (glob(pattern.data, GLOB_MARK, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++) name_list_add(list, files.gl_pathv[i]);
    globfree(&files);
    buf_release(&pattern);
}

/* Every completion of `word`, which starts at `at` of the text before the cursor. */
static void complete(const char *before, size_t at, const char *word, struct name_list *list) {
    if (before[0] == ':' && at == 0) {
        for (const struct prompt_command *c = prompt_commands; c->name; c++) {
            char text[32];
            snprintf(text, sizeof text, ":%s", c->name);
            if (strncmp(text, word, strlen(word)) == 0) name_list_add(list, text);
        }
    } else if (strncmp(before, ":l", 2) == 0) {
        complete_files(word, list);
    } else if (*word) {
        gpm_complete(session, word, name_list_add, list);
    }
}

/* ---- lines from the terminal: editing, history, completion by Tab (libedit) ----
 * The history lives in $XDG_STATE_HOME/gpmem/history (~/.local/state by default), readable by its
 * owner only; without a home there is no history. */

#define HISTORY_LENGTH 2000

static struct {
    EditLine *el;
    History *history;
    HistEvent event;
    char *history_path; /* or NULL */
    const char *prompt;
    bool colour, cancelled;
    char *line; /* the last one read */
} editor;

/* While a line is edited Ctrl-C is a key like any other, not a signal: no race with reading. A
 * signal that comes all the same (kill -INT, or the key before the terminal is in edit mode) ends
 * the reading, too. */
static volatile sig_atomic_t signalled;

static void on_signal(int sig) {
    signalled = 1;
}

static unsigned char on_cancel_key(EditLine *el, int key) {
    editor.cancelled = true;
    return CC_EOF;
}

static char *show_prompt(EditLine *el) {
    static char text[64];
    int n = (int)strlen(editor.prompt) - 1; /* without the blank at its end */
    /* \1 brackets what takes no room on the screen; it must not stand at the end */
    snprintf(text, sizeof text, editor.colour ? "\1\033[1m\1%.*s\1\033[0m\1 " : "%.*s ", n,
             editor.prompt);
    return text;
}

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
    size_t width = out_width() ? out_width() : 80, longest = 1;
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
    complete(before, at, before + at, &m);
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

/* NULL: no history; the prompt works without it. */
static char *find_history(void) {
    struct buf path = BUF_INIT;
    if (own_path(&path, "history") && file_folders_above(path.data) == GPM_OK)
        return buf_take(&path);
    buf_release(&path);
    return NULL;
}

/* Puts a finished entry into the history and its file. */
static void line_remember(const char *entry) {
    char *text = mem_strdup(entry);
    size_t n = strlen(text);
    while (n > 0 && ascii_space(text[n - 1])) text[--n] = 0;
    if (!strstr(text, "//")) { /* one line when recalled, unless a comment needs its end */
        for (char *c = text; *c; c++) {
            if (*c == '\n') *c = ' ';
        }
    }
    if (n > 0) history(editor.history, &editor.event, H_ENTER, text);
    mem_free(text);
    if (n == 0 || !editor.history_path) return;
    mode_t old = umask(077);
    history(editor.history, &editor.event, H_SAVE, editor.history_path);
    umask(old);
}

static void editor_begin(void) {
    editor.colour = colour_wanted(STDOUT_FILENO);
    editor.history = history_init();
    history(editor.history, &editor.event, H_SETSIZE, HISTORY_LENGTH);
    history(editor.history, &editor.event, H_SETUNIQUE, 1);
    editor.history_path = find_history();
    if (editor.history_path) history(editor.history, &editor.event, H_LOAD, editor.history_path);
    editor.el = el_init("gpmem", stdin, isatty(STDOUT_FILENO) ? stdout : stderr, stderr);
    el_set(editor.el, EL_PROMPT_ESC, show_prompt, '\1');
    el_set(editor.el, EL_EDITOR, "emacs");
    el_set(editor.el, EL_HIST, history, editor.history);
    el_set(editor.el, EL_ADDFN, "gpmem-complete", "complete a name", on_tab);
    el_set(editor.el, EL_BIND, "^I", "gpmem-complete", NULL);
    el_set(editor.el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor.el, EL_ADDFN, "gpmem-cancel", "give the line up", on_cancel_key);
    el_set(editor.el, EL_BIND, "^C", "gpmem-cancel", NULL);
    el_set(editor.el, EL_SETTY, "-d", "intr=", NULL); /* no interrupt key in edit mode */
    el_source(editor.el, NULL);                       /* the user's ~/.editrc */
}

static void editor_end(void) {
    el_end(editor.el);
    history_end(editor.history);
    mem_free(editor.history_path);
    mem_free(editor.line);
}

enum line_result { LINE_READ, LINE_CANCELLED /* Ctrl-C */, LINE_END /* Ctrl-D */ };
/* Reads one line, without its newline; *text stays valid until the next call. */
static enum line_result line_read(const char *prompt, const char **text) {
    struct sigaction sa, old;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal; /* no SA_RESTART: reading must end */
    sigaction(SIGINT, &sa, &old);
    signalled = 0;
    editor.cancelled = false;
    editor.prompt = prompt;
    int n = 0;
    interrupt_forget();
    const char *got = el_gets(editor.el, &n);
    sigaction(SIGINT, &old, NULL);
    if (signalled) clearerr(stdout); /* the editor's writes, which the signal ended */
    if (editor.cancelled || (!got && signalled)) {
        el_reset(editor.el);
        err_printf("^C\n");
        return LINE_CANCELLED;
    }
    if (!got || n <= 0) return LINE_END;
    mem_free(editor.line);
    editor.line = mem_strndup(got, strcspn(got, "\n"));
    *text = editor.line;
    return LINE_READ;
}

/* ---- the loop ---- */

/* A line from the terminal; its first letter, 0 at the end or on Ctrl-C. The rest of a long one is
 * dropped. */
static int first_letter(void) {
    struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&line, 1, 50) <= 0) /* another thread may get the signal */
        if (interrupted()) return 0;
    int first = getchar(), c = first;
    while (c != '\n' && c != EOF) c = getchar();
    return first == EOF ? 0 : first;
}

/* Asks on the terminal; anything but y is no. What does not fit the screen comes page by page: the
 * end of the question cannot push its beginning out of sight. */
static bool ask(void *user, const char *question) {
    struct winsize ws = {0};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &ws);
    size_t rows = ws.ws_row > 4 ? ws.ws_row : 24, columns = ws.ws_col > 20 ? ws.ws_col : 80;
    size_t page = (rows - 3) * columns; /* bytes: a page of letters beyond ASCII is shorter */
    for (; strlen(question) > page; question += page) {
        while (page > 1 && ((unsigned char)question[page] & 0xc0) == 0x80) page--;
        err_printf("%.*s\n(%zu more characters; Enter shows them, q refuses) ", (int)page, question,
                   strlen(question) - page);
        int answer = first_letter();
        if (answer == 0 || answer == 'q') return false;
    }
    err_printf("%s [y/N] ", question);
    int answer = first_letter();
    return answer == 'y' || answer == 'Y';
}

/* What people type to leave or to get help before they know the colon; NULL: an instruction. */
static const char *plain_command(const char *line) {
    static const char *const words[][2] = {
        {"quit", "quit"}, {"exit", "quit"}, {"help", "help"}, {"?", "help"}};
    size_t n = trimmed(line, " \t\r\n;");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (n == strlen(words[i][0]) && memcmp(line, words[i][0], n) == 0) return words[i][1];
    return NULL;
}

static void loop(void) {
    struct buf e = BUF_INIT; /* the entry being typed; lines are added until it is complete */
    while (!leave) {
        const char *line = "";
        enum line_result r = line_read(e.len ? "  ... " : "gpmem> ", &line);
        if (r == LINE_END && e.len == 0) break;
        if (r != LINE_READ) { /* Ctrl-C or Ctrl-D give the open entry up */
            buf_reset(&e);
            continue;
        }
        const char *start = line + strspn(line, " \t");
        const char *command = *start == ':' ? start + 1 : plain_command(start);
        if (e.len == 0 && command) {
            line_remember(start);
            run_prompt_command(command);
            out_flush();
            continue;
        }
        if (e.len == 0 && trimmed(line, " \t\r\n;") == 0) continue;
        buf_printf(&e, "%s\n", line);
        if (gpm_check_text(session, "<prompt>", e.data, e.len, true) == GPM_E_INCOMPLETE) continue;
        line_remember(e.data);
        run_here(NULL, &e); /* it is complete, or wrong for good */
        buf_reset(&e);
    }
    buf_release(&e);
}

static void run_prompt(void) {
    setlocale(LC_CTYPE, ""); /* the editor reads characters; numbers stay as in C */
    interrupt_forever();
    editor_begin();
    if (!options.quiet) err_printf("gpmem %s; :help for help, :quit to leave\n", gpm_version());
    loop();
    editor_end();
}

static int repl_run(int argc, char **argv) {
    bool prompt = expressions.n == 0 && isatty(STDIN_FILENO);
    int status = EXIT_FINE;
    struct buf text = BUF_INIT;
    options = session_settings();
    progress_begin(1);
    progress_attach(0, &options);
    if (prompt) options.confirm = ask;
    session = gpm_session_new(&options);
    if (prompt) {
        run_prompt();
    } else if (expressions.n == 0) {
        status = EXIT_FAILED;
        if (read_program("-", &text) == GPM_OK)
            status = run_text(session, "<stdin>", text.data, text.len);
    }
    for (size_t i = 0; i < expressions.n && status == EXIT_FINE; i++) {
        const char *expression = expressions.at[i];
        status = run_text(session, "<expression>", expression, strlen(expression));
    }
    buf_release(&text);
    gpm_session_free(session);
    progress_end();
    return status;
}

static const struct option_row rows[] = {
    {"eval", 'e', OPTION_LIST, "EXPR", "run EXPR instead of asking for input; may be repeated",
     &expressions},
    SEED_OPTION,
    {.kind = OPTION_GROUP, .field = &session_options},
};

static const struct command_row prompt_row = {
    .args = "",
    .summary = "The prompt: type instructions, see their values",
    .text =
        "A line that begins with : is a command of the prompt; :help lists them. Tab completes, "
        "Ctrl-C\nstops what runs and keeps the state, an open bracket continues on the next "
        "line. When standard\ninput is no terminal, it is run as a program. The history is kept "
        "in\n$XDG_STATE_HOME/gpmem/history (~/.local/state/gpmem/history).",
    OPTIONS(rows),
    .run = repl_run,
};
const struct command command_prompt = {"gpmem", &prompt_row, 0};
