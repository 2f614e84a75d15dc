/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of Jupyter's protocol 5.3 over ZeroMQ. libzmq is loaded when a kernel starts, so neither
 * the build nor the other commands need it. Sockets belong to one thread, the one that calls
 * these functions.
 */
#ifndef CLI_JUPYTER_WIRE_H
#define CLI_JUPYTER_WIRE_H
#include "base/buf.h"
#include "base/vec.h"
#include "gpmem/status.h"
#include <jansson.h>
#include <stdbool.h>

enum jupyter_channel {
    CHANNEL_SHELL,
    CHANNEL_CONTROL,
    CHANNEL_INPUT,
    CHANNEL_IOPUB,
    CHANNEL_HEART,
    CHANNELS
};

/* A request; owned by who received it. */
struct jupyter_message {
    enum jupyter_channel channel;
    VEC(struct buf) route; /* identities of who asks: replies begin with them */
    json_t *header, *content;
    const char *type; /* of the header */
};
void jupyter_message_free(struct jupyter_message *m);

/* Binds the sockets that a connection file names; failures are said. */
GPM_MUST_USE bool jupyter_open(const char *connection_file);
void jupyter_close(void);

/* Waits for something on the channels of the mask (bit i: channel i) or on `fd`, at most that long
 * (milliseconds; negative: for ever); what is asked on the heartbeat is answered in passing. The
 * mask of channels that have a message; bit CHANNELS: `fd` has something to read. */
unsigned jupyter_wait(unsigned channels, int fd, long timeout);
/* NULL: there is none, or what came was no message of a partner who knows the key. */
struct jupyter_message *jupyter_receive(enum jupyter_channel c);
/* Takes `content`. `to` is the request that this belongs to; NULL: none. On CHANNEL_IOPUB
 * everybody hears it. */
void jupyter_send(enum jupyter_channel c, const struct jupyter_message *to, const char *type,
                  json_t *content);

/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. */
json_t *jupyter_text(const char *text, size_t n);
#endif
