/* SPDX-License-Identifier: Apache-2.0
 *
 * See jupyter_wire.h. On the wire a message is: identities, "<IDS|MSG>", the signature (HMAC-SHA256
 * of the four parts that follow, in hexadecimal), header, parent header, metadata, content.
 */
#include "cli/jupyter_wire.h"
#include "base/calendar.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "cli/command.h"
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- the library (ZeroMQ 4.3; the names and numbers are those of its manual) ---- */

enum { SOCKET_PUB = 1, SOCKET_REP = 4, SOCKET_ROUTER = 6 };
enum { OPTION_RECEIVE_MORE = 13, OPTION_LINGER = 17, OPTION_HANDOVER = 56 };
enum { NO_WAIT = 1, SEND_MORE = 2, READABLE = 1 };
struct poll_item {
    void *socket;
    int fd;
    short events, revents;
};
union zmq_frame { /* zmq_msg_t: 64 bytes of the library's own */
    unsigned char bytes[64];
    void *align;
};

#define LIBRARY(X)                                                                                 \
    X(void *, zmq_ctx_new, (void))                                                                 \
    X(int, zmq_ctx_term, (void *))                                                                 \
    X(void *, zmq_socket, (void *, int type))                                                      \
    X(int, zmq_close, (void *))                                                                    \
    X(int, zmq_bind, (void *, const char *address))                                                \
    X(int, zmq_setsockopt, (void *, int option, const void *, size_t))                             \
    X(int, zmq_getsockopt, (void *, int option, void *, size_t *))                                 \
    X(int, zmq_send, (void *, const void *, size_t, int flags))                                    \
    X(int, zmq_msg_init, (union zmq_frame *))                                                      \
    X(int, zmq_msg_recv, (union zmq_frame *, void *, int flags))                                   \
    X(void *, zmq_msg_data, (union zmq_frame *))                                                   \
    X(size_t, zmq_msg_size, (const union zmq_frame *))                                             \
    X(int, zmq_msg_close, (union zmq_frame *))                                                     \
    X(int, zmq_poll, (struct poll_item *, int n, long timeout))                                    \
    X(const char *, zmq_strerror, (int))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct { LIBRARY(MEMBER) } lib;

