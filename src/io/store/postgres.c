/* SPDX-License-Identifier: Apache-2.0
 *
 * Memo tables on a PostgreSQL server, for workers on many machines:
 *
 *     postgresql://[user[:password]@]host[:port]/database[?options][#store]
 *
 * The tables of a store are in a schema of its name (default: gpmem). libpq is loaded when the
 * first such name is met. Statements are those of SQLite, translated word by word.
 *
 * Claims have ends by the server's clock, and a random owner: names of machines and numbers of
 * processes mean nothing elsewhere. Claims are inserts and conditional updates, which need no lock;
 * what stores a result holds the store's advisory lock, since `seq` must follow the order of the
 * commits. A lost connection is opened again, and uncommitted work is retried. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/library.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/stop.h"
#include "io/store/memo_priv.h"

#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- the library (libpq 5; the names and numbers are those of its manual) ---- */

enum { CONNECTION_OK = 0 };
enum { RESULT_COMMAND_OK = 1, RESULT_TUPLES_OK = 2 };
enum { TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_INT4 = 23, TYPE_TEXT = 25, TYPE_FLOAT8 = 701 };
#define FIELD_SQLSTATE 'C'
struct notification {
    char *channel;
    int process;
    char *text;
    struct notification *next;
};

#define LIBRARY(X)                                                                                 \
    X(void *, PQconnectdb, (const char *))                                                         \
    X(void, PQfinish, (void *))                                                                    \
    X(void, PQreset, (void *))                                                                     \
    X(int, PQstatus, (const void *))                                                               \
    X(char *, PQerrorMessage, (const void *))                                                      \
    X(void *, PQexec, (void *, const char *))                                                      \
    X(void *, PQexecParams,                                                                        \
      (void *, const char *, int, const unsigned *, const char *const *, const int *, const int *, \
       int))                                                                                       \
    X(int, PQresultStatus, (const void *))                                                         \
    X(char *, PQresultErrorField, (const void *, int))                                             \
    X(void, PQclear, (void *))                                                                     \
    X(int, PQntuples, (const void *))                                                              \
    X(unsigned, PQftype, (const void *, int))                                                      \
    X(int, PQgetisnull, (const void *, int, int))                                                  \
    X(char *, PQgetvalue, (const void *, int, int))                                                \
    X(int, PQgetlength, (const void *, int, int))                                                  \
    X(int, PQsocket, (const void *))                                                               \
    X(int, PQconsumeInput, (void *))                                                               \
    X(struct notification *, PQnotifies, (void *))                                                 \
    X(void, PQfreemem, (void *))                                                                   \
    X(void *, PQsetNoticeProcessor, (void *, void (*)(void *, const char *), void *))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct { LIBRARY(MEMBER) } lib;
#define SYMBOL(result, name, parameters) {#name, &lib.name},
static const struct library_symbol symbols[] = {LIBRARY(SYMBOL){0}};

static bool load(void) {
    static bool all;
    return all || (all = library_load("libpq.so.5", symbols));
}

/* ---- the connection ---- */

struct server {
    void *conn;
    char *address;  /* without the store's name */
    char *name;     /* the store's, which is that of its schema */
    char *schema;   /* in quotes, as SQL has it */
    double ahead;   /* of the server's clock, seconds; read again every CLOCK_SECONDS */
    double read_at; /* by ours that runs evenly */
    bool listening, lost, waited; /* waited: so long that waiting is over */
};
enum { CLOCK_SECONDS = 60, RETRY_SECONDS = 60 };
enum { LOCK_CLASS = 0x67706d31 }; /* "gpm1": advisory locks of other programs are not ours */

static struct server *server_of(const struct memo *m) {
    return m->db;
}

static void no_notices(void *user, const char *text) {}

/* One row per class or code of SQLSTATE that a user can do something about; the first that begins
 * like it. */
