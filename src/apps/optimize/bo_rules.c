/* SPDX-License-Identifier: Apache-2.0
 * Known constraints; see bo_rules.h. A rule is parsed by the language's parser and kept as code for
 * a stack of numbers, which the procedures' own numeric forms (language/rows/protocol/sp.h) work
 * on. */
#include "apps/optimize/bo_rules.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"
#include "language/lang/ast.h"
#include "language/rows/protocol/sp.h"

#include <math.h>
#include <string.h>

enum { STACK = 64 };

struct rule_step { /* a number, a variable, or a procedure of the n topmost */
    const struct sp_class *proc;
    int var; /* -1: none */
    double number;
    size_t n;
};

struct bo_rule {
    char *text; /* owned */
    VEC(struct rule_step) code;
};

/* ---- compiling ---- */

struct compiler {
    const struct bo_space *s;
    struct bo_rule *rule;
    size_t depth;
    const char *why; /* what cannot be; NULL: so far all can */
    bool foreign;    /* a name that is no variable */
};

static void emit(struct compiler *c, struct rule_step step) {
    c->depth += 1 - step.n;
    if (c->depth >= STACK) c->why = "it is nested too deeply";
    vec_push(&c->rule->code, step);
}

static int variable_named(const struct bo_space *s, const char *name) {
    for (int j = 0; j < s->n; j++)
        if (strcmp(s->vars[j].name, name) == 0) return j;
    return -1;
}

static void compile(struct compiler *c, const struct ast *a) {
    if (a->kind == AST_NUMBER) {
        emit(c, (struct rule_step){.var = -1, .number = a->u.number});
    } else if (a->kind == AST_NAME) {
        int j = variable_named(c->s, a->u.name.sym->text);
        if (j < 0) c->foreign = true;
        if (j >= 0 && c->s->vars[j].n_levels) c->why = "a category is no number";
        emit(c, (struct rule_step){.var = j});
    } else if (a->kind == AST_CALL && a->kids[0]->kind == AST_NAME && !a->u.call.kw) {
        const struct sp_class *proc = sp_index_find(a->kids[0]->u.name.sym->text);
        size_t n = a->n - 1;
        if (!proc || !proc->num || (proc->num_args && n > proc->num_args))
            c->why = "it calls something that is no function of numbers";
        for (uint32_t i = 1; i < a->n; i++) compile(c, a->kids[i]);
        emit(c, (struct rule_step){.proc = proc, .var = -1, .n = n});
    } else {
        c->why = "only numbers, variables, arithmetic and functions of numbers may stand in it";
    }
}

/* left - right for <=, right - left for >=. */
static void compile_rule(struct compiler *c, const struct ast *a) {
    bool less = ast_calls(a, "lte") || ast_calls(a, "lt");
    if (a->kind != AST_CALL || a->n != 3 || !(less || ast_calls(a, "gte") || ast_calls(a, "gt"))) {
        c->why = "expected a comparison with <= or >=, for example x + y <= 10";
        return;
    }
    compile(c, a->kids[less ? 1 : 2]);
    compile(c, a->kids[less ? 2 : 1]);
    emit(c, (struct rule_step){.proc = sp_index_find("sub"), .var = -1, .n = 2});
}

/* "e = v +- tolerance" as "abs((e) - (v)) <= tolerance": equality is no question for numbers. */
static void as_comparison(const char *text, struct buf *out) {
    const char *sign = strstr(text, "+-"), *eq = strchr(text, '=');
    if (!sign || !eq || eq > sign || (eq > text && strchr("<>", eq[-1]))) {
        buf_puts(out, text);
    } else {
        buf_puts(out, "abs((");
        buf_add(out, text, (size_t)(eq - text));
        buf_puts(out, ") - (");
        buf_add(out, eq + 1, (size_t)(sign - eq - 1));
        buf_printf(out, ")) <= %s", sign + 2);
    }
}

static bool read_rule(const struct bo_space *s, const char *text, struct bo_rule *rule,
                      struct compiler *c) {
    struct arena arena = {0};
    struct sym_table syms = {0};
    struct sources sources = {0};
    struct diags diags = {.sources = &sources};
    struct ast *program = NULL;
    struct buf unit = BUF_INIT;
    as_comparison(text, &unit);
    *rule = (struct bo_rule){0};
    *c = (struct compiler){.s = s, .rule = rule};
    uint32_t at = sources_add(&sources, "<constraint>", unit.data, unit.len);
    if (parse_program(&arena, NULL, &syms, &diags, at, false, &program) || program->n != 1)
        c->why = "it does not read as one comparison of expressions";
    else
        compile_rule(c, program->kids[0]);
    buf_release(&unit);
    diags_release(&diags);
    sources_release(&sources);
    sym_table_release(&syms);
    arena_release(&arena);
    return !c->why && !c->foreign;
}

