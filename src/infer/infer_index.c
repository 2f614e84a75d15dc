/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference operators among the procedures (sp/families.def). A family file ends with `const struct
 * infer_op infer_NAME_rows[]`, the last of them empty, and is named twice here. One family
 * (discover) stands in a higher layer, above what its operators work on. */
#include "infer/infer.h"

#include "base/vec.h"

extern const struct infer_op infer_control_rows[], infer_discover_rows[], infer_dataset_rows[],
    infer_plot_rows[], infer_check_rows[], infer_custom_rows[], infer_gibbs_rows[],
    infer_ascent_rows[], infer_hmc_rows[], infer_laplace_rows[], infer_meanfield_rows[],
    infer_mh_rows[], infer_model_rows[], infer_particles_rows[], infer_pgibbs_rows[],
    infer_query_rows[], infer_rejection_rows[], infer_slice_rows[], infer_structure_rows[],
    infer_select_rows[];

static const struct infer_op *const families[] = {
    infer_control_rows,   infer_discover_rows,  infer_dataset_rows,   infer_plot_rows,
    infer_check_rows,     infer_custom_rows,    infer_gibbs_rows,     infer_ascent_rows,
    infer_hmc_rows,       infer_laplace_rows,   infer_meanfield_rows, infer_mh_rows,
    infer_model_rows,     infer_particles_rows, infer_pgibbs_rows,    infer_query_rows,
    infer_rejection_rows, infer_slice_rows,     infer_structure_rows, infer_select_rows};

/* Made once for the index of procedures, and kept. */
size_t sp_operator_make(const struct sp_class **rows) {
    VEC(struct sp_class) all = {0};
    for (size_t f = 0; f < COUNT_OF(families); f++)
        for (const struct infer_op *op = families[f]; op->name; op++) {
            struct sp_class made = {.name = op->name,
                                    .sig = op->sig,
                                    .doc = op->doc,
                                    .example = op->example,
                                    .flags = SP_INFERENCE_ONLY,
                                    .of = op};
            vec_push(&all, made);
        }
    *rows = all.at;
    return all.n;
}
