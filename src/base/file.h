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

/* Why the last function of this file that failed in this thread did. */
const char *file_why(void);

/* largest size of a text file; /dev/zero is larger */
#define FILE_TEXT_MAX ((size_t)256 << 20)

/* Appends the whole of a file of at most `max` bytes (else GPM_E_LIMIT). Pipes are waited for, and
 * given up as the guard says: GPM_E_INTERRUPT, GPM_E_LIMIT. */
GPM_MUST_USE enum gpm_status file_read(const char *path, enum file_how how, size_t max,
                                       struct buf *out);
GPM_MUST_USE enum gpm_status file_read_stdin(size_t max, struct buf *out);

/* Writes a whole file. It is made beside and renamed, so that at every moment the old or the new
 * one is there; what is no regular file (a pipe, /dev/stdout, a link that the user chose) is
 * written in place. */
GPM_MUST_USE enum gpm_status file_write(const char *path, enum file_how how, const void *data,
                                        size_t n);
/* The same, but one that is there stays as it is: GPM_E_BUSY. */
GPM_MUST_USE enum gpm_status file_new(const char *path, enum file_how how, const void *data,
                                      size_t n);
/* The same for a file of ours, which stays open for more: file_put, then file_close. */
GPM_MUST_USE enum gpm_status file_begin(const char *path, const void *data, size_t n, int *fd);
/* Opens, or makes, a file to write at its end. */
GPM_MUST_USE enum gpm_status file_append(const char *path, int *fd);
/* Opens a file of ours that is there, to be read (file_before) and written at its end. */
GPM_MUST_USE enum gpm_status file_go_on(const char *path, int *fd);
/* What comes after its first n bytes goes; it has so many. */
GPM_MUST_USE enum gpm_status file_cut(int fd, size_t n);
/* What was put is on the disk. */
GPM_MUST_USE enum gpm_status file_sync(int fd);
GPM_MUST_USE enum gpm_status file_put(int fd, const void *data, size_t n);
GPM_MUST_USE enum gpm_status file_close(int fd);

/* Makes a folder; one that is there is fine, a link to one unless the folder around it is ours. */
GPM_MUST_USE enum gpm_status file_folder(const char *path, enum file_how how);
/* Makes the folders above a private file, whose path is absolute. */
GPM_MUST_USE enum gpm_status file_folders_above(const char *path);
/* Takes the lock DIR/lock, which the process holds until file_unlock or its death; GPM_E_BUSY:
 * another process has it. What processes that were killed left half written in the folder goes. */
GPM_MUST_USE enum gpm_status file_lock(const char *dir, int *fd);
void file_unlock(const char *dir, int fd);

/* The n bytes before place `end`; false: it has not so many. */
bool file_before(int fd, size_t end, void *out, size_t n);
void file_remove(const char *path); /* one of ours, if it is there */
bool file_there(const char *path);
bool file_regular(const char *path); /* also through links */
#endif
