/* SPDX-License-Identifier: Apache-2.0
 * A temporary folder per test binary, emptied at the end. */
#ifndef SUPPORT_TMP_H
#define SUPPORT_TMP_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tmp_dir[64];

static inline int tmp_setup(void **state) {
    (void)state;
    strcpy(tmp_dir, "/tmp/gpmem-test-XXXXXX");
    return mkdtemp(tmp_dir) ? 0 : -1;
}
static inline int tmp_teardown(void **state) {
    (void)state;
    DIR *d = opendir(tmp_dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", tmp_dir, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    return rmdir(tmp_dir);
}
/* Path of a file in the folder; four calls stay valid at a time. */
static inline const char *tmp_path(const char *name) {
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", tmp_dir, name);
    return path[turn];
}
/* The same for a store: on the server that GPMEM_TEST_SERVER names, where it does. */
static inline const char *store_path(const char *name) {
    static char path[4][256];
    static int turn;
    const char *server = getenv("GPMEM_TEST_SERVER");
    if (!server) return tmp_path(name);
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s#%s-%s", server, tmp_dir + 12, name);
    return path[turn];
}
static inline void tmp_write(const char *name, const char *text) {
    FILE *f = fopen(tmp_path(name), "w");
    if (!f) abort();
    fputs(text, f);
    fclose(f);
}
#endif
