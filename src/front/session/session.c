/* SPDX-License-Identifier: Apache-2.0
 *
 * The top level: parses a text and runs its instructions. */
#include "front/session/check.h"
#include "front/session/checkpoint.h"
#include "base/clock.h"
#include "base/file.h"
#include "runtime/core/compile.h"
#include "runtime/core/pure.h"
#include "inference/run/dataset.h"
#include "inference/run/infer_pack.h"
#include "inference/run/progress.h"
#include "language/rows/source/srcfn.h"
#include "language/rows/protocol/sp_options.h"
#include "runtime/core/lookup.h"
#include "runtime/core/call_form.h"

#include <stdlib.h>
#include <string.h>

extern const char embed_prelude_vnts[];
extern const unsigned long embed_prelude_vnts_len;

static enum gpm_status host_apply(struct sp_host *h, value proc, const value *args, size_t n,
                                  value *out) {
    return plain_apply(core_of_host(h), proc, args, n, NO_SPAN, out);
}

static enum gpm_status host_density(struct sp_host *h, value proc, const value *args, size_t n,
                                    value v, double *out) {
    return plain_density(core_of_host(h), proc, args, n, v, NO_SPAN, out);
}

static enum gpm_status host_poll(struct sp_host *h) {
    return core_poll(core_of_host(h), NO_SPAN);
}

/* The code of a compound procedure: what a memo store knows it by. */
static void host_describe(struct sp_host *h, value proc, struct buf *out) {
    struct memo_proc *m = memo_of(proc);
    struct closure *c = closure_of(m ? m->proc : proc);
    if (c)
        ast_print(c->lambda, out);
    else
        value_print(m ? m->proc : proc, out);
}

/* What programs print goes where the session's own lines go, so that they stay in order. */
static void host_print(struct sp_host *h, const char *text, size_t n) {
    infer_write(infer_of(core_of_host(h)), text, n);
}

enum gpm_status session_init(struct session *s, uint64_t seed, uint32_t chain) {
    memset(s, 0, sizeof *s);
    s->diags.sources = &s->sources;
    struct session_core *core = &s->core;
    core->syms = &s->syms;
    core->diags = &s->diags;
    core->limits.stop = &s->interrupted;
    core->host.apply = host_apply;
    core->host.poll = host_poll;
    core->host.density = host_density;
    core->host.print = host_print;
    core->host.describe = host_describe;
    core->host.numeric = compile_numeric;
    core->host.syms = &s->syms;
    rng_init(&core->rng, seed, chain, 0);
    core_init(core);
    infer_state_init(&s->infer, core);
    s->printing = false;
    enum gpm_status st = session_run(s, "<prelude>", embed_prelude_vnts, embed_prelude_vnts_len);
    s->printing = true;
    for (size_t i = 0; i < core->define_names.n; i++) {
        const struct define_slot *d = map_get(&core->defines, MAP_PTR(core->define_names.at[i]));
        vec_push(&core->library, value_ref(d->v));
    }
    return st;
}

void session_release(struct session *s) {
    session_restore_end(s);
    vec_release(&s->loading.paths);
    infer_state_release(&s->infer);
    core_release(&s->core);
    diags_release(&s->diags);
    sources_release(&s->sources);
    sym_table_release(&s->syms);
}

void session_define(struct session *s, const char *name, value v_taken) {
    struct sym *y = sym_cstr(&s->syms, name);
    struct define_slot *d = map_get(&s->core.defines, MAP_PTR(y));
    if (!d) {
        d = NEW(struct define_slot);
        map_put(&s->core.defines, MAP_PTR(y), d);
        vec_push(&s->core.define_names, y);
    }
    value_set_take(&d->v, v_taken);
    s->core.defined = ++s->core.stamps;
    d->library = !s->printing; /* the prelude is loaded silently */
}

/* The value of an instruction, as people or as programs read it. */
static void print_value(struct session *s, value v) {
    if (!s->printing || (!s->infer.write && !s->infer.show)) return;
    struct buf b = BUF_INIT;
    if (s->json)
        value_print_json(v, &b);
    else
        value_print(v, &b);
    buf_putc(&b, '\n');
    infer_present(&s->infer, &b, NULL, NULL);
    buf_release(&b);
}

static enum gpm_status run_instruction(struct session *s, const struct ast *a, struct frame *f);

/* Where an instruction stands: in the action that its expression gave. */
struct instruction_place {
    struct session *s;
    value v;
    bool resumed;
};

