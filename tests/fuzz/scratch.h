/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder in memory for the fuzz targets of files: made once, used by every input, removed at the
 * end. */
#ifndef FUZZ_SCRATCH_H
#define FUZZ_SCRATCH_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_dir[64];

static inline void scratch_remove(void) {
    struct dirent *e;
    DIR *d = opendir(scratch_dir);
    while (d && (e = readdir(d))) unlinkat(dirfd(d), e->d_name, 0); /* not itself and its parent */
    if (d) closedir(d);
    rmdir(scratch_dir);
}

/* Path of `name` in the folder; valid until the next call. */
static inline const char *scratch(const char *name) {
    static char path[192];
    if (!scratch_dir[0]) {
        strcpy(scratch_dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/gpmem-fuzz-XXXXXX"
                                                          : "/tmp/gpmem-fuzz-XXXXXX");
        if (!mkdtemp(scratch_dir) || atexit(scratch_remove)) abort();
    }
    snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    return path;
}

static inline void scratch_write(const char *name, const void *data, size_t size) {
    FILE *f = fopen(scratch(name), "w");
    if (!f || fwrite(data, 1, size, f) != size) abort();
    fclose(f);
}
#endif
