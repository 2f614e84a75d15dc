/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that opens, writes, renames and locks files (tests/conform/run_one_place.py holds
 * it to that). Failures give a status; file_why is the reason without the path: callers say "cannot
 * read 'PATH': WHY".
 *
 * Kinds of names. A name that the user chose (FILE_GIVEN) may be a link, a pipe or a device. A file
 * in a folder that this program keeps (FILE_OURS) is a regular file: folders come from elsewhere,
 * and a link in one must not lead a write, or a read, out of it. A link on the way to it is not
 * followed, either, in a folder that others can write. A FILE_PRIVATE also belongs to this user,
 * and no other user could have written it.
 *
 * SQLite (io/store/sqlite_files.c), dlopen (io/host/foreign.c) and libedit's history
 * (front/cli/repl.c) open files themselves; the first two look before whether they are regular. */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>

enum file_how { FILE_GIVEN, FILE_OURS, FILE_PRIVATE };

/* The reason of this thread's last failure in a function of this file. */
const char *file_why(void);

/* largest size of a text file; /dev/zero is larger */
#define FILE_TEXT_MAX ((size_t)256 << 20)

/* Appends the contents of a file of at most `max` bytes (otherwise GPM_E_LIMIT). Waiting for a pipe
 * ends when the guard says so: GPM_E_INTERRUPT, GPM_E_LIMIT. */
GPM_MUST_USE enum gpm_status file_read(const char *path, enum file_how how, size_t max,
                                       struct buf *out);
GPM_MUST_USE enum gpm_status file_read_stdin(size_t max, struct buf *out);

/* Writes a whole file. A regular file is written beside and renamed, so at every moment the old or
 * the new one exists. Others (a pipe, /dev/stdout, a link chosen by the user) are written in
 * place. */
GPM_MUST_USE enum gpm_status file_write(const char *path, enum file_how how, const void *data,
                                        size_t n);
/* The same, but an existing file is kept: GPM_E_BUSY. */
GPM_MUST_USE enum gpm_status file_new(const char *path, enum file_how how, const void *data,
                                      size_t n);
/* The same for a file of ours that stays open for appending: file_put, then file_close. */
GPM_MUST_USE enum gpm_status file_begin(const char *path, const void *data, size_t n, int *fd);
/* Opens a file for appending; makes it if missing. */
GPM_MUST_USE enum gpm_status file_append(const char *path, int *fd);
/* Opens an existing file of ours for reading (file_before) and appending. */
GPM_MUST_USE enum gpm_status file_go_on(const char *path, int *fd);
/* Truncates the file to its first n bytes; it must be at least that long. */
GPM_MUST_USE enum gpm_status file_cut(int fd, size_t n);
/* Ensures that written data are on the disk. */
GPM_MUST_USE enum gpm_status file_sync(int fd);
GPM_MUST_USE enum gpm_status file_put(int fd, const void *data, size_t n);
GPM_MUST_USE enum gpm_status file_close(int fd);

/* Makes a folder. An existing one is fine; a link to a folder only if the folder around it is not
 * ours. */
GPM_MUST_USE enum gpm_status file_folder(const char *path, enum file_how how);
/* Makes the parent folders of a private file with an absolute path. */
GPM_MUST_USE enum gpm_status file_folders_above(const char *path);
/* Takes the lock DIR/lock, held by the process until file_unlock or its death; GPM_E_BUSY: another
 * process has it. Removes unfinished files of killed processes from the folder. */
GPM_MUST_USE enum gpm_status file_lock(const char *dir, int *fd);
void file_unlock(const char *dir, int fd);

/* The n bytes before offset `end`; false: there are not so many. */
bool file_before(int fd, size_t end, void *out, size_t n);
void file_remove(const char *path); /* a file of ours; may be missing */
bool file_there(const char *path);
bool file_regular(const char *path); /* also through links */
/* There is no such file, or one with this content, as a save that was cut short leaves it. */
bool file_is_free(const char *path, const void *data, size_t n);
#endif
