/* SPDX-License-Identifier: Apache-2.0
 *
 * See jupyter_cell.h. Two threads meet at one mutex: `lock` guards everything in `cell` that both
 * use. The program waits for nobody but for answers to its questions.
 */
#include "cli/jupyter_cell.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/jupyter_wire.h"
#include "cli/run.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct cell_pending {
    const char *type;
    json_t *content;
    int stream;      /* 1, 2: text of a stream, which grows until it is fetched */
    struct buf text; /* then */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    VEC(struct cell_pending) events;
    size_t first; /* of those that wait */
    int wake[2];  /* a pipe that holds a byte while events wait */
    bool asking;  /* the program waits for an answer */
    bool has_answer;
    char *answer; /* NULL: no */
    /* of the running cell, used by its thread alone */
    pthread_t thread;
    gpm_session *session;
    char *name, *code;
    int count;
    bool may_ask;
    char *value;       /* shown last, and nothing after it: NULL, none */
    unsigned progress; /* number of its display; 0: not shown yet */
    json_t *error;
} cell = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER, .wake = {-1, -1}};

/* ---- events ---- */

static bool none_waits(void) {
    return cell.first == cell.events.n;
}

/* Under the lock, before an event is added. */
static void wake_up(void) {
    if (none_waits() && write(cell.wake[1], "", 1) < 0) return; /* a full pipe wakes as well */
}

static void post(const char *type, json_t *content) {
    pthread_mutex_lock(&cell.lock);
    wake_up();
    vec_push(&cell.events, ((struct cell_pending){type, content, 0, BUF_INIT}));
    pthread_mutex_unlock(&cell.lock);
}

static void post_stream(int stream, const char *text, size_t n) {
    pthread_mutex_lock(&cell.lock);
    if (none_waits() || vec_last(&cell.events).stream != stream) {
        wake_up();
        vec_push(&cell.events, ((struct cell_pending){"stream", NULL, stream, BUF_INIT}));
    }
    buf_add(&vec_last(&cell.events).text, text, n);
    pthread_mutex_unlock(&cell.lock);
}

int cell_fd(void) {
    if (cell.wake[0] < 0 && pipe(cell.wake) != 0) return -1;
    return cell.wake[0];
}

struct cell_event cell_next(void) {
    struct cell_pending p = {0};
    char byte;
    pthread_mutex_lock(&cell.lock);
    if (!none_waits()) p = cell.events.at[cell.first++];
    if (none_waits()) {
        if (p.type && read(cell.wake[0], &byte, 1) < 0) p.type = NULL;
        vec_clear(&cell.events);
        cell.first = 0;
    }
    pthread_mutex_unlock(&cell.lock);
    if (p.stream) {
        p.content = json_pack("{s:s, s:o}", "name", p.stream == 1 ? "stdout" : "stderr", "text",
                              jupyter_text(p.text.data, p.text.len));
        buf_release(&p.text);
    }
    return (struct cell_event){p.type, p.content};
}

/* ---- what the session says; on its thread ---- */

/* A value that something follows is a line of text like any other. */
static void settle_value(void) {
    if (cell.value) post_stream(1, cell.value, strlen(cell.value));
    mem_free(cell.value);
    cell.value = NULL;
}

static void on_write(void *user, int stream, const char *text, size_t n) {
    settle_value();
    post_stream(stream, text, n);
}

static json_t *display(const char *text, const char *type, const char *rich) {
    json_t *data = json_object();
    if (type) json_object_set_new(data, type, jupyter_text(rich, strlen(rich)));
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n') n--;
    json_object_set_new(data, "text/plain", jupyter_text(text, n));
    return data;
}

static void on_show(void *user, const char *text, const char *type, const char *rich) {
    settle_value();
    if (type)
        post("display_data",
             json_pack("{s:o, s:{}}", "data", display(text, type, rich), "metadata"));
    else
        cell.value = mem_strdup(text);
}

/* From the second second on; one display, replaced each time. */
static void show_progress(const char *html, const char *text) {
    static unsigned last;
    bool first = cell.progress == 0;
    char id[32];
    if (first) cell.progress = ++last;
    if (first) settle_value();
    snprintf(id, sizeof id, "progress-%u", cell.progress);
    post(first ? "display_data" : "update_display_data",
         json_pack("{s:o, s:{}, s:{s:s}}", "data", display(text, "text/html", html), "metadata",
                   "transient", "display_id", id));
}

static void on_progress(void *user, double share, double elapsed, const char *acceptance) {
    struct buf html = BUF_INIT, text = BUF_INIT;
    if (elapsed < 1) return;
    buf_printf(&text, "%3.0f%%  %.0f s%s%s", 100 * share, elapsed,
               *acceptance ? "  accepted: " : "", acceptance);
    buf_printf(&html, "<progress max=\"1\" value=\"%.3f\"></progress> ", share);
    buf_markup(&html, text.data);
    show_progress(html.data, text.data);
    buf_release(&html);
    buf_release(&text);
}

