/* SPDX-License-Identifier: Apache-2.0
 *
 * See own.h.
 */
#include "base/own.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/work.h"

#include <stdio.h>
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

static _Thread_local char reason[256];

const char *own_why(void) {
    return reason;
}

static enum gpm_status read_key(const char *path, struct buf *key) {
    buf_reset(key);
    enum gpm_status st = file_read(path, FILE_PRIVATE, KEY, key);
    return st == GPM_OK && key->len != KEY ? GPM_E_FORMAT : st;
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
    enum gpm_status st = own_path(&path, "key") ? read_key(path.data, &key) : GPM_E_IO;
    if (st != GPM_OK && st != GPM_E_DENIED && path.len) {
        make_key(path.data);
        st = read_key(path.data, &key);
    }
    if (st == GPM_E_DENIED)
        snprintf(reason, sizeof reason, "the key %.150s is not used: %s; remove it", path.data,
                 file_why());
    else
        snprintf(reason, sizeof reason,
                 "no key can be kept in $XDG_STATE_HOME/gpmem or ~/.local/state/gpmem");
    work_set_limits(limits);
    if (st == GPM_OK) hmac_sha256_hex(key.data, key.len, data, n, code);
    buf_release(&path);
    buf_release(&key);
    return st == GPM_OK;
}
