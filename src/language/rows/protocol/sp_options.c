/* SPDX-License-Identifier: Apache-2.0
 *
 * See sp_options.h.
 */
#include "language/rows/protocol/sp_options.h"

#include <string.h>

static bool is_agreed(const struct buf *agreed, const char *what) {
    for (size_t i = 0; i < agreed->len; i += strlen(agreed->data + i) + 1)
        if (strcmp(agreed->data + i, what) == 0) return true;
    return false;
}

bool sp_permitted(struct sp_options *o, enum sp_permission p, const char *what) {
    if (!o) return false;
    if (p == SP_MAY_RUN ? o->allow_run : o->allow_write) return true;
    if (!o->confirm) return false;
    if (is_agreed(&o->agreed, what)) return true;
    struct buf question = BUF_INIT;
    buf_puts(&question, "The program wants to ");
    buf_shown(&question, what);
    buf_puts(&question, ". Allow it in this session?");
    bool yes = o->confirm(o->user, question.data);
    if (yes) buf_add(&o->agreed, what, strlen(what) + 1);
    buf_release(&question);
    return yes;
}

enum gpm_status sp_need(struct sp_call *c, enum sp_permission p, const char *verb,
                        const char *object) {
    const char *flag = p == SP_MAY_RUN ? "--allow-run" : "--allow-write";
    if (!(c->cls->touches & (p == SP_MAY_RUN ? SP_RUNS : SP_WRITES)))
        return sp_error(c, DIAG_INTERNAL, "%s does not declare what it touches", c->cls->name);
    struct buf what = BUF_INIT, shown = BUF_INIT;
    enum gpm_status st = GPM_OK;
    buf_printf(&what, "%s %s", verb, object);
    if (!sp_permitted(c->host ? c->host->options : NULL, p, what.data)) {
        buf_shown(&shown, what.data);
        st = sp_error(c, DIAG_DENIED, "not allowed to %s", shown.data);
        diag_set_help(c->diags, "give gpmem the flag %s if you trust the program", flag);
    }
    buf_release(&what);
    buf_release(&shown);
    return st;
}
