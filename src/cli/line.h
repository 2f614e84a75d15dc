/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading lines from a terminal: editing, history in a file, completion by Tab (libedit).
 */
#ifndef CLI_LINE_H
#define CLI_LINE_H
#include <stdbool.h>
#include <stddef.h>

/* Calls `add` for every completion of `word`, which starts at `at` of the text before the cursor.
 */
typedef void line_complete_fn(const char *before, size_t at, const char *word,
                              void (*add)(void *list, const char *text), void *list);

void line_editor_begin(line_complete_fn *complete, bool colour);
void line_editor_end(void);

enum line_result { LINE_READ, LINE_CANCELLED /* Ctrl-C */, LINE_END /* Ctrl-D */ };
/* Reads one line, without its newline; *text stays valid until the next call. */
enum line_result line_read(const char *prompt, const char **text);
/* Puts a finished entry into the history and its file. */
void line_remember(const char *entry);
#endif
