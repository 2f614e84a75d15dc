/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a run read, each with its SHA-256, as the manifest lists them. A run that goes on
 * compares: the first file that has changed ends it with a message that names the file.
 */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H
#include <jansson.h>
#include <stdbool.h>

struct run_files;
/* `before`: the list of an earlier manifest, or NULL. */
struct run_files *run_files_new(json_t *before);
void run_files_free(struct run_files *f);
/* A file that the program reads now; any thread. *fresh: it was not in the list yet. False: it is
 * not the one that the earlier run read, said on stderr. */
bool run_files_add(struct run_files *f, const char *path, bool *fresh);
/* [{"path": ..., "sha256": ...}, ...]; the caller's. */
json_t *run_files_json(struct run_files *f);
#endif
