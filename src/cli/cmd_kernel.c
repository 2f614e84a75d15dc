/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem kernel: programs in notebooks (Jupyter's protocol 5.3). One thread owns the sockets and
 * answers; a cell runs beside it (jupyter_cell.h), so control, heartbeat and answers to questions
 * come through while it does. Requests on the shell channel wait until it has ended.
 */
#include "base/ascii.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/jupyter_cell.h"
#include "cli/jupyter_wire.h"
#include "cli/out.h"
#include "cli/run.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    bool install, user;
    const char *prefix;
} args;

static struct {
    gpm_session *session;
    struct gpm_options options;
    int count;                       /* of the last cell with a number */
    struct jupyter_message *request; /* of the cell that runs; NULL: none does */
    bool leave;
    VEC(struct past_cell {
        int number;
        char *input;
    })
    history;
} kernel;

static void publish(const struct jupyter_message *to, const char *type, json_t *content) {
    jupyter_send(CHANNEL_IOPUB, to, type, content);
}

/* Answers on the channel where it was asked. */
static void reply(const struct jupyter_message *to, const char *type, json_t *content) {
    if (!json_object_get(content, "status"))
        json_object_set_new(content, "status", json_string("ok"));
    jupyter_send(to->channel, to, type, content);
}

static void publish_status(const struct jupyter_message *to, const char *state) {
    publish(to, "status", json_pack("{s:s}", "execution_state", state));
}

static const char *text_of(const struct jupyter_message *m, const char *member) {
    const char *s = json_string_value(json_object_get(m->content, member));
    return s ? s : "";
}

