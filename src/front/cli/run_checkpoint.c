/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_checkpoint.h. */
#include "front/cli/run_checkpoint.h"

#include "base/file.h"
#include "base/pack.h"
#include "front/cli/command.h"
#include "front/cli/out.h"

#define KIND "runs"

void chain_stand_release(struct chain_stand *c) {
    buf_release(&c->output);
    buf_release(&c->state);
    mem_free(c->moves);
    buf_release(&c->names);
    mem_free(c->of);
    c->moves = c->of = NULL;
}

static void pack_bytes(struct pack *p, struct buf *b) {
    size_t n = b->len;
    pack_count(p, &n, 1);
    if (!p->reading) {
        pack_raw(p, b->data, n);
        return;
    }
    buf_init(b);
    buf_add(b, p->at, n);
    p->at += n;
}

static void pack_state(struct pack *p, struct chain_stand *c) {
    pack_text(p, &c->of);
    pack_bool(p, &c->done);
    pack_u64(p, &c->length);
    pack_u64(p, &c->sum);
    pack_u64(p, &c->whole);
    pack_u64(p, &c->whole_sum);
    pack_bytes(p, &c->names);
    pack_u64(p, &c->before);
    pack_bytes(p, &c->output);
    pack_bytes(p, &c->state);
    pack_text(p, &c->moves);
}

bool chain_stand_write(const char *path, struct chain_stand *c) {
    struct pack p;
    struct buf file = BUF_INIT;
    pack_begin_write(&p);
    pack_state(&p, c);
    (void)pack_seal(&p, KIND, &file); /* a session without a key says so */
    bool good = file_write(path, FILE_OURS, file.data, file.len) == GPM_OK;
    if (!good) complain(0, "cannot write '%s': %s", path, file_why());
    buf_release(&file);
    pack_release(&p);
    return good;
}

bool chain_stand_read(const char *path, struct chain_stand *c, struct buf *why) {
    struct buf file = BUF_INIT;
    const char *body;
    size_t n;
    *c = (struct chain_stand){.names = BUF_INIT, .output = BUF_INIT, .state = BUF_INIT};
    if (!file_there(path)) return false;
    bool good = file_read(path, FILE_OURS, SIZE_MAX / 4, &file) == GPM_OK;
    if (!good) buf_puts(why, file_why());
    good = good && pack_open(file.data, file.len, KIND, session_settings().allow_run, &body, &n,
                             why) == GPM_OK;
    if (good) {
        struct pack p;
        pack_begin_read(&p, body, n);
        pack_state(&p, c);
        if (!pack_ok(&p)) buf_puts(why, p.why.data);
        good = pack_ok(&p);
        pack_release(&p);
    }
    buf_release(&file);
    if (!good) chain_stand_release(c);
    return good;
}

bool draws_sum(int fd, uint64_t length, struct sum *sum) {
    char part[1 << 16];
    *sum = (struct sum){0};
    while (sum->n < length) {
        uint64_t left = length - sum->n;
        size_t n = left < sizeof part ? (size_t)left : sizeof part;
        if (!file_before(fd, (size_t)sum->n + n, part, n)) return false;
        sum_add(sum, part, n);
    }
    return true;
}
