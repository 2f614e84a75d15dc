/* SPDX-License-Identifier: Apache-2.0
 *
 * See checkpoint.h. Everything else in a session is rebuilt: the library, compiled code, memos of
 * pure procedures, data for messages. */
#include "front/session/checkpoint.h"

#include "base/clock.h"
#include "base/own.h"
#include "inference/run/infer_pack.h"

#include <string.h>

#define KIND "ckpt"

struct checkpoints {
    checkpoint_fn *keep;
    void *user;
    double seconds;
    bool refused; /* said once: this program cannot be saved, or only so that others might have */
    struct pack read;
    char *data; /* that it reads; owned */
};

/* Definitions of the program, those given from outside with them; the library is in place. */
static void pack_defines(struct pack *p, struct session *s) {
    struct session_core *core = &s->core;
    size_t n = core->define_names.n;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct sym *name = p->reading ? NULL : core->define_names.at[i];
        pack_sym(p, &name);
        struct define_slot *d = p->reading || !name ? NULL : map_get(&core->defines, MAP_PTR(name));
        struct define_slot read = {.v = NIL};
        if (!d) d = &read;
        pack_value(p, &d->v);
        pack_bool(p, &d->library);
        pack_bool(p, &d->data);
        if (!p->reading || !name) continue;
        session_define(s, name->text, read.v);
        struct define_slot *to = map_get(&core->defines, MAP_PTR(name));
        to->library = read.library;
        to->data = read.data;
    }
}

static void pack_session(struct pack *p, struct session *s) {
    infer_pack(p, &s->infer);
    pack_rng(p, &s->core.rng);
    pack_defines(p, s);
    places_pack(p, &s->core);
}

static struct session *session_of(struct session_core *core) {
    return (struct session *)((char *)core - offsetof(struct session, core));
}

/* Said once, where warnings go; the run goes on. */
static void say_refused(struct session *s, const char *what, const char *why) {
    struct buf b = BUF_INIT;
    if (!s->checkpoints->refused && s->infer.write) {
        buf_printf(&b, "gpmem: %s: %s; a run that is stopped begins anew\n", what, why);
        s->infer.write(s->infer.user, 2, b.data, b.len);
    }
    s->checkpoints->refused = true;
    buf_release(&b);
}

static enum gpm_status save(struct session_core *core) {
    static const char refusal[] = "no checkpoint can be written here";
    struct session *s = session_of(core);
    struct checkpoints *c = s->checkpoints;
    double began = clock_seconds();
    struct pack p;
    struct buf file = BUF_INIT;
    pack_begin_write(&p);
    infer_pack_begin(&p, core);
    pack_session(&p, s);
    if (pack_ok(&p)) {
        if (!pack_seal(&p, KIND, &file))
            say_refused(s, "the checkpoints will not be known as this user's", own_why());
        if (!c->keep(c->user, file.data, file.len)) say_refused(s, refusal, "it cannot be kept");
    } else
        say_refused(s, refusal, p.why.data);
    core_pack_end(&p);
    buf_release(&file);
    double took = clock_seconds() - began; /* at most a twentieth of the time goes into them */
    core->places.next =
        c->seconds < 0 ? 0 : clock_seconds() + (c->seconds > 20 * took ? c->seconds : 20 * took);
    return GPM_OK;
}

static struct checkpoints *checkpoints_of(struct session *s) {
    if (!s->checkpoints) s->checkpoints = NEW(struct checkpoints);
    return s->checkpoints;
}

void session_checkpoints(struct session *s, double seconds, checkpoint_fn *keep, void *user) {
    struct checkpoints *c = checkpoints_of(s);
    c->keep = keep;
    c->user = user;
    c->seconds = seconds;
    s->core.places.save = save;
    s->core.places.next = seconds < 0 ? 0 : clock_seconds() + seconds;
}

/* All places have been found. */
static void end_read(struct session_core *core) {
    struct checkpoints *c = session_of(core)->checkpoints;
    if (!c || !c->data) return;
    core->places.from = NULL;
    core_pack_end(&c->read);
    mem_free(c->data);
    c->data = NULL;
}

void session_restore_end(struct session *s) {
    end_read(&s->core);
    mem_free(s->checkpoints);
    s->checkpoints = NULL;
}

enum gpm_status session_restore(struct session *s, const void *data, size_t n, struct buf *why) {
    struct checkpoints *c = checkpoints_of(s);
    const char *body;
    size_t len;
    enum gpm_status st = infer_open(&s->core, data, n, KIND, &body, &len, why);
    if (st != GPM_OK) return st;
    c->data = mem_alloc(len + 1);
    memcpy(c->data, body, len);
    pack_begin_read(&c->read, c->data, len);
    infer_pack_begin(&c->read, &s->core);
    pack_session(&c->read, s);
    if (!pack_ok(&c->read) || !s->core.places.left)
        return buf_fail(why, GPM_E_ARG, "%s",
                        pack_ok(&c->read) ? "it has no place" : c->read.why.data);
    s->core.places.from = &c->read;
    s->core.places.found = end_read;
    return GPM_OK;
}
