/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures: parsing, and the check of arguments against them. One row per type gives its name,
 * the wording of messages and the test; a domain row (positive, count, ...) distinguishes a number
 * outside the domain (DIAG_DOMAIN) from a value of another type (DIAG_TYPE). */
#include "language/rows/protocol/guess.h"

#include "base/mem.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum fit { FIT, WRONG_TYPE, OUTSIDE };

static bool all_numbers(value v) {
    struct seq_walk w = {v, 0};
    for (value item; seq_next(&w, &item);)
        if (item.tag != V_NUM) return false;
    return w.rest.tag == v.tag || w.rest.tag == V_NIL;
}

/* A boolean is not a number: a number can be a condition, but not vice versa. */
#define TAG(t) (1u << (t))
#define LISTS  (TAG(V_NIL) | TAG(V_PAIR))
#define ARRAYS (TAG(V_ARRAY) | TAG(V_VECTOR))
#define NAMES  (TAG(V_SYM) | TAG(V_STR))
static bool number_or_numbers(value v) {
    return v.tag == V_NUM || all_numbers(v);
}

#define ANYTHING         (~0u)
#define WITHIN(from, to) .domain = true, .lo = (from), .hi = (to)
#define SCOPES           (ANYTHING & ~(TAG(V_PROC) | TAG(V_BOX) | TAG(V_DICT) | TAG(V_ENV)))

static const struct sp_type {
    const char *name;
    const char *text;   /* for messages: "x must be <text>" */
    unsigned tags;      /* accepted tags */
    bool domain, whole; /* numbers of which only some fit: lo to hi, integers */
    double lo, hi;
    bool (*also)(value v);       /* further condition on values of these tags */
    const char *box, *other_box; /* classes of boxes that fit, or NULL */
} types[] = {
    {"any", "a value", .tags = ANYTHING},
    {"number", "a number", .tags = TAG(V_NUM)},
    {"real", "a number other than nan", .tags = TAG(V_NUM), WITHIN(-INFINITY, INFINITY)},
    {"integer", "an integer", .tags = TAG(V_NUM), WITHIN(-DBL_MAX, DBL_MAX), .whole = true},
    {"count", "a count (an integer from 0 up)", .tags = TAG(V_NUM), WITHIN(0, DBL_MAX),
     .whole = true},
    {"positive", "a positive number", .tags = TAG(V_NUM), WITHIN(DBL_TRUE_MIN, DBL_MAX)},
    {"amount", "a finite number from 0 up", .tags = TAG(V_NUM), WITHIN(0, DBL_MAX)},
    {"nonneg", "a number from 0 up", .tags = TAG(V_NUM), WITHIN(0, INFINITY)},
    {"probability", "a probability (a number from 0 to 1)", .tags = TAG(V_NUM), WITHIN(0, 1)},
    {"bool", "a boolean", .tags = TAG(V_NUM) | TAG(V_BOOL)},
    {"string", "a string", .tags = TAG(V_STR)},
    {"symbol", "a symbol", .tags = TAG(V_SYM)},
    {"name", "a name (a string or symbol)", .tags = NAMES},
    {"list", "a list", .tags = LISTS, .also = seq_is},
    {"array", "an array", .tags = ARRAYS},
    {"seq", "a sequence (a list, array or vector)", .tags = LISTS | ARRAYS, .also = seq_is},
    {"numbers", "a sequence of numbers", .tags = LISTS | ARRAYS, .also = all_numbers},
    {"per_input", "a number, or a sequence of numbers, one for each coordinate of the inputs",
     .tags = TAG(V_NUM) | LISTS | ARRAYS, .also = number_or_numbers},
    {"vector", "a vector", .tags = TAG(V_VECTOR)},
    {"matrix", "a matrix", .tags = TAG(V_MATRIX)},
    {"dict", "a dictionary", .tags = TAG(V_DICT)},
    {"proc", "a procedure", .tags = TAG(V_PROC)},
    {"kernel", "a kernel", .box = "kernel"},
    {"mean", "a mean function", .tags = TAG(V_PROC), .box = "mean function"},
    {"ref", "a reference", .tags = TAG(V_REF)},
    {"env", "an environment", .tags = TAG(V_ENV)},
    {"action", "an inference action", .box = "action"},
    {"scope", "the name of a scope", .tags = SCOPES},
    {"target", "the name of a scope, or a subproblem", .tags = SCOPES, .box = "subproblem"},
    {"block", "a block", .tags = SCOPES},
    {"subproblem", "a subproblem", .box = "subproblem"},
    {"label", "the label of a directive", .tags = NAMES | TAG(V_NUM)},
    {"dataset", "a dataset", .box = "dataset"},
    {"model", "a model", .box = "model"},
    {"structures", "what structure_model or structure_search gives",
     .box = "posterior over structures"},
    {"grammar", "what structure_model gives, or the scope of a grammar", .tags = NAMES,
     .box = "posterior over structures"},
    {"proposal", "a proposal", .tags = TAG(V_PROC), .box = "proposal", .other_box = "action"},
    {"atom", "an atom", .tags = TAG(V_ATOM)},
    {"simplex", "a simplex", .tags = TAG(V_VECTOR)},
    {"pair", "a pair", .tags = TAG(V_PAIR)},
    {"nil", "the empty list", .tags = TAG(V_NIL)},
};

