/* SPDX-License-Identifier: Apache-2.0
 *
 * See sp_options.h.
 */
#include "sp/sp_options.h"
#include "lang/lex.h"
#include <string.h>

/* Invisible, or moves what stands around it. */
static bool is_control(uint32_t code) {
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0xa0},     {0xad, 0xad},
                                         {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
                                         {0x2028, 0x202f}, {0x205f, 0x206f}, {0xfe00, 0xfe0f},
                                         {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
    return false;
}

void sp_put_shown(struct buf *out, const char *text) {
    for (size_t n = strlen(text); n > 0;) {
        uint32_t code, len = utf8_decode(text, n, &code);
        if (len == 0)
            buf_printf(out, "\\x%02x", (unsigned char)*text);
        else if (is_control(code))
            buf_printf(out, "\\u{%x}", (unsigned)code);
        else if (code == '\\')
            buf_puts(out, "\\\\");
        else
            buf_add(out, text, len);
        text += len ? len : 1;
        n -= len ? len : 1;
    }
}

bool sp_permitted(struct sp_options *o, enum sp_permission p, const char *what) {
    if (!o) return false;
    bool *allowed = p == SP_MAY_RUN ? &o->allow_run : &o->allow_write;
    if (*allowed || !o->confirm) return *allowed;
    struct buf question = BUF_INIT;
    buf_puts(&question, "The program wants to ");
    sp_put_shown(&question, what);
    buf_printf(&question, ". Allow %s in this session?",
               p == SP_MAY_RUN ? "running commands" : "writing files");
    *allowed = o->confirm(o->user, question.data);
    buf_release(&question);
    return *allowed;
}

enum gpm_status sp_need(struct sp_call *c, enum sp_permission p, const char *what) {
    const char *flag = p == SP_MAY_RUN ? "--allow-run" : "--allow-write";
    if (sp_permitted(c->host ? c->host->options : NULL, p, what)) return GPM_OK;
    struct buf shown = BUF_INIT;
    sp_put_shown(&shown, what);
    enum gpm_status st = sp_error(c, DIAG_DENIED, "not allowed to %s", shown.data);
    buf_release(&shown);
    diag_set_help(c->diags, "give gpmem the flag %s if you trust the program", flag);
    return st;
}
