/* SPDX-License-Identifier: Apache-2.0
 * See file.h. */
#include "base/file.h"
#include "base/mem.h"
#include "base/work.h"

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

static enum gpm_status go_on(void) {
    switch (work_look()) {
    case WORK_STOPPED: return fail(GPM_E_INTERRUPT, "interrupted");
    case WORK_LATE: return fail(GPM_E_LIMIT, "the time limit (--max-time) was reached");
    case WORK_LARGE: return fail(GPM_E_LIMIT, "the memory limit (--max-memory) was reached");
    default: return GPM_OK;
    }
}

/* ---- places ---- */

/* Where a name is looked up. A file of ours is looked up by its last part in its folder. The folder
 * is held open, so it cannot be replaced. */
struct place {
    int dir;
    const char *name;
    char last[256];
};

static void leave(const struct place *p) {
    int keep = errno;
    if (p->dir >= 0) close(p->dir);
    errno = keep;
}

/* May a user other than this one and root have put this link into the folder? */
static bool strange_link(int dir, const char *name) {
    struct stat d, l;
    uid_t me = geteuid();
    if (fstat(dir, &d) != 0 || fstatat(dir, name, &l, AT_SYMLINK_NOFOLLOW) != 0) return true;
    bool private_group = d.st_gid == getegid() && d.st_gid == me; /* users that are groups, too */
    bool ours = d.st_uid == me || d.st_uid == 0;
    bool stays = ours && (d.st_mode & S_ISVTX) && (l.st_uid == me || l.st_uid == 0);
    bool shared = (d.st_mode & S_IWOTH) || ((d.st_mode & S_IWGRP) && !private_group);
    return !stays && (!ours || shared);
}

/* The link p->last: the path goes on with what it says. */
static enum gpm_status read_link(const struct place *p, struct buf *path, const char *after) {
    char to[4096];
    ssize_t n = readlinkat(p->dir, p->last, to, sizeof to);
    if (n < 0) return fail(GPM_E_IO, strerror(errno == EINVAL ? ENOTDIR : errno));
    if (strange_link(p->dir, p->last))
        return fail(GPM_E_DENIED,
                    "a symbolic link on the way to it is not followed, because others "
                    "can write to the folder that holds the link");
    struct buf all = BUF_INIT;
    buf_add(&all, to, (size_t)n);
    buf_printf(&all, "/%s", after);
    buf_release(path);
    *path = all;
    return GPM_OK;
}

static enum gpm_status enter(struct place *p, int next) {
    if (next < 0) return fail_errno();
    if (p->dir >= 0) close(p->dir);
    p->dir = next;
    return GPM_OK;
}

/* Through the parts of the path but the last. Each is opened without following a link; links that
 * only this user or root can have made are followed by hand. */
static enum gpm_status walk(struct place *p, struct buf *path) {
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    enum gpm_status st = enter(p, open(".", flags));
    const char *at = path->data;
    for (int links = 0; !st && links < 40;) {
        if (at == path->data && *at == '/') st = enter(p, open("/", flags));
        const char *part = at + strspn(at, "/"), *end = strchrnul(part, '/');
        const char *after = end + strspn(end, "/");
        if (!st && end - part >= (ptrdiff_t)sizeof p->last)
            st = fail(GPM_E_IO, strerror(ENAMETOOLONG));
        if (st != GPM_OK) return st;
        memcpy(p->last, part, (size_t)(end - part));
        p->last[end - part] = 0;
        if (!*after) return GPM_OK;
        int next = openat(p->dir, p->last, flags);
        if (next < 0 && (errno == ENOTDIR || errno == ELOOP)) {
            st = read_link(p, path, after);
            at = path->data;
            links++;
        } else {
            st = enter(p, next);
            at = after;
        }
    }
    return st ? st : fail(GPM_E_IO, strerror(ELOOP));
}

static enum gpm_status place_of(const char *path, enum file_how how, struct place *p) {
    *p = (struct place){.dir = AT_FDCWD, .name = path};
    if (how == FILE_GIVEN) return GPM_OK;
    struct buf rest = BUF_INIT;
    buf_puts(&rest, path);
    p->dir = -1;
    p->name = p->last;
    enum gpm_status st = walk(p, &rest);
    if (st != GPM_OK) leave(p);
    buf_release(&rest);
    return st;
}

/* Opens a file that is read, or that is ours and written: at once whatever it is, and looked at
 * when it is open. */
