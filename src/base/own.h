/* SPDX-License-Identifier: Apache-2.0
 *
 * Distinguishes files written by this user from others. Files whose contents must be trusted
 * (checkpoints, models: a wrong one could access any memory) carry a code of their bytes under a
 * key that only this user can read. The key is 32 random bytes in the user's state folder, made on
 * first use. */
#ifndef BASE_OWN_H
#define BASE_OWN_H
#include "base/buf.h"
#include <stdbool.h>

/* Appends $XDG_STATE_HOME/gpmem/NAME, by default ~/.local/state/gpmem/NAME; false: no such
 * folder. */
bool own_path(struct buf *path, const char *name);

enum { OWN_CODE = 65 };
/* The code of these bytes; false: there is no key and none can be stored; own_why gives the
 * reason. */
bool own_code(const void *data, size_t n, char code[OWN_CODE]);
const char *own_why(void);
#endif