static bool load(void) {
    void *so = dlopen("libzmq.so.5", RTLD_NOW | RTLD_LOCAL), *sym;
    bool all = so != NULL;
    /* memcpy: ISO C has no cast from object to function pointers */
#define FIND(result, name, parameters)                                                             \
    sym = all ? dlsym(so, #name) : NULL;                                                           \
    memcpy(&lib.name, &sym, sizeof sym);                                                           \
    all = all && sym;
    LIBRARY(FIND)
    if (!all) complain(0, "a kernel needs ZeroMQ (libzmq.so.5; on Debian: apt install libzmq5)");
    return all; /* it stays loaded */
}

/* ---- connection ---- */

static struct {
    void *context, *socket[CHANNELS];
    char *key, session[33];
} wire;

static const struct {
    const char *port;
    int type;
} channels[CHANNELS] = {[CHANNEL_SHELL] = {"shell_port", SOCKET_ROUTER},
                        [CHANNEL_CONTROL] = {"control_port", SOCKET_ROUTER},
                        [CHANNEL_INPUT] = {"stdin_port", SOCKET_ROUTER},
                        [CHANNEL_IOPUB] = {"iopub_port", SOCKET_PUB},
                        [CHANNEL_HEART] = {"hb_port", SOCKET_REP}};

/* 32 hexadecimal digits that nobody else has. */
static void unique(char out[33]) {
    unsigned char b[16] = {0};
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        memcpy(b, &(pid_t){getpid()}, sizeof(pid_t));
    for (size_t i = 0; i < sizeof b; i++) snprintf(out + 2 * i, 3, "%02x", b[i]);
}

static bool bind_channel(enum jupyter_channel c, const char *transport, const char *ip,
                         json_t *file) {
    json_int_t port = json_integer_value(json_object_get(file, channels[c].port));
    struct buf address = BUF_INIT;
    int linger = 1000, yes = 1;
    bool tcp = strcmp(transport, "ipc") != 0;
    buf_printf(&address, tcp ? "%s://%s:%lld" : "%s://%s-%lld", transport, ip, (long long)port);
    void *s = wire.socket[c] = lib.zmq_socket(wire.context, channels[c].type);
    bool ok = s != NULL && lib.zmq_setsockopt(s, OPTION_LINGER, &linger, sizeof linger) == 0;
    if (ok && channels[c].type == SOCKET_ROUTER) /* a client that comes back takes its name over */
        ok = lib.zmq_setsockopt(s, OPTION_HANDOVER, &yes, sizeof yes) == 0;
    ok = ok && lib.zmq_bind(s, address.data) == 0;
    if (!ok) complain(0, "cannot bind %s: %s", address.data, lib.zmq_strerror(errno));
    buf_release(&address);
    return ok;
}

bool jupyter_open(const char *connection_file) {
    struct buf text = BUF_INIT;
    json_error_t why;
    const char *transport = "tcp", *ip = "127.0.0.1", *key = "", *scheme = "hmac-sha256";
    if (!load() || read_text(connection_file, &text) != GPM_OK) return false;
    json_t *file = json_loadb(text.len ? text.data : "", text.len, 0, &why);
    buf_release(&text);
    bool ok = json_unpack_ex(file, &why, 0, "{s?s, s?s, s?s, s?s}", "transport", &transport, "ip",
                             &ip, "key", &key, "signature_scheme", &scheme) == 0;
    if (!ok) complain(0, "'%s' is no connection file: %s", connection_file, why.text);
    if (ok && strcmp(scheme, "hmac-sha256") != 0) {
        complain(0, "messages signed by '%s' are not understood, only by hmac-sha256", scheme);
        ok = false;
    }
    if (ok) {
        wire.key = mem_strdup(key);
        unique(wire.session);
        wire.context = lib.zmq_ctx_new();
        for (int c = 0; c < CHANNELS && ok; c++)
            ok = bind_channel((enum jupyter_channel)c, transport, ip, file);
    }
    json_decref(file);
    return ok;
}

void jupyter_close(void) {
    for (int c = 0; c < CHANNELS; c++)
        if (wire.socket[c]) lib.zmq_close(wire.socket[c]);
    if (wire.context) lib.zmq_ctx_term(wire.context);
    mem_free(wire.key);
}

/* ---- frames ---- */

/* Appends the next frame of a socket; false: there is none. *more: others of the message follow. */
static bool frame_read(void *socket, struct buf *out, bool *more) {
    union zmq_frame f;
    int flag = 0;
    size_t size = sizeof flag;
    lib.zmq_msg_init(&f);
    bool there = lib.zmq_msg_recv(&f, socket, NO_WAIT) >= 0;
    if (there) buf_add(out, lib.zmq_msg_data(&f), lib.zmq_msg_size(&f));
    lib.zmq_msg_close(&f);
    lib.zmq_getsockopt(socket, OPTION_RECEIVE_MORE, &flag, &size);
    *more = flag != 0;
    return there;
}

static void frame_write(void *socket, const char *text, size_t n, bool more) {
    lib.zmq_send(socket, n ? text : "", n, more ? SEND_MORE : 0);
}

static void answer_heart(void) {
    void *s = wire.socket[CHANNEL_HEART];
    struct buf beat = BUF_INIT;
    bool more;
    while (frame_read(s, &beat, &more)) {
        frame_write(s, beat.data, beat.len, more);
        buf_reset(&beat);
    }
    buf_release(&beat);
}

unsigned jupyter_wait(unsigned mask, int fd, long timeout) {
    struct poll_item items[CHANNELS + 1];
    int which[CHANNELS + 1], n = 0;
    for (int c = 0; c < CHANNELS; c++)
        if (c == CHANNEL_HEART || mask >> c & 1) {
            which[n] = c;
            items[n++] = (struct poll_item){wire.socket[c], 0, READABLE, 0};
        }
    which[n] = CHANNELS;
    items[n++] = (struct poll_item){NULL, fd, READABLE, 0};
    unsigned ready = 0;
    if (lib.zmq_poll(items, n, timeout) <= 0) return 0; /* also by a signal */
    for (int i = 0; i < n; i++)
        if (items[i].revents) ready |= 1u << which[i];
    if (ready >> CHANNEL_HEART & 1) answer_heart();
    return ready & ~(1u << CHANNEL_HEART);
}

/* ---- messages ---- */

static void sign(const struct buf part[4], char out[65]) {
    struct buf all = BUF_INIT;
    for (int i = 0; i < 4; i++) buf_add(&all, part[i].data, part[i].len);
    if (*wire.key)
        hmac_sha256_hex(wire.key, strlen(wire.key), all.data, all.len, out);
    else
        *out = 0;
    buf_release(&all);
}

/* Compares all of it, so that the time does not tell how much is right. */
static bool same_signature(const struct buf *given, const char own[65]) {
    unsigned differ = given->len != strlen(own);
    for (size_t i = 0; !differ && i < given->len; i++)
        differ |= (unsigned)(given->data[i] ^ own[i]);
    return !differ;
}

void jupyter_message_free(struct jupyter_message *m) {
    if (!m) return;
    for (size_t i = 0; i < m->route.n; i++) buf_release(&m->route.at[i]);
    vec_release(&m->route);
    json_decref(m->header);
    json_decref(m->content);
    mem_free(m);
}

/* part[0]: the signature; then header, parent header, metadata, content */
static bool understand(struct jupyter_message *m, struct buf part[5]) {
    char own[65];
    sign(part + 1, own);
    if (!same_signature(&part[0], own)) {
        complain(0, "a message with a wrong signature was dropped");
        return false;
    }
    m->header = json_loadb(part[1].data, part[1].len, 0, NULL);
    m->content = json_loadb(part[4].data, part[4].len, 0, NULL);
    m->type = json_string_value(json_object_get(m->header, "msg_type"));
    return m->type && json_is_object(m->content);
}

struct jupyter_message *jupyter_receive(enum jupyter_channel c) {
    static const char delimiter[] = "<IDS|MSG>";
    struct jupyter_message *m = NEW(struct jupyter_message);
    struct buf part[5];
    size_t n = 0;
    bool more = true, body = false, there = false;
    for (int i = 0; i < 5; i++) buf_init(&part[i]);
    m->channel = c;
    while (more) {
        struct buf f = BUF_INIT;
        if (!frame_read(wire.socket[c], &f, &more)) break;
        if (body) {
            if (n < 5) buf_add(&part[n], f.data, f.len); /* frames behind them are not used here */
            n++;
            buf_release(&f);
        } else if (f.len == sizeof delimiter - 1 && !memcmp(f.data, delimiter, f.len)) {
            body = true;
            buf_release(&f);
        } else {
            vec_push(&m->route, f);
        }
    }
    if (n >= 5) there = understand(m, part);
    for (int i = 0; i < 5; i++) buf_release(&part[i]);
    if (there) return m;
    jupyter_message_free(m);
    return NULL;
}

static json_t *new_header(const char *type) {
    char id[33], moment[40];
    const struct passwd *who = getpwuid(geteuid());
    unique(id);
    calendar_now(true, moment);
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "msg_id", id, "session", wire.session,
                     "username",
                     jupyter_text(who ? who->pw_name : "", strlen(who ? who->pw_name : "")), "date",
                     moment, "msg_type", type, "version", "5.3");
}