/* The copy of a guard is not kept: where the process that goes on from here fails, the model stays
 * as it is then. */
static void pack_instruction(struct pack *p, void *ctx) {
    struct instruction_place *in = ctx;
    struct guard *g = &in->s->infer.guard;
    g->state = (enum guard_state)pack_choice(p, g->state, GUARD_COPY + 1);
    pack_bool(p, &in->s->infer.wrote);
    pack_value(p, &in->v);
}

/* x = run(directive): nothing can fail after the directive. */
static bool runs_one_directive(const struct ast *define) {
    const struct ast *e = define->kids[0];
    return define->u.bind.n_names <= 1 && e->kind == AST_CALL && e->n == 2 &&
           e->kids[0]->kind == AST_NAME && !strcmp(e->kids[0]->u.name.sym->text, "run") &&
           e->kids[1]->kind == AST_DIRECTIVE;
}

/* After an instruction: memory that ran short takes it back, where that is possible. A directive or
 * a single transition that has come to its end stands; then the next instruction is refused. */
static enum gpm_status memory_after(struct session *s, const struct ast *a, bool changed) {
    return changed && !s->infer.guard.copy.n ? GPM_OK : core_check_memory(&s->core, a->span);
}

/* Data are what was given, not what the program says. */
static enum gpm_status check_no_data(struct session *s, const struct ast *define) {
    for (uint32_t i = 0; i < define->u.bind.n_names; i++) {
        struct sym *name = define->u.bind.names[i];
        const struct define_slot *d = map_get(&s->core.defines, MAP_PTR(name));
        if (!d || !d->data) continue;
        diag_raise(&s->diags, DIAG_DUPLICATE_NAME, define->span,
                   "`%s` is data that the program was given; it cannot be defined again",
                   name->text);
        return diag_set_help(&s->diags, "run the program without --data, or leave the line out");
    }
    return GPM_OK;
}

/* The model may read the name: what it was made with stays. */
static enum gpm_status define_name(struct session *s, struct sym *name, value v_taken,
                                   struct span at) {
    const struct define_slot *d = map_get(&s->core.defines, MAP_PTR(name));
    enum gpm_status st = GPM_OK;
    particles *p = &s->infer.model->p;
    for (size_t i = 0; st == GPM_OK && i < p->n && !(d && value_equal(d->v, v_taken)); i++)
        st = trace_change_name(p->at[i], name, true, at);
    if (st == GPM_OK)
        session_define(s, name->text, v_taken);
    else
        value_unref(v_taken);
    return st;
}

/* x = run(action), by the builtin. */
static bool runs_action(struct session *s, const struct ast *define) {
    const struct ast *e = define->kids[0];
    struct cell *cell;
    if (e->kind != AST_CALL || e->n != 2 || e->u.call.kw || e->kids[0]->kind != AST_NAME ||
        e->kids[0]->u.name.depth >= 0)
        return false;
    const value *run = core_global(&s->core, NULL, e->kids[0], NULL, &cell);
    return run && core_special(*run) == SPECIAL_RUN;
}

/* The same as the evaluator does, at a place from which it can go on. */
static enum gpm_status run_defining(struct session *s, const struct ast *call, struct frame *f,
                                    struct instruction_place *in, value *out) {
    enum gpm_status st = core_poll(&s->core, call->span);
    if (st == GPM_OK && !in->resumed) st = plain_eval(&s->core, call->kids[1], f, &in->v);
    if (st != GPM_OK) return st;
    place_hand(&s->core);
    st = action_run(&s->core, in->v, call->span, out);
    place_take(&s->core);
    value_set_take(&in->v, NIL);
    return st;
}

static enum gpm_status run_define(struct session *s, const struct ast *a, struct frame *f,
                                  struct instruction_place *in) {
    value v;
    enum gpm_status given = check_no_data(s, a);
    if (given != GPM_OK) return given;
    if (!in->resumed) guard_whole(&s->infer, runs_one_directive(a));
    enum gpm_status st = runs_action(s, a) ? run_defining(s, a->kids[0], f, in, &v)
                                           : plain_eval(&s->core, a->kids[0], f, &v);
    if (st != GPM_OK) return st;
    st = memory_after(s, a, runs_one_directive(a));
    if (st != GPM_OK) {
        value_unref(v);
        return st;
    }
    size_t n = a->u.bind.n_names;
    if (n <= 1) return define_name(s, a->u.bind.names[0], v, a->span);
    size_t k;
    if (!seq_length(v, &k) || k != n) st = core_wrong_parts(&s->core, v, n, a->span);
    struct seq_walk w = {v, 0};
    value item;
    for (size_t i = 0; st == GPM_OK && seq_next(&w, &item); i++)
        st = define_name(s, a->u.bind.names[i], value_ref(item.tag == V_REF ? item.u.ref->v : item),
                         a->span);
    value_unref(v);
    return st;
}