static const struct {
    const char *state;
    enum gpm_status status;
    const char *text;
} errors[] = {
    {"28", GPM_E_IO, "the server refuses the user or the password"},
    {"3D000", GPM_E_IO, "there is no such database; createdb makes one"},
    {"42501", GPM_E_IO, "permission denied; the user needs CREATE on the database"},
    {"53100", GPM_E_IO, "the server's disk is full; what was stored is safe"},
    {"53", GPM_E_BUSY, "the server has no room for another connection; try again later"},
    {"40", GPM_E_BUSY, "others changed the same rows; run again"},
    {"55P03", GPM_E_BUSY, "others keep it locked; run again when they are done"},
    {"57014", GPM_E_INTERRUPT, "interrupted"},
    {"25006", GPM_E_IO, "the server is read-only; connect to the primary"},
};

/* result NULL: of the connection. */
static enum gpm_status fail(struct memo *m, void *result, const char *doing, struct buf *err) {
    struct server *v = server_of(m);
    const char *state = result ? lib.PQresultErrorField(result, FIELD_SQLSTATE) : NULL;
    const char *text = v->conn ? lib.PQerrorMessage(v->conn) : "out of memory";
    enum gpm_status st = GPM_E_IO;
    if (!state) state = "";
    /* the server went down, or goes: 57P01 to 57P03 */
    v->lost = !v->conn || lib.PQstatus(v->conn) != CONNECTION_OK || !strncmp(state, "57P0", 4) ||
              !strncmp(state, "08", 2);
    for (size_t i = COUNT_OF(errors); i-- > 0;)
        if (*state && !strncmp(state, errors[i].state, strlen(errors[i].state))) {
            text = errors[i].text;
            st = errors[i].status;
        }
    size_t n = strlen(text);
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
    memo_fault(m, st, err, "cannot %s: ", doing);
    for (size_t i = 0; i < n; i++) buf_putc(err, text[i] == '\n' ? ' ' : text[i]);
    if (result) lib.PQclear(result);
    return st;
}

static enum gpm_status run(struct memo *m, const char *sql, const char *doing, struct buf *err) {
    void *r = lib.PQexec(server_of(m)->conn, sql);
    int st = r ? lib.PQresultStatus(r) : -1;
    if (st != RESULT_COMMAND_OK && st != RESULT_TUPLES_OK) return fail(m, r, doing, err);
    lib.PQclear(r);
    return GPM_OK;
}

/* Functions and operators are the server's own: others in a schema of the path could be nearer to
 * what a statement says, and would run as this user. The first statement of every connection. */
static enum gpm_status enter(struct memo *m, struct buf *err) {
    struct server *v = server_of(m);
    struct buf sql = BUF_INIT;
    if (!v->conn || lib.PQstatus(v->conn) != CONNECTION_OK) return fail(m, NULL, "connect", err);
    lib.PQsetNoticeProcessor(v->conn, no_notices, NULL);
    v->listening = v->lost = false;
    v->read_at = -INFINITY;
    buf_printf(&sql,
               "SET search_path TO pg_catalog, pg_temp; SET standard_conforming_strings TO on; "
               "SET synchronous_commit TO on; "
               "SET lock_timeout TO '30s'%s",
               m->read_only ? "; SET default_transaction_read_only TO on" : "");
    enum gpm_status s = run(m, sql.data, "connect", err);
    buf_release(&sql);
    return s;
}

static void say_waiting(struct memo *m) {
    struct buf text = BUF_INIT;
    buf_printf(&text, "the server of '%s' is away; it is waited for, %d s at most", m->path,
               RETRY_SECONDS);
    if (m->say) m->say(m->say_user, text.data);
    buf_release(&text);
}

/* A server that restarts or moves returns within a minute, or needs attention. So we wait for it
 * once, and afterwards try once whenever it is needed. */
static bool come_back(struct memo *m) {
    struct server *v = server_of(m);
    double begun = clock_seconds(), end = begun + (v->waited ? 0 : RETRY_SECONDS), pause = 0.05;
    bool said = false;
    do {
        struct buf ignored = BUF_INIT;
        lib.PQreset(v->conn);
        v->waited = enter(m, &ignored) != GPM_OK;
        buf_release(&ignored);
        if (!v->waited) return true;
        if (!said && clock_seconds() > begun + 1) { /* not if it only restarts */
            said = true;
            say_waiting(m);
        }
        nanosleep(&(struct timespec){.tv_sec = (long)pause,
                                     .tv_nsec = (long)(1e9 * (pause - floor(pause)))},
                  NULL);
        pause = fmin(2 * pause, 2);
    } while (clock_seconds() < end && !stop_asked(m->stop));
    return false;
}

