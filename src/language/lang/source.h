/* SPDX-License-Identifier: Apache-2.0
 *
 * Source units and spans. A unit is one text (file, prompt line, -e expression); spans are byte
 * offsets into it. Lines and columns are computed only when a diagnostic is drawn.
 */
#ifndef LANG_SOURCE_H
#define LANG_SOURCE_H
#include "base/arena.h"
#include "base/vec.h"
#include "gpmem/status.h"
#include <stdint.h>

struct span {
    uint32_t unit, start, end; /* bytes [start, end) of unit number `unit` */
};

struct source {
    char *name; /* as shown in messages: path, "<prompt>", "<expression>" */
    char *text; /* NUL-terminated copy, owned */
    size_t len;
    VEC(uint32_t) lines; /* offsets of line starts, built on first use */
};

/* Of zeros at first. */
struct sources {
    VEC(struct source *) units; /* owned, but for `gone` */
    struct source gone;         /* stands for every text that was dropped */
};

void sources_release(struct sources *s);
/* Adds a unit (text is copied) and returns its number. */
uint32_t sources_add(struct sources *s, const char *name, const char *text, size_t len);
/* The text of a unit goes; its number stays, and shows nothing. */
void sources_drop(struct sources *s, uint32_t unit);
/* 1-based line and column (column counts code points); for messages. */
void sources_locate(struct sources *s, struct span at, unsigned *line, unsigned *column);
#endif
