/* SPDX-License-Identifier: Apache-2.0
 *
 * What the check before a run says of observations, of labels, and of operators and the scopes that
 * they are applied to.
 */
#include "front/session/check.h"

#include <math.h>
#include <string.h>

/* ---- observations ---- */

/* An observed choice is no choice that operators move. It is one of the last, or not found. */
static void take_choice(struct checker *k, const struct guess *g) {
    enum { LOOK_BACK = 1000 };
    for (size_t i = k->choices.n; i-- > 0 && i + LOOK_BACK > k->choices.n;) {
        struct checked_choice *c = &k->choices.at[i];
        if (c->cls != g->from || c->at.start != g->at.start || c->at.unit != g->at.unit) continue;
        c->fixed = true;
        return;
    }
    struct checked_choice unknown = {.at = g->at};
    vec_push(&k->choices, unknown);
}

static bool all_there(const struct guess *g) {
    for (size_t i = 0; i < g->n; i++)
        if (guess_of(g->args[i]) || is_absent(g->args[i])) return false;
    return true;
}

/* Whether the row can give v: by its density where the arguments are known, else by the type of its
 * result. */
static bool impossible(struct checker *k, const struct guess *g, value v) {
    struct sp_call c = {.cls = g->from,
                        .args = g->args,
                        .n = g->n,
                        .diags = k->diags,
                        .host = &k->core->host,
                        .observed = true};
    size_t before = k->diags->list.n;
    double lp = 0;
    if (all_there(g)) {
        bool scored = g->from->log_density(&c, v, &lp) == GPM_OK;
        diags_rewind(k->diags, before);
        return scored && lp == -INFINITY;
    }
    return v.tag == V_NUM &&
                   guess_may_be((value){.tag = V_BOX, .u.box = (struct box *)&g->box}, V_NUM)
               ? !sp_result_fits(g->from, v)
               : false;
}

static bool only_computes(const struct sp_class *cls) {
    return cls->simulate && !cls->request && !cls->special &&
           !(cls->flags & (SP_RANDOM | SP_MAKER | SP_PASSES | SP_CALLS | SP_INFERENCE_ONLY));
}

static void check_value(struct checker *k, const struct guess *g, value v, struct span at) {
    double x;
    bool truth = g->tags == 1u << V_BOOL && !sp_gives_objects(g->from),
         number = value_number(v, &x);
    if (truth && !(number && (x == 0 || x == 1))) {
        (void)!trace_not_boolean(k->diags, g->from, v, g->at);
        return;
    }
    value form = truth ? value_bool(x != 0) : v;
    if (number && isnan(x)) return;
    if (impossible(k, g, form)) trace_impossible(k->diags, g->from, form, at);
}

void check_observation(struct checker *k, const struct ast *model, value chosen, value v) {
    const struct guess *g = guess_of(chosen);
    size_t before = k->diags->list.n;
    bool literal = model->kind == AST_NUMBER || model->kind == AST_STRING ||
                   model->kind == AST_BOOL || model->kind == AST_QUOTE;
    if (literal) {
        (void)!trace_not_random(k->diags, NULL, true, NO_SPAN, model->span);
    } else if (g && g->from && (g->from->flags & SP_RANDOM)) {
        take_choice(k, g);
        if (g->from->log_density && !guess_of(v)) check_value(k, g, v, model->span);
    } else if (g && g->from && only_computes(g->from)) {
        (void)!trace_not_random(k->diags, g->from, false, g->at, model->span);
    } else {
        struct checked_choice unknown = {.at = model->span};
        vec_push(&k->choices, unknown);
    }
    check_settle(k, before);
}

/* ---- what models read ---- */

/* What a model expression reads: `fixed`, nothing but what stands when the program runs, procedures
 * that compute, and names. */
struct reading {
    bool fixed, names;
};