static bool again(struct memo *m) {
    return server_of(m)->lost && server_of(m)->conn && come_back(m);
}

/* A name in ", a text in '. */
static char *quoted(const char *name, char mark) {
    struct buf b = BUF_INIT;
    buf_putc(&b, mark);
    for (; *name; name++) {
        if (*name == mark) buf_putc(&b, mark);
        buf_putc(&b, *name);
    }
    buf_putc(&b, mark);
    return buf_take(&b);
}

/* A process is identified by a random number, since containers share names and process numbers. */
static void name_worker(struct memo *m) {
    unsigned char bytes[8] = {0};
    struct buf b = BUF_INIT;
    if (getrandom(bytes, sizeof bytes, 0) != (long)sizeof bytes) memcpy(bytes, &m->pid, 4);
    for (size_t i = 0; i < sizeof bytes; i++) buf_printf(&b, "%02x", bytes[i]);
    mem_free(m->host);
    m->host = buf_take(&b);
    m->pid = 0;
    m->pid_start = 0;
}

/* What people see of the store's name holds no password. */
static void hide_password(struct memo *m) {
    char *user = strstr(m->path, "://"), *at = user ? strchr(user + 3, '@') : NULL;
    char *colon = user ? strchr(user + 3, ':') : NULL;
    if (at && colon && colon < at) memmove(colon, at, strlen(at) + 1);
}

static enum gpm_status open_store(struct memo *m, const struct memo_options *opt, struct buf *err) {
    struct server *v = NEW(struct server);
    const char *store = strchr(m->path, '#');
    m->db = v;
    v->address = mem_strndup(m->path, store ? (size_t)(store - m->path) : strlen(m->path));
    v->name = mem_strdup(store && store[1] ? store + 1 : "gpmem");
    v->schema = quoted(v->name, '"');
    hide_password(m);
    name_worker(m);
    if (!load())
        return memo_fault(m, GPM_E_IO, err,
                          "needs libpq.so.5 (on Debian: apt install libpq5), which is not there");
    if (store && strlen(store + 1) > 63)
        return memo_fault(m, GPM_E_ARG, err, "the name of the store is longer than 63 characters");
    v->conn = lib.PQconnectdb(v->address);
    /* "the database system is starting up", "shutting down", "in recovery mode": it will be there
     */
    bool soon = v->conn && strstr(lib.PQerrorMessage(v->conn), "the database system is ");
    return soon && come_back(m) ? GPM_OK : enter(m, err);
}

static void close_store(struct memo *m) {
    struct server *v = server_of(m);
    if (!v) return;
    if (v->conn) lib.PQfinish(v->conn);
    mem_free(v->address);
    mem_free(v->name);
    mem_free(v->schema);
    mem_free(v);
}

/* ---- statements ---- */

/* Words that SQLite has and PostgreSQL spells otherwise; longer ones before their parts. */
static const struct {
    const char *from, *to;
} words[] = {{" INTEGER PRIMARY KEY", " bigserial PRIMARY KEY"},
             {" WITHOUT ROWID", ""},
             {" INTEGER", " bigint"},
             {" BLOB", " bytea"},
             {" REAL", " double precision"},
             {"?", "$"}};

/* Words before the name of a table, which is the one in the store's schema. */
static const char *const before_tables[] = {" FROM ", "INTO ", "UPDATE ", "TABLE ", " ON "};

static bool is_table(const struct memo *m, const char *sql) {
    const struct store_table *t = m->kind->table;
    size_t n = 0;
    while (ascii_name(sql[n])) n++;
    while (t->name && (strlen(t->name) != n || strncmp(sql, t->name, n) != 0)) t++;
    return t->name;
}

