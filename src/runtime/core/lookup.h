/* SPDX-License-Identifier: Apache-2.0
 *
 * Where names lead, for every evaluator. Resolution has decided how many frames up a name's slot is
 * (ast.h); what is left depends on the model that asks and on what its directives were made with.
 */
#ifndef CORE_LOOKUP_H
#define CORE_LOOKUP_H
#include "runtime/core/core.h"

struct name_found {
    const value *v;     /* borrowed; NULL: the name is unbound */
    struct slot *slot;  /* it stands in a frame, `from`; `unset`: it has no value yet */
    struct frame *from; /* a global: the frame of the directive that it is part of, if any */
    struct cell *cell;  /* of a node of the model or of a builtin. NULL: a slot, a definition, what
                         * a directive keeps, what belongs to a model around */
};
/* A global name, as if no run were nested; NULL: unbound. */
const value *core_global(struct session_core *core, struct world *w, const struct ast *name,
                         struct frame *f, struct cell **cell);
/* Does a definition of the program go before what the model assumes? A procedure of the program
 * that a model calls (a kernel written there) means its own definitions by the names it uses, save
 * those of the library: what the model assumes under such a name was meant to replace it. */
static inline bool core_own_definition(const struct ast *name, bool defined, bool library) {
    return name->u.name.inference && defined && !library;
}
/* A name whose slot is known without asking anything else. */
static inline bool core_is_slot(const struct session_core *core, const struct ast *name) {
    return name->u.name.depth >= 0 && !name->u.name.global_first && !name->u.name.builtin &&
           !core->nest;
}
enum gpm_status core_find_global(struct session_core *core, struct world *w, const struct ast *name,
                                 struct frame *f, int inner,
                                 struct name_found *out) GPM_MUST_USE; /* for core_find */
/* w: the model that asks, or NULL, a program. f: the frame that holds the name's text, or one that
 * is `inner` frames further out. It fails where a run inside a model (nest.h) may not read what the
 * name stands for. */
static inline enum gpm_status core_find(struct session_core *core, struct world *w,
                                        const struct ast *name, struct frame *f, int inner,
                                        struct name_found *out) {
    if (!core_is_slot(core, name)) return core_find_global(core, w, name, f, inner, out);
    out->from = frame_up(f, name->u.name.depth - inner);
    out->slot = &out->from->s[name->u.name.slot];
    out->cell = NULL;
    out->v = slot_at(out->slot);
    return GPM_OK;
}
enum gpm_status core_early(struct session_core *core, const struct ast *name); /* slot->unset */
/* The error for an unbound name; `names` of the asking model are suggested first. */
enum gpm_status core_unbound(struct session_core *core, struct sym *s, struct span at,
                             const char *const *names, size_t n);
#endif
