/* SPDX-License-Identifier: Apache-2.0
 *
 * Did this user give this command for this store, on this machine? A worker that joins a search
 * runs the command that the store holds, with the values that its variables have; the store is
 * untrusted, so the answer is kept outside of it.
 *
 * The record of a store is one file of the user's state folder,
 * $XDG_STATE_HOME/gpmem/commands/ID-DEVICE-INODE (~/.local/state by default), with the machine's
 * name, the store's owner or server, the command and the variables. Nothing in the store can make
 * it, and a store that was copied, altered or given away differs in one of them. */
#include "apps/optimize/optimize.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/own.h"

#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_LENGTH = 32 };

/* The id of the store: random, made if missing. */
static enum gpm_status store_id(struct memo *m, bool make, char **id, struct buf *err) {
    enum gpm_status s = memo_get(m, "id", id, err);
    if (s != GPM_E_NOT_FOUND || !make) return s;
    unsigned char bytes[ID_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return s;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < sizeof bytes; i++) buf_printf(&b, "%02x", bytes[i]);
    *id = buf_take(&b);
    return memo_set(m, "id", *id, err);
}

/* Where the record of this store stands, and what it must say for this command. A copy has the
 * same id but is another file. false: no state folder, or the id is not one of ours. */
static bool describe(const struct optimize *o, const char *id, const char *command,
                     struct buf *path, struct buf *text) {
    const struct memo *m = o->memo;
    struct stat sb = {0}; /* a server's tables are not copied like a file */
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (strlen(id) != ID_LENGTH || strspn(id, "0123456789abcdef") != ID_LENGTH) return false;
    if (memo_is_file(m->path) && stat(m->path, &sb)) return false;
    if (!own_path(path, "commands/")) return false;
    buf_printf(path, "%s-%llx-%llx", id, (unsigned long long)sb.st_dev,
               (unsigned long long)sb.st_ino);
    buf_printf(text, "%s\n%s %lu\n%s\n%s %d\n", host, memo_is_file(m->path) ? "user" : m->path,
               (unsigned long)sb.st_uid, command, o->opt.json ? "json" : "words", o->space.n);
    bo_space_text(&o->space, text);
    return true;
}

static bool file_holds(const char *path, const struct buf *want) {
    struct buf text = BUF_INIT;
    bool same = file_read(path, FILE_PRIVATE, want->len, &text) == GPM_OK &&
                text.len == want->len && memcmp(text.data, want->data, want->len) == 0;
    buf_release(&text);
    return same;
}

enum gpm_status optimize_own_command(struct optimize *o, const char *command, bool write, bool *own,
                                     struct buf *err) {
    char *id = NULL;
    struct buf path = BUF_INIT, text = BUF_INIT;
    enum gpm_status s = store_id(o->memo, write, &id, err);
    *own = !s && describe(o, id, command, &path, &text);
    if (*own && !file_holds(path.data, &text)) {
        /* whole or not at all; without it a join asks for --allow-run */
        if (write && file_folders_above(path.data) == GPM_OK)
            (void)!file_write(path.data, FILE_PRIVATE, text.data, text.len);
        *own = write;
    }
    buf_release(&path);
    buf_release(&text);
    mem_free(id);
    return s == GPM_E_NOT_FOUND ? GPM_OK : s;
}
