/* SPDX-License-Identifier: Apache-2.0
 * Statements of the memo table and the cells of their answers, whatever database is under it. */
#include "io/store/memo_priv.h"
#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct memo_driver *memo_driver_of(const char *path) {
    size_t n = strlen(memo_postgres.prefix);
    bool server = !strncmp(path, memo_postgres.prefix, n) || !strncmp(path, "postgres://", 11);
    return server ? &memo_postgres : &memo_sqlite;
}

bool memo_is_file(const char *path) {
    return memo_driver_of(path) == &memo_sqlite;
}

enum gpm_status memo_exec(struct memo *m, const char *sql, const char *doing, struct buf *err) {
    return m->driver->exec(m, sql, doing, err);
}

double memo_now(struct memo *m) {
    return m->driver->now(m);
}

void memo_wait(struct memo *m, double seconds) {
    m->driver->wait(m, seconds);
}

enum gpm_status memo_fault(struct memo *m, enum gpm_status s, struct buf *err, const char *fmt,
                           ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_printf(err, "%s '%s': ", m->kind->noun, m->path);
    buf_vprintf(err, fmt, ap);
    va_end(ap);
    return s;
}

/* Our identity and the claim's duration: started, expires, host, pid, pid_start. */
static int add_owner(struct memo *m, struct memo_param *p) {
    double now = memo_now(m);
    p[0] = (struct memo_param){PARAM_NUMBER, .d = now};
    p[1] = (struct memo_param){PARAM_NUMBER, .d = now + m->claim_seconds};
    p[2] = (struct memo_param){PARAM_TEXT, .p = m->host};
    p[3] = (struct memo_param){PARAM_INT, .i = m->pid};
    p[4] = (struct memo_param){PARAM_INT, .i = m->pid_start};
    return 5;
}

static enum gpm_status query(struct memo *m, const char *doing, const char *sql,
                             struct memo_answer *a, struct buf *err, const char *kinds,
                             va_list ap) {
    struct memo_param p[MEMO_PARAMS];
    int n = 0;
    for (; *kinds; kinds++) switch (*kinds) {
        case 'i': p[n++] = (struct memo_param){PARAM_INT, .i = va_arg(ap, int64_t)}; break;
        case 'd': p[n++] = (struct memo_param){PARAM_NUMBER, .d = va_arg(ap, double)}; break;
        case 's': p[n++] = (struct memo_param){PARAM_TEXT, .p = va_arg(ap, const char *)}; break;
        case 'b': {
            const void *data = va_arg(ap, const void *);
            p[n++] = (struct memo_param){PARAM_BYTES, .p = data, .n = va_arg(ap, size_t)};
            break;
        }
        case 'k':
            p[n++] = (struct memo_param){PARAM_BYTES, .p = m->key, .n = 8 * (size_t)m->dim};
            break;
        default: n += add_owner(m, p + n);
        }
    return m->driver->query(m, doing, sql, p, n, a, err);
}

enum gpm_status memo_query(struct memo *m, const char *doing, const char *sql,
                           struct memo_answer *a, struct buf *err, const char *kinds, ...) {
    va_list ap;
    va_start(ap, kinds);
    enum gpm_status s = query(m, doing, sql, a, err, kinds, ap);
    va_end(ap);
    return s;
}

enum gpm_status memo_do(struct memo *m, const char *doing, const char *sql, int64_t *id,
                        struct buf *err, const char *kinds, ...) {
    struct memo_answer a = {0};
    bool row = false;
    va_list ap;
    va_start(ap, kinds);
    enum gpm_status s = query(m, doing, sql, &a, err, kinds, ap);
    va_end(ap);
    if (id) *id = 0;
    if (!s) s = m->driver->next(m, &a, &row, err);
    struct memo_cells c = {.m = m, .a = &a};
    if (!s && row && id) *id = cell_int(&c, 0, INT64_MIN, INT64_MAX, "");
    memo_done(m, &a);
    return s;
}

enum gpm_status memo_next(struct memo *m, struct memo_answer *a, bool *row, struct buf *err) {
    return m->driver->next(m, a, row, err);
}

void memo_done(struct memo *m, struct memo_answer *a) {
    if (a->at) m->driver->done(a);
    a->at = NULL;
}

/* ---- the columns of a row ---- */