/* The program's own value, which the model reads as a constant. */
static void read_global(struct checker *k, const struct ast *a, const struct global *g,
                        struct reading *r) {
    const struct guess *drawn = g->twice ? NULL : guess_of(g->v);
    size_t before = k->diags->list.n;
    r->names = true;
    r->fixed &= g->v.tag != V_PROC && (!drawn || !guess_may_be(g->v, V_PROC));
    if (!drawn || !drawn->from || !(drawn->from->flags & SP_RANDOM)) return;
    diag_warn(k->diags, DIAG_DRAWN_ONCE, drawn->at,
              "%s is drawn once here; `assume %s = ...` makes it a choice of the model",
              a->u.name.sym->text, a->u.name.sym->text);
    diag_add_label(k->diags, a->span, "the model reads it as a constant");
    diag_set_help(k->diags, "where that is meant, $%s says so", a->u.name.sym->text);
    check_settle(k, before);
}

static void read_name(struct checker *k, const struct ast *a, struct reading *r) {
    const struct sym *name = a->u.name.sym;
    const struct global *g = a->u.name.builtin ? NULL : check_global(&k->defined, name);
    const struct cell *c = map_get(&k->core->builtins, MAP_PTR(name));
    const struct sp_class *cls = c ? proc_class(c->val, NULL) : NULL;
    bool other = !a->u.name.builtin && (check_is_local(k, name) || check_is_assumed(k, name));
    if (!other && g)
        read_global(k, a, g, r);
    else
        r->fixed &= !other && c && (!cls || only_computes(cls));
}

static void read_parts(struct checker *k, const struct ast *a, struct reading *r) {
    if (a->kind == AST_NAME) read_name(k, a, r);
    bool spliced = a->kind == AST_UNQUOTE;
    r->names |= spliced;
    r->fixed &= spliced || a->kind <= AST_CALL || a->kind == AST_IF;
    for (uint32_t i = 0; !spliced && i < a->n; i++)
        if (a->kids[i]) read_parts(k, a->kids[i], r);
}

/* A draw of the program that is read in the place of a choice; an observation of what no choice
 * decides. One made of numbers alone is meant. */
void check_reads(struct checker *k, const struct ast *model, bool observed) {
    struct reading r = {true, false};
    size_t before = k->diags->list.n;
    bool call = model->kind == AST_CALL && model->kids[0]->kind == AST_NAME;
    const struct cell *c =
        call ? map_get(&k->core->builtins, MAP_PTR(model->kids[0]->u.name.sym)) : NULL;
    const struct sp_class *cls = c ? proc_class(c->val, NULL) : NULL;
    bool draws = cls && (cls->flags & SP_RANDOM);
    for (uint32_t i = draws; i < model->n; i++)
        if (model->kids[i]) read_parts(k, model->kids[i], &r);
    if (!draws || !observed || !r.fixed || !r.names) return;
    before = k->diags->list.n;
    diag_warn(k->diags, DIAG_NO_CHOICE, model->span, "this observation depends on no choice");
    check_settle(k, before);
}

/* ---- labels ---- */

void check_label(struct checker *k, const struct infer_op *op, const value *args, size_t n,
                 struct span at) {
    struct sp_sig sig;
    sp_sig_parse(op->sig, &sig);
    int p = sp_sig_param(&sig, "label");
    const char *text = p == 0 && n ? value_text(args[0]) : NULL;
    if (!text || k->unread || k->computed_labels || k->computed_names || k->lent || !k->whole)
        return;
    struct sym *label = sym_cstr(k->core->syms, text);
    if (map_get(&k->labels, MAP_PTR(label))) return;
    VEC(const char *) names = {0};
    for (size_t i = 0; i < k->labels.cap; i++) {
        const struct sym *have = k->labels.slots[i].val;
        if (have) vec_push(&names, have->text);
    }
    size_t before = k->diags->list.n;
    bool certain = k->certain;
    k->certain &= k->runs;
    (void)!trace_no_label(k->diags, label, at, names.at, names.n);
    check_settle(k, before);
    k->certain = certain;
    vec_release(&names);
}

