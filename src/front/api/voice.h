/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and reports name options as the tool takes them, `--max-points 100`. Callers from
 * another language have arguments instead: voice_text() substitutes their names in the library's
 * output, by one table (gpm_voice in gpmem.h sets the language). */
#ifndef API_VOICE_H
#define API_VOICE_H
#include "base/buf.h"

/* The text of b, with options as the caller writes them; b keeps it so. Lines for a shell, in
 * `backticks` that begin with gpmem, stay. */
const char *voice_text(struct buf *b);
/* The same of a message, which may name foreign text: controls in it are made visible. */
const char *voice_error(struct buf *b);
#endif