int64_t cell_int(struct memo_cells *c, int col, int64_t lo, int64_t hi, const char *wrong) {
    enum cell_kind kind = c->m->driver->kind(c->a, col);
    int64_t v = kind == CELL_INT ? c->m->driver->integer(c->a, col) : 0;
    bool good = (kind == CELL_INT || kind == CELL_NULL) && v >= lo && v <= hi;
    if (!good && !c->wrong) c->wrong = wrong;
    return good ? v : lo;
}

double cell_number(struct memo_cells *c, int col, double absent, const char *wrong) {
    enum cell_kind kind = c->m->driver->kind(c->a, col);
    if (kind == CELL_NULL) return absent;
    double v = kind == CELL_NUMBER || kind == CELL_INT ? c->m->driver->number(c->a, col) : INFINITY;
    if (!isfinite(v) && !c->wrong) c->wrong = wrong;
    return isfinite(v) ? v : absent;
}

const char *cell_text(struct memo_cells *c, int col, const char *wrong) {
    const char *s = NULL;
    size_t n = 0;
    if (c->m->driver->kind(c->a, col) == CELL_TEXT) s = c->m->driver->bytes(c->a, col, &n);
    if (s && strlen(s) == n) return s;
    if (!c->wrong) c->wrong = wrong;
    return "";
}

const void *cell_blob(struct memo_cells *c, int col, size_t *n, const char *wrong) {
    const void *data = NULL;
    *n = 0;
    if (c->m->driver->kind(c->a, col) == CELL_BYTES) data = c->m->driver->bytes(c->a, col, n);
    if (!data && !c->wrong) c->wrong = wrong;
    return data;
}

static void unkey(double *x, const unsigned char *key, int dim) {
    for (int j = 0; j < dim; j++) {
        uint64_t bits = 0;
        for (int b = 0; b < 8; b++) bits = bits << 8 | key[8 * j + b];
        memcpy(&x[j], &bits, sizeof bits);
    }
}

void cell_inputs(struct memo_cells *c, int col, double *x, int dim) {
    const void *key = NULL;
    size_t n = 0;
    if (c->m->driver->kind(c->a, col) == CELL_BYTES) key = c->m->driver->bytes(c->a, col, &n);
    if (key && n == 8 * (size_t)dim) {
        unkey(x, key, dim);
    } else {
        for (int j = 0; j < dim; j++) x[j] = 0;
        if (!c->wrong) c->wrong = "has the wrong number of inputs";
    }
    for (int j = 0; j < dim; j++)
        if (!isfinite(x[j]) && !c->wrong) c->wrong = "has an input that is no number";
}

enum gpm_status memo_text(struct memo *m, const char *sql, const char *key, char **out,
                          struct buf *err) {
    struct memo_answer a = {0};
    bool row;
    *out = NULL;
    enum gpm_status s = memo_query(m, "read it", sql, &a, err, "s", key);
    if (!s) s = memo_next(m, &a, &row, err);
    struct memo_cells c = {.m = m, .a = &a};
    if (!s && row) {
        const char *text = cell_text(&c, 0, "is no text");
        if (!c.wrong) *out = mem_strdup(text);
    }
    if (c.wrong)
        s = memo_fault(m, GPM_E_FORMAT, err, "'%s' %s; the store is damaged", key, c.wrong);
    memo_done(m, &a);
    return s;
}

/* ---- keys, clocks, processes ---- */

void memo_key(unsigned char *key, const double *x, int dim) {
    for (int j = 0; j < dim; j++) {
        double v = x[j] == 0 ? 0 : x[j];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        for (int b = 0; b < 8; b++) key[8 * j + b] = (unsigned char)(bits >> (56 - 8 * b));
    }
}

/* Field 22 of /proc/PID/stat; the command name before it may hold spaces and brackets. */
long long memo_pid_start(long pid) {
    char path[64], state = 0;
    struct buf text = BUF_INIT;
    long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    enum gpm_status st = file_read(path, FILE_GIVEN, 4096, &text);
    const char *p = st ? NULL : strrchr(text.data, ')');
    bool known = p && sscanf(p + 1,
                             " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                             "%*d %*d %lld",
                             &state, &start) == 2;
    if (st && !file_there(path) && file_there("/proc/self/stat"))
        start = -1;
    else if (!known)
        start = 0;
    else if (state == 'Z' || state == 'X')
        start = -1;
    buf_release(&text);
    return start;
}
