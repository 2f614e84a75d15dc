/* SPDX-License-Identifier: Apache-2.0
 * The pool: up to `jobs` children watched by one poll loop. */
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/stop.h"
#include "base/vec.h"
#include "io/host/proc_priv.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_GRACE 0.3 /* seconds between TERM and KILL */
#define TOLD_LATER 2.0 /* seconds from the end of a program to that of its job */

struct job {
    const struct proc_command *c; /* NULL: a free slot */
    bool ended, timed_out;
    bool overflow;  /* only the end of what it printed is kept, whole lines of it */
    bool long_line; /* within a line that is too long to be kept */
    bool hopeless;  /* said the watcher */
    size_t looked;  /* so much of `out` are lines that tell no step */
    struct proc_child child;
    char **argv; /* owned */
    struct buf input, out;
    struct proc_result r;
    double started, deadline;
    double again, pause; /* when to try to start it again, 0: it runs; the last pause */
    double gives_up;     /* when a shortage has lasted too long, or 0 */
    double counts;       /* when its failure counts as the program's, or 0 */
    int retries, wait_status;
    int64_t tag;
};

struct proc_pool {
    struct job *jobs;
    int n, running;
    struct proc_watch watch;
};

struct proc_pool *proc_pool_new(int jobs) {
    struct proc_pool *p = NEW(struct proc_pool);
    p->n = jobs < 1 ? 1 : jobs;
    p->jobs = mem_zalloc(sizeof *p->jobs * (size_t)p->n);
    return p;
}

static void close_child(struct proc_child *c) {
    proc_close(&c->out);
    proc_close(&c->err);
    proc_close(&c->pidfd);
}

static void job_release(struct proc_pool *p, struct job *j) {
    close_child(&j->child);
    for (int i = 0; j->argv && j->argv[i]; i++) mem_free(j->argv[i]);
    mem_free(j->argv);
    buf_release(&j->input);
    buf_release(&j->out);
    proc_result_release(&j->r);
    *j = (struct job){0};
    p->running--;
}

void proc_pool_free(struct proc_pool *p) {
    if (!p) return;
    for (int i = 0; i < p->n; i++) {
        if (!p->jobs[i].c) continue;
        pid_t group = p->jobs[i].child.pid;
        if (group > 0) {
            kill(-group, SIGKILL);
            while (waitpid(group, NULL, 0) < 0 && errno == EINTR) continue;
            proc_watch_tell(p->watch.fd, -group);
        }
        job_release(p, &p->jobs[i]);
    }
    proc_watch_end(&p->watch);
    mem_free(p->jobs);
    mem_free(p);
}

bool proc_pool_full(const struct proc_pool *p) {
    return p->running == p->n;
}

/* A failure to start ends the job, unless there is hope. */
static void not_started(struct job *j, int e) {
    /* says the machine, not the program: it may be gone in a moment */
    bool shortage = e == EMFILE || e == ENFILE || e == EAGAIN || e == ENOMEM || e == ETXTBSY;
    double t = clock_seconds();
    j->child = (struct proc_child){0, -1, -1, -1};
    if (shortage && j->gives_up == 0) j->gives_up = t + j->c->patience;
    if (shortage && t < j->gives_up) {
        j->pause = fmin(1, j->pause > 0 ? 2 * j->pause : 0.01);
        j->again = t + j->pause;
        j->deadline = INFINITY;
        return;
    }
    j->ended = true;
    j->r.outcome = shortage ? PROC_SHORTAGE : PROC_NO_START;
    bool sentence =
        j->c->argc == 1 && strpbrk(j->argv[0], " \t"); /* for a shell, which there is not */
    j->r.any_input = sentence || strcmp(j->argv[0], j->c->argv[0]) == 0;
    buf_printf(&j->r.message, "'%s' could not be started: %s", j->argv[0], strerror(e));
    if (e == ENOENT && sentence)
        buf_puts(&j->r.message,
                 "; give the program and its arguments as words of their own, not in quotes");
    else if (e == ENOENT)
        buf_puts(&j->r.message, "; check the path, and that it has #! when a script");
}

