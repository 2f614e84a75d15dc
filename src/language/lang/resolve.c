/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves names to (frames up, slot). One pass over the tree with a map from each symbol to its
 * innermost binding; leaving a frame undoes its bindings, so the pass is linear. Quoted code is
 * data until evaluated, so it is not resolved. */
#include "base/map.h"
#include "language/lang/ast.h"

struct name_place {
    struct sym *sym;
    struct name_place *shadowed; /* the binding of the same symbol further out */
    int32_t level;               /* level of its frame */
    int32_t slot;
    int32_t models; /* number of enclosing model expressions */
    bool loop;      /* a for variable: takes precedence over names of models */
    void *tag;      /* from the hook */
};

struct resolver {
    struct arena *arena;
    const struct resolve_hook *hook; /* or NULL */
    struct map bound;                /* symbol -> struct name_place */
    VEC(struct name_place *) stack;  /* in order of binding */
    int32_t level;                   /* number of the innermost frame; the top level is 0 */
    int32_t models;                  /* model expressions around the current node */
    int32_t splice_level;            /* frame of the innermost AST_MODEL or AST_QUASI */
};

static void resolve(struct resolver *r, struct ast *a);

/* `by`: the lambda, loop or statement that binds it. */
static void bind(struct resolver *r, struct sym *s, uint32_t slot, const struct ast *by) {
    struct name_place *b = ARENA_NEW(r->arena, struct name_place);
    b->sym = s;
    b->shadowed = map_get(&r->bound, MAP_PTR(s));
    b->level = r->level;
    b->slot = (int32_t)slot;
    b->models = r->models;
    b->loop = by->kind == AST_FOR;
    if (r->hook) b->tag = r->hook->bound(r->hook->user, s, by);
    map_put(&r->bound, MAP_PTR(s), b);
    vec_push(&r->stack, b);
}

static void unbind_to(struct resolver *r, size_t n) {
    while (r->stack.n > n) {
        struct name_place *b = vec_pop(&r->stack);
        if (b->shadowed)
            map_put(&r->bound, MAP_PTR(b->sym), b->shadowed);
        else
            map_del(&r->bound, MAP_PTR(b->sym));
    }
}

static void resolve_name(struct resolver *r, struct ast *a) {
    a->u.name.depth = -1;
    a->u.name.slot = 0;
    a->u.name.global_first = 0;
    a->u.name.inference = r->models == 0;
    if (a->u.name.builtin) return;
    const struct name_place *b = map_get(&r->bound, MAP_PTR(a->u.name.sym));
    if (r->hook) r->hook->used(r->hook->user, a, b ? b->tag : NULL);
    if (!b) return;
    a->u.name.depth = r->level - b->level;
    a->u.name.slot = b->slot;
    if (!b->loop) a->u.name.global_first = (uint8_t)(r->models - b->models);
}

static void resolve_kids(struct resolver *r, struct ast *a) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) resolve(r, a->kids[i]);
}

static void resolve_lambda(struct resolver *r, struct ast *a) {
    size_t n = r->stack.n;
    r->level++;
    for (uint32_t i = 0; i < a->u.lambda.n_params; i++) bind(r, a->u.lambda.params[i], i, a);
    resolve_kids(r, a);
    unbind_to(r, n);
    r->level--;
}

static bool binds(const struct ast *s) {
    return s->kind == AST_LET || s->kind == AST_LETREC || s->kind == AST_BIND;
}

static void count_slots(struct resolver *r, struct ast *a) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (binds(a->kids[i])) n += a->kids[i]->u.bind.n_names;
    a->u.block.n_slots = n;
    a->u.block.slot_names = ARENA_ARRAY(r->arena, struct sym *, n ? n : 1);
}

static void bind_names(struct resolver *r, struct ast *block, const struct ast *s) {
    for (uint32_t i = 0; i < s->u.bind.n_names; i++) {
        block->u.block.slot_names[s->u.bind.slot + i] = s->u.bind.names[i];
        bind(r, s->u.bind.names[i], s->u.bind.slot + i, s);
    }
}

/* A name is visible after its statement; the names of a letrec in all its expressions too. */
static void resolve_block(struct resolver *r, struct ast *a) {
    size_t n = r->stack.n;
    uint32_t slot = 0;
    count_slots(r, a);
    int32_t frame = a->u.block.n_slots > 0;
    r->level += frame;
    for (uint32_t i = 0; i < a->n; i++) {
        struct ast *s = a->kids[i];
        if (!binds(s)) {
            resolve(r, s);
            continue;
        }
        s->u.bind.slot = slot;
        slot += s->u.bind.n_names;
        if (s->kind == AST_LETREC) bind_names(r, a, s);
        resolve_kids(r, s);
        if (s->kind != AST_LETREC) bind_names(r, a, s);
    }
    unbind_to(r, n);
    r->level -= frame;
}

static void resolve_for(struct resolver *r, struct ast *a) {
    size_t n = r->stack.n;
    resolve(r, a->kids[0]);
    r->level++;
    a->u.bind.slot = 0;
    bind(r, a->u.bind.names[0], 0, a);
    for (uint32_t i = 1; i < a->n; i++) resolve(r, a->kids[i]);
    unbind_to(r, n);
    r->level--;
}

/* Quoted code: only the unquotes in it are met at run time. */
static void resolve_quoted(struct resolver *r, struct ast *a) {
    if (a->kind == AST_UNQUOTE) {
        a->u.unquote.depth = r->level - r->splice_level;
        return;
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) resolve_quoted(r, a->kids[i]);
}

/* The splices belong to the program around; the expression sees its own frame of their values. */
static void resolve_model(struct resolver *r, struct ast *a) {
    int32_t splice_level = r->splice_level;
    for (uint32_t i = 0; i < a->u.model.n_splices; i++) resolve_kids(r, a->u.model.splices[i]);
    r->splice_level = ++r->level;
    if (a->kind == AST_QUASI && !r->hook) {
        resolve_quoted(r, a->kids[0]);
    } else {
        r->models++;
        resolve(r, a->kids[0]);
        r->models--;
    }
    r->level--;
    r->splice_level = splice_level;
}

static void resolve_directive(struct resolver *r, struct ast *a) {
    if (a->u.dir.label_expr) resolve(r, a->u.dir.label_expr);
    if (a->u.dir.name_expr) resolve(r, a->u.dir.name_expr);
    resolve_kids(r, a);
}

static void resolve(struct resolver *r, struct ast *a) {
    switch (a->kind) {
    case AST_NAME: resolve_name(r, a); break;
    case AST_LAMBDA: resolve_lambda(r, a); break;
    case AST_BLOCK: resolve_block(r, a); break;
    case AST_FOR: resolve_for(r, a); break;
    case AST_QUOTE: (r->hook ? resolve : resolve_quoted)(r, a->kids[0]); break;
    case AST_MODEL:
    case AST_QUASI: resolve_model(r, a); break;
    case AST_UNQUOTE: a->u.unquote.depth = r->level - r->splice_level; break;
    case AST_DIRECTIVE: resolve_directive(r, a); break;
    default: resolve_kids(r, a);
    }
}

void resolve_program(struct arena *arena, struct ast *program, const struct resolve_hook *hook) {
    struct resolver r = {.arena = arena, .hook = hook};
    resolve(&r, program);
    map_release(&r.bound);
    vec_release(&r.stack);
}
