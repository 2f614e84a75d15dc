/* SPDX-License-Identifier: Apache-2.0
 *
 * See own.h.
 */
#include "base/own.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/work.h"

#include <stdlib.h>
#include <sys/random.h>

enum { KEY = 32 };

bool own_path(struct buf *path, const char *name) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        buf_printf(path, "%s/gpmem/%s", state, name);
    else if (home && *home == '/')
        buf_printf(path, "%s/.local/state/gpmem/%s", home, name);
    else
        return false;
    return true;
}

static bool read_key(const char *path, struct buf *key) {
    buf_reset(key);
    return file_read(path, FILE_PRIVATE, KEY, key) == GPM_OK && key->len == KEY;
}

/* Of several processes that make one at once the first has made it. */
static void make_key(const char *path) {
    unsigned char fresh[KEY];
    if (getrandom(fresh, sizeof fresh, 0) == (ssize_t)sizeof fresh &&
        file_folders_above(path) == GPM_OK)
        (void)!file_new(path, FILE_PRIVATE, fresh, sizeof fresh);
}

bool own_code(const void *data, size_t n, char code[OWN_CODE]) {
    struct buf path = BUF_INIT, key = BUF_INIT;
    /* also of what is written because the time is up */
    struct work_limits *limits = work_set_limits(NULL);
    bool there = own_path(&path, "key");
    if (there && !read_key(path.data, &key)) {
        make_key(path.data);
        there = read_key(path.data, &key);
    }
    work_set_limits(limits);
    if (there) hmac_sha256_hex(key.data, key.len, data, n, code);
    buf_release(&path);
    buf_release(&key);
    return there;
}
