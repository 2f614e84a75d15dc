/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading lines from a terminal: editing, history in a file, completion by Tab (libedit).
 */
#ifndef CLI_LINE_H
#define CLI_LINE_H
#include <stdbool.h>
#include <stddef.h>

struct line_editor;
/* Calls `add` for every completion of `word`, which starts at `at` of the text before the cursor.
 */
typedef void line_complete_fn(void *user, const char *before, size_t at, const char *word,
                              void (*add)(void *list, const char *text), void *list);

struct line_editor *line_editor_new(line_complete_fn *complete, void *user, bool colour);
void line_editor_free(struct line_editor *e);

enum line_result { LINE_READ, LINE_CANCELLED /* Ctrl-C */, LINE_END /* Ctrl-D */ };
/* Reads one line, without its newline; *text stays valid until the next call. */
enum line_result line_read(struct line_editor *e, const char *prompt, const char **text);
/* Puts a finished entry into the history and its file. */
void line_remember(struct line_editor *e, const char *entry);
#endif
