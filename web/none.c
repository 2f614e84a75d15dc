/* SPDX-License-Identifier: Apache-2.0
 *
 * What a web page has not: SQLite (a store cannot be opened there), other programs, shared objects,
 * the library of stiff equations, a BLAS with threads. Each says so when it is asked for. And a
 * sort that emscripten's C library lacks.
 */
#include "front/api/stack.h"
#include "base/buf.h"
#include "base/cores.h"
#include "base/fibres.h"
#include "base/mem.h"
#include "io/host/foreign.h"
#include "io/host/proc_priv.h"
#include "numeric/ode/ode.h"
#include <errno.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- fibres, programs, shared objects, stiff equations, BLAS ---- */

void fibre_passed(void) {}
bool fibre_here(void) {
    return false;
}
void fibre_wait_for(struct parcel *p, const struct parcel_service *service) {}
bool fibres_run(size_t size, void *(*f)(void *), void *arg, const char **lowest) {
    return false;
}

int proc_watch_start(struct proc_watch *w) {
    return ENOSYS;
}
void proc_watch_end(struct proc_watch *w) {}
void proc_watch_tell(int fd, pid_t group) {}
int proc_spawn(struct proc_child *child, int watch, char *const *argv, const char *input,
               size_t n_input) {
    return ENOSYS;
}

enum gpm_status foreign_open(struct foreign *f, const char *path, const char *symbol,
                             enum foreign_kind kind, struct buf *err) {
    buf_puts(err, "shared objects cannot be loaded in a web page");
    return GPM_E_IO;
}
double foreign_call(const struct foreign *f, const double *x, int n) {
    return 0;
}
void foreign_close(struct foreign *f) {}

int cores_available(void) { /* a page has one thread */
    return 1;
}

/* Chains that meet for one computation wait for each other; here there is one. */
int sem_timedwait(sem_t *s, const struct timespec *end) {
    errno = ETIMEDOUT;
    return -1;
}

ssize_t getrandom(void *to, size_t n, unsigned flags) {
    return getentropy(to, n) == 0 ? (ssize_t)n : -1;
}

enum ode_end ode_stiff(struct ode *o, double *out, double *sens) {
    return ODE_LIBRARY;
}

void openblas_set_num_threads(int n);
void openblas_set_num_threads(int n) {}

/* ---- a stable sort: merging, by bytes ---- */

void qsort_r(void *at, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx) {
    char *from = at, *to = mem_alloc(n * size + 1), *own = to;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t low = 0; low < n; low += 2 * run) {
            size_t i = low, mid = low + run < n ? low + run : n;
            size_t j = mid, end = low + 2 * run < n ? low + 2 * run : n;
            for (size_t k = low; k < end; k++) {
                bool left =
                    j == end || (i < mid && compare(from + i * size, from + j * size, ctx) <= 0);
                memcpy(to + k * size, from + (left ? i++ : j++) * size, size);
            }
        }
        char *t = from;
        from = to;
        to = t;
    }
    if (from != at) memcpy(at, from, n * size);
    mem_free(own);
}

/* ---- SQLite: nothing opens ---- */

int sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs) {
    *db = NULL;
    return SQLITE_CANTOPEN;
}
const char *sqlite3_errmsg(sqlite3 *db) {
    return "a web page has no stores";
}
const char *sqlite3_errstr(int code) {
    return "a web page has no stores";
}
/* Nothing below is reached without an open store; all of it must be there for the linker. */
#define NO_INT(name, parameters)                                                                   \
    int name parameters {                                                                          \
        return SQLITE_MISUSE;                                                                      \
    }
#define NO_POINTER(type, name, parameters)                                                         \
    type *name parameters {                                                                        \
        return NULL;                                                                               \
    }
NO_INT(sqlite3_bind_blob, (sqlite3_stmt * s, int i, const void *p, int n, void (*f)(void *)))
NO_INT(sqlite3_bind_double, (sqlite3_stmt * s, int i, double x))
NO_INT(sqlite3_bind_int64, (sqlite3_stmt * s, int i, sqlite3_int64 x))
NO_INT(sqlite3_bind_null, (sqlite3_stmt * s, int i))
NO_INT(sqlite3_bind_text, (sqlite3_stmt * s, int i, const char *p, int n, void (*f)(void *)))
NO_INT(sqlite3_busy_timeout, (sqlite3 * db, int ms))
NO_INT(sqlite3_changes, (sqlite3 * db))
NO_INT(sqlite3_close, (sqlite3 * db))
NO_INT(sqlite3_column_bytes, (sqlite3_stmt * s, int i))
NO_INT(sqlite3_column_type, (sqlite3_stmt * s, int i))
NO_INT(sqlite3_db_config, (sqlite3 * db, int op, ...))
NO_INT(sqlite3_db_readonly, (sqlite3 * db, const char *name))
NO_INT(sqlite3_exec,
       (sqlite3 * db, const char *sql, int (*f)(void *, int, char **, char **), void *p, char **e))
NO_INT(sqlite3_extended_result_codes, (sqlite3 * db, int on))
NO_INT(sqlite3_file_control, (sqlite3 * db, const char *name, int op, void *p))
NO_INT(sqlite3_finalize, (sqlite3_stmt * s))
NO_INT(sqlite3_get_autocommit, (sqlite3 * db))
NO_INT(sqlite3_limit, (sqlite3 * db, int id, int value))
NO_INT(sqlite3_prepare_v2,
       (sqlite3 * db, const char *sql, int n, sqlite3_stmt **s, const char **tail))
NO_INT(sqlite3_reset, (sqlite3_stmt * s))
NO_INT(sqlite3_step, (sqlite3_stmt * s))
NO_INT(sqlite3_stmt_busy, (sqlite3_stmt * s))
NO_INT(sqlite3_vfs_register, (sqlite3_vfs * v, int as_default))
NO_INT(sqlite3_vfs_unregister, (sqlite3_vfs * v))
sqlite3_vfs *sqlite3_vfs_find(const char *name) { /* its table is read before a store is opened */
    static sqlite3_vfs none;
    return &none;
}
NO_INT(sqlite3_system_errno, (sqlite3 * db))
NO_POINTER(const void, sqlite3_column_blob, (sqlite3_stmt * s, int i))
NO_POINTER(const unsigned char, sqlite3_column_text, (sqlite3_stmt * s, int i))
NO_POINTER(const char, sqlite3_sql, (sqlite3_stmt * s))
NO_POINTER(sqlite3_stmt, sqlite3_next_stmt, (sqlite3 * db, sqlite3_stmt *s))
double sqlite3_column_double(sqlite3_stmt *s, int i) {
    return 0;
}
sqlite3_int64 sqlite3_column_int64(sqlite3_stmt *s, int i) {
    return 0;
}
sqlite3_int64 sqlite3_last_insert_rowid(sqlite3 *db) {
    return 0;
}
void sqlite3_progress_handler(sqlite3 *db, int n, int (*f)(void *), void *p) {}
