/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about types, and conversions of scalars.
 */
#include "language/rows/protocol/sp.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

#define IS(NAME, TEST) SP_SIMPLE(NAME, value_bool(TEST))
#define TAG            c->args[0].tag
#define NUM            c->args[0].u.num
#define KIND(word)     (TAG == V_BOX && strcmp(c->args[0].u.box->cls->name, word) == 0)

/* Whether the tag of x is one of those whose bits are set in the row's variant. */
IS(tag, c->cls->variant >> TAG & 1)
IS(is_integer, TAG == V_NUM && isfinite(NUM) && NUM == floor(NUM))
IS(is_probability, TAG == V_NUM && NUM >= 0 && NUM <= 1)
IS(is_list, (TAG == V_NIL || TAG == V_PAIR) && seq_is(c->args[0]))
IS(is_simplex, TAG == V_VECTOR && (c->args[0].u.obj->flags & OBJ_SIMPLEX) != 0)
IS(is_kernel, KIND("kernel"))
IS(is_action, KIND("action"))
SP_SIMPLE(probability, value_num(sp_num(c, 0)))

/* The number behind a number, atom or boolean: itself, its floor, or an atom. */
enum { REAL, INTEGER, ATOM };

static enum gpm_status simulate_scalar(struct sp_call *c, value *out) {
    double x;
    if (!value_number(c->args[0], &x))
        return sp_type_error(c, c->args[0], "x must be a number or atom");
    if (c->cls->variant == INTEGER) x = floor(x);
    *out = c->cls->variant == ATOM ? value_atom(x) : value_num(x);
    return GPM_OK;
}

static enum gpm_status grad_same(struct sp_call *c, value r, value dr, value *dargs) {
    if (c->args[0].tag == V_NUM) dargs[0] = value_ref(dr);
    return GPM_OK;
}

#define Q                                 "(x: any) -> bool"
#define TAG_ROW(NAME, TAGS, DOC, EXAMPLE) SP_ROW(NAME, tag, Q, DOC, EXAMPLE), .variant = TAGS

const struct sp_class sp_types_rows[] = {
    {TAG_ROW(is_number, 1 << V_NUM, "Whether x is a number.", "is_number(\"1\") => false")},
    {SP_ROW(is_integer, is_integer, Q, "Whether x is a number without fractional part.",
            "is_integer(3) => true")},
    {SP_ROW(is_probability, is_probability, Q, "Whether x is a number from 0 to 1.",
            "is_probability(1.5) => false")},
    {TAG_ROW(is_atom, 1 << V_ATOM, "Whether x is an atom.", "is_atom(atom(2)) => true")},
    {TAG_ROW(is_boolean, 1 << V_BOOL, "Whether x is true or false.", "is_boolean(0) => false")},
    {TAG_ROW(is_symbol, 1 << V_SYM, "Whether x is a symbol.", "is_symbol(quote(a)) => true")},
    {TAG_ROW(is_string, 1 << V_STR, "Whether x is a string.", "is_string(\"a\") => true")},
    {TAG_ROW(is_procedure, 1 << V_PROC, "Whether x can be applied.", "is_procedure(add) => true")},
    {TAG_ROW(is_pair, 1 << V_PAIR, "Whether x is a pair, as every list but the empty one is.",
             "is_pair(list(1)) => true")},
    {SP_ROW(is_list, is_list, Q, "Whether x is a list: pairs that end in the empty list.",
            "is_list([1]) => false")},
    {TAG_ROW(is_array, 1 << V_ARRAY | 1 << V_VECTOR, "Whether x is an array or vector.",
             "is_array([1]) => true")},
    {TAG_ROW(is_vector, 1 << V_VECTOR, "Whether x is a vector of plain numbers.",
             "is_vector(vector(1)) => true")},
    {SP_ROW(is_simplex, is_simplex, Q, "Whether x was made as a vector of probabilities.",
            "is_simplex(simplex(0.5, 0.5)) => true")},
    {TAG_ROW(is_matrix, 1 << V_MATRIX, "Whether x is a matrix.",
             "is_matrix(id_matrix(2)) => true")},
    {TAG_ROW(is_dict, 1 << V_DICT, "Whether x is a dictionary.", "is_dict(dict()) => true")},
    {TAG_ROW(is_environment, 1 << V_ENV, "Whether x is an environment.",
             "is_environment(1) => false")},
    {TAG_ROW(is_ref, 1 << V_REF, "Whether x is a reference.", "is_ref(1) => false")},
    {SP_ROW(is_kernel, is_kernel, Q, "Whether x is a covariance kernel.", "is_kernel(1) => false")},
    {SP_ROW(is_action, is_action, Q, "Whether x is an inference action.", "is_action(1) => false")},
    {SP_ROW(real, scalar, "(x: any) -> number", "The number behind a number, atom or boolean.",
            "real(atom(2)) => 2"),
     .variant = REAL, .grad_simulate = grad_same},
    {SP_ROW(integer, scalar, "(x: any) -> integer", "The greatest integer that is not above x.",
            "integer(2.7) => 2"),
     .variant = INTEGER},
    {SP_ROW(atom, scalar, "(x: any) -> atom",
            "An atom: a label that is no number, compared by its number.", "atom(2) == 2 => false"),
     .variant = ATOM},
    {SP_ROW(probability, probability, "(x: probability) -> probability",
            "x itself, checked to be from 0 to 1.", "probability(0.5) => 0.5"),
     .grad_simulate = grad_same},
};
const size_t sp_types_count = COUNT_OF(sp_types_rows);
