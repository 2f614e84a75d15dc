/* SPDX-License-Identifier: Apache-2.0
 *
 * See sp_options.h.
 */
#include "sp/sp_options.h"

bool sp_permitted(struct sp_options *o, enum sp_permission p, const char *what) {
    if (!o) return false;
    bool *allowed = p == SP_MAY_RUN ? &o->allow_run : &o->allow_write;
    if (*allowed || !o->confirm) return *allowed;
    struct buf question = BUF_INIT;
    buf_puts(&question, "The program wants to ");
    buf_shown(&question, what);
    buf_printf(&question, ". Allow %s in this session?",
               p == SP_MAY_RUN ? "running commands" : "writing files");
    *allowed = o->confirm(o->user, question.data);
    buf_release(&question);
    return *allowed;
}

enum gpm_status sp_need(struct sp_call *c, enum sp_permission p, const char *verb,
                        const char *object) {
    const char *flag = p == SP_MAY_RUN ? "--allow-run" : "--allow-write";
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
