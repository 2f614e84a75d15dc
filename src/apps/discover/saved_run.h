/* SPDX-License-Identifier: Apache-2.0
 *
 * What writing a run to a folder and reading it share.
 */
#ifndef DISCOVER_SAVED_RUN_H
#define DISCOVER_SAVED_RUN_H
#include "base/buf.h"
#include <jansson.h>

#define SAVED_FORMAT 1

/* One of the folder's files, owned; NULL: err says why, and what to do. */
json_t *saved_json(const char *dir, const char *name, struct buf *err);
#endif
