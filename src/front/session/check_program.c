/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of a whole text before it runs: see check.h. First every name, label and tag of the
 * text is gathered, then its instructions are looked at in order, then the procedures never called,
 * then the operators, which need all tags. */
#include "front/session/check.h"
#include "base/file.h"
#include "language/rows/source/srcfn.h"

#include <string.h>

/* ---- what was found ---- */

static bool same_finding(const struct diag *a, const struct diag *b) {
    return a->code == b->code && a->at.unit == b->at.unit && a->at.start == b->at.start &&
           a->at.end == b->at.end;
}

/* Drops the new one, unless it says of an old warning that it will happen. */
static void drop_repeated(struct diags *d, size_t before) {
    struct diag *new = vec_last(&d->list);
    size_t alike = 0;
    for (size_t i = 0; i < before; i++) {
        struct diag *old = d->list.at[i];
        alike += old->warning && old->code == new->code;
        if (!same_finding(old, new)) continue;
        if (old->warning && !new->warning) {
            d->list.at[i] = new;
            d->list.at[d->list.n - 1] = old;
        }
        diags_rewind(d, d->list.n - 1);
        return;
    }
    if (new->warning && alike >= DIAG_MAX) diags_rewind(d, d->list.n - 1);
}

void check_settle(struct checker *k, size_t before) {
    struct diags *d = k->diags;
    if (d->list.n <= before) return;
    struct diag *new = vec_last(&d->list);
    for (size_t i = k->calls.n; i-- > 0 && !d->muted;) {
        const struct sym *self = k->calls.at[i].lambda->u.lambda.self;
        diag_add_call(d, k->calls.at[i].at, "in a call of %s", self ? self->text : "a procedure");
    }
    new->warning |= !k->certain;
    if (!new->warning && k->top < k->fails_at) k->fails_at = k->top;
    if (!new->warning && k->instruction) session_show_instruction(k->s, k->instruction);
    for (size_t i = k->loads.n; i-- > 0 && !new->warning;)
        session_show_instruction(k->s, k->loads.at[i]);
    drop_repeated(d, before);
}

/* ---- names ---- */

struct global *check_global(const struct map *of, const struct sym *name) {
    return map_get(of, MAP_PTR(name));
}

/* A name bound twice has a known value only in the program's order. */
void check_bind(struct checker *k, struct map *to, struct sym *name, value v_taken,
                struct span at) {
    struct global *g = check_global(to, name);
    if (!g) {
        g = NEW(struct global);
        g->name = name;
        g->first = at;
        vec_push(&k->globals, g);
        map_put(to, MAP_PTR(name), g);
    } else
        g->twice = true;
    value_set_take(&g->v, v_taken);
}

static void note(struct map *m, struct sym *s) {
    map_put(m, MAP_PTR(s), s);
}

static void gather_names(struct checker *k, struct sym *const *names, size_t n, bool top) {
    for (size_t i = 0; i < n; i++) {
        if (!top) note(&k->inside, names[i]);
        note(&k->anywhere, names[i]);
    }
}

static void gather_tag(struct checker *k, const struct ast *a) {
    const struct ast *s = a->kids[0];
    if (s->kind == AST_STRING || s->kind == AST_QUOTE || s->kind == AST_NUMBER)
        vec_push(&k->literal_tags, a);
    else
        k->computed_scopes = true;
}

/* Procedures after which a name, a label or a choice may be gone; that may write a file. */
static bool among(const char *words, const struct sym *name) {
    const char *at = strstr(words, name->text);
    return at && at[-1] == ' ' && at[name->len] == ' ';
}
static const char removing[] =
    " forget freeze new_model in_model fork_model detach eval load_model ";
static const char writing[] = " plot_to_file plotf_to_file command foreign prior_predictive_check "
                              "posterior_predictive_check gpmem tpmem quadmem save_model ";
static const char bringing[] = " load_model "; /* names, labels and scopes that no text shows */