static bool flag_of(const struct jupyter_message *m, const char *member, bool otherwise) {
    json_t *v = json_object_get(m->content, member);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* ---- positions: the protocol counts code points ---- */

static size_t byte_at(const char *text, json_int_t points) {
    size_t at = 0, n = strlen(text);
    for (; points > 0 && at < n; points--) {
        uint32_t code, len = utf8_decode(text + at, n - at, &code);
        at += len ? len : 1;
    }
    return at;
}

static json_int_t point_at(const char *text, size_t byte) {
    json_int_t points = 0;
    for (size_t i = 0; i < byte; i++) points += ((unsigned char)text[i] & 0xc0) != 0x80;
    return points;
}

static size_t cursor(const struct jupyter_message *m, const char *code) {
    json_t *at = json_object_get(m->content, "cursor_pos");
    return json_is_integer(at) ? byte_at(code, json_integer_value(at)) : strlen(code);
}

static bool in_name(char c) {
    return ascii_name(c) || c & 0x80;
}

/* ---- requests that need no cell ---- */

static void kernel_info(struct jupyter_message *m) {
    struct buf banner = BUF_INIT;
    buf_printf(&banner, "gpmem %s: programs with Gaussian-process memoization. ?name gives help.",
               gpm_version());
    json_t *language =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", "venturescript", "version",
                  gpm_version(), "mimetype", "text/x-venturescript", "file_extension", ".vnts",
                  "pygments_lexer", "javascript", "codemirror_mode", "javascript");
    reply(m, "kernel_info_reply",
          json_pack("{s:s, s:s, s:s, s:s, s:o, s:[], s:b}", "protocol_version", "5.3",
                    "implementation", "gpmem", "implementation_version", gpm_version(), "banner",
                    banner.data, "language_info", language, "help_links", "debugger", 0));
    buf_release(&banner);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void complete(struct jupyter_message *m) {
    const char *code = text_of(m, "code");
    size_t end = cursor(m, code), start = end;
    struct name_list names = {0};
    json_t *matches = json_array();
    while (start > 0 && in_name(code[start - 1])) start--;
    char *word = mem_strndup(code + start, end - start);
    if (*word) gpm_complete(kernel.session, word, name_list_add, &names);
    qsort(names.at, names.n, sizeof *names.at, compare_texts);
    for (size_t i = 0; i < names.n; i++)
        json_array_append_new(matches, jupyter_text(names.at[i], strlen(names.at[i])));
    reply(m, "complete_reply",
          json_pack("{s:o, s:I, s:I, s:{}}", "matches", matches, "cursor_start",
                    point_at(code, start), "cursor_end", point_at(code, end), "metadata"));
    name_list_release(&names);
    mem_free(word);
}

static void inspect(struct jupyter_message *m) {
    const char *code = text_of(m, "code");
    size_t start = cursor(m, code), end = start;
    while (start > 0 && in_name(code[start - 1])) start--;
    while (code[end] && in_name(code[end])) end++;
    char *word = mem_strndup(code + start, end - start);
    const char *help = *word ? gpm_help(kernel.session, word) : NULL;
    json_t *data = json_object();
    if (help) json_object_set_new(data, "text/plain", jupyter_text(help, strlen(help)));
    reply(m, "inspect_reply",
          json_pack("{s:b, s:o, s:{}}", "found", help != NULL, "data", data, "metadata"));
    mem_free(word);
}

static json_t *past(const struct past_cell *p, bool output) {
    json_t *input = jupyter_text(p->input, strlen(p->input));
    return output ? json_pack("[i, i, [o, n]]", 0, p->number, input)
                  : json_pack("[i, i, o]", 0, p->number, input);
}

/* tail: the last n; range: start to stop of this session, which is number 0; search: the last n
 * that a pattern with * and ? matches. */
static void history(struct jupyter_message *m) {
    const char *how = text_of(m, "hist_access_type"), *pattern = text_of(m, "pattern");
    json_int_t n = json_integer_value(json_object_get(m->content, "n"));
    json_int_t from = json_integer_value(json_object_get(m->content, "start"));
    json_t *stop = json_object_get(m->content, "stop");
    bool output = flag_of(m, "output", false), unique = flag_of(m, "unique", false);
    json_t *found = json_array();
    for (size_t i = kernel.history.n; i-- > 0;) {
        const struct past_cell *p = &kernel.history.at[i];
        if (strcmp(how, "range") == 0) {
            if (p->number < from ||
                (json_is_integer(stop) && p->number >= json_integer_value(stop)))
                continue;
        } else {
            if (n > 0 && (json_int_t)json_array_size(found) >= n) break;
            if (strcmp(how, "search") == 0 && fnmatch(pattern, p->input, 0) != 0) continue;
            bool again = false;
            for (size_t j = i + 1; unique && j < kernel.history.n; j++)
                again |= strcmp(kernel.history.at[j].input, p->input) == 0;
            if (again) continue;
        }
        json_array_insert_new(found, 0, past(p, output));
    }
    reply(m, "history_reply", json_pack("{s:o}", "history", found));
}

static void comm_info(struct jupyter_message *m) {
    reply(m, "comm_info_reply", json_pack("{s:{}}", "comms"));
}

static void interrupt(struct jupyter_message *m) {
    if (kernel.request) interrupt_now();
    cell_answer(NULL);
    reply(m, "interrupt_reply", json_object());
}

static void leave(struct jupyter_message *m) {
    reply(m, "shutdown_reply", json_pack("{s:b}", "restart", flag_of(m, "restart", false)));
    kernel.leave = true;
    if (kernel.request) interrupt_now();
    cell_answer(NULL);
}

static void input(struct jupyter_message *m) {
    cell_answer(text_of(m, "value"));
}

/* ---- cells ---- */

static void remember(const char *code) {
    vec_push(&kernel.history, ((struct past_cell){kernel.count, mem_strdup(code)}));
}

static void reply_to_cell(const struct jupyter_message *m, json_t *content, json_t *payload) {
    json_object_set_new(content, "execution_count", json_integer(kernel.count));
    json_object_set_new(content, "payload", payload);
    json_object_set_new(content, "user_expressions", json_object());
    reply(m, "execute_reply", content);
}

/* `?name` and `name?` ask for help; NULL: a program. The caller frees it. */
static char *asked_for(const char *code) {
    size_t n = strlen(code), from = 0;
    while (n > 0 && ascii_space(code[n - 1])) n--;
    while (from < n && ascii_space(code[from])) from++;
    bool before = from < n && code[from] == '?', behind = n > from && code[n - 1] == '?';
    if (!before && !behind) return NULL;
    while (from < n && (code[from] == '?' || ascii_space(code[from]))) from++;
    while (n > from && (code[n - 1] == '?' || ascii_space(code[n - 1]))) n--;
    for (size_t i = from; i < n; i++)
        if (!in_name(code[i])) return NULL;
    return mem_strndup(code + from, n - from);
}

/* A page that the notebook shows beside. */
static json_t *help_page(const char *name) {
    struct buf none = BUF_INIT;
    const char *text = *name ? gpm_help(kernel.session, name) : NULL;
    if (!text && *name) buf_printf(&none, "there is no help on '%s'; Tab completes names", name);
    if (!*name)
        buf_puts(
            &none,
            "?name          help on a name\n"
            ":reset         first line of a cell: start again with an empty session\n"
            ":clear         first line of a cell: take the cell's output away\n"
            "Tab completes names; the stop button ends the running cell and keeps the session.");
    if (!text) text = none.data;
    json_t *page = json_pack("{s:s, s:i, s:{s:o}}", "source", "page", "start", 0, "data",
                             "text/plain", jupyter_text(text, strlen(text)));
    buf_release(&none);
    return json_pack("[o]", page);
}

static void do_reset(const struct jupyter_message *m) {
    gpm_session_free(kernel.session);
    kernel.session = gpm_session_new(&kernel.options);
}

static void do_clear(const struct jupyter_message *m) {
    publish(m, "clear_output", json_pack("{s:b}", "wait", 0));
}

/* Lines at the top of a cell that begin with a colon are for the kernel. They are run (m NULL: only
 * read), and blanks take their place, so that lines keep their numbers; false: the line at *code is
 * not known. */
static bool run_commands(const struct jupyter_message *m, char **code) {
    static const struct {
        const char *name;
        void (*run)(const struct jupyter_message *m);
    } commands[] = {{"reset", do_reset}, {"clear", do_clear}};
    for (char *at = *code;; at += *at == '\n') {
        size_t blank = strspn(at, " \t\r"), n = strcspn(at, "\n"), end = n, i = 0;
        if (at[blank] != ':') return true;
        while (end > 0 && ascii_space(at[end - 1])) end--;
        *code = at + blank;
        for (; i < COUNT_OF(commands); i++)
            if (strlen(commands[i].name) == end - blank - 1 &&
                !memcmp(commands[i].name, at + blank + 1, end - blank - 1))
                break;
        if (i == COUNT_OF(commands)) return false;
        if (m) commands[i].run(m);
        memset(at, ' ', n);
        at += n;
    }
}

/* Whether a cell can be run as it stands: read by the same rules as by `execute`. */
static void is_complete(struct jupyter_message *m) {
    char *code = mem_strdup(text_of(m, "code")), *at = code, *name = asked_for(code);
    enum gpm_status st = GPM_OK;
    if (!name && !run_commands(NULL, &at)) st = GPM_E_USER;
    if (!name && st == GPM_OK)
        st = gpm_check_text(kernel.session, "<cell>", code, strlen(code), true);
    const char *state = st == GPM_OK             ? "complete"
                        : st == GPM_E_INCOMPLETE ? "incomplete"
                                                 : "invalid";
    json_t *content = json_pack("{s:s}", "status", state);
    if (st == GPM_E_INCOMPLETE) json_object_set_new(content, "indent", json_string("    "));
    reply(m, "is_complete_reply", content);
    mem_free(name);
    mem_free(code);
}

typedef VEC(struct jupyter_message *) waiting_messages;

/* Takes what waits on the shell channel when a cell has failed. This is done before the failure is
 * told: whoever has read of it and sends the next cell means that one to run. */
static waiting_messages take_waiting(void) {
    waiting_messages waiting = {0};
    while (jupyter_wait(1u << CHANNEL_SHELL, cell_fd(), 0) >> CHANNEL_SHELL & 1) {
        struct jupyter_message *m = jupyter_receive(CHANNEL_SHELL);
        if (m) vec_push(&waiting, m);
    }
    return waiting;
}

/* The messages are answered without being run. */
static void abort_all(waiting_messages waiting) {
    for (size_t i = 0; i < waiting.n; i++) {
        struct jupyter_message *m = waiting.at[i];
        char type[64];
        size_t stem = strlen(m->type) > 8 ? strlen(m->type) - 8 : 0; /* "_request" */
        snprintf(type, sizeof type, "%.*s_reply", (int)stem, m->type);
        publish_status(m, "busy");
        reply(m, type, json_pack("{s:s}", "status", "aborted"));
        publish_status(m, "idle");
        jupyter_message_free(m);
    }
    vec_release(&waiting);
}

static void end_cell(void) {
    struct jupyter_message *m = kernel.request;
    const json_t *error = cell_finish();
    json_t *content = error ? json_deep_copy(error) : json_object();
    bool quiet = flag_of(m, "silent", false);
    if (error && !quiet) publish(m, "error", json_deep_copy(error));
    if (error) json_object_set_new(content, "status", json_string("error"));
    waiting_messages waiting = {0};
    if (error && flag_of(m, "stop_on_error", true)) waiting = take_waiting();
    reply_to_cell(m, content, json_array());
    publish_status(m, "idle");
    abort_all(waiting);
    jupyter_message_free(m);
    kernel.request = NULL;
}

/* The end of a request that ran no cell. */
static void end_request(struct jupyter_message *m, json_t *content, json_t *payload) {
    reply_to_cell(m, content, payload);
    publish_status(m, "idle");
    jupyter_message_free(m);
    kernel.request = NULL;
}

static json_t *unknown_command(const char *line) {
    struct buf text = BUF_INIT;
    buf_printf(&text, "there is no command %.*s; ? lists them", (int)strcspn(line, " \t\r\n"),
               line);
    json_t *what = jupyter_text(text.data, text.len);
    buf_release(&text);
    return json_pack("{s:s, s:O, s:[o]}", "ename", "Error", "evalue", what, "traceback", what);
}

/* Takes the request: it is answered when the cell has ended. */
static void execute(struct jupyter_message *m) {
    const char *given = text_of(m, "code");
    bool silent = flag_of(m, "silent", false);
    char *code = mem_strdup(given), *at = code, *name = asked_for(code), title[32];
    interrupt_forget();
    kernel.request = m;
    if (flag_of(m, "store_history", true) && !silent && *code) {
        kernel.count++;
        remember(code);
    }
    if (!silent)
        publish(m, "execute_input",
                json_pack("{s:o, s:i}", "code", jupyter_text(code, strlen(code)), "execution_count",
                          kernel.count));
    if (name) {
        end_request(m, json_object(), help_page(name));
    } else if (!run_commands(m, &at)) {
        json_t *error = unknown_command(at);
        publish(m, "error", json_deep_copy(error));
        json_object_set_new(error, "status", json_string("error"));
        end_request(m, error, json_array());
    } else {
        snprintf(title, sizeof title, "In [%d]", kernel.count);
        cell_start(kernel.session, title, code, silent ? 0 : kernel.count,
                   flag_of(m, "allow_stdin", true));
    }
    mem_free(name);
    mem_free(code);
}

static void forward_events(void) {
    for (struct cell_event e; (e = cell_next()).type;) {
        struct jupyter_message *m = kernel.request;
        bool silent = m && flag_of(m, "silent", false);
        if (!*e.type) {
            end_cell();
        } else if (!strcmp(e.type, "input_request")) {
            jupyter_send(CHANNEL_INPUT, m, e.type, e.content);
        } else if (silent) {
            json_decref(e.content);
        } else {
            publish(m, e.type, e.content);
        }
    }
}

/* ---- the loop ---- */

static const struct {
    const char *type;
    void (*answer)(struct jupyter_message *m);
} requests[] = {{"kernel_info_request", kernel_info},
                {"complete_request", complete},
                {"inspect_request", inspect},
                {"is_complete_request", is_complete},
                {"history_request", history},
                {"comm_info_request", comm_info},
                {"interrupt_request", interrupt},
                {"shutdown_request", leave},
                {"input_reply", input}};

static void handle(struct jupyter_message *m) {
    if (!m) return;
    if (m->channel == CHANNEL_INPUT) { /* an answer: nothing to say about it */
        input(m);
        jupyter_message_free(m);
        return;
    }
    /* on the control channel a cell may run at the same time, whose messages go on */
    publish_status(m, "busy");
    if (!strcmp(m->type, "execute_request") && m->channel == CHANNEL_SHELL) {
        execute(m);
        return;
    }
    size_t i = 0;
    while (i < COUNT_OF(requests) && strcmp(requests[i].type, m->type) != 0) i++;
    if (i < COUNT_OF(requests) && (m->channel == CHANNEL_SHELL || requests[i].answer == interrupt ||
                                   requests[i].answer == leave || !kernel.request))
        requests[i].answer(m);
    publish_status(m, "idle");
    jupyter_message_free(m);
}

static void serve(void) {
    while (!kernel.leave) {
        unsigned busy = kernel.request != NULL;
        unsigned want =
            1u << CHANNEL_CONTROL | 1u << CHANNEL_INPUT | (busy ? 0 : 1u << CHANNEL_SHELL);
        unsigned ready = jupyter_wait(want, cell_fd(), -1);
        if (ready >> CHANNELS & 1) forward_events();
        if (ready >> CHANNEL_INPUT & 1) handle(jupyter_receive(CHANNEL_INPUT));
        if (ready >> CHANNEL_CONTROL & 1) handle(jupyter_receive(CHANNEL_CONTROL));
        if (ready >> CHANNEL_SHELL & 1 && !kernel.request) handle(jupyter_receive(CHANNEL_SHELL));
    }
    /* a cell that does not hear the interrupt has five seconds */
    for (int tenths = 0; kernel.request && tenths < 50; tenths++)
        if (jupyter_wait(0, cell_fd(), 100) >> CHANNELS & 1) forward_events();
}

static int run_kernel(const char *connection_file) {
    json_object_seed(0); /* before there are threads */
    kernel.options = session_settings();
    cell_listen(&kernel.options);
    kernel.session = gpm_session_new(&kernel.options);
    interrupt_forever(); /* SIGINT stops the cell, never the kernel */
    bool ok = cell_fd() >= 0 && jupyter_open(connection_file);
    if (ok) {
        publish(NULL, "status", json_pack("{s:s}", "execution_state", "starting"));
        serve();
    }
    bool stuck = kernel.request != NULL;
    jupyter_close();
    if (stuck) _exit(EXIT_FINE);
    gpm_session_free(kernel.session);
    for (size_t i = 0; i < kernel.history.n; i++) mem_free(kernel.history.at[i].input);
    vec_release(&kernel.history);
    return ok ? EXIT_FINE : EXIT_FAILED;
}

/* ---- installation ---- */

static const char logo[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><rect "
                           "width=\"64\" height=\"64\" rx=\"10\" "
                           "fill=\"#0072b2\"/><path d=\"M6 44C16 44 16 14 28 20S38 54 58 22V38C40 "
                           "62 38 40 28 34S16 56 6 54Z\" fill=\"#fff\" "
                           "opacity=\".35\"/><path d=\"M6 49C16 50 16 20 28 27S38 58 58 30\" "
                           "fill=\"none\" stroke=\"#fff\" "
                           "stroke-width=\"3.5\"/><g fill=\"#e69f00\"><circle cx=\"13\" cy=\"43\" "
                           "r=\"4\"/><circle cx=\"28\" cy=\"27\" r=\"4\"/>"
                           "<circle cx=\"51\" cy=\"38\" r=\"4\"/></g></svg>\n";

/* DIR/share/jupyter/kernels/gpmem, or the user's own folder. */
static bool place(struct buf *out) {
    const char *data = getenv("JUPYTER_DATA_DIR"), *xdg = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (args.prefix)
        buf_printf(out, "%s/share/jupyter", args.prefix);
    else if (data && *data)
        buf_puts(out, data);
    else if (xdg && *xdg == '/')
        buf_printf(out, "%s/jupyter", xdg);
    else if (home && *home == '/')
        buf_printf(out, "%s/.local/share/jupyter", home);
    buf_puts(out, out->len ? "/kernels/gpmem" : "");
    return out->len > 0;
}

static bool make_folders(const char *path) {
    char *part = mem_strdup(path);
    bool ok = true;
    for (size_t i = 1; ok && i <= strlen(path); i++) {
        if (path[i] && path[i] != '/') continue;
        part[i] = 0;
        ok = file_folder(part, FILE_GIVEN) == GPM_OK;
        if (!ok) complain(0, "cannot make the folder '%s': %s", part, file_why());
        part[i] = path[i];
    }
    mem_free(part);
    return ok;
}

static bool put(const char *folder, const char *name, const char *text) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder, name);
    bool ok = out_part(path.data, FILE_GIVEN, text, strlen(text));
    buf_release(&path);
    return ok;
}

