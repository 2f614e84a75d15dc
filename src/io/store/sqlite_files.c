/* SPDX-License-Identifier: Apache-2.0
 * See sqlite_files.h. SQLite's usual file system with three functions of ours: opening, and reading
 * and writing pages of a database. The log (PATH-wal) has checksums of SQLite's own; from there
 * pages come to the database by a write. */
#include "io/store/sqlite_files.h"
#include "base/mem.h"
#include "base/sum.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 100, SUM = 8 }; /* bytes: of a database's head; of a checksum */

/* What stands behind SQLite's own struct of an open database. */
struct pages {
    sqlite3_io_methods mine;
    const sqlite3_io_methods *usual;
    int size;  /* of a page with a checksum; 0: they have none */
    bool bare; /* a page that was read had none */
};

static sqlite3_vfs files;
static const sqlite3_vfs *usual_files;
static _Thread_local bool odd;           /* a file beside it is no regular one */
static _Thread_local sqlite3_int64 page; /* one that was changed; 0: none */

/* ---- pages ---- */

static size_t usual_room(void) {
    return ((size_t)usual_files->szOsFile + 15) & ~(size_t)15;
}

static struct pages *pages_of(sqlite3_file *f) {
    return (struct pages *)(void *)((char *)f + usual_room());
}

static void learn(struct pages *p, const unsigned char *head) {
    int size = head[16] << 8 | head[17];
    p->size = head[20] == SUM ? size == 1 ? 65536 : size : 0;
}

/* Of a page without its last bytes; another place is another checksum. */
static void put_sum(const unsigned char *data, int n, sqlite3_int64 at, unsigned char out[SUM]) {
    uint64_t sum = sum_bytes((uint64_t)(at / n + 1), data, (size_t)(n - SUM));
    for (int i = 0; i < SUM; i++) out[i] = (unsigned char)(sum >> 8 * i);
}

static bool is_page(const struct pages *p, int n, sqlite3_int64 at) {
    return p->size > SUM && n == p->size && at % n == 0;
}

static int read_page(sqlite3_file *f, void *data, int n, sqlite3_int64 at) {
    static const unsigned char none[SUM];
    struct pages *p = pages_of(f);
    unsigned char sum[SUM], *last = (unsigned char *)data + n - SUM;
    int rc = p->usual->xRead(f, data, n, at);
    if (rc != SQLITE_OK) return rc;
    if (at == 0 && n >= HEAD) learn(p, data);
    if (!is_page(p, n, at)) return rc;
    bool bare = !memcmp(last, none, SUM);
    put_sum(data, n, at, sum);
    if (!bare && memcmp(sum, last, SUM) != 0) {
        page = at / n + 1;
        return SQLITE_CORRUPT;
    }
    p->bare |= bare;
    memset(last, 0, SUM);
    return rc;
}

/* The checksum stands in SQLite's buffer as long as it is written. */
static int write_page(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
    struct pages *p = pages_of(f);
    unsigned char head[HEAD], *last = (unsigned char *)(uintptr_t)data + n - SUM;
    if (at == 0 && n >= HEAD)
        learn(p, data);
    else if (!p->size && p->usual->xRead(f, head, HEAD, 0) == SQLITE_OK)
        learn(p, head); /* another process may have given it checksums */
    if (!is_page(p, n, at)) return p->usual->xWrite(f, data, n, at);
    put_sum(data, n, at, last);
    int rc = p->usual->xWrite(f, data, n, at);
    memset(last, 0, SUM);
    return rc;
}

static int fetch_page(sqlite3_file *f, sqlite3_int64 at, int n, void **data) {
    *data = NULL; /* it is read */
    return SQLITE_OK;
}

/* ---- opening ---- */

static bool is_odd(const char *name) {
    struct stat sb;
    return lstat(name, &sb) == 0 && !S_ISREG(sb.st_mode);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
    odd = name && is_odd(name);
    if (name && (flags & SQLITE_OPEN_WAL) && !odd) { /* PATH-wal goes with PATH-shm */
        struct buf shared = BUF_INIT;
        buf_add(&shared, name, strlen(name) - 3);
        buf_puts(&shared, "shm");
        odd = is_odd(shared.data);
        buf_release(&shared);
    }
    if (odd) return SQLITE_CANTOPEN;
    int rc = usual_files->xOpen(vfs, name, f, flags, out);
    if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB)) return rc;
    struct pages *p = pages_of(f);
    *p = (struct pages){.mine = *f->pMethods, .usual = f->pMethods};
    p->mine.xRead = read_page;
    p->mine.xWrite = write_page;
    if (p->mine.iVersion >= 3) p->mine.xFetch = fetch_page;
    f->pMethods = &p->mine;
    return rc;
}

static void make_files(void) {
    usual_files = sqlite3_vfs_find(NULL);
    files = *usual_files;
    files.zName = "gpmem-files";
    files.pNext = NULL;
    files.szOsFile = (int)(usual_room() + sizeof(struct pages));
    files.xOpen = open_file;
    sqlite3_vfs_register(&files, 0);
}

__attribute__((destructor)) static void drop_files(void) {
    if (usual_files) sqlite3_vfs_unregister(&files);
}

int sqlite_files_open(const char *path, sqlite3 **db, int flags) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_files);
    odd = false;
    page = 0;
    return sqlite3_open_v2(path, db, flags, files.zName);
}

void sqlite_files_sum(sqlite3 *db) {
    int bytes = SUM;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

enum store_sums sqlite_files_sums(sqlite3 *db) {
    sqlite3_file *f = NULL;
    sqlite3_int64 size = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f);
    if (!f || !f->pMethods || f->pMethods->xRead != read_page) return STORE_SUMS_NONE;
    struct pages *p = pages_of(f);
    unsigned char head[HEAD]; /* all that was read may have come from the log of another process */
    if (!p->size && p->usual->xRead(f, head, HEAD, 0) == SQLITE_OK) learn(p, head);
    if (p->size) return p->bare ? STORE_SUMS_MOST : STORE_SUMS_ALL;
    bool empty = f->pMethods->xFileSize(f, &size) == SQLITE_OK && !size;
    return empty ? STORE_SUMS_ALL : STORE_SUMS_NONE;
}

bool sqlite_files_odd(void) {
    return odd;
}

bool sqlite_files_why(struct buf *out) {
    sqlite3_int64 bad = page;
    page = 0;
    if (odd)
        buf_puts(out, "its journal or log beside it is no regular file; take that away");
    else if (bad)
        buf_printf(
            out,
            "page %lld of the file is damaged, it is not what was written there: the disk, or "
            "another program, changed it; restore the file from a copy, rescue rows with "
            "sqlite3's .recover, or, where you changed it, say VACUUM there",
            (long long)bad);
    return odd || bad;
}
