/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's core, shared by both evaluators: limits, checks of calls, keyword arguments.
 *
 * A call of a primitive goes the same way in both evaluators: operator and operands are evaluated;
 * keywords say where each operand belongs, and empty places are closed or refused
 * (core_place_keywords); the signature checks what stands there (core_check_call);
 * then the row's function runs, and a diagnostic that it raised gets the place of the call
 * (core_place), which rows do not know.
 *
 * Limits are checked only between evaluations (core_poll). An instruction that hits one therefore
 * ends at a point where its guard can undo it. */
#include "runtime/core/plain.h"
#include "base/clock.h"
#include "base/stop.h"
#include "runtime/core/compile.h"
#include "runtime/core/pure.h"
#include "language/lang/elsewhere.h"
#include "language/rows/protocol/guess.h"

#include <string.h>
#include <time.h>

struct cell *cell_new(value v_taken) {
    struct cell *c = mem_zalloc(sizeof *c);
    c->val = v_taken;
    return c;
}

void cell_free(struct cell *c) {
    value_unref(c->val);
    mem_free(c);
}

void core_bind_builtin(struct session_core *core, const char *name, value v_taken) {
    struct sym *s = sym_cstr(core->syms, name);
    struct cell *old = map_get(&core->builtins, MAP_PTR(s));
    if (old) cell_free(old);
    map_put(&core->builtins, MAP_PTR(s), cell_new(v_taken));
}

void core_init(struct session_core *core) {
    core->collect_at = 1000;
    for (size_t i = 0; i < sp_index_count(); i++)
        core_bind_builtin(core, sp_index_at(i)->name, sp_builtin_value(i));
    core_bind_builtin(core, "nil", NIL);
    core_bind_builtin(core, "pi", value_num(3.14159265358979323846));
}

/* Definitions go first: they hold closures, which hold frames. Frames hold code through their
 * names, and code holds literals, so texts follow. By then nothing refers to builtins. */
void core_release(struct session_core *core) {
    compile_release(core);
    for (size_t i = 0; i < core->defines.cap; i++) {
        struct define_slot *d = core->defines.slots[i].val;
        if (!d) continue;
        value_unref(d->v);
        mem_free(d);
    }
    map_release(&core->defines);
    vec_release(&core->define_names);
    for (size_t i = 0; i < core->library.n; i++) value_unref(core->library.at[i]);
    vec_release(&core->library);
    frames_free_all(core);
    for (size_t i = 0; i < core->texts.n; i++) code_unref(core->texts.at[i]);
    vec_release(&core->texts);
    for (size_t i = 0; i < core->builtins.cap; i++)
        if (core->builtins.slots[i].val) cell_free(core->builtins.slots[i].val);
    map_release(&core->builtins);
    for (size_t i = 0; i < core->sigs.cap; i++) mem_free(core->sigs.slots[i].val);
    map_release(&core->sigs);
}

/* The allocator ran out since the run began and the reserve was used: stop. */
enum gpm_status core_check_memory(struct session_core *core, struct span at) {
    if (!core->watch_memory || mem_shortages() == core->shortages) return GPM_OK;
    diag_raise(core->diags, DIAG_LIMIT, at, "out of memory");
    return diag_set_help(core->diags,
                         "the instruction was taken back; --max-memory stops a program before "
                         "the machine's memory is used up");
}

void core_must(struct session_core *core, enum gpm_status st, const char *what) {
    if (st != GPM_OK && !core->unsound) core->unsound = what;
}

enum gpm_status core_check_sound(struct session_core *core, struct span at) {
    const char *what = core->unsound;
    if (!what) return GPM_OK;
    core->unsound = NULL;
    diag_raise(core->diags, DIAG_INTERNAL, at, "internal error: %s", what);
    return diag_set_help(core->diags, "this is a mistake of gpmem, not of the program it runs; the "
                                      "instruction was taken back where it could be");
}