/* Bytes of `sql` up to the name of a table that follows; 0: none does. */
static size_t to_table(const struct memo *m, const char *sql) {
    for (size_t i = 0; i < COUNT_OF(before_tables); i++) {
        size_t n = strlen(before_tables[i]);
        if (!strncmp(sql, before_tables[i], n) && is_table(m, sql + n)) return n;
    }
    return 0;
}

static void translate(const struct memo *m, const char *sql, struct buf *out) {
    while (*sql) {
        size_t i = 0, n = to_table(m, sql);
        buf_add(out, sql, n);
        if (n) buf_printf(out, "%s.", server_of(m)->schema);
        sql += n;
        while (i < COUNT_OF(words) && strncmp(sql, words[i].from, strlen(words[i].from)) != 0) i++;
        if (i < COUNT_OF(words)) {
            buf_puts(out, words[i].to);
            sql += strlen(words[i].from);
        } else
            buf_putc(out, *sql++);
    }
}

static enum gpm_status exec(struct memo *m, const char *sql, const char *doing, struct buf *err) {
    struct buf text = BUF_INIT;
    translate(m, sql, &text);
    enum gpm_status s = run(m, text.data, doing, err);
    buf_release(&text);
    return s;
}

/* Everything is sent as text but for bytes. */
static enum gpm_status query(struct memo *m, const char *doing, const char *sql,
                             const struct memo_param *p, int n, struct memo_answer *out,
                             struct buf *err) {
    static const unsigned types[] = {[PARAM_INT] = TYPE_INT8,
                                     [PARAM_NUMBER] = TYPE_FLOAT8,
                                     [PARAM_TEXT] = TYPE_TEXT,
                                     [PARAM_BYTES] = TYPE_BYTEA};
    char numbers[MEMO_PARAMS][NUMBER_TEXT];
    const char *values[MEMO_PARAMS];
    unsigned type[MEMO_PARAMS];
    int length[MEMO_PARAMS], binary[MEMO_PARAMS];
    for (int i = 0; i < n; i++) {
        type[i] = types[p[i].kind];
        binary[i] = p[i].kind == PARAM_BYTES;
        length[i] = (int)p[i].n;
        values[i] = p[i].kind < PARAM_TEXT ? numbers[i] : p[i].p;
        if (p[i].kind == PARAM_INT) snprintf(numbers[i], NUMBER_TEXT, "%lld", (long long)p[i].i);
        if (p[i].kind == PARAM_NUMBER) number_exact(numbers[i], p[i].d);
        if (p[i].kind == PARAM_NUMBER && isnan(p[i].d)) values[i] = NULL;
    }
    struct buf text = BUF_INIT;
    translate(m, sql, &text);
    void *r = lib.PQexecParams(server_of(m)->conn, text.data, n, type, values, length, binary, 1);
    int st = r ? lib.PQresultStatus(r) : -1;
    buf_release(&text);
    if (st != RESULT_COMMAND_OK && st != RESULT_TUPLES_OK) return fail(m, r, doing, err);
    *out = (struct memo_answer){.at = r, .row = -1};
    return GPM_OK;
}

static enum gpm_status next(struct memo *m, struct memo_answer *a, bool *row, struct buf *err) {
    *row = ++a->row < lib.PQntuples(a->at);
    return GPM_OK;
}

static void done(struct memo_answer *a) {
    lib.PQclear(a->at);
}

/* Answers are binary: big-endian numbers. */
static enum cell_kind kind(const struct memo_answer *a, int col) {
    if (lib.PQgetisnull(a->at, a->row, col)) return CELL_NULL;
    switch (lib.PQftype(a->at, col)) {
    case TYPE_INT4:
    case TYPE_INT8: return CELL_INT;
    case TYPE_FLOAT8: return CELL_NUMBER;
    case TYPE_BYTEA: return CELL_BYTES;
    default: return CELL_TEXT;
    }
}