/* (Re)starts a job's program. */
static void job_launch(struct proc_pool *p, struct job *j) {
    buf_reset(&j->out);
    buf_reset(&j->r.message);
    buf_reset(&j->r.stderr_tail);
    buf_reset(&j->r.steps);
    j->timed_out = j->overflow = j->long_line = j->hopeless = false;
    j->looked = 0;
    j->again = 0;
    j->started = clock_seconds();
    j->deadline = j->c->timeout > 0 ? j->started + j->c->timeout : INFINITY;
    int e = p->watch.pid ? 0 : proc_watch_start(&p->watch);
    if (!e) e = proc_spawn(&j->child, p->watch.fd, j->argv, j->input.data, j->input.len);
    if (e) {
        not_started(j, e);
        return;
    }
    j->r.attempts++;
    j->gives_up = j->pause = j->counts = 0;
}

void proc_pool_start(struct proc_pool *p, const struct proc_command *c, const char *const *values,
                     int64_t tag) {
    struct job *j = p->jobs;
    while (j->c) j++;
    *j =
        (struct job){.c = c, .tag = tag, .retries = c->retries, .input = BUF_INIT, .out = BUF_INIT};
    proc_result_init(&j->r);
    j->argv = proc_fill_argv(c, values);
    if (c->json) proc_fill_json(c, values, &j->input);
    p->running++;
    job_launch(p, j);
}

/* Keeps the last PROC_STDERR_MAX bytes. */
static void keep_tail(struct buf *b) {
    if (b->len <= PROC_STDERR_MAX) return;
    memmove(b->data, b->data + b->len - PROC_STDERR_MAX, PROC_STDERR_MAX + 1);
    b->len = PROC_STDERR_MAX;
}

static void tell_step(struct job *j, double step, double value) {
    bool known = isfinite(step) && isfinite(value); /* NaN says nothing of how it gets on */
    if (!known) return;
    if (j->r.steps.len < PROC_STDOUT_MAX) {
        buf_puts(&j->r.steps, j->r.steps.len ? ", [" : "[");
        buf_number(&j->r.steps, step);
        buf_puts(&j->r.steps, ", ");
        buf_number(&j->r.steps, value);
        buf_putc(&j->r.steps, ']');
    }
    if (j->hopeless) return;
    j->r.value = value;
    if (!j->c->watch(j->c->watcher, j->tag, step, value)) return;
    j->hopeless = true;
    j->deadline = 0;
}

/* Takes the lines "gpmem: STEP VALUE" out of what was printed, and tells them: each line is looked
 * at once. */
static void take_steps(struct job *j) {
    if (!j->out.len) return;
    char *line = j->out.data + j->looked, *to = line, *all = j->out.data + j->out.len, *end;
    while (line < all && (end = memchr(line, '\n', (size_t)(all - line)))) {
        double step, value;
        size_t n = (size_t)(end + 1 - line);
        if (proc_read_step(line, end, &step, &value) == PROC_STEP)
            tell_step(j, step, value);
        else
            memmove(to, line, n), to += n;
        line = end + 1;
    }
    j->looked = (size_t)(to - j->out.data);
    memmove(to, line, (size_t)(all - line) + 1);
    j->out.len -= (size_t)(line - to);
}

/* Makes room for n bytes: of much that is printed the end counts, in whole lines. */
static void make_room(struct job *j, size_t n) {
    if (j->out.len + n <= PROC_STDOUT_MAX) return;
    size_t half = j->out.len / 2;
    const char *end = memchr(j->out.data + half, '\n', j->out.len - half);
    size_t drop = end ? (size_t)(end + 1 - j->out.data) : j->out.len;
    j->overflow = true;
    j->long_line = !end;
    j->looked = j->looked > drop ? j->looked - drop : 0;
    memmove(j->out.data, j->out.data + drop, j->out.len - drop + 1);
    j->out.len -= drop;
}

static void take_output(struct job *j, const char *chunk, size_t n) {
    make_room(j, n);
    if (j->long_line) {
        const char *end = memchr(chunk, '\n', n);
        if (!end) return;
        j->long_line = false;
        n -= (size_t)(end + 1 - chunk);
        chunk = end + 1;
    }
    buf_add(&j->out, chunk, n);
    if (j->c->watch) take_steps(j);
}

/* Reads what is there, at most 1 MiB per turn so that a flood cannot starve the time-out. */
static void drain(struct job *j, int *fd, bool is_err) {
    char chunk[16384];
    for (int turn = 0; *fd >= 0 && turn < 64; turn++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) {
            proc_close(fd);
            return;
        }
        if (is_err) {
            buf_add(&j->r.stderr_tail, chunk, (size_t)n);
            keep_tail(&j->r.stderr_tail);
        } else {
            take_output(j, chunk, (size_t)n);
        }
    }
}

