/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures: parsing, and the check of arguments against them. One row per type gives its name,
 * the wording of messages and the test; a domain row (positive, count, ...) tells a number outside
 * the domain (DIAG_DOMAIN) from a value of another type (DIAG_TYPE).
 */
#include "sp/sp.h"

#include "base/mem.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum fit { FIT, WRONG_TYPE, OUTSIDE };

/* A boolean is no number: a number may stand for a condition, not the other way round. */
static bool is_number(value v) {
    return v.tag == V_NUM;
}

static double number(value v) {
    return v.u.num;
}

static bool is_box(value v, const char *kind) {
    return v.tag == V_BOX && strcmp(v.u.box->cls->name, kind) == 0;
}

static bool all_numbers(value v) {
    switch (v.tag) {
    case V_NIL:
    case V_VECTOR: return true;
    case V_ARRAY:
        for (size_t i = 0; i < v.u.array->n; i++)
            if (!is_number(v.u.array->at[i])) return false;
        return true;
    case V_PAIR:
        for (; v.tag == V_PAIR; v = v.u.pair->rest)
            if (!is_number(v.u.pair->first)) return false;
        return v.tag == V_NIL;
    default: return false;
    }
}

#define DOMAIN(test) (!is_number(v) ? WRONG_TYPE : (test) ? FIT : OUTSIDE)
#define KIND(test)   ((test) ? FIT : WRONG_TYPE)
#define FIT_FN(name, result)                                                                       \
    static enum fit name(value v) {                                                                \
        return result;                                                                             \
    }
FIT_FN(fit_any, (UNUSED(v), FIT))
FIT_FN(fit_number, KIND(is_number(v)))
FIT_FN(fit_real, DOMAIN(!isnan(number(v))))
FIT_FN(fit_integer, DOMAIN(number(v) == floor(number(v)) && isfinite(number(v))))
FIT_FN(fit_count, DOMAIN(number(v) == floor(number(v)) && number(v) >= 0 && isfinite(number(v))))
FIT_FN(fit_positive, DOMAIN(number(v) > 0 && isfinite(number(v))))
FIT_FN(fit_nonneg, DOMAIN(number(v) >= 0))
FIT_FN(fit_probability, DOMAIN(number(v) >= 0 && number(v) <= 1))
FIT_FN(fit_bool, KIND(is_number(v) || v.tag == V_BOOL))
FIT_FN(fit_string, KIND(v.tag == V_STR))
FIT_FN(fit_symbol, KIND(v.tag == V_SYM))
FIT_FN(fit_name, KIND(v.tag == V_SYM || v.tag == V_STR))
FIT_FN(fit_list, KIND((v.tag == V_NIL || v.tag == V_PAIR) && seq_is(v)))
FIT_FN(fit_array, KIND(v.tag == V_ARRAY || v.tag == V_VECTOR))
FIT_FN(fit_seq, KIND(seq_is(v)))
FIT_FN(fit_numbers, KIND(all_numbers(v)))
FIT_FN(fit_vector, KIND(v.tag == V_VECTOR))
FIT_FN(fit_matrix, KIND(v.tag == V_MATRIX))
FIT_FN(fit_dict, KIND(v.tag == V_DICT))
FIT_FN(fit_proc, KIND(v.tag == V_PROC))
FIT_FN(fit_kernel, KIND(is_box(v, "kernel")))
FIT_FN(fit_mean, KIND(is_box(v, "mean") || is_box(v, "mean function") || v.tag == V_PROC))
FIT_FN(fit_ref, KIND(v.tag == V_REF))
FIT_FN(fit_env, KIND(v.tag == V_ENV))
FIT_FN(fit_action, KIND(is_box(v, "action")))
FIT_FN(fit_scope, KIND(v.tag != V_PROC && v.tag != V_BOX && v.tag != V_DICT && v.tag != V_ENV))
FIT_FN(fit_target, is_box(v, "subproblem") ? FIT : fit_scope(v))
FIT_FN(fit_subproblem, KIND(is_box(v, "subproblem")))
FIT_FN(fit_label, KIND(v.tag == V_SYM || v.tag == V_STR || v.tag == V_NUM))
FIT_FN(fit_dataset, KIND(is_box(v, "dataset")))
FIT_FN(fit_model, KIND(is_box(v, "model")))
FIT_FN(fit_proposal, KIND(is_box(v, "proposal") || is_box(v, "action") || v.tag == V_PROC))

