/* SPDX-License-Identifier: Apache-2.0
 * See file.h. */
#include "base/file.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, WAIT_MS = 50 };

static _Thread_local const struct file_guard *guard;

const struct file_guard *file_set_guard(const struct file_guard *g) {
    const struct file_guard *before = guard;
    guard = g;
    return before;
}

/* ---- reasons ---- */

static _Thread_local char reason[160];

const char *file_why(void) {
    return reason;
}

static enum gpm_status fail(enum gpm_status st, const char *text) {
    snprintf(reason, sizeof reason, "%s", text);
    return st;
}

static enum gpm_status fail_errno(void) {
    return fail(GPM_E_IO, strerror(errno));
}

/* An open that did not follow a link fails with ELOOP, which nobody would understand. */
static enum gpm_status fail_open(enum file_how how) {
    if (how != FILE_GIVEN && errno == ELOOP)
        return fail(GPM_E_IO, "it is a symbolic link, which is not followed here");
    return fail_errno();
}

static enum gpm_status go_on(void) {
    if (!guard) return GPM_OK;
    if (stop_asked(guard->stop)) return fail(GPM_E_INTERRUPT, "interrupted");
    if (guard->deadline > 0 && clock_seconds() > guard->deadline)
        return fail(GPM_E_LIMIT, "the time limit (--max-time) was reached");
    if (guard->max_memory && mem_held(guard->max_memory) > guard->max_memory)
        return fail(GPM_E_LIMIT, "the memory limit (--max-memory) was reached");
    return GPM_OK;
}

/* ---- reading ---- */

static enum gpm_status grow(struct buf *b) {
    if (b->cap - b->len > CHUNK) return GPM_OK;
    size_t cap = 2 * b->cap + 2 * CHUNK;
    char *data = mem_try_alloc(cap, 1); /* the size is the file's, so the user's */
    if (!data) return fail(GPM_E_NOMEM, gpm_status_text(GPM_E_NOMEM));
    memcpy(data, b->data, b->len + 1);
    if (b->cap) mem_free(b->data);
    b->data = data;
    b->cap = cap;
    return GPM_OK;
}

/* A pipe is read when it has something: poll also waits for the first writer of a named one. */
static bool ready(int fd, short what) {
    struct pollfd p = {.fd = fd, .events = what};
    return poll(&p, 1, WAIT_MS) > 0;
}

static enum gpm_status read_all(int fd, bool waits, size_t max, struct buf *out) {
    size_t begin = out->len;
    for (;;) {
        enum gpm_status st = go_on();
        if (st == GPM_OK) st = grow(out);
        if (st != GPM_OK) return st;
        if (waits && !ready(fd, POLLIN)) continue;
        ssize_t n = read(fd, out->data + out->len, CHUNK);
        if (n == 0) return GPM_OK;
        if (n < 0 && errno != EINTR && errno != EAGAIN) return fail_errno();
        if (n < 0) continue;
        out->len += (size_t)n;
        out->data[out->len] = 0;
        if (out->len - begin > max) {
            snprintf(reason, sizeof reason, "it is larger than %zu bytes", max);
            return GPM_E_LIMIT;
        }
    }
}

enum gpm_status file_read_stdin(size_t max, struct buf *out) {
    return read_all(STDIN_FILENO, true, max, out);
}

enum gpm_status file_read(const char *path, enum file_how how, size_t max, struct buf *out) {
    struct stat sb;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
                            (how != FILE_GIVEN ? O_NOFOLLOW : 0));
    if (fd < 0) return fail_open(how);
    enum gpm_status st;
    if (fstat(fd, &sb) != 0)
        st = fail_errno();
    else if (S_ISDIR(sb.st_mode))
        st = fail(GPM_E_IO, "it is a directory");
    else if (how != FILE_GIVEN && !S_ISREG(sb.st_mode))
        st = fail(GPM_E_IO, "it is no regular file");
    else if (how == FILE_PRIVATE && (sb.st_uid != geteuid() || (sb.st_mode & (S_IWGRP | S_IWOTH))))
        st = fail(GPM_E_DENIED, "others can write it");
    else
        st = read_all(fd, !S_ISREG(sb.st_mode), max, out);
    close(fd);
    return st;
}

/* ---- writing ---- */

enum gpm_status file_put(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        } else if (k == 0 || errno == EAGAIN || errno == EINTR) {
            enum gpm_status st = go_on();
            if (st != GPM_OK) return st;
            if (k == 0 || errno == EAGAIN) (void)ready(fd, POLLOUT);
        } else {
            return fail_errno();
        }
    }
    return GPM_OK;
}