static enum gpm_status end_run(struct session_core *core, enum work_end why, struct span at) {
    switch (why) {
    case WORK_GOES_ON: return GPM_OK;
    case WORK_STOPPED: return diag_raise(core->diags, DIAG_INTERRUPTED, at, "interrupted");
    case WORK_LARGE:
        return diag_raise(core->diags, DIAG_LIMIT, at,
                          "the memory limit (--max-memory) was reached");
    default:
        return diag_raise(core->diags, DIAG_LIMIT, at, "the time limit (--max-time) was reached");
    }
}

enum gpm_status core_stop(struct session_core *core, struct span at) {
    return end_run(core, stop_asked(core->limits.stop) ? WORK_STOPPED : WORK_LATE, at);
}

/* An abandoned walk reports this error alone, since values computed after it are meaningless. */
enum gpm_status core_check_cut(struct session_core *core, enum gpm_status st, struct span at) {
    enum work_end why = work_was_cut(&core->limits);
    if (!why) return st;
    struct diags *d = core->diags;
    core->unsound = NULL;
    if (st != GPM_OK && d->list.n && !vec_last(&d->list)->warning) diags_rewind(d, d->list.n - 1);
    return end_run(core, why, at);
}

/* Cheap checks run at every call; the clock and the process size are checked at some. The guard
 * undoes an instruction that ends here, so this may be called anywhere between evaluations. */
enum gpm_status core_poll(struct session_core *core, struct span at) {
    const char here = 0;
    if (core->limits.cut && !core->limits.taken) return core_check_cut(core, GPM_OK, at);
    if (core->unsound) return core_check_sound(core, at);
    if (core->stack_limit && &here < core->stack_limit) {
        diag_raise(core->diags, DIAG_RECURSION, at, "the recursion is too deep");
        return diag_set_help(core->diags, "does every recursive call come closer to a base case? "
                                          "--max-depth raises the limit");
    }
    if (stop_asked(core->limits.stop) && !place_waits(core)) return core_stop(core, at);
    if (core->watch_memory && mem_shortages() != core->shortages)
        return core_check_memory(core, at);
    if (core->limits.max_memory && (++core->memory_tick & 31) == 0 &&
        mem_held(core->limits.max_memory) > core->limits.max_memory)
        return end_run(core, WORK_LARGE, at);
    if (core->limits.deadline > 0 && (++core->tick & 63) == 0 &&
        clock_seconds() > core->limits.deadline && !place_waits(core))
        return core_stop(core, at);
    return GPM_OK;
}

/* Frees texts without references from procedures, actions, frames, models or messages. Runs when
 * their number has doubled. */
static void drop_texts(struct session_core *core) {
    size_t n = 0;
    if (core->texts.n < core->drop_at || core->diags->list.n) return;
    for (size_t i = 0; i < core->texts.n; i++) {
        struct code *k = core->texts.at[i];
        if (k->refs > 1) {
            core->texts.at[n++] = k;
            continue;
        }
        sources_drop(core->diags->sources, k->unit);
        code_unref(k);
    }
    core->texts.n = n;
    core->drop_at = 2 * n + 16;
}

struct code *core_text(struct session_core *core, const char *name, const char *text, size_t len) {
    drop_texts(core);
    struct code *k = code_new(sources_add(core->diags->sources, name, text, len));
    vec_push(&core->texts, k);
    return code_ref(k);
}

enum gpm_status core_parse(struct session_core *core, const char *name, const char *text,
                           size_t len, bool interactive, struct code **code, struct ast **program) {
    struct code *k = *code = core_text(core, name, text, len);
    enum gpm_status st =
        parse_program(&k->arena, k, core->syms, core->diags, k->unit, interactive, program);
    if (st == GPM_OK) {
        k->root = *program;
        return st;
    }
    code_unref(k);
    *code = NULL;
    return st;
}

/* Made at the first evaluation and stored with the code. Later evaluations cost one test, and the
 * tracing evaluator always gets the same constant. */
