/* SPDX-License-Identifier: Apache-2.0
 *
 * gpm_outline: the names of a text, by the language's own parser.
 */
#include "gpmem/outline.h"
#include "lang/outline.h"

struct adapter {
    void (*each)(void *user, const struct gpm_name_place *place);
    void *user;
};

static void pass_on(void *user, const struct outline_def *def, struct span at) {
    const struct adapter *a = user;
    struct gpm_name_place p = {.name = def->sym->text,
                               .kind = (enum gpm_name_kind)def->kind,
                               .start = at.start,
                               .end = at.end,
                               .def_start = def->at.start,
                               .def_end = def->at.end,
                               .whole_start = def->whole.start,
                               .whole_end = def->whole.end};
    a->each(a->user, &p);
}

enum gpm_status gpm_outline(const char *text, size_t len,
                            void (*each)(void *user, const struct gpm_name_place *place),
                            void *user) {
    struct arena arena;
    struct sym_table syms;
    struct sources sources;
    struct diags diags;
    struct ast *program = NULL;
    struct adapter a = {each, user};
    arena_init(&arena);
    sym_table_init(&syms);
    sources_init(&sources);
    diags_init(&diags, &sources);
    uint32_t unit = sources_add(&sources, "<outline>", text, len);
    enum gpm_status st = parse_program(&arena, NULL, &syms, &diags, unit, false, &program);
    if (st == GPM_OK) outline_walk(text, len, program, pass_on, &a);
    diags_release(&diags);
    sources_release(&sources);
    sym_table_release(&syms);
    arena_release(&arena);
    return st;
}
