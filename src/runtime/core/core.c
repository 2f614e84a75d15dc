/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's core, shared by both evaluators: its limits and its errors.
 *
 * Limits are checked only between evaluations (core_poll). An instruction that hits one therefore
 * ends at a point where its guard can undo it. */
#include "runtime/core/plain.h"
#include "base/clock.h"
#include "base/stop.h"
#include "runtime/core/compile.h"
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

struct cell *core_builtin(struct session_core *core, const char *name) {
    return map_get(&core->builtins, MAP_PTR(sym_cstr(core->syms, name)));
}

void core_init(struct session_core *core) {
    core->collect_at = 1000;
    core->stamps = core->defined = 1;
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

/* Gives a status other than GPM_E_USER a diagnostic; it comes from a layer that raises none. */
enum gpm_status core_place(struct session_core *core, enum gpm_status st, struct span at) {
    if (st == GPM_OK) return st;
    if (st != GPM_E_USER) diag_raise(core->diags, DIAG_DATA, at, "%s", gpm_status_text(st));
    diag_place(core->diags, at);
    return GPM_E_USER;
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
