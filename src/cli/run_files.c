/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_files.h.
 */
#include "cli/run_files.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/sha256.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct run_files {
    pthread_mutex_t lock;
    json_t *now, *before; /* {path: hash}; before may be NULL */
};

struct run_files *run_files_new(json_t *before) {
    struct run_files *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    pthread_mutex_init(&f->lock, NULL);
    f->now = json_object();
    f->before = json_object();
    size_t i;
    json_t *row;
    json_array_foreach(before, i, row) {
        const char *path = json_string_value(json_object_get(row, "path"));
        if (path) json_object_set(f->before, path, json_object_get(row, "sha256"));
    }
    return f;
}

void run_files_free(struct run_files *f) {
    if (!f) return;
    json_decref(f->now);
    json_decref(f->before);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static bool add(struct run_files *f, const char *path, bool *fresh) {
    char hash[65];
    struct buf text = BUF_INIT;
    *fresh = !json_object_get(f->now, path);
    if (!*fresh) return true;
    /* a pipe gives its text once, and that is the program's */
    bool read = file_regular(path) && file_read(path, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK;
    if (read) sha256_hex(text.data, text.len, hash);
    buf_release(&text);
    if (!read) return true; /* the program will say so itself */
    json_object_set_new(f->now, path, json_string(hash));
    const char *was = json_string_value(json_object_get(f->before, path));
    if (!was || strcmp(was, hash) == 0) return true;
    return complain(false, "'%s' has changed since the run began; put it back or start a new run",
                    path);
}

bool run_files_add(struct run_files *f, const char *path, bool *fresh) {
    char *full = realpath(path, NULL); /* the same file by another way is the same file */
    pthread_mutex_lock(&f->lock);
    bool same = add(f, full ? full : path, fresh);
    pthread_mutex_unlock(&f->lock);
    free(full);
    return same;
}

json_t *run_files_json(struct run_files *f) {
    json_t *list = json_array(), *hash;
    const char *path;
    pthread_mutex_lock(&f->lock);
    json_object_foreach(f->now, path, hash) {
        json_array_append_new(list, json_pack("{s:s, s:O}", "path", path, "sha256", hash));
    }
    pthread_mutex_unlock(&f->lock);
    return list;
}