/* Digits, a comma, digits: a number as people of many countries write it, or with thousands. */
static bool has_comma(const char *text) {
    for (const char *p = text; (p = strchr(p, ',')); p++)
        if (p > text && ascii_digit(p[-1]) && ascii_digit(p[1])) return true;
    return false;
}

/* What was printed, and why it is not what was asked for. */
static void describe_wrong(struct job *j, const char *why) {
    struct proc_result *r = &j->r;
    const struct proc_outputs *several = j->c->outputs;
    size_t show = j->out.len < 80 ? j->out.len : 80; /* its end, where the answer is looked for */
    if (r->outcome == PROC_GARBAGE && j->out.len == 0 && !j->overflow) {
        buf_puts(&r->message, several ? "printed nothing on stdout"
                                      : "printed nothing on stdout; it must print one number");
        return;
    }
    if (why && *why)
        buf_puts(&r->message, why);
    else
        buf_puts(&r->message, r->outcome == PROC_NAN ? "printed a value that is not finite: "
                                                     : "did not print exactly one number but ");
    if (show < j->out.len) buf_puts(&r->message, "...");
    buf_json_string(&r->message, j->out.data ? j->out.data + (j->out.len - show) : "", show);
    if (j->overflow) buf_puts(&r->message, "...");
    bool alone = !several || several->n == 1 || several->n_patterns; /* no comma between numbers */
    if (r->outcome == PROC_GARBAGE && j->out.len && alone && has_comma(j->out.data))
        buf_puts(&r->message, " (numbers have a point and no comma)");
    if (r->outcome == PROC_GARBAGE && j->out.len && !several && *j->out.data == '{')
        buf_puts(&r->message, " (a member of an object is named with --objective)");
}

static void describe_output(struct job *j) {
    struct proc_result *r = &j->r;
    if (j->c->timing) {
        r->outcome = PROC_OK;
        r->value = r->seconds;
        return;
    }
    const struct proc_outputs *several = j->c->outputs;
    struct buf why = BUF_INIT;
    if (several && !r->values) r->values = NEW_ARRAY(double, (size_t)several->n);
    bool text = j->out.len == 0 || !memchr(j->out.data, 0, j->out.len);
    if (!text)
        r->outcome = PROC_GARBAGE;
    else
        r->outcome = proc_read_outputs(several, j->out.data ? j->out.data : "",
                                       several ? r->values : &r->value, &why);
    if (several) r->value = r->values[0];
    r->outputs = several;
    if (r->outcome != PROC_OK) describe_wrong(j, why.data);
    buf_release(&why);
}

/* The child is gone: what happened, from its wait status and its output. */
static void judge(struct job *j) {
    struct proc_result *r = &j->r;
    r->seconds = clock_seconds() - j->started;
    if (j->hopeless) {
        r->outcome = PROC_OK;
        r->stopped = true;
    } else if (j->timed_out) {
        r->outcome = PROC_TIMEOUT;
        buf_printf(&r->message, "ran longer than its time-out of %g s and was killed",
                   j->c->timeout);
    } else if (WIFSIGNALED(j->wait_status)) {
        r->outcome = PROC_SIGNAL;
        r->code = WTERMSIG(j->wait_status);
        buf_printf(&r->message, "killed by signal %d (%s)", r->code, strsignal(r->code));
    } else if (WEXITSTATUS(j->wait_status) != 0) {
        r->outcome = PROC_EXIT;
        r->code = WEXITSTATUS(j->wait_status);
        buf_printf(&r->message, "ended with status %d", r->code);
    } else {
        describe_output(j);
    }
}

/* A signal that others send. What ends so, or with the status that a shell gives it, may have ended
 * because a whole job ends. */
static bool is_told(const struct proc_result *r) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGKILL};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if ((r->outcome == PROC_SIGNAL && r->code == signals[i]) ||
            (r->outcome == PROC_EXIT && r->code == 128 + signals[i]))
            return true;
    return false;
}

static void settle(struct proc_pool *p, struct job *j) {
    if (j->r.outcome != PROC_OK && j->retries > 0) {
        j->retries--;
        job_launch(p, j);
    } else {
        j->ended = true;
    }
}

/* Checks whether the child ended; then reads the rest of the pipes and judges or retries. A job's
 * manager signals its processes one by one, and the program may receive its signal first. So a
 * failure counts only if this process gets no signal soon afterwards. No failure waits longer than
 * the program ran, unless a signal ended it. */
