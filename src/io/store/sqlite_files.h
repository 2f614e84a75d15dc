/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens SQLite's files. Only regular files are accepted: SQLite would open a journal or log of any
 * kind, and wait forever for the writer of a pipe.
 *
 * Every page of a database that is made here ends with its checksum (base/sum.h), which is checked
 * when the page is read. SQLite does not use those bytes and sees zeros there. So pages that
 * another program copies from our log into the database, or rewrites (VACUUM), have zeros: they are
 * read as pages without a checksum until we write them. A page changed in place by another program
 * has a wrong checksum. */
#ifndef STORE_SQLITE_FILES_H
#define STORE_SQLITE_FILES_H
#include "io/store/driver.h"
#include <sqlite3.h>
#include <stdbool.h>

int sqlite_files_open(const char *path, sqlite3 **db, int flags); /* like sqlite3_open_v2 */
/* Gives the pages of an empty or compacted database checksums. */
void sqlite_files_sum(sqlite3 *db);
/* Do its pages have checksums, or will they in an empty file? STORE_SUMS_MOST: a page without one
 * was read. */
enum store_sums sqlite_files_sums(sqlite3 *db);
/* Did this thread's last opening fail because of a file that is not regular? */
bool sqlite_files_odd(void);
/* The refused file or page behind a failure of this thread, if any. */
bool sqlite_files_why(struct buf *out);
#endif
