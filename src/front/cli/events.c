/* SPDX-License-Identifier: Apache-2.0
 *
 * See events.h.
 */
#include "front/cli/events.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/mem.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include <pthread.h>
#include <string.h>

#define EVENT_SECONDS   1.0 /* between two of one chain's progress */
#define METRICS_SECONDS 5.0 /* between two writings of the metrics */

struct chain_events {
    uint64_t number, draws;
    double share, elapsed; /* of the running command */
    double said;           /* clock_seconds() of its last event */
    const char *state;     /* "waiting", "running", "finished", "failed", "stopped" */
    /* the options' previous receiver */
    void (*progress)(void *user, double share, double elapsed, const char *acceptance);
    void *progress_user;
    gpm_draw_fn *draw;
    void *draw_user;
};

static struct {
    const char *events, *metrics;
    int fd;
    uint64_t n;
    struct chain_events *chains;
    double written; /* the metrics */
    bool failed;    /* it was said that a file cannot be written */
    pthread_mutex_t lock;
} all = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static const struct option_row rows[] = {
    {"events", 0, OPTION_TEXT, "FILE", "append what happens to FILE, a JSON object a line",
     &all.events},
    {"metrics", 0, OPTION_TEXT, "FILE", "keep numbers of the run in FILE, as Prometheus reads them",
     &all.metrics},
};
struct option_group event_options = {rows, COUNT_OF(rows)};

static void cannot_write(const char *path) {
    if (!all.failed) complain(0, "cannot write '%s': %s; the run goes on", path, file_why());
    all.failed = true;
}

/* ---- events ---- */

/* One line in one write: readers never see half of it, and many processes may share a file. */
static void put_event(struct chain_events *c, const char *event, const char *more) {
    if (all.fd < 0) return;
    char when[40];
    struct buf b = BUF_INIT;
    calendar_now(true, when);
    buf_printf(&b, "{\"time\": \"%s\", \"event\": \"%s\", \"chain\": %llu%s}\n", when, event,
               (unsigned long long)c->number, more);
    if (file_put(all.fd, b.data, b.len) != GPM_OK) cannot_write(all.events);
    buf_release(&b);
}

static void put_progress(struct chain_events *c, const char *acceptance) {
    struct buf b = BUF_INIT;
    buf_puts(&b, ", \"share\": ");
    buf_number(&b, c->share);
    buf_puts(&b, ", \"seconds\": ");
    buf_number(&b, c->elapsed);
    buf_printf(&b, ", \"draws\": %llu, \"accepted\": ", (unsigned long long)c->draws);
    buf_json_string(&b, acceptance, strlen(acceptance));
    put_event(c, "progress", b.data);
    buf_release(&b);
}

/* ---- metrics ---- */

static const struct {
    const char *name, *type, *help;
} metrics[] = {
    {"gpmem_draws_total", "counter", "Draws that the chain has collected."},
    {"gpmem_share", "gauge", "Share of the running command that is done."},
    {"gpmem_running", "gauge", "1 while the chain runs."},
    {"gpmem_failed", "gauge", "1 when the chain ended with an error."},
};

static double metric_of(const struct chain_events *c, size_t i) {
    const double v[] = {(double)c->draws, c->share, !strcmp(c->state, "running"),
                        !strcmp(c->state, "failed")};
    return v[i];
}

static void write_metrics(void) {
    if (!all.metrics) return;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        buf_printf(&b, "# HELP %s %s\n# TYPE %s %s\n", metrics[i].name, metrics[i].help,
                   metrics[i].name, metrics[i].type);
        for (uint64_t k = 0; k < all.n; k++) {
            buf_printf(&b, "%s{chain=\"%llu\"} ", metrics[i].name,
                       (unsigned long long)all.chains[k].number);
            buf_number(&b, metric_of(&all.chains[k], i));
            buf_putc(&b, '\n');
        }
    }
    if (file_write(all.metrics, FILE_GIVEN, b.data, b.len) != GPM_OK) cannot_write(all.metrics);
    buf_release(&b);
    all.written = clock_seconds();
}

/* ---- what chains report ---- */

static void on_progress(void *user, double share, double elapsed, const char *acceptance) {
    struct chain_events *c = user;
    double now = clock_seconds();
    if (c->progress) c->progress(c->progress_user, share, elapsed, acceptance);
    pthread_mutex_lock(&all.lock);
    c->share = share;
    c->elapsed = elapsed;
    if (now - c->said >= EVENT_SECONDS) {
        c->said = now;
        put_progress(c, acceptance);
    }
    if (now - all.written >= METRICS_SECONDS) write_metrics();
    pthread_mutex_unlock(&all.lock);
}

static void on_draw(void *user, const char *const *names, const double *row, size_t n) {
    struct chain_events *c = user;
    if (c->draw) c->draw(c->draw_user, names, row, n);
    pthread_mutex_lock(&all.lock);
    c->draws++;
    pthread_mutex_unlock(&all.lock);
}

bool events_begin(uint64_t n, uint64_t first) {
    if (!all.events && !all.metrics) return true;
    if (all.events && file_append(all.events, &all.fd) != GPM_OK)
        return complain(false, "cannot write '%s': %s", all.events, file_why());
    all.n = n;
    all.chains = mem_zalloc(n * sizeof *all.chains);
    for (uint64_t i = 0; i < n; i++) {
        all.chains[i].number = first + i;
        all.chains[i].state = "waiting";
    }
    write_metrics();
    return true;
}

void events_attach(size_t i, struct gpm_options *o) {
    if (!all.chains) return;
    struct chain_events *c = &all.chains[i];
    c->progress = o->progress;
    c->progress_user = o->progress_user;
    c->draw = o->draw;
    c->draw_user = o->draw_user;
    o->progress = on_progress;
    o->draw = on_draw;
    o->progress_user = o->draw_user = c;
    pthread_mutex_lock(&all.lock);
    c->state = "running";
    c->said = clock_seconds();
    put_event(c, "start", "");
    pthread_mutex_unlock(&all.lock);
}

void events_end_chain(size_t i, const char *status, const char *why) {
    if (!all.chains) return;
    struct chain_events *c = &all.chains[i];
    struct buf b = BUF_INIT;
    pthread_mutex_lock(&all.lock);
    c->state = status;
    if (!strcmp(status, "finished")) c->share = 1;
    buf_printf(&b, ", \"status\": \"%s\", \"draws\": %llu", status, (unsigned long long)c->draws);
    if (*why) buf_puts(&b, ", \"why\": ");
    if (*why) buf_json_string(&b, why, strlen(why));
    put_event(c, "end", b.data);
    write_metrics();
    pthread_mutex_unlock(&all.lock);
    buf_release(&b);
}

void events_end(void) {
    if (all.fd >= 0 && file_close(all.fd) != GPM_OK) cannot_write(all.events);
    mem_free(all.chains);
    all.chains = NULL;
    all.fd = -1;
}