bool bo_rule_is(const struct bo_space *s, const char *text) {
    struct bo_rule rule;
    struct compiler c;
    bool variable = false, good = read_rule(s, text, &rule, &c);
    for (size_t i = 0; i < rule.code.n; i++) variable = variable || rule.code.at[i].var >= 0;
    vec_release(&rule.code);
    return variable && (good || !c.foreign);
}

enum gpm_status bo_rule_add(struct bo_space *s, const char *text, struct buf *err) {
    struct bo_rule rule;
    struct compiler c;
    if (!read_rule(s, text, &rule, &c)) {
        vec_release(&rule.code);
        return buf_fail(err, GPM_E_ARG, "constraint '%s': %s", text,
                        c.why ? c.why : "there is no such variable");
    }
    rule.text = mem_strdup(text);
    s->rules = mem_realloc(s->rules, sizeof *s->rules * (size_t)(s->n_rules + 1));
    s->rules[s->n_rules++] = rule;
    return GPM_OK;
}

const char *bo_rule_text(const struct bo_space *s, int i) {
    return s->rules[i].text;
}

void bo_rules_release(struct bo_space *s) {
    for (int i = 0; i < s->n_rules; i++) {
        mem_free(s->rules[i].text);
        vec_release(&s->rules[i].code);
    }
    mem_free(s->rules);
    s->rules = NULL;
    s->n_rules = 0;
}

/* ---- values ---- */

static double run(const struct bo_rule *r, const double *x) {
    double stack[STACK + 1];
    size_t top = 0;
    for (size_t i = 0; i < r->code.n; i++) {
        const struct rule_step *t = &r->code.at[i];
        double v = t->var >= 0 ? x[t->var] : t->number;
        if (t->proc) {
            top -= t->n;
            v = t->proc->num(stack + top, t->n);
        }
        stack[top++] = v;
    }
    return isnan(stack[0]) ? INFINITY : stack[0]; /* log of less than nothing: not there */
}

double bo_rule_value(const struct bo_space *s, int i, const double *u, double *grad) {
    size_t n = (size_t)s->n;
    double *x = NEW_ARRAY(double, 2 * n), *t = x + n;
    const double h = 1e-6;
    bo_space_from_unit(s, u, x);
    double c = run(&s->rules[i], x);
    for (int k = 0; grad && k < s->d; k++) { /* the grid of whole numbers is left out */
        double ends[2];
        for (int side = 0; side < 2; side++) {
            memcpy(t, x, n * sizeof *t);
            t[s->var_at[k]] = bo_space_relaxed(s, k, u[k] + (side ? h : -h));
            ends[side] = run(&s->rules[i], t);
        }
        grad[k] = isfinite(ends[0]) && isfinite(ends[1]) ? (ends[1] - ends[0]) / (2 * h) : 0;
    }
    mem_free(x);
    return c;
}

#define SLACK 1e-9 /* of the size of a rule's terms: rounding */

bool bo_rules_kept(const struct bo_space *s, const double *u) {
    for (int i = 0; i < s->n_rules; i++)
        if (!(bo_rule_value(s, i, u, NULL) <= SLACK)) return false;
    return true;
}

enum gpm_status bo_space_check(const struct bo_space *s, const double *x, struct buf *err) {
    if (!bo_space_inside(s, x))
        return buf_fail(err, GPM_E_ARG, "%s",
                        s->n_groups ? "shares must sum to one, places be an order"
                                    : "it lies outside of the ranges");
    for (int i = 0; i < s->n_rules; i++)
        if (!(run(&s->rules[i], x) <= SLACK))
            return buf_fail(err, GPM_E_ARG, "it breaks the constraint '%s'", s->rules[i].text);
    return GPM_OK;
}

/* Onto the borders of the broken rules, one after the other (Kaczmarz), a little beyond. */
bool bo_rules_repair(const struct bo_space *s, double *u) {
    enum { ROUNDS = 40 };
    if (!s->n_rules) return true;
    double *grad = NEW_ARRAY(double, (size_t)s->n + 1);
    for (int round = 0; round < ROUNDS && !bo_rules_kept(s, u); round++) {
        for (int i = 0; i < s->n_rules; i++) {
            double c = bo_rule_value(s, i, u, grad), norm = 0;
            for (int k = 0; k < s->d; k++) /* at the edge of the box there is no way on */
                if ((u[k] <= 0 && grad[k] > 0) || (u[k] >= 1 && grad[k] < 0)) grad[k] = 0;
            for (int k = 0; k < s->d; k++) norm += grad[k] * grad[k];
            if (!(c > 0) || !(norm > 0) || isinf(c)) continue;
            double step = (c * (1 + 1e-9) + (round > 3 ? 1e-3 * round * c : 0)) / norm;
            for (int k = 0; k < s->d; k++) u[k] = fmin(1, fmax(0, u[k] - step * grad[k]));
        }
        bo_space_snap(s, u);
    }
    mem_free(grad);
    return bo_rules_kept(s, u);
}