/* A let form in the body of a loop: the round keeps its own value, the program the last one. */
static enum gpm_status run_loop_let(struct session *s, const struct ast *a, struct frame *f) {
    enum gpm_status st = plain_let(&s->core, a, f);
    for (uint32_t i = 0; st == GPM_OK && i < a->u.bind.n_names; i++)
        st = define_name(s, a->u.bind.names[i], value_ref(f->s[a->u.bind.slot + i].v), a->span);
    return st;
}

/* Where a loop stands: before a round whose variable has the value v, or in the round of the frames
 * before instruction i. */
struct for_place {
    value v;
    struct frame *loop, *inner; /* inner NULL: between two rounds */
    uint32_t i;
};

static void pack_for(struct pack *p, void *ctx) {
    struct for_place *l = ctx;
    pack_value(p, &l->v);
    pack_frame(p, &l->loop);
    pack_frame(p, &l->inner);
    pack_u32(p, &l->i);
}

/* Begins a round, if there is one more. */
static enum gpm_status begin_round(struct session *s, const struct ast *a, struct frame *f,
                                   struct for_place *l, bool *go) {
    /* a frame per round: model expressions keep the value they were written with */
    struct frame *round = frame_new(&s->core, f, 1, a->u.bind.names, a->code);
    round->s[0].v = l->v;
    l->v = NIL;
    frame_unref(l->loop);
    l->loop = round;
    value c;
    enum gpm_status st = plain_eval(&s->core, a->kids[1], l->loop, &c);
    if (st != GPM_OK) return st;
    st = core_truth(&s->core, c, a->kids[1]->span, go);
    value_unref(c);
    if (st != GPM_OK || !*go) return st;
    const struct ast *body = a->kids[3];
    l->i = 0;
    l->inner = body->u.block.n_slots ? frame_new(&s->core, l->loop, body->u.block.n_slots,
                                                 body->u.block.slot_names, body->code)
                                     : frame_ref(l->loop);
    return st;
}

/* The loop runs instructions, not expressions: each is guarded by itself, and what a round has done
 * stands when a later one fails. */
static enum gpm_status run_for(struct session *s, const struct ast *a, struct frame *f) {
    struct for_place l = {.v = NIL};
    struct waypoint here = {PLACE_FOR, pack_for, &l, NULL, false};
    enum gpm_status st = GPM_OK;
    bool resumed = place_enter(&s->core, &here), go = resumed && l.inner;
    if (!resumed) st = plain_eval(&s->core, a->kids[0], f, &l.v);
    while (st == GPM_OK) {
        if (!go) st = place_point(&s->core, &here, a->span);
        if (st == GPM_OK && !go) st = begin_round(s, a, f, &l, &go);
        if (st != GPM_OK || !go) break;
        const struct ast *body = a->kids[3];
        for (; st == GPM_OK && l.i < body->n; l.i++) {
            place_hand(&s->core);
            st = run_instruction(s, body->kids[l.i], l.inner);
        }
        frame_unref(l.inner);
        l.inner = NULL;
        go = false;
        if (st == GPM_OK) st = core_poll(&s->core, a->span);
        if (st == GPM_OK) st = plain_eval(&s->core, a->kids[2], l.loop, &l.v);
    }
    place_leave(&s->core, &here);
    value_unref(l.v);
    frame_unref(l.loop);
    return st;
}

static enum gpm_status read_file(struct session *s, const char *path, struct span at,
                                 struct buf *out) {
    struct sp_options *o = s->core.host.options;
    if (o && o->file) o->file(o->file_user, path);
    enum gpm_status st = file_read(path, FILE_GIVEN, FILE_TEXT_MAX, out);
    if (st != GPM_OK) {
        enum diag_code code = st == GPM_E_INTERRUPT ? DIAG_INTERRUPTED
                              : st == GPM_E_LIMIT   ? DIAG_LIMIT
                                                    : DIAG_FILE;
        st = diag_raise(&s->diags, code, at, "cannot read %s: %s", path, file_why());
    }
    return st;
}

