/* SPDX-License-Identifier: Apache-2.0
 * Shared objects; see foreign.h. */
#include "io/host/foreign.h"
#include "base/file.h"

#include <dlfcn.h>
#include <string.h>

enum gpm_status foreign_open(struct foreign *f, const char *path, const char *symbol,
                             enum foreign_kind kind, struct buf *err) {
    struct buf full = BUF_INIT;
    enum gpm_status s = GPM_OK;
    if (!strchr(path, '/')) buf_puts(&full, "./");
    buf_puts(&full, path);
    /* the loader would wait for the writer of a pipe without end */
    bool pipe = file_there(full.data) && !file_regular(full.data);
    void *handle = pipe ? NULL : dlopen(full.data, RTLD_NOW | RTLD_LOCAL), *sym = NULL;
    if (!handle) {
        s = buf_fail(err, GPM_E_IO, "cannot load the shared object '%s': %s", path,
                     pipe ? "it is no regular file" : dlerror());
    } else if (!(sym = dlsym(handle, symbol))) {
        s = buf_fail(err, GPM_E_NOT_FOUND,
                     "the shared object '%s' has no function '%s'; is it exported, and not "
                     "mangled (extern \"C\")?",
                     path, symbol);
        dlclose(handle);
    } else {
        *f = (struct foreign){handle, sym, kind};
    }
    buf_release(&full);
    return s;
}

double foreign_call(const struct foreign *f, const double *x, int n) {
    /* memcpy: ISO C has no cast from object to function pointers */
    if (f->kind == FOREIGN_SCALAR) {
        double (*g)(double);
        memcpy(&g, &f->symbol, sizeof g);
        return g(x[0]);
    }
    double (*g)(const double *, int);
    memcpy(&g, &f->symbol, sizeof g);
    return g(x, n);
}

void foreign_close(struct foreign *f) {
    if (f->handle) dlclose(f->handle);
    *f = (struct foreign){0};
}