/* top: an instruction of the text itself. */
static void check_program_gather(struct checker *k, const struct ast *a, bool top) {
    bool assume = a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_ASSUME;
    if (a->kind == AST_NAME) {
        note(&k->mentioned, a->u.name.sym);
        k->removes |= among(removing, a->u.name.sym);
        k->writes |= among(writing, a->u.name.sym);
        if (among(bringing, a->u.name.sym))
            k->computed_names = k->computed_labels = k->computed_scopes = true;
    }
    if (a->kind == AST_TAG || a->kind == AST_TAG_OUT) gather_tag(k, a);
    if (a->kind == AST_DEFINE) gather_names(k, a->u.bind.names, a->u.bind.n_names, top);
    for (uint32_t i = 0; a->kind == AST_FOR && i < a->kids[3]->n; i++) {
        const struct ast *s = a->kids[3]->kids[i]; /* the program keeps what a loop binds */
        if (s->kind == AST_LET || s->kind == AST_LETREC)
            gather_names(k, s->u.bind.names, s->u.bind.n_names, false);
    }
    if (a->kind == AST_LOAD) k->computed_labels |= !top;
    if (assume) gather_names(k, a->u.dir.names, a->u.dir.n_names, top);
    if (a->kind == AST_DIRECTIVE) {
        k->computed_names |= a->u.dir.name_expr != NULL;
        k->computed_labels |= a->u.dir.label_expr != NULL;
        if (a->u.dir.label) note(&k->labels, a->u.dir.label);
        for (uint32_t i = 0; assume && i < a->u.dir.n_names; i++)
            note(&k->labels, a->u.dir.names[i]);
        if (a->u.dir.label_expr) check_program_gather(k, a->u.dir.label_expr, false);
        if (a->u.dir.name_expr) check_program_gather(k, a->u.dir.name_expr, false);
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) check_program_gather(k, a->kids[i], a->kind == AST_PROGRAM);
}

/* ---- instructions ---- */

/* What a program must be given; `check` does not have it. */
static bool declares_data(const struct ast *a) {
    return a->kind == AST_DEFINE && a->u.bind.n_names == 1 &&
           !strcmp(a->u.bind.names[0]->text, DATA_NAMES);
}

static void take_data(struct checker *k, const struct ast *a) {
    const struct ast *names = a->kids[0];
    for (uint32_t i = 1; i < names->n; i++)
        if (names->kids[i]->kind == AST_NAME)
            check_bind(k, &k->defined, names->kids[i]->u.name.sym, guess_any(), a->span);
    check_bind(k, &k->defined, sym_cstr(k->core->syms, "data"), guess_any(), a->span);
}

static void look_define(struct checker *k, const struct ast *a) {
    size_t n = a->u.bind.n_names, before = k->diags->list.n, len;
    k->runs = false;
    if (declares_data(a) && k->for_people) {
        take_data(k, a);
        return;
    }
    value v = check_expr(k, a->kids[0]);
    bool known = !guess_of(v);
    if (n > 1 && known && (!seq_length(v, &len) || len != n)) {
        (void)!core_wrong_parts(k->core, v, n, a->span);
        check_settle(k, before);
    }
    for (size_t i = 0; i < n; i++)
        check_bind(k, &k->defined, a->u.bind.names[i],
                   n == 1 && k->certain ? value_ref(v) : guess_any(), a->span);
    value_unref(v);
}

static void check_instruction(struct checker *k, const struct ast *a);

/* The first round, with the values that it has. */
static void look_for(struct checker *k, const struct ast *a) {
    bool certain = k->certain, truth = false;
    struct checked_local var = {a->u.bind.names[0], check_expr(k, a->kids[0]), k->models, true};
    vec_push(&k->locals, var);
    size_t base = k->locals.n;
    value c = check_expr(k, a->kids[1]);
    k->certain &= !guess_of(c) && sp_truth(c, &truth) && truth;
    value_unref(c);
    const struct ast *body = a->kids[3];
    for (uint32_t i = 0; i < body->n; i++) check_instruction(k, body->kids[i]);
    for (uint32_t i = 0; i < body->n; i++) { /* other rounds may bind others */
        const struct ast *s = body->kids[i];
        if (s->kind != AST_LET && s->kind != AST_LETREC) continue;
        for (uint32_t j = 0; j < s->u.bind.n_names; j++)
            check_bind(k, &k->defined, s->u.bind.names[j], guess_any(), s->span);
    }
    k->instruction = a;
    value_unref(check_expr(k, a->kids[2]));
    while (k->locals.n >= base) value_unref(vec_pop(&k->locals).v);
    k->certain = certain;
}

/* A let form in the body of a loop is visible to what follows it there. */
static void look_loop_let(struct checker *k, const struct ast *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        value v = check_expr(k, s->kids[i]);
        bool one = s->u.bind.n_names == 1 && s->kind == AST_LET;
        if (!one) value_set_take(&v, guess_any());
        for (uint32_t j = 0; j < s->u.bind.n_names; j++) {
            struct checked_local l = {s->u.bind.names[j], value_ref(v), k->models, false};
            vec_push(&k->locals, l);
        }
        value_unref(v);
    }
}