static void dump(json_t *taken, struct buf *out) {
    char *text = json_dumps(taken, JSON_COMPACT);
    buf_init(out);
    buf_puts(out, text ? text : "{}");
    free(text);
    json_decref(taken);
}

void jupyter_send(enum jupyter_channel c, const struct jupyter_message *to, const char *type,
                  json_t *content) {
    void *s = wire.socket[c];
    struct buf part[4];
    char signature[65];
    dump(new_header(type), &part[0]);
    dump(to ? json_incref(to->header) : json_object(), &part[1]);
    dump(json_object(), &part[2]);
    dump(content, &part[3]);
    sign(part, signature);
    if (c == CHANNEL_IOPUB)
        frame_write(s, type, strlen(type), true); /* its topic */
    else
        for (size_t i = 0; i < to->route.n; i++)
            frame_write(s, to->route.at[i].data, to->route.at[i].len, true);
    frame_write(s, "<IDS|MSG>", 9, true);
    frame_write(s, signature, strlen(signature), true);
    for (int i = 0; i < 4; i++) {
        frame_write(s, part[i].data, part[i].len, i < 3);
        buf_release(&part[i]);
    }
}

json_t *jupyter_text(const char *text, size_t n) {
    json_t *plain = json_stringn(text, n);
    if (plain) return plain;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n;) {
        uint32_t code, len = utf8_decode(text + i, n - i, &code);
        if (len)
            buf_add(&b, text + i, len);
        else
            buf_puts(&b, UTF8_REPLACEMENT);
        i += len ? len : 1;
    }
    plain = json_stringn(b.len ? b.data : "", b.len);
    buf_release(&b);
    return plain;
}