static void end_progress(double seconds) {
    struct buf text = BUF_INIT;
    if (!cell.progress) return;
    buf_printf(&text, "%.1f s", seconds);
    show_progress(text.data, text.data);
    buf_release(&text);
}

static bool on_question(void *user, const char *question) {
    if (!cell.may_ask) return false;
    settle_value();
    struct buf prompt = BUF_INIT;
    buf_printf(&prompt, "%s [y/N] ", question);
    pthread_mutex_lock(&cell.lock);
    cell.asking = true;
    cell.has_answer = false;
    pthread_mutex_unlock(&cell.lock);
    post("input_request",
         json_pack("{s:o, s:b}", "prompt", jupyter_text(prompt.data, prompt.len), "password", 0));
    buf_release(&prompt);
    pthread_mutex_lock(&cell.lock);
    while (!cell.has_answer) pthread_cond_wait(&cell.answered, &cell.lock);
    bool yes = cell.answer && (*cell.answer == 'y' || *cell.answer == 'Y');
    cell.asking = false;
    mem_free(cell.answer);
    cell.answer = NULL;
    pthread_mutex_unlock(&cell.lock);
    return yes;
}

void cell_answer(const char *text) {
    pthread_mutex_lock(&cell.lock);
    if (cell.asking && !cell.has_answer) {
        cell.answer = text ? mem_strdup(text) : NULL;
        cell.has_answer = true;
        pthread_cond_signal(&cell.answered);
    }
    pthread_mutex_unlock(&cell.lock);
}

void cell_listen(struct gpm_options *o) {
    o->write = on_write;
    o->show = on_show;
    o->confirm = on_question;
    o->progress = on_progress;
    o->colour = true; /* tracebacks are shown as a terminal would */
}

/* ---- the end of a cell ---- */

/* Text without the colours of a terminal. */
static void plain(const char *text, struct buf *out) {
    for (; *text; text++) {
        if (*text == '\033') {
            while (*text && *text != 'm') text++;
            if (!*text) break;
        } else {
            buf_putc(out, *text);
        }
    }
}

/* "NAME:2:12: error[E0201]: text" gives E0201 and text; without a code, the name is Error. */
static json_t *error_content(enum gpm_status st, const char *rendered) {
    struct buf all = BUF_INIT;
    plain(rendered, &all);
    const char *line = all.len ? all.data : gpm_status_text(st);
    const char *code = strstr(line, "error["), *text = strstr(line, "]: ");
    char name[16] = "Error";
    if (code && text && text > code)
        snprintf(name, sizeof name, "%.*s", (int)(text - code - 6), code + 6);
    const char *value = code && text ? text + 3 : line;
    if (st == GPM_E_INTERRUPT) snprintf(name, sizeof name, "Interrupted");
    json_t *lines = json_array();
    for (const char *at = rendered; *at; at += strcspn(at, "\n"), at += *at == '\n')
        json_array_append_new(lines, jupyter_text(at, strcspn(at, "\n")));
    json_t *content = json_pack("{s:s, s:o, s:o}", "ename", name, "evalue",
                                jupyter_text(value, strcspn(value, "\n")), "traceback", lines);
    buf_release(&all);
    return content;
}

static void *run_cell(void *arg) {
    double started = clock_seconds();
    interrupt_begin(0, cell.session);
    enum gpm_status st = gpm_run_text(cell.session, cell.name, cell.code, strlen(cell.code));
    interrupt_end(0);
    const char *said = gpm_last_error(cell.session);
    end_progress(clock_seconds() - started);
    if (cell.value && cell.count > 0) {
        post("execute_result", json_pack("{s:i, s:o, s:{}}", "execution_count", cell.count, "data",
                                         display(cell.value, NULL, NULL), "metadata"));
        mem_free(cell.value);
        cell.value = NULL;
    }
    settle_value();
    if (st != GPM_OK)
        cell.error = error_content(st, said);
    else if (*said) /* warnings */
        post_stream(2, said, strlen(said));
    post("", NULL);
    return NULL;
}

void cell_start(gpm_session *s, const char *name, const char *code, int count, bool may_ask) {
    json_decref(cell.error);
    cell.error = NULL;
    cell.session = s;
    cell.name = mem_strdup(name);
    cell.code = mem_strdup(code);
    cell.count = count;
    cell.may_ask = may_ask;
    cell.progress = 0;
    if (pthread_create(&cell.thread, NULL, run_cell, NULL) != 0) {
        cell.thread = pthread_self();
        run_cell(NULL);
    }
}

const json_t *cell_finish(void) {
    if (!pthread_equal(cell.thread, pthread_self())) pthread_join(cell.thread, NULL);
    mem_free(cell.name);
    mem_free(cell.code);
    return cell.error;
}
