/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target on the files of folders, in any build: what once was a finding stays fixed.
 * Usage: replay_NAME tests/fuzz/corpus/NAME...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input has exactly its length, so that reading past it is seen. */
static void replay(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)ftell(f);
    uint8_t *data = malloc(size ? size : 1);
    rewind(f);
    if (!data || fread(data, 1, size, f) != size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static int replay_folder(const char *folder) {
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), files = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.') replay(path), files++;
        free(list[i]);
    }
    if (n >= 0) free(list);
    return files;
}

int main(int argc, char **argv) {
    int files = 0;
    for (int i = 1; i < argc; i++) files += replay_folder(argv[i]);
    printf("%d inputs\n", files);
    return files ? 0 : 1;
}
