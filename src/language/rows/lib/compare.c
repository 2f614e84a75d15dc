/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison and logic.
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"

/* variant: what equal values give. */
SP_SIMPLE(eq, value_bool(value_equal_arithmetic(c->args[0], c->args[1]) == c->cls->variant))

/* ---- order ------------------------------------------------------------------------------------
 */

/* Kinds that can be ordered among themselves; numbers sort below atoms. 0: no order. */
static const int order_kind[V_BOX + 1] = {
    [V_NUM] = 1, [V_ATOM] = 1, [V_BOOL] = 2,  [V_STR] = 3,    [V_SYM] = 4,
    [V_NIL] = 5, [V_PAIR] = 5, [V_ARRAY] = 6, [V_VECTOR] = 6,
};

/* What is wanted, in a row's variant. A nan compares as false. */
enum { LESS = 1, EQUAL = 2, GREATER = 4 };

static enum gpm_status simulate_order(struct sp_call *c, value *out) {
    value a = c->args[0], b = c->args[1];
    if (a.tag == V_NUM && b.tag == V_NUM) {
        double x = a.u.num, y = b.u.num;
        int is = x < y ? LESS : x == y ? EQUAL : x > y ? GREATER : 0;
        *out = value_bool((is & c->cls->variant) != 0);
        return GPM_OK;
    }
    int kind = order_kind[a.tag];
    if (kind == 0 || kind != order_kind[b.tag])
        return sp_error(c, DIAG_TYPE, "%s: cannot compare %s with %s (%s and %s)", c->cls->name,
                        SHOW(a), SHOW(b), value_type_name(a), value_type_name(b));
    int cmp = value_compare(a, b);
    *out = value_bool((c->cls->variant & (cmp < 0 ? LESS : cmp == 0 ? EQUAL : GREATER)) != 0);
    return GPM_OK;
}

#define NUM_ORDER(NAME, OP)                                                                        \
    static double num_##NAME(const double *a, size_t n) {                                          \
        return a[0] OP a[1];                                                                       \
    }
NUM_ORDER(lt, <)
NUM_ORDER(lte, <=)
NUM_ORDER(gt, >)
NUM_ORDER(gte, >=)

/* ---- logic ------------------------------------------------------------------------------------
 */

static bool truth(value v) {
    bool b = false;
    sp_truth(v, &b);
    return b;
}

SP_SIMPLE(not, value_bool(!truth(c->args[0])))
SP_SIMPLE(xor, value_bool(truth(c->args[0]) != truth(c->args[1])))
SP_SIMPLE(biplex, value_ref(c->args[truth(c->args[0]) ? 1 : 2]))

/* Over the arguments, or the elements of one sequence: whether some (variant true) or all of them
 * (variant false) are true. */
static enum gpm_status simulate_some(struct sp_call *c, value *out) {
    bool one = c->n == 1 && seq_is(c->args[0]), wanted = c->cls->variant, found = false, b;
    value all = one ? value_ref(c->args[0]) : value_array(c->args, c->n), item;
    struct seq_walk w = {all, 0};
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; !st && seq_next(&w, &item); i++) {
        if (!sp_truth(item, &b))
            st = sp_type_error(c, item, "element %zu must be a boolean", i);
        else if (b == wanted)
            found = true;
    }
    value_unref(all);
    *out = value_bool(found == wanted);
    return st;
}

static enum gpm_status grad_biplex(struct sp_call *c, value r, value dr, value *dargs) {
    dargs[truth(c->args[0]) ? 1 : 2] = value_ref(dr);
    return GPM_OK;
}

static double num_biplex(const double *a, size_t n) {
    return a[0] != 0 ? a[1] : a[2];
}

static void back_biplex(double v, const double *a, size_t n, double d, double *out) {
    out[0] = 0;
    out[1] = a[0] != 0 ? d : 0;
    out[2] = d - out[1];
}

#define AB "(a: any, b: any) -> bool"

const struct sp_class sp_compare_rows[] = {
    {SP_ROW(eq, eq, AB,
            "Structural equality; values of different types are unequal. Also `a == b`.",
            "[1, 2] == [1, 2] => true"),
     .code = SP_CODE_EQUAL, .variant = true},
    {SP_ROW(neq, eq, AB, "The opposite of eq. Also `a != b`.", "1 != 2 => true"),
     .code = SP_CODE_EQUAL, .variant = false},
    {SP_ROW(lt, order, AB,
            "Whether a comes before b: numbers, strings, booleans, sequences. Also `a < b`.",
            "1 < 2 => true"),
     .num = num_lt, .variant = LESS},
    {SP_ROW(lte, order, AB, "Whether a comes before b or equals it. Also `a <= b`.",
            "2 <= 2 => true"),
     .num = num_lte, .variant = LESS | EQUAL},
    {SP_ROW(gt, order, AB, "Whether a comes after b. Also `a > b`.", "\"b\" > \"a\" => true"),
     .num = num_gt, .variant = GREATER},
    {SP_ROW(gte, order, AB, "Whether a comes after b or equals it. Also `a >= b`.",
            "1 >= 2 => false"),
     .num = num_gte, .variant = GREATER | EQUAL},
    {SP_ROW(not, not, "(a: bool) -> bool",
            "Logical negation; a number counts as true unless it is 0.", "not(true) => false")},
    {SP_ROW(xor, xor, "(a: bool, b: bool) -> bool", "Whether exactly one of the two is true.",
            "xor(true, false) => true")},
    {SP_ROW(all_p, some, "(...xs: any) -> bool",
            "Whether all arguments, or all elements of one sequence, "
            "are true.",
            "all_p([true, false]) => false"),
     .variant = false},
    {SP_ROW(any_p, some, "(...xs: any) -> bool",
            "Whether some argument, or some element of one sequence, "
            "is true.",
            "any_p([true, false]) => true"),
     .variant = true},
    {SP_GROW(biplex, biplex, "(p: bool, a: any, b: any) -> any",
             "a if p is true, else b; unlike `if`, both are evaluated.", "biplex(true, 1, 2) => 1"),
     .num = num_biplex, .num_back = back_biplex},
};
const size_t sp_compare_count = COUNT_OF(sp_compare_rows);
