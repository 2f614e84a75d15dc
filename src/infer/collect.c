/* SPDX-License-Identifier: Apache-2.0
 *
 * collect: the values of expressions in every particle, as a row of a dataset. */
#include "infer/infer.h"

enum gpm_status collect_run(struct infer_state *x, struct action *a, value *out) {
    size_t k = a->n_splices, np = x->model->p.n;
    value rows = value_array_new(np);
    for (size_t i = 0; i < np; i++) {
        value row = value_array_new(k);
        for (size_t j = 0; j < k; j++) {
            enum gpm_status st = trace_sample(x->model->p.at[i], a->ast->kids[j]->kids[0], a->splices[j], &row.u.array->at[j]);
            if (st != GPM_OK) {
                value_unref(row);
                value_unref(rows);
                return st;
            }
        }
        rows.u.array->at[i] = row;
    }
    *out = rows;
    return GPM_OK;
}