/* ---- operators and scopes ---- */

void check_aim(struct checker *k, const struct infer_op *op, const value *args, size_t n,
               struct span at) {
    struct sp_sig sig;
    sp_sig_parse(op->sig, &sig);
    if (!sig.target || !n || guess_of(args[0]) || subproblem_of(args[0])) return;
    bool named = n > 1 && !is_absent(args[1]), runs = true;
    for (size_t i = 2; i < n; i++) { /* no steps, or perhaps none, do no harm */
        if (args[i].tag == V_NUM && args[i].u.num == 0) return;
        runs &= !guess_of(args[i]);
    }
    struct checked_aim aim = {.op = op,
                              .scope = value_ref(args[0]),
                              .block = named ? value_ref(args[1]) : ABSENT,
                              .at = at,
                              .certain = k->certain && k->runs && runs && (op->flags & OP_STEPS),
                              .instruction = k->instruction,
                              .top = k->top};
    vec_push(&k->aims, aim);
}

static value literal(const struct checker *k, const struct ast *a) {
    return core_literal(k->core, a)->val;
}

static bool is_literal(const struct ast *a) {
    return a && (a->kind == AST_STRING || a->kind == AST_NUMBER || a->kind == AST_QUOTE);
}

static bool in_text(const struct checker *k, value scope) {
    for (size_t i = 0; i < k->literal_tags.n; i++)
        if (value_name_equal(literal(k, k->literal_tags.at[i]->kids[0]), scope)) return true;
    return false;
}

static bool known_before(const struct checker *k, value scope) {
    const struct infer_state *x = &k->s->infer;
    for (size_t i = 0; i < x->known_scopes.n; i++)
        if (value_name_equal(x->known_scopes.at[i], scope)) return true;
    return trace_scope(x->model->p.at[0], scope) != NULL;
}

static void no_scope(struct checker *k, const struct checked_aim *aim) {
    VEC(value) have = {0};
    const struct trace *t = k->s->infer.model->p.at[0];
    for (size_t i = 0; i < t->scopes.n; i++) vec_push(&have, scope_name(t->scopes.at[i]));
    for (size_t i = 0; i < k->literal_tags.n; i++) {
        value scope = literal(k, k->literal_tags.at[i]->kids[0]);
        bool twice = false;
        for (size_t j = 0; j < have.n; j++) twice |= value_name_equal(have.at[j], scope);
        if (!twice) vec_push(&have, scope);
    }
    (void)!infer_no_scope(k->diags, aim->scope, aim->at, have.at, have.n);
    vec_release(&have);
}

/* The choices of a scope, of which all are known; false: they are not. */
struct kinds {
    size_t n, continuous, discrete, uncertain;
    const struct checked_choice *first;
};

static bool count_kind(const struct checked_choice *c, uint32_t before, struct kinds *out) {
    if (c->fixed) return true;
    if (!c->cls) return false;
    bool discrete = c->cls->flags & SP_DISCRETE;
    if (!discrete && !(c->cls->support && !(c->cls->flags & SP_MAKER))) return false;
    out->n++;
    out->continuous += !discrete;
    out->discrete += discrete;
    out->uncertain += !c->certain || c->top >= before;
    if (!out->first) out->first = c;
    return true;
}

