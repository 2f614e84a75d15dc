/* SPDX-License-Identifier: Apache-2.0
 * LD_PRELOAD: a processor that OpenBLAS does not know. Where OPENBLAS_CORETYPE is not set, OpenBLAS
 * alone reads "Prescott" there, which is what it falls back to; the program itself sees that the
 * variable is not set. */
#include <dlfcn.h>
#include <string.h>

static char *(*plain)(const char *name);

char *getenv(const char *name) {
    static char fallback[] = "Prescott";
    Dl_info from;
    if (!plain) *(void **)&plain = dlsym(RTLD_NEXT, "getenv");
    char *value = plain(name);
    if (value || strcmp(name, "OPENBLAS_CORETYPE") != 0) return value;
    if (!dladdr(__builtin_return_address(0), &from) || !strstr(from.dli_fname, "openblas"))
        return NULL;
    return fallback;
}