/* The file's instructions; paths in it are relative to it. */
static void look_loaded(struct checker *k, const struct ast *a, const char *path,
                        const struct buf *text) {
    const char *slash = strrchr(path, '/'), *outer = k->core->host.folder;
    char *folder = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : NULL;
    struct code *code = core_text(k->core, path, text->data, text->len);
    vec_push(&k->codes, code); /* findings, names and tags refer to it until the end */
    struct ast *program;
    k->core->host.folder = folder;
    vec_push(&k->loads, a);
    if (parse_program(&code->arena, code, &k->s->syms, k->diags, code->unit, false, &program) ==
        GPM_OK) {
        check_program_gather(k, program, false);
        for (uint32_t i = 0; i < program->n; i++) check_instruction(k, program->kids[i]);
    } else {
        k->unread = true;
        k->instruction = a;
        check_settle(k, k->diags->list.n - 1);
    }
    (void)vec_pop(&k->loads);
    k->core->host.folder = outer;
    mem_free(folder);
}

/* What is no regular file (a pipe) gives its text once, to the run. */
static void look_load(struct checker *k, const struct ast *a) {
    char *path = mem_strndup(a->u.string.text, a->u.string.len);
    struct sp_call call = {.host = &k->core->host};
    char *full = srcfn_path(&call, path);
    struct buf text = BUF_INIT;
    size_t before = k->diags->list.n;
    bool once = file_there(full) && !file_regular(full);
    bool many = k->codes.n >= SESSION_LOADS;
    k->unread |= once || many;
    if (once || many) {
        /* the run will say */
    } else if (session_load_enter(k->s, &k->files, full, a->span) != GPM_OK) {
        check_settle(k, before);
    } else if (file_read(full, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK) {
        look_loaded(k, a, full, &text);
        session_load_leave(&k->files);
    } else {
        bool certain = k->certain;
        k->certain &= !k->writes;
        diag_raise(k->diags, DIAG_FILE, a->span, "cannot read %s: %s", full, file_why());
        check_settle(k, before);
        k->certain = certain;
        k->unread = true;
        session_load_leave(&k->files);
    }
    buf_release(&text);
    mem_free(full);
    mem_free(path);
}

static void check_instruction(struct checker *k, const struct ast *a) {
    k->instruction = a;
    k->runs = true;
    switch (a->kind) {
    case AST_DEFINE: look_define(k, a); break;
    case AST_LET:
    case AST_LETREC: look_loop_let(k, a); break;
    case AST_FOR: look_for(k, a); break;
    case AST_LOAD: look_load(k, a); break;
    default: value_unref(check_expr(k, a));
    }
}

/* ---- what is untidy ---- */

static void unused(struct checker *k, const struct ast *a, const char *what) {
    for (uint32_t i = 0; i < a->u.bind.n_names; i++) {
        struct sym *name = a->u.bind.names[i];
        if (name->text[0] == '_' || map_get(&k->mentioned, MAP_PTR(name))) continue;
        diag_warn(k->diags, DIAG_UNUSED, a->span, "%s `%s` is never used", what, name->text);
        diag_set_help(k->diags, "a name that begins with _ says that this is meant");
    }
}

/* Procedures at the top level are a library; values are not. */
static void check_unused(struct checker *k, const struct ast *a, bool top) {
    bool plain = a->kind == AST_DEFINE && a->n && a->kids[0]->kind != AST_LAMBDA;
    if (top && plain) unused(k, a, "the name");
    if (!top && a->kind == AST_LET) unused(k, a, "the local name");
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) check_unused(k, a->kids[i], a->kind == AST_PROGRAM);
}

/* Whether the text asks for anything: a model without questions is part of other programs. */
static bool asks(const struct ast *program) {
    for (uint32_t i = 0; i < program->n; i++) {
        const struct ast *a = program->kids[i];
        bool model = a->kind == AST_DIRECTIVE &&
                     (a->u.dir.kind <= DIR_OBSERVE || a->u.dir.kind == DIR_FORCE);
        if (a->kind != AST_DEFINE && a->kind != AST_LOAD && a->kind != AST_FOR && !model)
            return true;
    }
    return false;
}