static const struct sp_type {
    const char *name;
    const char *text; /* for messages: "x must be <text>" */
    enum fit (*fit)(value v);
} types[] = {
    {"any", "a value", fit_any},
    {"number", "a number", fit_number},
    {"real", "a number other than nan", fit_real},
    {"integer", "an integer", fit_integer},
    {"count", "a count (an integer from 0 up)", fit_count},
    {"positive", "a positive number", fit_positive},
    {"nonneg", "a number from 0 up", fit_nonneg},
    {"probability", "a probability (a number from 0 to 1)", fit_probability},
    {"bool", "a boolean", fit_bool},
    {"string", "a string", fit_string},
    {"symbol", "a symbol", fit_symbol},
    {"name", "a name (a string or symbol)", fit_name},
    {"list", "a list", fit_list},
    {"array", "an array", fit_array},
    {"seq", "a sequence (a list, array or vector)", fit_seq},
    {"numbers", "a sequence of numbers", fit_numbers},
    {"vector", "a vector", fit_vector},
    {"matrix", "a matrix", fit_matrix},
    {"dict", "a dictionary", fit_dict},
    {"proc", "a procedure", fit_proc},
    {"kernel", "a kernel", fit_kernel},
    {"mean", "a mean function", fit_mean},
    {"ref", "a reference", fit_ref},
    {"env", "an environment", fit_env},
    {"action", "an inference action", fit_action},
    {"scope", "the name of a scope", fit_scope},
    {"target", "the name of a scope, or a subproblem", fit_target},
    {"block", "a block", fit_scope},
    {"subproblem", "a subproblem", fit_subproblem},
    {"label", "the label of a directive", fit_label},
    {"dataset", "a dataset", fit_dataset},
    {"model", "a model", fit_model},
    {"proposal", "a proposal", fit_proposal},
};

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
    read_word(s + 2, out->result);
    out->target = out->n_params > 1 && is_type(out->params[0].type, "target") &&
                  is_type(out->params[1].type, "block");
}

int sp_sig_param(const struct sp_sig *sig, const char *name) {
    for (size_t i = 0; i < sig->n_params; i++)
        if (strcmp(sig->params[i].name, name) == 0) return (int)i;
    return -1;
}

const char *sp_type_name(int type) {
    return types[type].name;
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

static enum gpm_status type_error(struct sp_call *c, size_t i, const char *param, int type,
                                  bool null_ok, enum fit fit) {
    char *got = sp_show(c->args[i]);
    enum diag_code code = fit == OUTSIDE            ? DIAG_DOMAIN
                          : is_type(type, "action") ? DIAG_NOT_ACTION
                                                    : DIAG_TYPE;
    sp_error(c, code, "%s: %s must be %s%s, got %s", c->cls->name, param, types[type].text,
             null_ok ? " or ()" : "", got);
    if (code == DIAG_NOT_ACTION)
        diag_set_help(c->diags, "return(v) makes an action that gives the value v");
    mem_free(got);
    return GPM_E_USER;
}

enum gpm_status sp_check_args(struct sp_call *c, const struct sp_sig *sig) {
    /* a subproblem stands for scope and block: argument i >= 1 belongs to parameter i + 1 */
    size_t shift =
        sig->target && c->n > 1 && !is_absent(c->args[1]) && fit_subproblem(c->args[0]) == FIT;
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
        bool may_lack = sig->params[p].optional && (c->cls->flags & SP_INFERENCE_ONLY);
        if (is_absent(c->args[i]) && may_lack) continue;
        if (is_absent(c->args[i]))
            return sp_error(c, DIAG_ARITY, "%s: the argument `%s` is missing; a later one is given",
                            c->cls->name, sig->params[p].name);
        enum fit fit = types[type].fit(c->args[i]);
        if (fit == FIT || (sig->params[p].null_ok && c->args[i].tag == V_NIL)) continue;
        char name[40]; /* those of `...xs` are told apart by their number */
        if (sig->params[p].variadic)
            snprintf(name, sizeof name, "argument %zu", i + 1);
        else
            snprintf(name, sizeof name, "%s", sig->params[p].name);
        return type_error(c, i, name, type, sig->params[p].null_ok, fit);
    }
    return GPM_OK;
}