static bool is_box(value v, const char *kind) {
    return kind && v.tag == V_BOX && strcmp(v.u.box->cls->name, kind) == 0;
}

/* For a value not yet known: could it fit? */
static bool guess_fits(const struct sp_type *type, value v) {
    const struct guess *g = guess_of(v);
    if (!g) return false;
    bool boxes = (type->box || type->other_box) && (g->tags >> V_BOX & 1);
    return (g->tags & type->tags) || (boxes && !g->kind);
}

static enum fit fit_of(const struct sp_type *type, value v) {
    if (!(type->tags >> v.tag & 1))
        return is_box(v, type->box) || is_box(v, type->other_box) || guess_fits(type, v)
                   ? FIT
                   : WRONG_TYPE;
    if (type->domain) {
        double x = v.u.num; /* NaN is never inside */
        bool inside = x >= type->lo && x <= type->hi && (!type->whole || x == floor(x));
        return inside ? FIT : OUTSIDE;
    }
    return !type->also || type->also(v) ? FIT : WRONG_TYPE;
}

/* For a sequence where a number is declared: checks its elements; *odd: the first that does not
 * fit. */
static enum fit fit_elements(const struct sp_type *type, value v, value *odd) {
    struct seq_walk w = {v, 0};
    enum fit fit = FIT;
    if (guess_of(v)) return FIT;
    while (fit == FIT && seq_next(&w, odd)) fit = fit_of(type, *odd);
    return fit;
}

enum { TYPE_ANY = 0, TYPE_NUMBER = 1 };

static bool is_type(int type, const char *name) {
    return strcmp(types[type].name, name) == 0;
}

/* ---- parsing ------------------------------------------------------------------------------ */

static const char *skip_space(const char *s) {
    while (*s == ' ') s++;
    return s;
}

/* Copies a word of [A-Za-z0-9_] into a field of 24 bytes. */
static const char *read_word(const char *s, char *to) {
    size_t n = 0;
    s = skip_space(s);
    while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
           *s == '_') {
        assert(n + 1 < 24 && "signature: word too long");
        to[n++] = *s++;
    }
    assert(n && "signature: word expected");
    to[n] = 0;
    return skip_space(s);
}

static int find_type(const char *name) {
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(types[i].name, name) == 0) return (int)i;
    return -1;
}

/* param = ["..."] name ["?"] ":" type ["|null"] */
static const char *read_param(const char *s, struct sp_sig *out) {
    char type[24];
    assert(out->n_params < SP_MAX_PARAMS && "signature: too many parameters");
    size_t i = out->n_params++;
    bool rest = strncmp(s, "...", 3) == 0, optional = false;
    s = read_word(rest ? s + 3 : s, out->params[i].name);
    if (*s == '?') {
        optional = true;
        s = skip_space(s + 1);
    }
    assert(*s == ':' && "signature: type expected");
    s = read_word(s + 1, type);
    out->params[i].type = find_type(type);
    assert(out->params[i].type >= 0 && "signature: unknown type");
    out->params[i].optional = optional;
    out->params[i].variadic = rest;
    assert(out->n_max != SIZE_MAX && "signature: nothing may follow ...");
    if (strncmp(s, "|null", 5) == 0) {
        out->params[i].null_ok = true;
        s = skip_space(s + 5);
    }
    if (rest)
        out->n_max = SIZE_MAX;
    else {
        out->n_max++;
        if (!optional) out->n_min++;
    }
    return s;
}

void sp_sig_parse(const char *text, struct sp_sig *out) {
    memset(out, 0, sizeof *out);
    const char *s = skip_space(text);
    assert(*s == '(' && "signature: ( expected");
    s = skip_space(s + 1);
    while (*s != ')') {
        s = read_param(s, out);
        if (*s == ',')
            s = skip_space(s + 1);
        else
            assert(*s == ')' && "signature: , or ) expected");
    }
    s = skip_space(s + 1);
    assert(s[0] == '-' && s[1] == '>' && "signature: -> expected");
    char result[24];
    read_word(s + 2, result);
    out->result = find_type(result);
    assert(out->result >= 0 && "signature: unknown type of the result");
    out->target = out->n_params > 1 && is_type(out->params[0].type, "target") &&
                  is_type(out->params[1].type, "block");
}

int sp_sig_param(const struct sp_sig *sig, const char *name) {
    for (size_t i = 0; i < sig->n_params; i++)
        if (strcmp(sig->params[i].name, name) == 0) return (int)i;
    return -1;
}

unsigned sp_result_tags(const struct sp_class *cls, const char **kind) {
    struct sp_sig sig;
    sp_sig_parse(cls->sig, &sig);
    const struct sp_type *type = &types[sig.result];
    bool boxed = type->box && !is_type(sig.result, "mean");
    *kind = boxed && !type->other_box ? type->box : NULL;
    if (is_type(sig.result, "bool")) return TAG(V_BOOL);
    return type->tags | (type->box ? TAG(V_BOX) : 0);
}

