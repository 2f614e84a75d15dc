/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the families that work on sequences.
 */
#include "lib/seq_util.h"

#include "base/mem.h"
#include <math.h>

value matrix_row(const struct matrix_obj *m, size_t i) {
    value v = value_vector_new(m->cols);
    for (size_t j = 0; j < m->cols; j++) v.u.vector->at[j] = m->at[i + j * m->rows];
    return v;
}

enum gpm_status seq_arg(struct sp_call *c, size_t i, const char *param, value **items, size_t *n) {
    value v = c->args[i];
    if (v.tag == V_MATRIX) {
        *n = v.u.matrix->rows;
        *items = NEW_ARRAY(value, *n ? *n : 1);
        for (size_t k = 0; k < *n; k++) (*items)[k] = matrix_row(v.u.matrix, k);
        return GPM_OK;
    }
    if (seq_items(v, items, n)) return GPM_OK;
    return sp_type_error(c, v, "%s must be a sequence (a list, array or vector)", param);
}

bool index_below(value v, size_t n, size_t *out) {
    if (v.tag != V_NUM || !(v.u.num >= 0 && v.u.num < (double)n) || v.u.num != floor(v.u.num))
        return false;
    *out = (size_t)v.u.num;
    return true;
}

enum gpm_status seq_index_arg(struct sp_call *c, size_t i, size_t n, size_t *out) {
    if (index_below(c->args[i], n, out)) return GPM_OK;
    if (c->args[i].tag != V_NUM) return sp_type_error(c, c->args[i], "the index must be a number");
    double x = sp_num(c, i);
    struct buf b = BUF_INIT;
    buf_number(&b, x);
    if (isfinite(x) && x != floor(x))
        sp_error(c, DIAG_INDEX, "%s: index %s is not an integer", c->cls->name, b.data);
    else if (n == 0)
        sp_error(c, DIAG_INDEX, "%s: index %s is out of bounds: the sequence is empty",
                 c->cls->name, b.data);
    else
        sp_error(c, DIAG_INDEX, "%s: index %s is out of bounds: there are %zu elements, 0 to %zu",
                 c->cls->name, b.data, n, n - 1);
    buf_release(&b);
    return GPM_E_USER;
}