static void check_ended(struct proc_pool *p, struct job *j, bool stoppable) {
    if (j->ended || j->child.pid <= 0) return;
    pid_t got = waitpid(j->child.pid, &j->wait_status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return;
    drain(j, &j->child.out, false);
    drain(j, &j->child.err, true);
    if (j->timed_out) kill(-j->child.pid, SIGKILL); /* what the group's leader left behind */
    proc_watch_tell(p->watch.fd, -j->child.pid);
    close_child(&j->child);
    j->child.pid = 0;
    judge(j);
    if (stoppable && j->r.outcome != PROC_OK && !j->timed_out)
        j->counts =
            clock_seconds() + (is_told(&j->r) ? TOLD_LATER : fmin(TOLD_LATER, j->r.seconds));
    else
        settle(p, j);
}

static void check_deadline(struct job *j, double t) {
    if (j->ended || j->child.pid <= 0 || t < j->deadline) return;
    kill(-j->child.pid, j->timed_out ? SIGKILL : SIGTERM);
    j->deadline = t + KILL_GRACE;
    j->timed_out = true;
}

static bool take_ended(struct proc_pool *p, int64_t *tag, struct proc_result *r) {
    for (int i = 0; i < p->n; i++) {
        struct job *j = &p->jobs[i];
        if (!j->c || !j->ended) continue;
        *tag = j->tag;
        proc_result_release(r);
        *r = j->r;
        proc_result_init(&j->r);
        job_release(p, j);
        return true;
    }
    return false;
}

/* One turn of the loop: waits until something happens or `limit`, then looks at every job. */
static void turn(struct proc_pool *p, double limit, const volatile sig_atomic_t *stop) {
    struct pollfd *fds = NEW_ARRAY(struct pollfd, 3 * (size_t)p->n);
    nfds_t n = 0;
    double t = clock_seconds(), until = limit;
    for (int i = 0; i < p->n; i++) {
        struct job *j = &p->jobs[i];
        if (!j->c || j->ended) continue;
        const int all[] = {j->child.out, j->child.err, j->child.pidfd}; /* poll skips those < 0 */
        for (size_t k = 0; k < COUNT_OF(all); k++)
            fds[n++] = (struct pollfd){.fd = all[k], .events = POLLIN};
        if (j->deadline < until) until = j->deadline;
        if (j->again > 0 && j->again < until) until = j->again;
        if (j->counts > 0 && j->counts < until) until = j->counts;
        if (j->child.pid > 0 && j->child.pidfd < 0 && t + 0.005 < until) until = t + 0.005;
    }
    if (stop && t + 0.1 < until) until = t + 0.1; /* the flag may come from another thread */
    double ms = (until - t) * 1000;
    poll(fds, n, ms <= 0 ? 0 : ms > 60000 ? 60000 : (int)ceil(ms));
    t = clock_seconds();
    for (int i = 0; i < p->n; i++) {
        struct job *j = &p->jobs[i];
        if (!j->c || j->ended) continue;
        drain(j, &j->child.out, false);
        drain(j, &j->child.err, true);
        if (j->again > 0 && t >= j->again)
            job_launch(p, j);
        else if (j->counts > 0 && t >= j->counts && !stop_asked(stop))
            settle(p, j);
        else
            check_ended(p, j, stop != NULL);
        check_deadline(j, clock_seconds());
    }
    mem_free(fds);
}

bool proc_pool_wait(struct proc_pool *p, double seconds, const volatile sig_atomic_t *stop,
                    int64_t *tag, struct proc_result *r) {
    double limit = seconds < 0 ? INFINITY : clock_seconds() + seconds;
    bool late = false;
    while (!take_ended(p, tag, r)) {
        if (late || p->running == 0 || stop_asked(stop)) return false;
        turn(p, limit, stop);
        late = clock_seconds() >= limit;
    }
    return true;
}

void proc_run(const struct proc_command *c, const char *const *values,
              const volatile sig_atomic_t *stop, struct proc_result *r) {
    struct proc_pool *p = proc_pool_new(1);
    int64_t tag;
    if (!stop_asked(stop)) proc_pool_start(p, c, values, 0);
    if (!proc_pool_wait(p, -1, stop, &tag, r)) r->outcome = PROC_INTERRUPTED;
    proc_pool_free(p);
}