enum { LOADS_DEEP = 50 }; /* each takes part of the stack */

/* What has no real path is no file, and counts by its name. */
enum gpm_status session_load_enter(struct session *s, struct loads *l, const char *path,
                                   struct span at) {
    char *full = realpath(path, NULL), *name = mem_strdup(full ? full : path);
    free(full);
    bool ring = l->paths.n >= LOADS_DEEP;
    for (size_t i = 0; i < l->paths.n && !ring; i++) ring = !strcmp(l->paths.at[i], name);
    if (!ring) {
        vec_push(&l->paths, name);
        return GPM_OK;
    }
    mem_free(name);
    return diag_raise(&s->diags, DIAG_LIMIT, at, "files load each other without end: %s", path);
}

void session_load_leave(struct loads *l) {
    mem_free(vec_pop(&l->paths));
}

/* Paths in the file are relative to it: while it runs, its folder is that of the host. */
enum gpm_status session_run_file(struct session *s, const char *path, struct span at) {
    struct buf text = BUF_INIT;
    struct sp_call call = {.host = &s->core.host};
    char *full = srcfn_path(&call, path);
    enum gpm_status st = session_load_enter(s, &s->loading, full, at);
    bool entered = st == GPM_OK;
    if (st == GPM_OK) st = read_file(s, full, at, &text);
    if (st == GPM_OK) {
        const char *slash = strrchr(full, '/'), *outer = s->core.host.folder;
        char *folder = slash ? mem_strndup(full, (size_t)(slash - full) + 1) : NULL;
        s->core.host.folder = folder;
        st = session_run(s, full, text.data, text.len);
        s->core.host.folder = outer;
        mem_free(folder);
    }
    if (entered) session_load_leave(&s->loading);
    buf_release(&text);
    mem_free(full);
    return st;
}

/* Does it only change the model: a directive, or an if whose branches end in such ones? There pass
 * stands for nothing to be done; a block of its own shows what it gives. */
static bool only_changes(const struct ast *a, bool inside) {
    switch (a->kind) {
    case AST_DIRECTIVE:
        return a->u.dir.kind == DIR_ASSUME || a->u.dir.kind == DIR_OBSERVE ||
               a->u.dir.kind == DIR_FORCE || a->u.dir.kind == DIR_INFER;
    case AST_IF: return only_changes(a->kids[1], true) && only_changes(a->kids[2], true);
    case AST_BLOCK: return inside && a->n && only_changes(a->kids[a->n - 1], true);
    case AST_NAME: return inside && !strcmp(a->u.name.sym->text, "pass");
    default: return false;
    }
}

/* Draws without a receiver that the program leaves at its end are summarised. */
static bool leaves_draws(const struct session *s, const struct ast *a, value v) {
    const struct dataset *d = dataset_of(v);
    return a == s->last && s->printing && !s->infer.draw && !s->infer.wrote && d &&
           dataset_rows(d) > 1;
}

/* An action is run, and shown is what it gives; of a directive that only changes the model nothing
 * is shown, nor the empty list of one that printed itself. */
static enum gpm_status run_expression(struct session *s, const struct ast *a, struct frame *f,
                                      struct instruction_place *in) {
    value v = in->v;
    enum gpm_status st = GPM_OK;
    if (!in->resumed) {
        s->infer.wrote = false;
        st = plain_eval(&s->core, a, f, &v);
    }
    in->v = v; /* borrowed from here on */
    if (st != GPM_OK) return st;
    value r = NIL;
    bool action = action_of(v);
    if (!in->resumed) guard_whole(&s->infer, action);
    place_hand(&s->core);
    if (action) st = action_run(&s->core, v, a->span, &r);
    place_take(&s->core);
    if (st == GPM_OK) {
        st = memory_after(s, a, action);
        value shown = action ? r : v;
        bool said = (action && only_changes(a, false)) || (s->infer.wrote && shown.tag == V_NIL);
        if (st == GPM_OK && leaves_draws(s, a, shown))
            dataset_summarise(&s->infer, dataset_of(shown), s->json);
        else if (st == GPM_OK && !said)
            print_value(s, shown);
        if (action) value_unref(r);
    }
    value_unref(v);
    return st;
}

/* A change that fails half way (an action that runs several others) is taken back whole. */
typedef enum gpm_status runner(struct session *s, const struct ast *a, struct frame *f,
                               struct instruction_place *in);