static enum gpm_status open_as(const struct place *p, enum file_how how, int flags, struct stat *sb,
                               int *fd) {
    bool ours = how != FILE_GIVEN;
    *fd = openat(p->dir, p->name,
                 flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (ours ? O_NOFOLLOW : 0), 0666);
    if (*fd < 0 && ours && errno == ELOOP) /* its message would be unclear */
        return fail(GPM_E_IO, "it is a symbolic link, which is not followed here");
    if (*fd < 0) return fail_errno();
    enum gpm_status st = GPM_OK;
    if (fstat(*fd, sb) != 0)
        st = fail_errno();
    else if (S_ISDIR(sb->st_mode))
        st = fail(GPM_E_IO, "it is a directory");
    else if (ours && !S_ISREG(sb->st_mode))
        st = fail(GPM_E_IO, "it is no regular file");
    else if (how == FILE_PRIVATE &&
             (sb->st_uid != geteuid() || (sb->st_mode & (S_IRWXG | S_IRWXO))))
        st = fail(GPM_E_DENIED, "others can read or write it");
    if (st == GPM_OK) return st;
    close(*fd);
    *fd = -1;
    return st;
}

static enum gpm_status open_file(const char *path, enum file_how how, int flags, struct stat *sb,
                                 int *fd) {
    struct place p;
    enum gpm_status st = place_of(path, how, &p);
    if (st != GPM_OK) return st;
    st = open_as(&p, how, flags, sb, fd);
    leave(&p);
    return st;
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
    int fd;
    enum gpm_status st = open_file(path, how, O_RDONLY, &sb, &fd);
    if (st != GPM_OK) return st;
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

enum gpm_status file_go_on(const char *path, int *fd) {
    struct stat sb;
    enum gpm_status st = open_file(path, FILE_OURS, O_RDWR | O_APPEND, &sb, fd);
    if (st != GPM_OK || sb.st_nlink < 2) return st;
    close(*fd);
    *fd = -1;
    return fail(GPM_E_IO, "it has other names, whose file would change with it");
}

enum gpm_status file_cut(int fd, size_t n) {
    struct stat sb;
    if (fstat(fd, &sb) == 0 && (size_t)sb.st_size < n) return fail(GPM_E_IO, "it was cut");
    return ftruncate(fd, (off_t)n) == 0 ? GPM_OK : fail_errno();
}

enum gpm_status file_sync(int fd) {
    return fsync(fd) == 0 ? GPM_OK : fail_errno();
}

/* An unused name beside `path`: O_EXCL makes it a new file of this process. It is locked while
 * being written, so that sweep recognises the remains of a killed process. A file swept before it
 * was locked is made again. */
static int open_beside(const struct place *p, mode_t mode, struct buf *name) {
    static atomic_uint serial;
    for (int tries = 0; tries < 100; tries++) {
        struct stat sb;
        buf_reset(name);
        buf_printf(name, "%s.%ld-%u.tmp", p->name, (long)getpid(), atomic_fetch_add(&serial, 1));
        int fd =
            openat(p->dir, name->data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
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
static void sweep(const struct place *p) {
    int folder = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = folder < 0 ? NULL : fdopendir(folder);
    struct stat sb;
    for (const struct dirent *e; d && (e = readdir(d));) {
        struct place it = {.dir = p->dir, .name = e->d_name};
        int fd;
        if (!is_beside(it.name) || open_as(&it, FILE_OURS, O_WRONLY, &sb, &fd) != GPM_OK) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(p->dir, it.name, 0);
        close(fd);
    }
    if (d) closedir(d);
}

/* `keep`: stays open there. Files of ours are on the disk before they take the name. */
static enum gpm_status fill_and_rename(int fd, const char *name, const struct place *p,
                                       enum file_how how, const void *data, size_t n, int *keep) {
    enum gpm_status st = file_put(fd, data, n);
    if (st == GPM_OK && how != FILE_GIVEN && fsync(fd) != 0) st = fail_errno();
    int held = keep ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0); /* keeps the lock past the closing */
    if (!keep && close(fd) != 0 && errno != EINTR && st == GPM_OK) st = fail_errno();
    if (st == GPM_OK && renameat(p->dir, name, p->dir, p->name) != 0) st = fail_errno();
    if (st != GPM_OK) unlinkat(p->dir, name, 0);
    if (keep && st == GPM_OK) {
        (void)!flock(held, LOCK_UN);
        *keep = held;
    } else if (held >= 0) {
        close(held);
    }
    return st;
}

static enum gpm_status replace_at(const struct place *p, enum file_how how, const void *data,
                                  size_t n, int *keep) {
    struct stat sb;
    bool there = fstatat(p->dir, p->name, &sb, AT_SYMLINK_NOFOLLOW) == 0;
    if (how == FILE_GIVEN && there && !S_ISREG(sb.st_mode)) return write_in_place(p->name, data, n);
    if (there && S_ISREG(sb.st_mode) && faccessat(p->dir, p->name, W_OK, 0) != 0)
        return fail_errno();
    struct buf name = BUF_INIT;
    int fd = open_beside(p, how == FILE_PRIVATE ? 0600 : 0666, &name);
    enum gpm_status st;
    if (fd < 0) { /* a folder that takes no new files may still hold one that can be written */
        st = how == FILE_GIVEN && there ? write_in_place(p->name, data, n) : fail_errno();
    } else {
        /* Users without access to the old file get no access to the new one. */
        if (there && S_ISREG(sb.st_mode) && how != FILE_PRIVATE)
            (void)!fchmod(fd, sb.st_mode & 0777);
        st = fill_and_rename(fd, name.data, p, how, data, n, keep);
    }
    buf_release(&name);
    return st;
}

static enum gpm_status replace(const char *path, enum file_how how, const void *data, size_t n,
                               int *keep) {
    struct place p;
    enum gpm_status st = place_of(path, how, &p);
    if (st != GPM_OK) return st;
    st = replace_at(&p, how, data, n, keep);
    leave(&p);
    return st;
}

enum gpm_status file_write(const char *path, enum file_how how, const void *data, size_t n) {
    return replace(path, how, data, n, NULL);
}

enum gpm_status file_new(const char *path, enum file_how how, const void *data, size_t n) {
    struct place p;
    enum gpm_status st = place_of(path, how, &p);
    if (st != GPM_OK) return st;
    struct buf name = BUF_INIT;
    int fd = open_beside(&p, how == FILE_PRIVATE ? 0600 : 0666, &name);
    st = fd < 0 ? fail_errno() : file_put(fd, data, n);
    if (st == GPM_OK && fsync(fd) != 0) st = fail_errno();
    if (st == GPM_OK && linkat(p.dir, name.data, p.dir, p.name, 0) != 0)
        st = errno == EEXIST ? fail(GPM_E_BUSY, "it is there already") : fail_errno();
    if (fd >= 0) {
        close(fd);
        unlinkat(p.dir, name.data, 0);
    }
    leave(&p);
    buf_release(&name);
    return st;
}

enum gpm_status file_begin(const char *path, const void *data, size_t n, int *fd) {
    return replace(path, FILE_OURS, data, n, fd);
}

/* ---- folders ---- */

static enum gpm_status folder_at(const struct place *p, enum file_how how) {
    struct stat sb;
    if (mkdirat(p->dir, p->name, how == FILE_PRIVATE ? 0700 : 0777) == 0) return GPM_OK;
    if (errno != EEXIST) return fail_errno();
    if (fstatat(p->dir, p->name, &sb, how == FILE_OURS ? AT_SYMLINK_NOFOLLOW : 0) != 0)
        return fail_errno();
    if (S_ISDIR(sb.st_mode)) return GPM_OK;
    return fail(GPM_E_IO, S_ISLNK(sb.st_mode) ? "it is a symbolic link" : "it is not a folder");
}

enum gpm_status file_folder(const char *path, enum file_how how) {
    struct place p;
    enum gpm_status st = place_of(path, how, &p);
    if (st != GPM_OK) return st;
    st = folder_at(&p, how);
    leave(&p);
    return st;
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

/* A lock ends when its holder leaves (file_unlock). A lock on a file that is no longer the folder's
 * is void: try again. */
static enum gpm_status lock_once(const struct place *p, int *fd, bool *again) {
    struct stat mine, there;
    enum gpm_status st = open_as(p, FILE_OURS, O_RDWR | O_CREAT, &mine, fd);
    if (st != GPM_OK) return st;
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        st = errno == EWOULDBLOCK ? fail(GPM_E_BUSY, "another process is writing to it")
                                  : fail_errno();
    *again = st == GPM_OK && (fstatat(p->dir, p->name, &there, AT_SYMLINK_NOFOLLOW) != 0 ||
                              there.st_ino != mine.st_ino || there.st_dev != mine.st_dev);
    if (st != GPM_OK || *again) close(*fd);
    return st;
}

/* DIR/lock. */
static enum gpm_status place_of_lock(const char *dir, struct place *p) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/lock", dir);
    enum gpm_status st = place_of(path.data, FILE_OURS, p);
    buf_release(&path);
    return st;
}

enum gpm_status file_lock(const char *dir, int *fd) {
    struct place p;
    bool again = false;
    enum gpm_status st = place_of_lock(dir, &p);
    if (st != GPM_OK) return st;
    do st = lock_once(&p, fd, &again);
    while (again);
    if (st == GPM_OK) sweep(&p);
    leave(&p);
    return st;
}

static void remove_at(const struct place *p) {
    (void)!unlinkat(p->dir, p->name, 0);
    leave(p);
}

void file_unlock(const char *dir, int fd) {
    struct place p;
    if (place_of_lock(dir, &p) == GPM_OK) remove_at(&p);
    close(fd);
}

bool file_before(int fd, size_t end, void *out, size_t n) {
    return n <= end && pread(fd, out, n, (off_t)(end - n)) == (ssize_t)n;
}

void file_remove(const char *path) {
    struct place p;
    if (place_of(path, FILE_OURS, &p) == GPM_OK) remove_at(&p);
}

bool file_there(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0;
}

bool file_regular(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

bool file_is_free(const char *path, const void *data, size_t n) {
    struct buf b = BUF_INIT;
    bool is = !file_there(path) || (file_read(path, FILE_OURS, n, &b) == GPM_OK && b.len == n &&
                                    (!n || !memcmp(b.data, data, n)));
    buf_release(&b);
    return is;
}