/* ---- the whole ---- */

static void check_program_release(struct checker *k) {
    for (size_t i = 0; i < k->globals.n; i++) {
        value_unref(k->globals.at[i]->v);
        mem_free(k->globals.at[i]);
    }
    for (size_t i = 0; i < k->tags.n; i++) value_unref(k->tags.at[i].scope);
    for (size_t i = 0; i < k->procs.cap; i++) mem_free(k->procs.slots[i].val);
    struct map *maps[] = {&k->assumed,   &k->defined, &k->anywhere, &k->inside,
                          &k->mentioned, &k->labels,  &k->procs};
    for (size_t i = 0; i < COUNT_OF(maps); i++) map_release(maps[i]);
    vec_release(&k->globals);
    vec_release(&k->locals);
    vec_release(&k->waiting);
    vec_release(&k->calls);
    vec_release(&k->loads);
    while (k->files.paths.n) session_load_leave(&k->files);
    vec_release(&k->files.paths);
    for (size_t i = 0; i < k->codes.n; i++) code_unref(k->codes.at[i]);
    vec_release(&k->codes);
    vec_release(&k->choices);
    vec_release(&k->tags);
    vec_release(&k->literal_tags);
    vec_release(&k->aims);
}

/* Whether an expression may take long: it mentions an operator that moves a model, or a loop. */
static bool works(const struct checker *k, const struct ast *a) {
    static const char quick[] =
        " pass return bind bind_ assert forget freeze report printf new_model "
        "fork_model in_model global_log_joint global_log_likelihood ";
    if (a->kind == AST_FOR || a->kind == AST_LOAD) return true;
    if (a->kind == AST_NAME && !check_global(&k->defined, a->u.name.sym)) {
        const struct sp_class *cls = sp_index_find(a->u.name.sym->text);
        const struct infer_op *op = cls ? infer_op_of(cls) : NULL;
        return op && !(op->flags & OP_PLAIN) && !among(quick, a->u.name.sym);
    }
    bool found = false;
    for (uint32_t i = 0; i < a->n && !found; i++) found = a->kids[i] && works(k, a->kids[i]);
    return found;
}

/* A run that will fail does not begin, when it would be a while before it fails; else it prints
 * what comes before, and fails where it does. */
static bool refused(const struct checker *k, const struct ast *program) {
    bool found = false;
    for (uint32_t i = 0; i < k->fails_at && i < program->n && !found; i++)
        found = works(k, program->kids[i]);
    return found && k->fails_at < program->n;
}

/* Errors alone; warnings stay. */
static void drop_errors(struct diags *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->list.n; i++) {
        struct diag *x = d->list.at[i];
        if (!x->warning) continue;
        d->list.at[i] = d->list.at[n];
        d->list.at[n++] = x;
    }
    diags_rewind(d, n);
}

/* In order of the text. There are few. */
static void sort_findings(struct diags *d) {
    for (size_t i = 1; i < d->list.n; i++)
        for (size_t j = i; j > 0; j--) {
            struct diag *a = d->list.at[j - 1], *b = d->list.at[j];
            if (a->at.unit != b->at.unit || a->at.start <= b->at.start) break;
            d->list.at[j - 1] = b;
            d->list.at[j] = a;
        }
}

enum gpm_status session_check_program(struct session *s, const struct ast *program, bool whole,
                                      bool for_people) {
    struct checker k = {.s = s,
                        .core = &s->core,
                        .diags = &s->diags,
                        .unit = program->span.unit,
                        .for_people = for_people,
                        .whole = whole,
                        .certain = true,
                        .fails_at = UINT32_MAX,
                        .read = NO_SPAN,
                        .budget = 200000 + 20 * (size_t)(program->span.end - program->span.start)};
    if (session_load_enter(s, &k.files, s->sources.units.at[k.unit]->name, NO_SPAN) != GPM_OK)
        return GPM_E_USER;
    check_program_gather(&k, program, false);
    for (; k.top < program->n; k.top++) check_instruction(&k, program->kids[k.top]);
    k.instruction = NULL;
    check_procedures(&k);
    check_aims(&k);
    if (for_people && asks(program)) check_unused(&k, program, false);
    bool fails = for_people ? diags_errors(&s->diags) > 0 : refused(&k, program);
    if (!fails) drop_errors(&s->diags);
    sort_findings(&s->diags);
    check_program_release(&k);
    return fails ? GPM_E_USER : GPM_OK;
}