static enum gpm_status run_guarded(struct session *s, runner *run, const struct ast *a,
                                   struct frame *f) {
    struct instruction_place in = {.s = s, .v = NIL};
    struct waypoint here = {PLACE_INSTRUCTION, pack_instruction, &in, NULL, false};
    guard_begin(&s->infer);
    in.resumed = place_enter(&s->core, &here);
    enum gpm_status st = run(s, a, f, &in);
    place_leave(&s->core, &here);
    st = core_check_cut(&s->core, st, a->span);
    if (st == GPM_OK) st = core_check_sound(&s->core, a->span);
    s->core.unsound = NULL;
    s->infer.at = a->span;
    enum gpm_status closed = infer_close(&s->infer, st == GPM_OK);
    if (st == GPM_OK) st = closed;
    guard_end(&s->infer, st == GPM_OK);
    return st;
}

static bool covers(struct span outer, struct span inner) {
    return outer.unit == inner.unit && outer.start <= inner.start && inner.end <= outer.end;
}

/* An error met while an instruction ran may lie in another one (inference in a model assumed
 * earlier): the message then shows both. That an operator cannot be used (E05..) is said of the
 * operator; the choice is a label. */
void session_show_instruction(struct session *s, const struct ast *a) {
    struct diag *d = s->diags.list.n ? vec_last(&s->diags.list) : NULL;
    if (!d || d->warning || d->at.unit == NO_SPAN_UNIT || covers(a->span, d->at)) return;
    for (int kind = 0; kind < DIAG_KINDS; kind++)
        for (size_t i = 0; i < d->parts[kind].n; i++)
            if (covers(a->span, d->parts[kind].at[i].at)) return;
    if (strncmp(diag_code_text(d->code), "E05", 3) == 0 && a->kind != AST_LOAD) {
        struct span choice = d->at;
        d->at = a->kind == AST_DIRECTIVE ? a->kids[0]->span : a->span;
        diag_add_label(&s->diags, choice,
                       d->code == DIAG_NO_GRADIENT ? "this expression" : "this choice");
        return;
    }
    diag_add_label(&s->diags, a->span, a->kind == AST_LOAD ? "loaded here" : "while this was run");
}

/* `data n, y;` names what the program must be given. */
void session_help_data(struct session *s, const struct ast *a) {
    struct diag *d = s->diags.list.n ? vec_last(&s->diags.list) : NULL;
    bool declares = a && a->kind == AST_DEFINE && a->u.bind.n_names == 1 &&
                    !strcmp(a->u.bind.names[0]->text, DATA_NAMES);
    if (!declares || !d || d->code != DIAG_UNBOUND) return;
    const struct define_slot *all = map_get(&s->core.defines, MAP_PTR(sym_cstr(&s->syms, "data")));
    struct buf names = BUF_INIT;
    for (size_t i = 0; all && all->data && i < all->v.u.dict->n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", all->v.u.dict->kv[2 * i].u.str->text);
    if (names.len)
        diag_set_help(&s->diags, "the data that were given have the names %s", names.data);
    else
        diag_set_help(&s->diags, "give the data: `gpmem run --data FILE.json`, or data= of run");
    buf_release(&names);
}

/* The call that has the name at this place as its operand number *i, 0: as its procedure. */
static const struct ast *call_of(const struct ast *a, struct span at, uint32_t *i) {
    const struct ast *found = NULL;
    for (uint32_t k = 0; k < a->n && !found; k++) {
        const struct ast *kid = a->kids[k];
        if (!kid) continue;
        *i = k;
        if (a->kind == AST_CALL && kid->kind == AST_NAME && kid->span.unit == at.unit &&
            kid->span.start == at.start)
            return a;
        found = call_of(kid, at, i);
    }
    return found;
}

/* Those that move a block, by one name each. */
static void note_operators(struct session *s) {
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < sp_index_count(); i++) {
        const struct infer_op *op = infer_op_of(sp_index_at(i));
        if (!op || !op->step || !op->block || !strncmp(op->doc, "the same as", 11)) continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", op->name);
    }
    diag_add_note(&s->diags, "operators that move choices: sample, %s", names.data);
    buf_release(&names);
}