struct cell *core_literal(struct session_core *core, const struct ast *a) {
    if (a->cache) return a->cache;
    value v = NIL;
    switch (a->kind) {
    case AST_NUMBER: v = value_num(a->u.number); break;
    case AST_ATOM: v = value_atom(a->u.number); break;
    case AST_BOOL: v = value_bool(a->u.boolean); break;
    case AST_STRING: v = value_str(a->u.string.text, a->u.string.len); break;
    case AST_QUOTE: v = core_quote(core, a->kids[0], NULL); break;
    default: break;
    }
    struct cell *c = cell_new(v);
    vec_push(&a->code->literals, c);
    ((struct ast *)(uintptr_t)a)->cache = c; /* the cache field belongs to the evaluator */
    return c;
}

/* Names of the model precede definitions of the inference program, which precede builtins. In a
 * procedure of the inference program that a model calls (a kernel written there), the program's own
 * definitions come first. Library definitions still give way, since a model that assumes such a
 * name replaces it. */
const value *core_global(struct session_core *core, struct world *w, const struct ast *a,
                         struct frame *f, struct cell **cell) {
    uint64_t key = MAP_PTR(a->u.name.sym);
    struct define_slot *d = NULL;
    *cell = NULL;
    if (!a->u.name.builtin) {
        const struct meaning *m = w ? frame_meaning(f, a->u.name.sym) : NULL;
        if (m && m->kind != MEANS_VARIABLE) {
            *cell = m->kind == MEANS_BUILTIN ? m->cell : NULL; /* constants go with the frame */
            return &m->cell->val;
        }
        d = map_get(&core->defines, key);
        bool own = a->u.name.inference && d && !d->library;
        if (w && !own) *cell = (struct cell *)world_find(w, a->u.name.sym);
        if (d && !*cell) return &d->v;
    }
    if (!*cell) *cell = map_get(&core->builtins, key);
    return *cell ? &(*cell)->val : NULL;
}

void core_tell_call(struct session_core *core, struct span at, const struct sym *self) {
    diag_add_call(core->diags, at, "in a call of %s", self ? self->text : "a procedure");
}

