/* SPDX-License-Identifier: Apache-2.0
 *
 * Names; see lookup.h. In this order: what the model assumes, what the program defines, builtins.
 * A name means what it means where it was written: of nested models that of its place is asked
 * first, then those around it. What a run was given by the program outside all models is of no
 * model; it sees the one at work first. */
#include "runtime/core/lookup.h"

#include "runtime/core/nest.h"
#include "language/lang/elsewhere.h"
#include "language/rows/protocol/guess.h"

/* What the model of this depth has under the name: as the directive around f was made with it, or
 * now, unless the program's own definition goes before (own). w: the model at work. NULL: nothing.
 * A constant that a directive keeps goes with its frame, and is no cell that others may hold. */
static struct cell *assumed(struct session_core *core, struct world *w, int depth, bool own,
                            const struct ast *name, struct frame *f, struct name_found *out) {
    while (f && !(f->made_with && f->owner == depth + 1)) f = f->parent;
    const struct meaning *m = frame_meaning(f, name->u.name.sym);
    bool variable = m && m->kind == MEANS_VARIABLE;
    struct world *at =
        own || (variable && name->u.name.depth >= 0) ? NULL : nest_world(core, w, depth);
    struct cell *c = m && !variable ? m->cell
                     : at           ? (struct cell *)world_find(at, name->u.name.sym)
                                    : NULL;
    out->from = f;
    out->cell = m && m->kind == MEANS_CONSTANT ? NULL : c;
    out->v = c ? &c->val : NULL;
    return c;
}

static enum gpm_status find_slot(struct session_core *core, const struct ast *name, struct frame *f,
                                 int inner, struct name_found *out) {
    struct frame *from = out->from = frame_up(f, name->u.name.depth - inner);
    struct slot *s = out->slot = &from->s[name->u.name.slot];
    out->v = slot_at(s);
    bool node = s->node && !s->own;
    bool around = node && core->nest && from->owner && from->owner - 1 <= core->nest->depth;
    if (!around) return GPM_OK;
    struct cell *c = (struct cell *)s->node;
    out->slot = NULL;
    return nest_read(core, from->owner - 1, c, name);
}

enum gpm_status core_find_global(struct session_core *core, struct world *w, const struct ast *name,
                                 struct frame *f, int inner, struct name_found *out) {
    uint64_t key = MAP_PTR(name->u.name.sym);
    bool local = name->u.name.depth >= 0 && !name->u.name.builtin;
    int around = core->nest ? core->nest->depth : -1, at = around + (w ? 1 : 0);
    *out = (struct name_found){0};
    if (!name->u.name.builtin) {
        struct define_slot *d = local ? NULL : map_get(&core->defines, key);
        bool own = d && core_own_definition(name, true, d->library);
        if (f && f->lexical && f->lexical - 1 < at) at = f->lexical - 1;
        int last = local ? at - name->u.name.global_first + 1 : 0;
        for (int i = at; i >= last && i >= 0; i--) {
            struct cell *c = assumed(core, w, i, own, name, f, out);
            if (!c) continue;
            if (i > around) return GPM_OK;
            out->cell = NULL;
            return nest_read(core, i, c, name);
        }
        if (local) return find_slot(core, name, f, inner, out);
        if (d) {
            out->v = &d->v;
            return GPM_OK;
        }
    }
    out->cell = map_get(&core->builtins, key);
    if (out->cell) out->v = &out->cell->val;
    return GPM_OK;
}

const value *core_global(struct session_core *core, struct world *w, const struct ast *name,
                         struct frame *f, struct cell **cell) {
    struct nest *nest = core->nest;
    struct name_found x;
    core->nest = NULL;
    if (core_find(core, w, name, f, 0, &x) != GPM_OK) x.v = NULL; /* no run: it cannot fail */
    core->nest = nest;
    *cell = x.cell;
    return x.v;
}

enum gpm_status core_early(struct session_core *core, const struct ast *name) {
    return diag_raise(core->diags, DIAG_LETREC_EARLY, name->span,
                      "`%s` is used before it has a value", name->u.name.sym->text);
}

enum gpm_status core_unbound(struct session_core *core, struct sym *s, struct span at,
                             const char *const *first, size_t n) {
    VEC(const char *) names = {0}; /* the program's names win ties */
    for (size_t i = 0; i < n; i++) vec_push(&names, first[i]);
    for (size_t i = core->define_names.n; i-- > 0;) /* library names come first, so go backwards */
        vec_push(&names, core->define_names.at[i]->text);
    for (size_t i = 0; i < sp_index_count(); i++)
        if (!(sp_index_at(i)->flags & SP_HIDDEN)) vec_push(&names, sp_index_at(i)->name);
    for (size_t i = 0; special_name(i); i++) vec_push(&names, special_name(i));
    const char *near = suggest_nearest(s->text, names.at, names.n);
    const char *here = foreign_name(s->text);
    const struct sp_class *row = here ? sp_index_find(here) : NULL;
    diag_raise(core->diags, DIAG_UNBOUND, at, "the name `%s` is not bound", s->text);
    if (here)
        diag_set_help(core->diags, "it is called `%s` here%s%s%s", here, row ? ": " : "",
                      row ? here : "", row ? row->sig : "");
    else if (near)
        diag_set_help(core->diags, "did you mean `%s`?", near);
    else
        diag_set_help(core->diags,
                      "`assume %s = ...;` binds it in the model, `define %s = ...;` outside it",
                      s->text, s->text);
    vec_release(&names);
    return GPM_E_USER;
}