/* Newcomers type names of the model in the inference program, and operators of other programs. */
void session_help_unbound(struct session *s, const struct ast *a, const struct sym *of_model) {
    uint32_t i = 1;
    const struct diag *d = s->diags.list.n ? vec_last(&s->diags.list) : NULL;
    const struct ast *call = a && d ? call_of(a, d->at, &i) : NULL;
    const struct ast *callee = call && call->kids[0]->kind == AST_NAME ? call->kids[0] : NULL;
    const struct sp_class *cls = callee ? sp_index_find(callee->u.name.sym->text) : NULL;
    const char *name = of_model ? of_model->text : NULL;
    if (name && i == 1 && cls && infer_op_of(cls) && infer_op_of(cls)->block)
        diag_set_help(&s->diags,
                      "operators name scopes: `assume %s = tag(\"%s\", 0, ...)` puts a choice into "
                      "the scope \"%s\"; default holds every choice",
                      name, name, name);
    else if (name)
        diag_set_help(&s->diags, "`%s` belongs to the model: sample %s gives its value there", name,
                      name);
    else if (call && i == 0 && a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_INFER)
        note_operators(s);
}

static void help_with_unbound(struct session *s, const struct ast *a) {
    struct diag *d = s->diags.list.n ? vec_last(&s->diags.list) : NULL;
    if (!d || d->code != DIAG_UNBOUND || d->at.unit == NO_SPAN_UNIT) return;
    const struct source *u = s->sources.units.at[d->at.unit];
    if (d->at.end > u->len) return;
    const char *text = u->text + d->at.start;
    struct sym *name = sym_intern(&s->syms, text, d->at.end - d->at.start);
    bool of_model = world_find(&s->infer.model->p.at[0]->world, name);
    session_help_unbound(s, a, of_model ? name : NULL);
}

static enum gpm_status run_one(struct session *s, const struct ast *a, struct frame *f) {
    switch (a->kind) {
    case AST_DEFINE: return run_guarded(s, run_define, a, f);
    case AST_LET:
    case AST_LETREC: place_take(&s->core); return run_loop_let(s, a, f);
    case AST_FOR: return run_for(s, a, f);
    case AST_LOAD: {
        char *path = mem_strndup(a->u.string.text, a->u.string.len);
        enum gpm_status st = session_run_file(s, path, a->span);
        mem_free(path);
        return st;
    }
    default: return run_guarded(s, run_expression, a, f);
    }
}

static enum gpm_status run_instruction(struct session *s, const struct ast *a, struct frame *f) {
    core_collect(&s->core);
    enum gpm_status st = core_check_memory(&s->core, a->span);
    if (st == GPM_OK) st = run_one(s, a, f);
    if (st != GPM_OK) {
        session_show_instruction(s, a);
        help_with_unbound(s, a);
        session_help_data(s, a);
    }
    return st;
}

/* What a verbose session says after each instruction: where it stands, how long it took, which
 * share of the proposals was accepted, how large the model is. */
struct explanation {
    double started;
    struct scope_stats *stats; /* as they were; owned */
    size_t n;
};

static void explain_begin(const struct session *s, struct explanation *e) {
    *e = (struct explanation){0};
    if (!s->verbose) return;
    e->n = s->infer.n_stats;
    e->stats = NEW_ARRAY(struct scope_stats, e->n + 1);
    if (e->n) memcpy(e->stats, s->infer.stats, e->n * sizeof *e->stats);
    e->started = clock_seconds();
}

/* The instruction's first line, cut to 60 bytes at a whole character. */
static void quote_text(const struct session *s, struct span at, struct buf *out) {
    const struct source *u = s->sources.units.at[at.unit];
    const char *text = u->text + at.start;
    size_t len = strcspn(text, "\n"), most = at.end - at.start;
    bool cut = len < most;
    if (len > most) len = most;
    if (len > 60) {
        cut = true;
        for (len = 60; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;) len--;
    }
    buf_add(out, text, len);
    if (cut) buf_puts(out, " ...");
}