enum gpm_status file_close(int fd) {
    /* Linux has closed it whatever it says; EINTR loses nothing */
    return close(fd) == 0 || errno == EINTR ? GPM_OK : fail_errno();
}

/* Waits for the reader of a named pipe as for anything else. */
static enum gpm_status open_place(const char *path, int flags, int *fd) {
    for (;;) {
        *fd = open(path, flags | O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
        if (*fd >= 0) return GPM_OK;
        struct stat sb;
        bool pipe = errno == ENXIO && stat(path, &sb) == 0 && S_ISFIFO(sb.st_mode);
        if (!pipe && errno != EINTR) return fail_errno();
        enum gpm_status st = go_on();
        if (st != GPM_OK) return st;
        poll(NULL, 0, WAIT_MS);
    }
}

static enum gpm_status write_in_place(const char *path, const void *data, size_t n) {
    int fd;
    enum gpm_status st = open_place(path, O_TRUNC, &fd);
    if (st != GPM_OK) return st;
    st = file_put(fd, data, n);
    if (st == GPM_OK) return file_close(fd);
    close(fd);
    return st;
}

enum gpm_status file_append(const char *path, int *fd) {
    return open_place(path, O_APPEND, fd);
}

enum gpm_status file_go_on(const char *path, size_t n, int *fd) {
    struct stat sb;
    enum gpm_status st = open_place(path, O_APPEND, fd);
    if (st != GPM_OK) return st;
    if (fstat(*fd, &sb) == 0 && (size_t)sb.st_size >= n && ftruncate(*fd, (off_t)n) == 0)
        return GPM_OK;
    st = fail_errno();
    close(*fd);
    *fd = -1;
    return st;
}

enum gpm_status file_sync(int fd) {
    return fsync(fd) == 0 ? GPM_OK : fail_errno();
}

/* A name beside `path` that nobody has: O_EXCL makes it a new file of this process. It is locked
 * while somebody writes it, so that what a killed process left is known (sweep), and one that was
 * taken for such before it was locked is made again. */
static int open_beside(const char *path, mode_t mode, struct buf *name) {
    static atomic_uint serial;
    for (int tries = 0; tries < 100; tries++) {
        struct stat sb;
        buf_reset(name);
        buf_printf(name, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&serial, 1));
        int fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return fd;
        (void)!flock(fd, LOCK_EX | LOCK_NB); /* not on all file systems */
        if (fstat(fd, &sb) == 0 && sb.st_nlink > 0) return fd;
        close(fd);
    }
    return -1;
}

/* Has open_beside made this name? */
static bool is_beside(const char *name) {
    static const char digits[] = "0123456789";
    size_t n = strlen(name);
    const char *dot = n > 4 && strcmp(name + n - 4, ".tmp") == 0 ? memrchr(name, '.', n - 4) : NULL;
    if (!dot) return false;
    const char *dash = dot + 1 + strspn(dot + 1, digits);
    const char *end = dash + 1 + strspn(dash + 1, digits);
    return dash > dot + 1 && *dash == '-' && end > dash + 1 && end == name + n - 4;
}

/* Removes what processes that were killed while they wrote have left in the folder. */
static void sweep(const char *dir) {
    DIR *d = opendir(dir);
    struct stat sb;
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!is_beside(e->d_name)) continue;
        int fd = openat(dirfd(d), e->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    if (d) closedir(d);
}

/* `keep`: stays open there. Files of ours are on the disk before they take the name. */
static enum gpm_status fill_and_rename(int fd, const char *name, const char *path,
                                       enum file_how how, const void *data, size_t n, int *keep) {
    enum gpm_status st = file_put(fd, data, n);
    if (st == GPM_OK && how != FILE_GIVEN && fsync(fd) != 0) st = fail_errno();
    int held = keep ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0); /* keeps the lock past the closing */
    if (!keep && close(fd) != 0 && errno != EINTR && st == GPM_OK) st = fail_errno();
    if (st == GPM_OK && rename(name, path) != 0) st = fail_errno();
    if (st != GPM_OK) unlink(name);
    if (keep && st == GPM_OK) {
        (void)!flock(held, LOCK_UN);
        *keep = held;
    } else if (held >= 0) {
        close(held);
    }
    return st;
}