static uint64_t big_endian(const struct memo_answer *a, int col) {
    const unsigned char *p = (const unsigned char *)lib.PQgetvalue(a->at, a->row, col);
    int n = lib.PQgetlength(a->at, a->row, col);
    uint64_t bits = 0;
    for (int i = 0; i < n && i < 8; i++) bits = bits << 8 | p[i];
    return bits;
}

static int64_t integer(const struct memo_answer *a, int col) {
    uint64_t bits = big_endian(a, col);
    return lib.PQftype(a->at, col) == TYPE_INT4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

static double number(const struct memo_answer *a, int col) {
    if (lib.PQftype(a->at, col) != TYPE_FLOAT8) return (double)integer(a, col);
    uint64_t bits = big_endian(a, col);
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static const void *bytes(const struct memo_answer *a, int col, size_t *n) {
    *n = (size_t)lib.PQgetlength(a->at, a->row, col);
    return lib.PQgetvalue(a->at, a->row, col);
}

/* ---- transactions ---- */

static void rollback(struct memo *m) {
    struct buf ignored = BUF_INIT;
    if (!server_of(m)->lost) (void)!run(m, "ROLLBACK", "go back", &ignored);
    buf_release(&ignored);
}

/* A process that stores waits for others storing in the same store. No transaction holds the lock
 * while waiting for the disk: its commit fixes the order, and the wait comes afterwards (flush). */
static enum gpm_status begin(struct memo *m, enum memo_intent to, struct buf *err) {
    struct buf sql = BUF_INIT;
    const char *name = server_of(m)->schema;
    unsigned store = (unsigned)hash_bytes(name, strlen(name), 0) >> 1;
    buf_puts(&sql, "BEGIN; SET LOCAL synchronous_commit TO off");
    if (to == MEMO_TO_STORE)
        buf_printf(&sql, "; SELECT pg_advisory_xact_lock(%d, %u)", LOCK_CLASS, store);
    enum gpm_status s = run(m, sql.data, "lock it", err);
    m->durable = to == MEMO_TO_STORE;
    buf_release(&sql);
    if (s) rollback(m);
    return s;
}

/* A transaction that does wait: what was committed before it is on the disk then, too, and many
 * clients wait for one write. It must write to the log, be it an empty message: PostgreSQL does not
 * wait for one that wrote nothing. */
static enum gpm_status flush(struct memo *m, struct buf *err) {
    return run(m, "SELECT pg_logical_emit_message(true, 'gpmem', '')", "store the result", err);
}

/* Claims, too: a worker that outlives a crash of the server must find the row that it works on. */
static enum gpm_status commit(struct memo *m, struct buf *err) {
    struct buf sql = BUF_INIT;
    char *channel = quoted(server_of(m)->name, '\'');
    if (m->durable) buf_printf(&sql, "SELECT pg_notify(%s, ''); ", channel);
    buf_puts(&sql, "COMMIT");
    enum gpm_status s = run(m, sql.data, "store the result", err);
    mem_free(channel);
    buf_release(&sql);
    return s ? s : flush(m, err);
}

static double now(struct memo *m) {
    struct server *v = server_of(m);
    double here = clock_seconds();
    if (here - v->read_at > CLOCK_SECONDS) {
        struct buf ignored = BUF_INIT;
        struct memo_answer a = {0};
        bool row = false;
        enum gpm_status s =
            query(m, "read the clock", "SELECT extract(epoch FROM clock_timestamp())::float8", NULL,
                  0, &a, &ignored);
        if (!s && !next(m, &a, &row, &ignored) && row) {
            v->ahead = number(&a, 0) - here;
            v->read_at = here;
        }
        memo_done(m, &a);
        buf_release(&ignored);
    }
    return here + v->ahead;
}

/* Notifications may be lost with a connection, so a wait lasts at most a second. */
static void wait_for_news(struct memo *m, double seconds) {
    struct server *v = server_of(m);
    struct buf sql = BUF_INIT, ignored = BUF_INIT;
    buf_printf(&sql, "LISTEN %s", v->schema);
    if (!v->listening) v->listening = !run(m, sql.data, "listen", &ignored);
    struct pollfd p = {.fd = lib.PQsocket(v->conn), .events = POLLIN};
    poll(&p, 1, (int)(1000 * fmin(seconds, 1)));
    lib.PQconsumeInput(v->conn);
    for (struct notification *n; (n = lib.PQnotifies(v->conn));) lib.PQfreemem(n);
    buf_release(&sql);
    buf_release(&ignored);
}

/* ---- tables ---- */

/* Roles that could have the store run something as this user: those that own the tables or their
 * schema, or may add triggers. Good are this user, superusers, and, but for a superuser, roles
 * whose rights this user has. */
static const char strangers[] =
    "WITH t AS (SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE "
    "n.nspname=?1 AND c.relname IN (%s)), o AS (SELECT nspowner AS id FROM pg_namespace WHERE "
    "nspname=?1 UNION SELECT relowner FROM t UNION SELECT g.grantee FROM t, aclexplode(relacl) g "
    "WHERE g.privilege_type='TRIGGER') SELECT coalesce(min(coalesce(r.rolname, 'public')), "
    "'')::text "
    "FROM pg_roles me, o LEFT JOIN pg_roles r ON r.oid=o.id WHERE me.rolname=current_user AND NOT "
    "(o.id=me.oid OR coalesce(r.rolsuper, false) OR CASE WHEN me.rolsuper OR r.oid IS NULL THEN "
    "false ELSE pg_has_role(me.oid, r.oid, 'USAGE') END)";
/* Tables with code that runs when they are read or written. */
static const char with_code[] =
    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE "
    "n.nspname=?1 AND c.relname IN (%s) AND (c.relkind<>'r' OR c.relrowsecurity "
    "OR EXISTS(SELECT * FROM pg_trigger WHERE tgrelid=c.oid) "
    "OR EXISTS(SELECT * FROM pg_rewrite WHERE ev_class=c.oid) "
    "OR EXISTS(SELECT * FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent)) "
    "OR EXISTS(SELECT * FROM pg_constraint WHERE conrelid=c.oid AND contype NOT IN ('p','u','n')) "
    "OR EXISTS(SELECT * FROM pg_index i JOIN pg_opclass k ON k.oid=ANY(i.indclass) WHERE "
    "i.indrelid=c.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR k.opcnamespace<>"
    "'pg_catalog'::regnamespace)) "
    "OR EXISTS(SELECT * FROM pg_attribute a JOIN pg_type k ON k.oid=a.atttypid WHERE "
    "a.attrelid=c.oid AND NOT a.attisdropped AND (a.attgenerated<>'' OR k.typnamespace<>"
    "'pg_catalog'::regnamespace)) "
    "OR EXISTS(SELECT * FROM pg_attrdef WHERE adrelid=c.oid AND pg_get_expr(adbin, adrelid) !~ "
    "'^(nextval[(]''[^'']*''::regclass[)]|''''::text|[0-9]+)$'))";

/* Before anything is read from the tables. */
static enum gpm_status trust(struct memo *m, const char *names, struct buf *err) {
    const char *store = server_of(m)->name;
    char *stranger = NULL;
    int64_t n = 0;
    struct buf sql = BUF_INIT;
    buf_printf(&sql, strangers, names);
    enum gpm_status s = memo_text(m, sql.data, store, &stranger, err);
    buf_reset(&sql);
    buf_printf(&sql, with_code, names);
    if (!s) s = memo_do(m, "read the header", sql.data, &n, err, "s", store);
    if (!s && stranger && *stranger)
        s = memo_fault(
            m, GPM_E_DENIED, err,
            "its tables or their schema belong to the role '%s', or it may add triggers, "
            "which would run as you; give them to a role of yours (ALTER ... OWNER TO, "
            "REVOKE TRIGGER), or copy the store as that role (gpmem memo copy)",
            stranger);
    else if (!s && n)
        s = memo_fault(m, GPM_E_FORMAT, err,
                       "its tables hold triggers, rules, policies or computed values, which gpmem "
                       "does not make");
    mem_free(stranger);
    buf_release(&sql);
    return s;
}

static enum gpm_status version(struct memo *m, int *version, struct buf *err) {
    int64_t there = 0, v = 0;
    struct buf names = BUF_INIT, sql = BUF_INIT;
    int wanted = store_tables(m->kind, &names);
    buf_printf(&sql, "SELECT count(*) FROM pg_tables WHERE schemaname=?1 AND tablename IN (%s)",
               names.data);
    enum gpm_status s = trust(m, names.data, err);
    if (!s) s = memo_do(m, "read the header", sql.data, &there, err, "s", server_of(m)->name);
    if (!s && there == wanted)
        s = memo_do(m, "read the header", "SELECT value::bigint FROM meta WHERE key='version'", &v,
                    err, "");
    else if (!s && there)
        s = memo_fault(m, GPM_E_FORMAT, err,
                       "the server has another kind of store of this name; name another");
    *version = (int)v;
    buf_release(&names);
    buf_release(&sql);
    return s;
}

static enum gpm_status check(struct memo *m, struct buf *err) {
    enum gpm_status s = GPM_OK;
    for (const struct store_table *t = m->kind->table; t->name && !s; t++) {
        int64_t n = 0;
        struct buf sql = BUF_INIT;
        buf_printf(&sql,
                   "SELECT count(*) FROM information_schema.columns WHERE table_schema=?1 AND "
                   "table_name='%s' AND column_name IN (%s)",
                   t->name, t->columns);
        s = memo_do(m, "read the header", sql.data, &n, err, "s", server_of(m)->name);
        if (!s && n != t->n) s = memo_fault(m, GPM_E_FORMAT, err, "a column is missing");
        buf_release(&sql);
    }
    return s;
}

static enum gpm_status stamp(struct memo *m, struct buf *err) {
    char text[24];
    snprintf(text, sizeof text, "%d", store_newest(m));
    return memo_do(m, "write the header",
                   "INSERT INTO meta VALUES('version', ?1) ON CONFLICT(key) DO UPDATE SET "
                   "value=excluded.value",
                   NULL, err, "s", text);
}

/* Those of the server, which checks its pages itself. */
static enum store_sums sums(struct memo *m) {
    struct buf ignored = BUF_INIT;
    int64_t on = 0;
    bool known =
        memo_do(m, "read the header", "SELECT (current_setting('data_checksums')='on')::int", &on,
                &ignored, "") == GPM_OK;
    buf_release(&ignored);
    return known && on ? STORE_SUMS_ALL : STORE_SUMS_NONE;
}

/* Before the tables are made, under the lock. */
static enum gpm_status prepare(struct memo *m, struct buf *err) {
    struct buf sql = BUF_INIT;
    buf_printf(&sql, "CREATE SCHEMA IF NOT EXISTS %s", server_of(m)->schema);
    enum gpm_status s = run(m, sql.data, "create the table", err);
    buf_release(&sql);
    return s;
}

/* Rows that came with their numbers: the next one has the next number. */
static enum gpm_status counted(struct memo *m, struct buf *err) {
    const char *schema = server_of(m)->schema;
    struct buf sql = BUF_INIT, table = BUF_INIT;
    buf_printf(&table, "%s.point", schema);
    char *text = quoted(table.data, '\'');
    buf_printf(&sql,
               "SELECT setval(pg_get_serial_sequence(%s, 'id'), (SELECT coalesce(max(id), 0) + 1 "
               "FROM %s), false)",
               text, table.data);
    enum gpm_status s = run(m, sql.data, "count the rows", err);
    mem_free(text);
    buf_release(&sql);
    buf_release(&table);
    return s;
}

const struct memo_driver memo_postgres = {
    .prefix = "postgresql://",
    .open = open_store,
    .close = close_store,
    .version = version,
    .prepare = prepare,
    .check = check,
    .stamp = stamp,
    .sums = sums,
    .counted = counted,
    .exec = exec,
    .query = query,
    .next = next,
    .done = done,
    .kind = kind,
    .integer = integer,
    .number = number,
    .bytes = bytes,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .now = now,
    .wait = wait_for_news,
    .again = again,
};