/* Distinguishes choices that certainly exist when instruction `before` runs from others. */
static bool kinds_of(const struct checker *k, value scope, uint32_t before, struct kinds *out) {
    *out = (struct kinds){0};
    bool known = true;
    if (infer_is_name(scope, "default")) {
        if (k->s->infer.model->p.at[0]->choices.n) return false;
        for (size_t i = 0; i < k->choices.n && known; i++)
            known = count_kind(&k->choices.at[i], before, out);
        return known;
    }
    for (size_t i = 0; i < k->literal_tags.n && known; i++) {
        const struct ast *t = k->literal_tags.at[i];
        if (!value_name_equal(literal(k, t->kids[0]), scope)) continue;
        known = false; /* until it is found among those that were looked at */
        for (size_t j = 0; j < k->tags.n; j++)
            if (k->tags.at[j].tag == t) known = true;
    }
    for (size_t j = 0; j < k->tags.n && known; j++) {
        const struct checked_tag *t = &k->tags.at[j];
        if (!value_name_equal(t->scope, scope)) continue;
        for (size_t i = t->from; i < t->to && i < k->choices.n && known; i++)
            known = count_kind(&k->choices.at[i], before, out);
    }
    return known && !known_before(k, scope);
}

/* Blocks of a scope all of whose tags say theirs. */
static void check_block(struct checker *k, const struct checked_aim *aim) {
    struct buf have = BUF_INIT;
    size_t n = 0;
    bool told = true, found = false;
    for (size_t i = 0; i < k->literal_tags.n; i++) {
        const struct ast *t = k->literal_tags.at[i];
        if (!value_name_equal(literal(k, t->kids[0]), aim->scope)) continue;
        told &= t->kind == AST_TAG && is_literal(t->kids[1]);
        if (!told) break;
        value block = literal(k, t->kids[1]);
        found |= value_name_equal(block, aim->block) || value_equal(block, aim->block);
        if (n == 8) buf_puts(&have, ", ...");
        if (n >= 8) continue;
        if (n++) buf_puts(&have, ", ");
        value_print(block, &have);
    }
    struct kinds kinds; /* an operator on a scope without choices does nothing */
    bool live = kinds_of(k, aim->scope, aim->top, &kinds) && kinds.n > kinds.uncertain;
    k->certain &= live;
    if (told && !found && n)
        (void)!infer_no_block(k->diags, aim->scope, aim->block, aim->at, have.data);
    buf_release(&have);
}

static void check_kind(struct checker *k, const struct checked_aim *aim) {
    struct kinds kinds;
    if (!aim->op->needs || k->removes || !kinds_of(k, aim->scope, aim->top, &kinds) || !kinds.n)
        return;
    bool fails = aim->op->needs != NEEDS_CONTINUOUS; /* others leave such choices alone */
    size_t right = aim->op->needs == NEEDS_DISCRETE ? kinds.discrete : kinds.continuous;
    if (right || (fails && kinds.uncertain)) return;
    (void)!infer_wrong_kind(k->diags, aim->op, aim->scope, kinds.first->cls, kinds.first->at,
                            kinds.first->read, aim->at);
}

static void check_aim_judge(struct checker *k, const struct checked_aim *aim) {
    bool words = aim->block.tag != V_NUM && aim->block.tag != V_STR;
    if (infer_is_name(aim->scope, "default")) {
        if (!words && aim->op->run == infer_steps)
            (void)!infer_no_default_block(k->diags, aim->block, aim->at);
    } else if (aim->scope.tag != V_STR && aim->scope.tag != V_SYM && aim->scope.tag != V_NUM) {
        return;
    } else if (!in_text(k, aim->scope)) {
        if (!known_before(k, aim->scope) && !k->computed_scopes && !k->unread) no_scope(k, aim);
        return;
    } else if (!words && !k->computed_scopes && !known_before(k, aim->scope)) {
        check_block(k, aim);
    }
    if (!k->computed_scopes) check_kind(k, aim);
}

void check_aims(struct checker *k) {
    for (size_t i = 0; i < k->aims.n; i++) {
        struct checked_aim *aim = &k->aims.at[i];
        size_t before = k->diags->list.n;
        k->certain = aim->certain;
        k->instruction = aim->instruction;
        k->top = aim->top;
        check_aim_judge(k, aim);
        check_settle(k, before);
        value_unref(aim->scope);
        value_unref(aim->block);
    }
}
