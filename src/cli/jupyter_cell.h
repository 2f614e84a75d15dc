/* SPDX-License-Identifier: Apache-2.0
 *
 * A cell of a notebook while it runs. The program runs on a thread of its own; what it has to say
 * becomes events, which the thread that owns the sockets fetches and sends.
 */
#ifndef CLI_JUPYTER_CELL_H
#define CLI_JUPYTER_CELL_H
#include "base/buf.h"
#include "gpmem/gpmem.h"
#include <jansson.h>
#include <stdbool.h>

/* One message to be: `content` is owned by who fetched the event. */
struct cell_event {
    const char *type; /* of the message; "" when the cell has come to its end */
    json_t *content;
};

/* The session's options, completed by what listens here. */
void cell_listen(struct gpm_options *o);
/* A descriptor that can be read when events wait. */
int cell_fd(void);
/* The oldest event; type NULL: none waits. */
struct cell_event cell_next(void);

/* Runs `code`, named `name` in messages, on a thread; `count` is the number of the cell, 0 one that
 * leaves no result; `may_ask`: questions reach somebody. One cell at a time. */
void cell_start(gpm_session *s, const char *name, const char *code, int count, bool may_ask);
/* After the event "": joins the thread. NULL, or the content of an error message (borrowed until
 * the next cell). */
const json_t *cell_finish(void);
/* The answer to the event input_request; NULL: there will be none. */
void cell_answer(const char *text);
#endif