/* Can the row's result be this value? Not if it is outside its domain or of another type. */
bool sp_result_fits(const struct sp_class *cls, value v) {
    struct sp_sig sig;
    sp_sig_parse(cls->sig, &sig);
    const struct sp_type *type = &types[sig.result];
    bool each = (cls->flags & SP_LIFTS) && type->domain && seq_is(v);
    return (each ? fit_elements(type, v, &v) : fit_of(type, v)) == FIT;
}

/* ---- checks ------------------------------------------------------------------------------- */

static enum gpm_status arity_error(struct sp_call *c, const struct sp_sig *sig) {
    const char *name = c->cls->name;
    struct buf want = BUF_INIT;
    if (sig->n_max == SIZE_MAX)
        buf_printf(&want, "at least %zu", sig->n_min);
    else if (sig->n_min == sig->n_max)
        buf_printf(&want, "%zu", sig->n_min);
    else
        buf_printf(&want, "%zu to %zu", sig->n_min, sig->n_max);
    bool one = sig->n_max == 1 || (sig->n_max == SIZE_MAX && sig->n_min == 1);
    sp_error(c, DIAG_ARITY, "%s takes %s argument%s, got %zu", name,
             sig->n_max == 0 ? "no" : want.data, one ? "" : "s", c->n);
    diag_set_help(c->diags, "the signature is %s%s", name, c->cls->sig);
    buf_release(&want);
    return GPM_E_USER;
}

static enum gpm_status type_error(struct sp_call *c, value got, const char *param, int type,
                                  bool null_ok, enum fit fit) {
    enum diag_code code = fit == OUTSIDE            ? DIAG_DOMAIN
                          : is_type(type, "action") ? DIAG_NOT_ACTION
                                                    : DIAG_TYPE;
    sp_error(c, code, "%s: %s must be %s%s, got %s", c->cls->name, param, types[type].text,
             null_ok ? " or ()" : "", SHOW(got));
    if (code == DIAG_NOT_ACTION)
        diag_set_help(c->diags, "return(v) makes an action that gives the value v");
    else if (got.tag == V_MATRIX && (c->cls->flags & SP_RANDOM) && (c->cls->flags & SP_LIFTS))
        diag_set_help(c->diags,
                      "a matrix of choices is made of a vector of them: "
                      "to_matrix(%s(..., ...), rows, columns)",
                      c->cls->name);
    return GPM_E_USER;
}

const char *sp_param_name(const struct sp_sig *sig, size_t p, size_t i, char name[40]) {
    if (p >= sig->n_params || sig->params[p].variadic)
        snprintf(name, 40, "argument %zu", i + 1);
    else
        snprintf(name, 40, "%s", sig->params[p].name);
    return name;
}

bool sp_sig_takes_any(const struct sp_sig *sig) {
    bool any = sig->n_params > 0 && !sig->target;
    for (size_t i = 0; i < sig->n_params; i++) any &= sig->params[i].type == TYPE_ANY;
    return any;
}

enum gpm_status sp_check_args(struct sp_call *c, const struct sp_sig *sig) {
    /* A subproblem replaces scope and block: argument i >= 1 belongs to parameter i + 1. */
    size_t shift =
        sig->target && c->n > 1 && !is_absent(c->args[1]) && is_box(c->args[0], "subproblem");
    if (c->n < sig->n_min || c->n + shift > sig->n_max) {
        enum gpm_status st = arity_error(c, sig);
        if (shift) diag_add_note(c->diags, "a subproblem takes the place of scope and block");
        return st;
    }
    for (size_t i = 0; i < c->n; i++) {
        size_t p = i ? i + shift : 0;
        if (p >= sig->n_params) p = sig->n_params - 1;
        int type = sig->params[p].type;
        if (type == TYPE_ANY || (type == TYPE_NUMBER && c->args[i].tag == V_NUM)) continue;
        if (c->args[i].tag == V_NUM && fit_of(&types[type], c->args[i]) == FIT) continue;
        bool may_lack = sig->params[p].optional && (c->cls->flags & (SP_INFERENCE_ONLY | SP_LACKS));
        if (is_absent(c->args[i]) && may_lack) continue;
        if (is_absent(c->args[i]))
            return sp_error(c, DIAG_ARITY, "%s: the argument `%s` is missing; a later one is given",
                            c->cls->name, sig->params[p].name);
        value got = c->args[i];
        bool each = (c->cls->flags & SP_LIFTS) && types[type].domain &&
                    (seq_is(got) || (guess_of(got) && guess_may_be(got, V_ARRAY)));
        enum fit fit = each ? fit_elements(&types[type], got, &got) : fit_of(&types[type], got);
        if (fit == FIT || (sig->params[p].null_ok && got.tag == V_NIL)) continue;
        return type_error(c, got, sp_param_name(sig, p, i, (char[40]){0}), type,
                          sig->params[p].null_ok, fit);
    }
    return GPM_OK;
}
