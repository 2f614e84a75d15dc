/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled programs on disk: $XDG_CACHE_HOME/gpmem/cubins (~/.cache/gpmem/cubins), a file each, by
 * what they were compiled from. Files are verified: one that is damaged or has another source
 * counts as missing and is rewritten. Without write access nothing is cached. */
#ifndef GPU_CUBINS_H
#define GPU_CUBINS_H
#include "base/buf.h"
#include <stdbool.h>

/* key: the text, options, architecture and version of the compiler. */
bool cubin_find(const struct buf *key, struct buf *out);
void cubin_keep(const struct buf *key, const void *data, size_t n);
#endif