/* From the newest on; calls between the last and the first ones are only counted. */
void tail_calls_tell(struct session_core *core, const struct tail_calls *c) {
    enum { MOST = 100 };
    for (size_t i = c->n; i-- > 0;) {
        if (c->n > MOST && i == c->n - MOST / 2) {
            size_t left_out = c->n - MOST;
            if (core->diags->list.n) vec_last(&core->diags->list)->calls_dropped += left_out;
            i -= left_out;
        }
        size_t newest = c->n - i < TAIL_LAST ? i : c->n - TAIL_LAST;
        const struct tail_call *k = i < TAIL_FIRST ? &c->first[i] : &c->last[newest % TAIL_LAST];
        core_tell_call(core, k->at, k->self);
    }
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

/* Rows of made procedures are in no table. The session parses their signatures when first needed
 * and stores them with the procedure. */
static const struct sp_sig *signature(struct session_core *core, value op) {
    struct sp_proc *p = (struct sp_proc *)op.u.box;
    if (p->sig) return p->sig;
    struct sp_sig *sig = map_get(&core->sigs, MAP_PTR(p->cls));
    if (!sig) {
        sig = NEW(struct sp_sig);
        sp_sig_parse(p->cls->sig, sig);
        map_put(&core->sigs, MAP_PTR(p->cls), sig);
    }
    return p->sig = sig;
}

/* Gives a status other than GPM_E_USER a diagnostic; it comes from a layer that raises none. */
enum gpm_status core_place(struct session_core *core, enum gpm_status st, struct span at) {
    if (st == GPM_OK) return st;
    if (st != GPM_E_USER) diag_raise(core->diags, DIAG_DATA, at, "%s", gpm_status_text(st));
    diag_place(core->diags, at);
    return GPM_E_USER;
}

enum gpm_status core_check_args(struct session_core *core, struct sp_call *c, value op,
                                struct span at) {
    return core_place(core, sp_check_args(c, signature(core, op)), at);
}

enum gpm_status core_check_call(struct session_core *core, struct sp_call *c, value op,
                                const value *args, size_t n, struct span at) {
    c->cls = proc_class(op, &c->state);
    c->args = args;
    c->n = n;
    c->diags = core->diags;
    c->host = &core->host;
    return core_place(core, sp_check_args(c, signature(core, op)), at);
}

size_t core_store_position(value op) {
    int at = sp_sig_param(sp_proc_of(op)->sig, "store");
    return at < 0 ? SIZE_MAX - 1 : (size_t)at;
}

bool core_memoizes(value source, value store) {
    struct sp_proc *made = sp_made_of(source);
    return source.tag == V_PROC && (!made || (made->cls->flags & SP_RANDOM)) && is_absent(store);
}

/* The paper counts steps, the platform transitions; a subproblem takes the place of a scope. */
static const struct {
    const char *alias, *name;
} operator_keywords[] = {
    {"transitions", "steps"}, {"steps", "transitions"}, {"subproblem", "scope"}};

/* Parameter position for keyword `kw` of procedure op, or -1; *what names the procedure. */
static int keyword_position(struct session_core *core, value op, const char *kw,
                            const char **what) {
    struct closure *c = closure_of(op);
    struct memo_proc *m = memo_of(op);
    if (m) c = closure_of(m->proc);
    if (c) {
        const struct ast *l = c->lambda;
        *what = l->u.lambda.self ? l->u.lambda.self->text : "the procedure";
        for (uint32_t i = 0; i < l->u.lambda.n_params; i++)
            if (!strcmp(l->u.lambda.params[i]->text, kw)) return (int)i;
        return -1;
    }
    const struct sp_class *cls = proc_class(op, NULL);
    if (!cls) return -1;
    *what = cls->name;
    const struct sp_sig *sig = signature(core, op);
    int i = sp_sig_param(sig, kw);
    for (size_t k = 0; i < 0 && !cls->simulate && k < COUNT_OF(operator_keywords); k++)
        if (!strcmp(operator_keywords[k].alias, kw))
            i = sp_sig_param(sig, operator_keywords[k].name);
    return i;
}

static enum gpm_status unknown_keyword(struct session_core *core, value op, const char *what,
                                       const char *kw, struct span at) {
    VEC(const char *) names = {0};
    struct memo_proc *m = memo_of(op);
    struct closure *c = closure_of(m ? m->proc : op);
    const struct sp_class *cls = proc_class(op, NULL);
    const struct sp_sig *sig = cls ? signature(core, op) : NULL;
    for (size_t i = 0; sig && i < sig->n_params; i++) vec_push(&names, sig->params[i].name);
    for (uint32_t i = 0; c && i < c->lambda->u.lambda.n_params; i++)
        vec_push(&names, c->lambda->u.lambda.params[i]->text);
    const char *near = suggest_nearest(kw, names.at, names.n);
    diag_raise(core->diags, DIAG_UNKNOWN_KEYWORD, at, "%s has no parameter `%s`", what, kw);
    if (near)
        diag_set_help(core->diags, "did you mean `%s`?", near);
    else if (cls)
        diag_set_help(core->diags, "the signature is %s%s", cls->name, cls->sig);
    vec_release(&names);
    return GPM_E_USER;
}

/* A call with keywords is as wide as the signature, so every parameter has a position. */
size_t core_call_width(struct session_core *core, const struct ast *call, value op) {
    size_t n = call->n - 1;
    if (!call->u.call.kw || !proc_class(op, NULL)) return n;
    size_t want = signature(core, op)->n_params;
    return want > n ? want : n;
}

/* Handles empty positions: trailing ones are cut off, others are refused unless the parameter is
 * optional. Operators check their own arguments. With a target every position is kept, because the
 * meaning of its numbers depends on which are given. */
static enum gpm_status close_gaps(struct session_core *core, value op, const bool *taken, size_t *n,
                                  struct span at) {
    const struct sp_class *cls = proc_class(op, NULL);
    bool is_operator = cls && (cls->flags & SP_INFERENCE_ONLY);
    if (is_operator && signature(core, op)->target) return GPM_OK;
    while (*n && !taken[*n - 1]) --*n;
    for (size_t i = 0; i < *n && !is_operator; i++)
        if (!taken[i] && !signature(core, op)->params[i].optional)
            return diag_raise(core->diags, DIAG_ARITY, at, "%s: the argument `%s` is missing",
                              cls->name, signature(core, op)->params[i].name);
    return GPM_OK;
}

/* Keywords go to their parameters; other arguments fill the remaining positions in order. */
enum gpm_status core_place_keywords(struct session_core *core, const struct ast *call, value op,
                                    size_t *order, size_t *n_placed) {
    size_t n = call->n - 1, width = core_call_width(core, call, op), next = 0;
    bool *taken = mem_zalloc((width + 1) * sizeof *taken);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        order[i] = SIZE_MAX;
        if (!call->u.call.kw[i] || !call->u.call.kw_real[i]) continue;
        const char *what = "this procedure", *kw = call->u.call.kw[i]->text;
        int p = keyword_position(core, op, kw, &what);
        if (p < 0)
            st = unknown_keyword(core, op, what, kw, call->kids[i + 1]->span);
        else if ((size_t)p >= width || taken[p])
            st = diag_raise(core->diags, DIAG_ARITY, call->kids[i + 1]->span,
                            "%s: an argument before `%s` is missing, or it is given twice", what,
                            kw);
        else
            taken[order[i] = (size_t)p] = true;
    }
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        if (order[i] != SIZE_MAX) continue;
        while (next < width && taken[next]) next++;
        if (next >= width)
            st = diag_raise(core->diags, DIAG_ARITY, call->kids[i + 1]->span, "too many arguments");
        else
            taken[order[i] = next] = true;
    }
    *n_placed = width;
    if (st == GPM_OK) st = close_gaps(core, op, taken, n_placed, call->span);
    mem_free(taken);
    return st;
}

