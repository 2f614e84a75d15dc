/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of SQLite's, opened for it. What is no regular file is refused: SQLite opens a
 * database's journal and log whatever they are, and would wait for the writer of a pipe without
 * end.
 *
 * Every page of a database that is made here ends with its checksum (base/sum.h), which is checked
 * when the page is read. SQLite leaves those bytes alone, and sees zeros there. So pages that
 * another program copies from our log into the database, or rewrites (VACUUM), have zeros: they are
 * read as pages without a checksum until we write them. A page changed in place by another program
 * has a wrong checksum. */
#ifndef STORE_SQLITE_FILES_H
#define STORE_SQLITE_FILES_H
#include "io/store/driver.h"
#include <sqlite3.h>
#include <stdbool.h>

int sqlite_files_open(const char *path, sqlite3 **db, int flags); /* as sqlite3_open_v2 does */
/* The pages of an empty database will have checksums, and those of one that is compacted. */
void sqlite_files_sum(sqlite3 *db);
/* Have its pages checksums, or will they have, of a file that is empty? STORE_SUMS_MOST: one that
 * was read has none. */
enum store_sums sqlite_files_sums(sqlite3 *db);
/* Did the last opening of this thread fail for what is no regular file? */
bool sqlite_files_odd(void);
/* What a failure of this thread was about, where it was a file or page that was refused. */
bool sqlite_files_why(struct buf *out);
#endif