static void explain_end(struct session *s, struct explanation *e, const struct ast *a,
                        enum gpm_status st) {
    struct infer_state *x = &s->infer;
    struct buf b = BUF_INIT, accepted = BUF_INIT;
    unsigned line = 0, column = 0;
    if (s->verbose && x->write && st == GPM_OK) {
        sources_locate(&s->sources, a->span, &line, &column);
        buf_printf(&b, "%s:%u: ", s->sources.units.at[a->span.unit]->name, line);
        quote_text(s, a->span, &b);
        buf_printf(&b, "\n    %.3f s", clock_seconds() - e->started);
        acceptance_text(x, e->stats, e->n, &accepted);
        if (accepted.len) buf_printf(&b, ", accepted: %s", accepted.data);
        const struct trace *t = x->model->p.at[0];
        buf_printf(&b, ", %llu nodes, %zu free choices", (unsigned long long)t->n_nodes,
                   t->choices.n);
        if (x->model->p.n > 1) buf_printf(&b, " in each of %zu particles", x->model->p.n);
        buf_putc(&b, '\n');
        x->write(x->user, 2, b.data, b.len);
    }
    buf_release(&b);
    buf_release(&accepted);
    mem_free(e->stats);
}

/* The outermost text is checked with all that it loads; the library was, once for all. */
static enum gpm_status check_first(struct session *s, const struct ast *program) {
    if (!s->printing || s->running) return GPM_OK;
    enum gpm_status st = session_check_program(s, program, s->loading.paths.n > 0, false);
    if (st == GPM_OK && s->warn && s->diags.list.n) s->warn(s->warn_user);
    return st;
}

/* Where a text stands: at instruction i. */
struct program_place {
    struct code *code; /* owned */
    uint32_t i;
};

static void pack_program(struct pack *p, void *ctx) {
    struct program_place *at = ctx;
    pack_code(p, &at->code);
    if (p->reading) code_ref(at->code);
    pack_u32(p, &at->i);
    if (at->code && at->i > at->code->root->n) pack_fail(p, "the program is shorter");
}

/* A checkpoint brings its program along: it goes on in that alone. */
static enum gpm_status check_same(struct session *s, const struct code *code, const char *name,
                                  const char *text, size_t len) {
    const struct source *was = s->sources.units.at[code->unit];
    if (was->len == len && memcmp(was->text, text, len) == 0) return GPM_OK;
    if (s->core.places.from) s->core.places.found(&s->core);
    struct span at = {.unit = sources_add(&s->sources, name, text, len)};
    diag_raise(&s->diags, DIAG_DATA, at,
               "the checkpoint is of another program, or of this one before it was changed");
    return diag_set_help(&s->diags,
                         "run the program that it was written by, or begin anew without it");
}

enum gpm_status session_run(struct session *s, const char *name, const char *text, size_t len) {
    struct program_place at = {0};
    struct waypoint here = {PLACE_PROGRAM, pack_program, &at, NULL, false};
    struct ast *program;
    enum gpm_status st = GPM_OK;
    bool outer = s->running, resumed = place_enter(&s->core, &here) && at.code;
    if (resumed) {
        program = at.code->root;
        st = check_same(s, at.code, name, text, len);
    } else {
        code_unref(at.code);
        st = core_parse(&s->core, name, text, len, false, &at.code, &program);
    }
    if (st != GPM_OK) {
        place_leave(&s->core, &here);
        if (resumed) code_unref(at.code);
        return st;
    }
    if (!resumed) st = check_first(s, program);
    s->running = true;
    if (!resumed) infer_note_scopes(&s->infer, program);
    for (; at.i < program->n && st == GPM_OK; at.i++, resumed = false) {
        struct explanation e;
        if (!resumed) st = place_point(&s->core, &here, program->kids[at.i]->span);
        if (st != GPM_OK) break;
        explain_begin(s, &e);
        if (!outer) s->last = at.i + 1 == program->n ? program->kids[at.i] : NULL;
        place_hand(&s->core);
        st = run_instruction(s, program->kids[at.i], NULL);
        explain_end(s, &e, program->kids[at.i], st);
    }
    place_leave(&s->core, &here);
    s->running = outer;
    if (!outer) s->last = NULL;
    code_unref(at.code);
    return st;
}

enum gpm_status session_check(struct session *s, const char *name, const char *text, size_t len,
                              bool interactive) {
    struct code *code;
    struct ast *program;
    enum gpm_status st = core_parse(&s->core, name, text, len, interactive, &code, &program);
    if (st != GPM_OK) return st;
    if (interactive) {
        code_unref(code);
        return st;
    }
    const char *slash = strrchr(name, '/'), *outer = s->core.host.folder;
    char *folder = slash ? mem_strndup(name, (size_t)(slash - name) + 1) : NULL;
    s->core.host.folder = folder;
    st = session_check_program(s, program, true, true);
    s->core.host.folder = outer;
    code_unref(code);
    mem_free(folder);
    return st;
}
