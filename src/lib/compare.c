/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison and logic.
 */
#include "sp/sp.h"

#include "base/mem.h"
#include <math.h>

static enum gpm_status simulate_eq(struct sp_call *c, value *out) {
    *out = value_bool(value_equal_arithmetic(c->args[0], c->args[1]));
    return GPM_OK;
}

static enum gpm_status simulate_neq(struct sp_call *c, value *out) {
    *out = value_bool(!value_equal_arithmetic(c->args[0], c->args[1]));
    return GPM_OK;
}

/* ---- order ------------------------------------------------------------------------------------
 */

/* Kinds that can be ordered among themselves; numbers sort below atoms. 0: no order. */
static int order_kind(value v) {
    switch (v.tag) {
    case V_NUM:
    case V_ATOM: return 1;
    case V_BOOL: return 2;
    case V_STR: return 3;
    case V_SYM: return 4;
    case V_NIL:
    case V_PAIR: return 5;
    case V_ARRAY:
    case V_VECTOR: return 6;
    default: return 0;
    }
}

static enum gpm_status order_error(struct sp_call *c) {
    char *a = sp_show(c->args[0]), *b = sp_show(c->args[1]);
    sp_error(c, DIAG_TYPE, "%s: cannot compare %s with %s (%s and %s)", c->cls->name, a, b,
             value_type_name(c->args[0]), value_type_name(c->args[1]));
    mem_free(a);
    mem_free(b);
    return GPM_E_USER;
}

/* want: bit 0 less, bit 1 equal, bit 2 greater. A nan compares as false. */
static enum gpm_status order(struct sp_call *c, unsigned want, value *out) {
    value a = c->args[0], b = c->args[1];
    if (a.tag == V_NUM && b.tag == V_NUM) {
        double x = a.u.num, y = b.u.num;
        unsigned is = x < y ? 1 : x == y ? 2 : x > y ? 4 : 0;
        *out = value_bool((is & want) != 0);
        return GPM_OK;
    }
    int kind = order_kind(a);
    if (kind == 0 || kind != order_kind(b)) return order_error(c);
    int cmp = value_compare(a, b);
    *out = value_bool((want & (cmp < 0 ? 1u : cmp == 0 ? 2u : 4u)) != 0);
    return GPM_OK;
}

static enum gpm_status simulate_lt(struct sp_call *c, value *out) {
    return order(c, 1, out);
}
static enum gpm_status simulate_lte(struct sp_call *c, value *out) {
    return order(c, 3, out);
}
static enum gpm_status simulate_gt(struct sp_call *c, value *out) {
    return order(c, 4, out);
}
static enum gpm_status simulate_gte(struct sp_call *c, value *out) {
    return order(c, 6, out);
}

/* ---- logic ------------------------------------------------------------------------------------
 */

static bool truth(value v) {
    bool b = false;
    sp_truth(v, &b);
    return b;
}

static enum gpm_status simulate_not(struct sp_call *c, value *out) {
    *out = value_bool(!truth(c->args[0]));
    return GPM_OK;
}

static enum gpm_status simulate_xor(struct sp_call *c, value *out) {
    *out = value_bool(truth(c->args[0]) != truth(c->args[1]));
    return GPM_OK;
}

/* Whether some element is `wanted`; over the arguments, or the elements of one sequence. */
static enum gpm_status some(struct sp_call *c, bool wanted, bool *found) {
    value *items = NULL;
    const value *at = c->args;
    size_t n = c->n;
    enum gpm_status st = GPM_OK;
    if (n == 1 && seq_items(c->args[0], &items, &n)) at = items;
    *found = false;
    for (size_t i = 0; i < n && !st; i++) {
        bool b;
        if (!sp_truth(at[i], &b)) {
            char *got = sp_show(at[i]);
            st = sp_error(c, DIAG_TYPE, "%s: element %zu must be a boolean, got %s", c->cls->name,
                          i, got);
            mem_free(got);
        } else if (b == wanted)
            *found = true;
    }
    if (items) values_free(items, n);
    return st;
}

static enum gpm_status simulate_all_p(struct sp_call *c, value *out) {
    bool found;
    enum gpm_status st = some(c, false, &found);
    if (!st) *out = value_bool(!found);
    return st;
}

static enum gpm_status simulate_any_p(struct sp_call *c, value *out) {
    bool found;
    enum gpm_status st = some(c, true, &found);
    if (!st) *out = value_bool(found);
    return st;
}

static enum gpm_status simulate_biplex(struct sp_call *c, value *out) {
    *out = value_ref(c->args[truth(c->args[0]) ? 1 : 2]);
    return GPM_OK;
}

static enum gpm_status grad_biplex(struct sp_call *c, value r, value dr, value *dargs) {
    dargs[truth(c->args[0]) ? 1 : 2] = value_ref(dr);
    return GPM_OK;
}

#define ROW(NAME, SIG, DOC, EXAMPLE)                                                               \
    { .name = #NAME, .sig = SIG, .doc = DOC, .example = EXAMPLE, .simulate = simulate_##NAME }
#define AB "(a: any, b: any) -> bool"

const struct sp_class sp_compare_rows[] = {
    ROW(eq, AB, "Structural equality; values of different types are unequal. Also `a == b`.",
        "[1, 2] == [1, 2] => true"),
    ROW(neq, AB, "The opposite of eq. Also `a != b`.", "1 != 2 => true"),
    ROW(lt, AB, "Whether a comes before b: numbers, strings, booleans, sequences. Also `a < b`.",
        "1 < 2 => true"),
    ROW(lte, AB, "Whether a comes before b or equals it. Also `a <= b`.", "2 <= 2 => true"),
    ROW(gt, AB, "Whether a comes after b. Also `a > b`.", "\"b\" > \"a\" => true"),
    ROW(gte, AB, "Whether a comes after b or equals it. Also `a >= b`.", "1 >= 2 => false"),
    ROW(not, "(a: bool) -> bool", "Logical negation; a number counts as true unless it is 0.",
        "not(true) => false"),
    ROW(xor, "(a: bool, b: bool) -> bool", "Whether exactly one of the two is true.",
        "xor(true, false) => true"),
    ROW(all_p, "(...xs: any) -> bool",
        "Whether all arguments, or all elements of one sequence, "
        "are true.",
        "all_p([true, false]) => false"),
    ROW(any_p, "(...xs: any) -> bool",
        "Whether some argument, or some element of one sequence, "
        "is true.",
        "any_p([true, false]) => true"),
    {.name = "biplex",
     .sig = "(p: bool, a: any, b: any) -> any",
     .doc = "a if p is true, else b; unlike `if`, both are evaluated.",
     .example = "biplex(true, 1, 2) => 1",
     .simulate = simulate_biplex,
     .grad_simulate = grad_biplex},
};
const size_t sp_compare_count = COUNT_OF(sp_compare_rows);