enum gpm_status core_wrong_arity(struct session_core *core, const struct ast *lambda, size_t n,
                                 struct span at) {
    const struct sym *self = lambda->u.lambda.self;
    size_t want = lambda->u.lambda.n_params;
    diag_raise(core->diags, DIAG_ARITY, at, "%s%s%s takes %zu argument%s, got %zu", self ? "`" : "",
               self ? self->text : "this procedure", self ? "`" : "", want, want == 1 ? "" : "s",
               n);
    return diag_add_label(core->diags, lambda->span, "defined here");
}

enum gpm_status core_not_procedure(struct session_core *core, value v, struct span at) {
    struct buf b = BUF_INIT;
    value_print_max(v, 64, &b);
    enum gpm_status st = diag_raise(
        core->diags, DIAG_NOT_PROCEDURE, at, "%s is a %s, not a procedure; it cannot be applied",
        b.len > 60 || guess_of(v) ? "this" : b.data, value_type_name(v));
    buf_release(&b);
    return st;
}

enum gpm_status core_memo_loop(struct session_core *core, struct span at) {
    return diag_raise(core->diags, DIAG_MEMO_LOOP, at,
                      "this memoized call needs its own value with the same arguments");
}

enum gpm_status core_wrong_parts(struct session_core *core, value v, size_t n, struct span at) {
    size_t len;
    if (seq_length(v, &len))
        return diag_raise(core->diags, DIAG_VALUES_COUNT, at, "%zu names are bound to %zu values",
                          n, len);
    return diag_raise(core->diags, DIAG_VALUES_COUNT, at,
                      "a %s cannot be taken apart into %zu values", value_type_name(v), n);
}

enum gpm_status core_truth(struct session_core *core, value v, struct span at, bool *truth) {
    if (sp_truth(v, truth)) return GPM_OK;
    return diag_raise(core->diags, DIAG_CONDITION, at,
                      "a condition must be a boolean or a number, not a %s", value_type_name(v));
}
