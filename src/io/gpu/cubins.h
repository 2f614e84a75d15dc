/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled programs on disk: $XDG_CACHE_HOME/gpmem/cubins (~/.cache/gpmem/cubins), a file each, by
 * what they were compiled from. A file is not believed: one that is damaged or was made of
 * something else is taken for missing and written anew. Where nothing can be written, nothing is.
 */
#ifndef GPU_CUBINS_H
#define GPU_CUBINS_H
#include "base/buf.h"
#include <stdbool.h>

/* key: the text, options, architecture and version of the compiler. */
bool cubin_find(const struct buf *key, struct buf *out);
void cubin_keep(const struct buf *key, const void *data, size_t n);
#endif