static int install(void) {
    struct buf folder = BUF_INIT;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    bool ok = place(&folder);
    if (!ok) complain(0, "there is no home to install for: give --prefix DIR");
    json_t *spec =
        json_pack("{s:[o, s, s], s:s, s:s, s:s, s:{s:b}}", "argv",
                  n > 0 ? jupyter_text(self, strlen(self)) : json_string("gpmem"), "kernel",
                  "{connection_file}", "display_name", "gpmem", "language", "venturescript",
                  "interrupt_mode", "message", "metadata", "debugger", 0);
    char *text = json_dumps(spec, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    ok = ok && make_folders(folder.data) && put(folder.data, "kernel.json", text) &&
         put(folder.data, "logo-svg.svg", logo);
    if (ok) explain("Jupyter starts it as %s", n > 0 ? self : "gpmem");
    if (ok) out_printf("installed in %s\n", folder.data);
    free(text);
    json_decref(spec);
    buf_release(&folder);
    return ok ? EXIT_FINE : EXIT_FAILED;
}

static int run(int argc, char **argv) {
    if (args.install != (argc == 0))
        return complain(EXIT_USAGE,
                        "kernel needs --install, or the connection file that Jupyter gives");
    if (!args.install && (args.user || args.prefix))
        return complain(EXIT_USAGE, "--user and --prefix go with --install");
    return args.install ? install() : run_kernel(argv[0]);
}

static const struct option_row rows[] = {
    {"install", 0, OPTION_FLAG, NULL, "make the kernel known to Jupyter, and end", &args.install},
    {"user", 0, OPTION_FLAG, NULL, "with --install: for this user (the default)", &args.user},
    {"prefix", 0, OPTION_TEXT, "DIR", "with --install: in DIR/share/jupyter/kernels", &args.prefix},
    {.kind = OPTION_GROUP, .field = &session_options},
    SEED_OPTION,
};

COMMAND(kernel, 195) = {
    .args = "[CONNECTION-FILE]",
    .summary = "run programs in Jupyter notebooks",
    .text = "`gpmem kernel --install` makes notebooks offer the language; Jupyter then starts the "
            "kernel itself. "
            "A notebook is one session: names and the model stay from cell to cell. Plots are "
            "pictures, tables of draws "
            "HTML; `?name` shows help; the stop button ends the running cell and keeps the "
            "session. What a program may "
            "not do unasked (run commands, write files) is asked for in the notebook.\n\n"
            "The library ZeroMQ (Debian: libzmq5) is loaded when a kernel starts.",
    OPTIONS(rows),
    .takes = {0, 1},
    .run = run,
};
