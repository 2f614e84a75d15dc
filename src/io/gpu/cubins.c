/* SPDX-License-Identifier: Apache-2.0
 * See cubins.h. A file is a header and the program. */
#include "io/gpu/cubins.h"

#include "base/file.h"
#include "base/map.h"
#include "base/sum.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 << 20 }; /* bytes of a file that is read at all */

/* The key itself is in it by two hashes: a name of 64 bits alone might meet another's. */
struct header {
    char magic[16];
    uint64_t key[2], bytes, sum;
};

static struct header header_for(const struct buf *key, const void *data, size_t n) {
    struct header h = {.magic = "gpmem cubin 1\n"};
    for (int i = 0; i < 2; i++) h.key[i] = hash_bytes(key->data, key->len, (uint64_t)i + 11);
    h.bytes = n;
    h.sum = sum_bytes(13, data, n);
    return h;
}

/* False: no location is configured. */
static bool path_of(const struct buf *key, struct buf *path) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        buf_printf(path, "%s/gpmem/cubins/", cache);
    else if (home && *home == '/')
        buf_printf(path, "%s/.cache/gpmem/cubins/", home);
    else
        return false;
    buf_printf(path, "%016llx", (unsigned long long)hash_bytes(key->data, key->len, 11));
    return true;
}

bool cubin_find(const struct buf *key, struct buf *out) {
    struct buf path = BUF_INIT, all = BUF_INIT;
    struct header h = {0};
    bool found = path_of(key, &path) && file_there(path.data) &&
                 file_read(path.data, FILE_OURS, MOST, &all) == GPM_OK && all.len > sizeof h;
    if (found) {
        size_t n = all.len - sizeof h;
        const char *data = all.data + sizeof h;
        struct header right = header_for(key, data, n);
        memcpy(&h, all.data, sizeof h);
        found = memcmp(&h, &right, sizeof h) == 0;
        if (found) buf_add(out, data, n);
    }
    buf_release(&path);
    buf_release(&all);
    return found;
}

void cubin_keep(const struct buf *key, const void *data, size_t n) {
    struct buf path = BUF_INIT, all = BUF_INIT;
    if (path_of(key, &path) && file_folders_above(path.data) == GPM_OK) {
        struct header h = header_for(key, data, n);
        buf_add(&all, (const char *)&h, sizeof h);
        buf_add(&all, data, n);
        (void)!file_write(path.data, FILE_OURS, all.data, all.len); /* it is only a cache */
    }
    buf_release(&path);
    buf_release(&all);
}