static enum gpm_status replace(const char *path, enum file_how how, const void *data, size_t n,
                               int *keep) {
    struct stat sb;
    bool there = lstat(path, &sb) == 0;
    if (how == FILE_GIVEN && there && !S_ISREG(sb.st_mode)) return write_in_place(path, data, n);
    if (there && S_ISREG(sb.st_mode) && access(path, W_OK) != 0) return fail_errno();
    struct buf name = BUF_INIT;
    int fd = open_beside(path, how == FILE_PRIVATE ? 0600 : 0666, &name);
    enum gpm_status st;
    if (fd < 0) { /* a folder that takes no new files may still hold one that can be written */
        st = how == FILE_GIVEN && there ? write_in_place(path, data, n) : fail_errno();
    } else {
        /* who could not read the old one cannot read the new one */
        if (there && S_ISREG(sb.st_mode) && how != FILE_PRIVATE)
            (void)!fchmod(fd, sb.st_mode & 0777);
        st = fill_and_rename(fd, name.data, path, how, data, n, keep);
    }
    buf_release(&name);
    return st;
}

enum gpm_status file_write(const char *path, enum file_how how, const void *data, size_t n) {
    return replace(path, how, data, n, NULL);
}

enum gpm_status file_new(const char *path, enum file_how how, const void *data, size_t n) {
    struct buf name = BUF_INIT;
    int fd = open_beside(path, how == FILE_PRIVATE ? 0600 : 0666, &name);
    enum gpm_status st = fd < 0 ? fail_errno() : file_put(fd, data, n);
    if (st == GPM_OK && fsync(fd) != 0) st = fail_errno();
    if (st == GPM_OK && link(name.data, path) != 0)
        st = errno == EEXIST ? fail(GPM_E_BUSY, "it is there already") : fail_errno();
    if (fd >= 0) {
        close(fd);
        unlink(name.data);
    }
    buf_release(&name);
    return st;
}

enum gpm_status file_begin(const char *path, const void *data, size_t n, int *fd) {
    return replace(path, FILE_OURS, data, n, fd);
}

/* ---- folders ---- */

enum gpm_status file_folder(const char *path, enum file_how how) {
    struct stat sb;
    if (mkdir(path, how == FILE_PRIVATE ? 0700 : 0777) == 0) return GPM_OK;
    if (errno != EEXIST) return fail_errno();
    if ((how == FILE_OURS ? lstat(path, &sb) : stat(path, &sb)) != 0) return fail_errno();
    if (S_ISDIR(sb.st_mode)) return GPM_OK;
    return fail(GPM_E_IO, S_ISLNK(sb.st_mode) ? "it is a symbolic link" : "it is not a folder");
}

enum gpm_status file_folders_above(const char *path) {
    struct buf part = BUF_INIT;
    enum gpm_status st = GPM_OK;
    for (const char *slash = strchr(path + 1, '/'); slash && !st; slash = strchr(slash + 1, '/')) {
        buf_reset(&part);
        buf_add(&part, path, (size_t)(slash - path));
        st = file_folder(part.data, FILE_PRIVATE);
    }
    buf_release(&part);
    return st;
}

/* The lock is gone when its holder leaves (file_unlock), so one that was taken on a file that is no
 * longer the folder's is none: again. */
static enum gpm_status lock_once(const char *path, int *fd, bool *again) {
    struct stat mine, there;
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0) return fail_open(FILE_OURS);
    enum gpm_status st = GPM_OK;
    if (fstat(*fd, &mine) != 0 || !S_ISREG(mine.st_mode))
        st = fail(GPM_E_IO, "its lock is no regular file");
    else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        st = errno == EWOULDBLOCK ? fail(GPM_E_BUSY, "another process is writing to it")
                                  : fail_errno();
    *again = st == GPM_OK && (lstat(path, &there) != 0 || there.st_ino != mine.st_ino ||
                              there.st_dev != mine.st_dev);
    if (st != GPM_OK || *again) close(*fd);
    return st;
}

enum gpm_status file_lock(const char *dir, int *fd) {
    struct buf path = BUF_INIT;
    bool again = false;
    enum gpm_status st;
    buf_printf(&path, "%s/lock", dir);
    do st = lock_once(path.data, fd, &again);
    while (again);
    if (st == GPM_OK) sweep(dir);
    buf_release(&path);
    return st;
}

void file_unlock(const char *dir, int fd) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/lock", dir);
    unlink(path.data);
    close(fd);
    buf_release(&path);
}

bool file_before(const char *path, size_t end, void *out, size_t n) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || n > end) return false;
    bool good = pread(fd, out, n, (off_t)(end - n)) == (ssize_t)n;
    close(fd);
    return good;
}

void file_remove(const char *path) {
    (void)!unlink(path);
}

bool file_there(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0;
}

bool file_regular(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}
